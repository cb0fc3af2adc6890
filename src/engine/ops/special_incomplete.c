/* Builders of the incomplete gamma and beta functions and of generalized exponential integrals: integrals, as sums over an
 * axis of nodes. */
#include "engine/ops/special.h"

/* Nodes and weights of an integral over (0, inf) of a function that decays as exp(-x) or faster: x = exp(s - exp(-s)),
 * where the trapezoidal rule in s converges exponentially. */
typedef struct nodes {
    ig_array *at, *weight;
} nodes;

static nodes make_nodes(ig_dtype dtype)
{
    const bool wide = dtype == IG_F64;
    const int64_t n = wide ? 60 : 24;
    const double low = wide ? -3.7 : -2.9, high = wide ? 4.2 : 3.2;
    const double step = (high - low) / (double)(n - 1);
    ig_array *s = ig_plus(ig_times(build_cast(build_iota(1, &n), dtype), step), low);
    ig_array *slow = ig_exp(ig_negative(s)), *at = ig_exp(ig_subtract(s, slow));
    return (nodes){at, ig_multiply(at, ig_times(ig_plus(slow, 1), step))};
}

/* log(x / c) - m, where m is x / c - 1. Near c, with r = m / (2 + m), it is 2 r^3 (1/3 + r^2 / 5 + ...) - r m. */
static ig_array *log_gap(ig_array *x, ig_array *c, ig_array *m)
{
    double series[16];
    const int terms = special_is_f64(m) ? 16 : 7;
    for (int k = 0; k < terms; k++)
        series[k] = 2.0 / (2 * k + 3);
    ig_array *is_near = special_below(ig_abs(m), 0.5);
    ig_array *safe = ig_where(is_near, m, ig_float(0)), *r = ig_divide(safe, ig_plus(safe, 2));
    ig_array *square = ig_square(r);
    ig_array *near =
        ig_subtract(ig_multiply(ig_multiply(r, square), special_poly(square, series, terms)),
                    ig_multiply(r, safe));
    return ig_where(is_near, near, ig_subtract(ig_log(ig_divide(x, c)), m));
}

/* x^c exp(-x) / gamma(c) for c >= 1. */
static ig_array *power_ratio(ig_array *c, ig_array *x)
{
    ig_array *gap = log_gap(x, c, ig_divide(ig_subtract(x, c), c));
    ig_array *y = ig_exp(ig_subtract(ig_multiply(c, gap), special_stirling(c)));
    return ig_multiply(y, ig_sqrt(ig_times(c, 0.5 / M_PI)));
}

/* The integral of exp(-c u + x (1 - exp(-u))), for x <= c, in units where it decays as exp(-v). */
static ig_array *lower_integral(ig_array *c, ig_array *x)
{
    const nodes n = make_nodes((ig_dtype)(x ? x->dtype : IG_F32));
    ig_array *unit = ig_stop_gradient(ig_maximum(ig_subtract(c, x), ig_sqrt(c)));
    ig_array *u = ig_divide(n.at, special_column(unit));
    ig_array *power = ig_negative(ig_add(ig_multiply(special_column(c), u),
                                         ig_multiply(special_column(x), ig_expm1(ig_negative(u)))));
    ig_array *sum = ig_sum(ig_multiply(ig_exp(power), n.weight), IG_AXES(-1), IG_DTYPE_NONE, false);
    return ig_divide(sum, unit);
}

/* The integral of exp(-x u) (1 + u)^(a - 1), for x >= a and x >= 1. It decays at about the rate `unit`. */
static ig_array *upper_integral(ig_array *a, ig_array *x, ig_array *unit)
{
    const nodes n = make_nodes((ig_dtype)(x ? x->dtype : IG_F32));
    ig_array *u = ig_divide(n.at, special_column(unit));
    ig_array *power = ig_subtract(ig_multiply(special_column(ig_plus(a, -1)), ig_log1p(u)),
                                  ig_multiply(special_column(x), u));
    ig_array *sum = ig_sum(ig_multiply(ig_exp(power), n.weight), IG_AXES(-1), IG_DTYPE_NONE, false);
    return ig_divide(sum, unit);
}

