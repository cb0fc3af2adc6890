/* Convolutions, transposed convolutions and pools against plain loops, to the last bit: random
 * strides, paddings, dilations and groups in one to three dimensions, in every layout; ceil_mode as in PyTorch; and
 * error messages. */
#include "support/unit.h"
#include "support/layouts.h"
#include "support/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16, IG_I32, IG_U8};
enum {
    DTYPES = sizeof dtypes / sizeof dtypes[0],
    ROUNDS = 300,
    STEP = 13 /* coprime to the numbers of dtypes, layouts and pools, so all combinations occur */
};

/* ---- a case: always three spatial axes, of which the first may be unused ---- */

typedef struct shape {
    int n;                          /* spatial axes in use: the last n of the three */
    int64_t batch, groups, in, out; /* in and out: channels of a group */
    int64_t length[3], kernel[3], stride[3], padding[3], dilation[3], extra[3];
} shape;

static ig_ints used(const shape *c, const int64_t *numbers)
{
    return (ig_ints){numbers + 3 - c->n, c->n};
}

/* Three lengths in place of the first two axes and the spatial ones. */
static ig_ints full_shape(const shape *c, int64_t first, int64_t second, const int64_t *spatial,
                          int64_t *to)
{
    to[0] = first;
    to[1] = second;
    memcpy(to + 2, spatial + 3 - c->n, (size_t)c->n * sizeof *to);
    return (ig_ints){to, 2 + c->n};
}

static shape random_shape(void)
{
    shape c = {.n = (int)sample_between(1, 3),
               .batch = sample_between(1, 3),
               .groups = sample_between(1, 3),
               .in = sample_between(1, 3),
               .out = sample_between(1, 3)};
    if (sample_between(0, 4) == 0) { /* depthwise */
        c.groups = sample_between(2, 5);
        c.in = 1;
    }
    for (int a = 0; a < 3; a++) {
        const bool on = a >= 3 - c.n;
        c.length[a] = on ? sample_between(1, c.n == 1 ? 12 : 6) : 1;
        c.kernel[a] = on ? sample_between(1, 3) : 1;
        c.stride[a] = on ? sample_between(1, 3) : 1;
        c.padding[a] = on ? sample_between(0, 2) : 0;
        c.dilation[a] = on ? sample_between(1, 3) : 1;
    }
    return c;
}

/* Few channels in each group, and planes with many windows. */
static shape wide_shape(void)
{
    shape c = {.n = (int)sample_between(1, 2),
               .batch = sample_between(1, 2),
               .groups = sample_between(1, 6),
               .in = sample_between(0, 2) ? 1 : sample_between(2, 5),
               .out = sample_between(0, 2) ? 1 : sample_between(2, 17)};
    for (int a = 0; a < 3; a++) {
        const bool on = a >= 3 - c.n;
        c.length[a] = on ? sample_between(5, c.n == 1 || sample_between(0, 3) == 0 ? 90 : 30) : 1;
        c.kernel[a] = on ? sample_between(1, 5) : 1;
        c.stride[a] = on ? sample_between(1, 3) : 1;
        c.padding[a] = on ? sample_between(0, 2) : 0;
        c.dilation[a] = on ? sample_between(1, 2) : 1;
    }
    return c;
}

static int64_t reach(const shape *c, int a) { return c->dilation[a] * (c->kernel[a] - 1) + 1; }

static int64_t product(const int64_t *v) { return v[0] * v[1] * v[2]; }

/* The coordinates of index `at` in a space of three axes. */
static void unfold(int64_t at, const int64_t *space, int64_t *index)
{
    for (int a = 2; a >= 0; a--) {
        index[a] = at % space[a];
        at /= space[a];
    }
}

/* The element of x that kernel element k of window `at` reads, or -1 in the padding. */
static int64_t seen(const shape *c, const int64_t *at, const int64_t *k)
{
    int64_t place = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t i = at[a] * c->stride[a] + k[a] * c->dilation[a] - c->padding[a];
        if (i < 0 || i >= c->length[a])
            return -1;
        place = place * c->length[a] + i;
    }
    return place;
}

/* ---- convolution ---- */

/* The sum over all pairs of a window and a kernel element that meet in x. of(n, o, i) below is the
 * number of a plane: batch n, channel o of the result, channel i of x within the group. */
static void plain_conv(const shape *c, const double *x, const double *weight, const double *bias,
                       const int64_t *out, double *want)
{
    const int64_t points = product(out), elements = product(c->kernel), plane = product(c->length);
    const int64_t outs = c->groups * c->out;
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t o = 0; o < outs; o++)
            for (int64_t p = 0; p < points; p++) {
                double sum = bias ? bias[o] : 0;
                int64_t at[3], k[3];
                unfold(p, out, at);
                for (int64_t i = 0; i < c->in; i++)
                    for (int64_t e = 0; e < elements; e++) {
                        unfold(e, c->kernel, k);
                        const int64_t place = seen(c, at, k);
                        const int64_t channel = o / c->out * c->in + i;
                        if (place >= 0)
                            sum += x[(n * c->groups * c->in + channel) * plane + place] *
                                   weight[(o * c->in + i) * elements + e];
                    }
                want[(n * outs + o) * points + p] = sum;
            }
}

