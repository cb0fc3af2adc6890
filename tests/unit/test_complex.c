/* Complex arrays: every elementwise op against C's own functions in long double, special values against Annex G of the
 * C standard, gradients against differences, moves and products against their definitions, files and text. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ingot.h"

#ifndef CMPLXL /* clang with glibc */
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
#endif

typedef long double _Complex number;

/* ---- elementwise ops with one operand ---- */

static number z_exp2(number z) { return cexpl(z * logl(2)); }
static number z_expm1(number z)
{
    const long double x = creall(z), y = cimagl(z), s = sinl(y / 2);
    return CMPLXL(expm1l(x) * cosl(y) - 2 * s * s, expl(x) * sinl(y));
}
static number z_log1p(number z)
{
    const long double x = creall(z), y = cimagl(z);
    return CMPLXL(fabsl(x) < 0.5L && fabsl(y) < 0.5L ? log1pl(x * (2 + x) + y * y) / 2
                                                     : creall(clogl(1 + z)),
                  atan2l(y, 1 + x));
}
static number z_log2(number z) { return clogl(z) / logl(2); }
static number z_log10(number z) { return clogl(z) / logl(10); }
static number z_square(number z) { return z * z; }
static number z_reciprocal(number z) { return 1 / z; }
static number z_negative(number z) { return -z; }
static number z_rsqrt(number z) { return 1 / csqrtl(z); }
static number z_sign(number z) { return z == 0 ? 0 : z / cabsl(z); }
static number z_sigmoid(number z) { return 1 / (1 + cexpl(-z)); }

/* Errors are bounded in units of the last place of |result|. */
static const struct unary {
    const char *name;
    number (*exact)(number z);
    double ulp;
} unaries[] = {
    {"acos", cacosl, 6},     {"acosh", cacoshl, 6},       {"asin", casinl, 6},
    {"asinh", casinhl, 6},   {"atan", catanl, 6},         {"atanh", catanhl, 6},
    {"conj", conjl, 0},      {"cos", ccosl, 6},           {"cosh", ccoshl, 6},
    {"exp", cexpl, 6},       {"exp2", z_exp2, 6},         {"expm1", z_expm1, 8},
    {"log", clogl, 8},       {"log10", z_log10, 8},       {"log1p", z_log1p, 6},
    {"log2", z_log2, 8},     {"negative", z_negative, 0}, {"reciprocal", z_reciprocal, 4},
    {"rsqrt", z_rsqrt, 8},   {"sigmoid", z_sigmoid, 10},  {"sign", z_sign, 4},
    {"sin", csinl, 6},       {"sinh", csinhl, 6},         {"sqrt", csqrtl, 4},
    {"square", z_square, 4}, {"tan", ctanl, 8},           {"tanh", ctanhl, 8},
};
enum { UNARIES = sizeof unaries / sizeof *unaries, MANY = 500 };

static uint32_t random_state = 1;
static double uniform(double low, double high)
{
    random_state = random_state * 1664525u + 1013904223u;
    return low + (high - low) * (random_state >> 8) / 16777216.0;
}

/* An array of n numbers in a complex dtype; z becomes the numbers as rounded. */
static ig_array *array_of(number *z, int n, ig_dtype dtype)
{
    float single[2 * MANY];
    double twice[2 * MANY];
    for (int i = 0; i < n; i++) {
        single[2 * i] = (float)creall(z[i]);
        single[2 * i + 1] = (float)cimagl(z[i]);
        twice[2 * i] = (double)creall(z[i]);
        twice[2 * i + 1] = (double)cimagl(z[i]);
        z[i] = dtype == IG_C64 ? CMPLXL(single[2 * i], single[2 * i + 1])
                               : CMPLXL(twice[2 * i], twice[2 * i + 1]);
    }
    return ig_from_data(dtype == IG_C64 ? (void *)single : twice, IG_SHAPE(n), dtype);
}

static number element(ig_array *x, int i)
{
    const void *data = ig_data(x);
    assert_non_null(data);
    const float *single = data;
    const double *twice = data;
    return ig_dtype_of(x) == IG_C64 ? CMPLXL(single[2 * i], single[2 * i + 1])
                                    : CMPLXL(twice[2 * i], twice[2 * i + 1]);
}

static ig_array *call(const char *name, ig_array *x)
{
    ig_array *y = NULL;
    const ig_arg arg = {.kind = IG_ARG_ARRAY, .u.array = x};
    if (ig_call(name, &arg, 1, &y, 1) != 1)
        fail_msg("%s: %s", name, ig_error(NULL));
    return y;
}

static double unit(ig_dtype dtype) { return dtype == IG_C64 ? FLT_EPSILON / 2 : DBL_EPSILON / 2; }

