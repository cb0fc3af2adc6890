/* Operations of the contraction beyond simd.h: transposing and interleaving 16 bytes of lanes, and
 * instructions that multiply small matrices. */
#ifndef LANES_SIMD_GEMM_H
#define LANES_SIMD_GEMM_H

#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/lanes/simd.h"

#include <stdbool.h>
#include <string.h>

/* A level without a base has none of the instructions that levels on it add (the build defines ON_BASE), although the compiler
 * may use them: for Apple processors, or with CFLAGS=-march=native. */
#if defined(ON_BASE) && !ON_BASE
#define SIMD_LOWEST 1
#else
#define SIMD_LOWEST 0
#endif

/* Before a loop: see SIMD_UNROLL_4. UNROLL_ALL is for at most 8 iterations over an array of
 * registers, which otherwise goes through memory. */
#if defined(__clang__)
#define SIMD_UNROLL_2
#define SIMD_UNROLL_ALL _Pragma("clang loop unroll(full)")
#else
#define SIMD_UNROLL_2 _Pragma("GCC unroll 2")
#define SIMD_UNROLL_ALL _Pragma("GCC unroll 8")
#endif

/* No load is moved across this: gcc would make all loads of a loop first, and there are not enough registers for
 * them. */
#define SIMD_LOADS_STAY __asm__ volatile("" ::: "memory");

/* Lanes of two vectors; mask is an integer vector of the same form. */
#if defined(__clang__)
#define SIMD_SHUFFLE(mask, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SIMD_SHUFFLE(mask, x, y, ...) __builtin_shuffle(x, y, (mask){__VA_ARGS__})
#endif

/* ---- 16 bytes: transposing and interleaving rows ---- */

typedef float quad_f32 __attribute__((vector_size(16)));
typedef double quad_f64 __attribute__((vector_size(16)));
typedef int32_t quad_i32 __attribute__((vector_size(16)));
typedef uint32_t quad_u32 __attribute__((vector_size(16)));
typedef int64_t quad_i64 __attribute__((vector_size(16)));
typedef quad_f32 quad_memory_f32 __attribute__((aligned(1), may_alias));
typedef quad_f64 quad_memory_f64 __attribute__((aligned(1), may_alias));

/* Contiguous lanes in memory. */
static inline quad_f32 quad_of_f32(const void *from) { return *(const quad_memory_f32 *)from; }
static inline quad_f64 quad_of_f64(const void *from) { return *(const quad_memory_f64 *)from; }

static inline quad_f32 quad_of_f16(const uint16_t *from)
{
#if defined(__aarch64__)
    return (quad_f32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
#elif defined(__F16C__)
    return (quad_f32)_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)from));
#else
    return (quad_f32){f16_to_f32(from[0]), f16_to_f32(from[1]), f16_to_f32(from[2]),
                      f16_to_f32(from[3])};
#endif
}

static inline quad_f32 quad_of_bf16(const uint16_t *from)
{
    typedef uint16_t half __attribute__((vector_size(8)));
    typedef uint32_t whole __attribute__((vector_size(16)));
    half bits;
    memcpy(&bits, from, sizeof bits);
    return (quad_f32)(__builtin_convertvector(bits, whole) << 16);
}

/* Transposes four rows. */
static inline void quad_cross_f32(quad_f32 r[4])
{
    const quad_f32 low0 = SIMD_SHUFFLE(quad_i32, r[0], r[1], 0, 4, 1, 5);
    const quad_f32 low1 = SIMD_SHUFFLE(quad_i32, r[2], r[3], 0, 4, 1, 5);
    const quad_f32 high0 = SIMD_SHUFFLE(quad_i32, r[0], r[1], 2, 6, 3, 7);
    const quad_f32 high1 = SIMD_SHUFFLE(quad_i32, r[2], r[3], 2, 6, 3, 7);
    r[0] = SIMD_SHUFFLE(quad_i32, low0, low1, 0, 1, 4, 5);
    r[1] = SIMD_SHUFFLE(quad_i32, low0, low1, 2, 3, 6, 7);
    r[2] = SIMD_SHUFFLE(quad_i32, high0, high1, 0, 1, 4, 5);
    r[3] = SIMD_SHUFFLE(quad_i32, high0, high1, 2, 3, 6, 7);
}

