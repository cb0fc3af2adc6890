/* Functions on strings of chat templates, as Python has them: see run.h. */
#include "lib/chat/run.h"

#include "lib/text/unicode.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool render_unicode(render *r)
{
    if (!r->failed && unicode_load() != IG_OK)
        r->failed = true;
    return !r->failed;
}

/* ---- case ----------------------------------------------------------------------------------- */

static void rune_add(render *r, builder *b, uint32_t c, bool from_data)
{
    unsigned char bytes[4];
    builder_bytes(r, b, (const char *)bytes, unicode_write(c, bytes), from_data);
}

static void rune_lower(render *r, builder *b, uint32_t c, bool from_data)
{
    uint32_t out[2] = {c, 0};
    int n = 1;
    if (c < 128)
        out[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
    else if (render_unicode(r))
        n = unicode_lower(c, out);
    for (int i = 0; i < n; i++)
        rune_add(r, b, out[i], from_data);
}

/* The sharp s is the only letter of common texts whose upper case is two letters. */
static void rune_upper(render *r, builder *b, uint32_t c, bool from_data)
{
    if (c == 0xdf) {
        rune_add(r, b, 'S', from_data);
        c = 'S';
    } else if (c < 128) {
        c = c >= 'a' && c <= 'z' ? c - 32 : c;
    } else if (render_unicode(r)) {
        c = unicode_upper(c);
    }
    rune_add(r, b, c, from_data);
}

static bool is_letter(render *r, uint32_t c)
{
    if (c < 128)
        return (c | 32) >= 'a' && (c | 32) <= 'z';
    return render_unicode(r) && unicode_flags(c) & UNICODE_LETTER;
}

typedef enum letter_case { CASE_LOWER, CASE_UPPER, CASE_CAPITAL, CASE_TITLE } letter_case;

static string cased(render *r, string s, letter_case how)
{
    builder b = {0};
    bool begins = true;
    size_t length;
    for (size_t i = 0; i < s.n && !r->failed; i += length) {
        const uint32_t c = string_rune(s, i, &length);
        const bool from = s.from && s.from[i];
        if (how == CASE_UPPER || (how >= CASE_CAPITAL && begins))
            rune_upper(r, &b, c, from);
        else
            rune_lower(r, &b, c, from);
        begins = how == CASE_TITLE && !is_letter(r, c);
    }
    return builder_string(&b);
}

string string_lower(render *r, string s) { return cased(r, s, CASE_LOWER); }
string string_upper(render *r, string s) { return cased(r, s, CASE_UPPER); }

string string_capital(render *r, string s) { return cased(r, s, CASE_CAPITAL); }
string string_title(render *r, string s) { return cased(r, s, CASE_TITLE); }

/* ---- searching ------------------------------------------------------------------------------ */

size_t string_find(string s, string part, size_t from)
{
    if (from > s.n || part.n > s.n - from)
        return SIZE_MAX;
    if (part.n == 0)
        return from;
    const char *at = memmem(s.at + from, s.n - from, part.at, part.n);
    return at ? (size_t)(at - s.at) : SIZE_MAX;
}

string string_replace(render *r, string s, string old, string new, int64_t most)
{
    builder b = {0};
    size_t done = 0;
    if (old.n == 0) { /* between all characters */
        size_t length;
        for (; (most < 0 || most > 0) && !r->failed; most -= most > 0) {
            builder_add(r, &b, new);
            if (done == s.n)
                return builder_string(&b);
            string_rune(s, done, &length);
            builder_add(r, &b, string_cut(s, done, done + length));
            done += length;
        }
    }
    for (size_t at;
         old.n && most != 0 && !r->failed && (at = string_find(s, old, done)) != SIZE_MAX; most--) {
        builder_add(r, &b, string_cut(s, done, at));
        builder_add(r, &b, new);
        done = at + old.n;
    }
    if (done == 0 && b.n == 0)
        return s;
    builder_add(r, &b, string_cut(s, done, s.n));
    return builder_string(&b);
}

static bool is_stripped(string s, size_t at, const value *characters)
{
    size_t length, other;
    const uint32_t c = string_rune(s, at, &length);
    if (!characters)
        return rune_is_space(c);
    for (size_t i = 0; i < characters->as.s.n; i += other)
        if (string_rune(characters->as.s, i, &other) == c)
            return true;
    return false;
}

string string_strip(render *r, string s, const value *characters, bool left, bool right)
{
    size_t first = 0, last = s.n, length;
    if (characters && (characters->kind == VALUE_MISSING || characters->kind == VALUE_NONE))
        characters = NULL;
    if (characters && characters->kind != VALUE_STRING) {
        render_fail(r, "the characters to strip are not a string");
        return s;
    }
    while (left && first < last && is_stripped(s, first, characters)) {
        string_rune(s, first, &length);
        first += length;
    }
    while (right && last > first) {
        size_t at = last - 1;
        while (at > first && ((unsigned char)s.at[at] & 0xc0) == 0x80)
            at--;
        if (!is_stripped(s, at, characters))
            break;
        last = at;
    }
    return string_cut(s, first, last);
}

list *string_lines(render *r, string s, bool keep_ends)
{
    list *l = list_new(r, 1, LIST_PLAIN);
    builder all = {0}; /* of values */
    size_t begin = 0, length;
    for (size_t i = 0; i < s.n && l; i += length) {
        const uint32_t c = string_rune(s, i, &length);
        if (!rune_is_line_end(c) && i + length < s.n)
            continue;
        const bool ends = rune_is_line_end(c);
        if (c == '\r' && i + 1 < s.n && s.at[i + 1] == '\n')
            length = 2;
        const value v = value_string(string_cut(s, begin, keep_ends || !ends ? i + length : i));
        builder_bytes(r, &all, (const char *)&v, sizeof v, false);
        begin = i + length;
    }
    if (!l || r->failed)
        return NULL;
    l->n = all.n / sizeof(value);
    l->at = all.n ? (value *)(void *)all.at : l->at;
    return l;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Copies a number without spaces around it and without '_' between digits. False if it is too long or not ASCII. */
static bool number_copy(string s, char out[128])
{
    size_t first = 0, last = s.n, n = 0;
    while (first < last && rune_is_space((unsigned char)s.at[first]) &&
           (unsigned char)s.at[first] < 128)
        first++;
    while (last > first && rune_is_space((unsigned char)s.at[last - 1]) &&
           (unsigned char)s.at[last - 1] < 128)
        last--;
    for (size_t i = first; i < last; i++) {
        const char c = s.at[i];
        if (n == 127 || c <= ' ' || c > '~')
            return false;
        const bool between = i > first && i + 1 < last && s.at[i - 1] >= '0' &&
                             s.at[i - 1] <= '9' && s.at[i + 1] >= '0' && s.at[i + 1] <= '9';
        if (c == '_' && !between)
            return false;
        if (c != '_')
            out[n++] = c;
    }
    out[n] = 0;
    return n > 0;
}

bool string_int(string s, int base, int64_t *out)
{
    char plain[128], *end = NULL;
    if (!number_copy(s, plain))
        return false;
    const char *digits = plain + (*plain == '+' || *plain == '-');
    if (base == 10 && (*digits < '0' || *digits > '9'))
        return false;
    errno = 0;
    *out = strtoll(plain, &end, base);
    return end > plain && !*end && errno == 0;
}

bool string_float(string s, double *out)
{
    char plain[128], *end = NULL;
    if (!number_copy(s, plain) || strpbrk(plain, "xXpP("))
        return false;
    *out = strtod(plain, &end);
    return !*end;
}

/* ---- formats -------------------------------------------------------------------------------- */

/* One conversion of the operator %: [flags][width][.precision]letter, copied to spec. Returns its length; 0: not valid. */
static size_t conversion_read(string f, size_t at, char spec[32])
{
    size_t n = 0, i = at;
    spec[n++] = '%';
    while (i < f.n && n < 8 && strchr("-+ 0#", f.at[i]) && f.at[i])
        spec[n++] = f.at[i++];
    while (i < f.n && n < 20 && ((f.at[i] >= '0' && f.at[i] <= '9') || f.at[i] == '.'))
        spec[n++] = f.at[i++];
    spec[n] = 0;
    return i < f.n ? i - at : SIZE_MAX;
}

static void number_format(render *r, builder *b, const char *spec, char letter, value v)
{
    char format[48], shown[512];
    int64_t i = 0;
    const bool integral = strchr("dixXo", letter) != NULL;
    if (!value_is_number(v)) {
        render_fail(r, "'%%%c' needs a number", letter);
        return;
    }
    if (v.kind == VALUE_FLOAT && integral)
        i = v.as.f > -9e18 && v.as.f < 9e18 ? (int64_t)v.as.f : 0;
    else
        value_as_int(v, &i);
    snprintf(format, sizeof format, "%s%s%c", spec, integral ? "ll" : "", letter);
    if (integral)
        snprintf(shown, sizeof shown, format, (long long)i);
    else
        snprintf(shown, sizeof shown, format, value_as_float(v));
    builder_text(r, b, shown);
}

static void text_format(render *r, builder *b, const char *spec, value v, bool repr)
{
    builder shown = {0};
    const char *dot = strchr(spec, '.');
    int64_t width = 0;
    const bool left = strchr(spec, '-') != NULL;
    if (repr)
        builder_repr(r, &shown, v);
    else
        builder_value(r, &shown, v);
    string s = builder_string(&shown);
    if (dot)
        s = string_cut(s, 0, string_byte(s, (size_t)atoi(dot + 1)));
    width = atoi(spec + strcspn(spec, "123456789.")) - (int64_t)string_count(s);
    for (int64_t i = 0; i < width && !left; i++)
        builder_text(r, b, " ");
    builder_add(r, b, s);
    for (int64_t i = 0; i < width && left && render_step(r, 1); i++)
        builder_text(r, b, " ");
}

value value_format(render *r, string f, const arguments *all)
{
    builder b = {0};
    int used = 0;
    size_t done = 0;
    for (size_t at; (at = string_find(f, string_of("%"), done)) != SIZE_MAX && !r->failed;) {
        char spec[32];
        builder_add(r, &b, string_cut(f, done, at));
        value v = value_none();
        size_t begin = at + 1;
        const size_t close =
            begin < f.n && f.at[begin] == '(' ? string_find(f, string_of(")"), begin) : SIZE_MAX;
        const bool named = close != SIZE_MAX && all->n == 1 && all->at[0].kind == VALUE_DICT;
        if (named) {
            v = value_item(r, all->at[0], value_string(string_cut(f, begin + 1, close)));
            begin = close + 1;
        }
        const size_t length = conversion_read(f, begin, spec);
        const char letter = length == SIZE_MAX ? 0 : f.at[begin + length];
        done = begin + length + 1;
        if (letter == '%') {
            builder_text(r, &b, "%");
            continue;
        }
        if (!letter || !strchr("srdixXofFeEgG", letter) || strlen(spec) > 12 ||
            atoi(spec + strcspn(spec, "123456789")) > 400)
            return render_fail(r, "the format '%.60s' is not valid or not supported", f.at + at);
        if (!named && used == all->n)
            return render_fail(r, "the format needs more than %d values", all->n);
        v = named ? v : all->at[used++];
        if (letter == 's' || letter == 'r')
            text_format(r, &b, spec, v, letter == 'r');
        else
            number_format(r, &b, spec, letter, v);
    }
    if (used < all->n &&
        !(all->n == 1 && (all->at[0].kind == VALUE_DICT || all->at[0].kind == VALUE_LIST)))
        return render_fail(r, "the format has fewer places than values");
    builder_add(r, &b, string_cut(f, done, f.n));
    return value_string(builder_string(&b));
}
