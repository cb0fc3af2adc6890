/* Lowering: expressions. */
#include "compiler/lower/lower.h"

#include "engine/ops/op_id.h"

#include <string.h>

/* ---- effects of an expression ---- */

/* Evaluating it has no side effects and cannot fail, so inactive lanes may evaluate it, too. */
static bool is_plain(const kernel_expr *e)
{
    if (!e)
        return true;
    switch (e->kind) {
    case EXPR_CONST:
    case EXPR_INDEX:
    case EXPR_VAR: return true;
    case EXPR_LOAD: {
        const kernel_expr *p = e->a;
        while (p->kind == EXPR_MEMBER)
            p = p->a;
        return p->kind == EXPR_VAR && !p->as.var->addressed &&
               (p->as.var->storage == STORE_LOCAL || p->as.var->storage == STORE_PARAMETER);
    }
    case EXPR_CAST:
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_CHOOSE: return is_plain(e->a) && is_plain(e->b) && is_plain(e->c);
    case EXPR_BUILTIN:
        if (kernel_builtin_rows[e->builtin].class > CLASS_INT)
            return false;
        for (uint32_t i = 0; i < e->n_args; i++)
            if (!is_plain(e->args[i]) || e->args[i]->type->kind == TYPE_POINTER)
                return false;
        return true;
    default: return false;
    }
}

/* Returns true if it writes a variable that lives in registers. */
static bool writes(const kernel_expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_ASSIGN || e->kind == EXPR_UPDATE)
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (writes(e->args[i]))
            return true;
    return writes(e->a) || writes(e->b) || writes(e->c);
}

/* A register whose value does not change while `next` is evaluated. */
static int32_t steady(lower *l, int32_t reg, const kernel_expr *next)
{
    return l->c->reg[reg].variable && writes(next) ? lower_copy(l, reg) : reg;
}

static lower_value steady_value(lower *l, lower_value v, const kernel_expr *next)
{
    if (!v.reg || !writes(next))
        return v;
    lower_value copy = v;
    copy.reg = kernel_arena_get(l->arena, (size_t)(v.n ? v.n : 1) * sizeof *v.reg);
    for (int i = 0; i < v.n; i++)
        copy.reg[i] = steady(l, v.reg[i], next);
    return copy;
}

lower_value *lower_args(lower *l, kernel_expr *const *args, uint32_t n)
{
    lower_value *v = kernel_arena_new(l->arena, (n + 1) * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = args[i]->kind == EXPR_STRING ? (lower_value){0} : lower_expr(l, args[i]);
        for (uint32_t k = i + 1; k < n; k++)
            v[i] = steady_value(l, v[i], args[k]);
    }
    return v;
}

/* ---- arithmetic ---- */

int32_t lower_rounded(lower *l, const kernel_type *t, int32_t a)
{
    if (t->kind != TYPE_F16 && t->kind != TYPE_BF16)
        return a;
    const int32_t d = lower_temp(l, IG_F32);
    lower_emit(l, CODE_ROUND, IG_F32, d, a, CODE_NONE, CODE_NONE)->to = (uint8_t)lower_stored(t);
    return d;
}

/* Converts by the rules of builtins.def. */
static int32_t float_to_integer(lower *l, int32_t a, const kernel_type *from, const kernel_type *to)
{
    const ig_dtype source = lower_lane(from), target = lower_lane(to);
    if (to->size < 4 && (from->kind == TYPE_F32 || from->kind == TYPE_F64)) {
        const ig_dtype wide = type_is_signed(to) ? IG_I32 : IG_U32;
        return lower_convert(l, lower_convert(l, a, source, wide), wide, target);
    }
    const int32_t r = lower_convert(l, a, source, target);
    if (to->size < 4 || (to->size == 4 && from->kind != TYPE_F64))
        return r;
    const int32_t nan = lower_truth(l, OP_isnan, source, a, CODE_NONE);
    return lower_pick(l, target, nan, lower_constant(l, target, UINT64_C(1) << (8 * to->size - 1)),
                      r);
}

