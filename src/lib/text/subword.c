/* Models of tokenizers: reading them, and the dispatch to their code. See subword.h. */
#include "lib/text/subword.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens --------------------------------------------------------------------------------- */

void subwords_add(subwords *s, int32_t id, size_t start, size_t end)
{
    if (LIST_RESERVE(s, 1))
        s->at[s->n++] = (subword){id, (uint32_t)start, (uint32_t)end};
}

void *subwords_scratch(subwords *s, size_t bytes)
{
    if (bytes > s->scratch_bytes) {
        void *block = memory_counted_resize(s->scratch, s->scratch_bytes, bytes + bytes / 2,
                                            "encoding a text");
        if (!block) {
            s->failed = true;
            return NULL;
        }
        s->scratch = block;
        s->scratch_bytes = bytes + bytes / 2;
    }
    return s->scratch;
}

void subwords_free(subwords *s)
{
    memory_counted_free(s->at, s->room * sizeof *s->at);
    memory_counted_free(s->scratch, s->scratch_bytes);
    *s = (subwords){0};
}

void subword_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out)
{
    out->n = 0;
    m->kind->split(m, word, bytes, out);
}

/* ---- reading -------------------------------------------------------------------------------- */

static const subword_kind kinds[] = {
    {"WordPiece", wordpiece_split},
    {"BPE", bpe_split},
    {"Unigram", unigram_split},
    {"WordLevel", wordlevel_split},
};

void subword_model_free(subword_model *m)
{
    if (!m)
        return;
    vocabulary_free(&m->vocabulary);
    memory_free(m->config.type);
    memory_free(m->config.unknown);
    memory_free(m->config.prefix);
    memory_free(m->config.suffix);
    memory_free(m->merges);
    memory_free(m->scores);
    memory_free(m->ranks);
    memory_free(m);
}

int32_t subword_model_size(const subword_model *m)
{
    return m->scores ? (int32_t)m->n_scores : m->vocabulary.count;
}

/* A view of a string in the source if it has no escapes; otherwise a copy, in *copy. */
static const char *text_view(json_text chars, size_t *bytes, char **copy)
{
    *copy = NULL;
    *bytes = chars.bytes;
    if (!chars.escaped)
        return chars.at;
    *copy = json_text_copy(chars, bytes);
    return *copy;
}

static ig_status token_add(subword_model *m, json_text chars, int64_t id)
{
    size_t bytes;
    char *copy;
    const char *at = text_view(chars, &bytes, &copy);
    const ig_status status = at ? vocabulary_add(&m->vocabulary, at, bytes, id) : IG_ERR_MEMORY;
    memory_free(copy);
    return status;
}

/* {"token": id, ...} */
static ig_status vocabulary_read(subword_model *m, json_reader *r)
{
    json_text key;
    uint64_t id;
    json_open_object(r);
    while (json_next_key(r, &key) && json_read_uint(r, &id))
        TRY(token_add(m, key, id > INT64_MAX ? -1 : (int64_t)id));
    return IG_OK;
}

static ig_status score_add(subword_model *m, double score)
{
    if (m->n_scores % 4096 == 0) {
        double *scores = memory_resize(m->scores, (size_t)(m->n_scores + 4096) * sizeof *scores);
        if (!scores)
            return IG_ERR_MEMORY;
        m->scores = scores;
    }
    m->scores[m->n_scores++] = score;
    return IG_OK;
}

