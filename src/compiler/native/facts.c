/* Facts about registers that do not depend on how lanes are grouped: which memory an address may be in, the largest value
 * of an index, and the power of two that divides it in the first lane of a group. They are assumed at their best and weakened
 * until nothing changes. */
#include "compiler/native/plan.h"

#include "engine/ops/op_id.h"

#include <string.h>

enum { ALIGN_MOST = 12 };

static const uint64_t unknown = UINT64_MAX;

static bool is_signed(int dtype) { return dtype == IG_I32 || dtype == IG_I64; }

static bool is_index(int dtype)
{
    return dtype == IG_I32 || dtype == IG_U32 || dtype == IG_I64 || dtype == IG_U64;
}

/* The largest value of a type, if it is not negative. */
static uint64_t most_of(int dtype)
{
    return dtype == IG_I32   ? INT32_MAX
           : dtype == IG_U32 ? UINT32_MAX
           : dtype == IG_I64 ? INT64_MAX
                             : unknown;
}

static uint64_t worst_of(int dtype) { return is_signed(dtype) ? unknown : most_of(dtype); }

/* A sum or product. A signed one that passes the largest value is undefined in the source. */
static uint64_t fitted(int dtype, uint64_t value, bool passes)
{
    return !passes && value <= most_of(dtype) ? value : most_of(dtype);
}

static int twos(uint64_t value)
{
    return value == 0 || __builtin_ctzll(value) > ALIGN_MOST ? ALIGN_MOST : __builtin_ctzll(value);
}

static int least(int a, int b) { return a < b ? a : b; }

/* ---- the results of instructions ---- */

typedef struct fact {
    uint64_t most;
    int align, space;
} fact;

static fact fact_of(const native_plan *p, int32_t r)
{
    return r == CODE_NONE ? (fact){0, ALIGN_MOST, 0} : (fact){p->most[r], p->align[r], p->space[r]};
}

static uint64_t most_of_map(const code_inst *i, fact a, fact b)
{
    const int d = i->dtype;
    const bool row = i->op == CODE_ROW;
    uint64_t to;
    if (!row && i->row == OP_bitwise_and && (a.most != unknown || b.most != unknown))
        return a.most < b.most ? a.most : b.most;
    if (a.most == unknown || b.most == unknown)
        return worst_of(d);
    if (!row && i->row == OP_add) {
        const bool passes = __builtin_add_overflow(a.most, b.most, &to);
        return fitted(d, to, passes);
    }
    if (!row && i->row == OP_multiply) {
        const bool passes = __builtin_mul_overflow(a.most, b.most, &to);
        return fitted(d, to, passes);
    }
    return !row && i->row == OP_bitwise_right_shift ? a.most : worst_of(d);
}

static int align_of_map(const native_plan *p, const code_inst *i, fact a, fact b)
{
    if (i->op == CODE_ROW)
        return 0;
    switch (i->row) {
    case OP_add:
    case OP_subtract: return least(a.align, b.align);
    case OP_multiply: return least(a.align + b.align, ALIGN_MOST);
    case OP_bitwise_left_shift:
        return p->c->reg[i->b].origin == ORIGIN_CONSTANT && p->c->reg[i->b].bits < 32
                   ? least(a.align + (int)p->c->reg[i->b].bits, ALIGN_MOST)
                   : 0;
    default: return 0;
    }
}

static fact result(const native_plan *p, const code_inst *i)
{
    const int d = p->c->reg[i->d].dtype;
    const fact a = fact_of(p, i->a), b = fact_of(p, i->b), c = fact_of(p, i->c);
    fact f = {worst_of(d), 0, IN_ANY};
    if (!is_index(d))
        return f;
    switch (i->op) {
    case CODE_MAP:
    case CODE_ROW:
        if (i->dtype != d)
            break;
        f.most = most_of_map(i, a, b);
        f.align = align_of_map(p, i, a, b);
        f.space = a.space | b.space;
        break;
    case CODE_COPY:
    case CODE_CONVERT:
        if (!is_index(p->c->reg[i->a].dtype))
            break;
        f.most = a.most <= most_of(d) ? a.most : worst_of(d);
        f.align = a.align;
        f.space = a.space;
        break;
    case CODE_PICK:
        f.most = b.most > c.most ? b.most : c.most;
        f.align = least(b.align, c.align);
        f.space = b.space | c.space;
        break;
    case CODE_ADDRESS: f.space = a.space; break;
    default: break;
    }
    return f;
}

/* ---- what the machine sets ---- */

static fact special(const native_plan *p, const code_reg *r)
{
    const uint32_t lanes = (uint32_t)p->lanes;
    const int axis = r->origin - ORIGIN_THREAD_X, dim = r->origin - ORIGIN_BLOCK_DIM_X;
    fact f = {worst_of(r->dtype), 0, IN_ANY};
    switch (r->origin) {
    case ORIGIN_CONSTANT:
        f.most = r->dtype == IG_I32 ? (int32_t)r->bits < 0 ? unknown : (uint32_t)r->bits
                 : r->dtype == IG_I64 && (int64_t)r->bits < 0 ? unknown
                                                              : r->bits;
        f.align = twos(r->bits);
        f.space = 0;
        break;
    case ORIGIN_PARAMETER:
    case ORIGIN_GLOBAL: f.space = IN_GLOBAL; break;
    case ORIGIN_SHARED: f.space = IN_SHARED; break;
    case ORIGIN_LOCAL: f.space = IN_LOCAL; break;
    case ORIGIN_LANE: f = (fact){31, twos(lanes), 0}; break;
    case ORIGIN_THREAD_X:
    case ORIGIN_THREAD_Y:
    case ORIGIN_THREAD_Z:
        f.most = p->block[axis] - 1;
        f.align = axis == 0 && (p->block[0] % lanes == 0 || p->block[1] * p->block[2] == 1)
                      ? twos(lanes)
                      : 0;
        f.space = 0;
        break;
    case ORIGIN_BLOCK_DIM_X:
    case ORIGIN_BLOCK_DIM_Y:
    case ORIGIN_BLOCK_DIM_Z: f = (fact){p->block[dim], twos(p->block[dim]), 0}; break;
    case ORIGIN_NONE: f = (fact){0, ALIGN_MOST, 0}; break;
    default: f = (fact){INT32_MAX, 0, 0}; /* places and sizes of grids */
    }
    return f;
}

static bool weaken(native_plan *p, int32_t r, fact f)
{
    fact old = fact_of(p, r);
    const uint64_t most = f.most <= old.most ? old.most
                          : p->c->reg[r].variable && old.most > 0 && f.most != unknown
                              ? most_of(p->c->reg[r].dtype)
                              : f.most;
    const int align = least(f.align, old.align), space = f.space | old.space;
    p->most[r] = most;
    p->align[r] = (uint8_t)align;
    p->space[r] = (uint8_t)space;
    return most != old.most || align != old.align || space != old.space;
}

void plan_facts(native_plan *p)
{
    for (int r = 0; r < p->c->n_reg; r++) {
        const fact f = special(p, &p->c->reg[r]);
        p->most[r] = f.most;
        p->align[r] = (uint8_t)f.align;
        p->space[r] = (uint8_t)f.space;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < p->c->n_inst; k++) {
            const code_inst *i = &p->c->inst[k];
            if (i->d != CODE_NONE)
                changed |= weaken(p, i->d, result(p, i));
        }
    }
}
