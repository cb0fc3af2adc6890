/* Packing of blocks: the functions storage_pack_<name> of storage.def. */
#include "base/storage.h"

#include <math.h>
#include <string.h>

typedef unsigned char byte;

static int clamp(float x, int low, int high)
{
    return x >= (float)high ? high : x > (float)low ? (int)x : low;
}

/* The nearest integer in the range; low for NaN. */
static int nearest(float x, int low, int high) { return clamp(rintf(x), low, high); }

static float inverse(float x) { return x != 0 ? 1 / x : 0; }

static void put_half(byte *to, float x)
{
    uint16_t h;
    dtype_store(IG_F16, &h, x);
    to[0] = (byte)h;
    to[1] = (byte)(h >> 8);
}

static float as_half(float x)
{
    uint16_t h;
    dtype_store(IG_F16, &h, x);
    return (float)dtype_fetch(IG_F16, &h);
}

static void put_float(byte *to, float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    for (int i = 0; i < 4; i++)
        to[i] = (byte)(u >> 8 * i);
}

typedef struct range {
    float low, high, far; /* far: the element with the largest magnitude */
} range;

static range range_of(const float *x, int n)
{
    range r = {x[0], x[0], 0};
    for (int i = 0; i < n; i++) {
        r.low = x[i] < r.low ? x[i] : r.low;
        r.high = x[i] > r.high ? x[i] : r.high;
        r.far = fabsf(x[i]) > fabsf(r.far) ? x[i] : r.far;
    }
    return r;
}

/* ---- floats of 8 bits: round to even, saturate ---- */

static byte small_float(float x, int fraction, int bias, int largest, int nan, bool negative_zero)
{
    const float least = ldexpf(1, 1 - bias); /* normal */
    const int sign = signbit(x) ? 0x80 : 0;
    const float m = fabsf(x);
    int code = largest, exponent;
    if (isnan(x))
        return (byte)nan;
    if (m < least)
        code = (int)rintf(ldexpf(m, bias + fraction - 1));
    else if (m < ldexpf(1, 16)) {
        frexpf(m, &exponent);
        exponent--;
        code = (int)rintf(ldexpf(m, fraction - exponent)) + ((exponent + bias - 1) << fraction);
    }
    code = code < largest ? code : largest;
    return (byte)(code || negative_zero ? code | sign : 0);
}

static void storage_pack_f8_e4m3(storage s, const float *x, byte *to)
{
    (void)s;
    to[0] = small_float(x[0], 3, 7, 0x7e, 0x7f, true);
}

static void storage_pack_f8_e4m3fnuz(storage s, const float *x, byte *to)
{
    (void)s;
    to[0] = small_float(x[0], 3, 8, 0x7f, 0x80, false);
}

static void storage_pack_f8_e5m2(storage s, const float *x, byte *to)
{
    (void)s;
    to[0] = small_float(x[0], 2, 15, isinf(x[0]) ? 0x7c : 0x7b, 0x7f, true);
}

static void storage_pack_f8_e5m2fnuz(storage s, const float *x, byte *to)
{
    (void)s;
    to[0] = small_float(x[0], 2, 16, 0x7f, 0x80, false);
}

/* ---- blocks of GGUF files ---- */

/* Stores the low four bits of the codes of a block of 32 at `to`, and the fifth bits at `high` (may be NULL). */
static void put_codes(const int *code, byte *to, byte *high)
{
    for (int j = 0; j < 16; j++)
        to[j] = (byte)((code[j] & 15) | (code[j + 16] & 15) << 4);
    for (int i = 0; i < 32 && high; i++)
        high[i / 8] = (byte)((i % 8 ? high[i / 8] : 0) | code[i] >> 4 << i % 8);
}

/* Codes around half of their number, with a scale. */
static void pack_even(const float *x, int bits, byte *to, byte *low, byte *high)
{
    const int half = 1 << (bits - 1);
    const float scale = range_of(x, 32).far / (float)-half, by = inverse(scale);
    int code[32];
    for (int i = 0; i < 32; i++)
        code[i] = clamp(x[i] * by + (float)half + 0.5f, 0, 2 * half - 1);
    put_half(to, scale);
    put_codes(code, low, high);
}

