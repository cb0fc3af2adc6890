/* The contraction's inner loops for one instruction set: micro-kernels (gemm_tile.inc) for each
 * lane type and packing (gemm_pack.inc) for each element type. Built once for each level. A level
 * with matrix instructions (ON_BASE) has only the kernels that use them; isa_level.c takes the
 * others from its base.
 *
 * Tile sizes are chosen so that the sums, one row of b and the factors of a just fit in the
 * registers. */
#include "engine/backend/cpu/lanes/gemm.h"

#include "engine/backend/cpu/lanes/simd_amx.h"
#include "engine/backend/cpu/lanes/simd_gemm.h"
#if defined(__aarch64__)
#include "engine/backend/cpu/lanes/tile_neon.h"
#endif

#include <string.h>

#if !defined(ON_BASE)
#define ON_BASE (SIMD_MMA || SIMD_AMX || SIMD_DOT)
#endif

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
#define FEW_ROWS 8 /* loops for the last rows of a side, which are fewer than FLOAT_MR */
#elif defined(__aarch64__)
#define FLOAT_MR 8
#define FLOAT_NV 3
#define FLOAT_ROWS ROWS_8
#else
#define FLOAT_MR 6
#define FLOAT_NV 2
#define FLOAT_ROWS ROWS_6
#define FEW_ROWS 4
#endif
#ifndef FEW_ROWS
#define FEW_ROWS 0
#endif
#define INT_MR 4
#define INT_NV 2
#define INT_ROWS ROWS_4

/* ---- contiguous offsets ---- */

enum {
    LONG_RUN = 8, /* contiguous points of k that are worth looking for */
    /* Bytes of contiguous rows that are read for each point: some panels. */
    TOGETHER_BYTES = SIMD_BYTES > 16 ? 512 : 192,
    AHEAD_LINES = 4,    /* bytes of a row that are prefetched before packing ... */
    AHEAD_POINTS = 8,   /* ... and points of contiguous rows */
    THIN_BYTES = 16384, /* bytes of sums that stay in the cache in thin products ... */
    THIN_MANY = 96, /* ... if there are this many contiguous rows; else the sums are in registers */
    THIN_ROWS = 4,  /* rows of the thin side that are multiplied together ... */
    THIN_LINES =
        SIMD_BYTES == 64 || SIMD_BY_LANE ? 8 : 4, /* ... and if their sums are in registers */
    THIN_LANES = 16                               /* most such rows if points are contiguous */
};

/* The number of offsets from the first on that are consecutive. n is at least 1. */
static inline int64_t gemm_run(const int64_t *offset, int64_t n)
{
    int64_t i = 1;
    while (i < n && offset[i] == offset[0] + i)
        i++;
    return i;
}

/* The same, rounded down to whole groups unless it reaches the end. */
static inline int64_t gemm_run_of_groups(const int64_t *offset, int64_t n, int64_t group)
{
    const int64_t run = gemm_run(offset, n);
    return run < n ? run / group * group : run;
}

/* The number of such runs in n offsets. */
static inline int64_t gemm_runs(const int64_t *offset, int64_t n)
{
    int64_t runs = 0;
    for (int64_t i = 0; i < n; i += gemm_run(offset + i, n - i))
        runs++;
    return runs;
}

/* True if n offsets, a multiple of `side`, are runs of multiples of `side`. */
static inline bool gemm_is_woven(const int64_t *offset, int64_t n, int64_t side)
{
    for (int64_t i = 0; i < n; i += side)
        if (gemm_run(offset + i, side) < side)
            return false;
    return true;
}

/* True if one of the runs has at least LONG_RUN offsets. */
static inline bool gemm_has_long(const int64_t *offset, int64_t n)
{
    for (int64_t i = 0, run; i < n; i += run)
        if ((run = gemm_run(offset + i, n - i)) >= LONG_RUN)
            return true;
    return false;
}

/* Vector code of packing: copies groups of points unchanged; converts others to f32. */
#define COPY_16(to, s, r) *(quad_memory_f32 *)(to) = quad_of_f32((s)[0] + (r))
#define TURN_4(of, to, width, s, i) \
    quad_turn_f32(to, width, of((s)[0] + (i)), of((s)[1] + (i)), of((s)[2] + (i)), of((s)[3] + (i)))
