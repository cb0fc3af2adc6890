/* Graphs of work, their nodes and their memory: see graphs.h. */
#include "lib/cudart/graphs.h"

#include "base/memory.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists */
static cudart_block *blocks;
static size_t used_bytes, reserved_bytes, used_most, reserved_most;

/* ---- memory of nodes ---- */

static cudart_block *block_at(const void *at)
{
    cudart_block *b = blocks;
    while (b && b->at != at)
        b = b->next;
    return b;
}

/* Frees the memory if nothing needs it any more. */
static int block_end(cudart_block *b)
{
    if (b->holders || b->is_live)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    cudart_block **p = &blocks;
    while (*p != b)
        p = &(*p)->next;
    *p = b->next;
    reserved_bytes -= b->is_counted ? b->bytes : 0;
    pthread_mutex_unlock(&lock);
    const int error = ig_cuda_free(b->at, 0);
    memory_free(b);
    return error;
}

static int block_new(size_t bytes, bool is_counted, cudart_block **out)
{
    cudart_block *b = memory_new(sizeof *b);
    if (!b)
        return cudaErrorMemoryAllocation;
    const int error = ig_cuda_alloc(&b->at, bytes, IG_CUDA_DEVICE);
    if (error) {
        memory_free(b);
        return error;
    }
    b->bytes = bytes;
    b->is_counted = is_counted;
    pthread_mutex_lock(&lock);
    b->next = blocks;
    blocks = b;
    reserved_bytes += is_counted ? bytes : 0;
    reserved_most = reserved_bytes > reserved_most ? reserved_bytes : reserved_most;
    pthread_mutex_unlock(&lock);
    *out = b;
    return cudaSuccess;
}

static void block_live(cudart_block *b, bool is_live)
{
    if (b->is_live != is_live)
        used_bytes = is_live ? used_bytes + b->bytes : used_bytes - b->bytes;
    used_most = used_bytes > used_most ? used_bytes : used_most;
    b->is_live = is_live;
}

/* A launch allocates the memory or frees it. */
int cudart_block_use(cudart_block *b, bool is_live)
{
    pthread_mutex_lock(&lock);
    const bool fits = b->is_live != is_live;
    if (fits)
        block_live(b, is_live);
    pthread_mutex_unlock(&lock);
    return fits ? cudaSuccess : cudaErrorInvalidValue;
}

bool cudart_graph_free(void *at, int *error)
{
    pthread_mutex_lock(&lock);
    cudart_block *b = block_at(at);
    const bool was_live = b && b->is_live;
    if (was_live)
        block_live(b, false);
    pthread_mutex_unlock(&lock);
    if (!b || !(was_live || b->holders))
        return false; /* block_end frees it */
    *error = was_live ? block_end(b) : cudaErrorInvalidValue;
    return true;
}

