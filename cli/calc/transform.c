/* Functions of functions: vmap, grad, value_and_grad, jacobian, hessian, vjp, jvp. */
#include "calc/parts.h"

#include <string.h>

/* ---- making ----------------------------------------------------------------------------------- */

static value transform_new(calc *c, function_kind kind, const user_function *inner,
                           const value *first, const value *second)
{
    user_function *f = arena_get(&c->scratch, sizeof *f);
    *f = (user_function){
        .kind = kind, .name = inner->name, .inner = inner, .options = {*first, *second}};
    return (value){.kind = V_FUNCTION, .u.function = f};
}

/* Reads the arguments of a transform: a function, then up to two options by position or keyword. *is_function is false if
 * the first argument is another value. */
static bool transform_read(calc *c, const expr *n, function_kind kind, const char *const names[2],
                           bool *is_function, value *out)
{
    value f, options[2] = {value_int(0), value_int(0)};
    int position = 0;
    *is_function = false;
    if (!n->child || n->child->kind == N_KEYWORD)
        return calc_fail(c, n->where, "%s takes a function first: %s(f)", n->name, n->name);
    if (!function_argument(c, n->child, &f))
        return false;
    *is_function = f.kind == V_FUNCTION;
    if (!*is_function)
        return true;
    for (const expr *a = n->child->next; a; a = a->next, position++) {
        int i = position;
        if (a->kind == N_KEYWORD)
            for (i = 0; i < 2 && !(names[i] && strcmp(names[i], a->name) == 0);)
                i++;
        if (i > 1 || !names[i])
            return calc_fail(c, a->where, "this is not an argument of %s(f%s%s%s%s)", n->name,
                             names[0] ? ", " : "", names[0] ? names[0] : "", names[1] ? ", " : "",
                             names[1] ? names[1] : "");
        if (!calc_eval(c, a->kind == N_KEYWORD ? a->child : a, &options[i]))
            return false;
    }
    *out = transform_new(c, kind, f.u.function, &options[0], &options[1]);
    return true;
}

static bool transform_make(calc *c, const expr *n, function_kind kind, const char *first,
                           const char *second, value *out)
{
    bool is_function;
    if (!transform_read(c, n, kind, (const char *const[2]){first, second}, &is_function, out))
        return false;
    return is_function ||
           calc_fail(c, n->child->where, "%s takes a function first, such as f after f(x) = x**2",
                     n->name);
}

bool run_vmap(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    return transform_make(c, n, FN_VMAP, "in_axes", "out_axes", out);
}

bool run_jacobian(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    return transform_make(c, n, FN_JACOBIAN, "argnums", NULL, out);
}

bool run_hessian(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    if (!transform_make(c, n, FN_GRAD, "argnums", NULL, out))
        return false;
    *out =
        transform_new(c, FN_JACOBIAN, out->u.function, &out->u.function->options[0], &(value){0});
    return true;
}

bool run_value_and_grad(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    return transform_make(c, n, FN_VALUE_AND_GRAD, "argnums", NULL, out);
}

bool grad_of_function(calc *c, const expr *n, bool *is_function, value *out)
{
    return transform_read(c, n, FN_GRAD, (const char *const[2]){"argnums", NULL}, is_function, out);
}

/* ---- derivatives ------------------------------------------------------------------------------ */

/* A value to differentiate by: a new node, so that only this use of it counts. Numbers keep their trace. */
static bool input_new(calc *c, span where, const value *v, value *out, ig_array **node)
{
    if (value_is_number(v)) {
        *out = value_float(value_float_of(v));
        *node = out->trace = ig_positive(v->trace ? v->trace : ig_scalar(out->u.f, IG_F64));
    } else {
        ig_array *x;
        if (!calc_to_array(c, where, v, &x))
            return false;
        if (!ig_isdtype(ig_dtype_of(x), "real floating") &&
            !ig_isdtype(ig_dtype_of(x), "complex floating"))
            x = ig_astype(x, IG_F32);
        *node = ig_positive(x);
        *out = value_array(*node);
    }
    return *node ? true : calc_fail_library(c, where);
}

static bool output_of(calc *c, span where, const value *v, ig_array **out)
{
    if (v->trace)
        *out = v->trace;
    else if (!calc_to_array(c, where, v, out))
        return false;
    return ig_isdtype(ig_dtype_of(*out), "real floating") || value_is_number(v) ||
           calc_fail(c, where, "only floats have gradients, and the function gives %s",
                     ig_dtype_name(ig_dtype_of(*out)));
}

