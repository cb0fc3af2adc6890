/* The contraction core against a reference that sums in twice the precision (exactly for integers),
 * over every dtype and odd layouts; bitwise the same for any number of threads, any layout, and fused
 * or not. All tests run on each level that the machine supports, or only on IG_CPU_LEVEL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/backend/cpu/cpu.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/ops/ops.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN0, IN1, OUT, BIAS, SLOTS };

static const ig_dtype dtypes[] = {IG_I8,  IG_I16, IG_I32, IG_I64,  IG_U8,  IG_U16,
                                  IG_U32, IG_U64, IG_F16, IG_BF16, IG_F32, IG_F64};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* ---- random numbers ---- */

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

/* ---- one case ---- */

typedef struct work {
    program p;
    ig_dtype result; /* the elements' dtype, except for i8 summed in i32 */
    buffer buf[SLOTS];
    binding bindings[SLOTS];
    tape_inst inst[6];
    operand operand[2];
} work;

/* The layout of an input's axes in memory. */
typedef enum layout {
    PLAIN,    /* row-major */
    REVERSED, /* column-major: transposed */
    FLIPPED,  /* row-major, all strides negative */
    GAPPED,   /* row-major, every second element */
    STILL,    /* stride 0 in every other axis */
    ANY,      /* random order, signs, gaps, broadcasts and overlaps */
    LAYOUTS
} layout;

static void layout_axes(view *v, layout how)
{
    int order[IG_MAX_NDIM];
    for (int i = 0; i < v->ndim; i++)
        order[i] = how == REVERSED ? i : v->ndim - 1 - i;
    for (int i = v->ndim - 1; how == ANY && i > 0; i--) {
        const int j = (int)random_below(i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    int64_t step = how == GAPPED || (how == ANY && random_below(3) == 0) ? 2 : 1;
    for (int i = 0; i < v->ndim; i++) {
        const int axis = order[i];
        v->stride[axis] = step;
        step *= v->shape[axis] > 0 ? v->shape[axis] : 1;
        const int64_t dice = how == ANY ? random_below(10) : -1;
        if (how == FLIPPED || dice == 0 || dice == 1)
            v->stride[axis] = -v->stride[axis];
        if ((how == STILL && axis % 2 == 0) || dice == 2)
            v->stride[axis] = 0;
        if (dice == 3)
            v->stride[axis] = 1 + random_below(4);
    }
}

/* Sets the offset so that the lowest element of the view is element 0; returns the number of elements that it spans. */
static int64_t view_settle(view *v)
{
    int64_t low = 0, high = 0;
    v->offset = 0;
    if (view_size(v) > 0)
        view_bounds(v, &low, &high);
    v->offset = -low;
    return high - low + 1;
}

/* Small magnitudes for floats; any bits for integers. */
static void fill(ig_dtype dtype, void *data, int64_t n)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = random_bits();
        if (dtype_is_float(dtype))
            dtype_store(dtype, (char *)data + i * bytes, (double)(int64_t)bits * 0x1p-63);
        else
            memcpy((char *)data + i * bytes, &bits, (size_t)bytes);
    }
}

static void work_buffer(work *w, int slot, ig_dtype dtype, int64_t elements)
{
    const size_t bytes = (size_t)elements * ig_dtype_bytes(dtype);
    w->buf[slot].data = malloc(bytes + 1);
    assert_non_null(w->buf[slot].data);
    w->buf[slot].bytes = bytes;
    w->bindings[slot] = (binding){&w->buf[slot], 0};
    fill(dtype, w->buf[slot].data, elements);
}

static int16_t work_inst(work *w, tape_inst inst)
{
    if (inst.code == TAPE_CORE || inst.code == TAPE_LOAD)
        inst.a = -1;
    if (inst.code != TAPE_MAP)
        inst.b = -1;
    inst.c = -1;
    w->inst[w->p.post.n_inst++] = inst;
    return inst.dst;
}

