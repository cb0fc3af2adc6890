/* Builders of functions that NumPy and SciPy have in addition to the array API standard. Each is an expression of other
 * ops. Functions of floats are computed in f32 (f64 for f64) and rounded to the dtype of their inputs once. */
#include "base/error.h"
#include "engine/ops/shape.h"
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

/* Near 0 a series of even powers, which can be differentiated any number of times. */
BUILDER(sinc)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *y = ig_times(x, M_PI), *near = ig_less(ig_abs(y), ig_float(0.5));
    ig_array *square = ig_square(ig_where(near, y, ig_float(0))), *series = build_beside(y, 1);
    for (int k = 7; k > 0; k--)
        series = ig_plus(ig_multiply(series, ig_times(square, -1.0 / (2 * k * (2 * k + 1)))), 1);
    y = ig_where(near, ig_float(1), y);
    return composite_result(out, ig_where(near, series, ig_divide(ig_sin(y), y)), dtype);
}

/* 0 if x1 is 0, unless x2 is NaN: there the logarithm of 1 is taken if the logarithm of x2 is not finite. The same for xlog1py. The
 * sum with 0 makes no -0 of 0. */
BUILDER(xlogy)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (composite_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    const double least = op == OP_xlogy ? 0 : -1;
    ig_array *outside =
        ig_logical_or(ig_less_equal(x[1], ig_float(least)), ig_equal(x[1], ig_float(INFINITY)));
    ig_array *none = ig_logical_and(ig_equal(x[0], ig_float(0)), outside);
    ig_array *safe = ig_where(none, ig_float(least + 1), x[1]);
    ig_array *y = ig_multiply(x[0], op == OP_xlogy ? ig_log(safe) : ig_log1p(safe));
    return composite_result(out, ig_plus(y, 0), dtype);
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
        FAIL_NULL(IG_ERR_SHAPE, "%s: weights has neither the shape of x nor of the given axes",
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

/* ---- sums and products ---- */

/* x to the powers 0 ... n - 1, as products, which are exact for whole numbers. */
static ig_array *complex_powers(ig_array *x, int64_t n)
{
    const int64_t rows = x->view.shape[0];
    ig_array *factors[2] = {ig_ones(IG_SHAPE(rows, 1), (ig_dtype)x->dtype),
                            ig_broadcast_to(ig_expand_dims(x, IG_AXES(1)), IG_SHAPE(rows, n))};
    ig_array *all = ig_concat(factors, 2, IG_AXES(1));
    return shape_part(ig_cumulative_prod(all, IG_AXES(1), IG_DTYPE_NONE, false), 1, 0, n);
}

BUILDER(vander)
{
    ig_array *x = args[0].u.array;
    if (x->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "vander: x has %d dimensions; give 1", x->view.ndim);
    const int64_t n = args[1].kind == IG_ARG_INT ? args[1].u.i : x->view.shape[0];
    if (n < 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "vander: N is %lld; give 0 or more", (long long)n);
    if (dtype_is_complex((ig_dtype)x->dtype)) {
        ig_array *powers = complex_powers(x, n);
        return op_one(out, args[2].u.b ? powers : ig_flip(powers, IG_AXES(1)));
    }
    const ig_dtype dtype = dtype_is_float(x->dtype) ? (ig_dtype)x->dtype : IG_I64;
    ig_array *power = build_cast(build_iota(1, &n), dtype);
    x = ig_expand_dims(build_cast(x, dtype), IG_AXES(1));
    return op_one(out, ig_pow(x, args[2].u.b ? power : ig_flip(power, IG_NONE)));
}

/* x as (a0, 1, a1, 1, ...) and y as (1, b0, 1, b1, ...) are multiplied; each pair of axes becomes one. */
BUILDER(kron)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    const int ndim = x[0]->view.ndim > x[1]->view.ndim ? x[0]->view.ndim : x[1]->view.ndim;
    int64_t apart[2][2 * IG_MAX_NDIM], shape[IG_MAX_NDIM];
    if (2 * ndim > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "kron: %d dimensions are more than the %d that it can have", ndim,
                  IG_MAX_NDIM / 2);
    for (int a = 0; a < ndim; a++) {
        shape[a] = 1;
        for (int k = 0; k < 2; k++) {
            const int own = a - (ndim - x[k]->view.ndim);
            apart[k][2 * a + k] = own < 0 ? 1 : x[k]->view.shape[own];
            apart[k][2 * a + 1 - k] = 1;
            shape[a] *= apart[k][2 * a + k];
        }
    }
    for (int k = 0; k < 2; k++)
        x[k] = ig_reshape(x[k], (ig_ints){apart[k], 2 * ndim});
    ig_array *y = NULL;
    if (x[0] && x[1])
        y = x[0]->dtype == IG_BOOL && x[1]->dtype == IG_BOOL ? ig_logical_and(x[0], x[1])
                                                             : ig_multiply(x[0], x[1]);
    return op_one(out, ig_reshape(y, (ig_ints){shape, ndim}));
}

/* ---- axes ---- */

static int flipped(op_id op, ig_array *x, int axis, ig_array **out)
{
    if (x->view.ndim <= axis)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has %d dimension%s, but needs at least %d", op_rows[op].name,
                  x->view.ndim, x->view.ndim == 1 ? "" : "s", axis + 1);
    return op_one(out, ig_flip(x, IG_AXES(axis)));
}

BUILDER(fliplr) { return flipped(op, args[0].u.array, 1, out); }
BUILDER(flipud) { return flipped(op, args[0].u.array, 0, out); }

static ig_array *swapped(op_id op, ig_array *x, int64_t axis1, int64_t axis2)
{
    int order[IG_MAX_NDIM], one, two;
    if (!x || infer_axis(op, axis1, x->view.ndim, &one) != IG_OK ||
        infer_axis(op, axis2, x->view.ndim, &two) != IG_OK)
        return NULL;
    for (int a = 0; a < x->view.ndim; a++)
        order[a] = a == one ? two : a == two ? one : a;
    return build_permute(op, x, order);
}

BUILDER(swapaxes) { return op_one(out, swapped(op, args[0].u.array, args[1].u.i, args[2].u.i)); }

BUILDER(rot90)
{
    ig_array *x = args[0].u.array;
    const ig_ints both = IG_AXES(0, 1), axes = args[2].kind == IG_ARG_INTS ? args[2].u.ints : both;
    const int turns = (int)((args[1].u.i % 4 + 4) % 4);
    int own[IG_MAX_NDIM];
    if (axes.n != 2)
        FAIL_NONE(IG_ERR_ARGUMENT, "rot90: axes has %d numbers; give 2", axes.n);
    if (infer_axes(op, axes, x->view.ndim, own) < 0)
        return 0;
    if (turns == 2)
        x = ig_flip(x, axes);
    else if (turns == 1)
        x = swapped(op, ig_flip(x, IG_AXES(own[1])), own[0], own[1]);
    else if (turns == 3)
        x = ig_flip(swapped(op, x, own[0], own[1]), IG_AXES(own[1]));
    return op_one(out, x);
}
