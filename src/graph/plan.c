/* Planning buffers: how long each slot lives, which slots share memory, and where in one arena the
 * temporaries lie. Nothing is allocated while a schedule runs. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include <string.h>

enum { ALIGN = 64 };

static int64_t aligned(int64_t size) { return (size + ALIGN - 1) / ALIGN * ALIGN; }

static void touch(schedule *s, int slot_index, int program_index)
{
    slot *t = &s->slot[slot_index];
    if (t->first < 0)
        t->first = program_index;
    t->last = program_index;
}

void schedule_lifetimes(schedule *s)
{
    for (int i = 0; i < s->n_program; i++) {
        const program *p = &s->program[i];
        const tape *tapes[2] = {&p->pre, &p->post};
        int core[3];
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < tapes[k]->n_operand; j++)
                touch(s, tapes[k]->operand[j].slot, i);
        for (int k = program_core_slots(p, core) - 1; k >= 0; k--)
            touch(s, core[k], i);
    }
}

/* The operand that the register of the i-th instruction, a store, was loaded from in place, or -1. */
static int stored_operand(const tape *t, int i)
{
    for (int k = i - 1; k >= 0; k--)
        if (t->inst[k].dst == t->inst[i].a)
            return t->inst[k].code == TAPE_LOAD ? t->inst[k].operand : -1;
    return -1;
}

/* True if program p, which stores slot `to` and reads slot `from` for the last time, may do so in
 * one and the same memory: one of its tapes reads each element just where it writes it, and nothing
 * else of it reads the slot. A register may point at what it loaded, so nothing that was loaded from
 * there may itself be stored. */
static bool in_place(const schedule *s, const program *p, int from, int to)
{
    const bool behind = tape_touches(&p->post, to);
    const tape *t = behind ? &p->post : &p->pre, *other = behind ? &p->pre : &p->post;
    const operand *store = NULL;
    if (p->kind > PROGRAM_CONTRACT || s->slot[from].bytes != s->slot[to].bytes ||
        tape_touches(other, from) || tape_touches(other, to) || program_core_touches(p, from))
        return false;
    for (int i = 0; i < t->n_inst; i++) {
        if (t->inst[i].code != TAPE_STORE)
            continue;
        int loaded = stored_operand(t, i);
        if (loaded >= 0 && t->operand[loaded].slot == from)
            return false;
        if (t->operand[t->inst[i].operand].slot == to)
            store = &t->operand[t->inst[i].operand];
    }
    for (int i = 0; i < t->n_inst && store; i++) {
        const operand *o = t->inst[i].operand < 0 ? NULL : &t->operand[t->inst[i].operand];
        if (!o || o->slot != from)
            continue;
        if (t->inst[i].code != TAPE_LOAD ||
            ig_dtype_bytes(o->dtype) != ig_dtype_bytes(store->dtype) ||
            !view_equal(&o->v, &store->v))
            return false;
    }
    return store != NULL;
}

/* True if program p has no more need of slot `from` when it computes what it stores in slot `to`. */
static bool is_free_by_then(const program *p, int from, int to)
{
    const tape *t = tape_touches(&p->post, to) ? &p->post : &p->pre;
    int made = t->n_inst - 1;
    while (made >= 0 &&
           (t->inst[made].code != TAPE_STORE || t->operand[t->inst[made].operand].slot != to))
        made--;
    const int value = made >= 0 ? t->inst[made].a : -1;
    while (made >= 0 && (t->inst[made].code == TAPE_STORE || t->inst[made].dst != value))
        made--;
    for (int i = 0; i < t->n_inst; i++)
        if (t->inst[i].code == TAPE_LOAD && t->operand[t->inst[i].operand].slot == from &&
            tape_needs_behind(t, i, made))
            return false;
    return true;
}

/* The first program of the chain to which program p belongs. */
static int chain_start(const schedule *s, int p)
{
    while (s->program[p].chain == 0)
        p--;
    return p;
}

/* True if program p may write slot `to` over slot `from`, which nobody reads after it. In a chain rows
 * are under way in all programs at once: then `from` must be of the chain itself, where everybody keeps
 * to his row, or p must be the only one of the chain who reads it. */
static bool may_share(const schedule *s, int p, int from, int to)
{
    const slot *f = &s->slot[from];
    if (f->last != p || s->slot[to].first != p || !in_place(s, &s->program[p], from, to))
        return false;
    int start = chain_start(s, p);
    bool made_here = f->kind != SLOT_LEAF && f->first >= start, alone = f->kind == SLOT_LEAF;
    for (int i = start; i < p && alone; i++)
        alone = !program_touches(&s->program[i], from);
    return s->program[start].chain == 1 || made_here || alone;
}

/* True if the program may come upon an index out of bounds, or a kernel's assertion. */
static bool may_fail(const program *p)
{
    const tape *tapes[2] = {&p->pre, &p->post};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < tapes[k]->n_inst; i++)
            if (tapes[k]->inst[i].code == TAPE_READ)
                return true;
    return p->kind == PROGRAM_WRITE || p->kind == PROGRAM_KERNEL;
}

