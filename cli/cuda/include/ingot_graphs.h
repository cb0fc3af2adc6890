/* Graphs and the capture of streams. */
#ifndef INGOT_GRAPHS_H
#define INGOT_GRAPHS_H

#include "ingot_pools.h"
#include "ingot_textures.h"

typedef ig_cuda_graph *cudaGraph_t;
typedef ig_cuda_node *cudaGraphNode_t;
typedef ig_cuda_exec *cudaGraphExec_t;
typedef unsigned long long cudaGraphConditionalHandle;

enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel,
    cudaGraphNodeTypeMemcpy,
    cudaGraphNodeTypeMemset,
    cudaGraphNodeTypeHost,
    cudaGraphNodeTypeGraph,
    cudaGraphNodeTypeEmpty,
    cudaGraphNodeTypeWaitEvent,
    cudaGraphNodeTypeEventRecord,
    cudaGraphNodeTypeExtSemaphoreSignal,
    cudaGraphNodeTypeExtSemaphoreWait,
    cudaGraphNodeTypeMemAlloc,
    cudaGraphNodeTypeMemFree,
    cudaGraphNodeTypeConditional = 13,
    cudaGraphNodeTypeCount
};
enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf,
    cudaGraphCondTypeWhile,
    cudaGraphCondTypeSwitch
};
enum { cudaGraphCondAssignDefault = 1 };
enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess,
    cudaGraphExecUpdateError,
    cudaGraphExecUpdateErrorTopologyChanged,
    cudaGraphExecUpdateErrorNodeTypeChanged,
    cudaGraphExecUpdateErrorFunctionChanged,
    cudaGraphExecUpdateErrorParametersChanged,
    cudaGraphExecUpdateErrorNotSupported
};
struct cudaGraphExecUpdateResultInfo {
    enum cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};
enum cudaGraphMemAttributeType {
    cudaGraphMemAttrUsedMemCurrent,
    cudaGraphMemAttrUsedMemHigh,
    cudaGraphMemAttrReservedMemCurrent,
    cudaGraphMemAttrReservedMemHigh
};
enum cudaGraphInstantiateFlags {
    cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
    cudaGraphInstantiateFlagUpload = 2,
    cudaGraphInstantiateFlagDeviceLaunch = 4,
    cudaGraphInstantiateFlagUseNodePriority = 8
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamUpdateCaptureDependenciesFlags {
    cudaStreamAddCaptureDependencies,
    cudaStreamSetCaptureDependencies
};
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};

/* ---- the parameters of nodes ---- */

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
};
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
};
struct cudaMemAllocNodeParams {
    struct cudaMemPoolProps poolProps;
    const struct cudaMemAccessDesc *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr;
};
struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned int size;
    cudaGraph_t *phGraph_out;
    void *ctx;
};
struct cudaGraphNodeParams {
    enum cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29] = {};
        cudaKernelNodeParams kernel;
        struct {
            int flags, reserved[3];
            cudaMemcpy3DParms copyParams;
        } memcpy;
        cudaMemsetParams memset;
        cudaHostNodeParams host;
        struct {
            cudaGraph_t graph;
        } graph;
        struct {
            cudaEvent_t event;
        } eventWait, eventRecord;
        cudaMemAllocNodeParams alloc;
        struct {
            void *dptr;
        } free;
        cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};

