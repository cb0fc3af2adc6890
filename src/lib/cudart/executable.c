/* Executable graphs. A launch makes the same calls as the program would, one after the other on one stream, so it works
 * on every target. */
#include "lib/cudart/graphs.h"

#include "base/memory.h"

#include <string.h>

struct ig_cuda_exec {
    ig_cuda_graph *graph; /* its nodes are in an order in which they can run */
};

/* Orders nodes so that each follows those before it; false if they depend on each other. The order among others is that
 * of their creation. */
static bool sort(ig_cuda_graph *g)
{
    ig_cuda_node **order = memory_new((size_t)(g->n + 1) * sizeof *order);
    int n = 0;
    cudart_graph_unmark(g);
    for (bool moved = order != NULL; moved && n < g->n;) {
        moved = false;
        for (int i = 0; i < g->n; i++) {
            bool is_ready = !g->nodes[i]->mark;
            for (int k = 0; k < g->nodes[i]->n_after && is_ready; k++)
                is_ready = g->nodes[i]->after[k]->mark;
            if (is_ready) {
                g->nodes[i]->mark = 1;
                order[n++] = g->nodes[i];
                moved = true;
            }
        }
    }
    const bool all = order && n == g->n;
    if (all)
        memcpy(g->nodes, order, (size_t)n * sizeof *order);
    memory_free(order);
    for (int i = 0; i < g->n && all; i++)
        for (int k = 0; k < IG_CUDA_BODIES_MOST && g->nodes[i]->bodies[k]; k++)
            if (!sort(g->nodes[i]->bodies[k]))
                return false;
    return all;
}

int ig_cuda_exec_new(ig_cuda_exec **out, const ig_cuda_graph *g)
{
    ig_cuda_exec *e = memory_new(sizeof *e);
    *out = NULL;
    if (!e)
        return cudart_set_last_error(cudaErrorMemoryAllocation);
    int error = ig_cuda_graph_clone(&e->graph, g);
    if (!error && !sort(e->graph)) {
        ig_cuda_graph_free(e->graph);
        error = cudaErrorInvalidValue;
    }
    if (error)
        memory_free(e);
    else
        *out = e;
    return cudart_set_last_error(error);
}

int ig_cuda_exec_free(ig_cuda_exec *e)
{
    if (!e)
        return cudart_set_last_error(cudaErrorInvalidValue);
    ig_cuda_graph_free(e->graph);
    memory_free(e);
    return cudaSuccess;
}

int ig_cuda_exec_set(ig_cuda_exec *e, const ig_cuda_node *n, const ig_cuda_step *s)
{
    ig_cuda_node *own = e ? cudart_graph_copy_of(e->graph, n) : NULL;
    return cudart_set_last_error(own ? cudart_node_replace(own, s) : cudaErrorInvalidValue);
}

/* True if the nodes of both graphs correspond, in the order in which the executable graph runs them. */
static int update_all(ig_cuda_graph *to, const ig_cuda_graph *from)
{
    for (int i = 0; i < to->n; i++) {
        ig_cuda_step s = from->nodes[i]->step;
        s.graph = from->nodes[i]->bodies[0];
        to->nodes[i]->origin = from->nodes[i]->origin;
        if (to->nodes[i]->memory || s.type == IG_CUDA_NODE_CONDITION)
            continue;
        const int error = cudart_node_replace(to->nodes[i], &s);
        if (error)
            return error;
    }
    return cudaSuccess;
}

int ig_cuda_exec_update(ig_cuda_exec *e, const ig_cuda_graph *g, int *result)
{
    enum { SUCCESS, ERROR, TOPOLOGY, TYPE };
    ig_cuda_exec *made;
    int error = e ? ig_cuda_exec_new(&made, g) : cudaErrorInvalidValue;
    *result = ERROR;
    if (error)
        return cudart_set_last_error(error);
    *result = made->graph->n == e->graph->n ? SUCCESS : TOPOLOGY;
    for (int i = 0; i < e->graph->n && *result == SUCCESS; i++) {
        const ig_cuda_node *a = e->graph->nodes[i], *b = made->graph->nodes[i];
        *result = a->step.type != b->step.type                         ? TYPE
                  : a->n_after != b->n_after || a->memory != b->memory ? TOPOLOGY
                                                                       : SUCCESS;
        for (int k = 0; k < i && *result == SUCCESS; k++)
            if (cudart_node_is_after(a, e->graph->nodes[k]) !=
                cudart_node_is_after(b, made->graph->nodes[k]))
                *result = TOPOLOGY;
    }
    error =
        *result == SUCCESS ? update_all(e->graph, made->graph) : cudaErrorGraphExecUpdateFailure;
    ig_cuda_exec_free(made);
    return cudart_set_last_error(error);
}