/* Codes with a scale and a minimum. */
static void pack_between(const float *x, int bits, byte *to, byte *low, byte *high)
{
    const int most = (1 << bits) - 1;
    const range r = range_of(x, 32);
    const float scale = (r.high - r.low) / (float)most, by = inverse(scale);
    int code[32];
    for (int i = 0; i < 32; i++)
        code[i] = clamp((x[i] - r.low) * by + 0.5f, 0, most);
    put_half(to, scale);
    put_half(to + 2, r.low);
    put_codes(code, low, high);
}

static void storage_pack_q4_0(storage s, const float *x, byte *to)
{
    (void)s;
    pack_even(x, 4, to, to + 2, NULL);
}

static void storage_pack_q4_1(storage s, const float *x, byte *to)
{
    (void)s;
    pack_between(x, 4, to, to + 4, NULL);
}

static void storage_pack_q5_0(storage s, const float *x, byte *to)
{
    (void)s;
    pack_even(x, 5, to, to + 6, to + 2);
}

static void storage_pack_q5_1(storage s, const float *x, byte *to)
{
    (void)s;
    pack_between(x, 5, to, to + 8, to + 4);
}

static void storage_pack_q8_0(storage s, const float *x, byte *to)
{
    (void)s;
    const float scale = fabsf(range_of(x, 32).far) / 127, by = inverse(scale);
    put_half(to, scale);
    for (int i = 0; i < 32; i++)
        to[2 + i] = (byte)nearest(x[i] * by, -127, 127);
}

enum { PARTS = 8 }; /* of 32 elements, in a block of 256 */

/* Scales and minima of the parts, in 6 bits each, relative to the largest ones. */
static void put_scales(const int *scale, const int *minimum, byte *to)
{
    memset(to, 0, 12);
    for (int p = 0; p < PARTS; p++) {
        if (p < 4) {
            to[p] |= (byte)scale[p];
            to[p + 4] |= (byte)minimum[p];
            continue;
        }
        to[p + 4] = (byte)((scale[p] & 15) | (minimum[p] & 15) << 4);
        to[p - 4] |= (byte)(scale[p] >> 4 << 6);
        to[p] |= (byte)(minimum[p] >> 4 << 6);
    }
}

/* Codes of a block of 256, with two halves and twelve bytes of scales at `to`. */
static void pack_parts(const float *x, int bits, byte *to, byte *codes)
{
    const int most = (1 << bits) - 1;
    float scale[PARTS], minimum[PARTS], far = 0, deep = 0;
    int scales[PARTS], minima[PARTS];
    for (int p = 0; p < PARTS; p++) {
        const range r = range_of(x + 32 * p, 32);
        minimum[p] = r.low < 0 ? -r.low : 0;
        scale[p] = (r.high > -minimum[p] ? r.high + minimum[p] : 0) / (float)most;
        far = scale[p] > far ? scale[p] : far;
        deep = minimum[p] > deep ? minimum[p] : deep;
    }
    const float by = as_half(far / 63), less = as_half(deep / 63);
    for (int p = 0; p < PARTS; p++) {
        scales[p] = nearest(scale[p] * inverse(by), 0, 63);
        minima[p] = nearest(minimum[p] * inverse(less), 0, 63);
        for (int j = 0; j < 32; j++) {
            const float m = less * (float)minima[p], step = by * (float)scales[p];
            codes[32 * p + j] = (byte)nearest((x[32 * p + j] + m) * inverse(step), 0, most);
        }
    }
    put_half(to, by);
    put_half(to + 2, less);
    put_scales(scales, minima, to + 4);
}

