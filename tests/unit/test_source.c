/* Arrays from numbers (source.c), and reductions and index ops that are composed of other ops
 * (composite.c), compared with NumPy. */
#include "support/unit.h"
#include <math.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* x has this dtype and these values, with NaN where expected; with bound, approximately. */
static void expect(ig_array *x, ig_dtype dtype, const double *want, int n, double bound)
{
    if (!x)
        fail_msg("%s", ig_error(NULL));
    assert_string_equal(ig_dtype_name(ig_dtype_of(x)), ig_dtype_name(dtype));
    assert_int_equal(ig_size(x), n);
    const double *have = ig_data(ig_astype(x, IG_F64));
    if (!have)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < n; i++) {
        bool same = isnan(want[i]) ? isnan(have[i])
                                   : have[i] == want[i] || fabs(have[i] - want[i]) <= bound;
        if (!same)
            fail_msg("element %d is %.17g, not %.17g", i, have[i], want[i]);
    }
}

#define EXPECT(x, dtype, ...) \
    expect(x, dtype, (const double[]){__VA_ARGS__}, COUNT(((const double[]){__VA_ARGS__})), 0)
#define EXPECT_NEAR(x, dtype, bound, ...) \
    expect(x, dtype, (const double[]){__VA_ARGS__}, COUNT(((const double[]){__VA_ARGS__})), bound)
#define EXPECT_NOTHING(x, dtype) expect(x, dtype, NULL, 0, 0)

static void expect_shape(const ig_array *x, ig_ints shape)
{
    assert_non_null(x);
    assert_int_equal(ig_ndim(x), shape.n);
    for (int a = 0; a < shape.n; a++)
        assert_int_equal(ig_dim(x, a), shape.v[a]);
}

#define F32(shape, ...) ig_from_data((const float[]){__VA_ARGS__}, shape, IG_F32)
#define F64(shape, ...) ig_from_data((const double[]){__VA_ARGS__}, shape, IG_F64)
#define I32(shape, ...) ig_from_data((const int32_t[]){__VA_ARGS__}, shape, IG_I32)
#define I64(shape, ...) ig_from_data((const int64_t[]){__VA_ARGS__}, shape, IG_I64)
#define BOOLS(shape, ...) ig_from_data((const uint8_t[]){__VA_ARGS__}, shape, IG_BOOL)

static int call(const char *op, const ig_arg *args, int n, ig_array **out)
{
    *out = NULL;
    return ig_call(op, args, n, out, 1);
}

#define CALL(op, out, ...) \
    call(op, (const ig_arg[]){__VA_ARGS__}, COUNT(((const ig_arg[]){__VA_ARGS__})), out)
#define INT(x) \
    { \
        .kind = IG_ARG_INT, .u.i = (x) \
    }
#define FLOAT(x) \
    { \
        .kind = IG_ARG_FLOAT, .u.f = (x) \
    }

/* ---- source ---- */