/* Fills rows with a value of one, two or four bytes. Widths are in values. */
static int fill(const ig_cuda_step *s, void *stream)
{
    const size_t bytes = s->width * s->element, pitch = s->height > 1 ? s->pitch : bytes;
    const unsigned one = s->value & 0xff;
    bool is_one = true;
    for (unsigned i = 1; i < s->element; i++)
        is_one &= (s->value >> 8 * i & 0xff) == one;
    if (is_one)
        return ig_cuda_fill(s->at, pitch, (int)one, bytes, s->height, stream, 1);
    char *row = memory_new(bytes);
    int error = row ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t i = 0; i < bytes && row; i++)
        row[i] = (char)(s->value >> 8 * (i % s->element) & 0xff);
    for (size_t y = 0; y < s->height && !error; y++)
        error = ig_cuda_copy((char *)s->at + y * pitch, bytes, row, bytes, bytes, 1, COPY_TO_DEVICE,
                             stream, 0);
    memory_free(row);
    return error;
}

static int run_graph(ig_cuda_graph *g, void *stream);

static int run_condition(ig_cuda_node *n, void *stream)
{
    enum { IF, WHILE, SWITCH };
    for (;;) {
        unsigned value;
        int error = ig_cuda_stream_wait(stream);
        if (!error)
            error = ig_cuda_copy(&value, sizeof value, (void *)(uintptr_t)n->step.condition,
                                 sizeof value, sizeof value, 1, COPY_TO_HOST, NULL, 0);
        if (error)
            return error;
        const unsigned which = n->step.condition_type == SWITCH ? value : !value;
        if (which >= (unsigned)n->step.n_bodies)
            return cudaSuccess;
        error = run_graph(n->bodies[which], stream);
        if (error || n->step.condition_type != WHILE)
            return error;
    }
}

static int run_node(ig_cuda_node *n, void *stream)
{
    const ig_cuda_step *s = &n->step;
    switch (s->type) {
    case IG_CUDA_NODE_KERNEL:
        n->shape.stream = stream;
        return cudart_launch(n->kernel, &n->shape, n->own_args);
    case IG_CUDA_NODE_COPY:
        return ig_cuda_copy_box(&s->to, &s->from, s->extent, s->kind, stream, 1);
    case IG_CUDA_NODE_FILL: return fill(s, stream);
    case IG_CUDA_NODE_CALL: return ig_cuda_stream_call(stream, s->call, s->context);
    case IG_CUDA_NODE_GRAPH: return run_graph(n->bodies[0], stream);
    case IG_CUDA_NODE_WAIT: return ig_cuda_stream_after(stream, s->event);
    case IG_CUDA_NODE_RECORD: return ig_cuda_event_record(s->event, stream);
    case IG_CUDA_NODE_ALLOC: return cudart_block_use(n->memory, true);
    case IG_CUDA_NODE_FREE: return cudart_block_use(n->memory, false);
    case IG_CUDA_NODE_CONDITION: return run_condition(n, stream);
    default: return cudaSuccess;
    }
}

static int run_graph(ig_cuda_graph *g, void *stream)
{
    int error = cudaSuccess;
    for (int i = 0; i < g->n_conditions && !error; i++) {
        const cudart_condition *c = &g->conditions[i];
        if (c->is_set)
            error = ig_cuda_copy(c->memory->at, sizeof c->initial, &c->initial, sizeof c->initial,
                                 sizeof c->initial, 1, COPY_TO_DEVICE, stream, 0);
    }
    for (int i = 0; i < g->n && !error; i++)
        error = run_node(g->nodes[i], stream);
    return error;
}

int ig_cuda_exec_launch(ig_cuda_exec *e, void *stream)
{
    if (!e)
        return cudart_set_last_error(cudaErrorInvalidValue);
    if (cudart_is_captured(stream)) {
        const ig_cuda_step s = {.type = IG_CUDA_NODE_GRAPH, .graph = e->graph};
        return cudart_set_last_error(cudart_capture(stream, &s, NULL));
    }
    return cudart_set_last_error(run_graph(e->graph, stream));
}
