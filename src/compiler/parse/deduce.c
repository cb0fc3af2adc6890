/* Deduction of template arguments: for a function from the arguments of a call, for a partial specialization
 * from the arguments of its struct.
 *
 * Patterns are compared with types. They are parsed once, with each type parameter standing for itself
 * (TYPE_AUTO, numbered) and each integer parameter for a number from PATTERN on that nothing else uses. A
 * pack has one element, which stands for any number of elements. */
#include <string.h>

#include "compiler/parse/parser.h"

#define PATTERN (INT64_C(1) << 48)

/* The elements of a pack that are found so far. */
typedef struct deduced_pack {
    template_arg at[TEMPLATE_MOST];
    uint32_t n;
    bool is_done;
} deduced_pack;

/* The arguments found so far for a template's n parameters. */
typedef struct deduction {
    parser *p;
    uint32_t n;
    template_arg args[TEMPLATE_MOST];
    deduced_pack *packs[TEMPLATE_MOST]; /* of the parameters that are packs; else NULL */
} deduction;

static deduction deduction_begin(parser *p, const template_param *params, uint32_t n)
{
    deduction d = {.p = p, .n = n};
    for (uint32_t i = 0; i < n; i++)
        if (params[i].is_pack)
            d.packs[i] = kernel_arena_new(p->arena, sizeof *d.packs[i]);
    return d;
}

/* All arguments, as a list for template_bind. */
static bool deduction_end(const deduction *d, template_list *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const deduced_pack *pack = d->packs[i];
        if (!pack) {
            out->at[out->n++] = d->args[i];
            continue;
        }
        if (i + 1 < d->n) {
            template_list *list = kernel_arena_get(d->p->arena, sizeof *list);
            *list = template_copy(d->p, (template_list){(template_arg *)pack->at, pack->n});
            out->at[out->n++] =
                (template_arg){.type = d->p->types->basic[WORD_VOID], .is_set = true, .pack = list};
            continue;
        }
        if (out->n + pack->n > TEMPLATE_MOST)
            return false;
        memcpy(out->at + out->n, pack->at, pack->n * sizeof *out->at);
        out->n += pack->n;
    }
    return true;
}

static bool set_value(deduction *d, uint64_t pattern, uint64_t value)
{
    if ((int64_t)pattern < PATTERN || pattern >= (uint64_t)PATTERN + d->n)
        return true; /* a computed value: the conversion checks it */
    template_arg *arg = &d->args[pattern - (uint64_t)PATTERN];
    if (arg->is_set)
        return arg->is_given || arg->value == value;
    *arg = (template_arg){
        .type = type_word_of(d->p, WORD_INT), .is_value = true, .is_set = true, .value = value};
    return true;
}

static bool match(deduction *d, const kernel_type *pattern, const kernel_type *type);

static bool match_arg(deduction *d, const template_arg *pattern, const template_arg *arg)
{
    if (pattern->is_value != arg->is_value || pattern->syntax || arg->syntax)
        return true;
    return pattern->is_value ? set_value(d, pattern->value, arg->value)
                             : match(d, pattern->type, arg->type);
}

/* Starts one more element of the packs in a pattern. */
static void pack_begin(deduction *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (d->packs[i])
            d->args[i] = (template_arg){0};
}

/* Adds what the pattern gave to its packs; false if it is nothing, or if a pack is full. `done`: packs that are known are
 * left as they are. */
static bool pack_end(deduction *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->n; i++) {
        deduced_pack *pack = d->packs[i];
        if (!pack || !d->args[i].is_set)
            continue;
        any = true;
        if (pack->is_done)
            continue;
        if (pack->n == TEMPLATE_MOST)
            return false;
        pack->at[pack->n++] = d->args[i];
    }
    return any;
}

/* The packs that a list gave are complete. */
static void packs_done(deduction *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (d->packs[i] && d->packs[i]->n)
            d->packs[i]->is_done = true;
}

