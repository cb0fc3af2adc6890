/* What drivers share: the memory entries of struct backend, checks of launches, failed commands, and windows over large
 * buffers. A driver fills struct driver; a device of its own begins with a struct backend that points to it. */
#ifndef BACKEND_DRIVER_H
#define BACKEND_DRIVER_H

#include "engine/backend/backend.h"
#include "engine/backend/command.h"
#include "engine/backend/pool.h"

/* ---- failed commands ---- */

enum { FAILURES_MOST = 64 };

/* Commands are numbered from 1 on. Those in these ranges failed, so what they wrote must not be used. */
typedef struct failure_list {
    int n;
    struct failure {
        uint64_t first, last;
        char text[FLIGHT_TEXT_BYTES];
    } at[FAILURES_MOST];
} failure_list;

void failures_add(failure_list *f, uint64_t first, uint64_t last, const char *text);
/* Why what the command wrote must not be used, or NULL. */
const char *failures_find(const failure_list *f, uint64_t number);

/* ---- memory ---- */

/* buffer.handle, or its first member. */
typedef struct driver_memory {
    pool_block *block;      /* NULL: the memory belongs to source */
    buffer *source;         /* whose memory it is, if it is not its own */
    uint64_t used, written; /* by the command of this number; 0: none */
} driver_memory;

struct driver {
    /* Locks the device and opens it; not locked on failure. */
    ig_status (*enter)(const backend *dev);
    /* The same to release something: false if the device must not be called any more. */
    bool (*enter_open)(const backend *dev);
    void (*leave)(const backend *dev);
    /* Bytes of buffers of one device. Called with the lock; ranges are checked and not empty. */
    ig_status (*write)(buffer *to, size_t offset, const void *from, size_t bytes);
    ig_status (*read)(buffer *from, size_t offset, void *to, size_t bytes);
    ig_status (*copy)(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
    ig_status (*fill)(buffer *to, size_t offset, uint8_t value, size_t bytes);
    size_t memory_bytes; /* of buffer.handle */
    /* The buffer has got its block, or is about to be destroyed, when the device may be closed for good. With the lock;
     * both may be NULL. */
    void (*attach)(buffer *b);
    void (*detach)(buffer *b, bool is_open);
};

/* Entries of struct backend. */
buffer *driver_alloc(const backend *dev, size_t bytes);
ig_status driver_write(buffer *to, size_t offset, const void *from, size_t bytes);
ig_status driver_read(buffer *from, size_t offset, void *to, size_t bytes);
ig_status driver_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
ig_status driver_fill(buffer *to, size_t offset, uint8_t value, size_t bytes);
/* Reports backend.facts. */
ig_status driver_describe(const backend *dev, ig_device_info *info);

/* buffer.destroy of driver_alloc's buffers. */
void driver_destroy(buffer *b);
/* IG_ERR_ARGUMENT unless b is a buffer of a driver; of this device if dev is not NULL. */
ig_status driver_owns(const backend *dev, const buffer *b, const char *what);
/* IG_ERR_DEVICE if a failed command wrote the buffer. */
ig_status driver_valid(const failure_list *f, const buffer *b, const char *what);
/* Command `number` writes `bytes` of the buffer. Content that is not valid becomes valid only if all of it is written. */
void driver_writes(const failure_list *f, buffer *b, size_t bytes, uint64_t number);

/* A buffer that is larger than the device allows has n windows: objects over two steps of its memory, one of which begins
 * every step. So a launch reaches one step from any place. Returns the window of a byte; *at: where in it; *left: bytes
 * until the next window begins. */
static inline int driver_window(size_t step, int n, size_t offset, size_t *at, size_t *left)
{
    const size_t nth = offset / step, last = (size_t)n - 1, i = nth < last ? nth : last;
    *at = offset - i * step;
    *left = i < last ? step - *at : SIZE_MAX;
    return (int)i;
}

/* ---- launches ---- */

/* What a launch is checked against. */
typedef struct driver_kernel {
    const backend *dev;
    const char *name;       /* "kernel 'saxpy'" */
    uint64_t threads;       /* of a block, at most; 0: what the device allows */
    uint64_t shared_static; /* bytes that the text declares */
    const kernel_param *params;
    int n_params;
} driver_kernel;

/* IG_ERR_ARGUMENT if the device cannot take the grid, the block, or the block's shared memory, of which `dynamic` bytes
 * belong to the launch. */
ig_status driver_check_shape(const driver_kernel *k, const kernel_launch *l, uint64_t dynamic);
/* Fails unless each buffer argument is NULL or a place in a buffer of the device, within reach. */
ig_status driver_check_args(const driver_kernel *k, const kernel_launch *l);

#endif
