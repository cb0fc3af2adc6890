/* The ops of neural networks against plain loops in double, for f16, bf16, f32 and f64.
 *
 * All of them compute in f32 (f64 for f64) and round once, so f16 and bf16 results must be within slightly more than
 * half a step: a formula that rounds after each op fails. */
#include "support/unit.h"
#include <math.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { ROOM = 512 };

static const ig_dtype floats[] = {IG_F16, IG_BF16, IG_F32, IG_F64};

static void expect_shape(const ig_array *x, ig_ints shape)
{
    if (!x)
        fail_msg("%s", ig_error(NULL));
    assert_int_equal(ig_ndim(x), shape.n);
    for (int a = 0; a < shape.n; a++)
        assert_int_equal(ig_dim(x, a), shape.v[a]);
}

/* y equals want in its dtype, within half a step and some slack for the computation in f32 or f64. */
static void expect(ig_array *y, ig_dtype dtype, const double *want, int n)
{
    ig_finfo info;
    if (!y)
        fail_msg("%s", ig_error(NULL));
    assert_string_equal(ig_dtype_name(ig_dtype_of(y)), ig_dtype_name(dtype));
    assert_int_equal(ig_size(y), n);
    assert_int_equal(ig_finfo_of(dtype, &info), IG_OK);
    const double *have = ig_data(ig_astype(y, IG_F64));
    if (!have)
        fail_msg("%s", ig_error(NULL));
    double slack = dtype == IG_F64 ? 1e-13 : 1e-5;
    if (dtype == IG_F16 || dtype == IG_BF16)
        slack = info.eps / 2 + 1e-5;
    for (int i = 0; i < n; i++) {
        double bound = slack * fabs(want[i]) + (dtype == IG_F64 ? 1e-14 : 2e-6);
        bool good = isnan(want[i]) ? isnan(have[i])
                                   : have[i] == want[i] || fabs(have[i] - want[i]) <= bound;
        if (!good)
            fail_msg("%s: element %d is %.9g, not %.9g", ig_dtype_name(dtype), i, have[i], want[i]);
    }
}

#define EXPECT(y, dtype, ...) \
    expect(y, dtype, (const double[]){__VA_ARGS__}, COUNT(((const double[]){__VA_ARGS__})))

static ig_array *make(const double *values, ig_ints shape, ig_dtype dtype)
{
    return ig_astype(ig_from_data(values, shape, IG_F64), dtype);
}

#define F32(shape, ...) make((const double[]){__VA_ARGS__}, shape, IG_F32)
#define I64(shape, ...) ig_from_data((const int64_t[]){__VA_ARGS__}, shape, IG_I64)
#define BOOLS(shape, ...) ig_from_data((const uint8_t[]){__VA_ARGS__}, shape, IG_BOOL)

/* Numbers in [-3, 3) that dtype holds exactly, as an array and as doubles. */
static ig_array *sample(unsigned seed, ig_ints shape, ig_dtype dtype, double *exact)
{
    int64_t n = 1;
    for (int a = 0; a < shape.n; a++)
        n *= shape.v[a];
    assert_true(n <= ROOM);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        exact[i] = (seed >> 8) * 0x1p-24 * 6 - 3;
    }
    ig_array *x = make(exact, shape, dtype);
    assert_int_equal(ig_read(ig_astype(x, IG_F64), exact, (size_t)n * sizeof *exact), IG_OK);
    return x;
}

/* ---- activations ---- */

static double ref_relu(double x) { return x > 0 || isnan(x) ? x : 0; }
static double ref_leaky(double x) { return x > 0 ? x : 0.1 * x; }
static double ref_elu(double x) { return x > 0 ? x : 1.5 * expm1(x); }
static double ref_gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2))); }
static double ref_silu(double x) { return x / (1 + exp(-x)); }
static double ref_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

static double ref_gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static ig_array *leaky(ig_array *x) { return ig_leaky_relu(x, 0.1); }
static ig_array *elu(ig_array *x) { return ig_elu(x, 1.5); }
static ig_array *gelu(ig_array *x) { return ig_gelu(x, NULL); }
static ig_array *gelu_tanh(ig_array *x) { return ig_gelu(x, "tanh"); }

static const struct {
    ig_array *(*build)(ig_array *);
    double (*reference)(double);
} activations[] = {
    {ig_relu, ref_relu},
    {leaky, ref_leaky},
    {elu, ref_elu},
    {gelu, ref_gelu},
    {gelu_tanh, ref_gelu_tanh},
    {ig_silu, ref_silu},
    {ig_softplus, ref_softplus},
};

