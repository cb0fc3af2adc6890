/* Text models: loading, and running batches of texts. See model.h. */
#include "base/sized.h"
#include "lib/model/model.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { BATCH_TOKENS = 4096, BATCH_TEXTS = 64 };

void ig_text_model_free(ig_text_model *m)
{
    if (!m)
        return;
    plans_free(m);
    ig_tokenizer_free(m->tokenizer);
    weights_close(&m->weights);
    config_free(&m->config);
    memory_free(m->label_list);
    memory_free(m);
}

/* ---- loading -------------------------------------------------------------------------------- */

/* Checks that the tensor exists, and counts its elements. */
static ig_status tensor_check(void *context, const char *name, ig_ints shape)
{
    ig_text_model *m = context;
    ig_array *x = weights_get(&m->weights, name, shape);
    if (!x)
        return error_waiting(IG_ERR_FORMAT);
    m->parameters += (uint64_t)ig_size(x);
    return IG_OK;
}

/* sentence-transformers can lower the case of texts itself; here only the tokenizer can. */
static ig_status case_check(const ig_text_model *m, const char *folder)
{
    static const char *const letters[] = {"A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
                                          "a b c d e f g h i j k l m n o p q r s t u v w x y z"};
    const ig_text texts[] = {{letters[0], strlen(letters[0])}, {letters[1], strlen(letters[1])}};
    const ig_encode_options options = {.max_length = -1, .pad = -1};
    if (!m->config.lower)
        return IG_OK;
    ig_encoding *e = ig_tokenizer_encode(m->tokenizer, texts, NULL, 2, &options);
    if (!e)
        return error_waiting(IG_ERR_MEMORY);
    const bool same =
        e[0].n == e[1].n && memcmp(e[0].ids, e[1].ids, (size_t)e[0].n * sizeof *e[0].ids) == 0;
    ig_free(e);
    if (!same)
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.200s/sentence_bert_config.json': do_lower_case is true, and the tokenizer "
             "does not lower case; set do_lower_case in tokenizer_config.json instead",
             folder);
    return IG_OK;
}

/* Guesses the head from the tensors that exist. */
static head_kind head_guess(const ig_text_model *m)
{
    const architecture *a = m->config.arch;
    char name[MODEL_NAME], pre[MODEL_NAME], weight[MODEL_NAME + 8];
    snprintf(name, sizeof name, "%s.weight", a->fill.dense);
    if (weights_has(&m->weights, name))
        return HEAD_FILL;
    if (weights_has(&m->weights, "qa_outputs.weight"))
        return HEAD_ANSWER;
    snprintf(name, sizeof name, "%s.weight", a->classify.post);
    snprintf(weight, sizeof weight, "%s.weight", classify_pre(m, pre));
    if (weights_has(&m->weights, name) && weights_has(&m->weights, weight))
        return HEAD_CLASSIFY;
    return weights_has(&m->weights, "classifier.weight") ? HEAD_TAG : HEAD_EMBED;
}

static ig_status model_open(ig_text_model *m, const char *folder, ig_dtype dtype)
{
    model_config *c = &m->config;
    char name[MODEL_NAME];
    TRY(config_read(c, folder));
    TRY(weights_open(&m->weights, folder, dtype));
    snprintf(name, sizeof name, "%sembeddings.word_embeddings.weight", c->arch->prefix);
    if (weights_has(&m->weights, name))
        m->weights.prefix = c->arch->prefix;
    /* config.json may name no head, or one that the files do not contain, as in published sentence encoders. */
    const head_kind found = head_guess(m);
    c->head = c->head == HEADS || found == HEAD_EMBED ? found : c->head;
    TRY(encoder_tensors(m, tensor_check, m));
    TRY(head_tensors(m, c->head, c->n_labels, tensor_check, m));
    TRY(vectors_open(c, folder, dtype));
    m->tokenizer = ig_tokenizer_load(folder);
    if (!m->tokenizer)
        return error_waiting(IG_ERR_FILE);
    TRY(case_check(m, folder));
    m->label_list = memory_get((size_t)(c->n_labels + 1) * sizeof *m->label_list);
    for (int i = 0; i < c->n_labels && m->label_list; i++)
        m->label_list[i] = c->labels[i];
    return m->label_list ? IG_OK : IG_ERR_MEMORY;
}

ig_text_model *ig_text_model_load(const char *folder, ig_dtype dtype)
{
    if (require_pointer("ig_text_model_load", "folder", folder) != IG_OK)
        return NULL;
    dtype = dtype == IG_DTYPE_NONE ? IG_F32 : dtype;
    if (!ig_isdtype(dtype, "real floating"))
        FAIL_NULL(IG_ERR_DTYPE, "ig_text_model_load: dtype is f32, f16, bf16 or f64");
    ig_text_model *m = memory_new(sizeof *m);
    if (!m || model_open(m, folder, dtype) == IG_OK)
        return m;
    ig_text_model_free(m);
    return NULL;
}