/* The post tape: the core's value, rounded if the dtype requires it, plus the bias (if fused). */
static void work_tape(work *w, bool fused)
{
    tape *t = &w->p.post;
    const ig_dtype dtype = w->result;
    const uint8_t d = (uint8_t)dtype;
    t->inst = w->inst;
    t->operand = w->operand;
    t->n_inst = 0;
    int16_t value = work_inst(w, (tape_inst){.code = TAPE_CORE, .dtype = d, .dst = 0});
    if (dtype_is_half(dtype))
        value = work_inst(w, (tape_inst){.code = TAPE_ROUND, .dtype = d, .to = d, .dst = 1});
    if (fused) {
        work_inst(w, (tape_inst){.code = TAPE_LOAD, .dtype = d, .operand = 1, .dst = 2});
        value = work_inst(
            w,
            (tape_inst){.code = TAPE_MAP, .dtype = d, .op = OP_add, .dst = 3, .a = value, .b = 2});
        if (dtype_is_half(dtype))
            value = work_inst(
                w, (tape_inst){.code = TAPE_ROUND, .dtype = d, .to = d, .dst = 4, .a = value});
    }
    work_inst(w, (tape_inst){.code = TAPE_STORE, .dtype = d, .operand = 0, .a = value});
    t->n_operand = fused ? 2 : 1;
    t->n_reg = 5;
}

/* Whether products of i8 are to be summed in i32. */
static bool i8_to_i32;

/* Everything except the inputs' strides: groups of ndim axes, whose lengths are consecutive in shape (b, m, n, k). */
static void work_shape(work *w, ig_dtype dtype, const int ndim[4], const int64_t *shape)
{
    memset(w, 0, sizeof *w);
    program *p = &w->p;
    w->result = dtype == IG_I8 && i8_to_i32 ? IG_I32 : dtype;
    p->kind = PROGRAM_CONTRACT;
    p->dtype = dtype;
    const int64_t *from = shape;
    view *a = &p->in[0].v, *b = &p->in[1].v, *out = &w->operand[0].v;
    for (int g = 0; g < 4; g++) {
        p->ndim[g] = (uint8_t)ndim[g];
        p->extent[g] = 1;
        for (int i = 0; i < ndim[g]; i++, from++) {
            p->extent[g] *= *from;
            if (g != 2)
                a->shape[a->ndim++] = *from;
            if (g != 1)
                b->shape[b->ndim++] = *from;
        }
    }
    view_contiguous(out, 3, p->extent);
    p->in[0].slot = IN0;
    p->in[1].slot = IN1;
    p->in[0].dtype = p->in[1].dtype = dtype;
    w->operand[0].slot = OUT;
    w->operand[1].slot = BIAS;
    w->operand[0].dtype = w->operand[1].dtype = w->result;
    p->post.ndim = 3;
    memcpy(p->post.shape, out->shape, sizeof p->post.shape);
    p->post.size = view_size(out);
}

/* Makes and fills the buffers; the inputs' strides are set. The bias has one value for each column. */
static void work_fill(work *w)
{
    program *p = &w->p;
    work_buffer(w, IN0, p->dtype, view_settle(&p->in[0].v));
    work_buffer(w, IN1, p->dtype, view_settle(&p->in[1].v));
    work_buffer(w, OUT, w->result, p->post.size);
    work_buffer(w, BIAS, w->result, p->extent[2]);
    w->operand[1].v = w->operand[0].v;
    w->operand[1].v.stride[0] = w->operand[1].v.stride[1] = 0;
}

static void work_free(work *w)
{
    for (int i = 0; i < SLOTS; i++)
        free(w->buf[i].data);
}

static void work_make(work *w, ig_dtype dtype, const int ndim[4], const int64_t *shape, layout how0,
                      layout how1)
{
    work_shape(w, dtype, ndim, shape);
    layout_axes(&w->p.in[0].v, how0);
    layout_axes(&w->p.in[1].v, how1);
    work_fill(w);
}

static void work_run(work *w, int threads, bool fused)
{
    work_tape(w, fused);
    pool_set_threads(threads);
    assert_int_equal(backend_cpu.compile(&backend_cpu, &w->p), IG_OK);
    assert_int_equal(backend_cpu.launch(&w->p, w->bindings), IG_OK);
    backend_cpu.discard(&w->p);
    pool_set_threads(0);
}

/* ---- the reference ---- */