static void test_activations(void **state)
{
    (void)state;
    const double special[] = {0,   -0.0, 1,     -1,  0.5,  -0.5, 40,
                              -40, 1e-3, -1e-3, 100, -100, NAN,  INFINITY};
    for (int i = 0; i < COUNT(activations); i++)
        for (int d = 0; d < COUNT(floats); d++) {
            double x[ROOM], want[ROOM];
            ig_array *in = sample(i, IG_SHAPE(7, 9), floats[d], x);
            for (int k = 0; k < 63; k++)
                want[k] = activations[i].reference(x[k]);
            expect(activations[i].build(in), floats[d], want, 63);
            in = make(special, IG_SHAPE(COUNT(special)), floats[d]);
            const double *exact = ig_data(ig_astype(in, IG_F64));
            assert_non_null(exact);
            for (int k = 0; k < COUNT(special); k++)
                want[k] = activations[i].reference(exact[k]);
            expect(activations[i].build(in), floats[d], want, COUNT(special));
        }
    EXPECT(ig_gelu(I64(IG_SHAPE(2), 1, -2), NULL), IG_F32, ref_gelu(1), ref_gelu(-2));
    EXPECT(ig_silu(ig_float(0.5)), IG_F32, ref_silu(0.5));
    assert_int_equal(ig_dtype_of(ig_relu(I64(IG_SHAPE(2), 1, -2))), IG_I64);
    assert_refused(ig_gelu(ig_float(1), "sigmoid"), IG_ERR_ARGUMENT, "'none' or 'tanh'");
}

/* The gelu of halves is computed in f32 and rounded once; below -6 it is 0. */
static void test_gelu_rounds_once(void **state)
{
    (void)state;
    const ig_dtype halves[] = {IG_F16, IG_BF16};
    for (int d = 0; d < COUNT(halves); d++) {
        double x[ROOM];
        ig_array *in = ig_multiply(sample(d, IG_SHAPE(9, 7), halves[d], x), ig_float(3));
        ig_array *wide = ig_gelu(ig_astype(in, IG_F32), NULL);
        const float *once = ig_data(ig_astype(ig_astype(wide, halves[d]), IG_F32));
        const float *got = ig_data(ig_astype(ig_gelu(in, NULL), IG_F32));
        assert_true(once && got);
        assert_memory_equal(got, once, 63 * sizeof(float));
    }
    EXPECT(ig_gelu(F32(IG_SHAPE(3), -6, -1e30f, 1e30f), NULL), IG_F32, 0, 0, 1e30f);
}

static void test_dropout(void **state)
{
    (void)state;
    const int64_t n = 100000;
    ig_array *key = ig_key(3, NULL), *ones = ig_ones(IG_SHAPE(n), IG_F32);
    ig_array *y = ig_dropout(ones, key, 0.3);
    const float *v = ig_data(y);
    double kept = 0;
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) {
        assert_true(v[i] == 0 || v[i] == 1 / 0.7f);
        kept += v[i] != 0;
    }
    assert_true(fabs(kept / (double)n - 0.7) < 5 * sqrt(0.21 / (double)n));
    EXPECT(ig_dropout(F32(IG_SHAPE(2), 1, NAN), key, 0), IG_F32, 1, NAN);
    EXPECT(ig_dropout(I64(IG_SHAPE(2), 4, 5), key, 0), IG_F32, 4, 5);
    assert_int_equal(ig_dtype_of(ig_dropout(ig_astype(ones, IG_BF16), key, 0.5)), IG_BF16);
    /* Dropped elements are 0, whatever their value was. */
    y = ig_dropout(ig_full(IG_SHAPE(1000), ig_float(NAN), IG_F32), key, 0.999);
    assert_true(ig_item(ig_sum(ig_isnan(y), IG_NONE, IG_DTYPE_NONE, false)) < 50);
    assert_refused(ig_dropout(ones, key, 1), IG_ERR_ARGUMENT, "dropout: p is 1");
    assert_refused(ig_dropout(ones, key, -0.1), IG_ERR_ARGUMENT, "p is -0.1");
    assert_refused(ig_dropout(ones, key, NAN), IG_ERR_ARGUMENT, "p is nan");
    assert_refused(ig_dropout(ones, ones, 0.5), IG_ERR_ARGUMENT, "random key");
}

/* ---- softmax ---- */

