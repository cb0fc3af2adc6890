/* Facts about a model: which ops it uses how often, its opsets and size, and which ops a device cannot run. */
#include "lib/onnx/run.h"
#include "lib/onnx/types.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"

#include <string.h>

/* An op that the model uses. */
typedef struct onnx_use {
    const char *domain, *op;
    int64_t version, since;
    int count;
    char *refused; /* why the device cannot run it; the model owns it */
    int refused_count;
} onnx_use;

struct onnx_uses {
    onnx_use *at;
    int n, room;
    int64_t nodes;
    bool failed;
};

void onnx_uses_free(onnx_uses *u)
{
    for (int i = 0; u && i < u->n; i++)
        memory_free(u->at[i].refused);
    if (u)
        memory_free(u->at);
    memory_free(u);
}

/* ---- counting ------------------------------------------------------------------------------- */

static onnx_use *use_find(onnx_uses *u, const onnx_node *node, int64_t version)
{
    for (int i = 0; i < u->n; i++)
        if (strcmp(u->at[i].op, node->op) == 0 && strcmp(u->at[i].domain, node->domain) == 0 &&
            u->at[i].version == version)
            return &u->at[i];
    return NULL;
}

static void use_count(onnx_uses *u, const onnx_node *node, int64_t version)
{
    onnx_use *use = use_find(u, node, version);
    u->nodes++;
    if (!use && !memory_room(&u->at, u->n, &u->room, sizeof *u->at)) {
        u->failed = true;
        return;
    }
    if (!use) {
        const onnx_op *row = onnx_op_find(node->domain, node->op, version);
        use = &u->at[u->n++];
        *use = (onnx_use){node->domain, node->op, version, row ? row->since : 0, 0, NULL, 0};
    }
    use->count++;
}

static void graph_count(onnx_uses *u, const onnx_graph *g, const onnx_opset *opsets, int n)
{
    for (int i = 0; i < g->n_nodes && !u->failed; i++) {
        const onnx_node *node = &g->nodes[i];
        if (!node->function)
            use_count(u, node, onnx_opset_version(opsets, n, node->domain));
        for (int k = 0; k < node->n_attributes; k++) {
            const onnx_attribute *a = &node->attributes[k];
            const bool graphs = (a->kind == ONNX_GRAPH || a->kind == ONNX_GRAPHS) && !a->refers;
            for (int j = 0; graphs && j < a->n; j++)
                graph_count(u, a->u.graphs[j], opsets, n);
        }
    }
}

/* The uses of a model, counted on the first question; NULL after an error. */
static onnx_uses *model_uses(ig_onnx *m)
{
    if (m->uses)
        return m->uses;
    onnx_uses *u = memory_new(sizeof *u);
    if (!u)
        return NULL;
    graph_count(u, &m->model.graph, m->model.opsets, m->model.n_opsets);
    for (int i = 0; i < m->model.n_functions; i++) {
        const onnx_function *f = &m->model.functions[i];
        graph_count(u, &f->body, f->opsets, f->n_opsets);
    }
    if (!u->failed)
        return m->uses = u;
    onnx_uses_free(u);
    return NULL;
}

int ig_onnx_use_count(ig_onnx *m)
{
    const onnx_uses *u = m ? model_uses(m) : NULL;
    return u ? u->n : 0;
}

ig_status ig_onnx_use_get(ig_onnx *m, int i, ig_onnx_use *use)
{
    TRY(require_pointer("ig_onnx_use_get", "m", m));
    TRY(require_pointer("ig_onnx_use_get", "use", use));
    const onnx_uses *u = model_uses(m);
    if (!u)
        return error_waiting(IG_ERR_MEMORY);
    if (i < 0 || i >= u->n)
        FAIL(IG_ERR_INDEX, "ig_onnx_use_get: the model uses %d ops; there is no op %d", u->n, i);
    const onnx_use *at = &u->at[i];
    const ig_onnx_use here = {.size = sizeof here,
                              .domain = at->domain[0] ? at->domain : "ai.onnx",
                              .op = at->op,
                              .version = at->version,
                              .since = at->since,
                              .count = at->count,
                              .refused = at->refused,
                              .refused_count = at->refused_count};
    return sized_write(SIZED(ig_onnx_use, refused_count), use, &here);
}

int ig_onnx_opset_count(const ig_onnx *m) { return m ? m->model.n_opsets : 0; }

ig_status ig_onnx_opset(const ig_onnx *m, int i, const char **domain, int64_t *version)
{
    TRY(require_pointer("ig_onnx_opset", "m", m));
    TRY(require_pointer("ig_onnx_opset", "domain", domain));
    TRY(require_pointer("ig_onnx_opset", "version", version));
    if (i < 0 || i >= m->model.n_opsets)
        FAIL(IG_ERR_INDEX, "ig_onnx_opset: the model imports %d opsets; there is no opset %d",
             m->model.n_opsets, i);
    *domain = m->model.opsets[i].domain[0] ? m->model.opsets[i].domain : "ai.onnx";
    *version = m->model.opsets[i].version;
    return IG_OK;
}

