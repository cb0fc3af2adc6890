/* WordPiece and WordLevel: the longest matching tokens of a word, or the whole word as one token. */
#include "lib/text/subword.h"

#include <string.h>

/* Adds the whole word as the unknown token. */
static void unknown_add(const subword_model *m, size_t bytes, subwords *out)
{
    out->n = 0;
    out->unknown |= m->unknown_id < 0;
    if (m->unknown_id >= 0)
        subwords_add(out, m->unknown_id, 0, bytes);
}

static size_t runes_in(const unsigned char *word, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += (word[i] & 0xc0) != 0x80;
    return n;
}

/* Takes the longest token at the beginning, then the longest one after it, and so on. The hashes of all prefixes are
 * computed once per token. */
void wordpiece_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out)
{
    const vocabulary *v = &m->vocabulary;
    if ((int64_t)bytes > m->config.longest_word &&
        (int64_t)runes_in(word, bytes) > m->config.longest_word) {
        unknown_add(m, bytes, out);
        return;
    }
    const char *prefix = m->config.prefix;
    const size_t prefix_bytes = strlen(prefix);
    uint32_t *hashes = subwords_scratch(out, (bytes + 1) * sizeof *hashes);
    for (size_t start = 0; hashes && start < bytes;) {
        const size_t before = start ? prefix_bytes : 0;
        uint32_t h = VOCABULARY_SEED;
        size_t end = start, most = bytes;
        if (start)
            h = vocabulary_hash(h, (const unsigned char *)prefix, prefix_bytes);
        if (most - start + before > (size_t)v->longest)
            most = start + ((size_t)v->longest > before ? (size_t)v->longest - before : 0);
        while (end < most && vocabulary_begins(v, h = vocabulary_hash(h, word + end, 1)))
            hashes[++end] = h;
        int32_t id = -1;
        for (; end > start; end--) {
            if (end < bytes && (word[end] & 0xc0) == 0x80)
                continue; /* inside a code point */
            id = vocabulary_find_hashed(v, hashes[end], prefix, before, word + start, end - start);
            if (id >= 0)
                break;
        }
        if (id < 0) {
            unknown_add(m, bytes, out);
            return;
        }
        subwords_add(out, id, start, end);
        start = end;
    }
}

void wordlevel_split(const subword_model *m, const unsigned char *word, size_t bytes, subwords *out)
{
    const int32_t id = vocabulary_find(&m->vocabulary, word, bytes);
    if (id >= 0)
        subwords_add(out, id, 0, bytes);
    else
        unknown_add(m, bytes, out);
}
