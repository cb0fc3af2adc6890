/* The encoder: embeddings and transformer layers. x is (N, T, width). See model.h. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DISTANCE = 128 }; /* of MPNet's buckets: all larger distances share one */

/* ---- parts ---------------------------------------------------------------------------------- */

ig_array *dropout_run(ig_text_model *m, ig_array *x, double p)
{
    return x && m->dropping && p > 0 ? ig_nn_dropout(m->dropping, x, p) : x;
}

static ig_array *tensor(ig_text_model *m, const char *name, const char *part, ig_ints shape)
{
    char full[MODEL_NAME];
    snprintf(full, sizeof full, "%s.%s", name, part);
    return weights_get(&m->weights, full, shape);
}

ig_array *linear_run(ig_text_model *m, const char *name, ig_array *x, int64_t in, int64_t out)
{
    ig_array *weight = x ? tensor(m, name, "weight", IG_SHAPE(out, in)) : NULL;
    ig_array *y = weight ? ig_tensordot(x, weight, IG_AXES(-1, 1)) : NULL;
    return y ? ig_add(y, tensor(m, name, "bias", IG_SHAPE(out))) : NULL;
}

ig_array *norm_run(ig_text_model *m, const char *name, ig_array *x, int64_t width)
{
    ig_array *weight = x ? tensor(m, name, "weight", IG_SHAPE(width)) : NULL;
    ig_array *bias = weight ? tensor(m, name, "bias", IG_SHAPE(width)) : NULL;
    return bias ? ig_layer_norm(x, weight, bias, IG_AXES(-1), m->config.eps) : NULL;
}

/* A tensor name of the encoder, with the prefix that these files use. */
static const char *encoder_name(const ig_text_model *m, const char *name, char out[MODEL_NAME])
{
    snprintf(out, MODEL_NAME, "%s%s", m->weights.prefix, name);
    return out;
}

static const char *layer_name(const ig_text_model *m, int layer, const char *part,
                              char out[MODEL_NAME])
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, m->config.arch->layer->prefix, layer);
    snprintf(out, MODEL_NAME, "%s%s%s", m->weights.prefix, prefix, part);
    return out;
}

/* ---- embeddings ----------------------------------------------------------------------------- */

static ig_array *rows_from(ig_array *table, int64_t first, int64_t n)
{
    const ig_index rows = {.kind = IG_INDEX_SLICE, .start = first, .stop = first + n, .step = 1};
    return table ? ig_get(table, &rows, 1) : NULL;
}

static ig_array *embeddings_run(ig_text_model *m, const batch_arrays *b)
{
    const model_config *c = &m->config;
    char name[MODEL_NAME];
    ig_array *words =
        weights_get(&m->weights, encoder_name(m, "embeddings.word_embeddings.weight", name),
                    IG_SHAPE(c->vocabulary, c->embedding));
    ig_array *places =
        weights_get(&m->weights, encoder_name(m, "embeddings.position_embeddings.weight", name),
                    IG_SHAPE(c->positions, c->embedding));
    if (!words || !places)
        return NULL;
    ig_array *x = ig_embedding(b->ids, words);
    if (c->types) {
        ig_array *types = weights_get(
            &m->weights, encoder_name(m, "embeddings.token_type_embeddings.weight", name),
            IG_SHAPE(c->types, c->embedding));
        if (!types)
            return NULL;
        x = ig_add(x, b->types ? ig_embedding(b->types, types) : rows_from(types, 0, 1));
    }
    x = ig_add(x, b->places ? ig_embedding(b->places, places)
                            : rows_from(places, c->first_position, b->t));
    x = norm_run(m, encoder_name(m, "embeddings.LayerNorm", name), x, c->embedding);
    x = dropout_run(m, x, m->dropout.hidden);
    return c->embedding == c->width ? x
                                    : linear_run(m, encoder_name(m, "embeddings_project", name), x,
                                                 c->embedding, c->width);
}

/* ---- attention ------------------------------------------------------------------------------ */

/* The bucket of the distance between two tokens: exact for the first quarter of the buckets, then logarithmic. Earlier
 * and later tokens have separate buckets. */
int32_t distance_bucket(int64_t distance)
{
    const int64_t half = DISTANCE_BUCKETS / 2, exact = half / 2;
    const int64_t first = distance > 0 ? half : 0, n = distance < 0 ? -distance : distance;
    if (n < exact)
        return (int32_t)(first + n);
    const float scale =
        logf((float)n / (float)exact) / (float)log((double)MAX_DISTANCE / (double)exact);
    const int64_t large = exact + (int64_t)(scale * (float)(half - exact));
    return (int32_t)(first + (large < half ? large : half - 1));
}

