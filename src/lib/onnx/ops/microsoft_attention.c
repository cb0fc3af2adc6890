/* com.microsoft: attention with projections, caches and masks in the forms of ONNX Runtime. */
#include "lib/onnx/ops/attention.h"
#include "lib/onnx/ops/common.h"
#include "lib/onnx/ops/parts.h"

#include <math.h>

/* Attributes that change the meaning, and are not supported unless they have this value. */
static void only(onnx_call *c, const char *name, int64_t value)
{
    if (call_attribute_int(c, name, value) != value)
        call_fail(c, IG_ERR_UNSUPPORTED, name, "is supported only as %lld", (long long)value);
}

static void absent(onnx_call *c, int input, const char *name)
{
    if (call_has(c, input))
        call_fail(c, IG_ERR_UNSUPPORTED, name, "this input is not supported");
}

/* ---- masks ---- */

/* bool (N, 1, 1, S): keys before the end of each sequence, and from its start on if starts are given. */
static ig_array *key_range(ig_array *ends, ig_array *starts, int64_t keys)
{
    const ig_ints shape = IG_SHAPE(ig_size(ends), 1, 1, 1);
    ig_array *key = part_count(keys);
    ig_array *in = ig_less(key, ig_reshape(ig_astype(ends, IG_I64), shape));
    if (starts)
        in =
            ig_logical_and(in, ig_greater_equal(key, ig_reshape(ig_astype(starts, IG_I64), shape)));
    return in;
}

/* bool of a mask in one of its forms: (N) lengths, (2 N) ends and starts, (N, S), (N, T, S), (N, 1, M, M). */
static ig_array *mask_of(onnx_call *c, ig_array *m, const char *name, const attention *a)
{
    const int64_t n = ig_dim(a->q, 0), rows = ig_dim(a->q, 2), keys = ig_dim(a->k, 2);
    if (!m || ig_failed())
        return NULL;
    if (ig_ndim(m) == 1 && ig_size(m) == n)
        return key_range(m, NULL, keys);
    if (ig_ndim(m) == 1 && ig_size(m) == 2 * n)
        return key_range(part_slice(m, 0, 0, n), part_slice(m, 0, n, 2 * n), keys);
    m = ig_not_equal(m, ig_int(0));
    if (ig_ndim(m) == 2 && ig_dim(m, 0) == n && ig_dim(m, 1) == keys)
        return ig_expand_dims(m, IG_AXES(1, 2));
    if (ig_ndim(m) == 3 && ig_dim(m, 2) == keys)
        return ig_expand_dims(m, IG_AXES(1));
    if (ig_ndim(m) == 4 && ig_dim(m, 2) >= keys && ig_dim(m, 3) >= keys)
        return part_slice(part_slice(m, 2, keys - rows, keys), 3, 0, keys);
    call_fail(c, IG_ERR_UNSUPPORTED, name, "this form of mask is not supported");
    return NULL;
}

/* The mask as a bias of mask_filter_value, plus the given bias. */
static void add_masks(onnx_call *c, attention *a, int mask, const char *name, int bias)
{
    const double filter = call_attribute_float(c, "mask_filter_value", -10000);
    const ig_dtype dtype = ig_dtype_of(a->q);
    a->bias = bias >= 0 ? call_array_or_null(c, bias) : NULL;
    ig_array *allow = mask_of(c, call_array_or_null(c, mask), name, a);
    if (!allow)
        return;
    ig_array *shift = ig_astype(ig_where(allow, ig_float(0), ig_float(filter)), dtype);
    a->bias = a->bias ? ig_add(a->bias, shift) : shift;
}

static double scale_of(onnx_call *c, const attention *a)
{
    const double scale = call_attribute_float(c, "scale", 0);
    return scale != 0 ? scale : 1 / sqrt((double)ig_dim(a->q, 3));
}

/* ---- Attention and QAttention ---- */

