/* Files as the formats see them: opened, read and written in full or with a message that names the
 * file. A file that is written appears in its place whole, or not at all.
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "ingot.h"

enum { IO_SHOWN_BYTES = 164 }; /* of a path in a message */

struct io_file {
    const char *verb; /* "load" or "save": messages begin with it */
    int fd;
    int64_t left; /* bytes still to be read; -1 where nobody knows (a pipe) */
    char *real;   /* what temp is renamed to */
    char *temp;   /* where we write; NULL: straight into what cannot be renamed to */
    char shown[IO_SHOWN_BYTES];
};

/* Sets the error "verb 'path': text"; returns code. */
ig_status io_fail(const struct io_file *file, ig_status code, const char *format, ...)
    IG_PRINTF(3, 4);

/* Opens for reading. io_close also after a failure. */
ig_status io_open(struct io_file *file, const char *path);
void io_close(struct io_file *file);

/* Reads up to bytes; *got is less only at the end of the file. */
ig_status io_read(struct io_file *file, void *out, size_t bytes, size_t *got);

/* Opens for writing, beside path where path is a plain file or not there yet. io_finish also after
 * a failure: with IG_OK it puts the file in its place, else it takes it away and leaves what was
 * there. Returns status, or why it could not. */
ig_status io_create(struct io_file *file, const char *path);
ig_status io_write(struct io_file *file, const void *data, size_t bytes);
ig_status io_finish(struct io_file *file, ig_status status);

#endif
