/* Types as the source writes them: specifiers and declarators. */
#include <string.h>

#include "compiler/parse/parser.h"

/* ---- specifiers ------------------------------------------------------------------------------- */

/* Keywords that may precede a declaration, and their flags. */
static const struct {
    uint8_t word;
    uint16_t flag;
} flag_words[] = {
    {KEYWORD___global__, IS_GLOBAL},
    {KEYWORD___device__, IS_DEVICE},
    {KEYWORD___host__, IS_HOST},
    {KEYWORD___shared__, IS_SHARED},
    {KEYWORD___constant__, IS_CONSTANT},
    {KEYWORD___managed__, IS_MANAGED},
    {KEYWORD___grid_constant__, 0},
    {KEYWORD___forceinline__, IS_FORCED | IS_INLINE},
    {KEYWORD___noinline__, IS_NOINLINE},
    {KEYWORD_inline, IS_INLINE},
    {KEYWORD___inline__, IS_INLINE},
    {KEYWORD___inline, IS_INLINE},
    {KEYWORD_static, IS_STATIC},
    {KEYWORD_extern, IS_EXTERN},
    {KEYWORD_constexpr, IS_CONSTEXPR},
    {KEYWORD_typedef, IS_TYPEDEF},
    {KEYWORD_register, 0},
    {KEYWORD_explicit, 0},
    {KEYWORD___extension__, 0},
    {KEYWORD_mutable, 0},
    {KEYWORD_friend, 0},
    {KEYWORD_virtual, IS_VIRTUAL},
    {KEYWORD_thread_local, 0},
};

static bool accept_flag(parser *p, specifiers *s)
{
    for (size_t i = 0; i < sizeof flag_words / sizeof *flag_words; i++)
        if (p->t->keyword == flag_words[i].word) {
            s->flags |= flag_words[i].flag;
            p->t++;
            return true;
        }
    return false;
}

static uint32_t parse_align(parser *p)
{
    expect(p, TOKEN_LPAREN, "after an alignment");
    uint64_t align;
    if (at_type(p)) {
        const kernel_type *type = parse_type(p);
        type_complete(p, type, p->t->place);
        align = type->align;
    } else {
        align = (uint64_t)fold_integer(p, parse_constant(p), "an alignment");
    }
    expect(p, TOKEN_RPAREN, "after an alignment");
    if (!align || align > 4096 || align & (align - 1))
        parser_fail(p, p->t->place, "an alignment is a power of two up to 4096");
    return (uint32_t)align;
}

/* __align__(16), alignas(16), __attribute__((aligned(16), ...)), [[...]], __launch_bounds__(256, 2) */
static bool accept_attribute(parser *p, specifiers *s)
{
    uint32_t align = 0;
    if (accept_word(p, KEYWORD___align__) || accept_word(p, KEYWORD_alignas)) {
        align = parse_align(p);
    } else if (accept_word(p, KEYWORD___attribute__)) {
        const kernel_token *end = skip_group(p->t);
        for (const kernel_token *t = p->t; t < end && t->kind != TOKEN_END; t++)
            if (t->kind == TOKEN_NAME && t[1].kind == TOKEN_LPAREN &&
                (t->as.name == name_of(p, "aligned") || t->as.name == name_of(p, "__aligned__"))) {
                p->t = t + 1;
                align = parse_align(p);
            }
        p->t = end;
    } else if (accept_word(p, KEYWORD___launch_bounds__)) {
        if (!at(p, TOKEN_LPAREN))
            expect(p, TOKEN_LPAREN, "after '__launch_bounds__'");
        s->bounds = p->t + 1;
        p->t = skip_group(p->t);
    } else if (at(p, TOKEN_LBRACKET) && p->t[1].kind == TOKEN_LBRACKET) {
        p->t = skip_group(p->t);
    } else {
        return false;
    }
    if (align > s->align)
        s->align = align;
    return true;
}

/* The combined words of an arithmetic type. */
typedef struct type_words {
    int n_long, n_short, n_signed, n_unsigned, n_int, n_char, n_float, n_double, n_bool, n_void;
} type_words;

