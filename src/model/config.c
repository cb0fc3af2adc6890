/* What a model folder says about its model: config.json and modules.json. See model.h. */
#include "model/model.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const architecture architectures[] = {
    {.type = "bert",
     .prefix = "bert.",
     .layer = "encoder.layer.%d.",
     .query = "attention.self.query",
     .key = "attention.self.key",
     .value = "attention.self.value",
     .out = "attention.output.dense",
     .norm1 = "attention.output.LayerNorm",
     .up = "intermediate.dense",
     .down = "output.dense",
     .norm2 = "output.LayerNorm",
     .width_key = "hidden_size",
     .layers_key = "num_hidden_layers",
     .heads_key = "num_attention_heads",
     .inner_key = "intermediate_size",
     .activation_key = "hidden_act",
     .types = true,
     .pre = "pooler.dense",
     .pre_in_encoder = true,
     .pre_activation = "tanh",
     .post = "classifier",
     .fill_dense = "cls.predictions.transform.dense",
     .fill_norm = "cls.predictions.transform.LayerNorm",
     .fill_decoder = "cls.predictions.decoder.weight",
     .fill_bias = "cls.predictions.bias"},
    {.type = "distilbert",
     .prefix = "distilbert.",
     .layer = "transformer.layer.%d.",
     .query = "attention.q_lin",
     .key = "attention.k_lin",
     .value = "attention.v_lin",
     .out = "attention.out_lin",
     .norm1 = "sa_layer_norm",
     .up = "ffn.lin1",
     .down = "ffn.lin2",
     .norm2 = "output_layer_norm",
     .width_key = "dim",
     .layers_key = "n_layers",
     .heads_key = "n_heads",
     .inner_key = "hidden_dim",
     .activation_key = "activation",
     .pre = "pre_classifier",
     .pre_activation = "relu",
     .post = "classifier",
     .fill_dense = "vocab_transform",
     .fill_norm = "vocab_layer_norm",
     .fill_decoder = "vocab_projector.weight",
     .fill_bias = "vocab_projector.bias"},
    {.type = "roberta",
     .prefix = "roberta.",
     .layer = "encoder.layer.%d.",
     .query = "attention.self.query",
     .key = "attention.self.key",
     .value = "attention.self.value",
     .out = "attention.output.dense",
     .norm1 = "attention.output.LayerNorm",
     .up = "intermediate.dense",
     .down = "output.dense",
     .norm2 = "output.LayerNorm",
     .width_key = "hidden_size",
     .layers_key = "num_hidden_layers",
     .heads_key = "num_attention_heads",
     .inner_key = "intermediate_size",
     .activation_key = "hidden_act",
     .types = true,
     .padded_positions = true,
     .pre = "classifier.dense",
     .pre_activation = "tanh",
     .post = "classifier.out_proj",
     .fill_dense = "lm_head.dense",
     .fill_norm = "lm_head.layer_norm",
     .fill_decoder = "lm_head.decoder.weight",
     .fill_bias = "lm_head.bias"},
    {.type = "mpnet",
     .prefix = "mpnet.",
     .layer = "encoder.layer.%d.",
     .query = "attention.attn.q",
     .key = "attention.attn.k",
     .value = "attention.attn.v",
     .out = "attention.attn.o",
     .norm1 = "attention.LayerNorm",
     .up = "intermediate.dense",
     .down = "output.dense",
     .norm2 = "output.LayerNorm",
     .width_key = "hidden_size",
     .layers_key = "num_hidden_layers",
     .heads_key = "num_attention_heads",
     .inner_key = "intermediate_size",
     .activation_key = "hidden_act",
     .padded_positions = true,
     .relative = true,
     .pre = "classifier.dense",
     .pre_activation = "tanh",
     .post = "classifier.out_proj",
     .fill_dense = "lm_head.dense",
     .fill_norm = "lm_head.layer_norm",
     .fill_decoder = "lm_head.decoder.weight",
     .fill_bias = "lm_head.bias"},
};

const architecture *architecture_find(const char *type)
{
    const char *known =
        strcmp(type, "xlm-roberta") == 0 || strcmp(type, "camembert") == 0 ? "roberta" : type;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (strcmp(architectures[i].type, known) == 0)
            return &architectures[i];
    return NULL;
}

