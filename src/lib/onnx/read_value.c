/* Rules of the messages of values: tensors, sparse tensors, types, inputs and outputs. See read.c. */
#include "lib/onnx/rules.h"
#include "lib/onnx/types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- pairs ---------------------------------------------------------------------------------- */

static const field_rule pair_fields[] = {ONE(1, FIELD_TEXT, onnx_pair, key),
                                         ONE(2, FIELD_TEXT, onnx_pair, value)};
const message_rule onnx_pair_rule = {OF(onnx_pair, pair_fields)};

/* ---- tensors -------------------------------------------------------------------------------- */

enum {
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_TEXTS = 6,
    TENSOR_INT64S = 7,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_LOCATION = 14
};

/* A TensorProto. */
struct tensor_parts {
    const char *name;
    int64_t *dims;
    int n_dims;
    int64_t type, location;
    onnx_bytes float_data, int32_data, int64_data, double_data, uint64_data, raw_data, segment;
    onnx_bytes *string_data;
    int n_string_data;
    onnx_pair *external_data;
    int n_external_data;
};

static const field_rule tensor_fields[] = {
    LIST(1, FIELD_INT, struct tensor_parts, dims, n_dims),
    ONE(2, FIELD_INT, struct tensor_parts, type),
    ONE(3, FIELD_BYTES, struct tensor_parts, segment),
    JOIN(TENSOR_FLOATS, FIELD_FIXED32, struct tensor_parts, float_data),
    JOIN(TENSOR_INT32S, FIELD_VARINTS, struct tensor_parts, int32_data),
    LIST(TENSOR_TEXTS, FIELD_BYTES, struct tensor_parts, string_data, n_string_data),
    JOIN(TENSOR_INT64S, FIELD_VARINTS, struct tensor_parts, int64_data),
    ONE(8, FIELD_TEXT, struct tensor_parts, name),
    ONE(TENSOR_RAW, FIELD_BYTES, struct tensor_parts, raw_data),
    JOIN(TENSOR_DOUBLES, FIELD_FIXED64, struct tensor_parts, double_data),
    JOIN(TENSOR_UINT64S, FIELD_VARINTS, struct tensor_parts, uint64_data),
    SUBS(13, struct tensor_parts, external_data, n_external_data, &onnx_pair_rule),
    ONE(TENSOR_LOCATION, FIELD_INT, struct tensor_parts, location)};

/* The number of elements of a shape. Lengths of 0 do not stop the others from counting, because strides are products of
 * them. */
static bool shape_finish(reader *r, const int64_t *dims, int n, ig_ints *shape, int64_t *elements)
{
    int64_t all = 1;
    bool empty = false;
    if (n > IG_MAX_NDIM)
        return reader_fail(r, IG_ERR_UNSUPPORTED, "%d axes; Ingot has at most %d", n, IG_MAX_NDIM);
    for (int i = 0; i < n; i++) {
        if (dims[i] < 0)
            return reader_fail(r, IG_ERR_FORMAT, "axis %d has the length %" PRId64, i, dims[i]);
        empty = empty || dims[i] == 0;
        if (dims[i] > 1 && all > (INT64_MAX >> 8) / dims[i])
            return reader_fail(r, IG_ERR_FORMAT, "its shape has too many elements");
        all *= dims[i] > 1 ? dims[i] : 1;
    }
    static const int64_t none;
    *shape = (ig_ints){n ? dims : &none, n};
    *elements = empty ? 0 : all;
    return true;
}

static onnx_bytes tensor_typed(const struct tensor_parts *p, int field)
{
    switch (field) {
    case TENSOR_FLOATS: return p->float_data;
    case TENSOR_INT32S: return p->int32_data;
    case TENSOR_INT64S: return p->int64_data;
    case TENSOR_DOUBLES: return p->double_data;
    default: return p->uint64_data;
    }
}

