/* The CUDA driver API for programs that Ingot compiles: contexts, modules, memory, streams and events, on the functions of
 * the runtime. There is one device, and all its contexts are one: the runtime's. An image of a module is text that NVRTC's
 * functions here or `ingot nvcc -fatbin` made. */
#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__ 1

#include "ingot_cpp.h"

typedef int CUdevice, CUdevice_v1;
typedef unsigned long long CUdeviceptr, CUdeviceptr_v2;
typedef struct ig_cuda_context *CUcontext;
typedef struct ig_cuda_module *CUmodule, *CUlibrary;
typedef struct ig_cuda_kernel *CUfunction, *CUkernel;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef cudaHostFn_t CUhostFn;
typedef cudaUUID_t CUuuid;
#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)

/* R(name, number) for each result. */
/* clang-format off */
#define IG_RESULTS(R) \
    R(CUDA_SUCCESS, 0) R(CUDA_ERROR_INVALID_VALUE, 1) R(CUDA_ERROR_OUT_OF_MEMORY, 2) R(CUDA_ERROR_NOT_INITIALIZED, 3) \
    R(CUDA_ERROR_DEINITIALIZED, 4) R(CUDA_ERROR_DEVICE_UNAVAILABLE, 46) R(CUDA_ERROR_NO_DEVICE, 100) \
    R(CUDA_ERROR_INVALID_DEVICE, 101) R(CUDA_ERROR_INVALID_IMAGE, 200) R(CUDA_ERROR_INVALID_CONTEXT, 201) \
    R(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202) R(CUDA_ERROR_MAP_FAILED, 205) R(CUDA_ERROR_NO_BINARY_FOR_GPU, 209) \
    R(CUDA_ERROR_UNSUPPORTED_LIMIT, 215) R(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216) \
    R(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217) R(CUDA_ERROR_INVALID_PTX, 218) R(CUDA_ERROR_INVALID_SOURCE, 300) \
    R(CUDA_ERROR_FILE_NOT_FOUND, 301) R(CUDA_ERROR_OPERATING_SYSTEM, 304) R(CUDA_ERROR_INVALID_HANDLE, 400) \
    R(CUDA_ERROR_ILLEGAL_STATE, 401) R(CUDA_ERROR_NOT_FOUND, 500) R(CUDA_ERROR_NOT_READY, 600) \
    R(CUDA_ERROR_ILLEGAL_ADDRESS, 700) R(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701) R(CUDA_ERROR_LAUNCH_TIMEOUT, 702) \
    R(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704) R(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705) \
    R(CUDA_ERROR_ASSERT, 710) R(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
    R(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713) R(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715) \
    R(CUDA_ERROR_MISALIGNED_ADDRESS, 716) R(CUDA_ERROR_LAUNCH_FAILED, 719) \
    R(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720) R(CUDA_ERROR_NOT_PERMITTED, 800) \
    R(CUDA_ERROR_NOT_SUPPORTED, 801) R(CUDA_ERROR_UNKNOWN, 999)
/* clang-format on */
typedef enum cudaError_enum {
#define IG_ROW(name, number) name = number,
    IG_RESULTS(IG_ROW)
#undef IG_ROW
} CUresult;

#define IG_ATTRIBUTE(name, number) CU_DEVICE_ATTRIBUTE_##name = number
typedef enum CUdevice_attribute_enum {
    IG_ATTRIBUTE(MAX_THREADS_PER_BLOCK, 1),
    IG_ATTRIBUTE(MAX_BLOCK_DIM_X, 2),
    IG_ATTRIBUTE(MAX_BLOCK_DIM_Y, 3),
    IG_ATTRIBUTE(MAX_BLOCK_DIM_Z, 4),
    IG_ATTRIBUTE(MAX_GRID_DIM_X, 5),
    IG_ATTRIBUTE(MAX_GRID_DIM_Y, 6),
    IG_ATTRIBUTE(MAX_GRID_DIM_Z, 7),
    IG_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK, 8),
    IG_ATTRIBUTE(SHARED_MEMORY_PER_BLOCK, 8),
    IG_ATTRIBUTE(TOTAL_CONSTANT_MEMORY, 9),
    IG_ATTRIBUTE(WARP_SIZE, 10),
    IG_ATTRIBUTE(MAX_PITCH, 11),
    IG_ATTRIBUTE(MAX_REGISTERS_PER_BLOCK, 12),
    IG_ATTRIBUTE(REGISTERS_PER_BLOCK, 12),
    IG_ATTRIBUTE(CLOCK_RATE, 13),
    IG_ATTRIBUTE(TEXTURE_ALIGNMENT, 14),
    IG_ATTRIBUTE(GPU_OVERLAP, 15),
    IG_ATTRIBUTE(MULTIPROCESSOR_COUNT, 16),
    IG_ATTRIBUTE(KERNEL_EXEC_TIMEOUT, 17),
    IG_ATTRIBUTE(INTEGRATED, 18),
    IG_ATTRIBUTE(CAN_MAP_HOST_MEMORY, 19),
    IG_ATTRIBUTE(COMPUTE_MODE, 20),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE1D_WIDTH, 21),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE2D_WIDTH, 22),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE2D_HEIGHT, 23),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH, 24),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT, 25),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH, 26),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 27),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 28),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 29),
    IG_ATTRIBUTE(SURFACE_ALIGNMENT, 30),
    IG_ATTRIBUTE(CONCURRENT_KERNELS, 31),
    IG_ATTRIBUTE(ECC_ENABLED, 32),
    IG_ATTRIBUTE(PCI_BUS_ID, 33),
    IG_ATTRIBUTE(PCI_DEVICE_ID, 34),
    IG_ATTRIBUTE(TCC_DRIVER, 35),
    IG_ATTRIBUTE(MEMORY_CLOCK_RATE, 36),
    IG_ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH, 37),
    IG_ATTRIBUTE(L2_CACHE_SIZE, 38),
    IG_ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR, 39),
    IG_ATTRIBUTE(ASYNC_ENGINE_COUNT, 40),
    IG_ATTRIBUTE(UNIFIED_ADDRESSING, 41),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 42),
    IG_ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 43),
    IG_ATTRIBUTE(PCI_DOMAIN_ID, 50),
    IG_ATTRIBUTE(TEXTURE_PITCH_ALIGNMENT, 51),
    IG_ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR, 75),
    IG_ATTRIBUTE(COMPUTE_CAPABILITY_MINOR, 76),
    IG_ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED, 78),
    IG_ATTRIBUTE(GLOBAL_L1_CACHE_SUPPORTED, 79),
    IG_ATTRIBUTE(LOCAL_L1_CACHE_SUPPORTED, 80),
    IG_ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81),
    IG_ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR, 82),
    IG_ATTRIBUTE(MANAGED_MEMORY, 83),
    IG_ATTRIBUTE(MULTI_GPU_BOARD, 84),
    IG_ATTRIBUTE(MULTI_GPU_BOARD_GROUP_ID, 85),
    IG_ATTRIBUTE(HOST_NATIVE_ATOMIC_SUPPORTED, 86),
    IG_ATTRIBUTE(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 87),
    IG_ATTRIBUTE(PAGEABLE_MEMORY_ACCESS, 88),
    IG_ATTRIBUTE(CONCURRENT_MANAGED_ACCESS, 89),
    IG_ATTRIBUTE(COMPUTE_PREEMPTION_SUPPORTED, 90),
    IG_ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91),
    IG_ATTRIBUTE(COOPERATIVE_LAUNCH, 95),
    IG_ATTRIBUTE(COOPERATIVE_MULTI_DEVICE_LAUNCH, 96),
    IG_ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97),
    IG_ATTRIBUTE(HOST_REGISTER_SUPPORTED, 99),
    IG_ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR, 106),
    IG_ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK, 111),
    IG_ATTRIBUTE(MEMORY_POOLS_SUPPORTED, 115),
    IG_ATTRIBUTE(VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 102),
    IG_ATTRIBUTE(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102),
    IG_ATTRIBUTE(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103),
    IG_ATTRIBUTE(GENERIC_COMPRESSION_SUPPORTED, 107),
} CUdevice_attribute;
#undef IG_ATTRIBUTE
typedef enum CUfunction_attribute_enum {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_NUM_REGS,
    CU_FUNC_ATTRIBUTE_PTX_VERSION,
    CU_FUNC_ATTRIBUTE_BINARY_VERSION,
    CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
} CUfunction_attribute;
typedef enum CUjit_option_enum {
    CU_JIT_MAX_REGISTERS,
    CU_JIT_THREADS_PER_BLOCK,
    CU_JIT_WALL_TIME,
    CU_JIT_INFO_LOG_BUFFER,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
    CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    CU_JIT_OPTIMIZATION_LEVEL,
    CU_JIT_TARGET_FROM_CUCONTEXT,
    CU_JIT_TARGET,
    CU_JIT_FALLBACK_STRATEGY,
    CU_JIT_GENERATE_DEBUG_INFO,
    CU_JIT_LOG_VERBOSE,
    CU_JIT_GENERATE_LINE_INFO,
    CU_JIT_CACHE_MODE
} CUjit_option;
typedef enum CUfunc_cache_enum {
    CU_FUNC_CACHE_PREFER_NONE,
    CU_FUNC_CACHE_PREFER_SHARED,
    CU_FUNC_CACHE_PREFER_L1,
    CU_FUNC_CACHE_PREFER_EQUAL
} CUfunc_cache;
typedef enum CUsharedconfig_enum {
    CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE,
    CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE,
    CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
} CUsharedconfig;
typedef enum CUlimit_enum {
    CU_LIMIT_STACK_SIZE,
    CU_LIMIT_PRINTF_FIFO_SIZE,
    CU_LIMIT_MALLOC_HEAP_SIZE
} CUlimit;
typedef enum CUmemorytype_enum {
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMORYTYPE_ARRAY = 3,
    CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;
enum {
    CU_COMPUTEMODE_DEFAULT = 0,
    CU_COMPUTEMODE_EXCLUSIVE = 1,
    CU_COMPUTEMODE_PROHIBITED = 2,
    CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
};
enum {
    CU_CTX_SCHED_AUTO = 0,
    CU_CTX_SCHED_SPIN = 1,
    CU_CTX_SCHED_YIELD = 2,
    CU_CTX_SCHED_BLOCKING_SYNC = 4,
    CU_CTX_BLOCKING_SYNC = 4,
    CU_CTX_MAP_HOST = 8,
    CU_CTX_LMEM_RESIZE_TO_MAX = 16
};
enum {
    CU_STREAM_DEFAULT = 0,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4,
    CU_MEMHOSTALLOC_PORTABLE = 1,
    CU_MEMHOSTALLOC_DEVICEMAP = 2,
    CU_MEMHOSTALLOC_WRITECOMBINED = 4,
    CU_MEMHOSTREGISTER_PORTABLE = 1,
    CU_MEMHOSTREGISTER_DEVICEMAP = 2,
    CU_MEM_ATTACH_GLOBAL = 1,
    CU_MEM_ATTACH_HOST = 2,
    CU_MEM_ATTACH_SINGLE = 4
};
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

typedef struct CUdevprop_st {
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], sharedMemPerBlock;
    int totalConstantMemory, SIMDWidth, memPitch, regsPerBlock, clockRate, textureAlign;
} CUdevprop;
typedef struct CUctxCreateParams_st {
    void *execAffinityParams;
    int numExecAffinityParams;
    void *cigParams;
} CUctxCreateParams;

