/* Builders of the gamma function and its relatives. */
#include "engine/ops/special.h"

#include "base/error.h"

static const double LOG_2PI = 1.8378770664093454836;
/* Below it, gamma(x) is 1 / x. */
static const double TINY = 1e-18;

ig_array *special_stirling(ig_array *x)
{
    return ig_divide(special_fit(FIT_stirling, special_inverse(x, 1)), x);
}

/* ---- gamma, lgamma ---- */

/* lgamma(a) for 1 <= a < 3, and lgamma(a + 1) for 0 <= a < 1. */
static ig_array *lgamma_near(ig_array *a)
{
    ig_array *u =
        ig_where(special_below(a, 1), ig_plus(a, -1), ig_minimum(ig_plus(a, -2), ig_float(1)));
    return ig_multiply(ig_multiply(u, ig_plus(u, 1)), special_fit(FIT_lgamma, u));
}

/* lgamma of a >= 0. */
static ig_array *lgamma_of(ig_array *a)
{
    ig_array *near = lgamma_near(a), *b = ig_maximum(a, ig_float(3));
    ig_array *tiny = ig_subtract(near, ig_log(a));
    ig_array *far = ig_multiply(ig_plus(b, -0.5), ig_plus(ig_log(b), -1));
    far = ig_add(ig_plus(far, (LOG_2PI - 1) / 2), special_stirling(b));
    return ig_where(special_below(a, 1), tiny, ig_where(special_below(a, 3), near, far));
}

static ig_array *slope_lgamma(ig_array *const *x, ig_array *y)
{
    (void)y;
    return special_digamma(x[0]);
}

ig_array *special_lgamma(ig_array *x)
{
    static const special_slopes slopes = {{slope_lgamma}};
    ig_array *a = ig_abs(x), *y = lgamma_of(a);
    ig_array *mirror = ig_log(ig_multiply(ig_abs(special_sin_pi(x)), a));
    mirror = ig_subtract(ig_float(log(M_PI)), ig_add(mirror, y));
    mirror = ig_where(special_below(a, TINY), ig_negative(ig_log(a)), mirror);
    y = ig_where(special_below(x, 0), mirror, y);
    y = ig_where(ig_isinf(x), a, y);
    return special_with_slopes(y, &x, 1, &slopes);
}

/* gamma of a >= 0. A power of the exact a has an exact exponent; half of it keeps the power finite. */
static ig_array *gamma_of(ig_array *x, ig_array *a)
{
    ig_array *near = ig_exp(lgamma_near(a));
    ig_array *b = ig_clip(a, ig_float(3), ig_float(special_is_f64(a) ? 200 : 50));
    ig_array *power = ig_pow(b, ig_times(b, 0.5));
    ig_array *far =
        ig_multiply(ig_divide(ig_times(power, sqrt(2 * M_PI)), ig_sqrt(b)), ig_exp(ig_negative(b)));
    far = ig_multiply(ig_multiply(far, ig_exp(special_stirling(b))), power);
    return ig_where(special_below(a, 1), ig_divide(near, x),
                    ig_where(special_below(a, 3), near, far));
}

static ig_array *slope_gamma(ig_array *const *x, ig_array *y)
{
    return ig_multiply(y, special_digamma(x[0]));
}

ig_array *special_gamma(ig_array *x)
{
    static const special_slopes slopes = {{slope_gamma}};
    ig_array *a = ig_abs(x), *sine = special_sin_pi(x), *whole = special_is_whole(x);
    ig_array *is_below = special_below(x, 0), *y = gamma_of(ig_where(is_below, a, x), a);
    ig_array *mirror = special_over(-M_PI, ig_multiply(ig_multiply(a, ig_negative(sine)), y));
    mirror = ig_where(special_below(a, TINY), ig_reciprocal(x), mirror);
    mirror = ig_where(whole, ig_float(NAN), mirror);
    y = ig_where(is_below, mirror, ig_where(whole, ig_round(y), y));
    return special_with_slopes(y, &x, 1, &slopes);
}

/* ---- digamma, zeta ---- */

static ig_array *slope_digamma(ig_array *const *x, ig_array *y)
{
    return special_zeta(build_beside(y, 2), x[0]);
}

