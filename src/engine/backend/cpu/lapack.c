/* Finds a LAPACK: see lapack.h. */
#include "engine/backend/cpu/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Only fast libraries. With `mark`, a file is one of them if it, or a library that it needs, has this function. */
static const struct candidate {
    const char *name, *file, *mark;
} candidates[] = {
#if defined(__APPLE__)
    {"accelerate", "/System/Library/Frameworks/Accelerate.framework/Accelerate", NULL},
    {"openblas", "libopenblas.dylib", NULL},
#else
    {"openblas", "libopenblas.so.0", NULL},
    {"openblas", "libopenblas.so", NULL},
    {"openblas", "liblapack.so.3", "openblas_get_config"},
#endif
};

static const struct function {
    const char *name[2]; /* real, complex */
} functions[] = {
#define LAPACK(field, real, complex, parameters) {{real, complex}},
#include "engine/backend/cpu/lapack.def"
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };
_Static_assert(sizeof(lapack_type) == FUNCTIONS * sizeof(void *), "only functions in it");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static lapack found;
static atomic_bool loaded;

/* False if the library lacks a function. */
static bool fill(void *library, char letter, bool complex, lapack_type *t)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];
        void *at = NULL;
        if (functions[i].name[complex]) {
            snprintf(name, sizeof name, "%c%s_", letter, functions[i].name[complex]);
            if (!(at = dlsym(library, name)))
                return false;
        }
        memcpy((char *)t + (size_t)i * sizeof at, &at, sizeof at);
    }
    return true;
}

static bool load(const char *name, const char *file, const char *mark)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    bool ok = !mark || dlsym(library, mark);
    for (int i = 0; i < 4 && ok; i++)
        ok = fill(library, "sdcz"[i], i >= 2, &found.type[i]);
    if (!ok) {
        dlclose(library);
        return false;
    }
    void *set = dlsym(library, "openblas_set_num_threads");
    void *get = dlsym(library, "openblas_get_num_threads");
    if (set && get) {
        memcpy(&found.threads_set, &set, sizeof set);
        memcpy(&found.threads_get, &get, sizeof get);
    }
    found.name = name;
    return true;
}

static const char *wish(void)
{
    const char *text = getenv("IG_LAPACK");
    return text && *text ? text : "on";
}

static void find(void)
{
    bool ok = false;
    if (strchr(wish(), '/'))
        ok = load("lapack", wish(), NULL);
    else if (strcmp(wish(), "off") != 0)
        for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && !ok; i++)
            ok = load(candidates[i].name, candidates[i].file, candidates[i].mark);
    loaded = ok;
}

const lapack *lapack_get(void)
{
    pthread_once(&once, find);
    return loaded ? &found : NULL;
}

const char *lapack_note(void)
{
    const char *text = wish();
    if (strchr(text, '/'))
        return access(text, R_OK) == 0 ? NULL : "IG_LAPACK is ignored: the library cannot be read";
    return strcmp(text, "off") == 0 || strcmp(text, "on") == 0
               ? NULL
               : "IG_LAPACK is ignored: not off, on, or the path of a library";
}
