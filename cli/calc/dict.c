/* Dicts: values by name, as in Python. Keys are strings. The arrays of an .npz file are such a value, too. */
#include "calc/parts.h"

#include <string.h>

static value dict_new(calc *c, int room)
{
    value *items = arena_get(&c->scratch, sizeof *items * (size_t)(room + 1));
    const char **names = arena_get(&c->scratch, sizeof *names * (size_t)(room + 1));
    return (value){.kind = V_NAMED, .u = {.items = {items, 0}}, .names = names};
}

/* Sets an item of a dict that has room for one more. */
static void dict_set(value *d, const char *name, const value *v)
{
    value *items = (value *)d->u.items.v;
    const char **names = (const char **)d->names;
    int i = 0;
    while (i < d->u.items.n && strcmp(names[i], name) != 0)
        i++;
    items[i] = *v;
    names[i] = name;
    d->u.items.n += i == d->u.items.n;
}

bool dict_eval(calc *c, const expr *n, value *out)
{
    int count = 0;
    for (const expr *e = n->child; e; e = e->next)
        count++;
    *out = dict_new(c, count / 2);
    for (const expr *key = n->child; key; key = key->next->next) {
        value name, v;
        if (!calc_eval(c, key, &name) || !calc_eval(c, key->next, &v))
            return false;
        if (name.kind != V_STRING)
            return calc_fail(c, key->where, "a key is a string in quotes here, not %s",
                             value_kind_name(name.kind));
        dict_set(out, name.u.s, &v);
    }
    return true;
}

bool dict_assign(calc *c, const expr *key, const value *d, const value *v, value *out)
{
    value name;
    if (key->kind == N_SLICE || key->next || !calc_eval(c, key, &name) || name.kind != V_STRING)
        return calc_fail(c, key->where, "a dict takes one key in quotes");
    *out = dict_new(c, d->u.items.n + 1);
    for (int i = 0; i < d->u.items.n; i++)
        dict_set(out, d->names[i], &d->u.items.v[i]);
    dict_set(out, name.u.s, v);
    return true;
}

value dict_keys(calc *c, const value *d)
{
    const int n = d->u.items.n;
    value *keys = arena_get(&c->scratch, sizeof *keys * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        keys[i] = (value){.kind = V_STRING, .u.s = d->names[i]};
    return (value){.kind = V_TUPLE, .u = {.items = {keys, n}}};
}

static value dict_pairs(calc *c, const value *d)
{
    value keys = dict_keys(c, d);
    const int n = d->u.items.n;
    value *pairs = arena_get(&c->scratch, sizeof *pairs * (size_t)(n + 1));
    for (int i = 0; i < n; i++) {
        value *pair = arena_get(&c->scratch, sizeof *pair * 2);
        pair[0] = keys.u.items.v[i];
        pair[1] = d->u.items.v[i];
        pairs[i] = (value){.kind = V_TUPLE, .u = {.items = {pair, 2}}};
    }
    return (value){.kind = V_TUPLE, .u = {.items = {pairs, n}}};
}

/* d.get(key, other) */
static bool dict_get(calc *c, const expr *n, const value *d, value *out)
{
    given *args;
    int count;
    if (!arguments_eval(c, n->child->next, false, &args, &count))
        return false;
    if (count < 1 || count > 2 || args[0].v.kind != V_STRING)
        return calc_fail(c, n->where, "get takes a key in quotes, and another value");
    const value *item = value_named(d, args[0].v.u.s);
    *out = item ? *item : count == 2 ? args[1].v : (value){0};
    return true;
}

bool dict_method(calc *c, const expr *n, bool *is_dict, value *out)
{
    static const char *const methods[] = {"keys", "values", "items", "get"};
    int which = -1;
    for (int i = 0; i < 4 && n->kind == N_METHOD; i++)
        if (strcmp(methods[i], n->name) == 0)
            which = i;
    value d;
    if (which < 0 || is_module(c, n->child) || n->child->kind == N_LITERAL)
        return true;
    if (!calc_eval(c, n->child, &d))
        return (*is_dict = true, false);
    *is_dict = d.kind == V_NAMED;
    if (!*is_dict)
        return true;
    if (which == 3)
        return dict_get(c, n, &d, out);
    if (n->child->next)
        return calc_fail(c, n->where, "%s takes no arguments", n->name);
    *out = which == 0   ? dict_keys(c, &d)
           : which == 2 ? dict_pairs(c, &d)
                        : (value){.kind = V_TUPLE, .u = {.items = d.u.items}};
    return true;
}
