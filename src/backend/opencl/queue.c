/* Commands under way, and what is left of those that failed: see opencl.h. */
#include "backend/opencl/opencl.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

uint64_t queue_number(opencl_device *d) { return ++d->number; }

/* ---- failures ---- */

/* From first on, nothing that was given so far may be used. When there are many, the oldest two
 * become one: what was between them is then refused too, which is safe. */
static void failure_add(opencl_device *d, uint64_t first, const char *text)
{
    opencl_failure *f = d->failures;
    if (d->n_failures == OPENCL_FAILURES) {
        f[0].last = f[1].last;
        memmove(f + 1, f + 2, (OPENCL_FAILURES - 2) * sizeof *f);
        d->n_failures--;
    }
    f = &f[d->n_failures++];
    *f = (opencl_failure){.first = first, .last = d->number};
    snprintf(f->text, sizeof f->text, "%s", text);
}

const opencl_failure *queue_failure(const opencl_device *d, uint64_t number)
{
    for (int i = 0; i < d->n_failures; i++)
        if (number >= d->failures[i].first && number <= d->failures[i].last)
            return &d->failures[i];
    return NULL;
}

static ig_status failed(opencl_device *d, uint64_t first, const char *what, cl_int status)
{
    char text[sizeof d->failures->text];
    snprintf(text, sizeof text, "%s failed with %s", what, opencl_status_name(status));
    failure_add(d, first, text);
    FAIL(IG_ERR_DEVICE, "%s: %s; what it was to write cannot be used", d->name, text);
}

/* ---- commands ---- */

/* Takes the oldest out of the ring. */
static opencl_pending pending_take(opencl_device *d)
{
    const opencl_pending oldest = d->pending[d->pending_first];
    d->pending_first = (d->pending_first + 1) % OPENCL_PENDING;
    d->n_pending--;
    return oldest;
}

void queue_drop(opencl_device *d)
{
    while (d->n_pending)
        cl.clReleaseEvent(pending_take(d).event);
}

/* Waits for the oldest, and tells if it failed. What was given behind it then counts as failed, so
 * there is nothing more to learn from it. */
static ig_status wait_oldest(opencl_device *d)
{
    const opencl_pending p = pending_take(d);
    cl_int waited = cl.clWaitForEvents(1, &p.event), ended = CL_COMPLETE;
    const cl_int asked =
        cl.clGetEventInfo(p.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof ended, &ended, NULL);
    cl.clReleaseEvent(p.event);
    const cl_int status = asked == CL_SUCCESS && ended < 0 ? ended
                          : waited != CL_SUCCESS           ? waited
                                                           : asked;
    if (status == CL_SUCCESS)
        return IG_OK;
    cl.clFinish(d->queue);
    queue_drop(d);
    return failed(d, p.number, p.what, status);
}

ig_status queue_room(opencl_device *d)
{
    return d->n_pending == OPENCL_PENDING ? wait_oldest(d) : IG_OK;
}

ig_status queue_settle(opencl_device *d)
{
    while (d->n_pending)
        TRY(wait_oldest(d));
    return IG_OK;
}

ig_status queue_given(opencl_device *d, uint64_t number, cl_int status, cl_event event,
                      const char *what)
{
    if (status != CL_SUCCESS)
        return failed(d, number, what, status);
    if (!event)
        return IG_OK;
    opencl_pending *p = &d->pending[(d->pending_first + d->n_pending++) % OPENCL_PENDING];
    *p = (opencl_pending){.event = event, .number = number};
    snprintf(p->what, sizeof p->what, "%s", what);
    return IG_OK;
}
