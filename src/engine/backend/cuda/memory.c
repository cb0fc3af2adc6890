/* Buffers of an NVIDIA GPU: blocks of its pool, and copies. Writes are staged in pinned memory, so that the host
 * need not wait; reads wait. */
#include "engine/backend/cuda/cuda.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- blocks: called with the lock and the context ---- */

static ig_status block_get(void *device, size_t bytes, uint64_t *at, bool *full)
{
    cuda_device *d = device;
    CUdeviceptr got = 0;
    char what[96];
    const CUresult status = cu.memory_alloc(&got, bytes);
    *at = got;
    *full = status == CUDA_ERROR_OUT_OF_MEMORY;
    if (*full)
        return IG_ERR_MEMORY;
    snprintf(what, sizeof what, "allocating %zu bytes", bytes);
    return cuda_check(d, status, what);
}

static void block_give(void *device, uint64_t at)
{
    (void)device;
    cu.memory_free((CUdeviceptr)at);
}

static void block_wait(void *device) { cu.stream_wait(((cuda_device *)device)->stream); }

static uint64_t block_left(void *device)
{
    size_t left = 0, total = 0;
    (void)device;
    return cu.memory_info(&left, &total) == CUDA_SUCCESS ? left : 0;
}

const pool_driver cuda_pool = {block_get, block_give, block_wait, block_left, NULL};

static void attach(buffer *b)
{
    cuda_memory *m = b->handle;
    m->at = (CUdeviceptr)m->base.block->at;
}

/* ---- copies ---- */

/* Small copies are staged: the caller may change its memory when the call returns. */
static CUresult write_staged(cuda_device *d, CUdeviceptr to, const char *from, size_t bytes)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t done = 0; done < bytes && status == CUDA_SUCCESS; done += CUDA_STAGING_BYTES) {
        const size_t left = bytes - done;
        const size_t now = left < CUDA_STAGING_BYTES ? left : CUDA_STAGING_BYTES;
        status = cu.event_wait(d->staged);
        memcpy(d->staging, from + done, now);
        if (status == CUDA_SUCCESS)
            status = cu.copy_to_device(to + done, d->staging, now, d->stream);
        if (status == CUDA_SUCCESS)
            status = cu.event_record(d->staged, d->stream);
    }
    return status;
}

static CUdeviceptr address(const buffer *b, size_t offset)
{
    return ((const cuda_memory *)b->handle)->at + offset;
}

static ig_status write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    cuda_device *d = cuda_device_of(to->device);
    return cuda_check(d, write_staged(d, address(to, offset), from, bytes),
                      "a write from the host");
}

static ig_status settle(const backend *dev)
{
    cuda_device *d = cuda_device_of(dev);
    return cuda_check(d, cuda_wait(d), "waiting for the GPU");
}

static ig_status read(buffer *from, size_t offset, void *to, size_t bytes)
{
    cuda_device *d = cuda_device_of(from->device);
    CUresult status = cu.copy_to_host(to, address(from, offset), bytes, d->stream);
    if (status == CUDA_SUCCESS)
        status = cuda_wait(d);
    return cuda_check(d, status, "a read by the host");
}

/* The stream of another GPU has no commands left; ours is waited for. */
static CUresult copy_peer(cuda_device *d, CUdeviceptr to, CUdeviceptr from,
                          const cuda_device *other, size_t bytes)
{
    const CUresult status = cu.copy_to_peer(to, d->context, from, other->context, bytes, d->stream);
    return status == CUDA_SUCCESS ? cuda_wait(d) : status;
}

static ig_status copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    cuda_device *d = cuda_device_of(to->device), *other = cuda_device_of(from->device);
    const CUdeviceptr there = address(to, to_offset), here = address(from, from_offset);
    return cuda_check(d,
                      d == other ? cu.copy_on_device(there, here, bytes, d->stream)
                                 : copy_peer(d, there, here, other, bytes),
                      d == other ? "a copy" : "a copy from another GPU");
}

static ig_status fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    cuda_device *d = cuda_device_of(to->device);
    return cuda_check(d, cu.fill(address(to, offset), value, bytes, d->stream), "a fill");
}

const struct driver cuda_driver = {.search = &cuda_search,
                                   .use = cuda_use,
                                   .unuse = cuda_unuse,
                                   .settle = settle,
                                   .write = write,
                                   .read = read,
                                   .copy = copy,
                                   .fill = fill,
                                   .memory_bytes = sizeof(cuda_memory),
                                   .attach = attach};

/* ---- host memory that kernels use ---- */

static void destroy_visible(buffer *b)
{
    cuda_device *d = cuda_device_of(b->device);
    pthread_mutex_lock(&d->base.lock);
    if (cuda_push(d)) {
        cu.host_free(b->data);
        cu.context_pop(&(CUcontext){NULL});
    }
    pthread_mutex_unlock(&d->base.lock);
    memory_free(b->handle);
}

buffer *cuda_alloc_visible(const backend *dev, size_t bytes)
{
    cuda_device *d = cuda_device_of(dev);
    buffer *b = buffer_new_opaque(bytes);
    cuda_memory *m = b ? memory_new(sizeof *m) : NULL;
    void *at = NULL;
    ig_status status = m ? cuda_enter(d) : IG_ERR_MEMORY;
    if (status == IG_OK) {
        status = cuda_check(d, cu.host_alloc(&at, bytes, 0), "allocating pinned memory");
        cuda_leave(d);
    }
    if (status != IG_OK) {
        memory_free(m);
        buffer_release(b);
        return NULL;
    }
    m->at = (CUdeviceptr)(uintptr_t)at;
    b->device = dev;
    b->data = at;
    b->handle = m;
    b->destroy = destroy_visible;
    return b;
}
