/* Streams and events. */
#ifndef INGOT_STREAMS_H
#define INGOT_STREAMS_H

#include "ingot_memory.h"

IG_CALL cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
    return (cudaError_t)ig_cuda_stream_new((void **)s, flags, priority);
}
IG_CALL cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    return cudaStreamCreateWithPriority(s, flags, 0);
}
IG_CALL cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithPriority(s, 0, 0); }
IG_CALL cudaStreamDestroy(cudaStream_t s) { return (cudaError_t)ig_cuda_stream_free(s); }
IG_CALL cudaStreamSynchronize(cudaStream_t s) { return (cudaError_t)ig_cuda_stream_wait(s); }
IG_CALL cudaStreamQuery(cudaStream_t s) { return (cudaError_t)ig_cuda_stream_query(s); }
IG_CALL cudaStreamGetFlags(cudaStream_t s, unsigned *f)
{
    int priority;
    return (cudaError_t)ig_cuda_stream_about(s, f, &priority);
}
IG_CALL cudaStreamGetPriority(cudaStream_t s, int *p)
{
    unsigned flags;
    return (cudaError_t)ig_cuda_stream_about(s, &flags, p);
}
IG_CALL cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return (cudaError_t)ig_cuda_priorities(least, greatest);
}
IG_CALL cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0)
{
    return (cudaError_t)ig_cuda_stream_after(s, e);
}
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
IG_CALL cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus *status)
{
    unsigned long long id;
    ig_cuda_graph *graph;
    ig_cuda_node *const *last;
    size_t n;
    const int e = ig_cuda_capture_about(s, &id, &graph, &last, &n);
    *status = id ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return (cudaError_t)e;
}
IG_CALL cudaStreamAttachMemAsync(cudaStream_t, void *, size_t = 0, unsigned = cudaMemAttachSingle)
{
    return cudaSuccess;
}

/* Attributes of streams are hints without effect, so a stream keeps its initial ones. */
typedef enum cudaLaunchAttributeID cudaStreamAttrID;
typedef union cudaLaunchAttributeValue cudaStreamAttrValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
namespace ig_cuda
{
static inline bool is_of_stream(cudaStreamAttrID which)
{
    return which == cudaStreamAttributeAccessPolicyWindow ||
           which == cudaStreamAttributeSynchronizationPolicy ||
           which == cudaStreamAttributePriority;
}
} // namespace ig_cuda
IG_CALL cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID which, const cudaStreamAttrValue *v)
{
    return v && ig_cuda::is_of_stream(which) ? cudaSuccess : ig_cuda::fail(cudaErrorInvalidValue);
}
IG_CALL cudaStreamGetAttribute(cudaStream_t s, cudaStreamAttrID which, cudaStreamAttrValue *v)
{
    if (!v || !ig_cuda::is_of_stream(which))
        return ig_cuda::fail(cudaErrorInvalidValue);
    memset(v, 0, sizeof *v);
    if (which == cudaStreamAttributeSynchronizationPolicy)
        v->syncPolicy = cudaSyncPolicyAuto;
    return which == cudaStreamAttributePriority ? cudaStreamGetPriority(s, &v->priority)
                                                : cudaSuccess;
}
IG_CALL cudaStreamCopyAttributes(cudaStream_t, cudaStream_t) { return cudaSuccess; }
IG_CALL cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);
typedef void (*cudaHostFn_t)(void *);
namespace ig_cuda
{
struct callback {
    cudaStreamCallback_t f;
    cudaStream_t stream;
    void *context;
};
static inline void call_back(void *given)
{
    const callback c = *(callback *)given;
    delete (callback *)given;
    c.f(c.stream, cudaSuccess, c.context);
}
} // namespace ig_cuda
IG_CALL cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f, void *context, unsigned)
{
    cudaStreamCaptureStatus status;
    if (!cudaStreamIsCapturing(s, &status) && status) /* a callback is called once */
        return ig_cuda::fail(cudaErrorStreamCaptureUnsupported);
    ig_cuda::callback *c = new (std::nothrow) ig_cuda::callback{f, s, context};
    const int e = c ? ig_cuda_stream_call(s, ig_cuda::call_back, c) : cudaErrorMemoryAllocation;
    if (e)
        delete c;
    return e ? ig_cuda::fail((cudaError_t)e) : cudaSuccess;
}
IG_CALL cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *context)
{
    return (cudaError_t)ig_cuda_stream_call(s, f, context);
}

IG_CALL cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    return (cudaError_t)ig_cuda_event_new((void **)e, flags);
}
IG_CALL cudaEventCreate(cudaEvent_t *e, unsigned flags = 0)
{
    return cudaEventCreateWithFlags(e, flags);
}
IG_CALL cudaEventDestroy(cudaEvent_t e) { return (cudaError_t)ig_cuda_event_free(e); }
IG_CALL cudaEventRecord(cudaEvent_t e, cudaStream_t s = 0)
{
    return (cudaError_t)ig_cuda_event_record(e, s);
}
IG_CALL cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s = 0, unsigned = 0)
{
    return cudaEventRecord(e, s);
}
IG_CALL cudaEventSynchronize(cudaEvent_t e) { return (cudaError_t)ig_cuda_event_wait(e); }
IG_CALL cudaEventQuery(cudaEvent_t e) { return (cudaError_t)ig_cuda_event_query(e); }
IG_CALL cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    return (cudaError_t)ig_cuda_event_time(from, to, ms);
}

#endif
