/* Folds of small windows that slide over planes. A point of all windows in a row is a run of elements, so windows are
 * folded side by side: each step joins two runs. The order is the same as in every fold (reduce.c): a window has at most
 * FOLD_LANES points, so each point is a lane, and lanes are joined by halving. */
#include "engine/backend/cpu/reduce/pool.h"

#include "base/threads.h"

enum {
    BAND = 1024,            /* windows of a band ... */
    TOGETHER = 1024,        /* ... and of small planes that go through the epilogue together */
    SCRATCH_MOST = 1 << 19, /* bytes */
    TASK_LEAST = 1 << 14    /* points of a task */
};

/* ---- the plan ---- */

/* The runs that the first joins make: point i with point i + half, for i < joins. */
static int64_t first_half(int64_t n)
{
    int64_t half = FOLD_LANES / 2;
    while (half >= n)
        half /= 2;
    return half;
}

/* Runs of a band that wait to be joined. */
static int64_t waiting(const pool_plan *q)
{
    const int64_t half = first_half(q->n_k);
    return half > 1 ? half : 1;
}

static int64_t run_bytes(const pool_plan *q)
{
    const sliding *s = &q->windows;
    return ((s->flat ? s->band * s->pitch : s->width) * q->lane + SLIDING_SLACK + 63) / 64 * 64;
}

static int64_t dealt_bytes(const pool_plan *q)
{
    return (sliding_bytes(&q->windows, q->lane) + 63) / 64 * 64;
}

static int64_t core_bytes(const pool_plan *q)
{
    const sliding *s = &q->windows;
    return (q->together * s->band * s->width * q->lane + SLIDING_SLACK + 63) / 64 * 64;
}

size_t pool_scratch(const pool_plan *q, const program *p)
{
    return (size_t)(core_bytes(q) + dealt_bytes(q) + waiting(q) * run_bytes(q)) +
           tape_scratch_bytes(&p->post);
}

/* Splits the windows' axes into planes, and rows and columns. */
static void split(const axis_group *all, axis_group *planes, axis_group *rows)
{
    const int first = all->ndim > 2 ? all->ndim - 2 : 0;
    *planes = (axis_group){.ndim = first};
    *rows = (axis_group){.ndim = all->ndim - first};
    for (int d = 0; d < all->ndim; d++) {
        axis_group *to = d < first ? planes : rows;
        to->shape[d < first ? d : d - first] = all->shape[d];
        to->stride[d < first ? d : d - first] = all->stride[d];
    }
}

void pool_choose(pool_plan *q, const program *p, int axis)
{
    const view *v = &p->pre.operand[0].v;
    axis_group all, rows;
    sliding *s = &q->windows;
    axis_group_set(&all, v, 0, axis);
    axis_group_set(&q->k, v, axis, v->ndim - axis);
    split(&all, &q->planes, &rows);
    if (p->inner < 2 || p->inner > FOLD_LANES || !sliding_set(s, &rows, &q->k) ||
        s->elements > 2 * s->height * s->width * p->inner)
        return;
    q->lane = (int64_t)ig_dtype_bytes(p->dtype);
    q->n_k = p->inner;
    q->n_plane = p->outer / (s->height * s->width);
    sliding_cut(s, BAND, q->lane);
    const int64_t plane = s->height * s->width;
    q->together = s->bands > 1 || plane > TOGETHER ? 1 : TOGETHER / plane;
    q->on = pool_scratch(q, p) <= SCRATCH_MOST;
}

/* ---- a worker ---- */

typedef struct pool_job {
    const pool_plan *q;
    const program *p;
    const binding *b;
    cpu_fault *fault;
    const cpu_level *level;
    int64_t tasks;
} pool_job;

typedef struct pool_worker {
    tape_run post;
    char *core, *dealt, *runs;
    int64_t point[FOLD_LANES];
} pool_worker;

