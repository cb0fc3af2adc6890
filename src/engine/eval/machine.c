/* The machine, as callers see it: what base finds, and what backends say of devices that are absent. */
#include "engine/backend/backend.h"
#include "base/machine_report.h"
#include "base/memory.h"

#include <string.h>

static bool has_backend(const char *name) { return backend_find(name) != NULL; }

ig_machine *ig_machine_get(void)
{
    machine_report *r = memory_new(sizeof *r);
    if (!r)
        return NULL;
    machine_report_read(r, "", has_backend);
    ig_absent a;
    for (int i = 0; backend_absent(i, &a); i++) {
        bool known = false;
        for (int k = 0; k < r->facts.n_absent; k++)
            known = known || strcmp(r->facts.absent[k].name, a.name) == 0;
        if (!known)
            report_add_absent(r, &a);
    }
    return &r->facts;
}
