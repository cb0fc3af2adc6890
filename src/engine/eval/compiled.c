/* Compiled computations: a schedule, and the mapping of its leaves and outputs to inputs, constants and outputs. */
#include "engine/eval/compiled.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"
#include "engine/eval/constants.h"
#include "engine/eval/engine.h"
#include "engine/graph/rewrite/rewrite.h"
#include "engine/eval/budget.h"
#include "engine/ops/complex.h"
#include "engine/ops/grad.h"
#include <string.h>

/* A leaf, input or output of a compiled computation: its shape, and the source of its buffer. */
typedef struct port {
    ig_dtype dtype;
    view view;       /* how it sees its root */
    view root;       /* of an output: its root's view */
    int input;       /* of a leaf, or of an output that no program computes: the input, or -1 */
    int out;         /* of an output: its number in the schedule, or -1 */
    ig_array *array; /* of a leaf or output that is a constant: retained */
} port;

struct ig_compiled {
    const backend *device;
    schedule **plan; /* NULL: nothing to compute. If memory is short, a run replaces it */
    ig_array **result, **standing; /* the graph, for that: retained */
    ig_math math;
    port *in, *leaf, *out;
    int n_in, n_donated, n_leaf, n_out;
    graph_donation donation;
    struct ig_compiled
        *parts; /* with complex inputs or outputs: the computation of their parts does all */
};

/* ---- making ---- */

ig_array *ig_placeholder(ig_ints shape, ig_dtype dtype)
{
    if (!ig_dtype_bytes(dtype) || dtype_is_complex(dtype))
        FAIL_NULL(IG_ERR_DTYPE, "placeholder: the dtype must be bool or a real number");
    int64_t size;
    if (require_list("placeholder", "shape", shape.v, shape.n) != IG_OK ||
        infer_size(OP_reshape, shape.n, shape.v, dtype, &size) != IG_OK)
        return NULL;
    buffer *b = buffer_new_opaque((size_t)size * ig_dtype_bytes(dtype));
    ig_array *x = b ? array_leaf(dtype, shape.n, shape.v, b) : NULL;
    if (x)
        array_donate(x);
    return x;
}

ig_array *ig_placeholder_number(ig_dtype dtype)
{
    if (!ig_dtype_bytes(dtype) || dtype_is_complex(dtype))
        FAIL_NULL(IG_ERR_DTYPE, "placeholder_number: the dtype must be bool or a real number");
    const uint64_t unknown = 0;
    ig_array *x = array_number(dtype, &unknown);
    if (x)
        array_donate(x);
    return x;
}

static int find_input(ig_array *const *standing, int n, const ig_array *root)
{
    for (int i = 0; i < n; i++)
        if (standing[i]->root == root)
            return i;
    return -1;
}

/* Fills leaf and out from the ordered graph. */
static void connect(ig_compiled *c, const graph *g, ig_array *const *standing,
                    ig_array *const *results)
{
    c->n_leaf = g->n_leaf;
    for (int i = 0; i < g->n_leaf; i++) {
        c->leaf[i].input = find_input(standing, c->n_in, g->leaf[i]);
        if (c->leaf[i].input < 0)
            c->leaf[i].array = ig_retain(g->leaf[i]);
    }
    for (int i = 0; i < c->n_out; i++) {
        port *p = &c->out[i];
        *p = (port){
            (ig_dtype)results[i]->dtype, results[i]->view, results[i]->root->view, -1, -1, NULL};
        for (int k = 0; k < g->n_out; k++)
            if (g->out[k] == results[i]->root)
                p->out = k;
        if (p->out < 0)
            p->input = find_input(standing, c->n_in, results[i]->root);
        if (p->out < 0 && p->input < 0)
            p->array = ig_retain(results[i]);
    }
}

static ig_status order(const ig_compiled *c, graph *g)
{
    TRY(graph_order(g, c->result, c->n_out));
    graph_donate(g, c->standing, c->n_donated, c->donation);
    g->math = c->math;
    return graph_key(g);
}

/* explained (may be NULL) gets the description of the schedule. */
static ig_status plan(ig_compiled *c, graph *g, text *explained)
{
    TRY(order(c, g));
    c->leaf = memory_new((size_t)(g->n_leaf + 1) * sizeof *c->leaf);
    if (!c->leaf)
        return IG_ERR_MEMORY;
    connect(c, g, c->standing, c->result);
    if (g->n_node == 0)
        return IG_OK;
    c->plan = memory_new(sizeof *c->plan);
    if (!c->plan || !(*c->plan = engine_build(g, c->device, true, NULL)))
        return IG_ERR_MEMORY;
    if (explained)
        engine_explain(*c->plan, g, c->device, explained);
    return IG_OK;
}

