/* The methods of values in chat templates: see run.h. */
#include "lib/chat/run.h"

#include "lib/text/unicode.h"

#include <stdio.h>
#include <string.h>

/* Fails unless it is a string. */
static bool needs_string(render *r, const char *method, value v)
{
    if (v.kind != VALUE_STRING)
        render_fail(r, "the method '%s' needs a string, not a value of type '%s'", method,
                    value_type(v));
    return v.kind == VALUE_STRING;
}

/* ---- strings: case and ends ----------------------------------------------------------------- */

static value marked(value self, string s)
{
    value v = value_string(s);
    v.safe = self.safe;
    return v;
}

static value text_upper(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return marked(self, string_upper(r, self.as.s));
}

static value text_lower(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return marked(self, string_lower(r, self.as.s));
}

static value text_capitalize(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return marked(self, string_capital(r, self.as.s));
}

static value text_title(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return marked(self, string_title(r, self.as.s));
}

static value text_swapcase(render *r, value self, const value *p, const arguments *all)
{
    builder b = {0};
    size_t length;
    (void)p, (void)all;
    for (size_t i = 0; i < self.as.s.n && !r->failed; i += length) {
        string_rune(self.as.s, i, &length);
        const string one = string_cut(self.as.s, i, i + length), upper = string_upper(r, one);
        builder_add(r, &b, string_equal(one, upper) ? string_lower(r, one) : upper);
    }
    return marked(self, builder_string(&b));
}

static value text_strip(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return marked(self, string_strip(r, self.as.s, &p[0], true, true));
}

static value text_lstrip(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return marked(self, string_strip(r, self.as.s, &p[0], true, false));
}

static value text_rstrip(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return marked(self, string_strip(r, self.as.s, &p[0], false, true));
}

/* The part of a string between optional bounds, in code points. */
static string bounded(render *r, string s, value start, value stop)
{
    const value bounds[3] = {value_given(start) ? start : value_none(),
                             value_given(stop) ? stop : value_none(), value_none()};
    const value v = chat_slice(r, value_string(s), bounds);
    return v.kind == VALUE_STRING ? v.as.s : (string){"", NULL, 0};
}

static bool has_end(string s, string end, bool first)
{
    return end.n <= s.n &&
           string_equal(first ? string_cut(s, 0, end.n) : string_cut(s, s.n - end.n, s.n), end);
}

static value text_ends(render *r, value self, const value *p, const char *method, bool first)
{
    const string s =
        value_given(p[1]) || value_given(p[2]) ? bounded(r, self.as.s, p[1], p[2]) : self.as.s;
    bool found = false;
    if (p[0].kind == VALUE_LIST && p[0].as.list->kind == LIST_TUPLE) {
        for (size_t i = 0; i < p[0].as.list->n && !found; i++)
            found = needs_string(r, method, p[0].as.list->at[i]) &&
                    has_end(s, p[0].as.list->at[i].as.s, first);
        return value_bool(found);
    }
    return value_bool(needs_string(r, method, p[0]) && has_end(s, p[0].as.s, first));
}

static value text_startswith(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_ends(r, self, p, "startswith", true);
}

static value text_endswith(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_ends(r, self, p, "endswith", false);
}

static value text_removeprefix(render *r, value self, const value *p, const arguments *all)
{
    const string s = self.as.s;
    (void)all;
    const bool has = needs_string(r, "removeprefix", p[0]) && has_end(s, p[0].as.s, true);
    return has ? marked(self, string_cut(s, p[0].as.s.n, s.n)) : self;
}

static value text_removesuffix(render *r, value self, const value *p, const arguments *all)
{
    const string s = self.as.s;
    (void)all;
    const bool has = needs_string(r, "removesuffix", p[0]) && has_end(s, p[0].as.s, false);
    return has ? marked(self, string_cut(s, 0, s.n - p[0].as.s.n)) : self;
}

/* ---- strings: searching and splitting ------------------------------------------------------- */

static size_t find_last(string s, string part)
{
    for (size_t i = part.n <= s.n ? s.n - part.n + 1 : 0; i > 0; i--)
        if (has_end(string_cut(s, i - 1, s.n), part, true))
            return i - 1;
    return SIZE_MAX;
}

