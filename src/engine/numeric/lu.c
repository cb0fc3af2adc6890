/* LU factorization, and systems, inverses and determinants that are computed from it. */
#include "base/error.h"
#include "engine/numeric/factor.h"
#include "engine/numeric/linalg.h"
#include "engine/ops/complex.h"

static ig_array *conj_of(ig_array *x) { return array_is_complex(x) ? ig_conj(x) : x; }

/* ---- systems ---- */

/* Row i of x as row order[i]. */
static ig_array *reorder_back(ig_array *x, ig_array *order)
{
    return matrix_reorder(x, ig_argsort(order, -1, false, true));
}

static ig_array *solve_lu(ig_array *a, ig_array *b, bool transposed, check_row row);

/* number: transposed, the check. */
static ig_status pull_solve(ig_array *const *in, const int64_t *number, ig_array *const *g,
                            ig_array **grads)
{
    const check_row row = (check_row)number[1];
    ig_array *x = solve_lu(in[0], in[1], number[0], row);
    grads[1] = solve_lu(in[0], g[0], !number[0], row);
    ig_array *left = number[0] ? x : grads[1], *right = number[0] ? grads[1] : x;
    grads[0] = ig_negative(matrix_sum_to(ig_matmul(left, ig_matrix_transpose(right)), in[0]));
    grads[1] = matrix_sum_to(grads[1], in[1]);
    return grads[0] && grads[1] ? IG_OK : IG_ERR_ARGUMENT;
}

/* The solution of a x = b, or of the transposed system. */
static ig_array *solve_lu(ig_array *a, ig_array *b, bool transposed, check_row row)
{
    ig_array *f[3], *x, *none[] = {a, b};
    if (!a || !b)
        return NULL;
    if (matrix_is_empty(b))
        return matrix_broadcast(OP_solve, none, 2) == IG_OK ? none[1] : NULL;
    if (!lu_fastest(a, f, true))
        return NULL;
    if (transposed) {
        ig_array *both[] = {ig_matrix_transpose(f[0]), linalg_check(b, diagonal_zeros(f[0]), row)};
        if (!both[0] || !both[1] || matrix_broadcast(OP_solve, both, 2) != IG_OK)
            return NULL;
        x = triangular_fastest(both[0], triangular_fastest(both[0], both[1], false, false), true,
                               true);
        x = reorder_back(x, f[2]);
    } else {
        x = lu_blocks_solve(f[0], f[2], b, row);
    }
    ig_array *const in[] = {a, b};
    const int64_t number[LINALG_NUMBERS] = {transposed, row};
    return x && linalg_attach(&x, 1, in, 2, pull_solve, number) ? x : NULL;
}

BUILDER(solve)
{
    ig_array *a = args[0].u.array, *b = args[1].u.array;
    ig_dtype dtype;
    const int vector = linalg_system(op, &a, &b, &dtype);
    return vector < 0 ? 0 : linalg_solution(out, solve_lu(a, b, false, CHECK_solve), vector, dtype);
}

static ig_array *inverse(ig_array *a);