namespace ig_cuda
{
/* The driver's result for an error of the runtime. */
static inline CUresult result(int e)
{
    switch (e) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorMissingConfiguration: return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_IMAGE;
    default: return (CUresult)e;
    }
}
/* The contexts of a thread: all are the same. The innermost is last. */
struct contexts {
    CUcontext at[64];
    int n;
};
inline contexts &current()
{
    static thread_local contexts all;
    return all;
}
static inline CUcontext only() { return (CUcontext)(uintptr_t)16; }
static inline CUresult push_context(CUcontext c)
{
    contexts &all = current();
    if (all.n == 64)
        return CUDA_ERROR_OUT_OF_MEMORY;
    all.at[all.n++] = c;
    return CUDA_SUCCESS;
}
static inline void *pointer(CUdeviceptr p) { return (void *)(uintptr_t)p; }
} // namespace ig_cuda

/* A call of the runtime: its error does not become the runtime's last error. */
#define IG_DRIVER(call) \
    ({ \
        const int ig_before = ig_cuda_last_error(0), ig_error = (int)(call); \
        if (ig_error) { \
            ig_cuda_last_error(1); \
            if (ig_before) \
                ig_cuda_fail(ig_before); \
        } \
        ig_cuda::result(ig_error); \
    })
#define IG_DO static inline CUresult
#define IG_HERE ig_cuda::place at = ig_cuda::here()

