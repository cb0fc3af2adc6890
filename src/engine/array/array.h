/* The array handle. An array is either a root or a view of a root:
 *
 * - A root is a node of the lazy graph (op, in, attr), or holds data. Its view is contiguous.
 * - A view selects elements of its root. Views of views are composed when they are built, so a view never
 *   refers to another view.
 *
 * For gradients, a view keeps the array that it was made from in in[0], and op says by which row.
 *
 * The inputs of an elementwise node have its shape, or are 0-d: numbers are not broadcast by views. */
#ifndef ARRAY_ARRAY_H
#define ARRAY_ARRAY_H

#include "base/dtype.h"
#include "engine/array/view.h"
#include <stdatomic.h>

/* What a backend made of a buffer's content: the first member of its own struct. */
typedef struct derived {
    void (*destroy)(struct derived *d);
} derived;

/* Storage, shared by reference count. data is host memory for the CPU; other devices use handle. */
typedef struct buffer {
    atomic_int refs;
    int reads; /* evaluations that had it as an input since it was last written; a few count as many */
    const struct backend *device; /* that alone can use it; NULL: host memory, the CPU's */
    size_t bytes;
    void *data;
    void *handle;
    uint64_t written; /* by which evaluation of the process, where that can fail late; else 0 */
    bool borrowed; /* the memory belongs to another buffer, which this one keeps; never write it */
    void (*destroy)(struct buffer *b); /* frees data and handle, not the struct */
    derived *derived;                  /* or NULL */
} buffer;

/* A counted host buffer; NULL on failure. */
buffer *buffer_new(size_t bytes);
/* A buffer without host memory: a device keeps its memory in handle, or there is none. */
buffer *buffer_new_opaque(size_t bytes);
/* A buffer over memory of somebody else, who is told by release (may be NULL) when nothing uses it any
 * more, also on failure. */
buffer *buffer_foreign(void *data, size_t bytes, void (*release)(void *context), void *context);
buffer *buffer_retain(buffer *b);
void buffer_release(buffer *b);
/* Drops what was derived from the content, which is going to change. */
void buffer_forget(buffer *b);

/* A result of a kernel. */
typedef struct node_result {
    int64_t bytes;
    int from; /* it starts as a copy of this input; -1: as zeros */
} node_result;

/* Computations that code of the device itself may run: see ops/attention.c and ops/conv.c. */
typedef enum native_kind {
    NATIVE_ATTENTION,
    NATIVE_ATTENTION_GRADIENT,
    NATIVE_CONVOLUTION,
    NATIVE_CONVOLUTION_GRADIENT_X,
    NATIVE_CONVOLUTION_GRADIENT_WEIGHT,
    NATIVE_KINDS
} native_kind;

/* A node that the device's own code computes, where the device offers it (backend_offers). */
enum { NATIVE_NUMBERS = 16 };
typedef struct node_native {
    native_kind kind;
    ig_dtype dtype;                 /* of the operands */
    ig_math math;                   /* where it matters; never IG_MATH_SAME */
    int64_t number[NATIVE_NUMBERS]; /* sizes and the like: see who makes it */
    double scale;
    /* Inputs may be views of up to four axes whose rows lie at multiples of 16 bytes; others are copied first. */
    bool strided;
    /* The definition: its i-th result, of inputs like the node's. For checks. */
    ig_array *(*define)(const struct node_native *n, ig_array *const *in, int i);
} node_native;

struct backend;
struct binding;
struct program;

/* How a kernel of the user runs: makes the program ready for a device, and launches it with the buffers of a run. */
typedef struct kernel_runner {
    ig_status (*prepare)(const struct program *p, const struct backend *dev);
    ig_status (*launch)(const struct program *p, const struct backend *dev,
                        const struct binding *bindings);
} kernel_runner;

/* A kernel as graphs see it, shared by reference count. Either `runner` or `native` is not NULL. */
typedef struct node_kernel {
    atomic_int refs;
    void (*destroy)(struct node_kernel *k);
    const char *name;    /* "saxpy" */
    const char *label;   /* "saxpy<<<4, 256>>>" */
    const uint64_t *key; /* two kernels with equal keys compute the same */
    int n_key;
    int n_result;
    const node_result *result;
    const kernel_runner *runner; /* of a kernel of the user */
    const node_native *native;   /* of code of the device */
} node_kernel;

node_kernel *node_kernel_retain(node_kernel *k);
void node_kernel_release(node_kernel *k); /* NULL is fine */

/* A negative index where none is allowed is moved down by this much. Evaluation refuses it, and the
 * message shows the index that was given. */
#define INDEX_REFUSED ((int64_t)1 << 62)

