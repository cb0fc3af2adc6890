/* The filters and tests of chat templates: see run.h. */
#include "lib/chat/run.h"

#include "lib/text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* str(v), with the mark of safe strings. */
static value shown(render *r, value v)
{
    return v.kind == VALUE_STRING ? v : value_string(value_show(r, v));
}

static value with_text(value like, string s)
{
    value v = value_string(s);
    v.safe = like.kind == VALUE_STRING && like.safe;
    return v;
}

static value lowered(render *r, value v)
{
    return v.kind == VALUE_STRING ? value_string(string_lower(r, v.as.s)) : v;
}

/* ---- strings -------------------------------------------------------------------------------- */

static value filter_upper(render *r, value in, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return with_text(in, string_upper(r, value_show(r, in)));
}

static value filter_lower(render *r, value in, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return with_text(in, string_lower(r, value_show(r, in)));
}

static value filter_capitalize(render *r, value in, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return with_text(in, string_capital(r, value_show(r, in)));
}

/* The first letter of each word in upper case; words begin after blanks, '-' and opening brackets. */
static value filter_title(render *r, value in, const value *p, const arguments *all)
{
    const string s = value_show(r, in);
    builder b = {0};
    bool begins = true;
    size_t length;
    (void)p, (void)all;
    for (size_t i = 0; i < s.n && !r->failed; i += length) {
        const uint32_t c = string_rune(s, i, &length);
        const string one = string_cut(s, i, i + length);
        builder_add(r, &b, begins ? string_upper(r, one) : string_lower(r, one));
        begins = rune_is_space(c) || (c < 128 && c && strchr("-({[<", (int)c));
    }
    return value_string(builder_string(&b));
}

static value filter_trim(render *r, value in, const value *p, const arguments *all)
{
    (void)all;
    return with_text(in, string_strip(r, value_show(r, in), &p[0], true, true));
}

static value filter_string(render *r, value in, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return shown(r, in);
}

static value filter_safe(render *r, value in, const value *p, const arguments *all)
{
    value v = shown(r, in);
    (void)p, (void)all;
    v.safe = true;
    return v;
}

static value filter_escape(render *r, value in, const value *p, const arguments *all)
{
    value v = shown(r, in);
    (void)p, (void)all;
    if (!v.safe)
        v = value_string(string_escape(r, v.as.s));
    v.safe = true;
    return v;
}

static value filter_replace(render *r, value in, const value *p, const arguments *all)
{
    int64_t most = -1;
    (void)all;
    if (value_given(p[2]) && !value_as_int(p[2], &most))
        return render_fail(r, "the filter 'replace' needs an integer as count");
    return value_string(
        string_replace(r, value_show(r, in), value_show(r, p[0]), value_show(r, p[1]), most));
}

static value filter_indent(render *r, value in, const value *p, const arguments *all)
{
    builder b = {0}, blanks = {0};
    int64_t width = 4;
    (void)all;
    if (in.kind != VALUE_STRING)
        return render_fail(r, "the filter 'indent' needs a string, not a value of type '%s'",
                           value_type(in));
    if (p[0].kind == VALUE_STRING)
        builder_add(r, &blanks, p[0].as.s);
    else if (value_given(p[0]) && !value_as_int(p[0], &width))
        return render_fail(r, "the filter 'indent' needs an integer or a string as width");
    for (int64_t i = 0; i < width && p[0].kind != VALUE_STRING && render_step(r, 1); i++)
        builder_text(r, &blanks, " ");
    const string space = builder_string(&blanks);
    const list *lines = string_lines(r, string_join(r, in.as.s, string_of("\n")), false);
    for (size_t i = 0; lines && i < lines->n; i++) {
        const string line = lines->at[i].as.s;
        builder_text(r, &b, i ? "\n" : "");
        if (i ? line.n || value_truth(p[2]) : value_truth(p[1]))
            builder_add(r, &b, space);
        builder_add(r, &b, line);
    }
    return with_text(in, builder_string(&b));
}

