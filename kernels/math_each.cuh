/* The functions of math.cuh for one type. math.cuh includes it twice, for float and for double, and defines R
 * (the real type), U (the unsigned integer of its size), VM(name) and the constants of the type.
 *
 * Key invariants: functions are branch-free, except for those whose names end in _slow or _full; fused
 * multiply-adds are written; no constant has type double, because that would widen the float version. */

/* a where odd is 1, b where it is 0. */
static __device__ inline R VM(choose)(U odd, R a, R b)
{
    U mask = -odd;
    return VM(from_bits)((VM(bits)(a) & mask) | (VM(bits)(b) & ~mask));
}

/* cond ? a : b by masks. gcc turns two conditional expressions in a row into control flow, and the
 * negated comparisons it then needs take a dozen vector instructions; masks stay a select. */
static __device__ inline R VM(select)(int cond, R a, R b) { return VM(choose)((U)cond, a, b); }

/* ---- Exact operations ----------------------------------------------------------------------- */

static __device__ inline R VM(abs)(R x) { return VM(fabs)(x); }

static __device__ inline R VM(sign)(R x)
{
    const R zero = 0, one = 1;
    return VM(select)(x > zero, one, VM(select)(x < zero, -one, VM(select)(x == zero, zero, x)));
}

static __device__ inline int VM(signbit)(R x) { return (int)(VM(bits)(x) >> (8 * sizeof(R) - 1)); }
static __device__ inline int VM(isnan)(R x) { return x != x; }
static __device__ inline int VM(isinf)(R x) { return VM(fabs)(x) == VM(inf); }
static __device__ inline int VM(isfinite)(R x) { return VM(fabs)(x) < VM(inf); }

static __device__ inline R VM(reciprocal)(R x) { return 1 / x; }
static __device__ inline R VM(rsqrt)(R x) { return 1 / VM(sqrt)(x); }

#ifndef VM_HAS_EXTREMES
/* Equal arguments differ at most in the sign of zero: AND keeps +0, OR keeps -0. */
static __device__ inline R VM(maximum)(R x, R y)
{
    R same = VM(from_bits)(VM(bits)(x) & VM(bits)(y));
    R larger = VM(select)(x > y, x, y);
    R ordered = VM(select)(x == y, same, larger);
    return VM(select)(x != x, x, ordered);
}

static __device__ inline R VM(minimum)(R x, R y)
{
    R same = VM(from_bits)(VM(bits)(x) | VM(bits)(y));
    R smaller = VM(select)(x < y, x, y);
    R ordered = VM(select)(x == y, same, smaller);
    return VM(select)(x != x, x, ordered);
}
#endif

static __device__ inline R VM(nextafter)(R x, R y)
{
    const R zero = 0;
    U u = VM(bits)(x);
    R away = VM(from_bits)(u + 1), back = VM(from_bits)(u - 1);
    R step = VM(select)((x < y) == (x > zero), away, back);
    R from_zero = VM(copysign)(VM(from_bits)(1), y);
    R moved = VM(select)(x == zero, from_zero, step);
    R ordered = VM(select)(x == y, y, moved);
    return VM(select)((x != x) | (y != y), x + y, ordered);
}

/* The value that a fold begins with: joined with any x it gives x, to the last bit. */
static __device__ inline R VM(zero)(R x) { return (void)x, (R)-0.0f; }
static __device__ inline R VM(lowest)(R x) { return (void)x, -VM(inf); }
static __device__ inline R VM(highest)(R x) { return (void)x, VM(inf); }

/* ---- Exponential family --------------------------------------------------------------------- */

/* p * 2^k for |k| < 2*bias, rounded once. The low bits of n hold k + 2*bias, as the low bits of
 * VM(shift) + k do; half of that is the biased exponent of each of two factors. */
static __device__ inline R VM(scale)(R p, U n)
{
    U half = n >> 1;
    R first = VM(from_bits)(half << VM(mantissa));
    R second = VM(from_bits)((n - half) << VM(mantissa));
    return p * first * second;
}

/* 2^k for -bias < k <= bias; t is VM(biased) + k, so its low bits hold k + bias. */
static __device__ inline R VM(power)(R t) { return VM(from_bits)(VM(bits)(t) << VM(mantissa)); }

/* x = k*ln2 + r, |r| <= ln2/2; returns r, and shift + k through shifted. */
static __device__ inline R VM(exp_reduce)(R x, R shift, R *shifted)
{
    R t = VM(fma)(x, VM(log2e), shift);
    R k = t - shift;
    R r = VM(fma)(k, -VM(ln2_hi), x);
    *shifted = t;
    return VM(fma)(k, -VM(ln2_lo), r);
}

