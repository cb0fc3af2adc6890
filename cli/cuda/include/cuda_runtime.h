/* CUDA's runtime on the host, for programs that `ingot run` compiles: CUDA's names over the functions of
 * ingot_cuda.h, which the library has. Kernels are stubs that launch themselves (ig_cuda::launch); the
 * rewriter made them. */
#ifndef INGOT_CUDA_RUNTIME_H
#define INGOT_CUDA_RUNTIME_H

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "ingot_cuda.h"
#include "cuda_types.h"

#define __INGOT__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_RUNTIME_H__ 1
#define __DRIVER_TYPES_H__ 1
#define CUDART_VERSION 12000
#ifndef CUDA_VERSION
#define CUDA_VERSION 12000
#endif

/* ---- errors ---- */

enum cudaError {
#define CUDA_ERROR(name, number, text) name = number,
#include "cuda_errors.def"
#undef CUDA_ERROR
};
typedef cudaError cudaError_t;

static inline const char *cudaGetErrorString(cudaError_t e) { return ig_cuda_error_text(e); }
static inline const char *cudaGetErrorName(cudaError_t e) { return ig_cuda_error_name(e); }
static inline cudaError_t cudaGetLastError() { return (cudaError_t)ig_cuda_last_error(1); }
static inline cudaError_t cudaPeekAtLastError() { return (cudaError_t)ig_cuda_last_error(0); }

/* ---- launches ---- */

struct ig_cuda_stream;
struct ig_cuda_event;
typedef struct ig_cuda_stream *cudaStream_t;
typedef struct ig_cuda_event *cudaEvent_t;
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)

namespace ig_cuda
{
static inline int push(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0)
{
    const uint32_t g[] = {grid.x, grid.y, grid.z}, b[] = {block.x, block.y, block.z};
    return ig_cuda_push(g, b, shared, stream);
}

/* The name of an instance, piece by piece. */
struct name {
    char s[1000];
    size_t n;
    explicit name(const char *begin) : n(0) { add(begin, strlen(begin)); }
    name &add(const char *more, size_t bytes)
    {
        bytes = bytes < sizeof s - 1 - n ? bytes : sizeof s - 1 - n;
        memcpy(s + n, more, bytes);
        s[n += bytes] = 0;
        return *this;
    }
    name &text(const char *more) { return add(more, strlen(more)); }
    /* What the compiler calls a type or a value: behind "= ", to the bracket. */
    name &told(const char *function)
    {
        const char *at = strstr(function, "ig_told = ");
        at = at ? at + strlen("ig_told = ") : function;
        while (*at == '&' || *at == '(')
            at++;
        size_t bytes = 0;
        int depth = 0;
        for (; at[bytes] && (depth || (at[bytes] != ']' && at[bytes] != ';')); bytes++)
            depth +=
                (at[bytes] == '<' || at[bytes] == '(') - (at[bytes] == '>' || at[bytes] == ')');
        return add(at, bytes);
    }
    template <typename ig_told> name &type() { return told(__PRETTY_FUNCTION__); }
    template <auto ig_told> name &function() { return told(__PRETTY_FUNCTION__); }
    template <typename T> name &value(T v)
    {
        char t[64];
        if constexpr (std::is_same<T, bool>::value) {
            return text(v ? "true" : "false");
        } else if constexpr (std::is_enum<T>::value) {
            text("(").type<T>().text(")");
            snprintf(t, sizeof t, "%lld", (long long)v);
        } else if constexpr (std::is_integral<T>::value) {
            snprintf(t, sizeof t, std::is_signed<T>::value ? "%lld" : "%llu", (long long)v);
        } else {
            static_assert(std::is_integral<T>::value,
                          "a kernel template whose argument is neither a type nor an integer");
        }
        return text(t);
    }
};

/* The kernel of a stub: known to the library before main. */
template <typename Id, auto Stub> struct known {
    static ig_cuda_kernel *kernel;
};
template <typename Id, auto Stub>
ig_cuda_kernel *known<Id, Stub>::kernel = ig_cuda_kernel_add(Id::unit(), (const void *)Stub,
                                                             Id::name().s);

template <typename Id, auto Stub>
static inline void launch(void *const *args, const size_t *sizes, int n)
{
    ig_cuda_launch(known<Id, Stub>::kernel, args, sizes, n);
}

static inline cudaError_t error(int e) { return (cudaError_t)e; }
static inline cudaError_t fail(cudaError_t e) { return (cudaError_t)ig_cuda_fail(e); }
} // namespace ig_cuda