int32_t lower_cast(lower *l, int32_t a, const kernel_type *from, const kernel_type *to)
{
    const ig_dtype source = lower_lane(from), target = lower_lane(to), stored = lower_stored(to);
    if (from->kind == to->kind)
        return a;
    if (type_is_float(from) && type_is_integer(to) && to->kind != TYPE_BOOL)
        return float_to_integer(l, a, from, to);
    if (target == IG_F32 && stored != IG_F32 && source != IG_F32) /* rounded once, without the step
                                                                   * through f32 */
        return lower_convert(l, lower_convert(l, a, source, stored), stored, IG_F32);
    return lower_rounded(l, to, lower_convert(l, a, source, target));
}

/* a op b in the type, rounded if it is a half. */
static int32_t lower_binary(lower *l, kernel_operator op, const kernel_type *type,
                            const kernel_type *right, int32_t a, int32_t b)
{
    static const int maps[] = {[OP_ADD] = OP_add,
                               [OP_SUB] = OP_subtract,
                               [OP_MUL] = OP_multiply,
                               [OP_DIV] = OP_divide,
                               [OP_AND] = OP_bitwise_and,
                               [OP_OR] = OP_bitwise_or,
                               [OP_XOR] = OP_bitwise_xor,
                               [OP_EQ] = OP_equal,
                               [OP_NE] = OP_not_equal,
                               [OP_LT] = OP_less,
                               [OP_LE] = OP_less_equal,
                               [OP_GT] = OP_greater,
                               [OP_GE] = OP_greater_equal,
                               [OP_SHL] = OP_bitwise_left_shift,
                               [OP_SHR] = OP_bitwise_right_shift};
    const ig_dtype d = lower_lane(type);
    if (op == OP_SHL || op == OP_SHR)
        b = lower_convert(l, b, lower_lane(right), d);
    if (op == OP_REM || (op == OP_DIV && !dtype_is_float(d)))
        return lower_row(l, op == OP_REM ? CODE_ROW_modulo : CODE_ROW_divide, d, a, b, CODE_NONE);
    return op >= OP_EQ ? lower_truth(l, maps[op], d, a, b)
                       : lower_rounded(l, type, lower_map(l, maps[op], d, a, b));
}

static int32_t lower_pointer_math(lower *l, const kernel_expr *e)
{
    if (e->op == OP_OFFSET) {
        lower_place p = lower_pointee(l, e, e->type->of);
        return lower_address(l, &p);
    }
    const int32_t a = steady(l, lower_scalar(l, e->a), e->b), b = lower_scalar(l, e->b);
    const int32_t bytes = lower_map(l, OP_subtract, IG_U64, a, b);
    const uint64_t size = e->a->type->of->size ? e->a->type->of->size : 1;
    return lower_row(l, CODE_ROW_divide, IG_I64, lower_bits(l, bytes, IG_I64),
                     lower_integer(l, IG_I64, (int64_t)size), CODE_NONE);
}

static int32_t lower_unary(lower *l, const kernel_expr *e)
{
    static const int maps[] = {
        [OP_NEGATE] = OP_negative, [OP_INVERT] = OP_bitwise_invert, [OP_NOT] = OP_logical_not};
    return lower_map(l, maps[e->op], lower_lane(e->type), lower_scalar(l, e->a), CODE_NONE);
}

/* b is evaluated only where a does not decide the result. */
static int32_t lower_logical(lower *l, const kernel_expr *e)
{
    const bool is_and = e->kind == EXPR_AND;
    int32_t a = lower_scalar(l, e->a);
    if (is_plain(e->b))
        return lower_truth(l, is_and ? OP_logical_and : OP_logical_or, IG_BOOL, a,
                           lower_scalar(l, e->b));
    const int32_t d = lower_variable(l, IG_BOOL);
    if (l->c->reg[a].variable)
        a = steady(l, a, e->b);
    lower_emit(l, CODE_COPY, IG_BOOL, d, a, CODE_NONE, CODE_NONE);
    const int32_t ask = is_and ? a : lower_truth(l, OP_logical_not, IG_BOOL, a, CODE_NONE);
    const int begin = lower_open(l, CODE_IF, ask);
    lower_assign(l, d, lower_scalar(l, e->b));
    lower_close(l, begin);
    return d;
}

