/* Makes expressions and converts them: every implicit step of C++ becomes a node here. */
#include <string.h>

#include "compiler/parse/parser.h"

/* ---- making ----------------------------------------------------------------------------------- */

kernel_expr *expr_new(parser *p, expr_kind kind, kernel_place place, const kernel_type *type)
{
    kernel_expr *e = kernel_arena_new(p->arena, sizeof *e);
    e->kind = kind;
    e->place = place;
    e->type = type;
    return e;
}

kernel_expr *expr_node(parser *p, expr_kind kind, kernel_place place, const kernel_type *type,
                       kernel_expr *a, kernel_expr *b)
{
    kernel_expr *e = expr_new(p, kind, place, type);
    e->a = a;
    e->b = b;
    return e;
}

kernel_expr *expr_zero(parser *p, kernel_place place, const kernel_type *type)
{
    return expr_cast(p, expr_integer(p, place, type_word_of(p, WORD_INT), 0), type, place);
}

kernel_expr *expr_integer(parser *p, kernel_place place, const kernel_type *type, uint64_t value)
{
    kernel_expr *e = expr_new(p, EXPR_CONST, place, type->plain);
    e->value.integer = fold_wrap(type->kind, value);
    return e;
}

kernel_expr *expr_number(parser *p, kernel_place place, const kernel_type *type, double value)
{
    kernel_expr *e = expr_new(p, EXPR_CONST, place, type->plain);
    e->value.number = fold_round(type->kind, value);
    return e;
}

kernel_expr *expr_var(parser *p, kernel_place place, kernel_var *var)
{
    kernel_expr *e = expr_new(p, EXPR_VAR, place, var->type);
    e->as.var = var;
    return e;
}

kernel_expr *expr_builtin(parser *p, kernel_place place, kernel_builtin id, const kernel_type *type,
                          uint32_t n, kernel_expr *const *args)
{
    kernel_expr *e = expr_new(p, EXPR_BUILTIN, place, type->plain);
    e->builtin = id;
    e->n_args = n;
    e->args = kernel_arena_get(p->arena, n * sizeof *e->args);
    bool soft = type->kind == TYPE_F64;
    for (uint32_t i = 0; i < n; i++) {
        e->args[i] = args[i];
        soft = soft && (args[i]->type->kind != TYPE_F64 || args[i]->soft);
    }
    e->soft = soft && n;
    return e;
}

kernel_expr *expr_list(parser *p, kernel_place place, const kernel_type *type, uint32_t n)
{
    kernel_expr *e = expr_new(p, EXPR_LIST, place, type->plain);
    e->n_args = n;
    e->args = kernel_arena_new(p->arena, n * sizeof *e->args);
    return e;
}

bool expr_is_place(const kernel_expr *e)
{
    while (e->kind == EXPR_MEMBER)
        e = e->a;
    return e->kind == EXPR_VAR || e->kind == EXPR_DEREF;
}

bool expr_is_null(const kernel_expr *e)
{
    return e->kind == EXPR_CONST && (type_is_integer(e->type) || type_is_pointer(e->type)) &&
           !e->type->enumeration && e->value.integer == 0;
}

const kernel_type *type_word_of(parser *p, type_word word) { return p->types->basic[word]; }

const char *type_name(parser *p, const kernel_type *t) { return type_text(p->types, t); }

/* ---- values ----------------------------------------------------------------------------------- */

static void mark_addressed(parser *p, kernel_expr *e)
{
    while (e->kind == EXPR_MEMBER)
        e = e->a;
    if (e->kind != EXPR_VAR)
        return;
    e->as.var->addressed = true;
    if (e->as.var->storage >= STORE_GLOBAL) /* also a constant whose value is known */
        global_list(p, e->as.var);
}

/* A string that is not only printed: a constant array, and the address of its first character. */
static kernel_expr *string_value(parser *p, kernel_expr *e)
{
    const kernel_string *s = e->as.text;
    if (!e->a) {
        const kernel_type *type = type_array(p->types, e->type->of, s->bytes + 1);
        kernel_var *v = global_var(p, name_of(p, "text"), type, STORE_CONSTANT, e->place);
        if (!p->is_outside)
            global_list(p, v);
        v->init = memcpy(kernel_arena_new(p->arena, s->bytes + 1), s->text, s->bytes);
        e->a = expr_value(p, expr_var(p, e->place, v));
    }
    return e->a;
}

