/* Memory and streams of an NVIDIA GPU that are shared with other libraries of the process. All of them use the GPU's
 * primary context, so addresses and streams are valid in each. */
#include "engine/backend/cuda/cuda.h"

#include "base/error.h"
#include "base/memory.h"

/* cuMemAlloc and the allocators of other libraries return such addresses, so a block that is rounded down to one begins in
 * the same allocation. */
enum { BLOCK_ALIGNMENT = 256 };

static int number(const backend *dev) { return cuda_device_of(dev)->id; }

static void *stream(const backend *dev)
{
    cuda_device *d = cuda_device_of(dev);
    if (cuda_enter(d) != IG_OK)
        return NULL;
    void *own = d->stream;
    cuda_leave(d);
    return own;
}

/* Called with the lock and the context. */
static CUresult order(cuda_device *d, CUstream first, CUstream second)
{
    CUresult status = CUDA_SUCCESS;
    if (!d->given)
        status = cu.event_create(&d->given, CU_EVENT_DISABLE_TIMING);
    if (status == CUDA_SUCCESS)
        status = cu.event_record(d->given, first);
    return status == CUDA_SUCCESS ? cu.stream_wait_event(second, d->given, 0) : status;
}

static ig_status order_streams(const backend *dev, void *stream, bool device_waits)
{
    cuda_device *d = cuda_device_of(dev);
    CUresult status;
    TRY(cuda_enter(d));
    if (stream == BACKEND_ALL_STREAMS)
        status = cu.context_wait();
    else
        status = device_waits ? order(d, stream, d->stream) : order(d, d->stream, stream);
    const ig_status result = cuda_check(d, status, "waiting for a stream of another library");
    cuda_leave(d);
    return result;
}

static void *address(const buffer *b)
{
    const cuda_memory *m = b->handle;
    return (void *)(uintptr_t)m->at;
}

/* Launches may still read the memory. */
static void destroy_borrowed(buffer *b)
{
    cuda_device *d = cuda_device_of(b->device);
    if (driver_lock_open(b->device)) {
        if (!d->base.is_lost && cuda_push(d)) {
            cuda_note(d, cuda_wait(d), "waiting for the GPU");
            cu.context_pop(&(CUcontext){NULL});
        }
        driver_unlock(b->device);
    }
    driver_destroy(b);
}

static buffer *borrow(const backend *dev, void *at, size_t bytes, void (*release)(void *context),
                      void *context)
{
    buffer *source = buffer_foreign(at, bytes, release, context);
    buffer *b = source ? buffer_new_opaque(bytes) : NULL;
    cuda_memory *m = b ? memory_new(sizeof *m) : NULL;
    if (!m || cuda_enter(cuda_device_of(dev)) != IG_OK) { /* the device must be open */
        memory_free(m);
        buffer_release(b);
        buffer_release(source);
        return NULL;
    }
    cuda_leave(cuda_device_of(dev));
    m->base.source = source;
    m->at = (CUdeviceptr)(uintptr_t)at;
    b->device = dev;
    b->handle = m;
    b->borrowed = true;
    b->destroy = destroy_borrowed;
    return b;
}

const backend_share cuda_shared = {.number = number,
                                   .stream = stream,
                                   .wait = order_streams,
                                   .address = address,
                                   .borrow = borrow,
                                   .aligned = BLOCK_ALIGNMENT};
