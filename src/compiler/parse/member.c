/* Members of structs: fields, methods, constructors, conversions, friends, and methods defined outside of
 * their struct. Members that only the host uses may contain anything. */
#include "compiler/parse/parser.h"

/* Skips a function of a struct. */
static void skip_function(parser *p)
{
    while (!at(p, TOKEN_END) && !at(p, TOKEN_SEMICOLON) && !at(p, TOKEN_LBRACE))
        p->t = at(p, TOKEN_LPAREN) ? skip_group(p->t) : p->t + 1;
    if (at(p, TOKEN_LBRACE))
        p->t = skip_group(p->t);
    accept(p, TOKEN_SEMICOLON);
}

/* Skips the member initializers of a constructor, up to its body. */
static void skip_member_values(parser *p)
{
    while (!at(p, TOKEN_END)) {
        while (!at(p, TOKEN_LPAREN) && !at(p, TOKEN_LBRACE) && !at(p, TOKEN_END))
            p->t++;
        p->t = skip_group(p->t);
        if (!accept(p, TOKEN_COMMA))
            return;
    }
}

/* At the end of the parameters: adds the function to the names of its struct, with the object as its first
 * parameter. Its body is skipped. A declaration without a body, or with "= default", adds nothing. */
static void method_add(parser *p, kernel_struct *s, unsigned flags, declarator *d)
{
    s->has_methods = true;
    const bool is_const = accept_word(p, KEYWORD_const);
    while (at(p, TOKEN_NAME) || at(p, TOKEN_AMP) || at(p, TOKEN_AND_AND)) { /* noexcept, override */
        if (accept_requires(p))
            continue;
        p->t++;
        if (at(p, TOKEN_LPAREN))
            p->t = skip_group(p->t);
    }
    if (at(p, TOKEN_ASSIGN) && p->t[1].keyword == KEYWORD_default) {
        s->syntax->has_default |= !d->n_parameters;
        skip_function(p);
        return;
    }
    const kernel_type *result = d->type->of;
    s->not_pod |=
        d->name == name_of(p, "operator=") && d->n_parameters == 1 &&
        (d->parameters[0].type->kind == TYPE_REFERENCE ? d->parameters[0].type->of->plain
                                                       : d->parameters[0].type->plain) == s->type;
    if (accept(p, TOKEN_ARROW))
        result = parse_type(p);
    function_decl f = {.name = d->name, .place = d->place, .flags = flags, .result = result};
    f.is_pure = (flags & IS_VIRTUAL) && at(p, TOKEN_ASSIGN);
    f.is_method = !(flags & IS_STATIC);
    f.n_parameters = d->n_parameters + f.is_method;
    f.pack = d->pack;
    f.pack.first += f.is_method;
    f.parameters = d->parameters;
    if (f.is_method)
        f.parameters = method_parameters(p, d->place, s->type, is_const ? TYPE_CONST : 0,
                                         d->parameters, d->n_parameters);
    f.body = p->t;
    if (accept(p, TOKEN_COLON))
        skip_member_values(p);
    if (!at(p, TOKEN_LBRACE))
        f.body = NULL;
    skip_function(p);
    function_add(p, &f);
}

/* "operator T *() const {...}" at the keyword. */
static void parse_conversion(parser *p, kernel_struct *s, unsigned flags)
{
    declarator d = {.place = (p->t++)->place};
    specifiers spec;
    parse_specifiers(p, &spec);
    const kernel_type *to = spec.type;
    while (accept(p, TOKEN_STAR))
        to = type_pointer(p->types, to);
    d.name = name_of(p, parser_format(p, "operator %s", type_name(p, to)));
    expect(p, TOKEN_LPAREN, "after a conversion's type");
    parse_parameters(p, &d);
    d.type = type_function(p->types, to, NULL, 0);
    const conversion made = {to, d.name, (flags & IS_EXPLICIT) != 0, s->syntax->conversions};
    s->syntax->conversions = kernel_arena_copy(p->arena, &made, sizeof made);
    method_add(p, s, flags, &d);
}

