/* Added tokens: finding them in a text, and reading them. See tokenizer.h. */
#include "lib/text/tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets ----------------------------------------------------------------------------------- */

static ig_status added_set_add(added_set *s, added_token token, const rune *runes, size_t n)
{
    if (n == 0)
        return IG_OK; /* an empty token would match everywhere */
    added_token *at = memory_resize(s->at, (size_t)(s->n + 1) * sizeof *at);
    if (!at)
        return IG_ERR_MEMORY;
    s->at = at;
    token.runes = memory_get(n * sizeof *token.runes);
    if (!token.runes)
        return IG_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        token.runes[i] = runes[i].c;
    token.n = (uint32_t)n;
    s->at[s->n++] = token;
    if (runes[0].c < 128)
        s->ascii[runes[0].c / 32] |= 1u << runes[0].c % 32;
    else
        s->other = true;
    return IG_OK;
}

static void added_set_remove(added_set *s, int32_t id)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->at[i].id == id)
            memory_free(s->at[i].runes);
        else
            s->at[n++] = s->at[i];
    s->n = n;
}

static int token_compare(const void *left, const void *right)
{
    const added_token *a = left, *b = right;
    if (a->runes[0] != b->runes[0])
        return a->runes[0] < b->runes[0] ? -1 : 1;
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void added_set_sort(added_set *s)
{
    if (s->n)
        qsort(s->at, (size_t)s->n, sizeof *s->at, token_compare);
}

void added_set_free(added_set *s)
{
    for (int i = 0; i < s->n; i++)
        memory_free(s->at[i].runes);
    memory_free(s->at);
    *s = (added_set){0};
}

/* ---- finding -------------------------------------------------------------------------------- */

static bool begins(const added_set *s, uint32_t c)
{
    return c < 128 ? s->ascii[c / 32] >> c % 32 & 1 : s->other;
}

static bool matches(const added_token *t, const rune *at, size_t n)
{
    if (t->n > n)
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        if (at[i].c != t->runes[i])
            return false;
    return true;
}

/* True if the n code points, or a part of them, are plain text. */
static bool is_literal(const literal_text *l, const rune *at, uint32_t n)
{
    if (l->everywhere || l->n == 0)
        return l->everywhere;
    const uint32_t first = l->byte_at[at[0].start], last = l->byte_at[at[n - 1].end];
    int low = 0, high = l->n; /* the first range that ends after `first` */
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (l->ranges[middle].last <= first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->ranges[low].first < last;
}

/* The longest token that matches at `at`; NULL if there is none. */
static const added_token *find_at(const added_set *s, const rune *at, size_t n,
                                  const literal_text *literal)
{
    int low = 0, high = s->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (s->at[middle].runes[0] < at->c)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->n && s->at[low].runes[0] == at->c; low++)
        if (matches(&s->at[low], at, n) &&
            !(s->at[low].special && is_literal(literal, at, s->at[low].n)))
            return &s->at[low];
    return NULL;
}

static bool is_word(rune r) { return unicode_flags(r.c) & UNICODE_WORD; }
static bool is_space(rune r) { return unicode_flags(r.c) & UNICODE_SPACE; }

void added_set_cut(const added_set *s, const rune *chars, size_t first, size_t count,
                   const literal_text *literal, pieces *out)
{
    const rune *at = chars + first;
    size_t done = 0; /* pieces cover [0, done) */
    for (size_t i = 0; i < count && s->n;) {
        const added_token *t = begins(s, at[i].c) ? find_at(s, at + i, count - i, literal) : NULL;
        if (!t) {
            i++;
            continue;
        }
        size_t start = i, stop = i + t->n;
        i = stop; /* blanks that the token strips are searched again, as in the reference */
        if (t->single_word &&
            ((start > 0 && is_word(at[start - 1])) || (stop < count && is_word(at[stop]))))
            continue;
        if (t->lstrip && start < done)
            start = done;
        while (t->lstrip && start > done && is_space(at[start - 1]))
            start--;
        while (t->rstrip && stop < count && is_space(at[stop]))
            stop++;
        if (start > done)
            pieces_add(out, first + done, start - done, -1);
        if (stop > start)
            pieces_add(out, first + start, stop - start, t->id);
        done = stop;
    }
    pieces_add(out, first + done, count - done, -1);
}

/* ---- reading -------------------------------------------------------------------------------- */

static added_token flags_read(field f)
{
    const bool special = field_bool(field_get(f, "special"), false);
    return (added_token){.special = special,
                         .single_word = field_bool(field_get(f, "single_word"), false),
                         .lstrip = field_bool(field_get(f, "lstrip"), false),
                         .rstrip = field_bool(field_get(f, "rstrip"), false),
                         .normalized = field_bool(field_get(f, "normalized"), !special)};
}

/* Adds a token to its set: as it is, or normalized. */
static ig_status set_put(ig_tokenizer *t, const char *chars, size_t bytes, added_token token)
{
    aligned runes = {0}, normal = {.most = aligned_most(bytes)};
    normalize_scratch scratch = {0};
    for (size_t i = 0; i < bytes;) {
        rune r = {0};
        i += unicode_read((const unsigned char *)chars + i, bytes - i, &r.c);
        aligned_add(&runes, r);
    }
    if (token.normalized)
        normalizer_run(t->normalizer, runes.at, runes.n, &normal, &scratch);
    const aligned *use = token.normalized ? &normal : &runes;
    ig_status status = error_waiting(IG_ERR_MEMORY);
    if (scratch.regex.exceeded)
        status = ig_fail(IG_ERR_UNSUPPORTED,
                         "added_tokens: the normalizer takes too many steps for '%.60s'", chars);
    else if (!runes.failed && !normal.failed && !scratch.regex.failed)
        status =
            added_set_add(token.normalized ? &t->normalized : &t->plain, token, use->at, use->n);
    aligned_free(&runes);
    aligned_free(&normal);
    normalize_scratch_free(&scratch);
    return status;
}

/* Adds a token. It gets the id that its text has in the vocabulary, or else the next free id. The id in the file is
 * ignored, as in the reference, which warns if they differ. If two tokens have the same id, the later one replaces the
 * first. */
static ig_status token_put(ig_tokenizer *t, const char *chars, size_t bytes, added_token token)
{
    const int32_t added = vocabulary_find(&t->added, chars, bytes),
                  known = vocabulary_find(&t->model->vocabulary, chars, bytes);
    if (bytes == 0)
        return IG_OK;
    token.id = added >= 0 ? added : known >= 0 ? known : t->next_id++;
    if (vocabulary_text(&t->added, token.id, NULL)) {
        added_set_remove(&t->plain, token.id);
        added_set_remove(&t->normalized, token.id);
    }
    TRY(set_put(t, chars, bytes, token));
    return vocabulary_add(&t->added, chars, bytes, token.id);
}

/* A token with its flags: {"content": "[MASK]", "lstrip": false, ...}. */
static ig_status object_read(ig_tokenizer *t, field f, const char *where)
{
    size_t bytes = 0;
    char *chars = field_text(field_get(f, "content"), &bytes);
    if (!chars)
        FAIL(IG_ERR_FORMAT, "%s has an entry without 'content'", where);
    const ig_status status = token_put(t, chars, bytes, flags_read(f));
    memory_free(chars);
    return status;
}

/* An item of "added_tokens" in tokenizer.json. */
static ig_status added_read(void *context, json_text key, field f)
{
    (void)key;
    if (field_int(field_get(f, "id"), -1) < 0)
        FAIL(IG_ERR_FORMAT, "added_tokens has an entry without 'id'");
    return object_read(context, f, "added_tokens");
}

/* An item of "additional_special_tokens": a text or an object. A token that exists already is not changed. */
static ig_status extra_read(void *context, json_text key, field f)
{
    ig_tokenizer *t = context;
    size_t bytes = 0;
    char *chars = field_text(f.kind == JSON_OBJECT ? field_get(f, "content") : f, &bytes);
    (void)key;
    if (!chars)
        FAIL(IG_ERR_FORMAT, "additional_special_tokens has an entry that is not a token");
    added_token token = flags_read(f);
    token.normalized = field_bool(field_get(f, "normalized"), false);
    const ig_status status =
        vocabulary_find(&t->added, chars, bytes) < 0 ? token_put(t, chars, bytes, token) : IG_OK;
    memory_free(chars);
    return status;
}

/* Tokens with explicit ids, collected so that they can be sorted by id. */
typedef struct numbered {
    struct numbered_token {
        int64_t id;
        json_text key;
        field f;
    } * at;
    size_t n;
} numbered;

static ig_status numbered_add(numbered *list, struct numbered_token one)
{
    struct numbered_token *at = memory_resize(list->at, (list->n + 1) * sizeof *at);
    if (!at)
        return IG_ERR_MEMORY;
    list->at = at;
    at[list->n++] = one;
    if (one.id < 0 || one.id >= VOCABULARY_MOST)
        FAIL(IG_ERR_FORMAT,
             "an added token has an id that is not from 0 to %d: see "
             "added_tokens_decoder in tokenizer_config.json, or added_tokens.json",
             VOCABULARY_MOST - 1);
    return IG_OK;
}

/* A member of "added_tokens_decoder" in tokenizer_config.json: "103": {"content": "[MASK]", ...}. */
static ig_status decoder_read(void *context, json_text key, field f)
{
    char *number = json_text_copy(key, NULL), *end = NULL;
    const long id = number ? strtol(number, &end, 10) : -1;
    const bool fine = number && *number && !*end;
    memory_free(number);
    if (f.kind != JSON_OBJECT)
        FAIL(IG_ERR_FORMAT,
             "added_tokens_decoder in tokenizer_config.json has an entry that is not "
             "an object");
    return numbered_add(context, (struct numbered_token){fine ? id : -1, key, f});
}

/* A member of added_tokens.json: "<new>": 30522. */
static ig_status added_id_read(void *context, json_text key, field f)
{
    return numbered_add(context, (struct numbered_token){field_int(f, -1), key, f});
}

static int id_compare(const void *left, const void *right)
{
    const struct numbered_token *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static ig_status numbered_put(ig_tokenizer *t, const struct numbered_token *one)
{
    if (one->f.kind == JSON_OBJECT)
        return object_read(t, one->f, "added_tokens_decoder");
    size_t bytes = 0;
    char *chars = json_text_copy(one->key, &bytes);
    if (!chars)
        return IG_ERR_MEMORY;
    const ig_status status = vocabulary_find(&t->added, chars, bytes) < 0
                                 ? token_put(t, chars, bytes, (added_token){.normalized = true})
                                 : IG_OK;
    memory_free(chars);
    return status;
}

/* New tokens are numbered from the end of the vocabulary. */
static void numbers_begin(ig_tokenizer *t)
{
    const int32_t size = subword_model_size(t->model);
    t->next_id = t->added.n > size ? t->added.n : size;
}

ig_status added_tokens_read(ig_tokenizer *t, field list, const tokenizer_more *more)
{
    const field decoder = field_get(more->config, "added_tokens_decoder");
    numbered others = {0};
    numbers_begin(t);
    TRY(field_each(list, added_read, t));
    ig_status status = decoder.kind == JSON_OBJECT
                           ? field_each(decoder, decoder_read, &others)
                           : field_each(more->added, added_id_read, &others);
    if (others.n)
        qsort(others.at, others.n, sizeof *others.at, id_compare);
    numbers_begin(t);
    for (size_t i = 0; i < others.n && status == IG_OK; i++)
        status = numbered_put(t, &others.at[i]);
    memory_free(others.at);
    TRY(status);
    TRY(field_each(more->extra, extra_read, t));
    added_set_sort(&t->plain);
    added_set_sort(&t->normalized);
    return IG_OK;
}
