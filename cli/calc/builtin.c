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

static bool get_conjugate_transpose(calc *c, span where, ig_array *x, value *out)
{
    return call_arrays(c, where, "matrix_transpose", &x, 1, out) &&
           call_arrays(c, where, "conj", &out->u.array, 1, out);
}

static bool get_flat(calc *c, span where, ig_array *x, value *out)
{
    return calc_give(c, where, ig_reshape(x, IG_SHAPE(-1)), out);
}

static bool get_itemsize(calc *c, span where, ig_array *x, value *out)
{
    (void)c, (void)where;
    *out = value_int((int64_t)ig_dtype_bytes(ig_dtype_of(x)));
    return true;
}

static bool get_nbytes(calc *c, span where, ig_array *x, value *out)
{
    (void)c, (void)where;
    *out = value_int(ig_size(x) * (int64_t)ig_dtype_bytes(ig_dtype_of(x)));
    return true;
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
    const char *op; /* instead */
} attributes[] = {{"T", get_reversed_axes, NULL},
                  {"mT", NULL, "matrix_transpose"},
                  {"shape", get_shape, NULL},
                  {"dtype", get_dtype, NULL},
                  {"ndim", get_ndim, NULL},
                  {"size", get_size, NULL},
                  {"device", get_device, NULL},
                  {"mH", get_conjugate_transpose, NULL},
                  {"H", get_conjugate_transpose, NULL},
                  {"real", NULL, "real"},
                  {"imag", NULL, "imag"},
                  {"flat", get_flat, NULL},
                  {"itemsize", get_itemsize, NULL},
                  {"nbytes", get_nbytes, NULL}};
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
    if (x.kind == V_NAMED || x.names)
        return calc_named_item(c, n->where, &x, n->name, out);
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (strcmp(attributes[i].name, n->name) == 0)
            return calc_to_array(c, n->where, &x, &array) &&
                   (attributes[i].op ? call_arrays(c, n->where, attributes[i].op, &array, 1, out)
                                     : attributes[i].get(c, n->where, array, out));
        nearest_offer(&search, attributes[i].name);
    }
    const meaning m = calc_meaning(c, n);
    if (m.op || m.define)
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

static bool run_ndim(calc *c, const expr *n, const value *args, value *out)
{
    return run_getter(c, n, &args[0], get_ndim, out);
}

static bool run_size(calc *c, const expr *n, const value *args, value *out)
{
    int64_t axis;
    ig_array *x;
    if (args[1].kind == V_NONE)
        return run_getter(c, n, &args[0], get_size, out);
    if (!calc_to_array(c, n->where, &args[0], &x) || !calc_to_int(c, n->where, &args[1], 0, &axis))
        return false;
    axis = axis < 0 ? axis + ig_ndim(x) : axis;
    *out = value_int(ig_dim(x, (int)axis));
    return (axis >= 0 && axis < ig_ndim(x)) ||
           calc_fail(c, n->where, "x has no axis %lld", (long long)axis);
}

/* ---- Python's functions of lists ------------------------------------------------------------- */

static value list_of(value *items, int n, value_kind kind)
{
    return (value){.kind = kind, .u = {.items = {items, n}}};
}

static bool run_range(calc *c, const expr *n, const value *args, value *out)
{
    int64_t start, stop = 0, step;
    if (!calc_to_int(c, n->where, &args[0], 0, &start) ||
        !calc_to_int(c, n->where, &args[1], 0, &stop) ||
        !calc_to_int(c, n->where, &args[2], 1, &step))
        return false;
    if (args[1].kind == V_NONE)
        stop = start, start = 0;
    if (step == 0)
        return calc_fail(c, n->where, "the step of a range is not 0");
    const uint64_t distance = step > 0 ? (stop > start ? (uint64_t)stop - (uint64_t)start : 0)
                                       : (start > stop ? (uint64_t)start - (uint64_t)stop : 0);
    const uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step,
                   count = (distance + stride - 1) / stride;
    if (count > LOOPS_MOST)
        return calc_fail(c, n->where,
                         "a range has at most %d numbers here; use arange(stop) for an array",
                         LOOPS_MOST);
    value *items = arena_get(&c->scratch, sizeof *items * (size_t)(count + 1));
    for (uint64_t i = 0; i < count; i++)
        items[i] = value_int(start + (int64_t)i * step);
    *out = list_of(items, (int)count, V_LIST);
    return true;
}