IG_DO cuGetErrorString(CUresult r, const char **text)
{
    *text = r == CUDA_ERROR_INVALID_CONTEXT  ? "invalid device context"
            : r == CUDA_ERROR_FILE_NOT_FOUND ? "file not found"
                                             : ig_cuda_error_text(r);
    return CUDA_SUCCESS;
}
IG_DO cuGetErrorName(CUresult r, const char **name)
{
    *name = NULL;
    switch (r) {
#define IG_ROW(word, number) \
    case word: *name = #word; break;
        IG_RESULTS(IG_ROW)
#undef IG_ROW
    }
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
#undef IG_RESULTS

/* ---- devices ---- */

IG_DO cuInit(unsigned flags)
{
    int n;
    return flags ? CUDA_ERROR_INVALID_VALUE : IG_DRIVER(cudaGetDeviceCount(&n));
}
IG_DO cuDriverGetVersion(int *v) { return IG_DRIVER(cudaDriverGetVersion(v)); }
IG_DO cuDeviceGetCount(int *n) { return IG_DRIVER(cudaGetDeviceCount(n)); }
IG_DO cuDeviceGet(CUdevice *d, int i)
{
    *d = 0;
    return i ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
IG_DO cuDeviceGetName(char *name, int bytes, CUdevice d)
{
    cudaDeviceProp p;
    const CUresult r = IG_DRIVER(cudaGetDeviceProperties(&p, d));
    if (!r)
        snprintf(name, (size_t)bytes, "%s", p.name);
    return r;
}
IG_DO cuDeviceGetUuid(CUuuid *uuid, CUdevice d)
{
    cudaDeviceProp p;
    const CUresult r = IG_DRIVER(cudaGetDeviceProperties(&p, d));
    if (!r)
        *uuid = p.uuid;
    return r;
}
IG_DO cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d) { return cuDeviceGetUuid(uuid, d); }
IG_DO cuDeviceTotalMem(size_t *bytes, CUdevice d)
{
    cudaDeviceProp p;
    const CUresult r = IG_DRIVER(cudaGetDeviceProperties(&p, d));
    if (!r)
        *bytes = p.totalGlobalMem;
    return r;
}
namespace ig_cuda
{
/* Of cuda_virtual.h, whose functions are refused on NVIDIA GPUs. */
static inline bool virtual_attribute(CUdevice_attribute a, int *value)
{
    ig_cuda_facts f;
    const bool has = a == CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
    if (!has && a != CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED &&
        a != CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED)
        return false;
    *value = has && !ig_cuda_device(&f) && !f.driver_version;
    return true;
}
} // namespace ig_cuda
IG_DO cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice d)
{
    const bool layered = a == CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH ||
                         a == CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS;
    if (layered || (a >= CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH &&
                    a <= CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS)) {
        cudaDeviceProp p;
        const CUresult r = IG_DRIVER(cudaGetDeviceProperties(&p, d));
        const int all[] = {
            p.maxTexture1D,           p.maxTexture2D[0],        p.maxTexture2D[1],
            p.maxTexture3D[0],        p.maxTexture3D[1],        p.maxTexture3D[2],
            p.maxTexture2DLayered[0], p.maxTexture2DLayered[1], p.maxTexture2DLayered[2]};
        *value =
            r ? 0
            : layered
                ? p.maxTexture1DLayered[a - CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH]
                : all[a - CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH];
        return r;
    }
    if (ig_cuda::virtual_attribute(a, value))
        return CUDA_SUCCESS;
    return IG_DRIVER(cudaDeviceGetAttribute(value, (cudaDeviceAttr)a, d));
}
IG_DO cuDeviceComputeCapability(int *major, int *minor, CUdevice d)
{
    const CUresult r = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
    return r ? r : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d);
}
IG_DO cuDeviceGetProperties(CUdevprop *to, CUdevice d)
{
    cudaDeviceProp p;
    const CUresult r = IG_DRIVER(cudaGetDeviceProperties(&p, d));
    if (!r)
        *to = {p.maxThreadsPerBlock,
               {p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2]},
               {p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]},
               (int)p.sharedMemPerBlock,
               (int)p.totalConstMem,
               p.warpSize,
               (int)p.memPitch,
               p.regsPerBlock,
               p.clockRate,
               (int)p.textureAlignment};
    return r;
}
IG_DO cuDeviceGetPCIBusId(char *id, int bytes, CUdevice d)
{
    return IG_DRIVER(cudaDeviceGetPCIBusId(id, bytes, d));
}
IG_DO cuDeviceGetByPCIBusId(CUdevice *d, const char *id)
{
    return IG_DRIVER(cudaDeviceGetByPCIBusId(d, id));
}
IG_DO cuDeviceCanAccessPeer(int *can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }

