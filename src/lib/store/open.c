/* Finds out what is at a path, and opens it. */
#include "lib/store/open.h"
#include "lib/store/zarr.h"

#include "base/error.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static ig_store *folder_open(const char *path)
{
    bool absent = false, group = false;
    place *p = place_open(path, false);
    if (p && place_has(p, ".zgroup", &group) == IG_OK && group) {
        struct io_file file;
        place_name(p, "load", "", &file);
        place_close(p);
        io_fail(&file, IG_ERR_FILE, "it is a group of arrays; name an array in it");
        return NULL;
    }
    ig_store *s = p ? zarr_open(p, &absent) : NULL;
    return s || !absent ? s : npy_folder_open(path);
}

static bool ends_with(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcasecmp(path + n - m, suffix) == 0;
}

ig_store *ig_store_open(const char *path)
{
    struct stat info;
    char shown[IO_SHOWN_BYTES];
    if (!path || !*path)
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_store_open: no path is given");
    io_show(path, shown);
    const bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return folder_open(path);
    if (ends_with(path, ".npy"))
        return npy_store_open(path);
    if (there)
        FAIL_NULL(IG_ERR_FILE,
                  "load '%s': the file is not a store; name a Zarr array, an .npy file or a folder "
                  "of .npy files",
                  shown);
    FAIL_NULL(IG_ERR_FILE, "load '%s': there is no array; check the path", shown);
}