ig_status ig_text_model_info(const ig_text_model *m, ig_text_info *info)
{
    TRY(require_pointer("ig_text_model_info", "m", m));
    TRY(require_pointer("ig_text_model_info", "info", info));
    const model_config *c = &m->config;
    const ig_text_info own = {.architecture = c->arch->type,
                              .head = head_name(c->head),
                              .layers = (int)c->layers,
                              .heads = (int)c->heads,
                              .width = (int)c->width,
                              .dimensions = (int)c->dimensions,
                              .max_length = (int)c->max_length,
                              .n_labels = c->n_labels,
                              .labels = m->label_list,
                              .many_labels = c->many_labels,
                              .regression = c->regression,
                              .parameters = m->parameters,
                              .mask_id = ig_tokenizer_special(m->tokenizer, "mask")};
    return sized_write(SIZED(ig_text_info, mask_id), info, &own);
}

const ig_tokenizer *ig_text_model_tokenizer(const ig_text_model *m)
{
    return m ? m->tokenizer : NULL;
}

ig_status ig_text_model_override(ig_text_model *m, const ig_model *trained)
{
    TRY(require_pointer("ig_text_model_override", "m", m));
    m->weights.trained = trained;
    return IG_OK;
}

ig_status ig_text_model_dropout(ig_text_model *m, ig_model *trained, double p)
{
    TRY(require_pointer("ig_text_model_dropout", "m", m));
    if (!(p < 1))
        FAIL(IG_ERR_ARGUMENT,
             "ig_text_model_dropout: p is %g; give a probability below 1, or a negative number for "
             "the probabilities of config.json",
             p);
    m->dropping = trained;
    const double answer = m->config.arch->keys->answer_dropout ? p : 0;
    m->dropout = p < 0 ? m->config.dropout : (dropouts){p, p, p, p, answer};
    return IG_OK;
}

/* ---- batches -------------------------------------------------------------------------------- */

/* Rounds lengths up so that there are few different shapes. */
static int64_t round_length(int64_t t, int64_t most)
{
    const int64_t step = t <= 32 ? 8 : t <= 64 ? 16 : t <= 256 ? 32 : 64;
    const int64_t rounded = t < 1 ? 8 : (t + step - 1) / step * step;
    return rounded < most ? rounded : most;
}

static int64_t round_count(int64_t n)
{
    int64_t rounded = 1;
    while (rounded < n)
        rounded *= 2;
    return rounded;
}

static const char *token_text(const ig_text_model *m, int id)
{
    const char *token = ig_tokenizer_token(m->tokenizer, id);
    return token ? token : "";
}

static ig_status tokens_check(const ig_text_model *m, const ig_encoding *e)
{
    for (int i = 0; i < e->n; i++) {
        if (e->ids[i] < 0 || e->ids[i] >= m->config.vocabulary)
            FAIL(IG_ERR_INDEX,
                 "a text has the token '%.40s' with id %d, and the model has embeddings for %lld "
                 "tokens; the tokenizer belongs to another model",
                 token_text(m, e->ids[i]), (int)e->ids[i], (long long)m->config.vocabulary);
        if (m->config.types && !m->config.no_types &&
            (e->types[i] < 0 || e->types[i] >= m->config.types))
            FAIL(IG_ERR_INDEX, "a text has the token type %d, and the model has %lld types",
                 (int)e->types[i], (long long)m->config.types);
    }
    return IG_OK;
}