static lower_value lower_choose(lower *l, const kernel_expr *e)
{
    const int32_t a = lower_scalar(l, e->a);
    const int n = e->type->kind == TYPE_VOID ? 0 : lower_leaves(e->type);
    if (n == 1 && is_plain(e->b) && is_plain(e->c)) {
        const ig_dtype d = lower_lane(lower_leaves_of(e->type).type[0]);
        const int32_t b = lower_expr(l, e->b).reg[0], c = lower_expr(l, e->c).reg[0];
        return lower_value_of(l, e->type, lower_pick(l, d, a, b, c));
    }
    const lower_value v = e->type->kind == TYPE_VOID ? lower_value_new(l, e->type, 0)
                                                     : lower_value_variable(l, e->type);
    const lower_place to = lower_place_of(&v);
    const int begin = lower_open(l, CODE_IF, a);
    for (int k = 0; k < 2; k++) {
        const lower_value side = lower_expr(l, k ? e->c : e->b);
        if (e->type->kind != TYPE_VOID)
            lower_store(l, &to, &side);
        if (!k)
            lower_else(l, begin);
    }
    lower_close(l, begin);
    return v;
}

/* ---- assignments ---- */

static lower_value lower_assignment(lower *l, const kernel_expr *e)
{
    const lower_value v = steady_value(l, lower_expr(l, e->b), e->a);
    l->place = e->a->place ? e->a->place : l->place; /* messages about a store show its target */
    const lower_place to = lower_at(l, e->a);
    lower_store(l, &to, &v);
    return to.reg ? (lower_value){.type = e->type, .reg = to.reg, .n = to.n, .address = CODE_NONE}
                  : v;
}

static lower_value lower_update(lower *l, const kernel_expr *e)
{
    const kernel_type *type = e->a->type->plain, *compute = e->as.compute;
    if (type->kind == TYPE_POINTER) {
        lower_place p = lower_at(l, e->a);
        const lower_value was = lower_load(l, &p);
        int32_t old = was.reg[0];
        if (e->post)
            old = lower_copy(l, old);
        lower_place moved = lower_memory(type->of, old, e->a->space);
        const kernel_expr *by = e->b;
        lower_move(l, &moved, by, type->of->size);
        if (e->op == OP_SUB) { /* the distance, negated */
            const int32_t d = lower_address(l, &moved);
            const int32_t forth = lower_map(l, OP_subtract, IG_U64, d, old);
            const int32_t back = lower_map(l, OP_subtract, IG_U64, old, forth);
            moved = lower_memory(type->of, back, e->a->space);
        }
        const lower_value new = lower_value_of(l, type, lower_address(l, &moved));
        lower_store(l, &p, &new);
        if (e->post)
            return lower_value_of(l, type, old);
        return p.reg ? lower_load(l, &p) : new;
    }
    const int32_t by = steady(l, lower_scalar(l, e->b), e->a);
    l->place = e->a->place ? e->a->place : l->place;
    lower_place p = lower_at(l, e->a);
    int32_t was = lower_load(l, &p).reg[0], old = was;
    if (e->post && l->c->reg[was].variable)
        old = lower_copy(l, was);
    const int32_t computed = lower_binary(l, (kernel_operator)e->op, compute, e->b->type,
                                          lower_cast(l, was, type, compute), by);
    lower_value v = lower_value_of(l, type, lower_cast(l, computed, compute, type));
    lower_store(l, &p, &v);
    if (e->post)
        return lower_value_of(l, type, old);
    return p.reg ? lower_load(l, &p) : v;
}

/* ---- expressions ---- */

static int32_t lower_const(lower *l, const kernel_expr *e)
{
    const ig_dtype d = lower_lane(e->type);
    uint64_t bits = e->value.integer;
    if (d == IG_F64) {
        memcpy(&bits, &e->value.number, sizeof bits);
    } else if (d == IG_F32) {
        const float f = (float)e->value.number;
        bits = 0;
        memcpy(&bits, &f, sizeof f);
    }
    return lower_constant(l, d, bits);
}

