/* Ops on tensors of strings. They run on the host when the graph is built. */
#include "lib/onnx/ops/common.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "lib/text/regex.h"
#include "lib/text/unicode.h"

#include <string.h>

static const ig_onnx_value *texts_of(onnx_call *c, int i)
{
    ig_onnx_value *v = call_value(c, i);
    if (ig_onnx_value_kind(v) == IG_ONNX_TEXTS)
        return v;
    call_fail(c, IG_ERR_DTYPE, NULL, "input %d is not a tensor of strings", i);
    return NULL;
}

/* ---- StringConcat --------------------------------------------------------------------------- */

/* The shape of two tensors that are broadcast; false after an error. */
static bool shapes_join(onnx_call *c, ig_ints a, ig_ints b, int64_t dims[IG_MAX_NDIM], int *ndim)
{
    *ndim = a.n > b.n ? a.n : b.n;
    if (*ndim > IG_MAX_NDIM) {
        call_fail(c, IG_ERR_SHAPE, NULL, "a tensor has more than %d axes", IG_MAX_NDIM);
        return false;
    }
    for (int i = 0; i < *ndim; i++) {
        const int64_t x = i < *ndim - a.n ? 1 : a.v[i - (*ndim - a.n)];
        const int64_t y = i < *ndim - b.n ? 1 : b.v[i - (*ndim - b.n)];
        if (x != y && x != 1 && y != 1) {
            call_fail(c, IG_ERR_SHAPE, NULL, "axes of %lld and %lld elements do not fit",
                      (long long)x, (long long)y);
            return false;
        }
        dims[i] = x == 1 ? y : x;
    }
    return true;
}

/* The position in a tensor of a shape that is broadcast to dims, for position i of the whole. */
static int64_t position_in(ig_ints shape, const int64_t *dims, int ndim, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int k = ndim - 1, own = shape.n - 1; own >= 0; k--, own--) {
        const int64_t index = i % dims[k];
        i /= dims[k];
        at += shape.v[own] == 1 ? 0 : index * step;
        step *= shape.v[own];
    }
    return at;
}

void onnx_string_concat(onnx_call *c)
{
    const ig_onnx_value *x = texts_of(c, 0), *y = x ? texts_of(c, 1) : NULL;
    int64_t dims[IG_MAX_NDIM];
    int ndim = 0;
    if (!y || !shapes_join(c, ig_onnx_value_shape(x), ig_onnx_value_shape(y), dims, &ndim))
        return;
    const int64_t n = op_product(dims, ndim);
    const ig_ints a = ig_onnx_value_shape(x), b = ig_onnx_value_shape(y);
    onnx_bytes *list = memory_new((size_t)(n + 1) * sizeof *list);
    bool fine = list != NULL;
    for (int64_t i = 0; i < n && fine; i++) {
        const onnx_bytes s = x->texts[position_in(a, dims, ndim, i)];
        const onnx_bytes t = y->texts[position_in(b, dims, ndim, i)];
        char *joined = memory_get(s.n + t.n + 1);
        if ((fine = joined != NULL)) {
            memcpy(joined, s.at, s.n);
            memcpy(joined + s.n, t.at, t.n);
            list[i] = (onnx_bytes){joined, s.n + t.n};
        }
    }
    if (fine)
        call_return_value(c, 0, value_texts(list, (ig_ints){dims, ndim}));
    for (int64_t i = 0; i < n && list; i++)
        memory_free((void *)(uintptr_t)list[i].at);
    memory_free(list);
}

/* ---- StringSplit ---------------------------------------------------------------------------- */

typedef struct parts {
    onnx_bytes *at;
    int n, room;
} parts;