static bool match_list(deduction *d, template_list patterns, template_list args)
{
    for (uint32_t i = 0; i < patterns.n; i++) {
        if (!patterns.at[i].expands) {
            if (i < args.n && !match_arg(d, &patterns.at[i], &args.at[i]))
                return false;
            continue;
        }
        for (uint32_t k = i; k < args.n; k++) {
            pack_begin(d);
            if (!match_arg(d, &patterns.at[i], &args.at[k]) || !pack_end(d))
                return false;
        }
        packs_done(d);
    }
    return true;
}

static bool match(deduction *d, const kernel_type *pattern, const kernel_type *type)
{
    parser *p = d->p;
    if (pattern->kind == TYPE_AUTO && pattern->count) {
        template_arg *arg = &d->args[pattern->count - 1];
        const kernel_type *rest =
            type_qualify(p->types, type->plain, type->quals & ~(unsigned)pattern->quals);
        if (arg->is_set)
            return !arg->is_value && (arg->is_given || arg->type == rest);
        *arg = (template_arg){.type = rest, .is_set = true};
        return true;
    }
    if (pattern->kind != type->kind || pattern->word != type->word)
        return true;
    if (pattern->word == WORD_TILE)
        return set_value(d, pattern->count, type->count);
    if (pattern->kind == TYPE_ARRAY && !set_value(d, pattern->count, type->count))
        return false;
    if (pattern->kind == TYPE_STRUCT) {
        const kernel_syntax *x = pattern->record->syntax, *y = type->record->syntax;
        if (x && y && x->origin && y->origin &&
            x->origin->pattern) { /* template <typename> class C */
            template_arg *arg = &d->args[x->origin->pattern - 1];
            if (!arg->is_set)
                *arg = (template_arg){.is_set = true, .syntax = y->origin};
            return match_list(d, x->args, y->args);
        }
        return !x || !y || !x->origin || x->origin != y->origin || match_list(d, x->args, y->args);
    }
    for (uint64_t i = 0; pattern->kind == TYPE_FUNCTION && i < pattern->count; i++)
        if (pattern->count != type->count || !match(d, pattern->parameters[i], type->parameters[i]))
            return false;
    return pattern->of && type->of ? match(d, pattern->of, type->of) : true;
}

/* The parameters, each standing for itself. */
static void bind_patterns(parser *p, scope *s, const template_param *params, uint32_t n)
{
    template_arg args[TEMPLATE_MOST];
    for (uint32_t i = 0; i < n; i++) {
        kernel_type *type = kernel_arena_new(p->arena, sizeof *type);
        *type =
            (kernel_type){.kind = TYPE_AUTO, .count = i + 1, .align = 1, .size = 1, .plain = type};
        type->qualified[0] = type;
        args[i] = (template_arg){.type = type,
                                 .is_value = params[i].type,
                                 .is_set = true,
                                 .value = (uint64_t)PATTERN + i};
        if (params[i].is_template) {
            kernel_syntax *x = kernel_arena_new(p->arena, sizeof *x);
            *x = (kernel_syntax){.name = params[i].name ? params[i].name : name_of(p, ""),
                                 .scope = s,
                                 .params = params[i].of_it,
                                 .n_params = params[i].n_of_it,
                                 .pattern = i + 1};
            x->record = type_struct(p->types, x->name, params[i].place);
            args[i].syntax = x;
        }
        if (params[i].is_pack && i + 1 < n) {
            template_list *one = kernel_arena_get(p->arena, sizeof *one);
            *one = template_copy(p, (template_list){&args[i], 1});
            args[i].pack = one;
        }
    }
    template_bind(p, s, params, n, (template_list){args, n});
}

/* Calls work with parameters that stand for themselves; false after an error, which is not reported. */
static bool with_patterns(parser *p, void (*work)(parser *, void *), void *context)
{
    const bool patterns = p->patterns;
    p->patterns = true;
    const bool fine = parser_try(p, work, context);
    p->patterns = patterns;
    return fine;
}

