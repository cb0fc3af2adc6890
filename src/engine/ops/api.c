/* The typed functions of ingot.h. Each packs its arguments and calls its op. The functions of elementwise rows
 * are generated from ops.def. */
#include "engine/ops/builders.h"
#include <math.h>

#define NOTHING ((ig_arg){.kind = IG_ARG_NONE})
#define ARRAY(x) ((ig_arg){.kind = IG_ARG_ARRAY, .u.array = (x)})
#define ARRAYS(x, count) ((ig_arg){.kind = IG_ARG_ARRAYS, .u.arrays = {(x), (count)}})
#define BOOL(x) ((ig_arg){.kind = IG_ARG_BOOL, .u.b = (x)})
#define INT(x) ((ig_arg){.kind = IG_ARG_INT, .u.i = (x)})
#define FLOAT(x) ((ig_arg){.kind = IG_ARG_FLOAT, .u.f = (x)})
/* These pass an absent value as NOTHING. */
#define INTS(x) ((x).v || (x).n ? (ig_arg){.kind = IG_ARG_INTS, .u.ints = (x)} : NOTHING)
#define AXIS(x) ((x).v && (x).n == 1 ? INT((x).v[0]) : INTS(x))
#define DTYPE(x) ((x) ? (ig_arg){.kind = IG_ARG_DTYPE, .u.dtype = (x)} : NOTHING)
#define STRING(x) ((x) ? (ig_arg){.kind = IG_ARG_STRING, .u.str = (x)} : NOTHING)
/* NULL means absent, unless it is the result of a failed builder. */
#define OPTIONAL(x) ((x) || ig_failed() ? ARRAY(x) : NOTHING)
/* A whole number is passed as an integer. */
#define NUMBER(x) ((x) == floor(x) && fabs(x) < 0x1p62 ? INT((int64_t)(x)) : FLOAT(x))

#define ARGS(...) (ig_arg[]){__VA_ARGS__}, (int)(sizeof((ig_arg[]){__VA_ARGS__}) / sizeof(ig_arg))
#define ONE(name, ...) one_result(OP_##name, ARGS(__VA_ARGS__))
#define MANY(name, out, room, ...) op_call(OP_##name, ARGS(__VA_ARGS__), out, room)

static ig_array *one_result(op_id op, const ig_arg *args, int n)
{
    ig_array *x;
    return op_call(op, args, n, &x, 1) ? x : NULL;
}

/* Elementwise calls are the most frequent: their arguments need no binding. */
static ig_array *elementwise(op_id op, ig_array *x1, ig_array *x2)
{
    ig_array *y;
    if (!x1 || !x2)
        return one_result(op, (ig_arg[]){ARRAY(x1), ARRAY(x2)}, op_rows[op].arity);
    const ig_arg args[2] = {ARRAY(x1), ARRAY(x2)};
    if (!op_elementwise(op, args, &y))
        return NULL;
    return y == x1 ? array_view(op, x1, &x1->view) : y; /* results are new handles */
}

#define UNARY(name, accepts, result, expr, ...) \
    ig_array *ig_##name(ig_array *x) { return elementwise(OP_##name, x, x); }
#define BINARY(name, accepts, result, expr, ...) \
    ig_array *ig_##name(ig_array *x1, ig_array *x2) { return elementwise(OP_##name, x1, x2); }
#include "engine/ops/ops.def"

ig_array *ig_where(ig_array *condition, ig_array *x1, ig_array *x2)
{
    return ONE(where, ARRAY(condition), ARRAY(x1), ARRAY(x2));
}

ig_array *ig_clip(ig_array *x, ig_array *min, ig_array *max)
{
    return ONE(clip, ARRAY(x), OPTIONAL(min), OPTIONAL(max));
}

ig_array *ig_astype(ig_array *x, ig_dtype dtype) { return ONE(astype, ARRAY(x), DTYPE(dtype)); }

