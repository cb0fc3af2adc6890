/* The elementwise rows in floating point lanes. */
#include "engine/backend/cpu/lanes/lane_math.h"
#if defined(__aarch64__)
#include "engine/backend/cpu/lanes/exp_neon.h"
#endif

#define UNROLLED SIMD_UNROLL_4
#define TEMPLATE "engine/backend/cpu/lanes/map.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
enum { PIECE = 1024 }; /* elements that are examined before a path is chosen for them */

/* exp(a - y) of a prefix of n elements, if these differences and some more are in the near path; d is not a. Returns
 * how many were computed. */
#if defined(__aarch64__)
static int64_t exp_quickly_f32(int64_t n, float *d, const float *a, float y)
{
    const int64_t groups = n < EXP_MORE ? 0 : (n - EXP_MORE) / EXP_GROUP;
    float ys[EXP_MORE], range[8] = {0};
    bool near = true;
    if (groups == 0 || d == a)
        return 0;
    for (int i = 0; i < EXP_MORE; i++)
        ys[i] = y;
    exp_neon_range(groups, d, a, ys, range);
    for (int i = 0; i < 8; i++)
        near &= fabsf(range[i]) <= vm_exp_reach_f32;
    return near ? groups * EXP_GROUP : 0;
}
#else
static int64_t exp_quickly_f32(int64_t n, float *d, const float *a, float y)
{
    return (void)n, (void)d, (void)a, (void)y, 0;
}
#endif
static int64_t exp_quickly_f64(int64_t n, double *d, const double *a, double y)
{
    return (void)n, (void)d, (void)a, (void)y, 0;
}

#define TEMPLATE "engine/backend/cpu/lanes/pass.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "engine/backend/cpu/lanes/extreme.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE
#define TEMPLATE "engine/backend/cpu/lanes/far.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

/* The runs that have a loop: runs of two rows, and longer ones that occur in practice. Each longer run
 * begins with a run of two rows. A row's name ends in 1 if its other operand is one value. */
enum {
    ROW_add = RUN_ADD,
    ROW_sub = RUN_SUBTRACT,
    ROW_from = RUN_FROM,
    ROW_mul = RUN_MULTIPLY,
    ROW_add1 = RUN_ADD | RUN_ONE,
    ROW_sub1 = RUN_SUBTRACT | RUN_ONE,
    ROW_from1 = RUN_FROM | RUN_ONE,
    ROW_mul1 = RUN_MULTIPLY | RUN_ONE,
    ROW_max1 = RUN_MAXIMUM | RUN_ONE,
    ROW_min1 = RUN_MINIMUM | RUN_ONE
};
#define RUN_2(X, a, b) X(a##_##b, 2, ROW_##a | ROW_##b << RUN_BITS)
#define RUN_3(X, a, b, c) \
    X(a##_##b##_##c, 3, ROW_##a | ROW_##b << RUN_BITS | ROW_##c << 2 * RUN_BITS)
#define RUN_4(X, a, b, c, d) \
    X(a##_##b##_##c##_##d, 4, \
      ROW_##a | ROW_##b << RUN_BITS | ROW_##c << 2 * RUN_BITS | ROW_##d << 3 * RUN_BITS)
#define RUNS_BEHIND(X, a) \
    RUN_2(X, a, add) \
    RUN_2(X, a, sub) \
    RUN_2(X, a, from) \
    RUN_2(X, a, mul) RUN_2(X, a, add1) RUN_2(X, a, sub1) RUN_2(X, a, from1) RUN_2(X, a, mul1)
#define RUNS_OF_TWO(X) \
    RUNS_BEHIND(X, add) \
    RUNS_BEHIND(X, sub) \
    RUNS_BEHIND(X, mul) \
    RUNS_BEHIND(X, add1) \
    RUNS_BEHIND(X, sub1) \
    RUNS_BEHIND(X, from1) \
    RUNS_BEHIND(X, mul1) \
    RUN_2(X, add, max1) RUN_2(X, add1, max1) RUN_2(X, sub1, max1) RUN_2(X, max1, min1)
/* Norms with their weights, by rows (layer_norm), planes and columns (batch_norm); interpolation;
 * means of squares (a square is a product that begins a run); biases, residual sums and activations
 * after convolutions. */
#define RUNS_OF_MORE(X) \
    RUN_3(X, sub1, mul1, mul) \
    RUN_3(X, sub1, mul1, mul1) \
    RUN_3(X, sub, mul, mul) \
    RUN_3(X, sub1, mul1, add) \
    RUN_3(X, sub1, mul1, add1) \
    RUN_3(X, sub, mul, add) \
    RUN_3(X, sub, mul1, add) \
    RUN_3(X, mul1, mul, add) \
    RUN_3(X, mul, mul1, add) \
    RUN_3(X, add1, max1, min1) \
    RUN_3(X, sub1, max1, min1) \
    RUN_3(X, add1, add, max1) \
    RUN_3(X, sub1, add, max1) \
    RUN_4(X, sub1, mul1, mul, add) RUN_4(X, sub1, mul1, mul1, add1) RUN_4(X, sub, mul, mul, add)
typedef struct long_run {
    int rows, code;
    run_loop loop;
} long_run;
#define TEMPLATE "engine/backend/cpu/lanes/run.inc"
#include "engine/backend/cpu/lanes/each_float.inc"
#undef TEMPLATE

run_loop PART(lane_run)(int rows, int code, ig_dtype lane)
{
    if (lane != IG_F32 && lane != IG_F64)
        return NULL;
    if (rows == 2)
        return (lane == IG_F64 ? runs_of_two_f64 : runs_of_two_f32)[code];
    const long_run *more = lane == IG_F64 ? runs_of_more_f64 : runs_of_more_f32;
    for (size_t i = 0; i < sizeof runs_of_more_f32 / sizeof *runs_of_more_f32; i++)
        if (more[i].rows == rows && more[i].code == code)
            return more[i].loop;
    return NULL;
}

map_loop PART(lane_pair)(int first, int second, ig_dtype lane, int one)
{
    const bool is_ours = first == OP_subtract && second == OP_exp && one == MAP_ONE_B;
    return !is_ours         ? NULL
           : lane == IG_F32 ? subtract_exp_f32
           : lane == IG_F64 ? subtract_exp_f64
                            : NULL;
}

map_loop PART(lane_loop_float)(int op, ig_dtype lane, int one)
{
    const map_loop special = (lane == IG_F64 ? special_f64 : special_f32)[op][one];
    return special ? special : (lane == IG_F64 ? row_loops_f64 : row_loops_f32)[op][one];
}
