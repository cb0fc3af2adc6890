/* Arrays, textures and surfaces of the driver API, and copies of boxes. cuda.h includes this file. */
#ifndef CUDA_ARRAYS_H
#define CUDA_ARRAYS_H

typedef cudaArray_t CUarray;
typedef cudaTextureObject_t CUtexObject, CUtexObject_v1;
typedef cudaSurfaceObject_t CUsurfObject, CUsurfObject_v1;

typedef enum CUarray_format_enum {
    CU_AD_FORMAT_UNSIGNED_INT8 = 0x01,
    CU_AD_FORMAT_UNSIGNED_INT16 = 0x02,
    CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
    CU_AD_FORMAT_SIGNED_INT8 = 0x08,
    CU_AD_FORMAT_SIGNED_INT16 = 0x09,
    CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
    CU_AD_FORMAT_HALF = 0x10,
    CU_AD_FORMAT_FLOAT = 0x20
} CUarray_format;
typedef enum CUaddress_mode_enum {
    CU_TR_ADDRESS_MODE_WRAP,
    CU_TR_ADDRESS_MODE_CLAMP,
    CU_TR_ADDRESS_MODE_MIRROR,
    CU_TR_ADDRESS_MODE_BORDER
} CUaddress_mode;
typedef enum CUfilter_mode_enum { CU_TR_FILTER_MODE_POINT, CU_TR_FILTER_MODE_LINEAR } CUfilter_mode;
typedef enum CUresourcetype_enum {
    CU_RESOURCE_TYPE_ARRAY,
    CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
    CU_RESOURCE_TYPE_LINEAR,
    CU_RESOURCE_TYPE_PITCH2D
} CUresourcetype;
#define CU_TRSF_READ_AS_INTEGER 1
#define CU_TRSF_NORMALIZED_COORDINATES 2
#define CU_TRSF_SRGB 16
#define CUDA_ARRAY3D_LAYERED 1
#define CUDA_ARRAY3D_SURFACE_LDST 2
#define CUDA_ARRAY3D_CUBEMAP 4
#define CUDA_ARRAY3D_TEXTURE_GATHER 8

typedef struct CUDA_ARRAY_DESCRIPTOR_st {
    size_t Width, Height;
    CUarray_format Format;
    unsigned NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
    size_t Width, Height, Depth;
    CUarray_format Format;
    unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct CUDA_MEMCPY2D_st {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch, dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;
typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;
typedef struct CUDA_RESOURCE_DESC_st {
    CUresourcetype resType;
    union {
        struct {
            CUarray hArray;
        } array;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;
typedef struct CUDA_TEXTURE_DESC_st {
    CUaddress_mode addressMode[3];
    CUfilter_mode filterMode;
    unsigned flags, maxAnisotropy;
    CUfilter_mode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;
typedef struct CUDA_RESOURCE_VIEW_DESC_st CUDA_RESOURCE_VIEW_DESC;

namespace ig_cuda
{
static inline ig_cuda_texels texels(CUarray_format f, unsigned channels)
{
    const bool is_float = f == CU_AD_FORMAT_HALF || f == CU_AD_FORMAT_FLOAT;
    const bool is_signed = f >= CU_AD_FORMAT_SIGNED_INT8 && f <= CU_AD_FORMAT_SIGNED_INT32;
    const int bits = f == CU_AD_FORMAT_HALF    ? 16
                     : f == CU_AD_FORMAT_FLOAT ? 32
                     : is_signed               ? 8 << (f - CU_AD_FORMAT_SIGNED_INT8)
                                               : 8 << (f - CU_AD_FORMAT_UNSIGNED_INT8);
    ig_cuda_texels t = {{0, 0, 0, 0}, is_float ? 2 : is_signed ? 0 : 1};
    for (unsigned i = 0; i < channels && i < 4; i++)
        t.bits[i] = bits;
    return t;
}
static inline CUarray_format format_of(const ig_cuda_texels &t)
{
    const int size = t.bits[0] / 16; /* 0, 1, 2 */
    return t.kind == 2   ? size == 1 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT
           : t.kind == 0 ? (CUarray_format)(CU_AD_FORMAT_SIGNED_INT8 + size)
                         : (CUarray_format)(CU_AD_FORMAT_UNSIGNED_INT8 + size);
}
} // namespace ig_cuda

IG_DO cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d, IG_HERE)
{
    ig_cuda::from(at);
    ig_cuda_array *made = NULL;
    const CUresult r =
        IG_DRIVER(ig_cuda_array_new(&made, ig_cuda::texels(d->Format, d->NumChannels), d->Width,
                                    d->Height, d->Depth, d->Flags));
    *array = (CUarray)made;
    return r;
}
IG_DO cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d, IG_HERE)
{
    const CUDA_ARRAY3D_DESCRIPTOR all = {d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
    return cuArray3DCreate(array, &all, at);
}
IG_DO cuArrayDestroy(CUarray a) { return IG_DRIVER(cudaFreeArray(a)); }
IG_DO cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray a)
{
    if (!d || !a)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned channels = 0;
    while (channels < 4 && a->texels.bits[channels])
        channels++;
    *d = {a->width, a->height, a->depth, ig_cuda::format_of(a->texels), channels, a->flags};
    return CUDA_SUCCESS;
}
IG_DO cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *d, CUarray a)
{
    CUDA_ARRAY3D_DESCRIPTOR all;
    const CUresult r = d ? cuArray3DGetDescriptor(&all, a) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *d = {all.Width, all.Height, all.Format, all.NumChannels};
    return r;
}

namespace ig_cuda
{
static inline ig_cuda_box side(CUmemorytype type, CUarray array, const void *host, CUdeviceptr p,
                               size_t pitch, size_t rows, size_t x, size_t y, size_t z)
{
    const bool is_array = type == CU_MEMORYTYPE_ARRAY;
    return {is_array ? array : NULL,
            (char *)(type == CU_MEMORYTYPE_HOST ? host : pointer(p)),
            pitch,
            rows,
            x,
            y,
            z};
}
static inline CUresult copy_3d(const CUDA_MEMCPY3D *c, place at, CUstream s, int is_async)
{
    const bool from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST;
    const bool to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST;
    const bool any = c->srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
                     c->dstMemoryType == CU_MEMORYTYPE_UNIFIED || (from_host && to_host);
    const size_t width = c->WidthInBytes;
    return IG_DRIVER(
        copy_box(side(c->dstMemoryType, c->dstArray, c->dstHost, c->dstDevice,
                      c->dstPitch ? c->dstPitch : width, c->dstHeight ? c->dstHeight : c->Height,
                      c->dstXInBytes, c->dstY, c->dstZ),
                 side(c->srcMemoryType, c->srcArray, c->srcHost, c->srcDevice,
                      c->srcPitch ? c->srcPitch : width, c->srcHeight ? c->srcHeight : c->Height,
                      c->srcXInBytes, c->srcY, c->srcZ),
                 make_cudaExtent(width, c->Height, c->Depth),
                 any         ? cudaMemcpyDefault
                 : from_host ? cudaMemcpyHostToDevice
                 : to_host   ? cudaMemcpyDeviceToHost
                             : cudaMemcpyDeviceToDevice,
                 at, s, is_async));
}
static inline CUresult copy_2d(const CUDA_MEMCPY2D *c, place at, CUstream s, int is_async)
{
    CUDA_MEMCPY3D all = {};
    all.srcXInBytes = c->srcXInBytes;
    all.srcY = c->srcY;
    all.srcMemoryType = c->srcMemoryType;
    all.srcHost = c->srcHost;
    all.srcDevice = c->srcDevice;
    all.srcArray = c->srcArray;
    all.srcPitch = c->srcPitch;
    all.dstXInBytes = c->dstXInBytes;
    all.dstY = c->dstY;
    all.dstMemoryType = c->dstMemoryType;
    all.dstHost = c->dstHost;
    all.dstDevice = c->dstDevice;
    all.dstArray = c->dstArray;
    all.dstPitch = c->dstPitch;
    all.WidthInBytes = c->WidthInBytes;
    all.Height = c->Height;
    all.Depth = 1;
    return copy_3d(&all, at, s, is_async);
}
} // namespace ig_cuda
IG_DO cuMemcpy3D(const CUDA_MEMCPY3D *c, IG_HERE) { return ig_cuda::copy_3d(c, at, 0, 0); }
IG_DO cuMemcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream s, IG_HERE)
{
    return ig_cuda::copy_3d(c, at, s, 1);
}
IG_DO cuMemcpy2D(const CUDA_MEMCPY2D *c, IG_HERE) { return ig_cuda::copy_2d(c, at, 0, 0); }
IG_DO cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c, IG_HERE) { return cuMemcpy2D(c, at); }
IG_DO cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream s, IG_HERE)
{
    return ig_cuda::copy_2d(c, at, s, 1);
}

