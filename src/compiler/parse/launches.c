/* The instances of kernel templates that a source launches. Host code is not parsed: its functions are read for the
 * local names whose types and values are those of device code, and for launches. A launch may name its template
 * arguments, also by such local names, or leave them to its arguments. A host function template is read once for each
 * call with arguments that are known. A declaration or launch that cannot be read is skipped. */
#include "compiler/parse/parser.h"

static void read_block(parser *p, const kernel_token *head, const kernel_token *open);

/* ---- local names ------------------------------------------------------------------------------ */

typedef struct local_value {
    symbol *y;
    const kernel_type *type;
} local_value;

static void read_value(parser *p, void *context)
{
    const local_value *v = context;
    const kernel_type *type = v->type;
    const parser_outside back = outside_enter(p);
    kernel_expr *e = parse_init(p, &type, v->y->name->text);
    e = fold_all(p, expr_value(p, expr_convert(p, e, type->plain, v->y->name->text)));
    outside_leave(p, back);
    if (e->kind == EXPR_CONST)
        v->y->constant = e;
}

static void name_variable(parser *p, kernel_name *name, kernel_place place, const kernel_type *type,
                          bool constant)
{
    kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
    symbol *y = symbol_add(p, p->scope, SYMBOL_VAR, name, place);
    v->name = name->text;
    v->source_name = name;
    v->type = type->kind == TYPE_REFERENCE ? type_pointer(p->types, type->of) : type;
    v->storage = STORE_PARAMETER;
    v->place = place;
    y->as.var = v;
    y->is_reference = type->kind == TYPE_REFERENCE;
    constant |= (type->quals & TYPE_CONST) != 0;
    if (constant && type_is_integer(type->plain) && (at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE)))
        parser_try(p, read_value, &(local_value){y, type});
}

/* A declaration or a parameter at p->t. */
static void read_declaration(parser *p, void *ignored)
{
    (void)ignored;
    specifiers s;
    if (accept_word(p, KEYWORD_using)) {
        parse_using(p);
        return;
    }
    parse_specifiers(p, &s);
    if (s.flags & IS_TYPEDEF) {
        parse_typedef(p, &s);
        return;
    }
    for (;;) {
        const declarator d = parse_declarator(p, s.type);
        if (!d.name || d.is_function || d.type->kind == TYPE_AUTO)
            return;
        name_variable(p, d.name, d.place, d.type, s.flags & IS_CONSTEXPR);
        if (at(p, TOKEN_ASSIGN) || at(p, TOKEN_LBRACE))
            skip_value(p, TOKEN_SEMICOLON);
        if (!accept(p, TOKEN_COMMA))
            return;
    }
}

static void try_declaration(parser *p, const kernel_token *t)
{
    if (t->kind != TOKEN_NAME && t->kind != TOKEN_SCOPE)
        return;
    p->t = t;
    parser_try(p, read_declaration, NULL);
}

/* ---- launches and calls ----------------------------------------------------------------------- */

/* The instance that "(a, b)" at p->t selects. */
static kernel_instance *choose(parser *p, const symbol *y, kernel_place place,
                               const template_arg *given, uint32_t n)
{
    const parser_outside back = outside_enter(p);
    kernel_expr **args;
    expect(p, TOKEN_LPAREN, "before arguments");
    const uint32_t n_args = parse_arguments(p, &args);
    kernel_instance *i = call_choose(p, y->as.functions, place, given, n, args, n_args, true);
    outside_leave(p, back);
    return i;
}

static void read_launch(parser *p, const symbol *y, const kernel_token *name,
                        const template_arg *given, uint32_t n)
{
    const function_decl *f = function_itself(y->as.functions);
    if (n >= f->n_params || (n && f->params[n].init)) {
        request_instance(p, y, name, given, n);
        return;
    }
    p->t += kernel_token_launch(p->t);
    while (!kernel_token_launch_end(p->t)) {
        if (at(p, TOKEN_END) || at(p, TOKEN_SEMICOLON))
            return;
        p->t = skip_item(p->t);
    }
    p->t += kernel_token_launch_end(p->t);
    kernel_instance *i = choose(p, y, name->place, given, n);
    if (i)
        instance_use(p, i, name->place);
}

/* A call of a template of the host: reads its body with the parameters bound. */
static void read_call(parser *p, const symbol *y, const kernel_token *name,
                      const template_arg *given, uint32_t n)
{
    function_decl *f = function_itself(y->as.functions);
    template_arg room[TEMPLATE_MOST] = {0};
    template_list args = {room, n};
    for (uint32_t i = 0; i < n && i < TEMPLATE_MOST; i++)
        room[i] = given[i];
    kernel_instance *i = n < TEMPLATE_MOST && (n <= f->n_params && !y->as.functions->next) &&
                                 template_defaults(p, f->scope, f->params, f->n_params, &args) < 0
                             ? instance_get(p, f, args, name->place)
                             : choose(p, y, name->place, given, n);
    const kernel_token *body = i && i->body ? i->body : i ? i->decl->body : NULL;
    if (!body || i->parsed || (i->flags & (IS_GLOBAL | IS_DEVICE)))
        return;
    i->parsed = true;
    const parser_place back = parser_enter(p, body, scope_open(p, i->scope, true));
    for (uint32_t k = 0; k < i->n_parameters; k++)
        if (i->parameters[k].name)
            name_variable(p, i->parameters[k].name, name->place, i->parameters[k].type, false);
    read_block(p, NULL, body);
    scope_close(p, p->scope);
    parser_leave(p, back);
}

