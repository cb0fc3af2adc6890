/* ig_machine_get: the facts of this machine, and why kinds of devices are absent. */
#include "base/memory.h"
#include "lib/machine/report.h"

#include <string.h>

/* True if there is a device of this kind: "opencl" for "opencl:0". */
static bool has_device(const char *kind)
{
    const size_t n = strlen(kind);
    for (int i = 0; i < ig_device_count(); i++) {
        ig_device_info d = {.size = sizeof d};
        if (ig_device_get(i, &d) == IG_OK && strncmp(d.name, kind, n) == 0 &&
            (!d.name[n] || d.name[n] == ':'))
            return true;
    }
    return false;
}

ig_machine *ig_machine_get(void)
{
    machine_report *r = memory_new(sizeof *r);
    if (!r)
        return NULL;
    machine_report_read(r, "", has_device);
    const ig_absent *a;
    for (int i = 0; (a = ig_device_absent(i)); i++) {
        bool known = false;
        for (int k = 0; k < r->facts.n_absent; k++)
            known = known || strcmp(r->facts.absent[k].name, a->name) == 0;
        if (!known)
            report_add_absent(r, a);
    }
    return &r->facts;
}
