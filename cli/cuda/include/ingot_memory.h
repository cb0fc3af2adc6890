/* Memory (device, managed and pinned), copies, and variables of the device by name. */
#ifndef INGOT_MEMORY_H
#define INGOT_MEMORY_H

#include "ingot_device.h"

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

namespace ig_cuda
{
template <typename T> IG_CALL allocate(T **p, size_t bytes, int kind, place at)
{
    from(at);
    return (cudaError_t)ig_cuda_alloc((void **)p, bytes, kind);
}
} // namespace ig_cuda

template <typename T> IG_CALL cudaMalloc(T **p, size_t bytes, IG_HERE)
{
    return ig_cuda::allocate(p, bytes, IG_CUDA_DEVICE, at);
}
template <typename T> IG_CALL cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream, IG_HERE)
{
    ig_cuda::from(at);
    return (cudaError_t)ig_cuda_alloc_async((void **)p, bytes, stream);
}
template <typename T>
IG_CALL cudaMallocManaged(T **p, size_t bytes, unsigned = cudaMemAttachGlobal, IG_HERE)
{
    return ig_cuda::allocate(p, bytes, IG_CUDA_MANAGED, at);
}
template <typename T> IG_CALL cudaMallocHost(T **p, size_t bytes, unsigned = 0, IG_HERE)
{
    return ig_cuda::allocate(p, bytes, IG_CUDA_PINNED, at);
}
template <typename T> IG_CALL cudaHostAlloc(T **p, size_t bytes, unsigned, IG_HERE)
{
    return ig_cuda::allocate(p, bytes, IG_CUDA_PINNED, at);
}
template <typename T>
IG_CALL cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height, IG_HERE)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(p, *pitch * height, at);
}
/* These stand without a place: programs take their addresses, for owners of memory. */
IG_CALL cudaFree(void *p) { return (cudaError_t)ig_cuda_free(p, 0); }
IG_CALL cudaFreeAsync(void *p, cudaStream_t stream)
{
    return (cudaError_t)ig_cuda_free_async(p, stream);
}
IG_CALL cudaFreeHost(void *p) { return (cudaError_t)ig_cuda_free(p, 1); }
IG_CALL cudaHostRegister(void *p, size_t bytes, unsigned)
{
    return (cudaError_t)ig_cuda_adopt(p, bytes);
}
IG_CALL cudaHostUnregister(void *p) { return (cudaError_t)ig_cuda_forget(p); }
template <typename T> IG_CALL cudaHostGetDevicePointer(T **to, void *host, unsigned)
{
    return (cudaError_t)ig_cuda_mapped(host, (void **)to);
}

namespace ig_cuda
{
IG_CALL copy(void *to, size_t to_pitch, const void *from_, size_t from_pitch, size_t width,
             size_t height, cudaMemcpyKind kind, place at, cudaStream_t stream = 0,
             int is_async = 0)
{
    from(at);
    return (cudaError_t)ig_cuda_copy(to, to_pitch, from_, from_pitch, width, height, kind, stream,
                                     is_async);
}
IG_CALL fill(void *p, size_t pitch, int value, size_t width, size_t height, place at,
             cudaStream_t stream = 0, int is_async = 0)
{
    from(at);
    return (cudaError_t)ig_cuda_fill(p, pitch, value, width, height, stream, is_async);
}
} // namespace ig_cuda
IG_CALL cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, cudaMemcpyKind kind, IG_HERE)
{
    return ig_cuda::copy(to, to_pitch, from, from_pitch, width, height, kind, at);
}
IG_CALL cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                          size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0,
                          IG_HERE)
{
    return ig_cuda::copy(to, to_pitch, from, from_pitch, width, height, kind, at, stream, 1);
}
IG_CALL cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, IG_HERE)
{
    return ig_cuda::copy(to, bytes, from, bytes, bytes, 1, kind, at);
}
IG_CALL cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                        cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::copy(to, bytes, from, bytes, bytes, 1, kind, at, stream, 1);
}
IG_CALL cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       IG_HERE)
{
    if (to_device || from_device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice, at);
}
IG_CALL cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                            size_t bytes, cudaStream_t stream = 0, IG_HERE)
{
    if (to_device || from_device)
        return ig_cuda::fail(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream, at);
}
IG_CALL cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height, IG_HERE)
{
    return ig_cuda::fill(p, pitch, value, width, height, at);
}
IG_CALL cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                          cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::fill(p, pitch, value, width, height, at, stream, 1);
}
IG_CALL cudaMemset(void *p, int value, size_t bytes, IG_HERE)
{
    return ig_cuda::fill(p, bytes, value, bytes, 1, at);
}
IG_CALL cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::fill(p, bytes, value, bytes, 1, at, stream, 1);
}

