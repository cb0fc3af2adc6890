/* Capture: while a stream is captured, runtime.c passes its work here instead of to the target, and it becomes nodes of
 * a graph. */
#include "lib/cudart/graphs.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* A captured stream: the nodes after which its next work runs. An event is kept the same way. */
typedef struct capture {
    struct capture *next;
    const void *stream, *event; /* one of them */
    ig_cuda_graph *graph;
    const void *origin; /* the stream whose capture began */
    unsigned long long id;
    bool owns_graph;
    ig_cuda_node **last;
    int n_last, room;
} capture;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static capture *captures;
static atomic_int n_captures; /* streams */
static unsigned long long last_id;

static capture *capture_of(const void *stream, const void *event)
{
    capture *c = captures;
    while (c && (c->stream != stream || c->event != event))
        c = c->next;
    return c;
}

bool cudart_is_captured(const void *stream)
{
    if (!atomic_load(&n_captures))
        return false;
    pthread_mutex_lock(&lock);
    const bool is = capture_of(stream, NULL) != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

static void capture_drop(capture *c)
{
    capture **p = &captures;
    while (*p != c)
        p = &(*p)->next;
    *p = c->next;
    if (c->stream)
        atomic_fetch_sub(&n_captures, 1);
    memory_free(c->last);
    memory_free(c);
}

static capture *capture_new(const void *stream, const void *event, const capture *like)
{
    capture *c = memory_new(sizeof *c);
    if (!c)
        return NULL;
    if (like)
        *c = *like;
    c->stream = stream;
    c->event = event;
    c->last = NULL;
    c->n_last = c->room = 0;
    c->next = captures;
    captures = c;
    if (stream)
        atomic_fetch_add(&n_captures, 1);
    return c;
}

/* Adds nodes to those after which the next work runs. */
static bool capture_after(capture *c, ig_cuda_node *const *nodes, int n)
{
    for (int i = 0; i < n; i++) {
        bool is_there = false;
        for (int k = 0; k < c->n_last; k++)
            is_there |= c->last[k] == nodes[i];
        if (is_there)
            continue;
        if (!memory_room(&c->last, c->n_last, &c->room, sizeof *c->last))
            return false;
        c->last[c->n_last++] = nodes[i];
    }
    return true;
}

int ig_cuda_capture_begin(void *stream, int mode, ig_cuda_graph *into, ig_cuda_node *const *after,
                          size_t n_after)
{
    if (mode < 0 || mode > 2)
        return cudart_set_last_error(cudaErrorInvalidValue);
    if ((uintptr_t)stream <= 1) /* the legacy stream */
        return cudart_set_last_error(cudaErrorStreamCaptureUnsupported);
    ig_cuda_graph *g = into;
    if (!into)
        ig_cuda_graph_new(&g);
    pthread_mutex_lock(&lock);
    int error = cudaErrorMemoryAllocation;
    capture *c = NULL;
    if (capture_of(stream, NULL))
        error = cudaErrorIllegalState;
    else if (g)
        c = capture_new(stream, NULL, NULL);
    if (c) {
        c->origin = stream;
        c->graph = g;
        c->owns_graph = !into;
        c->id = ++last_id;
        error = capture_after(c, after, (int)n_after) ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    pthread_mutex_unlock(&lock);
    if (!c && !into && g)
        ig_cuda_graph_free(g);
    return cudart_set_last_error(error);
}

/* True if the origin's next work runs after the node. */
static bool is_joined(const capture *origin, ig_cuda_node *n)
{
    cudart_graph_unmark(origin->graph);
    for (int i = 0; i < origin->n_last; i++) {
        origin->last[i]->mark = 1;
        cudart_node_mark_before(origin->last[i]);
    }
    return n->mark;
}

int ig_cuda_capture_end(void *stream, ig_cuda_graph **out)
{
    pthread_mutex_lock(&lock);
    capture *c = capture_of(stream, NULL);
    int error = !c                    ? cudaErrorIllegalState
                : c->origin != stream ? cudaErrorStreamCaptureUnmatched
                                      : cudaSuccess;
    const bool owns = c && c->owns_graph;
    ig_cuda_graph *g = c ? c->graph : NULL;
    for (capture *k = error ? NULL : captures; k; k = k->next)
        for (int i = 0; k->stream && k->id == c->id && i < k->n_last; i++)
            if (!is_joined(c, k->last[i]))
                error = cudaErrorStreamCaptureUnjoined;
    const bool is_over = c && c->origin == stream;
    const unsigned long long id = c ? c->id : 0;
    for (capture *k = captures, *next; k && is_over; k = next) {
        next = k->next;
        if (k->id == id)
            capture_drop(k);
    }
    pthread_mutex_unlock(&lock);
    if (error && is_over && owns) {
        ig_cuda_graph_free(g);
        g = NULL;
    }
    if (out)
        *out = error ? NULL : g;
    return cudart_set_last_error(error);
}

int ig_cuda_capture_about(void *stream, unsigned long long *id, ig_cuda_graph **g,
                          ig_cuda_node *const **last, size_t *n)
{
    pthread_mutex_lock(&lock);
    const capture *c = capture_of(stream, NULL);
    *id = c ? c->id : 0;
    *g = c ? c->graph : NULL;
    *last = c ? c->last : NULL;
    *n = c ? (size_t)c->n_last : 0;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

int ig_cuda_capture_after(void *stream, ig_cuda_node *const *nodes, size_t n, int is_replaced)
{
    pthread_mutex_lock(&lock);
    capture *c = capture_of(stream, NULL);
    if (c && is_replaced)
        c->n_last = 0;
    const int error = !c                                ? cudaErrorIllegalState
                      : capture_after(c, nodes, (int)n) ? cudaSuccess
                                                        : cudaErrorMemoryAllocation;
    pthread_mutex_unlock(&lock);
    return cudart_set_last_error(error);
}

int cudart_capture(void *stream, const ig_cuda_step *s, ig_cuda_node **out)
{
    ig_cuda_node *n;
    pthread_mutex_lock(&lock);
    capture *c = capture_of(stream, NULL);
    pthread_mutex_unlock(&lock); /* an allocation takes it */
    if (!c)
        return cudaErrorIllegalState;
    int error = cudart_node_add(c->graph, c->last, (size_t)c->n_last, s, &n);
    if (error)
        return error;
    c->n_last = 0;
    if (out)
        *out = n;
    return capture_after(c, &n, 1) ? cudaSuccess : cudaErrorMemoryAllocation;
}

int cudart_capture_launch(ig_cuda_kernel *k, const cudart_shape *shape, void *const *args)
{
    ig_cuda_node *n = NULL;
    ig_cuda_step s = {.type = IG_CUDA_NODE_KERNEL,
                      .stub = cudart_kernel_stub(k),
                      .shared_bytes = shape->shared_bytes,
                      .is_cooperative = shape->cooperative,
                      .args = args};
    memcpy(s.grid, shape->grid, sizeof s.grid);
    memcpy(s.block, shape->block, sizeof s.block);
    const int error = cudart_capture(shape->stream, &s, &n);
    if (n)
        n->shape.at = shape->at;
    return error;
}

int cudart_capture_copy(const cudart_copy *c)
{
    const size_t to_pitch = c->height > 1 ? c->to_pitch : c->width;
    const size_t from_pitch = c->height > 1 ? c->from_pitch : c->width;
    const ig_cuda_step s = {
        .type = IG_CUDA_NODE_COPY,
        .to = {.at = c->to, .pitch = to_pitch, .rows = c->height},
        .from = {.at = (char *)(uintptr_t)c->from, .pitch = from_pitch, .rows = c->height},
        .extent = {c->width, c->height, 1},
        .kind = c->kind};
    return cudart_capture(c->stream, &s, NULL);
}

int cudart_capture_fill(const cudart_fill *f)
{
    const ig_cuda_step s = {.type = IG_CUDA_NODE_FILL,
                            .at = f->at,
                            .pitch = f->pitch,
                            .width = f->width,
                            .height = f->height,
                            .value = (unsigned)f->value & 0xff,
                            .element = 1};
    return cudart_capture(f->stream, &s, NULL);
}

int cudart_capture_alloc(void **at, size_t bytes, void *stream)
{
    ig_cuda_node *n;
    const ig_cuda_step s = {.type = IG_CUDA_NODE_ALLOC, .bytes = bytes};
    const int error = cudart_capture(stream, &s, &n);
    if (!error)
        *at = n->step.at;
    return error;
}

bool cudart_capture_record(void *event, void *stream, int *error)
{
    *error = cudaSuccess;
    if (!atomic_load(&n_captures))
        return false;
    pthread_mutex_lock(&lock);
    capture *old = capture_of(NULL, event), *c = capture_of(stream, NULL);
    if (old)
        capture_drop(old);
    capture *made = c ? capture_new(NULL, event, c) : NULL;
    if (c && !(made && capture_after(made, c->last, c->n_last)))
        *error = cudaErrorMemoryAllocation;
    pthread_mutex_unlock(&lock);
    return c != NULL;
}

bool cudart_capture_wait(void *stream, void *event, int *error)
{
    *error = cudaSuccess;
    if (!atomic_load(&n_captures))
        return false;
    pthread_mutex_lock(&lock);
    const capture *e = capture_of(NULL, event);
    capture *c = capture_of(stream, NULL);
    if (e && !c)
        c = capture_new(stream, NULL, e);
    if (e && c && c->id != e->id)
        *error = cudaErrorStreamCaptureMerge;
    else if (e && !(c && capture_after(c, e->last, e->n_last)))
        *error = cudaErrorMemoryAllocation;
    else if (!e && c)
        *error = cudaErrorStreamCaptureIsolation;
    pthread_mutex_unlock(&lock);
    return e || c;
}
