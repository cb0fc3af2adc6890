/* Operations of attention beyond simd.h: transposing squares of lanes, powers of two, and numbers split into two bf16
 * numbers. */
#ifndef LANES_SIMD_ATTEND_H
#define LANES_SIMD_ATTEND_H

#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/lanes/simd_gemm.h"

enum { SIMD_LANES = SIMD_BYTES / (int)sizeof(float) };

/* The larger or smaller of each lane. If one of them is NaN: either of them, or the NaN if SIMD_LARGER_NAN. */
#if defined(__aarch64__)
#define SIMD_LARGER_NAN 1
#else
#define SIMD_LARGER_NAN 0
#endif
#if SIMD_BYTES == 64
static inline simd_f32 simd_larger_f32(simd_f32 x, simd_f32 y)
{
    return (simd_f32)_mm512_max_ps((__m512)x, (__m512)y);
}
static inline simd_f32 simd_smaller_f32(simd_f32 x, simd_f32 y)
{
    return (simd_f32)_mm512_min_ps((__m512)x, (__m512)y);
}
#elif defined(__aarch64__)
static inline simd_f32 simd_larger_f32(simd_f32 x, simd_f32 y)
{
    return (simd_f32)vmaxq_f32((float32x4_t)x, (float32x4_t)y);
}
static inline simd_f32 simd_smaller_f32(simd_f32 x, simd_f32 y)
{
    return (simd_f32)vminq_f32((float32x4_t)x, (float32x4_t)y);
}
#else
static inline simd_f32 simd_larger_f32(simd_f32 x, simd_f32 y)
{
    for (int i = 0; i < SIMD_LANES; i++)
        x[i] = x[i] > y[i] ? x[i] : y[i];
    return x;
}
static inline simd_f32 simd_smaller_f32(simd_f32 x, simd_f32 y)
{
    for (int i = 0; i < SIMD_LANES; i++)
        x[i] = x[i] < y[i] ? x[i] : y[i];
    return x;
}
#endif

/* The largest lane; the sum of the lanes, in an order that depends on the level. */
static inline float simd_largest_f32(simd_f32 x)
{
#if SIMD_BYTES == 64
    return _mm512_reduce_max_ps((__m512)x);
#else
    float most = x[0];
    for (int i = 1; i < SIMD_LANES; i++)
        most = x[i] > most ? x[i] : most;
    return most;
#endif
}

static inline float simd_total_f32(simd_f32 x)
{
#if SIMD_BYTES == 64
    return _mm512_reduce_add_ps((__m512)x);
#else
    float sum = x[0];
    for (int i = 1; i < SIMD_LANES; i++)
        sum += x[i];
    return sum;
#endif
}

/* Transposes a square of SIMD_LANES rows. */
static inline __attribute__((always_inline)) void simd_turn_f32(simd_f32 *r)
{
#if SIMD_BYTES == 64
    simd_cross_f32(r);
    simd_cross_f32(r + 4);
    simd_cross_f32(r + 8);
    simd_cross_f32(r + 12);
    /* Now the squares of quads: quad q of register 4 * g + c belongs to column 4 * q + c. */
    SIMD_UNROLL_4
    for (int c = 0; c < 4; c++) {
        const __m512 a = (__m512)r[c], b = (__m512)r[4 + c], d = (__m512)r[8 + c],
                     e = (__m512)r[12 + c];
        const __m512 low0 = _mm512_shuffle_f32x4(a, b, 0x44),
                     high0 = _mm512_shuffle_f32x4(a, b, 0xee);
        const __m512 low1 = _mm512_shuffle_f32x4(d, e, 0x44),
                     high1 = _mm512_shuffle_f32x4(d, e, 0xee);
        r[c] = (simd_f32)_mm512_shuffle_f32x4(low0, low1, 0x88);
        r[4 + c] = (simd_f32)_mm512_shuffle_f32x4(low0, low1, 0xdd);
        r[8 + c] = (simd_f32)_mm512_shuffle_f32x4(high0, high1, 0x88);
        r[12 + c] = (simd_f32)_mm512_shuffle_f32x4(high0, high1, 0xdd);
    }
#elif SIMD_BYTES == 32
    simd_cross_f32(r);
    simd_cross_f32(r + 4);
    SIMD_UNROLL_4
    for (int c = 0; c < 4; c++) {
        const __m256 a = (__m256)r[c], b = (__m256)r[4 + c];
        r[c] = (simd_f32)_mm256_permute2f128_ps(a, b, 0x20);
        r[4 + c] = (simd_f32)_mm256_permute2f128_ps(a, b, 0x31);
    }
#else
    simd_cross_f32(r);
#endif
}

/* 2^x for x <= 0, and 0 below 2^-126. The integer nearest to x is the exponent; a polynomial of the remainder gives the
 * mantissa. */
static inline simd_f32 simd_power_f32(simd_f32 x)
{
    static const float by[] = {1.32647273e-3f, 9.67151299e-3f,
                               5.55073358e-2f, 0.240222424f,
                               0.693147004f,   1}; /* the largest error is 2^-22.5 */
#if SIMD_BYTES == 64
    const __m512 low = _mm512_max_ps(_mm512_set1_ps(-200), (__m512)x); /* NaN stays NaN */
    const __m512 whole = _mm512_roundscale_ps(low, 0), f = _mm512_sub_ps(low, whole);
    __m512 y = _mm512_set1_ps(by[0]);
    for (int i = 1; i < 6; i++)
        y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(by[i]));
    return (simd_f32)_mm512_scalef_ps(y, whole);
#else
    for (int l = 0; l < SIMD_LANES; l++) {
        /* The last bit of `shifted` is worth 1, so that the addition rounds. */
        const float magic = 0x1.8p23f, low = x[l] < -126 ? -126 : x[l], shifted = low + magic;
        const float f = low - (shifted - magic);
        float y = by[0];
        for (int i = 1; i < 6; i++)
            y = y * f + by[i];
        const float power = half_float(half_bits(y) + (half_bits(shifted) << 23));
        x[l] = x[l] < -126 ? 0 : power;
    }
    return x;
#endif
}

/* high + low = the lanes of x, then of y, with an error of at most 2^-16 of each. High is truncated, low is rounded.
 * NaN stays NaN. */
static inline void simd_split_bf16(uint16_t *high, uint16_t *low, simd_f32 x, simd_f32 y)
{
#if SIMD_BYTES == 64
    const __m512i cut = _mm512_set1_epi32((int)0xffff0000), half = _mm512_set1_epi32(0x8000);
    const __m512i words =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i a = (__m512i)x, b = (__m512i)y;
    const __m512 rest_a = _mm512_sub_ps((__m512)x, (__m512)_mm512_and_si512(a, cut));
    const __m512 rest_b = _mm512_sub_ps((__m512)y, (__m512)_mm512_and_si512(b, cut));
    const __m512i low_a = _mm512_add_epi32((__m512i)rest_a, half);
    const __m512i low_b = _mm512_add_epi32((__m512i)rest_b, half);
    _mm512_storeu_si512(high, _mm512_permutex2var_epi16(a, words, b));
    _mm512_storeu_si512(low, _mm512_permutex2var_epi16(low_a, words, low_b));
#else
    for (int l = 0; l < 2 * SIMD_LANES; l++) {
        const float value = l < SIMD_LANES ? x[l] : y[l - SIMD_LANES];
        const uint32_t cut = half_bits(value) & 0xffff0000;
        high[l] = (uint16_t)(cut >> 16);
        low[l] = (uint16_t)((half_bits(value - half_float(cut)) + 0x8000) >> 16);
    }
#endif
}

#endif
