/* kernels/fft.cu and kernels/fft_half.cu on the CPU: groups of lines and rows by the loops of lanes/fft.h. */
#include "engine/backend/cpu/lanes/fft.h"

#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <string.h>

/* ---- lines ---- */

typedef struct lines {
    const fft_job *job;
    void (*group)(const fft_job *j, int64_t group, void *scratch);
} lines;

static void run_group(void *context, int64_t task, int worker)
{
    const lines *r = context;
    r->group(r->job, task, scratch_of(worker));
}

static fft_places places_at(const cpu_kernel_call *c, int i)
{
    return (fft_places){call_long(c, i), call_long(c, i + 1), call_long(c, i + 2)};
}

ig_status cpu_kernel_fft_lines(const cpu_kernel_call *c)
{
    enum {
        X,
        W,
        TURN,
        Y,
        TOTAL,
        LINES,
        IN,
        OUT = IN + 3,
        TURNS = OUT + 3,
        BACKWARD,
        SCALE,
        POINTS
    };
    const fft_level *level = cpu_level_now()->fft;
    const ig_dtype part = call_dtype(c);
    const bool f64 = part == IG_F64;
    fft_job j = {.n = call_long(c, POINTS),
                 .x = c->at[X],
                 .w = c->at[W],
                 .turn = call_long(c, TURNS) ? c->at[TURN] : NULL,
                 .y = c->at[Y],
                 .parts = call_long(c, TOTAL) / call_long(c, LINES),
                 .lines = call_long(c, LINES),
                 .in = places_at(c, IN),
                 .out = places_at(c, OUT),
                 .turns = call_long(c, TURNS),
                 .scale = f64 ? *(const double *)c->at[SCALE] : *(const float *)c->at[SCALE],
                 .backward = call_int(c, BACKWARD) != 0};
    TRY(scratch_reserve(fft_scratch(j.n)));
    j.passes = fft_radices(j.n, j.radix);
    lines r = {&j, f64 ? level->group_f64 : level->group_f32};
    pool_run(fft_groups(&j, part), run_group, &r);
    return IG_OK;
}

/* ---- rows of half the length, and products with a chirp ---- */

enum { SPLIT_Z, SPLIT_W, SPLIT_Y, SPLIT_ROWS, SPLIT_H, SPLIT_SCALE };
enum { MERGE_Y, MERGE_W, MERGE_Z, MERGE_ROWS, MERGE_H };
enum {
    CHIRP_X,
    CHIRP_W,
    CHIRP_Y,
    CHIRP_ROWS,
    CHIRP_N_X,
    CHIRP_N_Y,
    CHIRP_IN,
    CHIRP_OUT,
    CHIRP_SCALE
};
enum { PIECE = 4096 }; /* points of a task */

static int64_t pieces_of(const cpu_kernel_call *c)
{
    return (call_long(c, CHIRP_N_Y) + PIECE - 1) / PIECE;
}

/* The tasks for one type. */
#define TASKS(TYPE, NAME) \
    static void split_##NAME(void *context, int64_t row, int worker) \
    { \
        const cpu_kernel_call *c = context; \
        const int64_t h = call_long(c, SPLIT_H); \
        (void)worker; \
        cpu_level_now()->fft->split_##NAME( \
            h, (const TYPE *)c->at[SPLIT_Z] + 2 * row * h, c->at[SPLIT_W], \
            (TYPE *)c->at[SPLIT_Y] + 2 * row * (h + 1), *(const TYPE *)c->at[SPLIT_SCALE]); \
    } \
    static void merge_##NAME(void *context, int64_t row, int worker) \
    { \
        const cpu_kernel_call *c = context; \
        const int64_t h = call_long(c, MERGE_H); \
        (void)worker; \
        cpu_level_now()->fft->merge_##NAME(h, (const TYPE *)c->at[MERGE_Y] + 2 * row * (h + 1), \
                                           c->at[MERGE_W], (TYPE *)c->at[MERGE_Z] + 2 * row * h); \
    } \
    static void chirp_##NAME(void *context, int64_t task, int worker) \
    { \
        const cpu_kernel_call *c = context; \
        const int64_t pieces = pieces_of(c), row = task / pieces, first = task % pieces * PIECE; \
        const int64_t n_x = call_long(c, CHIRP_N_X), n_y = call_long(c, CHIRP_N_Y); \
        const int64_t end = first + PIECE < n_y ? first + PIECE : n_y; \
        const int64_t has = n_x < first ? first : n_x < end ? n_x : end; \
        TYPE *y = (TYPE *)c->at[CHIRP_Y] + 2 * row * n_y; \
        const fft_signs signs = {(int)*(const TYPE *)c->at[CHIRP_IN], \
                                 (int)*(const TYPE *)c->at[CHIRP_OUT]}; \
        (void)worker; \
        cpu_level_now()->fft->chirp_##NAME( \
            has - first, (const TYPE *)c->at[CHIRP_X] + 2 * (row * n_x + first), \
            (const TYPE *)c->at[CHIRP_W] + 2 * first, y + 2 * first, signs, \
            *(const TYPE *)c->at[CHIRP_SCALE]); \
        memset(y + 2 * has, 0, (size_t)(end - has) * 2 * sizeof *y); \
    }
TASKS(float, f32)
TASKS(double, f64)

ig_status cpu_kernel_fft_split(const cpu_kernel_call *c)
{
    pool_run(call_long(c, SPLIT_ROWS), call_dtype(c) == IG_F64 ? split_f64 : split_f32, (void *)c);
    return IG_OK;
}

ig_status cpu_kernel_fft_merge(const cpu_kernel_call *c)
{
    pool_run(call_long(c, MERGE_ROWS), call_dtype(c) == IG_F64 ? merge_f64 : merge_f32, (void *)c);
    return IG_OK;
}

ig_status cpu_kernel_fft_chirp(const cpu_kernel_call *c)
{
    pool_run(call_long(c, CHIRP_ROWS) * pieces_of(c),
             call_dtype(c) == IG_F64 ? chirp_f64 : chirp_f32, (void *)c);
    return IG_OK;
}
