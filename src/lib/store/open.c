/* Finds out what is at a path, and opens it. */
#include "lib/store/open.h"
#include "lib/store/zarr.h"

#include "base/error.h"

#include <string.h>
#include <sys/stat.h>

static ig_store *folder_open(const char *path)
{
    bool absent = false;
    place *p = place_open(path, false);
    ig_store *s = p ? zarr_open(p, &absent) : NULL;
    if (s || !absent)
        return s;
    char shown[IO_SHOWN_BYTES];
    io_show(path, shown);
    FAIL_NULL(IG_ERR_FILE,
              "load '%s': the folder has no array: neither zarr.json nor .zarray is in it", shown);
}

ig_store *ig_store_open(const char *path)
{
    struct stat info;
    char shown[IO_SHOWN_BYTES];
    if (!path || !*path)
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_store_open: no path is given");
    io_show(path, shown);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return folder_open(path);
    FAIL_NULL(IG_ERR_FILE, "load '%s': there is no array; check the path", shown);
}