/* The double nearest to a power of ten. */
static double power_of_ten(int exponent)
{
    static const double small[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char name[16];
    if (exponent < (int)(sizeof small / sizeof *small))
        return small[exponent];
    snprintf(name, sizeof name, "1e%d", exponent);
    return strtod(name, NULL);
}

/* Parses a number as the reference does: up to 19 digits, then one product or quotient with a power of ten. The result
 * is not always the nearest double. The last bit matters when two ways to split a word score nearly the same. */
static double score_read(field f)
{
    const char *at = f.at, *const end = f.at + f.bytes;
    const bool negative = at < end && *at == '-';
    uint64_t digits = 0;
    int exponent = 0;
    bool full = false, fraction = false;
    for (at += negative; at < end && (*at | 0x20) != 'e'; at++) {
        const unsigned digit = (unsigned)(*at - '0');
        if (*at == '.') {
            fraction = true;
            continue;
        }
        full = full || digits > (UINT64_MAX - digit) / 10;
        if (!full)
            digits = 10 * digits + digit;
        exponent += full ? !fraction : -(int)fraction;
    }
    if (at + 1 < end) {
        const int64_t power = strtol(at + 1, NULL, 10);
        exponent += (int)(power > 9999 ? 9999 : power < -9999 ? -9999 : power);
    }
    double value = (double)digits;
    for (; exponent < -308 && value != 0; exponent += 308)
        value /= 1e308;
    if (value != 0)
        value = exponent < 0 ? value / power_of_ten(-exponent) : value * power_of_ten(exponent);
    return negative ? -value : value;
}

/* [["token", score], ...] */
static ig_status scored_read(subword_model *m, json_reader *r)
{
    json_open_array(r);
    while (json_next_item(r)) {
        json_text chars = {"", 0, false};
        field score = {0};
        int n = 0;
        json_open_array(r);
        for (; json_next_item(r); n++)
            if (n == 0)
                json_read_text(r, &chars);
            else
                score = field_take(r);
        if (r->status != IG_OK)
            break;
        if (n != 2 || score.kind != JSON_NUMBER)
            FAIL(IG_ERR_FORMAT, "model.vocab has an entry that is not [token, score]");
        TRY(token_add(m, chars, m->n_scores));
        TRY(score_add(m, score_read(score)));
    }
    return IG_OK;
}

/* The merges as text. They are kept until the vocabulary is complete, because it may come after them. */
typedef struct merge_texts {
    json_text *at; /* for each merge: one text with a blank, or two texts */
    int n, room;
} merge_texts;

static ig_status merge_text_add(merge_texts *t, json_text chars)
{
    if (!memory_room(&t->at, t->n, &t->room, sizeof *t->at))
        return IG_ERR_MEMORY;
    t->at[t->n++] = chars;
    return IG_OK;
}

/* Reads ["a b", ...] or [["a", "b"], ...]. In the first form the second text is absent. */
static ig_status merge_texts_read(merge_texts *t, json_reader *r)
{
    json_open_array(r);
    while (json_next_item(r)) {
        json_text pair[2] = {{NULL, 0, false}, {NULL, 0, false}}, extra;
        if (json_peek(r) == JSON_ARRAY) {
            int n = 0;
            json_open_array(r);
            for (; json_next_item(r); n++)
                json_read_text(r, n < 2 ? &pair[n] : &extra);
            if (r->status == IG_OK && n != 2)
                FAIL(IG_ERR_FORMAT, "merges has an entry that is not a pair");
        } else {
            json_read_text(r, &pair[0]);
        }
        if (r->status != IG_OK)
            break;
        TRY(merge_text_add(t, pair[0]));
        TRY(merge_text_add(t, pair[1]));
    }
    return IG_OK;
}

static ig_status merge_add(subword_model *m, const char *left, size_t n_left, const char *right,
                           size_t n_right, int32_t rank)
{
    const size_t prefix = m->config.prefix ? strlen(m->config.prefix) : 0;
    const int32_t a = vocabulary_find(&m->vocabulary, left, n_left);
    const int32_t b = vocabulary_find(&m->vocabulary, right, n_right);
    const size_t cut = prefix < n_right ? prefix : n_right;
    const uint32_t h =
        vocabulary_hash(vocabulary_hash(VOCABULARY_SEED, (const unsigned char *)left, n_left),
                        (const unsigned char *)right + cut, n_right - cut);
    const int32_t both =
        vocabulary_find_hashed(&m->vocabulary, h, left, n_left, right + cut, n_right - cut);
    if (a < 0 || b < 0 || both < 0)
        FAIL(IG_ERR_FORMAT, "merge %d, '%.*s %.*s', has a token that is not in the vocabulary",
             (int)rank, (int)(n_left < 40 ? n_left : 40), left, (int)(n_right < 40 ? n_right : 40),
             right);
    return merges_add(m, a, b, both, rank);
}

static ig_status merges_make(subword_model *m, const merge_texts *t)
{
    for (int i = 0; i + 1 < t->n; i += 2) {
        size_t bytes[2] = {0, 0};
        char *copies[2] = {NULL, NULL};
        const char *left = text_view(t->at[i], &bytes[0], &copies[0]), *right = NULL;
        if (t->at[i + 1].at) {
            right = text_view(t->at[i + 1], &bytes[1], &copies[1]);
        } else if (left) {
            const char *blank = memchr(left, ' ', bytes[0]);
            right = blank ? blank + 1 : left + bytes[0];
            bytes[1] = bytes[0] - (size_t)(right - left);
            if (!blank || memchr(right, ' ', bytes[1])) {
                ig_fail(IG_ERR_FORMAT,
                        "model.merges: '%.*s' is not two tokens with a blank between them",
                        (int)(bytes[0] < 60 ? bytes[0] : 60), left);
                memory_free(copies[0]);
                return IG_ERR_FORMAT;
            }
            bytes[0] = (size_t)(blank - left);
        }
        const ig_status status =
            left && right ? merge_add(m, left, bytes[0], right, bytes[1], (int32_t)(i / 2))
                          : IG_ERR_MEMORY;
        memory_free(copies[0]);
        memory_free(copies[1]);
        TRY(status);
    }
    return IG_OK;
}

static ig_status option_read(model_config *c, json_text key, field f)
{
    static const struct {
        const char *name;
        size_t place;
    } texts[] = {{"type", offsetof(model_config, type)},
                 {"unk_token", offsetof(model_config, unknown)},
                 {"continuing_subword_prefix", offsetof(model_config, prefix)},
                 {"end_of_word_suffix", offsetof(model_config, suffix)}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (json_text_is(key, texts[i].name)) {
            char **place = (char **)((char *)c + texts[i].place);
            memory_free(*place);
            *place = field_text(f, NULL);
            return f.kind == JSON_TEXT && !*place ? IG_ERR_MEMORY : IG_OK;
        }
    if (json_text_is(key, "unk_id"))
        c->unknown_id = field_int(f, -1);
    else if (json_text_is(key, "max_input_chars_per_word"))
        c->longest_word = field_int(f, 100);
    else if (json_text_is(key, "byte_fallback"))
        c->byte_fallback = field_bool(f, false);
    else if (json_text_is(key, "fuse_unk"))
        c->fuse_unknown = field_bool(f, false);
    else if (json_text_is(key, "ignore_merges"))
        c->ignore_merges = field_bool(f, false);
    else if (json_text_is(key, "dropout") && field_number(f, 0) > 0)
        FAIL(IG_ERR_UNSUPPORTED,
             "the model drops merges at random (dropout), which is for training only");
    return IG_OK;
}

/* The type of a model in an older file that does not name it. */
static const char *type_guess(const subword_model *m)
{
    return m->config.type     ? m->config.type
           : m->scores        ? "Unigram"
           : m->merges        ? "BPE"
           : m->config.prefix ? "WordPiece"
                              : "WordLevel";
}

static ig_status model_finish(subword_model *m)
{
    model_config *c = &m->config;
    const char *type = type_guess(m);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, type) == 0)
            m->kind = &kinds[i];
    if (!m->kind)
        FAIL(IG_ERR_UNSUPPORTED,
             "model '%.60s' is not supported; there are WordPiece, BPE, Unigram and WordLevel",
             type);
    if (m->vocabulary.n == 0)
        FAIL(IG_ERR_FORMAT, "the vocabulary is empty");
    const bool unigram = m->kind->split == unigram_split;
    if (unigram != (m->scores != NULL))
        FAIL(IG_ERR_FORMAT, "the vocabulary of a %s model %s", type,
             unigram ? "is not a list of [token, score]" : "has scores");
    if (c->byte_fallback && m->kind->split == bpe_split &&
        ((c->prefix && *c->prefix) || (c->suffix && *c->suffix)))
        FAIL(IG_ERR_UNSUPPORTED, "model.byte_fallback together with a continuing_subword_prefix or "
                                 "an end_of_word_suffix is not supported");
    if (m->kind->split == wordpiece_split && !c->prefix && !(c->prefix = memory_text("##")))
        return IG_ERR_MEMORY;
    if (unigram && c->unknown_id >= m->n_scores)
        FAIL(IG_ERR_FORMAT, "unk_id is %lld, and the vocabulary has %lld tokens",
             (long long)c->unknown_id, (long long)m->n_scores);
    m->unknown_id = unigram      ? (int32_t)(c->unknown_id < 0 ? -1 : c->unknown_id)
                    : c->unknown ? vocabulary_find(&m->vocabulary, c->unknown, strlen(c->unknown))
                                 : -1;
    m->least_score = m->n_scores ? m->scores[0] : 0;
    for (int64_t i = 1; i < m->n_scores; i++)
        m->least_score = m->scores[i] < m->least_score ? m->scores[i] : m->least_score;
    TRY(vocabulary_finish(&m->vocabulary));
    for (uint32_t i = 0; i < RUNE_IDS; i++) {
        unsigned char chars[4];
        m->rune_ids[i] = vocabulary_find(&m->vocabulary, chars, unicode_write(i, chars));
    }
    for (int b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        m->byte_ids[b] = vocabulary_find(&m->vocabulary, name, 6);
    }
    return IG_OK;
}

