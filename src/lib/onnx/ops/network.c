/* Softmax, normalizations, dropout and losses. */
#include "lib/onnx/ops/common.h"

/* ---- softmax -------------------------------------------------------------------------------- */

/* The input and the axis to work along. Before version 13 all axes from `axis` on are joined. */
static ig_array *softmax_input(onnx_call *c, int *axis)
{
    ig_array *x = call_array(c, 0);
    bool joins = call_version(c) < 13;
    if (x && ig_ndim(x) == 0)
        x = ig_reshape(x, IG_SHAPE(1));
    int64_t first = call_attribute_int(c, "axis", joins ? 1 : -1);
    if (joins && first == ig_ndim(x)) {
        *axis = 1;
        return ig_reshape(x, IG_SHAPE(ig_size(x), 1));
    }
    *axis = op_axis(c, first, ig_ndim(x));
    if (!joins || ig_failed())
        return x;
    ig_ints shape = ig_shape(x);
    int64_t rows = op_product(shape.v, *axis);
    int64_t columns = op_product(shape.v + *axis, shape.n - *axis);
    *axis = 1;
    return ig_reshape(x, IG_SHAPE(rows, columns));
}

static void return_shaped(onnx_call *c, ig_array *y)
{
    call_return(c, 0, ig_reshape(y, call_shape(c, 0)));
}

void build_softmax(onnx_call *c)
{
    int axis;
    ig_array *x = softmax_input(c, &axis);
    return_shaped(c, ig_softmax(x, IG_AXES(axis)));
}

void build_log_softmax(onnx_call *c)
{
    int axis;
    ig_array *x = softmax_input(c, &axis);
    return_shaped(c, ig_log_softmax(x, IG_AXES(axis)));
}

/* 1 at the first largest element, else 0. */
void build_hardmax(onnx_call *c)
{
    int axis;
    ig_array *x = softmax_input(c, &axis);
    int64_t shape[IG_MAX_NDIM];
    for (int i = 0; i < ig_ndim(x); i++)
        shape[i] = i == axis ? ig_dim(x, axis) : 1;
    if (ig_failed())
        return;
    ig_array *places =
        ig_reshape(op_iota(ig_dim(x, axis), IG_I64, x), (ig_ints){shape, ig_ndim(x)});
    ig_array *hot = ig_equal(places, ig_argmax(x, IG_AXES(axis), true));
    return_shaped(c, ig_astype(hot, ig_dtype_of(x)));
}

/* ---- normalizations ------------------------------------------------------------------------- */

/* The axes from `first` on. */
static ig_ints axes_from(onnx_call *c, int first, int ndim)
{
    int64_t *axes = call_room(c, ndim + 1);
    for (int i = first; i < ndim && axes; i++)
        axes[i - first] = i;
    return (ig_ints){axes, axes ? ndim - first : 0};
}

/* The dtype that statistics are computed in. */
static ig_dtype wide_dtype(ig_array *x) { return ig_dtype_of(x) == IG_F64 ? IG_F64 : IG_F32; }

/* x (N, C, ...), statistics and factors of each channel, or with spatial 0 of each place. */
static ig_array *normalize_by(onnx_call *c, ig_array *x, ig_array *mean, ig_array *var, double eps)
{
    ig_dtype dtype = ig_dtype_of(x), wide = wide_dtype(x);
    ig_array *weight = op_as(call_array(c, 1), wide), *bias = op_as(call_array(c, 2), wide);
    mean = op_as(mean, wide);
    var = op_as(var, wide);
    if (call_attribute_bool(c, "spatial", true))
        return op_as(ig_batch_norm(op_as(x, wide), mean, var, weight, bias, eps), dtype);
    ig_array *factor = ig_multiply(weight, ig_rsqrt(ig_plus(var, eps)));
    return op_as(ig_add(ig_multiply(ig_subtract(op_as(x, wide), mean), factor), bias), dtype);
}

static ig_array *running(ig_array *old, ig_array *now, double momentum)
{
    now = op_as(now, ig_dtype_of(old));
    return ig_add(ig_times(old, momentum), ig_times(now, 1 - momentum));
}

