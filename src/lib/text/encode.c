/* From a text to tokens: see tokenizer.h. */
#include "lib/text/tokenizer.h"

#include "base/memory.h"
#include "lib/text/charsmap.h"
#include "lib/text/unicode.h"

#include <string.h>

void encoder_free(encoder *e)
{
    for (int i = 0; i < 2; i++) {
        aligned_free(&e->sources[i].original);
        memory_counted_free(e->sources[i].byte_at,
                            e->sources[i].byte_room * sizeof *e->sources[i].byte_at);
        tokens_free(&e->sources[i].tokens);
    }
    cut_text_free(&e->cut);
    normalize_scratch_free(&e->normalize);
    octets_free(&e->word);
    memory_counted_free(e->word_runes, e->word_room * sizeof *e->word_runes);
    subwords_free(&e->subwords);
    tokens_free(&e->out);
}

/* Makes room for n numbers. */
static bool numbers_reserve(uint32_t **at, size_t *room, size_t n)
{
    if (n <= *room)
        return true;
    uint32_t *block = memory_counted_resize(*at, *room * sizeof *block, (n + n / 2) * sizeof *block,
                                            "encoding a text");
    if (!block)
        return false;
    *at = block;
    *room = n + n / 2;
    return true;
}

/* ---- the text ------------------------------------------------------------------------------- */

static bool text_read(text_source *s, ig_text chars)
{
    const unsigned char *at = (const unsigned char *)chars.at;
    aligned *a = &s->original;
    a->n = 0;
    if (!aligned_reserve(a, chars.bytes) ||
        !numbers_reserve(&s->byte_at, &s->byte_room, chars.bytes + 1))
        return false;
    size_t n = 0;
    for (size_t i = 0; i < chars.bytes; n++) {
        uint32_t c;
        s->byte_at[n] = (uint32_t)i;
        i += unicode_read(at + i, chars.bytes - i, &c);
        a->at[n] = (rune){c, (uint32_t)n, (uint32_t)n + 1};
    }
    a->n = n;
    s->byte_at[n] = (uint32_t)chars.bytes;
    return true;
}

void source_bytes(text_source *s)
{
    for (size_t i = 0; i < s->tokens.n && !s->ascii; i++) {
        text_token *t = &s->tokens.at[i];
        t->start = t->start <= s->original.n ? s->byte_at[t->start] : 0;
        t->end = t->end <= s->original.n ? s->byte_at[t->end] : 0;
    }
}

static void normalize_and_cut(encoder *e, const ig_tokenizer *t, const aligned *original)
{
    cut_text *c = &e->cut;
    c->text.n = c->list.n = c->spare_list.n = 0;
    c->text.most = aligned_most(original->n);
    added_set_cut(&t->plain, original->at, 0, original->n, &e->literal, &c->spare_list);
    for (size_t i = 0; i < c->spare_list.n; i++) {
        const piece p = c->spare_list.at[i];
        const size_t first = c->text.n;
        if (p.id >= 0) {
            aligned_append(&c->text, original->at + p.first, p.count);
            pieces_add(&c->list, first, c->text.n - first, p.id);
        } else {
            normalizer_run(t->normalizer, original->at + p.first, p.count, &c->text, &e->normalize);
            added_set_cut(&t->normalized, c->text.at, first, c->text.n - first, &e->literal,
                          &c->list);
        }
    }
    c->list.failed |= c->spare_list.failed;
    splitter_run(t->splitter, c);
}

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_blank(uint32_t c) { return c == 0x120 || unicode_flags(c) & UNICODE_SPACE; }

/* Counts the blanks at the ends of a token's text. */
static void blanks_count(text_token *t, const unsigned char *chars, size_t bytes)
{
    uint32_t c;
    uint32_t leading = 0, trailing = 0, all = 0;
    for (size_t i = 0; i < bytes; all++) {
        i += unicode_read(chars + i, bytes - i, &c);
        const bool blank = is_blank(c);
        leading += blank && leading == all;
        trailing = blank ? trailing + 1 : 0;
    }
    t->blanks[0] = leading < UINT16_MAX ? (uint16_t)leading : UINT16_MAX;
    t->blanks[1] = trailing < UINT16_MAX ? (uint16_t)trailing : UINT16_MAX;
}

/* Writes the word as UTF-8, with the code point index of each byte. Returns false if out of memory. */
static bool word_make(encoder *e, const rune *at, size_t n)
{
    e->word.n = 0;
    if (!octets_reserve(&e->word, 4 * n) ||
        !numbers_reserve(&e->word_runes, &e->word_room, 4 * n + 1))
        return false;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = unicode_write(at[i].c, e->word.at + bytes);
        for (size_t j = 0; j < length; j++)
            e->word_runes[bytes++] = (uint32_t)i;
    }
    e->word.n = bytes;
    return true;
}

/* Counts the blanks of a token's text. That is its text in the vocabulary, but for the unknown token of a Unigram model
 * it is the source text. */
static void token_blanks(const encoder *e, const subword_model *m, subword s, text_token *out)
{
    size_t bytes = s.end - s.start;
    const unsigned char *chars = e->word.at + s.start;
    if (!m->scores || s.id != m->unknown_id)
        chars = (const unsigned char *)vocabulary_text(&m->vocabulary, s.id, &bytes);
    if (chars)
        blanks_count(out, chars, bytes);
}

