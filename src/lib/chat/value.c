/* Values: making and comparing them. See value.h. */
#include "lib/chat/value.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- memory --------------------------------------------------------------------------------- */

struct arena_chunk {
    struct arena_chunk *older;
    _Alignas(16) char bytes[];
};

enum { CHUNK_LEAST = 16 << 10, CHUNK_MOST = 1 << 20 };

void *chat_arena_get(arena *a, size_t bytes)
{
    const size_t need = bytes < 16 ? 16 : (bytes + 15) & ~(size_t)15;
    if (need < bytes || need > a->most)
        FAIL_NULL(IG_ERR_MEMORY, "the chat template needs more than %zu MiB of memory",
                  a->most >> 20);
    if (need > a->room - a->used) {
        size_t room = a->total < CHUNK_LEAST ? CHUNK_LEAST : a->total;
        room = room > CHUNK_MOST ? CHUNK_MOST : room;
        room = room < need ? need : room;
        if (a->total + room > a->most)
            FAIL_NULL(IG_ERR_MEMORY, "the chat template needs more than %zu MiB of memory",
                      a->most >> 20);
        struct arena_chunk *c = memory_get(sizeof *c + room);
        if (!c)
            return NULL;
        c->older = a->chunks;
        a->chunks = c;
        a->used = 0;
        a->room = room;
        a->total += room;
    }
    char *at = a->chunks->bytes + a->used;
    a->used += need;
    memset(at, 0, need);
    return at;
}

void chat_arena_free(arena *a)
{
    for (struct arena_chunk *c = a->chunks, *older; c; c = older) {
        older = c->older;
        memory_free(c);
    }
    *a = (arena){.most = a->most};
}

/* ---- failures ------------------------------------------------------------------------------- */

value render_fail(render *r, const char *format, ...)
{
    char message[600];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!r->failed)
        ig_fail(IG_ERR_FORMAT, "chat template, line %d: %s", r->line, message);
    r->failed = true;
    return (value){.kind = VALUE_UNDEFINED};
}

bool render_step(render *r, int64_t steps)
{
    r->steps -= steps;
    if (r->steps < 0 && !r->failed)
        render_fail(r, "it takes too many steps; does a loop grow without end?");
    return !r->failed;
}

bool render_enter(render *r)
{
    if (++r->depth > RENDER_DEPTH_MOST && !r->failed)
        render_fail(r, "calls or values are nested more than %d deep", RENDER_DEPTH_MOST);
    return render_step(r, 1);
}

void render_leave(render *r) { r->depth--; }

void *render_get(render *r, size_t count, size_t size)
{
    void *at = NULL;
    if (!r->failed && count <= SIZE_MAX / 2 / size)
        at = chat_arena_get(&r->memory, count * size);
    if (!at && !r->failed) {
        r->failed = true;
        ig_fail(IG_ERR_MEMORY, "chat template: out of memory"); /* keeps a pending error */
    }
    return at;
}

/* ---- making values -------------------------------------------------------------------------- */

string string_of(const char *plain) { return (string){plain, NULL, strlen(plain)}; }

value chat_plain(const char *plain) { return value_string(string_of(plain)); }

value value_undefined(render *r, const char *format, ...)
{
    char message[300];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const size_t bytes = n < 0 ? 0 : (size_t)n < sizeof message ? (size_t)n : sizeof message - 1;
    char *at = render_get(r, bytes + 1, 1);
    if (at)
        memcpy(at, message, bytes);
    return (value){.kind = VALUE_UNDEFINED, .as.s = {at ? at : "", NULL, at ? bytes : 0}};
}

list *list_new(render *r, size_t n, list_kind kind)
{
    list *l = render_get(r, 1, sizeof *l);
    value *at = l ? render_get(r, n, sizeof *at) : NULL;
    if (!at)
        return NULL;
    *l = (list){.at = at, .kind = kind};
    return l;
}

value value_of_list(list *l)
{
    return l ? (value){.kind = VALUE_LIST, .as.list = l} : (value){.kind = VALUE_UNDEFINED};
}

dict *dict_new(render *r, size_t room)
{
    dict *d = render_get(r, 1, sizeof *d);
    struct dict_entry *at = d ? render_get(r, room, sizeof *at) : NULL;
    if (!at)
        return NULL;
    *d = (dict){at, 0, room};
    return d;
}

value value_dict(dict *d)
{
    return d ? (value){.kind = VALUE_DICT, .as.dict = d} : (value){.kind = VALUE_UNDEFINED};
}

