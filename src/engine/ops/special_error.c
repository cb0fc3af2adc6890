/* Builders of error functions, the normal distribution and entropies. */
#include "engine/ops/special.h"

ig_array *special_gauss(ig_array *x, double factor)
{
    /* Not the absolute value: its second derivative at 0 is lost. */
    ig_array *a = ig_maximum(ig_minimum(x, ig_float(64)), ig_float(-64));
    ig_array *head = ig_times(ig_round(ig_times(a, 16)), 1.0 / 16);
    ig_array *rest = ig_multiply(ig_subtract(a, head), ig_add(a, head));
    return ig_multiply(ig_exp(ig_times(ig_square(head), factor)), ig_exp(ig_times(rest, factor)));
}

/* exp(a^2) erfc(a) for a >= 0. */
static ig_array *erfcx_of(ig_array *a)
{
    ig_array *t = ig_subtract(ig_float(1), special_over(4, ig_plus(a, 2)));
    return ig_divide(special_fit(FIT_erfcx, t), ig_plus(a, 1));
}

static ig_array *slope_erfc(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_times(special_gauss(x[0], -1), -M_2_SQRTPI);
}

static ig_array *erfc_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_erfc}};
    ig_array *y = ig_multiply(erfcx_of(ig_abs(x)), special_gauss(x, -1));
    y = ig_where(special_below(x, 0), ig_subtract(ig_float(2), y), y);
    return special_with_slopes(y, &x, 1, &slopes);
}

/* 2 x y - 2 / sqrt(pi), which cancels for large x: there the first terms of the asymptotic series. */
static ig_array *slope_erfcx(ig_array *const *x, ig_array *y)
{
    static const double series[] = {1, -1.5, 3.75};
    const double far_from = special_is_f64(y) ? 256 : 16;
    ig_array *is_far = special_not_below(x[0], far_from);
    ig_array *near = ig_multiply(ig_where(is_far, ig_float(0), x[0]), y);
    near = ig_plus(ig_times(near, 2), -M_2_SQRTPI);
    ig_array *u = ig_square(ig_reciprocal(ig_maximum(x[0], ig_float(far_from))));
    ig_array *far = ig_times(ig_multiply(u, special_poly(u, series, 3)), -M_2_SQRTPI / 2);
    return ig_where(is_far, far, near);
}

/* exp(x^2) erfc(x) */
static ig_array *erfcx(ig_array *x)
{
    static const special_slopes slopes = {{slope_erfcx}};
    ig_array *y = erfcx_of(ig_abs(x));
    y = ig_where(special_below(x, 0), ig_subtract(ig_times(special_gauss(x, 1), 2), y), y);
    return special_with_slopes(y, &x, 1, &slopes);
}

/* ---- the normal distribution ---- */

/* erfcx(|x| / sqrt(2)) / 2: the tail beyond |x| is this times exp(-x^2 / 2). */
static ig_array *tail_ratio(ig_array *x)
{
    return ig_times(erfcx_of(ig_times(ig_abs(x), M_SQRT1_2)), 0.5);
}

ig_array *special_tail(ig_array *x) { return ig_multiply(tail_ratio(x), special_gauss(x, -0.5)); }

static ig_array *slope_ndtr(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_times(special_gauss(x[0], -0.5), M_2_SQRTPI * M_SQRT1_2 / 2);
}

static ig_array *ndtr_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_ndtr}};
    ig_array *y = special_tail(x);
    y = ig_where(special_below(x, 0), y, ig_subtract(ig_float(1), y));
    return special_with_slopes(y, &x, 1, &slopes);
}

/* The density divided by the distribution function. */
static ig_array *slope_log_ndtr(ig_array *const *x, ig_array *y)
{
    (void)y;
    return special_over(M_2_SQRTPI * M_SQRT1_2, erfcx(ig_times(x[0], -M_SQRT1_2)));
}

static ig_array *log_ndtr_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_log_ndtr}};
    ig_array *low = ig_subtract(ig_log(tail_ratio(x)), ig_times(ig_square(x), 0.5));
    ig_array *y = ig_where(special_below(x, 0), low, ig_log1p(ig_negative(special_tail(x))));
    return special_with_slopes(y, &x, 1, &slopes);
}

/* The x < 0 whose log_ndtr is log_q, for q <= 0.1: Newton's method after the first terms of the asymptotic series. */
static ig_array *tail_quantile(ig_array *log_q)
{
    const int steps = special_is_f64(log_q) ? 5 : 4;
    ig_array *square = ig_times(log_q, -2);
    square = ig_subtract(square, ig_log(ig_times(square, 2 * M_PI)));
    ig_array *x = ig_negative(ig_sqrt(ig_maximum(square, ig_float(1))));
    for (int k = 0; k < steps; k++) {
        ig_array *ratio = tail_ratio(x);
        ig_array *over = ig_subtract(ig_log(ratio), ig_times(ig_square(x), 0.5));
        over = ig_multiply(ig_subtract(over, log_q), ratio);
        x = ig_subtract(x, ig_times(over, sqrt(2 * M_PI)));
    }
    return x;
}

