/* REDUCE and ARGREDUCE: folds rows of the pre tape and passes the results to the epilogue.
 *
 * The order of a fold depends on the row's length alone, not on strides, threads or fusion, so its
 * bits do too. A row is cut into chunks of TAPE_BLOCK values. In a chunk, value i goes to lane i %
 * FOLD_LANES, in order, and the lanes are joined by halving: j with j + 16, then 8, 4, 2, 1. The
 * chunks' values are joined pairwise: neighbours that stand for equally many chunks as soon as both
 * are there, the rest from the right. A range of 2^k chunks is a subtree of that, so a long row can
 * be split into tasks.
 *
 * Rows that are not contiguous (a sum over the first axis) are folded side by side: the tape runs
 * over (inner, outer) instead, and each output has its own lanes. */
#include "engine/backend/cpu/cpu.h"
#include "base/integer.h"
#include "engine/backend/cpu/elements/elements.h"
#include "engine/backend/cpu/reduce/pool.h"

#include "base/memory.h"
#include "base/threads.h"
#include "engine/ops/ops.h"

#include <assert.h>
#include <string.h>

enum {
    WIDTH_ACROSS = TAPE_BLOCK, /* outputs that are folded side by side */
    PLAIN_BYTES =
        1 << 14, /* bytes of contiguous values that are read at once, if there are as many */
    PLAIN_LEAST = 1 << 11, /* but not fewer, for more tasks */
    ENOUGH_TASKS = 64,     /* then rows are not split */
    STREAM_FROM = 32,      /* chunks of a range that is read as two streams */
    SHORT_RUN = 16,        /* rows of fewer elements are not read as rows */
    MOST_RANGES = 128      /* most tasks that strips are split into */
};

/* Outputs are computed `width` at a time: a strip. */
typedef struct reduce_plan {
    int64_t width, strips;
    int64_t lane;          /* bytes of a value */
    int64_t group;         /* strips of a task, when rows are whole */
    int64_t chunks;        /* of a row */
    int64_t range, ranges; /* chunks of a task, and tasks of a strip, when rows are split */
    int depth;             /* levels of the pairwise joining */
    bool across;
    bool bare;      /* across: the tape is a single LOAD without conversion ... */
    bool plain;     /* ... of contiguous rows */
    pool_plan pool; /* across, bare: windows are folded where they are */
    tape turned;    /* across: the pre tape over (inner, outer) */
    char *partial;  /* ranges > 1: strip s, range r at (s * ranges + r) * width * lane */
} reduce_plan;

/* ---- planning ---- */

/* The axis of t's space at which the inner part begins; -1 if an axis belongs to both parts. */
static int axis_of_inner(const tape *t, int64_t inner)
{
    int64_t points = 1;
    int axis = t->ndim;
    while (axis > 0 && points < inner)
        points *= t->shape[--axis];
    return points == inner && axis > 0 && axis < t->ndim ? axis : -1;
}

/* 1 if an operand is better walked along the outer part, -1 along the inner: along its contiguous
 * elements, unless these are only a few, as in a window. 0 if either is as good, or if the operand repeats its elements: it
 * is small. */
static int walks_across(const view *v, int axis)
{
    const int last = v->ndim - 1;
    if (v->stride[last] == 0 || v->stride[axis - 1] == 0)
        return 0;
    if (last > axis && v->shape[last] < SHORT_RUN && v->shape[last] < v->shape[axis - 1])
        return 1;
    return (v->stride[axis - 1] == 1) - (v->stride[last] == 1);
}

/* True if most operands are better walked along the outer part. */
static bool lies_across(const tape *t, int axis)
{
    int votes = 0;
    for (int k = 0; k < t->n_inst; k++) {
        const int code = t->inst[k].code;
        const bool walks = code == TAPE_LOAD || code == TAPE_STORE;
        if (!walks && code != TAPE_MAP && code != TAPE_CAST && code != TAPE_ROUND)
            return false; /* it would see another index */
        votes += walks ? walks_across(&t->operand[t->inst[k].operand].v, axis) : 0;
    }
    return votes > 0;
}

