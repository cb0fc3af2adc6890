/* Complex arrays: handles, and the ops that need no formula. See complex.h. */
#include "engine/ops/complex.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/composite.h"
#include "engine/ops/index.h"
#include <string.h>

/* ---- handles ---- */

/* Inputs of a handle. PACKED and HALVES exist once its pairs were asked for. */
enum { PACKED = 2, HALVES = 3, INPUTS_PACKED = 5 };

/* Part i of pairs: a view of every second element. */
static ig_array *half_of(ig_array *pairs, int i)
{
    if (!pairs)
        return NULL;
    view v = pairs->view;
    v.ndim--;
    v.offset += i * v.stride[v.ndim];
    return array_view(OP_slice, pairs, &v);
}

pair complex_parts(ig_array *x)
{
    if (!x)
        return (pair){NULL, NULL};
    if (!array_is_complex(x))
        return (pair){x, build_fill(0, (ig_dtype)x->dtype, x->view.ndim, x->view.shape)};
    const bool packed = x->n_in == INPUTS_PACKED && x->in[PACKED]->root->data;
    if (packed && x->in[HALVES]->root != x->in[PACKED]->root) /* see array_become */
        return (pair){half_of(x->in[PACKED], 0), half_of(x->in[PACKED], 1)};
    return packed ? (pair){x->in[HALVES], x->in[HALVES + 1]} : (pair){x->in[0], x->in[1]};
}

ig_array *complex_make(pair p)
{
    ig_array *x[2] = {p.re, p.im};
    int ndim;
    int64_t shape[IG_MAX_NDIM];
    if (!p.re || !p.im || infer_broadcast(OP_complex, x, 2, &ndim, shape) != IG_OK)
        return NULL;
    if (ndim == IG_MAX_NDIM)
        FAIL_NULL(IG_ERR_SHAPE, "complex arrays have at most %d dimensions", IG_MAX_NDIM - 1);
    for (int i = 0; i < 2; i++)
        if (!(x[i] = build_broadcast(OP_complex, x[i], ndim, shape)))
            return NULL;
    return array_node(OP_complex, dtype_complex((ig_dtype)p.re->dtype), ndim, shape, x, 2, NULL);
}

ig_array *complex_of_pairs(ig_array *pairs)
{
    return complex_make((pair){half_of(pairs, 0), half_of(pairs, 1)});
}

ig_array *complex_again(ig_array *x) { return complex_make(complex_parts(x)); }

/* True if the gradient passes from x to the array that it is a view of as the view says. */
static bool is_plain_view(const ig_array *x)
{
    return x != x->root && !x->custom && x->op != OP_stop_gradient;
}

/* The array that both parts are views of, without another gradient between; or NULL. */
static ig_array *below_both(pair p)
{
    for (ig_array *a = p.re;; a = a->in[0]) {
        for (ig_array *b = p.im;; b = b->in[0]) {
            if (a == b)
                return a;
            if (!is_plain_view(b))
                break;
        }
        if (!is_plain_view(a))
            return NULL;
    }
}

/* The pairs that the parts are views of, or NULL. */
static ig_array *pairs_below(pair p)
{
    const view *re = &p.re->view, *im = &p.im->view;
    if (p.re->root != p.im->root || im->offset != re->offset + 1 || re->ndim != im->ndim)
        return NULL;
    for (int a = 0; a < re->ndim; a++)
        if (re->shape[a] != im->shape[a] || re->stride[a] != im->stride[a])
            return NULL;
    view v = *re;
    axis_insert(&v, v.ndim, 2, 1);
    ig_array *below = below_both(p);
    return below ? array_view(OP_slice, below, &v) : NULL;
}

