/* Run-time values of ONNX graphs: counted references to arrays, texts and lists. See value.h. */
#include "lib/onnx/value.h"
#include "lib/onnx/types.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- making --------------------------------------------------------------------------------- */

static ig_onnx_value *value_new(ig_onnx_kind kind, ig_onnx_type type)
{
    ig_onnx_value *v = memory_new(sizeof *v);
    if (v)
        *v = (ig_onnx_value){.references = 1, .kind = kind, .type = type};
    return v;
}

ig_onnx_value *value_nothing(ig_onnx_type type) { return value_new(IG_ONNX_NOTHING, type); }

ig_onnx_value *value_array(ig_array *x, ig_onnx_type type)
{
    ig_onnx_value *v = x ? value_new(IG_ONNX_TENSOR, type) : NULL;
    if (v)
        v->array = ig_retain(x);
    return v;
}

ig_onnx_value *value_on_host(const void *data, ig_ints shape, ig_dtype dtype)
{
    char device[64];
    if (ig_scope_begin() != IG_OK)
        return NULL;
    snprintf(device, sizeof device, "%s", ig_device());
    ig_set_device("cpu");
    ig_onnx_value *v = value_array(ig_from_data(data, shape, dtype), onnx_type_of(dtype));
    ig_set_device(device);
    ig_scope_end();
    return v;
}

static int64_t shape_elements(ig_ints shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.n; i++)
        if (shape.v[i] < 0 || __builtin_mul_overflow(n, shape.v[i], &n))
            return -1;
    return n;
}

/* The strings follow each other in one block, each with a zero byte after it. */
static bool texts_copy(ig_onnx_value *v, const onnx_bytes *texts, int64_t n)
{
    size_t bytes = 1;
    for (int64_t i = 0; i < n; i++)
        bytes += texts[i].n + 1;
    v->texts = memory_get((size_t)n * sizeof *v->texts + bytes);
    char *at = v->texts ? (char *)(v->texts + n) : NULL;
    for (int64_t i = 0; i < n && at; i++) {
        v->texts[i] = (onnx_bytes){at, texts[i].n};
        if (texts[i].n)
            memcpy(at, texts[i].at, texts[i].n);
        at[texts[i].n] = 0;
        at += texts[i].n + 1;
    }
    return at != NULL;
}

ig_onnx_value *value_texts(const onnx_bytes *texts, ig_ints shape)
{
    const int64_t n = shape_elements(shape);
    if (n < 0)
        FAIL_NULL(IG_ERR_SHAPE, "a tensor of strings has an invalid shape");
    ig_onnx_value *v = value_new(IG_ONNX_TEXTS, IG_ONNX_STRING);
    if (!v)
        return NULL;
    v->ndim = shape.n;
    v->shape = memory_new((size_t)shape.n * sizeof *v->shape);
    if (v->shape && shape.n)
        memcpy(v->shape, shape.v, (size_t)shape.n * sizeof *v->shape);
    if (v->shape && texts_copy(v, texts, n))
        return v;
    ig_onnx_value_release(v);
    return NULL;
}

ig_onnx_value *value_list(ig_onnx_kind kind, ig_onnx_value *const *items, int n)
{
    ig_onnx_value *v = value_new(kind, IG_ONNX_UNDEFINED);
    bool fine = v && (v->items = memory_new((size_t)n * sizeof *v->items));
    for (int i = 0; i < n; i++)
        fine = fine && items[i];
    if (!fine) {
        for (int i = 0; i < n; i++)
            ig_onnx_value_release(items[i]);
        ig_onnx_value_release(v);
        return NULL;
    }
    if (n)
        memcpy(v->items, items, (size_t)n * sizeof *items);
    v->n = n;
    v->type = n ? items[0]->type : IG_ONNX_UNDEFINED;
    for (int i = 0; i < n; i++)
        v->varies |= items[i]->varies;
    return v;
}

/* ---- the public functions ------------------------------------------------------------------- */

ig_onnx_value *ig_onnx_value_array(ig_array *x)
{
    if (require_pointer("ig_onnx_value_array", "x", x) != IG_OK)
        return NULL;
    return value_array(x, onnx_type_of(ig_dtype_of(x)));
}

