/* Builders of functions that NumPy and SciPy have in addition to the array API standard. Each is an expression of other
 * ops. Those of floats are computed in f32 (f64 for f64) and rounded to the dtype of their inputs once. */
#include "base/error.h"
#include "engine/ops/composite.h"
#include <math.h>

/* ---- elementwise ---- */

/* As in PyTorch: exact at both ends. */
BUILDER(lerp)
{
    ig_array *x[3] = {args[0].u.array, args[1].u.array, args[2].u.array};
    ig_dtype dtype;
    if (composite_floats(op, x, 3, &dtype) != IG_OK)
        return 0;
    ig_array *way = ig_subtract(x[1], x[0]), *rest = ig_subtract(ig_float(1), x[2]);
    return composite_result(out,
                            ig_where(ig_less(ig_abs(x[2]), ig_float(0.5)),
                                     ig_add(x[0], ig_multiply(x[2], way)),
                                     ig_subtract(x[1], ig_multiply(way, rest))),
                            dtype);
}

static int scaled(op_id op, const ig_arg *args, double factor, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    return composite_result(out, ig_times(x, factor), dtype);
}

BUILDER(deg2rad) { return scaled(op, args, M_PI / 180, out); }
BUILDER(rad2deg) { return scaled(op, args, 180 / M_PI, out); }

BUILDER(sinc)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *y = ig_times(ig_where(ig_equal(x, ig_float(0)), ig_float(1e-20), x), M_PI);
    return composite_result(out, ig_divide(ig_sin(y), y), dtype);
}

/* 0 if x1 is 0, unless x2 is NaN: there the logarithm of 1 is taken. */
BUILDER(xlogy)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (composite_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    ig_array *none = ig_logical_and(ig_equal(x[0], ig_float(0)), ig_logical_not(ig_isnan(x[1])));
    return composite_result(out, ig_multiply(x[0], ig_log(ig_where(none, ig_float(1), x[1]))),
                            dtype);
}

/* value, or the number if it is absent, where condition holds; else x. */
static ig_array *replaced(ig_array *x, ig_array *condition, const ig_arg *value, double number)
{
    ig_array *with = arg_array(value) ? build_cast(arg_array(value), (ig_dtype)x->dtype)
                                      : build_scalar(number, (ig_dtype)x->dtype);
    return ig_where(condition, with, x);
}

BUILDER(nan_to_num)
{
    ig_array *x = args[0].u.array;
    ig_finfo limits;
    if (!dtype_is_float(x->dtype))
        return op_one(out, x);
    if (ig_finfo_of((ig_dtype)x->dtype, &limits) != IG_OK)
        return 0;
    ig_array *y = replaced(x, ig_isnan(x), &args[1], 0);
    y = y ? replaced(y, ig_equal(x, ig_float(INFINITY)), &args[2], limits.max) : NULL;
    y = y ? replaced(y, ig_equal(x, ig_float(-INFINITY)), &args[3], -limits.max) : NULL;
    return op_one(out, y);
}

/* ---- comparisons ---- */

static bool same_shape(const ig_array *x, const ig_array *y)
{
    bool same = x->view.ndim == y->view.ndim;
    for (int a = 0; a < x->view.ndim && same; a++)
        same = x->view.shape[a] == y->view.shape[a];
    return same;
}

static ig_array *both_nan(ig_array *x1, ig_array *x2)
{
    return ig_logical_and(ig_isnan(x1), ig_isnan(x2));
}

/* Equality is exact for integers. Other differences are computed in f32, or f64. */
static ig_array *close_to(op_id op, const ig_arg *args)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_array *same = ig_equal(x[0], x[1]);
    ig_dtype dtype;
    if (!same || composite_floats(op, x, 2, &dtype) != IG_OK)
        return NULL;
    ig_array *bound = ig_plus(ig_times(ig_abs(x[1]), args[2].u.f), args[3].u.f);
    ig_array *near = ig_less_equal(ig_abs(ig_subtract(x[0], x[1])), bound);
    near = ig_logical_or(ig_logical_and(near, ig_isfinite(x[1])), same);
    return args[4].u.b ? ig_logical_or(near, both_nan(x[0], x[1])) : near;
}

