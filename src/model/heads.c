/* Heads: from hidden states (N, T, width) to vectors, labels, words and answers. See model.h. */
#include "model/model.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>

/* The hidden state of the first token: (N, width). */
static ig_array *first_token(ig_array *hidden)
{
    const ig_index items[] = {
        {.kind = IG_INDEX_SLICE, .start = INT64_MIN, .stop = INT64_MIN, .step = INT64_MIN},
        {.kind = IG_INDEX_INT, .start = 0}};
    return ig_get(hidden, items, 2);
}

static ig_array *embed_run(const ig_text_model *m, ig_array *hidden, ig_array *mask)
{
    const model_config *c = &m->config;
    ig_array *x = ig_astype(hidden, ig_dtype_of(hidden) == IG_F64 ? IG_F64 : IG_F32), *y;
    ig_array *wide = mask ? ig_reshape(mask, IG_SHAPE(ig_dim(mask, 0), ig_dim(mask, 1), 1)) : NULL;
    if (c->pooling == POOL_CLS) {
        y = first_token(x);
    } else if (c->pooling == POOL_MAX) {
        y = ig_max(wide ? ig_where(wide, x, ig_float(-INFINITY)) : x, IG_AXES(1), false);
    } else {
        ig_array *sum =
            ig_sum(wide ? ig_where(wide, x, ig_float(0)) : x, IG_AXES(1), IG_DTYPE_NONE, false);
        ig_array *count =
            wide ? ig_sum(ig_astype(wide, ig_dtype_of(x)), IG_AXES(1), IG_DTYPE_NONE, false)
                 : ig_float((double)ig_dim(x, 1));
        y = ig_divide(sum, c->root_length ? ig_sqrt(count) : count);
    }
    if (!c->normalize)
        return y;
    ig_array *norm = ig_sqrt(ig_sum(ig_square(y), IG_AXES(-1), IG_DTYPE_NONE, true));
    return ig_divide(y, ig_maximum(norm, ig_float(1e-12)));
}

static int64_t label_count(const ig_text_model *m, const char *name)
{
    char full[MODEL_NAME];
    snprintf(full, sizeof full, "%s.bias", name);
    ig_array *bias = m->weights.trained ? ig_model_get(m->weights.trained, full) : NULL;
    return bias ? ig_dim(bias, 0) : m->config.n_labels;
}

static ig_array *classify_run(ig_text_model *m, ig_array *hidden)
{
    const architecture *a = m->config.arch;
    const int64_t width = m->config.width;
    char name[MODEL_NAME];
    snprintf(name, sizeof name, "%s%s", a->pre_in_encoder ? m->weights.prefix : "", a->pre);
    ig_array *x = linear_run(m, name, first_token(hidden), width, width);
    x = x ? activation_run(a->pre_activation, x) : NULL;
    return linear_run(m, a->post, x, width, label_count(m, a->post));
}

static ig_array *fill_run(ig_text_model *m, ig_array *hidden)
{
    const model_config *c = &m->config;
    const architecture *a = c->arch;
    char name[MODEL_NAME];
    ig_array *x = linear_run(m, a->fill_dense, hidden, c->width, c->width);
    x = x ? activation_run(c->activation, x) : NULL;
    if (!x)
        return NULL;
    snprintf(name, sizeof name, "%s.weight", a->fill_norm);
    ig_array *scale = weights_get(&m->weights, name, IG_SHAPE(c->width));
    snprintf(name, sizeof name, "%s.bias", a->fill_norm);
    ig_array *shift = scale ? weights_get(&m->weights, name, IG_SHAPE(c->width)) : NULL;
    /* The table of words is the output layer too, unless the file has one of its own. */
    const bool own = weights_has(&m->weights, a->fill_decoder);
    snprintf(name, sizeof name, "%sembeddings.word_embeddings.weight", m->weights.prefix);
    ig_array *table = shift ? weights_get(&m->weights, own ? a->fill_decoder : name,
                                          IG_SHAPE(c->vocabulary, c->width))
                            : NULL;
    ig_array *bias = table ? weights_get(&m->weights, a->fill_bias, IG_SHAPE(c->vocabulary)) : NULL;
    if (!bias)
        return NULL;
    x = ig_layer_norm(x, scale, shift, IG_AXES(-1), c->eps);
    return ig_add(ig_tensordot(x, table, IG_AXES(-1, 1)), bias);
}

ig_array *head_run(ig_text_model *m, head_kind head, ig_array *hidden, ig_array *mask)
{
    switch (head) {
    case HEAD_EMBED: return embed_run(m, hidden, mask);
    case HEAD_CLASSIFY: return classify_run(m, hidden);
    case HEAD_TAG:
        return linear_run(m, "classifier", hidden, m->config.width, label_count(m, "classifier"));
    case HEAD_FILL: return fill_run(m, hidden);
    default: return linear_run(m, "qa_outputs", hidden, m->config.width, 2);
    }
}
