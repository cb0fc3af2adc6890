/* Arrays, buffers and scopes: creation, ownership, release. Release is iterative, so that a chain of
 * a million nodes does not exhaust the stack. */
#include "engine/array/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/array/above.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- buffers ---- */

/* Small data shares one block with the struct, padded so that a vector load may read past its end. Like all
 * structs, such a block does not count against the memory limit. */
enum { FEW_BYTES = 64, FEW_PIECE = 256, FEW_OFFSET = 128 };
static_assert(sizeof(buffer) <= FEW_OFFSET, "data follows the struct");

/* Drops n references; true if they were the last. If they are all that exist, the counter need not be written:
 * no other thread can take one. Acquire and release make the writes of other holders visible to the last. */
static bool drop_references(atomic_int *refs, int n)
{
    if (atomic_load_explicit(refs, memory_order_acquire) == n)
        return true;
    return atomic_fetch_sub_explicit(refs, n, memory_order_release) == n &&
           atomic_load_explicit(refs, memory_order_acquire) == 0;
}

static void destroy_host(buffer *b) { memory_data_free(b->data, b->bytes); }
static void destroy_few(buffer *b) { (void)b; }
static void destroy_opaque(buffer *b) { (void)b; }

static size_t buffer_piece(const buffer *b)
{
    return b->destroy == destroy_few ? FEW_PIECE : sizeof *b;
}

buffer *buffer_new(size_t bytes)
{
    const bool few = bytes <= FEW_BYTES;
    buffer *b = memory_piece_get(few ? FEW_PIECE : sizeof *b);
    if (!b)
        return NULL;
    *b = (buffer){.refs = 1, .bytes = bytes, .destroy = few ? destroy_few : destroy_host};
    b->data = few ? (char *)b + FEW_OFFSET : memory_data_get(bytes);
    if (!b->data) {
        memory_piece_free(b, sizeof *b);
        return NULL;
    }
    return b;
}

buffer *buffer_new_opaque(size_t bytes)
{
    buffer *b = memory_piece_get(sizeof *b);
    if (b)
        *b = (buffer){.refs = 1, .bytes = bytes, .destroy = destroy_opaque};
    return b;
}

/* The handle of a foreign buffer. */
typedef struct owner {
    void (*release)(void *context);
    void *context;
} owner;

static void destroy_foreign(buffer *b)
{
    owner *o = b->handle;
    if (o->release)
        o->release(o->context);
    memory_free(o);
}

buffer *buffer_foreign(void *data, size_t bytes, void (*release)(void *context), void *context)
{
    owner *o = memory_get(sizeof *o);
    buffer *b = o ? memory_piece_get(sizeof *b) : NULL;
    if (!b) {
        memory_free(o);
        if (release)
            release(context);
        return NULL;
    }
    *o = (owner){release, context};
    *b = (buffer){.refs = 1,
                  .bytes = bytes,
                  .data = data,
                  .handle = o,
                  .foreign = true,
                  .destroy = destroy_foreign};
    return b;
}

