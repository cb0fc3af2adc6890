/* Templates: their parameters, arguments and instances. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "compiler/parse/parser.h"

/* ---- parameters ------------------------------------------------------------------------------- */

/* Skips a default argument. The last of its ">" may be the first of a ">>". */
static void skip_argument(parser *p)
{
    int angles = 0, before;
    while (!at(p, TOKEN_END)) {
        if (!angles && (at(p, TOKEN_COMMA) || at_close_angle(p)))
            return;
        before = angles;
        if (at(p, TOKEN_LT))
            angles++;
        else if (at_close_angle(p))
            angles -= at(p, TOKEN_GT) ? 1 : at(p, TOKEN_SHR) ? 2 : 3;
        if (angles < 0) {
            p->split = before;
            return;
        }
        p->t = at(p, TOKEN_LPAREN) || at(p, TOKEN_LBRACE) ? skip_group(p->t) : p->t + 1;
    }
}

static template_param parse_template_param(parser *p)
{
    template_param made = {.place = p->t->place};
    if (accept_word(p, KEYWORD_template)) { /* template <typename> class F */
        made.n_of_it = parse_template_params(p, &made.of_it);
        made.is_template = true;
    }
    made.constraint = accept_concept(p);
    if (made.constraint) {
        made.is_pack = accept(p, TOKEN_ELLIPSIS);
        if (at(p, TOKEN_NAME))
            made.name = expect_name(p, "a parameter of the template");
        if (accept(p, TOKEN_ASSIGN)) {
            made.init = p->t;
            skip_argument(p);
        }
        return made;
    }
    const bool value = at_word(p, KEYWORD_typename) && p->t[1].kind == TOKEN_NAME &&
                       (p->t[2].kind == TOKEN_SCOPE || p->t[2].kind == TOKEN_LT);
    if (!value && (accept_word(p, KEYWORD_typename) || accept_word(p, KEYWORD_class))) {
        made.is_pack = accept(p, TOKEN_ELLIPSIS);
        if (at(p, TOKEN_NAME))
            made.name = expect_name(p, "a parameter of the template");
    } else {
        made.type = p->t;
        int n = 0;
        for (; at(p, TOKEN_NAME) || at(p, TOKEN_SCOPE) || at(p, TOKEN_STAR); p->t++, n++) {
            made.place = p->t->place;
            if (at(p, TOKEN_NAME) && p->t[1].kind == TOKEN_LT) { /* std::enable_if<...>::type */
                p->t += 2;
                while (!at_close_angle(p) && !at(p, TOKEN_END)) {
                    skip_argument(p);
                    accept(p, TOKEN_COMMA);
                }
                made.checked = true;
                if (!at(p, TOKEN_GT))
                    break;
            }
        }
        if (at(p, TOKEN_LPAREN) && p->t[1].kind == TOKEN_STAR && p->t[2].kind == TOKEN_NAME) {
            made.name = p->t[2].as.name; /* float (*f)(float) */
            p->t = skip_group(p->t);
            p->t = at(p, TOKEN_LPAREN) ? skip_group(p->t) : p->t;
        }
        if (!n)
            parser_fail(p, p->t->place, "expected a parameter of the template, found %s",
                        token_text(p, p->t));
        made.is_pack = accept(p, TOKEN_ELLIPSIS);
        if (made.is_pack && at(p, TOKEN_NAME))
            made.name = expect_name(p, "a parameter of the template");
        if (!made.name && !made.is_pack && n > 1 && p->t[-1].kind == TOKEN_NAME &&
            !p->t[-1].keyword && p->t[-2].kind != TOKEN_SCOPE)
            made.name = p->t[-1].as.name;
    }
    if (accept(p, TOKEN_ASSIGN)) {
        made.init = p->t;
        skip_argument(p);
    }
    return made;
}