/* ---- contexts ---- */

IG_DO cuCtxPushCurrent(CUcontext c)
{
    return c ? ig_cuda::push_context(c) : CUDA_ERROR_INVALID_CONTEXT;
}
IG_DO cuCtxCreate(CUcontext *c, unsigned, CUdevice d)
{
    *c = ig_cuda::only();
    return d ? CUDA_ERROR_INVALID_DEVICE : ig_cuda::push_context(*c);
}
IG_DO cuCtxCreate(CUcontext *c, CUctxCreateParams *, unsigned flags, CUdevice d)
{
    return cuCtxCreate(c, flags, d);
}
IG_DO cuCtxPopCurrent(CUcontext *c)
{
    ig_cuda::contexts &all = ig_cuda::current();
    if (!all.n)
        return CUDA_ERROR_INVALID_CONTEXT;
    all.n--;
    if (c)
        *c = all.at[all.n];
    return CUDA_SUCCESS;
}
IG_DO cuCtxDestroy(CUcontext c)
{
    ig_cuda::contexts &all = ig_cuda::current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    all.n -= all.n > 0;
    return IG_DRIVER(cudaDeviceSynchronize());
}
IG_DO cuCtxSetCurrent(CUcontext c)
{
    ig_cuda::contexts &all = ig_cuda::current();
    all.n -= all.n > 0;
    return c ? ig_cuda::push_context(c) : CUDA_SUCCESS;
}
IG_DO cuCtxGetCurrent(CUcontext *c)
{
    const ig_cuda::contexts &all = ig_cuda::current();
    *c = all.n ? all.at[all.n - 1] : NULL;
    return CUDA_SUCCESS;
}
IG_DO cuCtxGetDevice(CUdevice *d) { return *d = 0, CUDA_SUCCESS; }
IG_DO cuCtxGetFlags(unsigned *flags) { return *flags = CU_CTX_MAP_HOST, CUDA_SUCCESS; }
IG_DO cuCtxGetApiVersion(CUcontext, unsigned *v) { return *v = CUDA_VERSION, CUDA_SUCCESS; }
IG_DO cuCtxSynchronize() { return IG_DRIVER(cudaDeviceSynchronize()); }
IG_DO cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }
IG_DO cuCtxSetSharedMemConfig(CUsharedconfig) { return CUDA_SUCCESS; }
IG_DO cuCtxSetLimit(CUlimit limit, size_t v)
{
    return IG_DRIVER(cudaDeviceSetLimit((cudaLimit)limit, v));
}
IG_DO cuCtxGetLimit(size_t *v, CUlimit limit)
{
    return IG_DRIVER(cudaDeviceGetLimit(v, (cudaLimit)limit));
}
IG_DO cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    return IG_DRIVER(cudaDeviceGetStreamPriorityRange(least, greatest));
}
IG_DO cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; }
IG_DO cuCtxDisablePeerAccess(CUcontext) { return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED; }
IG_DO cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
    *c = ig_cuda::only();
    return d ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