/* "~T() {...}", whose tilde is at t. An empty one is none. */
static void parse_destructor(parser *p, kernel_struct *s, unsigned flags, const kernel_token *t)
{
    declarator d = {.name = name_of(p, "destructor"), .place = t->place};
    p->t = t + 3;
    parse_parameters(p, &d);
    d.type = type_function(p->types, type_word_of(p, WORD_VOID), NULL, 0);
    const kernel_token *body = p->t;
    while (body->kind == TOKEN_NAME) /* noexcept, override */
        body = body[1].kind == TOKEN_LPAREN ? skip_group(body + 1) : body + 1;
    s->not_pod |= body->kind != TOKEN_ASSIGN;
    s->syntax->virtual_end |= (flags & IS_VIRTUAL) != 0;
    const bool empty = body->kind == TOKEN_LBRACE && body[1].kind == TOKEN_RBRACE;
    if (body->kind == TOKEN_ASSIGN || empty) {
        skip_function(p);
    } else if (flags & (IS_DEVICE | IS_CONSTEXPR)) {
        p->t = body;
        method_add(p, s, flags, &d);
    } else {
        s->syntax->hides_destructor = true;
        skip_function(p);
    }
}

/* A function without a type: a constructor, a destructor, a conversion. */
static bool accept_constructor(parser *p, kernel_struct *s)
{
    const kernel_token *t = p->t;
    unsigned flags = 0;
    for (;; t++) {
        if (t->keyword == KEYWORD___device__)
            flags |= IS_DEVICE;
        else if (t->keyword == KEYWORD_constexpr)
            flags |= IS_CONSTEXPR;
        else if (t->keyword == KEYWORD_explicit)
            flags |= IS_EXPLICIT;
        else if (t->keyword == KEYWORD_virtual)
            flags |= IS_VIRTUAL;
        else if (t->keyword != KEYWORD___host__ && t->keyword != KEYWORD_inline &&
                 t->keyword != KEYWORD___forceinline__)
            break;
    }
    if (t->kind == TOKEN_NAME && t->keyword == KEYWORD_operator) {
        p->t = t;
        parse_conversion(p, s, flags);
        return true;
    }
    if (t->kind == TOKEN_TILDE && t[1].kind == TOKEN_NAME) {
        parse_destructor(p, s, flags, t);
        return true;
    }
    if (t->kind != TOKEN_NAME || t->as.name != s->syntax->name || t[1].kind != TOKEN_LPAREN)
        return false;
    declarator d = {.name = name_of(p, "constructor"), .place = t->place};
    p->t = t + 2;
    parse_parameters(p, &d);
    d.type = type_function(p->types, type_word_of(p, WORD_VOID), NULL, 0);
    const kernel_token *behind = p->t + at_word(p, KEYWORD_noexcept);
    s->not_pod |= behind->kind != TOKEN_ASSIGN || t[-1].keyword == KEYWORD_explicit;
    const bool copies = d.n_parameters == 1 && d.parameters[0].type->kind == TYPE_REFERENCE &&
                        d.parameters[0].type->of->plain == s->type;
    if (copies && (behind->kind == TOKEN_ASSIGN || !(flags & (IS_DEVICE | IS_CONSTEXPR)))) {
        s->syntax->hides_copy |= behind->kind != TOKEN_ASSIGN;
        skip_function(p);
        return true;
    }
    s->syntax->has_copy |= copies;
    method_add(p, s, flags, &d);
    return true;
}

/* A number is a constant; a table is a constant as outside of structs; anything else belongs to the host. */
static void static_member(parser *p, const specifiers *spec, declarator *d)
{
    kernel_expr *value = NULL;
    const parser_outside back = outside_enter(p);
    if (at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE)) {
        value = parse_init(p, &d->type, d->name->text);
        if (d->type->kind != TYPE_ARRAY)
            value = expr_convert(p, value, d->type, d->name->text);
        value = fold_all(p, value);
    }
    if (value && value->kind == EXPR_CONST && spec->flags & IS_CONST_WORD)
        symbol_add(p, p->scope, SYMBOL_CONSTANT, d->name, d->place)->constant = value;
    else
        declare_host(p, spec, d, d->type, value);
    outside_leave(p, back);
}