static inline cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args,
                                           size_t shared = 0, cudaStream_t stream = 0)
{
    const int e = ig_cuda::push(grid, block, shared, stream);
    return (cudaError_t)(e ? e : ig_cuda_launch_stub(f, args));
}
template <typename F>
static inline cudaError_t cudaLaunchKernel(F *f, dim3 grid, dim3 block, void **args,
                                           size_t shared = 0, cudaStream_t stream = 0)
{
    return cudaLaunchKernel((const void *)f, grid, block, args, shared, stream);
}

/* ---- the device ---- */

struct cudaUUID_t {
    char bytes[16];
};
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
    size_t reservedSharedMemPerBlock, totalConstMem, memPitch, textureAlignment, surfaceAlignment;
    int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3];
    int maxGridSize[3], clockRate, major, minor, deviceOverlap, multiProcessorCount;
    int kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode, concurrentKernels;
    int ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported, managedMemory, isMultiGpuBoard;
    int multiGpuBoardGroupID, hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxTexture1D, maxTexture2D[2], maxTexture3D[3];
    int maxTexture1DLayered[2], maxTexture2DLayered[3];
};

static inline cudaError_t cudaGetDeviceCount(int *n)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *n = e ? 0 : 1;
    return (cudaError_t)e;
}
static inline cudaError_t cudaSetDevice(int device)
{
    return device ? ig_cuda::fail(cudaErrorInvalidDevice) : cudaSuccess;
}
static inline cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }

static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    ig_cuda_facts f;
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    const int e = ig_cuda_device(&f);
    if (e)
        return (cudaError_t)e;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", f.name);
    p->totalGlobalMem = f.memory;
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = f.shared_bytes;
    p->totalConstMem = 64 << 10;
    p->memPitch = 2147483647;
    p->textureAlignment = p->surfaceAlignment = 512;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = f.threads;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = p->memoryClockRate = 1000000;
    p->memoryBusWidth = 64;
    p->major = 7;
    p->multiProcessorCount = f.cores;
    p->integrated = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    p->concurrentManagedAccess = p->concurrentKernels = p->deviceOverlap = 1;
    p->asyncEngineCount = 1;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = 1 << 20;
    p->singleToDoublePrecisionPerfRatio = 2;
    return cudaSuccess;
}

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX,
    cudaDevAttrMaxBlockDimY,
    cudaDevAttrMaxBlockDimZ,
    cudaDevAttrMaxGridDimX,
    cudaDevAttrMaxGridDimY,
    cudaDevAttrMaxGridDimZ,
    cudaDevAttrMaxSharedMemoryPerBlock,
    cudaDevAttrTotalConstantMemory,
    cudaDevAttrWarpSize,
    cudaDevAttrMaxPitch,
    cudaDevAttrMaxRegistersPerBlock,
    cudaDevAttrClockRate,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrKernelExecTimeout,
    cudaDevAttrIntegrated,
    cudaDevAttrCanMapHostMemory,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth,
    cudaDevAttrL2CacheSize,
    cudaDevAttrMaxThreadsPerMultiProcessor,
    cudaDevAttrAsyncEngineCount,
    cudaDevAttrUnifiedAddressing,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrMemoryPoolsSupported = 115
};

static inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    const cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (e)
        return e;
    const struct {
        cudaDeviceAttr attribute;
        long long value;
    } rows[] = {
        {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, (long long)p.sharedMemPerBlock},
        {cudaDevAttrTotalConstantMemory, (long long)p.totalConstMem},
        {cudaDevAttrWarpSize, p.warpSize},
        {cudaDevAttrMaxPitch, (long long)p.memPitch},
        {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
        {cudaDevAttrClockRate, p.clockRate},
        {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {cudaDevAttrKernelExecTimeout, 0},
        {cudaDevAttrIntegrated, p.integrated},
        {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
        {cudaDevAttrConcurrentKernels, p.concurrentKernels},
        {cudaDevAttrMemoryClockRate, p.memoryClockRate},
        {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
        {cudaDevAttrL2CacheSize, p.l2CacheSize},
        {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
        {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
        {cudaDevAttrComputeCapabilityMajor, p.major},
        {cudaDevAttrComputeCapabilityMinor, p.minor},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (long long)p.sharedMemPerMultiprocessor},
        {cudaDevAttrManagedMemory, p.managedMemory},
        {cudaDevAttrPageableMemoryAccess, 0},
        {cudaDevAttrConcurrentManagedAccess, p.concurrentManagedAccess},
        {cudaDevAttrCooperativeLaunch, 0},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)p.sharedMemPerBlockOptin},
        {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
        {cudaDevAttrMemoryPoolsSupported, 0},
    };
    for (const auto &row : rows)
        if (row.attribute == attribute)
            return *value = (int)row.value, cudaSuccess;
    return ig_cuda::fail(cudaErrorInvalidValue);
}

static inline cudaError_t cudaDeviceSynchronize() { return (cudaError_t)ig_cuda_synchronize(); }
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaDeviceReset() { return (cudaError_t)ig_cuda_reset(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
static inline cudaError_t cudaDriverGetVersion(int *v) { return *v = CUDART_VERSION, cudaSuccess; }
static inline cudaError_t cudaRuntimeGetVersion(int *v) { return *v = CUDART_VERSION, cudaSuccess; }
static inline cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *)
{
    return *device = 0, cudaSuccess;
}
static inline cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *total = e ? 0 : f.memory;
    *available = e || f.memory_used > f.memory ? 0 : f.memory - f.memory_used;
    return (cudaError_t)e;
}

enum cudaLimit {
    cudaLimitStackSize,
    cudaLimitPrintfFifoSize,
    cudaLimitMallocHeapSize,
    cudaLimitDevRuntimeSyncDepth,
    cudaLimitDevRuntimePendingLaunchCount
};
enum cudaFuncCache {
    cudaFuncCachePreferNone,
    cudaFuncCachePreferShared,
    cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault,
    cudaSharedMemBankSizeFourByte,
    cudaSharedMemBankSizeEightByte
};
enum {
    cudaDeviceScheduleAuto = 0,
    cudaDeviceScheduleSpin = 1,
    cudaDeviceScheduleYield = 2,
    cudaDeviceScheduleBlockingSync = 4,
    cudaDeviceBlockingSync = 4,
    cudaDeviceMapHost = 8,
    cudaDeviceLmemResizeToMax = 16
};
enum cudaComputeMode {
    cudaComputeModeDefault,
    cudaComputeModeExclusive,
    cudaComputeModeProhibited,
    cudaComputeModeExclusiveProcess
};

/* Wishes that have no effect here: nothing is limited by them, and there is one cache for all. */
static inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
static inline cudaError_t cudaDeviceGetLimit(size_t *v, cudaLimit)
{
    return *v = 8 << 20, cudaSuccess;
}
static inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
static inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
static inline cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *c)
{
    return *c = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
static inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
static inline cudaError_t cudaDeviceCanAccessPeer(int *can, int, int)
{
    return *can = 0, cudaSuccess;
}
static inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)
{
    return ig_cuda::fail(cudaErrorInvalidDevice);
}
static inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
static inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

/* ---- memory ---- */

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
enum {
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaHostAllocWriteCombined = 4
};
enum {
    cudaHostRegisterDefault = 0,
    cudaHostRegisterPortable = 1,
    cudaHostRegisterMapped = 2,
    cudaHostRegisterReadOnly = 8
};
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4 };
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly,
    cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation,
    cudaMemAdviseSetAccessedBy,
    cudaMemAdviseUnsetAccessedBy
};
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)

