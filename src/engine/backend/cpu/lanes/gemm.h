/* Micro-kernels of the contraction: what lanes/gemm.c offers for one instruction set, and what
 * contract.c builds on. A panel is a strip of `mr` rows of in[0] (or `nr` rows of in[1]) laid out
 * point by point of k, so that a kernel reads both panels from front to back.
 *
 * Invariant: k is cut evenly into the fewest blocks of at most the kernel's kc, which is GEMM_KC for floats. An element of the result is
 * the sum over k in order, each product fused into the sum where the instruction set can, from zero
 * again in every block, and the blocks' sums added in order. No tile size enters, so the bits are the
 * same on all levels that have fma, and whichever kernel is chosen. The exception is bf16 on levels
 * with instructions for it: they add small groups of products at a time and round in their own way
 * (and take denormals for 0), and AMX adds to the sums of the earlier blocks, so there the last bits are the level's. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "base/dtype.h"

enum {
    GEMM_KC = 256,
    GEMM_WIDTH_MAX = 64, /* mr and nr of any kernel */
    GEMM_THIN_MAX = 8,   /* rows of the thin side */
    GEMM_THIN_FEW = 2,   /* so many are multiplied one by one where points are side by side */
    GEMM_THIN_LANES = 16 /* rows that thin takes together where points are side by side */
};

/* A block of k of a product in which x has few rows: c[r * c_row + t * c_thin] = (or += if add) the sum
 * over k of x[t * x_row + i * x_point] * from[row[r] + point[i]], t < thin, r < n, i < k. x holds lanes.
 * Without points, these are side by side (point[i] = i); then, if thin > GEMM_THIN_FEW, x_row is 1 and
 * x_point GEMM_THIN_MAX, of which those from thin on may be anything. Otherwise x_point is 1. */
typedef struct gemm_thin {
    int64_t thin, n, k;
    const void *x, *from;
    int64_t x_row, x_point;
    const int64_t *row, *point;
    void *c;
    int64_t c_row, c_thin;
    bool add;
} gemm_thin;

/* c[i * ldc + j] = the sum over parts and k of a[part][i][k] * b[j][k], for mr rows and the columns of n panels of pack_n, one
 * after the other. Rows of a are a_row bytes apart, their points contiguous; k is a multiple of group. */
typedef struct gemm_panels {
    int64_t n, k;
    int parts;
    const void *a[2];
    int64_t a_row;
    const void *b;
    void *c;
    int64_t ldc;
} gemm_panels;

typedef struct gemm_kernel {
    int mr, nr;
    int unit;          /* a narrow tile has a multiple of so many columns */
    int group;         /* what a panel's k is filled up to a multiple of, with zeros */
    int element_bytes; /* in a panel */
    int kc;            /* most points of k in a block */
    /* Packs rows into as many panels of `width` rows as they fill, one after the other, each
     * to[(i / g * width + r) * g + i % g] = from[row[r] + point[i]] for i < k; rows that lack in the
     * last one are 0. Width is mr for pack_m and nr for pack_n, and g, the points that lie together, is
     * a divisor of group of the kernel's own for each of them. Offsets count elements; rows, k > 0. Without
     * points, these are side by side (point[i] = i). */
    void (*pack_m)(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                   const int64_t *point);
    void (*pack_n)(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                   const int64_t *point);
    /* c[i * ldc + j] = (or += if add) the sum over k of a[k * mr + i] * b[k * nr + j], for all
     * mr x nr lanes; k > 0. With a group of 1, rows are written in order, so that ldc may be less than
     * nr: what a row has too many lanes for is the next one's. */
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t ldc, bool add);
    /* The same for a[k * a_step + i], b[k * b_step + j], such as rows that lie side by side in memory, and
     * for the first columns only, a multiple of unit. Rows from `rows` on may be left out. NULL if there is none: then
     * unit is nr. */
    void (*tile_at)(int64_t rows, int64_t columns, int64_t k, const void *a, int64_t a_step,
                    const void *b, int64_t b_step, void *c, int64_t ldc, bool add);
    int few_rows; /* up to how many rows tile_at is faster than tile */
    /* Elements as lanes: to[i * step] = from[point[i]]. */
    void (*gather)(void *to, int64_t step, const void *from, int64_t n, const int64_t *point);
    /* What reads the large side from where it lies, at memory speed if its rows are side by side or
     * its points are; NULL if there is none. thin <= GEMM_THIN_MAX, 0 < k <= kc. */
    void (*thin)(const gemm_thin *g);
    /* Up to how many rows it is faster than packing, where the other's rows or points are side by side. */
    int thin_beside, thin_along;
    /* The same for a large side in panels of pack_n: from is the first of them, row and point are not used, and
     * c_row is 1. Lanes of c after the n-th are not written. NULL if there is none. */
    void (*thin_packed)(const gemm_thin *g);
    /* For r < n, one after the other: *c[r] = (or += if add[r]) the sum over k of x[r][i] * y[r][i].
     * NULL if there is none. */
    void (*dots)(int64_t n, int64_t k, const void *const *x, const void *const *y, void *const *c,
                 const bool *add);
    /* tile for mr rows of in[0] that are not packed: their points are contiguous, and a row begins a_row bytes after the
     * one before it. k is a multiple of group. NULL if there is none. */
    void (*tile_rows)(int64_t k, const void *a, int64_t a_row, const void *b, void *c, int64_t ldc,
                      bool add);
    /* The same for several panels of in[1]. NULL if there is none. */
    void (*panels)(const gemm_panels *p);
} gemm_kernel;

struct gemm_level {
    gemm_kernel of[DTYPE_COUNT]; /* by the dtype of the elements; bool has none */
    gemm_kernel i8_to_i32;       /* of i8, where sums are i32 */
    /* Whether the system lets this process use the level, beyond what the processor has; NULL: yes. */
    bool (*ready)(void);
};

#endif