static ig_array *slope_ndtri(ig_array *const *x, ig_array *y)
{
    (void)x;
    return ig_times(special_gauss(y, 0.5), sqrt(2 * M_PI));
}

static ig_array *ndtri_of(ig_array *p)
{
    static const special_slopes slopes = {{slope_ndtri}};
    ig_array *q = ig_minimum(p, ig_subtract(ig_float(1), p));
    ig_array *is_tail = special_below(q, 0.1), *is_end = special_is(q, 0);
    ig_array *safe = ig_where(ig_logical_or(is_end, ig_logical_not(is_tail)), ig_float(0.05), q);
    ig_array *far = tail_quantile(ig_log(safe));
    far = ig_where(is_end, ig_float(-INFINITY), far);
    far = ig_where(special_below(p, 0.5), far, ig_negative(far));
    ig_array *near = ig_times(ig_erfinv(ig_plus(ig_times(p, 2), -1)), M_SQRT2);
    ig_array *y = ig_where(is_tail, far, near);
    return special_with_slopes(ig_where(special_below(q, 0), ig_float(NAN), y), &p, 1, &slopes);
}

static ig_array *slope_logit(ig_array *const *x, ig_array *y)
{
    (void)y;
    return ig_reciprocal(ig_multiply(x[0], ig_subtract(ig_float(1), x[0])));
}

/* 2 x - 1 is exact where the result is small. */
static ig_array *logit_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_logit}};
    ig_array *twice = ig_plus(ig_times(x, 2), -1);
    ig_array *near = ig_times(ig_atanh(twice), 2);
    ig_array *far = ig_log(ig_divide(x, ig_subtract(ig_float(1), x)));
    ig_array *y = ig_where(special_below(ig_abs(twice), 0.5), near, far);
    return special_with_slopes(y, &x, 1, &slopes);
}

/* ---- entropies ---- */

static ig_array *slope_entr(ig_array *const *x, ig_array *y)
{
    ig_array *is_below = special_below(x[0], 0);
    ig_array *slope = ig_plus(ig_negative(ig_log(ig_where(is_below, ig_float(1), x[0]))), -1);
    (void)y;
    return ig_where(is_below, ig_float(0), slope);
}

static ig_array *entr_of(ig_array *x)
{
    static const special_slopes slopes = {{slope_entr}};
    ig_array *safe = ig_where(ig_less_equal(x, ig_float(0)), ig_float(1), x);
    ig_array *y = ig_negative(ig_multiply(x, ig_log(safe)));
    y = ig_where(special_below(x, 0), ig_float(-INFINITY), y);
    return special_with_slopes(y, &x, 1, &slopes);
}

BUILDER(rel_entr)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *zero = ig_float(0), *one = ig_float(1);
    ig_dtype dtype;
    if (special_floats(op, x, 2, &dtype) != IG_OK)
        return 0;
    ig_array *is_none = ig_logical_and(special_is(x[0], 0), special_not_below(x[1], 0));
    ig_array *is_out = ig_logical_or(special_below(x[0], 0), ig_less_equal(x[1], zero));
    is_out = ig_logical_and(is_out, ig_logical_not(ig_isnan(ig_add(x[0], x[1]))));
    ig_array *is_number = ig_logical_or(is_none, is_out);
    ig_array *p = ig_where(is_number, one, x[0]), *q = ig_where(is_number, one, x[1]);
    ig_array *ratio = ig_divide(p, q);
    /* A ratio that is 0, infinite or not normal: logarithms of both. */
    const double least = special_is_f64(p) ? 0x1p-1000 : 0x1p-120;
    ig_array *is_fine =
        ig_logical_and(special_not_below(ratio, least), special_below(ratio, 1 / least));
    ig_array *gap =
        ig_where(is_fine, ig_log(ig_where(is_fine, ratio, one)), ig_subtract(ig_log(p), ig_log(q)));
    ig_array *y = ig_where(is_out, ig_float(INFINITY), ig_multiply(p, gap));
    return composite_result(out, ig_where(is_none, zero, y), dtype);
}

BUILDER(error_family)
{
    ig_array *x = args[0].u.array;
    ig_dtype dtype;
    if (composite_floats(op, &x, 1, &dtype) != IG_OK)
        return 0;
    ig_array *y = op == OP_erfc       ? erfc_of(x)
                  : op == OP_erfcx    ? erfcx(x)
                  : op == OP_ndtr     ? ndtr_of(x)
                  : op == OP_ndtri    ? ndtri_of(x)
                  : op == OP_log_ndtr ? log_ndtr_of(x)
                  : op == OP_logit    ? logit_of(x)
                                      : entr_of(x);
    return composite_result(out, y, dtype);
}
