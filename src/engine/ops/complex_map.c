/* Elementwise ops of complex arrays, as formulas of their parts. Infinities, NaN and signed zeros follow Annex G of the
 * C standard where a formula gives that by itself or at the price of a select; products and quotients are NumPy's. A
 * real operand stays real: x * z multiplies both parts by x, so infinities make no NaN in the other part. */
#include "engine/ops/complex.h"
#include "base/error.h"
#include "engine/ops/builders.h"
#include <math.h>
#include <stdlib.h>

/* ---- shorthand: all pass NULL on ---- */

static ig_array *num(const ig_array *like, double value) { return build_beside(like, value); }
static ig_array *add(ig_array *a, ig_array *b) { return ig_add(a, b); }
static ig_array *sub(ig_array *a, ig_array *b) { return ig_subtract(a, b); }
static ig_array *mul(ig_array *a, ig_array *b) { return ig_multiply(a, b); }
static ig_array *quo(ig_array *a, ig_array *b) { return ig_divide(a, b); }
static ig_array *neg(ig_array *a) { return ig_negative(a); }
static ig_array *times(ig_array *a, double f) { return mul(a, num(a, f)); }
static ig_array *plus(ig_array *a, double f) { return add(a, num(a, f)); }
static ig_array *is_zero(ig_array *a) { return ig_equal(a, num(a, 0)); }
static ig_array *choose(ig_array *c, ig_array *a, ig_array *b) { return ig_where(c, a, b); }
static pair pick(ig_array *c, pair a, pair b)
{
    return (pair){choose(c, a.re, b.re), choose(c, a.im, b.im)};
}

/* i z and -i z. */
static pair turned(pair z) { return (pair){neg(z.im), z.re}; }
static pair turned_back(pair z) { return (pair){z.im, neg(z.re)}; }
static pair conjugate(pair z) { return (pair){z.re, neg(z.im)}; }
static pair scaled(pair z, double f) { return (pair){times(z.re, f), times(z.im, f)}; }

static ig_array *is_endless(pair z) { return ig_logical_or(ig_isinf(z.re), ig_isinf(z.im)); }

/* ---- arithmetic ---- */

static pair c_add(pair a, pair b) { return (pair){add(a.re, b.re), add(a.im, b.im)}; }
static pair c_subtract(pair a, pair b) { return (pair){sub(a.re, b.re), sub(a.im, b.im)}; }
static pair c_negative(pair z) { return (pair){neg(z.re), neg(z.im)}; }
static pair c_positive(pair z) { return z; }