/* Adds pairs to the inputs of x, and the parts as views of them, which its evaluation makes the better parts. */
static ig_array *pack(ig_array *x, ig_array *pairs, pair halves)
{
    if (!pairs || !halves.re || !halves.im)
        return NULL;
    ig_array *const more[] = {pairs, halves.re, halves.im};
    for (int i = 0; i < 3; i++)
        x->in[PACKED + i] = ig_retain(more[i]);
    x->n_in = INPUTS_PACKED;
    return pairs;
}

ig_array *complex_pairs(ig_array *x)
{
    if (!array_is_complex(x))
        return x;
    if (x->n_in == INPUTS_PACKED)
        return x->in[PACKED];
    const pair p = {x->in[0], x->in[1]};
    ig_array *pairs = pairs_below(p);
    if (pairs)
        return pack(x, pairs, p);
    const ig_dtype dtype = dtype_part((ig_dtype)x->dtype);
    pairs = ig_stack((ig_array *const[]){build_cast(p.re, dtype), build_cast(p.im, dtype)}, 2, -1);
    return pack(x, pairs, (pair){half_of(pairs, 0), half_of(pairs, 1)});
}

bool complex_is_evaluated(const ig_array *x)
{
    return (x->n_in == INPUTS_PACKED && x->in[PACKED]->root->data) ||
           (x->in[0]->root->data && x->in[1]->root->data);
}

int complex_flatten(ig_array *const *x, int n, bool conjugate, ig_array **flat)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!array_is_complex(x[i])) {
            flat[count++] = x[i];
            continue;
        }
        const pair p = complex_parts(x[i]);
        flat[count++] = p.re;
        flat[count++] = conjugate ? ig_negative(p.im) : p.im;
    }
    return count;
}

void complex_join(ig_array *const *like, int n, bool conjugate, ig_array *const *flat, ig_array **x)
{
    for (int i = 0, at = 0; i < n; i++) {
        if (!array_is_complex(like[i])) {
            x[i] = flat[at++];
            continue;
        }
        const pair p = {flat[at], conjugate ? ig_negative(flat[at + 1]) : flat[at + 1]};
        x[i] = complex_make(p);
        at += 2;
    }
}

bool complex_any(ig_array *const *x, int n)
{
    for (int i = 0; x && i < n; i++)
        if (array_is_complex(x[i]))
            return true;
    return false;
}

ig_array *complex_cast(ig_array *x, ig_dtype dtype)
{
    if (!x || (x->dtype == dtype && !x->weak))
        return x;
    const pair p = complex_parts(x);
    return complex_make(
        (pair){build_cast(p.re, dtype_part(dtype)), build_cast(p.im, dtype_part(dtype))});
}

/* ---- arguments ---- */

bool complex_is_asked(const ig_op *info, const ig_arg *args)
{
    for (int i = 0; i < info->n_params; i++) {
        const ig_arg *a = &args[i];
        if ((a->kind == IG_ARG_ARRAY && array_is_complex(a->u.array)) ||
            (a->kind == IG_ARG_DTYPE && dtype_is_complex(a->u.dtype)))
            return true;
        for (int j = 0; a->kind == IG_ARG_ARRAYS && j < a->u.arrays.n; j++)
            if (array_is_complex(a->u.arrays.v[j]))
                return true;
    }
    return false;
}

/* True if a parameter holds positions, counts or choices, not values. */
static bool is_position(const ig_param *p)
{
    static const char *const names[] = {"indices", "mask", "condition", "repeats"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(p->name, names[i]) == 0)
            return true;
    return false;
}

/* ---- ops of the parts ---- */

