/* Running folds of a chunk; reduce/scan.c states the order. Folds of floats and sums of integers of
 * 4 and 8 bytes run by blocks, in vector registers of the same width on every level. The others do
 * not depend on the order and run element by element. */
#include "engine/backend/cpu/lanes/rows_parts.h"

#include "engine/backend/cpu/lanes/lane_math.h"

enum { SCAN_VECTOR = 16 };

typedef float scan_f32 __attribute__((vector_size(16)));
typedef double scan_f64 __attribute__((vector_size(16)));
typedef uint32_t scan_u32 __attribute__((vector_size(16)));
typedef uint64_t scan_u64 __attribute__((vector_size(16)));

#if defined(__clang__)
#define SCAN_UNROLL _Pragma("unroll")
#else
#define SCAN_UNROLL _Pragma("GCC unroll 16")
#endif

#define TEMPLATE "engine/backend/cpu/lanes/scan_steps.inc"
#include "engine/backend/cpu/lanes/each_int.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

/* Lanes of two registers, numbered from 0: first the lanes of a, then the lanes of b. */
#if defined(__clang__) || __GNUC__ >= 12
#define LANES_4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define LANES_2(a, b, i, j) __builtin_shufflevector(a, b, i, j)
#else
#define LANES_4(a, b, i, j, k, l) __builtin_shuffle(a, b, (scan_u32){i, j, k, l})
#define LANES_2(a, b, i, j) __builtin_shuffle(a, b, (scan_u64){i, j})
#endif

#define PAIR_LEFT(v, none) LANES_4(v, none, 4, 0, 6, 2)
#define QUAD_LEFT(v, none) LANES_4(none, LANES_4(v, v, 1, 1, 1, 1), 0, 1, 4, 5)
#define LAST(v) LANES_4(v, v, 3, 3, 3, 3)
#define EVEN(a, b) LANES_4(a, b, 0, 2, 4, 6)
#define ODD(a, b) LANES_4(a, b, 1, 3, 5, 7)

#define LANE f32
#define T float
#define V scan_f32
#define BITS scan_u32
#include "engine/backend/cpu/lanes/scan_blocks.inc"
#undef LANE
#undef T
#undef V
#undef BITS

#define LANE u32
#define T uint32_t
#define V scan_u32
#include "engine/backend/cpu/lanes/scan_blocks.inc"
#undef LANE
#undef T
#undef V

#undef PAIR_LEFT
#undef QUAD_LEFT
#undef LAST
#undef EVEN
#undef ODD
#define PAIR_LEFT(v, none) LANES_2(v, none, 2, 0)
#define LAST(v) LANES_2(v, v, 1, 1)
#define EVEN(a, b) LANES_2(a, b, 0, 2)
#define ODD(a, b) LANES_2(a, b, 1, 3)

#define LANE f64
#define T double
#define V scan_f64
#define BITS scan_u64
#include "engine/backend/cpu/lanes/scan_blocks.inc"
#undef LANE
#undef T
#undef V
#undef BITS

#define LANE u64
#define T uint64_t
#define V scan_u64
#include "engine/backend/cpu/lanes/scan_blocks.inc"
#undef LANE
#undef T
#undef V

typedef void (*scan_fn)(int op, int64_t n, void *d, const void *a, const void *carry, void *total);
typedef void (*total_fn)(int op, int64_t n, const void *a, void *total);

/* The ways of a dtype's lane. */
typedef struct scan_ways {
    scan_fn scan;
    total_fn total;
} scan_ways;

static const scan_ways steps[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) \
    [IG_##id] = {scan_steps_##lane, total_steps_##lane},
#include "base/dtype.def"
};

static const scan_ways blocks[DTYPE_COUNT] = {
    [IG_F32] = {scan_blocks_f32, total_blocks_f32}, [IG_F64] = {scan_blocks_f64, total_blocks_f64},
    [IG_I32] = {scan_blocks_u32, total_blocks_u32}, [IG_U32] = {scan_blocks_u32, total_blocks_u32},
    [IG_I64] = {scan_blocks_u64, total_blocks_u64}, [IG_U64] = {scan_blocks_u64, total_blocks_u64},
};

static const scan_ways *ways_of(int op, ig_dtype lane)
{
    const bool by_blocks = blocks[lane].scan && (op == OP_sum || dtype_is_float(lane));
    return by_blocks ? &blocks[lane] : &steps[lane];
}

void PART(lane_scan)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *carry,
                     void *total)
{
    ways_of(op, lane)->scan(op, n, d, a, carry, total);
}

void PART(lane_total)(int op, ig_dtype lane, int64_t n, const void *a, void *total)
{
    ways_of(op, lane)->total(op, n, a, total);
}
