/* Nodes that count: kernels/bins.cu (counts.c), kernels/ranks.cu (ranks.c) and kernels/compact.cu (positions.c). */
#ifndef NUMERIC_COUNTS_H
#define NUMERIC_COUNTS_H

#include "ingot.h"

/* i64 (n): how often 0, 1, ... n - 1 occur among x, which are 1-d integers. Others are left out. */
ig_array *counts_of(ig_array *x, int64_t n);
/* i64 (n): how many of x are between each two of n + 1 edges that are evenly spaced; the last edge is inside. scale is n over
 * the distance of the outer edges. All three are f32 or f64; x and edges are 1-d, scale 0-d. */
ig_array *counts_even(ig_array *x, ig_array *edges, ig_array *scale, int64_t n);

/* True if ranks_take selects `ranks` elements of rows of n faster than a sort of the rows does. */
bool ranks_fit(int64_t n, int64_t ranks);
/* The elements of rows, (..., n), that have the given ranks, (..., ranks) of i64 within [0, n), in the order of sort. The
 * leading axes are the same. -0.0 becomes 0.0, and NaN any NaN. */
ig_array *ranks_take(ig_array *rows, ig_array *ranks);

/* i64: the row-major positions at which mask, which is bool, is true; evaluates it. */
ig_array *positions_of(ig_array *mask);

#endif
