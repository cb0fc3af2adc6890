/* Builders of functions that select elements: by conditions, by numbers, at computed places. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/array/above.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <string.h>

/* ---- by conditions and numbers ---- */

BUILDER(select)
{
    ig_array *const *when = args[0].u.arrays.v, *const *then = args[1].u.arrays.v;
    ig_array *y = args[2].u.array;
    const int n = args[0].u.arrays.n;
    if (n == 0 || n != args[1].u.arrays.n)
        FAIL_NONE(IG_ERR_ARGUMENT, "select: %d conditions and %d choices; give as many, at least 1",
                  n, args[1].u.arrays.n);
    for (int i = n - 1; i >= 0; i--) {
        if (when[i]->dtype != IG_BOOL)
            FAIL_NONE(IG_ERR_DTYPE,
                      "select: condition %d is %s, not bool; compare, or convert with astype", i,
                      ig_dtype_name((ig_dtype)when[i]->dtype));
        y = ig_where(when[i], then[i], y);
    }
    return op_one(out, y);
}

/* Indices, i64, within [0, n) after the treatment that mode says. */
static ig_array *within(op_id op, ig_array *at, int64_t n, const char *mode)
{
    if (strcmp(mode, "wrap") == 0)
        return ig_remainder(at, ig_int(n));
    if (strcmp(mode, "clip") == 0)
        return ig_clip(at, ig_int(0), ig_int(n - 1));
    if (strcmp(mode, "raise") != 0)
        FAIL_NULL(IG_ERR_ARGUMENT, "%s: mode is 'raise', 'wrap' or 'clip', not '%s'",
                  op_rows[op].name, mode);
    return at;
}

BUILDER(choose)
{
    ig_array *const *choice = args[1].u.arrays.v;
    const int n = args[1].u.arrays.n;
    const char *who = op_rows[op].name, *mode = args[2].u.str;
    if (n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "choose: give at least one choice");
    ig_array *at = within(op, index_cast(who, args[0].u.array), n, mode);
    if (strcmp(mode, "raise") == 0)
        at = shape_checked(who, at, n);
    ig_array *y = ig_where(ig_equal(at, ig_int(0)), choice[0], choice[n - 1]);
    for (int i = 1; i < n - 1; i++)
        y = ig_where(ig_equal(at, ig_int(i)), choice[i], y);
    return op_one(out, y);
}

/* ---- at places that depend on data ---- */

/* x at the positions along axis where mask is true; evaluates mask. */
static ig_array *taken(op_id op, ig_array *x, ig_array *mask, int axis)
{
    int64_t n;
    if (x && mask && x->view.ndim == 1 && mask_spills(x, mask))
        return mask_selected(x, mask);
    int64_t *at = x ? mask_positions(build_cast(mask, IG_BOOL), &n) : NULL;
    if (at && n > 0 && at[n - 1] >= x->view.shape[axis]) {
        memory_free(at);
        FAIL_NULL(IG_ERR_INDEX, "%s: condition is true beyond the end of axis %d of length %lld",
                  op_rows[op].name, axis, (long long)x->view.shape[axis]);
    }
    ig_array *index = at ? ig_from_data(at, IG_SHAPE(n), IG_I64) : NULL;
    memory_free(at);
    return index ? ig_take(x, index, IG_AXES(axis)) : NULL;
}

BUILDER(compress)
{
    ig_array *mask = args[0].u.array;
    int axis;
    if (mask->view.ndim != 1)
        FAIL_NONE(IG_ERR_SHAPE, "compress: condition has %d dimensions; give 1", mask->view.ndim);
    ig_array *x = shape_axis_or_flat(op, args[1].u.array, &args[2], &axis);
    return op_one(out, taken(op, x, mask, axis));
}

BUILDER(extract)
{
    ig_array *x = ig_reshape(move_settle(args[1].u.array), IG_SHAPE(-1));
    return op_one(out, taken(op, x, ig_reshape(move_settle(args[0].u.array), IG_SHAPE(-1)), 0));
}

