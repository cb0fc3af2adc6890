/* The setting IG_OVERRIDES: see whole.h. */
#include "engine/program/whole.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [WHOLE_NONE] = "off", [WHOLE_FASTER] = "auto", [WHOLE_ALL] = "all"};

/* -1 if it has another value. */
static int read_wish(void)
{
    const char *text = getenv("IG_OVERRIDES");
    if (!text || !*text)
        return WHOLE_FASTER;
    for (int i = WHOLE_NONE; i <= WHOLE_ALL; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

whole_wish whole_wished(void)
{
    const int wish = read_wish();
    return wish < 0 ? WHOLE_FASTER : (whole_wish)wish;
}

const char *whole_note(void)
{
    return read_wish() < 0 ? "IG_OVERRIDES is ignored: not off, auto or all" : NULL;
}
