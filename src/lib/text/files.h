/* Small files of model folders, read whole. */
#ifndef TEXT_FILES_H
#define TEXT_FILES_H

#include "lib/text/field.h"

/* True if the path is a file or folder. */
bool file_exists(const char *path);

/* Reads a whole file. The caller frees *data with free, also after a failure. absent_ok: a missing file gives IG_OK and
 * NULL. */
ig_status file_read_whole(const char *path, bool absent_ok, char **data, size_t *bytes);

/* A JSON file, held while its fields are used. */
typedef struct json_file {
    char path[4096];
    char *data; /* NULL: there is no such file */
    field root;
} json_file;

/* Reads folder/name. absent_ok: a missing file gives IG_OK, and all its fields are absent. Call json_file_close
 * afterwards, also after a failure. */
ig_status json_file_open(json_file *f, const char *folder, const char *name, bool absent_ok);
void json_file_close(json_file *f);

#endif