ig_array *ig_all(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(all, ARRAY(x), INTS(axis), BOOL(keepdims));
}

ig_array *ig_any(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(any, ARRAY(x), INTS(axis), BOOL(keepdims));
}

ig_array *ig_argmax(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(argmax, ARRAY(x), AXIS(axis), BOOL(keepdims));
}

ig_array *ig_argmin(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(argmin, ARRAY(x), AXIS(axis), BOOL(keepdims));
}

ig_array *ig_count_nonzero(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(count_nonzero, ARRAY(x), INTS(axis), BOOL(keepdims));
}

ig_array *ig_logsumexp(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(logsumexp, ARRAY(x), INTS(axis), BOOL(keepdims));
}

ig_array *ig_mean(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(mean, ARRAY(x), INTS(axis), BOOL(keepdims));
}

ig_array *ig_std(ig_array *x, ig_ints axis, double correction, bool keepdims)
{
    return ONE(std, ARRAY(x), INTS(axis), FLOAT(correction), BOOL(keepdims));
}

ig_array *ig_var(ig_array *x, ig_ints axis, double correction, bool keepdims)
{
    return ONE(var, ARRAY(x), INTS(axis), FLOAT(correction), BOOL(keepdims));
}

ig_array *ig_cumulative_sum(ig_array *x, ig_ints axis, ig_dtype dtype, bool include_initial)
{
    return ONE(cumulative_sum, ARRAY(x), AXIS(axis), DTYPE(dtype), BOOL(include_initial));
}

ig_array *ig_cumulative_prod(ig_array *x, ig_ints axis, ig_dtype dtype, bool include_initial)
{
    return ONE(cumulative_prod, ARRAY(x), AXIS(axis), DTYPE(dtype), BOOL(include_initial));
}

ig_array *ig_cumulative_max(ig_array *x, ig_ints axis)
{
    return ONE(cumulative_max, ARRAY(x), AXIS(axis));
}

ig_array *ig_cumulative_min(ig_array *x, ig_ints axis)
{
    return ONE(cumulative_min, ARRAY(x), AXIS(axis));
}

ig_array *ig_diff(ig_array *x, int axis, int n, ig_array *prepend, ig_array *append)
{
    return ONE(diff, ARRAY(x), INT(axis), INT(n), OPTIONAL(prepend), OPTIONAL(append));
}

ig_array *ig_broadcast_to(ig_array *x, ig_ints shape)
{
    return ONE(broadcast_to, ARRAY(x), INTS(shape));
}

int ig_broadcast_arrays(ig_array *const *arrays, int n, ig_array **out)
{
    return MANY(broadcast_arrays, out, n, ARRAYS(arrays, n));
}

ig_array *ig_concat(ig_array *const *arrays, int n, ig_ints axis)
{
    return ONE(concat, ARRAYS(arrays, n), AXIS(axis));
}

ig_array *ig_diagonal(ig_array *x, int64_t offset) { return ONE(diagonal, ARRAY(x), INT(offset)); }

ig_array *ig_expand_dims(ig_array *x, ig_ints axis)
{
    return ONE(expand_dims, ARRAY(x), INTS(axis));
}

ig_array *ig_flip(ig_array *x, ig_ints axis) { return ONE(flip, ARRAY(x), INTS(axis)); }

ig_array *ig_matrix_transpose(ig_array *x) { return ONE(matrix_transpose, ARRAY(x)); }

int ig_meshgrid(ig_array *const *arrays, int n, const char *indexing, ig_array **out)
{
    return MANY(meshgrid, out, n, ARRAYS(arrays, n), STRING(indexing));
}

ig_array *ig_moveaxis(ig_array *x, ig_ints source, ig_ints destination)
{
    return ONE(moveaxis, ARRAY(x), INTS(source), INTS(destination));
}

