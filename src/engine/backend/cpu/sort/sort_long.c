/* Long rows: all cores distribute items into buckets by the highest digit in which they differ;
 * then the buckets are distributed over the cores and each is sorted alone. A bucket that is too
 * large is distributed by its next digit. The result does not depend on the number of cores. */
#include "engine/backend/cpu/sort/sort.h"

#include "engine/backend/cpu/elements/elements.h"

#include "base/threads.h"

#include <stdatomic.h>
#include <string.h>

enum {
    PIECE = 1 << 15,      /* least items of a task */
    PIECES_OF_THREAD = 4, /* at most */
    MOST_PIECES = 128,
    LARGE = 1 << 17,   /* a bucket of more items may be distributed again */
    CACHED_DIGITS = 2, /* if more digits than this are left */
    DEEPEST = 8
};

/* The state of one level of distribution: where buckets begin, and the first bucket of each task. */
typedef struct depth {
    int64_t bound[DIGIT_VALUES + 1];
    int32_t begin[DIGIT_VALUES + 1];
} depth;

typedef struct long_row {
    const sort_job *j;
    int64_t row;
    int worker;
    int64_t large;   /* a bucket with more items is distributed again */
    char *items[2];  /* two buffers for the row's items */
    uint64_t *place; /* for piece k and value v at k * DIGIT_VALUES + v */
    depth *depths;
    _Atomic int seen;
} long_row;

/* Items [first, first + n) that move from one buffer to the other. */
typedef struct sharing {
    long_row *l;
    depth *depth;
    int from; /* buffer; -1: they are still the row's elements */
    int to;
    int64_t first, n;
    int64_t piece, pieces; /* items of each, and how many */
    int shift;
    uint64_t mask;
    char like[16];           /* the first item */
    _Atomic uint64_t differ; /* the bits in which any item differs from it */
    uint64_t above;          /* the bits above these, which all items have in common */
    int64_t tasks;
} sharing;

/* ---- memory ---- */

static int64_t most_pieces(void)
{
    const int64_t pieces = (int64_t)pool_threads() * PIECES_OF_THREAD;
    return pieces < MOST_PIECES ? pieces : MOST_PIECES;
}

/* The row's output serves as a buffer if items are as large as its elements. */
static char *room_in_output(const sort_job *j, int64_t row)
{
    const operand *o = &j->p->out;
    if (!j->values || j->way->bytes != ig_dtype_bytes(o->dtype))
        return NULL;
    return elements_in_place(o, operand_host(o, j->b), row * j->p->inner, j->p->inner);
}

static size_t room_bytes(const sort_job *j)
{
    return ((size_t)j->p->inner * j->way->bytes + 63) & ~(size_t)63;
}

size_t sort_long_bytes(const sort_job *j)
{
    const size_t places = (size_t)most_pieces() * DIGIT_VALUES * sizeof(uint64_t);
    const size_t rooms = j->b && room_in_output(j, 0) ? 1 : 2;
    return DEEPEST * sizeof(depth) + places + rooms * room_bytes(j);
}

/* ---- pieces ---- */

/* The n items from item `first` of the row on, n <= TAPE_BLOCK. */
static const void *items_at(const sharing *s, int64_t first, int64_t n, char *scratch)
{
    const sort_job *j = s->l->j;
    if (s->from >= 0)
        return s->l->items[s->from] + (size_t)first * j->way->bytes;
    char *chunk = scratch + SORT_COUNTS, *items = chunk + SORT_CHUNK;
    j->way->make(j, first, n, sort_read(j, s->l->row, first, n, chunk), items);
    return items;
}

static int64_t piece_end(const sharing *s, int64_t piece)
{
    const int64_t end = (piece + 1) * s->piece;
    return s->first + (end < s->n ? end : s->n);
}

static int64_t chunk_of(int64_t i, int64_t end)
{
    return end - i < TAPE_BLOCK ? end - i : TAPE_BLOCK;
}

