/* Rebuilds a graph with other inputs: for all elements of a batch at once (vmap), or a second time so that
 * intermediate results need not be kept (checkpoint).
 *
 * A node is an op, its attributes and its inputs, so copying it needs no knowledge of the op. A batch is one
 * more axis before all others. Roots are contiguous, so every view of the old root is also a view of each
 * slice of the new one. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/complex.h"
#include "engine/ops/grad.h"
#include "engine/ops/index.h"
#include "engine/ops/walk.h"
#include <string.h>

typedef struct replay {
    walk w;
    int64_t batch; /* number of slices; 0: no axis is added */
    uint16_t copy; /* distinguishes the copies from the originals when equal nodes are merged */
} replay;

static bool is_new(const replay *r, ig_array *x)
{
    const place *p = walk_find(&r->w, walk_behind(&r->w, x));
    return p && p->needed;
}

/* Turns v, a view of a root of that size, into a view of all slices. */
static void add_slices(const replay *r, view *v, int64_t size)
{
    if (r->batch)
        axis_insert(v, 0, r->batch, size);
}

static ig_status check_room(const replay *r, int ndim)
{
    if (r->batch && ndim == IG_MAX_NDIM)
        FAIL(IG_ERR_SHAPE, "vmap: an array inside has %d axes already, so none can be added", ndim);
    return IG_OK;
}

/* ---- views ---- */

/* How views of an old root become views of the copy: a slice has size elements, and its first element is
 * the old root's element `first`. */
typedef struct frame {
    int64_t first, size, offset;
} frame;

/* An array that the caller replaces gets a copy of only the span of elements that it sees. */
static frame frame_of(const place *p)
{
    if (!p->given || p->made == p->at)
        return (frame){0, view_size(&p->at->root->view), 0};
    int64_t low = 0, high = -1;
    if (view_size(&p->at->view) > 0)
        view_bounds(&p->at->view, &low, &high);
    return (frame){low, high - low + 1, p->made->view.offset};
}

/* The view x of the new graph. from is the copy of an array that sees the place p in the same way as x. */
static ig_array *see_again(const replay *r, const place *p, const ig_array *x, ig_array *from)
{
    if (!from || check_room(r, x->view.ndim) != IG_OK)
        return NULL;
    const frame f = frame_of(p);
    view v = x->view;
    v.offset += f.offset - f.first;
    add_slices(r, &v, f.size);
    /* Rules that recognize a row's view by its axes do not recognize it with one more. The array that replaces one with a
     * custom gradient does not have that gradient. */
    return array_view(r->batch || x->op == OP_custom ? OP_slice : x->op, from, &v);
}

/* x of the new graph: a view of the copy of its place. Rules look at the array that a view was made from, but not
 * further. So only the last two of a series of views are rebuilt. */
static ig_array *copy_of(const replay *r, ig_array *x)
{
    ig_array *at = walk_behind(&r->w, x);
    const place *p = walk_find(&r->w, at);
    const bool spread = p->given && !view_is_injective(&at->view);
    const bool whole = !p->given || p->made == at;
    if (x == at && (whole || spread))
        return p->made;
    if (spread)
        FAIL_NULL(IG_ERR_UNSUPPORTED,
                  "an input repeats elements (a broadcast), and is used through another view of "
                  "it; give the array that it repeats as the input, or a copy by ig_from_data");
    const bool direct = x == at || (x->in[0] == at && whole);
    return see_again(r, p, x, direct ? p->made : see_again(r, p, x->in[0], p->made));
}

/* x as an input of a copy. If it does not depend on the new inputs, each slice is x itself. */
static ig_array *input_of(const replay *r, ig_array *x)
{
    if (is_new(r, x))
        return copy_of(r, x);
    if (!r->batch || check_room(r, x->view.ndim) != IG_OK)
        return r->batch ? NULL : x;
    view v = x->view;
    axis_insert(&v, 0, r->batch, 0);
    return array_view(OP_broadcast_to, x, &v);
}

/* ---- nodes ---- */

