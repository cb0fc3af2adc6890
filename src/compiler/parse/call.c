/* Calls of functions of the source: overload, instance and arguments. */
#include <string.h>

#include "compiler/parse/parser.h"

typedef struct candidate {
    function_decl *decl;
    bool is_used; /* introduced by "using": if from a base, it counts as the struct's own */
    const template_arg *given;
    uint32_t n_given, n_args;
    kernel_expr **args;
    kernel_instance *instance; /* NULL: it does not fit */
    int ranks[PARAMS_MOST];
} candidate;

/* The instance of a template for a call, with deduced arguments; jumps if there is none. */
static void find_instance(parser *p, void *context)
{
    candidate *c = context;
    template_arg room[TEMPLATE_MOST] = {0};
    template_list args = {room, 0};
    if (!c->decl->n_params && c->n_given)
        return;
    if (c->decl->n_params &&
        !template_deduce(p, c->decl, c->given, c->n_given, c->args, c->n_args, NULL, &args))
        return;
    c->instance = instance_get(p, c->decl, args, p->t->place);
}

/* The rank of "{a, b}" as an argument: only the number of values counts. -1: it does not fit. */
static int braces_rank(parser *p, const kernel_expr *e, const kernel_type *to)
{
    if (to->kind == TYPE_REFERENCE) {
        if (!(to->of->quals & TYPE_CONST))
            return -1;
        to = to->of;
    }
    to = to->plain;
    uint64_t n = e->as.braces[1].kind != TOKEN_RBRACE;
    const kernel_token *end = skip_group(e->as.braces) - 1;
    for (const kernel_token *t = e->as.braces + 1; t < end;) {
        n += t->kind == TOKEN_COMMA && t + 1 < end;
        t = skip_item(t);
    }
    if (to->kind != TYPE_STRUCT)
        return type_is_scalar(to) && n <= 1 ? 2 : -1;
    type_complete(p, to, e->place);
    const function_decl *f = constructors_of(p, to);
    for (const function_decl *one = f; one; one = one->next)
        if (one->n_params || one->n_parameters == n + one->is_method ||
            (one->n_parameters > n && one->parameters[n + one->is_method].init))
            return 3;
    return !f && n <= to->record->n_members ? 3 : -1;
}

bool group_takes(const kernel_type *to, const kernel_type *given)
{
    if (to->word == WORD_GROUP)
        return given->word >= WORD_BLOCK;
    return to->word == WORD_TILE && given->word == WORD_TILE && !to->parent && given->parent &&
           to->count == given->count;
}

/* The type of a group parameter that takes the argument's type; else NULL. */
static const kernel_type *open_group(const kernel_type *t, const kernel_expr *e)
{
    t = t->kind == TYPE_REFERENCE ? t->of : t;
    return group_takes(t, e->type) ? t : NULL;
}

static int argument_rank(parser *p, const kernel_expr *e, const kernel_type *to)
{
    if (expr_is_braces(e))
        return braces_rank(p, e, to);
    if (e->kind == EXPR_LIST && !e->type->size)
        return 0;
    if (open_group(to, e))
        return 1;
    return expr_rank(p, e, to);
}

/* True if a parameter "T &&" takes a temporary, not the argument itself. */
static bool takes_value(const kernel_expr *e, const kernel_type *to)
{
    return !expr_is_place(e) ||
           (to->of->kind == TYPE_STRUCT && e->type->kind != TYPE_STRUCT && !expr_is_braces(e));
}

static bool fits(parser *p, candidate *c)
{
    kernel_instance *i = c->instance;
    if (!i || c->n_args > i->n_parameters)
        return false;
    for (uint32_t k = c->n_args; k < i->n_parameters; k++)
        if (!i->parameters[k].init)
            return false;
    for (uint32_t k = 0; k < c->n_args; k++) {
        const kernel_type *to = i->parameters[k].type;
        if (i->parameters[k].is_forwarding && takes_value(c->args[k], to))
            to = to->of;
        else if (i->parameters[k].is_forwarding && !c->decl->n_params && !c->args[k]->moves &&
                 to->of->kind == TYPE_STRUCT)
            return false; /* T && does not take a variable, unless T is deduced */
        c->ranks[k] = argument_rank(p, c->args[k], to);
        if (c->ranks[k] < 0 || (c->ranks[k] > 3 && c->decl->is_method && !k))
            return false;
    }
    if (c->is_used && c->decl->is_method && c->n_args)
        c->ranks[0] = c->args[0]->type->quals != i->parameters[0].type->of->quals;
    return true;
}

