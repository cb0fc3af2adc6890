/* References of the vector math in double and in MPFR, and special values.
 * Key invariant: nothing here depends on vmath.h, except for erfinv, which libm and MPFR do not have: f32 is
 * compared with f64, and f64 with Newton's method, which starts from it. */
#ifndef TESTS_MATH_VMATH_REF_H
#define TESTS_MATH_VMATH_REF_H

#include <math.h>
#include <mpfr.h>

#include "engine/backend/cpu/vmath/vmath.h"

/* ---- One argument: in double for f32, exactly for f64 --------------------------------------- */

/* No result of the function may be larger than bound. */
struct reference {
    const char *name;
    double bound;
    double (*wide)(double);
    int (*exact)(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t);
};

static double wide_rsqrt(double x) { return 1 / sqrt(x); }
static double wide_reciprocal(double x) { return 1 / x; }
static double wide_erfinv(double x) { return vm_erfinv_f64(x); }
static double wide_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

static int exact_reciprocal(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t round)
{
    return mpfr_ui_div(r, 1, x, round);
}

/* mpfr_rec_sqrt gives +infinity for -0. */
static int exact_rsqrt(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t round)
{
    mpfr_sqrt(r, x, round);
    return mpfr_ui_div(r, 1, r, round);
}

static int exact_sigmoid(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t round)
{
    mpfr_neg(r, x, round);
    mpfr_exp(r, r, round);
    mpfr_add_ui(r, r, 1, round);
    return mpfr_ui_div(r, 1, r, round);
}

/* Newton's method on erf, starting from the double result, with enough bits for 1 - erf. */
static int exact_erfinv(mpfr_ptr r, mpfr_srcptr arg, mpfr_rnd_t round)
{
    double x = mpfr_get_d(arg, round);
    if (!(fabs(x) < 1) || x == 0)
        return mpfr_set_d(r, x == 0 ? x : fabs(x) == 1 ? copysign(INFINITY, x) : NAN, round);
    mpfr_t y, step, slope;
    mpfr_inits2(260, y, step, slope, (mpfr_ptr)0);
    mpfr_set_d(y, vm_erfinv_f64(x), MPFR_RNDN);
    for (int i = 0; i < 2; i++) {
        mpfr_erf(step, y, MPFR_RNDN);
        mpfr_sub_d(step, step, x, MPFR_RNDN);
        mpfr_sqr(slope, y, MPFR_RNDN);
        mpfr_exp(slope, slope, MPFR_RNDN);
        mpfr_mul(step, step, slope, MPFR_RNDN);
        mpfr_const_pi(slope, MPFR_RNDN);
        mpfr_sqrt(slope, slope, MPFR_RNDN);
        mpfr_mul(step, step, slope, MPFR_RNDN);
        mpfr_div_2ui(step, step, 1, MPFR_RNDN);
        mpfr_sub(y, y, step, MPFR_RNDN);
    }
    mpfr_set(r, y, round);
    mpfr_clears(y, step, slope, (mpfr_ptr)0);
    return 0;
}

static const struct reference references[] = {
    {"exp", INFINITY, exp, mpfr_exp},
    {"exp2", INFINITY, exp2, mpfr_exp2},
    {"expm1", INFINITY, expm1, mpfr_expm1},
    {"log", INFINITY, log, mpfr_log},
    {"log1p", INFINITY, log1p, mpfr_log1p},
    {"log2", INFINITY, log2, mpfr_log2},
    {"log10", INFINITY, log10, mpfr_log10},
    {"sin", 1, sin, mpfr_sin},
    {"cos", 1, cos, mpfr_cos},
    {"tan", INFINITY, tan, mpfr_tan},
    {"asin", INFINITY, asin, mpfr_asin},
    {"acos", INFINITY, acos, mpfr_acos},
    {"atan", INFINITY, atan, mpfr_atan},
    {"sinh", INFINITY, sinh, mpfr_sinh},
    {"cosh", INFINITY, cosh, mpfr_cosh},
    {"tanh", 1, tanh, mpfr_tanh},
    {"asinh", INFINITY, asinh, mpfr_asinh},
    {"acosh", INFINITY, acosh, mpfr_acosh},
    {"atanh", INFINITY, atanh, mpfr_atanh},
    {"erf", 1, erf, mpfr_erf},
    {"erfinv", INFINITY, wide_erfinv, exact_erfinv},
    {"sigmoid", 1, wide_sigmoid, exact_sigmoid},
    {"sqrt", INFINITY, sqrt, mpfr_sqrt},
    {"rsqrt", INFINITY, wide_rsqrt, exact_rsqrt},
    {"reciprocal", INFINITY, wide_reciprocal, exact_reciprocal},
};
enum { reference_count = sizeof references / sizeof references[0] };