ig_array *ig_pad(ig_array *x, ig_ints pad_width, const char *mode, ig_array *value)
{
    return ONE(pad, ARRAY(x), INTS(pad_width), STRING(mode), OPTIONAL(value));
}

ig_array *ig_permute_dims(ig_array *x, ig_ints axes)
{
    return ONE(permute_dims, ARRAY(x), INTS(axes));
}

ig_array *ig_repeat(ig_array *x, ig_array *repeats, ig_ints axis)
{
    return ONE(repeat, ARRAY(x), ARRAY(repeats), AXIS(axis));
}

ig_array *ig_reshape(ig_array *x, ig_ints shape) { return ONE(reshape, ARRAY(x), INTS(shape)); }

ig_array *ig_roll(ig_array *x, ig_ints shift, ig_ints axis)
{
    return ONE(roll, ARRAY(x), INTS(shift), INTS(axis));
}

ig_array *ig_slice(ig_array *x, ig_ints start, ig_ints stop, ig_ints step)
{
    return ONE(slice, ARRAY(x), INTS(start), INTS(stop), INTS(step));
}

ig_array *ig_slice_update(ig_array *x, ig_array *update, ig_ints start, ig_ints step)
{
    return ONE(slice_update, ARRAY(x), ARRAY(update), INTS(start), INTS(step));
}

int ig_split(ig_array *x, ig_ints indices_or_sections, int axis, ig_array **out, int max_out)
{
    return MANY(split, out, max_out, ARRAY(x), INTS(indices_or_sections), INT(axis));
}

ig_array *ig_squeeze(ig_array *x, ig_ints axis) { return ONE(squeeze, ARRAY(x), INTS(axis)); }

ig_array *ig_stack(ig_array *const *arrays, int n, int axis)
{
    return ONE(stack, ARRAYS(arrays, n), INT(axis));
}

ig_array *ig_tile(ig_array *x, ig_ints repetitions)
{
    return ONE(tile, ARRAY(x), INTS(repetitions));
}

int ig_unstack(ig_array *x, int axis, ig_array **out, int max_out)
{
    return MANY(unstack, out, max_out, ARRAY(x), INT(axis));
}

ig_array *ig_gather(ig_array *x, ig_array *indices, int axis)
{
    return ONE(gather, ARRAY(x), ARRAY(indices), INT(axis));
}

ig_array *ig_isin(ig_array *x1, ig_array *x2, bool invert)
{
    return ONE(isin, ARRAY(x1), ARRAY(x2), BOOL(invert));
}

ig_array *ig_mask_select(ig_array *x, ig_array *mask)
{
    return ONE(mask_select, ARRAY(x), ARRAY(mask));
}

int ig_nonzero(ig_array *x, ig_array **out, int max_out)
{
    return MANY(nonzero, out, max_out, ARRAY(x));
}

ig_array *ig_one_hot(ig_array *x, int64_t num_classes, ig_dtype dtype)
{
    return ONE(one_hot, ARRAY(x), INT(num_classes), DTYPE(dtype));
}

ig_array *ig_argsort(ig_array *x, int axis, bool descending, bool stable)
{
    return ONE(argsort, ARRAY(x), INT(axis), BOOL(descending), BOOL(stable));
}

ig_array *ig_scatter(ig_array *x, ig_array *indices, ig_array *updates, int axis)
{
    return ONE(scatter, ARRAY(x), ARRAY(indices), ARRAY(updates), INT(axis));
}

ig_array *ig_scatter_add(ig_array *x, ig_array *indices, ig_array *updates, int axis)
{
    return ONE(scatter_add, ARRAY(x), ARRAY(indices), ARRAY(updates), INT(axis));
}

ig_array *ig_searchsorted(ig_array *x1, ig_array *x2, const char *side, ig_array *sorter)
{
    return ONE(searchsorted, ARRAY(x1), ARRAY(x2), STRING(side), OPTIONAL(sorter));
}