/* Along the middle of (outer, n, inner). */
static void ref_softmax(const double *x, int outer, int n, int inner, double *y, double *logs)
{
    for (int o = 0; o < outer; o++)
        for (int i = 0; i < inner; i++) {
            const int at = o * n * inner + i;
            double most = -INFINITY, sum = 0;
            for (int k = 0; k < n; k++)
                most = fmax(most, x[at + k * inner]);
            for (int k = 0; k < n; k++)
                sum += exp(x[at + k * inner] - most);
            for (int k = 0; k < n; k++) {
                logs[at + k * inner] = x[at + k * inner] - most - log(sum);
                y[at + k * inner] = exp(x[at + k * inner] - most) / sum;
            }
        }
}

static void test_softmax(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT(floats); d++) {
        double x[ROOM], y[ROOM], logs[ROOM];
        ig_array *in = sample(7, IG_SHAPE(4, 5, 6), floats[d], x);
        const struct {
            ig_ints axis;
            int outer, n, inner;
        } rows[] = {{IG_AXES(-1), 20, 6, 1},
                    {IG_AXES(1), 4, 5, 6},
                    {IG_AXES(0), 1, 4, 30},
                    {IG_AXES(1, 2), 4, 30, 1},
                    {IG_AXES(2, 0, 1), 1, 120, 1}};
        for (int i = 0; i < COUNT(rows); i++) {
            ref_softmax(x, rows[i].outer, rows[i].n, rows[i].inner, y, logs);
            expect(ig_softmax(in, rows[i].axis), floats[d], y, 120);
            expect(ig_log_softmax(in, rows[i].axis), floats[d], logs, 120);
        }
        /* The same through a transposed view. */
        ref_softmax(x, 4, 5, 6, y, logs);
        ig_array *turned = ig_softmax(ig_matrix_transpose(in), IG_AXES(-1));
        expect(ig_matrix_transpose(turned), floats[d], y, 120);
    }
}

/* Long rows, some with values on the slow path of exp: they have the bits of separate steps. */
static void test_softmax_long_rows(void **state)
{
    (void)state;
    enum { ROWS = 6, LONG = 1501 };
    for (int d = 0; d < 2; d++) {
        const ig_dtype dtype = d ? IG_F64 : IG_F32;
        const size_t bytes = ROWS * LONG * ig_dtype_bytes(dtype);
        static double v[ROWS * LONG];
        for (int i = 0; i < ROWS * LONG; i++)
            v[i] = sin(i * 0.37) * 20;
        v[1 * LONG + 700] = -90; /* f32: a denormal */
        v[2 * LONG + 1500] = -1000;
        v[3 * LONG + 3] = -INFINITY;
        v[4 * LONG + 1200] = -740; /* f64: a denormal */
        v[5 * LONG + 64] = NAN;
        ig_array *x = make(v, IG_SHAPE(ROWS, LONG), dtype);
        ig_array *below = ig_eval_one(ig_subtract(x, ig_max(x, IG_AXES(1), true)));
        ig_array *e = ig_eval_one(ig_exp(below));
        ig_array *sums = ig_eval_one(ig_sum(e, IG_AXES(1), IG_DTYPE_NONE, true));
        const char *apart = ig_data(ig_multiply(e, ig_reciprocal(sums)));
        const char *y = ig_data(ig_softmax(x, IG_AXES(1)));
        assert_true(apart && y);
        assert_memory_equal(y, apart, bytes / ROWS * 5);
        const char *of_exp = ig_data(ig_exp(ig_subtract(x, ig_max(x, IG_AXES(1), true))));
        assert_true(of_exp);
        assert_memory_equal(of_exp, ig_data(e), bytes / ROWS * 5);
    }
}

static void test_softmax_special(void **state)
{
    (void)state;
    const double e = exp(-1), s = 1 + e;
    EXPECT(ig_softmax(F32(IG_SHAPE(3), -INFINITY, 1, 0), IG_AXES(0)), IG_F32, 0, 1 / s, e / s);
    EXPECT(ig_log_softmax(F32(IG_SHAPE(3), -INFINITY, 1, 0), IG_AXES(0)), IG_F32, -INFINITY,
           -log(s), -1 - log(s));
    EXPECT(ig_softmax(F32(IG_SHAPE(2), 30000, 29999), IG_AXES(0)), IG_F32, 1 / s, e / s);
    EXPECT(ig_log_softmax(F32(IG_SHAPE(2), -1e30, 1e30), IG_AXES(0)), IG_F32, -2e30, 0);
    EXPECT(ig_softmax(F32(IG_SHAPE(2, 2), -INFINITY, -INFINITY, 0, 0), IG_AXES(1)), IG_F32, NAN,
           NAN, 0.5, 0.5);
    EXPECT(ig_softmax(F32(IG_SHAPE(2), INFINITY, 0), IG_AXES(0)), IG_F32, NAN, NAN);
    EXPECT(ig_softmax(F32(IG_SHAPE(2), NAN, 0), IG_AXES(0)), IG_F32, NAN, NAN);
    EXPECT(ig_softmax(I64(IG_SHAPE(2), 5, 5), IG_NONE), IG_F32, 0.5, 0.5);
    expect_shape(ig_softmax(ig_zeros(IG_SHAPE(3, 0), IG_F32), IG_AXES(1)), IG_SHAPE(3, 0));
    assert_refused(ig_softmax(F32(IG_SHAPE(1), 1), IG_AXES(1)), IG_ERR_SHAPE, "softmax: axis 1");
    assert_refused(ig_log_softmax(ig_float(1), IG_AXES(-1)), IG_ERR_SHAPE, "0 dimensions");
}

