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

/* The arguments of a call, in the order of the kernel's parameters. Results have the first `lead` axes of `like`, `count`
 * indices in all. It must not be copied once it has a result. */
typedef struct library_args {
    const ig_array *like;
    int lead, n, n_results;
    int64_t count;
    size_t shared_bytes; /* dynamic shared memory of a block */
    ig_arg arg[LIBRARY_PARAMS];
    int64_t shape[LIBRARY_RESULTS][IG_MAX_NDIM];
} library_args;

library_args args_like(const ig_array *like,
                       int lead); /* without arguments; like may be NULL if lead is 0 */
void args_ints(library_args *a, const int64_t *v, size_t n);
void args_float(library_args *a, double v);
void args_arrays(library_args *a, ig_array *const *x, size_t n);
/* A result, whose axes after the leading ones have these lengths. */
void args_result(library_args *a, const int64_t *lengths, size_t n);
#define ARGS_LIST(type, ...) (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)
#define ARGS_INTS(a, ...) args_ints(a, ARGS_LIST(const int64_t, __VA_ARGS__))
#define ARGS_ARRAYS(a, ...) args_arrays(a, ARGS_LIST(ig_array *const, __VA_ARGS__))
#define ARGS_RESULT(a, ...) args_result(a, ARGS_LIST(const int64_t, __VA_ARGS__))

/* Builds a call of kernel `name`. defines: up to NULL, or NULL. out has room for LIBRARY_RESULTS. Returns the number of
 * results, 0 on failure. number: see build; may be NULL if k->build is. k must stay valid. */
int args_call(const library_args *a, const library_kernel *k, const char *name,
              const char *const *defines, int64_t blocks, int64_t threads, const int64_t *number,
              ig_array **out);
/* The only result, or the first one, of a call with LIBRARY_THREADS threads for each block; NULL on failure. */
enum { LIBRARY_THREADS = 256 };
ig_array *args_call_one(const library_args *a, const library_kernel *k, const char *name,
                        const char *const *defines, int64_t blocks, const int64_t *number);

/* The same with the name, source and options of k. */
int library_call(const library_kernel *k, const ig_kernel_call *call, const int64_t *number,
                 ig_array **out, int max_out);

#endif