static int *word_count(type_words *w, kernel_keyword word)
{
    switch (word) {
    case KEYWORD_long: return &w->n_long;
    case KEYWORD_short: return &w->n_short;
    case KEYWORD_signed: return &w->n_signed;
    case KEYWORD_unsigned: return &w->n_unsigned;
    case KEYWORD_int: return &w->n_int;
    case KEYWORD_char: return &w->n_char;
    case KEYWORD_float: return &w->n_float;
    case KEYWORD_double: return &w->n_double;
    case KEYWORD_bool: return &w->n_bool;
    case KEYWORD_void: return &w->n_void;
    case KEYWORD_wchar_t: return &w->n_int;
    default: return NULL;
    }
}

static type_word word_of(const type_words *w)
{
    const int other = w->n_signed || w->n_unsigned || w->n_short || w->n_int;
    if (w->n_void + w->n_bool + w->n_float + w->n_double + w->n_char > 1)
        return WORD_NONE;
    if (w->n_void)
        return other || w->n_long ? WORD_NONE : WORD_VOID;
    if (w->n_bool)
        return other || w->n_long ? WORD_NONE : WORD_BOOL;
    if (w->n_float)
        return other || w->n_long ? WORD_NONE : WORD_FLOAT;
    if (w->n_double)
        return other || w->n_long > 1 ? WORD_NONE : WORD_DOUBLE;
    const bool un = w->n_unsigned;
    if (un && w->n_signed)
        return WORD_NONE;
    if (w->n_char)
        return un ? WORD_UCHAR : w->n_signed ? WORD_SCHAR : WORD_CHAR;
    if (w->n_short)
        return w->n_long ? WORD_NONE : un ? WORD_USHORT : WORD_SHORT;
    if (w->n_long)
        return w->n_long > 2 ? WORD_NONE : (w->n_long == 2 ? WORD_LLONG : WORD_LONG) + un;
    return un ? WORD_UINT : WORD_INT;
}

/* "traits<T>::type": follows "::" as long as it leads to types. */
static const kernel_type *inner_type(parser *p, const kernel_type *type, kernel_place place)
{
    while (at(p, TOKEN_SCOPE) && !p->split && p->t[1].kind == TOKEN_NAME) {
        if (p->patterns) { /* nothing is deduced from it */
            p->t += 2;
            type = p->types->automatic;
            continue;
        }
        const scope *in = type_members(p, type, place);
        const symbol *y = in ? symbol_in(in, p->t[1].as.name) : NULL;
        if (!y || y->kind != SYMBOL_TYPE || !y->as.type)
            break;
        type = y->as.type;
        p->t += 2;
    }
    return type;
}

/* The type of a qualified name; p->t is after it. */
static const kernel_type *named_type(parser *p, symbol *y, kernel_place place)
{
    kernel_syntax *syntax = y->kind == SYMBOL_STRUCT_TEMPLATE ? y->as.syntax : NULL;
    /* Inside a class template, its name is the instance or, with arguments, the template. */
    if (y->kind == SYMBOL_TYPE && y->as.type && y->as.type->kind == TYPE_STRUCT &&
        y->as.type->record->syntax && at(p, TOKEN_LT))
        syntax = y->as.type->record->syntax->origin;
    if (syntax)
        return inner_type(p, struct_instance(p, syntax, place), place);
    if (y->as.type)
        return inner_type(p, y->as.type, place);
    return group_type(p, y->which, place);
}

/* A type name that is not a keyword. */
static const kernel_type *parse_type_name(parser *p)
{
    const kernel_token *last;
    symbol *y = parse_name(p, &last);
    if (y && (y->kind == SYMBOL_TYPE || y->kind == SYMBOL_STRUCT_TEMPLATE))
        return named_type(p, y, last->place);
    if (y && (y->kind == SYMBOL_NAMESPACE || y->kind == SYMBOL_PACK))
        parser_fail(p, last->place, "%s is a %s, not a type", token_text(p, last),
                    y->kind == SYMBOL_PACK ? "parameter pack" : "namespace");
    parser_fail(p, last->place, "unknown type %s", token_text(p, last));
}