static value filter_center(render *r, value in, const value *p, const arguments *all)
{
    const string s = value_show(r, in);
    builder b = {0};
    int64_t width = 80;
    (void)all;
    if (value_given(p[0]) && !value_as_int(p[0], &width))
        return render_fail(r, "the filter 'center' needs an integer as width");
    const int64_t count = (int64_t)string_count(s), space = width > count ? width - count : 0;
    const int64_t left = space / 2 + (space & width & 1);
    for (int64_t i = 0; i < left && render_step(r, 1); i++)
        builder_text(r, &b, " ");
    builder_add(r, &b, s);
    for (int64_t i = left; i < space && render_step(r, 1); i++)
        builder_text(r, &b, " ");
    return value_string(builder_string(&b));
}

static value filter_wordcount(render *r, value in, const value *p, const arguments *all)
{
    const string s = value_show(r, in);
    int64_t n = 0;
    bool inside = false;
    size_t length;
    (void)p, (void)all;
    for (size_t i = 0; i < s.n; i += length) {
        const uint32_t c = string_rune(s, i, &length);
        const bool word = c < 128 ? (c | 32) - 'a' < 26 || c - '0' < 10 || c == '_'
                                  : render_unicode(r) && unicode_flags(c) & UNICODE_WORD;
        n += word && !inside;
        inside = word;
    }
    return value_int(n);
}

static value filter_truncate(render *r, value in, const value *p, const arguments *all)
{
    int64_t most = 255, leeway = 5, count = 0;
    const string end = value_given(p[2]) ? value_show(r, p[2]) : string_of("...");
    (void)all;
    if (!value_length(in, &count) || (value_given(p[0]) && !value_as_int(p[0], &most)) ||
        (value_given(p[3]) && !value_as_int(p[3], &leeway)))
        return render_fail(r, "the filter 'truncate' needs a string and integers");
    const int64_t n_end = (int64_t)string_count(end);
    if (most < n_end || leeway < 0)
        return render_fail(r, "the filter 'truncate' needs a length of at least %lld",
                           (long long)n_end);
    if (count - most <= leeway)
        return in;
    if (in.kind != VALUE_STRING)
        return render_fail(r, "the filter 'truncate' needs a string");
    string s = string_cut(in.as.s, 0, string_byte(in.as.s, (size_t)(most - n_end)));
    for (size_t i = s.n; i > 0 && !value_truth(p[1]); i--)
        if (s.at[i - 1] == ' ') {
            s = string_cut(s, 0, i - 1);
            break;
        }
    return value_string(string_join(r, s, end));
}

static value filter_format(render *r, value in, const value *p, const arguments *all)
{
    (void)p;
    if (all->n_named == 0)
        return value_format(r, value_show(r, in), all);
    dict *d = dict_new(r, (size_t)all->n_named);
    for (int i = 0; d && i < all->n_named; i++)
        dict_add(r, d, value_string(all->named[i].name), all->named[i].v);
    const value names = value_dict(d);
    return value_format(r, value_show(r, in), &(arguments){&names, 1, NULL, 0});
}

static value filter_tojson(render *r, value in, const value *p, const arguments *all)
{
    builder b = {0}, blanks = {0};
    int64_t width = 0;
    json_style s = {.item = string_of(", "), .key = string_of(": ")};
    (void)all;
    s.ascii = value_truth(p[0]);
    s.indented = value_given(p[1]);
    s.sorted = value_truth(p[3]);
    if (p[1].kind == VALUE_STRING)
        s.indent = p[1].as.s;
    else if (s.indented && !value_as_int(p[1], &width))
        return render_fail(r, "the filter 'tojson' needs an integer or a string as indent");
    for (int64_t i = 0; i < width && render_step(r, 1); i++)
        builder_text(r, &blanks, " ");
    if (p[1].kind != VALUE_STRING)
        s.indent = builder_string(&blanks);
    if (s.indented)
        s.item = string_of(",");
    if (value_given(p[2])) {
        const list *pair = value_items(r, p[2]);
        if (!pair || pair->n != 2 || pair->at[0].kind != VALUE_STRING ||
            pair->at[1].kind != VALUE_STRING)
            return render_fail(r, "the filter 'tojson' needs two strings as separators");
        s.item = pair->at[0].as.s;
        s.key = pair->at[1].as.s;
    }
    json_write(r, &b, in, &s, 0);
    return value_string(builder_string(&b));
}