static view *copy_places(const replay *r, const ig_array *x)
{
    const int n = x->op == OP_assemble ? x->n_in : 1;
    view *dst = memory_get((size_t)n * sizeof *dst);
    for (int i = 0; dst && i < n; i++) {
        dst[i] = x->attr.dst[i];
        add_slices(r, &dst[i], view_size(&x->view));
    }
    return dst;
}

/* The new axis of a contraction is an axis of m if the other operand repeats along it: one product, not one for each slice. A
 * contraction whose first operand repeats changes its operands' places, if n has no axes. */
static bool batch_contract(node_attr *attr, ig_array *const *in, ig_array **x)
{
    const bool first = in[0]->view.stride[0] == 0;
    const int rows = first ? 1 : 0;
    attr->ndim[0]++;
    x[0] = in[0];
    x[1] = in[1];
    if (attr->ndim[0] > 1 || in[1 - rows]->view.stride[0] != 0 || (first && attr->ndim[2] > 0))
        return true;
    view v = in[1 - rows]->view;
    axis_remove(&v, 0);
    x[0] = in[rows];
    x[1] = array_view(OP_slice, in[1 - rows], &v);
    attr->ndim[0] = 0;
    if (first) {
        attr->ndim[2] = attr->ndim[1];
        attr->ndim[1] = 0;
    }
    attr->ndim[1]++;
    return x[1] != NULL;
}

/* The node x with that dtype and the inputs in, all of which have the new axis. */
static ig_array *node_like(const replay *r, const ig_array *x, ig_dtype dtype, ig_array *const *in)
{
    view v = x->view;
    node_attr attr = x->attr;
    if (check_room(r, v.ndim) != IG_OK)
        return NULL;
    add_slices(r, &v, 0);
    attr.copy = r->copy ? r->copy : attr.copy;
    ig_array *operands[2];
    if (r->batch && x->op == OP_contract) {
        if (!batch_contract(&attr, in, operands))
            return NULL;
        in = operands;
    }
    if (attr.dst && !(attr.dst = copy_places(r, x)))
        return NULL;
    return array_node(x->op, dtype, v.ndim, v.shape, in, x->n_in, &attr);
}

ig_array *replay_node(const ig_array *x, ig_dtype dtype, ig_array *const *in)
{
    return node_like(&(replay){0}, x, dtype, in);
}

/* True if the node cannot have a leading axis: it takes one key, or one sorted row, or is a kernel or a function of
 * blocks with fixed shapes. */
static bool takes_one(const replay *r, const ig_array *x)
{
    return ((x->op == OP_bits || x->op == OP_searchsorted) && is_new(r, x->in[0])) ||
           x->op == OP_kernel || x->op == OP_blocks;
}

/* Builds such a node for each slice separately. in are batched. */
static ig_array *one_by_one(const replay *r, const ig_array *x, ig_array *const *in)
{
    const replay single = {.copy = r->copy};
    ig_array **slice = memory_get((size_t)r->batch * sizeof *slice), *y = NULL;
    ig_array **one = memory_get((size_t)(x->n_in + 1) * sizeof *one);
    bool ok = slice && one;
    for (int64_t b = 0; b < r->batch && ok; b++) {
        for (int i = 0; i < x->n_in; i++) {
            view v = in[i]->view;
            v.offset += b * v.stride[0];
            axis_remove(&v, 0);
            one[i] = array_view(OP_slice, in[i], &v);
        }
        ok = (slice[b] = node_like(&single, x, (ig_dtype)x->dtype, one)) != NULL;
    }
    if (ok)
        y = ig_stack(slice, (int)r->batch, 0);
    memory_free(slice);
    memory_free(one);
    return y;
}

/* Input i of x in the shape of x: an input of an elementwise node may be 0-d. */
static ig_array *whole_input(const replay *r, const ig_array *x, int i)
{
    ig_array *in = x->in[i];
    const bool maps = op_rows[x->op].cls == CLASS_ELEMENTWISE || x->op == OP_formula;
    const bool one = r->batch && in->view.ndim == 0 && maps;
    return one ? build_broadcast(x->op, in, x->view.ndim, x->view.shape) : in;
}

