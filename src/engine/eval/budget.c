/* The search for a schedule that fits. See budget.h.
 *
 * A choice of what is recomputed has a weight, of memory against work. Weights are tried from small to great, until the schedule
 * fits; then smaller ones that fit are searched for. If no weight is enough, the graph is divided into segments. If that is not
 * enough either, the search is repeated with the best graph so far, which has its peak elsewhere. What is tried in a round does
 * not depend on the room until something fits, so the smallest room for which the search succeeds is known when it fails. */
#include "engine/eval/budget.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/trace.h"
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/pool.h"
#include "engine/eval/transfer.h"

#include <math.h>

uint64_t budget_launch_bytes(const schedule *s, const backend *dev)
{
    const executor *by = executor_of(dev);
    uint64_t most = by->scratch ? by->scratch(s, dev) : 0;
    for (int i = 0; dev == &backend_cpu && i < s->n_program; i++) {
        const program *p = &s->program[i];
        const bool sorts = p->kind == PROGRAM_SORT || p->kind == PROGRAM_ARGSORT;
        const uint64_t bytes = sorts ? cpu_sort_bytes(p) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

uint64_t budget_buffer_bytes(const backend *dev, int64_t bytes)
{
    return dev->pool && bytes ? pool_bytes(dev->pool, (size_t)bytes) : (uint64_t)bytes;
}

/* Bytes that a run takes in addition to its leaves. An output that uses the buffer of a leaf takes none. Emitted programs have taken
 * their own memory when they were prepared. */
static uint64_t run_bytes(const schedule *s, const backend *dev)
{
    const uint64_t largest = dev->limits.alloc_bytes;
    const bool apart = largest && (uint64_t)s->arena_bytes > largest;
    uint64_t bytes = executor_of(dev)->scratch ? 0 : budget_launch_bytes(s, dev);
    bytes += apart ? 0 : budget_buffer_bytes(dev, s->arena_bytes);
    for (int i = 0; i < s->n_slot; i++) {
        const slot *t = &s->slot[i];
        if (t->shares < 0 && (t->kind == SLOT_OUT || (apart && t->kind == SLOT_TEMP)))
            bytes += budget_buffer_bytes(dev, t->bytes);
    }
    return bytes;
}

void budget_count(schedule *s, const backend *dev)
{
    s->most_bytes = s->run_bytes = run_bytes(s, dev);
    for (int i = 0; i < s->n_slot; i++) {
        const slot *t = &s->slot[i];
        if (t->kind == SLOT_LEAF && (dev->pool || !dev->computes || t->shares >= 0))
            s->most_bytes += budget_buffer_bytes(dev, t->bytes);
    }
}

static uint64_t limit_of(const backend *dev)
{
    return dev->pool ? pool_limit(dev->pool) : ig_memory_limit();
}

static uint64_t room_of(const backend *dev)
{
    const uint64_t limit = limit_of(dev);
    const uint64_t used = dev->pool ? atomic_load(&dev->pool->used) : ig_memory_used();
    return used < limit ? limit - used : 0;
}

/* The room less the copies that a run makes of leaf i with that buffer: it is not on the device, or an output would use its
 * memory, but others hold it. */
static uint64_t room_beside(const schedule *s, int i, const buffer *b, const backend *dev,
                            uint64_t room)
{
    const slot *t = &s->slot[i];
    const bool exists = b && (b->data || b->handle);    /* else it stands for an array */
    const bool counted = dev->computes || t->is_number; /* `null` has no memory that counts */
    const bool moves =
        exists && !t->is_number && dev->pool && !dev->wrap && !transfer_stays(b, dev);
    const bool held = exists && t->shares >= 0 && (b->borrowed || atomic_load(&b->refs) > 1);
    const uint64_t bytes = moves || held || !counted ? budget_buffer_bytes(dev, t->bytes) : 0;
    return bytes < room ? room - bytes : 0;
}

bool budget_suits(const schedule *s, const backend *dev, buffer *(*leaf)(const void *list, int i),
                  const void *list)
{
    uint64_t room = room_of(dev);
    if (!s->recomputes && (s->most_bytes <= room || s->is_least))
        return true; /* usually */
    for (int i = 0; i < s->n_slot && s->slot[i].kind == SLOT_LEAF; i++)
        room = room_beside(s, i, leaf(list, i), dev, room);
    const bool fits = s->run_bytes <= room;
    return s->recomputes ? s->limit == limit_of(dev) && s->plain_bytes > room && fits != s->is_least
                         : fits;
}

/* ---- the search ---- */

/* A graph with copies and its schedule. */
typedef struct candidate {
    recomputed r;
    schedule *s;
    uint64_t bytes;
} candidate;

typedef struct search {
    const graph *g;
    const backend *dev;
    const schedule_rules *rules;
    uint64_t room;
    const candidate *base; /* of this round */
    candidate fits;        /* the one with least work that fits, or without a schedule */
    candidate least;       /* the one that needs least memory in this round */
    int round;
} search;

static void candidate_free(candidate *c)
{
    recompute_free(&c->r);
    schedule_free(c->s);
    *c = (candidate){0};
}

static bool is_better(const search *b, const candidate *c)
{
    const candidate *f = &b->fits;
    return c->bytes <= b->room &&
           (!f->s || c->r.again < f->r.again || (c->r.again == f->r.again && c->bytes < f->bytes));
}

static bool is_less(const candidate *c, const candidate *than)
{
    return !than->s || c->bytes < than->bytes;
}

/* Keeps a candidate, or frees it. */
static void consider(search *b, candidate *c)
{
    candidate *place = is_better(b, c)                       ? &b->fits
                       : is_less(c, &b->least) && !b->fits.s ? &b->least
                                                             : NULL;
    if (!place) {
        candidate_free(c);
        return;
    }
    candidate_free(place);
    *place = *c;
}

/* Tries a choice. *fits: its schedule fits. A choice that copies nothing more than the base is skipped. */
static ig_status try_choice(search *b, double weight, int segments, bool *fits)
{
    const graph *g = b->base->r.room ? &b->base->r.g : b->g;
    const recomputed *from = b->base->r.room ? &b->base->r : NULL;
    const recompute_choice choice = {weight, segments, b->round};
    candidate c = {0};
    *fits = false;
    TRY(recompute_graph(g, from, b->base->s, b->rules, &choice, &c.r));
    if (c.r.n_copied == b->base->r.n_copied) {
        candidate_free(&c);
        return IG_OK;
    }
    c.s = schedule_build(&c.r.g, b->rules);
    if (!c.s) {
        candidate_free(&c);
        return error_waiting(IG_ERR_MEMORY);
    }
    c.bytes = run_bytes(c.s, b->dev);
    *fits = c.bytes <= b->room;
    consider(b, &c);
    return IG_OK;
}

/* Searches between a weight that is too small and one that is enough. */
static ig_status refine(search *b, double low, double high, int segments)
{
    enum { STEPS = 5 };
    for (int i = 0; i < STEPS; i++) {
        const double middle = sqrt(low * high);
        bool fits;
        TRY(try_choice(b, middle, segments, &fits));
        *(fits ? &high : &low) = middle;
    }
    return IG_OK;
}

/* One round: weights, then segments. */
static ig_status search_round(search *b)
{
    enum { SEGMENTS_MOST = 64 };
    const double first = 1.0 / 1024, last = 65536, step = 4;
    bool fits = false;
    for (double weight = first; weight <= last && !fits; weight *= step) {
        TRY(try_choice(b, weight, 0, &fits));
        if (fits)
            return refine(b, weight / step, weight, 0);
    }
    int found = 0;
    for (int n = 2; n <= SEGMENTS_MOST && n < b->g->n_node; n *= 2) {
        TRY(try_choice(b, last, n, &fits));
        found = fits ? n : found;
    }
    return found ? refine(b, first, last, found) : IG_OK;
}

static ig_status search_all(search *b, schedule *plain, recomputed *r, schedule **s)
{
    enum { ROUNDS = 4 };
    candidate base = {.s = plain, .bytes = run_bytes(plain, b->dev)};
    ig_status status = IG_OK;
    for (b->round = 0; b->round < ROUNDS && !b->fits.s && status == IG_OK; b->round++) {
        const uint64_t before = base.bytes;
        b->base = &base;
        status = search_round(b);
        if (b->fits.s || status != IG_OK || !b->least.s || b->least.bytes >= before)
            break;
        if (base.s != plain)
            candidate_free(&base);
        base = b->least;
        b->least = (candidate){0};
        if (before - base.bytes < before / 64)
            break;
    }
    candidate_free(&b->least);
    candidate *best = b->fits.s ? &b->fits : &base;
    if (status == IG_OK && best->s != plain) {
        *r = best->r;
        *s = best->s;
        best->r = (recomputed){0};
        best->s = NULL;
    }
    if (base.s != plain)
        candidate_free(&base);
    if (best != &base)
        candidate_free(best);
    return status;
}

/* Says what is computed again, and makes the slots of s refer to the nodes of the first graph. */
static ig_status describe(const search *b, const schedule *plain, const recomputed *r, schedule *s)
{
    char size[SIZE_ROOM], less[SIZE_ROOM];
    text t = {0};
    text_add(&t, "computes again to fit in %s:", size_text(b->room, size));
    recompute_text(r, b->g, &t);
    text_add(&t, "; it takes %s less memory, and %.1f %% more work",
             size_text(s->plain_bytes - run_bytes(s, b->dev), less), 100 * r->again / r->work);
    s->recomputes = text_take(&t);
    s->n_node = plain->n_node;
    return s->recomputes ? IG_OK : IG_ERR_MEMORY;
}

ig_status budget_fit(const graph *g, const backend *dev, const schedule_rules *rules, schedule **s,
                     recomputed *r)
{
    schedule *plain = *s;
    search b = {.g = g, .dev = dev, .rules = rules, .room = room_of(dev)};
    budget_count(plain, dev);
    *r = (recomputed){0};
    if (plain->most_bytes <= b.room) /* usually */
        return IG_OK;
    for (int i = 0; i < g->n_leaf; i++)
        b.room = room_beside(plain, i, g->leaf[i]->data, dev, b.room);
    const uint64_t bytes = plain->run_bytes;
    if (bytes <= b.room)
        return IG_OK;
    const int64_t began = trace_begin();
    ig_status status = search_all(&b, plain, r, s);
    trace_end(began, "recompute");
    if (status != IG_OK)
        return status;
    budget_count(*s, dev);
    (*s)->is_least = (*s)->run_bytes > b.room;
    if (*s == plain)
        return IG_OK;
    (*s)->plain_bytes = bytes;
    (*s)->limit = limit_of(dev);
    status = describe(&b, plain, r, *s);
    schedule_free(plain);
    return status;
}
