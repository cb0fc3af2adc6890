/* Files for the format readers and writers. Reads and writes are complete, or fail with a message that names
 * the file. Writing replaces the old file as a whole, or not at all.
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "ingot.h"

enum {
    IO_SHOWN_BYTES = 164, /* of a path or a name in a message */
    IO_PEEK_BYTES = 8     /* the most that io_peek reads */
};

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { IO_BIG_ENDIAN = 1 }; /* this machine */
#else
enum { IO_BIG_ENDIAN = 0 };
#endif

struct io_file {
    const char *verb; /* "load", "save", "open", "read": messages begin with it */
    int fd;
    const char *memory;                  /* read instead of a file; NULL: read the file */
    int64_t left;                        /* bytes still to be read; -1 if unknown (a pipe) */
    unsigned char peeked[IO_PEEK_BYTES]; /* bytes that io_peek read and io_read returns first */
    size_t n_peeked;
    char *real; /* the path that temp is renamed to */
    char *temp; /* the path that is written; NULL: written directly, as it cannot be renamed to */
    /* The file has no name until it is complete, so nothing of it remains if the process is killed. temp is
     * the name that it gets then. */
    bool unnamed;
    char shown[IO_SHOWN_BYTES];
};

/* Sets the error "verb 'path': text"; returns code. */
ig_status io_fail(const struct io_file *file, ig_status code, const char *format, ...)
    IG_PRINTF(3, 4);

/* The same for an error number of the system, with advice. `what` is, for example, "it cannot be opened". */
ig_status io_fail_system(const struct io_file *file, int error, const char *what);

/* The code of the pending error, which stays pending: for functions that return a status after a call that
 * returned NULL. */
ig_status io_waiting(void);

/* Copies a name for messages, without control characters. A long name becomes "..." and its last bytes. */
void io_show(const char *name, char out[IO_SHOWN_BYTES]);

/* Opens for reading: a file, or bytes in memory, which messages call `shown`. Call io_close also after a
 * failure. */
ig_status io_open(struct io_file *file, const char *path);
void io_open_memory(struct io_file *file, const void *bytes, size_t n, const char *shown);
void io_close(struct io_file *file);

/* Copies the first bytes of a file, at most IO_PEEK_BYTES, so that io_read still returns them. Nothing may
 * have been read before. *got is less than bytes only if the file is shorter. */
ig_status io_peek(struct io_file *file, void *out, size_t bytes, size_t *got);

/* Reads up to `bytes` bytes; *got is less only at the end of the file. */
ig_status io_read(struct io_file *file, void *out, size_t bytes, size_t *got);

/* The same into new memory. The caller frees *data, also after a failure. If the size of the file is
 * unknown, memory grows with the bytes that arrive, whatever a header promises. */
ig_status io_read_new(struct io_file *file, size_t bytes, void **data, size_t *got);

/* The size of an array in bytes; false if Ingot cannot address it. If one length is 0, the others still
 * count, because strides are products of them. */
bool io_measure(const int64_t *shape, int ndim, ig_dtype dtype, size_t *bytes);

/* IG_OK if `bytes` bytes of array data fit the memory limit. */
ig_status io_admit(const struct io_file *file, uint64_t bytes);

/* Reads `bytes` bytes of elements into new memory, within the memory limit. The caller frees *data, also after a
 * failure. */
ig_status io_read_elements(struct io_file *file, size_t bytes, ig_dtype dtype, void **data);

/* IG_ERR_FORMAT if the file does not end here; `after` names its last part: "its tensors". */
ig_status io_expect_end(struct io_file *file, const char *after);

/* Reverses the bytes of each element. */
void io_swap(void *data, size_t bytes, size_t element_bytes);
/* The number of bytes that are swapped together: one element, or one part of a complex element. */
size_t io_swap_bytes(ig_dtype dtype);

/* Opens for writing: a temporary file next to path, if path is a plain file or does not exist. Call
 * io_finish also after a failure. With IG_OK it flushes the file to the disk and renames it to path;
 * otherwise it removes the file and leaves path unchanged. Returns status, or its own error. */
ig_status io_create(struct io_file *file, const char *path);
ig_status io_write(struct io_file *file, const void *data, size_t bytes);
ig_status io_finish(struct io_file *file, ig_status status);

#endif
