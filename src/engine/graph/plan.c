/* Planning memory: the live range of each slot, which slots share memory, and the offsets of temporaries
 * in one arena. Nothing is allocated while a schedule runs. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/graph.h"
#include <stdlib.h>
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

void schedule_live_ranges(schedule *s)
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
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < tapes[k]->n_inst; j++)
                if (tapes[k]->inst[j].code == TAPE_STORE)
                    s->slot[tapes[k]->operand[tapes[k]->inst[j].operand].slot].written = i;
        if (program_kinds[p->kind].core_output)
            s->slot[p->out.slot].written = i;
        for (int j = 0; p->kind == PROGRAM_KERNEL && j < p->post.n_operand; j++)
            s->slot[p->post.operand[j].slot].written = i;
    }
}

/* The operand whose value the i-th instruction, a store, writes unchanged; -1 if the value was computed. */
static int stored_operand(const tape *t, int i)
{
    for (int k = i - 1; k >= 0; k--)
        if (t->inst[k].dst == t->inst[i].a)
            return t->inst[k].code == TAPE_LOAD ? t->inst[k].operand : -1;
    return -1;
}

/* The slot that program p only copies, as a whole, to slot `to`; -1 if there is none. If both share memory, the program
 * has nothing to do. In a chain it could not be left out. */
static int copied_slot(const schedule *s, const program *p, int to)
{
    const tape *t = &p->pre;
    if (p->kind != PROGRAM_MAP || p->chain != 1 || t->n_inst != 2 || t->inst[0].code != TAPE_LOAD ||
        t->inst[1].code != TAPE_STORE || t->inst[1].a != t->inst[0].dst)
        return -1;
    const operand *from = &t->operand[t->inst[0].operand], *there = &t->operand[t->inst[1].operand];
    const int64_t bytes = view_size(&from->v) * (int64_t)ig_dtype_bytes(from->dtype);
    const bool whole = from->dtype == there->dtype && from->v.offset == 0 &&
                       view_is_contiguous(&from->v) && view_equal(&from->v, &there->v) &&
                       s->slot[from->slot].bytes == bytes && s->slot[to].bytes == bytes;
    return whole && there->slot == to && from->slot != to ? from->slot : -1;
}

static bool is_whole_copy(const schedule *s, const program *p)
{
    return p->kind == PROGRAM_MAP && p->pre.n_operand == 2 &&
           copied_slot(s, p, p->pre.operand[1].slot) == p->pre.operand[0].slot;
}

/* True if program p, which stores slot `to` and reads slot `from` for the last time, may do both in the
 * same memory: it only copies all of it, or one of its tapes loads and stores each element through the same view, and nothing else in p reads the
 * slot. A register may point into the memory that it was loaded from, so a value loaded from the slot may be neither
 * stored unchanged nor folded. */
static bool in_place(const schedule *s, const program *p, int from, int to)
{
    if (copied_slot(s, p, to) == from)
        return true;
    const bool in_post = tape_touches(&p->post, to);
    const tape *t = in_post ? &p->post : &p->pre, *other = in_post ? &p->pre : &p->post;
    const operand *store = NULL;
    if (!program_kinds[p->kind].has_epilogue || s->slot[from].bytes != s->slot[to].bytes ||
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
        if (t->inst[i].code != TAPE_LOAD || t->inst[i].dst == t->result ||
            ig_dtype_bytes(o->dtype) != ig_dtype_bytes(store->dtype) ||
            !view_equal(&o->v, &store->v))
            return false;
    }
    return store != NULL;
}

/* True if program p has finished reading slot `from` when it computes the value of slot `to`. */
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
            tape_needs_after(t, i, made))
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

/* True if program p may overwrite slot `from`, which no later program reads, with slot `to`. In a chain
 * all programs have rows in progress at once: then the chain must have written `from` itself, row by row,
 * or p must be its only program that reads it. */
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