static void task_differ(void *ctx, int64_t task, int worker)
{
    sharing *s = ctx;
    const int64_t end = piece_end(s, task);
    uint64_t differ = 0;
    for (int64_t i = s->first + task * s->piece; i < end; i += TAPE_BLOCK) {
        const void *items = items_at(s, i, chunk_of(i, end), scratch_of(worker));
        differ |= s->l->j->way->differ(chunk_of(i, end), items, s->like);
    }
    atomic_fetch_or(&s->differ, differ);
}

static void task_count(void *ctx, int64_t task, int worker)
{
    sharing *s = ctx;
    const int64_t end = piece_end(s, task);
    uint64_t *count = s->l->place + task * DIGIT_VALUES;
    memset(count, 0, DIGIT_VALUES * sizeof *count);
    for (int64_t i = s->first + task * s->piece; i < end; i += TAPE_BLOCK) {
        const void *items = items_at(s, i, chunk_of(i, end), scratch_of(worker));
        s->l->j->way->count(chunk_of(i, end), items, s->shift, s->mask, count);
    }
}

static void task_share(void *ctx, int64_t task, int worker)
{
    sharing *s = ctx;
    const int64_t end = piece_end(s, task);
    uint64_t *place = s->l->place + task * DIGIT_VALUES;
    for (int64_t i = s->first + task * s->piece; i < end; i += TAPE_BLOCK) {
        const void *items = items_at(s, i, chunk_of(i, end), scratch_of(worker));
        s->l->j->way->share(chunk_of(i, end), items, s->shift, s->mask, place, s->l->items[s->to]);
    }
}

/* Turns the counts of all pieces into positions and the bounds of buckets. */
static void place_pieces(sharing *s)
{
    uint64_t next = (uint64_t)s->first;
    for (uint64_t v = 0; v <= s->mask; v++) {
        s->depth->bound[v] = (int64_t)next;
        for (int64_t k = 0; k < s->pieces; k++) {
            uint64_t *place = &s->l->place[k * DIGIT_VALUES + (int64_t)v];
            const uint64_t count = *place;
            *place = next;
            next += count;
        }
    }
    s->depth->bound[s->mask + 1] = (int64_t)next;
}

/* ---- buckets ---- */

static bool is_large(const sharing *s, int64_t n)
{
    const int left = s->shift - s->l->j->low;
    return left > 0 && n > LARGE && (n > s->l->large || left > CACHED_DIGITS * DIGIT);
}

/* True if all items of a bucket are equal and determined by their code. */
static bool is_filled(const sharing *s) { return s->l->j->way->fill && s->shift == 0; }

static uint64_t first_code(const sort_job *j, const char *item)
{
    uint64_t wide = 0;
    uint32_t narrow;
    memcpy(&wide, item, sizeof wide);
    memcpy(&narrow, item, sizeof narrow);
    return j->way->bytes == sizeof narrow ? narrow : wide;
}

static void write_items(long_row *l, int64_t first, int64_t n, const char *items, char *scratch)
{
    const size_t bytes = l->j->way->bytes;
    int seen = 0;
    for (int64_t i = 0; i < n; i += TAPE_BLOCK)
        seen |= sort_write(l->j, l->row, first + i, chunk_of(i, n), items + (size_t)i * bytes,
                           scratch + SORT_COUNTS);
    if (seen)
        atomic_fetch_or(&l->seen, seen);
}

static void task_buckets(void *ctx, int64_t task, int worker)
{
    sharing *s = ctx;
    long_row *l = s->l;
    const sort_job *j = l->j;
    char *scratch = scratch_of(worker);
    for (int32_t v = s->depth->begin[task]; v < s->depth->begin[task + 1]; v++) {
        const int64_t first = s->depth->bound[v], n = s->depth->bound[v + 1] - first;
        if (n == 0 || is_large(s, n))
            continue;
        char *x = l->items[s->to] + (size_t)first * j->way->bytes;
        char *other = l->items[1 - s->to] + (size_t)first * j->way->bytes;
        if (is_filled(s))
            j->way->fill(n, x, s->above | (uint64_t)v);
        else if (s->shift > j->low)
            x = j->way->sort(n, x, other, j->low, s->shift, (uint64_t *)scratch);
        write_items(l, first, n, x, scratch);
    }
}

