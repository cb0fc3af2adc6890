/* Code shared by drivers: the memory entries of struct backend, checks of launches, failed commands, and windows over
 * large buffers. A driver fills struct driver. Its device begins with a struct backend that points to it. */
#ifndef BACKEND_DRIVER_H
#define BACKEND_DRIVER_H

#include "engine/backend/backend.h"
#include "engine/backend/command.h"
#include "engine/backend/pool.h"

/* ---- failed commands ---- */

enum { FAILURES_MOST = 64 };

/* Commands are numbered from 1. The commands in these ranges failed, so the data that they wrote must not be used. */
typedef struct failure_list {
    int n;
    struct failure {
        uint64_t first, last;
        char text[FLIGHT_TEXT_BYTES];
    } at[FAILURES_MOST];
} failure_list;

void failures_add(failure_list *f, uint64_t first, uint64_t last, const char *text);
/* Why the command failed, or NULL if it did not. */
const char *failures_find(const failure_list *f, uint64_t number);

/* ---- memory ---- */

/* buffer.handle, or its first member. */
typedef struct driver_memory {
    pool_block *block;      /* NULL: the memory belongs to source */
    buffer *source;         /* the owner of the memory, if block is NULL */
    uint64_t used, written; /* numbers of the last commands that used and wrote it; 0: none */
} driver_memory;

struct driver {
    /* Locks the device and opens it; not locked on failure. */
    ig_status (*enter)(const backend *dev);
    /* The same to release something: false if the device must no longer be called. */
    bool (*enter_open)(const backend *dev);
    void (*leave)(const backend *dev);
    /* Access to the bytes of one device's buffers. Called with the lock; ranges are checked and not empty. */
    ig_status (*write)(buffer *to, size_t offset, const void *from, size_t bytes);
    ig_status (*read)(buffer *from, size_t offset, void *to, size_t bytes);
    ig_status (*copy)(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
    ig_status (*fill)(buffer *to, size_t offset, uint8_t value, size_t bytes);
    size_t memory_bytes; /* size of buffer.handle */
    /* Called after the buffer got its block, and before it is destroyed. is_open is false if the device is closed.
     * Called with the lock; both may be NULL. */
    void (*attach)(buffer *b);
    void (*detach)(buffer *b, bool is_open);
};

/* Entries of struct backend. */
buffer *driver_alloc(const backend *dev, size_t bytes);
ig_status driver_write(buffer *to, size_t offset, const void *from, size_t bytes);
ig_status driver_read(buffer *from, size_t offset, void *to, size_t bytes);
ig_status driver_copy(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
ig_status driver_fill(buffer *to, size_t offset, uint8_t value, size_t bytes);
/* Before and after each call of the device's compiler: for timelines, and for the command, which shows it. */
int64_t driver_compile_begin(const backend *dev);
void driver_compile_end(int64_t began);
/* Reports backend.facts. */
ig_status driver_describe(const backend *dev, ig_device_info *info);

/* buffer.destroy of driver_alloc's buffers. */
void driver_destroy(buffer *b);
/* IG_ERR_ARGUMENT unless b is a buffer of a driver and, if dev is not NULL, of this device. */
ig_status driver_owns(const backend *dev, const buffer *b, const char *what);
/* IG_ERR_DEVICE if a failed command wrote the buffer. */
ig_status driver_valid(const failure_list *f, const buffer *b, const char *what);
/* Notes that command `number` writes `bytes` of the buffer. Invalid content becomes valid only if all of it is
 * written. */
void driver_writes(const failure_list *f, buffer *b, size_t bytes, uint64_t number);

/* A buffer that is larger than the device allows has n windows: objects of two steps each, of which one begins every
 * step. So a launch can access one step from any position. Returns the window of a byte; *at: its offset in the window;
 * *left: bytes until the next window begins. */
static inline int driver_window(size_t step, int n, size_t offset, size_t *at, size_t *left)
{
    const size_t nth = offset / step, last = (size_t)n - 1, i = nth < last ? nth : last;
    *at = offset - i * step;
    *left = i < last ? step - *at : SIZE_MAX;
    return (int)i;
}

/* ---- launches ---- */

/* The properties that a launch is checked against. */
typedef struct driver_kernel {
    const backend *dev;
    const char *name;       /* "kernel 'saxpy'" */
    uint64_t threads;       /* maximum per block; 0: the device's */
    uint64_t shared_static; /* bytes that the text declares */
    const kernel_param *params;
    int n_params;
} driver_kernel;

/* IG_ERR_ARGUMENT if the device does not allow the grid, the block, or the block's shared memory. `dynamic` bytes of it
 * are dynamic. */
ig_status driver_check_shape(const driver_kernel *k, const kernel_launch *l, uint64_t dynamic);
/* Fails unless each buffer argument is NULL or points into a buffer of the device, within reach. */
ig_status driver_check_args(const driver_kernel *k, const kernel_launch *l);

#endif
