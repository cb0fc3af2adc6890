/* The error of sums of floats is at most depth(n) * eps / 2 * sum |x|, for any length, order of the values and layout,
 * and for random values similar to NumPy's pairwise sums. Values are integers times a power of two, so exact sums are
 * integers. IG_TEST_LARGE=1 adds sums of 2^32 values. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if the device is the CPU, where long sums take almost no time. */
static bool on_cpu(void)
{
    const char *device = getenv("IG_DEVICE");
    return (!device || !strcmp(device, "cpu")) && !getenv("IG_TEST_EMULATED");
}

static ig_array *sum_of(ig_array *x) { return ig_sum(x, IG_NONE, IG_DTYPE_NONE, false); }

/* The most additions that one of n values takes part in: in its lane, then joining lanes and chunks. */
static int depth(int64_t n)
{
    const int64_t chunk = n < 1024 ? n : 1024, chunks = (n + 1023) / 1024;
    int d = (int)((chunk + 31) / 32) - 1;
    for (int64_t have = chunk < 32 ? chunk : 32; have > 1; have = (have + 1) / 2)
        d++;
    for (int64_t have = chunks; have > 1; have = (have + 1) / 2)
        d++;
    return d;
}

/* found = exact * 2^scale, with the error of n values whose absolute values sum up to size * 2^scale. They are added
 * with `digits` digits, and the result is rounded to `kept` digits. */
typedef struct sum_case {
    int64_t n, exact;
    double size;
    int scale, digits, kept;
} sum_case;

static void expect_near(double found, const sum_case *c, const char *what)
{
    const double units = ldexp(found, -c->scale), each = ldexp(depth(c->n), -c->digits);
    int exponent;
    frexp(found, &exponent);
    const double rounding = c->kept < c->digits ? ldexp(0.5, exponent - c->kept - c->scale) : 0;
    const double bound = each / (1 - each) * c->size + rounding;
    /* Both are integers, or the bound is more than 1; the difference is exact if it is small. */
    const double off = (double)((int64_t)units - c->exact) + (units - floor(units));
    if (!(fabs(off) <= bound))
        fail_msg("%s: the sum is %.17g, off by %g of its bound", what, found, fabs(off) / bound);
}

/* x as an integer times 2^*scale. */
static int64_t integer_of(double x, int digits, int *scale)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    *scale = exponent - digits;
    return (int64_t)ldexp(fraction, digits);
}

/* ---- constants: arrays of one number that take no memory ---- */

static void check_constant(float x, int64_t n)
{
    char what[80];
    int scale;
    ig_scope_begin();
    const int64_t unit = integer_of(x, 24, &scale);
    snprintf(what, sizeof what, "%lld values %.9g", (long long)n, (double)x);
    ig_array *all = ig_full(IG_SHAPE(n), ig_scalar(x, IG_F32), IG_F32);
    const sum_case c = {n, n * unit, fabs((double)(n * unit)), scale, 24, 24};
    expect_near(ig_item(sum_of(all)), &c, what);
    ig_scope_end();
}

static const float constants[] = {0.1F,     1 / 3.0F, 0.7F,  1.9999999F, 1.0000001F,
                                  123.456F, 3e-39F,   -0.1F, -1e9F};
enum { CONSTANTS = sizeof constants / sizeof *constants };

static void test_constants(void **state)
{
    static const int64_t sizes[] = {1,    2,     3,      31,      32,       33,
                                    64,   100,   1000,   1023,    1024,     1025,
                                    4096, 10000, 100000, 1000003, 20000000, 1 << 28};
    (void)state;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int c = 0; c < CONSTANTS; c++)
            if (on_cpu() ? sizes[i] < 1 << 28 || c == 0 : sizes[i] <= 100000 && c % 3 == 0)
                check_constant(constants[c], sizes[i]);
}

static void test_most_values(void **state)
{
    (void)state;
    if (!getenv("IG_TEST_LARGE"))
        skip();
    for (int c = 0; c < CONSTANTS; c++)
        check_constant(constants[c], (int64_t)1 << 32);
}

/* ---- data ---- */

static uint64_t random_state = 88172645463325252U;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { MOST = 1 << 18, RANDOM = 0, UP, DOWN, ORDERS };

