/* Attention, its caches, positions and recurrences. */
#include "lib/onnx/ops/attention.h"

#include "lib/onnx/ops/ops.h"
#include "lib/onnx/ops/parts.h"
#include <math.h>

ig_array *attention_split(onnx_call *c, const char *name, ig_array *x, int64_t heads)
{
    if (!part_ndim(c, name, x, 3))
        return NULL;
    if (heads < 1 || ig_dim(x, 2) % heads != 0) {
        call_fail(c, IG_ERR_SHAPE, name, "%lld columns are not a multiple of %lld heads",
                  (long long)ig_dim(x, 2), (long long)heads);
        return NULL;
    }
    const ig_ints shape = IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), heads, ig_dim(x, 2) / heads);
    return ig_permute_dims(ig_reshape(x, shape), IG_AXES(0, 2, 1, 3));
}

ig_array *attention_merge(ig_array *x)
{
    const ig_ints shape = IG_SHAPE(ig_dim(x, 0), ig_dim(x, 2), ig_dim(x, 1) * ig_dim(x, 3));
    return ig_reshape(ig_permute_dims(x, IG_AXES(0, 2, 1, 3)), shape);
}

ig_array *attention_both(ig_array *a, ig_array *b)
{
    return !a ? b : !b ? a : ig_logical_and(a, b);
}

/* bool (T, S): query t attends to keys up to t + past. */
static ig_array *causal_mask(int64_t queries, int64_t keys, int64_t past)
{
    ig_array *last = ig_reshape(ig_arange((double)past, (double)(past + queries), 1, IG_I64),
                                IG_SHAPE(queries, 1));
    return ig_less_equal(part_count(keys), last);
}

/* x (N, G, S, D) @ y (N, H, ...): the heads of a group are rows of one product. */
static ig_array *grouped(ig_array *x, int64_t groups)
{
    return ig_reshape(
        x, IG_SHAPE(ig_dim(x, 0), groups, ig_dim(x, 1) / groups * ig_dim(x, 2), ig_dim(x, 3)));
}

/* True if the mask is the same for all heads and queries. */
static bool is_of_keys(const ig_array *mask)
{
    const int n = ig_ndim(mask);
    return (n < 2 || ig_dim(mask, n - 2) == 1) && (n < 3 || ig_dim(mask, n - 3) == 1);
}

/* The same by Ingot's op, which has its own kernels; NULL if it does not apply. */
static ig_array *whole(const attention *a, ig_array *allow, int64_t groups)
{
    const int64_t heads = ig_dim(a->q, 1);
    ig_array *mask = allow ? allow : a->bias;
    if (a->keep || a->softcap != 0 || a->scale == 0 || a->sink || a->softmax != IG_DTYPE_NONE ||
        (allow && a->bias))
        return NULL;
    if (heads != groups && (a->causal || (mask && !is_of_keys(mask))))
        return NULL;
    ig_array *y = ig_scaled_dot_product_attention(heads == groups ? a->q : grouped(a->q, groups),
                                                  a->k, a->v, mask, a->causal, a->scale);
    return ig_reshape(y, IG_SHAPE(ig_dim(a->q, 0), heads, ig_dim(a->q, 2), ig_dim(a->v, 3)));
}

/* softmax along the last axis; zeros for a row of -inf. sink (H) or NULL: one more score for each row of a head. */
static ig_array *softmax_rows(ig_array *x, ig_array *sink)
{
    if (!x || ig_size(x) == 0)
        return x;
    if (sink) {
        const int64_t n = ig_dim(x, 3);
        const ig_ints column = IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), ig_dim(x, 2), 1);
        sink = ig_broadcast_to(part_along(ig_astype(sink, ig_dtype_of(x)), 4, 1), column);
        return part_slice(ig_softmax(part_join(x, sink, 3), IG_AXES(3)), 3, 0, n);
    }
    ig_array *none = ig_equal(ig_max(x, IG_AXES(-1), true), ig_float(-INFINITY));
    return ig_where(none, ig_float(0), ig_softmax(x, IG_AXES(-1)));
}

