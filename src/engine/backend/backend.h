/* The vtable of a device. A backend never sees an array or a graph: only buffers, programs, kernels
 * and launches.
 *
 * Entries that create something or ask about the device take the device as an argument; the others find it
 * in the object that they take. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "engine/ops/native_node.h"
#include "engine/program/program.h"

#include <string.h>

typedef struct backend backend;

/* The buffer and offset that a slot is bound to for one launch. */
typedef struct binding {
    buffer *buf;
    size_t offset; /* in bytes */
} binding;

/* The kernel limits that a device reports; 0 where it reports nothing. */
typedef struct backend_limits {
    int version;           /* version of its kernel language: OpenCL 1.2 is 102 */
    int subgroup;          /* threads that run in lock step */
    uint64_t threads;      /* maximum per block */
    uint64_t thread_at[3]; /* maximum per block along each axis */
    uint64_t shared_bytes; /* maximum per block */
    uint64_t alloc_bytes;  /* maximum size of one buffer */
    /* Not 0: larger buffers exist, too, but a launch can only access this many bytes from where an argument points. */
    uint64_t reach_bytes;
    uint64_t param_bytes; /* maximum of all parameters of a kernel; a buffer takes 16 bytes */
    int buffers;          /* maximum number of buffers of one kernel */
    int processors;       /* processors, each of which runs several blocks at a time; 0: unknown */
    bool f16, f64;        /* has arithmetic of that type */
    bool atomics_i64;
    bool shuffles;        /* threads of a subgroup can read each other's values */
    bool masked_shuffles; /* the same, by instructions that take a mask of the threads */
    bool matrices;        /* a subgroup multiplies small matrices of f32, with f32 sums */
    bool subnormals;      /* f32 arithmetic keeps subnormal numbers */
    bool exact_division;  /* f32 division and square root are rounded correctly */
    bool extremes;        /* has instructions for the minimum and maximum of floats */
    bool unified;         /* it uses host memory */
    bool in_place; /* its programs read host arrays, including mapped files, without a copy */
    bool cpu;      /* a CPU core runs the threads of a block one after another */
} backend_limits;

/* ---- kernels ---- */

/* A buffer is passed as a pointer to its first byte (in OpenCL C a __global pointer, or NULL) and,
 * as the next parameter, an offset in bytes (ulong). */
typedef enum kernel_kind { KERNEL_BUFFER, KERNEL_BYTES } kernel_kind;

typedef struct kernel_param {
    kernel_kind kind;
    size_t bytes;  /* KERNEL_BYTES: size of the value */
    size_t offset; /* offset in the packed arguments, in CUDA's layout */
    bool is_read;  /* KERNEL_BUFFER: the kernel only reads it, according to its type (const) */
} kernel_param;

/* A kernel as text in the device's language, and what its compiler needs. */
typedef struct kernel_image {
    const char *source, *entry;
    const char *options; /* for the device's compiler; may be NULL */
    const kernel_param *params;
    int n_params;
    bool dynamic_shared; /* one more parameter at the end: a pointer to the block's shared memory */
    bool avoid_optimizer; /* some compilers for CPUs miscompile it when they optimize */
    bool is_emitted; /* the engine wrote the text: it uses no textures and no runtime functions */
} kernel_image;

/* A kernel that is ready to launch: the first member of the backend's own struct. */
typedef struct kernel_code {
    const backend *dev;
} kernel_code;

typedef struct kernel_arg {
    binding at;        /* KERNEL_BUFFER; buf may be NULL, with offset 0: a null pointer */
    const void *bytes; /* KERNEL_BYTES */
} kernel_arg;

typedef struct kernel_launch {
    uint32_t grid[3], block[3]; /* grid in blocks, block in threads: x, y, z */
    size_t shared_bytes;        /* with dynamic_shared */
    const kernel_arg *args;     /* one for each parameter */
    uint64_t reach;      /* most bytes that it accesses from where an argument points; 0: unknown */
    uint64_t *device_ns; /* if not NULL, the launch waits and stores its time on the device here */
    const char *label;   /* for messages: the ops that it computes; NULL: the kernel's name */
} kernel_launch;