static void test_constants(void **state)
{
    (void)state;
    uint64_t used = ig_memory_used();
    ig_array *big = ig_zeros(IG_SHAPE(1000000, 1000000), IG_DTYPE_NONE);
    expect_shape(big, IG_SHAPE(1000000, 1000000));
    assert_true(ig_memory_used() - used < 1000);
    EXPECT(ig_zeros(IG_SHAPE(2), IG_I8), IG_I8, 0, 0);
    EXPECT(ig_ones(IG_SHAPE(1, 2), IG_DTYPE_NONE), IG_F32, 1, 1);
    EXPECT(ig_ones(IG_SCALAR, IG_BOOL), IG_BOOL, 1);
    EXPECT(ig_empty(IG_SHAPE(2), IG_F64), IG_F64, 0, 0);
    EXPECT_NOTHING(ig_ones(IG_SHAPE(0, 3), IG_F32), IG_F32);
    EXPECT(ig_full(IG_SHAPE(2), ig_int(7), IG_DTYPE_NONE), IG_I64, 7, 7);
    EXPECT(ig_full(IG_SHAPE(2), ig_float(0.5), IG_DTYPE_NONE), IG_F32, 0.5, 0.5);
    EXPECT(ig_full(IG_SHAPE(2), ig_bool(true), IG_DTYPE_NONE), IG_BOOL, 1, 1);
    EXPECT(ig_full(IG_SHAPE(2), ig_scalar(3, IG_U16), IG_DTYPE_NONE), IG_U16, 3, 3);
    EXPECT(ig_full(IG_SHAPE(2), ig_float(2.75), IG_I32), IG_I32, 2, 2);
    EXPECT(
        ig_full(IG_SHAPE(2), ig_sum(F32(IG_SHAPE(2), 1, 2), IG_NONE, IG_DTYPE_NONE, false), IG_F64),
        IG_F64, 3, 3);
    ig_array *x = I32(IG_SHAPE(2), 5, 6);
    EXPECT(ig_zeros_like(x, IG_DTYPE_NONE), IG_I32, 0, 0);
    EXPECT(ig_empty_like(x, IG_F16), IG_F16, 0, 0);
    EXPECT(ig_ones_like(x, IG_BOOL), IG_BOOL, 1, 1);
    EXPECT(ig_full_like(x, ig_int(9), IG_DTYPE_NONE), IG_I32, 9, 9);
    EXPECT(ig_ones_like(ig_float(3), IG_DTYPE_NONE), IG_F32, 1);
    assert_refused(ig_zeros(IG_SHAPE(2, -1), IG_F32), IG_ERR_SHAPE, "zeros: shape (2, -1)");
    assert_refused(ig_full(IG_SHAPE(2), x, IG_F32), IG_ERR_SHAPE, "full: fill_value has 1 dim");
    assert_refused(ig_full(IG_SHAPE(2), ig_int(300), IG_U8), IG_ERR_ARGUMENT,
                   "300 does not fit u8");
    assert_refused(ig_ones(IG_SHAPE(INT64_MAX, 4), IG_F32), IG_ERR_SHAPE, "more elements");
}

static void test_arange(void **state)
{
    (void)state;
    ig_array *x;
    EXPECT(ig_arange(0, 3, 1, IG_DTYPE_NONE), IG_I64, 0, 1, 2);
    EXPECT(ig_arange(5, -2, -3, IG_DTYPE_NONE), IG_I64, 5, 2, -1);
    EXPECT(ig_arange(1, 2, 0.25, IG_DTYPE_NONE), IG_F32, 1, 1.25, 1.5, 1.75);
    EXPECT(ig_arange(0, 1, 0.1, IG_F64), IG_F64, 0, 0.1, 0.2, 3 * 0.1, 0.4, 0.5, 6 * 0.1, 7 * 0.1,
           0.8, 0.9);
    EXPECT(ig_arange(0, 4, 1.5, IG_I32), IG_I32, 0, 1, 3);
    EXPECT(ig_arange(3, 6, 1, IG_F16), IG_F16, 3, 4, 5);
    EXPECT_NOTHING(ig_arange(3, 3, 1, IG_DTYPE_NONE), IG_I64);
    EXPECT_NOTHING(ig_arange(3, 0, 1, IG_DTYPE_NONE), IG_I64);
    EXPECT_NOTHING(ig_arange(0.5, 0, 0.5, IG_DTYPE_NONE), IG_F32);
    assert_int_equal(CALL("arange", &x, INT(3)), 1);
    EXPECT(x, IG_I64, 0, 1, 2);
    assert_int_equal(CALL("arange", &x, FLOAT(2.5)), 1);
    EXPECT(x, IG_F32, 0, 1, 2);
    /* Every i64 integer is exact, and the length of the whole range does not overflow. */
    assert_int_equal(CALL("arange", &x, INT(INT64_MAX - 2), INT(INT64_MAX)), 1);
    assert_int_equal(((const int64_t *)ig_data(x))[1], INT64_MAX - 1);
    assert_int_equal(CALL("arange", &x, INT(INT64_MIN), INT(INT64_MAX), INT((int64_t)1 << 62)), 1);
    assert_int_equal(ig_size(x), 4);
    assert_int_equal(((const int64_t *)ig_data(x))[3], (int64_t)1 << 62);
    assert_int_equal(CALL("arange", &x, INT(INT64_MAX), INT(INT64_MIN), INT(INT64_MIN)), 1);
    assert_int_equal(ig_size(x), 2);
    assert_refused(ig_arange(0, 3, 0, IG_I64), IG_ERR_ARGUMENT, "step is 0");
    assert_refused(ig_arange(0, INFINITY, 1, IG_F32), IG_ERR_ARGUMENT, "arange: from 0 to inf");
    assert_refused(ig_arange(NAN, 1, 1, IG_F32), IG_ERR_ARGUMENT, "not a number of elements");
    CALL("arange", &x, INT(INT64_MIN), INT(INT64_MAX));
    assert_refused(x, IG_ERR_SHAPE, "more elements");
}

