/* Blocks of device memory and their budget; see pool.h. */
#include "engine/backend/pool.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"

#include <stdio.h>

static _Atomic uint64_t refusals;

void pool_refuse(void) { atomic_fetch_add(&refusals, 1); }
uint64_t pool_refusals(void) { return atomic_load_explicit(&refusals, memory_order_relaxed); }

uint64_t pool_limit(const memory_pool *p)
{
    const uint64_t limit = atomic_load(&p->limit_set), asked = limit ? limit : size_limit_asked();
    return limit || (asked && asked < p->total) ? asked : p->total;
}

static uint64_t room_of(const memory_pool *p)
{
    const uint64_t limit = pool_limit(p), used = atomic_load(&p->used);
    return used < limit ? limit - used : 0;
}

/* `left`: the bytes that the limit or the driver still allows. */
static ig_status fail_full(const memory_pool *p, const char *what, uint64_t bytes, uint64_t left)
{
    char asked[SIZE_ROOM], most[SIZE_ROOM], none[SIZE_ROOM];
    pool_refuse();
    FAIL(IG_ERR_MEMORY,
         "%s: %s needs %llu bytes (%s), but %s are free and the limit is %s; release arrays or "
         "raise the limit (ig_set_device_memory_limit, --memory-limit) to at least %llu bytes",
         p->name, what, (unsigned long long)bytes, size_text(bytes, asked), size_text(left, none),
         size_text(pool_limit(p), most), (unsigned long long)(bytes + atomic_load(&p->used)));
}

/* The driver has no block of that size. If it does not report its free memory, the total is an upper bound. */
static ig_status fail_refused(const memory_pool *p, uint64_t bytes)
{
    char asked[SIZE_ROOM], most[SIZE_ROOM], free_text[SIZE_ROOM];
    const uint64_t used = atomic_load(&p->used), room = room_of(p);
    const uint64_t total = p->total > used ? p->total - used : 0;
    const uint64_t told = p->driver->left ? p->driver->left(p->device) : 0;
    const uint64_t left = told ? told : total < room ? total : room;
    pool_refuse();
    FAIL(IG_ERR_MEMORY,
         "%s: a buffer needs %llu bytes (%s), but the driver refuses it: %s%s are free and the "
         "limit "
         "is %s; release arrays, or close other programs that use the device",
         p->name, (unsigned long long)bytes, size_text(bytes, asked), told ? "" : "at most ",
         size_text(left, free_text), size_text(pool_limit(p), most));
}

uint64_t pool_free(const memory_pool *p)
{
    const uint64_t room = room_of(p), told = p->driver->left ? p->driver->left(p->device) : 0;
    const uint64_t left = told ? told + atomic_load(&p->cached) : room;
    return (left < room ? left : room) / 9 * 8; /* see pool_bytes */
}

ig_status pool_admit(const memory_pool *p, uint64_t bytes, const char *what)
{
    return bytes <= room_of(p) ? IG_OK : fail_full(p, what, bytes, room_of(p));
}

/* ---- blocks ---- */

/* Sizes are rounded up to an eighth of a power of two: at most 12 % is wasted. */
size_t pool_bytes(const memory_pool *p, size_t bytes)
{
    enum { LEAST = 512 };
    size_t step = LEAST;
    while (step < SIZE_MAX / 32 && step * 16 < bytes)
        step *= 2;
    const size_t whole = bytes ? (bytes + step - 1) / step * step : LEAST;
    return p->block_most && whole > p->block_most && bytes ? bytes : whole;
}

static int class_of(size_t bytes)
{
    int class = 0;
    while (class < POOL_CLASSES - 1 && (size_t)1 << class < bytes)
        class ++;
    return class;
}

static pool_block *kept_take(memory_pool *p, size_t bytes)
{
    for (pool_block **at = &p->kept[class_of(bytes)]; *at; at = &(*at)->next)
        if ((*at)->bytes == bytes && !(p->driver->busy && p->driver->busy(p->device, (*at)->at))) {
            pool_block *b = *at;
            *at = b->next;
            p->cached -= bytes;
            return b;
        }
    return NULL;
}

void pool_trim(memory_pool *p)
{
    for (int i = 0; i < POOL_CLASSES; i++)
        while (p->kept[i]) {
            pool_block *b = p->kept[i];
            p->kept[i] = b->next;
            p->driver->give(p->device, b->at);
            memory_free(b);
        }
    atomic_store(&p->cached, 0);
}

/* Waits first, because commands in the queue may still use kept blocks. */
static void make_room(memory_pool *p)
{
    p->driver->wait(p->device);
    pool_trim(p);
}

/* Gets a block from the driver. If that fails, gives the kept blocks back and tries again. */
static ig_status ask_driver(memory_pool *p, pool_block *b)
{
    bool full = false;
    if (p->cached && b->bytes + p->cached > room_of(p)) /* kept blocks count, too */
        make_room(p);
    ig_status status = p->driver->get(p->device, b->bytes, &b->at, &full);
    if (status == IG_OK || !full)
        return status;
    make_room(p);
    full = false;
    status = p->driver->get(p->device, b->bytes, &b->at, &full);
    if (status == IG_OK || !full)
        return status;
    return fail_refused(p, b->bytes);
}

static void count_used(memory_pool *p, size_t bytes)
{
    const uint64_t used = atomic_fetch_add(&p->used, bytes) + bytes;
    if (used > atomic_load(&p->peak))
        atomic_store(&p->peak, used);
}

pool_block *pool_take_kept(memory_pool *p, size_t bytes)
{
    const size_t whole = pool_bytes(p, bytes);
    pool_block *b = whole < bytes || whole > room_of(p) ? NULL : kept_take(p, whole);
    if (b) {
        b->next = NULL;
        count_used(p, whole);
    }
    return b;
}

pool_block *pool_take(memory_pool *p, size_t bytes)
{
    const size_t whole = pool_bytes(p, bytes);
    if (pool_admit(p, whole < bytes ? bytes : whole, "a buffer") != IG_OK)
        return NULL;
    pool_block *b = kept_take(p, whole);
    if (!b && p->driver->busy && p->cached && whole + p->cached > room_of(p)) {
        p->driver->wait(p->device);
        b = kept_take(p, whole);
    }
    if (!b) {
        b = memory_new(sizeof *b);
        if (!b)
            return NULL;
        b->bytes = whole;
        if (ask_driver(p, b) != IG_OK) {
            memory_free(b);
            return NULL;
        }
    }
    b->next = NULL;
    count_used(p, whole);
    return b;
}

void pool_put(memory_pool *p, pool_block *b)
{
    p->used -= b->bytes;
    if (p->cached_most && p->cached + b->bytes > p->cached_most) {
        p->driver->give(p->device, b->at);
        memory_free(b);
        return;
    }
    const int class = class_of(b->bytes);
    b->next = p->kept[class];
    p->kept[class] = b;
    p->cached += b->bytes;
}

void pool_lose(memory_pool *p, pool_block *b)
{
    p->used -= b->bytes;
    memory_free(b);
}
