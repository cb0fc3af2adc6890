/* Builders of the move ops that return views. Each composes a view with the view of x, so nothing is copied.
 * Only reshape copies, if strides cannot express the result. Ops that join or repeat elements are in
 * join.c. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/index.h"
#include <string.h>

/* ---- views ---- */

void axis_insert(view *v, int at, int64_t length, int64_t stride)
{
    size_t tail = (size_t)(v->ndim - at);
    memmove(v->shape + at + 1, v->shape + at, tail * sizeof *v->shape);
    memmove(v->stride + at + 1, v->stride + at, tail * sizeof *v->stride);
    v->shape[at] = length;
    v->stride[at] = stride;
    v->ndim++;
}

void axis_remove(view *v, int axis)
{
    v->ndim--;
    size_t tail = (size_t)(v->ndim - axis);
    memmove(v->shape + axis, v->shape + axis + 1, tail * sizeof *v->shape);
    memmove(v->stride + axis, v->stride + axis + 1, tail * sizeof *v->stride);
}

/* A bound of a slice, clipped to [low, high]; a negative bound counts from the end. */
static int64_t clip_bound(int64_t bound, int64_t n, int64_t low, int64_t high)
{
    if (bound < 0)
        bound += n;
    return bound < low ? low : bound > high ? high : bound;
}

span span_clip(int64_t start, int64_t stop, int64_t step, int64_t n)
{
    /* All steps that leave the axis at once are equivalent. */
    if (step > n)
        step = n + 1;
    if (step < -n)
        step = -n - 1;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    span s = {.start = clip_bound(start, n, low, high), .step = step};
    int64_t end = clip_bound(stop, n, low, high);
    if (step > 0 && s.start < end)
        s.length = (end - s.start - 1) / step + 1;
    if (step < 0 && s.start > end)
        s.length = (s.start - end - 1) / -step + 1;
    return s;
}

void span_apply(view *v, int axis, span s)
{
    if (s.length > 0)
        v->offset += s.start * v->stride[axis];
    if (s.length > 1)
        v->stride[axis] *= s.step;
    v->shape[axis] = s.length;
}

ig_array *move_settle(ig_array *x)
{
    return x && x->weak ? build_cast(x, ig_result_type(&x, 1)) : x;
}

/* ---- broadcasting ---- */

/* A new view of x, even if x has that shape already. */
static ig_array *broadcast_view(op_id op, ig_array *x, int ndim, const int64_t *shape)
{
    int64_t size;
    if (!(x = move_settle(x)) || infer_size(op, ndim, shape, x->dtype, &size) != IG_OK)
        return NULL;
    ig_array *y = build_broadcast(op, x, ndim, shape);
    return y == x ? array_view(op, x, &x->view) : y;
}

int op_broadcast_to(op_id op, const ig_arg *args, ig_array **out)
{
    ig_ints shape = args[1].u.ints;
    return op_one(out, broadcast_view(op, args[0].u.array, shape.n, shape.v));
}

/* Checks a number of results. Returns it, or 0 if there are none or more than the maximum. */
static int count_results(op_id op, int64_t n, const char *why_none)
{
    if (n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: %s", op_rows[op].name, why_none);
    if (n > OP_MAX_RESULTS)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: %lld results are more than the %d that one call can give",
                  op_rows[op].name, (long long)n, OP_MAX_RESULTS);
    return (int)n;
}

int op_broadcast_arrays(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *const *x = args[0].u.arrays.v;
    int n = count_results(op, args[0].u.arrays.n, "give at least one array"), ndim;
    int64_t shape[IG_MAX_NDIM];
    if (n == 0 || infer_broadcast(op, x, n, &ndim, shape) != IG_OK)
        return 0;
    for (int i = 0; i < n; i++)
        if (!(out[i] = broadcast_view(op, x[i], ndim, shape)))
            return 0;
    return n;
}