ig_array *special_digamma(ig_array *x)
{
    static const special_slopes slopes = {{slope_digamma}};
    ig_array *is_below = special_below(x, 0), *is_small = special_below(x, 1);
    ig_array *b = ig_where(is_below, ig_negative(x), x);
    b = ig_where(is_small, ig_plus(b, 1), b);
    ig_array *far = ig_divide(special_fit(FIT_digamma, special_inverse(b, 1)), ig_square(b));
    ig_array *y = ig_subtract(ig_subtract(ig_log(b), special_over(0.5, b)), far);
    ig_array *part = ig_subtract(x, ig_round(x));
    ig_array *mirror = special_over(M_PI, ig_tan(ig_times(part, M_PI)));
    mirror = ig_where(special_is(part, 0), ig_float(NAN), mirror);
    ig_array *less = ig_where(is_below, mirror, special_over(1, x));
    y = ig_subtract(y, ig_where(is_small, less, ig_float(0)));
    return special_with_slopes(y, &x, 1, &slopes);
}

/* The formula of Euler and Maclaurin, for q > 0 and s > -1. Above `most`, only the first terms count. */
static ig_array *zeta_of(ig_array *s, ig_array *q)
{
    /* B_2j / (2j)! */
    static const double series[] = {0.08333333333333333333,   -0.001388888888888888889,
                                    3.306878306878306878e-5,  -8.267195767195767196e-7,
                                    2.087675698786809898e-8,  -5.284190138687493185e-10,
                                    1.338253653068467883e-11, -3.389680296322582867e-13,
                                    8.586062056277844564e-15, -2.174868698558061873e-16};
    const bool wide = special_is_f64(q);
    const int steps = wide ? 9 : 4, terms = wide ? 10 : 5;
    ig_array *power = ig_negative(s), *y = ig_pow(q, power);
    for (int k = 1; k < steps; k++)
        y = ig_add(y, ig_pow(ig_plus(q, k), power));
    ig_array *w = ig_plus(q, steps), *most = ig_minimum(s, ig_float(400));
    ig_array *at = ig_pow(w, ig_subtract(ig_float(1), most)), *square = ig_square(w);
    ig_array *tail = ig_add(ig_reciprocal(ig_plus(most, -1)), special_over(0.5, w));
    ig_array *factor = ig_divide(most, square);
    for (int j = 0; j < terms; j++) {
        tail = ig_add(tail, ig_times(factor, series[j]));
        if (j + 1 < terms)
            factor = ig_divide(ig_multiply(factor, ig_multiply(ig_plus(most, 2 * j + 1),
                                                               ig_plus(most, 2 * j + 2))),
                               square);
    }
    return ig_add(y, ig_multiply(at, tail));
}

/* Below 0, with r = q - floor(q), the sum over all integers minus the sum below q: zeta(s, r) + (-1)^s (zeta(s, 1 - r) -
 * zeta(s, 1 - q)), for an integer s. */
ig_array *special_zeta(ig_array *s, ig_array *q)
{
    ig_array *is_below = special_below(q, 0), *whole = special_is_whole(q);
    ig_array *part = ig_subtract(q, ig_floor(q));
    ig_array *first = ig_where(is_below, part, q);
    ig_array *safe = ig_where(is_below, q, ig_float(-0.5));
    ig_array *rest = ig_where(is_below, ig_subtract(ig_ceil(q), q), ig_float(1.5));
    ig_array *more = ig_subtract(zeta_of(s, rest), zeta_of(s, ig_subtract(ig_float(1), safe)));
    ig_array *mirror =
        ig_where(special_is_whole(s), ig_multiply(special_parity(s), more), ig_float(NAN));
    ig_array *y = ig_add(zeta_of(s, first), ig_where(is_below, mirror, ig_float(0)));
    ig_array *pole = ig_logical_and(whole, ig_less_equal(q, ig_float(0)));
    pole = ig_logical_or(pole, special_is(s, 1));
    y = ig_where(ig_logical_and(pole, ig_logical_not(ig_isnan(ig_add(s, q)))), ig_float(INFINITY),
                 y);
    return ig_where(special_below(s, 1), ig_float(NAN), y);
}

