/* Indices, selections, order. */
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

void build_gather(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *indices = call_array(c, 1);
    int axis = op_attribute_axis(c, 0, ig_ndim(x));
    if (!part_gathers_bytes(c, op_beside(indices, x), axis))
        op_return_tokens(c, 0, 0, ig_take(x, op_beside(indices, x), IG_AXES(axis)));
}

void build_gather_elements(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *indices = call_array(c, 1);
    int axis = op_attribute_axis(c, 0, ig_ndim(x));
    op_return_tokens(c, 0, 0, ig_gather(x, op_beside(indices, x), axis));
}

/* The leading axes of x and of the indices are joined to one axis, whose index becomes the first of each tuple. */
static ig_array *gather_in_batches(ig_array *x, ig_array *indices, int batch_dims)
{
    ig_ints of_x = ig_shape(x), of_indices = ig_shape(indices);
    int64_t shape[2 * IG_MAX_NDIM], batches = op_product(of_x.v, batch_dims);
    int n = 0;
    shape[n++] = batches;
    for (int i = batch_dims; i < of_x.n; i++)
        shape[n++] = of_x.v[i];
    ig_array *joined = ig_reshape(x, (ig_ints){shape, n});
    n = 1;
    for (int i = batch_dims; i < of_indices.n; i++)
        shape[n++] = of_indices.v[i];
    indices = ig_astype(ig_reshape(indices, (ig_ints){shape, n}), IG_I64);
    shape[n - 1] = 1;
    int64_t column[IG_MAX_NDIM] = {batches, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    ig_array *batch = ig_reshape(op_iota(batches, IG_I64, x), (ig_ints){column, n});
    batch = ig_broadcast_to(batch, (ig_ints){shape, n});
    ig_array *y = ig_gather_nd(joined, ig_concat((ig_array *[]){batch, indices}, 2, IG_AXES(-1)));
    n = 0;
    for (int i = 0; i < batch_dims; i++)
        shape[n++] = of_x.v[i];
    for (int i = 1; i < ig_ndim(y); i++)
        shape[n++] = ig_dim(y, i);
    return ig_reshape(y, (ig_ints){shape, n});
}

void build_gather_nd(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *indices = op_beside(call_array(c, 1), x);
    int64_t batch_dims = call_attribute_int(c, "batch_dims", 0);
    if (batch_dims < 0 || batch_dims >= ig_ndim(x) + 1 || batch_dims >= ig_ndim(indices)) {
        call_fail(c, IG_ERR_ARGUMENT, "batch_dims", "%lld does not fit the inputs",
                  (long long)batch_dims);
        return;
    }
    op_return_tokens(c, 0, 0,
                     batch_dims ? gather_in_batches(x, indices, (int)batch_dims)
                                : ig_gather_nd(x, indices));
}

/* The condition may be shorter than the axis. */
void build_compress(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *condition = op_beside(call_array(c, 1), x);
    int axis = 0;
    if (call_has_attribute(c, "axis"))
        axis = op_attribute_axis(c, 0, ig_ndim(x));
    else
        x = ig_reshape(x, IG_SHAPE(-1));
    int64_t n = ig_size(condition), length = ig_dim(x, axis);
    if (n < length)
        x = op_part(x, axis, 0, n);
    else if (n > length)
        condition = op_part(condition, 0, 0, length);
    op_return_tokens(c, 0, 0, ig_compress(condition, x, IG_AXES(axis)));
}

void build_nonzero(onnx_call *c)
{
    call_return(c, 0, ig_matrix_transpose(ig_argwhere(call_array(c, 0))));
}

/* The first length elements of each sequence, reversed. */
void build_reverse_sequence(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *lengths = op_beside(call_array(c, 1), x);
    int time = op_axis(c, call_attribute_int(c, "time_axis", 0), ig_ndim(x));
    int batch = op_axis(c, call_attribute_int(c, "batch_axis", 1), ig_ndim(x));
    int64_t along_time[IG_MAX_NDIM], along_batch[IG_MAX_NDIM];
    for (int i = 0; i < ig_ndim(x); i++) {
        along_time[i] = i == time ? ig_dim(x, time) : 1;
        along_batch[i] = i == batch ? ig_dim(x, batch) : 1;
    }
    if (ig_failed())
        return;
    lengths = ig_reshape(ig_astype(lengths, IG_I64), (ig_ints){along_batch, ig_ndim(x)});
    ig_array *t =
        ig_reshape(op_iota(ig_dim(x, time), IG_I64, x), (ig_ints){along_time, ig_ndim(x)});
    ig_array *reversed = ig_subtract(ig_subtract(lengths, ig_int(1)), t);
    ig_array *indices = ig_where(ig_less(t, lengths), reversed, t);
    op_return_tokens(c, 0, 0, ig_take_along_axis(x, indices, time));
}

/* ---- writing -------------------------------------------------------------------------------- */

void build_scatter_elements(onnx_call *c)
{
    ig_array *x = op_tokens(c, 0), *indices = op_beside(call_array(c, 1), x);
    ig_array *updates = op_tokens(c, 2);
    int axis = op_attribute_axis(c, 0, ig_ndim(x));
    switch (call_attribute_choice(c, "reduction", "none|add|mul|max|min")) {
    case 1: x = ig_scatter_add(x, indices, updates, axis); break;
    case 2: x = ig_scatter_mul(x, indices, updates, axis); break;
    case 3: x = ig_scatter_max(x, indices, updates, axis); break;
    case 4: x = ig_scatter_min(x, indices, updates, axis); break;
    default: x = ig_scatter(x, indices, updates, axis);
    }
    op_return_tokens(c, 0, 0, x);
}

void build_scatter_nd(onnx_call *c)
{
    static const char *const modes[] = {"set", "add", "mul", "max", "min"};
    ig_array *x = op_tokens(c, 0), *indices = op_beside(call_array(c, 1), x);
    int mode = call_attribute_choice(c, "reduction", "none|add|mul|max|min");
    op_return_tokens(c, 0, 0, ig_scatter_nd(x, indices, op_tokens(c, 2), modes[mode]));
}

/* Indices outside of [-depth, depth) give the off value everywhere. */
void build_one_hot(onnx_call *c)
{
    ig_array *indices = ig_astype(call_array(c, 0), IG_I64), *values = op_tokens(c, 2);
    double given = call_float(c, 1, 0);
    bool fits = given >= 0 && given <= (double)LENGTH_MOST;
    int64_t depth = fits ? (int64_t)given : 0, shape[IG_MAX_NDIM];
    int ndim = ig_ndim(indices) + 1, axis = op_attribute_axis(c, -1, ndim);
    if (ndim > IG_MAX_NDIM)
        call_fail(c, IG_ERR_SHAPE, NULL, "makes more than %d axes", IG_MAX_NDIM);
    for (int i = 0; i < ndim && i < IG_MAX_NDIM; i++)
        shape[i] = i == axis ? depth : 1;
    if (!fits)
        call_fail(c, IG_ERR_ARGUMENT, "depth", "%g is out of range", given);
    if (ig_size(values) != 2)
        call_fail(c, IG_ERR_SHAPE, "values", "must be the off value and the on value");
    if (ig_failed())
        return;
    indices = ig_where(ig_less(indices, ig_int(0)), ig_add(indices, ig_int(depth)), indices);
    ig_array *classes = ig_reshape(op_iota(depth, IG_I64, indices), (ig_ints){shape, ndim});
    ig_array *hot = ig_equal(ig_expand_dims(indices, IG_AXES(axis)), classes);
    hot = op_beside(hot, values);
    ig_array *off = ig_reshape(op_part(values, 0, 0, 1), IG_SCALAR);
    ig_array *on = ig_reshape(op_part(values, 0, 1, 2), IG_SCALAR);
    op_return_tokens(c, 0, 2, ig_where(hot, on, off));
}

/* ---- order ---------------------------------------------------------------------------------- */

void build_top_k(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *out[2] = {NULL, NULL};
    int axis = op_attribute_axis(c, -1, ig_ndim(x));
    call_ignore(c, "sorted"); /* the elements are always sorted */
    int64_t k = call_version(c) < 10 ? call_attribute_int(c, "k", 0) : call_int(c, 1, 0);
    if (k < 0 || k > ig_dim(x, axis))
        call_fail(c, IG_ERR_ARGUMENT, "k", "%lld is out of range for the length %lld", (long long)k,
                  (long long)ig_dim(x, axis));
    if (ig_failed())
        return;
    if (call_attribute_bool(c, "largest", true)) {
        ig_topk(x, k, axis, out);
    } else {
        out[1] = op_part(ig_argsort(x, axis, false, true), axis, 0, k);
        out[0] = ig_take_along_axis(x, out[1], axis);
    }
    call_return_typed(c, 0, out[0], call_type(c, 0));
    call_return(c, 1, out[1]);
}

typedef struct ranked {
    onnx_bytes text;
    int64_t place;
} ranked;

static int compare_texts(const void *a, const void *b)
{
    const onnx_bytes *x = &((const ranked *)a)->text, *y = &((const ranked *)b)->text;
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Numbers in the order of the strings of input 0. */
static ig_array *text_ranks(onnx_call *c)
{
    ig_onnx_value *v = call_value(c, 0);
    ig_ints shape = ig_onnx_value_shape(v);
    int64_t n = op_product(shape.v, shape.n), rank = 0;
    ranked *all = malloc(sizeof *all * (size_t)(n + 1));
    int64_t *ranks = malloc(sizeof *ranks * (size_t)(n + 1));
    ig_array *x = NULL;
    if (all && ranks) {
        for (int64_t i = 0; i < n; i++) {
            all[i].text.at = ig_onnx_value_text(v, i, &all[i].text.n);
            all[i].place = i;
        }
        qsort(all, (size_t)n, sizeof *all, compare_texts);
        for (int64_t i = 0; i < n; i++) {
            rank += i > 0 && compare_texts(&all[i - 1], &all[i]) != 0;
            ranks[all[i].place] = rank;
        }
        x = op_host_ints(ranks, shape);
    } else {
        call_fail(c, IG_ERR_MEMORY, NULL, "out of memory");
    }
    free(all);
    free(ranks);
    return x;
}

/* Sorted, or in the order of first occurrence. */
void build_unique(onnx_call *c)
{
    bool is_text = ig_onnx_value_kind(call_value(c, 0)) == IG_ONNX_TEXTS;
    bool has_axis = call_has_attribute(c, "axis"), sorts = call_attribute_bool(c, "sorted", true);
    ig_array *x = op_tokens(c, 0), *out[4] = {NULL, NULL, NULL, NULL};
    int axis = has_axis ? op_attribute_axis(c, 0, ig_ndim(x)) : 0;
    ig_ints axes = has_axis ? IG_AXES(axis) : IG_NONE;
    if (ig_failed() ||
        ig_unique(is_text ? text_ranks(c) : x, true, true, true, axes, true, out, 4) != 4)
        return;
    out[2] = ig_reshape(out[2], IG_SHAPE(-1));
    if (!sorts) {
        ig_array *order = ig_argsort(out[1], 0, false, true);
        out[0] = ig_take(out[0], order, IG_AXES(axis));
        out[1] = ig_take(out[1], order, IG_AXES(0));
        out[2] = ig_take(ig_argsort(order, 0, false, true), out[2], IG_AXES(0));
        out[3] = ig_take(out[3], order, IG_AXES(0));
    }
    if (is_text)
        out[0] = ig_take(has_axis ? x : ig_reshape(x, IG_SHAPE(-1)), out[1], IG_AXES(axis));
    op_return_tokens(c, 0, 0, out[0]);
    for (int i = 1; i < 4; i++)
        call_return(c, i, out[i]);
}
