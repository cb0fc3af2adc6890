/* An OpenCL device as a backend.
 *
 * A device is queried when it is found, and opened (a context and an in-order queue) by the first buffer
 * or kernel. Its lock guards the fields after it.
 *
 * Commands are numbered, and a buffer stores the number of the last one that may have written it. When a command has
 * failed, it and later ones are in the list of failures: what they wrote is poisoned. */
#ifndef OPENCL_OPENCL_H
#define OPENCL_OPENCL_H

#include "engine/backend/backend.h"
#include "engine/backend/driver.h"
#include "engine/backend/opencl/api.h"

#include <pthread.h>

enum { OPENCL_PENDING = 64, OPENCL_NAME_BYTES = 64, OPENCL_WHAT_BYTES = 160 };

/* A command in the queue that is not known to have finished. */
typedef struct opencl_pending {
    cl_event event; /* NULL: it has none */
    uint64_t number;
    char what[OPENCL_WHAT_BYTES]; /* "kernel 'saxpy'", "add sum (kernel 'rows')" */
} opencl_pending;

typedef struct opencl_device {
    backend base; /* first: a backend is a device */
    cl_platform_id platform;
    cl_device_id id;
    const char *kind;
    char name[16], level[32], model[128], driver[128], version[128], features[128];
    char platform_name[128], platform_version[128];
    int cores;
    uint64_t memory;

    pthread_mutex_t lock;
    cl_context context; /* NULL: not open */
    cl_command_queue queue;
    cl_command_queue timed; /* for launches whose time is asked for; NULL until then */
    int n_kernels;          /* that need the context */
    /* Texts without the header (see header.h): the compiler took one; it takes none. */
    bool took_bare, takes_no_bare;
    memory_pool pool;
    uint64_t number,
        settled; /* of the last command, and of the last that is known to have succeeded */
    opencl_pending pending[OPENCL_PENDING]; /* a ring */
    int pending_first, n_pending;
    failure_list failures;
} opencl_device;

/* What an argument of a kernel was set to. */
typedef struct opencl_set {
    cl_mem mem; /* of a buffer */
    cl_ulong at;
    unsigned char *bytes; /* of a value */
} opencl_set;

typedef struct opencl_kernel {
    kernel_code base;
    opencl_device *dev;
    cl_kernel kernel;
    char name[OPENCL_NAME_BYTES];
    uint64_t threads;      /* of a block, at most */
    uint64_t shared_bytes; /* that the text itself declares */
    bool dynamic_shared;
    /* The arguments of the last launch. They are set again if they differ, or if buffers have been released since, because
     * a new one may have the address of an old one. */
    bool is_set;
    uint64_t releases;
    size_t set_shared;
    opencl_set *set;
    int n_params;
    kernel_param params[];
} opencl_kernel;

/* The functions; valid once a device was found. */
extern opencl_api cl;

/* ---- device.c ---- */

opencl_device *opencl_device_of(const backend *dev);

/* Locks the device and opens it; not locked on failure. */
ig_status opencl_enter(opencl_device *d);
/* The same for releasing: false if OpenCL must not be called any more. */
bool opencl_enter_open(opencl_device *d);
void opencl_leave(opencl_device *d);

/* True if its compiler takes instructions of NVIDIA's GPUs. */
bool opencl_is_nvidia(const opencl_device *d);

/* IG_OK, or an error that says what failed and why. */
ig_status opencl_check(const opencl_device *d, cl_int status, const char *what);

/* ---- queue.c: called with the lock ---- */

/* Makes room for one more command; may find that one failed. */
ig_status queue_room(opencl_device *d);
/* The number of the next command. */
uint64_t queue_number(opencl_device *d);
/* Records the command: refused, or in progress (takes over event; NULL: finished). */
ig_status queue_given(opencl_device *d, uint64_t number, cl_int status, cl_event event,
                      const char *what);
/* The same of a command in progress that has no event. */
ig_status queue_queued(opencl_device *d, uint64_t number, cl_int status, const char *what);
/* Waits for all commands, and fails if one failed. */
ig_status queue_settle(opencl_device *d);
/* A queue that measures, once all commands of the other one have finished. Profiling slows each launch down, so that the
 * usual queue does not measure. */
ig_status queue_timed(opencl_device *d, cl_command_queue *queue);
/* Drops all commands, when the device closes. */
void queue_drop(opencl_device *d);

/* ---- memory.c ---- */

extern const pool_driver opencl_pool;
extern const struct driver opencl_driver;
/* The object of OpenCL in which a byte of the buffer is, and where; *left: bytes until the next one begins. */
cl_mem opencl_place(const buffer *b, size_t offset, size_t *at, size_t *left);
/* How many objects have been released. */
uint64_t opencl_releases(void);

/* ---- build.c, launch.c ---- */

ig_status opencl_kernel_build(const backend *dev, const kernel_image *image, kernel_code **out);
ig_status opencl_kernels_build(const backend *dev, const kernel_image *images, int n,
                               kernel_code **out);
void opencl_kernel_discard(kernel_code *code);
ig_status opencl_kernel_launch(kernel_code *code, const kernel_launch *l);

#endif
