/* The array handle. An array is either a root or a view of a root:
 *
 * - A root is a node of the lazy graph (op, in, attr), or holds data. Its view is contiguous.
 * - A view selects elements of its root. Views of views are composed when they are built, so a view never
 *   refers to another view.
 *
 * For gradients, a view keeps the array that it was made from in in[0]; op is the row that made it.
 *
 * The inputs of an elementwise node have its shape, or are 0-d. Numbers are not expanded to a view of that shape. */
#ifndef ARRAY_ARRAY_H
#define ARRAY_ARRAY_H

#include "base/storage.h"
#include "engine/array/view.h"
#include "ingot/blocks.h"
#include "ingot/device.h"
#include "ingot/grad.h"
#include <pthread.h>
#include <stdatomic.h>

/* Data that a backend derived from a buffer's content: the first member of its own struct. */
typedef struct derived {
    void (*destroy)(struct derived *d);
} derived;

/* Content that is elsewhere, and is copied to memory while it is used: the first member of its owner's struct. */
typedef struct fetched {
    ig_status (*fetch)(struct fetched *f, void *to); /* copies all bytes */
    void (*destroy)(struct fetched *f);
    pthread_mutex_t lock; /* of users, and of the buffer's data */
    int users;
} fetched;

/* Storage, shared by reference count. data is host memory for the CPU; other devices use handle. */
typedef struct buffer {
    atomic_int refs;
    atomic_int reads; /* evaluations that read it since it was last written, up to a bound */
    const struct backend *device; /* the only one that can use it; NULL: host memory, for the CPU */
    uint64_t serial;              /* see buffer_serial; 0: none yet */
    size_t bytes;
    storage stored; /* how bytes hold elements; not plain: never written after it was filled */
    void *data;
    void *handle;
    uint64_t written; /* the set of launches that it depends on (eval/faults.h); 0: none is known */
    bool borrowed;    /* the memory is another buffer's, which this one retains; never write it */
    bool foreign;     /* the memory is the caller's; written only if its array is donated by name */
    void (*destroy)(struct buffer *b); /* frees data and handle, not the struct */
    derived *derived;                  /* or NULL */
    fetched *fetched;                  /* data is NULL unless it is held (buffer_hold); else NULL */
} buffer;

/* A counted host buffer; NULL on failure. */
buffer *buffer_new(size_t bytes);
/* A buffer without host memory: a device keeps its memory in handle, or the buffer has no memory. */
buffer *buffer_new_opaque(size_t bytes);
/* A buffer over memory that the caller owns. Calls release (may be NULL) when the memory is no longer used, also on
 * failure. */
buffer *buffer_foreign(void *data, size_t bytes, void (*release)(void *context), void *context);
/* A buffer in host memory whose content is fetched when it is needed. Destroys f with the buffer, also on failure. */
buffer *buffer_new_fetched(size_t bytes, fetched *f);
/* Content that is fetched is there between these calls, which may nest. For other buffers they do nothing. */
ig_status buffer_hold(buffer *b);
void buffer_drop(buffer *b);
/* Bytes of fetched content in memory now, and the most since the last call. */
void buffer_fetched_bytes(uint64_t *now, uint64_t *most);
buffer *buffer_retain(buffer *b);
void buffer_release(buffer *b);
/* A number that identifies the content: no other content ever has it. The engine's lock is held. */
uint64_t buffer_serial(buffer *b);
/* Drops the derived data and the serial, because the content is about to change. */
void buffer_forget(buffer *b);

/* A result of a kernel. */
typedef struct node_result {
    int64_t bytes;
    int from; /* the input that it starts as a copy of; -1: it starts as zeros */
} node_result;

struct box;

/* Elements that are read block by block when they are needed, shared by reference count. See ingot/blocks.h for the
 * functions. */
typedef struct block_source {
    atomic_int refs;
    ig_dtype dtype; /* of the node: complex elements are pairs of floats, along one more axis */
    bool pairs;     /* they are */
    int ndim;       /* of the node */
    int64_t shape[IG_MAX_NDIM], chunk[IG_MAX_NDIM];
    uint64_t scratch;
    bool concurrent;    /* several calls of read may run at the same time */
    ig_block_read read; /* NULL: computed from the node's inputs, see blocks/map.c */
    /* The elements of a box (blocks.h) as a buffer over memory that has them; NULL if it cannot. May be NULL. */
    struct buffer *(*alias)(struct block_source *s, const struct box *b);
    void (*release)(void *context); /* may be NULL */
    void *context;
    const char *data; /* for alias: see ig_blocks */
} block_source;

