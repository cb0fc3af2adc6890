/* Launching a kernel. What the caller got wrong is refused before the driver sees it and changes
 * nothing; what the driver refuses counts as a command that failed. */
#include "engine/backend/opencl/opencl.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static ig_status check_shape(const opencl_kernel *k, const kernel_launch *l)
{
    const backend_limits *can = &k->dev->base.limits;
    const uint64_t most = k->threads && k->threads < can->threads ? k->threads : can->threads;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] == 0 || l->block[i] == 0)
            FAIL(IG_ERR_ARGUMENT, "%s: a grid of %u x %u x %u blocks of %u x %u x %u threads",
                 k->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                 l->block[2]);
        if (l->block[i] > can->thread_at[i])
            FAIL(IG_ERR_ARGUMENT, "%s: %u threads along %c, but a block on %s has at most %llu",
                 k->name, l->block[i], "xyz"[i], k -> dev -> name,
                 (unsigned long long)can -> thread_at[i]);
        threads *= l->block[i];
        if (threads > most)
            FAIL(IG_ERR_ARGUMENT,
                 "%s: a block of %u x %u x %u threads, but on %s it can have %llu at most", k->name,
                 l->block[0], l->block[1], l->block[2], k->dev->name, (unsigned long long)most);
    }
    const uint64_t dynamic = k->dynamic_shared ? l->shared_bytes : 0;
    if (k->shared_bytes > can->shared_bytes || dynamic > can->shared_bytes - k->shared_bytes)
        FAIL(IG_ERR_ARGUMENT, "%s: %llu bytes of shared memory, but a block on %s has %llu",
             k->name, (unsigned long long)(dynamic + k->shared_bytes), k->dev->name,
             (unsigned long long)can->shared_bytes);
    return IG_OK;
}

/* A buffer of the right device and a place in it, or a null pointer. */
static ig_status check_args(const opencl_kernel *k, const kernel_launch *l)
{
    opencl_memory *m;
    for (int i = 0; i < k->n_params; i++) {
        const binding *at = &l->args[i].at;
        if (k->params[i].kind != KERNEL_BUFFER)
            continue;
        if (at->buf)
            TRY(opencl_memory_of(k->dev, at->buf, k->name, &m));
        if (at->buf && opencl_is_windowed(m) &&
            (!l->reach || l->reach > k->dev->base.limits.reach_bytes))
            FAIL(IG_ERR_UNSUPPORTED,
                 "%s: parameter %d points into %zu bytes, but a kernel on %s can use %llu at most",
                 k->name, i + 1, at->buf->bytes, k->dev->name,
                 (unsigned long long)k->dev->base.limits.alloc_bytes);
        if (at->offset > (at->buf ? at->buf->bytes : 0))
            FAIL(IG_ERR_ARGUMENT, "%s: parameter %d points %zu bytes into a buffer of %zu", k->name,
                 i + 1, at->offset, at->buf ? at->buf->bytes : 0);
    }
    return IG_OK;
}

/* One argument that is a buffer: two of the kernel's. */
static cl_int set_buffer(const opencl_kernel *k, opencl_set *set, bool known, cl_uint n,
                         const binding *b)
{
    size_t at = 0, left;
    const opencl_memory *m = b->buf ? b->buf->handle : NULL;
    const cl_mem mem = m ? opencl_place(m, b->offset, &at, &left) : NULL;
    cl_int status = CL_SUCCESS;
    if (!known || set->mem != mem)
        status = cl.clSetKernelArg(k->kernel, n, sizeof(cl_mem), mem ? &mem : NULL);
    set->mem = mem;
    if (status == CL_SUCCESS && (!known || set->at != at))
        status = cl.clSetKernelArg(k->kernel, n + 1, sizeof(cl_ulong), &(cl_ulong){at});
    set->at = at;
    return status;
}

static cl_int set_bytes(const opencl_kernel *k, opencl_set *set, bool known, cl_uint n, int i,
                        const void *value)
{
    const size_t bytes = k->params[i].bytes;
    if (known && memcmp(set->bytes, value, bytes) == 0)
        return CL_SUCCESS;
    memcpy(set->bytes, value, bytes);
    return cl.clSetKernelArg(k->kernel, n, bytes, value);
}

