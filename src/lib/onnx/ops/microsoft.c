/* com.microsoft: fused ops of transformers and convolutions. */
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"
#include "lib/onnx/ops/window.h"

#include <string.h>

/* ---- activations ---- */

void build_ms_gelu(onnx_call *c) { call_return(c, 0, ig_gelu(call_array(c, 0), "none")); }

void build_bias_gelu(onnx_call *c)
{
    call_return(c, 0, ig_gelu(ig_add(call_array(c, 0), call_array(c, 1)), "none"));
}

void build_fast_gelu(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    call_return(c, 0, ig_gelu(call_has(c, 1) ? ig_add(x, call_array(c, 1)) : x, "tanh"));
}

void build_quick_gelu(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const double alpha = call_attribute_float(c, "alpha", 1.702f);
    call_return(c, 0, ig_multiply(x, ig_sigmoid(ig_multiply(x, ig_float(alpha)))));
}

void build_scaled_silu(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const double alpha = call_attribute_float(c, "alpha", 1);
    x = ig_multiply(x, ig_sigmoid(ig_multiply(x, ig_float(alpha))));
    call_return(c, 0, call_has(c, 1) ? ig_multiply(x, call_array(c, 1)) : x);
}

void build_bias_split_gelu(onnx_call *c)
{
    ig_array *x = ig_add(call_array(c, 0), call_array(c, 1));
    const int64_t half = ig_dim(x, -1) / 2;
    call_return(c, 0,
                ig_multiply(part_slice(x, -1, 0, half),
                            ig_gelu(part_slice(x, -1, half, 2 * half), "none")));
}

void build_bias_add(onnx_call *c)
{
    call_return(c, 0, ig_add(ig_add(call_array(c, 0), call_array(c, 1)), call_array(c, 2)));
}

void build_bias_softmax(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *bias = call_array(c, 1);
    const int ndim = ig_ndim(x);
    const int axis = part_axis(c, "axis", call_attribute_int(c, "axis", 1), ndim);
    int64_t axes[IG_MAX_NDIM];
    if (!call_attribute_bool(c, "is_inner_broadcast", true) && ig_ndim(bias) < ndim)
        call_fail(c, IG_ERR_UNSUPPORTED, "is_inner_broadcast", "needs a bias of %d axes", ndim);
    for (int i = axis; i < ndim; i++)
        axes[i - axis] = i;
    call_return(c, 0, ig_softmax(ig_add(x, bias), (ig_ints){axes, ndim - axis}));
}

/* ---- matrix products and convolutions ---- */

/* A or B of FusedMatMul: the first axis moves before the last one, then the last two are swapped. */
static ig_array *turned(onnx_call *c, ig_array *x, const char *batch, const char *last)
{
    const bool batches = call_attribute_bool(c, batch, false),
               swaps = call_attribute_bool(c, last, false);
    if (batches && ig_ndim(x) > 2)
        x = ig_moveaxis(x, IG_AXES(0), IG_AXES(-2));
    return swaps && ig_ndim(x) > 1 ? ig_matrix_transpose(x) : x;
}

void build_fused_matmul(onnx_call *c)
{
    ig_array *a = turned(c, call_array(c, 0), "transBatchA", "transA");
    ig_array *b = turned(c, call_array(c, 1), "transBatchB", "transB");
    const double alpha = call_attribute_float(c, "alpha", 1);
    ig_array *y = ig_matmul(a, b);
    call_return(c, 0, alpha == 1 ? y : ig_multiply(y, ig_float(alpha)));
}

/* x after a named activation; alpha, beta: its parameters. */
static ig_array *activated(onnx_call *c, ig_array *x, const char *name, double alpha, double beta)
{
    if (strcmp(name, "") == 0)
        return x;
    if (strcmp(name, "Relu") == 0)
        return ig_relu(x);
    if (strcmp(name, "Tanh") == 0)
        return ig_tanh(x);
    if (strcmp(name, "Sigmoid") == 0)
        return ig_sigmoid(x);
    if (strcmp(name, "LeakyRelu") == 0)
        return ig_leaky_relu(x, alpha);
    if (strcmp(name, "Clip") == 0)
        return ig_clip(x, ig_float(alpha), ig_float(beta));
    if (strcmp(name, "HardSigmoid") == 0)
        return ig_clip(ig_add(ig_multiply(x, ig_float(alpha)), ig_float(beta)), ig_float(0),
                       ig_float(1));
    call_fail(c, IG_ERR_UNSUPPORTED, "activation", "'%.60s' is unknown", name);
    return NULL;
}