block_source *block_source_retain(block_source *s);
void block_source_release(block_source *s); /* NULL is fine */

struct backend;
struct binding;
struct program;

/* Runs a user's kernel: prepares the program for a device, and launches it with the buffers of a run. */
typedef struct kernel_runner {
    ig_status (*prepare)(const struct program *p, const struct backend *dev);
    ig_status (*launch)(const struct program *p, const struct backend *dev,
                        const struct binding *bindings);
    /* Reserves the memory that a device keeps for all launches. Called before a run; NULL: none. */
    ig_status (*reserve)(const struct program *p, const struct backend *dev);
} kernel_runner;

/* A kernel as a graph uses it, shared by reference count. Either `runner` or `native` is not NULL. */
typedef struct node_kernel {
    atomic_int refs;
    void (*destroy)(struct node_kernel *k);
    const char *name;    /* "saxpy" */
    const char *label;   /* "saxpy<<<4, 256>>>" */
    const uint64_t *key; /* two kernels with equal keys compute the same */
    int n_key;
    int n_result;
    const node_result *result;
    /* Builds the result again for inputs with one more leading axis; NULL: vmap computes slice after slice. */
    struct ig_array *(*batched)(const struct node_kernel *k, int result,
                                struct ig_array *const *in);
    int stacks; /* leading axes of inputs and results along which batched builds any part of the result */
    bool sums;  /* see library_kernel; batched is not NULL */
    bool skips; /* a result that nothing reads needs no memory: its operand has no dtype */
    /* Writes the gradients of the inputs of node, one of the results, for those that are needed; NULL: zero. g: the
     * gradients of all results; NULL: zero. NULL: see ig_custom_grad. */
    ig_status (*pull)(const struct node_kernel *k, struct ig_array *node, struct ig_array *const *g,
                      const bool *needed, struct ig_array **grads);
    const kernel_runner *runner;      /* a kernel in CUDA C */
    const struct node_native *native; /* native code of the device: see ops/native_node.h */
} node_kernel;

node_kernel *node_kernel_retain(node_kernel *k);
void node_kernel_release(node_kernel *k); /* NULL is fine */

/* Subtracted from a negative index where negative indices are not allowed. Evaluation then refuses the index, and the
 * message shows the original one. */
#define INDEX_REFUSED ((int64_t)1 << 62)

/* Attributes of a node; zero where they do not apply. */
typedef struct node_attr {
    uint16_t fold;   /* reduce, scan: the FOLD row; argreduce: OP_max or OP_min */
    uint16_t copy;   /* not 0: recomputed on purpose; equal only to nodes with the same number */
    bool descending; /* sort, argsort */
    bool right;      /* searchsorted */
    bool add;        /* write: adds to the old value */
    bool apart; /* assemble: much is computed from it, so a separate stage computes its blocks */
    bool
        symmetric; /* contract: if in[0] and in[1] are equal, all that is added to it is symmetric too */
    uint8_t ndim[4]; /* contract: axes of each group b, m, n, k; reduce: ndim[0] trailing axes */
    union {
        int64_t axis_len;    /* read, write: length of the indexed axis */
        int64_t first_index; /* bits: index of the first element */
        int64_t result;      /* kernel: which of its results this node is */
    };
    int64_t axis_stride; /* read, write: stride of the indexed axis in elements of its array */
    view *
        dst; /* assemble: a view of the output for each input; write: one; rechunk: the chunks' shape; owned */
    node_kernel *kernel;  /* kernel: counted */
    block_source *source; /* blocks: counted */
    const char *device;   /* to_device: the destination */
} node_attr;

/* A gradient rule that the caller supplied; it replaces the gradient of the definition. */
typedef struct custom {
    ig_pullback pull;
    void *context;
    void (*release)(void *context); /* may be NULL */
} custom;

enum { INPUTS_FEW = 5 };

