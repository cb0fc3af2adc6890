/* Templates of values, concepts, and the conditions of templates. */
#include "compiler/parse/parser.h"

static bool at_name(parser *p, const char *text_of)
{
    return at(p, TOKEN_NAME) && p->t->as.name == name_of(p, text_of);
}

/* Skips "a<T> && (b<T> || c)". */
static void skip_condition(parser *p)
{
    do {
        while (at(p, TOKEN_NOT))
            p->t++;
        if (at_name(p, "requires")) {
            p->t++;
            if (at(p, TOKEN_LPAREN))
                p->t = skip_group(p->t);
            p->t = at(p, TOKEN_LBRACE) ? skip_group(p->t) : p->t;
        } else if (at(p, TOKEN_LPAREN)) {
            p->t = skip_group(p->t);
        } else {
            const kernel_token *last;
            parse_name(p, &last);
            if (at(p, TOKEN_LT)) {
                int angles = 0;
                do {
                    angles += at(p, TOKEN_LT) - at(p, TOKEN_GT) - 2 * at(p, TOKEN_SHR);
                    p->t = opens_group(p->t) ? skip_group(p->t) : p->t + 1;
                } while (angles > 0 && !at(p, TOKEN_END));
            }
            while (accept(p, TOKEN_SCOPE)) /* ::value */
                p->t++;
        }
    } while (accept(p, TOKEN_AND_AND) || accept(p, TOKEN_OR_OR));
}

const kernel_token *accept_requires(parser *p)
{
    if (!at_name(p, "requires"))
        return NULL;
    const kernel_token *condition = ++p->t;
    skip_condition(p);
    return condition;
}

/* The name of "T name = value;" at the type: the last one before "="; NULL if it is another declaration. */
static const kernel_token *value_name(const kernel_token *t)
{
    const kernel_token *name = NULL;
    for (int angles = 0; t->kind != TOKEN_END && t->kind != TOKEN_LPAREN &&
                         t->kind != TOKEN_SEMICOLON && t->kind != TOKEN_LBRACE;
         t++) {
        angles += (t->kind == TOKEN_LT) - (t->kind == TOKEN_GT) - 2 * (t->kind == TOKEN_SHR);
        if (t->kind == TOKEN_ASSIGN)
            return name && !name->keyword ? name : NULL;
        if (t->kind == TOKEN_NAME && !angles)
            name = t;
        else if (!angles)
            name = NULL;
    }
    return NULL;
}

bool accept_value_template(parser *p, template_param *params, uint32_t n)
{
    const bool is_concept = at_name(p, "concept");
    const kernel_token *name = is_concept ? p->t + 1 : value_name(p->t);
    if (!name || name->kind != TOKEN_NAME || name->keyword ||
        (is_concept ? name[1].kind != TOKEN_ASSIGN : name[-1].keyword == KEYWORD_operator))
        return false;
    kernel_syntax *made = kernel_arena_new(p->arena, sizeof *made);
    *made = (kernel_syntax){.name = name->as.name,
                            .scope = p->scope,
                            .params = params,
                            .n_params = n,
                            .is_value = true,
                            .is_concept = is_concept,
                            .alias = is_concept ? name + 2 : p->t};
    symbol_add(p, p->scope, SYMBOL_STRUCT_TEMPLATE, made->name, name->place)->as.syntax = made;
    return true;
}

static kernel_expr *value_of(parser *p, const kernel_syntax *s, const template_arg *args,
                             uint32_t n, kernel_place place)
{
    const template_list all = struct_arguments(p, s, args, n, place);
    scope *bound = scope_open(p, s->scope, false);
    template_bind(p, bound, s->params, s->n_params, all);
    const parser_place back = parser_enter(p, s->alias, bound);
    kernel_expr *e;
    if (s->is_concept) {
        e = expr_bool(p, parse_constant(p));
    } else {
        specifiers spec;
        parse_specifiers(p, &spec);
        declarator d = parse_declarator(p, spec.type);
        e = parse_init(p, &d.type, s->name->text);
        if (d.type->kind != TYPE_AUTO)
            e = expr_convert(p, e, d.type->plain, s->name->text);
    }
    e = fold_all(p, expr_value(p, e));
    parser_leave(p, back);
    if (e->kind != EXPR_CONST)
        parser_fail(p, place, "the value of '%s' is not a constant", s->name->text);
    return e;
}

kernel_expr *value_template(parser *p, const kernel_syntax *s, kernel_place place)
{
    template_arg *args;
    if (!at(p, TOKEN_LT))
        parser_fail(p, place, "template '%s' needs arguments in '<>'", s->name->text);
    const uint32_t n = parse_template_args(p, &args);
    kernel_expr *e = expr_new(p, EXPR_CONST, place, type_word_of(p, WORD_BOOL));
    const kernel_expr *value = value_of(p, s, args, n, place);
    e->type = value->type;
    e->value = value->value;
    return e;
}

/* ---- requires ----------------------------------------------------------------------------------- */