kernel_expr *member_default(parser *p, const kernel_type *type, uint64_t i, kernel_var *self)
{
    const kernel_syntax *x = type->record->syntax;
    const kernel_member *m = &type->record->members[i];
    const member_value *value = x ? x->values : NULL;
    while (value && value->member != i)
        value = value->next;
    if (!value)
        return NULL;
    scope *in = scope_open(p, x->members, true);
    const parser_place back = parser_enter(p, value->at, in);
    if (self) {
        symbol *y = symbol_add(p, in, SYMBOL_VAR, name_of(p, "this"), m->place);
        y->as.var = self;
        y->is_reference = true;
    }
    const kernel_type *of = m->type->plain;
    kernel_expr *e = parse_init(p, &of, m->name ? m->name->text : "a member");
    if (of->kind != TYPE_ARRAY)
        e = expr_convert(p, e, of, m->name ? m->name->text : "a member");
    scope_close(p, in);
    parser_leave(p, back);
    return e;
}

static void parse_fields(parser *p, kernel_struct *s, const specifiers *spec)
{
    if (at(p, TOKEN_SEMICOLON)) {
        const kernel_type *t = spec->type->plain;
        if (t->kind == TYPE_STRUCT && !t->record->source_name)
            layout_member(p, s, NULL, spec->type, p->t->place);
        return;
    }
    do {
        declarator d = parse_declarator(p, spec->type);
        if (d.is_function) {
            method_add(p, s, spec->flags, &d);
            p->t--; /* back at the token that ends it */
            return;
        }
        if (!d.name && (!at(p, TOKEN_COLON) || spec->flags & IS_STATIC))
            parser_fail(p, d.place, "expected the name of a member, found %s", token_text(p, p->t));
        if (spec->flags & IS_STATIC) {
            static_member(p, spec, &d);
            continue;
        }
        int64_t bits = -1;
        if (accept(p, TOKEN_COLON)) {
            bits = fold_integer(p, parse_constant(p), "the width of a bit-field");
            if (!type_is_integer(d.type) || bits < !!d.name || bits > (int64_t)d.type->size * 8)
                parser_fail(p, d.place, "a bit-field of type '%s' cannot have %lld bits",
                            type_name(p, d.type), (long long)bits);
            if (!d.name) {
                layout_bits(p, s, NULL, d.type, d.place, (uint64_t)bits);
                continue;
            }
        }
        const kernel_token *value = at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE) ? p->t : NULL;
        if (value)
            skip_value(p, TOKEN_SEMICOLON);
        const bool reference = d.type->kind == TYPE_REFERENCE;
        if (reference)
            d.type = type_pointer(p->types, d.type->of);
        const kernel_member *path[8];
        if (type_member_find(s, d.name, path) &&
            (path[0]->name || !path[0]->type->record->source_name))
            parser_fail(p, d.place, "member '%s' is declared twice", d.name->text);
        type_complete(p, d.type, d.place);
        if (bits > 0)
            layout_bits(p, s, d.name, d.type, d.place, (uint64_t)bits);
        else
            layout_member(p, s, d.name, d.type, d.place);
        s->members[s->n_members - 1].is_reference = reference;
        if (value) {
            s->not_pod = true;
            const member_value made = {s->n_members - 1, value, s->syntax->values};
            s->syntax->values = kernel_arena_copy(p->arena, &made, sizeof made);
        }
    } while (accept(p, TOKEN_COMMA));
}

