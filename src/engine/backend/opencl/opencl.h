/* An OpenCL device as a backend.
 *
 * A device is queried when it is found, and opened (a context and an in-order queue) by the first buffer
 * or kernel. Its lock guards the fields after it.
 *
 * Commands are numbered, and a buffer stores the number of the last one that may have written it. When a command
 * fails, it and all later ones are added to the list of failures: the buffers that they wrote are poisoned. */
#ifndef OPENCL_OPENCL_H
#define OPENCL_OPENCL_H

#include "engine/backend/backend.h"
#include "engine/backend/driver.h"
#include "engine/backend/opencl/api.h"

enum { OPENCL_PENDING = 64, OPENCL_WHAT_BYTES = 160 };

/* A command in the queue that may not have finished. */
typedef struct opencl_pending {
    cl_event event; /* NULL: the command has none */
    uint64_t number;
    char what[OPENCL_WHAT_BYTES]; /* "kernel 'saxpy'", "add sum (kernel 'rows')" */
} opencl_pending;

typedef struct opencl_device {
    driver_device base; /* its numbers are of commands */
    cl_platform_id platform;
    cl_device_id id;
    const char *kind;
    char level[32], model[128], driver[128], version[128], features[128];
    char platform_name[128], platform_version[128];
    int cores;
    uint64_t memory;

    cl_context context;
    cl_command_queue queue;
    cl_command_queue timed; /* for timed launches; NULL until the first */
    int n_kernels;          /* number of kernels, which need the context */
    /* Texts without the header (see header.h): the compiler has accepted one; it accepts none. */
    bool took_bare, takes_no_bare;
    uint64_t settled; /* number of the last command that is known to have succeeded */
    opencl_pending pending[OPENCL_PENDING]; /* a ring buffer */
    int pending_first, n_pending;
} opencl_device;

static inline opencl_device *opencl_device_of(const backend *dev)
{
    return (opencl_device *)driver_of(dev);
}

/* The current value of a kernel argument. */
typedef struct opencl_set {
    cl_mem mem; /* for a buffer */
    cl_ulong at;
    unsigned char *bytes; /* for a value */
} opencl_set;

typedef struct opencl_kernel {
    driver_kernel base;
    opencl_device *dev;
    cl_kernel kernel;
    /* The arguments of the last launch. They are set again if they differ, or if buffers have been released since then,
     * because a new buffer may have the address of an old one. */
    bool is_set;
    uint64_t releases;
    size_t set_shared;
    opencl_set *set;
} opencl_kernel;

/* The functions of OpenCL; valid once a device was found. */
extern opencl_api cl;

/* ---- device.c ---- */

/* True if its compiler accepts instructions of NVIDIA's GPUs. */
bool opencl_is_nvidia(const opencl_device *d);

/* IG_OK, or an error that says what failed and why. */
ig_status opencl_check(const opencl_device *d, cl_int status, const char *what);

/* ---- queue.c: called with the lock ---- */

/* Makes room for one more command. Fails if it finds that a command failed. */
ig_status queue_room(opencl_device *d);
/* Records the command: rejected, or in progress (takes over event; NULL: finished). */
ig_status queue_given(opencl_device *d, uint64_t number, cl_int status, cl_event event,
                      const char *what);
/* The same for a command in progress without an event. */
ig_status queue_queued(opencl_device *d, uint64_t number, cl_int status, const char *what);
/* Waits for all commands, and fails if one failed. */
ig_status queue_settle(opencl_device *d);
/* Opens the device; see struct driver. */
ig_status opencl_use(const backend *dev);
extern device_search opencl_search;
/* Returns a queue that measures times, after waiting for all commands of the usual one, which does not measure because
 * profiling slows down each launch. */
ig_status queue_timed(opencl_device *d, cl_command_queue *queue);
/* Drops all commands when the device closes. */
void queue_drop(opencl_device *d);

/* ---- memory.c ---- */

extern const pool_driver opencl_pool;
extern const struct driver opencl_driver;
/* The OpenCL object that contains a byte of the buffer; *at: its offset; *left: bytes until the next object begins. */
cl_mem opencl_place(const buffer *b, size_t offset, size_t *at, size_t *left);
/* Number of objects that have been released. */
uint64_t opencl_releases(void);

/* ---- build.c, launch.c ---- */

ig_status opencl_kernel_build(const backend *dev, const kernel_image *image, kernel_code **out);
ig_status opencl_kernels_build(const backend *dev, const kernel_image *images, int n,
                               kernel_code **out);
void opencl_kernel_discard(kernel_code *code);
ig_status opencl_kernel_launch(kernel_code *code, const kernel_launch *l);

#endif