/* True if the tape is a single LOAD without conversion. */
static bool is_bare(const tape *t)
{
    return t->n_inst == 1 && t->inst[0].code == TAPE_LOAD && !dtype_is_half(t->operand[0].dtype);
}

/* True if it is, over two axes with contiguous rows. */
static bool is_plain(const tape *t, int axis)
{
    return is_bare(t) && t->ndim == 2 && axis == 1 && t->operand[0].v.stride[0] == 1;
}

/* t over (inner, outer); its operands go to `operands`. */
static void turn(const tape *t, int axis, operand *operands, tape *out)
{
    view *views[64];
    int axes[IG_MAX_NDIM];
    for (int i = 0; i < t->ndim; i++)
        axes[i] = (i + axis) % t->ndim;
    *out = *t;
    out->operand = operands;
    for (int i = 0; i < t->n_operand; i++) {
        operands[i] = t->operand[i];
        view_permute(&t->operand[i].v, axes, &operands[i].v);
        if (i < 64)
            views[i] = &operands[i].v;
    }
    if (t->n_operand <= 64)
        view_collapse(views, t->n_operand);
    out->ndim = operands[0].v.ndim;
    memcpy(out->shape, operands[0].v.shape, sizeof out->shape);
}

/* Splits rows if whole rows would give too few tasks. */
static void plan_ranges(const program *p, reduce_plan *r)
{
    const int64_t cost = tape_cost(&p->pre);
    const int64_t strip_work = r->width * p->inner * cost;
    r->ranges = 1;
    r->range = r->chunks;
    r->group = strip_work < TASK_WORK ? TASK_WORK / strip_work : 1;
    if (r->group > TAPE_BLOCK / r->width)
        r->group = r->width < TAPE_BLOCK ? TAPE_BLOCK / r->width : 1;
    if (p->kind != PROGRAM_REDUCE || ceil_div(r->strips, r->group) >= ENOUGH_TASKS)
        return;
    int64_t range = 1;
    while (range < r->chunks && (range * r->width * TAPE_BLOCK * cost < TASK_WORK ||
                                 ceil_div(r->chunks, range) * r->strips > MOST_RANGES))
        range *= 2;
    if (range < r->chunks) {
        r->range = range;
        r->ranges = ceil_div(r->chunks, range);
    }
}

static int64_t lane_bytes(const program *p)
{
    return (int64_t)ig_dtype_bytes(dtype_lane(p->dtype));
}

/* The width of a strip whose rows are read in place: the largest that leaves enough tasks. */
static int64_t width_plain(const program *p)
{
    const int64_t value = lane_bytes(p), tasks = 2 * pool_threads();
    const int64_t chunks = ceil_div(p->inner, TAPE_BLOCK);
    int64_t width = PLAIN_BYTES / value;
    while (width > PLAIN_LEAST / value && ceil_div(p->outer, width) * chunks < tasks)
        width /= 2;
    return ceil_div(p->outer, ceil_div(p->outer, width));
}

static void plan_strips(const program *p, int axis, reduce_plan *r)
{
    const int64_t together = p->inner < TAPE_BLOCK ? TAPE_BLOCK / p->inner : 1;
    r->across = axis >= 0 && p->kind == PROGRAM_REDUCE && !p->by_rows && lies_across(&p->pre, axis);
    r->bare = r->across && is_bare(&p->pre);
    r->plain = r->across && is_plain(&p->pre, axis);
    r->width = r->plain ? width_plain(p) : r->across ? WIDTH_ACROSS : together;
    if (r->width > p->outer)
        r->width = p->outer;
    r->strips = ceil_div(p->outer, r->width);
    r->chunks = ceil_div(p->inner, TAPE_BLOCK);
    r->depth = 2;
    while ((int64_t)1 << (r->depth - 2) < r->chunks)
        r->depth++;
    plan_ranges(p, r);
    if (r->bare)
        pool_choose(&r->pool, p, axis);
}

