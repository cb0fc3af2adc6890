/* Buffers of an OpenCL device: made, written, read, copied, filled. Host memory is not kept: a write
 * returns when it has been taken. */
#include "backend/opencl/opencl.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pages.h"

#include <stdio.h>
#include <string.h>

/* ---- blocks: called with the lock ---- */

enum { HUGE_LEAST = 4 << 20 };

/* pool_block.at */
typedef struct opencl_block {
    cl_mem mem;
    void *host; /* its memory, if it is ours */
} opencl_block;

static void block_free(opencl_block *b)
{
    pages_free(b->host);
    memory_free(b);
}

/* A CPU computes in the host's memory. There, large blocks are ours, in huge pages. */
static ig_status block_get(void *device, size_t bytes, uint64_t *at, bool *full)
{
    opencl_device *d = device;
    cl_int status = CL_SUCCESS;
    char what[64];
    opencl_block *b = memory_new(sizeof *b);
    *at = 0;
    *full = false;
    if (!b)
        return IG_ERR_MEMORY;
    if (d->base.limits.cpu && d->base.limits.unified && bytes >= HUGE_LEAST)
        b->host = pages_get(bytes);
    b->mem = cl.clCreateBuffer(d->context, CL_MEM_READ_WRITE | (b->host ? CL_MEM_USE_HOST_PTR : 0),
                               bytes, b->host, &status);
    if (status == CL_SUCCESS) {
        *at = (uint64_t)(uintptr_t)b;
        return IG_OK;
    }
    block_free(b);
    *full = opencl_is_full(status);
    if (*full)
        return IG_ERR_MEMORY;
    snprintf(what, sizeof what, "a buffer of %zu bytes", bytes);
    return opencl_check(d, status, what);
}

static void block_give(void *device, uint64_t at)
{
    opencl_block *b = (opencl_block *)(uintptr_t)at;
    (void)device;
    cl.clReleaseMemObject(b->mem);
    block_free(b);
}

static void block_wait(void *device) { cl.clFinish(((opencl_device *)device)->queue); }

const pool_driver opencl_pool = {block_get, block_give, block_wait, NULL, NULL};

bool opencl_is_full(cl_int status)
{
    return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
           status == CL_OUT_OF_HOST_MEMORY;
}

/* ---- buffers ---- */

static void list_add(opencl_memory *m)
{
    opencl_device *d = m->dev;
    m->after = d->buffers;
    if (m->after)
        m->after->before = m;
    d->buffers = m;
}

static void list_remove(opencl_memory *m)
{
    *(m->before ? &m->before->after : &m->dev->buffers) = m->after;
    if (m->after)
        m->after->before = m->before;
}

static void destroy(buffer *b)
{
    opencl_memory *m = b->handle;
    opencl_device *d = m->dev;
    if (opencl_enter_open(d)) {
        pool_put(&d->pool, m->block);
        d->live--;
        list_remove(m);
        opencl_leave(d);
    } else {
        pool_lose(&d->pool, m->block);
        list_remove(m);
    }
    memory_free(m);
}

static bool block_take(opencl_device *d, opencl_memory *m, size_t bytes)
{
    if (opencl_enter(d) != IG_OK)
        return false;
    m->dev = d;
    m->block = pool_take(&d->pool, bytes);
    if (m->block) {
        d->live++;
        list_add(m);
    }
    opencl_leave(d);
    return m->block != NULL;
}

buffer *opencl_alloc(const backend *dev, size_t bytes)
{
    opencl_device *d = opencl_device_of(dev);
    if (bytes > dev->limits.alloc_bytes)
        FAIL_NULL(IG_ERR_MEMORY,
                  "%s: a buffer of %zu bytes is needed, but the device allows at most %llu; use "
                  "smaller arrays, or let the CPU run it: --fallback warn or auto",
                  dev->name, bytes, (unsigned long long)dev->limits.alloc_bytes);
    buffer *b = buffer_new_opaque(bytes);
    opencl_memory *m = b ? memory_new(sizeof *m) : NULL;
    if (!m || !block_take(d, m, bytes)) {
        memory_free(m);
        buffer_release(b);
        return NULL;
    }
    m->mem = ((opencl_block *)(uintptr_t)m->block->at)->mem;
    b->device = dev;
    b->handle = m;
    b->destroy = destroy;
    return b;
}

ig_status opencl_memory_of(const opencl_device *d, const buffer *b, const char *what,
                           opencl_memory **m)
{
    *m = b && b->destroy == destroy ? b->handle : NULL;
    if (!*m || (d && (*m)->dev != d))
        FAIL(IG_ERR_ARGUMENT, "%s: the buffer is %s", what,
             !b   ? "NULL"
             : *m ? "another device's; copy it through the host"
                  : "not one of an OpenCL device");
    return IG_OK;
}