static ig_array *copy_root(const replay *r, ig_array *x)
{
    ig_array *few[3], **in = x->n_in <= 3 ? few : memory_get((size_t)x->n_in * sizeof *in);
    bool ok = in != NULL;
    for (int i = 0; i < x->n_in && ok; i++) {
        ig_array *from = whole_input(r, x, i);
        ok = from && (in[i] = input_of(r, from)) != NULL;
    }
    const node_kernel *kernel = x->attr.kernel;
    ig_array *y = !ok ? NULL
                  : r->batch && kernel && kernel->batched
                      ? kernel->batched(kernel, (int)x->attr.result, in)
                  : r->batch && takes_one(r, x) ? one_by_one(r, x, in)
                                                : node_like(r, x, (ig_dtype)x->dtype, in);
    if (in != few)
        memory_free(in);
    return y;
}

/* ---- custom gradients: a copy keeps the original, which has the rule ---- */

/* The rule of a copy. The rule is applied to the original, because it may look at how `out` depends on the inputs, which are
 * views: the same views of a copy are others. The result is rebuilt for the copy's inputs, its output and g. */
static ig_status pull_original(ig_array *original, ig_array *const *inputs, int n, ig_array *out,
                               ig_array *g, bool batched, ig_array **grads)
{
    const custom *rule = original->custom;
    ig_array *one = ig_zeros(ig_shape(original), (ig_dtype)original->dtype);
    ig_array **from = memory_get((size_t)(n + 2) * sizeof *from);
    ig_array **to = memory_get((size_t)(n + 2) * sizeof *to);
    int *axes = memory_new((size_t)(n + 2) * sizeof *axes);
    ig_status status = one && from && to && axes ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        status = rule->pull(rule->context, original->in + 1, n, original, one, grads);
    for (int i = 0; i < n && status == IG_OK; i++) {
        from[i] = original->in[1 + i];
        to[i] = inputs[i];
    }
    if (status == IG_OK) {
        from[n] = original;
        to[n] = out;
        from[n + 1] = one;
        to[n + 1] = g;
    }
    for (int i = 0; i < n && status == IG_OK; i++)
        if (grads[i])
            status = batched ? ig_vmap(&grads[i], 1, from, to, axes, n + 2, &grads[i])
                             : replay_with(&grads[i], 1, from, to, n + 2, &grads[i]);
    memory_free(axes);
    memory_free(to);
    memory_free(from);
    return status;
}

static ig_status pull_again(void *context, ig_array *const *inputs, int n, ig_array *out,
                            ig_array *g, ig_array **grads)
{
    return pull_original(context, inputs, n, out, g, false, grads);
}

static ig_status pull_batched(void *context, ig_array *const *inputs, int n, ig_array *out,
                              ig_array *g, ig_array **grads)
{
    return pull_original(context, inputs, n, out, g, true, grads);
}

static void release_array(void *x) { ig_release(x); }

/* Copies a stop_gradient or a custom gradient. */
static ig_array *copy_view(const replay *r, ig_array *x)
{
    ig_array *from = input_of(r, x->in[0]);
    if (!from)
        return NULL;
    if (x->op == OP_stop_gradient)
        return ig_stop_gradient(from);
    const int n = x->n_in - 1;
    ig_array **in = memory_get((size_t)(n + 1) * sizeof *in), *y = NULL;
    bool ok = in != NULL;
    for (int i = 0; i < n && ok; i++)
        ok = (in[i] = input_of(r, x->in[1 + i])) != NULL;
    if (ok)
        y = ig_custom_grad(from, in, n, r->batch ? pull_batched : pull_again, ig_retain(x),
                           release_array);
    memory_free(in);
    return y;
}

/* ---- from outside ---- */