static bool parts_add(parts *p, const char *at, size_t n)
{
    if (!memory_room(&p->at, p->n, &p->room, sizeof *p->at))
        return false;
    p->at[p->n++] = (onnx_bytes){at, n};
    return true;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Runs of white space separate the parts; there are no empty ones. The rest after `most` cuts keeps its end. */
static bool split_at_space(parts *p, onnx_bytes s, int64_t most)
{
    size_t i = 0;
    for (int64_t cuts = 0;; cuts++) {
        while (i < s.n && is_space(s.at[i]))
            i++;
        if (i == s.n)
            return true;
        size_t end = i;
        while (end < s.n && (cuts == most || !is_space(s.at[end])))
            end++;
        if (!parts_add(p, s.at + i, end - i))
            return false;
        i = end;
    }
}

static bool split_at(parts *p, onnx_bytes s, const char *delimiter, int64_t most)
{
    const size_t n = strlen(delimiter);
    const char *at = s.at, *const end = s.at + s.n;
    for (int64_t cuts = 0; cuts < most; cuts++) {
        const char *next = memmem(at, (size_t)(end - at), delimiter, n);
        if (!next)
            break;
        if (!parts_add(p, at, (size_t)(next - at)))
            return false;
        at = next + n;
    }
    return parts_add(p, at, (size_t)(end - at));
}

/* All parts in rows of the longest length, which `pad` fills. counts: parts of each string. */
static void splits_return(onnx_call *c, const ig_onnx_value *x, const parts *p,
                          const int64_t *counts, onnx_bytes pad)
{
    const ig_ints shape = ig_onnx_value_shape(x);
    const int64_t n = value_elements(x);
    int64_t longest = 0, dims[IG_MAX_NDIM + 1];
    for (int64_t i = 0; i < n; i++)
        longest = counts[i] > longest ? counts[i] : longest;
    onnx_bytes *all = memory_new((size_t)(n * longest + 1) * sizeof *all);
    for (int64_t i = 0, from = 0; i < n && all; from += counts[i++])
        for (int64_t k = 0; k < longest; k++)
            all[i * longest + k] = k < counts[i] ? p->at[from + k] : pad;
    for (int i = 0; i < shape.n && i < IG_MAX_NDIM; i++)
        dims[i] = shape.v[i];
    dims[shape.n] = longest;
    if (all)
        call_return_value(c, 0, value_texts(all, (ig_ints){dims, shape.n + 1}));
    memory_free(all);
}

void onnx_string_split(onnx_call *c)
{
    const ig_onnx_value *x = texts_of(c, 0);
    const char *delimiter = call_attribute_text(c, "delimiter", "");
    const int64_t given = call_attribute_int(c, "maxsplit", -1);
    const int64_t most = given < 0 ? INT64_MAX : given, n = x ? value_elements(x) : 0;
    if (ig_failed())
        return;
    parts p = {0};
    int64_t *counts = memory_new((size_t)(n + 1) * sizeof *counts);
    bool fine = counts != NULL;
    for (int64_t i = 0; i < n && fine; i++) {
        const int64_t before = p.n;
        fine = *delimiter ? split_at(&p, x->texts[i], delimiter, most)
                          : split_at_space(&p, x->texts[i], most);
        counts[i] = p.n - before;
    }
    if (fine) {
        splits_return(c, x, &p, counts, (onnx_bytes){"", 0});
        call_return_value(c, 1, value_on_host(counts, ig_onnx_value_shape(x), IG_I64));
    }
    memory_free(p.at);
    memory_free(counts);
}

/* ---- StringNormalizer ----------------------------------------------------------------------- */

enum { CASE_NONE, CASE_LOWER, CASE_UPPER };

static bool is_ascii(onnx_bytes s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] >= 128)
            return false;
    return true;
}