void build_fused_gemm(onnx_call *c)
{
    ig_array *a = call_array(c, 0), *b = call_array(c, 1);
    a = call_attribute_bool(c, "transA", false) ? ig_matrix_transpose(a) : a;
    b = call_attribute_bool(c, "transB", false) ? ig_matrix_transpose(b) : b;
    const double beta = call_attribute_float(c, "beta", 1);
    ig_array *y = ig_multiply(ig_matmul(a, b), ig_float(call_attribute_float(c, "alpha", 1)));
    if (call_has(c, 2))
        y = ig_add(y, ig_multiply(call_array(c, 2), ig_float(beta)));
    const char *name = call_attribute_text(c, "activation", "");
    const bool leaky = strcmp(name, "LeakyRelu") == 0;
    const double p = call_attribute_float(c, "activation_alpha", leaky ? 0.01 : 0.2);
    const double q = call_attribute_float(c, "activation_beta", 0.5);
    call_has_attribute(c, "activation_gamma");
    call_return(c, 0, activated(c, y, name, p, q));
}

/* Z is added before the activation. channels_last: of X, Z and the result. */
static void fused_conv(onnx_call *c, bool channels_last)
{
    ig_array *x = call_array(c, 0), *w = call_array(c, 1);
    if (channels_last)
        x = ig_moveaxis(x, IG_AXES(-1), IG_AXES(1));
    ig_array *y = window_conv(c, x, w, call_array_or_null(c, 2));
    if (channels_last)
        y = ig_moveaxis(y, IG_AXES(1), IG_AXES(-1));
    if (call_has(c, 3))
        y = ig_add(y, call_array(c, 3));
    int n = 0;
    const float *p = call_attribute_floats(c, "activation_params", &n);
    const char *name = call_attribute_text(c, "activation", "");
    if (ig_failed())
        return;
    const int needed = strcmp(name, "LeakyRelu") == 0                                  ? 1
                       : strcmp(name, "Clip") == 0 || strcmp(name, "HardSigmoid") == 0 ? 2
                                                                                       : 0;
    if (n < needed) {
        call_fail(c, IG_ERR_ARGUMENT, "activation_params", "has %d of %d numbers", n, needed);
        return;
    }
    call_return(c, 0, activated(c, y, name, n > 0 ? (double)p[0] : 0, n > 1 ? (double)p[1] : 0));
}

void build_fused_conv(onnx_call *c) { fused_conv(c, false); }

void build_nhwc_fused_conv(onnx_call *c) { fused_conv(c, true); }

void build_cdist(onnx_call *c)
{
    const bool root = call_attribute_choice(c, "metric", "sqeuclidean|euclidean") == 1;
    ig_array *a = ig_expand_dims(call_array(c, 0), IG_AXES(1)), *b = call_array(c, 1);
    ig_array *d = ig_sum(ig_square(ig_subtract(a, b)), IG_AXES(-1), IG_DTYPE_NONE, false);
    call_return(c, 0, root ? ig_sqrt(d) : d);
}

/* ---- norms ---- */

/* input + skip (+ bias), its norm over the last axis, times gamma (+ beta). */
static void skip_norm(onnx_call *c, bool rms, int bias)
{
    ig_array *x = call_array(c, 0), *gamma = call_array(c, 2);
    const ig_dtype dtype = ig_dtype_of(x), wide = part_wide(dtype);
    const double epsilon = call_attribute_float(c, "epsilon", 1e-12);
    ig_array *sum = ig_add(ig_astype(x, wide), ig_astype(call_array(c, 1), wide));
    if (call_has(c, bias))
        sum = ig_add(sum, ig_astype(call_array(c, bias), wide));
    ig_array *beta = !rms ? call_array_or_null(c, 3) : NULL;
    gamma = ig_astype(gamma, wide);
    if (ig_failed())
        return;
    ig_array *y =
        rms ? ig_rms_norm(sum, gamma, IG_AXES(-1), epsilon)
            : ig_layer_norm(sum, gamma, beta ? ig_astype(beta, wide) : NULL, IG_AXES(-1), epsilon);
    call_return(c, 0, ig_astype(y, dtype));
    call_return(c, 3, ig_astype(sum, dtype));
}

void build_skip_layer_norm(onnx_call *c) { skip_norm(c, false, 4); }

void build_skip_rms_norm(onnx_call *c) { skip_norm(c, true, 3); }

