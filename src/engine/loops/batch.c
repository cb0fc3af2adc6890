/* Loops of batches (vmap). Inputs have one more leading axis. The axis has stride 0 where all slices are the same; then
 * the batched loop has one value for all slices, too, as long as its steps keep it so: a counter stays a scalar. */
#include "engine/loops/loops.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/ops.h"
#include <string.h>

/* A batched loop while it is built. */
typedef struct batch {
    const loop *l;
    int64_t size;
    ig_array *const *in; /* of the node */
    bool *varies;        /* of each input of the body: it differs between slices */
    bool *differs;       /* of each result of a body */
    ig_array **stand;    /* for each input of the body: what stands for it in the batched one */
    ig_array **operand;
    ig_array **out; /* of all bodies */
    ig_array **result, **saved;
} batch;

static bool is_batched(const ig_array *x) { return x->view.stride[0] != 0; }

/* The one slice of an input that is the same for all. */
static ig_array *slice_of(ig_array *x)
{
    view v = x->view;
    v.ndim--;
    for (int i = 0; i < v.ndim; i++) {
        v.shape[i] = v.shape[i + 1];
        v.stride[i] = v.stride[i + 1];
    }
    return array_view(OP_slice, x, &v);
}

static ig_array *for_all(const batch *b, ig_array *x)
{
    int64_t shape[IG_MAX_NDIM + 1] = {b->size};
    if (!x)
        return NULL;
    if (x->view.ndim == IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "vmap: a loop has an array of %d axes, the most", IG_MAX_NDIM);
    memcpy(shape + 1, x->view.shape, (size_t)x->view.ndim * sizeof *shape);
    return ig_broadcast_to(x, (ig_ints){shape, 1 + x->view.ndim});
}

static ig_array *stand_for_all(const batch *b, const ig_array *x)
{
    int64_t shape[IG_MAX_NDIM + 1] = {b->size};
    if (x->view.ndim == IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "vmap: a loop has an array of %d axes, the most", IG_MAX_NDIM);
    memcpy(shape + 1, x->view.shape, (size_t)x->view.ndim * sizeof *shape);
    const char *before = array_device_follow(x);
    ig_array *p = ig_placeholder((ig_ints){shape, 1 + x->view.ndim}, (ig_dtype)x->dtype);
    array_device_set(before);
    return p;
}

/* Finds the carries that differ between slices, and the results of the bodies that do. all: every carry does. */
static ig_status find_varying(batch *b, bool all)
{
    const loop *l = b->l;
    const int n_out = l->body[0].n_out;
    bool *now = memory_new((size_t)n_out + 1);
    ig_status status = now ? IG_OK : IG_ERR_MEMORY;
    for (bool again = status == IG_OK; again;) {
        again = false;
        memset(b->differs, 0, (size_t)n_out * sizeof *b->differs);
        for (int k = 0; k < l->n_body && status == IG_OK; k++) {
            status = body_depends(&l->body[k], b->varies, now);
            for (int i = 0; i < n_out; i++)
                b->differs[i] = b->differs[i] || now[i];
        }
        for (int i = 0; i < l->n_carry && status == IG_OK; i++)
            if ((all || b->differs[i]) && !b->varies[i])
                again = b->varies[i] = true;
    }
    memory_free(now);
    return status;
}

/* Fills stand and operand. */
static ig_status find_inputs(batch *b)
{
    const loop *l = b->l;
    for (int i = 0; i < l->body[0].n_in; i++) {
        ig_array *x = b->in[l->n_head + i], *one = l->body[0].in[i];
        const bool row = i >= l->n_carry && i < l->n_carry + l->n_x;
        b->stand[i] = b->varies[i] ? stand_for_all(b, one) : one;
        b->operand[i] = !b->varies[i] ? slice_of(x)
                        : row         ? ig_moveaxis(x, IG_AXES(0), IG_AXES(1))
                                      : x;
        if (!b->stand[i] || !b->operand[i])
            return error_waiting(IG_ERR_MEMORY);
    }
    return IG_OK;
}