static ig_array *call_conv(const shape *c, ig_array *x, ig_array *w, ig_array *bias)
{
    static ig_array *(*const conv[])(ig_array *, ig_array *, ig_array *, ig_ints, ig_ints, ig_ints,
                                     int) = {ig_conv1d, ig_conv2d, ig_conv3d};
    return conv[c->n - 1](x, w, bias, used(c, c->stride), used(c, c->padding), used(c, c->dilation),
                          (int)c->groups);
}

/* Unsigned numbers exceed 255 here only if they wrap. */
static void wrap(double *v, int64_t n, ig_dtype dtype)
{
    for (int64_t i = 0; i < n && dtype == IG_U8; i++)
        v[i] -= floor(v[i] / 256) * 256;
}

/* One kind of convolution: the definition, the call, and whether weight has the channels of x first. */
typedef struct kind {
    const char *name;
    void (*plain)(const shape *c, const double *x, const double *weight, const double *bias,
                  const int64_t *out, double *want);
    ig_array *(*call)(const shape *c, ig_array *x, ig_array *w, ig_array *bias);
    bool in_first;
} kind;

static void check_kind(const kind *k, const shape *c, const int64_t *out, int layout,
                       ig_dtype dtype, bool with_bias)
{
    int64_t to[5];
    const int64_t in = c->in, rows = k->in_first ? in : c->out, columns = k->in_first ? c->out : in;
    sample x = sample_make(layout, full_shape(c, c->batch, c->groups * in, c->length, to), dtype);
    sample w = sample_make((layout + 1) % SAMPLE_LAYOUTS,
                           full_shape(c, c->groups * rows, columns, c->kernel, to), dtype);
    sample b = sample_make((layout + 2) % SAMPLE_LAYOUTS, IG_SHAPE(c->groups * c->out), dtype);
    const int64_t size = c->batch * c->groups * c->out * product(out);
    double *want = calloc((size_t)size + 1, sizeof *want);
    k->plain(c, x.v, w.v, with_bias ? b.v : NULL, out, want);
    wrap(want, size, dtype);
    sample_expect(k->name, k->call(c, x.x, w.x, with_bias ? b.x : NULL),
                  full_shape(c, c->batch, c->groups * c->out, out, to), dtype, want);
    free(want);
    sample_free(&x);
    sample_free(&w);
    sample_free(&b);
}

static void check_conv(const shape *c, int layout, ig_dtype dtype, bool with_bias)
{
    static const kind conv = {"conv", plain_conv, call_conv, false};
    int64_t out[3];
    for (int a = 0; a < 3; a++)
        out[a] = (c->length[a] + 2 * c->padding[a] - reach(c, a)) / c->stride[a] + 1;
    check_kind(&conv, c, out, layout, dtype, with_bias);
}

static bool windows_fit(const shape *c)
{
    bool fit = true;
    for (int a = 0; a < 3; a++)
        fit = fit && c->length[a] + 2 * c->padding[a] >= reach(c, a);
    return fit;
}

static void test_conv(void **state)
{
    (void)state;
    for (int r = 0, done = 0; done < ROUNDS; r++) {
        const shape c = random_shape();
        if (!windows_fit(&c))
            continue;
        done++;
        if (r % every(STEP))
            continue;
        ig_scope_begin();
        check_conv(&c, r % SAMPLE_LAYOUTS, dtypes[r % DTYPES], r % 3 == 0);
        ig_scope_end();
    }
}

static void test_conv_wide(void **state)
{
    (void)state;
    for (int r = 0; r < ROUNDS; r++) {
        const shape c = wide_shape();
        if (!windows_fit(&c) || r % every(STEP))
            continue;
        ig_scope_begin();
        check_conv(&c, r % SAMPLE_LAYOUTS, dtypes[r % DTYPES], r % 3 == 0);
        ig_scope_end();
    }
}

/* Random numbers, of which sums round. */
static ig_array *normals(int seed, ig_ints lengths, ig_dtype dtype)
{
    return ig_normal(ig_key((uint64_t)seed, "philox"), lengths, dtype, NULL, NULL);
}

/* Sums do not depend on the number of channels, though few channels and many are computed in different ways: each
 * channel of the result is repeated, so that there are many. */
