/* Blocked factorizations of one matrix on the CPU, with all threads. Each element has the operations of the unblocked
 * definition (kernels/factor_steps.cuh) in the same order: products are subtracted from it one by one, with fma. So block
 * sizes and the number of threads change no bit, and kernels of other devices may have other blocks.
 *
 * Matrices are by rows, contiguous, in one plane or, if complex, in two. Functions fail only if memory is short. */
#ifndef CPU_DENSE_H
#define CPU_DENSE_H

#include "engine/backend/cpu/lanes/factor.h"
#include "engine/backend/cpu/lanes/gemm.h"
#include "ingot.h"

/* The code of a type of element (FACTOR_F32, ...). */
typedef struct dense {
    const gemm_kernel *gemm;
    const factor_dense *step;
    int64_t size;  /* bytes of a part of an element */
    int64_t parts; /* 2 if elements are complex */
} dense;

dense dense_of(int type);

/* Planes from an element on, and the distance between rows in elements. */
typedef struct dense_at {
    char *re, *im;
    int64_t ld;
} dense_at;

static inline dense_at dense_shift(const dense *d, dense_at x, int64_t row, int64_t column)
{
    const int64_t bytes = (row * x.ld + column) * d->size;
    return (dense_at){x.re + bytes, x.im ? x.im + bytes : NULL, x.ld};
}

/* ---- products (dense.c) ---- */

typedef enum dense_side { DENSE_A, DENSE_B, DENSE_B_CONJ } dense_side;

/* Rows of a panel of a side; bytes of the panels of n rows and k points. A panel of DENSE_B has two halves if elements
 * are complex: for the real and for the imaginary part of a product. */
int64_t dense_width(const dense *d, dense_side side);
int64_t dense_bytes(const dense *d, dense_side side, int64_t n, int64_t k);
/* Packs n rows of k points, which are row_step and k_step elements apart, into panels for `deep` points, from point
 * `from` on. */
typedef struct dense_rows {
    const char *re, *im;
    int64_t n, row_step, k, k_step;
} dense_rows;
void dense_pack(const dense *d, dense_side side, char *to, int64_t deep, int64_t from,
                const dense_rows *x);

/* c (m, n) less a b^T, where a and b are panels of m and n rows for a_deep and b_deep points, of which k from `from` on
 * are used. */
typedef struct dense_product {
    const char *a, *b;
    int64_t a_deep, b_deep, from, m, n, k;
} dense_product;
void dense_less(const dense *d, const dense_product *p, dense_at c);
/* The same for a lower triangle: elements of row i after column `diagonal` + i may be left out. */
void dense_less_lower(const dense *d, const dense_product *p, int64_t diagonal, dense_at c);

/* ---- factorizations ---- */

/* l = the lower factor of a (n, n). */
ig_status dense_cholesky(const dense *d, int64_t n, dense_at a, dense_at l);
/* f (m, n) becomes its factors. pivot and order: see factor_steps.cuh. */
ig_status dense_lu(const dense *d, int64_t m, int64_t n, dense_at f, int *pivot, int *order);
/* v, r and t of a panel a (m, n): see factor_steps.cuh. For real elements; n <= FACTOR_QR_WIDE. */
ig_status dense_qr(const dense *d, int64_t m, int64_t n, dense_at a, dense_at v, dense_at r,
                   dense_at t);
/* x (n, columns) becomes the solution y of a y = x. */
ig_status dense_substitute(const dense *d, int64_t n, int64_t columns, bool upper, bool unit,
                           dense_at a, dense_at x);

#endif
