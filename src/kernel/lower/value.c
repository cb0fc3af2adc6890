/* Lowering: types as registers, places, and expressions. */
#include "kernel/lower/lower.h"

#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

ig_dtype lower_stored(const kernel_type *t)
{
    static const uint8_t dtypes[] = {
        [TYPE_BOOL] = IG_BOOL, [TYPE_I8] = IG_I8,       [TYPE_U8] = IG_U8,
        [TYPE_I16] = IG_I16,   [TYPE_U16] = IG_U16,     [TYPE_I32] = IG_I32,
        [TYPE_U32] = IG_U32,   [TYPE_I64] = IG_I64,     [TYPE_U64] = IG_U64,
        [TYPE_F16] = IG_F16,   [TYPE_BF16] = IG_BF16,   [TYPE_F32] = IG_F32,
        [TYPE_F64] = IG_F64,   [TYPE_POINTER] = IG_U64, [TYPE_STRUCT] = IG_DTYPE_NONE};
    return (ig_dtype)dtypes[t->kind];
}

ig_dtype lower_lane(const kernel_type *t)
{
    return t->kind == TYPE_F16 || t->kind == TYPE_BF16 ? IG_F32 : lower_stored(t);
}

static bool has_union(const kernel_type *t)
{
    if (t->kind == TYPE_ARRAY)
        return has_union(t->of);
    if (t->kind != TYPE_STRUCT)
        return false;
    for (uint32_t i = 0; i < t->record->n_members; i++)
        if (has_union(t->record->members[i].type))
            return true;
    return t->record->is_union;
}

static uint64_t count_leaves(const kernel_type *t)
{
    if (t->kind == TYPE_ARRAY) {
        const uint64_t each = count_leaves(t->of);
        return t->count > LOWER_LEAVES ? LOWER_LEAVES + 1 : each * t->count;
    }
    if (t->kind != TYPE_STRUCT)
        return 1;
    uint64_t n = 0;
    for (uint32_t i = 0; i < t->record->n_members && n <= LOWER_LEAVES; i++)
        n += count_leaves(t->record->members[i].type);
    return n;
}

int lower_leaves(const kernel_type *t)
{
    const uint64_t n = has_union(t) ? 0 : count_leaves(t);
    return n <= LOWER_LEAVES ? (int)n : 0;
}

void lower_flatten(const kernel_type *t, uint64_t offset, const kernel_type **types,
                   uint64_t *offsets, int *n)
{
    if (t->kind == TYPE_ARRAY) {
        for (uint64_t i = 0; i < t->count; i++)
            lower_flatten(t->of, offset + i * t->of->size, types, offsets, n);
    } else if (t->kind == TYPE_STRUCT) {
        for (uint32_t i = 0; i < t->record->n_members; i++)
            lower_flatten(t->record->members[i].type, offset + t->record->members[i].offset, types,
                          offsets, n);
    } else {
        types[*n] = t;
        offsets[(*n)++] = offset;
    }
}

/* The leaves of a type, listed. */
typedef struct leaves {
    int n;
    const kernel_type *type[LOWER_LEAVES];
    uint64_t offset[LOWER_LEAVES];
} leaves;

static leaves leaves_of(const kernel_type *t)
{
    leaves l = {0};
    lower_flatten(t, 0, l.type, l.offset, &l.n);
    return l;
}

static lower_value new_value(lower *l, const kernel_type *t, int n)
{
    lower_value v = {.type = t, .n = n, .address = CODE_NONE};
    v.reg = kernel_arena_new(l->arena, (size_t)(n ? n : 1) * sizeof *v.reg);
    return v;
}

static lower_value value_of(lower *l, const kernel_type *t, int32_t reg)
{
    lower_value v = new_value(l, t, 1);
    v.reg[0] = reg;
    return v;
}

/* ---- what an expression does ---- */

/* Evaluating it has side effects or may fail, so inactive lanes must not evaluate it. */
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