kernel_expr *expr_value(parser *p, kernel_expr *e)
{
    if (is_function_name(e))
        return function_pointer(p, e, NULL);
    if (e->kind == EXPR_DEREF && e->type->kind == TYPE_FUNCTION)
        return e->a;
    if (e->kind == EXPR_STRING && p->current) /* outside of functions it belongs to the host */
        return string_value(p, e);
    if (!expr_is_place(e)) {
        if (e->type->kind == TYPE_ARRAY)
            parser_fail_do(p, e->place, "assign the struct to a variable first",
                           "an array inside a temporary value cannot be used");
        return e;
    }
    if (e->type->kind == TYPE_ARRAY) {
        mark_addressed(p, e);
        return expr_node(p, EXPR_DECAY, e->place, type_pointer(p->types, e->type->of), e, NULL);
    }
    if (e->kind == EXPR_VAR && e->c) { /* its value is known */
        kernel_expr *known = expr_new(p, EXPR_CONST, e->place, e->c->type);
        known->value = e->c->value;
        return known;
    }
    if (e->type->kind == TYPE_VOID)
        parser_fail_do(p, e->place, "cast the pointer to the type that it points to",
                       "a void pointer cannot be read through");
    type_complete(p, e->type, e->place);
    const kernel_member *bits = bit_field(e);
    e = expr_node(p, EXPR_LOAD, e->place, e->type->plain, e, NULL);
    if (bits && bits->bits < 32 && e->type->kind == TYPE_U32 && !e->type->enumeration)
        return expr_node(p, EXPR_CAST, e->place, type_word_of(p, WORD_INT), e, NULL); /* promoted */
    return e;
}

const kernel_member *bit_field(const kernel_expr *e)
{
    return e->kind == EXPR_MEMBER && e->as.member->bits ? e->as.member : NULL;
}

kernel_expr *bit_field_value(parser *p, const kernel_member *m, kernel_expr *value)
{
    const kernel_type *type = value->type, *wide = type_promote(p, type);
    const uint32_t whole = (uint32_t)wide->size * 8;
    if (type->kind == TYPE_BOOL || m->bits == whole)
        return value;
    value = expr_cast(p, value, wide, value->place);
    if (type_is_signed(type)) {
        kernel_expr *by = expr_integer(p, value->place, type_word_of(p, WORD_INT), whole - m->bits);
        value = expr_op(p, value->place, OP_SHL, value, by);
        value = expr_op(p, value->place, OP_SHR, value, by);
    } else {
        value = expr_op(p, value->place, OP_AND, value,
                        expr_integer(p, value->place, wide, UINT64_MAX >> (64 - m->bits)));
    }
    return expr_cast(p, value, type, value->place);
}

kernel_expr *expr_address(parser *p, kernel_place place, kernel_expr *e)
{
    if (is_function_name(e))
        return e;
    if (!expr_is_place(e))
        parser_fail_do(p, place, "assign it to a variable first", "a value has no address");
    if (bit_field(e))
        parser_fail_do(p, place, "assign it to a variable first", "a bit-field has no address");
    if (e->kind == EXPR_DEREF)
        return e->a;
    mark_addressed(p, e);
    return expr_node(p, EXPR_ADDRESS, place, type_pointer(p->types, e->type), e, NULL);
}

kernel_expr *expr_deref(parser *p, kernel_place place, kernel_expr *pointer)
{
    pointer = expr_value(p, pointer);
    if (!type_is_pointer(pointer->type) || pointer->type->word == WORD_NULL)
        parser_fail(p, place, "'%s' is not a pointer", type_name(p, pointer->type));
    if (pointer->type->of->kind == TYPE_VOID)
        parser_fail_do(p, place, "cast the pointer to the type that it points to",
                       "a void pointer cannot be read through");
    return expr_node(p, EXPR_DEREF, place, pointer->type->of, pointer, NULL);
}

kernel_expr *expr_comma(parser *p, kernel_expr *a, kernel_expr *b)
{
    if (!a)
        return b;
    kernel_expr *e = expr_node(p, EXPR_COMMA, a->place, b->type, a, b);
    e->soft = b->soft;
    return e;
}

