/* The checker's knowledge of local variables without a value. Each register has a bit for each lane: its value depends on
 * a variable that was not set. Copies and arithmetic pass the bit on, so unused values do no harm. It is a mistake to
 * branch on such a value, to use it as an address, or to store a variable that has none. Members of structs may be
 * copied and stored without a value, and lanes may give such values to shuffles. */
#include "engine/backend/cpu/gang/check.h"

#include "base/memory.h"
#include "engine/ops/op_id.h"

#include <string.h>

ig_status check_unset_begin(gang_check *c)
{
    const lane_code *code = c->code->code;
    bool any = false;
    for (int r = 0; r < code->n_reg; r++)
        any = any || code->reg[r].unset;
    if (!any)
        return IG_OK;
    c->unset = memory_new((size_t)code->n_reg * BLOCK_WARPS * sizeof *c->unset);
    return c->unset ? IG_OK : IG_ERR_MEMORY;
}

void check_unset_block(gang_check *c)
{
    const lane_code *code = c->code->code;
    for (int r = 0; r < code->n_reg && c->unset; r++)
        memset(c->unset + (size_t)r * BLOCK_WARPS, code->reg[r].unset ? 255 : 0,
               BLOCK_WARPS * sizeof *c->unset);
}

/* An instruction in one warp. */
typedef struct look {
    gang_check *c;
    gang *g;
    const gang_step *s;
    const code_inst *i;
    int first, warp; /* its first lane in the gang; its number in the block */
    uint32_t here;
} look;

static uint32_t *bits_of(const look *k, int32_t r)
{
    return &k->c->unset[(size_t)r * BLOCK_WARPS + (size_t)k->warp];
}

static uint32_t bits(const look *k, int32_t r) { return r < 0 ? 0 : *bits_of(k, r) & k->here; }

/* The lanes whose bool operand is true. */
static uint32_t truth(const look *k, int32_t at, bool is_one, int spare)
{
    const uint8_t *v = gang_lanes(k->g, at, is_one, 1, spare);
    uint32_t mask = 0;
    for (int i = 0; i < WARP_LANES && k->first + i < k->g->lanes; i++)
        mask |= (uint32_t)(v[k->first + i] != 0) << i;
    return mask;
}

/* Reports the lanes in which register r has no value; afterwards it counts as set. */
static void report(const look *k, int32_t r, const char *use)
{
    const uint32_t lanes = bits(k, r);
    if (!lanes)
        return;
    const char *name = k->c->code->code->reg[r].unset;
    check_tell(k->c, k->g, k->s, k->first + __builtin_ctz(lanes), MISTAKE_UNSET, -1,
               name ? "%s '%s', a local variable that was not set"
                    : "%s a value that depends on a "
                      "local variable that was not set%s",
               use, name ? name : "");
    *bits_of(k, r) &= ~lanes;
}

/* A scalar variable itself. */
static void report_variable(const look *k, int32_t r, const char *use)
{
    if (r >= 0 && k->c->code->code->reg[r].is_scalar)
        report(k, r, use);
}

static void report_any(const look *k, int32_t r, const char *use)
{
    if (r >= 0)
        report(k, r, use);
}

/* Whether the store is to memory that other threads see. */
static bool is_shared_store(const look *k)
{
    const code_object *o = k->i->object ? &k->c->code->code->object[k->i->object - 1] : NULL;
    return !(k->i->flags & CODE_OWN) || (o && o->origin == ORIGIN_SHARED);
}

static uint32_t result(const look *k)
{
    const code_inst *i = k->i;
    const uint32_t a = bits(k, i->a), b = bits(k, i->b), c = bits(k, i->c);
    switch (i->op) {
    case CODE_MAP:
        if ((a | b) && (i->row == OP_logical_and || i->row == OP_logical_or)) {
            const uint32_t x = truth(k, k->s->a, k->s->ones & GANG_ONE_A, 1),
                           y = truth(k, k->s->b, k->s->ones & GANG_ONE_B, 2);
            const uint32_t decides = i->row == OP_logical_and ? ~0u : 0u;
            return (a & (b | ~(y ^ decides))) | (b & (a | ~(x ^ decides)));
        }
        return a | b | c;
    case CODE_ROW:
    case CODE_CONVERT:
    case CODE_ROUND:
    case CODE_COPY:
    case CODE_ADDRESS: return a | b | c;
    case CODE_PICK: {
        if (!(b | c))
            return a;
        const uint32_t x = truth(k, k->s->a, k->s->ones & GANG_ONE_A, 1);
        return a | (x & b) | (~x & c);
    }
    case CODE_ATOMIC:
        report_variable(k, i->c, "adds or stores");
        report_variable(k, i->e, "compares with");
        report_any(k, i->a, "uses as an address");
        report_any(k, i->b, "uses as an index");
        return 0;
    case CODE_STORE:
        if (is_shared_store(k))
            report_variable(k, i->c, "stores");
        report_any(k, i->a, "uses as an address");
        report_any(k, i->b, "uses as an index");
        return 0;
    case CODE_LOAD:
        report_any(k, i->a, "uses as an address");
        report_any(k, i->b, "uses as an index");
        return 0;
    case CODE_IF:
    case CODE_WHILE: report_any(k, i->a, "branches on"); return 0;
    default: return 0;
    }
}

void check_unset(gang_check *c, gang *g, const gang_step *s)
{
    const code_inst *i = &c->code->code->inst[check_pc(g, s)];
    if (!c->unset)
        return;
    for (int first = 0; first < g->lanes; first += WARP_LANES) {
        const look k = {
            c, g, s, i, first, (g->first + first) / WARP_LANES, g->mask[first / WARP_LANES]};
        const uint32_t made = k.here ? result(&k) : 0;
        if (k.here && i->d >= 0)
            *bits_of(&k, i->d) = (*bits_of(&k, i->d) & ~k.here) | (made & k.here);
    }
}