int op_rechunk(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    const ig_ints chunk = args[1].u.ints;
    const view *v = &x->view;
    if (chunk.n != v->ndim && chunk.n != 1)
        FAIL_NONE(IG_ERR_SHAPE, "rechunk: the chunks have %d axes, but the array has %d", chunk.n,
                  v->ndim);
    view *hint = memory_new(sizeof *hint);
    ig_array *y = hint ? array_view(op, x, v) : NULL;
    if (!y) {
        memory_free(hint);
        return 0;
    }
    y->attr.dst = hint;
    hint->ndim = v->ndim;
    for (int i = 0; i < v->ndim; i++) {
        const int64_t asked = chunk.v[chunk.n == 1 ? 0 : i], whole = v->shape[i] ? v->shape[i] : 1;
        if (asked == 0 || asked < -1)
            FAIL_NONE(IG_ERR_SHAPE, "rechunk: a chunk cannot have the length %lld along axis %d",
                      (long long)asked, i);
        hint->shape[i] = asked < 0 || asked > whole ? whole : asked;
    }
    return op_one(out, y);
}

/* The axis along which array i varies; with 'xy' the first two axes are swapped. */
static int mesh_axis(bool swapped, int i) { return swapped && i < 2 ? 1 - i : i; }

int op_meshgrid(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *const *x = args[0].u.arrays.v;
    int n = count_results(op, args[0].u.arrays.n, "give at least one 1-d array");
    const char *indexing = args[1].u.str;
    bool xy = strcmp(indexing, "xy") == 0, swapped = xy && n > 1;
    int64_t shape[IG_MAX_NDIM];
    if (n == 0)
        return 0;
    if (!xy && strcmp(indexing, "ij") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "meshgrid: indexing is 'xy' or 'ij', not '%s'", indexing);
    if (n > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE,
                  "meshgrid: %d arrays give more dimensions than the %d that Ingot has", n,
                  IG_MAX_NDIM);
    for (int i = 0; i < n; i++) {
        if (x[i]->view.ndim > 1)
            FAIL_NONE(IG_ERR_SHAPE, "meshgrid: array %d has %d dimensions; give 1-d arrays", i,
                      x[i]->view.ndim);
        shape[mesh_axis(swapped, i)] = view_size(&x[i]->view);
    }
    for (int i = 0; i < n; i++) {
        view v = {.ndim = n, .offset = x[i]->view.offset};
        int own = mesh_axis(swapped, i);
        for (int a = 0; a < n; a++)
            v.shape[a] = 1;
        v.shape[own] = shape[own];
        v.stride[own] = x[i]->view.ndim ? x[i]->view.stride[0] : 0;
        if (!(out[i] = broadcast_view(op, array_view(op, move_settle(x[i]), &v), n, shape)))
            return 0;
    }
    return n;
}

/* ---- axes inserted, removed, reordered ---- */

int op_expand_dims(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints axis = args[1].u.ints;
    int axes[IG_MAX_NDIM], ndim = x->view.ndim + axis.n;
    bool is_new[IG_MAX_NDIM] = {false};
    view v = x->view;
    if (ndim > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE, "expand_dims: %d dimensions are more than the %d that Ingot has",
                  ndim, IG_MAX_NDIM);
    int n = infer_axes(op, axis, ndim, axes);
    if (n < 0)
        return 0;
    for (int i = 0; i < n; i++)
        is_new[axes[i]] = true;
    for (int a = 0; a < ndim; a++)
        if (is_new[a])
            axis_insert(&v, a, 1, 0);
    return op_one(out, array_view(op, x, &v));
}

int op_squeeze(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int axes[IG_MAX_NDIM], n = infer_axes(op, args[1].u.ints, x->view.ndim, axes);
    bool gone[IG_MAX_NDIM] = {false};
    view v = x->view;
    if (n < 0)
        return 0;
    for (int i = 0; i < n; i++) {
        if (v.shape[axes[i]] != 1)
            FAIL_NONE(IG_ERR_SHAPE,
                      "squeeze: axis %d has length %lld; only axes of length 1 can be removed",
                      axes[i], (long long)v.shape[axes[i]]);
        gone[axes[i]] = true;
    }
    for (int a = x->view.ndim - 1; a >= 0; a--)
        if (gone[a])
            axis_remove(&v, a);
    return op_one(out, array_view(op, x, &v));
}

int op_permute_dims(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints axes = args[1].u.ints;
    int order[IG_MAX_NDIM];
    if (axes.n != x->view.ndim)
        FAIL_NONE(IG_ERR_SHAPE, "permute_dims: %d ax%s given, but x has %d; give each one once",
                  axes.n, axes.n == 1 ? "is is" : "es are", x->view.ndim);
    return infer_axes(op, axes, x->view.ndim, order) < 0 ? 0
                                                         : op_one(out, build_permute(op, x, order));
}