/* The common dtype of all values. */
static ig_status values_dtype(const ig_op *info, const ig_arg *args, ig_dtype *dtype)
{
    *dtype = IG_DTYPE_NONE;
    for (int i = 0; i < info->n_params; i++) {
        const ig_arg *a = &args[i];
        if (a->kind == IG_ARG_DTYPE && !dtype_is_complex(a->u.dtype))
            FAIL(IG_ERR_DTYPE, "%s: a complex result does not become %s; convert x first",
                 info->name, ig_dtype_name(a->u.dtype));
        ig_array *const *x = a->kind == IG_ARG_ARRAYS ? a->u.arrays.v : &a->u.array;
        const int n = a->kind == IG_ARG_ARRAYS ? a->u.arrays.n : a->kind == IG_ARG_ARRAY;
        for (int j = 0; j < n && !is_position(&info->params[i]); j++) {
            const ig_dtype d = x[j]->weak ? IG_BOOL : (ig_dtype)x[j]->dtype;
            *dtype = *dtype == IG_DTYPE_NONE ? d : ig_promote(*dtype, d);
        }
    }
    *dtype = dtype_complex(*dtype);
    return IG_OK;
}

/* Calls the op with one part of each value. */
static int build_part(op_id op, const ig_op *info, const ig_arg *args, int part, ig_dtype dtype,
                      ig_array **out)
{
    ig_arg mine[OP_MAX_PARAMS];
    ig_array **list[OP_MAX_PARAMS] = {NULL};
    int n = 0;
    for (int i = 0; i < info->n_params; i++) {
        mine[i] = args[i];
        const ig_arg *a = &args[i];
        const bool many = a->kind == IG_ARG_ARRAYS;
        if (a->kind == IG_ARG_DTYPE)
            mine[i].u.dtype = dtype_part(a->u.dtype);
        if (!many && a->kind != IG_ARG_ARRAY)
            continue;
        if (is_position(&info->params[i])) {
            if (!many && array_is_complex(a->u.array))
                mine[i].u.array = build_cast(a->u.array, IG_BOOL);
            continue;
        }
        const int count = many ? a->u.arrays.n : 1;
        list[i] = memory_get((size_t)(count + 1) * sizeof *list[i]);
        for (int j = 0; list[i] && j < count; j++) {
            const pair p = complex_parts(complex_cast(many ? a->u.arrays.v[j] : a->u.array, dtype));
            list[i][j] = part == 0 ? p.re : p.im;
        }
        if (!list[i])
            goto end;
        mine[i].u.array = list[i][0];
        if (many) {
            mine[i].u.arrays.v = list[i];
            mine[i].u.arrays.n = count;
        }
    }
    n = op_call(op, mine, info->n_params, out, OP_MAX_RESULTS);
end:
    for (int i = 0; i < OP_MAX_PARAMS; i++)
        memory_free(list[i]);
    return n;
}

/* Ops that treat both parts alike: moves, reads and writes, sums. */
static int by_parts(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_dtype dtype;
    ig_array *one[2], **re = one, **im = one + 1, **many = NULL;
    if (values_dtype(info, args, &dtype) != IG_OK)
        return 0;
    if (info->gives_list) {
        many = memory_get(2 * OP_MAX_RESULTS * sizeof *many);
        if (!many)
            return 0;
        re = many;
        im = many + OP_MAX_RESULTS;
    }
    int n = build_part(op, info, args, 0, dtype, re);
    if (n && build_part(op, info, args, 1, dtype, im) != n)
        n = 0;
    for (int i = 0; i < n; i++)
        if (!(out[i] = complex_make((pair){re[i], im[i]})))
            n = 0;
    memory_free(many);
    return n;
}

/* broadcast_arrays and meshgrid: each array keeps its dtype, so only the complex ones have two parts. */
static int by_arrays(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_array *const *x = args[0].u.arrays.v;
    const int count = args[0].u.arrays.n;
    ig_array **list = memory_get(2 * (size_t)(count + 1) * sizeof *list), **im = list + count + 1;
    ig_arg mine[OP_MAX_PARAMS];
    int n = 0;
    memcpy(mine, args, (size_t)info->n_params * sizeof *mine);
    mine[0].u.arrays.v = list;
    for (int k = 0; list && k < 2; k++) {
        for (int i = 0; i < count; i++) {
            const pair p = array_is_complex(x[i]) ? complex_parts(x[i]) : (pair){x[i], x[i]};
            list[i] = k == 0 ? p.re : p.im;
        }
        n = op_call(op, mine, info->n_params, k == 0 ? out : im, count);
        if (n != count)
            break;
    }
    for (int i = 0; i < n; i++)
        if (array_is_complex(x[i]) && !(out[i] = complex_make((pair){out[i], im[i]})))
            n = 0;
    memory_free(list);
    return n;
}

