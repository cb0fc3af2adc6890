/* Several files as one program, whose device code is linked.
 *
 * Each file has a global scope of its own, so that static names, constants and macros of two files stay apart. A
 * declaration of types that an earlier file has with the same tokens, in a namespace of the same name, means the types of
 * that file: both include the same header. After all files are read, functions without a body and extern variables get
 * their definitions from the other files. */
#include "compiler/parse/parser.h"

#include <string.h>

enum { SLOTS = 1024 };

/* The symbols that one declaration of types added. */
typedef struct shared_types {
    uint64_t hash;
    const kernel_token *from, *to;
    const scope *in;
    symbol **symbols;
    uint32_t n_symbols;
    struct shared_types *next;
} shared_types;

struct link_state {
    shared_types *slots[SLOTS];
};

/* ---- types that files share ------------------------------------------------------------------- */

static bool same_space(const scope *a, const scope *b)
{
    for (; a->parent && b->parent; a = a->parent, b = b->parent)
        if (a->name != b->name)
            return false;
    return !a->parent == !b->parent;
}

static bool same_tokens(const kernel_token *a, const kernel_token *a_end, const kernel_token *b,
                        const kernel_token *b_end)
{
    if (a_end - a != b_end - b)
        return false;
    for (; a < a_end; a++, b++)
        if (a->kind != b->kind || a->bytes != b->bytes || memcmp(a->text, b->text, a->bytes) != 0)
            return false;
    return true;
}

static uint64_t hash_tokens(const kernel_token *t, const kernel_token *end)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; t < end; t++)
        for (uint32_t i = 0; i < t->bytes; i++)
            h = (h ^ (uint8_t)t->text[i]) * UINT64_C(1099511628211);
    return h;
}

link_mark link_begin(parser *p)
{
    return (link_mark){p->t, declaration_end(p->t), p->scope->symbols, p->n_functions};
}

bool link_import(parser *p, const link_mark *m)
{
    const uint64_t hash = hash_tokens(m->from, m->to);
    for (const shared_types *s = p->links ? p->links->slots[hash % SLOTS] : NULL; s; s = s->next) {
        if (s->hash != hash || s->in == p->scope || !same_space(s->in, p->scope) ||
            !same_tokens(s->from, s->to, m->from, m->to))
            continue;
        for (uint32_t i = 0; i < s->n_symbols; i++)
            symbol_alias(p, p->scope, s->symbols[i], s->symbols[i]->place);
        p->t = m->to;
        return true;
    }
    return false;
}

static bool is_type(const symbol *y)
{
    return y->kind == SYMBOL_TYPE || y->kind == SYMBOL_CONSTANT ||
           y->kind == SYMBOL_STRUCT_TEMPLATE;
}

void link_record(parser *p, const link_mark *m)
{
    uint32_t n = 0;
    if (p->n_functions != m->n_functions || p->t != m->to)
        return;
    for (const symbol *y = p->scope->symbols; y && y != m->symbols; y = y->next, n++)
        if (!is_type(y))
            return;
    if (!p->links)
        p->links = kernel_arena_new(p->arena, sizeof *p->links);
    shared_types *s = kernel_arena_new(p->arena, sizeof *s);
    *s = (shared_types){.hash = hash_tokens(m->from, m->to),
                        .from = m->from,
                        .to = m->to,
                        .in = p->scope,
                        .symbols = kernel_arena_get(p->arena, (n + 1) * sizeof *s->symbols)};
    for (symbol *y = p->scope->symbols; y && y != m->symbols; y = y->next)
        s->symbols[s->n_symbols++] = y;
    s->next = p->links->slots[s->hash % SLOTS];
    p->links->slots[s->hash % SLOTS] = s;
}

/* ---- definitions in other files --------------------------------------------------------------- */

static function_decl *definition_in(const scope *there, const function_decl *f)
{
    const symbol *y = symbol_here(there, f->name);
    if (!y || y->kind != SYMBOL_FUNCTION)
        return NULL;
    for (function_decl *g = y->as.functions; g; g = g->next)
        if (g->body && !g->used && !g->n_params && !(g->flags & IS_STATIC) &&
            (g->flags & (IS_DEVICE | IS_GLOBAL)) && function_same_parameters(g, f))
            return g;
    return NULL;
}

static void link_function(function_decl *f, const function_decl *definition)
{
    for (uint32_t i = 0; i < f->n_parameters; i++) {
        const kernel_token *init = f->parameters[i].init;
        f->parameters[i] = definition->parameters[i];
        f->parameters[i].init = init;
    }
    f->body = definition->body;
    f->scope = definition->scope;
    f->place = definition->place;
}

/* Completes the names of a scope from the scope of the same name in another file. */
static void link_scope(scope *s, scope *other)
{
    for (symbol *y = s->symbols; y; y = y->next) {
        const symbol *there = symbol_here(other, y->name);
        if (y->kind == SYMBOL_NAMESPACE && y->as.inside->parent == s && there &&
            there->kind == SYMBOL_NAMESPACE)
            link_scope(y->as.inside, there->as.inside);
        if (y->kind == SYMBOL_VAR && y->as.var && y->as.var->is_extern && there &&
            there->kind == SYMBOL_VAR && there->as.var && !there->as.var->is_extern &&
            !there->is_host) {
            y->as.var = there->as.var;
            y->constant = there->constant;
        }
        for (function_decl *f = y->kind == SYMBOL_FUNCTION ? y->as.functions : NULL; f;
             f = f->next) {
            const bool open = !f->body && !f->n_params && f->flags & (IS_DEVICE | IS_GLOBAL);
            function_decl *definition = open ? definition_in(other, f) : NULL;
            if (definition && f->flags & IS_GLOBAL)
                f->used = definition; /* there is one kernel, of the other file */
            else if (definition)
                link_function(f, definition);
        }
    }
}

void link_files(parser *p)
{
    for (int i = 0; i <= p->options->n_linked; i++)
        for (int k = 0; k <= p->options->n_linked; k++)
            if (i != k)
                link_scope(p->globals[i], p->globals[k]);
}