#define TURN_F32(to, width, s, i) TURN_4(quad_of_f32, to, width, s, i)
#define TURN_F64(to, width, s, i) \
    quad_turn_f64(to, width, quad_of_f64((s)[0] + (i)), quad_of_f64((s)[1] + (i)))
#define TURN_NONE(to, width, s, i) (void)0

/* ---- floating point ---- */

#if !ON_BASE
#define MR FLOAT_MR
#define NV FLOAT_NV
#define ROWS FLOAT_ROWS
#define NR ((int)(NV * SIMD_BYTES / sizeof(LANE)))

#define T f32
#define LANE float
#define GROUP 1
#define AT
#define LESS tile_neon_less_f32
#if defined(__aarch64__)
#define WHOLE tile_neon_f32
#endif
#include "gemm_tile.inc"

#define T f64
#define LANE double
#define GROUP 1
#define AT
#define LESS tile_neon_less_f64
#if defined(__aarch64__)
#define WHOLE tile_neon_f64
#endif
#include "gemm_tile.inc"

#define T f32
#define STORED float
#define LANE float
#define TO_LANE(x) (x)
#define GROUP 1
#define WEAVE_ROWS 4
#define WEAVE COPY_16
#define TURN_SIDE 4
#define TURN TURN_F32
#include "gemm_pack.inc"

#define T f64
#define STORED double
#define LANE double
#define TO_LANE(x) (x)
#define GROUP 1
#define WEAVE_ROWS 2
#define WEAVE COPY_16
#define TURN_SIDE 2
#define TURN TURN_F64
#include "gemm_pack.inc"

/* Widened by packing. */
#define T f16
#define STORED uint16_t
#define LANE float
#define TO_LANE(x) f16_to_f32(x)
#define GROUP 1
#define WEAVE_ROWS 4
#define WEAVE(to, s, r) *(quad_memory_f32 *)(to) = quad_of_f16((s)[0] + (r))
#define TURN_SIDE 4
#define TURN(to, width, s, i) TURN_4(quad_of_f16, to, width, s, i)
#include "gemm_pack.inc"

#define T bf16
#define STORED uint16_t
#define LANE float
#define TO_LANE(x) bf16_to_f32(x)
#define GROUP 1
#define WEAVE_ROWS 4
#define WEAVE(to, s, r) *(quad_memory_f32 *)(to) = quad_of_bf16((s)[0] + (r))
#define TURN_SIDE 4
#define TURN(to, width, s, i) TURN_4(quad_of_bf16, to, width, s, i)
#include "gemm_pack.inc"

#undef MR
#undef NV
#undef ROWS
#undef NR
#endif

/* ---- matrix instructions ---- */

#define MMA_MR 8
#define MMA_NR 12

#if SIMD_MMA
#define MR MMA_MR
#define NR MMA_NR

#define T bf16
#define LANE float
#define GROUP 4
#include "gemm_mma.inc"

#define T i8
#define LANE uint8_t
#define GROUP 8
#include "gemm_mma.inc"

#define T i32
#define LANE uint32_t
#define GROUP 8
#include "gemm_mma.inc"

#define T bf16
#define STORED uint16_t
#define LANE uint16_t
#define TO_LANE(x) (x)
#define GROUP 4
#define WEAVE_ROWS 4
#define WEAVE mma_weave_bf16
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#define T i8
#define STORED uint8_t
#define LANE uint8_t
#define TO_LANE(x) (x)
#define GROUP 8
#define WEAVE_ROWS 4
#define WEAVE mma_weave_i8
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#undef MR
#undef NR
#endif

/* ---- products of neighbouring bytes, or of pairs of numbers that packing widens to 16 bits ---- */

#if (SIMD_DOT || SIMD_PAIR) && !SIMD_AMX
#define MR FLOAT_MR
#define NV FLOAT_NV
#define ROWS FLOAT_ROWS
#define NR ((int)(NV * SIMD_BYTES / sizeof(uint32_t)))

#define T dot
#define GROUP (SIMD_DOT ? 4 : 2)
#include "gemm_dot.inc"

