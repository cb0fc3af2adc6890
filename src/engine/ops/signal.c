/* Builders of convolutions, windows, interpolation and slopes. */
#include "base/error.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- convolution ---- */

/* Where the result lies along one axis of all of it, which has n + k - 1 elements. */
static ig_status middle(op_id op, const char *mode, int64_t n, int64_t k, bool one, int64_t *start,
                        int64_t *length)
{
    const int64_t few = n < k ? n : k, many = n < k ? k : n;
    if (few == 0)
        FAIL(IG_ERR_SHAPE, "%s: an axis has length 0", op_rows[op].name);
    if (strcmp(mode, "full") == 0) {
        *start = 0;
        *length = n + k - 1;
    } else if (strcmp(mode, "valid") == 0) {
        *start = few - 1;
        *length = many - few + 1;
    } else if (strcmp(mode, "same") == 0) {
        *length = one ? many : n;
        *start = one ? (few - 1) / 2 : (k - 1) / 2;
        if (one && op == OP_correlate && n < k) /* NumPy exchanges them, and reverses the result */
            *start = few - 1 - *start;
    } else
        FAIL(IG_ERR_ARGUMENT, "%s: mode is 'full', 'same' or 'valid', not '%s'", op_rows[op].name,
             mode);
    return IG_OK;
}

