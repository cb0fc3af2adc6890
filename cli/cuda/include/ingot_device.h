/* The device: its properties and settings. */
#ifndef INGOT_DEVICE_H
#define INGOT_DEVICE_H

#include "ingot_launch.h"

IG_CALL cudaGetDeviceCount(int *n)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *n = e ? 0 : 1;
    return (cudaError_t)e;
}
IG_CALL cudaSetDevice(int device)
{
    return device ? ig_cuda::fail(cudaErrorInvalidDevice) : cudaSuccess;
}
IG_CALL cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }

/* A(name, number, member of cudaDeviceProp) for each attribute. */
/* clang-format off */
#define IG_ATTRIBUTES(A) \
    A(MaxThreadsPerBlock, 1, maxThreadsPerBlock) A(MaxBlockDimX, 2, maxThreadsDim[0]) \
    A(MaxBlockDimY, 3, maxThreadsDim[1]) A(MaxBlockDimZ, 4, maxThreadsDim[2]) A(MaxGridDimX, 5, maxGridSize[0]) \
    A(MaxGridDimY, 6, maxGridSize[1]) A(MaxGridDimZ, 7, maxGridSize[2]) \
    A(MaxSharedMemoryPerBlock, 8, sharedMemPerBlock) A(TotalConstantMemory, 9, totalConstMem) \
    A(WarpSize, 10, warpSize) A(MaxPitch, 11, memPitch) A(MaxRegistersPerBlock, 12, regsPerBlock) \
    A(ClockRate, 13, clockRate) A(TextureAlignment, 14, textureAlignment) A(GpuOverlap, 15, deviceOverlap) \
    A(MultiProcessorCount, 16, multiProcessorCount) A(KernelExecTimeout, 17, kernelExecTimeoutEnabled) \
    A(Integrated, 18, integrated) A(CanMapHostMemory, 19, canMapHostMemory) A(ComputeMode, 20, computeMode) \
    A(SurfaceAlignment, 30, surfaceAlignment) A(ConcurrentKernels, 31, concurrentKernels) \
    A(EccEnabled, 32, ECCEnabled) A(PciBusId, 33, pciBusID) A(PciDeviceId, 34, pciDeviceID) \
    A(TccDriver, 35, tccDriver) A(MemoryClockRate, 36, memoryClockRate) A(GlobalMemoryBusWidth, 37, memoryBusWidth) \
    A(L2CacheSize, 38, l2CacheSize) A(MaxThreadsPerMultiProcessor, 39, maxThreadsPerMultiProcessor) \
    A(AsyncEngineCount, 40, asyncEngineCount) A(UnifiedAddressing, 41, unifiedAddressing) \
    A(PciDomainId, 50, pciDomainID) A(TexturePitchAlignment, 51, texturePitchAlignment) \
    A(ComputeCapabilityMajor, 75, major) A(ComputeCapabilityMinor, 76, minor) \
    A(StreamPrioritiesSupported, 78, streamPrioritiesSupported) \
    A(GlobalL1CacheSupported, 79, globalL1CacheSupported) A(LocalL1CacheSupported, 80, localL1CacheSupported) \
    A(MaxSharedMemoryPerMultiprocessor, 81, sharedMemPerMultiprocessor) \
    A(MaxRegistersPerMultiprocessor, 82, regsPerMultiprocessor) A(ManagedMemory, 83, managedMemory) \
    A(IsMultiGpuBoard, 84, isMultiGpuBoard) A(MultiGpuBoardGroupID, 85, multiGpuBoardGroupID) \
    A(HostNativeAtomicSupported, 86, hostNativeAtomicSupported) \
    A(SingleToDoublePrecisionPerfRatio, 87, singleToDoublePrecisionPerfRatio) \
    A(PageableMemoryAccess, 88, pageableMemoryAccess) A(ConcurrentManagedAccess, 89, concurrentManagedAccess) \
    A(ComputePreemptionSupported, 90, computePreemptionSupported) \
    A(CanUseHostPointerForRegisteredMem, 91, canUseHostPointerForRegisteredMem) \
    A(CooperativeLaunch, 95, cooperativeLaunch) A(MaxSharedMemoryPerBlockOptin, 97, sharedMemPerBlockOptin) \
    A(HostRegisterSupported, 99, hostRegisterSupported) \
    A(PageableMemoryAccessUsesHostPageTables, 100, pageableMemoryAccessUsesHostPageTables) \
    A(DirectManagedMemAccessFromHost, 101, directManagedMemAccessFromHost) \
    A(MaxBlocksPerMultiprocessor, 106, maxBlocksPerMultiProcessor) \
    A(MaxPersistingL2CacheSize, 108, persistingL2CacheMaxSize) \
    A(MaxAccessPolicyWindowSize, 109, accessPolicyMaxWindowSize) \
    A(ReservedSharedMemoryPerBlock, 111, reservedSharedMemPerBlock) \
    A(MemoryPoolsSupported, 115, memoryPoolsSupported)
/* clang-format on */

enum cudaDeviceAttr {
#define IG_ROW(name, number, member) cudaDevAttr##name = number,
    IG_ATTRIBUTES(IG_ROW)
#undef IG_ROW
        cudaDevAttrCooperativeMultiDeviceLaunch = 96,
    cudaDevAttrCanFlushRemoteWrites = 98
};