ig_array *ig_sort(ig_array *x, int axis, bool descending, bool stable)
{
    return ONE(sort, ARRAY(x), INT(axis), BOOL(descending), BOOL(stable));
}

ig_array *ig_take(ig_array *x, ig_array *indices, ig_ints axis)
{
    return ONE(take, ARRAY(x), ARRAY(indices), AXIS(axis));
}

ig_array *ig_take_along_axis(ig_array *x, ig_array *indices, int axis)
{
    return ONE(take_along_axis, ARRAY(x), ARRAY(indices), INT(axis));
}

int ig_topk(ig_array *x, int64_t k, int axis, ig_array *out[2])
{
    return MANY(topk, out, 2, ARRAY(x), INT(k), INT(axis));
}

int ig_unique_all(ig_array *x, ig_array *out[4]) { return MANY(unique_all, out, 4, ARRAY(x)); }

int ig_unique_counts(ig_array *x, ig_array *out[2])
{
    return MANY(unique_counts, out, 2, ARRAY(x));
}

int ig_unique_inverse(ig_array *x, ig_array *out[2])
{
    return MANY(unique_inverse, out, 2, ARRAY(x));
}

ig_array *ig_unique_values(ig_array *x) { return ONE(unique_values, ARRAY(x)); }

ig_array *ig_matmul(ig_array *x1, ig_array *x2) { return ONE(matmul, ARRAY(x1), ARRAY(x2)); }

ig_array *ig_tensordot(ig_array *x1, ig_array *x2, ig_ints axes)
{
    return ONE(tensordot, ARRAY(x1), ARRAY(x2), INTS(axes));
}

ig_array *ig_vecdot(ig_array *x1, ig_array *x2, int axis)
{
    return ONE(vecdot, ARRAY(x1), ARRAY(x2), INT(axis));
}

ig_array *ig_einsum(const char *subscripts, ig_array *const *arrays, int n)
{
    return ONE(einsum, STRING(subscripts), ARRAYS(arrays, n));
}

ig_array *ig_outer(ig_array *x1, ig_array *x2) { return ONE(outer, ARRAY(x1), ARRAY(x2)); }

ig_array *ig_conv1d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride, ig_ints padding,
                    ig_ints dilation, int groups)
{
    return ONE(conv1d, ARRAY(x), ARRAY(weight), OPTIONAL(bias), INTS(stride), INTS(padding),
               INTS(dilation), INT(groups));
}

ig_array *ig_conv2d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride, ig_ints padding,
                    ig_ints dilation, int groups)
{
    return ONE(conv2d, ARRAY(x), ARRAY(weight), OPTIONAL(bias), INTS(stride), INTS(padding),
               INTS(dilation), INT(groups));
}

ig_array *ig_conv3d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride, ig_ints padding,
                    ig_ints dilation, int groups)
{
    return ONE(conv3d, ARRAY(x), ARRAY(weight), OPTIONAL(bias), INTS(stride), INTS(padding),
               INTS(dilation), INT(groups));
}

ig_array *ig_conv_transpose1d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                              ig_ints padding, ig_ints output_padding, int groups, ig_ints dilation)
{
    return ONE(conv_transpose1d, ARRAY(x), ARRAY(weight), OPTIONAL(bias), INTS(stride),
               INTS(padding), INTS(output_padding), INT(groups), INTS(dilation));
}

ig_array *ig_conv_transpose2d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                              ig_ints padding, ig_ints output_padding, int groups, ig_ints dilation)
{
    return ONE(conv_transpose2d, ARRAY(x), ARRAY(weight), OPTIONAL(bias), INTS(stride),
               INTS(padding), INTS(output_padding), INT(groups), INTS(dilation));
}

ig_array *ig_conv_transpose3d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                              ig_ints padding, ig_ints output_padding, int groups, ig_ints dilation)
{
    return ONE(conv_transpose3d, ARRAY(x), ARRAY(weight), OPTIONAL(bias), INTS(stride),
               INTS(padding), INTS(output_padding), INT(groups), INTS(dilation));
}

