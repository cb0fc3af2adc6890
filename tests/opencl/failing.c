/* A stand-in for the OpenCL library that forwards to the real one (IG_TEST_OPENCL, or the loader's
 * usual name) and can be made to fail: at the n-th call, or at a launch when it is waited for. It counts live objects.
 * IG_TEST_PLATFORM replaces the name of the platform; with IG_TEST_GPU its CPUs are reported as GPUs, and for the
 * platform "NVIDIA CUDA" they report the properties of an H200. A call that releases something releases it even if the
 * call is to fail, so a leak is always the caller's. Not thread-safe. */
#include "opencl/failing.h"

#include "engine/backend/opencl/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

/* Prototypes of the functions that the shim replaces. */
#define CL_FUNCTION(result, name, parameters) SHOWN result name parameters;
#include "engine/backend/opencl/api.def"

static opencl_api real;
static long calls, objects, compiled, binaries, fail_at, launches, fail_launch;
static bool fail_always;
static uint64_t buffer_most, memory_most, memory_held;
static struct {
    cl_mem mem;
    uint64_t bytes;
} buffers[1024]; /* live buffers, as far as there is room */
enum { BUFFERS = sizeof buffers / sizeof buffers[0] };
static char build_options[512];
static cl_event lost; /* the event of the launch that must fail */

SHOWN void failing_at(long n, bool always)
{
    calls = 0;
    fail_at = n;
    fail_always = always;
}

SHOWN void failing_launch(long n)
{
    launches = 0;
    fail_launch = n;
    lost = NULL;
}

SHOWN void failing_memory(uint64_t largest, uint64_t all)
{
    buffer_most = largest;
    memory_most = all;
}

SHOWN long failing_calls(void) { return calls; }
SHOWN long failing_objects(void) { return objects; }
SHOWN long failing_compiled(void) { return compiled; }
SHOWN long failing_binaries(void) { return binaries; }
SHOWN const char *failing_options(void) { return build_options; }

__attribute__((constructor)) static void load(void)
{
    static const char *const names[] = {
#define CL_FUNCTION(result, name, parameters) #name,
#include "engine/backend/opencl/api.def"
    };
    const char *path = getenv("IG_TEST_OPENCL");
    void *library = dlopen(path ? path : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof names / sizeof names[0]; i++) {
        void *at = dlsym(library, names[i]);
        memcpy((char *)&real + i * sizeof at, &at, sizeof at);
    }
}

/* Counts a call; true: it must fail. */
static bool fails(void)
{
    calls++;
    return fail_at && (fail_always ? calls >= fail_at : calls == fail_at);
}

/* Counts a new object. */
static void *made(void *object)
{
    objects += object != NULL;
    return object;
}

static void *refuse(cl_int code, cl_int *status)
{
    if (status)
        *status = code;
    return NULL;
}

/* Counts a released object. */
static cl_int gone(cl_int status, bool failing, cl_int code)
{
    objects -= status == CL_SUCCESS;
    return failing ? code : status;
}

static cl_int enqueued(cl_int status, cl_event *event)
{
    objects += status == CL_SUCCESS && event;
    return status;
}

/* ---- queries ---- */

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *ids, cl_uint *count)
{
    char *list = getenv("OCL_ICD_FILENAMES");
    if (list)
        strtok(list, ":"); /* as loaders that support this variable do */
    if (!real.clGetPlatformIDs)
        return CL_PLATFORM_NOT_FOUND_KHR;
    return fails() ? CL_OUT_OF_HOST_MEMORY : real.clGetPlatformIDs(n, ids, count);
}

cl_int clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t bytes, void *to,
                         size_t *got)
{
    const char *name = what == CL_PLATFORM_NAME ? getenv("IG_TEST_PLATFORM") : NULL;
    if (fails())
        return CL_INVALID_PLATFORM;
    if (!name)
        return real.clGetPlatformInfo(id, what, bytes, to, got);
    snprintf(to, bytes, "%s", name);
    return CL_SUCCESS;
}

cl_int clGetDeviceIDs(cl_platform_id id, cl_device_type type, cl_uint n, cl_device_id *ids,
                      cl_uint *count)
{
    if (fails())
        return CL_INVALID_PLATFORM;
    if (!getenv("IG_TEST_GPU"))
        return real.clGetDeviceIDs(id, type, n, ids, count);
    return type == CL_DEVICE_TYPE_GPU ? real.clGetDeviceIDs(id, CL_DEVICE_TYPE_CPU, n, ids, count)
                                      : CL_DEVICE_NOT_FOUND;
}