/* The token after the words that may precede "friend" or a constructor. */
static const kernel_token *behind_qualifiers(const kernel_token *t)
{
    while (t->keyword == KEYWORD___device__ || t->keyword == KEYWORD___host__ ||
           t->keyword == KEYWORD_constexpr || t->keyword == KEYWORD_explicit ||
           t->keyword == KEYWORD_inline || t->keyword == KEYWORD___forceinline__)
        t++;
    return t;
}

/* A template, or a friend: a function of the enclosing scope. Constructor templates of the host are skipped, so that
 * only their use is an error. */
static void parse_guest(parser *p, kernel_struct *s)
{
    if (accept_word(p, KEYWORD_template)) {
        template_param *params;
        const uint32_t n = parse_template_params(p, &params);
        const kernel_token *name = behind_qualifiers(p->t);
        const bool constructs = name->kind == TOKEN_NAME && name->as.name == s->syntax->name &&
                                name[1].kind == TOKEN_LPAREN;
        s->not_pod |= constructs;
        bool device = false;
        for (const kernel_token *t = p->t; t < name; t++)
            device |= t->keyword == KEYWORD___device__ || t->keyword == KEYWORD_constexpr;
        if (constructs && device) {
            declare_function_template(p, params, n, s->type);
            return;
        }
        if (at_word(p, KEYWORD_struct) || at_word(p, KEYWORD_class) || at_word(p, KEYWORD_using) ||
            at_word(p, KEYWORD_friend) || constructs) {
            s->syntax->has_hidden |= constructs;
            skip_function(p);
        } else {
            declare_function_template(p, params, n, s->type);
        }
        return;
    }
    const kernel_token *t = p->t;
    while (t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE && t->kind != TOKEN_END)
        t++;
    if (t->kind != TOKEN_LBRACE) {
        skip_function(p);
        return;
    }
    scope *back = p->scope;
    specifiers spec;
    parse_specifiers(p, &spec);
    const declarator d = parse_declarator(p, spec.type);
    if (!d.name || !d.is_function)
        parser_fail(p, d.place, "expected a function after 'friend'");
    const function_decl f = {.name = d.name,
                             .place = d.place,
                             .flags = spec.flags,
                             .result = d.type->of,
                             .parameters = d.parameters,
                             .n_parameters = d.n_parameters,
                             .body = t};
    p->scope = s->syntax->scope;
    function_add(p, &f);
    p->scope = back;
    p->t = skip_group(t);
}

static void parse_member(parser *p, kernel_struct *s)
{
    if (at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_COLON && !at_type(p)) {
        s->syntax->is_private = p->t->as.name != name_of(p, "public");
        p->t += 2;
        return;
    }
    if (at_word(p, KEYWORD_template) || behind_qualifiers(p->t)->keyword == KEYWORD_friend) {
        s->has_methods = true;
        parse_guest(p, s);
        return;
    }
    if (accept_constructor(p, s))
        return;
    if (function_autos(p->t, NULL)) {
        s->has_methods = true;
        declare_function_template(p, NULL, 0, s->type);
        return;
    }
    if (accept_word(p, KEYWORD_using)) {
        parse_using(p);
        return;
    }
    if (accept_word(p, KEYWORD_static_assert)) {
        parse_static_assert(p);
        return;
    }
    if (accept(p, TOKEN_SEMICOLON))
        return;
    specifiers spec;
    parse_specifiers(p, &spec);
    if (spec.flags & IS_TYPEDEF) {
        parse_typedef(p, &spec);
        return;
    }
    parse_fields(p, s, &spec);
    /* A function's body ends without a semicolon. */
    if (!accept(p, TOKEN_SEMICOLON) && !(s->has_methods && accept(p, TOKEN_RBRACE)))
        expect(p, TOKEN_SEMICOLON, "after a member");
}

/* True for a function, a friend, a static variable or a type alias without a device keyword: kernels can do
 * without it. */