/* ---- norms ---- */

/* Rows of n elements, `step` apart, normalised in place. */
static void ref_normalise(double *x, int n, int step, double eps, bool centre)
{
    double mean = 0, square = 0;
    for (int k = 0; k < n && centre; k++)
        mean += x[k * step] / n;
    for (int k = 0; k < n; k++)
        square += (x[k * step] - mean) * (x[k * step] - mean) / n;
    for (int k = 0; k < n; k++)
        x[k * step] = (x[k * step] - mean) / sqrt(square + eps);
}

static void test_layer_norm(void **state)
{
    (void)state;
    const double eps = 1e-5;
    for (int d = 0; d < COUNT(floats); d++) {
        double x[ROOM], y[ROOM], w[ROOM], b[ROOM];
        ig_array *in = sample(11, IG_SHAPE(3, 4, 5), floats[d], x);
        ig_array *weight = sample(12, IG_SHAPE(4, 5), floats[d], w);
        ig_array *bias = sample(13, IG_SHAPE(4, 5), floats[d], b);
        memcpy(y, x, sizeof y);
        for (int r = 0; r < 12; r++)
            ref_normalise(y + 5 * r, 5, 1, eps, true);
        expect(ig_layer_norm(in, NULL, NULL, IG_AXES(-1), eps), floats[d], y, 60);
        memcpy(y, x, sizeof y);
        for (int r = 0; r < 3; r++)
            ref_normalise(y + 20 * r, 20, 1, eps, true);
        for (int i = 0; i < 60; i++)
            y[i] = y[i] * w[i % 20] + b[i % 20];
        expect(ig_layer_norm(in, weight, bias, IG_AXES(-1, -2), eps), floats[d], y, 60);
        /* Parameters of another dtype do not change the dtype of the result. */
        expect(ig_layer_norm(in, ig_astype(weight, IG_F64), ig_astype(bias, IG_F64), IG_AXES(1, 2),
                             eps),
               floats[d], y, 60);
        memcpy(y, x, sizeof y);
        for (int o = 0; o < 3; o++)
            for (int i = 0; i < 5; i++)
                ref_normalise(y + 20 * o + i, 4, 5, eps, true);
        for (int i = 0; i < 60; i++)
            y[i] *= w[i / 5 % 4];
        ig_array *first =
            ig_slice(ig_reshape(weight, IG_SHAPE(20)), IG_AXES(0), IG_AXES(4), IG_NONE);
        expect(ig_layer_norm(in, first, NULL, IG_AXES(1), eps), floats[d], y, 60);
    }
    ig_array *x = F32(IG_SHAPE(2, 3), 1, 1, 1, 0, 0, 0);
    EXPECT(ig_layer_norm(x, NULL, ig_float(2), IG_AXES(1), 1e-5), IG_F32, 2, 2, 2, 2, 2, 2);
    assert_refused(ig_layer_norm(x, F32(IG_SHAPE(2), 1, 1), NULL, IG_AXES(1), 1e-5), IG_ERR_SHAPE,
                   "layer_norm: weight has shape (2,), but must have (3,)");
    assert_refused(ig_layer_norm(x, NULL, F32(IG_SHAPE(1, 3), 1, 1, 1), IG_AXES(1), 1e-5),
                   IG_ERR_SHAPE, "layer_norm: bias");
    assert_refused(ig_layer_norm(x, NULL, NULL, IG_AXES(2), 1e-5), IG_ERR_SHAPE,
                   "layer_norm: axis 2");
}