static void check_channels(const shape *c, int seed, ig_dtype dtype)
{
    enum { TIMES = 24 };
    int64_t to[5];
    const int64_t rows = c->groups * c->out, points = c->in * product(c->kernel);
    ig_array *x = normals(seed, full_shape(c, c->batch, c->groups * c->in, c->length, to), dtype);
    ig_array *w = normals(seed + 1, full_shape(c, rows, c->in, c->kernel, to), dtype);
    ig_array *y = call_conv(c, x, w, NULL);
    ig_array *many =
        ig_broadcast_to(ig_reshape(w, IG_SHAPE(rows, 1, points)), IG_SHAPE(rows, TIMES, points));
    shape more = *c;
    more.out *= TIMES;
    many = call_conv(&more, x, ig_reshape(many, full_shape(c, rows * TIMES, c->in, c->kernel, to)),
                     NULL);
    const int64_t size = ig_size(y);
    const int64_t plane = size / (c->batch * rows);
    many = ig_slice(ig_reshape(many, IG_SHAPE(c->batch * rows, TIMES, plane)),
                    IG_SHAPE(0, TIMES - 1, 0), IG_SHAPE(c->batch * rows, TIMES, plane), IG_NONE);
    y = ig_reshape(y, IG_SHAPE(c->batch * rows, 1, plane));
    assert_true(ig_item(ig_array_equal(y, many, false)) == 1);
}

static void test_conv_channels(void **state)
{
    static const ig_dtype floats[] = {IG_F32, IG_F64, IG_F16, IG_BF16};
    (void)state;
    for (int r = 0; r < ROUNDS; r++) {
        const shape c = wide_shape();
        if (!windows_fit(&c) || r % every(STEP))
            continue;
        ig_scope_begin();
        check_channels(&c, 2 * r, floats[r % 4]);
        ig_scope_end();
    }
}

/* No batches, no channels, one number for all axes. */
static void test_conv_edges(void **state)
{
    (void)state;
    shape c = {.n = 2,
               .batch = 0,
               .groups = 1,
               .in = 2,
               .out = 3,
               .length = {1, 4, 5},
               .kernel = {1, 2, 2},
               .stride = {1, 1, 1},
               .dilation = {1, 1, 1}};
    check_conv(&c, 0, IG_F32, true);
    c.batch = 2;
    c.in = 0;
    check_conv(&c, 0, IG_F32, true);
    c.in = 1;
    c.out = 0;
    check_conv(&c, 0, IG_F32, true);
    sample x = sample_make(2, IG_SHAPE(2, 3, 6, 7), IG_F32);
    sample w = sample_make(1, IG_SHAPE(4, 3, 2, 2), IG_F32);
    ig_array *one = ig_conv2d(x.x, w.x, NULL, IG_AXES(2), IG_AXES(1), IG_AXES(1), 1);
    ig_array *two = ig_conv2d(x.x, w.x, NULL, IG_AXES(2, 2), IG_AXES(1, 1), IG_NONE, 1);
    assert_true(ig_item(ig_all(ig_equal(one, two), IG_NONE, false)) == 1);
    assert_int_equal(
        ig_dtype_of(ig_conv2d(x.x, ig_astype(w.x, IG_F64), NULL, IG_NONE, IG_NONE, IG_NONE, 1)),
        IG_F64);
    sample_free(&x);
    sample_free(&w);
}

/* f16 rounds once: 2048 + 1 + 1 is 2050, not 2048. */
static void test_conv_half(void **state)
{
    (void)state;
    ig_array *x = ig_full(IG_SHAPE(1, 1, 2), ig_int(1), IG_F16),
             *bias = ig_full(IG_SHAPE(1), ig_int(1), IG_F16);
    ig_array *w = ig_concat((ig_array *[]){ig_full(IG_SHAPE(1, 1, 1), ig_int(2048), IG_F16),
                                           ig_full(IG_SHAPE(1, 1, 1), ig_int(1), IG_F16)},
                            2, IG_AXES(2));
    ig_array *y = ig_conv1d(x, w, bias, IG_NONE, IG_NONE, IG_NONE, 1);
    assert_int_equal(ig_dtype_of(y), IG_F16);
    assert_true(ig_item(y) == 2050);
}

/* ---- transposed: conv adds x[i] to y[o], this adds y[o] to x[i] ---- */

static void plain_transposed(const shape *c, const double *x, const double *weight,
                             const double *bias, const int64_t *out, double *want)
{
    const int64_t points = product(c->length), elements = product(c->kernel), plane = product(out);
    const int64_t outs = c->groups * c->out, ins = c->groups * c->in;
    shape back = *c; /* the convolution whose gradient this is: it goes from out to length */
    memcpy(back.length, out, sizeof back.length);
    for (int64_t i = 0; bias && i < c->batch * outs * plane; i++)
        want[i] = bias[i / plane % outs];
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t i = 0; i < ins; i++)
            for (int64_t o = 0; o < c->out; o++)
                for (int64_t p = 0; p < points * elements; p++) {
                    int64_t at[3], k[3];
                    unfold(p / elements, c->length, at);
                    unfold(p % elements, c->kernel, k);
                    const int64_t place = seen(&back, at, k), channel = i / c->in * c->out + o;
                    if (place >= 0)
                        want[(n * outs + channel) * plane + place] +=
                            x[(n * ins + i) * points + p / elements] *
                            weight[(i * c->out + o) * elements + p % elements];
                }
}

