/* Pre-tokenizers: see split.h. A sequence is flattened into a list of rules. Each rule cuts pieces, and some rules also
 * rewrite them. */
#include "lib/text/split.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/charsmap.h"
#include "lib/text/normalize.h"
#include "lib/text/unicode.h"

#include <string.h>

/* How the matches of a pattern are treated. */
typedef enum behavior {
    REMOVED,
    ISOLATED,
    MERGED_WITH_PREVIOUS,
    MERGED_WITH_NEXT,
    CONTIGUOUS
} behavior;

typedef enum rule_kind {
    RULE_FLAGS,   /* single code points with one of the flags */
    RULE_RUNE,    /* one code point */
    RULE_PATTERN, /* a regular expression */
    RULE_WORDS,   /* runs of word characters, and runs of other characters that are not blank */
    RULE_BYTES,   /* code points become bytes */
    RULE_METASPACE,
    RULE_PREFIX_SPACE,
    RULE_FIXED, /* pieces of `rune` code points */
} rule_kind;

enum { RULES_MOST = 256 };
enum { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER };

typedef struct rule {
    rule_kind kind;
    behavior behavior;
    unsigned flags;
    uint32_t rune; /* for a metaspace: the replacement */
    regex *pattern;
    bool inverted;
    int prepend; /* PREPEND_ALWAYS and so on */
} rule;

struct splitter {
    rule *rules;
    int n;
    bool bert;
    field prefix_space; /* see splitter_new */
};

/* ---- pieces --------------------------------------------------------------------------------- */

void pieces_add(pieces *p, size_t first, size_t count, int32_t id)
{
    if (count && LIST_RESERVE(p, 1))
        p->at[p->n++] = (piece){(uint32_t)first, (uint32_t)count, id};
}

void pieces_free(pieces *p) { LIST_FREE(p); }

void cut_text_free(cut_text *t)
{
    aligned_free(&t->text);
    aligned_free(&t->spare);
    pieces_free(&t->list);
    pieces_free(&t->spare_list);
    regex_scratch_free(&t->regex);
}

/* ---- cutting -------------------------------------------------------------------------------- */

/* Finds the next match of the rule in a piece at or after `at`; false if there is none. */
static bool rule_find(const rule *r, const rune *chars, size_t n, size_t at, regex_scratch *s,
                      size_t *start, size_t *end)
{
    if (r->kind == RULE_PATTERN)
        return regex_find(r->pattern, chars, n, at, s, start, end);
    if (r->kind == RULE_WORDS) {
        while (at < n && unicode_flags(chars[at].c) & UNICODE_SPACE)
            at++;
        *start = at;
        const unsigned word = at < n ? unicode_flags(chars[at].c) & UNICODE_WORD : 0;
        while (at < n && (unicode_flags(chars[at].c) & (UNICODE_WORD | UNICODE_SPACE)) == word)
            at++;
        *end = at;
        return at > *start;
    }
    for (size_t i = at; i < n; i++)
        if (r->kind == RULE_RUNE ? chars[i].c == r->rune : unicode_flags(chars[i].c) & r->flags) {
            *start = i;
            *end = i + 1;
            return true;
        }
    return false;
}

/* The pieces that a rule has cut from one piece so far. */
typedef struct cutter {
    const rule *r;
    pieces *out;
    size_t first;  /* pieces of this text in out begin here */
    bool previous; /* the last part is a match */
} cutter;

/* Adds the next part: matches and the text between them come in order. */
static void cut(cutter *k, size_t start, size_t end, bool matched)
{
    const behavior b = k->r->behavior;
    matched = matched != k->r->inverted;
    const bool joins = b == MERGED_WITH_PREVIOUS ? matched && !k->previous
                       : b == MERGED_WITH_NEXT   ? !matched && k->previous
                                                 : b == CONTIGUOUS && matched == k->previous;
    if (joins && k->out->n > k->first)
        k->out->at[k->out->n - 1].count += (uint32_t)(end - start);
    else if (b != REMOVED || !matched)
        pieces_add(k->out, start, end - start, -1);
    k->previous = matched;
}

static void piece_cut(const rule *r, const aligned *chars, piece p, regex_scratch *s, pieces *out)
{
    cutter k = {.r = r, .out = out, .first = out->n};
    const rune *runes = chars->at + p.first;
    size_t at = 0, from = 0, start = 0, end = 0;
    while (from <= p.count && rule_find(r, runes, p.count, from, s, &start, &end)) {
        if (start > at)
            cut(&k, p.first + at, p.first + start, false);
        if (end > start)
            cut(&k, p.first + start, p.first + end, true);
        else if (r->behavior == CONTIGUOUS)
            k.previous = !r->inverted;
        at = end;
        from = end > start ? end : end + 1;
    }
    if (at < p.count)
        cut(&k, p.first + at, p.first + p.count, false);
}