BUILDER(flatnonzero)
{
    ig_array *at;
    return ig_nonzero(ig_reshape(move_settle(args[0].u.array), IG_SHAPE(-1)), &at, 1)
               ? op_one(out, at)
               : 0;
}

BUILDER(argwhere)
{
    ig_array *x = move_settle(args[0].u.array), *at[IG_MAX_NDIM];
    if (!x)
        return 0;
    if (x->view.ndim == 0) {
        ig_array *holds = ig_nonzero(ig_reshape(x, IG_SHAPE(1)), at, 1) ? at[0] : NULL;
        return op_one(out, holds ? ig_zeros(IG_SHAPE(ig_size(holds), 0), IG_I64) : NULL);
    }
    const int n = ig_nonzero(x, at, IG_MAX_NDIM);
    return op_one(out, n ? ig_stack(at, n, 1) : NULL);
}

/* ---- at computed places ---- */

/* indices[..., a], as a view. */
static ig_array *index_column(ig_array *indices, int64_t a)
{
    const ig_index items[2] = {{.kind = IG_INDEX_REST}, {.kind = IG_INDEX_INT, .start = a}};
    return ig_get(indices, items, 2);
}

/* The number of axes that the last axis of indices addresses; 0 on failure. */
static int addressed(op_id op, const ig_array *x, const ig_array *indices)
{
    const int64_t n = indices->view.ndim ? ig_dim(indices, -1) : 0;
    if (n < 1 || n > x->view.ndim)
        FAIL_NONE(IG_ERR_SHAPE, "%s: the last axis of indices has length %lld, but x has %d axes",
                  op_rows[op].name, (long long)n, x->view.ndim);
    return (int)n;
}

BUILDER(gather_nd)
{
    ig_array *x = args[0].u.array, *indices = index_cast(op_rows[op].name, args[1].u.array);
    ig_index items[IG_MAX_NDIM];
    const int n = indices ? addressed(op, x, indices) : 0;
    for (int a = 0; a < n; a++)
        items[a] = (ig_index){.kind = IG_INDEX_ARRAY, .array = index_column(indices, a)};
    return n ? op_one(out, ig_get(x, items, n)) : 0;
}

/* out[indices[i, 0], indices[i, 1]] = updates[i] is a write along the first of two axes: one joins the axes that
 * indices address, the other joins the rest. */
BUILDER(scatter_nd)
{
    static const struct {
        const char *mode;
        ig_array *(*write)(ig_array *, ig_array *, ig_array *, int);
    } writes[] = {{"set", ig_scatter},
                  {"add", ig_scatter_add},
                  {"mul", ig_scatter_mul},
                  {"min", ig_scatter_min},
                  {"max", ig_scatter_max}};
    ig_array *x = args[0].u.array, *indices = index_cast(op_rows[op].name, args[1].u.array),
             *at = NULL;
    const int n = indices ? addressed(op, x, indices) : 0, more = n ? indices->view.ndim - 1 : 0;
    int64_t shape[2 * IG_MAX_NDIM], rows = 1, rest = 1, writes_n = 1;
    size_t w = 0;
    while (w < 5 && strcmp(writes[w].mode, args[3].u.str) != 0)
        w++;
    if (w == 5)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "scatter_nd: mode is 'set', 'add', 'mul', 'min' or 'max', not '%s'",
                  args[3].u.str);
    if (n == 0)
        return 0;
    if (more + x->view.ndim - n > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE,
                  "scatter_nd: updates have more dimensions than the %d that Ingot has",
                  IG_MAX_NDIM);
    if (w > 0 && x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "scatter_nd takes numbers, not bool; convert with astype");
    for (int a = 0; a < n; a++) {
        const int64_t length = x->view.shape[a];
        ig_array *own = index_column(indices, a);
        own = shape_checked(op_rows[op].name,
                            ig_where(ig_less(own, ig_int(0)), ig_add(own, ig_int(length)), own),
                            length);
        at = a == 0 ? own : ig_add(ig_multiply(at, ig_int(length)), own);
        rows *= length;
    }
    for (int a = 0; a < more; a++)
        writes_n *= shape[a] = indices->view.shape[a];
    for (int a = n; a < x->view.ndim; a++)
        rest *= shape[more + a - n] = x->view.shape[a];
    ig_array *updates = ig_broadcast_to(args[2].u.array, (ig_ints){shape, more + x->view.ndim - n});
    updates = ig_reshape(updates, IG_SHAPE(writes_n, rest));
    at = ig_broadcast_to(ig_reshape(at, IG_SHAPE(writes_n, 1)), IG_SHAPE(writes_n, rest));
    ig_array *y = writes[w].write(ig_reshape(x, IG_SHAPE(rows, rest)), at, updates, 0);
    return op_one(out, ig_reshape(y, ig_shape(x)));
}