typedef struct sum {
    double high, low, magnitude; /* floats: high + low is the sum; sum of |a| |b| */
    uint64_t bits;               /* integers */
} sum;

static const void *work_at(const work *w, int side, int64_t i)
{
    const operand *o = &w->p.in[side];
    return (const char *)w->buf[side].data + view_at(&o->v, i) * (int64_t)ig_dtype_bytes(o->dtype);
}

static sum reference(const work *w, int64_t b, int64_t m, int64_t n)
{
    const int64_t *extent = w->p.extent, k = extent[3];
    const size_t bytes = ig_dtype_bytes(w->p.dtype);
    sum s = {0};
    for (int64_t i = 0; i < k; i++) {
        const void *x = work_at(w, IN0, (b * extent[1] + m) * k + i);
        const void *y = work_at(w, IN1, (b * extent[2] + n) * k + i);
        if (!dtype_is_float(w->p.dtype)) {
            uint64_t xi = 0, yi = 0;
            memcpy(&xi, x, bytes);
            memcpy(&yi, y, bytes);
            if (w->result != w->p.dtype) {
                xi = (uint64_t)(int8_t)xi;
                yi = (uint64_t)(int8_t)yi;
            }
            s.bits += xi * yi;
            continue;
        }
        const double xf = dtype_fetch(w->p.dtype, x), yf = dtype_fetch(w->p.dtype, y);
        const double product = xf * yf, rest = fma(xf, yf, -product);
        const double next = s.high + product, part = next - s.high;
        s.low += ((s.high - (next - part)) + (product - part)) + rest;
        s.high = next;
        s.magnitude += fabs(product);
    }
    return s;
}

/* Half an ulp of 1. */
static double unit_of(ig_dtype dtype)
{
    return dtype == IG_F64   ? 0x1p-53
           : dtype == IG_F32 ? 0x1p-24
           : dtype == IG_F16 ? 0x1p-11
                             : 0x1p-8;
}

static bool element_is_right(const work *w, int64_t b, int64_t m, int64_t n)
{
    const ig_dtype dtype = w->result;
    const int64_t *extent = w->p.extent;
    const size_t bytes = ig_dtype_bytes(dtype);
    const char *got =
        (const char *)w->buf[OUT].data + ((b * extent[1] + m) * extent[2] + n) * (int64_t)bytes;
    const sum s = reference(w, b, m, n);
    if (!dtype_is_float(dtype))
        return memcmp(got, &s.bits, bytes) == 0; /* little endian */
    const double value = dtype_fetch(dtype, got), right = s.high + s.low;
    if (isnan(right) || isnan(s.high))
        return isnan(value) || (isinf(s.high) && value == s.high);
    double bound = (double)(extent[3] + 2) * unit_of(dtype_lane(dtype)) * s.magnitude;
    if (dtype_is_half(dtype))
        bound += unit_of(dtype) * (fabs(right) + bound) + 0x1p-25;
    return fabs(value - s.high - s.low) <= bound;
}

/* All elements, or about `most` of them. */
static void check_values(const work *w, int64_t most)
{
    const int64_t *extent = w->p.extent, size = w->p.post.size;
    const int64_t step = size > most ? size / most | 1 : 1;
    for (int64_t i = 0; i < size; i += step) {
        const int64_t n = i % extent[2], m = i / extent[2] % extent[1],
                      b = i / extent[2] / extent[1];
        if (!element_is_right(w, b, m, n))
            fail_msg("%s: b %lld m %lld n %lld k %lld is wrong at (%lld, %lld, %lld)",
                     ig_dtype_name(w->p.dtype), (long long)extent[0], (long long)extent[1],
                     (long long)extent[2], (long long)extent[3], (long long)b, (long long)m,
                     (long long)n);
    }
}

static void check_matrix(ig_dtype dtype, int64_t m, int64_t n, int64_t k, layout how0, layout how1,
                         int64_t most)
{
    work w;
    work_make(&w, dtype, (const int[]){0, 1, 1, 1}, (const int64_t[]){m, n, k}, how0, how1);
    work_run(&w, 2, false);
    check_values(&w, most);
    work_free(&w);
}

/* ---- tests ---- */

