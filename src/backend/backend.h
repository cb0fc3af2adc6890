/* The vtable of a device. A backend never sees an array or a graph: only buffers, programs, kernels
 * and launches.
 *
 * An entry that makes something, or asks about the device, is told which device; one that is given a
 * thing knows it by the thing. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "program/program.h"

typedef struct backend backend;

/* What a program's slot is bound to for one launch: a place in a buffer. */
typedef struct binding {
    buffer *buf;
    size_t offset; /* bytes */
} binding;

/* What a device can do for kernels, as it says itself; 0 where it does not say. */
typedef struct backend_limits {
    int version;           /* of its kernel language: OpenCL 1.2 is 102 */
    int subgroup;          /* threads that go in step */
    uint64_t threads;      /* of a block */
    uint64_t thread_at[3]; /* of a block along each axis */
    uint64_t shared_bytes; /* of a block */
    uint64_t alloc_bytes;  /* of one buffer */
    uint64_t param_bytes;  /* of all parameters of a kernel; a buffer takes 16 */
    int buffers;           /* of one kernel */
    bool f16, f64;         /* has arithmetic of that type */
    bool atomics_i64;
    bool shuffles;       /* threads that go in step can read each other's values */
    bool subnormals;     /* f32 keeps them */
    bool exact_division; /* f32 division and square root are rounded correctly */
    bool unified;        /* its memory is the host's */
} backend_limits;

/* ---- kernels ---- */

/* A buffer is passed as a pointer to its first byte (in OpenCL C a __global pointer, or NULL) and,
 * as the next parameter, an offset in bytes (ulong). */
typedef enum kernel_kind { KERNEL_BUFFER, KERNEL_BYTES } kernel_kind;

typedef struct kernel_param {
    kernel_kind kind;
    size_t bytes;  /* KERNEL_BYTES: of the value */
    size_t offset; /* of the argument when all are packed as CUDA packs them */
} kernel_param;

/* The text of a kernel in the device's language, and what its compiler has to know. */
typedef struct kernel_image {
    const char *source, *entry;
    const char *options; /* for the device's compiler; may be NULL */
    const kernel_param *params;
    int n_params;
    bool dynamic_shared; /* one more parameter at the end: a pointer to the block's shared memory */
    bool avoid_optimizer; /* compilers for CPUs are known to break it when they optimize */
} kernel_image;

/* A kernel that is ready to launch: the first member of a backend's own. */
typedef struct kernel_code {
    const backend *dev;
} kernel_code;

typedef struct kernel_arg {
    binding at;        /* KERNEL_BUFFER; buf may be NULL, a null pointer, with offset 0 */
    const void *bytes; /* KERNEL_BYTES */
} kernel_arg;

typedef struct kernel_launch {
    uint32_t grid[3], block[3]; /* blocks of the grid, threads of a block: x, y, z */
    size_t shared_bytes;        /* with dynamic_shared */
    const kernel_arg *args;     /* one for each parameter */
    uint64_t *device_ns; /* not NULL: waits, and receives the time that the device took for it */
} kernel_launch;

/* ---- the device ---- */

struct backend {
    const char *name;
    /* True if results can be read by the host after finish. */
    bool computes;
    const char *no_arrays; /* why it runs no arrays, or NULL */
    ig_status (*describe)(const backend *dev, ig_device_info *info);
    /* A buffer of this device; NULL on failure. */
    buffer *(*alloc)(const backend *dev, size_t bytes);
    /* Makes p ready to launch any number of times; whatever it needs is allocated here. */
    ig_status (*compile)(const backend *dev, program *p);
    void (*discard)(program *p);
    /* For people: the name of the code that runs the program's core, or NULL. May be NULL. */
    const char *(*core_name)(const program *p);
    /* Runs the chain of p->chain programs that begins with p, one after another or rows at a time;
     * bindings are indexed by operand slots. An index outside of its axis is IG_ERR_INDEX. */
    ig_status (*launch)(const program *p, const binding *bindings);
    /* Waits until all launches are done and tells if one of them failed. */
    ig_status (*finish)(const backend *dev);
    /* Gives back what it keeps between launches. */
    void (*release)(const backend *dev);

    /* What follows is NULL where the device runs no kernels.
     *
     * Commands take effect in the order in which they are given; only read, finish and a launch that
     * is timed wait. What a failed command may have written cannot be read, or be given to a kernel,
     * until it was written or filled as a whole: each attempt fails, and says why. */
    backend_limits limits;
    /* Of its kernels' text: "opencl". NULL if it runs lane code; then kernel_build and kernel_launch are
     * NULL and `lanes` is not. */
    const char *language;
    const struct lane_runner *lanes; /* lanes.h */
    /* Memory by bytes. Ranges must lie in their buffers; those of copy do not overlap. */
    ig_status (*write)(buffer *to, size_t offset, const void *from, size_t bytes);
    ig_status (*read)(buffer *from, size_t offset, void *to, size_t bytes);
    ig_status (*copy)(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
    ig_status (*fill)(buffer *to, size_t offset, uint8_t value, size_t bytes);
    /* What the device's compiler says about the text is in the error. Text is not kept. */
    ig_status (*kernel_build)(const backend *dev, const kernel_image *image, kernel_code **out);
    void (*kernel_discard)(kernel_code *code);
    ig_status (*kernel_launch)(kernel_code *code, const kernel_launch *l);
};

static inline bool backend_runs_kernels(const backend *dev) { return dev->language || dev->lanes; }

/* Devices of one kind, of which a machine has any number; they are looked for when somebody asks. */
typedef struct backend_family {
    const char *name; /* devices are "name:0", "name:1", ...; "name" is the first */
    int (*count)(void);
    const backend *(*at)(int i);
    /* Why there is none, and what would help; NULL, NULL: there is one. */
    const char *(*absent)(const char **remedy);
    void (*release)(void);
} backend_family;

/* Adds a device behind all others, before anybody uses it; it must stay valid, and its name be none of
 * those that are there. For devices that are not of this library, such as those of tests. */
ig_status backend_register(const backend *dev);

/* Devices of all kinds, in the order in which they are shown. */
int backend_count(void);
const backend *backend_at(int i);
/* NULL if there is none of that name. Looks for a family's devices only if it is one of theirs. */
const backend *backend_find(const char *name);

/* The i-th kind of device that we have a backend for, but that is not here; false: there are no more.
 * Text stays valid until devices are looked for again. */
bool backend_absent(int i, ig_absent *a);

/* Fails with IG_ERR_DEVICE: there is no device of that name, why, and what would help. */
ig_status backend_missing(const char *name);

/* Releases what all devices that are in use keep; looks for no more. */
void backend_release_all(void);

extern const backend backend_cpu, backend_null;
extern const backend_family backend_opencl;

#endif
