/* Arrays, textures and surfaces of the driver. ig_cuda_array.data is the driver's handle. */
#include "lib/cudart/gpu/gpu.h"
#include "lib/cudart/graphs.h"

static CUarray handle(const ig_cuda_array *a) { return (CUarray)(void *)a->data; }

static CUarray_format format_of(ig_cuda_texels t)
{
    static const CUarray_format formats[3][3] = {
        {0x08, 0x09, 0x0a}, {0x01, 0x02, 0x03}, {0, 0x10, 0x20}}; /* signed, unsigned, float */
    return formats[t.kind][t.bits[0] / 16];
}

int gpu_array_new(ig_cuda_array *a)
{
    CUarray made;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = a->width,
                                 .Height = a->height,
                                 .Depth = a->depth,
                                 .Format = format_of(a->texels),
                                 .Flags = a->flags};
    int channels;
    cudart_texel_bytes(a->texels, &channels);
    d.NumChannels = (unsigned)channels;
    const int error = gpu.array_new(&made, &d);
    a->data = error ? NULL : (void *)made;
    return error;
}

int gpu_array_free(ig_cuda_array *a) { return gpu.array_free(handle(a)); }

/* The kind of memory of a side that is not an array. */
static CUmemorytype memory_of(int kind, bool is_to)
{
    const bool on_device =
        kind == COPY_ON_DEVICE || kind == (is_to ? COPY_TO_DEVICE : COPY_TO_HOST);
    return kind == COPY_DEFAULT ? CU_MEMORYTYPE_UNIFIED
           : on_device          ? CU_MEMORYTYPE_DEVICE
                                : CU_MEMORYTYPE_HOST;
}

int gpu_copy_box(const ig_cuda_box *to, const ig_cuda_box *from, const size_t extent[3], int kind,
                 void *stream, bool is_async)
{
    char *there = to->at, *here = from->at;
    if (cudart_is_captured(stream))
        return cudaErrorStreamCaptureUnsupported;
    int error = gpu_managed_address(&there);
    if (!error)
        error = gpu_managed_address(&here);
    if (error)
        return error;
    const CUDA_MEMCPY3D how = {
        .srcXInBytes = from->x,
        .srcY = from->y,
        .srcZ = from->z,
        .srcMemoryType = from->array ? CU_MEMORYTYPE_ARRAY : memory_of(kind, false),
        .srcHost = here,
        .srcDevice = (uintptr_t)here,
        .srcArray = from->array ? handle(from->array) : NULL,
        .srcPitch = from->pitch,
        .srcHeight = from->rows,
        .dstXInBytes = to->x,
        .dstY = to->y,
        .dstZ = to->z,
        .dstMemoryType = to->array ? CU_MEMORYTYPE_ARRAY : memory_of(kind, true),
        .dstHost = there,
        .dstDevice = (uintptr_t)there,
        .dstArray = to->array ? handle(to->array) : NULL,
        .dstPitch = to->pitch,
        .dstHeight = to->rows,
        .WidthInBytes = extent[0],
        .Height = extent[1],
        .Depth = extent[2],
    };
    return gpu_finish(gpu.copy_3d_async(&how, is_async ? stream : NULL), is_async);
}

int gpu_object_new(unsigned long long *object, const ig_cuda_texture *t, bool is_surface)
{
    enum { ARRAY = 0, LINEAR = 2, FLOATS = 2 };
    enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16 };
    CUDA_RESOURCE_DESC of = {.resType = t->resource};
    int channels;
    const ig_cuda_texels texels = t->resource == ARRAY ? t->array->texels : t->texels;
    cudart_texel_bytes(texels, &channels);
    if (t->resource == ARRAY) {
        of.res.array.hArray = handle(t->array);
    } else if (t->resource == LINEAR) {
        of.res.linear.devPtr = (uintptr_t)t->at;
        of.res.linear.format = format_of(texels);
        of.res.linear.numChannels = (unsigned)channels;
        of.res.linear.sizeInBytes = t->width;
    } else {
        of.res.pitch2D.devPtr = (uintptr_t)t->at;
        of.res.pitch2D.format = format_of(texels);
        of.res.pitch2D.numChannels = (unsigned)channels;
        of.res.pitch2D.width = t->width;
        of.res.pitch2D.height = t->height;
        of.res.pitch2D.pitchInBytes = t->pitch;
    }
    if (is_surface)
        return gpu.surface_new(object, &of);
    CUDA_TEXTURE_DESC how = {.filterMode = t->filter,
                             .flags = (texels.kind != FLOATS && !t->read_mode ? AS_INTEGER : 0u) |
                                      (t->normalized ? NORMALIZED : 0u) | (t->srgb ? SRGB : 0u)};
    for (int i = 0; i < 3; i++)
        how.addressMode[i] = t->address[i];
    for (int i = 0; i < 4; i++)
        how.borderColor[i] = t->border[i];
    return gpu.texture_new(object, &of, &how, NULL);
}

int gpu_object_free(unsigned long long object, bool is_surface)
{
    return is_surface ? gpu.surface_free(object) : gpu.texture_free(object);
}