/* Short tests run one in this many cases. */
static int step(int n) { return getenv("IG_TEST_QUICK") ? n : 1; }

static void test_random_layouts(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 1, 2, 3, 5, 7, 8, 13, 17};
    for (int i = 0; i < 200 / step(4) * DTYPES; i++) {
        int ndim[4], total = 0;
        int64_t shape[12];
        for (int g = 0; g < 4; g++)
            for (int j = ndim[g] = (int)random_below(g == 0 ? 2 : 3); j > 0; j--)
                shape[total++] = lengths[random_below(10)];
        work w;
        work_make(&w, dtypes[i % DTYPES], ndim, shape, ANY, ANY);
        work_run(&w, 1 + i % 3, false);
        check_values(&w, 300);
        work_free(&w);
    }
}

/* Products of i8 whose sums are i32: any layout, and lengths around the sizes of tiles and groups. */
static void test_bytes_summed_in_i32(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 3, 8, 13, 31, 33, 64, 70},
                         deep[] = {1, 7, 64, 65, 300, 1100};
    i8_to_i32 = true;
    for (int a = 0; a < ANY; a++)
        for (int b = 0; b < ANY; b++)
            check_matrix(IG_I8, 37, 53, 41, (layout)a, (layout)b, 500);
    for (int i = 0; i < 48; i++)
        for (int k = i % step(3); k < 6; k += step(3))
            check_matrix(IG_I8, lengths[i % 8], lengths[i / 6], deep[k], (layout)(i % ANY), PLAIN,
                         300);
    i8_to_i32 = false;
}

static void test_transposes(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++)
        for (int a = 0; a < ANY; a++)
            for (int b = (i + a) % step(2); b < ANY; b += step(2))
                check_matrix(dtypes[i], 37, 53, 41, (layout)a, (layout)b, 500);
}

static void test_sizes_around_blocks(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},      {1, 1, 1000},   {1, 1000, 1},  {1000, 1, 1},
                                       {1, 300, 600},  {300, 1, 600},  {8, 12, 256},  {9, 13, 257},
                                       {127, 61, 255}, {64, 60, 512},  {129, 5, 513}, {513, 17, 31},
                                       {17, 1025, 31}, {600, 1100, 3}, {70, 50, 769}, {5, 3, 5003},
                                       {1, 1, 0},      {4, 6, 0},      {0, 5, 5},     {5, 0, 5}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int i = (int)s % step(3); i < DTYPES; i += step(3))
            check_matrix(dtypes[i], sizes[s][0], sizes[s][1], sizes[s][2], s % 2 ? PLAIN : REVERSED,
                         s % 3 ? REVERSED : PLAIN, 200);
}

static void test_few_rows(void **state)
{
    (void)state;
    static const int64_t ks[] = {1, 3, 9, 16, 49, 256, 257, 530};
    for (int i = 0; i < 8 * 9 * DTYPES; i += step(7)) {
        const int64_t k = ks[i % 8], few = 1 + i / 8 % 9, many = (i % 3 ? 133 : 7) + i % 5;
        const ig_dtype dtype = dtypes[i / 72];
        for (int how = 0; how < 4; how++) {
            const layout a = how & 1 ? REVERSED : PLAIN, b = how & 2 ? REVERSED : PLAIN;
            check_matrix(dtype, few, many, k, a, b, 60);
            check_matrix(dtype, many, few, k, a, b, 60);
        }
    }
}

