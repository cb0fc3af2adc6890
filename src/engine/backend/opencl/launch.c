/* Launches of kernels. Errors of the caller are reported before the driver is called, and change nothing. If the
 * driver rejects a launch, it counts as a failed command. */
#include "engine/backend/opencl/opencl.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* Sets a buffer argument, which is two arguments of the kernel. */
static cl_int set_buffer(const opencl_kernel *k, opencl_set *set, bool known, cl_uint n,
                         const binding *b)
{
    size_t at = 0, left;
    const cl_mem mem = b->buf ? opencl_place(b->buf, b->offset, &at, &left) : NULL;
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
    const size_t bytes = k->base.params[i].bytes;
    if (known && memcmp(set->bytes, value, bytes) == 0)
        return CL_SUCCESS;
    memcpy(set->bytes, value, bytes);
    return cl.clSetKernelArg(k->kernel, n, bytes, value);
}

/* Sets the arguments that differ from the last launch: a call for each of them would take longer than the launch. */
static cl_int set_args(opencl_kernel *k, const kernel_launch *l)
{
    cl_uint n = 0;
    cl_int status = CL_SUCCESS;
    const uint64_t releases = opencl_releases();
    const bool known = k->is_set && k->releases == releases;
    const size_t shared = l->shared_bytes ? l->shared_bytes : 1; /* OpenCL does not allow 0 bytes */
    for (int i = 0; i < k->base.n_params && status == CL_SUCCESS; i++) {
        const bool is_value = k->base.params[i].kind == KERNEL_BYTES;
        status = is_value ? set_bytes(k, &k->set[i], known, n, i, l->args[i].bytes)
                          : set_buffer(k, &k->set[i], known, n, &l->args[i].at);
        n += is_value ? 1 : 2;
    }
    if (k->base.dynamic_shared && status == CL_SUCCESS && (!known || k->set_shared != shared))
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
    TRY(queue_settle(d)); /* it knows better why the launch failed */
    *ns = end - start;
    return opencl_check(d, status, "the time of a launch");
}

/* For messages: the ops, and the kernel that computes them. Called in every launch, so it avoids printf. */
static const char *name_of(const opencl_kernel *k, const kernel_launch *l, char *out)
{
    enum { OPS_MOST = OPENCL_WHAT_BYTES - sizeof k->base.name - 4 };
    if (!l->label)
        return k->base.name;
    const char *ops = l->label + strspn(l->label, " ");
    const size_t n = strnlen(ops, OPS_MOST), name = strlen(k->base.name);
    memcpy(out, ops, n);
    memcpy(out + n, " (", 2);
    memcpy(out + n + 2, k->base.name, name);
    memcpy(out + n + 2 + name, ")", 2);
    return out;
}

static ig_status launch_locked(opencl_kernel *k, const kernel_launch *l)
{
    opencl_device *d = k->dev;
    size_t global[3], local[3];
    /* On a CPU, events are cheap and tell which launch failed. A GPU would have to signal each. */
    cl_event event = NULL, *wanted = d->base.dev.limits.cpu || l->device_ns ? &event : NULL;
    char what[OPENCL_WHAT_BYTES];
    cl_command_queue queue = d->queue;
    TRY(l->device_ns ? queue_timed(d, &queue) : queue_room(d));
    TRY(driver_check_valid(&k->base, l));
    for (int i = 0; i < 3; i++) {
        local[i] = l->block[i];
        global[i] = local[i] * l->grid[i];
    }
    const uint64_t number = ++d->base.number;
    for (int i = 0; i < k->base.n_params; i++)
        if (k->base.params[i].kind == KERNEL_BUFFER && !k->base.params[i].is_read &&
            l->args[i].at.buf)
            ((driver_memory *)l->args[i].at.buf->handle)->written = number;
    cl_int status = set_args(k, l);
    for (int tries = 0; status == CL_SUCCESS && tries < 2; tries++) {
        status =
            cl.clEnqueueNDRangeKernel(queue, k->kernel, 3, NULL, global, local, 0, NULL, wanted);
        if (status != CL_MEM_OBJECT_ALLOCATION_FAILURE || tries > 0)
            break;
        cl.clFinish(queue); /* drivers allocate late; freeing the kept blocks may help */
        pool_trim(&d->base.pool);
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
    TRY(driver_check_shape(&k->base, l, k->base.dynamic_shared ? l->shared_bytes : 0));
    TRY(driver_check_args(&k->base, l));
    TRY(driver_enter(&k->dev->base.dev));
    return driver_left(&k->dev->base.dev, launch_locked(k, l));
}
