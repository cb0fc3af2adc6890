/* Cholesky's factorization and triangular systems. */
#include "base/error.h"
#include "engine/numeric/linalg.h"
#include "engine/numeric/override_nodes.h"

/* ---- cholesky ---- */

/* x with its diagonal halved and zeros above it. */
static ig_array *lower_half(ig_array *x)
{
    ig_array *low = ig_tril(x, -1), *diagonal = ig_subtract(ig_tril(x, 0), low);
    return ig_add(low, ig_multiply(diagonal, ig_float(0.5)));
}

/* With G = conj(g): the gradient of the symmetric matrix is the Hermitian part of L^-H low(L^H G) L^-1, where low
 * halves the diagonal. */
static ig_status pull_cholesky(ig_array *const *in, const int64_t *number, ig_array *const *g,
                               ig_array **grads)
{
    ig_array *l = ig_cholesky(in[0], false), *h = matrix_adjoint(l);
    (void)number;
    ig_array *s = lower_half(ig_matmul(h, array_is_complex(g[0]) ? ig_conj(g[0]) : g[0]));
    s = triangular_solve_public(h, s, true, false);
    s = matrix_adjoint(triangular_solve_public(h, matrix_adjoint(s), true, false));
    s = ig_multiply(ig_add(s, matrix_adjoint(s)), ig_float(0.5));
    grads[0] = array_is_complex(s) ? ig_conj(s) : s;
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

BUILDER(cholesky)
{
    ig_array *a = args[0].u.array;
    ig_dtype dtype;
    if (linalg_matrix(op, a, true) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK)
        return 0;
    ig_array *l;
    if (!override_cholesky(a, &l))
        l = cholesky_lower(a);
    if (l == a || (l && !linalg_attach(&l, 1, &a, 1, pull_cholesky, NULL)))
        l = l == a ? ig_positive(a) : NULL;
    if (args[1].u.b)
        l = matrix_adjoint(l);
    return op_one(out, linalg_round(l, dtype));
}

/* ---- triangular systems ---- */

/* number: upper, unit. The gradient of b solves the transposed system. */
static ig_status pull_triangular(ig_array *const *in, const int64_t *number, ig_array *const *g,
                                 ig_array **grads)
{
    const bool upper = number[0], unit = number[1];
    ig_array *x = triangular_solve_public(in[0], in[1], upper, unit);
    grads[1] = triangular_solve_public(ig_matrix_transpose(in[0]), g[0], !upper, unit);
    ig_array *whole = ig_negative(ig_matmul(grads[1], ig_matrix_transpose(x)));
    whole = matrix_sum_to(whole, in[0]);
    grads[0] = upper ? ig_triu(whole, unit) : ig_tril(whole, unit ? -1 : 0);
    grads[1] = matrix_sum_to(grads[1], in[1]);
    return grads[0] && grads[1] ? IG_OK : IG_ERR_ARGUMENT;
}

ig_array *triangular_checked(ig_array *a, ig_array *b, bool upper, bool unit, check_row row)
{
    if (!a || !b || matrix_is_empty(b))
        return b;
    ig_array *both[] = {a, unit ? b : linalg_check(b, diagonal_zeros(a), row)};
    if (!both[1] || matrix_broadcast(OP_solve_triangular, both, 2) != IG_OK)
        return NULL;
    ig_array *x = triangular_fastest(both[0], both[1], upper, unit);
    ig_array *const in[] = {a, b};
    const int64_t number[LINALG_NUMBERS] = {upper, unit};
    return x && linalg_attach(&x, 1, in, 2, pull_triangular, number) ? x : NULL;
}

ig_array *triangular_solve_public(ig_array *a, ig_array *b, bool upper, bool unit)
{
    return triangular_checked(a, b, upper, unit, CHECK_solve_triangular);
}

int linalg_system(op_id op, ig_array **a, ig_array **b, ig_dtype *dtype)
{
    ig_array *both[] = {*a, *b};
    char have[2][400];
    const bool vector = (*b)->view.ndim == 1;
    if (linalg_matrix(op, *a, true) != IG_OK || linalg_floats(op, both, 2, dtype) != IG_OK)
        return -1;
    if (vector)
        both[1] = ig_expand_dims(both[1], IG_AXES(-1));
    if (!both[1] || both[1]->view.ndim < 2 || matrix_rows(both[1]) != matrix_rows(*a)) {
        if (!ig_failed())
            ig_fail(IG_ERR_SHAPE, "%s: the matrix has shape %s, but b has shape %s",
                    op_rows[op].name, view_shape_text((*a)->view.ndim, (*a)->view.shape, have[0]),
                    view_shape_text((*b)->view.ndim, (*b)->view.shape, have[1]));
        return -1;
    }
    ig_array *same[] = {both[0], both[1]};
    if (matrix_broadcast(op, same, 2) != IG_OK) /* only whether they can be */
        return -1;
    *a = both[0];
    *b = both[1];
    return vector;
}

int linalg_solution(ig_array **out, ig_array *x, int vector, ig_dtype dtype)
{
    if (vector)
        x = ig_squeeze(x, IG_AXES(-1));
    return op_one(out, linalg_round(x, dtype));
}

BUILDER(solve_triangular)
{
    ig_array *a = args[0].u.array, *b = args[1].u.array;
    const int64_t trans = args[2].u.i;
    ig_dtype dtype;
    bool upper = args[3].kind == IG_ARG_BOOL   ? !args[3].u.b
                 : args[5].kind == IG_ARG_BOOL ? args[5].u.b
                                               : true;
    if (trans < 0 || trans > 2)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "solve_triangular: trans is 0, 1 (transposed) or 2 (adjoint), not %lld",
                  (long long)trans);
    const int vector = linalg_system(op, &a, &b, &dtype);
    if (vector < 0)
        return 0;
    if (trans) {
        a = trans == 2 ? matrix_adjoint(a) : ig_matrix_transpose(a);
        upper = !upper;
    }
    return linalg_solution(out, triangular_solve_public(a, b, upper, args[4].u.b), vector, dtype);
}

BUILDER(tri_inv)
{
    ig_array *a = args[0].u.array;
    ig_dtype dtype;
    if (linalg_matrix(op, a, true) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK)
        return 0;
    const int64_t n = matrix_rows(a);
    ig_array *x = triangular_checked(a, matrix_eye(a, n, n), args[1].u.b, false, CHECK_tri_inv);
    return op_one(out, linalg_round(x, dtype));
}

static ig_array *solve_factored(ig_array *c, ig_array *b, bool lower)
{
    ig_array *l = lower ? c : matrix_adjoint(c), *h = lower ? matrix_adjoint(c) : c;
    return triangular_checked(h, triangular_checked(l, b, false, false, CHECK_cho_solve), true,
                              false, CHECK_cho_solve);
}

BUILDER(cho_solve)
{
    ig_array *c = args[0].u.array, *b = args[1].u.array;
    ig_dtype dtype;
    const int vector = linalg_system(op, &c, &b, &dtype);
    return vector < 0 ? 0 : linalg_solution(out, solve_factored(c, b, args[2].u.b), vector, dtype);
}

BUILDER(cholesky_inverse)
{
    ig_array *c = args[0].u.array;
    ig_dtype dtype;
    if (linalg_matrix(op, c, true) != IG_OK || linalg_floats(op, &c, 1, &dtype) != IG_OK)
        return 0;
    const int64_t n = matrix_rows(c);
    return op_one(out, linalg_round(solve_factored(c, matrix_eye(c, n, n), !args[1].u.b), dtype));
}