/* A product of few rows (or columns) has the same bits as the same rows among many, which are packed. */
static void check_few_among_many(ig_dtype dtype, bool columns, int64_t few, int64_t others,
                                 int64_t k, layout how0, layout how1)
{
    enum { MANY = 40 };
    const int64_t shape[3] = {columns ? others : MANY, columns ? MANY : others, k};
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype), rows = columns ? others : few;
    const int64_t row = (columns ? few : others) * bytes;
    const int64_t row_among = (columns ? MANY : others) * bytes;
    work w;
    work_make(&w, dtype, (const int[]){0, 1, 1, 1}, shape, how0, how1);
    work_run(&w, 1, false);
    char *among = w.buf[OUT].data;
    w.p.extent[columns ? 2 : 1] = w.p.in[columns].v.shape[0] = few;
    view_contiguous(&w.operand[0].v, 3, w.p.extent);
    memcpy(w.p.post.shape, w.operand[0].v.shape, sizeof w.p.post.shape);
    w.p.post.size = view_size(&w.operand[0].v);
    work_buffer(&w, OUT, dtype, w.p.post.size);
    for (int threads = 1; threads <= 3; threads += 2) {
        memset(w.buf[OUT].data, 0xff, w.buf[OUT].bytes);
        work_run(&w, threads, false);
        for (int64_t i = 0; i < rows; i++)
            if (memcmp((char *)w.buf[OUT].data + i * row, among + i * row_among, (size_t)row) != 0)
                fail_msg("%s: %lld %s by %lld, k %lld, %d threads: row %lld has other bits",
                         ig_dtype_name(dtype), (long long)few, columns ? "columns" : "rows",
                         (long long)others, (long long)k, threads, (long long)i);
    }
    free(among);
    work_free(&w);
}

static void test_few_rows_have_the_bits_of_many(void **state)
{
    (void)state;
    static const ig_dtype floats[] = {IG_F32, IG_F64, IG_F16, IG_BF16};
    static const int64_t others[] = {45, 133, 1100, 5003}, ks[] = {1, 7, 14, 256, 530};
    for (int i = 0; i < 4 * 4 * 5; i += step(7)) {
        const bool once = step(2) > 1 && others[i / 20] * ks[i / 4 % 5] > 500000;
        for (int64_t few = 1 + i % 3; few <= 9; few += once ? 9 : 2 + i % 2) {
            const layout how0 = i / 2 % 2 ? REVERSED : PLAIN, how1 = i / 3 % 2 ? REVERSED : PLAIN;
            check_few_among_many(floats[i % 4], few % 2, few, others[i / 20], ks[i / 4 % 5], how0,
                                 how1);
            check_few_among_many(floats[i % 4], few % 2 == 0, few, others[i / 20], ks[i / 4 % 5],
                                 how0, how1 == PLAIN ? REVERSED : PLAIN);
        }
    }
    for (int i = 0; i < 4; i++) /* enough work for several threads, but hardly any rows */
        check_few_among_many(floats[i], false, 1 + i, 20 + 13 * i, 30000, PLAIN, REVERSED);
}

static void test_rows_of_one(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 5000}, {33, 1, 1, 64}, {1500, 1, 1, 3},
                                        {3, 1, 1, 700},  {5, 1, 3, 300}, {5, 2, 1, 300}};
    for (int i = 0; i < 6 * DTYPES; i++) {
        work w;
        work_make(&w, dtypes[i % DTYPES], (const int[]){1, 1, 1, 1}, shapes[i / DTYPES], PLAIN,
                  i % 2 ? PLAIN : REVERSED);
        work_run(&w, 2, false);
        check_values(&w, 300);
        work_free(&w);
    }
}

static void test_batches(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++)
        for (int side = 0; side < 3; side++) {
            work w;
            work_shape(&w, dtypes[i], (const int[]){2, 1, 1, 1},
                       (const int64_t[]){3, 5, 9, 21, 34});
            layout_axes(&w.p.in[0].v, PLAIN);
            layout_axes(&w.p.in[1].v, REVERSED);
            if (side < 2) /* one matrix for all batches */
                w.p.in[side].v.stride[0] = w.p.in[side].v.stride[1] = 0;
            work_fill(&w);
            work_run(&w, 3, false);
            check_values(&w, 1000);
            work_free(&w);
        }
}

typedef struct image {
    int64_t batch, channels, height, width, filters, kernel, stride, dilation;
    bool channels_last;
} image;

/* A convolution: b is the batch, m the filters, n (row, column), k (channel, row, column) or, with
 * the channels last, (row, column, channel). */
