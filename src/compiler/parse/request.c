/* The required instances of kernel templates: those that the caller requests, and those that declarations of the
 * source name. launches.c finds those of its launches. */
#include "compiler/parse/parser.h"

/* A requested kernel: its name, its template arguments and possibly its type. */
typedef struct wish {
    function_decl *f; /* the candidate */
    const template_arg *given;
    uint32_t n;
    kernel_place place;
    bool typed;
    const kernel_type *type; /* if typed: of the function, or NULL if it could not be parsed */
    kernel_instance *made;   /* of the candidate; NULL: it does not accept the arguments */
} wish;

static void find_instance(parser *p, void *context)
{
    wish *w = context;
    const function_decl *f = w->f;
    template_arg room[TEMPLATE_MOST] = {0};
    template_list args = {room, w->n};
    w->made = NULL;
    if (!(f->flags & IS_GLOBAL) ||
        (w->n > f->n_params && !template_has_pack(f->params, f->n_params)))
        return;
    for (uint32_t i = 0; i < w->n; i++)
        room[i] = w->given[i];
    if (template_defaults(p, f->scope, f->params, f->n_params, &args) < 0)
        w->made = instance_get(p, w->f, args, w->place);
}

static bool has_type(const wish *w)
{
    const kernel_instance *i = w->made;
    if (!w->typed || !w->type || w->type->count != i->n_parameters)
        return !w->typed;
    for (uint32_t k = 0; k < i->n_parameters; k++)
        if (w->type->parameters[k]->plain != i->parameters[k].type->plain)
            return false;
    return true;
}

/* Returns the first kernel that fits; its body is parsed later. If no kernel has the requested type, the
 * arguments alone must select one. */
static kernel_function *use_kernel(parser *p, const symbol *y, const kernel_token *last, wish *w)
{
    kernel_instance *other = NULL;
    int n_others = 0;
    const bool alone = !y->as.functions->next;
    w->place = last->place;
    for (function_decl *one = y->as.functions; one; one = one->next) {
        w->f = function_itself(one);
        const bool fine = alone ? (find_instance(p, w), true) : parser_try(p, find_instance, w);
        if (!fine || !w->made)
            continue;
        if (has_type(w))
            return instance_use(p, w->made, last->place);
        other = w->made;
        n_others++;
    }
    if (n_others == 1)
        return instance_use(p, other, last->place);
    parser_fail(p, last->place,
                n_others ? "several kernels %s take these arguments, and none has this type"
                         : "no kernel %s takes these arguments",
                token_text(p, last));
}

void request_instance(parser *p, const symbol *y, const kernel_token *last,
                      const template_arg *given, uint32_t n)
{
    wish w = {.given = given, .n = n};
    use_kernel(p, y, last, &w);
}

static void parse_kernel_type(parser *p, void *context)
{
    wish *w = context;
    const kernel_type *type = parse_type(p);
    if (type->kind == TYPE_POINTER && type->of->kind == TYPE_FUNCTION)
        w->type = type->of;
}

/* "tile<float, 16>", or with the type of a pointer to it: "(void (*)(float *, int))tile<float, 16>" */
void parse_request(parser *p, void *wanted)
{
    const kernel_token *last;
    wish w = {0};
    if (at(p, TOKEN_LPAREN)) {
        const kernel_token *end = skip_group(p->t);
        w.typed = true;
        p->t++;
        parser_try(p, parse_kernel_type, &w);
        p->t = end;
    }
    const symbol *y = parse_name(p, &last);
    template_arg *given = NULL;
    if (!y || y->kind != SYMBOL_FUNCTION)
        parser_fail(p, last->place, "there is no kernel %s", token_text(p, last));
    w.n = at(p, TOKEN_LT) ? parse_template_args(p, &given) : 0;
    w.given = given;
    if (!at(p, TOKEN_END))
        parser_fail(p, p->t->place, "%s after the name of a kernel", token_text(p, p->t));
    const kernel_alias a = {parser_format(p, "%s", (const char *)wanted),
                            use_kernel(p, y, last, &w), p->tree->aliases};
    p->tree->aliases = kernel_arena_copy(p->arena, &a, sizeof a);
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

void parse_named_instances(parser *p)
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
}
