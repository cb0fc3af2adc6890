/* Zarr v3 arrays that are created or opened: their metadata as text, and options of new arrays. */
#include "lib/store/zarr.h"
#include "lib/store/open.h"

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/sized.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 /* of chunks whose shape is not given */ };

static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle"};
enum { SHUFFLES = sizeof shuffles / sizeof *shuffles };

/* ---- metadata as text ------------------------------------------------------------------------------ */

static void ints_write(text *t, const int64_t *list, int n)
{
    text_add(t, "[");
    for (int i = 0; i < n; i++)
        text_add(t, "%s%" PRId64, i ? ", " : "", list[i]);
    text_add(t, "]");
}

/* A float that is not a plain number is written by name, or as bits if it is a NaN with a payload. */
static void float_write(text *t, ig_dtype dtype, const unsigned char *at)
{
    char digits[IG_FLOAT_TEXT];
    unsigned char usual[ZARR_ELEMENT_BYTES];
    const size_t bytes = ig_dtype_bytes(dtype);
    const double value = dtype_fetch(dtype, at);
    dtype_store(dtype, usual, (double)NAN);
    if (isnan(value) && memcmp(usual, at, bytes) != 0) {
        text_add(t, "\"0x");
        for (size_t i = 0; i < bytes; i++)
            text_add(t, "%02x", at[IO_BIG_ENDIAN ? i : bytes - 1 - i]);
        text_add(t, "\"");
    } else if (isnan(value) || isinf(value)) {
        text_add(t, "\"%s\"", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
    } else {
        ig_float_text(value, dtype, digits);
        text_add(t, "%s", digits);
    }
}

static void fill_write(text *t, ig_dtype dtype, const unsigned char *fill)
{
    uint64_t large;
    if (dtype == IG_BOOL) {
        text_add(t, "%s", fill[0] ? "true" : "false");
    } else if (dtype_is_complex(dtype)) {
        const ig_dtype half = dtype_part(dtype);
        text_add(t, "[");
        float_write(t, half, fill);
        text_add(t, ", ");
        float_write(t, half, fill + ig_dtype_bytes(half));
        text_add(t, "]");
    } else if (dtype_is_float(dtype)) {
        float_write(t, dtype, fill);
    } else if (dtype == IG_U64) {
        memcpy(&large, fill, sizeof large);
        text_add(t, "%" PRIu64, large);
    } else {
        text_add(t, "%" PRId64, dtype_fetch_int(dtype, fill));
    }
}

static void step_write(text *t, const codec_step *step)
{
    text_add(t, ", {\"name\": \"%s\"", step->kind->name);
    if (step->kind == &codec_gzip)
        text_add(t, ", \"configuration\": {\"level\": %d}", step->level);
    else if (step->kind == &codec_zstd)
        text_add(t, ", \"configuration\": {\"level\": %d, \"checksum\": %s}", step->level,
                 step->checksum ? "true" : "false");
    else if (step->kind == &codec_blosc)
        text_add(t,
                 ", \"configuration\": {\"typesize\": %d, \"cname\": \"%s\", \"clevel\": %d, "
                 "\"shuffle\": \"%s\", \"blocksize\": %" PRIu32 "}",
                 step->typesize, step->inner, step->level, shuffles[step->shuffle],
                 step->blocksize);
    text_add(t, "}");
}

static void chain_write(text *t, const codec_chain *c, int ndim, size_t element_bytes)
{
    text_add(t, "[");
    if (c->transposed) {
        int64_t order[IG_MAX_NDIM];
        for (int i = 0; i < ndim; i++)
            order[i] = c->order[i];
        text_add(t, "{\"name\": \"transpose\", \"configuration\": {\"order\": ");
        ints_write(t, order, ndim);
        text_add(t, "}}, ");
    }
    text_add(t, "{\"name\": \"bytes\"");
    if (element_bytes > 1)
        text_add(t, ", \"configuration\": {\"endian\": \"%s\"}", c->big ? "big" : "little");
    text_add(t, "}");
    for (int i = 0; i < c->n_steps; i++)
        step_write(t, &c->steps[i]);
    text_add(t, "]");
}

static void codecs_write(text *t, const zarr *z)
{
    const ig_store *s = &z->base;
    const size_t element = ig_dtype_bytes(s->dtype);
    if (!z->sharded) {
        chain_write(t, &z->chain, s->ndim, element);
        return;
    }
    text_add(t, "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": ");
    ints_write(t, s->chunk, s->ndim);
    text_add(t, ", \"codecs\": ");
    chain_write(t, &z->chain, s->ndim, element);
    text_add(t, ", \"index_codecs\": ");
    chain_write(t, &z->index, 1, sizeof(uint64_t));
    text_add(t, ", \"index_location\": \"%s\"}}]", z->index_first ? "start" : "end");
}

char *zarr_write_v3(const zarr *z)
{
    const ig_store *s = &z->base;
    text t = {0};
    text_add(&t, "{\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"shape\": ");
    ints_write(&t, s->shape, s->ndim);
    text_add(&t,
             ",\n  \"data_type\": \"%s\",\n  \"chunk_grid\": {\"name\": \"regular\", "
             "\"configuration\": {\"chunk_shape\": ",
             ig_dtype_std_name(s->dtype));
    ints_write(&t, s->shard, s->ndim);
    text_add(&t,
             "}},\n  \"chunk_key_encoding\": {\"name\": \"%s\", \"configuration\": {\"separator\": "
             "\"%c\"}},\n  \"fill_value\": ",
             z->prefixed ? "default" : "v2", z->separator);
    fill_write(&t, s->dtype, z->fill);
    text_add(&t, ",\n  \"codecs\": ");
    codecs_write(&t, z);
    if (z->dimensions)
        text_add(&t, ",\n  \"dimension_names\": %s", z->dimensions);
    text_add(&t, ",\n  \"attributes\": %s,\n  \"storage_transformers\": []\n}\n",
             s->attributes ? s->attributes : "{}");
    return text_take(&t);
}

/* Replaces one value of the text, which is valid JSON. */
static char *attributes_splice(const char *old, size_t bytes, json_part part,
                               const char *attributes)
{
    text t = {0};
    if (part.at) {
        const size_t before = (size_t)(part.at - old);
        text_add(&t, "%.*s%s%.*s", (int)before, old, attributes, (int)(bytes - before - part.bytes),
                 part.at + part.bytes);
    } else {
        const char *open = strchr(old, '{');
        text_add(&t, "{\n  \"attributes\": %s,%.*s", attributes,
                 (int)(bytes - (size_t)(open + 1 - old)), open + 1);
    }
    return text_take(&t);
}

ig_status zarr_metadata_edit(place *p, const char *attributes)
{
    struct io_file file;
    char *old = NULL, *edited = NULL;
    size_t bytes = 0;
    json_field field = {.name = "attributes"};
    place_name(p, "save", "zarr.json", &file);
    TRY(zarr_check_attributes(&file, attributes));
    ig_status status = place_text(p, "zarr.json", &old, &bytes);
    if (status == IG_OK && !old)
        status = io_fail(&file, IG_ERR_FILE, "it is not there any more; create it again");
    if (status == IG_OK)
        status =
            fields_read((json_where){&file, ""}, (json_part){old, bytes}, &field, 1, REST_ALLOW);
    if (status == IG_OK && !(edited = attributes_splice(old, bytes, field.value, attributes)))
        status = error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = place_put(p, "zarr.json", &(piece){edited, strlen(edited)}, 1);
    memory_free(edited);
    memory_free(old);
    return status;
}

ig_status zarr_check_attributes(const struct io_file *file, const char *attributes)
{
    const json_part part = {attributes, strlen(attributes)};
    const json_where where = {file, "attributes"};
    TRY(json_part_check(where, part));
    return json_part_kind(part) == JSON_OBJECT ? IG_OK : json_wrong(where, "an object is expected");
}

ig_status zarr_put_attributes(zarr *z, const char *attributes)
{
    TRY(zarr_metadata_edit(z->place, attributes));
    char *copy = memory_text(attributes);
    if (!copy)
        return error_waiting(IG_ERR_MEMORY);
    memory_free(z->base.attributes);
    z->base.attributes = copy;
    return IG_OK;
}

/* ---- options ------------------------------------------------------------------------------------------- */

/* The part of a word up to the next colon; *rest is what follows, NULL if there is none. */
static char *word_part(char **rest)
{
    char *part = *rest, *colon = part ? strchr(part, ':') : NULL;
    if (colon)
        *colon++ = 0;
    *rest = colon;
    return part;
}

static ig_status level_parse(const struct io_file *file, const codec_kind *kind, const char *part,
                             int *level)
{
    char *end = NULL;
    const long value = strtol(part, &end, 10);
    if (kind->level_min == kind->level_max)
        return io_fail(file, IG_ERR_ARGUMENT, "codecs: '%s' has no level; leave ':%s' out",
                       kind->name, part);
    if (end == part || *end || value < kind->level_min || value > kind->level_max)
        return io_fail(file, IG_ERR_ARGUMENT,
                       "codecs: the level '%s' of '%s' is not a number from %d to %d; choose one",
                       part, kind->name, kind->level_min, kind->level_max);
    *level = (int)value;
    return IG_OK;
}

static ig_status shuffle_parse(const struct io_file *file, const char *part, int *shuffle)
{
    for (int i = 0; i < SHUFFLES; i++)
        if (strcmp(part, shuffles[i]) == 0) {
            *shuffle = i;
            return IG_OK;
        }
    return io_fail(file, IG_ERR_ARGUMENT,
                   "codecs: '%s' after the level of blosc is not noshuffle, shuffle or bitshuffle; "
                   "choose one of these",
                   part);
}

/* "zstd:5" or "blosc:lz4:5:shuffle". */
static ig_status step_parse(zarr *z, const struct io_file *file, char *word)
{
    codec_chain *c = &z->chain;
    char *rest = word;
    const char *name = word_part(&rest);
    const codec_kind *kind = codec_find(name, false);
    if (!kind)
        return io_fail(file, IG_ERR_ARGUMENT,
                       "codecs: '%s' is not none, zstd, gzip, blosc, crc32c, big or transpose; "
                       "choose one of these",
                       name);
    if (c->n_steps == CODEC_STEPS_MAX)
        return io_fail(file, IG_ERR_ARGUMENT, "codecs: more than %d are given; leave some out",
                       CODEC_STEPS_MAX);
    codec_step *step = &c->steps[c->n_steps++];
    *step = (codec_step){
        .kind = kind, .level = kind->level, .typesize = (int)ig_dtype_bytes(z->base.dtype)};
    step->shuffle = step->typesize > 1 ? 1 : 2; /* as zarr-python chooses */
    snprintf(step->inner, sizeof step->inner, "lz4");
    if (kind == &codec_blosc && rest && *rest >= 'a')
        snprintf(step->inner, sizeof step->inner, "%s", word_part(&rest));
    if (rest)
        TRY(level_parse(file, kind, word_part(&rest), &step->level));
    if (rest && kind == &codec_blosc)
        TRY(shuffle_parse(file, word_part(&rest), &step->shuffle));
    return !rest ? IG_OK
                 : io_fail(file, IG_ERR_ARGUMENT, "codecs: ':%s' follows '%s'; leave it out", rest,
                           name);
}

ig_status zarr_read_codecs(zarr *z, const struct io_file *file, const char *codecs)
{
    char words[256];
    if (!codecs)
        codecs = codec_zstd.find() ? "zstd" : "none";
    if (strlen(codecs) >= sizeof words)
        return io_fail(file, IG_ERR_ARGUMENT, "codecs: the list is too long; leave some out");
    memcpy(words, codecs, strlen(codecs) + 1);
    for (char *word = words, *next; word; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        if (strcmp(word, "none") == 0 || *word == 0)
            continue;
        if (strcmp(word, "big") == 0)
            z->chain.big = true;
        else if (strcmp(word, "transpose") == 0)
            for (int i = 0; i < z->base.ndim; i++)
                z->chain.order[i] = z->base.ndim - 1 - i;
        else
            TRY(step_parse(z, file, word));
    }
    return IG_OK;
}

/* Halves the longest side of the array until a chunk has about CHUNK_BYTES. */
static void chunk_choose(ig_store *s)
{
    double bytes = (double)ig_dtype_bytes(s->dtype);
    for (int i = 0; i < s->ndim; i++) {
        s->chunk[i] = s->shape[i] > 0 ? s->shape[i] : 1;
        bytes *= (double)s->chunk[i];
    }
    while (bytes > CHUNK_BYTES) {
        int longest = 0;
        for (int i = 1; i < s->ndim; i++)
            longest = s->chunk[i] > s->chunk[longest] ? i : longest;
        if (s->chunk[longest] == 1)
            break;
        bytes /= (double)s->chunk[longest];
        s->chunk[longest] = (s->chunk[longest] + 1) / 2;
        bytes *= (double)s->chunk[longest];
    }
}

/* The chunks or shards of the options. unit (may be NULL) is the shape that they are multiples of. */
static ig_status lengths_take(const ig_store *s, const struct io_file *file, const char *what,
                              ig_ints list, const int64_t *unit, int64_t *out)
{
    if (list.n != s->ndim)
        return io_fail(
            file, IG_ERR_SHAPE,
            "%s: the number of lengths is %d, and the array has %d dimensions; give one for "
            "each",
            what, list.n, s->ndim);
    for (int i = 0; i < s->ndim; i++) {
        const int64_t one = unit ? unit[i] : 1, whole = s->shape[i] > 0 ? s->shape[i] : 1;
        out[i] = list.v[i] == -1 ? (whole + one - 1) / one * one : list.v[i];
        if (out[i] < 1)
            return io_fail(file, IG_ERR_SHAPE,
                           "%s: the length %" PRId64
                           " on axis %d is not positive; give a larger one, or -1 for the whole "
                           "axis",
                           what, list.v[i], i);
        if (out[i] % one != 0)
            return io_fail(file, IG_ERR_SHAPE,
                           "%s: the length %" PRId64
                           " on axis %d is not a multiple of the length of chunks, %" PRId64
                           "; choose a multiple",
                           what, list.v[i], i, one);
    }
    return IG_OK;
}

/* The fill value must be an element of the dtype: a rounded float is one, 300 as u8 is not. */
static ig_status fill_take(zarr *z, const struct io_file *file, double value)
{
    const ig_dtype dtype = dtype_part(z->base.dtype);
    const int bits = 8 * (int)ig_dtype_bytes(dtype) - (dtype_kind_of(dtype) == DTYPE_KIND_SIGNED);
    dtype_store(dtype, z->fill, value);
    if (!dtype_is_float(dtype) &&
        (!(dtype_fetch(dtype, z->fill) == value) || value >= ldexp(1, bits)))
        return io_fail(file, IG_ERR_ARGUMENT,
                       "fill_value: %.17g is not a number of the dtype %s; choose one that is",
                       value, ig_dtype_std_name(dtype));
    return IG_OK;
}

static ig_status dimension_check(void *count, json_where where, json_text key, int64_t i,
                                 json_part value)
{
    (void)key, (void)i;
    ++*(int *)count;
    const json_kind kind = json_part_kind(value);
    return kind == JSON_TEXT || kind == JSON_NULL ? IG_OK
                                                  : json_wrong(where, "a name or null is expected");
}

static ig_status dimensions_take(zarr *z, const struct io_file *file, const char *names)
{
    const json_where where = {file, "dimension_names"};
    const json_part part = {names, strlen(names)};
    int count = 0;
    TRY(json_part_check(where, part));
    if (json_part_kind(part) != JSON_ARRAY)
        return json_wrong(where, "a list of names is expected");
    TRY(json_part_each(where, part, dimension_check, &count));
    if (count != z->base.ndim)
        return io_fail(
            file, IG_ERR_ARGUMENT,
            "dimension_names: the number of names is %d, and the array has %d dimensions; "
            "give one for each",
            count, z->base.ndim);
    return (z->dimensions = memory_text(names)) ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status options_read(zarr *z, const struct io_file *file, ig_ints shape, ig_dtype dtype,
                              const ig_store_options *o)
{
    ig_store *s = &z->base;
    if (shape.n < 0 || shape.n > IG_MAX_NDIM || !ig_dtype_bytes(dtype))
        return io_fail(file, IG_ERR_ARGUMENT,
                       "the shape or the dtype is not valid; see ig_store_create");
    z->version = 3;
    z->prefixed = true;
    z->separator = '/';
    s->dtype = dtype;
    s->ndim = shape.n;
    for (int i = 0; i < s->ndim; i++) {
        if (!shape.v || shape.v[i] < 0)
            return io_fail(file, IG_ERR_SHAPE, "the shape has no length on axis %d; give one", i);
        s->shape[i] = shape.v[i];
        z->chain.order[i] = i;
    }
    if (o && o->chunk.v)
        TRY(lengths_take(s, file, "chunks", o->chunk, NULL, s->chunk));
    else
        chunk_choose(s);
    z->sharded = o && o->shard.v;
    memcpy(s->shard, s->chunk, sizeof s->shard);
    if (z->sharded) {
        TRY(lengths_take(s, file, "shards", o->shard, s->chunk, s->shard));
        if (s->ndim == IG_MAX_NDIM)
            return io_fail(file, IG_ERR_UNSUPPORTED,
                           "shards: arrays of more than %d dimensions have none; leave them out",
                           IG_MAX_NDIM - 1);
        for (int i = 0; i <= s->ndim; i++)
            z->index.order[i] = i;
        z->index.n_steps = 1;
        z->index.steps[0] = (codec_step){.kind = &codec_crc32c};
    }
    TRY(zarr_read_codecs(z, file, o ? o->codecs : NULL));
    if (o && o->fill)
        TRY(fill_take(z, file, *o->fill));
    if (o && o->attributes) {
        TRY(zarr_check_attributes(file, o->attributes));
        if (!(s->attributes = memory_text(o->attributes)))
            return error_waiting(IG_ERR_MEMORY);
    }
    if (o && o->dimensions)
        TRY(dimensions_take(z, file, o->dimensions));
    return zarr_complete(z, file);
}

/* ---- what would be written ---------------------------------------------------------------------------- */

ig_store *zarr_sketch(const char *path, ig_ints shape, ig_dtype dtype, const ig_store_options *o)
{
    struct io_file file = {.verb = "save"};
    zarr *z = memory_new(sizeof *z);
    if (!z)
        return NULL;
    io_show(path, file.shown);
    if (options_read(z, &file, shape, dtype, o) == IG_OK &&
        codec_chain_ready(&z->chain, &file) == IG_OK)
        return &z->base;
    zarr_sketch_free(&z->base);
    return NULL;
}

void zarr_sketch_free(ig_store *s)
{
    if (s)
        memory_free(((zarr *)s)->dimensions);
    store_free(s); /* it has no kind, so nothing is closed */
}

static void shape_write(text *t, const int64_t *list, int n)
{
    text_add(t, "(");
    for (int i = 0; i < n; i++)
        text_add(t, "%s%" PRId64 "%s", i ? ", " : "", list[i], n == 1 ? "," : "");
    text_add(t, ")");
}

void zarr_sketch_text(const ig_store *s, uint64_t scratch, text *t)
{
    const zarr *z = (const zarr *)s;
    const codec_chain *c = &z->chain;
    char size[SIZE_ROOM];
    text_add(t, "store chunks ");
    shape_write(t, s->chunk, s->ndim);
    if (z->sharded) {
        text_add(t, " in shards ");
        shape_write(t, s->shard, s->ndim);
    }
    text_add(t, ", codecs %s%s%s", c->big ? "big," : "", c->transposed ? "transpose," : "",
             c->n_steps ? "" : "none");
    for (int i = 0; i < c->n_steps; i++) {
        const codec_step *step = &c->steps[i];
        text_add(t, "%s%s", i ? "," : "", step->kind->name);
        if (step->kind == &codec_blosc)
            text_add(t, ":%s", step->inner);
        if (step->kind->level_min != step->kind->level_max)
            text_add(t, ":%d", step->level);
        if (step->kind == &codec_blosc)
            text_add(t, ":%s", shuffles[step->shuffle]);
    }
    text_add(t, ", encoding %s of the peak\n", size_text(scratch, size));
}

/* ---- opening and creating -------------------------------------------------------------------------------- */

zarr *zarr_new(place *p)
{
    zarr *z = memory_new(sizeof *z);
    if (!z) {
        place_close(p);
        return NULL;
    }
    struct io_file file;
    z->place = p;
    z->base.kind = &zarr_kind;
    for (int i = 0; i < ZARR_LOCKS; i++)
        pthread_mutex_init(&z->locks[i], NULL);
    place_name(p, "open", "", &file);
    memcpy(z->base.shown, file.shown, sizeof file.shown);
    return z;
}

/* Reads the metadata of either version; *absent if there is none. */
static ig_status metadata_read(zarr *z, bool *absent)
{
    struct io_file file;
    char *source = NULL;
    size_t bytes = 0;
    *absent = false;
    place_name(z->place, "open", "zarr.json", &file);
    ig_status status = place_text(z->place, "zarr.json", &source, &bytes);
    if (status == IG_OK && source) {
        status = zarr_read_v3(z, &file, source, bytes);
    } else if (status == IG_OK) {
        place_name(z->place, "open", ".zarray", &file);
        status = place_text(z->place, ".zarray", &source, &bytes);
        *absent = status == IG_OK && !source;
        if (status == IG_OK && source)
            status = zarr_read_v2(z, &file, source, bytes);
        if (status == IG_OK && source)
            status = zarr_v2_attributes(z->place, &z->base.attributes);
    }
    memory_free(source);
    if (status == IG_OK && !*absent)
        status = codec_chain_ready(&z->chain, &file);
    return status;
}

ig_store *zarr_open(place *p, bool *absent)
{
    zarr *z = zarr_new(p);
    if (!z)
        return NULL;
    if (metadata_read(z, absent) != IG_OK || *absent) {
        store_free(&z->base);
        return NULL;
    }
    z->base.writable = z->version == 3 && place_is_folder(p);
    return &z->base;
}

/* An array is there already: it must be the same one. */
static ig_status existing_check(const zarr *wanted, const ig_store *there,
                                const struct io_file *file)
{
    char *a = zarr_write_v3(wanted), *b = zarr_write_v3((const zarr *)there);
    ig_status status = a && b ? IG_OK : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK && (((const zarr *)there)->version != 3 || strcmp(a, b) != 0))
        status =
            io_fail(file, IG_ERR_FILE,
                    "an array with other metadata is there; remove it or choose another place");
    memory_free(a);
    memory_free(b);
    return status;
}

/* Deletes the array at a place: its metadata first, so that no half of it can be opened. */
static ig_status existing_remove(place *p, const ig_store *there)
{
    const zarr *z = (const zarr *)there;
    TRY(place_remove(p, z->version == 3 ? "zarr.json" : ".zarray"));
    if (z->prefixed)
        return place_remove(p, "c");
    return zarr_remove_cells(p);
}

static ig_status existing_meet(zarr *z, const ig_store_options *o, const struct io_file *file,
                               bool *keep)
{
    const ig_store_existing existing = o ? o->existing : IG_STORE_KEEP;
    bool absent = false;
    place *again = place_open(place_path(z->place), false);
    ig_store *there = again ? zarr_open(again, &absent) : NULL;
    *keep = false;
    if (!there)
        return absent ? IG_OK : error_waiting(IG_ERR_FILE);
    ig_status status;
    if (existing == IG_STORE_REFUSE)
        status =
            io_fail(file, IG_ERR_FILE,
                    "an array is there already; overwrite it, remove it or choose another place");
    else if (existing == IG_STORE_REPLACE)
        status = existing_remove(z->place, there);
    else
        status = existing_check(z, there, file);
    *keep = status == IG_OK && existing == IG_STORE_KEEP;
    ig_store_close(there);
    return status;
}

static ig_status metadata_write(const zarr *z)
{
    char *source = zarr_write_v3(z);
    if (!source)
        return error_waiting(IG_ERR_MEMORY);
    const ig_status status = place_put(z->place, "zarr.json", &(piece){source, strlen(source)}, 1);
    memory_free(source);
    return status;
}

static ig_status create(zarr *z, ig_ints shape, ig_dtype dtype, const ig_store_options *o)
{
    struct io_file file;
    bool keep = false;
    place_name(z->place, "save", "", &file);
    TRY(options_read(z, &file, shape, dtype, o));
    TRY(codec_chain_ready(&z->chain, &file));
    TRY(existing_meet(z, o, &file, &keep));
    zarr_clean(z);
    return keep ? IG_OK : metadata_write(z);
}

ig_store *ig_store_create(const char *path, ig_ints shape, ig_dtype dtype,
                          const ig_store_options *options)
{
    if (!path || !*path)
        FAIL_NULL(IG_ERR_ARGUMENT, "ig_store_create: no path is given; name one");
    ig_store_options known = {0};
    if (options && sized_read(SIZED(ig_store_options, dimensions), &known, options) != IG_OK)
        return NULL;
    place *p = place_open(path, true);
    zarr *z = p ? zarr_new(p) : NULL;
    if (!z)
        return NULL;
    if (create(z, shape, dtype, options ? &known : NULL) != IG_OK) {
        store_free(&z->base);
        return NULL;
    }
    z->base.writable = true;
    return &z->base;
}