IG_DO cuDevicePrimaryCtxRelease(CUdevice d) { return d ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
IG_DO cuDevicePrimaryCtxSetFlags(CUdevice d, unsigned)
{
    return d ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
IG_DO cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active)
{
    *flags = CU_CTX_MAP_HOST;
    *active = 1;
    return d ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
IG_DO cuDevicePrimaryCtxReset(CUdevice) { return IG_DRIVER(cudaDeviceReset()); }
IG_DO cuProfilerStart() { return CUDA_SUCCESS; }
IG_DO cuProfilerStop() { return CUDA_SUCCESS; }

/* ---- memory ---- */

IG_DO cuMemAlloc(CUdeviceptr *p, size_t bytes, IG_HERE)
{
    void *made = NULL;
    const CUresult r = bytes ? IG_DRIVER(cudaMalloc(&made, bytes, at)) : CUDA_ERROR_INVALID_VALUE;
    *p = (uintptr_t)made;
    return r;
}
IG_DO cuMemAllocPitch(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned, IG_HERE)
{
    void *made = NULL;
    const CUresult r = IG_DRIVER(cudaMallocPitch(&made, pitch, width, height, at));
    *p = (uintptr_t)made;
    return r;
}
IG_DO cuMemAllocManaged(CUdeviceptr *p, size_t bytes, unsigned flags, IG_HERE)
{
    void *made = NULL;
    const CUresult r = IG_DRIVER(cudaMallocManaged(&made, bytes, flags, at));
    *p = (uintptr_t)made;
    return r;
}
IG_DO cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream s, IG_HERE)
{
    void *made = NULL;
    const CUresult r = IG_DRIVER(cudaMallocAsync(&made, bytes, s, at));
    *p = (uintptr_t)made;
    return r;
}
IG_DO cuMemFree(CUdeviceptr p) { return IG_DRIVER(cudaFree(ig_cuda::pointer(p))); }
IG_DO cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    return IG_DRIVER(cudaFreeAsync(ig_cuda::pointer(p), s));
}
IG_DO cuMemAllocHost(void **p, size_t bytes, IG_HERE)
{
    return IG_DRIVER(cudaMallocHost(p, bytes, 0, at));
}
IG_DO cuMemHostAlloc(void **p, size_t bytes, unsigned flags, IG_HERE)
{
    return IG_DRIVER(cudaHostAlloc(p, bytes, flags, at));
}
IG_DO cuMemFreeHost(void *p) { return IG_DRIVER(cudaFreeHost(p)); }
IG_DO cuMemHostGetDevicePointer(CUdeviceptr *p, void *host, unsigned flags)
{
    void *found = NULL;
    const CUresult r = IG_DRIVER(cudaHostGetDevicePointer(&found, host, flags));
    *p = (uintptr_t)found;
    return r;
}
IG_DO cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
    return IG_DRIVER(cudaHostRegister(p, bytes, flags));
}
IG_DO cuMemHostUnregister(void *p) { return IG_DRIVER(cudaHostUnregister(p)); }
IG_DO cuMemGetInfo(size_t *available, size_t *total)
{
    return IG_DRIVER(cudaMemGetInfo(available, total));
}

