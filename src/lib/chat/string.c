/* Strings of chat templates: building, showing values, characters. See value.h. */
#include "lib/chat/value.h"

#include "lib/text/unicode.h"

#include "lib/chat/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- characters ----------------------------------------------------------------------------- */

bool string_ascii(string s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] >= 128)
            return false;
    return true;
}

size_t string_count(string s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return n;
}

size_t string_byte(string s, size_t i)
{
    size_t at = 0;
    for (; at < s.n; at++)
        if (((unsigned char)s.at[at] & 0xc0) != 0x80 && i-- == 0)
            break;
    return at;
}

uint32_t string_rune(string s, size_t i, size_t *length)
{
    uint32_t c;
    *length = unicode_read((const unsigned char *)s.at + i, s.n - i, &c);
    return c;
}

bool rune_is_line_end(uint32_t c)
{
    return (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

bool rune_is_space(uint32_t c)
{
    return (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* ---- building ------------------------------------------------------------------------------- */

static bool builder_grow(render *r, builder *b, size_t more)
{
    if (r->failed)
        return false;
    if (more <= b->room - b->n)
        return true;
    const size_t room = b->n + more + b->n / 2 + 64;
    char *at = render_get(r, room, 1);
    if (!at)
        return false;
    if (b->n)
        memcpy(at, b->at, b->n);
    b->at = at;
    b->room = room;
    return true;
}

/* Makes room for the origins of all bytes. */
static bool origins_grow(render *r, builder *b)
{
    if (b->from && b->room_from >= b->room)
        return true;
    unsigned char *from = render_get(r, b->room, 1);
    if (!from)
        return false;
    if (b->from)
        memcpy(from, b->from, b->n);
    b->from = from;
    b->room_from = b->room;
    return true;
}

static void builder_put(render *r, builder *b, const char *at, const unsigned char *from, size_t n,
                        bool all)
{
    render_step(r, (int64_t)n / 64);
    if (n == 0 || !builder_grow(r, b, n))
        return;
    if ((from || all || b->from) && !origins_grow(r, b))
        return;
    memcpy(b->at + b->n, at, n);
    if (from)
        memcpy(b->from + b->n, from, n);
    else if (b->from)
        memset(b->from + b->n, all, n);
    b->n += n;
}

void builder_add(render *r, builder *b, string s) { builder_put(r, b, s.at, s.from, s.n, false); }

void builder_bytes(render *r, builder *b, const char *at, size_t n, bool from_data)
{
    builder_put(r, b, at, NULL, n, from_data);
}

void builder_text(render *r, builder *b, const char *plain)
{
    builder_put(r, b, plain, NULL, strlen(plain), false);
}

string builder_string(const builder *b) { return (string){b->at ? b->at : "", b->from, b->n}; }

string string_join(render *r, string a, string b)
{
    builder all = {0};
    if (b.n == 0 || a.n == 0)
        return a.n ? a : b;
    builder_grow(r, &all, a.n + b.n);
    builder_add(r, &all, a);
    builder_add(r, &all, b);
    return builder_string(&all);
}

string string_escape(render *r, string s)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    builder b = {0};
    size_t done = 0;
    for (size_t i = 0; i < s.n; i++) {
        const char *found = s.at[i] ? strchr(special, s.at[i]) : NULL;
        if (!found)
            continue;
        builder_add(r, &b, string_cut(s, done, i));
        builder_text(r, &b, names[found - special]);
        done = i + 1;
    }
    if (done == 0)
        return s;
    builder_add(r, &b, string_cut(s, done, s.n));
    return builder_string(&b);
}

/* ---- showing -------------------------------------------------------------------------------- */

void float_show(double f, char out[FLOAT_BYTES])
{
    char digits[FLOAT_BYTES];
    int precision = 1;
    if (isnan(f) || isinf(f)) {
        snprintf(out, FLOAT_BYTES, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    do
        snprintf(digits, sizeof digits, "%.*e", precision - 1, f);
    while (strtod(digits, NULL) != f && precision++ < 17);
    const int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        const char *e = strchr(digits, 'e');
        snprintf(out, FLOAT_BYTES, "%.*se%c%02d", (int)(e - digits), digits,
                 exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    const int after = precision - 1 - exponent;
    snprintf(out, FLOAT_BYTES, "%.*f", after > 1 ? after : 1, f);
}

static bool is_printable(render *r, uint32_t c)
{
    if (c < 128)
        return c >= ' ' && c != 127;
    if (!render_unicode(r))
        return false;
    switch (unicode_category(c)) {
    case 0:                /* Cn */
    case 23:               /* Zs */
    case 24:               /* Zl */
    case 25:               /* Zp */
    case 26:               /* Cc */
    case 27:               /* Cf */
    case 28:               /* Cs */
    case 29: return false; /* Co */
    default: return true;
    }
}

static void string_repr(render *r, builder *b, string s)
{
    const bool single = s.n && memchr(s.at, '\'', s.n), twice = s.n && memchr(s.at, '"', s.n);
    const char quote = single && !twice ? '"' : '\'', ends[] = {quote, 0};
    size_t length;
    builder_text(r, b, ends);
    for (size_t i = 0; i < s.n && !r->failed; i += length) {
        const uint32_t c = string_rune(s, i, &length);
        const bool from = s.from && s.from[i];
        char name[16];
        if (c == (uint32_t)quote || c == '\\')
            snprintf(name, sizeof name, "\\%c", (int)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            snprintf(name, sizeof name, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (is_printable(r, c)) {
            builder_add(r, b, string_cut(s, i, i + length));
            continue;
        } else
            snprintf(name, sizeof name,
                     c < 0x100     ? "\\x%02x"
                     : c < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
                     (unsigned)c);
        builder_bytes(r, b, name, strlen(name), from);
    }
    builder_text(r, b, ends);
}

static void list_repr(render *r, builder *b, const list *l)
{
    static const char *const ends[][2] = {{"[", "]"},
                                          {"(", ")"},
                                          {"dict_keys([", "])"},
                                          {"dict_values([", "])"},
                                          {"dict_items([", "])"}};
    if (l->kind == LIST_RANGE) {
        char shown[80];
        snprintf(shown, sizeof shown,
                 l->step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)",
                 (long long)l->start, (long long)l->stop, (long long)l->step);
        builder_text(r, b, shown);
        return;
    }
    if (l->kind == LIST_ITERATOR) {
        render_fail(r, "an iterator cannot be shown; add the filter 'list'");
        return;
    }
    builder_text(r, b, ends[l->kind][0]);
    for (size_t i = 0; i < l->n && !r->failed; i++) {
        builder_text(r, b, i ? ", " : "");
        builder_repr(r, b, l->at[i]);
    }
    builder_text(r, b, l->kind == LIST_TUPLE && l->n == 1 ? "," : "");
    builder_text(r, b, ends[l->kind][1]);
}

static void dict_repr(render *r, builder *b, const dict *d)
{
    builder_text(r, b, "{");
    for (size_t i = 0; i < d->n && !r->failed; i++) {
        builder_text(r, b, i ? ", " : "");
        builder_repr(r, b, d->at[i].key);
        builder_text(r, b, ": ");
        builder_repr(r, b, d->at[i].item);
    }
    builder_text(r, b, "}");
}

static void scalar_show(render *r, builder *b, value v)
{
    char shown[FLOAT_BYTES];
    if (v.kind == VALUE_NONE || v.kind == VALUE_BOOL) {
        builder_text(r, b, v.kind == VALUE_NONE ? "None" : v.as.truth ? "True" : "False");
        return;
    }
    if (v.kind == VALUE_INT)
        snprintf(shown, sizeof shown, "%lld", (long long)v.as.i);
    else
        float_show(v.as.f, shown);
    builder_text(r, b, shown);
}

void builder_repr(render *r, builder *b, value v)
{
    if (!render_enter(r)) {
        render_leave(r);
        return;
    }
    switch (v.kind) {
    case VALUE_STRING:
        builder_text(r, b, v.safe ? "Markup(" : "");
        string_repr(r, b, v.as.s);
        builder_text(r, b, v.safe ? ")" : "");
        break;
    case VALUE_LIST: list_repr(r, b, v.as.list); break;
    case VALUE_NAMESPACE:
        builder_text(r, b, "<Namespace ");
        dict_repr(r, b, v.as.dict);
        builder_text(r, b, ">");
        break;
    case VALUE_DICT: dict_repr(r, b, v.as.dict); break;
    case VALUE_UNDEFINED: builder_text(r, b, "Undefined"); break;
    case VALUE_MACRO:
        builder_text(r, b, "<Macro ");
        if (v.as.macro->name.n)
            string_repr(r, b, v.as.macro->name);
        else
            builder_text(r, b, "anonymous");
        builder_text(r, b, ">");
        break;
    case VALUE_NONE:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT: scalar_show(r, b, v); break;
    default: render_fail(r, "a value of type '%s' cannot be shown", value_type(v));
    }
    render_leave(r);
}

void builder_value(render *r, builder *b, value v)
{
    if (v.kind == VALUE_STRING)
        builder_add(r, b, v.as.s);
    else if (v.kind == VALUE_UNDEFINED && v.forbidden)
        render_fail(r, "%.*s", (int)v.as.s.n, v.as.s.at);
    else if (v.kind != VALUE_UNDEFINED)
        builder_repr(r, b, v);
}

string value_show(render *r, value v)
{
    builder b = {0};
    if (v.kind == VALUE_STRING)
        return v.as.s;
    builder_value(r, &b, v);
    return builder_string(&b);
}
