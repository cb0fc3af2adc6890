/* Vector registers of the level that is built, as GCC/Clang vector extensions, and the operations
 * that the extensions cannot express. Intrinsics are only here and in simd_gemm.h. */
#ifndef LANES_SIMD_H
#define LANES_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define SIMD_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define SIMD_BYTES 32
#elif defined(__aarch64__)
#include <arm_neon.h>
#define SIMD_BYTES 16
#else
#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#define SIMD_BYTES 16
#endif

/* True if an instruction multiplies by one lane of a register: then a few registers hold many
 * factors. Elsewhere a factor is broadcast from memory. */
#if defined(__aarch64__)
#define SIMD_BY_LANE 1
#else
#define SIMD_BY_LANE 0
#endif

/* Before a loop: gcc unrolls only on request; clang does by itself. A level that is compiled for size does not. */
#if defined(__clang__) || defined(__OPTIMIZE_SIZE__)
#define SIMD_UNROLL_4
#define SIMD_UNROLL_16
#else
#define SIMD_UNROLL_4 _Pragma("GCC unroll 4")
#define SIMD_UNROLL_16 _Pragma("GCC unroll 16")
#endif

/* Integers gain nothing from the widest registers. */
#define SIMD_INT_BYTES (SIMD_BYTES < 32 ? SIMD_BYTES : 32)

/* Registers; and their type in memory, aligned only as their elements are. */
typedef float simd_f32 __attribute__((vector_size(SIMD_BYTES)));
typedef double simd_f64 __attribute__((vector_size(SIMD_BYTES)));
typedef uint8_t simd_u8 __attribute__((vector_size(SIMD_INT_BYTES)));
typedef uint16_t simd_u16 __attribute__((vector_size(SIMD_INT_BYTES)));
typedef uint32_t simd_u32 __attribute__((vector_size(SIMD_INT_BYTES)));
typedef uint64_t simd_u64 __attribute__((vector_size(SIMD_INT_BYTES)));
typedef simd_f32 simd_memory_f32 __attribute__((aligned(4), may_alias));
typedef simd_f64 simd_memory_f64 __attribute__((aligned(8), may_alias));
typedef simd_u8 simd_memory_u8 __attribute__((aligned(1), may_alias));
typedef simd_u16 simd_memory_u16 __attribute__((aligned(2), may_alias));
typedef simd_u32 simd_memory_u32 __attribute__((aligned(4), may_alias));
typedef simd_u64 simd_memory_u64 __attribute__((aligned(8), may_alias));

/* c + b * a, rounded once if the level has fma. */
static inline simd_f32 simd_fma_f32(simd_f32 c, simd_f32 b, float a)
{
#if defined(__AVX512F__)
    return (simd_f32)_mm512_fmadd_ps((__m512)b, _mm512_set1_ps(a), (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f32)_mm256_fmadd_ps((__m256)b, _mm256_set1_ps(a), (__m256)c);
#elif defined(__aarch64__)
    return (simd_f32)vfmaq_n_f32((float32x4_t)c, (float32x4_t)b, a);
#else
    return c + b * a;
#endif
}

static inline simd_f64 simd_fma_f64(simd_f64 c, simd_f64 b, double a)
{
#if defined(__AVX512F__)
    return (simd_f64)_mm512_fmadd_pd((__m512d)b, _mm512_set1_pd(a), (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f64)_mm256_fmadd_pd((__m256d)b, _mm256_set1_pd(a), (__m256d)c);
#elif defined(__aarch64__)
    return (simd_f64)vfmaq_n_f64((float64x2_t)c, (float64x2_t)b, a);
#else
    return c + b * a;
#endif
}

/* c - b * a, rounded once if the level has fma. */
static inline simd_f32 simd_less_f32(simd_f32 c, simd_f32 b, simd_f32 a)
{
#if defined(__AVX512F__)
    return (simd_f32)_mm512_fnmadd_ps((__m512)b, (__m512)a, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f32)_mm256_fnmadd_ps((__m256)b, (__m256)a, (__m256)c);
#elif defined(__aarch64__)
    return (simd_f32)vfmsq_f32((float32x4_t)c, (float32x4_t)b, (float32x4_t)a);
#else
    return c - b * a;
#endif
}

static inline simd_f64 simd_less_f64(simd_f64 c, simd_f64 b, simd_f64 a)
{
#if defined(__AVX512F__)
    return (simd_f64)_mm512_fnmadd_pd((__m512d)b, (__m512d)a, (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f64)_mm256_fnmadd_pd((__m256d)b, (__m256d)a, (__m256d)c);
#elif defined(__aarch64__)
    return (simd_f64)vfmsq_f64((float64x2_t)c, (float64x2_t)b, (float64x2_t)a);
#else
    return c - b * a;
#endif
}

/* The square root of each lane. */
static inline simd_f32 simd_root_f32(simd_f32 x)
{
#if defined(__AVX512F__)
    return (simd_f32)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f32)_mm256_sqrt_ps((__m256)x);
#elif defined(__aarch64__)
    return (simd_f32)vsqrtq_f32((float32x4_t)x);
#else
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

static inline simd_f64 simd_root_f64(simd_f64 x)
{
#if defined(__AVX512F__)
    return (simd_f64)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f64)_mm256_sqrt_pd((__m256d)x);
#elif defined(__aarch64__)
    return (simd_f64)vsqrtq_f64((float64x2_t)x);
#else
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = __builtin_sqrt(x[i]);
    return x;
#endif
}

/* The high halves of the lanes' products with m; the low halves go to *low. */
static inline simd_u32 simd_multiply_wide(simd_u32 x, uint32_t m, simd_u32 *low)
{
#if defined(__aarch64__)
    const uint32x4_t by = vdupq_n_u32(m);
    const uint32x4_t a = (uint32x4_t)vmull_u32(vget_low_u32((uint32x4_t)x), vget_low_u32(by));
    const uint32x4_t b = (uint32x4_t)vmull_high_u32((uint32x4_t)x, by);
    *low = (simd_u32)vuzp1q_u32(a, b);
    return (simd_u32)vuzp2q_u32(a, b);
#elif defined(__AVX2__)
    const __m256i by = _mm256_set1_epi32((int)m);
    const __m256i even = _mm256_mul_epu32((__m256i)x, by);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)x, 32), by);
    *low = (simd_u32)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    return (simd_u32)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
