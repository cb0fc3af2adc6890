/* Micro-kernels of the contraction: what lanes/gemm.c offers for one instruction set, and what
 * contract.c builds on. A panel is a strip of `mr` rows of in[0] (or `nr` rows of in[1]) laid out
 * point by point of k, so that a kernel reads both panels from front to back.
 *
 * Invariant: k is cut evenly into the fewest blocks of at most GEMM_KC. An element of the result is
 * the sum over k in order, each product fused into the sum where the instruction set can, from zero
 * again in every block, and the blocks' sums added in order. No tile size enters, so the bits are the
 * same on all levels that have fma. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "array/dtype.h"

enum {
    GEMM_KC = 256,
    GEMM_WIDTH_MAX = 64 /* mr and nr of any kernel */
};

typedef struct gemm_kernel {
    int mr, nr;
    /* Packs rows into as many panels of `width` rows as they fill, one after the other, each
     * to[i * width + r] = lane of from[row[r] + point[i]] for i < k; rows that lack in the last one
     * are 0. Width is mr for pack_m and nr for pack_n; offsets count elements; rows, k > 0. */
    void (*pack_m)(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                   const int64_t *point);
    void (*pack_n)(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                   const int64_t *point);
    /* c[i * ldc + j] = (or += if add) the sum over k of a[k * mr + i] * b[k * nr + j], for all
     * mr x nr lanes; k > 0. */
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t ldc, bool add);
} gemm_kernel;

struct gemm_level {
    gemm_kernel of[DTYPE_COUNT]; /* by the dtype of the elements; bool has none */
};

#endif