static void test_linspace(void **state)
{
    (void)state;
    EXPECT(ig_linspace(0, 1, 5, IG_DTYPE_NONE, true), IG_F32, 0, 0.25, 0.5, 0.75, 1);
    EXPECT(ig_linspace(0, 1, 4, IG_F64, false), IG_F64, 0, 0.25, 0.5, 0.75);
    EXPECT(ig_linspace(2, -2, 3, IG_F16, true), IG_F16, 2, 0, -2);
    EXPECT(ig_linspace(3, 9, 1, IG_F32, true), IG_F32, 3);
    EXPECT(ig_linspace(3, 9, 1, IG_F32, false), IG_F32, 3);
    EXPECT(ig_linspace(-1, 1, 4, IG_I32, true), IG_I32, -1, -1, 0, 1); /* NumPy floors */
    EXPECT_NOTHING(ig_linspace(3, 9, 0, IG_F32, true), IG_F32);
    ig_array *x = ig_linspace(0.1, 0.7, 1000, IG_F64, true);
    assert_true(((const double *)ig_data(x))[999] == 0.7);
    assert_refused(ig_linspace(0, 1, -1, IG_F32, true), IG_ERR_ARGUMENT, "num is -1");
}

static void test_diagonals(void **state)
{
    (void)state;
    EXPECT(ig_eye(2, -1, 0, IG_DTYPE_NONE), IG_F32, 1, 0, 0, 1);
    EXPECT(ig_eye(2, 3, 1, IG_I8), IG_I8, 0, 1, 0, 0, 0, 1);
    EXPECT(ig_eye(3, 2, -1, IG_BOOL), IG_BOOL, 0, 0, 1, 0, 0, 1);
    EXPECT(ig_eye(2, 2, INT64_MAX, IG_F32), IG_F32, 0, 0, 0, 0);
    EXPECT(ig_eye(2, 2, INT64_MIN, IG_F32), IG_F32, 0, 0, 0, 0);
    expect_shape(ig_eye(0, 3, 0, IG_F32), IG_SHAPE(0, 3));
    ig_array *x = F32(IG_SHAPE(3, 3), 1, NAN, 3, 4, 5, 6, NAN, 8, 9);
    EXPECT(ig_tril(x, 0), IG_F32, 1, 0, 0, 4, 5, 0, NAN, 8, 9);
    EXPECT(ig_tril(x, -1), IG_F32, 0, 0, 0, 4, 0, 0, NAN, 8, 0);
    EXPECT(ig_tril(x, 1), IG_F32, 1, NAN, 0, 4, 5, 6, NAN, 8, 9);
    EXPECT(ig_triu(x, 0), IG_F32, 1, NAN, 3, 0, 5, 6, 0, 0, 9);
    EXPECT(ig_triu(x, 1), IG_F32, 0, NAN, 3, 0, 0, 6, 0, 0, 0);
    ig_array *b = ig_broadcast_to(BOOLS(IG_SCALAR, 1), IG_SHAPE(2, 2, 3));
    EXPECT(ig_triu(b, 0), IG_BOOL, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1);
    assert_refused(ig_tril(F32(IG_SHAPE(2), 1, 2), 0), IG_ERR_SHAPE, "at least 2");
    assert_refused(ig_eye(-1, 2, 0, IG_F32), IG_ERR_SHAPE, "negative");
}

/* ---- clip ---- */

