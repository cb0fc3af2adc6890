/* Builders of Bessel functions: modified functions of order 0 and 1, and functions of the first kind of all orders. */
#include "engine/ops/special.h"

#include "base/error.h"

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

/* ---- the first kind ---- */

enum { ORDERS_MOST = 128 };

/* The orders 0 to n of 0 <= x <= `reach`, by the recurrence from high orders down. It computes n! / (x / 2)^n J_n(x) up to a
 * factor; these values neither overflow nor vanish. The sum of J_0 and twice all even orders is 1. */
static void jn_near(ig_array *x, int n, double reach, ig_array **y)
{
    const double eps = special_is_f64(x) ? 0x1p-54 : 0x1p-26;
    int first = (int)reach;
    for (double term = 1; term > eps; first++)
        term *= reach / (first + sqrt(first * first - reach * reach));
    first += first % 2;
    ig_array *half = ig_times(x, 0.5), *square = ig_square(half);
    ig_array *above = build_beside(x, 1), *now = above, *sum = above;
    for (int k = first; k > 0; k--) {
        ig_array *ratio = ig_times(square, 1.0 / ((double)k * (k + 1)));
        ig_array *below = ig_subtract(now, ig_multiply(ratio, above));
        above = now, now = below;
        if (k <= n + 1)
            y[k - 1] = now;
        if (k % 2)
            sum = ig_add(now, ig_multiply(k == 1 ? ig_times(ratio, 2) : ratio, sum));
    }
    ig_array *scale = ig_reciprocal(sum);
    for (int k = 0; k <= n; k++) {
        y[k] = ig_multiply(y[k], scale);
        scale = ig_multiply(scale, ig_times(half, 1.0 / (k + 1)));
    }
}

/* The asymptotic series of order 0 or 1, times sqrt(pi x), for x >= 12, or 25 in f64. */
static ig_array *jn_far(ig_array *x, int order)
{
    enum { TERMS = 9 };
    double even[TERMS], odd[TERMS], term = 1;
    for (int k = 0; k < TERMS; k++) {
        even[k] = k % 2 ? -term : term;
        term *= (4.0 * order - (4 * k + 1.0) * (4 * k + 1)) / (8 * (2 * k + 1));
        odd[k] = k % 2 ? -term : term;
        term *= (4.0 * order - (4 * k + 3.0) * (4 * k + 3)) / (8 * (2 * k + 2));
    }
    const int terms = special_is_f64(x) ? TERMS : 5;
    ig_array *over = ig_reciprocal(x), *square = ig_square(over);
    ig_array *p = special_poly(square, even, terms);
    ig_array *q = ig_multiply(over, special_poly(square, odd, terms));
    ig_array *sum = ig_add(ig_sin(x), ig_cos(x)), *gap = ig_subtract(ig_sin(x), ig_cos(x));
    return order ? ig_add(ig_multiply(p, gap), ig_multiply(q, sum))
                 : ig_subtract(ig_multiply(p, sum), ig_multiply(q, gap));
}

/* The recurrence goes up where the argument is above all orders. */
BUILDER(bessel_jn)
{
    ig_array *x = args[0].u.array, *near[ORDERS_MOST + 1], *far[ORDERS_MOST + 1];
    const int64_t n = args[1].u.i;
    ig_dtype dtype;
    if (n < 0 || n > ORDERS_MOST)
        FAIL_NONE(IG_ERR_ARGUMENT, "bessel_jn: v is %lld; give the highest order, 0 to %d",
                  (long long)n, ORDERS_MOST);
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    const double reach = fmax(special_is_f64(x) ? 25 : 12, (double)n);
    ig_array *a = ig_abs(x), *is_far = ig_greater(a, ig_float(reach)), *is_end = ig_isinf(a);
    jn_near(ig_where(is_far, ig_float(reach), a), (int)n, reach, near);
    ig_array *high = ig_where(is_far, ig_where(is_end, ig_float(reach), a), ig_float(reach));
    ig_array *scale = ig_where(is_end, ig_float(0), special_over(1, ig_sqrt(ig_times(high, M_PI))));
    for (int k = 0; k <= n; k++) {
        far[k] = k < 2 ? ig_multiply(jn_far(high, k), scale)
                       : ig_subtract(ig_multiply(special_over(2 * (k - 1), high), far[k - 1]),
                                     far[k - 2]);
        near[k] = ig_where(is_far, far[k], near[k]);
        if (k % 2)
            near[k] = ig_where(special_below(x, 0), ig_negative(near[k]), near[k]);
    }
    return composite_result(out, ig_stack(near, (int)n + 1, 0), dtype);
}
