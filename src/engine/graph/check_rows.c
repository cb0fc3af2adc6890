/* The check of schedules: chains. If a program of the chain writes an element, all programs of the chain use it in the
 * same row. So rows do not depend on each other. */
#include "engine/graph/check.h"

#include "base/error.h"
#include "base/memory.h"

/* A chain. For each slot: whether the chain writes memory at the slot's place. */
typedef struct chain {
    const checker *c;
    int begin, end; /* programs */
    int64_t rows;
    bool *written;
} chain;

/* Points of a row of the access; 0 if a row may reach anything. */
static int64_t row_points(const chain *h, const access *a)
{
    const program *p = &h->c->s->program[a->program];
    if (!a->by_points)
        return 0;
    return a->t ? a->t->size / h->rows : p->extent[3];
}

static ig_status check_shape(const chain *h, int i)
{
    const program *p = &h->c->s->program[i];
    bool good = p->kind == PROGRAM_MAP || (p->kind == PROGRAM_REDUCE && p->outer == h->rows) ||
                (p->kind == PROGRAM_CONTRACT && p->extent[0] * p->extent[1] == h->rows);
    good = good && p->by_rows == h->c->s->program[h->begin].by_rows;
    if (!good || program_is_span(p) || p->pre.size % h->rows != 0 || p->post.size % h->rows != 0)
        return schedule_broken(h->c, "rows", i, -1, "it does not have the %lld rows of its chain",
                               (long long)h->rows);
    return IG_OK;
}

/* ---- one place ---- */

/* All accesses stay in rows of the same length: the usual case, decided without looking at elements. */
static bool is_local(const chain *h, const access *a)
{
    const int64_t bytes = h->c->s->slot[a->slot].bytes, points = row_points(h, a);
    return a->element_bytes && points > 0 && bytes % (a->element_bytes * h->rows) == 0 &&
           reach_stays_in_rows(&a->o->v, points, bytes / a->element_bytes / h->rows);
}

static bool is_same_place(const chain *h, int a, int b)
{
    const place *x = &h->c->place[a], *y = &h->c->place[b];
    return x->space == y->space && x->begin == y->begin;
}

static ig_status row_broken(const chain *h, const access *a)
{
    return schedule_broken(
        h->c, "own rows", a->program, a->slot,
        "a row %s elements that another row of the chain of program %d uses, and the chain "
        "writes them",
        a->writes ? "writes" : "reads", h->begin + 1);
}

/* Looks at each element of the place of slot k. */
static ig_status mark_place(const chain *h, int k)
{
    const checker *c = h->c;
    int64_t *mark = memory_new((size_t)(c->s->slot[k].bytes + 1) * sizeof *mark), width = 0;
    if (!mark)
        return IG_ERR_MEMORY;
    ig_status status = IG_OK;
    for (int i = c->begin[h->begin]; i < c->begin[h->end + 1] && status == IG_OK; i++) {
        const access *a = &c->access[i];
        if (a->r.points == 0 || !is_same_place(h, a->slot, k))
            continue;
        const int64_t points = row_points(h, a);
        const bool even = width == 0 || width == a->element_bytes;
        width = a->element_bytes;
        if (!even || points == 0 || width == 0 || !reach_mark_rows(&a->o->v, points, mark))
            status = row_broken(h, a);
    }
    memory_free(mark);
    return status;
}

static ig_status check_written(const chain *h)
{
    const checker *c = h->c;
    for (int i = c->begin[h->begin]; i < c->begin[h->end + 1]; i++) {
        const access *a = &c->access[i];
        if (a->r.points == 0 || !h->written[a->slot] || is_local(h, a))
            continue;
        if (c->s->slot[a->slot].kind == SLOT_ROWS) /* other rows do not exist */
            return row_broken(h, a);
        TRY(mark_place(h, a->slot));
    }
    return IG_OK;
}

/* ---- SLOT_ROWS ---- */

static ig_status check_row_slot(const checker *c, int begin, int i)
{
    const program *p = &c->s->program[begin];
    const row_slot *l = &p->local[i];
    const bool listed = l->slot >= 0 && l->slot < c->s->n_slot &&
                        c->s->slot[l->slot].kind == SLOT_ROWS && l->shares >= 0 && l->shares <= i &&
                        p->local[l->shares].shares == l->shares;
    if (!listed || !p->by_rows || p->chain < 2 || p->n_slot != c->s->n_slot)
        return schedule_broken(c, "slots by rows", begin, -1,
                               "entry %d of the list is not a temporary of the chain", i);
    if (l->row_bytes * p->rows != c->s->slot[l->slot].bytes ||
        l->row_bytes != p->local[l->shares].row_bytes)
        return schedule_broken(c, "slots by rows", begin, l->slot,
                               "a row has %lld bytes, the slot %lld", (long long)l->row_bytes,
                               (long long)c->s->slot[l->slot].bytes);
    if (c->first[l->slot] < begin || c->last[l->slot] > c->end[begin])
        return schedule_broken(c, "slots by rows", begin, l->slot,
                               "a program outside of the chain uses it");
    return IG_OK;
}

/* Every SLOT_ROWS is in the list of the chain that uses it. */
ig_status schedule_check_row_slots(const checker *c)
{
    for (int i = 0; i < c->s->n_program; i++)
        for (int k = 0; k < c->s->program[i].n_local; k++)
            TRY(check_row_slot(c, i, k));
    for (int k = 0; k < c->s->n_slot; k++) {
        if (c->s->slot[k].kind != SLOT_ROWS || c->first[k] < 0)
            continue;
        const program *p = &c->s->program[c->launch[c->first[k]]];
        int times = 0;
        for (int i = 0; i < p->n_local; i++)
            times += p->local[i].slot == k;
        if (times != 1)
            return schedule_broken(c, "slots by rows", c->first[k], k,
                                   "it is %d times in the list of its chain", times);
    }
    return IG_OK;
}

/* ---- all chains ---- */

static ig_status check_chain(chain *h)
{
    const checker *c = h->c;
    if (h->rows < 1)
        return schedule_broken(c, "rows", h->begin, -1, "the chain has %lld rows",
                               (long long)h->rows);
    for (int i = h->begin; i <= h->end; i++)
        TRY(check_shape(h, i));
    for (int k = 0; k < c->s->n_slot; k++)
        h->written[k] = false;
    for (int i = c->begin[h->begin]; i < c->begin[h->end + 1]; i++) {
        const access *a = &c->access[i];
        for (int k = c->begin[h->begin]; a->writes && k < c->begin[h->end + 1]; k++)
            if (is_same_place(h, c->access[k].slot, a->slot))
                h->written[c->access[k].slot] = true;
    }
    return check_written(h);
}

ig_status schedule_check_rows(const checker *c)
{
    const schedule *s = c->s;
    bool *written = memory_new((size_t)s->n_slot + 1);
    if (!written)
        return IG_ERR_MEMORY;
    ig_status status = IG_OK;
    for (int i = 0; i < s->n_program && status == IG_OK; i += s->program[i].chain) {
        chain h = {c, i, c->end[i], s->program[i].rows, written};
        if (s->program[i].chain > 1)
            status = check_chain(&h);
    }
    memory_free(written);
    return status;
}
