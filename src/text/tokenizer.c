/* Tokenizers: reading tokenizer.json and vocab.txt, and the public functions. */
#include "text/tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/file.h"
#include "text/files.h"
#include "text/unicode.h"

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

/* The parts that need others: they are read when the whole file is known. */
typedef struct parts {
    field added, normalizer, splitter, post, truncation, padding;
} parts;

static ig_status members_read(ig_tokenizer *t, parts *p, json_reader *r)
{
    static const struct {
        const char *name;
        size_t place;
    } rows[] = {
        {"added_tokens", offsetof(parts, added)},     {"normalizer", offsetof(parts, normalizer)},
        {"pre_tokenizer", offsetof(parts, splitter)}, {"post_processor", offsetof(parts, post)},
        {"truncation", offsetof(parts, truncation)},  {"padding", offsetof(parts, padding)}};
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

/* Adds a token to the sets: as it is, or as its normal form. */
static ig_status added_add(ig_tokenizer *t, const char *chars, size_t bytes, added_token token)
{
    aligned runes = {0}, normal = {0};
    normalize_scratch scratch = {0};
    for (size_t i = 0; i < bytes;) {
        rune r = {0};
        i += unicode_read((const unsigned char *)chars + i, bytes - i, &r.c);
        aligned_add(&runes, r);
    }
    if (token.normalized)
        normalizer_run(t->normalizer, runes.at, runes.n, &normal, &scratch);
    const aligned *use = token.normalized ? &normal : &runes;
    ig_status status = runes.failed || normal.failed ? IG_ERR_MEMORY : IG_OK;
    if (status == IG_OK)
        status =
            added_set_add(token.normalized ? &t->normalized : &t->plain, token, use->at, use->n);
    if (status == IG_OK)
        status = vocabulary_add(&t->added, chars, bytes, token.id);
    aligned_free(&runes);
    aligned_free(&normal);
    normalize_scratch_free(&scratch);
    return status;
}

static ig_status added_read(void *context, json_text key, field f)
{
    ig_tokenizer *t = context;
    const int64_t id = field_int(field_get(f, "id"), -1);
    size_t bytes = 0;
    char *chars = field_text(field_get(f, "content"), &bytes);
    (void)key;
    if (!chars || id < 0 || id >= VOCABULARY_MOST) {
        memory_free(chars);
        FAIL(IG_ERR_FORMAT, "added_tokens has an entry without content or id");
    }
    const added_token token = {.id = (int32_t)id,
                               .single_word = field_bool(field_get(f, "single_word"), false),
                               .lstrip = field_bool(field_get(f, "lstrip"), false),
                               .rstrip = field_bool(field_get(f, "rstrip"), false),
                               .normalized = field_bool(field_get(f, "normalized"), true),
                               .special = field_bool(field_get(f, "special"), false)};
    const ig_status status = added_add(t, chars, bytes, token);
    memory_free(chars);
    return status;
}

static ig_status truncation_read(truncation *t, field f)
{
    if (!field_given(f))
        return IG_OK;
    const field strategy = field_get(f, "strategy");
    t->max_length = field_int(field_get(f, "max_length"), 512);
    t->stride = field_int(field_get(f, "stride"), 0);
    t->left = field_is(field_get(f, "direction"), "Left");
    t->strategy = field_is(strategy, "OnlyFirst")    ? ONLY_FIRST
                  : field_is(strategy, "OnlySecond") ? ONLY_SECOND
                                                     : LONGEST_FIRST;
    if (t->max_length < 1 || t->stride < 0)
        FAIL(IG_ERR_FORMAT, "truncation has the max_length %lld and the stride %lld",
             (long long)t->max_length, (long long)t->stride);
    return IG_OK;
}

static ig_status padding_read(padding *p, field f)
{
    const int64_t id = field_int(field_get(f, "pad_id"), 0),
                  type = field_int(field_get(f, "pad_type_id"), 0);
    p->given = field_given(f);
    p->fixed = field_int(field_get(f, "strategy.Fixed"), 0);
    p->multiple = field_int(field_get(f, "pad_to_multiple_of"), 0);
    p->left = field_is(field_get(f, "direction"), "Left");
    if (id < 0 || id >= VOCABULARY_MOST || type < 0 || type > UINT8_MAX || p->fixed < 0 ||
        p->fixed > INT32_MAX || p->multiple < 0 || p->multiple > INT32_MAX)
        FAIL(IG_ERR_FORMAT, "padding has an id, a type or a length that is out of range");
    p->id = (int32_t)id;
    p->type = (int32_t)type;
    return IG_OK;
}

static ig_status parts_read(ig_tokenizer *t, const parts *p)
{
    if (!t->model)
        FAIL(IG_ERR_FORMAT, "it has no 'model'; it is not a tokenizer.json");
    t->normalizer = normalizer_new(p->normalizer);
    t->splitter = t->normalizer ? splitter_new(p->splitter) : NULL;
    if (!t->splitter)
        return error_waiting(IG_ERR_MEMORY);
    TRY(field_each(p->added, added_read, t));
    TRY(post_read(&t->post, p->post));
    TRY(truncation_read(&t->truncation, p->truncation));
    return padding_read(&t->padding, p->padding);
}

/* The id of the first of some names that the vocabulary has. */
static int32_t id_of(const ig_tokenizer *t, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        const int id = ig_tokenizer_id(t, names[i]);
        if (id >= 0)
            return id;
    }
    return -1;
}