/* A copy of s in another case, released with memory_free; NULL after an error. */
static char *case_change(onnx_bytes s, int change, size_t *bytes)
{
    const bool ascii = is_ascii(s);
    if (!ascii && unicode_load() != IG_OK)
        return NULL;
    char *out = memory_get(3 * s.n + 4); /* no case has more than three times the bytes */
    size_t n = 0;
    for (size_t i = 0; i < s.n && out;) {
        uint32_t from = 0, to[2];
        i += unicode_read((const unsigned char *)s.at + i, s.n - i, &from);
        int count = 1;
        to[0] = from;
        if (ascii && change != CASE_NONE) {
            const uint32_t first = change == CASE_LOWER ? 'A' : 'a';
            to[0] = from - first < 26 ? from ^ 32 : from;
        } else if (change == CASE_LOWER) {
            count = unicode_lower(from, to);
        } else if (change == CASE_UPPER) {
            to[0] = unicode_upper(from);
        }
        for (int k = 0; k < count; k++)
            n += unicode_write(to[k], (unsigned char *)out + n);
    }
    *bytes = n;
    return out;
}

/* True if s is one of the words; in lower case unless `exact`. */
static bool is_stopword(onnx_bytes s, const onnx_bytes *words, int n, bool exact)
{
    bool found = false;
    size_t own = s.n, other = 0;
    char *lower = exact ? NULL : case_change(s, CASE_LOWER, &own);
    for (int i = 0; i < n && !found; i++) {
        if (exact) {
            found = words[i].n == s.n && memcmp(words[i].at, s.at, s.n) == 0;
            continue;
        }
        char *word = case_change(words[i], CASE_LOWER, &other);
        found = word && lower && other == own && memcmp(word, lower, own) == 0;
        memory_free(word);
    }
    memory_free(lower);
    return found;
}

void onnx_string_normalizer(onnx_call *c)
{
    const ig_onnx_value *x = texts_of(c, 0);
    const int change = call_attribute_choice(c, "case_change_action", "NONE|LOWER|UPPER");
    const bool exact = call_attribute_bool(c, "is_case_sensitive", false);
    int n_words = 0;
    const onnx_bytes *words = call_attribute_texts(c, "stopwords", &n_words);
    call_ignore(c, "locale"); /* of the case of letters, which is Unicode's here */
    if (!x || ig_failed())
        return;
    const ig_ints shape = ig_onnx_value_shape(x);
    if (shape.n < 1 || shape.n > 2 || (shape.n == 2 && shape.v[0] != 1)) {
        call_fail(c, IG_ERR_SHAPE, "input 0", "its shape must be (n) or (1, n)");
        return;
    }
    const int64_t n = shape.v[shape.n - 1];
    onnx_bytes *kept = memory_new((size_t)(n + 1) * sizeof *kept);
    int64_t count = 0;
    for (int64_t i = 0; i < n && kept && !ig_failed(); i++)
        if (!is_stopword(x->texts[i], words, n_words, exact)) {
            size_t bytes = 0;
            kept[count].at = case_change(x->texts[i], change, &bytes);
            kept[count].n = bytes;
            count += kept[count].at != NULL;
        }
    const int64_t length = count ? count : 1; /* nothing left: one empty string */
    const onnx_bytes empty = {"", 0};
    if (kept && !ig_failed())
        call_return_value(c, 0,
                          value_texts(count ? kept : &empty,
                                      shape.n == 2 ? IG_SHAPE(1, length) : IG_SHAPE(length)));
    for (int64_t i = 0; i < count; i++)
        memory_free((void *)(uintptr_t)kept[i].at);
    memory_free(kept);
}

/* ---- RegexFullMatch ------------------------------------------------------------------------- */

/* RE2's classes contain ASCII only, and its anchors mean the whole text. The pattern is rewritten for our engine. */
static const struct {
    char letter;
    const char *inside, *outside; /* of a class */
} escapes[] = {
    {'w', "0-9A-Za-z_", "[0-9A-Za-z_]"},
    {'W', "[^0-9A-Za-z_]", "[^0-9A-Za-z_]"},
    {'d', "0-9", "[0-9]"},
    {'D', "[^0-9]", "[^0-9]"},
    {'s', "\\t\\n\\f\\r ", "[\\t\\n\\f\\r ]"},
    {'S', "[^\\t\\n\\f\\r ]", "[^\\t\\n\\f\\r ]"},
    {'b', NULL, "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))"},
};