/* Fails unless got is within ulp units of want; results outside the range of the dtype are not compared. */
static void expect_near(const char *name, ig_dtype dtype, number z, number got, number want,
                        double ulp)
{
    const long double size = cabsl(want), most = dtype == IG_C64 ? FLT_MAX : DBL_MAX;
    const long double least = dtype == IG_C64 ? FLT_MIN : DBL_MIN;
    if (!(size < most) || size < least)
        return;
    const long double error = cabsl(got - want) / size / unit(dtype);
    if (!(error <= (ulp == 0 ? 0 : ulp)))
        fail_msg("%s of %s (%.17Lg, %.17Lg): (%.17Lg, %.17Lg), not (%.17Lg, %.17Lg): %.1Lf ulp",
                 name, ig_dtype_name(dtype), creall(z), cimagl(z), creall(got), cimagl(got),
                 creall(want), cimagl(want), error);
}

static void check_unary(const struct unary *row, ig_dtype dtype, double scale)
{
    number z[MANY];
    ig_scope_begin();
    for (int i = 0; i < MANY; i++) {
        const double angle = uniform(-3.14, 3.14);
        z[i] = i % 5 ? CMPLXL(uniform(-scale, scale), uniform(-scale, scale))
                     : CMPLXL(cos(angle), sin(angle));
    }
    ig_array *x = array_of(z, MANY, dtype), *y = call(row->name, x);
    assert_int_equal(ig_dtype_of(y), dtype);
    /* Near its limits the range of exp decides, not its accuracy: exp2 and sinh scale their argument. */
    for (int i = 0; i < MANY; i++)
        expect_near(row->name, dtype, z[i], element(y, i), row->exact(z[i]),
                    row->ulp * (scale > 10 ? 4 : 1));
    ig_scope_end();
}

static void test_functions(void **state)
{
    (void)state;
    static const double scales[] = {0.01, 1, 6, 60};
    for (int i = 0; i < UNARIES; i++)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            check_unary(&unaries[i], IG_C64, scales[s]);
            check_unary(&unaries[i], IG_C128, scales[s]);
        }
}

/* ---- points where simple formulas fail ---- */

/* Near branch points, zeros and the unit circle, subnormal and largest numbers. The exact values are from a library of
 * 3000 bits. */