/* A function of a struct hides a function with the same parameters that "using" brought from a base. */
static bool hides(const candidate *a, const candidate *b)
{
    const kernel_instance *x = a->instance, *y = b->instance;
    if (a->is_used || !b->is_used || !a->decl->is_method || !b->decl->is_method ||
        x->n_parameters != y->n_parameters ||
        x->parameters[0].type->of->quals != y->parameters[0].type->of->quals)
        return false;
    for (uint32_t k = 1; k < x->n_parameters; k++)
        if (x->parameters[k].type->plain != y->parameters[k].type->plain)
            return false;
    return true;
}

int function_specificity(const function_decl *f)
{
    int n = (f->constraint || f->also ? 10 : 0) - (int)f->n_params - (f->pack.is_there ? 10000 : 0);
    for (uint32_t i = 0; i < f->n_parameters; i++)
        for (const kernel_type *t = f->parameters[i].type; t->of && t->of != t; t = t->of)
            n += 100;
    for (uint32_t i = 0; i < f->n_params; i++)
        n += f->params[i].constraint ? 10 : 0;
    return n;
}

/* Above 0 if a is better than b, below if b is, 0 if neither. */
static int compare(const candidate *a, const candidate *b)
{
    int better = 0, worse = 0;
    for (uint32_t k = 0; k < a->n_args; k++) {
        better += a->ranks[k] < b->ranks[k];
        worse += a->ranks[k] > b->ranks[k];
    }
    if (better != worse && (!better || !worse))
        return better ? 1 : -1;
    if (better)
        return 0;
    for (uint32_t k = 0; k < a->n_args; k++) { /* T && takes values before const T & does */
        const bool fa = a->instance->parameters[k].is_forwarding;
        const bool fb = b->instance->parameters[k].is_forwarding;
        if (fa != fb && !expr_is_place(a->args[k]) &&
            a->instance->parameters[k].type->kind == b->instance->parameters[k].type->kind)
            return fa - fb;
    }
    /* Equal for host and device: prefer the device function. */
    const unsigned device = IS_DEVICE | IS_CONSTEXPR;
    const int da = (a->decl->flags & device) != 0, db = (b->decl->flags & device) != 0;
    if (da != db)
        return da - db;
    const int ta = a->decl->n_params != 0, tb = b->decl->n_params != 0;
    if (ta != tb)
        return tb - ta;
    if (hides(a, b) || hides(b, a))
        return hides(a, b) ? 1 : -1;
    return ta ? function_specificity(a->decl) - function_specificity(b->decl) : 0;
}

const char *types_of(parser *p, kernel_expr **args, uint32_t n)
{
    const char *made = "";
    for (uint32_t i = 0; i < n && i < 8; i++)
        made = parser_format(p, "%s%s%s", made, i ? ", " : "",
                             expr_is_braces(args[i]) ? "{...}" : type_name(p, args[i]->type));
    return made;
}

static _Noreturn void no_match(parser *p, function_decl *functions, kernel_place place,
                               kernel_expr **args, uint32_t n)
{
    parser_error(p, place, "no '%s' takes (%s)", functions->name->text, types_of(p, args, n));
    int shown = 0;
    for (function_decl *f = functions; f && shown < 4; f = f->next, shown++)
        parser_note(p, f->place, "this one does not");
    parser_jump(p);
}

