/* Products with quantized matrices by sums of integers: see quant.h. Built once for each level of products. */
#include "engine/backend/cpu/lanes/quant.h"

#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd_quant.h"

#include <math.h>
#include <string.h>

#define __device__ QUANT_INLINE
#define __uint_as_float half_float
#define __float_as_uint half_bits
#include "kernels/storage.cuh"

#define QUANT_JOIN(a, b) a##_##b
#define QUANT_NAME(a, b) QUANT_JOIN(a, b)

enum {
    LANES = SIMD_BYTES / 4,
    PARTS = QUANT_ROWS / LANES, /* registers of a quad */
    AHEAD = 2048,               /* bytes that are fetched ahead, also past the end of a page */
    FEW_ROWS = 2,               /* of x, for which codes are unpacked in registers */
    TILE_ROWS = SIMD_BYTES == 64 || SIMD_BY_LANE ? 8 : 4,
    STRIP = 128 /* rows of x for which codes are unpacked once */
};

typedef struct scratch {
    uint32_t codes[QUANT_DEEP / 4][QUANT_ROWS];
    float scales[QUANT_DEEP / QUANT_HALF][QUANT_ROWS];
    float minima[QUANT_DEEP / QUANT_HALF][QUANT_ROWS];
    float sums[STRIP][QUANT_ROWS];
} scratch;

/* ---- rounding -------------------------------------------------------------------------------- */

/* The largest magnitude, by its bits: a NaN is larger than all numbers. */
static float largest(const float *x)
{
    uint32_t most = 0;
    LANE_LOOP for (int i = 0; i < QUANT_GROUP; i++)
    {
        const uint32_t u = half_bits(x[i]) & 0x7fffffffu;
        most = u > most ? u : most;
    }
    return half_float(most);
}

