/* Streams and events of the driver. */
#include "lib/cudart/gpu/gpu.h"

int gpu_stream_new(void **stream, unsigned flags, int priority)
{
    CUstream made = NULL;
    int error = gpu_enter();
    if (!error)
        error = gpu.stream_create_at(&made, flags, priority);
    *stream = made;
    return error;
}

/* The default streams are numbers, and cannot be destroyed. */
int gpu_stream_free(void *stream)
{
    const int error = gpu_enter();
    if (error)
        return error;
    return (uintptr_t)stream <= 2 ? cudaErrorInvalidResourceHandle : cu.stream_destroy(stream);
}

int gpu_stream_wait(void *stream)
{
    const int error = gpu_enter();
    return error ? error : gpu_managed_to_host(cu.stream_wait(stream));
}

int gpu_stream_query(void *stream)
{
    const int error = gpu_enter();
    return error ? error : gpu_managed_to_host(gpu.stream_query(stream));
}

int gpu_stream_after(void *stream, void *event)
{
    const int error = gpu_enter();
    if (error)
        return error;
    return event ? gpu.stream_wait_event(stream, event, 0) : cudaErrorInvalidResourceHandle;
}

int gpu_stream_about(void *stream, unsigned *flags, int *priority)
{
    int error = gpu_enter();
    if (!error)
        error = gpu.stream_flags(stream, flags);
    return error ? error : gpu.stream_priority(stream, priority);
}

int gpu_stream_call(void *stream, void (*f)(void *context), void *context)
{
    const int error = gpu_enter();
    return error ? error : gpu.launch_host(stream, f, context);
}

int gpu_priorities(int *least, int *greatest)
{
    const int error = gpu_enter();
    return error ? error : gpu.priority_range(least, greatest);
}

int gpu_event_new(void **event, unsigned flags)
{
    CUevent made = NULL;
    int error = gpu_enter();
    if (!error)
        error = cu.event_create(&made, flags);
    *event = made;
    return error;
}

int gpu_event_free(void *event)
{
    const int error = gpu_enter();
    return error ? error : cu.event_destroy(event);
}

int gpu_event_record(void *event, void *stream)
{
    const int error = gpu_enter();
    if (error)
        return error;
    return event ? cu.event_record(event, stream) : cudaErrorInvalidResourceHandle;
}

int gpu_event_wait(void *event)
{
    const int error = gpu_enter();
    if (error)
        return error;
    return event ? gpu_managed_to_host(cu.event_wait(event)) : cudaErrorInvalidResourceHandle;
}

int gpu_event_query(void *event)
{
    const int error = gpu_enter();
    return error ? error : gpu_managed_to_host(gpu.event_query(event));
}

int gpu_event_time(void *from, void *to, float *milliseconds)
{
    const int error = gpu_enter();
    if (error)
        return error;
    return from && to ? cu.event_time(milliseconds, from, to) : cudaErrorInvalidResourceHandle;
}
