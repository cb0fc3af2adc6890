/* Byte counts as text. */
#include "base/size.h"

#include "base/log.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool size_read(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *suffix;
        double bytes;
    } units[] = {{"", 1},         {"B", 1},      {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},
                 {"kB", 1e3},     {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},
                 {"GiB", 0x1p30}, {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12}};
    char *end;
    const double size = strtod(text, &end);
    if (end == text || !(isdigit((unsigned char)*text) || *text == '.'))
        return false;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].suffix, end) == 0) {
            const double all = size * units[i].bytes;
            *bytes = all < 0x1p63 ? (uint64_t)all : 0;
            return all >= 1 && all < 0x1p63;
        }
    return false;
}

static uint64_t asked;

static void ask(void)
{
    const char *text = getenv("IG_MEMORY_LIMIT");
    if (text && !size_read(text, &asked)) {
        asked = 0;
        log_line(IG_WARNING, "IG_MEMORY_LIMIT=%s is ignored: it is not a size such as 4GiB", text);
    }
}

uint64_t size_limit_asked(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask);
    return asked;
}