/* re + i im, where both may be complex. */
static ig_array *plus_i_times(ig_array *re, ig_array *im)
{
    const pair a = complex_parts(re), b = complex_parts(im);
    if (!array_is_complex(re) && !array_is_complex(im))
        return complex_make((pair){re, im});
    return complex_make((pair){ig_subtract(a.re, b.im), ig_add(a.im, b.re)});
}

/* Products, which are linear in each value: the first complex value is split. */
static int by_products(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_arg mine[OP_MAX_PARAMS];
    ig_array *list[64], *result[2], **place = NULL;
    memcpy(mine, args, (size_t)info->n_params * sizeof *mine);
    for (int i = 0; i < info->n_params && !place; i++) {
        if (args[i].kind == IG_ARG_ARRAY && array_is_complex(args[i].u.array))
            place = &mine[i].u.array;
        if (args[i].kind != IG_ARG_ARRAYS)
            continue;
        const int n = args[i].u.arrays.n;
        if (n > 64)
            FAIL_NONE(IG_ERR_UNSUPPORTED, "%s: more than 64 arrays, one of them complex",
                      info->name);
        memcpy(list, args[i].u.arrays.v, (size_t)n * sizeof *list);
        mine[i].u.arrays.v = list;
        for (int j = 0; j < n && !place; j++)
            if (array_is_complex(list[j]))
                place = &list[j];
    }
    if (!place)
        FAIL_NONE(IG_ERR_DTYPE, "%s does not compute in a complex dtype; convert its result",
                  info->name);
    pair p = complex_parts(*place);
    if (op == OP_vecdot && place == &mine[0].u.array)
        p.im = ig_negative(p.im);
    for (int i = 0; i < 2; i++) {
        *place = i == 0 ? p.re : p.im;
        if (op_call(op, mine, info->n_params, &result[i], 1) != 1)
            return 0;
    }
    return op_one(out, plus_i_times(result[0], result[1]));
}

/* ---- reductions and sources ---- */

static ig_array *is_not_zero(ig_array *x)
{
    const pair p = complex_parts(x);
    return ig_logical_or(ig_not_equal(p.re, ig_float(0)), ig_not_equal(p.im, ig_float(0)));
}

/* all, any and count_nonzero look only at which elements are zero. */
static int by_truth(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_arg mine[OP_MAX_PARAMS];
    memcpy(mine, args, (size_t)info->n_params * sizeof *mine);
    mine[0].u.array = is_not_zero(args[0].u.array);
    return op_call(op, mine, info->n_params, out, info->gives_list ? OP_MAX_RESULTS : 1);
}

/* The part of x along its last axis. */
static ig_array *along_last(ig_array *x, int64_t start, int64_t stop)
{
    return ig_get(
        x,
        (const ig_index[]){{.kind = IG_INDEX_REST},
                           {.kind = IG_INDEX_SLICE, .start = start, .stop = stop, .step = 1}},
        2);
}