/* zeta(s, 1) for every s; below 0 by its functional equation. */
static ig_array *zeta_riemann(ig_array *s)
{
    ig_array *is_below = special_below(s, 0), *one = build_beside(s, 1);
    ig_array *at = ig_where(is_below, ig_subtract(ig_float(1), s), s);
    ig_array *y = ig_where(special_is(s, 1), ig_float(INFINITY), zeta_of(at, one));
    ig_array *safe = ig_where(is_below, s, ig_float(-1));
    ig_array *sine = special_sin_pi(ig_times(safe, 0.5));
    ig_array *size =
        ig_add(special_lgamma(ig_subtract(ig_float(1), safe)), ig_times(safe, LOG_2PI));
    ig_array *mirror = ig_times(ig_multiply(ig_exp(size), sine), 1 / M_PI);
    mirror = ig_where(special_is(sine, 0), ig_float(0), mirror);
    return ig_where(is_below, ig_multiply(mirror, y), y);
}

BUILDER(zeta)
{
    ig_array *x[2] = {args[0].u.array, arg_array(&args[1])};
    ig_dtype dtype;
    if (special_floats(op, x, x[1] ? 2 : 1, &dtype) != IG_OK)
        return 0;
    return composite_result(out, x[1] ? special_zeta(x[0], x[1]) : zeta_riemann(x[0]), dtype);
}

/* ---- the rows ---- */

BUILDER(gamma_family)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *y = op == OP_lgamma    ? special_lgamma(x)
                  : op == OP_digamma ? special_digamma(x)
                  : op == OP_gamma   ? special_gamma(x)
                                     : special_gamma(ig_plus(ig_maximum(x, ig_float(-1)), 1));
    if (op == OP_factorial)
        y = ig_where(special_below(x, 0), ig_float(0), y);
    return composite_result(out, y, dtype);
}

/* The sign of gamma(x): by parity below 0, NaN at its poles. */
static ig_array *gamma_sign(ig_array *x)
{
    ig_array *below = ig_where(special_is_whole(x), ig_float(NAN), special_parity(x));
    ig_array *y = ig_copysign(build_beside(x, 1), x);
    return ig_where(ig_isnan(x), x, ig_where(special_below(x, 0), below, y));
}

BUILDER(gammasgn)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    return composite_result(out, gamma_sign(x), dtype);
}

static ig_array *slope_polygamma(ig_array *const *x, ig_array *y);

/* (-1)^(n + 1) n! zeta(n + 1, x). */
static ig_array *polygamma(ig_array *n, ig_array *x)
{
    static const special_slopes slopes = {{NULL, slope_polygamma}};
    ig_array *s = ig_plus(n, 1), *in[2] = {n, x};
    ig_array *factor = ig_negative(ig_multiply(special_parity(n), special_gamma(s)));
    return special_with_slopes(ig_multiply(factor, special_zeta(s, x)), in, 2, &slopes);
}

static ig_array *slope_polygamma(ig_array *const *x, ig_array *y)
{
    (void)y;
    return polygamma(ig_plus(x[0], 1), x[1]);
}

BUILDER(polygamma)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    const ig_array *order = x[0];
    const bool known = order->is_number && dtype_is_int((ig_dtype)order->dtype);
    const bool none = known && order->number == 0;
    ig_dtype dtype;
    if (special_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    ig_array *y = none ? special_digamma(x[1]) : polygamma(ig_stop_gradient(x[0]), x[1]);
    if (!known)
        y = ig_where(special_is(x[0], 0), special_digamma(x[1]), y);
    return composite_result(out, y, dtype);
}

/* ---- beta ---- */

/* The logarithm of beta(a, b), for a and b >= 0, by Stirling's series, which begins at 1. */
static ig_array *betaln_of(ig_array *a, ig_array *b)
{
    ig_array *g = ig_maximum(a, b), *h = ig_minimum(a, b);
    ig_array *low_g = special_below(g, 1), *low_h = special_below(h, 1);
    ig_array *g1 = ig_where(low_g, ig_plus(g, 1), g), *h1 = ig_where(low_h, ig_plus(h, 1), h);
    ig_array *sum = ig_add(g1, h1), *one = build_beside(a, 1);
    ig_array *raised = ig_where(low_h, ig_divide(ig_add(g, h), h), one);
    raised = ig_multiply(raised, ig_where(low_g, ig_divide(ig_add(g, h1), g), one));
    raised = ig_log(ig_multiply(ig_square(raised), ig_divide(ig_divide(sum, g1), h1)));
    ig_array *y = ig_subtract(ig_multiply(h1, ig_log(ig_divide(h1, sum))),
                              ig_multiply(g1, ig_log1p(ig_divide(h1, g1))));
    y = ig_add(y, ig_times(ig_plus(raised, LOG_2PI), 0.5));
    return ig_add(
        y, ig_subtract(ig_add(special_stirling(g1), special_stirling(h1)), special_stirling(sum)));
}

