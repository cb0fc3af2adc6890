/* Replay of launches, as a CUDA graph; see backend_replay.
 *
 * In the first runs, the launches of a list go to the stream one by one. Then the stream is captured into a graph. In
 * later runs the list is compared with the graph's nodes: a launch with other arguments changes its node, and the graph
 * is launched as a whole. A list that differs in more than arguments is captured again. After several such changes, or
 * if the driver refuses, the launches go to the stream one by one from then on.
 *
 * The arguments of a library's launches cannot be changed. But buffers alternate: a training step writes new weights
 * while it reads the old ones. So a list has several graphs, and each graph stores which graph was used after it.
 *
 * Launches that need not follow each other are parallel branches of the graph.
 *
 * The device's lock is held from begin to end, so that no commands of other threads come between. */
#include "engine/backend/cuda/cuda.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CAPTURE_AFTER = 2, CAPTURES_MOST = 16, GRAPHS_EACH = 8, GRAPHS_MOST = 256 };

typedef enum replay_mode { REPLAY_DIRECT, REPLAY_CAPTURE, REPLAY_COMPARE } replay_mode;

/* A kernel launch, or a call of a library (code is NULL), with everything that it depends on. */
typedef struct replay_node {
    cuda_kernel *code;
    CUgraphNode node;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    size_t at, bytes; /* range in replay_graph.args: its arguments, or the key of the call */
} replay_node;

typedef struct replay_graph {
    CUgraph graph;
    CUgraphExec exec; /* NULL: no graph */
    replay_node *node;
    int n, room;
    unsigned char *args;
    size_t args_used, args_room;
    int follower; /* number of the graph that was used after it */
} replay_graph;

struct cuda_replay {
    cuda_device *dev;
    replay_mode mode;
    int runs, captures;
    bool refused; /* do not capture any more */
    bool again;   /* the list differs from the graph */
    bool broken;  /* the graph cannot be updated to the list */
    bool repeats; /* the same list is repeated, because no graph has matched yet */
    replay_graph all[GRAPHS_EACH], *g;
    int last;           /* the graph that was used last */
    unsigned compared;  /* graphs that do not match this run: a bit for each */
    int next;           /* the next node to compare */
    CUgraphNode *group; /* during a capture: the last node of each group */
    int n_group, room_group;
    bool in_group;
};

/* The replay of the calling thread. A launch must find it without a lock. */
static _Thread_local cuda_replay *now;

cuda_replay *cuda_replay_now(const cuda_device *d) { return now && now->dev == d ? now : NULL; }

static bool can_replay(void)
{
    const char *wish = getenv("IG_CUDA_GRAPHS");
    return cu.capture_begin && cu.capture_end && cu.capture_info && cu.graph_instantiate &&
           cu.graph_set_kernel && cu.graph_launch && cu.graph_exec_destroy && cu.graph_destroy &&
           !(wish && strcmp(wish, "off") == 0);
}

/* Called with the context. */
static void drop_graph(cuda_replay *r, replay_graph *g)
{
    r->dev->n_graphs -= g->exec != NULL;
    if (g->exec)
        cu.graph_exec_destroy(g->exec);
    if (g->graph)
        cu.graph_destroy(g->graph);
    g->exec = NULL;
    g->graph = NULL;
    g->n = 0;
    g->args_used = 0;
}

static void drop_graphs(cuda_replay *r)
{
    for (int i = 0; i < GRAPHS_EACH; i++)
        drop_graph(r, &r->all[i]);
}

/* The next graph to compare with: the one that was used after the last one, then any other; -1: none is left. */
static int guess(const cuda_replay *r)
{
    int i = r->all[r->last].follower;
    for (int k = 0; k < GRAPHS_EACH; k++, i = (i + 1) % GRAPHS_EACH)
        if (r->all[i].exec && !(r->compared >> i & 1))
            return i;
    return -1;
}

/* Makes room for another graph: an empty entry, or the oldest one. */
static replay_graph *make_room(cuda_replay *r)
{
    replay_graph *g = &r->all[r->captures % GRAPHS_EACH];
    drop_graph(r, g);
    return g;
}