int ig_cuda_graph_memory(int which, size_t *value, int reset)
{
    size_t *const values[] = {&used_bytes, &used_most, &reserved_bytes, &reserved_most};
    if (which < 0 || which > 3 || (reset && !(which & 1)))
        return cudart_set_last_error(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (reset)
        *values[which] = *values[which - 1];
    else
        *value = *values[which];
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* ---- nodes ---- */

static void block_drop(cudart_block *b)
{
    b->holders--;
    block_end(b);
}

static void bodies_free(ig_cuda_node *n)
{
    for (int i = 0; i < IG_CUDA_BODIES_MOST; i++)
        if (n->bodies[i]) {
            n->bodies[i]->is_part = false;
            ig_cuda_graph_free(n->bodies[i]);
            n->bodies[i] = NULL;
        }
}

static void release(ig_cuda_node *n)
{
    memory_free(n->own_args);
    n->own_args = NULL;
    bodies_free(n);
    if (n->memory)
        block_drop(n->memory);
    n->memory = NULL;
}

static void node_free(ig_cuda_node *n)
{
    release(n);
    memory_free(n->after);
    memory_free(n);
}

/* Keeps copies of a kernel's parameters. */
static int keep_args(ig_cuda_node *n, void *const *args, const size_t *sizes, int n_args)
{
    size_t bytes = ((size_t)n_args + 1) * sizeof(void *);
    for (int i = 0; i < n_args; i++)
        bytes += (sizes[i] + 15) / 16 * 16 + 16;
    n->own_args = memory_new(bytes);
    if (!n->own_args)
        return cudaErrorMemoryAllocation;
    char *at = (char *)(n->own_args + n_args + 1);
    at += -(uintptr_t)at & 15;
    for (int i = 0; i < n_args; i++) {
        n->own_args[i] = memcpy(at, args[i], sizes[i]);
        at += (sizes[i] + 15) / 16 * 16;
    }
    n->step.args = n->own_args;
    return cudaSuccess;
}

static int set_kernel(ig_cuda_node *n, const ig_cuda_step *s)
{
    int n_args;
    const size_t *sizes;
    n->kernel = cudart_kernel(s->stub, &sizes, &n_args);
    if (!n->kernel || (n_args && !s->args))
        return n->kernel ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction;
    for (int i = 0; i < 3; i++)
        if (!s->grid[i] || !s->block[i])
            return cudaErrorInvalidConfiguration;
    n->shape = (cudart_shape){.grid = {s->grid[0], s->grid[1], s->grid[2]},
                              .block = {s->block[0], s->block[1], s->block[2]},
                              .shared_bytes = s->shared_bytes,
                              .cooperative = s->is_cooperative,
                              .is_call = true,
                              .there = true};
    return keep_args(n, s->args, sizes, n_args);
}

static int set_child(ig_cuda_node *n, const ig_cuda_graph *child)
{
    const int error = ig_cuda_graph_clone(&n->bodies[0], child);
    if (!error)
        n->bodies[0]->is_part = true;
    return error;
}

/* Sets the work of a node; n has none. */
static int set_step(ig_cuda_node *n, const ig_cuda_step *s)
{
    n->step = *s;
    n->step.args = NULL;
    switch (s->type) {
    case IG_CUDA_NODE_KERNEL: return set_kernel(n, s);
    case IG_CUDA_NODE_GRAPH: return set_child(n, s->graph);
    case IG_CUDA_NODE_FILL:
        return s->element == 1 || s->element == 2 || s->element == 4 ? cudaSuccess
                                                                     : cudaErrorInvalidValue;
    case IG_CUDA_NODE_CALL: return s->call ? cudaSuccess : cudaErrorInvalidValue;
    case IG_CUDA_NODE_EMPTY:
    case IG_CUDA_NODE_COPY:
    case IG_CUDA_NODE_WAIT:
    case IG_CUDA_NODE_RECORD:
    case IG_CUDA_NODE_ALLOC:
    case IG_CUDA_NODE_FREE:
    case IG_CUDA_NODE_CONDITION: return cudaSuccess;
    default: return cudaErrorNotSupported;
    }
}

/* Adds an edge unless it is there. */
static int add_after(ig_cuda_node *n, ig_cuda_node *before)
{
    for (int i = 0; i < n->n_after; i++)
        if (n->after[i] == before)
            return cudaSuccess;
    if (before == n || before->graph != n->graph)
        return cudaErrorInvalidValue;
    if (!memory_room(&n->after, n->n_after, &n->room, sizeof *n->after))
        return cudaErrorMemoryAllocation;
    n->after[n->n_after++] = before;
    return cudaSuccess;
}

void cudart_graph_unmark(ig_cuda_graph *g)
{
    for (int i = 0; i < g->n; i++)
        g->nodes[i]->mark = 0;
}

void cudart_node_mark_before(ig_cuda_node *n)
{
    for (int i = 0; i < n->n_after; i++)
        if (!n->after[i]->mark) {
            n->after[i]->mark = 1;
            cudart_node_mark_before(n->after[i]);
        }
}

/* Memory of the same size that a node before n has freed and no other node has taken since; NULL if none. */
static cudart_block *reuse(ig_cuda_node *n, size_t bytes)
{
    cudart_graph_unmark(n->graph);
    cudart_node_mark_before(n);
    for (int i = 0; i < n->graph->n; i++) {
        const ig_cuda_node *free = n->graph->nodes[i];
        cudart_block *b = free->mark && free->step.type == IG_CUDA_NODE_FREE ? free->memory : NULL;
        bool is_taken = !b || b->bytes != bytes;
        for (int k = i + 1; k < n->graph->n && !is_taken; k++)
            is_taken = n->graph->nodes[k]->step.type == IG_CUDA_NODE_ALLOC &&
                       n->graph->nodes[k]->memory == b;
        if (!is_taken)
            return b;
    }
    return NULL;
}

static int set_memory(ig_cuda_node *n)
{
    int error = cudaSuccess;
    if (n->step.type == IG_CUDA_NODE_FREE) {
        n->memory = block_at(n->step.at);
        error = n->memory ? cudaSuccess : cudaErrorInvalidValue;
    } else if (n->step.type == IG_CUDA_NODE_ALLOC) {
        n->memory = n->step.bytes ? reuse(n, n->step.bytes) : NULL;
        if (!n->memory)
            error =
                n->step.bytes ? block_new(n->step.bytes, true, &n->memory) : cudaErrorInvalidValue;
        n->step.at = error ? NULL : n->memory->at;
    }
    if (!error && n->memory)
        n->memory->holders++;
    return error;
}

static ig_cuda_graph *graph_new(void) { return memory_new(sizeof(ig_cuda_graph)); }

static int make_bodies(ig_cuda_node *n)
{
    if (n->step.type != IG_CUDA_NODE_CONDITION)
        return cudaSuccess;
    if (n->step.n_bodies < 1 || n->step.n_bodies > IG_CUDA_BODIES_MOST)
        return cudaErrorInvalidValue;
    for (int i = 0; i < n->step.n_bodies; i++) {
        n->bodies[i] = graph_new();
        if (!n->bodies[i])
            return cudaErrorMemoryAllocation;
        n->bodies[i]->is_part = true;
    }
    return cudaSuccess;
}

int cudart_node_add(ig_cuda_graph *g, ig_cuda_node *const *after, size_t n_after,
                    const ig_cuda_step *s, ig_cuda_node **out)
{
    ig_cuda_node *n = memory_new(sizeof *n);
    if (!n || !memory_room(&g->nodes, g->n, &g->room, sizeof *g->nodes)) {
        memory_free(n);
        return cudaErrorMemoryAllocation;
    }
    n->graph = g;
    int error = cudaSuccess;
    for (size_t i = 0; i < n_after && !error; i++)
        error = after[i] ? add_after(n, after[i]) : cudaErrorInvalidValue;
    if (!error)
        error = set_step(n, s);
    if (!error)
        error = set_memory(n);
    if (!error)
        error = make_bodies(n);
    if (error) {
        node_free(n);
        return error;
    }
    g->nodes[g->n++] = n;
    *out = n;
    return cudaSuccess;
}

int ig_cuda_graph_add(ig_cuda_node **out, ig_cuda_graph *g, ig_cuda_node *const *after,
                      size_t n_after, const ig_cuda_step *s)
{
    if (!out || !g || (n_after && !after))
        return cudart_set_last_error(cudaErrorInvalidValue);
    return cudart_set_last_error(cudart_node_add(g, after, n_after, s, out));
}

int ig_cuda_node_about(ig_cuda_node *n, ig_cuda_step *s)
{
    if (!n)
        return cudart_set_last_error(cudaErrorInvalidValue);
    *s = n->step;
    s->graph = n->bodies[0];
    s->bodies = n->bodies;
    return cudaSuccess;
}

/* Replaces the work of a node by work of the same type. */
int cudart_node_replace(ig_cuda_node *n, const ig_cuda_step *s)
{
    ig_cuda_node made = {.graph = n->graph};
    if (n->step.type != s->type || n->memory || s->type == IG_CUDA_NODE_CONDITION)
        return cudaErrorInvalidValue;
    const int error = set_step(&made, s);
    if (error) {
        release(&made);
        return error;
    }
    release(n);
    n->step = made.step;
    n->kernel = made.kernel;
    n->shape = made.shape;
    n->own_args = made.own_args;
    memcpy(n->bodies, made.bodies, sizeof n->bodies);
    return cudaSuccess;
}

int ig_cuda_node_set(ig_cuda_node *n, const ig_cuda_step *s)
{
    return cudart_set_last_error(n ? cudart_node_replace(n, s) : cudaErrorInvalidValue);
}

int ig_cuda_node_edge(ig_cuda_node *from, ig_cuda_node *to, int is_removed)
{
    if (!from || !to || from->graph != to->graph)
        return cudart_set_last_error(cudaErrorInvalidValue);
    if (!is_removed)
        return cudart_set_last_error(add_after(to, from));
    for (int i = 0; i < to->n_after; i++)
        if (to->after[i] == from) {
            to->after[i] = to->after[--to->n_after];
            return cudaSuccess;
        }
    return cudart_set_last_error(cudaErrorInvalidValue);
}

int ig_cuda_node_free(ig_cuda_node *n)
{
    if (!n)
        return cudart_set_last_error(cudaErrorInvalidValue);
    ig_cuda_graph *g = n->graph;
    int at = 0;
    for (int i = 0; i < g->n; i++) {
        if (g->nodes[i] == n)
            at = i;
        for (int k = 0; k < g->nodes[i]->n_after; k++)
            if (g->nodes[i]->after[k] == n)
                g->nodes[i]->after[k--] = g->nodes[i]->after[--g->nodes[i]->n_after];
    }
    memmove(&g->nodes[at], &g->nodes[at + 1], (size_t)(--g->n - at) * sizeof *g->nodes);
    node_free(n);
    return cudaSuccess;
}

/* ---- graphs ---- */

int ig_cuda_graph_new(ig_cuda_graph **out)
{
    *out = graph_new();
    return cudart_set_last_error(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

int ig_cuda_graph_free(ig_cuda_graph *g)
{
    if (!g || g->is_part)
        return cudart_set_last_error(cudaErrorInvalidValue);
    for (int i = 0; i < g->n; i++)
        node_free(g->nodes[i]);
    memory_free(g->nodes);
    for (int i = 0; i < g->n_conditions; i++)
        block_drop(g->conditions[i].memory);
    memory_free(g->conditions);
    memory_free(g);
    return cudaSuccess;
}

ig_cuda_node *cudart_graph_copy_of(const ig_cuda_graph *g, const ig_cuda_node *origin)
{
    for (int i = 0; i < g->n; i++)
        if (g->nodes[i]->origin == origin)
            return g->nodes[i];
    return NULL;
}

/* Copies a node without its edges. */
static int copy_node(ig_cuda_graph *to, const ig_cuda_node *from)
{
    ig_cuda_node *n = memory_new(sizeof *n);
    if (!n || !memory_room(&to->nodes, to->n, &to->room, sizeof *to->nodes)) {
        memory_free(n);
        return cudaErrorMemoryAllocation;
    }
    ig_cuda_step s = from->step;
    s.graph = from->bodies[0];
    n->graph = to;
    n->origin = from;
    int error = set_step(n, &s);
    n->shape = from->shape;
    n->memory = from->memory;
    if (n->memory)
        n->memory->holders++;
    for (int i = 0; i < IG_CUDA_BODIES_MOST && from->bodies[i] && !error; i++) {
        if (!n->bodies[i])
            error = ig_cuda_graph_clone(&n->bodies[i], from->bodies[i]);
        if (!error)
            n->bodies[i]->is_part = true;
    }
    if (error)
        node_free(n);
    else
        to->nodes[to->n++] = n;
    return error;
}

static int add_condition(ig_cuda_graph *g, cudart_condition c)
{
    if (!memory_room(&g->conditions, g->n_conditions, &g->conditions_room, sizeof c))
        return cudaErrorMemoryAllocation;
    g->conditions[g->n_conditions++] = c;
    c.memory->holders++;
    return cudaSuccess;
}

static int copy_conditions(ig_cuda_graph *to, const ig_cuda_graph *from)
{
    int error = cudaSuccess;
    for (int i = 0; i < from->n_conditions && !error; i++)
        error = add_condition(to, from->conditions[i]);
    return error;
}

int ig_cuda_graph_clone(ig_cuda_graph **out, const ig_cuda_graph *from)
{
    ig_cuda_graph *g = from ? graph_new() : NULL;
    int error = g ? copy_conditions(g, from) : cudaErrorInvalidValue;
    for (int i = 0; from && i < from->n && !error; i++)
        error = copy_node(g, from->nodes[i]);
    for (int i = 0; from && i < from->n && !error; i++)
        for (int k = 0; k < from->nodes[i]->n_after && !error; k++)
            error = add_after(g->nodes[i], cudart_graph_copy_of(g, from->nodes[i]->after[k]));
    if (error && g)
        ig_cuda_graph_free(g);
    *out = error ? NULL : g;
    return cudart_set_last_error(error);
}

int ig_cuda_graph_find_copy(ig_cuda_node **out, const ig_cuda_node *origin, ig_cuda_graph *g)
{
    *out = g ? cudart_graph_copy_of(g, origin) : NULL;
    return cudart_set_last_error(*out ? cudaSuccess : cudaErrorInvalidValue);
}

/* Lists: the first *n of `out` are set, if there is one, and *n becomes their number. */
typedef struct listed {
    ig_cuda_node **out;
    size_t room, n;
} listed;

static void list(listed *l, ig_cuda_node *n)
{
    if (l->out && l->n < l->room)
        l->out[l->n] = n;
    l->n++;
}

bool cudart_node_is_after(const ig_cuda_node *n, const ig_cuda_node *before)
{
    for (int i = 0; i < n->n_after; i++)
        if (n->after[i] == before)
            return true;
    return false;
}

int ig_cuda_graph_nodes(const ig_cuda_graph *g, int roots_only, ig_cuda_node **out, size_t *n)
{
    if (!g || !n)
        return cudart_set_last_error(cudaErrorInvalidValue);
    listed l = {out, *n, 0};
    for (int i = 0; i < g->n; i++)
        if (!roots_only || !g->nodes[i]->n_after)
            list(&l, g->nodes[i]);
    *n = out && l.n > l.room ? l.room : l.n;
    return cudaSuccess;
}

int ig_cuda_graph_edges(const ig_cuda_graph *g, ig_cuda_node **from, ig_cuda_node **to, size_t *n)
{
    if (!g || !n)
        return cudart_set_last_error(cudaErrorInvalidValue);
    listed begins = {from, *n, 0}, ends = {to, *n, 0};
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->n_after; k++) {
            list(&begins, g->nodes[i]->after[k]);
            list(&ends, g->nodes[i]);
        }
    *n = from && ends.n > ends.room ? ends.room : ends.n;
    return cudaSuccess;
}

int ig_cuda_node_neighbors(const ig_cuda_node *of, int is_after_it, ig_cuda_node **out, size_t *n)
{
    if (!of || !n)
        return cudart_set_last_error(cudaErrorInvalidValue);
    listed l = {out, *n, 0};
    for (int i = 0; i < of->n_after && !is_after_it; i++)
        list(&l, of->after[i]);
    for (int i = 0; i < of->graph->n && is_after_it; i++)
        if (cudart_node_is_after(of->graph->nodes[i], of))
            list(&l, of->graph->nodes[i]);
    *n = out && l.n > l.room ? l.room : l.n;
    return cudaSuccess;
}

int ig_cuda_graph_condition_new(unsigned long long *handle, ig_cuda_graph *g, unsigned initial,
                                int is_set)
{
    cudart_condition c = {NULL, initial, is_set != 0};
    int error = g ? block_new(sizeof initial, false, &c.memory) : cudaErrorInvalidValue;
    if (!error) {
        error = ig_cuda_fill(c.memory->at, sizeof initial, 0, sizeof initial, 1, NULL, 0);
        if (!error)
            error = add_condition(g, c);
        if (error)
            block_end(c.memory);
    }
    *handle = error ? 0 : (uintptr_t)c.memory->at;
    return cudart_set_last_error(error);
}
