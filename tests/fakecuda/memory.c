/* The fake driver: memory, copies and fills. A copy is queued; only copies from or to pageable memory read it or write
 * it before the call returns, as CUDA documents. */
#include "fakecuda/parts.h"

#include <stdlib.h>
#include <string.h>

static uint64_t used_bytes[DEVICES_MOST];

/* A block of memory of a device, of managed memory or of pinned host memory. */
typedef struct block {
    object base;
    char *at;
    size_t bytes;
    bool pinned, managed;
    bool adopted; /* the program owns it */
} block;

static void block_destroy(void *o)
{
    block *b = o;
    if (!b->pinned)
        used_bytes[b->base.device] -= b->bytes;
    if (!b->adopted)
        free(b->at);
}

/* The block that holds all of [at, at + bytes), or NULL. */
static block *block_at(const void *at, size_t bytes)
{
    for (object *o = objects_first(); o; o = o->next) {
        block *b = (block *)(void *)o;
        if (o->destroy == block_destroy && (const char *)at >= b->at &&
            (const char *)at + bytes <= b->at + b->bytes)
            return b;
    }
    return NULL;
}

static void *pointer(CUdeviceptr at) { return (void *)(uintptr_t)at; }

static bool is_device(CUdeviceptr at, size_t bytes)
{
    const block *b = block_at(pointer(at), bytes);
    return b && !b->pinned;
}

/* New memory is filled with values that a kernel should not read. */
static block *block_new(void *adopted, size_t bytes, bool pinned)
{
    char *at = adopted;
    if (!at && posix_memalign((void **)&at, 512, bytes ? bytes : 1) != 0)
        return NULL;
    block *b = object_new(sizeof *b, block_destroy);
    if (!b) {
        if (!adopted)
            free(at);
        return NULL;
    }
    if (!adopted)
        memset(at, 0xcd, bytes);
    b->at = at;
    b->bytes = bytes;
    b->pinned = pinned;
    b->adopted = adopted != NULL;
    if (!pinned)
        used_bytes[b->base.device] += bytes;
    return b;
}

static CUresult block_free(const void *at)
{
    block *b = block_at(at, 1);
    if (!b || b->at != at)
        return CUDA_ERROR_INVALID_VALUE;
    object_free(b);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER;
    const int device = device_now();
    if (device < 0)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    *total = (size_t)fake_memory_bytes;
    *available = fake_memory_bytes > used_bytes[device]
                     ? (size_t)(fake_memory_bytes - used_bytes[device])
                     : 0;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
    ENTER;
    const int device = device_now();
    if (device < 0 || bytes == 0)
        return fake_done(device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE);
    if (bytes > fake_memory_bytes || used_bytes[device] > fake_memory_bytes - bytes)
        return fake_done(CUDA_ERROR_OUT_OF_MEMORY);
    const block *b = block_new(NULL, bytes, false);
    if (!b)
        return fake_done(CUDA_ERROR_OUT_OF_MEMORY);
    *at = (CUdeviceptr)(uintptr_t)b->at;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr at)
{
    const CUresult entered = fake_enter(__func__);
    const CUresult status = block_free((const void *)(uintptr_t)at);
    return fake_done(entered != CUDA_SUCCESS ? entered : status);
}

CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER;
    const block *b = block_new(NULL, bytes, true);
    *at = b ? b->at : NULL;
    return fake_done(b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuMemFreeHost(void *at)
{
    const CUresult entered = fake_enter(__func__);
    const CUresult status = block_free(at);
    return fake_done(entered != CUDA_SUCCESS ? entered : status);
}

/* ---- copies ---- */

static bool is_pageable(const void *at, size_t bytes) { return !block_at(at, bytes); }

/* Queues a copy. Pageable memory is read now; if it is written, the copy is finished when the call returns. */
static CUresult copy(void *to, const void *from, size_t bytes, CUstream stream)
{
    const bool held = is_pageable(from, bytes);
    command *c = command_new(COMMAND_COPY, held ? bytes : 0);
    if (c) {
        c->to = to;
        c->from = held ? NULL : from;
        c->bytes = bytes;
        if (held)
            memcpy(c->held, from, bytes);
    }
    const CUresult status = command_add(stream, c);
    return status == CUDA_SUCCESS && is_pageable(to, bytes) ? stream_drain(stream) : status;
}

static CUresult fill(char *to, unsigned char value, size_t bytes, CUstream stream)
{
    command *c = command_new(COMMAND_FILL, 0);
    if (c) {
        c->to = to;
        c->value = value;
        c->bytes = bytes;
    }
    return command_add(stream, c);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    ENTER;
    return fake_done(is_device(to, bytes) ? copy(pointer(to), from, bytes, stream)
                                          : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER;
    return fake_done(is_device(from, bytes) ? copy(to, pointer(from), bytes, stream)
                                            : CUDA_ERROR_INVALID_VALUE);
}

static CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return is_device(to, bytes) && is_device(from, bytes)
               ? copy(pointer(to), pointer(from), bytes, stream)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER;
    return fake_done(copy_on_device(to, from, bytes, stream));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER;
    return fake_done(copy(pointer(to), pointer(from), bytes, stream));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *how, CUstream stream)
{
    ENTER;
    CUresult status = CUDA_SUCCESS;
    for (size_t y = 0; y < how->Height && status == CUDA_SUCCESS; y++)
        status = copy((char *)pointer(how->dstDevice) + y * how->dstPitch,
                      (const char *)pointer(how->srcDevice) + y * how->srcPitch, how->WidthInBytes,
                      stream);
    return fake_done(status);
}

/* An array is a block of rows without gaps. */
struct CUarray_st {
    object base;
    CUDA_ARRAY3D_DESCRIPTOR about;
    size_t row;
    block *data;
};

static void array_destroy(void *o) { object_free(((CUarray)o)->data); }

static size_t at_least_1(size_t n) { return n ? n : 1; }

/* The bytes of a component; 0 if there is no such format. */
static size_t format_bytes(CUarray_format f)
{
    static const size_t bytes[0x21] = {[0x01] = 1, [0x02] = 2, [0x03] = 4, [0x08] = 1,
                                       [0x09] = 2, [0x0a] = 4, [0x10] = 2, [0x20] = 4};
    return f >= 0 && f <= 0x20 ? bytes[f] : 0;
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *about)
{
    ENTER;
    const size_t row = about->Width * about->NumChannels * format_bytes(about->Format);
    if (!row || about->NumChannels == 3 || about->NumChannels > 4)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    CUarray a = object_new(sizeof *a, array_destroy);
    if (!a)
        return fake_done(CUDA_ERROR_INVALID_CONTEXT);
    a->about = *about;
    a->row = row;
    a->data = block_new(NULL, row * at_least_1(about->Height) * at_least_1(about->Depth), false);
    *array = a;
    return fake_done(CUDA_SUCCESS);
}

CUresult cuArrayDestroy(CUarray array)
{
    ENTER;
    object_free(array);
    return fake_done(CUDA_SUCCESS);
}

/* The first byte of a side of a copy, and its pitches; NULL if the extent is not in it. */
static char *side(CUmemorytype type, CUarray array, uintptr_t at, const size_t from[3],
                  const CUDA_MEMCPY3D *how, size_t *pitch, size_t *plane)
{
    if (type == CU_MEMORYTYPE_ARRAY) {
        const size_t rows = at_least_1(array->about.Height);
        if (from[0] + how->WidthInBytes > array->row || from[1] + how->Height > rows ||
            from[2] + how->Depth > at_least_1(array->about.Depth))
            return NULL;
        at = (uintptr_t)array->data->at;
        *pitch = array->row;
        *plane = rows * array->row;
    }
    return (char *)at + from[2] * *plane + from[1] * *pitch + from[0];
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *how, CUstream stream)
{
    ENTER;
    const size_t to_first[] = {how->dstXInBytes, how->dstY, how->dstZ};
    const size_t from_first[] = {how->srcXInBytes, how->srcY, how->srcZ};
    size_t to_pitch = how->dstPitch, to_plane = how->dstPitch * how->dstHeight;
    size_t from_pitch = how->srcPitch, from_plane = how->srcPitch * how->srcHeight;
    char *to =
        side(how->dstMemoryType, how->dstArray,
             how->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)how->dstHost : how->dstDevice,
             to_first, how, &to_pitch, &to_plane);
    const char *from =
        side(how->srcMemoryType, how->srcArray,
             how->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)how->srcHost : how->srcDevice,
             from_first, how, &from_pitch, &from_plane);
    CUresult status = to && from ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t z = 0; z < how->Depth; z++)
        for (size_t y = 0; y < how->Height && status == CUDA_SUCCESS; y++)
            status = copy(to + z * to_plane + y * to_pitch, from + z * from_plane + y * from_pitch,
                          how->WidthInBytes, stream);
    return fake_done(status);
}

/* A texture or surface: only its resource is checked. */
typedef struct reader {
    object base;
} reader;

static void reader_destroy(void *o) { (void)o; }