template <typename T> static inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return (cudaError_t)ig_cuda_alloc((void **)p, bytes, IG_CUDA_DEVICE);
}
template <typename T> static inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t)
{
    return cudaMalloc(p, bytes);
}
template <typename T>
static inline cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = cudaMemAttachGlobal)
{
    return (cudaError_t)ig_cuda_alloc((void **)p, bytes, IG_CUDA_MANAGED);
}
template <typename T> static inline cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0)
{
    return (cudaError_t)ig_cuda_alloc((void **)p, bytes, IG_CUDA_PINNED);
}
template <typename T> static inline cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned)
{
    return cudaMallocHost(p, bytes);
}
template <typename T>
static inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(p, *pitch * height);
}
static inline cudaError_t cudaFree(void *p) { return (cudaError_t)ig_cuda_free(p, 0); }
static inline cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }
static inline cudaError_t cudaFreeHost(void *p) { return (cudaError_t)ig_cuda_free(p, 1); }
static inline cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    return (cudaError_t)ig_cuda_adopt(p, bytes);
}
static inline cudaError_t cudaHostUnregister(void *p) { return (cudaError_t)ig_cuda_forget(p); }
template <typename T>
static inline cudaError_t cudaHostGetDevicePointer(T **to, void *host, unsigned)
{
    *to = (T *)host;
    return ig_cuda_kind(host) == IG_CUDA_PINNED ? cudaSuccess
                                                : ig_cuda::fail(cudaErrorInvalidValue);
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return (cudaError_t)ig_cuda_copy(to, bytes, from, bytes, bytes, 1, kind);
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t = 0)
{
    return cudaMemcpy(to, from, bytes, kind);
}
static inline cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes)
{
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
static inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from,
                                       size_t from_pitch, size_t width, size_t height,
                                       cudaMemcpyKind kind)
{
    return (cudaError_t)ig_cuda_copy(to, to_pitch, from, from_pitch, width, height, kind);
}
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                            size_t from_pitch, size_t width, size_t height,
                                            cudaMemcpyKind kind, cudaStream_t = 0)
{
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
static inline cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    return (cudaError_t)ig_cuda_fill(p, bytes, value, bytes, 1);
}
static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t = 0)
{
    return cudaMemset(p, value, bytes);
}
static inline cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width,
                                       size_t height)
{
    return (cudaError_t)ig_cuda_fill(p, pitch, value, width, height);
}
static inline cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width,
                                            size_t height, cudaStream_t = 0)
{
    return cudaMemset2D(p, pitch, value, width, height);
}
static inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = 0)
{
    return cudaSuccess;
}
static inline cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int)
{
    return cudaSuccess;
}

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
static inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    const int kind = ig_cuda_kind(p);
    a->type = (cudaMemoryType)kind;
    a->device = kind == IG_CUDA_HOST ? -2 : 0;
    a->devicePointer = kind == IG_CUDA_HOST ? NULL : (void *)p;
    a->hostPointer = kind == IG_CUDA_DEVICE ? NULL : (void *)p;
    return cudaSuccess;
}