/* Plans again, for the memory that is left now. */
static ig_status plan_again(const ig_compiled *c, graph *g)
{
    TRY(order(c, g));
    schedule *s = engine_build(g, c->device, true, NULL);
    if (!s)
        return error_waiting(IG_ERR_MEMORY);
    engine_discard(*c->plan, c->device);
    *c->plan = s;
    return IG_OK;
}

static ig_status compile(ig_compiled *c, ig_array *const *inputs, ig_array *const *outputs,
                         text *explained)
{
    ig_array **standing = c->standing = memory_new((size_t)(c->n_in + 1) * sizeof *standing);
    ig_array **results = c->result = memory_new((size_t)(c->n_out + 1) * sizeof *results);
    c->math = ig_math_mode();
    ig_status status = standing && results && c->in && c->out ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < c->n_in && status == IG_OK; i++) {
        c->in[i] = (port){.dtype = (ig_dtype)inputs[i]->dtype, .view = inputs[i]->view};
        if (!(standing[i] = array_standing(inputs[i])))
            status = IG_ERR_MEMORY;
    }
    if (status == IG_OK)
        status = replay_with(outputs, c->n_out, inputs, standing, c->n_in, results);
    rewrite_counts rewritten = {0};
    if (status == IG_OK) {
        status = rewrite_graph(&engine_enter()->g, results, c->n_out, standing, c->n_in,
                               !c->device->limits.in_place, &rewritten);
        engine_leave();
    }
    if (status == IG_OK)
        status = constants_fold(standing, c->n_in, results, c->n_out);
    /* The graph is built, so the builders no longer read the value of a number: kernels now get it by value. */
    for (int i = 0; i < c->n_in && status == IG_OK; i++)
        standing[i]->is_number = inputs[i]->root->is_number && inputs[i]->view.ndim == 0;
    if (status == IG_OK) {
        status = plan(c, &engine_enter()->g, explained);
        engine_leave();
    }
    if (explained)
        rewrite_text(&rewritten, explained);
    for (int i = 0; i < c->n_in && standing; i++)
        ig_retain(standing[i]);
    for (int i = 0; i < c->n_out && results; i++)
        ig_retain(results[i]);
    return status;
}

static ig_compiled *compile_new(ig_array *const *inputs, int n_in, int n_donated,
                                graph_donation donation, ig_array *const *outputs, int n_out,
                                text *explained);

/* Compiles the computation of the parts of complex arrays. in and out keep only the dtypes and shapes. */
static ig_compiled *compile_parts(ig_array *const *inputs, int n_in, int n_donated,
                                  graph_donation donation, ig_array *const *outputs, int n_out,
                                  text *explained)
{
    ig_array **in = memory_get((2 * (size_t)n_in + 1) * sizeof *in);
    ig_array **out = memory_get((2 * (size_t)n_out + 1) * sizeof *out);
    ig_compiled *c = memory_new(sizeof *c);
    if (c) {
        *c = (ig_compiled){.n_in = n_in, .n_donated = n_donated, .n_out = n_out};
        c->in = memory_new((size_t)(n_in + 1) * sizeof *c->in);
        c->out = memory_new((size_t)(n_out + 1) * sizeof *c->out);
    }
    if (c && in && out && c->in && c->out && ig_scope_begin() == IG_OK) {
        for (int i = 0; i < n_in; i++)
            c->in[i] = (port){.dtype = (ig_dtype)inputs[i]->dtype, .view = inputs[i]->view};
        for (int i = 0; i < n_out; i++)
            c->out[i].dtype = (ig_dtype)outputs[i]->dtype;
        const int donated = complex_flatten(inputs, n_donated, false, in);
        const int n = complex_flatten(inputs, n_in, false, in);
        c->parts = compile_new(in, n, donated, donation, out,
                               complex_flatten(outputs, n_out, false, out), explained);
        ig_scope_end();
    }
    memory_free(in);
    memory_free(out);
    if (c && c->parts)
        return c;
    ig_compiled_free(c);
    return NULL;
}