static inline void quad_cross_f64(quad_f64 r[2])
{
    const quad_f64 low = SIMD_SHUFFLE(quad_i64, r[0], r[1], 0, 2);
    r[1] = SIMD_SHUFFLE(quad_i64, r[0], r[1], 1, 3);
    r[0] = low;
}

/* Stores rows as columns: lane j of each at to[j * width ...]. */
static inline void quad_turn_f32(void *to, int64_t width, quad_f32 r0, quad_f32 r1, quad_f32 r2,
                                 quad_f32 r3)
{
    quad_f32 r[4] = {r0, r1, r2, r3};
    quad_cross_f32(r);
    for (int j = 0; j < 4; j++)
        *(quad_memory_f32 *)((float *)to + j * width) = r[j];
}

static inline void quad_turn_f64(void *to, int64_t width, quad_f64 r0, quad_f64 r1)
{
    quad_f64 r[2] = {r0, r1};
    quad_cross_f64(r);
    for (int j = 0; j < 2; j++)
        *(quad_memory_f64 *)((double *)to + j * width) = r[j];
}

/* Eight rows, starting at the r-th, of two points s[], whose rows are contiguous: the points of a row become
 * adjacent. */
static inline void weave_2_bytes(uint16_t *to, const uint16_t *const *s, int64_t r)
{
    typedef uint16_t eight __attribute__((vector_size(16)));
    eight x, y;
    memcpy(&x, s[0] + r, sizeof x);
    memcpy(&y, s[1] + r, sizeof y);
    const eight low = SIMD_SHUFFLE(eight, x, y, 0, 8, 1, 9, 2, 10, 3, 11);
    const eight high = SIMD_SHUFFLE(eight, x, y, 4, 12, 5, 13, 6, 14, 7, 15);
    memcpy(to, &low, sizeof low);
    memcpy(to + 8, &high, sizeof high);
}

#if defined(__AVX512BW__)
/* The same for 32 rows: a whole panel. */
static inline void weave_2_bytes_panel(uint16_t *to, const uint16_t *const *s)
{
    typedef uint16_t row __attribute__((vector_size(64)));
    row x, y;
    memcpy(&x, s[0], sizeof x);
    memcpy(&y, s[1], sizeof y);
    const row low = SIMD_SHUFFLE(row, x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39,
                                 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
    const row high =
        SIMD_SHUFFLE(row, x, y, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24,
                     56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
    memcpy(to, &low, sizeof low);
    memcpy(to + 32, &high, sizeof high);
}
#endif

/* ---- registers of quads ---- */

enum { SIMD_QUADS = SIMD_BYTES / 16 };

/* A register of quads. */
static inline simd_f32 simd_join_f32(const quad_f32 *q)
{
#if SIMD_BYTES == 64
    const __m512 low = _mm512_insertf32x4(_mm512_castps128_ps512((__m128)q[0]), (__m128)q[1], 1);
    const __m512 more = _mm512_insertf32x4(low, (__m128)q[2], 2);
    return (simd_f32)_mm512_insertf32x4(more, (__m128)q[3], 3);
#elif SIMD_BYTES == 32
    return (simd_f32)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)q[0]), (__m128)q[1], 1);
#else
    return (simd_f32)q[0];
#endif
}

static inline simd_f64 simd_join_f64(const quad_f64 *q)
{
    quad_f32 same[SIMD_QUADS];
    for (int i = 0; i < SIMD_QUADS; i++)
        same[i] = (quad_f32)q[i];
    return (simd_f64)simd_join_f32(same);
}