kernel_var *temporary_new(parser *p, const kernel_type *type, kernel_place place)
{
    if (!p->current)
        parser_fail(p, place, "not a constant");
    kernel_var *v = local_new(p, name_of(p, "temp"), type->plain, place);
    v->is_temporary = v->assigned = true;
    return v;
}

static kernel_expr *set(parser *p, kernel_var *v, kernel_expr *value)
{
    return expr_node(p, EXPR_ASSIGN, value->place, value->type, expr_var(p, value->place, v),
                     value);
}

kernel_expr *expr_once(parser *p, kernel_expr *e, kernel_expr **before)
{
    if (e->kind == EXPR_CONST || e->kind == EXPR_INDEX ||
        (e->kind == EXPR_LOAD && e->a->kind == EXPR_VAR && !e->a->as.var->addressed && !*before &&
         e->a->as.var->storage <= STORE_LOCAL))
        return e;
    kernel_var *v = temporary_new(p, e->type, e->place);
    *before = expr_comma(p, *before, set(p, v, e));
    return expr_value(p, expr_var(p, e->place, v));
}

/* ---- conversions ------------------------------------------------------------------------------ */

const kernel_type *type_promote(parser *p, const kernel_type *t)
{
    t = t->plain;
    if (t->enumeration)
        t = type_word_of(p, t->word);
    if (t->kind >= TYPE_BOOL && t->kind < TYPE_I32)
        return type_word_of(p, WORD_INT);
    return t;
}

static bool is_group(const kernel_type *t) { return t->word >= WORD_BLOCK; }
static bool is_scoped(const kernel_type *t) { return t->enumeration && t->enumeration->scoped; }

/* C's usual arithmetic conversions. A 16-bit float and an integer give the 16-bit float; a 16-bit float and a
 * float give float. */
const kernel_type *type_usual(parser *p, const kernel_type *a, const kernel_type *b)
{
    if (!type_is_arithmetic(a) || !type_is_arithmetic(b) || is_group(a) || is_group(b) ||
        is_scoped(a) || is_scoped(b))
        return NULL;
    a = type_promote(p, a);
    b = type_promote(p, b);
    if (a == b)
        return a;
    if (type_is_float(a) && type_is_float(b) && (a->kind < TYPE_F32) && (b->kind < TYPE_F32))
        return NULL; /* half and bfloat16 */
    if (type_is_float(a) || type_is_float(b))
        return a->kind > b->kind ? a : b;
    if (a->size == b->size && type_is_signed(a) != type_is_signed(b)) {
        const kernel_type *u = type_is_signed(a) ? b : a, *s = type_is_signed(a) ? a : b;
        /* long long and unsigned long: the type of higher rank, unsigned */
        return s->word > u->word ? type_word_of(p, s->word + 1) : u;
    }
    return a->word > b->word ? a : b;
}

/* The rank of converting a pointer to `from` into a pointer to `to`. Qualifiers may be added. */
static int pointee_rank(parser *p, const kernel_type *from, const kernel_type *to)
{
    if (from->quals & ~to->quals)
        return -1;
    if (from->plain == to->plain)
        return from == to ? 0 : 1;
    const kernel_member *path[8];
    if (from->kind == TYPE_STRUCT && to->kind == TYPE_STRUCT && from->record->syntax &&
        from->record->syntax->body && !from->record->syntax->open)
        type_complete(p, from, p->t->place);
    if (to->kind == TYPE_VOID || base_path(from, to, path) > 0 || base_is_empty(from, to))
        return 3;
    if (from->kind == TYPE_ARRAY && to->kind == TYPE_ARRAY && from->of->plain == to->of->plain &&
        (from->count == to->count || !to->count))
        return 1;
    if (from->kind == TYPE_POINTER && to->kind == TYPE_POINTER && (to->quals & TYPE_CONST))
        return pointee_rank(p, from->of, to->of);
    return -1;
}

static int arithmetic_rank(parser *p, const kernel_type *from, const kernel_type *to)
{
    if (is_group(from) || is_group(to) || is_scoped(from) || to->enumeration)
        return -1;
    if (type_promote(p, from) == to || (from->kind == TYPE_F32 && to->kind == TYPE_F64))
        return 2;
    return 3;
}

static bool is_uint3(const kernel_type *t)
{
    return t->kind == TYPE_STRUCT && t->record->n_vector == 3 &&
           t->record->element->kind == TYPE_U32;
}

