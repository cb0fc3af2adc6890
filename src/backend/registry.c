/* The list of devices, in the order in which `ingot devices` shows them. */
#include "backend/backend.h"

#include <string.h>

static const backend *const backends[] = {&backend_cpu, &backend_null};

enum { BACKEND_COUNT = sizeof backends / sizeof backends[0] };

int backend_count(void) { return BACKEND_COUNT; }

const backend *backend_at(int i) { return i >= 0 && i < BACKEND_COUNT ? backends[i] : NULL; }

const backend *backend_find(const char *name)
{
    for (int i = 0; i < BACKEND_COUNT; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
