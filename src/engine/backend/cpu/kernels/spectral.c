/* kernels/svd.cu, eigh.cu, eig.cu, tridiagonal.cu, bidiagonal.cu, divide.cu and divide_svd.cu on the CPU: tasks of the loops of
 * lanes/spectral.h. */
#include "engine/backend/cpu/lanes/spectral.h"

#include "base/integer.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

enum { DIVIDE_REALS = 9, DIVIDE_INTS = 6, DIVIDE_ROUNDS = 4 };

/* The arguments of a kernel: numbers, then arrays. */
typedef struct run {
    const cpu_kernel_call *c;
    const spectral_level *level;
    size_t bytes; /* of an element */
    int64_t planes;
} run;

static run run_of(const cpu_kernel_call *c)
{
    const bool wide = cpu_call_dtype(c) == IG_F64, z = c->complex;
    return (run){c, cpu_level_now()->spectral[wide + 2 * z], wide ? sizeof(double) : sizeof(float),
                 1 + z};
}

static int64_t number_at(const run *r, int i) { return cpu_call_int(r->c, i); }
static void *array_at(const run *r, int i, int64_t elements)
{
    void *at = r->c->at[i];
    return at ? (char *)at + (size_t)elements * r->bytes : NULL;
}

/* ---- whole matrices ---- */

/* Matrices of a task; n is the smaller side. */
static int64_t some_of(int64_t n, int64_t count)
{
    return n <= STACK_ROWS && count >= STACK_LEAST ? STACK_MOST : 1;
}

static void svd_task(void *context, int64_t task, int worker)
{
    const run *r = context;
    const int64_t all = number_at(r, 0), m = number_at(r, 1), n = number_at(r, 2),
                  k = number_at(r, 3), n_w = number_at(r, 4);
    const int64_t some = some_of(n, all), b = task * some, p = b * r->planes;
    (void)worker;
    r->level->svd((int)least(some, all - b), (int)m, (int)n, (int)k, (int)n_w,
                  array_at(r, 5, p * m * n), array_at(r, 6, p * n * n_w), array_at(r, 7, b * n),
                  array_at(r, 8, p * k * m), array_at(r, 9, p * n * n_w),
                  array_at(r, 10, b * (n + m + 2 * k)));
}

static int64_t eigh_room(int64_t n, int64_t sweeps)
{
    return 7 * n + 6 + 2 * sweeps + 2 * sweeps * n;
}

static void eigh_task(void *context, int64_t task, int worker)
{
    const run *r = context;
    const int64_t all = number_at(r, 0), n = number_at(r, 1), sweeps = number_at(r, 3);
    const int64_t some = some_of(n, all), b = task * some, p = b * r->planes * n * n;
    (void)worker;
    r->level->eigh((int)least(some, all - b), (int)n, (int)number_at(r, 2), (int)sweeps,
                   array_at(r, 4, p), array_at(r, 5, p), array_at(r, 6, b * n), array_at(r, 7, p),
                   array_at(r, 8, b * eigh_room(n, sweeps)));
}

static void eig_task(void *context, int64_t b, int worker)
{
    const run *r = context;
    const int64_t n = number_at(r, 1), p = 2 * b * n * n;
    (void)worker;
    r->level->eig((int)n, (int)number_at(r, 2), array_at(r, 3, p), array_at(r, 4, p),
                  array_at(r, 5, p), array_at(r, 6, 2 * b * n), array_at(r, 7, p),
                  array_at(r, 8, 5 * b * n));
}

static ig_status run_matrices(const cpu_kernel_call *c, int64_t some, pool_fn task)
{
    run r = run_of(c);
    pool_run(ceil_div(number_at(&r, 0), some), task, &r);
    return IG_OK;
}

ig_status cpu_kernel_svd(const cpu_kernel_call *c)
{
    return run_matrices(c, some_of(cpu_call_int(c, 2), cpu_call_int(c, 0)), svd_task);
}