static void put_nibbles(const byte *codes, byte *to)
{
    for (int p = 0; p < PARTS; p += 2)
        for (int j = 0; j < 32; j++)
            to[16 * p + j] = (byte)((codes[32 * p + j] & 15) | (codes[32 * p + 32 + j] & 15) << 4);
}

static void storage_pack_q4_k(storage s, const float *x, byte *to)
{
    byte codes[256];
    (void)s;
    pack_parts(x, 4, to, codes);
    put_nibbles(codes, to + 16);
}

static void storage_pack_q5_k(storage s, const float *x, byte *to)
{
    byte codes[256];
    (void)s;
    pack_parts(x, 5, to, codes);
    memset(to + 16, 0, 32);
    for (int i = 0; i < 256; i++)
        to[16 + i % 32] |= (byte)(codes[i] >> 4 << i / 32);
    put_nibbles(codes, to + 48);
}

static void storage_pack_q6_k(storage s, const float *x, byte *to)
{
    float scale[16], far = 0;
    byte code[256];
    (void)s;
    for (int p = 0; p < 16; p++) {
        scale[p] = range_of(x + 16 * p, 16).far / -32;
        far = fabsf(scale[p]) > fabsf(far) ? scale[p] : far;
    }
    const float by = as_half(far / -128);
    for (int p = 0; p < 16; p++) {
        const int parts = nearest(scale[p] * inverse(by), -128, 127);
        to[192 + p] = (byte)parts;
        for (int j = 0; j < 16; j++)
            code[16 * p + j] =
                (byte)(nearest(x[16 * p + j] * inverse(by * (float)parts), -32, 31) + 32);
    }
    put_half(to + 208, by);
    memset(to, 0, 192);
    for (int i = 0; i < 256; i++) {
        const int half = i / 128, quarter = i / 32 % 4, j = i % 32;
        to[64 * half + 32 * (quarter % 2) + j] |= (byte)((code[i] & 15) << quarter / 2 * 4);
        to[128 + 32 * half + j] |= (byte)(code[i] >> 4 << 2 * quarter);
    }
}

/* ---- few codes: scales are searched for ---- */