static const kernel_type *parse_decltype(parser *p)
{
    expect(p, TOKEN_LPAREN, "after 'decltype'");
    lifetime *const temporaries = p->temporaries; /* the operand is not evaluated */
    kernel_expr *e = parse_expression(p);
    p->temporaries = temporaries;
    expect(p, TOKEN_RPAREN, "after 'decltype'");
    return e->kind == EXPR_VAR || !expr_is_place(e) ? e->type : type_reference(p->types, e->type);
}

/* "auto": of a parameter of a template, its argument. */
static const kernel_type *auto_type(parser *p)
{
    const symbol *y = p->auto_at ? symbol_find(p, lambda_auto(p, p->auto_at++)) : NULL;
    return y ? y->as.type : p->types->automatic;
}

/* A type that begins with struct, union, class, enum, auto, decltype or typename; else NULL. */
static const kernel_type *accept_compound(parser *p)
{
    switch (p->t->keyword) {
    case KEYWORD_struct:
    case KEYWORD_class: p->t++; return parse_struct(p, false);
    case KEYWORD_union: p->t++; return parse_struct(p, true);
    case KEYWORD_enum: p->t++; return parse_enum(p);
    case KEYWORD_auto: p->t++; return auto_type(p);
    case KEYWORD_decltype: p->t++; return parse_decltype(p);
    case KEYWORD_typename: p->t++; return parse_type_name(p);
    default: return NULL;
    }
}

const kernel_token *constrained_auto(const kernel_token *t)
{
    const kernel_token *at = t;
    while ((at->kind == TOKEN_NAME && !at->keyword) || at->kind == TOKEN_SCOPE)
        at++;
    for (int angles = at > t && at->kind == TOKEN_LT; angles;) {
        at++;
        angles += at->kind == TOKEN_LT ? 1 : at->kind == TOKEN_GT ? -1 : 0;
        if (at->kind == TOKEN_END || at->kind == TOKEN_SEMICOLON || at->kind == TOKEN_LBRACE)
            return t;
        at += !angles;
    }
    return at > t && at->kind == TOKEN_NAME && at->keyword == KEYWORD_auto ? at : t;
}

void parse_specifiers(parser *p, specifiers *s)
{
    *s = (specifiers){0};
    type_words w = {0};
    bool any = false;
    unsigned quals = 0;
    kernel_place first = p->t->place;
    for (;;) {
        if (at(p, TOKEN_LBRACKET) ? accept_attribute(p, s) : false)
            continue;
        if (!at(p, TOKEN_NAME) && !at(p, TOKEN_SCOPE))
            break;
        int *count = at(p, TOKEN_NAME) ? word_count(&w, p->t->keyword) : NULL;
        if (accept_flag(p, s) || accept_attribute(p, s))
            continue;
        if (accept_word(p, KEYWORD_const)) {
            quals |= TYPE_CONST;
        } else if (accept_word(p, KEYWORD_volatile) || accept_word(p, KEYWORD___volatile__)) {
            quals |= TYPE_VOLATILE;
        } else if (count && !s->type) {
            ++*count;
            any = true;
            p->t++;
        } else if (!s->type && !any && p->t->keyword) {
            first = p->t->place;
            s->type = accept_compound(p);
            if (!s->type)
                break;
        } else if (!s->type && !any && constrained_auto(p->t) != p->t) {
            p->t = constrained_auto(p->t);
        } else if (!s->type && !any && !p->t->keyword) {
            first = p->t->place;
            s->type = parse_type_name(p);
        } else {
            break;
        }
    }
    if (any) {
        const type_word word = word_of(&w);
        if (!word)
            parser_fail(p, first, "these words do not make a type");
        s->type = p->types->basic[word];
    }
    if (!s->type)
        parser_fail(p, p->t->place, "expected a type, found %s", token_text(p, p->t));
    if ((s->flags & IS_CONSTEXPR) || (quals & TYPE_CONST))
        s->flags |= IS_CONST_WORD;
    s->type = type_qualify(p->types, s->type, quals);
}