#define T dot
#if SIMD_DOT
#define STORED uint8_t
#define LANE uint8_t
#define TO_LANE(x) (x)
#define GROUP 4
#define WEAVE_ROWS 4
#define WEAVE weave_4_bytes
#define TURN_SIDE 4
#define TURN TURN_F32 /* four bytes are one lane of f32 */
#else
#define STORED int8_t
#define LANE int16_t
#define TO_LANE(x) (int16_t)(x)
#define GROUP 2
#define WIDEN_PAIRS(to, s, r) \
    for (int i_ = 0; i_ < 8; i_++) \
    (to)[i_] = (int16_t)(s)[i_ % 2][(r) + i_ / 2]
#define WEAVE_ROWS 4
#define WEAVE WIDEN_PAIRS
#define TURN_SIDE 1
#define TURN TURN_NONE
#endif
#include "gemm_pack.inc"

/* Rows of in[0], with 128 added to each byte if the instruction takes them as unsigned. The other side has zeros where k is
 * padded. */
static void pack_m_offset(void *to, const void *from, int64_t rows, const int64_t *row, int64_t k,
                          const int64_t *point)
{
    pack_m_dot(to, from, rows, row, k, point);
    uint8_t *bytes = to;
    const int64_t n = SIMD_DOT_OFFSET ? (rows + MR - 1) / MR * MR * ((k + 3) / 4 * 4) : 0;
    for (int64_t i = 0; i < n; i++)
        bytes[i] ^= 0x80;
}

#undef MR
#undef NV
#undef ROWS
#undef NR
#endif

/* ---- AMX: rows of in[0] hold 64 bytes of k together, columns of in[1] 4 ---- */

#define AMX_SIDE 32

#if SIMD_AMX
#define MR AMX_SIDE
#define NR AMX_SIDE

#define T bf16
#define SUM float
#define LANE float
#define UNIT 32
#define STRAIGHT
#include "gemm_amx.inc"

#define T i8
#define SUM int32_t
#define LANE uint8_t
#define UNIT 64
#include "gemm_amx.inc"

#define T i32
#define SUM int32_t
#define LANE uint32_t
#define UNIT 64
#include "gemm_amx.inc"

/* The points of one row, which are not contiguous. */
#define GATHER(to, s, r) \
    for (int g_ = 0; g_ < GROUP; g_++) \
    (to)[g_] = (s)[g_][r]

#define T bf16
#define ONLY_M
#define PACK pack_rows_bf16
#define STORED uint16_t
#define LANE uint16_t
#define TO_LANE(x) (x)
#define GROUP 32
#define WEAVE_ROWS 1
#define WEAVE GATHER
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#define T bf16
#define ONLY_N
#define PACK pack_columns_bf16
#define STORED uint16_t
#define LANE uint16_t
#define TO_LANE(x) (x)
#define GROUP 2
#define UNIT 32
#define WEAVE_ROWS 8
#define WEAVE weave_2_bytes
#if defined(__AVX512BW__)
#define WEAVE_PANEL weave_2_bytes_panel
#endif
#define TURN_SIDE 4
#define TURN TURN_F32 /* two points of bf16 are one lane of f32 */
#include "gemm_pack.inc"

#define T i8
#define ONLY_M
#define PACK pack_rows_i8
#define STORED uint8_t
#define LANE uint8_t
#define TO_LANE(x) (x)
#define GROUP 64
#define WEAVE_ROWS 1
#define WEAVE GATHER
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#define T i8
#define ONLY_N
#define PACK pack_columns_i8
#define STORED uint8_t
#define LANE uint8_t
#define TO_LANE(x) (x)
#define GROUP 4
#define UNIT 64
#define WEAVE_ROWS 1
#define WEAVE GATHER
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#undef GATHER
#undef MR
#undef NR
#endif

/* ---- thin products ---- */

#if !ON_BASE
#define T f32
#define V f32
#define STORED float
#define LANE float
#define TO_LANE(x) (x)
#include "gemm_thin.inc"

#define T f64
#define V f64
#define STORED double
#define LANE double
#define TO_LANE(x) (x)
#include "gemm_thin.inc"

#define T f16
#define V f32
#define STORED uint16_t
#define LANE float
#define TO_LANE(x) f16_to_f32(x)
#include "gemm_thin.inc"