/* Codes are -127 to 127. Groups of subnormal numbers become 0. If an element is not finite, neither is the scale. */
static void quant_round(const quant_form *f, int64_t k, const float *x, void *row)
{
    const float round =
        12582912; /* 1.5 * 2^23: the low bits of its sum with a small number are that, rounded to even */
    const quant_x to = quant_row(row, k);
    int8_t *code = row;
    for (int64_t g = 0; g < k / QUANT_GROUP; g++, x += QUANT_GROUP, code += QUANT_GROUP) {
        const float most = largest(x), inverse = most > 1e-30f && most <= 3e38f ? 127 / most : 0;
        const float scale = most > 1e-30f || most != most ? most / 127 : 0;
        int32_t sum[2] = {0, 0}, near[QUANT_GROUP];
        LANE_LOOP for (int i = 0; i < QUANT_GROUP; i++) near[i] =
            (int32_t)(half_bits(x[i] * inverse + round) - half_bits(round));
        if (inverse == 0) /* an element may be a NaN */
            memset(near, 0, sizeof near);
        for (int i = 0; i < QUANT_HALF; i++)
            sum[0] += near[i];
        for (int i = QUANT_HALF; i < QUANT_GROUP; i++)
            sum[1] += near[i];
        LANE_LOOP for (int i = 0; i < QUANT_GROUP; i++) code[i] = (int8_t)near[i];
        ((float *)(uintptr_t)to.scale)[g] = scale;
        const int parts = QUANT_GROUP / f->group;
        const int zero = quant_is_wide(f) && QUANT_SIGNED ? 0 : f->zero;
        for (int h = 0; h < parts; h++) {
            const int32_t all = parts == 2 ? sum[h] : sum[0] + sum[1];
            ((float *)(uintptr_t)to.sum)[g * parts + h] = scale * (float)all;
            ((int32_t *)(uintptr_t)to.start)[g * parts + h] = -zero * all;
        }
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

#define EACH_BYTE(x) ((x)*0x01010101u)

/* Eight words of 4-bit codes: the low halves of 16 bytes, then the high ones. */
QUANT_INLINE void nibbles(const unsigned char *b, uint32_t *w)
{
    for (int j = 0; j < 4; j++) {
        const uint32_t u = storage_word(b + 4 * j);
        w[j] = u & EACH_BYTE(15u);
        w[j + 4] = u >> 4 & EACH_BYTE(15u);
    }
}

/* Adds a fifth bit: bit i of 32 belongs to code i. */
QUANT_INLINE void fifths(const unsigned char *b, uint32_t *w)
{
    const uint32_t bits = storage_word(b);
    for (int j = 0; j < QUANT_QUADS; j++)
        w[j] |= ((bits >> 4 * j & 15) * 0x00204081u & EACH_BYTE(1u)) << 4;
}

/* The codes of group g of 32 of a block of the file. */
QUANT_INLINE void words_q4_0(const unsigned char *b, int g, uint32_t *w)
{
    (void)g;
    nibbles(b + 2, w);
}

QUANT_INLINE void words_q4_1(const unsigned char *b, int g, uint32_t *w)
{
    (void)g;
    nibbles(b + 4, w);
}

QUANT_INLINE void words_q5_0(const unsigned char *b, int g, uint32_t *w)
{
    (void)g;
    nibbles(b + 6, w);
    fifths(b + 2, w);
}

QUANT_INLINE void words_q5_1(const unsigned char *b, int g, uint32_t *w)
{
    (void)g;
    nibbles(b + 8, w);
    fifths(b + 4, w);
}

QUANT_INLINE void words_q8_0(const unsigned char *b, int g, uint32_t *w)
{
    (void)g;
    for (int j = 0; j < QUANT_QUADS; j++)
        w[j] = storage_word(b + 2 + 4 * j) ^ (QUANT_SIGNED ? 0 : EACH_BYTE(0x80u));
}

QUANT_INLINE void words_q2_k(const unsigned char *b, int g, uint32_t *w)
{
    for (int j = 0; j < QUANT_QUADS; j++)
        w[j] = storage_word(b + 16 + g / 4 * 32 + 4 * j) >> g % 4 * 2 & EACH_BYTE(3u);
}

QUANT_INLINE void words_q3_k(const unsigned char *b, int g, uint32_t *w)
{
    words_q2_k(b + 16, g, w);
    for (int j = 0; j < QUANT_QUADS; j++)
        w[j] |= (storage_word(b + 4 * j) >> g & EACH_BYTE(1u)) << 2;
}

QUANT_INLINE void words_q4_k(const unsigned char *b, int g, uint32_t *w)
{
    for (int j = 0; j < QUANT_QUADS; j++)
        w[j] = storage_word(b + 16 + g / 2 * 32 + 4 * j) >> g % 2 * 4 & EACH_BYTE(15u);
}

QUANT_INLINE void words_q5_k(const unsigned char *b, int g, uint32_t *w)
{
    words_q4_k(b + 32, g, w);
    for (int j = 0; j < QUANT_QUADS; j++)
        w[j] |= (storage_word(b + 16 + 4 * j) >> g & EACH_BYTE(1u)) << 4;
}

QUANT_INLINE void words_q6_k(const unsigned char *b, int g, uint32_t *w)
{
    const int half = g / 4, quarter = g % 4;
    for (int j = 0; j < QUANT_QUADS; j++) {
        const uint32_t low = storage_word(b + 64 * half + 32 * (quarter % 2) + 4 * j);
        const uint32_t high = storage_word(b + 128 + 32 * half + 4 * j);
        w[j] = (low >> quarter / 2 * 4 & EACH_BYTE(15u)) | (high >> 2 * quarter & EACH_BYTE(3u))
                                                               << 4;
    }
}

#define words_iq4_nl words_q4_0

QUANT_INLINE void words_iq4_xs(const unsigned char *b, int g, uint32_t *w)
{
    nibbles(b + 8 + 16 * g, w);
}

QUANT_INLINE void words_mxfp4(const unsigned char *b, int g, uint32_t *w)
{
    (void)g;
    nibbles(b + 1, w);
}

/* A block of the file without its codes: two factors, and the scales and minima of a group. */
typedef struct head {
    uint16_t factor[2];
    int8_t scale;
    uint8_t minimum;
} head;

QUANT_INLINE uint16_t half_word(const unsigned char *b) { return (uint16_t)(b[0] | b[1] << 8); }

QUANT_INLINE head head_plain(const unsigned char *b, int g)
{
    (void)g;
    return (head){.factor = {half_word(b), half_word(b + 2)}};
}
#define head_q4_0 head_plain
#define head_q4_1 head_plain
#define head_q5_0 head_plain
#define head_q5_1 head_plain
#define head_q8_0 head_plain
#define head_iq4_nl head_plain

/* Minima are subtracted. */
QUANT_INLINE head head_q2_k(const unsigned char *b, int g)
{
    return (head){.factor = {half_word(b + 80), half_word(b + 82) ^ 0x8000},
                  .scale = (int8_t)(b[g] & 15),
                  .minimum = b[g] >> 4};
}

QUANT_INLINE head head_q3_k(const unsigned char *b, int g)
{
    return (head){.factor = {half_word(b + 108)}, .scale = (int8_t)storage_scale_q3(b + 96, g)};
}

QUANT_INLINE head head_q4_k(const unsigned char *b, int g)
{
    return (head){.factor = {half_word(b), half_word(b + 2) ^ 0x8000},
                  .scale = (int8_t)storage_scale(b + 4, g),
                  .minimum = (uint8_t)storage_minimum(b + 4, g)};
}
#define head_q5_k head_q4_k

QUANT_INLINE head head_q6_k(const unsigned char *b, int g)
{
    return (head){.factor = {half_word(b + 208)}, .scale = (int8_t)b[192 + g]};
}

QUANT_INLINE head head_iq4_xs(const unsigned char *b, int g)
{
    return (head){.factor = {half_word(b)}, .scale = (int8_t)storage_scale_iq4(b + 2, g)};
}

/* The high half of 2^(e - 128) as f32. */
QUANT_INLINE head head_mxfp4(const unsigned char *b, int g)
{
    (void)g;
    return (head){.factor = {(uint16_t)(half_bits(storage_power(b[0])) >> 16)}};
}

/* Puts the codes of a row of a group into its vectors. */
QUANT_INLINE void planes_put(const quant_form f, const uint32_t *w, uint32_t *to)
{
    for (int v = 0; v < f.low; v++) {
        uint32_t u = 0;
        for (int j = v; j < QUANT_QUADS; j += f.low)
            u |= (w[j] & EACH_BYTE((1u << f.low) - 1)) << f.low * (j / f.low);
        to[v * QUANT_ROWS] = u;
    }
    for (int v = 0; v < f.high; v++) {
        uint32_t u = 0;
        for (int j = v; j < QUANT_QUADS; j += f.high)
            u |= (w[j] >> f.low & EACH_BYTE((1u << f.high) - 1)) << f.high * (j / f.high);
        to[(f.low + v) * QUANT_ROWS] = u;
    }
}

QUANT_INLINE void pack(const quant_form f,
                       void (*words)(const unsigned char *b, int g, uint32_t *w),
                       head (*head_of)(const unsigned char *b, int g), int64_t bytes, int64_t k,
                       int64_t n, const unsigned char *from, int64_t step, unsigned char *panel)
{
    const int groups = f.super / f.group, vectors = f.low + f.high;
    uint32_t *codes = (uint32_t *)(void *)(panel + quant_heads_bytes(&f, k));
    memset(panel, 0, (size_t)quant_panel_bytes(&f, k));
    for (int64_t block = 0; block < k / f.super; block++, from += bytes) {
        unsigned char *scales = panel + QUANT_ROWS * (f.minima ? 4 : 2);
        unsigned char *minima = scales + QUANT_ROWS * groups;
        for (int64_t r = 0; r < n; r++) {
            const unsigned char *b = from + r * step;
            for (int g = 0; g < groups; g++) {
                const head h = head_of(b, g);
                if (g == 0)
                    memcpy(panel + 2 * r, &h.factor[0], 2);
                if (g == 0 && f.minima)
                    memcpy(panel + 2 * (QUANT_ROWS + r), &h.factor[1], 2);
                if (f.scales)
                    scales[g * QUANT_ROWS + r] =
                        (unsigned char)(h.scale | (f.scales == 4 ? h.minimum << 4 : 0));
                if (f.scales == 8 && f.minima)
                    minima[g * QUANT_ROWS + r] = h.minimum;
            }
            for (int g = 0; g < f.super / QUANT_GROUP; g++) {
                uint32_t w[QUANT_QUADS];
                words(b, g, w);
                planes_put(f, w, codes + g * vectors * QUANT_ROWS + r);
            }
        }
        codes += f.super / QUANT_GROUP * vectors * QUANT_ROWS;
        panel += quant_head_bytes(&f);
    }
}

/* ---- unpacking ------------------------------------------------------------------------------- */

typedef simd_f32 floats;

/* LANES bytes as numbers. */
QUANT_INLINE quant_ints bytes_ints(const unsigned char *b, bool is_signed)
{
#if SIMD_BYTES == 64
    const __m128i x = _mm_loadu_si128((const void *)b);
    return (quant_ints)(is_signed ? _mm512_cvtepi8_epi32(x) : _mm512_cvtepu8_epi32(x));
#elif SIMD_BYTES == 32
    const __m128i x = _mm_loadl_epi64((const void *)b);
    return (quant_ints)(is_signed ? _mm256_cvtepi8_epi32(x) : _mm256_cvtepu8_epi32(x));
#else
    quant_ints x;
    for (int i = 0; i < LANES; i++)
        x[i] = is_signed ? (int8_t)b[i] : b[i];
    return x;
#endif
}

/* The scales of group g of a block, of the rows of part p. */
QUANT_INLINE floats scale_get(const quant_form f, const unsigned char *b, int g, int p)
{
    const uint16_t *factors = (const uint16_t *)(const void *)b + p * LANES;
    const floats factor = f.values == QUANT_MXFP4 ? simd_of_bf16(factors) : simd_of_f16(factors);
    const unsigned char *each = b + QUANT_ROWS * (f.minima ? 4 : 2);
    if (!f.scales)
        return factor;
    const quant_ints scale = bytes_ints(each + g * QUANT_ROWS + p * LANES, f.scales == 8);
    return factor * __builtin_convertvector(f.scales == 4 ? scale & 15 : scale, floats);
}

QUANT_INLINE floats minimum_get(const quant_form f, const unsigned char *b, int g, int p)
{
    const floats factor = simd_of_f16((const uint16_t *)(const void *)b + QUANT_ROWS + p * LANES);
    const unsigned char *each = b + QUANT_ROWS * (4 + (f.scales == 8 ? f.super / f.group : 0));
    if (!f.scales)
        return factor;
    const quant_ints minimum = bytes_ints(each + g * QUANT_ROWS + p * LANES, false);
    return factor * __builtin_convertvector(f.scales == 4 ? minimum >> 4 : minimum, floats);
}

QUANT_INLINE quant_words words_get(const unsigned char *b, int v, int p)
{
    return *(const quant_memory_words *)(const void *)(b + v * QUANT_VECTOR + p * SIMD_BYTES);
}

/* `bits` bits of each byte from bit `from` on, moved to bit `to`. */
QUANT_INLINE quant_words bits_get(quant_words w, int bits, int from, int to)
{
    const uint32_t mask = EACH_BYTE(((1u << bits) - 1) << to);
    return (from > to ? w >> (from - to) : from < to ? w << (to - from) : w) & mask;
}

/* The codes of quad j of a group, of the rows of part p, or their values. */
QUANT_INLINE quant_words codes_get(const quant_form f, const unsigned char *b, int j, int p)
{
    quant_words w = words_get(b, j % f.low, p);
    if (f.low < 8)
        w = bits_get(w, f.low, f.low * (j / f.low), 0);
    if (f.high > 0)
        w |= bits_get(words_get(b, f.low + j % f.high, p), f.high, f.high * (j / f.high), f.low);
    if (f.values == QUANT_IQ4)
        w = quant_lookup(w, STORAGE_VALUES_IQ4) ^ (QUANT_SIGNED ? 0 : EACH_BYTE(0x80u));
    if (f.values == QUANT_MXFP4) /* 12 is added */
        w = quant_lookup(w, 0x181412100f0e0d0cull, 0x00040608090a0b0cull);
    return w;
}

/* ---- products -------------------------------------------------------------------------------- */

QUANT_INLINE uint32_t quad_get(const int8_t *code, int j)
{
    uint32_t u;
    memcpy(&u, code + 4 * j, sizeof u);
    return u;
}

/* y + the sum of a group. */
QUANT_INLINE floats group_add(floats y, quant_ints sum, floats scale, float by)
{
    return y + __builtin_convertvector(sum, floats) * (scale * by);
}

/* A few rows: sums[i][j], with codes unpacked in registers. */
QUANT_INLINE void few(const quant_form f, const int rows, int64_t k, const quant_x *x,
                      const unsigned char *panel, float (*sums)[QUANT_ROWS])
{
    const int quads = f.group / 4, halves = QUANT_GROUP / f.group;
    const int64_t vectors = (f.low + f.high) * QUANT_VECTOR;
    for (int p = 0; p < PARTS; p++) {
        const unsigned char *b = panel, *codes = panel + quant_heads_bytes(&f, k);
        floats y[FEW_ROWS] = {{0}};
        for (int64_t at = 0; at < k; at += f.super, b += quant_head_bytes(&f)) {
            for (int g = 0; g < f.super / f.group; g++, codes += g % halves ? 0 : vectors) {
                const int64_t nth = at / f.group + g, group = nth / halves;
                const int first = g % halves * quads;
                const floats scale = scale_get(f, b, g, p);
                quant_ints sum[FEW_ROWS];
                if (p == 0) {
                    SIMD_UNROLL_ALL
                    for (int v = 0; v < f.low + f.high; v++)
                        __builtin_prefetch(codes + AHEAD + v * QUANT_VECTOR);
                }
                SIMD_UNROLL_ALL
                for (int r = 0; r < rows; r++)
                    sum[r] = (quant_ints){0} + x[r].start[nth];
                SIMD_UNROLL_ALL
                for (int j = 0; j < quads; j++) {
                    const quant_words w = codes_get(f, codes, first + j, p);
                    SIMD_UNROLL_ALL
                    for (int r = 0; r < rows; r++)
                        sum[r] = quant_step(sum[r], w, quad_get(x[r].code + nth * f.group, j),
                                            quant_is_wide(&f));
                }
                SIMD_UNROLL_ALL
                for (int r = 0; r < rows; r++) {
                    y[r] = group_add(y[r], sum[r], scale, x[r].scale[group]);
                    if (f.minima)
                        y[r] = y[r] + minimum_get(f, b, g, p) * x[r].sum[nth];
                }
            }
        }
        for (int r = 0; r < rows; r++)
            simd_keep_f32(sums[r] + p * LANES, y[r]);
    }
}

/* Unpacks the codes and scales of weights [first, first + n) of each of k. */
QUANT_INLINE void unpack(const quant_form f, int64_t k, int64_t first, int64_t n,
                         const unsigned char *panel, scratch *s)
{
    const int64_t vectors = (f.low + f.high) * QUANT_VECTOR;
    const unsigned char *b = panel + first / f.super * quant_head_bytes(&f);
    const unsigned char *codes = panel + quant_heads_bytes(&f, k) + first / QUANT_GROUP * vectors;
    for (int64_t nth = 0; nth < n / f.group; nth++) {
        const int g = (int)(nth % (f.super / f.group));
        for (int p = 0; p < PARTS; p++) {
            simd_keep_f32(s->scales[nth] + p * LANES, scale_get(f, b, g, p));
            if (f.minima)
                simd_keep_f32(s->minima[nth] + p * LANES, minimum_get(f, b, g, p));
        }
        b += g + 1 == f.super / f.group ? quant_head_bytes(&f) : 0;
    }
    for (int64_t g = 0; g < n / QUANT_GROUP; g++, codes += vectors)
        for (int p = 0; p < PARTS; p++) {
            SIMD_UNROLL_ALL
            for (int j = 0; j < QUANT_QUADS; j++)
                *(quant_memory_words *)(s->codes[g * QUANT_QUADS + j] + p * LANES) =
                    codes_get(f, codes, j, p);
        }
}

/* A rounded row of k elements, from element `at` on. */
QUANT_INLINE quant_x row_at(const char *row, int64_t k, int64_t at, int group)
{
    const quant_x x = quant_row(row, k);
    return (quant_x){x.code + at, x.scale + at / QUANT_GROUP, x.sum + at / group,
                     x.start + at / group};
}

/* sums[i][j] += the product of k unpacked weights of part p with `rows` rows. */
QUANT_INLINE void tile(const int group, const bool minima, const bool eight, const int rows,
                       int64_t k, const quant_x *x, int p, const scratch *s,
                       float (*sums)[QUANT_ROWS])
{
    const int quads = group / 4, halves = QUANT_GROUP / group;
    floats y[TILE_ROWS];
    SIMD_UNROLL_ALL
    for (int r = 0; r < rows; r++)
        y[r] = simd_of_f32(sums[r] + p * LANES);
    for (int64_t nth = 0; nth < k / group; nth++) {
        const floats scale = simd_of_f32(s->scales[nth] + p * LANES);
        quant_ints sum[TILE_ROWS];
        SIMD_UNROLL_ALL
        for (int r = 0; r < rows; r++)
            sum[r] = (quant_ints){0} + x[r].start[nth];
        SIMD_UNROLL_ALL
        for (int j = 0; j < quads; j++) {
            const quant_words w =
                *(const quant_memory_words *)(s->codes[nth * quads + j] + p * LANES);
            SIMD_UNROLL_ALL
            for (int r = 0; r < rows; r++)
                sum[r] = quant_step(sum[r], w, quad_get(x[r].code + nth * group, j), eight);
        }
        SIMD_UNROLL_ALL
        for (int r = 0; r < rows; r++)
            y[r] = group_add(y[r], sum[r], scale, x[r].scale[nth / halves]);
        if (minima) {
            const floats minimum = simd_of_f32(s->minima[nth] + p * LANES);
            SIMD_UNROLL_ALL
            for (int r = 0; r < rows; r++)
                y[r] = y[r] + minimum * x[r].sum[nth];
        }
    }
    SIMD_UNROLL_ALL
    for (int r = 0; r < rows; r++)
        simd_keep_f32(sums[r] + p * LANES, y[r]);
}

#if SIMD_AMX
enum { AMX_ROWS = 16, AMX_GROUPS = 4 };

/* The same for AMX_ROWS rows, which lie row_bytes apart, and n groups from `nth` on. */
QUANT_INLINE void amx_groups(const int group, const bool minima, const int n, int64_t nth,
                             const quant_x *x, int64_t row_bytes, const scratch *s,
                             float (*sums)[QUANT_ROWS])
{
    const int halves = QUANT_GROUP / group;
    const int64_t words = row_bytes / 4;
    _Alignas(64) int32_t part[AMX_GROUPS][AMX_ROWS][QUANT_ROWS];
#define AMX_GROUP(g, a, b) \
    if (g < n) { \
        amx_zero(g); \
        amx_load(a, x->code + (nth + (g)) * group, row_bytes); \
        amx_load(b, s->codes[(nth + (g)) * group / 4], QUANT_VECTOR); \
        amx_step_mixed(g, a, b); \
        amx_keep(g, part[g], QUANT_VECTOR); \
    }
    AMX_GROUP(0, 4, 6)
    AMX_GROUP(1, 5, 7)
    AMX_GROUP(2, 4, 6)
    AMX_GROUP(3, 5, 7)
#undef AMX_GROUP
    floats scale[AMX_GROUPS], minimum[AMX_GROUPS];
    SIMD_UNROLL_ALL
    for (int g = 0; g < n; g++) {
        scale[g] = simd_of_f32(s->scales[nth + g]);
        minimum[g] = minima ? simd_of_f32(s->minima[nth + g]) : (floats){0};
    }
    for (int r = 0; r < AMX_ROWS; r++) {
        floats y = simd_of_f32(sums[r]);
        SIMD_UNROLL_ALL
        for (int g = 0; g < n; g++) {
            const quant_ints sum = *(const quant_ints *)part[g][r] + x->start[r * words + nth + g];
            y = group_add(y, sum, scale[g], x->scale[r * words + (nth + g) / halves]);
            if (minima)
                y = y + minimum[g] * x->sum[r * words + nth + g];
        }
        simd_keep_f32(sums[r], y);
    }
}

/* The same for k weights. */
QUANT_INLINE void amx_tile(const int group, const bool minima, int64_t k, const quant_x *x,
                           int64_t row_bytes, const scratch *s, float (*sums)[QUANT_ROWS])
{
    int64_t nth = 0;
    for (; nth + AMX_GROUPS <= k / group; nth += AMX_GROUPS)
        amx_groups(group, minima, AMX_GROUPS, nth, x, row_bytes, s, sums);
    for (; nth < k / group; nth++)
        amx_groups(group, minima, 1, nth, x, row_bytes, s, sums);
}
#endif

/* The same for all parts and n rows, which lie one after another. `at`: the first of the k weights. */
QUANT_INLINE void tiles(const int group, const bool minima, const bool eight, int64_t n, int64_t at,
                        int64_t k, int64_t deep, const char *rows, const scratch *s,
                        float (*sums)[QUANT_ROWS])
{
    const int64_t bytes = (int64_t)quant_row_bytes(k);
    quant_x x[TILE_ROWS];
    int64_t i = 0;
#if SIMD_AMX
    const bool few_groups = group == QUANT_GROUP; /* otherwise the floats take longer */
    if (few_groups && n >= AMX_ROWS)
        amx_begin_mixed(group);
    for (; few_groups && i + AMX_ROWS <= n; i += AMX_ROWS) {
        const quant_x row = row_at(rows + i * bytes, k, at, group);
        amx_tile(group, minima, deep, &row, bytes, s, sums + i);
    }
    if (i > 0)
        amx_end();
#endif
    for (int64_t now; i < n; i += now) {
        now = n - i >= TILE_ROWS ? TILE_ROWS : 1;
        for (int r = 0; r < now; r++)
            x[r] = row_at(rows + (i + r) * bytes, k, at, group);
        for (int p = 0; p < PARTS; p++)
            if (now == TILE_ROWS)
                tile(group, minima, eight, TILE_ROWS, deep, x, p, s, sums + i);
            else
                tile(group, minima, eight, 1, deep, x, p, s, sums + i);
    }
}

/* Functions of all formats that differ only in their codes. */
static void tiles_wide(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                       const scratch *s, float (*sums)[QUANT_ROWS])
{
    tiles(QUANT_GROUP, false, true, n, at, k, deep, rows, s, sums);
}

static void tiles_32(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                     const scratch *s, float (*sums)[QUANT_ROWS])
{
    tiles(QUANT_GROUP, false, false, n, at, k, deep, rows, s, sums);
}

static void tiles_32_minima(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                            const scratch *s, float (*sums)[QUANT_ROWS])
{
    tiles(QUANT_GROUP, true, false, n, at, k, deep, rows, s, sums);
}

static void tiles_16(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                     const scratch *s, float (*sums)[QUANT_ROWS])
{
    tiles(QUANT_HALF, false, false, n, at, k, deep, rows, s, sums);
}

static void tiles_16_minima(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                            const scratch *s, float (*sums)[QUANT_ROWS])
{
    tiles(QUANT_HALF, true, false, n, at, k, deep, rows, s, sums);
}

/* ---- formats --------------------------------------------------------------------------------- */

/* The functions of a format. */
typedef struct functions {
    void (*pack)(int64_t k, int64_t n, const void *from, int64_t step, void *panel);
    void (*one)(int64_t k, const quant_x *x, const void *panel, float (*sums)[QUANT_ROWS]);
    void (*two)(int64_t k, const quant_x *x, const void *panel, float (*sums)[QUANT_ROWS]);
    void (*unpack)(int64_t k, int64_t first, int64_t n, const void *panel, scratch *s);
} functions;

#define QUANT(name, ...) \
    static void pack_##name(int64_t k, int64_t n, const void *from, int64_t step, void *panel) \
    { \
        const quant_form f = {__VA_ARGS__}; \
        const storage s = {STORAGE_##name, (uint16_t)f.super}; \
        pack(f, words_##name, head_##name, storage_block_bytes(s), k, n, from, step, panel); \
    } \
    static void one_##name(int64_t k, const quant_x *x, const void *panel, \
                           float(*sums)[QUANT_ROWS]) \
    { \
        few((quant_form){__VA_ARGS__}, 1, k, x, panel, sums); \
    } \
    static void two_##name(int64_t k, const quant_x *x, const void *panel, \
                           float(*sums)[QUANT_ROWS]) \
    { \
        few((quant_form){__VA_ARGS__}, 2, k, x, panel, sums); \
    } \
    static void unpack_##name(int64_t k, int64_t first, int64_t n, const void *panel, scratch *s) \
    { \
        unpack((quant_form){__VA_ARGS__}, k, first, n, panel, s); \
    }
#include "engine/backend/cpu/lanes/quant.def"

static const functions functions_of[STORAGE_FORMATS] = {
#define QUANT(name, ...) [STORAGE_##name] = {pack_##name, one_##name, two_##name, unpack_##name},
#include "engine/backend/cpu/lanes/quant.def"
};

static const quant_form forms[STORAGE_FORMATS] = {
#define QUANT(name, ...) [STORAGE_##name] = {__VA_ARGS__},
#include "engine/backend/cpu/lanes/quant.def"
};

static void quant_pack(storage s, int64_t k, int64_t n, const void *from, int64_t step, void *panel)
{
    functions_of[s.format].pack(k, n, from, step, panel);
}

static void sums_put(int64_t m, int64_t n, const float (*sums)[QUANT_ROWS], float *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++)
        memcpy(c + i * ldc, sums[i], (size_t)n * sizeof *c);
}

/* At most STRIP rows. */
static void strip(const functions *f, const quant_form *form, int64_t k, int64_t m, const char *x,
                  const void *panel, scratch *s)
{
    static void (*const by[2][2])(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                                  const scratch *s, float(*sums)[QUANT_ROWS]) = {
        {tiles_32, tiles_32_minima}, {tiles_16, tiles_16_minima}};
    void (*const run)(int64_t n, int64_t at, int64_t k, int64_t deep, const char *rows,
                      const scratch *s, float(*sums)[QUANT_ROWS]) =
        quant_is_wide(form) ? tiles_wide : by[form->group == QUANT_HALF][form->minima];
    memset(s->sums, 0, (size_t)m * sizeof s->sums[0]);
    for (int64_t at = 0, deep; at < k; at += deep) {
        deep = k - at < QUANT_DEEP ? k - at : QUANT_DEEP;
        f->unpack(k, at, deep, panel, s);
        run(m, at, k, deep, x, s, s->sums);
    }
}

static void quant_rows(storage format, int64_t k, int64_t m, const void *x, const void *panel,
                       int64_t n, float *c, int64_t ldc, void *memory)
{
    const functions *f = &functions_of[format.format];
    const int64_t bytes = (int64_t)quant_row_bytes(k);
    scratch *s = memory;
    for (int64_t i = 0, now; i < m; i += now) {
        const char *rows = (const char *)x + i * bytes;
        now = m - i < STRIP ? m - i : STRIP;
        if (now <= FEW_ROWS) {
            const quant_x few_x[FEW_ROWS] = {quant_row(rows, k),
                                             quant_row(rows + (now - 1) * bytes, k)};
            (now == 1 ? f->one : f->two)(k, few_x, panel, s->sums);
        } else {
            strip(f, &forms[format.format], k, now, rows, panel, s);
        }
        sums_put(now, n, (const float(*)[QUANT_ROWS])s->sums, c + i * ldc, ldc);
    }
}

extern const quant_level QUANT_NAME(quant, LEVEL);
const quant_level QUANT_NAME(quant, LEVEL) = {forms, quant_round, quant_pack, quant_rows,
                                              sizeof(scratch)};
