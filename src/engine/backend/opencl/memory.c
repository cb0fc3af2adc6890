/* Buffers of an OpenCL device: made, written, read, copied, filled. Host memory is not kept: a write
 * returns when it has been taken.
 *
 * A CPU computes in the host's memory. There, a buffer that is larger than OpenCL allows is memory of ours with several
 * windows: objects of OpenCL over parts of it. One begins every `step` bytes and has twice as many, so that a launch
 * reaches `step` bytes from any place. Other buffers have one window. */
#include "engine/backend/opencl/opencl.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pages.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- blocks: called with the lock ---- */

enum { HUGE_LEAST = 4 << 20 };

/* pool_block.at */
typedef struct opencl_block {
    void *host; /* its memory, if it is ours */
    size_t step;
    int n_windows;
    cl_mem windows[];
} opencl_block;

static atomic_uint_fast64_t releases;
uint64_t opencl_releases(void) { return atomic_load(&releases); }

static void block_free(opencl_block *b)
{
    atomic_fetch_add(&releases, 1);
    for (int i = 0; i < b->n_windows; i++)
        cl.clReleaseMemObject(b->windows[i]);
    pages_free(b->host);
    memory_free(b);
}

static cl_int window_add(const opencl_device *d, opencl_block *b, size_t from, size_t bytes)
{
    cl_int status = CL_SUCCESS;
    void *host = b->host ? (char *)b->host + from : NULL;
    const cl_mem mem = cl.clCreateBuffer(
        d->context, CL_MEM_READ_WRITE | (host ? CL_MEM_USE_HOST_PTR : 0), bytes, host, &status);
    if (status == CL_SUCCESS)
        b->windows[b->n_windows++] = mem;
    return status;
}

/* True if a call failed because the device, or the driver, has too little memory. */
static bool is_full(cl_int status)
{
    return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
           status == CL_OUT_OF_HOST_MEMORY;
}

/* On a CPU, large blocks are memory of ours, in huge pages. */
static ig_status block_get(void *device, size_t bytes, uint64_t *at, bool *full)
{
    const opencl_device *d = device;
    const backend_limits *l = &d->base.limits;
    const bool one = bytes <= l->alloc_bytes;
    const size_t step = one ? SIZE_MAX : (size_t)l->reach_bytes, n = bytes / step + 1;
    cl_int status = CL_SUCCESS;
    char what[64];
    opencl_block *b = memory_new(sizeof *b + n * sizeof *b->windows);
    *at = 0;
    *full = false;
    if (!b)
        return IG_ERR_MEMORY;
    b->step = step;
    if (!one || (l->cpu && l->unified && bytes >= HUGE_LEAST))
        b->host = pages_get(bytes);
    if (!one && !b->host)
        status = CL_OUT_OF_HOST_MEMORY;
    for (size_t from = 0; from < bytes && status == CL_SUCCESS;) {
        const size_t rest = bytes - from;
        status = window_add(d, b, from, one || rest / 2 < step ? rest : 2 * step);
        from = one || rest < step ? bytes : from + step;
    }
    if (status == CL_SUCCESS) {
        *at = (uint64_t)(uintptr_t)b;
        return IG_OK;
    }
    block_free(b);
    *full = is_full(status);
    if (*full)
        return IG_ERR_MEMORY;
    snprintf(what, sizeof what, "a buffer of %zu bytes", bytes);
    return opencl_check(d, status, what);
}

static void block_give(void *device, uint64_t at)
{
    (void)device;
    block_free((opencl_block *)(uintptr_t)at);
}

static void block_wait(void *device) { cl.clFinish(((opencl_device *)device)->queue); }

const pool_driver opencl_pool = {block_get, block_give, block_wait, NULL, NULL};

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
    if (bytes > dev->limits.alloc_bytes && !dev->limits.reach_bytes)
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
    b->device = dev;
    b->handle = m;
    b->destroy = destroy;
    return b;
}

cl_mem opencl_place(const opencl_memory *m, size_t offset, size_t *at, size_t *left)
{
    const opencl_block *b = (const opencl_block *)(uintptr_t)m->block->at;
    const size_t nth = offset / b->step, last = (size_t)b->n_windows - 1,
                 i = nth < last ? nth : last;
    *at = offset - i * b->step;
    *left = i < last ? b->step - *at : SIZE_MAX;
    return b->windows[i];
}

bool opencl_is_windowed(const opencl_memory *m)
{
    return ((const opencl_block *)(uintptr_t)m->block->at)->n_windows > 1;
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
    ig_status given = IG_OK;
    for (size_t done = 0, part; done < bytes && given == IG_OK; done += part) {
        size_t at, left;
        const uint64_t number = number_for(m, to, bytes);
        const cl_mem mem = opencl_place(m, offset + done, &at, &left);
        part = bytes - done < left ? bytes - done : left;
        const cl_int status = cl.clEnqueueWriteBuffer(m->dev->queue, mem, CL_TRUE, at, part,
                                                      (const char *)from + done, 0, NULL, NULL);
        given = queue_given(m->dev, number, status, NULL, "a write from the host");
    }
    opencl_leave(m->dev);
    return given;
}

/* A failed launch is found before anything is read. */
static ig_status read_locked(opencl_memory *m, size_t offset, void *to, size_t bytes)
{
    TRY(queue_settle(m->dev));
    TRY(opencl_memory_valid(m, "read"));
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at, left;
        const cl_mem mem = opencl_place(m, offset + done, &at, &left);
        part = bytes - done < left ? bytes - done : left;
        const cl_int status = cl.clEnqueueReadBuffer(m->dev->queue, mem, CL_TRUE, at, part,
                                                     (char *)to + done, 0, NULL, NULL);
        TRY(opencl_check(m->dev, status, "read"));
    }
    return IG_OK;
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
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at[2], left[2];
        cl_event event = NULL;
        TRY(queue_room(to->dev));
        TRY(opencl_memory_valid(from, "copy"));
        const uint64_t number = number_for(to, b, bytes);
        const cl_mem source = opencl_place(from, from_offset + done, &at[0], &left[0]);
        const cl_mem mem = opencl_place(to, to_offset + done, &at[1], &left[1]);
        part = left[0] < left[1] ? left[0] : left[1];
        part = bytes - done < part ? bytes - done : part;
        const cl_int status = cl.clEnqueueCopyBuffer(to->dev->queue, source, mem, at[0], at[1],
                                                     part, 0, NULL, &event);
        TRY(queue_given(to->dev, number, status, event, "a copy"));
    }
    return IG_OK;
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
    const size_t step = (offset | bytes) % sizeof pattern == 0 ? sizeof pattern : 1;
    memset(pattern, value, sizeof pattern);
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at, left;
        cl_event event = NULL;
        TRY(queue_room(m->dev));
        const uint64_t number = number_for(m, b, bytes);
        const cl_mem mem = opencl_place(m, offset + done, &at, &left);
        part = bytes - done < left ? bytes - done : left;
        const cl_int status =
            cl.clEnqueueFillBuffer(m->dev->queue, mem, pattern, step, at, part, 0, NULL, &event);
        TRY(queue_given(m->dev, number, status, event, "a fill"));
    }
    return IG_OK;
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