/* Converts the arguments to the parameters' types; missing arguments get their defaults. */
static void convert_args(parser *p, kernel_instance *i, kernel_expr *e, kernel_expr **args,
                         uint32_t n, kernel_place place)
{
    e->n_args = i->n_parameters;
    e->args = kernel_arena_new(p->arena, (e->n_args + 1) * sizeof *e->args);
    for (uint32_t k = 0; k < i->n_parameters; k++) {
        const parameter *a = &i->parameters[k];
        kernel_expr *arg = k < n ? args[k] : NULL;
        if (!arg) {
            const parser_place back = parser_enter(p, a->init, i->scope);
            const kernel_type *type = a->type;
            arg = at(p, TOKEN_LBRACE) ? parse_braces(p, &type) : parse_assignment(p);
            parser_leave(p, back);
        }
        if (expr_is_braces(arg)) {
            const kernel_type *type =
                a->type->kind == TYPE_REFERENCE ? a->type->of->plain : a->type->plain;
            const parser_place back = parser_enter(p, arg->as.braces, p->scope);
            arg = parse_braces(p, &type);
            parser_leave(p, back);
        }
        const char *what = parser_format(p, "argument %u of '%s'", k + 1, i->decl->name->text);
        if (a->is_forwarding && takes_value(arg, a->type)) {
            arg = expr_bind(p, arg, type_qualify(p->types, a->type->of, TYPE_CONST), what);
            e->args[k] = expr_cast(p, arg, type_pointer(p->types, a->type->of), place);
        } else {
            e->args[k] = expr_convert(p, arg, a->type, what);
        }
    }
}

static bool same_groups(const kernel_instance *a, const parameter *parameters)
{
    for (uint32_t k = 0; k < a->n_parameters; k++)
        if (a->parameters[k].type != parameters[k].type)
            return false;
    return true;
}

/* A function with a thread_group, or with a tile of any parent, is a template over the group's type. */
static kernel_instance *group_instance(parser *p, kernel_instance *i, kernel_expr **args,
                                       uint32_t n)
{
    bool any = false;
    for (uint32_t k = 0; k < i->n_parameters && k < n; k++)
        any |= open_group(i->parameters[k].type, args[k]) != NULL;
    if (!any)
        return i;
    parameter *made = kernel_arena_get(p->arena, (i->n_parameters + 1) * sizeof *made);
    for (uint32_t k = 0; k < i->n_parameters; k++) {
        made[k] = i->parameters[k];
        const kernel_type *was = k < n ? open_group(made[k].type, args[k]) : NULL;
        if (!was)
            continue;
        const kernel_type *type = type_qualify(p->types, args[k]->type->plain, was->quals);
        made[k].type = made[k].type->kind == TYPE_REFERENCE ? type_reference(p->types, type) : type;
    }
    for (kernel_instance *old = i->decl->instances; old; old = old->next)
        if (old->group_of == i && same_groups(old, made))
            return old;
    kernel_instance *copy = kernel_arena_copy(p->arena, i, sizeof *copy);
    copy->group_of = i;
    copy->parameters = made;
    copy->function = NULL;
    copy->next = i->next;
    i->next = copy;
    return copy;
}

kernel_expr *call_instance(parser *p, kernel_instance *i, kernel_place place, kernel_expr **args,
                           uint32_t n)
{
    i = group_instance(p, i, args, n);
    if (i->flags & IS_GLOBAL)
        parser_fail(p, place, "kernel '%s' is called like a function", i->decl->name->text);
    kernel_function *f = instance_use(p, i, place);
    kernel_expr *e = expr_new(p, EXPR_CALL, place, i->result->plain);
    e->as.function = f;
    convert_args(p, i, e, args, n, place);
    if (i->result->kind != TYPE_REFERENCE) {
        type_complete(p, i->result, place);
        return e;
    }
    e->type = type_pointer(p->types, i->result->of);
    return expr_deref(p, place, e);
}

kernel_instance *call_choose(parser *p, function_decl *functions, kernel_place place,
                             const template_arg *given, uint32_t n_given, kernel_expr **args,
                             uint32_t n_args, bool quiet)
{
    candidate pool[2], *best = &pool[0], *c = &pool[1];
    bool any = false, tie = false;
    const function_decl *other = NULL;
    for (function_decl *f = functions; f; f = f->next) {
        *c = (candidate){.decl = function_itself(f),
                         .is_used = f->used,
                         .given = given,
                         .n_given = n_given,
                         .args = args,
                         .n_args = n_args};
        /* A template that cannot be instantiated is not a candidate, unless it is the only one. */
        const bool only = !functions->next && !quiet;
        const kernel_token *back = p->t;
        if (only)
            find_instance(p, c);
        else if (!parser_try(p, find_instance, c))
            c->instance = NULL;
        p->t = back;
        if (!fits(p, c))
            continue;
        const int order = any ? compare(c, best) : 1;
        if (order > 0) {
            candidate *t = best;
            best = c;
            c = t;
            any = true;
            tie = false;
        } else if (order == 0) {
            tie = true;
            other = f;
        }
    }
    if (!any && quiet)
        return NULL;
    if (!any)
        no_match(p, functions, place, args, n_args);
    if (tie) {
        parser_error(p, place, "'%s' with (%s) is ambiguous", functions->name->text,
                     types_of(p, args, n_args));
        if (!p->quiet)
            diag_do(p->diags, "cast an argument");
        parser_note(p, best->decl->place, "this one fits");
        parser_note(p, other->place, "and this one");
        parser_jump(p);
    }
    return best->instance;
}