/* ---- numbers -------------------------------------------------------------------------------- */

static value filter_int(render *r, value in, const value *p, const arguments *all)
{
    int64_t base = 10, i;
    double f = 0;
    const value otherwise = p[0].kind == VALUE_MISSING ? value_int(0) : p[0];
    (void)all;
    if (in.kind == VALUE_UNDEFINED)
        return render_fail(r, "%.*s", (int)in.as.s.n, in.as.s.at);
    if (value_given(p[1]) && (!value_as_int(p[1], &base) || base < 2 || base > 36))
        return render_fail(r, "the filter 'int' needs a base from 2 to 36");
    if (value_as_int(in, &i) || (in.kind == VALUE_STRING && string_int(in.as.s, (int)base, &i)))
        return value_int(i);
    if (in.kind == VALUE_FLOAT)
        f = in.as.f;
    else if (in.kind != VALUE_STRING || !string_float(in.as.s, &f))
        return otherwise;
    if (isnan(f) || isinf(f))
        return otherwise;
    if (f >= 9223372036854775808.0 || f <= -9223372036854775808.0)
        return render_fail(r, "the filter 'int': %g does not fit in 64 bits", f);
    return value_int((int64_t)f);
}

static value filter_float(render *r, value in, const value *p, const arguments *all)
{
    double f;
    (void)all;
    if (in.kind == VALUE_UNDEFINED)
        return render_fail(r, "%.*s", (int)in.as.s.n, in.as.s.at);
    if (value_is_number(in))
        return value_float(value_as_float(in));
    if (in.kind == VALUE_STRING && string_float(in.as.s, &f))
        return value_float(f);
    return p[0].kind == VALUE_MISSING ? value_float(0) : p[0];
}

static value filter_abs(render *r, value in, const value *p, const arguments *all)
{
    int64_t i;
    (void)p, (void)all;
    if (value_as_int(in, &i))
        return i == INT64_MIN ? render_fail(r, "an integer does not fit in 64 bits")
                              : value_int(i < 0 ? -i : i);
    return in.kind == VALUE_FLOAT ? value_float(fabs(in.as.f))
                                  : render_fail(r, "the filter 'abs' needs a number");
}

static value filter_round(render *r, value in, const value *p, const arguments *all)
{
    int64_t digits = 0, i;
    char plain[400];
    (void)all;
    if (!value_is_number(in) || (value_given(p[0]) && !value_as_int(p[0], &digits)) ||
        digits < -300 || digits > 300)
        return render_fail(r,
                           "the filter 'round' needs a number, and a precision from -300 to 300");
    if (value_given(p[1]) && !value_is_text(p[1], "common")) {
        if (!value_is_text(p[1], "ceil") && !value_is_text(p[1], "floor"))
            return render_fail(r,
                               "the filter 'round' needs the method 'common', 'ceil' or 'floor'");
        const double scale = pow(10, (double)digits), f = value_as_float(in) * scale;
        return value_float((value_is_text(p[1], "ceil") ? ceil(f) : floor(f)) / scale);
    }
    if (value_as_int(in, &i))
        return digits >= 0
                   ? value_int(i)
                   : render_fail(r,
                                 "the filter 'round' of integers needs a precision of 0 or more");
    if (digits < 0 || isnan(in.as.f) || isinf(in.as.f))
        return digits < 0 ? render_fail(r, "the filter 'round' needs a precision of 0 or more")
                          : in;
    snprintf(plain, sizeof plain, "%.*f", digits > 40 ? 40 : (int)digits, in.as.f);
    return value_float(strtod(plain, NULL));
}

