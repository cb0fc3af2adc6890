/* The fake driver: capture of streams, and graphs. A graph is a list of commands; the node of a launch is the
 * command itself. */
#include "fakecuda/parts.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 4096 };

struct CUgraph_st {
    object base;
    struct CUstream_st nodes; /* captured commands, as a stream that does not run */
};

struct CUgraphExec_st {
    object base;
    command *of[NODES_MOST],
        *node[NODES_MOST]; /* the graph's nodes, of which only the addresses matter, and our
                            * nodes */
    int n;
};

static command *copy_of(const command *c)
{
    const bool holds = c->kind == COMMAND_CALL || (c->kind == COMMAND_COPY && !c->from);
    const uint64_t held = holds ? c->bytes : 0;
    command *out = command_new(c->kind, held);
    if (!out)
        return NULL;
    memcpy(out, c, sizeof *c + held);
    out->next = NULL;
    if (c->launch) {
        out->launch = malloc(sizeof *out->launch);
        if (!out->launch) {
            free(out);
            return NULL;
        }
        *out->launch = *c->launch;
    }
    return out;
}

static void graph_destroy(void *o)
{
    CUgraph g = o;
    while (g->nodes.first) {
        command *c = g->nodes.first;
        g->nodes.first = c->next;
        command_free(c);
    }
}

static void exec_destroy(void *o)
{
    CUgraphExec e = o;
    for (int i = 0; i < e->n; i++)
        if (e->node[i])
            command_free(e->node[i]);
}

/* Moves a stream's commands to another stream. */
static void commands_move(CUstream to, CUstream from)
{
    to->first = from->first;
    to->last = from->first ? from->last : &to->first;
    from->first = NULL;
    from->last = &from->first;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    (void)mode;
    CUresult status = fake_enter(__func__);
    if (status != CUDA_SUCCESS || stream->capture)
        return fake_done(status != CUDA_SUCCESS ? status : CUDA_ERROR_INVALID_VALUE);
    CUgraph g = object_new(sizeof *g, graph_destroy);
    if (!g)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    /* Commands queued earlier wait in the graph's list until the capture ends. */
    commands_move(&g->nodes, stream);
    stream->capture = g;
    stream->spoiled = false;
    stream->n_follow = 0;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    const CUresult entered = fake_enter(__func__);
    CUgraph g = stream->capture;
    struct CUstream_st captured = {0};
    *graph = NULL;
    if (!g)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    commands_move(&captured, stream);
    commands_move(stream, &g->nodes);
    commands_move(&g->nodes, &captured);
    stream->capture = NULL;
    if (entered == CUDA_SUCCESS && !stream->spoiled) {
        *graph = g;
        return fake_done(CUDA_SUCCESS);
    }
    object_free(g);
    return fake_done(entered != CUDA_SUCCESS ? entered : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **nodes,
                                   const CUgraphEdgeData **edges, size_t *n_nodes)
{
    const CUresult entered = fake_enter(__func__);
    if (entered != CUDA_SUCCESS)
        return fake_done(entered);
    *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : 0;
    if (id)
        *id = 1;
    if (graph)
        *graph = stream->capture;
    if (nodes)
        *nodes = (const CUgraphNode *)(const void *)stream->follow;
    if (edges)
        *edges = NULL;
    if (n_nodes)
        *n_nodes = (size_t)stream->n_follow;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t n_nodes,
                                              unsigned flags)
{
    (void)edges;
    const CUresult entered = fake_enter(__func__);
    if (entered != CUDA_SUCCESS)
        return fake_done(entered);
    if (!stream->capture || flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES || n_nodes > FAKE_AFTER)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    if (n_nodes)
        memcpy(stream->follow, nodes, n_nodes * sizeof *stream->follow);
    stream->n_follow = (int)n_nodes;
    return fake_done(CUDA_SUCCESS);
}

static bool is_in(const struct CUgraphExec_st *e, const command *c)
{
    for (int i = 0; i < e->n; i++)
        if (e->of[i] == c)
            return true;
    return false;
}

/* The node that runs next: among those that can run, the last that was captured. This exposes a missing dependency. */
static command *next_of(CUgraph graph, const struct CUgraphExec_st *e)
{
    command *found = NULL;
    for (command *c = graph->nodes.first; c; c = c->next) {
        bool ready = !is_in(e, c);
        for (int i = 0; i < c->n_after && ready; i++)
            ready = is_in(e, c->after[i]);
        found = ready ? c : found;
    }
    return found;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    const CUresult entered = fake_enter(__func__);
    if (entered != CUDA_SUCCESS)
        return fake_done(entered);
    CUgraphExec e = object_new(sizeof *e, exec_destroy);
    if (!e)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    while (e->n < NODES_MOST && (e->of[e->n] = next_of(graph, e))) {
        e->node[e->n] = copy_of(e->of[e->n]);
        e->n++;
    }
    *exec = e;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *p)
{
    const CUresult entered = fake_enter(__func__);
    int i = 0;
    if (entered != CUDA_SUCCESS)
        return fake_done(entered);
    while (i < exec->n && exec->of[i] != (command *)(void *)node)
        i++;
    if (i == exec->n || exec->node[i]->kind != COMMAND_LAUNCH)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    fake_counts[FAKE_UPDATES]++;
    fake_launch *l = exec->node[i]->launch;
    *l = (fake_launch){p->func,
                       {p->gridDimX, p->gridDimY, p->gridDimZ},
                       {p->blockDimX, p->blockDimY, p->blockDimZ},
                       p->sharedMemBytes,
                       {0}};
    return fake_done(launch_pack(p->func, p->kernelParams, l->args));
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUresult status = fake_enter(__func__);
    for (int i = 0; i < exec->n && status == CUDA_SUCCESS; i++)
        status = command_add(stream, copy_of(exec->node[i]));
    fake_counts[FAKE_GRAPHS] += status == CUDA_SUCCESS;
    return fake_done(status);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    const CUresult entered = fake_enter(__func__);
    object_free(exec);
    return fake_done(entered);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    const CUresult entered = fake_enter(__func__);
    object_free(graph);
    return fake_done(entered);
}
