/* Factorizations and triangular systems as nodes of kernels: of kernels/factor.cu for stacks of small matrices, and for all
 * matrices on the CPU, whose code divides large ones itself (backend/cpu/kernels/dense.h); of kernels/factor_blocks.cu for
 * large matrices elsewhere. All give the same bits. A matrix is the last two axes, leading axes are stacks. Elements are f32, f64, c64 or c128. Functions return NULL or 0 on
 * failure, and for a NULL argument. No array may be empty. */
#ifndef NUMERIC_FACTOR_H
#define NUMERIC_FACTOR_H

#include "ingot.h"

enum { FACTOR_PANEL = 32 }; /* columns of a panel of qr */

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

#endif