kernel_expr *call_functions(parser *p, function_decl *functions, kernel_place place,
                            const template_arg *given, uint32_t n_given, kernel_expr **args,
                            uint32_t n_args, bool quiet)
{
    kernel_instance *i = call_choose(p, functions, place, given, n_given, args, n_args, quiet);
    const bool direct = p->is_direct;
    p->is_direct = false;
    if (i && !direct)
        i = virtual_instance(p, i, args, n_args);
    return i ? call_instance(p, i, place, args, n_args) : NULL;
}

/* k<<<grid, block, shared, stream>>>(...) in device code, at "<<<": a call of ig_launch with the kernel's number, the bytes of
 * its arguments, the shape and the arguments. */
static kernel_expr *parse_launch(parser *p, function_decl *functions, const template_arg *given,
                                 uint32_t n_given, kernel_place place)
{
    enum { SHAPE_MOST = 4, AHEAD = 2 };
    kernel_expr *shape[SHAPE_MOST], **args;
    uint32_t n_shape = 0;
    p->t += kernel_token_launch(p->t);
    do {
        if (n_shape == SHAPE_MOST)
            parser_fail(p, p->t->place, "a launch takes at most %d values in '<<<>>>'", SHAPE_MOST);
        shape[n_shape++] = parse_assignment(p);
    } while (accept(p, TOKEN_COMMA));
    if (n_shape < 2 || !kernel_token_launch_end(p->t))
        parser_fail(p, place, "a launch takes '<<<blocks, threads>>>'");
    p->t += kernel_token_launch_end(p->t);
    expect(p, TOKEN_LPAREN, "after '>>>'");
    const uint32_t n = parse_arguments(p, &args);
    kernel_instance *i = call_choose(p, functions, place, given, n_given, args, n, false);
    if (!(i->flags & IS_GLOBAL))
        parser_fail(p, place, "'%s' is not a kernel", i->decl->name->text);
    kernel_function *f = instance_use(p, i, place);
    if (!f->launched)
        f->launched = ++p->n_launched;
    kernel_expr call;
    convert_args(p, i, &call, args, n, place);
    kernel_expr **all =
        kernel_arena_get(p->arena, (AHEAD + SHAPE_MOST + call.n_args) * sizeof *all);
    const kernel_type *number = type_word_of(p, WORD_ULONG);
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < call.n_args; k++) {
        const kernel_type *t = i->parameters[k].type->plain;
        bytes = (bytes + t->align - 1) / t->align * t->align + t->size;
        all[AHEAD + SHAPE_MOST + k] = call.args[k];
    }
    all[0] = expr_integer(p, place, number, f->launched);
    all[1] = expr_integer(p, place, number, bytes);
    for (uint32_t k = 0; k < SHAPE_MOST; k++) {
        kernel_expr *e = k < n_shape ? shape[k] : expr_integer(p, place, number, 0);
        const bool is_float = !expr_is_braces(e) && type_is_float(e->type->plain);
        all[AHEAD + k] =
            is_float ? expr_convert(p, e, type_word_of(p, WORD_UINT), "the shape of a launch") : e;
    }
    return part_call(p, "ig_launch", place, all, AHEAD + SHAPE_MOST + call.n_args);
}

/* ---- member functions ------------------------------------------------------------------------- */

function_decl *methods_of(parser *p, const kernel_type *type, const char *name)
{
    const scope *in = type_members(p, type, p->t->place);
    const symbol *y = in ? symbol_in(in, name_of(p, name)) : NULL;
    return y && y->kind == SYMBOL_FUNCTION ? y->as.functions : NULL;
}

