/* Builders of functions that stack, cut and reshape arrays. Each is an expression of public functions, so that complex
 * arrays are taken as well. */
#include "engine/ops/shape.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/complex.h"
#include "engine/ops/index.h"
#include <string.h>

/* ---- helpers ---- */

ig_array *shape_part(ig_array *x, int axis, int64_t from, int64_t to)
{
    int64_t start[IG_MAX_NDIM] = {0}, stop[IG_MAX_NDIM];
    for (int a = 0; a <= axis; a++)
        stop[a] = INT64_MAX;
    start[axis] = from;
    stop[axis] = to;
    return ig_slice(x, (ig_ints){start, axis + 1}, (ig_ints){stop, axis + 1}, IG_NONE);
}

ig_array *shape_zero(const ig_array *x)
{
    return array_is_complex(x) ? ig_float(0) : build_scalar_int(0, (ig_dtype)x->dtype);
}

ig_array *shape_axis_or_flat(op_id op, ig_array *x, const ig_arg *axis, int *at)
{
    *at = 0;
    if (!(x = move_settle(x)))
        return NULL;
    if (axis->kind == IG_ARG_NONE)
        return ig_reshape(x, IG_SHAPE(-1));
    return infer_axis(op, axis->u.i, x->view.ndim, at) == IG_OK ? x : NULL;
}

ig_array *shape_fit(op_id op, const char *what, ig_array *x, ig_array *value)
{
    if (array_is_complex(x))
        return complex_cast(value, (ig_dtype)x->dtype);
    if (array_is_complex(value))
        FAIL_NULL(IG_ERR_DTYPE, "%s: %s is complex, but x is not; convert x with astype",
                  op_rows[op].name, what);
    return index_fit(op, what, x, value);
}

ig_array *shape_along(ig_array *x, int ndim, int axis)
{
    int64_t shape[IG_MAX_NDIM];
    for (int a = 0; a < ndim; a++)
        shape[a] = a == axis ? -1 : 1;
    return ig_reshape(x, (ig_ints){shape, ndim});
}

/* ---- axes added ---- */

/* x with at least n axes, as NumPy adds them. */
static ig_array *with_axes(ig_array *x, int n)
{
    if (!(x = move_settle(x)))
        return NULL;
    const int64_t *own = x->view.shape;
    if (x->view.ndim >= n)
        return x;
    if (n < 3)
        return ig_reshape(x, n == 1 ? IG_SHAPE(1) : IG_SHAPE(1, -1));
    return ig_reshape(x, x->view.ndim == 2 ? IG_SHAPE(own[0], own[1], 1)
                                           : IG_SHAPE(1, x->view.ndim ? own[0] : 1, 1));
}

BUILDER(atleast)
{
    return op_one(out, with_axes(args[0].u.array, op == OP_atleast_1d   ? 1
                                                  : op == OP_atleast_2d ? 2
                                                                        : 3));
}

/* An array of column_stack: a 1-d array is a column. */
static ig_array *as_column(ig_array *x)
{
    return x->view.ndim < 2 ? ig_reshape(move_settle(x), IG_SHAPE(ig_size(x), 1)) : x;
}

BUILDER(stacked)
{
    const int n = args[0].u.arrays.n, axes = op == OP_hstack ? 1 : op == OP_vstack ? 2 : 3;
    if (n == 0)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: give at least one array", op_rows[op].name);
    ig_array **x = memory_new((size_t)n * sizeof *x);
    bool ok = x != NULL;
    for (int i = 0; i < n && ok; i++) {
        ig_array *own = args[0].u.arrays.v[i];
        ok = (x[i] = op == OP_column_stack ? as_column(own) : with_axes(own, axes)) != NULL;
    }
    const int axis = op == OP_vstack         ? 0
                     : op == OP_dstack       ? 2
                     : op == OP_column_stack ? 1
                                             : ok && x[0]->view.ndim > 1;
    ig_array *y = ok ? ig_concat(x, n, IG_AXES(axis)) : NULL;
    memory_free(x);
    return op_one(out, y);
}

/* x with ndim axes: new ones are in front. */
static ig_array *with_leading(ig_array *x, int ndim)
{
    int64_t shape[IG_MAX_NDIM];
    for (int a = 0; a < ndim; a++) {
        const int own = a - (ndim - x->view.ndim);
        shape[a] = own < 0 ? 1 : x->view.shape[own];
    }
    return ig_reshape(move_settle(x), (ig_ints){shape, ndim});
}

/* ---- elements added and removed ---- */

BUILDER(append)
{
    int axis;
    ig_array *x = shape_axis_or_flat(op, args[0].u.array, &args[2], &axis);
    ig_array *values = move_settle(args[1].u.array);
    if (!x || !values)
        return 0;
    return op_one(out, ig_concat((ig_array *[]){x, values}, 2,
                                 args[2].kind == IG_ARG_NONE ? IG_NONE : IG_AXES(axis)));
}

/* One of the indices of delete and insert: where it is, and its number in the list. */
typedef struct place {
    int64_t at;
    int number;
} place;