static __device__ inline R VM(exp_tail)(R r) { return VM(fma)(r * r, VM(poly_exp)(r), r); }

/* exp(x)*2^more where k + more stays within scale's reach. */
static __device__ inline R VM(exp_scaled)(R x, int more)
{
    R t;
    R r = VM(exp_reduce)(x, VM(shift), &t);
    return VM(scale)(1 + VM(exp_tail)(r), VM(bits)(t) + (U)more);
}

/* exp for |x| <= VM(exp_reach): the result is normal, so it is rounded as 1 + tail would be. */
static __device__ inline R VM(exp_near)(R x)
{
    R t;
    R r = VM(exp_reduce)(x, VM(biased), &t);
    R power = VM(power)(t);
    return VM(fma)(power, VM(exp_tail)(r), power);
}

static __device__ inline R VM(exp)(R x)
{
    R c = VM(select)(x > VM(exp_hi), VM(exp_hi), x);
    c = VM(select)(c < VM(exp_lo), VM(exp_lo), c);
    return VM(exp_scaled)(c, 0);
}

static __device__ inline R VM(exp2)(R x)
{
    R c = VM(select)(x > VM(exp2_hi), VM(exp2_hi), x);
    c = VM(select)(c < VM(exp2_lo), VM(exp2_lo), c);
    const R odd = VM(shift) - 1; /* as VM(biased) is: a half goes the same way in exp2_near */
    R t = c + odd;
    R r = c - (t - odd);
    return VM(scale)(VM(fma)(r, VM(poly_exp2)(r), 1), VM(bits)(t) + 1);
}

/* exp2 for |x| <= VM(exp2_reach). */
static __device__ inline R VM(exp2_near)(R x)
{
    R t = x + VM(biased);
    R r = x - (t - VM(biased));
    return VM(fma)(r, VM(poly_exp2)(r), 1) * VM(power)(t);
}

/* expm1 for VM(expm1_lo) <= x <= VM(exp_hi). With s = 2^(k-1): 2*(s*expm1(r) + (s - 1/2)); the
 * halves keep s finite where the result is. */
static __device__ inline R VM(expm1_core)(R x)
{
    const R half = (R)0.5;
    R t;
    R r = VM(exp_reduce)(x, VM(biased) - 1, &t);
    R s = VM(power)(t);
    return 2 * VM(fma)(s, VM(exp_tail)(r), s - half);
}

static __device__ inline R VM(expm1)(R x)
{
    R c = VM(select)(x > VM(exp_hi), VM(exp_hi), x);
    c = VM(select)(c < VM(expm1_lo), VM(expm1_lo), c);
    R y = VM(expm1_core)(c);
    const R tiny = (R)0x1p-60; /* below it, y is x; but x / 2, which the core has, may be subnormal and flushed */
    return VM(select)(VM(fabs)(x) < tiny, x, y);
}

static __device__ inline R VM(tanh)(R x)
{
    R a = VM(fabs)(x);
    a = VM(select)(a > VM(tanh_one), VM(tanh_one), a);
    R t = VM(expm1_core)(2 * a);
    return VM(copysign)(t / (t + 2), x);
}

/* The sigmoid of x, where e is exp(-|x|). */
static __device__ inline R VM(sigmoid_join)(R x, R e) { return VM(select)(x < 0, e, 1) / (1 + e); }

static __device__ inline R VM(sigmoid)(R x)
{
    R a = -VM(fabs)(x);
    a = VM(select)(a < VM(exp_lo), VM(exp_lo), a);
    return VM(sigmoid_join)(x, VM(exp_scaled)(a, 0));
}

static __device__ inline R VM(sigmoid_near)(R x) { return VM(sigmoid_join)(x, VM(exp_near)(-VM(fabs)(x))); }

static __device__ inline R VM(cosh)(R x)
{
    const R quarter = (R)0.25;
    R a = VM(fabs)(x);
    a = VM(select)(a > VM(cosh_hi), VM(cosh_hi), a);
    R e = VM(exp_scaled)(a, -1);
    return e + quarter / e;
}

static __device__ inline R VM(sinh)(R x)
{
    const R quarter = (R)0.25;
    R a = VM(fabs)(x);
    a = VM(select)(a > VM(cosh_hi), VM(cosh_hi), a);
    R e = VM(exp_scaled)(a, -1);
    R z = a * a;
    R near = VM(fma)(a * z, VM(poly_sinh)(z), a);
    R y = VM(select)(a < 1, near, e - quarter / e);
    return VM(copysign)(y, x);
}