ig_status batch_make(const ig_text_model *m, const ig_encoding *encodings, int n, batch_arrays *out)
{
    int64_t longest = 1;
    bool types = false, padded = false, skips = false; /* skips: positions skip a token */
    for (int i = 0; i < n; i++) {
        TRY(tokens_check(m, &encodings[i]));
        longest = encodings[i].n > longest ? encodings[i].n : longest;
    }
    if (longest > m->config.positions - m->config.first_position)
        FAIL(IG_ERR_ARGUMENT,
             "a text has %lld tokens, and the model has positions for %lld; truncate it",
             (long long)longest, (long long)(m->config.positions - m->config.first_position));
    const int64_t t = round_length(longest, m->config.positions - m->config.first_position);
    const int64_t rows = round_count(n), size = rows * t;
    int32_t *ids = memory_new((size_t)size * 3 * sizeof *ids);
    int32_t *kinds = ids ? ids + size : NULL, *places = ids ? ids + 2 * size : NULL;
    bool *mask = memory_new((size_t)size * sizeof *mask);
    for (int64_t i = 0; i < rows && ids && mask; i++) {
        const ig_encoding *e = i < n ? &encodings[i] : NULL;
        int32_t place = (int32_t)m->config.padding;
        for (int64_t j = 0; e && j < e->n; j++) {
            const bool counted = e->ids[j] != m->config.padding;
            ids[i * t + j] = e->ids[j];
            kinds[i * t + j] = e->types[j];
            places[i * t + j] = counted ? ++place : (int32_t)m->config.padding;
            mask[i * t + j] = e->mask[j];
            types |= e->types[j] != 0 && !m->config.no_types;
            skips |= !counted && e->mask[j];
        }
        mask[i * t] = true; /* a row that is all padding would compute 0 / 0 */
        for (int64_t j = 0; j < t; j++)
            padded |= !mask[i * t + j];
    }
    *out = (batch_arrays){.n = rows, .t = t};
    if (ids && mask) {
        out->ids = ig_from_data(ids, IG_SHAPE(rows, t), IG_I32);
        out->types = types ? ig_from_data(kinds, IG_SHAPE(rows, t), IG_I32) : NULL;
        out->places = skips ? ig_from_data(places, IG_SHAPE(rows, t), IG_I32) : NULL;
        out->mask = padded ? ig_from_data(mask, IG_SHAPE(rows, t), IG_BOOL) : NULL;
    }
    memory_free(ids);
    memory_free(mask);
    return out->ids && !ig_failed() ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status ids_check(const char *function, const ig_text_model *m,
                           const ig_encoding *encodings, int n)
{
    TRY(require_pointer(function, "m", m));
    TRY(require_list(function, "encodings", encodings, n));
    if (n == 0)
        FAIL(IG_ERR_ARGUMENT, "%s: there are no encodings", function);
    for (int i = 0; i < n; i++)
        if (encodings[i].n < 0 ||
            (encodings[i].n && (!encodings[i].ids || !encodings[i].types || !encodings[i].mask)))
            FAIL(IG_ERR_ARGUMENT, "%s: encoding %d has no lists", function, i);
    return IG_OK;
}

ig_array *ig_text_model_hidden(ig_text_model *m, const ig_encoding *encodings, int n)
{
    batch_arrays b;
    if (ids_check("ig_text_model_hidden", m, encodings, n) != IG_OK ||
        batch_make(m, encodings, n, &b) != IG_OK)
        return NULL;
    return encoder_run(m, &b, NULL);
}

int ig_text_model_states(ig_text_model *m, const ig_encoding *encodings, int n, ig_array **out,
                         int max_out)
{
    batch_arrays b;
    if (ids_check("ig_text_model_states", m, encodings, n) != IG_OK ||
        require_list("ig_text_model_states", "out", out, max_out) != IG_OK)
        return 0;
    const int count = (int)m->config.layers + 1;
    if (count > max_out)
        FAIL_NONE(IG_ERR_ARGUMENT,
                  "ig_text_model_states: there are %d states, and out has room for %d", count,
                  max_out);
    return batch_make(m, encodings, n, &b) == IG_OK && encoder_run(m, &b, out) ? count : 0;
}

ig_array *ig_text_model_head(ig_text_model *m, const char *head, ig_array *hidden,
                             const ig_encoding *encodings, int n)
{
    batch_arrays b = {0};
    if (!hidden || require_pointer("ig_text_model_head", "m", m) != IG_OK ||
        require_list("ig_text_model_head", "encodings", encodings, n) != IG_OK) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "ig_text_model_head: hidden is NULL");
        return NULL;
    }
    const head_kind kind = head_find("ig_text_model_head", head);
    if (kind == HEADS)
        return NULL;
    const bool whole = kind == HEAD_EMBED || kind == HEAD_CLASSIFY;
    if (ig_ndim(hidden) < 1 || ig_dim(hidden, -1) != m->config.width ||
        (whole && ig_ndim(hidden) != 3))
        FAIL_NULL(IG_ERR_SHAPE, "ig_text_model_head: hidden must be (N, T, %lld)",
                  (long long)m->config.width);
    if (kind == HEAD_EMBED) {
        if (ids_check("ig_text_model_head", m, encodings, n) != IG_OK ||
            batch_make(m, encodings, n, &b) != IG_OK)
            return NULL;
        if (b.n != ig_dim(hidden, 0) || b.t != ig_dim(hidden, 1))
            FAIL_NULL(IG_ERR_SHAPE, "ig_text_model_head: hidden is not of these encodings");
    }
    return head_run(m, kind, hidden, b.mask);
}

/* ---- many texts ----------------------------------------------------------------------------- */

typedef struct order {
    int32_t length, index;
} order;

static int order_compare(const void *left, const void *right)
{
    const order *a = left, *b = right;
    return a->length != b->length ? (a->length < b->length ? -1 : 1)
                                  : (a->index > b->index) - (a->index < b->index);
}