/* The windows of x1, padded with zeros, times x2 reversed. A window is a view. */
BUILDER(convolution)
{
    ig_array *x1 = args[0].u.array, *x2 = args[1].u.array;
    const int ndim = x1->view.ndim;
    int64_t pad[2 * IG_MAX_NDIM], axes[2 * IG_MAX_NDIM];
    if (ndim == 0 || ndim != x2->view.ndim || 2 * ndim >= IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x1 has %d axes, x2 %d; give as many, 1 to %d",
                  op_rows[op].name, ndim, x2->view.ndim, IG_MAX_NDIM / 2 - 1);
    if (x1->dtype == IG_BOOL || x2->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    for (int a = 0; a < ndim; a++) {
        const int64_t n = x1->view.shape[a], k = x2->view.shape[a];
        int64_t start = 0, length = 0;
        if (middle(op, args[2].u.str, n, k, ndim == 1, &start, &length) != IG_OK)
            return 0;
        if (ndim > 1 && strcmp(args[2].u.str, "valid") == 0 && n < k)
            FAIL_NONE(IG_ERR_SHAPE, "%s: axis %d of x2 is longer than in x1", op_rows[op].name, a);
        pad[2 * a] = k - 1 - start;
        pad[2 * a + 1] = length + k - 1 - n - pad[2 * a];
        axes[a] = ndim + a;
        axes[ndim + a] = a;
    }
    x2 = op == OP_convolve ? ig_flip(x2, IG_NONE) : ig_conj(x2);
    ig_array *padded = ig_pad(x1, (ig_ints){pad, 2 * ndim}, "constant", shape_zero(x1));
    ig_array *seen = ig_sliding_window_view(padded, ig_shape(x2), IG_NONE);
    return op_one(out, ig_tensordot(seen, x2, (ig_ints){axes, 2 * ndim}));
}

/* ---- windows ---- */

/* t goes from -1 to 1; computed in f64. */
static ig_array *window_shape(op_id op, ig_array *t)
{
    ig_array *c = ig_cos(ig_times(t, M_PI));
    switch (op) {
    case OP_bartlett: return ig_subtract(build_scalar(1, IG_F64), ig_abs(t));
    case OP_blackman:
        return ig_add(ig_plus(ig_times(c, 0.5), 0.42),
                      ig_times(ig_cos(ig_times(t, 2 * M_PI)), 0.08));
    case OP_hamming: return ig_plus(ig_times(c, 0.46), 0.54);
    default: return ig_plus(ig_times(c, 0.5), 0.5); /* hanning */
    }
}

BUILDER(window)
{
    const int64_t n = args[0].u.i < 0 ? 0 : args[0].u.i, parts = args[1].u.b ? n - 1 : n;
    const ig_dtype dtype = arg_dtype(&args[2], ig_default_dtype());
    int64_t size;
    if (infer_size(op, 1, &n, IG_F64, &size) != IG_OK)
        return 0;
    if (n < 2)
        return op_one(out, ig_ones(IG_SHAPE(n), dtype));
    ig_array *i = ig_add(ig_multiply(build_iota(1, &n), ig_int(2)), ig_int(-parts));
    ig_array *t = ig_divide(build_cast(i, IG_F64), build_scalar((double)parts, IG_F64));
    return op_one(out, build_cast(window_shape(op, t), dtype));
}

/* ---- interpolation ---- */

/* Sorts the points by xp modulo period, and repeats the last and the first one at the ends. */
static bool wrap_points(ig_array **x, double period)
{
    ig_array *const p = ig_float(period);
    for (int i = 0; i < 2; i++)
        x[i] = ig_remainder(x[i], p);
    ig_array *order = ig_argsort(x[1], 0, false, true);
    ig_array *xp = ig_take(x[1], order, IG_AXES(0)), *fp = ig_take(x[2], order, IG_AXES(0));
    ig_array *first = shape_part(xp, 0, 0, 1), *last = shape_part(xp, 0, -1, INT64_MAX);
    x[1] = ig_concat((ig_array *[]){ig_subtract(last, p), xp, ig_add(first, p)}, 3, IG_AXES(0));
    x[2] = ig_concat((ig_array *[]){shape_part(fp, 0, -1, INT64_MAX), fp, shape_part(fp, 0, 0, 1)},
                     3, IG_AXES(0));
    return x[1] && x[2];
}

BUILDER(interp)
{
    ig_array *x[5] = {args[0].u.array, args[1].u.array, args[2].u.array}, *ends[2];
    int n = 3, which[2] = {0, 0};
    ig_dtype dtype;
    if (x[1]->view.ndim != 1 || x[2]->view.ndim != 1 || ig_size(x[1]) != ig_size(x[2]) ||
        ig_size(x[1]) == 0)
        FAIL_NONE(IG_ERR_SHAPE, "interp: xp and fp must be 1-d and of the same length, at least 1");
    for (int i = 0; i < 2; i++)
        if (arg_array(&args[3 + i])) {
            which[i] = n;
            x[n++] = args[3 + i].u.array;
        }
    if (composite_floats(op, x, n, &dtype) != IG_OK)
        return 0;
    const bool periodic = args[5].kind == IG_ARG_FLOAT;
    if (periodic && args[5].u.f == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "interp: period is 0");
    if (periodic && !wrap_points(x, fabs(args[5].u.f)))
        return 0;
    const int64_t count = ig_size(x[1]);
    ends[0] =
        which[0] && !periodic ? x[which[0]] : ig_reshape(shape_part(x[2], 0, 0, 1), IG_SCALAR);
    ends[1] = which[1] && !periodic ? x[which[1]]
                                    : ig_reshape(shape_part(x[2], 0, -1, INT64_MAX), IG_SCALAR);
    ig_array *first = ig_reshape(shape_part(x[1], 0, 0, 1), IG_SCALAR);
    ig_array *last = ig_reshape(shape_part(x[1], 0, -1, INT64_MAX), IG_SCALAR), *y;
    if (count == 1)
        y = ig_add(ig_reshape(x[2], IG_SCALAR), ig_times(x[0], 0));
    else {
        ig_array *at = ig_clip(ig_subtract(ig_searchsorted(x[1], x[0], "right", NULL), ig_int(1)),
                               ig_int(0), ig_int(count - 2));
        ig_array *next = ig_add(at, ig_int(1)), *x0 = ig_take(x[1], at, IG_AXES(0)),
                 *y0 = ig_take(x[2], at, IG_AXES(0));
        ig_array *width = ig_subtract(ig_take(x[1], next, IG_AXES(0)), x0);
        width = ig_where(ig_equal(width, ig_float(0)), ig_float(1), width);
        ig_array *slope = ig_divide(ig_subtract(ig_take(x[2], next, IG_AXES(0)), y0), width);
        y = ig_add(ig_multiply(slope, ig_subtract(x[0], x0)), y0);
    }
    y = ig_where(ig_less(x[0], first), ends[0], ig_where(ig_greater(x[0], last), ends[1], y));
    return composite_result(out, y, dtype);
}

/* ---- slopes ---- */

/* x in the dtype to compute in, and the dtype of the result; a complex x stays as it is. */
static ig_array *wide(op_id op, ig_array *x, ig_dtype *dtype)
{
    if (array_is_complex(x)) {
        *dtype = (ig_dtype)x->dtype;
        return x;
    }
    return composite_floats(op, &x, 1, dtype) == IG_OK ? x : NULL;
}

/* a * f0 + b * f1 + c * f2 */
static ig_array *three(ig_array *const w[3], ig_array *const f[3])
{
    return ig_add(ig_add(ig_multiply(w[0], f[0]), ig_multiply(w[1], f[1])),
                  ig_multiply(w[2], f[2]));
}

/* Weights of three points that are d and e apart, for the slope at the point `at`. */
static void weights_of(ig_array *d, ig_array *e, int at, ig_array *w[3])
{
    ig_array *both = ig_add(d, e), *de = ig_multiply(d, e), *d_both = ig_multiply(d, both),
             *e_both = ig_multiply(e, both);
    if (at == 0) {
        w[0] = ig_negative(ig_divide(ig_add(d, both), d_both));
        w[1] = ig_divide(both, de);
        w[2] = ig_negative(ig_divide(d, e_both));
    } else if (at == 1) {
        w[0] = ig_negative(ig_divide(e, d_both));
        w[1] = ig_divide(ig_subtract(e, d), de);
        w[2] = ig_divide(d, e_both);
    } else {
        w[0] = ig_divide(e, d_both);
        w[1] = ig_negative(ig_divide(both, de));
        w[2] = ig_divide(ig_add(e, both), e_both);
    }
}

/* The slopes along axis; `apart` has the distances between neighbours, or is a number. */
static ig_array *slopes(ig_array *x, ig_array *apart, int axis, int order)
{
    const int64_t n = ig_dim(x, axis);
    const bool even = ig_ndim(apart) == 0;
    ig_array *part[3], *w[3], *f[3];
    for (int at = 0; at < 3; at++) { /* the first, the inner ones, the last */
        const int64_t from = at == 2 ? n - 3 : 0, wide_by = at == 1 ? n - 2 : 1;
        ig_array *d = even ? apart
                           : shape_part(apart, axis, at == 2 ? n - 2 - (order == 2) : 0,
                                        at == 2 ? n - 1 - (order == 2) : wide_by);
        if (at != 1 && order == 1) {
            ig_array *step = ig_subtract(shape_part(x, axis, at ? n - 1 : 1, at ? n : 2),
                                         shape_part(x, axis, at ? n - 2 : 0, at ? n - 1 : 1));
            part[at] = ig_divide(step, d);
            continue;
        }
        for (int i = 0; i < 3; i++)
            f[i] = shape_part(x, axis, from + i, from + i + wide_by);
        if (even && at == 1) {
            part[at] = ig_divide(ig_subtract(f[2], f[0]), ig_times(d, 2));
            continue;
        }
        weights_of(
            d,
            even ? apart
                 : shape_part(apart, axis, at == 2 ? n - 2 : 1, at == 2 ? n - 1 : 1 + wide_by),
            at, w);
        part[at] = three(w, f);
    }
    return n == 2 ? ig_concat((ig_array *[]){part[0], part[2]}, 2, IG_AXES(axis))
                  : ig_concat(part, 3, IG_AXES(axis));
}

BUILDER(gradient)
{
    const int n_spacing = args[1].u.arrays.n, order = (int)args[3].u.i;
    ig_array *each[IG_MAX_NDIM];
    ig_dtype dtype;
    ig_array *x = wide(op, args[0].u.array, &dtype);
    int axes[IG_MAX_NDIM], n = x ? infer_axes(op, arg_ints(&args[2]), x->view.ndim, axes) : -1;
    if (n < 0)
        return 0;
    if (order != 1 && order != 2)
        FAIL_NONE(IG_ERR_ARGUMENT, "gradient: edge_order is %d; give 1 or 2", order);
    if (n == 0 || (n_spacing > 1 && n_spacing != n))
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "gradient: %d spacings for %d axes; give none, one, or one for each", n_spacing,
                  n);
    for (int i = 0; i < n; i++) {
        const int64_t length = x->view.shape[axes[i]];
        ig_array *apart = n_spacing ? args[1].u.arrays.v[n_spacing > 1 ? i : 0] : ig_float(1);
        if (length < order + 1)
            FAIL_NONE(IG_ERR_SHAPE, "gradient: axis %d has length %lld, but needs at least %d",
                      axes[i], (long long)length, order + 1);
        if (apart->view.ndim > 1 || (apart->view.ndim == 1 && ig_size(apart) != length))
            FAIL_NONE(IG_ERR_SHAPE,
                      "gradient: a spacing is a number, or has the %lld coordinates of its axis",
                      (long long)length);
        if (!apart->weak)
            apart = build_cast(apart, dtype == IG_F64 || dtype == IG_C128 ? IG_F64 : IG_F32);
        if (apart && apart->view.ndim == 1)
            apart = shape_along(ig_diff(apart, 0, 1, NULL, NULL), x->view.ndim, axes[i]);
        if (!(each[i] = build_cast(slopes(x, apart, axes[i], order), dtype)))
            return 0;
    }
    return op_one(out, n == 1 ? each[0] : ig_stack(each, n, 0));
}

