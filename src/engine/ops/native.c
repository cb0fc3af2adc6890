/* Nodes that native code of a device computes; see native.h. */
#include "engine/ops/native.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/array/above.h"
#include "engine/ops/grad.h"
#include <string.h>

enum { KEY_WORDS = 4 + NATIVE_NUMBERS };

/* All results of a node share one native_call. */
typedef struct native_call {
    node_kernel base;
    node_native native;
    uint64_t key[KEY_WORDS];
    node_result result[NATIVE_RESULTS];
} native_call;

/* The context of a gradient. */
typedef struct native_rule {
    native_call *call;
    int result;
} native_rule;

const char *native_name(native_kind kind)
{
    static const char *const names[] = {
#define NATIVE_NAME(kind, name) name,
        NATIVE_NODES(NATIVE_NAME)
#undef NATIVE_NAME
    };
    return names[kind];
}

static void destroy(node_kernel *k) { memory_free(k); }

bool native_is_offered(const ig_array *x, const node_native *n)
{
    const char *device = x->root->device;
    return device && ig_math_mode() != IG_MATH_SAME && above.device_offers(device, n);
}

const node_native *native_of(const void *context)
{
    return &((const native_rule *)context)->call->native;
}

static ig_array *batched(const node_kernel *k, int result, ig_array *const *in)
{
    ig_array *out[NATIVE_RESULTS];
    return k->native->batched(k->native, in, out) ? out[result] : NULL;
}

static native_call *call_new(const node_native *n, const native_shape *shapes, int n_result)
{
    native_call *c = memory_new(sizeof *c);
    if (!c)
        return NULL;
    c->native = *n;
    c->key[0] = (uint64_t)n->kind;
    c->key[1] = (uint64_t)n->dtype;
    c->key[2] = (uint64_t)n->math;
    memcpy(&c->key[3], &n->scale, sizeof n->scale);
    memcpy(&c->key[4], n->number, sizeof n->number);
    for (int i = 0; i < n_result; i++) {
        view v;
        view_contiguous(&v, shapes[i].ndim, shapes[i].shape);
        c->result[i] = (node_result){view_size(&v) * (int64_t)ig_dtype_bytes(shapes[i].dtype),
                                     shapes[i].from - 1};
    }
    c->base = (node_kernel){.destroy = destroy,
                            .name = native_name(n->kind),
                            .label = native_name(n->kind),
                            .key = c->key,
                            .n_key = KEY_WORDS,
                            .n_result = n_result,
                            .result = c->result,
                            .batched = n->batched ? batched : NULL,
                            .native = &c->native};
    atomic_init(&c->base.refs, 1);
    return c;
}

/* ---- gradients ---- */

static ig_status pull_definition(void *context, ig_array *const *in, int n, ig_array *out,
                                 ig_array *g, ig_array **grads)
{
    const native_rule *r = context;
    ig_array *y = r->call->native.define(&r->call->native, in, r->result);
    int floats = 0;
    (void)out;
    while (floats < n && dtype_is_float((ig_dtype)in[floats]->dtype))
        floats++;
    for (int i = floats; i < n; i++)
        grads[i] = NULL; /* a mask has no gradient */
    return y ? grad_of_definition(y, g, in, floats, grads) : IG_ERR_MEMORY;
}

static void rule_release(void *context)
{
    native_rule *r = context;
    node_kernel_release(&r->call->base);
    memory_free(r);
}

static ig_array *with_gradient(native_call *c, int i, ig_array *x, ig_array *const *in, int n_in,
                               ig_pullback rule)
{
    native_rule *r = x ? memory_get(sizeof *r) : NULL;
    if (!r)
        return NULL;
    node_kernel_retain(&c->base);
    *r = (native_rule){c, i};
    return ig_custom_grad(x, in, n_in, rule && i == 0 ? rule : pull_definition, r, rule_release);
}

ig_status native_apply(const node_native *n, ig_array *const *in, int n_in,
                       const native_shape *shapes, int n_result, ig_pullback rule, ig_array **out)
{
    native_call *c = call_new(n, shapes, n_result);
    ig_status status = c ? IG_OK : IG_ERR_MEMORY;
    if (c && n->own_axes)
        c->base.stacks = in[0]->view.ndim - n->own_axes;
    for (int i = 0; i < n_result && status == IG_OK; i++) {
        ig_array *x = array_node(OP_kernel, shapes[i].dtype, shapes[i].ndim, shapes[i].shape, in,
                                 n_in, &(node_attr){.result = i, .kernel = &c->base});
        out[i] = dtype_is_float(shapes[i].dtype) ? with_gradient(c, i, x, in, n_in, rule) : x;
        status = out[i] ? IG_OK : error_waiting(IG_ERR_MEMORY);
    }
    if (c)
        node_kernel_release(&c->base);
    return status;
}
