/* The instances of kernel templates that are needed: those that the caller asks for, and those that the source names. */
#include "compiler/parse/parser.h"

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

void parse_launches(parser *p, const kernel_token *from)
{
    for (function_decl *f = p->kernels; f; f = f->next_kernel) {
        if (!f->n_params)
            continue;
        for (kernel_instance *i = f->instances; i; i = i->next)
            if (i->body && !i->function) /* template <> __global__ ... */
                parser_try(p, use_special, i);
        if (f->body && !template_has_pack(f->params, f->n_params))
            parser_try(p, use_defaults, f);
    }
    for (const kernel_token *t = from; t->kind != TOKEN_END; t++) {
        if (t[1].kind != TOKEN_LT || !names_template(p, t))
            continue;
        p->t = t;
        while (p->t > from + 1 && p->t[-1].kind == TOKEN_SCOPE && p->t[-2].kind == TOKEN_NAME)
            p->t -= 2;
        p->scope = p->global;
        parser_try(p, parse_launched, NULL);
    }
}
