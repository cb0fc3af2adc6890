// Graphs: nodes of all kinds in an order that dependencies give, capture of streams that fork and join, updates, clones,
// memory of graphs, conditions.
/* opencl: IG-GRAPH
   expect:
order: 6 nodes, 2 roots, 5 edges; 21 22 23 24, called 1
again: 42 called 2
clone: 21 called 3
other kernel: 110 111
captured: 6 nodes; 0 15 30 45
twice: 30
updated: 0 20 40, result 0
topology: 910, result 2
kinds: 0 2 1 3
memory: 7 7, used 0
outside: 900 401 904
while: 5 rounds
if: 100, else: 200
wide: 2 258 2 258
cycle: 1
*/
#include <stdio.h>
#include <string.h>

__global__ void add(int *x, int v) { x[threadIdx.x] += v; }
__global__ void scale(int *x, int v) { x[threadIdx.x] *= v; }
__global__ void numbers(int *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = i;
}
__global__ void count(int *x, int most, cudaGraphConditionalHandle h)
{
    *x += 1;
    cudaGraphSetConditional(h, *x < most);
}
__global__ void decide(const int *x, cudaGraphConditionalHandle h) { cudaGraphSetConditional(h, *x != 0); }

static void called(void *context) { ++*(int *)context; }

static cudaKernelNodeParams kernel(void *f, int threads, void **args)
{
    cudaKernelNodeParams p = {0};
    p.func = f;
    p.gridDim = dim3(1);
    p.blockDim = dim3(threads);
    p.kernelParams = args;
    return p;
}