/* x as complex rows: the reduced axes become the last one. *shape: the shape of the result. */
static ig_array *as_rows(op_id op, ig_array *x, ig_ints axis, bool keepdims, int64_t *shape,
                         int *ndim)
{
    int axes[IG_MAX_NDIM];
    int64_t order[IG_MAX_NDIM], whole[IG_MAX_NDIM];
    const int n = infer_axes(op, axis, x->view.ndim, axes);
    int kept = 0;
    if (n < 0)
        return NULL;
    bool gone[IG_MAX_NDIM] = {false};
    for (int i = 0; i < n; i++)
        gone[axes[i]] = true;
    *ndim = 0;
    int64_t length = 1;
    for (int a = 0; a < x->view.ndim; a++) {
        if (!gone[a]) {
            whole[kept] = x->view.shape[a];
            order[kept++] = a;
        } else {
            length *= x->view.shape[a];
        }
        if (!gone[a] || keepdims)
            shape[(*ndim)++] = gone[a] ? 1 : x->view.shape[a];
    }
    for (int a = 0, at = kept; a < x->view.ndim; a++)
        if (gone[a])
            order[at++] = a;
    whole[kept] = length;
    return ig_reshape(ig_permute_dims(x, (ig_ints){order, x->view.ndim}),
                      (ig_ints){whole, kept + 1});
}

/* The product of pairs of halves, until one factor is left. The order depends on the length alone. */
static int complex_prod(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    (void)info;
    int64_t shape[IG_MAX_NDIM];
    int ndim;
    ig_array *x = as_rows(op, args[0].u.array, arg_ints(&args[1]), args[3].u.b, shape, &ndim);
    x = x ? build_cast(x, arg_dtype(&args[2], dtype_complex((ig_dtype)x->dtype))) : NULL;
    if (!x)
        return 0;
    int64_t n = ig_dim(x, -1);
    if (n == 0) {
        x = ig_ones((ig_ints){shape, ndim}, (ig_dtype)x->dtype);
        return op_one(out, x);
    }
    while (x && n > 1) {
        const int64_t half = n / 2;
        ig_array *y = ig_multiply(along_last(x, 0, half), along_last(x, half, 2 * half));
        x = n % 2 ? ig_concat((ig_array *const[]){y, along_last(x, n - 1, n)}, 2, IG_AXES(-1)) : y;
        n = half + n % 2;
    }
    return op_one(out, ig_reshape(x, (ig_ints){shape, ndim}));
}

/* Running products by doubling: after each step, an element is the product of twice as many. */
static int complex_cumulative_prod(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    (void)op;
    ig_array *x = args[0].u.array;
    int axis = 0;
    if (args[1].kind == IG_ARG_NONE && x->view.ndim != 1)
        FAIL_NONE(IG_ERR_ARGUMENT, "%s: axis must be given for an array of %d dimensions",
                  info->name, x->view.ndim);
    if (args[1].kind != IG_ARG_NONE &&
        infer_axis(OP_cumulative_prod, args[1].u.i, x->view.ndim, &axis) != IG_OK)
        return 0;
    x = build_cast(x, arg_dtype(&args[2], dtype_complex((ig_dtype)x->dtype)));
    if (!x)
        return 0;
    x = ig_moveaxis(x, IG_AXES(axis), IG_AXES(-1));
    const int64_t n = ig_dim(x, -1);
    for (int64_t by = 1; x && by < n; by *= 2) {
        ig_array *head = along_last(x, 0, by);
        ig_array *rest = ig_multiply(along_last(x, by, n), along_last(x, 0, n - by));
        x = ig_concat((ig_array *const[]){head, rest}, 2, IG_AXES(-1));
    }
    if (x && args[3].u.b) {
        ig_array *one = ig_ones_like(along_last(x, 0, 0), (ig_dtype)x->dtype);
        int64_t shape[IG_MAX_NDIM];
        memcpy(shape, one->view.shape, sizeof shape);
        shape[one->view.ndim - 1] = 1;
        one = ig_ones((ig_ints){shape, one->view.ndim}, (ig_dtype)x->dtype);
        x = ig_concat((ig_array *const[]){one, x}, 2, IG_AXES(-1));
    }
    return op_one(out, ig_moveaxis(x, IG_AXES(-1), IG_AXES(axis)));
}

