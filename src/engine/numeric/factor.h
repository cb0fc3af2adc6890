/* Kernels of kernels/factor.cu as nodes: factorizations of blocks of matrices and of stacks of small matrices. A matrix
 * is the last two axes, leading axes are stacks. Elements are f32, f64, c64 or c128. Functions return NULL or 0 on
 * failure, and for a NULL argument. No array may be empty. */
#ifndef NUMERIC_FACTOR_H
#define NUMERIC_FACTOR_H

#include "ingot.h"

enum {
    FACTOR_BLOCK = 64, /* rows of a block that one kernel factors or solves, except on the CPU */
    FACTOR_PANEL = 32  /* columns of a panel of lu and qr */
};

/* The lower factor; its diagonal is 0 from the first pivot on that is not positive. */
ig_array *factor_cholesky(ig_array *a);
/* out: the factors in one matrix, the pivots, and the order of the rows, both i32. */
int factor_lu(ig_array *a, ig_array *out[3]);
/* The order of m rows, from pivots. */
ig_array *factor_order(ig_array *pivots, int64_t m);
/* out: V, R and T of kernels/factor_steps.cuh. At most FACTOR_PANEL columns, and no fewer rows. */
int factor_qr(ig_array *a, ig_array *out[3]);
/* The solution x of a x = b for a triangular a. The stacks of a and b have the same shape. */
ig_array *factor_substitute(ig_array *a, ig_array *b, bool upper, bool unit);
/* c - a b, of real matrices with the same stacks: the products are subtracted one by one, with fma;
 * down: the products of the last columns of a first. */
ig_array *factor_less(ig_array *c, ig_array *a, ig_array *b, bool down);

#endif
