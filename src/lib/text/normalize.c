/* Normalizers: see normalize.h. A sequence is flattened into a list of steps. */
#include "lib/text/normalize.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/charsmap.h"
#include "lib/text/unicode.h"

#include <string.h>

enum { STEPS_MOST = 128 }; /* bounds the time per text */

typedef struct step {
    const struct step_kind *kind;
    bool flag
        [4]; /* BERT: clean, ideographs, accents, lower case; normal form: compatible, composed; strip: left, right */
    regex *pattern;
    uint32_t *content; /* code points of a replacement */
    size_t n_content;
    charsmap *map;
} step;

typedef struct step_kind {
    const char *name; /* in the file */
    bool flag[2];
    void (*run)(const step *s, normalize_scratch *w);
    ig_status (*read)(step *s, field f); /* NULL: there are no options */
} step_kind;

struct normalizer {
    step *steps;
    int n;
};

/* ---- the steps ------------------------------------------------------------------------------ */

static void bert_rune(const step *s, rune r, aligned *to)
{
    unsigned flags = unicode_flags(r.c);
    if (s->flag[0]) { /* clean */
        const bool blank = r.c == '\t' || r.c == '\n' || r.c == '\r';
        if (r.c == 0 || r.c == 0xfffd || (!blank && flags & UNICODE_CONTROL))
            return;
        if (flags & UNICODE_SPACE)
            r.c = ' ';
    }
    if (s->flag[1] && flags & UNICODE_IDEOGRAPH) {
        aligned_add(to, (rune){' ', r.start, r.end});
        aligned_add(to, r);
        r.c = ' ';
    }
    aligned_add(to, r);
}

/* Returns true if neither lower case nor decomposition changes any code point. */
static bool is_stable(const aligned *chars)
{
    for (size_t i = 0; i < chars->n; i++)
        if (!(unicode_flags(chars->at[i].c) & UNICODE_STABLE))
            return false;
    return true;
}

static void swap(normalize_scratch *s)
{
    const aligned a = s->a;
    s->a = s->b;
    s->b = a;
    s->b.n = 0;
    s->a.failed |= s->b.failed;
}

static void marks_remove(normalize_scratch *w, unsigned which)
{
    for (size_t i = 0; i < w->a.n; i++)
        if (!(unicode_flags(w->a.at[i].c) & which))
            aligned_add(&w->b, w->a.at[i]);
    swap(w);
}

static void accents_run(const step *s, normalize_scratch *w)
{
    (void)s;
    marks_remove(w, UNICODE_MARK);
}

static void lowercase_run(const step *s, normalize_scratch *w)
{
    (void)s;
    for (size_t i = 0; i < w->a.n; i++) {
        const rune r = w->a.at[i];
        uint32_t lower[2];
        const int n = unicode_lower(r.c, lower);
        for (int j = 0; j < n; j++)
            aligned_add(&w->b, (rune){lower[j], r.start, r.end});
    }
    swap(w);
}

static void form_run(const step *s, normalize_scratch *w)
{
    aligned_normalize(&w->b, &w->a, s->flag[0], s->flag[1], &w->changes);
    swap(w);
}

static void bert_run(const step *s, normalize_scratch *w)
{
    for (size_t i = 0; i < w->a.n; i++)
        bert_rune(s, w->a.at[i], &w->b);
    swap(w);
    if ((s->flag[2] || s->flag[3]) && is_stable(&w->a))
        return;
    if (s->flag[2]) { /* accents */
        aligned_normalize(&w->b, &w->a, false, false, &w->changes);
        swap(w);
        marks_remove(w, UNICODE_NONSPACING);
    }
    if (s->flag[3])
        lowercase_run(s, w);
}

static void strip_run(const step *s, normalize_scratch *w)
{
    size_t first = 0, last = w->a.n;
    while (s->flag[0] && first < last && unicode_flags(w->a.at[first].c) & UNICODE_SPACE)
        first++;
    while (s->flag[1] && last > first && unicode_flags(w->a.at[last - 1].c) & UNICODE_SPACE)
        last--;
    aligned_append(&w->b, w->a.at + first, last - first);
    swap(w);
}