int expr_rank(parser *p, const kernel_expr *e, const kernel_type *to)
{
    const kernel_type *from = e->type;
    const kernel_member *path[8];
    if (to->kind == TYPE_REFERENCE) {
        const kernel_type *of = to->of;
        const bool place = expr_is_place(e);
        if (place && from->plain == of->plain && !(from->quals & ~of->quals))
            return from->quals != of->quals;
        if (place && from->kind == TYPE_ARRAY)
            return pointee_rank(p, from, of);
        if (place && (base_path(from, of, path) > 0 || base_is_empty(from, of)) &&
            !(from->quals & ~of->quals))
            return 3;
        if (!(of->quals & TYPE_CONST))
            return -1;
        return expr_rank(p, e, of->plain);
    }
    to = to->plain;
    if (is_function_name(e) && to->kind == TYPE_POINTER)
        return function_fits(p, e, to) ? 0 : -1;
    if (to->kind == TYPE_POINTER && lambda_function(p, from, to))
        return 3;
    if (from->kind == TYPE_ARRAY && to->kind == TYPE_POINTER)
        return pointee_rank(p, from->of, to->of);
    from = from->plain;
    if (from == to)
        return 0;
    if (base_path(from, to, path) > 0 || base_is_empty(from, to))
        return 3;
    if (!p->converting && conversion_to(p, from, to))
        return 4;
    if (to->kind == TYPE_STRUCT && converts(p, e, to))
        return 4;
    if (type_is_arithmetic(from) && type_is_arithmetic(to))
        return arithmetic_rank(p, from, to);
    if (to->kind == TYPE_POINTER && to->word != WORD_NULL) {
        if (expr_is_null(e))
            return 3;
        if (from->kind == TYPE_FUNCTION)
            return from == to->of ? 0 : -1;
        return from->kind == TYPE_POINTER ? pointee_rank(p, from->of, to->of) : -1;
    }
    if (from->kind == TYPE_POINTER && to->kind == TYPE_BOOL)
        return 3;
    if (is_uint3(from) && is_uint3(to))
        return 3;
    if (to == p->types->dim3 && type_is_integer(from))
        return 3;
    return -1;
}

/* The offset of base `to` in a struct; 0 if it is not one. */
static int64_t base_offset(const kernel_type *from, const kernel_type *to)
{
    const kernel_member *path[8];
    int64_t offset = 0;
    for (int i = base_path(from, to, path); i > 0; i--)
        offset += (int64_t)path[i - 1]->offset;
    return offset;
}

/* The node of a valid conversion. */
static kernel_expr *cast_to(parser *p, kernel_expr *e, const kernel_type *to, bool implicit)
{
    if (e->type == to)
        return e;
    kernel_expr *c = expr_node(p, EXPR_CAST, e->place, to, e, NULL);
    c->soft = implicit && to->kind == TYPE_F64 && e->type->kind != TYPE_F64;
    return fold(p, c);
}

/* The same; a pointer to a struct becomes one to a base, or to a derived struct, which may begin elsewhere. */
static kernel_expr *cast_pointer(parser *p, kernel_expr *e, const kernel_type *to, bool implicit)
{
    if (e->type->kind != TYPE_POINTER || to->kind != TYPE_POINTER)
        return cast_to(p, e, to, implicit);
    const int64_t bytes = base_offset(e->type->of, to->of) - base_offset(to->of, e->type->of);
    if (!bytes || !p->current)
        return cast_to(p, e, to, implicit);
    kernel_expr *before = NULL;
    e = expr_once(p, e, &before);
    const kernel_type *byte = type_pointer(
        p->types, type_qualify(p->types, type_word_of(p, WORD_CHAR), e->type->of->quals));
    kernel_expr *moved =
        expr_node(p, EXPR_BINARY, e->place, byte, cast_to(p, e, byte, false),
                  expr_integer(p, e->place, type_word_of(p, WORD_LONG), (uint64_t)bytes));
    moved->op = OP_OFFSET;
    kernel_expr *made =
        expr_node(p, EXPR_CHOOSE, e->place, to, expr_bool(p, e), cast_to(p, moved, to, false));
    made->c = cast_to(p, e, to, false);
    return expr_comma(p, before, made);
}