static ig_compiled *compile_new(ig_array *const *inputs, int n_in, int n_donated,
                                graph_donation donation, ig_array *const *outputs, int n_out,
                                text *explained)
{
    if (require_list("compile", "inputs", inputs, n_in) != IG_OK ||
        require_list("compile", "outputs", outputs, n_out) != IG_OK)
        return NULL;
    if (n_donated < 0 || n_donated > n_in)
        FAIL_NULL(IG_ERR_ARGUMENT, "compile: %d of %d inputs cannot be donated", n_donated, n_in);
    for (int i = 0; i < n_in + n_out; i++)
        if (!(i < n_in ? inputs[i] : outputs[i - n_in])) {
            ig_fail(IG_ERR_ARGUMENT, "compile: %s %d is NULL", i < n_in ? "input" : "output",
                    i < n_in ? i : i - n_in);
            return NULL;
        }
    if (complex_any(inputs, n_in) || complex_any(outputs, n_out))
        return compile_parts(inputs, n_in, n_donated, donation, outputs, n_out, explained);
    ig_compiled *c = memory_new(sizeof *c);
    if (!c || ig_scope_begin() != IG_OK) {
        memory_free(c);
        return NULL;
    }
    *c = (ig_compiled){.device = n_in ? engine_device_of(inputs[0]) : engine_device(),
                       .n_in = n_in,
                       .n_donated = n_donated,
                       .donation = donation,
                       .n_out = n_out};
    c->in = memory_new((size_t)(n_in + 1) * sizeof *c->in);
    c->out = memory_new((size_t)(n_out + 1) * sizeof *c->out);
    ig_status status = compile(c, inputs, outputs, explained);
    ig_scope_end();
    if (status == IG_OK)
        return c;
    ig_compiled_free(c);
    return NULL;
}

ig_compiled *ig_compile(ig_array *const *inputs, int n_in, int n_donated, ig_array *const *outputs,
                        int n_out)
{
    return compile_new(inputs, n_in, n_donated, DONATED, outputs, n_out, NULL);
}

ig_compiled *compile_expending(ig_array *const *inputs, int n_in, int n_expended,
                               ig_array *const *outputs, int n_out)
{
    return compile_new(inputs, n_in, n_expended, EXPENDED, outputs, n_out, NULL);
}

char *ig_compile_explain(ig_array *const *inputs, int n_in, int n_donated, ig_array *const *outputs,
                         int n_out)
{
    text t = {0};
    ig_compiled *c = compile_new(inputs, n_in, n_donated, DONATED, outputs, n_out, &t);
    t.failed = t.failed || !c;
    if (c && !t.used)
        text_add(&t, "nothing to compute\n");
    ig_compiled_free(c);
    return text_take(&t);
}

void ig_compiled_free(ig_compiled *c)
{
    if (!c)
        return;
    ig_compiled_free(c->parts);
    for (int i = 0; i < c->n_leaf; i++)
        ig_release(c->leaf[i].array);
    for (int i = 0; c->out && i < c->n_out; i++)
        ig_release(c->out[i].array);
    for (int i = 0; c->standing && i < c->n_in; i++)
        ig_release(c->standing[i]);
    for (int i = 0; c->result && i < c->n_out; i++)
        ig_release(c->result[i]);
    if (c->plan) {
        engine_enter();
        engine_discard(*c->plan, c->device);
        engine_leave();
    }
    constants_sweep();
    memory_free(c->standing);
    memory_free(c->result);
    memory_free(c->plan);
    memory_free(c->in);
    memory_free(c->leaf);
    memory_free(c->out);
    memory_free(c);
}

/* ---- running ---- */

/* True if x is a strided view or has blocks: engine_order has copied its elements. */
static bool is_copied(const ig_array *x) { return !array_is_ordered(x); }

/* Checks the inputs, evaluates them, and makes them contiguous. */
static ig_status check_inputs(const ig_compiled *c, ig_array *const *in)
{
    bool ready = true;
    for (int i = 0; i < c->n_in; i++) {
        if (!in[i] || in[i]->dtype != c->in[i].dtype ||
            !view_same_shape(&in[i]->view, &c->in[i].view)) {
            char have[400] = "NULL", want[400];
            if (in[i])
                view_shape_text(in[i]->view.ndim, in[i]->view.shape, have);
            FAIL(IG_ERR_SHAPE, "run: input %d is %s%s, but was compiled as %s%s", i,
                 in[i] ? ig_dtype_name((ig_dtype)in[i]->dtype) : "", have,
                 ig_dtype_name(c->in[i].dtype),
                 view_shape_text(c->in[i].view.ndim, c->in[i].view.shape, want));
        }
        ready = ready && in[i]->root->data;
    }
    if (c->parts)
        return IG_OK;
    if (!ready)
        TRY(ig_eval(in, c->n_in));
    for (int i = 0; i < c->n_in; i++)
        TRY(engine_order(in[i]));
    return IG_OK;
}

