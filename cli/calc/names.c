/* Names of the calculator: variables, constants and dtypes, and suggestions for unknown names. */
#include "calc/parts.h"

#include <math.h>
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
    if (ig_dtype_parse(name) != IG_DTYPE_NONE)
        return "is a dtype";
    if (ig_op_find(name))
        return "is an op";
    return builtin_find(name) ? "is a function" : NULL;
}

const binding *calc_find_name(const calc *c, const char *name)
{
    const binding *b = c->names;
    while (b && strcmp(b->name, name) != 0)
        b = b->next;
    return b;
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

static const char *const modules[] = {"np", "numpy", "jnp", "mx", "torch"};

bool is_module(const calc *c, const expr *n)
{
    if (n->kind == N_ATTRIBUTE)
        return strcmp(n->name, "linalg") == 0 && is_module(c, n->child);
    for (size_t i = 0; n->kind == N_NAME && i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i], n->name) == 0)
            return !calc_find_name(c, n->name);
    return false;
}

/* Functions of PyTorch whose results differ from the op of the same name. */
static const struct {
    const char *name;
    int arguments; /* if there are at least this many */
    const char *advice;
} torch_differs[] = {
    {"max", 2, "returns values and indices; write max(x, axis) or argmax(x, axis)"},
    {"min", 2, "returns values and indices; write min(x, axis) or argmin(x, axis)"},
    {"nonzero", 1, "returns a matrix; write stack(nonzero(x), axis=1)"},
    {"sort", 1, "returns values and indices; write sort(x) or argsort(x)"},
    {"split", 2, "takes the length of a part; write split(x, indices)"},
    {"std", 1, "divides by n - 1; write std(x, correction=1)"},
    {"take", 2, "takes from the flattened array; write take(reshape(x, -1), indices)"},
    {"var", 1, "divides by n - 1; write var(x, correction=1)"},
};

const char *module_refuses(const expr *call)
{
    int arguments = 0;
    for (const expr *a = call->child->next; a; a = a->next)
        arguments++;
    if (call->child->kind != N_NAME || strcmp(call->child->name, "torch") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof torch_differs / sizeof *torch_differs; i++)
        if (strcmp(torch_differs[i].name, call->name) == 0 &&
            arguments >= torch_differs[i].arguments)
            return torch_differs[i].advice;
    return NULL;
}

/* Names in other libraries, and what to write here. */
static const struct {
    const char *name, *ours;
} foreign_names[] = {
    {"absolute", "abs(x)"},
    {"amax", "max(x)"},
    {"amin", "min(x)"},
    {"arccos", "acos(x)"},
    {"arccosh", "acosh(x)"},
    {"arcsin", "asin(x)"},
    {"arcsinh", "asinh(x)"},
    {"arctan", "atan(x)"},
    {"arctan2", "atan2(x1, x2)"},
    {"arctanh", "atanh(x)"},
    {"argpartition", "topk(x, k) or argsort(x)"},
    {"argwhere", "stack(nonzero(x), axis=1)"},
    {"array_split", "split(x, indices)"},
    {"backward", "grad(loss, x)"},
    {"bmm", "x1 @ x2"},
    {"cat", "concat(arrays)"},
    {"clamp", "clip(x, min, max)"},
    {"concatenate", "concat(arrays)"},
    {"cummax", "cumulative_max(x)"},
    {"cummin", "cumulative_min(x)"},
    {"cumprod", "cumulative_prod(x)"},
    {"cumsum", "cumulative_sum(x)"},
    {"degrees", "rad2deg(x)"},
    {"detach", "stop_gradient(x)"},
    {"div", "x1 / x2"},
    {"dot", "x1 @ x2"},
    {"float", "astype(x, f32)"},
    {"flatten", "reshape(x, -1)"},
    {"hard_swish", "hardswish(x)"},
    {"hardtanh", "hard_tanh(x)"},
    {"hstack", "concat(arrays, axis=1) for matrices, concat(arrays) for vectors"},
    {"identity", "eye(n)"},
    {"index_select", "take(x, indices, axis)"},
    {"int", "astype(x, i64)"},
    {"invert", "~x"},
    {"left_shift", "x1 << x2"},
    {"linear", "x @ w.T + b"},
    {"logsigmoid", "log_sigmoid(x)"},
    {"masked_select", "mask_select(x, mask)"},
    {"mm", "x1 @ x2"},
    {"mod", "remainder(x1, x2)"},
    {"mse_loss", "mse(x1, x2)"},
    {"l1_loss", "l1(x1, x2)"},
    {"mul", "x1 * x2"},
    {"neg", "-x"},
    {"nll_loss", "cross_entropy(logits, labels)"},
    {"partition", "sort(x) or topk(x, k)"},
    {"permute", "permute_dims(x, axes)"},
    {"power", "pow(x1, x2)"},
    {"product", "prod(x)"},
    {"PRNGKey", "key(seed)"},
    {"radians", "deg2rad(x)"},
    {"rand", "uniform(key(0), shape)"},
    {"randn", "normal(key(0), shape)"},
    {"range", "arange(stop)"},
    {"ravel", "reshape(x, -1)"},
    {"right_shift", "x1 >> x2"},
    {"sub", "x1 - x2"},
    {"swish", "silu(x)"},
    {"transpose", "permute_dims(x, axes) or x.T"},
    {"trapz", "trapezoid(y, x)"},
    {"true_divide", "divide(x1, x2)"},
    {"unique", "unique_values(x)"},
    {"unsqueeze", "expand_dims(x, axis)"},
    {"value_and_grad", "grad(loss, x)"},
    {"vdot", "sum(x1 * x2)"},
    {"vstack", "concat(arrays, axis=0) for matrices, stack(arrays) for vectors"},
    {"random", "normal(key(0), shape), uniform, randint, ... with a key"},
    {"relu6", "clip(x, 0, 6)"},
    {"tensor", "array(x)"},
};

static const char *find_foreign(const char *name)
{
    for (size_t i = 0; i < sizeof foreign_names / sizeof *foreign_names; i++)
        if (strcmp(foreign_names[i].name, name) == 0)
            return foreign_names[i].ours;
    return NULL;
}

bool calc_fail_unknown(calc *c, const expr *n)
{
    bool call = n->kind != N_NAME;
    const char *foreign = find_foreign(n->name);
    nearest search = nearest_to(n->name);
    for (int i = 0; i < ig_op_count(); i++)
        nearest_offer(&search, ig_op_at(i)->name);
    for (int i = 0; calc_builtin_at(i); i++)
        nearest_offer(&search, calc_builtin_at(i)->name);
    for (const binding *b = call ? NULL : c->names; b; b = b->next)
        nearest_offer(&search, b->name);
    for (int i = 0; !call && i < CONSTANTS; i++)
        nearest_offer(&search, constants[i].name);
    str hint = {0};
    if (foreign)
        str_printf(&hint, "; use %s", foreign);
    else
        str_did_you_mean(&hint, &search);
    if (!hint.s && call)
        str_puts(&hint, "; 'ingot ops' lists all ops");
    calc_fail(c, n->where, "unknown %s '%s'%s", call ? "op" : "name", n->name,
              hint.s ? hint.s : "");
    str_free(&hint);
    return false;
}
