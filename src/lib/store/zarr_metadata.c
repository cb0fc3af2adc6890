/* The metadata of Zarr v3 arrays, "zarr.json", as untrusted text. The fields that an array needs are read in an order in
 * which each can be checked by the fields before it. */
#include "lib/store/zarr.h"

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { NAME_BYTES = 64, LEVEL_LIMIT = 1 << 20 };

static json_where at(json_where where, const char *key) { return (json_where){where.file, key}; }

/* {"name": "gzip", "configuration": {...}}, or only the name. */
static ig_status extension_read(json_where where, json_part value, char name[NAME_BYTES],
                                json_part *configuration)
{
    json_field fields[] = {
        {.name = "name", .required = true}, {.name = "configuration"}, {.name = "must_understand"}};
    *configuration = (json_part){"{}", 2};
    if (json_part_kind(value) == JSON_TEXT)
        return json_part_text(where, value, name, NAME_BYTES);
    TRY(fields_read(where, value, fields, COUNT(fields), REST_REFUSE));
    if (fields[1].value.at)
        *configuration = fields[1].value;
    return json_part_text(where, fields[0].value, name, NAME_BYTES);
}

/* ---- fill values ----------------------------------------------------------------------------------- */

/* "0x7fc00000": the bits of an element, most significant first. */
static bool bits_read(const char *word, size_t bytes, unsigned char *out)
{
    char *end;
    if (strncmp(word, "0x", 2) != 0 || strlen(word) != 2 + 2 * bytes ||
        strspn(word + 2, "0123456789abcdefABCDEF") != 2 * bytes)
        return false;
    const uint64_t bits = strtoull(word + 2, &end, 16);
    for (size_t i = 0; i < bytes; i++)
        out[IO_BIG_ENDIAN ? bytes - 1 - i : i] = (unsigned char)(bits >> 8 * i);
    return true;
}

static ig_status float_read(json_where where, json_part value, ig_dtype dtype, unsigned char *out)
{
    json_number number;
    char word[NAME_BYTES];
    if (json_part_kind(value) == JSON_NUMBER) {
        TRY(json_part_number(where, value, &number));
        dtype_store(dtype, out,
                    number.kind == JSON_F64   ? number.as.f
                    : number.kind == JSON_I64 ? (double)number.as.i
                                              : (double)number.as.u);
        return IG_OK;
    }
    TRY(json_part_text(where, value, word, sizeof word));
    if (bits_read(word, ig_dtype_bytes(dtype), out))
        return IG_OK;
    const bool negative = word[0] == '-';
    if (strcmp(word, "NaN") == 0)
        dtype_store(dtype, out, (double)NAN);
    else if (strcmp(word + negative, "Infinity") == 0)
        dtype_store(dtype, out, negative ? -(double)INFINITY : (double)INFINITY);
    else
        return json_wrong(where,
                          "a number, NaN, Infinity, -Infinity or bits such as 0x7f.. are expected");
    return IG_OK;
}

static ig_status integer_read(json_where where, json_part value, ig_dtype dtype, unsigned char *out)
{
    json_number n;
    ig_iinfo info;
    TRY(json_part_number(where, value, &n));
    TRY(ig_iinfo_of(dtype, &info));
    if (n.kind == JSON_F64 && n.as.f == floor(n.as.f) && fabs(n.as.f) < 9e18)
        n = (json_number){.kind = JSON_I64, .as.i = (int64_t)n.as.f};
    if (n.kind == JSON_I64 && n.as.i >= info.min && (n.as.i < 0 || (uint64_t)n.as.i <= info.max)) {
        dtype_store_int(dtype, out, n.as.i);
        return IG_OK;
    }
    if (n.kind != JSON_U64 || n.as.u > info.max)
        return json_wrong(where, "a whole number that fits %s is expected", ig_dtype_name(dtype));
    memcpy(out, &n.as.u, sizeof n.as.u);
    return IG_OK;
}

typedef struct pair {
    ig_dtype part;
    unsigned char *out;
    int n;
} pair;

