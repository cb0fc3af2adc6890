/* Products of codes of weights and of rounded elements, four of a row at a time: see quant.h. */
#ifndef LANES_SIMD_QUANT_H
#define LANES_SIMD_QUANT_H

#include "engine/backend/cpu/lanes/simd_amx.h"
#include "engine/backend/cpu/lanes/simd_gemm.h"

/* Registers of 32-bit lanes. Integers use the widest registers, too. */
typedef uint32_t quant_words __attribute__((vector_size(SIMD_BYTES)));
typedef int32_t quant_ints __attribute__((vector_size(SIMD_BYTES)));
typedef quant_words quant_memory_words __attribute__((aligned(4), may_alias));

/* QUANT_SIGNED: codes of 8 bits are signed in panels; elsewhere 128 is added to them. Shorter codes are at most 63.
 *
 * quant_step adds to each lane of `sum` the products of four codes w and four signed bytes x. eight: codes may have 8 bits. */
#define QUANT_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512VNNI__) && !SIMD_LOWEST
#define QUANT_SIGNED 0
QUANT_INLINE quant_ints quant_step(quant_ints sum, quant_words w, uint32_t x, bool eight)
{
    (void)eight;
    return (quant_ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, _mm512_set1_epi32((int)x));
}
#elif defined(__AVXVNNI__) && !SIMD_LOWEST
#define QUANT_SIGNED 0
QUANT_INLINE quant_ints quant_step(quant_ints sum, quant_words w, uint32_t x, bool eight)
{
    (void)eight;
    return (quant_ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)w, _mm256_set1_epi32((int)x));
}
#elif defined(__x86_64__)
#define QUANT_SIGNED 0
/* Pairs of 16-bit numbers: any codes. Two pairs of products of codes below 64 also fit in 16 bits. */
#if SIMD_BYTES == 64
#define QUANT_OP(name) _mm512_##name
typedef __m512i quant_register;
#elif SIMD_BYTES == 32
#define QUANT_OP(name) _mm256_##name
typedef __m256i quant_register;
#else
#define QUANT_OP(name) _mm_##name
typedef __m128i quant_register;
#endif
QUANT_INLINE quant_ints quant_step(quant_ints sum, quant_words w, uint32_t x, bool eight)
{
    const quant_register each = QUANT_OP(set1_epi32)((int)x);
#if SIMD_BYTES > 16
    if (!eight) {
        const quant_register pairs = QUANT_OP(maddubs_epi16)((quant_register)w, each);
        return sum + (quant_ints)QUANT_OP(madd_epi16)(pairs, QUANT_OP(set1_epi16)(1));
    }
#endif
    (void)eight;
    const quant_words even = w & 0x00ff00ffu, odd = w >> 8 & 0x00ff00ffu;
    const quant_register x_even = QUANT_OP(srai_epi16)(QUANT_OP(slli_epi16)(each, 8), 8);
    const quant_register x_odd = QUANT_OP(srai_epi16)(each, 8);
    sum += (quant_ints)QUANT_OP(madd_epi16)((quant_register)even, x_even);
    return sum + (quant_ints)QUANT_OP(madd_epi16)((quant_register)odd, x_odd);
}
#elif defined(__ARM_FEATURE_DOTPROD) && !SIMD_LOWEST
#define QUANT_SIGNED 1
QUANT_INLINE quant_ints quant_step(quant_ints sum, quant_words w, uint32_t x, bool eight)
{
    (void)eight;
    return (quant_ints)vdotq_s32((int32x4_t)sum, (int8x16_t)w,
                                 vreinterpretq_s8_u32(vdupq_n_u32(x)));
}
#elif defined(__aarch64__)
#define QUANT_SIGNED 1
QUANT_INLINE quant_ints quant_step(quant_ints sum, quant_words w, uint32_t x, bool eight)
{
    const int8x16_t each = vreinterpretq_s8_u32(vdupq_n_u32(x)), codes = (int8x16_t)w;
    const int16x8_t low = vmull_s8(vget_low_s8(codes), vget_low_s8(each));
    const int16x8_t high = vmull_high_s8(codes, each);
    (void)eight;
    return sum + (quant_ints)vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
}
#else
#define QUANT_SIGNED 1
QUANT_INLINE quant_ints quant_step(quant_ints sum, quant_words w, uint32_t x, bool eight)
{
    (void)eight;
    for (size_t i = 0; i < sizeof sum / sizeof sum[0]; i++)
        for (int j = 0; j < 32; j += 8)
            sum[i] += (int8_t)(w[i] >> j) * (int8_t)(x >> j);
    return sum;
}
#endif

/* Bytes w of a table of 16, eight in each word. */
QUANT_INLINE quant_words quant_lookup(quant_words w, unsigned long long low,
                                      unsigned long long high)
{
#if SIMD_BYTES == 64
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    return (quant_words)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), (__m512i)w);
#elif SIMD_BYTES == 32
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    return (quant_words)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), (__m256i)w);
#elif defined(__aarch64__)
    const uint64x2_t table = {low, high};
    return (quant_words)vqtbl1q_u8(vreinterpretq_u8_u64(table), (uint8x16_t)w);
#else
    for (size_t i = 0; i < sizeof w / sizeof w[0]; i++) {
        uint32_t u = 0;
        for (int j = 0; j < 32; j += 8)
            u |= (uint32_t)((w[i] >> j & 8 ? high : low) >> 8 * (w[i] >> j & 7) & 0xff) << j;
        w[i] = u;
    }
    return w;
#endif
}

#if SIMD_AMX
/* Tiles for products of signed and unsigned bytes: rows of `bytes` bytes of k in tiles 4 and 5, as many columns in 6 and 7. */
QUANT_INLINE void amx_begin_mixed(int bytes)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles = {1, 0, {0}, {64, 64, 64, 64, 0, 0, 64, 64}, {16, 16, 16, 16, 16, 16, 0, 0}};
    tiles.row_bytes[4] = tiles.row_bytes[5] = (uint16_t)bytes;
    tiles.rows[6] = tiles.rows[7] = (uint8_t)(bytes / 4);
    _tile_loadconfig(&tiles);
    (void)amx_ready; /* products of floats ask for it */
}

#define amx_step_mixed(c, a, b) _tile_dpbsud(c, a, b)
#endif

#endif