/* ---- Logarithm family ----------------------------------------------------------------------- */

/* x = 2^k * (1+f) with 1+f in [sqrt(1/2), sqrt(2)), x positive and normal; returns f, and
 * k + bias through biased. */
static __device__ inline R VM(log_split)(R x, U *biased)
{
    U u = VM(bits)(x);
    U e = (u + (VM(one_bits) - VM(sqrt_half_bits))) >> VM(mantissa);
    *biased = e;
    return VM(from_bits)(u - ((e - VM(bias)) << VM(mantissa))) - 1;
}

/* A small unsigned integer as a real, less an offset: 2^mantissa + u by its bits. */
static __device__ inline R VM(from_small)(U u, R offset)
{
    return VM(from_bits)(u | VM(bits)(VM(two_mantissa))) - (VM(two_mantissa) + offset);
}

/* log_split for every positive finite x; returns f, and k through exponent. */
static __device__ inline R VM(log_reduce)(R x, R *exponent)
{
    const R bias = VM(bias), bias_up = bias + (R)(VM(mantissa) + 1);
    int small = x < VM(min_normal);
    U e;
    R f = VM(log_split)(VM(select)(small, x * (2 * VM(two_mantissa)), x), &e);
    *exponent = VM(from_small)(e, 0) - VM(select)(small, bias_up, bias);
    return f;
}

/* y, the logarithm of a positive finite x, or else what the logarithm of x is. */
static __device__ inline R VM(log_special)(R x, R y)
{
    R below = VM(select)(x == 0, -VM(inf), VM(nan));
    R finite = VM(select)(x > 0, y, below);
    return VM(select)(x < VM(inf), finite, x);
}

/* log(2^k * (1+f)) by the natural logarithm of 1+f. */
static __device__ inline R VM(log_join)(R k, R log_f)
{
    return VM(fma)(k, VM(ln2_hi), VM(fma)(k, VM(ln2_lo), log_f));
}

static __device__ inline R VM(log)(R x)
{
    R k;
    R f = VM(log_reduce)(x, &k);
    return VM(log_special)(x, VM(log_join)(k, VM(log_core)(f)));
}

static __device__ inline R VM(log2)(R x)
{
    R k;
    R f = VM(log_reduce)(x, &k);
    R l = VM(log_core)(f);
    return VM(log_special)(x, VM(fma)(l, VM(log2e), VM(fma)(l, VM(log2e_lo), k)));
}

static __device__ inline R VM(log10)(R x)
{
    R k;
    R f = VM(log_reduce)(x, &k);
    R l = VM(log_core)(f);
    R low = VM(fma)(k, VM(log10_2_lo), l * VM(log10e_lo));
    return VM(log_special)(x, VM(fma)(k, VM(log10_2_hi), VM(fma)(l, VM(log10e), low)));
}

/* log1p for x > -1 finite. u + c is 1 + x exactly; c enters f with u's own exponent. */
static __device__ inline R VM(log1p_core)(R x)
{
    const R bias = VM(bias);
    R u = 1 + x;
    R one = u - x;
    R c = (1 - one) + (x - (u - one));
    U e;
    R f = VM(log_split)(u, &e);
    R down = VM(from_bits)((2 * VM(bias) - e) << VM(mantissa));
    f = VM(select)(x < 4 * VM(two_mantissa), VM(fma)(c, down, f), f);
    R k = VM(from_small)(e, bias);
    return VM(log_join)(k, VM(log_core)(f));
}

static __device__ inline R VM(log1p)(R x)
{
    R y = VM(log_special)(1 + x, VM(log1p_core)(x));
    return VM(select)(x == 0, x, y);
}

static __device__ inline R VM(asinh)(R x)
{
    R a = VM(fabs)(x);
    R z = a * a;
    int big = a > VM(asinh_big);
    R u = VM(select)(big, a, a + z / (1 + VM(sqrt)(1 + z)));
    R y = VM(log1p_core)(u) + VM(select)(big, VM(ln2_hi), 0);
    return VM(copysign)(VM(select)(a < VM(inf), y, a), x);
}

static __device__ inline R VM(acosh)(R x)
{
    R t = x - 1;
    int big = x > VM(asinh_big);
    R u = VM(select)(big, x, t + VM(sqrt)(t * (t + 2)));
    R y = VM(log1p_core)(u) + VM(select)(big, VM(ln2_hi), 0);
    R finite = VM(select)(x < 1, VM(nan), y);
    return VM(select)(x < VM(inf), finite, x);
}