static ig_status pair_read(void *ctx, json_where where, json_text key, int64_t i, json_part value)
{
    pair *p = ctx;
    (void)key;
    if (i >= 2)
        return json_wrong(where, "a complex number has two parts");
    p->n++;
    return float_read(where, value, p->part, p->out + (size_t)i * ig_dtype_bytes(p->part));
}

ig_status zarr_read_fill(json_where where, json_part value, ig_dtype dtype, unsigned char *out)
{
    memset(out, 0, ZARR_ELEMENT_BYTES);
    if (dtype_is_complex(dtype)) {
        pair p = {dtype_part(dtype), out, 0};
        if (json_part_kind(value) != JSON_ARRAY)
            return float_read(where, value, p.part, out);
        TRY(json_part_each(where, value, pair_read, &p));
        return p.n == 2 ? IG_OK : json_wrong(where, "a complex number has two parts");
    }
    if (dtype == IG_BOOL && json_part_kind(value) == JSON_BOOL) {
        bool truth = false;
        TRY(json_part_bool(where, value, &truth));
        out[0] = truth;
        return IG_OK;
    }
    if (dtype == IG_BOOL) {
        int64_t truth = 0;
        TRY(json_part_int(where, value, 0, 1, &truth));
        out[0] = truth != 0;
        return IG_OK;
    }
    return dtype_is_float(dtype) ? float_read(where, value, dtype, out)
                                 : integer_read(where, value, dtype, out);
}

/* ---- codecs ---------------------------------------------------------------------------------------- */

typedef struct codec_list {
    zarr *z;
    codec_chain *chain;
    int ndim;
    size_t element_bytes;
    enum { TO_ARRAY, TO_BYTES } stage; /* what the codecs so far give */
    bool outer;                        /* the list of the array itself, in which sharding may be */
} codec_list;

static ig_status codecs_read(json_where where, json_part value, codec_list *list);

static ig_status order_read(json_where where, json_part configuration, codec_list *list)
{
    json_field order = {.name = "order", .required = true};
    int64_t axes[IG_MAX_NDIM];
    int now[IG_MAX_NDIM], n = 0;
    unsigned seen = 0;
    TRY(fields_read(where, configuration, &order, 1, REST_REFUSE));
    if (json_part_kind(order.value) == JSON_TEXT) { /* of drafts of v3 */
        char word[4];
        TRY(json_part_text(where, order.value, word, sizeof word));
        if (strcmp(word, "C") != 0 && strcmp(word, "F") != 0)
            return json_wrong(where, "the order is neither \"C\" nor \"F\"");
        n = list->ndim;
        for (int i = 0; i < n; i++)
            axes[i] = *word == 'F' ? n - 1 - i : i;
    } else {
        TRY(json_part_ints(where, order.value, 0, IG_MAX_NDIM - 1, axes, &n, IG_MAX_NDIM));
    }
    for (int i = 0; i < n; i++)
        seen |= 1u << axes[i];
    if (n != list->ndim || seen != (1u << n) - 1)
        return json_wrong(where, "the order does not name each of the %d axes once", list->ndim);
    for (int i = 0; i < n; i++)
        now[i] = list->chain->order[axes[i]];
    memcpy(list->chain->order, now, sizeof now);
    return IG_OK;
}

static ig_status bytes_read(json_where where, json_part configuration, codec_list *list)
{
    json_field endian = {.name = "endian"};
    char word[NAME_BYTES] = "little";
    TRY(fields_read(where, configuration, &endian, 1, REST_REFUSE));
    if (endian.value.at)
        TRY(json_part_text(where, endian.value, word, sizeof word));
    else if (list->element_bytes > 1)
        return json_wrong(where, "the key 'endian' is missing");
    if (strcmp(word, "little") != 0 && strcmp(word, "big") != 0)
        return json_wrong(where, "'endian' is neither \"little\" nor \"big\"");
    list->chain->big = *word == 'b';
    list->stage = TO_BYTES;
    return IG_OK;
}