static lower_value lower_list_value(lower *l, const kernel_expr *e)
{
    const int n = lower_leaves(e->type);
    if (n) {
        const lower_scalars all = lower_leaves_of(e->type);
        const lower_value *parts = lower_args(l, e->args, e->n_args);
        lower_value v = lower_value_new(l, e->type, n);
        int at = 0;
        for (uint32_t i = 0; i < e->n_args; i++)
            for (int k = 0; k < parts[i].n; k++)
                v.reg[at++] = parts[i].reg[k];
        for (; at < n; at++)
            v.reg[at] = lower_constant(l, lower_lane(all.type[at]), 0);
        return v;
    }
    const lower_value v = lower_value_local(l, e->type);
    const lower_place all = lower_place_of(&v);
    kernel_type byte = {.kind = TYPE_U8, .size = 1, .align = 1},
                word = {.kind = TYPE_U64, .size = 8};
    const kernel_type *piece = e->type->align >= 8 && e->type->size % 8 == 0 ? &word : &byte;
    const int32_t zero = lower_constant(l, lower_lane(piece), 0);
    for (uint64_t at = 0; at < e->type->size; at += piece->size)
        lower_store_scalar(l, &all, piece, (int64_t)at, zero);
    for (uint32_t i = 0; i < e->n_args; i++) {
        const bool is_array = e->type->kind == TYPE_ARRAY;
        const lower_value part = lower_expr(l, e->args[i]);
        lower_place to = all;
        to.type = is_array ? e->type->of : e->type->record->members[i].type;
        to.offset +=
            (int32_t)(is_array ? i * e->type->of->size : e->type->record->members[i].offset);
        to.bits =
            !is_array && e->type->record->members[i].bits ? &e->type->record->members[i] : NULL;
        lower_store(l, &to, &part);
    }
    return v;
}

static int32_t lower_index(lower *l, const kernel_expr *e)
{
    static const code_origin bases[] = {[INDEX_THREAD] = ORIGIN_THREAD_X,
                                        [INDEX_BLOCK] = ORIGIN_BLOCK_X,
                                        [INDEX_BLOCK_DIM] = ORIGIN_BLOCK_DIM_X,
                                        [INDEX_GRID_DIM] = ORIGIN_GRID_DIM_X};
    return lower_special(l, bases[e->base] + e->axis);
}

static int32_t lower_scalar_kind(lower *l, const kernel_expr *e)
{
    switch (e->kind) {
    case EXPR_CONST: return lower_const(l, e);
    case EXPR_ADDRESS:
    case EXPR_DECAY: {
        const lower_place p = lower_at(l, e->a);
        return lower_address(l, &p);
    }
    case EXPR_CAST:
        if (e->type->kind == TYPE_VOID) {
            const lower_value v = lower_expr(l, e->a);
            return v.reg ? v.reg[0] : CODE_NONE;
        }
        return lower_cast(l, lower_scalar(l, e->a), e->a->type, e->type);
    case EXPR_UNARY: return lower_unary(l, e);
    case EXPR_BINARY: {
        if (e->op == OP_OFFSET || e->op == OP_DISTANCE)
            return lower_pointer_math(l, e);
        const int32_t a = steady(l, lower_scalar(l, e->a), e->b);
        return lower_binary(l, (kernel_operator)e->op, e->a->type, e->b->type, a,
                            lower_scalar(l, e->b));
    }
    case EXPR_AND:
    case EXPR_OR: return lower_logical(l, e);
    default: return lower_index(l, e);
    }
}

lower_value lower_expr(lower *l, const kernel_expr *e)
{
    const kernel_place place = l->place;
    lower_value v;
    if (e->place)
        l->place = e->place;
    switch (e->kind) {
    case EXPR_VAR:
    case EXPR_DEREF:
    case EXPR_MEMBER: {
        const lower_place p = lower_at(l, e);
        v = lower_load(l, &p);
        break;
    }
    case EXPR_LOAD: {
        const lower_place p = lower_at(l, e->a);
        v = lower_load(l, &p);
        break;
    }
    case EXPR_CHOOSE: v = lower_choose(l, e); break;
    case EXPR_COMMA:
        lower_effect(l, e->a);
        v = lower_expr(l, e->b);
        break;
    case EXPR_ASSIGN: v = lower_assignment(l, e); break;
    case EXPR_UPDATE: v = lower_update(l, e); break;
    case EXPR_CALL: v = lower_call(l, e->as.function, e->args); break;
    case EXPR_BUILTIN: v = lower_builtin(l, e); break;
    case EXPR_LIST: v = lower_list_value(l, e); break;
    default: v = lower_value_of(l, e->type, lower_scalar_kind(l, e));
    }
    l->place = place;
    return v;
}

int32_t lower_scalar(lower *l, const kernel_expr *e) { return lower_expr(l, e).reg[0]; }

void lower_effect(lower *l, const kernel_expr *e) { lower_expr(l, e); }
