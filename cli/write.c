/* Files that the command writes itself: whole or not at all, by the library's own writer. */
#include "cli.h"

#include "io/file.h"

bool write_file(const char *path, const str *t, str *why)
{
    struct io_file file;
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = io_write(&file, t->s, t->n);
    status = io_finish(&file, status);
    if (status != IG_OK)
        str_puts(why, ig_error(NULL));
    return status == IG_OK;
}