/* The arguments that a function is differentiated by. */
typedef struct by {
    int n;
    int index[16];
    bool several; /* a tuple of argnums gives a tuple */
} by;

static bool by_read(calc *c, span where, const value *argnums, int n_args, by *out)
{
    const value *items = value_has_items(argnums) ? argnums->u.items.v : argnums;
    out->several = value_has_items(argnums);
    out->n = out->several ? argnums->u.items.n : 1;
    if (out->n > 16)
        return calc_fail(c, where, "a derivative is by at most 16 arguments");
    for (int i = 0; i < out->n; i++) {
        int64_t k;
        if (!calc_to_int(c, where, &items[i], 0, &k))
            return false;
        k = k < 0 ? k + n_args : k;
        if (k < 0 || k >= n_args)
            return calc_fail(
                c, where,
                "the function is called with %d argument%s, and its derivative is by number %lld",
                n_args, n_args == 1 ? "" : "s", (long long)k);
        out->index[i] = (int)k;
    }
    return true;
}

/* Calls the function with new nodes in place of the arguments of `to`. */
static bool call_by(calc *c, span where, const user_function *f, const by *to, const value *args,
                    int n, value *inputs, ig_array **nodes, value *y)
{
    memcpy(inputs, args, sizeof *inputs * (size_t)n);
    for (int i = 0; i < to->n; i++)
        if (!input_new(c, where, &args[to->index[i]], &inputs[to->index[i]], &nodes[i]))
            return false;
    return function_apply(c, where, f, inputs, n, y);
}

/* The derivative of a number by a number is a number. */
static value gradient_value(const value *y, const value *x, ig_array *g)
{
    if (!value_is_number(y) || !value_is_number(x))
        return value_array(value_is_number(x) ? ig_astype(g, IG_F32) : g);
    value v = value_float(ig_item(g));
    v.trace = g;
    return v;
}

static bool apply_grad(calc *c, span where, const user_function *f, const value *args, int n,
                       value *out)
{
    by to;
    value y, *inputs = arena_get(&c->scratch, sizeof *inputs * (size_t)(n + 1));
    ig_array *nodes[16], *grads[16], *loss;
    if (c->options.grads_most && ++c->grads > c->options.grads_most)
        return calc_fail(c, where, "more than %d gradients are refused here",
                         c->options.grads_most);
    if (!by_read(c, where, &f->options[0], n, &to) ||
        !call_by(c, where, f->inner, &to, args, n, inputs, nodes, &y) ||
        !output_of(c, where, &y, &loss))
        return false;
    if (ig_size(loss) != 1)
        return calc_fail(c, where,
                         "grad takes a function whose result is a scalar; this one gives %lld "
                         "elements: take its "
                         "sum or mean, or use jacobian(f)",
                         (long long)ig_size(loss));
    ig_array *one = ig_ones_like(loss, IG_DTYPE_NONE);
    if (!one || ig_vjp(&loss, &one, 1, nodes, to.n, grads) != IG_OK)
        return calc_fail_library(c, where);
    value *items = arena_get(&c->scratch, sizeof *items * (size_t)to.n);
    for (int i = 0; i < to.n; i++)
        items[i] = gradient_value(&y, &inputs[to.index[i]], grads[i]);
    const value g = to.several ? (value){.kind = V_TUPLE, .u = {.items = {items, to.n}}} : items[0];
    *out = g;
    if (f->kind == FN_VALUE_AND_GRAD) {
        value *both = arena_get(&c->scratch, sizeof *both * 2);
        both[0] = y;
        both[1] = g;
        *out = (value){.kind = V_TUPLE, .u = {.items = {both, 2}}};
    }
    return !ig_failed() || calc_fail_library(c, where);
}

/* All rows of the Jacobian at once: the gradient for one cotangent, mapped over the unit vectors. */
static ig_array *jacobian_of(ig_array *y, ig_array *x)
{
    const int64_t m = ig_size(y);
    ig_array *example = ig_zeros(ig_shape(y), ig_dtype_of(y)), *g, *rows;
    int64_t shape[2 * IG_MAX_NDIM] = {m};
    const int ny = ig_ndim(y), nx = ig_ndim(x);
    memcpy(shape + 1, ig_shape(y).v, sizeof *shape * (size_t)ny);
    ig_array *units = ig_reshape(ig_eye(m, m, 0, ig_dtype_of(y)), (ig_ints){shape, ny + 1});
    const int axis = 0;
    if (!example || !units || ig_vjp(&y, &example, 1, &x, 1, &g) != IG_OK ||
        ig_vmap(&g, 1, &example, &units, &axis, 1, &rows) != IG_OK)
        return NULL;
    memmove(shape, shape + 1, sizeof *shape * (size_t)ny);
    memcpy(shape + ny, ig_shape(x).v, sizeof *shape * (size_t)nx);
    return ig_reshape(rows, (ig_ints){shape, ny + nx});
}