/* e converted to a base of its struct. */
kernel_expr *expr_to_base(parser *p, kernel_expr *e, const kernel_type *base)
{
    const kernel_member *path[8];
    const int n = base_path(e->type, base, path);
    if (n < 0 && base_is_empty(e->type, base)) {
        if (!expr_is_place(e))
            return expr_comma(p, e, expr_list(p, e->place, base->plain, 0));
        const kernel_type *to = type_qualify(p->types, base->plain, e->type->quals);
        return expr_deref(
            p, e->place,
            cast_to(p, expr_address(p, e->place, e), type_pointer(p->types, to), true));
    }
    for (int i = 0; i < n; i++) {
        e = expr_node(p, EXPR_MEMBER, e->place,
                      type_qualify(p->types, path[i]->type, e->type->quals), e, NULL);
        e->as.member = path[i];
    }
    return e;
}

/* uint3 to dim3 and back, and a number to dim3. */
static kernel_expr *to_uint3(parser *p, kernel_expr *e, const kernel_type *to)
{
    kernel_expr *list = expr_list(p, e->place, to, 3), *before = NULL;
    const kernel_type *element = to->record->element;
    if (e->type->kind != TYPE_STRUCT) {
        list->args[0] = cast_to(p, e, element, true);
        for (int i = 1; i < 3; i++)
            list->args[i] = expr_integer(p, e->place, element, 1);
        return list;
    }
    if (e->kind == EXPR_LIST) {
        for (int i = 0; i < 3; i++)
            list->args[i] = e->args[i];
        return list;
    }
    e = expr_once(p, e, &before);
    for (int i = 0; i < 3; i++)
        list->args[i] =
            expr_value(p, expr_member(p, e->place, e, e->type->record->members[i].name));
    return expr_comma(p, before, list);
}

static _Noreturn void cannot(parser *p, const kernel_expr *e, const kernel_type *to,
                             const char *what)
{
    const kernel_type *from = e->type;
    const bool pointers = (from->kind == TYPE_POINTER || from->kind == TYPE_ARRAY) &&
                          (to->kind == TYPE_POINTER || type_is_integer(to));
    parser_error(p, e->place, "%s: cannot convert '%s' to '%s'", what, type_name(p, from),
                 type_name(p, to));
    if (!p->quiet) {
        if (pointers)
            diag_do(p->diags, "if this is intended, write reinterpret_cast<%s>(...)",
                    type_name(p, to));
        else if (is_scoped(from))
            diag_do(p->diags, "write static_cast<%s>(...)", type_name(p, to));
        else if (to->kind == TYPE_STRUCT && to->record->has_methods)
            diag_do(p->diags,
                    "constructors are not supported: write {...} with the members' values");
    }
    parser_jump(p);
}

kernel_expr *expr_convert(parser *p, kernel_expr *e, const kernel_type *to, const char *what)
{
    if (to->kind == TYPE_REFERENCE)
        return expr_bind(p, e, to->of, what);
    to = to->plain;
    if (expr_rank(p, e, to) < 0)
        cannot(p, e, to, what);
    if (type_is_pointer(to) && lambda_function(p, e->type, to))
        return lambda_pointer(p, e, to);
    if (e->type->kind == TYPE_STRUCT && e->type->plain != to) {
        const conversion *c = conversion_to(p, e->type->plain, to);
        if (c)
            return expr_convert(
                p, call_method(p, e, methods_of(p, e->type, c->name->text), e->place, NULL, 0), to,
                what);
        e = expr_to_base(p, e, to);
    }
    if (to->kind == TYPE_STRUCT && e->type->plain != to && converts(p, e, to))
        return construct(p, to, e->place, &e, 1);
    if (to->kind == TYPE_STRUCT && e->type->plain == to)
        return object_value(p, e);
    if (e->kind == EXPR_STRING && to->kind == TYPE_BOOL)
        return expr_integer(p, e->place, to, 1); /* assert(x && "why") */
    if (is_function_name(e) && type_is_pointer(to))
        return function_pointer(p, e, to);
    e = expr_value(p, e);
    if (e->type == to)
        return e;
    if (to->kind == TYPE_STRUCT)
        return to_uint3(p, e, to);
    return cast_pointer(p, e, to, true);
}

kernel_expr *expr_bool(parser *p, kernel_expr *e)
{
    return expr_convert(p, e, type_word_of(p, WORD_BOOL), "a condition");
}

