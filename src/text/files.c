/* Small files of model folders: see files.h. */
#include "text/files.h"

#include "io/file.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { FILE_MOST = 1 << 30 }; /* bytes */

ig_status file_read_whole(const char *path, bool absent_ok, char **data, size_t *bytes)
{
    struct io_file file;
    struct stat info;
    void *block = NULL;
    *data = NULL;
    *bytes = 0;
    if (absent_ok && stat(path, &info) != 0)
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
