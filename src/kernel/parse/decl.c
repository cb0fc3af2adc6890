/* The declarations of a file. Bodies are skipped; those that kernels need are parsed later. In a whole
 * program, declarations without a device keyword are host code, and failing to parse them is not an error. */
#include "kernel/parse/parser.h"

static void parse_external(parser *p, void *ignored);

/* ---- passing over ----------------------------------------------------------------------------- */

static bool is_device_word(int word)
{
    return word == KEYWORD___global__ || word == KEYWORD___device__ ||
           word == KEYWORD___constant__ || word == KEYWORD___shared__ ||
           word == KEYWORD___managed__;
}

/* The device keyword of the declaration at t, before its body; 0 if there is none. */
static int device_mark(const kernel_token *t)
{
    while (t->kind != TOKEN_END && t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE) {
        if (t->kind == TOKEN_NAME && is_device_word(t->keyword))
            return t->keyword;
        t = t->kind == TOKEN_LPAREN || t->kind == TOKEN_LBRACKET ? skip_group(t) : t + 1;
    }
    return 0;
}

/* The token after the declaration at t: its semicolon, or the braces of its body. */
static const kernel_token *declaration_end(const kernel_token *t)
{
    bool function = false;
    for (;;) {
        switch (t->kind) {
        case TOKEN_END: return t;
        case TOKEN_SEMICOLON: return t + 1;
        case TOKEN_RBRACE: return t; /* of the namespace around */
        case TOKEN_LPAREN:
            t = skip_group(t);
            function = true;
            break;
        case TOKEN_ASSIGN:
            function = false;
            t++;
            break;
        case TOKEN_LBRACE:
            t = skip_group(t);
            if (function && t->kind != TOKEN_COMMA && t->kind != TOKEN_LBRACE)
                return t + (t->kind == TOKEN_SEMICOLON);
            break;
        default: t++;
        }
    }
}

/* The name of the function that is declared at t: the one before its parameters; NULL if none. */
static kernel_name *function_name(const kernel_token *t)
{
    int angles = 0;
    const kernel_token *name = NULL;
    for (; t->kind != TOKEN_END && t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE; t++) {
        if (t->kind == TOKEN_LT)
            angles++;
        else if (t->kind == TOKEN_GT || t->kind == TOKEN_SHR)
            angles -= t->kind == TOKEN_GT ? 1 : 2;
        else if (t->kind == TOKEN_LPAREN && name && angles <= 0)
            return name->as.name;
        else if (t->kind == TOKEN_LPAREN)
            t = skip_group(t) - 1;
        else if (t->kind == TOKEN_NAME && angles <= 0)
            name = t->keyword ? NULL : t;
    }
    return NULL;
}

/* ---- variables -------------------------------------------------------------------------------- */

void global_list(parser *p, kernel_var *v)
{
    v->index = p->n_globals++;
    *p->globals_end = v;
    p->globals_end = &v->next;
}

static kernel_var *global_var(parser *p, kernel_name *name, const kernel_type *type,
                              kernel_storage storage, kernel_place place)
{
    kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
    v->name = name_unique(p, name->text, true);
    v->source_name = name;
    v->type = type;
    v->align = type->align;
    v->storage = storage;
    v->place = place;
    v->addressed = true;
    return v;
}

kernel_var *global_new(parser *p, kernel_name *name, const kernel_type *type,
                       kernel_storage storage, kernel_place place)
{
    kernel_var *v = global_var(p, name, type, storage, place);
    global_list(p, v);
    return v;
}

static void check_again(parser *p, const declarator *d)
{
    const symbol *old = symbol_here(p->scope, d->name);
    if (old && old->kind == SYMBOL_VAR && !old->is_host && old->as.var->storage != STORE_DYNAMIC) {
        parser_error(p, d->place, "'%s' is declared twice", d->name->text);
        if (!p->quiet)
            diag_note(p->diags, old->place, "first here");
    }
}