ig_status opencl_memory_valid(const opencl_memory *m, const char *what)
{
    if (m->failure[0])
        FAIL(IG_ERR_DEVICE,
             "%s: %s: the buffer's content is not valid, because %s; write it as a whole first",
             m->dev->name, what, m->failure);
    return IG_OK;
}

/* The memory, if it has these bytes. */
static ig_status range_of(const buffer *b, size_t offset, size_t bytes, const char *what,
                          opencl_memory **m)
{
    TRY(opencl_memory_of(NULL, b, what, m));
    return range_check(b, offset, bytes, what);
}

/* The number of a command that is to write these bytes. What has no valid content gets one only by a
 * command that writes all of it. */
static uint64_t number_for(opencl_memory *m, const buffer *b, size_t bytes)
{
    const uint64_t number = queue_number(m->dev);
    if (bytes == b->bytes)
        m->failure[0] = '\0';
    m->written = number;
    return number;
}

ig_status opencl_write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    opencl_memory *m;
    TRY(range_of(to, offset, bytes, "write", &m));
    if (bytes == 0)
        return IG_OK;
    TRY(opencl_enter(m->dev));
    const uint64_t number = number_for(m, to, bytes);
    const cl_int status =
        cl.clEnqueueWriteBuffer(m->dev->queue, m->mem, CL_TRUE, offset, bytes, from, 0, NULL, NULL);
    const ig_status given = queue_given(m->dev, number, status, NULL, "a write from the host");
    opencl_leave(m->dev);
    return given;
}

/* A failed launch is found before anything is read. */
static ig_status read_locked(opencl_memory *m, size_t offset, void *to, size_t bytes)
{
    TRY(queue_settle(m->dev));
    TRY(opencl_memory_valid(m, "read"));
    const cl_int status =
        cl.clEnqueueReadBuffer(m->dev->queue, m->mem, CL_TRUE, offset, bytes, to, 0, NULL, NULL);
    return opencl_check(m->dev, status, "read");
}

ig_status opencl_read(buffer *from, size_t offset, void *to, size_t bytes)
{
    opencl_memory *m;
    TRY(range_of(from, offset, bytes, "read", &m));
    if (bytes == 0)
        return IG_OK;
    TRY(opencl_enter(m->dev));
    const ig_status status = read_locked(m, offset, to, bytes);
    opencl_leave(m->dev);
    return status;
}

static ig_status copy_locked(buffer *b, opencl_memory *to, size_t to_offset, opencl_memory *from,
                             size_t from_offset, size_t bytes)
{
    cl_event event = NULL;
    TRY(queue_room(to->dev));
    TRY(opencl_memory_valid(from, "copy"));
    const uint64_t number = number_for(to, b, bytes);
    const cl_int status = cl.clEnqueueCopyBuffer(to->dev->queue, from->mem, to->mem, from_offset,
                                                 to_offset, bytes, 0, NULL, &event);
    return queue_given(to->dev, number, status, event, "a copy");
}

ig_status opencl_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    opencl_memory *t, *f;
    TRY(opencl_memory_of(NULL, to, "copy", &t));
    TRY(opencl_memory_of(t->dev, from, "copy", &f));
    TRY(range_check_copy(to, to_offset, from, from_offset, bytes));
    if (bytes == 0)
        return IG_OK;
    TRY(opencl_enter(t->dev));
    const ig_status status = copy_locked(to, t, to_offset, f, from_offset, bytes);
    opencl_leave(t->dev);
    return status;
}

static ig_status fill_locked(buffer *b, opencl_memory *m, size_t offset, uint8_t value,
                             size_t bytes)
{
    uint8_t pattern[16];
    cl_event event = NULL;
    memset(pattern, value, sizeof pattern);
    TRY(queue_room(m->dev));
    const uint64_t number = number_for(m, b, bytes);
    const size_t step = (offset | bytes) % sizeof pattern == 0 ? sizeof pattern : 1;
    const cl_int status = cl.clEnqueueFillBuffer(m->dev->queue, m->mem, pattern, step, offset,
                                                 bytes, 0, NULL, &event);
    return queue_given(m->dev, number, status, event, "a fill");
}

ig_status opencl_fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    opencl_memory *m;
    TRY(range_of(to, offset, bytes, "fill", &m));
    if (bytes == 0)
        return IG_OK;
    TRY(opencl_enter(m->dev));
    const ig_status status = fill_locked(to, m, offset, value, bytes);
    opencl_leave(m->dev);
    return status;
}
