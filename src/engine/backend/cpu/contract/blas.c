/* Finds a BLAS: IG_BLAS is off (the default), on, auto, or the path of a library.
 *
 * It is off by default because a library sums in another order: neither an installed library nor a
 * measurement may change a bit unless the user asks for it. Its threads are switched off. Our
 * workers call it for tiles of a fixed size, so that results do not depend on the number of
 * threads. */
#include "engine/backend/cpu/contract/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct candidate {
    const char *name, *file;
} candidates[] = {
#if defined(__APPLE__)
    {"accelerate", "/System/Library/Frameworks/Accelerate.framework/Accelerate"},
    {"openblas", "libopenblas.dylib"},
    {"blis", "libblis.dylib"},
#else
    {"openblas", "libopenblas.so.0"},
    {"openblas", "libopenblas.so"},
    {"blis", "libblis.so.4"},
    {"blis", "libblis.so"},
#endif
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static blas found;
static bool loaded;
static char described[256];

/* A function of the library, or NULL. A union, because ISO C has no cast from an object pointer. */
typedef void any_function(void);
static any_function *function_find(void *library, const char *name)
{
    union {
        void *object;
        any_function *function;
    } at = {.object = dlsym(library, name)};
    return at.function;
}

static void threads_off(void *library)
{
    any_function *openblas = function_find(library, "openblas_set_num_threads");
    any_function *blis = function_find(library, "bli_thread_set_num_threads");
    any_function *accelerate = function_find(library, "BLASSetThreading"); /* since macOS 12 */
    if (openblas)
        ((void (*)(int))openblas)(1);
    if (blis)
        ((void (*)(long))blis)(1); /* a dim_t */
    if (accelerate)
        ((int (*)(int))accelerate)(1); /* BLAS_THREADING_SINGLE_THREADED */
}

static bool load(const char *name, const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    found.sgemm = (blas_sgemm *)function_find(library, "cblas_sgemm");
    found.dgemm = (blas_dgemm *)function_find(library, "cblas_dgemm");
    if (!found.sgemm || !found.dgemm) {
        dlclose(library);
        return false;
    }
    threads_off(library);
    found.name = name;
    snprintf(described, sizeof described, "%s (%s)%s", name, file,
             found.measured ? ", where it is faster than Ingot's kernels" : "");
    return true;
}

static const char *wish(void)
{
    const char *text = getenv("IG_BLAS");
    return text && *text ? text : "off";
}

static void find(void)
{
    if (strchr(wish(), '/')) {
        loaded = load("blas", wish());
        return;
    }
    found.measured = strcmp(wish(), "auto") == 0;
    if (!found.measured && strcmp(wish(), "on") != 0)
        return;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && !loaded; i++)
        loaded = load(candidates[i].name, candidates[i].file);
}

const blas *blas_get(void)
{
    pthread_once(&once, find);
    return loaded ? &found : NULL;
}

const char *blas_note(void)
{
    const char *text = wish();
    if (strchr(text, '/'))
        return access(text, R_OK) == 0 ? NULL : "IG_BLAS is ignored: the library cannot be read";
    const bool known =
        strcmp(text, "off") == 0 || strcmp(text, "on") == 0 || strcmp(text, "auto") == 0;
    return known ? NULL : "IG_BLAS is ignored: not off, on, auto, or the path of a library";
}

const char *blas_describe(void)
{
    if (strcmp(wish(), "off") == 0 || blas_note())
        return NULL;
    return blas_get() ? described : "none: the library that IG_BLAS asks for was not found";
}