#else
    simd_u32 high;
    for (unsigned i = 0; i < sizeof x / sizeof x[0]; i++)
        high[i] = (uint32_t)((uint64_t)x[i] * m >> 32);
    *low = x * m;
    return high;
#endif
}

/* d[4 * i + j] = lane i of xj. */
static inline void simd_keep_by_turns(uint32_t *d, simd_u32 x0, simd_u32 x1, simd_u32 x2,
                                      simd_u32 x3)
{
#if defined(__aarch64__)
    const uint32x4x4_t all = {{(uint32x4_t)x0, (uint32x4_t)x1, (uint32x4_t)x2, (uint32x4_t)x3}};
    vst4q_u32(d, all);
#else
    for (unsigned i = 0; i < sizeof x0 / sizeof x0[0]; i++, d += 4) {
        d[0] = x0[i];
        d[1] = x1[i];
        d[2] = x2[i];
        d[3] = x3[i];
    }
#endif
}

/* Conversions between f16 and f32, if the level has instructions for them: eight lanes at a time.
 * Return how many elements were converted, a multiple of eight. */
#if defined(__aarch64__)
typedef float16x8_t simd_f16x8;
typedef float32x4x2_t simd_f32x8;
static inline simd_f16x8 simd_load_f16x8(const uint16_t *a)
{
    return vreinterpretq_f16_u16(vld1q_u16(a));
}
static inline void simd_keep_f16x8(uint16_t *d, simd_f16x8 x)
{
    vst1q_u16(d, vreinterpretq_u16_f16(x));
}
static inline simd_f32x8 simd_load_f32x8(const float *a)
{
    return (simd_f32x8){{vld1q_f32(a), vld1q_f32(a + 4)}};
}
static inline void simd_keep_f32x8(float *d, simd_f32x8 x)
{
    vst1q_f32(d, x.val[0]);
    vst1q_f32(d + 4, x.val[1]);
}
static inline simd_f32x8 simd_widen_f16x8(simd_f16x8 x)
{
    return (simd_f32x8){{vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x)}};
}
static inline simd_f16x8 simd_narrow_f16x8(simd_f32x8 x)
{
    return vcvt_high_f16_f32(vcvt_f16_f32(x.val[0]), x.val[1]);
}
#define SIMD_F16 8
#elif defined(__F16C__)
typedef __m128i simd_f16x8;
typedef __m256 simd_f32x8;
static inline simd_f16x8 simd_load_f16x8(const uint16_t *a)
{
    return _mm_loadu_si128((const __m128i *)a);
}
static inline void simd_keep_f16x8(uint16_t *d, simd_f16x8 x) { _mm_storeu_si128((__m128i *)d, x); }
static inline simd_f32x8 simd_load_f32x8(const float *a) { return _mm256_loadu_ps(a); }
static inline void simd_keep_f32x8(float *d, simd_f32x8 x) { _mm256_storeu_ps(d, x); }
static inline simd_f32x8 simd_widen_f16x8(simd_f16x8 x) { return _mm256_cvtph_ps(x); }
static inline simd_f16x8 simd_narrow_f16x8(simd_f32x8 x)
{
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}
#define SIMD_F16 8
#else
#define SIMD_F16 0
#endif