/* The finished model. Frees it and returns NULL if status is not IG_OK or if it cannot be finished. */
static subword_model *model_made(subword_model *m, ig_status status)
{
    if (status == IG_OK && model_finish(m) == IG_OK)
        return m;
    subword_model_free(m);
    return NULL;
}

static ig_status members_read(subword_model *m, merge_texts *t, json_reader *r)
{
    json_text key;
    json_open_object(r);
    while (json_next_key(r, &key)) {
        if (json_text_is(key, "vocab"))
            TRY(json_peek(r) == JSON_ARRAY ? scored_read(m, r) : vocabulary_read(m, r));
        else if (json_text_is(key, "merges"))
            TRY(merge_texts_read(t, r));
        else
            TRY(option_read(&m->config, key, field_take(r)));
    }
    return r->status == IG_OK ? merges_make(m, t)
                              : IG_OK; /* the caller reports the reader's error */
}

subword_model *subword_model_read(json_reader *r)
{
    subword_model *m = memory_new(sizeof *m);
    merge_texts t = {0};
    if (!m)
        return NULL;
    m->config = (model_config){.unknown_id = -1, .longest_word = 100};
    const ig_status status = members_read(m, &t, r);
    memory_free(t.at);
    return model_made(m, r->status == IG_OK ? status : r->status);
}