static void declare_device(parser *p, const specifiers *s, const declarator *d,
                           const kernel_type *type, kernel_expr *e)
{
    check_again(p, d);
    type_complete(p, type, d->place);
    if (type->kind == TYPE_REFERENCE || type->kind == TYPE_VOID || type->kind == TYPE_AUTO)
        parser_fail(p, d->place, "there is no variable of type '%s' in device memory",
                    type_name(p, type));
    if (type->kind == TYPE_ARRAY && !type->count)
        parser_fail(p, d->place, "'%s' has no size", d->name->text);
    kernel_var *v = global_new(p, d->name, type,
                               s->flags & IS_CONSTANT ? STORE_CONSTANT : STORE_GLOBAL, d->place);
    v->symbol = scope_qualified(p, p->scope, d->name->text);
    v->is_managed = s->flags & IS_MANAGED;
    v->align = s->align > type->align ? s->align : type->align;
    symbol *y = symbol_add(p, p->scope, SYMBOL_VAR, d->name, d->place);
    y->as.var = v;
    if (!e)
        return;
    if (type->size > 1u << 28)
        parser_fail(p, d->place, "'%s' is too large to be initialized", d->name->text);
    uint8_t *bytes = kernel_arena_new(p->arena, type->size);
    if (!init_bytes(e, type->plain, bytes))
        parser_fail_do(p, e->place, "copy it from the host with cudaMemcpyToSymbol",
                       "the value of '%s' is not a constant", d->name->text);
    v->init = bytes;
}

void declare_host(parser *p, const specifiers *s, const declarator *d, const kernel_type *type,
                  kernel_expr *e)
{
    if (type->kind == TYPE_AUTO && e)
        type = type_qualify(p->types, e->type, type->quals);
    const bool constant = e && ((type->quals & TYPE_CONST) || (s->flags & IS_CONSTEXPR));
    symbol *y = symbol_add(p, p->scope, SYMBOL_VAR, d->name, d->place);
    y->is_host = true;
    if (!constant || type->kind == TYPE_REFERENCE || !type->size || type->size > 1u << 28)
        return;
    type = type_qualify(p->types, type, TYPE_CONST);
    uint8_t *bytes = kernel_arena_new(p->arena, type->size);
    if (!init_bytes(e, type->plain, bytes))
        return;
    kernel_var *v = global_var(p, d->name, type, STORE_CONSTANT, d->place);
    v->init = bytes;
    y->as.var = v;
    y->is_host = false;
    y->is_unlisted = true;
    if (e->kind == EXPR_CONST)
        y->constant = e;
}

static void declare_variable(parser *p, const specifiers *s, declarator *d)
{
    const kernel_type *type = d->type;
    kernel_expr *e = NULL;
    const bool device = s->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED);
    if (s->flags & IS_SHARED) {
        if (!(s->flags & IS_EXTERN))
            parser_fail_do(p, d->place, "declare it in the kernel",
                           "shared variable '%s' is declared outside of a function", d->name->text);
        kernel_var *v = global_var(p, d->name, type, STORE_DYNAMIC, d->place);
        v->align = s->align > type->align ? s->align : type->align;
        symbol_add(p, p->scope, SYMBOL_VAR, d->name, d->place)->as.var = v;
        return;
    }
    if (at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE) || at(p, TOKEN_LPAREN)) {
        e = parse_init(p, &type, d->name->text);
        if (type->kind != TYPE_ARRAY && type->kind != TYPE_AUTO && type->kind != TYPE_REFERENCE)
            e = expr_convert(p, e, type->plain, d->name->text);
        e = fold_all(p, e->type->kind == TYPE_ARRAY ? e : expr_value(p, e));
    }
    if (device)
        declare_device(p, s, d, type, e);
    else
        declare_host(p, s, d, type, e);
}

/* ---- functions -------------------------------------------------------------------------------- */

static bool same_parameters(const function_decl *a, const function_decl *b)
{
    if (a->n_params != b->n_params || (!a->n_params && a->n_parameters != b->n_parameters))
        return false;
    for (uint32_t i = 0; i < a->n_params; i++)
        if (a->params[i].is_pack != b->params[i].is_pack ||
            !a->params[i].type != !b->params[i].type)
            return false;
    for (uint32_t i = 0; !a->n_params && i < a->n_parameters; i++)
        if (a->parameters[i].type->plain != b->parameters[i].type->plain)
            return false;
    return true;
}

