/* Fine-tuning: which weights are parameters of which layer, logits of a classifier, and another last layer. */
#include "lib/onnx/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* ---- layers --------------------------------------------------------------------------------- */

/* The inputs of an op that are parameters, as bits. `begins`: a matrix among them begins a layer. */
typedef struct role {
    const char *op;
    unsigned inputs;
    bool begins;
} role;

static const role roles[] = {{"Gemm", 6, true},
                             {"MatMul", 3, true},
                             {"Conv", 6, true},
                             {"ConvTranspose", 6, true},
                             {"LSTM", 14, true},
                             {"GRU", 14, true},
                             {"RNN", 14, true},
                             {"Gather", 1, true}, /* rows of an embedding */
                             {"Einsum", 3, true},
                             {"FusedMatMul", 3, true},
                             {"FusedGemm", 6, true},
                             {"FusedConv", 6, true},
                             {"Attention", 6, true},
                             {"Add", 3, false},
                             {"Mul", 3, false},
                             {"BatchNormalization", 6, false}, /* not mean and variance */
                             {"InstanceNormalization", 6, false},
                             {"GroupNormalization", 6, false},
                             {"LayerNormalization", 6, false},
                             {"SimplifiedLayerNormalization", 2, false},
                             {"SkipLayerNormalization", 28, false},
                             {"SkipSimplifiedLayerNormalization", 12, false},
                             {"RMSNormalization", 2, false},
                             {"BiasGelu", 2, false},
                             {"PRelu", 2, false}};

/* Ops whose first input passes through, so that it may be a weight. */
static const char *const passing[] = {"Identity", "Transpose", "Reshape", "Unsqueeze",
                                      "Squeeze",  "Flatten",   "Cast"};

static bool is_passing(const onnx_node *n)
{
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strcmp(n->op, passing[i]) == 0)
            return n->n_in > 0 && n->n_out > 0;
    return false;
}

static const role *role_of(const onnx_node *n)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!n->function && strcmp(n->op, roles[i].op) == 0)
            return &roles[i];
    return NULL;
}

static bool type_is_float(ig_onnx_type type)
{
    return type == IG_ONNX_FLOAT || type == IG_ONNX_DOUBLE || type == IG_ONNX_FLOAT16 ||
           type == IG_ONNX_BFLOAT16;
}

/* The node that gives a slot; -1 if none does. */
static int producer_of(const onnx_graph *g, int slot)
{
    for (int i = g->n_nodes - 1; i >= 0 && slot >= 0; i--)
        for (int k = 0; k < g->nodes[i].n_out; k++)
            if (g->nodes[i].out_slots[k] == slot)
                return i;
    return -1;
}

/* The number of the first output of floats; -1 after an error. */
static int classes_output(const ig_onnx *m)
{
    const onnx_graph *g = &m->model.graph;
    for (int i = 0; i < g->n_outputs; i++) {
        const onnx_type *t = &g->outputs[i].type;
        const bool known = t->kind == IG_ONNX_TENSOR && t->element != IG_ONNX_UNDEFINED;
        if (g->output_slots[i] >= 0 && (!known || type_is_float(t->element)) &&
            (t->kind == IG_ONNX_TENSOR || t->kind == IG_ONNX_NOTHING))
            return i;
    }
    ig_fail(IG_ERR_UNSUPPORTED, "onnx: the model has no output of floats");
    return -1;
}

typedef struct layer_search {
    const onnx_graph *graph;
    bool *needed; /* by slot: the output depends on it */
    int *weight;  /* by slot: the weight that it is, possibly in another shape; -1: none */
} layer_search;

static void needed_mark(layer_search *s, int slot)
{
    const onnx_graph *g = s->graph;
    s->needed[slot] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const onnx_node *n = &g->nodes[i];
        bool used = false;
        for (int k = 0; k < n->n_out; k++)
            used |= n->out_slots[k] >= 0 && s->needed[n->out_slots[k]];
        for (int k = 0; k < n->n_in && used; k++)
            if (n->in_slots[k] >= 0)
                s->needed[n->in_slots[k]] = true;
    }
}

