/* Tokenizers: reading tokenizer.json, and the public functions. */
#include "lib/text/tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"
#include "lib/text/files.h"
#include "lib/text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void ig_tokenizer_free(ig_tokenizer *t)
{
    if (!t)
        return;
    normalizer_free(t->normalizer);
    splitter_free(t->splitter);
    subword_model_free(t->model);
    vocabulary_free(&t->added);
    added_set_free(&t->plain);
    added_set_free(&t->normalized);
    post_free(&t->post);
    memory_free(t);
}

/* ---- tokenizer.json ------------------------------------------------------------------------- */

/* Parts that depend on others. They are parsed after the whole file was read. */
typedef struct parts {
    field added, normalizer, splitter, post, truncation, padding, version;
} parts;

static ig_status members_read(ig_tokenizer *t, parts *p, json_reader *r)
{
    static const struct {
        const char *name;
        size_t place;
    } rows[] = {
        {"added_tokens", offsetof(parts, added)},     {"normalizer", offsetof(parts, normalizer)},
        {"pre_tokenizer", offsetof(parts, splitter)}, {"post_processor", offsetof(parts, post)},
        {"truncation", offsetof(parts, truncation)},  {"padding", offsetof(parts, padding)},
        {"version", offsetof(parts, version)}};
    json_text key;
    json_open_object(r);
    while (json_next_key(r, &key)) {
        bool known = false;
        if (json_text_is(key, "model")) {
            t->model = subword_model_read(r);
            if (!t->model)
                return r->status == IG_OK ? error_waiting(IG_ERR_FORMAT) : r->status;
            continue;
        }
        for (size_t i = 0; i < sizeof rows / sizeof *rows && !known; i++)
            if (json_text_is(key, rows[i].name)) {
                *(field *)((char *)p + rows[i].place) = field_take(r);
                known = true;
            }
        if (!known)
            json_skip(r);
    }
    return IG_OK;
}

static ig_status left_read(field f, const char *where, bool *left)
{
    static const char *const names[] = {"Right", "Left", NULL};
    int i = 0;
    TRY(field_choice(f, where, names, &i));
    *left = i == 1;
    return IG_OK;
}

static ig_status truncation_read(truncation *t, field f)
{
    static const char *const strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond", NULL};
    if (!field_given(f))
        return IG_OK;
    t->max_length = field_int(field_get(f, "max_length"), 512);
    TRY(left_read(field_get(f, "direction"), "truncation.direction", &t->left));
    TRY(field_choice(field_get(f, "strategy"), "truncation.strategy", strategies, &t->strategy));
    if (t->max_length < 1)
        FAIL(IG_ERR_FORMAT, "truncation.max_length is %lld; expected 1 or more",
             (long long)t->max_length);
    return IG_OK;
}

enum { PADDING_MOST = 1 << 20 }; /* tokens */

static ig_status padding_read(padding *p, field f)
{
    const int64_t id = field_int(field_get(f, "pad_id"), 0),
                  type = field_int(field_get(f, "pad_type_id"), 0);
    static const char *const strategies[] = {"BatchLongest", NULL};
    const field strategy = field_get(f, "strategy"), fixed = field_get(strategy, "Fixed");
    p->given = field_given(f);
    p->fixed = field_int(fixed, -1);
    if (fixed.kind != JSON_NUMBER)
        TRY(field_choice(strategy, "padding.strategy", strategies, &(int){0}));
    p->multiple = field_int(field_get(f, "pad_to_multiple_of"), 0);
    TRY(left_read(field_get(f, "direction"), "padding.direction", &p->left));
    if (id < 0 || id >= VOCABULARY_MOST || type < 0 || type > UINT8_MAX || p->fixed < -1 ||
        p->fixed > PADDING_MOST || p->multiple < 0 || p->multiple > PADDING_MOST)
        FAIL(IG_ERR_FORMAT, "padding has an id, a type or a length that is out of range");
    p->id = (int32_t)id;
    p->type = (int32_t)type;
    return IG_OK;
}