static void tokenizer_finish(ig_tokenizer *t)
{
    static const char *const masks[] = {"[MASK]", "<mask>"}, *const pads[] = {"[PAD]", "<pad>"};
    added_set_sort(&t->plain);
    added_set_sort(&t->normalized);
    t->mask_id = id_of(t, masks, 2);
    t->pad_id = t->padding.given ? t->padding.id : id_of(t, pads, 2);
    if (t->pad_id < 0)
        t->pad_id = 0;
    if (!t->padding.given)
        t->padding.id = t->pad_id;
    t->bert = normalizer_is_bert(t->normalizer) && splitter_is_bert(t->splitter) && !t->post.trim &&
              t->normalized.n == 0;
}

static ig_status json_parse(ig_tokenizer *t, const char *source, size_t bytes)
{
    json_reader r;
    parts p = {0};
    json_begin(&r, source, bytes);
    ig_status status = members_read(t, &p, &r);
    const ig_status whole = json_end(&r);
    if (r.status != IG_OK && !ig_failed() && (status != IG_OK || whole != IG_OK))
        FAIL(IG_ERR_FORMAT, "it is not valid JSON %s", r.problem);
    if (status != IG_OK || whole != IG_OK)
        return status != IG_OK ? status : whole;
    status = parts_read(t, &p);
    if (status == IG_OK)
        tokenizer_finish(t);
    return status;
}

/* Puts the file before the waiting message. */
static void name_file(const char *path)
{
    ig_status code = IG_ERR_FORMAT;
    const char *message = ig_error(&code);
    char copy[512], shown[IO_SHOWN_BYTES];
    snprintf(copy, sizeof copy, "%s", message ? message : "out of memory");
    io_show(path, shown);
    ig_fail(message ? code : IG_ERR_MEMORY, "load '%s': %s", shown, copy);
}

static ig_tokenizer *json_load(const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    if (file_read_whole(path, false, &data, &bytes) != IG_OK) {
        free(data);
        return NULL;
    }
    ig_tokenizer *t = memory_new(sizeof *t);
    if (t && json_parse(t, data, bytes) != IG_OK) {
        name_file(path);
        ig_tokenizer_free(t);
        t = NULL;
    }
    free(data);
    return t;
}

/* ---- vocab.txt ------------------------------------------------------------------------------ */

