/* Builders of the exponential, sine, cosine and Fresnel integrals, of Dawson's and of Spence's. */
#include "engine/ops/special.h"

static const double EULER = 0.57721566490153286061;

/* 2 (x / s)^n - 1, the t of a fit in u = (x / s)^n, n 2 or 4, for 0 <= x <= s. */
static ig_array *inner(ig_array *x, double s, int n)
{
    ig_array *square = ig_square(ig_times(ig_minimum(x, ig_float(s)), 1 / s));
    return ig_plus(ig_times(n == 4 ? ig_square(square) : square, 2), -1);
}

/* 2 (s / x)^n - 1, for x >= s. */
static ig_array *outer(ig_array *x, double s, int n)
{
    ig_array *square = ig_square(special_over(s, x));
    return ig_plus(ig_times(n == 4 ? ig_square(square) : square, 2), -1);
}

/* ---- exponential integrals ---- */

/* For x >= 0. */
static ig_array *exp1_of(ig_array *x)
{
    ig_array *low = ig_minimum(x, ig_float(2)), *high = ig_maximum(x, ig_float(2));
    ig_array *near = ig_multiply(special_fit(FIT_e1, ig_plus(low, -1)), low);
    near = ig_subtract(near, ig_plus(ig_log(low), EULER));
    ig_array *far = ig_divide(ig_exp(ig_negative(high)), high);
    far = ig_multiply(far, special_fit(FIT_e1_far, special_inverse(high, 2)));
    return ig_where(special_below(x, 2), near, far);
}

/* For x >= 0. Half of the power twice: it is finite where the result is. */
static ig_array *expi_of(ig_array *x)
{
    ig_array *low = ig_minimum(x, ig_float(4));
    ig_array *near = ig_multiply(special_fit(FIT_ei, ig_plus(ig_times(low, 0.5), -1)), low);
    near = ig_add(near, ig_plus(ig_log(low), EULER));
    ig_array *middle = ig_clip(x, ig_float(4), ig_float(12));
    ig_array *high = ig_clip(x, ig_float(12), ig_float(2000));
    ig_array *mid = special_fit(FIT_ei_mid, ig_plus(special_over(12, middle), -2));
    ig_array *far = special_fit(FIT_ei_far, special_inverse(high, 12));
    ig_array *b = ig_where(special_below(x, 12), middle, high);
    ig_array *half = ig_exp(ig_times(b, 0.5));
    ig_array *y = ig_divide(ig_where(special_below(x, 12), mid, far), b);
    return ig_where(special_below(x, 4), near, ig_multiply(ig_multiply(y, half), half));
}

static ig_array *slope_exp1(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_divide(ig_negative(ig_exp(ig_negative(x[0]))), x[0]);
}

static ig_array *slope_expi(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_divide(ig_exp(x[0]), x[0]);
}

static ig_array *slope_dawsn(ig_array *const *x, ig_array *y)
{
    return ig_subtract(ig_float(1), ig_times(ig_multiply(x[0], y), 2));
}

static ig_array *dawsn_of(ig_array *x)
{
    ig_array *a = ig_abs(x), *b = ig_maximum(a, ig_float(4));
    ig_array *near = ig_multiply(x, special_fit(FIT_dawson, inner(a, 4, 2)));
    ig_array *far = ig_divide(special_fit(FIT_dawson_far, outer(b, 4, 2)), b);
    return ig_where(special_below(a, 4), near, ig_copysign(far, x));
}

BUILDER(exponential_integrals)
{
    static const special_slopes exp1 = {{slope_exp1}}, expi = {{slope_expi}},
                                dawsn = {{slope_dawsn}};
    ig_array *x = args[0].u.array, *y;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    if (op == OP_dawsn) {
        y = special_with_slopes(dawsn_of(x), &x, 1, &dawsn);
    } else if (op == OP_exp1) {
        y = ig_where(special_below(x, 0), ig_float(NAN), exp1_of(ig_abs(x)));
        y = special_with_slopes(y, &x, 1, &exp1);
    } else {
        ig_array *a = ig_abs(x), *below = ig_negative(exp1_of(a));
        y = special_with_slopes(ig_where(special_below(x, 0), below, expi_of(a)), &x, 1, &expi);
    }
    return composite_result(out, y, dtype);
}

