/* Managed variables. The program's own variable holds the host's value, the module's variable the device's.
 * The last common value is kept: if the host's value differs from it, the host has written it, and it is
 * copied to the device before the next launch. */
#include "lib/cudart/gpu/gpu.h"

#include "base/memory.h"

#include <string.h>

/* Copies the value to the device if the host changed it. */
static int push(cudart_variable *v, CUstream stream)
{
    CUdeviceptr at;
    if (v->known && memcmp(v->known, v->shadow, v->bytes) == 0)
        return cudaSuccess;
    int error = gpu_variable(v, &at);
    if (!v->known)
        v->known = memory_new(v->bytes);
    if (!error && !v->known)
        error = cudaErrorMemoryAllocation;
    if (error)
        return error;
    memcpy(v->known, v->shadow, v->bytes);
    return cu.copy_to_device(at, v->known, v->bytes, stream);
}

int gpu_managed_to_device(ig_cuda_unit *unit, CUstream stream)
{
    int error = cudaSuccess;
    for (cudart_variable *v = cudart_variables(); v && !error; v = v->next)
        if (v->managed && v->unit == unit)
            error = push(v, stream);
    return error;
}

int gpu_managed_to_host(int error)
{
    for (cudart_variable *v = cudart_variables(); v && !error; v = v->next) {
        CUdeviceptr at;
        if (!v->managed || !v->known)
            continue; /* no kernel has run that could have changed it */
        error = gpu_variable(v, &at);
        if (!error)
            error = cu.copy_to_host(v->known, at, v->bytes, NULL);
        if (!error)
            error = cu.stream_wait(NULL);
        if (!error)
            memcpy(v->shadow, v->known, v->bytes);
    }
    return error;
}

int gpu_managed_address(char **at)
{
    for (const cudart_variable *v = cudart_variables(); v; v = v->next)
        if (v->managed && *at >= v->shadow && *at < v->shadow + v->bytes) {
            CUdeviceptr there;
            const int error = gpu_variable(v, &there);
            if (!error)
                *at = (char *)(uintptr_t)there + (*at - v->shadow);
            return error;
        }
    return cudaSuccess;
}
