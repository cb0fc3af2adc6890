/* The walk from outputs to inputs: ig_onnx_export. */
#include "lib/onnx/export/export.h"
#include "engine/ops/complex.h"
#include "engine/ops/conv.h"
#include "engine/ops/native_node.h"
#include "lib/onnx/build.h"
#include "lib/onnx/types.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"

#include <stdio.h>
#include <string.h>

enum { OPSET = 18 };

/* ---- spots ---- */

static bool is_whole(const ig_array *x)
{
    return x->view.offset == 0 && view_is_contiguous(&x->view) &&
           view_size(&x->view) == view_size(&x->root->view);
}

/* A float convolution is one node of ONNX. */
static bool is_convolution(const ig_array *x)
{
    return x->n_in > 2 && conv_of(x) && dtype_is_float((ig_dtype)x->dtype) && is_whole(x);
}

/* The array whose elements x sees: the root, or the result of a convolution. */
static ig_array *place_of(const ig_array *x)
{
    while (x != x->root && !is_convolution(x) && !(array_is_packed(x) && is_whole(x)))
        x = x->in[0];
    return (ig_array *)(uintptr_t)x;
}

const char *spot_text(const spot *s)
{
    const ig_array *x = s->at[0];
    char shape[400], *text = thread_text();
    const char *name = x->attr.kernel          ? x->attr.kernel->name
                       : x->op < OP_CORE_COUNT ? op_rows[x->op].name
                                               : "an array";
    if (text)
        snprintf(text, THREAD_TEXT_BYTES, "%s (%s %.120s)", name, ig_dtype_name((ig_dtype)x->dtype),
                 view_shape_text(x->view.ndim, x->view.shape, shape));
    return text ? text : name;
}

spot *spot_of(exporter *e, const ig_array *x)
{
    const place *p = walk_find(&e->table, place_of(x));
    if (!p)
        FAIL_NULL(IG_ERR_ARGUMENT, "onnx export: an array of the graph was not visited");
    return &e->spots[p - e->table.place];
}

/* The spot of the place of x[0], created if there is none; its number, or -1 after a failure. */
static int spot_put(exporter *e, ig_array *const *x)
{
    const int before = e->table.n;
    place *p = walk_put(&e->table, place_of(x[0]));
    if (!p || !memory_room(&e->spots, e->table.n - 1, &e->room, sizeof *e->spots))
        return -1;
    const int at = (int)(p - e->table.place);
    spot *s = &e->spots[at];
    if (e->table.n > before)
        *s = (spot){0};
    for (int t = 0; t < e->traces; t++) {
        ig_array *y = place_of(x[t]);
        const ig_array *first = place_of(x[0]);
        if (y->op != first->op || y->n_in != first->n_in || y->dtype != first->dtype ||
            y->view.ndim != first->view.ndim || x[t]->view.ndim != x[0]->view.ndim ||
            y->attr.fold != first->attr.fold ||
            (s->at[t] && s->at[t] != y && y->op != ARRAY_DATA)) {
            if (!s->at[0])
                s->at[0] = place_of(x[0]);
            ig_fail(IG_ERR_UNSUPPORTED,
                    "onnx export: at %s, the function does something else if the symbolic axis has "
                    "another length; export with a fixed shape",
                    spot_text(s));
            return -1;
        }
        s->at[t] = s->at[t] ? s->at[t] : y;
    }
    return at;
}

void views_of(const exporter *e, ig_array *const *x, view *v)
{
    for (int t = 0; t < EXPORT_TRACES; t++)
        v[t] = x[t < e->traces ? t : 0]->view;
}

value see(exporter *e, ig_array *const *x, bool expand)
{
    view v[EXPORT_TRACES];
    const value failed = {0};
    spot *s = spot_of(e, x[0]);
    views_of(e, x, v);
    return s ? see_view(e, s, v, expand) : failed;
}

/* ---- constants ---- */

/* True if the constant s has the same elements in all traces. */
static bool same_elements(const exporter *e, const spot *s)
{
    for (int t = 1; t < e->traces; t++) {
        if (s->at[t] == s->at[0])
            continue;
        const size_t bytes =
            (size_t)view_size(&s->at[0]->view) * ig_dtype_bytes((ig_dtype)s->at[0]->dtype);
        const void *x = ig_data(s->at[0]), *y = ig_data(s->at[t]);
        if (!x || !y)
            return false;
        if (memcmp(x, y, bytes) != 0)
            FAIL_NONE(IG_ERR_UNSUPPORTED,
                      "onnx export: the elements of %s depend on the length of the symbolic axis; "
                      "export with a fixed shape",
                      spot_text(s));
    }
    return true;
}