/* The start of a part of `length` elements along one axis, moved inside of the axis: a 0-d i64 array. */
static ig_array *start_along(op_id op, ig_array *x, ig_array *starts, int axis, int64_t length)
{
    const int64_t n = x->view.shape[axis];
    starts = index_cast(op_rows[op].name, starts);
    if (!starts)
        return NULL;
    if (starts->view.ndim > 1 || ig_size(starts) != x->view.ndim)
        FAIL_NULL(IG_ERR_SHAPE, "%s: %lld start_indices for %d axes; give one for each",
                  op_rows[op].name, (long long)ig_size(starts), x->view.ndim);
    if (length < 0 || length > n)
        FAIL_NULL(IG_ERR_SHAPE, "%s: %lld elements do not fit axis %d of length %lld",
                  op_rows[op].name, (long long)length, axis, (long long)n);
    ig_array *s = index_column(ig_reshape(starts, IG_SHAPE(-1)), axis);
    s = ig_where(ig_less(s, ig_int(0)), ig_add(s, ig_int(n)), s);
    return ig_clip(s, ig_int(0), ig_int(n - length));
}

BUILDER(dynamic_slice)
{
    ig_array *x = args[0].u.array, *y = x;
    const ig_ints sizes = args[2].u.ints;
    if (sizes.n != x->view.ndim)
        FAIL_NONE(IG_ERR_SHAPE, "dynamic_slice: %d slice_sizes for %d axes; give one for each",
                  sizes.n, x->view.ndim);
    for (int a = 0; a < x->view.ndim; a++) {
        ig_array *start = start_along(op, x, args[1].u.array, a, sizes.v[a]);
        if (!start)
            return 0;
        y = ig_take(y, ig_add(build_iota(1, &sizes.v[a]), start), IG_AXES(a));
    }
    return op_one(out, y);
}

BUILDER(dynamic_update_slice)
{
    ig_array *x = args[0].u.array, *update = shape_fit(op, "update", x, args[1].u.array),
             *inside = NULL;
    const int ndim = x->view.ndim;
    if (update && update->view.ndim != ndim)
        FAIL_NONE(IG_ERR_SHAPE, "dynamic_update_slice: x has %d axes, update %d; give as many",
                  ndim, update->view.ndim);
    if (!update || ig_size(update) == 0)
        return op_one(out, update ? x : NULL);
    for (int a = 0; a < ndim; a++) {
        const int64_t length = ig_dim(update, a), n = x->view.shape[a];
        ig_array *start = start_along(op, x, args[2].u.array, a, length);
        if (!start)
            return 0;
        ig_array *at = ig_subtract(build_iota(1, &n), start);
        ig_array *in = ig_logical_and(ig_greater_equal(at, ig_int(0)), ig_less(at, ig_int(length)));
        update = ig_take(update, ig_clip(at, ig_int(0), ig_int(length - 1)), IG_AXES(a));
        in = shape_along(in, ndim, a);
        inside = inside ? ig_logical_and(inside, in) : in;
    }
    return op_one(out, inside ? ig_where(inside, update, x) : update);
}

