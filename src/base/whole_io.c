/* Whole reads and writes: see whole_io.h. */
#include "base/whole_io.h"

#include <errno.h>
#include <unistd.h>

bool whole_read(int fd, void *to, size_t bytes)
{
    for (char *at = to; bytes;) {
        const ssize_t n = read(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool whole_write(int fd, const void *from, size_t bytes)
{
    for (const char *at = from; bytes;) {
        const ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}