/* The values that NVIDIA's extensions report; false: not a query of an extension. */
static bool nvidia_number(cl_device_info what, cl_uint *out)
{
    static const cl_uint numbers[][2] = {{CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, 9},
                                         {CL_DEVICE_WARP_SIZE_NV, 32}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i][0] == what)
            return *out = numbers[i][1], true;
    return false;
}

static bool is_nvidia(void)
{
    const char *name = getenv("IG_TEST_PLATFORM");
    return name && strcmp(name, "NVIDIA CUDA") == 0;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t bytes, void *to, size_t *got)
{
    static const char extensions[] = "cl_nv_device_attribute_query";
    cl_uint number;
    if (fails())
        return CL_DEVICE_NOT_AVAILABLE;
    if (is_nvidia() && nvidia_number(what, &number)) {
        memcpy(to, &number, sizeof number);
        *got = sizeof number;
        return CL_SUCCESS;
    }
    if (is_nvidia() && what == CL_DEVICE_EXTENSIONS) {
        snprintf(to, bytes, "%s", extensions);
        if (got)
            *got = sizeof extensions;
        return CL_SUCCESS;
    }
    const cl_int status = real.clGetDeviceInfo(id, what, bytes, to, got);
    if (status == CL_SUCCESS && to && what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && buffer_most)
        *(cl_ulong *)to = buffer_most;
    return status;
}

cl_int clGetProgramInfo(cl_program p, cl_program_info what, size_t bytes, void *to, size_t *got)
{
    binaries++;
    return fails() ? CL_INVALID_PROGRAM : real.clGetProgramInfo(p, what, bytes, to, got);
}

cl_int clGetProgramBuildInfo(cl_program p, cl_device_id id, cl_program_build_info what,
                             size_t bytes, void *to, size_t *got)
{
    return fails() ? CL_INVALID_PROGRAM : real.clGetProgramBuildInfo(p, id, what, bytes, to, got);
}

cl_int clGetKernelInfo(cl_kernel k, cl_kernel_info what, size_t bytes, void *to, size_t *got)
{
    return fails() ? CL_INVALID_KERNEL : real.clGetKernelInfo(k, what, bytes, to, got);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id id, cl_kernel_work_group_info what,
                                size_t bytes, void *to, size_t *got)
{
    return fails() ? CL_INVALID_KERNEL : real.clGetKernelWorkGroupInfo(k, id, what, bytes, to, got);
}

cl_int clGetEventInfo(cl_event e, cl_event_info what, size_t bytes, void *to, size_t *got)
{
    if (fails())
        return CL_INVALID_EVENT;
    const cl_int status = real.clGetEventInfo(e, what, bytes, to, got);
    if (status == CL_SUCCESS && e == lost && what == CL_EVENT_COMMAND_EXECUTION_STATUS)
        *(cl_int *)to = CL_OUT_OF_RESOURCES;
    return status;
}

cl_int clGetEventProfilingInfo(cl_event e, cl_profiling_info what, size_t bytes, void *to,
                               size_t *got)
{
    return fails() ? CL_PROFILING_INFO_NOT_AVAILABLE
                   : real.clGetEventProfilingInfo(e, what, bytes, to, got);
}

/* ---- creating and releasing ---- */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint n,
                           const cl_device_id *ids,
                           void (*tell)(const char *, const void *, size_t, void *), void *user,
                           cl_int *status)
{
    return fails() ? refuse(CL_OUT_OF_RESOURCES, status)
                   : made(real.clCreateContext(properties, n, ids, tell, user, status));
}

cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id id,
                                      cl_command_queue_properties properties, cl_int *status)
{
    return fails() ? refuse(CL_OUT_OF_HOST_MEMORY, status)
                   : made(real.clCreateCommandQueue(c, id, properties, status));
}

cl_mem clCreateBuffer(cl_context c, cl_mem_flags flags, size_t bytes, void *host, cl_int *status)
{
    if (fails() || (memory_most && memory_held + bytes > memory_most))
        return refuse(CL_MEM_OBJECT_ALLOCATION_FAILURE, status);
    if (buffer_most && bytes > buffer_most)
        return refuse(CL_INVALID_BUFFER_SIZE, status);
    const cl_mem mem = made(real.clCreateBuffer(c, flags, bytes, host, status));
    for (int i = 0; mem && i < BUFFERS; i++)
        if (!buffers[i].mem) {
            buffers[i].mem = mem;
            buffers[i].bytes = bytes;
            memory_held += bytes;
            break;
        }
    return mem;
}

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **source,
                                     const size_t *lengths, cl_int *status)
{
    compiled++;
    return fails() ? refuse(CL_OUT_OF_HOST_MEMORY, status)
                   : made(real.clCreateProgramWithSource(c, n, source, lengths, status));
}

