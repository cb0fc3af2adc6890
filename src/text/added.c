/* Added tokens: see tokenizer.h. */
#include "text/tokenizer.h"

#include "base/memory.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

ig_status added_set_add(added_set *s, added_token token, const rune *runes, size_t n)
{
    if (n == 0)
        return IG_OK; /* it would match everywhere */
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

static int token_compare(const void *left, const void *right)
{
    const added_token *a = left, *b = right;
    if (a->runes[0] != b->runes[0])
        return a->runes[0] < b->runes[0] ? -1 : 1;
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

void added_set_sort(added_set *s)
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

/* The longest token at a place; NULL if there is none. */
static const added_token *find_at(const added_set *s, const rune *at, size_t n)
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
        if (matches(&s->at[low], at, n))
            return &s->at[low];
    return NULL;
}

static bool is_word(rune r) { return unicode_flags(r.c) & UNICODE_WORD; }
static bool is_space(rune r) { return unicode_flags(r.c) & UNICODE_SPACE; }

void added_set_cut(const added_set *s, const rune *chars, size_t first, size_t count, pieces *out)
{
    const rune *at = chars + first;
    size_t done = 0; /* up to here there are pieces */
    for (size_t i = 0; i < count && s->n;) {
        const added_token *t = begins(s, at[i].c) ? find_at(s, at + i, count - i) : NULL;
        if (!t) {
            i++;
            continue;
        }
        size_t start = i, stop = i + t->n;
        i = stop;
        if (t->single_word &&
            ((start > 0 && is_word(at[start - 1])) || (stop < count && is_word(at[stop]))))
            continue;
        while (t->lstrip && start > done && is_space(at[start - 1]))
            start--;
        while (t->rstrip && stop < count && is_space(at[stop]))
            stop++;
        if (start < done)
            start = done;
        pieces_add(out, first + done, start - done, -1);
        pieces_add(out, first + start, stop > start ? stop - start : 0, t->id);
        done = stop;
        i = stop > i ? stop : i;
    }
    pieces_add(out, first + done, count - done, -1);
}
