/* System calls that fail, for tests of stores: loaded with LD_PRELOAD on Linux. Only files count whose path contains
 * FAULT_PATH. FAULT is one of:
 *
 *   short     reads and writes transfer at most 100 bytes, and every third call is interrupted by a signal
 *   full      the disk is full after FAULT_BYTES bytes, in the middle of a write
 *   unread    nothing can be read (EIO)
 *   denied    nothing can be opened (EACCES)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHORT_BYTES = 100 };

static atomic_long calls, written;

static int fault_is(const char *name)
{
    const char *fault = getenv("FAULT");
    return fault && strcmp(fault, name) == 0;
}

static int counts(const char *path)
{
    const char *part = getenv("FAULT_PATH");
    return part && strstr(path, part) != NULL;
}

static int file_counts(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return counts(path);
}

/* The bytes that a call may transfer; -1 with errno if it fails. */
static ssize_t allowed(int fd, size_t n)
{
    if (!file_counts(fd) || !fault_is("short"))
        return (ssize_t)n;
    if (atomic_fetch_add(&calls, 1) % 3 == 2) {
        errno = EINTR;
        return -1;
    }
    return n > SHORT_BYTES ? SHORT_BYTES : (ssize_t)n;
}

ssize_t write(int fd, const void *data, size_t n)
{
    ssize_t most = allowed(fd, n);
    if (most >= 0 && fault_is("full") && file_counts(fd)) {
        const char *bytes = getenv("FAULT_BYTES");
        const long left = (bytes ? atol(bytes) : 0) - atomic_fetch_add(&written, (long)n);
        if (left <= 0) {
            errno = ENOSPC;
            return -1;
        }
        most = most < left ? most : left;
    }
    return most < 0 ? -1 : syscall(SYS_write, fd, data, (size_t)most);
}

ssize_t pread(int fd, void *data, size_t n, off_t offset)
{
    const ssize_t most = allowed(fd, n);
    if (fault_is("unread") && file_counts(fd)) {
        errno = EIO;
        return -1;
    }
    return most < 0 ? -1 : syscall(SYS_pread64, fd, data, (size_t)most, offset);
}

ssize_t pread64(int fd, void *data, size_t n, off_t offset) { return pread(fd, data, n, offset); }

/* The library opens files of a store by openat2, which has no function of its own. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
#ifdef SYS_openat2
    if (number == SYS_openat2 && fault_is("denied") && counts((const char *)a[1])) {
        errno = EACCES;
        return -1;
    }
#endif
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