/* The index of a part, in code points; -1: it is not there. */
static int64_t text_position(render *r, value self, const value *p, const char *method, bool last)
{
    if (!needs_string(r, method, p[0]))
        return -1;
    const string s = bounded(r, self.as.s, value_none(), p[2]);
    const string rest = bounded(r, s, p[1], value_none());
    render_step(r, (int64_t)s.n / 16);
    const size_t at = last ? find_last(rest, p[0].as.s) : string_find(rest, p[0].as.s, 0);
    if (at == SIZE_MAX || (rest.n == 0 && p[0].as.s.n == 0 && value_given(p[1]) && s.n))
        return -1;
    return (int64_t)(string_count(s) - string_count(rest) + string_count(string_cut(rest, 0, at)));
}

static value text_find(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return value_int(text_position(r, self, p, "find", false));
}

static value text_rfind(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return value_int(text_position(r, self, p, "rfind", true));
}

static value text_index(render *r, value self, const value *p, const arguments *all)
{
    const int64_t i = text_position(r, self, p, "index", false);
    (void)all;
    return i >= 0 || r->failed ? value_int(i)
                               : render_fail(r, "the method 'index' did not find the text");
}

static value text_count(render *r, value self, const value *p, const arguments *all)
{
    int64_t n = 0;
    (void)all;
    if (!needs_string(r, "count", p[0]))
        return self;
    const string s = bounded(r, self.as.s, p[1], p[2]), part = p[0].as.s;
    if (part.n == 0)
        return value_int((int64_t)string_count(s) + 1);
    for (size_t at = 0; (at = string_find(s, part, at)) != SIZE_MAX && render_step(r, 1);
         at += part.n)
        n++;
    return value_int(n);
}

static value text_replace(render *r, value self, const value *p, const arguments *all)
{
    int64_t most = -1;
    (void)all;
    if (!needs_string(r, "replace", p[0]) || !needs_string(r, "replace", p[1]))
        return self;
    if (p[2].kind != VALUE_MISSING && !value_as_int(p[2], &most))
        return render_fail(r, "the method 'replace' needs an integer as count");
    return marked(self, string_replace(r, self.as.s, p[0].as.s, p[1].as.s, most));
}

/* A growing list of strings. */
static void part_add(render *r, builder *b, value self, string s)
{
    const value v = marked(self, s);
    builder_bytes(r, b, (const char *)&v, sizeof v, false);
}

static value parts_list(render *r, const builder *b, bool reversed)
{
    list *l = list_new(r, b->n / sizeof(value), LIST_PLAIN);
    if (!l)
        return value_of_list(l);
    l->n = b->n / sizeof(value);
    if (l->n)
        memcpy(l->at, b->at, b->n);
    for (size_t i = 0; reversed && i < l->n / 2; i++) {
        const value v = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = v;
    }
    return value_of_list(l);
}

/* Splits at runs of white space. */
static value blanks_split(render *r, value self, int64_t most)
{
    string s = string_strip(r, self.as.s, NULL, true, false);
    builder parts = {0};
    size_t length;
    for (; s.n && !r->failed; most--) {
        size_t end = 0;
        while (most != 0 && end < s.n && !rune_is_space(string_rune(s, end, &length)))
            end += length;
        part_add(r, &parts, self, most == 0 ? s : string_cut(s, 0, end));
        s = most == 0 ? string_cut(s, s.n, s.n)
                      : string_strip(r, string_cut(s, end, s.n), NULL, true, false);
    }
    return parts_list(r, &parts, false);
}

static value blanks_split_right(render *r, value self, int64_t most)
{
    string s = string_strip(r, self.as.s, NULL, false, true);
    builder parts = {0};
    for (; s.n && !r->failed; most--) {
        size_t begin = s.n;
        while (most != 0 && begin > 0) {
            size_t at = begin - 1, length;
            while (at > 0 && ((unsigned char)s.at[at] & 0xc0) == 0x80)
                at--;
            if (rune_is_space(string_rune(s, at, &length)))
                break;
            begin = at;
        }
        part_add(r, &parts, self, most == 0 ? s : string_cut(s, begin, s.n));
        s = most == 0 ? string_cut(s, 0, 0)
                      : string_strip(r, string_cut(s, 0, begin), NULL, false, true);
    }
    return parts_list(r, &parts, true);
}