BUILDER(isclose) { return op_one(out, close_to(op, args)); }
BUILDER(allclose) { return op_one(out, ig_all(close_to(op, args), IG_NONE, false)); }

BUILDER(array_equal)
{
    ig_array *x1 = args[0].u.array, *x2 = args[1].u.array;
    if (!same_shape(x1, x2))
        return op_one(out, build_scalar_int(0, IG_BOOL));
    ig_array *same = ig_equal(x1, x2);
    if (args[2].u.b)
        same = ig_logical_or(same, both_nan(x1, x2));
    return op_one(out, ig_all(same, IG_NONE, false));
}

/* ---- statistics ---- */

BUILDER(ptp)
{
    ig_array *x = args[0].u.array;
    ig_ints axis = arg_ints(&args[1]);
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "ptp takes numbers, not bool; convert with astype");
    const int64_t length = composite_length(op, x, axis);
    if (length == 0)
        FAIL_NONE(IG_ERR_SHAPE, "ptp: there are no elements along axis");
    if (length < 0)
        return 0;
    return op_one(out, ig_subtract(ig_max(x, axis, args[2].u.b), ig_min(x, axis, args[2].u.b)));
}

/* Weights with one axis for each of axes, as a view that broadcasts with x. */
static ig_array *weights_along(op_id op, const ig_array *x, ig_array *weights, ig_ints axis)
{
    int axes[IG_MAX_NDIM], order[IG_MAX_NDIM], n = infer_axes(op, axis, x->view.ndim, axes), k = 0;
    int64_t shape[IG_MAX_NDIM];
    bool fits = n >= 0 && axis.v && weights->view.ndim == n;
    for (int i = 0; i < n && fits; i++)
        fits = weights->view.shape[i] == x->view.shape[axes[i]];
    if (n < 0)
        return NULL;
    if (!fits)
        FAIL_NULL(IG_ERR_SHAPE, "%s: weights has neither the shape of x nor that of the given axes",
                  op_rows[op].name);
    for (int a = 0; a < x->view.ndim; a++) {
        shape[a] = 1;
        for (int i = 0; i < n; i++)
            if (axes[i] == a) {
                order[k++] = i;
                shape[a] = x->view.shape[a];
            }
    }
    return build_reshape(op, build_permute(op, weights, order), x->view.ndim, shape);
}

BUILDER(average)
{
    ig_array *x[2] = {args[0].u.array, arg_array(&args[2])};
    ig_ints axis = arg_ints(&args[1]);
    bool keepdims = args[3].u.b;
    ig_dtype dtype;
    if (composite_floats(op, x, x[1] ? 2 : 1, &dtype) != IG_OK ||
        composite_length(op, x[0], axis) < 0)
        return 0;
    if (!x[1])
        return composite_result(out, composite_mean(op, x[0], axis, keepdims), dtype);
    if (!same_shape(x[0], x[1]) && !(x[1] = weights_along(op, x[0], x[1], axis)))
        return 0;
    ig_array *weights = ig_broadcast_to(x[1], ig_shape(x[0]));
    ig_array *sum = ig_sum(ig_multiply(x[0], weights), axis, IG_DTYPE_NONE, keepdims);
    return composite_result(out, ig_divide(sum, ig_sum(weights, axis, IG_DTYPE_NONE, keepdims)),
                            dtype);
}

/* Variables as rows: (variables, observations). */
static ig_array *observations(op_id op, ig_array *x, bool rowvar, bool first)
{
    if (x->view.ndim > 2)
        FAIL_NULL(IG_ERR_SHAPE, "%s: an array has %d dimensions; give 1 or 2", op_rows[op].name,
                  x->view.ndim);
    const bool flat = x->view.ndim < 2;
    if (flat)
        x = ig_reshape(x, IG_SHAPE(1, -1));
    return !x || rowvar || (first ? flat : x->view.shape[0] == 1) ? x : ig_matrix_transpose(x);
}

