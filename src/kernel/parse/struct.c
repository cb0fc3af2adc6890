/* Structs, unions, enums, and templates of structs. The members of a struct are parsed when they are first
 * needed, so a struct that only the host uses may contain anything. */
#include "kernel/parse/parser.h"

scope *type_members(parser *p, const kernel_type *type, kernel_place place)
{
    if (type->kind != TYPE_STRUCT)
        return NULL;
    type_complete(p, type, place);
    return type->record->syntax ? type->record->syntax->members : NULL;
}

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

/* At the end of its parameters: adds the function to the names of its struct, with the object as its first
 * parameter. Its body is skipped; a declaration without a body, or with "= default", adds nothing. */
static void method_add(parser *p, kernel_struct *s, unsigned flags, declarator *d)
{
    s->has_methods = true;
    const bool is_const = accept_word(p, KEYWORD_const);
    while (accept_word(p, KEYWORD_noexcept) || accept_word(p, KEYWORD_const))
        ;
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
    f.is_method = !(flags & IS_STATIC);
    f.n_parameters = d->n_parameters + f.is_method;
    f.pack = d->pack;
    f.pack.first += f.is_method;
    f.parameters = kernel_arena_new(p->arena, (f.n_parameters + 1) * sizeof *f.parameters);
    if (f.is_method)
        f.parameters[0] =
            (parameter){.name = name_of(p, "this"),
                        .place = d->place,
                        .type = type_reference(
                            p->types, type_qualify(p->types, s->type, is_const ? TYPE_CONST : 0))};
    for (uint32_t i = 0; i < d->n_parameters; i++)
        f.parameters[i + f.is_method] = d->parameters[i];
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
    conversion *made = kernel_arena_get(p->arena, sizeof *made);
    *made = (conversion){to, d.name, s->syntax->conversions};
    s->syntax->conversions = made;
    method_add(p, s, flags, &d);
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
        else if (t->keyword != KEYWORD___host__ && t->keyword != KEYWORD_explicit &&
                 t->keyword != KEYWORD_inline && t->keyword != KEYWORD___forceinline__ &&
                 t->keyword != KEYWORD_virtual)
            break;
    }
    if (t->kind == TOKEN_NAME && t->keyword == KEYWORD_operator) {
        p->t = t;
        parse_conversion(p, s, flags);
        return true;
    }
    if (t->kind == TOKEN_TILDE && t[1].kind == TOKEN_NAME) {
        const kernel_token *body = skip_group(t + 2);
        if (body->kind != TOKEN_SEMICOLON && body->kind != TOKEN_ASSIGN &&
            !(body->kind == TOKEN_LBRACE && body[1].kind == TOKEN_RBRACE) && (flags & IS_DEVICE))
            parser_fail(p, t->place, "destructors are not supported");
        s->not_pod |= body->kind != TOKEN_ASSIGN;
        skip_function(p);
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
    if (copies && (flags & IS_DEVICE) && !at(p, TOKEN_ASSIGN))
        parser_fail_do(p, d.place, "write a function that copies",
                       "copy constructors are not supported");
    if (copies) {
        skip_function(p);
        return true;
    }
    method_add(p, s, flags, &d);
    return true;
}

/* A number is a constant; a table is one as those outside of structs are; all else is the host's. */
static void static_member(parser *p, const specifiers *spec, declarator *d)
{
    kernel_expr *value = NULL;
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
}

/* Skips a member's default value. */
static void skip_value(parser *p)
{
    while (!at(p, TOKEN_COMMA) && !at(p, TOKEN_SEMICOLON) && !at(p, TOKEN_END))
        p->t = at(p, TOKEN_LPAREN) || at(p, TOKEN_LBRACE) || at(p, TOKEN_LBRACKET)
                   ? skip_group(p->t)
                   : p->t + 1;
}

kernel_expr *member_default(parser *p, const kernel_type *type, uint64_t i)
{
    const kernel_syntax *x = type->record->syntax;
    const kernel_member *m = &type->record->members[i];
    const member_value *value = x ? x->values : NULL;
    while (value && value->member != i)
        value = value->next;
    if (!value)
        return m->type->kind == TYPE_STRUCT ? struct_default(p, m->type, m->place) : NULL;
    const parser_place back = parser_enter(p, value->at, x->members);
    const kernel_type *of = m->type->plain;
    kernel_expr *e = parse_init(p, &of, m->name ? m->name->text : "a member");
    if (of->kind != TYPE_ARRAY)
        e = expr_convert(p, e, of, m->name ? m->name->text : "a member");
    parser_leave(p, back);
    return e;
}