enum { POSITIVE, NEGATIVE, BOTH, SIGNS };

/* n integers of 24 bits times powers of two up to 2^spread. */
static sum_case fill(float *x, int64_t n, int spread, int order, int signs)
{
    sum_case c = {.n = n, .digits = 24, .kept = 24};
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = next_random();
        const int64_t v = (int64_t)((r >> 40 | 1 << 23) << (spread ? r % (unsigned)spread : 0));
        const bool negative = signs == NEGATIVE || (signs == BOTH && r >> 39 & 1);
        x[i] = (float)(negative ? -v : v);
        c.exact += negative ? -v : v;
        c.size += (double)v;
    }
    if (order != RANDOM)
        qsort(x, (size_t)n, sizeof *x, ascending);
    for (int64_t i = 0; order == DOWN && i < n / 2; i++) {
        const float t = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = t;
    }
    return c;
}

/* The sum along each axis of copies of x, and of its products. */
static void check_data(const float *x, const sum_case *c, const char *what)
{
    const int64_t n = c->n;
    ig_scope_begin();
    ig_array *row = ig_from_data(x, IG_SHAPE(n), IG_F32), *one = ig_scalar(1, IG_F32);
    ig_array *column =
        ig_multiply(ig_reshape(row, IG_SHAPE(n, 1)), ig_ones(IG_SHAPE(1, 3), IG_F32));
    assert_int_equal(ig_eval(&column, 1), IG_OK);
    expect_near(ig_item(sum_of(row)), c, what);
    expect_near(ig_item(sum_of(ig_multiply(row, one))), c, what);
    ig_array *across = ig_sum(column, IG_AXES(0), IG_DTYPE_NONE, false);
    const float *each = ig_data(across);
    const float alone = (float)ig_item(sum_of(row));
    for (int i = 0; i < 3; i++)
        assert_true(each[i] == alone);
    assert_true((float)ig_item(ig_mean(row, IG_NONE, false)) == alone / (float)n);
    ig_scope_end();
}

static void test_data(void **state)
{
    static const int64_t sizes[] = {2, 5, 17, 40, 64, 100, 777, 1024, 3000, 50000, MOST};
    static float x[MOST];
    (void)state;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int k = 0; k < ORDERS * SIGNS * 2; k++) {
            char what[80];
            const int64_t n = sizes[i];
            const int spread = k & 1 ? 20 : 0, order = k / 2 % ORDERS, signs = k / 2 / ORDERS;
            if (!on_cpu() && (n > 3000 || k % 5))
                continue;
            for (int again = 0; again < (n < 1000 && on_cpu() ? 20 : 1); again++) {
                const sum_case c = fill(x, n, spread, order, signs);
                snprintf(what, sizeof what, "%lld values, spread %d, order %d, signs %d",
                         (long long)n, spread, order, signs);
                check_data(x, &c, what);
            }
        }
}

/* A pairwise sum as NumPy's: blocks of at most 128 values in 8 running sums, and halves above. */
static float pairwise(const float *x, int64_t n)
{
    if (n > 128) {
        const int64_t half = n / 2 - n / 2 % 8;
        return pairwise(x, half) + pairwise(x + half, n - half);
    }
    float run[8], rest = 0;
    int64_t i = 8;
    for (int64_t j = 0; n < 8 && j < n; j++)
        rest += x[j];
    if (n < 8)
        return rest;
    memcpy(run, x, sizeof run);
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++)
            run[j] += x[i + j];
    float sum = ((run[0] + run[1]) + (run[2] + run[3])) + ((run[4] + run[5]) + (run[6] + run[7]));
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static void test_pairwise(void **state)
{
    static const int64_t sizes[] = {20, 100, 300, 1000, 3000, 20000, 100000};
    static float x[MOST];
    (void)state;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes) && on_cpu(); i++)
        for (int signs = POSITIVE; signs < SIGNS; signs++) {
            const int64_t n = sizes[i];
            double ours = 0, theirs = 0;
            for (int again = 0; again < 200; again++) {
                const sum_case c = fill(x, n, 0, RANDOM, signs);
                ig_scope_begin();
                const double off =
                    ig_item(sum_of(ig_from_data(x, IG_SHAPE(n), IG_F32))) - (double)c.exact;
                const double off_2 = (double)pairwise(x, n) - (double)c.exact;
                ig_scope_end();
                ours += off * off;
                theirs += off_2 * off_2;
            }
            if (sqrt(ours) > 1.5 * sqrt(theirs))
                fail_msg("%lld values, signs %d: the error is %.2f of a pairwise sum's",
                         (long long)n, signs, sqrt(ours / theirs));
        }
}