/* Options of tokenizer_config.json that matter without a tokenizer.json. */
typedef struct bert_options {
    bool lower, ideographs;
    int accents; /* -1: as lower */
} bert_options;

static ig_status bert_special(ig_tokenizer *t)
{
    static const char *const names[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    int32_t ids[5];
    for (int i = 0; i < 5; i++) {
        ids[i] = vocabulary_find(&t->model->vocabulary, names[i], strlen(names[i]));
        if (ids[i] >= 0)
            TRY(added_add(t, names[i], strlen(names[i]),
                          (added_token){.id = ids[i], .special = true}));
    }
    if (ids[1] < 0 || ids[3] < 0)
        FAIL(IG_ERR_FORMAT, "it has no line [CLS] or [SEP]; it is not a vocabulary of BERT");
    return post_bert(&t->post, ids[3], ids[1]);
}

static ig_tokenizer *lines_load(const char *path, bert_options o)
{
    char *data = NULL;
    size_t bytes = 0;
    if (file_read_whole(path, false, &data, &bytes) != IG_OK) {
        free(data);
        return NULL;
    }
    ig_tokenizer *t = memory_new(sizeof *t);
    bool fine = t && (t->model = subword_model_lines(data, bytes, "[UNK]")) != NULL;
    free(data);
    fine = fine && (t->normalizer = normalizer_bert(o.lower, o.ideographs, o.accents)) != NULL;
    fine = fine && (t->splitter = splitter_bert()) != NULL;
    fine = fine && bert_special(t) == IG_OK;
    if (fine) {
        tokenizer_finish(t);
        return t;
    }
    name_file(path);
    ig_tokenizer_free(t);
    return NULL;
}

static ig_status options_read(const char *path, bert_options *o)
{
    char *data = NULL;
    size_t bytes = 0;
    json_reader r;
    ig_status status = file_read_whole(path, true, &data, &bytes);
    if (status == IG_OK && data) {
        json_begin(&r, data, bytes);
        const field f = field_take(&r);
        if (json_end(&r) == IG_OK) {
            const field accents = field_get(f, "strip_accents");
            o->lower = field_bool(field_get(f, "do_lower_case"), o->lower);
            o->ideographs = field_bool(field_get(f, "tokenize_chinese_chars"), true);
            o->accents = accents.kind == JSON_BOOL ? field_bool(accents, false) : -1;
        } else {
            status =
                ig_fail(IG_ERR_FORMAT, "load '%.200s': it is not valid JSON %s", path, r.problem);
        }
    }
    free(data);
    return status;
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static ig_tokenizer *folder_load(const char *folder)
{
    char path[4096], options[4096];
    bert_options o = {.lower = true, .ideographs = true, .accents = -1};
    if ((size_t)snprintf(path, sizeof path, "%s/tokenizer.json", folder) >= sizeof path)
        FAIL_NULL(IG_ERR_FILE, "the path of the folder is too long");
    if (exists(path))
        return json_load(path);
    snprintf(path, sizeof path, "%s/vocab.txt", folder);
    snprintf(options, sizeof options, "%s/tokenizer_config.json", folder);
    if (!exists(path))
        FAIL_NULL(IG_ERR_FILE, "'%.200s' has neither tokenizer.json nor vocab.txt", folder);
    return options_read(options, &o) == IG_OK ? lines_load(path, o) : NULL;
}

static ig_tokenizer *any_load(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return folder_load(path);
    const size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".txt") == 0)
        return lines_load(path, (bert_options){.lower = true, .ideographs = true, .accents = -1});
    return json_load(path);
}

ig_tokenizer *ig_tokenizer_load(const char *path)
{
    const bool failed = ig_failed();
    if (require_pointer("ig_tokenizer_load", "path", path) != IG_OK || unicode_load() != IG_OK)
        return NULL;
    ig_tokenizer *t = any_load(path);
    if (!t || failed || !ig_failed())
        return t;
    /* A field that could not be copied counts as absent; the tokenizer would be another one. */
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