int op_matrix_transpose(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int order[IG_MAX_NDIM], ndim = x->view.ndim;
    if (ndim < 2)
        FAIL_NONE(IG_ERR_SHAPE, "matrix_transpose: x has %d dimension%s, but needs at least 2",
                  ndim, ndim == 1 ? "" : "s");
    for (int a = 0; a < ndim; a++)
        order[a] = a < ndim - 2 ? a : 2 * ndim - 3 - a;
    return op_one(out, build_permute(op, x, order));
}

int op_moveaxis(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int from[IG_MAX_NDIM], to[IG_MAX_NDIM], order[IG_MAX_NDIM], ndim = x->view.ndim;
    unsigned moved = 0, taken = 0;
    int n = infer_axes(op, args[1].u.ints, ndim, from),
        m = infer_axes(op, args[2].u.ints, ndim, to);
    if (n < 0 || m < 0)
        return 0;
    if (n != m)
        FAIL_NONE(IG_ERR_SHAPE, "moveaxis: source has %d axes, destination %d; give as many", n, m);
    for (int i = 0; i < n; i++) {
        order[to[i]] = from[i];
        moved |= 1u << from[i];
        taken |= 1u << to[i];
    }
    /* The other axes fill the free positions in their order. */
    for (int place = 0, a = 0; place < ndim; place++) {
        if (taken >> place & 1)
            continue;
        while (moved >> a & 1)
            a++;
        order[place] = a++;
    }
    return op_one(out, build_permute(op, x, order));
}

int op_flip(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int axes[IG_MAX_NDIM], n = infer_axes(op, arg_ints(&args[1]), x->view.ndim, axes);
    view v = x->view;
    if (n < 0)
        return 0;
    for (int i = 0; i < n; i++)
        span_apply(&v, axes[i], span_clip(INT64_MAX, INT64_MIN, -1, v.shape[axes[i]]));
    return op_one(out, array_view(op, x, &v));
}

int op_diagonal(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int64_t offset = args[1].u.i;
    view v = x->view;
    int row = v.ndim - 2, col = v.ndim - 1;
    if (row < 0)
        FAIL_NONE(IG_ERR_SHAPE, "diagonal: x has %d dimension%s, but needs at least 2", v.ndim,
                  v.ndim == 1 ? "" : "s");
    if (offset < -v.shape[row])
        offset = -v.shape[row];
    span rows = span_clip(offset < 0 ? -offset : 0, INT64_MAX, 1, v.shape[row]);
    span cols = span_clip(offset < 0 ? 0 : offset, INT64_MAX, 1, v.shape[col]);
    rows.length = cols.length = rows.length < cols.length ? rows.length : cols.length;
    span_apply(&v, row, rows);
    span_apply(&v, col, cols);
    v.stride[row] += v.stride[col];
    axis_remove(&v, col);
    return op_one(out, array_view(op, x, &v));
}

/* ---- parts of x ---- */

int op_slice(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints start = args[1].u.ints, stop = args[2].u.ints, step = arg_ints(&args[3]);
    view v = x->view;
    if (start.n != stop.n || (step.v && step.n != start.n))
        FAIL_NONE(IG_ERR_ARGUMENT, "slice: start has %d numbers, stop %d, step %d; give as many",
                  start.n, stop.n, step.v ? step.n : start.n);
    if (start.n > v.ndim)
        FAIL_NONE(IG_ERR_SHAPE, "slice: %d axes are given, but x has %d", start.n, v.ndim);
    for (int a = 0; a < start.n; a++) {
        int64_t by = step.v ? step.v[a] : 1;
        if (by == 0)
            FAIL_NONE(IG_ERR_ARGUMENT, "slice: the step of axis %d is 0; give any other number", a);
        span_apply(&v, a, span_clip(start.v[a], stop.v[a], by, v.shape[a]));
    }
    return op_one(out, array_view(op, x, &v));
}

