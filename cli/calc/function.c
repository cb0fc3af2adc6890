/* Functions of the calculator: f(x) = ..., lambda, def, and aliases, which are made of ops. */
#include "calc/parts.h"

#include <string.h>

/* ---- keeping ---------------------------------------------------------------------------------- */

static expr *expr_keep(arena *a, const expr *n)
{
    expr *first = NULL, *last = NULL;
    for (; n; n = n->next) {
        expr *copy = arena_get(a, sizeof *copy);
        *copy = *n;
        copy->next = NULL;
        copy->name = n->name ? arena_string(a, n->name, strlen(n->name)) : NULL;
        copy->literal = value_keep(a, &n->literal);
        copy->child = expr_keep(a, n->child);
        if (last)
            last->next = copy;
        else
            first = copy;
        last = copy;
    }
    return first;
}

static bool has_local(const local *l, const char *name, const local *end)
{
    while (l && l != end && strcmp(l->name, name) != 0)
        l = l->next;
    return l && l != end;
}

/* Copies the names that a function sees; the innermost of equal names is enough. */
static const local *locals_keep(arena *a, const local *l)
{
    local *first = NULL, *last = NULL;
    for (const local *from = l; from; from = from->next) {
        if (has_local(l, from->name, from))
            continue;
        local *copy = arena_get(a, sizeof *copy);
        *copy =
            (local){NULL, arena_string(a, from->name, strlen(from->name)), value_keep(a, &from->v)};
        if (last)
            last->next = copy;
        else
            first = copy;
        last = copy;
    }
    return first;
}

const user_function *function_keep(arena *a, const user_function *f)
{
    user_function *copy = arena_get(a, sizeof *copy);
    *copy = *f;
    copy->name = f->name ? arena_string(a, f->name, strlen(f->name)) : NULL;
    copy->lambda = expr_keep(a, f->lambda);
    copy->captured = locals_keep(a, f->captured);
    copy->source = f->source ? arena_string(a, f->source, strlen(f->source)) : NULL;
    copy->inner = f->inner ? function_keep(a, f->inner) : NULL;
    for (int i = 0; i < 2; i++)
        copy->options[i] = value_keep(a, &f->options[i]);
    return copy;
}

void function_release(const user_function *f)
{
    for (const local *l = f->captured; l; l = l->next)
        value_release(&l->v);
    for (int i = 0; i < 2; i++)
        value_release(&f->options[i]);
    if (f->inner)
        function_release(f->inner);
}

/* ---- making ----------------------------------------------------------------------------------- */

static value function_value(calc *c, const user_function *f)
{
    user_function *copy = arena_get(&c->scratch, sizeof *copy);
    *copy = *f;
    return (value){.kind = V_FUNCTION, .u.function = copy};
}

bool function_eval(calc *c, const expr *n, value *out)
{
    *out = function_value(c, &(user_function){.kind = FN_LAMBDA,
                                              .name = n->name,
                                              .lambda = n,
                                              .captured = c->locals,
                                              .source = c->source,
                                              .library = c->in_library});
    return true;
}

bool function_define(calc *c, const expr *n, value *out)
{
    const char *why = calc_reserved(n->name);
    if (why)
        return calc_fail(c, n->where, "'%s' %s; choose another name", n->name, why);
    c->quiet = true;
    if (!function_eval(c, n->child, out))
        return false;
    if (c->calls)
        calc_push(c, n->name, out);
    else
        calc_bind(c, n->name, out);
    *out = (value){0};
    return true;
}

bool function_of_alias(calc *c, const ig_alias *a, user_function *out)
{
    int i = 0;
    while (ig_alias_at(i) != a)
        i++;
    if (!c->parsed)
        c->parsed = arena_get(&c->definitions, sizeof *c->parsed * (size_t)ig_alias_count());
    if (!c->parsed[i])
        c->parsed[i] = parse_function_text(&c->definitions, a->params, a->expression, &c->wrong);
    *out = (user_function){
        .kind = FN_LAMBDA, .name = a->name, .lambda = c->parsed[i], .library = true};
    return c->parsed[i] != NULL;
}