static __device__ inline R VM(atanh)(R x)
{
    const R half = (R)0.5;
    R a = VM(fabs)(x);
    R y = half * VM(log1p_core)(2 * a / (1 - a));
    R edge = VM(select)(a == 1, VM(inf), VM(nan));
    return VM(copysign)(VM(select)(a < 1, y, edge), x);
}

/* ---- Circular family ------------------------------------------------------------------------ */

/* tan(r) for |r| <= pi/4 and a little. */
static __device__ inline R VM(tan_core)(R r)
{
    R z = r * r;
    return VM(fma)(r * z, VM(poly_tan)(z), r);
}

/* x - q*pi/2 for an integer q: the first step is exact, and the error of the others is far below
 * the smallest distance of an x within VM(circular_far) from a multiple of pi/2. */
static __device__ inline R VM(less_quarters)(R x, R q)
{
    R r = VM(fma)(q, -VM(pio2_a), x);
    r = VM(fma)(q, -VM(pio2_b), r);
    return VM(fma)(q, -VM(pio2_c), r);
}

/* sin(r + q*pi/2) for |r| <= pi/4 and a little; only the low two bits of q count. */
static __device__ inline R VM(sin_quarters)(R r, U q)
{
    const R half = (R)0.5;
    R z = r * r;
    R sine = VM(fma)(r * z, VM(poly_sin)(z), r);
    R cosine = VM(fma)(z * z, VM(poly_cos)(z), VM(fma)(z, -half, 1));
    U flip = q >> 1 << (8 * sizeof(R) - 1);
    return VM(from_bits)(VM(bits)(VM(choose)(q & 1, cosine, sine)) ^ flip);
}

static __device__ inline R VM(sin)(R x)
{
    R t = VM(fma)(x, VM(two_over_pi), VM(magic));
    R y = VM(sin_quarters)(VM(less_quarters)(x, t - VM(magic)), VM(bits)(t));
    return VM(select)(x == 0, x, y);
}

static __device__ inline R VM(cos)(R x)
{
    R t = VM(fma)(x, VM(two_over_pi), VM(magic));
    return VM(sin_quarters)(VM(less_quarters)(x, t - VM(magic)), VM(bits)(t) + 1);
}

static __device__ inline R VM(tan)(R x)
{
    R t = VM(fma)(x, VM(two_over_pi), VM(magic));
    R r = VM(tan_core)(VM(less_quarters)(x, t - VM(magic)));
    R y = VM(choose)(VM(bits)(t) & 1, -1 / r, r);
    return VM(select)(x == 0, x, y);
}

static __device__ inline int VM(sin_far)(R x)
{
    R a = VM(fabs)(x);
    return (a > VM(circular_far)) & (a < VM(inf));
}

static __device__ inline int VM(cos_far)(R x) { return VM(sin_far)(x); }
static __device__ inline int VM(tan_far)(R x) { return VM(sin_far)(x); }

/* asin of a in [0, 1/2], or else (pi/2 - asin(a))/2 for a in (1/2, 1]; NaN above 1. */
static __device__ inline R VM(asin_half)(R a, int big)
{
    const R half = (R)0.5;
    R z = VM(select)(big, VM(fma)(a, -half, half), a * a);
    R s = VM(select)(big, VM(sqrt)(z), a);
    return VM(fma)(s * z, VM(poly_asin)(z), s);
}

static __device__ inline R VM(asin)(R x)
{
    const R half = (R)0.5;
    R a = VM(fabs)(x);
    int big = a > half;
    R p = VM(asin_half)(a, big);
    R y = VM(select)(big, VM(fma)(p, -2, VM(pio2_b)) + VM(pio2_a), p);
    return VM(copysign)(y, x);
}

static __device__ inline R VM(acos)(R x)
{
    const R half = (R)0.5;
    R a = VM(fabs)(x);
    int big = a > half;
    R p = VM(asin_half)(a, big);
    R near = VM(pio2_a) - (VM(copysign)(p, x) - VM(pio2_b));
    R far = VM(select)(x > 0, 2 * p, 2 * (VM(pio2_a) - (p - VM(pio2_b))));
    return VM(select)(big, far, near);
}

/* atan(t) for 0 <= t <= 1. */
static __device__ inline R VM(atan_core)(R t)
{
    R z = t * t;
    return VM(fma)(t * z, VM(poly_atan)(z), t);
}

static __device__ inline R VM(atan)(R x)
{
    R a = VM(fabs)(x);
    int big = a > 1;
    R p = VM(atan_core)(VM(select)(big, 1 / a, a));
    return VM(copysign)(VM(select)(big, VM(pio2_a) - (p - VM(pio2_b)), p), x);
}