/* Attention of projected x (N, T, q + k + v columns); past (2, N, H, P, D). Returns output and present. */
static void self_attention(onnx_call *c, ig_array *x, int mask, int past, int bias)
{
    const int64_t heads = call_attribute_int(c, "num_heads", 0);
    const ig_ints sizes = call_attribute_ints(c, "qkv_hidden_sizes");
    const int64_t width = ig_dim(x, 2) / 3, q = sizes.n == 3 ? sizes.v[0] : width;
    const int64_t k = sizes.n == 3 ? sizes.v[1] : width;
    attention a = {.causal = call_attribute_bool(c, "unidirectional", false)};
    only(c, "do_rotary", 0);
    only(c, "past_present_share_buffer", 0);
    call_has_attribute(c, "rotary_embedding_dim");
    if (!part_ndim(c, "input", x, 3) || ig_failed())
        return;
    a.q = attention_split(c, "input", part_slice(x, 2, 0, q), heads);
    a.k = attention_split(c, "input", part_slice(x, 2, q, q + k), heads);
    a.v = attention_split(c, "input", part_slice(x, 2, q + k, ig_dim(x, 2)), heads);
    if (call_has(c, past)) {
        ig_array *both = call_array(c, past);
        a.past = ig_dim(both, 3);
        a.k = part_join(part_at(both, 0, 0), a.k, 2);
        a.v = part_join(part_at(both, 0, 1), a.v, 2);
    }
    a.scale = scale_of(c, &a);
    add_masks(c, &a, mask, "mask_index", bias);
    call_return(c, 0, attention_merge(attention_apply(&a)));
    if (call_wants(c, 1))
        call_return(c, 1, ig_stack((ig_array *const[]){a.k, a.v}, 2, 0));
}

void build_ms_attention(onnx_call *c)
{
    ig_array *x = ig_matmul(call_array(c, 0), call_array(c, 1));
    absent(c, 6, "past_sequence_length");
    self_attention(c, call_has(c, 2) ? ig_add(x, call_array(c, 2)) : x, 3, 4, 5);
}

/* A quantized input minus its zero point, in i32. */
static ig_array *centred(onnx_call *c, int i, int zero)
{
    ig_array *x = ig_astype(call_array(c, i), IG_I32);
    ig_array *z = part_zero(c, zero);
    return z ? ig_subtract(x, ig_astype(z, IG_I32)) : x;
}

void build_qattention(onnx_call *c)
{
    ig_array *sums = ig_matmul(centred(c, 0, 6), centred(c, 1, 7));
    ig_array *scale = ig_multiply(call_array(c, 3), call_array(c, 4));
    ig_array *x = ig_add(ig_multiply(ig_astype(sums, IG_F32), scale), call_array(c, 2));
    self_attention(c, x, 5, 8, -1);
}

/* ---- MultiHeadAttention ---- */

/* x (N, S, heads, n, D): part i as (N, heads, S, D). */
static ig_array *packed(ig_array *x, int i)
{
    return ig_permute_dims(part_at(x, 3, i), IG_AXES(0, 2, 1, 3));
}

/* One of query, key and value with its part of the bias, as (N, heads, S, D). */
static ig_array *headed(onnx_call *c, const char *name, ig_array *x, ig_array *bias, int64_t from,
                        int64_t heads)
{
    if (ig_ndim(x) == 4)
        return x;
    if (bias)
        x = ig_add(x, part_slice(bias, 0, from, from + ig_dim(x, 2)));
    return attention_split(c, name, x, heads);
}