/* The areas of the intervals between neighbours of y along *axis, for y, x or NULL, dx and the axis; x has the places of y,
 * and the axis that was given counts in x, too, unless x is 1-d. NULL on failure. */
static ig_array *interval_areas(op_id op, const ig_arg *args, int *axis, ig_dtype *dtype)
{
    ig_array *in[2] = {args[0].u.array, arg_array(&args[1])}, *width = ig_float(args[2].u.f);
    int own = 0;
    if (composite_floats(op, in, in[1] ? 2 : 1, dtype) != IG_OK ||
        infer_axis(op, args[3].u.i, in[0]->view.ndim, axis) != IG_OK ||
        (in[1] && in[1]->view.ndim != 1 &&
         infer_axis(op, args[3].u.i, in[1]->view.ndim, &own) != IG_OK))
        return NULL;
    if (in[1])
        width = ig_diff(in[1], own, 1, NULL, NULL);
    if (in[1] && in[1]->view.ndim == 1)
        width = shape_along(width, in[0]->view.ndim, *axis);
    ig_array *ends =
        ig_add(shape_part(in[0], *axis, 1, INT64_MAX), shape_part(in[0], *axis, 0, -1));
    return ig_divide(ig_multiply(width, ends), ig_float(2));
}

BUILDER(trapezoid)
{
    ig_dtype dtype;
    int axis;
    ig_array *area = interval_areas(op, args, &axis, &dtype);
    return area ? composite_result(out, ig_sum(area, IG_AXES(axis), IG_DTYPE_NONE, false), dtype)
                : 0;
}

