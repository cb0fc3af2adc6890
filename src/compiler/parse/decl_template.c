/* Declarations of templates: functions, structs and aliases, their specializations and instantiations. Bodies are parsed
 * when an instance is needed. */
#include "compiler/parse/parser.h"

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
    for (uint32_t i = 0; i + 1 < n && !at(p, TOKEN_LT); i++)
        if (params[i].is_pack)
            parser_fail(p, params[i].place,
                        "a parameter pack of a struct is not its last parameter");
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
    accept_final(p);
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
                 {KEYWORD___forceinline__, IS_FORCED}, {KEYWORD___noinline__, IS_NOINLINE},
                 {KEYWORD_explicit, IS_EXPLICIT}};
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

/* Adds a parameter of the template for each "auto" in the head of its function at p->t. */
static void add_autos(parser *p, function_decl *f)
{
    template_param made[TEMPLATE_MOST] = {0};
    const uint32_t n = function_autos(p->t, made);
    template_param *all = kernel_arena_get(p->arena, (f->n_params + n + 1) * sizeof *all);
    if (f->n_params + n > TEMPLATE_MOST)
        parser_fail(p, p->t->place, "more than %d parameters of a template", TEMPLATE_MOST);
    for (uint32_t i = 0; i < f->n_params; i++)
        all[i] = f->params[i];
    for (uint32_t i = 0; i < n; i++) {
        made[i].name = lambda_auto(p, (int)i + 1);
        made[i].place = p->t->place;
        all[f->n_params + i] = made[i];
    }
    f->params = all;
    f->n_params += n;
    f->n_autos = n;
}

void declare_function_template(parser *p, template_param *params, uint32_t n,
                               const kernel_type *object)
{
    function_decl f = {.params = params,
                       .n_params = n,
                       .head = p->t,
                       .constraint = p->constraint,
                       .place = p->t->place};
    if (object && !at_word(p, KEYWORD_static) && p->t[1].keyword != KEYWORD_static) {
        f.is_method = true;
        f.object = object;
    }
    add_autos(p, &f);
    f.name = function_name(p->t);
    f.flags = head_flags(p->t, &f.bounds);
    if (object && f.name && f.name == object->record->syntax->name)
        for (const kernel_token *t = p->t; t->keyword || t->as.name == f.name; t++)
            if (t->as.name == f.name && t[1].kind == TOKEN_LPAREN) {
                f.head = t + 1;
                f.is_constructor = true;
                break;
            }
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
        while (t < end && t->kind != TOKEN_LBRACE && !(f.is_constructor && t->kind == TOKEN_COLON))
            t = t->kind == TOKEN_LPAREN ? skip_group(t) : t + 1;
        f.body = t;
        for (t = p->t; t < f.body && !f.also; t = skip_item(t))
            if (t->kind == TOKEN_NAME && t->as.name == name_of(p, "requires"))
                f.also = t + 1;
    }
    if (f.is_constructor)
        f.name = name_of(p, "constructor");
    p->t = end;
    function_add(p, &f);
}

kernel_expr *type_dummy(parser *p, const kernel_type *type)
{
    if (type->kind != TYPE_REFERENCE)
        return expr_new(p, EXPR_CALL, p->t->place, type->plain);
    kernel_expr *e = expr_new(p, EXPR_DEREF, p->t->place, type->of);
    e->a = expr_zero(p, e->place, type_pointer(p->types, type->of));
    return e;
}

/* The template that "f<...>(...)" after "template" or "template <>" refers to. */
static kernel_instance *find_special(parser *p, specifiers *s, declarator *d,
                                     const kernel_token *body)
{
    p->n_functions++;
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
        dummies[i] = type_dummy(p, d->parameters[i].type);
    function_decl *f = NULL;
    for (function_decl *one = y->as.functions; one; one = one->next) {
        function_decl *other = function_itself(one);
        args.n = 0;
        if (other->n_params &&
            template_deduce(p, other, given, n_given, dummies, d->n_parameters, d->type->of,
                            &args) &&
            (!f || function_specificity(other) > function_specificity(f)))
            f = other;
    }
    if (f && template_deduce(p, f, given, n_given, dummies, d->n_parameters, d->type->of, &args)) {
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
        instance_add(p, i);
        return i;
    }
    parser_fail(p, d->place, "no template '%s' matches this", d->name->text);
}

void parse_template(parser *p)
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
        /* a use of it is reported as an unknown name */
    } else if (n && accept_value_template(p, params, n)) {
        /* declared */
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