value spot_value(exporter *e, spot *s)
{
    const value failed = {0};
    ig_array *x = s->at[0];
    if (s->v.name)
        return s->v;
    value v = shape_of(e, s);
    if (onnx_type_of(v.dtype) == IG_ONNX_UNDEFINED || s->varies)
        return refuse(s, "has no elements here and is not among the inputs; give it as an input");
    if (!same_elements(e, s))
        return failed;
    if (!s->weight && view_size(&x->view) == 1 && x->view.ndim == 0) {
        const void *data = ig_data(x);
        v.name = data ? constant(e, v.dtype, 0, 1, data) : NULL;
    } else {
        v.name = s->weight ? s->weight : new_name(e, "constant");
        if (v.name)
            ig_onnx_builder_weight(e->b, v.name, x);
    }
    return s->v = v;
}

/* ---- the walk ---- */

/* Of what the model computes s: dependency i in each trace. */
static int dependency_count(const spot *s)
{
    const ig_array *x = s->at[0];
    return s->stands[0] ? 1 : conv_of(x) ? x->n_in - 1 : x == x->root ? x->n_in : 0;
}

static void dependency(const exporter *e, const spot *s, int i, ig_array **x)
{
    for (int t = 0; t < e->traces; t++)
        x[t] = s->stands[0]        ? s->stands[t]
               : conv_of(s->at[0]) ? s->at[t]->in[1 + i]
                                   : s->at[t]->in[i];
}

/* Before the dependencies of s: the definition of a node of native code. */
static ig_status begin_spot(const exporter *e, spot *s)
{
    s->visited = true;
    for (int t = 0; t < e->traces; t++) {
        ig_array *x = s->at[t];
        if (array_is_complex(x))
            FAIL(IG_ERR_UNSUPPORTED,
                 "onnx export: %s is complex, which ops of ONNX do not take; export its real and "
                 "imaginary parts",
                 spot_text(s));
        const node_kernel *k = x == x->root && x->n_in ? x->attr.kernel : NULL;
        if (k && k->native &&
            !(s->stands[t] = k->native->define(k->native, x->in, (int)x->attr.result)))
            return error_waiting(IG_ERR_ARGUMENT);
        s->varies = s->varies || !view_same_shape(&x->view, &s->at[0]->view);
    }
    int axis = 0, first = 0;
    for (int t = 0; t < e->traces && !conv_of(s->at[0]) && !s->at[0]->attr.kernel; t++) {
        ig_array *x = s->at[t] == s->at[t]->root ? softmax_of(s->at[t], &axis) : NULL;
        first = t ? first : axis;
        if (!x || axis != first) {
            s->softmax = 0;
            memset(s->stands, 0, sizeof s->stands);
            break;
        }
        s->stands[t] = x;
        s->softmax = axis + 1;
    }
    return IG_OK;
}

/* Writes the nodes of s, whose dependencies are written. */
static ig_status end_spot(exporter *e, int at)
{
    ig_array *x[EXPORT_TRACES];
    spot *s = &e->spots[at];
    for (int i = 0; i < dependency_count(s); i++) {
        dependency(e, s, i, x);
        spot *from = spot_of(e, x[0]);
        s->varies = s->varies || !from || from->varies;
    }
    if (!s->varies || s->v.name)
        return IG_OK;
    const value v = s->at[0]->op == ARRAY_DATA
                        ? refuse(s, "changes with the symbolic axis, but is not computed from the "
                                    "inputs")
                        : write_node(e, s);
    e->spots[at].v = v;
    return v.name ? IG_OK : error_waiting(IG_ERR_ARGUMENT);
}

static ig_status visit(exporter *e, ig_array *const *x)
{
    int *stack = NULL, depth = 0, room = 0;
    ig_array *next[EXPORT_TRACES];
    ig_status status = IG_OK;
    memcpy(next, x, (size_t)e->traces * sizeof *next);
    for (bool put = true; status == IG_OK && (put || depth);) {
        if (put) {
            const int at = spot_put(e, next);
            put = false;
            if (at < 0 || !memory_room(&stack, depth, &room, sizeof *stack))
                status = error_waiting(IG_ERR_MEMORY);
            else if (!e->spots[at].visited) {
                status = begin_spot(e, &e->spots[at]);
                stack[depth++] = at;
            }
            continue;
        }
        spot *s = &e->spots[stack[depth - 1]];
        if (!s->v.name && s->next < dependency_count(s)) {
            dependency(e, s, s->next++, next);
            put = true;
        } else {
            status = end_spot(e, stack[--depth]);
        }
    }
    memory_free(stack);
    return status;
}