BUILDER(cumulative_trapezoid)
{
    ig_dtype dtype;
    int axis;
    ig_array *area = interval_areas(op, args, &axis, &dtype);
    return area
               ? composite_result(
                     out, ig_cumulative_sum(area, IG_AXES(axis), IG_DTYPE_NONE, args[4].u.b), dtype)
               : 0;
}

/* ---- vectors ---- */

BUILDER(cross)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *part[2][3], *y[3];
    if (x[0]->dtype == IG_BOOL || x[1]->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "cross takes numbers, not bool; convert with astype");
    int64_t n = 0;
    for (int i = 0; i < 2; i++) {
        int axis;
        if (infer_axis(op, args[2].u.i, x[i]->view.ndim, &axis) != IG_OK)
            return 0;
        n = x[i]->view.shape[axis];
        if ((n != 2 && n != 3) || n != ig_dim(x[0], (int)args[2].u.i))
            FAIL_NONE(IG_ERR_SHAPE, "cross: vectors have 3 elements along axis, or both 2");
        if (ig_unstack(x[i], axis, part[i], 3) != n)
            return 0;
    }
    for (int i = n == 2 ? 2 : 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        y[i] =
            ig_subtract(ig_multiply(part[0][j], part[1][k]), ig_multiply(part[0][k], part[1][j]));
    }
    if (n == 2)
        return op_one(out, y[2]);
    /* The axis counts from the front in the first and from the end in shorter arrays, as NumPy broadcasts. */
    return op_one(out, ig_moveaxis(ig_stack(y, 3, -1), IG_AXES(-1), IG_AXES(args[2].u.i)));
}