ig_status cpu_kernel_eigh(const cpu_kernel_call *c)
{
    return run_matrices(c, some_of(cpu_call_int(c, 1), cpu_call_int(c, 0)), eigh_task);
}

ig_status cpu_kernel_eig(const cpu_kernel_call *c) { return run_matrices(c, 1, eig_task); }

/* ---- panels of large matrices ---- */

typedef struct tridiagonal_tasks {
    panel_call x;
    void (*run)(const panel_call *x, int round, int from_chunk, int to_chunk);
    int round, chunks, each;
} tridiagonal_tasks;

static void run_tridiagonal(void *context, int64_t i, int worker)
{
    const tridiagonal_tasks *t = context;
    const int from = (int)i * t->each, to = from + t->each;
    (void)worker;
    t->run(&t->x, t->round, from, to < t->chunks ? to : t->chunks);
}

ig_status cpu_kernel_tridiagonal(const cpu_kernel_call *c)
{
    const run r = run_of(c);
    const int rounds = cpu_call_int(c, 0), count = cpu_call_int(c, 1), m = cpu_call_int(c, 2);
    const int columns = cpu_call_int(c, 3), chunks = (int)ceil_div(m, PANEL_CHUNK);
    const int64_t room = 3 * (int64_t)m + 2 * columns + 2 * chunks;
    for (int64_t b = 0; b < count; b++) {
        tridiagonal_tasks t = {.x = {.m = m,
                                     .columns = columns,
                                     .a = array_at(&r, 4, b * m * m),
                                     .vw = array_at(&r, 5, b * 3 * columns * m),
                                     .d = array_at(&r, 6, b * columns),
                                     .e = array_at(&r, 7, b * columns),
                                     .room = array_at(&r, 8, b * room)},
                               .run = r.level->panel};
        for (t.round = 0; t.round < rounds; t.round++) {
            const bool products = t.round % 3 == 1;
            t.chunks = products ? (int)ceil_div(m + t.round / 3 * 2, PANEL_CHUNK) : chunks;
            t.each = products ? 1 : t.chunks;
            pool_run(ceil_div(t.chunks, t.each), run_tridiagonal, &t);
        }
    }
    return IG_OK;
}

typedef struct bidiagonal_tasks {
    bidiagonal_call x;
    void (*run)(const bidiagonal_call *x, int round, int from_chunk, int to_chunk);
    int round, chunks, each;
} bidiagonal_tasks;

static void run_bidiagonal(void *context, int64_t i, int worker)
{
    const bidiagonal_tasks *t = context;
    const int from = (int)i * t->each, to = from + t->each;
    (void)worker;
    t->run(&t->x, t->round, from, to < t->chunks ? to : t->chunks);
}

/* Elements of a round. */
static int round_size(const bidiagonal_call *x, int round)
{
    const int j = round / 4, sizes[4] = {x->m, x->n + 2 * j, x->n, x->m + 2 * j + 1};
    return sizes[round % 4];
}

ig_status cpu_kernel_bidiagonal(const cpu_kernel_call *c)
{
    const run r = run_of(c);
    const int rounds = cpu_call_int(c, 0), count = cpu_call_int(c, 1), m = cpu_call_int(c, 2);
    const int n = cpu_call_int(c, 3), columns = cpu_call_int(c, 4);
    const int64_t room = 2 * (int64_t)m + 2 * columns + ceil_div(m, PANEL_CHUNK);
    for (int64_t b = 0; b < count; b++) {
        bidiagonal_tasks t = {.x = {.m = m,
                                    .n = n,
                                    .columns = columns,
                                    .a = array_at(&r, 5, b * m * n),
                                    .at = array_at(&r, 6, b * m * n),
                                    .ux = array_at(&r, 7, b * 2 * columns * m),
                                    .yv = array_at(&r, 8, b * 2 * columns * n),
                                    .d = array_at(&r, 9, b * columns),
                                    .e = array_at(&r, 10, b * columns),
                                    .room = array_at(&r, 11, b * room)},
                              .run = r.level->bidiagonal};
        for (t.round = 0; t.round < rounds; t.round++) {
            t.chunks = (int)ceil_div(round_size(&t.x, t.round), PANEL_CHUNK);
            t.each = t.round % 2 ? 1 : t.chunks;
            pool_run(ceil_div(t.chunks, t.each), run_bidiagonal, &t);
        }
    }
    return IG_OK;
}

