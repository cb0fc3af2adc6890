/* Chains: adjacent programs that can run row by row together.
 *
 * A softmax is three programs, but each row of each depends only on the same row of the earlier programs. Such programs
 * are marked as a chain, so that a backend can run some rows through all of them while they are in its cache. The
 * results are the same bits. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/graph.h"
#include "engine/program/rounded.h"
#include <stdlib.h>

/* Longer rows do not fit a cache: the caches of a core, or the cache of a GPU, in which all blocks have a row. */
enum { ROW_MOST = 1 << 15, DEVICE_ROW_MOST = 1 << 16, CHAIN_MOST = 16 };

/* True if, through v, each point of row r of a space (outer, inner) reaches only elements of row r of the
 * buffer, whose rows have `own` elements. */
static bool is_row_local(const view *v, int64_t outer, int64_t inner, int64_t own)
{
    if (v->offset != 0)
        return false;
    if (own == inner && view_is_contiguous(v))
        return true;
    /* Leading axes step from row to row; the others stay within a row. */
    int axis = v->ndim;
    int64_t points = 1;
    while (axis > 0 && points < inner)
        points *= v->shape[--axis];
    if (points != inner)
        return false;
    int64_t low = 0, high = 0, step = own;
    for (int i = axis; i < v->ndim; i++)
        *(v->stride[i] < 0 ? &low : &high) += v->stride[i] * (v->shape[i] - 1);
    for (int i = axis - 1; i >= 0; i--) {
        if (v->stride[i] != step)
            return false;
        step *= v->shape[i];
    }
    return low >= 0 && high < own && step == own * outer;
}

/* Points of a row of tape t if it has `outer` rows; 0 if the size is not a multiple. */
static int64_t row_points(const tape *t, int64_t outer)
{
    return t->size % outer == 0 ? t->size / outer : 0;
}

/* True if no program from `first` on writes the slot. Then the programs of a chain that begins there may read any
 * element of it. */
static bool is_complete(const slot *t, int first) { return t->written < first; }

/* True if the tape accesses slots that programs of the chain write only row by row. */
static bool tape_fits(const schedule *s, const tape *t, int64_t outer, int first,
                      const schedule_rules *rules)
{
    int64_t inner = row_points(t, outer);
    if (t->n_inst == 0)
        return true;
    if (inner == 0 || inner > (rules->warp_points ? DEVICE_ROW_MOST : ROW_MOST))
        return false;
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->operand < 0)
            continue;
        const operand *o = &t->operand[inst->operand];
        const slot *b = &s->slot[o->slot];
        bool stored = inst->code == TAPE_STORE;
        if (!stored && is_complete(b, first))
            continue;
        int64_t elements = b->bytes / (int64_t)ig_dtype_bytes(o->dtype);
        bool walked = stored || inst->code == TAPE_LOAD;
        if (!walked || elements % outer != 0 ||
            !is_row_local(&o->v, outer, inner, elements / outer))
            return false;
    }
    return true;
}

/* True if a program can be in a chain of `outer` rows: the rows of a reduction, or (b, m) of a contraction. */
static bool has_rows(const program *p, int64_t outer)
{
    return p->kind == PROGRAM_MAP || (p->kind == PROGRAM_REDUCE && p->outer == outer) ||
           (p->kind == PROGRAM_CONTRACT && p->extent[0] * p->extent[1] == outer);
}

/* True if the core reads only complete slots, and rows (b, m) of others. */
static bool core_fits(const schedule *s, const program *p, int64_t outer, int first)
{
    for (int i = 0; i < program_kinds[p->kind].core_inputs; i++) {
        const slot *t = &s->slot[p->in[i].slot];
        const int64_t own = t->bytes / (int64_t)ig_dtype_bytes(p->dtype) / outer;
        if (!is_complete(t, first) && (cut_rules[p->kind].in[i] != SEES_LEFT ||
                                       !is_row_local(&p->in[i].v, outer, p->extent[3], own)))
            return false;
    }
    return true;
}

