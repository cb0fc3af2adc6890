/* Code shared by drivers: the memory entries of struct backend, checks of launches, failed commands, and windows over
 * large buffers. A driver fills struct driver. Its device begins with a struct backend that points to it. */
#ifndef BACKEND_DRIVER_H
#define BACKEND_DRIVER_H

#include "engine/backend/backend.h"
#include "engine/backend/command.h"
#include "engine/backend/pool.h"
#include "engine/backend/search.h"

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

/* A device: the first member of the driver's own struct. */
typedef struct driver_device {
    backend dev;
    char name[16];
    atomic_bool is_open;  /* opened by `use`; closed by release, when nothing is left of it */
    atomic_bool is_lost;  /* no call of it can succeed any more */
    pthread_mutex_t lock; /* recursive; guards the driver's fields */
    memory_pool pool;
    uint64_t number; /* of the last command */
    failure_list failures;
} driver_device;

static inline driver_device *driver_of(const backend *dev)
{
    return (driver_device *)(uintptr_t)dev;
}

struct driver {
    device_search *search;
    /* Called after the device was locked, and before it is unlocked. May be NULL. */
    void (*begin)(const backend *dev);
    void (*end)(const backend *dev);
    /* Opens the device, unless it is open, and lets the calling thread use it. Called with the lock. */
    ig_status (*use)(const backend *dev);
    void (*unuse)(const backend *dev); /* the calling thread no longer uses it; may be NULL */
    /* Waits for all commands, and fails if one failed. Called with the lock. */
    ig_status (*settle)(const backend *dev);
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

/* Begins the next device of a search: clears it, but keeps its lock and memory limit. The caller counts it. NULL if
 * there is no room. */
driver_device *driver_add(device_search *s, const backend *vtable, const pool_driver *pool);

/* Locks the device and opens it; not locked on failure. */
ig_status driver_enter(const backend *dev);
void driver_leave(const backend *dev);
ig_status driver_left(const backend *dev, ig_status status); /* leaves it and returns status */
/* Locks the device to release something: false if it must no longer be called. */
bool driver_lock_open(const backend *dev);
void driver_unlock(const backend *dev);

/* Entries of struct backend. */
#define DRIVER_ENTRIES \
    .computes = true, .describe = driver_describe, .alloc = driver_alloc, .finish = driver_finish, \
    .write = driver_write, .read = driver_read, .copy = driver_copy, .fill = driver_fill
ig_status driver_finish(const backend *dev);
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
/* Poisons the results of the commands from `first` on, and fails: "WHAT failed: WHY". */
ig_status driver_failed(driver_device *d, uint64_t first, const char *what, const char *why);
/* IG_ERR_DEVICE if a failed command wrote the buffer. */
ig_status driver_valid(const buffer *b, const char *what);
/* Notes that command `number` writes `bytes` of the buffer. Invalid content becomes valid only if all of it is
 * written. */
void driver_writes(buffer *b, size_t bytes, uint64_t number);

/* A buffer that is larger than the device allows has n windows: objects of two steps each. One begins every
 * step, so a launch can access one step from any position. Returns the window of a byte; *at: its offset in the window;
 * *left: bytes until the next window begins. */
static inline int driver_window(size_t step, int n, size_t offset, size_t *at, size_t *left)
{
    const size_t nth = offset / step, last = (size_t)n - 1, i = nth < last ? nth : last;
    *at = offset - i * step;
    *left = i < last ? step - *at : SIZE_MAX;
    return (int)i;
}

/* ---- launches ---- */

/* A kernel: the first member of the driver's own struct. */
typedef struct driver_kernel {
    kernel_code code;
    char name[64];          /* "kernel 'saxpy'" */
    uint64_t threads;       /* maximum per block; 0: the device's */
    uint64_t shared_static; /* bytes that the text declares */
    bool dynamic_shared;
    int n_params;
    kernel_param *params; /* after the driver's struct */
} driver_kernel;

/* A kernel of an image, in a struct of this many bytes; NULL on failure. Release with memory_free. */
void *driver_kernel_new(const backend *dev, const kernel_image *image, size_t bytes);

/* IG_ERR_ARGUMENT if the device does not allow the grid, the block, or the block's shared memory. `dynamic` bytes of it
 * are dynamic. */
ig_status driver_check_shape(const driver_kernel *k, const kernel_launch *l, uint64_t dynamic);
/* Fails unless each buffer argument is NULL or points into a buffer of the device, within reach. */
ig_status driver_check_args(const driver_kernel *k, const kernel_launch *l);
/* Fails unless the contents of all buffers are valid. */
ig_status driver_check_valid(const driver_kernel *k, const kernel_launch *l);

#endif