static ig_array *call_transposed(const shape *c, ig_array *x, ig_array *w, ig_array *bias)
{
    static ig_array *(*const conv[])(ig_array *, ig_array *, ig_array *, ig_ints, ig_ints, ig_ints,
                                     int, ig_ints) = {ig_conv_transpose1d, ig_conv_transpose2d,
                                                      ig_conv_transpose3d};
    return conv[c->n - 1](x, w, bias, used(c, c->stride), used(c, c->padding), used(c, c->extra),
                          (int)c->groups, used(c, c->dilation));
}

static const kind transposed = {"conv_transpose", plain_transposed, call_transposed, true};

static void test_transposed(void **state)
{
    (void)state;
    for (int r = 0, done = 0; done < ROUNDS; r++) {
        shape c = random_shape();
        int64_t out[3];
        bool fits = true;
        for (int a = 0; a < 3; a++) {
            const int64_t most = c.stride[a] > c.dilation[a] ? c.stride[a] : c.dilation[a];
            if (a >= 3 - c.n)
                c.extra[a] = sample_between(0, most - 1);
            out[a] = (c.length[a] - 1) * c.stride[a] - 2 * c.padding[a] + reach(&c, a) + c.extra[a];
            fits = fits && out[a] > 0;
        }
        if (!fits)
            continue;
        done++;
        if (r % every(STEP))
            continue;
        ig_scope_begin();
        check_kind(&transposed, &c, out, r % SAMPLE_LAYOUTS, dtypes[r % DTYPES], r % 3 == 0);
        ig_scope_end();
    }
}

/* ---- pools ---- */

/* The number of windows, as PyTorch counts them; 0: none fit. */
static int64_t pooled(const shape *c, int a, bool ceil_mode)
{
    const int64_t room = c->length[a] + 2 * c->padding[a] - reach(c, a);
    int64_t n =
        (int64_t)floor((double)(room + (ceil_mode ? c->stride[a] - 1 : 0)) / (double)c->stride[a]) +
        1;
    if (ceil_mode && (n - 1) * c->stride[a] >= c->length[a] + c->padding[a])
        n--;
    return n > 0 ? n : 0;
}

/* Elements of a window that its mean is divided by, along one axis. */
static int64_t counted(const shape *c, int a, int64_t at, bool include_pad)
{
    int64_t from = at * c->stride[a] - c->padding[a], to = from + c->kernel[a];
    const int64_t last = c->length[a] + (include_pad ? c->padding[a] : 0);
    to = to < last ? to : last;
    return to - (include_pad || from > 0 ? from : 0);
}

typedef enum pool { POOL_MAX, POOL_MEAN, POOL_MEAN_INSIDE } pool;

static void plain_pool(const shape *c, pool how, const double *x, const int64_t *out,
                       ig_dtype dtype, double *want)
{
    const int64_t points = product(out), elements = product(c->kernel), plane = product(c->length);
    for (int64_t i = 0; i < c->batch * c->in * points; i++) {
        int64_t at[3], k[3], count = 1;
        double most = dtype == IG_U8 ? 0 : dtype == IG_I32 ? INT32_MIN : -INFINITY, sum = 0;
        unfold(i % points, out, at);
        for (int64_t e = 0; e < elements; e++) {
            unfold(e, c->kernel, k);
            const int64_t place = seen(c, at, k);
            if (place < 0)
                continue;
            const double v = x[i / points * plane + place];
            most = v > most ? v : most;
            sum += v;
        }
        for (int a = 0; a < 3; a++)
            count *= counted(c, a, at[a], how == POOL_MEAN);
        const double mean = dtype == IG_F64 ? sum / (double)count : (float)sum / (float)count;
        want[i] = how == POOL_MAX ? most : mean;
    }
}

static ig_array *call_pool(const shape *c, pool how, ig_array *x, bool ceil_mode)
{
    static ig_array *(*const largest[])(ig_array *, ig_ints, ig_ints, ig_ints, ig_ints,
                                        bool) = {ig_max_pool1d, ig_max_pool2d, ig_max_pool3d};
    static ig_array *(*const means[])(ig_array *, ig_ints, ig_ints, ig_ints, bool,
                                      bool) = {ig_avg_pool1d, ig_avg_pool2d, ig_avg_pool3d};
    const ig_ints kernel = used(c, c->kernel), stride = used(c, c->stride),
                  padding = used(c, c->padding);
    if (how == POOL_MAX)
        return largest[c->n - 1](x, kernel, stride, padding, used(c, c->dilation), ceil_mode);
    return means[c->n - 1](x, kernel, stride, padding, ceil_mode, how == POOL_MEAN);
}