static void test_rms_norm(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT(floats); d++) {
        double x[ROOM], w[ROOM];
        ig_array *in = sample(21, IG_SHAPE(6, 8), floats[d], x);
        ig_array *weight = sample(22, IG_SHAPE(8), floats[d], w);
        for (int r = 0; r < 6; r++)
            ref_normalise(x + 8 * r, 8, 1, 1e-6, false);
        expect(ig_rms_norm(in, NULL, IG_AXES(-1), 1e-6), floats[d], x, 48);
        for (int i = 0; i < 48; i++)
            x[i] *= w[i % 8];
        expect(ig_rms_norm(in, weight, IG_AXES(1), 1e-6), floats[d], x, 48);
    }
    /* Squares above the largest f16. */
    EXPECT(ig_rms_norm(ig_full(IG_SHAPE(4), ig_float(1000), IG_F16), NULL, IG_AXES(0), 0), IG_F16,
           1, 1, 1, 1);
}

static void test_batch_norm(void **state)
{
    (void)state;
    const double eps = 1e-3;
    for (int d = 0; d < COUNT(floats); d++) {
        double x[ROOM], y[ROOM], m[ROOM], v[ROOM], w[ROOM], b[ROOM];
        ig_array *in = sample(31, IG_SHAPE(4, 3, 2, 5), floats[d], x);
        ig_array *mean = sample(32, IG_SHAPE(3), floats[d], m);
        ig_array *var = ig_square(sample(33, IG_SHAPE(3), floats[d], v));
        ig_array *weight = sample(34, IG_SHAPE(3), floats[d], w);
        ig_array *bias = sample(35, IG_SHAPE(3), floats[d], b);
        assert_int_equal(ig_read(ig_astype(var, IG_F64), v, 3 * sizeof *v), IG_OK);
        for (int c = 0; c < 3; c++) {
            double channel[40];
            for (int i = 0; i < 40; i++)
                channel[i] = x[i / 10 * 30 + c * 10 + i % 10];
            ref_normalise(channel, 40, 1, eps, true);
            for (int i = 0; i < 40; i++)
                y[i / 10 * 30 + c * 10 + i % 10] = channel[i] * w[c] + b[c];
        }
        expect(ig_batch_norm(in, NULL, NULL, weight, bias, eps), floats[d], y, 120);
        for (int i = 0; i < 120; i++) {
            int c = i / 10 % 3;
            y[i] = (x[i] - m[c]) / sqrt(v[c] + eps) * w[c] + b[c];
        }
        expect(ig_batch_norm(in, mean, var, weight, bias, eps), floats[d], y, 120);
    }
    ig_array *x = F32(IG_SHAPE(2, 2), 1, 2, 3, 4), *two = F32(IG_SHAPE(2), 0, 1);
    ig_array *three = F32(IG_SHAPE(3), 0, 1, 2);
    EXPECT(ig_batch_norm(x, NULL, NULL, NULL, NULL, 0), IG_F32, -1, -1, 1, 1);
    assert_refused(ig_batch_norm(x, two, NULL, NULL, NULL, eps), IG_ERR_ARGUMENT,
                   "mean is given without var");
    assert_refused(ig_batch_norm(x, NULL, two, NULL, NULL, eps), IG_ERR_ARGUMENT,
                   "var is given without mean");
    assert_refused(ig_batch_norm(x, three, two, NULL, NULL, eps), IG_ERR_SHAPE,
                   "mean has shape (3,)");
    assert_refused(ig_batch_norm(x, two, three, NULL, NULL, eps), IG_ERR_SHAPE,
                   "var has shape (3,)");
    assert_refused(ig_batch_norm(x, NULL, NULL, three, NULL, eps), IG_ERR_SHAPE,
                   "weight has shape (3,)");
    assert_refused(ig_batch_norm(two, NULL, NULL, NULL, NULL, eps), IG_ERR_SHAPE, "(N, C, ...)");
}

static void test_group_norm(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT(floats); d++) {
        double x[ROOM], w[ROOM], b[ROOM];
        ig_array *in = sample(41, IG_SHAPE(2, 6, 7), floats[d], x);
        ig_array *weight = sample(42, IG_SHAPE(6), floats[d], w);
        ig_array *bias = sample(43, IG_SHAPE(6), floats[d], b);
        for (int g = 0; g < 6; g++)
            ref_normalise(x + 14 * g, 14, 1, 1e-5, true);
        expect(ig_group_norm(in, 3, NULL, NULL, 1e-5), floats[d], x, 84);
        for (int i = 0; i < 84; i++)
            x[i] = x[i] * w[i / 7 % 6] + b[i / 7 % 6];
        expect(ig_group_norm(in, 3, weight, bias, 1e-5), floats[d], x, 84);
    }
    ig_array *x = F32(IG_SHAPE(1, 4), 1, 3, 5, 9);
    EXPECT(ig_group_norm(x, 2, NULL, NULL, 0), IG_F32, -1, 1, -1, 1);
    assert_refused(ig_group_norm(x, 3, NULL, NULL, 0), IG_ERR_SHAPE,
                   "4 channels do not divide into 3");
    assert_refused(ig_group_norm(x, 0, NULL, NULL, 0), IG_ERR_SHAPE, "0 equal groups");
    assert_refused(ig_group_norm(F32(IG_SHAPE(2), 1, 2), 1, NULL, NULL, 0), IG_ERR_SHAPE,
                   "(N, C, ...)");
}