ig_array *ig_max_pool1d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                        ig_ints dilation, bool ceil_mode)
{
    return ONE(max_pool1d, ARRAY(x), INTS(kernel_size), INTS(stride), INTS(padding), INTS(dilation),
               BOOL(ceil_mode));
}

ig_array *ig_max_pool2d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                        ig_ints dilation, bool ceil_mode)
{
    return ONE(max_pool2d, ARRAY(x), INTS(kernel_size), INTS(stride), INTS(padding), INTS(dilation),
               BOOL(ceil_mode));
}

ig_array *ig_max_pool3d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                        ig_ints dilation, bool ceil_mode)
{
    return ONE(max_pool3d, ARRAY(x), INTS(kernel_size), INTS(stride), INTS(padding), INTS(dilation),
               BOOL(ceil_mode));
}

ig_array *ig_avg_pool1d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                        bool ceil_mode, bool count_include_pad)
{
    return ONE(avg_pool1d, ARRAY(x), INTS(kernel_size), INTS(stride), INTS(padding),
               BOOL(ceil_mode), BOOL(count_include_pad));
}

ig_array *ig_avg_pool2d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                        bool ceil_mode, bool count_include_pad)
{
    return ONE(avg_pool2d, ARRAY(x), INTS(kernel_size), INTS(stride), INTS(padding),
               BOOL(ceil_mode), BOOL(count_include_pad));
}

ig_array *ig_avg_pool3d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                        bool ceil_mode, bool count_include_pad)
{
    return ONE(avg_pool3d, ARRAY(x), INTS(kernel_size), INTS(stride), INTS(padding),
               BOOL(ceil_mode), BOOL(count_include_pad));
}

ig_array *ig_adaptive_avg_pool1d(ig_array *x, ig_ints output_size)
{
    return ONE(adaptive_avg_pool1d, ARRAY(x), INTS(output_size));
}

ig_array *ig_adaptive_avg_pool2d(ig_array *x, ig_ints output_size)
{
    return ONE(adaptive_avg_pool2d, ARRAY(x), INTS(output_size));
}

ig_array *ig_adaptive_avg_pool3d(ig_array *x, ig_ints output_size)
{
    return ONE(adaptive_avg_pool3d, ARRAY(x), INTS(output_size));
}

ig_array *ig_arange(double start, double stop, double step, ig_dtype dtype)
{
    return ONE(arange, NUMBER(start), NUMBER(stop), NUMBER(step), DTYPE(dtype));
}

ig_array *ig_empty(ig_ints shape, ig_dtype dtype) { return ONE(empty, INTS(shape), DTYPE(dtype)); }

ig_array *ig_empty_like(ig_array *x, ig_dtype dtype)
{
    return ONE(empty_like, ARRAY(x), DTYPE(dtype));
}

ig_array *ig_eye(int64_t n_rows, int64_t n_cols, int64_t k, ig_dtype dtype)
{
    return ONE(eye, INT(n_rows), n_cols < 0 ? NOTHING : INT(n_cols), INT(k), DTYPE(dtype));
}

ig_array *ig_full(ig_ints shape, ig_array *fill_value, ig_dtype dtype)
{
    return ONE(full, INTS(shape), ARRAY(fill_value), DTYPE(dtype));
}

ig_array *ig_full_like(ig_array *x, ig_array *fill_value, ig_dtype dtype)
{
    return ONE(full_like, ARRAY(x), ARRAY(fill_value), DTYPE(dtype));
}

ig_array *ig_linspace(double start, double stop, int64_t num, ig_dtype dtype, bool endpoint)
{
    return ONE(linspace, FLOAT(start), FLOAT(stop), INT(num), DTYPE(dtype), BOOL(endpoint));
}