/* ---- programs with native code ---- */

/* A chain that a library or a handwritten kernel runs instead of emitted kernels: the first member of the backend's own
 * struct. */
typedef struct native_code {
    const char *name;       /* for reports: "cuBLASLt" */
    const char *label;      /* for messages: the ops of the program; the engine sets it */
    uint64_t scratch_bytes; /* memory that a launch needs */
    /* If true, a launch leaves the values of the core at the start of scratch, in row-major order, in the dtype of
     * TAPE_CORE, and an emitted kernel runs the epilogue. Only if the chain is one program. */
    bool core_only;
    /* It is unknown whether this or an emitted kernel is faster. Set by prepare, never with core_only. The engine
     * builds emitted kernels, too, measures both at the first launch, and calls `decide`. */
    bool rival;
} native_code;

typedef struct backend_native {
    /* True if prepare accepts programs of such nodes (PROGRAM_KERNEL). NULL: it accepts none. */
    bool (*offers)(const backend *dev, const node_native *n);
    /* Announces that the chain that starts with p will be prepared later, so that slow work can begin in another
     * thread. May be NULL. */
    void (*expect)(const backend *dev, const program *p);
    /* Prepares the chain that starts with p. Leaves *out NULL if emitted kernels should run it. p stays at its
     * address until discard. by_value: for each slot, whether it is a number in host memory; for this call only. */
    ig_status (*prepare)(const backend *dev, const program *p, const bool *by_value,
                         native_code **out);
    ig_status (*launch)(native_code *code, const binding *bindings, binding scratch);
    void (*discard)(native_code *code);
    /* Receives the times of a rival and of the kernels. True if the rival runs from now on. NULL: no rivals. */
    bool (*decide)(native_code *code, int64_t native_ns, int64_t kernel_ns);
    /* A matrix product with at least this many multiplications is faster alone than fused with later ops other than
     * a bias. 0: fusion is always faster. */
    int64_t plain_product;
    /* True if a product of halves may still be fused with ops that read only its result and numbers. */
    bool half_epilogues;
} backend_native;

/* ---- replay of launches ---- */

/* A device that can record a list of launches and run it as one: a CUDA graph. The launches between begin and end
 * (kernel_launch without device_ns, native launches) are recorded in *kept, which is NULL at first and then belongs to
 * the backend. One thread calls begin and end, and uses the device for nothing else in between; other threads
 * wait. The launches take effect at the latest in end, with the arguments of this run. */
typedef struct backend_replay {
    ig_status (*begin)(const backend *dev, void **kept);
    /* Begins a group of launches, which run in order. The group follows the groups with these numbers, and may run
     * concurrently with the others. Without any such call, each launch follows the previous one. */
    void (*after)(const backend *dev, const int *groups, int n);
    /* Runs the launches if status is IG_OK. If *again is set, nothing was run: the caller repeats all launches,
     * starting with begin. Returns status, or the first failure. */
    ig_status (*end)(const backend *dev, void *kept, ig_status status, bool *again);
    void (*discard)(void *kept); /* NULL is fine */
} backend_replay;

/* ---- memory and streams of other libraries ---- */

/* Every stream of the device, as a stream that is waited for. */
#define BACKEND_ALL_STREAMS ((void *)(intptr_t)-1)

/* A device whose memory and streams other libraries of the process use, too. */
typedef struct backend_share {
    int (*number)(const backend *dev);   /* by which its driver knows the device */
    void *(*stream)(const backend *dev); /* that orders its commands; NULL on failure */
    /* One waits for the commands that the other has been given so far: the device, or the stream of another library.
     * The host does not wait, unless the stream is BACKEND_ALL_STREAMS. */
    ig_status (*wait)(const backend *dev, void *stream, bool device_waits);
    void *(*address)(const buffer *b);
    /* A buffer over memory at a multiple of `aligned` bytes, which no command writes. Before release is called, the
     * device has finished its commands. Calls release also on failure. */
    buffer *(*borrow)(const backend *dev, void *at, size_t bytes, void (*release)(void *context),
                      void *context);
    size_t aligned;
} backend_share;