/* Adds a declaration to the overloads of its name, or completes an earlier declaration. */
void function_add(parser *p, const function_decl *made)
{
    symbol *y = symbol_here(p->scope, made->name);
    if (y && y->kind != SYMBOL_FUNCTION && y->kind != SYMBOL_TYPE && !made->is_method) {
        parser_error(p, made->place, "'%s' is declared as a function and as something else",
                     made->name->text);
        if (!p->quiet)
            diag_note(p->diags, y->place, "first here");
        parser_jump(p);
    }
    if (!y || y->kind != SYMBOL_FUNCTION)
        y = symbol_add(p, p->scope, SYMBOL_FUNCTION, made->name, made->place);
    function_decl **end = &y->as.functions;
    for (; *end; end = &(*end)->next) {
        function_decl *f = *end;
        if (f->used || !same_parameters(f, made) || (made->n_params && (f->body || !made->body)))
            continue;
        if (f->body && made->body) {
            if (!made->n_params) {
                /* The same name for the host and for the device is two functions. */
                if ((f->flags ^ made->flags) & (IS_DEVICE | IS_GLOBAL))
                    continue;
                parser_error(p, made->place, "'%s' is defined twice", made->name->text);
                if (!p->quiet)
                    diag_note(p->diags, f->place, "first here");
                parser_jump(p);
            }
            continue;
        }
        f->flags |= made->flags;
        if (made->body) {
            for (uint32_t i = 0; i < made->n_parameters && i < f->n_parameters; i++)
                if (!made->parameters[i].init)
                    made->parameters[i].init = f->parameters[i].init;
            f->parameters = made->parameters;
            f->body = made->body;
            f->head = made->head;
            f->params = made->params;
            f->place = made->place;
        }
        if (made->bounds)
            f->bounds = made->bounds;
        return;
    }
    *end = kernel_arena_get(p->arena, sizeof **end);
    **end = *made;
    (*end)->scope = p->scope;
    if (made->flags & IS_GLOBAL) {
        *p->kernels_end = *end;
        p->kernels_end = &(*end)->next_kernel;
    }
}

/* Parses what may follow the parameters, and skips the body. */
static const kernel_token *parse_rest(parser *p, const kernel_type **result)
{
    for (;;) {
        if (accept_word(p, KEYWORD_const) || accept_word(p, KEYWORD___noinline__))
            continue;
        if (accept_word(p, KEYWORD_noexcept) || accept_word(p, KEYWORD___attribute__) ||
            accept_word(p, KEYWORD___launch_bounds__)) {
            if (at(p, TOKEN_LPAREN))
                p->t = skip_group(p->t);
            continue;
        }
        break;
    }
    if (accept(p, TOKEN_ARROW))
        *result = parse_type(p);
    const kernel_token *body = at(p, TOKEN_LBRACE) ? p->t : NULL;
    if (body)
        p->t = skip_group(body);
    else if (!accept(p, TOKEN_SEMICOLON))
        parser_fail(p, p->t->place, "expected a function's body or ';', found %s",
                    token_text(p, p->t));
    return body;
}

static void declare_function(parser *p, const specifiers *s, const declarator *d)
{
    function_decl f = {.name = d->name,
                       .place = d->place,
                       .flags = s->flags,
                       .bounds = s->bounds,
                       .result = d->type->of,
                       .parameters = d->parameters,
                       .n_parameters = d->n_parameters,
                       .pack = d->pack};
    f.body = parse_rest(p, &f.result);
    if ((f.flags & IS_GLOBAL) && (f.flags & IS_DEVICE))
        parser_fail(p, d->place, "'%s' is __global__ and __device__", d->name->text);
    function_add(p, &f);
}

/* ---- templates -------------------------------------------------------------------------------- */

/* "template <...> using name = type;" after the keyword using. */
static void declare_alias_template(parser *p, template_param *params, uint32_t n)
{
    const kernel_place place = p->t->place;
    kernel_name *name = expect_name(p, "the name of a type");
    expect(p, TOKEN_ASSIGN, "after the name of a type");
    kernel_syntax *made = kernel_arena_new(p->arena, sizeof *made);
    *made = (kernel_syntax){
        .name = name, .scope = p->scope, .params = params, .n_params = n, .alias = p->t};
    symbol_add(p, p->scope, SYMBOL_STRUCT_TEMPLATE, name, place)->as.syntax = made;
}

