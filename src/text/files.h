/* Small files of model folders, read as a whole. */
#ifndef TEXT_FILES_H
#define TEXT_FILES_H

#include "ingot.h"

/* Reads a whole file; the caller frees *data with free, also after a failure. absent_ok: IG_OK and NULL if there is
 * none. */
ig_status file_read_whole(const char *path, bool absent_ok, char **data, size_t *bytes);

#endif
