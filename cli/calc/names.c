/* Names of the calculator: variables, constants and dtypes, and suggestions for unknown names. */
#include "calc/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct constant {
    const char *name;
    value is;
    bool assignable;
} constants[] = {
    {"true", {.kind = V_BOOL, .u.b = true}, false},
    {"True", {.kind = V_BOOL, .u.b = true}, false},
    {"false", {.kind = V_BOOL, .u.b = false}, false},
    {"False", {.kind = V_BOOL, .u.b = false}, false},
    {"None", {.kind = V_NONE}, false},
    {"none", {.kind = V_NONE}, false},
    {"inf", {.kind = V_FLOAT, .u.f = INFINITY}, false},
    {"nan", {.kind = V_FLOAT, .u.f = NAN}, false},
    {"newaxis", {.kind = V_NONE}, false},
    {"pi", {.kind = V_FLOAT, .u.f = M_PI}, true},
    {"e", {.kind = V_FLOAT, .u.f = M_E}, true},
    {"euler_gamma", {.kind = V_FLOAT, .u.f = 0.57721566490153286}, true},
    {"tau", {.kind = V_FLOAT, .u.f = 2 * M_PI}, true},
    {"Inf", {.kind = V_FLOAT, .u.f = INFINITY}, true},
    {"NaN", {.kind = V_FLOAT, .u.f = NAN}, true},
    {"NAN", {.kind = V_FLOAT, .u.f = NAN}, true},
};
enum { CONSTANTS = sizeof constants / sizeof *constants };

static const struct constant *constant_at(const char *name)
{
    for (int i = 0; i < CONSTANTS; i++)
        if (strcmp(constants[i].name, name) == 0)
            return &constants[i];
    return NULL;
}

bool calc_find_constant(const char *name, value *out)
{
    const struct constant *constant = constant_at(name);
    ig_dtype dtype = ig_dtype_parse(name);
    if (constant)
        *out = constant->is;
    else if (dtype != IG_DTYPE_NONE)
        *out = value_dtype(dtype);
    return constant || dtype != IG_DTYPE_NONE;
}

const char *calc_reserved(const char *name)
{
    const struct constant *constant = constant_at(name);
    if (constant)
        return constant->assignable ? NULL : "is a constant";
    const ig_dtype dtype = ig_dtype_parse(name);
    const bool own_name = dtype != IG_DTYPE_NONE && (strcmp(ig_dtype_name(dtype), name) == 0 ||
                                                     strcmp(ig_dtype_std_name(dtype), name) == 0);
    return own_name ? "is a dtype" : NULL;
}

const value *calc_find_name(const calc *c, const char *name)
{
    for (const local *l = c->locals; l; l = l->next)
        if (strcmp(l->name, name) == 0)
            return &l->v;
    const binding *b = c->in_library ? NULL : c->names;
    while (b && strcmp(b->name, name) != 0)
        b = b->next;
    return b ? &b->bound : NULL;
}

const char *calc_name_at(const calc *c, int i, const value **v)
{
    const binding *b = c->names;
    while (b && i-- > 0)
        b = b->next;
    *v = b ? &b->bound : NULL;
    return b ? b->name : NULL;
}

const char *calc_constant_at(int i) { return i < CONSTANTS ? constants[i].name : NULL; }

/* ---- names of other libraries ---------------------------------------------------------------- */

static const char *const modules[] = {
    "np", "numpy",  "jnp",    "mx",         "torch",       "jax",     "mlx",    "nn",
    "F",  "lax",    "linalg", "fft",        "random",      "special", "scipy",  "fast",
    "sp", "signal", "stats",  "functional", "core",        "math",    "losses", "cmath",
    "cp", "tf",     "xp",     "ops",        "initializers"};

static bool is_module_name(const char *name)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i], name) == 0)
            return true;
    return false;
}

bool is_module(const calc *c, const expr *n)
{
    if (n->kind == N_ATTRIBUTE)
        return is_module_name(n->name) && is_module(c, n->child);
    return n->kind == N_NAME && is_module_name(n->name) && !calc_find_name(c, n->name);
}