static ig_array *by_stages(attention *a, ig_array *allow, int64_t groups)
{
    const double root = sqrt(fabs(a->scale)), sign = a->scale < 0 ? -1 : 1;
    const int64_t n = ig_dim(a->q, 0), heads = ig_dim(a->q, 1), rows = ig_dim(a->q, 2);
    ig_array *q = grouped(ig_multiply(a->q, ig_float(root * sign)), groups);
    ig_array *s = ig_matmul(q, ig_matrix_transpose(ig_multiply(a->k, ig_float(root))));
    s = a->stages[0] = ig_reshape(s, IG_SHAPE(n, heads, rows, ig_dim(a->k, 2)));
    if (a->softcap != 0)
        s = ig_multiply(ig_tanh(ig_divide(s, ig_float(a->softcap))), ig_float(a->softcap));
    a->stages[1] = s;
    if (a->bias)
        s = ig_add(s, ig_astype(a->bias, ig_dtype_of(s)));
    if (allow)
        s = ig_where(allow, s, ig_float(-INFINITY));
    a->stages[2] = s;
    if (a->softmax != IG_DTYPE_NONE)
        s = ig_astype(s, a->softmax);
    s = a->stages[3] = softmax_rows(s, a->sink);
    ig_array *y = ig_matmul(grouped(s, groups), ig_astype(a->v, ig_dtype_of(s)));
    return ig_reshape(y, IG_SHAPE(n, heads, rows, ig_dim(a->v, 3)));
}

ig_array *attention_apply(attention *a)
{
    if (!a->q || !a->k || !a->v || ig_failed())
        return NULL;
    const int64_t heads = ig_dim(a->q, 1), groups = ig_dim(a->k, 1);
    if (groups < 1 || heads % groups != 0 || ig_dim(a->v, 1) != groups ||
        ig_dim(a->k, 2) != ig_dim(a->v, 2) || ig_dim(a->k, 3) != ig_dim(a->q, 3)) {
        ig_fail(IG_ERR_SHAPE, "attention: query, key and value do not match");
        return NULL;
    }
    ig_array *allow = a->allow;
    if (a->causal && (a->past != 0 || allow || a->bias || a->keep || a->softcap != 0 ||
                      heads != groups || a->sink || a->softmax != IG_DTYPE_NONE || a->scale == 0)) {
        allow = attention_both(allow, causal_mask(ig_dim(a->q, 2), ig_dim(a->k, 2), a->past));
        a->causal = false;
    }
    ig_array *y = whole(a, allow, groups);
    return ig_astype(y || ig_failed() ? y : by_stages(a, allow, groups), ig_dtype_of(a->q));
}

/* ---- Attention ---- */

/* A mask with fewer columns than keys is padded: no query attends to the rest. */
static ig_array *widened(ig_array *mask, int64_t keys)
{
    const int n = ig_ndim(mask);
    int64_t width[2 * IG_MAX_NDIM] = {0};
    if (n == 0 || ig_dim(mask, -1) >= keys || ig_dim(mask, -1) == 1)
        return mask;
    width[2 * n - 1] = keys - ig_dim(mask, -1);
    return ig_pad(mask, (ig_ints){width, 2 * n}, "constant",
                  ig_dtype_of(mask) == IG_BOOL ? ig_bool(false) : ig_float(-INFINITY));
}

/* bool (N, 1, 1, S): keys before the end of each sequence. */
static ig_array *keys_before(ig_array *lengths, int64_t keys)
{
    ig_array *ends = ig_reshape(ig_astype(lengths, IG_I64), IG_SHAPE(ig_size(lengths), 1, 1, 1));
    return ig_less(part_count(keys), ends);
}

static void read_masks(onnx_call *c, attention *a)
{
    const int64_t keys = ig_dim(a->k, 2);
    ig_array *mask = call_array_or_null(c, 3), *lengths = call_array_or_null(c, 6);
    if (mask) {
        mask = widened(mask, keys);
        *(ig_dtype_of(mask) == IG_BOOL ? &a->allow : &a->bias) = mask;
    }
    if (lengths)
        a->allow = attention_both(a->allow, keys_before(lengths, keys));
}