/* ---- functions -------------------------------------------------------------------------------- */

static void make_patterns(parser *p, void *context)
{
    function_decl *f = context;
    scope *s = scope_open(p, f->scope, false);
    bind_patterns(p, s, f->params, f->n_params);
    specifiers spec;
    const declarator d = template_signature(p, f, s, &spec);
    f->pattern_result = d.type->of;
    f->parameters = d.parameters;
    f->n_parameters = d.n_parameters;
    f->pack = d.pack;
}

static bool match_parameter(deduction *d, const kernel_type *pattern, const kernel_expr *arg)
{
    parser *p = d->p;
    const kernel_type *type = arg->type;
    if (pattern->kind == TYPE_REFERENCE) {
        pattern = pattern->of;
        if (!expr_is_place(arg))
            type = type->plain;
    } else {
        type = type->kind == TYPE_ARRAY ? type_pointer(p->types, type->of) : type->plain;
        pattern = pattern->kind == TYPE_AUTO ? pattern->plain : pattern;
    }
    return match(d, pattern, type);
}

/* Matches the remaining arguments with a parameter pack. `given`: how many of its elements are written in "<>". */
static bool match_pack(deduction *d, const function_decl *f, kernel_expr **args, uint32_t n,
                       uint32_t given)
{
    for (uint32_t i = f->pack.first + given; i < n; i++) {
        pack_begin(d);
        if (!match_parameter(d, f->parameters[f->pack.first].type, args[i]) || !pack_end(d))
            return false;
    }
    return true;
}

bool template_deduce(parser *p, function_decl *f, const template_arg *given, uint32_t n_given,
                     kernel_expr **args, uint32_t n_args, const kernel_type *result,
                     template_list *out)
{
    deduction d = deduction_begin(p, f->params, f->n_params);
    uint32_t in_pack = 0;
    for (uint32_t i = 0, at_param = 0; i < n_given; i++) {
        if (at_param == f->n_params)
            return false;
        deduced_pack *pack = d.packs[at_param];
        if (pack && pack->n == TEMPLATE_MOST)
            return false;
        template_arg *to = pack ? &pack->at[pack->n++] : &d.args[at_param++];
        *to = given[i];
        to->is_given = true;
        in_pack += pack != NULL;
    }
    if (!f->has_patterns) {
        f->has_patterns = true;
        with_patterns(p, make_patterns, f);
    }
    const uint32_t known = f->parameters ? f->n_parameters : 0; /* 0: they could not be parsed */
    const uint32_t plain = f->pack.is_there ? f->pack.first : known;
    if (f->parameters && (n_args > known) && !f->pack.is_there)
        return false;
    if (f->pack.is_there && f->pack.first + 1 != known)
        return false; /* a pack with parameters after it */
    for (uint32_t i = 0; i < n_args && i < plain; i++)
        if (!expr_is_braces(args[i]) && !match_parameter(&d, f->parameters[i].type, args[i]))
            return false;
    packs_done(&d); /* of the other parameters */
    if (in_pack && f->pack.is_there)
        for (uint32_t i = 0; i < d.n; i++)
            if (d.packs[i])
                d.packs[i]->is_done = false;
    if (f->pack.is_there && !match_pack(&d, f, args, n_args, in_pack))
        return false;
    if (result && f->pattern_result && !match(&d, f->pattern_result, result))
        return false;
    if (!deduction_end(&d, out))
        return false;
    return template_defaults(p, f->scope, f->params, f->n_params, out) < 0 &&
           constraints_hold(p, f, *out);
}

/* ---- partial specializations ------------------------------------------------------------------ */

/* The arguments of a specialization, whose parameters are bound in a scope. */
typedef struct special_args {
    const kernel_syntax *of, *special;
    template_list own; /* of its parameters */
    template_list made;
    const kernel_token *end; /* after them */
} special_args;

