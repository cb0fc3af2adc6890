/* Fine-tuning: weights as parameters of an ig_model, and saving the result as a model folder. See model.h. */
#include "lib/model/model.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INITIAL_DEVIATION 0.02 /* standard deviation of new weights, as in transformers */

/* ---- parameters ----------------------------------------------------------------------------- */

typedef struct adding {
    ig_text_model *m;
    ig_model *trained;
} adding;

/* Adds the folder's tensor as a parameter. If it is missing or has another shape, the parameter is initialized. */
static ig_status parameter_add(void *context, const char *name, ig_ints shape)
{
    const adding *a = context;
    const bool bias = strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".bias") == 0;
    ig_array *value = NULL;
    if (weights_has(&a->m->weights, name) && !(value = weights_get(&a->m->weights, name, shape)))
        ig_error(NULL); /* another shape: a head for other labels */
    if (!ig_model_param(a->trained, name, shape, a->m->weights.dtype,
                        bias ? IG_INIT_ZEROS : IG_INIT_NORMAL, bias ? 0 : INITIAL_DEVIATION))
        return error_waiting(IG_ERR_MEMORY);
    return value ? ig_model_set(a->trained, name, value) : IG_OK;
}

ig_status ig_text_model_train(ig_text_model *m, ig_model *trained, const char *head, int labels,
                              bool all)
{
    TRY(require_pointer("ig_text_model_train", "m", m));
    TRY(require_pointer("ig_text_model_train", "trained", trained));
    const head_kind kind = head_find("ig_text_model_train", head);
    adding a = {m, trained};
    if (kind == HEADS)
        return IG_ERR_ARGUMENT;
    if (labels < 1 && (kind == HEAD_CLASSIFY || kind == HEAD_TAG))
        FAIL(IG_ERR_ARGUMENT, "ig_text_model_train: there are %d labels; give 1 or more", labels);
    if (all)
        TRY(encoder_tensors(m, parameter_add, &a));
    return head_tensors(m, kind, labels, parameter_add, &a);
}

/* ---- files ---------------------------------------------------------------------------------- */

static ig_status file_write(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[MODEL_PATH];
    struct io_file file;
    snprintf(path, sizeof path, "%.3800s/%.200s", folder, name);
    ig_status status = io_create(&file, path);
    if (status == IG_OK)
        status = io_write(&file, data, bytes);
    return io_finish(&file, status);
}

/* Copies a file of the model's folder, if it exists. */
static ig_status file_copy(const ig_text_model *m, const char *name, const char *folder)
{
    char path[MODEL_PATH], *data = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%.3800s/%s", m->weights.folder, name);
    ig_status status = file_read_whole(path, true, &data, &bytes);
    if (status == IG_OK && data)
        status = file_write(folder, name, data, bytes);
    free(data);
    return status;
}

/* ---- config.json ---------------------------------------------------------------------------- */

typedef struct rewriting {
    text out;
    bool labels; /* labels are replaced */
} rewriting;