namespace ig_cuda
{
static inline CUresult move(void *to, const void *from_, size_t bytes, cudaMemcpyKind kind,
                            place at)
{
    return IG_DRIVER(copy(to, bytes, from_, bytes, bytes, 1, kind, at));
}
static inline CUresult move(void *to, const void *from_, size_t bytes, cudaMemcpyKind kind,
                            CUstream s, place at)
{
    return IG_DRIVER(copy(to, bytes, from_, bytes, bytes, 1, kind, at, s, 1));
}
} // namespace ig_cuda
#define IG_COPY(name, to_type, to, from_type, from_, kind) \
    IG_DO name(to_type d, from_type s, size_t n, IG_HERE) \
    { \
        return ig_cuda::move(to, from_, n, kind, at); \
    } \
    IG_DO name##Async(to_type d, from_type s, size_t n, CUstream stream, IG_HERE) \
    { \
        return ig_cuda::move(to, from_, n, kind, stream, at); \
    }
IG_COPY(cuMemcpyHtoD, CUdeviceptr, ig_cuda::pointer(d), const void *, s, cudaMemcpyHostToDevice)
IG_COPY(cuMemcpyDtoH, void *, d, CUdeviceptr, ig_cuda::pointer(s), cudaMemcpyDeviceToHost)
IG_COPY(cuMemcpyDtoD, CUdeviceptr, ig_cuda::pointer(d), CUdeviceptr, ig_cuda::pointer(s),
        cudaMemcpyDeviceToDevice)
IG_COPY(cuMemcpy, CUdeviceptr, ig_cuda::pointer(d), CUdeviceptr, ig_cuda::pointer(s),
        cudaMemcpyDefault)
#undef IG_COPY
#include "cuda_arrays.h"
#include "cuda_virtual.h"