/* ---- Two arguments -------------------------------------------------------------------------- */

/* by_argument: the error is in ulp of the larger argument, if it is larger than the result. */
struct reference2 {
    const char *name;
    int by_argument;
    int (*exact)(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t);
};

static int exact_logaddexp(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t round)
{
    mpfr_srcptr large = mpfr_cmp(x, y) > 0 ? x : y, small = large == x ? y : x;
    if (mpfr_nan_p(x) || mpfr_nan_p(y))
        return mpfr_add(r, x, y, round);
    if (mpfr_inf_p(large))
        return mpfr_set(r, large, round);
    mpfr_t gap;
    mpfr_init2(gap, 2200);
    mpfr_sub(gap, small, large, round);
    mpfr_prec_round(gap, 300, round);
    mpfr_exp(gap, gap, round);
    mpfr_log1p(gap, gap, round);
    mpfr_add(r, gap, large, round);
    mpfr_clear(gap);
    return 0;
}

static const struct reference2 references2[] = {
    {"pow", 0, mpfr_pow},
    {"atan2", 0, mpfr_atan2},
    {"hypot", 0, mpfr_hypot},
    {"logaddexp", 1, exact_logaddexp},
};
enum { reference2_count = sizeof references2 / sizeof references2[0] };

/* ---- Exact functions, of one or two arguments ----------------------------------------------- */

struct exact_reference {
    const char *name;
    float (*f32)(float, float);
    double (*f64)(double, double);
};

static const double special_values[] = {0.0,
                                        -0.0,
                                        1,
                                        -1,
                                        0.5,
                                        -0.5,
                                        1.5,
                                        -1.5,
                                        2,
                                        -2,
                                        2.5,
                                        3,
                                        -3,
                                        4,
                                        0x1p23,
                                        0x1p24 + 2,
                                        -0x1p53,
                                        0x1p60,
                                        0x1p-149,
                                        -0x1p-149,
                                        0x1p-126,
                                        0x1.fffffep+127,
                                        -0x1.fffffep+127,
                                        INFINITY,
                                        -INFINITY,
                                        NAN};
enum { special_count = sizeof special_values / sizeof special_values[0] };

static double python_remainder(double x, double y)
{
    if (isinf(y) && isfinite(x))
        return x == 0 ? copysign(0, y) : (x < 0) == (y < 0) ? x : y;
    double r = fmod(x, y);
    return r == 0 ? copysign(0, y) : (r < 0) != (y < 0) ? r + y : r;
}

static float python_remainderf(float x, float y)
{
    if (isinf(y) && isfinite(x))
        return x == 0 ? copysignf(0, y) : (x < 0) == (y < 0) ? x : y;
    float r = fmodf(x, y);
    return r == 0 ? copysignf(0, y) : (r < 0) != (y < 0) ? r + y : r;
}

/* The largest integer not above the true quotient. From 2^53 on, the rounded quotient is an integer. */
static double exact_floor_divide(double x, double y, int f32)
{
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0 || fabs(x / y) >= 0x1p53)
        return f32 ? (double)(float)(x / y) : x / y;
    mpfr_t q;
    mpfr_init2(q, 2300);
    mpfr_set_d(q, x, MPFR_RNDN);
    mpfr_div_d(q, q, y, MPFR_RNDD);
    mpfr_rint_floor(q, q, MPFR_RNDD);
    double r = f32 ? (double)mpfr_get_flt(q, MPFR_RNDN) : mpfr_get_d(q, MPFR_RNDN);
    mpfr_clear(q);
    return r;
}