static __device__ inline R VM(atan2)(R y, R x)
{
    R a = VM(fabs)(y), b = VM(fabs)(x);
    int steep = a > b;
    R num = VM(select)(steep, b, a), den = VM(select)(steep, a, b);
    R t = num / den;
    t = VM(select)(num == den, VM(select)(den > 0, 1, 0), t);
    R p = VM(atan_core)(t);
    p = VM(select)(steep, VM(pio2_a) - (p - VM(pio2_b)), p);
    R left = 2 * VM(pio2_a) - (p - 2 * VM(pio2_b));
    R r = VM(choose)(VM(bits)(x) >> (8 * sizeof(R) - 1), left, p);
    r = VM(copysign)(r, y);
    return VM(select)((x != x) | (y != y), x + y, r);
}

/* ---- Error function ------------------------------------------------------------------------- */

/* erfinv(x)/x - 1 is smooth in w = -log(1 - x*x), and in sqrt(w) for large w. */
static __device__ inline R VM(erfinv)(R x)
{
    R a = VM(fabs)(x);
    R k;
    R f = VM(log_reduce)((1 - a) * (1 + a), &k);
    R w = -VM(log_join)(k, VM(log_core)(f));
    R near = VM(poly_erfinv_near)(w - 3);
    R tail = VM(poly_erfinv_tail)((w - 16) / (VM(sqrt)(w) + 4)); /* sqrt(w) - 4, less rounding */
    R y = VM(copysign)(VM(fma)(a, VM(select)(w < VM(erfinv_cut), near, tail), a), x);
    R edge = VM(select)(a == 1, VM(copysign)(VM(inf), x), VM(nan));
    return VM(select)(a < 1, y, edge);
}

/* ---- Power ---------------------------------------------------------------------------------- */

/* The special values of pow: y is the exponent, p is |x|^y where that is finite and nonzero. */
static __device__ inline R VM(pow_special)(R x, R y, R p)
{
    R a = VM(fabs)(x), half = y / 2;
    int whole = VM(trunc)(y) == y;
    int odd = whole & (VM(trunc)(half) != half);
    R up = VM(select)((a > 1) == (y > 0), VM(inf), 0);
    R edge = VM(select)(a == 1, 1, up);
    p = VM(select)((a == 0) | VM(isinf)(x) | VM(isinf)(y), edge, p);
    p = VM(select)(odd, VM(copysign)(p, x), p);
    p = VM(select)((x < 0) & (a < VM(inf)) & !whole, VM(nan), p);
    p = VM(select)((x != x) | (y != y), x + y, p);
    return VM(select)((x == 1) | (y == 0), 1, p);
}

/* log(x) for a positive finite x as a sum: returns the high part, the rest through low. The relative error is
 * near 2^-34 (f64: 2^-64), so y*log(x) is good to a quarter ulp of exp wherever pow is finite. */
static __device__ inline R VM(log_pair)(R x, R *low)
{
    R k;
    R f = VM(log_reduce)(x, &k);
    /* s + s_lo = f / (2+f) */
    R d = 2 + f, d_lo = f - (d - 2);
    R inv = 1 / d;
    R s = f * inv;
    R s_lo = (VM(fma)(-s, d, f) - s * d_lo) * inv;
    /* cube + cube_lo = s^3 */
    R z = s * s;
    R z_lo = VM(fma)(s, s, -z) + 2 * s * s_lo;
    R cube = s * z;
    R cube_lo = VM(fma)(s, z, -cube) + (s * z_lo + s_lo * z);
    /* 2s + 2/3 s^3 + s^5 Q */
    R b = cube * VM(two_thirds);
    R b_lo = VM(fma)(cube, VM(two_thirds), -b) + (cube_lo * VM(two_thirds) + cube * VM(two_thirds_lo));
    R h = 2 * s + b;
    R l = (b - (h - 2 * s)) + (2 * s_lo + b_lo + cube * z * VM(poly_atanh5)(z));
    /* k*ln2 is 0 or larger than h */
    R e = k * VM(ln2_hi);
    R e_lo = VM(fma)(k, VM(ln2_hi), -e) + k * VM(ln2_lo);
    R sum = e + h;
    l += (h - (sum - e)) + e_lo;
    R hi = sum + l;
    *low = l - (hi - sum);
    return hi;
}

