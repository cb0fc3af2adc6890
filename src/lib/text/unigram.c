/* Unigram: splits a word so that the sum of the tokens' scores is highest. */
#include "lib/text/subword.h"

#include "lib/text/unicode.h"

#include <string.h>

enum { UNKNOWN_PENALTY = 10 };

/* The best split of the word's first bytes, up to this node. */
typedef struct node {
    double score;
    int32_t id;
    int32_t start; /* start of the last token; -1: not reached */
} node;

static void reach(node *to, double score, int32_t id, size_t start)
{
    if (to->start < 0 || score > to->score)
        *to = (node){score, id, (int32_t)start};
}

static void search(const subword_model *m, const unsigned char *word, size_t bytes, node *nodes)
{
    const vocabulary *v = &m->vocabulary;
    const double unknown = m->least_score - UNKNOWN_PENALTY;
    for (size_t i = 0; i <= bytes; i++)
        nodes[i] = (node){0, 0, -1};
    for (size_t start = 0; start < bytes;) {
        const double so_far = nodes[start].score;
        uint32_t c, h = VOCABULARY_SEED;
        const size_t one = unicode_read(word + start, bytes - start, &c);
        const size_t most = bytes - start < (size_t)v->longest ? bytes - start : (size_t)v->longest;
        bool single = false;
        for (size_t n = 1; n <= most; n++) {
            h = vocabulary_hash(h, word + start + n - 1, 1);
            if (!vocabulary_begins(v, h))
                break;
            if (start + n < bytes && (word[start + n] & 0xc0) == 0x80)
                continue;
            const int32_t id = vocabulary_find_hashed(v, h, "", 0, word + start, n);
            if (id < 0)
                continue;
            reach(&nodes[start + n], m->scores[id] + so_far, id, start);
            single |= n == one;
        }
        if (!single)
            reach(&nodes[start + one], unknown + so_far, m->unknown_id, start);
        start += one;
    }
}

/* Adds the token of word[start, end). If it is not in the vocabulary, it may cover several unknown code points. */
static void token_add(const subword_model *m, const unsigned char *word, size_t start, size_t end,
                      subwords *out)
{
    const int32_t id = vocabulary_find(&m->vocabulary, word + start, end - start);
    bool fallback = id < 0 && m->config.byte_fallback;
    for (size_t i = start; i < end && fallback; i++)
        fallback = m->byte_ids[word[i]] >= 0;
    for (size_t i = start; i < end && fallback; i++)
        subwords_add(out, m->byte_ids[word[i]], start, end);
    if (fallback)
        return;
    out->unknown |= id < 0 && m->unknown_id < 0;
    subwords_add(out, id >= 0 ? id : m->unknown_id, start, end);
}

void unigram_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out)
{
    node *nodes = bytes < INT32_MAX
                      ? subwords_scratch(out, (bytes + 1) * (sizeof *nodes + sizeof(int32_t)))
                      : NULL;
    if (!nodes) {
        out->failed = true;
        return;
    }
    int32_t *starts = (int32_t *)(nodes + bytes + 1);
    search(m, word, bytes, nodes);
    size_t n = 0;
    for (size_t end = bytes; end > 0;) {
        size_t start = (size_t)nodes[end].start;
        if (nodes[end].id == m->unknown_id) /* adjacent unknown tokens are fused */
            while (start > 0 && nodes[start].id == m->unknown_id)
                start = (size_t)nodes[start].start;
        starts[n++] = (int32_t)start;
        end = start;
    }
    for (size_t i = n; i > 0; i--)
        token_add(m, word, (size_t)starts[i - 1], i > 1 ? (size_t)starts[i - 2] : bytes, out);
}
