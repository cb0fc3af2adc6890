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