/* ---- copies that overlap launches ---- */

/* A device that copies while it runs kernels. No call takes part in the order of commands, and none holds the device's lock
 * while it waits: several threads may call them at the same time. A caller makes sure that no command uses the buffer. */
typedef struct backend_stream {
    /* Copies between a buffer and memory of alloc_visible, and waits for the copy. */
    ig_status (*upload)(buffer *to, const void *from, size_t bytes);
    ig_status (*download)(void *to, buffer *from, size_t offset, size_t bytes);
    /* Waits for the commands that the device has been given so far. */
    ig_status (*wait)(const backend *dev);
} backend_stream;

/* ---- the device ---- */

struct backend {
    const char *name;
    /* True if results can be read by the host after finish. */
    bool computes;
    const char *no_arrays;       /* why it cannot run arrays, or NULL */
    struct memory_pool *pool;    /* its memory (pool.h); NULL: its buffers are host memory */
    const struct driver *driver; /* used by the entries that drivers share (driver.h), or NULL */
    ig_device_info
        facts; /* reported by driver_describe, except for name, levels and memory_limit */
    ig_status (*describe)(const backend *dev, ig_device_info *info);
    /* The i-th library of the vendor, or NULL. The entry is NULL if there are none. */
    const ig_library *(*library)(int i);
    /* A buffer of this device; NULL on failure. */
    buffer *(*alloc)(const backend *dev, size_t bytes);
    /* The same, in host memory that kernels can also use: its `data` is valid after finish. NULL: not supported. */
    buffer *(*alloc_visible)(const backend *dev, size_t bytes);
    /* A buffer of this device over host memory of another buffer, which it retains: nothing is copied. Returns NULL,
     * without an error, if that is not possible. The entry is NULL unless limits.unified. */
    buffer *(*wrap)(const backend *dev, buffer *from, size_t offset, size_t bytes);
    /* Prepares p for any number of launches and allocates all that they need. If compile, discard and launch are
     * NULL, the device does not run programs itself, and the engine emits kernels. */
    ig_status (*compile)(const backend *dev, program *p);
    void (*discard)(program *p);
    /* For reports: the name of the code that runs the program's core, or NULL. May be NULL. */
    const char *(*core_name)(const program *p);
    /* Runs the chain of p->chain programs that starts with p, one after another or some rows at a time;
     * bindings are indexed by slot. An index out of bounds is IG_ERR_INDEX. */
    ig_status (*launch)(const program *p, const binding *bindings);
    /* The most points of k in a block of a contraction: see backend_product_k. NULL: PRODUCT_K in math mode same, and
     * the order is not fixed in other modes. */
    int64_t (*product_k)(ig_dtype dtype, ig_math math);
    /* Waits for all launches and fails if one of them failed. */
    ig_status (*finish)(const backend *dev);
    /* Releases everything that is kept between launches. */
    void (*release)(const backend *dev);

