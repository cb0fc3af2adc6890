/* Sequences and optional values. An optional value with content is the content itself. */
#include "lib/onnx/ops/common.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static ig_onnx_value *sequence_of(onnx_call *c)
{
    ig_onnx_value *v = call_value(c, 0);
    if (ig_onnx_value_kind(v) == IG_ONNX_SEQUENCE)
        return v;
    call_fail(c, IG_ERR_DTYPE, NULL, "input 0 is not a sequence");
    return NULL;
}

/* The position in input i, within [0, n]; negative ones count from the end. -1 after an error. */
static int position_of(onnx_call *c, int i, int n, int64_t otherwise, bool end)
{
    const int64_t given = call_int(c, i, otherwise), at = given < 0 ? given + n : given;
    if (ig_failed())
        return -1;
    if (at >= 0 && at < n + end)
        return (int)at;
    call_fail(c, IG_ERR_INDEX, "position", "%lld is out of range for a sequence of %d items",
              (long long)given, n);
    return -1;
}

/* Returns a list of n items as output 0, retaining them. */
static void list_return(onnx_call *c, ig_onnx_value *const *items, int n, ig_onnx_type type)
{
    for (int i = 0; i < n; i++)
        ig_onnx_value_retain(items[i]);
    ig_onnx_value *v = value_list(IG_ONNX_SEQUENCE, items, n);
    if (v && n == 0)
        v->type = type;
    call_return_value(c, 0, v);
}

void onnx_sequence_construct(onnx_call *c)
{
    const int n = call_inputs(c);
    ig_onnx_value **items = memory_new((size_t)(n + 1) * sizeof *items);
    for (int i = 0; i < n && items; i++)
        items[i] = call_value(c, i);
    if (items)
        list_return(c, items, n, IG_ONNX_UNDEFINED);
    memory_free(items);
}

void onnx_sequence_empty(onnx_call *c)
{
    list_return(c, NULL, 0, call_attribute_type(c, "dtype", IG_ONNX_FLOAT));
}

void onnx_sequence_length(onnx_call *c)
{
    const ig_onnx_value *s = sequence_of(c);
    const int64_t n = s ? s->n : 0;
    if (s)
        call_return_value(c, 0, value_on_host(&n, IG_SCALAR, IG_I64));
}

void onnx_sequence_at(onnx_call *c)
{
    const ig_onnx_value *s = sequence_of(c);
    const int at = s ? position_of(c, 1, s->n, 0, false) : -1;
    if (at >= 0)
        call_return_value(c, 0, ig_onnx_value_retain(s->items[at]));
}

void onnx_sequence_erase(onnx_call *c)
{
    const ig_onnx_value *s = sequence_of(c);
    const int at = s ? position_of(c, 1, s->n, -1, false) : -1;
    ig_onnx_value **items = at >= 0 ? memory_get((size_t)s->n * sizeof *items) : NULL;
    for (int i = 0, k = 0; items && i < s->n; i++)
        if (i != at)
            items[k++] = s->items[i];
    if (items)
        list_return(c, items, s->n - 1, s->type);
    memory_free(items);
}

void onnx_sequence_insert(onnx_call *c)
{
    const ig_onnx_value *s = sequence_of(c);
    ig_onnx_value *item = call_value(c, 1);
    const int at = s ? position_of(c, 2, s->n, s->n, true) : -1;
    ig_onnx_value **items = at >= 0 ? memory_get((size_t)(s->n + 1) * sizeof *items) : NULL;
    for (int i = 0, k = 0; items && i <= s->n; i++)
        items[i] = i == at ? item : s->items[k++];
    if (items)
        list_return(c, items, s->n + 1, s->type);
    memory_free(items);
}

/* ---- SequenceMap ---------------------------------------------------------------------------- */

/* The inputs of the body for item i: items of sequences, and tensors as they are. */
static bool map_inputs(onnx_call *c, int i, ig_onnx_value **in)
{
    for (int k = 0; k < call_inputs(c); k++) {
        ig_onnx_value *v = call_value(c, k);
        const bool list = ig_onnx_value_kind(v) == IG_ONNX_SEQUENCE;
        if (list && i >= v->n) {
            call_fail(c, IG_ERR_SHAPE, NULL, "input %d has %d items, fewer than the first one", k,
                      v->n);
            return false;
        }
        in[k] = list ? v->items[i] : v;
    }
    return true;
}