/* Symbols are found by the address of the host's variable. */
template <typename T> static inline cudaError_t cudaGetSymbolAddress(void **at, const T &symbol)
{
    size_t bytes;
    return (cudaError_t)ig_cuda_symbol((const void *)&symbol, at, &bytes);
}
template <typename T> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
    void *at;
    return (cudaError_t)ig_cuda_symbol((const void *)&symbol, &at, bytes);
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    void *at;
    size_t room;
    const int e = ig_cuda_symbol((const void *)&symbol, &at, &room);
    if (e || offset > room || bytes > room - offset)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    (void)kind;
    return cudaMemcpy((char *)at + offset, from, bytes, cudaMemcpyDefault);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes,
                                               size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    void *at;
    size_t room;
    const int e = ig_cuda_symbol((const void *)&symbol, &at, &room);
    if (e || offset > room || bytes > room - offset)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    (void)kind;
    return cudaMemcpy(to, (char *)at + offset, bytes, cudaMemcpyDefault);
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes,
                                                  size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                  cudaStream_t = 0)
{
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes,
                                                    size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                    cudaStream_t = 0)
{
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

/* ---- streams and events: work is done when it is given, so a stream is always idle ---- */

struct ig_cuda_stream {
    unsigned flags;
    int priority;
};
struct ig_cuda_event {
    unsigned flags;
    double time; /* 0: not yet recorded */
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum {
    cudaEventDefault = 0,
    cudaEventBlockingSync = 1,
    cudaEventDisableTiming = 2,
    cudaEventInterprocess = 4
};

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags,
                                                       int priority)
{
    *s = new (std::nothrow) ig_cuda_stream{flags, priority};
    return *s ? cudaSuccess : ig_cuda::fail(cudaErrorMemoryAllocation);
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    return cudaStreamCreateWithPriority(s, flags, 0);
}
static inline cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithPriority(s, 0, 0);
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if ((uintptr_t)s <= 2)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    delete s;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned *f)
{
    return *f = (uintptr_t)s <= 2 ? 0 : s->flags, cudaSuccess;
}
static inline cudaError_t cudaStreamGetPriority(cudaStream_t s, int *p)
{
    return *p = (uintptr_t)s <= 2 ? 0 : s->priority, cudaSuccess;
}
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return *least = *greatest = 0, cudaSuccess;
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t e, unsigned = 0)
{
    return e ? cudaSuccess : ig_cuda::fail(cudaErrorInvalidResourceHandle);
}
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void *, size_t = 0,
                                                   unsigned = cudaMemAttachSingle)
{
    return cudaSuccess;
}

typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);
typedef void (*cudaHostFn_t)(void *);
static inline cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f,
                                                void *context, unsigned)
{
    f(s, cudaDeviceSynchronize(), context);
    return cudaSuccess;
}
static inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t f, void *context)
{
    const cudaError_t e = cudaDeviceSynchronize();
    if (!e)
        f(context);
    return e;
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    *e = new (std::nothrow) ig_cuda_event{flags, 0};
    return *e ? cudaSuccess : ig_cuda::fail(cudaErrorMemoryAllocation);
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *e, unsigned flags = 0)
{
    return cudaEventCreateWithFlags(e, flags);
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    if (!e)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    delete e;
    return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t = 0)
{
    if (!e)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    e->time = ig_cuda_clock();
    return cudaPeekAtLastError() == cudaErrorAssert ? cudaErrorAssert : cudaSuccess;
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    return e ? cudaDeviceSynchronize() : ig_cuda::fail(cudaErrorInvalidResourceHandle);
}
static inline cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (!from || !to || !from->time || !to->time ||
        ((from->flags | to->flags) & cudaEventDisableTiming))
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    *ms = (float)((to->time - from->time) * 1e3);
    return cudaSuccess;
}

/* ---- kernels as values ---- */

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxL1 = 0,
    cudaSharedmemCarveoutMaxShared = 100
};
enum { cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1 };

