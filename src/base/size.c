/* Byte counts as text. */
#include "base/size.h"

#include <stdbool.h>
#include <stdio.h>

const char *size_text(uint64_t bytes, char out[SIZE_ROOM])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    while (size >= 1024) {
        size /= 1024;
        unit++;
    }
    const bool whole = size == (double)(int)size || size >= 100;
    snprintf(out, SIZE_ROOM, "%.*f %s", whole ? 0 : 1, size, bytes == 1 ? "byte" : units[unit]);
    return out;
}
