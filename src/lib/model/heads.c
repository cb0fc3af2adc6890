/* Heads: from hidden states (N, T, width) to labels, words and answers. For vectors see vectors.c. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"

#include <stdio.h>

/* The number of labels of that layer. After training it may differ from the folder's number. */
static int64_t label_count(const ig_text_model *m, const char *name)
{
    char full[MODEL_NAME];
    snprintf(full, sizeof full, "%s.bias", name);
    ig_array *bias = m->weights.trained ? ig_model_get(m->weights.trained, full) : NULL;
    return bias ? ig_dim(bias, 0) : m->config.n_labels;
}

const char *classify_pre(const ig_text_model *m, char out[MODEL_NAME])
{
    const classify_names *n = &m->config.arch->classify;
    snprintf(out, MODEL_NAME, "%s%s", n->in_encoder ? m->weights.prefix : "", n->pre);
    return out;
}

static ig_array *classify_run(ig_text_model *m, ig_array *hidden)
{
    const classify_names *n = &m->config.arch->classify;
    const int64_t width = m->config.width;
    char name[MODEL_NAME];
    ig_array *x = first_token(hidden);
    x = n->dropout ? dropout_run(m, x, m->dropout.classify) : x;
    x = linear_run(m, classify_pre(m, name), x, width, width);
    x = dropout_run(m, x ? activation_find(n->activation)(x) : NULL, m->dropout.classify);
    return linear_run(m, n->post, x, width, label_count(m, n->post));
}

int64_t head_columns(const ig_text_model *m, head_kind head)
{
    return head == HEAD_EMBED ? m->config.dimensions
                              : label_count(m, m->config.arch->classify.post);
}

const char *fill_bias(const ig_text_model *m, char out[MODEL_NAME])
{
    const fill_names *n = &m->config.arch->fill;
    snprintf(out, MODEL_NAME, "%s.bias", n->decoder);
    return weights_has(&m->weights, out) ? out : n->bias;
}

bool fill_table(const ig_text_model *m, char out[MODEL_NAME])
{
    snprintf(out, MODEL_NAME, "%s.weight", m->config.arch->fill.decoder);
    const bool own = !m->config.tied || weights_has(&m->weights, out);
    if (!own)
        snprintf(out, MODEL_NAME, "%sembeddings.word_embeddings.weight", m->weights.prefix);
    return own;
}

static ig_array *fill_run(ig_text_model *m, ig_array *hidden)
{
    const model_config *c = &m->config;
    const fill_names *n = &c->arch->fill;
    char name[MODEL_NAME];
    ig_array *x = linear_run(m, n->dense, hidden, c->width, c->embedding);
    x = x ? (n->activation ? activation_find(n->activation) : c->activation)(x) : NULL;
    x = norm_run(m, n->norm, x, c->embedding);
    fill_table(m, name);
    ig_array *table =
        x ? weights_get(&m->weights, name, IG_SHAPE(c->vocabulary, c->embedding)) : NULL;
    ig_array *bias =
        table ? weights_get(&m->weights, fill_bias(m, name), IG_SHAPE(c->vocabulary)) : NULL;
    return bias ? ig_add(ig_tensordot(x, table, IG_AXES(-1, 1)), bias) : NULL;
}

ig_array *head_run(ig_text_model *m, head_kind head, ig_array *hidden, ig_array *mask)
{
    switch (head) {
    case HEAD_EMBED: return vectors_run(m, hidden, mask);
    case HEAD_CLASSIFY: return classify_run(m, hidden);
    case HEAD_TAG:
        return linear_run(m, "classifier", dropout_run(m, hidden, m->dropout.tag), m->config.width,
                          label_count(m, "classifier"));
    case HEAD_FILL: return fill_run(m, hidden);
    default:
        return linear_run(m, "qa_outputs", dropout_run(m, hidden, m->dropout.answer),
                          m->config.width, 2);
    }
}
