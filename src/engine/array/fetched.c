/* Buffers whose content is fetched when it is needed, and dropped afterwards. */
#include "engine/array/array.h"

#include "base/memory.h"

static _Atomic uint64_t bytes_now, bytes_most;

static void destroy_fetched(buffer *b)
{
    pthread_mutex_destroy(&b->fetched->lock);
    b->fetched->destroy(b->fetched);
}

buffer *buffer_new_fetched(size_t bytes, fetched *f)
{
    buffer *b = buffer_new_opaque(bytes);
    if (!b) {
        f->destroy(f);
        return NULL;
    }
    pthread_mutex_init(&f->lock, NULL);
    f->users = 0;
    b->fetched = f;
    b->borrowed = true;
    b->destroy = destroy_fetched;
    return b;
}

static ig_status bring(buffer *b)
{
    void *data = memory_data_get(b->bytes);
    if (!data)
        return IG_ERR_MEMORY;
    const ig_status status = b->fetched->fetch(b->fetched, data);
    if (status != IG_OK) {
        memory_data_free(data, b->bytes);
        return status;
    }
    b->data = data;
    const uint64_t now = atomic_fetch_add(&bytes_now, b->bytes) + b->bytes;
    uint64_t most = atomic_load(&bytes_most);
    while (now > most && !atomic_compare_exchange_weak(&bytes_most, &most, now))
        continue;
    return IG_OK;
}

ig_status buffer_hold(buffer *b)
{
    fetched *f = b->fetched;
    if (!f)
        return IG_OK;
    pthread_mutex_lock(&f->lock);
    const ig_status status = f->users ? IG_OK : bring(b);
    f->users += status == IG_OK;
    pthread_mutex_unlock(&f->lock);
    return status;
}

void buffer_drop(buffer *b)
{
    fetched *f = b->fetched;
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    if (--f->users == 0) {
        memory_data_free(b->data, b->bytes);
        b->data = NULL;
        atomic_fetch_sub(&bytes_now, b->bytes);
    }
    pthread_mutex_unlock(&f->lock);
}

void buffer_fetched_bytes(uint64_t *now, uint64_t *most)
{
    *now = atomic_load(&bytes_now);
    *most = atomic_exchange(&bytes_most, *now);
}
