/* Lambdas: a struct of what is captured by value, with an operator().
 *
 * What is captured by reference is no member: it becomes further parameters of operator(), which every
 * call in the function of the lambda is given. So address spaces are inferred for them as for any
 * parameter, and no pointer to a local variable is ever kept in memory. The price is that such a lambda
 * cannot be called elsewhere. A body is parsed at once, while the names around it are known. */
#include "kernel/parse/parser.h"

typedef struct lambda {
    kernel_struct *record;
    bool all_values, all_references; /* [=], [&] */
    kernel_expr **values;
    uint32_t n_values, room;
    capture *references, **end;
    uint32_t n_references;
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
    value = expr_value(p, value);
    type_member_add(p->types, l->record, name, value->type, place);
    l->values =
        kernel_arena_grow(p->arena, l->values, &l->room, l->n_values + 1, sizeof *l->values);
    l->values[l->n_values++] = value;
}

static void capture_reference(parser *p, lambda *l, symbol *y)
{
    capture *made = kernel_arena_get(p->arena, sizeof *made);
    *made = (capture){y, NULL};
    *l->end = made;
    l->end = &made->next;
    l->n_references++;
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
    if (!is_local(y))
        parser_fail(p, place, "'%s' is no local variable", name->text);
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

/* The local variables that the body names, which it is between t and end: captured, or not to be seen. */
static void capture_named(parser *p, lambda *l, const declarator *d, const kernel_token *t,
                          const kernel_token *end)
{
    scope *members = l->record->syntax->members;
    for (; t < end; t++) {
        if (t->kind != TOKEN_NAME || t[-1].kind == TOKEN_DOT || t[-1].kind == TOKEN_ARROW ||
            t[-1].kind == TOKEN_SCOPE)
            continue;
        symbol *y = t->keyword ? NULL : symbol_find(p, t->as.name);
        if (t->keyword == KEYWORD_this || (y && y->kind == SYMBOL_MEMBER))
            parser_fail_do(p, t->place, "copy the members that it uses into local variables",
                           "a lambda that uses members of its struct is not supported");
        if (y && y->kind == SYMBOL_PACK && y->as.pack->n && is_local(y->as.pack->at[0]))
            parser_fail_do(p, t->place, "copy its elements into an array",
                           "a lambda that captures a parameter pack is not supported");
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

/* May the body change a variable? A pointer that it does not is handed over as a value, whose address
 * space is then known. */
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

/* operator(): the object, the parameters, and what is captured by reference. */
static void add_parameters(parser *p, const lambda *l, const declarator *d, bool is_mutable,
                           function_decl *f)
{
    f->n_parameters = 1 + d->n_parameters + l->n_references;
    f->parameters = kernel_arena_new(p->arena, f->n_parameters * sizeof *f->parameters);
    parameter *at = f->parameters;
    *at++ =
        (parameter){.name = name_of(p, "this"),
                    .place = d->place,
                    .type = type_reference(p->types, type_qualify(p->types, l->record->type,
                                                                  is_mutable ? 0 : TYPE_CONST))};
    for (uint32_t i = 0; i < d->n_parameters; i++) {
        const kernel_type *type = d->parameters[i].type;
        if (type->kind == TYPE_AUTO || (type->of && type->of->kind == TYPE_AUTO))
            parser_fail_do(p, d->parameters[i].place, "write its type",
                           "'auto' as a parameter of a lambda is not supported");
        *at++ = d->parameters[i];
    }
    for (const capture *c = l->references; c; c = c->next) {
        const kernel_type *type = use_var(p, c->what, d->place)->type;
        if (type_is_pointer(type) && !is_assigned(c->what->name, f->body))
            type = type_qualify(p->types, type, TYPE_CONST);
        else
            type = type_reference(p->types, type);
        *at++ = (parameter){.name = c->what->name, .place = c->what->place, .type = type};
    }
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
    declarator d = {.place = place};
    if (accept(p, TOKEN_LPAREN))
        parse_parameters(p, &d);
    bool is_mutable = false;
    while (at(p, TOKEN_NAME)) /* __device__, constexpr, noexcept */
        is_mutable |= (p->t++)->keyword == KEYWORD_mutable;
    function_decl f = {.name = name_of(p, "operator()"),
                       .place = place,
                       .flags = IS_DEVICE,
                       .is_method = true,
                       .result = p->types->automatic};
    if (accept(p, TOKEN_ARROW))
        f.result = parse_type(p);
    f.body = p->t;
    if (!at(p, TOKEN_LBRACE))
        parser_fail(p, p->t->place, "expected the body of a lambda, found %s", token_text(p, p->t));
    const kernel_token *end = skip_group(p->t);
    capture_named(p, &l, &d, p->t + 1, end);
    type_struct_end(p->types, s, 0);
    add_parameters(p, &l, &d, is_mutable, &f);
    s->syntax->captures = l.references;
    s->syntax->owner = p->current;
    scope *back = p->scope;
    p->scope = s->syntax->members;
    for (uint32_t i = 0; i < s->n_members; i++)
        symbol_add(p, p->scope, SYMBOL_MEMBER, (kernel_name *)s->members[i].name, place);
    function_add(p, &f);
    kernel_instance *i =
        instance_get(p, symbol_here(p->scope, f.name)->as.functions, (template_list){0}, place);
    p->scope = back;
    instance_use(p, i, place);
    instance_parse(p, i);
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
        all[i] = args[i];
    for (const capture *c = x->captures; c; c = c->next)
        all[(*n)++] = use_var(p, c->what, place);
    return all;
}
