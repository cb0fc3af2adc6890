/* Which values of a tape keep the bits of a NaN.
 *
 * Arithmetic gives the machine's NaN. Only a value that is moved, from a load to a store, keeps the sign and the
 * payload of its NaN. On a GPU, a conversion from or to f16 that keeps them takes six instructions, one that does not
 * takes one. */
#include "engine/emit/writer.h"
#include "engine/ops/ops.h"

/* Marks registers whose values are stored unchanged, from the last instruction to the first. */
static void find_moved(const tape *t, uint8_t *nans)
{
    for (int k = t->n_inst - 1; k >= 0; k--) {
        const tape_inst *i = &t->inst[k];
        const bool moved = i->dst >= 0 && (nans[i->dst] & EMIT_NAN_MOVED);
        if (i->code == TAPE_STORE || (moved && (i->code == TAPE_CAST || i->code == TAPE_ROUND)))
            nans[i->a] |= EMIT_NAN_MOVED;
        else if (moved && i->code == TAPE_MAP && i->op == OP_where) {
            nans[i->b] |= EMIT_NAN_MOVED;
            nans[i->c] |= EMIT_NAN_MOVED;
        }
    }
}

static bool is_computed(const tape_inst *i, const uint8_t *nans)
{
    switch (i->code) {
    case TAPE_LOAD:
    case TAPE_READ: return false;
    case TAPE_CAST:
    case TAPE_ROUND: return nans[i->a] & EMIT_NAN_COMPUTED;
    case TAPE_MAP: return i->op != OP_where || (nans[i->b] & nans[i->c] & EMIT_NAN_COMPUTED);
    default: return true;
    }
}

void emit_find_nans(const tape *t, uint8_t *nans)
{
    find_moved(t, nans);
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].dst >= 0 && t->inst[k].code != TAPE_STORE && is_computed(&t->inst[k], nans))
            nans[t->inst[k].dst] |= EMIT_NAN_COMPUTED;
}
