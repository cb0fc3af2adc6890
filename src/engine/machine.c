/* The machine, as callers see it: what base finds, but for the kinds of device that this build has. */
#include "backend/backend.h"
#include "base/machine_report.h"
#include "base/memory.h"

static bool has_backend(const char *name) { return backend_find(name) != NULL; }

ig_machine *ig_machine_get(void)
{
    machine_report *r = memory_new(sizeof *r);
    if (!r)
        return NULL;
    machine_report_read(r, "", has_backend);
    return &r->facts;
}