static void replace_run(const step *s, normalize_scratch *w)
{
    size_t at = 0, from = 0, start, end;
    bool any = false;
    while (from <= w->a.n && w->a.n && !w->b.failed &&
           regex_find(s->pattern, w->a.at, w->a.n, from, &w->regex, &start, &end)) {
        from = end > start ? end : end + 1;
        if (any && start == end && start == at)
            continue; /* an empty match directly after another match does not count */
        aligned_append(&w->b, w->a.at + at, start - at);
        rune before = {0, w->origin, w->origin};
        if (end > 0)
            before = w->a.at[end - 1];
        for (size_t i = 0; i < s->n_content && !w->b.failed; i++)
            aligned_add(&w->b, (rune){s->content[i], before.start, before.end});
        at = end;
        any = true;
    }
    if (at < w->a.n)
        aligned_append(&w->b, w->a.at + at, w->a.n - at);
    swap(w);
}

static void prepend_run(const step *s, normalize_scratch *w)
{
    if (w->a.n == 0)
        return;
    for (size_t i = 0; i < s->n_content; i++)
        aligned_add(&w->b, (rune){s->content[i], w->a.at[0].start, w->a.at[0].end});
    aligned_append(&w->b, w->a.at, w->a.n);
    if (s->n_content == 0 && w->b.n) /* as in the reference, the first code point counts as new */
        w->b.at[0] = (rune){w->b.at[0].c, w->origin, w->origin};
    swap(w);
}

static void nmt_run(const step *s, normalize_scratch *w)
{
    (void)s;
    for (size_t i = 0; i < w->a.n; i++) {
        rune r = w->a.at[i];
        const uint32_t c = r.c;
        if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
            c == 0x9f)
            continue;
        if (c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
            (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
            c == 0xfeff || c == 0xfffd)
            r.c = ' ';
        aligned_add(&w->b, r);
    }
    swap(w);
}

static void bytes_run(const step *s, normalize_scratch *w)
{
    (void)s;
    charsmap_bytes(w->a.at, w->a.n, &w->b);
    swap(w);
}

static void charsmap_step(const step *s, normalize_scratch *w)
{
    w->changes.n = 0;
    w->changes.most = w->b.most;
    if (charsmap_run(s->map, &w->a, &w->changes)) {
        aligned_rewrite(&w->b, &w->a, &w->changes);
        swap(w);
    }
    w->changes.most = 0;
}

/* Returns false if a step failed or made the text too long. Sets an error unless one is pending. */
static bool step_check(const step *s, int index, size_t count, size_t most,
                       const normalize_scratch *w)
{
    if (!w->a.failed && !w->b.failed && !w->changes.failed && w->a.n <= most)
        return true;
    ig_fail(IG_ERR_UNSUPPORTED,
            "normalizer %d of the tokenizer (%s) makes more than %zu characters of a text of %zu; "
            "remove or correct it in tokenizer.json",
            index + 1, s->kind->name, most, count);
    return false;
}

void normalizer_run(const normalizer *n, const rune *runes, size_t count, aligned *to,
                    normalize_scratch *s)
{
    if (n->n == 0) {
        aligned_append(to, runes, count);
        return;
    }
    const size_t most = to->most - to->n;
    s->a.n = s->b.n = 0;
    s->a.most = s->b.most = most;
    s->origin = count ? runes[0].start : 0;
    aligned_append(&s->a, runes, count);
    for (int i = 0; i < n->n && !to->failed; i++) {
        n->steps[i].kind->run(&n->steps[i], s);
        to->failed |= !step_check(&n->steps[i], i, count, most, s);
    }
    aligned_append(to, s->a.at, s->a.n);
}

void normalize_scratch_free(normalize_scratch *s)
{
    aligned_free(&s->a);
    aligned_free(&s->b);
    rewrites_free(&s->changes);
    regex_scratch_free(&s->regex);
}

/* ---- reading the configuration -------------------------------------------------------------- */

static step *step_add(normalizer *n, const step_kind *kind)
{
    if (n->n == STEPS_MOST)
        FAIL_NULL(IG_ERR_UNSUPPORTED, "there are more than %d normalizers; remove some",
                  STEPS_MOST);
    step *steps = memory_resize(n->steps, (size_t)(n->n + 1) * sizeof *steps);
    if (!steps)
        return NULL;
    n->steps = steps;
    steps[n->n] = (step){.kind = kind, .flag = {kind->flag[0], kind->flag[1]}};
    return &steps[n->n++];
}