static void test_clip(void **state)
{
    (void)state;
    ig_array *x = F32(IG_SHAPE(4), -3, 0.5, NAN, 9), *i = I32(IG_SHAPE(3), -3, 1, 9);
    EXPECT(ig_clip(x, ig_int(0), ig_float(2.5)), IG_F32, 0, 0.5, NAN, 2.5);
    EXPECT(ig_clip(x, NULL, ig_int(1)), IG_F32, -3, 0.5, NAN, 1);
    EXPECT(ig_clip(x, ig_int(1), NULL), IG_F32, 1, 1, NAN, 9);
    EXPECT(ig_clip(x, NULL, NULL), IG_F32, -3, 0.5, NAN, 9);
    EXPECT(ig_clip(x, ig_int(5), ig_int(2)), IG_F32, 2, 2, NAN, 2); /* the upper bound wins */
    EXPECT(ig_clip(i, ig_int(0), ig_int(5)), IG_I32, 0, 1, 5);
    EXPECT(ig_clip(i, ig_float(0.5), NULL), IG_F32, 0.5, 1, 9);
    EXPECT(ig_clip(i, F64(IG_SHAPE(3), 0, 2, 0), NULL), IG_F64, 0, 2, 9);
    EXPECT(ig_clip(ig_int(3), I32(IG_SHAPE(2, 1), 0, 5), ig_int(9)), IG_I32, 3, 5);
    assert_refused(ig_clip(x, F32(IG_SHAPE(3), 1, 2, 3), NULL), IG_ERR_SHAPE, "clip: shapes");
}

/* ---- reductions ---- */

static void test_count_nonzero(void **state)
{
    (void)state;
    ig_array *x = F32(IG_SHAPE(2, 3), 0, -0.0f, NAN, 1, 2, 0);
    EXPECT(ig_count_nonzero(x, IG_NONE, false), IG_I64, 3);
    EXPECT(ig_count_nonzero(x, IG_AXES(0), false), IG_I64, 1, 1, 1);
    expect_shape(ig_count_nonzero(x, IG_AXES(-1), true), IG_SHAPE(2, 1));
    EXPECT(ig_count_nonzero(BOOLS(IG_SHAPE(3), 1, 0, 1), IG_AXES(0), false), IG_I64, 2);
    EXPECT(ig_count_nonzero(ig_zeros(IG_SHAPE(0), IG_F32), IG_NONE, false), IG_I64, 0);
    assert_refused(ig_count_nonzero(x, IG_AXES(2), false), IG_ERR_SHAPE, "count_nonzero: axis 2");
}

static void test_logsumexp(void **state)
{
    (void)state;
    ig_array *x = F64(IG_SHAPE(5, 2), 0, 0, 1000, 1000, -INFINITY, -INFINITY, INFINITY, 1, NAN, 1);
    EXPECT_NEAR(ig_logsumexp(x, IG_AXES(1), false), IG_F64, 1e-12, M_LN2, 1000 + M_LN2, -INFINITY,
                INFINITY, NAN);
    expect_shape(ig_logsumexp(x, IG_AXES(1), true), IG_SHAPE(5, 1));
    ig_array *y = F32(IG_SHAPE(2, 2), -INFINITY, 0, 1, 2);
    EXPECT_NEAR(ig_logsumexp(y, IG_NONE, false), IG_F32, 1e-6, log(1 + exp(1) + exp(2)));
    EXPECT_NEAR(ig_logsumexp(y, IG_NONE, true), IG_F32, 1e-6, log(1 + exp(1) + exp(2)));
    EXPECT(ig_logsumexp(ig_zeros(IG_SHAPE(2, 0), IG_F32), IG_AXES(1), false), IG_F32, -INFINITY,
           -INFINITY);
    EXPECT_NEAR(ig_logsumexp(I32(IG_SHAPE(2), 3, 3), IG_NONE, false), IG_F32, 1e-6, 3 + M_LN2);
    assert_refused(ig_logsumexp(y, IG_AXES(0, 0), false), IG_ERR_SHAPE, "given twice");
}

