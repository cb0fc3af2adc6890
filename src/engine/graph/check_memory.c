/* The check of schedules: memory. The live ranges of slots that share a byte do not overlap, with one exception: the
 * last program that uses a slot may be the first that uses the next one, if it replaces each element in place, at the
 * same point. */
#include "engine/graph/check.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { ALIGN = 64 };

/* ---- where slots are ---- */

/* The slot whose rows slot k uses. */
static int rows_owner(const checker *c, int k)
{
    const program *p = c->first[k] < 0 ? NULL : &c->s->program[c->launch[c->first[k]]];
    for (int i = 0; p && i < p->n_local; i++)
        if (p->local[i].slot == k)
            return p->local[p->local[i].shares].slot;
    return k;
}

static place place_of(const checker *c, int k)
{
    const schedule *s = c->s;
    while (s->slot[k].kind != SLOT_LEAF && s->slot[k].shares >= 0)
        k = s->slot[k].shares;
    if (s->slot[k].kind == SLOT_ROWS)
        return (place){rows_owner(c, k), 0};
    return s->slot[k].kind == SLOT_TEMP ? (place){-1, s->slot[k].offset} : (place){k, 0};
}

/* Allowed sharing: an output uses the buffer of a donated leaf, or a temporary the buffer of an output. */
static ig_status check_sharing(const checker *c, int k)
{
    const schedule *s = c->s;
    const slot *t = &s->slot[k];
    const slot *to = t->shares >= 0 && t->shares < s->n_slot ? &s->slot[t->shares] : NULL;
    if (t->shares >= 0 && !to)
        return schedule_broken(c, "sharing", -1, k, "it shares slot %d of %d", t->shares,
                               s->n_slot);
    if (to && to->bytes != t->bytes)
        return schedule_broken(c, "sharing", -1, k,
                               "it has %lld bytes, the slot that it shares has %lld",
                               (long long)t->bytes, (long long)to->bytes);
    const bool leaf_out = to && t->kind == SLOT_LEAF && to->kind == SLOT_OUT;
    const bool out_leaf = to && t->kind == SLOT_OUT && to->kind == SLOT_LEAF;
    if ((leaf_out || out_leaf) &&
        (to->shares != k || !c->g->donated[out_leaf ? to->index : t->index]))
        return schedule_broken(c, "donation", c->first[out_leaf ? k : t->shares],
                               out_leaf ? t->shares : k,
                               "an output takes its buffer, but it is not donated");
    if (to && !leaf_out && !out_leaf && !(t->kind == SLOT_TEMP && to->kind == SLOT_OUT))
        return schedule_broken(c, "sharing", -1, k, "slots of these kinds do not share memory");
    if (t->kind == SLOT_TEMP && !to && c->first[k] >= 0 &&
        (t->offset < 0 || t->offset % ALIGN != 0 || t->offset > s->arena_bytes - t->bytes))
        return schedule_broken(
            c, "arena", -1, k, "%lld bytes at %lld do not fit the arena of %lld bytes",
            (long long)t->bytes, (long long)t->offset, (long long)s->arena_bytes);
    return IG_OK;
}

ig_status schedule_check_places(checker *c)
{
    for (int k = 0; k < c->s->n_slot; k++)
        TRY(check_sharing(c, k));
    for (int k = 0; k < c->s->n_slot; k++)
        c->place[k] = place_of(c, k);
    return IG_OK;
}

/* ---- in place ---- */

/* True if instruction `used` or a later one of the tape uses the value that instruction `load` loaded. */
static bool is_used_from(const tape *t, int load, int used)
{
    const int value = t->inst[load].dst;
    bool uses = t->result == value || load >= used;
    for (int i = used; i < t->n_inst && !uses; i++)
        uses = t->inst[i].a == value || t->inst[i].b == value || t->inst[i].c == value;
    return uses;
}

/* True if the launch of program p only moves values of slot `old` to slot `new`: in the same memory, nothing
 * changes. */
static bool only_copies(const checker *c, int p, int old, int new)
{
    const access *a = &c->access[c->begin[p]];
    return c->begin[p + 1] - c->begin[p] == 2 && c->launch[p] == c->end[p] && a[0].slot == old &&
           a[1].slot == new &&
           !a[0].writes &&a[1].writes &&a[0].by_points &&a[0].t &&a[0].t ==
               a[1].t &&a[0].t->n_inst == 2 &&
           a[0].t->inst[1].a == a[0].t->inst[0].dst &&a[0].o->dtype ==
               a[1].o->dtype &&reach_is_same_walk(&a[0].o->v, &a[1].o->v);
}