/* 16-bit floats are added in f32; f64 in f64. */
static void test_other_formats(void **state)
{
    int scale;
    (void)state;
    const struct {
        ig_dtype dtype;
        int digits;
        int64_t n;
    } formats[] = {{IG_F16, 11, 16000}, {IG_BF16, 8, 100000}, {IG_F64, 53, 1000}};
    for (int i = 0; i < 3; i++) {
        ig_array *tenth = ig_scalar(0.1, formats[i].dtype);
        const int64_t unit = integer_of(ig_item(tenth), formats[i].digits, &scale);
        ig_array *all = ig_full(IG_SHAPE(formats[i].n), tenth, formats[i].dtype);
        const int64_t n = formats[i].n;
        const int digits = formats[i].dtype == IG_F64 ? 53 : 24;
        const sum_case c = {n, n * unit, (double)(n * unit), scale, digits, formats[i].digits};
        expect_near(ig_item(sum_of(all)), &c, ig_dtype_name(formats[i].dtype));
    }
}

/* The gradient of a broadcast is a sum. */
static void test_gradient(void **state)
{
    int scale;
    (void)state;
    ig_array *x = ig_scalar(2, IG_F32), *grad;
    ig_array *y = ig_multiply(ig_broadcast_to(x, IG_SHAPE(70000)), ig_scalar(0.1, IG_F32));
    assert_int_equal(ig_grad(sum_of(y), &x, 1, &grad), IG_OK);
    const int64_t unit = integer_of((double)0.1F, 24, &scale);
    const sum_case c = {70000, 70000 * unit, 70000.0 * (double)unit, scale, 24, 24};
    expect_near(ig_item(grad), &c, "gradient");
}

/* ---- values that are not finite, and zeros ---- */

static float sum_with(int64_t n, int64_t at, float x, int64_t at_2, float x_2)
{
    static float v[5000];
    for (int64_t i = 0; i < n; i++)
        v[i] = 0.1F;
    v[at] = x;
    v[at_2] = x_2;
    return (float)ig_item(sum_of(ig_from_data(v, IG_SHAPE(n), IG_F32)));
}

static void test_not_finite(void **state)
{
    static const int64_t sizes[] = {3, 40, 5000};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const int64_t n = sizes[i], far = n - 1;
        assert_true(sum_with(n, 0, INFINITY, far, 1) == INFINITY);
        assert_true(sum_with(n, far, -INFINITY, far, -INFINITY) == -INFINITY);
        assert_true(sum_with(n, 1, INFINITY, far, INFINITY) == INFINITY);
        assert_true(isnan(sum_with(n, 0, INFINITY, far, -INFINITY)));
        assert_true(isnan(sum_with(n, 1, NAN, far, 1)));
        assert_true(sum_with(n, 0, 3e38F, far, 3e38F) == INFINITY);
        assert_true(sum_with(n, 0, -3e38F, far, -3e38F) == -INFINITY);
        ig_array *zeros = ig_full(IG_SHAPE(n), ig_scalar(-0.0, IG_F32), IG_F32);
        assert_true(signbit(ig_item(sum_of(zeros))));
        assert_true(!signbit(ig_item(sum_of(ig_zeros(IG_SHAPE(n), IG_F32)))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_constants, begin, end),
        cmocka_unit_test_setup_teardown(test_most_values, begin, end),
        cmocka_unit_test_setup_teardown(test_data, begin, end),
        cmocka_unit_test_setup_teardown(test_pairwise, begin, end),
        cmocka_unit_test_setup_teardown(test_other_formats, begin, end),
        cmocka_unit_test_setup_teardown(test_gradient, begin, end),
        cmocka_unit_test_setup_teardown(test_not_finite, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