static const struct hard {
    const char *name;
    ig_dtype dtype;
    double x, y, re, im;
} hards[] = {
    {"atanh", IG_C64, 0x1p+0, 0x1.4484cp-100, 0x1.1715325f48c8fp+5, 0x1.921fb54442d18p-1},
    {"atanh", IG_C64, 0x1p+0, -0x1p-149, 0x1.9fe3682cd3be4p+5, -0x1.921fb54442d18p-1},
    {"atanh", IG_C64, 0x1.ffffep-1, 0x1.ef2d1p-84, 0x1.d1cb7dea86bcap+2, 0x1.ef2d1f7968fbdp-65},
    {"atan", IG_C64, 0x1.4484cp-100, 0x1p+0, 0x1.921fb54442d18p-1, 0x1.1715325f48c8fp+5},
    {"atan", IG_C64, -0x1p-149, -0x1p+0, -0x1.921fb54442d18p-1, -0x1.9fe3682cd3be4p+5},
    {"atanh", IG_C64, 0x1.fffffep+127, 0x1.555554p+126, 0x1.ccccce99999b6p-129,
     0x1.921fb54442d18p+0},
    {"log1p", IG_C64, -0x1.0c6f7ap-21, 0x1.0624dep-10, 0x1.8745b8fb05d94p-43,
     0x1.0624e0dd01e66p-10},
    {"log1p", IG_C64, -0x1.f56bfcp-4, 0x1.eaee88p-2, 0x1.0fdc901be9692p-27, 0x1.000000459719dp-1},
    {"log1p", IG_C64, 0x1p-149, 0x1p-149, 0x1p-149, 0x1p-149},
    {"log1p", IG_C64, -0x1.ffffep-1, 0x1.b7cdfep-34, -0x1.bb9d3be898f29p+3, 0x1.b7cdfde4f4effp-14},
    {"log", IG_C64, 0x1.333334p-1, 0x1.99999ap-1, 0x1.9999995c28f5dp-26, 0x1.dac66fefb54ecp-1},
    {"log", IG_C64, 0x1.fffffep+127, 0x1.fffffep+127, 0x1.6447141b93429p+6, 0x1.921fb54442d18p-1},
    {"log", IG_C64, 0x1.4p-147, 0x1.8p-148, -0x1.961020ac86339p+6, 0x1.14b1dd5f90ce1p-1},
    {"log2", IG_C64, 0x1.fffffep+127, -0x1.fffffep+127, 0x1.00fffffd1d571p+7,
     -0x1.22123045b5decp+0},
    {"sign", IG_C64, 0x1.4p-147, -0x1.8p-148, 0x1.b7095010f9355p-1, -0x1.076bfcd6fbeccp-1},
    {"sign", IG_C64, 0x1.fffffep+127, 0x1.fffffep+127, 0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bcdp-1},
    {"sign", IG_C64, -0x1.fffffep+127, 0x1p-149, -0x1p+0, 0x1.000001000001p-277},
    {"exp2", IG_C64, 0x1.913334p+6, 0x1.81cd6cp+13, 0x1.2a816cfe8d5e5p+100, -0x1.948d109382334p+98},
    {"exp2", IG_C64, -0x1.d9999ap+1, -0x1.84d99ap+9, 0x1.5949031fdcbe1p-6, 0x1.2f1f18d916fbep-4},
    {"exp2", IG_C64, -0x1.8p+0, -0x1.92dc98p+16, -0x1.d08c2c860036p-3, -0x1.15b4dc462eac6p-2},
    {"exp2", IG_C64, 0x1.2p+1, 0x1.e8486p+19, 0x1.9dec2d6ec6c25p+1, 0x1.be89974d493d2p+1},
    {"exp2", IG_C64, 0x1.3ee66ep+5, 0x1p-149, 0x1.d175da18844bcp+39, 0x1.42a1edda3f2b6p-110},
    {"exp2", IG_C64, 0x1.fb999ap+6, 0x1p-1, 0x1.c14f3f9260ea4p+126, 0x1.4489605c0d9bdp+125},
    {"sqrt", IG_C64, 0x1.79ca1p-67, 0x1p-149, 0x1.b7cdfd28677dcp-34, 0x1.2a05f24f5610fp-117},
    {"asin", IG_C64, 0x1.fffffep+127, 0x1.fffffep+127, 0x1.921fb54442d18p-1, 0x1.670cdc7b7289dp+6},
    {"acos", IG_C64, -0x1.fffffep+127, 0x1.fffffep+126, 0x1.56c6e7397f5aep+1,
     -0x1.661c382aa1509p+6},
    {"acosh", IG_C64, 0x1.fffffep+127, 0x1.fffffep+127, 0x1.670cdc7b7289dp+6, 0x1.921fb54442d18p-1},
    {"asinh", IG_C64, 0x1.fffffep+127, -0x1.fffffep+127, 0x1.670cdc7b7289dp+6,
     -0x1.921fb54442d18p-1},
    {"asin", IG_C64, 0x1.fffffep-1, 0x1.28p-144, 0x1.920914a5da6f9p+0, 0x1.a29b72d0d8af1p-133},
    {"reciprocal", IG_C64, 0x1.fffffep+127, 0x1.555554p+126, 0x1.ccccce99999b6p-129,
     -0x1.333334666667ap-130},
    {"reciprocal", IG_C64, 0x1.4p-147, 0x1.fffffep+127, 0x1.400002800003cp-403,
     -0x1.000001000001p-128},
    {"sigmoid", IG_C64, 0x1.b7cdfep-34, 0x1.921fb6p+1, 0x1.98e6550e5e84cp+13,
     -0x1.5d14767ed8429p+23},
    {"atanh", IG_C128, 0x1p+0, 0x1.87e92154ef7acp-665, 0x1.cd35cd6cad20fp+7, 0x1.921fb54442d18p-1},
    {"atan", IG_C128, 0x0.0000000000001p-1022, 0x1p+0, 0x1.921fb54442d18p-1, 0x1.74910d52d3052p+8},
    {"log1p", IG_C128, -0x1.19799812dea11p-41, 0x1.0c6f7a0b5ed8dp-20, 0x1.3565dadaa02bfp-83,
     0x1.0c6f7a0b5f0ap-20},
    {"log", IG_C128, 0x1.3333333333333p-1, 0x1.999999999999ap-1, 0x1.999999999999ap-56,
     0x1.dac670561bb5p-1},
    {"sign", IG_C128, 0x0.00000000007e8p-1022, -0x0.000000000025fp-1022, 0x1.ea6b9eed263e7p-1,
     -0x1.2627c2bd4b4d6p-2},
    {"sign", IG_C128, 0x1.e42d130773b76p+1023, 0x1.e42d130773b76p+1023, 0x1.6a09e667f3bcdp-1,
     0x1.6a09e667f3bcdp-1},
    {"exp2", IG_C128, 0x1.8p-1, -0x1.fffffcccccccdp+19, -0x1.707fe0d933101p+0,
     0x1.bd4b82810c3f2p-1},
    {"exp2", IG_C128, 0x1.f426666666666p+9, 0x1.81cd6c8b43958p+13, 0x1.2a8607a341309p+1000,
     -0x1.945490a2eec07p+998},
    {"asin", IG_C128, 0x1.e42d130773b76p+1023, 0x1.e42d130773b76p+1023, 0x1.921fb54442d18p-1,
     0x1.63621e8fc0d5ep+9},
    {"reciprocal", IG_C128, 0x1.e42d130773b76p+1023, 0x1.1ccf385ebc8ap+1023,
     0x0.3247aaee47ec1p-1022, -0x0.1d9391b9577bdp-1022},
    {"sigmoid", IG_C128, 0x1.79ca10c924223p-67, 0x1.921fb54442d18p+1, 0x1.367d96a02e0c9p+39,
     0x1.d029678f3054dp+52},
};

