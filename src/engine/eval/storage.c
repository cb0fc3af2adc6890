/* The public functions of arrays in storage formats. */
#include "ingot/storage.h"

#include "base/error.h"
#include "engine/eval/engine.h"
#include "engine/eval/transfer.h"
#include "engine/ops/ops.h"

/* Fails unless elements of the dtype in whole blocks along the last axis have this storage. */
static ig_status check_packed(const char *what, storage s, ig_dtype dtype, ig_ints shape)
{
    char shown[400];
    if (dtype != IG_F32 && !dtype_is_half(dtype))
        FAIL(IG_ERR_DTYPE, "%s: the dtype must be f32, f16 or bf16, not %s", what,
             ig_dtype_name(dtype));
    const int64_t last = shape.n > 0 ? shape.v[shape.n - 1] : 1;
    if (last % s.block != 0)
        FAIL(IG_ERR_SHAPE,
             "%s: %s has blocks of %d elements, which do not divide the last axis of %s", what,
             storage_rows[s.format].name, s.block, view_shape_text(shape.n, shape.v, shown));
    return IG_OK;
}

/* Takes over b, also on failure. */
static ig_array *packed(storage s, ig_dtype dtype, ig_ints shape, buffer *b)
{
    if (!b)
        return NULL;
    b->stored = s;
    return array_packed(dtype, shape.n, shape.v, b);
}

/* Evaluates x. An array that could not be built has an error already. */
static ig_status evaluated(const char *what, ig_array *x)
{
    if (!x && ig_failed())
        return IG_ERR_ARGUMENT;
    TRY(require_pointer(what, "x", x));
    return ig_eval(&x, 1);
}

ig_status ig_storage_of(ig_array *x, ig_storage *s)
{
    TRY(require_pointer("storage_of", "storage", s));
    TRY(evaluated("storage_of", x));
    const storage stored = array_is_packed(x) ? x->root->data->stored : (storage){0, 1};
    const ig_dtype dtype = (ig_dtype)x->dtype;
    *s = (ig_storage){.size = sizeof *s,
                      .format = storage_rows[stored.format].name,
                      .block = stored.block,
                      .block_bytes = storage_is_plain(stored) ? (int64_t)ig_dtype_bytes(dtype)
                                                              : storage_block_bytes(stored),
                      .bytes = storage_bytes(stored, dtype, view_size(&x->root->view))};
    return IG_OK;
}

ig_array *ig_quantize(ig_array *x, const char *format, int64_t block)
{
    storage s;
    if (evaluated("quantize", x) != IG_OK || storage_find("quantize", format, block, &s) != IG_OK ||
        check_packed("quantize", s, (ig_dtype)x->dtype, ig_shape(x)) != IG_OK)
        return NULL;
    ig_array *wide = x->dtype == IG_F32 ? x : ig_astype(x, IG_F32);
    const float *from = wide ? ig_data(wide) : NULL;
    const int64_t n = view_size(&x->view);
    buffer *b = from ? buffer_new((size_t)storage_bytes(s, IG_F32, n)) : NULL;
    if (!b)
        return NULL;
    storage_pack(s, n, from, b->data);
    const char *before = array_device_follow(x);
    ig_array *y = packed(s, (ig_dtype)x->dtype, ig_shape(x), b);
    array_device_set(before);
    return y;
}

ig_array *ig_from_packed(const char *format, int64_t block, ig_dtype dtype, ig_ints shape,
                         void *data, size_t bytes, void (*release)(void *context), void *context)
{
    storage s;
    int64_t n = 0, needed = 0;
    bool fits = storage_find("from_packed", format, block, &s) == IG_OK &&
                require_list("from_packed", "shape", shape.v, shape.n) == IG_OK &&
                require_pointer("from_packed", "data", data) == IG_OK &&
                check_packed("from_packed", s, dtype, shape) == IG_OK &&
                infer_size(OP_reshape, shape.n, shape.v, dtype, &n) == IG_OK;
    if (fits && (size_t)(needed = storage_bytes(s, dtype, n)) > bytes) {
        ig_fail(IG_ERR_ARGUMENT, "from_packed: the array needs %lld bytes, but data has %zu",
                (long long)needed, bytes);
        fits = false;
    }
    if (fits) /* releases data on failure */
        return packed(s, dtype, shape, buffer_foreign(data, (size_t)needed, release, context));
    if (release)
        release(context);
    return NULL;
}

ig_array *ig_packed_bytes(ig_array *x)
{
    if (evaluated("packed_bytes", x) != IG_OK)
        return NULL;
    if (!array_is_packed(x))
        FAIL_NULL(IG_ERR_ARGUMENT, "packed_bytes: the elements of x are plain; use ig_data");
    buffer *b = x->root->data;
    const int64_t n = (int64_t)b->bytes;
    buffer *to = buffer_new(b->bytes);
    engine_enter();
    const ig_status status = to ? transfer_read(b, 0, to->data, b->bytes) : IG_ERR_MEMORY;
    engine_leave();
    if (status == IG_OK)
        return array_leaf(IG_U8, 1, &n, to);
    buffer_release(to);
    return NULL;
}
