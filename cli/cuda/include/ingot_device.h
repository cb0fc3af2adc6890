/* The device: its properties and settings. */
#ifndef INGOT_DEVICE_H
#define INGOT_DEVICE_H

#include "ingot_launch.h"

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
    size_t texturePitchAlignment;
    int hostRegisterSupported, memoryPoolsSupported, clusterLaunch, accessPolicyMaxWindowSize;
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
    cudaDevAttrTextureAlignment,
    cudaDevAttrGpuOverlap,
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrKernelExecTimeout,
    cudaDevAttrIntegrated,
    cudaDevAttrCanMapHostMemory,
    cudaDevAttrComputeMode,
    cudaDevAttrSurfaceAlignment = 30,
    cudaDevAttrConcurrentKernels,
    cudaDevAttrEccEnabled,
    cudaDevAttrPciBusId,
    cudaDevAttrPciDeviceId,
    cudaDevAttrTccDriver,
    cudaDevAttrMemoryClockRate,
    cudaDevAttrGlobalMemoryBusWidth,
    cudaDevAttrL2CacheSize,
    cudaDevAttrMaxThreadsPerMultiProcessor,
    cudaDevAttrAsyncEngineCount,
    cudaDevAttrUnifiedAddressing,
    cudaDevAttrPciDomainId = 50,
    cudaDevAttrTexturePitchAlignment,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrStreamPrioritiesSupported = 78,
    cudaDevAttrGlobalL1CacheSupported,
    cudaDevAttrLocalL1CacheSupported,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor,
    cudaDevAttrMaxRegistersPerMultiprocessor,
    cudaDevAttrManagedMemory,
    cudaDevAttrIsMultiGpuBoard,
    cudaDevAttrMultiGpuBoardGroupID,
    cudaDevAttrHostNativeAtomicSupported,
    cudaDevAttrSingleToDoublePrecisionPerfRatio,
    cudaDevAttrPageableMemoryAccess,
    cudaDevAttrConcurrentManagedAccess,
    cudaDevAttrComputePreemptionSupported,
    cudaDevAttrCanUseHostPointerForRegisteredMem,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrCooperativeMultiDeviceLaunch,
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrCanFlushRemoteWrites,
    cudaDevAttrHostRegisterSupported,
    cudaDevAttrPageableMemoryAccessUsesHostPageTables,
    cudaDevAttrDirectManagedMemAccessFromHost,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrMaxPersistingL2CacheSize = 108,
    cudaDevAttrMaxAccessPolicyWindowSize,
    cudaDevAttrReservedSharedMemoryPerBlock = 111,
    cudaDevAttrMemoryPoolsSupported = 115
};

