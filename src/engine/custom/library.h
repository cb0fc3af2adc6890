/* Kernels of the library (kernels/) as nodes of graphs: ops that are neither elementwise nor folds nor products, such as
 * a factorization. They run on every device that runs kernels; for many, the CPU has code of its own, which it finds by the
 * name of the kernel (backend/cpu/kernels/kernels.h). */
#ifndef CUSTOM_LIBRARY_H
#define CUSTOM_LIBRARY_H

#include "ingot.h"

enum { LIBRARY_NUMBERS = 8, LIBRARY_RESULTS = 8, LIBRARY_PARAMS = 24 };
/* The last number of a call: elements are complex, as several arrays or planes. */
enum { LIBRARY_COMPLEX = LIBRARY_NUMBERS - 1 };

/* Builds the results from the inputs, and returns their number; 0 on failure. Leading axes of the inputs are stacks.
 * number has LIBRARY_NUMBERS elements. */
typedef int library_build(const int64_t *number, ig_array *const *in, ig_array **out);

typedef struct library_kernel {
    const char *file; /* of kernels/, which library.c of emit/ embeds: "cholesky.cu" */
    /* Called by vmap, with the numbers of the call and inputs that have one more leading axis. */
    library_build *build;
    /* Axes of the first input after its stacks, if a part of the stacks has the same results as in the whole; 0: no. */
    int own_axes;
    bool writes_all; /* it writes every element of its results, so they need not begin as zeros */
    /* The first argument is a number of launches, one after the other. Each gets its own number instead, from 0 on. The
     * CPU's own code is called once, with the argument. */
    bool rounds;
    /* Its result is integers, sums over the last axis of its first input, so parts of that axis add up. */
    bool sums;
} library_kernel;

/* Builds a call with the name, source and options of k. number: see build; may be NULL if k->build is. k must stay
 * valid. Returns the number of results, 0 on failure. */
int library_call(const library_kernel *k, const ig_kernel_call *call, const int64_t *number,
                 ig_array **out, int max_out);

#endif
