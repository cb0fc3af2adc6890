/* Builders of functions that write to computed places, and of reductions by segment. */
#include "base/error.h"
#include "engine/array/above.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include "engine/ops/shape.h"
#include <math.h>
#include <string.h>

/* ---- positions in row-major order ---- */

/* The elements of values, repeated as needed, by number: an array of numbers of any shape. */
static ig_array *cyclic(op_id op, ig_array *values, ig_array *number)
{
    const int64_t n = ig_size(values);
    if (values && n == 0)
        FAIL_NULL(IG_ERR_SHAPE, "%s: there are no values", op_rows[op].name);
    values = ig_reshape(values, IG_SHAPE(-1));
    return n == 1 ? ig_reshape(values, IG_SCALAR)
                  : ig_take(values, ig_remainder(number, ig_int(n)), IG_AXES(0));
}

BUILDER(put)
{
    ig_array *x = args[0].u.array, *values = shape_fit(op, "values", x, args[2].u.array);
    ig_array *at = ig_reshape(index_cast(op_rows[op].name, args[1].u.array), IG_SHAPE(-1));
    const char *mode = args[3].u.str;
    const int64_t size = ig_size(x), n = ig_size(at);
    if (strcmp(mode, "wrap") == 0)
        at = ig_remainder(at, ig_int(size));
    else if (strcmp(mode, "clip") == 0)
        at = ig_clip(at, ig_int(0), ig_int(size - 1));
    else if (strcmp(mode, "raise") != 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "put: mode is 'raise', 'wrap' or 'clip', not '%s'", mode);
    if (!at || !values)
        return 0;
    if (n == 0)
        return op_one(out, x);
    values = ig_broadcast_to(cyclic(op, values, build_iota(1, &n)), IG_SHAPE(n));
    return op_one(out,
                  ig_reshape(ig_scatter(ig_reshape(x, IG_SHAPE(-1)), at, values, 0), ig_shape(x)));
}

BUILDER(put_along_axis)
{
    ig_array *x = args[0].u.array, *at = index_cast(op_rows[op].name, args[1].u.array);
    int64_t shape[IG_MAX_NDIM];
    int axis;
    ig_array *seen = shape_axis_or_flat(op, x, &args[3], &axis);
    ig_array *values = seen && at ? shape_fit(op, "values", x, args[2].u.array) : NULL;
    if (!values)
        return 0;
    if (at->view.ndim != seen->view.ndim)
        FAIL_NONE(IG_ERR_SHAPE, "put_along_axis: x has %d axes, indices %d; give as many",
                  seen->view.ndim, at->view.ndim);
    for (int a = 0; a < seen->view.ndim; a++)
        shape[a] = a == axis ? at->view.shape[a] : seen->view.shape[a];
    const ig_ints whole = {shape, seen->view.ndim};
    ig_array *y =
        ig_scatter(seen, ig_broadcast_to(at, whole), ig_broadcast_to(values, whole), axis);
    return op_one(out, ig_reshape(y, ig_shape(x)));
}

/* mask as bool, in the shape of x. */
static ig_array *mask_of(op_id op, ig_array *x, ig_array *mask)
{
    if (ig_size(mask) != ig_size(x))
        FAIL_NULL(IG_ERR_SHAPE, "%s: mask has %lld elements, but x has %lld", op_rows[op].name,
                  (long long)ig_size(mask), (long long)ig_size(x));
    return ig_reshape(ig_astype(mask, IG_BOOL), ig_shape(x));
}

/* Number k of the true elements gets value k. */
BUILDER(place)
{
    ig_array *x = args[0].u.array, *mask = mask_of(op, x, args[1].u.array);
    ig_array *values = mask ? shape_fit(op, "vals", x, args[2].u.array) : NULL;
    ig_array *count = ig_cumulative_sum(ig_reshape(mask, IG_SHAPE(-1)), IG_AXES(0), IG_I64, false);
    ig_array *number = ig_reshape(ig_subtract(count, ig_int(1)), ig_shape(x));
    if (!values || !number)
        return 0;
    return op_one(out, ig_where(mask, cyclic(op, values, number), x));
}

BUILDER(putmask)
{
    ig_array *x = args[0].u.array, *mask = mask_of(op, x, args[1].u.array);
    ig_array *values = mask ? shape_fit(op, "values", x, args[2].u.array) : NULL;
    return values ? op_one(out,
                           ig_where(mask,
                                    cyclic(op, values, build_iota(x->view.ndim, x->view.shape)), x))
                  : 0;
}

BUILDER(copyto)
{
    ig_array *x = args[0].u.array, *src = shape_fit(op, "src", x, args[1].u.array);
    ig_array *when = ig_broadcast_to(ig_astype(args[2].u.array, IG_BOOL), ig_shape(x));
    return op_one(out, ig_where(when, ig_broadcast_to(src, ig_shape(x)), x));
}

/* ---- reductions ---- */