/* ---- textures and surfaces ---- */

namespace ig_cuda
{
static inline ig_cuda_texture texture_of(const CUDA_RESOURCE_DESC *r)
{
    ig_cuda_texture t = {};
    t.resource = r->resType;
    if (r->resType == CU_RESOURCE_TYPE_ARRAY) {
        t.array = r->res.array.hArray;
    } else if (r->resType == CU_RESOURCE_TYPE_LINEAR) {
        t.at = pointer(r->res.linear.devPtr);
        t.texels = texels(r->res.linear.format, r->res.linear.numChannels);
        t.width = r->res.linear.sizeInBytes;
    } else if (r->resType == CU_RESOURCE_TYPE_PITCH2D) {
        t.at = pointer(r->res.pitch2D.devPtr);
        t.texels = texels(r->res.pitch2D.format, r->res.pitch2D.numChannels);
        t.width = r->res.pitch2D.width;
        t.height = r->res.pitch2D.height;
        t.pitch = r->res.pitch2D.pitchInBytes;
    }
    return t;
}
} // namespace ig_cuda
IG_DO cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *r,
                        const CUDA_TEXTURE_DESC *d, const CUDA_RESOURCE_VIEW_DESC *view)
{
    if (!object || !r || !d)
        return CUDA_ERROR_INVALID_VALUE;
    if (view)
        return CUDA_ERROR_NOT_SUPPORTED;
    ig_cuda_texture t = ig_cuda::texture_of(r);
    for (int i = 0; i < 3; i++)
        t.address[i] = d->addressMode[i];
    for (int i = 0; i < 4; i++)
        t.border[i] = d->borderColor[i];
    const ig_cuda_texels of = t.array ? t.array->texels : t.texels;
    t.filter = d->filterMode;
    t.read_mode = of.kind != 2 && of.bits[0] < 32 && !(d->flags & CU_TRSF_READ_AS_INTEGER);
    t.srgb = (d->flags & CU_TRSF_SRGB) != 0;
    t.normalized = (d->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    return IG_DRIVER(ig_cuda_texture_new(object, &t));
}
IG_DO cuTexObjectDestroy(CUtexObject object) { return IG_DRIVER(ig_cuda_texture_free(object)); }
IG_DO cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *r)
{
    if (!object || !r)
        return CUDA_ERROR_INVALID_VALUE;
    const ig_cuda_texture t = ig_cuda::texture_of(r);
    return IG_DRIVER(ig_cuda_surface_new(object, &t));
}
IG_DO cuSurfObjectDestroy(CUsurfObject object) { return IG_DRIVER(ig_cuda_surface_free(object)); }

#endif
