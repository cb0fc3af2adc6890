/* Initializers: "= x", "(x)", "{...}" with C's rules about nested braces. */
#include <string.h>

#include "compiler/parse/parser.h"

enum { ELEMENTS_MOST = 1 << 22 };

/* The number of members or elements that braces fill; 0 if the type is not an aggregate. */
static uint64_t parts_of(const kernel_type *t)
{
    if (t->kind == TYPE_ARRAY)
        return t->count ? t->count : ELEMENTS_MOST;
    if (t->kind == TYPE_STRUCT)
        return t->record->is_union ? t->record->n_members != 0 : t->record->n_members;
    return 0;
}

static const kernel_type *part_type(const kernel_type *t, uint64_t i)
{
    return t->kind == TYPE_ARRAY ? t->of->plain : t->record->members[i].type->plain;
}

static void add_part(parser *p, kernel_expr *list, uint32_t *room, kernel_expr *part)
{
    ARENA_ADD(p->arena, list->args, list->n_args, *room, part);
}

kernel_expr *zero_of(parser *p, const kernel_type *type)
{
    const kernel_place place = p->t->place;
    return type_is_scalar(type) ? expr_zero(p, place, type) : expr_list(p, place, type, 0);
}

static kernel_expr *parse_part(parser *p, const kernel_type *type, kernel_expr **pending);

/* A list that is being filled, its maximum number of parts, and a value that is already parsed. */
typedef struct filling {
    kernel_expr *list, **pending;
    uint64_t most;
    uint32_t room;
} filling;

static void fill_part(parser *p, void *context)
{
    filling *f = context;
    kernel_expr *list = f->list;
    if (list->n_args == f->most || (*f->pending && p->pack_at >= 0))
        parser_fail(p, p->t->place, "too many initializers for '%s'", type_name(p, list->type));
    const bool reference =
        list->type->kind == TYPE_STRUCT && list->type->record->members[list->n_args].is_reference;
    const kernel_type *type = part_type(list->type, list->n_args);
    kernel_expr *part;
    if (reference && !*f->pending)
        part = expr_bind(p, parse_assignment(p), type->of, "a member");
    else
        part = parse_part(p, type, f->pending);
    add_part(p, list, &f->room, part);
}

/* The value of a member or element that an initializer leaves out; NULL if it is zero. */
static kernel_expr *missing_part(parser *p, const kernel_type *type, uint64_t i)
{
    const kernel_type *part = part_type(type, i);
    kernel_expr *e = type->kind == TYPE_STRUCT ? member_default(p, type, i, NULL) : NULL;
    return e || !init_needed(p, part) ? e : init_value(p, part, p->t->place);
}

/* Fills a list of `type` until "}" or until it is full. `pending`: a value that is already parsed. */
static kernel_expr *fill(parser *p, const kernel_type *type, bool braced, kernel_expr **pending)
{
    kernel_expr *list = expr_new(p, EXPR_LIST, p->t->place, type->plain);
    const uint64_t most = parts_of(type);
    filling f = {list, pending, most, 0};
    parser_down(p);
    while (list->n_args < most && (*pending || !at(p, TOKEN_RBRACE))) {
        if (at(p, TOKEN_DOT) && p->t[1].kind == TOKEN_NAME && p->t[2].kind == TOKEN_ASSIGN) {
            const kernel_name *name = p->t[1].as.name; /* .x = 1, in the members' order */
            while (type->kind == TYPE_STRUCT && list->n_args < most &&
                   type->record->members[list->n_args].name != name) {
                kernel_expr *told = missing_part(p, type, list->n_args);
                add_part(p, list, &f.room, told ? told : zero_of(p, part_type(type, list->n_args)));
            }
            if (type->kind != TYPE_STRUCT || list->n_args == most)
                parser_fail(p, p->t->place, "'%s' has no member '%s' from here on",
                            type_name(p, type), name->text);
            p->t += 3;
        }
        if (*pending || !pack_expand(p, false, fill_part, &f))
            fill_part(p, &f);
        if (*pending)
            break;
        if (!braced && list->n_args == most)
            break;
        if (!accept(p, TOKEN_COMMA))
            break;
        if (!braced && at(p, TOKEN_RBRACE)) {
            p->t--; /* the comma belongs to the outer list */
            break;
        }
    }
    parser_up(p);
    const bool struct_or_class = type->kind == TYPE_STRUCT && !type->record->is_union;
    for (uint64_t i = list->n_args;
         i < most && (struct_or_class || (type->count && init_needed(p, type->of))); i++) {
        kernel_expr *e = missing_part(p, type, i);
        if (e) {
            while (list->n_args < i)
                add_part(p, list, &f.room, zero_of(p, part_type(type, list->n_args)));
            add_part(p, list, &f.room, e);
        }
    }
    return list;
}