static bool read_heads(onnx_call *c, attention *a, int64_t heads)
{
    ig_array *q = call_array(c, 0), *k = call_array_or_null(c, 1), *v = call_array_or_null(c, 2);
    ig_array *bias = call_array_or_null(c, 3);
    if (ig_failed())
        return false;
    if (ig_ndim(q) == 5 || (k && ig_ndim(k) == 5)) {
        const bool all = ig_ndim(q) == 5;
        if (bias)
            call_fail(c, IG_ERR_UNSUPPORTED, "bias", "with packed inputs is not supported");
        a->q = all ? packed(q, 0) : attention_split(c, "query", q, heads);
        a->k = packed(all ? q : k, all ? 1 : 0);
        a->v = packed(all ? q : k, all ? 2 : 1);
        return !ig_failed();
    }
    if (!k || !v) {
        call_fail(c, IG_ERR_ARGUMENT, "key", "key and value are not given");
        return false;
    }
    const int64_t width = ig_dim(q, 2);
    a->q = headed(c, "query", q, bias, 0, heads);
    a->k = headed(c, "key", k, bias, width, heads);
    a->v = headed(c, "value", v, bias, 2 * width, heads);
    return a->q && a->k && a->v;
}

void build_multi_head_attention(onnx_call *c)
{
    attention a = {.causal = call_attribute_bool(c, "unidirectional", false)};
    absent(c, 8, "past_sequence_length");
    absent(c, 9, "cache_indirection");
    if (!read_heads(c, &a, call_attribute_int(c, "num_heads", 0)))
        return;
    if (call_has(c, 6)) {
        a.past = ig_dim(call_array(c, 6), 2);
        a.k = part_join(call_array(c, 6), a.k, 2);
        a.v = part_join(call_array(c, 7), a.v, 2);
    }
    a.scale = scale_of(c, &a);
    add_masks(c, &a, 4, "key_padding_mask", 5);
    a.keep = call_wants(c, 3);
    call_return(c, 0, attention_merge(attention_apply(&a)));
    call_return(c, 1, a.k);
    call_return(c, 2, a.v);
    if (a.keep)
        call_return(c, 3, a.stages[3]);
}

/* ---- RotaryEmbedding ---- */

/* x (N, H, T, D) turned by the angles of places (N, T) in tables of cos and sin. */
static ig_array *turned(onnx_call *c, ig_array *x, ig_array *places, ig_array *cosines,
                        ig_array *sines, bool interleaved)
{
    ig_array *cosine = ig_expand_dims(ig_take(cosines, places, IG_AXES(0)), IG_AXES(1));
    ig_array *sine = ig_expand_dims(ig_take(sines, places, IG_AXES(0)), IG_AXES(1));
    const int64_t n = 2 * ig_dim(cosines, 1), d = ig_dim(x, 3);
    if (n > d) {
        call_fail(c, IG_ERR_SHAPE, "cos_cache", "has %lld columns for heads of %lld elements",
                  (long long)(n / 2), (long long)d);
        return NULL;
    }
    if (!cosine || !sine || !x)
        return NULL;
    ig_array *y = attention_rotate(part_slice(x, 3, 0, n), cosine, sine, interleaved);
    return n == d ? y : part_join(y, part_slice(x, 3, n, d), 3);
}

void build_ms_rotary_embedding(onnx_call *c)
{
    ig_array *x = call_array(c, 0), *places = ig_astype(call_array(c, 1), IG_I64);
    ig_array *cosines = call_array(c, 2), *sines = call_array(c, 3);
    const bool interleaved = call_attribute_bool(c, "interleaved", false), flat = ig_ndim(x) == 3;
    const int64_t dims = call_attribute_int(c, "rotary_embedding_dim", 0);
    int64_t heads = call_attribute_int(c, "num_heads", 0);
    only(c, "is_packed_batching", 0);
    if (call_attribute_float(c, "scale", 1) != 1)
        call_fail(c, IG_ERR_UNSUPPORTED, "scale", "is supported only as 1");
    if (!x || !part_ndim(c, "cos_cache", cosines, 2) || !places || ig_failed())
        return;
    if (ig_dim(cosines, 1) < 1) {
        call_fail(c, IG_ERR_SHAPE, "cos_cache", "has no columns");
        return;
    }
    if (dims && dims != 2 * ig_dim(cosines, 1)) {
        call_fail(c, IG_ERR_SHAPE, "rotary_embedding_dim", "does not match cos_cache");
        return;
    }
    if (flat && !heads)
        heads = ig_dim(x, 2) / (2 * ig_dim(cosines, 1));
    if (flat)
        x = attention_split(c, "input", x, heads);
    if (!part_ndim(c, "input", x, 4))
        return;
    if (ig_size(places) == 1)
        places = ig_add(ig_reshape(places, IG_SHAPE(1, 1)),
                        ig_reshape(part_count(ig_dim(x, 2)), IG_SHAPE(1, -1)));
    x = turned(c, x, places, cosines, sines, interleaved);
    call_return(c, 0, flat ? attention_merge(x) : x);
}