static value text_parts(render *r, value self, const value *p, bool right)
{
    int64_t most = -1;
    builder parts = {0};
    string s = self.as.s;
    if (p[1].kind != VALUE_MISSING && !value_as_int(p[1], &most))
        return render_fail(r, "the method 'split' needs an integer as maxsplit");
    if (!value_given(p[0]))
        return right ? blanks_split_right(r, self, most) : blanks_split(r, self, most);
    if (!needs_string(r, "split", p[0]))
        return self;
    if (p[0].as.s.n == 0)
        return render_fail(r, "the method 'split' needs a separator that is not empty");
    for (size_t at; most != 0 && render_step(r, (int64_t)p[0].as.s.n / 16 + 1); most--) {
        at = right ? find_last(s, p[0].as.s) : string_find(s, p[0].as.s, 0);
        if (at == SIZE_MAX)
            break;
        part_add(r, &parts, self,
                 right ? string_cut(s, at + p[0].as.s.n, s.n) : string_cut(s, 0, at));
        s = right ? string_cut(s, 0, at) : string_cut(s, at + p[0].as.s.n, s.n);
    }
    part_add(r, &parts, self, s);
    return parts_list(r, &parts, right);
}

static value text_split(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_parts(r, self, p, false);
}

static value text_rsplit(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_parts(r, self, p, true);
}

static value text_splitlines(render *r, value self, const value *p, const arguments *all)
{
    list *l = string_lines(r, self.as.s, value_truth(p[0]));
    (void)all;
    for (size_t i = 0; l && i < l->n; i++)
        l->at[i].safe = self.safe;
    return value_of_list(l);
}

static value text_divide(render *r, value self, const value *p, bool last)
{
    const string s = self.as.s, empty = {"", NULL, 0};
    list *l = list_new(r, 3, LIST_TUPLE);
    if (!l || !needs_string(r, "partition", p[0]))
        return self;
    if (p[0].as.s.n == 0)
        return render_fail(r, "the method 'partition' needs a separator that is not empty");
    const size_t at = last ? find_last(s, p[0].as.s) : string_find(s, p[0].as.s, 0);
    const bool found = at != SIZE_MAX;
    l->n = 3;
    l->at[0] = value_string(found ? string_cut(s, 0, at) : last ? empty : s);
    l->at[1] = found ? p[0] : value_string(empty);
    l->at[2] = value_string(found ? string_cut(s, at + p[0].as.s.n, s.n) : last ? s : empty);
    return value_of_list(l);
}

static value text_partition(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_divide(r, self, p, false);
}

static value text_rpartition(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_divide(r, self, p, true);
}

static value text_join(render *r, value self, const value *p, const arguments *all)
{
    const list *l = value_items(r, p[0]);
    builder b = {0};
    (void)all;
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        if (!needs_string(r, "join", l->at[i]))
            break;
        if (i)
            builder_add(r, &b, self.as.s);
        builder_add(r, &b, l->at[i].as.s);
    }
    return value_string(builder_string(&b));
}

/* ---- strings: formats and classes ----------------------------------------------------------- */

static value text_pad(render *r, value self, const value *p, bool left, const char *fill)
{
    int64_t width = 0;
    builder b = {0};
    if (!value_as_int(p[0], &width))
        return render_fail(r, "the width of a string is not an integer");
    const string blank =
        value_given(p[1]) && p[1].kind == VALUE_STRING ? p[1].as.s : string_of(fill);
    if (string_count(blank) != 1)
        return render_fail(r, "a string is filled with one character");
    const int64_t space = width - (int64_t)string_count(self.as.s);
    if (!left)
        builder_add(r, &b, self.as.s);
    for (int64_t i = 0; i < space && render_step(r, 1); i++)
        builder_add(r, &b, blank);
    if (left)
        builder_add(r, &b, self.as.s);
    return marked(self, builder_string(&b));
}