kernel_expr *struct_default(parser *p, const kernel_type *type, kernel_place place)
{
    const kernel_struct *s = type->record;
    kernel_expr *list = expr_list(p, place, type, s->n_members);
    bool any = false;
    for (uint32_t i = 0; i < s->n_members && !s->is_union; i++) {
        const kernel_type *of = s->members[i].type->plain;
        kernel_expr *e = member_default(p, type, i);
        any |= e != NULL;
        list->args[i] = e ? e : zero_of(p, of);
    }
    return any ? list : NULL;
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
            p->t--; /* at what ends it */
            return;
        }
        if (!d.name)
            parser_fail(p, d.place, "expected the name of a member, found %s", token_text(p, p->t));
        if (spec->flags & IS_STATIC) {
            static_member(p, spec, &d);
            continue;
        }
        if (at(p, TOKEN_COLON))
            parser_fail_do(p, p->t->place, "use a whole integer and masks",
                           "bit-fields are not supported");
        const kernel_token *value = at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE) ? p->t : NULL;
        if (value)
            skip_value(p);
        if (d.type->kind == TYPE_REFERENCE)
            parser_fail_do(p, d.place, "use a pointer",
                           "members that are references are not supported");
        const kernel_member *path[8];
        if (type_member_find(s, d.name, path))
            parser_fail(p, d.place, "member '%s' is declared twice", d.name->text);
        type_complete(p, d.type, d.place);
        layout_member(p, s, d.name, d.type, d.place);
        if (value) {
            s->not_pod = true;
            member_value *made = kernel_arena_get(p->arena, sizeof *made);
            *made = (member_value){s->n_members - 1, value, s->syntax->values};
            s->syntax->values = made;
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

/* A template, or a friend: a function of the enclosing scope. Templates of constructors are skipped, so that
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
        if (at_word(p, KEYWORD_struct) || at_word(p, KEYWORD_class) || at_word(p, KEYWORD_using) ||
            at_word(p, KEYWORD_friend) || constructs)
            skip_function(p);
        else
            declare_function_template(p, params, n, s->type);
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
    if (at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_COLON) {
        s->syntax->is_private = p->t->as.name != name_of(p, "public");
        p->t += 2;
        return;
    }
    const kernel_token *word = p->t;
    while (word->kind == TOKEN_NAME && word->keyword != KEYWORD_virtual)
        word++;
    if (word->keyword == KEYWORD_virtual)
        parser_fail_do(p, word->place, "make it a template of the derived type, or a switch",
                       "virtual functions are not supported");
    if (at_word(p, KEYWORD_template) || behind_qualifiers(p->t)->keyword == KEYWORD_friend) {
        s->has_methods = true;
        parse_guest(p, s);
        return;
    }
    if (accept_constructor(p, s))
        return;
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

/* A function, a friend, a static variable or a name for a type that has no mark of device code: kernels
 * can do without it. */
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
        if (t->keyword == KEYWORD___device__ || t->keyword == KEYWORD_virtual)
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

/* A member, or nothing if it is for the host and cannot be understood. */
static void parse_any_member(parser *p, kernel_struct *s)
{
    if (!is_for_host(p->t)) {
        parse_member(p, s);
        return;
    }
    const kernel_token *from = p->t;
    scope *in = p->scope;
    const bool failed = p->failed;
    p->quiet++;
    const bool fine = parser_guard(p, parse_quietly, s);
    p->quiet--;
    p->failed = failed;
    if (!fine) {
        p->scope = in;
        p->t = from;
        s->has_methods = true;
        skip_member(p);
    }
}

/* Its functions see its members by name. */
static void name_members(parser *p, const kernel_struct *s)
{
    for (uint32_t i = 0; i < s->n_members; i++)
        if (s->members[i].name)
            symbol_add(p, p->scope, SYMBOL_MEMBER, (kernel_name *)s->members[i].name,
                       s->members[i].place);
        else
            name_members(p, s->members[i].type->record);
}

/* After ":": a base is a member without a name, whose members and functions are seen through it. */
static void parse_bases(parser *p, kernel_struct *s)
{
    do {
        while (at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_NAME) {
            if (at_word(p, KEYWORD_virtual))
                parser_fail_do(p, p->t->place, "derive without it",
                               "virtual base classes are not supported");
            p->t++; /* public */
        }
        const kernel_place place = p->t->place;
        const kernel_type *base = parse_type(p)->plain;
        if (base->kind != TYPE_STRUCT || s->is_union)
            parser_fail(p, place, "'%s' cannot be a base", type_name(p, base));
        type_complete(p, base, place);
        layout_base(p, s, base, place);
        if (base->record->syntax && base->record->syntax->members)
            scope_use(p, p->scope, base->record->syntax->members);
    } while (accept(p, TOKEN_COMMA));
}

static int find_base(const kernel_type *from, const kernel_type *to, const kernel_member **path,
                     int depth)
{
    if (from->kind != TYPE_STRUCT || to->kind != TYPE_STRUCT || from->record->is_union)
        return -1;
    if (from->plain == to->plain)
        return depth;
    for (uint32_t i = 0; i < from->record->n_members && depth < 8; i++) {
        path[depth] = &from->record->members[i];
        const int n = path[depth]->name ? -1 : find_base(path[depth]->type, to, path, depth + 1);
        if (n >= 0)
            return n;
    }
    return -1;
}

int base_path(const kernel_type *from, const kernel_type *to, const kernel_member *path[8])
{
    return find_base(from, to, path, 0);
}

bool base_is_empty(const kernel_type *from, const kernel_type *to)
{
    if (from->kind != TYPE_STRUCT || to->kind != TYPE_STRUCT || from->record->is_union)
        return false;
    const kernel_struct *s = from->record;
    for (const empty_base *b = s->syntax ? s->syntax->empty_bases : NULL; b; b = b->next)
        if (b->type == to->plain || base_is_empty(b->type, to))
            return true;
    for (uint32_t i = 0; i < s->n_members; i++)
        if (!s->members[i].name && base_is_empty(s->members[i].type, to))
            return true;
    return false;
}

/* Whether the word before a struct's name is "class"; from its body on. */
static bool is_class(const kernel_token *t)
{
    while (t->keyword != KEYWORD_struct && t->keyword != KEYWORD_class &&
           t->keyword != KEYWORD_union && t->kind != TOKEN_SEMICOLON)
        t--;
    return t->keyword == KEYWORD_class;
}

static void complete(parser *p, kernel_struct *s, kernel_place place)
{
    kernel_syntax *syntax = s->syntax;
    if (s->failed)
        parser_jump(p); /* it was reported */
    if (!syntax || !syntax->body || syntax->open)
        parser_fail(p, place, "struct '%s' is not complete here", s->name);
    s->name = name_unique(p, s->name, true);
    s->failed = syntax->open = true;
    syntax->members = scope_open(p, syntax->scope, false);
    syntax->members->name = name_of(p, s->name);
    const parser_place back = parser_enter(p, syntax->body, syntax->members);
    kernel_instance *current = p->current;
    if (accept(p, TOKEN_COLON))
        parse_bases(p, s);
    expect(p, TOKEN_LBRACE, "before members");
    syntax->is_private = is_class(syntax->body);
    while (!accept(p, TOKEN_RBRACE)) {
        if (at(p, TOKEN_END))
            expect(p, TOKEN_RBRACE, "after members");
        parse_any_member(p, s);
    }
    name_members(p, s);
    p->current = current;
    parser_leave(p, back);
    s->failed = syntax->open = false;
    type_struct_end(p->types, s, syntax->align);
}

void type_complete(parser *p, const kernel_type *type, kernel_place place)
{
    while (type->kind == TYPE_ARRAY)
        type = type->of;
    if (type->kind == TYPE_STRUCT && !type->record->complete && !p->patterns) {
        complete(p, type->record, place);
        /* A struct's copy with qualifiers may be older than its end. */
        if (type != type->plain) {
            ((kernel_type *)type)->size = type->plain->size;
            ((kernel_type *)type)->align = type->plain->align;
        }
    }
}

/* The struct of a name in this scope; it is created if there is none. */
static kernel_struct *struct_named(parser *p, kernel_name *name, bool define, kernel_place place)
{
    symbol *y = define ? symbol_here(p->scope, name) : symbol_find(p, name);
    if (y && y->kind == SYMBOL_TYPE && y->as.type && y->as.type->kind == TYPE_STRUCT &&
        !(define && y->as.type->record->complete))
        return y->as.type->record;
    kernel_struct *s = type_struct(p->types, name, place);
    y = symbol_add(p, p->scope, SYMBOL_TYPE, name, place);
    y->as.type = s->type;
    return s;
}

const kernel_type *parse_struct(parser *p, bool is_union)
{
    uint32_t align = 0;
    while (at_word(p, KEYWORD___align__) || at_word(p, KEYWORD_alignas) ||
           at_word(p, KEYWORD___attribute__)) {
        if (p->t->keyword != KEYWORD___attribute__ && p->t[1].kind == TOKEN_LPAREN &&
            p->t[2].kind == TOKEN_INTEGER)
            align = (uint32_t)p->t[2].as.integer;
        p->t = skip_group(p->t + 1);
    }
    const kernel_place place = p->t->place;
    kernel_name *name = at(p, TOKEN_NAME) && !p->t->keyword ? (p->t++)->as.name : NULL;
    const bool defined = at(p, TOKEN_LBRACE) || at(p, TOKEN_COLON);
    if (!name && !defined)
        parser_fail(p, place, "expected the name of a struct, found %s", token_text(p, p->t));
    if (!defined && name) {
        symbol *y = symbol_find(p, name);
        if (y && y->kind == SYMBOL_STRUCT_TEMPLATE)
            return struct_instance(p, y->as.syntax, place);
    }
    kernel_struct *s =
        name ? struct_named(p, name, defined, place) : type_struct(p->types, NULL, place);
    if (!s->syntax && !s->complete) {
        s->is_union = is_union;
        s->syntax = kernel_arena_new(p->arena, sizeof *s->syntax);
        *s->syntax = (kernel_syntax){.name = name, .scope = p->scope, .record = s};
    }
    if (!defined)
        return s->type;
    if (s->syntax->body)
        parser_fail(p, place, "struct '%s' is defined twice", s->name);
    s->place = place;
    s->is_union = is_union;
    s->syntax->align = align;
    s->syntax->body = p->t;
    while (!at(p, TOKEN_LBRACE) && !at(p, TOKEN_END))
        p->t++; /* base classes */
    p->t = skip_group(p->t);
    if (at_word(p, KEYWORD___attribute__) || at_word(p, KEYWORD___align__))
        p->t = skip_group(p->t + 1);
    if (!name || p->current)
        complete(p, s, place);
    return s->type;
}

template_list struct_arguments(parser *p, const kernel_syntax *syntax, const template_arg *args,
                               uint32_t n, kernel_place place)
{
    const bool has_pack = template_has_pack(syntax->params, syntax->n_params);
    if (n > syntax->n_params && !has_pack)
        parser_fail(p, place, "template '%s' takes %u arguments, not %u", syntax->name->text,
                    syntax->n_params, n);
    template_list all = {kernel_arena_new(p->arena, (TEMPLATE_MOST + 1) * sizeof *args), n};
    for (uint32_t i = 0; i < n; i++)
        all.at[i] = args[i];
    const int missing = template_defaults(p, syntax->scope, syntax->params, syntax->n_params, &all);
    if (missing >= 0)
        parser_fail(p, place, "template '%s' lacks its argument %d", syntax->name->text,
                    missing + 1);
    return all;
}

/* The type that "template <typename T> using pair = vec<T, 2>" stands for. */
static const kernel_type *alias_instance(parser *p, const kernel_syntax *syntax, template_list all)
{
    scope *bound = scope_open(p, syntax->scope, false);
    template_bind(p, bound, syntax->params, syntax->n_params, all);
    const parser_place back = parser_enter(p, syntax->alias, bound);
    parser_down(p);
    const kernel_type *type = parse_type(p);
    if (at(p, TOKEN_SCOPE)) /* std::enable_if<false>::type */
        parser_fail(p, p->t->place, "'%s' has no type '%s'", type_name(p, type),
                    p->t[1].kind == TOKEN_NAME ? p->t[1].as.name->text : "");
    parser_up(p);
    parser_leave(p, back);
    return type;
}

const kernel_type *struct_instance(parser *p, kernel_syntax *syntax, kernel_place place)
{
    template_arg *args;
    if (!at(p, TOKEN_LT))
        parser_fail(p, place, "template '%s' needs arguments in '<>'", syntax->name->text);
    const uint32_t n = parse_template_args(p, &args);
    const template_list all = struct_arguments(p, syntax, args, n, place);
    if (syntax->alias)
        return alias_instance(p, syntax, all);
    for (kernel_syntax *i = syntax->instances; i; i = i->next)
        if (template_same(i->args, all))
            return i->record->type;
    if (++p->n_instances > INSTANCES_MOST)
        parser_fail(p, place, "more than %d instances of templates", INSTANCES_MOST);
    template_list own = all;
    const kernel_syntax *special = p->patterns ? NULL : special_struct(p, syntax, all, place, &own);
    const kernel_syntax *from = special ? special : syntax;
    scope *bound = scope_open(p, syntax->scope, false);
    template_bind(p, bound, from->params, from->n_params, own);
    kernel_struct *s = type_struct(p->types, syntax->name, syntax->record->place);
    s->name = parser_format(p, "%s_%s", syntax->name->text, template_text(p, all, true));
    s->is_union = from->is_union;
    s->syntax = kernel_arena_new(p->arena, sizeof *s->syntax);
    *s->syntax = *syntax;
    s->syntax->scope = bound;
    s->syntax->record = s;
    s->syntax->args = all;
    s->syntax->origin = syntax;
    s->syntax->body = from->body;
    s->syntax->align = from->align;
    s->syntax->next = syntax->instances;
    syntax->instances = s->syntax;
    symbol_add(p, bound, SYMBOL_TYPE, syntax->name, place)->as.type = s->type;
    return s->type;
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

/* "s::s(...) : a(b) {...}" with what may stand before it. */
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

/* ---- enums ------------------------------------------------------------------------------------ */

const kernel_type *parse_enum(parser *p)
{
    const bool scoped = accept_word(p, KEYWORD_class) || accept_word(p, KEYWORD_struct);
    const kernel_place place = p->t->place;
    kernel_name *name = at(p, TOKEN_NAME) && !p->t->keyword ? (p->t++)->as.name : NULL;
    const kernel_type *integer = type_word_of(p, WORD_INT);
    const bool told = accept(p, TOKEN_COLON);
    if (told)
        integer = parse_type(p)->plain;
    if (!type_is_integer(integer))
        parser_fail(p, place, "an enum is an integer, not '%s'", type_name(p, integer));
    if (!at(p, TOKEN_LBRACE)) {
        symbol *y = name ? symbol_find(p, name) : NULL;
        if (y && y->kind == SYMBOL_TYPE && y->as.type && y->as.type->enumeration)
            return y->as.type;
        if (!told && !scoped)
            parser_fail(p, place, "unknown enum");
    }
    const kernel_type *type = type_enum(p->types, name, integer, scoped);
    scope *in = scoped ? scope_open(p, p->scope, false) : p->scope;
    if (name) {
        symbol *y = symbol_add(p, p->scope, SYMBOL_TYPE, name, place);
        y->as.type = type;
        y->members = in;
        if (!scoped)
            y->members = scope_open(p, NULL, false);
    }
    scope *also = name && !scoped ? symbol_here(p->scope, name)->members : NULL;
    if (!accept(p, TOKEN_LBRACE))
        return type;
    uint64_t next = 0;
    scope *outer = p->scope;
    while (!at(p, TOKEN_RBRACE)) {
        const kernel_place here = p->t->place;
        kernel_name *item = expect_name(p, "an enumerator");
        if (accept(p, TOKEN_ASSIGN)) {
            p->scope = in;
            next = (uint64_t)fold_integer(p, parse_constant(p), "an enumerator");
            p->scope = outer;
        }
        /* Within the range of int it is one; else it is as wide as need be. */
        if (!told && (int64_t)next != (int32_t)next)
            *(kernel_type *)type = (kernel_type){
                .kind = next <= UINT32_MAX ? TYPE_U32 : TYPE_I64,
                .word = next <= UINT32_MAX ? WORD_UINT : WORD_LONG,
                .size = next <= UINT32_MAX ? 4 : 8,
                .align = next <= UINT32_MAX ? 4 : 8,
                .plain = type,
                .enumeration = type->enumeration,
                .qualified = {type},
            };
        kernel_expr *value = expr_integer(p, here, type, next++);
        symbol_add(p, in, SYMBOL_CONSTANT, item, here)->constant = value;
        if (also)
            symbol_add(p, also, SYMBOL_CONSTANT, item, here)->constant = value;
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    expect(p, TOKEN_RBRACE, "after enumerators");
    return type;
}