static void parse_special_args(parser *p, void *context)
{
    special_args *a = context;
    const kernel_syntax *s = a->special;
    scope *in = scope_open(p, a->of->scope, false);
    template_arg *args;
    if (a->own.at)
        template_bind(p, in, s->params, s->n_params, a->own);
    else
        bind_patterns(p, in, s->params, s->n_params);
    const parser_place back = parser_enter(p, s->head, in);
    const uint32_t n = parse_template_args(p, &args);
    a->end = p->t;
    a->made = struct_arguments(p, a->of, args, n, s->head->place);
    parser_leave(p, back);
}

void declare_special_struct(parser *p, kernel_syntax *of, template_param *params, uint32_t n,
                            uint32_t align, bool is_union)
{
    kernel_syntax *made = kernel_arena_new(p->arena, sizeof *made);
    *made = (kernel_syntax){.params = params,
                            .n_params = n,
                            .head = p->t,
                            .align = align,
                            .is_union = is_union,
                            .next = of->specials};
    special_args a = {.of = of, .special = made};
    of->specials = made;
    if (n)
        with_patterns(p, parse_special_args, &a);
    else
        parse_special_args(p, &a);
    made->args = a.made;
    if (a.end)
        p->t = a.end;
    accept_final(p);
    made->body = at(p, TOKEN_LBRACE) || at(p, TOKEN_COLON) ? p->t : NULL;
}

/* Returns true if the arguments match the specialization. *own then has the arguments of its parameters, in
 * the arena. */
static bool special_fits(parser *p, const kernel_syntax *of, const kernel_syntax *special,
                         template_list args, bool as_patterns, template_list *own)
{
    const uint32_t n = special->n_params;
    deduction d = deduction_begin(p, special->params, n);
    if (!n)
        return *own = (template_list){0}, template_same(special->args, args);
    if (!match_list(&d, special->args, args))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!d.args[i].is_set && !d.packs[i])
            return false;
    own->at = kernel_arena_get(p->arena, (TEMPLATE_MOST + 1) * sizeof *own->at);
    if (!deduction_end(&d, own))
        return false;
    /* Evaluate the pattern again with these values. */
    special_args a = {.of = of, .special = special, .own = *own};
    const parser_place back = parser_enter(p, p->t, p->scope); /* an error leaves it elsewhere */
    const bool fine = (as_patterns ? with_patterns : parser_try)(p, parse_special_args, &a);
    parser_leave(p, back);
    return fine && template_same(a.made, args);
}

/* True if b matches everything that a matches. */
static bool special_within(parser *p, const kernel_syntax *of, const kernel_syntax *a,
                           const kernel_syntax *b)
{
    template_list ignored;
    return special_fits(p, of, b, a->args, true, &ignored);
}

const kernel_syntax *special_struct(parser *p, const kernel_syntax *of, template_list args,
                                    kernel_place place, template_list *own)
{
    const kernel_syntax *best = NULL;
    template_list mine;
    for (const kernel_syntax *s = of->specials; s; s = s->next) {
        if (s->n_params && !s->args.at)
            parser_fail_do(p, s->head->place, "write structs of different names",
                           "this partial specialization of '%s' is not understood", of->name->text);
        if (!special_fits(p, of, s, args, false, &mine))
            continue;
        /* If it is declared twice, take the declaration with a body. */
        if (best &&
            (!special_within(p, of, s, best) || (special_within(p, of, best, s) && best->body)))
            continue;
        best = s;
        *own = mine;
    }
    for (const kernel_syntax *s = best ? of->specials : NULL; s; s = s->next) {
        if (s == best || !special_fits(p, of, s, args, false, &mine) ||
            special_within(p, of, best, s))
            continue;
        parser_error(p, place, "two specializations of '%s' fit <%s>, and none is more special",
                     of->name->text, template_text(p, args, false));
        parser_note(p, best->head->place, "this one");
        parser_note(p, s->head->place, "and this one");
        parser_jump(p);
    }
    return best;
}