static double signed_one(double x) { return isnan(x) ? x : (x > 0) - (x < 0); }

static double larger(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}

#define EXACT_PAIR(name, in_f32, in_f64) \
    static float name##_want_f32(float x, float y) \
    { \
        (void)y; \
        return (float)(in_f32); \
    } \
    static double name##_want_f64(double x, double y) \
    { \
        (void)y; \
        return in_f64; \
    }
EXACT_PAIR(floor, floorf(x), floor(x))
EXACT_PAIR(ceil, ceilf(x), ceil(x))
EXACT_PAIR(trunc, truncf(x), trunc(x))
EXACT_PAIR(round, nearbyintf(x), nearbyint(x))
EXACT_PAIR(abs, fabsf(x), fabs(x))
EXACT_PAIR(sign, signed_one((double)x), signed_one(x))
EXACT_PAIR(copysign, copysignf(x, y), copysign(x, y))
EXACT_PAIR(nextafter, nextafterf(x, y), nextafter(x, y))
EXACT_PAIR(maximum, larger((double)x, (double)y), larger(x, y))
EXACT_PAIR(minimum, -larger(-(double)x, -(double)y), -larger(-x, -y))
EXACT_PAIR(remainder, python_remainderf(x, y), python_remainder(x, y))
EXACT_PAIR(floor_divide, exact_floor_divide((double)x, (double)y, 1), exact_floor_divide(x, y, 0))
EXACT_PAIR(signbit, signbit(x) != 0, signbit(x) != 0)
EXACT_PAIR(isnan, isnan(x) != 0, isnan(x) != 0)
EXACT_PAIR(isinf, isinf(x) != 0, isinf(x) != 0)
EXACT_PAIR(isfinite, isfinite(x) != 0, isfinite(x) != 0)

#define EXACT_ROW(name) \
    { \
#name, name##_want_f32, name##_want_f64 \
    }
static const struct exact_reference exact_references[] = {
    EXACT_ROW(floor),   EXACT_ROW(ceil),    EXACT_ROW(trunc),     EXACT_ROW(round),
    EXACT_ROW(abs),     EXACT_ROW(sign),    EXACT_ROW(copysign),  EXACT_ROW(nextafter),
    EXACT_ROW(maximum), EXACT_ROW(minimum), EXACT_ROW(remainder), EXACT_ROW(floor_divide),
    EXACT_ROW(signbit), EXACT_ROW(isnan),   EXACT_ROW(isinf),     EXACT_ROW(isfinite),
};
enum { exact_count = sizeof exact_references / sizeof exact_references[0] };

/* ---- Special values that the Python array API names, and some exact results that users expect  */

struct expectation {
    const char *name;
    double x, y, want;
};