/* Sets the arguments that differ from those of the last launch: a call for each of them takes longer than a launch. */
static cl_int set_args(opencl_kernel *k, const kernel_launch *l)
{
    cl_uint n = 0;
    cl_int status = CL_SUCCESS;
    const uint64_t releases = opencl_releases();
    const bool known = k->is_set && k->releases == releases;
    const size_t shared = l->shared_bytes ? l->shared_bytes : 1; /* OpenCL has no 0 bytes of it */
    for (int i = 0; i < k->n_params && status == CL_SUCCESS; i++) {
        const bool is_value = k->params[i].kind == KERNEL_BYTES;
        status = is_value ? set_bytes(k, &k->set[i], known, n, i, l->args[i].bytes)
                          : set_buffer(k, &k->set[i], known, n, &l->args[i].at);
        n += is_value ? 1 : 2;
    }
    if (k->dynamic_shared && status == CL_SUCCESS && (!known || k->set_shared != shared))
        status = cl.clSetKernelArg(k->kernel, n, shared, NULL);
    k->set_shared = shared;
    k->releases = releases;
    k->is_set = status == CL_SUCCESS;
    return status;
}

static ig_status time_of(opencl_device *d, cl_event event, uint64_t *ns)
{
    cl_ulong start = 0, end = 0;
    cl_int status = cl.clWaitForEvents(1, &event);
    if (status == CL_SUCCESS)
        status = cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start,
                                            NULL);
    if (status == CL_SUCCESS)
        status =
            cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    TRY(queue_settle(d)); /* why it failed is better known there */
    *ns = end - start;
    return opencl_check(d, status, "the time of a launch");
}

/* For messages: the ops, and the kernel that computes them. Every launch has one, so no printf. */
static const char *name_of(const opencl_kernel *k, const kernel_launch *l, char *out)
{
    enum { OPS_MOST = OPENCL_WHAT_BYTES - OPENCL_NAME_BYTES - 4 };
    if (!l->label)
        return k->name;
    const char *ops = l->label + strspn(l->label, " ");
    const size_t n = strnlen(ops, OPS_MOST), name = strlen(k->name);
    memcpy(out, ops, n);
    memcpy(out + n, " (", 2);
    memcpy(out + n + 2, k->name, name);
    memcpy(out + n + 2 + name, ")", 2);
    return out;
}

static ig_status launch_locked(opencl_kernel *k, const kernel_launch *l)
{
    opencl_device *d = k->dev;
    size_t global[3], local[3];
    /* Events of a CPU are cheap, and tell which launch failed. A GPU has to signal each. */
    cl_event event = NULL, *wanted = d->base.limits.cpu || l->device_ns ? &event : NULL;
    char what[OPENCL_WHAT_BYTES];
    cl_command_queue queue = d->queue;
    TRY(l->device_ns ? queue_timed(d, &queue) : queue_room(d));
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].kind == KERNEL_BUFFER && l->args[i].at.buf)
            TRY(opencl_memory_valid(l->args[i].at.buf->handle, k->name));
    for (int i = 0; i < 3; i++) {
        local[i] = l->block[i];
        global[i] = local[i] * l->grid[i];
    }
    const uint64_t number = queue_number(d);
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].kind == KERNEL_BUFFER && !k->params[i].is_read && l->args[i].at.buf)
            ((opencl_memory *)l->args[i].at.buf->handle)->written = number;
    cl_int status = set_args(k, l);
    for (int tries = 0; status == CL_SUCCESS && tries < 2; tries++) {
        status =
            cl.clEnqueueNDRangeKernel(queue, k->kernel, 3, NULL, global, local, 0, NULL, wanted);
        if (status != CL_MEM_OBJECT_ALLOCATION_FAILURE || tries > 0)
            break;
        cl.clFinish(queue); /* drivers allocate late: kept blocks may be what is missing */
        pool_trim(&d->pool);
        status = CL_SUCCESS;
    }
    const char *name = name_of(k, l, what);
    TRY(wanted ? queue_given(d, number, status, event, name)
               : queue_queued(d, number, status, name));
    return l->device_ns ? time_of(d, event, l->device_ns) : IG_OK;
}

ig_status opencl_kernel_launch(kernel_code *code, const kernel_launch *l)
{
    opencl_kernel *k = (opencl_kernel *)code;
    TRY(check_shape(k, l));
    TRY(check_args(k, l));
    TRY(opencl_enter(k->dev));
    const ig_status status = launch_locked(k, l);
    opencl_leave(k->dev);
    return status;
}
