/* Reads the configuration of a model folder: config.json and modules.json. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

ig_status config_count(const json_file *f, const char *key, int64_t otherwise, int64_t *out)
{
    const field value = field_get(f->root, key);
    *out = field_int(value, otherwise);
    if (*out < 1 || *out > INT32_MAX || (field_given(value) && value.kind != JSON_NUMBER))
        FAIL(IG_ERR_FORMAT, "load '%.300s': '%s' %s; expected a number from 1 to %d", f->path, key,
             field_given(value) ? "is out of range" : "is missing", INT32_MAX);
    return IG_OK;
}

/* A number from a file; `otherwise` if it is absent. */
static ig_status config_number(const json_file *f, const char *key, double otherwise, double *out)
{
    const field value = field_get(f->root, key);
    *out = field_number(value, otherwise);
    if (field_given(value) && value.kind != JSON_NUMBER)
        FAIL(IG_ERR_FORMAT, "load '%.300s': '%s' is not a number", f->path, key);
    return IG_OK;
}

/* ---- labels --------------------------------------------------------------------------------- */

typedef struct label_reading {
    model_config *c;
    const json_file *file;
} label_reading;

/* A label's name; a number is converted to text. */
static char *label_text(field f)
{
    if (f.kind != JSON_NUMBER)
        return field_text(f, NULL);
    char *name = memory_get(f.bytes + 1);
    if (name)
        snprintf(name, f.bytes + 1, "%.*s", (int)f.bytes, f.at);
    return name;
}

/* "0": "NEGATIVE" */
static ig_status label_read(void *context, json_text key, field f)
{
    label_reading *r = context;
    char *number = json_text_copy(key, NULL), *name = label_text(f), *end = NULL;
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

/* Finds the head by the suffix of the class name, such as "BertForMaskedLM". For other classes only the encoder is
 * used. */
static ig_status head_read(void *context, json_text key, field f)
{
    static const struct {
        const char *end;
        head_kind head;
    } rows[] = {{"ForSequenceClassification", HEAD_CLASSIFY},
                {"ForTokenClassification", HEAD_TAG},
                {"ForMaskedLM", HEAD_FILL},
                {"ForQuestionAnswering", HEAD_ANSWER},
                {"BertForPreTraining", HEAD_FILL}};
    head_kind *head = context;
    char *name = field_text(f, NULL);
    (void)key;
    if (*head == HEADS)
        *head = HEAD_EMBED;
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
    c->type = type ? model_type_find(type) : NULL;
    c->arch = c->type ? c->type->arch : NULL;
    const ig_status status = c->arch ? IG_OK
                                     : ig_fail(IG_ERR_UNSUPPORTED,
                                               "load '%.300s': the model_type '%.40s' is not "
                                               "known; there are bert, distilbert, roberta, "
                                               "xlm-roberta, camembert, mpnet and electra",
                                               f->path, type ? type : "(missing)");
    memory_free(type);
    return status;
}

/* The first position, and from it the limit on tokens per text. */
static ig_status positions_read(model_config *c, const json_file *f)
{
    const position_kind kind = c->arch->positions;
    c->padding = kind == POSITIONS_FROM_0     ? -1
                 : kind == POSITIONS_BEHIND_1 ? 1
                                              : field_int(field_get(f->root, "pad_token_id"), 1);
    c->first_position = c->padding + 1;
    c->max_length = c->positions - c->first_position;
    if (c->first_position < 0 || c->max_length < 1)
        FAIL(
            IG_ERR_FORMAT,
            "load '%.300s': pad_token_id is %lld, and there are %lld positions; the first position "
            "is pad_token_id + 1",
            f->path, (long long)c->padding, (long long)c->positions);
    return IG_OK;
}

static ig_status numbers_read(model_config *c, const json_file *f)
{
    const architecture *a = c->arch;
    const config_keys *k = a->keys;
    TRY(config_count(f, k->width, a->sizes.width, &c->width));
    TRY(config_count(f, k->layers, a->sizes.layers, &c->layers));
    TRY(config_count(f, k->heads, a->sizes.heads, &c->heads));
    TRY(config_count(f, k->inner, a->sizes.inner, &c->inner));
    TRY(config_count(f, "vocab_size", 30522, &c->vocabulary));
    TRY(config_count(f, "max_position_embeddings", 512, &c->positions));
    c->types = 0;
    if (a->types)
        TRY(config_count(f, "type_vocab_size", 2, &c->types));
    c->embedding = c->width;
    if (a->narrow)
        TRY(config_count(f, "embedding_size", 128, &c->embedding));
    c->buckets = 0;
    if (a->relative)
        TRY(config_count(f, "relative_attention_num_buckets", 32, &c->buckets));
    if (a->relative && c->buckets < DISTANCE_BUCKETS)
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': relative_attention_num_buckets is %lld; expected at least %d", f->path,
             (long long)c->buckets, DISTANCE_BUCKETS);
    TRY(config_number(f, "layer_norm_eps", 1e-12, &c->eps));
    c->eps = a->eps ? a->eps : c->eps;
    if (c->width % c->heads)
        FAIL(IG_ERR_FORMAT, "load '%.300s': %s is %lld, which is not a multiple of the %lld heads",
             f->path, k->width, (long long)c->width, (long long)c->heads);
    return positions_read(c, f);
}