    /* The entries below are NULL if the device cannot run kernels.
     *
     * Commands take effect in order; only read, finish and a timed launch wait. A failed command poisons
     * the buffers that it may have written: reading one or passing it to a kernel fails with the cause,
     * until it is written or filled as a whole. */
    backend_limits limits;
    /* The language of kernel texts: "opencl". NULL if the device runs lane code; then kernel_build and kernel_launch
     * are NULL and `lanes` is not. */
    const char *language;
    const struct lane_runner *lanes; /* lanes.h */
    /* Access to buffers in bytes. Ranges are within their buffers; the ranges of a copy do not overlap. */
    ig_status (*write)(buffer *to, size_t offset, const void *from, size_t bytes);
    ig_status (*read)(buffer *from, size_t offset, void *to, size_t bytes);
    ig_status (*copy)(buffer *to, size_t to_offset, buffer *from, size_t from_offset, size_t bytes);
    bool copies_peers; /* copy also accepts buffers of two devices of this kind */
    ig_status (*fill)(buffer *to, size_t offset, uint8_t value, size_t bytes);
    /* On failure, the error has the log of the device's compiler. The text is not kept. */
    ig_status (*kernel_build)(const backend *dev, const kernel_image *image, kernel_code **out);
    bool builds_in_threads; /* several threads may call kernel_build at the same time */
    /* Builds n kernels from one text, all or none. The images differ only in entries and parameters. May be NULL. */
    ig_status (*kernels_build)(const backend *dev, const kernel_image *images, int n,
                               kernel_code **out);
    void (*kernel_discard)(kernel_code *code);
    ig_status (*kernel_launch)(kernel_code *code, const kernel_launch *l);
    /* NULL: all programs run as emitted kernels. */
    const backend_native *native;
    const backend_replay *replay; /* NULL: launches cannot be recorded */
    const backend_share *share;   /* NULL: other libraries cannot use its memory */
    const backend_stream *stream; /* NULL: copies are commands like others */
};

static inline bool backend_runs_kernels(const backend *dev) { return dev->language || dev->lanes; }

/* Contractions of these elements cut k evenly into the fewest blocks of at most this many points, and add the sums of the
 * blocks in order, in the dtype of lanes. 0: their order is not fixed. */
static inline int64_t backend_product_k(const backend *dev, ig_dtype dtype, ig_math math)
{
    return dev->product_k ? dev->product_k(dtype, math) : math == IG_MATH_SAME ? PRODUCT_K : 0;
}

/* The devices of one kind, if a machine may have several. They are searched for on first use. */
typedef struct backend_family {
    const char *name;             /* devices are "name:0", "name:1", ...; "name" is the first */
    struct device_search *search; /* search.h */
} backend_family;

/* Adds a device to the end of the list, before its first use. It must stay valid and have a new name. For
 * devices from outside the library, such as test devices. */
ig_status backend_register(const backend *dev);

/* Devices of all kinds, in the order of `ingot devices`. */
int backend_count(void);
const backend *backend_at(int i);
/* NULL if there is no such device. Searches for the devices of a family only if the name belongs to it. */
const backend *backend_find(const char *name);
/* For lower folders: see array/above.h. */
const char *backend_canonical(const char *name);
bool backend_offers(const char *name, const node_native *n);

/* The devices of a list of names, such as "cpu,cuda:0": each once, in this order. "all": the CPU and every GPU, GPUs first.
 * Returns their number; 0 if one is missing, which is an error. */
enum { BACKEND_LIST_MOST = 16 };
int backend_list(const char *names, const backend **list);
static inline bool backend_is_list(const char *name)
{
    return strchr(name, ',') || strcmp(name, "all") == 0;
}

/* Programs of the CPU share scratch memory. Whoever compiles or runs one, or changes the number of threads, has the turn; a
 * thread may take it again while it has it. */
void cpu_turn_begin(void);
void cpu_turn_end(void);

/* The same, or a description of a typical device of this kind if there is none: "metal". It has limits and no functions. */
const backend *backend_like(const char *name);

/* The i-th kind of device that has a backend but no device on this machine; false if there are no more. The text
 * stays valid until the next search. */
bool backend_absent(int i, ig_absent *a);

/* Fails with IG_ERR_DEVICE: no device has that name. The message says why, and what would help. */
ig_status backend_missing(const char *name);

/* Releases what devices keep between launches. Does not search for devices. */
void backend_release_all(void);

extern const backend backend_cpu, backend_gang, backend_null;
extern const backend backend_typical_metal;
extern const backend_family backend_cuda, backend_metal, backend_opencl;

#endif
