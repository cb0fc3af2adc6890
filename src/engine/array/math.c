/* The math mode of the calling thread, which decides how contractions add. */
#include "base/error.h"
#include "ingot/device.h"
#include <stdlib.h>
#include <string.h>

enum { MODES = IG_MATH_TF32 + 1, UNSET = -1 };

static _Thread_local int mode_now = UNSET;

static int mode_by_environment(void)
{
    static const char *const names[MODES] = {"strict", "same", "tf32"};
    const char *asked = getenv("IG_MATH");
    for (int i = 0; asked && i < MODES; i++)
        if (strcmp(asked, names[i]) == 0)
            return i;
    return IG_MATH_STRICT;
}

ig_status ig_set_math(ig_math mode)
{
    if ((int)mode < 0 || (int)mode >= MODES)
        FAIL(IG_ERR_ARGUMENT,
             "math: %d is not a mode; use IG_MATH_STRICT, IG_MATH_SAME or IG_MATH_TF32", (int)mode);
    mode_now = (int)mode;
    return IG_OK;
}

ig_math ig_math_mode(void)
{
    if (mode_now == UNSET)
        mode_now = mode_by_environment();
    return (ig_math)mode_now;
}