uint32_t parse_template_params(parser *p, template_param **params)
{
    uint32_t n = 0, room = 0;
    *params = NULL;
    expect(p, TOKEN_LT, "after 'template'");
    while (!at_close_angle(p)) {
        if (n == TEMPLATE_MOST)
            parser_fail(p, p->t->place, "more than %d parameters of a template", TEMPLATE_MOST);
        *params = kernel_arena_grow(p->arena, *params, &room, n + 1, sizeof **params);
        (*params)[n] = parse_template_param(p);
        n++;
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    expect_close_angle(p);
    p->constraint = accept_requires(p);
    return n;
}

static template_arg value_arg(parser *p, kernel_expr *e)
{
    const int64_t value = fold_integer(p, e, "an argument of a template");
    return (template_arg){
        .type = e->type->plain, .is_value = true, .is_set = true, .value = (uint64_t)value};
}

static template_arg type_arg(const kernel_type *type)
{
    return (template_arg){.type = type, .is_set = true};
}

/* "sum" in reduce<sum>(...): a function by its name alone. */
static bool accept_function(parser *p, template_arg *arg)
{
    const kernel_token *back = p->t, *last = back;
    const symbol *y = at(p, TOKEN_NAME) || at(p, TOKEN_SCOPE) ? parse_name(p, &last) : NULL;
    if (y && y->kind == SYMBOL_FUNCTION && (at(p, TOKEN_COMMA) || at_close_angle(p))) {
        *arg = (template_arg){.is_value = true, .is_set = true, .function = y->as.functions};
        return true;
    }
    p->t = back;
    return false;
}

/* "Max" in reduce<Max, float>(...): a template of structs by its name alone. */
static bool accept_template(parser *p, template_arg *arg)
{
    const kernel_token *back = p->t, *last = back;
    const symbol *y = at(p, TOKEN_NAME) || at(p, TOKEN_SCOPE) ? parse_name(p, &last) : NULL;
    if (y && y->kind == SYMBOL_STRUCT_TEMPLATE &&
        (at(p, TOKEN_COMMA) || at_close_angle(p) || at(p, TOKEN_END))) {
        *arg = (template_arg){.is_set = true, .syntax = y->as.syntax};
        return true;
    }
    p->t = back;
    return false;
}

typedef struct arg_list {
    template_list made;
    uint32_t room;
} arg_list;

static void parse_template_arg(parser *p, void *context)
{
    template_arg *arg = context;
    const kernel_token *back = p->t;
    if (accept_template(p, arg))
        return;
    if (at_type(p)) {
        *arg = type_arg(parse_type(p));
        if (!at(p, TOKEN_SCOPE) || p->split)
            return;
        p->t = back; /* trait<T>::value */
        *arg = value_arg(p, parse_constant(p));
        return;
    }
    if (!accept_function(p, arg))
        *arg = value_arg(p, parse_constant(p));
}

static void add_template_arg(parser *p, void *context)
{
    arg_list *l = context;
    template_list *made = &l->made;
    if (made->n == TEMPLATE_MOST)
        parser_fail(p, p->t->place, "more than %d arguments of a template", TEMPLATE_MOST);
    made->at = kernel_arena_grow(p->arena, made->at, &l->room, made->n + 1, sizeof *made->at);
    template_arg *arg = &made->at[made->n];
    if (p->patterns) { /* nothing is deduced from an argument that is not understood yet */
        const kernel_token *back = p->t;
        if (parser_try(p, parse_template_arg, arg)) {
            arg->expands = p->pack_at >= 0 && at(p, TOKEN_ELLIPSIS);
        } else {
            p->t = back;
            p->split = 0;
            skip_argument(p);
            *arg = type_arg(p->types->automatic);
        }
    } else {
        parse_template_arg(p, arg);
    }
    made->n++;
}

uint32_t parse_template_args(parser *p, template_arg **args)
{
    arg_list l = {0};
    const bool no_gt = p->no_gt;
    expect(p, TOKEN_LT, "before template arguments");
    p->no_gt = true;
    while (!at_close_angle(p)) {
        if (!pack_expand(p, true, add_template_arg, &l))
            add_template_arg(p, &l);
        if (!accept(p, TOKEN_COMMA))
            break;
    }
    p->no_gt = no_gt;
    expect_close_angle(p);
    *args = l.made.at;
    return l.made.n;
}

bool template_same(template_list a, template_list b)
{
    for (uint32_t i = 0; i < a.n && a.n == b.n; i++) {
        const template_arg *x = &a.at[i], *y = &b.at[i];
        if (x->is_value != y->is_value || x->function != y->function || x->syntax != y->syntax ||
            (x->is_value ? x->value != y->value : x->type != y->type) || x->expands != y->expands ||
            !x->pack != !y->pack || (x->pack && !template_same(*x->pack, *y->pack)))
            return false;
    }
    return a.n == b.n;
}

bool template_has_pack(const template_param *params, uint32_t n)
{
    return n && params[n - 1].is_pack;
}

template_list template_copy(parser *p, template_list args)
{
    template_list made = {kernel_arena_get(p->arena, (args.n + 1) * sizeof *args.at), args.n};
    for (uint32_t i = 0; i < args.n; i++)
        made.at[i] = args.at[i];
    return made;
}

/* ---- binding ---------------------------------------------------------------------------------- */

/* Makes y mean the argument of a parameter. */
static void bind_symbol(parser *p, const template_param *param, const template_arg *arg, symbol *y)
{
    if (param->is_template && arg->syntax) {
        y->kind = SYMBOL_STRUCT_TEMPLATE;
        y->as.syntax = arg->syntax;
        return;
    }
    if (!p->patterns && param->is_template != (arg->syntax != NULL))
        parser_fail(p, p->t->place, "argument '%s' of the template %s a template",
                    param->name ? param->name->text : "", param->is_template ? "is not" : "is");
    if (arg->is_value != (param->type != NULL))
        parser_fail(p, p->t->place, "argument '%s' of the template is a %s, not a %s",
                    param->name ? param->name->text : "", param->type ? "number" : "type",
                    param->type ? "type" : "number");
    if (!arg->is_value) {
        y->kind = SYMBOL_TYPE;
        y->as.type = arg->type;
        return;
    }
    if (arg->function) {
        y->kind = SYMBOL_FUNCTION;
        y->as.functions = arg->function;
        return;
    }
    const parser_place back = parser_enter(p, param->type, y->scope);
    specifiers spec;
    if (param->name || (param->checked && !p->patterns)) { /* the parameter's name ends the type */
        parse_specifiers(p, &spec);
    } else {
        spec.type = arg->type;
    }
    parser_leave(p, back);
    if (param->checked && spec.type->kind == TYPE_VOID) /* std::enable_if<...>::type * = nullptr */
        spec.type = arg->type;
    const kernel_type *type = spec.type->kind == TYPE_AUTO ? arg->type : spec.type->plain;
    if (!type_is_integer(type) && !p->patterns)
        parser_fail(p, param->place, "parameters of type '%s' are not supported in templates",
                    type_name(p, type));
    y->kind = SYMBOL_CONSTANT;
    y->constant = expr_integer(p, param->place, p->patterns ? type_word_of(p, WORD_LONG) : type,
                               p->patterns               ? arg->value
                               : type->kind == TYPE_BOOL ? arg->value != 0
                                                         : arg->value);
}

static void bind_pack(parser *p, scope *s, const template_param *param, template_list args)
{
    kernel_name *name = param->name ? param->name : name_of(p, "");
    symbol_pack *pack = kernel_arena_get(p->arena, sizeof *pack);
    *pack = (symbol_pack){.at = kernel_arena_get(p->arena, (args.n + 1) * sizeof *pack->at),
                          .n = args.n,
                          .is_types = !param->type};
    for (uint32_t i = 0; i < args.n; i++) {
        pack->at[i] = symbol_new(p, s, SYMBOL_TYPE, name, param->place);
        bind_symbol(p, param, &args.at[i], pack->at[i]);
    }
    symbol_add(p, s, SYMBOL_PACK, name, param->place)->as.pack = pack;
}

static void bind(parser *p, scope *s, const template_param *param, const template_arg *arg)
{
    if (param->is_pack) {
        bind_pack(p, s, param, arg->pack ? *arg->pack : (template_list){0});
        return;
    }
    kernel_name *name = param->name ? param->name : name_of(p, "");
    symbol *y = symbol_new(p, s, SYMBOL_TYPE, name, param->place);
    bind_symbol(p, param, arg, y);
    symbol *seen = symbol_add(p, s, (symbol_kind)y->kind, name, param->place);
    seen->as = y->as;
    seen->constant = y->constant;
}

void template_bind(parser *p, scope *s, const template_param *params, uint32_t n,
                   template_list args)
{
    for (uint32_t i = 0; i < n; i++)
        if (params[i].is_pack && i + 1 == n)
            bind_pack(p, s, &params[i], (template_list){args.at + i, args.n - i});
        else
            bind(p, s, &params[i], &args.at[i]);
}

int template_defaults(parser *p, scope *in, const template_param *params, uint32_t n,
                      template_list *args)
{
    scope *s = NULL;
    uint32_t bound = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (params[i].is_pack || args->at[i].is_set)
            continue;
        if (!params[i].init)
            return (int)i;
        if (!s)
            s = scope_open(p, in, false);
        for (; bound < i; bound++)
            bind(p, s, &params[bound], &args->at[bound]);
        const parser_place back = parser_enter(p, params[i].init, s);
        p->no_gt = true;
        if (params[i].is_template && accept_template(p, &args->at[i]))
            ;
        else if (params[i].type && at_word(p, KEYWORD_nullptr))
            args->at[i] =
                (template_arg){.type = type_word_of(p, WORD_INT), .is_value = true, .is_set = true};
        else if (params[i].type)
            args->at[i] = value_arg(p, parse_constant(p));
        else
            args->at[i] = type_arg(parse_type(p));
        parser_leave(p, back);
    }
    const uint32_t fixed = n - template_has_pack(params, n);
    if (args->n < fixed)
        args->n = fixed;
    return -1;
}

