/* Character maps: see charsmap.h. The trie is untrusted: every index is checked when it is followed. */
#include "lib/text/charsmap.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

enum {
    GRAPHEME_BYTES = 6
}; /* a grapheme of at least this many bytes is mapped code point by code point */

struct charsmap {
    uint32_t *units;
    size_t n_units;
    unsigned char *replacements; /* each ends with a zero byte */
    size_t bytes;
};

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

#define NOT_BASE64 SIZE_MAX

/* Decodes into out. Returns the number of bytes, or NOT_BASE64. */
static size_t base64_decode(const char *in, size_t bytes, unsigned char *out)
{
    size_t n = 0;
    uint32_t bits = 0;
    int held = 0;
    while (bytes && in[bytes - 1] == '=')
        bytes--;
    for (size_t i = 0; i < bytes; i++) {
        const int value = base64_value(in[i]);
        if (value < 0)
            return NOT_BASE64;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8)
            out[n++] = (unsigned char)(bits >> (held -= 8));
    }
    return n;
}

static uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static ig_status fill(charsmap *m, const unsigned char *data, size_t bytes)
{
    const bool holds_size = bytes != NOT_BASE64 && bytes >= 4;
    const uint32_t trie_bytes = holds_size ? word_at(data) : 0;
    if (!holds_size || trie_bytes > bytes - 4 || trie_bytes % 4 || trie_bytes == 0)
        FAIL(IG_ERR_FORMAT, "precompiled_charsmap is damaged");
    m->n_units = trie_bytes / 4;
    m->bytes = bytes - 4 - trie_bytes;
    m->units = memory_get(m->n_units * sizeof *m->units);
    m->replacements = memory_get(m->bytes + 1);
    if (!m->units || !m->replacements)
        return IG_ERR_MEMORY;
    for (size_t i = 0; i < m->n_units; i++)
        m->units[i] = word_at(data + 4 + 4 * i);
    memcpy(m->replacements, data + 4 + trie_bytes, m->bytes);
    m->replacements[m->bytes] = 0;
    return IG_OK;
}

charsmap *charsmap_new(const char *base64, size_t bytes)
{
    charsmap *m = memory_new(sizeof *m);
    unsigned char *data = m ? memory_get(bytes + 1) : NULL;
    const ig_status status =
        data ? fill(m, data, base64_decode(base64, bytes, data)) : IG_ERR_MEMORY;
    memory_free(data);
    if (status == IG_OK)
        return m;
    charsmap_free(m);
    return NULL;
}

void charsmap_free(charsmap *m)
{
    if (!m)
        return;
    memory_free(m->units);
    memory_free(m->replacements);
    memory_free(m);
}

static size_t unit_offset(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6); }

/* The replacement of the shortest prefix that the trie has; NULL if there is none. */
static const unsigned char *find(const charsmap *m, const unsigned char *key, size_t bytes)
{
    size_t node = unit_offset(m->units[0]);
    for (size_t i = 0; i < bytes && key[i]; i++) {
        node ^= key[i];
        if (node >= m->n_units)
            return NULL;
        const uint32_t unit = m->units[node];
        if ((unit & (1u << 31 | 0xff)) != key[i])
            return NULL;
        node ^= unit_offset(unit);
        if (unit >> 8 & 1) {
            const size_t value = node < m->n_units ? m->units[node] & 0x7fffffff : SIZE_MAX;
            return value <= m->bytes ? m->replacements + value : NULL;
        }
    }
    return NULL;
}

/* Replaces the next `old` code points with the text. */
static void replace(rewrites *w, size_t old, const unsigned char *chars)
{
    const size_t length = strlen((const char *)chars), before = w->n;
    for (size_t i = 0; i < length && !w->failed;) {
        uint32_t c;
        i += unicode_read(chars + i, length - i, &c);
        rewrites_add(w, c, w->n - before >= old);
    }
    const size_t now = w->n - before;
    if (now < old && w->n && !w->failed) /* the last one also replaces the removed ones */
        w->at[w->n - 1].change -= (int32_t)(old - now);
}

static bool grapheme_run(const charsmap *m, const rune *at, size_t n, rewrites *w)
{
    unsigned char key[GRAPHEME_BYTES + 4];
    size_t bytes = 0;
    bool changed = false;
    for (size_t i = 0; i < n && bytes < GRAPHEME_BYTES; i++)
        bytes += unicode_write(at[i].c, key + bytes);
    const unsigned char *found = bytes < GRAPHEME_BYTES ? find(m, key, bytes) : NULL;
    if (found) {
        replace(w, n, found);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        found = find(m, key, unicode_write(at[i].c, key));
        if (found)
            replace(w, 1, found);
        else
            rewrites_add(w, at[i].c, 0);
        changed |= found != NULL;
    }
    return changed;
}

/* There is a boundary between any two ASCII characters, except inside CR LF. */
static bool is_boundary(uint32_t a, uint32_t b, int32_t *state)
{
    if (a >= 128 || b >= 128 || (a == '\r' && b == '\n'))
        return unicode_boundary(a, b, state);
    *state = 0;
    return true;
}

bool charsmap_run(const charsmap *m, const aligned *from, rewrites *w)
{
    bool changed = false;
    int32_t state = 0;
    for (size_t first = 0, i = 1; first < from->n; i++) {
        if (i < from->n && !is_boundary(from->at[i - 1].c, from->at[i].c, &state))
            continue;
        changed |= grapheme_run(m, from->at + first, i - first, w);
        first = i;
    }
    return changed;
}

uint32_t charsmap_byte(unsigned char byte)
{
    if ((byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae)
        return byte;
    return byte <= ' ' ? 256u + byte : byte == 0xad ? 256 + 67 : 256u + 33 + (byte - 0x7f);
}

void charsmap_bytes(const rune *from, size_t n, aligned *to)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char bytes[4];
        const size_t length = unicode_write(from[i].c, bytes);
        for (size_t j = 0; j < length; j++)
            aligned_add(to, (rune){charsmap_byte(bytes[j]), from[i].start, from[i].end});
    }
}
