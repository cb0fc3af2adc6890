/* The description of the machine in measured results. */
#include "machine.h"

#include <string.h>

int machine_disturbances(const ig_machine *m, arena *a, const char ***texts)
{
    int n = 0;
    *texts = arena_get(a, sizeof **texts * (size_t)(m->n_findings + 1));
    for (int i = 0; i < m->n_findings; i++)
        if (m->findings[i].severity != IG_FINE)
            (*texts)[n++] = arena_string(a, m->findings[i].what, strlen(m->findings[i].what));
    return n;
}
