/* The part of IOKit and CoreFoundation that tells the number of GPU cores. Objects are counted, so that leaks are seen. */
#include "sim.h"

#include <string.h>

EXPORT void *IOServiceMatching(const char *name);
EXPORT uint32_t IOServiceGetMatchingService(uint32_t port, void *matching);
EXPORT void *IORegistryEntryCreateCFProperty(uint32_t entry, void *key, void *allocator, uint32_t options);
EXPORT int IOObjectRelease(uint32_t entry);
EXPORT void *CFStringCreateWithCString(void *allocator, const char *text, uint32_t encoding);
EXPORT unsigned char CFNumberGetValue(void *number, long type, void *value);
EXPORT void CFRelease(void *object);

enum { ENTRY = 77 };

static char dictionary, number;
static char key_text[64];
static int alive;

void *IOServiceMatching(const char *name)
{
    alive++;
    return strcmp(name, "AGXAccelerator") == 0 ? &dictionary : NULL;
}

/* Releases the dictionary, as documented. */
uint32_t IOServiceGetMatchingService(uint32_t port, void *matching)
{
    REQUIRE(port == 0 && matching == &dictionary, "IOServiceGetMatchingService: wrong arguments");
    return ENTRY;
}

void *IORegistryEntryCreateCFProperty(uint32_t entry, void *key, void *allocator, uint32_t options)
{
    REQUIRE(entry == ENTRY && !allocator && !options, "IORegistryEntryCreateCFProperty: wrong arguments");
    alive++;
    return strcmp(key, "gpu-core-count") == 0 ? &number : NULL;
}

int IOObjectRelease(uint32_t entry)
{
    REQUIRE(entry == ENTRY, "IOObjectRelease of %u", entry);
    alive--;
    return 0;
}

void *CFStringCreateWithCString(void *allocator, const char *text, uint32_t encoding)
{
    REQUIRE(!allocator && encoding == 0x08000100, "CFStringCreateWithCString: wrong arguments");
    snprintf(key_text, sizeof key_text, "%s", text);
    alive++;
    return key_text;
}

unsigned char CFNumberGetValue(void *object, long type, void *value)
{
    REQUIRE(object == &number && type == 3, "CFNumberGetValue: wrong arguments");
    memcpy(value, &(int32_t){8}, sizeof(int32_t));
    return 1;
}

void CFRelease(void *object)
{
    REQUIRE(object == &number || object == key_text, "CFRelease of something else");
    alive--;
}

__attribute__((destructor)) static void end(void)
{
    if (sim_setting(SIM_LEAKS) && alive)
        fprintf(stderr, "metalsim: %d objects of the registry leaked\n", alive);
}