/* The results of body k for all slices; those that are the same for all, once. */
static ig_status map_body(const batch *b, int k, ig_array **out)
{
    const body *one = &b->l->body[k];
    ig_array **from = memory_get((size_t)(2 * one->n_in + 1) * sizeof *from);
    ig_array **to = from + one->n_in;
    int *axes = memory_new((size_t)(one->n_in + 1) * sizeof *axes);
    int n = 0;
    ig_status status = from && axes ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < one->n_in && status == IG_OK; i++)
        if (b->varies[i]) {
            from[n] = one->in[i];
            to[n++] = b->stand[i];
        }
    if (status == IG_OK && n)
        status = ig_vmap(one->out, one->n_out, from, to, axes, n, out);
    for (int i = 0; i < one->n_out && status == IG_OK; i++)
        if (!n || !b->differs[i])
            out[i] = b->differs[i] ? for_all(b, one->out[i]) : one->out[i];
    memory_free(axes);
    memory_free(from);
    return status;
}

/* Carries that vary get results that do. */
static bool spread_carries(const batch *b)
{
    bool ok = true;
    for (int i = 0; i < b->l->n_carry && ok; i++)
        if (b->varies[i] && !b->differs[i])
            ok = (b->out[i] = for_all(b, b->out[i])) != NULL;
    return ok;
}

static ig_array *spread(const batch *b, ig_array *x, bool differs)
{
    return differs ? x : for_all(b, x);
}

/* ---- scan ---- */

static ig_array *batch_scan(batch *b, int result)
{
    const loop *l = b->l;
    if (find_varying(b, false) != IG_OK || find_inputs(b) != IG_OK ||
        map_body(b, 0, b->out) != IG_OK || !spread_carries(b))
        return NULL;
    const loop_spec spec = {.kind = LOOP_SCAN,
                            .length = l->length,
                            .reverse = l->reverse,
                            .in = b->stand,
                            .operand = b->operand,
                            .n_carry = l->n_carry,
                            .n_x = l->n_x,
                            .n_given = l->n_const,
                            .out = b->out,
                            .n_body = 1,
                            .n_out = l->body[0].n_out};
    if (loop_build(&spec, b->result, b->saved) != IG_OK)
        return NULL;
    if (result < l->n_carry)
        return spread(b, b->result[result], b->varies[result]);
    const bool kept = result >= l->n_carry + l->n_out;
    const int carry = result - l->n_carry - l->n_out;
    ig_array *rows = kept ? b->saved[carry] : b->result[result];
    return (kept ? b->varies[carry] : b->differs[result])
               ? ig_moveaxis(rows, IG_AXES(1), IG_AXES(0))
               : for_all(b, rows);
}

/* ---- while ---- */

/* p, a bool for each slice, in the rank of x. */
static ig_array *along(ig_array *p, const ig_array *x)
{
    int64_t shape[IG_MAX_NDIM];
    if (!p)
        return NULL;
    shape[0] = p->view.shape[0];
    for (int i = 1; i < x->view.ndim; i++)
        shape[i] = 1;
    return ig_reshape(p, (ig_ints){shape, x->view.ndim});
}