static ig_status begin(const backend *dev, void **kept)
{
    cuda_device *d = cuda_device_of(dev);
    cuda_replay *r = *kept;
    if (!r) {
        *kept = r = memory_new(sizeof *r);
        if (!r)
            return IG_ERR_MEMORY;
        r->dev = d;
        r->refused = !can_replay();
    }
    TRY(cuda_enter(d));
    if (!r->repeats)
        r->compared = 0;
    r->again = r->broken = false;
    r->next = 0;
    r->n_group = 0;
    r->in_group = false;
    const int fits = guess(r);
    r->g = fits < 0 ? NULL : &r->all[fits];
    r->mode = r->g ? REPLAY_COMPARE : REPLAY_DIRECT;
    if (!r->g && !r->refused && r->runs++ >= CAPTURE_AFTER && d->n_graphs < GRAPHS_MOST &&
        cu.capture_begin(d->stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
        r->mode = REPLAY_CAPTURE;
        r->g = make_room(r);
    }
    now = r;
    return IG_OK;
}

/* ---- launches between begin and end ---- */

static bool grow(replay_graph *g, size_t bytes)
{
    if (!memory_room(&g->node, g->n, &g->room, sizeof *g->node))
        return false;
    if (g->args_used + bytes > g->args_room) {
        const size_t room = 2 * (g->args_used + bytes);
        unsigned char *more = memory_resize(g->args, room);
        if (!more)
            return false;
        g->args = more;
        g->args_room = room;
    }
    return true;
}

/* Adds a node and returns the address for its arguments. NULL if memory is lacking: the capture is then abandoned,
 * which is not an error. */
static unsigned char *node_add(replay_graph *g, const replay_node *from)
{
    const bool failed = ig_failed();
    if (!grow(g, from->bytes)) {
        if (!failed)
            ig_error(NULL);
        return NULL;
    }
    g->node[g->n] = *from;
    g->node[g->n++].at = g->args_used;
    g->args_used += from->bytes;
    return g->args + g->node[g->n - 1].at;
}

/* The node of the stream's last launch. */
static bool node_of_last(cuda_replay *r, CUgraphNode *node)
{
    CUstreamCaptureStatus status = 0;
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *edges = NULL;
    size_t n = 0;
    if (cu.capture_info(r->dev->stream, &status, NULL, NULL, &nodes, &edges, &n) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE || n != 1)
        return false;
    *node = nodes[0];
    return true;
}

/* Stores the last node of the previous group; false if there is none, or more than one. */
static bool group_end(cuda_replay *r)
{
    const bool failed = ig_failed();
    if (!memory_room(&r->group, r->n_group, &r->room_group, sizeof *r->group)) {
        if (!failed)
            ig_error(NULL);
        return false;
    }
    return node_of_last(r, &r->group[r->n_group++]);
}

static bool follow(cuda_replay *r, const int *groups, int n)
{
    enum { MOST = 64 };
    CUgraphNode nodes[MOST];
    if ((r->in_group && !group_end(r)) || n > MOST)
        return false;
    r->in_group = true;
    for (int i = 0; i < n; i++)
        nodes[i] = r->group[groups[i]];
    return cu.capture_follow(r->dev->stream, nodes, NULL, (size_t)n,
                             CU_STREAM_SET_CAPTURE_DEPENDENCIES) == CUDA_SUCCESS;
}

static void after(const backend *dev, const int *groups, int n)
{
    cuda_replay *r = cuda_replay_now(cuda_device_of(dev));
    if (r && r->mode == REPLAY_CAPTURE && cu.capture_follow && !r->again)
        r->again = !follow(r, groups, n);
}

/* ---- the arguments of a launch: values, each at a multiple of 16 bytes ---- */

static size_t value_bytes(const kernel_param *p)
{
    return p->kind == KERNEL_BYTES ? p->bytes : sizeof(CUdeviceptr);
}

static size_t value_room(const kernel_param *p) { return (value_bytes(p) + 15) / 16 * 16; }

static size_t arguments_bytes(const cuda_kernel *k)
{
    size_t bytes = 0;
    for (int i = 0; i < k->base.n_params; i++)
        bytes += value_room(&k->base.params[i]);
    return bytes;
}

static void arguments_put(const cuda_kernel *k, void *const *args, unsigned char *to)
{
    for (int i = 0; i < k->base.n_params; to += value_room(&k->base.params[i++]))
        if (k->base.params[i].kind != KERNEL_BYTES) /* usually */
            memcpy(to, args[i], sizeof(CUdeviceptr));
        else
            memcpy(to, args[i], k->base.params[i].bytes);
}

static bool arguments_equal(const cuda_kernel *k, void *const *args, const unsigned char *to)
{
    for (int i = 0; i < k->base.n_params; to += value_room(&k->base.params[i++]))
        if (k->base.params[i].kind != KERNEL_BYTES) { /* usually */
            CUdeviceptr mine, other;
            memcpy(&mine, args[i], sizeof mine);
            memcpy(&other, to, sizeof other);
            if (mine != other)
                return false;
        } else if (memcmp(to, args[i], k->base.params[i].bytes) != 0) {
            return false;
        }
    return true;
}

/* Updates the node to the arguments and the shape of this run. */
static bool node_change(cuda_replay *r, replay_node *n, const kernel_launch *l, void **args)
{
    arguments_put(n->code, args, r->g->args + n->at);
    memcpy(n->grid, l->grid, sizeof n->grid);
    memcpy(n->block, l->block, sizeof n->block);
    n->shared_bytes = l->shared_bytes;
    const CUDA_KERNEL_NODE_PARAMS params = {.func = n->code->function,
                                            .gridDimX = l->grid[0],
                                            .gridDimY = l->grid[1],
                                            .gridDimZ = l->grid[2],
                                            .blockDimX = l->block[0],
                                            .blockDimY = l->block[1],
                                            .blockDimZ = l->block[2],
                                            .sharedMemBytes = (unsigned)l->shared_bytes,
                                            .kernelParams = args};
    return cu.graph_set_kernel(r->g->exec, n->node, &params) == CUDA_SUCCESS;
}

bool cuda_replay_launch(cuda_replay *r, cuda_kernel *k, const kernel_launch *l, void **args)
{
    if (r->mode != REPLAY_COMPARE || r->again)
        return r->again;
    replay_node *n = r->next < r->g->n ? &r->g->node[r->next++] : NULL;
    if (!n || n->code != k) {
        r->again = true;
        return true;
    }
    const bool same = memcmp(n->grid, l->grid, sizeof n->grid) == 0 &&
                      memcmp(n->block, l->block, sizeof n->block) == 0 &&
                      n->shared_bytes == l->shared_bytes &&
                      arguments_equal(k, args, r->g->args + n->at);
    r->again = r->broken = !same && !node_change(r, n, l, args);
    return true;
}

void cuda_replay_launched(cuda_replay *r, cuda_kernel *k, const kernel_launch *l, void **args)
{
    replay_node n = {.code = k, .shared_bytes = l->shared_bytes, .bytes = arguments_bytes(k)};
    memcpy(n.grid, l->grid, sizeof n.grid);
    memcpy(n.block, l->block, sizeof n.block);
    if (r->mode != REPLAY_CAPTURE || r->again)
        return;
    unsigned char *at = node_of_last(r, &n.node) ? node_add(r->g, &n) : NULL;
    r->again = !at;
    if (at)
        arguments_put(k, args, at);
}

bool cuda_replay_call(const cuda_device *d, const void *key, size_t bytes)
{
    cuda_replay *r = cuda_replay_now(d);
    if (!r || r->mode == REPLAY_DIRECT)
        return false;
    if (r->mode == REPLAY_CAPTURE) {
        const replay_node n = {.bytes = bytes};
        unsigned char *at = r->again ? NULL : node_add(r->g, &n);
        r->again = !at;
        if (at)
            memcpy(at, key, bytes);
        return r->again;
    }
    const replay_node *n = r->next < r->g->n ? &r->g->node[r->next++] : NULL;
    r->again = r->again || !n || n->code || n->bytes != bytes ||
               memcmp(r->g->args + n->at, key, bytes) != 0;
    return true;
}

bool cuda_replay_refuse(const cuda_device *d)
{
    cuda_replay *r = cuda_replay_now(d);
    if (!r || r->mode == REPLAY_DIRECT)
        return false;
    r->again = true;
    return true;
}

/* ---- the end ---- */

/* Turns the capture into a graph; false if there is none to launch. */
static bool capture_finish(cuda_replay *r, bool wanted)
{
    replay_graph *g = r->g;
    if (cu.capture_end(r->dev->stream, &g->graph) != CUDA_SUCCESS)
        g->graph = NULL;
    const bool made =
        wanted && g->graph && cu.graph_instantiate(&g->exec, g->graph, 0) == CUDA_SUCCESS;
    if (!made)
        g->exec = NULL;
    r->dev->n_graphs += made;
    r->captures++;
    return made;
}

/* The graph does not match. If no other graph does, the list is captured again, unless a capture failed. */
static void miss(cuda_replay *r)
{
    r->compared |= 1u << (r->g - r->all);
    const bool others = r->mode == REPLAY_COMPARE && !r->broken && guess(r) >= 0;
    if (others)
        return;
    r->refused = r->refused || r->mode == REPLAY_CAPTURE || r->captures >= CAPTURES_MOST;
    if (r->refused || r->broken)
        drop_graphs(r);
}

static ig_status end(const backend *dev, void *kept, ig_status status, bool *again)
{
    cuda_device *d = cuda_device_of(dev);
    cuda_replay *r = kept;
    now = NULL;
    if (r->mode == REPLAY_CAPTURE)
        r->again = !capture_finish(r, status == IG_OK && !r->again);
    if (r->mode == REPLAY_COMPARE)
        r->again = r->again || (status == IG_OK && r->next != r->g->n);
    *again = r->repeats = r->again && status == IG_OK;
    if (r->again) {
        miss(r);
    } else if (status == IG_OK && r->g) {
        const int fitted = (int)(r->g - r->all);
        r->all[r->last].follower = fitted;
        r->last = fitted;
        status = cuda_check(d, cu.graph_launch(r->g->exec, d->stream), "launching a graph");
    }
    cuda_leave(d);
    return status;
}

static void discard(void *kept)
{
    cuda_replay *r = kept;
    if (!r)
        return;
    cuda_device *d = r->dev;
    pthread_mutex_lock(&d->base.lock);
    if (cuda_push(d)) {
        drop_graphs(r); /* the driver frees a running graph when it ends */
        cu.context_pop(&(CUcontext){NULL});
    }
    pthread_mutex_unlock(&d->base.lock);
    for (int i = 0; i < GRAPHS_EACH; i++) {
        memory_free(r->all[i].node);
        memory_free(r->all[i].args);
    }
    memory_free(r->group);
    memory_free(r);
}

const backend_replay cuda_replays = {begin, after, end, discard};
