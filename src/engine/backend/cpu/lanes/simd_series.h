/* Registers of a series (series.c): lanes of 4 bytes that are i32 or f32, and what vector extensions cannot express. */
#ifndef LANES_SIMD_SERIES_H
#define LANES_SIMD_SERIES_H

#include "engine/backend/cpu/lanes/simd.h"

typedef int32_t simd_int __attribute__((vector_size(SIMD_BYTES)));
typedef uint32_t simd_uint __attribute__((vector_size(SIMD_BYTES)));
typedef simd_int simd_memory_int __attribute__((aligned(4), may_alias));

#if defined(__clang__)
#define SERIES_EACH _Pragma("clang loop unroll(full)")
#else
#define SERIES_EACH _Pragma("GCC unroll 16")
#endif

#if defined(__aarch64__)
#define SERIES_WIDE 16 /* registers of a chunk: half of them all */
#else
#define SERIES_WIDE 8
#endif
#define SERIES_LANES ((int)(SIMD_BYTES / sizeof(float)))
#define SERIES_SOME (16 / SERIES_LANES) /* registers of 16 lanes */

/* Halves to even. */
static inline simd_f32 series_round(simd_f32 x)
{
#if defined(__aarch64__)
    return (simd_f32)vrndnq_f32((float32x4_t)x);
#elif defined(__AVX2__)
    return (simd_f32)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    const simd_f32 whole = (simd_f32){0} + 0x1p23f; /* from here on all numbers are whole */
    const simd_int sign = (simd_int){0} + INT32_MIN;
    const simd_f32 size = (simd_f32)((simd_int)x & ~sign), near = (size + whole) - whole;
    const simd_int small = (simd_int)(size < whole);
    return (simd_f32)(((simd_int)near & small) | ((simd_int)size & ~small) | ((simd_int)x & sign));
#endif
}

/* Towards 0, in [low, high]; NaN gives 0. */
static inline simd_int series_saturate(simd_f32 x, int low, int high)
{
#if defined(__aarch64__)
    const int32x4_t whole = vcvtq_s32_f32((float32x4_t)x);
    return (simd_int)vminq_s32(vmaxq_s32(whole, vdupq_n_s32(low)), vdupq_n_s32(high));
#else
    const simd_f32 least = (simd_f32){0} + (float)low, most = (simd_f32){0} + (float)high;
    const simd_int above = (simd_int)(x > least), number = (simd_int)(x == x);
    simd_f32 y = (simd_f32)(((simd_int)x & above) | ((simd_int)least & ~above & number));
    const simd_int below = (simd_int)(y < most);
    y = (simd_f32)(((simd_int)y & below) | ((simd_int)most & ~below));
    return __builtin_convertvector(y, simd_int);
#endif
}

/* Rounded to whole numbers, halves to even, in [low, high]; NaN gives 0. */
static inline simd_int series_nearest(simd_f32 x, int low, int high)
{
#if defined(__aarch64__)
    const int32x4_t whole = vcvtnq_s32_f32((float32x4_t)x);
    return (simd_int)vminq_s32(vmaxq_s32(whole, vdupq_n_s32(low)), vdupq_n_s32(high));
#else
    return series_saturate(series_round(x), low, high);
#endif
}

/* The low bytes of 16 lanes, exclusive or `turn`. */
static inline void series_put_bytes(uint8_t *to, const simd_int *v, uint8_t turn)
{
#if defined(__aarch64__)
    const uint16x8_t low = vuzp1q_u16((uint16x8_t)v[0], (uint16x8_t)v[1]);
    const uint16x8_t high = vuzp1q_u16((uint16x8_t)v[2], (uint16x8_t)v[3]);
    vst1q_u8(to, veorq_u8(vuzp1q_u8((uint8x16_t)low, (uint8x16_t)high), vdupq_n_u8(turn)));
#elif defined(__AVX2__)
    const __m256i low = _mm256_set1_epi32(0xff);
    const __m256i words = _mm256_packus_epi32(_mm256_and_si256((__m256i)v[0], low),
                                              _mm256_and_si256((__m256i)v[1], low));
    const __m256i order = _mm256_permute4x64_epi64(words, 0xd8);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(order), _mm256_extracti128_si256(order, 1));
    _mm_storeu_si128((void *)to, _mm_xor_si128(bytes, _mm_set1_epi8((char)turn)));
#else
    for (int i = 0; i < 16; i++)
        to[i] = (uint8_t)(v[i / SERIES_LANES][i % SERIES_LANES] ^ turn);
#endif
}

/* 16 bytes, widened. */
static inline void series_get_bytes(simd_int *v, const uint8_t *from, bool is_signed)
{
#if defined(__aarch64__)
    const uint8x16_t x = vld1q_u8(from);
    if (is_signed) {
        const int16x8_t low = vmovl_s8(vget_low_s8((int8x16_t)x)),
                        high = vmovl_high_s8((int8x16_t)x);
        v[0] = (simd_int)vmovl_s16(vget_low_s16(low));
        v[1] = (simd_int)vmovl_high_s16(low);
        v[2] = (simd_int)vmovl_s16(vget_low_s16(high));
        v[3] = (simd_int)vmovl_high_s16(high);
    } else {
        const uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_high_u8(x);
        v[0] = (simd_int)vmovl_u16(vget_low_u16(low));
        v[1] = (simd_int)vmovl_high_u16(low);
        v[2] = (simd_int)vmovl_u16(vget_low_u16(high));
        v[3] = (simd_int)vmovl_high_u16(high);
    }
#elif defined(__AVX2__)
    for (int i = 0; i < 2; i++) {
        const __m128i x = _mm_loadl_epi64((const void *)(from + 8 * i));
        v[i] = (simd_int)(is_signed ? _mm256_cvtepi8_epi32(x) : _mm256_cvtepu8_epi32(x));
    }
#else
    for (int i = 0; i < 16; i++)
        v[i / SERIES_LANES][i % SERIES_LANES] = is_signed ? (int8_t)from[i] : from[i];
#endif
}

#endif