buffer *buffer_retain(buffer *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void buffer_release(buffer *b)
{
    if (!b || !drop_references(&b->refs, 1))
        return;
    buffer_forget(b);
    b->destroy(b);
    memory_piece_free(b, buffer_piece(b));
}

void buffer_forget(buffer *b)
{
    if (b->derived)
        b->derived->destroy(b->derived);
    b->derived = NULL;
    b->reads = 0;
    b->serial = 0;
}

uint64_t buffer_serial(buffer *b)
{
    static uint64_t last;
    if (!b->serial)
        b->serial = ++last;
    return b->serial;
}

/* ---- kernels ---- */

block_source *block_source_retain(block_source *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void block_source_release(block_source *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (s->release)
        s->release(s->context);
    memory_free(s);
}

node_kernel *node_kernel_retain(node_kernel *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void node_kernel_release(node_kernel *k)
{
    if (k && atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) == 1)
        k->destroy(k);
}

/* ---- scopes: each thread has a stack of scopes; a scope is a list of the arrays that it owns ---- */

typedef struct scope {
    struct scope *outer;
    int level;
    struct ig_array *first;
} scope;

static _Thread_local scope base_scope;
static _Thread_local scope *innermost;

static scope *scope_now(void) { return innermost ? innermost : &base_scope; }
int scope_level(void)
{
    const int level = scope_now()->level;
    return level < UINT16_MAX ? level : UINT16_MAX;
}

static void scope_add(scope *s, ig_array *x)
{
    x->scope = s;
    x->scope_prev = NULL;
    x->scope_next = s->first;
    if (s->first)
        s->first->scope_prev = x;
    s->first = x;
}

static void scope_remove(ig_array *x)
{
    scope *s = x->scope;
    if (!s)
        return;
    if (x->scope_prev)
        x->scope_prev->scope_next = x->scope_next;
    else
        s->first = x->scope_next;
    if (x->scope_next)
        x->scope_next->scope_prev = x->scope_prev;
    x->scope = NULL;
}

ig_status ig_scope_begin(void)
{
    scope *s = memory_piece_get(sizeof *s);
    if (!s)
        return IG_ERR_MEMORY;
    *s = (scope){.outer = innermost, .level = scope_now()->level + 1};
    innermost = s;
    return IG_OK;
}

static void scope_clear(scope *s)
{
    while (s->first)
        ig_release(ig_scope_forget(s->first));
}

void ig_scope_end(void)
{
    scope *s = innermost;
    if (!s)
        return;
    scope_clear(s);
    innermost = s->outer;
    memory_piece_free(s, sizeof *s);
}

void scope_end_all(void)
{
    while (innermost)
        ig_scope_end();
    scope_clear(&base_scope);
}

ig_array *ig_scope_forget(ig_array *x)
{
    if (!x)
        return NULL;
    scope_remove(x);
    if (x->root == x && x->data)
        array_drop_history(x);
    return x;
}

/* ---- arrays ---- */

ig_array *ig_retain(ig_array *x)
{
    if (x)
        atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    return x;
}

ig_status ig_replace(ig_array **slot, ig_array *value)
{
    TRY(require_pointer("replace", "slot", slot));
    TRY(require_pointer("replace", "value", value));
    ig_array *old = *slot;
    *slot = ig_retain(value);
    ig_release(old);
    return IG_OK;
}

/* Drops references; if they were the last, puts x on the list of arrays to destroy, which is linked
 * through scope_next (x is not in a scope then). */
static void drop(ig_array *x, int references, ig_array **dying)
{
    if (!x || !drop_references(&x->refs, references))
        return;
    assert(!x->scope);
    x->scope_next = *dying;
    *dying = x;
}

/* Drops the inputs from `first` on; the caller has dropped the others. */
static void drop_inputs(ig_array *x, int first, ig_array **dying)
{
    for (int i = first; i < x->n_in; i++)
        drop(x->in[i], 1, dying);
    if (x->in != x->in_few)
        memory_free(x->in);
    x->in = x->in_few;
    x->n_in = 0;
    if (x->attr.dst) {
        memory_free(x->attr.dst);
        x->attr.dst = NULL;
    }
    if (x->attr.kernel) {
        node_kernel_release(x->attr.kernel);
        x->attr.kernel = NULL;
    }
    if (x->attr.source) {
        block_source_release(x->attr.source);
        x->attr.source = NULL;
    }
}

static void destroy(ig_array *dying)
{
    while (dying) {
        ig_array *x = dying;
        dying = x->scope_next;
        const bool twice = x->root != x && x->n_in && x->in[0] == x->root; /* a view of a root */
        if (x->root != x)
            drop(x->root, twice ? 2 : 1, &dying);
        drop_inputs(x, twice, &dying);
        if (x->data)
            buffer_release(x->data);
        if (x->host)
            buffer_release(x->host);
        if (x->custom) {
            if (x->custom->release)
                x->custom->release(x->custom->context);
            memory_free(x->custom);
        }
        memory_piece_free(x, sizeof *x);
    }
}

void ig_release(ig_array *x)
{
    ig_array *dying = NULL;
    drop(x, 1, &dying);
    destroy(dying);
}

/* Drops the inputs of an evaluated array: it is now a leaf. */
static void detach(ig_array *x)
{
    ig_array *dying = NULL;
    drop_inputs(x, 0, &dying);
    x->op = ARRAY_DATA;
    destroy(dying);
}

void array_donate(ig_array *x)
{
    detach(x);
    buffer_release(x->data);
    x->data = NULL;
}

bool array_is_donated(const ig_array *x) { return x->op == ARRAY_DATA && !x->data; }

void array_become(ig_array *x, ig_array *root)
{
    ig_array *const old[] = {x->in[0], x->root};
    x->in[0] = ig_retain(root);
    x->root = ig_retain(root);
    x->view = root->view;
    for (int i = 0; i < 2; i++)
        ig_release(old[i]);
    if (x->scope) {
        scope_remove(root);
        scope_add(x->scope, root);
    } else {
        ig_release(ig_scope_forget(root));
    }
}

static _Thread_local bool keeps_history;

bool ig_keep_history(bool keep)
{
    const bool kept = keeps_history;
    keeps_history = keep;
    return kept;
}

bool array_keeps_history(const ig_array *x) { return x->scope || keeps_history; }

void array_drop_history(ig_array *x)
{
    if (!array_keeps_history(x))
        detach(x);
}

static ig_array *array_new(int op, ig_dtype dtype)
{
    ig_array *x = memory_piece_get(sizeof *x);
    if (!x)
        return NULL;
    memset((char *)x + offsetof(ig_array, root), 0, sizeof *x - offsetof(ig_array, root));
    x->refs = 1;
    x->op = (uint16_t)op;
    x->dtype = (uint8_t)dtype;
    x->weak = x->is_key = x->is_number = x->is_fixed = x->is_constant = false;
    x->crosses = x->keeps_layout = false;
    x->n_in = 0;
    x->root = x;
    x->in = x->in_few;
    x->level = (uint16_t)scope_level();
    scope_add(scope_now(), x);
    return x;
}

/* ---- devices ---- */

static _Thread_local const char *device_now;

const char *array_device_now(void)
{
    if (!device_now) {
        const char *asked = getenv("IG_DEVICE");
        const char *found = asked && *asked ? above.device_name(asked) : NULL;
        device_now = found ? found : "cpu";
    }
    return device_now;
}

void array_device_set(const char *name) { device_now = name; }

const char *array_device_follow(const ig_array *x)
{
    const char *before = array_device_now();
    if (x->root->device)
        device_now = x->root->device;
    return before;
}

static void fail_apart(const char *device, const char *other)
{
    ig_fail(IG_ERR_DEVICE,
            "two arrays of one op are on different devices: '%s' and '%s'; move one of them: "
            "to_device(x, \"%s\")",
            device, other, device);
}

/* The device of the inputs, NULL if all are numbers. *other: the device of an input on another device. */
static const char *common_device(ig_array *const *in, int n_in, const char **other)
{
    const char *device = NULL;
    for (int i = 0; i < n_in; i++) {
        const char *here = in[i]->root->device;
        if (!device)
            device = here;
        else if (here && here != device && strcmp(here, device) != 0)
            *other = here;
    }
    return device;
}

/* Takes the inputs, and places the node on their device. Returns the device of an input on another device, or NULL.
 * Every op of a program calls this. */
static const char *take_inputs(ig_array *x, ig_array *const *in, int n_in)
{
    const char *other = NULL, *device = in[0]->root->device;
    bool same = true, crosses = false;
    ig_array **to = x->in;
    int i = 0;
    do {
        ig_array *from = in[i];
        const ig_array *root = from->root;
        atomic_fetch_add_explicit(&from->refs, 1, memory_order_relaxed);
        to[i] = from;
        same &= root->device == device;
        if (root->crosses)
            crosses |= !root->data;
    } while (++i < n_in);
    x->device = same ? device : common_device(in, n_in, &other);
    x->crosses = crosses;
    return other;
}

/* Only ops know complex arrays (ops/complex.h). A builder that takes one for an array of elements has a defect. */
static ig_status refuse_complex(const ig_array *x)
{
    if (!dtype_is_complex((ig_dtype)x->dtype))
        return IG_OK;
    return ig_fail(IG_ERR_DTYPE,
                   "this op does not take complex numbers; give it real(x) or imag(x)");
}

ig_array *array_node(int op, ig_dtype dtype, int ndim, const int64_t *shape, ig_array *const *in,
                     int n_in, const node_attr *attr)
{
    view *dst = attr ? attr->dst : NULL;
    int given = 0;
    while (given < n_in && in[given] && refuse_complex(in[given]) == IG_OK)
        given++;
    bool whole = given == n_in;
    ig_array **many = NULL;
    if (whole && n_in > INPUTS_FEW && !(many = memory_get((size_t)n_in * sizeof *many)))
        whole = false;
    ig_array *x = whole ? array_new(op, dtype) : NULL;
    if (!x) {
        memory_free(many);
        memory_free(dst);
        return NULL;
    }
    view_contiguous(&x->view, ndim, shape);
    if (many)
        x->in = many;
    if (attr)
        x->attr = *attr;
    if (x->attr.kernel)
        node_kernel_retain(x->attr.kernel);
    if (x->attr.source)
        block_source_retain(x->attr.source);
    x->n_in = n_in;
    const char *other = n_in ? take_inputs(x, in, n_in) : NULL;
    x->crosses = x->crosses || x->attr.source;
    if (x->attr.device) {
        x->device = x->attr.device;
        x->crosses = true;
    } else if (other) {
        fail_apart(x->device, other);
        ig_release(ig_scope_forget(x));
        return NULL;
    } else if (n_in == 0) {
        x->device = array_device_now();
    }
    return x;
}

ig_array *array_view(int op, ig_array *x, const view *v)
{
    if (!x || refuse_complex(x) != IG_OK)
        return NULL;
    ig_array *y = array_new(op, (ig_dtype)x->dtype);
    if (!y)
        return NULL;
    view_copy(&y->view, v);
    y->root = x->root;
    y->in[0] = x;
    y->n_in = 1;
    atomic_fetch_add_explicit(&x->refs, x == x->root ? 2 : 1, memory_order_relaxed);
    if (x != x->root)
        ig_retain(x->root);
    y->is_key = x->is_key;
    y->weak = x->weak && v->ndim == 0;
    return y;
}

ig_array *array_custom(int op, ig_array *x, ig_array *const *in, int n_in, custom rule)
{
    ig_array **all = x ? memory_get((size_t)(n_in + 1) * sizeof *all) : NULL;
    custom *own = all ? memory_get(sizeof *own) : NULL;
    ig_array *y = own ? array_view(op, x, &x->view) : NULL;
    bool whole = y != NULL;
    for (int i = 0; i < n_in; i++)
        whole = whole && in[i];
    if (!whole) {
        memory_free(all);
        memory_free(own);
        if (rule.release)
            rule.release(rule.context);
        return NULL;
    }
    all[0] = y->in[0];
    for (int i = 0; i < n_in; i++)
        all[1 + i] = ig_retain(in[i]);
    *own = rule;
    y->in = all;
    y->n_in = n_in + 1;
    y->custom = own;
    return y;
}

ig_array *array_leaf(ig_dtype dtype, int ndim, const int64_t *shape, buffer *data)
{
    ig_array *x = array_new(ARRAY_DATA, dtype);
    if (!x) {
        buffer_release(data);
        return NULL;
    }
    view_contiguous(&x->view, ndim, shape);
    x->data = data;
    x->device = array_device_now();
    return x;
}

ig_array *array_standing(const ig_array *x)
{
    const ig_dtype dtype = (ig_dtype)x->dtype;
    buffer *b = buffer_new_opaque((size_t)view_size(&x->view) * ig_dtype_bytes(dtype));
    ig_array *y = b ? array_leaf(dtype, x->view.ndim, x->view.shape, b) : NULL;
    if (y && x->root->device)
        y->device = x->root->device;
    return y;
}

ig_array *array_packed(ig_dtype dtype, int ndim, const int64_t *shape, buffer *data)
{
    ig_array *root = array_leaf(dtype, ndim, shape, data);
    return root ? array_view(ARRAY_DATA, root, &root->view) : NULL;
}

ig_array *array_number(ig_dtype dtype, const void *value)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    uint64_t number = 0;
    if (bytes == sizeof(float)) /* the most common size */
        memcpy(&number, value, sizeof(float));
    else
        memcpy(&number, value, bytes);
    buffer *b = buffer_new(bytes);
    if (!b)
        return NULL;
    memcpy(b->data, &number, sizeof number); /* the buffer is padded */
    ig_array *x = array_leaf(dtype, 0, NULL, b);
    if (!x)
        return NULL;
    x->number = number;
    x->is_number = true;
    x->device = NULL;
    return x;
}

const void *array_number_of(const ig_array *x)
{
    return x->view.ndim == 0 && x->root->is_number ? &x->root->number : NULL;
}

void *array_host(const ig_array *x)
{
    return (char *)x->root->data->data + x->view.offset * (int64_t)ig_dtype_bytes(x->dtype);
}

/* ---- queries ---- */

int ig_ndim(const ig_array *x) { return x ? x->view.ndim : 0; }

int64_t ig_dim(const ig_array *x, int axis)
{
    if (!x || axis < -x->view.ndim || axis >= x->view.ndim)
        return -1;
    return x->view.shape[axis < 0 ? axis + x->view.ndim : axis];
}

ig_ints ig_shape(const ig_array *x)
{
    return x ? (ig_ints){x->view.shape, x->view.ndim} : (ig_ints){NULL, 0};
}

int64_t ig_size(const ig_array *x) { return x ? view_size(&x->view) : 0; }
ig_dtype ig_dtype_of(const ig_array *x) { return x ? (ig_dtype)x->dtype : IG_DTYPE_NONE; }
