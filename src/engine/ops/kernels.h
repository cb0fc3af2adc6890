/* Nodes of the library's kernels that builders of this folder use. The folder numeric implements them. */
#ifndef OPS_KERNELS_H
#define OPS_KERNELS_H

#include "ingot.h"

/* i64 (n): how often 0, 1, ... n - 1 occur among x, which are 1-d integers. Others are left out. */
ig_array *kernel_counts(ig_array *x, int64_t n);
/* i64 (n): how many of x are between each two of n + 1 edges that are evenly spaced; the last edge is inside. scale is n over
 * the distance of the outer edges. All three are f32 or f64; x and edges are 1-d, scale 0-d. */
ig_array *kernel_even_counts(ig_array *x, ig_array *edges, ig_array *scale, int64_t n);

/* True if kernel_ranked selects `ranks` elements of rows of n faster than a sort of the rows does. */
bool kernel_ranks_fit(int64_t n, int64_t ranks);
/* The elements of rows, (..., n), that have the given ranks, (..., ranks) of i64 within [0, n), in the order of sort. The
 * leading axes are the same. -0.0 becomes 0.0, and NaN any NaN. */
ig_array *kernel_ranked(ig_array *rows, ig_array *ranks);

/* i64: the row-major positions at which mask, which is bool, is true; evaluates it. */
ig_array *kernel_positions(ig_array *mask);

/* bool: which of x, integers of 32 or 64 bits, are in sorted, which is 1-d, not empty, and has the same dtype. */
ig_array *kernel_contained(ig_array *x, ig_array *sorted);

#endif
