/* The GPU of a program, its context, and the table of the target. */
#include "lib/cudart/gpu/gpu.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cuda_program_api gpu;

/* The context is the device's primary one, which CUDA's own runtime also uses. A reset replaces it and
 * increments its number, so that threads notice. */
static struct {
    pthread_mutex_t lock;
    bool looked;
    const cuda_device *dev;
    CUcontext context; /* NULL: not open */
    unsigned number;
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local unsigned current; /* the number of the thread's context; 0: none */

/* Ends the program: the driver cannot run it at all. */
_Noreturn static void end(const char *why, const char *remedy)
{
    enum { NOT_THERE = 4 };
    ig_fail(IG_ERR_DEVICE, "%s: %s; %s, or run the program with '--device cpu'",
            here.dev->base.name, why, remedy);
    cudart_print_error();
    fflush(NULL);
    _Exit(NOT_THERE);
}

static int open_locked(void)
{
    if (!here.looked) {
        const char *remedy;
        here.dev = cuda_device_of(cudart_device());
        const char *why = cuda_program_api_load(&gpu, &remedy);
        if (why)
            end(why, remedy);
        here.looked = true;
    }
    if (here.context)
        return CUDA_SUCCESS;
    if (cu.context_retain(&here.context, here.dev->id) != CUDA_SUCCESS) {
        here.context = NULL;
        return cudaErrorDevicesUnavailable; /* the same error as CUDA's runtime */
    }
    here.number++;
    return CUDA_SUCCESS;
}

/* After a kernel's fault, the driver may refuse to give the process a working context, even after a reset. */
static int check_reset_locked(void)
{
    size_t available, total;
    if (here.number == 1 || cu.memory_info(&available, &total) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    cu.context_release(here.dev->id);
    here.context = NULL;
    return cudaErrorDevicesUnavailable;
}

static int enter(void)
{
    pthread_mutex_lock(&here.lock);
    int error = open_locked();
    if (!error && current != here.number) {
        error = gpu.context_set(here.context);
        if (!error)
            error = check_reset_locked();
        current = error ? 0 : here.number;
    }
    pthread_mutex_unlock(&here.lock);
    return error;
}

int gpu_capability(void) { return here.dev->capability; }

int gpu_synchronize(void) { return gpu_managed_to_host(cu.context_wait()); }

int gpu_reset(void)
{
    pthread_mutex_lock(&here.lock);
    gpu_units_forget();
    const int error = gpu.context_reset(here.dev->id);
    cu.context_release(here.dev->id);
    here.context = NULL;
    pthread_mutex_unlock(&here.lock);
    return error;
}

int gpu_device(ig_cuda_facts *facts)
{
    size_t available = 0, total = 0;
    const int error = cu.memory_info(&available, &total);
    snprintf(facts->name, sizeof facts->name, "%s", here.dev->model);
    facts->memory = total;
    facts->memory_used = total - available;
    facts->cores = here.dev->cores;
    facts->threads = (int)here.dev->base.dev.limits.threads;
    facts->shared_bytes = here.dev->base.dev.limits.shared_bytes;
    facts->cache_bytes = here.dev->base.dev.facts.cache[1];
    cu.driver_version(&facts->driver_version);
    gpu.device_bus(facts->bus, sizeof facts->bus, here.dev->id);
    return error;
}

int gpu_attribute(int which, int *value) { return cu.device_attribute(value, which, here.dev->id); }

int gpu_limit(int which, size_t *value, bool set)
{
    return set ? gpu.limit_set(which, *value) : gpu.limit_get(value, which);
}

int gpu_symbol(const cudart_variable *v, char **at)
{
    CUdeviceptr found = 0;
    const int error = gpu_variable(v, &found);
    *at = (char *)(uintptr_t)found;
    return error;
}

const cudart_target cudart_gpu = {
    .enter = enter,
#define ROW(name, parameters) .name = gpu_##name,
#include "lib/cudart/target.def"
#undef ROW
};
