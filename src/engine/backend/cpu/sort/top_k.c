/* Finds the first few indices of rows without sorting them.
 *
 * Elements are visited in order; each that may still be among the first becomes an item. When there
 * are too many items, those that cannot be among the first are dropped, and the rest gives a bound
 * on keys that rejects most further elements. Among equal keys the earlier indices are kept, so the
 * result is the beginning of a stable sort, regardless of how a row is cut into pieces. */
#include "engine/backend/cpu/lanes/rows.h"
#include "engine/backend/cpu/sort/sort.h"

#include "base/memory.h"
#include "base/threads.h"

#include <string.h>

enum {
    SPARE = 512,         /* items beyond the wanted ones that may be kept */
    PIECE = 1 << 15,     /* least elements of a task */
    PIECE_KEPT = 8,      /* or this many times the wanted number */
    PIECES_OF_THREAD = 4 /* at most */
};

/* The selection of a piece of a row: items in order of their indices. */
typedef struct selection {
    char *items;
    int64_t room, n;
    uint64_t last; /* elements with larger keys are rejected */
    bool done;     /* all further elements are rejected */
} selection;

typedef struct select_job {
    const sort_job *j;
    int64_t tasks;         /* each piece has its own selection */
    int64_t pieces, piece; /* pieces of a row, and elements of each */
    selection *selections;
} select_job;

/* How many items are kept; there is room for twice as many and for a chunk. */
static int64_t most_of(const program *p) { return 2 * p->kept + SPARE; }
static int64_t room_of(const program *p) { return 2 * most_of(p) + TAPE_BLOCK; }

static void select_start(const sort_job *j, selection *s, char *items, int64_t room)
{
    *s = (selection){.items = items, .room = room, .last = j->o.all};
}

static uint64_t first_key(const sort_job *j, const selection *s)
{
    uint64_t item;
    memcpy(&item, s->items, sizeof item);
    return item >> j->low;
}

/* Reduces to most_of items or fewer, by the digits of their keys from the highest that differs. */
static void select_prune(const sort_job *j, selection *s, uint64_t *count)
{
    const uint64_t differ = j->way->differ(s->n, s->items, s->items) >> j->low;
    int high = j->low + (differ ? 64 - __builtin_clzll(differ) : 0);
    uint64_t prefix = differ >> 63 ? 0 : first_key(j, s) >> (high - j->low);
    int64_t wanted = j->p->kept, equal = s->n;
    while (high > j->low && j->p->kept - wanted + equal > most_of(j->p)) {
        const int shift = high - DIGIT > j->low ? high - DIGIT : j->low;
        uint64_t v = 0;
        memset(count, 0, ((size_t)1 << (high - shift)) * sizeof *count);
        j->way->count_in(s->n, s->items, high, prefix, shift, count);
        for (; (int64_t)count[v] < wanted; v++)
            wanted -= (int64_t)count[v];
        equal = (int64_t)count[v];
        prefix = prefix << (high - shift) | v;
        high = shift;
    }
    const bool all = j->p->kept - wanted + equal <= most_of(j->p);
    s->n = j->way->keep(s->n, s->items, high, prefix, all ? equal : wanted);
    s->last = ((prefix + all) << (high - j->low)) - 1;
    s->done = !all && prefix == 0;
}

/* Visits the row's elements [first, first + n), n <= TAPE_BLOCK. */
static void select_block(const sort_job *j, selection *s, int64_t first, int64_t n,
                         const void *elements, char *scratch)
{
    uint64_t keys[TAPE_BLOCK];
    int32_t at[TAPE_BLOCK];
    const int64_t found =
        j->level->rows->first(&j->o, j->way->wide, n, elements, s->last, keys, at);
    if (s->n + found > s->room)
        select_prune(j, s, (uint64_t *)scratch);
    j->way->pick(found, first, keys, at, s->items + (size_t)s->n * j->way->bytes);
    s->n += found;
}

/* Sorts the items and writes the wanted ones. */
static void select_finish(const sort_job *j, int64_t row, selection *s, char *scratch)
{
    const size_t item = j->way->bytes;
    uint64_t *counts = (uint64_t *)scratch;
    if (s->n > most_of(j->p))
        select_prune(j, s, counts);
    const char *sorted =
        j->way->sort(s->n, s->items, s->items + (size_t)s->n * item, j->low, j->high, counts);
    for (int64_t i = 0; i < j->p->kept; i += TAPE_BLOCK)
        sort_write(j, row, i, TAPE_BLOCK, sorted + (size_t)i * item, scratch + SORT_COUNTS);
}

