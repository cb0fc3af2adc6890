/* Loading libobjc and Metal with dlopen. */
#include "engine/backend/metal/objc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

objc_runtime objc;
objc_messages objc_message;

enum { LIBRARIES_MOST = 4 };

static const char *const symbols[] = {
#define RUNTIME(result, name, symbol, parameters) #symbol,
#include "engine/backend/metal/messages.def"
};

static const char *const selectors[] = {
#define SEND0(result, name, selector) selector,
#define SEND(result, name, selector, parameters) selector,
#include "engine/backend/metal/messages.def"
};

/* A row of objc_messages, with any prototype. */
typedef struct message {
    void (*send)(void);
    SEL op;
} message;

enum {
    SYMBOLS = sizeof symbols / sizeof symbols[0],
    SELECTORS = sizeof selectors / sizeof selectors[0]
};
_Static_assert(sizeof(objc_runtime) == SYMBOLS * sizeof(void *), "only functions in it");
_Static_assert(sizeof(objc_messages) == SELECTORS * sizeof(message), "only messages in it");

/* Fills the runtime and the messages; returns the first symbol that is missing, or NULL. */
static const char *fill(void *const *libraries, int n)
{
    for (int i = 0; i < SYMBOLS; i++) {
        void *at = NULL;
        for (int k = 0; k < n && !at; k++)
            at = dlsym(libraries[k], symbols[i]);
        if (!at)
            return symbols[i];
        memcpy((char *)&objc + (size_t)i * sizeof at, &at, sizeof at);
    }
    for (int i = 0; i < SELECTORS; i++) {
        const message m = {objc.send, objc.register_name(selectors[i])};
        memcpy((char *)&objc_message + (size_t)i * sizeof m, &m, sizeof m);
    }
    return NULL;
}

#if defined(__APPLE__)
/* Without CoreGraphics, a command line program gets no default device. */
static const char *const frameworks[] = {
    "/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
    "/System/Library/Frameworks/Metal.framework/Metal"};
#endif

static const char *load_from(const char *const *paths, int n)
{
    static char why[512];
    void *libraries[LIBRARIES_MOST];
    int loaded = 0;
    for (int i = 0; i < n; i++) {
        libraries[loaded] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!libraries[loaded]) {
            const char *said = dlerror();
            snprintf(why, sizeof why, "%s does not load: %s", paths[i],
                     said ? said : "no reason is given");
            return why;
        }
        loaded++;
    }
    const char *missing = fill(libraries, loaded);
    if (!missing)
        return NULL;
    snprintf(why, sizeof why, "Metal lacks %s", missing);
    return why;
}

const char *objc_load(const char **remedy)
{
    const char *wish = getenv("IG_METAL");
    *remedy = "unset IG_METAL";
    if (wish && strcmp(wish, "off") == 0)
        return "IG_METAL=off switches it off";
    if (wish && *wish)
        return load_from(&wish, 1);
#if defined(__APPLE__)
    *remedy = "update macOS";
    return load_from(frameworks, sizeof frameworks / sizeof frameworks[0]);
#else
    *remedy = NULL;
    return "only on macOS";
#endif
}

bool objc_load_mps(void)
{
#if defined(__APPLE__)
    const char *wish = getenv("IG_METAL");
    if (!wish || !*wish)
        dlopen(
            "/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders",
            RTLD_NOW | RTLD_LOCAL);
#endif
    return objc.get_class("MPSMatrixMultiplication") && objc.get_class("MPSMatrix") &&
           objc.get_class("MPSMatrixDescriptor");
}