/* var and std: the mean of the squared distance from the mean. */
static int complex_spread(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_arg mine[OP_MAX_PARAMS];
    memcpy(mine, args, (size_t)info->n_params * sizeof *mine);
    const pair p = complex_parts(args[0].u.array);
    ig_array *v[2];
    for (int i = 0; i < 2; i++) {
        mine[0].u.array = i == 0 ? p.re : p.im;
        if (op_call(OP_var, mine, info->n_params, &v[i], 1) != 1)
            return 0;
    }
    ig_array *sum = ig_add(v[0], v[1]);
    return op_one(out, op == OP_std ? composite_root(sum) : sum);
}

/* The same op of the real parts. */
static int source_of_real(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_arg mine[OP_MAX_PARAMS];
    for (int i = 0; i < info->n_params; i++) {
        mine[i] = args[i];
        if (args[i].kind == IG_ARG_ARRAY)
            mine[i].u.array = ig_real(args[i].u.array);
    }
    return op_call(op, mine, info->n_params, out, 1);
}

/* zeros, ones, full, eye and so on: a real array of the parts' dtype. */
static int complex_source(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    ig_arg mine[OP_MAX_PARAMS];
    ig_array *part[2] = {NULL, NULL};
    bool value = false;
    ig_dtype like = dtype_complex(IG_DTYPE_NONE); /* of a number */
    for (int i = 0; i < info->n_params; i++) {
        if (args[i].kind == IG_ARG_DTYPE)
            like = args[i].u.dtype;
        else if (args[i].kind == IG_ARG_ARRAY &&
                 (i == 0 || args[0].kind != IG_ARG_ARRAY)) /* x, or a value */
            like = args[i].u.array->weak ? like : (ig_dtype)args[i].u.array->dtype;
    }
    if (!dtype_is_complex(like)) /* of a complex x, but asked for in a real dtype */
        return source_of_real(op, info, args, out);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < info->n_params; i++) {
            mine[i] = args[i];
            if (strcmp(info->params[i].name, "dtype") == 0)
                mine[i] = (ig_arg){.kind = IG_ARG_DTYPE, .u.dtype = dtype_part(like)};
            if (args[i].kind != IG_ARG_ARRAY || !array_is_complex(args[i].u.array))
                continue;
            const pair p = complex_parts(args[i].u.array);
            mine[i].u.array = k == 0 ? p.re : p.im;
            value = value || strstr(info->params[i].name, "value") != NULL;
        }
        if ((k == 0 || value) && op_call(op, mine, info->n_params, &part[k], 1) != 1)
            return 0;
    }
    return op_one(out, value ? complex_make((pair){part[0], part[1]})
                             : complex_cast(part[0], dtype_complex(like)));
}

/* ---- the table ---- */

static int complex_astype(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    (void)op, (void)info;
    return op_one(out, build_cast(args[0].u.array, args[1].u.dtype));
}

/* Ops whose own builder takes complex arrays. */
static int by_itself(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    (void)info;
    return op_rows[op].build(op, args, out);
}

typedef int complex_rule(op_id op, const ig_op *info, const ig_arg *args, ig_array **out);

/* Most moves have no row: they are by_parts; nor have compositions of class COMPLEX. Elementwise rows are in complex_map.c.
 * Other ops without a row are refused. */
