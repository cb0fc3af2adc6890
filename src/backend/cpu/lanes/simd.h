/* Vector registers of the level that is built, as GCC/Clang vector extensions, and the few things
 * that the extensions cannot say. Intrinsics stand here and nowhere else. */
#ifndef LANES_SIMD_H
#define LANES_SIMD_H

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
#define SIMD_BYTES 16
#endif

/* True where an instruction multiplies by one lane of a register: then a few registers hold many
 * factors, and elsewhere a factor is spread from memory. */
#if defined(__aarch64__)
#define SIMD_BY_LANE 1
#else
#define SIMD_BY_LANE 0
#endif

/* Before a loop: gcc leaves it as it is unless told; clang needs no telling. */
#if defined(__clang__)
#define SIMD_UNROLL_4
#else
#define SIMD_UNROLL_4 _Pragma("GCC unroll 4")
#endif

/* Integers gain nothing from the widest registers. */
#define SIMD_INT_BYTES (SIMD_BYTES < 32 ? SIMD_BYTES : 32)

/* Registers; and their look in memory, aligned only as their elements are. */
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

/* c + b * a, rounded once where the level has fma. */
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

/* Integers wrap. */
static inline simd_u8 simd_fma_u8(simd_u8 c, simd_u8 b, uint8_t a) { return c + b * a; }
static inline simd_u16 simd_fma_u16(simd_u16 c, simd_u16 b, uint16_t a) { return c + b * a; }
static inline simd_u32 simd_fma_u32(simd_u32 c, simd_u32 b, uint32_t a) { return c + b * a; }
static inline simd_u64 simd_fma_u64(simd_u64 c, simd_u64 b, uint64_t a) { return c + b * a; }

#endif