/* ---- three dimensions: planes of rows ---- */

struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
struct cudaExtent {
    size_t width, height, depth; /* width in bytes */
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaArray : ig_cuda_array {
};
typedef struct cudaArray *cudaArray_t;
enum {
    cudaArrayDefault = 0,
    cudaArrayLayered = 1,
    cudaArraySurfaceLoadStore = 2,
    cudaArrayCubemap = 4,
    cudaArrayTextureGather = 8
};
/* Positions and the extent's width count the texels of an array, or bytes if there is none. */
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
static inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t x, size_t y)
{
    return {p, pitch, x, y};
}
static inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }

IG_CALL cudaMalloc3D(cudaPitchedPtr *p, cudaExtent e, IG_HERE)
{
    p->xsize = e.width;
    p->ysize = e.height;
    return cudaMallocPitch(&p->ptr, &p->pitch, e.width, e.height * e.depth, at);
}
namespace ig_cuda
{
IG_CALL copy_box(const ig_cuda_box &to, const ig_cuda_box &from_, cudaExtent e, cudaMemcpyKind kind,
                 place at, cudaStream_t stream = 0, int is_async = 0)
{
    const size_t extent[] = {e.width, e.height, e.depth};
    from(at);
    return (cudaError_t)ig_cuda_copy_box(&to, &from_, extent, kind, stream, is_async);
}
static inline ig_cuda_box box_of(cudaArray_t a, const cudaPitchedPtr &p, const cudaPos &o)
{
    return {a, (char *)p.ptr, p.pitch, p.ysize, o.x * (a ? a->texel_bytes : 1), o.y, o.z};
}
IG_CALL copy_3d(const cudaMemcpy3DParms *p, place at, cudaStream_t stream = 0, int is_async = 0)
{
    const cudaArray_t array = p->dstArray ? p->dstArray : p->srcArray;
    cudaExtent e = p->extent;
    e.width *= array ? array->texel_bytes : 1;
    return copy_box(box_of(p->dstArray, p->dstPtr, p->dstPos),
                    box_of(p->srcArray, p->srcPtr, p->srcPos), e, p->kind, at, stream, is_async);
}
IG_CALL fill_3d(cudaPitchedPtr p, int value, cudaExtent e, place at, cudaStream_t stream = 0,
                int is_async = 0)
{
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < e.depth && !error; z++)
        error = fill((char *)p.ptr + z * p.ysize * p.pitch, p.pitch, value, e.width, e.height, at,
                     stream, is_async);
    return error;
}
} // namespace ig_cuda
IG_CALL cudaMemcpy3D(const cudaMemcpy3DParms *p, IG_HERE) { return ig_cuda::copy_3d(p, at); }
IG_CALL cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::copy_3d(p, at, stream, 1);
}
IG_CALL cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent e, IG_HERE)
{
    return ig_cuda::fill_3d(p, value, e, at);
}
IG_CALL cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent e, cudaStream_t stream = 0,
                          IG_HERE)
{
    return ig_cuda::fill_3d(p, value, e, at, stream, 1);
}

/* ---- advice: memory is where it is, so it only has to be managed. CUDA 13 has other parameters ---- */

