/* ig_onnx_from_memory and ig_onnx_value_load on any bytes. A model that loads gives all its weights, or errors of one line; its
 * slots are in range, and each node follows the nodes that it reads. */
#include "lib/onnx/session.h"
#include "support/scratch.h"

#include <string.h>

enum { MEMORY_FIRST = 1 << 20, MEMORY_TIMES = 64, LIMIT = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void error_check(void)
{
    const char *error = ig_error(NULL);
    scratch_check(error && !strchr(error, '\n'), "no error, or not one line of it");
}

static void slots_check(const onnx_graph *g, const int *slots, int n, int most)
{
    for (int i = 0; i < n; i++)
        scratch_check(slots[i] >= -1 && slots[i] < most && most <= g->n_slots, "a slot is wrong");
}

static void graph_check(const onnx_graph *g)
{
    scratch_check(g->first_outer + g->n_outer == g->n_slots, "slots are missing");
    slots_check(g, g->output_slots, g->n_outputs, g->n_slots);
    slots_check(g, g->tensor_slots, g->n_tensors + g->n_sparses, g->first_outer);
    if (g->n_outer)
        slots_check(g->parent, g->outer, g->n_outer, g->parent->n_slots);
    for (int i = 0; i < g->n_nodes; i++) {
        const onnx_node *node = &g->nodes[i];
        slots_check(g, node->in_slots, node->n_in, g->n_slots);
        slots_check(g, node->out_slots, node->n_out, g->first_outer);
        for (int k = 0; k < node->n_attributes; k++) {
            const onnx_attribute *a = &node->attributes[k];
            for (int j = 0; (a->kind == ONNX_GRAPH || a->kind == ONNX_GRAPHS) && j < a->n; j++)
                graph_check(a->u.graphs[j]);
        }
    }
}

static void model_check(const uint8_t *data, size_t size)
{
    const uint64_t before = ig_memory_used();
    ig_onnx *m = ig_onnx_from_memory(data, size, NULL);
    if (!m) {
        error_check();
        return;
    }
    scratch_check(ig_memory_used() - before < MEMORY_FIRST + MEMORY_TIMES * size, "much memory");
    graph_check(&m->model.graph);
    for (int i = 0; i < ig_onnx_weight_count(m); i++)
        if (!ig_onnx_weight(m, i))
            error_check();
    ig_onnx_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scratch in;
    static const ig_onnx_info kinds[] = {{.kind = IG_ONNX_TENSOR},
                                         {.kind = IG_ONNX_SEQUENCE},
                                         {.kind = IG_ONNX_MAP},
                                         {.kind = IG_ONNX_TENSOR, .optional = true}};
    if (!in.path[0]) {
        in = scratch_open();
        ig_set_memory_limit(LIMIT);
    }
    ig_scope_begin();
    model_check(data, size);
    scratch_fill(&in, data, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ig_onnx_value *v = ig_onnx_value_load(in.path, &kinds[i]);
        if (!v)
            error_check();
        ig_onnx_value_release(v);
    }
    ig_scope_end();
    return 0;
}