static bool is_for_host(const kernel_token *t)
{
    bool other = false;
    for (; t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE && t->kind != TOKEN_END; t++) {
        if (t->kind == TOKEN_ASSIGN && t[-1].keyword != KEYWORD_operator)
            break;
        if (t->kind == TOKEN_LPAREN)
            return t[-1].keyword != KEYWORD_alignas && t[-1].keyword != KEYWORD___align__ &&
                   t[-1].keyword != KEYWORD___attribute__;
        if (t->kind != TOKEN_NAME)
            continue;
        if (t->keyword == KEYWORD___device__)
            return false;
        other |= t->keyword == KEYWORD_static || t->keyword == KEYWORD_friend ||
                 t->keyword == KEYWORD_using || t->keyword == KEYWORD_typedef;
    }
    return other;
}

/* Skips the current member. */
static void skip_member(parser *p)
{
    const kernel_token *from = p->t;
    while (!at(p, TOKEN_END) && !at(p, TOKEN_SEMICOLON) && !at(p, TOKEN_LBRACE)) {
        const bool values = at(p, TOKEN_COLON) && p->t > from && p->t[-1].kind == TOKEN_RPAREN;
        p->t = at(p, TOKEN_LPAREN) ? skip_group(p->t) : p->t + 1;
        if (values)
            skip_member_values(p);
    }
    if (at(p, TOKEN_LBRACE))
        p->t = skip_group(p->t);
    accept(p, TOKEN_SEMICOLON);
}

static void parse_quietly(parser *p, void *record) { parse_member(p, record); }

void struct_member(parser *p, kernel_struct *s)
{
    if (!is_for_host(p->t)) {
        parse_member(p, s);
        return;
    }
    const kernel_token *from = p->t;
    scope *in = p->scope;
    if (!parser_try(p, parse_quietly, s)) {
        p->scope = in;
        p->t = from;
        s->has_methods = true;
        const kernel_token *name = behind_qualifiers(from);
        s->syntax->has_hidden |= name->kind == TOKEN_NAME && name->as.name == s->syntax->name &&
                                 name[1].kind == TOKEN_LPAREN;
        skip_member(p);
    }
}

/* ---- functions outside of their struct --------------------------------------------------------- */

void parse_outside_method(parser *p, const specifiers *s, const kernel_type *type)
{
    const kernel_place place = p->t->place;
    scope *in = type_members(p, type, place), *back = p->scope;
    if (!in)
        parser_fail(p, place, "'%s' has no functions", type_name(p, type));
    p->t++;
    p->scope = in;
    declarator d = parse_declarator(p, s->type);
    const symbol *y = d.name ? symbol_here(in, d.name) : NULL;
    if (!d.is_function || !y || y->kind != SYMBOL_FUNCTION)
        parser_fail(p, d.place, "'%s' has no such function", type_name(p, type));
    const unsigned is_static = y->as.functions->flags & IS_STATIC;
    method_add(p, type->record, s->flags | is_static, &d);
    p->scope = back;
}

/* "s::s(...) : a(b) {...}", with any specifiers before it. */
bool accept_outside_constructor(parser *p)
{
    const kernel_token *back = p->t;
    while (at_word(p, KEYWORD___device__) || at_word(p, KEYWORD___host__) ||
           at_word(p, KEYWORD_inline) || at_word(p, KEYWORD___forceinline__))
        p->t++;
    const kernel_token *t = p->t;
    const symbol *y = at(p, TOKEN_NAME) && t[1].kind == TOKEN_SCOPE && t[2].kind == TOKEN_NAME &&
                              t[2].as.name == t->as.name && t[3].kind == TOKEN_LPAREN
                          ? symbol_find(p, t->as.name)
                          : NULL;
    scope *in =
        y && y->kind == SYMBOL_TYPE && y->as.type ? type_members(p, y->as.type, t->place) : NULL;
    if (!in) {
        p->t = back;
        return false;
    }
    scope *outer = p->scope;
    p->scope = in;
    p->t = t + 2;
    if (!accept_constructor(p, y->as.type->record))
        parser_fail(p, t->place, "expected a constructor");
    p->scope = outer;
    return true;
}