/* Both parts are within 8 units of their own last place; for sigmoid next to its pole, of the absolute value. */
static void test_hard_points(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hards / sizeof *hards; i++) {
        const struct hard *h = &hards[i];
        number z = CMPLXL(h->x, h->y);
        const bool together = strcmp(h->name, "sigmoid") == 0;
        const double size = hypot(h->re, h->im), eps = 2 * unit(h->dtype),
                     least = h->dtype == IG_C64 ? 0x1p-149 : 0x1p-1074;
        ig_scope_begin();
        const number got = element(call(h->name, array_of(&z, 1, h->dtype)), 0);
        const double re = fmax(8 * eps * (together ? size : fabs(h->re)), least);
        const double im = fmax(8 * eps * (together ? size : fabs(h->im)), least);
        if (!(fabsl(creall(got) - h->re) <= re && fabsl(cimagl(got) - h->im) <= im))
            fail_msg("%s of %s (%g, %g): (%.17Lg, %.17Lg), not (%.17g, %.17g)", h->name,
                     ig_dtype_name(h->dtype), h->x, h->y, creall(got), cimagl(got), h->re, h->im);
        ig_scope_end();
    }
    /* The first pivot is near the largest float. */
    const double s = (float)3e38;
    number m[4] = {CMPLXL(s, s), 1, 2, (float)(1 / s)};
    ig_array *matrix = ig_reshape(array_of(m, 4, IG_C64), IG_SHAPE(2, 2));
    expect_near("det", IG_C64, m[0], element(ig_det(matrix), 0), CMPLXL(-1, 1), 8);
    /* A determinant that overflows: its parts that are zero stay zero. */
    number large[4] = {1e30L, 0, 0, 1e30L};
    matrix = ig_reshape(array_of(large, 4, IG_C64), IG_SHAPE(2, 2));
    const number real = element(ig_det(matrix), 0);
    assert_true(creall(real) == INFINITY && cimagl(real) == 0);
    const number both = element(ig_det(ig_add(matrix, ig_multiply(matrix, ig_imaginary(2)))), 0);
    assert_true(creall(both) == -INFINITY && cimagl(both) == INFINITY);
}

/* ---- special values ---- */

static bool same(long double got, long double want)
{
    if (isnan(want))
        return isnan(got);
    if (isinf(want) || want == 0)
        return got == want;
    return fabsl(got - want) <= 8 * FLT_EPSILON * fabsl(want);
}

/* Zeros, infinities and NaN in both parts: what Annex G of the C standard requires. It leaves some signs of
 * infinities and zeros open, so signs are not compared. */
static void test_special_values(void **state)
{
    (void)state;
    static const struct unary rows[] = {
        {"exp", cexpl, 0},     {"log", clogl, 0},     {"sqrt", csqrtl, 0},  {"sinh", csinhl, 0},
        {"cosh", ccoshl, 0},   {"tanh", ctanhl, 0},   {"sin", csinl, 0},    {"cos", ccosl, 0},
        {"tan", ctanl, 0},     {"asin", casinl, 0},   {"acos", cacosl, 0},  {"atan", catanl, 0},
        {"asinh", casinhl, 0}, {"acosh", cacoshl, 0}, {"atanh", catanhl, 0}};
    static const long double v[] = {0.0L, -0.0L, 1, -1, INFINITY, -INFINITY, NAN};
    enum { N = sizeof v / sizeof *v };
    number z[N * N];
    for (int i = 0; i < N * N; i++)
        z[i] = CMPLXL(v[i / N], v[i % N]);
    ig_scope_begin();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ig_array *y = call(rows[r].name, array_of(z, N * N, IG_C64));
        for (int i = 0; i < N * N; i++) {
            const number got = element(y, i), want = rows[r].exact(z[i]);
            const bool fine = same(fabsl(creall(got)), fabsl(creall(want))) &&
                              same(fabsl(cimagl(got)), fabsl(cimagl(want)));
            if (!fine)
                fail_msg("%s(%Lg, %Lg): (%Lg, %Lg), not (%Lg, %Lg)", rows[r].name, creall(z[i]),
                         cimagl(z[i]), creall(got), cimagl(got), creall(want), cimagl(want));
        }
    }
    ig_scope_end();
}