static void weights_mark(layer_search *s)
{
    const onnx_graph *g = s->graph;
    for (int i = 0; i < g->n_slots; i++)
        s->weight[i] = -1;
    for (int i = 0; i < g->n_tensors; i++)
        if (type_is_float(g->tensors[i].type))
            s->weight[g->tensor_slots[i]] = i;
    for (int i = 0; i < g->n_nodes; i++) {
        const onnx_node *n = &g->nodes[i];
        if (is_passing(n) && n->in_slots[0] >= 0 && n->out_slots[0] >= 0)
            s->weight[n->out_slots[0]] = s->weight[n->in_slots[0]];
    }
}

static bool node_needed(const layer_search *s, const onnx_node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out_slots[k] >= 0 && s->needed[n->out_slots[k]])
            return true;
    return false;
}

/* Parameters of the node join the current layer, or a new one. Scalars are constants. */
static void node_layer(ig_onnx *m, const layer_search *s, const onnx_node *n)
{
    const role *r = role_of(n);
    bool begun = false;
    for (int k = 0; r && k < n->n_in && k < 8; k++) {
        const int slot = n->in_slots[k], i = slot >= 0 && r->inputs >> k & 1 ? s->weight[slot] : -1;
        if (i < 0 || m->layers[i] >= 0)
            continue;
        const onnx_tensor *t = &s->graph->tensors[i];
        if (r->begins && t->shape.n >= 2 && !begun) {
            begun = true;
            m->n_layers++;
        }
        if (m->n_layers && t->shape.n && t->elements > 1)
            m->layers[i] = m->n_layers - 1;
    }
}

