/* A short list of mapped files. One that does not fit keeps its pages. */
#include "base/mapping.h"

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
    } file[MOST];
} mappings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Replaces the first range that starts at `at`. */
static void replace(uintptr_t at, struct range by)
{
    pthread_mutex_lock(&mappings.lock);
    for (int i = 0; i < MOST; i++)
        if (mappings.file[i].at == at) {
            mappings.file[i] = by;
            break;
        }
    pthread_mutex_unlock(&mappings.lock);
}

void mapping_note(const void *at, size_t bytes)
{
    replace(0, (struct range){(uintptr_t)at, bytes});
}

void mapping_forget(const void *at) { replace((uintptr_t)at, (struct range){0, 0}); }

void mapping_give_back(const void *at, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at;
    const uintptr_t first = (from + page - 1) / page * page, end = (from + bytes) / page * page;
    pthread_mutex_lock(&mappings.lock);
    for (int i = 0; i < MOST && first < end; i++)
        if (mappings.file[i].bytes > 0 && from >= mappings.file[i].at &&
            from - mappings.file[i].at <= mappings.file[i].bytes &&
            bytes <= mappings.file[i].bytes - (from - mappings.file[i].at)) {
            madvise((void *)first, end - first, MADV_DONTNEED);
            break;
        }
    pthread_mutex_unlock(&mappings.lock);
}