/* ---- arithmetic ---- */

static void test_arithmetic(void **state)
{
    (void)state;
    for (ig_dtype dtype = IG_C64; dtype <= IG_C128; dtype++) {
        number a[MANY], b[MANY];
        ig_scope_begin();
        for (int i = 0; i < MANY; i++) {
            const double size = ldexp(1, i % 60 - 30);
            a[i] = CMPLXL(uniform(-9, 9), uniform(-9, 9));
            b[i] = CMPLXL(uniform(-1, 1) * size, uniform(-1, 1) * size);
        }
        ig_array *x = array_of(a, MANY, dtype), *y = array_of(b, MANY, dtype);
        ig_array *r = ig_real(y);
        ig_array *sum = ig_add(x, y), *product = ig_multiply(x, y), *quotient = ig_divide(x, y);
        ig_array *scaled = ig_multiply(r, x), *share = ig_divide(x, r),
                 *cube = ig_pow(x, ig_int(3));
        ig_array *power = ig_pow(x, ig_multiply(y, ig_float(1e-3)));
        (void)power;
        for (int i = 0; i < MANY; i++) {
            const long double re = creall(b[i]);
            expect_near("add", dtype, a[i], element(sum, i), a[i] + b[i], 2);
            expect_near("multiply", dtype, a[i], element(product, i), a[i] * b[i], 4);
            expect_near("divide", dtype, a[i], element(quotient, i), a[i] / b[i], 6);
            expect_near("multiply by real", dtype, a[i], element(scaled, i), a[i] * re, 2);
            expect_near("divide by real", dtype, a[i], element(share, i), a[i] / re, 2);
            expect_near("pow 3", dtype, a[i], element(cube, i), a[i] * a[i] * a[i], 8);
        }
        ig_scope_end();
    }
}

/* A quotient neither overflows nor underflows on the way. */
static void test_far_quotients(void **state)
{
    (void)state;
    static const double far[] = {1e30, 1e-30, 3e37, 2e-37};
    ig_scope_begin();
    for (int i = 0; i < 4; i++) {
        number a = CMPLXL(far[i], 2 * far[i]), b = CMPLXL(-far[i], far[i]);
        ig_array *x = array_of(&a, 1, IG_C64), *y = array_of(&b, 1, IG_C64);
        expect_near("divide", IG_C64, a, element(ig_divide(x, y), 0), a / b, 6);
        expect_near("reciprocal", IG_C64, a, element(ig_reciprocal(x), 0), 1 / a, 6);
    }
    ig_scope_end();
}

/* ---- dtypes ---- */

static void test_promotion(void **state)
{
    (void)state;
    ig_scope_begin();
    ig_array *f32 = ig_ones(IG_SHAPE(2), IG_F32), *f64 = ig_ones(IG_SHAPE(2), IG_F64),
             *i32 = ig_ones(IG_SHAPE(2), IG_I32);
    ig_array *j = ig_imaginary(0.1);
    assert_int_equal(ig_promote(IG_C64, IG_F32), IG_C64);
    assert_int_equal(ig_promote(IG_C64, IG_F64), IG_C128);
    assert_int_equal(ig_promote(IG_F64, IG_C64), IG_C128);
    assert_int_equal(ig_promote(IG_C128, IG_I8), IG_C128);
    assert_int_equal(ig_promote(IG_C64, IG_C128), IG_C128);
    assert_int_equal(ig_dtype_of(ig_add(f32, j)), IG_C64);
    assert_int_equal(ig_dtype_of(ig_add(j, f64)), IG_C128);
    assert_int_equal(ig_dtype_of(ig_multiply(i32, j)), IG_C64);
    assert_int_equal(ig_dtype_of(ig_abs(ig_add(f64, j))), IG_F64);
    /* 1 + 0.1j keeps its digits until it meets a dtype. */
    assert_true(element(ig_multiply(f64, ig_add(ig_int(1), j)), 0) == CMPLXL(1, 0.1));
    assert_int_equal(ig_dtype_of(ig_complex(f32, f64)), IG_C128);
    assert_true(ig_isdtype(IG_C64, "complex floating") && ig_isdtype(IG_C128, "numeric"));
    assert_int_equal(ig_dtype_parse("complex64"), IG_C64);
    ig_scope_end();
}

