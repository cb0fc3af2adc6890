/* The contraction's inner loops for one instruction set: micro-kernels (gemm_tile.inc) for each type
 * of lane and packing (gemm_pack.inc) for each type of element. Built once for each level.
 *
 * A tile is chosen so that its sums, one row of b and the factors of a just fit the registers. */
#include "backend/cpu/gemm.h"

#include "backend/cpu/lanes/half.h"
#include "backend/cpu/lanes/simd.h"

#define GEMM_JOIN(a, b) a##_##b
#define GEMM_NAME(a, b) GEMM_JOIN(a, b)

#define ROWS_4(X) X(0) X(1) X(2) X(3)
#define ROWS_6(X) ROWS_4(X) X(4) X(5)
#define ROWS_8(X) ROWS_6(X) X(6) X(7)
#define ROWS_14(X) ROWS_8(X) X(8) X(9) X(10) X(11) X(12) X(13)

#if defined(__AVX512F__)
#define FLOAT_MR 14
#define FLOAT_NV 2
#define FLOAT_ROWS ROWS_14
#elif defined(__aarch64__)
#define FLOAT_MR 8
#define FLOAT_NV 3
#define FLOAT_ROWS ROWS_8
#else
#define FLOAT_MR 6
#define FLOAT_NV 2
#define FLOAT_ROWS ROWS_6
#endif
#define INT_MR 4
#define INT_NV 2
#define INT_ROWS ROWS_4

/* How many offsets from the first on follow each other by one. n is at least 1. */
static inline int64_t gemm_run(const int64_t *offset, int64_t n)
{
    int64_t i = 1;
    while (i < n && offset[i] == offset[0] + i)
        i++;
    return i;
}

/* ---- floating point: f16 and bf16 are widened by packing ---- */

#define MR FLOAT_MR
#define NV FLOAT_NV
#define ROWS FLOAT_ROWS
#define NR ((int)(NV * SIMD_BYTES / sizeof(LANE)))

#define T f32
#define LANE float
#include "gemm_tile.inc"

#define T f64
#define LANE double
#include "gemm_tile.inc"

#define T f16
#define STORED uint16_t
#define LANE float
#define TO_LANE(x) f16_to_f32(x)
#include "gemm_pack.inc"

#define T bf16
#define STORED uint16_t
#define LANE float
#define TO_LANE(x) bf16_to_f32(x)
#include "gemm_pack.inc"

#define T f32
#define STORED float
#define LANE float
#define TO_LANE(x) (x)
#include "gemm_pack.inc"

#define T f64
#define STORED double
#define LANE double
#define TO_LANE(x) (x)
#include "gemm_pack.inc"

#undef MR
#undef NV
#undef ROWS
#undef NR

/* ---- integers: signed ones wrap as unsigned ones do ---- */

#define MR INT_MR
#define NV INT_NV
#define ROWS INT_ROWS
#define NR ((int)(NV * SIMD_INT_BYTES / sizeof(LANE)))

#define T u8
#define LANE uint8_t
#include "gemm_tile.inc"

#define T u16
#define LANE uint16_t
#include "gemm_tile.inc"

#define T u32
#define LANE uint32_t
#include "gemm_tile.inc"

#define T u64
#define LANE uint64_t
#include "gemm_tile.inc"

#define T u8
#define STORED uint8_t
#define LANE uint8_t
#define TO_LANE(x) (x)
#include "gemm_pack.inc"

#define T u16
#define STORED uint16_t
#define LANE uint16_t
#define TO_LANE(x) (x)
#include "gemm_pack.inc"

#define T u32
#define STORED uint32_t
#define LANE uint32_t
#define TO_LANE(x) (x)
#include "gemm_pack.inc"

#define T u64
#define STORED uint64_t
#define LANE uint64_t
#define TO_LANE(x) (x)
#include "gemm_pack.inc"

/* ---- the level ---- */

#define FLOAT_NR(lane) (int)(FLOAT_NV * SIMD_BYTES / sizeof(lane))
#define INT_NR(lane) (int)(INT_NV * SIMD_INT_BYTES / sizeof(lane))

_Static_assert(FLOAT_NR(float) <= GEMM_WIDTH_MAX && FLOAT_MR <= FLOAT_NR(float), "see gemm.h");
_Static_assert(INT_NR(uint8_t) <= GEMM_WIDTH_MAX && INT_MR <= INT_NR(uint8_t), "see gemm.h");

#define FLOAT_KERNEL(element, lane, type) \
    { \
        FLOAT_MR, FLOAT_NR(type), pack_m_##element, pack_n_##element, tile_##lane \
    }
#define INT_KERNEL(lane, type) \
    { \
        INT_MR, INT_NR(type), pack_m_##lane, pack_n_##lane, tile_##lane \
    }

extern const struct gemm_level GEMM_NAME(gemm, LEVEL);
const struct gemm_level GEMM_NAME(gemm, LEVEL) = {{
    [IG_F16] = FLOAT_KERNEL(f16, f32, float),
    [IG_BF16] = FLOAT_KERNEL(bf16, f32, float),
    [IG_F32] = FLOAT_KERNEL(f32, f32, float),
    [IG_F64] = FLOAT_KERNEL(f64, f64, double),
    [IG_I8] = INT_KERNEL(u8, uint8_t),
    [IG_U8] = INT_KERNEL(u8, uint8_t),
    [IG_I16] = INT_KERNEL(u16, uint16_t),
    [IG_U16] = INT_KERNEL(u16, uint16_t),
    [IG_I32] = INT_KERNEL(u32, uint32_t),
    [IG_U32] = INT_KERNEL(u32, uint32_t),
    [IG_I64] = INT_KERNEL(u64, uint64_t),
    [IG_U64] = INT_KERNEL(u64, uint64_t),
}};