/* What a node needs beyond its inputs; zero where it does not apply. */
typedef struct node_attr {
    uint16_t fold;   /* reduce, scan: the FOLD row; argreduce: OP_max or OP_min */
    uint16_t copy;   /* not 0: recomputed on purpose; equal only to nodes with this number */
    bool descending; /* sort, argsort */
    bool right;      /* searchsorted */
    bool add;        /* write: adds to what is there */
    uint8_t ndim[4]; /* contract: axes of each group b, m, n, k; reduce: ndim[0] trailing axes */
    union {
        int64_t axis_len;    /* read, write: length of the indexed axis */
        int64_t first_index; /* bits: index of the first element */
        int64_t result;      /* kernel: which of its results this node is */
    };
    int64_t axis_stride; /* read, write: stride of the indexed axis in elements of its array */
    view *dst;           /* assemble: a view of the output for each input; write: one; owned */
    node_kernel *kernel; /* kernel: counted */
    const char *device;  /* to_device: where to */
} node_attr;

/* A gradient rule that the caller gave, which replaces that of the definition. */
typedef struct custom {
    ig_pullback pull;
    void *context;
    void (*release)(void *context); /* may be NULL */
} custom;

enum { INPUTS_FEW = 5 };

struct ig_array {
    atomic_int refs;
    uint8_t dtype;  /* ig_dtype */
    bool weak;      /* a scalar without a dtype of its own */
    bool is_key;    /* made by key, split_key or fold_in */
    bool is_number; /* a root that array_number made */
    bool is_fixed;  /* such a root that no caller can hold, so it is never differentiated by */
    bool crosses;   /* a to_device node, or computed from one */
    uint16_t op;    /* row of ops.def that made it, or ARRAY_DATA */
    uint16_t level; /* how many scopes were open when it was made */
    int n_in;
    view view;
    struct ig_array *root;
    const char
        *device; /* of a root: name of the device that it is on; NULL: on any, as numbers are */
    struct ig_array **in; /* in_few, or owned memory when there are more */
    struct ig_array *in_few[INPUTS_FEW];
    node_attr attr;
    buffer
        *data; /* of a root: set once evaluated; of a strided view: a copy in order, for ig_data */
    buffer *host;    /* what ig_data gave, where data is not host memory */
    uint64_t number; /* of a root with is_number: the value in storage format */
    custom *custom;  /* of a view with a gradient of its own; in[1], ... are what it depends on */
    struct ig_array *scope_prev, *scope_next;
    void *scope;
    /* Scratch of graph/order.c, valid while the engine's lock is held. */
    uint32_t mark;
    int32_t index;
};

/* The op of an array that was given as data. */
enum { ARRAY_DATA = UINT16_MAX };

/* A root with the contiguous view of shape, retaining the inputs; it belongs to the innermost scope.
 * Takes over attr->dst, also on failure, and retains attr->kernel. attr may be NULL. NULL on failure or
 * if an input is NULL. */
ig_array *array_node(int op, ig_dtype dtype, int ndim, const int64_t *shape, ig_array *const *in,
                     int n_in, const node_attr *attr);

/* x seen through v, a view of x's root. op is the row that asked for it. */
ig_array *array_view(int op, ig_array *x, const view *v);

/* x seen as it is, with a gradient of its own for the inputs. Calls rule.release also on failure. */
ig_array *array_custom(int op, ig_array *x, ig_array *const *in, int n_in, custom rule);

/* A root that holds data (the array takes over the caller's reference, also on failure). */
ig_array *array_leaf(ig_dtype dtype, int ndim, const int64_t *shape, buffer *data);

/* The device on which the calling thread's new arrays are: a name that backend_canonical gave. */
const char *array_device_now(void);
void array_device_set(const char *name);
/* Makes the device of x the current one, unless x has none, as numbers have. Returns the one before, to be set again. */
const char *array_device_follow(const ig_array *x);
/* The name that all arrays of a device carry, for any name of the device ("opencl" is "opencl:0"); NULL if
 * there is no such device. Lives as long as the process. The list of devices (backend/registry.c) has it. */
const char *backend_canonical(const char *name);
/* True if the device with that name has code of its own for such a node. Of the list of devices, too. */
bool backend_offers(const char *name, const node_native *n);

/* A 0-d root that holds a value in storage format. */
ig_array *array_number(ig_dtype dtype, const void *value);
/* The value of an array that is a number, in storage format, or NULL. It stays known when the array is
 * donated. Builders may read it; they never read buffers, which may be on any device. */
const void *array_number_of(const ig_array *x);

/* True if x remembers how it was made after its evaluation, for gradients: it is in a scope, or the
 * calling thread keeps history. */
bool array_keeps_history(const ig_array *x);
/* An evaluated root becomes a constant, unless it keeps its history. */
void array_drop_history(ig_array *x);

/* Releases the data of an evaluated root, which cannot be read or recomputed from then on. */
void array_donate(ig_array *x);
bool array_is_donated(const ig_array *x);

/* Host address of the first element of an evaluated array's view. */
void *array_host(const ig_array *x);

/* Releases all scopes of the calling thread. */
void scope_end_all(void);
/* How many scopes the calling thread has open, at most UINT16_MAX. */
int scope_level(void);

#endif