static complex_rule *const rules[OP_CORE_COUNT] = {
    [OP_all] = by_truth,
    [OP_angle] = by_itself,
    [OP_any] = by_truth,
    [OP_astype] = complex_astype,
    [OP_broadcast_arrays] = by_arrays,
    [OP_complex] = by_itself,
    [OP_conj] = by_itself,
    [OP_count_nonzero] = by_truth,
    [OP_cumulative_prod] = complex_cumulative_prod,
    [OP_cumulative_sum] = by_parts,
    [OP_diff] = by_parts,
    [OP_einsum] = by_products,
    [OP_empty] = complex_source,
    [OP_empty_like] = complex_source,
    [OP_eye] = complex_source,
    [OP_full] = complex_source,
    [OP_full_like] = complex_source,
    [OP_gather] = by_parts,
    [OP_imag] = by_itself,
    [OP_linspace] = by_parts,
    [OP_mask_select] = by_parts,
    [OP_matmul] = by_products,
    [OP_mean] = by_parts,
    [OP_meshgrid] = by_arrays,
    [OP_nonzero] = by_truth,
    [OP_ones] = complex_source,
    [OP_ones_like] = complex_source,
    [OP_outer] = by_products,
    [OP_prod] = complex_prod,
    [OP_real] = by_itself,
    [OP_scatter] = by_parts,
    [OP_scatter_add] = by_parts,
    [OP_std] = complex_spread,
    [OP_sum] = by_parts,
    [OP_take] = by_parts,
    [OP_take_along_axis] = by_parts,
    [OP_tensordot] = by_products,
    [OP_tril] = by_parts,
    [OP_triu] = by_parts,
    [OP_unique_all] = by_itself,
    [OP_unique_counts] = by_itself,
    [OP_unique_inverse] = by_itself,
    [OP_unique_values] = by_itself,
    [OP_var] = complex_spread,
    [OP_vecdot] = by_products,
    [OP_where] = by_parts,
    [OP_zeros] = complex_source,
    [OP_zeros_like] = complex_source,
};

int complex_build(op_id op, const ig_op *info, const ig_arg *args, ig_array **out)
{
    const op_class cls = op_rows[op].cls;
    complex_rule *own = op < OP_CORE_COUNT ? rules[op] : NULL;
    complex_rule *rule = own                    ? own
                         : cls == CLASS_MOVE    ? by_parts
                         : cls == CLASS_COMPLEX ? by_itself
                                                : NULL;
    if (op_rows[op].arity)
        return op_rows[op].build(op, args, out);
    if (!rule)
        FAIL_NONE(IG_ERR_DTYPE,
                  "%s does not take complex numbers; give it real(x), imag(x) or abs(x)",
                  info->name);
    return rule(op, info, args, out);
}

/* ---- real, imag, conj, angle, complex ---- */

int op_real(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op;
    ig_array *x = args[0].u.array;
    return op_one(out, array_is_complex(x) ? complex_parts(x).re : x);
}

int op_imag(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op;
    return op_one(out, complex_parts(args[0].u.array).im);
}

int op_conj(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op;
    ig_array *x = args[0].u.array;
    const pair p = complex_parts(x);
    return op_one(out, array_is_complex(x) ? complex_make((pair){p.re, ig_negative(p.im)}) : x);
}

int op_angle(op_id op, const ig_arg *args, ig_array **out)
{
    (void)op;
    const pair p = complex_parts(args[0].u.array);
    return op_one(out, ig_atan2(p.im, p.re));
}

int op_complex(op_id op, const ig_arg *args, ig_array **out)
{
    ig_array *x[2] = {args[0].u.array, args[1].u.array};
    ig_dtype dtype;
    if (infer_dtype(op, x, 2, &dtype) != IG_OK)
        return 0;
    if (dtype_is_complex(dtype))
        FAIL_NONE(IG_ERR_DTYPE,
                  "complex: the parts must be real; write re + 1j * im for complex arrays");
    const bool weak = x[0]->weak && x[1]->weak; /* a number, as 1 + 2j in Python */
    if (!weak)
        dtype = dtype_part(dtype_complex(dtype));
    x[0] = build_cast(x[0], weak ? IG_F64 : dtype);
    x[1] = build_cast(x[1], weak ? IG_F64 : dtype);
    ig_array *z = complex_make((pair){x[0], x[1]});
    if (z)
        z->weak = weak;
    return op_one(out, z);
}

ig_array *ig_imaginary(double value)
{
    ig_array *x = complex_make((pair){build_scalar(0, IG_F64), build_scalar(value, IG_F64)});
    if (x)
        x->weak = true;
    return x;
}
