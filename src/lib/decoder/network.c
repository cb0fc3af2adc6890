/* The graph of a decoder: from tokens and the cache to logits. See decoder.h for the letters of shapes. */
#include "lib/decoder/lora.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/contract.h"

#include <math.h>
#include <string.h>

/* ---- parts ----------------------------------------------------------------------------------- */

/* x @ weight.T + bias; the bias is used if there is one. */
static ig_array *linear(decoder *d, role r, int64_t layer, ig_array *x, int64_t in, int64_t out)
{
    ig_array *weight = x ? weight_get(d, r, layer, false, false, IG_SHAPE(out, in)) : NULL;
    if (!weight)
        return NULL;
    ig_array *bias = weight_get(d, r, layer, true, true, IG_SHAPE(out));
    ig_array *y = lora_add(d, r, layer, x, contract_rounded(x, weight));
    return y && bias ? ig_add(y, bias) : y;
}

/* The norm of a role over the last axis. If it is optional and missing: x. */
static ig_array *norm(decoder *d, role r, int64_t layer, bool optional, ig_array *x, int64_t width)
{
    const decoder_config *c = &d->config;
    ig_array *weight = x ? weight_get(d, r, layer, false, optional, IG_SHAPE(width)) : NULL;
    if (!weight)
        return optional && !ig_failed() ? x : NULL;
    if (!c->arch->layer_norm)
        return ig_rms_norm(x, weight, IG_AXES(-1), c->eps);
    ig_array *bias = weight_get(d, r, layer, true, false, IG_SHAPE(width));
    return bias ? ig_layer_norm(x, weight, bias, IG_AXES(-1), c->eps) : NULL;
}

static ig_array *activate(const decoder_config *c, ig_array *x)
{
    if (!x)
        return NULL;
    if (strcmp(c->activation, "silu") == 0)
        return ig_silu(x);
    if (strcmp(c->activation, "relu") == 0)
        return ig_relu(x);
    return ig_gelu(x, strcmp(c->activation, "gelu") == 0 ? "none" : "tanh");
}

