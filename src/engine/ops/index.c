/* Builders of the index ops whose shapes do not depend on data: reads and writes at computed indices,
 * sorting, searching. Indices are i64 and are checked during evaluation. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/index.h"
#include <string.h>

/* ---- index arrays ---- */

ig_array *index_cast(const char *who, ig_array *indices)
{
    if (!indices)
        return NULL;
    if (!dtype_is_int(indices->dtype))
        FAIL_NULL(IG_ERR_DTYPE, "%s: indices must be integers, not %s; convert with astype", who,
                  ig_dtype_name(indices->dtype));
    /* Values above the range of i64 must stay out of bounds, not wrap to a valid index. */
    if (indices->dtype == IG_U64)
        indices = ig_minimum(indices, build_scalar_int(INT64_MAX, IG_U64));
    return build_cast(indices, IG_I64);
}

ig_array *index_fit(op_id op, const char *what, ig_array *x, ig_array *value)
{
    dtype_kind to = dtype_kind_of(x->dtype), from = dtype_kind_of(value->dtype);
    bool loses = (from == DTYPE_KIND_FLOAT && to != from) ||
                 (from != to && to == DTYPE_KIND_BOOL && !value->weak);
    if (loses)
        FAIL_NULL(IG_ERR_DTYPE, "%s: %s is %s, but x is %s; convert one with astype",
                  op_rows[op].name, what, ig_dtype_name(value->dtype), ig_dtype_name(x->dtype));
    return build_cast(value, x->dtype);
}

/* ---- reads ---- */

/* A read node: index and seen, a view of x's root, have the shape of the result. */
static ig_array *read_node(const char *who, ig_array *x, const view *seen, ig_array *index,
                           int64_t length, int64_t stride)
{
    int64_t size;
    if (!index || infer_size(OP_take, seen->ndim, seen->shape, x->dtype, &size) != IG_OK)
        return NULL;
    if (length == 0 && size > 0)
        FAIL_NULL(IG_ERR_INDEX, "%s: %lld elements are asked of an axis of length 0", who,
                  (long long)size);
    ig_array *in[2] = {index, array_view(OP_take, x, seen)};
    node_attr attr = {.axis_len = length, .axis_stride = stride};
    return array_node(OP_read, x->dtype, seen->ndim, seen->shape, in, 2, &attr);
}

ig_array *index_read(const char *who, ig_array *x, const view *v, int place, ig_array *index,
                     int64_t length, int64_t stride)
{
    if (!x || !index)
        return NULL;
    view seen = *v, at = index->view;
    int ndim = v->ndim + at.ndim, own = at.ndim;
    if (ndim > IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "%s: the result has %d dimensions, more than the %d that Ingot has",
                  who, ndim, IG_MAX_NDIM);
    for (int a = 0; a < own; a++)
        axis_insert(&seen, place + a, index->view.shape[a], 0);
    for (int a = 0; a < v->ndim; a++)
        axis_insert(&at, a < place ? a : own + a, v->shape[a], 0);
    return read_node(who, x, &seen, array_view(OP_take, index, &at), length, stride);
}

ig_array *index_take(const char *who, ig_array *x, ig_array *index, int axis)
{
    view rest = x->view;
    axis_remove(&rest, axis);
    return index_read(who, x, &rest, axis, index, x->view.shape[axis], x->view.stride[axis]);
}