/* Bytes of in[1] of a contraction, if it is the same for all batches; else 0. Bytes of i8 count more: they are multiplied
 * so fast that packing them for each launch of a chain, instead of once, costs more than the chain saves. */
static int64_t matrix_bytes(const program *p)
{
    enum { PACKED_ONCE = 8 };
    const int64_t weight = p->dtype == IG_I8 ? PACKED_ONCE : 1;
    for (int i = 0; i < p->ndim[0]; i++)
        if (p->in[1].v.shape[i] > 1 && p->in[1].v.stride[i] != 0)
            return 0;
    return p->extent[2] * p->extent[3] * (int64_t)ig_dtype_bytes(p->dtype) * weight;
}

static bool can_chain(const schedule *s, const program *p, int64_t outer, int first,
                      const schedule_rules *rules)
{
    const bool fits = p->kind != PROGRAM_CONTRACT || rules->chain_matrix_bytes == 0 ||
                      matrix_bytes(p) <= rules->chain_matrix_bytes;
    return has_rows(p, outer) && fits && !program_may_round(p) && core_fits(s, p, outer, first) &&
           !program_is_span(p) && tape_fits(s, &p->pre, outer, first, rules) &&
           tape_fits(s, &p->post, outer, first, rules);
}

/* True if one of programs [first, p) uses the slot and it has more than a few bytes. Reading the same leaf
 * as a contraction does not count: it is not read by the same rows. */
static bool is_shared(const schedule *s, int index, int first, int p)
{
    enum { FEW_BYTES = 64 };
    const slot *t = &s->slot[index];
    if (t->bytes <= FEW_BYTES ||
        (s->program[first].kind == PROGRAM_CONTRACT && is_complete(t, first)))
        return false;
    for (int i = first; i < p; i++)
        if (program_touches(&s->program[i], index))
            return true;
    return false;
}

/* True if program p and one of [first, p) use the same rows. Otherwise running them together gains nothing
 * and extends live ranges. */
static bool shares_rows(const schedule *s, int first, int p)
{
    const program *own = &s->program[p];
    const tape *tapes[2] = {&own->pre, &own->post};
    int core[3];
    bool shares = p == first;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < tapes[k]->n_operand && !shares; i++)
            shares = is_shared(s, tapes[k]->operand[i].slot, first, p);
    for (int i = program_core_slots(own, core) - 1; i >= 0 && !shares; i--)
        shares = is_shared(s, core[i], first, p);
    return shares;
}

/* True if the rows of a reduction lie across memory, as columns of a matrix do. Operands that repeat their elements do not
 * count: they are small. */
static bool lies_across(const program *p)
{
    const tape *t = &p->pre;
    int votes = 0;
    for (int i = 0; i < t->n_inst && p->kind == PROGRAM_REDUCE; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->code != TAPE_LOAD && inst->code != TAPE_STORE)
            continue;
        const view *v = &t->operand[inst->operand].v;
        bool along = v->ndim > 0 && v->stride[v->ndim - 1] == 1, across = false, repeats = false;
        for (int axis = 0; axis < v->ndim; axis++) {
            across = across || (axis < v->ndim - 1 && v->stride[axis] == 1);
            repeats = repeats || v->stride[axis] == 0;
        }
        votes += repeats ? 0 : across - along;
    }
    return votes > 0;
}

/* True if a reduction of rows across memory reads nothing that programs from `first` on compute. Alone, it folds
 * neighbouring rows together, which costs less than what a shared input saves. */
static bool folds_alone(const schedule *s, const program *p, int first)
{
    if (!lies_across(p))
        return false;
    for (int i = 0; i < p->pre.n_operand; i++)
        if (s->slot[p->pre.operand[i].slot].written >= first &&
            s->slot[p->pre.operand[i].slot].written != p - s->program)
            return false;
    return true;
}

/* Rows of the chain that could start with program i: the rows of the first reduction, at i or i + 1. A
 * contraction may come first: then only some rows of its result exist at a time. */