/* The first program after all programs that may fail. No leaf is overwritten before it, so that a failure changes
 * nothing, except leaves that are expended. */
static int safe_from(const schedule *s)
{
    int i = s->n_program;
    while (i > 0 && !s->program[i - 1].may_fail)
        i--;
    return i;
}

/* The operands of both tapes of a program, one after the other. */
static const operand *operand_at(const program *p, int i)
{
    return i < p->pre.n_operand ? &p->pre.operand[i] : &p->post.operand[i - p->pre.n_operand];
}

/* The leaf, donated at least so, whose buffer slot i may use, or -1. Prefers one that is free when the slot is
 * computed: then it is computed in place, without a copy. */
static int leaf_for(const graph *g, const schedule *s, int i, graph_donation least)
{
    const int at = s->slot[i].first;
    const program *p = &s->program[at];
    int free = -1, found = -1;
    for (int o = 0; o < p->pre.n_operand + p->post.n_operand; o++) {
        const int k = operand_at(p, o)->slot;
        if (k >= g->n_leaf || g->donated[k] < least || s->slot[k].shares >= 0 ||
            !may_share(s, at, k, i))
            continue;
        int *best = copied_slot(s, p, i) == k || is_free_by_then(p, k, i) ? &free : &found;
        *best = *best < 0 || k < *best ? k : *best;
    }
    return free >= 0 ? free : found;
}

/* The temporary that may share the memory of slot i, or -1. */
static int temporary_for(const schedule *s, int i)
{
    const int at = s->slot[i].first;
    const program *p = &s->program[at];
    int found = -1;
    for (int o = 0; o < p->pre.n_operand + p->post.n_operand; o++) {
        const int k = operand_at(p, o)->slot;
        if ((found < 0 || k < found) && s->slot[k].kind == SLOT_TEMP && s->slot[k].shares < 0 &&
            may_share(s, at, k, i))
            found = k;
    }
    return found;
}

/* An output uses the buffer of a donated leaf, or shares its own with a temporary. The leaf or temporary must be read
 * for the last time by the program that writes the output. If that program only copies the temporary, as an
 * assignment to items does, the same holds for what the temporary was made from. */
static void share_outputs(const graph *g, schedule *s)
{
    const int safe = safe_from(s);
    for (int i = 0; i < s->n_slot; i++) {
        slot *out = &s->slot[i];
        if (out->kind != SLOT_OUT || out->first < 0) /* no program writes an assembly of nothing */
            continue;
        for (int to = i; to >= 0 && out->shares < 0;) {
            const int at = s->slot[to].first;
            out->shares = leaf_for(g, s, to, chain_start(s, at) >= safe ? DONATED : EXPENDED);
            if (out->shares >= 0) {
                s->slot[out->shares].shares = i;
                break;
            }
            const int k = temporary_for(s, to);
            if (k >= 0)
                s->slot[k].shares = i;
            to = k >= 0 && copied_slot(s, &s->program[at], to) == k ? k : -1;
        }
    }
}

/* The same for SLOT_ROWS. */
static void share_rows(const schedule *s, program *p)
{
    for (int i = 0; i < p->n_local; i++)
        for (int k = 0; k < i; k++) {
            bool taken = false;
            for (int j = 0; j < i; j++)
                taken = taken || (j != k && p->local[j].shares == p->local[k].shares && j > k);
            row_slot *mine = &p->local[i];
            if (!taken && mine->shares == i &&
                may_share(s, s->slot[mine->slot].first, p->local[k].slot, mine->slot))
                mine->shares = p->local[k].shares;
        }
}

/* A part of the arena that is in use. */
typedef struct range {
    int64_t begin, end;
    int next; /* of the same list, sorted and disjoint; or -1 */
} range;

/* The ranges that are in use by time: a segment tree over the programs, whose node v has the nodes 2 v and 2 v + 1 below
 * it. Two lists of ranges for each node: in use during all of its programs, and during some of them. */