/* ---- attention ---- */

enum { BATCH = 3, QUERIES = 4, KEYS = 5, WIDTH = 6, OUT = 2 };

/* One of BATCH; added is (QUERIES, KEYS). */
static void ref_attention(const double *q, const double *k, const double *v, const double *added,
                          double scale, double *y)
{
    for (int l = 0; l < QUERIES; l++) {
        double w[KEYS], most = -INFINITY, sum = 0;
        for (int s = 0; s < KEYS; s++) {
            w[s] = added ? added[l * KEYS + s] : 0;
            for (int e = 0; e < WIDTH; e++)
                w[s] += q[l * WIDTH + e] * k[s * WIDTH + e] * scale;
            most = fmax(most, w[s]);
        }
        for (int s = 0; s < KEYS; s++)
            sum += w[s] = most == -INFINITY ? 0 : exp(w[s] - most);
        for (int o = 0; o < OUT; o++) {
            y[l * OUT + o] = 0;
            for (int s = 0; s < KEYS && sum > 0; s++)
                y[l * OUT + o] += w[s] / sum * v[s * OUT + o];
        }
    }
}

static void test_attention(void **state)
{
    (void)state;
    const double scale = 1 / sqrt(WIDTH);
    for (int d = 0; d < COUNT(floats); d++) {
        double q[ROOM], k[ROOM], v[ROOM], m[ROOM], y[BATCH * QUERIES * OUT], causal[QUERIES * KEYS];
        uint8_t attend[QUERIES * KEYS];
        double hidden[QUERIES * KEYS];
        ig_array *query = sample(51, IG_SHAPE(BATCH, QUERIES, WIDTH), floats[d], q);
        ig_array *key = sample(52, IG_SHAPE(KEYS, WIDTH), floats[d], k); /* shared by the whole
                                                                          * batch */
        ig_array *value = sample(53, IG_SHAPE(BATCH, KEYS, OUT), floats[d], v);
        ig_array *mask = sample(54, IG_SHAPE(QUERIES, KEYS), floats[d], m);
        for (int i = 0; i < QUERIES * KEYS; i++) {
            attend[i] = i / KEYS != 2 && i % 3 != 1; /* query 2 attends to nothing */
            hidden[i] = attend[i] ? 0 : -INFINITY;
            causal[i] = i % KEYS <= i / KEYS ? 0 : -INFINITY;
        }
        const struct {
            ig_array *mask;
            bool is_causal;
            double scale;
            const double *added;
        } rows[] = {{NULL, false, 0, NULL},
                    {NULL, false, 0.7, NULL},
                    {mask, false, 0, m},
                    {ig_from_data(attend, IG_SHAPE(QUERIES, KEYS), IG_BOOL), false, 0, hidden},
                    {NULL, true, 0, causal}};
        for (int i = 0; i < COUNT(rows); i++) {
            for (int b = 0; b < BATCH; b++)
                ref_attention(q + b * QUERIES * WIDTH, k, v + b * KEYS * OUT, rows[i].added,
                              rows[i].scale == 0 ? scale : rows[i].scale, y + b * QUERIES * OUT);
            ig_array *out = ig_scaled_dot_product_attention(query, key, value, rows[i].mask,
                                                            rows[i].is_causal, rows[i].scale);
            expect_shape(out, IG_SHAPE(BATCH, QUERIES, OUT));
            expect(out, floats[d], y, BATCH * QUERIES * OUT);
        }
    }
}