static void rule_cut(const rule *r, cut_text *t)
{
    t->spare_list.n = 0;
    for (size_t i = 0; i < t->list.n; i++) {
        const piece p = t->list.at[i];
        if (p.id >= 0) {
            pieces_add(&t->spare_list, p.first, p.count, p.id);
        } else if (r->kind == RULE_FIXED) {
            for (uint32_t at = 0; at < p.count; at += r->rune)
                pieces_add(&t->spare_list, p.first + at,
                           p.count - at < r->rune ? p.count - at : r->rune, -1);
        } else {
            piece_cut(r, &t->text, p, &t->regex, &t->spare_list);
        }
    }
    const pieces list = t->list;
    t->list = t->spare_list;
    t->spare_list = list;
    t->list.failed |= list.failed;
}

/* ---- rewriting ------------------------------------------------------------------------------ */

static void piece_rewrite(const rule *r, const rune *from, size_t n, aligned *to)
{
    const rune first = n ? from[0] : (rune){0};
    if (r->kind == RULE_BYTES) {
        charsmap_bytes(from, n, to);
        return;
    }
    const uint32_t mark = r->kind == RULE_METASPACE ? r->rune : ' ';
    const bool has_mark = n && (first.c == mark || first.c == ' ');
    const bool wanted =
        r->prepend == PREPEND_ALWAYS || (r->prepend == PREPEND_FIRST && first.start == 0);
    if (n && wanted && !has_mark)
        aligned_add(to, (rune){mark, first.start, first.end});
    for (size_t i = 0; i < n; i++)
        aligned_add(to, (rune){from[i].c == ' ' ? mark : from[i].c, from[i].start, from[i].end});
}

static void rule_rewrite(const rule *r, cut_text *t)
{
    t->spare.n = 0;
    t->spare.most = t->text.most;
    for (size_t i = 0; i < t->list.n; i++) {
        piece *p = &t->list.at[i];
        const size_t first = t->spare.n;
        if (p->id >= 0)
            aligned_append(&t->spare, t->text.at + p->first, p->count);
        else
            piece_rewrite(r, t->text.at + p->first, p->count, &t->spare);
        p->first = (uint32_t)first;
        p->count = (uint32_t)(t->spare.n - first);
    }
    const aligned chars = t->text;
    t->text = t->spare;
    t->spare = chars;
    t->text.failed |= chars.failed || t->text.n > t->text.most;
    if (t->text.failed) /* ig_fail keeps a pending error */
        ig_fail(IG_ERR_UNSUPPORTED,
                "the pre-tokenizers of the tokenizer make more than %zu characters of a text; "
                "remove some of them from tokenizer.json",
                t->text.most);
}

void splitter_run(const splitter *s, cut_text *t)
{
    for (int i = 0; i < s->n && !t->text.failed; i++) {
        const rule *r = &s->rules[i];
        if (r->kind == RULE_BYTES || r->kind == RULE_METASPACE || r->kind == RULE_PREFIX_SPACE)
            rule_rewrite(r, t);
        else
            rule_cut(r, t);
    }
}

/* ---- reading the configuration -------------------------------------------------------------- */

/* Adds a rule, and takes over its pattern. */
static ig_status rule_add(splitter *s, rule r)
{
    rule *rules =
        s->n < RULES_MOST ? memory_resize(s->rules, (size_t)(s->n + 1) * sizeof *rules) : NULL;
    if (rules) {
        s->rules = rules;
        rules[s->n++] = r;
        return IG_OK;
    }
    regex_free(r.pattern);
    if (s->n == RULES_MOST)
        FAIL(IG_ERR_UNSUPPORTED, "there are more than %d pre-tokenizers; remove some",
             RULES_MOST / 2);
    return error_waiting(IG_ERR_MEMORY);
}

static ig_status flags_add(splitter *s, unsigned flags, behavior b)
{
    return rule_add(s, (rule){.kind = RULE_FLAGS, .flags = flags, .behavior = b});
}

static ig_status behavior_read(field f, behavior *out)
{
    static const char *const names[] = {"Removed",        "Isolated",   "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous", NULL};
    int i = ISOLATED;
    TRY(field_choice(field_get(f, "behavior"), "pre_tokenizer.behavior", names, &i));
    *out = (behavior)i;
    return IG_OK;
}

static ig_status bert_read(splitter *s, field f)
{
    (void)f;
    s->bert = s->n == 0;
    TRY(flags_add(s, UNICODE_SPACE, REMOVED));
    return flags_add(s, UNICODE_PUNCTUATION, ISOLATED);
}

static ig_status whitespace_read(splitter *s, field f)
{
    (void)f;
    return rule_add(s, (rule){.kind = RULE_WORDS, .behavior = REMOVED, .inverted = true});
}

static ig_status whitespace_split_read(splitter *s, field f)
{
    (void)f;
    return flags_add(s, UNICODE_SPACE, REMOVED);
}