typedef struct place_tree {
    int n_leaf, n_range, room;
    int *all, *some;
    range *range;
} place_tree;

enum { TREE_LEVELS = 32, TREE_LISTS = 6 * TREE_LEVELS };

/* The nodes that together have the programs from ... until; returns their number. */
static int tree_nodes(const place_tree *t, int from, int until, int node[2 * TREE_LEVELS])
{
    int n = 0;
    for (int l = from + t->n_leaf, r = until + t->n_leaf + 1; l < r; l /= 2, r /= 2) {
        if (l % 2)
            node[n++] = l++;
        if (r % 2)
            node[n++] = --r;
    }
    return n;
}

static ig_status list_add(place_tree *t, int *head, int64_t begin, int64_t end)
{
    if (!memory_room(&t->range, t->n_range, &t->room, sizeof *t->range))
        return IG_ERR_MEMORY;
    int *at = head;
    while (*at >= 0 && t->range[*at].end < begin)
        at = &t->range[*at].next;
    if (*at < 0 || t->range[*at].begin > end) {
        t->range[t->n_range] = (range){begin, end, *at};
        *at = t->n_range++;
        return IG_OK;
    }
    range *r = &t->range[*at];
    r->begin = begin < r->begin ? begin : r->begin;
    for (r->end = end > r->end ? end : r->end; r->next >= 0 && t->range[r->next].begin <= r->end;
         r->next = t->range[r->next].next)
        r->end = t->range[r->next].end > r->end ? t->range[r->next].end : r->end;
    return IG_OK;
}

static ig_status tree_add(place_tree *t, int from, int until, int64_t begin, int64_t end)
{
    int node[2 * TREE_LEVELS];
    for (int i = tree_nodes(t, from, until, node) - 1; i >= 0; i--)
        TRY(list_add(t, &t->all[node[i]], begin, end));
    for (int v = from + t->n_leaf, w = until + t->n_leaf; v > 0; v /= 2, w /= 2) {
        TRY(list_add(t, &t->some[v], begin, end));
        if (w != v)
            TRY(list_add(t, &t->some[w], begin, end));
    }
    return IG_OK;
}

/* The lowest offset at which `bytes` bytes are not in use during the programs from ... until. */
static int64_t tree_lowest(const place_tree *t, int from, int until, int64_t bytes)
{
    int node[2 * TREE_LEVELS], list[TREE_LISTS], n = 0;
    for (int i = tree_nodes(t, from, until, node) - 1; i >= 0; i--) {
        list[n++] = t->all[node[i]];
        list[n++] = t->some[node[i]];
    }
    for (int v = from + t->n_leaf, w = until + t->n_leaf; v > 0; v /= 2, w /= 2) {
        list[n++] = t->all[v];
        list[n++] = t->all[w];
    }
    int64_t at = 0;
    for (int i = 0, fits = 0; fits < n; i = (i + 1) % n) { /* until it fits in all of them */
        while (list[i] >= 0 && t->range[list[i]].end <= at)
            list[i] = t->range[list[i]].next;
        const bool free = list[i] < 0 || t->range[list[i]].begin >= at + bytes;
        at = free ? at : t->range[list[i]].end;
        fits = free ? fits + 1 : 0;
    }
    return at;
}

/* A part of the arena: the memory of one slot, and of the slots that overwrite it in place. */
typedef struct extent {
    int64_t begin, bytes;
    int from, until; /* programs during which it is in use */
    int slot;        /* the latest slot in it */
    int next;        /* another extent whose latest slot has the same last reader, or -1 */
} extent;

/* The arena while it is laid out. */
typedef struct arena {
    extent *extent; /* in the order of first writes */
    int *of;        /* of each slot: its extent */
    int *ended;     /* of each program: an extent whose latest slot it is the last to read, or -1 */
    extent **order; /* by size */
    place_tree placed;
    int n;
} arena;