/* Fails unless the field has as many numbers as the shape says. Numbers of less than 8 bits share one. */
static bool typed_check(reader *r, const onnx_tensor *t)
{
    const int bits = onnx_type_bits(t->type), field = t->typed_field;
    int64_t wanted = bits < 8 ? (t->elements * bits + 7) / 8 : t->elements, got;
    if (field == TENSOR_FLOATS || field == TENSOR_DOUBLES) {
        wanted *= t->type == IG_ONNX_COMPLEX64 || t->type == IG_ONNX_COMPLEX128 ? 2 : 1;
        got = (int64_t)t->typed.n / (field == TENSOR_FLOATS ? 4 : 8);
    } else {
        got = 0;
        for (size_t i = 0; i < t->typed.n; i++)
            got += !(t->typed.at[i] & 0x80);
    }
    return got == wanted ||
           reader_fail(r, IG_ERR_FORMAT, "it has %" PRId64 " numbers, but its shape needs %" PRId64,
                       got, wanted);
}

static bool raw_check(reader *r, const onnx_tensor *t)
{
    const uint64_t wanted = ((uint64_t)t->elements * (uint64_t)onnx_type_bits(t->type) + 7) / 8;
    if (t->type == IG_ONNX_STRING)
        return reader_fail(r, IG_ERR_FORMAT, "strings cannot be raw data");
    return t->raw.n == wanted ||
           reader_fail(r, IG_ERR_FORMAT, "it has %zu bytes, but %s and its shape need %" PRIu64,
                       t->raw.n, ig_onnx_type_name(t->type), wanted);
}

static bool number_parse(const char *text, uint64_t *value)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 19)
        return false;
    *value = strtoull(text, &end, 10);
    return *end == '\0';
}

static bool external_finish(reader *r, const struct tensor_parts *p, onnx_tensor *t)
{
    const uint64_t wanted = ((uint64_t)t->elements * (uint64_t)onnx_type_bits(t->type) + 7) / 8;
    for (int i = 0; i < p->n_external_data; i++) {
        const onnx_pair *pair = &p->external_data[i];
        bool ok = true;
        if (strcmp(pair->key, "location") == 0)
            t->external.location = pair->value;
        else if (strcmp(pair->key, "offset") == 0)
            ok = number_parse(pair->value, &t->external.offset);
        else if (strcmp(pair->key, "length") == 0)
            ok = number_parse(pair->value, &t->external.bytes) && t->external.bytes == wanted;
        if (!ok)
            return reader_fail(r, IG_ERR_FORMAT,
                               "external data has the %s '%.40s'; its shape needs %" PRIu64
                               " bytes",
                               pair->key, pair->value, wanted);
    }
    if (t->type == IG_ONNX_STRING)
        return reader_fail(r, IG_ERR_FORMAT, "strings cannot be external data");
    t->external.bytes = wanted;
    return t->external.location || reader_fail(r, IG_ERR_FORMAT, "external data has no location");
}

static bool tensor_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    static const int data_fields[] = {TENSOR_FLOATS, TENSOR_INT32S,  TENSOR_TEXTS,
                                      TENSOR_INT64S, TENSOR_DOUBLES, TENSOR_UINT64S};
    const struct tensor_parts *p = scratch;
    onnx_tensor *t = result;
    t->name = p->name;
    if (p->type <= IG_ONNX_UNDEFINED || p->type >= IG_ONNX_TYPES)
        return reader_fail(r, IG_ERR_FORMAT, "its element type %" PRId64 " is unknown", p->type);
    t->type = (ig_onnx_type)p->type;
    if (!shape_finish(r, p->dims, p->n_dims, &t->shape, &t->elements))
        return false;
    if (SEEN(seen, 3))
        return reader_fail(r, IG_ERR_UNSUPPORTED, "it is a segment of a tensor");
    const int field = onnx_type_field(t->type);
    for (int i = 0; i < COUNT(data_fields); i++)
        if (SEEN(seen, data_fields[i]) && data_fields[i] != field)
            return reader_fail(r, IG_ERR_FORMAT, "%s elements are in the field of another type",
                               ig_onnx_type_name(t->type));
    if (SEEN(seen, field) + SEEN(seen, TENSOR_RAW) + (p->location == 1) > 1)
        return reader_fail(r, IG_ERR_FORMAT, "its elements are given twice");
    if (p->location == 1)
        return external_finish(r, p, t);
    if (SEEN(seen, TENSOR_RAW)) {
        t->raw = p->raw_data;
        return raw_check(r, t);
    }
    if (t->type == IG_ONNX_STRING) {
        t->texts = p->string_data;
        return p->n_string_data == t->elements ||
               reader_fail(r, IG_ERR_FORMAT, "it has %d strings, but its shape needs %" PRId64,
                           p->n_string_data, t->elements);
    }
    t->typed_field = field;
    t->typed = tensor_typed(p, field);
    return typed_check(r, t);
}