/* An op or builtin by its name is the function lambda *args: name(*args). */
static value function_of_name(calc *c, const expr *n)
{
    expr *nodes = arena_get(&c->scratch, sizeof *nodes * 5);
    expr *lambda = &nodes[0], *call = &nodes[1], *star = &nodes[2], *name = &nodes[3],
         *param = &nodes[4];
    *name = (expr){.kind = N_NAME, .where = n->where, .depth = 1, .name = "args"};
    *star = (expr){.kind = N_STAR, .where = n->where, .depth = 2, .child = name};
    *param = (expr){.kind = N_STAR, .where = n->where, .depth = 1, .name = "args"};
    const bool method = n->kind == N_ATTRIBUTE;
    *call =
        (expr){.kind = method ? N_METHOD : N_CALL, .where = n->where, .depth = 3, .name = n->name};
    call->next = param;
    call->child = star;
    if (method) {
        expr *module = arena_get(&c->scratch, sizeof *module);
        *module = *n->child;
        module->next = star;
        call->child = module;
    }
    *lambda =
        (expr){.kind = N_LAMBDA, .where = n->where, .depth = 4, .name = n->name, .child = call};
    return function_value(
        c, &(user_function){
               .kind = FN_LAMBDA, .name = n->name, .lambda = lambda, .source = c->source});
}

bool function_argument(calc *c, const expr *n, value *out)
{
    const bool named = n->kind == N_NAME && !calc_find_name(c, n->name);
    if (named || (n->kind == N_ATTRIBUTE && is_module(c, n->child))) {
        const meaning m = calc_meaning(c, n);
        if (m.op || m.own || m.define) {
            *out = function_of_name(c, n);
            return true;
        }
    }
    return calc_eval(c, n, out);
}

/* ---- calling ---------------------------------------------------------------------------------- */

void calc_push(calc *c, const char *name, const value *v)
{
    local *l = arena_get(&c->scratch, sizeof *l);
    *l = (local){c->locals, name, *v};
    c->locals = l;
}

static bool fail_signature(calc *c, span where, const user_function *f, const char *why,
                           const char *name)
{
    str t = {0};
    for (const expr *p = f->lambda->child->next; p; p = p->next)
        str_printf(&t, "%s%s%s%s", t.n ? ", " : "", p->kind == N_STAR ? "*" : "", p->name,
                   p->kind == N_KEYWORD ? "=..." : "");
    calc_fail(c, where, "%s(%s) %s%s%s%s", f->name ? f->name : "the function", t.s ? t.s : "", why,
              name ? " '" : "", name ? name : "", name ? "'" : "");
    str_free(&t);
    return false;
}

/* Other names of parameters, for functions of aliases: dim for axis. */
static bool keyword_is(const user_function *f, const char *keyword, const char *param, bool first)
{
    if (strcmp(keyword, param) == 0)
        return true;
    const ig_param one = {.name = param};
    const ig_op op = {.params = &one, .n_params = 1};
    const ig_op none = {.params = &(ig_param){.name = ""}, .n_params = 1};
    return f->library && ig_op_param(&op, keyword) && (first || !ig_op_param(&none, keyword));
}

static const given *argument_for(const user_function *f, const expr *param, int position,
                                 const given *args, int count)
{
    for (int i = 0; i < count; i++)
        if (args[i].keyword ? keyword_is(f, args[i].keyword, param->name, position == 0)
                            : i == position)
            return &args[i];
    return NULL;
}

bool function_takes(const user_function *f, const given *args, int count)
{
    int position = 0, used = 0;
    for (const expr *p = f->lambda->child->next; p; p = p->next, position++) {
        if (p->kind == N_STAR)
            return true;
        const given *a = argument_for(f, p, position, args, count);
        used += a != NULL;
        if (!a && p->kind == N_NAME)
            return false;
    }
    return used == count;
}