void build_attention(onnx_call *c)
{
    attention a = {.q = call_array(c, 0), .k = call_array(c, 1), .v = call_array(c, 2)};
    const int64_t heads = call_attribute_int(c, "q_num_heads", 0);
    const int64_t groups = call_attribute_int(c, "kv_num_heads", 0);
    const bool flat = ig_ndim(a.q) == 3;
    if (flat) {
        a.q = attention_split(c, "Q", a.q, heads);
        a.k = attention_split(c, "K", a.k, groups);
        a.v = attention_split(c, "V", a.v, groups);
    }
    if (!part_ndim(c, "Q", a.q, 4) || !part_ndim(c, "K", a.k, 4) || !part_ndim(c, "V", a.v, 4))
        return;
    if (call_has(c, 4))
        a.past = ig_dim(call_array(c, 4), 2);
    a.k = part_join(call_array_or_null(c, 4), a.k, 2);
    a.v = part_join(call_array_or_null(c, 5), a.v, 2);
    a.scale = call_attribute_float(c, "scale", 1 / sqrt((double)ig_dim(a.q, 3)));
    a.softcap = call_attribute_float(c, "softcap", 0);
    a.causal = call_attribute_bool(c, "is_causal", false);
    const ig_onnx_type type = call_attribute_type(c, "softmax_precision", IG_ONNX_UNDEFINED);
    if (type != IG_ONNX_UNDEFINED && ig_onnx_type_dtype(type) != ig_dtype_of(a.q))
        a.softmax = ig_onnx_type_dtype(type);
    const int64_t mode = call_attribute_int(c, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) {
        call_fail(c, IG_ERR_ARGUMENT, "qk_matmul_output_mode", "is not 0, 1, 2 or 3");
        return;
    }
    read_masks(c, &a);
    a.keep = call_wants(c, 3);
    ig_array *y = attention_apply(&a);
    call_return(c, 0, flat ? attention_merge(y) : y);
    call_return(c, 1, a.k);
    call_return(c, 2, a.v);
    if (a.keep)
        call_return(c, 3, ig_astype(a.stages[mode], ig_dtype_of(a.q)));
}

/* ---- FlexAttention ---- */

/* x after a subgraph with one input and one output. */
static ig_array *modified(onnx_call *c, const char *name, ig_array *x)
{
    ig_onnx_value *out = NULL;
    if (!call_has_attribute(c, name) || !x)
        return x;
    onnx_graph *body = call_attribute_graph(c, name);
    if (body && (body->n_inputs != 1 || body->n_outputs != 1))
        call_fail(c, IG_ERR_ARGUMENT, name, "must have one input and one output");
    ig_onnx_value *in = ig_failed() ? NULL : value_array(x, onnx_type_of(ig_dtype_of(x)));
    ig_array *y = NULL;
    if (in) {
        in->varies = true;
        if (call_run(c, body, &in, 1, &out))
            y = ig_onnx_value_get(out);
    }
    if (y && ig_dtype_of(y) != ig_dtype_of(x))
        y = ig_astype(y, ig_dtype_of(x));
    else if (y)
        y = ig_positive(y); /* an array of this scope: the value's own reference ends here */
    ig_onnx_value_release(in);
    ig_onnx_value_release(out);
    return y;
}

void build_flex_attention(onnx_call *c)
{
    ig_array *q = call_array(c, 0), *k = call_array(c, 1), *v = call_array(c, 2);
    if (!part_ndim(c, "Q", q, 4) || !part_ndim(c, "K", k, 4) || !part_ndim(c, "V", v, 4))
        return;
    const double scale = call_attribute_float(c, "scale", 1 / sqrt((double)ig_dim(q, 3)));
    const int64_t groups = ig_dim(k, 1), heads = ig_dim(q, 1);
    if (groups < 1 || heads % groups != 0 || scale < 0) {
        call_fail(c, IG_ERR_SHAPE, "K", "query heads are not a multiple of key heads");
        return;
    }
    const ig_onnx_type type = call_attribute_type(c, "softmax_precision", IG_ONNX_UNDEFINED);
    const ig_dtype dtype =
        type != IG_ONNX_UNDEFINED ? ig_onnx_type_dtype(type) : part_wide(ig_dtype_of(q));
    ig_array *root = ig_float(sqrt(scale));
    ig_array *s =
        ig_matmul(grouped(ig_multiply(q, root), groups), ig_matrix_transpose(ig_multiply(k, root)));
    s = ig_reshape(s, IG_SHAPE(ig_dim(q, 0), heads, ig_dim(q, 2), ig_dim(k, 2)));
    s = modified(c, "score_mod", ig_astype(s, dtype));
    s = modified(c, "prob_mod", ig_softmax(s, IG_AXES(-1)));
    ig_array *y = ig_matmul(grouped(s, groups), ig_astype(v, dtype));
    y = ig_reshape(y, IG_SHAPE(ig_dim(q, 0), heads, ig_dim(q, 2), ig_dim(v, 3)));
    call_return(c, 0, ig_astype(y, ig_dtype_of(v)));
}

/* ---- RotaryEmbedding ---- */

ig_array *attention_rotate(ig_array *x, ig_array *cosine, ig_array *sine, bool interleaved)
{
    const int64_t n = ig_dim(x, -1);
    ig_array *a = interleaved ? part_every(x, -1, 0, 2) : part_slice(x, -1, 0, n / 2);
    ig_array *b = interleaved ? part_every(x, -1, 1, 2) : part_slice(x, -1, n / 2, n);
    ig_array *out[2] = {ig_subtract(ig_multiply(a, cosine), ig_multiply(b, sine)),
                        ig_add(ig_multiply(a, sine), ig_multiply(b, cosine))};
    if (!interleaved)
        return ig_concat(out, 2, IG_AXES(-1));
    return ig_reshape(ig_stack(out, 2, -1), ig_shape(x));
}