static ig_status activation_read(model_config *c, const json_file *f)
{
    const field value = field_get(f->root, c->arch->keys->activation);
    char *name = field_given(value) ? field_text(value, NULL) : memory_text("gelu");
    c->activation = name ? activation_find(name) : NULL;
    const ig_status status =
        c->activation ? IG_OK
                      : ig_fail(IG_ERR_UNSUPPORTED,
                                "load '%.300s': the activation '%.40s' is not known; there are "
                                "gelu, gelu_new, gelu_pytorch_tanh, relu, silu, tanh, sigmoid "
                                "and linear",
                                f->path, name ? name : "(not a name)");
    memory_free(name);
    return status;
}

static ig_status dropouts_read(model_config *c, const json_file *f)
{
    const architecture *a = c->arch;
    const config_keys *k = a->keys;
    dropouts *d = &c->dropout;
    TRY(config_number(f, k->dropout, 0.1, &d->hidden));
    TRY(config_number(f, k->attention_dropout, 0.1, &d->attention));
    const double otherwise = a->classify_dropout ? a->classify_dropout : d->hidden;
    TRY(config_number(f, k->classify_dropout, otherwise, &d->classify));
    TRY(config_number(f, k->tag_dropout, d->hidden, &d->tag));
    if (k->answer_dropout)
        TRY(config_number(f, k->answer_dropout, 0.1, &d->answer));
    const double all[] = {d->hidden, d->attention, d->classify, d->tag, d->answer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(all[i] >= 0 && all[i] < 1))
            FAIL(IG_ERR_FORMAT,
                 "load '%.300s': a dropout probability is %g; expected at least 0 and less than 1",
                 f->path, all[i]);
    return IG_OK;
}

static ig_status details_read(model_config *c, const json_file *f)
{
    const field positions = field_get(f->root, "position_embedding_type"),
                problem = field_get(f->root, "problem_type");
    TRY(activation_read(c, f));
    if (field_given(positions) && !field_is(positions, "absolute"))
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': position_embedding_type is %.*s; only \"absolute\" is known", f->path,
             positions.bytes < 60 ? (int)positions.bytes : 60, positions.at);
    if (field_bool(field_get(f->root, "is_decoder"), false))
        FAIL(IG_ERR_UNSUPPORTED,
             "load '%.300s': is_decoder is true, so a token does not see later tokens; only "
             "encoders "
             "are known",
             f->path);
    c->tied = field_bool(field_get(f->root, "tie_word_embeddings"), true);
    c->head = HEADS;
    TRY(field_each(field_get(f->root, "architectures"), head_read, &c->head));
    TRY(dropouts_read(c, f));
    TRY(labels_read(c, f));
    c->regression = field_is(problem, "regression");
    c->many_labels =
        !c->regression && (field_is(problem, "multi_label_classification") || c->n_labels == 1);
    return IG_OK;
}