static const char *const head_names[HEADS] = {"embed", "classify", "tag", "fill", "answer"};

const char *head_name(head_kind head) { return head_names[head]; }

head_kind head_find(const char *function, const char *name)
{
    for (int i = 0; i < HEADS; i++)
        if (name && strcmp(head_names[i], name) == 0)
            return (head_kind)i;
    ig_fail(IG_ERR_ARGUMENT,
            "%s: the head '%.40s' is not known; there are embed, classify, tag, fill and answer",
            function, name ? name : "(NULL)");
    return HEADS;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A JSON file, held while its fields are used. */
typedef struct json_file {
    char path[MODEL_PATH];
    char *data;
    field root;
} json_file;

static ig_status json_open(json_file *f, const char *folder, const char *name, bool absent_ok)
{
    size_t bytes = 0;
    json_reader r;
    *f = (json_file){0};
    if ((size_t)snprintf(f->path, sizeof f->path, "%s/%s", folder, name) >= sizeof f->path)
        FAIL(IG_ERR_FILE, "load '%.100s...': the path is too long", folder);
    TRY(file_read_whole(f->path, absent_ok, &f->data, &bytes));
    if (!f->data)
        return IG_OK;
    json_begin(&r, f->data, bytes);
    f->root = field_take(&r);
    if (json_end(&r) != IG_OK)
        FAIL(IG_ERR_FORMAT, "load '%.300s': it is not valid JSON %s", f->path, r.problem);
    return IG_OK;
}

static void json_close(json_file *f) { free(f->data); }

/* A number of config.json, within bounds. */
static ig_status count_read(const json_file *f, const char *key, int64_t otherwise, int64_t *out)
{
    const field value = field_get(f->root, key);
    *out = field_int(value, otherwise);
    if (*out < 1 || *out > INT32_MAX)
        FAIL(IG_ERR_FORMAT, "load '%.300s': '%s' %s; expected a number from 1 to %d", f->path, key,
             field_given(value) ? "is out of range" : "is missing", INT32_MAX);
    return IG_OK;
}

/* ---- labels --------------------------------------------------------------------------------- */

typedef struct label_reading {
    model_config *c;
    const json_file *file;
} label_reading;

/* "0": "NEGATIVE" */
static ig_status label_read(void *context, json_text key, field f)
{
    label_reading *r = context;
    char *number = json_text_copy(key, NULL), *name = field_text(f, NULL), *end = NULL;
    const long index = number ? strtol(number, &end, 10) : -1;
    const bool fine = number && name && *number && !*end && index >= 0 && index < 1 << 20;
    memory_free(number);
    if (fine && index >= r->c->n_labels) {
        char **labels = memory_resize(r->c->labels, ((size_t)index + 1) * sizeof *labels);
        if (!labels) {
            memory_free(name);
            return IG_ERR_MEMORY;
        }
        r->c->labels = labels;
        for (; r->c->n_labels <= index; r->c->n_labels++)
            labels[r->c->n_labels] = NULL;
    }
    if (!fine || r->c->labels[index]) {
        memory_free(name);
        FAIL(IG_ERR_FORMAT, "load '%.300s': id2label has an entry that is not \"number\": \"name\"",
             r->file->path);
    }
    r->c->labels[index] = name;
    return IG_OK;
}

static ig_status labels_read(model_config *c, const json_file *f)
{
    label_reading r = {c, f};
    TRY(field_each(field_get(f->root, "id2label"), label_read, &r));
    for (int i = 0; i < c->n_labels; i++)
        if (!c->labels[i])
            FAIL(IG_ERR_FORMAT, "load '%.300s': id2label has no label %d", f->path, i);
    int64_t wanted = field_int(field_get(f->root, "num_labels"), c->n_labels ? c->n_labels : 2);
    if (wanted < 1 || wanted > 1 << 20)
        wanted = 2;
    if (c->n_labels)
        return IG_OK;
    c->labels = memory_new((size_t)wanted * sizeof *c->labels);
    if (!c->labels)
        return IG_ERR_MEMORY;
    for (; c->n_labels < wanted; c->n_labels++) {
        char name[32];
        snprintf(name, sizeof name, "LABEL_%d", c->n_labels);
        if (!(c->labels[c->n_labels] = memory_text(name)))
            return IG_ERR_MEMORY;
    }
    return IG_OK;
}

/* ---- config.json ---------------------------------------------------------------------------- */

/* The head by the end of the class name: "BertForMaskedLM". */
static ig_status head_read(void *context, json_text key, field f)
{
    static const struct {
        const char *end;
        head_kind head;
    } rows[] = {{"ForSequenceClassification", HEAD_CLASSIFY},
                {"ForTokenClassification", HEAD_TAG},
                {"ForMaskedLM", HEAD_FILL},
                {"ForQuestionAnswering", HEAD_ANSWER},
                {"ForPreTraining", HEAD_FILL}};
    head_kind *head = context;
    char *name = field_text(f, NULL);
    (void)key;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && name; i++) {
        const size_t n = strlen(name), m = strlen(rows[i].end);
        if (n >= m && strcmp(name + n - m, rows[i].end) == 0)
            *head = rows[i].head;
    }
    memory_free(name);
    return IG_OK;
}