const message_rule onnx_tensor_rule = {
    OF(onnx_tensor, tensor_fields),         .shown = "tensor",      .least = 2, .name = 8,
    .scratch = sizeof(struct tensor_parts), .finish = tensor_finish};

struct sparse_parts {
    onnx_tensor values, indices;
    int64_t *dims;
    int n_dims;
};

static const field_rule sparse_fields[] = {SUB(1, struct sparse_parts, values, &onnx_tensor_rule),
                                           SUB(2, struct sparse_parts, indices, &onnx_tensor_rule),
                                           LIST(3, FIELD_INT, struct sparse_parts, dims, n_dims)};

static bool sparse_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    const struct sparse_parts *p = scratch;
    onnx_sparse *s = result;
    int64_t elements;
    if (!SEEN(seen, 1) || !SEEN(seen, 2))
        return reader_fail(r, IG_ERR_FORMAT, "it has no values or no indices");
    *s = (onnx_sparse){.values = p->values, .indices = p->indices};
    if (!shape_finish(r, p->dims, p->n_dims, &s->shape, &elements))
        return false;
    const ig_ints at = s->indices.shape;
    const bool flat = at.n == 1, listed = at.n == 2 && at.v[1] == s->shape.n;
    if (s->indices.type != IG_ONNX_INT64 || s->values.shape.n != 1 || !(flat || listed) ||
        at.v[0] != s->values.shape.v[0])
        return reader_fail(r, IG_ERR_FORMAT, "its indices do not match its values");
    return s->values.type != IG_ONNX_STRING || reader_fail(r, IG_ERR_UNSUPPORTED, "it has strings");
}

const message_rule onnx_sparse_rule = {OF(onnx_sparse, sparse_fields), .shown = "sparse tensor",
                                       .least = 4, .scratch = sizeof(struct sparse_parts),
                                       .finish = sparse_finish};

/* ---- types ---------------------------------------------------------------------------------- */

struct dimension {
    int64_t length;
    const char *symbol;
    bool known;
};

static bool dimension_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)r, (void)scratch;
    struct dimension *d = result;
    d->known = SEEN(seen, 1) && d->length >= 0;
    return true;
}

static const field_rule dimension_fields[] = {ONE(1, FIELD_INT, struct dimension, length),
                                              ONE(2, FIELD_TEXT, struct dimension, symbol)};
static const message_rule dimension_rule = {OF(struct dimension, dimension_fields),
                                            .finish = dimension_finish};

struct shape_parts {
    struct dimension *dims;
    int n;
};

static bool type_shape_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen;
    const struct shape_parts *p = scratch;
    onnx_shape *s = result;
    s->ndim = p->n;
    s->dims = onnx_arena_new(r->arena, (size_t)p->n, sizeof *s->dims);
    s->names = onnx_arena_new(r->arena, (size_t)p->n, sizeof *s->names);
    if (!s->dims || !s->names)
        return false;
    for (int i = 0; i < p->n; i++) {
        s->dims[i] = p->dims[i].known ? p->dims[i].length : -1;
        s->names[i] = p->dims[i].symbol[0] ? p->dims[i].symbol : NULL;
    }
    return true;
}

static const field_rule shape_fields[] = {SUBS(1, struct shape_parts, dims, n, &dimension_rule)};
static const message_rule shape_rule = {OF(onnx_shape, shape_fields),
                                        .scratch = sizeof(struct shape_parts),
                                        .finish = type_shape_finish};

/* TypeProto.Tensor, Sequence, Map and Optional. */
struct type_parts {
    int64_t element;
    onnx_shape shape;
    onnx_type *item;
};

static bool tensor_type_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    const struct type_parts *p = scratch;
    onnx_type *t = result;
    if (p->element < 0 || p->element >= IG_ONNX_TYPES)
        return reader_fail(r, IG_ERR_FORMAT, "its element type %" PRId64 " is unknown", p->element);
    t->element = (ig_onnx_type)p->element;
    t->kind = t->element == IG_ONNX_STRING ? IG_ONNX_TEXTS : IG_ONNX_TENSOR;
    t->shape = SEEN(seen, 2) ? p->shape : (onnx_shape){.ndim = -1};
    return true;
}

