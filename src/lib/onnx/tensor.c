/* Tensors of files as values: elements are used where they are mapped, if a dtype has the same bits, else converted. */
#include "lib/onnx/files.h"
#include "lib/onnx/types.h"
#include "lib/onnx/value.h"
#include "lib/onnx/wire.h"

#include "base/error.h"
#include "base/memory.h"
#include "lib/io/file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The elements of a tensor: first as in raw data, then as a dtype has them. */
typedef struct elements {
    const char *at;
    size_t bytes;
    onnx_file *file; /* that they are in; NULL: none */
    char *own;       /* memory that holds them instead; NULL: none */
    size_t own_bytes;
} elements;

static void elements_drop(elements *e)
{
    if (e->own)
        memory_counted_free(e->own, e->own_bytes);
    *e = (elements){0};
}

/* New memory of e, which replaces the old one in elements_set. NULL after an error. */
static char *elements_room(size_t bytes)
{
    return memory_counted_resize(NULL, 0, bytes ? bytes : 1, "a tensor of the model");
}

static void elements_set(elements *e, char *own, size_t bytes)
{
    elements_drop(e);
    *e = (elements){.at = own, .bytes = bytes, .own = own, .own_bytes = bytes ? bytes : 1};
}

static ig_status tensor_fail(const onnx_tensor *t, const char *why)
{
    char name[IO_SHOWN_BYTES];
    io_show(t->name, name);
    FAIL(IG_ERR_FORMAT, "tensor '%s' %s", name, why);
}

static uint64_t raw_bytes(const onnx_tensor *t)
{
    return ((uint64_t)t->elements * (uint64_t)onnx_type_bits(t->type) + 7) / 8;
}

/* ---- raw elements --------------------------------------------------------------------------- */

ig_status onnx_tensor_external(const onnx_tensor *t, onnx_files *files, onnx_file **file)
{
    char name[IO_SHOWN_BYTES], shown[IO_SHOWN_BYTES];
    io_show(t->name, name);
    io_show(t->external.location, shown);
    if (!files)
        FAIL(IG_ERR_FILE,
             "tensor '%s': external data '%s' needs the folder of a model; this tensor has none",
             name, shown);
    onnx_file *f = onnx_files_external(files, t->external.location, t->name);
    if (!f)
        return error_waiting(IG_ERR_FILE);
    const uint64_t bytes = raw_bytes(t);
    if (t->external.offset > f->bytes || bytes > f->bytes - t->external.offset)
        FAIL(IG_ERR_FORMAT,
             "tensor '%s': external data '%s' has %zu bytes, but the tensor is at %" PRIu64
             " and has %" PRIu64 " bytes",
             name, shown, f->bytes, t->external.offset, bytes);
    *file = f;
    return IG_OK;
}

/* Numbers of int32_data, int64_data and uint64_data as raw elements. */
static ig_status varints_raw(const onnx_tensor *t, elements *e)
{
    const int bits = onnx_type_bits(t->type);
    const size_t width = (size_t)(bits < 8 ? 8 : bits) / 8, bytes = (size_t)raw_bytes(t);
    char *raw = elements_room(bytes);
    if (!raw)
        return error_waiting(IG_ERR_MEMORY);
    elements_set(e, raw, bytes);
    const int64_t most = width == 8 ? 0 : (int64_t)1 << 8 * width;
    wire w = wire_open(t->typed);
    uint64_t value;
    for (size_t at = 0; wire_varint(&w, &value) && at + width <= bytes; at += width) {
        if (width < 8 && ((int64_t)value >= most || (int64_t)value < -most / 2))
            return tensor_fail(t, "has a number that its type cannot hold");
        for (size_t i = 0; i < width; i++)
            raw[at + i] = (char)(value >> 8 * i);
    }
    return IG_OK;
}

static ig_status elements_raw(const onnx_tensor *t, onnx_files *files, elements *e)
{
    if (t->external.location) {
        onnx_file *file = NULL;
        TRY(onnx_tensor_external(t, files, &file));
        *e = (elements){
            .at = file->at + t->external.offset, .bytes = (size_t)raw_bytes(t), .file = file};
        return IG_OK;
    }
    const bool fixed = onnx_type_field(t->type) == 4 || onnx_type_field(t->type) == 10;
    if (t->typed_field && !fixed && t->elements)
        return varints_raw(t, e);
    const onnx_bytes in = t->typed_field ? t->typed : t->raw;
    *e = (elements){.at = in.at, .bytes = in.n, .file = onnx_files_holding(files, in.at, in.n)};
    return IG_OK;
}