/* "template <...> struct s {...};" after the keyword struct. */
static void declare_struct_template(parser *p, template_param *params, uint32_t n, bool is_union)
{
    uint32_t align = 0;
    while (at_word(p, KEYWORD___align__) || at_word(p, KEYWORD_alignas)) {
        if (p->t[1].kind == TOKEN_LPAREN && p->t[2].kind == TOKEN_INTEGER)
            align = (uint32_t)p->t[2].as.integer;
        p->t = skip_group(p->t + 1);
    }
    const kernel_place place = p->t->place;
    kernel_name *name = expect_name(p, "the name of a struct");
    symbol *y = symbol_here(p->scope, name);
    if (at(p, TOKEN_LT)) {
        if (y && y->kind == SYMBOL_STRUCT_TEMPLATE)
            declare_special_struct(p, y->as.syntax, params, n, align, is_union);
        return;
    }
    if (!y || y->kind != SYMBOL_STRUCT_TEMPLATE) {
        y = symbol_add(p, p->scope, SYMBOL_STRUCT_TEMPLATE, name, place);
        y->as.syntax = kernel_arena_new(p->arena, sizeof *y->as.syntax);
        *y->as.syntax = (kernel_syntax){.name = name, .scope = p->scope, .is_union = is_union};
        y->as.syntax->record = type_struct(p->types, name, place);
    }
    y->as.syntax->params = params;
    y->as.syntax->n_params = n;
    y->as.syntax->align = align;
    if (at(p, TOKEN_LBRACE) || at(p, TOKEN_COLON))
        y->as.syntax->body = p->t;
}

/* The flags of the keywords before a function template's name. */
static unsigned head_flags(const kernel_token *t, const kernel_token **bounds)
{
    static const struct {
        uint8_t word;
        uint16_t flag;
    } words[] = {{KEYWORD___global__, IS_GLOBAL},      {KEYWORD___device__, IS_DEVICE},
                 {KEYWORD___host__, IS_HOST},          {KEYWORD_constexpr, IS_CONSTEXPR},
                 {KEYWORD___forceinline__, IS_FORCED}, {KEYWORD___noinline__, IS_NOINLINE}};
    unsigned flags = 0;
    for (; t->kind != TOKEN_LBRACE && t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_END; t++) {
        for (size_t i = 0; t->kind == TOKEN_NAME && i < sizeof words / sizeof *words; i++)
            if (t->keyword == words[i].word)
                flags |= words[i].flag;
        if (t->keyword == KEYWORD___launch_bounds__ && t[1].kind == TOKEN_LPAREN)
            *bounds = t + 2;
    }
    return flags;
}

void declare_function_template(parser *p, template_param *params, uint32_t n,
                               const kernel_type *object)
{
    function_decl f = {.params = params, .n_params = n, .head = p->t, .place = p->t->place};
    if (object && !at_word(p, KEYWORD_static) && p->t[1].keyword != KEYWORD_static) {
        f.is_method = true;
        f.object = object;
    }
    f.name = function_name(p->t);
    f.flags = head_flags(p->t, &f.bounds);
    for (const kernel_token *t = p->t; t->kind != TOKEN_LBRACE && t->kind != TOKEN_END; t++)
        if (t->kind == TOKEN_NAME && t->keyword == KEYWORD_operator && t[1].kind != TOKEN_END) {
            p->t = t + 1;
            f.name = parse_operator_name(p);
            p->t = f.head;
            break;
        } else if (f.name && t->kind == TOKEN_NAME && t->as.name == f.name) {
            f.place = t->place;
            if (t[-1].kind == TOKEN_SCOPE)
                parser_fail_do(p, t->place, "define it inside its struct",
                               "member functions defined elsewhere are not supported");
        }
    const kernel_token *end = declaration_end(p->t);
    if (!f.name)
        parser_fail(p, p->t->place, "a template that is neither a function nor a struct");
    if (end[-1].kind == TOKEN_RBRACE) {
        const kernel_token *t = p->t;
        while (t < end && t->kind != TOKEN_LBRACE)
            t = t->kind == TOKEN_LPAREN ? skip_group(t) : t + 1;
        f.body = t;
    }
    p->t = end;
    function_add(p, &f);
}

/* An argument that has a parameter's type, to deduce with. */
static kernel_expr *dummy(parser *p, const kernel_type *type)
{
    if (type->kind != TYPE_REFERENCE)
        return expr_new(p, EXPR_CALL, p->t->place, type->plain);
    return expr_new(p, EXPR_DEREF, p->t->place, type->of);
}

