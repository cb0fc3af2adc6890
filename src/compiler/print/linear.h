/* The value of an integer or an address in each thread of two warps, as far as it can be computed: for the check of
 * code that relies on lock step. */
#ifndef PRINT_LINEAR_H
#define PRINT_LINEAR_H

#include "compiler/tree.h"

enum { TERMS = 8, WARP = 32, THREADS = 2 * WARP /* values of threadIdx.x that are examined */ };

/* A term with one value at one point of the walk: a version of a variable (each assignment begins a new one),
 * an expression of one call that is not a sum, or threadIdx.x. */
typedef struct term {
    const void *of;
    int64_t version, factor;
} term;

/* A value for each thread, plus a sum of terms. An address is in bytes. */
typedef struct linear {
    bool known;
    int n;
    term terms[TERMS];
    int64_t at[THREADS];
} linear;

linear linear_constant(int64_t x);
linear linear_term(const void *of, int64_t version);
/* threadIdx.x, or the lane */
linear linear_thread(int threads);
/* a + factor * b */
linear linear_add(linear a, const linear *b, int64_t factor);
linear linear_scaled(const linear *a, int64_t factor);
/* The increment from each thread to the next if it is constant, else 0. */
int64_t linear_slope(const linear *a);
/* True if it is the same in all threads. */
bool linear_is_one(const linear *a);
/* Applies an operation to values that are known for each thread. */
linear linear_by_threads(kernel_operator op, const linear *a, const linear *b);
/* In each thread the value of a or b; known only if they differ by known numbers. */
linear linear_choose(const linear *c, const linear *a, const linear *b);

#endif