/* ---- elements of a dtype -------------------------------------------------------------------- */

/* Floats of 8 bits stay as they are: these are storage formats (ingot/storage.h). Zero bytes are zeros. */
static const char *const packed_formats[IG_ONNX_TYPES] = {
    [IG_ONNX_FLOAT8E4M3FN] = "f8_e4m3",
    [IG_ONNX_FLOAT8E4M3FNUZ] = "f8_e4m3fnuz",
    [IG_ONNX_FLOAT8E5M2] = "f8_e5m2",
    [IG_ONNX_FLOAT8E5M2FNUZ] = "f8_e5m2fnuz",
};

/* Bytes of an element. */
static size_t element_bytes(ig_onnx_type type)
{
    return packed_formats[type] ? 1 : ig_dtype_bytes(ig_onnx_type_dtype(type));
}

/* The value of a code of FLOAT8E8M0, a power of two, or of FLOAT4E2M1. */
static float small_value(ig_onnx_type type, int code)
{
    static const float magnitude[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    if (type == IG_ONNX_FLOAT8E8M0)
        return code == 255 ? NAN : ldexpf(1, code - 127);
    return code & 8 ? -magnitude[code & 7] : magnitude[code];
}

/* Elements of 2, 4 and 8 bits, of which the first is in the lowest bits of a byte. */
static ig_status elements_expand(const onnx_tensor *t, elements *e)
{
    const int bits = onnx_type_bits(t->type), mask = (1 << bits) - 1, top = 1 << (bits - 1);
    const bool is_float = ig_onnx_type_dtype(t->type) == IG_F32;
    const bool is_signed = ig_onnx_type_dtype(t->type) == IG_I8;
    const size_t width = is_float ? sizeof(float) : 1;
    float values[256];
    char *out = elements_room((size_t)t->elements * width);
    if (!out)
        return error_waiting(IG_ERR_MEMORY);
    for (int code = 0; is_float && code <= mask; code++)
        values[code] = small_value(t->type, code);
    for (int64_t i = 0; i < t->elements; i++) {
        const int64_t bit = i * bits;
        const int code = (unsigned char)e->at[bit / 8] >> bit % 8 & mask;
        if (is_float)
            memcpy(out + (size_t)i * width, &values[code], sizeof(float));
        else
            out[i] = (char)(is_signed && (code & top) ? code - mask - 1 : code);
    }
    elements_set(e, out, (size_t)t->elements * width);
    return IG_OK;
}

/* A bool is 0 or 1 in Ingot. */
static bool bools_plain(const elements *e)
{
    for (size_t i = 0; i < e->bytes; i++)
        if ((unsigned char)e->at[i] > 1)
            return false;
    return true;
}

static ig_status elements_copy(elements *e)
{
    const size_t bytes = e->bytes;
    char *copy = elements_room(bytes);
    if (!copy)
        return error_waiting(IG_ERR_MEMORY);
    if (bytes)
        memcpy(copy, e->at, bytes);
    elements_set(e, copy, bytes);
    return IG_OK;
}

static ig_status elements_get(const onnx_tensor *t, onnx_files *files, elements *e)
{
    TRY(elements_raw(t, files, e));
    if (packed_formats[t->type])
        return IG_OK;
    if (t->type >= IG_ONNX_FLOAT8E4M3FN)
        return elements_expand(t, e);
    const size_t swapped = io_swap_bytes(ig_onnx_type_dtype(t->type));
    if (IO_BIG_ENDIAN && swapped > 1) {
        TRY(elements_copy(e));
        io_swap(e->own, e->bytes, swapped);
    }
    if (t->type == IG_ONNX_BOOL && !bools_plain(e)) {
        TRY(elements_copy(e));
        for (size_t i = 0; i < e->bytes; i++)
            e->own[i] = e->own[i] != 0;
    }
    return IG_OK;
}

/* ---- values --------------------------------------------------------------------------------- */

enum { SMALL_BYTES = 4096 }; /* up to here a copy costs less than a reference */

/* An array over a copy of packed elements. */
static ig_array *packed_copy(const elements *e, ig_ints shape, const char *format)
{
    char *copy = memory_get(e->bytes + 1);
    if (!copy)
        return NULL;
    if (e->bytes)
        memcpy(copy, e->at, e->bytes);
    return ig_from_packed(format, 0, IG_F32, shape, copy, e->bytes, memory_free, copy);
}

static ig_array *elements_array(const elements *e, ig_ints shape, ig_onnx_type type)
{
    const char *format = packed_formats[type];
    const ig_dtype dtype = ig_onnx_type_dtype(type);
    if (!e->file || e->bytes <= SMALL_BYTES)
        return format ? packed_copy(e, shape, format)
                      : ig_from_data(e->bytes ? e->at : "", shape, dtype);
    const size_t at = (size_t)(e->at - e->file->at), room = e->file->room - at;
    char *from = e->file->at + at;
    atomic_fetch_add(&e->file->references, 1);
    return format ? ig_from_packed(format, 0, dtype, shape, from, room, onnx_file_release, e->file)
                  : ig_from_memory(from, room, shape, dtype, onnx_file_release, e->file);
}

static ig_onnx_value *array_value(ig_array *x, ig_onnx_type type)
{
    ig_array *own = ig_scope_forget(x);
    ig_onnx_value *v = own ? value_array(own, type) : NULL;
    ig_release(own);
    return v;
}

ig_onnx_value *value_of_tensor(const onnx_tensor *t, onnx_files *files)
{
    if (t->type == IG_ONNX_STRING)
        return value_texts(t->texts, t->shape);
    elements e = {0};
    ig_onnx_value *v = NULL;
    if (elements_get(t, files, &e) == IG_OK)
        v = array_value(elements_array(&e, t->shape, t->type), t->type);
    elements_drop(&e);
    return v;
}

/* The place of element i in the dense tensor; -1 if its indices are out of bounds. */
static int64_t sparse_place(const onnx_sparse *s, const elements *indices, int64_t i, int64_t all)
{
    const bool listed = s->indices.shape.n == 2;
    const int n = listed ? s->shape.n : 1;
    int64_t place = 0;
    for (int k = 0; k < n; k++) {
        int64_t index;
        memcpy(&index, indices->at + (size_t)(i * n + k) * sizeof index, sizeof index);
        const int64_t length = listed ? s->shape.v[k] : all;
        if (index < 0 || index >= length)
            return -1;
        place = place * length + index;
    }
    return place;
}

static ig_status sparse_fill(const onnx_sparse *s, const elements *values, const elements *indices,
                             elements *dense)
{
    const size_t width = element_bytes(s->values.type);
    int64_t all = 1;
    for (int i = 0; i < s->shape.n; i++)
        all *= s->shape.v[i];
    char *out = elements_room((size_t)all * width);
    if (!out)
        return error_waiting(IG_ERR_MEMORY);
    memset(out, 0, (size_t)all * width);
    elements_set(dense, out, (size_t)all * width);
    for (int64_t i = 0; i < s->values.elements; i++) {
        const int64_t place = sparse_place(s, indices, i, all);
        if (place < 0)
            return tensor_fail(&s->values, "has an index that is out of bounds");
        memcpy(out + (size_t)place * width, values->at + (size_t)i * width, width);
    }
    return IG_OK;
}

ig_onnx_value *value_of_sparse(const onnx_sparse *s, onnx_files *files)
{
    const ig_onnx_type type = s->values.type;
    elements values = {0}, indices = {0}, dense = {0};
    ig_onnx_value *v = NULL;
    if (elements_get(&s->values, files, &values) == IG_OK &&
        elements_get(&s->indices, files, &indices) == IG_OK &&
        sparse_fill(s, &values, &indices, &dense) == IG_OK)
        v = array_value(elements_array(&dense, s->shape, type), type);
    elements_drop(&values);
    elements_drop(&indices);
    elements_drop(&dense);
    return v;
}