/* A model without a vocabulary. unknown: the unknown token; NULL: none. */
static subword_model *model_new(const char *type, const char *unknown)
{
    subword_model *m = memory_new(sizeof *m);
    if (!m)
        return NULL;
    m->config = (model_config){.unknown_id = -1, .longest_word = 100};
    m->config.type = memory_text(type);
    m->config.unknown = unknown ? memory_text(unknown) : NULL;
    if (m->config.type && (m->config.unknown || !unknown))
        return m;
    subword_model_free(m);
    return NULL;
}

subword_model *subword_model_lines(const char *chars, size_t bytes, const char *unknown)
{
    subword_model *m = model_new("WordPiece", unknown);
    ig_status status = m ? IG_OK : IG_ERR_MEMORY;
    int64_t id = 0;
    for (size_t i = 0; i < bytes && status == IG_OK; id++) {
        const char *newline = memchr(chars + i, '\n', bytes - i);
        const size_t next = newline ? (size_t)(newline - chars) + 1 : bytes;
        size_t end = newline ? next - 1 : bytes;
        while (end > i &&
               (chars[end - 1] == '\r' || chars[end - 1] == ' ' || chars[end - 1] == '\t'))
            end--;
        status = vocabulary_add(&m->vocabulary, chars + i, end - i, id);
        i = next;
    }
    return model_made(m, status);
}

/* Reads lines "left right"; the first line may be "#version: 0.2". */
static ig_status merge_lines_read(subword_model *m, const char *chars, size_t bytes)
{
    int32_t rank = 0;
    for (size_t i = 0, next; i < bytes; i = next) {
        const char *newline = memchr(chars + i, '\n', bytes - i);
        size_t end = newline ? (size_t)(newline - chars) : bytes;
        next = end + 1;
        end -= end > i && chars[end - 1] == '\r';
        if (end == i || (i == 0 && end > 8 && memcmp(chars, "#version", 8) == 0))
            continue;
        const char *blank = memchr(chars + i, ' ', end - i);
        if (!blank)
            FAIL(IG_ERR_FORMAT, "line '%.*s' is not a pair of tokens",
                 (int)(end - i < 40 ? end - i : 40), chars + i);
        TRY(merge_add(m, chars + i, (size_t)(blank - chars) - i, blank + 1,
                      (size_t)(chars + end - blank) - 1, rank++));
    }
    return IG_OK;
}

