/* kernels/fft.cu and kernels/fft_half.cu on the CPU: groups of lines and rows by the loops of lanes/fft.h. */
#include "engine/backend/cpu/lanes/fft.h"

#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <string.h>

static double real_of(const cpu_kernel_call *c, const char *name)
{
    const void *at = c->at[cpu_call_find(c, name)];
    return cpu_call_dtype(c) == IG_F64 ? *(const double *)at : *(const float *)at;
}

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

ig_status cpu_kernel_fft_lines(const cpu_kernel_call *c)
{
    const fft_level *level = cpu_level_now()->fft;
    const ig_dtype part = cpu_call_dtype(c);
    const bool f64 = part == IG_F64;
    fft_job j = {.n = cpu_call_number(c, "n"),
                 .x = cpu_call_array(c, "x"),
                 .w = cpu_call_array(c, "w"),
                 .turn = cpu_call_number(c, "turns") ? cpu_call_array(c, "turn") : NULL,
                 .y = cpu_call_array(c, "y"),
                 .parts = cpu_call_number(c, "total") / cpu_call_number(c, "lines"),
                 .lines = cpu_call_number(c, "lines"),
                 .in = {cpu_call_number(c, "in_part"), cpu_call_number(c, "in_line"),
                        cpu_call_number(c, "in_point")},
                 .out = {cpu_call_number(c, "out_part"), cpu_call_number(c, "out_line"),
                         cpu_call_number(c, "out_point")},
                 .turns = cpu_call_number(c, "turns"),
                 .scale = real_of(c, "scale"),
                 .backward = cpu_call_number(c, "backward") != 0};
    TRY(scratch_reserve(fft_scratch(j.n)));
    j.passes = fft_radices(j.n, j.radix);
    lines r = {&j, f64 ? level->group_f64 : level->group_f32};
    pool_run(fft_groups(&j, part), run_group, &r);
    return IG_OK;
}

/* ---- rows of half the length, and products with a chirp ---- */

typedef struct row_job {
    const void *x, *w;
    void *y;
    int64_t h;                /* of a row of half the length */
    int64_t n_x, n_y, pieces; /* of a product with a chirp */
    fft_signs signs;
    double scale;
} row_job;

enum { PIECE = 4096 }; /* points of a task */

/* The tasks for one type. */
#define TASKS(TYPE, NAME) \
    static void split_##NAME(void *context, int64_t row, int worker) \
    { \
        const row_job *j = context; \
        (void)worker; \
        cpu_level_now()->fft->split_##NAME(j->h, (const TYPE *)j->x + 2 * row * j->h, j->w, \
                                           (TYPE *)j->y + 2 * row * (j->h + 1), (TYPE)j->scale); \
    } \
    static void merge_##NAME(void *context, int64_t row, int worker) \
    { \
        const row_job *j = context; \
        (void)worker; \
        cpu_level_now()->fft->merge_##NAME(j->h, (const TYPE *)j->x + 2 * row * (j->h + 1), j->w, \
                                           (TYPE *)j->y + 2 * row * j->h); \
    } \
    static void chirp_##NAME(void *context, int64_t task, int worker) \
    { \
        const row_job *j = context; \
        const int64_t row = task / j->pieces, first = task % j->pieces * PIECE; \
        const int64_t end = first + PIECE < j->n_y ? first + PIECE : j->n_y; \
        const int64_t has = j->n_x < first ? first : j->n_x < end ? j->n_x : end; \
        TYPE *y = (TYPE *)j->y + 2 * row * j->n_y; \
        (void)worker; \
        cpu_level_now()->fft->chirp_##NAME( \
            has - first, (const TYPE *)j->x + 2 * (row * j->n_x + first), \
            (const TYPE *)j->w + 2 * first, y + 2 * first, j->signs, (TYPE)j->scale); \
        memset(y + 2 * has, 0, (size_t)(end - has) * 2 * sizeof *y); \
    }
TASKS(float, f32)
TASKS(double, f64)

ig_status cpu_kernel_fft_split(const cpu_kernel_call *c)
{
    row_job j = {.x = cpu_call_array(c, "z"),
                 .w = cpu_call_array(c, "w"),
                 .y = cpu_call_array(c, "y"),
                 .h = cpu_call_number(c, "h"),
                 .scale = real_of(c, "scale")};
    pool_run(cpu_call_number(c, "rows"), cpu_call_dtype(c) == IG_F64 ? split_f64 : split_f32, &j);
    return IG_OK;
}

ig_status cpu_kernel_fft_merge(const cpu_kernel_call *c)
{
    row_job j = {.x = cpu_call_array(c, "y"),
                 .w = cpu_call_array(c, "w"),
                 .y = cpu_call_array(c, "z"),
                 .h = cpu_call_number(c, "h")};
    pool_run(cpu_call_number(c, "rows"), cpu_call_dtype(c) == IG_F64 ? merge_f64 : merge_f32, &j);
    return IG_OK;
}

ig_status cpu_kernel_fft_chirp(const cpu_kernel_call *c)
{
    row_job j = {.x = cpu_call_array(c, "x"),
                 .w = cpu_call_array(c, "w"),
                 .y = cpu_call_array(c, "y"),
                 .n_x = cpu_call_number(c, "n_x"),
                 .n_y = cpu_call_number(c, "n_y"),
                 .signs = {(int)real_of(c, "in"), (int)real_of(c, "out")},
                 .scale = real_of(c, "scale")};
    j.pieces = (j.n_y + PIECE - 1) / PIECE;
    pool_run(cpu_call_number(c, "rows") * j.pieces,
             cpu_call_dtype(c) == IG_F64 ? chirp_f64 : chirp_f32, &j);
    return IG_OK;
}
