/* The metadata of Zarr v2 arrays, ".zarray", as untrusted text. */
#include "lib/store/zarr.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { NAME_BYTES = 64 };

/* "<f8": byte order, kind and bytes. */
static ig_status dtype_read(json_where where, json_part value, zarr *z)
{
    static const struct {
        const char *code;
        ig_dtype dtype;
    } codes[] = {{"b1", IG_BOOL}, {"i1", IG_I8},  {"i2", IG_I16}, {"i4", IG_I32},  {"i8", IG_I64},
                 {"u1", IG_U8},   {"u2", IG_U16}, {"u4", IG_U32}, {"u8", IG_U64},  {"f2", IG_F16},
                 {"f4", IG_F32},  {"f8", IG_F64}, {"c8", IG_C64}, {"c16", IG_C128}};
    char word[NAME_BYTES];
    if (json_part_kind(value) == JSON_ARRAY)
        return json_wrong(where, "it has records, which Ingot does not read");
    TRY(json_part_text(where, value, word, sizeof word));
    if (strcmp(word, "bfloat16") == 0) {
        z->base.dtype = IG_BF16;
        return IG_OK;
    }
    for (int i = 0; *word && strchr("<>|", *word) && i < COUNT(codes); i++)
        if (strcmp(codes[i].code, word + 1) == 0) {
            z->base.dtype = codes[i].dtype;
            z->chain.big = *word == '>';
            return IG_OK;
        }
    return json_wrong(where, "Ingot does not read the dtype '%s'", word);
}

/* {"id": "zstd", ...} or null. Decoders need only the name. */
static ig_status compressor_read(json_where where, json_part value, codec_chain *chain)
{
    json_field id = {.name = "id", .required = true};
    char name[NAME_BYTES];
    if (json_part_kind(value) == JSON_NULL)
        return IG_OK;
    TRY(fields_read(where, value, &id, 1, REST_ALLOW));
    TRY(json_part_text(where, id.value, name, sizeof name));
    const codec_kind *kind = codec_find(name, true);
    if (!kind)
        return json_wrong(
            where, "Ingot does not know the compressor '%s'; it reads zlib, gzip, zstd and blosc",
            name);
    chain->steps[chain->n_steps++] = (codec_step){.kind = kind, .level = kind->level};
    return IG_OK;
}

static ig_status filter_refuse(void *ctx, json_where where, json_text key, int64_t i,
                               json_part value)
{
    (void)ctx, (void)key, (void)i, (void)value;
    return json_wrong(where, "Ingot does not read arrays with filters");
}

static ig_status letter_read(json_where where, json_part value, const char *allowed, char *out)
{
    char word[NAME_BYTES];
    TRY(json_part_text(where, value, word, sizeof word));
    if (strlen(word) != 1 || !strchr(allowed, *word))
        return json_wrong(where, "one of the letters '%s' is expected", allowed);
    *out = *word;
    return IG_OK;
}

static json_where at(json_where where, const char *key) { return (json_where){where.file, key}; }

ig_status zarr_read_v2(zarr *z, const struct io_file *file, const char *word, size_t bytes)
{
    json_field f[] = {{.name = "zarr_format", .required = true},
                      {.name = "shape", .required = true},
                      {.name = "chunks", .required = true},
                      {.name = "dtype", .required = true},
                      {.name = "compressor", .required = true},
                      {.name = "fill_value", .required = true},
                      {.name = "order", .required = true},
                      {.name = "filters"},
                      {.name = "dimension_separator"}};
    const json_where where = {file, ""};
    int64_t format = 0;
    int n = 0;
    char order = 'C';
    ig_store *s = &z->base;
    z->version = 2;
    z->separator = '.';
    TRY(fields_read(where, (json_part){word, bytes}, f, COUNT(f), REST_ALLOW));
    TRY(json_part_int(at(where, "zarr_format"), f[0].value, 2, 2, &format));
    TRY(json_part_ints(at(where, "shape"), f[1].value, 0, INT64_MAX, s->shape, &s->ndim,
                       IG_MAX_NDIM));
    TRY(json_part_ints(at(where, "chunks"), f[2].value, 1, INT64_MAX, s->chunk, &n, IG_MAX_NDIM));
    if (n != s->ndim)
        return json_wrong(at(where, "chunks"), "it has %d lengths, and the array has %d dimensions",
                          n, s->ndim);
    memcpy(s->shard, s->chunk, sizeof s->shard);
    TRY(dtype_read(at(where, "dtype"), f[3].value, z));
    TRY(compressor_read(at(where, "compressor"), f[4].value, &z->chain));
    if (json_part_kind(f[5].value) != JSON_NULL)
        TRY(zarr_read_fill(at(where, "fill_value"), f[5].value, s->dtype, z->fill));
    TRY(letter_read(at(where, "order"), f[6].value, "CF", &order));
    for (int i = 0; i < s->ndim; i++)
        z->chain.order[i] = order == 'F' ? s->ndim - 1 - i : i;
    if (f[7].value.at && json_part_kind(f[7].value) != JSON_NULL)
        TRY(json_part_each(at(where, "filters"), f[7].value, filter_refuse, NULL));
    if (f[8].value.at)
        TRY(letter_read(at(where, "dimension_separator"), f[8].value, "./", &z->separator));
    return zarr_complete(z, file);
}

ig_status zarr_v2_attributes(place *p, char **attributes)
{
    struct io_file file;
    size_t bytes = 0;
    *attributes = NULL;
    place_name(p, "open", ".zattrs", &file);
    TRY(place_text(p, ".zattrs", attributes, &bytes));
    const ig_status status =
        !*attributes ? IG_OK
        : strlen(*attributes) != bytes
            ? io_fail(&file, IG_ERR_FORMAT, "it has a zero byte; write it again")
            : zarr_check_attributes(&file, *attributes);
    if (status != IG_OK) {
        memory_free(*attributes);
        *attributes = NULL;
    }
    return status;
}
