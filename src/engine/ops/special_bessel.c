/* Builders of the modified Bessel functions of order 0 and 1. */
#include "engine/ops/special.h"

/* I(x) of order 0 or 1 divided by exp(|x|), if scaled. Up to 8 by the power series, whose terms are positive. */
static ig_array *bessel(ig_array *x, int order, bool scaled)
{
    double series[24], term = order ? 0.5 : 1;
    const int terms = special_is_f64(x) ? 24 : 16;
    for (int k = 0; k < terms; k++) {
        series[k] = term;
        term *= 0.25 / ((k + 1.0) * (k + 1 + order));
    }
    ig_array *a = ig_abs(x), *b = ig_minimum(a, ig_float(8)), *c = ig_maximum(a, ig_float(8));
    ig_array *near = special_poly(ig_square(b), series, terms);
    near = order ? ig_multiply(near, b) : near;
    near = scaled ? ig_multiply(near, ig_exp(ig_negative(b))) : near;
    ig_array *far =
        ig_divide(special_fit(order ? FIT_i1 : FIT_i0, special_inverse(c, 8)), ig_sqrt(c));
    if (!scaled) {
        /* Half of the power twice: it is finite where the result is. */
        ig_array *half = ig_exp(ig_times(ig_minimum(c, ig_float(2000)), 0.5));
        far = ig_multiply(ig_multiply(far, half), half);
        far = ig_where(ig_isinf(c), c, far);
    }
    ig_array *y = ig_where(special_below(a, 8), near, far);
    y = ig_where(ig_isnan(x), x, y);
    return order ? ig_where(special_below(x, 0), ig_negative(y), y) : y;
}

static ig_array *i1_of(ig_array *x);
static ig_array *i1e_of(ig_array *x);

static ig_array *slope_i0(ig_array *const *x, ig_array *y) { return (void)y, i1_of(x[0]); }

static ig_array *i0_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_i0}};
    return special_with_slopes(bessel(x, 0, false), &x, 1, &slopes);
}

static ig_array *slope_i0e(ig_array *const *x, ig_array *y)
{
    return ig_subtract(i1e_of(x[0]), ig_multiply(ig_sign(x[0]), y));
}

static ig_array *i0e_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_i0e}};
    return special_with_slopes(bessel(x, 0, true), &x, 1, &slopes);
}

/* y / x, where y is of order 1: 1/2 at 0. */
static ig_array *ratio(ig_array *x, ig_array *y)
{
    ig_array *zero = special_is(x, 0);
    return ig_divide(ig_where(zero, ig_float(0.5), y), ig_where(zero, ig_float(1), x));
}

static ig_array *slope_i1(ig_array *const *x, ig_array *y)
{
    return ig_subtract(i0_of(x[0]), ratio(x[0], y));
}

static ig_array *i1_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_i1}};
    return special_with_slopes(bessel(x, 1, false), &x, 1, &slopes);
}

static ig_array *slope_i1e(ig_array *const *x, ig_array *y)
{
    ig_array *less = ig_add(ratio(x[0], y), ig_multiply(ig_sign(x[0]), y));
    return ig_subtract(i0e_of(x[0]), less);
}

static ig_array *i1e_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_i1e}};
    return special_with_slopes(bessel(x, 1, true), &x, 1, &slopes);
}

BUILDER(bessel_family)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *y = op == OP_i0    ? i0_of(x)
                  : op == OP_i0e ? i0e_of(x)
                  : op == OP_i1  ? i1_of(x)
                                 : i1e_of(x);
    return composite_result(out, y, dtype);
}
