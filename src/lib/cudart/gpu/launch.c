/* Launches, and the driver's facts about kernels. */
#include "lib/cudart/gpu/gpu.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { PARAMS_MOST = 1024 };

/* The error that the runtime of the driver's version returns: CUDA 13 returns cudaErrorInvalidValue. */
static int refusal(void)
{
    int version = 0;
    cu.driver_version(&version);
    return version >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
}

int gpu_check(const cudart_shape *s)
{
    static const uint32_t grid_most[3] = {INT32_MAX, 65535, 65535};
    uint64_t threads = 1;
    bool fits = true;
    const backend_limits *can = &cudart_device()->limits;
    for (int i = 0; i < 3; i++) {
        fits = fits && s->grid[i] && s->grid[i] <= grid_most[i] && s->block[i] &&
               s->block[i] <= can->thread_at[i];
        threads *= s->block[i];
    }
    return fits && threads <= can->threads ? cudaSuccess : refusal();
}

/* Compares the parameters with the compiled kernel's parameters, if the driver can list them. */
static int check_params(const ig_cuda_kernel *k, CUfunction f, const size_t *sizes, int n)
{
    size_t offset, bytes;
    if (!sizes || !cu.function_param)
        return cudaSuccess;
    for (int i = 0; i < n; i++) {
        if (cu.function_param(f, (size_t)i, &offset, &bytes) != CUDA_SUCCESS) {
            ig_fail(IG_ERR_FORMAT, "kernel '%s' has %d parameters on the host but %d on the device",
                    k->name, n, i);
            return cudart_mismatch();
        }
        if (bytes != sizes[i]) {
            ig_fail(IG_ERR_FORMAT,
                    "kernel '%s': parameter %d has %zu bytes on the host but %zu on the device",
                    k->name, i + 1, sizes[i], bytes);
            return cudart_mismatch();
        }
    }
    return cudaSuccess;
}

/* Replaces pointers to managed variables by their device addresses; other arguments stay unchanged. */
static int translate(void *const *args, const size_t *sizes, int n, void **out, char **pointers)
{
    int error = cudaSuccess;
    for (int i = 0; i < n && !error; i++) {
        out[i] = args[i];
        if (sizes[i] != sizeof pointers[i])
            continue;
        memcpy(&pointers[i], args[i], sizeof pointers[i]);
        error = gpu_managed_address(&pointers[i]);
        out[i] = &pointers[i];
    }
    return error;
}

static int start(CUfunction f, const cudart_shape *s, void **args)
{
    const uint32_t *g = s->grid, *b = s->block;
    const unsigned shared = (unsigned)s->shared_bytes;
    if (s->n_attributes && !cu.launch_ex)
        return cudaErrorNotSupported;
    if (s->n_attributes) {
        const CUlaunchConfig config = {
            g[0],           g[1],      g[2],
            b[0],           b[1],      b[2],
            shared,         s->stream, (CUlaunchAttribute *)(uintptr_t)s->attributes,
            s->n_attributes};
        return cu.launch_ex(&config, f, args, NULL);
    }
    if (s->cooperative)
        return gpu.launch_cooperative(f, g[0], g[1], g[2], b[0], b[1], b[2], shared, s->stream,
                                      args);
    return cu.launch(f, g[0], g[1], g[2], b[0], b[1], b[2], shared, s->stream, args, s->extra);
}

int gpu_launch(ig_cuda_kernel *k, const cudart_shape *s, void *const *args, const size_t *sizes,
               int n)
{
    CUfunction f;
    void *given[PARAMS_MOST];
    char *pointers[PARAMS_MOST];
    int error = gpu_function_find(k, &f);
    if (!error)
        error = check_params(k, f, sizes, n);
    if (!error && s->shared_bytes > UINT32_MAX)
        error = cudaErrorInvalidValue;
    if (!error)
        error = gpu_managed_to_device(k->unit, s->stream);
    const bool known = sizes && n <= PARAMS_MOST;
    if (!error && known)
        error = translate(args, sizes, n, given, pointers);
    return error ? error : start(f, s, known ? given : (void **)(uintptr_t)args);
}

int gpu_function(ig_cuda_kernel *k, ig_cuda_attributes *a)
{
    CUfunction f;
    int shared = 0, local = 0, constant = 0;
    int error = gpu_function_find(k, &f);
    const struct {
        CUfunction_attribute what;
        int *value;
    } rows[] = {{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
                {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
                {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
                {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a->max_threads},
                {CU_FUNC_ATTRIBUTE_NUM_REGS, &a->registers},
                {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &a->dynamic_shared_bytes},
                {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a->version}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !error; i++)
        error = cu.function_attribute(rows[i].value, rows[i].what, f);
    a->shared_bytes = (size_t)shared;
    a->local_bytes = (size_t)local;
    a->constant_bytes = (size_t)constant;
    return error;
}

int gpu_function_set(ig_cuda_kernel *k, int attribute, int value)
{
    CUfunction f;
    const int error = gpu_function_find(k, &f);
    return error ? error : cu.function_set(f, attribute, value);
}

int gpu_occupancy(ig_cuda_kernel *k, int threads, size_t shared_bytes, int *blocks)
{
    CUfunction f;
    const int error = gpu_function_find(k, &f);
    return error ? error : gpu.occupancy(blocks, f, threads, shared_bytes);
}
