/* Arrays, textures and surfaces. An array is memory of texels in rows; textures and surfaces are its readers. */
#ifndef INGOT_TEXTURES_H
#define INGOT_TEXTURES_H

#include "ingot_memory.h"

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    enum cudaChannelFormatKind f;
};
static inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                          cudaChannelFormatKind f)
{
    return {x, y, z, w, f};
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf()
{
    return {16, 0, 0, 0, cudaChannelFormatKindFloat};
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf2()
{
    return {16, 16, 0, 0, cudaChannelFormatKindFloat};
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf4()
{
    return {16, 16, 16, 16, cudaChannelFormatKindFloat};
}
namespace ig_cuda
{
template <typename T, typename = void> struct texel { /* of a scalar */
    typedef T part;
    static constexpr int parts = 1;
};
template <typename T> struct texel<T, std::void_t<decltype(T::x)>> { /* of a vector */
    typedef std::remove_reference_t<decltype(T::x)> part;
    static constexpr int parts = (int)(sizeof(T) / sizeof(part));
};
} // namespace ig_cuda
template <typename T> static inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
    typedef typename ig_cuda::texel<T>::part part;
    const int parts = ig_cuda::texel<T>::parts, bits = (int)sizeof(part) * 8;
    return {bits, parts > 1 ? bits : 0, parts > 2 ? bits : 0, parts > 3 ? bits : 0,
            std::is_floating_point<part>::value ? cudaChannelFormatKindFloat
            : std::is_signed<part>::value       ? cudaChannelFormatKindSigned
                                                : cudaChannelFormatKindUnsigned};
}
namespace ig_cuda
{
static inline ig_cuda_texels texels(const cudaChannelFormatDesc &d)
{
    return {{d.x, d.y, d.z, d.w}, (int)d.f};
}
static inline cudaChannelFormatDesc channels(const ig_cuda_texels &t)
{
    return {t.bits[0], t.bits[1], t.bits[2], t.bits[3], (cudaChannelFormatKind)t.kind};
}
} // namespace ig_cuda

/* ---- arrays ---- */

typedef const struct cudaArray *cudaArray_const_t;
IG_CALL cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *d, cudaExtent e,
                          unsigned flags = 0, IG_HERE)
{
    ig_cuda::from(at);
    ig_cuda_array *made = NULL;
    const int error =
        ig_cuda_array_new(&made, ig_cuda::texels(*d), e.width, e.height, e.depth, flags);
    *array = (cudaArray_t)made;
    return (cudaError_t)error;
}
IG_CALL cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *d, size_t width,
                        size_t height = 0, unsigned flags = 0, IG_HERE)
{
    return cudaMalloc3DArray(array, d, make_cudaExtent(width, height, 0), flags, at);
}
IG_CALL cudaFreeArray(cudaArray_t a) { return (cudaError_t)ig_cuda_array_free(a); }
IG_CALL cudaArrayGetInfo(cudaChannelFormatDesc *d, cudaExtent *e, unsigned *flags, cudaArray_t a)
{
    if (!a)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    if (d)
        *d = ig_cuda::channels(a->texels);
    if (e)
        *e = {a->width, a->height, a->depth};
    if (flags)
        *flags = a->flags;
    return cudaSuccess;
}
IG_CALL cudaGetChannelDesc(cudaChannelFormatDesc *d, cudaArray_const_t a)
{
    return cudaArrayGetInfo(d, NULL, NULL, (cudaArray_t)a);
}

namespace ig_cuda
{
static inline ig_cuda_box in_array(cudaArray_const_t a, size_t x, size_t y)
{
    return {(cudaArray_t)a, NULL, 0, 0, x, y, 0};
}
static inline ig_cuda_box in_memory(const void *p, size_t pitch, size_t rows)
{
    return {NULL, (char *)(uintptr_t)p, pitch, rows, 0, 0, 0};
}
} // namespace ig_cuda
IG_CALL cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                            size_t width, size_t height, cudaMemcpyKind kind, IG_HERE)
{
    return ig_cuda::copy_box(ig_cuda::in_array(to, x, y), ig_cuda::in_memory(from, pitch, height),
                             {width, height, 1}, kind, at);
}
IG_CALL cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                 size_t width, size_t height, cudaMemcpyKind kind,
                                 cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::copy_box(ig_cuda::in_array(to, x, y), ig_cuda::in_memory(from, pitch, height),
                             {width, height, 1}, kind, at, stream, 1);
}
IG_CALL cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                              size_t width, size_t height, cudaMemcpyKind kind, IG_HERE)
{
    return ig_cuda::copy_box(ig_cuda::in_memory(to, pitch, height), ig_cuda::in_array(from, x, y),
                             {width, height, 1}, kind, at);
}
IG_CALL cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                   size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                   cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::copy_box(ig_cuda::in_memory(to, pitch, height), ig_cuda::in_array(from, x, y),
                             {width, height, 1}, kind, at, stream, 1);
}
IG_CALL cudaMemcpy2DArrayToArray(cudaArray_t to, size_t x, size_t y, cudaArray_const_t from,
                                 size_t from_x, size_t from_y, size_t width, size_t height,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToDevice, IG_HERE)
{
    return ig_cuda::copy_box(ig_cuda::in_array(to, x, y), ig_cuda::in_array(from, from_x, from_y),
                             {width, height, 1}, kind, at);
}