/* The covariances of rows of x with weights, which may be NULL, as NumPy computes them. */
static ig_array *covariance(op_id op, ig_array *x, ig_array *counts, ig_array *importance,
                            double ddof)
{
    ig_array *w = counts && importance ? ig_multiply(counts, importance)
                  : counts             ? counts
                                       : importance;
    const double n = (double)x->view.shape[1];
    if (!w) {
        ig_array *centred = ig_subtract(x, composite_mean(op, x, IG_AXES(1), true));
        ig_array *c = ig_matmul(centred, ig_matrix_transpose(centred));
        return ig_multiply(c, ig_float(1 / fmax(n - ddof, 0)));
    }
    ig_array *total = ig_sum(w, IG_NONE, IG_DTYPE_NONE, false);
    ig_array *mean = ig_divide(ig_sum(ig_multiply(x, w), IG_AXES(1), IG_DTYPE_NONE, true), total);
    ig_array *centred = ig_subtract(x, mean), *divisor = total;
    if (importance && ddof != 0) {
        ig_array *both = ig_sum(ig_multiply(w, importance), IG_NONE, IG_DTYPE_NONE, false);
        divisor = ig_subtract(total, ig_times(ig_divide(both, total), ddof));
    } else if (ddof != 0)
        divisor = ig_plus(total, -ddof);
    ig_array *c = ig_matmul(centred, ig_matrix_transpose(ig_multiply(centred, w)));
    return ig_multiply(c, ig_reciprocal(ig_maximum(divisor, ig_float(0))));
}

/* Reads x, y, rowvar, and the weights of cov if there are any. *dtype is the result's. */
static ig_array *variables(op_id op, const ig_arg *args, ig_array **weights, ig_dtype *dtype)
{
    ig_array *all[4] = {args[0].u.array}, *part[2];
    int n = 1, which[4] = {0};
    ig_array *const others[3] = {arg_array(&args[1]), weights ? weights[0] : NULL,
                                 weights ? weights[1] : NULL};
    for (int i = 0; i < 3; i++)
        if (others[i]) {
            which[i + 1] = n;
            all[n++] = others[i];
        }
    if (composite_floats(op, all, n, dtype) != IG_OK)
        return NULL;
    for (int i = 0; weights && i < 2; i++)
        weights[i] = which[i + 2] ? all[which[i + 2]] : NULL;
    const bool rowvar = args[2].u.b, two = which[1] != 0;
    part[0] = observations(op, all[0], rowvar, true);
    part[1] = two ? observations(op, all[1], rowvar, false) : NULL;
    if (!part[0] || (two && !part[1]))
        return NULL;
    return two ? ig_concat(part, 2, IG_AXES(0)) : part[0];
}

/* A matrix without axes of length 1. */
static ig_array *squeezed(ig_array *x)
{
    return x && x->view.shape[0] == 1 ? ig_reshape(x, IG_SCALAR) : x;
}

BUILDER(cov)
{
    ig_array *weights[2] = {arg_array(&args[5]), arg_array(&args[6])};
    const double ddof = args[4].kind == IG_ARG_INT ? (double)args[4].u.i : args[3].u.b ? 0 : 1;
    ig_dtype dtype;
    ig_array *x = variables(op, args, weights, &dtype);
    for (int i = 0; i < 2 && x; i++)
        if (weights[i] &&
            (weights[i]->view.ndim != 1 || weights[i]->view.shape[0] != x->view.shape[1]))
            FAIL_NONE(IG_ERR_SHAPE, "cov: give one weight for each of %lld observations",
                      (long long)x->view.shape[1]);
    if (!x)
        return 0;
    return composite_result(out, squeezed(covariance(op, x, weights[0], weights[1], ddof)), dtype);
}

BUILDER(corrcoef)
{
    ig_dtype dtype;
    ig_array *x = variables(op, args, NULL, &dtype);
    ig_array *c = x ? covariance(op, x, NULL, NULL, 1) : NULL;
    if (!c)
        return 0;
    ig_array *deviation = ig_sqrt(ig_diagonal(c, 0));
    c = ig_divide(c, ig_expand_dims(deviation, IG_AXES(1)));
    c = ig_divide(c, ig_expand_dims(deviation, IG_AXES(0)));
    return composite_result(out, squeezed(ig_clip(c, ig_float(-1), ig_float(1))), dtype);
}
