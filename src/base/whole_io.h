/* Whole reads and writes of files and pipes: parts and interruptions by signals are continued. */
#ifndef BASE_WHOLE_IO_H
#define BASE_WHOLE_IO_H

#include <stdbool.h>
#include <stddef.h>

/* False at an error, and at the end of the file if bytes are missing. */
bool whole_read(int fd, void *to, size_t bytes);
bool whole_write(int fd, const void *from, size_t bytes);

#endif