static inline int64_t simd_widen_f16(int64_t n, float *d, const uint16_t *a)
{
    int64_t i = 0;
    (void)n, (void)d, (void)a;
#if SIMD_F16
    for (; i + 8 <= n; i += 8)
        simd_keep_f32x8(d + i, simd_widen_f16x8(simd_load_f16x8(a + i)));
#endif
    return i;
}

static inline int64_t simd_narrow_f16(int64_t n, uint16_t *d, const float *a)
{
    int64_t i = 0;
    (void)n, (void)d, (void)a;
#if SIMD_F16
    for (; i + 8 <= n; i += 8)
        simd_keep_f16x8(d + i, simd_narrow_f16x8(simd_load_f32x8(a + i)));
#endif
    return i;
}

/* f32 to bytes as astype does: towards 0, saturating; NaN gives 0. is_signed, a constant: to i8, else to u8. Returns how many
 * elements it converted. */
static inline __attribute__((always_inline)) int64_t simd_saturate(bool is_signed, int64_t n,
                                                                   void *d, const float *a)
{
    int64_t i = 0;
    (void)is_signed, (void)n, (void)d, (void)a;
#if defined(__aarch64__)
    for (; i + 16 <= n; i += 16) {
        int16x8_t half[2];
        for (int j = 0; j < 2; j++)
            half[j] = vcombine_s16(vqmovn_s32(vcvtq_s32_f32(vld1q_f32(a + i + 8 * j))),
                                   vqmovn_s32(vcvtq_s32_f32(vld1q_f32(a + i + 8 * j + 4))));
        vst1q_u8((uint8_t *)d + i,
                 is_signed
                     ? vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(half[0]), vqmovn_s16(half[1])))
                     : vcombine_u8(vqmovun_s16(half[0]), vqmovun_s16(half[1])));
    }
#endif
    return i;
}

static inline int64_t simd_round_f16(int64_t n, float *d, const float *a)
{
    int64_t i = 0;
    (void)n, (void)d, (void)a;
#if SIMD_F16
    for (; i + 8 <= n; i += 8)
        simd_keep_f32x8(d + i, simd_widen_f16x8(simd_narrow_f16x8(simd_load_f32x8(a + i))));
#endif
    return i;
}

/* The smaller of each lane (least), or the larger: NaN if either is NaN, and -0 is below +0. */
#if defined(__aarch64__)
static inline simd_f32 simd_extreme_f32(bool least, simd_f32 a, simd_f32 b)
{
    const float32x4_t x = (float32x4_t)a, y = (float32x4_t)b;
    return (simd_f32)(least ? vminq_f32(x, y) : vmaxq_f32(x, y));
}
static inline simd_f64 simd_extreme_f64(bool least, simd_f64 a, simd_f64 b)
{
    const float64x2_t x = (float64x2_t)a, y = (float64x2_t)b;
    return (simd_f64)(least ? vminq_f64(x, y) : vmaxq_f64(x, y));
}
#elif defined(__AVX2__)
/* The instructions give y if either is NaN and if both are 0; the result must then be the NaN, or
 * the sign of both. PICK takes x where `how` holds for a and b, else m. */
#if defined(__AVX512F__)
#define SIMD_X86(name, kind) _mm512_##name##_##kind
#define SIMD_PICK(kind, m, a, b, how, x) \
    _mm512_mask_mov_##kind(m, _mm512_cmp_##kind##_mask(a, b, how), x)