/* BERT's normalizer with the options of tokenizer_config.json applied, as transformers does. */
static ig_status normalizer_make(ig_tokenizer *t, field f, field config)
{
    char *changed = NULL;
    if (config.kind == JSON_OBJECT && field_is(field_get(f, "type"), "BertNormalizer")) {
        json_reader r;
        if (!(changed = tokenizer_bert_normalizer(config, f)))
            return IG_ERR_MEMORY;
        json_begin(&r, changed, strlen(changed));
        f = field_take(&r);
        json_end(&r);
    }
    t->normalizer = normalizer_new(f);
    memory_free(changed);
    return t->normalizer ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status parts_read(ig_tokenizer *t, const parts *p, const tokenizer_more *more)
{
    if (!t->model)
        FAIL(IG_ERR_FORMAT, "it has no 'model'; it is not a tokenizer.json");
    static const char *const versions[] = {"1.0", NULL};
    TRY(field_choice(p->version, "version", versions, &(int){0}));
    TRY(normalizer_make(t, p->normalizer, more->config));
    t->splitter = splitter_new(p->splitter, field_get(more->config, "add_prefix_space"));
    if (!t->splitter)
        return error_waiting(IG_ERR_MEMORY);
    TRY(added_tokens_read(t, p->added, more));
    const bool bytes = field_is(field_get(p->splitter, "type"), "ByteLevel");
    TRY(post_read(&t->post, p->post, bytes ? more->config : (field){0}));
    TRY(truncation_read(&t->truncation, p->truncation));
    return padding_read(&t->padding, p->padding);
}

/* The id of a special token, by its configured name or else its usual one; -1: none. */
static int32_t special_find(const ig_tokenizer *t, const char *name, const char *usual,
                            const char *other)
{
    const char *const names[] = {name, usual, other};
    int id = -1;
    for (int i = 0; i < 3 && id < 0; i++)
        id = ig_tokenizer_id(t, names[i]);
    return id;
}

static void tokenizer_finish(ig_tokenizer *t, const tokenizer_more *more)
{
    t->mask_id = special_find(t, more->mask, "[MASK]", "<mask>");
    t->pad_id = t->padding.given ? t->padding.id : special_find(t, more->pad, "[PAD]", "<pad>");
    if (!t->padding.given)
        t->padding.id = t->pad_id < 0 ? 0 : t->pad_id;
    t->bert = normalizer_is_bert(t->normalizer) && splitter_is_bert(t->splitter) &&
              t->post.n_trims == 0 && t->normalized.n == 0;
}

static ig_status source_read(ig_tokenizer *t, const char *source, size_t bytes,
                             const tokenizer_more *more)
{
    json_reader r;
    parts p = {0};
    json_begin(&r, source, bytes);
    const ig_status status = members_read(t, &p, &r), whole = json_end(&r);
    if (r.status != IG_OK && !ig_failed() && (status != IG_OK || whole != IG_OK))
        FAIL(IG_ERR_FORMAT, "it is not valid JSON %s", r.problem);
    TRY(status);
    TRY(whole);
    TRY(parts_read(t, &p, more));
    tokenizer_finish(t, more);
    return IG_OK;
}

ig_tokenizer *tokenizer_parse(const char *source, size_t bytes, subword_model *model,
                              const tokenizer_more *more)
{
    ig_tokenizer *t = memory_new(sizeof *t);
    if (!t) {
        subword_model_free(model);
        return NULL;
    }
    t->model = model;
    if (source_read(t, source, bytes, more) == IG_OK)
        return t;
    ig_tokenizer_free(t);
    return NULL;
}

void tokenizer_name_file(const char *path)
{
    ig_status code = IG_ERR_FORMAT;
    const char *message = ig_error(&code);
    char copy[512], shown[IO_SHOWN_BYTES];
    snprintf(copy, sizeof copy, "%s", message ? message : "out of memory");
    io_show(path, shown);
    ig_fail(message ? code : IG_ERR_MEMORY, "load '%s': %s", shown, copy);
}

/* ---- loading -------------------------------------------------------------------------------- */

ig_tokenizer *tokenizer_load_json(const char *path, const tokenizer_more *more)
{
    char *data = NULL;
    size_t bytes = 0;
    ig_tokenizer *t = NULL;
    if (file_read_whole(path, false, &data, &bytes) == IG_OK) {
        t = tokenizer_parse(data, bytes, NULL, more);
        if (!t)
            tokenizer_name_file(path);
    }
    free(data);
    return t;
}

static ig_tokenizer *any_load(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return tokenizer_load_folder(path);
    const size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".gguf") == 0)
        return tokenizer_load_gguf(path);
    if (n > 4 && strcmp(path + n - 4, ".txt") == 0)
        return tokenizer_load_lines(path);
    return tokenizer_load_json(path, &(tokenizer_more){0});
}

ig_tokenizer *ig_tokenizer_load(const char *path)
{
    const bool failed = ig_failed();
    if (require_pointer("ig_tokenizer_load", "path", path) != IG_OK || unicode_load() != IG_OK)
        return NULL;
    ig_tokenizer *t = any_load(path);
    if (!t || failed || !ig_failed())
        return t;
    /* A field that could not be copied would count as absent and give a different tokenizer. */
    ig_tokenizer_free(t);
    return NULL;
}

/* ---- asking --------------------------------------------------------------------------------- */

int ig_tokenizer_count(const ig_tokenizer *t)
{
    if (!t)
        return 0;
    return t->model->vocabulary.n > t->added.n ? t->model->vocabulary.n : t->added.n;
}

const char *ig_tokenizer_token(const ig_tokenizer *t, int id)
{
    const char *chars = t ? vocabulary_text(&t->added, id, NULL) : NULL;
    return chars || !t ? chars : vocabulary_text(&t->model->vocabulary, id, NULL);
}

int ig_tokenizer_id(const ig_tokenizer *t, const char *token)
{
    if (!t || !token)
        return -1;
    const int32_t id = vocabulary_find(&t->added, token, strlen(token));
    return id >= 0 ? id : vocabulary_find(&t->model->vocabulary, token, strlen(token));
}

int ig_tokenizer_special(const ig_tokenizer *t, const char *name)
{
    if (!t || !name)
        return -1;
    return strcmp(name, "mask") == 0 ? t->mask_id : strcmp(name, "pad") == 0 ? t->pad_id : -1;
}
