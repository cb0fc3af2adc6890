/* Builders of products: matmul, tensordot, vecdot, outer. Each arranges the axes of its operands in
 * groups with views, and builds one contraction, or a sum if there are neither rows nor columns. */
#include "base/error.h"
#include "engine/array/rounded.h"
#include "engine/ops/contract.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

ig_status contract_cast(op_id op, ig_array **x, int n)
{
    ig_dtype dtype;
    TRY(infer_dtype(op, x, n, &dtype));
    if (dtype == IG_BOOL)
        FAIL(IG_ERR_DTYPE, "%s takes numbers, not bool; convert with astype", op_rows[op].name);
    for (int i = 0; i < n; i++)
        if (!(x[i] = build_cast(x[i], dtype)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

/* Number of points of a group of axes. infer_size refuses 2^62 and more. */
static int64_t extent(const int64_t *shape, int n)
{
    int64_t points = 1;
    for (int i = 0; i < n; i++)
        points *= shape[i];
    return points;
}

/* Sums of products over the last axes, as a reduction, which can split these axes. f16 and bf16 are multiplied and
 * added in f32, as in a contraction. */
static ig_array *dot_products(ig_array *const x[2], int first, int n, ig_dtype dtype)
{
    const ig_dtype wide = dtype_is_half(dtype) ? IG_F32 : dtype;
    int64_t axes[IG_MAX_NDIM];
    for (int i = 0; i < n; i++)
        axes[i] = first + i;
    ig_array *products = ig_multiply(build_cast(x[0], wide), build_cast(x[1], wide));
    return build_cast(ig_sum(products, (ig_ints){axes, n}, wide, false), dtype);
}

ig_array *contract_node(op_id op, ig_array *const x[2], contract_axes axes, ig_dtype dtype)
{
    if (!x[0] || !x[1])
        return NULL;
    if (dtype == IG_I32 && axes.k > 0 && contract_is_bytes(x[0], axes.b + axes.m) &&
        contract_is_bytes(x[1], axes.b + axes.n))
        return contract_bytes(op, x, axes);
    const view *v0 = &x[0]->view, *v1 = &x[1]->view;
    const int b = axes.b, m = axes.m, n = axes.n, k = axes.k;
    assert(x[0]->dtype == x[1]->dtype && v0->ndim == b + m + k && v1->ndim == b + n + k);
    assert(memcmp(v0->shape, v1->shape, (size_t)b * sizeof *v0->shape) == 0);
    assert(memcmp(v0->shape + b + m, v1->shape + b + n, (size_t)k * sizeof *v0->shape) == 0);
    int64_t shape[2 * IG_MAX_NDIM], size;
    memcpy(shape, v0->shape, (size_t)(b + m) * sizeof *shape);
    memcpy(shape + b + m, v1->shape + b, (size_t)n * sizeof *shape);
    if (infer_size(op, b + m + n, shape, dtype, &size) != IG_OK ||
        infer_size(op, v0->ndim, v0->shape, dtype, &size) != IG_OK ||
        infer_size(op, v1->ndim, v1->shape, dtype, &size) != IG_OK)
        return NULL;
    /* The number of all products must not overflow either: plans and reports add it up. */
    const int64_t products[2] = {extent(shape, b + m + n), extent(v0->shape + b + m, k)};
    if (infer_size(op, 2, products, IG_F64, &size) != IG_OK)
        return NULL;
    if (k > 0 && m == 0 && n == 0 && dtype_is_float(dtype))
        return dot_products(x, b, k, dtype);
    const node_attr attr = {.ndim = {(uint8_t)b, (uint8_t)m, (uint8_t)n, (uint8_t)k}};
    return array_node(OP_contract, dtype, b + m + n, shape, x, 2, &attr);
}

/* ---- products with leading axes that broadcast ---- */

static ig_status unequal(op_id op, ig_array *const x[2], const char *what, int64_t one, int64_t two)
{
    char have[2][400];
    for (int i = 0; i < 2; i++)
        view_shape_text(x[i]->view.ndim, x[i]->view.shape, have[i]);
    FAIL(IG_ERR_SHAPE, "%s: shapes %s and %s do not match: %s %lld and %lld", op_rows[op].name,
         have[0], have[1], what, (long long)one, (long long)two);
}

/* Broadcasts the first lead[i] axes of y[i] against each other, and leaves the others as they are.
 * Returns the resulting number of leading axes, -1: failed. given: the operands as error messages show them. */
static int broadcast_lead(op_id op, ig_array *const given[2], ig_array *y[2], const int lead[2])
{
    int64_t shape[IG_MAX_NDIM];
    const int ndim = lead[0] > lead[1] ? lead[0] : lead[1];
    for (int a = 0; a < ndim; a++) {
        int64_t length[2];
        for (int i = 0; i < 2; i++) {
            const int own = a - (ndim - lead[i]);
            length[i] = own < 0 ? 1 : y[i]->view.shape[own];
        }
        if (length[0] != length[1] && length[0] != 1 && length[1] != 1) {
            unequal(op, given, "leading axes do not broadcast, lengths", length[0], length[1]);
            return -1;
        }
        shape[a] = length[0] == 1 ? length[1] : length[0];
    }
    for (int i = 0; i < 2; i++) {
        int64_t full[IG_MAX_NDIM];
        const int rest = y[i]->view.ndim - lead[i];
        memcpy(full, shape, (size_t)ndim * sizeof *full);
        memcpy(full + ndim, y[i]->view.shape + lead[i], (size_t)rest * sizeof *full);
        if (!(y[i] = build_broadcast(op, y[i], ndim + rest, full)))
            return -1;
    }
    return ndim;
}

int op_matmul(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *y[2] = {x[0], x[1]};
    for (int i = 0; i < 2; i++)
        if (x[i]->view.ndim == 0)
            FAIL_NONE(IG_ERR_SHAPE, "matmul: x%d has no axes; use multiply for numbers", i + 1);
    const int m = x[0]->view.ndim > 1, n = x[1]->view.ndim > 1;
    const int64_t k[2] = {x[0]->view.shape[x[0]->view.ndim - 1],
                          x[1]->view.shape[x[1]->view.ndim - 1 - n]};
    if (k[0] != k[1]) {
        unequal(op, x,
                n ? "the last axis of x1 and the last but one of x2 have lengths"
                  : "the last axis of x1 and the axis of x2 have lengths",
                k[0], k[1]);
        return 0;
    }
    if (contract_cast(op, y, 2) != IG_OK)
        return 0;
    y[1] = build_axis_last(op, y[1], y[1]->view.ndim - 1 - n);
    if (!y[1])
        return 0;
    const int b =
        broadcast_lead(op, x, y, (const int[2]){y[0]->view.ndim - m - 1, y[1]->view.ndim - n - 1});
    return b < 0 ? 0 : op_one(out, contract_node(op, y, (contract_axes){b, m, n, 1}, y[0]->dtype));
}

/* axis counts in the broadcast shape, so counted from the end it is the same axis of both. */
int op_vecdot(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *y[2] = {x[0], x[1]};
    const int ndim[2] = {x[0]->view.ndim, x[1]->view.ndim};
    const int most = ndim[0] > ndim[1] ? ndim[0] : ndim[1];
    int axis, own[2];
    if (infer_axis(op, args[2].u.i, most, &axis) != IG_OK)
        return 0;
    for (int i = 0; i < 2; i++) {
        own[i] = axis - (most - ndim[i]);
        if (own[i] < 0)
            FAIL_NONE(IG_ERR_SHAPE, "vecdot: axis %lld is not one that both have: x%d has %d",
                      (long long)args[2].u.i, i + 1, ndim[i]);
    }
    const int64_t k[2] = {x[0]->view.shape[own[0]], x[1]->view.shape[own[1]]};
    if (k[0] != k[1]) {
        unequal(op, x, "the axis that is summed has lengths", k[0], k[1]);
        return 0;
    }
    if (contract_cast(op, y, 2) != IG_OK)
        return 0;
    for (int i = 0; i < 2; i++)
        if (!(y[i] = build_axis_last(op, y[i], own[i])))
            return 0;
    const int b = broadcast_lead(op, x, y, (const int[2]){ndim[0] - 1, ndim[1] - 1});
    return b < 0 ? 0 : op_one(out, contract_node(op, y, (contract_axes){b, 0, 0, 1}, y[0]->dtype));
}

/* ---- products over chosen axes ---- */

/* x with the n axes in last moved to the end, in that order. */
static ig_array *axes_last(op_id op, ig_array *x, const int *last, int n)
{
    int order[IG_MAX_NDIM], kept = 0;
    unsigned moved = 0;
    for (int i = 0; i < n; i++)
        moved |= 1u << last[i];
    for (int a = 0; a < x->view.ndim; a++)
        if (!(moved >> a & 1))
            order[kept++] = a;
    memcpy(order + kept, last, (size_t)n * sizeof *order);
    return build_permute(op, x, order);
}

/* The axes of each operand that are summed. Returns their number, -1: failed. A single number n stands for the last n
 * axes of x1 and the first n of x2. */
static int summed_axes(op_id op, ig_array *const x[2], ig_ints given, int axes[2][IG_MAX_NDIM])
{
    int64_t spelled[2][IG_MAX_NDIM];
    ig_ints list[2];
    if (given.n == 1) {
        const int64_t n = given.v[0],
                      most = x[0]->view.ndim < x[1]->view.ndim ? x[0]->view.ndim : x[1]->view.ndim;
        if (n < 0 || n > most) {
            ig_fail(
                IG_ERR_ARGUMENT, "%s: axes is %lld; x1 has %d axes and x2 %d, so give 0 to %lld",
                op_rows[op].name, (long long)n, x[0]->view.ndim, x[1]->view.ndim, (long long)most);
            return -1;
        }
        for (int i = 0; i < n; i++) {
            spelled[0][i] = x[0]->view.ndim - n + i;
            spelled[1][i] = i;
        }
        list[0] = (ig_ints){spelled[0], (int)n};
        list[1] = (ig_ints){spelled[1], (int)n};
    } else if (given.n % 2 == 0) {
        list[0] = (ig_ints){given.v, given.n / 2};
        list[1] = (ig_ints){given.v + given.n / 2, given.n / 2};
    } else {
        ig_fail(IG_ERR_ARGUMENT, "%s: %d axes are given; give as many for x1 as for x2",
                op_rows[op].name, given.n);
        return -1;
    }
    for (int i = 0; i < 2; i++)
        if (infer_axes(op, list[i], x[i]->view.ndim, axes[i]) < 0)
            return -1;
    return list[0].n;
}

int op_tensordot(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array}, *y[2] = {x[0], x[1]};
    int axes[2][IG_MAX_NDIM];
    const int k = summed_axes(op, x, args[2].u.ints, axes);
    for (int i = 0; i < k; i++) {
        const int64_t length[2] = {x[0]->view.shape[axes[0][i]], x[1]->view.shape[axes[1][i]]};
        if (length[0] != length[1]) {
            char what[80];
            snprintf(what, sizeof what, "axis %d of x1 and axis %d of x2 have lengths", axes[0][i],
                     axes[1][i]);
            unequal(op, x, what, length[0], length[1]);
            return 0;
        }
    }
    if (k < 0 || contract_cast(op, y, 2) != IG_OK)
        return 0;
    for (int i = 0; i < 2; i++)
        if (!(y[i] = axes_last(op, y[i], axes[i], k)))
            return 0;
    const contract_axes groups = {0, y[0]->view.ndim - k, y[1]->view.ndim - k, k};
    return op_one(out, contract_node(op, y, groups, y[0]->dtype));
}

int op_outer(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    for (int i = 0; i < 2; i++)
        if (x[i]->view.ndim != 1)
            FAIL_NONE(IG_ERR_SHAPE,
                      "outer: x%d has %d dimensions; give 1-d arrays, or use tensordot with axes=0",
                      i + 1, x[i]->view.ndim);
    if (contract_cast(op, x, 2) != IG_OK)
        return 0;
    /* Each element is one product, not a sum: 0 * -1 is -0. */
    return op_one(out, ig_multiply(ig_expand_dims(x[0], IG_AXES(1)), x[1]));
}

/* The product of x, rounded to the dtype of w, with w: f32. bf16 has the range of f32. For f16, rows are divided by their largest
 * magnitude first. */
static ig_array *product_of_halves(ig_array *x, ig_array *w)
{
    const bool scales = w->dtype == IG_F16;
    ig_array *most = scales ? ig_max(ig_abs(x), IG_AXES(-1), true) : NULL;
    if (scales)
        most = ig_where(ig_greater(most, ig_float(0)), most, ig_float(1));
    ig_array *in[2] = {ig_astype(scales ? ig_divide(x, most) : x, (ig_dtype)w->dtype), w};
    ig_array *y =
        contract_node(OP_tensordot, in, (contract_axes){0, x->view.ndim - 1, 1, 1}, IG_F32);
    return scales ? ig_multiply(y, most) : y;
}

ig_array *contract_rounded(ig_array *x, ig_array *w)
{
    if (x && w && dtype_is_half((ig_dtype)w->dtype) && ig_math_mode() != IG_MATH_SAME)
        return product_of_halves(x, w);
    ig_array *y = ig_tensordot(x, ig_astype(w, IG_F32), IG_AXES(-1, 1));
    if (y && y->root->op == OP_contract && array_is_packed(w))
        y->root->attr.fold = CONTRACT_ROUNDS;
    return y;
}