typedef __m512 simd_x86_f32;
typedef __m512d simd_x86_f64;
#else
#define SIMD_X86(name, kind) _mm256_##name##_##kind
#define SIMD_PICK(kind, m, a, b, how, x) _mm256_blendv_##kind(m, x, _mm256_cmp_##kind(a, b, how))
typedef __m256 simd_x86_f32;
typedef __m256d simd_x86_f64;
#endif
static inline simd_f32 simd_extreme_f32(bool least, simd_f32 a, simd_f32 b)
{
    const simd_x86_f32 x = (simd_x86_f32)a, y = (simd_x86_f32)b;
    const simd_x86_f32 m = least ? SIMD_X86(min, ps)(x, y) : SIMD_X86(max, ps)(x, y);
    const simd_x86_f32 zero = least ? SIMD_X86(or, ps)(x, y) : SIMD_X86(and, ps)(x, y);
    return (simd_f32)SIMD_PICK(ps, SIMD_PICK(ps, m, x, y, _CMP_EQ_OQ, zero), x, x, _CMP_UNORD_Q, x);
}
static inline simd_f64 simd_extreme_f64(bool least, simd_f64 a, simd_f64 b)
{
    const simd_x86_f64 x = (simd_x86_f64)a, y = (simd_x86_f64)b;
    const simd_x86_f64 m = least ? SIMD_X86(min, pd)(x, y) : SIMD_X86(max, pd)(x, y);
    const simd_x86_f64 zero = least ? SIMD_X86(or, pd)(x, y) : SIMD_X86(and, pd)(x, y);
    return (simd_f64)SIMD_PICK(pd, SIMD_PICK(pd, m, x, y, _CMP_EQ_OQ, zero), x, x, _CMP_UNORD_Q, x);
}
#else
typedef int32_t simd_mask_f32 __attribute__((vector_size(SIMD_BYTES)));
typedef int64_t simd_mask_f64 __attribute__((vector_size(SIMD_BYTES)));

/* x where c is set, else y. */
#define SIMD_CHOOSE(mask, c, x, y) (((c) & (mask)(x)) | (~(c) & (mask)(y)))
static inline simd_f32 simd_extreme_f32(bool least, simd_f32 x, simd_f32 y)
{
    const simd_mask_f32 a = (simd_mask_f32)x, b = (simd_mask_f32)y, zero = least ? a | b : a & b;
    const simd_mask_f32 some = SIMD_CHOOSE(simd_mask_f32, least ? x < y : x > y, x, y);
    const simd_mask_f32 same = SIMD_CHOOSE(simd_mask_f32, x == y, zero, some);
    return (simd_f32)SIMD_CHOOSE(simd_mask_f32, x == x, same, x);
}
static inline simd_f64 simd_extreme_f64(bool least, simd_f64 x, simd_f64 y)
{
    const simd_mask_f64 a = (simd_mask_f64)x, b = (simd_mask_f64)y, zero = least ? a | b : a & b;
    const simd_mask_f64 some = SIMD_CHOOSE(simd_mask_f64, least ? x < y : x > y, x, y);
    const simd_mask_f64 same = SIMD_CHOOSE(simd_mask_f64, x == y, zero, some);
    return (simd_f64)SIMD_CHOOSE(simd_mask_f64, x == x, same, x);
}
#endif

/* Moves the lanes from `lane` on to the front; lane is at most half of all. The other lanes of the
 * result are unspecified. */
static inline simd_f32 simd_from_f32(simd_f32 x, int lane)
{
#if defined(__aarch64__)
    const float32x4_t v = (float32x4_t)x;
    return (simd_f32)(lane == 2 ? vextq_f32(v, v, 2) : vextq_f32(v, v, 1));
#else
    simd_f32 from = x;
    __builtin_memcpy(&from, (const float *)&x + lane, (size_t)lane * sizeof(float));
    return from;
#endif
}
static inline simd_f64 simd_from_f64(simd_f64 x, int lane)
{
#if defined(__aarch64__)
    (void)lane; /* 1 of 2 */
    return (simd_f64)vextq_f64((float64x2_t)x, (float64x2_t)x, 1);
#else
    simd_f64 from = x;
    __builtin_memcpy(&from, (const double *)&x + lane, (size_t)lane * sizeof(double));
    return from;
#endif
}

/* Integers wrap. */
static inline simd_u8 simd_fma_u8(simd_u8 c, simd_u8 b, uint8_t a) { return c + b * a; }
static inline simd_u16 simd_fma_u16(simd_u16 c, simd_u16 b, uint16_t a) { return c + b * a; }
static inline simd_u32 simd_fma_u32(simd_u32 c, simd_u32 b, uint32_t a) { return c + b * a; }
static inline simd_u64 simd_fma_u64(simd_u64 c, simd_u64 b, uint64_t a) { return c + b * a; }

#endif
