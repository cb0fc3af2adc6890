/* SCAN: running folds along rows.
 *
 * The order of the joins depends on an element's position in its row alone, so the bits of a result
 * do too. A row is cut into ranges of 64 chunks, a chunk (TAPE_BLOCK) into blocks of SCAN_BLOCK. An
 * element is
 *
 *     (R + C) + (B + P)
 *
 * P is the running fold in its block, by halves: the left half as it is, and the left half's total
 * joined before each element of the right half; the same inside the halves. B is the fold of the
 * blocks before it in its chunk, each total (its last P) joined on the right. C is the same for the
 * chunks before it in its range, R for the ranges before it. Without any, it is the fold's
 * identity, which changes nothing.
 *
 * So long sums stay accurate, a block is a few vector operations, and a long row can be split:
 * first the totals of the ranges, then all ranges at once. If the order makes no difference
 * (integers, maxima) there are no blocks. f16 and bf16 are computed in f32 and rounded when they
 * are stored. Rows that are not contiguous are read several at a time. */
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/elements/elements.h"
#include "engine/backend/cpu/elements/rows.h"
#include "engine/backend/cpu/lanes/rows.h"
#include "engine/program/cuts.h"

#include "base/threads.h"

#include <string.h>

enum {
    ENOUGH_TASKS = 64,       /* then rows are not split */
    MOST_ROWS = 128,         /* bytes that are read together */
    APART = TAPE_BLOCK + 16, /* elements between rows, to avoid cache conflicts */
    VALUE = 8                /* bytes that any lane fits in */
};

typedef struct scan_job {
    const program *p;
    const binding *b;
    const cpu_level *level;
    ig_dtype lane;
    bool in_lanes;   /* elements are lanes already */
    const char *in;  /* where elements are contiguous; or NULL */
    char *out;       /* the same for results */
    uint64_t none;   /* the fold's identity */
    int64_t width;   /* rows of a strip, which are read together */
    int64_t strips;  /* of all */
    int64_t group;   /* strips of a task, when rows are whole */
    int64_t ranges;  /* of a row */
    uint64_t *total; /* for row r, range k at r * ranges + k: its total, then the fold before it */
} scan_job;

/* The fold of the chunks before the next one of a row. */
typedef struct scan_state {
    uint64_t range, chunk;
} scan_state;

/* ---- memory ---- */

static int64_t strip_bytes(const program *p)
{
    return rows_together(&p->in[0]) * APART * (int64_t)ig_dtype_bytes(p->in[0].dtype);
}

static bool is_split(const program *p) { return p->inner > CUT_RANGE && p->outer < ENOUGH_TASKS; }

static int64_t ranges_of(const program *p) { return (p->inner + CUT_RANGE - 1) / CUT_RANGE; }

/* A strip's elements, a chunk in lanes, one as stored, and the totals (the first worker's). */
size_t cpu_scan_scratch(const program *p)
{
    const int64_t totals = is_split(p) ? p->outer * ranges_of(p) : 0;
    return (size_t)(strip_bytes(p) + 2 * TAPE_BLOCK * VALUE + totals * VALUE);
}

/* ---- a chunk ---- */

static void join(const scan_job *j, uint64_t *d, const uint64_t *a, const uint64_t *b)
{
    j->level->join(j->p->fold, j->lane, 1, d, a, b);
}

/* Elements [first, first + n) of the strip's rows, in place or in scratch. Returns the first row's elements; the next
 * row's are *apart elements later. */
static const char *read_strip(const scan_job *j, int64_t row, int64_t rows, int64_t first,
                              int64_t n, char *scratch, int64_t *apart)
{
    const operand *o = &j->p->in[0];
    const int64_t start = row * j->p->inner + first;
    *apart = APART;
    if (j->in)
        return j->in + start * (int64_t)ig_dtype_bytes(o->dtype);
    const char *place = rows == 1 ? elements_in_place(o, operand_host(o, j->b), start, n) : NULL;
    if (place)
        return place;
    rows_read(o, j->b, j->p->inner, row, rows, first, n, scratch, APART);
    return scratch;
}

/* n elements as lanes. */
static const void *lanes_of(const scan_job *j, int64_t n, const void *elements, void *lanes)
{
    if (j->in_lanes)
        return elements;
    j->level->convert(j->p->in[0].dtype, j->lane, n, lanes, 1, elements, 1);
    return lanes;
}

/* One chunk of one row. */
static void scan_chunk(const scan_job *j, int64_t start, int64_t n, const void *elements,
                       scan_state *state, char *lanes)
{
    const operand *out = &j->p->out;
    char *place = j->out ? j->out + start * (int64_t)ig_dtype_bytes(out->dtype)
                         : elements_in_place(out, operand_host(out, j->b), start, n);
    char *d = place && j->in_lanes ? place : lanes, *stored = lanes + TAPE_BLOCK * VALUE;
    const void *x = lanes_of(j, n, elements, lanes);
    const bool begins = start % j->p->inner == 0;
    uint64_t before = j->none, total;
    if (!begins)
        join(j, &before, &state->range, &state->chunk);
    j->level->rows->scan(j->p->fold, j->lane, n, d, x, &before, &total);
    if (begins)
        state->chunk = total;
    else
        join(j, &state->chunk, &state->chunk, &total);
    if (d == place)
        return;
    if (!j->in_lanes)
        j->level->convert(j->lane, out->dtype, n, place ? place : stored, 1, lanes, 1);
    if (!place)
        elements_write(out, j->b, start, n, j->in_lanes ? lanes : stored);
}