ig_status ig_onnx_describe(ig_onnx *m, ig_onnx_facts *facts)
{
    TRY(require_pointer("ig_onnx_describe", "m", m));
    TRY(require_pointer("ig_onnx_describe", "facts", facts));
    const onnx_uses *u = model_uses(m);
    if (!u)
        return error_waiting(IG_ERR_MEMORY);
    const onnx_graph *g = &m->model.graph;
    ig_onnx_facts here = {.size = sizeof here,
                          .producer = m->model.producer,
                          .producer_version = m->model.producer_version,
                          .name = g->name,
                          .ir_version = m->model.ir_version,
                          .nodes = u->nodes,
                          .functions = m->model.n_functions};
    for (const onnx_file *f = m->files.first; f; f = f->next)
        here.bytes += f->bytes;
    for (int i = 0; i < g->n_tensors + g->n_sparses; i++) {
        const onnx_tensor *t =
            i < g->n_tensors ? &g->tensors[i] : &g->sparses[i - g->n_tensors].values;
        here.elements += (uint64_t)t->elements;
        here.weight_bytes += ((uint64_t)t->elements * (uint64_t)onnx_type_bits(t->type) + 7) / 8;
    }
    return sized_write(SIZED(ig_onnx_facts, functions), facts, &here);
}

/* ---- placement ------------------------------------------------------------------------------ */

typedef struct placement {
    onnx_uses *uses;
    const char *device; /* NULL: the device of the arrays */
} placement;

/* Keeps the first reason why the device cannot run an op. */
static void use_refuse(onnx_uses *u, const onnx_node *node, int64_t version)
{
    onnx_use *use = use_find(u, node, version);
    const char *why = ig_error(NULL);
    if (use && !use->refused)
        use->refused = memory_text(why ? why : "unknown");
    if (use)
        use->refused_count++;
}

/* Whether the device can compute a result. Small values that do not depend on the model's inputs, such as shapes, are
 * computed on the CPU. */
static bool can_compute(const placement *p, const ig_onnx_value *v)
{
    enum { MOST = 64 };
    ig_array *x = v->array;
    if (!p->device)
        return ig_can_eval(&x, 1) == IG_OK;
    return (!v->varies && ig_size(x) <= MOST) || ig_could_eval(&x, 1, p->device) == IG_OK;
}

/* A node is asked for by itself: for the nodes after it, its results become zeros, which need no memory. Integers stay as
 * they are, because shapes may be computed from them. */
static bool node_ask(const placement *p, onnx_frame *f, const onnx_node *node, int64_t version,
                     int slot, bool *refused)
{
    ig_onnx_value *v = f->slots[slot];
    if (ig_onnx_value_kind(v) != IG_ONNX_TENSOR || ig_is_evaluated(v->array))
        return true;
    if (!can_compute(p, v)) {
        if (*refused)
            ig_error(NULL);
        else
            use_refuse(p->uses, node, version);
        *refused = true;
    } else if (!ig_isdtype(ig_dtype_of(v->array), "real floating")) {
        return true;
    }
    ig_array *x = ig_zeros(ig_shape(v->array), ig_dtype_of(v->array));
    ig_onnx_value *instead = x ? value_array(x, v->type) : NULL;
    if (!instead)
        return false;
    instead->varies = v->varies;
    ig_onnx_value_release(v);
    f->slots[slot] = instead;
    return true;
}

static bool node_watch(void *context, onnx_frame *f, const onnx_node *node)
{
    const int64_t version = onnx_opset_version(f->opsets, f->n_opsets, node->domain);
    bool refused = false;
    for (int i = 0; i < node->n_out && !node->function; i++)
        if (node->out_slots[i] >= 0 &&
            !node_ask(context, f, node, version, node->out_slots[i], &refused))
            return false;
    return true;
}

ig_status ig_onnx_place(ig_onnx *m, const char *device, ig_onnx_value *const *inputs)
{
    TRY(require_pointer("ig_onnx_place", "m", m));
    TRY(require_list("ig_onnx_place", "inputs", inputs, ig_onnx_input_count(m)));
    onnx_uses *u = model_uses(m);
    const int n = ig_onnx_output_count(m);
    ig_onnx_value **outputs = memory_new((size_t)(n + 1) * sizeof *outputs);
    if (!u || !outputs || ig_scope_begin() != IG_OK) {
        memory_free(outputs);
        return error_waiting(IG_ERR_MEMORY);
    }
    for (int i = 0; i < u->n; i++) {
        memory_free(u->at[i].refused);
        u->at[i].refused = NULL;
        u->at[i].refused_count = 0;
    }
    placement p = {u, device};
    onnx_run run = {.m = m, .watch = node_watch, .watch_context = &p};
    const bool fine = model_apply(&run, inputs, outputs);
    for (int i = 0; i < n; i++)
        ig_onnx_value_release(outputs[i]);
    memory_free(outputs);
    ig_scope_end();
    return fine ? IG_OK : error_waiting(IG_ERR_UNSUPPORTED);
}