const char *template_text(parser *p, template_list list, bool mangled)
{
    const template_arg *args = list.at;
    char made[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < list.n && used < sizeof made; i++) {
        const char *join = !i ? "" : mangled ? "_" : ", ";
        const long long value = (long long)args[i].value;
        if (args[i].pack)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s%s", join,
                                     template_text(p, *args[i].pack, mangled));
        else if (args[i].syntax)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s%s", join,
                                     args[i].syntax->name->text);
        else if (args[i].function)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s%s", join,
                                     args[i].function->name->text);
        else if (!args[i].is_value)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s%s", join,
                                     type_name(p, args[i].type));
        else
            used += (size_t)snprintf(made + used, sizeof made - used, "%s%s%lld", join,
                                     mangled && value < 0 ? "m" : "",
                                     mangled && value < 0 ? -value : value);
    }
    made[sizeof made - 1] = 0;
    if (!mangled)
        return parser_format(p, "%s", made);
    /* "unsigned int" is one word, "float *" is float_p. */
    char name[512];
    size_t length = 0;
    for (const char *c = made; *c && length < sizeof name - 2; c++)
        if (isalnum((unsigned char)*c)) {
            name[length++] = *c;
        } else if (*c == '*' || *c == '&') {
            name[length++] = 'p';
        } else if (length && name[length - 1] != '_') {
            name[length++] = '_';
        }
    while (length && name[length - 1] == '_')
        length--;
    name[length] = 0;
    return parser_format(p, "%s", name);
}