/* The indices within [0, last], sorted; equal ones in their order. The caller frees them. */
static place *sorted_places(op_id op, ig_ints given, int64_t length, int64_t last)
{
    place *p = memory_new((size_t)(given.n + 1) * sizeof *p);
    for (int i = 0; i < given.n && p; i++) {
        const int64_t at = given.v[i] < 0 ? given.v[i] + length : given.v[i];
        if (at < 0 || at > last) {
            memory_free(p);
            FAIL_NULL(IG_ERR_INDEX, "%s: index %lld is out of bounds for an axis of length %lld",
                      op_rows[op].name, (long long)given.v[i], (long long)length);
        }
        int k = i;
        for (; k > 0 && p[k - 1].at > at; k--)
            p[k] = p[k - 1];
        p[k] = (place){at, i};
    }
    return p;
}

/* x without the elements at the given indices of an axis; or, with values, with one of them before each index. NULL on
 * failure. */
static ig_array *spliced(op_id op, ig_array *x, int axis, ig_ints given, ig_array *values)
{
    const int64_t length = x->view.shape[axis];
    place *p = sorted_places(op, given, length, values ? length : length - 1);
    ig_array **part = p ? memory_new((size_t)(2 * given.n + 1) * sizeof *part) : NULL;
    bool ok = part != NULL;
    int parts = 0;
    int64_t from = 0;
    for (int i = 0; i <= given.n && ok; i++) {
        const int64_t at = i < given.n ? p[i].at : length;
        if (at > from)
            ok = (part[parts++] = shape_part(x, axis, from, at)) != NULL;
        from = values ? at : at + 1;
        if (values && i < given.n && ok) {
            const int own = p[i].number;
            part[parts] = given.n == 1 ? values : shape_part(values, axis, own, own + 1);
            ok = part[parts++] != NULL;
        }
    }
    ig_array *y = !ok          ? NULL
                  : parts == 0 ? shape_part(x, axis, 0, 0)
                               : ig_concat(part, parts, IG_AXES(axis));
    memory_free(part);
    memory_free(p);
    return y;
}

BUILDER(delete)
{
    int axis;
    ig_array *x = shape_axis_or_flat(op, args[0].u.array, &args[2], &axis);
    return x ? op_one(out, spliced(op, x, axis, args[1].u.ints, NULL)) : 0;
}

/* The values of insert as an array like x, except along axis: count there, or for one index any number. */
static ig_array *insert_values(op_id op, ig_array *x, ig_array *values, int axis, int count)
{
    int64_t shape[IG_MAX_NDIM];
    const int ndim = x->view.ndim;
    if (!(values = shape_fit(op, "values", x, values)))
        return NULL;
    if (values->view.ndim > ndim)
        FAIL_NULL(IG_ERR_SHAPE, "insert: values has %d dimensions, more than the %d of x",
                  values->view.ndim, ndim);
    values = with_leading(values, ndim);
    if (count == 1) /* the first axis of values counts what is inserted */
        values = ig_moveaxis(values, IG_AXES(0), IG_AXES(axis));
    memcpy(shape, x->view.shape, sizeof shape);
    shape[axis] = count == 1 ? ig_dim(values, axis) : count;
    return ig_broadcast_to(values, (ig_ints){shape, ndim});
}

BUILDER(insert)
{
    int axis;
    ig_array *x = shape_axis_or_flat(op, args[0].u.array, &args[3], &axis);
    const ig_ints given = args[1].u.ints;
    if (x && x->view.ndim == 0)
        FAIL_NONE(IG_ERR_SHAPE, "insert: x has no axis");
    ig_array *values = x ? insert_values(op, x, args[2].u.array, axis, given.n) : NULL;
    return values ? op_one(out, spliced(op, x, axis, given, values)) : 0;
}

/* ---- parts ---- */

