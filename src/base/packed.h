/* Files that the library or the command contains in compressed form. tools/pack-files prints them as C. A file is
 * decompressed when it is first used, and stays so. */
#ifndef BASE_PACKED_H
#define BASE_PACKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A deflate stream. The content has `bytes` bytes, and a zero byte after them, at `at` of the room of all files. */
typedef struct packed_file {
    const char *name;
    const unsigned char *stream;
    size_t stream_bytes, at, bytes;
} packed_file;

typedef struct packed_files {
    const packed_file *file;
    int n;
    atomic_bool *ready;
    char *room;
} packed_files;

/* The content of the file with this name, and its length; NULL if there is none, or no memory to decompress it. Threads may
 * call it at the same time. */
const char *packed_find(const packed_files *all, const char *name, size_t *bytes);

#endif
