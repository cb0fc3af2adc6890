/* Which registers hold one value for a group of lanes, or grow by a constant from lane to lane.
 *
 * All registers are assumed to hold one value; what an instruction makes vary is propagated until nothing changes,
 * as in code_settle, but for the lanes of a group in a block of known shape. */
#include "compiler/native/plan.h"

#include "engine/ops/op_id.h"

#include <string.h>

typedef struct shape {
    native_kind kind;
    int64_t stride;
} shape;

static const shape vary = {KIND_VARY, 0}, group = {KIND_GROUP, 0};

static shape shape_of(const native_plan *p, int32_t r)
{
    return r == CODE_NONE ? group : (shape){(native_kind)p->kind[r], p->stride[r]};
}

static bool is_scalar(shape s) { return s.kind <= KIND_GROUP; }

static shape affine(int64_t stride) { return stride == 0 ? group : (shape){KIND_AFFINE, stride}; }

/* Integers whose arithmetic wraps at 32 or 64 bits. */
static bool wraps(int dtype)
{
    return dtype == IG_I32 || dtype == IG_U32 || dtype == IG_I64 || dtype == IG_U64;
}

static bool constant(const native_plan *p, int32_t r, int64_t *value)
{
    const code_reg *reg = &p->c->reg[r];
    *value = reg->dtype == IG_I32 ? (int32_t)reg->bits : (int64_t)reg->bits;
    return reg->origin == ORIGIN_CONSTANT && *value > -(1 << 20) && *value < 1 << 20;
}

/* a / c or a % c (remains) of an index that grows by 1 from a multiple of the lanes: all lanes have the same quotient if c is a
 * multiple of the lanes, too. */
static shape quotient(const native_plan *p, const code_inst *i, int64_t c, bool remains)
{
    const shape a = shape_of(p, i->a);
    const bool fits = a.kind == KIND_AFFINE && a.stride == 1 && p->most[i->a] != UINT64_MAX &&
                      c > 0 && c % p->lanes == 0 && (1 << p->align[i->a]) % p->lanes == 0;
    return !fits ? vary : remains ? affine(1) : group;
}

/* a * b of shapes that are not both scalar. */
static shape product(const native_plan *p, const code_inst *i)
{
    int64_t factor;
    const shape a = shape_of(p, i->a), b = shape_of(p, i->b);
    if (a.kind == KIND_AFFINE && constant(p, i->b, &factor))
        return affine(a.stride * factor);
    if (b.kind == KIND_AFFINE && constant(p, i->a, &factor))
        return affine(b.stride * factor);
    return vary;
}

static shape mapped(const native_plan *p, const code_inst *i)
{
    const shape a = shape_of(p, i->a), b = shape_of(p, i->b);
    int64_t count;
    if (!wraps(i->dtype) || a.kind == KIND_VARY || b.kind == KIND_VARY)
        return vary;
    if (i->op == CODE_ROW)
        return (i->row == CODE_ROW_divide || i->row == CODE_ROW_modulo) && constant(p, i->b, &count)
                   ? quotient(p, i, count, i->row == CODE_ROW_modulo)
                   : vary;
    switch (i->row) {
    case OP_bitwise_and:
        return constant(p, i->b, &count) && count > 0 && (count & (count + 1)) == 0
                   ? quotient(p, i, count + 1, true)
                   : vary;
    case OP_bitwise_right_shift:
        return constant(p, i->b, &count) && count >= 0 && count < 20
                   ? quotient(p, i, (int64_t)1 << count, false)
                   : vary;
    case OP_add: return affine(a.stride + b.stride);
    case OP_subtract: return affine(a.stride - b.stride);
    case OP_multiply: return product(p, i);
    case OP_bitwise_left_shift:
        return is_scalar(b) && constant(p, i->b, &count) && count >= 0 && count < 16
                   ? affine(a.stride * ((int64_t)1 << count))
                   : vary;
    default: return vary;
    }
}

/* The shape of an instruction's result, without regard to masks. */
static shape result(const native_plan *p, const code_inst *i)
{
    const shape a = shape_of(p, i->a);
    const bool scalars = plan_scalar(p, i->a) && plan_scalar(p, i->b) && plan_scalar(p, i->c) &&
                         plan_scalar(p, i->e);
    switch (i->op) {
    case CODE_ATOMIC:
    case CODE_WARP:
    case CODE_ACTIVE: return vary;
    case CODE_BARRIER: return group;
    case CODE_LOAD: return scalars && !(i->flags & CODE_VOLATILE) ? group : vary;
    default: break;
    }
    if (scalars)
        return group;
    if (i->op == CODE_MAP || i->op == CODE_ROW)
        return mapped(p, i);
    if (i->op == CODE_COPY && a.kind == KIND_AFFINE &&
        p->c->reg[i->d].dtype == p->c->reg[i->a].dtype)
        return a;
    if (i->op == CODE_CONVERT && a.kind == KIND_AFFINE && wraps(i->dtype) && wraps(i->to) &&
        ig_dtype_bytes((ig_dtype)i->to) == ig_dtype_bytes((ig_dtype)i->dtype))
        return a;
    if (i->op == CODE_ADDRESS && a.kind == KIND_AFFINE && plan_scalar(p, i->b))
        return a;
    return vary;
}