parameter *method_parameters(parser *p, kernel_place place, const kernel_type *object,
                             unsigned quals, const parameter *others, uint32_t n)
{
    parameter *all = kernel_arena_new(p->arena, (n + 1) * sizeof *all);
    all[0] = (parameter){.name = name_of(p, "this"),
                         .place = place,
                         .type = type_reference(p->types, type_qualify(p->types, object, quals))};
    for (uint32_t i = 0; i < n; i++)
        all[i + 1] = others[i];
    return all;
}

const conversion *conversion_to(parser *p, const kernel_type *from, const kernel_type *to)
{
    const conversion *found = NULL;
    if (from->kind != TYPE_STRUCT || !type_members(p, from, p->t->place))
        return NULL;
    for (const conversion *c = from->record->syntax->conversions; c; c = c->next) {
        const kernel_expr made = {.kind = EXPR_CALL, .type = c->to->plain};
        if (c->to->plain == to)
            return c;
        if (!c->is_explicit && expr_rank(p, &made, to) >= 0)
            found = c;
    }
    return found;
}

/* An operand of a built-in operator: a struct with one implicit conversion to a number or pointer becomes it. */
kernel_expr *convert_operand(parser *p, kernel_expr *e)
{
    if (e->type->kind != TYPE_STRUCT || !type_members(p, e->type, e->place))
        return e;
    const conversion *found = NULL;
    for (const conversion *c = e->type->record->syntax->conversions; c; c = c->next) {
        if (c->is_explicit || !type_is_scalar(c->to))
            continue;
        if (found)
            return e;
        found = c;
    }
    return found ? expr_convert(p, e, found->to->plain, "an operand") : e;
}

static kernel_expr *call_given(parser *p, kernel_expr *object, function_decl *functions,
                               kernel_place place, const template_arg *given, uint32_t n_given,
                               kernel_expr **args, uint32_t n)
{
    if (object)
        args = lambda_arguments(p, object->type, place, args, &n);
    kernel_expr **all = kernel_arena_get(p->arena, (n + 1) * sizeof *all), *before = NULL;
    for (uint32_t i = 0; i < n; i++)
        all[i + 1] = args[i];
    if (object && !expr_is_place(object)) { /* a value lives until the end of the expression */
        object = expr_once(p, object, &before)->a;
        before = temporary_keep(p, object->as.var, before);
    }
    all[0] = object;
    kernel_expr *e =
        object ? call_functions(p, functions, place, given, n_given, all, n + 1, true) : NULL;
    if (!e) /* a static function, or an error to report */
        e = call_functions(p, functions, place, given, n_given,
                           functions->is_method && object ? all : args,
                           functions->is_method && object ? n + 1 : n, false);
    return expr_comma(p, before, e);
}

kernel_expr *call_method(parser *p, kernel_expr *object, function_decl *functions,
                         kernel_place place, kernel_expr **args, uint32_t n)
{
    return call_given(p, object, functions, place, NULL, 0, args, n);
}

kernel_expr *parse_method(parser *p, kernel_expr *object, function_decl *functions,
                          kernel_place place)
{
    kernel_expr **args;
    template_arg *given = NULL;
    const bool direct = p->t[-1].kind == TOKEN_NAME && p->t[-2].kind == TOKEN_SCOPE;
    const uint32_t n_given = at(p, TOKEN_LT) ? parse_template_args(p, &given) : 0;
    expect(p, TOKEN_LPAREN, "after a member function");
    const uint32_t n = parse_arguments(p, &args);
    p->is_direct = direct;
    kernel_expr *e = call_given(p, object, functions, place, given, n_given, args, n);
    p->is_direct = false;
    return e;
}

kernel_expr *parse_call(parser *p, function_decl *functions, kernel_place place)
{
    template_arg *given = NULL;
    uint32_t n_given = 0;
    bool templates = false;
    for (const function_decl *f = functions; f; f = f->next)
        templates |= f->n_params != 0;
    if (templates && at(p, TOKEN_LT))
        n_given = parse_template_args(p, &given);
    if (kernel_token_launch(p->t))
        return parse_launch(p, functions, given, n_given, place);
    if (!accept(p, TOKEN_LPAREN)) /* its address is taken */
        return function_name_new(p, functions, given, n_given, place);
    kernel_expr **args;
    const uint32_t n = parse_arguments(p, &args);
    return call_functions(p, functions, place, given, n_given, args, n, false);
}