namespace ig_cuda
{
static inline ig_cuda_step step_of(int type)
{
    ig_cuda_step s = {};
    s.type = type;
    return s;
}
static inline ig_cuda_step step_of(const cudaKernelNodeParams *p)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_KERNEL);
    const uint32_t grid[] = {p->gridDim.x, p->gridDim.y, p->gridDim.z};
    const uint32_t block[] = {p->blockDim.x, p->blockDim.y, p->blockDim.z};
    memcpy(s.grid, grid, sizeof grid);
    memcpy(s.block, block, sizeof block);
    s.stub = p->func;
    s.shared_bytes = p->sharedMemBytes;
    s.args = p->kernelParams;
    return s;
}
static inline ig_cuda_step step_of(const cudaMemcpy3DParms *p)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_COPY);
    const cudaArray_t array = p->dstArray ? p->dstArray : p->srcArray;
    s.to = box_of(p->dstArray, p->dstPtr, p->dstPos);
    s.from = box_of(p->srcArray, p->srcPtr, p->srcPos);
    s.extent[0] = p->extent.width * (array ? array->texel_bytes : 1);
    s.extent[1] = p->extent.height;
    s.extent[2] = p->extent.depth;
    s.kind = p->kind;
    return s;
}
static inline ig_cuda_step step_of(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_COPY);
    s.to = in_memory(to, bytes, 1);
    s.from = in_memory(from, bytes, 1);
    s.extent[0] = bytes;
    s.extent[1] = s.extent[2] = 1;
    s.kind = kind;
    return s;
}
static inline ig_cuda_step step_of(const cudaMemsetParams *p)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_FILL);
    s.at = p->dst;
    s.pitch = p->pitch;
    s.width = p->width;
    s.height = p->height;
    s.value = p->value;
    s.element = p->elementSize;
    return s;
}
static inline ig_cuda_step step_of(const cudaHostNodeParams *p)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_CALL);
    s.call = p->fn;
    s.context = p->userData;
    return s;
}
static inline ig_cuda_step step_of(int type, cudaEvent_t event)
{
    ig_cuda_step s = step_of(type);
    s.event = event;
    return s;
}
static inline ig_cuda_step step_of(cudaGraph_t child)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_GRAPH);
    s.graph = child;
    return s;
}
IG_CALL add(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, size_t n,
            const ig_cuda_step &s)
{
    return (cudaError_t)ig_cuda_graph_add(node, g, after, n, &s);
}
IG_CALL set(cudaGraphNode_t node, const ig_cuda_step &s)
{
    return (cudaError_t)ig_cuda_node_set(node, &s);
}
IG_CALL set(cudaGraphExec_t exec, cudaGraphNode_t node, const ig_cuda_step &s)
{
    return (cudaError_t)ig_cuda_exec_set(exec, node, &s);
}
} // namespace ig_cuda

/* ---- graphs ---- */