/* The part below x, for x <= a or x <= a + 1, and the part above x otherwise: each 1 less the other. Below 1, a is raised
 * by one step. */
BUILDER(gammainc_family)
{
    ig_array *in[2] = {args[0].u.array, args[1].u.array}, *one = ig_float(1), *zero = ig_float(0);
    ig_dtype dtype;
    if (special_floats(op, in, 2, &dtype) != IG_OK)
        return 0;
    ig_array *a_in = in[0], *x_in = in[1];
    ig_array *fine = ig_logical_and(ig_greater(a_in, zero), ig_greater(x_in, zero));
    fine = ig_logical_and(fine, ig_isfinite(ig_add(a_in, x_in)));
    ig_array *a = ig_where(fine, a_in, one), *x = ig_where(fine, x_in, one);
    ig_array *is_small = special_below(a, 1), *c = ig_where(is_small, ig_plus(a, 1), a);
    ig_array *is_low = ig_less_equal(x, c), *ratio = power_ratio(c, x);
    ig_array *low = lower_integral(c, ig_where(is_low, x, one));
    low = ig_multiply(ig_where(is_small, ig_add(low, ig_reciprocal(x)), low), ratio);
    ig_array *high_a = ig_where(is_low, one, a), *high_x = ig_where(is_low, one, x);
    ig_array *rate = ig_maximum(ig_subtract(high_x, high_a), ig_sqrt(high_x));
    ig_array *high = upper_integral(high_a, high_x, ig_stop_gradient(rate));
    high = ig_multiply(high, ratio);
    high = ig_where(is_small, ig_multiply(high, ig_divide(a, x)), high);
    const bool below = op == OP_gammainc;
    ig_array *y = below ? ig_where(is_low, low, ig_subtract(one, high))
                        : ig_where(is_low, ig_subtract(one, low), high);
    /* At the ends: all is above 0 and below infinity, and for a = 0 all is below x. */
    ig_array *is_all = ig_logical_or(special_is(a_in, 0), special_is(x_in, INFINITY));
    ig_array *is_none = ig_logical_or(special_is(x_in, 0), special_is(a_in, INFINITY));
    ig_array *is_out =
        ig_logical_or(special_below(ig_minimum(a_in, x_in), 0), ig_isnan(ig_add(a_in, x_in)));
    is_out = ig_logical_or(is_out, ig_logical_and(is_all, is_none));
    y = ig_where(is_all, ig_float(below), ig_where(is_none, ig_float(!below), y));
    return composite_result(out, ig_where(is_out, ig_float(NAN), y), dtype);
}

/* ---- exponential integrals of any order ---- */

/* For whole n >= 1 and 0 < x < 1: the power series, in which the term of x^(n - 1) has a logarithm. */
static ig_array *expn_near(ig_array *n, ig_array *x)
{
    const int terms = special_is_f64(x) ? 20 : 12;
    ig_array *log = ig_log(x), *less = ig_plus(n, -1), *power = build_beside(x, 1);
    ig_array *lead = ig_exp(ig_subtract(ig_multiply(less, log), special_lgamma(n)));
    ig_array *y = ig_multiply(lead, ig_subtract(special_digamma(n), log));
    y = ig_multiply(y, special_parity(less));
    for (int k = 0; k < terms; k++) {
        ig_array *own = special_is(less, k), *gap = ig_subtract(less, ig_float(k));
        ig_array *term = ig_divide(power, ig_where(own, ig_float(1), gap));
        y = ig_add(y, ig_where(own, ig_float(0), term));
        power = ig_times(ig_multiply(power, x), -1.0 / (k + 1));
    }
    return y;
}

static ig_array *expn_of(ig_array *n, ig_array *x);