/* Groups buckets until they are worth a task. */
static void plan_buckets(sharing *s)
{
    int64_t from = s->first;
    s->tasks = 0;
    s->depth->begin[0] = 0;
    for (uint64_t v = 0; v <= s->mask; v++) {
        if (s->depth->bound[v + 1] - from < PIECE && v < s->mask)
            continue;
        s->depth->begin[++s->tasks] = (int32_t)v + 1;
        from = s->depth->bound[v + 1];
    }
}

static void share_out(long_row *l, int deep, int from, int64_t first, int64_t n);

static void sort_buckets(sharing *s, int deep)
{
    plan_buckets(s);
    pool_run(s->tasks, task_buckets, s);
    for (uint64_t v = 0; v <= s->mask; v++) {
        const int64_t begin = s->depth->bound[v], n = s->depth->bound[v + 1] - begin;
        if (is_large(s, n))
            share_out(s->l, deep + 1, s->to, begin, n);
    }
}

/* If all items are equal, they are written without sorting. */
static void task_write(void *ctx, int64_t task, int worker)
{
    sharing *s = ctx;
    const int64_t end = piece_end(s, task);
    for (int64_t i = s->first + task * s->piece; i < end; i += TAPE_BLOCK) {
        const void *items = items_at(s, i, chunk_of(i, end), scratch_of(worker));
        write_items(s->l, i, chunk_of(i, end), items, (char *)scratch_of(worker) + 2 * SORT_CHUNK);
    }
}

static void share_out(long_row *l, int deep, int from, int64_t first, int64_t n)
{
    const sort_job *j = l->j;
    sharing s = {.l = l, .depth = &l->depths[deep], .from = from, .first = first, .n = n};
    s.to = from == 0 ? 1 : 0;
    s.piece = (n + most_pieces() - 1) / most_pieces();
    s.piece = s.piece < PIECE ? PIECE : s.piece;
    s.pieces = (n + s.piece - 1) / s.piece;
    memcpy(s.like, items_at(&s, first, 1, scratch_of(l->worker)), j->way->bytes);
    pool_run(s.pieces, task_differ, &s);
    const uint64_t ordered = (j->high < 64 ? (uint64_t)1 << j->high : 0) - ((uint64_t)1 << j->low);
    const uint64_t differ = s.differ & ordered;
    if (differ == 0) {
        pool_run(s.pieces, task_write, &s);
        return;
    }
    const int top = 64 - __builtin_clzll(differ);
    s.shift = top - DIGIT > j->low ? top - DIGIT : j->low;
    s.mask = ((uint64_t)1 << (top - s.shift)) - 1;
    pool_run(s.pieces, task_count, &s);
    place_pieces(&s);
    s.above = (top < 64 ? first_code(j, s.like) >> top << top : 0);
    if (!is_filled(&s))
        pool_run(s.pieces, task_share, &s);
    sort_buckets(&s, deep);
}

void sort_long(const sort_job *j, int64_t row, char *space, int worker)
{
    const int64_t share = j->p->inner / (8 * (int64_t)pool_threads());
    long_row l = {.j = j, .row = row, .worker = worker, .depths = (depth *)space};
    l.large = j->tasks == 1 && pool_threads() > 1 ? share : INT64_MAX;
    l.place = (uint64_t *)(space + DEEPEST * sizeof(depth));
    l.items[1] = (char *)(l.place + most_pieces() * DIGIT_VALUES);
    l.items[0] = room_in_output(j, row);
    if (!l.items[0])
        l.items[0] = l.items[1] + room_bytes(j);
    share_out(&l, 0, -1, 0, j->p->inner);
    if (l.seen)
        sort_mend(j, row, l.seen, scratch_of(worker));
}
