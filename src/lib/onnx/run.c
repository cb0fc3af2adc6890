/* Runs the nodes of a graph in order. See run.h. */
#include "lib/onnx/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- tensors of the file -------------------------------------------------------------------- */

/* Tensors are made on the CPU, so that the few elements that shape the graph can be read. value_on moves the others. */
static ig_onnx_value *on_cpu(onnx_run *r, const onnx_tensor *t, const onnx_sparse *s)
{
    const bool other = strcmp(r->device, "cpu") != 0;
    if (other && ig_set_device("cpu") != IG_OK)
        return NULL;
    struct onnx_files *const files = &r->m->files;
    ig_onnx_value *v = t ? value_of_tensor(t, files) : value_of_sparse(s, files);
    if (other)
        ig_set_device(r->device);
    return v;
}

ig_onnx_value *run_tensor(onnx_run *r, const onnx_tensor *t) { return on_cpu(r, t, NULL); }

ig_onnx_value *run_sparse(onnx_run *r, const onnx_sparse *s) { return on_cpu(r, NULL, s); }

/* ---- attributes ----------------------------------------------------------------------------- */

static const onnx_attribute *attribute_find(const onnx_attribute *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

const onnx_attribute *frame_attribute(const onnx_frame *f, const onnx_node *n, const char *name)
{
    const onnx_attribute *a = attribute_find(n->attributes, n->n_attributes, name);
    if (!a || !a->refers || !f->home)
        return a && a->refers ? NULL : a;
    const onnx_attribute *given = frame_attribute(f->home->outer, f->caller, a->refers);
    return given ? given
                 : attribute_find(f->function->defaults, f->function->n_defaults, a->refers);
}

/* ---- one node ------------------------------------------------------------------------------- */

/* True if a value is small and on the CPU. Results that are computed only from such values stay there. */
static bool is_on_host(const ig_onnx_value *v)
{
    enum { MOST = 64 };
    return strcmp(ig_array_device(v->array), "cpu") == 0 && ig_size(v->array) <= MOST;
}

/* The device of a node: the CPU if all its inputs are small and there, as in computations of shapes. */
static const char *call_place(const onnx_call *c)
{
    int tensors = 0, host = 0;
    const char *const device = c->frame->run->device;
    for (int i = 0; i < c->node->n_in && strcmp(device, "cpu") != 0; i++) {
        const int slot = c->node->in_slots[i];
        const ig_onnx_value *v = slot < 0 ? NULL : c->frame->slots[slot];
        if (ig_onnx_value_kind(v) != IG_ONNX_TENSOR)
            continue;
        tensors++;
        host += is_on_host(v);
    }
    return tensors && host == tensors ? "cpu" : device;
}

/* Adds the node to an error that does not name it. */
static void error_locate(onnx_call *c)
{
    ig_status code = IG_ERR_INTERNAL;
    char text[900] = "it failed without a reason";
    const char *message = ig_error(&code);
    if (message)
        snprintf(text, sizeof text, "%s", message);
    call_fail(c, code, NULL, "%s", text);
}

/* Fails if the op did not read an attribute of the node, because it may change the meaning of the op. consumed_inputs of old
 * opsets only allowed an op to overwrite its inputs. */
static void attributes_check(onnx_call *c)
{
    call_ignore(c, "consumed_inputs");
    for (int i = 0; i < c->node->n_attributes && i < 63; i++)
        if (!(c->asked >> i & 1) && frame_attribute(c->frame, c->node, c->node->attributes[i].name))
            call_fail(c, IG_ERR_UNSUPPORTED, NULL, "the attribute '%.100s' is not supported",
                      c->node->attributes[i].name);
}

static bool results_store(onnx_call *c)
{
    const onnx_node *n = c->node;
    for (int i = 0; i < n->n_out; i++) {
        if (n->out_slots[i] < 0)
            continue;
        ig_onnx_value *v = c->results[i];
        if (!v) {
            call_fail(c, IG_ERR_UNSUPPORTED, NULL, "its output %d is not supported", i);
            return false;
        }
        v->varies |= c->varies;
        ig_onnx_value **slot = &c->frame->slots[n->out_slots[i]];
        ig_onnx_value_release(*slot);
        *slot = v;
        c->results[i] = NULL;
    }
    return true;
}

/* Runs a function of the model in place of an op. */
static void function_run(onnx_call *c, const onnx_function *function)
{
    onnx_frame inner = {.run = c->frame->run,
                        .graph = &function->body,
                        .outer = c->frame,
                        .function = function,
                        .caller = c->node,
                        .opsets = function->opsets,
                        .n_opsets = function->n_opsets};
    const onnx_graph *body = &function->body;
    ig_onnx_value **in = memory_new((size_t)(body->n_inputs + 1) * sizeof *in);
    ig_onnx_value **out = memory_new((size_t)(body->n_outputs + 1) * sizeof *out);
    inner.home = &inner;
    if (c->node->n_in > body->n_inputs || c->node->n_out > body->n_outputs) {
        call_fail(c, IG_ERR_FORMAT, NULL, "the function has %d inputs and %d outputs",
                  body->n_inputs, body->n_outputs);
    } else if (in && out) {
        for (int i = 0; i < c->node->n_in; i++)
            in[i] = call_value(c, i);
        c->varies = true;
        c->asked = UINT64_MAX;
        c->failed |= !frame_run(&inner, in, body->n_inputs, out);
        for (int i = 0; i < body->n_outputs; i++)
            call_return_value(c, i, out[i]);
    }
    memory_free(in);
    memory_free(out);
}

static void op_run(onnx_call *c)
{
    c->version = onnx_opset_version(c->frame->opsets, c->frame->n_opsets, c->node->domain);
    c->op = onnx_op_find(c->node->domain, c->node->op, c->version);
    if (!c->op) {
        call_fail(c, IG_ERR_UNSUPPORTED, NULL,
                  "there is no such op in version %lld of domain '%.100s'", (long long)c->version,
                  *c->node->domain ? c->node->domain : "ai.onnx");
        return;
    }
    c->device = call_place(c);
    const bool elsewhere = strcmp(c->device, c->frame->run->device) != 0;
    if (elsewhere)
        ig_set_device(c->device);
    c->op->build(c);
    if (elsewhere)
        ig_set_device(c->frame->run->device);
    if (!ig_failed())
        attributes_check(c);
}

static bool node_run(onnx_frame *f, const onnx_node *n)
{
    onnx_call c = {.frame = f, .node = n};
    c.results = memory_new((size_t)(n->n_out + 1) * sizeof *c.results);
    if (!c.results)
        return false;
    if (n->function)
        function_run(&c, n->function);
    else
        op_run(&c);
    bool fine = !ig_failed() && results_store(&c);
    if (fine && f->run->watch)
        fine = f->run->watch(f->run->watch_context, f, n);
    if (!fine && !c.failed)
        error_locate(&c);
    for (int i = 0; i < n->n_out; i++)
        ig_onnx_value_release(c.results[i]);
    memory_free(c.results);
    call_free(&c);
    return fine;
}

static bool node_run_scoped(onnx_frame *f, const onnx_node *n)
{
    if (!f->run->scoped || f->outer)
        return node_run(f, n);
    if (ig_scope_begin() != IG_OK)
        return false;
    const bool fine = node_run(f, n);
    ig_scope_end();
    return fine;
}

/* ---- a graph -------------------------------------------------------------------------------- */

static bool tensors_place(onnx_frame *f)
{
    const onnx_graph *g = f->graph;
    const bool whole = g == &f->run->m->model.graph;
    for (int i = 0; i < g->n_tensors + g->n_sparses; i++) {
        ig_onnx_value **slot = &f->slots[g->tensor_slots[i]];
        if (*slot) /* an input that was given */
            continue;
        *slot = whole              ? ig_onnx_value_retain(onnx_weight(f->run->m, i))
                : i < g->n_tensors ? run_tensor(f->run, &g->tensors[i])
                                   : run_sparse(f->run, &g->sparses[i - g->n_tensors]);
        if (!*slot)
            return false;
    }
    return true;
}

static bool outputs_take(onnx_frame *f, ig_onnx_value **outputs)
{
    const onnx_graph *g = f->graph;
    for (int i = 0; i < g->n_outputs; i++) {
        const int slot = g->output_slots[i];
        outputs[i] =
            slot < 0 ? value_nothing(IG_ONNX_UNDEFINED) : ig_onnx_value_retain(f->slots[slot]);
        if (outputs[i])
            continue;
        if (slot >= 0)
            outputs[i] = value_nothing(IG_ONNX_UNDEFINED);
        if (!outputs[i])
            return false;
    }
    return true;
}

bool frame_run(onnx_frame *f, ig_onnx_value *const *inputs, int n, ig_onnx_value **outputs)
{
    const onnx_graph *g = f->graph;
    bool fine = f->run->depth < RUN_DEPTH;
    if (!fine)
        ig_fail(IG_ERR_UNSUPPORTED, "onnx: more than %d graphs and functions are nested",
                RUN_DEPTH);
    f->run->depth++;
    f->slots = memory_new((size_t)(g->n_slots + 1) * sizeof *f->slots);
    fine = fine && f->slots;
    for (int i = 0; i < n && i < g->n_inputs && fine; i++)
        f->slots[i] = ig_onnx_value_retain(inputs[i]);
    for (int i = 0; i < g->n_outer && fine; i++)
        f->slots[g->first_outer + i] = ig_onnx_value_retain(f->outer->slots[g->outer[i]]);
    fine = fine && tensors_place(f);
    for (int i = 0; i < g->n_nodes && fine; i++)
        fine = node_run_scoped(f, &g->nodes[i]);
    fine = fine && outputs_take(f, outputs);
    for (int i = 0; i < g->n_slots && f->slots; i++)
        ig_onnx_value_release(f->slots[i]);
    memory_free(f->slots);
    f->slots = NULL;
    f->run->depth--;
    for (int i = 0; i < g->n_outputs && !fine; i++) {
        ig_onnx_value_release(outputs[i]);
        outputs[i] = NULL;
    }
    return fine;
}

/* ---- a model -------------------------------------------------------------------------------- */

/* "2 x 3", with "any" for a length that the model does not state. */
static void shape_text(const int64_t *dims, int n, char *out, size_t room)
{
    size_t at = 0;
    snprintf(out, room, "a scalar");
    for (int i = 0; i < n && at < room; i++)
        at += (size_t)(dims[i] < 0 ? snprintf(out + at, room - at, "%sany", i ? " x " : "")
                                   : snprintf(out + at, room - at, "%s%lld", i ? " x " : "",
                                              (long long)dims[i]));
}

static ig_status inputs_check(const ig_onnx *m, ig_onnx_value *const *inputs)
{
    const onnx_graph *g = &m->model.graph;
    for (int i = 0; i < g->n_given; i++) {
        const onnx_type *t = &g->inputs[i].type;
        const ig_onnx_value *v = inputs[i];
        if (ig_onnx_value_kind(v) == IG_ONNX_NOTHING)
            continue;
        if (t->kind != IG_ONNX_NOTHING && v->kind != t->kind &&
            !(t->kind == IG_ONNX_TENSOR && v->kind == IG_ONNX_TEXTS))
            FAIL(IG_ERR_ARGUMENT,
                 "onnx: input '%.200s' is another kind of value than the model states",
                 g->inputs[i].name);
        if (t->kind == IG_ONNX_TENSOR && t->element != IG_ONNX_UNDEFINED && v->type != t->element)
            FAIL(IG_ERR_DTYPE, "onnx: input '%.200s' is %s, but the model states %s",
                 g->inputs[i].name, ig_onnx_type_name(v->type), ig_onnx_type_name(t->element));
        const ig_ints shape = ig_onnx_value_shape(v);
        bool fits = t->kind != IG_ONNX_TENSOR || t->shape.ndim < 0 || t->shape.ndim == shape.n;
        for (int k = 0; fits && t->kind == IG_ONNX_TENSOR && k < t->shape.ndim; k++)
            fits = t->shape.dims[k] < 0 || t->shape.dims[k] == shape.v[k];
        if (!fits) {
            char has[200], stated[200];
            shape_text(shape.v, shape.n, has, sizeof has);
            shape_text(t->shape.dims, t->shape.ndim, stated, sizeof stated);
            FAIL(IG_ERR_SHAPE,
                 "onnx: input '%.200s' has another shape than the model states: %s instead of %s",
                 g->inputs[i].name, has, stated);
        }
    }
    return IG_OK;
}

/* The inputs on the device of the run, all of which vary. The caller releases them. */
static bool inputs_place(onnx_run *r, ig_onnx_value *const *inputs, ig_onnx_value **placed)
{
    const onnx_graph *g = &r->m->model.graph;
    for (int i = 0; i < g->n_given; i++) {
        ig_onnx_value *v = inputs[i];
        if (!v)
            continue;
        if (v->kind == IG_ONNX_TENSOR)
            placed[i] = value_array(value_on(v, r->device, false), v->type);
        else
            placed[i] = ig_onnx_value_retain(v);
        if (!placed[i])
            return false;
        placed[i]->varies = true;
    }
    return true;
}

/* After weights got other shapes, replaces the lengths that the file states for outputs by the lengths in a run. */
static void outputs_restate(ig_onnx *m, ig_onnx_value *const *outputs)
{
    onnx_graph *g = &m->model.graph;
    for (int i = 0; i < g->n_outputs; i++) {
        onnx_shape *stated = &g->outputs[i].type.shape;
        const ig_ints shape = ig_onnx_value_shape(outputs[i]);
        for (int k = 0; shape.n == stated->ndim && k < shape.n; k++)
            if (stated->dims[k] >= 0)
                stated->dims[k] = shape.v[k];
    }
}

bool model_apply(onnx_run *r, ig_onnx_value *const *inputs, ig_onnx_value **outputs)
{
    const onnx_model *model = &r->m->model;
    const int n = model->graph.n_given;
    onnx_frame f = {
        .run = r, .graph = &model->graph, .opsets = model->opsets, .n_opsets = model->n_opsets};
    ig_onnx_value **placed = memory_new((size_t)(n + 1) * sizeof *placed);
    snprintf(r->device, sizeof r->device, "%s", ig_device());
    const bool fine =
        placed && inputs_place(r, inputs, placed) && frame_run(&f, placed, n, outputs);
    if (fine && r->m->resized)
        outputs_restate(r->m, outputs);
    for (int i = 0; i < n && placed; i++)
        ig_onnx_value_release(placed[i]);
    memory_free(placed);
    return fine;
}

static ig_status arguments_check(const char *function, const ig_onnx *m,
                                 ig_onnx_value *const *inputs, ig_onnx_value **outputs)
{
    TRY(require_pointer(function, "m", m));
    TRY(require_list(function, "inputs", inputs, m->model.graph.n_given));
    TRY(require_list(function, "outputs", outputs, m->model.graph.n_outputs));
    TRY(inputs_check(m, inputs));
    for (int i = 0; i < m->model.graph.n_outputs; i++)
        outputs[i] = NULL;
    return IG_OK;
}

ig_status run_watched(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs,
                      bool (*watch)(void *context, onnx_frame *f, const onnx_node *node),
                      void *context)
{
    TRY(arguments_check("ig_onnx_logits", m, inputs, outputs));
    onnx_run r = {.m = m, .lazy = true, .watch = watch, .watch_context = context};
    return model_apply(&r, inputs, outputs) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

ig_status ig_onnx_apply(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs)
{
    TRY(arguments_check("ig_onnx_apply", m, inputs, outputs));
    onnx_run r = {.m = m, .lazy = true};
    return model_apply(&r, inputs, outputs) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* The arrays of values, also those in sequences, from list[n] on; counts only, if list is NULL. */
static int arrays_collect(ig_onnx_value *const *values, int n_values, ig_array **list, int n)
{
    for (int i = 0; i < n_values; i++) {
        ig_onnx_value *v = values[i];
        if (v && v->array) {
            if (list)
                list[n] = v->array;
            n++;
        } else if (v) {
            n = arrays_collect(v->items, v->n, list, n);
        }
    }
    return n;
}

ig_status values_eval(ig_onnx_value *const *values, int n_values)
{
    const int n = arrays_collect(values, n_values, NULL, 0);
    ig_array **list = memory_get((size_t)(n + 1) * sizeof *list);
    if (!list)
        return IG_ERR_MEMORY;
    arrays_collect(values, n_values, list, 0);
    const ig_status status = n ? ig_eval(list, n) : IG_OK;
    memory_free(list);
    return status;
}

/* Without a plan: the graph is built and evaluated. Its values are gone when it is evaluated, so it is fused. */
static ig_status run_plainly(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs)
{
    const int n = m->model.graph.n_outputs;
    onnx_run r = {.m = m, .eager = true};
    TRY(ig_scope_begin());
    ig_status status =
        model_apply(&r, inputs, outputs) ? values_eval(outputs, n) : error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    for (int i = 0; i < n && status != IG_OK; i++) {
        ig_onnx_value_release(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

ig_status ig_onnx_run(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs)
{
    ig_status status = IG_OK;
    TRY(arguments_check("ig_onnx_run", m, inputs, outputs));
    if (plan_run(m, inputs, outputs, &status))
        return status;
    return run_plainly(m, inputs, outputs);
}

/* The description of the graph of a run without a plan. */
static char *explain_plainly(ig_onnx *m, ig_onnx_value *const *inputs)
{
    const int n_out = m->model.graph.n_outputs;
    ig_onnx_value **out = memory_new((size_t)(n_out + 1) * sizeof *out);
    onnx_run r = {.m = m};
    char *explained = NULL;
    if (!out || ig_scope_begin() != IG_OK) {
        memory_free(out);
        return NULL;
    }
    if (model_apply(&r, inputs, out)) {
        const int n = arrays_collect(out, n_out, NULL, 0);
        ig_array **list = memory_get((size_t)(n + 1) * sizeof *list);
        if (list) {
            arrays_collect(out, n_out, list, 0);
            explained = ig_explain(list, n);
        }
        memory_free(list);
    }
    for (int i = 0; i < n_out; i++)
        ig_onnx_value_release(out[i]);
    ig_scope_end();
    memory_free(out);
    return explained;
}

char *ig_onnx_explain(ig_onnx *m, ig_onnx_value *const *inputs)
{
    if (require_pointer("ig_onnx_explain", "m", m) != IG_OK ||
        require_list("ig_onnx_explain", "inputs", inputs, m->model.graph.n_given) != IG_OK ||
        inputs_check(m, inputs) != IG_OK)
        return NULL;
    char *explained = plan_explain(m, inputs);
    return explained ? explained : explain_plainly(m, inputs);
}

typedef struct walker {
    ig_onnx_visit visit;
    void *context;
} walker;

/* Shows the outputs of a node to the visitor, and evaluates them. */
static bool walk_watch(void *context, onnx_frame *f, const onnx_node *n)
{
    const walker *w = context;
    if (f->outer)
        return true;
    ig_onnx_value **out = memory_new((size_t)(n->n_out + 1) * sizeof *out);
    if (!out)
        return false;
    for (int i = 0; i < n->n_out; i++)
        out[i] = n->out_slots[i] < 0 ? NULL : f->slots[n->out_slots[i]];
    const ig_status status = w->visit(w->context, n->number, n->name, n->op, out, n->n_out);
    if (status != IG_OK && !ig_failed())
        ig_fail(status, "the walk was ended");
    const bool fine = status == IG_OK && values_eval(out, n->n_out) == IG_OK;
    memory_free(out);
    return fine;
}

ig_status ig_onnx_walk(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs,
                       ig_onnx_visit visit, void *context)
{
    TRY(arguments_check("ig_onnx_walk", m, inputs, outputs));
    if (!visit)
        FAIL(IG_ERR_ARGUMENT, "ig_onnx_walk: visit is NULL");
    walker w = {visit, context};
    onnx_run r = {.m = m, .eager = true, .scoped = true, .watch = walk_watch, .watch_context = &w};
    TRY(ig_scope_begin());
    const bool fine = model_apply(&r, inputs, outputs);
    ig_scope_end();
    return fine ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

int ig_onnx_node_count(const ig_onnx *m) { return m ? m->model.graph.n_nodes : 0; }

const char *ig_onnx_node_op(const ig_onnx *m, int i)
{
    return m && i >= 0 && i < m->model.graph.n_nodes ? m->model.graph.nodes[i].op : NULL;
}