/* ---- items ---------------------------------------------------------------------------------- */

static value filter_default(render *r, value in, const value *p, const arguments *all)
{
    (void)r, (void)all;
    const bool use = in.kind == VALUE_UNDEFINED || (value_truth(p[1]) && !value_truth(in));
    return !use ? in : p[0].kind == VALUE_MISSING ? chat_plain("") : p[0];
}

static value filter_length(render *r, value in, const value *p, const arguments *all)
{
    int64_t n;
    (void)p, (void)all;
    if (in.kind == VALUE_LOOP)
        return value_int((int64_t)in.as.loop->items->n);
    return value_length(in, &n)
               ? value_int(n)
               : render_fail(r, "a value of type '%s' has no length", value_type(in));
}

static value filter_list(render *r, value in, const value *p, const arguments *all)
{
    const list *from = value_items(r, in);
    list *l = from ? list_new(r, from->n, LIST_PLAIN) : NULL;
    (void)p, (void)all;
    for (size_t i = 0; l && i < from->n; i++)
        l->at[l->n++] = from->at[i];
    return value_of_list(l);
}

static value filter_first(render *r, value in, const value *p, const arguments *all)
{
    (void)p, (void)all;
    if (in.kind == VALUE_LIST && in.as.list->kind == LIST_ITERATOR) {
        list *l = in.as.list;
        return l->next < l->n ? l->at[l->next++]
                              : value_undefined(r, "no first item, the sequence was empty");
    }
    const list *l = value_items(r, in);
    return l && l->n ? l->at[0] : value_undefined(r, "no first item, the sequence was empty");
}

static value filter_last(render *r, value in, const value *p, const arguments *all)
{
    (void)p, (void)all;
    if ((in.kind == VALUE_LIST && in.as.list->kind == LIST_ITERATOR) || in.kind == VALUE_UNDEFINED)
        return render_fail(r, "the filter 'last' needs a sequence; add the filter 'list'");
    const list *l = value_items(r, in);
    return l && l->n ? l->at[l->n - 1] : value_undefined(r, "no last item, the sequence was empty");
}

static value filter_reverse(render *r, value in, const value *p, const arguments *all)
{
    const bool plain = in.kind == VALUE_LIST && in.as.list->kind == LIST_ITERATOR;
    const list *from = value_items(r, in);
    list *l = from ? list_new(r, from->n, plain ? LIST_PLAIN : LIST_ITERATOR) : NULL;
    builder b = {0};
    (void)p, (void)all;
    for (size_t i = from ? from->n : 0; l && i > 0; i--)
        if (in.kind == VALUE_STRING)
            builder_add(r, &b, from->at[i - 1].as.s);
        else
            l->at[l->n++] = from->at[i - 1];
    return in.kind == VALUE_STRING ? value_string(builder_string(&b)) : value_of_list(l);
}

static value filter_join(render *r, value in, const value *p, const arguments *all)
{
    const list *l = value_items(r, in);
    const string between = p[0].kind == VALUE_MISSING ? string_of("") : value_show(r, p[0]);
    builder b = {0};
    (void)all;
    for (size_t i = 0; l && i < l->n && render_step(r, 1); i++) {
        if (i)
            builder_add(r, &b, between);
        builder_value(r, &b, value_given(p[1]) ? value_path(r, l->at[i], p[1]) : l->at[i]);
    }
    return value_string(builder_string(&b));
}

