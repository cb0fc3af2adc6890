/* Shared declarations of lanes/: each file is built once for each level and provides a part of the
 * level's table (lanes.c) under a name that ends in the level's. */
#ifndef LANES_PARTS_H
#define LANES_PARTS_H

/* Rows that cannot be vectorized are left as they are. clang looks up a location by its file's
 * first inclusion, so this comes before all of them. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "engine/backend/cpu/cpu.h"

#include <string.h>

/* The ids of the rows that lanes compute. They are the first of the op table, so they have the numbers of
 * ops/op_id.h. */
enum {
#define OP(name, class, signature, doc, ...) OP_##name,
#include "engine/ops/rows/elementwise.def"
    LANE_ROWS
};

#define PART_JOIN(name, level) name##_##level
#define PART_NAME(name, level) PART_JOIN(name, level)
#define PART(name) PART_NAME(name, LEVEL)

/* A part of the level that computes integers, conversions, scans and lane code for this level, too (LEVEL_PLAIN_* of
 * the Makefile). Wider registers do not make these loops faster: memory limits them. */
#if !defined(PLAIN_LEVEL)
#define PLAIN_LEVEL LEVEL
#endif
#define PLAIN_PART(name) PART_NAME(name, PLAIN_LEVEL)

/* The same for a function that a template defines once for each lane type. */
#define NAME(name) PART_NAME(name, LANE)

/* Before a loop over lanes: point i of the result depends on no other point, even if the result
 * overwrites an input. */
#if defined(__clang__)
#define LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define LANE_LOOP _Pragma("GCC ivdep")
#else
#define LANE_LOOP
#endif

#define MAP_LOOP_ARGS int64_t n, void *d, const void *a, const void *b, const void *c

/* The folds of one lane type (fold.inc); choices are the loops of `where` by MAP_ONE_B and MAP_ONE_C. */
typedef struct lane_folds {
    const map_loop *choices;
    void (*identity)(int op, int64_t n, void *d);
    void (*join)(int op, int64_t n, void *d, const void *a, const void *b);
    void (*join_rows)(int op, int64_t n, void *d, const void *a, int64_t step);
    void (*fold)(int op, int64_t rows, int64_t len, void *d, const void *a);
    void (*fold_two)(int op, void *d, const void *a, void *d_2, const void *a_2);
    int64_t (*extreme)(int op, int64_t n, const void *a, void *best, bool first);
} lane_folds;

#define LANE_FOLDS(lane) \
    { \
        choices_##lane, identity_##lane, join_##lane, join_rows_##lane, fold_##lane, \
            fold_two_##lane, extreme_##lane \
    }
enum { BESIDE = 16 }; /* short rows that are folded together */

/* The contracts are the same as for cpu_level's members; lane is the dtype of a lane. */
map_loop PART(lane_loop_float)(int op, ig_dtype lane, int one);
map_loop PLAIN_PART(lane_loop_int)(int op, ig_dtype lane, int one);
/* The folds of an integer lane. */
const lane_folds *PLAIN_PART(lane_folds_int)(ig_dtype lane);
run_loop PART(lane_run)(int rows, int code, ig_dtype lane);
map_loop PART(lane_pair)(int first, int second, ig_dtype lane, int one);
void PLAIN_PART(lane_series)(int64_t n, int n_op, const series_op *op);
void PLAIN_PART(lane_convert)(ig_dtype from, ig_dtype to, int64_t n, void *d, int64_t ds,
                              const void *a, int64_t as);
void PLAIN_PART(lane_round)(ig_dtype to, int64_t n, float *d, const float *a);
map_loop PLAIN_PART(lane_half)(int code, ig_dtype dtype);
void PART(lane_unpack)(storage s, int64_t n, float *to, const void *base, int64_t first);
void PART(lane_unpack_at)(storage s, int64_t n, float *to, const void *base, const int64_t *offset);
void PART(lane_bits)(ig_dtype to, const uint32_t *key, int words, int64_t start, int64_t n,
                     void *d);

#endif