/* ---- tasks ---- */

static int64_t rows_of(const scan_job *j, int64_t strip)
{
    const int64_t left = j->p->outer - strip * j->width;
    return left < j->width ? left : j->width;
}

/* Elements [first, end) of a strip's rows. */
static void scan_strip(const scan_job *j, int64_t strip, int64_t first, int64_t end,
                       scan_state *state, char *scratch)
{
    const int64_t row = strip * j->width, rows = rows_of(j, strip), inner = j->p->inner;
    const int64_t bytes = (int64_t)ig_dtype_bytes(j->p->in[0].dtype);
    char *lanes = scratch + strip_bytes(j->p);
    for (int64_t i = first; i < end; i += TAPE_BLOCK) {
        const int64_t n = end - i < TAPE_BLOCK ? end - i : TAPE_BLOCK;
        int64_t apart;
        const char *x = read_strip(j, row, rows, i, n, scratch, &apart);
        for (int64_t r = 0; r < rows; r++) {
            if (i > first && i % CUT_RANGE == 0) {
                join(j, &state[r].range, &state[r].range, &state[r].chunk);
                state[r].chunk = j->none;
            }
            scan_chunk(j, (row + r) * inner + i, n, x + r * apart * bytes, &state[r], lanes);
        }
    }
}

static void task_group(void *ctx, int64_t task, int worker)
{
    const scan_job *j = ctx;
    const int64_t first = task * j->group, left = j->strips - first;
    scan_state state[MOST_ROWS];
    for (int64_t s = first; s < first + (left < j->group ? left : j->group); s++) {
        for (int64_t r = 0; r < j->width; r++)
            state[r] = (scan_state){j->none, j->none};
        scan_strip(j, s, 0, j->p->inner, state, scratch_of(worker));
    }
}

static int64_t range_end(const scan_job *j, int64_t range)
{
    const int64_t end = (range + 1) * CUT_RANGE;
    return end < j->p->inner ? end : j->p->inner;
}

/* The total of one range of a strip's rows. */
static void task_total(void *ctx, int64_t task, int worker)
{
    const scan_job *j = ctx;
    const int64_t strip = task / j->ranges, range = task % j->ranges, row = strip * j->width;
    const int64_t rows = rows_of(j, strip), end = range_end(j, range);
    const int64_t bytes = (int64_t)ig_dtype_bytes(j->p->in[0].dtype);
    char *scratch = scratch_of(worker), *lanes = scratch + strip_bytes(j->p);
    for (int64_t i = range * CUT_RANGE; i < end; i += TAPE_BLOCK) {
        const int64_t n = end - i < TAPE_BLOCK ? end - i : TAPE_BLOCK;
        int64_t apart;
        const char *x = read_strip(j, row, rows, i, n, scratch, &apart);
        for (int64_t r = 0; r < rows; r++) {
            uint64_t *total = &j->total[(row + r) * j->ranges + range], now;
            const void *chunk = lanes_of(j, n, x + r * apart * bytes, lanes);
            j->level->rows->total(j->p->fold, j->lane, n, chunk, &now);
            if (i == range * CUT_RANGE)
                *total = now;
            else
                join(j, total, total, &now);
        }
    }
}

/* One range of a strip's rows, after j->total has become the fold of the earlier ranges. */
static void task_range(void *ctx, int64_t task, int worker)
{
    const scan_job *j = ctx;
    const int64_t strip = task / j->ranges, range = task % j->ranges;
    scan_state state[MOST_ROWS];
    for (int64_t r = 0; r < rows_of(j, strip); r++)
        state[r] = (scan_state){j->total[(strip * j->width + r) * j->ranges + range], j->none};
    scan_strip(j, strip, range * CUT_RANGE, range_end(j, range), state, scratch_of(worker));
}

static void scan_split(scan_job *j)
{
    const program *p = j->p;
    j->total = (uint64_t *)((char *)scratch_of(0) + strip_bytes(p) + 2 * TAPE_BLOCK * VALUE);
    pool_run(j->strips * j->ranges, task_total, j);
    for (int64_t r = 0; r < p->outer; r++) {
        uint64_t before = j->none, *total = j->total + r * j->ranges;
        for (int64_t k = 0; k < j->ranges; k++) {
            const uint64_t now = total[k];
            total[k] = before;
            join(j, &before, &before, &now);
        }
    }
    pool_run(j->strips * j->ranges, task_range, j);
}

ig_status cpu_scan(const program *p, const binding *b)
{
    scan_job j = {.p = p, .b = b, .level = cpu_level_now(), .lane = dtype_lane(p->dtype)};
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    j.in_lanes = p->in[0].dtype == p->out.dtype &&
                 (j.lane == p->out.dtype || ig_dtype_bytes(p->out.dtype) == 1);
    j.level->identity(p->fold, j.lane, 1, &j.none);
    j.in = view_is_contiguous(&p->in[0].v) ? operand_host(&p->in[0], b) : NULL;
    j.out = view_is_contiguous(&p->out.v) ? operand_host(&p->out, b) : NULL;
    j.width = j.in ? 1 : rows_together(&p->in[0]);
    j.strips = (p->outer + j.width - 1) / j.width;
    j.ranges = ranges_of(p);
    if (is_split(p) && pool_threads() > 1) {
        scan_split(&j);
        return IG_OK;
    }
    const int64_t work = j.width * p->inner;
    j.group = work < TASK_WORK ? TASK_WORK / work : 1;
    pool_run((j.strips + j.group - 1) / j.group, task_group, &j);
    return IG_OK;
}