enum cudaMemLocationType {
    cudaMemLocationTypeInvalid,
    cudaMemLocationTypeDevice,
    cudaMemLocationTypeHost,
    cudaMemLocationTypeHostNuma,
    cudaMemLocationTypeHostNumaCurrent
};
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};
namespace ig_cuda
{
IG_CALL advise(const void *p, bool device_is_there)
{
    if (!device_is_there)
        return fail(cudaErrorInvalidDevice);
    return ig_cuda_kind(p) == IG_CUDA_MANAGED ? cudaSuccess : fail(cudaErrorInvalidValue);
}
static inline bool is_there(cudaMemLocation l)
{
    return l.type != cudaMemLocationTypeDevice || !l.id;
}
static inline bool is_there(int device) { return device == 0 || device == cudaCpuDeviceId; }
} // namespace ig_cuda
IG_CALL cudaMemPrefetchAsync(const void *p, size_t, int device, cudaStream_t = 0)
{
    return ig_cuda::advise(p, ig_cuda::is_there(device));
}
IG_CALL cudaMemPrefetchAsync(const void *p, size_t, cudaMemLocation to, unsigned, cudaStream_t = 0)
{
    return ig_cuda::advise(p, ig_cuda::is_there(to));
}
IG_CALL cudaMemAdvise(const void *p, size_t, cudaMemoryAdvise, int device)
{
    return ig_cuda::advise(p, ig_cuda::is_there(device));
}
IG_CALL cudaMemAdvise(const void *p, size_t, cudaMemoryAdvise, cudaMemLocation to)
{
    return ig_cuda::advise(p, ig_cuda::is_there(to));
}

/* ---- what an address is ---- */

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
IG_CALL cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    const int kind = ig_cuda_kind(p);
    a->type = (cudaMemoryType)kind;
    a->device = kind == IG_CUDA_HOST ? -2 : 0;
    a->devicePointer = kind == IG_CUDA_HOST ? NULL : (void *)p;
    a->hostPointer = kind == IG_CUDA_DEVICE ? NULL : (void *)p;
    return cudaSuccess;
}

/* Symbols are found by the address of the host's variable. */
template <typename T> IG_CALL cudaGetSymbolAddress(void **at, const T &symbol)
{
    size_t bytes;
    return (cudaError_t)ig_cuda_symbol((const void *)&symbol, at, &bytes);
}
template <typename T> IG_CALL cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
    void *at;
    return (cudaError_t)ig_cuda_symbol((const void *)&symbol, &at, bytes);
}
namespace ig_cuda
{
/* The address of bytes of a variable; they must be in it. */
IG_CALL in_symbol(const void *symbol, size_t offset, size_t bytes, char **at, place caller)
{
    void *found;
    from(caller);
    const int e = ig_cuda_symbol_range(symbol, offset, bytes, &found);
    *at = (char *)found;
    return (cudaError_t)e;
}
} // namespace ig_cuda
template <typename T>
IG_CALL cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                           cudaMemcpyKind = cudaMemcpyHostToDevice, IG_HERE)
{
    char *to;
    const cudaError_t e = ig_cuda::in_symbol((const void *)&symbol, offset, bytes, &to, at);
    return e ? e : cudaMemcpy(to, from, bytes, cudaMemcpyDefault, at);
}
template <typename T>
IG_CALL cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                             cudaMemcpyKind = cudaMemcpyDeviceToHost, IG_HERE)
{
    char *from;
    const cudaError_t e = ig_cuda::in_symbol((const void *)&symbol, offset, bytes, &from, at);
    return e ? e : cudaMemcpy(to, from, bytes, cudaMemcpyDefault, at);
}
template <typename T>
IG_CALL cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                cudaMemcpyKind = cudaMemcpyHostToDevice, cudaStream_t stream = 0,
                                IG_HERE)
{
    char *to;
    const cudaError_t e = ig_cuda::in_symbol((const void *)&symbol, offset, bytes, &to, at);
    return e ? e : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream, at);
}
template <typename T>
IG_CALL cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                  cudaMemcpyKind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0,
                                  IG_HERE)
{
    char *from;
    const cudaError_t e = ig_cuda::in_symbol((const void *)&symbol, offset, bytes, &from, at);
    return e ? e : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream, at);
}

#endif