namespace ig_cuda
{
/* The properties of an NVIDIA GPU, as its driver tells them. */
static inline void ask(cudaDeviceProp *p)
{
    int value;
#define IG_ROW(name, number, member) \
    value = (int)p->member; \
    ig_cuda_attribute(number, &value); \
    p->member = value;
    IG_ATTRIBUTES(IG_ROW)
#undef IG_ROW
}
} // namespace ig_cuda

IG_CALL cudaGetDeviceProperties(cudaDeviceProp *p, int device)
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
    p->clockRate = 1000000; /* clock() counts nanoseconds; the clock rate of memory is not known */
    p->major = 7;
    p->multiProcessorCount = f.cores;
    p->integrated = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    p->concurrentManagedAccess = p->concurrentKernels = p->deviceOverlap = 1;
    p->asyncEngineCount = 1;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = (int)(f.cache_bytes < INT_MAX ? f.cache_bytes : INT_MAX);
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    p->cooperativeLaunch = f.waits;
    p->texturePitchAlignment = 32;
    p->singleToDoublePrecisionPerfRatio = 2;
    if (f.driver_version)
        ig_cuda::ask(p);
    return cudaSuccess;
}

IG_CALL cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    ig_cuda_facts f;
    const cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (e)
        return e;
    ig_cuda_device(&f);
    if (f.driver_version)
        return (cudaError_t)ig_cuda_attribute(attribute, value);
    switch (attribute) {
#define IG_ROW(name, number, member) \
    case cudaDevAttr##name: return *value = (int)p.member, cudaSuccess;
        IG_ATTRIBUTES(IG_ROW)
#undef IG_ROW
    case cudaDevAttrCooperativeMultiDeviceLaunch:
    case cudaDevAttrCanFlushRemoteWrites: return *value = 0, cudaSuccess;
    }
    return ig_cuda::fail(cudaErrorInvalidValue);
}
#undef IG_ATTRIBUTES

IG_CALL cudaDeviceSynchronize() { return (cudaError_t)ig_cuda_synchronize(); }
IG_CALL cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
IG_CALL cudaDeviceReset() { return (cudaError_t)ig_cuda_reset(); }
IG_CALL cudaThreadExit() { return cudaDeviceReset(); }
IG_CALL cudaDriverGetVersion(int *v)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *v = f.driver_version ? f.driver_version : CUDART_VERSION;
    return (cudaError_t)e;
}
IG_CALL cudaRuntimeGetVersion(int *v) { return *v = CUDART_VERSION, cudaSuccess; }
IG_CALL cudaChooseDevice(int *device, const cudaDeviceProp *) { return *device = 0, cudaSuccess; }
IG_CALL cudaMemGetInfo(size_t *available, size_t *total)
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
    cudaLimitDevRuntimePendingLaunchCount,
    cudaLimitMaxL2FetchGranularity,
    cudaLimitPersistingL2CacheSize
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

IG_CALL cudaDeviceSetLimit(cudaLimit limit, size_t v)
{
    return (cudaError_t)ig_cuda_limit(limit, &v, 1);
}
IG_CALL cudaDeviceGetLimit(size_t *v, cudaLimit limit)
{
    return (cudaError_t)ig_cuda_limit(limit, v, 0);
}
/* Settings without effect. */
IG_CALL cudaDeviceGetCacheConfig(cudaFuncCache *c)
{
    return *c = cudaFuncCachePreferNone, cudaSuccess;
}
IG_CALL cudaGetDeviceFlags(unsigned *flags) { return *flags = cudaDeviceMapHost, cudaSuccess; }
IG_CALL cudaSetValidDevices(int *, int) { return cudaSuccess; }
IG_CALL cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
IG_CALL cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    ig_cuda_facts f;
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    const int e = ig_cuda_device(&f);
    if (e)
        return (cudaError_t)e;
    return snprintf(id, (size_t)bytes, "%s", f.bus) < bytes ? cudaSuccess
                                                            : ig_cuda::fail(cudaErrorInvalidValue);
}
IG_CALL cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *device = 0;
    return e || strcmp(id, f.bus) ? ig_cuda::fail(cudaErrorInvalidDevice) : cudaSuccess;
}
IG_CALL cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
IG_CALL cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
IG_CALL cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *c)
{
    return *c = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
IG_CALL cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
IG_CALL cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, cudaSuccess; }
IG_CALL cudaDeviceEnablePeerAccess(int device, unsigned)
{
    return ig_cuda::fail(device ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported);
}
IG_CALL cudaDeviceDisablePeerAccess(int device)
{
    return ig_cuda::fail(device ? cudaErrorInvalidDevice : cudaErrorPeerAccessNotEnabled);
}
enum cudaDeviceP2PAttr {
    cudaDevP2PAttrPerformanceRank = 1,
    cudaDevP2PAttrAccessSupported,
    cudaDevP2PAttrNativeAtomicSupported,
    cudaDevP2PAttrCudaArrayAccessSupported
};
/* There is no second device. */
IG_CALL cudaDeviceGetP2PAttribute(int *, cudaDeviceP2PAttr, int, int)
{
    return ig_cuda::fail(cudaErrorInvalidDevice);
}
IG_CALL cudaProfilerStart() { return cudaSuccess; }
IG_CALL cudaProfilerStop() { return cudaSuccess; }

#endif