static void worker_start(pool_worker *w, const pool_job *j, char *scratch)
{
    const pool_plan *q = j->q;
    w->core = scratch;
    w->dealt = w->core + core_bytes(q);
    w->runs = w->dealt + dealt_bytes(q);
    tape_start(&w->post, &j->p->post, j->b, j->fault, w->runs + waiting(q) * run_bytes(q));
    sliding_points(&q->windows, &q->k, q->n_k, w->point);
}

/* Folds n windows one element apart, the first at `from`, into w->runs or, if it is not NULL, `to`. */
static void fold_run(const pool_job *j, const pool_worker *w, const char *from, int64_t n, char *to)
{
    const pool_plan *q = j->q;
    const char *lanes[FOLD_LANES];
    for (int64_t i = 0; i < q->n_k; i++)
        lanes[i] = from + w->point[i] * q->lane;
    for (int64_t half = first_half(q->n_k), have = q->n_k; half > 0; have = half, half /= 2)
        for (int64_t i = 0; i < have - half; i++) {
            char *d = half == 1 && to ? to : w->runs + i * run_bytes(q);
            j->level->join(j->p->fold, j->p->dtype, n, d, lanes[i], lanes[i + half]);
            lanes[i] = d;
        }
}

/* Folds rows [first, first + rows) of the windows of a plane. */
static void fold_band(const pool_job *j, const pool_worker *w, int64_t plane, int64_t first,
                      int64_t rows, char *to)
{
    const pool_plan *q = j->q;
    const sliding *s = &q->windows;
    int64_t offset;
    axis_group_offsets(&q->planes, plane, 1, &offset);
    const char *from = operand_host(&j->p->pre.operand[0], j->b);
    from =
        sliding_lines(s, j->p->dtype, from + (offset + first * s->down) * q->lane, rows, w->dealt);
    if (s->flat) {
        fold_run(j, w, from, sliding_run(s, rows), NULL);
        sliding_close(s, rows, q->lane, to, w->runs);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        fold_run(j, w, from + r * s->pitch * q->lane, s->width, to + r * s->width * q->lane);
}

static void finish(const pool_job *j, pool_worker *w, int64_t start, int64_t n)
{
    for (int64_t i = 0; i < n; i += TAPE_BLOCK)
        tape_block(&w->post, start + i, n - i < TAPE_BLOCK ? n - i : TAPE_BLOCK,
                   w->core + i * j->q->lane);
}

/* Some bands, or some planes of one band. */
static void task_run(void *context, int64_t task, int worker)
{
    const pool_job *j = context;
    const pool_plan *q = j->q;
    const sliding *s = &q->windows;
    const int64_t units = q->n_plane * s->bands, plane = s->height * s->width;
    const int64_t end = units * (task + 1) / j->tasks;
    pool_worker w;
    worker_start(&w, j, scratch_of(worker));
    for (int64_t u = units * task / j->tasks, n; u < end; u += n) {
        const int64_t first = u % s->bands * s->band, left = s->height - first;
        const int64_t rows = left < s->band ? left : s->band;
        n = end - u < q->together ? end - u : q->together;
        for (int64_t i = 0; i < n; i++)
            fold_band(j, &w, (u + i) / s->bands, first, rows,
                      w.core + i * rows * s->width * q->lane);
        finish(j, &w, u / s->bands * plane + first * s->width, n * rows * s->width);
    }
}

void pool_fold(const pool_plan *q, const program *p, const binding *b, cpu_fault *fault)
{
    pool_job j = {q, p, b, fault, cpu_level_now(), 1};
    const int64_t units = q->n_plane * q->windows.bands;
    const int64_t most = 4 * (int64_t)pool_threads(), least = p->outer * p->inner / TASK_LEAST + 1;
    j.tasks = most < least ? most : least;
    j.tasks = j.tasks < units ? j.tasks : units;
    pool_run(j.tasks, task_run, &j);
}
