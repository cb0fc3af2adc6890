/* Micro-kernels of the contraction for one instruction set: implemented by lanes/gemm.c, used by contract.c. A panel is
 * a strip of `mr` rows of in[0] (or `nr` rows of in[1]) laid out point by point of k, so that a kernel reads both
 * panels from front to back.
 *
 * Invariant: k is cut evenly into the fewest blocks of at most the kernel's kc, which is PRODUCT_K for floats. The sum of
 * a block starts at zero and adds the products in the order of k, with fma if the instruction set has it. The sums of
 * the blocks are then added in order. Tile sizes do not matter, so all kernels give the same bits on all levels that
 * have fma. The exception is bf16 on levels with matrix instructions for it: they add small groups of products at a
 * time, round differently, treat denormals as 0, and have a longer kc. So the last bits depend on the level. On one level
 * all functions of a kernel give the same bits. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "engine/program/product.h"

enum {
    GEMM_KC_MOST = 4 * PRODUCT_K, /* the largest kc of any kernel */
    GEMM_WIDTH_MAX = 64,          /* the largest mr and nr of any kernel */
    GEMM_THIN_MAX = 8,            /* rows of the thin side */
    GEMM_THIN_FEW = 2,            /* up to this many rows are multiplied one by one if points are
                          * contiguous */
    GEMM_THIN_LANES = 16          /* rows that thin takes together if points are contiguous */
};

/* A block of k of a product in which x has few rows: c[r * c_row + t * c_thin] = (or += if add) the sum over k of
 * x[t * x_row + i * x_point] * y[r][i], t < thin, r < n, i < k. x holds lanes. If point is NULL, points are contiguous:
 * y[r][i] is from[row[r] + i]. In that case, if thin > GEMM_THIN_FEW, x_row is 1 and x_point is GEMM_THIN_MAX; the
 * values of rows from thin on do not matter; else x_point is 1. If point is not NULL, rows are contiguous: y[r][i] is
 * from[*row + r + point[i]]. In that case thin is at most GEMM_THIN_MAX and x_point is 1, or c_row is 1 and add is
 * false. */
typedef struct gemm_thin {
    int64_t thin, n, k;
    const void *x, *from;
    int64_t x_row, x_point;
    const int64_t *row, *point;
    void *c;
    int64_t c_row, c_thin;
    bool add;
} gemm_thin;

/* c[i * ldc + j] = the sum over parts and k of a[part][i][k] * b[j][k], for mr rows and the columns of n consecutive
 * panels of pack_n. Rows of a are a_row bytes apart and their points are contiguous; k is a multiple of group. */
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
    int unit;          /* the columns of a narrow tile are a multiple of this */
    int group;         /* a panel's k is padded with zeros to a multiple of this */
    int element_bytes; /* in a panel */
    int kc;            /* most points of k in a block */
    /* Packs rows into consecutive panels of `width` rows: to[(i / g * width + r) * g + i % g] = from[row[r] + point[i]]
     * for i < k. Missing rows of the last panel are 0. Width is mr for pack_m and nr for pack_n. g, the number of
     * points that are kept together, is a divisor of group that the kernel chooses for each of them. Offsets count
     * elements; rows, k > 0. If point is NULL, points are contiguous (point[i] = i). */
    void (*pack_m)(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                   const int64_t *point);
    void (*pack_n)(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                   const int64_t *point);
    /* c[i * ldc + j] = (or += if add) the sum over k of a[k * mr + i] * b[k * nr + j], for all
     * mr x nr lanes; k > 0. */
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t ldc, bool add);
    /* The same for the first columns only, a multiple of unit. Rows from `rows` on may be skipped. NULL if there is
     * none: then unit is nr. */
    void (*tile_at)(int64_t rows, int64_t columns, int64_t k, const void *a, const void *b, void *c,
                    int64_t ldc, bool add);
    int few_rows; /* up to this many rows, tile_at is faster than tile */
    /* Elements as lanes: to[i * step] = from[point[i]]. */
    void (*gather)(void *to, int64_t step, const void *from, int64_t n, const int64_t *point);
    /* Reads the large side in place, at memory speed if its rows or its points are contiguous; NULL if there is none.
     * thin <= GEMM_THIN_MAX, 0 < k <= kc. */
    void (*thin)(const gemm_thin *g);
    /* The most rows for which thin is faster than packing, if the other side's rows or points are contiguous. */
    int thin_beside, thin_along;
    /* The same for a large side in panels of pack_n: from is the first panel, row and point are not used, and c_row is
     * 1. Lanes of c past the n-th are not written. NULL if there is none. */
    void (*thin_packed)(const gemm_thin *g);
    /* For r < n, in order: *c[r] = (or += if add[r]) the sum over k of x[r][i] * y[r][i]. NULL if there is none. */
    void (*dots)(int64_t n, int64_t k, const void *const *x, const void *const *y, void *const *c,
                 const bool *add);
    /* Like tile, for mr rows of in[0] that are not packed: their points are contiguous, and each row begins a_row bytes
     * after the previous one. k is a multiple of group. NULL if there is none. */
    void (*tile_rows)(int64_t k, const void *a, int64_t a_row, const void *b, void *c, int64_t ldc,
                      bool add);
    /* The same for several panels of in[1]. NULL if there is none. */
    void (*panels)(const gemm_panels *p);
    /* c[i * ldc + j] -= a[k * mr + i] * b[k * nr + j] for each k in order, with fma if the instruction set has it: unlike
     * tile, the sum begins with c, so cuts of k change no bit. ldc may be negative. NULL if there is none. */
    void (*less)(int64_t k, const void *a, const void *b, void *c, int64_t ldc);
} gemm_kernel;

struct gemm_level {
    gemm_kernel of[DTYPE_COUNT]; /* by the dtype of the elements; bool has none */
    gemm_kernel i8_to_i32;       /* for i8, with sums in i32 */
    gemm_kernel bf16_same; /* for bf16 in math mode same: sums as of f32; isa_level.c sets it */
    /* True if the system lets this process use the level's instructions; NULL: always. */
    bool (*ready)(void);
};

#endif