static void test_mean(void **state)
{
    (void)state;
    ig_array *x = F32(IG_SHAPE(2, 3), 1, 2, 3, 4, 5, 9);
    EXPECT(ig_mean(x, IG_NONE, false), IG_F32, 4);
    EXPECT(ig_mean(x, IG_AXES(1), false), IG_F32, 2, 6);
    EXPECT(ig_mean(x, IG_AXES(-2), true), IG_F32, 2.5, 3.5, 6);
    EXPECT(ig_mean(I32(IG_SHAPE(2), 1, 2), IG_NONE, false), IG_F32, 1.5);
    EXPECT(ig_mean(BOOLS(IG_SHAPE(4), 1, 0, 0, 0), IG_NONE, false), IG_F32, 0.25);
    EXPECT(ig_mean(ig_float(2.5), IG_NONE, false), IG_F32, 2.5);
    EXPECT(ig_mean(ig_zeros(IG_SHAPE(0, 2), IG_F64), IG_AXES(0), false), IG_F64, NAN, NAN);
    /* The sum is far above the largest f16. */
    EXPECT(ig_mean(ig_full(IG_SHAPE(70000), ig_float(3), IG_F16), IG_NONE, false), IG_F16, 3);
    assert_refused(ig_mean(x, IG_AXES(5), false), IG_ERR_SHAPE, "mean: axis 5");
}

static void test_var_std(void **state)
{
    (void)state;
    ig_array *x = F64(IG_SHAPE(2, 4), 2, 4, 4, 6, 1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4);
    EXPECT(ig_var(x, IG_AXES(1), 0, false), IG_F64, 2, 1.25);
    EXPECT_NEAR(ig_var(x, IG_AXES(1), 1, false), IG_F64, 1e-12, 8.0 / 3, 5.0 / 3);
    EXPECT_NEAR(ig_std(x, IG_AXES(1), 0, true), IG_F64, 1e-12, M_SQRT2, sqrt(1.25));
    EXPECT(ig_var(x, IG_AXES(1), 4, false), IG_F64, INFINITY, INFINITY);
    EXPECT(ig_var(x, IG_AXES(1), 9, false), IG_F64, INFINITY, INFINITY);
    EXPECT(ig_std(F32(IG_SHAPE(1), 3), IG_NONE, 1, false), IG_F32, NAN);
    EXPECT(ig_var(F32(IG_SHAPE(2), 3, INFINITY), IG_NONE, 0, false), IG_F32, NAN);
    EXPECT(ig_var(I32(IG_SHAPE(2), 1, 3), IG_NONE, 0, false), IG_F32, 1);
    EXPECT(ig_std(ig_full(IG_SHAPE(3, 2), ig_float(300), IG_F16), IG_AXES(0), 0, false), IG_F16, 0,
           0);
    EXPECT(ig_std(ig_astype(F32(IG_SHAPE(2), -300, 300), IG_F16), IG_NONE, 0, false), IG_F16, 300);
}

static void test_diff(void **state)
{
    (void)state;
    ig_array *x = I32(IG_SHAPE(2, 3), 1, 4, 9, 0, 0, 5);
    EXPECT(ig_diff(x, -1, 1, NULL, NULL), IG_I32, 3, 5, 0, 5);
    EXPECT(ig_diff(x, 0, 1, NULL, NULL), IG_I32, -1, -4, -4);
    EXPECT(ig_diff(x, -1, 2, NULL, NULL), IG_I32, 2, 5);
    EXPECT(ig_diff(x, -1, 0, ig_int(7), NULL), IG_I32, 1, 4, 9, 0, 0, 5);
    EXPECT(ig_diff(x, -1, 1, ig_int(0), NULL), IG_I32, 1, 3, 5, 0, 0, 5);
    EXPECT(ig_diff(x, -1, 1, ig_int(0), I32(IG_SHAPE(2, 1), 10, 20)), IG_I32, 1, 3, 5, 1, 0, 0, 5,
           15);
    EXPECT(ig_diff(x, 0, 1, NULL, ig_float(0.5)), IG_F32, -1, -4, -4, 0.5, 0.5, -4.5);
    EXPECT(ig_diff(BOOLS(IG_SHAPE(3), 1, 1, 0), 0, 1, NULL, NULL), IG_BOOL, 0, 1);
    expect_shape(ig_diff(x, 1, 3, NULL, NULL), IG_SHAPE(2, 0));
    expect_shape(ig_diff(x, 1, 2000000000, NULL, NULL), IG_SHAPE(2, 0));
    assert_refused(ig_diff(x, 1, -1, NULL, NULL), IG_ERR_ARGUMENT, "n is -1");
    assert_refused(ig_diff(ig_int(1), -1, 1, NULL, NULL), IG_ERR_SHAPE, "diff: axis -1");
    assert_refused(ig_diff(x, 1, 1, I32(IG_SHAPE(3, 1), 1, 2, 3), NULL), IG_ERR_SHAPE, "concat");
}