static ig_array *psi_gap(ig_array *const *x, int i)
{
    return ig_subtract(special_digamma(x[i]), special_digamma(ig_add(x[0], x[1])));
}
static ig_array *slope_betaln_a(ig_array *const *x, ig_array *y) { return (void)y, psi_gap(x, 0); }
static ig_array *slope_betaln_b(ig_array *const *x, ig_array *y) { return (void)y, psi_gap(x, 1); }
static ig_array *slope_beta_a(ig_array *const *x, ig_array *y)
{
    return ig_multiply(y, psi_gap(x, 0));
}
static ig_array *slope_beta_b(ig_array *const *x, ig_array *y)
{
    return ig_multiply(y, psi_gap(x, 1));
}

/* If a or b is 0 or a negative integer, beta(a, b) is infinite, unless both are whole and their sum is below 1: then its
 * absolute value equals beta(1 - a - b, b) for the negative a. Below -2^31 it counts as infinite, as in SciPy. */
ig_array *special_betaln(ig_array *a, ig_array *b)
{
    static const special_slopes slopes = {{slope_betaln_a, slope_betaln_b}};
    ig_array *low = ig_minimum(a, b), *high = ig_maximum(a, b), *zero = ig_float(0);
    ig_array *pole = ig_logical_and(special_is_whole(low), ig_less_equal(low, zero));
    ig_array *other = ig_logical_and(special_is_whole(high), ig_less_equal(high, zero));
    ig_array *rest = ig_subtract(ig_subtract(ig_float(1), low), high);
    ig_array *is_finite =
        ig_logical_and(pole, ig_logical_and(ig_greater(rest, zero), ig_greater(high, zero)));
    is_finite = ig_logical_and(is_finite, special_is_whole(high));
    is_finite = ig_logical_and(is_finite, ig_greater_equal(low, ig_float(-0x1p31)));
    ig_array *is_infinite = ig_logical_and(ig_logical_or(pole, other), ig_logical_not(is_finite));
    ig_array *x[2] = {a, b}, *is_below = special_below(low, 0), *one = ig_float(1);
    ig_array *below =
        ig_subtract(ig_add(special_lgamma(a), special_lgamma(b)), special_lgamma(ig_add(a, b)));
    is_below = ig_logical_and(is_below, ig_logical_not(is_finite));
    ig_array *y = betaln_of(ig_where(is_below, one, ig_where(is_finite, rest, a)),
                            ig_where(is_below, one, ig_where(is_finite, high, b)));
    y = ig_where(is_infinite, ig_float(INFINITY), ig_where(is_below, below, y));
    return special_with_slopes(y, x, 2, &slopes);
}

static ig_array *beta_of(ig_array *a, ig_array *b)
{
    static const special_slopes slopes = {{slope_beta_a, slope_beta_b}};
    ig_array *x[2] = {a, b}, *is_below = special_below(ig_minimum(a, b), 0);
    ig_array *below =
        ig_divide(ig_multiply(special_gamma(a), special_gamma(b)), special_gamma(ig_add(a, b)));
    ig_array *y = betaln_of(ig_where(is_below, ig_float(1), a), ig_where(is_below, ig_float(1), b));
    return special_with_slopes(ig_where(is_below, below, ig_exp(y)), x, 2, &slopes);
}

/* n over k, which are i64, 0 <= k <= n: exact below 2^53. Then k or n - k is at most 28, and each step divides a
 * number below 2^58 without remainder. */
static ig_array *comb_exact(ig_array *n, ig_array *k)
{
    enum { STEPS = 28 };
    ig_array *few = ig_minimum(k, ig_subtract(n, k)), *rest = ig_subtract(n, few);
    ig_array *y = build_scalar(1, IG_I64);
    for (int i = 1; i <= STEPS; i++) {
        ig_array *next = ig_floor_divide(ig_multiply(y, ig_add(rest, ig_int(i))), ig_int(i));
        y = ig_where(ig_greater_equal(few, ig_int(i)), next, y);
    }
    return y;
}

/* N! / (k! (N - k)!); 0 outside 0 <= k <= N. If N and k are whole, so is the result, and exact below 2^53: n_int and
 * k_int are their values in i64. */