static void test_attention_errors(void **state)
{
    (void)state;
    ig_array *x = ig_ones(IG_SHAPE(2, 3), IG_F32), *y = ig_ones(IG_SHAPE(4, 3), IG_F32);
#define ATTEND(q, k, v, m) ig_scaled_dot_product_attention(q, k, v, m, false, 0)
    assert_refused(ATTEND(x, ig_ones(IG_SHAPE(4, 5), IG_F32), y, NULL), IG_ERR_SHAPE,
                   "query of shape (2, 3) and key of shape (4, 5) differ in width");
    assert_refused(ATTEND(x, x, y, NULL), IG_ERR_SHAPE, "differ in length");
    assert_refused(ATTEND(x, ig_ones(IG_SHAPE(3), IG_F32), y, NULL), IG_ERR_SHAPE,
                   "key has 1 dimension,");
    assert_refused(ATTEND(x, y, y, ig_ones(IG_SHAPE(2, 3), IG_BOOL)), IG_ERR_SHAPE,
                   "does not broadcast");
    assert_refused(ATTEND(x, y, y, ig_ones(IG_SHAPE(2, 4), IG_I32)), IG_ERR_DTYPE, "mask is bool");
    /* With no keys, there is nothing to attend to. */
    ig_array *none = ig_zeros(IG_SHAPE(0, 3), IG_F32);
    EXPECT(ATTEND(x, none, none, NULL), IG_F32, 0, 0, 0, 0, 0, 0);
}

/* ---- embedding and losses ---- */

static void test_embedding(void **state)
{
    (void)state;
    ig_array *weight = F32(IG_SHAPE(3, 2), 0, 1, 10, 11, 20, 21);
    ig_array *y = ig_embedding(I64(IG_SHAPE(2, 2), 2, 0, 1, 2), weight);
    expect_shape(y, IG_SHAPE(2, 2, 2));
    EXPECT(y, IG_F32, 20, 21, 0, 1, 10, 11, 20, 21);
    EXPECT(ig_embedding(ig_int(1), weight), IG_F32, 10, 11);
    assert_refused(ig_embedding(F32(IG_SHAPE(1), 1), weight), IG_ERR_DTYPE, "embedding: indices");
    assert_refused(ig_embedding(I64(IG_SHAPE(1), 1), F32(IG_SHAPE(1), 1)), IG_ERR_SHAPE,
                   "(rows, width)");
    assert_null(ig_data(ig_embedding(I64(IG_SHAPE(1), 3), weight)));
    assert_refused(NULL, IG_ERR_INDEX, "3");
}

static void test_cross_entropy(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT(floats); d++) {
        double x[ROOM], y[ROOM], logs[ROOM], want[6], sum = 0;
        ig_array *logits = sample(61, IG_SHAPE(2, 4, 3), floats[d], x);
        ig_array *labels = ig_astype(I64(IG_SHAPE(2, 3), 0, 3, 1, 2, 2, 0), IG_I32);
        const int64_t label[] = {0, 3, 1, 2, 2, 0};
        ref_softmax(x, 2, 4, 3, y, logs);
        for (int i = 0; i < 6; i++)
            sum += want[i] = -logs[i / 3 * 12 + label[i] * 3 + i % 3];
        expect(ig_cross_entropy(logits, labels, 1, "none"), floats[d], want, 6);
        EXPECT(ig_cross_entropy(logits, labels, -2, NULL), floats[d], sum / 6);
        EXPECT(ig_cross_entropy(logits, labels, 1, "sum"), floats[d], sum);
    }
    ig_array *logits = F32(IG_SHAPE(2, 2), 1, 2, 3, 4);
    EXPECT(ig_cross_entropy(F32(IG_SHAPE(2), 0, 0), ig_int(1), 0, NULL), IG_F32, M_LN2);
    assert_refused(ig_cross_entropy(logits, I64(IG_SHAPE(1), 0), 1, NULL), IG_ERR_SHAPE,
                   "labels have shape (1,), but must have (2,)");
    assert_refused(ig_cross_entropy(logits, F32(IG_SHAPE(2), 0, 1), 1, NULL), IG_ERR_DTYPE,
                   "integers");
    assert_refused(ig_cross_entropy(logits, I64(IG_SHAPE(2), 0, 1), 1, "total"), IG_ERR_ARGUMENT,
                   "'mean', 'sum' or 'none', not 'total'");
    assert_null(ig_data(ig_cross_entropy(logits, I64(IG_SHAPE(2), 0, 2), 1, NULL)));
    assert_refused(NULL, IG_ERR_INDEX, "2");
    assert_null(ig_data(ig_cross_entropy(logits, I64(IG_SHAPE(2), 0, -1), 1, NULL)));
    assert_refused(NULL, IG_ERR_INDEX, "index -1 is negative; it must be in [0, 2)");
}