/* (heads, T, T): the bias of each pair of tokens, by their distance. */
static ig_array *distances_run(ig_text_model *m, int64_t t)
{
    const model_config *c = &m->config;
    char name[MODEL_NAME];
    int32_t *buckets = memory_get((size_t)(t * t) * sizeof *buckets);
    if (!buckets)
        return NULL;
    for (int64_t i = 0; i < t; i++)
        for (int64_t j = 0; j < t; j++)
            buckets[i * t + j] = distance_bucket(j - i);
    ig_array *index = ig_from_data(buckets, IG_SHAPE(t, t), IG_I32);
    memory_free(buckets);
    ig_array *table =
        weights_get(&m->weights, encoder_name(m, "encoder.relative_attention_bias.weight", name),
                    IG_SHAPE(c->buckets, c->heads));
    return index && table ? ig_permute_dims(ig_embedding(index, table), IG_AXES(2, 0, 1)) : NULL;
}

/* The attention mask: bool (N, 1, 1, T); or, with distance biases, numbers to add (N, heads, T, T). */
static ig_array *mask_run(ig_text_model *m, const batch_arrays *b)
{
    ig_array *mask = b->mask ? ig_reshape(b->mask, IG_SHAPE(b->n, 1, 1, b->t)) : NULL;
    if (!m->config.arch->relative)
        return mask;
    ig_array *bias = distances_run(m, b->t);
    if (!bias || !mask)
        return bias;
    return ig_where(mask, bias, ig_float(-INFINITY));
}

static ig_array *heads_split(const ig_text_model *m, const batch_arrays *b, ig_array *x)
{
    const int64_t heads = m->config.heads, width = m->config.width / heads;
    return ig_permute_dims(ig_reshape(x, IG_SHAPE(b->n, b->t, heads, width)), IG_AXES(0, 2, 1, 3));
}

/* Attention with dropout on its probabilities, for training. */
static ig_array *attention_dropped(ig_text_model *m, ig_array *const split[3], ig_array *mask)
{
    const double scale = 1 / sqrt((double)ig_dim(split[0], -1));
    ig_array *key = ig_permute_dims(split[1], IG_AXES(0, 1, 3, 2));
    ig_array *x = ig_multiply(ig_matmul(split[0], key), ig_float(scale));
    if (mask)
        x = ig_dtype_of(mask) == IG_BOOL ? ig_where(mask, x, ig_float(-INFINITY)) : ig_add(x, mask);
    x = dropout_run(m, ig_softmax(x, IG_AXES(-1)), m->dropout.attention);
    return ig_matmul(x, split[2]);
}

/* Query, key and value of a layer. Compiled, they become one product where that is faster (the rewrite `join`). */
static ig_status projections_run(ig_text_model *m, const batch_arrays *b, int layer, ig_array *x,
                                 ig_array *split[3])
{
    const architecture *a = m->config.arch;
    const int64_t width = m->config.width;
    const char *const parts[] = {a->layer->query, a->layer->key, a->layer->value};
    char name[MODEL_NAME];
    for (int i = 0; i < 3; i++) {
        ig_array *y = linear_run(m, layer_name(m, layer, parts[i], name), x, width, width);
        split[i] = y ? heads_split(m, b, y) : NULL;
        if (!split[i])
            return error_waiting(IG_ERR_MEMORY);
    }
    return IG_OK;
}

static ig_array *attention_run(ig_text_model *m, const batch_arrays *b, int layer, ig_array *x,
                               ig_array *mask)
{
    const architecture *a = m->config.arch;
    const int64_t width = m->config.width;
    ig_array *split[3];
    char name[MODEL_NAME];
    if (!x || projections_run(m, b, layer, x, split) != IG_OK)
        return NULL;
    ig_array *y =
        m->dropping && m->dropout.attention > 0
            ? attention_dropped(m, split, mask)
            : ig_scaled_dot_product_attention(split[0], split[1], split[2], mask, false, 0);
    y = ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), IG_SHAPE(b->n, b->t, width));
    return linear_run(m, layer_name(m, layer, a->layer->out, name), y, width, width);
}

