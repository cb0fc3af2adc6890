/* The commands in progress, and the list of failed commands: see opencl.h. */
#include "engine/backend/opencl/opencl.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static ig_status failed(opencl_device *d, uint64_t first, const char *what, cl_int status)
{
    return driver_failed(&d->base, first, what, opencl_status_name(status));
}

/* Removes the oldest command from the ring. */
static opencl_pending pending_take(opencl_device *d)
{
    const opencl_pending oldest = d->pending[d->pending_first];
    d->pending_first = (d->pending_first + 1) % OPENCL_PENDING;
    d->n_pending--;
    return oldest;
}

void queue_drop(opencl_device *d)
{
    while (d->n_pending) {
        const opencl_pending p = pending_take(d);
        if (p.event)
            cl.clReleaseEvent(p.event);
    }
    d->settled = d->base.number;
}

/* The names of the oldest and all later commands, if the driver does not tell which one failed. */
static const char *names_of_all(const opencl_device *d, const char *oldest, char *out)
{
    flight f = {0};
    flight_add(&f, oldest);
    for (int i = 0; i < d->n_pending; i++)
        flight_add(&f, d->pending[(d->pending_first + i) % OPENCL_PENDING].what);
    return flight_text(&f, out);
}

/* Waits for the oldest command, unless all have finished, and fails if it failed. All later commands then count as
 * failed, so they are dropped. A command without an event is not waited for. */
static ig_status wait_oldest(opencl_device *d, bool finished)
{
    char names[FLIGHT_TEXT_BYTES];
    const opencl_pending p = pending_take(d);
    if (!p.event)
        return IG_OK;
    const cl_int waited = finished ? CL_SUCCESS : cl.clWaitForEvents(1, &p.event);
    cl_int ended = CL_COMPLETE;
    const cl_int asked =
        cl.clGetEventInfo(p.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof ended, &ended, NULL);
    cl.clReleaseEvent(p.event);
    const cl_int status = asked == CL_SUCCESS && ended < 0 ? ended
                          : waited != CL_SUCCESS           ? waited
                                                           : asked;
    if (status == CL_SUCCESS)
        return IG_OK;
    const bool known = asked == CL_SUCCESS && ended < 0;
    const char *what = known ? p.what : names_of_all(d, p.what, names);
    cl.clFinish(d->queue);
    queue_drop(d);
    return failed(d, p.number, what, status);
}

ig_status queue_room(opencl_device *d)
{
    return d->n_pending == OPENCL_PENDING ? wait_oldest(d, false) : IG_OK;
}

static bool has_commands_without_event(const opencl_device *d)
{
    for (int i = 0; i < d->n_pending; i++)
        if (!d->pending[(d->pending_first + i) % OPENCL_PENDING].event)
            return true;
    return false;
}

/* All commands since the last wait count as failed. */
static ig_status all_failed(opencl_device *d, cl_int status)
{
    char names[FLIGHT_TEXT_BYTES];
    const uint64_t first = d->settled + 1;
    names_of_all(d, d->pending[d->pending_first].what, names);
    queue_drop(d);
    return failed(d, first, names, status);
}

/* Waits once for all commands, because a driver may sleep in each wait. */
ig_status queue_settle(opencl_device *d)
{
    const bool blind = has_commands_without_event(d);
    const cl_int status = d->n_pending > 1 || blind ? cl.clFinish(d->queue) : CL_SUCCESS;
    if (blind && status != CL_SUCCESS)
        return all_failed(d, status);
    const bool finished =
        d->n_pending > 1 && status == CL_SUCCESS; /* otherwise an event tells what failed */
    while (d->n_pending)
        TRY(wait_oldest(d, finished));
    d->settled = d->base.number;
    return IG_OK;
}

ig_status queue_timed(opencl_device *d, cl_command_queue *queue)
{
    cl_int status = CL_SUCCESS;
    TRY(queue_settle(d));
    if (!d->timed)
        d->timed = cl.clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &status);
    *queue = d->timed;
    return opencl_check(d, status, "clCreateCommandQueue");
}

static void pending_add(opencl_device *d, uint64_t number, cl_event event, const char *what)
{
    opencl_pending *p = &d->pending[(d->pending_first + d->n_pending++) % OPENCL_PENDING];
    p->event = event;
    p->number = number;
    const size_t n = strnlen(what, sizeof p->what - 1);
    memcpy(p->what, what, n);
    p->what[n] = '\0';
}

ig_status queue_given(opencl_device *d, uint64_t number, cl_int status, cl_event event,
                      const char *what)
{
    if (status != CL_SUCCESS)
        return failed(d, number, what, status);
    if (event)
        pending_add(d, number, event, what);
    return IG_OK;
}

ig_status queue_queued(opencl_device *d, uint64_t number, cl_int status, const char *what)
{
    if (status != CL_SUCCESS)
        return failed(d, number, what, status);
    pending_add(d, number, NULL, what);
    return IG_OK;
}