void build_batch_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *mean = call_array(c, 3), *var = call_array(c, 4);
    double eps = call_attribute_float(c, "epsilon", 1e-5f);
    double momentum = call_attribute_float(c, "momentum", 0.9f);
    bool trains = call_attribute_bool(c, "training_mode", false);
    call_ignore(c, "is_test");
    if (!trains) {
        for (int i = 1; i < call_outputs(c); i++)
            if (call_wants(c, i) && !ig_failed())
                call_fail(c, IG_ERR_UNSUPPORTED, NULL,
                          "statistics of training are wanted in inference");
        call_return(c, 0, normalize_by(c, x, mean, var, eps));
        return;
    }
    ig_ints axes = axes_from(c, 1, ig_ndim(x));
    if (axes.n)
        ((int64_t *)axes.v)[0] = 0;
    ig_array *wide = op_as(x, wide_dtype(x));
    ig_array *now = ig_mean(wide, axes, false), *spread = ig_var(wide, axes, 0, false);
    call_return(c, 0, normalize_by(c, x, now, spread, eps));
    call_return(c, 1, running(mean, now, momentum));
    call_return(c, 2, running(var, spread, momentum));
}

void build_instance_norm(onnx_call *c)
{
    double eps = call_attribute_float(c, "epsilon", 1e-5f);
    ig_array *x = call_array(c, 0), *weight = op_wide(call_array(c, 1));
    ig_array *y = ig_instance_norm(op_wide(x), weight, op_wide(call_array(c, 2)), eps);
    call_return(c, 0, op_as(y, ig_dtype_of(x)));
}

void build_layer_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *weight = call_array(c, 1), *bias = call_array_or_null(c, 2);
    double eps = call_attribute_float(c, "epsilon", 1e-5f);
    ig_dtype dtype = ig_dtype_of(x);
    ig_ints axes = axes_from(c, op_attribute_axis(c, -1, ig_ndim(x)), ig_ndim(x));
    ig_onnx_type stash = call_attribute_type(c, "stash_type", IG_ONNX_FLOAT);
    ig_dtype wide = ig_onnx_type_dtype(stash);
    if (dtype == IG_F64)
        wide = IG_F64;
    if (ig_failed())
        return;
    bool fits = dtype == wide && ig_ndim(weight) == axes.n && (!bias || ig_ndim(bias) == axes.n);
    for (int i = 0; i < axes.n && fits; i++)
        fits = ig_dim(weight, i) == ig_dim(x, (int)axes.v[i]) &&
               (!bias || ig_dim(bias, i) == ig_dim(x, (int)axes.v[i]));
    ig_array *y;
    if (fits) {
        y = ig_layer_norm(x, weight, bias, axes, eps);
    } else {
        y = ig_layer_norm(op_as(x, wide), NULL, NULL, axes, eps);
        y = ig_multiply(op_as(y, dtype), weight);
        y = bias ? ig_add(y, bias) : y;
    }
    call_return(c, 0, y);
    if (call_wants(c, 1))
        call_return(c, 1, ig_mean(op_as(x, wide), axes, true));
    if (call_wants(c, 2))
        call_return(c, 2, ig_rsqrt(ig_plus(ig_var(op_as(x, wide), axes, 0, true), eps)));
}

/* Before version 21 there is one factor for each group. */
static ig_array *group_factor(onnx_call *c, int i, int64_t groups, int64_t channels, ig_dtype dtype)
{
    ig_array *factor = op_as(call_array(c, i), dtype);
    if (call_version(c) >= 21 || groups < 1 || channels % groups)
        return factor;
    factor =
        ig_broadcast_to(ig_reshape(factor, IG_SHAPE(-1, 1)), IG_SHAPE(groups, channels / groups));
    return ig_reshape(factor, IG_SHAPE(channels));
}

void build_group_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    double eps = call_attribute_float(c, "epsilon", 1e-5f);
    int64_t channels = ig_dim(x, 1);
    int64_t groups =
        op_within(c, "num_groups", call_attribute_int(c, "num_groups", 0), 1, channels);
    ig_onnx_type stash = call_attribute_type(c, "stash_type", IG_ONNX_FLOAT);
    ig_dtype dtype = ig_dtype_of(x), wide = ig_onnx_type_dtype(stash);
    if (dtype == IG_F64)
        wide = IG_F64;
    if (ig_failed())
        return;
    ig_array *weight = group_factor(c, 1, groups, channels, wide);
    ig_array *bias = group_factor(c, 2, groups, channels, wide);
    call_return(c, 0, op_as(ig_group_norm(op_as(x, wide), groups, weight, bias, eps), dtype));
}

/* A vector of length 0 stays 0. */
void build_lp_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    int64_t p = call_attribute_int(c, "p", 2);
    int axis = op_attribute_axis(c, -1, ig_ndim(x));
    if (p != 1 && p != 2)
        call_fail(c, IG_ERR_UNSUPPORTED, "p", "is %lld, not 1 or 2", (long long)p);
    if (ig_failed())
        return;
    ig_array *wide = op_wide(x), *norm = ig_vector_norm(wide, IG_AXES(axis), true, (double)p);
    ig_array *y = ig_where(ig_equal(norm, ig_float(0)), ig_float(0), ig_divide(wide, norm));
    call_return(c, 0, op_as(y, ig_dtype_of(x)));
}