static void check_pool(const shape *c, pool how, int layout, ig_dtype dtype, bool ceil_mode)
{
    int64_t to[5], out[3];
    for (int a = 0; a < 3; a++)
        if ((out[a] = pooled(c, a, ceil_mode)) == 0)
            return;
    sample x = sample_make(layout, full_shape(c, c->batch, c->in, c->length, to), dtype);
    const int64_t size = c->batch * c->in * product(out);
    double *want = calloc((size_t)size + 1, sizeof *want);
    const bool is_float = ig_isdtype(dtype, "real floating");
    plain_pool(c, how, x.v, out, dtype, want);
    sample_expect("pool", call_pool(c, how, x.x, ceil_mode),
                  full_shape(c, c->batch, c->in, out, to),
                  is_float || how == POOL_MAX ? dtype : IG_F32, want);
    free(want);
    sample_free(&x);
}

static void test_pools(void **state)
{
    (void)state;
    for (int r = 0; r < 3 * ROUNDS; r++) {
        shape c = r % 4 ? random_shape() : wide_shape();
        const pool how = (pool)(r % 3);
        for (int a = 0; a < 3; a++) {
            c.kernel[a] += a >= 3 - c.n ? sample_between(0, 2) : 0;
            c.padding[a] = sample_between(0, c.kernel[a] / 2);
            c.dilation[a] = how == POOL_MAX ? c.dilation[a] : 1;
        }
        if (r % every(STEP))
            continue;
        ig_scope_begin();
        check_pool(&c, how, r % SAMPLE_LAYOUTS, dtypes[r / 3 % DTYPES], r / 2 % 2);
        ig_scope_end();
    }
}

/* The sum of n values in the order of every fold: lane j is joined with lane j + 16, then 8, 4, 2, 1. */
static float fold_by_halving(float *v, int n)
{
    for (int half = 16; half > 0; half /= 2)
        for (int i = 0; i < half && i + half < n; i++)
            v[i] += v[i + half];
    return v[0];
}

/* Means have the bits of this order, however windows are read. */
static void test_pool_order(void **state)
{
    (void)state;
    for (int r = 0; r < 100; r++) {
        const int k = (int)sample_between(2, 5), step = (int)sample_between(1, 3);
        const int64_t h = sample_between(k, 40), w = sample_between(k, r % 4 ? 40 : 200),
                      planes = 3;
        if (r % every(STEP))
            continue;
        ig_scope_begin();
        ig_array *x = normals(r, IG_SHAPE(1, planes, h, w), IG_F32);
        ig_array *y = ig_avg_pool2d(x, IG_SHAPE(k), IG_SHAPE(step), IG_SHAPE(0), false, true);
        const float *from = ig_data(x), *got = ig_data(y);
        const int64_t rows = (h - k) / step + 1, columns = (w - k) / step + 1;
        for (int64_t i = 0; i < planes * rows * columns; i++) {
            const int64_t plane = i / (rows * columns), top = i / columns % rows * step;
            float v[32];
            for (int j = 0; j < k * k; j++)
                v[j] = from[(plane * h + top + j / k) * w + i % columns * step + j % k];
            assert_true(got[i] == fold_by_halving(v, k * k) / (float)(k * k));
        }
        ig_scope_end();
    }
}

/* Length, kernel, stride, padding, dilation; windows without and with ceil_mode (0: an error), as in PyTorch 2.15. */
static const int ceil_table[][7] = {
    {1, 1, 2, 0, 1, 1, 1},  {1, 2, 2, 1, 3, 0, 1},    {1, 2, 4, 1, 3, 0, 1},
    {2, 1, 1, 0, 2, 2, 2},  {2, 2, 3, 0, 3, 0, 1},    {2, 5, 3, 2, 1, 1, 2},
    {2, 5, 6, 0, 3, 0, 0},  {3, 2, 4, 0, 3, 0, 1},    {4, 4, 6, 0, 2, 0, 1},
    {4, 5, 4, 1, 1, 1, 2},  {5, 2, 3, 0, 2, 1, 2},    {6, 2, 6, 1, 3, 1, 2},
    {6, 3, 4, 1, 3, 1, 2},  {6, 3, 6, 1, 2, 1, 2},    {6, 4, 1, 0, 3, 0, 0},
    {6, 4, 3, 1, 3, 0, 1},  {6, 5, 2, 0, 1, 1, 2},    {6, 5, 3, 2, 1, 2, 3},
    {6, 5, 6, 1, 3, 0, 1},  {7, 1, 4, 0, 1, 2, 2},    {7, 3, 5, 1, 2, 1, 2},
    {7, 5, 3, 2, 3, 0, 1},  {7, 5, 5, 2, 1, 2, 2},    {8, 1, 5, 0, 3, 2, 2},
    {8, 3, 4, 1, 2, 2, 3},  {8, 5, 5, 1, 2, 1, 2},    {8, 5, 6, 2, 2, 1, 2},
    {9, 5, 5, 0, 3, 0, 1},  {10, 2, 3, 1, 3, 3, 4},   {10, 2, 4, 0, 2, 2, 3},
    {10, 5, 1, 2, 3, 2, 2}, {10, 5, 3, 0, 2, 1, 2},   {10, 5, 4, 2, 3, 1, 2},
    {10, 5, 5, 2, 1, 2, 3}, {11, 2, 2, 0, 3, 4, 5},   {11, 2, 2, 1, 3, 5, 6},
    {11, 3, 4, 1, 3, 2, 3}, {11, 5, 4, 2, 2, 2, 3},   {12, 3, 5, 1, 1, 3, 3},
    {12, 3, 6, 0, 3, 1, 2}, {12, 4, 1, 2, 1, 13, 13}, {12, 4, 3, 0, 2, 2, 3},
    {12, 4, 5, 2, 3, 2, 3}, {12, 4, 6, 1, 2, 2, 3},   {12, 5, 2, 1, 3, 1, 2},
    {12, 5, 4, 0, 2, 1, 2}, {12, 5, 4, 2, 3, 1, 2},   {12, 5, 5, 2, 3, 1, 2},
};