/* The place of the nearest of n sorted values; 0 for NaN. */
static int nearest_of(const signed char *values, int n, float x)
{
    int low = 0;
    for (int high = n - 1; low < high;) {
        const int middle = (low + high) / 2;
        if (2 * x > (float)(values[middle] + values[middle + 1]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The scale of the smallest squared error for scale * a value, among some that give the element with the largest magnitude a
 * value near the first one, whose magnitude is the largest. */
static float scale_search(const signed char *values, int count, const float *x, int n)
{
    enum { TRIALS = 4 };
    const float by = (float)values[0] * inverse(range_of(x, n).far);
    float best = 0, scale = 0;
    for (int trial = -TRIALS; trial <= TRIALS; trial++) {
        float product = 0, square = 0;
        for (int i = 0; i < n; i++) {
            const float value =
                values[nearest_of(values, count, x[i] * by * (1 + 0.04f * (float)trial))];
            product += value * x[i];
            square += value * value;
        }
        if (square > 0 && product * product / square > best) {
            best = product * product / square;
            scale = product / square;
        }
    }
    return scale;
}

/* Scales of n elements each as a factor, which is stored, times numbers from -32 to 31. Returns the factor. */
static float scales_join(const signed char *values, int count, const float *x, int parts, int n,
                         int *number, byte *factor)
{
    float scale[16], far = 0;
    for (int p = 0; p < parts; p++) {
        scale[p] = scale_search(values, count, x + p * n, n);
        far = fabsf(scale[p]) > fabsf(far) ? scale[p] : far;
    }
    const float by = as_half(far / -32);
    put_half(factor, by);
    for (int p = 0; p < parts; p++)
        number[p] = nearest(scale[p] * inverse(by), -32, 31);
    return by;
}

static void storage_pack_q3_k(storage s, const float *x, byte *to)
{
    static const signed char values[] = {-4, -3, -2, -1, 0, 1, 2, 3};
    int number[16];
    (void)s;
    memset(to, 0, 110);
    const float by = scales_join(values, 8, x, 16, 16, number, to + 108);
    for (int p = 0; p < 16; p++) {
        const int u = number[p] + 32;
        to[96 + p % 8] |= (byte)((u & 15) << p / 8 * 4);
        to[104 + p % 4] |= (byte)(u >> 4 << p / 4 * 2);
    }
    for (int i = 0; i < 256; i++) {
        const float scale = by * (float)number[i / 16];
        const int code = nearest_of(values, 8, x[i] * inverse(scale));
        to[32 + i / 128 * 32 + i % 32] |= (byte)((code & 3) << i / 32 % 4 * 2);
        to[i % 32] |= (byte)(code >> 2 << i / 32);
    }
}

/* The scale, and the minimum to add, of n elements for codes from 0 to 3, with the smallest squared error of some. */
static void line_search(const float *x, int n, float *scale, float *minimum)
{
    enum { TRIALS = 5 };
    const range r = range_of(x, n);
    const float low = r.low < 0 ? r.low : 0;
    float best = INFINITY;
    *scale = *minimum = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const float by = 3 * inverse((r.high - low) * (1 - 0.08f * (float)trial));
        float code[16], sum = 0, square = 0, x_sum = 0, product = 0, error = 0;
        for (int i = 0; i < n; i++) {
            code[i] = (float)nearest((x[i] - low) * by, 0, 3);
            sum += code[i];
            square += code[i] * code[i];
            x_sum += x[i];
            product += code[i] * x[i];
        }
        float step = ((float)n * product - sum * x_sum) * inverse((float)n * square - sum * sum);
        float at = (x_sum - step * sum) / (float)n;
        if (at > 0 || !(step > 0)) {
            at = step > 0 ? 0 : low;
            step = (product - at * sum) * inverse(square);
        }
        for (int i = 0; i < n; i++)
            error += (x[i] - step * code[i] - at) * (x[i] - step * code[i] - at);
        if (error < best && step >= 0) {
            best = error;
            *scale = step;
            *minimum = at;
        }
    }
}

static void storage_pack_q2_k(storage s, const float *x, byte *to)
{
    float scale[16], minimum[16], far = 0, deep = 0;
    (void)s;
    for (int p = 0; p < 16; p++) {
        line_search(x + 16 * p, 16, &scale[p], &minimum[p]);
        far = scale[p] > far ? scale[p] : far;
        deep = -minimum[p] > deep ? -minimum[p] : deep;
    }
    const float by = as_half(far / 15), less = as_half(deep / 15);
    memset(to, 0, 84);
    put_half(to + 80, by);
    put_half(to + 82, less);
    for (int p = 0; p < 16; p++) {
        const int each = nearest(scale[p] * inverse(by), 0, 15);
        const int least = nearest(-minimum[p] * inverse(less), 0, 15);
        to[p] = (byte)(each | least << 4);
        for (int j = 0, i = 16 * p; j < 16; j++, i++) {
            const float m = less * (float)least, step = by * (float)each;
            to[16 + i / 128 * 32 + i % 32] |=
                (byte)(nearest((x[i] + m) * inverse(step), 0, 3) << i / 32 % 4 * 2);
        }
    }
}

static const signed char iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

static void put_iq4(const float *x, float scale, byte *to)
{
    int code[32];
    for (int i = 0; i < 32; i++)
        code[i] = nearest_of(iq4_values, 16, x[i] * inverse(scale));
    put_codes(code, to, NULL);
}

static void storage_pack_iq4_nl(storage s, const float *x, byte *to)
{
    const float scale = as_half(scale_search(iq4_values, 16, x, 32));
    (void)s;
    put_half(to, scale);
    put_iq4(x, scale, to + 2);
}

static void storage_pack_iq4_xs(storage s, const float *x, byte *to)
{
    int number[8];
    (void)s;
    memset(to, 0, 8);
    const float by = scales_join(iq4_values, 16, x, 8, 32, number, to);
    for (int p = 0; p < 8; p++) {
        const int u = number[p] + 32;
        to[2 + p / 4] |= (byte)(u >> 4 << p % 4 * 2);
        to[4 + p / 2] |= (byte)((u & 15) << p % 2 * 4);
        put_iq4(x + 32 * p, by * (float)number[p], to + 8 + 16 * p);
    }
}

/* Twice the values of the codes 15 to 9, then 0 to 7. */
static void storage_pack_mxfp4(storage s, const float *x, byte *to)
{
    static const signed char values[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
    const float far = fabsf(range_of(x, 32).far);
    int exponent = 0, code[32];
    float best = INFINITY;
    (void)s;
    frexpf(far, &exponent); /* 6 * 2^(e - 127) is the largest value */
    const int first = exponent + 124;
    to[0] = 0;
    for (int e = first < 0 ? 0 : first; far > 0 && e <= first + 1 && e < 255; e++) {
        const float scale = ldexpf(1, e - 128);
        float error = 0;
        for (int i = 0; i < 32; i++) {
            const float value = values[nearest_of(values, 15, ldexpf(x[i], 128 - e))];
            error += (x[i] - scale * value) * (x[i] - scale * value);
        }
        if (error < best) {
            best = error;
            to[0] = (byte)e;
        }
    }
    for (int i = 0; i < 32; i++) {
        const int place = nearest_of(values, 15, ldexpf(x[i], 128 - to[0]));
        code[i] = place < 7 ? 15 - place : place - 7;
    }
    put_codes(code, to + 1, NULL);
}

/* ---- codes with a scale and a zero ---- */

void storage_pack_codes(storage s, const unsigned char *codes, float scale, float zero, void *to)
{
    const storage_row *row = &storage_rows[s.format];
    const int run = storage_run(s), parts = 8 / row->bits;
    byte *at = to;
    put_float(at, scale);
    if (row->head == 5)
        at[4] = (byte)zero;
    else if (row->head == 8)
        put_float(at + 4, zero);
    at += row->head;
    for (int j = 0; j < run; j++) {
        int bits = 0;
        for (int p = 0; p < parts; p++)
            bits |= codes[p * run + j] << p * row->bits;
        at[j] = (byte)bits;
    }
}

static void pack_codes(storage s, const float *x, byte *to)
{
    const storage_row *row = &storage_rows[s.format];
    const int most = (1 << row->bits) - 1, half = 1 << (row->bits - 1);
    const range r = range_of(x, s.block);
    const float low = r.low < 0 ? r.low : 0, high = r.high > 0 ? r.high : 0;
    const bool even = row->head == 4;
    const float scale = even ? r.far / (float)-half : (high - low) / (float)most;
    const float by = inverse(scale), at = even ? (float)half : -low * by;
    const float zero = row->head == 8 ? at : (float)nearest(at, 0, most);
    byte codes[STORAGE_BLOCK_MOST];
    for (int i = 0; i < s.block; i++)
        codes[i] = (byte)nearest(x[i] * by + zero, 0, most);
    storage_pack_codes(s, codes, scale, zero, to);
}

#define storage_pack_i2 pack_codes
#define storage_pack_i4 pack_codes
#define storage_pack_i8 pack_codes
#define storage_pack_u2 pack_codes
#define storage_pack_u4 pack_codes
#define storage_pack_u8 pack_codes
#define storage_pack_z2 pack_codes
#define storage_pack_z4 pack_codes
#define storage_pack_z8 pack_codes

void storage_pack(storage s, int64_t n, const float *from, void *to)
{
    static void (*const pack[])(storage s, const float *x, byte *to) = {
#define STORAGE(name, elements, run, head, bits) [STORAGE_##name] = storage_pack_##name,
#include "base/storage.def"
    };
    const int64_t bytes = storage_block_bytes(s);
    for (int64_t i = 0; i < n / s.block; i++)
        pack[s.format](s, from + i * s.block, (byte *)to + i * bytes);
}