/* The index of a shard has a fixed size, so its codecs are bytes and checksums. */
static ig_status index_check(json_where where, const codec_chain *index)
{
    for (int i = 0; i < index->n_steps; i++)
        if (index->steps[i].kind != &codec_crc32c)
            return json_wrong(where, "Ingot reads shards whose index_codecs are bytes and crc32c");
    return IG_OK;
}

static ig_status shard_read(json_where where, json_part configuration, codec_list *list)
{
    json_field fields[] = {{.name = "chunk_shape", .required = true},
                           {.name = "codecs", .required = true},
                           {.name = "index_codecs", .required = true},
                           {.name = "index_location"}};
    zarr *z = list->z;
    char word[NAME_BYTES] = "end";
    int n = 0;
    if (!list->outer)
        return json_wrong(where, "Ingot does not read shards inside shards");
    for (int i = 0; i < z->base.ndim; i++)
        if (z->chain.order[i] != i)
            return json_wrong(where, "Ingot does not read shards after a transpose; put it inside");
    TRY(fields_read(where, configuration, fields, COUNT(fields), REST_REFUSE));
    TRY(json_part_ints(where, fields[0].value, 1, INT64_MAX, z->base.chunk, &n, IG_MAX_NDIM));
    if (n != z->base.ndim)
        return json_wrong(where, "chunk_shape has %d lengths, and the array has %d", n,
                          z->base.ndim);
    codec_list inner = {z, &z->chain, z->base.ndim, list->element_bytes, TO_ARRAY, false};
    TRY(codecs_read(where, fields[1].value, &inner));
    codec_list index = {z, &z->index, z->base.ndim + 1, 8, TO_ARRAY, false};
    if (z->base.ndim == IG_MAX_NDIM)
        return json_wrong(where, "Ingot reads shards of up to %d dimensions", IG_MAX_NDIM - 1);
    for (int i = 0; i <= z->base.ndim; i++)
        z->index.order[i] = i;
    TRY(codecs_read(where, fields[2].value, &index));
    TRY(index_check(where, &z->index));
    if (fields[3].value.at)
        TRY(json_part_text(where, fields[3].value, word, sizeof word));
    if (strcmp(word, "start") != 0 && strcmp(word, "end") != 0)
        return json_wrong(where, "index_location is neither \"start\" nor \"end\"");
    z->index_first = *word == 's';
    z->sharded = true;
    list->stage = TO_BYTES;
    return IG_OK;
}

static ig_status shuffle_read(json_where where, json_part value, int *shuffle)
{
    static const char *const names[] = {"noshuffle", "shuffle", "bitshuffle"};
    char word[NAME_BYTES];
    TRY(json_part_text(where, value, word, sizeof word));
    for (*shuffle = 0; *shuffle < COUNT(names); ++*shuffle)
        if (strcmp(names[*shuffle], word) == 0)
            return IG_OK;
    return json_wrong(where, "'shuffle' is not noshuffle, shuffle or bitshuffle");
}

