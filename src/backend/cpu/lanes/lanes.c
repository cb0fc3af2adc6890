/* A level: all loops of one instruction set in one table. This file has the folds itself. */
#include "backend/cpu/lanes/lane_math.h"

#define TEMPLATE "backend/cpu/lanes/fold.inc"
#include "backend/cpu/lanes/each_int.inc"
#include "backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

typedef struct lane_loops {
    void (*map)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b);
    void (*choose)(int64_t n, void *d, const uint8_t *c, const void *a, const void *b);
    void (*identity)(int op, int64_t n, void *d);
    void (*join)(int op, int64_t n, void *d, const void *a, const void *b);
    void (*fold)(int op, int64_t rows, int64_t len, void *d, const void *a);
    int64_t (*extreme)(int op, int64_t n, const void *a, void *best, bool first);
} lane_loops;

/* Indexed by any dtype: its lane's loops. */
#define MAP_OF_BOOL PART(lane_map_int)
#define MAP_OF_SIGNED PART(lane_map_int)
#define MAP_OF_UNSIGNED PART(lane_map_int)
#define MAP_OF_FLOAT PART(lane_map_float)
static const lane_loops loops[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) \
    [IG_##id] = {MAP_OF_##kind, choose_##lane, identity_##lane, \
                 join_##lane,   fold_##lane,   extreme_##lane},
#include "array/dtype.def"
};

static const uint8_t arity[OP_COUNT] = {
#define UNARY(name, accepts, result, expr, doc) [OP_##name] = 1,
#define BINARY(name, accepts, result, expr, doc) [OP_##name] = 2,
#include "ops/ops.def"
};

static void lane_map(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b,
                     const void *c)
{
    if (op == OP_where)
        loops[lane].choose(n, d, a, b, c);
    else
        loops[lane].map(op, dtype_lane(lane), n, d, a, arity[op] == 2 ? b : NULL);
}

static void lane_identity(int op, ig_dtype lane, int64_t n, void *d)
{
    loops[lane].identity(op, n, d);
}

static void lane_join(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *b)
{
    loops[lane].join(op, n, d, a, b);
}

static void lane_fold(int op, ig_dtype lane, int64_t rows, int64_t len, void *d, const void *a)
{
    loops[lane].fold(op, rows, len, d, a);
}

static int64_t lane_extreme(int op, ig_dtype lane, int64_t n, const void *a, void *best, bool first)
{
    return loops[lane].extreme(op, n, a, best, first);
}

/* Whether the machine has what this file's flags let the compiler use. */
static bool lane_available(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
#else
    return true;
#endif
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

extern const gemm_level PART(gemm);
extern const rows_level PART(rows);
extern const cpu_level PART(cpu_level);
const cpu_level PART(cpu_level) = {
    .name = TEXT(LEVEL),
    .available = lane_available,
    .map = lane_map,
    .convert = PART(lane_convert),
    .round = PART(lane_round),
    .bits = PART(lane_bits),
    .identity = lane_identity,
    .join = lane_join,
    .fold = lane_fold,
    .extreme = lane_extreme,
    .gemm = &PART(gemm),
    .rows = &PART(rows),
};