static value text_ljust(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_pad(r, self, p, false, " ");
}

static value text_rjust(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    return text_pad(r, self, p, true, " ");
}

static value text_zfill(render *r, value self, const value *p, const arguments *all)
{
    const value width[2] = {p[0], {.kind = VALUE_MISSING}};
    const bool sign = self.as.s.n && (self.as.s.at[0] == '-' || self.as.s.at[0] == '+');
    (void)all;
    if (!sign)
        return text_pad(r, self, width, true, "0");
    int64_t n = 0;
    value_as_int(p[0], &n);
    const value rest[2] = {value_int(n - 1), {.kind = VALUE_MISSING}};
    const value digits =
        text_pad(r, value_string(string_cut(self.as.s, 1, self.as.s.n)), rest, true, "0");
    return r->failed ? digits
                     : value_string(string_join(r, string_cut(self.as.s, 0, 1), digits.as.s));
}

/* '{} {0} {name}'.format(...), without format specifications. */
static value text_format(render *r, value self, const value *p, const arguments *all)
{
    const string s = self.as.s;
    builder b = {0};
    int next = 0;
    (void)p;
    for (size_t i = 0; i < s.n && !r->failed; i++) {
        const char c = s.at[i];
        if ((c == '{' || c == '}') && i + 1 < s.n && s.at[i + 1] == c) {
            builder_add(r, &b, string_cut(s, i, i + 1));
            i++;
            continue;
        }
        if (c != '{') {
            builder_add(r, &b, string_cut(s, i, i + 1));
            continue;
        }
        const size_t end = string_find(s, string_of("}"), i);
        const string name = string_cut(s, i + 1, end == SIZE_MAX ? s.n : end);
        int64_t place = next;
        const value *found = NULL;
        if (name.n == 0 || string_int(name, 10, &place)) {
            found = place >= 0 && place < all->n ? &all->at[place] : NULL;
            next += name.n == 0;
        }
        for (int k = 0; k < all->n_named && name.n; k++)
            if (string_equal(all->named[k].name, name))
                found = &all->named[k].v;
        if (!found || end == SIZE_MAX)
            return render_fail(
                r, "the method 'format' has no value for '{%.*s}', or does not support it",
                (int)(name.n < 40 ? name.n : 40), name.at);
        builder_value(r, &b, *found);
        i = end;
    }
    return value_string(builder_string(&b));
}

typedef bool rune_test(render *r, uint32_t c);

static bool rune_is_digit(render *r, uint32_t c)
{
    if (c < 128)
        return c >= '0' && c <= '9';
    return render_unicode(r) && unicode_category(c) == 9; /* Nd */
}

static bool rune_is_letter(render *r, uint32_t c)
{
    if (c < 128)
        return (c | 32) >= 'a' && (c | 32) <= 'z';
    return render_unicode(r) && unicode_flags(c) & UNICODE_LETTER;
}

static bool rune_is_alnum(render *r, uint32_t c)
{
    if (rune_is_digit(r, c) || rune_is_letter(r, c))
        return true;
    return c >= 128 && render_unicode(r) && unicode_flags(c) & UNICODE_NUMBER;
}

static bool rune_is_blank(render *r, uint32_t c)
{
    (void)r;
    return rune_is_space(c);
}

/* True if there are characters, and all pass. */
static value text_all(render *r, value self, rune_test *test)
{
    bool fine = self.as.s.n > 0;
    size_t length;
    for (size_t i = 0; i < self.as.s.n && fine; i += length)
        fine = test(r, string_rune(self.as.s, i, &length));
    return value_bool(fine);
}

static value text_isdigit(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return text_all(r, self, rune_is_digit);
}

static value text_isalpha(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return text_all(r, self, rune_is_letter);
}

static value text_isalnum(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return text_all(r, self, rune_is_alnum);
}

static value text_isspace(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return text_all(r, self, rune_is_blank);
}

static value text_isupper(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return value_bool(test_call(r, test_find(string_of("upper")), self, &(arguments){0}));
}

static value text_islower(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return value_bool(test_call(r, test_find(string_of("lower")), self, &(arguments){0}));
}