/* Pairs of items of two lists; as many as the shorter has. */
static bool run_zip(calc *c, const expr *n, const value *args, value *out)
{
    value x, y;
    if (!calc_items(c, n->where, &args[0], &x) || !calc_items(c, n->where, &args[1], &y))
        return false;
    const int count = x.u.items.n < y.u.items.n ? x.u.items.n : y.u.items.n;
    value *pairs = arena_get(&c->scratch, sizeof *pairs * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        value *pair = arena_get(&c->scratch, sizeof *pair * 2);
        pair[0] = x.u.items.v[i];
        pair[1] = y.u.items.v[i];
        pairs[i] = list_of(pair, 2, V_TUPLE);
    }
    *out = list_of(pairs, count, V_LIST);
    return true;
}

/* Joins nested lists: items of the innermost ones along the last axis, those around them along the axis before it. depth is
 * how many lists are around an array, *rank the axes that all arrays get: 0 to find the most of them. */
static bool block_of(calc *c, span where, const value *v, int depth, int *rank, ig_array **out)
{
    if (depth == 0) {
        int64_t shape[IG_MAX_NDIM];
        ig_array *x;
        if (v->kind == V_LIST)
            return calc_fail(c, where, "block: lists are nested unequally");
        if (!calc_to_array(c, where, v, &x))
            return false;
        const ig_ints own = ig_shape(x);
        if (!out) {
            *rank = own.n > *rank ? own.n : *rank;
            return true;
        }
        for (int i = 0; i < *rank; i++)
            shape[i] = i < *rank - own.n ? 1 : own.v[i - (*rank - own.n)];
        *out = ig_reshape(x, (ig_ints){shape, *rank});
        return *out ? true : calc_fail_library(c, where);
    }
    if (v->kind != V_LIST || v->u.items.n == 0)
        return calc_fail(c, where,
                         v->kind == V_LIST ? "block: a list is empty"
                                           : "block: lists are nested unequally");
    const int n = v->u.items.n;
    ig_array **parts = arena_get(&c->scratch, sizeof *parts * (size_t)n);
    for (int i = 0; i < n; i++)
        if (!block_of(c, where, &v->u.items.v[i], depth - 1, rank, out ? &parts[i] : NULL))
            return false;
    if (!out)
        return true;
    *out = ig_concat(parts, n, IG_AXES(-depth));
    return *out ? true : calc_fail_library(c, where);
}

static bool run_block(calc *c, const expr *n, const value *args, value *out)
{
    int depth = 0, rank;
    for (const value *v = &args[0]; v->kind == V_LIST && v->u.items.n > 0; v = v->u.items.v)
        depth++;
    if (depth > IG_MAX_NDIM)
        return calc_fail(c, n->where, "block: lists are nested more than %d deep", IG_MAX_NDIM);
    rank = depth;
    ig_array *x = NULL;
    if (!block_of(c, n->where, &args[0], depth, &rank, NULL) ||
        !block_of(c, n->where, &args[0], depth, &rank, &x))
        return false;
    return calc_give(c, n->where, x, out);
}

static bool run_enumerate(calc *c, const expr *n, const value *args, value *out)
{
    value items, numbers[2] = {{0}};
    if (!calc_items(c, n->where, &args[0], &items))
        return false;
    const value stop[3] = {value_int(items.u.items.n), {0}, {0}};
    if (!run_range(c, n, stop, &numbers[0]))
        return false;
    numbers[1] = items;
    return run_zip(c, n, numbers, out);
}

static bool run_list(calc *c, const expr *n, const value *args, value *out)
{
    if (!calc_items(c, n->where, &args[0], out))
        return false;
    out->kind = V_LIST;
    out->names = NULL;
    return true;
}

static bool run_tuple(calc *c, const expr *n, const value *args, value *out)
{
    if (!run_list(c, n, args, out))
        return false;
    out->kind = V_TUPLE;
    return true;
}