static pair c_multiply(pair a, pair b)
{
    return (pair){sub(mul(a.re, b.re), mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
}

static pair c_square(pair z)
{
    ig_array *both = mul(z.re, z.im);
    return (pair){plus(mul(sub(z.re, z.im), add(z.re, z.im)), 0),
                  add(both, both)}; /* -0 + 0 is 0 */
}

/* Where the modulus of z, or a square of it, would lose digits below the normal numbers (up) or overflow (down). */
typedef struct extremes {
    ig_array *up, *down;
} extremes;

static extremes extremes_of(pair z)
{
    const bool wide = ig_dtype_of(z.re) == IG_F64;
    ig_array *most = ig_maximum(ig_abs(z.re), ig_abs(z.im));
    return (extremes){ig_less(most, num(most, wide ? 0x1p-960 : 0x1p-96)),
                      ig_greater(most, num(most, wide ? 0x1p1020 : 0x1p124))};
}

/* A power of 2 that moves z away from them; with back, its reciprocal. */
static ig_array *factor_of(extremes e, pair z, bool back)
{
    const double up = ig_dtype_of(z.re) == IG_F64 ? 0x1p200 : 0x1p60, down = 0.25;
    ig_array *large = num(z.re, back ? 1 / down : down), *small = num(z.re, back ? 1 / up : up);
    return choose(e.up, small, choose(e.down, large, num(z.re, 1)));
}

static pair stretched(pair z, ig_array *by) { return (pair){mul(z.re, by), mul(z.im, by)}; }
static pair pulled_in(extremes e, pair z) { return stretched(z, factor_of(e, z, false)); }

/* The divisor is scaled by its larger part, so that its square neither overflows nor underflows. */
static pair c_divide(pair a, pair b)
{
    const extremes above = extremes_of(a), below = extremes_of(b);
    ig_array *back[2] = {factor_of(below, b, false), factor_of(above, a, true)};
    a = pulled_in(above, a);
    b = pulled_in(below, b);
    ig_array *wide = ig_greater_equal(ig_abs(b.re), ig_abs(b.im));
    ig_array *large = choose(wide, b.re, b.im), *small = choose(wide, b.im, b.re);
    ig_array *ratio = quo(small, choose(is_zero(large), num(large, 1), large));
    ig_array *divisor = add(large, mul(small, ratio));
    ig_array *p = choose(wide, a.re, a.im), *q = choose(wide, a.im, a.re);
    ig_array *re = quo(add(p, mul(q, ratio)), divisor);
    ig_array *im = quo(choose(wide, sub(q, mul(p, ratio)), sub(mul(p, ratio), q)), divisor);
    /* Both infinite: the ratio is NaN. The result is 0 for a finite dividend. */
    ig_array *endless =
        ig_logical_and(is_endless(b), ig_logical_and(ig_isfinite(a.re), ig_isfinite(a.im)));
    const pair y = stretched(stretched((pair){re, im}, back[0]), back[1]);
    return pick(endless, (pair){num(re, 0), num(im, 0)}, y);
}

static pair c_reciprocal(pair z)
{
    ig_array *factor = factor_of(extremes_of(z), z, false);
    z = stretched(z, factor);
    ig_array *wide = ig_greater_equal(ig_abs(z.re), ig_abs(z.im));
    ig_array *large = choose(wide, z.re, z.im), *small = choose(wide, z.im, z.re);
    ig_array *ratio = quo(small, choose(is_zero(large), num(large, 1), large));
    ig_array *divisor = add(large, mul(small, ratio)), *one = ig_reciprocal(divisor);
    ig_array *other = quo(ratio, divisor);
    const pair y =
        stretched((pair){choose(wide, one, other), neg(choose(wide, other, one))}, factor);
    return pick(is_endless(z),
                (pair){ig_copysign(num(one, 0), z.re), ig_copysign(num(one, 0), neg(z.im))}, y);
}

static ig_array *modulus(pair z) { return ig_hypot(z.re, z.im); }

/* z / |z|, and 0 for 0. Where a part is infinite, the finite one counts as 0. */
static pair c_sign(pair z)
{
    const pair far = {choose(ig_isinf(z.re), ig_sign(z.re), num(z.re, 0)),
                      choose(ig_isinf(z.im), ig_sign(z.im), num(z.im, 0))};
    z = pick(is_endless(z), far, z);
    z = pulled_in(extremes_of(z), z);
    ig_array *size = modulus(z), *zero = is_zero(size);
    ig_array *safe = choose(zero, num(size, 1), size);
    return (pair){choose(zero, num(size, 0), quo(z.re, safe)),
                  choose(zero, num(size, 0), quo(z.im, safe))};
}

/* ---- exponentials and logarithms ---- */

/* f * g, where 0 times an infinity or NaN is that 0. */
static ig_array *mul_zero(ig_array *f, ig_array *g)
{
    ig_array *product = mul(f, g), *lost = ig_isnan(product);
    product = choose(ig_logical_and(lost, is_zero(f)), f, product);
    return choose(ig_logical_and(lost, is_zero(g)), g, product);
}

/* scale f(x) (cos + i sin), where f is exp or exp2. cos and sin belong to an angle that is finite where y is. f is
 * computed in two factors where it alone would overflow. */
static pair polar_of(ig_array *(*f)(ig_array *), double scale, ig_array *x, ig_array *y,
                     ig_array *cosine, ig_array *sine)
{
    const double step = ig_dtype_of(x) == IG_F64 ? 512 : 64;
    ig_array *far = ig_greater(x, num(x, step + 20));
    ig_array *head = f(choose(far, sub(x, num(x, step)), x));
    ig_array *tail =
        choose(far, num(x, scale * (f == ig_exp ? exp(step) : exp2(step))), num(x, scale));
    pair z = {mul(mul_zero(head, cosine), tail), mul(mul_zero(head, sine), tail)};
    /* exp(-inf) is 0 in any direction. exp(inf) in no direction is infinite, its direction is not known. */
    ig_array *nowhere = ig_logical_not(ig_isfinite(y));
    ig_array *low = ig_logical_and(ig_equal(x, num(x, -INFINITY)), nowhere);
    ig_array *high = ig_logical_and(ig_equal(x, num(x, INFINITY)), nowhere);
    ig_array *lost = ig_logical_and(ig_isfinite(x), nowhere); /* also where exp(x) is 0 */
    z = pick(lost, (pair){num(x, NAN), num(x, NAN)}, z);
    z = pick(high, (pair){num(x, INFINITY), num(x, NAN)}, z);
    return pick(low, (pair){num(x, 0), num(x, 0)}, z);
}

static pair polar(double scale, ig_array *x, ig_array *y)
{
    return polar_of(ig_exp, scale, x, y, ig_cos(y), ig_sin(y));
}

static pair c_exp(pair z) { return polar(1, z.re, z.im); }

/* The upper half of the digits of x, by Veltkamp; the rest is exact. */
static ig_array *upper_half(ig_array *x)
{
    ig_array *many = times(x, ig_dtype_of(x) == IG_F64 ? 0x1p27 + 1 : 0x1p12 + 1);
    return sub(many, sub(many, x));
}

/* The rounding error of the product p = x y, by Dekker. */
static ig_array *product_error(ig_array *p, ig_array *x, ig_array *y)
{
    ig_array *xh = upper_half(x), *yh = upper_half(y), *xl = sub(x, xh), *yl = sub(y, yh);
    return add(add(add(sub(mul(xh, yh), p), mul(xh, yl)), mul(xl, yh)), mul(xl, yl));
}

/* The angle y log(2) is a sum of two numbers, so a large y keeps its digits: the digits of log(2) suffice up to 2^20. */
static pair c_exp2(pair z)
{
    ig_array *y = z.im;
    const bool wide = ig_dtype_of(y) == IG_F64;
    const double head = wide ? M_LN2 : (double)(float)M_LN2;
    const double tail = wide ? 0x1.abc9e3b39803fp-56 : M_LN2 - head;
    ig_array *angle = times(y, head);
    ig_array *rest = add(product_error(angle, y, num(y, head)), times(y, tail));
    rest = choose(ig_less(ig_abs(y), num(y, 0x1p40)), rest, num(y, 0));
    ig_array *c = ig_cos(angle), *s = ig_sin(angle), *turn[2] = {ig_cos(rest), ig_sin(rest)};
    ig_array *cosine = sub(mul(c, turn[0]), mul(s, turn[1]));
    ig_array *sine = add(mul(s, turn[0]), mul(c, turn[1]));
    /* A tiny angle would lose digits below the normal numbers: its sine is multiplied by a power of 2 first. */
    const double up = wide ? 0x1p500 : 0x1p50;
    ig_array *tiny = ig_less(ig_abs(y), num(y, wide ? 0x1p-600 : 0x1p-60));
    sine = choose(tiny, times(times(y, up), head), sine);
    z = polar_of(ig_exp2, 1, z.re, y, cosine, sine);
    return (pair){z.re, choose(tiny, times(z.im, 1 / up), z.im)};
}

/* exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y / 2)^2. */
static pair c_expm1(pair z)
{
    ig_array *half = ig_sin(times(z.im, 0.5));
    ig_array *re = sub(mul(ig_expm1(z.re), ig_cos(z.im)), times(ig_square(half), 2));
    const pair whole = c_exp(z);
    /* + 0: the standard has expm1(-0 + 0i) = 0. */
    return (pair){choose(ig_isfinite(re), plus(re, 0), sub(whole.re, num(re, 1))), whole.im};
}

/* |1 + x + i y|^2 - 1 = 2 x + x^2 + y^2, with the rounding errors of its terms added at the end, because the terms may
 * cancel. x and y are below 2^60. */
static ig_array *excess_of(ig_array *x, ig_array *y)
{
    ig_array *twice = add(x, x), *xx = ig_square(x), *yy = ig_square(y);
    ig_array *one = add(twice, yy), *back = sub(one, twice);
    ig_array *error = add(sub(twice, sub(one, back)), sub(yy, back));
    ig_array *two = add(one, xx);
    back = sub(two, one);
    error = add(error, add(sub(one, sub(two, back)), sub(xx, back)));
    return add(two, add(error, add(product_error(xx, x, x), product_error(yy, y, y))));
}

/* log |z|. Near the unit circle it is computed from |z|^2 - 1. */
static ig_array *log_modulus(pair z)
{
    ig_array *a = ig_abs(z.re), *b = ig_abs(z.im);
    ig_array *large = ig_maximum(a, b), *small = ig_minimum(a, b);
    ig_array *near =
        ig_logical_and(ig_greater(large, num(large, 0.5)), ig_less(large, num(large, 2)));
    ig_array *excess = excess_of(plus(large, -1), small);
    const extremes e = extremes_of(z);
    const double up = ig_dtype_of(a) == IG_F64 ? 200 : 60;
    ig_array *moved =
        choose(e.up, num(a, -up * M_LN2), choose(e.down, num(a, 2 * M_LN2), num(a, 0)));
    ig_array *far = add(ig_log(modulus(pulled_in(e, z))), moved);
    return choose(near, times(ig_log1p(excess), 0.5), far);
}

static pair c_log(pair z) { return (pair){log_modulus(z), ig_atan2(z.im, z.re)}; }
static pair c_log2(pair z) { return scaled(c_log(z), M_LOG2E); }
static pair c_log10(pair z) { return scaled(c_log(z), M_LOG10E); }

/* Near -1 the sum 1 + x is exact, and near 0 and on the unit circle around -1 its rounding is not used. */
static pair c_log1p(pair z)
{
    ig_array *excess = excess_of(z.re, z.im), *most = ig_maximum(ig_abs(z.re), ig_abs(z.im));
    ig_array *near =
        ig_logical_and(ig_less(most, num(most, 2.5)), ig_greater(excess, num(most, -0.75)));
    const pair one = {plus(z.re, 1), z.im};
    return (pair){choose(near, times(ig_log1p(excess), 0.5), log_modulus(one)),
                  ig_atan2(one.im, one.re)};
}

/* The root with a real part that is not negative. z is scaled so that neither |z| overflows nor its parts are lost. */
static pair c_sqrt(pair z)
{
    const extremes e = extremes_of(z);
    const pair in = pulled_in(e, z);
    ig_array *x = in.re, *y = in.im, *up = num(x, ig_dtype_of(x) == IG_F64 ? 0x1p-100 : 0x1p-30);
    ig_array *back = choose(e.up, up, choose(e.down, num(x, 2), num(x, 1)));
    ig_array *t = ig_sqrt(times(add(ig_abs(x), ig_hypot(x, y)), 0.5));
    ig_array *zero = is_zero(t), *safe = choose(zero, num(t, 1), t);
    ig_array *s = choose(zero, ig_abs(y), quo(ig_abs(y), times(safe, 2)));
    ig_array *left = ig_signbit(x);
    ig_array *re = mul(choose(left, s, t), back),
             *im = ig_copysign(mul(choose(left, t, s), back), z.im);
    re = choose(zero, num(re, 0), re);
    im = choose(zero, z.im, im);
    /* An infinite imaginary part decides; then an infinite real part. */
    ig_array *endless = ig_isinf(z.re), *still = ig_logical_and(endless, ig_isfinite(z.im));
    im = choose(still,
                choose(left, ig_copysign(num(im, INFINITY), z.im), ig_copysign(num(im, 0), z.im)),
                im);
    re = choose(still, choose(left, num(re, 0), num(re, INFINITY)), re);
    return pick(ig_isinf(z.im), (pair){num(re, INFINITY), z.im}, (pair){re, im});
}

static pair c_rsqrt(pair z) { return c_reciprocal(c_sqrt(z)); }

/* exp(b log a); a to the power 0 is 1, 0 to a power with a positive real part is 0. */
static pair c_pow(pair a, pair b)
{
    ig_array *none = ig_logical_and(is_zero(a.re), is_zero(a.im));
    ig_array *unit = ig_logical_and(is_zero(b.re), is_zero(b.im));
    const pair safe = pick(none, (pair){num(a.re, 1), num(a.re, 0)}, a);
    pair y = c_exp(c_multiply(b, c_log(safe)));
    ig_array *up = ig_logical_and(none, ig_greater(b.re, num(b.re, 0)));
    y = pick(none, (pair){num(y.re, NAN), num(y.re, NAN)}, y);
    y = pick(up, (pair){num(y.re, 0), num(y.re, 0)}, y);
    return pick(unit, (pair){num(y.re, 1), num(y.re, 0)}, y);
}

/* ---- hyperbolic and trigonometric functions ---- */

/* sinh and cosh of z. Far out both are exp(|x|) / 2, which polar computes without overflow. */
static pair c_sinh(pair z)
{
    ig_array *far = ig_greater(ig_abs(z.re), num(z.re, 40));
    const pair e = polar(0.5, ig_abs(z.re), z.im);
    ig_array *re = mul_zero(ig_sinh(z.re), ig_cos(z.im));
    ig_array *im = mul_zero(ig_cosh(z.re), ig_sin(z.im));
    return pick(far, (pair){mul(e.re, ig_sign(z.re)), e.im}, (pair){re, im});
}

static pair c_cosh(pair z)
{
    ig_array *far = ig_greater(ig_abs(z.re), num(z.re, 40));
    const pair e = polar(0.5, ig_abs(z.re), z.im);
    ig_array *re = mul_zero(ig_cosh(z.re), ig_cos(z.im));
    ig_array *im = mul_zero(ig_sin(z.im), ig_sinh(z.re));
    return pick(far, (pair){e.re, mul(e.im, ig_sign(z.re))}, (pair){re, im});
}

/* By Kahan: with t = tan(y), b = 1 + t^2, s = sinh(x): (b s sqrt(1 + s^2) + i t) / (1 + b s^2). Where s^2 would be
 * too large, the real part is 1 and the imaginary part vanishes. */
static pair c_tanh(pair z)
{
    ig_array *x = z.re, *y = z.im,
             *far = ig_greater(ig_abs(x), num(x, ig_dtype_of(x) == IG_F64 ? 20 : 10));
    ig_array *t = ig_tan(y), *b = plus(ig_square(t), 1), *s = ig_sinh(choose(far, num(x, 0), x));
    ig_array *divisor = plus(mul(b, ig_square(s)), 1);
    ig_array *re = quo(mul(mul(b, s), ig_sqrt(plus(ig_square(s), 1))), divisor),
             *im = quo(t, divisor);
    /* tan is infinite nowhere in floating point, but its square may be. */
    ig_array *pole = ig_isinf(b);
    re = choose(pole, quo(ig_sqrt(plus(ig_square(s), 1)), choose(is_zero(s), num(s, 1), s)), re);
    im = choose(pole, quo(num(t, 1), mul(t, choose(is_zero(s), num(s, 1), ig_square(s)))), im);
    ig_array *small = times(mul(mul(ig_sin(y), ig_cos(y)), ig_exp(times(ig_abs(x), -2))), 4);
    small = choose(ig_isinf(x), ig_copysign(num(x, 0), y), small);
    ig_array *lost = ig_logical_and(ig_isfinite(x), ig_logical_not(ig_isfinite(y)));
    re = choose(is_zero(x), x, re);
    im = choose(is_zero(y), y, im);
    return pick(far, (pair){choose(lost, num(x, NAN), ig_sign(x)), small}, (pair){re, im});
}

static pair c_sin(pair z) { return turned_back(c_sinh(turned(z))); }
static pair c_cos(pair z) { return c_cosh(turned(z)); }
static pair c_tan(pair z) { return turned_back(c_tanh(turned(z))); }

/* By Kahan, from the roots of 1 - z and 1 + z, which keep the sides of the cuts apart. */
static pair root_of(pair z, double sign)
{
    return c_sqrt((pair){plus(times(z.re, sign), 1), times(z.im, sign)});
}

/* Where 1 + z is z, so that asin, acos and acosh are made of log(2 |z|) and an angle. */
static ig_array *is_far(pair z)
{
    ig_array *most = ig_maximum(ig_abs(z.re), ig_abs(z.im));
    return ig_logical_or(is_endless(z), ig_greater(most, num(most, 0x1p60)));
}

static ig_array *log_twice(pair z) { return plus(log_modulus(z), M_LN2); }

static pair c_asin(pair z)
{
    const pair low = root_of(z, -1), high = root_of(z, 1);
    const pair y = {choose(is_zero(z.re), z.re, ig_atan2(z.re, c_multiply(low, high).re)),
                    ig_asinh(c_multiply(conjugate(low), high).im)};
    const pair away = {ig_atan2(z.re, ig_abs(z.im)), ig_copysign(log_twice(z), z.im)};
    return pick(is_far(z), away, y);
}

static pair c_acos(pair z)
{
    const pair low = root_of(z, -1), high = root_of(z, 1);
    const pair y = {choose(is_zero(z.re), num(z.re, M_PI_2), times(ig_atan2(low.re, high.re), 2)),
                    ig_asinh(c_multiply(conjugate(high), low).im)};
    const pair away = {ig_atan2(ig_abs(z.im), z.re), neg(ig_copysign(log_twice(z), z.im))};
    return pick(is_far(z), away, y);
}

static pair c_acosh(pair z)
{
    const pair low = c_sqrt((pair){plus(z.re, -1), z.im}), high = root_of(z, 1);
    const pair y = {ig_asinh(c_multiply(conjugate(low), high).re),
                    choose(is_zero(z.re), ig_copysign(num(z.im, M_PI_2), z.im),
                           times(ig_atan2(low.im, high.re), 2))};
    return pick(is_far(z), (pair){log_twice(z), ig_atan2(z.im, z.re)}, y);
}

static pair c_asinh(pair z) { return turned_back(c_asin(turned(z))); }

/* log1p(4 x / ((1 - x)^2 + y^2)) / 4 + i atan2(2 y, (1 - x) (1 + x) - y^2) / 2. Close to 1, where squares would
 * underflow, the real part is log(|1 + z| / |1 - z|) / 2. Where squares would overflow, it is 1 / z and a right angle. */
static pair c_atanh(pair z)
{
    const double limit = ig_dtype_of(z.re) == IG_F64 ? 0x1p500 : 0x1p60;
    ig_array *far = ig_logical_or(ig_greater(ig_abs(z.re), num(z.re, limit)),
                                  ig_greater(ig_abs(z.im), num(z.im, limit)));
    ig_array *x = choose(far, num(z.re, 0), ig_abs(z.re)), *y = choose(far, num(z.im, 0), z.im);
    ig_array *below = sub(num(x, 1), x), *square = ig_square(y);
    ig_array *re = times(ig_log1p(quo(times(x, 4), add(ig_square(below), square))), 0.25);
    ig_array *apart = ig_hypot(below, y), *close = ig_less(apart, num(x, 0x1p-10));
    ig_array *logs = sub(ig_log(ig_hypot(plus(x, 1), y)), ig_log(choose(close, apart, num(x, 1))));
    re = choose(close, times(logs, 0.5), re);
    ig_array *im = times(ig_atan2(times(y, 2), sub(mul(below, plus(x, 1)), square)), 0.5);
    ig_array *lost = ig_logical_and(ig_isnan(z.re), ig_isfinite(z.im));
    ig_array *right = choose(lost, num(im, NAN), ig_copysign(num(im, M_PI_2), z.im));
    const pair away = {ig_abs(c_reciprocal(z).re), choose(ig_isnan(z.im), z.im, right)};
    const pair w = pick(far, away, (pair){re, im});
    /* The function is odd in x; the angle has the sign of y. */
    return (pair){choose(is_zero(z.re), z.re, ig_copysign(w.re, z.re)),
                  choose(is_zero(z.im), ig_copysign(ig_abs(w.im), z.im), w.im)};
}

static pair c_atan(pair z) { return turned_back(c_atanh(turned(z))); }

static pair c_round(pair z) { return (pair){ig_round(z.re), ig_round(z.im)}; }

/* 1 / (1 + e) for x >= 0, else e / (1 + e), with e = exp(-|x| -+ i y): nothing overflows. Between its poles, where
 * 1 + e cancels, it is (1 + tanh(z / 2)) / 2. */
static pair c_sigmoid(pair z)
{
    ig_array *left = ig_less(z.re, num(z.re, 0));
    const pair e = polar(1, neg(ig_abs(z.re)), choose(left, z.im, neg(z.im)));
    const pair below = {plus(e.re, 1), e.im}, tanh = c_tanh(scaled(z, 0.5));
    const pair y = c_divide(pick(left, e, (pair){num(e.re, 1), num(e.re, 0)}), below);
    ig_array *near = ig_less(ig_abs(z.re), num(z.re, 1));
    return pick(near, scaled((pair){plus(tanh.re, 1), tanh.im}, 0.5), y);
}

/* ---- results that are not complex ---- */

static ig_array *r_abs(pair z) { return modulus(z); }
static ig_array *r_isnan(pair z) { return ig_logical_or(ig_isnan(z.re), ig_isnan(z.im)); }
static ig_array *r_isinf(pair z) { return ig_logical_or(ig_isinf(z.re), ig_isinf(z.im)); }
static ig_array *r_isfinite(pair z) { return ig_logical_and(ig_isfinite(z.re), ig_isfinite(z.im)); }
static ig_array *r_logical_not(pair z) { return ig_logical_and(is_zero(z.re), is_zero(z.im)); }
static ig_array *r_equal(pair a, pair b)
{
    return ig_logical_and(ig_equal(a.re, b.re), ig_equal(a.im, b.im));
}
static ig_array *r_not_equal(pair a, pair b) { return ig_logical_not(r_equal(a, b)); }

/* ---- the table ---- */

/* The formula of a row: one of the four. */
typedef struct formula {
    pair (*one)(pair z);
    pair (*two)(pair a, pair b);
    ig_array *(*real_one)(pair z);
    ig_array *(*real_two)(pair a, pair b);
} formula;

#define ONE(name) [OP_##name] = {.one = c_##name}
#define TWO(name) [OP_##name] = {.two = c_##name}
#define REAL_ONE(name) [OP_##name] = {.real_one = r_##name}
#define REAL_TWO(name) [OP_##name] = {.real_two = r_##name}

static const formula formulas[OP_CORE_COUNT] = {
    REAL_ONE(abs),
    ONE(acos),
    ONE(acosh),
    TWO(add),
    ONE(asin),
    ONE(asinh),
    ONE(atan),
    ONE(atanh),
    ONE(cos),
    ONE(cosh),
    TWO(divide),
    REAL_TWO(equal),
    ONE(exp),
    ONE(exp2),
    ONE(expm1),
    REAL_ONE(isfinite),
    REAL_ONE(isinf),
    REAL_ONE(isnan),
    ONE(log),
    ONE(log10),
    ONE(log1p),
    ONE(log2),
    REAL_ONE(logical_not),
    TWO(multiply),
    ONE(negative),
    REAL_TWO(not_equal),
    ONE(positive),
    TWO(pow),
    ONE(reciprocal),
    ONE(round),
    ONE(rsqrt),
    ONE(sigmoid),
    ONE(sign),
    ONE(sin),
    ONE(sinh),
    ONE(sqrt),
    ONE(square),
    TWO(subtract),
    ONE(tan),
    ONE(tanh),
};

/* The integer that x is, if it is a small one that is known now; else 0. */
static int small_power(const ig_array *x)
{
    const void *value = array_is_complex(x) ? NULL : array_number_of(x);
    const double n = value ? dtype_fetch((ig_dtype)x->dtype, value) : 0;
    return n == floor(n) && fabs(n) <= 32 ? (int)n : 0;
}

/* z to the power n by squaring, so that whole results are exact. */
static pair power(pair z, int n)
{
    pair y = {NULL, NULL};
    for (int left = abs(n); left; left >>= 1) {
        if (left & 1)
            y = y.re ? c_multiply(y, z) : z;
        z = left > 1 ? c_square(z) : z;
    }
    return n < 0 ? c_reciprocal(y) : y;
}

/* Products and quotients by a real array, and sums with one: the other part is not touched. */
static bool with_real(op_id op, ig_array *const *x, pair *y)
{
    const bool first = array_is_complex(x[0]), second = array_is_complex(x[1]);
    if (first && second)
        return false;
    const pair z = complex_parts(x[first ? 0 : 1]);
    ig_array *r = x[first ? 1 : 0];
    if (op == OP_multiply)
        *y = (pair){mul(z.re, r), mul(z.im, r)};
    else if (op == OP_divide && first)
        *y = (pair){quo(z.re, r), quo(z.im, r)};
    else
        return false;
    return true;
}

/* logical_and and the like convert to bool first. */
static ig_array *truth(ig_array *x)
{
    return array_is_complex(x) ? ig_logical_not(r_logical_not(complex_parts(x)))
                               : build_cast(x, IG_BOOL);
}

static ig_array *weakened(ig_array *x, bool weak)
{
    if (x)
        x->weak = weak;
    return x;
}

int complex_map(op_id op, ig_array *const *x, ig_array **out)
{
    const op_row *row = &op_rows[op];
    const formula *f = &formulas[op];
    ig_dtype dtype;
    ig_array *in[2] = {x[0], x[row->arity - 1]};
    pair y;
    if (row->accepts == ACCEPTS_BOOL && row->arity == 2)
        return op_one(out,
                      build_map(op, IG_BOOL, (ig_array *const[]){truth(x[0]), truth(x[1])}, 2));
    if (!f->one && !f->two && !f->real_one && !f->real_two)
        FAIL_NONE(IG_ERR_DTYPE, "%s does not take complex numbers%s", row->name,
                  row->accepts == ACCEPTS_ANY || row->accepts == ACCEPTS_NUM
                      ? ": they have no order; compare abs(x), or real(x)"
                      : "; give it real(x), imag(x) or abs(x)");
    if (infer_dtype(op, in, row->arity, &dtype) != IG_OK)
        return 0;
    const bool weak = in[0]->weak && in[1]->weak; /* 1 + 2j adapts to arrays, too */
    if (weak)
        dtype = IG_C128;
    for (int i = 0; i < row->arity; i++)
        if (!(in[i] = build_cast(in[i], array_is_complex(in[i]) ? dtype : dtype_part(dtype))))
            return 0;
    const int n = op == OP_pow ? small_power(x[1]) : 0;
    if (n)
        return op_one(out, weakened(complex_make(power(complex_parts(in[0]), n)), weak));
    if (row->arity == 2 && with_real(op, in, &y))
        return op_one(out, weakened(complex_make(y), weak));
    const pair a = complex_parts(in[0]), b = row->arity == 2 ? complex_parts(in[1]) : a;
    if (f->real_one || f->real_two)
        return op_one(out, f->real_one ? f->real_one(a) : f->real_two(a, b));
    return op_one(out, weakened(complex_make(f->one ? f->one(a) : f->two(a, b)), weak));
}