/* Rebuilds everything that depends on the inputs. The caller has set the replacements of the inputs. */
static ig_status replay_all(replay *r, ig_array *const *outputs, int n)
{
    for (int i = 0; i < n; i++)
        TRY(walk_from(&r->w, outputs[i]));
    for (int k = 0; k < r->w.n_order; k++) {
        place *p = &r->w.place[r->w.order[k]];
        if (!p->needed || p->made)
            continue;
        p->made = p->at == p->at->root ? copy_root(r, p->at) : copy_view(r, p->at);
        if (!p->made)
            return IG_ERR_ARGUMENT;
    }
    return IG_OK;
}

/* Lays out value, batched, so that views of x's root find the elements of x: see frame_of. An input that repeats
 * elements is only used as a whole, so its replacement is used as it is. */
static ig_array *stand_in(const replay *r, ig_array *x, ig_array *value)
{
    if (!view_is_injective(&x->view))
        return value;
    const frame f = frame_of(&(place){.at = x, .made = value, .given = true});
    view v = x->view, whole;
    v.offset -= f.first;
    add_slices(r, &v, f.size);
    view_contiguous(&whole, 1, &f.size);
    add_slices(r, &whole, f.size);
    return build_contiguous(grad_place(value, &v, &whole));
}

static ig_status give(replay *r, ig_array *x, ig_array *made)
{
    place *p = made ? walk_put(&r->w, x) : NULL;
    if (!p)
        return IG_ERR_MEMORY;
    p->given = p->needed = true;
    p->made = made;
    return IG_OK;
}

/* ---- vmap ---- */

/* Fails unless value has the shape of x, plus the batch axis if axis is not negative. All batched inputs must have the
 * same number of slices. */
static ig_status check_batch(int i, const ig_array *x, const ig_array *value, int axis,
                             int64_t *batch)
{
    char have[400], want[400];
    if (!x || !value)
        FAIL(IG_ERR_ARGUMENT, "vmap: input %d is NULL", i);
    view v = value->view;
    if (axis >= v.ndim)
        FAIL(IG_ERR_SHAPE, "vmap: input %d has %d axes, so none is %d", i, v.ndim, axis);
    if (axis >= 0 && *batch >= 0 && v.shape[axis] != *batch)
        FAIL(IG_ERR_SHAPE, "vmap: input %d has %lld slices, but another has %lld", i,
             (long long)v.shape[axis], (long long)*batch);
    if (axis >= 0) {
        *batch = v.shape[axis];
        axis_remove(&v, axis);
    }
    if (!view_same_shape(&v, &x->view) || value->dtype != x->dtype)
        FAIL(IG_ERR_SHAPE, "vmap: slices of input %d are %s%s, but the example is %s%s", i,
             ig_dtype_name((ig_dtype)value->dtype), view_shape_text(v.ndim, v.shape, have),
             ig_dtype_name((ig_dtype)x->dtype), view_shape_text(x->view.ndim, x->view.shape, want));
    return IG_OK;
}

/* x repeated for each slice. */
static ig_array *for_all(int64_t batch, ig_array *x)
{
    int64_t shape[IG_MAX_NDIM + 1] = {batch};
    memcpy(shape + 1, x->view.shape, (size_t)x->view.ndim * sizeof *shape);
    return ig_broadcast_to(x, (ig_ints){shape, 1 + x->view.ndim});
}

static ig_status vmap(replay *r, ig_array *const *outputs, int n_out, ig_array *const *inputs,
                      ig_array *const *batched, const int *axes, int n_in, ig_array **results)
{
    for (int i = 0; i < n_in; i++) {
        ig_array *all = axes[i] < 0 ? for_all(r->batch, batched[i])
                                    : ig_moveaxis(batched[i], IG_AXES(axes[i]), IG_AXES(0));
        TRY(give(r, inputs[i], all ? stand_in(r, inputs[i], all) : NULL));
    }
    TRY(replay_all(r, outputs, n_out));
    for (int i = 0; i < n_out; i++)
        if (!(results[i] = input_of(r, outputs[i])))
            return IG_ERR_ARGUMENT;
    return IG_OK;
}