namespace ig_cuda
{
/* The properties of an NVIDIA GPU, as its driver tells them. */
static inline void ask(cudaDeviceProp *p)
{
    const struct {
        cudaDeviceAttr attribute;
        int *value;
    } rows[] = {
        {cudaDevAttrMaxThreadsPerBlock, &p->maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, &p->maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, &p->maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, &p->maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, &p->maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, &p->maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, &p->maxGridSize[2]},
        {cudaDevAttrWarpSize, &p->warpSize},
        {cudaDevAttrMaxRegistersPerBlock, &p->regsPerBlock},
        {cudaDevAttrClockRate, &p->clockRate},
        {cudaDevAttrGpuOverlap, &p->deviceOverlap},
        {cudaDevAttrMultiProcessorCount, &p->multiProcessorCount},
        {cudaDevAttrKernelExecTimeout, &p->kernelExecTimeoutEnabled},
        {cudaDevAttrIntegrated, &p->integrated},
        {cudaDevAttrCanMapHostMemory, &p->canMapHostMemory},
        {cudaDevAttrComputeMode, &p->computeMode},
        {cudaDevAttrConcurrentKernels, &p->concurrentKernels},
        {cudaDevAttrEccEnabled, &p->ECCEnabled},
        {cudaDevAttrPciBusId, &p->pciBusID},
        {cudaDevAttrPciDeviceId, &p->pciDeviceID},
        {cudaDevAttrPciDomainId, &p->pciDomainID},
        {cudaDevAttrTccDriver, &p->tccDriver},
        {cudaDevAttrMemoryClockRate, &p->memoryClockRate},
        {cudaDevAttrGlobalMemoryBusWidth, &p->memoryBusWidth},
        {cudaDevAttrL2CacheSize, &p->l2CacheSize},
        {cudaDevAttrMaxThreadsPerMultiProcessor, &p->maxThreadsPerMultiProcessor},
        {cudaDevAttrAsyncEngineCount, &p->asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, &p->unifiedAddressing},
        {cudaDevAttrComputeCapabilityMajor, &p->major},
        {cudaDevAttrComputeCapabilityMinor, &p->minor},
        {cudaDevAttrStreamPrioritiesSupported, &p->streamPrioritiesSupported},
        {cudaDevAttrGlobalL1CacheSupported, &p->globalL1CacheSupported},
        {cudaDevAttrLocalL1CacheSupported, &p->localL1CacheSupported},
        {cudaDevAttrMaxRegistersPerMultiprocessor, &p->regsPerMultiprocessor},
        {cudaDevAttrManagedMemory, &p->managedMemory},
        {cudaDevAttrIsMultiGpuBoard, &p->isMultiGpuBoard},
        {cudaDevAttrMultiGpuBoardGroupID, &p->multiGpuBoardGroupID},
        {cudaDevAttrHostNativeAtomicSupported, &p->hostNativeAtomicSupported},
        {cudaDevAttrSingleToDoublePrecisionPerfRatio, &p->singleToDoublePrecisionPerfRatio},
        {cudaDevAttrPageableMemoryAccess, &p->pageableMemoryAccess},
        {cudaDevAttrConcurrentManagedAccess, &p->concurrentManagedAccess},
        {cudaDevAttrComputePreemptionSupported, &p->computePreemptionSupported},
        {cudaDevAttrCanUseHostPointerForRegisteredMem, &p->canUseHostPointerForRegisteredMem},
        {cudaDevAttrCooperativeLaunch, &p->cooperativeLaunch},
        {cudaDevAttrHostRegisterSupported, &p->hostRegisterSupported},
        {cudaDevAttrPageableMemoryAccessUsesHostPageTables,
         &p->pageableMemoryAccessUsesHostPageTables},
        {cudaDevAttrDirectManagedMemAccessFromHost, &p->directManagedMemAccessFromHost},
        {cudaDevAttrMaxBlocksPerMultiprocessor, &p->maxBlocksPerMultiProcessor},
        {cudaDevAttrMaxPersistingL2CacheSize, &p->persistingL2CacheMaxSize},
        {cudaDevAttrMaxAccessPolicyWindowSize, &p->accessPolicyMaxWindowSize},
        {cudaDevAttrMemoryPoolsSupported, &p->memoryPoolsSupported}};
    const struct {
        cudaDeviceAttr attribute;
        size_t *value;
    } sizes[] = {{cudaDevAttrMaxSharedMemoryPerBlock, &p->sharedMemPerBlock},
                 {cudaDevAttrMaxSharedMemoryPerBlockOptin, &p->sharedMemPerBlockOptin},
                 {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &p->sharedMemPerMultiprocessor},
                 {cudaDevAttrReservedSharedMemoryPerBlock, &p->reservedSharedMemPerBlock},
                 {cudaDevAttrTotalConstantMemory, &p->totalConstMem},
                 {cudaDevAttrMaxPitch, &p->memPitch},
                 {cudaDevAttrTextureAlignment, &p->textureAlignment},
                 {cudaDevAttrTexturePitchAlignment, &p->texturePitchAlignment},
                 {cudaDevAttrSurfaceAlignment, &p->surfaceAlignment}};
    for (const auto &row : rows)
        ig_cuda_attribute(row.attribute, row.value);
    for (const auto &row : sizes) {
        int value = 0;
        ig_cuda_attribute(row.attribute, &value);
        *row.value = (size_t)value;
    }
}
} // namespace ig_cuda

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
    p->clockRate = 1000000; /* clock() counts nanoseconds; the clock rate of memory is not known */
    p->major = 7;
    p->multiProcessorCount = f.cores;
    p->integrated = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    p->concurrentManagedAccess = p->concurrentKernels = p->deviceOverlap = 1;
    p->asyncEngineCount = 1;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = (int)(f.cache_bytes < INT_MAX ? f.cache_bytes : INT_MAX);
    p->hostRegisterSupported = 1;
    p->texturePitchAlignment = 32;
    p->singleToDoublePrecisionPerfRatio = 2;
    if (f.driver_version)
        ig_cuda::ask(p);
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    ig_cuda_facts f;
    const cudaError_t e = cudaGetDeviceProperties(&p, device);
    if (e)
        return e;
    ig_cuda_device(&f);
    if (f.driver_version)
        return (cudaError_t)ig_cuda_attribute(attribute, value);
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
        {cudaDevAttrTextureAlignment, (long long)p.textureAlignment},
        {cudaDevAttrGpuOverlap, p.deviceOverlap},
        {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {cudaDevAttrKernelExecTimeout, 0},
        {cudaDevAttrIntegrated, p.integrated},
        {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
        {cudaDevAttrComputeMode, p.computeMode},
        {cudaDevAttrConcurrentKernels, p.concurrentKernels},
        {cudaDevAttrEccEnabled, p.ECCEnabled},
        {cudaDevAttrPciBusId, p.pciBusID},
        {cudaDevAttrPciDeviceId, p.pciDeviceID},
        {cudaDevAttrTccDriver, p.tccDriver},
        {cudaDevAttrStreamPrioritiesSupported, p.streamPrioritiesSupported},
        {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
        {cudaDevAttrHostNativeAtomicSupported, p.hostNativeAtomicSupported},
        {cudaDevAttrSingleToDoublePrecisionPerfRatio, p.singleToDoublePrecisionPerfRatio},
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
        {cudaDevAttrSurfaceAlignment, (long long)p.surfaceAlignment},
        {cudaDevAttrPciDomainId, p.pciDomainID},
        {cudaDevAttrTexturePitchAlignment, (long long)p.texturePitchAlignment},
        {cudaDevAttrGlobalL1CacheSupported, p.globalL1CacheSupported},
        {cudaDevAttrLocalL1CacheSupported, p.localL1CacheSupported},
        {cudaDevAttrIsMultiGpuBoard, p.isMultiGpuBoard},
        {cudaDevAttrMultiGpuBoardGroupID, p.multiGpuBoardGroupID},
        {cudaDevAttrComputePreemptionSupported, p.computePreemptionSupported},
        {cudaDevAttrCanUseHostPointerForRegisteredMem, p.canUseHostPointerForRegisteredMem},
        {cudaDevAttrCooperativeMultiDeviceLaunch, p.cooperativeMultiDeviceLaunch},
        {cudaDevAttrCanFlushRemoteWrites, 0},
        {cudaDevAttrHostRegisterSupported, p.hostRegisterSupported},
        {cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0},
        {cudaDevAttrDirectManagedMemAccessFromHost, 0},
        {cudaDevAttrMaxPersistingL2CacheSize, p.persistingL2CacheMaxSize},
        {cudaDevAttrMaxAccessPolicyWindowSize, p.accessPolicyMaxWindowSize},
        {cudaDevAttrReservedSharedMemoryPerBlock, (long long)p.reservedSharedMemPerBlock},
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
static inline cudaError_t cudaDriverGetVersion(int *v)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *v = f.driver_version ? f.driver_version : CUDART_VERSION;
    return (cudaError_t)e;
}
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

static inline cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t v)
{
    return (cudaError_t)ig_cuda_limit(limit, &v, 1);
}
static inline cudaError_t cudaDeviceGetLimit(size_t *v, cudaLimit limit)
{
    return (cudaError_t)ig_cuda_limit(limit, v, 0);
}
/* Settings without effect. */
static inline cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *c)
{
    return *c = cudaFuncCachePreferNone, cudaSuccess;
}
static inline cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    return *flags = cudaDeviceMapHost, cudaSuccess;
}
static inline cudaError_t cudaSetValidDevices(int *, int) { return cudaSuccess; }
static inline cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
    return cudaSetDevice(device);
}
static inline cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    ig_cuda_facts f;
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    const int e = ig_cuda_device(&f);
    if (e)
        return (cudaError_t)e;
    return snprintf(id, (size_t)bytes, "%s", f.bus) < bytes
               ? cudaSuccess
               : ig_cuda::fail(cudaErrorInvalidValue);
}
static inline cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    ig_cuda_facts f;
    const int e = ig_cuda_device(&f);
    *device = 0;
    return e || strcmp(id, f.bus) ? ig_cuda::fail(cudaErrorInvalidDevice) : cudaSuccess;
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
static inline cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned)
{
    return ig_cuda::fail(device ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported);
}
static inline cudaError_t cudaDeviceDisablePeerAccess(int device)
{
    return ig_cuda::fail(device ? cudaErrorInvalidDevice : cudaErrorPeerAccessNotEnabled);
}
static inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
static inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

#endif