/* Slot i takes the first extent whose slot its first program may overwrite, or a new one. */
static void take_extent(const schedule *s, arena *a, int i)
{
    const slot *t = &s->slot[i];
    int *found = NULL, k;
    for (int *at = &a->ended[t->first]; *at >= 0; at = &a->extent[*at].next)
        if ((!found || *at < *found) && may_share(s, t->first, a->extent[*at].slot, i))
            found = at;
    if (found) {
        k = *found;
        *found = a->extent[k].next;
    } else {
        k = a->n++;
        a->extent[k] = (extent){.bytes = aligned(t->bytes), .from = t->from};
    }
    a->extent[k].until = t->until;
    a->extent[k].slot = i;
    a->extent[k].next = a->ended[t->last];
    a->ended[t->last] = k;
    a->of[i] = k;
}

/* The largest first; equal sizes keep their order. */
static int compare_extents(const void *x, const void *y)
{
    const extent *a = *(extent *const *)x, *b = *(extent *const *)y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : (a > b) - (a < b);
}

/* Large extents are placed first: small ones fit between them. The reverse order would fragment the arena. */
static ig_status lay_out(schedule *s, arena *a)
{
    for (int k = 0; k < a->n; k++)
        a->order[k] = &a->extent[k];
    qsort(a->order, (size_t)a->n, sizeof *a->order, compare_extents);
    for (int k = 0; k < a->n; k++) {
        extent *e = a->order[k];
        e->begin = tree_lowest(&a->placed, e->from, e->until, e->bytes);
        const int64_t end = e->begin + e->bytes;
        TRY(tree_add(&a->placed, e->from, e->until, e->begin, end));
        s->arena_bytes = end > s->arena_bytes ? end : s->arena_bytes;
    }
    return IG_OK;
}

static bool is_in_arena(const slot *t)
{
    return t->kind == SLOT_TEMP && t->first >= 0 && t->shares < 0;
}

static ig_status place_temporaries(schedule *s)
{
    const size_t n = (size_t)s->n_slot + 1, m = (size_t)s->n_program + 1;
    arena a = {.extent = memory_get(n * sizeof *a.extent),
               .of = memory_get(n * sizeof *a.of),
               .order = memory_get(n * sizeof *a.order),
               .placed.n_leaf = 1};
    place_tree *t = &a.placed;
    while (t->n_leaf < s->n_program)
        t->n_leaf *= 2;
    const size_t nodes = 2 * (size_t)t->n_leaf;
    int *head = memory_get((2 * m + 2 * nodes + n) * sizeof *head);
    ig_status status = a.extent && a.of && a.order && head ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        memset(head, -1, (2 * m + 2 * nodes) * sizeof *head);
        a.ended = head + m;
        t->all = head + 2 * m;
        t->some = t->all + nodes;
        int *next = t->some + nodes; /* lists of slots by their first program */
        for (int i = s->n_slot - 1; i >= 0; i--)
            if (is_in_arena(&s->slot[i])) {
                next[i] = head[s->slot[i].first];
                head[s->slot[i].first] = i;
            }
        for (int p = 0; p < s->n_program; p++)
            for (int i = head[p]; i >= 0; i = next[i])
                take_extent(s, &a, i);
        status = lay_out(s, &a);
        for (int i = 0; i < s->n_slot; i++)
            if (is_in_arena(&s->slot[i]))
                s->slot[i].offset = a.extent[a.of[i]].begin;
    }
    memory_free(t->range);
    memory_free(a.extent);
    memory_free(a.of);
    memory_free(a.order);
    memory_free(head);
    return status;
}

ig_status schedule_plan(const graph *g, schedule *s)
{
    share_outputs(g, s);
    for (int i = 0; i < s->n_program; i++)
        share_rows(s, &s->program[i]);
    for (int i = 0; i < s->n_program; i++)
        s->program[i].is_copy = is_whole_copy(s, &s->program[i]);
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_OUT && s->slot[i].shares < 0)
            s->out_bytes += s->slot[i].bytes;
    return place_temporaries(s);
}