ig_onnx_value *ig_onnx_value_texts(const char *const *texts, ig_ints shape)
{
    if (require_list("ig_onnx_value_texts", "shape", shape.v, shape.n) != IG_OK)
        return NULL;
    const int64_t n = shape.n <= IG_MAX_NDIM ? shape_elements(shape) : -1;
    if (n < 0 || (n && !texts) || memory_admit((uint64_t)n * sizeof *texts, "a tensor of strings"))
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_onnx_value_texts: %s",
                  n < 0 ? "the shape is invalid" : "texts is NULL");
    onnx_bytes *list = memory_new((size_t)n * sizeof *list);
    bool fine = list != NULL;
    for (int64_t i = 0; i < n && fine; i++)
        if ((fine = texts[i] != NULL))
            list[i] = (onnx_bytes){texts[i], strlen(texts[i])};
    if (list && !fine)
        ig_fail(IG_ERR_ARGUMENT, "ig_onnx_value_texts: a text is NULL");
    ig_onnx_value *v = fine ? value_texts(list, shape) : NULL;
    memory_free(list);
    return v;
}

ig_onnx_value *ig_onnx_value_retain(ig_onnx_value *v)
{
    if (v)
        v->references++;
    return v;
}

void ig_onnx_value_release(ig_onnx_value *v)
{
    if (!v || --v->references > 0)
        return;
    ig_release(v->array);
    ig_release(v->moved);
    ig_release(v->whole);
    ig_release(v->bytes);
    ig_release(v->zero);
    ig_release(v->scale);
    ig_release(v->packed);
    for (int i = 0; i < 2; i++)
        ig_onnx_value_release(v->packed_with[i]);
    for (int i = 0; i < v->n; i++)
        ig_onnx_value_release(v->items[i]);
    memory_free(v->items);
    memory_free(v->texts);
    memory_free(v->shape);
    memory_free(v);
}

ig_onnx_kind ig_onnx_value_kind(const ig_onnx_value *v) { return v ? v->kind : IG_ONNX_NOTHING; }

ig_onnx_type ig_onnx_value_type(const ig_onnx_value *v) { return v ? v->type : IG_ONNX_UNDEFINED; }

ig_array *ig_onnx_value_get(const ig_onnx_value *v) { return v ? v->array : NULL; }

ig_ints ig_onnx_value_shape(const ig_onnx_value *v)
{
    if (v && v->kind == IG_ONNX_TEXTS)
        return (ig_ints){v->shape, v->ndim};
    return v && v->array ? ig_shape(v->array) : IG_NONE;
}

int64_t value_elements(const ig_onnx_value *v) { return shape_elements(ig_onnx_value_shape(v)); }

const char *ig_onnx_value_text(const ig_onnx_value *v, int64_t i, size_t *bytes)
{
    if (!v || v->kind != IG_ONNX_TEXTS || i < 0 || i >= value_elements(v))
        FAIL_NULL(IG_ERR_INDEX, "ig_onnx_value_text: there is no string %lld", (long long)i);
    if (bytes)
        *bytes = v->texts[i].n;
    return v->texts[i].at;
}

int ig_onnx_value_count(const ig_onnx_value *v) { return v ? v->n : 0; }

ig_onnx_value *ig_onnx_value_item(const ig_onnx_value *v, int i)
{
    if (!v || i < 0 || i >= v->n)
        FAIL_NULL(IG_ERR_INDEX, "ig_onnx_value_item: there is no item %d", i);
    return v->items[i];
}

/* ---- devices -------------------------------------------------------------------------------- */

ig_array *value_on(ig_onnx_value *v, const char *device, bool keep)
{
    if (strcmp(ig_array_device(v->array), device) == 0)
        return v->array;
    if (keep && v->moved && strcmp(ig_array_device(v->moved), device) == 0)
        return v->moved;
    ig_array *x = ig_to_device(v->array, device);
    return !keep || !x || ig_replace(&v->moved, x) == IG_OK ? x : NULL;
}

ig_array *value_keep_packed(ig_onnx_value *v, ig_onnx_value *const with[2], ig_array *x)
{
    if (!x || ig_replace(&v->packed, x) != IG_OK)
        return NULL;
    for (int i = 0; i < 2; i++) {
        ig_onnx_value_release(v->packed_with[i]);
        v->packed_with[i] = ig_onnx_value_retain(with[i]);
    }
    return v->packed;
}
