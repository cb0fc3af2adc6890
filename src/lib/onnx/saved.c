/* Values in separate files, as in the test folders of ONNX (onnx-data.proto). */
#include "lib/onnx/rules.h"
#include "lib/onnx/read.h"

#include <inttypes.h>
#include <string.h>

static const message_rule sequence_rule, optional_rule, map_rule;

/* A SequenceProto. An OptionalProto has the same fields, with at most one item. */
struct list_parts {
    int64_t elem_type;
    onnx_tensor *tensors;
    onnx_sparse *sparses;
    onnx_saved *sequences, *maps, *optionals;
    int n_tensors, n_sparses, n_sequences, n_maps, n_optionals;
};

#define PARTS(number, field, rule) \
    { \
        number, FIELD_MESSAGE, true, offsetof(struct list_parts, field), \
            offsetof(struct list_parts, n_##field), #field, rule \
    }
static const field_rule list_fields[] = {
    {2, FIELD_INT, false, offsetof(struct list_parts, elem_type), 0, "elem_type", NULL},
    PARTS(3, tensors, &onnx_tensor_rule),
    PARTS(4, sparses, &onnx_sparse_rule),
    PARTS(5, sequences, &sequence_rule),
    PARTS(6, maps, &map_rule),
    PARTS(7, optionals, &optional_rule)};

static onnx_saved saved_tensor(const onnx_tensor *t)
{
    return (onnx_saved){.kind = t->type == IG_ONNX_STRING ? IG_ONNX_TEXTS : IG_ONNX_TENSOR,
                        .tensor = t,
                        .type = t->type};
}

/* The items of a list, whatever they are. A file has one kind of them. */
static bool list_items(reader *r, const struct list_parts *p, onnx_saved **items, int *n)
{
    *n = p->n_tensors + p->n_sparses + p->n_sequences + p->n_maps + p->n_optionals;
    if (*n != p->n_tensors && *n != p->n_sparses && *n != p->n_sequences && *n != p->n_maps &&
        *n != p->n_optionals)
        return reader_fail(r, IG_ERR_FORMAT, "it has items of several kinds");
    *items = p->sequences ? p->sequences : p->maps ? p->maps : p->optionals;
    if (*items)
        return true;
    onnx_saved *list = onnx_arena_new(r->arena, (size_t)*n, sizeof *list);
    if (!list)
        return false;
    for (int i = 0; i < *n; i++)
        list[i] = p->tensors ? saved_tensor(&p->tensors[i])
                             : (onnx_saved){.kind = IG_ONNX_TENSOR, .sparse = &p->sparses[i]};
    *items = list;
    return true;
}

static bool sequence_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen;
    onnx_saved *s = result;
    s->kind = IG_ONNX_SEQUENCE;
    return list_items(r, scratch, &s->items, &s->n);
}

static bool optional_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen;
    onnx_saved *items;
    int n;
    if (!list_items(r, scratch, &items, &n))
        return false;
    if (n > 1)
        return reader_fail(r, IG_ERR_FORMAT, "an optional value has %d values", n);
    if (n)
        *(onnx_saved *)result = items[0];
    return true;
}

static const message_rule sequence_rule = {OF(onnx_saved, list_fields), .shown = "sequence",
                                           .scratch = sizeof(struct list_parts),
                                           .finish = sequence_finish};
static const message_rule optional_rule = {OF(onnx_saved, list_fields), .shown = "optional value",
                                           .scratch = sizeof(struct list_parts),
                                           .finish = optional_finish};

/* A MapProto. */
struct map_parts {
    int64_t key_type;
    int64_t *keys;
    onnx_bytes *string_keys;
    onnx_saved values;
    int n_keys, n_string_keys;
};

static const field_rule map_fields[] = {
    {2, FIELD_INT, false, offsetof(struct map_parts, key_type), 0, "key_type", NULL},
    {3, FIELD_INT, true, offsetof(struct map_parts, keys), offsetof(struct map_parts, n_keys),
     "keys", NULL},
    {4, FIELD_BYTES, true, offsetof(struct map_parts, string_keys),
     offsetof(struct map_parts, n_string_keys), "string_keys", NULL},
    {5, FIELD_MESSAGE, false, offsetof(struct map_parts, values), 0, "values", &sequence_rule}};

/* The keys of a map as a tensor. */
static onnx_tensor *keys_tensor(reader *r, const struct map_parts *p)
{
    onnx_tensor *t = onnx_arena_new(r->arena, 1, sizeof *t);
    int64_t *shape = onnx_arena_new(r->arena, 1, sizeof *shape);
    const int n = p->n_keys + p->n_string_keys;
    unsigned char *raw = onnx_arena_new(r->arena, (size_t)p->n_keys, 8);
    if (!t || !shape || !raw)
        return NULL;
    shape[0] = n;
    *t = (onnx_tensor){.name = "", .shape = {shape, 1}, .elements = n};
    t->type = p->n_string_keys ? IG_ONNX_STRING : IG_ONNX_INT64;
    t->texts = p->string_keys;
    for (size_t i = 0; i < (size_t)p->n_keys * 8; i++)
        raw[i] = (unsigned char)((uint64_t)p->keys[i / 8] >> i % 8 * 8);
    if (!p->n_string_keys)
        t->raw = (onnx_bytes){(char *)raw, (size_t)p->n_keys * 8};
    return t;
}

static bool map_finish(reader *r, uint64_t seen, void *scratch, void *result)
{
    (void)seen;
    const struct map_parts *p = scratch;
    onnx_saved *s = result;
    if ((p->n_keys && p->n_string_keys) || p->n_keys + p->n_string_keys != p->values.n)
        return reader_fail(r, IG_ERR_FORMAT, "%d keys for %d values", p->n_keys + p->n_string_keys,
                           p->values.n);
    const onnx_tensor *keys = keys_tensor(r, p);
    s->kind = IG_ONNX_MAP;
    s->n = 2;
    s->items = onnx_arena_new(r->arena, 2, sizeof *s->items);
    if (!keys || !s->items)
        return false;
    s->items[0] = saved_tensor(keys);
    s->items[1] = p->values;
    s->items[1].kind = IG_ONNX_SEQUENCE;
    return true;
}

static const message_rule map_rule = {OF(onnx_saved, map_fields), .shown = "map",
                                      .scratch = sizeof(struct map_parts), .finish = map_finish};

bool onnx_read_saved(onnx_arena *a, onnx_bytes in, const char *shown, ig_onnx_kind kind,
                     bool optional, onnx_saved *saved)
{
    reader r = {.arena = a, .shown = shown};
    if (optional)
        return message_read(&r, &optional_rule, in, saved);
    if (kind == IG_ONNX_SEQUENCE)
        return message_read(&r, &sequence_rule, in, saved);
    if (kind == IG_ONNX_MAP)
        return message_read(&r, &map_rule, in, saved);
    onnx_tensor *t = onnx_arena_new(a, 1, sizeof *t);
    if (!t || !message_read(&r, &onnx_tensor_rule, in, t))
        return false;
    *saved = saved_tensor(t);
    return true;
}
