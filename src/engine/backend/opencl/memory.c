/* Buffers of an OpenCL device: creates, writes, reads, copies and fills them. Host memory is not kept: a write
 * returns when the data has been copied.
 *
 * A CPU computes in host memory. There, a buffer that is larger than OpenCL allows is memory allocated here, with
 * several windows: OpenCL objects over parts of it. A window begins every `step` bytes and has twice that size, so a
 * launch can access `step` bytes from any position. Other buffers have one window. */
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
    void *host; /* its memory, if it was allocated here */
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

/* True if a call failed because the device or the driver has too little memory. */
static bool is_full(cl_int status)
{
    return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
           status == CL_OUT_OF_HOST_MEMORY;
}

/* On a CPU, large blocks are allocated here, in huge pages. */
static ig_status block_get(void *device, size_t bytes, uint64_t *at, bool *full)
{
    const opencl_device *d = device;
    const backend_limits *l = &d->base.dev.limits;
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

cl_mem opencl_place(const buffer *b, size_t offset, size_t *at, size_t *left)
{
    const driver_memory *m = b->handle;
    const opencl_block *block = (const opencl_block *)(uintptr_t)m->block->at;
    return block->windows[driver_window(block->step, block->n_windows, offset, at, left)];
}

/* The number of a command that will write these bytes. */
static uint64_t number_for(opencl_device *d, buffer *b, size_t bytes)
{
    const uint64_t number = ++d->base.number;
    driver_writes(b, bytes, number);
    return number;
}

static ig_status write(buffer *to, size_t offset, const void *from, size_t bytes)
{
    opencl_device *d = opencl_device_of(to->device);
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at, left;
        const uint64_t number = number_for(d, to, bytes);
        const cl_mem mem = opencl_place(to, offset + done, &at, &left);
        part = bytes - done < left ? bytes - done : left;
        const cl_int status = cl.clEnqueueWriteBuffer(d->queue, mem, CL_TRUE, at, part,
                                                      (const char *)from + done, 0, NULL, NULL);
        TRY(queue_given(d, number, status, NULL, "a write from the host"));
    }
    return IG_OK;
}

/* Waits first, so that a failed launch is reported before anything is read. */
static ig_status read(buffer *from, size_t offset, void *to, size_t bytes)
{
    opencl_device *d = opencl_device_of(from->device);
    TRY(queue_settle(d));
    TRY(driver_valid(from, "read"));
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at, left;
        const cl_mem mem = opencl_place(from, offset + done, &at, &left);
        part = bytes - done < left ? bytes - done : left;
        const cl_int status = cl.clEnqueueReadBuffer(d->queue, mem, CL_TRUE, at, part,
                                                     (char *)to + done, 0, NULL, NULL);
        TRY(opencl_check(d, status, "read"));
    }
    return IG_OK;
}

static ig_status copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes)
{
    opencl_device *d = opencl_device_of(to->device);
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at[2], left[2];
        cl_event event = NULL;
        TRY(queue_room(d));
        TRY(driver_valid(from, "copy"));
        const uint64_t number = number_for(d, to, bytes);
        const cl_mem source = opencl_place(from, from_offset + done, &at[0], &left[0]);
        const cl_mem mem = opencl_place(to, to_offset + done, &at[1], &left[1]);
        part = left[0] < left[1] ? left[0] : left[1];
        part = bytes - done < part ? bytes - done : part;
        const cl_int status =
            cl.clEnqueueCopyBuffer(d->queue, source, mem, at[0], at[1], part, 0, NULL, &event);
        TRY(queue_given(d, number, status, event, "a copy"));
    }
    return IG_OK;
}

static ig_status fill(buffer *to, size_t offset, uint8_t value, size_t bytes)
{
    opencl_device *d = opencl_device_of(to->device);
    uint8_t pattern[16];
    const size_t step = (offset | bytes) % sizeof pattern == 0 ? sizeof pattern : 1;
    memset(pattern, value, sizeof pattern);
    for (size_t done = 0, part; done < bytes; done += part) {
        size_t at, left;
        cl_event event = NULL;
        TRY(queue_room(d));
        const uint64_t number = number_for(d, to, bytes);
        const cl_mem mem = opencl_place(to, offset + done, &at, &left);
        part = bytes - done < left ? bytes - done : left;
        const cl_int status =
            cl.clEnqueueFillBuffer(d->queue, mem, pattern, step, at, part, 0, NULL, &event);
        TRY(queue_given(d, number, status, event, "a fill"));
    }
    return IG_OK;
}

static ig_status settle(const backend *dev) { return queue_settle(opencl_device_of(dev)); }

const struct driver opencl_driver = {.search = &opencl_search,
                                     .use = opencl_use,
                                     .settle = settle,
                                     .write = write,
                                     .read = read,
                                     .copy = copy,
                                     .fill = fill,
                                     .memory_bytes = sizeof(driver_memory)};