/* ---- instances -------------------------------------------------------------------------------- */

/* Declares the parameters for the type of the result: "-> decltype(a + b)". */
void name_parameters(parser *p, const declarator *d)
{
    for (uint32_t i = 0; i < d->n_parameters; i++) {
        const parameter *a = &d->parameters[i];
        const bool reference = a->type->kind == TYPE_REFERENCE;
        if (!a->name || symbol_here(p->scope, a->name))
            continue;
        kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
        v->name = a->name->text;
        v->type = reference ? type_pointer(p->types, a->type->of) : a->type;
        symbol *y = symbol_add(p, p->scope, SYMBOL_VAR, a->name, a->place);
        y->as.var = v;
        y->is_reference = reference;
    }
}

static void parse_result(parser *p, void *result) { *(const kernel_type **)result = parse_type(p); }

declarator template_signature(parser *p, function_decl *f, scope *s, specifiers *spec)
{
    if (f->is_lambda) {
        *spec = (specifiers){0};
        return lambda_signature(p, f, s);
    }
    const parser_place back = parser_enter(p, f->head, s);
    declarator d = {.place = f->place};
    if (f->is_constructor) {
        *spec = (specifiers){.flags = f->flags};
        p->t++;
        parse_parameters(p, &d);
        d.type = type_function(p->types, type_word_of(p, WORD_VOID), NULL, 0);
    } else {
        parse_specifiers(p, spec);
        p->auto_at = f->n_autos ? 1 : 0;
        d = parse_declarator(p, spec->type);
        p->auto_at = 0;
    }
    if (at(p, TOKEN_LT)) /* of a specialization: "f<float>(...)" */ {
        template_arg *ignored;
        parse_template_args(p, &ignored);
        if (accept(p, TOKEN_LPAREN)) {
            parse_parameters(p, &d);
            d.type = type_function(p->types, d.type, NULL, 0);
        }
    }
    if (d.type->kind != TYPE_FUNCTION)
        parser_fail(p, p->t->place, "expected the parameters of '%s', found %s", f->name->text,
                    token_text(p, p->t));
    if (accept(p, TOKEN_ARROW)) {
        p->scope = scope_open(p, p->scope, true);
        scope *const named = p->scope;
        name_parameters(p, &d);
        const kernel_type *result = p->types->automatic;
        if (!p->patterns)
            result = parse_type(p);
        else
            parser_try(p, parse_result, &result); /* it may need the arguments */
        scope_close(p, named);
        d.type = type_function(p->types, result, d.type->parameters, (uint32_t)d.type->count);
    }
    if (f->is_method) {
        const unsigned quals = at_word(p, KEYWORD_const) ? TYPE_CONST : 0;
        d.parameters =
            method_parameters(p, f->place, f->object, quals, d.parameters, d.n_parameters++);
        d.pack.first++;
    }
    parser_leave(p, back);
    return d;
}

