/* Lambdas: a struct of the variables captured by value, with an operator().
 *
 * A capture by reference is not a member. It becomes an extra parameter of operator(), which every call in
 * the lambda's function passes. So address spaces are inferred as for any parameter, and no pointer to a
 * local variable is kept in memory. The price is that such a lambda cannot be called in another function.
 * A body is parsed immediately, while the enclosing names are known. With an "auto" parameter, operator()
 * is a template, and the names that its body needs are kept. */
#include "compiler/parse/parser.h"

enum { PACKS_MOST = 8 };

typedef struct lambda {
    kernel_struct *record;
    bool all_values, all_references; /* [=], [&] */
    kernel_expr **values;
    uint32_t n_values, room;
    capture *references, **end;
    bool is_generic;
    symbol *packs[PACKS_MOST]; /* captured by value */
    uint32_t n_packs;
} lambda;

static bool is_local(const symbol *y)
{
    return y && y->kind == SYMBOL_VAR && !y->is_host && y->as.var && !y->constant &&
           (y->as.var->storage == STORE_LOCAL || y->as.var->storage == STORE_PARAMETER);
}

static bool is_captured(const lambda *l, const kernel_name *name)
{
    for (const capture *c = l->references; c; c = c->next)
        if (c->what->name == name)
            return true;
    const kernel_member *path[8];
    return type_member_find(l->record, name, path) != 0;
}

static void capture_value(parser *p, lambda *l, kernel_name *name, kernel_expr *value,
                          kernel_place place)
{
    if (value->type->kind == TYPE_ARRAY)
        parser_fail_do(p, place, "capture it by reference",
                       "'%s' is an array, which is not captured by value", name->text);
    value = object_value(p, value);
    type_member_add(p->types, l->record, name, value->type, place);
    ARENA_ADD(p->arena, l->values, l->n_values, l->room, value);
}

static bool is_local_pack(const symbol *y)
{
    return y && y->kind == SYMBOL_PACK && !y->as.pack->is_types && y->as.pack->n &&
           is_local(y->as.pack->at[0]);
}

static kernel_name *pack_member(parser *p, const kernel_name *pack, uint32_t n)
{
    return name_of(p, parser_format(p, "ig_%s_%u", pack->text, n));
}

static bool pack_captured(const lambda *l, const kernel_name *name)
{
    for (uint32_t i = 0; i < l->n_packs; i++)
        if (l->packs[i]->name == name)
            return true;
    return false;
}

/* Each element of the pack is a member; add_packs makes their names a pack again. */
static void capture_pack(parser *p, lambda *l, symbol *y, kernel_place place)
{
    if (l->n_packs == PACKS_MOST)
        parser_fail(p, place, "a lambda that captures more than %d packs", PACKS_MOST);
    l->packs[l->n_packs++] = y;
    for (uint32_t i = 0; i < y->as.pack->n; i++)
        capture_value(p, l, pack_member(p, y->name, i), use_var(p, y->as.pack->at[i], place),
                      place);
}

static void add_packs(parser *p, const lambda *l, kernel_place place)
{
    for (uint32_t k = 0; k < l->n_packs; k++) {
        const symbol *of = l->packs[k];
        symbol_pack *pack = kernel_arena_get(p->arena, sizeof *pack);
        *pack = (symbol_pack){.at = kernel_arena_get(p->arena, of->as.pack->n * sizeof *pack->at),
                              .n = of->as.pack->n};
        for (uint32_t i = 0; i < pack->n; i++)
            pack->at[i] = symbol_here(p->scope, pack_member(p, of->name, i));
        symbol_add(p, p->scope, SYMBOL_PACK, of->name, place)->as.pack = pack;
    }
}

static void capture_reference(parser *p, lambda *l, symbol *y)
{
    capture *made = kernel_arena_copy(p->arena, &(capture){y, NULL}, sizeof *made);
    LIST_ADD(l->end, made, next);
}