/* Equal values have equal hashes; 1, 1.0 and true are equal. */
static uint32_t value_hash(value v)
{
    uint32_t h = 0x811c9dc5u + (uint32_t)v.kind;
    if (value_is_number(v)) {
        const double f = value_as_float(v) + 0.0;
        uint64_t bits;
        memcpy(&bits, &f, sizeof bits);
        return (uint32_t)(bits ^ bits >> 32) * 0x9e3779b1u;
    }
    if (v.kind == VALUE_STRING)
        for (size_t i = 0; i < v.as.s.n; i++)
            h = (h ^ (unsigned char)v.as.s.at[i]) * 0x01000193u;
    return h;
}

void dict_add(render *r, dict *d, value key, value item)
{
    if (d->n == d->room) {
        const size_t room = 2 * d->room + 4;
        struct dict_entry *at = render_get(r, room, sizeof *at);
        if (!at)
            return;
        if (d->n)
            memcpy(at, d->at, d->n * sizeof *at);
        d->at = at;
        d->room = room;
    }
    d->at[d->n++] = (struct dict_entry){key, item, value_hash(key)};
}

static struct dict_entry *entry_find(render *r, const dict *d, value key)
{
    const uint32_t hash = value_hash(key);
    render_step(r, (int64_t)d->n / 16);
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].hash == hash && chat_equal(r, d->at[i].key, key))
            return &d->at[i];
    return NULL;
}

const value *dict_find(render *r, const dict *d, value key)
{
    const struct dict_entry *e = entry_find(r, d, key);
    return e ? &e->item : NULL;
}

const value *dict_find_name(render *r, const dict *d, const char *name)
{
    return dict_find(r, d, chat_plain(name));
}

void dict_set(render *r, dict *d, value key, value item)
{
    if (!value_hashable(key)) {
        render_fail(r, "a value of type '%s' cannot be a key of a dict", value_type(key));
        return;
    }
    struct dict_entry *e = entry_find(r, d, key);
    if (e)
        e->item = item;
    else
        dict_add(r, d, key, item);
}

/* ---- asking --------------------------------------------------------------------------------- */

bool value_truth(value v)
{
    switch (v.kind) {
    case VALUE_MISSING:
    case VALUE_UNDEFINED:
    case VALUE_NONE: return false;
    case VALUE_BOOL: return v.as.truth;
    case VALUE_INT: return v.as.i != 0;
    case VALUE_FLOAT: return v.as.f != 0;
    case VALUE_STRING: return v.as.s.n > 0;
    case VALUE_LIST: return v.as.list->kind == LIST_ITERATOR || v.as.list->n > 0;
    case VALUE_DICT: return v.as.dict->n > 0;
    default: return true;
    }
}

bool value_hashable(value v)
{
    if (v.kind != VALUE_LIST)
        return v.kind != VALUE_DICT;
    if (v.as.list->kind != LIST_TUPLE)
        return v.as.list->kind == LIST_RANGE || v.as.list->kind == LIST_ITERATOR;
    for (size_t i = 0; i < v.as.list->n; i++)
        if (v.as.list->at[i].kind == VALUE_LIST || v.as.list->at[i].kind == VALUE_DICT)
            return false;
    return true;
}