int op_take(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array, *index = index_cast("take", args[1].u.array);
    int axis = 0;
    if (!index)
        return 0;
    if (args[2].kind == IG_ARG_NONE && x->view.ndim != 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "take: x has %d dimensions, so axis must be given",
                  x->view.ndim);
    if (args[2].kind != IG_ARG_NONE && infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    return op_one(out, index_take("take", x, index, axis));
}

/* True if two lengths broadcast; *shape is the result. */
static bool meet(int64_t a, int64_t b, int64_t *shape)
{
    *shape = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

/* Fails unless indices have as many axes as x and fitting lengths on all axes except axis: at most x's
 * (broadcasts is false), or such that they broadcast. shape is the shape of the result. */
static ig_status infer_along(op_id op, const view *x, const view *index, int axis, bool broadcasts,
                             int64_t *shape)
{
    bool fits = index->ndim == x->ndim;
    for (int a = 0; a < x->ndim && fits; a++) {
        shape[a] = index->shape[a];
        if (a != axis)
            fits = broadcasts ? meet(x->shape[a], index->shape[a], &shape[a])
                              : index->shape[a] <= x->shape[a];
    }
    if (fits)
        return IG_OK;
    char have[400], want[400];
    FAIL(IG_ERR_SHAPE,
         "%s: indices have shape %s, but x has %s; they need as many axes, and but for "
         "axis %d lengths that %s",
         op_rows[op].name, view_shape_text(index->ndim, index->shape, have),
         view_shape_text(x->ndim, x->shape, want), axis,
         broadcasts ? "broadcast" : "are not longer than x's");
}

/* out[i, j] = x[index[i, j], j] for axis 0. */
int op_read_along(op_id op, const ig_arg *args, ig_array **out)
{
    const bool broadcasts = op == OP_take_along_axis;
    const char *who = op_rows[op].name;
    ig_array *x = args[0].u.array, *index = index_cast(who, args[1].u.array);
    int64_t shape[IG_MAX_NDIM];
    int axis;
    if (!index || infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK ||
        infer_along(op, &x->view, &index->view, axis, broadcasts, shape) != IG_OK)
        return 0;
    view seen = x->view;
    for (int a = 0; a < seen.ndim; a++) {
        if (a == axis || (broadcasts && seen.shape[a] == 1))
            seen.stride[a] = 0;
        seen.shape[a] = shape[a];
    }
    index = build_broadcast(op, index, seen.ndim, shape);
    return op_one(out, read_node(who, x, &seen, index, x->view.shape[axis], x->view.stride[axis]));
}

/* ---- writes ---- */

/* out[index[i, j], j] = updates[i, j] for axis 0, or += with add. */
int op_write_along(op_id op, const ig_arg *args, ig_array **out)
{
    const bool add = op == OP_scatter_add;
    const char *who = op_rows[op].name;
    ig_array *x = args[0].u.array, *index = index_cast(who, args[1].u.array);
    ig_array *updates = index_fit(op, "updates", x, args[2].u.array);
    int64_t shape[IG_MAX_NDIM];
    int axis;
    if (!index || !updates || infer_axis(op, args[3].u.i, x->view.ndim, &axis) != IG_OK ||
        infer_along(op, &x->view, &index->view, axis, false, shape) != IG_OK)
        return 0;
    int ndim = x->view.ndim;
    if (add && x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype", who);
    if (x->view.shape[axis] == 0 && view_size(&index->view) > 0)
        FAIL_NONE(IG_ERR_INDEX, "%s: %lld elements are written to an axis of length 0", who,
                  (long long)view_size(&index->view));
    updates = build_broadcast(op, updates, ndim, shape);
    view *dst = updates ? memory_new(sizeof *dst) : NULL;
    if (!dst)
        return 0;
    view_contiguous(dst, ndim, x->view.shape);
    node_attr attr = {
        .add = add, .axis_len = dst->shape[axis], .axis_stride = dst->stride[axis], .dst = dst};
    dst->stride[axis] = 0;
    memcpy(dst->shape, shape, sizeof shape);
    ig_array *in[3] = {x, index, updates};
    return op_one(out, array_node(OP_write, x->dtype, ndim, x->view.shape, in, 3, &attr));
}

/* ---- order ---- */

/* Sorts along axis, which is moved to the end for that. All sorts are stable, so the argument `stable` is
 * ignored. The result has the first `kept` elements of each row. */
static ig_array *sorted_rows(op_id op, ig_array *x, int axis, bool descending, int64_t kept,
                             ig_dtype dtype)
{
    ig_array *rows = build_axis_last(op, x, axis);
    if (!rows)
        return NULL;
    view v = rows->view;
    v.shape[v.ndim - 1] = kept;
    const node_attr attr = {.descending = descending};
    return build_axis_back(op, array_node(op, dtype, v.ndim, v.shape, &rows, 1, &attr), axis);
}

ig_array *index_first_places(ig_array *x, int axis, int64_t kept)
{
    return sorted_rows(OP_argsort, x, axis, true, kept, IG_I64);
}

int op_sort_along(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    const ig_dtype dtype = op == OP_sort ? x->dtype : IG_I64;
    int axis;
    if (infer_axis(op, args[1].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    return op_one(out, sorted_rows(op, x, axis, args[2].u.b, x->view.shape[axis], dtype));
}

int op_searchsorted(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *sorter = arg_array(&args[3]);
    const char *side = args[2].u.str;
    bool right = strcmp(side, "right") == 0;
    ig_dtype dtype;
    if (x[0]->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "searchsorted: x1 has %d dimensions; give a 1-d array",
                  x[0]->view.ndim);
    if (!right && strcmp(side, "left") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "searchsorted: side is 'left' or 'right', not '%s'", side);
    if (sorter && !view_same_shape(&sorter->view, &x[0]->view)) {
        char have[400], want[400];
        FAIL_NONE(IG_ERR_SHAPE,
                  "searchsorted: sorter has shape %s, but x1 has %s; give an index for "
                  "each element of x1",
                  view_shape_text(sorter->view.ndim, sorter->view.shape, have),
                  view_shape_text(1, x[0]->view.shape, want));
    }
    if (sorter)
        x[0] = index_take("searchsorted", x[0], index_cast("searchsorted", sorter), 0);
    if (!x[0] || infer_dtype(op, x, 2, &dtype) != IG_OK)
        return 0;
    for (int i = 0; i < 2; i++)
        x[i] = build_cast(x[i], dtype);
    node_attr attr = {.right = right};
    return op_one(out, array_node(op, IG_I64, args[1].u.array->view.ndim,
                                  args[1].u.array->view.shape, x, 2, &attr));
}