/* A view of x with axis narrowed to s. */
static ig_array *cut(op_id op, ig_array *x, int axis, span s)
{
    view v = x->view;
    span_apply(&v, axis, s);
    return array_view(op, x, &v);
}

static int split_key(ig_array *key, const ig_arg *sections, ig_array **out)
{
    if (sections->kind != IG_ARG_INT)
        FAIL_NONE(IG_ERR_ARGUMENT, "split: a random key is split into a number of keys, not at "
                                   "indices");
    const ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = key}, *sections};
    return op_call(OP_split_key, args, 2, out, 1);
}

int op_split(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    const bool equal = args[1].kind == IG_ARG_INT;
    const ig_ints at = equal ? (ig_ints){&args[1].u.i, 1} : args[1].u.ints;
    int axis;
    if (x->is_key && x->view.ndim == 1)
        return split_key(x, &args[1], out);
    if (infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    int64_t length = x->view.shape[axis];
    int64_t n = equal ? at.v[0] : at.n + 1;
    if (n <= 0 || (equal && length % n != 0))
        FAIL_NONE(IG_ERR_SHAPE,
                  "split: axis %d has length %lld, which does not divide into %lld "
                  "equal parts; use array_split(x, n) for n parts of different lengths, or give "
                  "the places to split at",
                  axis, (long long)length, (long long)n);
    if (!count_results(op, n, ""))
        return 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t part = length / n;
        span s = equal ? (span){i * part, 1, part}
                       : span_clip(i ? at.v[i - 1] : 0, i < at.n ? at.v[i] : length, 1, length);
        if (!(out[i] = cut(op, x, axis, s)))
            return 0;
    }
    return (int)n;
}

int op_unstack(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    int axis;
    if (infer_axis(op, args[1].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    int n = count_results(op, x->view.shape[axis],
                          "the axis has length 0, so there is nothing to give");
    for (int i = 0; i < n; i++) {
        view v = x->view;
        v.offset += i * v.stride[axis];
        axis_remove(&v, axis);
        if (!(out[i] = array_view(op, x, &v)))
            return 0;
    }
    return n;
}

/* ---- reshape ---- */

/* shape with its -1, if there is one, replaced so that there are size elements. */
static ig_status full_shape(ig_ints shape, int64_t size, ig_dtype dtype, int64_t full[IG_MAX_NDIM])
{
    char text[400];
    int unknown = -1;
    int64_t known;
    if (shape.n > IG_MAX_NDIM)
        FAIL(IG_ERR_SHAPE, "reshape: %d dimensions are more than the %d that Ingot has", shape.n,
             IG_MAX_NDIM);
    for (int a = 0; a < shape.n; a++) {
        full[a] = shape.v[a];
        if (full[a] != -1)
            continue;
        if (unknown >= 0)
            FAIL(IG_ERR_SHAPE, "reshape: shape %s has more than one -1",
                 view_shape_text(shape.n, shape.v, text));
        unknown = a;
        full[a] = 1;
    }
    TRY(infer_size(OP_reshape, shape.n, full, dtype, &known));
    if (unknown < 0 ? known != size : known == 0 || size % known != 0)
        FAIL(IG_ERR_SHAPE, "reshape: %lld element%s cannot have the shape %s", (long long)size,
             size == 1 ? "" : "s", view_shape_text(shape.n, shape.v, text));
    if (unknown >= 0)
        full[unknown] = size / known;
    return IG_OK;
}

int op_reshape(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    ig_ints shape = args[1].u.ints;
    bool asked = args[2].kind == IG_ARG_BOOL;
    int64_t full[IG_MAX_NDIM];
    view v;
    if (full_shape(shape, view_size(&x->view), x->dtype, full) != IG_OK)
        return 0;
    if (asked && args[2].u.b) {
        view *dst = memory_get(sizeof *dst);
        if (dst)
            view_contiguous(dst, x->view.ndim, x->view.shape);
        return op_one(out, build_assemble(op, x->dtype, shape.n, full, &x, dst, 1));
    }
    if (asked && !view_reshape(&x->view, shape.n, full, &v)) {
        char text[400];
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "reshape: x's strides cannot say the shape %s without a copy; "
                  "allow it (copy=None)",
                  view_shape_text(shape.n, full, text));
    }
    return op_one(out, build_reshape(op, x, shape.n, full));
}