/* c ? a : b of two places as a place, where one is needed. Elsewhere it is a value. */
kernel_expr *expr_chosen_place(parser *p, kernel_expr *e)
{
    if (e->kind != EXPR_CHOOSE || e->b->kind != EXPR_LOAD || e->c->kind != EXPR_LOAD ||
        e->b->a->type != e->c->a->type)
        return e;
    kernel_expr *b = expr_address(p, e->place, e->b->a), *c = expr_address(p, e->place, e->c->a);
    kernel_expr *chosen = expr_node(p, EXPR_CHOOSE, e->place, b->type, e->a, b);
    chosen->c = c;
    return expr_deref(p, e->place, chosen);
}

kernel_expr *expr_bind(parser *p, kernel_expr *e, const kernel_type *to, const char *what)
{
    if (bit_field(e))
        e = expr_value(p, e);
    if (!(to->quals & TYPE_CONST))
        e = expr_chosen_place(p, e);
    if (expr_is_place(e))
        e = expr_to_base(p, e, to);
    const kernel_type *from = e->type;
    if (expr_is_place(e) && !(e->kind == EXPR_VAR && e->c && (to->quals & TYPE_CONST)) &&
        (from->plain == to->plain || from->kind == TYPE_ARRAY) && !(from->quals & ~to->quals)) {
        if (from->kind == TYPE_ARRAY && pointee_rank(p, from, to) < 0)
            cannot(p, e, to, what);
        return cast_to(p, expr_address(p, e->place, e), type_pointer(p->types, to), true);
    }
    if (!(to->quals & TYPE_CONST)) {
        if (expr_is_place(e) && (from->quals & TYPE_CONST) && from->plain == to->plain)
            parser_fail_do(p, e->place, "make the reference const", "%s: the object is const",
                           what);
        if (!expr_is_place(e))
            parser_fail_do(p, e->place, "assign it to a variable, or make the reference const",
                           "%s: a reference cannot stand for a value", what);
        cannot(p, e, to, what);
    }
    kernel_expr *value = expr_convert(p, e, to->plain, what);
    kernel_var *v = temporary_new(p, to, e->place);
    kernel_expr *address = expr_address(p, e->place, expr_var(p, e->place, v));
    value = temporary_keep(p, v, set(p, v, value));
    return expr_comma(p, value, cast_to(p, address, type_pointer(p->types, to), true));
}

/* (T)e and the C++ casts, which mean the same here. */
kernel_expr *expr_cast(parser *p, kernel_expr *e, const kernel_type *to, kernel_place place)
{
    if (to->kind == TYPE_REFERENCE) {
        if (!expr_is_place(e))
            parser_fail(p, place, "a value cannot be cast to a reference");
        kernel_expr *address = expr_address(p, place, e);
        return expr_deref(p, place, cast_to(p, address, type_pointer(p->types, to->of), false));
    }
    to = to->plain;
    if (is_function_name(e) && function_fits(p, e, to))
        return function_pointer(p, e, to);
    e = to->kind == TYPE_STRUCT && e->type->plain == to ? object_value(p, e)
        : e->type->kind == TYPE_STRUCT                  ? e
                                                        : expr_value(p, e);
    const kernel_type *from = e->type->plain;
    if (to->kind == TYPE_VOID)
        return expr_node(p, EXPR_CAST, place, to, e, NULL);
    const bool scalars = type_is_scalar(from) && type_is_scalar(to) && !is_group(to);
    const bool pointer = type_is_pointer(from) || type_is_pointer(to);
    const bool number = type_is_float(from) || type_is_float(to);
    if (from == to || (scalars && !(pointer && number)) || expr_rank(p, e, to) >= 0) {
        if (from->kind == TYPE_STRUCT || to->kind == TYPE_STRUCT)
            return from == to ? e : expr_convert(p, e, to, "a cast");
        if (from == to && to->kind == TYPE_F64 && e->soft) {
            kernel_expr *hard = expr_new(p, e->kind, e->place, to);
            *hard = *e;
            hard->soft = false;
            return hard;
        }
        return cast_pointer(p, e, to, false);
    }
    if (to->kind == TYPE_STRUCT && to->record->n_vector == 1)
        return expr_convert(p, e, to, "a cast");
    if (to->kind == TYPE_STRUCT && p->current && constructors_of(p, to))
        return construct(p, to, place, &e, 1);
    parser_fail(p, place, "'%s' cannot be cast to '%s'", type_name(p, from), type_name(p, to));
}
