/* Tensors of GGUF files as arrays, and the types that are unpacked to f32 when they are loaded. */
#include "lib/io/gguf.h"
#include "lib/io/tensors.h"

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static float half_at(const unsigned char *b)
{
    const uint16_t bits = (uint16_t)(b[0] | b[1] << 8);
    return (float)dtype_fetch(IG_F16, &bits);
}

/* ---- unpacking one block --------------------------------------------------------------------- */

static void unpack_q2_k(const unsigned char *b, float *to)
{
    const unsigned char *scales = b, *codes = b + 16;
    const float d = half_at(b + 80), least = half_at(b + 82);
    for (int i = 0; i < 256; i++) {
        const int part = i / 16, byte = i / 128 * 32 + i % 32, shift = i / 32 % 4 * 2;
        const float scale = d * (float)(scales[part] & 15),
                    low = least * (float)(scales[part] >> 4);
        to[i] = scale * (float)(codes[byte] >> shift & 3) - low;
    }
}

static void unpack_q3_k(const unsigned char *b, float *to)
{
    const unsigned char *high = b, *codes = b + 32, *scales = b + 96;
    const float d = half_at(b + 108);
    for (int i = 0; i < 256; i++) {
        const int part = i / 16, byte = i / 128 * 32 + i % 32, shift = i / 32 % 4 * 2;
        const int low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
        const int scale = (low | (scales[8 + part % 4] >> part / 4 * 2 & 3) << 4) - 32;
        const int code = (codes[byte] >> shift & 3) - (high[i % 32] >> i / 32 & 1 ? 0 : 4);
        to[i] = d * (float)scale * (float)code;
    }
}

static const signed char iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

/* 16 bytes with 32 codes, as in q4_0. */
static void table_unpack(const unsigned char *codes, const signed char *values, float scale,
                         float *to)
{
    for (int i = 0; i < 16; i++) {
        to[i] = scale * (float)values[codes[i] & 15];
        to[i + 16] = scale * (float)values[codes[i] >> 4];
    }
}

static void unpack_iq4_nl(const unsigned char *b, float *to)
{
    table_unpack(b + 2, iq4_values, half_at(b), to);
}

static void unpack_iq4_xs(const unsigned char *b, float *to)
{
    const float d = half_at(b);
    const int high = b[2] | b[3] << 8;
    for (int part = 0; part < 8; part++) {
        const int scale = (b[4 + part / 2] >> part % 2 * 4 & 15) | (high >> 2 * part & 3) << 4;
        table_unpack(b + 8 + 16 * part, iq4_values, d * (float)(scale - 32), to + 32 * part);
    }
}

/* Twice the values of the format, so that they are integers. */
static void unpack_mxfp4(const unsigned char *b, float *to)
{
    static const signed char values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    table_unpack(b + 1, values, ldexpf(1, b[0] - 128), to);
}

static const struct unpacker {
    int type;
    void (*run)(const unsigned char *b, float *to);
} unpackers[] = {
    {GGUF_TYPE_Q2_K, unpack_q2_k},     {GGUF_TYPE_Q3_K, unpack_q3_k},
    {GGUF_TYPE_IQ4_NL, unpack_iq4_nl}, {GGUF_TYPE_IQ4_XS, unpack_iq4_xs},
    {GGUF_TYPE_MXFP4, unpack_mxfp4},
};

/* ---- arrays ---------------------------------------------------------------------------------- */

static void file_release(void *context) { gguf_close(context); }

static ig_array *array_unpacked(const gguf_tensor *t, ig_ints shape,
                                void (*unpack)(const unsigned char *b, float *to))
{
    const gguf_type *type = gguf_type_of((uint64_t)t->type);
    const size_t blocks = t->bytes / (size_t)type->bytes;
    const size_t bytes = blocks * (size_t)type->elements * sizeof(float);
    float *data = memory_data_get(bytes);
    if (!data)
        return NULL;
    for (size_t i = 0; i < blocks; i++)
        unpack(t->data + i * (size_t)type->bytes, data + i * (size_t)type->elements);
    ig_array *x = ig_from_data(data, shape, IG_F32);
    memory_data_free(data, bytes);
    return x;
}

ig_array *gguf_array(gguf *g, const gguf_tensor *t)
{
    const gguf_type *type = gguf_type_of((uint64_t)t->type);
    const ig_ints shape = {t->shape, t->ndim};
    void *data = (void *)(uintptr_t)t->data;
    for (size_t i = 0; i < COUNT(unpackers); i++)
        if (unpackers[i].type == t->type)
            return array_unpacked(t, shape, unpackers[i].run);
    if (!type->format || !*type->format || (IO_BIG_ENDIAN && type->elements == 1)) {
        gguf_fail(
            g, IG_ERR_UNSUPPORTED,
            "tensor '%s' has type %s, which Ingot does not read%s; convert the file to another "
            "type, such as Q4_K",
            t->name.at, type->name, IO_BIG_ENDIAN ? " on this machine" : "");
        return NULL;
    }
    gguf_keep(g);
    for (ig_dtype dtype = IG_BOOL; dtype <= IG_F64; dtype++)
        if (strcmp(type->format, ig_dtype_name(dtype)) == 0)
            return ig_from_memory(data, t->readable, shape, dtype, file_release, g);
    return ig_from_packed(type->format, 0, IG_F32, shape, data, t->readable, file_release, g);
}

bool gguf_begins(const unsigned char *first, size_t n)
{
    return n >= 4 && !memcmp(first, "GGUF", 4);
}

ig_status gguf_tensors_load(const struct io_file *file, ig_tensors *set)
{
    const gguf_tensor *list;
    gguf *g = gguf_open_file(file);
    if (!g)
        return error_waiting(IG_ERR_FILE);
    ig_status status = IG_OK;
    const int n = gguf_tensors(g, &list);
    for (int i = 0; i < n && status == IG_OK; i++) {
        ig_array *x = ig_scope_forget(gguf_array(g, &list[i]));
        char *name = x ? memory_text(list[i].name.at) : NULL;
        struct named *place = name ? names_add(&set->arrays, name) : NULL;
        if (place)
            place->array = x;
        else {
            ig_release(x);
            status = error_waiting(IG_ERR_MEMORY);
        }
    }
    gguf_close(g);
    return status;
}