static ig_status step_read(json_where where, const char *name, json_part configuration,
                           codec_list *list)
{
    json_field f[] = {{.name = "level"},    {.name = "checksum"}, {.name = "cname"},
                      {.name = "clevel"},   {.name = "shuffle"},  {.name = "typesize"},
                      {.name = "blocksize"}};
    const codec_kind *kind = codec_find(name, false);
    codec_chain *chain = list->chain;
    if (!kind)
        return json_wrong(where,
                          "Ingot does not know the codec '%s'; it reads bytes, transpose, "
                          "sharding_indexed, crc32c, gzip, zstd and blosc",
                          name);
    if (chain->n_steps == CODEC_STEPS_MAX)
        return json_wrong(where, "Ingot allows %d codecs", CODEC_STEPS_MAX);
    if (list->z->sharded && list->outer)
        return json_wrong(where, "Ingot does not read shards that are compressed as a whole");
    codec_step *step = &chain->steps[chain->n_steps++];
    *step = (codec_step){
        .kind = kind, .level = kind->level, .shuffle = 1, .typesize = (int)list->element_bytes};
    memcpy(step->inner, "lz4", 4);
    TRY(fields_read(where, configuration, f, COUNT(f), REST_REFUSE));
    int64_t number = kind->level;
    const json_part level = f[0].value.at ? f[0].value : f[3].value;
    if (level.at)
        TRY(json_part_int(where, level, -LEVEL_LIMIT, LEVEL_LIMIT, &number));
    step->level = (int)number;
    if (f[1].value.at)
        TRY(json_part_bool(where, f[1].value, &step->checksum));
    if (f[2].value.at)
        TRY(json_part_text(where, f[2].value, step->inner, sizeof step->inner));
    if (f[4].value.at)
        TRY(shuffle_read(where, f[4].value, &step->shuffle));
    if (f[5].value.at) {
        TRY(json_part_int(where, f[5].value, 1, 255, &number));
        step->typesize = (int)number;
    }
    if (f[6].value.at) {
        TRY(json_part_int(where, f[6].value, 0, INT32_MAX, &number));
        step->blocksize = (uint32_t)number;
    }
    return IG_OK;
}

static ig_status codec_read(void *ctx, json_where where, json_text key, int64_t i, json_part value)
{
    codec_list *list = ctx;
    json_part configuration;
    char name[NAME_BYTES];
    (void)key, (void)i;
    TRY(extension_read(where, value, name, &configuration));
    const bool array = strcmp(name, "transpose") == 0;
    const bool both = strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0;
    const bool shard = strcmp(name, "sharding_indexed") == 0;
    if ((array || both || shard) && list->stage == TO_BYTES)
        return json_wrong(where, "the codec '%s' needs an array, but those before it give bytes",
                          name);
    if (array)
        return order_read(where, configuration, list);
    if (both)
        return bytes_read(where, configuration, list);
    if (shard)
        return shard_read(where, configuration, list);
    if (list->stage != TO_BYTES && codec_find(name, false))
        return json_wrong(where, "the codec '%s' needs bytes; put 'bytes' before it", name);
    return step_read(where, name, configuration, list);
}

static ig_status codecs_read(json_where where, json_part value, codec_list *list)
{
    if (json_part_kind(value) != JSON_ARRAY)
        return json_wrong(where, "a list of codecs is expected");
    TRY(json_part_each(where, value, codec_read, list));
    return list->stage == TO_BYTES
               ? IG_OK
               : json_wrong(where, "neither 'bytes' nor 'sharding_indexed' is in the list");
}

/* ---- the array ------------------------------------------------------------------------------------- */

static ig_status dtype_read(json_where where, json_part value, ig_dtype *dtype)
{
    char name[NAME_BYTES];
    json_part configuration;
    TRY(extension_read(where, value, name, &configuration));
    for (int d = IG_BOOL; d < DTYPE_ALL; d++)
        if (strcmp(ig_dtype_std_name((ig_dtype)d), name) == 0) {
            *dtype = (ig_dtype)d;
            return IG_OK;
        }
    return json_wrong(where,
                      "Ingot does not read the dtype '%s'; it reads bool, integers, floats, "
                      "bfloat16, complex64 and complex128",
                      name);
}

static ig_status grid_read(json_where where, json_part value, zarr *z)
{
    json_part configuration;
    char name[NAME_BYTES];
    int n = 0;
    json_field shape = {.name = "chunk_shape", .required = true};
    TRY(extension_read(where, value, name, &configuration));
    if (strcmp(name, "regular") != 0)
        return json_wrong(where, "Ingot reads regular grids, not '%s'", name);
    TRY(fields_read(where, configuration, &shape, 1, REST_REFUSE));
    TRY(json_part_ints(where, shape.value, 1, INT64_MAX, z->base.shard, &n, IG_MAX_NDIM));
    if (n != z->base.ndim)
        return json_wrong(where, "chunk_shape has %d lengths, and the array has %d dimensions", n,
                          z->base.ndim);
    memcpy(z->base.chunk, z->base.shard, sizeof z->base.chunk);
    return IG_OK;
}