namespace ig_cuda
{
/* Fills rows with a value of several bytes, through the first row's copy on the host. */
template <typename T>
static inline CUresult fill_values(CUdeviceptr p, size_t pitch, T value, size_t width,
                                   size_t height, CUstream s, place at)
{
    if (!width || !height)
        return CUDA_SUCCESS;
    T *row = new (std::nothrow) T[width];
    if (!row)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < width; i++)
        row[i] = value;
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < height && !r; i++)
        r = move(pointer(p + i * pitch), row, width * sizeof(T), cudaMemcpyHostToDevice, s, at);
    if (!r)
        r = IG_DRIVER(cudaStreamSynchronize(s));
    delete[] row;
    return r;
}
} // namespace ig_cuda
#define IG_FILL(bits, type) \
    IG_DO cuMemsetD##bits##Async(CUdeviceptr p, type v, size_t n, CUstream s, IG_HERE) \
    { \
        return ig_cuda::fill_values(p, 0, v, n, 1, s, at); \
    } \
    IG_DO cuMemsetD##bits(CUdeviceptr p, type v, size_t n, IG_HERE) \
    { \
        return ig_cuda::fill_values(p, 0, v, n, 1, 0, at); \
    } \
    IG_DO cuMemsetD2D##bits##Async(CUdeviceptr p, size_t pitch, type v, size_t n, size_t rows, \
                                   CUstream s, IG_HERE) \
    { \
        return ig_cuda::fill_values(p, pitch, v, n, rows, s, at); \
    } \
    IG_DO cuMemsetD2D##bits(CUdeviceptr p, size_t pitch, type v, size_t n, size_t rows, IG_HERE) \
    { \
        return ig_cuda::fill_values(p, pitch, v, n, rows, 0, at); \
    }
IG_FILL(8, unsigned char)
IG_FILL(16, unsigned short)
IG_FILL(32, unsigned)
#undef IG_FILL

/* ---- streams and events ---- */

IG_DO cuStreamCreate(CUstream *s, unsigned flags)
{
    return IG_DRIVER(cudaStreamCreateWithFlags(s, flags));
}
IG_DO cuStreamCreateWithPriority(CUstream *s, unsigned flags, int priority)
{
    return IG_DRIVER(cudaStreamCreateWithPriority(s, flags, priority));
}
IG_DO cuStreamDestroy(CUstream s) { return IG_DRIVER(cudaStreamDestroy(s)); }
IG_DO cuStreamSynchronize(CUstream s) { return IG_DRIVER(cudaStreamSynchronize(s)); }
IG_DO cuStreamQuery(CUstream s) { return IG_DRIVER(cudaStreamQuery(s)); }
IG_DO cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
    return IG_DRIVER(cudaStreamWaitEvent(s, e, flags));
}
IG_DO cuStreamGetFlags(CUstream s, unsigned *f) { return IG_DRIVER(cudaStreamGetFlags(s, f)); }
IG_DO cuStreamGetPriority(CUstream s, int *p) { return IG_DRIVER(cudaStreamGetPriority(s, p)); }
IG_DO cuLaunchHostFunc(CUstream s, CUhostFn f, void *context)
{
    return IG_DRIVER(cudaLaunchHostFunc(s, f, context));
}
IG_DO cuEventCreate(CUevent *e, unsigned flags)
{
    return IG_DRIVER(cudaEventCreateWithFlags(e, flags));
}
IG_DO cuEventDestroy(CUevent e) { return IG_DRIVER(cudaEventDestroy(e)); }
IG_DO cuEventRecord(CUevent e, CUstream s) { return IG_DRIVER(cudaEventRecord(e, s)); }
IG_DO cuEventSynchronize(CUevent e) { return IG_DRIVER(cudaEventSynchronize(e)); }
IG_DO cuEventQuery(CUevent e) { return IG_DRIVER(cudaEventQuery(e)); }
IG_DO cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    return IG_DRIVER(cudaEventElapsedTime(ms, from, to));
}

/* ---- modules and launches ---- */

