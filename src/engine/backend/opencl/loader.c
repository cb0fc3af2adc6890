/* Loads OpenCL with dlopen: the ICD loader, or the framework of macOS. On a machine without it, this costs a
 * few failed dlopens, once, when its devices are first needed. */
#include "engine/backend/opencl/api.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const candidates[] = {
#if defined(__APPLE__)
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#else
    "libOpenCL.so.1",
    "libOpenCL.so",
#endif
};

enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

typedef void any_function(void);

/* In the order of struct opencl_api. */
static const char *const names[] = {
#define CL_FUNCTION(result, name, parameters) #name,
#include "engine/backend/opencl/api.def"
};

enum { FUNCTIONS = sizeof names / sizeof names[0] };
_Static_assert(sizeof(opencl_api) == FUNCTIONS * sizeof(any_function *), "only functions in it");

static const char *load_from(void *library, opencl_api *api, const char **remedy)
{
    static char why[96];
    for (int i = 0; i < FUNCTIONS; i++) {
        void *at = dlsym(library, names[i]);
        if (!at) {
            snprintf(why, sizeof why, "its library lacks %s: it is older than OpenCL 1.2",
                     names[i]);
            *remedy = "apt-get install ocl-icd-libopencl1";
            return why;
        }
        memcpy((char *)api + (size_t)i * sizeof at, &at, sizeof at);
    }
    return NULL;
}

const char *opencl_api_load(opencl_api *api, const char **remedy)
{
    static char why[512];
    const char *wish = getenv("IG_OPENCL");
    void *library = NULL;
    if (wish && strcmp(wish, "off") == 0) {
        *remedy = "unset IG_OPENCL";
        return "IG_OPENCL=off switches it off";
    }
    if (wish && *wish) {
        library = dlopen(wish, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char *said = dlerror();
            snprintf(why, sizeof why, "IG_OPENCL names a library that does not load: %s",
                     said ? said : wish);
            *remedy = "unset IG_OPENCL";
            return why;
        }
        return load_from(library, api, remedy);
    }
    for (int i = 0; i < CANDIDATES && !library; i++)
        library = dlopen(candidates[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, sizeof why, "%s is not installed", candidates[0]);
        *remedy = "apt-get install ocl-icd-libopencl1, and your device's driver (for the CPU, "
                  "pocl-opencl-icd)";
        return why;
    }
    return load_from(library, api, remedy);
}

static const char *const lists_named[OPENCL_LISTS] = {"OCL_ICD_FILENAMES", "OCL_ICD_VENDORS",
                                                      "OPENCL_LAYERS"};

void opencl_lists_keep(opencl_lists *lists)
{
    for (int i = 0; i < OPENCL_LISTS; i++) {
        const char *value = getenv(lists_named[i]);
        const size_t bytes = value ? strlen(value) + 1 : 0;
        lists->value[i] = value ? memory_get(bytes) : NULL;
        if (lists->value[i])
            memcpy(lists->value[i], value, bytes);
    }
}

void opencl_lists_restore(opencl_lists *lists)
{
    for (int i = 0; i < OPENCL_LISTS; i++) {
        const char *kept = lists->value[i], *value = kept ? getenv(lists_named[i]) : NULL;
        if (kept && (!value || strcmp(kept, value) != 0))
            setenv(lists_named[i], kept, 1);
        memory_free(lists->value[i]);
    }
}

static const struct status {
    cl_int value;
    const char *name;
} statuses[] = {
#define CL_STATUS(name, value) {value, #name},
#include "engine/backend/opencl/api.def"
    {CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, "NVIDIA's error -9999 (an access out of bounds or misaligned)"},
};

const char *opencl_status_name(cl_int status)
{
    static _Thread_local char other[32];
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].value == status)
            return statuses[i].name;
    snprintf(other, sizeof other, "OpenCL error %d", (int)status);
    return other;
}