/* Whether it writes a variable that lives in registers. */
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

static int32_t copy_of(lower *l, int32_t reg)
{
    const ig_dtype d = (ig_dtype)l->c->reg[reg].dtype;
    const int32_t copy = lower_temp(l, d);
    lower_emit(l, CODE_COPY, d, copy, reg, CODE_NONE, CODE_NONE);
    return copy;
}

/* A value that stays what it is while `next` is evaluated. */
static int32_t steady(lower *l, int32_t reg, const kernel_expr *next)
{
    return l->c->reg[reg].variable && writes(next) ? copy_of(l, reg) : reg;
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

/* ---- memory ---- */

static code_inst *emit_memory(lower *l, code_op op, const lower_place *p, const kernel_type *t,
                              int64_t offset, int32_t d, int32_t c)
{
    code_inst *i = lower_emit(l, op, (ig_dtype)p->index, d, p->a, p->b, c);
    i->to = (uint8_t)lower_stored(t);
    i->scale = p->scale;
    i->offset = p->offset + (int32_t)offset;
    if (p->type->quals & TYPE_VOLATILE)
        i->flags |= CODE_VOLATILE;
    if (p->space == SPACE_SHARED || p->space == SPACE_LOCAL)
        i->flags |= CODE_OWN;
    i->object = p->object;
    i->align = offset ? 0 : p->type->align;
    return i;
}

int32_t lower_load_scalar(lower *l, const lower_place *p, const kernel_type *t, int64_t offset)
{
    const int32_t d = lower_temp(l, lower_lane(t));
    emit_memory(l, CODE_LOAD, p, t, offset, d, CODE_NONE);
    return d;
}

void lower_store_scalar(lower *l, const lower_place *p, const kernel_type *t, int64_t offset,
                        int32_t v)
{
    emit_memory(l, CODE_STORE, p, t, offset, CODE_NONE, v);
}

int32_t lower_address(lower *l, const lower_place *p)
{
    if (p->b == CODE_NONE && !p->offset)
        return p->a;
    const int32_t d = lower_temp(l, IG_U64);
    code_inst *i = lower_emit(l, CODE_ADDRESS, (ig_dtype)p->index, d, p->a, p->b, CODE_NONE);
    i->scale = p->scale;
    i->offset = p->offset;
    return d;
}

static lower_place place_of_value(const lower_value *v)
{
    return (lower_place){.type = v->type,
                         .reg = v->reg,
                         .n = v->n,
                         .a = v->address,
                         .b = CODE_NONE,
                         .index = IG_I64,
                         .space = SPACE_LOCAL,
                         .offset = v->offset};
}

/* Copies memory to memory, in the largest pieces that both allow. */
static void copy_memory(lower *l, const lower_place *to, const lower_place *from,
                        const kernel_type *t)
{
    static const struct {
        type_kind kind;
        uint64_t bytes;
    } pieces[] = {{TYPE_U64, 8}, {TYPE_U32, 4}, {TYPE_U16, 2}, {TYPE_U8, 1}};
    int k = 0;
    while (t->align < pieces[k].bytes)
        k++;
    kernel_type piece = {.kind = (uint8_t)pieces[k].kind, .size = pieces[k].bytes};
    for (uint64_t at = 0; at < t->size; at += piece.size)
        lower_store_scalar(l, to, &piece, (int64_t)at,
                           lower_load_scalar(l, from, &piece, (int64_t)at));
}

lower_value lower_load(lower *l, const lower_place *p)
{
    if (p->reg)
        return (lower_value){.type = p->type, .reg = p->reg, .n = p->n, .address = CODE_NONE};
    const int n = lower_leaves(p->type);
    if (!n) {
        lower_value v = {.type = p->type, .address = lower_special(l, ORIGIN_LOCAL)};
        v.offset = lower_local(l, p->type->size, p->type->align);
        const lower_place to = place_of_value(&v);
        copy_memory(l, &to, p, p->type);
        return v;
    }
    const leaves all = leaves_of(p->type);
    lower_value v = new_value(l, p->type, n);
    for (int i = 0; i < n; i++)
        v.reg[i] = lower_load_scalar(l, p, all.type[i], (int64_t)all.offset[i]);
    return v;
}

/* A register that goes into the i-th of a place, but is written before: p = {p.y, p.x}. */
static bool overwritten(const lower_place *p, int i, int32_t reg)
{
    for (int k = 0; k < i; k++)
        if (p->reg[k] == reg)
            return true;
    return false;
}

void lower_store(lower *l, const lower_place *p, const lower_value *v)
{
    if (p->reg) {
        int32_t from[LOWER_LEAVES];
        for (int i = 0; i < p->n; i++)
            from[i] = overwritten(p, i, v->reg[i]) ? copy_of(l, v->reg[i]) : v->reg[i];
        for (int i = 0; i < p->n; i++)
            lower_assign(l, p->reg[i], from[i]);
        return;
    }
    if (!v->reg) {
        const lower_place from = place_of_value(v);
        copy_memory(l, p, &from, p->type);
        return;
    }
    const leaves all = leaves_of(p->type);
    for (int i = 0; i < all.n; i++)
        lower_store_scalar(l, p, all.type[i], (int64_t)all.offset[i], v->reg[i]);
}

/* ---- places ---- */

/* An index without the cast to 64 bits: places are computed in 64 bits anyway. */
static const kernel_expr *plain_index(const kernel_expr *e)
{
    const bool widens =
        e->kind == EXPR_CAST && (e->a->type->kind == TYPE_I32 || e->a->type->kind == TYPE_U32 ||
                                 e->a->type->kind == TYPE_I64);
    return widens && e->type->kind == TYPE_I64 ? e->a : e;
}

/* Moves a place by index elements of size bytes. Two indices become one: the objects of a block or a lane
 * are small, so 32 bits will do for them. */
static void place_move(lower *l, lower_place *p, const kernel_expr *by, uint64_t size)
{
    const kernel_expr *index = plain_index(by);
    if (index->kind == EXPR_CONST && llabs((int64_t)index->value.integer) < (1 << 24) &&
        size < (1 << 6)) {
        p->offset += (int32_t)((int64_t)index->value.integer * (int64_t)size);
        return;
    }
    int32_t b = lower_scalar(l, index);
    uint8_t dtype = (uint8_t)lower_lane(index->type);
    if (p->b == CODE_NONE && size <= INT32_MAX) {
        p->b = b;
        p->index = dtype;
        p->scale = (int32_t)size;
        return;
    }
    const bool small = (p->space == SPACE_SHARED || p->space == SPACE_LOCAL) &&
                       p->index != IG_I64 && dtype != IG_I64 && p->scale % (int64_t)size == 0;
    if (!small) {
        p->a = lower_address(l, p);
        p->offset = 0;
        p->b = b;
        p->index = dtype;
        p->scale = (int32_t)size;
        return;
    }
    const int32_t times = lower_integer(l, IG_I32, p->scale / (int64_t)size);
    const int32_t rows = lower_map(l, OP_multiply, IG_I32, false, p->b, times);
    p->b = lower_map(l, OP_add, IG_I32, false, rows, b);
    p->index = IG_I32;
    p->scale = (int32_t)size;
}

static lower_place memory_at(const kernel_type *t, int32_t a, uint8_t space)
{
    return (lower_place){.type = t, .a = a, .b = CODE_NONE, .index = IG_I64, .space = space};
}

/* What a pointer in a register points to, if it is a parameter of the kernel. */
static int32_t object_of(const lane_code *c, int32_t pointer)
{
    const code_reg *r = &c->reg[pointer];
    for (int i = 0; i < c->n_object && r->origin == ORIGIN_PARAMETER; i++)
        if (c->object[i].origin == ORIGIN_PARAMETER && c->object[i].offset == r->bits)
            return i + 1;
    return 0;
}

/* Variables that lie in memory, whatever kind. */
static lower_place variable_at(lower *l, const kernel_var *var)
{
    switch (var->storage) {
    case STORE_SHARED:
    case STORE_DYNAMIC: {
        lower_place p = memory_at(var->type, lower_special(l, ORIGIN_SHARED), SPACE_SHARED);
        p.offset = (int32_t)l->entry->dynamic_offset;
        for (uint32_t i = 0; i < l->entry->n_shared && var->storage == STORE_SHARED; i++)
            if (l->entry->shared[i].var == var)
                p.offset = (int32_t)l->entry->shared[i].offset;
        p.object = lower_object(l, ORIGIN_SHARED, var, (uint64_t)p.offset);
        return p;
    }
    case STORE_GLOBAL:
    case STORE_CONSTANT: {
        lower_place p = memory_at(var->type, lower_special(l, ORIGIN_GLOBAL),
                                  var->storage == STORE_GLOBAL ? SPACE_GLOBAL : SPACE_CONSTANT);
        p.offset = (int32_t)kernel_global_at(l->tree, var);
        p.object = lower_object(l, ORIGIN_GLOBAL, var, (uint64_t)p.offset);
        return p;
    }
    default: {
        const lower_home *home = lower_home_of(l, var);
        if (home->reg)
            return (lower_place){
                .type = var->type, .reg = home->reg, .n = home->n, .a = CODE_NONE, .b = CODE_NONE};
        lower_place p = memory_at(var->type, lower_special(l, ORIGIN_LOCAL), SPACE_LOCAL);
        p.offset = home->offset;
        p.object = lower_object(l, ORIGIN_LOCAL, var, (uint64_t)p.offset);
        return p;
    }
    }
}

/* Which of a struct's leaves a member begins with. */
static int leaves_before(const kernel_struct *s, const kernel_member *m)
{
    int n = 0;
    for (uint32_t i = 0; &s->members[i] != m; i++)
        n += (int)count_leaves(s->members[i].type);
    return n;
}

lower_place lower_pointee(lower *l, const kernel_expr *e, const kernel_type *type)
{
    lower_place p;
    if (e->kind == EXPR_BINARY && e->op == OP_OFFSET) {
        p = lower_pointee(l, e->a, type);
        place_move(l, &p, e->b, e->type->of->size);
    } else if (e->kind == EXPR_DECAY || e->kind == EXPR_ADDRESS) {
        p = lower_at(l, e->a);
    } else if (e->kind == EXPR_CAST && e->a->type->kind == TYPE_POINTER) {
        p = lower_pointee(l, e->a, type);
    } else {
        p = memory_at(type, lower_scalar(l, e), e->space);
        p.object = object_of(l->c, p.a);
    }
    p.type = type;
    return p;
}

lower_place lower_at(lower *l, const kernel_expr *e)
{
    switch (e->kind) {
    case EXPR_VAR: return variable_at(l, e->as.var);
    case EXPR_DEREF: return lower_pointee(l, e->a, e->type);
    case EXPR_MEMBER: {
        lower_place p;
        if (e->a->kind == EXPR_VAR || e->a->kind == EXPR_DEREF || e->a->kind == EXPR_MEMBER) {
            p = lower_at(l, e->a);
        } else {
            const lower_value v = lower_expr(l, e->a);
            p = place_of_value(&v);
        }
        if (p.reg) {
            p.reg += leaves_before(e->a->type->record, e->as.member);
            p.n = (int)count_leaves(e->type);
        } else {
            p.offset += (int32_t)e->as.member->offset;
        }
        p.type = e->type;
        return p;
    }
    default: {
        const lower_value v = lower_expr(l, e);
        return place_of_value(&v);
    }
    }
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

int32_t lower_cast(lower *l, int32_t a, const kernel_type *from, const kernel_type *to)
{
    const ig_dtype source = lower_lane(from), target = lower_lane(to);
    if (from->kind == to->kind)
        return a;
    if (target == IG_F32 && lower_stored(to) != IG_F32) {
        if (source == IG_F64) { /* once, not by way of f32 */
            const ig_dtype stored = lower_stored(to);
            return lower_convert(l, lower_convert(l, a, IG_F64, stored), stored, IG_F32);
        }
        return lower_rounded(l, to, lower_convert(l, a, source, IG_F32));
    }
    return lower_convert(l, a, source, target);
}

int32_t lower_binary(lower *l, kernel_operator op, const kernel_type *type,
                     const kernel_type *right, int32_t a, int32_t b)
{
    static const struct {
        int map;
        bool truth;
    } maps[] = {[OP_ADD] = {OP_add, false},
                [OP_SUB] = {OP_subtract, false},
                [OP_MUL] = {OP_multiply, false},
                [OP_DIV] = {OP_divide, false},
                [OP_AND] = {OP_bitwise_and, false},
                [OP_OR] = {OP_bitwise_or, false},
                [OP_XOR] = {OP_bitwise_xor, false},
                [OP_SHL] = {OP_bitwise_left_shift, false},
                [OP_SHR] = {OP_bitwise_right_shift, false},
                [OP_EQ] = {OP_equal, true},
                [OP_NE] = {OP_not_equal, true},
                [OP_LT] = {OP_less, true},
                [OP_LE] = {OP_less_equal, true},
                [OP_GT] = {OP_greater, true},
                [OP_GE] = {OP_greater_equal, true}};
    const ig_dtype d = lower_lane(type);
    if (op == OP_SHL || op == OP_SHR)
        b = lower_convert(l, b, lower_lane(right), d);
    if (op == OP_REM || (op == OP_DIV && !dtype_is_float(d)))
        return lower_row(l, op == OP_REM ? CODE_ROW_modulo : CODE_ROW_divide, d, a, b, CODE_NONE);
    const int32_t r = lower_map(l, maps[op].map, d, maps[op].truth, a, b);
    return maps[op].truth ? r : lower_rounded(l, type, r);
}

static int32_t lower_pointer_math(lower *l, const kernel_expr *e)
{
    if (e->op == OP_OFFSET) {
        lower_place p = lower_pointee(l, e, e->type->of);
        return lower_address(l, &p);
    }
    const int32_t a = steady(l, lower_scalar(l, e->a), e->b), b = lower_scalar(l, e->b);
    const int32_t bytes = lower_map(l, OP_subtract, IG_U64, false, a, b);
    const int32_t distance = lower_temp(l, IG_I64);
    lower_emit(l, CODE_COPY, IG_I64, distance, bytes, CODE_NONE, CODE_NONE);
    const uint64_t size = e->a->type->of->size ? e->a->type->of->size : 1;
    return lower_row(l, CODE_ROW_divide, IG_I64, distance, lower_integer(l, IG_I64, (int64_t)size),
                     CODE_NONE);
}

static int32_t lower_unary(lower *l, const kernel_expr *e)
{
    static const int maps[] = {
        [OP_NEGATE] = OP_negative, [OP_INVERT] = OP_bitwise_invert, [OP_NOT] = OP_logical_not};
    return lower_map(l, maps[e->op], lower_lane(e->type), e->op == OP_NOT, lower_scalar(l, e->a),
                     CODE_NONE);
}

/* b is evaluated only where a does not decide the result. */
static int32_t lower_logical(lower *l, const kernel_expr *e)
{
    const bool is_and = e->kind == EXPR_AND;
    int32_t a = lower_scalar(l, e->a);
    if (is_plain(e->b))
        return lower_map(l, is_and ? OP_logical_and : OP_logical_or, IG_BOOL, true, a,
                         lower_scalar(l, e->b));
    const int32_t d = lower_variable(l, IG_BOOL);
    if (l->c->reg[a].variable)
        a = steady(l, a, e->b);
    lower_emit(l, CODE_COPY, IG_BOOL, d, a, CODE_NONE, CODE_NONE);
    const int32_t ask = is_and ? a : lower_map(l, OP_logical_not, IG_BOOL, true, a, CODE_NONE);
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
        const ig_dtype d = lower_lane(leaves_of(e->type).type[0]);
        const int32_t b = lower_expr(l, e->b).reg[0], c = lower_expr(l, e->c).reg[0];
        const int32_t r = lower_temp(l, d);
        lower_emit(l, CODE_PICK, d, r, a, b, c);
        return value_of(l, e->type, r);
    }
    lower_value v = new_value(l, e->type, n);
    if (e->type->kind != TYPE_VOID && !n) {
        v.reg = NULL;
        v.address = lower_special(l, ORIGIN_LOCAL);
        v.offset = lower_local(l, e->type->size, e->type->align);
    } else if (n) {
        const leaves all = leaves_of(e->type);
        for (int i = 0; i < n; i++)
            v.reg[i] = lower_variable(l, lower_lane(all.type[i]));
    }
    const lower_place to = place_of_value(&v);
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
    l->place = e->a->place ? e->a->place : l->place; /* messages about a store mean its target */
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
            old = copy_of(l, old);
        lower_place moved = memory_at(type->of, old, e->a->space);
        const kernel_expr *by = e->b;
        place_move(l, &moved, by, type->of->size);
        if (e->op == OP_SUB) { /* the distance, backwards */
            const int32_t d = lower_address(l, &moved);
            const int32_t forth = lower_map(l, OP_subtract, IG_U64, false, d, old);
            const int32_t back = lower_map(l, OP_subtract, IG_U64, false, old, forth);
            moved = memory_at(type->of, back, e->a->space);
        }
        const lower_value new = value_of(l, type, lower_address(l, &moved));
        lower_store(l, &p, &new);
        if (e->post)
            return value_of(l, type, old);
        return p.reg ? lower_load(l, &p) : new;
    }
    const int32_t by = steady(l, lower_scalar(l, e->b), e->a);
    l->place = e->a->place ? e->a->place : l->place;
    lower_place p = lower_at(l, e->a);
    int32_t was = lower_load(l, &p).reg[0], old = was;
    if (e->post && l->c->reg[was].variable)
        old = copy_of(l, was);
    const int32_t computed = lower_binary(l, (kernel_operator)e->op, compute, e->b->type,
                                          lower_cast(l, was, type, compute), by);
    lower_value v = value_of(l, type, lower_cast(l, computed, compute, type));
    lower_store(l, &p, &v);
    if (e->post)
        return value_of(l, type, old);
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
        const leaves all = leaves_of(e->type);
        lower_value v = new_value(l, e->type, n);
        int at = 0;
        for (uint32_t i = 0; i < e->n_args; i++) {
            const lower_value part = lower_expr(l, e->args[i]);
            for (int k = 0; k < part.n; k++)
                v.reg[at++] = steady(l, part.reg[k], i + 1 < e->n_args ? e->args[i + 1] : NULL);
        }
        for (; at < n; at++)
            v.reg[at] = lower_constant(l, lower_lane(all.type[at]), 0);
        return v;
    }
    lower_value v = {.type = e->type, .address = lower_special(l, ORIGIN_LOCAL)};
    v.offset = lower_local(l, e->type->size, e->type->align);
    lower_place all = place_of_value(&v);
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
    default: v = value_of(l, e->type, lower_scalar_kind(l, e));
    }
    l->place = place;
    return v;
}

int32_t lower_scalar(lower *l, const kernel_expr *e) { return lower_expr(l, e).reg[0]; }

void lower_effect(lower *l, const kernel_expr *e) { lower_expr(l, e); }