static void test_ceil_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ceil_table / sizeof *ceil_table; i++) {
        const int *t = ceil_table[i];
        for (int mode = 0; mode < 2; mode++) {
            ig_array *x = ig_ones(IG_SHAPE(1, 1, t[0]), IG_F32);
            ig_array *y =
                ig_max_pool1d(x, IG_AXES(t[1]), IG_AXES(t[2]), IG_AXES(t[3]), IG_AXES(t[4]), mode);
            if (t[5 + mode] == 0) {
                assert_null(y);
                layout_expect_error(IG_ERR_SHAPE, "max_pool1d: spatial axis 0 has length");
            } else {
                assert_int_equal(ig_dim(y, 2), t[5 + mode]);
            }
        }
    }
}

static void expect_row(ig_array *y, int n, const double *want)
{
    sample_expect("golden", y, IG_SHAPE(1, 1, n), IG_F32, want);
}

/* Results of PyTorch. */
static void test_golden(void **state)
{
    (void)state;
    const float row[] = {1, 2, 4, 8, 16, 32, 64};
    ig_array *x = ig_from_data(row, IG_SHAPE(1, 1, 7), IG_F32);
    const ig_ints one = IG_AXES(1), two = IG_AXES(2), three = IG_AXES(3), four = IG_AXES(4);
    expect_row(ig_avg_pool1d(x, three, two, one, true, true), 4,
               (const double[]){1, 14 / 3., 56 / 3., 32});
    expect_row(ig_avg_pool1d(x, three, two, one, true, false), 4,
               (const double[]){1.5, 14 / 3., 56 / 3., 48});
    expect_row(ig_avg_pool1d(x, four, four, one, true, true), 2, (const double[]){1.75, 30});
    expect_row(ig_avg_pool1d(x, four, three, two, true, true), 3, (const double[]){0.75, 7.5, 28});
    expect_row(ig_adaptive_avg_pool1d(x, IG_AXES(1)), 1, (const double[]){127 / 7.});
    expect_row(ig_adaptive_avg_pool1d(x, IG_AXES(2)), 2, (const double[]){3.75, 30});
    expect_row(ig_adaptive_avg_pool1d(x, IG_AXES(5)), 5, (const double[]){1.5, 3, 28 / 3., 24, 48});
    expect_row(ig_adaptive_avg_pool1d(x, IG_AXES(9)), 9,
               (const double[]){1, 1.5, 3, 6, 8, 12, 24, 48, 64});
    /* Elements outside of a window do not affect it. */
    const float odd[] = {1, INFINITY, 3, NAN, 5};
    ig_array *y = ig_from_data(odd, IG_SHAPE(1, 1, 5), IG_F32);
    expect_row(ig_adaptive_avg_pool1d(y, IG_AXES(3)), 3, (const double[]){INFINITY, NAN, NAN});
    expect_row(ig_adaptive_avg_pool1d(y, IG_AXES(4)), 4,
               (const double[]){INFINITY, INFINITY, NAN, NAN});
    expect_row(ig_adaptive_avg_pool1d(y, IG_AXES(7)), 7,
               (const double[]){1, INFINITY, INFINITY, 3, NAN, NAN, 5});
    expect_row(ig_max_pool1d(y, two, one, IG_AXES(0), one, false), 4,
               (const double[]){INFINITY, INFINITY, NAN, NAN});
}

/* ---- adaptive pools ---- */

static void plain_adaptive(const shape *c, const double *x, const int64_t *out, ig_dtype dtype,
                           double *want)
{
    const int64_t points = product(out), plane = product(c->length);
    for (int64_t i = 0; i < c->batch * c->in * points; i++) {
        int64_t at[3], from[3], size[3], k[3];
        double sum = 0;
        unfold(i % points, out, at);
        for (int a = 0; a < 3; a++) {
            from[a] = at[a] * c->length[a] / out[a];
            size[a] = ((at[a] + 1) * c->length[a] + out[a] - 1) / out[a] - from[a];
        }
        for (int64_t e = 0; e < product(size); e++) {
            unfold(e, size, k);
            sum += x[i / points * plane +
                     ((from[0] + k[0]) * c->length[1] + from[1] + k[1]) * c->length[2] + from[2] +
                     k[2]];
        }
        const double count = (double)product(size);
        want[i] = dtype == IG_F64 ? sum / count : (float)sum / (float)count;
    }
}