static value filter_items(render *r, value in, const value *p, const arguments *all)
{
    const dict *d = in.kind == VALUE_DICT ? in.as.dict : NULL;
    list *l = list_new(r, d ? d->n : 0, LIST_ITERATOR);
    (void)p, (void)all;
    if (!d && in.kind != VALUE_UNDEFINED)
        return render_fail(r, "the filter 'items' needs a dict, not a value of type '%s'",
                           value_type(in));
    for (size_t i = 0; l && d && i < d->n; i++) {
        list *pair = list_new(r, 2, LIST_TUPLE);
        if (!pair)
            break;
        pair->at[pair->n++] = d->at[i].key;
        pair->at[pair->n++] = d->at[i].item;
        l->at[l->n++] = value_of_list(pair);
    }
    return value_of_list(l);
}

static value filter_attr(render *r, value in, const value *p, const arguments *all)
{
    (void)all;
    if (in.kind == VALUE_DICT)
        return value_undefined(r, "a dict has no such attribute");
    return value_attribute(r, in, value_show(r, p[0]));
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Sorts items by keys, stable. Merges runs of doubled length. */
static void merge_sort(render *r, value *keys, value *items, size_t n, bool reverse)
{
    value *other = render_get(r, 2 * n, sizeof *other);
    for (size_t width = 1; other && width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = low + width < n ? low + width : n;
            const size_t high = low + 2 * width < n ? low + 2 * width : n;
            size_t a = low, b = middle;
            for (size_t to = low; to < high && render_step(r, 1); to++) {
                const bool right =
                    a == middle ||
                    (b < high && (reverse ? value_compare(r, keys[a], keys[b], "<") < 0
                                          : value_compare(r, keys[b], keys[a], "<") < 0));
                const size_t from = right ? b++ : a++;
                other[to] = keys[from];
                other[n + to] = items[from];
            }
        }
        if (r->failed)
            return;
        memcpy(keys, other, n * sizeof *keys);
        memcpy(items, other + n, n * sizeof *items);
    }
}

/* The values of an item that attributes with commas between name. */
static value sort_key(render *r, value item, value attribute, bool sensitive)
{
    const bool many = attribute.kind == VALUE_STRING;
    size_t parts = 1;
    for (size_t i = 0; many && i < attribute.as.s.n; i++)
        parts += attribute.as.s.at[i] == ',';
    list *l = list_new(r, parts, LIST_PLAIN);
    for (size_t i = 0, k = 0; l && k < parts; k++) {
        value v = attribute;
        if (many) {
            const size_t comma = string_find(attribute.as.s, string_of(","), i);
            const size_t end = comma == SIZE_MAX ? attribute.as.s.n : comma;
            v = value_string(string_cut(attribute.as.s, i, end));
            i = end + 1;
        }
        v = value_given(v) ? value_path(r, item, v) : item;
        l->at[l->n++] = sensitive ? v : lowered(r, v);
    }
    return value_of_list(l);
}

static value sorted(render *r, const list *from, value attribute, bool sensitive, bool reverse)
{
    list *l = from ? list_new(r, from->n, LIST_PLAIN) : NULL;
    value *keys = l ? render_get(r, l ? from->n : 0, sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < from->n; i++) {
        l->at[l->n++] = from->at[i];
        keys[i] = sort_key(r, from->at[i], attribute, sensitive);
    }
    if (keys && !r->failed)
        merge_sort(r, keys, l->at, l->n, reverse);
    return value_of_list(l);
}

static value filter_sort(render *r, value in, const value *p, const arguments *all)
{
    (void)all;
    return sorted(r, value_items(r, in), p[2], value_truth(p[1]), value_truth(p[0]));
}

static value filter_dictsort(render *r, value in, const value *p, const arguments *all)
{
    const bool by_value = value_is_text(p[1], "value");
    if (in.kind != VALUE_DICT)
        return render_fail(r, "the filter 'dictsort' needs a dict, not a value of type '%s'",
                           value_type(in));
    if (value_given(p[1]) && !by_value && !value_is_text(p[1], "key"))
        return render_fail(r, "the filter 'dictsort' sorts by 'key' or 'value'");
    const value items = filter_items(r, in, p, all);
    return sorted(r, r->failed ? NULL : value_items(r, items), value_int(by_value),
                  value_truth(p[0]), value_truth(p[2]));
}

