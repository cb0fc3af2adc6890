/* The JSON reader: see json.h.
 *
 * Strings stay in the source; escapes are decoded when strings are compared or copied. The keys of an object are
 * kept until it ends and then sorted to find duplicates. So no choice of keys makes the check slow.
 */
#include "base/json.h"
#include "base/memory.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* ---- failing ------------------------------------------------------------------------------- */

/* Fails at a position; `expected` names what should be there instead. */
static bool json_fail(json_reader *r, const char *at, const char *expected)
{
    char near[24];
    size_t n = 0;
    if (r->status != IG_OK)
        return false;
    for (; at + n < r->end && n < sizeof near - 1; n++)
        near[n] = at[n] < ' ' || at[n] > '~' ? '?' : at[n];
    near[n] = '\0';
    snprintf(r->problem, sizeof r->problem, "at byte %td: expected %s, found %s%s%s", at - r->begin,
             expected, n ? "'" : "the end", near, n ? "'" : "");
    r->status = IG_ERR_FORMAT;
    r->at = at;
    return false;
}

static bool json_no_memory(json_reader *r)
{
    snprintf(r->problem, sizeof r->problem, "no memory");
    r->status = IG_ERR_MEMORY;
    return false;
}

/* ---- characters ---------------------------------------------------------------------------- */

/* Decodes the code point at the start of some bytes. Returns its length in bytes; 0 if it is not valid UTF-8: an
 * overlong form, a surrogate, or beyond Unicode. */
static size_t utf8_read(const char *plain, size_t bytes, uint32_t *point)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } rows[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char *at = (const unsigned char *)plain;
    size_t n = 0;
    while (n < 4 && (at[0] & rows[n].mask) != rows[n].lead)
        n++;
    if (n == 4 || n >= bytes)
        return 0;
    uint32_t p = at[0] & ~rows[n].mask & 0xff;
    for (size_t i = 1; i <= n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        p = p << 6 | (at[i] & 0x3f);
    }
    *point = p;
    return p < rows[n].least || p > 0x10ffff || (p >= 0xd800 && p < 0xe000) ? 0 : n + 1;
}

static size_t utf8_write(uint32_t p, char out[4])
{
    const size_t n = p < 0x80 ? 0 : p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i > 0; i--, p >>= 6)
        out[i] = (char)(0x80 | (p & 0x3f));
    out[0] = (char)(leads[n] | p);
    return n + 1;
}

bool json_is_utf8(const char *plain)
{
    uint32_t point = 0;
    size_t left = strlen(plain), n = 1;
    for (; left && n; plain += n, left -= n)
        n = utf8_read(plain, left, &point);
    return n != 0;
}

static const char escape_names[] = "\"\\/bfnrt", escape_values[] = "\"\\/\b\f\n\r\t";

