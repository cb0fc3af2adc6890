/* Tokenizers of model folders: tokenizer.json; or vocab.txt (BERT and MPNet); or vocab.json and merges.txt (RoBERTa).
 * Without tokenizer.json, this file writes the rest of one and parses it. tokenizer_config.json and
 * special_tokens_map.json name the special tokens and override tokenizer.json's handling of case and accents. */
#include "lib/text/tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, CLS, SEP, PAD, MASK, SPECIALS };

static const char *const special_keys[SPECIALS] = {"unk_token", "cls_token", "sep_token",
                                                   "pad_token", "mask_token"};

/* The values that transformers assumes for an architecture if the folder does not specify them. */
typedef struct family {
    const char *special[SPECIALS];
    bool mask_lstrip; /* the mask token strips the blanks before it */
} family;

static const family bert = {.special = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"}};
static const family mpnet = {.special = {"[UNK]", "<s>", "</s>", "<pad>", "<mask>"},
                             .mask_lstrip = true};
static const family roberta = {.special = {"<unk>", "<s>", "</s>", "<pad>", "<mask>"},
                               .mask_lstrip = true};

/* The small files of a folder, and the special tokens that they name. */
typedef struct folder {
    json_file config, map, added, model; /* model: config.json */
    const family *family;
    struct {
        char *chars;
        bool lstrip, rstrip, single_word, normalized;
    } special[SPECIALS];
} folder;

static void folder_close(folder *d)
{
    json_file_close(&d->config);
    json_file_close(&d->map);
    json_file_close(&d->added);
    json_file_close(&d->model);
    for (int i = 0; i < SPECIALS; i++)
        memory_free(d->special[i].chars);
}

/* ---- special tokens ------------------------------------------------------------------------- */

/* A special token is "[MASK]" or {"content": "[MASK]", "lstrip": false, ...}. Without added_tokens_decoder in
 * tokenizer_config.json, special_tokens_map.json decides, as in transformers. */
static void special_read(folder *d, int i)
{
    const bool newer = field_given(field_get(d->config.root, "added_tokens_decoder"));
    const field one = field_get(d->map.root, special_keys[i]),
                other = field_get(d->config.root, special_keys[i]),
                f = field_given(one) && !newer ? one : other;
    d->special[i].chars = field_text(f.kind == JSON_OBJECT ? field_get(f, "content") : f, NULL);
    d->special[i].lstrip = field_bool(field_get(f, "lstrip"),
                                      i == MASK && d->family->mask_lstrip && f.kind != JSON_OBJECT);
    d->special[i].rstrip = field_bool(field_get(f, "rstrip"), false);
    d->special[i].single_word = field_bool(field_get(f, "single_word"), false);
    d->special[i].normalized = field_bool(field_get(f, "normalized"), false);
}

/* The text of special token i: from the folder, or the family's default. */
static const char *special_text(const folder *d, int i)
{
    return d->special[i].chars ? d->special[i].chars : d->family->special[i];
}

static ig_status folder_open(folder *d, const char *path)
{
    TRY(json_file_open(&d->config, path, "tokenizer_config.json", true));
    TRY(json_file_open(&d->map, path, "special_tokens_map.json", true));
    TRY(json_file_open(&d->added, path, "added_tokens.json", true));
    return json_file_open(&d->model, path, "config.json", true);
}

static bool is_mpnet(const folder *d)
{
    const field class = field_get(d->config.root, "tokenizer_class");
    return field_is(class, "MPNetTokenizer") || field_is(class, "MPNetTokenizerFast") ||
           (!field_given(class) && field_is(field_get(d->model.root, "model_type"), "mpnet"));
}

static void family_set(folder *d, const family *f)
{
    d->family = f;
    for (int i = 0; i < SPECIALS; i++)
        special_read(d, i);
}

/* ---- writing a tokenizer.json --------------------------------------------------------------- */

static const char *bool_text(field f, bool otherwise)
{
    return field_bool(f, otherwise) ? "true" : "false";
}

char *tokenizer_bert_normalizer(field config, field before)
{
    const field accents = field_get(config, "strip_accents"),
                strip = accents.kind == JSON_BOOL ? accents : field_get(before, "strip_accents");
    text t = {0};
    text_add(&t,
             "{\"type\": \"BertNormalizer\", \"clean_text\": %s, \"handle_chinese_chars\": %s, "
             "\"strip_accents\": %s, \"lowercase\": %s}",
             bool_text(field_get(before, "clean_text"), true),
             bool_text(field_get(config, "tokenize_chinese_chars"),
                       field_bool(field_get(before, "handle_chinese_chars"), true)),
             strip.kind == JSON_BOOL ? bool_text(strip, false) : "null",
             bool_text(field_get(config, "do_lower_case"),
                       field_bool(field_get(before, "lowercase"), true)));
    return text_take(&t);
}

/* Writes the special tokens that the vocabulary has. */
static void added_write(const folder *d, const subword_model *m, text *t)
{
    json_add(t, "added_tokens: [");
    for (int i = 0; i < SPECIALS; i++) {
        const char *chars = special_text(d, i);
        const int32_t id = vocabulary_find(&m->vocabulary, chars, strlen(chars));
        bool again = false; /* cls and sep may be the same token */
        for (int j = 0; j < i; j++)
            again |= strcmp(special_text(d, j), chars) == 0;
        if (id < 0 || again)
            continue;
        json_add(t, "{id: %d, content: %s, lstrip: %hhd, rstrip: %hhd, single_word: %hhd", (int)id,
                 chars, d->special[i].lstrip, d->special[i].rstrip, d->special[i].single_word);
        json_add(t, "normalized: %hhd, special: true}", d->special[i].normalized);
    }
    json_add(t, "]");
}

static ig_status post_write(const folder *d, const subword_model *m, text *t)
{
    const char *cls = special_text(d, CLS), *sep = special_text(d, SEP);
    const int32_t cls_id = vocabulary_find(&m->vocabulary, cls, strlen(cls)),
                  sep_id = vocabulary_find(&m->vocabulary, sep, strlen(sep));
    if (cls_id < 0 || sep_id < 0)
        FAIL(IG_ERR_FORMAT, "it does not have the token '%.60s'", cls_id < 0 ? cls : sep);
    json_add(t, "{type: %s, cls: [%s, %d], sep: [%s, %d]",
             d->family == &bert ? "BertProcessing" : "RobertaProcessing", "", (int)cls_id, "",
             (int)sep_id);
    if (d->family != &bert)
        json_add(t, "add_prefix_space: false, trim_offsets: true");
    json_add(t, "}");
    return IG_OK;
}

/* Writes everything except the model. */
static ig_status rest_write(const folder *d, const subword_model *m, text *t)
{
    json_add(t, "{");
    added_write(d, m, t);
    if (d->family == &roberta)
        json_add(t, "pre_tokenizer: {type: ByteLevel, add_prefix_space: false}");
    else
        json_add(t, "pre_tokenizer: {type: BertPreTokenizer}, normalizer: {type: BertNormalizer}");
    json_add(t, "post_processor:");
    TRY(post_write(d, m, t));
    json_add(t, "}");
    return IG_OK;
}

/* ---- loading -------------------------------------------------------------------------------- */

/* "additional_special_tokens", or "extra_special_tokens", its name since transformers 5: a list, or an object with
 * tokens by name. */
static field extra_get(const folder *d)
{
    const bool newer = field_given(field_get(d->config.root, "added_tokens_decoder"));
    const field places[] = {d->config.root, newer ? (field){0} : d->map.root};
    for (int i = 0; i < 2; i++) {
        const field extra = field_get(places[i], "extra_special_tokens"),
                    list = field_given(extra) ? extra
                                              : field_get(places[i], "additional_special_tokens");
        if (field_given(list))
            return list;
    }
    return (field){0};
}

static tokenizer_more more_of(const folder *d)
{
    return (tokenizer_more){.config = d->config.root,
                            .added = d->added.root,
                            .extra = extra_get(d),
                            .mask = d->special[MASK].chars,
                            .pad = d->special[PAD].chars};
}

/* Makes the tokenizer of a model, and takes ownership of the model. NULL with an error that does not name the file. */
static ig_tokenizer *model_load(const folder *d, subword_model *m)
{
    const tokenizer_more more = more_of(d);
    text t = {0};
    ig_tokenizer *tokenizer = NULL;
    const ig_status status = rest_write(d, m, &t);
    char *source = text_take(&t);
    if (status == IG_OK && source)
        tokenizer = tokenizer_parse(source, strlen(source), m, &more);
    else
        subword_model_free(m);
    memory_free(source);
    return tokenizer;
}

static ig_tokenizer *lines_load(const folder *d, const char *path)
{
    char *data = NULL;
    size_t bytes = 0;
    subword_model *m = NULL;
    ig_tokenizer *t = NULL;
    if (file_read_whole(path, false, &data, &bytes) == IG_OK) {
        m = subword_model_lines(data, bytes, special_text(d, UNKNOWN));
        t = m ? model_load(d, m) : NULL;
        if (!t)
            tokenizer_name_file(path);
    }
    free(data);
    return t;
}

/* words: the path of vocab.json; pairs: the path of merges.txt. */
static ig_tokenizer *pairs_load(const folder *d, const char *words, const char *pairs)
{
    char *vocab = NULL, *merges = NULL;
    size_t n_vocab = 0, n_merges = 0;
    ig_tokenizer *t = NULL;
    if (file_read_whole(words, false, &vocab, &n_vocab) == IG_OK &&
        file_read_whole(pairs, false, &merges, &n_merges) == IG_OK) {
        bool in_merges = false;
        subword_model *m = subword_model_pairs(vocab, n_vocab, merges, n_merges, &in_merges);
        t = m ? model_load(d, m) : NULL;
        if (!t)
            tokenizer_name_file(in_merges ? pairs : words);
    }
    free(vocab);
    free(merges);
    return t;
}

/* Without tokenizer.json, the class decides how texts are split. Unknown classes are refused rather than guessed. */
static ig_status class_check(const folder *d, bool lines)
{
    static const char *const known[2][5] = {
        {"RobertaTokenizer", "BartTokenizer", "LongformerTokenizer"},
        {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer",
         "MobileBertTokenizer"}};
    char *name = field_text(field_get(d->config.root, "tokenizer_class"), NULL);
    bool fine = !name;
    for (int i = 0; i < 5 && !fine && known[lines][i]; i++) {
        const size_t n = strlen(known[lines][i]);
        fine =
            strncmp(name, known[lines][i], n) == 0 && (!name[n] || strcmp(name + n, "Fast") == 0);
    }
    if (!fine)
        ig_fail(IG_ERR_UNSUPPORTED,
                "load '%.300s': tokenizer_class '%.60s' is not supported without tokenizer.json; "
                "write that file with transformers' AutoTokenizer and save_pretrained",
                d->config.path, name);
    memory_free(name);
    return fine ? IG_OK : IG_ERR_UNSUPPORTED;
}

static ig_tokenizer *any_load(folder *d, const char *path)
{
    enum { JSON, LINES, WORDS, PAIRS, PIECES, FILES = PIECES + 3 };
    static const char *const names[FILES] = {
        "tokenizer.json",          "vocab.txt",    "vocab.json",     "merges.txt",
        "sentencepiece.bpe.model", "spiece.model", "tokenizer.model"};
    char files[FILES][4096];
    bool has[FILES];
    const char *other = NULL;
    for (int i = 0; i < FILES; i++) {
        if ((size_t)snprintf(files[i], sizeof files[i], "%s/%s", path, names[i]) >= sizeof files[i])
            FAIL_NULL(IG_ERR_FILE, "load '%.100s...': the path is too long", path);
        has[i] = file_exists(files[i]);
        other = has[i] && i >= PIECES ? names[i] : other;
    }
    family_set(d, is_mpnet(d) ? &mpnet : has[WORDS] && !has[LINES] ? &roberta : &bert);
    const tokenizer_more more = more_of(d);
    if (has[JSON])
        return tokenizer_load_json(files[JSON], &more);
    if (has[LINES])
        return class_check(d, true) == IG_OK ? lines_load(d, files[LINES]) : NULL;
    if (has[WORDS] && has[PAIRS])
        return class_check(d, false) == IG_OK ? pairs_load(d, files[WORDS], files[PAIRS]) : NULL;
    FAIL_NULL(IG_ERR_FILE,
              "load '%.200s': it has no tokenizer; expected tokenizer.json, vocab.txt, or "
              "vocab.json and merges.txt%s%s%s",
              path, other ? "; " : "", other ? other : "",
              other ? " is not read: convert it with transformers' AutoTokenizer and "
                      "save_pretrained, which write tokenizer.json"
                    : "");
}

ig_tokenizer *tokenizer_load_folder(const char *path)
{
    folder *d = memory_new(sizeof *d);
    if (!d)
        return NULL;
    ig_tokenizer *t = folder_open(d, path) == IG_OK ? any_load(d, path) : NULL;
    folder_close(d);
    memory_free(d);
    return t;
}

ig_tokenizer *tokenizer_load_lines(const char *path)
{
    folder d = {.family = &bert};
    return lines_load(&d, path);
}