/* The template that "f<...>(...)" after "template" or "template <>" refers to. */
static kernel_instance *find_special(parser *p, specifiers *s, declarator *d,
                                     const kernel_token *body)
{
    parse_specifiers(p, s);
    *d = parse_declarator(p, s->type);
    template_arg *given = NULL, room[TEMPLATE_MOST] = {0};
    template_list args = {room, 0};
    uint32_t n_given = 0;
    if (at(p, TOKEN_LT)) {
        n_given = parse_template_args(p, &given);
        expect(p, TOKEN_LPAREN, "after template arguments");
        parse_parameters(p, d);
        d->type = type_function(p->types, d->type, NULL, 0);
        d->is_function = true;
    }
    symbol *y = d->name ? symbol_find(p, d->name) : NULL;
    if (!y || y->kind != SYMBOL_FUNCTION || !d->is_function)
        parser_fail(p, d->place, "there is no such template");
    kernel_expr **dummies = kernel_arena_get(p->arena, (d->n_parameters + 1) * sizeof *dummies);
    for (uint32_t i = 0; i < d->n_parameters; i++)
        dummies[i] = dummy(p, d->parameters[i].type);
    for (function_decl *one = y->as.functions; one; one = one->next) {
        function_decl *f = function_itself(one);
        if (!f->n_params || !template_deduce(p, f, given, n_given, dummies, d->n_parameters, &args))
            continue;
        if (!body)
            return instance_get(p, f, args, d->place);
        kernel_instance *i = kernel_arena_new(p->arena, sizeof *i);
        *i = (kernel_instance){.decl = f,
                               .scope = p->scope,
                               .body = body,
                               .bounds = s->bounds,
                               .result = d->type->of,
                               .parameters = d->parameters,
                               .n_parameters = d->n_parameters,
                               .flags = s->flags | (f->flags & IS_GLOBAL)};
        i->args = template_copy(p, args);
        i->next = f->instances;
        f->instances = i;
        return i;
    }
    parser_fail(p, d->place, "no template '%s' matches this", d->name->text);
}

static void parse_template(parser *p)
{
    specifiers s;
    declarator d;
    if (!at(p, TOKEN_LT)) { /* template __global__ void k<float>(float *); */
        if (at_word(p, KEYWORD_struct) || at_word(p, KEYWORD_class)) {
            p->t = declaration_end(p->t);
            return;
        }
        kernel_instance *i = find_special(p, &s, &d, NULL);
        expect(p, TOKEN_SEMICOLON, "after an instantiation");
        if (i->flags & IS_GLOBAL)
            instance_use(p, i, d.place);
        return;
    }
    template_param *params;
    const uint32_t n = parse_template_params(p, &params);
    const kernel_token *from = p->t, *end = declaration_end(p->t);
    if (at_word(p, KEYWORD_struct) || at_word(p, KEYWORD_class) || at_word(p, KEYWORD_union)) {
        const bool is_union = (p->t++)->keyword == KEYWORD_union;
        declare_struct_template(p, params, n, is_union);
    } else if (accept_word(p, KEYWORD_using)) {
        declare_alias_template(p, params, n);
    } else if (at_word(p, KEYWORD_friend)) {
        /* a use of it is reported as unknown */
    } else if (n) {
        declare_function_template(p, params, n, NULL);
    } else {
        const kernel_token *body = from;
        while (body < end && body->kind != TOKEN_LBRACE)
            body = body->kind == TOKEN_LPAREN ? skip_group(body) : body + 1;
        find_special(p, &s, &d, body < end ? body : NULL);
    }
    p->t = end;
}

/* ---- the file --------------------------------------------------------------------------------- */

static void parse_declarations(parser *p, bool braced);

void parse_namespace(parser *p)
{
    scope *outer = p->scope;
    if (at(p, TOKEN_NAME) &&
        p->t[1].kind == TOKEN_ASSIGN) { /* namespace cg = cooperative_groups; */
        kernel_name *name = (p->t++)->as.name;
        const kernel_place place = (p->t++)->place;
        const kernel_token *last;
        symbol *y = parse_name(p, &last);
        if (!y || y->kind != SYMBOL_NAMESPACE)
            parser_fail(p, last->place, "unknown namespace %s", token_text(p, last));
        symbol_add(p, p->scope, SYMBOL_NAMESPACE, name, place)->as.inside = y->as.inside;
        expect(p, TOKEN_SEMICOLON, "after a namespace");
        return;
    }
    do {
        const kernel_place place = p->t->place;
        kernel_name *name = at(p, TOKEN_NAME) ? (p->t++)->as.name : NULL;
        symbol *y = name ? symbol_here(p->scope, name) : NULL;
        if (!y && name && p->scope == p->global) /* std is there already */
            y = symbol_here(p->root, name);
        scope *inside;
        if (y && y->kind == SYMBOL_NAMESPACE) {
            inside = y->as.inside;
        } else {
            inside = scope_open(p, p->scope, false);
            inside->name = name;
            if (name)
                symbol_add(p, p->scope, SYMBOL_NAMESPACE, name, place)->as.inside = inside;
            else
                scope_use(p, p->scope, inside);
        }
        p->scope = inside;
    } while (accept(p, TOKEN_SCOPE));
    expect(p, TOKEN_LBRACE, "after a namespace");
    parse_declarations(p, true);
    p->scope = outer;
}