bool at_type(parser *p)
{
    if (at(p, TOKEN_NAME) && p->t->keyword) {
        type_words w;
        if (word_count(&w, p->t->keyword))
            return true;
        static const uint8_t others[] = {KEYWORD_const,   KEYWORD_volatile,  KEYWORD_struct,
                                         KEYWORD_class,   KEYWORD_union,     KEYWORD_enum,
                                         KEYWORD_auto,    KEYWORD_decltype,  KEYWORD_typename,
                                         KEYWORD_alignas, KEYWORD___align__, KEYWORD___attribute__};
        if (memchr(others, p->t->keyword, sizeof others))
            return true;
        for (size_t i = 0; i < sizeof flag_words / sizeof *flag_words; i++)
            if (p->t->keyword == flag_words[i].word)
                return true;
        return false;
    }
    if (at(p, TOKEN_LBRACKET) && p->t[1].kind == TOKEN_LBRACKET)
        return true; /* [[maybe_unused]] */
    if (!at(p, TOKEN_NAME) && !at(p, TOKEN_SCOPE))
        return false;
    if (constrained_auto(p->t) != p->t)
        return true;
    const symbol *y = peek_name(p);
    return y && (y->kind == SYMBOL_TYPE ||
                 (y->kind == SYMBOL_STRUCT_TEMPLATE && !y->as.syntax->is_value) ||
                 (y->kind == SYMBOL_PACK && y->as.pack->is_types));
}

/* ---- declarators ------------------------------------------------------------------------------ */

/* "const", "__restrict__" and the like after a "*". */
static unsigned pointer_quals(parser *p, bool *is_restrict)
{
    unsigned quals = 0;
    for (;;) {
        if (accept_word(p, KEYWORD_const))
            quals |= TYPE_CONST;
        else if (accept_word(p, KEYWORD_volatile) || accept_word(p, KEYWORD___volatile__))
            quals |= TYPE_VOLATILE;
        else if (accept_word(p, KEYWORD___restrict__) || accept_word(p, KEYWORD___restrict))
            *is_restrict = true;
        else
            return quals;
    }
}

static const kernel_type *checked_array(parser *p, const kernel_type *of, uint64_t count,
                                        kernel_place place)
{
    if (of->kind == TYPE_REFERENCE || of->kind == TYPE_FUNCTION || of->kind == TYPE_VOID)
        parser_fail(p, place, "there is no array of '%s'", type_name(p, of));
    type_complete(p, of, place);
    if (!p->patterns &&
        (count >= UINT64_C(1) << 40 || (of->size && count > (UINT64_C(1) << 40) / of->size)))
        parser_fail(p, place, "an array of %lld elements is too large", (long long)count);
    return type_array(p->types, of, count);
}

/* "[4][8]": the innermost bracket is the last. */
static const kernel_type *parse_brackets(parser *p, const kernel_type *of)
{
    const kernel_place place = p->t->place;
    if (!at(p, TOKEN_LBRACKET) || p->t[1].kind == TOKEN_LBRACKET)
        return of;
    parser_down(p);
    p->t++;
    uint64_t count = 0;
    if (!at(p, TOKEN_RBRACKET)) {
        const bool no_gt = p->no_gt;
        p->no_gt = false;
        kernel_expr *size = parse_assignment(p);
        p->no_gt = no_gt;
        const int64_t n = fold_integer(p, size, "the size of an array");
        if (n < 0 || (n == 0 && !p->patterns))
            parser_fail(p, place, "the size of an array is %lld", (long long)n);
        count = (uint64_t)n;
    }
    expect(p, TOKEN_RBRACKET, "after the size of an array");
    of = parse_brackets(p, of);
    parser_up(p);
    return checked_array(p, of, count, place);
}

