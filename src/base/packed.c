/* Embedded files: see packed.h. */
#include "base/packed.h"

#include "base/inflate.h"

#include <pthread.h>
#include <string.h>

static bool make_ready(const packed_files *all, int i)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const packed_file *f = &all->file[i];
    pthread_mutex_lock(&lock);
    bool ready = atomic_load_explicit(&all->ready[i], memory_order_relaxed);
    if (!ready) {
        unsigned char *to = (unsigned char *)all->room + f->at;
        ready = inflate(f->stream, f->stream_bytes, to, f->bytes) == IG_OK;
        atomic_store_explicit(&all->ready[i], ready, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return ready;
}

const char *packed_find(const packed_files *all, const char *name, size_t *bytes)
{
    for (int i = 0; i < all->n; i++) {
        if (strcmp(all->file[i].name, name) != 0)
            continue;
        if (!atomic_load_explicit(&all->ready[i], memory_order_acquire) && !make_ready(all, i))
            return NULL;
        *bytes = all->file[i].bytes;
        return all->room + all->file[i].at;
    }
    return NULL;
}
