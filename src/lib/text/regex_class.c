/* Regular expressions: classes and escapes of a pattern, and the primitives of its parser. See regex_code.h. */
#include "lib/text/regex_code.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

void compiler_refuse(compiler *k, const char *why)
{
    if (!k->failed && !ig_failed())
        ig_fail(IG_ERR_UNSUPPORTED, "the regular expression '%.*s' cannot be used: %s",
                (int)(k->bytes < 200 ? k->bytes : 200), k->pattern, why);
    k->failed = true;
}

bool compiler_more(const compiler *k) { return k->at < k->end && !k->failed; }
bool compiler_next_is(const compiler *k, uint32_t c) { return compiler_more(k) && *k->at == c; }

bool compiler_take(compiler *k, const char *word)
{
    const size_t n = strlen(word);
    if (k->failed || (size_t)(k->end - k->at) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (k->at[i] != (unsigned char)word[i])
            return false;
    k->at += n;
    return true;
}

/* ---- classes -------------------------------------------------------------------------------- */

/* Adds a class; returns its index. */
int compiler_class_new(compiler *k)
{
    regex *r = k->r;
    rune_class *classes =
        k->failed ? NULL : memory_resize(r->classes, (size_t)(r->n_classes + 1) * sizeof *classes);
    if (!classes) {
        k->failed = true;
        return 0;
    }
    r->classes = classes;
    classes[r->n_classes] = (rune_class){.folded = k->folded, .also = -1};
    return r->n_classes++;
}

void compiler_class_add(compiler *k, int class, item i)
{
    rune_class *s = k->failed ? NULL : &k->r->classes[class];
    item *items = s ? memory_resize(s->items, (size_t)(s->n + 1) * sizeof *items) : NULL;
    if (!items) {
        k->failed = true;
        return;
    }
    s->items = items;
    items[s->n++] = i;
}

void compiler_class_finish(compiler *k, int class)
{
    if (!k->failed && k->r->classes[class].also >= 0)
        compiler_class_finish(k, k->r->classes[class].also);
    for (uint32_t c = 0; c < 128 && !k->failed; c++)
        if (regex_class_test(k->r, (uint32_t) class, c))
            k->r->classes[class].ascii[c / 32] |= 1u << c % 32;
}

/* The set of categories that \p{L}, \p{Lu} and so on name, as bits. */
static uint32_t categories_named(const char *name)
{
    static const char names[] = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";
    uint32_t set = 0;
    for (int i = 0; i < 30; i++)
        if (names[2 * i] == name[0] && (!name[1] || (names[2 * i + 1] == name[1] && !name[2])))
            set |= 1u << i;
    return set;
}

/* Adds a class with the code points of a script; -1 if the script is not known. */
static int script_named(compiler *k, const char *name)
{
    static const struct {
        const char *name;
        uint32_t first, last;
    } rows[] = {
#define ROW(name, first, last) {#name, first, last},
#include "lib/text/unicode_script.def"
#undef ROW
    };
    int class = -1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !k->failed; i++)
        if (strcmp(rows[i].name, name) == 0) {
            class = class < 0 ? compiler_class_new(k) : class;
            compiler_class_add(k, class, (item){ITEM_RANGE, false, rows[i].first, rows[i].last});
        }
    if (class >= 0)
        compiler_class_finish(k, class);
    return class;
}

static bool property_parse(compiler *k, bool negated, item *out)
{
    char name[16] = "";
    size_t n = 0;
    if (compiler_next_is(k, '{')) {
        k->at++;
        if (compiler_next_is(k, '^')) {
            negated = !negated;
            k->at++;
        }
        while (compiler_more(k) && *k->at != '}' && n < sizeof name - 1 && *k->at < 128)
            name[n++] = (char)*k->at++;
        if (!compiler_take(k, "}"))
            n = 0;
    } else if (compiler_more(k)) {
        name[n++] = (char)(*k->at < 128 ? *k->at : 0);
        k->at++;
    }
    const uint32_t categories = n ? categories_named(name) : 0;
    const int script = n && !categories ? script_named(k, name) : -1;
    *out = categories ? (item){ITEM_CATEGORIES, negated, categories, 0}
                      : (item){ITEM_CLASS, negated, (uint32_t)script, 0};
    if (!categories && script < 0)
        compiler_refuse(
            k, "it names a property other than a general category, Han, Hangul, Hiragana or "
               "Katakana");
    return !k->failed;
}

