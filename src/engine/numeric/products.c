/* Products of matrices: powers, chains, the exponential; and tensors as matrices. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/numeric/linalg.h"

#include <string.h>

BUILDER(trace)
{
    ig_array *x = args[0].u.array;
    if (linalg_matrix(op, x, false) != IG_OK)
        return 0;
    return op_one(out, ig_sum(ig_diagonal(x, args[1].u.i), IG_AXES(-1),
                              arg_dtype(&args[2], IG_DTYPE_NONE), false));
}

BUILDER(matrix_power)
{
    ig_array *x = args[0].u.array, *y = NULL;
    const int64_t n = args[1].u.i;
    if (linalg_matrix(op, x, true) != IG_OK)
        return 0;
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "matrix_power takes numbers, not bool; convert with astype");
    if (n == 0)
        return op_one(out, ig_add(matrix_eye(x, matrix_rows(x), matrix_rows(x)),
                                  matrix_zeros(x, matrix_rows(x), matrix_rows(x))));
    if (n < 0)
        x = ig_inv(x);
    for (uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n; left; left >>= 1) {
        if (left & 1)
            y = y ? ig_matmul(y, x) : x;
        if (left > 1)
            x = ig_matmul(x, x);
    }
    return op_one(out, n == 1 ? ig_positive(y) : y);
}

/* ---- chains ---- */

enum { CHAIN_MOST = 64 };

/* The product of x[i] to x[j], with the splits of least cost. */
static ig_array *chain_product(ig_array *const *x, int split[][CHAIN_MOST], int i, int j)
{
    return i == j ? x[i]
                  : ig_matmul(chain_product(x, split, i, split[i][j]),
                              chain_product(x, split, split[i][j] + 1, j));
}

/* Finds the splits: matrix i has size[i] rows and size[i + 1] columns. */
static void chain_plan(const double *size, int n, int split[][CHAIN_MOST])
{
    double cost[CHAIN_MOST][CHAIN_MOST] = {{0}};
    for (int length = 1; length < n; length++)
        for (int i = 0, j = length; j < n; i++, j++)
            for (int k = i; k < j; k++) {
                const double now =
                    cost[i][k] + cost[k + 1][j] + size[i] * size[k + 1] * size[j + 1];
                if (k == i || now < cost[i][j]) {
                    cost[i][j] = now;
                    split[i][j] = k;
                }
            }
}

BUILDER(multi_dot)
{
    const int n = args[0].u.arrays.n;
    ig_array *x[CHAIN_MOST];
    ig_dtype dtype;
    double size[CHAIN_MOST + 1];
    int split[CHAIN_MOST][CHAIN_MOST];
    if (n < 1 || n > CHAIN_MOST)
        FAIL_NONE(IG_ERR_ARGUMENT, "multi_dot takes 1 to %d arrays", (int)CHAIN_MOST);
    memcpy(x, args[0].u.arrays.v, (size_t)n * sizeof *x);
    if (infer_dtype(op, x, n, &dtype) != IG_OK)
        return 0;
    if (dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "multi_dot takes numbers, not bool; convert with astype");
    for (int i = 0; i < n && (dtype == IG_F16 || dtype == IG_BF16); i++)
        x[i] = build_cast(x[i], IG_F32); /* rounded once, at the end */
    for (int i = 0; i < n; i++) {
        const int ndim = x[i]->view.ndim;
        if (ndim != 2 && !(ndim == 1 && (i == 0 || i == n - 1)))
            FAIL_NONE(
                IG_ERR_SHAPE,
                "multi_dot: array %d is not a matrix; only the first and the last may be vectors",
                i);
        size[i] = ndim == 2 || i > 0 ? (double)x[i]->view.shape[0] : 1;
        size[i + 1] = ndim == 2 ? (double)x[i]->view.shape[1]
                      : i == 0  ? (double)x[i]->view.shape[0]
                                : 1;
    }
    chain_plan(size, n, split);
    ig_array *y = n == 1 ? ig_positive(x[0]) : chain_product(x, split, 0, n - 1);
    return op_one(out, dtype == IG_F16 || dtype == IG_BF16 ? build_cast(y, dtype) : y);
}

BUILDER(block_diag)
{
    ig_array *const *x = args[0].u.arrays.v;
    const int n = args[0].u.arrays.n;
    ig_array *y = NULL;
    for (int i = 0; i < n; i++) {
        ig_array *one = x[i];
        if (one->view.ndim > 2)
            FAIL_NONE(IG_ERR_SHAPE, "block_diag: array %d has more than two axes", i);
        while (one && one->view.ndim < 2)
            one = ig_expand_dims(one, IG_AXES(0));
        if (!one)
            return 0;
        if (!y) {
            y = one;
            continue;
        }
        ig_array *right = matrix_zeros(one, matrix_rows(y), matrix_columns(one));
        ig_array *left = matrix_zeros(y, matrix_rows(one), matrix_columns(y));
        if (!(y = matrix_blocks(y, right, left, one)))
            return 0;
    }
    if (!y)
        FAIL_NONE(IG_ERR_ARGUMENT, "block_diag takes one array or more");
    return op_one(out, n == 1 ? ig_positive(y) : y);
}

/* ---- tensors as matrices ---- */