IG_CALL cudaGraphCreate(cudaGraph_t *g, unsigned) { return (cudaError_t)ig_cuda_graph_new(g); }
IG_CALL cudaGraphDestroy(cudaGraph_t g) { return (cudaError_t)ig_cuda_graph_free(g); }
IG_CALL cudaGraphClone(cudaGraph_t *to, cudaGraph_t from)
{
    return (cudaError_t)ig_cuda_graph_clone(to, from);
}
IG_CALL cudaGraphNodeFindInClone(cudaGraphNode_t *to, cudaGraphNode_t from, cudaGraph_t clone)
{
    return (cudaError_t)ig_cuda_graph_find_copy(to, from, clone);
}
IG_CALL cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                               size_t n, const cudaKernelNodeParams *p)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(p));
}
IG_CALL cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                               size_t n, const cudaMemcpy3DParms *p)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(p));
}
IG_CALL cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                                 size_t n, void *to, const void *from, size_t bytes,
                                 cudaMemcpyKind kind)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(to, from, bytes, kind));
}
template <typename T>
IG_CALL cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t g,
                                       const cudaGraphNode_t *after, size_t n, const T &symbol,
                                       const void *from, size_t bytes, size_t offset,
                                       cudaMemcpyKind, IG_HERE)
{
    char *to;
    const cudaError_t e = ig_cuda::in_symbol((const void *)&symbol, offset, bytes, &to, at);
    return e ? e : cudaGraphAddMemcpyNode1D(node, g, after, n, to, from, bytes, cudaMemcpyDefault);
}
template <typename T>
IG_CALL cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t g,
                                         const cudaGraphNode_t *after, size_t n, void *to,
                                         const T &symbol, size_t bytes, size_t offset,
                                         cudaMemcpyKind, IG_HERE)
{
    char *from;
    const cudaError_t e = ig_cuda::in_symbol((const void *)&symbol, offset, bytes, &from, at);
    return e ? e : cudaGraphAddMemcpyNode1D(node, g, after, n, to, from, bytes, cudaMemcpyDefault);
}
IG_CALL cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                               size_t n, const cudaMemsetParams *p)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(p));
}
IG_CALL cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                             size_t n, const cudaHostNodeParams *p)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(p));
}
IG_CALL cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t g,
                                   const cudaGraphNode_t *after, size_t n, cudaGraph_t child)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(child));
}
IG_CALL cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                              size_t n)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(IG_CUDA_NODE_EMPTY));
}
IG_CALL cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t g,
                                    const cudaGraphNode_t *after, size_t n, cudaEvent_t event)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(IG_CUDA_NODE_RECORD, event));
}
IG_CALL cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t g,
                                  const cudaGraphNode_t *after, size_t n, cudaEvent_t event)
{
    return ig_cuda::add(node, g, after, n, ig_cuda::step_of(IG_CUDA_NODE_WAIT, event));
}
IG_CALL cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                                 size_t n, cudaMemAllocNodeParams *p)
{
    if (p->poolProps.location.id)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    ig_cuda_step s = ig_cuda::step_of(IG_CUDA_NODE_ALLOC);
    s.bytes = p->bytesize;
    cudaError_t e = ig_cuda::add(node, g, after, n, s);
    if (!e)
        e = (cudaError_t)ig_cuda_node_about(*node, &s);
    p->dptr = e ? NULL : s.at;
    return e;
}
IG_CALL cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                                size_t n, void *p)
{
    ig_cuda_step s = ig_cuda::step_of(IG_CUDA_NODE_FREE);
    s.at = p;
    return ig_cuda::add(node, g, after, n, s);
}
IG_CALL cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g,
                                         unsigned initial = 0, unsigned flags = 0)
{
    return (cudaError_t)ig_cuda_graph_condition_new(handle, g, initial,
                                                    flags == cudaGraphCondAssignDefault);
}
namespace ig_cuda
{
IG_CALL add_condition(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, size_t n,
                      cudaConditionalNodeParams *p)
{
    ig_cuda_step s = step_of(IG_CUDA_NODE_CONDITION);
    s.condition = p->handle;
    s.condition_type = p->type;
    s.n_bodies = (int)p->size;
    cudaError_t e = add(node, g, after, n, s);
    if (!e)
        e = (cudaError_t)ig_cuda_node_about(*node, &s);
    p->phGraph_out = e ? NULL : s.bodies;
    return e;
}
} // namespace ig_cuda
IG_CALL cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                         size_t n, cudaGraphNodeParams *p)
{
    switch (p->type) {
    case cudaGraphNodeTypeKernel: return cudaGraphAddKernelNode(node, g, after, n, &p->kernel);
    case cudaGraphNodeTypeMemcpy:
        return cudaGraphAddMemcpyNode(node, g, after, n, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: return cudaGraphAddMemsetNode(node, g, after, n, &p->memset);
    case cudaGraphNodeTypeHost: return cudaGraphAddHostNode(node, g, after, n, &p->host);
    case cudaGraphNodeTypeGraph:
        return cudaGraphAddChildGraphNode(node, g, after, n, p->graph.graph);
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, g, after, n);
    case cudaGraphNodeTypeWaitEvent:
        return cudaGraphAddEventWaitNode(node, g, after, n, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return cudaGraphAddEventRecordNode(node, g, after, n, p->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc: return cudaGraphAddMemAllocNode(node, g, after, n, &p->alloc);
    case cudaGraphNodeTypeMemFree: return cudaGraphAddMemFreeNode(node, g, after, n, p->free.dptr);
    case cudaGraphNodeTypeConditional:
        return ig_cuda::add_condition(node, g, after, n, &p->conditional);
    default: return ig_cuda::fail(cudaErrorNotSupported);
    }
}
IG_CALL cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after,
                         const cudaGraphEdgeData *, size_t n, cudaGraphNodeParams *p)
{
    return cudaGraphAddNode(node, g, after, n, p);
}

/* ---- nodes ---- */

IG_CALL cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n)
{
    return (cudaError_t)ig_cuda_graph_nodes(g, 0, nodes, n);
}
IG_CALL cudaGraphGetRootNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n)
{
    return (cudaError_t)ig_cuda_graph_nodes(g, 1, nodes, n);
}
IG_CALL cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n)
{
    return (cudaError_t)ig_cuda_graph_edges(g, from, to, n);
}
IG_CALL cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n)
{
    return (cudaError_t)ig_cuda_node_neighbors(node, 0, nodes, n);
}
IG_CALL cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n)
{
    return (cudaError_t)ig_cuda_node_neighbors(node, 1, nodes, n);
}
IG_CALL cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t *from,
                                 const cudaGraphNode_t *to, size_t n)
{
    int e = 0;
    for (size_t i = 0; i < n && !e; i++)
        e = ig_cuda_node_edge(from[i], to[i], 0);
    return (cudaError_t)e;
}
IG_CALL cudaGraphRemoveDependencies(cudaGraph_t, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, size_t n)
{
    int e = 0;
    for (size_t i = 0; i < n && !e; i++)
        e = ig_cuda_node_edge(from[i], to[i], 1);
    return (cudaError_t)e;
}
IG_CALL cudaGraphDestroyNode(cudaGraphNode_t node) { return (cudaError_t)ig_cuda_node_free(node); }
IG_CALL cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type)
{
    ig_cuda_step s;
    const int e = ig_cuda_node_about(node, &s);
    *type = (cudaGraphNodeType)(e ? 0 : s.type);
    return (cudaError_t)e;
}
IG_CALL cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *p)
{
    ig_cuda_step s;
    const int e = ig_cuda_node_about(node, &s);
    if (e || s.type != IG_CUDA_NODE_KERNEL)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    p->func = (void *)(uintptr_t)s.stub;
    p->gridDim = dim3(s.grid[0], s.grid[1], s.grid[2]);
    p->blockDim = dim3(s.block[0], s.block[1], s.block[2]);
    p->sharedMemBytes = (unsigned)s.shared_bytes;
    p->kernelParams = (void **)(uintptr_t)s.args;
    p->extra = NULL;
    return cudaSuccess;
}
IG_CALL cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *p)
{
    ig_cuda_step s;
    const int e = ig_cuda_node_about(node, &s);
    if (e || s.type != IG_CUDA_NODE_CALL)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    *p = {s.call, s.context};
    return cudaSuccess;
}
IG_CALL cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *p)
{
    ig_cuda_step s;
    const int e = ig_cuda_node_about(node, &s);
    if (e || s.type != IG_CUDA_NODE_FILL)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    *p = {s.at, s.pitch, s.value, s.element, s.width, s.height};
    return cudaSuccess;
}
IG_CALL cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *g)
{
    ig_cuda_step s;
    const int e = ig_cuda_node_about(node, &s);
    *g = e ? NULL : s.graph;
    return (cudaError_t)e;
}
IG_CALL cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *p)
{
    return ig_cuda::set(node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    return ig_cuda::set(node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                       size_t bytes, cudaMemcpyKind kind)
{
    return ig_cuda::set(node, ig_cuda::step_of(to, from, bytes, kind));
}
IG_CALL cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *p)
{
    return ig_cuda::set(node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *p)
{
    return ig_cuda::set(node, ig_cuda::step_of(p));
}

/* ---- executable graphs ---- */

IG_CALL cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g, unsigned long long = 0)
{
    return (cudaError_t)ig_cuda_exec_new(exec, g);
}
IG_CALL cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g, cudaGraphNode_t *error,
                             char *log, size_t bytes)
{
    if (error)
        *error = NULL;
    if (log && bytes)
        *log = 0;
    return (cudaError_t)ig_cuda_exec_new(exec, g);
}
IG_CALL cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t g, unsigned long long = 0)
{
    return (cudaError_t)ig_cuda_exec_new(exec, g);
}
IG_CALL cudaGraphExecDestroy(cudaGraphExec_t exec) { return (cudaError_t)ig_cuda_exec_free(exec); }
IG_CALL cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    return (cudaError_t)ig_cuda_exec_launch(exec, stream);
}
IG_CALL cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t)
{
    return exec ? cudaSuccess : ig_cuda::fail(cudaErrorInvalidValue);
}
IG_CALL cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t g,
                            cudaGraphExecUpdateResultInfo *info)
{
    int result;
    const int e = ig_cuda_exec_update(exec, g, &result);
    *info = {(cudaGraphExecUpdateResult)result, NULL, NULL};
    return (cudaError_t)e;
}
IG_CALL cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t g, cudaGraphNode_t *error,
                            cudaGraphExecUpdateResult *out)
{
    int result;
    const int e = ig_cuda_exec_update(exec, g, &result);
    if (error)
        *error = NULL;
    *out = (cudaGraphExecUpdateResult)result;
    return (cudaError_t)e;
}
IG_CALL cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                         const cudaKernelNodeParams *p)
{
    return ig_cuda::set(exec, node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                         const cudaMemcpy3DParms *p)
{
    return ig_cuda::set(exec, node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                           const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return ig_cuda::set(exec, node, ig_cuda::step_of(to, from, bytes, kind));
}
IG_CALL cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                         const cudaMemsetParams *p)
{
    return ig_cuda::set(exec, node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       const cudaHostNodeParams *p)
{
    return ig_cuda::set(exec, node, ig_cuda::step_of(p));
}
IG_CALL cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             cudaGraph_t child)
{
    return ig_cuda::set(exec, node, ig_cuda::step_of(child));
}

/* Memory of graphs: freed memory goes back at once. */
IG_CALL cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType which, void *value)
{
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return (cudaError_t)ig_cuda_graph_memory(which, (size_t *)value, 0);
}
IG_CALL cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType which, void *)
{
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return (cudaError_t)ig_cuda_graph_memory(which, NULL, 1);
}
IG_CALL cudaDeviceGraphMemTrim(int device)
{
    return device ? ig_cuda::fail(cudaErrorInvalidDevice) : cudaSuccess;
}