static int64_t rows_at(const schedule *s, int i)
{
    for (int k = i; k < s->n_program && k < i + 2; k++) {
        program_kind kind = s->program[k].kind;
        if (kind == PROGRAM_REDUCE)
            return s->program[k].outer;
        if (kind != PROGRAM_MAP && !(kind == PROGRAM_CONTRACT && k == i))
            break;
    }
    return 0;
}

/* True if the chain that could start with program i has one row, which a block of a GPU takes as fast as many blocks: it saves
 * launches, such as for the norm of one token. */
static bool is_one_short_row(const schedule *s, int i, const schedule_rules *rules)
{
    enum { SHORT = 8192 };
    for (int k = i; k < s->n_program && k < i + 2; k++)
        if (s->program[k].kind == PROGRAM_REDUCE)
            return rules->chain_bytes && s->program[k].outer == 1 && s->program[k].inner <= SHORT;
        else if (s->program[k].kind != PROGRAM_MAP || s->program[k].pre.size > SHORT)
            return false;
    return false;
}

/* How many programs from i on form a chain of `outer` rows. A contraction may be the first, or the last
 * after such a first: elsewhere it would have too few rows at a time to pay for packing in[1]. */
static int chain_length(const schedule *s, int i, int64_t outer, const schedule_rules *rules)
{
    const program *begin = &s->program[i];
    bool contracts = begin->kind == PROGRAM_CONTRACT;
    for (int n = 0; n < CHAIN_MOST && i + n < s->n_program; n++) {
        const program *p = &s->program[i + n];
        if (!can_chain(s, p, outer, i, rules) || !shares_rows(s, i, i + n) ||
            (n > 0 && folds_alone(s, p, i)) || (n > 0 && p->kind == PROGRAM_CONTRACT && !contracts))
            return n;
        if (n > 0 && p->kind == PROGRAM_CONTRACT)
            return rules->contract_width == 0 ||
                           begin->extent[3] + p->extent[2] <= rules->contract_width
                       ? n + 1
                       : n;
    }
    return i + CHAIN_MOST < s->n_program ? CHAIN_MOST : s->n_program - i;
}

/* The same for a map at i that makes in[0] of the contraction after it, such as the scaled queries of attention: it
 * joins a chain that also ends with a contraction. 0 if there is no such chain, or if the rows are so long that saving
 * a launch is not worth the memory of another value. */
static int mapped_length(const schedule *s, int i, int64_t *outer, const schedule_rules *rules)
{
    enum { COLUMNS_MOST = 512 };
    if (rules->chain_bytes || i + 1 >= s->n_program || s->program[i].kind != PROGRAM_MAP ||
        s->program[i + 1].kind != PROGRAM_CONTRACT || s->program[i + 1].extent[2] > COLUMNS_MOST)
        return 0;
    const slot *made = &s->slot[s->program[i + 1].in[0].slot];
    *outer = rows_at(s, i + 1);
    const int n = *outer > 1 ? chain_length(s, i + 1, *outer, rules) : 0;
    if (made->kind != SLOT_TEMP || made->first != i || made->last != i + 1 || n < 2 ||
        n >= CHAIN_MOST || s->program[i + n].kind != PROGRAM_CONTRACT)
        return 0;
    for (int k = i; k <= i + n; k++)
        if (!can_chain(s, &s->program[k], *outer, i, rules))
            return 0;
    return n + 1;
}

/* Points of the longest row of programs [i, i + n). */
static int64_t longest_row(const schedule *s, int i, int n, int64_t outer)
{
    int64_t most = 0;
    for (int k = i; k < i + n; k++) {
        const int64_t points = s->program[k].pre.size / outer;
        most = points > most ? points : most;
    }
    return most;
}