static const char *escape_find(char letter, bool inside)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].letter == letter)
            return inside ? escapes[i].inside : escapes[i].outside;
    return NULL;
}

/* whole: the pattern matches up to the end. */
static char *pattern_rewrite(const char *pattern, bool whole)
{
    text t = {0};
    bool inside = false;
    text_add(&t, "(?:");
    for (const char *p = pattern; *p; p++) {
        const char *other = *p == '\\' && p[1] ? escape_find(p[1], inside) : NULL;
        if (!inside && (*p == '^' || *p == '$'))
            other = *p == '^' ? "\\A" : "\\z";
        if (other) {
            text_add(&t, "%s", other);
            p += *p == '\\';
        } else if (*p == '\\' && p[1]) {
            text_add(&t, "%c%c", p[0], p[1]);
            p++;
        } else {
            inside = inside ? *p != ']' : *p == '[';
            text_add(&t, "%c", *p);
            if (inside && *p == '[' && p[1] == '^')
                text_add(&t, "%c", *++p);
        }
    }
    text_add(&t, whole ? ")\\z" : ")");
    return text_take(&t);
}

/* The code points of s, with their places. */
static aligned runes_of(onnx_bytes s)
{
    aligned runes = {0};
    for (size_t i = 0; i < s.n && i < UINT32_MAX;) {
        rune one = {.start = (uint32_t)i};
        i += unicode_read((const unsigned char *)s.at + i, s.n - i, &one.c);
        one.end = (uint32_t)i;
        aligned_add(&runes, one);
    }
    return runes;
}

/* True if the whole of s matches. *failed is set if the search needed too many steps or memory. */
static bool matches(const regex *r, onnx_bytes s, regex_scratch *scratch, bool *failed)
{
    aligned runes = runes_of(s);
    size_t start = 1, end = 0;
    const bool found =
        !runes.failed && regex_find(r, runes.at, runes.n, 0, scratch, &start, &end) && start == 0;
    *failed = runes.failed || scratch->failed || scratch->exceeded;
    aligned_free(&runes);
    return found;
}

void onnx_regex_full_match(onnx_call *c)
{
    const ig_onnx_value *x = texts_of(c, 0);
    const char *given = call_attribute_text(c, "pattern", NULL);
    if (!x || !given) {
        if (x)
            call_fail(c, IG_ERR_FORMAT, NULL, "the attribute 'pattern' is absent");
        return;
    }
    char *pattern = pattern_rewrite(given, true);
    regex *r = pattern && unicode_load() == IG_OK ? regex_new(pattern, strlen(pattern)) : NULL;
    const int64_t n = value_elements(x);
    bool *found = r ? memory_new((size_t)n + 1) : NULL;
    bool failed = false;
    regex_scratch scratch = {0};
    for (int64_t i = 0; i < n && found && !failed; i++)
        found[i] = matches(r, x->texts[i], &scratch, &failed);
    if (failed)
        call_fail(c, IG_ERR_UNSUPPORTED, "attribute 'pattern'", "a match needs too many steps");
    else if (found)
        call_return_value(c, 0, value_on_host(found, ig_onnx_value_shape(x), IG_BOOL));
    memory_free(found);
    memory_free(pattern);
    regex_scratch_free(&scratch);
    regex_free(r);
}

/* ---- Tokenizer of ONNX Runtime -------------------------------------------------------------- */

typedef struct tokens {
    parts parts;
    regex *found;     /* of tokens, or of separators; NULL: each character is a token */
    bool separates;   /* the expression is of separators */
    int64_t shortest; /* characters of a token */
    regex_scratch scratch;
} tokens;