/* The alias "module.name". */
static const ig_alias *find_in_module(const char *module, const char *name)
{
    char both[3 * NAME_MOST_BYTES + 3];
    snprintf(both, sizeof both, "%s.%s", module, name);
    return ig_alias_find(both);
}

/* The short name of a package. */
static const char *short_name(const char *module)
{
    return strcmp(module, "numpy") == 0 ? "np" : strcmp(module, "mlx") == 0 ? "mx" : module;
}

/* The alias of a name after np.linalg: "np.linalg.name", "linalg.name" or "np.name". */
static const ig_alias *find_behind(const expr *path, const char *name)
{
    const expr *root = path;
    char both[2 * NAME_MOST_BYTES + 2];
    while (root->kind == N_ATTRIBUTE)
        root = root->child;
    snprintf(both, sizeof both, "%s.%s", short_name(root->name), path->name);
    const ig_alias *a = path != root ? find_in_module(both, name) : NULL;
    for (const expr *m = path; m && !a; m = m->kind == N_ATTRIBUTE ? m->child : NULL)
        a = find_in_module(short_name(m->name), name);
    return a;
}

const ig_alias *calc_random_method(const char *name) { return find_in_module("np.random", name); }

/* True if op may follow a module of random numbers: it makes or takes a key. gamma(x) does neither. */
static bool is_random_op(const ig_op *op)
{
    return strcmp(op->name, "key") == 0 || strcmp(op->name, "split") == 0 ||
           (op->n_params && strcmp(op->params[0].name, "key") == 0);
}

/* Advice for a name after a module. */
static const ig_advice *advice_for(const char *module, const char *name)
{
    char both[2 * NAME_MOST_BYTES + 2];
    snprintf(both, sizeof both, "%s.%s", strcmp(module, "F") == 0 ? "nn" : module, name);
    return ig_advice_find(both);
}

meaning calc_meaning(const calc *c, const expr *n)
{
    meaning m = {0};
    const bool qualified = n->kind == N_METHOD || n->kind == N_ATTRIBUTE,
               module = qualified && is_module(c, n->child);
    const ig_alias *a = module      ? find_behind(n->child, n->name)
                        : qualified ? find_in_module("method", n->name)
                                    : NULL;
    if (!a) {
        m.op = ig_op_find(n->name);
        if (m.op && module && strcmp(n->child->name, "random") == 0 && !is_random_op(m.op))
            return (meaning){0};
        m.own = m.op ? NULL : builtin_find(n->name);
        a = ig_alias_find(n->name);
        if (m.op && a && a->op)
            a = ig_alias_find(m.op->name);
        if (m.own)
            a = NULL;
    } else if (a->op) {
        m.op = ig_op_find(a->op);
    }
    m.define = a && a->expression ? a : NULL;
    if (!m.op && !m.own && !m.define)
        m.absent = advice_for(module ? n->child->name : qualified ? "method" : "", n->name);
    return m;
}

bool calc_fail_unknown(calc *c, const expr *n)
{
    bool call = n->kind != N_NAME;
    const meaning m = calc_meaning(c, n);
    nearest search = nearest_to(n->name);
    for (int i = 0; i < ig_op_count(); i++)
        nearest_offer(&search, ig_op_at(i)->name);
    for (int i = 0; i < ig_alias_count(); i++)
        if (!strchr(ig_alias_at(i)->name, '.'))
            nearest_offer(&search, ig_alias_at(i)->name);
    for (int i = 0; calc_builtin_at(i); i++)
        nearest_offer(&search, calc_builtin_at(i)->name);
    for (const binding *b = call ? NULL : c->names; b; b = b->next)
        nearest_offer(&search, b->name);
    for (int i = 0; !call && i < CONSTANTS; i++)
        nearest_offer(&search, constants[i].name);
    str hint = {0};
    if (m.absent)
        str_printf(&hint, "; %s", m.absent->text);
    else
        str_did_you_mean(&hint, &search);
    if (!hint.s && call)
        str_puts(&hint, "; 'ingot ops' lists all ops");
    calc_fail(c, n->where, "unknown %s '%s'%s", call ? "op" : "name", n->name,
              hint.s ? hint.s : "");
    str_free(&hint);
    return false;
}
