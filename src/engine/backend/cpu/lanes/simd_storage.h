/* Some neighbouring bytes as integers of 32 bits, for lanes/storage.c. gcc 12 converts vectors element by element unless
 * elements get twice as wide. */
#ifndef LANES_SIMD_STORAGE_H
#define LANES_SIMD_STORAGE_H

#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Functions that use these vectors are inlined, so the vectors may be wider than registers. */
#pragma GCC diagnostic ignored "-Wpsabi"

enum { SIMD_SOME = 16 };
typedef int32_t simd_ints __attribute__((vector_size(SIMD_SOME * sizeof(int32_t))));
typedef float simd_floats __attribute__((vector_size(SIMD_SOME * sizeof(float))));

#define SIMD_BYTES_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
SIMD_BYTES_INLINE simd_ints simd_unsigned_bytes(const unsigned char *b)
{
    return (simd_ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)b));
}

SIMD_BYTES_INLINE simd_ints simd_signed_bytes(const unsigned char *b)
{
    return (simd_ints)_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)b));
}
#elif defined(__AVX2__)
SIMD_BYTES_INLINE simd_ints simd_unsigned_bytes(const unsigned char *b)
{
    const __m256i half[2] = {_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)b)),
                             _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(b + 8)))};
    simd_ints x;
    memcpy(&x, half, sizeof x);
    return x;
}

SIMD_BYTES_INLINE simd_ints simd_signed_bytes(const unsigned char *b)
{
    const __m256i half[2] = {_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)b)),
                             _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(b + 8)))};
    simd_ints x;
    memcpy(&x, half, sizeof x);
    return x;
}
#else
SIMD_BYTES_INLINE simd_ints simd_unsigned_bytes(const unsigned char *b)
{
    typedef uint8_t bytes __attribute__((vector_size(SIMD_SOME)));
    typedef uint16_t pairs __attribute__((vector_size(SIMD_SOME * sizeof(uint16_t))));
    bytes x;
    memcpy(&x, b, sizeof x);
    return __builtin_convertvector(__builtin_convertvector(x, pairs), simd_ints);
}

SIMD_BYTES_INLINE simd_ints simd_signed_bytes(const unsigned char *b)
{
    typedef int8_t bytes __attribute__((vector_size(SIMD_SOME)));
    typedef int16_t pairs __attribute__((vector_size(SIMD_SOME * sizeof(int16_t))));
    bytes x;
    memcpy(&x, b, sizeof x);
    return __builtin_convertvector(__builtin_convertvector(x, pairs), simd_ints);
}
#endif

/* Elements of a table of 16 signed bytes, eight in each word. The pointer avoids a parameter that is wider than registers,
 * which gcc warns of. */
SIMD_BYTES_INLINE simd_ints simd_lookup(unsigned long long low, unsigned long long high,
                                        const simd_ints *places)
{
    simd_ints x = *places;
#if defined(__AVX512F__)
    const __m512i table = _mm512_cvtepi8_epi32(_mm_set_epi64x((long long)high, (long long)low));
    return (simd_ints)_mm512_permutexvar_epi32((__m512i)x, table);
#else
    for (int i = 0; i < SIMD_SOME; i++)
        x[i] = (int8_t)((x[i] < 8 ? low : high) >> 8 * (x[i] & 7) & 0xff);
    return x;
#endif
}

#endif
