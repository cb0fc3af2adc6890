/* Small files of model folders: see files.h. */
#include "lib/text/files.h"

#include "base/error.h"
#include "lib/io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FILE_MOST = 1 << 30 }; /* bytes */

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

ig_status file_read_whole(const char *path, bool absent_ok, char **data, size_t *bytes)
{
    struct io_file file;
    void *block = NULL;
    *data = NULL;
    *bytes = 0;
    if (absent_ok && !file_exists(path))
        return IG_OK;
    ig_status status = io_open(&file, path);
    if (status == IG_OK)
        status = io_read_new(
            &file, file.left >= 0 && file.left < FILE_MOST ? (size_t)file.left : FILE_MOST, &block,
            bytes);
    io_close(&file);
    if (status == IG_OK && !block && !(block = malloc(1)))
        status = ig_fail(IG_ERR_MEMORY, "load '%s': no memory", path);
    *data = block;
    return status;
}

ig_status json_file_open(json_file *f, const char *folder, const char *name, bool absent_ok)
{
    size_t bytes = 0;
    json_reader r;
    *f = (json_file){0};
    if ((size_t)snprintf(f->path, sizeof f->path, "%s/%s", folder, name) >= sizeof f->path)
        FAIL(IG_ERR_FILE, "load '%.100s...': the path is too long", folder);
    TRY(file_read_whole(f->path, absent_ok, &f->data, &bytes));
    if (!f->data)
        return IG_OK;
    json_begin(&r, f->data, bytes);
    f->root = field_take(&r);
    if (json_end(&r) != IG_OK)
        FAIL(IG_ERR_FORMAT, "load '%.300s': it is not valid JSON %s", f->path, r.problem);
    return IG_OK;
}

void json_file_close(json_file *f) { free(f->data); }
