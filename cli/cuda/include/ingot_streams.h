/* Streams and events. Calls finish their work before they return, so that a stream is always idle and an event
 * is the time of its record. */
#ifndef INGOT_STREAMS_H
#define INGOT_STREAMS_H

#include "ingot_memory.h"

struct ig_cuda_stream {
    unsigned flags;
    int priority;
};
struct ig_cuda_event {
    unsigned flags;
    double time; /* 0: not yet recorded */
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum {
    cudaEventDefault = 0,
    cudaEventBlockingSync = 1,
    cudaEventDisableTiming = 2,
    cudaEventInterprocess = 4
};

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags,
                                                       int priority)
{
    *s = new (std::nothrow) ig_cuda_stream{flags, priority};
    return *s ? cudaSuccess : ig_cuda::fail(cudaErrorMemoryAllocation);
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    return cudaStreamCreateWithPriority(s, flags, 0);
}
static inline cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithPriority(s, 0, 0);
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if ((uintptr_t)s <= 2)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    delete s;
    return cudaSuccess;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned *f)
{
    return *f = (uintptr_t)s <= 2 ? 0 : s->flags, cudaSuccess;
}
static inline cudaError_t cudaStreamGetPriority(cudaStream_t s, int *p)
{
    return *p = (uintptr_t)s <= 2 ? 0 : s->priority, cudaSuccess;
}
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return *least = *greatest = 0, cudaSuccess;
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t e, unsigned = 0)
{
    return e ? cudaSuccess : ig_cuda::fail(cudaErrorInvalidResourceHandle);
}
/* Streams are never captured, since there are no graphs. */
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone };
static inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status)
{
    return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void *, size_t = 0,
                                                   unsigned = cudaMemAttachSingle)
{
    return cudaSuccess;
}

typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);
typedef void (*cudaHostFn_t)(void *);
static inline cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f,
                                                void *context, unsigned)
{
    f(s, cudaDeviceSynchronize(), context);
    return cudaSuccess;
}
static inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t f, void *context)
{
    const cudaError_t e = cudaDeviceSynchronize();
    if (!e)
        f(context);
    return e;
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    *e = new (std::nothrow) ig_cuda_event{flags, 0};
    return *e ? cudaSuccess : ig_cuda::fail(cudaErrorMemoryAllocation);
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *e, unsigned flags = 0)
{
    return cudaEventCreateWithFlags(e, flags);
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    if (!e)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    delete e;
    return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t = 0)
{
    if (!e)
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    const cudaError_t error = cudaDeviceSynchronize();
    e->time = ig_cuda_clock();
    return error;
}
static inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s = 0, unsigned = 0)
{
    return cudaEventRecord(e, s);
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    return e ? cudaDeviceSynchronize() : ig_cuda::fail(cudaErrorInvalidResourceHandle);
}
static inline cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (!from || !to || !from->time || !to->time ||
        ((from->flags | to->flags) & cudaEventDisableTiming))
        return ig_cuda::fail(cudaErrorInvalidResourceHandle);
    *ms = (float)((to->time - from->time) * 1e3);
    return cudaSuccess;
}

#endif