ig_array *ig_ones(ig_ints shape, ig_dtype dtype) { return ONE(ones, INTS(shape), DTYPE(dtype)); }

ig_array *ig_ones_like(ig_array *x, ig_dtype dtype)
{
    return ONE(ones_like, ARRAY(x), DTYPE(dtype));
}

ig_array *ig_tril(ig_array *x, int64_t k) { return ONE(tril, ARRAY(x), INT(k)); }

ig_array *ig_triu(ig_array *x, int64_t k) { return ONE(triu, ARRAY(x), INT(k)); }

ig_array *ig_zeros(ig_ints shape, ig_dtype dtype) { return ONE(zeros, INTS(shape), DTYPE(dtype)); }

ig_array *ig_zeros_like(ig_array *x, ig_dtype dtype)
{
    return ONE(zeros_like, ARRAY(x), DTYPE(dtype));
}

ig_array *ig_key(uint64_t seed, const char *generator)
{
    return ONE(key, INT((int64_t)seed), STRING(generator));
}

ig_array *ig_split_key(ig_array *key, int64_t num) { return ONE(split_key, ARRAY(key), INT(num)); }

ig_array *ig_fold_in(ig_array *key, int64_t data) { return ONE(fold_in, ARRAY(key), INT(data)); }

ig_array *ig_bits(ig_array *key, ig_ints shape, ig_dtype dtype)
{
    return ONE(bits, ARRAY(key), INTS(shape), DTYPE(dtype));
}

ig_array *ig_uniform(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *minval,
                     ig_array *maxval)
{
    return ONE(uniform, ARRAY(key), INTS(shape), DTYPE(dtype), OPTIONAL(minval), OPTIONAL(maxval));
}

ig_array *ig_normal(ig_array *key, ig_ints shape, ig_dtype dtype)
{
    return ONE(normal, ARRAY(key), INTS(shape), DTYPE(dtype));
}

ig_array *ig_randint(ig_array *key, ig_ints shape, int64_t minval, int64_t maxval, ig_dtype dtype)
{
    return ONE(randint, ARRAY(key), INTS(shape), INT(minval), INT(maxval), DTYPE(dtype));
}

ig_array *ig_bernoulli(ig_array *key, ig_array *p, ig_ints shape)
{
    return ONE(bernoulli, ARRAY(key), OPTIONAL(p), INTS(shape));
}

ig_array *ig_categorical(ig_array *key, ig_array *logits, int axis, ig_ints shape)
{
    return ONE(categorical, ARRAY(key), ARRAY(logits), INT(axis), INTS(shape));
}

ig_array *ig_permutation(ig_array *key, ig_array *x, int axis)
{
    return ONE(permutation, ARRAY(key), ARRAY(x), INT(axis));
}

ig_array *ig_relu(ig_array *x) { return ONE(relu, ARRAY(x)); }

ig_array *ig_leaky_relu(ig_array *x, double negative_slope)
{
    return ONE(leaky_relu, ARRAY(x), FLOAT(negative_slope));
}

ig_array *ig_elu(ig_array *x, double alpha) { return ONE(elu, ARRAY(x), FLOAT(alpha)); }

ig_array *ig_gelu(ig_array *x, const char *approximate)
{
    return ONE(gelu, ARRAY(x), STRING(approximate));
}

ig_array *ig_silu(ig_array *x) { return ONE(silu, ARRAY(x)); }

ig_array *ig_softplus(ig_array *x) { return ONE(softplus, ARRAY(x)); }

ig_array *ig_softmax(ig_array *x, ig_ints axis) { return ONE(softmax, ARRAY(x), INTS(axis)); }

ig_array *ig_log_softmax(ig_array *x, ig_ints axis)
{
    return ONE(log_softmax, ARRAY(x), INTS(axis));
}