/* Runs one batch and writes its rows to out. */
static ig_status batch_run(ig_text_model *m, head_kind head, const ig_encoding *encodings,
                           const order *orders, int n, int64_t columns, float *out)
{
    batch_arrays b;
    TRY(ig_scope_begin());
    ig_status status = batch_make(m, encodings, n, &b);
    ig_array *rows = status == IG_OK ? rows_run(m, head, &b) : NULL;
    const float *values = rows ? ig_data(rows) : NULL;
    for (int i = 0; i < n && values; i++)
        memcpy(out + orders[i].index * columns, values + i * columns,
               (size_t)columns * sizeof *out);
    status = values ? IG_OK : error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    return status;
}

/* Runs batches of texts of similar length, so that there is little padding. */
static ig_status texts_run(ig_text_model *m, head_kind head, const ig_encoding *all, order *orders,
                           int n, int64_t columns, float *out)
{
    const uint32_t cancels = cancel_count();
    ig_encoding some[BATCH_TEXTS];
    qsort(orders, (size_t)n, sizeof *orders, order_compare);
    for (int first = 0; first < n;) {
        int count = 0;
        while (first + count < n && count < BATCH_TEXTS) {
            const int64_t t = round_length(orders[first + count].length, m->config.max_length);
            if (count && t * (count + 1) > BATCH_TOKENS)
                break;
            some[count] = all[orders[first + count].index];
            count++;
        }
        /* Reduce the batch to a power of two; the texts left over go into the next batch. */
        while (first + count < n && (count & (count - 1)))
            count &= count - 1;
        if (cancel_count() != cancels)
            FAIL(IG_ERR_CANCELLED, "ig_text_model_run was cancelled after %d of %d texts", first,
                 n);
        TRY(batch_run(m, head, some, orders + first, count, columns, out));
        first += count;
    }
    return IG_OK;
}

static ig_array *encoded_run(ig_text_model *m, head_kind head, const ig_encoding *all, int n)
{
    const int64_t columns = head_columns(m, head);
    order *orders = memory_get(((size_t)n + 1) * sizeof *orders);
    float *out = memory_get(((size_t)(n * columns) + 1) * sizeof *out);
    ig_array *result = NULL;
    if (orders && out) {
        for (int i = 0; i < n; i++)
            orders[i] = (order){all[i].n, i};
        if (texts_run(m, head, all, orders, n, columns, out) == IG_OK)
            result = ig_from_data(out, IG_SHAPE(n, columns), IG_F32);
    }
    if (result && ig_text_model_check(m, result) != IG_OK)
        result = NULL;
    memory_free(orders);
    memory_free(out);
    return result;
}

/* The texts, each with the prompt before it, in one block. The caller releases it with memory_free. */
static ig_text *texts_prompt(const char *prompt, const ig_text *texts, int n)
{
    const size_t more = strlen(prompt);
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += more + texts[i].bytes;
    ig_text *out = memory_get((size_t)n * sizeof *out + bytes + 1);
    char *at = out ? (char *)(out + n) : NULL;
    for (int i = 0; i < n && out; i++) {
        out[i] = (ig_text){at, more + texts[i].bytes};
        memcpy(at, prompt, more);
        if (texts[i].bytes)
            memcpy(at + more, texts[i].at, texts[i].bytes);
        at += out[i].bytes;
    }
    return out;
}

ig_array *ig_text_model_run(ig_text_model *m, const char *head, const ig_text *texts,
                            const ig_text *pairs, int n)
{
    if (require_pointer("ig_text_model_run", "m", m) != IG_OK ||
        require_list("ig_text_model_run", "texts", texts, n) != IG_OK)
        return NULL;
    const head_kind kind = head_find("ig_text_model_run", head);
    if (kind == HEADS)
        return NULL;
    if (kind != HEAD_EMBED && kind != HEAD_CLASSIFY)
        FAIL_NULL(
            IG_ERR_ARGUMENT,
            "ig_text_model_run: the head is 'embed' or 'classify'; use ig_text_model_head for '%s'",
            head);
    const ig_encode_options options = {.max_length = (int)m->config.max_length, .pad = -1};
    ig_text *prompted = NULL;
    if (kind == HEAD_EMBED && m->config.prompt && *m->config.prompt &&
        !(prompted = texts_prompt(m->config.prompt, texts, n)))
        return NULL;
    ig_encoding *all =
        ig_tokenizer_encode(m->tokenizer, prompted ? prompted : texts, pairs, n, &options);
    ig_array *result = all ? encoded_run(m, kind, all, n) : NULL;
    memory_free(prompted);
    ig_free(all);
    return result;
}