static void word_tokens(encoder *e, const ig_tokenizer *t, const rune *at, size_t n, int32_t word,
                        tokens *out)
{
    if (!word_make(e, at, n)) {
        out->failed = true;
        return;
    }
    subword_split(t->model, e->word.at, e->word.n, &e->subwords);
    for (size_t i = 0; i < e->subwords.n; i++) {
        const subword s = e->subwords.at[i];
        text_token one = {.id = s.id, .word = word};
        const uint32_t first = e->word_runes[s.start],
                       last = e->word_runes[s.end > s.start ? s.end - 1 : s.start];
        one.start = at[first].start;
        one.end = at[last].end;
        if (t->post.n_trims)
            token_blanks(e, t->model, s, &one);
        tokens_add(out, one);
    }
}

static void added_tokens_add(encoder *e, const ig_tokenizer *t, piece p, int32_t word, tokens *out)
{
    const rune *at = e->cut.text.at + p.first;
    text_token one = {.id = p.id, .word = word, .start = at[0].start, .end = at[p.count - 1].end};
    if (t->post.n_trims && word_make(e, at, p.count))
        blanks_count(&one, e->word.at, e->word.n);
    tokens_add(out, one);
}

/* ---- BERT and ASCII -------------------------------------------------------------------------- */

/* How BERT's normalizer and pre-tokenizer treat an ASCII byte. */
typedef enum ascii_kind { ASCII_REMOVED, ASCII_SPACE, ASCII_SINGLE, ASCII_LETTER } ascii_kind;

static ascii_kind ascii_kind_of(unsigned char c)
{
    if (c == ' ' || (c >= '\t' && c <= '\r' && c != '\v' && c != '\f'))
        return ASCII_SPACE;
    if (c < ' ' || c == 127)
        return ASCII_REMOVED;
    const unsigned char lower = c | 0x20;
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ? ASCII_LETTER : ASCII_SINGLE;
}

/* True if the text is ASCII and no added token can begin in it. */
static bool is_simple(const ig_tokenizer *t, ig_text chars)
{
    for (size_t i = 0; i < chars.bytes; i++) {
        const unsigned char c = (unsigned char)chars.at[i];
        if (c >= 128 || t->plain.ascii[c / 32] >> c % 32 & 1)
            return false;
    }
    return true;
}

/* Adds the tokens of the word in e->word. e->word_runes has the position of each byte in the text. */
static void ascii_word(encoder *e, const ig_tokenizer *t, int32_t word, tokens *out)
{
    subword_split(t->model, e->word.at, e->word.n, &e->subwords);
    for (size_t i = 0; i < e->subwords.n; i++) {
        const subword s = e->subwords.at[i];
        tokens_add(out, (text_token){.id = s.id,
                                     .word = word,
                                     .start = e->word_runes[s.start],
                                     .end = e->word_runes[s.end - 1] + 1});
    }
    e->word.n = 0;
}

/* All steps at once, for a text for which is_simple is true. */
static void ascii_tokens(encoder *e, const ig_tokenizer *t, ig_text chars, tokens *out)
{
    int32_t word = 0;
    e->word.n = 0;
    if (!octets_reserve(&e->word, chars.bytes + 1) ||
        !numbers_reserve(&e->word_runes, &e->word_room, chars.bytes + 1)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < chars.bytes; i++) {
        const unsigned char c = (unsigned char)chars.at[i];
        const ascii_kind kind = ascii_kind_of(c);
        if (kind == ASCII_REMOVED)
            continue;
        if (kind != ASCII_LETTER && e->word.n)
            ascii_word(e, t, word++, out);
        if (kind == ASCII_SPACE)
            continue;
        e->word_runes[e->word.n] = (uint32_t)i;
        e->word.at[e->word.n++] = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
        if (kind == ASCII_SINGLE)
            ascii_word(e, t, word++, out);
    }
    if (e->word.n)
        ascii_word(e, t, word, out);
    out->failed |= e->subwords.failed;
}

void encoder_tokens(encoder *e, const ig_tokenizer *t, ig_text chars, text_source *s)
{
    tokens *out = &s->tokens;
    out->n = 0;
    s->ascii = t->bert && is_simple(t, chars);
    if (s->ascii) {
        ascii_tokens(e, t, chars, out);
        return;
    }
    if (!text_read(s, chars)) {
        out->failed = true;
        return;
    }
    e->literal.byte_at = s->byte_at;
    normalize_and_cut(e, t, &s->original);
    const cut_text *c = &e->cut;
    e->exceeded |= c->regex.exceeded || e->normalize.regex.exceeded;
    if (c->text.failed || c->list.failed || c->spare_list.failed || c->regex.failed ||
        e->normalize.regex.failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < c->list.n; i++) {
        const piece p = c->list.at[i];
        if (p.id >= 0)
            added_tokens_add(e, t, p, (int32_t)i, out);
        else
            word_tokens(e, t, c->text.at + p.first, p.count, (int32_t)i, out);
    }
    out->failed |= e->subwords.failed;
}