static const struct expectation expectations[] = {
    {"exp", -INFINITY, 0, 0},
    {"exp", 0, 0, 1},
    {"exp2", 10, 0, 1024},
    {"exp2", -126, 0, 0x1p-126},
    {"expm1", -0.0, 0, -0.0},
    {"expm1", -INFINITY, 0, -1},
    {"log", 0, 0, -INFINITY},
    {"log", -0.0, 0, -INFINITY},
    {"log", 1, 0, 0},
    {"log", -1, 0, NAN},
    {"log1p", -0.0, 0, -0.0},
    {"log1p", -1, 0, -INFINITY},
    {"log1p", -2, 0, NAN},
    {"log2", 0x1p-149, 0, -149},
    {"log2", 8, 0, 3},
    {"log10", 10, 0, 1},
    {"log10", 1000, 0, 3},
    {"log10", 1e6, 0, 6},
    {"sin", -0.0, 0, -0.0},
    {"sin", INFINITY, 0, NAN},
    {"cos", -0.0, 0, 1},
    {"cos", -INFINITY, 0, NAN},
    {"tan", -0.0, 0, -0.0},
    {"asin", -0.0, 0, -0.0},
    {"asin", 1.5, 0, NAN},
    {"acos", 1, 0, 0},
    {"acos", -1.5, 0, NAN},
    {"atan", -0.0, 0, -0.0},
    {"sinh", -0.0, 0, -0.0},
    {"sinh", -INFINITY, 0, -INFINITY},
    {"cosh", -0.0, 0, 1},
    {"cosh", -INFINITY, 0, INFINITY},
    {"tanh", -0.0, 0, -0.0},
    {"tanh", -INFINITY, 0, -1},
    {"asinh", -0.0, 0, -0.0},
    {"asinh", -INFINITY, 0, -INFINITY},
    {"acosh", 1, 0, 0},
    {"acosh", 0.5, 0, NAN},
    {"atanh", -0.0, 0, -0.0},
    {"atanh", -1, 0, -INFINITY},
    {"atanh", 2, 0, NAN},
    {"erf", -INFINITY, 0, -1},
    {"erf", -0.0, 0, -0.0},
    {"erfinv", 1, 0, INFINITY},
    {"erfinv", -1, 0, -INFINITY},
    {"erfinv", -0.0, 0, -0.0},
    {"erfinv", 1.5, 0, NAN},
    {"sigmoid", 0, 0, 0.5},
    {"sigmoid", INFINITY, 0, 1},
    {"sigmoid", -INFINITY, 0, 0},
    {"sqrt", -0.0, 0, -0.0},
    {"sqrt", -1, 0, NAN},
    {"rsqrt", 0, 0, INFINITY},
    {"rsqrt", INFINITY, 0, 0},
    {"round", 2.5, 0, 2},
    {"round", -0.5, 0, -0.0},
    {"sign", -0.0, 0, 0},
    {"sign", NAN, 0, NAN},
    {"pow", 1, NAN, 1},
    {"pow", NAN, 0, 1},
    {"pow", -1, INFINITY, 1},
    {"pow", -0.0, -3, -INFINITY},
    {"pow", -0.0, 3, -0.0},
    {"pow", -INFINITY, -3, -0.0},
    {"pow", -INFINITY, 0.5, INFINITY},
    {"pow", -2, 0.5, NAN},
    {"pow", -2, 3, -8},
    {"pow", 0.5, -INFINITY, INFINITY},
    {"pow", 3, 4, 81},
    {"hypot", INFINITY, NAN, INFINITY},
    {"hypot", 3, 4, 5},
    {"atan2", -0.0, 1, -0.0},
    {"atan2", 1, INFINITY, 0},
    {"logaddexp", -INFINITY, -INFINITY, -INFINITY},
    {"logaddexp", INFINITY, -INFINITY, INFINITY},
    {"logaddexp", INFINITY, NAN, NAN},
    {"logaddexp", -INFINITY, 2, 2},
    {"maximum", -0.0, 0, 0},
    {"maximum", 0, -0.0, 0},
    {"minimum", 0, -0.0, -0.0},
    {"maximum", 1, NAN, NAN},
    {"floor_divide", 7, -2, -4},
    {"floor_divide", INFINITY, 2, INFINITY},
    {"floor_divide", INFINITY, -2, -INFINITY},
    {"floor_divide", 2, -INFINITY, -0.0},
    {"floor_divide", -2, INFINITY, -0.0},
    {"floor_divide", 1, 0, INFINITY},
    {"floor_divide", 0, 0, NAN},
    {"remainder", 7, -2, -1},
    {"remainder", -7, 2, 1},
    {"remainder", -0.0, 2, 0},
    {"remainder", 0, -2, -0.0},
    {"remainder", 2, -INFINITY, -INFINITY},
    {"remainder", -2, INFINITY, INFINITY},
    {"remainder", 2, INFINITY, 2},
    {"remainder", INFINITY, 2, NAN},
    {"remainder", 1, 0, NAN},
};
enum { expectation_count = sizeof expectations / sizeof expectations[0] };

#endif
