/* Values of chat templates as JSON, and JSON as values: see run.h. */
#include "lib/chat/variables.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing -------------------------------------------------------------------------------- */

static void string_write(render *r, builder *b, string s, bool ascii)
{
    static const char named[] = "\"\\\n\r\t\f\b", letters[] = "\"\\nrtfb";
    size_t done = 0, length;
    builder_text(r, b, "\"");
    for (size_t i = 0; i < s.n && !r->failed; i += length) {
        const uint32_t c = string_rune(s, i, &length);
        const char *found = c && c < 128 ? strchr(named, (int)c) : NULL;
        char escape[16];
        if (found)
            snprintf(escape, sizeof escape, "\\%c", letters[found - named]);
        else if (c < ' ' || (ascii && c >= 127 && c < 0x10000))
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
        else if (ascii && c >= 0x10000)
            snprintf(escape, sizeof escape, "\\u%04x\\u%04x",
                     0xd800 + (unsigned)((c - 0x10000) >> 10),
                     0xdc00 + (unsigned)((c - 0x10000) & 0x3ff));
        else
            continue;
        builder_add(r, b, string_cut(s, done, i));
        builder_bytes(r, b, escape, strlen(escape), s.from && s.from[i]);
        done = i + length;
    }
    builder_add(r, b, string_cut(s, done, s.n));
    builder_text(r, b, "\"");
}

static void line_write(render *r, builder *b, const json_style *s, int level)
{
    if (!s->indented)
        return;
    builder_text(r, b, "\n");
    for (int i = 0; i < level; i++)
        builder_add(r, b, s->indent);
}

static void list_write(render *r, builder *b, const list *l, const json_style *s, int level)
{
    builder_text(r, b, "[");
    for (size_t i = 0; i < l->n && !r->failed; i++) {
        if (i)
            builder_add(r, b, s->item);
        line_write(r, b, s, level + 1);
        json_write(r, b, l->at[i], s, level + 1);
    }
    if (l->n)
        line_write(r, b, s, level);
    builder_text(r, b, "]");
}

static void scalar_write(render *r, builder *b, value v)
{
    char shown[FLOAT_BYTES];
    if (v.kind == VALUE_NONE || v.kind == VALUE_BOOL) {
        builder_text(r, b, v.kind == VALUE_NONE ? "null" : v.as.truth ? "true" : "false");
        return;
    }
    if (v.kind == VALUE_INT)
        snprintf(shown, sizeof shown, "%lld", (long long)v.as.i);
    else if (isnan(v.as.f) || isinf(v.as.f))
        snprintf(shown, sizeof shown,
                 isnan(v.as.f) ? "NaN"
                 : v.as.f < 0  ? "-Infinity"
                               : "Infinity");
    else
        float_show(v.as.f, shown);
    builder_text(r, b, shown);
}

static void dict_write(render *r, builder *b, const dict *d, const json_style *s, int level)
{
    builder_text(r, b, "{");
    for (size_t i = 0; i < d->n && !r->failed; i++) {
        const value key = d->at[i].key;
        if (i)
            builder_add(r, b, s->item);
        line_write(r, b, s, level + 1);
        if (key.kind == VALUE_STRING) {
            string_write(r, b, key.as.s, s->ascii);
        } else if (key.kind == VALUE_NONE || value_is_number(key)) {
            builder_text(r, b, "\"");
            scalar_write(r, b, key);
            builder_text(r, b, "\"");
        } else {
            render_fail(r, "tojson: a key of type '%s' is not possible in JSON", value_type(key));
        }
        builder_add(r, b, s->key);
        json_write(r, b, d->at[i].item, s, level + 1);
    }
    if (d->n)
        line_write(r, b, s, level);
    builder_text(r, b, "}");
}

static int keys_compare(const void *left, const void *right)
{
    const struct dict_entry *a = left, *b = right;
    const string x = a->key.as.s, y = b->key.as.s;
    const size_t n = x.n < y.n ? x.n : y.n;
    const int order = n ? memcmp(x.at, y.at, n) : 0;
    return order ? order : (x.n > y.n) - (x.n < y.n);
}