static void parse_plain(parser *p)
{
    specifiers s;
    if (accept_outside_constructor(p))
        return;
    parse_specifiers(p, &s);
    if (s.flags & IS_TYPEDEF) {
        parse_typedef(p, &s);
        return;
    }
    while (!at(p, TOKEN_SEMICOLON)) {
        declarator d = parse_declarator(p, s.type);
        if (!d.name)
            parser_fail(p, d.place, "expected a name, found %s", token_text(p, p->t));
        if (at(p, TOKEN_SCOPE)) {
            const symbol *y = symbol_find(p, d.name);
            const specifiers result = {.type = d.type, .flags = s.flags, .bounds = s.bounds};
            if (!y || y->kind != SYMBOL_TYPE || !y->as.type)
                parser_fail(p, d.place, "'%s' is not a struct", d.name->text);
            parse_outside_method(p, &result, y->as.type);
            return;
        }
        if (d.is_function) {
            declare_function(p, &s, &d);
            return;
        }
        declare_variable(p, &s, &d);
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    expect(p, TOKEN_SEMICOLON, "after a declaration");
}

static void parse_external(parser *p, void *ignored)
{
    (void)ignored;
    p->chain = 0;
    if (accept(p, TOKEN_SEMICOLON))
        return;
    if (at(p, TOKEN_PRAGMA)) {
        while (!at(p, TOKEN_PRAGMA_END) && !at(p, TOKEN_END))
            p->t++;
        accept(p, TOKEN_PRAGMA_END);
        return;
    }
    if (at_word(p, KEYWORD_extern) && p->t[1].kind == TOKEN_STRING) {
        p->t += 2;
        if (accept(p, TOKEN_LBRACE)) {
            parse_declarations(p, true);
            return;
        }
    }
    if (at_word(p, KEYWORD_inline) && p->t[1].keyword == KEYWORD_namespace)
        p->t++;
    if (accept_word(p, KEYWORD_namespace))
        parse_namespace(p);
    else if (accept_word(p, KEYWORD_template))
        parse_template(p);
    else if (accept_word(p, KEYWORD_using))
        parse_using(p);
    else if (accept_word(p, KEYWORD_static_assert))
        parse_static_assert(p);
    else
        parse_plain(p);
}

static void note_broken(parser *p, const kernel_token *from, kernel_diag *before)
{
    broken_kernel *b = kernel_arena_new(p->arena, sizeof *b);
    if (from->kind == TOKEN_NAME && from->keyword == KEYWORD_template)
        return; /* an instance that is asked for is not found */
    *b = (broken_kernel){function_name(from), before, p->diags->last, NULL};
    if (!b->name)
        return;
    *p->broken_end = b;
    p->broken_end = &b->next;
}

static void parse_declarations(parser *p, bool braced)
{
    parser_down(p);
    while (!at(p, TOKEN_END) && !(braced && at(p, TOKEN_RBRACE))) {
        const kernel_token *from = p->t;
        const int mark = device_mark(from);
        const bool space = at_word(p, KEYWORD_namespace) ||
                           (at_word(p, KEYWORD_extern) && from[1].kind == TOKEN_STRING &&
                            from[2].kind == TOKEN_LBRACE);
        const bool silent = p->options->skip_host && !mark && !space;
        kernel_diag *before = p->diags->last;
        p->quiet += silent;
        const bool fine = parser_guard(p, parse_external, NULL);
        p->quiet -= silent;
        if (fine)
            continue;
        if (mark == KEYWORD___global__)
            note_broken(p, from, before);
        p->t = declaration_end(from);
        if (p->t == from) {
            if (at(p, TOKEN_RBRACE) && !braced && !p->options->skip_host)
                parser_error(p, from->place, "'}' without '{'");
            p->t++;
        }
    }
    parser_up(p);
    if (braced)
        expect(p, TOKEN_RBRACE, "at the end of a namespace");
}

void parse_file(parser *p) { parse_declarations(p, false); }

/* The kernel of these template arguments, which is parsed later. */
static kernel_function *use_kernel(parser *p, const symbol *y, const kernel_token *last,
                                   const template_arg *given, uint32_t n)
{
    for (function_decl *one = y->as.functions; one; one = one->next) {
        function_decl *f = function_itself(one);
        template_arg room[TEMPLATE_MOST] = {0};
        template_list args = {room, n};
        if (!(f->flags & IS_GLOBAL) ||
            (n > f->n_params && !template_has_pack(f->params, f->n_params)))
            continue;
        for (uint32_t i = 0; i < n; i++)
            room[i] = given[i];
        if (template_defaults(p, f->scope, f->params, f->n_params, &args) < 0)
            return instance_use(p, instance_get(p, f, args, last->place), last->place);
    }
    parser_fail(p, last->place, "no kernel %s takes these arguments", token_text(p, last));
}

void parse_request(parser *p, void *wanted)
{
    const kernel_token *last;
    const symbol *y = parse_name(p, &last);
    template_arg *given = NULL;
    if (!y || y->kind != SYMBOL_FUNCTION)
        parser_fail(p, last->place, "there is no kernel %s", token_text(p, last));
    const uint32_t n = at(p, TOKEN_LT) ? parse_template_args(p, &given) : 0;
    if (!at(p, TOKEN_END))
        parser_fail(p, p->t->place, "%s after the name of a kernel", token_text(p, p->t));
    kernel_alias *a = kernel_arena_get(p->arena, sizeof *a);
    a->function = use_kernel(p, y, last, given, n);
    a->name = parser_format(p, "%s", (const char *)wanted);
    a->next = p->tree->aliases;
    p->tree->aliases = a;
}

/* "tile<float, 16><<<" at the name. */
static void parse_launched(parser *p, void *ignored)
{
    (void)ignored;
    const kernel_token *last;
    const symbol *y = parse_name(p, &last);
    template_arg *given = NULL;
    const uint32_t n =
        y && y->kind == SYMBOL_FUNCTION && at(p, TOKEN_LT) ? parse_template_args(p, &given) : 0;
    if (n && kernel_token_launch(p->t))
        use_kernel(p, y, last, given, n);
}

static void use_defaults(parser *p, void *context)
{
    const function_decl *f = context;
    template_arg room[TEMPLATE_MOST] = {0};
    template_list args = {room, 0};
    if (template_defaults(p, f->scope, f->params, f->n_params, &args) < 0)
        instance_use(p, instance_get(p, (function_decl *)f, args, f->place), f->place);
}

static void use_special(parser *p, void *context)
{
    kernel_instance *i = context;
    instance_use(p, i, i->decl->place);
}

static bool names_template(const parser *p, const kernel_token *t)
{
    for (const function_decl *f = p->kernels; f && t->kind == TOKEN_NAME; f = f->next_kernel)
        if (f->n_params && f->name == t->as.name)
            return true;
    return false;
}

/* What cannot be understood, such as the parameter of a host template, is skipped. */
static void try_quietly(parser *p, void (*work)(parser *, void *), void *context)
{
    const bool failed = p->failed;
    p->quiet++;
    parser_guard(p, work, context);
    p->quiet--;
    p->failed = failed;
}

void parse_launches(parser *p, const kernel_token *from)
{
    for (function_decl *f = p->kernels; f; f = f->next_kernel) {
        if (!f->n_params)
            continue;
        for (kernel_instance *i = f->instances; i; i = i->next)
            if (i->body && !i->function) /* template <> __global__ ... */
                try_quietly(p, use_special, i);
        if (f->body && !template_has_pack(f->params, f->n_params))
            try_quietly(p, use_defaults, f);
    }
    for (const kernel_token *t = from; t->kind != TOKEN_END; t++) {
        if (t[1].kind != TOKEN_LT || !names_template(p, t))
            continue;
        p->t = t;
        while (p->t > from + 1 && p->t[-1].kind == TOKEN_SCOPE && p->t[-2].kind == TOKEN_NAME)
            p->t -= 2;
        p->scope = p->global;
        try_quietly(p, parse_launched, NULL);
    }
}