static void expect_refused(ig_array *x, const char *words)
{
    assert_null(x);
    const char *message = ig_error(NULL);
    assert_non_null(message);
    if (!strstr(message, words))
        fail_msg("'%s' does not say '%s'", message, words);
}

static void test_refusals(void **state)
{
    (void)state;
    ig_scope_begin();
    number v[2] = {CMPLXL(1, 2), CMPLXL(0, 3)};
    ig_array *z = array_of(v, 2, IG_C64);
    expect_refused(ig_less(z, z), "no order");
    expect_refused(ig_maximum(z, z), "no order");
    expect_refused(ig_sort(z, 0, false, true), "complex");
    expect_refused(ig_softmax(z, IG_AXES(0)), "complex");
    expect_refused(ig_floor(z), "complex");
    expect_refused(ig_astype(z, IG_F32), "real(x)");
    expect_refused(ig_complex(z, z), "real");
    expect_refused(ig_sum(z, IG_NONE, IG_I32, false), "i32");
    expect_refused(ig_prod(z, IG_NONE, IG_I32, false), "i32");
    expect_refused(ig_cumulative_prod(z, IG_NONE, IG_F32, false), "f32");
    assert_true(isnan(ig_item(ig_sum(z, IG_NONE, IG_DTYPE_NONE, false))));
    assert_non_null(strstr(ig_error(NULL), "complex"));
    ig_array *g;
    assert_int_not_equal(ig_grad(ig_sum(z, IG_NONE, IG_DTYPE_NONE, false), &z, 1, &g), IG_OK);
    assert_non_null(strstr(ig_error(NULL), "real"));
    ig_scope_end();
}

/* ---- moves, reductions, products ---- */

