/* Virtual memory of the driver API: reserved ranges of addresses, and memory that is mapped there. cuda.h includes this file.
 *
 * A reserved range is allocated at once, so it has its memory from the begin on. Memory is a handle that knows where it is
 * mapped: one place at a time. Its bytes move with it: unmapping keeps a copy while the handle lives. NVIDIA GPUs have
 * this in their driver; there it is refused. */
#ifndef CUDA_VIRTUAL_H
#define CUDA_VIRTUAL_H

#include <mutex>
#include <vector>

typedef unsigned long long CUmemGenericAllocationHandle;
typedef enum CUmemAllocationType_enum {
    CU_MEM_ALLOCATION_TYPE_INVALID = 0,
    CU_MEM_ALLOCATION_TYPE_PINNED = 1
} CUmemAllocationType;
typedef enum CUmemLocationType_enum {
    CU_MEM_LOCATION_TYPE_INVALID = 0,
    CU_MEM_LOCATION_TYPE_DEVICE = 1
} CUmemLocationType;
typedef enum CUmemAllocationHandleType_enum {
    CU_MEM_HANDLE_TYPE_NONE = 0,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1
} CUmemAllocationHandleType;
typedef enum CUmemAccess_flags_enum {
    CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
    CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;
typedef enum CUmemAllocationGranularity_flags_enum {
    CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} CUmemAllocationGranularity_flags;
enum { CU_MEM_ALLOCATION_COMP_NONE = 0, CU_MEM_ALLOCATION_COMP_GENERIC = 1 };
typedef struct CUmemLocation_st {
    CUmemLocationType type;
    int id;
} CUmemLocation;
typedef struct CUmemAllocationProp_st {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;
typedef struct CUmemAccessDesc_st {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

namespace ig_cuda
{
enum { GRANULE = 2 << 20 };
struct physical {
    size_t bytes;
    CUmemAllocationProp about;
    int handles;     /* that were not released: 0 or 1 */
    char *at, *kept; /* where it is mapped, or the copy of its bytes; or NULL */
};
struct reserved_range {
    char *at;
    size_t bytes;
};
/* All ranges and all memory that is mapped or has a handle. */
struct virtual_memory {
    std::mutex lock;
    std::vector<reserved_range> ranges;
    std::vector<physical *> all;
};
static inline virtual_memory &virtual_now()
{
    static virtual_memory v;
    return v;
}
static inline bool has_virtual()
{
    ig_cuda_facts f;
    return !ig_cuda_device(&f) && !f.driver_version;
}
static inline CUresult move_bytes(char *to, const char *from_, size_t bytes)
{
    return move(to, from_, bytes, cudaMemcpyDeviceToDevice, here());
}
static inline void drop_physical(virtual_memory &v, physical *p)
{
    if (p->at || p->handles)
        return;
    cudaFree(p->kept);
    for (size_t i = 0; i < v.all.size(); i++)
        if (v.all[i] == p)
            v.all.erase(v.all.begin() + (long)i);
    delete p;
}
} // namespace ig_cuda

IG_DO cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *about,
                                    CUmemAllocationGranularity_flags)
{
    if (!bytes || !about)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = ig_cuda::GRANULE;
    return ig_cuda::has_virtual() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}
IG_DO cuMemAddressReserve(CUdeviceptr *p, size_t bytes, size_t, CUdeviceptr,
                          unsigned long long flags, IG_HERE)
{
    if (!p || !bytes || bytes % ig_cuda::GRANULE || flags)
        return CUDA_ERROR_INVALID_VALUE;
    void *made = NULL;
    const CUresult r =
        ig_cuda::has_virtual() ? IG_DRIVER(cudaMalloc(&made, bytes, at)) : CUDA_ERROR_NOT_SUPPORTED;
    *p = (CUdeviceptr)(uintptr_t)made;
    ig_cuda::virtual_memory &v = ig_cuda::virtual_now();
    std::lock_guard<std::mutex> guard(v.lock);
    if (!r)
        v.ranges.push_back({(char *)made, bytes});
    return r;
}
IG_DO cuMemAddressFree(CUdeviceptr p, size_t bytes)
{
    ig_cuda::virtual_memory &v = ig_cuda::virtual_now();
    std::lock_guard<std::mutex> guard(v.lock);
    char *const at = (char *)ig_cuda::pointer(p);
    for (const ig_cuda::physical *o : v.all)
        if (o->at >= at && o->at < at + bytes)
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < v.ranges.size(); i++)
        if (v.ranges[i].at == at && v.ranges[i].bytes == bytes) {
            v.ranges.erase(v.ranges.begin() + (long)i);
            return IG_DRIVER(cudaFree(at));
        }
    return CUDA_ERROR_INVALID_VALUE;
}
IG_DO cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                  const CUmemAllocationProp *about, unsigned long long flags)
{
    if (!handle || !about || !bytes || bytes % ig_cuda::GRANULE || flags ||
        about->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (!ig_cuda::has_virtual() || about->requestedHandleTypes)
        return CUDA_ERROR_NOT_SUPPORTED;
    ig_cuda::physical *p = new ig_cuda::physical{bytes, *about, 1, NULL, NULL};
    p->about.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    ig_cuda::virtual_memory &v = ig_cuda::virtual_now();
    std::lock_guard<std::mutex> guard(v.lock);
    v.all.push_back(p);
    *handle = (uintptr_t)p;
    return CUDA_SUCCESS;
}
IG_DO cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *about,
                                             CUmemGenericAllocationHandle handle)
{
    if (!about || !handle)
        return CUDA_ERROR_INVALID_VALUE;
    *about = ((ig_cuda::physical *)(uintptr_t)handle)->about;
    return CUDA_SUCCESS;
}
IG_DO cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ig_cuda::virtual_memory &v = ig_cuda::virtual_now();
    std::lock_guard<std::mutex> guard(v.lock);
    ig_cuda::physical *p = (ig_cuda::physical *)(uintptr_t)handle;
    if (!p || !p->handles)
        return CUDA_ERROR_INVALID_VALUE;
    p->handles = 0;
    ig_cuda::drop_physical(v, p);
    return CUDA_SUCCESS;
}
IG_DO cuMemMap(CUdeviceptr to, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
               unsigned long long flags)
{
    ig_cuda::virtual_memory &v = ig_cuda::virtual_now();
    std::lock_guard<std::mutex> guard(v.lock);
    ig_cuda::physical *p = (ig_cuda::physical *)(uintptr_t)handle;
    char *const at = (char *)ig_cuda::pointer(to);
    if (!p || !p->handles || offset || flags || bytes != p->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->at)
        return CUDA_ERROR_NOT_SUPPORTED; /* one memory at two addresses */
    bool inside = false;
    for (const ig_cuda::reserved_range &r : v.ranges)
        inside |= at >= r.at && at + bytes <= r.at + r.bytes;
    for (const ig_cuda::physical *o : v.all)
        inside &= !(o->at && o->at < at + bytes && at < o->at + o->bytes);
    if (!inside)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult r = p->kept ? ig_cuda::move_bytes(at, p->kept, bytes) : CUDA_SUCCESS;
    if (r)
        return r;
    cudaFree(p->kept);
    p->kept = NULL;
    p->at = at;
    return CUDA_SUCCESS;
}
IG_DO cuMemUnmap(CUdeviceptr from_, size_t bytes)
{
    ig_cuda::virtual_memory &v = ig_cuda::virtual_now();
    std::lock_guard<std::mutex> guard(v.lock);
    char *const at = (char *)ig_cuda::pointer(from_);
    const std::vector<ig_cuda::physical *> all = v.all;
    bool any = false;
    for (ig_cuda::physical *p : all) {
        if (!p->at || p->at < at || p->at + p->bytes > at + bytes)
            continue;
        void *kept = NULL;
        CUresult r = p->handles ? IG_DRIVER(cudaMalloc(&kept, p->bytes)) : CUDA_SUCCESS;
        if (!r && kept)
            r = ig_cuda::move_bytes((char *)kept, p->at, p->bytes);
        if (r)
            return r;
        any = true;
        p->kept = (char *)kept;
        p->at = NULL;
        ig_cuda::drop_physical(v, p);
    }
    return any ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
IG_DO cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *all, size_t n)
{
    return p && bytes && all && n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
IG_DO cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr p)
{
    if (!flags || !where || !p)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

#endif