void select_row(const sort_job *j, int64_t row, const char *elements, char *scratch)
{
    const int64_t inner = j->p->inner, room = room_of(j->p);
    selection s;
    select_start(j, &s, scratch + SORT_FIXED, room < 2 * inner ? room : 2 * inner);
    for (int64_t i = 0; i < inner && !s.done; i += TAPE_BLOCK)
        select_block(j, &s, i, inner - i < TAPE_BLOCK ? inner - i : TAPE_BLOCK,
                     elements + i * j->o.bytes, scratch);
    select_finish(j, row, &s, scratch);
}

/* ---- long rows ---- */

static void select_piece(const select_job *t, int64_t row, int64_t piece, selection *s,
                         char *scratch)
{
    const sort_job *j = t->j;
    const int64_t first = piece * t->piece;
    const int64_t end = first + t->piece < j->p->inner ? first + t->piece : j->p->inner;
    select_start(j, s, s->items, s->room);
    for (int64_t i = first; i < end && !s->done; i += TAPE_BLOCK) {
        const int64_t n = end - i < TAPE_BLOCK ? end - i : TAPE_BLOCK;
        select_block(j, s, i, n, sort_read(j, row, i, n, scratch + SORT_COUNTS), scratch);
    }
}

static void task_pieces(void *ctx, int64_t task, int worker)
{
    const select_job *t = ctx;
    const int64_t rows = t->tasks / t->pieces;
    selection *s = &t->selections[task];
    for (int64_t row = task / t->pieces; row < t->j->p->outer; row += rows) {
        select_piece(t, row, task % t->pieces, s, scratch_of(worker));
        if (t->pieces == 1)
            select_finish(t->j, row, s, scratch_of(worker));
    }
}

/* Joins the items of all pieces, in order, in the first piece. */
static void task_join(void *ctx, int64_t row, int worker)
{
    const select_job *t = ctx;
    const size_t item = t->j->way->bytes;
    selection *s = &t->selections[row * t->pieces];
    for (int64_t k = 1; k < t->pieces; k++) {
        memmove(s->items + (size_t)s->n * item, s[k].items, (size_t)s[k].n * item);
        s->n += s[k].n;
    }
    select_finish(t->j, row, s, scratch_of(worker));
}

/* Cuts rows into pieces if there are fewer rows than cores. Returns the bytes of a task. */
static size_t cut_rows(const sort_job *j, select_job *t)
{
    const program *p = j->p;
    const int64_t threads = pool_threads();
    const int64_t least = p->kept * PIECE_KEPT > PIECE ? p->kept * PIECE_KEPT : PIECE;
    const int64_t most = (threads * PIECES_OF_THREAD + p->outer - 1) / p->outer;
    *t = (select_job){.j = j, .pieces = 1};
    if (p->outer < threads)
        t->pieces = p->inner < least ? 1 : p->inner / least < most ? p->inner / least : most;
    t->piece = (p->inner + t->pieces - 1) / t->pieces;
    t->tasks = (p->outer < threads ? p->outer : threads) * t->pieces;
    return (size_t)room_of(p) * j->way->bytes;
}

size_t select_long_bytes(const sort_job *j)
{
    select_job t;
    const size_t each = cut_rows(j, &t);
    return (size_t)t.tasks * (each + sizeof *t.selections);
}

ig_status select_long_rows(const sort_job *j)
{
    const program *p = j->p;
    select_job t;
    const size_t each = cut_rows(j, &t), bytes = select_long_bytes(j);
    char *space = memory_data_get(bytes);
    if (!space)
        return IG_ERR_MEMORY;
    t.selections = (selection *)(space + (size_t)t.tasks * each);
    for (int64_t k = 0; k < t.tasks; k++)
        select_start(j, &t.selections[k], space + (size_t)k * each, room_of(p));
    pool_run(t.tasks, task_pieces, &t);
    if (t.pieces > 1)
        pool_run(p->outer, task_join, &t);
    memory_data_free(space, bytes);
    return IG_OK;
}
