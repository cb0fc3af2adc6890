/* A short list of mapped files. For a file that does not fit in the list, mapping_give_back does nothing. */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 64 };

static struct {
    pthread_mutex_t lock;
    struct range {
        uintptr_t at;
        size_t bytes;
        int file; /* -1: the process had no free descriptor */
    } file[MOST];
} mappings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Replaces the first range that starts at `at`. Returns the replaced range, or `by` if there was none. */
static struct range replace(uintptr_t at, struct range by)
{
    pthread_mutex_lock(&mappings.lock);
    for (int i = 0; i < MOST; i++)
        if (mappings.file[i].at == at) {
            const struct range was = mappings.file[i];
            mappings.file[i] = by;
            by = was;
            break;
        }
    pthread_mutex_unlock(&mappings.lock);
    return by;
}

void mapping_note(const void *at, size_t bytes, int file)
{
    const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
    const struct range out = replace(0, (struct range){(uintptr_t)at, bytes, own});
    if (out.bytes > 0 && own >= 0)
        close(own); /* the list is full */
}

void mapping_forget(const void *at)
{
    const struct range out = replace((uintptr_t)at, (struct range){0, 0, -1});
    if (out.bytes > 0 && out.file >= 0)
        close(out.file);
}

/* The range that contains all of these bytes; NULL if there is none. The caller holds the lock. */
static const struct range *range_of(uintptr_t from, size_t bytes)
{
    for (int i = 0; i < MOST; i++) {
        const struct range *r = &mappings.file[i];
        if (r->bytes > 0 && from >= r->at && from - r->at <= r->bytes &&
            bytes <= r->bytes - (from - r->at))
            return r;
    }
    return NULL;
}

void mapping_give_back(const void *at, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at;
    const uintptr_t first = (from + page - 1) / page * page, end = (from + bytes) / page * page;
    pthread_mutex_lock(&mappings.lock);
    if (first < end && range_of(from, bytes))
        madvise((void *)first, end - first, MADV_DONTNEED);
    pthread_mutex_unlock(&mappings.lock);
}

int mapping_file(const void *at, size_t bytes, int64_t *offset)
{
    pthread_mutex_lock(&mappings.lock);
    const struct range *r = range_of((uintptr_t)at, bytes);
    const int file = r ? r->file : -1;
    *offset = r ? (int64_t)((uintptr_t)at - r->at) : 0;
    pthread_mutex_unlock(&mappings.lock);
    return file;
}

bool mapping_read(int file, int64_t offset, void *to, size_t bytes)
{
    char *at = to;
    while (bytes > 0) {
        const ssize_t got = pread(file, at, bytes, (off_t)offset);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        const size_t now = got > 0 ? (size_t)got : 0;
        at += now;
        offset += (int64_t)now;
        bytes -= now;
    }
    return true;
}
