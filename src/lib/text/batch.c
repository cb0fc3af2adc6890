/* Encodes many texts: ig_tokenizer_encode. Threads take the texts in chunks, and each thread collects the tokens of its
 * texts. Then they copy all tokens into one block. */
#include "base/sized.h"
#include "lib/text/tokenizer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 32 }; /* texts per task */

/* Where the tokens of a text are. */
typedef struct place {
    int worker;
    size_t first, n;
    size_t at; /* index in the lists of the result */
} place;

typedef struct batch {
    const ig_tokenizer *t;
    const ig_text *texts, *pairs;
    int n;
    ig_encode_options options;
    bool marked; /* special tokens count, except in the ranges */
    const text_range *data;
    int n_data;
    encoder *encoders;
    place *places;
    /* The result: each list has `total` elements and holds the elements of all texts, one text after another. */
    ig_encoding *all;
    size_t total, padded; /* padded: the minimum length of an encoding */
} batch;

/* The token limit for each text; 0 or less: no limit. */
static int64_t most_tokens(const batch *b)
{
    return b->options.max_length ? b->options.max_length : b->t->truncation.max_length;
}

/* The number of special tokens added to each text. */
static int64_t added_tokens(const batch *b)
{
    return b->options.plain ? 0 : post_count(&b->t->post, b->pairs != NULL);
}

static void text_encode(const batch *b, encoder *e, int worker, int i)
{
    const ig_tokenizer *t = b->t;
    text_source *first = &e->sources[0], *second = b->pairs ? &e->sources[1] : NULL;
    e->literal =
        (literal_text){.everywhere = t->literal && !b->marked, .ranges = b->data, .n = b->n_data};
    encoder_tokens(e, t, b->texts[i], first);
    if (second)
        encoder_tokens(e, t, b->pairs[i], second);
    if (most_tokens(b) > 0 && !tokens_truncate(&first->tokens, second ? &second->tokens : NULL,
                                               &t->truncation, most_tokens(b) - added_tokens(b)))
        e->refused = true;
    /* Offsets are trimmed in code points, after the truncation. */
    for (int j = 0; j < (second ? 2 : 1); j++) {
        post_trim(&t->post, &e->sources[j].tokens);
        source_bytes(&e->sources[j]);
        e->out.failed |= e->sources[j].tokens.failed;
    }
    b->places[i] = (place){.worker = worker, .first = e->out.n};
    post_run(&t->post, &first->tokens, second ? &second->tokens : NULL, b->options.plain, &e->out);
    b->places[i].n = e->out.n - b->places[i].first;
}

static void chunk_encode(void *context, int64_t task, int worker)
{
    const batch *b = context;
    encoder *e = &b->encoders[worker];
    const int64_t first = task * CHUNK, last = first + CHUNK < b->n ? first + CHUNK : b->n;
    for (int64_t i = first; i < last && !e->out.failed; i++)
        text_encode(b, e, worker, (int)i);
    if (e->out.failed && e->status == IG_OK) { /* the caller reports it: errors are per thread */
        const char *why = ig_error(&e->status);
        snprintf(e->why, sizeof e->why, "%s", why ? why : "");
    }
}

/* ---- the result ----------------------------------------------------------------------------- */

/* The length to which encodings are padded; 0: no padding. */
static size_t padded_length(const batch *b)
{
    const padding *p = &b->t->padding;
    int64_t length = b->options.pad > 0 ? b->options.pad : 0;
    if (b->options.pad < 0 || (b->options.pad == 0 && !p->given))
        return 0;
    if (b->options.pad == 0) {
        length = p->fixed < 0 ? 0 : p->fixed;
        for (int i = 0; i < b->n && p->fixed < 0; i++)
            length = (int64_t)b->places[i].n > length ? (int64_t)b->places[i].n : length;
        if (p->multiple > 0 && length % p->multiple)
            length += p->multiple - length % p->multiple;
    }
    return (size_t)length;
}

/* Where the lists of one encoding begin in the block, by element size. */
typedef struct lists {
    int32_t *ids, *types, *starts, *ends, *words;
    int8_t *sequences;
    uint8_t *mask, *special;
} lists;

static void token_put(const lists *l, size_t i, const text_token *t)
{
    l->ids[i] = t->id;
    l->types[i] = t->type;
    l->starts[i] = (int32_t)t->start;
    l->ends[i] = (int32_t)t->end;
    l->words[i] = t->word;
    l->sequences[i] = t->sequence;
    l->mask[i] = t->mask;
    l->special[i] = t->special;
}

enum { WORD_LISTS = 5, BYTE_LISTS = 3 };

static void text_copy(const batch *b, int i)
{
    const padding *p = &b->t->padding;
    const text_token pad = {
        .id = p->id, .type = (uint8_t)p->type, .word = -1, .sequence = -1, .special = 1};
    const place where = b->places[i];
    const size_t n = where.n > b->padded ? where.n : b->padded, missing = n - where.n,
                 total = b->total;
    const text_token *from = b->encoders[where.worker].out.at + where.first;
    int32_t *words = (int32_t *)(b->all + b->n) + where.at;
    uint8_t *bytes = (uint8_t *)((int32_t *)(b->all + b->n) + WORD_LISTS * total) + where.at;
    const lists l = {
        words,           words + total, words + 2 * total, words + 3 * total, words + 4 * total,
        (int8_t *)bytes, bytes + total, bytes + 2 * total};
    for (size_t j = 0; j < n; j++) {
        const bool padded = p->left ? j < missing : j >= where.n;
        token_put(&l, j, padded ? &pad : &from[p->left ? j - missing : j]);
    }
    b->all[i] = (ig_encoding){(int)n,  l.ids,       l.types, l.starts, l.ends,
                              l.words, l.sequences, l.mask,  l.special};
}

