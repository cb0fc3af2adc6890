/* The check of held values: a register has the value that memory would have. It shares no code with held.c. It follows
 * the accesses of each held slot through the chain. */
#include "engine/emit/held.h"

#include "base/error.h"
#include "engine/program/reach.h"

static ig_status broken(const held_value *v, int k, const char *what)
{
    FAIL(IG_ERR_INTERNAL,
         "a chain breaks the rule 'held values': program %d of it, slot %d: %s. Nothing was "
         "computed. This is a "
         "defect of Ingot: please report it",
         k + 1, v->slot, what);
}

/* True if the k-th program of the chain uses registers instead of the operand's memory. */
static bool is_held(const held_values *h, const held_value *v, const tape *t, const operand *o,
                    int64_t rows)
{
    return o->slot == v->slot && o->dtype == v->dtype && t->size / rows == h->points &&
           (v->kind == HELD_LOCAL || reach_is_same_walk(v->v, &o->v));
}

/* One access of the slot on a pre tape; *defined: a register has the value. */
static ig_status check_access(const held_value *v, int k, const tape_inst *inst, const operand *o,
                              bool held, bool *defined)
{
    const bool stores = inst->code == TAPE_STORE;
    if (stores && v->kind == HELD_INPUT)
        return broken(v, k, "an input that is held is written");
    if (!held)
        return v->kind == HELD_LOCAL || (stores && v->kind == HELD_RESULT)
                   ? broken(v, k, "it is used in memory, but it is in registers")
                   : IG_OK;
    if (!stores &&
        inst->code != TAPE_LOAD) /* a gather reads memory, which has the value of an input only */
        return v->kind == HELD_INPUT ? IG_OK : broken(v, k, "it is not read point by point");
    if (!reach_is_same_walk(v->v, &o->v))
        return broken(v, k, "a point needs an element that another point holds");
    if (stores && *defined && v->kind == HELD_RESULT)
        return broken(v, k, "it is written again");
    if (!stores && !*defined && (v->kind != HELD_INPUT || v->first != k))
        return broken(v, k, "it is read before it is held");
    *defined = true;
    return IG_OK;
}

static ig_status check_value(const held_values *h, const held_value *v, const program *p, int n,
                             int64_t rows)
{
    bool defined = false;
    for (int k = 0; k < n; k++) {
        const tape *t = &p[k].pre;
        for (int i = 0; i < t->n_inst; i++) {
            const tape_inst *inst = &t->inst[i];
            const operand *o = inst->operand >= 0 ? &t->operand[inst->operand] : NULL;
            if (o && o->slot == v->slot)
                TRY(check_access(v, k, inst, o, is_held(h, v, t, o, rows), &defined));
        }
        const bool input = v->kind == HELD_INPUT && !program_writes(&p[k], v->slot);
        if (!input && (tape_touches(&p[k].post, v->slot) || program_core_touches(&p[k], v->slot)))
            return broken(v, k, "it is used in memory, but it is in registers");
    }
    return defined ? IG_OK : broken(v, v->first, "no program has it");
}

ig_status held_check(const held_values *h, const program *p, int n, int64_t rows)
{
    for (int i = 0; i < h->n; i++) {
        if (h->points > (int64_t)h->each * 32)
            return broken(&h->at[i], 0, "a row has more points than registers");
        TRY(check_value(h, &h->at[i], p, n, rows));
    }
    return IG_OK;
}