struct ig_array {
    atomic_int refs;
    uint8_t dtype;     /* ig_dtype */
    bool weak;         /* a scalar without a fixed dtype */
    bool is_key;       /* made by key, split_key or fold_in */
    bool is_number;    /* a root made by array_number */
    bool is_fixed;     /* a number that no caller can hold; it needs no gradient */
    bool is_constant;  /* a number that ig_constant made: arithmetic of such is computed at once */
    bool crosses;      /* a to_device node, or computed from one */
    bool keeps_layout; /* of a root: see ops/layout.h */
    uint16_t op;       /* row of ops.def that made it, or ARRAY_DATA */
    uint16_t level;    /* number of open scopes when it was made */
    int n_in;
    view view;
    struct ig_array *root;
    const char *device;   /* of a root: the name of its device; NULL: any device, as for numbers */
    struct ig_array **in; /* in_few, or owned memory when there are more */
    struct ig_array *in_few[INPUTS_FEW];
    node_attr attr;
    buffer *data;    /* of a root: set once evaluated; of a strided view: a copy for ig_data */
    buffer *host;    /* the copy that ig_data returned, if data is not host memory */
    uint64_t number; /* of a root with is_number: the value in storage format */
    custom *custom;  /* of a view with a custom gradient; in[1], ... are its inputs */
    struct ig_array *scope_prev, *scope_next;
    void *scope;
    /* Scratch of graph/order.c, valid while the engine's lock is held. */
    uint32_t mark;
    int32_t index;
};

/* The op of an array that holds data from the caller. */
enum { ARRAY_DATA = UINT16_MAX };

/* A root with the contiguous view of shape, retaining the inputs; it belongs to the innermost scope.
 * Takes over attr->dst, also on failure, and retains attr->kernel. attr may be NULL. NULL on failure or
 * if an input is NULL. */
ig_array *array_node(int op, ig_dtype dtype, int ndim, const int64_t *shape, ig_array *const *in,
                     int n_in, const node_attr *attr);

/* x seen through v, a view of x's root. op is the row that built it. */
ig_array *array_view(int op, ig_array *x, const view *v);

/* A view of all of x with a custom gradient for the inputs. Calls rule.release also on failure. */
ig_array *array_custom(int op, ig_array *x, ig_array *const *in, int n_in, custom rule);

/* A root that holds data (the array takes over the caller's reference, also on failure). */
ig_array *array_leaf(ig_dtype dtype, int ndim, const int64_t *shape, buffer *data);
/* A leaf without memory that represents x while a schedule is built: of its dtype, shape and device. */
ig_array *array_standing(const ig_array *x);

/* The device of new arrays of the calling thread: a name from above.device_name. */
const char *array_device_now(void);
void array_device_set(const char *name);
/* Makes the device of x the current one, unless x is a number without a device. Returns the previous device, which the
 * caller restores. */
const char *array_device_follow(const ig_array *x);
/* A 0-d root that holds a value in storage format. */
ig_array *array_number(ig_dtype dtype, const void *value);
/* The value of an array that is a number, in storage format, or NULL. It remains available after the array was
 * donated. Builders may read it; they never read buffers, which may be on any device. */
const void *array_number_of(const ig_array *x);

/* True if x keeps its inputs after its evaluation, for gradients: it is in a scope, or the calling thread
 * keeps history. */
bool array_keeps_history(const ig_array *x);
/* An evaluated root becomes a constant, unless it keeps its history. */
void array_drop_history(ig_array *x);

/* Makes x, a view, a view of all of root, which has x's elements in order, and depends on the array that x was a view of.
 * root goes from its scope to the scope of x. */
void array_become(ig_array *x, ig_array *root);

/* Releases the data of an evaluated root, which cannot be read or recomputed afterwards. */
void array_donate(ig_array *x);
bool array_is_donated(const ig_array *x);

/* True if the root of x has data that is not plain, such as quantized blocks. */
static inline bool array_is_packed(const ig_array *x)
{
    return x->root->data && !storage_is_plain(x->root->data->stored);
}
/* True if the elements of an evaluated array are plain and contiguous in its root's buffer. Otherwise x->data is a copy, once
 * one was needed. */
static inline bool array_is_ordered(const ig_array *x)
{
    return view_is_contiguous(&x->view) && !array_is_packed(x);
}
/* A view of a leaf over blocks (the array takes over the caller's reference, also on failure). The root itself is never
 * given to a caller: its data are blocks, so a copy of its elements has no other place than the view's data. */
ig_array *array_packed(ig_dtype dtype, int ndim, const int64_t *shape, buffer *data);

/* Host address of the first element of an evaluated array's view. */
void *array_host(const ig_array *x);

/* Releases all scopes of the calling thread. */
void scope_end_all(void);
/* Number of scopes that the calling thread has open, at most UINT16_MAX. */
int scope_level(void);

#endif