/* The characters of a string, for an array that may get its size from it. */
static kernel_expr *string_list(parser *p, const kernel_type **type, const kernel_string *s,
                                kernel_place place)
{
    if (!(*type)->count)
        *type = type_array(p->types, (*type)->of, s->bytes + 1);
    if (s->bytes > (*type)->count)
        parser_fail(p, place, "the string is longer than the array");
    kernel_expr *list = expr_list(p, place, *type, s->bytes);
    for (uint32_t i = 0; i < s->bytes; i++)
        list->args[i] = expr_integer(p, place, (*type)->of->plain, (uint64_t)s->text[i]);
    return list;
}

/* True if braces are arguments of a constructor, not members. */
static bool is_constructed(parser *p, const kernel_type *t)
{
    return constructors_of(p, t) || (t->record->syntax && t->record->syntax->has_hidden);
}

/* A value of `type`, with or without its own braces. */
static kernel_expr *parse_part(parser *p, const kernel_type *type, kernel_expr **pending)
{
    type_complete(p, type, p->t->place);
    if (!*pending && at(p, TOKEN_LBRACE)) {
        const kernel_type *same = type;
        return parse_braces(p, &same);
    }
    if (!*pending) {
        const uint32_t chain = p->chain;
        *pending = parse_assignment(p);
        p->chain = chain;
    }
    kernel_expr *e = *pending;
    if (e->kind == EXPR_STRING && type->kind == TYPE_ARRAY && type->of->size == 1) {
        *pending = NULL;
        return string_list(p, &type, e->as.text, e->place);
    }
    if (type->kind != TYPE_ARRAY && expr_rank(p, e, type) >= 0) {
        *pending = NULL;
        return fold_all(p, expr_convert(p, e, type, "an initializer"));
    }
    if (type->kind == TYPE_STRUCT && is_constructed(p, type)) {
        *pending = NULL;
        return construct(p, type, e->place, &e, 1);
    }
    if (parts_of(type)) /* braces were left out: {1, 2, 3, 4} of int[2][2] */
        return fill(p, type, false, pending);
    return expr_convert(p, e, type, "an initializer");
}

kernel_expr *parse_braces(parser *p, const kernel_type **type)
{
    const kernel_place place = p->t->place;
    expect(p, TOKEN_LBRACE, "before an initializer");
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    const kernel_type *t = *type;
    kernel_expr *made, *pending = NULL;
    if (t->kind == TYPE_AUTO)
        parser_fail_do(p, place, "write the type", "'auto' does not say what braces make");
    type_complete(p, t, place);
    if (t->kind == TYPE_STRUCT && (at(p, TOKEN_RBRACE) || is_constructed(p, t))) {
        kernel_expr **args;
        const uint32_t n = parse_values(p, TOKEN_RBRACE, &args);
        made = n ? construct(p, t, place, args, n) : init_value(p, t, place);
        if (!made)
            parser_fail(p, place, "'%s' has no constructor for this", type_name(p, t));
    } else if (!parts_of(t) && t->kind == TYPE_STRUCT) {
        made = expr_list(p, place, t, 0);
    } else if (!parts_of(t)) {
        if (at(p, TOKEN_RBRACE)) {
            made = expr_zero(p, place, t);
        } else {
            made = at(p, TOKEN_LBRACE) ? parse_braces(p, type)
                                       : expr_convert(p, parse_assignment(p), t, "an initializer");
            accept(p, TOKEN_COMMA);
        }
    } else {
        made = fill(p, t, true, &pending);
        if (made->n_args == 1 && made->args[0]->type == t->plain)
            made = made->args[0]; /* a copy: T x{y} */
        if (t->kind == TYPE_ARRAY && !t->count) {
            *type = type_array(p->types, t->of, made->n_args);
            made->type = (*type)->plain;
            if (!made->n_args)
                parser_fail(p, place, "an array of no elements");
        }
        if (t == p->types->dim3)
            while (made->kind == EXPR_LIST && made->n_args < 3) {
                uint32_t room = made->n_args;
                add_part(p, made, &room, expr_integer(p, place, type_word_of(p, WORD_UINT), 1));
            }
    }
    if (!at(p, TOKEN_RBRACE))
        parser_fail(p, p->t->place,
                    at(p, TOKEN_END) ? "braces that do not end" : "too many initializers for '%s'",
                    type_name(p, t));
    p->t++;
    p->no_gt = no_gt;
    return made;
}

/* T x(a, b): CUDA's vectors and dim3 take one value per lane; other types take one. */
static kernel_expr *parse_parentheses(parser *p, const kernel_type *type, const char *what)
{
    const kernel_place place = p->t->place;
    kernel_expr **args;
    p->t++;
    const uint32_t n = parse_arguments(p, &args);
    type_complete(p, type, place);
    if (n == 1 && (type->kind != TYPE_STRUCT || expr_rank(p, args[0], type) >= 0))
        return expr_convert(p, args[0], type, what);
    kernel_expr *built = n || type->kind != TYPE_STRUCT ? construct(p, type, place, args, n)
                                                        : init_value(p, type, place);
    if (built)
        return built;
    if (type->kind == TYPE_STRUCT && type->record->n_vector >= n && n) {
        kernel_expr *list = expr_list(p, place, type, type->record->n_vector);
        for (uint32_t i = 0; i < list->n_args; i++)
            list->args[i] = i < n ? expr_convert(p, args[i], type->record->element, what)
                                  : expr_integer(p, place, type_word_of(p, WORD_UINT), 1);
        if (type == p->types->dim3 || n == type->record->n_vector)
            return list;
    }
    parser_fail_do(p, place, "write {...} with the members' values",
                   "%s: there is no constructor for this", what);
}