static value filter_unique(render *r, value in, const value *p, const arguments *all)
{
    const list *from = value_items(r, in);
    list *l = from ? list_new(r, from->n, LIST_ITERATOR) : NULL;
    dict *seen = dict_new(r, from ? from->n : 0);
    (void)all;
    for (size_t i = 0; l && seen && i < from->n && !r->failed; i++) {
        const value v = value_given(p[1]) ? value_path(r, from->at[i], p[1]) : from->at[i];
        const value key = value_truth(p[0]) ? v : lowered(r, v);
        const size_t n = seen->n;
        dict_set(r, seen, key, value_none());
        if (seen->n > n)
            l->at[l->n++] = from->at[i];
    }
    return value_of_list(l);
}

static value extreme(render *r, value in, const value *p, int sign)
{
    const list *l = value_items(r, in);
    value best = {.kind = VALUE_MISSING}, best_key = {0};
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        const value v = value_given(p[1]) ? value_path(r, l->at[i], p[1]) : l->at[i];
        const value key = value_truth(p[0]) ? v : lowered(r, v);
        if (i == 0 || sign * value_compare(r, key, best_key, "<") < 0) {
            best = l->at[i];
            best_key = key;
        }
    }
    return best.kind == VALUE_MISSING
               ? value_undefined(r, "no aggregated item, the sequence was empty")
               : best;
}

static value filter_min(render *r, value in, const value *p, const arguments *all)
{
    (void)all;
    return extreme(r, in, p, 1);
}

static value filter_max(render *r, value in, const value *p, const arguments *all)
{
    (void)all;
    return extreme(r, in, p, -1);
}

static value filter_sum(render *r, value in, const value *p, const arguments *all)
{
    const list *l = value_items(r, in);
    value sum = p[1].kind == VALUE_MISSING ? value_int(0) : p[1];
    (void)all;
    for (size_t i = 0; l && i < l->n && !r->failed; i++)
        sum =
            value_binary(r, '+', sum, value_given(p[0]) ? value_path(r, l->at[i], p[0]) : l->at[i]);
    return sum;
}

/* ---- choosing and mapping ------------------------------------------------------------------- */

static value filter_map(render *r, value in, const value *p, const arguments *all)
{
    const list *from = in.kind == VALUE_UNDEFINED ? NULL : value_items(r, in);
    list *l = list_new(r, from ? from->n : 0, LIST_ITERATOR);
    const value *attribute = NULL, *otherwise = NULL;
    (void)p;
    for (int i = 0; i < all->n_named && all->n == 0; i++)
        if (string_is(all->named[i].name, "attribute"))
            attribute = &all->named[i].v;
        else if (string_is(all->named[i].name, "default"))
            otherwise = &all->named[i].v;
    const chat_filter *f =
        all->n && all->at[0].kind == VALUE_STRING ? filter_find(all->at[0].as.s) : NULL;
    if (!attribute && !f)
        return render_fail(r, "the filter 'map' needs the name of a filter, or attribute=");
    const arguments rest = {all->at + 1, all->n - 1, all->named, all->n_named};
    for (size_t i = 0; l && from && i < from->n && !r->failed; i++) {
        value v =
            f ? filter_call(r, f, from->at[i], &rest) : value_path(r, from->at[i], *attribute);
        if (!f && otherwise && otherwise->kind != VALUE_NONE && v.kind == VALUE_UNDEFINED)
            v = *otherwise;
        l->at[l->n++] = v;
    }
    return value_of_list(l);
}