static ig_status layers_find(ig_onnx *m)
{
    const onnx_graph *g = &m->model.graph;
    if (m->layers)
        return IG_OK;
    const int output = classes_output(m), n = ig_onnx_weight_count(m);
    if (output < 0)
        return error_waiting(IG_ERR_UNSUPPORTED);
    layer_search s = {g, memory_new((size_t)g->n_slots * sizeof *s.needed),
                      memory_new((size_t)g->n_slots * sizeof *s.weight)};
    int *layers = memory_new((size_t)(n + 1) * sizeof *layers);
    if (s.needed && s.weight && layers) {
        for (int i = 0; i < n; i++)
            layers[i] = -1;
        m->layers = layers;
        m->n_layers = 0;
        needed_mark(&s, g->output_slots[output]);
        weights_mark(&s);
        for (int i = 0; i < g->n_nodes; i++)
            if (node_needed(&s, &g->nodes[i]))
                node_layer(m, &s, &g->nodes[i]);
    } else {
        memory_free(layers);
    }
    memory_free(s.needed);
    memory_free(s.weight);
    return m->layers ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

int ig_onnx_layer_count(ig_onnx *m)
{
    if (require_pointer("ig_onnx_layer_count", "m", m) != IG_OK || layers_find(m) != IG_OK)
        return -1;
    return m->n_layers;
}

int ig_onnx_weight_layer(ig_onnx *m, int i)
{
    if (i < 0 || i >= ig_onnx_weight_count(m) || layers_find(m) != IG_OK)
        return -1;
    return m->layers[i];
}

/* ---- logits --------------------------------------------------------------------------------- */

/* The slot of the logits: the output itself, or the input of the Softmax that it comes from. -1 after an error. */
static int logits_slot(const ig_onnx *m)
{
    const onnx_graph *g = &m->model.graph;
    const int output = classes_output(m);
    if (output < 0)
        return -1;
    int slot = g->output_slots[output];
    for (int i = producer_of(g, slot); i >= 0; i = producer_of(g, slot)) {
        const onnx_node *n = &g->nodes[i];
        if (strcmp(n->op, "Softmax") == 0 || strcmp(n->op, "LogSoftmax") == 0)
            return n->in_slots[0];
        if (strcmp(n->op, "Sigmoid") == 0) {
            ig_fail(IG_ERR_UNSUPPORTED,
                    "onnx: the output '%.100s' comes from a Sigmoid; a classifier has logits, or a "
                    "Softmax at its end",
                    g->outputs[output].name);
            return -1;
        }
        if (!is_passing(n))
            break;
        slot = n->in_slots[0];
    }
    return g->output_slots[output];
}

typedef struct logits_watch {
    int slot;
    ig_onnx_value *value; /* owned */
} logits_watch;

static bool logits_take(void *context, onnx_frame *f, const onnx_node *n)
{
    logits_watch *w = context;
    for (int k = 0; k < n->n_out && !f->outer; k++)
        if (n->out_slots[k] == w->slot) {
            ig_onnx_value_release(w->value);
            w->value = ig_onnx_value_retain(f->slots[w->slot]);
        }
    return true;
}

/* (n, classes) of whatever shape the model has: axes of length 1 may follow. */
static ig_array *logits_shape(ig_array *x)
{
    const ig_ints shape = ig_shape(x);
    int wide = 0;
    for (int i = 1; i < shape.n; i++)
        wide += shape.v[i] != 1;
    if (shape.n >= 2 && wide <= 1 && ig_size(x) > shape.v[0])
        return ig_reshape(x, IG_SHAPE(shape.v[0], -1));
    FAIL_NULL(
        IG_ERR_SHAPE,
        "onnx: the output has %d axes, %lld elements; a classifier gives (n, classes) with at "
        "least 2 classes",
        shape.n, (long long)ig_size(x));
}

ig_array *ig_onnx_logits(ig_onnx *m, ig_onnx_value *const *inputs)
{
    if (require_pointer("ig_onnx_logits", "m", m) != IG_OK)
        return NULL;
    logits_watch w = {logits_slot(m), NULL};
    const int n = m->model.graph.n_outputs;
    ig_onnx_value **outputs = w.slot < 0 ? NULL : memory_new((size_t)n * sizeof *outputs);
    ig_array *x = NULL;
    if (!outputs)
        return NULL;
    if (run_watched(m, inputs, outputs, logits_take, &w) == IG_OK) {
        if (w.value && w.value->array)
            x = logits_shape(w.value->array);
        else
            ig_fail(IG_ERR_UNSUPPORTED, "onnx: the logits of the model are not a tensor");
    }
    for (int i = 0; i < n; i++)
        ig_onnx_value_release(outputs[i]);
    ig_onnx_value_release(w.value);
    memory_free(outputs);
    return x;
}

/* ---- another last layer --------------------------------------------------------------------- */

static int weight_of_slot(const onnx_graph *g, int slot)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor_slots[i] == slot)
            return i;
    return -1;
}

/* The matrix of the last layer, and its axis of classes. */
typedef struct head {
    int matrix, axis;
    int64_t classes;
} head;

static int64_t attribute_int(const onnx_node *n, const char *name, int64_t otherwise)
{
    for (int i = 0; i < n->n_attributes; i++)
        if (strcmp(n->attributes[i].name, name) == 0)
            return n->attributes[i].u.i;
    return otherwise;
}

static int class_axis(const onnx_node *n, int ndim)
{
    if (strcmp(n->op, "Gemm") == 0 && ndim == 2)
        return attribute_int(n, "transB", 0) ? 0 : 1;
    if (strcmp(n->op, "MatMul") == 0 && ndim == 2)
        return 1;
    return strcmp(n->op, "Conv") == 0 && attribute_int(n, "group", 1) == 1 ? 0 : -1;
}