/* Binds the parameters of f to arguments, as local names. */
static bool parameters_bind(calc *c, span where, const user_function *f, const given *args,
                            int count)
{
    int position = 0, used = 0;
    const local *outside = c->locals;
    for (const expr *p = f->lambda->child->next; p; p = p->next, position++) {
        value v = {0};
        if (p->kind == N_STAR) {
            int n = 0;
            while (position + n < count && !args[position + n].keyword)
                n++;
            value *items = arena_get(&c->scratch, sizeof *items * (size_t)(n + 1));
            for (int i = 0; i < n; i++)
                items[i] = args[position + i].v;
            /* f((2, 3)) is f(2, 3) for the functions of aliases, whose *shape is a shape. */
            const bool spread = f->library && n == 1 && value_has_items(&items[0]);
            v = spread ? items[0] : (value){.kind = V_TUPLE, .u = {.items = {items, n}}};
            used += n;
        } else {
            const given *a = argument_for(f, p, position, args, count);
            used += a != NULL;
            if (a)
                v = a->v;
            else if (p->kind == N_NAME)
                return fail_signature(c, where, f, "needs", p->name);
            else if (!calc_eval(c, p->child, &v))
                return false;
        }
        calc_push(c, p->name, &v);
    }
    if (used == count)
        return true;
    for (int i = 0; i < count; i++) {
        bool known = !args[i].keyword;
        position = 0;
        for (const expr *p = f->lambda->child->next; p && !known; p = p->next)
            known = keyword_is(f, args[i].keyword, p->name, position++ == 0);
        if (!known) {
            c->locals = outside;
            return fail_signature(c, args[i].where, f, "has no argument", args[i].keyword);
        }
    }
    return fail_signature(c, where, f, "does not take these arguments", NULL);
}

static bool lambda_call(calc *c, span where, const user_function *f, const given *args, int count,
                        value *out)
{
    const local *locals = c->locals;
    const bool in_library = c->in_library;
    c->locals = f->captured;
    c->in_library = f->library;
    bool fine = parameters_bind(c, where, f, args, count);
    const bool bound = fine;
    fine = fine && calc_eval(c, f->lambda->child, out);
    if (fine && f->lambda->child->kind == N_BLOCK && !c->returned)
        *out = (value){0};
    c->returned = false;
    c->locals = locals;
    c->in_library = in_library;
    /* A place in another text is not shown: the call is. */
    if (!fine && bound && (f->library || (f->source && strcmp(f->source, c->source) != 0)))
        c->wrong.where = where;
    return fine;
}

bool function_call(calc *c, span where, const user_function *f, const given *args, int count,
                   value *out)
{
    if (c->calls >= CALLS_MOST)
        return calc_fail(c, where,
                         "functions call each other more than %d deep; a function that calls "
                         "itself needs an end",
                         CALLS_MOST);
    c->calls++;
    bool fine;
    if (f->kind == FN_LAMBDA) {
        fine = lambda_call(c, where, f, args, count, out);
    } else {
        value *v = arena_get(&c->scratch, sizeof *v * (size_t)(count + 1));
        fine = true;
        for (int i = 0; fine && i < count; i++) {
            v[i] = args[i].v;
            if (args[i].keyword)
                fine = calc_fail(c, args[i].where,
                                 "a transformed function takes arguments by position");
        }
        fine = fine && transform_apply(c, where, f, v, count, out);
    }
    c->calls--;
    return fine;
}

bool function_apply(calc *c, span where, const user_function *f, const value *args, int n,
                    value *out)
{
    given *list = arena_get(&c->scratch, sizeof *list * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        list[i] = (given){.where = where, .v = args[i]};
    return function_call(c, where, f, list, n, out);
}