void *cpu_reduce_plan(const program *p)
{
    reduce_plan r = {.width = 1, .depth = 2, .group = 1, .ranges = 1};
    r.lane = lane_bytes(p);
    /* One row may be a span, and as long as some axes of pre by chance. */
    const int axis = p->outer > 1 ? axis_of_inner(&p->pre, p->inner) : -1;
    if (p->outer > 0 && p->inner > 0)
        plan_strips(p, axis, &r);
    const size_t operands = r.across ? (size_t)p->pre.n_operand * sizeof(operand) : 0;
    const int64_t partial = r.ranges > 1 ? r.strips * r.ranges * r.width * r.lane : 0;
    const size_t planned = r.across ? tape_plan_bytes(&p->pre) : 0;
    char *block = memory_get(sizeof r + operands + planned + (size_t)partial);
    if (!block)
        return NULL;
    char *rest = block + sizeof r + operands;
    if (r.across) {
        turn(&p->pre, axis, (operand *)(block + sizeof r), &r.turned);
        tape_plan_in(&r.turned, rest);
    }
    r.partial = rest + planned;
    return memcpy(block, &r, sizeof r);
}

/* ---- a worker ---- */

typedef struct reduce_job {
    const program *p;
    const reduce_plan *plan;
    const binding *b;
    const cpu_level *level;
    cpu_fault *fault;
} reduce_job;

typedef struct reduce_worker {
    const reduce_job *j;
    tape_run pre, post;
    char *core;  /* values of up to core_values outputs */
    char *stack; /* depth strips of values that wait to be joined; twice */
    char *lanes; /* across: FOLD_LANES strips */
} reduce_worker;

static size_t strip_bytes(const reduce_plan *r) { return (size_t)(r->width * r->lane); }

/* Values that are passed to the epilogue at a time. */
static int64_t core_values(const reduce_plan *r)
{
    return r->width > TAPE_BLOCK ? r->width : TAPE_BLOCK;
}

/* Bytes of the core: values, or indices. */
static size_t core_bytes(const reduce_plan *r)
{
    const int64_t index = sizeof(int64_t);
    return (size_t)(core_values(r) * (r->lane > index ? r->lane : index));
}

/* Bytes before the tapes' scratch. */
static size_t worker_bytes(const reduce_plan *r)
{
    const size_t lanes = r->across ? FOLD_LANES : 0;
    const size_t bytes = core_bytes(r) + strip_bytes(r) * (2 * (size_t)r->depth + lanes);
    return (bytes + 63) & ~(size_t)63;
}

static size_t pre_bytes(const tape *t) { return (tape_scratch_bytes(t) + 63) & ~(size_t)63; }

size_t cpu_reduce_scratch(const program *p)
{
    const reduce_plan *r = p->compiled;
    if (r->pool.on)
        return pool_scratch(&r->pool, p);
    return worker_bytes(r) + pre_bytes(r->across ? &r->turned : &p->pre) +
           tape_scratch_bytes(&p->post);
}

static void worker_start(reduce_worker *w, const reduce_job *j, char *scratch)
{
    const reduce_plan *r = j->plan;
    const tape *pre = r->across ? &r->turned : &j->p->pre;
    *w = (reduce_worker){.j = j, .core = scratch};
    w->stack = w->core + core_bytes(r);
    w->lanes = w->stack + 2 * (size_t)r->depth * strip_bytes(r);
    char *tapes = scratch + worker_bytes(r);
    if (pre->size > 0)
        tape_start(&w->pre, pre, j->b, j->fault, tapes);
    if (pre->size > 0 && !r->across && j->p->kind == PROGRAM_REDUCE && j->p->fold == OP_sum)
        tape_sum_start(&w->pre);
    tape_start(&w->post, &j->p->post, j->b, j->fault, tapes + pre_bytes(pre));
}