static bool run_item(calc *c, const expr *n, const value *args, value *out)
{
    ig_array *x;
    if (value_is_number(&args[0])) {
        *out = args[0];
        return true;
    }
    if (!calc_may_read(c, n->where) || !calc_to_array(c, n->where, &args[0], &x))
        return false;
    if (ig_size(x) != 1)
        return calc_fail(c, n->where, "item takes an array of one element, and this one has %lld",
                         (long long)ig_size(x));
    if (ig_isdtype(ig_dtype_of(x), "complex floating"))
        return calc_give(c, n->where, x, out);
    const void *data = ig_data(x);
    if (!data)
        return calc_fail_library(c, n->where);
    *out = value_element(data, ig_dtype_of(x), 0);
    return true;
}

/* ---- storage formats ---- */

static bool run_quantize(calc *c, const expr *n, const value *args, value *out)
{
    ig_array *x;
    int64_t block;
    if (args[1].kind != V_STRING)
        return calc_fail(c, n->where, "format is a name in quotes, such as \"q4_0\"");
    return calc_may_read(c, n->where) && calc_to_array(c, n->where, &args[0], &x) &&
           calc_to_int(c, n->where, &args[2], 0, &block) &&
           calc_give(c, n->where, ig_quantize(x, args[1].u.s, block), out);
}

static bool run_packed_bytes(calc *c, const expr *n, const value *args, value *out)
{
    ig_array *x;
    return calc_may_read(c, n->where) && calc_to_array(c, n->where, &args[0], &x) &&
           calc_give(c, n->where, ig_packed_bytes(x), out);
}

/* ---- random keys without a key, as in NumPy -------------------------------------------------- */

static bool run_seed(calc *c, const expr *n, const value *args, value *out)
{
    *out = (value){0};
    c->quiet = true;
    c->streams[c->stream].draws = 0;
    return calc_to_int(c, n->where, &args[0], 0, &c->streams[c->stream].seed);
}

static bool run_next_key(calc *c, const expr *n, const value *args, value *out)
{
    random_stream *s = &c->streams[c->stream];
    (void)args;
    return calc_give(c, n->where, ig_fold_in(ig_key(s->seed, "philox"), s->draws++), out);
}