static ig_status type_read(model_config *c, const json_file *f)
{
    char *type = field_text(field_get(f->root, "model_type"), NULL);
    c->arch = type ? architecture_find(type) : NULL;
    const ig_status status = c->arch ? IG_OK
                                     : ig_fail(IG_ERR_UNSUPPORTED,
                                               "load '%.300s': the model_type '%.40s' is not "
                                               "known; there are bert, distilbert, roberta, "
                                               "xlm-roberta, camembert and mpnet",
                                               f->path, type ? type : "(missing)");
    memory_free(type);
    return status;
}

static ig_status numbers_read(model_config *c, const json_file *f)
{
    const architecture *a = c->arch;
    TRY(count_read(f, a->width_key, 768, &c->width));
    TRY(count_read(f, a->layers_key, 12, &c->layers));
    TRY(count_read(f, a->heads_key, 12, &c->heads));
    TRY(count_read(f, a->inner_key, 3072, &c->inner));
    TRY(count_read(f, "vocab_size", 30522, &c->vocabulary));
    TRY(count_read(f, "max_position_embeddings", 512, &c->positions));
    c->types = 0;
    if (a->types)
        TRY(count_read(f, "type_vocab_size", 2, &c->types));
    c->buckets = 0;
    if (a->relative)
        TRY(count_read(f, "relative_attention_num_buckets", 32, &c->buckets));
    c->eps = field_number(field_get(f->root, "layer_norm_eps"), 1e-12);
    const int64_t pad = field_int(field_get(f->root, "pad_token_id"), 1);
    c->first_position = a->padded_positions ? pad + 1 : 0;
    if (c->width % c->heads)
        FAIL(IG_ERR_FORMAT, "load '%.300s': %s is %lld, which is not a multiple of the %lld heads",
             f->path, a->width_key, (long long)c->width, (long long)c->heads);
    if (pad < 0 || c->first_position >= c->positions)
        FAIL(IG_ERR_FORMAT, "load '%.300s': pad_token_id is %lld, and there are %lld positions",
             f->path, (long long)pad, (long long)c->positions);
    c->max_length = c->positions - c->first_position;
    return IG_OK;
}

static ig_status details_read(model_config *c, const json_file *f)
{
    const field positions = field_get(f->root, "position_embedding_type"),
                problem = field_get(f->root, "problem_type");
    char *activation = field_text(field_get(f->root, c->arch->activation_key), NULL);
    snprintf(c->activation, sizeof c->activation, "%s", activation ? activation : "gelu");
    memory_free(activation);
    if (field_given(positions) && !field_is(positions, "absolute"))
        FAIL(IG_ERR_UNSUPPORTED, "load '%.300s': position_embedding_type is not \"absolute\"",
             f->path);
    if (!activation_run(c->activation, NULL) && ig_failed()) {
        ig_error(NULL);
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': the activation '%s' is not known; there are gelu, gelu_new, relu, "
             "silu and tanh",
             f->path, c->activation);
    }
    c->many_labels = field_is(problem, "multi_label_classification");
    c->tied = field_bool(field_get(f->root, "tie_word_embeddings"), true);
    c->head = HEAD_EMBED;
    TRY(field_each(field_get(f->root, "architectures"), head_read, &c->head));
    return labels_read(c, f);
}