/* ---- the dilogarithm ---- */

/* spence(exp(-u)) for |u| <= log(2): the sum of B_k u^(k + 1) / (k + 1)!. */
static ig_array *spence_near(ig_array *u)
{
    /* B_2k / (2k + 1)!, without the term of u^2 */
    static const double series[] = {1,
                                    2.7777777777777777778e-2,
                                    -2.7777777777777777778e-4,
                                    4.7241118669690098262e-6,
                                    -9.1857730746619635509e-8,
                                    1.8978869988970999072e-9,
                                    -4.0647616451442255268e-11,
                                    8.9216910204564525552e-13,
                                    -1.9939295860721075687e-14};
    ig_array *odd = special_poly(ig_square(u), series, special_is_f64(u) ? 9 : 5);
    return ig_multiply(u, ig_subtract(odd, ig_times(u, 0.25)));
}

/* log(x) / (1 - x). Near 1 its series, which has derivatives there. */
static ig_array *slope_spence(ig_array *const *x, ig_array *y)
{
    double series[18];
    const int terms = special_is_f64(y) ? 18 : 9;
    for (int k = 0; k < terms; k++)
        series[k] = (k % 2 ? 1.0 : -1.0) / (k + 1);
    ig_array *d = ig_plus(x[0], -1), *is_near = special_below(ig_abs(d), 0.125);
    ig_array *near = special_poly(ig_where(is_near, d, ig_float(0)), series, terms);
    ig_array *safe = ig_where(is_near, ig_float(2), x[0]);
    ig_array *far = ig_divide(ig_log(safe), ig_subtract(ig_float(1), safe));
    return ig_where(is_near, near, far);
}

/* Above 2 from 1 / x, below 1/2 from 1 - x: spence(x) + spence(1 / x) = -log(x)^2 / 2, spence(x) + spence(1 - x) = pi^2 / 6
 * - log(x) log(1 - x). */
BUILDER(spence)
{
    static const special_slopes slopes = {{slope_spence}};
    ig_array *x = args[0].u.array, *one = ig_float(1);
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *is_high = ig_greater(x, ig_float(2));
    ig_array *low = ig_where(is_high, ig_reciprocal(x), x), *is_low = special_below(low, 0.5);
    ig_array *rest = ig_log1p(ig_negative(ig_where(is_low, low, ig_float(0))));
    ig_array *log = ig_log(ig_where(special_is(low, 0), one, low));
    ig_array *y = spence_near(ig_subtract(ig_float(0), ig_where(is_low, rest, log)));
    ig_array *mirror = ig_subtract(ig_float(M_PI * M_PI / 6), ig_multiply(log, rest));
    y = ig_where(is_low, ig_subtract(mirror, y), y);
    ig_array *high = ig_times(ig_square(ig_log(ig_where(is_high, x, one))), -0.5);
    y = ig_where(is_high, ig_subtract(high, y), y);
    y = ig_where(special_below(x, 0), ig_float(NAN), y);
    return composite_result(out, special_with_slopes(y, &x, 1, &slopes), dtype);
}

/* ---- sine, cosine and Fresnel integrals ---- */

static ig_array *slope_si(ig_array *const *x, ig_array *y)
{
    ig_array *zero = special_is(x[0], 0);
    (void)y;
    return ig_where(zero, ig_float(1), ig_divide(ig_sin(x[0]), ig_where(zero, ig_float(1), x[0])));
}

static ig_array *slope_ci(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_divide(ig_cos(x[0]), x[0]);
}