static ig_array *layer_run(ig_text_model *m, const batch_arrays *b, int layer, ig_array *x,
                           ig_array *mask)
{
    const model_config *c = &m->config;
    const architecture *a = c->arch;
    char name[MODEL_NAME];
    ig_array *y = attention_run(m, b, layer, x, mask);
    y = a->attention_out_dropout ? dropout_run(m, y, m->dropout.hidden) : y;
    x = y ? norm_run(m, layer_name(m, layer, a->layer->norm1, name), ig_add(x, y), c->width) : NULL;
    y = linear_run(m, layer_name(m, layer, a->layer->up, name), x, c->width, c->inner);
    y = y ? c->activation(y) : NULL;
    y = linear_run(m, layer_name(m, layer, a->layer->down, name), y, c->inner, c->width);
    y = dropout_run(m, y, m->dropout.hidden);
    return y ? norm_run(m, layer_name(m, layer, a->layer->norm2, name), ig_add(x, y), c->width)
             : NULL;
}

ig_array *encoder_run(ig_text_model *m, const batch_arrays *b, ig_array **all)
{
    ig_array *x = embeddings_run(m, b);
    ig_array *mask = x ? mask_run(m, b) : NULL;
    if (all)
        all[0] = x;
    for (int i = 0; i < m->config.layers && x && !ig_failed(); i++) {
        x = layer_run(m, b, i, x, mask);
        if (all)
            all[i + 1] = x;
    }
    return ig_failed() ? NULL : x;
}

/* ---- all tensors ---------------------------------------------------------------------------- */

static ig_status linear_visit(const char *name, int64_t in, int64_t out, tensor_visit visit,
                              void *context)
{
    char full[MODEL_NAME + 8];
    snprintf(full, sizeof full, "%s.weight", name);
    TRY(visit(context, full, in ? IG_SHAPE(out, in) : IG_SHAPE(out)));
    snprintf(full, sizeof full, "%s.bias", name);
    return visit(context, full, IG_SHAPE(out));
}

ig_status encoder_tensors(const ig_text_model *m, tensor_visit visit, void *context)
{
    const model_config *c = &m->config;
    const architecture *a = c->arch;
    char name[MODEL_NAME];
    TRY(visit(context, encoder_name(m, "embeddings.word_embeddings.weight", name),
              IG_SHAPE(c->vocabulary, c->embedding)));
    TRY(visit(context, encoder_name(m, "embeddings.position_embeddings.weight", name),
              IG_SHAPE(c->positions, c->embedding)));
    if (c->types)
        TRY(visit(context, encoder_name(m, "embeddings.token_type_embeddings.weight", name),
                  IG_SHAPE(c->types, c->embedding)));
    if (a->relative)
        TRY(visit(context, encoder_name(m, "encoder.relative_attention_bias.weight", name),
                  IG_SHAPE(c->buckets, c->heads)));
    TRY(linear_visit(encoder_name(m, "embeddings.LayerNorm", name), 0, c->embedding, visit,
                     context));
    if (c->embedding != c->width)
        TRY(linear_visit(encoder_name(m, "embeddings_project", name), c->embedding, c->width, visit,
                         context));
    for (int i = 0; i < c->layers; i++) {
        const char *const square[] = {a->layer->query, a->layer->key, a->layer->value,
                                      a->layer->out};
        for (int j = 0; j < 4; j++)
            TRY(linear_visit(layer_name(m, i, square[j], name), c->width, c->width, visit,
                             context));
        TRY(linear_visit(layer_name(m, i, a->layer->norm1, name), 0, c->width, visit, context));
        TRY(linear_visit(layer_name(m, i, a->layer->up, name), c->width, c->inner, visit, context));
        TRY(linear_visit(layer_name(m, i, a->layer->down, name), c->inner, c->width, visit,
                         context));
        TRY(linear_visit(layer_name(m, i, a->layer->norm2, name), 0, c->width, visit, context));
    }
    return IG_OK;
}

ig_status head_tensors(const ig_text_model *m, head_kind head, int64_t labels, tensor_visit visit,
                       void *context)
{
    const model_config *c = &m->config;
    const architecture *a = c->arch;
    char name[MODEL_NAME];
    switch (head) {
    case HEAD_CLASSIFY:
        TRY(linear_visit(classify_pre(m, name), c->width, c->width, visit, context));
        return linear_visit(a->classify.post, c->width, labels, visit, context);
    case HEAD_TAG: return linear_visit("classifier", c->width, labels, visit, context);
    case HEAD_ANSWER: return linear_visit("qa_outputs", c->width, 2, visit, context);
    case HEAD_FILL:
        TRY(linear_visit(a->fill.dense, c->width, c->embedding, visit, context));
        TRY(linear_visit(a->fill.norm, 0, c->embedding, visit, context));
        if (fill_table(m, name))
            TRY(visit(context, name, IG_SHAPE(c->vocabulary, c->embedding)));
        return visit(context, fill_bias(m, name), IG_SHAPE(c->vocabulary));
    default: return IG_OK;
    }
}