/* At a name between "[" and "]". */
static void parse_capture(parser *p, lambda *l)
{
    const bool reference = accept(p, TOKEN_AMP);
    const kernel_place place = p->t->place;
    if (at_word(p, KEYWORD_this) || at(p, TOKEN_STAR))
        parser_fail_do(p, place, "copy the members that it uses into local variables",
                       "a lambda that captures 'this' is not supported");
    kernel_name *name = expect_name(p, "what the lambda captures");
    if (!reference && accept(p, TOKEN_ASSIGN)) { /* [x = y + 1] */
        capture_value(p, l, name, parse_assignment(p), place);
        return;
    }
    symbol *y = symbol_find(p, name);
    if (y && y->kind == SYMBOL_VAR && y->constant)
        return;
    if (y && y->kind == SYMBOL_PACK && accept(p, TOKEN_ELLIPSIS)) {
        if (reference)
            parser_fail_do(p, place, "capture it by value: [a...]",
                           "a lambda that captures a parameter pack by reference is not supported");
        if (y->as.pack->n && !pack_captured(l, name))
            capture_pack(p, l, y, place);
        return;
    }
    if (!is_local(y))
        parser_fail(p, place, "'%s' is not a local variable", name->text);
    if (reference)
        capture_reference(p, l, y);
    else
        capture_value(p, l, name, use_var(p, y, place), place);
}