BUILDER(split_anywhere)
{
    ig_array *x = args[0].u.array;
    const bool equal = args[1].kind == IG_ARG_INT;
    const ig_ints at = equal ? (ig_ints){&args[1].u.i, 1} : args[1].u.ints;
    int axis;
    if (infer_axis(op, args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    const int64_t length = x->view.shape[axis], n = equal ? at.v[0] : at.n + 1;
    if (n < 1 || n > OP_MAX_RESULTS)
        FAIL_NONE(IG_ERR_ARGUMENT, "array_split: %lld parts; give 1 to %d", (long long)n,
                  OP_MAX_RESULTS);
    for (int64_t i = 0, from = 0; i < n; i++) {
        const int64_t to = equal      ? from + length / n + (i < length % n)
                           : i < at.n ? at.v[i]
                                      : INT64_MAX;
        if (!(out[i] = shape_part(x, axis, from, to)))
            return 0;
        from = to;
    }
    return (int)n;
}

BUILDER(split_along)
{
    ig_array *x = args[0].u.array;
    const int ndim = x->view.ndim, least = op == OP_hsplit ? 1 : op == OP_vsplit ? 2 : 3;
    if (ndim < least)
        FAIL_NONE(IG_ERR_SHAPE, "%s: x has %d dimension%s, but needs at least %d", op_rows[op].name,
                  ndim, ndim == 1 ? "" : "s", least);
    const ig_arg axis = {.kind = IG_ARG_INT,
                         .u.i = op == OP_dsplit ? 2 : op == OP_hsplit && ndim > 1};
    const ig_arg all[] = {args[0], args[1], axis};
    return op_call(OP_split, all, 3, out, OP_MAX_RESULTS);
}

/* ---- other shapes ---- */

BUILDER(flatten)
{
    ig_array *x = move_settle(args[0].u.array);
    int64_t shape[IG_MAX_NDIM], length = 1;
    int from, to, ndim = 0;
    if (!x)
        return 0;
    if (x->view.ndim == 0)
        return op_one(out, ig_reshape(x, IG_SHAPE(1)));
    if (infer_axis(op, args[1].u.i, x->view.ndim, &from) != IG_OK ||
        infer_axis(op, args[2].u.i, x->view.ndim, &to) != IG_OK)
        return 0;
    if (from > to)
        FAIL_NONE(IG_ERR_ARGUMENT, "flatten: start_axis %d comes after end_axis %d", from, to);
    for (int a = 0; a < x->view.ndim; a++) {
        length = a > from && a <= to ? length * x->view.shape[a] : x->view.shape[a];
        if (a < from || a >= to)
            shape[ndim++] = length;
    }
    return op_one(out, ig_reshape(x, (ig_ints){shape, ndim}));
}

BUILDER(unflatten)
{
    ig_array *x = args[0].u.array;
    const ig_ints more = args[2].u.ints;
    int64_t shape[IG_MAX_NDIM], known = 1;
    int axis, ndim = 0, unknown = -1;
    if (infer_axis(op, args[1].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    if (x->view.ndim + more.n - 1 > IG_MAX_NDIM)
        FAIL_NONE(IG_ERR_SHAPE,
                  "unflatten: the result has more dimensions than the %d that Ingot has",
                  IG_MAX_NDIM);
    for (int a = 0; a < x->view.ndim; a++) {
        if (a != axis)
            shape[ndim++] = x->view.shape[a];
        for (int i = 0; a == axis && i < more.n; i++) {
            if (more.v[i] == -1)
                unknown = ndim;
            else
                known *= more.v[i];
            shape[ndim++] = more.v[i];
        }
    }
    const int64_t length = x->view.shape[axis];
    if (unknown < 0 ? known != length : known <= 0 || length % known != 0)
        FAIL_NONE(IG_ERR_SHAPE, "unflatten: axis %d of length %lld cannot have that shape", axis,
                  (long long)length);
    if (unknown >= 0)
        shape[unknown] = length / known;
    return op_one(out, ig_reshape(x, (ig_ints){shape, ndim}));
}

BUILDER(rollaxis)
{
    ig_array *x = args[0].u.array;
    const int64_t ndim = x->view.ndim, start = args[2].u.i < 0 ? args[2].u.i + ndim : args[2].u.i;
    int axis;
    if (infer_axis(op, args[1].u.i, (int)ndim, &axis) != IG_OK)
        return 0;
    if (start < 0 || start > ndim)
        FAIL_NONE(IG_ERR_SHAPE, "rollaxis: start is %lld, but x has %lld axes",
                  (long long)args[2].u.i, (long long)ndim);
    return op_one(out, ig_moveaxis(x, IG_AXES(axis), IG_AXES(start > axis ? start - 1 : start)));
}

BUILDER(resize)
{
    ig_array *x = move_settle(args[0].u.array);
    const ig_ints shape = args[1].u.ints;
    int64_t size, have = ig_size(x);
    if (!x || infer_size(op, shape.n, shape.v, (ig_dtype)x->dtype, &size) != IG_OK)
        return 0;
    if (size == 0 || have == 0)
        return op_one(out, ig_zeros(shape, (ig_dtype)x->dtype));
    ig_array *flat = ig_reshape(x, IG_SHAPE(-1));
    if (size > have)
        flat = ig_tile(flat, IG_SHAPE((size - 1) / have + 1));
    return op_one(out, ig_reshape(shape_part(flat, 0, 0, size), shape));
}

BUILDER(ediff1d)
{
    ig_array *x = move_settle(args[0].u.array), *part[3];
    int n = 0;
    if (!x)
        return 0;
    if (x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "ediff1d takes numbers, not bool; convert with astype");
    for (int i = 0; i < 3; i++) {
        ig_array *end = i == 1 ? NULL : arg_array(&args[i == 0 ? 2 : 1]);
        if (i == 1)
            part[n] = ig_diff(ig_reshape(x, IG_SHAPE(-1)), 0, 1, NULL, NULL);
        else if (end)
            part[n] =
                ig_reshape(shape_fit(op, i == 0 ? "to_begin" : "to_end", x, end), IG_SHAPE(-1));
        if ((i == 1 || end) && !part[n++])
            return 0;
    }
    return op_one(out, n == 1 ? part[0] : ig_concat(part, n, IG_AXES(0)));
}
