/* Finds out what is at a path, and opens it. */
#include "lib/store/open.h"
#include "lib/store/remote.h"
#include "lib/store/zarr.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/table.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { HDF5_BLOCK = 512, HDF5_BLOCK_MAX = 1 << 20 };

static ig_store *folder_open(const char *path)
{
    bool absent = false, group = false;
    place *p = place_open(path, false);
    if (p && place_has(p, ".zgroup", &group) == IG_OK && group) {
        struct io_file file;
        place_name(p, "open", "", &file);
        place_close(p);
        io_fail(&file, IG_ERR_FILE, "it is a group of arrays; name an array in it");
        return NULL;
    }
    ig_store *s = p ? zarr_open(p, &absent) : NULL;
    return s || !absent ? s : npy_folder_open(path);
}

static ig_store *address_open(const char *path)
{
    bool absent = false;
    place *p = place_open(path, false);
    ig_store *s = p ? zarr_open(p, &absent) : NULL;
    if (s || !absent)
        return s;
    char shown[IO_SHOWN_BYTES];
    io_show(path, shown);
    FAIL_NULL(
        IG_ERR_FILE,
        "open '%s': there is no array: neither zarr.json nor .zarray is there; check the address",
        shown);
}

static bool ends_with(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcasecmp(path + n - m, suffix) == 0;
}

/* True if a file begins with the signature of HDF5, or has it after a block of the user. */
static bool is_hdf5(const char *path)
{
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    char bytes[sizeof signature];
    bool found = false;
    FILE *file = fopen(path, "rbe");
    for (long at = 0; file && !found && at <= HDF5_BLOCK_MAX; at = at ? 2 * at : HDF5_BLOCK)
        found = fseek(file, at, SEEK_SET) == 0 &&
                fread(bytes, 1, sizeof bytes, file) == sizeof bytes &&
                memcmp(bytes, signature, sizeof bytes) == 0;
    if (file)
        fclose(file);
    return found;
}

/* "file.h5/group/x": the file is the longest part of the path that is one. NULL, without an error, if none is. */
static ig_store *inside_open(const char *path)
{
    struct stat info;
    char *file = memory_text(path);
    ig_store *s = NULL;
    for (char *slash; file && (slash = strrchr(file, '/')) && slash > file;) {
        *slash = 0;
        if (stat(file, &info) != 0)
            continue;
        if (S_ISREG(info.st_mode) && is_hdf5(file))
            s = hdf5_store_open(file, path + strlen(file) + 1);
        break;
    }
    memory_free(file);
    return s;
}

ig_store *ig_store_open(const char *path)
{
    struct stat info;
    char shown[IO_SHOWN_BYTES];
    if (!path || !*path)
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_store_open: no path is given; name one");
    io_show(path, shown);
    if (remote_is_address(path))
        return address_open(path);
    const bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return folder_open(path);
    if (ends_with(path, ".npy"))
        return npy_store_open(path);
    if (there && S_ISREG(info.st_mode) && table_separator(path))
        return table_store_open(path);
    if (there && S_ISREG(info.st_mode) && is_hdf5(path))
        return hdf5_store_open(path, "");
    if (there)
        FAIL_NULL(IG_ERR_FILE,
                  "open '%s': the file is not a store; name a Zarr array, an .npy file, a folder "
                  "of .npy files, a table (.csv, .tsv, .txt) or an HDF5 file",
                  shown);
    ig_store *s = inside_open(path);
    if (s || ig_failed())
        return s;
    FAIL_NULL(IG_ERR_FILE, "open '%s': there is no array; check the path", shown);
}