static void chunk_copy(void *context, int64_t task, int worker)
{
    const batch *b = context;
    const int64_t first = task * CHUNK, last = first + CHUNK < b->n ? first + CHUNK : b->n;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        text_copy(b, (int)i);
}

static ig_encoding *block_make(batch *b)
{
    b->padded = padded_length(b);
    for (int i = 0; i < b->n; i++) {
        b->places[i].at = b->total;
        b->total += b->places[i].n > b->padded ? b->places[i].n : b->padded;
    }
    const size_t bytes =
        (size_t)b->n * sizeof *b->all + b->total * (WORD_LISTS * sizeof(int32_t) + BYTE_LISTS) + 8;
    b->all = memory_admit(bytes, "the tokens of all texts") == IG_OK ? memory_get(bytes) : NULL;
    if (b->all)
        pool_run(((int64_t)b->n + CHUNK - 1) / CHUNK, chunk_copy, b);
    return b->all;
}

static ig_status check(const batch *b, const ig_text *texts, const char *name)
{
    for (int i = 0; i < b->n; i++)
        if ((!texts[i].at && texts[i].bytes) || texts[i].bytes > INT32_MAX)
            FAIL(IG_ERR_ARGUMENT, "ig_tokenizer_encode: %s[%d] is NULL or longer than 2 GiB", name,
                 i);
    return IG_OK;
}

static ig_encoding *batch_run(batch *b, int workers)
{
    bool failed = false, refused = false, unknown = false, exceeded = false;
    pool_run(((int64_t)b->n + CHUNK - 1) / CHUNK, chunk_encode, b);
    for (int i = 0; i < workers; i++) {
        if (b->encoders[i].status != IG_OK)
            ig_fail(b->encoders[i].status, "ig_tokenizer_encode: %s", b->encoders[i].why);
        failed |= b->encoders[i].out.failed;
        refused |= b->encoders[i].refused;
        exceeded |= b->encoders[i].exceeded;
        unknown |= b->encoders[i].subwords.unknown;
    }
    if (failed)
        FAIL_NULL(IG_ERR_MEMORY, "ig_tokenizer_encode: no memory for the tokens");
    if (exceeded)
        FAIL_NULL(IG_ERR_UNSUPPORTED,
                  "ig_tokenizer_encode: a regular expression of the tokenizer takes too many steps "
                  "on a text; make its texts shorter");
    if (refused)
        FAIL_NULL(IG_ERR_ARGUMENT,
                  "ig_tokenizer_encode: a text is too long, and the tokenizer truncates only the "
                  "other text of the pair");
    if (unknown)
        FAIL_NULL(IG_ERR_FORMAT,
                  "ig_tokenizer_encode: a text has a word that is not in the vocabulary, and the "
                  "tokenizer has no unknown token");
    return block_make(b);
}

static ig_encoding *batch_encode(batch *b)
{
    const int workers = pool_threads();
    if (most_tokens(b) > 0 && most_tokens(b) < added_tokens(b))
        FAIL_NULL(
            IG_ERR_ARGUMENT,
            "ig_tokenizer_encode: the tokenizer adds %d special tokens, more than the %d tokens "
            "that a text may have; allow more, or add no special tokens",
            (int)added_tokens(b), (int)most_tokens(b));
    b->encoders = memory_new((size_t)workers * sizeof *b->encoders);
    b->places = memory_get(((size_t)b->n + 1) * sizeof *b->places);
    ig_encoding *all = b->encoders && b->places ? batch_run(b, workers) : NULL;
    for (int i = 0; i < workers && b->encoders; i++)
        encoder_free(&b->encoders[i]);
    memory_free(b->encoders);
    memory_free(b->places);
    return all;
}

ig_encoding *ig_tokenizer_encode(const ig_tokenizer *t, const ig_text *texts, const ig_text *pairs,
                                 int n, const ig_encode_options *options)
{
    batch b = {.t = t, .texts = texts, .pairs = pairs, .n = n};
    if (require_pointer("ig_tokenizer_encode", "t", t) != IG_OK ||
        require_list("ig_tokenizer_encode", "texts", texts, n) != IG_OK ||
        check(&b, texts, "texts") != IG_OK || (pairs && check(&b, pairs, "pairs") != IG_OK) ||
        (options && sized_read(SIZED(ig_encode_options, pad), &b.options, options) != IG_OK))
        return NULL;
    return batch_encode(&b);
}

ig_encoding *tokenizer_encode_marked(const ig_tokenizer *t, ig_text s, const text_range *data,
                                     int n_data)
{
    batch b = {.t = t,
               .texts = &s,
               .n = 1,
               .options = {.plain = true, .max_length = -1, .pad = -1},
               .marked = true,
               .data = data,
               .n_data = n_data};
    return check(&b, &s, "texts") == IG_OK ? batch_encode(&b) : NULL;
}