/* The last node whose second input is a matrix of the last layer. */
static bool head_find(ig_onnx *m, head *h)
{
    const onnx_graph *g = &m->model.graph;
    if (layers_find(m) != IG_OK)
        return false;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const onnx_node *n = &g->nodes[i];
        const role *r = role_of(n);
        const int at = r && r->begins && n->n_in > 1 ? weight_of_slot(g, n->in_slots[1]) : -1;
        if (at < 0 || m->layers[at] < 0 || m->layers[at] != m->n_layers - 1)
            continue;
        const ig_ints shape = g->tensors[at].shape;
        const int axis = class_axis(n, shape.n);
        if (axis < 0)
            break;
        *h = (head){at, axis, shape.v[axis]};
        return true;
    }
    ig_fail(IG_ERR_UNSUPPORTED, "onnx: %s",
            m->n_layers ? "the last layer of the model is not a Gemm, MatMul or Conv that gives "
                          "classes"
                        : "the model has no layers with weights of floats");
    return false;
}

int64_t ig_onnx_classes(ig_onnx *m)
{
    head h;
    return require_pointer("ig_onnx_classes", "m", m) == IG_OK && head_find(m, &h) ? h.classes : -1;
}

/* Gives weight i another length along an axis, and new elements. */
static ig_status weight_resize(ig_onnx *m, int i, int axis, int64_t length, ig_array *key)
{
    onnx_tensor *t = &m->model.graph.tensors[i];
    int64_t *dims = onnx_arena_new(&m->arena, (size_t)t->shape.n, sizeof *dims);
    if (!onnx_weight(m, i) || !dims)
        return error_waiting(IG_ERR_MEMORY);
    const ig_dtype dtype = ig_dtype_of(m->weights[i]->array);
    memcpy(dims, t->shape.v, (size_t)t->shape.n * sizeof *dims);
    const double inputs = (double)t->elements / (double)dims[axis], scale = 1 / sqrt(inputs);
    dims[axis] = length;
    const ig_ints shape = {dims, t->shape.n};
    TRY(ig_scope_begin());
    ig_array *x =
        key ? ig_astype(ig_uniform(key, shape, IG_F32, ig_float(-scale), ig_float(scale)), dtype)
            : ig_zeros(shape, dtype);
    ig_status status = x ? ig_eval(&x, 1) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = onnx_weight_put(m, i, x);
    ig_scope_end();
    if (status != IG_OK)
        return status;
    t->shape = shape;
    t->elements = ig_size(m->weights[i]->array);
    m->resized = true;
    return IG_OK;
}

/* The axis of the classes of a bias; -1: it is not a bias. */
static int bias_axis(const onnx_tensor *t, int64_t classes)
{
    int axis = -1;
    for (int i = 0; i < t->shape.n; i++)
        axis = t->shape.v[i] == classes ? i : axis;
    return t->elements == classes ? axis : -1;
}

ig_status ig_onnx_set_classes(ig_onnx *m, int64_t classes, uint64_t seed)
{
    head h;
    TRY(require_pointer("ig_onnx_set_classes", "m", m));
    if (classes < 2)
        FAIL(IG_ERR_ARGUMENT, "ig_onnx_set_classes: a classifier has at least 2 classes, not %lld",
             (long long)classes);
    if (!head_find(m, &h))
        return error_waiting(IG_ERR_UNSUPPORTED);
    const onnx_graph *g = &m->model.graph;
    for (int i = 0; i < g->n_tensors; i++)
        if (i != h.matrix && m->layers[i] == m->n_layers - 1 &&
            bias_axis(&g->tensors[i], h.classes) < 0)
            FAIL(IG_ERR_UNSUPPORTED,
                 "ig_onnx_set_classes: '%.100s' of the last layer is not a bias of %lld classes",
                 g->tensors[i].name, (long long)h.classes);
    TRY(ig_scope_begin());
    ig_status status = weight_resize(m, h.matrix, h.axis, classes, ig_key(seed, NULL));
    for (int i = 0; i < g->n_tensors && status == IG_OK; i++)
        if (i != h.matrix && m->layers[i] == m->n_layers - 1)
            status = weight_resize(m, i, bias_axis(&g->tensors[i], h.classes), classes, NULL);
    ig_scope_end();
    return status;
}