/* The first program behind all that may fail. Leaves are not written over before it, so that after a
 * failure everything is as it was. */
static int safe_from(const schedule *s)
{
    int i = s->n_program;
    while (i > 0 && !may_fail(&s->program[i - 1]))
        i--;
    return i;
}

/* The donated leaf whose buffer output i may take: best one that is free when the output is computed,
 * which is then written there at once. -1: there is none. */
static int leaf_for(const graph *g, const schedule *s, int i)
{
    const int at = s->slot[i].first;
    int found = -1;
    for (int k = 0; k < g->n_leaf; k++) {
        if (!g->donated[k] || s->slot[k].home >= 0 || !may_share(s, at, k, i))
            continue;
        if (is_free_by_then(&s->program[at], k, i))
            return k;
        found = found < 0 ? k : found;
    }
    return found;
}

/* An output takes the buffer of a donated leaf, or gives its own to a temporary, that is read for the
 * last time where the output is written. */
static void share_outputs(const graph *g, schedule *s)
{
    const int safe = safe_from(s);
    for (int i = 0; i < s->n_slot; i++) {
        slot *out = &s->slot[i];
        if (out->kind != SLOT_OUT || out->first < 0) /* no program writes an assembly of nothing */
            continue;
        out->home = chain_start(s, out->first) >= safe ? leaf_for(g, s, i) : -1;
        if (out->home >= 0)
            s->slot[out->home].home = i;
        for (int k = 0; k < s->n_slot && out->home < 0; k++)
            if (s->slot[k].kind == SLOT_TEMP && s->slot[k].home < 0 &&
                may_share(s, out->first, k, i)) {
                s->slot[k].home = i;
                break;
            }
    }
}

/* The same for what a chain keeps by rows. */
static void share_rows(const schedule *s, program *p)
{
    for (int i = 0; i < p->n_local; i++)
        for (int k = 0; k < i; k++) {
            bool taken = false;
            for (int j = 0; j < i; j++)
                taken = taken || (j != k && p->local[j].home == p->local[k].home && j > k);
            row_slot *mine = &p->local[i];
            if (!taken && mine->home == i &&
                may_share(s, s->slot[mine->slot].first, p->local[k].slot, mine->slot))
                mine->home = p->local[k].home;
        }
}

/* A stretch of the arena that is taken. */
typedef struct extent {
    int64_t begin, end;
    int until; /* the last program for which it is taken */
    int slot;
} extent;

/* The arena while it is laid out: stretches sorted by begin. */
typedef struct arena {
    extent *taken;
    int n;
} arena;

/* First fit for slot i, which program s->slot[i].first writes. It may lie in one that this program
 * reads for the last time. */
static void place(schedule *s, arena *a, int i)
{
    slot *t = &s->slot[i];
    extent *taken = a->taken;
    int64_t size = aligned(t->bytes), begin = 0;
    int at = 0;
    for (int k = 0; k < a->n; k++) /* forget those that are free by now */
        if (taken[k].until >= t->from)
            taken[at++] = taken[k];
    a->n = at;
    for (int k = 0; k < a->n; k++)
        if (may_share(s, t->first, taken[k].slot, i)) {
            t->offset = taken[k].begin;
            taken[k].until = t->until;
            taken[k].slot = i;
            return;
        }
    for (at = 0; at < a->n && taken[at].begin - begin < size; at++)
        begin = taken[at].end > begin ? taken[at].end : begin;
    memmove(taken + at + 1, taken + at, (size_t)(a->n - at) * sizeof *taken);
    taken[at] = (extent){begin, begin + size, t->until, i};
    a->n++;
    t->offset = begin;
    s->arena_bytes = begin + size > s->arena_bytes ? begin + size : s->arena_bytes;
}

static ig_status place_temporaries(schedule *s)
{
    size_t n = (size_t)s->n_slot + 1, m = (size_t)s->n_program + 1;
    arena a = {.taken = memory_get(n * sizeof *a.taken)};
    int *head = memory_get((m + n) * sizeof *head), *next = head ? head + m : NULL;
    if (a.taken && head) {
        /* Lists of the slots that each program writes first. */
        memset(head, -1, m * sizeof *head);
        for (int i = s->n_slot - 1; i >= 0; i--)
            if (s->slot[i].kind == SLOT_TEMP && s->slot[i].first >= 0 && s->slot[i].home < 0) {
                next[i] = head[s->slot[i].first];
                head[s->slot[i].first] = i;
            }
        for (int p = 0; p < s->n_program; p++)
            for (int i = head[p]; i >= 0; i = next[i])
                place(s, &a, i);
    }
    bool ok = a.taken && head;
    memory_free(a.taken);
    memory_free(head);
    return ok ? IG_OK : IG_ERR_MEMORY;
}

ig_status schedule_plan(const graph *g, schedule *s)
{
    share_outputs(g, s);
    for (int i = 0; i < s->n_program; i++)
        share_rows(s, &s->program[i]);
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_OUT && s->slot[i].home < 0)
            s->out_bytes += s->slot[i].bytes;
    return place_temporaries(s);
}