static bool is_replaced(const rewriting *w, json_text key)
{
    static const char *const always[] = {"architectures", "torch_dtype", "dtype"};
    static const char *const with_labels[] = {"id2label", "label2id", "num_labels", "_num_labels",
                                              "problem_type"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (json_text_is(key, always[i]))
            return true;
    for (size_t i = 0; i < sizeof with_labels / sizeof *with_labels && w->labels; i++)
        if (json_text_is(key, with_labels[i]))
            return true;
    return false;
}

static ig_status member_copy(void *context, json_text key, field f)
{
    rewriting *w = context;
    if (!is_replaced(w, key))
        text_add(&w->out, ",\n  \"%.*s\": %.*s", (int)key.bytes, key.at, (int)f.bytes, f.at);
    return IG_OK;
}

static void labels_write(text *t, const char *const *labels, int n)
{
    text_add(t, ",\n  \"problem_type\": \"single_label_classification\",\n  \"id2label\": {");
    for (int i = 0; i < n; i++) {
        text_add(t, "%s\"%d\": ", i ? ", " : "", i);
        json_quote(t, labels[i]);
    }
    text_add(t, "},\n  \"label2id\": {");
    for (int i = 0; i < n; i++) {
        text_add(t, i ? ", " : "");
        json_quote(t, labels[i]);
        text_add(t, ": %d", i);
    }
    text_add(t, "}");
}

static ig_status config_write(const ig_text_model *m, head_kind head, const char *const *labels,
                              int n, const char *folder)
{
    static const char *const class_ends[HEADS] = {"Model", "ForSequenceClassification",
                                                  "ForTokenClassification", "ForMaskedLM",
                                                  "ForQuestionAnswering"};
    json_file f;
    rewriting w = {.labels = n > 0};
    ig_status status = json_file_open(&f, m->weights.folder, "config.json", false);
    text_add(&w.out, "{\n  \"architectures\": [\"%s%s\"],\n  \"dtype\": \"float32\"",
             m->config.type->class_begin, class_ends[head]);
    if (status == IG_OK)
        status = field_each(f.root, member_copy, &w);
    if (n > 0)
        labels_write(&w.out, labels, n);
    text_add(&w.out, "\n}\n");
    char *all = text_take(&w.out);
    if (status == IG_OK)
        status = all ? file_write(folder, "config.json", all, strlen(all)) : IG_ERR_MEMORY;
    memory_free(all);
    json_file_close(&f);
    return status;
}

/* ---- weights -------------------------------------------------------------------------------- */

typedef struct collecting {
    ig_text_model *m;
    ig_tensors *set;
    bool encoder; /* encoder tensors are being visited */
} collecting;

/* Encoders are saved with their architecture's prefix, as transformers does for models with a head. */
static ig_status tensor_collect(void *context, const char *name, ig_ints shape)
{
    const collecting *k = context;
    const bool encoder = k->encoder || strncmp(name, "pooler.", 7) == 0;
    char full[MODEL_NAME];
    snprintf(full, sizeof full, "%s%s",
             encoder && !*k->m->weights.prefix ? k->m->config.arch->prefix : "", name);
    ig_array *x = weights_get(&k->m->weights, name, shape);
    if (!x)
        return error_waiting(IG_ERR_FORMAT);
    return ig_tensors_put(k->set, full, ig_astype(x, IG_F32));
}

static ig_status weights_write(ig_text_model *m, head_kind head, int64_t labels, const char *folder)
{
    char path[MODEL_PATH];
    snprintf(path, sizeof path, "%.3800s/model.safetensors", folder);
    collecting k = {m, ig_tensors_new(), true};
    ig_status status = k.set ? ig_scope_begin() : IG_ERR_MEMORY;
    if (status == IG_OK) {
        status = encoder_tensors(m, tensor_collect, &k);
        k.encoder = false;
        if (status == IG_OK)
            status = head_tensors(m, head, labels, tensor_collect, &k);
        if (status == IG_OK)
            status = ig_tensors_put_text(k.set, "format", "pt");
        if (status == IG_OK)
            status = ig_tensors_save(k.set, path);
        ig_scope_end();
    }
    ig_tensors_free(k.set);
    return status;
}

/* ---- the folder ----------------------------------------------------------------------------- */

static ig_status folder_make(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        FAIL(IG_ERR_FILE, "save '%.300s': the folder cannot be created: %s", path, strerror(errno));
    return IG_OK;
}

/* Copies modules.json of sentence-transformers and the modules' folders. */
static ig_status modules_copy(const ig_text_model *m, const char *folder)
{
    static const char *const files[] = {"config.json", "model.safetensors"};
    TRY(file_copy(m, "modules.json", folder));
    TRY(file_copy(m, "sentence_bert_config.json", folder));
    TRY(file_copy(m, "config_sentence_transformers.json", folder));
    for (int i = 0; i < m->config.n_modules; i++) {
        const char *module = m->config.modules[i];
        char name[MODEL_PATH];
        snprintf(name, sizeof name, "%.2000s/%.1800s", folder, module);
        TRY(folder_make(name));
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "%.2000s/%s", module, files[k]);
            TRY(file_copy(m, name, folder));
        }
    }
    return IG_OK;
}

ig_status ig_text_model_save(ig_text_model *m, const char *head, const char *const *labels, int n,
                             const char *folder)
{
    static const char *const copied[] = {
        "tokenizer.json", "vocab.txt",  "tokenizer_config.json", "special_tokens_map.json",
        "vocab.json",     "merges.txt", "added_tokens.json"};
    TRY(require_pointer("ig_text_model_save", "m", m));
    TRY(require_pointer("ig_text_model_save", "folder", folder));
    TRY(require_list("ig_text_model_save", "labels", labels, n));
    const head_kind kind = head_find("ig_text_model_save", head);
    if (kind == HEADS)
        return IG_ERR_ARGUMENT;
    for (int i = 0; i < n; i++)
        if (!labels[i] || !json_is_utf8(labels[i]))
            FAIL(IG_ERR_ARGUMENT, "ig_text_model_save: label %d is %s", i,
                 labels[i] ? "not UTF-8" : "NULL");
    if (strlen(folder) > 2000)
        FAIL(IG_ERR_FILE, "save '%.100s...': the path is too long", folder);
    TRY(folder_make(folder));
    TRY(weights_write(m, kind, n > 0 ? n : m->config.n_labels, folder));
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        TRY(file_copy(m, copied[i], folder));
    if (kind == HEAD_EMBED)
        TRY(modules_copy(m, folder));
    return config_write(m, kind, labels, n, folder);
}
