// Calls of the runtime that programs make less often: volumes, advice in both signatures, limits,
// occupancy, launches by configuration. Errors are those that a GPU gave. Each toolkit has one signature.
/* nvcc: rejects it; NVRTC does not
   check: 3
   expect:
volume: 1 24 24 0
prefetch: 0 0 0 0 0 0
of cudaMalloc: cudaErrorInvalidValue cudaErrorInvalidValue
of no device: cudaErrorInvalidDevice
nothing: 0 1 0 1
limits: 1024 4096 cudaErrorUnsupportedLimit
occupancy: 1 1 1
launches: 0 0 6
bus: 12 letters, 0 cudaErrorInvalidDevice
peers: 0 cudaErrorPeerAccessUnsupported cudaErrorInvalidDevice
symbols: 7 cudaErrorInvalidValue
fill: cudaErrorInvalidValue
host function: 3 5
flags: 1 0
*/
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

__device__ int table[4];
__global__ void add(int *x, int by) { atomicAdd(x, by); }
__global__ void look(int *x) { *x = table[3]; }

#define NAME cudaGetErrorName

static void volume()
{
    const int w = 3, h = 4, d = 2;
    int from[d][h][w], to[d][h][w] = {}, right = 0, zeros = 0;
    for (int i = 0; i < w * h * d; i++)
        from[0][0][i] = i + 1;
    cudaPitchedPtr p;
    const cudaExtent all = make_cudaExtent(w * sizeof(int), h, d);
    cudaMalloc3D(&p, all);
    cudaMemset3D(p, 0, all);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(from, w * sizeof(int), w, h);
    copy.dstPtr = p;
    copy.extent = all;
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    copy.srcPtr = p;
    copy.dstPtr = make_cudaPitchedPtr(to, w * sizeof(int), w, h);
    copy.kind = cudaMemcpyDeviceToHost;
    cudaError_t e = cudaMemcpy3D(&copy);
    for (int i = 0; i < w * h * d; i++) {
        right += to[0][0][i] == i + 1;
        zeros += to[0][0][i] == 0;
    }
    printf("volume: %d %d %d %d\n", p.pitch >= w * sizeof(int), w * h * d, right, zeros + e);
    cudaFree(p.ptr);
}

static void advice()
{
    float *m, *d;
    cudaMallocManaged(&m, 4096);
    cudaMalloc(&d, 4096);
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};
    printf("prefetch: %d %d %d %d %d %d\n", cudaMemPrefetchAsync(m, 4096, 0),
           cudaMemPrefetchAsync(m, 4096, cudaCpuDeviceId, 0), cudaMemPrefetchAsync(m, 4096, gpu, 0),
           cudaMemPrefetchAsync(m, 4096, cpu, 0, 0),
           cudaMemAdvise(m, 4096, cudaMemAdviseSetReadMostly, 0),
           cudaMemAdvise(m, 4096, cudaMemAdviseSetPreferredLocation, gpu));
    printf("of cudaMalloc: %s %s\n", NAME(cudaMemPrefetchAsync(d, 4096, 0)),
           NAME(cudaMemAdvise(d, 4096, cudaMemAdviseSetReadMostly, 0)));
    printf("of no device: %s\n", NAME(cudaMemPrefetchAsync(m, 4096, 5)));
    void *none = m, *managed = m;
    cudaError_t a = cudaMalloc(&none, 0), b = cudaMallocManaged(&managed, 0);
    printf("nothing: %d %d %d %d\n", a, !none, b, !managed);
    cudaFree(m);
    cudaFree(d);
}

static void limits_and_occupancy()
{
    size_t stack, set, other = 0;
    int grid, block, blocks;
    cudaDeviceGetLimit(&stack, cudaLimitStackSize);
    cudaDeviceSetLimit(cudaLimitStackSize, 4096);
    cudaDeviceGetLimit(&set, cudaLimitStackSize);
    printf("limits: %zu %zu %s\n", stack, set,
           NAME(cudaDeviceGetLimit(&other, cudaLimitDevRuntimeSyncDepth)));
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, add);
    bool whole = block == 1024 && grid > 0;
    cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, add,
                                                   [](int threads) { return threads * 64; });
    bool fits = block > 0 && block * 64 <= 48 * 1024 * 4;
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 256, 0,
                                                           cudaOccupancyDefault);
    printf("occupancy: %d %d %d\n", whole, fits, blocks > 0);
}

static void launches()
{
    int *x, h = 0;
    cudaMalloc(&x, sizeof h);
    cudaMemset(x, 0, sizeof h);
    int by = 2;
    void *args[] = {&x, &by};
    cudaError_t a = cudaLaunchCooperativeKernel(add, dim3(2), dim3(1), args);
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 1;
    cudaError_t b = cudaLaunchKernelEx(&config, add, x, 1);
    cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost);
    printf("launches: %d %d %d\n", a, b, h);
    cudaFree(x);
}

static void device()
{
    char id[20];
    int number = 9, can = 9;
    cudaDeviceGetPCIBusId(id, sizeof id, 0);
    cudaError_t e = cudaDeviceGetByPCIBusId(&number, "0000:ff:00.0");
    cudaDeviceGetByPCIBusId(&number, id);
    printf("bus: %zu letters, %d %s\n", strlen(id), number, NAME(e));
    cudaDeviceCanAccessPeer(&can, 0, 0);
    printf("peers: %d %s %s\n", can, NAME(cudaDeviceEnablePeerAccess(0, 0)),
           NAME(cudaDeviceEnablePeerAccess(1, 0)));
}

static void memory()
{
    int *x, h = 7, big[5] = {};
    cudaMalloc(&x, sizeof h);
    cudaMemcpyToSymbolAsync(table, &h, sizeof h, 3 * sizeof h, cudaMemcpyHostToDevice, 0);
    look<<<1, 1>>>(x);
    cudaMemcpyAsync(&h, x, sizeof h, cudaMemcpyDeviceToHost);
    printf("symbols: %d %s\n", h, NAME(cudaMemcpyToSymbol(table, big, sizeof big)));
    printf("fill: %s\n", NAME(cudaMemset2D(x, 2, 0, 4, 2)));
    cudaMemset(x, 0, 400);
    cudaMemset(big, 0, 4);
    cudaFree(x);
}

static void streams()
{
    cudaStream_t s;
    cudaEvent_t e;
    int seen[2] = {};
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventRecordWithFlags(e, s);
    cudaStreamWaitEvent(s, e);
    cudaLaunchHostFunc(s, [](void *p) { ((int *)p)[0] = 3; }, seen);
    cudaStreamAddCallback(
        s, [](cudaStream_t, cudaError_t status, void *p) { ((int *)p)[1] = 5 + status; }, seen, 0);
    cudaStreamSynchronize(s);
    printf("host function: %d %d\n", seen[0], seen[1]);
    unsigned flags = 9;
    cudaStreamCaptureStatus capture;
    cudaStreamGetFlags(s, &flags);
    cudaStreamIsCapturing(s, &capture);
    printf("flags: %u %d\n", flags, capture);
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
}

int main()
{
    cudaProfilerStart();
    nvtxRangePush("all");
    volume();
    advice();
    limits_and_occupancy();
    launches();
    device();
    memory();
    streams();
    nvtxRangePop();
    cudaProfilerStop();
}
