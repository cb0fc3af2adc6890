/* The memory of one device: a byte budget, and blocks that are kept for the next arrays. All devices with
 * memory of their own share this code; a driver only gets and gives blocks.
 *
 * A freed block is reused by the next buffer of its size, without waiting: commands take effect in order. A driver
 * whose memory the host writes, too, says which blocks are busy; those wait. If memory is short, kept blocks go back to
 * the driver, which is asked once more.
 *
 * The counters may be read at any time. Everything else is called with the lock of the device. */
#ifndef BACKEND_POOL_H
#define BACKEND_POOL_H

#include "ingot.h"

#include <stdatomic.h>

enum { POOL_CLASSES = 64 };

/* A block of memory: owned by a buffer, or kept. */
typedef struct pool_block {
    struct pool_block *next;
    uint64_t at;  /* the driver's address or handle */
    size_t bytes; /* at least what was asked for */
} pool_block;

typedef struct pool_driver {
    /* Gets a block; *full: it failed because there is too little memory, and no error is set. */
    ig_status (*get)(void *device, size_t bytes, uint64_t *at, bool *full);
    void (*give)(void *device, uint64_t at);
    /* Waits for commands that may use blocks, so that giving them makes room. */
    void (*wait)(void *device);
    /* Bytes that the driver has left; 0: it does not tell. May be NULL. */
    uint64_t (*left)(void *device);
    /* True if commands use the block, so that the host must not write to it yet. May be NULL: it never does. */
    bool (*busy)(void *device, uint64_t at);
} pool_driver;

typedef struct memory_pool {
    const pool_driver *driver;
    void *device;
    const char *name;     /* of the device, for messages */
    uint64_t total;       /* bytes of its memory: the default limit */
    uint64_t block_most;  /* bytes of a block; 0: any */
    uint64_t cached_most; /* bytes that are kept; 0: any */
    _Atomic uint64_t limit_set, used, peak, cached;
    pool_block *kept[POOL_CLASSES];
} memory_pool;

uint64_t pool_limit(const memory_pool *p);
/* Fails if so many more bytes exceed the limit; `what` needs them. */
ig_status pool_admit(const memory_pool *p, uint64_t bytes, const char *what);

/* A block of at least so many bytes; NULL on failure. */
pool_block *pool_take(memory_pool *p, size_t bytes);
/* The same from kept blocks alone, without a call of the driver; NULL, without an error: there is none, or no room. For
 * drivers without `busy`. */
pool_block *pool_take_kept(memory_pool *p, size_t bytes);
/* A buffer does not need the block any more. */
void pool_put(memory_pool *p, pool_block *b);
/* The same, but the driver must not be called any more: the memory is lost. */
void pool_lose(memory_pool *p, pool_block *b);
/* Gives kept blocks back to the driver. */
void pool_trim(memory_pool *p);

#endif