/* Adds the characters [from, to) of s, unless there are too few. */
static bool token_add(tokens *t, onnx_bytes s, const aligned *runes, size_t from, size_t to)
{
    if (to <= from || (int64_t)(to - from) < t->shortest)
        return true;
    const uint32_t start = runes->at[from].start, end = runes->at[to - 1].end;
    return parts_add(&t->parts, s.at + start, end - start);
}

static bool tokens_find(tokens *t, onnx_bytes s)
{
    aligned runes = runes_of(s);
    size_t at = 0, last = 0, start = 0, end = 0; /* last: where the last separator ends */
    bool fine = !runes.failed;
    for (; fine && !t->found && at < runes.n; at++)
        fine = token_add(t, s, &runes, at, at + 1);
    while (fine && t->found && at <= runes.n &&
           regex_find(t->found, runes.at, runes.n, at, &t->scratch, &start, &end)) {
        fine = t->separates ? token_add(t, s, &runes, last, start)
                            : token_add(t, s, &runes, start, end);
        last = end;
        at = end > start ? end : end + 1;
    }
    if (fine && t->separates)
        fine = token_add(t, s, &runes, last, runes.n);
    aligned_free(&runes);
    return fine && !t->scratch.failed && !t->scratch.exceeded;
}

/* Separators are regular expressions, too; a single empty one separates all characters. */
static char *separators_join(const onnx_bytes *list, int n)
{
    text t = {0};
    for (int i = 0; i < n; i++) {
        char *one = memory_get(list[i].n + 1), *rewritten = NULL;
        if (one) {
            memcpy(one, list[i].at, list[i].n);
            one[list[i].n] = 0;
            rewritten = pattern_rewrite(one, false);
        }
        text_add(&t, "%s%s", i ? "|" : "", rewritten ? rewritten : "");
        t.failed |= !rewritten;
        memory_free(one);
        memory_free(rewritten);
    }
    return text_take(&t);
}

/* Reads the attributes. False after an error. */
static bool tokens_read(onnx_call *c, tokens *t)
{
    int n = 0;
    const char *expression = call_attribute_text(c, "tokenexp", "");
    const onnx_bytes *separators = call_attribute_texts(c, "separators", &n);
    t->shortest = call_attribute_int(c, "mincharnum", 1);
    if (ig_failed() || unicode_load() != IG_OK)
        return false;
    if ((n > 0) == (*expression != 0)) {
        call_fail(c, IG_ERR_ARGUMENT, NULL, "needs one of the attributes tokenexp and separators");
        return false;
    }
    if (n == 1 && separators[0].n == 0)
        return true;
    t->separates = n > 0;
    char *pattern = n ? separators_join(separators, n) : pattern_rewrite(expression, false);
    t->found = pattern ? regex_new(pattern, strlen(pattern)) : NULL;
    memory_free(pattern);
    return t->found != NULL;
}

void onnx_tokenizer(onnx_call *c)
{
    const ig_onnx_value *x = texts_of(c, 0);
    const char *pad = call_attribute_text(c, "pad_value", "");
    const bool marks = call_attribute_bool(c, "mark", false);
    const int64_t n = x ? value_elements(x) : 0;
    tokens t = {0};
    int64_t *counts = memory_new((size_t)(n + 1) * sizeof *counts);
    bool fine = x && counts && tokens_read(c, &t);
    for (int64_t i = 0; i < n && fine; i++) {
        const int64_t before = t.parts.n;
        fine = (!marks || parts_add(&t.parts, "\x02", 1)) && tokens_find(&t, x->texts[i]) &&
               (!marks || parts_add(&t.parts, "\x03", 1));
        counts[i] = t.parts.n - before;
        if (!fine && !ig_failed())
            call_fail(c, IG_ERR_UNSUPPORTED, NULL, "a match needs too many steps");
    }
    if (fine)
        splits_return(c, x, &t.parts, counts, (onnx_bytes){pad, strlen(pad)});
    memory_free(t.parts.at);
    memory_free(counts);
    regex_scratch_free(&t.scratch);
    regex_free(t.found);
}
