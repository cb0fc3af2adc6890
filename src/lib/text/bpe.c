/* Byte pair encoding: repeatedly merges the adjacent pair with the lowest rank. */
#include "lib/text/subword.h"

#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

/* ---- the table of merges -------------------------------------------------------------------- */

static uint32_t pair_hash(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static struct merge *merge_slot(const subword_model *m, int32_t left, int32_t right)
{
    uint32_t i = pair_hash(left, right) & m->merge_mask;
    while (m->merges[i].left >= 0 && (m->merges[i].left != left || m->merges[i].right != right))
        i = (i + 1) & m->merge_mask;
    return &m->merges[i];
}

static const struct merge *merge_find(const subword_model *m, int32_t left, int32_t right)
{
    if (!m->merges || left < 0 || right < 0)
        return NULL;
    const struct merge *found = merge_slot(m, left, right);
    return found->left >= 0 ? found : NULL;
}

ig_status merges_add(subword_model *m, int32_t left, int32_t right, int32_t id, int32_t rank)
{
    if (!m->merges || 2 * (m->n_merges + 1) > m->merge_mask + 1) {
        const uint32_t old = m->merges ? m->merge_mask + 1 : 0, size = old ? 2 * old : 1024;
        struct merge *merges = memory_get(size * sizeof *merges), *before = m->merges;
        if (!merges)
            return IG_ERR_MEMORY;
        for (uint32_t i = 0; i < size; i++)
            merges[i].left = -1;
        m->merges = merges;
        m->merge_mask = size - 1;
        for (uint32_t i = 0; i < old; i++)
            if (before[i].left >= 0)
                *merge_slot(m, before[i].left, before[i].right) = before[i];
        memory_free(before);
    }
    struct merge *slot = merge_slot(m, left, right);
    m->n_merges += slot->left < 0;
    *slot = (struct merge){left, right, rank, id};
    return IG_OK;
}

/* ---- splitting ------------------------------------------------------------------------------ */

/* A part of the word: a doubly linked list in an array. */
typedef struct symbol {
    int32_t id;             /* -1: unknown, only in a model with ranks */
    int32_t previous, next; /* -1: none */
    uint32_t bytes;         /* 0: merged into another */
    uint32_t start;         /* in the word */
} symbol;

enum { SCANNED_MOST = 32 }; /* symbols; more are kept in a heap */

/* A possible merge: of a symbol and the next one. */
typedef struct candidate {
    int32_t rank, at, id;
} candidate;

typedef struct work {
    const subword_model *m;
    const unsigned char *word;
    symbol *symbols;
    int32_t n;
    candidate *heap; /* room for 3 * n */
    int32_t n_heap;
} work;

static bool before(candidate a, candidate b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void heap_push(work *w, candidate c)
{
    int32_t i = w->n_heap++;
    for (; i > 0 && before(c, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = c;
}

static candidate heap_pop(work *w)
{
    const candidate top = w->heap[0], last = w->heap[--w->n_heap];
    int32_t i = 0;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= w->n_heap)
            break;
        if (child + 1 < w->n_heap && before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!before(w->heap[child], last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* The merge of two neighbours, the first of which is symbol `at`. Its id is -1 if there is none. */
static candidate pair_find(const work *w, int32_t at, const symbol *left, const symbol *right)
{
    if (w->m->ranks) {
        const int32_t id =
            vocabulary_find(&w->m->vocabulary, w->word + left->start, left->bytes + right->bytes);
        return id >= 0 ? (candidate){w->m->ranks[id], at, id} : (candidate){INT32_MAX, at, -1};
    }
    const struct merge *found = merge_find(w->m, left->id, right->id);
    return found ? (candidate){found->rank, at, found->id} : (candidate){INT32_MAX, at, -1};
}

static void offer(work *w, int32_t at)
{
    if (at < 0 || w->symbols[at].next < 0)
        return;
    const candidate c = pair_find(w, at, &w->symbols[at], &w->symbols[w->symbols[at].next]);
    if (c.id >= 0)
        heap_push(w, c);
}

/* The merge of a symbol and the next one. */
static candidate candidate_at(const work *w, int32_t at)
{
    if (at + 1 < w->n)
        return pair_find(w, at, &w->symbols[at], &w->symbols[at + 1]);
    return (candidate){INT32_MAX, at, -1};
}

/* Same as merge_many, for few symbols: keeps one candidate per symbol, and moves the symbols together after a merge. */
static void merge_few(work *w)
{
    candidate *near = w->heap;
    for (int32_t i = 0; i < w->n; i++)
        near[i] = candidate_at(w, i);
    while (w->n > 1) {
        int32_t best = 0;
        for (int32_t i = 1; i < w->n; i++)
            best = near[i].rank < near[best].rank ? i : best;
        if (near[best].id < 0)
            return;
        w->symbols[best].id = near[best].id;
        w->symbols[best].bytes += w->symbols[best + 1].bytes;
        w->n--;
        for (int32_t i = best + 1; i < w->n; i++) {
            w->symbols[i] = w->symbols[i + 1];
            near[i] = near[i + 1];
        }
        near[best] = candidate_at(w, best);
        if (best > 0)
            near[best - 1] = candidate_at(w, best - 1);
    }
}

static void merge_many(work *w)
{
    for (int32_t i = 0; i + 1 < w->n; i++)
        offer(w, i);
    while (w->n_heap > 0) {
        const candidate c = heap_pop(w);
        symbol *left = &w->symbols[c.at];
        if (left->bytes == 0 || left->next < 0)
            continue;
        symbol *right = &w->symbols[left->next];
        if (pair_find(w, c.at, left, right).id != c.id)
            continue; /* one of the two was merged with another symbol meanwhile */
        left->id = c.id;
        left->bytes += right->bytes;
        right->bytes = 0;
        left->next = right->next;
        if (right->next >= 0)
            w->symbols[right->next].previous = c.at;
        offer(w, left->previous);
        offer(w, c.at);
    }
}

static void symbol_add(work *w, int32_t id, size_t bytes)
{
    const int32_t i = w->n++;
    const uint32_t start = i > 0 ? w->symbols[i - 1].start + w->symbols[i - 1].bytes : 0;
    w->symbols[i] = (symbol){id, i - 1, -1, (uint32_t)bytes, start};
    if (i > 0)
        w->symbols[i - 1].next = i;
}

/* The token of one code point, with the prefix and suffix for its position in the word. */
static int32_t rune_id(const subword_model *m, uint32_t c, const unsigned char *at, size_t bytes,
                       bool first, bool last)
{
    const char *prefix = !first && m->config.prefix ? m->config.prefix : "";
    const char *suffix = last && m->config.suffix ? m->config.suffix : "";
    const size_t n_prefix = strlen(prefix), n_suffix = strlen(suffix);
    if (n_prefix + n_suffix == 0)
        return c < RUNE_IDS ? m->rune_ids[c] : vocabulary_find(&m->vocabulary, at, bytes);
    unsigned char chars[256];
    if (n_prefix + bytes + n_suffix > sizeof chars)
        return -1;
    memcpy(chars, prefix, n_prefix);
    memcpy(chars + n_prefix, at, bytes);
    memcpy(chars + n_prefix + bytes, suffix, n_suffix);
    return vocabulary_find(&m->vocabulary, chars, n_prefix + bytes + n_suffix);
}

static bool bytes_add(work *w, const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (w->m->byte_ids[at[i]] < 0)
            return false;
    for (size_t i = 0; i < bytes; i++)
        symbol_add(w, w->m->byte_ids[at[i]], 1);
    return true;
}

/* Turns the word into symbols, one for each code point. Unknown code points are left out if the model names no unknown
 * token. *missing is set if the named unknown token is not in the vocabulary. */
static void symbols_make(work *w, const unsigned char *word, size_t bytes, bool *missing)
{
    const subword_model *m = w->m;
    size_t unknown = 0; /* bytes of a pending unknown token, which has not been added yet */
    for (size_t i = 0; i < bytes;) {
        uint32_t c;
        const size_t length = unicode_read(word + i, bytes - i, &c);
        const int32_t id = rune_id(m, c, word + i, length, i == 0, i + length == bytes);
        if (id >= 0) {
            if (unknown)
                symbol_add(w, m->unknown_id, unknown);
            unknown = 0;
            symbol_add(w, id, length);
        } else if (m->ranks) { /* it may be part of a token */
            symbol_add(w, -1, length);
        } else if (m->config.byte_fallback && bytes_add(w, word + i, length)) {
            /* A pending unknown token stays pending, as in the reference. */
        } else if (m->unknown_id >= 0) {
            if (unknown && !m->config.fuse_unknown) {
                symbol_add(w, m->unknown_id, unknown);
                unknown = 0;
            }
            unknown += length;
        } else if (m->config.unknown) {
            *missing = true;
        }
        i += length;
    }
    if (unknown)
        symbol_add(w, m->unknown_id, unknown);
}

/* Adds the token of a symbol; of an unknown one, the tokens of its bytes or the unknown token. */
static void symbol_put(const subword_model *m, const unsigned char *word, uint32_t at,
                       const symbol *s, subwords *out)
{
    bool bytes = s->id < 0;
    for (uint32_t i = 0; i < s->bytes && bytes; i++)
        bytes = m->byte_ids[word[at + i]] >= 0;
    for (uint32_t i = 0; i < s->bytes && bytes; i++)
        subwords_add(out, m->byte_ids[word[at + i]], at, at + s->bytes);
    if (bytes)
        return;
    out->unknown |= s->id < 0 && m->unknown_id < 0;
    subwords_add(out, s->id >= 0 ? s->id : m->unknown_id, at, at + s->bytes);
}

void bpe_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out)
{
    work w = {.m = m, .word = word};
    if (m->config.ignore_merges) {
        const int32_t whole = vocabulary_find(&m->vocabulary, word, bytes);
        if (whole >= 0) {
            subwords_add(out, whole, 0, bytes);
            return;
        }
    }
    /* Each merge removes a symbol and adds up to two candidates. */
    w.symbols = subwords_scratch(out, (bytes + 1) * (sizeof *w.symbols + 3 * sizeof *w.heap));
    if (!w.symbols)
        return;
    w.heap = (candidate *)(w.symbols + bytes + 1);
    symbols_make(&w, word, bytes, &out->unknown);
    if (w.n <= SCANNED_MOST)
        merge_few(&w);
    else
        merge_many(&w);
    uint32_t at = 0;
    for (int32_t i = 0; i < w.n; i++)
        if (w.symbols[i].bytes) {
            symbol_put(m, word, at, &w.symbols[i], out);
            at += w.symbols[i].bytes;
        }
}