static value text_isascii(render *r, value self, const value *p, const arguments *all)
{
    (void)r, (void)p, (void)all;
    return value_bool(string_ascii(self.as.s));
}

/* ---- lists, dicts, loops -------------------------------------------------------------------- */

static value list_count(render *r, value self, const value *p, const arguments *all)
{
    int64_t n = 0;
    (void)all;
    for (size_t i = 0; i < self.as.list->n && render_step(r, 1); i++)
        n += chat_equal(r, self.as.list->at[i], p[0]);
    return value_int(n);
}

static value list_index(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    for (size_t i = 0; i < self.as.list->n && render_step(r, 1); i++)
        if (chat_equal(r, self.as.list->at[i], p[0]))
            return value_int((int64_t)i);
    return render_fail(r, "the method 'index' did not find the value");
}

static value self_copy(render *r, value self, const value *p, const arguments *all)
{
    (void)r, (void)p, (void)all;
    return self; /* values do not change */
}

static value dict_get(render *r, value self, const value *p, const arguments *all)
{
    (void)all;
    if (!value_hashable(p[0]))
        return render_fail(r, "a value of type '%s' cannot be a key of a dict", value_type(p[0]));
    const value *found = dict_find(r, self.as.dict, p[0]);
    return found ? *found : p[1].kind == VALUE_MISSING ? value_none() : p[1];
}

static value dict_view(render *r, const dict *d, list_kind kind)
{
    list *l = list_new(r, d->n, kind);
    for (size_t i = 0; l && i < d->n; i++) {
        list *pair = kind == LIST_ITEMS ? list_new(r, 2, LIST_TUPLE) : NULL;
        if (pair) {
            pair->at[0] = d->at[i].key;
            pair->at[1] = d->at[i].item;
            pair->n = 2;
        }
        l->at[l->n++] = pair                ? value_of_list(pair)
                        : kind == LIST_KEYS ? d->at[i].key
                                            : d->at[i].item;
    }
    return value_of_list(l);
}

static value dict_items(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return dict_view(r, self.as.dict, LIST_ITEMS);
}

static value dict_keys(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return dict_view(r, self.as.dict, LIST_KEYS);
}

static value dict_values(render *r, value self, const value *p, const arguments *all)
{
    (void)p, (void)all;
    return dict_view(r, self.as.dict, LIST_VALUES);
}

static value loop_cycle(render *r, value self, const value *p, const arguments *all)
{
    (void)p;
    return all->n ? all->at[self.as.loop->index % all->n]
                  : render_fail(r, "loop.cycle needs values");
}

static value loop_changed(render *r, value self, const value *p, const arguments *all)
{
    list *now = list_new(r, (size_t)all->n, LIST_TUPLE);
    struct loop *loop = self.as.loop;
    (void)p;
    for (int i = 0; now && i < all->n; i++)
        now->at[now->n++] = all->at[i];
    const value v = value_of_list(now);
    const bool changed = loop->changed.kind == VALUE_MISSING || !chat_equal(r, loop->changed, v);
    loop->changed = v;
    return value_bool(changed);
}