#define T bf16
#define V f32
#define STORED uint16_t
#define LANE float
#define TO_LANE(x) bf16_to_f32(x)
#define PAIRS
#include "gemm_thin.inc"

#define T f32
#define LANE float
#include "gemm_thin_packed.inc"

#define T f64
#define LANE double
#include "gemm_thin_packed.inc"
#endif

#if SIMD_MMA
#include "gemm_thin_bf16.inc"
#endif

/* ---- integers: signed ones wrap like unsigned ones ---- */

#if !ON_BASE
#define MR INT_MR
#define NV INT_NV
#define ROWS INT_ROWS
#define NR ((int)(NV * SIMD_INT_BYTES / sizeof(LANE)))

#define T u8
#define LANE uint8_t
#define GROUP 1
#include "gemm_tile.inc"

#define T u8
#define STORED uint8_t
#define LANE uint8_t
#define TO_LANE(x) (x)
#define GROUP 1
#define WEAVE_ROWS 16
#define WEAVE COPY_16
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#define T u16
#define LANE uint16_t
#define GROUP 1
#include "gemm_tile.inc"

#define T u16
#define STORED uint16_t
#define LANE uint16_t
#define TO_LANE(x) (x)
#define GROUP 1
#define WEAVE_ROWS 8
#define WEAVE COPY_16
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"

#define T u32
#define LANE uint32_t
#define GROUP 1
#include "gemm_tile.inc"

#define T u32
#define STORED uint32_t
#define LANE uint32_t
#define TO_LANE(x) (x)
#define GROUP 1
#define WEAVE_ROWS 4
#define WEAVE COPY_16
#define TURN_SIDE 4
#define TURN TURN_F32
#include "gemm_pack.inc"

#if !SIMD_PAIR
/* Bytes whose sums are i32: packing widens them. */
#define WIDEN_4(to, s, r) \
    for (int i_ = 0; i_ < 4; i_++) \
    (to)[i_] = (uint32_t)(s)[0][(r) + i_]
#define T i32
#define STORED int8_t
#define LANE uint32_t
#define TO_LANE(x) (uint32_t)(x)
#define GROUP 1
#define WEAVE_ROWS 4
#define WEAVE WIDEN_4
#define TURN_SIDE 1
#define TURN TURN_NONE
#include "gemm_pack.inc"
#undef WIDEN_4
#endif

#define T u64
#define LANE uint64_t
#define GROUP 1
#include "gemm_tile.inc"

#define T u64
#define STORED uint64_t
#define LANE uint64_t
#define TO_LANE(x) (x)
#define GROUP 1
#define WEAVE_ROWS 2
#define WEAVE COPY_16
#define TURN_SIDE 2
#define TURN TURN_F64
#include "gemm_pack.inc"
#endif

/* ---- the level ---- */

#define FLOAT_NR(lane) (int)(FLOAT_NV * SIMD_BYTES / sizeof(lane))
#define INT_NR(lane) (int)(INT_NV * SIMD_INT_BYTES / sizeof(lane))

_Static_assert(FLOAT_NR(float) <= GEMM_WIDTH_MAX && FLOAT_MR <= FLOAT_NR(float), "see gemm.h");
_Static_assert(INT_NR(uint8_t) <= GEMM_WIDTH_MAX && INT_MR <= INT_NR(uint8_t), "see gemm.h");

#define FLOAT_KERNEL(element, lane, type) \
    { \
        FLOAT_MR, FLOAT_NR(type), FLOAT_NR(type) / FLOAT_NV, 1, sizeof(type), PRODUCT_K, \
            pack_m_##element, pack_n_##element, tile_##lane, tile_at_##lane, FEW_ROWS, \
            gather_##element, thin_##element, 6, 8, thin_packed_##lane, dots_##element, NULL, \
            NULL, tile_less_##lane \
    }
#define INT_KERNEL(element, lane, type) \
    { \
        INT_MR, INT_NR(type), INT_NR(type), 1, sizeof(type), PRODUCT_K, pack_m_##element, \
            pack_n_##element, tile_##lane, NULL, 0, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL \
    }
