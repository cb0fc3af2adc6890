/* Storage formats: every format against a plain decoder of its own, packing, graphs that read blocks against the same graphs
 * on plain copies, on every device, and errors. */
#include "engine/backend/cpu/cpu.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = {
    "cpu",
    "gang",
#if !defined(ORDERLY_END) /* not with sanitizers: OpenCL's compiler leaks */
    "opencl:0",
#endif
};
enum { DEVICES = sizeof devices / sizeof *devices, MOST = 1 << 16 };

static uint64_t state_of_random = 1;
static uint32_t random_bits(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_random >> 33);
}

/* Selects a device; false if the machine has none. */
static bool use(const char *device)
{
    if (ig_set_device(device) == IG_OK)
        return true;
    ig_error(NULL);
    return false;
}

/* ---- a decoder of one element at a time, in double ---- */

static double half(const unsigned char *b)
{
    const int h = b[0] + 256 * b[1], e = h / 1024 % 32, f = h % 1024;
    const double x = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
    return h / 32768 ? -x : x;
}

static double single(const unsigned char *b)
{
    float x;
    const uint32_t u = b[0] + 256u * b[1] + 65536u * b[2] + 16777216u * b[3];
    memcpy(&x, &u, sizeof x);
    return x;
}

/* 1 sign, e exponent and f fraction bits. unsigned_nan: the only NaN is 0x80. */
static double tiny(int code, int e, int f, int bias, bool unsigned_nan)
{
    const int top = 1 << e, exponent = code >> f & (top - 1), fraction = code & ((1 << f) - 1);
    double x =
        exponent ? ldexp((1 << f) + fraction, exponent - bias - f) : ldexp(fraction, 1 - bias - f);
    if (unsigned_nan && code == 0x80)
        return NAN;
    if (!unsigned_nan && e == 4 && (code & 0x7f) == 0x7f)
        return NAN;
    if (!unsigned_nan && e == 5 && exponent == 31)
        x = fraction ? NAN : INFINITY;
    return code & 0x80 ? -x : x;
}

/* scale * code + shift, each step rounded to f32. */
static float steps(double scale, double code, double shift)
{
    const float product = (float)(scale * code);
    return shift != 0 ? (float)((double)product + shift) : product;
}

static void scales_of(const unsigned char *q, int j, int *scale, int *minimum)
{
    *scale = j < 4 ? q[j] % 64 : q[j + 4] % 16 + q[j - 4] / 64 * 16;
    *minimum = j < 4 ? q[j + 4] % 64 : q[j + 4] / 16 + q[j] / 64 * 16;
}