static CUresult reader_new(unsigned long long *out, const CUDA_RESOURCE_DESC *of)
{
    enum { ARRAY = 0, LINEAR = 2, PITCH = 3 };
    size_t bytes = of->res.linear.sizeInBytes, texel = 1;
    if (of->resType == PITCH)
        bytes = of->res.pitch2D.pitchInBytes * of->res.pitch2D.height;
    if (of->resType != ARRAY)
        texel = format_bytes(of->res.linear.format) * of->res.linear.numChannels;
    const bool fits = of->resType == ARRAY
                          ? of->res.array.hArray && of->res.array.hArray->data
                          : texel && bytes && is_device(of->res.linear.devPtr, bytes);
    reader *r = fits ? object_new(sizeof *r, reader_destroy) : NULL;
    *out = (uintptr_t)r;
    return r ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult reader_free(unsigned long long which)
{
    object *o = objects_first();
    while (o && (uintptr_t)o != which)
        o = o->next;
    if (!o || o->destroy != reader_destroy)
        return CUDA_ERROR_INVALID_VALUE;
    object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *of,
                           const CUDA_TEXTURE_DESC *how, const CUDA_RESOURCE_VIEW_DESC *view)
{
    ENTER;
    return fake_done(view || how->flags & ~0x13u ? CUDA_ERROR_INVALID_VALUE
                                                 : reader_new(texture, of));
}

CUresult cuSurfObjectCreate(CUsurfObject *surface, const CUDA_RESOURCE_DESC *of)
{
    ENTER;
    return fake_done(of->resType ? CUDA_ERROR_INVALID_VALUE : reader_new(surface, of));
}

CUresult cuTexObjectDestroy(CUtexObject texture)
{
    ENTER;
    return fake_done(reader_free(texture));
}

CUresult cuSurfObjectDestroy(CUsurfObject surface)
{
    ENTER;
    return fake_done(reader_free(surface));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    ENTER;
    const block *b = block_at(pointer(from), bytes), *a = block_at(pointer(to), bytes);
    if (!a || !b || a->base.device != to_context->device || b->base.device != from_context->device)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    fake_counts[FAKE_PEER_COPIES]++;
    return fake_done(copy_on_device(to, from, bytes, stream));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER;
    return fake_done(block_at(pointer(to), bytes) ? fill(pointer(to), value, bytes, stream)
                                                  : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream)
{
    ENTER;
    CUresult status = CUDA_SUCCESS;
    for (size_t y = 0; y < height && status == CUDA_SUCCESS; y++)
        status = fill((char *)pointer(to) + y * pitch, value, width, stream);
    return fake_done(status);
}

/* ---- memory of whole programs ---- */

CUdeviceptr block_adopt(void *at, size_t bytes)
{
    if (!block_at(at, bytes))
        block_new(at, bytes, false);
    return (CUdeviceptr)(uintptr_t)at;
}

CUresult cuMemAllocManaged(CUdeviceptr *at, size_t bytes, unsigned flags)
{
    (void)flags;
    const CUresult status = cuMemAlloc_v2(at, bytes);
    block *b = status == CUDA_SUCCESS ? block_at(pointer(*at), bytes) : NULL;
    if (b)
        b->managed = true;
    return status;
}

CUresult cuMemAllocAsync(CUdeviceptr *at, size_t bytes, CUstream stream)
{
    (void)stream;
    return cuMemAlloc_v2(at, bytes);
}

CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
    enum { ALREADY = 712 };
    (void)flags;
    ENTER;
    if (block_at(at, 1))
        return fake_done(ALREADY);
    return fake_done(block_new(at, bytes, true) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuMemHostUnregister(void *at)
{
    enum { NOT_REGISTERED = 713 };
    ENTER;
    const block *b = block_at(at, 1);
    return fake_done(b && b->adopted ? block_free(at) : NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags)
{
    (void)flags;
    ENTER;
    const block *b = block_at(host, 1);
    *device = (CUdeviceptr)(uintptr_t)host;
    return fake_done(b && b->pinned ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute what, CUdeviceptr at)
{
    ENTER;
    const block *b = block_at(pointer(at), 1);
    if (!b)
        return fake_done(CUDA_ERROR_INVALID_VALUE);
    *(unsigned *)value = what == CU_POINTER_ATTRIBUTE_IS_MANAGED ? b->managed
                         : b->pinned                             ? CU_MEMORYTYPE_HOST
                                                                 : CU_MEMORYTYPE_DEVICE;
    return fake_done(CUDA_SUCCESS);
}