/* ---- inputs, weights, outputs ---- */

/* The symbols of the axes of v whose lengths are not fixed, and -1 as their length. */
static ig_ints stated(exporter *e, const value *v, int64_t *dims, const char **symbols)
{
    for (int a = 0; a < v->n; a++) {
        const bool known = extent_fixed(e, v->shape[a]);
        dims[a] = known ? v->shape[a].in[0] : -1;
        symbols[a] = NULL;
        for (int i = 0; i < e->n_symbols && !known && !symbols[a]; i++)
            if (extent_same(e, v->shape[a], e->length[i]))
                symbols[a] = e->symbol_name[i];
        if (!known && !symbols[a])
            symbols[a] = new_name(e, e->symbol_name[0]);
    }
    return (ig_ints){dims, v->n};
}

/* See ig_onnx_export_call. */
static bool has_lengths(const exporter *e, extent x, int which)
{
    const int64_t n = x.in[0];
    extent want = fixed(n);
    want.in[1 + 2 * which] = want.in[5] = n + 1;
    want.in[2 + 2 * which] = n + 3;
    return n > 1 && extent_same(e, x, want);
}

static ig_status write_inputs(exporter *e)
{
    const ig_onnx_export_call *c = e->call;
    int64_t dims[EXPORT_AXES];
    const char *symbols[EXPORT_AXES];
    for (int i = 0; i < c->n_inputs; i++) {
        ig_array *x[EXPORT_TRACES];
        for (int t = 0; t < e->traces; t++) {
            x[t] = c->traces[t].inputs[i];
            if (!x[t] || x[t] != x[t]->root || array_is_complex(x[t]))
                FAIL(IG_ERR_ARGUMENT,
                     "onnx export: input %d must be an array of real numbers that is not a view of "
                     "another",
                     i);
        }
        const int at = spot_put(e, x);
        if (at < 0)
            return error_waiting(IG_ERR_MEMORY);
        spot *s = &e->spots[at];
        if (s->v.name)
            FAIL(IG_ERR_ARGUMENT, "onnx export: inputs '%.80s' and '%.80s' are one array",
                 s->v.name, c->input_names[i]);
        s->v = named(shape_of(e, s), c->input_names[i]);
        s->varies = s->visited = true;
        for (int a = 0; a < s->v.n; a++) {
            if (extent_fixed(e, s->v.shape[a]))
                continue;
            const int which = s->v.shape[a].in[1] == s->v.shape[a].in[0];
            if (which < e->n_symbols && e->length[which].in[0] == 0)
                e->length[which] = s->v.shape[a];
            if (which >= e->n_symbols || !extent_same(e, e->length[which], s->v.shape[a]) ||
                !has_lengths(e, e->length[which], which))
                FAIL(IG_ERR_ARGUMENT,
                     "onnx export: axis %d of input '%.80s' does not have the lengths that the "
                     "traces of a symbolic axis need, as ingot/onnx.h says",
                     a, c->input_names[i]);
        }
        ig_onnx_builder_input(e->b, c->input_names[i], onnx_type_of(s->v.dtype),
                              stated(e, &s->v, dims, symbols), symbols);
    }
    return IG_OK;
}

/* Gives weights their names. An array with two names keeps the first. */
static ig_status name_weights(exporter *e)
{
    const ig_onnx_export_call *c = e->call;
    for (int i = 0; i < c->n_weights; i++) {
        ig_array *x[EXPORT_TRACES];
        for (int t = 0; t < EXPORT_TRACES; t++)
            x[t] = c->weights[i];
        if (!x[0] || !c->weight_names[i])
            FAIL(IG_ERR_ARGUMENT, "onnx export: weight %d is NULL", i);
        if (array_is_complex(x[0]) || !is_whole(place_of(x[0])) || !is_whole(x[0]))
            continue;
        const int at = spot_put(e, x);
        if (at < 0)
            return error_waiting(IG_ERR_MEMORY);
        if (!e->spots[at].v.name && !e->spots[at].weight)
            e->spots[at].weight = c->weight_names[i];
    }
    return IG_OK;
}