/* Parses an escape after its backslash: a class (returns true; in out) or one code point (false; in out->low). */
bool compiler_escape(compiler *k, item *out)
{
    static const struct {
        char name, value;
    } controls[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'},
                    {'v', '\v'}, {'a', '\a'}, {'e', 27}};
    if (!compiler_more(k)) {
        compiler_refuse(k, "it ends with a backslash");
        return false;
    }
    const uint32_t c = *k->at++;
    const uint32_t lower = c | 0x20;
    if (c < 128 && (lower == 's' || lower == 'w')) {
        *out = (item){lower == 's' ? ITEM_SPACE : ITEM_WORD, c != lower, 0, 0};
        return true;
    }
    if (c < 128 && lower == 'd') {
        *out = (item){ITEM_CATEGORIES, c != lower, categories_named("Nd"), 0};
        return true;
    }
    if (c == 'p' || c == 'P')
        return property_parse(k, c == 'P', out);
    *out = (item){ITEM_RANGE, false, c, c};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        if (c == (unsigned char)controls[i].name) {
            out->low = out->high = (unsigned char)controls[i].value;
            return false;
        }
    if (c == 'x' || c == 'u') {
        const bool braces = compiler_next_is(k, '{');
        uint32_t value = 0;
        int digits = 0;
        k->at += braces;
        while (compiler_more(k) && digits < (braces ? 6 : c == 'x' ? 2 : 4)) {
            const uint32_t d = *k->at, l = d | 0x20;
            if (d >= '0' && d <= '9')
                value = value * 16 + (d - '0');
            else if (l >= 'a' && l <= 'f')
                value = value * 16 + (l - 'a' + 10);
            else
                break;
            k->at++;
            digits++;
        }
        if (digits == 0 || (braces && !compiler_take(k, "}")))
            compiler_refuse(k, "it has a code point without digits");
        if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
            compiler_refuse(k, "it has a code point that Unicode does not have");
        out->low = out->high = value;
        return false;
    }
    if (c < 128 && ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9')))
        compiler_refuse(k, "it has an escape that is not supported");
    return false;
}

/* Parses the rest of a class up to its end or "&&": single code points, ranges, and classes. */
static void class_items_parse(compiler *k, int class, bool first)
{
    for (; compiler_more(k) && (first || *k->at != ']'); first = false) {
        item low = {ITEM_RANGE, false, *k->at, *k->at};
        bool is_class = false;
        if (k->end - k->at > 1 && k->at[0] == '&' && k->at[1] == '&')
            return;
        k->at++;
        if (low.low == '[') {
            if (compiler_next_is(k, ':'))
                compiler_refuse(k, "it has a class such as [:alpha:]");
            low = (item){ITEM_CLASS, false, (uint32_t)compiler_class(k), 0};
            is_class = true;
        } else if (low.low == '\\') {
            is_class = compiler_escape(k, &low);
            if (is_class && low.kind == ITEM_WORD)
                low.kind = ITEM_CLASS_WORD;
        }
        if (!is_class && k->end - k->at > 1 && k->at[0] == '-' && k->at[1] != ']') {
            item high = {ITEM_RANGE, false, k->at[1], k->at[1]};
            k->at += 2;
            if (high.low == '[' || (high.low == '\\' && compiler_escape(k, &high)))
                compiler_refuse(k, "a range ends with a class");
            low.high = high.low;
            if (low.high < low.low)
                compiler_refuse(k, "a range in a class ends before it begins");
        }
        compiler_class_add(k, class, low);
    }
}

/* Parses a class after its '['; returns its index. */
int compiler_class(compiler *k)
{
    const int class = compiler_class_new(k);
    if (++k->depth > REGEX_DEPTH_MOST)
        compiler_refuse(k, "its classes are nested too deeply");
    if (compiler_next_is(k, '^') && !k->failed) {
        k->r->classes[class].negated = true;
        k->at++;
    }
    class_items_parse(k, class, true); /* a ']' right after '[' is literal */
    for (int last = class; compiler_take(k, "&&");) {
        const int also = compiler_class_new(k);
        class_items_parse(k, also, false);
        if (!k->failed)
            k->r->classes[last].also = also;
        last = also;
    }
    k->depth--;
    if (!compiler_take(k, "]"))
        compiler_refuse(k, "a class is not closed");
    compiler_class_finish(k, class);
    return class;
}