static int compare_ints(const void *x, const void *y)
{
    const int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

/* The slots that programs [i, i + n) use, in ascending order, in *list; returns their number, or -1 without memory. */
static int slots_of(const schedule *s, int i, int n, int **list)
{
    enum { CORE = 3 };
    int room = 0, used = 0, kept = 0;
    for (const program *p = &s->program[i]; p < &s->program[i + n]; p++)
        room += p->pre.n_operand + p->post.n_operand + CORE;
    int *at = *list = memory_get((size_t)room * sizeof *at);
    if (!at)
        return -1;
    for (const program *p = &s->program[i]; p < &s->program[i + n]; p++) {
        for (int k = 0; k < p->pre.n_operand; k++)
            at[used++] = p->pre.operand[k].slot;
        for (int k = 0; k < p->post.n_operand; k++)
            at[used++] = p->post.operand[k].slot;
        used += program_core_slots(p, at + used);
    }
    qsort(at, (size_t)used, sizeof *at, compare_ints);
    for (int k = 0; k < used; k++)
        if (kept == 0 || at[k] != at[kept - 1])
            at[kept++] = at[k];
    return kept;
}

/* Keeps temporaries that only programs [i, i + n) use as SLOT_ROWS, as far as there is memory for them. */
static ig_status keep_by_rows(schedule *s, int i, int n, int64_t outer, const schedule_rules *rules)
{
    enum { ALIGN = 16 };
    program *p = &s->program[i];
    const bool contracts = p->kind == PROGRAM_CONTRACT;
    const bool by_warps = rules->chain_bytes && longest_row(s, i, n, outer) <= rules->warp_points;
    int64_t left = rules->chain_bytes;
    int *list;
    const int n_list = slots_of(s, i, n, &list);
    p->local = n_list > 0 ? memory_get((size_t)n_list * sizeof *p->local) : NULL;
    for (int j = 0; j < n_list && p->local; j++) {
        const int k = list[j];
        slot *t = &s->slot[k];
        if (t->kind != SLOT_TEMP || t->first < i || t->last >= i + n)
            continue;
        const int64_t bytes = t->bytes / outer * (by_warps ? rules->warp_rows : 1);
        const int64_t taken = (bytes + ALIGN - 1) / ALIGN * ALIGN;
        if (rules->chain_bytes && ((taken > left && !contracts) || t->bytes % outer))
            continue;
        left -= taken;
        t->kind = SLOT_ROWS;
        p->local[p->n_local] = (row_slot){k, p->n_local, t->bytes / outer};
        p->n_local++;
    }
    memory_free(list);
    p->n_slot = s->n_slot;
    for (int k = 0; k < n; k++)
        p[k].by_rows = true;
    return p->local ? IG_OK : IG_ERR_MEMORY;
}

/* All programs of a chain have rows in progress at once, so none may overwrite what another wrote. */
static void extend_by_chains(schedule *s)
{
    for (slot *t = s->slot; t < s->slot + s->n_slot; t++) {
        t->from = t->first;
        t->until = t->last;
        if (t->first < 0)
            continue;
        while (s->program[t->from].chain == 0)
            t->from--;
        while (s->program[t->until].chain == 0)
            t->until--;
        t->until += s->program[t->until].chain - 1;
    }
}

ig_status schedule_chain(schedule *s, const schedule_rules *rules)
{
    for (int i = 0; i < s->n_program;) {
        int64_t outer;
        int n = mapped_length(s, i, &outer, rules);
        const bool contracts = n > 0 || s->program[i].kind == PROGRAM_CONTRACT;
        if (n == 0) {
            outer = rows_at(s, i);
            n = outer > 1 || is_one_short_row(s, i, rules) ? chain_length(s, i, outer, rules) : 1;
        }
        if (contracts && rules->contract_ends && n > 0 &&
            s->program[i + n - 1].kind != PROGRAM_CONTRACT)
            n = 1;
        n = n > 1 ? n : 1;
        s->program[i].chain = n;
        s->program[i].rows = outer;
        if (n > 1 && (contracts || rules->chain_bytes))
            TRY(keep_by_rows(s, i, n, outer, rules));
        i += n;
    }
    extend_by_chains(s);
    return IG_OK;
}