/* Transposes within each quad. */
static inline void simd_cross_f32(simd_f32 r[4])
{
#if SIMD_BYTES == 64
    const __m512 low0 = _mm512_unpacklo_ps((__m512)r[0], (__m512)r[1]);
    const __m512 low1 = _mm512_unpacklo_ps((__m512)r[2], (__m512)r[3]);
    const __m512 high0 = _mm512_unpackhi_ps((__m512)r[0], (__m512)r[1]);
    const __m512 high1 = _mm512_unpackhi_ps((__m512)r[2], (__m512)r[3]);
    r[0] = (simd_f32)_mm512_unpacklo_pd((__m512d)low0, (__m512d)low1);
    r[1] = (simd_f32)_mm512_unpackhi_pd((__m512d)low0, (__m512d)low1);
    r[2] = (simd_f32)_mm512_unpacklo_pd((__m512d)high0, (__m512d)high1);
    r[3] = (simd_f32)_mm512_unpackhi_pd((__m512d)high0, (__m512d)high1);
#elif SIMD_BYTES == 32
    const __m256 low0 = _mm256_unpacklo_ps((__m256)r[0], (__m256)r[1]);
    const __m256 low1 = _mm256_unpacklo_ps((__m256)r[2], (__m256)r[3]);
    const __m256 high0 = _mm256_unpackhi_ps((__m256)r[0], (__m256)r[1]);
    const __m256 high1 = _mm256_unpackhi_ps((__m256)r[2], (__m256)r[3]);
    r[0] = (simd_f32)_mm256_unpacklo_pd((__m256d)low0, (__m256d)low1);
    r[1] = (simd_f32)_mm256_unpackhi_pd((__m256d)low0, (__m256d)low1);
    r[2] = (simd_f32)_mm256_unpacklo_pd((__m256d)high0, (__m256d)high1);
    r[3] = (simd_f32)_mm256_unpackhi_pd((__m256d)high0, (__m256d)high1);
#else
    quad_cross_f32((quad_f32 *)r);
#endif
}

static inline void simd_cross_f64(simd_f64 r[2])
{
#if SIMD_BYTES == 64
    const __m512d low = _mm512_unpacklo_pd((__m512d)r[0], (__m512d)r[1]);
    r[1] = (simd_f64)_mm512_unpackhi_pd((__m512d)r[0], (__m512d)r[1]);
    r[0] = (simd_f64)low;
#elif SIMD_BYTES == 32
    const __m256d low = _mm256_unpacklo_pd((__m256d)r[0], (__m256d)r[1]);
    r[1] = (simd_f64)_mm256_unpackhi_pd((__m256d)r[0], (__m256d)r[1]);
    r[0] = (simd_f64)low;
#else
    quad_cross_f64((quad_f64 *)r);
#endif
}

/* Loads and stores contiguous lanes. */
static inline simd_f32 simd_of_f32(const void *from) { return *(const simd_memory_f32 *)from; }
static inline simd_f64 simd_of_f64(const void *from) { return *(const simd_memory_f64 *)from; }

static inline void simd_keep_f32(void *to, simd_f32 x) { *(simd_memory_f32 *)to = x; }
static inline void simd_keep_f64(void *to, simd_f64 x) { *(simd_memory_f64 *)to = x; }

