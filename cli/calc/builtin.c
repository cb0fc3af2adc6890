/* The calculator's own functions and the attributes of arrays. */
#include "calc/parts.h"

#include <string.h>

/* ---- functions ------------------------------------------------------------------------------ */

static bool argument_dtype(calc *c, const expr *n, const value *v, ig_dtype *out)
{
    *out = v->kind == V_DTYPE    ? v->u.dtype
           : v->kind == V_STRING ? ig_dtype_parse(v->u.s)
                                 : IG_DTYPE_NONE;
    if (v->kind == V_NONE || *out != IG_DTYPE_NONE)
        return true;
    return calc_fail(c, n->where, "dtype takes a dtype such as f32 or int64, not %s",
                     v->kind == V_STRING ? "this string" : value_kind_name(v->kind));
}

static bool run_array(calc *c, const expr *n, const value *args, value *out)
{
    ig_dtype dtype;
    if (!argument_dtype(c, n, &args[1], &dtype))
        return false;
    if (dtype == IG_DTYPE_NONE && value_is_number(&args[0]))
        dtype = args[0].kind == V_BOOL ? IG_BOOL : args[0].kind == V_INT ? IG_I64 : IG_F32;
    return calc_give(c, n->where, value_to_array(&args[0], dtype), out);
}

/* Returns a constant, which does not remember how it was computed. */
static bool run_compute(calc *c, const expr *n, const value *args, value *out)
{
    ig_array *x;
    if (!calc_to_array(c, n->where, &args[0], &x))
        return false;
    const void *data = ig_data(x);
    return calc_give(c, n->where, data ? ig_from_data(data, ig_shape(x), ig_dtype_of(x)) : NULL,
                     out);
}

static bool run_print(calc *c, const expr *n, const value *args, value *out)
{
    str t = {0};
    bool fine = print_value(&t, &args[0], c->options.full);
    if (fine && c->options.out && !c->muted)
        fprintf(c->options.out, "%s\n", t.s ? t.s : "");
    str_free(&t);
    *out = (value){0};
    return fine ? true : calc_fail_library(c, n->where);
}

/* ---- attributes; some are also functions, as in Python --------------------------------------- */

static bool get_shape(calc *c, span where, ig_array *x, value *out)
{
    (void)where;
    *out = value_ints(&c->scratch, ig_shape(x));
    return true;
}

static bool get_dtype(calc *c, span where, ig_array *x, value *out)
{
    (void)c, (void)where;
    *out = value_dtype(ig_dtype_of(x));
    return true;
}

static bool get_ndim(calc *c, span where, ig_array *x, value *out)
{
    (void)c, (void)where;
    *out = value_int(ig_ndim(x));
    return true;
}

static bool get_device(calc *c, span where, ig_array *x, value *out)
{
    (void)c, (void)where;
    *out = (value){.kind = V_STRING, .u.s = ig_array_device(x)};
    return true;
}

static bool get_size(calc *c, span where, ig_array *x, value *out)
{
    (void)c, (void)where;
    *out = value_int(ig_size(x));
    return true;
}

static bool get_reversed_axes(calc *c, span where, ig_array *x, value *out)
{
    int64_t axes[IG_MAX_NDIM] = {0};
    int n = ig_ndim(x);
    for (int i = 0; i < n; i++)
        axes[i] = n - 1 - i;
    return calc_give(c, where, ig_permute_dims(x, (ig_ints){axes, n}), out);
}

static bool get_matrix_transpose(calc *c, span where, ig_array *x, value *out)
{
    return call_arrays(c, where, "matrix_transpose", &x, 1, out);
}

static bool get_length(calc *c, span where, ig_array *x, value *out)
{
    *out = value_int(ig_dim(x, 0));
    return ig_ndim(x) > 0 || calc_fail(c, where, "a 0-d array has no length");
}

typedef bool getter(calc *c, span where, ig_array *x, value *out);

static const struct {
    const char *name;
    getter *get;
} attributes[] = {{"T", get_reversed_axes}, {"mT", get_matrix_transpose}, {"shape", get_shape},
                  {"dtype", get_dtype},     {"ndim", get_ndim},           {"size", get_size},
                  {"device", get_device}};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

const char *calc_attribute_at(int i) { return i < ATTRIBUTES ? attributes[i].name : NULL; }