/* exp(h + l) for |l| far below |h|. */
static __device__ inline R VM(exp_pair)(R h, R l)
{
    int over = h > VM(exp_hi), under = h < VM(exp_lo);
    l = VM(select)(over | under, 0, l);
    h = VM(select)(over, VM(exp_hi), h);
    h = VM(select)(under, VM(exp_lo), h);
    R t = VM(fma)(h, VM(log2e), VM(shift));
    R k = t - VM(shift);
    R r = VM(fma)(k, -VM(ln2_hi), h) + VM(fma)(k, -VM(ln2_lo), l);
    return VM(scale)(1 + VM(exp_tail)(r), VM(bits)(t));
}

static __device__ inline R VM(pow)(R x, R y)
{
    R log_lo;
    R log_hi = VM(log_pair)(VM(fabs)(x), &log_lo);
    R h = y * log_hi;
    R l = VM(fma)(y, log_hi, -h) + y * log_lo;
    return VM(pow_special)(x, y, VM(exp_pair)(h, l));
}

/* The larger side is brought near 1 by a power of two, so that no square leaves the range. */
static __device__ inline R VM(hypot)(R x, R y)
{
    R a = VM(fabs)(x), b = VM(fabs)(y);
    R large = VM(select)(a > b, a, b), small = VM(select)(a > b, b, a);
    int huge = large > VM(hypot_huge), tiny = large < VM(hypot_tiny);
    R s = VM(select)(huge, VM(hypot_down), VM(select)(tiny, VM(hypot_up), 1));
    R inverse = VM(select)(huge, VM(hypot_up), VM(select)(tiny, VM(hypot_down), 1));
    large *= s;
    small *= s;
    R r = VM(sqrt)(VM(fma)(large, large, small * small)) * inverse;
    r = VM(select)((x != x) | (y != y), x + y, r);
    return VM(select)(VM(isinf)(x) | VM(isinf)(y), VM(inf), r);
}

/* Where the logarithm is near 0 its two parts cancel: the error stays below 4 ulp of the larger argument, and
 * then that is more than 4 ulp of the result. */
static __device__ inline R VM(logaddexp)(R x, R y)
{
    int swap = x < y;
    R large = VM(select)(swap, y, x), small = VM(select)(swap, x, y);
    R gap = small - large;
    R back = gap - small;
    R gap_lo = (small - (gap - back)) - (large + back);
    R r = large + VM(log1p_core)(VM(exp_pair)(gap, gap_lo));
    /* Equal infinities have no gap, and an infinite sum swallows the other argument. */
    r = VM(select)(VM(fabs)(large) == VM(inf), large, r);
    return VM(select)((x != x) | (y != y), x + y, r);
}

/* ---- Division with a remainder -------------------------------------------------------------- */

/* The quotient rounded toward zero and the exact remainder with the sign of x, for |x/y| < VM(whole).
 * A quotient just below an integer may round up to it: then the remainder has the wrong sign. */
static __device__ inline R VM(quotient)(R x, R y, R *rest)
{
    R q = VM(trunc)(x / y);
    R r = VM(select)(q == 0, x, VM(fma)(-q, y, x));
    int wrong = (r != 0) & ((r < 0) != (x < 0));
    *rest = VM(select)(wrong, r + VM(copysign)(y, x), r);
    return VM(select)(wrong, q - VM(copysign)(1, q), q);
}

/* The remainder as Python has it: r is the exact remainder with the sign of x. */
static __device__ inline R VM(remainder_sign)(R r, R y)
{
    R moved = VM(select)((r != 0) & ((r < 0) != (y < 0)), r + y, r);
    return VM(select)(moved == 0, VM(copysign)(moved, y), moved);
}

static __device__ inline R VM(remainder)(R x, R y)
{
    R r;
    VM(quotient)(x, y, &r);
    return VM(remainder_sign)(r, y);
}

static __device__ inline int VM(remainder_far)(R x, R y)
{
    R q = VM(fabs)(x / y), a = VM(fabs)(x);
    return (q >= VM(whole)) & (a < VM(inf)) & (y != 0);
}

/* The floor of the exact quotient; above VM(whole) VM(large_quotient) rounds it. */
static __device__ inline R VM(floor_divide)(R x, R y)
{
    R r;
    R q = VM(quotient)(x, y, &r);
    q = VM(select)((r != 0) & ((r < 0) != (y < 0)), q - 1, q);
    R plain = x / y, size = VM(fabs)(plain), b = VM(fabs)(y);
    int direct = (size >= VM(whole)) | (b == VM(inf));
    return VM(select)(direct, VM(large_quotient)(x, y, plain), q);
}

/* ---- Far paths: circular functions of huge arguments, remainders of huge quotients ------------ */