IG_DO cuModuleLoadData(CUmodule *m, const void *image)
{
    return IG_DRIVER(ig_cuda_module_load((void **)m, image));
}
/* There are no options; the logs are empty. */
IG_DO cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *options,
                         void **values)
{
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
            *(char *)values[i] = 0;
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
            options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[i] = NULL;
    }
    return cuModuleLoadData(m, image);
}
IG_DO cuModuleLoadFatBinary(CUmodule *m, const void *image) { return cuModuleLoadData(m, image); }
IG_DO cuModuleLoad(CUmodule *m, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return CUDA_ERROR_FILE_NOT_FOUND;
    size_t used = 0, room = 1 << 16, n;
    char *image = (char *)malloc(room);
    while (image && (n = fread(image + used, 1, room - used - 1, f)) > 0) {
        used += n;
        if (room - used < 2) {
            char *grown = (char *)realloc(image, room *= 2);
            if (!grown)
                free(image);
            image = grown;
        }
    }
    fclose(f);
    if (!image)
        return CUDA_ERROR_OUT_OF_MEMORY;
    image[used] = 0;
    const CUresult r = cuModuleLoadData(m, image);
    free(image);
    return r;
}
IG_DO cuModuleUnload(CUmodule m) { return IG_DRIVER(ig_cuda_module_unload(m)); }
IG_DO cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
    return IG_DRIVER(ig_cuda_module_function(m, name, f));
}
IG_DO cuModuleGetGlobal(CUdeviceptr *p, size_t *bytes, CUmodule m, const char *name)
{
    void *found = NULL;
    size_t n = 0;
    const CUresult r = IG_DRIVER(ig_cuda_module_global(m, name, &found, &n));
    if (p && !r)
        *p = (uintptr_t)found;
    if (bytes && !r)
        *bytes = n;
    return r;
}
IG_DO cuLibraryLoadData(CUlibrary *m, const void *image, CUjit_option *, void **, unsigned, void *,
                        void **, unsigned)
{
    return cuModuleLoadData(m, image);
}
IG_DO cuLibraryUnload(CUlibrary m) { return cuModuleUnload(m); }
IG_DO cuLibraryGetKernel(CUkernel *k, CUlibrary m, const char *name)
{
    return cuModuleGetFunction(k, m, name);
}
IG_DO cuLibraryGetGlobal(CUdeviceptr *p, size_t *bytes, CUlibrary m, const char *name)
{
    return cuModuleGetGlobal(p, bytes, m, name);
}
IG_DO cuKernelGetFunction(CUfunction *f, CUkernel k) { return *f = k, CUDA_SUCCESS; }

IG_DO cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f)
{
    ig_cuda_attributes got;
    const CUresult r = IG_DRIVER(ig_cuda_function(f, &got));
    if (r)
        return r;
    const int all[] = {got.max_threads,
                       (int)got.shared_bytes,
                       (int)got.constant_bytes,
                       (int)got.local_bytes,
                       got.registers,
                       got.version,
                       got.version,
                       0,
                       got.dynamic_shared_bytes};
    if ((size_t)a >= sizeof all / sizeof *all)
        return CUDA_ERROR_INVALID_VALUE;
    *value = all[a];
    return CUDA_SUCCESS;
}
IG_DO cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value)
{
    return IG_DRIVER(ig_cuda_function_set(f, a, value));
}
IG_DO cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
IG_DO cuFuncSetSharedMemConfig(CUfunction, CUsharedconfig) { return CUDA_SUCCESS; }

namespace ig_cuda
{
static inline CUresult launch_function(CUfunction f, dim3 grid, dim3 block, unsigned shared,
                                       CUstream s, void **args, void **extra, int cooperative,
                                       place at)
{
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    if (args && extra)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult r = IG_DRIVER(ig_push(grid, block, shared, s, at, 1));
    return r ? r : IG_DRIVER(ig_cuda_launch_function(f, args, extra, cooperative));
}
} // namespace ig_cuda
IG_DO cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned shared, CUstream s, void **args, void **extra, IG_HERE)
{
    return ig_cuda::launch_function(f, dim3(gx, gy, gz), dim3(bx, by, bz), shared, s, args, extra,
                                    0, at);
}
IG_DO cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, CUstream s, void **args,
                                IG_HERE)
{
    return ig_cuda::launch_function(f, dim3(gx, gy, gz), dim3(bx, by, bz), shared, s, args, NULL, 1,
                                    at);
}

IG_DO cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads,
                                                  size_t shared)
{
    return IG_DRIVER(ig_cuda_occupancy(f, threads, shared, blocks));
}
typedef size_t (*CUoccupancyB2DSize)(int threads);
IG_DO cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, CUoccupancyB2DSize size,
                                       size_t shared, int most)
{
    return IG_DRIVER(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        grid, block, f, [=](int threads) { return size ? size(threads) : shared; }, most));
}

#undef IG_DO
#undef IG_DRIVER
#undef IG_HERE

#endif
