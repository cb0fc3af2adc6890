/* Which registers hold one value for a group of lanes, or grow by a constant from lane to lane.
 *
 * All registers are assumed to hold one value; what an instruction makes vary is propagated until nothing changes,
 * as in code_settle, but for the lanes of a group in a block of known shape. */
#include "compiler/native/plan.h"

#include "engine/ops/op_id.h"

#include <string.h>

enum { OFFSET_MOST = 1 << 20 };

typedef struct shape {
    native_kind kind;
    int64_t stride;
    int32_t at[GROUP_LANES]; /* of KIND_PATTERN */
} shape;

static const shape vary = {.kind = KIND_VARY}, group = {.kind = KIND_GROUP};

static shape shape_of(const native_plan *p, int32_t r)
{
    if (r == CODE_NONE)
        return group;
    shape s = {.kind = (native_kind)p->kind[r], .stride = p->stride[r]};
    if (s.kind == KIND_PATTERN)
        memcpy(s.at, p->pattern + (size_t)r * GROUP_LANES, sizeof s.at);
    return s;
}

static bool is_scalar(shape s) { return s.kind <= KIND_GROUP; }

static shape affine(int64_t stride)
{
    return stride == 0 ? group : (shape){.kind = KIND_AFFINE, .stride = stride};
}

/* The shape with these offsets of the lanes. */
static shape pattern(const native_plan *p, const int64_t *at)
{
    shape s = {.kind = KIND_PATTERN};
    bool is_affine = at[0] == 0;
    for (int l = 0; l < p->lanes; l++) {
        if (at[l] < 0 || at[l] >= OFFSET_MOST)
            return vary;
        s.at[l] = (int32_t)at[l];
        is_affine = is_affine && at[l] == at[1] * l;
    }
    return is_affine ? affine(at[1]) : s;
}

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
    if (fits)
        return remains ? affine(1) : group;
    /* a multiple of c plus offsets */
    if (c <= 0 || (1 << p->align[i->a]) % c != 0 || p->most[i->a] > INT32_MAX - OFFSET_MOST)
        return vary;
    int64_t at[GROUP_LANES];
    for (int l = 0; l < p->lanes; l++) {
        const int64_t own = plan_offset(p, i->a, l);
        if (own < 0)
            return vary;
        at[l] = remains ? own % c : own / c;
    }
    return pattern(p, at);
}

/* a + b * sign, or a * factor. */
static shape combined(const native_plan *p, int32_t a, int64_t factor, int32_t b, int sign)
{
    int64_t at[GROUP_LANES];
    for (int l = 0; l < p->lanes; l++)
        at[l] = plan_offset(p, a, l) * factor + (b == CODE_NONE ? 0 : plan_offset(p, b, l) * sign);
    return pattern(p, at);
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
    if (a.kind == KIND_PATTERN && constant(p, i->b, &factor))
        return combined(p, i->a, factor, CODE_NONE, 0);
    if (b.kind == KIND_PATTERN && constant(p, i->a, &factor))
        return combined(p, i->b, factor, CODE_NONE, 0);
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
    const bool patterns = a.kind == KIND_PATTERN || b.kind == KIND_PATTERN;
    if (patterns && (i->row == OP_add || i->row == OP_subtract))
        return combined(p, i->a, 1, i->b, i->row == OP_add ? 1 : -1);
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
        return !is_scalar(b) || !constant(p, i->b, &count) || count < 0 || count >= 16 ? vary
               : patterns ? combined(p, i->a, (int64_t)1 << count, CODE_NONE, 0)
                          : affine(a.stride * ((int64_t)1 << count));
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
    const bool is_index = a.kind == KIND_AFFINE || a.kind == KIND_PATTERN;
    if (i->op == CODE_COPY && is_index && p->c->reg[i->d].dtype == p->c->reg[i->a].dtype)
        return a;
    if (i->op == CODE_CONVERT && is_index && wraps(i->dtype) && wraps(i->to) &&
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
    if (a.stride != b.stride || ((a.kind == KIND_PATTERN || b.kind == KIND_PATTERN) &&
                                 (a.kind != b.kind || memcmp(a.at, b.at, sizeof a.at) != 0)))
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
        if (!is_scalar(s) && s.kind != KIND_VARY && !wraps(d->dtype))
            s = vary;
        changed |= !seen[i->d] || s.kind != p->kind[i->d] || s.stride != p->stride[i->d];
        seen[i->d] = true;
        p->kind[i->d] = (uint8_t)s.kind;
        p->stride[i->d] = s.stride;
        memcpy(p->pattern + (size_t)i->d * GROUP_LANES, s.at, sizeof s.at);
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
        shape s = reg->one ? (shape){.kind = KIND_ONE} : group;
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
