/* Copies that overlap launches: each direction has its own stream, and no call holds the device's lock while it waits. The
 * copies run on the GPU's copy engines, while kernels run on the device's stream. */
#include "engine/backend/cuda/cuda.h"

#include "base/error.h"

/* A stream of the device, which is made on first use; NULL on failure. */
static CUstream stream_of(cuda_device *d, CUstream *at)
{
    CUresult status = CUDA_SUCCESS;
    if (cuda_enter(d) != IG_OK)
        return NULL;
    if (!*at)
        status = cu.stream_create(at, CU_STREAM_NON_BLOCKING);
    CUstream found = cuda_check(d, status, "making a stream") == IG_OK ? *at : NULL;
    cuda_leave(d);
    return found;
}

/* The result of calls that were made without the lock. */
static ig_status result(cuda_device *d, CUresult status, const char *what)
{
    if (status == CUDA_SUCCESS)
        return IG_OK;
    pthread_mutex_lock(&d->base.lock);
    const ig_status failed = cuda_check(d, status, what);
    pthread_mutex_unlock(&d->base.lock);
    return failed;
}

static ig_status copy(cuda_device *d, CUstream *by, CUdeviceptr there, void *here, size_t bytes,
                      bool up)
{
    CUstream stream = stream_of(d, by);
    CUevent event = NULL;
    if (!stream)
        return error_waiting(IG_ERR_DEVICE);
    CUresult status = cu.context_push(d->context);
    if (status != CUDA_SUCCESS)
        return result(d, status, "using the context");
    status = cu.event_create(&event, CU_EVENT_DISABLE_TIMING);
    if (status == CUDA_SUCCESS)
        status = up ? cu.copy_to_device(there, here, bytes, stream)
                    : cu.copy_to_host(here, there, bytes, stream);
    if (status == CUDA_SUCCESS)
        status = cu.event_record(event, stream);
    if (status == CUDA_SUCCESS)
        status = cu.event_wait(event);
    if (event)
        cu.event_destroy(event);
    cu.context_pop(&(CUcontext){NULL});
    return result(d, status, up ? "a write from the host" : "a read by the host");
}

static ig_status upload(buffer *to, const void *from, size_t bytes)
{
    cuda_device *d = cuda_device_of(to->device);
    TRY(range_check(to, 0, bytes, "write"));
    return bytes ? copy(d, &d->up, ((const cuda_memory *)to->handle)->at, (void *)(uintptr_t)from,
                        bytes, true)
                 : IG_OK;
}

static ig_status download(void *to, buffer *from, size_t offset, size_t bytes)
{
    cuda_device *d = cuda_device_of(from->device);
    TRY(range_check(from, offset, bytes, "read"));
    return bytes ? copy(d, &d->down, ((const cuda_memory *)from->handle)->at + offset, to, bytes,
                        false)
                 : IG_OK;
}

static ig_status wait_launches(const backend *dev)
{
    cuda_device *d = cuda_device_of(dev);
    CUevent event = NULL;
    TRY(cuda_enter(d));
    CUresult status = cu.event_create(&event, CU_EVENT_DISABLE_TIMING);
    if (status == CUDA_SUCCESS)
        status = cu.event_record(event, d->stream);
    cuda_leave(d);
    if (status == CUDA_SUCCESS)
        status = cu.context_push(d->context);
    if (status == CUDA_SUCCESS) {
        status = cu.event_wait(event);
        cu.event_destroy(event);
        cu.context_pop(&(CUcontext){NULL});
    }
    return result(d, status, "waiting for the GPU");
}

const backend_stream cuda_streams = {.upload = upload, .download = download, .wait = wait_launches};
