/* Shared by the builders of linear algebra. A matrix is the last two axes of an array, leading axes are stacks. Functions
 * pass on NULL. All take real and complex arrays. */
#ifndef NUMERIC_LINALG_H
#define NUMERIC_LINALG_H

#include "engine/ops/complex.h"
#include "engine/ops/composite.h"
#include "engine/program/fault.h"

/* Lengths of the last two axes. */
static inline int64_t matrix_rows(const ig_array *x) { return x->view.shape[x->view.ndim - 2]; }
static inline int64_t matrix_columns(const ig_array *x) { return x->view.shape[x->view.ndim - 1]; }

/* ---- linalg.c ---- */

/* Converts n arrays to the dtype in which they are computed: f32, f64 or complex. *dtype is the result's. */
ig_status linalg_floats(op_id op, ig_array **x, int n, ig_dtype *dtype);
/* Fails unless x has two axes or more, of equal length if square. */
ig_status linalg_matrix(op_id op, const ig_array *x, bool square);
/* y rounded to dtype, or to the dtype of its parts if y is real. */
ig_array *linalg_round(ig_array *y, ig_dtype dtype);

/* Rows from r0 to r1 and columns from c0 to c1, as a view. */
ig_array *matrix_part(ig_array *x, int64_t r0, int64_t r1, int64_t c0, int64_t c1);
/* The conjugate transpose. */
ig_array *matrix_adjoint(ig_array *x);
/* a b, and the matrix of four blocks. NULL for b: zeros. */
ig_array *matrix_blocks(ig_array *a, ig_array *b, ig_array *c, ig_array *d);
ig_array *matrix_above(ig_array *a, ig_array *b);
/* Row order[i] of x as row i. order has an index for each row; stacks broadcast. */
ig_array *matrix_reorder(ig_array *x, ig_array *order);
/* The identity in the shape of the stacks of x. */
ig_array *matrix_eye(const ig_array *x, int64_t rows, int64_t columns);
/* Zeros of rows x columns in the stacks of x, of its dtype. */
ig_array *matrix_zeros(const ig_array *x, int64_t rows, int64_t columns);
/* x, which a separate stage computes if it is evaluated block by block: much is computed from it. */
ig_array *matrix_apart(ig_array *x);
/* True if slabs of rows of a matrix, in an array of ndim axes, are factored first (qr.c). */
bool qr_is_long(int ndim, int64_t rows, int64_t columns);
/* True if x has no elements. */
bool matrix_is_empty(const ig_array *x);
/* The sum of x over the axes along which `like` was broadcast to it. */
ig_array *matrix_sum_to(ig_array *x, const ig_array *like);
/* The stacks of n matrices, broadcast to one shape. */
ig_status matrix_broadcast(op_id op, ig_array **x, int n);

/* x, which fails when it is evaluated if an element of bad, a row of bool for each matrix, is true. The message names the
 * matrix, and the first such element. */
ig_array *linalg_check(ig_array *x, ig_array *bad, check_row row);
/* The same as an array of dtype with a 0 for each matrix. */
ig_array *linalg_zero(ig_array *bad, check_row row, ig_dtype dtype);

/* ---- gradients ---- */

/* Computes the gradients of inputs from g, the gradients of the results, of which all but one are NULL: zero. grads are
 * NULL: zero. The convention of complex gradients is ig_grad's. */
typedef ig_status linalg_rule(ig_array *const *in, const int64_t *number, ig_array *const *g,
                              ig_array **grads);
enum { LINALG_INPUTS = 3, LINALG_RESULTS = 3, LINALG_NUMBERS = 2 };
/* Gives n results, floats, a gradient with respect to the inputs. Returns n, or 0. */
int linalg_attach(ig_array **out, int n, ig_array *const *in, int n_in, linalg_rule *rule,
                  const int64_t *number);

/* ---- blocks ---- */

/* The solution of a x = b for a triangular a; no check. b has the stacks of a. */
ig_array *triangular_solve(ig_array *a, ig_array *b, bool upper, bool unit);
/* The same, and lu_blocks below, by a library if that is faster (override_nodes.h). Without `ordered`, out[2] is undefined. */
ig_array *triangular_fastest(ig_array *a, ig_array *b, bool upper, bool unit);
int lu_fastest(ig_array *a, ig_array *out[3], bool ordered);
/* The lower factor; fails at its evaluation as `cholesky`. */
ig_array *cholesky_lower(ig_array *a);
/* Q with `width` columns, not if that is 0, and R of a matrix with no fewer rows than columns, by own kernels. */
bool qr_own(ig_array *a, int64_t width, ig_array **q, ig_array **r);
/* out: factors in one matrix, pivots, order (factor.h). */
int lu_blocks(ig_array *a, ig_array *out[3]);
/* The solution of a x = b from lu_blocks; `row` is the check of the diagonal. */
ig_array *lu_blocks_solve(ig_array *factors, ig_array *order, ig_array *b, check_row row);
/* The elements of the diagonal that are 0. */
ig_array *diagonal_zeros(ig_array *a);

/* ---- systems, with gradients: cholesky.c ---- */

/* The solution of a x = b for a triangular a. Fails when evaluated if its diagonal has a 0, as the op of row. */
ig_array *triangular_checked(ig_array *a, ig_array *b, bool upper, bool unit, check_row row);
/* The same as solve_triangular. */
ig_array *triangular_solve_public(ig_array *a, ig_array *b, bool upper, bool unit);
/* Converts the sides of a system, whose stacks may differ; a vector b becomes a matrix. Returns 1 if it was one, else 0;
 * -1 on failure. */
int linalg_system(op_id op, ig_array **a, ig_array **b, ig_dtype *dtype);
/* Stores the solution: a vector if b was one, rounded to dtype. */
int linalg_solution(ig_array **out, ig_array *x, int vector, ig_dtype dtype);

#endif
