/* Lowering: types as registers, places (registers of variables, and memory), loads and stores. */
#include "compiler/lower/lower.h"

#include "engine/ops/op_id.h"

#include <stdlib.h>

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

/* True if the type has a union or bit-fields: it lives in memory. */
static bool has_union(const kernel_type *t)
{
    if (t->kind == TYPE_ARRAY)
        return has_union(t->of);
    if (t->kind != TYPE_STRUCT)
        return false;
    for (uint32_t i = 0; i < t->record->n_members; i++)
        if (t->record->members[i].bits || has_union(t->record->members[i].type))
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

static void add_leaves(lower_scalars *l, const kernel_type *t, uint64_t offset)
{
    if (t->kind == TYPE_ARRAY) {
        for (uint64_t i = 0; i < t->count; i++)
            add_leaves(l, t->of, offset + i * t->of->size);
    } else if (t->kind == TYPE_STRUCT) {
        for (uint32_t i = 0; i < t->record->n_members; i++)
            add_leaves(l, t->record->members[i].type, offset + t->record->members[i].offset);
    } else {
        l->type[l->n] = t;
        l->offset[l->n++] = offset;
    }
}

lower_scalars lower_leaves_of(const kernel_type *t)
{
    lower_scalars l = {0};
    add_leaves(&l, t, 0);
    return l;
}

lower_value lower_value_new(lower *l, const kernel_type *t, int n)
{
    lower_value v = {.type = t, .n = n, .address = CODE_NONE};
    v.reg = kernel_arena_new(l->arena, (size_t)(n ? n : 1) * sizeof *v.reg);
    return v;
}

lower_value lower_value_of(lower *l, const kernel_type *t, int32_t reg)
{
    lower_value v = lower_value_new(l, t, 1);
    v.reg[0] = reg;
    return v;
}

/* Programs access arrays of small elements as vectors (reinterpret_cast<float4 *>), and nvcc aligns local arrays so that this
 * works. */
lower_value lower_value_local(lower *l, const kernel_type *t)
{
    const uint32_t align = t->kind == TYPE_ARRAY && t->size >= 16 && t->align < 16 ? 16 : t->align;
    return (lower_value){.type = t,
                         .address = lower_special(l, ORIGIN_LOCAL),
                         .offset = lower_local(l, t->size, align)};
}

lower_value lower_value_variable(lower *l, const kernel_type *t)
{
    const int n = lower_leaves(t);
    if (!n)
        return lower_value_local(l, t);
    const lower_scalars all = lower_leaves_of(t);
    const lower_value v = lower_value_new(l, t, n);
    for (int i = 0; i < n; i++)
        v.reg[i] = lower_variable(l, lower_lane(all.type[i]));
    return v;
}

int32_t lower_bits(lower *l, int32_t reg, ig_dtype to)
{
    const int32_t copy = lower_temp(l, to);
    lower_emit(l, CODE_COPY, to, copy, reg, CODE_NONE, CODE_NONE);
    return copy;
}

int32_t lower_copy(lower *l, int32_t reg)
{
    return lower_bits(l, reg, (ig_dtype)l->c->reg[reg].dtype);
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

lower_place lower_place_of(const lower_value *v)
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

const kernel_type *lower_piece(const kernel_type *t)
{
    static const kernel_type pieces[] = {{.kind = TYPE_U64, .size = 8},
                                         {.kind = TYPE_U32, .size = 4},
                                         {.kind = TYPE_U16, .size = 2},
                                         {.kind = TYPE_U8, .size = 1}};
    const kernel_type *piece = pieces;
    while (t->align < piece->size)
        piece++;
    return piece;
}

static void copy_memory(lower *l, const lower_place *to, const lower_place *from,
                        const kernel_type *t)
{
    const kernel_type *piece = lower_piece(t);
    for (uint64_t at = 0; at < t->size; at += piece->size)
        lower_store_scalar(l, to, piece, (int64_t)at,
                           lower_load_scalar(l, from, piece, (int64_t)at));
}

/* ---- bit-fields ---- */

static const kernel_type *unit_of(const kernel_member *m)
{
    static const kernel_type units[] = {[1] = {.kind = TYPE_U8, .size = 1, .align = 1},
                                        [2] = {.kind = TYPE_U16, .size = 2, .align = 2},
                                        [4] = {.kind = TYPE_U32, .size = 4, .align = 4},
                                        [8] = {.kind = TYPE_U64, .size = 8, .align = 8}};
    return &units[m->unit];
}

/* The dtype in which a bit-field is moved, and its place without the name of the field. */
static ig_dtype bits_begin(const lower_place *p, lower_place *unit)
{
    *unit = *p;
    unit->bits = NULL;
    unit->type = unit_of(p->bits);
    return p->bits->unit == 8 ? IG_U64 : IG_U32;
}

static int32_t shift(lower *l, int op, ig_dtype d, int32_t a, int by)
{
    return by ? lower_map(l, op, d, a, lower_constant(l, d, (uint64_t)by)) : a;
}

static lower_value load_bits(lower *l, const lower_place *p)
{
    lower_place unit;
    const ig_dtype d = bits_begin(p, &unit);
    const int width = d == IG_U64 ? 64 : 32;
    int32_t v = lower_load_scalar(l, &unit, unit.type, 0);
    v = lower_convert(l, v, lower_lane(unit.type), d);
    v = shift(l, OP_bitwise_left_shift, d, v, width - p->bits->bit - p->bits->bits);
    ig_dtype from = d;
    if (type_is_signed(p->type)) {
        from = d == IG_U64 ? IG_I64 : IG_I32;
        v = lower_bits(l, v, from);
    }
    v = shift(l, OP_bitwise_right_shift, from, v, width - p->bits->bits);
    return lower_value_of(l, p->type->plain, lower_convert(l, v, from, lower_lane(p->type)));
}

static void store_bits(lower *l, const lower_place *p, const lower_value *v)
{
    lower_place unit;
    const ig_dtype d = bits_begin(p, &unit);
    const uint64_t mask = UINT64_MAX >> (64 - p->bits->bits);
    int32_t old = lower_load_scalar(l, &unit, unit.type, 0);
    old = lower_convert(l, old, lower_lane(unit.type), d);
    const int32_t rest = lower_map(
        l, OP_bitwise_and, d, old,
        lower_constant(l, d, ~(mask << p->bits->bit) & (d == IG_U64 ? UINT64_MAX : UINT32_MAX)));
    int32_t own = lower_convert(l, v->reg[0], lower_lane(p->type), d);
    own = lower_map(l, OP_bitwise_and, d, own, lower_constant(l, d, mask));
    own = shift(l, OP_bitwise_left_shift, d, own, p->bits->bit);
    own = lower_map(l, OP_bitwise_or, d, rest, own);
    lower_store_scalar(l, &unit, unit.type, 0, lower_convert(l, own, d, lower_lane(unit.type)));
}

lower_value lower_load(lower *l, const lower_place *p)
{
    if (p->bits)
        return load_bits(l, p);
    if (p->reg)
        return (lower_value){.type = p->type, .reg = p->reg, .n = p->n, .address = CODE_NONE};
    const int n = lower_leaves(p->type);
    if (!n) {
        const lower_value v = lower_value_local(l, p->type);
        const lower_place to = lower_place_of(&v);
        copy_memory(l, &to, p, p->type);
        return v;
    }
    const lower_scalars all = lower_leaves_of(p->type);
    lower_value v = lower_value_new(l, p->type, n);
    for (int i = 0; i < n; i++)
        v.reg[i] = lower_load_scalar(l, p, all.type[i], (int64_t)all.offset[i]);
    return v;
}

/* True if reg, the source of the i-th register of a place, is overwritten before it is copied: p = {p.y,
 * p.x}. */
static bool overwritten(const lower_place *p, int i, int32_t reg)
{
    for (int k = 0; k < i; k++)
        if (p->reg[k] == reg)
            return true;
    return false;
}

void lower_store(lower *l, const lower_place *p, const lower_value *v)
{
    if (p->bits) {
        store_bits(l, p, v);
        return;
    }
    if (p->reg) {
        int32_t from[LOWER_LEAVES];
        for (int i = 0; i < p->n; i++)
            from[i] = overwritten(p, i, v->reg[i]) ? lower_copy(l, v->reg[i]) : v->reg[i];
        for (int i = 0; i < p->n; i++)
            lower_assign(l, p->reg[i], from[i]);
        return;
    }
    if (!v->reg) {
        const lower_place from = lower_place_of(v);
        copy_memory(l, p, &from, p->type);
        return;
    }
    const lower_scalars all = lower_leaves_of(p->type);
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

/* Moves a place by index elements of size bytes. Two indices are added into one: objects of a block or a lane
 * are small, so 32 bits are enough for them. */
void lower_move(lower *l, lower_place *p, const kernel_expr *by, uint64_t size)
{
    const kernel_expr *index = plain_index(by);
    if (index->kind == EXPR_CONST && llabs((int64_t)index->value.integer) < (1 << 24) &&
        size < (1 << 6)) {
        p->offset += (int32_t)((int64_t)index->value.integer * (int64_t)size);
        return;
    }
    int32_t b = lower_scalar(l, index);
    uint8_t dtype = (uint8_t)lower_lane(index->type);
    const bool first = p->b == CODE_NONE && size <= INT32_MAX;
    const bool small = (p->space == SPACE_SHARED || p->space == SPACE_LOCAL) &&
                       p->index != IG_I64 && dtype != IG_I64 && p->scale % (int64_t)size == 0;
    if (!first && small) {
        const int32_t times = lower_integer(l, IG_I32, p->scale / (int64_t)size);
        const int32_t rows = lower_map(l, OP_multiply, IG_I32, p->b, times);
        b = lower_map(l, OP_add, IG_I32, rows, b);
        dtype = IG_I32;
    } else if (!first) {
        p->a = lower_address(l, p);
        p->offset = 0;
    }
    p->b = b;
    p->index = dtype;
    p->scale = (int32_t)size;
}

lower_place lower_memory(const kernel_type *t, int32_t a, uint8_t space)
{
    return (lower_place){.type = t, .a = a, .b = CODE_NONE, .index = IG_I64, .space = space};
}

/* The object that a pointer in a register points to, if the pointer is a parameter of the kernel. */
static int32_t object_of(const lane_code *c, int32_t pointer)
{
    const code_reg *r = &c->reg[pointer];
    for (int i = 0; i < c->n_object && r->origin == ORIGIN_PARAMETER; i++)
        if (c->object[i].origin == ORIGIN_PARAMETER && c->object[i].offset == r->bits)
            return i + 1;
    return 0;
}

/* The object of a global, and those that its initial value points to, which the kernel may not name. */
static int32_t global_object(lower *l, const kernel_var *var)
{
    const int known = l->c->n_object;
    const int32_t object = lower_object(l, ORIGIN_GLOBAL, var, kernel_global_at(l->tree, var));
    for (const kernel_address *a = var->addresses; a && l->c->n_object > known; a = a->next)
        global_object(l, a->of);
    return object;
}

/* The place of a variable in memory, of any kind. */
static lower_place variable_at(lower *l, const kernel_var *var)
{
    switch (var->storage) {
    case STORE_SHARED:
    case STORE_DYNAMIC: {
        lower_place p = lower_memory(var->type, lower_special(l, ORIGIN_SHARED), SPACE_SHARED);
        p.offset = (int32_t)l->entry->dynamic_offset;
        for (uint32_t i = 0; i < l->entry->n_shared && var->storage == STORE_SHARED; i++)
            if (l->entry->shared[i].var == var)
                p.offset = (int32_t)l->entry->shared[i].offset;
        p.object = lower_object(l, ORIGIN_SHARED, var, (uint64_t)p.offset);
        return p;
    }
    case STORE_GLOBAL:
    case STORE_CONSTANT: {
        lower_place p = lower_memory(var->type, lower_special(l, ORIGIN_GLOBAL),
                                     var->storage == STORE_GLOBAL ? SPACE_GLOBAL : SPACE_CONSTANT);
        p.offset = (int32_t)kernel_global_at(l->tree, var);
        p.object = global_object(l, var);
        return p;
    }
    default: {
        const lower_home *home = lower_home_of(l, var);
        if (home->reg)
            return (lower_place){
                .type = var->type, .reg = home->reg, .n = home->n, .a = CODE_NONE, .b = CODE_NONE};
        lower_place p = lower_memory(var->type, lower_special(l, ORIGIN_LOCAL), SPACE_LOCAL);
        p.offset = home->offset;
        p.object = lower_object(l, ORIGIN_LOCAL, var, (uint64_t)p.offset);
        return p;
    }
    }
}

/* The index of a member's first leaf in its struct. */
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
        lower_move(l, &p, e->b, e->type->of->size);
    } else if (e->kind == EXPR_DECAY || e->kind == EXPR_ADDRESS) {
        p = lower_at(l, e->a);
    } else if (e->kind == EXPR_CAST && e->a->type->kind == TYPE_POINTER) {
        p = lower_pointee(l, e->a, type);
    } else {
        p = lower_memory(type, lower_scalar(l, e), e->space);
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
            p = lower_place_of(&v);
        }
        if (p.reg) {
            p.reg += leaves_before(e->a->type->record, e->as.member);
            p.n = (int)count_leaves(e->type);
        } else {
            p.offset += (int32_t)e->as.member->offset;
            p.bits = e->as.member->bits ? e->as.member : NULL;
        }
        p.type = e->type;
        return p;
    }
    default: {
        const lower_value v = lower_expr(l, e);
        return lower_place_of(&v);
    }
    }
}