/* cap * tanh(x / cap) */
static ig_array *capped(ig_array *x, double cap)
{
    return x && cap > 0 ? ig_multiply(ig_tanh(ig_divide(x, ig_float(cap))), ig_float(cap)) : x;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* What all layers of one kind share. */
typedef struct shared {
    decoder *d;
    network_in *in;
    ig_array *partners;
    ig_array *mask[2]; /* bool (T, C): true: attend. The second one has the window */
} shared;

static ig_array *slice_last(ig_array *x, int64_t first, int64_t end)
{
    const ig_index items[] = {{.kind = IG_INDEX_REST},
                              {.kind = IG_INDEX_SLICE, .start = first, .stop = end, .step = 1}};
    return x ? ig_get(x, items, 2) : NULL;
}

/* Turns x (heads, T, D) by the angles of its positions. */
static ig_array *turned(const shared *s, ig_array *x, bool local)
{
    const rope_config *r = &s->d->config.rope;
    const int64_t width = s->d->config.head_width;
    if (!x || r->dims == 0)
        return x;
    ig_array *const *tables = s->in->rope + (local && r->local_base > 0 ? 2 : 0);
    ig_array *part = r->dims == width ? x : slice_last(x, 0, r->dims);
    ig_array *partner = part ? ig_take(part, s->partners, IG_AXES(-1)) : NULL;
    ig_array *y =
        partner ? ig_add(ig_multiply(part, tables[0]), ig_multiply(partner, tables[1])) : NULL;
    if (!y || r->dims == width)
        return y;
    return ig_concat((ig_array *[]){y, slice_last(x, r->dims, width)}, 2, IG_AXES(-1));
}

/* (T, heads * D) as (heads, T, D) */
static ig_array *split(ig_array *x, int64_t tokens, int64_t heads, int64_t width)
{
    return x ? ig_permute_dims(ig_reshape(x, IG_SHAPE(tokens, heads, width)), IG_AXES(1, 0, 2))
             : NULL;
}

/* The first C places of the texts that are read, of one part of the cache: (T, C, n) if each token has its own text, otherwise
 * (C, n). */
static ig_array *recall(const shared *s, ig_array *cache)
{
    const network_in *in = s->in;
    const int64_t texts = in->apart ? in->tokens : in->texts;
    if (!cache)
        return NULL;
    const int64_t width = ig_dim(cache, 1);
    if (in->texts == 1)
        return ig_slice(cache, IG_SHAPE(0), IG_SHAPE(in->places), IG_SHAPE(1));
    ig_array *x = ig_reshape(cache, IG_SHAPE(in->texts, -1, width));
    x = x ? ig_slice(x, IG_SHAPE(0, 0, 0), IG_SHAPE(texts, in->places, width), IG_SHAPE(1, 1, 1))
          : NULL;
    if (!in->apart)
        x = x ? ig_reshape(ig_take(x, in->text, IG_AXES(0)), IG_SHAPE(in->places, width)) : NULL;
    return x;
}

/* Writes keys or values (K, T, D) into the cache, whose parts begin at `cache`. Returns the places that are read: (T, K, C, D) if
 * each token has its own text, otherwise (K, C, D). Whole texts need no cache. */
static ig_array *remember(const shared *s, ig_array **cache, ig_array *x)
{
    const decoder_config *c = &s->d->config;
    const network_in *in = s->in;
    ig_array *part[CACHE_PARTS] = {NULL};
    if (in->whole)
        return x;
    x = x ? ig_reshape(ig_permute_dims(x, IG_AXES(1, 0, 2)),
                       IG_SHAPE(in->tokens, c->kv_heads * c->head_width))
          : NULL;
    if (!cache_pack(s->d, x, part))
        return NULL;
    for (int i = 0; i < cache_parts(s->d); i++) {
        cache[i] = ig_scatter_nd(cache[i], in->start, part[i], "set");
        part[i] = recall(s, cache[i]);
    }
    x = cache_unpack(s->d, part);
    if (!in->apart)
        return split(x, in->places, c->kv_heads, c->head_width);
    x = x ? ig_reshape(x, IG_SHAPE(in->tokens, in->places, c->kv_heads, c->head_width)) : NULL;
    return x ? ig_permute_dims(x, IG_AXES(0, 2, 1, 3)) : NULL;
}

/* The softmax of scores (K, H / K, T, C) and one score more, of a sink of each head, which gets no place. */
static ig_array *softmax_sinks(const decoder_config *c, ig_array *scores, ig_array *sinks,
                               bool rows)
{
    const int64_t group = c->heads / c->kv_heads;
    if (!scores || !sinks)
        return scores ? ig_softmax(scores, IG_AXES(-1)) : NULL;
    sinks = ig_reshape(sinks,
                       rows ? IG_SHAPE(c->kv_heads, group, 1, 1) : IG_SHAPE(c->kv_heads, group, 1));
    ig_array *most = sinks ? ig_maximum(ig_max(scores, IG_AXES(-1), true), sinks) : NULL;
    ig_array *e = most ? ig_exp(ig_subtract(scores, most)) : NULL;
    ig_array *sum =
        e ? ig_add(ig_sum(e, IG_AXES(-1), IG_DTYPE_NONE, true), ig_exp(ig_subtract(sinks, most)))
          : NULL;
    return sum ? ig_divide(e, sum) : NULL;
}

/* Attention of q (H, T, D) to k and v (K, C, D), or (T, K, C, D) if each token has its own text: (T, H * D). sinks (H,) or
 * NULL. */
static ig_array *attend(const shared *s, ig_array *q, ig_array *k, ig_array *v, ig_array *mask,
                        ig_array *sinks)
{
    const decoder_config *c = &s->d->config;
    const int64_t group = c->heads / c->kv_heads, t = s->in->tokens, w = c->head_width;
    if (!q || !k || !v)
        return NULL;
    ig_array *y;
    if (s->in->whole) { /* texts side by side: (N, K, H / K, T / N, D) */
        const int64_t n = s->in->whole, length = t / n;
        q = ig_permute_dims(ig_reshape(q, IG_SHAPE(c->kv_heads, group, n, length, w)),
                            IG_AXES(2, 0, 1, 3, 4));
        k = ig_permute_dims(ig_reshape(k, IG_SHAPE(c->kv_heads, 1, n, length, w)),
                            IG_AXES(2, 0, 1, 3, 4));
        v = ig_permute_dims(ig_reshape(v, IG_SHAPE(c->kv_heads, 1, n, length, w)),
                            IG_AXES(2, 0, 1, 3, 4));
    } else if (s->in->apart) {
        q = ig_reshape(ig_permute_dims(q, IG_AXES(1, 0, 2)), IG_SHAPE(t, c->kv_heads, group, w));
        mask = ig_reshape(mask, IG_SHAPE(t, 1, 1, s->in->places));
    } else if (t == 1) { /* the heads that share keys are the rows */
        q = ig_reshape(q, IG_SHAPE(c->kv_heads, group, w));
    } else {
        q = ig_reshape(q, IG_SHAPE(c->kv_heads, group, t, w));
        k = ig_expand_dims(k, IG_AXES(1));
        v = ig_expand_dims(v, IG_AXES(1));
    }
    if (c->attention_cap > 0 || sinks) {
        ig_array *scores = ig_matmul(q, ig_matrix_transpose(k));
        scores = scores ? ig_multiply(scores, ig_float(c->attention_scale)) : NULL;
        scores = capped(scores, c->attention_cap);
        scores = scores ? ig_where(mask, scores, ig_float(-INFINITY)) : NULL;
        scores = softmax_sinks(c, scores, sinks, t > 1 && !s->in->apart);
        y = scores ? ig_matmul(scores, v) : NULL;
    } else {
        y = ig_scaled_dot_product_attention(q, k, v, mask, false, c->attention_scale);
    }
    if (y && s->in->whole)
        y = ig_permute_dims(y, IG_AXES(0, 3, 1, 2, 4));
    else if (y && t > 1 && !s->in->apart)
        y = ig_permute_dims(y, IG_AXES(2, 0, 1, 3));
    return y ? ig_reshape(y, IG_SHAPE(t, c->heads * w)) : NULL;
}

static ig_array *attention(const shared *s, int64_t layer, ig_array *x)
{
    decoder *d = s->d;
    const decoder_config *c = &d->config;
    const int64_t t = s->in->tokens, w = c->head_width;
    const bool local = config_has_window(c, layer);
    ig_array *q = split(linear(d, ROLE_QUERY, layer, x, c->width, c->heads * w), t, c->heads, w);
    ig_array *k =
        split(linear(d, ROLE_KEY, layer, x, c->width, c->kv_heads * w), t, c->kv_heads, w);
    ig_array *v =
        split(linear(d, ROLE_VALUE, layer, x, c->width, c->kv_heads * w), t, c->kv_heads, w);
    q = turned(s, norm(d, ROLE_QUERY_NORM, layer, true, q, w), local);
    k = turned(s, norm(d, ROLE_KEY_NORM, layer, true, k, w), local);
    const int64_t parts = cache_parts(d);
    k = remember(s, &s->in->cache[2 * layer * parts], k);
    v = remember(s, &s->in->cache[(2 * layer + 1) * parts], v);
    ig_array *sinks = weight_get(d, ROLE_SINKS, layer, false, true, IG_SHAPE(c->heads));
    ig_array *y = attend(s, q, k, v, s->mask[local], sinks);
    y = linear(d, ROLE_ATTENTION_OUT, layer, y, c->heads * w, c->width);
    return norm(d, ROLE_ATTENTION_AFTER, layer, true, y, c->width);
}

/* ---- inner layers ---------------------------------------------------------------------------- */

static ig_array *inner(decoder *d, int64_t layer, ig_array *x)
{
    const decoder_config *c = &d->config;
    ig_array *y = linear(d, c->arch->gated ? ROLE_GATE : ROLE_UP, layer, x, c->width, c->inner);
    y = activate(c, y);
    if (y && c->arch->gated) {
        ig_array *up = linear(d, ROLE_UP, layer, x, c->width, c->inner);
        y = up ? ig_multiply(y, up) : NULL;
    }
    return linear(d, ROLE_DOWN, layer, y, c->inner, c->width);
}

/* The chosen experts of each token and their weights: both (T, used). */
static ig_status route(decoder *d, int64_t layer, ig_array *x, ig_array *chosen[2])
{
    const decoder_config *c = &d->config;
    ig_array *scores = linear(d, ROLE_ROUTER, layer, x, c->width, c->experts);
    scores = scores ? ig_softmax(scores, IG_AXES(-1)) : NULL;
    if (!scores || ig_topk(scores, c->experts_used, -1, chosen) == 0)
        return error_waiting(IG_ERR_MEMORY);
    if (c->experts_normed)
        chosen[0] = ig_divide(chosen[0], ig_sum(chosen[0], IG_AXES(-1), IG_DTYPE_NONE, true));
    return chosen[0] ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* A product with the matrices of experts: x (T, in) or (E, T, in) as (E, T, out). some: their indices; NULL: all. */
static ig_array *experts(decoder *d, role r, int64_t layer, ig_array *x, ig_array *some, int64_t in,
                         int64_t out)
{
    const int64_t n = d->config.experts;
    ig_array *weight = x ? weight_get(d, r, layer, false, false, IG_SHAPE(n, out, in)) : NULL;
    ig_array *bias = weight ? weight_get(d, r, layer, true, true, IG_SHAPE(n, out)) : NULL;
    if (weight && some) {
        weight = ig_take(weight, some, IG_AXES(0));
        bias = bias ? ig_take(bias, some, IG_AXES(0)) : NULL;
    }
    ig_array *y = weight ? ig_matmul(x, ig_matrix_transpose(ig_astype(weight, IG_F32))) : NULL;
    return y && bias ? ig_add(y, ig_expand_dims(bias, IG_AXES(1))) : y;
}

/* What is between the two layers of an expert. */
static ig_array *gated(const decoder_config *c, ig_array *gate, ig_array *up)
{
    if (!gate || !up)
        return NULL;
    if (c->arch->limit == 0)
        return ig_multiply(activate(c, gate), up);
    ig_array *most = ig_float(c->arch->limit), *least = ig_float(-c->arch->limit);
    gate = ig_minimum(gate, most);
    gate = ig_multiply(gate, ig_sigmoid(ig_multiply(gate, ig_float(1.702))));
    return ig_multiply(ig_add(ig_clip(up, least, most), ig_float(1)), gate);
}

/* For one token, and few experts of many, only the chosen ones are read. Otherwise all experts compute all tokens, and the
 * weights leave out those that are not chosen. */
static ig_array *mixture(decoder *d, int64_t layer, ig_array *x, int64_t tokens)
{
    enum { MANY = 3 };
    const decoder_config *c = &d->config;
    const bool few = tokens == 1 && c->experts >= MANY * c->experts_used;
    ig_array *chosen[2];
    if (!x || route(d, layer, x, chosen) != IG_OK)
        return NULL;
    ig_array *some = few ? ig_reshape(chosen[1], IG_SHAPE(c->experts_used)) : NULL;
    ig_array *weights = few ? chosen[0]
                            : ig_put_along_axis(ig_zeros(IG_SHAPE(tokens, c->experts), IG_F32),
                                                chosen[1], chosen[0], IG_AXES(-1));
    ig_array *gate = experts(d, ROLE_EXPERT_GATE, layer, x, some, c->width, c->expert_inner);
    ig_array *up = experts(d, ROLE_EXPERT_UP, layer, x, some, c->width, c->expert_inner);
    ig_array *y = gated(c, gate, up);
    y = experts(d, ROLE_EXPERT_DOWN, layer, y, some, c->expert_inner, c->width);
    if (!y || !weights)
        return NULL;
    weights = ig_expand_dims(ig_permute_dims(weights, IG_AXES(1, 0)), IG_AXES(-1)); /* (E, T, 1) */
    return ig_sum(ig_multiply(y, weights), IG_AXES(0), IG_DTYPE_NONE, false);
}

static ig_array *layer_build(const shared *s, int64_t layer, ig_array *x)
{
    decoder *d = s->d;
    const decoder_config *c = &d->config;
    ig_array *y = attention(s, layer, norm(d, ROLE_ATTENTION_NORM, layer, false, x, c->width));
    if (!y)
        return NULL;
    ig_array *middle = ig_add(x, y);
    ig_array *z = norm(d, ROLE_INNER_NORM, layer, false, c->arch->parallel ? x : middle, c->width);
    z = z && c->experts ? mixture(d, layer, z, s->in->tokens) : inner(d, layer, z);
    z = norm(d, ROLE_INNER_AFTER, layer, true, z, c->width);
    return z ? ig_add(middle, z) : NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static ig_array *embed(decoder *d, const network_in *in)
{
    const decoder_config *c = &d->config;
    ig_array *table =
        weight_get(d, ROLE_EMBEDDING, -1, false, false, IG_SHAPE(c->vocabulary, c->width));
    ig_array *x = table ? ig_astype(ig_embedding(in->ids, table), IG_F32) : NULL;
    if (x && c->arch->scales_embedding)
        x = ig_multiply(x, ig_float((float)sqrt((double)c->width)));
    if (x && d->roles->name[ROLE_POSITIONS] && c->rope.dims == 0) {
        ig_array *places =
            weight_get(d, ROLE_POSITIONS, -1, false, false, IG_SHAPE(c->context, c->width));
        x = places ? ig_add(x, ig_astype(ig_embedding(in->positions, places), IG_F32)) : NULL;
    }
    return x;
}

static ig_array *output(decoder *d, const network_in *in, ig_array *x)
{
    const decoder_config *c = &d->config;
    if (x && !in->all)
        x = ig_take(x, in->last, IG_AXES(0));
    x = norm(d, ROLE_OUT_NORM, -1, false, x, c->width);
    if (in->hidden)
        return x;
    x = linear(d, c->tied ? ROLE_EMBEDDING : ROLE_OUT, -1, x, c->width, c->vocabulary);
    return capped(x, c->logit_cap);
}

static ig_status masks_build(shared *s)
{
    const network_in *in = s->in;
    const int64_t length = in->whole ? in->tokens / in->whole : 0;
    ig_array *positions = in->whole ? ig_arange(0, (double)length, 1, IG_I32) : in->positions;
    ig_array *query = positions ? ig_expand_dims(positions, IG_AXES(1)) : NULL;
    ig_array *key = ig_arange(0, (double)(in->whole ? length : in->places), 1, IG_I32);
    s->mask[0] = query && key ? ig_less_equal(key, query) : NULL;
    if (s->mask[0] && s->d->config.window > 0)
        s->mask[1] = ig_logical_and(
            s->mask[0], ig_greater(key, ig_subtract(query, ig_int(s->d->config.window))));
    return s->mask[0] ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

ig_array *network_build(decoder *d, network_in *in)
{
    shared s = {.d = d, .in = in};
    const int64_t dims = d->config.rope.dims;
    if (dims > 0) {
        int32_t *partner = memory_get((size_t)dims * sizeof *partner);
        if (!partner)
            return NULL;
        rope_partners(d, partner);
        s.partners = ig_from_data(partner, IG_SHAPE(dims), IG_I32);
        memory_free(partner);
    }
    if (masks_build(&s) != IG_OK)
        return NULL;
    ig_array *x = embed(d, in);
    for (int64_t i = 0; x && i < d->config.layers; i++)
        x = layer_build(&s, i, x);
    x = output(d, in, x);
    return ig_failed() ? NULL : x;
}