/* ---- capture ---- */

IG_CALL cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode)
{
    return (cudaError_t)ig_cuda_capture_begin(s, mode, NULL, NULL, 0);
}
IG_CALL cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *after,
                                      const cudaGraphEdgeData *, size_t n,
                                      cudaStreamCaptureMode mode)
{
    if (!g)
        return ig_cuda::fail(cudaErrorInvalidValue);
    return (cudaError_t)ig_cuda_capture_begin(s, mode, g, after, n);
}
IG_CALL cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    return (cudaError_t)ig_cuda_capture_end(s, g);
}
IG_CALL cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus *status,
                                 unsigned long long *id = NULL, cudaGraph_t *g = NULL,
                                 const cudaGraphNode_t **last = NULL, size_t *n = NULL)
{
    unsigned long long own_id;
    cudaGraph_t own_graph;
    const cudaGraphNode_t *own_last;
    size_t own_n;
    const int e = ig_cuda_capture_about(s, &own_id, &own_graph, &own_last, &own_n);
    *status = own_id ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (id)
        *id = own_id;
    if (g)
        *g = own_graph;
    if (last)
        *last = own_last;
    if (n)
        *n = own_n;
    return (cudaError_t)e;
}
IG_CALL cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus *status,
                                 unsigned long long *id, cudaGraph_t *g,
                                 const cudaGraphNode_t **last, const cudaGraphEdgeData **edges,
                                 size_t *n)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo(s, status, id, g, last, n);
}
IG_CALL cudaStreamGetCaptureInfo_v2(cudaStream_t s, cudaStreamCaptureStatus *status,
                                    unsigned long long *id = NULL, cudaGraph_t *g = NULL,
                                    const cudaGraphNode_t **last = NULL, size_t *n = NULL)
{
    return cudaStreamGetCaptureInfo(s, status, id, g, last, n);
}
IG_CALL cudaStreamUpdateCaptureDependencies(cudaStream_t s, cudaGraphNode_t *nodes, size_t n,
                                            unsigned flags = 0)
{
    return (cudaError_t)ig_cuda_capture_after(s, nodes, n,
                                              flags == cudaStreamSetCaptureDependencies);
}
IG_CALL cudaStreamUpdateCaptureDependencies(cudaStream_t s, cudaGraphNode_t *nodes,
                                            const cudaGraphEdgeData *, size_t n, unsigned flags = 0)
{
    return cudaStreamUpdateCaptureDependencies(s, nodes, n, flags);
}
/* All calls are permitted while a stream is captured. */
IG_CALL cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode)
{
    return *mode = cudaStreamCaptureModeGlobal, cudaSuccess;
}

#endif
