/* Streams and events of the modules' target. Calls finish their work before they return, so a stream is
 * always idle, and an event is the time at which it was recorded. */
#include "lib/cudart/cudart.h"

#include "base/clock.h"
#include "base/memory.h"

enum { NOT_BLOCKING = 1, EVENT_WITHOUT_TIME = 2 };

typedef struct stream {
    unsigned flags;
    int priority;
} stream;

typedef struct event {
    unsigned flags;
    double time_s; /* 0: not yet recorded */
} event;

/* True for the default streams, which are numbers. */
static bool is_default(const void *s) { return (uintptr_t)s <= 2; }

int modules_stream_new(void **out, unsigned flags, int priority)
{
    stream *s = memory_new(sizeof *s);
    *out = s;
    if (!s)
        return cudaErrorMemoryAllocation;
    *s = (stream){flags, priority};
    cudart_order_stream(s, flags & NOT_BLOCKING);
    return cudaSuccess;
}

int modules_stream_free(void *s)
{
    if (is_default(s))
        return cudaErrorInvalidResourceHandle;
    memory_free(s);
    return cudaSuccess;
}

int modules_stream_wait(void *s)
{
    const int error = cudart_finish();
    cudart_order_command(s, true);
    return error;
}

int modules_stream_after(void *s, void *e)
{
    if (!e)
        return cudaErrorInvalidResourceHandle;
    cudart_order_after(s, e);
    return cudaSuccess;
}

int modules_stream_about(void *of, unsigned *flags, int *priority)
{
    const stream *s = is_default(of) ? NULL : of;
    *flags = s ? s->flags : 0;
    *priority = s ? s->priority : 0;
    return cudaSuccess;
}

int modules_stream_call(void *s, void (*f)(void *context), void *context)
{
    (void)s;
    const int error = cudart_finish();
    if (!error)
        f(context);
    return error;
}

int modules_priorities(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

int modules_event_new(void **out, unsigned flags)
{
    event *e = memory_new(sizeof *e);
    *out = e;
    if (!e)
        return cudaErrorMemoryAllocation;
    *e = (event){flags, 0};
    return cudaSuccess;
}

int modules_event_free(void *e)
{
    memory_free(e);
    return cudaSuccess;
}

int modules_event_record(void *of, void *s)
{
    event *e = of;
    if (!e)
        return cudaErrorInvalidResourceHandle;
    const int error = cudart_finish();
    cudart_order_event(e, s);
    e->time_s = clock_s();
    return error;
}

int modules_event_wait(void *e)
{
    if (!e)
        return cudaErrorInvalidResourceHandle;
    const int error = cudart_finish();
    cudart_order_wait(e);
    return error;
}

int modules_event_time(void *begin, void *end, float *milliseconds)
{
    const event *from = begin, *to = end;
    if (!from || !to || from->time_s == 0 || to->time_s == 0 ||
        ((from->flags | to->flags) & EVENT_WITHOUT_TIME))
        return cudaErrorInvalidResourceHandle;
    *milliseconds = (float)((to->time_s - from->time_s) * 1e3);
    return cudaSuccess;
}