/* vmap of the parts of complex arrays. */
static ig_status vmap_parts(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                            ig_array *const *batched, const int *axes, int n_in, ig_array **results)
{
    ig_array **list = memory_get((4 * (size_t)n_out + 4 * (size_t)n_in + 1) * sizeof *list);
    int *axis = memory_get((2 * (size_t)n_in + 1) * sizeof *axis), n = 0;
    ig_status status = list && axis ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK) {
        ig_array **made = list + 2 * n_out, **from = made + 2 * n_out, **to = from + 2 * n_in;
        for (int i = 0; i < n_in; i++) {
            const bool split = array_is_complex(inputs[i]);
            ig_array *batch = split && batched[i]
                                  ? complex_cast(batched[i], (ig_dtype)inputs[i]->dtype)
                                  : batched[i];
            axis[n] = axis[n + split] = axes[i];
            complex_flatten(&inputs[i], 1, false, from + n);
            n += complex_flatten(&batch, 1, false, to + n);
        }
        const int n_made = complex_flatten(outputs, n_out, false, list);
        status = ig_vmap(list, n_made, from, to, axis, n, made);
        if (status == IG_OK)
            complex_join(outputs, n_out, false, made, results);
    }
    memory_free(axis);
    memory_free(list);
    return status;
}

ig_status ig_vmap(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                  ig_array *const *batched, const int *axes, int n_in, ig_array **results)
{
    replay r = {.batch = -1};
    TRY(require_list("vmap", "outputs", outputs, n_out));
    TRY(require_list("vmap", "results", results, n_out));
    TRY(require_list("vmap", "inputs", inputs, n_in));
    TRY(require_list("vmap", "batched", batched, n_in));
    TRY(require_list("vmap", "axes", axes, n_in));
    for (int i = 0; i < n_out; i++)
        if (!outputs[i])
            FAIL(IG_ERR_ARGUMENT, "vmap: output %d is NULL", i);
    if (complex_any(outputs, n_out) || complex_any(inputs, n_in))
        return vmap_parts(outputs, n_out, inputs, batched, axes, n_in, results);
    for (int i = 0; i < n_in; i++)
        TRY(check_batch(i, inputs[i], batched[i], axes[i], &r.batch));
    if (r.batch <= 0)
        FAIL(IG_ERR_ARGUMENT,
             r.batch == 0 ? "vmap: there are no slices" : "vmap: no input has an axis to map over");
    ig_status status = vmap(&r, outputs, n_out, inputs, batched, axes, n_in, results);
    walk_free(&r.w);
    return status;
}

/* ---- other inputs ---- */

ig_status replay_with(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                      ig_array *const *others, int n_in, ig_array **results)
{
    replay r = {.w.ends = true};
    ig_status status = IG_OK;
    for (int i = 0; i < n_in && status == IG_OK; i++)
        status = give(&r, inputs[i], stand_in(&r, inputs[i], others[i]));
    if (status == IG_OK)
        status = replay_all(&r, outputs, n_out);
    for (int i = 0; i < n_out && status == IG_OK; i++)
        if (!(results[i] = input_of(&r, outputs[i])))
            status = IG_ERR_ARGUMENT;
    walk_free(&r.w);
    return status;
}

/* ---- checkpoint ---- */

/* Recomputes everything between the inputs and out, as nodes that are never merged with others. */
static ig_status pull_checkpoint(void *context, ig_array *const *inputs, int n, ig_array *out,
                                 ig_array *g, ig_array **grads)
{
    (void)context;
    replay r = {.copy = 1};
    ig_array *definition = out->in[0];
    ig_status status = IG_OK;
    for (int i = 0; i < n && status == IG_OK; i++)
        status = give(&r, inputs[i], inputs[i]);
    if (status == IG_OK)
        status = replay_all(&r, &definition, 1);
    ig_array *again = status == IG_OK ? input_of(&r, definition) : NULL;
    walk_free(&r.w);
    return again ? grad_of_definition(again, g, inputs, n, grads) : IG_ERR_MEMORY;
}

ig_array *ig_checkpoint(ig_array *out, ig_array *const *inputs, int n)
{
    return ig_custom_grad(out, inputs, n, pull_checkpoint, NULL, NULL);
}