/* The function of order n - 1, negative: for n below 2 by the recurrence. */
static ig_array *slope_expn(ig_array *const *x, ig_array *y)
{
    ig_array *less = ig_plus(x[0], -1), *is_high = special_not_below(less, 1);
    ig_array *down = ig_subtract(ig_exp(ig_negative(x[1])), ig_multiply(less, y));
    ig_array *high = expn_of(ig_where(is_high, less, ig_float(1)), x[1]);
    return ig_negative(ig_where(is_high, high, ig_divide(down, x[1])));
}

static ig_array *expn_of(ig_array *n_in, ig_array *x_in)
{
    static const special_slopes slopes = {{NULL, slope_expn}};
    ig_array *one = ig_float(1), *zero = ig_float(0);
    ig_array *fine = ig_logical_and(special_not_below(n_in, 1), ig_greater(x_in, zero));
    fine = ig_logical_and(fine, ig_isfinite(ig_add(n_in, x_in)));
    ig_array *n = ig_where(fine, n_in, one), *x = ig_where(fine, x_in, one);
    ig_array *is_near = special_below(x, 1), *high = ig_where(is_near, one, x);
    ig_array *less = ig_plus(n, -1), *rate = ig_add(high, ig_times(less, 0.5));
    ig_array *far = upper_integral(ig_negative(less), high, rate);
    far = ig_multiply(far, ig_exp(ig_negative(high)));
    ig_array *y = ig_where(is_near, expn_near(n, ig_where(is_near, x, ig_float(0.5))), far);
    /* Order 0 is exp(-x) / x. At 0, it is 1 / (n - 1) or infinite; of an infinite argument it is 0. */
    y = ig_where(special_is(n_in, 0), ig_divide(ig_exp(ig_negative(x_in)), x_in), y);
    ig_array *end = ig_reciprocal(ig_maximum(ig_plus(n_in, -1), zero));
    y = ig_where(special_is(x_in, 0), end, y);
    y = ig_where(ig_isinf(ig_add(n_in, x_in)), zero, y);
    ig_array *is_out = ig_logical_or(special_below(ig_minimum(n_in, x_in), 0),
                                     ig_logical_not(special_is_whole(n_in)));
    is_out = ig_logical_or(is_out, ig_isnan(ig_add(n_in, x_in)));
    ig_array *const in[2] = {n_in, x_in};
    return special_with_slopes(ig_where(is_out, ig_float(NAN), y), in, 2, &slopes);
}

