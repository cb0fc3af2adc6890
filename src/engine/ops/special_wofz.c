/* Builder of the Faddeeva function. */
#include "engine/ops/complex.h"
#include "engine/ops/special.h"

/* For Im(z) >= 0, w(z) is 2 p(Z) / (L - iz)^2 + 1 / (sqrt(pi) (L - iz)), where Z = (L + iz) / (L - iz) and |Z| <= 1. The
 * coefficients of p are the Fourier coefficients of exp(-t^2) (L^2 + t^2), t = L tan(angle / 2); L is sqrt(n / sqrt(2)) for
 * n coefficients. */
static const double series_f64[40] = {
    2.8996245093897053,      2.61605415276186,        2.201513794878312,
    1.7253830848179779,      1.2563815675765133,      0.8472174576593818,
    0.5266528988277086,      0.29989437996150065,     0.15504263802479495,
    0.07182361779074337,     0.029202916471241867,    0.010048186242783424,
    0.0027054056330737914,   0.0004398070159869668,   -3.939363145489569e-05,
    -5.591309264248318e-05,  -1.8007447144750956e-05, -1.0660138984947143e-06,
    1.483566113220078e-06,   5.912136951899494e-07,   1.4198642399935674e-08,
    -6.35177348504429e-08,   -1.8315616783040462e-08, 3.2497465180436973e-09,
    3.0177805400090707e-09,  2.1086006347066517e-10,  -3.5632339865976533e-10,
    -9.055124450928292e-11,  3.47272670930455e-11,    1.7714495214011192e-11,
    -2.7276023158200452e-12, -2.907688342182867e-12,  1.2031458219387989e-13,
    4.5329666782606727e-13,  1.37256205867155e-14,    -7.074086260286855e-14,
    -5.409310282882142e-15,  1.1357687198999241e-14,  1.128073562364402e-15,
    -1.899694947394927e-15};

static const double series_f32[18] = {
    1.8704038646494756,      1.4967586587401749,      1.0223423422296651,
    0.5854928421371655,      0.2716562242139772,      0.09479771920168859,
    0.019773341033423545,    -0.0009918683820509147,  -0.0023240870310292676,
    -0.0005709172642020883,  0.00013010203591172392,  9.872402635975524e-05,
    -1.0106644125623642e-07, -1.3755428151766495e-05, -1.4450374434502039e-06,
    1.9824809529409054e-06,  3.2036198965409584e-07,  -3.1869321153067017e-07};

static const double ONE_SQRTPI = 0.56418958354775628695;

static pair times(pair a, pair b)
{
    return (pair){ig_subtract(ig_multiply(a.re, b.re), ig_multiply(a.im, b.im)),
                  ig_add(ig_multiply(a.re, b.im), ig_multiply(a.im, b.re))};
}

static pair choose(ig_array *which, pair a, pair b)
{
    return (pair){ig_where(which, a.re, b.re), ig_where(which, a.im, b.im)};
}

/* 1 / z, where |z|^2 does not overflow. */
static pair inverse(pair z)
{
    ig_array *square = ig_add(ig_square(z.re), ig_square(z.im));
    return (pair){ig_divide(z.re, square), ig_negative(ig_divide(z.im, square))};
}

static pair near_of(pair z)
{
    const bool wide = special_is_f64(z.re);
    const double *series = wide ? series_f64 : series_f32;
    const int n = wide ? 40 : 18;
    const double length = sqrt(n / M_SQRT2);
    const pair v = inverse((pair){ig_plus(z.im, length), ig_negative(z.re)});
    const pair t = times((pair){ig_subtract(ig_float(length), z.im), z.re}, v);
    pair p = {build_beside(z.re, series[n - 1]), build_beside(z.re, 0)};
    for (int i = n - 2; i >= 0; i--) {
        p = times(p, t);
        p.re = ig_plus(p.re, series[i]);
    }
    p = times(p, v);
    return times((pair){ig_plus(ig_times(p.re, 2), ONE_SQRTPI), ig_times(p.im, 2)}, v);
}