ig_array *ig_layer_norm(ig_array *x, ig_array *weight, ig_array *bias, ig_ints axis, double eps)
{
    return ONE(layer_norm, ARRAY(x), OPTIONAL(weight), OPTIONAL(bias), INTS(axis), FLOAT(eps));
}

ig_array *ig_rms_norm(ig_array *x, ig_array *weight, ig_ints axis, double eps)
{
    return ONE(rms_norm, ARRAY(x), OPTIONAL(weight), INTS(axis), FLOAT(eps));
}

ig_array *ig_batch_norm(ig_array *x, ig_array *mean, ig_array *var, ig_array *weight,
                        ig_array *bias, double eps)
{
    return ONE(batch_norm, ARRAY(x), OPTIONAL(mean), OPTIONAL(var), OPTIONAL(weight),
               OPTIONAL(bias), FLOAT(eps));
}

ig_array *ig_group_norm(ig_array *x, int64_t num_groups, ig_array *weight, ig_array *bias,
                        double eps)
{
    return ONE(group_norm, ARRAY(x), INT(num_groups), OPTIONAL(weight), OPTIONAL(bias), FLOAT(eps));
}

ig_array *ig_stop_gradient(ig_array *x) { return ONE(stop_gradient, ARRAY(x)); }

ig_array *ig_to_device(ig_array *x, const char *device)
{
    return ONE(to_device, ARRAY(x), STRING(device));
}

ig_array *ig_dropout(ig_array *x, ig_array *key, double p)
{
    return ONE(dropout, ARRAY(x), ARRAY(key), FLOAT(p));
}

ig_array *ig_scaled_dot_product_attention(ig_array *query, ig_array *key, ig_array *value,
                                          ig_array *mask, bool is_causal, double scale)
{
    return ONE(scaled_dot_product_attention, ARRAY(query), ARRAY(key), ARRAY(value), OPTIONAL(mask),
               BOOL(is_causal), scale == 0 ? NOTHING : FLOAT(scale));
}

ig_array *ig_embedding(ig_array *indices, ig_array *weight)
{
    return ONE(embedding, ARRAY(indices), ARRAY(weight));
}

ig_array *ig_cross_entropy(ig_array *logits, ig_array *labels, int axis, const char *reduction)
{
    return ONE(cross_entropy, ARRAY(logits), ARRAY(labels), INT(axis), STRING(reduction));
}

ig_array *ig_mse(ig_array *x1, ig_array *x2, const char *reduction)
{
    return ONE(mse, ARRAY(x1), ARRAY(x2), STRING(reduction));
}

ig_array *ig_l1(ig_array *x1, ig_array *x2, const char *reduction)
{
    return ONE(l1, ARRAY(x1), ARRAY(x2), STRING(reduction));
}

ig_array *ig_huber(ig_array *x1, ig_array *x2, double delta, const char *reduction)
{
    return ONE(huber, ARRAY(x1), ARRAY(x2), FLOAT(delta), STRING(reduction));
}

ig_array *ig_bce_with_logits(ig_array *x1, ig_array *x2, const char *reduction)
{
    return ONE(bce_with_logits, ARRAY(x1), ARRAY(x2), STRING(reduction));
}

ig_array *ig_kl_div(ig_array *x1, ig_array *x2, const char *reduction)
{
    return ONE(kl_div, ARRAY(x1), ARRAY(x2), STRING(reduction));
}

ig_array *ig_sum(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims)
{
    return ONE(sum, ARRAY(x), INTS(axis), DTYPE(dtype), BOOL(keepdims));
}

ig_array *ig_prod(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims)
{
    return ONE(prod, ARRAY(x), INTS(axis), DTYPE(dtype), BOOL(keepdims));
}

ig_array *ig_max(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(max, ARRAY(x), INTS(axis), BOOL(keepdims));
}

ig_array *ig_min(ig_array *x, ig_ints axis, bool keepdims)
{
    return ONE(min, ARRAY(x), INTS(axis), BOOL(keepdims));
}
