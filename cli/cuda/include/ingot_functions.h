/* Attributes and occupancy of kernels. */
#ifndef INGOT_FUNCTIONS_H
#define INGOT_FUNCTIONS_H

#include "ingot_streams.h"

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

template <typename F> IG_CALL cudaFuncGetAttributes(cudaFuncAttributes *a, F *f)
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
    a->ptxVersion = a->binaryVersion = got.version;
    a->maxDynamicSharedSizeBytes = got.dynamic_shared_bytes;
    return cudaSuccess;
}
template <typename F> IG_CALL cudaFuncSetAttribute(F *f, cudaFuncAttribute attribute, int value)
{
    return (cudaError_t)ig_cuda_function_set((const void *)f, attribute, value);
}
template <typename F> IG_CALL cudaFuncSetCacheConfig(F *, cudaFuncCache) { return cudaSuccess; }
template <typename F> IG_CALL cudaFuncSetSharedMemConfig(F *, cudaSharedMemConfig)
{
    return cudaSuccess;
}

template <typename F>
IG_CALL cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *f, int threads, size_t shared)
{
    return (cudaError_t)ig_cuda_occupancy((const void *)f, threads, shared, blocks);
}
template <typename F>
IG_CALL cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, F *f, int threads,
                                                               size_t shared, unsigned)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}
/* shared(threads) is the dynamic shared memory of a block of that size. The chosen block size is the largest of
 * those with the most active threads. */
template <typename F, typename S>
IG_CALL cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, F *f, S shared,
                                                       int most = 0)
{
    ig_cuda_attributes a;
    ig_cuda_facts facts;
    int e = ig_cuda_function((const void *)f, &a), at_work = 0;
    e = e ? e : ig_cuda_device(&facts);
    *grid = *block = 0;
    for (int n = most > 0 && most < a.max_threads ? most : a.max_threads; !e && n > 0;
         n = n > 32 ? (n - 1) / 32 * 32 : 0) {
        int blocks;
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, n, shared(n));
        if (!e && blocks * n > at_work) {
            at_work = blocks * n;
            *block = n;
            *grid = blocks * facts.cores;
        }
    }
    return (cudaError_t)e;
}
template <typename F>
IG_CALL cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F *f, size_t shared = 0,
                                           int most = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        grid, block, f, [shared](int) { return shared; }, most);
}
template <typename F>
IG_CALL cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, F *f, int blocks, int threads)
{
    ig_cuda_attributes a;
    ig_cuda_facts facts;
    int e = ig_cuda_function((const void *)f, &a);
    e = e ? e : ig_cuda_device(&facts);
    if (e || blocks <= 0 || threads <= 0)
        return e ? (cudaError_t)e : ig_cuda::fail(cudaErrorInvalidValue);
    const size_t each = facts.shared_bytes / (size_t)blocks;
    *bytes = each > a.shared_bytes ? each - a.shared_bytes : 0;
    return cudaSuccess;
}

#endif