/* Joins y[i] to d[i]. */
static void join(const reduce_job *j, int64_t n, void *d, const void *y)
{
    j->level->join(j->p->fold, j->p->dtype, n, d, d, y);
}

/* Passes outputs [o, o + n), whose values are in w->core, to the epilogue. */
static void pass_on(reduce_worker *w, int64_t o, int64_t n)
{
    const reduce_plan *r = w->j->plan;
    const int64_t bytes = w->j->p->kind == PROGRAM_ARGREDUCE ? (int64_t)sizeof(int64_t) : r->lane;
    for (int64_t i = 0; i < n; i += TAPE_BLOCK)
        tape_block(&w->post, o + i, n - i < TAPE_BLOCK ? n - i : TAPE_BLOCK, w->core + i * bytes);
}

static int64_t chunk_length(const program *p, int64_t chunk)
{
    const int64_t left = p->inner - chunk * TAPE_BLOCK;
    return left < TAPE_BLOCK ? left : TAPE_BLOCK;
}

/* ---- leaves of the pairwise joining: values d of outputs [o, o + n) for chunk (or range) c ---- */

typedef void (*reduce_leaf)(reduce_worker *w, int64_t o, int64_t n, int64_t c, void *d);

static void leaf_along(reduce_worker *w, int64_t o, int64_t n, int64_t c, void *d)
{
    const program *p = w->j->p;
    const int64_t len = chunk_length(p, c);
    assert(n == 1 || len == p->inner);
    tape_fold(&w->pre, p->fold, p->dtype, p->first + o * p->inner + c * TAPE_BLOCK, n, len, d);
}

/* d = the lanes of n outputs side by side, each of len values, joined by halving. Joining the
 * identity changes nothing, so lanes without a value are left out. */
static void join_lanes(reduce_worker *w, int64_t n, int64_t len, void *d)
{
    const int64_t strip = n * w->j->plan->lane;
    int64_t have = len < FOLD_LANES ? len : FOLD_LANES, half = FOLD_LANES / 2;
    while (half >= have)
        half /= 2;
    for (; half > 0; have = half, half /= 2)
        join(w->j, (have - half) * n, w->lanes, w->lanes + half * strip);
    memcpy(d, w->lanes, (size_t)strip);
}

static void leaf_across(reduce_worker *w, int64_t o, int64_t n, int64_t c, void *d)
{
    const reduce_job *j = w->j;
    const program *p = j->p;
    const int64_t len = chunk_length(p, c), first = c * TAPE_BLOCK;
    const int64_t strip = n * j->plan->lane; /* bytes */
    const int64_t at_once = n == p->outer ? TAPE_BLOCK / n : 1;
    for (int64_t i = 0; i < len; i += at_once) {
        const int64_t rows = len - i < at_once ? len - i : at_once;
        if (j->plan->bare && i + rows <= FOLD_LANES) {
            elements_read(j->plan->turned.operand, j->b, (first + i) * p->outer + o, rows * n,
                          w->lanes + i * strip);
            continue;
        }
        tape_block(&w->pre, (first + i) * p->outer + o, rows * n, NULL);
        const char *x = tape_lanes(&w->pre, p->pre.result, p->dtype, rows * n);
        for (int64_t r = 0, now; r < rows; r += now) {
            const int64_t lane = (i + r) % FOLD_LANES;
            char *acc = w->lanes + lane * strip;
            now = rows - r < FOLD_LANES - lane ? rows - r : FOLD_LANES - lane;
            if (i + r < FOLD_LANES)
                memcpy(acc, x + r * strip, (size_t)(now * strip));
            else
                join(j, now * n, acc, x + r * strip);
        }
    }
    join_lanes(w, n, len, d);
}

static void leaf_partial(reduce_worker *w, int64_t o, int64_t n, int64_t c, void *d)
{
    const reduce_plan *r = w->j->plan;
    const char *from = r->partial + (o / r->width * r->ranges + c) * r->width * r->lane;
    memcpy(d, from, (size_t)(n * r->lane));
}