static void parse_captures(parser *p, lambda *l)
{
    p->t++;
    while (!at(p, TOKEN_RBRACKET)) {
        if (at(p, TOKEN_AMP) && (p->t[1].kind == TOKEN_RBRACKET || p->t[1].kind == TOKEN_COMMA)) {
            l->all_references = true;
            p->t++;
        } else if (accept(p, TOKEN_ASSIGN)) {
            l->all_values = true;
        } else {
            parse_capture(p, l);
        }
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    expect(p, TOKEN_RBRACKET, "after what a lambda captures");
}

/* Handles the local variables that the tokens from t to end name. With [=] or [&] they are captured;
 * otherwise they are hidden. The body starts at `body`; earlier tokens are the lambda's head. */
static void capture_named(parser *p, lambda *l, const declarator *d, const kernel_token *t,
                          const kernel_token *body, const kernel_token *end)
{
    scope *members = l->record->syntax->members;
    for (; t < end; t++) {
        if (t->kind != TOKEN_NAME || t[-1].kind == TOKEN_DOT || t[-1].kind == TOKEN_SCOPE ||
            (t[-1].kind == TOKEN_ARROW && t > body))
            continue;
        symbol *y = t->keyword ? NULL : symbol_find(p, t->as.name);
        if (t->keyword == KEYWORD_this || (y && y->kind == SYMBOL_MEMBER))
            parser_fail_do(p, t->place, "copy the members that it uses into local variables",
                           "a lambda that uses members of its struct is not supported");
        if (is_local_pack(y) && !pack_captured(l, y->name)) {
            if (!l->all_values)
                parser_fail_do(
                    p, t->place, "capture it by value: [=]",
                    "a lambda that captures a parameter pack by reference is not supported");
            capture_pack(p, l, y, t->place);
        }
        if (l->is_generic && y && y->scope->is_local && !is_local(y) &&
            !symbol_here(members, y->name))
            symbol_alias(p, members, y, y->place);
        bool known = !is_local(y) || is_captured(l, t->as.name) || symbol_here(members, y->name);
        for (uint32_t i = 0; !known && i < d->n_parameters; i++)
            known = d->parameters[i].name == y->name;
        if (known)
            continue;
        if (l->all_references)
            capture_reference(p, l, y);
        else if (l->all_values)
            capture_value(p, l, y->name, use_var(p, y, t->place), t->place);
        else
            symbol_add(p, members, SYMBOL_VAR, y->name, y->place)->is_outside = true;
    }
}

/* True if the body may change a variable. A pointer that it does not change is passed by value, so that its
 * address space is known. */
static bool is_assigned(const kernel_name *name, const kernel_token *body)
{
    const kernel_token *end = skip_group(body);
    for (const kernel_token *t = body + 1; t < end; t++)
        if (t->kind == TOKEN_NAME && t->as.name == name &&
            ((t[1].kind >= TOKEN_ASSIGN && t[1].kind <= TOKEN_SHR_ASSIGN) ||
             t[1].kind == TOKEN_INCREMENT || t[1].kind == TOKEN_DECREMENT ||
             t[-1].kind == TOKEN_INCREMENT || t[-1].kind == TOKEN_DECREMENT ||
             t[-1].kind == TOKEN_AMP))
            return true;
    return false;
}

/* The parameters of operator(): the object, the captures by reference, and its own parameters. */
static void add_parameters(parser *p, const kernel_struct *s, const kernel_token *body,
                           declarator *d)
{
    parameter *all = NULL;
    uint32_t n = 0, room = 0;
    for (const capture *c = s->syntax->captures; c; c = c->next) {
        const kernel_type *type = use_var(p, c->what, d->place)->type;
        if (type_is_pointer(type) && !is_assigned(c->what->name, body))
            type = type_qualify(p->types, type, TYPE_CONST);
        else
            type = type_reference(p->types, type);
        ARENA_ADD(p->arena, all, n, room,
                  (parameter){.name = c->what->name, .place = c->what->place, .type = type});
    }
    d->pack.first += n + 1;
    for (uint32_t i = 0; i < d->n_parameters; i++)
        ARENA_ADD(p->arena, all, n, room, d->parameters[i]);
    d->parameters =
        method_parameters(p, d->place, s->type, s->syntax->is_mutable ? 0 : TYPE_CONST, all, n);
    d->n_parameters = n + 1;
}

kernel_name *lambda_auto(parser *p, int n) { return name_of(p, parser_format(p, "auto %d", n)); }

/* "(auto x, int y) mutable -> int", all parts optional, up to the body. */
static void parse_head(parser *p, declarator *d, bool *is_mutable)
{
    const kernel_type *result = p->types->automatic;
    if (accept(p, TOKEN_LPAREN))
        parse_parameters(p, d);
    p->auto_at = 0;
    while (at(p, TOKEN_NAME)) /* __device__, constexpr, noexcept */
        *is_mutable |= (p->t++)->keyword == KEYWORD_mutable;
    if (accept(p, TOKEN_ARROW))
        result = parse_type(p);
    d->type = type_function(p->types, result, NULL, 0);
}

declarator lambda_signature(parser *p, const function_decl *f, scope *s)
{
    declarator d = {.place = f->place};
    bool is_mutable = false;
    const parser_place back = parser_enter(p, f->head, s);
    p->auto_at = 1;
    parse_head(p, &d, &is_mutable);
    parser_leave(p, back);
    add_parameters(p, f->object->record, f->body, &d);
    return d;
}

/* Adds operator(). With an "auto" parameter it is a template, whose bodies are parsed when it is called. */
static void add_operator(parser *p, const lambda *l, const declarator *d, function_decl *f)
{
    scope *back = p->scope;
    const kernel_struct *s = l->record;
    uint32_t n = 0;
    p->scope = s->syntax->members;
    for (uint32_t i = 0; i < s->n_members; i++)
        symbol_add(p, p->scope, SYMBOL_MEMBER, (kernel_name *)s->members[i].name, f->place);
    add_packs(p, l, f->place);
    f->params = kernel_arena_new(p->arena, (TEMPLATE_MOST + 1) * sizeof *f->params);
    for (const kernel_token *t = f->head; l->is_generic && t < f->body; t++) {
        if (t->keyword != KEYWORD_auto || t[-1].kind == TOKEN_ARROW)
            continue;
        if (n == TEMPLATE_MOST)
            parser_fail(p, f->place, "more than %d parameters of a template", TEMPLATE_MOST);
        f->params[n] = (template_param){
            .name = lambda_auto(p, (int)n + 1), .place = f->place, .is_pack = auto_is_pack(t)};
        n++;
    }
    f->n_params = n;
    if (!n) {
        f->result = d->type->of;
        f->parameters = d->parameters;
        f->n_parameters = d->n_parameters;
    }
    function_add(p, f);
    function_decl *added = symbol_here(p->scope, f->name)->as.functions;
    p->scope = back;
    if (n)
        return;
    kernel_instance *i = instance_get(p, added, (template_list){0}, f->place);
    instance_use(p, i, f->place);
    instance_parse(p, i);
}

kernel_expr *parse_lambda(parser *p)
{
    const kernel_place place = p->t->place;
    if (!p->current)
        parser_fail_do(p, place, "write a __device__ function",
                       "lambdas outside of functions are not supported");
    lambda l = {.record = type_struct(p->types, name_of(p, "lambda"), place)};
    kernel_struct *s = l.record;
    l.end = &l.references;
    s->name = name_unique(p, "lambda", true);
    s->has_methods = true;
    s->syntax = kernel_arena_new(p->arena, sizeof *s->syntax);
    *s->syntax = (kernel_syntax){.name = name_of(p, "lambda"), .scope = p->scope, .record = s};
    s->syntax->members = scope_open(p, p->scope, false);
    s->syntax->members->name = name_of(p, s->name);
    parse_captures(p, &l);
    while (at(p, TOKEN_NAME)) /* __device__ */
        p->t++;
    function_decl f = {.name = name_of(p, "operator()"),
                       .place = place,
                       .flags = IS_DEVICE,
                       .is_method = true,
                       .object = s->type,
                       .head = p->t};
    declarator d = {.place = place};
    parse_head(p, &d, &s->syntax->is_mutable);
    for (uint32_t i = 0; i < d.n_parameters; i++)
        for (const kernel_type *t = d.parameters[i].type; t; t = t->of)
            l.is_generic |= t->kind == TYPE_AUTO;
    f.is_lambda = l.is_generic;
    f.body = p->t;
    if (!at(p, TOKEN_LBRACE))
        parser_fail(p, p->t->place, "expected the body of a lambda, found %s", token_text(p, p->t));
    const kernel_token *end = skip_group(p->t);
    capture_named(p, &l, &d, l.is_generic ? f.head : f.body, f.body, end);
    type_struct_end(p->types, s, 0);
    s->syntax->captures = l.references;
    s->syntax->owner = p->current;
    add_parameters(p, s, f.body, &d);
    add_operator(p, &l, &d, &f);
    p->t = end;
    kernel_expr *made = expr_list(p, place, s->type, l.n_values);
    for (uint32_t k = 0; k < l.n_values; k++)
        made->args[k] = l.values[k];
    return made;
}

kernel_expr **lambda_arguments(parser *p, const kernel_type *type, kernel_place place,
                               kernel_expr **args, uint32_t *n)
{
    const kernel_syntax *x = type->kind == TYPE_STRUCT ? type->record->syntax : NULL;
    if (!x || !x->captures)
        return args;
    if (x->owner != p->current)
        parser_fail_do(p, place, "capture by value: [=]",
                       "a lambda that captures by reference is called outside of its function");
    uint32_t more = 0;
    for (const capture *c = x->captures; c; c = c->next)
        more++;
    kernel_expr **all = kernel_arena_get(p->arena, (*n + more) * sizeof *all);
    for (uint32_t i = 0; i < *n; i++)
        all[more + i] = args[i];
    *n += more;
    more = 0;
    for (const capture *c = x->captures; c; c = c->next)
        all[more++] = use_var(p, c->what, place);
    return all;
}