kernel_name *parse_operator_name(parser *p)
{
    const char *made;
    if (at_word(p, KEYWORD_new) || at_word(p, KEYWORD_delete)) {
        made =
            (p->t++)->keyword == KEYWORD_new ? "operator new" : "operator delete"; /* the host's */
        if (accept(p, TOKEN_LBRACKET))
            expect(p, TOKEN_RBRACKET, "after 'operator new['");
    } else if (at(p, TOKEN_LPAREN) && p->t[1].kind == TOKEN_RPAREN) {
        p->t += 2;
        made = "operator()";
    } else if (at(p, TOKEN_LBRACKET) && p->t[1].kind == TOKEN_RBRACKET) {
        p->t += 2;
        made = "operator[]";
    } else {
        if (at(p, TOKEN_END) || at(p, TOKEN_NAME))
            parser_fail(p, p->t->place, "expected an operator, found %s", token_text(p, p->t));
        made = parser_format(p, "operator%.*s", (int)p->t->bytes, p->t->text);
        p->t++;
    }
    return name_of(p, made);
}

/* True if this "(" begins parameters, rather than a nested declarator or an initializer. */
static bool at_parameters(parser *p)
{
    if (!at(p, TOKEN_LPAREN))
        return false;
    if (p->t[1].kind == TOKEN_RPAREN || p->t[1].kind == TOKEN_ELLIPSIS)
        return true;
    const kernel_token *back = p->t++, *last;
    bool type = at_type(p);
    if (type && at(p, TOKEN_NAME) && p->t->keyword)
        p->t++;
    else if (type)
        parse_name(p, &last);
    /* ray r(vec3(0, 0, 1), d): a variable, and so is "int x(float(y))" */
    if ((at(p, TOKEN_LPAREN) && p->t[1].kind != TOKEN_STAR && p->t[1].kind != TOKEN_AMP) ||
        at(p, TOKEN_LBRACE))
        type = false;
    p->t = back;
    return type;
}

static const kernel_type *parse_suffix(parser *p, const kernel_type *base, declarator *d,
                                       bool function)
{
    if (function && at_parameters(p)) {
        p->t++;
        parse_parameters(p, d);
        const kernel_type **types =
            kernel_arena_get(p->arena, d->n_parameters * sizeof(kernel_type *));
        for (uint32_t i = 0; i < d->n_parameters; i++)
            types[i] = d->parameters[i].type->plain;
        d->is_function = true;
        return type_function(p->types, base, types, d->n_parameters);
    }
    return parse_brackets(p, base);
}

declarator parse_declarator(parser *p, const kernel_type *base)
{
    declarator d = {.place = p->t->place};
    parser_down(p);
    for (;;) {
        if (accept(p, TOKEN_STAR)) {
            if (base->kind == TYPE_REFERENCE)
                parser_fail(p, d.place, "there is no pointer to a reference");
            base = type_qualify(p->types, type_pointer(p->types, base),
                                pointer_quals(p, &d.is_restrict));
        } else if (at_member_pointer(p)) {
            base = type_qualify(p->types, parse_member_pointer(p, base),
                                pointer_quals(p, &d.is_restrict));
        } else if (at(p, TOKEN_AMP) || at(p, TOKEN_AND_AND)) {
            d.is_forwarding = (p->t++)->kind == TOKEN_AND_AND;
            if (base->kind == TYPE_VOID)
                parser_fail(p, d.place, "there is no reference to void");
            base = type_reference(p->types, base);
            pointer_quals(p, &d.is_restrict);
        } else {
            break;
        }
    }
    const kernel_token_kind next = p->t[at(p, TOKEN_LPAREN)].kind;
    if (at(p, TOKEN_LPAREN) && (next == TOKEN_STAR || next == TOKEN_AMP)) {
        const kernel_token *inner = p->t + 1;
        p->t = skip_group(p->t);
        declarator ignored = {0};
        base = parse_suffix(p, base, &ignored, true);
        const kernel_token *end = p->t;
        p->t = inner;
        d = parse_declarator(p, base);
        expect(p, TOKEN_RPAREN, "after a declarator");
        if (d.is_function)
            parser_fail(p, d.place,
                        "functions that return pointers to functions are not supported");
        p->t = end;
        parser_up(p);
        return d;
    }
    d.place = p->t->place;
    const kernel_type *bound = base->kind == TYPE_REFERENCE ? base->of : base;
    if (at(p, TOKEN_LBRACKET) && p->t[1].kind == TOKEN_NAME && bound->kind == TYPE_AUTO &&
        !bound->count)
        parser_fail(p, d.place, "'[...]' cannot stand here");
    if (p->t == p->pack_dots)
        p->t++;
    if (accept_word(p, KEYWORD_operator)) {
        d.name = parse_operator_name(p);
        d.is_operator = true;
    } else if (at(p, TOKEN_NAME) && !p->t->keyword) {
        d.name = (p->t++)->as.name;
    }
    d.type = parse_suffix(p, base, &d, d.name != NULL);
    parser_up(p);
    return d;
}

