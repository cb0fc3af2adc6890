/* Tensors of the model that is written: constants, lengths, and the ops that rearrange elements. */
#include "lib/onnx/export/export.h"
#include "lib/onnx/types.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- extents ---- */

bool extent_same(const exporter *e, extent x, extent y)
{
    for (int t = 0; t < e->traces; t++)
        if (x.in[t] != y.in[t])
            return false;
    return true;
}

bool extent_is(const exporter *e, extent x, int64_t n) { return extent_same(e, x, fixed(n)); }
bool extent_fixed(const exporter *e, extent x) { return extent_is(e, x, x.in[0]); }

extent extent_product(extent x, extent y)
{
    for (int t = 0; t < EXPORT_TRACES; t++)
        x.in[t] *= y.in[t];
    return x;
}

/* ---- names and nodes ---- */

const char *new_name(exporter *e, const char *op)
{
    char text[100];
    const int n = snprintf(text, sizeof text, "%.60s_%d", op, e->names++);
    return onnx_arena_text(&e->arena, text, (size_t)n);
}

const char *node(exporter *e, const char *op, const ig_onnx_attribute *attributes, int n_attributes,
                 int n, const char *const *in)
{
    size_t bytes = 1;
    for (int i = 0; i < n; i++) {
        if (!in[i])
            return NULL;
        bytes += strlen(in[i]) + 1;
    }
    char *inputs = onnx_arena_new(&e->arena, bytes, 1);
    const char *out = inputs ? new_name(e, op) : NULL;
    if (!out)
        return NULL;
    for (int i = 0; i < n; i++) {
        strcat(inputs, i ? " " : "");
        strcat(inputs, in[i]);
    }
    ig_onnx_builder_node(e->b, op, inputs, out, attributes, n_attributes);
    return out;
}

/* ---- constants ---- */

/* Constants that are compared with a new one; older ones are written again. */
enum { CONSTANTS_KEPT = 256 };

const char *constant(exporter *e, ig_dtype dtype, int ndim, int64_t n, const void *data)
{
    const size_t bytes = (size_t)n * ig_dtype_bytes(dtype);
    for (int i = e->n_constants - 1; i >= 0 && i >= e->n_constants - CONSTANTS_KEPT; i--) {
        const written_constant *c = &e->constants[i];
        if (c->dtype == dtype && c->ndim == ndim && c->n == n && memcmp(c->bytes, data, bytes) == 0)
            return c->name;
    }
    void *kept = onnx_arena_new(&e->arena, bytes, 1);
    const char *name = new_name(e, "constant");
    ig_array *x = ig_from_data(data, (ig_ints){&n, ndim}, dtype);
    if (!kept || !name || !x ||
        !memory_room(&e->constants, e->n_constants, &e->room_constants, sizeof *e->constants))
        return NULL;
    memcpy(kept, data, bytes);
    e->constants[e->n_constants++] = (written_constant){dtype, ndim, n, kept, name};
    ig_onnx_builder_weight(e->b, name, x);
    return name;
}

const char *constant_number(exporter *e, ig_dtype dtype, double x)
{
    uint64_t bits = 0;
    dtype_store(dtype, &bits, x);
    return constant(e, dtype, 0, 1, &bits);
}

/* ---- lengths ---- */

/* A 1-d tensor of the length of a symbolic axis, which the shape of an input has. */
static const char *symbol(exporter *e, int which)
{
    const ig_onnx_export_call *c = e->call;
    for (int i = 0; i < c->n_inputs && !e->symbol[which]; i++)
        for (int a = 0; a < c->traces[0].inputs[i]->view.ndim && !e->symbol[which]; a++) {
            extent x = fixed(0);
            for (int t = 0; t < e->traces; t++)
                x.in[t] = c->traces[t].inputs[i]->view.shape[a];
            const ig_onnx_attribute axis[] = {IG_ONNX_A_INT("start", a),
                                              IG_ONNX_A_INT("end", a + 1)};
            if (extent_same(e, x, e->length[which]))
                e->symbol[which] = NODE_OF(e, "Shape", axis, 2, c->input_names[i]);
        }
    return e->symbol[which];
}

