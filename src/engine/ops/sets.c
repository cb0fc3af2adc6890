/* Builders of sets, and of orders other than sort: unique, union, intersection and difference, lexsort, partition. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"

/* ---- sets ---- */

/* The distinct elements of x, sorted; and, if indices is not NULL, where each is first. */
static ig_array *distinct(op_id op, ig_array *x, ig_array **indices)
{
    static const unique_part parts[] = {VALUES, INDICES};
    ig_array *y[2] = {NULL, NULL};
    if (!x || !unique_find(op, x, UNIQUE_FLAT, true, parts, indices ? 2 : 1, y))
        return NULL;
    if (indices)
        *indices = y[1];
    return y[0];
}

BUILDER(unique_of)
{
    ig_array *x = args[0].u.array;
    unique_part parts[UNIQUE_PARTS] = {VALUES};
    int n = 1, axis = UNIQUE_FLAT;
    for (int i = 1; i < UNIQUE_PARTS; i++)
        if (args[i].u.b)
            parts[n++] = (unique_part)i;
    if (args[4].kind == IG_ARG_INT && infer_axis(op, args[4].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    return unique_find(op, x, axis, args[5].u.b, parts, n, out);
}

/* The two sets of an op, flat and in one dtype. */
static bool sets_get(op_id op, const ig_arg *args, ig_array *x[2])
{
    ig_array *in[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (infer_dtype(op, in, 2, &dtype) != IG_OK)
        return false;
    for (int i = 0; i < 2; i++)
        x[i] = ig_reshape(build_cast(in[i], dtype), IG_SHAPE(-1));
    return x[0] && x[1];
}

static ig_array *joined(ig_array *x1, ig_array *x2)
{
    ig_array *both[2] = {x1, x2};
    return x1 && x2 ? ig_concat(both, 2, IG_AXES(0)) : NULL;
}

BUILDER(union1d)
{
    ig_array *x[2];
    return sets_get(op, args, x) ? op_one(out, distinct(op, joined(x[0], x[1]), NULL)) : 0;
}

/* The elements of x1 that are not in x2. */
static ig_array *minus(ig_array *x1, ig_array *x2)
{
    return ig_mask_select(x1, ig_isin(x1, x2, true));
}

BUILDER(setdiff1d)
{
    ig_array *x[2];
    if (!sets_get(op, args, x))
        return 0;
    return op_one(out, minus(args[2].u.b ? x[0] : distinct(op, x[0], NULL), x[1]));
}

BUILDER(setxor1d)
{
    ig_array *x[2];
    if (!sets_get(op, args, x))
        return 0;
    for (int i = 0; i < 2; i++)
        if (!args[2].u.b && !(x[i] = distinct(op, x[i], NULL)))
            return 0;
    ig_array *apart = joined(minus(x[0], x[1]), minus(x[1], x[0]));
    return op_one(out, ig_sort(apart, 0, false, true));
}

BUILDER(intersect1d)
{
    ig_array *x[2], *at[2];
    const bool indices = args[3].u.b;
    if (!sets_get(op, args, x))
        return 0;
    for (int i = 0; i < 2; i++)
        if (!(x[i] = distinct(op, x[i], indices ? &at[i] : NULL)))
            return 0;
    out[0] = ig_mask_select(x[0], ig_isin(x[0], x[1], false));
    for (int i = 0; i < 2 && indices; i++)
        out[i + 1] = ig_mask_select(at[i], ig_isin(x[i], x[1 - i], false));
    if (!out[0] || (indices && (!out[1] || !out[2])))
        return 0;
    return indices ? 3 : 1;
}

/* ---- orders ---- */

/* Sorts by the first key, then by the next: the sorts are stable, so the last key decides first. */
static ig_array *order_by(op_id op, ig_array *const *keys, int n, int64_t along)
{
    ig_array *order = NULL;
    int axis;
    if (n == 0)
        FAIL_NULL(IG_ERR_ARGUMENT, "lexsort: there are no keys");
    for (int i = 0; i < n; i++) {
        if (infer_axis(op, along, keys[i]->view.ndim, &axis) != IG_OK)
            return NULL;
        if (!view_same_shape(&keys[i]->view, &keys[0]->view))
            FAIL_NULL(IG_ERR_SHAPE, "lexsort: the keys have different shapes");
        ig_array *key = order ? ig_take_along_axis(keys[i], order, axis) : keys[i];
        ig_array *next = ig_argsort(key, axis, false, true);
        order = order ? ig_take_along_axis(order, next, axis) : next;
        if (!order)
            return NULL;
    }
    return order;
}

BUILDER(lexsort)
{
    if (args[0].kind == IG_ARG_ARRAYS)
        return op_one(out, order_by(op, args[0].u.arrays.v, args[0].u.arrays.n, args[1].u.i));
    ig_array **keys = memory_get(OP_MAX_RESULTS * sizeof *keys);
    const int n = keys ? ig_unstack(args[0].u.array, 0, keys, OP_MAX_RESULTS) : 0;
    const int made = n ? op_one(out, order_by(op, keys, n, args[1].u.i)) : 0;
    memory_free(keys);
    return made;
}

/* A sort has each kth element at its place. */
BUILDER(partition)
{
    ig_array *x = args[0].u.array;
    const bool flat = args[2].kind != IG_ARG_INT;
    const ig_ints kth = args[1].u.ints;
    int axis = 0;
    if (flat)
        x = ig_reshape(x, IG_SHAPE(-1));
    if (!x || infer_axis(op, flat ? 0 : args[2].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    for (int i = 0; i < kth.n; i++)
        if (kth.v[i] < -x->view.shape[axis] || kth.v[i] >= x->view.shape[axis])
            FAIL_NONE(IG_ERR_ARGUMENT, "%s: kth is %lld, but axis %d has length %lld",
                      op_rows[op].name, (long long)kth.v[i], axis, (long long)x->view.shape[axis]);
    return op_one(out, op == OP_partition ? ig_sort(x, axis, false, true)
                                          : ig_argsort(x, axis, false, true));
}
