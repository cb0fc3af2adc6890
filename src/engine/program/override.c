/* The setting IG_OVERRIDES: see override.h. */
#include "engine/program/override.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [OVERRIDE_NONE] = "off", [OVERRIDE_FASTER] = "auto", [OVERRIDE_ALL] = "all"};

/* -1 if it has another value. */
static int read_wish(void)
{
    const char *text = getenv("IG_OVERRIDES");
    if (!text || !*text)
        return OVERRIDE_FASTER;
    for (int i = OVERRIDE_NONE; i <= OVERRIDE_ALL; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

override_wish override_wished(void)
{
    const int wish = read_wish();
    return wish < 0 ? OVERRIDE_FASTER : (override_wish)wish;
}

const char *override_note(void)
{
    return read_wish() < 0 ? "IG_OVERRIDES is ignored: not off, auto or all" : NULL;
}