/* Sums of embeddings: ids, segments, tables of words, positions and segments, gamma, beta, mask, positions. */
void build_embed_layer_norm(onnx_call *c)
{
    ig_array *ids = call_array(c, 0), *segments = call_array_or_null(c, 1);
    const double epsilon = call_attribute_float(c, "epsilon", 1e-12);
    if (call_attribute_int(c, "mask_index_type", 0) > 1)
        call_fail(c, IG_ERR_UNSUPPORTED, "mask_index_type", "is not 0 or 1");
    if (!part_ndim(c, "input_ids", ids, 2))
        return;
    ig_array *places = call_has(c, 8) ? call_array(c, 8) : part_count(ig_dim(ids, 1));
    ig_array *sum = ig_add(ig_take(call_array(c, 2), ids, IG_AXES(0)),
                           ig_take(call_array(c, 3), places, IG_AXES(0)));
    if (segments && call_has(c, 4))
        sum = ig_add(sum, ig_take(call_array(c, 4), segments, IG_AXES(0)));
    call_return(c, 0, ig_layer_norm(sum, call_array(c, 5), call_array(c, 6), IG_AXES(-1), epsilon));
    call_return(c, 1,
                call_has(c, 7) ? ig_sum(call_array(c, 7), IG_AXES(1), IG_I32, false)
                               : ig_zeros(IG_SHAPE(ig_dim(ids, 0)), IG_I32));
    call_return(c, 2, sum);
}

/* X (N, H, W, C), or (N, C, H, W) without channels_last; activation 1 is silu. */
void build_ms_group_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const bool last = call_attribute_bool(c, "channels_last", true);
    const int64_t activation = call_attribute_int(c, "activation", 0),
                  groups = call_attribute_int(c, "groups", 1);
    const double epsilon = call_attribute_float(c, "epsilon", 1e-5);
    const ig_dtype dtype = ig_dtype_of(x), wide = part_wide(dtype);
    x = ig_astype(last ? ig_moveaxis(x, IG_AXES(-1), IG_AXES(1)) : x, wide);
    ig_array *y = ig_group_norm(x, groups, ig_astype(call_array(c, 1), wide),
                                ig_astype(call_array(c, 2), wide), epsilon);
    if (activation)
        y = ig_silu(y);
    call_return(c, 0, ig_astype(last ? ig_moveaxis(y, IG_AXES(1), IG_AXES(-1)) : y, dtype));
}

/* X (..., heads * C) normalized over groups of C, times scale (C) and an activation of the gate; all in f32. */
void build_gated_rms_norm(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *scale = call_array(c, 1), *gate = call_array(c, 2);
    const int activation = call_attribute_choice(c, "activation", "silu|swish|sigmoid");
    const double epsilon = call_attribute_float(c, "epsilon", 1e-6);
    const int64_t n = ig_size(scale);
    if (!x || !gate || n < 1)
        return;
    ig_array *y = ig_reshape(ig_astype(x, IG_F32), IG_SHAPE(-1, n));
    y = ig_reshape(ig_rms_norm(y, ig_astype(scale, IG_F32), IG_AXES(-1), epsilon), ig_shape(x));
    gate = ig_astype(gate, IG_F32);
    y = ig_multiply(y, activation == 2 ? ig_sigmoid(gate) : ig_silu(gate));
    call_return(c, 0, ig_astype(y, ig_dtype_of(x)));
}

void build_gated_add(onnx_call *c)
{
    call_return(c, 0, ig_add(call_array(c, 0), ig_multiply(call_array(c, 1), call_array(c, 2))));
}

/* ---- mixtures of experts ---- */

/* x (T, K) by the weights (E, N, K) of all experts, plus bias (E, N): (E, T, N). x may be (E, T, K). */
static ig_array *by_experts(onnx_call *c, ig_array *x, int weights, int bias)
{
    ig_array *y = ig_matmul(x, ig_matrix_transpose(call_array(c, weights)));
    return call_has(c, bias) ? ig_add(y, ig_expand_dims(call_array(c, bias), IG_AXES(1))) : y;
}

/* G * sigmoid(alpha * G) * (L + beta), with both clamped. */
static ig_array *swiglu(onnx_call *c, ig_array *g, ig_array *l)
{
    const double alpha = call_attribute_float(c, "activation_alpha", 1),
                 beta = call_attribute_float(c, "activation_beta", 0);
    const double limit = call_attribute_float(c, "swiglu_limit", 0);
    if (call_has_attribute(c, "swiglu_limit")) {
        g = ig_minimum(g, ig_float(limit));
        l = ig_clip(l, ig_float(-limit), ig_float(limit));
    }
    return ig_multiply(ig_multiply(g, ig_sigmoid(ig_multiply(g, ig_float(alpha)))),
                       ig_add(l, ig_float(beta)));
}