/* ---- index ---- */

static void test_isin(void **state)
{
    (void)state;
    ig_array *x = F32(IG_SHAPE(2, 3), 1, NAN, -0.0f, 5, 9, INFINITY);
    ig_array *y = F32(IG_SHAPE(5), 9, 0, NAN, 1, 1);
    EXPECT(ig_isin(x, y, false), IG_BOOL, 1, 0, 1, 0, 1, 0);
    EXPECT(ig_isin(x, y, true), IG_BOOL, 0, 1, 0, 1, 0, 1);
    EXPECT(ig_isin(x, ig_zeros(IG_SHAPE(0), IG_F32), false), IG_BOOL, 0, 0, 0, 0, 0, 0);
    EXPECT(ig_isin(x, ig_zeros(IG_SHAPE(0), IG_F32), true), IG_BOOL, 1, 1, 1, 1, 1, 1);
    EXPECT(ig_isin(I64(IG_SHAPE(2), 3, 4), ig_int(4), false), IG_BOOL, 0, 1);
    EXPECT(ig_isin(ig_int(4), I64(IG_SHAPE(2, 1), 3, 4), false), IG_BOOL, 1);
    EXPECT(ig_isin(I32(IG_SHAPE(2), -1, 4),
                   ig_from_data((const uint8_t[]){255, 4}, IG_SHAPE(2), IG_U8), false),
           IG_BOOL, 0, 1);
    EXPECT(ig_isin(BOOLS(IG_SHAPE(2), 0, 1), BOOLS(IG_SHAPE(2), 1, 1), false), IG_BOOL, 0, 1);
    assert_refused(ig_isin(I32(IG_SHAPE(1), 1), ig_zeros(IG_SHAPE(1), IG_U64), false), IG_ERR_DTYPE,
                   "isin: i32 and u64");
}

static void test_one_hot(void **state)
{
    (void)state;
    ig_array *x = I32(IG_SHAPE(4), 0, 2, -1, 3);
    EXPECT(ig_one_hot(x, 3, IG_DTYPE_NONE), IG_F32, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0);
    EXPECT(ig_one_hot(ig_int(1), 2, IG_BOOL), IG_BOOL, 0, 1);
    expect_shape(ig_one_hot(ig_reshape(x, IG_SHAPE(2, 2)), 5, IG_I8), IG_SHAPE(2, 2, 5));
    expect_shape(ig_one_hot(x, 0, IG_F32), IG_SHAPE(4, 0));
    EXPECT(ig_one_hot(ig_full(IG_SHAPE(1), ig_int(1), IG_U64), 2, IG_I64), IG_I64, 0, 1);
    assert_refused(ig_one_hot(F32(IG_SHAPE(1), 1), 3, IG_F32), IG_ERR_DTYPE, "one_hot: indices");
    assert_refused(ig_one_hot(x, -1, IG_F32), IG_ERR_ARGUMENT, "num_classes is -1");
}

