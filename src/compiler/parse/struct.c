/* Structs, unions, enums, and templates of structs. The members of a struct are parsed when they are first
 * needed, so a struct that only the host uses may contain anything. */
#include "compiler/parse/parser.h"

scope *type_members(parser *p, const kernel_type *type, kernel_place place)
{
    if (type->kind != TYPE_STRUCT)
        return NULL;
    type_complete(p, type, place);
    return type->record->syntax ? type->record->syntax->members : NULL;
}

/* Makes the members visible by name to the struct's functions. */
static void name_members(parser *p, const kernel_struct *s)
{
    for (uint32_t i = 0; i < s->n_members; i++)
        if (s->members[i].name)
            symbol_add(p, p->scope, SYMBOL_MEMBER, (kernel_name *)s->members[i].name,
                       s->members[i].place);
        else
            name_members(p, s->members[i].type->record);
}

enum { BASES_MOST = 32 };

/* After ":". A base is an unnamed member, whose members and functions are visible through it. Returns the number of
 * bases. */
static uint32_t parse_bases(parser *p, kernel_struct *s, const kernel_type **bases)
{
    uint32_t n = 0;
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
        if (n == BASES_MOST)
            parser_fail(p, place, "more than %d bases", BASES_MOST);
        bases[n++] = base;
        if (base->record->syntax && base->record->syntax->members)
            scope_use(p, p->scope, base->record->syntax->members);
    } while (accept(p, TOKEN_COMMA));
    return n;
}

/* True if the body after "{" declares a virtual function. */
static bool declares_virtual(const kernel_token *t)
{
    for (; t->kind != TOKEN_RBRACE && t->kind != TOKEN_END; t = skip_item(t))
        if (t->kind == TOKEN_NAME && t->keyword == KEYWORD_virtual)
            return true;
    return false;
}

/* The first base with a vptr comes first, so the struct shares its vptr. */
static void layout_bases(parser *p, kernel_struct *s, const kernel_type *const *bases, uint32_t n)
{
    uint32_t first = 0;
    while (first < n && !has_vptr(p, bases[first]))
        first++;
    if (first < n)
        layout_base(p, s, bases[first], s->place);
    else if (declares_virtual(p->t))
        layout_vptr(p, s);
    for (uint32_t i = 0; i < n; i++)
        if (i != first)
            layout_base(p, s, bases[i], s->place);
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

/* True if the keyword before a struct's name is "class"; t is at its body. */
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
        parser_jump(p); /* the error is reported already */
    if (!syntax || !syntax->body || syntax->open)
        parser_fail(p, place, "struct '%s' is not complete here", s->name);
    s->name = name_unique(p, s->name, true);
    s->failed = syntax->open = true;
    syntax->members = scope_open(p, syntax->scope, false);
    syntax->members->name = name_of(p, s->name);
    const parser_place back = parser_enter(p, syntax->body, syntax->members);
    kernel_instance *current = p->current;
    const kernel_type *bases[BASES_MOST];
    const uint32_t n_bases = accept(p, TOKEN_COLON) ? parse_bases(p, s, bases) : 0;
    expect(p, TOKEN_LBRACE, "before members");
    layout_bases(p, s, bases, n_bases);
    syntax->is_private = is_class(syntax->body);
    while (!accept(p, TOKEN_RBRACE)) {
        if (at(p, TOKEN_END))
            expect(p, TOKEN_RBRACE, "after members");
        struct_member(p, s);
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
        /* A qualified copy may be older than the complete struct. */
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

/* "final" after the name of a struct. */
void accept_final(parser *p)
{
    if (at(p, TOKEN_NAME) && p->t->as.name == name_of(p, "final") &&
        (p->t[1].kind == TOKEN_LBRACE || p->t[1].kind == TOKEN_COLON))
        p->t++;
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
    accept_final(p);
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

/* The type of an alias template: "template <typename T> using pair = vec<T, 2>". */
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
    return struct_made(p, syntax, struct_arguments(p, syntax, args, n, place), place);
}

const kernel_type *struct_made(parser *p, kernel_syntax *syntax, template_list all,
                               kernel_place place)
{
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
        /* An enum is an int if its values fit, else as wide as needed. */
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