static float of_q4(const unsigned char *b, int i)
{
    return steps(half(b), i < 16 ? b[2 + i] % 16 - 8 : b[2 + i - 16] / 16 - 8, 0);
}
static float of_q4_1(const unsigned char *b, int i)
{
    return steps(half(b), i < 16 ? b[4 + i] % 16 : b[4 + i - 16] / 16, half(b + 2));
}
static int five(const unsigned char *high, const unsigned char *low, int i)
{
    return (i < 16 ? low[i] % 16 : low[i - 16] / 16) + (high[i / 8] >> i % 8) % 2 * 16;
}
static float of_q5(const unsigned char *b, int i)
{
    return steps(half(b), five(b + 2, b + 6, i) - 16, 0);
}
static float of_q5_1(const unsigned char *b, int i)
{
    return steps(half(b), five(b + 4, b + 8, i), half(b + 2));
}
static float of_q8(const unsigned char *b, int i)
{
    return steps(half(b), (signed char)b[2 + i], 0);
}
static float of_k(const unsigned char *b, int i, const unsigned char *low,
                  const unsigned char *high)
{
    int scale, minimum;
    const int byte = low[i / 64 * 32 + i % 32], code = i / 32 % 2 ? byte / 16 : byte % 16;
    scales_of(b + 4, i / 32, &scale, &minimum);
    const int fifth = high ? (high[i % 32] >> i / 32) % 2 * 16 : 0;
    const float s = (float)(half(b) * scale), m = (float)(half(b + 2) * minimum);
    return (float)((double)(float)((double)s * (code + fifth)) - (double)m);
}
static float of_q4_k(const unsigned char *b, int i) { return of_k(b, i, b + 16, NULL); }
static float of_q5_k(const unsigned char *b, int i) { return of_k(b, i, b + 48, b + 16); }
static float of_q6_k(const unsigned char *b, int i)
{
    const int half_of = i / 128, r = i % 128, byte = b[64 * half_of + r % 64];
    const int low = r < 64 ? byte % 16 : byte / 16,
              high = b[128 + 32 * half_of + r % 32] >> 2 * (r / 32);
    const float scale = (float)(half(b + 208) * (signed char)b[192 + i / 16]);
    return (float)((double)scale * (low + high % 4 * 16 - 32));
}
static float of_q2_k(const unsigned char *b, int i)
{
    const int both = b[i / 16], code = b[16 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
    const float s = (float)(half(b + 80) * (both % 16)), m = (float)(half(b + 82) * (both / 16));
    return (float)((double)(float)((double)s * code) - (double)m);
}
static float of_q3_k(const unsigned char *b, int i)
{
    const unsigned char *q = b + 96;
    const int p = i / 16, low = p < 8 ? q[p] % 16 : q[p - 8] / 16;
    const int scale = low + (q[8 + p % 4] >> 2 * (p / 4)) % 4 * 16 - 32;
    const int code = b[32 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
    const int high = b[i % 32] >> i / 32 & 1;
    return (float)((double)(float)(half(b + 108) * scale) * (code - (high ? 0 : 4)));
}
static double iq4(int code)
{
    static const double values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
    return values[code];
}
static float of_iq4_nl(const unsigned char *b, int i)
{
    return steps(half(b), iq4(i < 16 ? b[2 + i] % 16 : b[2 + i - 16] / 16), 0);
}
static float of_iq4_xs(const unsigned char *b, int i)
{
    const int p = i / 32, byte = b[8 + 16 * p + i % 16], high = b[2] + 256 * b[3];
    const int low = p % 2 ? b[4 + p / 2] / 16 : b[4 + p / 2] % 16;
    const float scale = (float)(half(b) * (low + (high >> 2 * p) % 4 * 16 - 32));
    return steps((double)scale, iq4(i % 32 < 16 ? byte % 16 : byte / 16), 0);
}
static float of_mxfp4(const unsigned char *b, int i)
{
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const int code = i < 16 ? b[1 + i] % 16 : b[1 + i - 16] / 16;
    return (float)ldexp(code > 8 ? -values[code - 8] : values[code % 8], b[0] - 127);
}
static float of_e4m3(const unsigned char *b, int i) { return (float)tiny(b[i], 4, 3, 7, false); }
static float of_e4m3fnuz(const unsigned char *b, int i) { return (float)tiny(b[i], 4, 3, 8, true); }
static float of_e5m2(const unsigned char *b, int i) { return (float)tiny(b[i], 5, 2, 15, false); }
static float of_e5m2fnuz(const unsigned char *b, int i)
{
    return (float)tiny(b[i], 5, 2, 16, true);
}
/* Formats whose blocks are chosen: bits and kind follow from the name. */
static float of_codes(const char *name, int block, const unsigned char *b, int i)
{
    const int bits = name[1] - '0', run = block * bits / 8;
    const int head = name[0] == 'i' ? 4 : name[0] == 'u' ? 5 : 8;
    const int code = b[head + i % run] >> i / run * bits & ((1 << bits) - 1);
    const double zero = name[0] == 'i' ? 1 << (bits - 1) : name[0] == 'u' ? b[4] : single(b + 4);
    return (float)((double)(float)(code - zero) * single(b));
}

static const struct format {
    const char *name;
    int block, bytes; /* block 0: codes */
    float (*value)(const unsigned char *b, int i);
    double error; /* of packing, in units of a block's largest magnitude */
} formats[] = {
    {"f8_e4m3", 1, 1, of_e4m3, 1. / 16},
    {"f8_e4m3fnuz", 1, 1, of_e4m3fnuz, 1. / 16},
    {"f8_e5m2", 1, 1, of_e5m2, 1. / 8},
    {"f8_e5m2fnuz", 1, 1, of_e5m2fnuz, 1. / 8},
    {"q4_0", 32, 18, of_q4, 1. / 7.9},
    {"q4_1", 32, 20, of_q4_1, 1. / 14},
    {"q5_0", 32, 22, of_q5, 1. / 15.5},
    {"q5_1", 32, 24, of_q5_1, 1. / 29},
    {"q8_0", 32, 34, of_q8, 1. / 225},
    {"q4_k", 256, 144, of_q4_k, 1. / 10},
    {"q5_k", 256, 176, of_q5_k, 1. / 15},
    {"q6_k", 256, 210, of_q6_k, 1. / 27},
    {"q2_k", 256, 84, of_q2_k, 1. / 2},
    {"q3_k", 256, 110, of_q3_k, 1. / 3},
    {"iq4_nl", 32, 18, of_iq4_nl, 1. / 6},
    {"iq4_xs", 256, 136, of_iq4_xs, 1. / 6},
    {"mxfp4", 32, 17, of_mxfp4, 1. / 3},
    {"i2", 0, 4, NULL, 1.1},
    {"i4", 0, 4, NULL, 1. / 7.9},
    {"i8", 0, 4, NULL, 1. / 127},
    {"u2", 0, 5, NULL, 1},
    {"u4", 0, 5, NULL, 1. / 7},
    {"u8", 0, 5, NULL, 1. / 120},
    {"z2", 0, 8, NULL, 1. / 2.9},
    {"z4", 0, 8, NULL, 1. / 14},
    {"z8", 0, 8, NULL, 1. / 250},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static int block_bytes(const struct format *f, int block)
{
    return f->block ? f->bytes : f->bytes + block * (f->name[1] - '0') / 8;
}

static float value_of(const struct format *f, int block, const unsigned char *b, int64_t i)
{
    b += i / block * block_bytes(f, block);
    return f->block ? f->value(b, (int)(i % block)) : of_codes(f->name, block, b, (int)(i % block));
}

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* Random blocks. Scales are moderate, so that values are finite; f8 has all codes. */
static void random_blocks(const struct format *f, int block, int64_t blocks, unsigned char *to)
{
    const int bytes = block_bytes(f, block);
    for (int64_t i = 0; i < blocks * bytes; i++)
        to[i] = (unsigned char)(f->block == 1 ? i : random_bits());
    for (int64_t i = 0; i < blocks && f->block != 1; i++) {
        unsigned char *b = to + i * bytes;
        const float scale = (float)(random_bits() % 1000) / 4096,
                    zero = (float)(random_bits() % 100) / 16;
        if (!f->block) {
            memcpy(b, &scale, sizeof scale);
            if (f->bytes == 8)
                memcpy(b + 4, &zero, sizeof zero);
            continue;
        }
        const int second = strchr(f->name, 'k') && f->name[1] != '6' ? 2
                           : strstr(f->name, "_1")                   ? 2
                                                                     : 0;
        unsigned char *at = f->name[1] == '6' ? b + 208 : b;
        at[1] = (unsigned char)(random_bits() % 64 %
                                60); /* an exponent that is not the largest, or a subnormal */
        at[second + 1] = (unsigned char)(random_bits() % 128 % 124);
    }
}

/* ---- every format ---- */

static void check_format(const struct format *f, int block, const char *device)
{
    static unsigned char bytes[MOST];
    static float got[MOST];
    enum { ROWS = 3 };
    const int64_t columns = (block < 64 ? 320 / block : 4) * block, n = ROWS * columns;
    ig_storage s;
    state_of_random = 1;
    random_blocks(f, block, n / block, bytes);
    ig_scope_begin();
    ig_array *x = ig_from_packed(f->name, f->block ? 0 : block, IG_F32, IG_SHAPE(ROWS, columns),
                                 bytes, sizeof bytes, NULL, NULL);
    assert_non_null(x);
    assert_int_equal(ig_read(x, got, (size_t)n * sizeof *got), IG_OK);
    for (int64_t i = 0; i < n; i++) {
        const float want = value_of(f, block, bytes, i);
        if (!same(got[i], want))
            fail_msg("%s of %d on %s: element %d is %a, not %a", f->name, block, device, (int)i,
                     got[i], want);
    }
    /* the middle of blocks, and every third element */
    ig_array *part = ig_slice(x, IG_AXES(1, 3), IG_AXES(3, columns - 2), IG_AXES(1, 3));
    const int64_t wide = (columns - 5 + 2) / 3;
    assert_int_equal(ig_read(part, got, (size_t)(2 * wide) * sizeof *got), IG_OK);
    for (int64_t i = 0; i < 2 * wide; i++)
        assert_true(
            same(got[i], value_of(f, block, bytes, (1 + i / wide) * columns + 3 + i % wide * 3)));
    assert_int_equal(ig_storage_of(part, &s), IG_OK);
    assert_string_equal(s.format, f->name);
    assert_int_equal(s.block, block);
    assert_int_equal(s.block_bytes, block_bytes(f, block));
    assert_int_equal(s.bytes, n / block * block_bytes(f, block));
    ig_array *kept = ig_packed_bytes(x);
    assert_int_equal(ig_size(kept), s.bytes);
    assert_memory_equal(ig_data(kept), bytes, s.bytes);
    ig_scope_end();
}

static void test_formats(void **state)
{
    (void)state;
    static const int blocks[] = {8, 32, 40, 128};
    for (int d = 0; d < DEVICES; d++)
        for (int i = 0; i < FORMATS && use(devices[d]); i++) {
            const struct format *f = &formats[i];
            /* a device that compiles takes long for each text */
            if (d > 0 && i % 4 != d % 4)
                continue;
            if (f->block)
                check_format(f, f->block, devices[d]);
            for (int k = 0; k < 4 && !f->block; k++)
                if (d == 0 || k == 2)
                    check_format(f, blocks[k], devices[d]);
        }
    ig_set_device("cpu");
}

static void test_packing(void **state)
{
    (void)state;
    enum { N = 1024 };
    static float x[N];
    state_of_random = 2;
    for (int i = 0; i < N; i++)
        x[i] = ((float)(random_bits() % 20001) / 10000 - 1) * (float)(1 << i / 256 % 4);
    for (int i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        const int block = f->block ? f->block : 64;
        ig_scope_begin();
        ig_array *q = ig_quantize(ig_from_data(x, IG_SHAPE(N), IG_F32), f->name, f->block ? 0 : 64);
        const float *y = ig_data(q);
        assert_non_null(y);
        for (int b = 0; b < N / block; b++) {
            double most = 0;
            for (int k = 0; k < block; k++)
                most = fmax(most, fabsf(x[b * block + k]));
            for (int k = b * block; k < (b + 1) * block; k++)
                if (!(fabs((double)y[k] - x[k]) <= f->error * most + (f->block == 1 ? 1e-3 : 1e-9)))
                    fail_msg("%s: %g becomes %g in a block up to %g", f->name, x[k], y[k], most);
        }
        /* values that are exact stay */
        const bool stable = f->block <= 32 || !f->block;
        ig_array *again = stable && f->block ? ig_quantize(q, f->name, 0) : NULL;
        if (again && f->block == 1)
            assert_memory_equal(ig_data(again), y, sizeof x);
        ig_scope_end();
    }
    for (int i = 0; i < 4; i++) { /* each code of f8 is the nearest to itself */
        unsigned char codes[256];
        for (int k = 0; k < 256; k++)
            codes[k] = (unsigned char)k;
        ig_scope_begin();
        ig_array *all =
            ig_from_packed(formats[i].name, 0, IG_F32, IG_SHAPE(256), codes, 256, NULL, NULL);
        const unsigned char *back =
            ig_data(ig_packed_bytes(ig_quantize(ig_copy(all), formats[i].name, 0)));
        assert_non_null(back);
        for (int k = 0; k < 256; k++)
            if (!isnan(value_of(&formats[i], 1, codes, k)))
                assert_int_equal(back[k], k);
        ig_scope_end();
    }
}

/* ---- graphs ---- */

/* w (ROWS, COLUMNS), x (.., COLUMNS) or (.., ROWS), b (COLUMNS) */
enum { ROWS = 70, COLUMNS = 512, GRAPHS = 24 };
typedef struct parts {
    ig_array *w, *x, *few, *rows, *b, *at;
} parts;

static ig_array *rows_of_x(const parts *p, int64_t n)
{
    return ig_slice(p->x, IG_AXES(0), IG_AXES(n), IG_NONE);
}

static ig_array *graph(const parts *p, int i)
{
    ig_array *w = p->w, *t = ig_matrix_transpose(w);
    switch (i) {
    case 0: return ig_add(ig_multiply(w, ig_float(2)), p->b);
    case 1: return ig_sum(w, IG_AXES(1), IG_DTYPE_NONE, false);
    case 2: return ig_sum(ig_square(w), IG_AXES(0), IG_DTYPE_NONE, false);
    case 3: return ig_subtract(t, ig_float(1));
    case 4: return ig_take(w, p->at, IG_AXES(0));
    case 5: return ig_add(ig_take(t, p->at, IG_AXES(0)), ig_float(1));
    case 6: return ig_matmul(rows_of_x(p, 1), t);
    case 7: return ig_matmul(rows_of_x(p, 2), t);
    case 8: return ig_add(ig_matmul(rows_of_x(p, 4), t), ig_float(1));
    case 9: return ig_matmul(p->x, t);
    case 10: return ig_matmul(p->few, w);
    case 11: return ig_matmul(p->rows, w);
    case 12: return ig_matmul(w, ig_matrix_transpose(p->x));
    case 13: return ig_matmul(w, t);
    case 14: return ig_softmax(ig_matmul(rows_of_x(p, 3), t), IG_AXES(1));
    case 15: return ig_sort(w, 1, false, true);
    case 16: return ig_cumulative_sum(w, IG_AXES(1), IG_DTYPE_NONE, false);
    case 17: return ig_concat((ig_array *[]){w, ig_multiply(w, ig_float(3)), w}, 3, IG_AXES(0));
    case 18: return ig_argmax(w, IG_AXES(1), false);
    case 19:
        return ig_matmul(ig_slice(rows_of_x(p, 2), IG_AXES(0, 3), IG_AXES(2, 403), IG_NONE),
                         ig_slice(t, IG_AXES(5, 1), IG_AXES(405, 60), IG_NONE));
    case 20:
        return ig_scatter_add(
            ig_zeros_like(w, IG_DTYPE_NONE),
            ig_broadcast_to(
                ig_expand_dims(ig_slice(p->at, IG_AXES(0), IG_AXES(1), IG_NONE), IG_AXES(1)),
                IG_SHAPE(1, COLUMNS)),
            ig_slice(w, IG_AXES(2), IG_AXES(3), IG_NONE), 0);
    case 21:
        return ig_matmul(ig_expand_dims(p->x, IG_AXES(1)),
                         ig_broadcast_to(t, IG_SHAPE(40, COLUMNS, ROWS)));
    case 22:
        return ig_where(ig_greater(w, ig_float(0)), w,
                        ig_slice(p->b, IG_AXES(3), IG_AXES(4), IG_NONE));
    default: return ig_mean(ig_reshape(w, IG_SHAPE(-1)), IG_NONE, false);
    }
}

static ig_array *random_array(ig_ints shape, ig_dtype dtype, int seed)
{
    return ig_normal(ig_key(seed, NULL), shape, dtype, NULL, NULL);
}

/* Products of the level without fma have bits of their own. */
static bool has_fma(void) { return strcmp(cpu_level_now()->name, "sse2") != 0; }

/* The same graph on blocks and on a plain copy has the same bits, on this device and on the CPU. */
static void check_graphs(const char *device, const char *format, int64_t block, ig_dtype dtype,
                         int from, int step)
{
    static const int64_t at[] = {3, 69, -1, 0, 3};
    static char want[MOST * 32];
    for (int i = from; i < GRAPHS; i += step) {
        const bool is_long = i == 9 || i == 12 || i == 13 || i == 15 || i == 21;
        if (is_long && strcmp(device, "gang") == 0)
            continue;
        size_t bytes = 0;
        for (int d = 0; d < 2; d++) {
            ig_scope_begin();
            assert_true(use(d ? device : "cpu"));
            ig_array *plain = random_array(IG_SHAPE(ROWS, COLUMNS), dtype, 1);
            parts p = {.x = random_array(IG_SHAPE(40, COLUMNS), dtype, 2),
                       .few = random_array(IG_SHAPE(2, ROWS), dtype, 3),
                       .rows = random_array(IG_SHAPE(40, ROWS), dtype, 4),
                       .b = random_array(IG_SHAPE(COLUMNS), dtype, 5),
                       .at = ig_from_data(at, IG_SHAPE(5), IG_I64)};
            p.w = ig_quantize(plain, format, block);
            assert_non_null(p.w);
            ig_array *packed = graph(&p, i);
            p.w = ig_copy(p.w);
            ig_array *copied = graph(&p, i);
            ig_array *both[] = {packed, copied};
            if (!copied || !packed || ig_eval(both, 2) != IG_OK)
                fail_msg("%s, %s, graph %d: %s", device, format, i, ig_error(NULL));
            bytes = (size_t)ig_size(packed) * ig_dtype_bytes(ig_dtype_of(packed));
            assert_true(bytes <= sizeof want);
            if (memcmp(ig_data(packed), ig_data(copied), bytes) != 0)
                fail_msg("%s, %s, %s, graph %d: blocks and their plain copy give other bits",
                         d ? device : "cpu", format, ig_dtype_name(dtype), i);
            if (d && has_fma() && memcmp(want, ig_data(packed), bytes) != 0)
                fail_msg("%s, %s, graph %d: other bits than on the cpu", device, format, i);
            memcpy(want, ig_data(packed), bytes);
            ig_scope_end();
            if (strcmp(device, "cpu") == 0)
                break;
        }
    }
    ig_set_device("cpu");
}

static void test_graphs_on_cpu(void **state)
{
    (void)state;
    static const ig_dtype dtypes[] = {IG_F32, IG_BF16, IG_F16};
    ig_set_math(IG_MATH_SAME);
    for (int i = 0; i < FORMATS; i++)
        check_graphs("cpu", formats[i].name, formats[i].block ? 0 : 64, dtypes[i % 3], i % 4, 4);
    check_graphs("cpu", "q4_0", 0, IG_F32, 0, 1);
    check_graphs("cpu", "u4", 32, IG_BF16, 0, 1);
    ig_set_math(IG_MATH_STRICT);
    check_graphs("cpu", "i4", 128, IG_BF16, 6, 1);
    ig_set_threads(3);
    check_graphs("cpu", "q6_k", 0, IG_F32, 6, 1);
    ig_set_threads(0);
}

static void test_graphs_on_devices(void **state)
{
    (void)state;
    ig_set_math(IG_MATH_SAME);
    for (int d = 1; d < DEVICES; d++) {
        if (!use(devices[d]))
            continue;
        check_graphs(devices[d], "q4_0", 0, IG_F32, 0, d);
        check_graphs(devices[d], "u4", 32, IG_F16, d, 7);
        check_graphs(devices[d], "f8_e4m3", 0, IG_BF16, d + 3, 7);
    }
    ig_set_math(IG_MATH_STRICT);
}

/* Compiled computations take blocks as constants and as inputs; gradients pass through them; they move with their device. */
static void test_uses(void **state)
{
    (void)state;
    ig_array *x = random_array(IG_SHAPE(2, 64), IG_F32, 1);
    ig_array *w = ig_quantize(random_array(IG_SHAPE(16, 64), IG_F32, 2), "q8_0", 0);
    ig_array *y = ig_sum_all(ig_square(ig_matmul(x, ig_matrix_transpose(w))));
    const double want = ig_item(y);
    ig_array *in[] = {x, w}, *out[1], *slope[2];
    ig_compiled *constant = ig_compile(in, 1, 0, &y, 1), *input = ig_compile(in, 2, 0, &y, 1);
    assert_int_equal(ig_run(constant, in, out), IG_OK);
    assert_true(ig_item(out[0]) == want);
    assert_int_equal(ig_run(input, in, out), IG_OK);
    assert_true(ig_item(out[0]) == want);
    ig_compiled_free(constant);
    ig_compiled_free(input);
    assert_int_equal(ig_grad(y, in, 2, slope), IG_OK);
    ig_array *plain[] = {x, ig_copy(w)}, *expected[2];
    ig_array *again = ig_sum_all(ig_square(ig_matmul(x, ig_matrix_transpose(plain[1]))));
    assert_int_equal(ig_grad(again, plain, 2, expected), IG_OK);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(ig_data(slope[i]), ig_data(expected[i]), ig_size(slope[i]) * 4);
    assert_true(ig_item(ig_slice(w, IG_AXES(3, 5), IG_AXES(4, 6), IG_NONE)) ==
                ig_item(ig_slice(plain[1], IG_AXES(3, 5), IG_AXES(4, 6), IG_NONE)));
    /* a donation leaves the blocks alone, also if the result would fit there */
    ig_array *codes = ig_quantize(ig_ones(IG_SHAPE(64), IG_F32), "f8_e4m3", 0);
    ig_array *sum = ig_add(codes, ig_float(1)), *seen = ig_retain(ig_packed_bytes(codes));
    assert_int_equal(ig_eval_donating(&sum, 1, &codes, 1), IG_OK);
    assert_true(ig_item(ig_max_all(sum)) == 2 && ig_item_int(ig_max_all(seen)) == 0x38);
    ig_release(seen);
    ig_storage s;
    assert_int_equal(ig_storage_of(sum, &s), IG_OK);
    assert_string_equal(s.format, "plain");
    assert_int_equal(s.bytes, 256);
}

static int released;
static void count_release(void *context) { released += context == &released; }

static void test_errors(void **state)
{
    (void)state;
    unsigned char bytes[64] = {0};
    ig_array *x = ig_ones(IG_SHAPE(2, 48), IG_F32);
    assert_refused(ig_quantize(x, "q4_9", 0), IG_ERR_ARGUMENT, "no storage format 'q4_9'");
    assert_refused(ig_quantize(x, NULL, 0), IG_ERR_ARGUMENT, "format");
    assert_refused(ig_quantize(x, "plain", 0), IG_ERR_ARGUMENT, "no storage format 'plain'");
    assert_refused(ig_quantize(x, "q4_0", 0), IG_ERR_SHAPE, "blocks of 32 elements");
    assert_refused(ig_quantize(x, "q4_0", 16), IG_ERR_ARGUMENT, "no blocks of 16");
    assert_refused(ig_quantize(x, "u4", 12), IG_ERR_ARGUMENT, "no blocks of 12");
    assert_refused(ig_quantize(x, "u4", -8), IG_ERR_ARGUMENT, "no blocks of -8");
    assert_refused(ig_quantize(x, "u4", 1 << 20), IG_ERR_ARGUMENT, "no blocks");
    assert_refused(ig_quantize(ig_ones(IG_SHAPE(32), IG_F64), "q4_0", 0), IG_ERR_DTYPE, "not f64");
    assert_refused(ig_quantize(ig_float(1), "q4_0", 0), IG_ERR_DTYPE, "not f64");
    assert_refused(ig_packed_bytes(x), IG_ERR_ARGUMENT, "plain");
    assert_int_equal(ig_storage_of(NULL, &(ig_storage){0}), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "x");
    released = 0;
    assert_refused(ig_from_packed("q4_0", 0, IG_F32, IG_SHAPE(4, 32), bytes, sizeof bytes,
                                  count_release, &released),
                   IG_ERR_ARGUMENT, "needs 72 bytes, but data has 64");
    assert_refused(ig_from_packed("q4_0", 0, IG_I32, IG_SHAPE(32), bytes, sizeof bytes,
                                  count_release, &released),
                   IG_ERR_DTYPE, "not i32");
    assert_refused(ig_from_packed("q4_0", 0, IG_F32, IG_SHAPE(-32), bytes, sizeof bytes,
                                  count_release, &released),
                   IG_ERR_SHAPE, "");
    assert_refused(ig_from_packed("q4_0", 0, IG_F32, IG_SHAPE(32), NULL, sizeof bytes,
                                  count_release, &released),
                   IG_ERR_ARGUMENT, "data");
    assert_int_equal(released, 4);
    ig_array *y = ig_take(ig_quantize(ig_ones(IG_SHAPE(2, 32), IG_F32), "q4_0", 0),
                          ig_from_data((const int64_t[]){2}, IG_SHAPE(1), IG_I64), IG_AXES(0));
    assert_int_equal(eval_and_wait(y), IG_ERR_INDEX);
    assert_error(IG_ERR_INDEX, "index 2 is out of bounds for an axis of length 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_formats, begin, end),
        cmocka_unit_test_setup_teardown(test_packing, begin, end),
        cmocka_unit_test_setup_teardown(test_graphs_on_cpu, begin, end),
        cmocka_unit_test_setup_teardown(test_graphs_on_devices, begin, end),
        cmocka_unit_test_setup_teardown(test_uses, begin, end),
        cmocka_unit_test_setup_teardown(test_errors, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