static void test_topk(void **state)
{
    (void)state;
    ig_array *x = F32(IG_SHAPE(2, 4), 3, 1, 4, 1, 5, NAN, 2, 5), *out[2];
    assert_int_equal(ig_topk(x, 3, -1, out), 2);
    EXPECT(out[0], IG_F32, 4, 3, 1, 5, 5, 2);
    EXPECT(out[1], IG_I64, 2, 0, 1, 0, 3, 2);
    assert_int_equal(ig_topk(x, 1, 0, out), 2);
    EXPECT(out[0], IG_F32, 5, 1, 4, 5);
    EXPECT(out[1], IG_I64, 1, 0, 0, 1);
    assert_int_equal(ig_topk(x, 0, 1, out), 2);
    expect_shape(out[0], IG_SHAPE(2, 0));
    assert_int_equal(ig_topk(BOOLS(IG_SHAPE(3), 0, 1, 1), 2, 0, out), 2);
    EXPECT(out[1], IG_I64, 1, 2);
    assert_int_equal(ig_topk(x, 5, 1, out), 0);
    assert_refused(NULL, IG_ERR_ARGUMENT, "k is 5, but axis 1 has length 4");
}

/* An error is passed through, and the first one is kept. */
static void test_null_passes(void **state)
{
    (void)state;
    ig_array *out[2], *bad = ig_arange(0, 1, 0, IG_F32);
    assert_null(ig_mean(ig_clip(bad, NULL, NULL), IG_NONE, false));
    assert_null(ig_full(IG_SHAPE(2), bad, IG_F32));
    assert_null(ig_diff(F32(IG_SHAPE(2), 1, 2), 0, 1, bad, NULL));
    assert_int_equal(ig_topk(bad, 1, 0, out), 0);
    assert_refused(ig_isin(bad, bad, false), IG_ERR_ARGUMENT, "arange: step is 0");
}

/* Floats that are made without a dtype, and results of integers, have the default dtype. */
static void test_default_dtype(void **state)
{
    (void)state;
    const ig_ints two = IG_SHAPE(2);
    assert_int_equal(ig_default_dtype(), IG_F32);
    EXPECT(ig_divide(I64(two, 1, 3), ig_int(2)), IG_F32, 0.5, 1.5);
    assert_int_equal(ig_set_default_dtype(IG_F64), IG_OK);
    EXPECT(ig_zeros(two, IG_DTYPE_NONE), IG_F64, 0, 0);
    EXPECT(ig_linspace(0, 1, 3, IG_DTYPE_NONE, true), IG_F64, 0, 0.5, 1);
    EXPECT(ig_divide(I64(two, 1, 3), ig_int(2)), IG_F64, 0.5, 1.5);
    EXPECT(ig_add(I64(two, 1, 3), ig_float(0.5)), IG_F64, 1.5, 3.5);
    EXPECT(ig_mean(I64(two, 1, 2), IG_NONE, false), IG_F64, 1.5);
    EXPECT(ig_multiply(F32(two, 1, 3), ig_float(0.5)), IG_F32, 0.5, 1.5);
    assert_int_equal(ig_set_default_dtype(IG_I32), IG_ERR_DTYPE);
    assert_non_null(strstr(ig_error(NULL), "f32 or f64"));
    assert_int_equal(ig_set_default_dtype(IG_F32), IG_OK);
    EXPECT(ig_zeros(two, IG_DTYPE_NONE), IG_F32, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_constants, begin, end),
        cmocka_unit_test_setup_teardown(test_arange, begin, end),
        cmocka_unit_test_setup_teardown(test_linspace, begin, end),
        cmocka_unit_test_setup_teardown(test_diagonals, begin, end),
        cmocka_unit_test_setup_teardown(test_clip, begin, end),
        cmocka_unit_test_setup_teardown(test_count_nonzero, begin, end),
        cmocka_unit_test_setup_teardown(test_logsumexp, begin, end),
        cmocka_unit_test_setup_teardown(test_mean, begin, end),
        cmocka_unit_test_setup_teardown(test_var_std, begin, end),
        cmocka_unit_test_setup_teardown(test_diff, begin, end),
        cmocka_unit_test_setup_teardown(test_isin, begin, end),
        cmocka_unit_test_setup_teardown(test_one_hot, begin, end),
        cmocka_unit_test_setup_teardown(test_topk, begin, end),
        cmocka_unit_test_setup_teardown(test_null_passes, begin, end),
        cmocka_unit_test_setup_teardown(test_default_dtype, begin, end),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