static void work_convolution(work *w, ig_dtype dtype, const image *im)
{
    const int64_t span = (im->kernel - 1) * im->dilation;
    const int64_t h = (im->height - span - 1) / im->stride + 1;
    const int64_t v = (im->width - span - 1) / im->stride + 1;
    const int64_t first[] = {im->batch, im->filters, h, v, im->channels, im->kernel, im->kernel};
    const int64_t last[] = {im->batch, im->filters, h, v, im->kernel, im->kernel, im->channels};
    work_shape(w, dtype, (const int[]){1, 1, 2, 3}, im->channels_last ? last : first);
    layout_axes(&w->p.in[0].v, PLAIN);
    w->p.in[0].v.stride[0] = 0;
    const int64_t c = im->channels_last ? im->channels : 1; /* from one column to the next */
    const int64_t line = im->width * c, plane = im->height * im->width;
    int64_t *s = w->p.in[1].v.stride;
    s[0] = plane * im->channels;
    s[1] = im->stride * line;
    s[2] = im->stride * c;
    int64_t *k = s + 3;
    if (!im->channels_last)
        *k++ = plane;
    *k++ = im->dilation * line;
    *k++ = im->dilation * c;
    if (im->channels_last)
        *k++ = 1;
    work_fill(w);
}

static void test_windows(void **state)
{
    (void)state;
    static const image images[] = {
        {2, 3, 11, 13, 5, 3, 1, 1, false}, {2, 3, 11, 13, 5, 3, 1, 1, true},
        {1, 4, 30, 31, 9, 5, 2, 1, false}, {1, 40, 9, 10, 8, 3, 1, 2, true},
        {3, 1, 28, 28, 8, 3, 1, 1, false}, {1, 17, 5, 5, 1, 5, 1, 1, true},
        {3, 1, 28, 29, 1, 3, 1, 1, false}, {2, 1, 60, 60, 3, 7, 1, 1, false},
        {1, 2, 9, 140, 2, 3, 1, 1, false}, {2, 1, 30, 31, 1, 3, 2, 1, false}};
    for (size_t s = 0; s < sizeof images / sizeof images[0]; s++)
        for (int i = 0; i < DTYPES; i++) {
            work w;
            work_convolution(&w, dtypes[i], &images[s]);
            work_run(&w, 2, false);
            check_values(&w, 500);
            work_free(&w);
        }
}

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 8};
    static const int64_t shapes[][4] = {{1, 140, 311, 301}, {7, 33, 65, 29}, {1, 5, 1700, 300}};
    for (int i = 0; i < 3 * DTYPES; i++) {
        work w;
        if ((i + i / DTYPES) % step(2))
            continue;
        work_make(&w, dtypes[i % DTYPES], (const int[]){1, 1, 1, 1}, shapes[i / DTYPES], PLAIN,
                  REVERSED);
        const size_t bytes = w.buf[OUT].bytes;
        void *first = malloc(bytes);
        assert_non_null(first);
        work_run(&w, 1, false);
        memcpy(first, w.buf[OUT].data, bytes);
        for (int t = 0; t < 3; t++) {
            memset(w.buf[OUT].data, 0x55, bytes);
            work_run(&w, threads[t], false);
            assert_memory_equal(first, w.buf[OUT].data, bytes);
        }
        free(first);
        work_free(&w);
    }
}

/* Copies the inputs' elements from another work, whose groups may be longer. */
static void work_copy_inputs(work *to, const work *from)
{
    const int64_t *small = to->p.extent, *large = from->p.extent, k = small[3];
    const size_t bytes = ig_dtype_bytes(to->p.dtype);
    for (int side = 0; side < 2; side++) {
        const int64_t rows = small[1 + side], stride = large[1 + side];
        for (int64_t i = 0; i < small[0] * rows * k; i++) {
            const int64_t row = i / k % rows, batch = i / k / rows;
            memcpy((void *)work_at(to, side, i),
                   work_at(from, side, (batch * stride + row) * k + i % k), bytes);
        }
    }
}