static bool run_default_rng(calc *c, const expr *n, const value *args, value *out)
{
    if (c->n_streams + 1 >= STREAMS_MOST)
        return calc_fail(c, n->where, "there are %d random generators already", STREAMS_MOST - 1);
    *out = (value){.kind = V_RANDOM, .u.i = ++c->n_streams};
    return calc_to_int(c, n->where, &args[0], 0, &c->streams[c->n_streams].seed);
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
    {"block",
     {"arrays"},
     1,
     "arrays",
     "nested lists of arrays, joined: the innermost along the last axis, lists around them along "
     "the axis before it",
     run_block},
    {"compute", {"x"}, 1, "x", "x, computed now: data for what follows", run_compute},
    {"default_rng",
     {"seed"},
     0,
     "seed=0",
     "a random generator with NumPy's methods: default_rng(1).normal(size=3)",
     run_default_rng},
    {"dtype", {"x"}, 1, "x", "the dtype of x", run_dtype},
    {"enumerate", {"x"}, 1, "x", "the items of x with their numbers, for loops", run_enumerate},
    {"grad",
     {NULL},
     0,
     "loss, x",
     "the derivative of loss, a scalar, by x: a name or an array; by [x, y]: a tuple. grad(f, "
     "argnums=0): the gradient of a "
     "function, as a function",
     run_grad},
    {"hessian",
     {NULL},
     0,
     "f, argnums=0",
     "the matrix of second derivatives of a function, as a function",
     run_hessian},
    {"item", {"x"}, 1, "x", "the element of an array of one element, as a number", run_item},
    {"jacfwd", {NULL}, 0, "f, argnums=0", "the same as jacobian", run_jacobian},
    {"jacobian",
     {NULL},
     0,
     "f, argnums=0",
     "all derivatives of a function, as a function",
     run_jacobian},
    {"jacrev", {NULL}, 0, "f, argnums=0", "the same as jacobian", run_jacobian},
    {"jvp",
     {NULL},
     0,
     "f, primals, tangents",
     "f(primals), and its derivative in the direction of tangents",
     run_jvp},
    {"kernel",
     {NULL},
     0,
     "path, name, *arguments, grid=None, block=256, shared=0, defines=None, gradient=None",
     "a kernel in CUDA C: its parameters by name or in order; results by their shape",
     run_kernel},
    {"len", {"x"}, 1, "x", "the length of the first axis, or of a tuple", run_len},
    {"list", {"x"}, 1, "x", "the items of x as a list", run_list},
    {"load",
     {"path"},
     1,
     "path",
     "the array of an .npy, .csv, .tsv or .txt file; the arrays of an .npz, .safetensors or .gguf "
     "file, "
     "by "
     "name: "
     "load(path)[\"x\"]",
     run_load},
    {"loadtxt",
     {"path", "delimiter", "skiprows"},
     1,
     "path, delimiter=None, skiprows=0",
     "the numbers of a text file as f64, with blanks or a delimiter between them",
     run_loadtxt},
    {"ndim", {"x"}, 1, "x", "the number of axes of x", run_ndim},
    {"next_key",
     {NULL},
     0,
     "",
     "a new random key at each call; seed(n) begins again",
     run_next_key},
    {"open",
     {"path"},
     1,
     "path",
     "an array in a Zarr store or another file, which is read block by block when it is needed",
     run_open},
    {"packed_bytes",
     {"x"},
     1,
     "x",
     "the bytes of an array that quantize made, as u8",
     run_packed_bytes},
    {"print", {NULL}, 0, "*values, sep=\" \", end=\"\\n\"", "prints values", run_print},
    {"quantize",
     {"x", "format", "block"},
     2,
     "x, format, block=None",
     "x in blocks of a storage format: \"q4_0\", \"q8_0\", \"f8_e4m3\" and others",
     run_quantize},
    {"range",
     {"start", "stop", "step"},
     1,
     "start, stop=None, step=1",
     "integers, for loops; one argument is stop",
     run_range},
    {"save",
     {NULL},
     0,
     "path, x, chunks=\"auto\", shards=None, compressors=\"auto\", fill_value=0, attributes=None, "
     "dimension_names=None, overwrite=True",
     "writes x as an .npy, .csv, .tsv or .txt file, or block by block as a .zarr store or an .h5 "
     "file, which have options; save(path, x=a, y=b) writes named arrays as .npz or .safetensors",
     run_save},
    {"savez",
     {NULL},
     0,
     "path, *arrays",
     "save with the path of an .npz file; arrays without a name are arr_0, arr_1, ...",
     run_save},
    {"savez_compressed", {NULL}, 0, "path, *arrays", "savez; the file is not compressed", run_save},
    {"seed", {"n"}, 1, "n", "begins the random keys of next_key again", run_seed},
    {"shape", {"x"}, 1, "x", "the shape of x, as a tuple", run_shape},
    {"size",
     {"x", "axis"},
     1,
     "x, axis=None",
     "the number of elements of x, or the length of an axis",
     run_size},
    {"str", {"x"}, 1, "x", "x as text", run_str},
    {"tuple", {"x"}, 1, "x", "the items of x as a tuple", run_tuple},
    {"value_and_grad",
     {NULL},
     0,
     "f, argnums=0",
     "a function that gives the value of f and its gradient",
     run_value_and_grad},
    {"vjp",
     {NULL},
     0,
     "f, primals, cotangents",
     "f(primals), and the gradients for a gradient of its result",
     run_vjp},
    {"vmap",
     {NULL},
     0,
     "f, in_axes=0, out_axes=0",
     "f mapped over an axis of its arguments, as a function; None in in_axes: an argument is the "
     "same for all",
     run_vmap},
    {"zip", {"x", "y"}, 2, "x, y", "pairs of items, for loops", run_zip},
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
    bool set[BUILTIN_PARAMS] = {false};
    int position = 0;
    if (!b->params[0]) /* run reads its arguments itself */
        return b->run(c, n, args, out);
    for (const expr *a = n->child; a; a = a->next, position++) {
        int i = param_of(b, a, position);
        if (i < 0 || set[i])
            return calc_fail(c, a->where, "this argument is not one of %s(%s)", b->name,
                             b->signature);
        if (!calc_eval(c, a->kind == N_KEYWORD ? a->child : a, &args[i]))
            return false;
        set[i] = true;
    }
    for (int i = 0; i < b->required; i++)
        if (!set[i])
            return calc_fail(c, n->where, "%s(%s) needs the argument '%s'", b->name, b->signature,
                             b->params[i]);
    return b->run(c, n, args, out);
}