namespace ig_cuda
{
/* Copies bytes that may begin and end within rows of an array: the rest of the first row, whole rows, and the begin of
 * the last. */
IG_CALL copy_flat(cudaArray_const_t array, size_t x, size_t y, const void *memory, size_t bytes,
                  bool to_array, cudaMemcpyKind kind, place at, cudaStream_t stream = 0,
                  int is_async = 0)
{
    if (!array)
        return fail(cudaErrorInvalidResourceHandle);
    const size_t row = array->width * array->texel_bytes;
    const char *p = (const char *)memory;
    cudaError_t e = cudaSuccess;
    while (bytes && !e) {
        const bool whole = x == 0 && bytes >= row;
        const size_t rows = whole ? bytes / row : 1;
        const size_t width = whole ? row : bytes < row - x ? bytes : row - x;
        const ig_cuda_box a = in_array(array, x, y), m = in_memory(p, width, rows);
        e = copy_box(to_array ? a : m, to_array ? m : a, {width, rows, 1}, kind, at, stream,
                     is_async);
        p += width * rows;
        bytes -= width * rows;
        y += rows;
        x = 0;
    }
    return e;
}
} // namespace ig_cuda
IG_CALL cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                          cudaMemcpyKind kind, IG_HERE)
{
    return ig_cuda::copy_flat(to, x, y, from, bytes, true, kind, at);
}
IG_CALL cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                               cudaMemcpyKind kind, cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::copy_flat(to, x, y, from, bytes, true, kind, at, stream, 1);
}
IG_CALL cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                            cudaMemcpyKind kind, IG_HERE)
{
    return ig_cuda::copy_flat(from, x, y, to, bytes, false, kind, at);
}
IG_CALL cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                 cudaMemcpyKind kind, cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::copy_flat(from, x, y, to, bytes, false, kind, at, stream, 1);
}

/* ---- objects ---- */

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaTextureAddressMode {
    cudaAddressModeWrap,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaSurfaceFormatMode { cudaFormatModeForced, cudaFormatModeAuto };
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
};
typedef struct cudaMipmappedArray *cudaMipmappedArray_t; /* there are none */
struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;

namespace ig_cuda
{
static inline ig_cuda_texture texture_of(const cudaResourceDesc *r)
{
    ig_cuda_texture t = {};
    t.resource = r->resType;
    if (r->resType == cudaResourceTypeArray) {
        t.array = r->res.array.array;
    } else if (r->resType == cudaResourceTypeLinear) {
        t.at = r->res.linear.devPtr;
        t.texels = texels(r->res.linear.desc);
        t.width = r->res.linear.sizeInBytes;
    } else if (r->resType == cudaResourceTypePitch2D) {
        t.at = r->res.pitch2D.devPtr;
        t.texels = texels(r->res.pitch2D.desc);
        t.width = r->res.pitch2D.width;
        t.height = r->res.pitch2D.height;
        t.pitch = r->res.pitch2D.pitchInBytes;
    }
    return t;
}
} // namespace ig_cuda
IG_CALL cudaCreateTextureObject(cudaTextureObject_t *object, const cudaResourceDesc *r,
                                const cudaTextureDesc *d, const cudaResourceViewDesc *view)
{
    if (!object || !r || !d)
        return ig_cuda::fail(cudaErrorInvalidValue);
    if (view)
        return ig_cuda::fail(cudaErrorNotSupported);
    ig_cuda_texture t = ig_cuda::texture_of(r);
    for (int i = 0; i < 3; i++)
        t.address[i] = d->addressMode[i];
    for (int i = 0; i < 4; i++)
        t.border[i] = d->borderColor[i];
    t.filter = d->filterMode;
    t.read_mode = d->readMode;
    t.srgb = d->sRGB;
    t.normalized = d->normalizedCoords;
    return (cudaError_t)ig_cuda_texture_new(object, &t);
}
IG_CALL cudaDestroyTextureObject(cudaTextureObject_t object)
{
    return (cudaError_t)ig_cuda_texture_free(object);
}
IG_CALL cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const cudaResourceDesc *r)
{
    if (!object || !r)
        return ig_cuda::fail(cudaErrorInvalidValue);
    const ig_cuda_texture t = ig_cuda::texture_of(r);
    return (cudaError_t)ig_cuda_surface_new(object, &t);
}
IG_CALL cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
    return (cudaError_t)ig_cuda_surface_free(object);
}

#endif