/* True if columns are best summed one by one: a lane has few values, or all values are in a cache. */
static bool is_small(const program *p, int64_t len, int64_t lane)
{
    enum { VALUES_MOST = 2 * FOLD_LANES, CACHED = 1 << 19 };
    return len <= VALUES_MOST || p->outer * p->inner * lane <= CACHED;
}

/* leaf_across without the tape: rows are read in place, several rows of a lane at once. If rows are
 * adjacent, the rows of neighbouring lanes are read together. */
static void leaf_plain(reduce_worker *w, int64_t o, int64_t n, int64_t c, void *d)
{
    const reduce_job *j = w->j;
    const operand *from = &j->p->pre.operand[0];
    const int64_t len = chunk_length(j->p, c), strip = n * j->plan->lane;
    const int64_t row = from->v.stride[1], step = row * j->plan->lane;
    const char *x = operand_host(from, j->b) + c * TAPE_BLOCK * step + o * j->plan->lane;
    int64_t lanes = 1;
    if (is_small(j->p, len, j->plan->lane) &&
        j->level->fold_columns(j->p->fold, j->p->dtype, n, len, d, x, row))
        return;
    while (row == n && lanes < FOLD_LANES && 2 * lanes * n * j->plan->lane <= PLAIN_BYTES)
        lanes *= 2;
    for (int64_t lane = 0; lane < FOLD_LANES && lane < len; lane += lanes) {
        char *acc = w->lanes + lane * strip;
        const int64_t some = lane + (FOLD_ROWS - 1) * FOLD_LANES + lanes;
        int64_t i = lane;
        if (some <= len)
            j->level->identity(j->p->fold, j->p->dtype, lanes * n, acc);
        for (; i + some - lane <= len; i += FOLD_ROWS * FOLD_LANES)
            j->level->join_rows(j->p->fold, j->p->dtype, lanes * n, acc, x + i * step,
                                FOLD_LANES * row);
        for (; i < len; i += FOLD_LANES) {
            const int64_t now = len - i < lanes ? len - i : lanes;
            if (i == lane)
                memcpy(acc, x + i * step, (size_t)(now * strip));
            else
                join(j, now * n, acc, x + i * step);
        }
    }
    join_lanes(w, n, len, d);
}

/* Joins the top two of the stack. */
static void join_top(reduce_worker *w, int depth, int64_t n)
{
    const reduce_plan *r = w->j->plan;
    char *top = w->stack + (size_t)(depth - 1) * strip_bytes(r), *below = top - strip_bytes(r);
    join(w->j, n, below, top);
}

/* d = leaves [first, end) of the outputs, joined pairwise. */
static void fold_leaves(reduce_worker *w, reduce_leaf leaf, int64_t o, int64_t n, int64_t first,
                        int64_t end, void *d)
{
    const reduce_plan *r = w->j->plan;
    int depth = 0;
    if (end - first == 1) {
        leaf(w, o, n, first, d);
        return;
    }
    for (int64_t c = first; c < end; c++) {
        char *top = w->stack + (size_t)depth++ * strip_bytes(r);
        leaf(w, o, n, c, top);
        for (int64_t k = c - first + 1; k % 2 == 0; k /= 2)
            join_top(w, depth--, n);
    }
    for (; depth > 1; depth--)
        join_top(w, depth, n);
    memcpy(d, w->stack, (size_t)(n * r->lane));
}

/* True if outputs are single and their values are contiguous lanes in place. max and min have their
 * own loops for one row. */
static bool is_stream(const reduce_job *j)
{
    const tape *t = &j->p->pre;
    return (j->p->fold == OP_sum || j->p->fold == OP_prod) && !j->plan->across &&
           j->plan->width == 1 && is_bare(t) && view_is_contiguous(&t->operand[0].v);
}