#define GROUP_KERNEL(mr, nr, group, bytes, kc, element, gather, thin, ...) \
    { \
        mr, nr, nr, group, bytes, kc, pack_m_##element, pack_n_##element, tile_##element, \
            TILE_AT(element), GROUP_FEW_ROWS, gather, thin, 3, 4, NULL, NULL, __VA_ARGS__, NULL \
    }

#if ON_BASE
#define pack_m_i32 pack_m_i8
#define pack_n_i32 pack_n_i8
#endif

#define DOT_KERNEL \
    { \
        FLOAT_MR, FLOAT_NR(uint32_t), FLOAT_NR(uint32_t), SIMD_DOT ? 4 : 2, SIMD_DOT ? 1 : 2, \
            GEMM_KC_MOST, pack_m_offset, pack_n_dot, tile_dot, NULL, 0, NULL, NULL, 0, 0, NULL, \
            NULL, NULL, NULL, NULL \
    }

#if SIMD_MMA
#define GROUP_FEW_ROWS 4
#define TILE_AT(element) tile_at_##element
#else
#define GROUP_FEW_ROWS 0
#define TILE_AT(element) NULL
#endif

#if SIMD_MMA
#define BF16_KERNEL \
    GROUP_KERNEL(MMA_MR, MMA_NR, 4, 2, 2 * PRODUCT_K, bf16, gather_bf16, thin_bf16, NULL, NULL)
#define BYTE_KERNEL GROUP_KERNEL(MMA_MR, MMA_NR, 8, 1, 4 * PRODUCT_K, i8, NULL, NULL, NULL, NULL)
#define WIDE_KERNEL GROUP_KERNEL(MMA_MR, MMA_NR, 8, 1, 4 * PRODUCT_K, i32, NULL, NULL, NULL, NULL)
#elif SIMD_AMX
#define BF16_KERNEL \
    GROUP_KERNEL(AMX_SIDE, AMX_SIDE, 32, 2, 4 * PRODUCT_K, bf16, NULL, NULL, tile_rows_bf16, \
                 panels_bf16)
#define BYTE_KERNEL \
    GROUP_KERNEL(AMX_SIDE, AMX_SIDE, 64, 1, 4 * PRODUCT_K, i8, NULL, NULL, NULL, NULL)
#define WIDE_KERNEL \
    GROUP_KERNEL(AMX_SIDE, AMX_SIDE, 64, 1, 4 * PRODUCT_K, i32, NULL, NULL, NULL, NULL)
#elif SIMD_DOT
#define WIDE_KERNEL DOT_KERNEL
#else
#define BF16_KERNEL FLOAT_KERNEL(bf16, f32, float)
#define BYTE_KERNEL INT_KERNEL(u8, u8, uint8_t)
#if SIMD_PAIR
#define WIDE_KERNEL DOT_KERNEL
#else
#define WIDE_KERNEL INT_KERNEL(i32, u32, uint32_t)
#endif
#endif

#if SIMD_AMX
#define READY amx_ready
#else
#define READY NULL
#endif

extern const struct gemm_level GEMM_NAME(gemm, LEVEL);
/* clang-format off */
const struct gemm_level GEMM_NAME(gemm, LEVEL) = {
    .ready = READY,
    .i8_to_i32 = WIDE_KERNEL,
    .of = {
#if defined(BF16_KERNEL)
        [IG_BF16] = BF16_KERNEL,
        [IG_I8] = BYTE_KERNEL,
        [IG_U8] = BYTE_KERNEL,
#endif
#if !ON_BASE
        [IG_F16] = FLOAT_KERNEL(f16, f32, float),
        [IG_F32] = FLOAT_KERNEL(f32, f32, float),
        [IG_F64] = FLOAT_KERNEL(f64, f64, double),
        [IG_I16] = INT_KERNEL(u16, u16, uint16_t),
        [IG_U16] = INT_KERNEL(u16, u16, uint16_t),
        [IG_I32] = INT_KERNEL(u32, u32, uint32_t),
        [IG_U32] = INT_KERNEL(u32, u32, uint32_t),
        [IG_I64] = INT_KERNEL(u64, u64, uint64_t),
        [IG_U64] = INT_KERNEL(u64, u64, uint64_t),
#endif
    },
};
/* clang-format on */