static const dict *dict_sorted(render *r, const dict *from)
{
    dict *d = dict_new(r, from->n);
    for (size_t i = 0; d && i < from->n; i++) {
        if (from->at[i].key.kind != VALUE_STRING)
            render_fail(r, "tojson: keys that are not strings cannot be sorted");
        d->at[d->n++] = from->at[i];
    }
    if (!r->failed)
        qsort(d->at, d->n, sizeof *d->at, keys_compare);
    return r->failed ? from : d;
}

void json_write(render *r, builder *b, value v, const json_style *s, int level)
{
    if (!render_enter(r)) {
        render_leave(r);
        return;
    }
    switch (v.kind) {
    case VALUE_STRING: string_write(r, b, v.as.s, s->ascii); break;
    case VALUE_LIST:
        if (v.as.list->kind <= LIST_TUPLE)
            list_write(r, b, v.as.list, s, level);
        else
            render_fail(r, "tojson: a value of type '%s' is not possible in JSON", value_type(v));
        break;
    case VALUE_DICT:
        dict_write(r, b, s->sorted ? dict_sorted(r, v.as.dict) : v.as.dict, s, level);
        break;
    case VALUE_NONE:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT: scalar_write(r, b, v); break;
    default: render_fail(r, "tojson: a value of type '%s' is not possible in JSON", value_type(v));
    }
    render_leave(r);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* A string with its origin. */
static value text_read(render *r, json_text chars, bool data)
{
    size_t n = 0;
    char *copy = json_text_copy(chars, &n);
    if (!copy) {
        r->failed = true;
        return value_none();
    }
    char *at = render_get(r, n + 1, 1);
    unsigned char *from = at && data ? render_get(r, n + 1, 1) : NULL;
    if (at)
        memcpy(at, copy, n);
    if (from)
        memset(from, 1, n);
    memory_free(copy);
    return at ? value_string((string){at, from, n}) : value_none();
}

static value number_read(render *r, json_reader *j)
{
    json_number n = {0};
    if (!json_read_number(j, &n))
        return value_none();
    if (n.kind == JSON_U64)
        return render_fail(r, "the variables have an integer that does not fit in 64 bits");
    return n.kind == JSON_I64 ? value_int(n.as.i) : value_float(n.as.f);
}

/* A role such as "user" is a name that the program chose, not text of a user. */
static bool is_role(json_text key, json_text chars)
{
    bool plain = json_text_is(key, "role") && chars.bytes < 40;
    for (size_t i = 0; i < chars.bytes; i++)
        plain &= (chars.at[i] >= 'a' && chars.at[i] <= 'z') || chars.at[i] == '_';
    return plain;
}

static value list_read(render *r, json_reader *j)
{
    builder all = {0}; /* of values */
    json_open_array(j);
    while (json_next_item(j) && !r->failed) {
        const value v = chat_value_read(r, j, (json_text){"", 0, false}, true);
        builder_bytes(r, &all, (const char *)&v, sizeof v, false);
    }
    list *l = list_new(r, 0, LIST_PLAIN);
    if (l) {
        l->n = all.n / sizeof(value);
        l->at = all.n ? (value *)(void *)all.at : l->at;
    }
    return value_of_list(l);
}

/* True for variables such as bos_token, which hold special tokens. */
static bool is_token_name(json_text key)
{
    static const char end[] = "_token";
    const size_t n = sizeof end - 1;
    return key.bytes > n && memcmp(key.at + key.bytes - n, end, n) == 0;
}

value chat_dict_read(render *r, json_reader *j, bool top)
{
    dict *d = dict_new(r, 4);
    json_text key;
    json_open_object(j);
    while (d && json_next_key(j, &key) && !r->failed) {
        const value name = text_read(r, key, !top);
        dict_add(r, d, name, chat_value_read(r, j, key, !(top && is_token_name(key))));
    }
    return value_dict(d);
}

value chat_value_read(render *r, json_reader *j, json_text key, bool data)
{
    bool truth = false;
    json_text chars = {"", 0, false};
    switch (json_peek(j)) {
    case JSON_NULL: json_read_null(j); return value_none();
    case JSON_BOOL: json_read_bool(j, &truth); return value_bool(truth);
    case JSON_NUMBER: return number_read(r, j);
    case JSON_TEXT:
        if (!json_read_text(j, &chars))
            return value_none();
        return text_read(r, chars, data && !is_role(key, chars));
    case JSON_ARRAY: return list_read(r, j);
    case JSON_OBJECT: return chat_dict_read(r, j, false);
    default: json_skip(j); return value_none();
    }
}