static ig_status keys_read(json_where where, json_part value, zarr *z)
{
    json_part configuration;
    char name[NAME_BYTES], word[NAME_BYTES];
    json_field separator = {.name = "separator"};
    TRY(extension_read(where, value, name, &configuration));
    z->prefixed = strcmp(name, "default") == 0;
    if (!z->prefixed && strcmp(name, "v2") != 0)
        return json_wrong(where, "the encoding '%s' is neither default nor v2", name);
    TRY(fields_read(where, configuration, &separator, 1, REST_REFUSE));
    z->separator = z->prefixed ? '/' : '.';
    if (!separator.value.at)
        return IG_OK;
    TRY(json_part_text(where, separator.value, word, sizeof word));
    if (strcmp(word, "/") != 0 && strcmp(word, ".") != 0)
        return json_wrong(where, "the separator is neither \"/\" nor \".\"");
    z->separator = *word;
    return IG_OK;
}

static ig_status node_check(json_where where, const json_field *f)
{
    char node[NAME_BYTES];
    int64_t format = 0;
    TRY(json_part_int(at(where, "zarr_format"), f[0].value, 3, 3, &format));
    TRY(json_part_text(at(where, "node_type"), f[1].value, node, sizeof node));
    if (strcmp(node, "group") == 0)
        return json_wrong(at(where, "node_type"), "it is a group of arrays; name an array in it");
    return strcmp(node, "array") == 0
               ? IG_OK
               : json_wrong(at(where, "node_type"), "'%s' is not an array", node);
}

static ig_status transformer_refuse(void *ctx, json_where where, json_text key, int64_t i,
                                    json_part value)
{
    (void)ctx, (void)key, (void)i, (void)value;
    return json_wrong(where, "Ingot does not read arrays with storage transformers");
}

ig_status zarr_read_v3(zarr *z, const struct io_file *file, const char *word, size_t bytes)
{
    json_field f[] = {{.name = "zarr_format", .required = true},
                      {.name = "node_type", .required = true},
                      {.name = "shape", .required = true},
                      {.name = "data_type", .required = true},
                      {.name = "chunk_grid", .required = true},
                      {.name = "chunk_key_encoding", .required = true},
                      {.name = "fill_value", .required = true},
                      {.name = "codecs", .required = true},
                      {.name = "attributes"},
                      {.name = "storage_transformers"},
                      {.name = "dimension_names"},
                      {.name = "consolidated_metadata"}};
    const json_where where = {file, ""};
    z->version = 3;
    TRY(fields_read(where, (json_part){word, bytes}, f, 2, REST_ALLOW));
    TRY(node_check(where, f));
    TRY(fields_read(where, (json_part){word, bytes}, f, COUNT(f), REST_OPTIONAL));
    TRY(json_part_ints(at(where, "shape"), f[2].value, 0, INT64_MAX, z->base.shape, &z->base.ndim,
                       IG_MAX_NDIM));
    TRY(dtype_read(at(where, "data_type"), f[3].value, &z->base.dtype));
    TRY(grid_read(at(where, "chunk_grid"), f[4].value, z));
    TRY(keys_read(at(where, "chunk_key_encoding"), f[5].value, z));
    TRY(zarr_read_fill(at(where, "fill_value"), f[6].value, z->base.dtype, z->fill));
    for (int i = 0; i < z->base.ndim; i++)
        z->chain.order[i] = i;
    codec_list list = {z, &z->chain, z->base.ndim, ig_dtype_bytes(z->base.dtype), TO_ARRAY, true};
    TRY(codecs_read(at(where, "codecs"), f[7].value, &list));
    if (f[9].value.at)
        TRY(json_part_each(at(where, "storage_transformers"), f[9].value, transformer_refuse,
                           NULL));
    if (f[8].value.at && json_part_kind(f[8].value) != JSON_OBJECT)
        return json_wrong(at(where, "attributes"), "an object is expected");
    if (f[8].value.at && !(z->base.attributes = json_part_copy(f[8].value)))
        return error_waiting(IG_ERR_MEMORY);
    if (f[10].value.at && json_part_kind(f[10].value) == JSON_ARRAY &&
        !(z->dimensions = json_part_copy(f[10].value)))
        return error_waiting(IG_ERR_MEMORY);
    return zarr_complete(z, file);
}