template <typename F> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F *f)
{
    ig_cuda_attributes got;
    const int e = ig_cuda_function((const void *)f, &got);
    if (e)
        return (cudaError_t)e;
    memset(a, 0, sizeof *a);
    a->sharedSizeBytes = got.shared_bytes;
    a->localSizeBytes = got.local_bytes;
    a->constSizeBytes = got.constant_bytes;
    a->maxThreadsPerBlock = got.max_threads;
    a->numRegs = got.registers;
    a->ptxVersion = a->binaryVersion = 70;
    a->maxDynamicSharedSizeBytes = (48 << 10) - (int)got.shared_bytes;
    return cudaSuccess;
}
template <typename F>
static inline cudaError_t cudaFuncSetAttribute(F *f, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    return value < 0 ? ig_cuda::fail(cudaErrorInvalidValue)
                     : (cudaError_t)ig_cuda_allow_shared((const void *)f, (size_t)value);
}
template <typename F> static inline cudaError_t cudaFuncSetCacheConfig(F *, cudaFuncCache)
{
    return cudaSuccess;
}
template <typename F> static inline cudaError_t cudaFuncSetSharedMemConfig(F *, cudaSharedMemConfig)
{
    return cudaSuccess;
}

/* A multiprocessor is a core, which has room for 2,048 threads and 32 blocks as a GPU's has. */
template <typename F>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *f,
                                                                        int threads, size_t shared)
{
    ig_cuda_attributes a;
    ig_cuda_facts facts;
    int e = ig_cuda_function((const void *)f, &a);
    e = e ? e : ig_cuda_device(&facts);
    *blocks = 0;
    if (e || threads <= 0)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    const size_t bytes = a.shared_bytes + shared;
    int n = threads > a.max_threads ? 0 : 2048 / ((threads + 31) / 32 * 32);
    n = n > 32 ? 32 : n;
    if (bytes && facts.shared_bytes / bytes < (size_t)n)
        n = (int)(facts.shared_bytes / bytes);
    *blocks = n;
    return cudaSuccess;
}
template <typename F>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, F *f,
                                                                                 int threads,
                                                                                 size_t shared,
                                                                                 unsigned)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}
template <typename F>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F *f,
                                                             size_t shared = 0, int most = 0)
{
    ig_cuda_attributes a;
    ig_cuda_facts facts;
    int e = ig_cuda_function((const void *)f, &a), blocks;
    e = e ? e : ig_cuda_device(&facts);
    if (e)
        return (cudaError_t)e;
    *block = most > 0 && most < a.max_threads ? most : a.max_threads;
    const cudaError_t found =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, *block, shared);
    *grid = blocks * facts.cores;
    return found;
}

/* ---- what CUDA has for the host, too ---- */

template <typename A, typename B>
static inline constexpr
    typename std::enable_if<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value,
                            typename std::common_type<A, B>::type>::type
    min(A a, B b)
{
    typedef typename std::common_type<A, B>::type T;
    return (T)b < (T)a ? (T)b : (T)a;
}
template <typename A, typename B>
static inline constexpr
    typename std::enable_if<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value,
                            typename std::common_type<A, B>::type>::type
    max(A a, B b)
{
    typedef typename std::common_type<A, B>::type T;
    return (T)a < (T)b ? (T)b : (T)a;
}

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float saturate(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
static inline int __float_as_int(float x)
{
    int i;
    memcpy(&i, &x, 4);
    return i;
}
static inline unsigned __float_as_uint(float x)
{
    unsigned i;
    memcpy(&i, &x, 4);
    return i;
}
static inline float __int_as_float(int i)
{
    float x;
    memcpy(&x, &i, 4);
    return x;
}
static inline float __uint_as_float(unsigned i)
{
    float x;
    memcpy(&x, &i, 4);
    return x;
}
static inline long long __double_as_longlong(double x)
{
    long long i;
    memcpy(&i, &x, 8);
    return i;
}
static inline double __longlong_as_double(long long i)
{
    double x;
    memcpy(&x, &i, 8);
    return x;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
template <typename T> static inline T __ldg(const T *p) { return *p; }

#endif
