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