static void test_adaptive(void **state)
{
    (void)state;
    static ig_array *(*const pools[])(ig_array *, ig_ints) = {
        ig_adaptive_avg_pool1d, ig_adaptive_avg_pool2d, ig_adaptive_avg_pool3d};
    for (int r = 0; r < ROUNDS; r++) {
        const shape c = random_shape();
        const ig_dtype dtype = dtypes[r % DTYPES];
        int64_t to[5], out[3] = {1, 1, 1};
        for (int a = 3 - c.n; a < 3; a++)
            out[a] = sample_between(1, 8);
        if (r % every(STEP))
            continue;
        ig_scope_begin();
        sample x =
            sample_make(r % SAMPLE_LAYOUTS, full_shape(&c, c.batch, c.in, c.length, to), dtype);
        const int64_t size = c.batch * c.in * product(out);
        double *want = calloc((size_t)size + 1, sizeof *want);
        plain_adaptive(&c, x.v, out, dtype, want);
        sample_expect("adaptive", pools[c.n - 1](x.x, used(&c, out)),
                      full_shape(&c, c.batch, c.in, out, to),
                      ig_isdtype(dtype, "real floating") ? dtype : IG_F32, want);
        free(want);
        sample_free(&x);
        ig_scope_end();
    }
}

/* ---- errors ---- */

static void expect_fail(ig_array *y, ig_status code, const char *text)
{
    assert_null(y);
    layout_expect_error(code, text);
}

static void test_conv_errors(void **state)
{
    (void)state;
    const ig_ints none = IG_NONE, zero = IG_AXES(0), one = IG_AXES(1);
    ig_array *x = ig_ones(IG_SHAPE(1, 4, 5), IG_F32), *w = ig_ones(IG_SHAPE(6, 4, 3), IG_F32);
    ig_array *truth = ig_astype(x, IG_BOOL);
    expect_fail(ig_conv1d(ig_ones(IG_SHAPE(4, 5), IG_F32), w, NULL, none, none, none, 1),
                IG_ERR_SHAPE, "conv1d: x has shape (4, 5), but needs 3 axes: (N, C, L)");
    expect_fail(ig_conv2d(x, w, NULL, none, none, none, 1), IG_ERR_SHAPE,
                "conv2d: x has shape (1, 4, 5), but needs 4 axes: (N, C, H, W)");
    expect_fail(ig_conv1d(x, ig_ones(IG_SHAPE(6, 4), IG_F32), NULL, none, none, none, 1),
                IG_ERR_SHAPE, "conv1d: weight has shape (6, 4), but needs 3 axes");
    expect_fail(
        ig_conv1d(x, ig_ones(IG_SHAPE(6, 3, 3), IG_F32), NULL, none, none, none, 1), IG_ERR_SHAPE,
        "conv1d: axis 1 of weight has length 3, but x has 4 channels in 1 group, so it must "
        "be 4");
    expect_fail(ig_conv1d(x, w, NULL, none, none, none, 3), IG_ERR_ARGUMENT,
                "conv1d: groups is 3, which does not divide 4 channels of x and 6 rows of weight");
    expect_fail(ig_conv1d(x, w, NULL, none, none, none, 0), IG_ERR_ARGUMENT, "conv1d: groups is 0");
    expect_fail(ig_conv1d(x, w, ig_ones(IG_SHAPE(5), IG_F32), none, none, none, 1), IG_ERR_SHAPE,
                "conv1d: bias has shape (5,), but there are 6 channels in the result");
    expect_fail(ig_conv1d(x, w, NULL, zero, none, none, 1), IG_ERR_ARGUMENT,
                "conv1d: stride is 0; give 1 or more");
    expect_fail(ig_conv1d(x, w, NULL, none, IG_AXES(-1), none, 1), IG_ERR_ARGUMENT,
                "conv1d: padding is -1; give 0 or more");
    expect_fail(ig_conv1d(x, w, NULL, none, none, IG_AXES(1, 1), 1), IG_ERR_ARGUMENT,
                "conv1d: dilation has 2 numbers; give 1");
    expect_fail(ig_conv1d(x, w, NULL, none, none, IG_AXES(3), 1), IG_ERR_SHAPE,
                "conv1d: spatial axis 0 has length 5, with padding 5, but a window reaches over 7 "
                "(kernel 3, dilation 3)");
    expect_fail(ig_conv1d(x, ig_ones(IG_SHAPE(6, 4, 0), IG_F32), NULL, none, none, none, 1),
                IG_ERR_SHAPE, "conv1d: axis 2 of weight has length 0");
    expect_fail(ig_conv1d(truth, ig_astype(w, IG_BOOL), NULL, none, none, none, 1), IG_ERR_DTYPE,
                "conv1d takes numbers, not bool");
    expect_fail(ig_conv1d(x, w, NULL, none, IG_AXES(INT64_MAX), none, 1), IG_ERR_ARGUMENT,
                "conv1d: padding is 9223372036854775807; give 0 or more, below 2^31");
    expect_fail(ig_conv_transpose1d(x, w, NULL, none, none, none, 1, none), IG_ERR_SHAPE,
                "conv_transpose1d: axis 0 of weight has length 6, but x has 4 channels in 1 group, "
                "so it must be 4");
    w = ig_ones(IG_SHAPE(4, 2, 3), IG_F32);
    expect_fail(ig_conv_transpose1d(x, w, NULL, IG_AXES(2), none, IG_AXES(2), 1, none),
                IG_ERR_ARGUMENT, "conv_transpose1d: output_padding is 2; it must be smaller");
    expect_fail(
        ig_conv_transpose1d(x, w, NULL, one, IG_AXES(4), none, 1, none), IG_ERR_SHAPE,
        "conv_transpose1d: spatial axis 0 of the result would have length -1 (x 5, kernel 3, "
        "stride 1, dilation 1, padding 4); pad less");
    expect_fail(
        ig_conv_transpose1d(ig_ones(IG_SHAPE(1, 4, 0), IG_F32), w, NULL, one, none, none, 1, none),
        IG_ERR_SHAPE, "conv_transpose1d: spatial axis 0 of x has length 0");
    assert_non_null(ig_conv_transpose1d(x, w, NULL, none, none, none, 1, none));
}