static void read_use(parser *p, void *ignored)
{
    (void)ignored;
    const kernel_token *name;
    const symbol *y = parse_name(p, &name);
    template_arg *given = NULL;
    if (!y || y->kind != SYMBOL_FUNCTION || !function_itself(y->as.functions)->n_params)
        return;
    const uint32_t n =
        at(p, TOKEN_LT) && !kernel_token_launch(p->t) ? parse_template_args(p, &given) : 0;
    if (kernel_token_launch(p->t))
        read_launch(p, y, name, given, n);
    else if (at(p, TOKEN_LPAREN))
        read_call(p, y, name, given, n);
}

/* A name that may be a template: its first part. */
static void try_use(parser *p, const kernel_token *t)
{
    if (t->kind != TOKEN_NAME || t->keyword ||
        (t[1].kind != TOKEN_LT && t[1].kind != TOKEN_LPAREN && t[1].kind != TOKEN_SCOPE &&
         !kernel_token_launch(t + 1)))
        return;
    p->t = t;
    parser_try(p, read_use, NULL);
}

/* ---- the file --------------------------------------------------------------------------------- */

/* True if the brackets at t belong to a function or statement with a block: *block is its "{". */
static bool heads_block(const kernel_token *t, const kernel_token **block)
{
    t = skip_group(t);
    while (t->kind == TOKEN_NAME && (t->keyword == KEYWORD_const || t->keyword == KEYWORD_noexcept))
        t++;
    *block = t;
    return t->kind == TOKEN_LBRACE;
}

/* Reads the tokens of a declaration or block, up to `end`. */
static void read_tokens(parser *p, const kernel_token *t, const kernel_token *end, bool declares)
{
    const kernel_token *head = NULL, *block = NULL, *const begin = t;
    for (bool starts = declares; t < end && t->kind != TOKEN_END; t++) {
        if (starts)
            try_declaration(p, t);
        starts = declares && t->kind == TOKEN_SEMICOLON;
        if (t->kind == TOKEN_LPAREN && (!block || t > block) && heads_block(t, &block))
            head = t;
        if (t->kind == TOKEN_LBRACE) {
            read_block(p, t == block ? head : NULL, t);
            t = skip_group(t) - 1;
            starts = declares;
        } else if (t == begin || (t[-1].kind != TOKEN_SCOPE && t[-1].kind != TOKEN_DOT)) {
            try_use(p, t);
        }
    }
}

/* The block at `open`; head: the "(" of its parameters or of its statement, or NULL. */
static void read_block(parser *p, const kernel_token *head, const kernel_token *open)
{
    scope *const outer = p->scope;
    if (p->depth == DEPTH_MOST)
        return;
    parser_down(p);
    p->scope = scope_open(p, outer, true);
    const kernel_token *end = head ? skip_group(head) - 1 : head;
    for (const kernel_token *t = head; t < end; t = skip_item(t + 1))
        if (t == head || t->kind == TOKEN_COMMA)
            try_declaration(p, t + 1);
    read_tokens(p, open + 1, skip_group(open) - 1, true);
    scope_close(p, p->scope);
    p->scope = outer;
    parser_up(p);
}

static void read_declarations(parser *p, const kernel_token *t, const kernel_token *end)
{
    while (t < end && t->kind != TOKEN_END) {
        const bool is_space = t->kind == TOKEN_NAME && t->keyword == KEYWORD_namespace;
        const bool is_c = t->kind == TOKEN_NAME && t->keyword == KEYWORD_extern &&
                          t[1].kind == TOKEN_STRING && t[2].kind == TOKEN_LBRACE;
        const kernel_token *open = is_c ? t + 2 : t + 1;
        scope *const outer = p->scope;
        for (; is_space && open->kind == TOKEN_NAME; open++) {
            symbol *y = symbol_in(p->scope, open->as.name);
            p->scope = y && y->kind == SYMBOL_NAMESPACE ? y->as.inside : p->scope;
            open += open[1].kind == TOKEN_SCOPE;
        }
        const kernel_token *next = declaration_end(t);
        if ((is_space || is_c) && open->kind == TOKEN_LBRACE) {
            next = skip_group(open);
            read_declarations(p, open + 1, next - 1);
        } else if (!device_mark(t)) {
            read_tokens(p, t, next, false);
        }
        p->scope = outer;
        t = next > t ? next : t + 1;
    }
}

void parse_launches(parser *p, const kernel_token *from)
{
    const kernel_token *end = from;
    while (end->kind != TOKEN_END)
        end++;
    p->scope = p->globals[0];
    read_declarations(p, from, end);
}
