/* Loops of factorizations for one instruction set: implemented by lanes/factor.c, used by kernels/factor.c. They give the
 * bits of the kernels of kernels/factor.cu and take their parameters: at[i] points to the elements of parameter i, or to
 * its number. The first parameter is the number of tasks, which are the blocks of the kernel. */
#ifndef CPU_FACTOR_H
#define CPU_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

typedef enum factor_kind {
    FACTOR_CHOLESKY,
    FACTOR_LU,
    FACTOR_ORDER,
    FACTOR_QR,
    FACTOR_SUBSTITUTE,
    FACTOR_LESS,
    FACTOR_KINDS
} factor_kind;

/* The elements: a part is f32 or f64; complex ones have two parts. */
enum { FACTOR_F32, FACTOR_F64, FACTOR_C64, FACTOR_C128, FACTOR_TYPES };

enum { FACTOR_QR_WIDE = 32 }; /* most columns of FACTOR_QR */

/* Does tasks from <= i < to. */
typedef void factor_loop(void *const *at, int64_t from, int64_t to);

/* ---- steps of blocked factorizations of one matrix (kernels/dense.h) ---- */

enum {
    FACTOR_FEW = 4,   /* columns of a right side for which matrices are solved together */
    FACTOR_BASE = 32, /* most rows of a block that is factored element by element */
    FACTOR_GROUP = 8  /* columns of lu that follow in one pass */
};

/* How the two parts of an element enter a panel, one after the other. */
enum {
    FACTOR_PLAIN,        /* re, im */
    FACTOR_MINUS_SECOND, /* re, -im */
    FACTOR_SWAP,         /* im, re */
    FACTOR_SWAP_MINUS    /* -im, re */
};

/* Matrices are by rows, ld elements apart, in one plane or, if complex, in two. Each element is computed by the
 * operations of kernels/factor_steps.cuh in the same order. */
typedef struct factor_dense {
    /* Packs rows into panels of `width` rows, as gemm_kernel does, with both parts of an element as two points. */
    void (*pack)(void *to, int width, int64_t rows, int64_t row_step, int64_t k, int64_t k_step,
                 const void *re, const void *im, int how);
    /* The lower factor in place, n <= FACTOR_BASE. Returns the number of positive pivots; columns from there on are 0. */
    int (*cholesky)(int n, void *re, void *im, int64_t ld);
    /* Each row of x (rows, n) becomes the solution y of y d^H = x, for a lower factor d. n <= FACTOR_BASE. */
    void (*right)(int64_t rows, int n, const void *d, const void *d_im, int64_t ldd, void *x,
                  void *x_im, int64_t ldx);
    /* Solves a y = x for columns of x (n, columns), in place. a is lower triangular; element (i, p) is at
     * i * row + p * point. */
    void (*left)(int n, int64_t columns, bool unit, const void *a, const void *a_im, int64_t row,
                 int64_t point, void *x, void *x_im, int64_t ldx);
    /* The factors of a panel (m, n), which is by columns. Row k is exchanged with row pivot[k]. */
    void (*lu)(int64_t m, int n, void *re, void *im, int *pivot);
    /* columns[j * m + i] = rows[i * ld + j], for one plane; or the reverse. */
    void (*turn)(int64_t m, int64_t n, void *columns, void *rows, int64_t ld, bool back);
    /* The reflections, R and T of a panel (m, n), which is by columns; n <= FACTOR_QR_WIDE. R and T, by rows, begin as
     * zeros. NULL for complex elements. */
    void (*qr)(int64_t m, int n, void *columns, void *r, void *t);
    /* left for one column, whose elements are `step` apart, and any n. NULL for complex elements. */
    void (*one)(int64_t n, bool unit, const void *a, int64_t row, int64_t point, void *x,
                int64_t step);
} factor_dense;

struct factor_level {
    /* Up to FACTOR_QR; FACTOR_SUBSTITUTE of real matrices with up to FACTOR_BASE rows and FACTOR_FEW right sides. */
    factor_loop *run[FACTOR_KINDS][FACTOR_TYPES];
    factor_dense dense[FACTOR_TYPES];
};

#endif