/* Slices that are done keep their values while others go on. more, a bool for each slice, is one more carry. */
static ig_status mask_step(const batch *b, ig_array *more, ig_array **next)
{
    const loop *l = b->l;
    for (int i = 0; i < l->n_carry; i++)
        if (!(b->out[i] = ig_where(along(more, b->stand[i]), b->out[i], b->stand[i])))
            return error_waiting(IG_ERR_MEMORY);
    *next = ig_logical_and(more, spread(b, b->out[l->n_carry], b->differs[l->n_carry]));
    b->out[l->n_carry] = *next;
    b->out[l->n_carry + 1] = ig_any(*next, IG_NONE, false);
    return *next && b->out[l->n_carry + 1] ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_array *batch_while(batch *b, int result)
{
    const loop *l = b->l;
    const int n = l->n_carry;
    bool apart = is_batched(b->in[0]);
    if (find_varying(b, apart) != IG_OK)
        return NULL;
    if (b->differs[n] && !apart) {
        apart = true;
        if (find_varying(b, true) != IG_OK)
            return NULL;
    }
    if (find_inputs(b) != IG_OK || map_body(b, 0, b->out) != IG_OK || !spread_carries(b))
        return NULL;
    loop_spec spec = {.kind = LOOP_WHILE,
                      .head = apart ? ig_any(b->in[0], IG_NONE, false) : slice_of(b->in[0]),
                      .in = b->stand,
                      .operand = b->operand,
                      .n_carry = n,
                      .n_given = l->n_const,
                      .out = b->out,
                      .n_body = 1,
                      .n_out = n + 1};
    if (apart) { /* one more carry, after the others */
        ig_array *more = ig_placeholder(IG_SHAPE(b->size), IG_BOOL), *next;
        for (int i = l->body[0].n_in; i > n; i--) {
            b->stand[i] = b->stand[i - 1];
            b->operand[i] = b->operand[i - 1];
        }
        b->stand[n] = more;
        b->operand[n] = b->in[0];
        if (!more || mask_step(b, more, &next) != IG_OK)
            return NULL;
        spec.n_carry++;
        spec.n_out++;
    }
    if (!spec.head || loop_build(&spec, b->result, NULL) != IG_OK)
        return NULL;
    return spread(b, b->result[result], b->varies[result]);
}

/* ---- switch ---- */

/* Each slice takes the result of its branch. */
static ig_array *choose(const batch *b, int result)
{
    const loop *l = b->l;
    ig_array *y = NULL;
    for (int k = 0; k < l->n_body; k++) {
        if (map_body(b, k, b->out) != IG_OK)
            return NULL;
        ig_array *x = spread(b, b->out[result], b->differs[result]);
        y = k == 0 || !x ? x : ig_where(along(ig_greater_equal(b->in[0], ig_int(k)), x), x, y);
        if (!y)
            return NULL;
    }
    return y;
}

static ig_array *batch_switch(batch *b, int result)
{
    const loop *l = b->l;
    if (find_varying(b, false) != IG_OK || find_inputs(b) != IG_OK)
        return NULL;
    if (is_batched(b->in[0])) {
        memcpy(b->stand, b->operand, (size_t)l->body[0].n_in * sizeof *b->stand);
        for (int i = 0; i < l->body[0].n_in; i++)
            if (!b->varies[i]) { /* branches read the operands themselves */
                b->varies[i] = true;
                b->stand[i] = b->in[l->n_head + i];
            }
        memset(b->differs, true, (size_t)l->n_out * sizeof *b->differs);
        return choose(b, result);
    }
    for (int k = 0; k < l->n_body; k++)
        if (map_body(b, k, b->out + k * l->n_out) != IG_OK)
            return NULL;
    const loop_spec spec = {.kind = LOOP_SWITCH,
                            .head = slice_of(b->in[0]),
                            .in = b->stand,
                            .operand = b->operand,
                            .n_given = l->n_const,
                            .out = b->out,
                            .n_body = l->n_body,
                            .n_out = l->n_out};
    if (!spec.head || loop_build(&spec, b->result, NULL) != IG_OK)
        return NULL;
    return spread(b, b->result[result], b->differs[result]);
}

ig_array *loop_batched(const node_kernel *k, int result, ig_array *const *in)
{
    const loop *l = (const loop *)k;
    const size_t n_in = (size_t)l->body[0].n_in + 2, n_out = (size_t)l->body[0].n_out + 2;
    const size_t n = 2 * n_in + ((size_t)l->n_body + 2) * n_out;
    ig_array **list = memory_new(n * sizeof *list), *y = NULL;
    bool *flags = memory_new(n_in + n_out);
    if (list && flags) {
        batch b = {.l = l,
                   .size = in[0]->view.shape[0],
                   .in = in,
                   .varies = flags,
                   .differs = flags + n_in,
                   .stand = list,
                   .operand = list + n_in,
                   .out = list + 2 * n_in,
                   .result = list + 2 * n_in + (size_t)l->n_body * n_out};
        b.saved = b.result + n_out;
        for (int i = 0; i < l->body[0].n_in; i++)
            b.varies[i] = is_batched(in[l->n_head + i]);
        y = l->kind == LOOP_SCAN    ? batch_scan(&b, result)
            : l->kind == LOOP_WHILE ? batch_while(&b, result)
                                    : batch_switch(&b, result);
    }
    memory_free(list);
    memory_free(flags);
    return build_contiguous(y); /* views of the result are built again over row-major elements */
}
