/* The number of GPU cores. Metal does not report it: it is a property of the driver in the I/O registry. */
#include "engine/backend/metal/objc.h"

#include <dlfcn.h>
#include <string.h>

enum { UTF8 = 0x08000100 /* kCFStringEncodingUTF8 */, SINT32 = 3 /* kCFNumberSInt32Type */ };

/* Functions of IOKit and CoreFoundation, in this order. */
static const char *const symbols[] = {
    "IOServiceMatching", "IOServiceGetMatchingService", "IORegistryEntryCreateCFProperty",
    "IOObjectRelease",   "CFStringCreateWithCString",   "CFNumberGetValue",
    "CFRelease"};
typedef struct registry {
    void *(*matching)(const char *name);
    uint32_t (*service)(uint32_t port, void *matching); /* releases matching */
    void *(*property)(uint32_t entry, void *key, void *allocator, uint32_t options);
    int (*release_entry)(uint32_t entry);
    void *(*string)(void *allocator, const char *text, uint32_t encoding);
    unsigned char (*number)(void *number, long type, void *value);
    void (*release)(void *object);
} registry;

enum { SYMBOLS = sizeof symbols / sizeof symbols[0] };
_Static_assert(sizeof(registry) == SYMBOLS * sizeof(void *), "only functions in it");

static bool load(const char *const *paths, int n, registry *r)
{
    void *libraries[2] = {NULL};
    for (int i = 0; i < n; i++)
        libraries[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < SYMBOLS; i++) {
        void *at = libraries[0] ? dlsym(libraries[0], symbols[i]) : NULL;
        if (!at && n > 1 && libraries[1])
            at = dlsym(libraries[1], symbols[i]);
        if (!at)
            return false;
        memcpy((char *)r + (size_t)i * sizeof at, &at, sizeof at);
    }
    return true;
}

int metal_core_count(const char *library)
{
    static const char *const frameworks[] = {
        "/System/Library/Frameworks/IOKit.framework/IOKit",
        "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"};
    registry r;
    int32_t count = 0;
    if (!(library ? load(&library, 1, &r) : load(frameworks, 2, &r)))
        return 0;
    void *matching = r.matching("AGXAccelerator"), *key = r.string(NULL, "gpu-core-count", UTF8);
    const uint32_t entry = matching ? r.service(0, matching) : 0;
    void *value = entry && key ? r.property(entry, key, NULL, 0) : NULL;
    if (value && !r.number(value, SINT32, &count))
        count = 0;
    if (value)
        r.release(value);
    if (key)
        r.release(key);
    if (entry)
        r.release_entry(entry);
    return count > 0 ? count : 0;
}