static bool apply_jacobian(calc *c, span where, const user_function *f, const value *args, int n,
                           value *out)
{
    by to;
    value y, *inputs = arena_get(&c->scratch, sizeof *inputs * (size_t)(n + 1));
    ig_array *nodes[16], *result;
    if (!by_read(c, where, &f->options[0], n, &to) ||
        !call_by(c, where, f->inner, &to, args, n, inputs, nodes, &y) ||
        !output_of(c, where, &y, &result))
        return false;
    if (ig_ndim(result) + ig_ndim(nodes[0]) > IG_MAX_NDIM || ig_size(result) > 65536)
        return calc_fail(c, where, "the result of this function is too large for a Jacobian");
    value *items = arena_get(&c->scratch, sizeof *items * (size_t)to.n);
    for (int i = 0; i < to.n; i++) {
        ig_array *j = jacobian_of(result, nodes[i]);
        if (!j)
            return calc_fail_library(c, where);
        items[i] = gradient_value(&y, &inputs[to.index[i]], j);
    }
    *out = to.several ? (value){.kind = V_TUPLE, .u = {.items = {items, to.n}}} : items[0];
    return !ig_failed() || calc_fail_library(c, where);
}

/* ---- vmap ------------------------------------------------------------------------------------- */

/* One argument of a mapped function: an example of a slice, and all of it. */
typedef struct mapped {
    ig_array *example[64], *whole[64];
    int axis[64], n;
} mapped;

static bool map_argument(calc *c, span where, const value *v, const value *axis, mapped *m,
                         value *example)
{
    int64_t a;
    ig_array *x;
    *example = *v;
    if (axis->kind == V_NONE || value_is_number(v) || v->kind == V_STRING || v->kind == V_DTYPE ||
        v->kind == V_NONE)
        return true; /* the same for all slices */
    if (!calc_to_int(c, where, axis, 0, &a) || !calc_to_array(c, where, v, &x))
        return false;
    a = a < 0 ? a + ig_ndim(x) : a;
    if (ig_ndim(x) == 0)
        return true;
    if (a < 0 || a >= ig_ndim(x) || m->n == 64)
        return calc_fail(c, where, "vmap: this array has %d axes, and in_axes is %lld", ig_ndim(x),
                         (long long)a);
    if (ig_dim(x, (int)a) == 0)
        return calc_fail(c, where, "vmap: axis %lld has length 0", (long long)a);
    ig_index items[IG_MAX_NDIM];
    for (int i = 0; i <= a; i++)
        items[i] = (ig_index){i == a ? IG_INDEX_INT : IG_INDEX_SLICE, i == a ? 0 : INT64_MIN,
                              INT64_MIN, INT64_MIN, NULL};
    ig_array *slice = ig_get(x, items, (int)a + 1);
    m->example[m->n] = slice ? ig_zeros_like(slice, IG_DTYPE_NONE) : NULL;
    m->whole[m->n] = x;
    m->axis[m->n] = (int)a;
    if (!m->example[m->n])
        return calc_fail_library(c, where);
    *example = value_array(m->example[m->n++]);
    return true;
}