static parameter parse_parameter(parser *p)
{
    specifiers s;
    parse_specifiers(p, &s);
    const declarator d = parse_declarator(p, s.type);
    parameter made = {
        .name = d.name, .type = d.type, .place = d.place, .is_restrict = d.is_restrict};
    made.is_forwarding = d.is_forwarding;
    if (made.type->kind == TYPE_ARRAY)
        made.type = type_pointer(p->types, made.type->of);
    if (made.type->kind == TYPE_FUNCTION)
        made.type = type_pointer(p->types, made.type);
    if (accept(p, TOKEN_ASSIGN)) {
        made.init = p->t;
        skip_value(p, TOKEN_RPAREN);
    }
    return made;
}

typedef struct parameter_list {
    parameter *at;
    uint32_t n, room;
} parameter_list;

static void add_parameter(parser *p, void *context)
{
    parameter_list *l = context;
    if (l->n == PARAMS_MOST)
        parser_fail(p, p->t->place, "more than %d parameters", PARAMS_MOST);
    if (at(p, TOKEN_ELLIPSIS))
        parser_fail(p, p->t->place, "functions with '...' are not supported");
    l->at = kernel_arena_grow(p->arena, l->at, &l->room, l->n + 1, sizeof *l->at);
    l->at[l->n] = parse_parameter(p);
    if (l->at[l->n++].type->kind == TYPE_VOID)
        parser_fail(p, l->at[l->n - 1].place, "a parameter cannot be void");
}

void parse_parameters(parser *p, declarator *d)
{
    parameter_list l = {0};
    const bool no_gt = p->no_gt;
    p->no_gt = false;
    d->pack = (parameter_pack){0};
    if (at_word(p, KEYWORD_void) && p->t[1].kind == TOKEN_RPAREN)
        p->t++;
    while (!at(p, TOKEN_RPAREN)) {
        if (!d->pack.is_there)
            d->pack.first = l.n;
        if (!accept_parameter_pack(p, add_parameter, &l, &d->pack))
            add_parameter(p, &l);
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    expect(p, TOKEN_RPAREN, "after parameters");
    p->no_gt = no_gt;
    d->n_parameters = l.n;
    d->parameters = l.at;
}

const kernel_type *parse_type(parser *p)
{
    specifiers s;
    parse_specifiers(p, &s);
    const declarator d = parse_declarator(p, s.type);
    if (d.name)
        parser_fail(p, d.place, "unexpected name '%s' in a type", d.name->text);
    return d.type;
}

void parse_typedef(parser *p, const specifiers *s)
{
    do {
        const declarator d = parse_declarator(p, s->type);
        if (!d.name)
            parser_fail(p, d.place, "a typedef without a name");
        const kernel_type *plain = d.type->plain;
        if (plain->kind == TYPE_STRUCT && !plain->record->source_name) {
            plain->record->source_name = d.name;
            plain->record->name = name_unique(p, d.name->text, true);
        }
        symbol_add(p, p->scope, SYMBOL_TYPE, d.name, d.place)->as.type = d.type;
    } while (accept(p, TOKEN_COMMA));
    expect(p, TOKEN_SEMICOLON, "after a typedef");
}
