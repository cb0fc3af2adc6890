/* Factorizations of stacks of matrices: see factor.h. */
#include "engine/backend/cpu/lanes/factor.h"

#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/simd_gemm.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#undef NAME
#if defined(__clang__)
#define FREE_ORDER _Pragma("clang loop vectorize(assume_safety)")
#else
#define FREE_ORDER _Pragma("GCC ivdep")
#endif

#define FN static __attribute__((unused))
#define EACH(i, a, b) FREE_ORDER for (int i = (a); i < (b); i++)
#define GRID(i, a, b, j, c, d) \
    for (int i = (a); i < (b); i++) \
    FREE_ORDER for (int j = (c); j < (d); j++)
#define COLUMNS(l, lanes, i, a, b, j, n) \
    for (int z_ = 0; z_ < (1 + Z) * (lanes) * (n); z_++) \
        w[z_] = 0; \
    for (int i = (a), l = 0; i < (b); i++, l = (l + 1) % (lanes)) \
    FREE_ORDER for (int j = 0; j < (n); j++)
#define LARGEST(n, size) \
    (void)u, (void)w; \
    T most = -1; \
    int most_at = 0; \
    for (int i_ = 0; i_ < (n); i_++) { \
        const T size_ = (size); \
        if (size_ > most) { \
            most = size_; \
            most_at = i_; \
        } \
    } \
    (void)most_at
#define SYNC (void)0
#define FIRST true
#define SIZE(x) ((x) < 0 ? -(x) : (x))

/* x - a * b, rounded once if the level has fma. */
#if defined(__FMA__) || defined(__aarch64__)
#define LESS_F32(x, a, b) __builtin_fmaf(-(a), b, x)
#define LESS_F64(x, a, b) __builtin_fma(-(a), b, x)
#else
#define LESS_F32(x, a, b) ((x) - (a) * (b))
#define LESS_F64(x, a, b) ((x) - (a) * (b))
#endif

#define T float
#define OF(f) f##_f32
#define LESS(x, a, b) LESS_F32(x, a, b)
#define ROOT(x) sqrtf(x)
#define BITS int32_t
#define Z 0
#define NAME(f) f##_f32
#include "engine/backend/cpu/lanes/factor.inc"
#undef Z
#undef NAME
#define Z 1
#define NAME(f) f##_c64
#include "engine/backend/cpu/lanes/factor.inc"
#undef Z
#undef NAME
#undef T
#undef OF
#undef ROOT
#undef BITS
#undef LESS
#define T double
#define OF(f) f##_f64
#define LESS(x, a, b) LESS_F64(x, a, b)
#define ROOT(x) sqrt(x)
#define BITS int64_t
#define Z 0
#define NAME(f) f##_f64
#include "engine/backend/cpu/lanes/factor.inc"
#undef Z
#undef NAME
#define Z 1
#define NAME(f) f##_c128
#include "engine/backend/cpu/lanes/factor.inc"

#define TYPES(kind) \
    { \
        run_##kind##_f32, run_##kind##_f64, run_##kind##_c64, run_##kind##_c128 \
    }
#define DENSE(type, qr, one) \
    { \
        dense_pack_##type, dense_cholesky_##type, dense_right_##type, dense_left_##type, \
            dense_lu_##type, dense_turn_##type, qr, one \
    }
extern const factor_level PART(factor);
const factor_level PART(factor) = {
    {
        [FACTOR_CHOLESKY] = TYPES(cholesky),
        [FACTOR_LU] = TYPES(lu),
        [FACTOR_ORDER] = TYPES(order),
        [FACTOR_QR] = TYPES(qr),
        [FACTOR_SUBSTITUTE] = {run_substitute_f32, run_substitute_f64},
    },
    {DENSE(f32, dense_qr_f32, dense_one_f32), DENSE(f64, dense_qr_f64, dense_one_f64),
     DENSE(c64, NULL, NULL), DENSE(c128, NULL, NULL)}};
