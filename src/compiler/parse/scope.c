/* Names and their meanings.
 *
 * The symbols of a name are a list at the name itself, innermost and newest first. A lookup walks the scopes
 * outwards and takes the first symbol that is in one of them. Leaving a block removes its symbols. Template
 * parameters stay, one symbol for each instance: the list of their name is long, but the list of their scope
 * is short. */
#include "compiler/parse/parser.h"

enum { USING_DEPTH = 8 };

scope *scope_open(parser *p, scope *parent, bool is_local)
{
    scope *s = kernel_arena_new(p->arena, sizeof *s);
    s->parent = parent;
    s->is_local = is_local;
    return s;
}

void scope_close(parser *p, scope *s)
{
    for (symbol *y = s->symbols; y; y = y->next) {
        symbol **at_ = (symbol **)&y->name->symbol;
        while (*at_ && *at_ != y)
            at_ = &(*at_)->shadowed;
        if (*at_)
            *at_ = y->shadowed;
    }
    s->symbols = NULL;
    p->scope = s->parent;
}

symbol *symbol_new(parser *p, scope *s, symbol_kind kind, kernel_name *name, kernel_place place)
{
    symbol *y = kernel_arena_new(p->arena, sizeof *y);
    y->kind = kind;
    y->name = name;
    y->scope = s;
    y->place = place;
    return y;
}

symbol *symbol_add(parser *p, scope *s, symbol_kind kind, kernel_name *name, kernel_place place)
{
    symbol *y = symbol_new(p, s, kind, name, place);
    y->shadowed = name->symbol;
    name->symbol = y;
    y->next = s->symbols;
    s->symbols = y;
    return y;
}

void symbol_alias(parser *p, scope *s, const symbol *y, kernel_place place)
{
    symbol *alias = symbol_add(p, s, (symbol_kind)y->kind, y->name, place);
    symbol *shadowed = alias->shadowed, *next = alias->next;
    *alias = *y;
    alias->scope = s;
    alias->shadowed = shadowed;
    alias->next = next;
}

symbol *symbol_here(const scope *s, const kernel_name *name)
{
    symbol *own = s->symbols; /* a symbol is in both lists: search the shorter one */
    for (symbol *y = name->symbol; y && own; y = y->shadowed, own = own->next) {
        if (y->scope == s)
            return y;
        if (own->name == name)
            return own;
    }
    return NULL;
}

static symbol *find(const scope *s, const kernel_name *name, int depth)
{
    symbol *y = symbol_here(s, name);
    if (depth < USING_DEPTH)
        for (const scope_link *u = s->using; u && !y; u = u->next)
            y = find(u->to, name, depth + 1);
    return y;
}

symbol *symbol_in(const scope *s, const kernel_name *name) { return find(s, name, 0); }

symbol *symbol_find(parser *p, const kernel_name *name)
{
    if (!name->symbol)
        return NULL;
    for (const scope *s = p->scope; s; s = s->parent) {
        symbol *y = symbol_in(s, name);
        if (y && y->kind == SYMBOL_PACK && p->pack_at >= 0 && (uint32_t)p->pack_at < y->as.pack->n)
            return y->as.pack->at[p->pack_at];
        if (y)
            return part_load(p, y);
    }
    return NULL;
}

void scope_use(parser *p, scope *s, scope *other)
{
    for (const scope_link *u = s->using; u; u = u->next)
        if (u->to == other)
            return;
    s->using = kernel_arena_copy(p->arena, &(scope_link){other, s->using}, sizeof *s->using);
}

scope *symbol_inside(parser *p, symbol *y)
{
    if (y->kind == SYMBOL_NAMESPACE)
        return y->as.inside;
    if (y->kind != SYMBOL_TYPE)
        return NULL;
    return y->as.type && y->as.type->kind == TYPE_STRUCT ? type_members(p, y->as.type, y->place)
                                                         : y->members;
}

const char *scope_qualified(parser *p, const scope *s, const char *name)
{
    for (; s; s = s->parent)
        if (s->name)
            name = parser_format(p, "%s::%s", s->name->text, name);
    return name;
}

scope *scope_global(const parser *p)
{
    scope *s = p->scope;
    while (s && !s->is_global)
        s = s->parent;
    return s ? s : p->globals[0];
}

symbol *parse_name(parser *p, const kernel_token **last)
{
    symbol *y = NULL;
    bool first = true;
    scope *in = accept(p, TOKEN_SCOPE) ? scope_global(p) : NULL;
    for (;;) {
        *last = p->t;
        if (!at(p, TOKEN_NAME) || p->t->keyword)
            return NULL;
        kernel_name *name = p->t->as.name;
        y = in ? symbol_in(in, name) : first ? symbol_find(p, name) : NULL;
        /* CUDA names belong to the global namespace, although their scope is outside it. */
        if (!y && in && in->is_global)
            y = symbol_in(p->root, name);
        y = part_load(p, y);
        p->t++;
        first = false;
        if (!at(p, TOKEN_SCOPE) || p->split)
            return y;
        in = y ? symbol_inside(p, y) : NULL;
        if (!in) {
            if (y && y->kind != SYMBOL_NAMESPACE)
                return y;
            return NULL;
        }
        p->t++;
        if (at(p, TOKEN_STAR) && p->t[-3].kind == TOKEN_LPAREN)
            parser_fail_do(p, p->t->place,
                           "use a lambda, or a pointer to a function that takes the object",
                           "pointers to member functions are not supported");
    }
}

symbol *peek_name(parser *p)
{
    const kernel_token *back = p->t, *last;
    symbol *y = parse_name(p, &last);
    p->t = back;
    return y;
}
