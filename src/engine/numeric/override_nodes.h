/* Overrides: ops of linear algebra and Fourier transforms as one node each, if a library of the device computes them faster
 * and the math mode is not `same` (program/override.h). Each function returns false if the caller's own code should run. If it
 * returns true, the results are NULL after a failure. Gradients are the caller's. */
#ifndef NUMERIC_OVERRIDE_NODES_H
#define NUMERIC_OVERRIDE_NODES_H

#include "ingot.h"

/* The lower factor; fails at its evaluation as cholesky_lower does. */
bool override_cholesky(ig_array *a, ig_array **l);
/* The results of lu_blocks; out[2] only if ordered. */
bool override_lu(ig_array *a, bool ordered, ig_array *out[3]);
/* The solution of a x = b for a triangular a. b has the stacks of a. */
bool override_triangular(ig_array *a, ig_array *b, bool upper, bool unit, ig_array **x);
/* Q with `width` columns, not if width is 0, and R of a matrix with no fewer rows than columns. */
bool override_qr(ig_array *a, int64_t width, ig_array **q, ig_array **r);
/* Values, NaN if they do not converge, and vectors, of planes_eigh. */
bool override_eigh(ig_array *planes, bool vectors, ig_array *out[2]);
/* The same of planes_svd. */
bool override_svd(ig_array *planes, int64_t k, ig_array *out[3]);
/* The sums along axis 1 of pairs (parts, n, lines, 2), not scaled. */
bool override_fft(ig_array *pairs, bool backward, ig_array **y);
/* The sums of fft_of_real and fft_to_real, not scaled. */
bool override_fft_of_real(ig_array *x, ig_array **pairs);
bool override_fft_to_real(ig_array *pairs, int64_t n, ig_array **y);

#endif