/* Reads four hexadecimal digits; -1 if they are not. */
static int32_t hex_read(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = at[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value << 4 | (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* Decodes an escape into a code point; returns its length in bytes, 0 if it is invalid. */
static size_t escape_read(const char *at, const char *end, uint32_t *point)
{
    const char *name = end - at > 1 && at[1] ? strchr(escape_names, at[1]) : NULL;
    if (name) {
        *point = (unsigned char)escape_values[name - escape_names];
        return 2;
    }
    if (end - at < 2 || at[1] != 'u')
        return 0;
    const int32_t first = hex_read(at + 2, end);
    *point = (uint32_t)first;
    if (first < 0 || (first >= 0xdc00 && first < 0xe000))
        return 0;
    if (first < 0xd800 || first >= 0xe000)
        return 6;
    const bool pair = end - at >= 12 && at[6] == '\\' && at[7] == 'u';
    const int32_t second = pair ? hex_read(at + 8, end) : -1;
    if (second < 0xdc00 || second >= 0xe000)
        return 0;
    *point = 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
    return 12;
}

static size_t point_read(const char *at, const char *end, uint32_t *point)
{
    return *at == '\\' ? escape_read(at, end, point) : utf8_read(at, (size_t)(end - at), point);
}

/* ---- strings ------------------------------------------------------------------------------- */

bool json_read_text(json_reader *r, json_text *value)
{
    *value = (json_text){"", 0, false};
    if (json_peek(r) != JSON_TEXT)
        return json_fail(r, r->at, "a string");
    const char *const first = r->at + 1, *at = first;
    bool escaped = false;
    while (at < r->end && *at != '"') {
        uint32_t point = 0;
        const unsigned char byte = (unsigned char)*at;
        if (byte >= ' ' && byte < 0x80 && byte != '\\') {
            at++;
            continue;
        }
        const size_t n = point_read(at, r->end, &point);
        if (n == 0)
            return json_fail(r, at, *at == '\\' ? "a valid escape" : "valid UTF-8");
        if ((unsigned char)*at < ' ')
            return json_fail(r, at, "an escape instead of a control character");
        escaped |= *at == '\\';
        at += n;
    }
    if (at == r->end)
        return json_fail(r, at, "the end of a string");
    *value = (json_text){first, (size_t)(at - first), escaped};
    r->at = at + 1;
    return true;
}

/* Compares in the order of code points, which is also the order of UTF-8 bytes. */
static int text_compare(const void *left, const void *right)
{
    const json_text *a = left, *b = right;
    if (!a->escaped && !b->escaped) {
        const size_t common = a->bytes < b->bytes ? a->bytes : b->bytes;
        const int order = memcmp(a->at, b->at, common);
        return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
    }
    const char *p = a->at, *p_end = p + a->bytes, *q = b->at, *q_end = q + b->bytes;
    while (p < p_end && q < q_end) {
        uint32_t x = 0, y = 0;
        p += point_read(p, p_end, &x);
        q += point_read(q, q_end, &y);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (p < p_end) - (q < q_end);
}

bool json_text_is(json_text value, const char *plain)
{
    const json_text other = {plain, strlen(plain), false};
    assert(!strchr(plain, '\\')); /* it would be read as an escape */
    return text_compare(&value, &other) == 0;
}

char *json_text_copy(json_text value, size_t *bytes)
{
    const char *at = value.at, *const end = at + value.bytes;
    char *copy = memory_get(value.bytes + 1); /* an escape is never shorter than its character */
    size_t n = 0;
    if (!copy)
        return NULL;
    while (at < end) {
        uint32_t point = 0;
        at += point_read(at, end, &point);
        n += utf8_write(point, copy + n);
    }
    copy[n] = '\0';
    if (bytes)
        *bytes = n;
    return copy;
}

/* ---- numbers and words --------------------------------------------------------------------- */

static const char *digits_end(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* The double nearest to the text of a number, independent of the locale's decimal point. */
static bool double_read(json_reader *r, const char *first, size_t length, double *value)
{
    char copy[JSON_NUMBER_MAX + 1];
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain)
        return json_no_memory(r);
    memcpy(copy, first, length);
    copy[length] = '\0';
    const locale_t ours = uselocale(plain);
    *value = strtod(copy, NULL);
    uselocale(ours);
    freelocale(plain);
    return isfinite(*value) || json_fail(r, first, "a number that a double can hold");
}

/* Reads digits as an integer; false if it does not fit, or is -0, which needs a double. */
static bool integer_read(const char *at, const char *end, json_number *value)
{
    const bool negative = *at == '-';
    uint64_t u = 0;
    for (at += negative; at < end; at++)
        if (__builtin_mul_overflow(u, 10, &u) ||
            __builtin_add_overflow(u, (uint64_t)(*at - '0'), &u))
            return false;
    if (negative && (u == 0 || u > (uint64_t)INT64_MAX + 1))
        return false;
    if (!negative && u > INT64_MAX)
        *value = (json_number){JSON_U64, {.u = u}};
    else
        *value = (json_number){JSON_I64, {.i = (int64_t)(negative ? 0 - u : u)}};
    return true;
}

bool json_read_number(json_reader *r, json_number *value)
{
    *value = (json_number){JSON_I64, {.i = 0}};
    if (json_peek(r) != JSON_NUMBER)
        return json_fail(r, r->at, "a number");
    const char *const first = r->at, *whole = first + (*first == '-');
    const char *at = digits_end(whole, r->end);
    if (at == whole)
        return json_fail(r, at, "a digit");
    if (*whole == '0' && at - whole > 1)
        return json_fail(r, first, "a number without leading zeros");
    const char *const integer = at;
    if (at < r->end && *at == '.') {
        at = digits_end(at + 1, r->end);
        if (at == integer + 1)
            return json_fail(r, at, "a digit");
    }
    if (at < r->end && (*at | 0x20) == 'e') {
        at++;
        at += at < r->end && (*at == '+' || *at == '-');
        const char *const power = at;
        at = digits_end(power, r->end);
        if (at == power)
            return json_fail(r, at, "a digit");
    }
    if (at - first > JSON_NUMBER_MAX)
        return json_fail(r, first, "a number of fewer digits");
    if (at != integer || !integer_read(first, integer, value)) {
        value->kind = JSON_F64;
        if (!double_read(r, first, (size_t)(at - first), &value->as.f))
            return false;
    }
    r->at = at;
    return true;
}

bool json_read_uint(json_reader *r, uint64_t *value)
{
    json_number number;
    *value = 0;
    json_peek(r); /* moves at to the start of the number */
    const char *const first = r->at;
    if (!json_read_number(r, &number))
        return false;
    if (number.kind == JSON_F64 || (number.kind == JSON_I64 && number.as.i < 0))
        return json_fail(r, first, "an integer from 0 to 2**64 - 1");
    *value = number.kind == JSON_U64 ? number.as.u : (uint64_t)number.as.i;
    return true;
}

static bool word_read(json_reader *r, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

bool json_read_bool(json_reader *r, bool *value)
{
    *value = json_peek(r) == JSON_BOOL && word_read(r, "true");
    return *value || (r->status == IG_OK && word_read(r, "false")) ||
           json_fail(r, r->at, "true or false");
}

bool json_read_null(json_reader *r)
{
    return (json_peek(r) == JSON_NULL && word_read(r, "null")) || json_fail(r, r->at, "null");
}

/* ---- objects and arrays -------------------------------------------------------------------- */

json_kind json_peek(json_reader *r)
{
    static const unsigned char kinds[256] = {
        ['{'] = JSON_OBJECT, ['['] = JSON_ARRAY,  ['"'] = JSON_TEXT,   ['-'] = JSON_NUMBER,
        ['0'] = JSON_NUMBER, ['1'] = JSON_NUMBER, ['2'] = JSON_NUMBER, ['3'] = JSON_NUMBER,
        ['4'] = JSON_NUMBER, ['5'] = JSON_NUMBER, ['6'] = JSON_NUMBER, ['7'] = JSON_NUMBER,
        ['8'] = JSON_NUMBER, ['9'] = JSON_NUMBER, ['t'] = JSON_BOOL,   ['f'] = JSON_BOOL,
        ['n'] = JSON_NULL};
    static_assert(JSON_NOTHING == 0, "all other bytes begin nothing");
    if (r->status != IG_OK)
        return JSON_NOTHING;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    return r->at < r->end ? (json_kind)kinds[(unsigned char)*r->at] : JSON_NOTHING;
}

/* Reads the character c, after any space; false, without reading it, if another one is next. */
static bool char_read(json_reader *r, char c)
{
    json_peek(r);
    if (r->status != IG_OK || r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool container_open(json_reader *r, bool object)
{
    if (json_peek(r) != (object ? JSON_OBJECT : JSON_ARRAY))
        return json_fail(r, r->at, object ? "an object" : "an array");
    if (r->depth == JSON_DEPTH_MAX)
        return json_fail(r, r->at, "fewer objects and arrays within each other");
    r->open[r->depth].object = object;
    r->open[r->depth].begun = false;
    r->open[r->depth++].first_key = r->n_keys;
    r->at++;
    return true;
}

bool json_open_object(json_reader *r) { return container_open(r, true); }
bool json_open_array(json_reader *r) { return container_open(r, false); }

/* Drops the keys of the innermost object, which has ended; fails if a key occurs twice. */
static bool keys_close(json_reader *r)
{
    const int first = r->open[r->depth - 1].first_key, n = r->n_keys - first;
    r->n_keys = first;
    if (n < 2)
        return true;
    json_text *keys = r->keys + first;
    qsort(keys, (size_t)n, sizeof *keys, text_compare);
    for (int i = 1; i < n; i++)
        if (text_compare(&keys[i - 1], &keys[i]) == 0) {
            const char *later = keys[i].at > keys[i - 1].at ? keys[i].at : keys[i - 1].at;
            return json_fail(r, later - 1, "each key once");
        }
    return true;
}

/* Moves to the next member or item of the innermost container; false if there is none. */
static bool container_next(json_reader *r, bool object)
{
    if (r->status != IG_OK)
        return false;
    if (r->depth == 0 || r->open[r->depth - 1].object != object)
        return json_fail(r, r->at, object ? "to be in an object" : "to be in an array");
    if (char_read(r, object ? '}' : ']')) {
        if (object)
            keys_close(r);
        r->depth--;
        return false;
    }
    if (r->open[r->depth - 1].begun && !char_read(r, ','))
        return json_fail(r, r->at, object ? "',' or '}'" : "',' or ']'");
    r->open[r->depth - 1].begun = true;
    return true;
}

bool json_next_item(json_reader *r) { return container_next(r, false); }

bool json_next_key(json_reader *r, json_text *key)
{
    *key = (json_text){"", 0, false};
    if (!container_next(r, true))
        return false;
    if (json_peek(r) != JSON_TEXT)
        return json_fail(r, r->at, "a key in quotes");
    if (!json_read_text(r, key))
        return false;
    if (!char_read(r, ':'))
        return json_fail(r, r->at, "':'");
    if (!memory_room(&r->keys, r->n_keys, &r->room, sizeof *r->keys))
        return json_no_memory(r);
    r->keys[r->n_keys++] = *key;
    return true;
}

/* Reads a scalar, or enters a container. */
static bool value_enter(json_reader *r)
{
    bool truth;
    json_text string;
    json_number number;
    switch (json_peek(r)) {
    case JSON_OBJECT: return json_open_object(r);
    case JSON_ARRAY: return json_open_array(r);
    case JSON_TEXT: return json_read_text(r, &string);
    case JSON_NUMBER: return json_read_number(r, &number);
    case JSON_BOOL: return json_read_bool(r, &truth);
    case JSON_NULL: return json_read_null(r);
    default: return json_fail(r, r->at, "a value");
    }
}

bool json_skip(json_reader *r)
{
    const int depth = r->depth;
    do {
        json_text key;
        const bool inside = r->depth > depth;
        const bool object = inside && r->open[r->depth - 1].object;
        if (inside && !(object ? json_next_key(r, &key) : json_next_item(r)))
            continue; /* it has been left */
        value_enter(r);
    } while (r->status == IG_OK && r->depth > depth);
    return r->status == IG_OK;
}

/* ---- begin and end ------------------------------------------------------------------------- */

void json_begin(json_reader *r, const char *source, size_t bytes)
{
    *r = (json_reader){.begin = source, .at = source, .end = source + bytes, .status = IG_OK};
}

ig_status json_end(json_reader *r)
{
    json_peek(r);
    if (r->depth != 0 || r->at != r->end)
        json_fail(r, r->at, r->depth ? "the end of what was opened" : "the end");
    memory_free(r->keys);
    r->keys = NULL;
    r->n_keys = r->room = 0;
    return r->status;
}