BUILDER(sort_key_val)
{
    ig_array *order = ig_argsort(args[0].u.array, (int)args[2].u.i, false, true);
    out[0] = ig_take_along_axis(args[0].u.array, order, (int)args[2].u.i);
    out[1] = ig_take_along_axis(args[1].u.array, order, (int)args[2].u.i);
    return out[0] && out[1] ? 2 : 0;
}

/* ---- bits ---- */

/* The reduced axes as one, at the end; halves are combined until one element is left. */
BUILDER(reduce_bits)
{
    ig_array *(*const combine)(ig_array *, ig_array *) = op == OP_reduce_and  ? ig_bitwise_and
                                                         : op == OP_reduce_or ? ig_bitwise_or
                                                                              : ig_bitwise_xor;
    ig_array *x = args[0].u.array;
    int axes[IG_MAX_NDIM], n = infer_axes(op, arg_ints(&args[1]), x->view.ndim, axes), ndim = 0,
                           kept = 0;
    int64_t order[IG_MAX_NDIM], shape[IG_MAX_NDIM + 1], result[IG_MAX_NDIM], length = 1;
    unsigned gone = 0;
    if (n < 0)
        return 0;
    if (!dtype_is_int(x->dtype) && x->dtype != IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes integers and bool, not %s", op_rows[op].name,
                  ig_dtype_name((ig_dtype)x->dtype));
    for (int i = 0; i < n; i++)
        gone |= 1u << axes[i];
    for (int a = 0; a < x->view.ndim; a++) {
        if (gone >> a & 1)
            length *= x->view.shape[a];
        else {
            shape[kept] = x->view.shape[a];
            order[kept++] = a;
        }
        if (!(gone >> a & 1) || args[2].u.b)
            result[ndim++] = gone >> a & 1 ? 1 : x->view.shape[a];
    }
    for (int a = 0, at = kept; a < x->view.ndim; a++)
        if (gone >> a & 1)
            order[at++] = a;
    shape[kept] = length;
    if (length == 0)
        return op_one(out, ig_full((ig_ints){result, ndim}, ig_int(op == OP_reduce_and ? -1 : 0),
                                   (ig_dtype)x->dtype));
    x = ig_reshape(ig_permute_dims(x, (ig_ints){order, x->view.ndim}), (ig_ints){shape, kept + 1});
    for (; length > 1 && x; length = length / 2 + length % 2) {
        const int64_t half = length / 2;
        ig_array *y = combine(shape_part(x, kept, 0, half), shape_part(x, kept, half, 2 * half));
        x = length % 2 ? ig_concat((ig_array *[]){y, shape_part(x, kept, length - 1, length)}, 2,
                                   IG_AXES(kept))
                       : y;
    }
    return op_one(out, ig_reshape(x, (ig_ints){result, ndim}));
}

/* x with its last axis as `from` and `to` bytes of an element say. *shape is the new one. */
static bool view_fits(const ig_array *x, size_t from, size_t to, int64_t *shape)
{
    const int last = x->view.ndim - 1;
    memcpy(shape, x->view.shape, sizeof x->view.shape);
    if (from == to)
        return true;
    if (last < 0 || shape[last] * (int64_t)from % (int64_t)to != 0)
        FAIL_NONE(IG_ERR_SHAPE,
                  "view: the last axis of x cannot be divided into elements of %zu bytes", to);
    shape[last] = shape[last] * (int64_t)from / (int64_t)to;
    return true;
}

BUILDER(view)
{
    ig_array *x = move_settle(args[0].u.array);
    const ig_dtype to = args[1].u.dtype, from = x ? (ig_dtype)x->dtype : to;
    int64_t shape[IG_MAX_NDIM];
    if (!x || !view_fits(x, ig_dtype_bytes(from), ig_dtype_bytes(to), shape))
        return 0;
    if (from == to)
        return op_one(out, x);
    if (to == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "view: bytes other than 0 and 1 are no bool; use astype or x != 0");
    const ig_ints result = {shape, x->view.ndim};
    ig_array *own = array_view(op, x, &x->view);
    const void *data = own ? above.data(own) : NULL;
    return op_one(out, data ? ig_from_data(data, result, to) : NULL);
}