static inline simd_f32 simd_of_f16(const uint16_t *from)
{
#if SIMD_BYTES == 64
    return (simd_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
#elif SIMD_BYTES == 32
    return (simd_f32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
#else
    return (simd_f32)quad_of_f16(from);
#endif
}

static inline simd_f32 simd_of_bf16(const uint16_t *from)
{
    typedef uint16_t half __attribute__((vector_size(SIMD_BYTES / 2)));
    typedef uint32_t whole __attribute__((vector_size(SIMD_BYTES)));
    half bits;
    memcpy(&bits, from, sizeof bits);
    return (simd_f32)(__builtin_convertvector(bits, whole) << 16);
}

/* The same for the first n elements, fewer than the lanes of a register. The other lanes of a load are 0. */
#if SIMD_BYTES == 64
#define SIMD_FIRST(n) ((1u << (n)) - 1)
static inline simd_f32 simd_part_f32(const float *from, int64_t n)
{
    return (simd_f32)_mm512_maskz_loadu_ps((__mmask16)SIMD_FIRST(n), from);
}
static inline simd_f64 simd_part_f64(const double *from, int64_t n)
{
    return (simd_f64)_mm512_maskz_loadu_pd((__mmask8)SIMD_FIRST(n), from);
}
static inline void simd_keep_part_f32(float *to, simd_f32 x, int64_t n)
{
    _mm512_mask_storeu_ps(to, (__mmask16)SIMD_FIRST(n), (__m512)x);
}
static inline void simd_keep_part_f64(double *to, simd_f64 x, int64_t n)
{
    _mm512_mask_storeu_pd(to, (__mmask8)SIMD_FIRST(n), (__m512d)x);
}
#elif SIMD_BYTES == 32
static inline __m256i simd_first(int64_t n) /* f64: 2 * n */
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline simd_f32 simd_part_f32(const float *from, int64_t n)
{
    return (simd_f32)_mm256_maskload_ps(from, simd_first(n));
}
static inline simd_f64 simd_part_f64(const double *from, int64_t n)
{
    return (simd_f64)_mm256_maskload_pd(from, simd_first(2 * n));
}
static inline void simd_keep_part_f32(float *to, simd_f32 x, int64_t n)
{
    _mm256_maskstore_ps(to, simd_first(n), (__m256)x);
}
static inline void simd_keep_part_f64(double *to, simd_f64 x, int64_t n)
{
    _mm256_maskstore_pd(to, simd_first(2 * n), (__m256d)x);
}
#else
static inline simd_f32 simd_part_f32(const float *from, int64_t n)
{
    return (simd_f32){from[0], n > 1 ? from[1] : 0, n > 2 ? from[2] : 0};
}
static inline simd_f64 simd_part_f64(const double *from, int64_t n)
{
    (void)n; /* 1 of 2 */
    return (simd_f64){from[0]};
}
static inline void simd_keep_part_f32(float *to, simd_f32 x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = x[i];
}
static inline void simd_keep_part_f64(double *to, simd_f64 x, int64_t n)
{
    (void)n;
    to[0] = x[0];
}
#endif

static inline simd_f32 simd_part_f16(const uint16_t *from, int64_t n)
{
    uint16_t part[SIMD_BYTES / 4] = {0};
    for (int64_t i = 0; i < n; i++)
        part[i] = from[i];
    return simd_of_f16(part);
}
static inline simd_f32 simd_part_bf16(const uint16_t *from, int64_t n)
{
    uint16_t part[SIMD_BYTES / 4] = {0};
    for (int64_t i = 0; i < n; i++)
        part[i] = from[i];
    return simd_of_bf16(part);
}

/* c + b * a[lane], as simd_fma_T. In this form gcc does not broadcast the lane first. */
#if SIMD_BY_LANE
static inline simd_f32 simd_fma_lane_f32(simd_f32 c, simd_f32 b, quad_f32 a, int lane)
{
    const float32x4_t sum = (float32x4_t)c, x = (float32x4_t)b, f = (float32x4_t)a;
    return (simd_f32)(lane == 0   ? vfmaq_laneq_f32(sum, x, f, 0)
                      : lane == 1 ? vfmaq_laneq_f32(sum, x, f, 1)
                      : lane == 2 ? vfmaq_laneq_f32(sum, x, f, 2)
                                  : vfmaq_laneq_f32(sum, x, f, 3));
}

static inline simd_f64 simd_fma_lane_f64(simd_f64 c, simd_f64 b, quad_f64 a, int lane)
{
    const float64x2_t sum = (float64x2_t)c, x = (float64x2_t)b, f = (float64x2_t)a;
    return (simd_f64)(lane == 0 ? vfmaq_laneq_f64(sum, x, f, 0) : vfmaq_laneq_f64(sum, x, f, 1));
}
#endif

/* c + b * a, as simd_fma_T, with a factor for each lane. */
static inline simd_f32 simd_fma_each_f32(simd_f32 c, simd_f32 b, simd_f32 a)
{
#if defined(__AVX512F__)
    return (simd_f32)_mm512_fmadd_ps((__m512)b, (__m512)a, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f32)_mm256_fmadd_ps((__m256)b, (__m256)a, (__m256)c);
#elif defined(__aarch64__)
    return (simd_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)b, (float32x4_t)a);
#else
    return c + b * a;
#endif
}

static inline simd_f64 simd_fma_each_f64(simd_f64 c, simd_f64 b, simd_f64 a)
{
#if defined(__AVX512F__)
    return (simd_f64)_mm512_fmadd_pd((__m512d)b, (__m512d)a, (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (simd_f64)_mm256_fmadd_pd((__m256d)b, (__m256d)a, (__m256d)c);
#elif defined(__aarch64__)
    return (simd_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)b, (float64x2_t)a);
#else
    return c + b * a;
#endif
}

/* ---- matrix instructions: 2 x 2 sums of products of 8 bytes ---- */

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) && defined(__ARM_FEATURE_MATMUL_INT8) && \
    !SIMD_LOWEST
#define SIMD_MMA 1
typedef bfloat16x8_t mma_bf16 __attribute__((may_alias));
typedef int8x16_t mma_i8 __attribute__((may_alias));
typedef quad_f32 mma_sum_bf16;
typedef quad_i32 mma_sum_i8;
typedef uint8_t mma_u8x4 __attribute__((vector_size(4)));

static inline mma_sum_bf16 mma_step_bf16(mma_sum_bf16 sum, mma_bf16 a, mma_bf16 b)
{
    return (mma_sum_bf16)vbfmmlaq_f32((float32x4_t)sum, a, b);
}

static inline mma_sum_i8 mma_step_i8(mma_sum_i8 sum, mma_i8 a, mma_i8 b)
{
    return (mma_sum_i8)vmmlaq_s32((int32x4_t)sum, a, b);
}

/* The sums of two adjacent registers are 2 rows of 4. */
static inline void mma_put_bf16(float *c, int64_t ldc, mma_sum_bf16 x, mma_sum_bf16 y, bool add)
{
    mma_sum_bf16 row0 = SIMD_SHUFFLE(quad_i32, x, y, 0, 1, 4, 5);
    mma_sum_bf16 row1 = SIMD_SHUFFLE(quad_i32, x, y, 2, 3, 6, 7);
    if (add) {
        row0 = *(const quad_memory_f32 *)c + row0;
        row1 = *(const quad_memory_f32 *)(c + ldc) + row1;
    }
    *(quad_memory_f32 *)c = row0;
    *(quad_memory_f32 *)(c + ldc) = row1;
}

/* The sums' low bytes. */
static inline void mma_put_row_i8(uint8_t *c, quad_i32 sum, bool add)
{
    mma_u8x4 old = {0}, low = __builtin_convertvector(sum, mma_u8x4);
    if (add)
        memcpy(&old, c, sizeof old);
    low += old;
    memcpy(c, &low, sizeof low);
}

static inline void mma_put_i8(uint8_t *c, int64_t ldc, mma_sum_i8 x, mma_sum_i8 y, bool add)
{
    mma_put_row_i8(c, SIMD_SHUFFLE(quad_i32, x, y, 0, 1, 4, 5), add);
    mma_put_row_i8(c + ldc, SIMD_SHUFFLE(quad_i32, x, y, 2, 3, 6, 7), add);
}

/* The same for sums of bytes in i32. */
typedef mma_i8 mma_i32;
typedef mma_sum_i8 mma_sum_i32;
#define mma_step_i32 mma_step_i8

static inline void mma_put_row_i32(uint32_t *c, quad_i32 sum, bool add)
{
    quad_i32 old = {0};
    if (add)
        memcpy(&old, c, sizeof old);
    sum = (quad_i32)((quad_u32)sum + (quad_u32)old);
    memcpy(c, &sum, sizeof sum);
}

static inline void mma_put_i32(uint32_t *c, int64_t ldc, mma_sum_i32 x, mma_sum_i32 y, bool add)
{
    mma_put_row_i32(c, SIMD_SHUFFLE(quad_i32, x, y, 0, 1, 4, 5), add);
    mma_put_row_i32(c + ldc, SIMD_SHUFFLE(quad_i32, x, y, 2, 3, 6, 7), add);
}

/* Rows r ... r + 4 of the points s[], whose rows are contiguous: the points of a row become adjacent. */
static inline void mma_weave_bf16(uint16_t *to, const uint16_t *const *s, int64_t r)
{
    typedef uint16_t eight __attribute__((vector_size(16)));
    const eight x = (eight)vcombine_u16(vld1_u16(s[0] + r), vld1_u16(s[1] + r));
    const eight y = (eight)vcombine_u16(vld1_u16(s[2] + r), vld1_u16(s[3] + r));
    const eight low = SIMD_SHUFFLE(eight, x, y, 0, 4, 8, 12, 1, 5, 9, 13);
    const eight high = SIMD_SHUFFLE(eight, x, y, 2, 6, 10, 14, 3, 7, 11, 15);
    memcpy(to, &low, sizeof low);
    memcpy(to + 8, &high, sizeof high);
}

static inline void mma_weave_i8(uint8_t *to, const uint8_t *const *s, int64_t r)
{
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    sixteen x, y;
    for (int g = 0; g < 4; g++) {
        memcpy((char *)&x + 4 * g, s[g] + r, 4);
        memcpy((char *)&y + 4 * g, s[4 + g] + r, 4);
    }
    const sixteen low =
        SIMD_SHUFFLE(sixteen, x, y, 0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const sixteen high =
        SIMD_SHUFFLE(sixteen, x, y, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
    memcpy(to, &low, sizeof low);
    memcpy(to + 16, &high, sizeof high);
}
#else
#define SIMD_MMA 0
#endif

/* ---- sums of products of neighbouring bytes in each lane (gemm_dot.inc) ---- */

typedef uint32_t simd_dot __attribute__((vector_size(SIMD_BYTES)));
typedef simd_dot simd_memory_dot __attribute__((aligned(1), may_alias));

/* SIMD_DOT: the level has such instructions for four bytes. DOT_EMULATED provides their steps in C, for tests: 1 with
 * signed bytes, 2 with unsigned ones of a. SIMD_PAIR: for two 16-bit numbers, as every x86-64 processor does. */
#if defined(DOT_EMULATED)
#define SIMD_DOT 1
#define SIMD_DOT_OFFSET (DOT_EMULATED == 2)
static inline simd_dot simd_dot_step(simd_dot sum, simd_dot b, uint32_t a)
{
    for (size_t i = 0; i < sizeof sum / sizeof sum[0]; i++)
        for (int g = 0; g < 4; g++) {
            const int x = (int)(a >> 8 * g & 0xff);
            sum[i] += (uint32_t)((SIMD_DOT_OFFSET ? x : (int8_t)x) * (int8_t)(b[i] >> 8 * g));
        }
    return sum;
}
#elif defined(__AVX512VNNI__) && !SIMD_LOWEST
#define SIMD_DOT 1
#define SIMD_DOT_OFFSET 1
static inline simd_dot simd_dot_step(simd_dot sum, simd_dot b, uint32_t a)
{
    return (simd_dot)_mm512_dpbusd_epi32((__m512i)sum, _mm512_set1_epi32((int)a), (__m512i)b);
}
#elif defined(__AVXVNNI__) && !SIMD_LOWEST
#define SIMD_DOT 1
#define SIMD_DOT_OFFSET 1
static inline simd_dot simd_dot_step(simd_dot sum, simd_dot b, uint32_t a)
{
    return (simd_dot)_mm256_dpbusd_avx_epi32((__m256i)sum, _mm256_set1_epi32((int)a), (__m256i)b);
}
#elif defined(__ARM_FEATURE_DOTPROD) && !SIMD_MMA && !SIMD_LOWEST
#define SIMD_DOT 1
#define SIMD_DOT_OFFSET 0
static inline simd_dot simd_dot_step(simd_dot sum, simd_dot b, uint32_t a)
{
    return (simd_dot)vdotq_s32((int32x4_t)sum, (int8x16_t)b, vreinterpretq_s8_u32(vdupq_n_u32(a)));
}
#else
#define SIMD_DOT 0
#endif

#if defined(__x86_64__) && !SIMD_DOT
#define SIMD_PAIR 1
#define SIMD_DOT_OFFSET 0
static inline simd_dot simd_dot_step(simd_dot sum, simd_dot b, uint32_t a)
{
#if SIMD_BYTES == 64
    return sum + (simd_dot)_mm512_madd_epi16((__m512i)b, _mm512_set1_epi32((int)a));
#elif SIMD_BYTES == 32
    return sum + (simd_dot)_mm256_madd_epi16((__m256i)b, _mm256_set1_epi32((int)a));
#else
    return sum + (simd_dot)_mm_madd_epi16((__m128i)b, _mm_set1_epi32((int)a));
#endif
}
#else
#define SIMD_PAIR 0
#endif

/* Four rows, starting at the r-th, of four points s[], whose rows are contiguous: the points of a row become adjacent. */
static inline void weave_4_bytes(uint8_t *to, const uint8_t *const *s, int64_t r)
{
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    sixteen x;
    for (int g = 0; g < 4; g++)
        memcpy((char *)&x + 4 * g, s[g] + r, 4);
    x = SIMD_SHUFFLE(sixteen, x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    memcpy(to, &x, sizeof x);
}

#endif