/* ---- GroupQueryAttention ---- */

typedef struct cache {
    int64_t rows, total,
        length;      /* new tokens; longest sequence; tokens of the caches after this call */
    ig_array *start; /* (N): tokens before the new ones */
} cache;

/* past (N, G, P, D) or NULL with the new rows x (N, G, T, D) at their places: (N, G, length, D). */
static ig_array *appended(const cache *k, ig_array *past, ig_array *x)
{
    const int64_t n = ig_dim(x, 0), g = ig_dim(x, 1), d = ig_dim(x, 3);
    const int64_t before = past ? ig_dim(past, 2) : 0;
    if (before == 0 && k->length == k->rows)
        return x;
    ig_array *all = past ? past : ig_zeros(IG_SHAPE(n, g, 0, d), ig_dtype_of(x));
    if (k->length > before) {
        ig_array *more = ig_zeros(IG_SHAPE(n, g, k->length - before, d), ig_dtype_of(x));
        all = before ? part_join(all, more, 2) : more;
    }
    ig_array *at = ig_add(ig_reshape(k->start, IG_SHAPE(n, 1, 1, 1)),
                          ig_reshape(part_count(k->rows), IG_SHAPE(1, 1, -1, 1)));
    return ig_scatter(all, ig_broadcast_to(at, ig_shape(x)), x, 2);
}

/* bool (N, 1, T, length): the keys of each query. */
static ig_array *visible(const cache *k, bool causal, int64_t window)
{
    const int64_t n = ig_size(k->start);
    ig_array *query = ig_add(ig_reshape(k->start, IG_SHAPE(n, 1, 1, 1)),
                             ig_reshape(part_count(k->rows), IG_SHAPE(1, 1, -1, 1)));
    ig_array *key = part_count(k->length);
    ig_array *end =
        causal ? query : ig_add(ig_reshape(k->start, IG_SHAPE(n, 1, 1, 1)), ig_int(k->rows - 1));
    ig_array *in = ig_less_equal(key, end);
    if (window >= 0)
        in = ig_logical_and(in, ig_greater(key, ig_subtract(query, ig_int(window))));
    return in;
}

static void check_group_query(onnx_call *c)
{
    only(c, "kv_cache_bit_width", 0);
    only(c, "sliding_window_cache", 0);
    only(c, "qk_output", 0);
    call_attribute_choice(c, "k_quant_type", "NONE");
    call_attribute_choice(c, "v_quant_type", "NONE");
    absent(c, 12, "k_scale");
    absent(c, 13, "v_scale");
}

/* Heads of query, key and value, which may be packed in query. */
static bool read_groups(onnx_call *c, attention *a, int64_t heads, int64_t groups)
{
    ig_array *q = call_array(c, 0), *k = call_array_or_null(c, 1), *v = call_array_or_null(c, 2);
    if (ig_failed() || !part_ndim(c, "query", q, 3))
        return false;
    if (!k) {
        const int64_t d = ig_dim(q, 2) / (heads + 2 * groups > 0 ? heads + 2 * groups : 1);
        k = part_slice(q, 2, heads * d, (heads + groups) * d);
        v = part_slice(q, 2, (heads + groups) * d, (heads + 2 * groups) * d);
        q = part_slice(q, 2, 0, heads * d);
    }
    a->q = attention_split(c, "query", q, heads);
    a->k = attention_split(c, "key", k, groups);
    a->v = attention_split(c, "value", v, groups);
    return a->q && a->k && a->v;
}