kernel_expr *parse_init(parser *p, const kernel_type **type, const char *what)
{
    const bool assigned = accept(p, TOKEN_ASSIGN);
    if (at(p, TOKEN_LBRACE))
        return parse_braces(p, type);
    if (!assigned && at(p, TOKEN_LPAREN) && (*type)->kind != TYPE_AUTO &&
        (*type)->kind != TYPE_REFERENCE)
        return parse_parentheses(p, *type, what);
    if (assigned && at(p, TOKEN_STRING) && (*type)->kind == TYPE_ARRAY && (*type)->of->size == 1) {
        const kernel_place place = p->t->place;
        return string_list(p, type, parse_string(p), place);
    }
    kernel_expr *e = parse_assignment(p);
    if ((*type)->kind == TYPE_ARRAY)
        parser_fail_do(p, e->place, "write {...}", "an array is not made from a value");
    if (assigned && (*type)->kind == TYPE_STRUCT && expr_rank(p, e, (*type)->plain) < 0 &&
        constructors_of(p, *type)) /* T x = 5 */
        return construct(p, *type, e->place, &e, 1);
    return e;
}

/* ---- bytes ------------------------------------------------------------------------------------ */

static uint16_t to_half(double x, int mantissa, int exponent_most)
{
    const int bias = exponent_most;
    const uint16_t sign = (uint16_t)(__builtin_signbit(x) ? 0x8000 : 0);
    const uint16_t top = (uint16_t)(((1u << (15 - mantissa)) - 1) << mantissa);
    if (x != x)
        return (uint16_t)(sign | top | 1u << (mantissa - 1));
    double a = x < 0 ? -x : x;
    if (a > 1e300 || __builtin_isinf(a))
        return (uint16_t)(sign | top);
    if (a == 0)
        return sign;
    int e;
    __builtin_frexp(a, &e);
    e--;
    if (e < 1 - bias)
        e = 1 - bias;
    const double unit = __builtin_ldexp(1, e - mantissa);
    const uint32_t n = (uint32_t)(a / unit); /* exact: it is already rounded */
    const uint32_t biased = (n >> mantissa) ? (uint32_t)(e + bias) : 0;
    return (uint16_t)(sign | (biased << mantissa) | (n & ((1u << mantissa) - 1)));
}

static double from_half(uint16_t h, int mantissa, int bias)
{
    const int biased = (h & 0x7fff) >> mantissa;
    const int fraction = h & ((1 << mantissa) - 1);
    double x;
    if (biased == (1 << (15 - mantissa)) - 1)
        x = fraction ? __builtin_nan("") : __builtin_inf();
    else if (biased)
        x = __builtin_ldexp(fraction + (1 << mantissa), biased - bias - mantissa);
    else
        x = __builtin_ldexp(fraction, 1 - bias - mantissa);
    return h & 0x8000 ? -x : x;
}

void number_bytes(const kernel_type *type, fold_number n, uint8_t *bytes)
{
    const float single = (float)n.number;
    uint16_t half;
    switch (type->kind) {
    case TYPE_F32: memcpy(bytes, &single, 4); break;
    case TYPE_F64: memcpy(bytes, &n.number, 8); break;
    case TYPE_F16:
    case TYPE_BF16:
        half = type->kind == TYPE_F16 ? to_half(n.number, 10, 15) : to_half(n.number, 7, 127);
        memcpy(bytes, &half, 2);
        break;
    default: /* little-endian, as all devices are */
        for (uint64_t i = 0; i < type->size; i++)
            bytes[i] = (uint8_t)(n.integer >> (8 * i));
    }
}

fold_number bytes_number(const kernel_type *type, const uint8_t *bytes)
{
    fold_number n = {0};
    float single;
    uint16_t half;
    switch (type->kind) {
    case TYPE_F32:
        memcpy(&single, bytes, 4);
        n.number = (double)single;
        break;
    case TYPE_F64: memcpy(&n.number, bytes, 8); break;
    case TYPE_F16:
    case TYPE_BF16:
        memcpy(&half, bytes, 2);
        n.number = type->kind == TYPE_F16 ? from_half(half, 10, 15) : from_half(half, 7, 127);
        break;
    default:
        for (uint64_t i = 0; i < type->size; i++)
            n.integer |= (uint64_t)bytes[i] << (8 * i);
        n.integer = fold_wrap(type->kind, n.integer);
    }
    return n;
}