/* Program p uses slot `old` for the last time and slot `new`, in the same memory, for the first. A register may point
 * into the memory that it was loaded from. So the last use of each loaded value must come before the store. */
static ig_status check_in_place(const checker *c, int p, int old, int new)
{
    static const char rule[] = "in place";
    const access *store = NULL;
    if (only_copies(c, p, old, new))
        return IG_OK;
    for (int i = c->begin[p]; i < c->begin[p + 1]; i++) {
        const access *a = &c->access[i];
        if (a->slot == new && (!a->writes || !a->t || store))
            return schedule_broken(c, rule, p, new, "it is not written by one store");
        store = a->slot == new ? a : store;
    }
    for (int i = c->begin[p]; i < c->begin[p + 1]; i++) {
        const access *a = &c->access[i];
        if (a->slot != old)
            continue;
        if (a->writes || !a->by_points || a->t != store->t)
            return schedule_broken(c, rule, p, old,
                                   "another part of the program uses it, but it is overwritten");
        if (a->element_bytes != store->element_bytes || !reach_is_same_walk(&a->o->v, &store->o->v))
            return schedule_broken(c, rule, p, old,
                                   "a point reads an element that another point overwrites");
        if (is_used_from(a->t, a->inst, store->inst))
            return schedule_broken(c, rule, p, old,
                                   "value %d is used after its memory is overwritten",
                                   a->t->inst[a->inst].dst);
    }
    return IG_OK;
}

/* ---- live ranges ---- */

/* When the memory of slot k is in use, as program numbers: from the start of a launch to its end; for SLOT_ROWS, single
 * programs of the chain. */
static int live_from(const checker *c, int k)
{
    const slot_kind kind = c->s->slot[k].kind;
    return kind == SLOT_LEAF ? -1 : kind == SLOT_ROWS ? c->first[k] : c->launch[c->first[k]];
}

static int live_until(const checker *c, int k)
{
    const slot_kind kind = c->s->slot[k].kind;
    return kind == SLOT_OUT ? c->s->n_program : kind == SLOT_ROWS ? c->last[k] : c->end[c->last[k]];
}

/* a and b use some of the same bytes. */
static ig_status check_pair(const checker *c, int a, int b)
{
    const int old = live_from(c, a) < live_from(c, b) ||
                            (live_from(c, a) == live_from(c, b) && c->last[a] <= c->first[b])
                        ? a
                        : b;
    const int new = old == a ? b : a;
    const bool same = c->place[old].begin == c->place[new].begin &&
                      c->s->slot[old].bytes == c->s->slot[new].bytes;
    char name[16];
    if (live_until(c, old) < live_from(c, new))
        return IG_OK;
    if (c->s->slot[old].kind != SLOT_OUT && same && c->last[old] == c->first[new])
        return check_in_place(c, c->first[new], old, new);
    /* Further apart in one chain: if they have the same rows, each row has finished with `old` when it begins `new`. */
    if (c->s->slot[old].kind != SLOT_OUT && same && c->last[old] < c->first[new])
        return IG_OK;
    return schedule_broken(c, "one value in memory", c->first[new], new,
                           "it uses memory of slot %s, which programs %d to %d use",
                           schedule_slot_name(c->s, old, name), c->first[old] + 1,
                           c->s->slot[old].kind == SLOT_OUT ? c->s->n_program : c->last[old] + 1);
}

/* A slot and its place, for sorting. */
typedef struct placed {
    place at;
    int64_t bytes;
    int slot;
} placed;

static int compare_places(const void *x, const void *y)
{
    const placed *a = x, *b = y;
    if (a->at.space != b->at.space)
        return a->at.space < b->at.space ? -1 : 1;
    return (a->at.begin > b->at.begin) - (a->at.begin < b->at.begin);
}

static ig_status check_pairs(const checker *c, placed *all)
{
    int n = 0;
    for (int k = 0; k < c->s->n_slot; k++)
        if (c->first[k] >= 0 && c->s->slot[k].bytes > 0)
            all[n++] = (placed){c->place[k], c->s->slot[k].bytes, k};
    qsort(all, (size_t)n, sizeof *all, compare_places);
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n && all[k].at.space == all[i].at.space &&
                            all[k].at.begin < all[i].at.begin + all[i].bytes;
             k++)
            TRY(check_pair(c, all[i].slot, all[k].slot));
    return IG_OK;
}

/* ---- programs ---- */

