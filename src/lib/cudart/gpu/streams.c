/* Streams and events of the driver. */
#include "lib/cudart/gpu/gpu.h"

int gpu_stream_new(void **stream, unsigned flags, int priority)
{
    CUstream made = NULL;
    const int error = gpu.stream_create_at(&made, flags, priority);
    *stream = made;
    return error;
}

/* The default streams are numbers, and cannot be destroyed. */
int gpu_stream_free(void *stream)
{
    return (uintptr_t)stream <= 2 ? cudaErrorInvalidResourceHandle : cu.stream_destroy(stream);
}

int gpu_stream_wait(void *stream) { return gpu_managed_to_host(cu.stream_wait(stream)); }
int gpu_stream_query(void *stream) { return gpu_managed_to_host(gpu.stream_query(stream)); }

int gpu_stream_after(void *stream, void *event)
{
    return event ? cu.stream_wait_event(stream, event, 0) : cudaErrorInvalidResourceHandle;
}

int gpu_stream_about(void *stream, unsigned *flags, int *priority)
{
    const int error = gpu.stream_flags(stream, flags);
    return error ? error : gpu.stream_priority(stream, priority);
}

int gpu_stream_call(void *stream, void (*f)(void *context), void *context)
{
    return gpu.launch_host(stream, f, context);
}

int gpu_priorities(int *least, int *greatest) { return gpu.priority_range(least, greatest); }

int gpu_event_new(void **event, unsigned flags)
{
    CUevent made = NULL;
    const int error = cu.event_create(&made, flags);
    *event = made;
    return error;
}

int gpu_event_free(void *event) { return cu.event_destroy(event); }

int gpu_event_record(void *event, void *stream)
{
    return event ? cu.event_record(event, stream) : cudaErrorInvalidResourceHandle;
}

int gpu_event_wait(void *event)
{
    return event ? gpu_managed_to_host(cu.event_wait(event)) : cudaErrorInvalidResourceHandle;
}

int gpu_event_query(void *event) { return gpu_managed_to_host(gpu.event_query(event)); }

int gpu_event_time(void *from, void *to, float *milliseconds)
{
    return from && to ? cu.event_time(milliseconds, from, to) : cudaErrorInvalidResourceHandle;
}