/* The lowest or highest value of a dtype: nothing is larger, or smaller. */
static ig_array *extreme(ig_dtype dtype, bool lowest)
{
    ig_iinfo info;
    if (dtype_is_float(dtype))
        return build_scalar(lowest ? -INFINITY : INFINITY, dtype);
    if (ig_iinfo_of(dtype, &info) != IG_OK)
        return NULL;
    return build_scalar_int(lowest ? info.min : (int64_t)info.max, dtype);
}

/* Running products within groups of equal indices, which are adjacent along axis: each step combines an element with
 * one that is twice as far away. The last of a group is its product. */
static ig_array *group_products(ig_array *x, ig_array *index, int axis)
{
    const int64_t n = ig_dim(x, axis);
    for (int64_t by = 1; by < n && x; by *= 2) {
        ig_array *tail = shape_part(x, axis, by, INT64_MAX);
        ig_array *same =
            ig_equal(shape_part(index, axis, by, INT64_MAX), shape_part(index, axis, 0, -by));
        tail = ig_where(same, ig_multiply(tail, shape_part(x, axis, 0, -by)), tail);
        x = ig_concat((ig_array *[]){shape_part(x, axis, 0, by), tail}, 2, IG_AXES(axis));
    }
    return x;
}

/* Sorts the updates. If an element has several, the last one then has their combined value: the largest, the
 * smallest, or the product of a group. A write keeps the last. */
BUILDER(scatter_reduce)
{
    ig_array *x = args[0].u.array, *index = index_cast(op_rows[op].name, args[1].u.array), *key,
             *rest;
    ig_array *updates = index ? shape_fit(op, "updates", x, args[2].u.array) : NULL;
    const bool product = op == OP_scatter_mul;
    int axis;
    if (!updates || infer_axis(op, args[3].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    if (index->view.ndim != x->view.ndim)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has %d axes, indices %d; give as many", op_rows[op].name,
                  x->view.ndim, index->view.ndim);
    if (ig_size(index) == 0)
        return op_one(out, x);
    index = ig_where(ig_less(index, ig_int(0)), ig_add(index, ig_int(x->view.shape[axis])), index);
    updates = ig_broadcast_to(updates, ig_shape(index));
    key = ig_argsort(product ? index : updates, axis, op == OP_scatter_min, true);
    index = ig_take_along_axis(index, key, axis);
    updates = ig_take_along_axis(updates, key, axis);
    if (product) {
        rest = ig_ones_like(x, IG_DTYPE_NONE);
        return op_one(out, ig_multiply(x, ig_scatter(rest, index,
                                                     group_products(updates, index, axis), axis)));
    }
    rest = ig_broadcast_to(extreme((ig_dtype)x->dtype, op == OP_scatter_max), ig_shape(x));
    rest = ig_scatter(rest, index, updates, axis);
    return op_one(out, op == OP_scatter_max ? ig_maximum(x, rest) : ig_minimum(x, rest));
}

/* The number of segments: as given, or the largest id plus 1. -1: failed. */
static int64_t segment_count(const ig_arg *given, ig_array *ids)
{
    if (given->kind == IG_ARG_INT)
        return given->u.i;
    if (ig_size(ids) == 0)
        return 0;
    const int64_t *most = above.data(ig_max_all(ids));
    return most ? *most + 1 : -1;
}

BUILDER(segment)
{
    ig_array *x = args[0].u.array, *ids = index_cast(op_rows[op].name, args[1].u.array), *start;
    int64_t shape[IG_MAX_NDIM];
    if (ids && (ids->view.ndim != 1 || x->view.ndim < 1 || ids->view.shape[0] != x->view.shape[0]))
        FAIL_NONE(IG_ERR_SHAPE, "%s: give one of the segment_ids for each row of data",
                  op_rows[op].name);
    const int64_t n = ids ? segment_count(&args[2], ids) : -1;
    if (n < 0)
        return 0;
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype",
                  op_rows[op].name);
    memcpy(shape, x->view.shape, sizeof shape);
    shape[0] = n;
    const ig_ints whole = {shape, x->view.ndim};
    const ig_dtype dtype = (ig_dtype)x->dtype;
    start = op == OP_segment_sum    ? ig_zeros(whole, dtype)
            : op == OP_segment_prod ? ig_ones(whole, dtype)
                                    : ig_broadcast_to(extreme(dtype, op == OP_segment_max), whole);
    ids = ig_bitwise_and(ids,
                         build_scalar_int(~INDEX_REFUSED, IG_I64)); /* a negative id is refused */
    ids = ig_broadcast_to(shape_along(ids, x->view.ndim, 0), ig_shape(x));
    return op_one(out, op == OP_segment_sum    ? ig_scatter_add(start, ids, x, 0)
                       : op == OP_segment_prod ? ig_scatter_mul(start, ids, x, 0)
                       : op == OP_segment_max  ? ig_scatter_max(start, ids, x, 0)
                                               : ig_scatter_min(start, ids, x, 0));
}