/* The upper word of hi:lo, which is not 0, shifted left until its top bit is set. Its lowest bit, which is below
 * half an ulp of R, is also set if a lower bit is. */
static __device__ inline U VM(normalize)(U hi, U lo, int *zeros)
{
    const int bits = 8 * (int)sizeof(U);
    const int left = hi ? VM(clz)(hi) : bits + VM(clz)(lo);
    *zeros = left;
    if (left >= bits)
        return lo << (left - bits);
    const U top = left ? hi << left | lo >> (bits - left) : hi;
    return top | (lo << left != 0);
}

/* x less the nearest multiple q of pi/2 (q modulo 4), for finite |x| >= 2.
 * With x = m*2^e, the bits of 2/pi above 2^(1-e) only add multiples of 4 to m*2^e*(2/pi). A window of three words
 * from there on has the quadrant in its product's top two bits and the fraction below, exact to more bits
 * than the result has. */
static __device__ inline R VM(quarters_slow)(R x, U *quadrant)
{
    const U table[] = {VM(two_over_pi_words)};
    const int bits = 8 * (int)sizeof(U);
    U u = VM(bits)(VM(fabs)(x));
    U one = (U)1 << VM(mantissa);
    U m = (u & (one - 1)) | one;
    /* e - 2, counted from the word of zeros that the table begins with */
    int start = (int)(u >> VM(mantissa)) - ((int)VM(bias) + VM(mantissa)) + bits - 2;
    int word = start / bits, shift = start % bits;
    U window[3];
    for (int i = 0; i < 3; i++) {
        U next = shift ? table[word + i + 1] >> (bits - shift) : 0;
        window[i] = table[word + i] << shift | next;
    }
    U low = m * window[2], carry = VM(mulhi)(m, window[2]);
    U mid = m * window[1] + carry;
    U high = m * window[0] + VM(mulhi)(m, window[1]) + (mid < carry);
    /* As a signed number the fraction is within 1/2 of the nearest multiple. */
    U q = (high >> (bits - 2)) + (high >> (bits - 3) & 1);
    U hi = high << 2 | mid >> (bits - 2), lo = mid << 2 | low >> (bits - 2);
    int below = (int)(hi >> (bits - 1));
    if (below) {
        hi = ~hi + (lo == 0);
        lo = 0 - lo;
    }
    int zeros;
    U top = VM(normalize)(hi, lo, &zeros);
    R r = VM(times_pio2)(top, VM(from_bits)((U)((int)VM(bias) - bits - zeros) << VM(mantissa)));
    *quadrant = x < 0 ? 0 - q : q;
    return (x < 0) != below ? -r : r;
}

static __device__ inline R VM(sin_slow)(R x)
{
    U q;
    R r = VM(quarters_slow)(x, &q);
    return VM(sin_quarters)(r, q);
}

static __device__ inline R VM(cos_slow)(R x)
{
    U q;
    R r = VM(quarters_slow)(x, &q);
    return VM(sin_quarters)(r, q + 1);
}

static __device__ inline R VM(tan_slow)(R x)
{
    U q;
    R t = VM(tan_core)(VM(quarters_slow)(x, &q));
    return q & 1 ? -1 / t : t;
}

/* |x| = the mantissa, a whole number, times 2^(exponent - bias - bits of the mantissa). */
static __device__ inline U VM(mantissa_slow)(R x, int *exponent)
{
    U u = VM(bits)(VM(fabs)(x));
    U one = (U)1 << VM(mantissa);
    int e = (int)(u >> VM(mantissa));
    *exponent = e ? e : 1;
    return (u & (one - 1)) | (e ? one : 0);
}

/* The exact remainder of x by y with the sign of x, by long division, as many bits at a time as U has to spare. */
static __device__ inline R VM(rest_slow)(R x, R y)
{
    const int step = 8 * (int)sizeof(U) - 1 - VM(mantissa);
    int from, to;
    U mx = VM(mantissa_slow)(x, &from), my = VM(mantissa_slow)(y, &to);
    mx %= my;
    for (int left = from - to; left > 0 && mx; left -= step)
        mx = (mx << (left < step ? left : step)) % my;
    /* 2^(to - bias - mantissa), which is denormal for small exponents */
    U unit = to <= VM(mantissa) ? (U)1 << (to - 1) : (U)(to - VM(mantissa)) << VM(mantissa);
    return VM(copysign)((R)mx * VM(from_bits)(unit), x);
}

static __device__ inline R VM(remainder_slow)(R x, R y)
{
    return VM(remainder_sign)(VM(rest_slow)(x, y), y);
}