/* x (N, H, T, D): its first 2 * angles elements are turned. cos and sin are (N, T, angles). */
static ig_array *embedded(onnx_call *c, ig_array *x, ig_array *cosine, ig_array *sine)
{
    int64_t turned = call_attribute_int(c, "rotary_embedding_dim", 0);
    turned = turned ? turned : ig_dim(x, 3);
    if (!x || !cosine || !sine)
        return NULL;
    if (turned > ig_dim(x, 3) || turned % 2 != 0 || ig_dim(cosine, -1) != turned / 2 ||
        ig_dim(sine, -1) != turned / 2) {
        call_fail(c, IG_ERR_SHAPE, "cos_cache", "has %lld columns; %lld elements are turned",
                  (long long)ig_dim(cosine, -1), (long long)turned);
        return NULL;
    }
    ig_array *y = attention_rotate(part_slice(x, 3, 0, turned), ig_expand_dims(cosine, IG_AXES(1)),
                                   ig_expand_dims(sine, IG_AXES(1)),
                                   call_attribute_bool(c, "interleaved", false));
    return turned == ig_dim(x, 3) ? y : part_join(y, part_slice(x, 3, turned, ig_dim(x, 3)), 3);
}

void build_rotary_embedding(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *cosine = call_array(c, 1), *sine = call_array(c, 2);
    const int64_t heads = call_attribute_int(c, "num_heads", 0);
    const bool flat = ig_ndim(x) == 3;
    if (call_has(c, 3)) {
        ig_array *places = call_array(c, 3);
        cosine = ig_take(cosine, places, IG_AXES(0));
        sine = ig_take(sine, places, IG_AXES(0));
    }
    if (!part_ndim(c, "cos_cache", cosine, 3) || !part_ndim(c, "sin_cache", sine, 3))
        return;
    if (flat)
        x = attention_split(c, "X", x, heads);
    if (!part_ndim(c, "X", x, 4))
        return;
    x = embedded(c, x, cosine, sine);
    call_return(c, 0, flat ? attention_merge(x) : x);
}

/* ---- LinearAttention ---- */

/* x (N, T, G * D) as (N, G, T, D) in f32; with one column for each head D is 1. */
static ig_array *gate_of(onnx_call *c, int i, const char *name, int64_t groups)
{
    ig_array *x = call_array(c, i);
    if (!part_ndim(c, name, x, 3))
        return NULL;
    const int64_t heads = ig_dim(x, 2) == 1 ? 1 : groups;
    return ig_astype(attention_split(c, name, x, heads), IG_F32);
}

/* One token: state (N, G, D, E) becomes state * decay + k v. Columns (N, G, D, 1) and rows (N, G, 1, E). */
static ig_array *advance(ig_array *state, ig_array *k, ig_array *v, ig_array *decay, ig_array *beta)
{
    ig_array *row = ig_matrix_transpose(k);
    if (decay)
        state = ig_multiply(state, ig_exp(decay));
    if (beta)
        v = ig_multiply(beta, ig_subtract(v, ig_matmul(row, state)));
    return ig_add(state, ig_multiply(k, v));
}

static ig_array *token(ig_array *x, int64_t t) { return x ? part_slice(x, 2, t, t + 1) : NULL; }