/* ---- the whole folder ----------------------------------------------------------------------- */

/* The limit on tokens per text: from sentence-transformers, or from the tokenizer. Also reads whether
 * sentence-transformers lowers the case. */
static ig_status length_read(model_config *c, const char *folder)
{
    static const char *const rows[][2] = {{"sentence_bert_config.json", "max_seq_length"},
                                          {"tokenizer_config.json", "model_max_length"}};
    int64_t most = 0;
    for (int i = 0; i < 2 && most <= 0; i++) {
        json_file f;
        const ig_status status = json_file_open(&f, folder, rows[i][0], true);
        most = status == IG_OK ? field_int(field_get(f.root, rows[i][1]), 0) : 0;
        c->lower |= i == 0 && field_bool(field_get(f.root, "do_lower_case"), false);
        json_file_close(&f);
        TRY(status);
    }
    if (most > 0 && most < c->max_length)
        c->max_length = most;
    return IG_OK;
}

static ig_status input_read(void *context, json_text key, field f)
{
    bool *types = context;
    (void)key;
    *types |= field_is(f, "token_type_ids");
    return IG_OK;
}

/* Reads whether the model gets token types: tokenizer_config.json may list the model's inputs. The generic class of
 * transformers 5 leaves types out. */
static ig_status inputs_read(model_config *c, const char *folder)
{
    json_file f;
    ig_status status = json_file_open(&f, folder, "tokenizer_config.json", true);
    const field inputs = field_get(f.root, "model_input_names");
    bool types = inputs.kind != JSON_ARRAY &&
                 !field_is(field_get(f.root, "tokenizer_class"), "TokenizersBackend");
    if (status == IG_OK)
        status = field_each(inputs, input_read, &types);
    c->no_types = !types;
    json_file_close(&f);
    return status;
}

static const char folder_files[] = "config.json, model.safetensors and tokenizer.json or vocab.txt";

/* Fails if the path is not a folder. The message explains what a model folder contains. */
static ig_status folder_check(const char *folder)
{
    struct stat info;
    if (stat(folder, &info) != 0)
        FAIL(IG_ERR_FILE,
             "load '%.300s': the model folder cannot be opened: %s; give the path of a folder with "
             "%s; nothing is downloaded",
             folder, strerror(errno), folder_files);
    if (!S_ISDIR(info.st_mode))
        FAIL(IG_ERR_FILE, "load '%.300s': it is a file; give the path of the model folder, with %s",
             folder, folder_files);
    return IG_OK;
}

ig_status config_read(model_config *c, const char *folder)
{
    json_file f;
    TRY(folder_check(folder));
    TRY(modules_read(c, folder)); /* config.json may be in the folder of a module */
    ig_status status = json_file_open(&f, folder, "config.json", true);
    if (status == IG_OK && !f.data)
        status = ig_fail(IG_ERR_FILE,
                         "load '%.300s': the folder has no config.json; a model "
                         "folder has %s",
                         folder, folder_files);
    if (status == IG_OK && f.root.kind != JSON_OBJECT)
        status = ig_fail(IG_ERR_FORMAT, "load '%.300s': it is not an object", f.path);
    if (status == IG_OK)
        status = type_read(c, &f);
    if (status == IG_OK)
        status = numbers_read(c, &f);
    if (status == IG_OK)
        status = details_read(c, &f);
    json_file_close(&f);
    if (status == IG_OK)
        status = inputs_read(c, folder);
    return status == IG_OK ? length_read(c, folder) : status;
}

void config_free(model_config *c)
{
    for (int i = 0; i < c->n_labels; i++)
        memory_free(c->labels[i]);
    memory_free(c->labels);
    for (int i = 0; i < c->n_modules; i++)
        memory_free(c->modules[i]);
    memory_free(c->modules);
    memory_free(c->prompt);
    for (int i = 0; i < c->n_steps; i++)
        weights_close(&c->steps[i].weights);
    memory_free(c->steps);
}
