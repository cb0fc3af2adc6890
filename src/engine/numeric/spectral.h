/* Decompositions of matrices as nodes. Their matrices are planes: real arrays (..., P, rows, columns), where P is 1, or 2
 * for complex matrices: real parts, then imaginary parts. Sets of vectors are stored by rows. */
#ifndef NUMERIC_SPECTRAL_H
#define NUMERIC_SPECTRAL_H

#include "engine/custom/library.h"
#include "engine/numeric/linalg.h"

/* The planes of x, f32 or f64 or complex, transposed or not. */
ig_array *planes_of(ig_array *x, bool transpose);
/* The array of planes, complex if there are two; conjugated or not, transposed or not. */
ig_array *planes_join(ig_array *planes, bool conjugate, bool transpose);

/* Fails if x is too large for a decomposition. A long matrix (qr.c) is not, unless all of its vectors are wanted. */
ig_status matrix_fits(op_id op, const ig_array *x);
/* x as floats in which decompositions compute: f32, f64, c64 or c128; *dtype is the dtype of results. Fails unless x has
 * two axes or more; or, if square, unless the last two have one length. NULL on failure. */
ig_array *matrix_floats(op_id op, ig_array *x, bool square, ig_dtype *dtype);

/* y, real or complex, rounded to dtype, or to the real dtype of a complex one if y is real. */
ig_array *matrix_result(ig_array *y, ig_dtype dtype);

/* Eigenvalues (..., n), ascending, and vectors (..., P, n, n) of Hermitian planes; only values without vectors. They have
 * gradients. Returns the number of results, 0 on failure. Evaluation of these and the following fails if an element is not
 * finite, or if the steps do not converge. */
int planes_eigh(ig_array *a, bool vectors, ig_array **out);

/* The same of finite planes by own kernels, without checks and gradients. */
bool eigh_own(ig_array *a, bool vectors, ig_array **out);

/* The same for real matrices (..., n, n), without checks and gradients: vectors are the rows of out[1]. large_eigh is for
 * matrices of at least EIGH_LARGE rows. */
enum { EIGH_LARGE = 128 };
bool eigh_rows(ig_array *a, ig_array *out[2]);
int large_eigh(ig_array *a, bool vectors, ig_array **out);

/* Singular values (..., n), left vectors (..., P, k, m) and right vectors (..., P, n, n) of the matrix whose columns are the
 * rows of planes g (..., P, n, m), n <= m; k is 0 (values only), n or m. Returns the number of results, 0 on failure. */
int planes_svd(ig_array *g, int64_t k, ig_array **out);
/* The same of finite planes by own kernels, without checks and gradients. */
bool svd_own(ig_array *g, int64_t k, ig_array **out);

/* The same for real matrices without checks and gradients. svd_rows: all m right and n left vectors, rows of out[1] and
 * out[2], of matrices a (..., n, m), n < m. large_svd: values and k left and n right vectors of a (..., m, n), m >= n, of at
 * least SVD_LARGE columns. */
enum { SVD_LARGE = 128 };
bool svd_rows(ig_array *a, ig_array *out[3]);
int large_svd(ig_array *a, int64_t k, ig_array **out);

/* Eigenvalues (..., 2, n) and vectors (..., 2, n, n) of complex planes; only values without vectors. They have no gradient.
 * Returns the number of results, 0 on failure. */
int planes_eig(ig_array *h, bool vectors, ig_array **out);

/* The parts of x = u diag(s) vh, where x is of float dtype; without vectors only s. Returns their number, 0 on failure. */
int matrix_svd(ig_array *x, bool full, bool vectors, ig_array **out);

#endif