static double ref_mse(double x, double t) { return (x - t) * (x - t); }
static double ref_l1(double x, double t) { return fabs(x - t); }

static double ref_huber(double x, double t)
{
    const double d = fabs(x - t), delta = 1.3;
    return d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
}

static double ref_bce(double x, double t) { return ref_softplus(x) - x * t; }
static double ref_kl(double x, double t) { return t == 0 ? 0 : t * (log(t) - x); }

static ig_array *huber(ig_array *x, ig_array *t, const char *how)
{
    return ig_huber(x, t, 1.3, how);
}

static const struct {
    ig_array *(*build)(ig_array *, ig_array *, const char *);
    double (*reference)(double, double);
    bool probability; /* the target is a probability */
} losses[] = {
    {ig_mse, ref_mse, false},  {ig_l1, ref_l1, false},
    {huber, ref_huber, false}, {ig_bce_with_logits, ref_bce, true},
    {ig_kl_div, ref_kl, true},
};

static void test_losses(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(losses); i++)
        for (int d = 0; d < COUNT(floats); d++) {
            double x[ROOM], t[ROOM], want[ROOM], sum = 0;
            ig_array *in = sample(71, IG_SHAPE(5, 6), floats[d], x);
            ig_array *target = sample(72, IG_SHAPE(6), floats[d], t);
            if (losses[i].probability)
                target = ig_clip(target, ig_float(0), ig_float(1));
            assert_int_equal(ig_read(ig_astype(target, IG_F64), t, 6 * sizeof *t), IG_OK);
            for (int k = 0; k < 30; k++)
                sum += want[k] = losses[i].reference(x[k], t[k % 6]);
            expect(losses[i].build(in, target, "none"), floats[d], want, 30);
            EXPECT(losses[i].build(in, target, "sum"), floats[d], sum);
            EXPECT(losses[i].build(in, target, NULL), floats[d], sum / 30);
            assert_refused(losses[i].build(in, target, "max"), IG_ERR_ARGUMENT,
                           "'mean', 'sum' or 'none'");
            assert_refused(losses[i].build(in, ig_zeros(IG_SHAPE(5), floats[d]), NULL),
                           IG_ERR_SHAPE, "do not broadcast");
        }
    EXPECT(ig_mse(I64(IG_SHAPE(2), 1, 3), ig_int(0), NULL), IG_F32, 5);
    EXPECT(ig_l1(F32(IG_SHAPE(1), 1), make((const double[]){3}, IG_SHAPE(1), IG_F64), NULL), IG_F64,
           2);
    /* Far from 0 nothing overflows; a target of 0 contributes nothing, whatever x is. */
    EXPECT(ig_bce_with_logits(F32(IG_SHAPE(4), 1000, 1000, -1000, -1000),
                              F32(IG_SHAPE(4), 1, 0, 1, 0), "none"),
           IG_F32, 0, 1000, 1000, 0);
    EXPECT(ig_kl_div(F32(IG_SHAPE(2), -INFINITY, -1), F32(IG_SHAPE(2), 0, 1), "none"), IG_F32, 0,
           1);
    EXPECT(ig_mse(ig_full(IG_SHAPE(50000), ig_float(2), IG_F16), ig_int(0), NULL), IG_F16, 4);
    assert_refused(ig_huber(ig_float(1), ig_float(2), 0, NULL), IG_ERR_ARGUMENT, "delta is 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_activations, begin, end),
        cmocka_unit_test_setup_teardown(test_gelu_rounds_once, begin, end),
        cmocka_unit_test_setup_teardown(test_dropout, begin, end),
        cmocka_unit_test_setup_teardown(test_softmax, begin, end),
        cmocka_unit_test_setup_teardown(test_softmax_special, begin, end),
        cmocka_unit_test_setup_teardown(test_softmax_long_rows, begin, end),
        cmocka_unit_test_setup_teardown(test_layer_norm, begin, end),
        cmocka_unit_test_setup_teardown(test_rms_norm, begin, end),
        cmocka_unit_test_setup_teardown(test_batch_norm, begin, end),
        cmocka_unit_test_setup_teardown(test_group_norm, begin, end),
        cmocka_unit_test_setup_teardown(test_attention, begin, end),
        cmocka_unit_test_setup_teardown(test_attention_errors, begin, end),
        cmocka_unit_test_setup_teardown(test_embedding, begin, end),
        cmocka_unit_test_setup_teardown(test_cross_entropy, begin, end),
        cmocka_unit_test_setup_teardown(test_losses, begin, end),
    };
    return cmocka_run_group_tests_name("nn", tests, NULL, NULL);
}