static kernel_instance **instance_slot(parser *p, const function_decl *f, template_list args)
{
    uint64_t hash = (uintptr_t)f;
    for (uint32_t i = 0; i < args.n; i++) {
        const template_arg *a = &args.at[i];
        if (a->pack)
            continue;
        hash =
            (hash ^ (a->is_value ? a->value : (uintptr_t)a->type)) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return &p->instances[(hash ^ hash >> 32) % INSTANCE_SLOTS];
}

void instance_add(parser *p, kernel_instance *i)
{
    kernel_instance **slot = instance_slot(p, i->decl, i->args);
    i->next = i->decl->instances;
    i->decl->instances = i;
    i->next_slot = *slot;
    *slot = i;
}

kernel_instance *instance_get(parser *p, function_decl *f, template_list args, kernel_place place)
{
    for (kernel_instance *i = *instance_slot(p, f, args); i; i = i->next_slot)
        if (i->decl == f && template_same(i->args, args))
            return i;
    if (++p->n_instances > INSTANCES_MOST)
        parser_fail_do(p, place, "look for a template that instantiates itself with new arguments",
                       "more than %d instances of templates", INSTANCES_MOST);
    kernel_instance *i = kernel_arena_new(p->arena, sizeof *i);
    *i = (kernel_instance){.decl = f,
                           .scope = f->scope,
                           .body = f->body,
                           .bounds = f->bounds,
                           .result = f->result,
                           .parameters = f->parameters,
                           .n_parameters = f->n_parameters,
                           .pack = f->pack,
                           .flags = f->flags};
    if (f->n_params) {
        i->scope = scope_open(p, f->scope, false);
        i->args = template_copy(p, args);
        template_bind(p, i->scope, f->params, f->n_params, args);
        specifiers spec;
        const declarator d = template_signature(p, f, i->scope, &spec);
        i->result = d.type->of;
        i->parameters = d.parameters;
        i->n_parameters = d.n_parameters;
        i->pack = d.pack;
        i->bounds = spec.bounds ? spec.bounds : f->bounds;
    }
    instance_add(p, i);
    return i;
}

/* "ns::f" -> "ns_f", "operator+" -> "operator_p" */
static const char *identifier(parser *p, const char *name)
{
    static const char signs[] = "+-*/%&|^<>=!~[]()", letters[] = "pstdrabxlgenc____";
    char *made = kernel_arena_get(p->arena, 2 * strlen(name) + 1);
    size_t n = 0;
    for (const char *c = name; *c; c++) {
        const char *sign = strchr(signs, *c);
        if (isalnum((unsigned char)*c) || *c == '_') {
            made[n++] = *c;
            continue;
        }
        if (n && made[n - 1] != '_')
            made[n++] = '_';
        if (sign && letters[sign - signs] != '_')
            made[n++] = letters[sign - signs];
    }
    while (n && made[n - 1] == '_')
        n--;
    made[n] = 0;
    return made;
}

static void function_make(parser *p, kernel_instance *i)
{
    kernel_function *f = kernel_arena_new(p->arena, sizeof *f);
    function_decl *d = i->decl;
    f->place = d->place;
    f->is_kernel = i->flags & IS_GLOBAL;
    f->never_inline = i->flags & IS_NOINLINE;
    f->always_inline = i->flags & IS_FORCED;
    const char *name = scope_qualified(p, d->scope, d->name->text);
    f->source_name = name;
    if (d->n_params) {
        f->source_name = parser_format(p, "%s<%s>", name, template_text(p, i->args, false));
        name = parser_format(p, "%s_%s", name, template_text(p, i->args, true));
    }
    f->name = name_unique(p, identifier(p, name), true);
    f->instance = i;
    f->result = i->result;
    i->function = f;
    LIST_ADD(p->queue_end, i, queue);
}

kernel_function *instance_use(parser *p, kernel_instance *i, kernel_place place)
{
    const bool device = i->flags & (IS_DEVICE | IS_GLOBAL | IS_CONSTEXPR);
    if (!device)
        parser_fail_do(p, place, "put __device__ before its definition",
                       "'%s' is a host function, and this is device code", i->decl->name->text);
    if (!i->body)
        i->body = i->decl->body;
    if (!i->body)
        parser_fail_do(
            p, place,
            "put its definition into this source, include it, or link its file: -rdc=true",
            "'%s' is declared but not defined", i->decl->name->text);
    if (i->result->kind == TYPE_AUTO && !i->function) {
        function_make(p, i);
        instance_parse(p, i);
        i->result = i->function->result;
    }
    if (i->result->kind == TYPE_AUTO && i->function->failed) { /* its errors were reported */
        if (i->parsed)
            p->diags->repeated = i->diag_before == i->diag_after ? i->diag_repeated
                                 : i->diag_before                ? i->diag_before->next
                                                                 : p->diags->first;
        parser_jump(p);
    }
    if (i->result->kind == TYPE_AUTO)
        parser_fail_do(p, place, "write the type of its result",
                       "the result of '%s' is not known here", i->decl->name->text);
    if (!i->function)
        function_make(p, i);
    return i->function;
}

/* Names a parameter. An element of a pack is found only through the name of the pack. */
static void name_parameter(parser *p, kernel_instance *i, uint32_t k, kernel_var *v,
                           symbol_pack *pack)
{
    const parameter *a = &i->parameters[k];
    const bool packed = i->pack.is_there && k >= i->pack.first && k < i->pack.first + i->pack.n;
    if (!a->name)
        return;
    if (!packed && symbol_here(p->scope, a->name))
        parser_fail(p, a->place, "parameter '%s' is declared twice", a->name->text);
    symbol *y = packed ? symbol_new(p, p->scope, SYMBOL_VAR, a->name, a->place)
                       : symbol_add(p, p->scope, SYMBOL_VAR, a->name, a->place);
    y->as.var = v;
    y->is_reference = a->type->kind == TYPE_REFERENCE;
    if (packed)
        pack->at[pack->n++] = y;
}

static void parse_function_body(parser *p, void *context)
{
    kernel_instance *i = context;
    kernel_function *f = i->function;
    symbol_pack *pack = kernel_arena_get(p->arena, sizeof *pack);
    *pack = (symbol_pack){.at = kernel_arena_get(p->arena, (i->pack.n + 1) * sizeof *pack->at)};
    if (i->pack.name)
        symbol_add(p, p->scope, SYMBOL_PACK, i->pack.name, i->pack.place)->as.pack = pack;
    f->params = kernel_arena_get(p->arena, i->n_parameters * sizeof *f->params);
    f->n_params = 0;
    for (uint32_t k = 0; k < i->n_parameters; k++) {
        const parameter *a = &i->parameters[k];
        const bool reference = a->type->kind == TYPE_REFERENCE;
        const kernel_type *type = reference ? type_pointer(p->types, a->type->of) : a->type;
        type_complete(p, type, a->place);
        kernel_var *v = kernel_arena_new(p->arena, sizeof *v);
        const bool self = i->decl->is_method && !k;
        v->name = name_unique(p, self ? "self" : a->name ? a->name->text : "unused", false);
        v->source_name = a->name;
        v->type = type->plain;
        v->storage = STORE_PARAMETER;
        v->is_restrict = a->is_restrict;
        v->place = a->place;
        v->index = k;
        f->params[f->n_params++] = v;
        name_parameter(p, i, k, v, pack);
        if (!f->is_kernel && !reference)
            lifetime_add(p, p->scope, v);
        if (a->name && a->type->quals & TYPE_CONST)
            v->type = type;
    }
    if (f->is_kernel && f->result->kind != TYPE_VOID)
        parser_error(p, f->place, "a kernel returns void, not '%s'", type_name(p, f->result));
    type_complete(p, f->result, f->place);
    f->result = f->result->plain;
    if (f->result->kind == TYPE_REFERENCE)
        f->result = type_pointer(p->types, f->result->of);
    f->body = parse_body(p);
    if (f->result->kind == TYPE_AUTO && !p->failed) /* no return statement */
        f->result = type_word_of(p, WORD_VOID);
}

void instance_parse(parser *p, kernel_instance *i)
{
    if (i->parsed || i->open)
        return;
    i->open = true;
    kernel_function *f = i->function;
    const bool failed = p->failed;
    p->failed = false;
    i->diag_before = p->diags->last;
    const kernel_diag *repeated = p->diags->repeated;
    p->diags->repeated = NULL;
    kernel_instance *outer = p->current;
    kernel_var **locals_end = p->locals_end;
    const uint32_t loops = p->loops, switches = p->switches, stamp = p->stamp;
    const int quiet = p->quiet, depth = p->depth;
    const bool is_outside = p->is_outside;
    kernel_name *declaring = p->declaring;
    p->current = i;
    p->locals_end = &f->locals;
    p->loops = p->switches = 0;
    p->declaring = NULL;
    p->quiet = 0;
    p->is_outside = false;
    p->stamp = ++p->last_stamp;
    scope *s = scope_open(p, i->scope, true), *const body = p->body;
    lifetime *const temporaries = p->temporaries;
    const uint32_t conditional = p->conditional;
    p->body = s;
    p->temporaries = NULL;
    p->conditional = 0;
    const parser_place back = parser_enter(p, i->body, s);
    if (!parser_guard(p, parse_function_body, i))
        p->failed = true;
    while (p->scope != s)
        scope_close(p, p->scope);
    scope_close(p, s);
    parser_leave(p, back);
    p->body = body;
    p->temporaries = temporaries;
    p->conditional = conditional;
    f->failed = p->failed;
    i->diag_after = p->diags->last;
    i->diag_repeated = p->diags->repeated;
    if (repeated)
        p->diags->repeated = repeated;
    p->failed = failed;
    p->current = outer;
    p->locals_end = locals_end;
    p->loops = loops;
    p->switches = switches;
    p->quiet = quiet;
    p->depth = depth;
    p->stamp = stamp;
    p->is_outside = is_outside;
    p->declaring = declaring;
    i->open = false;
    i->parsed = true;
}