int main()
{
    int *d, host[4] = {1, 2, 3, 4}, out[4] = {0}, calls = 0, v = 10;
    cudaMalloc(&d, sizeof host);
    cudaStream_t s, t;
    cudaStreamCreate(&s);
    cudaStreamCreate(&t);

    // 1 2 3 4, plus 10, plus 10 again where the second kernel runs after the first; then back.
    cudaGraph_t g;
    cudaGraphNode_t copy, empty, first, second, back, call, list[8];
    cudaGraphCreate(&g, 0);
    cudaMemcpy3DParms c;
    memset(&c, 0, sizeof c);
    c.srcPtr = make_cudaPitchedPtr(host, sizeof host, 4, 1);
    c.dstPtr = make_cudaPitchedPtr(d, sizeof host, 4, 1);
    c.extent = make_cudaExtent(sizeof host, 1, 1);
    c.kind = cudaMemcpyHostToDevice;
    void *args[] = {&d, &v};
    cudaKernelNodeParams k = kernel((void *)add, 4, args);
    cudaGraphAddKernelNode(&second, g, NULL, 0, &k);
    cudaGraphAddMemcpyNode(&copy, g, NULL, 0, &c);
    cudaGraphAddEmptyNode(&empty, g, NULL, 0);
    cudaGraphNode_t before[] = {copy, empty};
    cudaGraphAddKernelNode(&first, g, before, 2, &k);
    v = 99; // the nodes have their own copies
    cudaGraphAddDependencies(g, &first, &second, 1);
    cudaGraphAddMemcpyNode1D(&back, g, &second, 1, out, d, sizeof out, cudaMemcpyDeviceToHost);
    cudaHostNodeParams h = {called, &calls};
    cudaGraphAddHostNode(&call, g, &back, 1, &h);
    size_t n = 8, roots = 0, edges = 0;
    cudaGraphGetNodes(g, list, &n);
    cudaGraphGetRootNodes(g, NULL, &roots);
    cudaGraphGetEdges(g, NULL, NULL, &edges);
    cudaGraphExec_t e, e2;
    cudaGraphInstantiate(&e, g, NULL, NULL, 0);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
    printf("order: %zu nodes, %zu roots, %zu edges; %d %d %d %d, called %d\n", n, roots, edges, out[0], out[1], out[2], out[3], calls);

    host[0] = 22;
    cudaGraphLaunch(e, 0);
    cudaDeviceSynchronize();
    printf("again: %d called %d\n", out[0], calls);
    cudaGraph_t g2;
    cudaGraphClone(&g2, g);
    cudaGraphDestroy(g);
    cudaGraphInstantiate(&e2, g2, 0);
    host[0] = 1;
    cudaGraphLaunch(e2, s);
    cudaStreamSynchronize(s);
    printf("clone: %d called %d\n", out[0], calls);
    cudaGraphNode_t in_clone;
    cudaGraphGetRootNodes(g2, list, &(n = 8));
    size_t all = 8;
    cudaGraphGetNodes(g2, list, &all);
    in_clone = list[0];
    k = kernel((void *)scale, 2, args);
    v = 10;
    cudaGraphExecKernelNodeSetParams(e2, in_clone, &k);
    cudaGraphLaunch(e2, s);
    cudaStreamSynchronize(s);
    printf("other kernel: %d %d\n", out[0], out[1] - 9);
    cudaGraphExecDestroy(e);
    cudaGraphExecDestroy(e2);
    cudaGraphDestroy(g2);

    cudaEvent_t fork, join;
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    int *d2;
    cudaMalloc(&d2, sizeof host);
    cudaGraph_t captured[3];
    cudaGraphExec_t run = NULL;
    for (int i = 0; i < 3; i++) {
        const int extra = i == 1 ? 5 : 0;
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
        numbers<<<1, 1, 0, s>>>(d, 4);
        cudaEventRecord(fork, s);
        cudaStreamWaitEvent(t, fork, 0);
        cudaMemsetAsync(d2, 0, sizeof host, t);
        scale<<<1, 4, 0, t>>>(d, 10 + extra * 2);
        cudaEventRecord(join, t);
        if (i < 2)
            scale<<<1, 4, 0, s>>>(d2, 3);
        cudaStreamWaitEvent(s, join, 0);
        add<<<1, 4, 0, s>>>(d2, 3);
        cudaMemcpyAsync(out, d, sizeof out, cudaMemcpyDeviceToHost, s);
        cudaStreamEndCapture(s, &captured[i]);
    }
    memset(out, 0, sizeof out);
    cudaGraphGetNodes(captured[0], NULL, &(n = 0));
    cudaGraphInstantiateWithFlags(&run, captured[0], 0);
    cudaGraphNode_t scaled = NULL;
    n = 8;
    cudaGraphGetNodes(captured[0], list, &n);
    v = 15;
    k = kernel((void *)scale, 4, args);
    for (size_t i = 0; i < n; i++) {
        cudaGraphNodeType type;
        cudaKernelNodeParams p;
        cudaGraphNodeGetType(list[i], &type);
        if (type == cudaGraphNodeTypeKernel && !cudaGraphKernelNodeGetParams(list[i], &p) && p.func == (void *)scale && *(int **)p.kernelParams[0] == d)
            scaled = list[i];
    }
    cudaGraphExecKernelNodeSetParams(run, scaled, &k);
    cudaGraphLaunch(run, t);
    cudaStreamSynchronize(t);
    printf("captured: %zu nodes; %d %d %d %d\n", n, out[0], out[1], out[2], out[3]);

    // A graph that is launched into a captured stream becomes a child.
    cudaGraph_t outer;
    cudaGraphExec_t outer_run;
    cudaStreamBeginCapture(t, cudaStreamCaptureModeRelaxed);
    cudaGraphLaunch(run, t);
    add<<<1, 4, 0, t>>>(d, 15);
    cudaMemcpyAsync(out, d, sizeof out, cudaMemcpyDeviceToHost, t);
    cudaStreamEndCapture(t, &outer);
    cudaGraphInstantiate(&outer_run, outer, 0);
    cudaGraphLaunch(outer_run, s);
    cudaStreamSynchronize(s);
    printf("twice: %d\n", out[1]);
    cudaGraphExecDestroy(outer_run);
    cudaGraphDestroy(outer);

    cudaGraphExecUpdateResult result;
    cudaGraphExecUpdate(run, captured[1], NULL, &result);
    cudaGraphLaunch(run, s);
    cudaStreamSynchronize(s);
    printf("updated: %d %d %d, result %d\n", out[0], out[1], out[2], result);
    const int refused = cudaGraphExecUpdate(run, captured[2], NULL, &result);
    printf("topology: %d, result %d\n", refused, result);
    printf("kinds:");
    cudaGraph_t kinds;
    cudaGraphCreate(&kinds, 0);
    cudaMemsetParams fill;
    memset(&fill, 0, sizeof fill);
    fill.dst = d;
    fill.elementSize = 2;
    fill.value = 2 + 256;
    fill.width = 4;
    fill.height = 1;
    cudaGraphNode_t m;
    cudaGraphAddKernelNode(&first, kinds, NULL, 0, &k);
    cudaGraphAddMemsetNode(&m, kinds, &first, 1, &fill);
    cudaGraphAddMemcpyNode1D(&copy, kinds, &m, 1, out, d, 8, cudaMemcpyDeviceToHost);
    cudaGraphAddHostNode(&call, kinds, &copy, 1, &h);
    n = 8;
    cudaGraphGetNodes(kinds, list, &n);
    for (size_t i = 0; i < n; i++) {
        cudaGraphNodeType type;
        cudaGraphNodeGetType(list[i], &type);
        printf(" %d", type);
    }
    printf("\n");

    // Memory that a graph allocates has an address before the launch.
    cudaGraph_t with_memory;
    cudaGraphExec_t memory_run;
    int *own, from_own = 0;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync((void **)&own, sizeof host, s);
    cudaMemsetAsync(own, 0, sizeof host, s);
    add<<<1, 4, 0, s>>>(own, 7);
    cudaMemcpyAsync(&from_own, own, sizeof from_own, cudaMemcpyDeviceToHost, s);
    cudaFreeAsync(own, s);
    cudaStreamEndCapture(s, &with_memory);
    cudaGraphInstantiate(&memory_run, with_memory, 0);
    cudaGraphLaunch(memory_run, s);
    cudaStreamSynchronize(s);
    const int one = from_own;
    from_own = 0;
    cudaGraphLaunch(memory_run, s);
    cudaStreamSynchronize(s);
    size_t used = 1;
    cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used);
    printf("memory: %d %d, used %zu\n", one, from_own, used);
    cudaGraphExecDestroy(memory_run);
    cudaGraphDestroy(with_memory);

    // Mistakes: waiting while capturing, ending what did not begin, a fork that is not joined.
    cudaGraph_t none;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    const int waits = cudaStreamSynchronize(s);
    cudaStreamEndCapture(s, &none);
    cudaGraphDestroy(none);
    const int begins = cudaStreamEndCapture(s, &none);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(t, fork, 0);
    add<<<1, 1, 0, t>>>(d, 1);
    const int joined = cudaStreamEndCapture(s, &none);
    printf("outside: %d %d %d\n", waits, begins, joined);

    cudaGraph_t loop;
    cudaGraphExec_t loop_run;
    cudaGraphNode_t node, inner;
    cudaGraphConditionalHandle handle;
    int most = 5;
    cudaGraphCreate(&loop, 0);
    cudaGraphConditionalHandleCreate(&handle, loop, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
    cudaGraphAddNode(&node, loop, NULL, 0, &p);
    void *count_args[] = {&d, &most, &handle};
    k = kernel((void *)count, 1, count_args);
    cudaGraphAddKernelNode(&inner, p.conditional.phGraph_out[0], NULL, 0, &k);
    cudaGraphInstantiate(&loop_run, loop, 0);
    cudaMemset(d, 0, sizeof host);
    cudaGraphLaunch(loop_run, s);
    cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost);
    printf("while: %d rounds\n", out[0]);
    cudaGraphExecDestroy(loop_run);
    cudaGraphDestroy(loop);

    int hundred = 100, two = 200, got[2];
    cudaGraphCreate(&loop, 0);
    cudaGraphConditionalHandleCreate(&handle, loop);
    void *decide_args[] = {&d, &handle}, *add_1[] = {&d2, &hundred}, *add_2[] = {&d2, &two};
    k = kernel((void *)decide, 1, decide_args);
    cudaGraphAddKernelNode(&inner, loop, NULL, 0, &k);
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeIf;
    p.conditional.size = 2;
    cudaGraphAddNode(&node, loop, &inner, 1, &p);
    k = kernel((void *)add, 1, add_1);
    cudaGraphAddKernelNode(&inner, p.conditional.phGraph_out[0], NULL, 0, &k);
    k = kernel((void *)add, 1, add_2);
    cudaGraphAddKernelNode(&inner, p.conditional.phGraph_out[1], NULL, 0, &k);
    cudaGraphInstantiate(&loop_run, loop, 0);
    for (int i = 0; i < 2; i++) {
        cudaMemset(d, 1 - i, 1);
        if (i)
            cudaMemset(d, 0, sizeof host);
        cudaMemset(d2, 0, sizeof host);
        cudaGraphLaunch(loop_run, s);
        cudaMemcpy(&got[i], d2, sizeof got[i], cudaMemcpyDeviceToHost);
    }
    printf("if: %d, else: %d\n", got[0], got[1]);
    cudaGraphExecDestroy(loop_run);
    cudaGraphDestroy(loop);

    fill.value = 2;
    cudaGraphMemsetNodeSetParams(m, &fill);
    short wide[4];
    cudaGraphDestroyNode(call);
    cudaGraphMemcpyNodeSetParams1D(copy, wide, d, 8, cudaMemcpyDeviceToHost);
    cudaGraphDestroyNode(first);
    n = 8;
    cudaGraphExec_t fills;
    cudaGraphInstantiate(&fills, kinds, 0);
    cudaGraphLaunch(fills, s);
    cudaStreamSynchronize(s);
    const int low = wide[1];
    fill.value = 258;
    cudaGraphExecMemsetNodeSetParams(fills, m, &fill);
    cudaGraphLaunch(fills, s);
    cudaStreamSynchronize(s);
    printf("wide: %d %d %d %d\n", low, wide[0], low, wide[3]);
    cudaGraphExecDestroy(fills);
    cudaGraphAddDependencies(kinds, &copy, &m, 1);
    const int cycle = cudaGraphInstantiate(&fills, kinds, 0);
    printf("cycle: %d\n", cycle);
    cudaGraphDestroy(kinds);
    for (int i = 0; i < 3; i++)
        cudaGraphDestroy(captured[i]);
    cudaGraphExecDestroy(run);
    cudaFree(d);
    cudaFree(d2);
}