static ig_status bind_leaf(run *r, const port *p, int leaf, ig_array *const *in)
{
    ig_array *x = p->input < 0 ? p->array : in[p->input];
    if (p->input >= 0 && is_copied(x)) {
        r->binding[leaf] = (binding){x->data, 0};
        return IG_OK;
    }
    TRY(run_bind_leaf(r, leaf, x->root));
    if (p->input >= 0)
        r->binding[leaf].offset = (size_t)x->view.offset * ig_dtype_bytes((ig_dtype)x->dtype);
    return IG_OK;
}

/* The array for output p of the run, which may be an input or a constant. It is on the device of the run, not on the current one. */
static ig_array *take_output(run *r, const port *p, ig_array *const *in)
{
    if (p->array)
        return array_view(p->array->op, p->array, &p->array->view);
    const ig_array *through = p->input >= 0 ? in[p->input] : NULL;
    const view *whole = !through             ? &p->root
                        : is_copied(through) ? &through->view
                                             : &through->root->view;
    buffer *b = !through ? run_take(r, r->s->out_slot[p->out])
                         : buffer_retain(is_copied(through) ? through->data : through->root->data);
    ig_array *root = array_leaf(p->dtype, whole->ndim, whole->shape, b);
    if (root)
        root->device = through ? through->root->device : r->dev->name;
    view v;
    view_copy(&v, &p->view);
    v.offset += through && !is_copied(through) ? through->view.offset : 0;
    return root && view_equal(&v, &root->view) ? root : array_view(OP_slice, root, &v);
}

static ig_status bind_leaves(run *r, const ig_compiled *c, ig_array *const *in)
{
    TRY(run_begin(r, *c->plan, c->device));
    for (int i = 0; i < c->n_leaf; i++)
        TRY(bind_leaf(r, &c->leaf[i], i, in));
    return IG_OK;
}

static buffer *bound_buffer(const void *r, int i) { return ((const run *)r)->binding[i].buf; }

static ig_status run_with(engine *e, const ig_compiled *c, ig_array *const *in, ig_array **out)
{
    run *r = &e->run;
    ig_status status = IG_OK;
    if (c->plan) {
        TRY(bind_leaves(r, c, in));
        if (!budget_suits(*c->plan, c->device, bound_buffer, r)) {
            TRY(plan_again(c, &e->g));
            TRY(bind_leaves(r, c, in));
        }
        status = run_launch(r);
    }
    for (int i = 0; i < c->n_out && status == IG_OK; i++)
        if (!(out[i] = take_output(r, &c->out[i], in)))
            status = IG_ERR_MEMORY;
    run_end(r);
    const bool written = status == IG_OK || status == IG_ERR_CANCELLED; /* to donated inputs */
    for (int i = 0; i < c->n_donated && written; i++)
        if (in[i]->root->data)
            array_donate(in[i]->root);
    return status;
}

static ig_status run_parts(const ig_compiled *c, ig_array *const *inputs, ig_array **outputs)
{
    ig_array **in = memory_get((2 * (size_t)c->n_in + 1) * sizeof *in);
    ig_array **out = memory_get((2 * (size_t)c->n_out + 1) * sizeof *out);
    ig_status status = in && out ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        complex_flatten(inputs, c->n_in, false, in);
        status = ig_run(c->parts, in, out);
    }
    for (int i = 0, k = 0; i < c->n_out && status == IG_OK; i++) {
        const bool pairs = dtype_is_complex(c->out[i].dtype);
        outputs[i] = pairs ? complex_make((pair){out[k], out[k + 1]}) : out[k];
        k += 1 + pairs;
        if (!outputs[i])
            status = IG_ERR_MEMORY;
    }
    memory_free(in);
    memory_free(out);
    return status;
}

ig_status ig_run(const ig_compiled *c, ig_array *const *inputs, ig_array **outputs)
{
    if (!c)
        return ig_failed() ? IG_ERR_ARGUMENT : ig_fail(IG_ERR_ARGUMENT, "run: nothing is compiled");
    TRY(require_list("run", "inputs", inputs, c->n_in));
    TRY(require_list("run", "outputs", outputs, c->n_out));
    TRY(check_inputs(c, inputs));
    if (c->parts)
        return run_parts(c, inputs, outputs);
    engine *e = engine_enter();
    const int64_t began = trace_begin();
    ig_status status = run_with(e, c, inputs, outputs);
    trace_end(began, "run");
    engine_leave();
    return status;
}