static void test_pool_errors(void **state)
{
    (void)state;
    const ig_ints none = IG_NONE, two = IG_AXES(2), six = IG_AXES(6);
    ig_array *x = ig_ones(IG_SHAPE(1, 4, 5), IG_F32), *empty = ig_ones(IG_SHAPE(1, 4, 0), IG_F32);
    expect_fail(
        ig_max_pool1d(x, six, none, none, none, false), IG_ERR_SHAPE,
        "max_pool1d: spatial axis 0 has length 5, with padding 5, but a window reaches over "
        "6");
    expect_fail(ig_max_pool1d(x, two, none, two, none, false), IG_ERR_ARGUMENT,
                "max_pool1d: padding is 2, but may be at most half of kernel_size 2");
    expect_fail(ig_max_pool1d(x, IG_AXES(0), none, none, none, false), IG_ERR_ARGUMENT,
                "max_pool1d: kernel_size is 0; give 1 or more");
    expect_fail(ig_max_pool1d(ig_astype(x, IG_BOOL), two, none, none, none, false), IG_ERR_DTYPE,
                "max_pool1d takes numbers, not bool");
    expect_fail(ig_avg_pool1d(x, none, none, none, false, true), IG_ERR_ARGUMENT,
                "avg_pool1d: kernel_size must be");
    expect_fail(ig_avg_pool2d(x, two, none, none, false, true), IG_ERR_SHAPE,
                "avg_pool2d: x has shape (1, 4, 5), but needs 4 axes");
    expect_fail(ig_avg_pool1d(empty, two, none, none, false, true), IG_ERR_SHAPE,
                "avg_pool1d: spatial axis 0 of x has length 0");
    expect_fail(ig_adaptive_avg_pool1d(x, IG_AXES(0)), IG_ERR_ARGUMENT,
                "adaptive_avg_pool1d: output_size is 0; give 1 or more");
    expect_fail(ig_adaptive_avg_pool1d(empty, two), IG_ERR_SHAPE,
                "adaptive_avg_pool1d: spatial axis 0 of x has length 0");
    expect_fail(ig_adaptive_avg_pool1d(NULL, two), IG_ERR_ARGUMENT,
                "adaptive_avg_pool1d: x is NULL");
    assert_int_equal(
        ig_size(ig_max_pool1d(ig_ones(IG_SHAPE(0, 4, 5), IG_F32), two, none, none, none, false)),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_conv, begin, end),
        cmocka_unit_test_setup_teardown(test_conv_wide, begin, end),
        cmocka_unit_test_setup_teardown(test_conv_channels, begin, end),
        cmocka_unit_test_setup_teardown(test_conv_edges, begin, end),
        cmocka_unit_test_setup_teardown(test_conv_half, begin, end),
        cmocka_unit_test_setup_teardown(test_transposed, begin, end),
        cmocka_unit_test_setup_teardown(test_pools, begin, end),
        cmocka_unit_test_setup_teardown(test_pool_order, begin, end),
        cmocka_unit_test_setup_teardown(test_ceil_mode, begin, end),
        cmocka_unit_test_setup_teardown(test_golden, begin, end),
        cmocka_unit_test_setup_teardown(test_adaptive, begin, end),
        cmocka_unit_test_setup_teardown(test_conv_errors, begin, end),
        cmocka_unit_test_setup_teardown(test_pool_errors, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