BUILDER(expn)
{
    ig_array *in[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (special_floats(op, in, 2, &dtype) != IG_OK)
        return 0;
    return composite_result(out, expn_of(in[0], in[1]), dtype);
}

/* ---- beta ---- */

/* x^a y^b / beta(a, b) for y = 1 - x, a >= 1 and b >= 1: Stirling's series, where the parts of first order cancel. */
static ig_array *beta_ratio(ig_array *a, ig_array *b, ig_array *x, ig_array *y)
{
    ig_array *n = ig_add(a, b), *away = ig_subtract(ig_multiply(x, n), a);
    ig_array *low = log_gap(ig_multiply(x, n), a, ig_divide(away, a));
    ig_array *high = log_gap(ig_multiply(y, n), b, ig_negative(ig_divide(away, b)));
    ig_array *power = ig_add(ig_multiply(a, low), ig_multiply(b, high));
    power = ig_add(
        power, ig_subtract(special_stirling(n), ig_add(special_stirling(a), special_stirling(b))));
    ig_array *spread = ig_times(ig_divide(a, n), 0.5 / M_PI);
    return ig_multiply(ig_exp(power), ig_sqrt(ig_multiply(spread, b)));
}

/* The integral of exp(-a u) ((1 - x exp(-u)) / y)^(b - 1) for a >= 1 and x below about a / (a + b). */
static ig_array *beta_integral(ig_array *a, ig_array *b, ig_array *x, ig_array *y)
{
    const nodes n = make_nodes((ig_dtype)(x ? x->dtype : IG_F32));
    ig_array *odds = ig_divide(x, y), *less = ig_plus(b, -1);
    ig_array *unit = ig_maximum(ig_subtract(a, ig_multiply(less, odds)), ig_sqrt(a));
    unit = ig_stop_gradient(unit);
    ig_array *u = ig_divide(n.at, special_column(unit));
    ig_array *grows = ig_negative(ig_multiply(special_column(odds), ig_expm1(ig_negative(u))));
    ig_array *power = ig_subtract(ig_multiply(special_column(less), ig_log1p(grows)),
                                  ig_multiply(special_column(a), u));
    ig_array *sum = ig_sum(ig_multiply(ig_exp(power), n.weight), IG_AXES(-1), IG_DTYPE_NONE, false);
    return ig_divide(sum, unit);
}

/* The part below x where x is low, else 1 less the part above it. Parameters below 1 are raised by one step. */
static ig_array *beta_part(ig_array *a, ig_array *b, ig_array *x)
{
    ig_array *one = ig_float(1), *rest = ig_subtract(one, x);
    ig_array *turn = ig_greater(x, ig_divide(ig_plus(a, 1), ig_plus(ig_add(a, b), 2)));
    ig_array *c = ig_where(turn, b, a), *d = ig_where(turn, a, b);
    ig_array *low = ig_where(turn, rest, x), *high = ig_where(turn, x, rest);
    ig_array *is_small = special_below(c, 1), *is_short = special_below(d, 1), *n = ig_add(c, d);
    ig_array *raised = ig_where(is_small, ig_plus(c, 1), c);
    ig_array *longer = ig_where(is_short, ig_plus(d, 1), d);
    ig_array *ratio = beta_ratio(raised, longer, low, high);
    ig_array *step = ig_divide(d, ig_multiply(ig_add(raised, d), high));
    ratio = ig_where(is_short, ig_multiply(ratio, step), ratio);
    ig_array *part = ig_divide(beta_integral(raised, d, low, high), high);
    part = ig_where(is_small, ig_add(part, ig_reciprocal(ig_multiply(low, n))), part);
    part = ig_multiply(part, ratio);
    return ig_where(turn, ig_subtract(one, part), part);
}

BUILDER(betainc)
{
    ig_array *in[3] = {args[0].u.array, args[1].u.array, args[2].u.array};
    ig_dtype dtype;
    if (special_floats(op, in, 3, &dtype) != IG_OK)
        return 0;
    ig_array *a = in[0], *b = in[1], *x = in[2], *zero = ig_float(0), *half = ig_float(0.5);
    ig_array *is_inside = ig_logical_and(ig_greater(x, zero), ig_less(x, ig_float(1)));
    ig_array *fine = ig_logical_and(ig_greater(ig_minimum(a, b), zero), ig_isfinite(ig_add(a, b)));
    fine = ig_logical_and(fine, is_inside);
    ig_array *y =
        beta_part(ig_where(fine, a, half), ig_where(fine, b, half), ig_where(fine, x, half));
    /* At the ends: all of it is above 0 and below 1. A parameter of 0 puts all of it at one end, as an infinite one does at
     * the other. */
    ig_array *is_none =
        ig_logical_or(special_is(x, 0), ig_logical_or(special_is(b, 0), special_is(a, INFINITY)));
    ig_array *is_all = ig_logical_or(special_is(a, 0), special_is(b, INFINITY));
    is_all =
        ig_logical_or(special_is(x, 1), ig_logical_and(is_all, ig_logical_not(special_is(x, 0))));
    is_none = ig_logical_and(is_none, ig_logical_not(special_is(x, 1)));
    ig_array *is_out = ig_logical_or(special_below(ig_minimum(ig_minimum(a, b), x), 0),
                                     ig_greater(x, ig_float(1)));
    is_out = ig_logical_or(is_out, ig_isnan(ig_add(ig_add(a, b), x)));
    is_out = ig_logical_or(is_out, ig_logical_and(is_all, is_none));
    y = ig_where(is_all, ig_float(1), ig_where(is_none, zero, y));
    return composite_result(out, ig_where(is_out, ig_float(NAN), y), dtype);
}