static const field_rule tensor_type_fields[] = {ONE(1, FIELD_INT, struct type_parts, element),
                                                SUB(2, struct type_parts, shape, &shape_rule)};
static const message_rule tensor_type_rule = {OF(onnx_type, tensor_type_fields),
                                              .scratch = sizeof(struct type_parts),
                                              .finish = tensor_type_finish};

static bool sequence_type_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)r, (void)seen;
    const struct type_parts *p = scratch;
    *(onnx_type *)result =
        (onnx_type){.kind = IG_ONNX_SEQUENCE, .shape = {.ndim = -1}, .item = p->item};
    return true;
}

static bool optional_type_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)r, (void)seen;
    const struct type_parts *p = scratch;
    onnx_type *t = result;
    *t = p->item ? *p->item : (onnx_type){.shape = {.ndim = -1}};
    t->optional = true;
    return true;
}

static const field_rule item_type_fields[] = {
    {1, FIELD_POINTER, false, offsetof(struct type_parts, item), 0, "elem_type", &onnx_type_rule}};
static const message_rule sequence_type_rule = {OF(onnx_type, item_type_fields),
                                                .scratch = sizeof(struct type_parts),
                                                .finish = sequence_type_finish};
static const message_rule optional_type_rule = {OF(onnx_type, item_type_fields),
                                                .scratch = sizeof(struct type_parts),
                                                .finish = optional_type_finish};

static bool map_type_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen;
    const struct type_parts *p = scratch;
    if (p->element < 0 || p->element >= IG_ONNX_TYPES)
        return reader_fail(r, IG_ERR_FORMAT, "its key type %" PRId64 " is unknown", p->element);
    *(onnx_type *)result = (onnx_type){.kind = IG_ONNX_MAP,
                                       .element = (ig_onnx_type)p->element,
                                       .shape = {.ndim = -1},
                                       .item = p->item};
    return true;
}

static const field_rule map_type_fields[] = {
    ONE(1, FIELD_INT, struct type_parts, element),
    {2, FIELD_POINTER, false, offsetof(struct type_parts, item), 0, "value_type", &onnx_type_rule}};
static const message_rule map_type_rule = {OF(onnx_type, map_type_fields),
                                           .scratch = sizeof(struct type_parts),
                                           .finish = map_type_finish};

/* All cases of a TypeProto fill the same structure; a file has one of them. */
struct type_cases {
    onnx_type type;
};

static bool type_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)scratch;
    onnx_type *t = result;
    const uint64_t cases = seen & ((1u << 1) | (1u << 4) | (1u << 5) | (1u << 8) | (1u << 9));
    if (cases & (cases - 1))
        return reader_fail(r, IG_ERR_FORMAT, "its type is given twice");
    if (!cases)
        t->shape.ndim = -1;
    return true;
}

static const field_rule type_fields[] = {SUB(1, struct type_cases, type, &tensor_type_rule),
                                         SUB(4, struct type_cases, type, &sequence_type_rule),
                                         SUB(5, struct type_cases, type, &map_type_rule),
                                         SUB(8, struct type_cases, type, &tensor_type_rule),
                                         SUB(9, struct type_cases, type, &optional_type_rule)};
const message_rule onnx_type_rule = {OF(onnx_type, type_fields), .finish = type_finish};

static bool info_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)r, (void)scratch;
    if (!SEEN(seen, 2))
        ((onnx_value_info *)result)->type.shape.ndim = -1;
    return true;
}

static const field_rule info_fields[] = {ONE(1, FIELD_TEXT, onnx_value_info, name),
                                         SUB(2, onnx_value_info, type, &onnx_type_rule)};
const message_rule onnx_info_rule = {OF(onnx_value_info, info_fields), .shown = "value", .least = 2,
                                     .name = 1, .finish = info_finish};

_Static_assert(sizeof(struct tensor_parts) <= MESSAGE_SCRATCH, "scratch");
_Static_assert(sizeof(struct sparse_parts) <= MESSAGE_SCRATCH, "scratch");
