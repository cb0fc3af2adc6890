/* The declarations of a file. Bodies are skipped; those that kernels need are parsed later. In a whole
 * program, declarations without a device keyword are host code, and failing to parse them is not an error. */
#include "compiler/parse/parser.h"

static void parse_external(parser *p, void *ignored);

/* ---- skipping ---------------------------------------------------------------------------------- */

static bool is_device_word(int word)
{
    return word == KEYWORD___global__ || word == KEYWORD___device__ ||
           word == KEYWORD___constant__ || word == KEYWORD___shared__ ||
           word == KEYWORD___managed__;
}

int device_mark(const kernel_token *t)
{
    while (t->kind != TOKEN_END && t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE) {
        if (t->kind == TOKEN_NAME && is_device_word(t->keyword))
            return t->keyword;
        t = t->kind == TOKEN_LPAREN || t->kind == TOKEN_LBRACKET ? skip_group(t) : t + 1;
    }
    return 0;
}

const kernel_token *declaration_end(const kernel_token *t)
{
    bool function = false;
    for (;;) {
        switch (t->kind) {
        case TOKEN_END: return t;
        case TOKEN_SEMICOLON: return t + 1;
        case TOKEN_RBRACE: return t; /* of the enclosing namespace */
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

kernel_name *function_name(const kernel_token *t)
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

bool auto_is_pack(const kernel_token *t)
{
    do
        t++;
    while (t->kind == TOKEN_STAR || t->kind == TOKEN_AMP || t->kind == TOKEN_AND_AND ||
           t->keyword == KEYWORD_const);
    return t->kind == TOKEN_ELLIPSIS;
}

uint32_t function_autos(const kernel_token *t, template_param *made)
{
    uint32_t n = 0;
    while (t->kind != TOKEN_END && t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE &&
           t->kind != TOKEN_ASSIGN &&
           !(t->kind == TOKEN_NAME && !t->keyword && t[1].kind == TOKEN_LPAREN))
        t++;
    const kernel_token *end = t->kind == TOKEN_NAME ? skip_group(t + 1) : t;
    for (; t < end; t++) {
        const kernel_token *concept = t;
        t = constrained_auto(t);
        if (t->kind != TOKEN_NAME || t->keyword != KEYWORD_auto || t[-1].kind == TOKEN_LT)
            continue;
        if (made && n < TEMPLATE_MOST) {
            made[n].constraint = concept < t ? concept : NULL;
            made[n].is_pack = auto_is_pack(t);
        }
        n++;
    }
    return n;
}

/* ---- variables -------------------------------------------------------------------------------- */

void global_list(parser *p, kernel_var *v)
{
    if (v->is_listed || p->is_outside)
        return;
    v->is_listed = true;
    v->index = p->n_globals++;
    LIST_ADD(p->globals_end, v, next);
    for (const kernel_address *a = v->addresses; a; a = a->next)
        global_list(p, a->of);
}

kernel_var *global_var(parser *p, kernel_name *name, const kernel_type *type,
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

/* The variable that an earlier declaration of the name made; NULL if there is none. */
static kernel_var *declared_before(parser *p, const specifiers *s, const declarator *d,
                                   const kernel_type *type)
{
    const symbol *old = symbol_here(p->scope, d->name);
    if (!old || old->kind != SYMBOL_VAR || old->is_host || old->as.var->storage == STORE_DYNAMIC)
        return NULL;
    kernel_var *v = old->as.var;
    const bool open = type->kind == TYPE_ARRAY && v->type->kind == TYPE_ARRAY &&
                      type->of == v->type->of && (!type->count || !v->type->count);
    const bool constant = s->flags & IS_CONSTANT;
    const bool same = (type == v->type || open) && constant == (v->storage == STORE_CONSTANT);
    if (same && (v->is_extern || (s->flags & IS_EXTERN)))
        return v;
    parser_error(p, d->place, same ? "'%s' is declared twice" : "'%s' is declared in two ways",
                 d->name->text);
    parser_note(p, old->place, "first here");
    parser_jump(p);
}

static void check_device_type(parser *p, const declarator *d, const kernel_type *type,
                              bool is_extern)
{
    type_complete(p, type, d->place);
    if (type->kind == TYPE_REFERENCE || type->kind == TYPE_VOID || type->kind == TYPE_AUTO)
        parser_fail(p, d->place, "there is no variable of type '%s' in device memory",
                    type_name(p, type));
    if (type->kind == TYPE_ARRAY && !type->count && !is_extern)
        parser_fail(p, d->place, "'%s' has no size", d->name->text);
}

static void declare_device(parser *p, const specifiers *s, const declarator *d,
                           const kernel_type *type, kernel_expr *e)
{
    const bool is_extern = (s->flags & IS_EXTERN) && !e;
    if (type->kind == TYPE_AUTO && e)
        type = type_qualify(p->types, e->type, type->quals);
    check_device_type(p, d, type, is_extern);
    kernel_var *v = declared_before(p, s, d, type);
    if (v && is_extern)
        return;
    if (!v) {
        v = global_var(p, d->name, type, s->flags & IS_CONSTANT ? STORE_CONSTANT : STORE_GLOBAL,
                       d->place);
        v->symbol = scope_qualified(p, p->scope, d->name->text);
        if (p->options->n_linked)
            v->symbol = parser_format(p, "%d#%s", p->file, v->symbol);
        symbol_add(p, p->scope, SYMBOL_VAR, d->name, d->place)->as.var = v;
    }
    v->type = type;
    v->place = d->place;
    v->is_extern = is_extern;
    v->is_managed |= (s->flags & IS_MANAGED) != 0;
    if (v->align < (s->align > type->align ? s->align : type->align))
        v->align = s->align > type->align ? s->align : type->align;
    if (is_extern)
        return;
    if (!e && init_needed(p, type)) {
        const kernel_type *part = type;
        while (part->kind == TYPE_ARRAY)
            part = part->of;
        e = construct(p, part, d->place, NULL, 0);
    }
    if (e && type->size > 1u << 28)
        parser_fail(p, d->place, "'%s' is too large to be initialized", d->name->text);
    if (e && !evaluate_initial(p, e, v))
        parser_fail_do(p, e->place, "copy it from the host with cudaMemcpyToSymbol",
                       "the value of '%s' is not a constant", d->name->text);
    if (e && e->kind == EXPR_CONST && (type->quals & TYPE_CONST))
        symbol_here(p->scope, d->name)->constant = e;
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
    kernel_var *v =
        global_var(p, d->name, type_qualify(p->types, type, TYPE_CONST), STORE_CONSTANT, d->place);
    if (!evaluate_initial(p, e, v))
        return;
    y->as.var = v;
    y->is_host = false;
    if (e->kind == EXPR_CONST)
        y->constant = e;
}

parser_outside outside_enter(parser *p)
{
    const parser_outside back = {p->current, p->locals_end, p->is_outside};
    kernel_instance *i = kernel_arena_new(p->arena, sizeof *i); /* has the value's temporaries */
    function_decl *f = kernel_arena_new(p->arena, sizeof *f);
    f->name = name_of(p, "value");
    f->scope = p->scope;
    f->result = type_word_of(p, WORD_VOID);
    *i = (kernel_instance){.decl = f, .scope = p->scope, .result = f->result};
    i->function = kernel_arena_new(p->arena, sizeof *i->function);
    i->function->name = i->function->source_name = "value";
    i->function->result = f->result;
    i->function->instance = i;
    p->locals_end = &i->function->locals;
    p->current = i;
    p->is_outside = true;
    return back;
}

void outside_leave(parser *p, parser_outside back)
{
    p->current = back.current;
    p->locals_end = back.locals_end;
    p->is_outside = back.is_outside;
}

static void declare_variable(parser *p, const specifiers *s, declarator *d)
{
    const kernel_type *type = d->type;
    kernel_expr *e = NULL;
    const bool device = s->flags & (IS_DEVICE | IS_CONSTANT | IS_MANAGED);
    if (s->flags & IS_SHARED) {
        if (!(s->flags & IS_EXTERN)) {
            declare_shared(p, s, d);
            return;
        }
        kernel_var *v = global_var(p, d->name, type, STORE_DYNAMIC, d->place);
        v->align = s->align > type->align ? s->align : type->align;
        symbol_add(p, p->scope, SYMBOL_VAR, d->name, d->place)->as.var = v;
        return;
    }
    p->declaring = d->name;
    const parser_outside back = outside_enter(p);
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
    outside_leave(p, back);
    p->declaring = NULL;
    kernel_var *v = device ? symbol_here(p->scope, d->name)->as.var : NULL;
    if (v && !v->is_extern)
        global_list(p, v);
}

/* ---- functions -------------------------------------------------------------------------------- */

bool function_same_parameters(const function_decl *a, const function_decl *b)
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
    if (y && y->kind == SYMBOL_LIBRARY)
        y = NULL;
    p->n_functions += !made->is_method;
    if (y && y->kind != SYMBOL_FUNCTION && y->kind != SYMBOL_TYPE && !made->is_method) {
        parser_error(p, made->place, "'%s' is declared as a function and as something else",
                     made->name->text);
        parser_note(p, y->place, "first here");
        parser_jump(p);
    }
    if (!y || y->kind != SYMBOL_FUNCTION)
        y = symbol_add(p, p->scope, SYMBOL_FUNCTION, made->name, made->place);
    function_decl **end = &y->as.functions;
    for (; *end; end = &(*end)->next) {
        function_decl *f = *end;
        if (f->used || !function_same_parameters(f, made) ||
            (made->n_params && (f->body || !made->body)))
            continue;
        if (f->body && made->body) {
            if (!made->n_params) {
                /* The same name for the host and for the device means two functions. */
                if ((f->flags ^ made->flags) & (IS_DEVICE | IS_GLOBAL))
                    continue;
                parser_error(p, made->place, "'%s' is defined twice", made->name->text);
                parser_note(p, f->place, "first here");
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
        LIST_ADD(p->kernels_end, *end, next_kernel);
    }
}

/* Parses the part after the parameters, and skips the body. */
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

/* ---- the file --------------------------------------------------------------------------------- */

static void parse_declarations(parser *p, bool braced);

void parse_namespace(parser *p, bool is_inline)
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
        if (!y && name && p->scope->is_global) /* std exists already */
            y = symbol_here(p->root, name);
        scope *inside;
        if (y && y->kind == SYMBOL_NAMESPACE) {
            inside = y->as.inside;
        } else {
            inside = scope_open(p, p->scope, false);
            inside->name = name;
            if (name)
                symbol_add(p, p->scope, SYMBOL_NAMESPACE, name, place)->as.inside = inside;
        }
        if (!name || is_inline)
            scope_use(p, p->scope, inside);
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
    if (function_autos(p->t, NULL)) {
        declare_function_template(p, NULL, 0, NULL);
        return;
    }
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
    const bool is_inline = at_word(p, KEYWORD_inline) && p->t[1].keyword == KEYWORD_namespace;
    if (is_inline)
        p->t++;
    if (accept_word(p, KEYWORD_namespace))
        parse_namespace(p, is_inline);
    else if (accept_word(p, KEYWORD_template))
        parse_template(p);
    else if (accept_word(p, KEYWORD_using))
        parse_using(p);
    else if (accept_word(p, KEYWORD_static_assert))
        parse_static_assert(p);
    else
        parse_plain(p);
}

/* Records an error of a declaration, so that all that use its name fail too. */
static void note_broken(parser *p, const kernel_token *from, int mark, kernel_diag *before)
{
    kernel_name *name = p->declaring ? p->declaring : function_name(from);
    const kernel_diag *error = before ? before->next : p->diags->first;
    p->declaring = NULL;
    if (mark == KEYWORD___global__) {
        if (!name || (from->kind == TOKEN_NAME && from->keyword == KEYWORD_template))
            return; /* a request for an instance reports that it is not found */
        broken_kernel *b = kernel_arena_new(p->arena, sizeof *b);
        *b = (broken_kernel){name, before, p->diags->last, NULL};
        LIST_ADD(p->broken_end, b, next);
    } else if (name) {
        symbol_add(p, p->scope, SYMBOL_BROKEN, name, from->place)->broken = error;
    } else if (!p->broken_file) {
        p->broken_file = error;
    }
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
        const bool shares = p->options->n_linked && !space && !at_word(p, KEYWORD_using) &&
                            !at_word(p, KEYWORD_inline);
        const link_mark link = shares ? link_begin(p) : (link_mark){0};
        if (shares && link_import(p, &link))
            continue;
        kernel_diag *before = p->diags->last;
        p->quiet += silent;
        const bool fine = parser_guard(p, parse_external, NULL);
        p->quiet -= silent;
        if (fine && shares)
            link_record(p, &link);
        if (fine)
            continue;
        if (!silent)
            note_broken(p, from, mark, before);
        p->declaring = NULL;
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