/* True if a type fulfils the concept at the current token, which may have further arguments. */
static bool fulfils(parser *p, template_arg first)
{
    const kernel_token *last;
    const symbol *y = parse_name(p, &last);
    template_arg *more = NULL, all[TEMPLATE_MOST];
    const uint32_t n = at(p, TOKEN_LT) ? parse_template_args(p, &more) : 0;
    if (!y || y->kind != SYMBOL_STRUCT_TEMPLATE || !y->as.syntax->is_concept ||
        n + 1 > TEMPLATE_MOST)
        parser_fail(p, last->place, "%s is not a concept", token_text(p, last));
    all[0] = first;
    for (uint32_t i = 0; i < n; i++)
        all[i + 1] = more[i];
    return value_of(p, y->as.syntax, all, n + 1, last->place)->value.integer;
}

static void parse_requirement(parser *p, void *holds)
{
    if (accept_word(p, KEYWORD_typename)) {
        parse_type(p);
    } else if (at_name(p, "requires")) {
        p->t++;
        *(bool *)holds = expr_bool(p, parse_constant(p))->value.integer;
    } else if (accept(p, TOKEN_LBRACE)) {
        kernel_expr *e = parse_inside(p, TOKEN_RBRACE, "after a requirement");
        accept_word(p, KEYWORD_noexcept);
        const kernel_type *type = expr_is_place(e) ? type_reference(p->types, e->type) : e->type;
        if (accept(p, TOKEN_ARROW))
            *(bool *)holds = fulfils(p, (template_arg){.type = type, .is_set = true});
    } else {
        parse_expression(p);
    }
    expect(p, TOKEN_SEMICOLON, "after a requirement");
}

kernel_expr *parse_requires(parser *p)
{
    const kernel_place place = (p->t++)->place;
    scope *const outer = p->scope;
    lifetime *const temporaries = p->temporaries; /* nothing is evaluated */
    bool all = true;
    p->scope = scope_open(p, outer, true);
    scope *const mine = p->scope;
    if (accept(p, TOKEN_LPAREN)) {
        declarator d = {.place = place};
        parse_parameters(p, &d);
        name_parameters(p, &d);
    }
    expect(p, TOKEN_LBRACE, "after 'requires'");
    while (!at(p, TOKEN_RBRACE) && !at(p, TOKEN_END)) {
        const kernel_token *end = p->t;
        while (end->kind != TOKEN_SEMICOLON && end->kind != TOKEN_END)
            end = skip_item(end);
        bool holds = true;
        all = parser_try(p, parse_requirement, &holds) && holds && all;
        p->scope = mine;
        p->t = end + (end->kind == TOKEN_SEMICOLON);
    }
    expect(p, TOKEN_RBRACE, "after requirements");
    scope_close(p, mine);
    p->scope = outer;
    p->temporaries = temporaries;
    return expr_integer(p, place, type_word_of(p, WORD_BOOL), all);
}

/* ---- conditions --------------------------------------------------------------------------------- */

const kernel_token *accept_concept(parser *p)
{
    const kernel_token *back = p->t, *last;
    if ((!at(p, TOKEN_NAME) && !at(p, TOKEN_SCOPE)) || p->t->keyword)
        return NULL;
    const symbol *y = parse_name(p, &last);
    if (!y || y->kind != SYMBOL_STRUCT_TEMPLATE || !y->as.syntax->is_concept) {
        p->t = back;
        return NULL;
    }
    p->t = back;
    skip_condition(p);
    return back;
}

typedef struct conditions {
    const function_decl *f;
    template_list args;
    bool hold;
} conditions;

static bool condition_holds(parser *p, const kernel_token *condition, scope *in)
{
    const parser_place back = parser_enter(p, condition, in);
    const kernel_expr *e = expr_bool(p, parse_constant(p));
    parser_leave(p, back);
    return e->kind == EXPR_CONST && e->value.integer;
}

static void check_conditions(parser *p, void *context)
{
    conditions *c = context;
    const function_decl *f = c->f;
    scope *in = scope_open(p, f->scope, false);
    bool all = true;
    template_bind(p, in, f->params, f->n_params, c->args);
    for (uint32_t i = 0; i < f->n_params; i++) {
        if (!f->params[i].constraint)
            continue;
        const uint32_t end = f->params[i].is_pack && i + 1 == f->n_params ? c->args.n : i + 1;
        for (uint32_t k = i; k < end && all; k++) {
            const parser_place back = parser_enter(p, f->params[i].constraint, in);
            all = fulfils(p, c->args.at[k]);
            parser_leave(p, back);
        }
    }
    if (all && f->constraint)
        all = condition_holds(p, f->constraint, in);
    if (all && f->also)
        all = condition_holds(p, f->also, in);
    c->hold = all;
}

bool constraints_hold(parser *p, const function_decl *f, template_list args)
{
    bool any = f->constraint || f->also;
    for (uint32_t i = 0; i < f->n_params; i++)
        any |= f->params[i].constraint != NULL;
    if (!any)
        return true;
    conditions c = {f, args, false};
    const parser_place back = parser_enter(p, p->t, p->scope); /* an error leaves it elsewhere */
    const bool fine = parser_try(p, check_conditions, &c);
    parser_leave(p, back);
    return fine && c.hold;
}