/* sum + times * what; sum is NULL at first. */
static const char *add_term(exporter *e, const char *sum, int64_t times, const char *what)
{
    if (what && times != 1)
        what = NODE_OF(e, "Mul", NULL, 0, what, constant(e, IG_I64, 1, 1, &times));
    return sum && what ? NODE_OF(e, "Add", NULL, 0, sum, what) : what;
}

/* x as a sum of multiples of the lengths, of their product, and of 1. See ig_onnx_export_call for the lengths of the traces. */
static const char *integer(exporter *e, extent x)
{
    const int64_t *v = x.in;
    for (int i = 0; i < e->n_extents; i++)
        if (extent_same(e, e->extents[i].x, x))
            return e->extents[i].name;
    if (extent_fixed(e, x))
        return constant(e, IG_I64, 1, 1, x.in);
    int64_t times[EXPORT_SYMBOLS] = {0}, both = 0, n[EXPORT_SYMBOLS] = {0}, one = v[0];
    for (int i = 0; i < e->n_symbols; i++) {
        n[i] = e->length[i].in[0];
        times[i] = v[1 + 2 * i] - v[0];
        if (v[2 + 2 * i] - v[0] != 3 * times[i])
            FAIL_NULL(
                IG_ERR_UNSUPPORTED,
                "onnx export: a length is %lld, %lld and %lld where '%.40s' is %lld, %lld and "
                "%lld. Only sums of multiples can be written; export with a fixed shape",
                (long long)v[0], (long long)v[1 + 2 * i], (long long)v[2 + 2 * i],
                e->symbol_name[i], (long long)n[i], (long long)n[i] + 1, (long long)n[i] + 3);
    }
    if (e->n_symbols == 2) {
        both = v[5] - v[1] - v[3] + v[0];
        times[0] -= both * n[1];
        times[1] -= both * n[0];
        one -= both * n[0] * n[1];
    }
    const char *name = NULL;
    for (int i = 0; i < e->n_symbols; i++) {
        one -= times[i] * n[i];
        if (times[i] && !(name = add_term(e, name, times[i], symbol(e, i))))
            return NULL;
    }
    if (both &&
        !(name = add_term(e, name, both, NODE_OF(e, "Mul", NULL, 0, symbol(e, 0), symbol(e, 1)))))
        return NULL;
    if (one)
        name = NODE_OF(e, "Add", NULL, 0, name, constant(e, IG_I64, 1, 1, &one));
    if (!name || !memory_room(&e->extents, e->n_extents, &e->room_extents, sizeof *e->extents))
        return NULL;
    e->extents[e->n_extents++] = (written_extent){x, name};
    return name;
}

const char *integers(exporter *e, int n, const extent *x)
{
    int64_t v[EXPORT_AXES];
    const char *part[EXPORT_AXES];
    bool all = true;
    for (int i = 0; i < n; i++) {
        v[i] = x[i].in[0];
        all = all && extent_fixed(e, x[i]);
    }
    if (all)
        return constant(e, IG_I64, 1, n, v);
    for (int i = 0; i < n; i++)
        part[i] = integer(e, x[i]);
    return n == 1 ? part[0] : node(e, "Concat", &IG_ONNX_A_INT("axis", 0), 1, n, part);
}

/* ---- rearranged values ---- */

static bool shape_same(const exporter *e, const value *v, int n, const extent *shape)
{
    for (int i = 0; i < n && v->n == n; i++)
        if (!extent_same(e, v->shape[i], shape[i]))
            return false;
    return v->n == n;
}

static value with_shape(value v, const char *name, int n, const extent *shape)
{
    v.name = name;
    v.n = n;
    memmove(v.shape, shape, (size_t)n * sizeof *shape);
    return v;
}