bool attribute_eval(calc *c, const expr *n, value *out)
{
    value x;
    ig_array *array;
    nearest search = nearest_to(n->name);
    if (is_module(c, n->child)) {
        expr plain = *n; /* np.pi */
        plain.kind = N_NAME;
        return calc_eval(c, &plain, out);
    }
    if (n->child->kind == N_NAME && !calc_find_name(c, n->child->name) &&
        !calc_find_constant(n->child->name, &x))
        return calc_fail_unknown(c, n->child);
    if (!calc_eval(c, n->child, &x))
        return false;
    if (x.kind == V_NAMED)
        return calc_named_item(c, n->where, &x, n->name, out);
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (strcmp(attributes[i].name, n->name) == 0)
            return calc_to_array(c, n->where, &x, &array) &&
                   attributes[i].get(c, n->where, array, out);
        nearest_offer(&search, attributes[i].name);
    }
    if (ig_op_find(n->name))
        return calc_fail(c, n->where, "'%s' is an op; call it: x.%s()", n->name, n->name);
    str hint = {0};
    str_did_you_mean(&hint, &search);
    calc_fail(c, n->where, "arrays have no '%s'%s", n->name, hint.s ? hint.s : "");
    str_free(&hint);
    return false;
}

static bool run_getter(calc *c, const expr *n, const value *v, getter *get, value *out)
{
    ig_array *x;
    return calc_to_array(c, n->where, v, &x) && get(c, n->where, x, out);
}

static bool run_shape(calc *c, const expr *n, const value *args, value *out)
{
    return run_getter(c, n, &args[0], get_shape, out);
}

static bool run_dtype(calc *c, const expr *n, const value *args, value *out)
{
    return run_getter(c, n, &args[0], get_dtype, out);
}

static bool run_len(calc *c, const expr *n, const value *args, value *out)
{
    if (!value_has_parts(&args[0]))
        return run_getter(c, n, &args[0], get_length, out);
    *out = value_int(args[0].u.items.n);
    return true;
}

/* ---- the table and the call ------------------------------------------------------------------ */

static const builtin builtins[] = {
    {"array",
     {"x", "dtype"},
     1,
     "x, dtype=None",
     "x (a list, a number, an array) as an array",
     run_array},
    {"asarray", {"x", "dtype"}, 1, "x, dtype=None", "the same", run_array},
    {"compute", {"x"}, 1, "x", "x, computed now: data for what follows", run_compute},
    {"dtype", {"x"}, 1, "x", "the dtype of x", run_dtype},
    {"grad",
     {"loss", "x"},
     2,
     "loss, x",
     "the derivative of loss, a scalar, by x: a name or an array; by [x, y]: a tuple",
     run_grad},
    {"kernel",
     {NULL},
     0,
     "path, name, *arguments, grid=None, block=256, shared=0, defines=None, gradient=None",
     "a kernel in CUDA C: its parameters by name or in order; results by their shape",
     run_kernel},
    {"len", {"x"}, 1, "x", "the length of the first axis, or of a tuple", run_len},
    {"load",
     {"path"},
     1,
     "path",
     "the array of an .npy, .csv, .tsv or .txt file; those of an .npz or .safetensors file, by "
     "name: "
     "load(path)[\"x\"]",
     run_load},
    {"print", {"x"}, 1, "x", "prints x", run_print},
    {"save",
     {NULL},
     0,
     "path, x",
     "writes x as an .npy, .csv, .tsv or .txt file; save(path, x=a, y=b) writes named arrays as "
     ".npz or "
     ".safetensors",
     run_save},
    {"shape", {"x"}, 1, "x", "the shape of x, as a tuple", run_shape},
};
enum { BUILTINS = sizeof builtins / sizeof *builtins };

const builtin *calc_builtin_at(int i) { return i < BUILTINS ? &builtins[i] : NULL; }

const builtin *builtin_find(const char *name)
{
    for (int i = 0; i < BUILTINS; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    return NULL;
}

/* The parameter that an argument belongs to; -1: none. */
static int param_of(const builtin *b, const expr *argument, int position)
{
    for (int i = 0; i < BUILTIN_PARAMS && b->params[i]; i++)
        if (argument->kind == N_KEYWORD ? strcmp(b->params[i], argument->name) == 0 : i == position)
            return i;
    return -1;
}

bool calc_call_builtin(calc *c, const expr *n, const builtin *b, value *out)
{
    value args[BUILTIN_PARAMS] = {{0}};
    bool given[BUILTIN_PARAMS] = {false};
    int position = 0;
    if (!b->params[0]) /* run reads its arguments itself */
        return b->run(c, n, args, out);
    for (const expr *a = n->child; a; a = a->next, position++) {
        int i = param_of(b, a, position);
        if (i < 0 || given[i])
            return calc_fail(c, a->where, "this argument is not one of %s(%s)", b->name,
                             b->signature);
        if (!calc_eval(c, a->kind == N_KEYWORD ? a->child : a, &args[i]))
            return false;
        given[i] = true;
    }
    for (int i = 0; i < b->required; i++)
        if (!given[i])
            return calc_fail(c, n->where, "%s(%s) needs the argument '%s'", b->name, b->signature,
                             b->params[i]);
    return b->run(c, n, args, out);
}