static void norm_and_turn(onnx_call *c, attention *a, const cache *k)
{
    const double epsilon = call_attribute_float(c, "qk_norm_epsilon", 1e-6);
    const bool interleaved = call_attribute_bool(c, "rotary_interleaved", false);
    if (call_has(c, 14)) {
        a->q = ig_rms_norm(a->q, call_array(c, 14), IG_AXES(-1), epsilon);
        a->k = ig_rms_norm(a->k, call_array(c, 15), IG_AXES(-1), epsilon);
    }
    if (!call_attribute_bool(c, "do_rotary", false))
        return;
    ig_array *places = call_has(c, 9)
                           ? ig_astype(call_array(c, 9), IG_I64)
                           : ig_add(ig_expand_dims(k->start, IG_AXES(1)), part_count(k->rows));
    a->q = turned(c, a->q, places, call_array(c, 7), call_array(c, 8), interleaved);
    a->k = turned(c, a->k, places, call_array(c, 7), call_array(c, 8), interleaved);
}

void build_group_query_attention(onnx_call *c)
{
    const int64_t heads = call_attribute_int(c, "num_heads", 0),
                  groups = call_attribute_int(c, "kv_num_heads", 0);
    const int64_t window = call_attribute_int(c, "local_window_size", -1);
    const bool causal = call_attribute_bool(c, "causal", true);
    const bool smooth = call_attribute_int(c, "smooth_softmax", -1) == 1;
    attention a = {.softcap = call_attribute_float(c, "softcap", 0)};
    ig_array *past_k = call_array_or_null(c, 3), *past_v = call_array_or_null(c, 4);
    check_group_query(c);
    if (!read_groups(c, &a, heads, groups))
        return;
    const int64_t before = past_k ? ig_dim(past_k, 2) : 0;
    cache k = {.rows = ig_dim(a.k, 2), .total = call_int(c, 6, 0)};
    k.length = before > k.total ? before : k.total;
    ig_array *ends = ig_reshape(ig_astype(call_array(c, 5), IG_I64), IG_SHAPE(-1));
    k.start =
        k.rows == k.total ? ig_zeros_like(ends, IG_I64) : ig_subtract(ends, ig_int(k.rows - 1));
    if (ig_failed())
        return;
    a.scale = scale_of(c, &a);
    norm_and_turn(c, &a, &k);
    a.k = appended(&k, past_k, a.k);
    a.v = appended(&k, past_v, a.v);
    if (causal && k.rows == k.length && window < 0)
        a.causal = true;
    else
        a.allow = visible(&k, causal, window);
    if (call_has(c, 10)) {
        const int64_t more = k.length - ig_dim(call_array(c, 10), 3);
        a.bias = call_array(c, 10);
        if (more > 0)
            a.bias = ig_pad(a.bias, IG_SHAPE(0, 0, 0, 0, 0, 0, 0, more), "constant", ig_float(0));
    }
    a.sink = call_has(c, 11) ? call_array(c, 11)
             : smooth        ? ig_zeros(IG_SHAPE(heads), ig_dtype_of(a.q))
                             : NULL;
    call_return(c, 0, attention_merge(attention_apply(&a)));
    call_return(c, 1, a.k);
    call_return(c, 2, a.v);
}

/* ---- ops that ai.onnx adopted ---- */

void build_ms_linear_attention(onnx_call *c)
{
    only(c, "state_window", 0);
    build_linear_attention(c);
}

void build_ms_causal_conv(onnx_call *c)
{
    only(c, "state_window", 0);
    only(c, "channels_last", 0);
    only(c, "dilation", 1);
    only(c, "ndim", 1);
    build_causal_conv_with_state(c);
}