BUILDER(sici)
{
    static const special_slopes si_slopes = {{slope_si}}, ci_slopes = {{slope_ci}};
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *a = ig_abs(x), *is_near = special_below(a, 8), *t = inner(a, 8, 2);
    ig_array *low = ig_minimum(a, ig_float(8)), *is_end = ig_isinf(x);
    ig_array *b = ig_where(is_end, ig_float(8), ig_maximum(a, ig_float(8)));
    ig_array *u = outer(b, 8, 2), *sine = ig_sin(b), *cosine = ig_cos(b);
    ig_array *f = ig_divide(special_fit(FIT_sici_f, u), b);
    ig_array *g = ig_divide(special_fit(FIT_sici_g, u), ig_square(b));
    ig_array *si = ig_add(ig_multiply(f, cosine), ig_multiply(g, sine));
    si = ig_subtract(ig_float(M_PI / 2), ig_where(is_end, ig_float(0), si));
    si = ig_where(is_near, ig_multiply(x, special_fit(FIT_si, t)), ig_copysign(si, x));
    ig_array *ci = ig_subtract(ig_multiply(f, sine), ig_multiply(g, cosine));
    ci = ig_where(is_end, ig_float(0), ci);
    ig_array *near = ig_multiply(ig_square(low), special_fit(FIT_ci, t));
    near = ig_add(near, ig_plus(ig_log(low), EULER));
    ci = ig_where(special_below(x, 0), ig_float(NAN), ig_where(is_near, near, ci));
    out[0] = build_cast(special_with_slopes(si, &x, 1, &si_slopes), dtype);
    out[1] = build_cast(special_with_slopes(ci, &x, 1, &ci_slopes), dtype);
    return out[0] && out[1] ? 2 : 0;
}

/* x^2 / 2 less an even number, in [-1, 1], for 0 <= x: sin(pi x^2 / 2) is the sine of pi times it. The head of x has an
 * exact square. */
static ig_array *half_square(ig_array *x)
{
    ig_array *head = ig_times(ig_round(ig_times(x, 16)), 1.0 / 16), *square = ig_square(head);
    square = ig_subtract(square, ig_times(ig_round(ig_times(square, 0.25)), 4));
    ig_array *rest = ig_multiply(ig_subtract(x, head), ig_add(x, head));
    rest = ig_subtract(rest, ig_times(ig_round(ig_times(rest, 0.25)), 4));
    return ig_times(ig_add(square, rest), 0.5);
}

static ig_array *slope_fresnel_s(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_sin(ig_times(ig_square(x[0]), M_PI / 2));
}

static ig_array *slope_fresnel_c(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_cos(ig_times(ig_square(x[0]), M_PI / 2));
}

BUILDER(fresnel)
{
    static const special_slopes s_slopes = {{slope_fresnel_s}}, c_slopes = {{slope_fresnel_c}};
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *a = ig_abs(x), *is_near = special_below(a, 2), *t = inner(a, 2, 4);
    /* Beyond this, the waves are below one unit in the last place of 1/2. */
    const double end = special_is_f64(x) ? 0x1p54 : 0x1p25;
    ig_array *low = ig_minimum(a, ig_float(2)), *b = ig_clip(a, ig_float(2), ig_float(end));
    ig_array *u = outer(b, 2, 4), *phase = ig_times(half_square(b), M_PI);
    ig_array *sine = ig_sin(phase), *cosine = ig_cos(phase);
    ig_array *f = ig_divide(special_fit(FIT_fresnel_f, u), b);
    ig_array *g = ig_divide(ig_divide(special_fit(FIT_fresnel_g, u), ig_square(b)), b);
    ig_array *s = ig_add(ig_multiply(f, cosine), ig_multiply(g, sine));
    s = ig_subtract(ig_float(0.5), s);
    ig_array *cube = ig_multiply(ig_square(low), low);
    s = ig_where(is_near, ig_multiply(cube, special_fit(FIT_fresnel_s, t)), s);
    ig_array *c = ig_subtract(ig_multiply(f, sine), ig_multiply(g, cosine));
    c = ig_where(is_near, ig_multiply(low, special_fit(FIT_fresnel_c, t)), ig_plus(c, 0.5));
    s = special_with_slopes(ig_copysign(s, x), &x, 1, &s_slopes);
    c = special_with_slopes(ig_copysign(c, x), &x, 1, &c_slopes);
    out[0] = build_cast(s, dtype), out[1] = build_cast(c, dtype);
    return out[0] && out[1] ? 2 : 0;
}