/* fold_leaves of 2 * half whole chunks, half a power of 2, of an output whose values are in place:
 * both halves are read side by side. */
static void fold_streams(reduce_worker *w, int64_t o, int64_t first, int64_t half, char *d)
{
    const reduce_job *j = w->j;
    const int64_t lane = j->plan->lane, far = half * TAPE_BLOCK * lane;
    const char *x = operand_host(&j->p->pre.operand[0], j->b) +
                    (j->p->first + o * j->p->inner + first * TAPE_BLOCK) * lane;
    char *stacks[2] = {w->stack, w->stack + j->plan->depth * lane};
    int depth = 0;
    for (int64_t c = 0; c < half; c++, x += TAPE_BLOCK * lane) {
        char *top = stacks[0] + depth * lane, *top_2 = stacks[1] + depth * lane;
        j->level->fold_two(j->p->fold, j->p->dtype, top, x, top_2, x + far);
        for (int64_t k = c + 1; k % 2 == 0; k /= 2, depth--)
            for (int i = 0; i < 2; i++)
                join(j, 1, stacks[i] + (depth - 1) * lane, stacks[i] + depth * lane);
        depth++;
    }
    join(j, 1, stacks[0], stacks[1]);
    memcpy(d, stacks[0], (size_t)lane);
}

/* The index of the extreme in each row. */
static void find_extremes(reduce_worker *w, int64_t o, int64_t n, int64_t *d)
{
    const program *p = w->j->p;
    const size_t row = (size_t)(chunk_length(p, 0) * w->j->plan->lane);
    uint64_t best[TAPE_BLOCK];
    for (int64_t c = 0; c < w->j->plan->chunks; c++) {
        const int64_t len = chunk_length(p, c);
        tape_block(&w->pre, p->first + o * p->inner + c * TAPE_BLOCK, n * len, NULL);
        const char *x = tape_lanes(&w->pre, p->pre.result, p->dtype, n * len);
        for (int64_t r = 0; r < n; r++) {
            const int64_t at =
                w->j->level->extreme(p->fold, p->dtype, len, x + (size_t)r * row, &best[r], c == 0);
            d[r] = at >= 0 ? c * TAPE_BLOCK + at : d[r];
        }
    }
}

/* ---- tasks ---- */

static int64_t outputs_of(const reduce_job *j, int64_t strip)
{
    const int64_t left = j->p->outer - strip * j->plan->width;
    return left < j->plan->width ? left : j->plan->width;
}

static reduce_leaf leaf_of(const reduce_plan *r)
{
    return r->plain ? leaf_plain : r->across ? leaf_across : leaf_along;
}

/* A group of strips, whole rows. */
static void task_group(void *ctx, int64_t task, int worker)
{
    reduce_job *j = ctx;
    const reduce_plan *r = j->plan;
    const bool arg = j->p->kind == PROGRAM_ARGREDUCE;
    const int64_t first = task * r->group;
    const int64_t end = first + r->group < r->strips ? first + r->group : r->strips;
    reduce_worker w;
    int64_t done = 0;
    worker_start(&w, j, scratch_of(worker));
    for (int64_t s = first; s < end; s++) {
        const int64_t o = s * r->width, n = outputs_of(j, s);
        char *d = w.core + done * r->lane;
        if (arg)
            find_extremes(&w, o, n, (int64_t *)w.core + done);
        else
            fold_leaves(&w, r->ranges > 1 ? leaf_partial : leaf_of(r), o, n, 0,
                        r->ranges > 1 ? r->ranges : r->chunks, d);
        done += n;
    }
    pass_on(&w, first * r->width, done);
}