/* ---- checks that hold for all versions ----------------------------------------------------------------- */

static void chain_complete(codec_chain *c, int ndim, const int64_t *shape, size_t element_bytes,
                           size_t swap_bytes)
{
    int64_t stored[IG_MAX_NDIM + 1], strides[IG_MAX_NDIM + 1];
    int64_t stride = (int64_t)element_bytes;
    c->transposed = false;
    for (int i = ndim - 1; i >= 0; i--) {
        stored[i] = shape[c->order[i]];
        strides[i] = stride;
        stride *= stored[i];
        c->transposed |= c->order[i] != i && ndim > 1;
    }
    for (int i = 0; i < ndim && i < IG_MAX_NDIM; i++)
        c->strides[c->order[i]] = strides[i];
    c->bytes = (size_t)stride;
    c->swap_bytes = swap_bytes;
    c->swap = swap_bytes > 1 && c->big != (IO_BIG_ENDIAN != 0);
}

enum { FILES_MOST = 1 << 28 };

ig_status zarr_complete(zarr *z, const struct io_file *file)
{
    ig_store *s = &z->base;
    size_t all = 0, shard = 0;
    const size_t element = ig_dtype_bytes(s->dtype);
    if (!io_measure(s->shape, s->ndim, s->dtype, &all))
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "'shape': the array is larger than Ingot can address; split it");
    if (!io_measure(s->shard, s->ndim, s->dtype, &shard) || shard > PTRDIFF_MAX / 8)
        return io_fail(
            file, IG_ERR_UNSUPPORTED,
            "'chunk_shape': a chunk is larger than Ingot can address; choose smaller ones");
    z->inner_count = 1;
    double files =
        1; /* a missing one is asked for, too, so damaged lengths would take days to read */
    for (int i = 0; i < s->ndim; i++)
        files *= (double)((s->shape[i] - 1) / s->shard[i] + 1);
    if (files > FILES_MOST)
        return io_fail(file, IG_ERR_UNSUPPORTED,
                       "'shape': the array has %.3g chunks, more than %d; if the shape is right, "
                       "write it with larger chunks or shards",
                       files, FILES_MOST);
    for (int i = 0; i < s->ndim; i++) {
        if (s->chunk[i] < 1 || s->shard[i] % s->chunk[i] != 0)
            return io_fail(file, IG_ERR_FORMAT,
                           "'chunk_shape': shards of length %" PRId64
                           " on axis %d are not a multiple of chunks of %" PRId64 "; choose one",
                           s->shard[i], i, s->chunk[i]);
        z->inner_count *= s->shard[i] / s->chunk[i];
    }
    chain_complete(&z->chain, s->ndim, s->chunk, element, io_swap_bytes(s->dtype));
    z->chain.truth = s->dtype == IG_BOOL;
    const size_t most = codec_chain_most(&z->chain);
    s->scratch_bytes = z->chain.bytes + 3 * (uint64_t)most;
    if (z->sharded) {
        int64_t entries[2] = {z->inner_count, 2};
        for (int i = 0; i < s->ndim; i++)
            if (z->index.order[i] != i)
                return io_fail(file, IG_ERR_UNSUPPORTED,
                               "'index_codecs': Ingot does not read a transposed index; write the "
                               "array again");
        z->index.order[1] = 1;
        chain_complete(&z->index, 2, entries, sizeof(uint64_t), sizeof(uint64_t));
        s->scratch_bytes +=
            2 * (uint64_t)codec_chain_most(&z->index) + (uint64_t)z->inner_count * most;
    }
    return IG_OK;
}