/* For any layout of the elements, whether or not they are packed. */
static void test_same_bits_for_any_layout(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 700},   {9, 1, 1, 77},   {1, 1, 300, 600},
                                        {1, 300, 1, 65},  {2, 3, 77, 530}, {2, 40, 50, 300},
                                        {1, 61, 100, 530}};
    static const layout hows[][2] = {{PLAIN, REVERSED},  {REVERSED, PLAIN}, {REVERSED, REVERSED},
                                     {FLIPPED, FLIPPED}, {GAPPED, GAPPED},  {GAPPED, PLAIN}};
    for (int i = 0; i < 7 * DTYPES; i++) {
        work plain;
        const ig_dtype dtype = dtypes[i % DTYPES];
        const int ndim[] = {1, 1, 1, 1};
        work_make(&plain, dtype, ndim, shapes[i / DTYPES], PLAIN, PLAIN);
        work_run(&plain, 2, false);
        for (int j = i % step(3); j < 6; j += step(3)) {
            work w;
            work_make(&w, dtype, ndim, shapes[i / DTYPES], hows[j][0], hows[j][1]);
            work_copy_inputs(&w, &plain);
            work_run(&w, 2, false);
            assert_memory_equal(plain.buf[OUT].data, w.buf[OUT].data, w.buf[OUT].bytes);
            work_free(&w);
        }
        work_free(&plain);
    }
}

/* A row has the same bits among few rows and among many. */
static void test_same_bits_for_any_other_rows(void **state)
{
    (void)state;
    enum { M = 30, N = 110, K = 333 };
    for (int i = 0; i < DTYPES; i++)
        for (int64_t few = 1; few <= 5; few++) {
            work all, some;
            const int64_t m = few % 2 ? few : M, n = few % 2 ? N : few;
            work_make(&all, dtypes[i], (const int[]){0, 1, 1, 1}, (const int64_t[]){M, N, K}, PLAIN,
                      few > 2 ? PLAIN : REVERSED);
            work_make(&some, dtypes[i], (const int[]){0, 1, 1, 1}, (const int64_t[]){m, n, K},
                      PLAIN, few > 2 ? PLAIN : REVERSED);
            work_copy_inputs(&some, &all);
            work_run(&all, 1, false);
            work_run(&some, 1, false);
            const size_t bytes = ig_dtype_bytes(dtypes[i]);
            for (int64_t r = 0; r < m; r++)
                assert_memory_equal((char *)some.buf[OUT].data + (size_t)(r * n) * bytes,
                                    (char *)all.buf[OUT].data + (size_t)(r * N) * bytes,
                                    (size_t)n * bytes);
            work_free(&some);
            work_free(&all);
        }
}

/* The sum of two stored elements, as the tape's add gives it. */
static void add_elements(ig_dtype dtype, void *to, const void *x, const void *y)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    if (dtype == IG_F64) {
        dtype_store(dtype, to, dtype_fetch(dtype, x) + dtype_fetch(dtype, y));
    } else if (dtype_is_float(dtype)) {
        const float value = (float)dtype_fetch(dtype, x) + (float)dtype_fetch(dtype, y);
        dtype_store(dtype, to, (double)value);
    } else {
        uint64_t a = 0, b = 0;
        memcpy(&a, x, bytes);
        memcpy(&b, y, bytes);
        a += b;
        memcpy(to, &a, bytes);
    }
}

static void test_fused_is_unfused(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{45, 10, 300}, {45, 67, 300}, {19, 1100, 33}};
    for (int i = 0; i < 3 * DTYPES; i++) {
        work w;
        const ig_dtype dtype = dtypes[i % DTYPES];
        work_make(&w, dtype, (const int[]){0, 1, 1, 1}, shapes[i / DTYPES], PLAIN, PLAIN);
        const size_t bytes = w.buf[OUT].bytes;
        const int64_t element = (int64_t)ig_dtype_bytes(dtype);
        char *plain = malloc(bytes);
        assert_non_null(plain);
        work_run(&w, 2, false);
        memcpy(plain, w.buf[OUT].data, bytes);
        for (int64_t j = 0; j < w.p.post.size; j++)
            add_elements(dtype, plain + j * element, plain + j * element,
                         (char *)w.buf[BIAS].data + j % w.p.extent[2] * element);
        work_run(&w, 2, true);
        assert_memory_equal(plain, w.buf[OUT].data, bytes);
        free(plain);
        work_free(&w);
    }
}