static void test_moves(void **state)
{
    (void)state;
    number v[6];
    ig_scope_begin();
    for (int i = 0; i < 6; i++)
        v[i] = CMPLXL(i, 10 + i);
    ig_array *z = ig_reshape(array_of(v, 6, IG_C64), IG_SHAPE(2, 3));
    ig_array *t = ig_matrix_transpose(z);
    assert_int_equal(ig_dim(t, 0), 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            assert_true(element(t, 2 * i + k) == v[3 * k + i]);
    ig_array *row =
        ig_get(z,
               (const ig_index[]){
                   {.kind = IG_INDEX_INT, .start = 1},
                   {.kind = IG_INDEX_SLICE, .start = INT64_MIN, .stop = INT64_MIN, .step = -1}},
               2);
    for (int i = 0; i < 3; i++)
        assert_true(element(row, i) == v[5 - i]);
    ig_array *both =
        ig_concat((ig_array *const[]){row, ig_ones(IG_SHAPE(2), IG_F32)}, 2, IG_AXES(0));
    assert_int_equal(ig_dtype_of(both), IG_C64);
    assert_true(element(both, 2) == v[3] && element(both, 4) == 1);
    ig_array *chosen = ig_where(ig_greater(ig_real(z), ig_float(2)), z, ig_imaginary(1));
    assert_true(element(chosen, 0) == CMPLXL(0, 1) && element(chosen, 4) == v[4]);
    ig_array *taken =
        ig_take(z, ig_from_data((const int64_t[]){2, 0}, IG_SHAPE(2), IG_I64), IG_AXES(1));
    assert_true(element(taken, 0) == v[2] && element(taken, 3) == v[3]);
    assert_true(element(ig_zeros(IG_SHAPE(2), IG_C128), 1) == 0);
    assert_true(element(ig_full(IG_SHAPE(2), ig_imaginary(2), IG_C64), 1) == CMPLXL(0, 2));
    ig_scope_end();
}

static void test_reductions(void **state)
{
    (void)state;
    enum { N = 7 };
    number v[N], sum = 0, product = 1;
    ig_scope_begin();
    for (int i = 0; i < N; i++) {
        v[i] = CMPLXL(uniform(-2, 2), uniform(-2, 2));
    }
    ig_array *z = array_of(v, N, IG_C128),
             *running = ig_cumulative_prod(z, IG_AXES(0), IG_DTYPE_NONE, true);
    assert_true(element(running, 0) == 1);
    long double spread = 0;
    for (int i = 0; i < N; i++) {
        sum += v[i];
        product *= v[i];
        expect_near("cumulative_prod", IG_C128, v[i], element(running, i + 1), product, 20);
    }
    for (int i = 0; i < N; i++)
        spread += powl(cabsl(v[i] - sum / N), 2) / N;
    expect_near("sum", IG_C128, 0, element(ig_sum(z, IG_NONE, IG_DTYPE_NONE, false), 0), sum, 8);
    expect_near("mean", IG_C128, 0, element(ig_mean(z, IG_NONE, false), 0), sum / N, 8);
    expect_near("prod", IG_C128, 0, element(ig_prod(z, IG_NONE, IG_DTYPE_NONE, false), 0), product,
                20);
    assert_true(fabs(ig_item(ig_var(z, IG_NONE, 0, false)) - (double)spread) <
                1e-14 * (double)spread * 10);
    assert_int_equal(
        ig_item_int(ig_count_nonzero(
            ig_subtract(z, ig_get(z, &(ig_index){.kind = IG_INDEX_INT}, 1)), IG_NONE, false)),
        N - 1);
    assert_true(element(ig_prod(ig_zeros(IG_SHAPE(3, 0), IG_C64), IG_AXES(1), IG_DTYPE_NONE, false),
                        2) == 1);
    ig_scope_end();
}

static void test_products(void **state)
{
    (void)state;
    enum { M = 5, K = 9, N = 4 };
    for (ig_dtype dtype = IG_C64; dtype <= IG_C128; dtype++) {
        number a[M * K], b[K * N];
        ig_scope_begin();
        for (int i = 0; i < M * K; i++)
            a[i] = CMPLXL(uniform(-1, 1), uniform(-1, 1));
        for (int i = 0; i < K * N; i++)
            b[i] = CMPLXL(uniform(-1, 1), uniform(-1, 1));
        ig_array *x = ig_reshape(array_of(a, M * K, dtype), IG_SHAPE(M, K));
        ig_array *y = ig_reshape(array_of(b, K * N, dtype), IG_SHAPE(K, N));
        ig_array *c = ig_matmul(x, y), *e = ig_einsum("mk,kn->nm", (ig_array *const[]){x, y}, 2);
        ig_array *d = ig_vecdot(x, x, -1), *half = ig_matmul(ig_real(x), y);
        for (int i = 0; i < M; i++) {
            number norm = 0;
            for (int n = 0; n < N; n++) {
                number sum = 0, real_sum = 0;
                for (int k = 0; k < K; k++) {
                    sum += a[i * K + k] * b[k * N + n];
                    real_sum += creall(a[i * K + k]) * b[k * N + n];
                }
                expect_near("matmul", dtype, sum, element(c, i * N + n) + 4, sum + 4, 20);
                expect_near("einsum", dtype, sum, element(e, n * M + i) + 4, sum + 4, 20);
                expect_near("matmul of a real array", dtype, sum, element(half, i * N + n) + 4,
                            real_sum + 4, 20);
            }
            for (int k = 0; k < K; k++)
                norm += conjl(a[i * K + k]) * a[i * K + k];
            expect_near("vecdot", dtype, norm, element(d, i), norm, 20);
        }
        ig_scope_end();
    }
}

/* ---- gradients ---- */

/* The loss: a real function of f(z), different in both parts. */
static ig_array *loss_of(const char *name, ig_array *z)
{
    ig_array *y = call(name, z);
    ig_array *parts =
        ig_add(ig_multiply(ig_real(y), ig_float(0.7)), ig_multiply(ig_imag(y), ig_float(-1.3)));
    return ig_sum(parts, IG_NONE, IG_DTYPE_NONE, false);
}

static double loss_at(const char *name, number z)
{
    return ig_item(loss_of(name, array_of(&z, 1, IG_C128)));
}

/* The gradient by z = x + iy is d/dx - i d/dy. */
static void test_gradients(void **state)
{
    (void)state;
    static const number at[] = {0.6L + 0.3Li, -0.4L + 0.8Li, 1.7L - 0.9Li, -1.2L - 0.5Li};
    const double step = 1e-5;
    for (int i = 0; i < UNARIES; i++)
        for (int k = 0; k < 4; k++) {
            ig_scope_begin();
            number z = at[k];
            const char *name = unaries[i].name;
            ig_array *x = array_of(&z, 1, IG_C128), *g;
            if (ig_grad(loss_of(name, x), &x, 1, &g) != IG_OK)
                fail_msg("%s: %s", name, ig_error(NULL));
            const double dx = (loss_at(name, z + step) - loss_at(name, z - step)) / (2 * step);
            const double dy =
                (loss_at(name, z + CMPLXL(0, step)) - loss_at(name, z - CMPLXL(0, step))) /
                (2 * step);
            const number got = element(g, 0), want = CMPLXL(dx, -dy);
            if (!(cabsl(got - want) <= 1e-7L * (1 + cabsl(want))))
                fail_msg("gradient of %s at (%Lg, %Lg): (%.10Lg, %.10Lg), not (%.10Lg, %.10Lg)",
                         name, creall(z), cimagl(z), creall(got), cimagl(got), creall(want),
                         cimagl(want));
            ig_scope_end();
        }
}

/* Gradients of a parameter that was evaluated, and that several values use; vjp of a holomorphic function. */
static void test_gradients_of_parameters(void **state)
{
    (void)state;
    ig_scope_begin();
    number v[2] = {CMPLXL(1, 2), CMPLXL(-3, 0.5)};
    ig_array *z = ig_multiply(array_of(v, 2, IG_C128), ig_float(1)), *g;
    assert_int_equal(ig_eval(&z, 1), IG_OK);
    ig_array *size = ig_abs(z),
             *loss = ig_sum(ig_add(ig_square(size), ig_real(z)), IG_NONE, IG_DTYPE_NONE, false);
    assert_int_equal(ig_grad(loss, &z, 1, &g), IG_OK);
    for (int i = 0; i < 2; i++)
        expect_near("grad", IG_C128, v[i], element(g, i), 2 * conjl(v[i]) + 1, 8);
    ig_array *y = ig_exp(z), *seed = ig_full(IG_SHAPE(2), ig_imaginary(1), IG_C128);
    assert_int_equal(ig_vjp(&y, &seed, 1, &z, 1, &g), IG_OK);
    for (int i = 0; i < 2; i++)
        expect_near("vjp", IG_C128, v[i], element(g, i), CMPLXL(0, 1) * cexpl(v[i]), 8);
    ig_scope_end();
}

static void test_vmap(void **state)
{
    (void)state;
    ig_scope_begin();
    number v[6];
    for (int i = 0; i < 6; i++)
        v[i] = CMPLXL(i - 2, 0.5 * i);
    ig_array *all = ig_reshape(array_of(v, 6, IG_C64), IG_SHAPE(3, 2)),
             *one = ig_ones(IG_SHAPE(2), IG_C64), *y, *ys;
    y = ig_sum(ig_square(one), IG_NONE, IG_DTYPE_NONE, false);
    assert_int_equal(ig_vmap(&y, 1, &one, &all, (const int[]){0}, 1, &ys), IG_OK);
    for (int i = 0; i < 3; i++)
        expect_near("vmap", IG_C64, v[i], element(ys, i),
                    v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1], 4);
    ig_scope_end();
}

