/* The version of the library, as include/ingot.h states it. */
#include "ingot.h"

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *ig_version(void)
{
    return VERSION_TEXT(IG_VERSION_MAJOR, IG_VERSION_MINOR, IG_VERSION_PATCH);
}
