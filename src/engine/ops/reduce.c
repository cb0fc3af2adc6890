/* Builders of reductions and scans. A reduce node folds the trailing axes of its input. Views around it express
 * other axes and keepdims. */
#include "base/error.h"
#include "engine/ops/builders.h"
#include <string.h>

/* x transposed to (kept axes..., reduced axes...). */
static ig_array *reduced_last(op_id op, ig_array *x, const int *axes, int n)
{
    unsigned reduced = 0;
    int order[IG_MAX_NDIM], k = 0;
    for (int i = 0; i < n; i++)
        reduced |= 1u << axes[i];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < x->view.ndim; i++)
            if ((reduced >> i & 1) == (unsigned)pass)
                order[k++] = i;
    bool in_order = true;
    for (int i = 0; i < k; i++)
        in_order = in_order && order[i] == i;
    return in_order ? x : build_permute(op, x, order);
}

/* y with its reduced axes inserted again as axes of length 1. */
static ig_array *with_axes(op_id op, ig_array *y, const ig_array *x, const int *axes, int n)
{
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, sizeof shape);
    for (int i = 0; i < n; i++)
        shape[axes[i]] = 1;
    return build_reshape(op, y, x->view.ndim, shape);
}

static int64_t length_of(const ig_array *x, const int *axes, int n)
{
    int64_t length = 1;
    for (int i = 0; i < n; i++)
        length *= x->view.shape[axes[i]];
    return length;
}

static int reduce(op_id op, op_id fold, ig_array *x, ig_dtype dtype, ig_ints axis, bool keepdims,
                  ig_array **out)
{
    int axes[IG_MAX_NDIM];
    int n = x ? infer_axes(op, axis, x->view.ndim, axes) : -1;
    if (n < 0)
        return 0;
    bool identity = fold == OP_sum || fold == OP_prod || x->dtype == IG_BOOL;
    if ((!identity || op == OP_argmax || op == OP_argmin) && length_of(x, axes, n) == 0 &&
        view_size(&x->view) == 0 && n > 0) {
        char text[400];
        FAIL_NONE(IG_ERR_SHAPE, "%s: nothing to choose from along an axis of length 0, shape %s",
                  op_rows[op].name, view_shape_text(x->view.ndim, x->view.shape, text));
    }
    ig_array *in = reduced_last(op, x, axes, n);
    if (!in)
        return 0;
    node_attr attr = {.fold = (uint16_t)fold, .ndim = {(uint8_t)n}};
    ig_array *y = array_node(op, dtype, x->view.ndim - n, in->view.shape, &in, 1, &attr);
    return op_one(out, keepdims && n ? with_axes(op, y, x, axes, n) : y);
}

/* The dtype in which integers are summed by default. */
static ig_dtype sum_dtype(ig_dtype d)
{
    switch (dtype_kind_of(d)) {
    case DTYPE_KIND_BOOL:
    case DTYPE_KIND_SIGNED: return IG_I64;
    case DTYPE_KIND_UNSIGNED: return IG_U64;
    default: return d;
    }
}

int op_fold(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    bool sums = op_rows[op].accepts == ACCEPTS_NUM;
    ig_dtype dtype = sums ? arg_dtype(&args[2], sum_dtype(x->dtype)) : (ig_dtype)x->dtype;
    if (!sums && x->dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s takes numbers, not bool; use any or all", op_rows[op].name);
    if (sums && dtype == IG_BOOL)
        FAIL_NONE(IG_ERR_DTYPE, "%s: dtype bool cannot hold the result; use any or all",
                  op_rows[op].name);
    return reduce(op, op, build_cast(x, dtype), dtype, arg_ints(&args[1]), args[sums ? 3 : 2].u.b,
                  out);
}

ig_array *build_constant_max(ig_array *x, ig_ints axis)
{
    ig_array *y = NULL;
    if (x)
        reduce(OP_max, OP_max, x, (ig_dtype)x->dtype, axis, true, &y);
    return y ? array_view(OP_stop_gradient, y, &y->view) : NULL;
}

int op_truth(op_id op, const ig_arg *args, ig_array **out)
{
    return reduce(op, op == OP_all ? OP_min : OP_max, build_cast(args[0].u.array, IG_BOOL), IG_BOOL,
                  arg_ints(&args[1]), args[2].u.b, out);
}

int op_argreduce(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x = args[0].u.array;
    if (x->dtype == IG_BOOL)
        x = build_cast(x, IG_U8);
    ig_ints axis = args[1].kind == IG_ARG_INT ? (ig_ints){&args[1].u.i, 1} : (ig_ints){NULL, 0};
    return reduce(op, op == OP_argmax ? OP_max : OP_min, x, IG_I64, axis, args[2].u.b, out);
}

/* ---- scans ---- */

/* Running sums and products take a dtype, and may begin with the fold's identity. */
int op_scan(op_id op, const ig_arg *args, ig_array **out)
{
    const bool sums = op == OP_cumulative_sum || op == OP_cumulative_prod;
    const op_id fold = op == OP_cumulative_sum    ? OP_sum
                       : op == OP_cumulative_prod ? OP_prod
                       : op == OP_cumulative_max  ? OP_max
                                                  : OP_min;
    const ig_arg *axis_arg = &args[1];
    ig_array *x = args[0].u.array;
    if (sums)
        x = build_cast(x, arg_dtype(&args[2], sum_dtype(x->dtype)));
    if (!x)
        return 0;
    int axis = 0;
    if (axis_arg->kind == IG_ARG_NONE && x->view.ndim != 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: axis must be given for an array of %d dimensions",
                  op_rows[op].name, x->view.ndim);
    if (axis_arg->kind != IG_ARG_NONE &&
        infer_axis(op, axis_arg->u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    ig_array *in = build_axis_last(op, x, axis);
    if (!in)
        return 0;
    node_attr attr = {.fold = (uint16_t)fold};
    ig_array *y = array_node(op, x->dtype, in->view.ndim, in->view.shape, &in, 1, &attr);
    y = build_axis_back(op, y, axis);
    if (!y || !sums || !args[3].u.b)
        return op_one(out, y);
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, sizeof shape);
    shape[axis] = 1;
    ig_array *first = build_scalar(fold == OP_prod, x->dtype);
    ig_array *parts[2] = {build_broadcast(op, first, x->view.ndim, shape), y};
    if (!parts[0])
        return 0;
    return op_one(out, ig_concat(parts, 2, (ig_ints){&(int64_t){axis}, 1}));
}
