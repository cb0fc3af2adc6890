/* The simulator. */
#include "support/metal.h"

#include "ingot.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* BUILD/tests/unit/test -> BUILD/tests/metal/libmetalsim.so. Its compiler is a script in the source tree. */
void metal_prepare(const char *path_of_test)
{
    char self[PATH_MAX], path[PATH_MAX + 64], home[PATH_MAX];
    snprintf(self, sizeof self, "%s", path_of_test);
    const char *folder = dirname(self);
    snprintf(path, sizeof path, "%s/../metal/libmetalsim.so", folder);
    setenv("IG_METAL", path, 1);
    snprintf(path, sizeof path, "%s/../metal/cache", folder);
    setenv("METALSIM_CACHE", path, 1);
    if (realpath("tests/metal/sim", home))
        setenv("METALSIM_HOME", home, 1);
}

bool metal_runs(void)
{
    bool runs = ig_set_device("metal") == IG_OK;
    ig_scope_begin();
    ig_array *x = runs ? ig_add(ig_arange(0, 4, 1, IG_I32), ig_int(1)) : NULL;
    runs = x && ig_item_int(ig_sum(x, (ig_ints){0}, IG_DTYPE_NONE, false)) == 10;
    ig_scope_end();
    ig_error(NULL);
    ig_set_device("cpu");
    return runs;
}