bool value_is_number(value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

double value_as_float(value v)
{
    return v.kind == VALUE_FLOAT ? v.as.f
           : v.kind == VALUE_INT ? (double)v.as.i
                                 : v.kind == VALUE_BOOL && v.as.truth;
}

bool value_as_int(value v, int64_t *out)
{
    *out = v.kind == VALUE_INT ? v.as.i : v.kind == VALUE_BOOL && v.as.truth;
    return v.kind == VALUE_INT || v.kind == VALUE_BOOL;
}

const char *value_type(value v)
{
    static const char *const lists[] = {"list",       "tuple", "dict_keys", "dict_values",
                                        "dict_items", "range", "generator"};
    static const char *const names[] = {
        "missing", "Undefined", "NoneType",  "bool",  "int",      "float",  "str",
        "list",    "dict",      "Namespace", "Macro", "function", "method", "LoopContext"};
    return v.kind == VALUE_LIST ? lists[v.as.list->kind] : names[v.kind];
}

bool value_length(value v, int64_t *out)
{
    *out = 0;
    if (v.kind == VALUE_STRING)
        *out = (int64_t)string_count(v.as.s);
    else if (v.kind == VALUE_LIST && v.as.list->kind != LIST_ITERATOR)
        *out = (int64_t)v.as.list->n;
    else if (v.kind == VALUE_DICT)
        *out = (int64_t)v.as.dict->n;
    else
        return v.kind == VALUE_UNDEFINED && !v.forbidden;
    return true;
}

static list *characters(render *r, string s)
{
    list *l = list_new(r, string_count(s), LIST_PLAIN);
    size_t length;
    for (size_t i = 0; l && i < s.n; i += length) {
        string_rune(s, i, &length);
        l->at[l->n++] = value_string(string_cut(s, i, i + length));
    }
    return l;
}

list *value_items(render *r, value v)
{
    if (v.kind == VALUE_LIST && v.as.list->kind == LIST_ITERATOR) {
        list *l = list_new(r, 0, LIST_PLAIN);
        if (l) {
            l->at = v.as.list->at + v.as.list->next;
            l->n = v.as.list->n - v.as.list->next;
            v.as.list->next = v.as.list->n;
        }
        return l;
    }
    if (v.kind == VALUE_LIST)
        return v.as.list;
    if (v.kind == VALUE_STRING)
        return render_step(r, (int64_t)v.as.s.n / 16) ? characters(r, v.as.s) : NULL;
    if (v.kind == VALUE_DICT) {
        list *l = list_new(r, v.as.dict->n, LIST_KEYS);
        for (size_t i = 0; l && i < v.as.dict->n; i++)
            l->at[l->n++] = v.as.dict->at[i].key;
        return l;
    }
    if (v.kind == VALUE_UNDEFINED && !v.forbidden)
        return list_new(r, 0, LIST_PLAIN);
    render_fail(r, "a value of type '%s' has no items", value_type(v));
    return NULL;
}

bool string_equal(string a, string b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

bool string_is(string s, const char *plain) { return string_equal(s, string_of(plain)); }

bool value_is_text(value v, const char *plain)
{
    return v.kind == VALUE_STRING && string_is(v.as.s, plain);
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* -1, 0 or 1; 2 if one of them is not a number. */
static int numbers_compare(value a, value b)
{
    int64_t i, j;
    if (value_as_int(a, &i) && value_as_int(b, &j))
        return (i > j) - (i < j);
    const double f = value_as_float(a), g = value_as_float(b);
    return isnan(f) || isnan(g) ? 2 : (f > g) - (f < g);
}

static bool dicts_equal(render *r, const dict *a, const dict *b)
{
    bool equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++) {
        const value *other = dict_find(r, b, a->at[i].key);
        equal = other && chat_equal(r, a->at[i].item, *other);
    }
    return equal;
}

static bool lists_equal(render *r, const list *a, const list *b)
{
    const bool views = a->kind == LIST_VALUES || a->kind == LIST_ITERATOR;
    bool equal = a == b || (a->kind == b->kind && a->n == b->n && !views);
    for (size_t i = 0; equal && a != b && i < a->n; i++)
        equal = chat_equal(r, a->at[i], b->at[i]);
    return equal;
}

bool chat_equal(render *r, value a, value b)
{
    if (value_is_number(a) && value_is_number(b))
        return numbers_compare(a, b) == 0;
    if (a.kind != b.kind || !render_enter(r)) {
        r->depth -= a.kind == b.kind;
        return false;
    }
    bool equal = false;
    if (a.kind == VALUE_STRING) {
        render_step(r, (int64_t)a.as.s.n / 256);
        equal = string_equal(a.as.s, b.as.s);
    } else if (a.kind == VALUE_LIST) {
        equal = lists_equal(r, a.as.list, b.as.list);
    } else if (a.kind == VALUE_DICT) {
        equal = dicts_equal(r, a.as.dict, b.as.dict);
    } else if (a.kind == VALUE_NONE || a.kind == VALUE_UNDEFINED) {
        equal = true;
    } else {
        equal = a.as.macro == b.as.macro; /* the same object */
    }
    render_leave(r);
    return equal;
}

int value_compare(render *r, value a, value b, const char *op)
{
    int order = 0;
    if (value_is_number(a) && value_is_number(b))
        return numbers_compare(a, b);
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
        const size_t n = a.as.s.n < b.as.s.n ? a.as.s.n : b.as.s.n;
        order = n ? memcmp(a.as.s.at, b.as.s.at, n) : 0;
        return order ? order : (a.as.s.n > b.as.s.n) - (a.as.s.n < b.as.s.n);
    }
    if (a.kind == VALUE_LIST && b.kind == VALUE_LIST && a.as.list->kind == b.as.list->kind &&
        a.as.list->kind <= LIST_TUPLE && render_enter(r)) {
        const list *x = a.as.list, *y = b.as.list;
        size_t i = 0;
        while (i < x->n && i < y->n && chat_equal(r, x->at[i], y->at[i]))
            i++;
        order = i < x->n && i < y->n ? value_compare(r, x->at[i], y->at[i], op)
                                     : (x->n > y->n) - (x->n < y->n);
        render_leave(r);
        return order;
    }
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED)
        render_fail(r, "%.200s", a.kind == VALUE_UNDEFINED ? a.as.s.at : b.as.s.at);
    else
        render_fail(r, "'%s' is not supported between values of types '%s' and '%s'", op,
                    value_type(a), value_type(b));
    return 0;
}