static bool may_fail(const program *p)
{
    const tape *tapes[2] = {&p->pre, &p->post};
    bool fails = p->kind == PROGRAM_KERNEL || p->kind == PROGRAM_WRITE;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < tapes[k]->n_inst && !fails; i++)
            fails = tapes[k]->inst[i].code == TAPE_READ ||
                    (tapes[k]->inst[i].code == TAPE_UNPACK && tapes[k]->inst[i].a >= 0);
    return fails;
}

/* A failure must leave donated leaves as they were, unless they are expended. */
static ig_status check_donations(const checker *c)
{
    const schedule *s = c->s;
    int last = -1;
    for (int i = 0; i < s->n_program; i++)
        last = may_fail(&s->program[i]) ? i : last;
    for (int k = 0; k < s->n_slot; k++)
        if (s->slot[k].kind != SLOT_LEAF && c->first[k] >= 0 && c->place[k].space >= 0 &&
            s->slot[c->place[k].space].kind == SLOT_LEAF &&
            c->g->donated[c->place[k].space] != EXPENDED && c->launch[c->first[k]] <= last)
            return schedule_broken(c, "donation", c->first[k], k,
                                   "it overwrites an input before program %d, which may fail",
                                   last + 1);
    return IG_OK;
}

/* No program reads a slot that it writes, except that a scatter reads its base and a kernel its results. */
static ig_status check_own(const checker *c, int p)
{
    const program_kind kind = c->s->program[p].kind;
    if (kind == PROGRAM_KERNEL)
        return IG_OK;
    for (int i = c->begin[p]; i < c->begin[p + 1]; i++)
        for (int k = c->begin[p]; k < c->begin[p + 1] && c->access[i].writes; k++) {
            const access *a = &c->access[k];
            const bool base = kind == PROGRAM_WRITE && a->element_bytes == 0;
            if (!a->writes && !base && a->slot == c->access[i].slot)
                return schedule_broken(c, "in place", p, a->slot,
                                       "the program reads what it writes");
        }
    return IG_OK;
}

ig_status schedule_check_memory(const checker *c)
{
    const schedule *s = c->s;
    for (int p = 0; p < s->n_program; p++)
        TRY(check_own(c, p));
    TRY(check_donations(c));
    placed *all = memory_get((size_t)(s->n_slot + 1) * sizeof *all);
    if (!all)
        return IG_ERR_MEMORY;
    const ig_status status = check_pairs(c, all);
    memory_free(all);
    return status;
}

/* ---- launches at the same time ---- */

static bool conflict(const checker *c, const access *a, const access *b)
{
    const place x = c->place[a->slot], y = c->place[b->slot];
    return (a->writes || b->writes) && x.space == y.space &&
           x.begin < y.begin + c->s->slot[b->slot].bytes &&
           y.begin < x.begin + c->s->slot[a->slot].bytes;
}

/* follows[i * n + k]: launch i follows launch k. number: the launch of each program. */
static ig_status check_follows(const checker *c, const bool *follows, const int *number)
{
    const size_t n = (size_t)c->n_after;
    for (int i = 0; i < c->n_access; i++)
        for (int k = 0; k < i; k++) {
            const access *a = &c->access[i], *b = &c->access[k];
            const int mine = number[a->program], other = number[b->program];
            if (mine != other && conflict(c, a, b) && !follows[(size_t)mine * n + (size_t)other])
                return schedule_broken(c, "order of launches", a->program, a->slot,
                                       "it does not follow program %d, which uses the same memory",
                                       b->program + 1);
        }
    return IG_OK;
}

ig_status schedule_check_after(checker *c)
{
    const size_t n = (size_t)c->n_after;
    bool *follows = memory_new(n * n + 1);
    int *number = memory_new((size_t)(c->s->n_program + 1) * sizeof *number);
    ig_status status = follows && number ? IG_OK : IG_ERR_MEMORY;
    for (int k = 0; k < c->s->n_slot; k++)
        c->place[k] = place_of(c, k);
    for (int i = 0; i < c->s->n_program && number; i++)
        number[i] = i == 0 ? 0 : number[i - 1] + (c->launch[i] == i);
    for (size_t i = 0; i < n && status == IG_OK; i++)
        for (int e = c->after_first[i]; e < c->after_first[i + 1]; e++) {
            const size_t direct = (size_t)c->after_chain[e];
            follows[i * n + direct] = true;
            for (size_t k = 0; k < direct; k++)
                follows[i * n + k] |= follows[direct * n + k];
        }
    if (status == IG_OK)
        status = check_follows(c, follows, number);
    memory_free(follows);
    memory_free(number);
    return status;
}