/* ---- Whole functions, for code that works on one element ---------------------------------------- */

static __device__ inline R VM(sin_full)(R x) { return VM(sin_far)(x) ? VM(sin_slow)(x) : VM(sin)(x); }
static __device__ inline R VM(cos_full)(R x) { return VM(cos_far)(x) ? VM(cos_slow)(x) : VM(cos)(x); }
static __device__ inline R VM(tan_full)(R x) { return VM(tan_far)(x) ? VM(tan_slow)(x) : VM(tan)(x); }
static __device__ inline R VM(remainder_full)(R x, R y)
{
    return VM(remainder_far)(x, y) ? VM(remainder_slow)(x, y) : VM(remainder)(x, y);
}

#ifdef __cplusplus
/* The names of ops.def's expressions, overloaded for the type. */
static __device__ inline R m_exp(R x) { return VM(exp)(x); }
static __device__ inline R m_exp2(R x) { return VM(exp2)(x); }
static __device__ inline R m_expm1(R x) { return VM(expm1)(x); }
static __device__ inline R m_log(R x) { return VM(log)(x); }
static __device__ inline R m_log1p(R x) { return VM(log1p)(x); }
static __device__ inline R m_log2(R x) { return VM(log2)(x); }
static __device__ inline R m_log10(R x) { return VM(log10)(x); }
static __device__ inline R m_asin(R x) { return VM(asin)(x); }
static __device__ inline R m_acos(R x) { return VM(acos)(x); }
static __device__ inline R m_atan(R x) { return VM(atan)(x); }
static __device__ inline R m_sinh(R x) { return VM(sinh)(x); }
static __device__ inline R m_cosh(R x) { return VM(cosh)(x); }
static __device__ inline R m_tanh(R x) { return VM(tanh)(x); }
static __device__ inline R m_asinh(R x) { return VM(asinh)(x); }
static __device__ inline R m_acosh(R x) { return VM(acosh)(x); }
static __device__ inline R m_atanh(R x) { return VM(atanh)(x); }
static __device__ inline R m_erfinv(R x) { return VM(erfinv)(x); }
static __device__ inline R m_sigmoid(R x) { return VM(sigmoid)(x); }
static __device__ inline R m_sqrt(R x) { return VM(sqrt)(x); }
static __device__ inline R m_rsqrt(R x) { return VM(rsqrt)(x); }
static __device__ inline R m_reciprocal(R x) { return VM(reciprocal)(x); }
static __device__ inline R m_floor(R x) { return VM(floor)(x); }
static __device__ inline R m_ceil(R x) { return VM(ceil)(x); }
static __device__ inline R m_trunc(R x) { return VM(trunc)(x); }
static __device__ inline R m_round(R x) { return VM(round)(x); }
static __device__ inline R m_abs(R x) { return VM(abs)(x); }
static __device__ inline R m_sign(R x) { return VM(sign)(x); }
static __device__ inline R m_zero(R x) { return VM(zero)(x); }
static __device__ inline R m_lowest(R x) { return VM(lowest)(x); }
static __device__ inline R m_highest(R x) { return VM(highest)(x); }
static __device__ inline R m_sin(R x) { return VM(sin_full)(x); }
static __device__ inline R m_cos(R x) { return VM(cos_full)(x); }
static __device__ inline R m_tan(R x) { return VM(tan_full)(x); }
static __device__ inline int m_signbit(R x) { return VM(signbit)(x); }
static __device__ inline int m_isnan(R x) { return VM(isnan)(x); }
static __device__ inline int m_isinf(R x) { return VM(isinf)(x); }
static __device__ inline int m_isfinite(R x) { return VM(isfinite)(x); }
static __device__ inline R m_pow(R x, R y) { return VM(pow)(x, y); }
static __device__ inline R m_atan2(R x, R y) { return VM(atan2)(x, y); }
static __device__ inline R m_hypot(R x, R y) { return VM(hypot)(x, y); }
static __device__ inline R m_logaddexp(R x, R y) { return VM(logaddexp)(x, y); }
static __device__ inline R m_copysign(R x, R y) { return VM(copysign)(x, y); }
static __device__ inline R m_nextafter(R x, R y) { return VM(nextafter)(x, y); }
static __device__ inline R m_floor_divide(R x, R y) { return VM(floor_divide)(x, y); }
static __device__ inline R m_maximum(R x, R y) { return VM(maximum)(x, y); }
static __device__ inline R m_minimum(R x, R y) { return VM(minimum)(x, y); }
static __device__ inline R m_remainder(R x, R y) { return VM(remainder_full)(x, y); }
#endif