/* ---- sentence-transformers ------------------------------------------------------------------ */

static ig_status pooling_read(model_config *c, const char *folder, const char *path)
{
    char name[MODEL_PATH];
    json_file f;
    snprintf(name, sizeof name, "%.2000s/config.json", path);
    ig_status status = json_open(&f, folder, name, false);
    if (status == IG_OK) {
        const bool cls = field_bool(field_get(f.root, "pooling_mode_cls_token"), false) ||
                         field_is(field_get(f.root, "pooling_mode"), "cls");
        const bool most = field_bool(field_get(f.root, "pooling_mode_max_tokens"), false) ||
                          field_is(field_get(f.root, "pooling_mode"), "max");
        const bool mean = field_bool(field_get(f.root, "pooling_mode_mean_tokens"), !cls && !most);
        c->root_length = field_bool(field_get(f.root, "pooling_mode_mean_sqrt_len_tokens"), false);
        c->pooling = cls ? POOL_CLS : most ? POOL_MAX : POOL_MEAN;
        if (cls + most + (mean || c->root_length) > 1)
            status = ig_fail(IG_ERR_UNSUPPORTED,
                             "load '%.300s': it combines several ways of pooling", f.path);
    }
    json_close(&f);
    return status;
}

typedef struct modules {
    model_config *c;
    const char *folder;
    const json_file *file;
} modules;

static ig_status module_read(void *context, json_text key, field f)
{
    const modules *m = context;
    char *type = field_text(field_get(f, "type"), NULL),
         *path = field_text(field_get(f, "path"), NULL);
    const char *dot = type ? strrchr(type, '.') : NULL, *kind = dot ? dot + 1 : "";
    ig_status status = IG_OK;
    (void)key;
    if (strcmp(kind, "Pooling") == 0)
        status = pooling_read(m->c, m->folder, path ? path : "1_Pooling");
    else if (strcmp(kind, "Normalize") == 0)
        m->c->normalize = true;
    else if (strcmp(kind, "Transformer") != 0)
        status = ig_fail(IG_ERR_UNSUPPORTED,
                         "load '%.300s': the module '%.60s' is not known; there are Transformer, "
                         "Pooling and Normalize",
                         m->file->path, kind);
    memory_free(type);
    memory_free(path);
    return status;
}

static ig_status modules_read(model_config *c, const char *folder)
{
    json_file f;
    ig_status status = json_open(&f, folder, "modules.json", true);
    modules m = {c, folder, &f};
    if (status == IG_OK && f.data)
        status = field_each(f.root, module_read, &m);
    json_close(&f);
    if (status != IG_OK)
        return status;
    status = json_open(&f, folder, "sentence_bert_config.json", true);
    const int64_t most = status == IG_OK ? field_int(field_get(f.root, "max_seq_length"), 0) : 0;
    if (most > 0 && most < c->max_length)
        c->max_length = most;
    json_close(&f);
    if (status != IG_OK || most > 0)
        return status;
    status = json_open(&f, folder, "tokenizer_config.json", true);
    const int64_t limit = status == IG_OK ? field_int(field_get(f.root, "model_max_length"), 0) : 0;
    if (limit > 0 && limit < c->max_length)
        c->max_length = limit;
    json_close(&f);
    return status;
}

ig_status config_read(model_config *c, const char *folder)
{
    json_file f;
    ig_status status = json_open(&f, folder, "config.json", false);
    if (status == IG_OK && f.root.kind != JSON_OBJECT)
        status = ig_fail(IG_ERR_FORMAT, "load '%.300s': it is not an object", f.path);
    if (status == IG_OK)
        status = type_read(c, &f);
    if (status == IG_OK)
        status = numbers_read(c, &f);
    if (status == IG_OK)
        status = details_read(c, &f);
    json_close(&f);
    return status == IG_OK ? modules_read(c, folder) : status;
}

void config_free(model_config *c)
{
    for (int i = 0; i < c->n_labels; i++)
        memory_free(c->labels[i]);
    memory_free(c->labels);
}
