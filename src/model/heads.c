/* Heads: from hidden states (N, T, width) to labels, words and answers. Vectors are in vectors.c. See model.h. */
#include "model/model.h"

#include "base/error.h"

#include <stdio.h>

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
    ig_array *x = first_token(hidden);
    x = a->pre_dropout ? dropout_run(m, x, m->classify_dropout) : x;
    x = linear_run(m, name, x, width, width);
    x = dropout_run(m, x ? activation_find(a->pre_activation)(x) : NULL, m->classify_dropout);
    return linear_run(m, a->post, x, width, label_count(m, a->post));
}

static ig_array *fill_run(ig_text_model *m, ig_array *hidden)
{
    const model_config *c = &m->config;
    const architecture *a = c->arch;
    char name[MODEL_NAME];
    ig_array *x = linear_run(m, a->fill_dense, hidden, c->width, c->width);
    x = x ? c->activation(x) : NULL;
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
    case HEAD_EMBED: return vectors_run(m, hidden, mask);
    case HEAD_CLASSIFY: return classify_run(m, hidden);
    case HEAD_TAG:
        return linear_run(m, "classifier", dropout_run(m, hidden, m->classify_dropout),
                          m->config.width, label_count(m, "classifier"));
    case HEAD_FILL: return fill_run(m, hidden);
    default: return linear_run(m, "qa_outputs", hidden, m->config.width, 2);
    }
}