/* The word pattern of GPT-2. */
static ig_status words_add(splitter *s)
{
    static const char words[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    regex *pattern = regex_new(words, sizeof words - 1);
    if (!pattern)
        return error_waiting(IG_ERR_MEMORY);
    return rule_add(s, (rule){.kind = RULE_PATTERN, .behavior = ISOLATED, .pattern = pattern});
}

static ig_status byte_level_read(splitter *s, field f)
{
    const bool prefix = field_bool(field_get(f, "add_prefix_space"), true);
    if (field_bool(s->prefix_space, prefix))
        TRY(rule_add(s, (rule){.kind = RULE_PREFIX_SPACE}));
    if (field_bool(field_get(f, "use_regex"), true))
        TRY(words_add(s));
    return rule_add(s, (rule){.kind = RULE_BYTES});
}

static ig_status metaspace_read(splitter *s, field f)
{
    static const char *const schemes[] = {"always", "first", "never", NULL};
    const bool prefix = field_bool(field_get(f, "add_prefix_space"), true);
    int prepend = prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    uint32_t mark = 0x2581;
    TRY(field_rune(field_get(f, "replacement"), "pre_tokenizer.replacement", &mark));
    TRY(field_choice(field_get(f, "prepend_scheme"), "pre_tokenizer.prepend_scheme", schemes,
                     &prepend));
    if (!prefix && prepend != PREPEND_NEVER)
        FAIL(IG_ERR_FORMAT, "pre_tokenizer.add_prefix_space contradicts prepend_scheme");
    TRY(rule_add(s, (rule){.kind = RULE_METASPACE, .rune = mark, .prepend = prepend}));
    if (!field_bool(field_get(f, "split"), true))
        return IG_OK;
    return rule_add(s, (rule){.kind = RULE_RUNE, .rune = mark, .behavior = MERGED_WITH_NEXT});
}

static ig_status punctuation_read(splitter *s, field f)
{
    behavior b;
    TRY(behavior_read(f, &b));
    return flags_add(s, UNICODE_PUNCTUATION, b);
}

static ig_status digits_read(splitter *s, field f)
{
    const bool single = field_bool(field_get(f, "individual_digits"), false);
    return flags_add(s, UNICODE_NUMBER, single ? ISOLATED : CONTIGUOUS);
}

static ig_status split_read(splitter *s, field f)
{
    rule r = {.kind = RULE_PATTERN, .inverted = field_bool(field_get(f, "invert"), false)};
    TRY(behavior_read(f, &r.behavior));
    TRY(pattern_read(field_get(f, "pattern"), &r.pattern));
    return rule_add(s, r);
}

static ig_status delimiter_read(splitter *s, field f)
{
    rule r = {.kind = RULE_RUNE};
    TRY(field_rune(field_get(f, "delimiter"), "pre_tokenizer.delimiter", &r.rune));
    return rule_add(s, r);
}

static ig_status fixed_read(splitter *s, field f)
{
    const int64_t length = field_int(field_get(f, "length"), 5);
    if (length < 1)
        FAIL(IG_ERR_FORMAT, "pre_tokenizer.length is %lld; expected 1 or more", (long long)length);
    return rule_add(
        s, (rule){.kind = RULE_FIXED, .rune = length > INT32_MAX ? INT32_MAX : (uint32_t)length});
}

static const struct {
    const char *name;
    ig_status (*read)(splitter *s, field f);
} kinds[] = {
    {"BertPreTokenizer", bert_read},
    {"Whitespace", whitespace_read},
    {"WhitespaceSplit", whitespace_split_read},
    {"ByteLevel", byte_level_read},
    {"Metaspace", metaspace_read},
    {"Punctuation", punctuation_read},
    {"Digits", digits_read},
    {"Split", split_read},
    {"CharDelimiterSplit", delimiter_read},
    {"FixedLength", fixed_read},
};

static ig_status rules_read(void *context, json_text key, field f)
{
    splitter *s = context;
    const field type = field_get(f, "type");
    (void)key;
    if (field_is(type, "Sequence"))
        return field_each(field_get(f, "pretokenizers"), rules_read, s);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (field_is(type, kinds[i].name))
            return kinds[i].read(s, f);
    return field_refuse("pre_tokenizer", type);
}

splitter *splitter_new(field config, field prefix_space)
{
    splitter *s = memory_new(sizeof *s);
    if (s && field_is(field_get(config, "type"), "ByteLevel"))
        s->prefix_space = prefix_space;
    if (!s || !field_given(config) || rules_read(s, (json_text){0}, config) == IG_OK)
        return s;
    splitter_free(s);
    return NULL;
}

bool splitter_is_bert(const splitter *s) { return s->bert && s->n == 2; }

void splitter_free(splitter *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++)
        regex_free(s->rules[i].pattern);
    memory_free(s->rules);
    memory_free(s);
}
