/* The memory of one device: a byte budget, and blocks that are kept for reuse. All devices with
 * separate memory share this code; a driver only gets and frees blocks.
 *
 * A freed block is reused by the next buffer of its size, without waiting: commands take effect in order. If the host
 * writes to the memory, too, the driver reports which blocks are busy, and these are not reused yet. If memory is
 * short, kept blocks are returned to the driver, which is then asked once more.
 *
 * The counters may be read at any time. All functions are called with the lock of the device held. */
#ifndef BACKEND_POOL_H
#define BACKEND_POOL_H

#include "ingot/base.h"

#include <stdatomic.h>

enum { POOL_CLASSES = 64 };

/* A block of memory: owned by a buffer, or kept. */
typedef struct pool_block {
    struct pool_block *next;
    uint64_t at;  /* the driver's address or handle */
    size_t bytes; /* at least the requested size */
} pool_block;

typedef struct pool_driver {
    /* Gets a block. On failure for lack of memory, sets *full and no error. */
    ig_status (*get)(void *device, size_t bytes, uint64_t *at, bool *full);
    void (*give)(void *device, uint64_t at);
    /* Waits for commands that may use blocks, so that freeing the blocks makes room. */
    void (*wait)(void *device);
    /* Free bytes that the driver reports; 0: unknown. May be NULL. */
    uint64_t (*left)(void *device);
    /* True if commands use the block, so the host must not write to it yet. NULL: the host never writes to blocks. */
    bool (*busy)(void *device, uint64_t at);
} pool_driver;

typedef struct memory_pool {
    const pool_driver *driver;
    void *device;
    const char *name;     /* of the device, for messages */
    uint64_t total;       /* bytes of its memory: the default limit */
    uint64_t block_most;  /* maximum size of a block in bytes; 0: no limit */
    uint64_t cached_most; /* most bytes to keep; 0: no limit */
    _Atomic uint64_t limit_set, used, peak, cached;
    pool_block *kept[POOL_CLASSES];
} memory_pool;

uint64_t pool_limit(const memory_pool *p);
/* Fails if this many more bytes would exceed the limit; `what` needs them. */
ig_status pool_admit(const memory_pool *p, uint64_t bytes, const char *what);

/* How many requests of this process did not fit in the memory of a device. */
uint64_t pool_refusals(void);
void pool_refuse(void); /* counts one */
/* Bytes that buffers can still have, such that the rounding of their sizes fits, too; asks the driver. */
uint64_t pool_free(const memory_pool *p);
/* The bytes that a buffer of this size takes. */
size_t pool_bytes(const memory_pool *p, size_t bytes);

/* A block of at least this many bytes; NULL on failure. */
pool_block *pool_take(memory_pool *p, size_t bytes);
/* The same from kept blocks only, without a call of the driver. Returns NULL, without an error, if there is none or the
 * limit is reached. For drivers without `busy`. */
pool_block *pool_take_kept(memory_pool *p, size_t bytes);
/* Returns a block that its buffer no longer needs. */
void pool_put(memory_pool *p, pool_block *b);
/* The same if the driver must no longer be called: the memory is lost. */
void pool_lose(memory_pool *p, pool_block *b);
/* Returns kept blocks to the driver. */
void pool_trim(memory_pool *p);

#endif