static bool apply_vmap(calc *c, span where, const user_function *f, const value *args, int n,
                       value *out)
{
    mapped m = {.n = 0};
    const value *axes = &f->options[0];
    value y, *examples = arena_get(&c->scratch, sizeof *examples * (size_t)(n + 1));
    if (value_has_items(axes) && axes->u.items.n != n)
        return calc_fail(c, where, "vmap: in_axes has %d items for %d arguments", axes->u.items.n,
                         n);
    for (int i = 0; i < n; i++)
        if (!map_argument(c, where, &args[i], value_has_items(axes) ? &axes->u.items.v[i] : axes,
                          &m, &examples[i]))
            return false;
    if (m.n == 0)
        return calc_fail(c, where, "vmap: no argument is an array to map over");
    const bool before = c->maps;
    c->maps = true;
    const bool fine = function_apply(c, where, f->inner, examples, n, &y);
    c->maps = before;
    if (!fine)
        return false;
    value one = {.kind = V_TUPLE, .u = {.items = {&y, 1}}};
    const value *results = y.kind == V_TUPLE ? &y : &one;
    const int count = results->u.items.n;
    ig_array **outputs = arena_get(&c->scratch, sizeof *outputs * (size_t)(count + 1)),
             **all = arena_get(&c->scratch, sizeof *all * (size_t)(count + 1));
    int64_t out_axis;
    if (!calc_to_int(c, where, &f->options[1], 0, &out_axis))
        return false;
    for (int i = 0; i < count; i++)
        if (!calc_to_array(c, where, &results->u.items.v[i], &outputs[i]))
            return false;
    if (ig_vmap(outputs, count, m.example, m.whole, m.axis, m.n, all) != IG_OK)
        return calc_fail_library(c, where);
    for (int i = 0; i < count && out_axis; i++)
        if (!(all[i] = ig_moveaxis(all[i], IG_AXES(0), IG_AXES(out_axis))))
            return calc_fail_library(c, where);
    *out = value_arrays(&c->scratch, all, count);
    return y.kind == V_TUPLE || calc_give(c, where, all[0], out);
}

bool transform_apply(calc *c, span where, const user_function *f, const value *args, int n,
                     value *out)
{
    switch (f->kind) {
    case FN_VMAP: return apply_vmap(c, where, f, args, n, out);
    case FN_JACOBIAN: return apply_jacobian(c, where, f, args, n, out);
    default: return apply_grad(c, where, f, args, n, out);
    }
}

/* ---- vjp and jvp ------------------------------------------------------------------------------ */

/* vjp(f, primals, cotangents) and jvp(f, primals, tangents): the result of f, and the products. */
static bool product(calc *c, const expr *n, bool forward, value *out)
{
    value f, primals, vectors, y;
    const expr *a = n->child;
    if (!a || !a->next || !a->next->next || a->next->next->next || a->next->kind == N_KEYWORD)
        return calc_fail(c, n->where,
                         "%s takes a function, a list of inputs, and a list of vectors", n->name);
    if (!function_argument(c, a, &f) || !calc_eval(c, a->next, &primals) ||
        !calc_eval(c, a->next->next, &vectors))
        return false;
    if (f.kind != V_FUNCTION)
        return calc_fail(c, a->where, "%s takes a function first", n->name);
    const value *x = value_has_items(&primals) ? primals.u.items.v : &primals;
    const int count = value_has_items(&primals) ? primals.u.items.n : 1;
    const value *v = value_has_items(&vectors) ? vectors.u.items.v : &vectors;
    const int n_vectors = value_has_items(&vectors) ? vectors.u.items.n : 1;
    if (n_vectors != (forward ? count : 1) || count > 16)
        return calc_fail(c, a->next->next->where, "%d vectors do not fit %d inputs", n_vectors,
                         count);
    by to = {.n = count};
    for (int i = 0; i < count; i++)
        to.index[i] = i;
    value *inputs = arena_get(&c->scratch, sizeof *inputs * (size_t)(count + 1));
    ig_array *nodes[16], *grads[16], *vector[16], *result;
    if (!call_by(c, n->where, f.u.function, &to, x, count, inputs, nodes, &y) ||
        !output_of(c, n->where, &y, &result))
        return false;
    for (int i = 0; i < n_vectors; i++) {
        if (!calc_to_array(c, n->where, &v[i], &vector[i]))
            return false;
        vector[i] = ig_astype(vector[i], ig_dtype_of(forward ? nodes[i] : result));
    }
    /* Forward: the vjp is linear in its cotangent, and the derivative by that is the jvp. */
    ig_array *cotangent = forward ? ig_zeros_like(result, IG_DTYPE_NONE) : vector[0];
    if (!cotangent || ig_vjp(&result, &cotangent, 1, nodes, count, grads) != IG_OK ||
        (forward && ig_vjp(grads, vector, count, &cotangent, 1, &grads[0]) != IG_OK))
        return calc_fail_library(c, n->where);
    value *both = arena_get(&c->scratch, sizeof *both * 2);
    both[0] = y;
    both[1] =
        count == 1 || forward ? value_array(grads[0]) : value_arrays(&c->scratch, grads, count);
    *out = (value){.kind = V_TUPLE, .u = {.items = {both, 2}}};
    return true;
}

bool run_vjp(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    return product(c, n, false, out);
}

bool run_jvp(calc *c, const expr *n, const value *unused, value *out)
{
    (void)unused;
    return product(c, n, true, out);
}