void build_mean_variance_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    ig_ints axes = call_attribute_ints(c, "axes");
    axes = axes.v ? axes : IG_AXES(0, 2, 3);
    ig_array *wide = op_wide(x), *spread = ig_plus(ig_std(wide, axes, 0, true), 1e-9f);
    ig_array *y = ig_divide(ig_subtract(wide, ig_mean(wide, axes, true)), spread);
    call_return(c, 0, op_as(y, ig_dtype_of(x)));
}

/* The op has one more channel before each element than after it if their number is even, and ONNX one more after it. */
void build_lrn(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    int64_t size = call_attribute_int(c, "size", 1);
    double alpha = call_attribute_float(c, "alpha", 1e-4f),
           bias = call_attribute_float(c, "bias", 1);
    double beta = call_attribute_float(c, "beta", 0.75f);
    const bool turns = size % 2 == 0;
    x = turns ? ig_flip(x, IG_AXES(1)) : x;
    ig_array *y = ig_local_response_norm(x, size, alpha, beta, bias);
    call_return(c, 0, turns ? ig_flip(y, IG_AXES(1)) : y);
}

/* ---- dropout -------------------------------------------------------------------------------- */

/* Inference only. The mask has the dtype of x before version 10. */
void build_dropout_old(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    call_ignore(c, "ratio");
    call_ignore(c, "is_test");
    call_return(c, 0, x);
    if (call_wants(c, 1))
        call_return(c, 1, ig_ones(ig_shape(x), call_version(c) < 10 ? ig_dtype_of(x) : IG_BOOL));
}

void build_dropout(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *mask = NULL;
    double ratio = call_float(c, 1, 0.5);
    bool has_seed = call_has_attribute(c, "seed");
    if (call_bool(c, 2, false) && ratio != 0) {
        ig_array *key = onnx_random_key(c, has_seed);
        mask = ig_bernoulli(key, ig_scalar(1 - ratio, IG_F32), ig_shape(x));
        x = ig_where(mask, ig_divide(x, ig_float(1 - ratio)), ig_float(0));
    }
    call_return(c, 0, x);
    if (call_wants(c, 1))
        call_return(c, 1, mask ? mask : ig_ones(ig_shape(x), IG_BOOL));
}

/* ---- losses --------------------------------------------------------------------------------- */

/* The weighted negative log probabilities (N, C, ...) at the classes (N, ...). */
static ig_array *nll_loss(onnx_call *c, ig_array *log_probs)
{
    enum { MEAN, SUM, NONE };
    ig_array *classes = ig_astype(call_array(c, 1), IG_I64), *weights = call_array_or_null(c, 2);
    int reduction = call_attribute_choice(c, "reduction", "mean|sum|none");
    ig_dtype dtype = ig_dtype_of(log_probs);
    ig_array *factors = NULL, *counts = NULL;
    if (call_has_attribute(c, "ignore_index")) {
        ig_array *ignored = ig_int(call_attribute_int(c, "ignore_index", 0));
        counts = ig_not_equal(classes, ignored);
        classes = ig_where(counts, classes, ig_int(0));
        factors = ig_astype(counts, dtype);
    }
    if (weights) {
        ig_array *picked = ig_take(weights, classes, IG_AXES(0));
        factors = counts ? ig_where(counts, picked, ig_float(0)) : picked;
    }
    ig_array *picked = ig_take_along_axis(log_probs, ig_expand_dims(classes, IG_AXES(1)), 1);
    ig_array *loss = ig_negative(ig_squeeze(picked, IG_AXES(1)));
    if (factors)
        loss = counts ? ig_where(counts, ig_multiply(loss, factors), ig_float(0))
                      : ig_multiply(loss, factors);
    if (reduction == NONE)
        return loss;
    if (reduction == MEAN && !factors)
        return ig_mean_all(loss);
    ig_array *sum = ig_sum_all(loss);
    return reduction == SUM ? sum : ig_divide(sum, ig_sum_all(factors));
}

void build_nll_loss(onnx_call *c) { call_return(c, 0, nll_loss(c, call_array(c, 0))); }

void build_softmax_loss(onnx_call *c)
{
    ig_array *log_probs = ig_log_softmax(call_array(c, 0), IG_AXES(1));
    call_return(c, 0, nll_loss(c, log_probs));
    if (call_wants(c, 1))
        call_return(c, 1, log_probs);
}