/* A row without a function: the method would change the value. */
static const method_row methods[] = {
    {VALUE_STRING, "capitalize", "", text_capitalize},
    {VALUE_STRING, "casefold", "", text_lower},
    {VALUE_STRING, "count", "sub start? end?", text_count},
    {VALUE_STRING, "endswith", "suffix start? end?", text_endswith},
    {VALUE_STRING, "find", "sub start? end?", text_find},
    {VALUE_STRING, "format", NULL, text_format},
    {VALUE_STRING, "index", "sub start? end?", text_index},
    {VALUE_STRING, "isalnum", "", text_isalnum},
    {VALUE_STRING, "isalpha", "", text_isalpha},
    {VALUE_STRING, "isascii", "", text_isascii},
    {VALUE_STRING, "isdecimal", "", text_isdigit},
    {VALUE_STRING, "isdigit", "", text_isdigit},
    {VALUE_STRING, "islower", "", text_islower},
    {VALUE_STRING, "isnumeric", "", text_isdigit},
    {VALUE_STRING, "isspace", "", text_isspace},
    {VALUE_STRING, "isupper", "", text_isupper},
    {VALUE_STRING, "join", "iterable", text_join},
    {VALUE_STRING, "ljust", "width fillchar?", text_ljust},
    {VALUE_STRING, "lower", "", text_lower},
    {VALUE_STRING, "lstrip", "chars?", text_lstrip},
    {VALUE_STRING, "partition", "sep", text_partition},
    {VALUE_STRING, "removeprefix", "prefix", text_removeprefix},
    {VALUE_STRING, "removesuffix", "suffix", text_removesuffix},
    {VALUE_STRING, "replace", "old new count?", text_replace},
    {VALUE_STRING, "rfind", "sub start? end?", text_rfind},
    {VALUE_STRING, "rjust", "width fillchar?", text_rjust},
    {VALUE_STRING, "rpartition", "sep", text_rpartition},
    {VALUE_STRING, "rsplit", "sep? maxsplit?", text_rsplit},
    {VALUE_STRING, "rstrip", "chars?", text_rstrip},
    {VALUE_STRING, "split", "sep? maxsplit?", text_split},
    {VALUE_STRING, "splitlines", "keepends?", text_splitlines},
    {VALUE_STRING, "startswith", "prefix start? end?", text_startswith},
    {VALUE_STRING, "strip", "chars?", text_strip},
    {VALUE_STRING, "swapcase", "", text_swapcase},
    {VALUE_STRING, "title", "", text_title},
    {VALUE_STRING, "upper", "", text_upper},
    {VALUE_STRING, "zfill", "width", text_zfill},
    {VALUE_LIST, "append", NULL, NULL},
    {VALUE_LIST, "clear", NULL, NULL},
    {VALUE_LIST, "copy", "", self_copy},
    {VALUE_LIST, "count", "value", list_count},
    {VALUE_LIST, "extend", NULL, NULL},
    {VALUE_LIST, "index", "value", list_index},
    {VALUE_LIST, "insert", NULL, NULL},
    {VALUE_LIST, "pop", NULL, NULL},
    {VALUE_LIST, "remove", NULL, NULL},
    {VALUE_LIST, "reverse", NULL, NULL},
    {VALUE_LIST, "sort", NULL, NULL},
    {VALUE_DICT, "clear", NULL, NULL},
    {VALUE_DICT, "copy", "", self_copy},
    {VALUE_DICT, "get", "key default?", dict_get},
    {VALUE_DICT, "items", "", dict_items},
    {VALUE_DICT, "keys", "", dict_keys},
    {VALUE_DICT, "pop", NULL, NULL},
    {VALUE_DICT, "popitem", NULL, NULL},
    {VALUE_DICT, "setdefault", NULL, NULL},
    {VALUE_DICT, "update", NULL, NULL},
    {VALUE_DICT, "values", "", dict_values},
    {VALUE_LOOP, "changed", NULL, loop_changed},
    {VALUE_LOOP, "cycle", NULL, loop_cycle},
};

const method_row *method_find(render *r, value self, string name)
{
    static const struct {
        value_kind of;
        const char *name;
    } others[] = {
        {VALUE_STRING, "center"},       {VALUE_STRING, "encode"},    {VALUE_STRING, "expandtabs"},
        {VALUE_STRING, "format_map"},   {VALUE_STRING, "istitle"},   {VALUE_STRING, "isprintable"},
        {VALUE_STRING, "isidentifier"}, {VALUE_STRING, "maketrans"}, {VALUE_STRING, "rindex"},
        {VALUE_STRING, "translate"},    {VALUE_DICT, "fromkeys"}};
    const bool tuple = self.kind == VALUE_LIST && self.as.list->kind != LIST_PLAIN;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].of == self.kind && string_is(name, methods[i].name)) {
            const bool counts = methods[i].run == list_count || methods[i].run == list_index;
            return tuple && !(counts && self.as.list->kind == LIST_TUPLE) ? NULL : &methods[i];
        }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].of == self.kind && string_is(name, others[i].name))
            render_fail(r, "the method '%s' of values of type '%s' is not supported",
                        others[i].name, value_type(self));
    return NULL;
}