void onnx_sequence_map(onnx_call *c)
{
    onnx_graph *body = call_attribute_graph(c, "body");
    const ig_onnx_value *s = body ? sequence_of(c) : NULL;
    if (!s)
        return;
    const int n = s->n, n_out = body->n_outputs;
    ig_onnx_value **in = memory_new((size_t)(call_inputs(c) + 1) * sizeof *in);
    ig_onnx_value **one = memory_new((size_t)(n_out + 1) * sizeof *one);
    ig_onnx_value **all = memory_new(((size_t)n * (size_t)n_out + 1) * sizeof *all);
    bool fine = in && one && all;
    for (int i = 0; i < n && fine; i++) {
        fine = map_inputs(c, i, in) && call_run(c, body, in, call_inputs(c), one);
        for (int k = 0; k < n_out && fine; k++)
            all[k * n + i] = one[k]; /* output k of all items is a list */
    }
    for (int k = 0; k < n_out && fine; k++) {
        ig_onnx_value *v = value_list(IG_ONNX_SEQUENCE, all + (size_t)k * (size_t)n, n);
        if (v && n == 0)
            v->type = body->outputs[k].type.element;
        call_return_value(c, k, v);
    }
    for (int i = 0; i < n * n_out && all && !fine; i++)
        ig_onnx_value_release(all[i]);
    memory_free(in);
    memory_free(one);
    memory_free(all);
}

/* ---- splitting and joining ------------------------------------------------------------------- */

void onnx_concat_from_sequence(onnx_call *c)
{
    const ig_onnx_value *s = sequence_of(c);
    const int64_t axis = call_attribute_int(c, "axis", 0);
    const bool stack = call_attribute_bool(c, "new_axis", false);
    if (!s)
        return;
    ig_array **list = memory_get((size_t)(s->n + 1) * sizeof *list);
    for (int i = 0; i < s->n && list; i++) {
        if (s->items[i]->kind != IG_ONNX_TENSOR)
            call_fail(c, IG_ERR_UNSUPPORTED, NULL, "item %d is not a tensor of numbers", i);
        list[i] = s->items[i]->array;
    }
    if (list && s->n == 0)
        call_fail(c, IG_ERR_SHAPE, NULL, "the sequence is empty");
    if (list && !ig_failed())
        call_return_typed(
            c, 0, stack ? ig_stack(list, s->n, (int)axis) : ig_concat(list, s->n, IG_AXES(axis)),
            s->items[0]->type);
    memory_free(list);
}

/* The length of each part along an axis of n elements. */
static ig_ints split_lengths(onnx_call *c, int64_t n)
{
    if (call_has(c, 1) && call_shape(c, 1).n == 1)
        return call_ints(c, 1);
    const int64_t each = call_int(c, 1, 1);
    if (each < 1 && !ig_failed())
        call_fail(c, IG_ERR_SHAPE, "split", "parts of %lld elements", (long long)each);
    if (ig_failed())
        return IG_NONE;
    const int parts = (int)((n + each - 1) / each);
    int64_t *lengths = call_room(c, parts);
    for (int i = 0; i < parts && lengths; i++)
        lengths[i] = i + 1 < parts ? each : n - (int64_t)i * each;
    return (ig_ints){lengths, lengths ? parts : 0};
}

void onnx_split_to_sequence(onnx_call *c)
{
    ig_array *x = call_array(c, 0);
    const ig_onnx_type type = call_type(c, 0);
    const bool keep = call_attribute_bool(c, "keepdims", true) || call_has(c, 1);
    const int axis = x ? op_attribute_axis(c, 0, ig_ndim(x)) : 0;
    const ig_ints lengths = x ? split_lengths(c, ig_dim(x, axis)) : IG_NONE;
    ig_onnx_value **items = memory_new((size_t)(lengths.n + 1) * sizeof *items);
    int64_t at = 0;
    int n = 0;
    for (; n < lengths.n && items && !ig_failed(); n++) {
        ig_array *part = op_part(x, axis, at, at + lengths.v[n]);
        at += lengths.v[n];
        items[n] = value_array(keep ? part : ig_squeeze(part, IG_AXES(axis)), type);
    }
    if (!ig_failed() && at != ig_dim(x, axis))
        call_fail(c, IG_ERR_SHAPE, "split", "the parts have %lld elements of %lld", (long long)at,
                  (long long)ig_dim(x, axis));
    if (items)
        call_return_value(c, 0, value_list(IG_ONNX_SEQUENCE, items, n));
    memory_free(items);
}

/* ---- optional values ------------------------------------------------------------------------ */

void onnx_optional(onnx_call *c)
{
    const onnx_type *type = call_attribute_typed(c, "type");
    ig_onnx_value *v = call_value(c, 0);
    call_return_value(c, 0,
                      v ? ig_onnx_value_retain(v)
                        : value_nothing(type ? type->element : IG_ONNX_UNDEFINED));
}

void onnx_optional_get(onnx_call *c)
{
    if (call_has(c, 0))
        call_return_value(c, 0, ig_onnx_value_retain(call_value(c, 0)));
    else
        call_fail(c, IG_ERR_ARGUMENT, NULL, "the optional value is empty");
}

void onnx_optional_has(onnx_call *c)
{
    const bool has = call_has(c, 0);
    call_return_value(c, 0, value_on_host(&has, IG_SCALAR, IG_BOOL));
}