/* The items that pass a test, or do not. attribute: the first argument names what is tested. */
static value chosen(render *r, value in, const arguments *all, bool attribute, bool wanted)
{
    const list *from = value_truth(in) ? value_items(r, in) : NULL;
    list *l = list_new(r, from ? from->n : 0, LIST_ITERATOR);
    if (all->n < attribute)
        return render_fail(r, "the filter needs the name of an attribute");
    const value name = all->n > attribute ? all->at[attribute] : value_none();
    const chat_test *t = name.kind == VALUE_STRING ? test_find(name.as.s) : NULL;
    if (all->n > attribute && !t)
        return render_fail(r, "there is no test '%.*s'",
                           name.kind == VALUE_STRING ? (int)name.as.s.n : 0,
                           name.kind == VALUE_STRING ? name.as.s.at : "");
    const arguments rest = {all->at + attribute + 1, t ? all->n - attribute - 1 : 0, all->named,
                            all->n_named};
    for (size_t i = 0; l && from && i < from->n && render_step(r, 1); i++) {
        const value v = attribute ? value_path(r, from->at[i], all->at[0]) : from->at[i];
        if ((t ? test_call(r, t, v, &rest) : value_truth(v)) == wanted)
            l->at[l->n++] = from->at[i];
    }
    return value_of_list(l);
}

static value filter_select(render *r, value in, const value *p, const arguments *all)
{
    (void)p;
    return chosen(r, in, all, false, true);
}

static value filter_reject(render *r, value in, const value *p, const arguments *all)
{
    (void)p;
    return chosen(r, in, all, false, false);
}

static value filter_selectattr(render *r, value in, const value *p, const arguments *all)
{
    (void)p;
    return chosen(r, in, all, true, true);
}

static value filter_rejectattr(render *r, value in, const value *p, const arguments *all)
{
    (void)p;
    return chosen(r, in, all, true, false);
}

/* ---- tables --------------------------------------------------------------------------------- */

const chat_filter *filter_find(string name)
{
    static const chat_filter rows[] = {
        {"abs", "", filter_abs},
        {"attr", "name", filter_attr},
        {"capitalize", "", filter_capitalize},
        {"center", "width?", filter_center},
        {"count", "", filter_length},
        {"d", "default_value? boolean?", filter_default},
        {"default", "default_value? boolean?", filter_default},
        {"dictsort", "case_sensitive? by? reverse?", filter_dictsort},
        {"e", "", filter_escape},
        {"escape", "", filter_escape},
        {"first", "", filter_first},
        {"float", "default?", filter_float},
        {"format", NULL, filter_format},
        {"indent", "width? first? blank?", filter_indent},
        {"int", "default? base?", filter_int},
        {"items", "", filter_items},
        {"join", "d? attribute?", filter_join},
        {"last", "", filter_last},
        {"length", "", filter_length},
        {"list", "", filter_list},
        {"lower", "", filter_lower},
        {"map", NULL, filter_map},
        {"max", "case_sensitive? attribute?", filter_max},
        {"min", "case_sensitive? attribute?", filter_min},
        {"reject", NULL, filter_reject},
        {"rejectattr", NULL, filter_rejectattr},
        {"replace", "old new count?", filter_replace},
        {"reverse", "", filter_reverse},
        {"round", "precision? method?", filter_round},
        {"safe", "", filter_safe},
        {"select", NULL, filter_select},
        {"selectattr", NULL, filter_selectattr},
        {"sort", "reverse? case_sensitive? attribute?", filter_sort},
        {"string", "", filter_string},
        {"sum", "attribute? start?", filter_sum},
        {"title", "", filter_title},
        {"tojson", "ensure_ascii? indent? separators? sort_keys?", filter_tojson},
        {"trim", "chars?", filter_trim},
        {"truncate", "length? killwords? end? leeway?", filter_truncate},
        {"unique", "case_sensitive? attribute?", filter_unique},
        {"upper", "", filter_upper},
        {"wordcount", "", filter_wordcount},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (string_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}