subword_model *subword_model_pairs(const char *words, size_t n_words, const char *merges,
                                   size_t n_merges, bool *in_merges)
{
    json_reader r;
    subword_model *m = model_new("BPE", NULL);
    if (!m)
        return NULL;
    json_begin(&r, words, n_words);
    ig_status status = vocabulary_read(m, &r);
    if (json_end(&r) != IG_OK && status == IG_OK)
        status = ig_fail(IG_ERR_FORMAT, "it is not a JSON object of ids %s", r.problem);
    *in_merges = status == IG_OK;
    if (status == IG_OK)
        status = merge_lines_read(m, merges, n_merges);
    *in_merges &= status != IG_OK;
    return model_made(m, status);
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct scored {
    float score;
    int32_t id;
} scored;

static int score_compare(const void *left, const void *right)
{
    const scored *a = left, *b = right;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score)
                                : (a->id > b->id) - (a->id < b->id);
}

/* Ranks tokens by their scores; equal scores have the same rank. */
static ig_status ranks_make(subword_model *m, const float *scores, uint64_t n)
{
    scored *all = memory_get((size_t)n * sizeof *all);
    m->ranks = memory_get((size_t)n * sizeof *m->ranks);
    ig_status status = all && m->ranks ? IG_OK : IG_ERR_MEMORY;
    for (uint64_t i = 0; i < n && status == IG_OK; i++) {
        all[i] = (scored){scores[i], (int32_t)i};
        if (scores[i] != scores[i])
            status = ig_fail(IG_ERR_FORMAT, "the score of token %llu is not a number",
                             (unsigned long long)i);
    }
    if (status == IG_OK)
        qsort(all, (size_t)n, sizeof *all, score_compare);
    for (uint64_t i = 0, rank = 0; i < n && status == IG_OK; i++) {
        rank += i > 0 && all[i].score != all[i - 1].score;
        m->ranks[all[i].id] = (int32_t)rank;
    }
    memory_free(all);
    return status;
}

static ig_status merge_read(subword_model *m, ig_text merge, int32_t rank)
{
    const char *blank = merge.bytes > 1 ? memchr(merge.at + 1, ' ', merge.bytes - 1) : NULL;
    if (!blank)
        FAIL(IG_ERR_FORMAT, "merge %d is not a pair of tokens", (int)rank);
    return merge_add(m, merge.at, (size_t)(blank - merge.at), blank + 1,
                     (size_t)(merge.at + merge.bytes - blank - 1), rank);
}

static ig_status lists_read(subword_model *m, const subword_lists *from)
{
    if (from->n > VOCABULARY_MOST || from->n_merges > INT32_MAX)
        FAIL(IG_ERR_FORMAT, "the vocabulary has more than %d tokens", VOCABULARY_MOST);
    for (uint64_t i = 0; i < from->n; i++)
        TRY(vocabulary_add(&m->vocabulary, from->tokens[i].at, from->tokens[i].bytes, (int64_t)i));
    if (from->unknown_id >= 0) {
        size_t bytes;
        const char *unknown = vocabulary_text(&m->vocabulary, from->unknown_id, &bytes);
        if (unknown && !(m->config.unknown = memory_text(unknown)))
            return IG_ERR_MEMORY;
    }
    m->config.byte_fallback = from->byte_fallback;
    m->config.ignore_merges = from->ignore_merges;
    if (from->scores)
        return ranks_make(m, from->scores, from->n);
    for (uint64_t i = 0; i < from->n_merges; i++)
        TRY(merge_read(m, from->merges[i], (int32_t)i));
    return IG_OK;
}

subword_model *subword_model_lists(const subword_lists *from)
{
    subword_model *m = model_new("BPE", NULL);
    return m ? model_made(m, lists_read(m, from)) : NULL;
}