/* ---- files and text ---- */

static void test_files(void **state)
{
    (void)state;
    char path[] = "/tmp/ingot-complex-XXXXXX.npy";
    const int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    ig_scope_begin();
    for (ig_dtype dtype = IG_C64; dtype <= IG_C128; dtype++) {
        number v[3] = {CMPLXL(1, -2), CMPLXL(0.5, 1e-3), CMPLXL(INFINITY, 0)};
        assert_int_equal(ig_save(path, array_of(v, 3, dtype)), IG_OK);
        ig_array *x = ig_load(path);
        assert_non_null(x);
        assert_int_equal(ig_dtype_of(x), dtype);
        for (int i = 0; i < 3; i++)
            assert_true(element(x, i) == v[i]);
    }
    ig_scope_end();
    unlink(path);
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        number v[3];
        const char *text;
    } rows[] = {
        {{1, CMPLXL(0, -2), CMPLXL(2.5, 0.25)}, "[1. +0.j   0. -2.j   2.5+0.25j]"},
        {{CMPLXL(1e10, 2), CMPLXL(0, 3e-5), CMPLXL(NAN, 1)},
         "[1.e+10+2.e+00j 0.e+00+3.e-05j    nan+1.e+00j]"},
    };
    ig_scope_begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        number v[3];
        memcpy(v, rows[i].v, sizeof v);
        char *text = ig_to_string(array_of(v, 3, IG_C64), false);
        assert_string_equal(text, rows[i].text);
        ig_free(text);
    }
    number one = CMPLXL(1, -2);
    char *text =
        ig_to_string(ig_sum(array_of(&one, 1, IG_C64), IG_NONE, IG_DTYPE_NONE, false), false);
    assert_string_equal(text, "(1-2j)");
    ig_free(text);
    ig_scope_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),      cmocka_unit_test(test_hard_points),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_far_quotients),  cmocka_unit_test(test_promotion),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_moves),
        cmocka_unit_test(test_reductions),     cmocka_unit_test(test_products),
        cmocka_unit_test(test_gradients),      cmocka_unit_test(test_gradients_of_parameters),
        cmocka_unit_test(test_vmap),           cmocka_unit_test(test_files),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