static int64_t length_of(const ig_array *x, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= x->view.shape[i];
    return n;
}

BUILDER(tensorinv)
{
    ig_array *x = args[0].u.array;
    const int64_t at = args[1].u.i;
    const int n = x->view.ndim;
    int64_t shape[IG_MAX_NDIM];
    if (at < 1 || at >= n || length_of(x, 0, (int)at) != length_of(x, (int)at, n))
        FAIL_NONE(
            IG_ERR_SHAPE,
            "tensorinv: the axes before ind and those from ind on must have as many elements");
    const int64_t rows = length_of(x, 0, (int)at);
    for (int i = 0; i < n; i++)
        shape[i] = x->view.shape[(i + at) % n];
    ig_array *y = ig_inv(ig_reshape(x, IG_SHAPE(rows, rows)));
    return op_one(out, ig_reshape(y, (ig_ints){shape, n}));
}

BUILDER(tensorsolve)
{
    ig_array *a = args[0].u.array, *b = args[1].u.array;
    const ig_ints axes = arg_ints(&args[2]);
    if (axes.n) {
        int64_t last[IG_MAX_NDIM];
        if (axes.n > a->view.ndim)
            FAIL_NONE(IG_ERR_SHAPE, "tensorsolve: %d axes are given, but a has %d", axes.n,
                      a->view.ndim);
        for (int i = 0; i < axes.n; i++)
            last[i] = a->view.ndim - axes.n + i;
        if (!(a = ig_moveaxis(a, axes, (ig_ints){last, axes.n})))
            return 0;
    }
    const int lead = b->view.ndim, n = a->view.ndim;
    const int64_t rows = length_of(b, 0, lead);
    if (n < lead || length_of(a, lead, n) != rows || length_of(a, 0, lead) != rows)
        FAIL_NONE(IG_ERR_SHAPE, "tensorsolve: the last axes of a must have as many elements as b");
    ig_array *x = ig_solve(ig_reshape(a, IG_SHAPE(rows, rows)), ig_reshape(b, IG_SHAPE(rows)));
    return op_one(out, ig_reshape(x, (ig_ints){a->view.shape + lead, n - lead}));
}

/* ---- the exponential ---- */

enum { SQUARINGS = 20 };

static ig_array *scaled_by(ig_array *x, double c) { return ig_multiply(x, ig_float(c)); }

/* x0 c0 + x1 c1 + x2 c2 */
static ig_array *sum_of(ig_array *const *x, double c0, double c1, double c2)
{
    return ig_add(ig_add(scaled_by(x[0], c0), scaled_by(x[1], c1)), scaled_by(x[2], c2));
}

/* Pade's approximant of degree 13 for a norm of at most PADE_NORM. */
#define PADE_NORM 5.371920351148152
static ig_array *pade(ig_array *a)
{
    ig_array *eye = matrix_eye(a, matrix_rows(a), matrix_rows(a)), *power[3];
    power[0] = ig_matmul(a, a);
    power[1] = ig_matmul(power[0], power[0]);
    power[2] = ig_matmul(power[1], power[0]);
    if (!eye || !power[0] || !power[1] || !power[2])
        return NULL;
    ig_array *u = ig_matmul(power[2], sum_of(power, 40840800, 16380, 1));
    u = ig_add(u, sum_of(power, 1187353796428800.0, 10559470521600.0, 33522128640.0));
    u = ig_matmul(a, ig_add(u, scaled_by(eye, 32382376266240000.0)));
    ig_array *v = ig_matmul(power[2], sum_of(power, 1323241920, 960960, 182));
    v = ig_add(v, sum_of(power, 7771770303897600.0, 129060195264000.0, 670442572800.0));
    v = ig_add(v, scaled_by(eye, 64764752532480000.0));
    return ig_solve(ig_subtract(v, u), ig_add(v, u));
}

BUILDER(expm)
{
    ig_array *a = args[0].u.array;
    ig_dtype dtype;
    if (linalg_matrix(op, a, true) != IG_OK || linalg_floats(op, &a, 1, &dtype) != IG_OK)
        return 0;
    if (matrix_is_empty(a))
        return op_one(out, linalg_round(ig_positive(a), dtype));
    ig_array *norm = ig_max(ig_sum(ig_abs(ig_stop_gradient(a)), IG_AXES(-2), IG_DTYPE_NONE, false),
                            IG_AXES(-1), true);
    if (!norm)
        return 0;
    const ig_dtype real = (ig_dtype)norm->dtype;
    ig_array *least = build_scalar(PADE_NORM, real);
    ig_array *times = ig_ceil(ig_log2(ig_maximum(ig_divide(norm, least), build_scalar(1, real))));
    ig_array *bad = ig_logical_not(ig_less_equal(times, build_scalar(SQUARINGS, real)));
    times = ig_expand_dims(times, IG_AXES(-1));
    ig_array *x = linalg_check(a, bad, CHECK_expm);
    x = pade(ig_multiply(x, ig_exp2(ig_negative(times))));
    for (int i = 0; i < SQUARINGS && x; i++)
        x = ig_where(ig_greater(times, build_scalar(i, real)), ig_matmul(x, x), x);
    return op_one(out, linalg_round(x, dtype));
}