static ig_status pull_inverse(ig_array *const *in, const int64_t *number, ig_array *const *g,
                              ig_array **grads)
{
    ig_array *y = ig_matrix_transpose(inverse(in[0]));
    (void)number;
    grads[0] = ig_negative(ig_matmul(y, ig_matmul(g[0], y)));
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

static ig_array *inverse(ig_array *a)
{
    ig_array *f[3];
    if (!a || matrix_is_empty(a))
        return a;
    const int64_t n = matrix_rows(a);
    ig_array *x =
        lu_fastest(a, f, true) ? lu_blocks_solve(f[0], f[2], matrix_eye(a, n, n), CHECK_inv) : NULL;
    return x && linalg_attach(&x, 1, &a, 1, pull_inverse, NULL) ? x : NULL;
}

BUILDER(inv)
{
    ig_array *a = args[0].u.array;
    ig_dtype dtype;
    if (linalg_matrix(op, a, true) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK)
        return 0;
    return op_one(out, linalg_round(matrix_is_empty(a) ? ig_positive(a) : inverse(a), dtype));
}

/* ---- factors ---- */

/* Both triangular factors of lu_blocks. */
static ig_array *factor_l(ig_array *f)
{
    const int64_t m = matrix_rows(f), n = matrix_columns(f), k = m < n ? m : n;
    return ig_add(ig_tril(matrix_part(f, 0, m, 0, k), -1), matrix_eye(f, m, k));
}

static ig_array *factor_u(ig_array *f)
{
    const int64_t m = matrix_rows(f), n = matrix_columns(f);
    return ig_triu(matrix_part(f, 0, m < n ? m : n, 0, n), 0);
}

/* The matrix with ones at (order[i], i). */
static ig_array *permutation(ig_array *order, const ig_array *like)
{
    const int64_t m = matrix_rows(like);
    const ig_dtype dtype = (ig_dtype)like->dtype;
    ig_array *rows = ig_reshape(build_iota(1, &m), IG_SHAPE(m, 1));
    ig_array *p = ig_equal(rows, ig_astype(ig_expand_dims(order, IG_AXES(-2)), IG_I64));
    return ig_astype(p, dtype_is_complex(dtype) ? dtype_part(dtype) : dtype);
}

/* The gradient of a = P L U from the gradients of L and U, conjugated. Both factors are k wide, k the smaller length of a.
 * With more columns than rows, U = [U1 U2] with U2 = L^-1 A2; with more rows, L = [L1; L2] with L2 = A2 U^-1. */
static ig_array *pull_factors(ig_array *l, ig_array *u, ig_array *gl, ig_array *gu)
{
    const int64_t m = matrix_rows(l), n = matrix_columns(u), k = m < n ? m : n;
    ig_array *l1 = matrix_part(l, 0, k, 0, k), *u1 = matrix_part(u, 0, k, 0, k), *rest = NULL;
    ig_array *lh = matrix_adjoint(l1), *uh = matrix_adjoint(u1);
    gl = gl ? gl : matrix_zeros(l, m, k);
    gu = gu ? gu : matrix_zeros(u, k, n);
    if (n > m) {
        rest = triangular_solve_public(lh, matrix_part(gu, 0, k, k, n), true, true);
        gl = ig_subtract(gl, ig_matmul(rest, matrix_adjoint(matrix_part(u, 0, k, k, n))));
    } else if (m > n) {
        ig_array *t =
            triangular_solve_public(u1, matrix_adjoint(matrix_part(gl, k, m, 0, k)), true, false);
        rest = matrix_adjoint(t);
        gu = ig_subtract(gu, ig_matmul(matrix_adjoint(matrix_part(l, k, m, 0, k)), rest));
    }
    ig_array *s = ig_add(ig_tril(ig_matmul(lh, matrix_part(gl, 0, k, 0, k)), -1),
                         ig_triu(ig_matmul(matrix_part(gu, 0, k, 0, k), uh), 0));
    s = triangular_solve_public(lh, s, true, true);
    s = matrix_adjoint(triangular_solve_public(u1, matrix_adjoint(s), true, false));
    return !rest ? s : ig_concat((ig_array *const[]){s, rest}, 2, IG_AXES(n > m ? -1 : -2));
}

/* number[0]: there is one result, both factors in one matrix. */
static ig_status pull_lu(ig_array *const *in, const int64_t *number, ig_array *const *g,
                         ig_array **grads)
{
    ig_array *f[3], *gl = number[0] ? g[0] : g[0], *gu = number[0] ? g[0] : g[1];
    const int64_t m = matrix_rows(in[0]), n = matrix_columns(in[0]), k = m < n ? m : n;
    if (ig_lu(in[0], f) != 3)
        return IG_ERR_ARGUMENT;
    if (number[0]) {
        gl = ig_tril(matrix_part(gl, 0, m, 0, k), -1);
        gu = ig_triu(matrix_part(gu, 0, k, 0, n), 0);
    }
    ig_array *s = pull_factors(f[1], f[2], gl ? conj_of(gl) : NULL, gu ? conj_of(gu) : NULL);
    grads[0] = conj_of(ig_matmul(f[0], s));
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

BUILDER(lu)
{
    ig_array *a = args[0].u.array, *f[3];
    ig_dtype dtype;
    if (linalg_matrix(op, a, false) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK ||
        !lu_fastest(a, f, true))
        return 0;
    ig_array *both[] = {factor_l(f[0]), factor_u(f[0])};
    if (!both[0] || !both[1] ||
        (!matrix_is_empty(a) && !linalg_attach(both, 2, &a, 1, pull_lu, NULL)))
        return 0;
    out[0] = linalg_round(permutation(f[2], a), dtype);
    out[1] = linalg_round(both[0], dtype);
    out[2] = linalg_round(both[1], dtype);
    return out[0] && out[1] && out[2] ? 3 : 0;
}

BUILDER(lu_factor)
{
    const int64_t packed[LINALG_NUMBERS] = {1};
    ig_array *a = args[0].u.array, *f[3];
    ig_dtype dtype;
    if (linalg_matrix(op, a, false) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK ||
        !lu_fastest(a, f, false) ||
        (!matrix_is_empty(a) && !linalg_attach(f, 1, &a, 1, pull_lu, packed)))
        return 0;
    out[0] = linalg_round(matrix_is_empty(a) ? ig_positive(f[0]) : f[0], dtype);
    out[1] = f[1];
    return out[0] && out[1] ? 2 : 0;
}

/* The order of n rows by pivots that the caller gives. */
static ig_array *order_of_pivots(op_id op, ig_array *pivots, int64_t n)
{
    if (pivots->view.ndim < 1 || pivots->view.shape[pivots->view.ndim - 1] != n ||
        dtype_is_float((ig_dtype)pivots->dtype) || array_is_complex(pivots))
        FAIL_NULL(IG_ERR_ARGUMENT,
                  "%s: pivots must be %lld integers for each matrix, as lu_factor gives them",
                  op_rows[op].name, (long long)n);
    return factor_order(ig_astype(pivots, IG_I32), n);
}

BUILDER(lu_solve)
{
    ig_array *f = args[0].u.array, *b = args[2].u.array;
    const int64_t trans = args[3].u.i;
    ig_dtype dtype;
    if (trans < 0 || trans > 2)
        FAIL_NONE(IG_ERR_ARGUMENT, "lu_solve: trans is 0, 1 (transposed) or 2 (adjoint), not %lld",
                  (long long)trans);
    const int vector = linalg_system(op, &f, &b, &dtype);
    if (vector < 0)
        return 0;
    if (matrix_is_empty(b))
        return linalg_solution(out, ig_positive(b), vector, dtype);
    ig_array *order = order_of_pivots(op, args[1].u.array, matrix_rows(b)), *x = b;
    if (!order)
        return 0;
    if (trans) {
        ig_array *t = trans == 2 ? matrix_adjoint(f) : ig_matrix_transpose(f);
        x = triangular_checked(t, x, false, false, CHECK_lu_solve);
        x = reorder_back(triangular_checked(t, x, true, true, CHECK_lu_solve), order);
    } else {
        x = triangular_checked(f, matrix_reorder(x, order), false, true, CHECK_lu_solve);
        x = triangular_checked(f, x, true, false, CHECK_lu_solve);
    }
    return linalg_solution(out, x, vector, dtype);
}

/* ---- determinants ---- */

/* 1 or -1: whether the number of exchanges is even. */
static ig_array *parity(ig_array *pivots, ig_dtype dtype)
{
    const int64_t n = pivots->view.shape[pivots->view.ndim - 1];
    ig_array *moved = ig_not_equal(pivots, build_cast(build_iota(1, &n), IG_I32));
    ig_array *odd =
        ig_bitwise_and(ig_sum(moved, IG_AXES(-1), IG_I64, false), build_scalar_int(1, IG_I64));
    return ig_astype(
        ig_subtract(build_scalar_int(1, IG_I64), ig_multiply(odd, build_scalar_int(2, IG_I64))),
        dtype_is_complex(dtype) ? dtype_part(dtype) : dtype);
}

/* The sign and the logarithm of the absolute value of the determinant, without gradients; f from lu_blocks. */
static void log_determinant(ig_array *const *f, ig_array *out[2])
{
    ig_array *d = ig_diagonal(f[0], 0);
    ig_array *sign = d ? ig_prod(ig_sign(d), IG_AXES(-1), IG_DTYPE_NONE, false) : NULL;
    out[0] = sign ? ig_multiply(sign, parity(f[1], (ig_dtype)d->dtype)) : NULL;
    out[1] = ig_sum(ig_log(ig_abs(d)), IG_AXES(-1), IG_DTYPE_NONE, false);
}

/* x for each matrix as a matrix of one element. */
static ig_array *as_matrix(ig_array *x)
{
    return ig_expand_dims(ig_expand_dims(x, IG_AXES(-1)), IG_AXES(-1));
}

static ig_status pull_det(ig_array *const *in, const int64_t *number, ig_array *const *g,
                          ig_array **grads)
{
    ig_array *scale = as_matrix(ig_multiply(g[0], ig_det(in[0])));
    (void)number;
    grads[0] = ig_multiply(scale, ig_matrix_transpose(inverse(in[0])));
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* The results: the sign, and log(abs(det)). */
static ig_status pull_slogdet(ig_array *const *in, const int64_t *number, ig_array *const *g,
                              ig_array **grads)
{
    ig_array *y = ig_matrix_transpose(inverse(in[0])), *scale = g[1], *sign[2];
    (void)number;
    if (g[0]) { /* sign = exp(i Im(log(det))) */
        if (!array_is_complex(in[0]))
            return IG_OK;
        if (ig_slogdet(in[0], sign) != 2)
            return IG_ERR_ARGUMENT;
        scale = ig_multiply(ig_imag(ig_multiply(g[0], sign[0])), ig_imaginary(1));
    }
    grads[0] = ig_multiply(as_matrix(scale), y);
    return grads[0] ? IG_OK : IG_ERR_ARGUMENT;
}

/* x * scale, where scale may be infinite: a zero of x stays a zero. */
static ig_array *scaled_part(ig_array *x, ig_array *scale)
{
    return x ? ig_where(ig_equal(x, ig_float(0)), x, ig_multiply(x, scale)) : NULL;
}

static ig_array *scaled_sign(ig_array *sign, ig_array *scale)
{
    if (!array_is_complex(sign))
        return scaled_part(sign, scale);
    const pair p = complex_parts(sign);
    return complex_make((pair){scaled_part(p.re, scale), scaled_part(p.im, scale)});
}

/* The product of the diagonal of U, unless it overflows or underflows on the way. */
static ig_array *determinant(ig_array *const *f)
{
    ig_array *d = ig_diagonal(f[0], 0), *logs[2];
    ig_array *direct = d ? ig_prod(d, IG_AXES(-1), IG_DTYPE_NONE, false) : NULL;
    if (!direct)
        return NULL;
    log_determinant(f, logs);
    direct = ig_multiply(direct, parity(f[1], (ig_dtype)d->dtype));
    ig_array *size = ig_abs(direct);
    ig_array *good =
        ig_logical_and(ig_isfinite(size), ig_greater(size, build_scalar(0, (ig_dtype)size->dtype)));
    return ig_where(good, direct, scaled_sign(logs[0], ig_exp(logs[1])));
}

/* Shared by det and slogdet. */
static int build_determinants(op_id op, ig_array *a, ig_array **out, bool logs)
{
    ig_array *f[3];
    ig_dtype dtype;
    if (linalg_matrix(op, a, true) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK ||
        !lu_fastest(a, f, false))
        return 0;
    const int n = 1 + logs;
    if (logs)
        log_determinant(f, out);
    else
        out[0] = determinant(f);
    for (int i = 0; i < n; i++)
        if (!out[i])
            return 0;
    if (!matrix_is_empty(a) && !linalg_attach(out, n, &a, 1, logs ? pull_slogdet : pull_det, NULL))
        return 0;
    for (int i = 0; i < n; i++)
        if (!(out[i] = linalg_round(out[i], dtype)))
            return 0;
    return n;
}

BUILDER(det) { return build_determinants(op, args[0].u.array, out, false); }
BUILDER(slogdet) { return build_determinants(op, args[0].u.array, out, true); }