/* ---- two parts become one ---- */

typedef struct divide_tasks {
    run r;
    void (*run)(const divide_of *x, int round, int from);
    int round, half, pieces;
} divide_tasks;

static void run_divide(void *context, int64_t i, int worker)
{
    const divide_tasks *t = context;
    const int64_t b = i / t->pieces, k = 2 * t->half, h = t->half;
    const divide_of x = {.half = t->half,
                         .w = array_at(&t->r, 3, b * k),
                         .z1 = array_at(&t->r, 4, b * h),
                         .z2 = array_at(&t->r, 5, b * h),
                         .rho = array_at(&t->r, 6, b),
                         .values = array_at(&t->r, 7, b * k),
                         .s = array_at(&t->r, 8, b * k * k),
                         .room = array_at(&t->r, 9, b * DIVIDE_REALS * k),
                         .plan = (int *)t->r.c->at[10] + b * (DIVIDE_INTS * k + 2)};
    (void)worker;
    t->run(&x, t->round, (int)(i % t->pieces) * DIVIDE_PIECE);
}

ig_status cpu_kernel_divide(const cpu_kernel_call *c)
{
    const int count = cpu_call_int(c, 1);
    divide_tasks t = {.r = run_of(c), .run = run_of(c).level->divide, .half = cpu_call_int(c, 2)};
    for (t.round = 0; t.round < DIVIDE_ROUNDS; t.round++) {
        t.pieces = t.round ? (int)ceil_div(2 * t.half, DIVIDE_PIECE) : 1;
        pool_run((int64_t)count * t.pieces, run_divide, &t);
    }
    return IG_OK;
}

typedef struct divide_svd_tasks {
    run r;
    void (*run)(const divide_svd_of *x, int round, int from);
    int round, half, left, pieces;
} divide_svd_tasks;

static void run_divide_svd(void *context, int64_t i, int worker)
{
    const divide_svd_tasks *t = context;
    const int64_t b = i / t->pieces, k = 2 * t->half, h = t->half;
    const divide_svd_of x = {.half = t->half,
                             .left = t->left,
                             .w = array_at(&t->r, 4, b * k),
                             .z1 = array_at(&t->r, 5, b * h),
                             .z2 = array_at(&t->r, 6, b * h),
                             .link = array_at(&t->r, 7, 2 * b),
                             .values = array_at(&t->r, 8, b * k),
                             .s_right = array_at(&t->r, 9, b * k * k),
                             .s_left = array_at(&t->r, 10, t->left ? b * k * k : 0),
                             .room = array_at(&t->r, 11, b * (DIVIDE_REALS * k + 2)),
                             .plan = (int *)t->r.c->at[12] + b * (DIVIDE_INTS * k + 2)};
    (void)worker;
    t->run(&x, t->round, (int)(i % t->pieces) * DIVIDE_PIECE);
}

ig_status cpu_kernel_divide_svd(const cpu_kernel_call *c)
{
    const int count = cpu_call_int(c, 1);
    divide_svd_tasks t = {.r = run_of(c),
                          .run = run_of(c).level->divide_svd,
                          .half = cpu_call_int(c, 2),
                          .left = cpu_call_int(c, 3)};
    for (t.round = 0; t.round < DIVIDE_ROUNDS; t.round++) {
        t.pieces = t.round ? (int)ceil_div(2 * t.half, DIVIDE_PIECE) : 1;
        pool_run((int64_t)count * t.pieces, run_divide_svd, &t);
    }
    return IG_OK;
}