static ig_array *comb_of(ig_array *n, ig_array *k, ig_array *n_int, ig_array *k_int,
                         bool repetition)
{
    n = repetition ? ig_plus(ig_add(n, k), -1) : n;
    n_int = repetition ? ig_add(ig_add(n_int, k_int), ig_int(-1)) : n_int;
    ig_array *none =
        ig_logical_or(ig_logical_or(special_below(k, 0), special_below(n, 0)), ig_greater(k, n));
    ig_array *rest = ig_where(none, ig_float(0), ig_subtract(n, k));
    k = ig_where(none, ig_float(0), k);
    n = ig_where(none, ig_float(0), n);
    ig_array *y = beta_of(ig_plus(rest, 1), ig_plus(k, 1));
    y = ig_reciprocal(ig_multiply(y, ig_plus(n, 1)));
    ig_array *whole = ig_logical_and(special_is_whole(n), special_is_whole(k));
    whole = ig_logical_and(whole, ig_less(y, ig_float(0x1p53)));
    ig_array *exact = build_cast(comb_exact(n_int, k_int), ig_dtype_of(y));
    /* A correction that is a constant: gradients pass. */
    y = ig_where(whole, ig_add(y, ig_stop_gradient(ig_subtract(exact, y))), y);
    return ig_where(none, ig_float(0), y);
}

/* gamma(z + m) / gamma(z). Where both are infinite, the ratio of their residues, gamma(1 - z) / gamma(1 - z - m) up to the
 * sign. A ratio of positive arguments p and p + d is gamma(d) / beta(p, d), which does not cancel. */
static ig_array *poch_of(ig_array *z, ig_array *m)
{
    ig_array *sum = ig_add(z, m), *zero = ig_float(0), *one = ig_float(1);
    ig_array *pole = ig_logical_and(special_is_whole(z), ig_less_equal(z, zero));
    ig_array *over = ig_logical_and(special_is_whole(sum), ig_less_equal(sum, zero));
    ig_array *both = ig_logical_and(pole, over);
    ig_array *top = ig_where(both, ig_subtract(one, z), sum);
    ig_array *under = ig_where(both, ig_subtract(one, sum), ig_where(pole, one, z));
    ig_array *up = ig_logical_and(ig_greater(top, zero), ig_greater(under, zero));
    up = ig_logical_and(up, ig_not_equal(m, zero));
    ig_array *d = ig_where(up, ig_abs(m), one), *least = ig_where(up, ig_minimum(top, under), one);
    ig_array *rise = ig_subtract(special_lgamma(d), special_betaln(least, d));
    rise = ig_where(special_below(m, 0), ig_negative(rise), rise);
    ig_array *y = ig_subtract(special_lgamma(top), special_lgamma(under));
    y = ig_exp(ig_where(up, rise, y));
    y = ig_multiply(y, ig_multiply(gamma_sign(top), gamma_sign(under)));
    y = ig_where(both, ig_multiply(special_parity(m), y), y);
    y = ig_where(ig_logical_and(over, ig_logical_not(pole)), ig_float(INFINITY), y);
    return ig_where(ig_logical_and(pole, ig_logical_not(over)), zero, y);
}

BUILDER(beta_family)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (special_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    ig_array *y = op == OP_beta     ? beta_of(x[0], x[1])
                  : op == OP_betaln ? special_betaln(x[0], x[1])
                  : op == OP_poch   ? poch_of(x[0], x[1])
                                    : comb_of(x[0], x[1], build_cast(args[0].u.array, IG_I64),
                                              build_cast(args[1].u.array, IG_I64), args[2].u.b);
    return composite_result(out, y, dtype);
}

BUILDER(multigammaln)
{
    ig_array *a = args[0].u.array;
    const int64_t d = args[1].u.i;
    ig_dtype dtype;
    if (d < 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "multigammaln: d is %lld; give 1 or more", (long long)d);
    if (composite_floats(op, &a, 1, &dtype) != IG_OK)
        return 0;
    ig_array *half = ig_times(build_cast(build_iota(1, &d), (ig_dtype)a->dtype), 0.5);
    ig_array *y = special_lgamma(ig_subtract(special_column(a), half));
    y = ig_sum(y, IG_AXES(-1), IG_DTYPE_NONE, false);
    return composite_result(out, ig_plus(y, (double)(d * (d - 1)) / 4 * log(M_PI)), dtype);
}
