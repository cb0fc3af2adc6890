/* Launches a kernel on the device's stream. */
#include "engine/backend/cuda/cuda.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>

/* More than 48 KiB must be requested. */
static CUresult allow_shared(cuda_kernel *k, size_t bytes)
{
    enum { USUAL = 48 << 10 };
    if (bytes + k->base.shared_static <= USUAL || bytes <= k->shared_set)
        return CUDA_SUCCESS;
    const CUresult status =
        cu.function_set(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
    if (status == CUDA_SUCCESS)
        k->shared_set = bytes;
    return status;
}

static ig_status launch_locked(cuda_kernel *k, const kernel_launch *l, void **args)
{
    cuda_device *d = k->dev;
    CUevent from = NULL, to = NULL;
    CUresult status = allow_shared(k, l->shared_bytes);
    if (l->device_ns && status == CUDA_SUCCESS)
        status = cu.event_create(&from, CU_EVENT_DEFAULT);
    if (l->device_ns && status == CUDA_SUCCESS)
        status = cu.event_create(&to, CU_EVENT_DEFAULT);
    if (l->device_ns && status == CUDA_SUCCESS)
        status = cu.event_record(from, d->stream);
    if (status == CUDA_SUCCESS)
        status =
            cu.launch(k->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                      l->block[2], (unsigned)l->shared_bytes, d->stream, args, NULL);
    if (l->device_ns && status == CUDA_SUCCESS) {
        float milliseconds = 0;
        status = cu.event_record(to, d->stream);
        if (status == CUDA_SUCCESS)
            status = cu.event_wait(to);
        if (status == CUDA_SUCCESS)
            status = cu.event_time(&milliseconds, from, to);
        *l->device_ns = (uint64_t)((double)milliseconds * 1e6);
    }
    if (from)
        cu.event_destroy(from);
    if (to)
        cu.event_destroy(to);
    return cuda_check(d, status, k->base.name);
}

ig_status cuda_kernel_launch(kernel_code *code, const kernel_launch *l)
{
    cuda_kernel *k = (cuda_kernel *)code;
    CUdeviceptr pointers[CUDA_PARAMS_MOST];
    void *args[CUDA_PARAMS_MOST];
    TRY(driver_check_shape(&k->base, l, l->shared_bytes));
    if (k->base.n_params > CUDA_PARAMS_MOST)
        FAIL(IG_ERR_UNSUPPORTED, "%s has %d parameters; %d are allowed", k->base.name,
             k->base.n_params, CUDA_PARAMS_MOST);
    for (int i = 0; i < k->base.n_params; i++) {
        const kernel_arg *a = &l->args[i];
        if (k->base.params[i].kind == KERNEL_BYTES) {
            args[i] = (void *)(uintptr_t)a->bytes;
            continue;
        }
        const cuda_memory *m = a->at.buf ? a->at.buf->handle : NULL;
        if (m && a->at.buf->device != &k->dev->base.dev)
            FAIL(IG_ERR_ARGUMENT, "%s: parameter %d is a buffer of %s", k->base.name, i + 1,
                 a->at.buf->device->name);
        pointers[i] = m ? m->at + a->at.offset : 0;
        args[i] = &pointers[i];
    }
    cuda_replay *r = l->device_ns ? NULL : cuda_replay_now(k->dev);
    const char *name = l->label ? l->label : k->base.name;
    if (r && cuda_replay_launch(r, k, l, args)) {
        flight_add(&k->dev->flight, name); /* with the lock, like all of a replay */
        return IG_OK;
    }
    TRY(cuda_enter(k->dev));
    const ig_status status = launch_locked(k, l, args);
    flight_add(&k->dev->flight, name);
    if (r && status == IG_OK)
        cuda_replay_launched(r, k, l, args);
    cuda_leave(k->dev);
    return status;
}