static ig_status write_outputs(exporter *e)
{
    const ig_onnx_export_call *c = e->call;
    int64_t dims[EXPORT_AXES];
    const char *symbols[EXPORT_AXES];
    for (int i = 0; i < c->n_outputs; i++) {
        ig_array *x[EXPORT_TRACES];
        for (int t = 0; t < e->traces; t++)
            if (!(x[t] = c->traces[t].outputs[i]))
                FAIL(IG_ERR_ARGUMENT, "onnx export: output %d is NULL", i);
        TRY(visit(e, x));
        const value v = see(e, x, true);
        if (!v.name)
            return error_waiting(IG_ERR_ARGUMENT);
        ig_onnx_builder_node(e->b, "Identity", v.name, c->output_names[i], NULL, 0);
        ig_onnx_builder_output(e->b, c->output_names[i], onnx_type_of(v.dtype),
                               stated(e, &v, dims, symbols), symbols);
    }
    return IG_OK;
}

static ig_status check_names(const char *what, const char *const *names, int n)
{
    TRY(require_list("ig_onnx_export", what, names, n));
    for (int i = 0; i < n; i++)
        if (!names[i] || !names[i][0] || strpbrk(names[i], " ") || strcmp(names[i], "-") == 0)
            FAIL(IG_ERR_ARGUMENT,
                 "onnx export: '%.80s' cannot be a name; give %s without blanks, and not '-'",
                 names[i] ? names[i] : "", what);
    return IG_OK;
}

static ig_status check_call(const ig_onnx_export_call *c)
{
    TRY(check_names("input_names", c->input_names, c->n_inputs));
    TRY(check_names("output_names", c->output_names, c->n_outputs));
    TRY(check_names("weight_names", c->weight_names, c->n_weights));
    TRY(require_list("ig_onnx_export", "weights", c->weights, c->n_weights));
    TRY(require_pointer("ig_onnx_export", "traces", c->traces));
    if (c->n_traces != 1 && c->n_traces != 3 && c->n_traces != EXPORT_TRACES)
        FAIL(IG_ERR_ARGUMENT, "onnx export: give one trace, or 3 for a symbol, or 6 for two");
    for (int t = 0; t < c->n_traces; t++) {
        TRY(require_list("ig_onnx_export", "inputs", c->traces[t].inputs, c->n_inputs));
        TRY(require_list("ig_onnx_export", "outputs", c->traces[t].outputs, c->n_outputs));
    }
    return IG_OK;
}

/* Takes the symbols apart. */
static ig_status read_symbols(exporter *e)
{
    const char *text = e->call->symbol;
    for (e->n_symbols = e->traces == 1 ? 0 : e->traces / 3; text && e->n_symbols;) {
        const size_t n = strcspn(text, " ");
        const int which = e->symbol_name[0] != NULL;
        if (!(e->symbol_name[which] = onnx_arena_text(&e->arena, text, n)))
            return error_waiting(IG_ERR_MEMORY);
        text += n;
        if (!n || which == e->n_symbols - 1)
            break;
        text += *text == ' ';
    }
    if (e->n_symbols && (!text || *text))
        FAIL(IG_ERR_ARGUMENT, "onnx export: %d traces need %d symbols with a blank between them",
             e->traces, e->n_symbols);
    return check_names("symbol", e->symbol_name, e->n_symbols);
}

static ig_status export(exporter *e, const char *path)
{
    e->b = ig_onnx_builder_new("ingot");
    if (!e->b)
        return IG_ERR_MEMORY;
    onnx_builder_opset(e->b, OPSET);
    ig_onnx_builder_external(e->b, e->call->external);
    TRY(read_symbols(e));
    TRY(write_inputs(e));
    TRY(name_weights(e));
    TRY(write_outputs(e));
    return ig_onnx_builder_save(e->b, path);
}

ig_status ig_onnx_export(const ig_onnx_export_call *call, const char *path)
{
    ig_onnx_export_call own = {0};
    TRY(require_pointer("ig_onnx_export", "call", call));
    TRY(require_pointer("ig_onnx_export", "path", path));
    TRY(sized_read(SIZED(ig_onnx_export_call, external), &own, call));
    TRY(check_call(&own));
    exporter e = {.call = &own, .traces = own.n_traces};
    TRY(ig_scope_begin());
    const ig_status status = export(&e, path);
    ig_scope_end();
    ig_onnx_builder_free(e.b);
    onnx_arena_free(&e.arena);
    walk_free(&e.table);
    memory_free(e.spots);
    memory_free(e.constants);
    memory_free(e.extents);
    return status;
}