static void test_special_values(void **state)
{
    (void)state;
    static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0};
    for (int i = 0; i < DTYPES * 40; i++) {
        const int64_t m = i < DTYPES * 20 ? 13 : 2;
        const ig_dtype dtype = dtypes[i % DTYPES];
        if (!dtype_is_float(dtype))
            continue;
        work w;
        work_make(&w, dtype, (const int[]){0, 1, 1, 1}, (const int64_t[]){m, 21, 17}, PLAIN,
                  i % 2 ? PLAIN : REVERSED);
        const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
        for (int j = 0; j < 5; j++) {
            dtype_store(dtype, (char *)w.buf[IN0].data + random_below(m * 17) * bytes,
                        specials[random_below(4)]);
            dtype_store(dtype, (char *)w.buf[IN1].data + random_below(21 * 17) * bytes,
                        specials[random_below(4)]);
        }
        work_run(&w, 1, false);
        for (int64_t j = 0; j < m * 21; j++) {
            double right = 0;
            for (int64_t k = 0; k < 17; k++)
                right += dtype_fetch(dtype, work_at(&w, IN0, j / 21 * 17 + k)) *
                         dtype_fetch(dtype, work_at(&w, IN1, j % 21 * 17 + k));
            const double value = dtype_fetch(dtype, (char *)w.buf[OUT].data + j * bytes);
            assert_true(isnan(right) ? isnan(value) : isinf(right) == isinf(value));
            if (isinf(right))
                assert_true(right == value);
        }
        work_free(&w);
    }
}

static void test_no_k_gives_zeros_and_no_output_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPES; i++) {
        work w;
        work_make(&w, dtypes[i], (const int[]){1, 1, 1, 2}, (const int64_t[]){2, 9, 30, 4, 0},
                  PLAIN, PLAIN);
        work_run(&w, 2, false);
        const char *out = w.buf[OUT].data;
        for (size_t j = 0; j < w.buf[OUT].bytes; j++)
            assert_int_equal(out[j], 0);
        work_free(&w);
        work_make(&w, dtypes[i], (const int[]){1, 1, 1, 1}, (const int64_t[]){0, 9, 30, 4}, PLAIN,
                  PLAIN);
        work_run(&w, 2, false);
        work_free(&w);
    }
}

/* From 2^24 on, adding ones does not change a running f32 sum; a sum by blocks of k loses only the ones of a block. */
static void test_long_sums_stay_accurate(void **state)
{
    (void)state;
    enum { K = 10000, LOST = 512 };
    work w;
    work_make(&w, IG_F32, (const int[]){0, 1, 1, 1}, (const int64_t[]){2, 3, K}, PLAIN, PLAIN);
    for (int i = 0; i < 2 * K; i++)
        ((float *)w.buf[IN0].data)[i] = i % K ? 1 : 0x1p24f;
    for (int i = 0; i < 3 * K; i++)
        ((float *)w.buf[IN1].data)[i] = 1;
    work_run(&w, 1, false);
    for (int i = 0; i < 6; i++) {
        const float value = ((const float *)w.buf[OUT].data)[i];
        assert_true(value <= 0x1p24f + K && value >= 0x1p24f + K - LOST);
    }
    work_free(&w);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_layouts),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_bytes_summed_in_i32),
        cmocka_unit_test(test_sizes_around_blocks),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_few_rows_have_the_bits_of_many),
        cmocka_unit_test(test_rows_of_one),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_same_bits_for_any_layout),
        cmocka_unit_test(test_same_bits_for_any_other_rows),
        cmocka_unit_test(test_fused_is_unfused),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_no_k_gives_zeros_and_no_output_nothing),
        cmocka_unit_test(test_long_sums_stay_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* One process for each level, since the level is chosen once. */
int main(void)
{
    static const char *const levels[] = {
#define LEVEL(name) #name,
#define LEVEL_ON(name, base, needs) #name,
#include "levels.h"
    };
    if (getenv("IG_CPU_LEVEL"))
        return run_all();
    int failed = 0;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            setenv("IG_CPU_LEVEL", levels[i], 1);
            if (strcmp(cpu_level_now()->name, levels[i]) != 0)
                exit(0);
            fprintf(stderr, "level %s\n", levels[i]);
            exit(run_all() ? 1 : 0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            failed++;
    }
    return failed;
}