cl_program clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ids,
                                     const size_t *bytes, const unsigned char **data, cl_int *taken,
                                     cl_int *status)
{
    return fails() ? refuse(CL_INVALID_BINARY, status)
                   : made(real.clCreateProgramWithBinary(c, n, ids, bytes, data, taken, status));
}

cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *status)
{
    return fails() ? refuse(CL_OUT_OF_RESOURCES, status)
                   : made(real.clCreateKernel(p, name, status));
}

cl_int clReleaseContext(cl_context c)
{
    const bool failing = fails();
    return gone(real.clReleaseContext(c), failing, CL_OUT_OF_RESOURCES);
}

cl_int clReleaseCommandQueue(cl_command_queue q)
{
    const bool failing = fails();
    return gone(real.clReleaseCommandQueue(q), failing, CL_OUT_OF_RESOURCES);
}

cl_int clReleaseMemObject(cl_mem m)
{
    const bool failing = fails();
    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i].mem == m) {
            buffers[i].mem = NULL;
            memory_held -= buffers[i].bytes;
            break;
        }
    return gone(real.clReleaseMemObject(m), failing, CL_OUT_OF_RESOURCES);
}

cl_int clReleaseProgram(cl_program p)
{
    const bool failing = fails();
    return gone(real.clReleaseProgram(p), failing, CL_OUT_OF_RESOURCES);
}

cl_int clReleaseKernel(cl_kernel k)
{
    const bool failing = fails();
    return gone(real.clReleaseKernel(k), failing, CL_OUT_OF_RESOURCES);
}

cl_int clReleaseEvent(cl_event e)
{
    const bool failing = fails();
    if (e == lost)
        lost = NULL;
    return gone(real.clReleaseEvent(e), failing, CL_OUT_OF_RESOURCES);
}

/* ---- commands ---- */

cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *ids, const char *options,
                      void (*tell)(cl_program, void *), void *user)
{
    snprintf(build_options, sizeof build_options, "%s", options);
    return fails() ? CL_COMPILER_NOT_AVAILABLE
                   : real.clBuildProgram(p, n, ids, is_nvidia() ? "" : options, tell, user);
}

cl_int clSetKernelArg(cl_kernel k, cl_uint i, size_t bytes, const void *value)
{
    return fails() ? CL_OUT_OF_RESOURCES : real.clSetKernelArg(k, i, bytes, value);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint n_wait,
                              const cl_event *wait, cl_event *event)
{
    if (fails())
        return CL_OUT_OF_RESOURCES;
    const cl_int status =
        real.clEnqueueNDRangeKernel(q, k, n, offset, global, local, n_wait, wait, event);
    if (status == CL_SUCCESS && event && ++launches == fail_launch)
        lost = *event;
    return enqueued(status, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool block, size_t offset, size_t bytes,
                           void *to, cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    return fails() ? CL_OUT_OF_RESOURCES
                   : enqueued(real.clEnqueueReadBuffer(q, m, block, offset, bytes, to, n_wait, wait,
                                                       event),
                              event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool block, size_t offset,
                            size_t bytes, const void *from, cl_uint n_wait, const cl_event *wait,
                            cl_event *event)
{
    return fails() ? CL_OUT_OF_RESOURCES
                   : enqueued(real.clEnqueueWriteBuffer(q, m, block, offset, bytes, from, n_wait,
                                                        wait, event),
                              event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t bytes, cl_uint n_wait, const cl_event *wait,
                           cl_event *event)
{
    return fails() ? CL_OUT_OF_HOST_MEMORY
                   : enqueued(real.clEnqueueCopyBuffer(q, from, to, from_offset, to_offset, bytes,
                                                       n_wait, wait, event),
                              event);
}

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *pattern, size_t step,
                           size_t offset, size_t bytes, cl_uint n_wait, const cl_event *wait,
                           cl_event *event)
{
    return fails() ? CL_OUT_OF_HOST_MEMORY
                   : enqueued(real.clEnqueueFillBuffer(q, m, pattern, step, offset, bytes, n_wait,
                                                       wait, event),
                              event);
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    if (fails())
        return CL_OUT_OF_RESOURCES;
    const cl_int status = real.clWaitForEvents(n, events);
    for (cl_uint i = 0; i < n; i++)
        if (events[i] == lost)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return status;
}

cl_int clFinish(cl_command_queue q) { return fails() ? CL_OUT_OF_RESOURCES : real.clFinish(q); }