static ig_status content_read(step *s, field f)
{
    size_t bytes = 0;
    char *chars = field_text(f, &bytes);
    if (!chars)
        FAIL(IG_ERR_FORMAT, "a normalizer has no text to insert");
    s->content = memory_get((bytes + 1) * sizeof *s->content);
    for (size_t i = 0; s->content && i < bytes;)
        i += unicode_read((unsigned char *)chars + i, bytes - i, &s->content[s->n_content++]);
    memory_free(chars);
    return s->content ? IG_OK : IG_ERR_MEMORY;
}

ig_status pattern_read(field f, regex **out)
{
    const field literal = field_get(f, "String"), expression = field_get(f, "Regex");
    size_t bytes = 0;
    char *chars = field_text(f.kind == JSON_TEXT         ? f
                             : literal.kind == JSON_TEXT ? literal
                                                         : expression,
                             &bytes);
    if (!chars)
        FAIL(IG_ERR_FORMAT, "a pattern is neither a String nor a Regex");
    *out = expression.kind == JSON_TEXT ? regex_new(chars, bytes) : regex_literal(chars, bytes);
    memory_free(chars);
    return *out ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status replace_read(step *s, field f)
{
    TRY(pattern_read(field_get(f, "pattern"), &s->pattern));
    return content_read(s, field_get(f, "content"));
}

static ig_status charsmap_read(step *s, field f)
{
    size_t bytes = 0;
    const field map = field_get(f, "precompiled_charsmap");
    char *chars = field_text(map, &bytes);
    if (!chars)
        FAIL(IG_ERR_FORMAT, "the Precompiled normalizer has no precompiled_charsmap");
    s->map = charsmap_new(chars, bytes);
    memory_free(chars);
    return s->map ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status bert_read(step *s, field f)
{
    const field accents = field_get(f, "strip_accents");
    s->flag[0] = field_bool(field_get(f, "clean_text"), true);
    s->flag[1] = field_bool(field_get(f, "handle_chinese_chars"), true);
    s->flag[3] = field_bool(field_get(f, "lowercase"), true);
    s->flag[2] = field_bool(accents, s->flag[3]);
    return IG_OK;
}

static ig_status strip_read(step *s, field f)
{
    s->flag[0] = field_bool(field_get(f, "strip_left"), false);
    s->flag[1] = field_bool(field_get(f, "strip_right"), false);
    return IG_OK;
}

static ig_status prepend_read(step *s, field f) { return content_read(s, field_get(f, "prepend")); }

static const step_kind kinds[] = {
    {"BertNormalizer", {0}, bert_run, bert_read},
    {"NFD", {false, false}, form_run, NULL},
    {"NFKD", {true, false}, form_run, NULL},
    {"NFC", {false, true}, form_run, NULL},
    {"NFKC", {true, true}, form_run, NULL},
    {"Lowercase", {0}, lowercase_run, NULL},
    {"StripAccents", {0}, accents_run, NULL},
    {"Strip", {0}, strip_run, strip_read},
    {"Replace", {0}, replace_run, replace_read},
    {"Prepend", {0}, prepend_run, prepend_read},
    {"Nmt", {0}, nmt_run, NULL},
    {"ByteLevel", {0}, bytes_run, NULL},
    {"Precompiled", {0}, charsmap_step, charsmap_read},
};

static ig_status steps_read(void *context, json_text key, field f)
{
    normalizer *n = context;
    (void)key;
    const field type = field_get(f, "type");
    if (field_is(type, "Sequence"))
        return field_each(field_get(f, "normalizers"), steps_read, n);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (field_is(type, kinds[i].name)) {
            step *s = step_add(n, &kinds[i]);
            if (!s)
                return error_waiting(IG_ERR_MEMORY);
            return kinds[i].read ? kinds[i].read(s, f) : IG_OK;
        }
    return field_refuse("normalizer", type);
}

normalizer *normalizer_new(field config)
{
    normalizer *n = memory_new(sizeof *n);
    if (!n || !field_given(config) || steps_read(n, (json_text){0}, config) == IG_OK)
        return n;
    normalizer_free(n);
    return NULL;
}

bool normalizer_is_bert(const normalizer *n)
{
    if (n->n != 1 || n->steps[0].kind->run != bert_run)
        return false;
    const bool *flag = n->steps[0].flag;
    return flag[0] && flag[1] && flag[2] && flag[3];
}

void normalizer_free(normalizer *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->n; i++) {
        regex_free(n->steps[i].pattern);
        memory_free(n->steps[i].content);
        charsmap_free(n->steps[i].map);
    }
    memory_free(n->steps);
    memory_free(n);
}