void build_linear_attention(onnx_call *c)
{
    const int64_t heads = call_attribute_int(c, "q_num_heads", 0);
    const int64_t groups = call_attribute_int(c, "kv_num_heads", 0);
    const int rule = call_attribute_choice(c, "update_rule", "gated_delta|linear|gated|delta");
    call_has_attribute(c, "chunk_size"); /* a hint */
    const bool gates = rule == 0 || rule == 2, corrects = rule == 0 || rule == 3;
    ig_array *query = call_array(c, 0), *past = call_array_or_null(c, 3);
    ig_array *q = ig_astype(attention_split(c, "query", query, heads), IG_F32);
    ig_array *k = ig_astype(attention_split(c, "key", call_array(c, 1), groups), IG_F32);
    ig_array *v = ig_astype(attention_split(c, "value", call_array(c, 2), groups), IG_F32);
    if (call_has(c, 4) != gates || call_has(c, 5) != corrects || heads % (groups ? groups : 1) != 0)
        call_fail(c, IG_ERR_ARGUMENT, "update_rule", "does not match the inputs or heads");
    ig_array *decay = gates ? gate_of(c, 4, "decay", groups) : NULL;
    ig_array *beta = corrects ? gate_of(c, 5, "beta", groups) : NULL;
    if (!q || !k || !v || ig_failed())
        return;
    const int64_t n = ig_dim(q, 0), steps = ig_dim(q, 2), d = ig_dim(q, 3), e = ig_dim(v, 3);
    double scale = call_attribute_float(c, "scale", 0);
    scale = scale != 0 ? scale : 1 / sqrt((double)d);
    ig_array *state = past ? ig_astype(past, IG_F32) : ig_zeros(IG_SHAPE(n, groups, d, e), IG_F32);
    ig_array **out = (ig_array **)call_room(c, (int)steps + 1);
    for (int64_t t = 0; t < steps && !ig_failed(); t++) {
        ig_array *g = decay ? ig_matrix_transpose(token(decay, t)) : NULL;
        state = advance(state, ig_matrix_transpose(token(k, t)), token(v, t), g, token(beta, t));
        ig_array *y = ig_matmul(grouped(token(q, t), groups), state);
        out[t] = ig_reshape(y, IG_SHAPE(n, 1, heads * e));
    }
    if (ig_failed())
        return;
    ig_array *y = steps ? ig_concat(out, (int)steps, IG_AXES(1))
                        : ig_zeros(IG_SHAPE(n, 0, heads * e), IG_F32);
    call_return(c, 0, ig_astype(ig_multiply(y, ig_float(scale)), ig_dtype_of(query)));
    call_return(c, 1, ig_astype(state, ig_dtype_of(past ? past : query)));
}

/* ---- CausalConvWithState, TensorScatter, RMSNormalization ---- */

void build_causal_conv_with_state(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *w = call_array(c, 1), *past = call_array_or_null(c, 3);
    const int activation = call_attribute_choice(c, "activation", "none|silu|swish");
    if (!part_ndim(c, "input", x, 3) || !part_ndim(c, "weight", w, 3))
        return;
    const int64_t channels = ig_dim(x, 1), k = ig_dim(w, 2);
    if (!past && !ig_failed())
        past = ig_zeros(IG_SHAPE(ig_dim(x, 0), channels, k - 1), ig_dtype_of(x));
    ig_array *all = part_join(past, x, 2);
    ig_array *y = ig_conv1d(all, w, call_array_or_null(c, 2), IG_SHAPE(1), IG_SHAPE(0), IG_SHAPE(1),
                            (int)channels);
    const ig_dtype dtype = ig_dtype_of(y);
    if (activation)
        y = ig_astype(ig_silu(ig_astype(y, part_wide(dtype))), dtype);
    call_return(c, 0, y);
    call_return(c, 1, part_slice(all, 2, ig_dim(all, 2) - (k - 1), ig_dim(all, 2)));
}

void build_tensor_scatter(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *update = call_array(c, 1), *start = call_array_or_null(c, 2);
    const bool circular = call_attribute_choice(c, "mode", "linear|circular") == 1;
    const int ndim = ig_ndim(x);
    const int axis = part_axis(c, "axis", call_attribute_int(c, "axis", -2), ndim);
    if (!x || !update || ig_failed())
        return;
    ig_array *place = part_along(part_count(ig_dim(update, axis)), ndim, axis);
    if (start)
        place = ig_add(place, part_along(ig_astype(start, IG_I64), ndim, 0));
    if (circular)
        place = ig_remainder(place, ig_int(ig_dim(x, axis)));
    place = ig_broadcast_to(place, ig_shape(update));
    call_return(c, 0, ig_scatter(x, place, update, axis));
}

void build_rms_normalization(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *scale = call_array(c, 1);
    const int ndim = ig_ndim(x);
    const int first = part_axis(c, "axis", call_attribute_int(c, "axis", -1), ndim);
    const ig_onnx_type stash = call_attribute_type(c, "stash_type", IG_ONNX_FLOAT);
    int64_t axes[IG_MAX_NDIM];
    for (int i = first; i < ndim; i++)
        axes[i - first] = i;
    const ig_dtype dtype = ig_dtype_of(x);
    const ig_dtype wide = dtype == IG_F64 ? IG_F64 : ig_onnx_type_dtype(stash);
    ig_array *y = ig_rms_norm(ig_astype(x, wide), NULL, (ig_ints){axes, ndim - first},
                              call_attribute_float(c, "epsilon", 1e-5));
    call_return(c, 0, ig_multiply(ig_astype(y, dtype), ig_astype(scale, dtype)));
}
