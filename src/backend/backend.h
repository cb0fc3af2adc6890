/* The vtable of a device. A backend never sees an array or a graph: only buffers, programs, kernels
 * and launches.
 *
 * An entry that makes something, or asks about the device, is told which device; one that is given a
 * thing knows it by the thing. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "kernel/code.h"
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

/* ---- kernels: programs in the device's own language, which is text, or lane code ---- */

/* A buffer is passed as a pointer to its first byte (in OpenCL C a __global pointer, or NULL) and,
 * as the next parameter, an offset in bytes (ulong). */
typedef enum kernel_kind { KERNEL_BUFFER, KERNEL_BYTES } kernel_kind;

typedef struct kernel_param {
    kernel_kind kind;
    size_t bytes;  /* KERNEL_BYTES: of the value */
    size_t offset; /* among the arguments as CUDA packs them: where lane code looks for it */
} kernel_param;

typedef struct kernel_text {
    const char *source, *entry;
    const lane_code
        *lanes; /* in place of both, where the device runs lane code; it outlives the kernel */
    const char *options; /* for the device's compiler; may be NULL */
    const kernel_param *params;
    int n_params;
    bool dynamic_shared; /* one more parameter at the end: a pointer to the block's shared memory */
    bool careful;        /* its barriers ask more of compilers than some of those for CPUs can do */
} kernel_text;

/* A kernel that is ready to launch: the first member of a backend's own. */
typedef struct kernel_code {
    const backend *dev;
} kernel_code;

typedef struct kernel_arg {
    binding at;        /* KERNEL_BUFFER; buf may be NULL, a null pointer, with offset 0 */
    const void *bytes; /* KERNEL_BYTES */
} kernel_arg;

/* What a checked launch can find. */
typedef enum kernel_mistake {
    MISTAKE_BOUNDS,
    MISTAKE_ALIGNMENT,
    MISTAKE_NULL,
    MISTAKE_UNSET, /* shared memory that is read and was not written */
    MISTAKE_RACE,
    MISTAKE_LOCKSTEP, /* a race that lock step decides: a note */
    MISTAKE_BARRIER,  /* that not all threads come to */
    MISTAKE_LOOP,     /* without an end */
    MISTAKE_FREED,    /* memory that was the device's */
    MISTAKE_FOREIGN,  /* a pointer to no memory of the device */
    MISTAKE_SHUFFLE   /* of a lane that is not active: a note */
} kernel_mistake;

enum { KERNEL_FINDINGS = 20 };

typedef struct kernel_finding {
    kernel_mistake mistake;
    uint32_t place, other; /* in the source; other: of the earlier access of a race, or 0 */
    uint32_t block[3], thread[3];
    uint64_t count;
    char message[200];
} kernel_finding;

/* Memory that pointers among packed arguments, and those in memory, may point to. */
typedef struct kernel_memory {
    uint64_t base, bytes;
    bool freed;
} kernel_memory;

typedef struct kernel_check {
    uint64_t loops;              /* iterations of a warp in a block until a loop is endless */
    uint64_t launch;             /* its number in a whole program, from 1; 0: there is no other */
    const kernel_memory *memory; /* by address; NULL: what the arguments say is all there is */
    int n_memory;
    kernel_finding found[KERNEL_FINDINGS];
    int n, n_more; /* those in found, and others */
} kernel_check;

/* What printf of lane code asks of who launches it; both get the launch's context. */
typedef struct kernel_output {
    void (*write)(void *context, const char *text, size_t bytes); /* NULL: to standard output */
    /* How many bytes there are from an address to its array's end; 0: it is in none that is known. */
    size_t (*room)(void *context, uint64_t at);
} kernel_output;

typedef struct kernel_launch {
    uint32_t grid[3], block[3]; /* blocks of the grid, threads of a block: x, y, z */
    size_t shared_bytes;        /* with dynamic_shared */
    const kernel_arg *args;     /* one for each parameter */
    const void *packed;     /* in place of args, where memory is the host's: as CUDA packs them */
    uint64_t *device_ns;    /* not NULL: waits, and receives the time that the device took for it */
    bool *asserted;         /* receives whether an assertion failed; may be NULL */
    const binding *globals; /* of lane code: the memory of its source's variables, or NULL */
    const kernel_output *print; /* NULL: to standard output, with no array known */
    void *context;
    /* Of lane code, for people: what is wrong with it, and what each instruction did, of which the
     * counts are filled in and file and line are told. Both may be NULL. */
    kernel_check *check;
    ig_profile_line *profile;
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
    /* For people: what will run the program's core, or NULL. May be NULL. */
    const char *(*how)(const program *p);
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
    const char *language; /* of its kernels' text: "opencl"; NULL: they are lane code */
    /* Memory by bytes. Ranges must lie in their buffers; those of copy do not overlap. */
    ig_status (*write)(buffer *to, size_t offset, const void *from, size_t bytes);
    ig_status (*read)(buffer *from, size_t offset, void *to, size_t bytes);
    ig_status (*copy)(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
    ig_status (*fill)(buffer *to, size_t offset, uint8_t value, size_t bytes);
    /* What the device's compiler says about the text is in the error. Text is not kept. */
    ig_status (*kernel_build)(const backend *dev, const kernel_text *text, kernel_code **out);
    void (*kernel_discard)(kernel_code *code);
    ig_status (*kernel_launch)(kernel_code *code, const kernel_launch *l);
};

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
