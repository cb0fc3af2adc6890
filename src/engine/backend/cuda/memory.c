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

/* Returning a block to the pool does not call the driver, so the context need not be current. */
static void destroy(buffer *b)
{
    cuda_memory *m = b->handle;
    cuda_device *d = m->dev;
    pthread_mutex_lock(&d->lock);
    (d->dead[0] ? pool_lose : pool_put)(&d->pool, m->block);
    pthread_mutex_unlock(&d->lock);
    memory_free(m);
}

buffer *cuda_alloc(const backend *dev, size_t bytes)
{
    cuda_device *d = cuda_device_of(dev);
    buffer *b = buffer_new_opaque(bytes);
    cuda_memory *m = b ? memory_new(sizeof *m) : NULL;
    if (!m || cuda_lock(d) != IG_OK) {
        memory_free(m);
        buffer_release(b);
        return NULL;
    }
    m->dev = d;
    m->block = pool_take_kept(&d->pool, bytes); /* usually succeeds */
    if (m->block) {
        pthread_mutex_unlock(&d->lock);
    } else if (cuda_use(d) == IG_OK) {
        m->block = pool_take(&d->pool, bytes);
        cuda_leave(d);
    }
    if (!m->block) {
        memory_free(m);
        buffer_release(b);
        return NULL;
    }
    m->at = (CUdeviceptr)m->block->at;
    b->device = dev;
    b->handle = m;
    b->destroy = destroy;
    return b;
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

static ig_status enter(const backend *dev) { return cuda_enter(cuda_device_of(dev)); }
static void leave(const backend *dev) { cuda_leave(cuda_device_of(dev)); }

static ig_status write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    const cuda_memory *m = to->handle;
    return cuda_check(m->dev, write_staged(m->dev, m->at + offset, from, bytes),
                      "a write from the host");
}

static ig_status read(buffer *from, size_t offset, void *to, size_t bytes)
{
    const cuda_memory *m = from->handle;
    CUresult status = cu.copy_to_host(to, m->at + offset, bytes, m->dev->stream);
    if (status == CUDA_SUCCESS)
        status = cuda_wait(m->dev);
    return cuda_check(m->dev, status, "a read by the host");
}

static ig_status copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    const cuda_memory *t = to->handle, *f = from->handle;
    return cuda_check(
        t->dev, cu.copy_on_device(t->at + to_offset, f->at + from_offset, bytes, t->dev->stream),
        "a copy");
}

static ig_status fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    const cuda_memory *m = to->handle;
    return cuda_check(m->dev, cu.fill(m->at + offset, value, bytes, m->dev->stream), "a fill");
}

const struct driver cuda_driver = {
    .enter = enter, .leave = leave, .write = write, .read = read, .copy = copy, .fill = fill};

/* Copies from one GPU to another, and waits, because each GPU has its own stream. */
static ig_status copy_peer(const cuda_memory *to, size_t to_offset, const cuda_memory *from,
                           size_t from_offset, size_t bytes)
{
    cuda_device *t = to->dev, *f = from->dev;
    TRY(cuda_enter(f));
    const CUcontext there = f->context;
    ig_status status = cuda_check(f, cuda_wait(f), "waiting for the GPU");
    cuda_leave(f);
    TRY(status);
    TRY(cuda_enter(t));
    CUresult result = cu.copy_to_peer(to->at + to_offset, t->context, from->at + from_offset, there,
                                      bytes, t->stream);
    if (result == CUDA_SUCCESS)
        result = cuda_wait(t);
    status = cuda_check(t, result, "a copy from another GPU");
    cuda_leave(t);
    return status;
}

ig_status cuda_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    const bool peers = to && from && from->device && to->device != from->device &&
                       to->device->driver == from->device->driver;
    if (!peers)
        return driver_copy(to, to_offset, from, from_offset, bytes);
    TRY(range_check_copy(to, to_offset, from, from_offset, bytes));
    return bytes ? copy_peer(to->handle, to_offset, from->handle, from_offset, bytes) : IG_OK;
}

/* ---- host memory that kernels use ---- */

static void destroy_visible(buffer *b)
{
    cuda_memory *m = b->handle;
    cuda_device *d = m->dev;
    pthread_mutex_lock(&d->lock);
    if (cuda_push(d)) {
        cu.host_free(b->data);
        cu.context_pop(&(CUcontext){NULL});
    }
    pthread_mutex_unlock(&d->lock);
    memory_free(m);
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
    *m = (cuda_memory){.dev = d, .at = (CUdeviceptr)(uintptr_t)at};
    b->device = dev;
    b->data = at;
    b->handle = m;
    b->destroy = destroy_visible;
    return b;
}
