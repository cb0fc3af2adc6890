/* Emitting kernel nodes: user kernels and native code. They get pointers, so inputs that are not contiguous are copied
 * first. All results of one launch come from one program. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/graph/emit.h"
#include "engine/ops/native_node.h"
#include <string.h>

/* True if x and y are results of one launch: the same kernel, with the same inputs. */
static bool is_same_launch(const graph *g, const ig_array *x, const ig_array *y)
{
    const node_kernel *a = x->attr.kernel, *b = y->attr.kernel;
    bool same = b && x->attr.copy == y->attr.copy && x->n_in == y->n_in && a->n_key == b->n_key &&
                memcmp(a->key, b->key, (size_t)a->n_key * sizeof *a->key) == 0;
    for (int i = 0; i < x->n_in && same; i++) {
        const ig_array *p = x->in[i], *q = y->in[i];
        const bool leaf = p->root->data || q->root->data;
        same = view_equal(&p->view, &q->view) &&
               (leaf ? p->root == q->root : g->same[p->root->index] == g->same[q->root->index]);
    }
    return same;
}

/* True if the program of another result of the same launch has been emitted. */
static bool is_launched(const schedule *s, int result)
{
    for (int i = 0; i < s->n_program; i++)
        if (s->program[i].kind == PROGRAM_KERNEL && tape_touches(&s->program[i].post, result))
            return true;
    return false;
}

/* True if native code can read the view by its strides: see node_native.strided. */
static bool is_readable(const view *v, ig_dtype dtype)
{
    enum { AXES = 4, ALIGNED = 16 };
    const int64_t size = (int64_t)ig_dtype_bytes(dtype);
    if (v->ndim < 1 || v->ndim > AXES || v->stride[v->ndim - 1] != 1 ||
        v->offset * size % ALIGNED != 0)
        return false;
    for (int i = 0; i < v->ndim - 1; i++)
        if (v->shape[i] > 1 && (v->stride[i] < 1 || v->stride[i] * size % ALIGNED != 0))
            return false;
    return true;
}

/* A kernel gets pointers, so its inputs are contiguous and aligned for its widest vectors. */
static ig_status kernel_input(emitter *e, const node_kernel *k, const ig_array *y, operand *out)
{
    enum { ALIGNED = 64 };
    TRY(graph_plain(e, y, out));
    if (array_is_packed(y))
        return IG_OK;
    if (k->native && k->native->strided && !y->root->is_number &&
        (ig_dtype)y->dtype == k->native->dtype && is_readable(&y->view, (ig_dtype)y->dtype))
        return IG_OK;
    const bool is_value = k->native && y->root->is_number; /* it is in no memory of the device */
    if (!is_value && view_is_contiguous(&y->view) &&
        y->view.offset * (int64_t)ig_dtype_bytes(y->dtype) % ALIGNED == 0)
        return IG_OK;
    view_contiguous(&out->v, y->view.ndim, y->view.shape);
    out->slot = graph_temporary(e->s, graph_bytes(y));
    return out->slot < 0 ? IG_ERR_MEMORY : graph_copy(e, y, out->slot, &out->v, "copy");
}

/* The slots of all results, with their initial content. An unused result needs memory too, unless the kernel skips it. */
static ig_status kernel_results(emitter *e, const ig_array *x, operand *results)
{
    const node_kernel *k = x->attr.kernel;
    for (int i = 0; i < k->n_result; i++)
        results[i].slot = -1;
    for (int i = 0; i < e->g->n_node; i++) {
        const ig_array *y = e->g->node[i];
        if (e->g->same[i] == i && y->op == OP_kernel && is_same_launch(e->g, x, y))
            results[y->attr.result] =
                (operand){.slot = e->slot_of[i], .dtype = (ig_dtype)y->dtype, .v = y->view};
    }
    for (int i = 0; i < k->n_result; i++) {
        if (results[i].slot < 0)
            results[i].slot = graph_temporary(e->s, k->skips ? 0 : k->result[i].bytes);
        if (results[i].slot < 0)
            return IG_ERR_MEMORY;
        const ig_array *from = k->result[i].from < 0 ? NULL : x->in[k->result[i].from];
        view whole;
        if (from && view_size(&from->view) > 0) {
            view_contiguous(&whole, from->view.ndim, from->view.shape);
            TRY(graph_copy(e, from, results[i].slot, &whole, "copy"));
        }
    }
    return IG_OK;
}

static ig_status kernel_operands(emitter *e, const ig_array *x, operand *inputs, operand *results)
{
    const node_kernel *k = x->attr.kernel;
    TRY(kernel_results(e, x, results));
    for (int i = 0; i < x->n_in; i++)
        inputs[i].slot = -1;
    for (int i = 0; i < k->n_result; i++)
        if (k->result[i].from >= 0)
            inputs[k->result[i].from] = results[i];
    for (int i = 0; i < x->n_in; i++)
        if (inputs[i].slot < 0)
            TRY(kernel_input(e, k, x->in[i], &inputs[i]));
    return IG_OK;
}

ig_status graph_kernel(emitter *e, const ig_array *x, int node)
{
    const node_kernel *k = x->attr.kernel;
    if (is_launched(e->s, e->slot_of[node]))
        return IG_OK;
    operand *inputs = memory_new((size_t)(x->n_in + 1) * sizeof *inputs);
    operand *results = memory_new((size_t)(k->n_result + 1) * sizeof *results);
    ig_status status = inputs && results ? kernel_operands(e, x, inputs, results) : IG_ERR_MEMORY;
    program *p = status == IG_OK ? graph_program(e, PROGRAM_KERNEL) : NULL;
    if (!p) {
        memory_free(inputs);
        memory_free(results);
        return IG_ERR_MEMORY;
    }
    text label = {0};
    p->kernel = node_kernel_retain(x->attr.kernel);
    p->math = e->g->math;
    p->pre.operand = inputs;
    p->pre.n_operand = x->n_in;
    p->post.operand = results;
    p->post.n_operand = k->n_result;
    for (int i = 0; i < x->n_in; i++)
        p->bytes_read += graph_bytes(x->in[i]);
    for (int i = 0; i < k->n_result; i++)
        p->bytes_written += k->result[i].bytes;
    text_add(&label, " %s", k->label);
    return graph_finish(e->s, p, &label);
}
