/* Chains: neighbouring programs that work row by row.
 *
 * A softmax is three programs, but each row of each needs only the same row of those before. Such
 * programs are marked as a chain, so that a backend can take some rows through all of them while they
 * are in its cache. What a program computes, and in which order, stays as it is. */
#include "graph/graph.h"

/* Longer rows do not stay in a cache on their way through a chain. */
enum { ROW_MOST = 1 << 15, CHAIN_MOST = 16 };

/* True if point i of a space of rows (outer, inner) reaches, through v, only elements of the part of
 * its buffer that belongs to row i / inner, when each row owns `own` elements. */
static bool is_row_local(const view *v, int64_t outer, int64_t inner, int64_t own)
{
    if (v->offset != 0)
        return false;
    if (own == inner && view_is_contiguous(v))
        return true;
    /* Leading axes walk the rows, own elements apart; the rest stays within a row. */
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

/* Points of a row of tape t when it has `outer` rows; 0 if it cannot be cut so. */
static int64_t row_points(const tape *t, int64_t outer)
{
    return t->size % outer == 0 ? t->size / outer : 0;
}

/* True if all that the tape shares with programs [first, last] of the chain is row-local. */
static bool tape_fits(const schedule *s, const tape *t, int64_t outer, int first)
{
    int64_t inner = row_points(t, outer);
    if (t->n_inst == 0)
        return true;
    if (inner == 0 || inner > ROW_MOST)
        return false;
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->operand < 0)
            continue;
        const operand *o = &t->operand[inst->operand];
        const slot *b = &s->slot[o->slot];
        bool stored = inst->code == TAPE_STORE;
        if (!stored && (b->kind == SLOT_LEAF || b->first < first))
            continue; /* was there before the chain, and nobody in it writes it */
        int64_t elements = b->bytes / (int64_t)ig_dtype_bytes(o->dtype);
        bool walked = stored || inst->code == TAPE_LOAD;
        if (!walked || elements % outer != 0 || !is_row_local(&o->v, outer, inner, elements / outer))
            return false;
    }
    return true;
}

static bool can_chain(const schedule *s, const program *p, int64_t outer, int first)
{
    if (p->kind != PROGRAM_MAP && p->kind != PROGRAM_REDUCE)
        return false;
    if (p->kind == PROGRAM_REDUCE && p->outer != outer)
        return false;
    return tape_fits(s, &p->pre, outer, first) && tape_fits(s, &p->post, outer, first);
}

/* Rows of the chain that could begin with program i: those of the first reduction in reach. */
static int64_t rows_at(const schedule *s, int i)
{
    for (int k = i; k < s->n_program && k < i + 2; k++) {
        if (s->program[k].kind == PROGRAM_REDUCE)
            return s->program[k].outer;
        if (s->program[k].kind != PROGRAM_MAP)
            break;
    }
    return 0;
}

void schedule_chain(schedule *s)
{
    for (int k = 0; k < s->n_slot; k++) {
        s->slot[k].from = s->slot[k].first;
        s->slot[k].until = s->slot[k].last;
    }
    for (int i = 0; i < s->n_program;) {
        int64_t outer = rows_at(s, i);
        int n = 0;
        while (outer > 1 && i + n < s->n_program && n < CHAIN_MOST &&
               can_chain(s, &s->program[i + n], outer, i))
            n++;
        n = n > 1 ? n : 1;
        s->program[i].chain = n;
        /* Rows are under way in all programs at once: what one writes, none may overwrite. */
        for (int k = 0; k < s->n_slot && n > 1; k++) {
            slot *t = &s->slot[k];
            if (t->first >= i && t->first < i + n)
                t->from = i;
            if (t->last >= i && t->last < i + n)
                t->until = i + n - 1;
        }
        i += n;
    }
}
