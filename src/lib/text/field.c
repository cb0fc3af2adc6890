/* Fields of JSON objects: see field.h. */
#include "lib/text/field.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/text/unicode.h"

#include <string.h>

field field_take(json_reader *r)
{
    field f = {.kind = json_peek(r)};
    f.at = r->at;
    if (!json_skip(r))
        return (field){0};
    f.bytes = (size_t)(r->at - f.at);
    return f;
}

static field member(field object, const char *name, size_t bytes)
{
    json_reader r;
    json_text key;
    field found = {0};
    char plain[64];
    if (object.kind != JSON_OBJECT || bytes >= sizeof plain)
        return found;
    memcpy(plain, name, bytes);
    plain[bytes] = '\0';
    json_begin(&r, object.at, object.bytes);
    json_open_object(&r);
    while (json_next_key(&r, &key)) {
        const field value = field_take(&r);
        if (json_text_is(key, plain))
            found = value;
    }
    json_end(&r);
    return found;
}

field field_get(field object, const char *path)
{
    const char *dot = strchr(path, '.');
    if (!dot)
        return member(object, path, strlen(path));
    return field_get(member(object, path, (size_t)(dot - path)), dot + 1);
}

bool field_given(field f) { return f.kind != JSON_NOTHING && f.kind != JSON_NULL; }

bool field_bool(field f, bool otherwise)
{
    return f.kind == JSON_BOOL ? f.at[0] == 't' : otherwise;
}

static bool number_read(field f, json_number *value)
{
    json_reader r;
    if (f.kind != JSON_NUMBER)
        return false;
    json_begin(&r, f.at, f.bytes);
    json_read_number(&r, value);
    return json_end(&r) == IG_OK;
}

int64_t field_int(field f, int64_t otherwise)
{
    json_number value;
    if (!number_read(f, &value))
        return otherwise;
    if (value.kind == JSON_F64) /* such as 1e12, which Python writes for "no limit" */
        return value.as.f >= 0x1p63    ? INT64_MAX
               : value.as.f <= -0x1p63 ? INT64_MIN
                                       : (int64_t)value.as.f;
    return value.kind == JSON_U64 ? INT64_MAX : value.as.i;
}

double field_number(field f, double otherwise)
{
    json_number value;
    if (!number_read(f, &value))
        return otherwise;
    return value.kind == JSON_F64   ? value.as.f
           : value.kind == JSON_U64 ? (double)value.as.u
                                    : (double)value.as.i;
}

static bool text_read(field f, json_text *out)
{
    json_reader r;
    if (f.kind != JSON_TEXT)
        return false;
    json_begin(&r, f.at, f.bytes);
    json_read_text(&r, out);
    return json_end(&r) == IG_OK;
}

char *field_text(field f, size_t *bytes)
{
    json_text value;
    return text_read(f, &value) ? json_text_copy(value, bytes) : NULL;
}

bool field_is(field f, const char *plain)
{
    json_text value;
    return text_read(f, &value) && json_text_is(value, plain);
}

ig_status field_refuse(const char *part, field type)
{
    char *name = field_text(type, NULL);
    ig_fail(IG_ERR_UNSUPPORTED,
            "%s '%.60s' is not supported; docs/TEXT.md lists what is: change the file, or tokenize "
            "with the Python package tokenizers",
            part, name ? name : "(without a type)");
    memory_free(name);
    return IG_ERR_UNSUPPORTED;
}

ig_status field_choice(field f, const char *where, const char *const *names, int *out)
{
    if (!field_given(f))
        return IG_OK;
    for (int i = 0; names[i]; i++)
        if (field_is(f, names[i])) {
            *out = i;
            return IG_OK;
        }
    text all = {0};
    for (int i = 0; names[i]; i++)
        text_add(&all, "%s%s", i ? ", " : "", names[i]);
    char *list = text_take(&all);
    ig_fail(IG_ERR_FORMAT, "%s is %.*s; expected one of %s", where,
            (int)(f.bytes < 60 ? f.bytes : 60), f.at, list ? list : "a few names");
    memory_free(list);
    return IG_ERR_FORMAT;
}

ig_status field_rune(field f, const char *where, uint32_t *out)
{
    size_t bytes = 0;
    if (!field_given(f))
        return IG_OK;
    char *chars = field_text(f, &bytes);
    const bool one = bytes && unicode_read((unsigned char *)chars, bytes, out) == bytes;
    memory_free(chars);
    if (!one)
        FAIL(IG_ERR_FORMAT, "%s is %.*s; expected one character", where,
             (int)(f.bytes < 60 ? f.bytes : 60), f.at);
    return IG_OK;
}

ig_status field_each(field f, ig_status (*visit)(void *context, json_text key, field value),
                     void *context)
{
    json_reader r;
    json_text key = {"", 0, false};
    ig_status status = IG_OK;
    if (f.kind != JSON_ARRAY && f.kind != JSON_OBJECT)
        return IG_OK;
    json_begin(&r, f.at, f.bytes);
    if (f.kind == JSON_ARRAY) {
        json_open_array(&r);
        while (status == IG_OK && json_next_item(&r))
            status = visit(context, key, field_take(&r));
    } else {
        json_open_object(&r);
        while (status == IG_OK && json_next_key(&r, &key))
            status = visit(context, key, field_take(&r));
    }
    if (status != IG_OK) {
        json_end(&r);
        return status;
    }
    return json_end(&r);
}