/* One range of one strip. */
static void task_range(void *ctx, int64_t task, int worker)
{
    reduce_job *j = ctx;
    const reduce_plan *r = j->plan;
    const int64_t strip = task / r->ranges, first = task % r->ranges * r->range;
    const int64_t end = first + r->range < r->chunks ? first + r->range : r->chunks;
    reduce_worker w;
    worker_start(&w, j, scratch_of(worker));
    if (end - first == r->range && r->range >= STREAM_FROM && end * TAPE_BLOCK <= j->p->inner &&
        is_stream(j)) {
        fold_streams(&w, strip, first, r->range / 2, r->partial + task * r->lane);
        return;
    }
    char *d = r->partial + task * r->width * r->lane;
    fold_leaves(&w, leaf_of(r), strip * r->width, outputs_of(j, strip), first, end, d);
}

/* Rows without elements give the identity: +0 for a sum, 0 or 1 for a bool. */
static void reduce_empty(reduce_job *j)
{
    const program *p = j->p;
    reduce_worker w;
    worker_start(&w, j, scratch_of(0));
    if (p->fold == OP_sum)
        memset(w.core, 0, (size_t)(TAPE_BLOCK * j->plan->lane));
    else
        j->level->identity(p->fold, p->dtype, TAPE_BLOCK, w.core);
    for (int i = 0; p->dtype == IG_BOOL && i < TAPE_BLOCK; i++)
        w.core[i] = w.core[i] != 0;
    for (int64_t o = 0; o < p->post.size; o += TAPE_BLOCK)
        tape_block(&w.post, o, p->post.size - o < TAPE_BLOCK ? p->post.size - o : TAPE_BLOCK,
                   w.core);
}

static reduce_job job_of(const program *p, const binding *b, cpu_fault *fault)
{
    return (reduce_job){
        .p = p, .plan = p->compiled, .b = b, .level = cpu_level_now(), .fault = fault};
}

ig_status cpu_reduce(const program *p, const binding *b)
{
    const reduce_plan *r = p->compiled;
    cpu_fault fault;
    reduce_job j = job_of(p, b, &fault);
    cpu_fault_clear(&fault);
    if (p->outer == 0)
        return IG_OK;
    if (p->inner == 0) {
        reduce_empty(&j);
        return cpu_fault_status(&fault, p);
    }
    if (r->pool.on) {
        pool_fold(&r->pool, p, b, &fault);
        return cpu_fault_status(&fault, p);
    }
    if (r->ranges > 1)
        pool_run(r->strips * r->ranges, task_range, &j);
    pool_run(ceil_div(r->strips, r->group), task_group, &j);
    return cpu_fault_status(&fault, p);
}

/* ---- some rows, for a chain ---- */

typedef struct reduce_rows {
    reduce_job j;
    reduce_worker w;
} reduce_rows;

static size_t rows_head(void) { return (sizeof(reduce_rows) + 63) & ~(size_t)63; }

bool cpu_reduce_has_rows(const program *p)
{
    const reduce_plan *r = p->compiled;
    return p->kind == PROGRAM_REDUCE && p->inner > 0 && !r->across;
}

size_t cpu_reduce_rows_scratch(const program *p, int64_t tile)
{
    (void)tile;
    return rows_head() + cpu_reduce_scratch(p);
}

void cpu_reduce_rows_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                           int64_t tile, void *scratch)
{
    (void)rows;
    (void)tile;
    reduce_rows *s = scratch;
    s->j = job_of(p, b, fault);
    worker_start(&s->w, &s->j, (char *)scratch + rows_head());
}

void cpu_reduce_rows(void *scratch, int64_t first, int64_t n)
{
    reduce_rows *s = scratch;
    const reduce_plan *r = s->j.plan;
    const int64_t width = r->chunks == 1 ? tape_fold_most(&s->w.pre, s->j.p->inner) : r->width;
    for (int64_t o = first; o < first + n;) {
        int64_t done = 0, from = o;
        while (o < first + n && done + width <= TAPE_BLOCK) {
            const int64_t now = first + n - o < width ? first + n - o : width;
            fold_leaves(&s->w, leaf_along, o, now, 0, r->chunks, s->w.core + done * r->lane);
            done += now;
            o += now;
        }
        pass_on(&s->w, from, done);
    }
}
