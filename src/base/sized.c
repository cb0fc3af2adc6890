/* Structs with a size: copies the fields that both the caller's header and this library know. */
#include "base/sized.h"
#include "base/error.h"
#include <string.h>

/* No public struct is larger: a larger size means uninitialised memory. */
enum { SIZE_MOST = 4096 };

static ig_status size_of(const sized_type *type, const void *given, size_t *bytes)
{
    memcpy(bytes, given, sizeof *bytes);
    if (*bytes == 0)
        *bytes = type->first;
    if (*bytes < type->first || *bytes > SIZE_MOST)
        FAIL(IG_ERR_ARGUMENT,
             "%s.size is %zu: set it to sizeof(%s), or to 0 for the fields of version 0.1",
             type->name, *bytes, type->name);
    return IG_OK;
}

ig_status sized_read(const sized_type *type, void *to, const void *from)
{
    size_t bytes;
    TRY(size_of(type, from, &bytes));
    for (size_t i = type->bytes; i < bytes; i++)
        if (((const char *)from)[i])
            FAIL(IG_ERR_UNSUPPORTED,
                 "%s has fields that this version of the library (%s) does not know: leave them 0, "
                 "or use a later version",
                 type->name, ig_version());
    memset(to, 0, type->bytes);
    memcpy(to, from, bytes < type->bytes ? bytes : type->bytes);
    return IG_OK;
}

ig_status sized_write(const sized_type *type, void *to, const void *from)
{
    size_t bytes, stays;
    TRY(size_of(type, to, &bytes));
    memcpy(&stays, to, sizeof stays);
    memset(to, 0, bytes);
    memcpy(to, from, bytes < type->bytes ? bytes : type->bytes);
    memcpy(to, &stays, sizeof stays);
    return IG_OK;
}