/* The hidden layer (E, T, inner) of all experts. */
static ig_array *experts_inner(onnx_call *c, ig_array *x)
{
    const int kind = call_attribute_choice(c, "activation_type", "relu|gelu|silu|swiglu|identity");
    const int64_t fusion = call_attribute_int(c, "swiglu_fusion", 0);
    static const char *const others[] = {"activation_alpha", "activation_beta", "swiglu_limit"};
    ig_array *h = by_experts(c, x, 2, 3);
    for (int i = 0; i < 3; i++)
        call_has_attribute(c, others[i]);
    if (kind == 3) {
        const int64_t half = ig_dim(h, -1) / 2;
        if (fusion == 0)
            return swiglu(c, h, by_experts(c, x, 6, 7));
        if (fusion == 1)
            return swiglu(c, part_every(h, -1, 0, 2), part_every(h, -1, 1, 2));
        return swiglu(c, part_slice(h, -1, 0, half), part_slice(h, -1, half, 2 * half));
    }
    h = kind == 0 ? ig_relu(h) : kind == 1 ? ig_gelu(h, "tanh") : kind == 2 ? ig_silu(h) : h;
    return call_has(c, 6) ? ig_multiply(h, by_experts(c, x, 6, 7)) : h;
}

/* The sum of the k best experts of each row, weighted. All experts are computed for all rows. */
void build_moe(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *router = call_array(c, 1), *best[2];
    const int64_t k = call_attribute_int(c, "k", 1);
    const bool normalize = call_attribute_bool(c, "normalize_routing_weights", false);
    if (call_attribute_bool(c, "use_sparse_mixer", false))
        call_fail(c, IG_ERR_UNSUPPORTED, "use_sparse_mixer", "is not supported");
    ig_array *rows = ig_reshape(x, IG_SHAPE(-1, ig_dim(x, -1)));
    ig_array *y = by_experts(c, experts_inner(c, rows), 4, 5);
    ig_array *weight = ig_softmax(ig_astype(router, IG_F32), IG_AXES(1));
    if (!y || !weight || !ig_topk(weight, k, 1, best))
        return;
    ig_array *chosen = best[0];
    if (normalize)
        chosen = ig_divide(chosen, ig_sum(chosen, IG_AXES(1), IG_DTYPE_NONE, true));
    weight = ig_scatter(ig_zeros_like(weight, IG_DTYPE_NONE), best[1], chosen, 1);
    weight = ig_expand_dims(ig_permute_dims(weight, IG_AXES(1, 0)), IG_AXES(2));
    y = ig_sum(ig_multiply(y, ig_astype(weight, ig_dtype_of(y))), IG_AXES(0), IG_DTYPE_NONE, false);
    call_return(c, 0, ig_reshape(ig_astype(y, ig_dtype_of(x)), ig_shape(x)));
}

/* ---- others ---- */

void build_ms_expand_dims(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    call_return(c, 0, ig_expand_dims(x, IG_AXES(call_int(c, 1, 0))));
}

void build_is_all_finite(onnx_call *c)
{
    const bool nan_only = call_attribute_bool(c, "isnan_only", false),
               inf_only = call_attribute_bool(c, "isinf_only", false);
    ig_array *all = NULL;
    for (int i = 0; i < call_inputs(c); i++) {
        ig_array *x = call_array(c, i);
        ig_array *bad = nan_only   ? ig_isnan(x)
                        : inf_only ? ig_isinf(x)
                                   : ig_logical_not(ig_isfinite(x));
        ig_array *good = ig_logical_not(ig_any(bad, IG_NONE, false));
        all = all ? ig_logical_and(all, good) : good;
    }
    call_return(c, 0, all);
}

/* Pairs of real and imaginary parts along the last axis. */
static void complex_product(onnx_call *c, bool conjugate)
{
    ig_array *a = call_array(c, 0), *b = call_array(c, 1);
    ig_array *ar = part_slice(a, -1, 0, 1), *ai = part_slice(a, -1, 1, 2),
             *br = part_slice(b, -1, 0, 1);
    ig_array *bi = part_slice(b, -1, 1, 2);
    bi = conjugate ? ig_negative(bi) : bi;
    ig_array *out[2] = {ig_subtract(ig_multiply(ar, br), ig_multiply(ai, bi)),
                        ig_add(ig_multiply(ar, bi), ig_multiply(ai, br))};
    call_return(c, 0, ig_concat(out, 2, IG_AXES(-1)));
}

void build_complex_mul(onnx_call *c) { complex_product(c, false); }

void build_complex_mul_conj(onnx_call *c) { complex_product(c, true); }