value value_reshape(exporter *e, value v, int n, const extent *shape)
{
    extent to[EXPORT_AXES];
    int symbolic = 0, at = 0;
    bool empty = false;
    if (!v.name || shape_same(e, &v, n, shape))
        return v;
    for (int i = 0; i < n; i++) {
        to[i] = shape[i];
        empty = empty || shape[i].in[0] == 0;
        if (!extent_fixed(e, shape[i])) {
            symbolic++;
            at = i;
        }
    }
    if (symbolic == 1 && !empty) /* Reshape works it out */
        to[at] = fixed(-1);
    const ig_onnx_attribute zeros = IG_ONNX_A_INT("allowzero", 1);
    return with_shape(v, NODE_OF(e, "Reshape", &zeros, empty, v.name, integers(e, n, to)), n,
                      shape);
}

value value_permute(exporter *e, value v, const int *axes)
{
    int64_t perm[EXPORT_AXES];
    extent shape[EXPORT_AXES];
    bool same = true;
    for (int i = 0; i < v.n; i++) {
        perm[i] = axes[i];
        shape[i] = v.shape[axes[i]];
        same = same && axes[i] == i;
    }
    const ig_onnx_attribute a = {"perm", 7, 0, 0, NULL, {perm, v.n}};
    return !v.name || same ? v : with_shape(v, NODE_OF(e, "Transpose", &a, 1, v.name), v.n, shape);
}

value value_expand(exporter *e, value v, int n, const extent *shape)
{
    return !v.name || shape_same(e, &v, n, shape)
               ? v
               : with_shape(v, NODE_OF(e, "Expand", NULL, 0, v.name, integers(e, n, shape)), n,
                            shape);
}

value value_cast(exporter *e, value v, ig_dtype dtype)
{
    if (!v.name || v.dtype == dtype)
        return v;
    v.name = NODE_OF(e, "Cast", &IG_ONNX_A_INT("to", onnx_type_of(dtype)), 1, v.name);
    v.dtype = dtype;
    return v;
}

value value_slice(exporter *e, value v, const stretch *s)
{
    extent start[EXPORT_AXES], end[EXPORT_AXES], axes[EXPORT_AXES], step[EXPORT_AXES];
    int n = 0;
    for (int a = 0; a < v.n; a++) {
        if (extent_is(e, s[a].start, 0) && s[a].step == 1 &&
            extent_same(e, s[a].length, v.shape[a]))
            continue;
        bool all = true; /* up to the last element that the step reaches, in all traces */
        start[n] = s[a].start;
        for (int t = 0; t < EXPORT_TRACES; t++) {
            const int64_t last = s[a].start.in[t] + s[a].step * (s[a].length.in[t] - 1),
                          next = last + s[a].step;
            end[n].in[t] = s[a].step > 0 ? last + 1 : last > 0 ? last - 1 : INT64_MIN;
            all = all && (t >= e->traces || next < 0 || next >= v.shape[a].in[t]);
        }
        if (all)
            end[n] = fixed(s[a].step > 0 ? INT64_MAX : INT64_MIN);
        axes[n] = fixed(a);
        step[n++] = fixed(s[a].step);
        v.shape[a] = s[a].length;
    }
    if (v.name && n)
        v.name = NODE_OF(e, "Slice", NULL, 0, v.name, integers(e, n, start), integers(e, n, end),
                         integers(e, n, axes), integers(e, n, step));
    return v;
}

value value_beside(value v, value w)
{
    value *more = v.n >= w.n ? &v : &w, *less = v.n >= w.n ? &w : &v;
    value y = *more;
    for (int a = 0; a < less->n; a++) {
        extent *to = &y.shape[more->n - less->n + a];
        if (to->in[0] == 1)
            *to = less->shape[a];
    }
    y.name = v.name && w.name ? v.name : NULL;
    return y;
}
