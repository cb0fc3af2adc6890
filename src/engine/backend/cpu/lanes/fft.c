/* Fourier transforms of groups of lines: see fft.h. */
#include "engine/backend/cpu/lanes/fft.h"
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd.h"

#if defined(__clang__)
#define FFT_SHUFFLE(mask, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define FFT_SHUFFLE(mask, x, y, ...) __builtin_shuffle(x, y, (mask){__VA_ARGS__})
#endif
/* A level that is compiled for size neither unrolls nor copies functions. */
#if defined(__OPTIMIZE_SIZE__)
#define FFT_UNROLL
#define FFT_FN static inline
#else
#if defined(__clang__)
#define FFT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define FFT_UNROLL _Pragma("GCC unroll 31")
#endif
#define FFT_FN static inline __attribute__((always_inline))
#endif

#define FFT_LOW_2 0, 2
#define FFT_HIGH_2 1, 3
#define FFT_LOW_4 0, 4, 1, 5
#define FFT_HIGH_4 2, 6, 3, 7
#define FFT_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define FFT_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define FFT_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define FFT_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define FFT_EVEN_2 0, 2
#define FFT_ODD_2 1, 3
#define FFT_EVEN_4 0, 2, 4, 6
#define FFT_ODD_4 1, 3, 5, 7
#define FFT_EVEN_8 0, 2, 4, 6, 8, 10, 12, 14
#define FFT_ODD_8 1, 3, 5, 7, 9, 11, 13, 15
#define FFT_EVEN_16 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define FFT_ODD_16 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define FFT_BACK_2 1, 0
#define FFT_BACK_4 3, 2, 1, 0
#define FFT_BACK_8 7, 6, 5, 4, 3, 2, 1, 0
#define FFT_BACK_16 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0

#define FFT_S float
#define FFT_V simd_f32
#define FFT_MEMORY simd_memory_f32
#define FFT_MASK int32_t
#define FFT_NAME(name) name##_f32
#define FFT_GROUP FFT_LANES
#if SIMD_BYTES == 64
#define FFT_SOME(kind) FFT_##kind##_16
#elif SIMD_BYTES == 32
#define FFT_SOME(kind) FFT_##kind##_8
#else
#define FFT_SOME(kind) FFT_##kind##_4
#endif
#include "engine/backend/cpu/lanes/fft.inc"
#undef FFT_SOME
#undef FFT_GROUP
#undef FFT_NAME
#undef FFT_MASK
#undef FFT_MEMORY
#undef FFT_V
#undef FFT_S

#define FFT_S double
#define FFT_V simd_f64
#define FFT_MEMORY simd_memory_f64
#define FFT_MASK int64_t
#define FFT_NAME(name) name##_f64
#define FFT_GROUP (FFT_LANES / 2)
#if SIMD_BYTES == 64
#define FFT_SOME(kind) FFT_##kind##_8
#elif SIMD_BYTES == 32
#define FFT_SOME(kind) FFT_##kind##_4
#else
#define FFT_SOME(kind) FFT_##kind##_2
#endif
#include "engine/backend/cpu/lanes/fft.inc"

extern const fft_level PART(fft);
const fft_level PART(fft) = {.group_f32 = fft_group_f32,
                             .group_f64 = fft_group_f64,
                             .split_f32 = fft_split_f32,
                             .split_f64 = fft_split_f64,
                             .merge_f32 = fft_merge_f32,
                             .merge_f64 = fft_merge_f64,
                             .chirp_f32 = fft_chirp_f32,
                             .chirp_f64 = fft_chirp_f64};
