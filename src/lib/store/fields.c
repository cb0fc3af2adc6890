/* Fields of JSON metadata: see fields.h. */
#include "lib/store/fields.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 256 };

ig_status json_wrong(json_where where, const char *format, ...)
{
    char word[400], key[IO_SHOWN_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(word, sizeof word, format, args);
    va_end(args);
    for (char *c = word; *c; c++) /* names of the file may have any characters */
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    io_show(where.key, key);
    const char *advice = strstr(word, "; ") ? "" : "; correct it, or write it again";
    return *key ? io_fail(where.file, IG_ERR_FORMAT, "'%s': %s%s", key, word, advice)
                : io_fail(where.file, IG_ERR_FORMAT, "%s%s", word, advice);
}

static ig_status reader_end(json_where where, json_reader *r)
{
    const ig_status status = json_end(r);
    return status == IG_ERR_FORMAT ? json_wrong(where, "invalid JSON %s", r->problem) : status;
}

ig_status json_part_check(json_where where, json_part value)
{
    json_reader r;
    json_begin(&r, value.at, value.bytes);
    json_skip(&r);
    return reader_end(where, &r);
}

json_kind json_part_kind(json_part value)
{
    json_reader r;
    if (!value.at)
        return JSON_NOTHING;
    json_begin(&r, value.at, value.bytes);
    const json_kind kind = json_peek(&r);
    (void)json_end(&r); /* of a value that was not read: its failure means nothing */
    return kind;
}

/* Skips one value, and returns where it is. */
static json_part part_skip(json_reader *r)
{
    (void)json_peek(r); /* skips space */
    const char *const begin = r->at;
    json_skip(r);
    return (json_part){begin, (size_t)(r->at - begin)};
}

static ig_status optional_check(json_where where, json_part value)
{
    json_field understand = {.name = "must_understand"};
    bool must = true;
    if (json_part_kind(value) == JSON_OBJECT) {
        TRY(fields_read(where, value, &understand, 1, REST_ALLOW));
        if (understand.value.at)
            TRY(json_part_bool(where, understand.value, &must));
    }
    return must ? json_wrong(where, "Ingot does not know this key, and reading the array needs it")
                : IG_OK;
}

static void key_join(char out[KEY_BYTES], const char *outer, json_text key)
{
    snprintf(out, KEY_BYTES, "%.120s%s%.*s", outer, *outer ? "." : "",
             key.bytes < 100 ? (int)key.bytes : 100, key.at);
}

ig_status fields_read(json_where where, json_part object, json_field *fields, int n,
                      fields_rest rest)
{
    json_reader r;
    json_text key;
    ig_status status = IG_OK;
    if (json_part_kind(object) != JSON_OBJECT && json_part_check(where, object) == IG_OK)
        return json_wrong(where, "an object is expected");
    json_begin(&r, object.at, object.bytes);
    if (json_open_object(&r))
        while (json_next_key(&r, &key)) {
            char name[KEY_BYTES];
            int i = 0;
            while (i < n && !json_text_is(key, fields[i].name))
                i++;
            const json_part value = part_skip(&r);
            key_join(name, where.key, key);
            if (i < n)
                fields[i].value = value;
            else if (status == IG_OK && r.status == IG_OK && rest == REST_REFUSE)
                status = json_wrong((json_where){where.file, name}, "this key is not known here");
            else if (status == IG_OK && r.status == IG_OK && rest == REST_OPTIONAL)
                status = optional_check((json_where){where.file, name}, value);
        }
    TRY(reader_end(where, &r));
    TRY(status);
    for (int i = 0; i < n; i++)
        if (fields[i].required && !fields[i].value.at)
            return json_wrong(where, "the key '%s' is missing", fields[i].name);
    return IG_OK;
}

ig_status json_part_each(json_where where, json_part value, json_part_visit fn, void *ctx)
{
    json_reader r;
    json_text key = {"", 0, false};
    ig_status status = IG_OK;
    const bool object = json_part_kind(value) == JSON_OBJECT;
    json_begin(&r, value.at, value.bytes);
    if (object ? json_open_object(&r) : json_open_array(&r))
        for (int64_t i = 0; object ? json_next_key(&r, &key) : json_next_item(&r); i++) {
            char name[KEY_BYTES];
            const json_part item = part_skip(&r);
            if (object)
                key_join(name, where.key, key);
            else
                snprintf(name, sizeof name, "%.200s[%" PRId64 "]", where.key, i);
            if (status == IG_OK && r.status == IG_OK)
                status = fn(ctx, (json_where){where.file, name}, key, i, item);
        }
    TRY(reader_end(where, &r));
    return status;
}

ig_status json_part_text(json_where where, json_part value, char *out, size_t size)
{
    json_reader r;
    json_text word = {"", 0, false};
    json_begin(&r, value.at, value.bytes);
    const bool read = json_peek(&r) == JSON_TEXT && json_read_text(&r, &word);
    if (!read)
        json_skip(&r);
    TRY(reader_end(where, &r));
    if (!read)
        return json_wrong(where, "a string is expected");
    size_t n = 0;
    char *copy = json_text_copy(word, &n);
    if (!copy)
        return error_waiting(IG_ERR_MEMORY);
    const bool fits = n < size && strlen(copy) == n;
    if (fits)
        memcpy(out, copy, n + 1);
    memory_free(copy);
    return fits ? IG_OK : json_wrong(where, "the string is not valid: it has %zu bytes", n);
}

ig_status json_part_number(json_where where, json_part value, json_number *out)
{
    json_reader r;
    json_begin(&r, value.at, value.bytes);
    const bool read = json_peek(&r) == JSON_NUMBER && json_read_number(&r, out);
    if (!read)
        json_skip(&r);
    TRY(reader_end(where, &r));
    return read ? IG_OK : json_wrong(where, "a number is expected");
}

ig_status json_part_int(json_where where, json_part value, int64_t min, int64_t max, int64_t *out)
{
    json_number number = {.kind = JSON_I64};
    TRY(json_part_number(where, value, &number));
    *out = number.as.i;
    if (number.kind != JSON_I64 || *out < min || *out > max)
        return json_wrong(where, "a whole number from %" PRId64 " to %" PRId64 " is expected", min,
                          max);
    return IG_OK;
}

typedef struct int_list {
    int64_t min, max, *out;
    int n, room;
} int_list;

static ig_status int_add(void *ctx, json_where where, json_text key, int64_t i, json_part value)
{
    int_list *list = ctx;
    (void)key;
    if (i >= list->room)
        return json_wrong(where, "Ingot allows %d numbers here", list->room);
    list->n = (int)i + 1;
    return json_part_int(where, value, list->min, list->max, &list->out[i]);
}

ig_status json_part_ints(json_where where, json_part value, int64_t min, int64_t max, int64_t *out,
                         int *n, int room)
{
    int_list list = {min, max, out, 0, room};
    if (json_part_kind(value) != JSON_ARRAY)
        return json_wrong(where, "a list of whole numbers is expected");
    TRY(json_part_each(where, value, int_add, &list));
    *n = list.n;
    return IG_OK;
}

ig_status json_part_bool(json_where where, json_part value, bool *out)
{
    json_reader r;
    json_begin(&r, value.at, value.bytes);
    const bool read = json_peek(&r) == JSON_BOOL && json_read_bool(&r, out);
    if (!read)
        json_skip(&r);
    TRY(reader_end(where, &r));
    return read ? IG_OK : json_wrong(where, "true or false is expected");
}

char *json_part_copy(json_part value)
{
    char *copy = memory_get(value.bytes + 1);
    if (copy) {
        memcpy(copy, value.at, value.bytes);
        copy[value.bytes] = 0;
    }
    return copy;
}
