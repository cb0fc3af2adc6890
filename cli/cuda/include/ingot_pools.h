/* Memory pools keep their settings and allocate as cudaMallocAsync does. Calls for the memory of other processes and
 * devices answer as on a machine with one GPU. */
#ifndef INGOT_POOLS_H
#define INGOT_POOLS_H

#include "ingot_streams.h"

enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1,
    cudaMemPoolReuseAllowOpportunistic,
    cudaMemPoolReuseAllowInternalDependencies,
    cudaMemPoolAttrReleaseThreshold,
    cudaMemPoolAttrReservedMemCurrent,
    cudaMemPoolAttrReservedMemHigh,
    cudaMemPoolAttrUsedMemCurrent,
    cudaMemPoolAttrUsedMemHigh
};
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid, cudaMemAllocationTypePinned };
enum cudaMemAllocationHandleType {
    cudaMemHandleTypeNone,
    cudaMemHandleTypePosixFileDescriptor,
    cudaMemHandleTypeWin32,
    cudaMemHandleTypeWin32Kmt = 4
};
enum cudaMemAccessFlags {
    cudaMemAccessFlagsProtNone,
    cudaMemAccessFlagsProtRead,
    cudaMemAccessFlagsProtReadWrite = 3
};
struct cudaMemAccessDesc {
    cudaMemLocation location;
    cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemAllocationHandleType handleTypes;
    cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned char reserved[56];
};

namespace ig_cuda
{
/* Its settings by number; those of reuse are on. */
struct pool {
    uint64_t settings[5];
};
inline pool *default_pool()
{
    static pool one = {{0, 1, 1, 1, 0}};
    return &one;
}
inline pool *&current_pool()
{
    static pool *now = default_pool();
    return now;
}
} // namespace ig_cuda
typedef ig_cuda::pool *cudaMemPool_t;

IG_CALL cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return *pool = ig_cuda::default_pool(), cudaSuccess;
}
IG_CALL cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    if (device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return *pool = ig_cuda::current_pool(), cudaSuccess;
}
IG_CALL cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    if (device || !pool)
        return ig_cuda::fail(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    return ig_cuda::current_pool() = pool, cudaSuccess;
}
IG_CALL cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *props)
{
    if (props->location.id)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    *pool = new (std::nothrow) ig_cuda::pool(*ig_cuda::default_pool());
    if (!*pool)
        return ig_cuda::fail(cudaErrorMemoryAllocation);
    (*pool)->settings[cudaMemPoolAttrReleaseThreshold] = 0;
    return cudaSuccess;
}
IG_CALL cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (!pool || pool == ig_cuda::default_pool())
        return ig_cuda::fail(cudaErrorInvalidValue);
    if (pool == ig_cuda::current_pool())
        ig_cuda::current_pool() = ig_cuda::default_pool();
    delete pool;
    return cudaSuccess;
}
/* The settings of reuse are ints, the threshold is 64 bits. Sizes of pools are not counted. */
IG_CALL cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr what, void *value)
{
    if (what < cudaMemPoolReuseFollowEventDependencies || what > cudaMemPoolAttrUsedMemHigh)
        return ig_cuda::fail(cudaErrorInvalidValue);
    if (what > cudaMemPoolAttrReleaseThreshold)
        return ig_cuda::fail(cudaErrorNotSupported);
    pool->settings[what] =
        what == cudaMemPoolAttrReleaseThreshold ? *(uint64_t *)value : (uint64_t) * (int *)value;
    return cudaSuccess;
}
IG_CALL cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr what, void *value)
{
    if (what < cudaMemPoolReuseFollowEventDependencies || what > cudaMemPoolAttrUsedMemHigh)
        return ig_cuda::fail(cudaErrorInvalidValue);
    if (what > cudaMemPoolAttrReleaseThreshold)
        return ig_cuda::fail(cudaErrorNotSupported);
    if (what == cudaMemPoolAttrReleaseThreshold)
        *(uint64_t *)value = pool->settings[what];
    else
        *(int *)value = (int)pool->settings[what];
    return cudaSuccess;
}
/* Freed memory does not stay in a pool. */
IG_CALL cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
IG_CALL cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc *access, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (access[i].location.id || access[i].flags != cudaMemAccessFlagsProtReadWrite)
            return ig_cuda::fail(cudaErrorInvalidDevice);
    return cudaSuccess;
}
IG_CALL cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t, cudaMemLocation *location)
{
    if (location->id)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return *flags = cudaMemAccessFlagsProtReadWrite, cudaSuccess;
}
template <typename T>
IG_CALL cudaMallocFromPoolAsync(T **p, size_t bytes, cudaMemPool_t, cudaStream_t stream, IG_HERE)
{
    return cudaMallocAsync(p, bytes, stream, at);
}
template <typename T>
IG_CALL cudaMallocAsync(T **p, size_t bytes, cudaMemPool_t, cudaStream_t stream, IG_HERE)
{
    return cudaMallocAsync(p, bytes, stream, at);
}

/* ---- other devices and processes ---- */

struct cudaIpcMemHandle_t {
    char reserved[64];
};
struct cudaIpcEventHandle_t {
    char reserved[64];
};
enum { cudaIpcMemLazyEnablePeerAccess = 1 };
/* The device's memory is memory of this process alone. */
IG_CALL cudaIpcGetMemHandle(cudaIpcMemHandle_t *, void *)
{
    return ig_cuda::fail(cudaErrorNotSupported);
}
IG_CALL cudaIpcOpenMemHandle(void **, cudaIpcMemHandle_t, unsigned)
{
    return ig_cuda::fail(cudaErrorNotSupported);
}
IG_CALL cudaIpcCloseMemHandle(void *) { return ig_cuda::fail(cudaErrorNotSupported); }
IG_CALL cudaIpcGetEventHandle(cudaIpcEventHandle_t *, cudaEvent_t)
{
    return ig_cuda::fail(cudaErrorNotSupported);
}
IG_CALL cudaIpcOpenEventHandle(cudaEvent_t *, cudaIpcEventHandle_t)
{
    return ig_cuda::fail(cudaErrorNotSupported);
}

#endif