/* i / (sqrt(pi) z), for a large z: both parts are divided by the larger one first. */
static pair far_of(pair z)
{
    ig_array *most = ig_maximum(ig_abs(z.re), ig_abs(z.im)), *is_end = ig_isinf(most);
    most = ig_where(ig_logical_or(is_end, special_is(most, 0)), ig_float(1), most);
    pair v = inverse((pair){ig_divide(z.re, most), ig_divide(z.im, most)});
    ig_array *scale = ig_where(is_end, ig_float(0), special_over(ONE_SQRTPI, most));
    v = choose(is_end, (pair){ig_float(0), ig_float(0)}, v);
    return (pair){ig_negative(ig_multiply(v.im, scale)), ig_multiply(v.re, scale)};
}

/* exp(-z^2) times 2; its imaginary part is 0 where the angle is, though the length may overflow. */
static pair gauss_of(pair z)
{
    ig_array *power = ig_multiply(ig_subtract(z.im, z.re), ig_add(z.im, z.re));
    ig_array *length = ig_times(ig_exp(power), 2);
    ig_array *angle = ig_times(ig_multiply(z.re, z.im), -2), *sine = ig_sin(angle);
    return (pair){ig_multiply(length, ig_cos(angle)),
                  ig_where(special_is(sine, 0), sine, ig_multiply(length, sine))};
}

/* Below the real axis, 2 exp(-z^2) - w(-z). */
static pair plain_of(pair z)
{
    const double far_from = special_is_f64(z.re) ? 0x1p27 : 0x1p13;
    ig_array *is_below = special_below(z.im, 0);
    const pair up = choose(is_below, (pair){ig_negative(z.re), ig_negative(z.im)}, z);
    ig_array *is_far = ig_greater(ig_maximum(ig_abs(up.re), up.im), ig_float(far_from));
    const pair zero = {ig_float(0), ig_float(0)};
    const pair w = choose(is_far, far_of(up), near_of(choose(is_far, zero, up)));
    const pair more = gauss_of(choose(is_below, z, zero));
    return choose(is_below, (pair){ig_subtract(more.re, w.re), ig_subtract(more.im, w.im)}, w);
}

static pair wofz_of(pair z);

/* The derivative, 2 i / sqrt(pi) - 2 z w, which cancels for a large z: there -i / (sqrt(pi) z^2) (1 + 3 / (2 z^2) + ...). */
static pair slope(pair z)
{
    const double far_from = special_is_f64(z.re) ? 256 : 16;
    ig_array *is_far = special_not_below(ig_maximum(ig_abs(z.re), z.im), far_from);
    is_far = ig_logical_and(is_far, special_not_below(z.im, 0));
    const pair one = {build_beside(z.re, 1), build_beside(z.re, 0)};
    const pair product = times(choose(is_far, one, z), wofz_of(z));
    const pair near = {ig_times(product.re, -2), ig_plus(ig_times(product.im, -2), 2 * ONE_SQRTPI)};
    const pair over = inverse(choose(is_far, z, one)), square = times(over, over);
    pair sum = {ig_plus(ig_times(square.re, 3.75), 1.5), ig_times(square.im, 3.75)};
    sum = times(sum, square);
    sum = times((pair){ig_plus(sum.re, 1), sum.im}, square);
    const pair far = {ig_times(sum.im, ONE_SQRTPI), ig_times(sum.re, -ONE_SQRTPI)};
    return choose(is_far, far, near);
}

static ig_array *slope_along(ig_array *const *x, ig_array *y)
{
    return (void)y, slope((pair){x[0], x[1]}).re;
}

static ig_array *slope_turned(ig_array *const *x, ig_array *y)
{
    return (void)y, slope((pair){x[0], x[1]}).im;
}

static ig_array *slope_against(ig_array *const *x, ig_array *y)
{
    return ig_negative(slope_turned(x, y));
}

static pair wofz_of(pair z)
{
    static const special_slopes re = {{slope_along, slope_against}},
                                im = {{slope_turned, slope_along}};
    ig_array *const in[2] = {z.re, z.im};
    const pair w = plain_of(z);
    return (pair){special_with_slopes(w.re, in, 2, &re), special_with_slopes(w.im, in, 2, &im)};
}

BUILDER(wofz)
{
    const pair z = complex_parts(args[0].u.array);
    ig_array *in[2] = {z.re, z.im};
    ig_dtype dtype;
    if (special_floats(op, in, 2, &dtype) != IG_OK)
        return 0;
    return op_one(out, complex_make(wofz_of((pair){in[0], in[1]})));
}