/* A shape that holds the values of both. */
static shape joined(shape a, shape b)
{
    if (a.kind == KIND_VARY || b.kind == KIND_VARY)
        return vary;
    if (a.stride != b.stride)
        return vary;
    return a.kind > b.kind ? a : b;
}

/* The levels that are open while the code is walked through. */
typedef struct walk {
    int depth;
    int32_t begins[CODE_LEVELS];
} walk;

bool plan_differs(const native_plan *p, int opening)
{
    return p->c->inst[opening].op == CODE_IF ? !plan_scalar(p, p->c->inst[opening].a)
                                             : p->left[opening];
}

/* All reads of the register are inside the loop: a lane that has left the loop reads it only after it was
 * written again. */
static bool is_of_loop(const native_plan *p, int32_t r, int begin)
{
    return p->c->inst[begin].op == CODE_LOOP && p->first_read[r] > begin &&
           p->last_read[r] < p->end[begin];
}

/* An inactive lane may still need the old value of the register. */
static bool some_wait(const native_plan *p, const walk *w, int32_t r)
{
    const code_reg *d = &p->c->reg[r];
    for (int l = 0; l < w->depth; l++) {
        const int32_t begin = w->begins[l];
        if (plan_differs(p, begin) && (p->c->inst[begin].op != CODE_CALL || d->born < begin) &&
            !is_of_loop(p, r, begin))
            return true;
    }
    return false;
}

static bool leave(native_plan *p, const walk *w, const code_inst *i)
{
    bool some = i->op == CODE_WHILE && !plan_scalar(p, i->a);
    for (int l = i->level + 1; l < w->depth; l++)
        some |= p->c->inst[w->begins[l]].op != CODE_CALL && plan_differs(p, w->begins[l]);
    uint8_t *left = &p->left[w->begins[i->level]];
    const bool new = some && !*left;
    *left |= some;
    return new;
}

static bool pass(native_plan *p, uint8_t *seen)
{
    const lane_code *c = p->c;
    bool changed = false;
    walk w = {0};
    for (int k = 0; k < c->n_inst; k++) {
        const code_inst *i = &c->inst[k];
        if (plan_opens(i->op))
            w.begins[w.depth++] = k;
        else if (plan_closes(i->op))
            w.depth--;
        if (i->op == CODE_WHILE || plan_jumps(i->op))
            changed |= leave(p, &w, i);
        if (i->d == CODE_NONE || c->reg[i->d].one)
            continue;
        const code_reg *d = &c->reg[i->d];
        shape s = d->variable && some_wait(p, &w, i->d) ? vary : result(p, i);
        if (seen[i->d])
            s = joined(shape_of(p, i->d), s);
        if (!is_scalar(s) && s.kind == KIND_AFFINE && !wraps(d->dtype))
            s = vary;
        changed |= !seen[i->d] || s.kind != p->kind[i->d] || s.stride != p->stride[i->d];
        seen[i->d] = true;
        p->kind[i->d] = (uint8_t)s.kind;
        p->stride[i->d] = s.stride;
    }
    return changed;
}

/* threadIdx of the lanes of a group. */
static shape thread_shape(const native_plan *p, int axis)
{
    const uint32_t *b = p->block, lanes = (uint32_t)p->lanes;
    const bool row = b[0] % lanes == 0 || (b[1] == 1 && b[2] == 1);
    if (axis == 0)
        return row ? affine(1) : b[0] == 1 ? group : vary;
    if (b[axis] == 1 || (axis == 1 && row) || (axis == 2 && b[0] * b[1] % lanes == 0))
        return group;
    return b[0] == 1 && axis == 1 && (b[1] % lanes == 0 || b[2] == 1) ? affine(1) : vary;
}

void plan_kinds(native_plan *p)
{
    const lane_code *c = p->c;
    uint8_t *seen = p->blockwise + c->n_inst; /* room after it, see plan_make */
    memset(seen, 0, (size_t)c->n_reg);
    memset(p->left, 0, (size_t)c->n_inst);
    for (int r = 0; r < c->n_reg; r++) {
        const code_reg *reg = &c->reg[r];
        shape s = reg->one ? (shape){KIND_ONE, 0} : group;
        if (reg->origin >= ORIGIN_THREAD_X && reg->origin <= ORIGIN_THREAD_Z)
            s = thread_shape(p, reg->origin - ORIGIN_THREAD_X);
        else if (reg->origin == ORIGIN_LANE)
            s = affine(1);
        else if (reg->origin == ORIGIN_LOCAL)
            s = affine((int64_t)c->local_bytes);
        p->kind[r] = (uint8_t)s.kind;
        p->stride[r] = s.stride;
    }
    while (pass(p, seen))
        ;
}
