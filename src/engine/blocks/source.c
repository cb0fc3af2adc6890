/* Sources: ig_from_blocks. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "engine/ops/complex.h"

ig_status block_read(const block_source *s, const box *b, void *to)
{
    int64_t size[IG_MAX_NDIM];
    for (int i = 0; i < s->ndim; i++)
        size[i] = b->hi[i] - b->lo[i];
    return box_size(b, s->ndim) ? s->read(s->context, b->lo, size, to) : IG_OK;
}

buffer *source_part(const block_source *s, const void *all, const box *b,
                    void (*release)(void *owner), void *owner)
{
    const box whole = box_whole(s->ndim, s->shape);
    const size_t bytes = ig_dtype_bytes(s->dtype);
    int64_t stride[IG_MAX_NDIM];
    box_strides_of(&whole, s->ndim, stride);
    const char *first =
        (const char *)all + (size_t)box_place_in(&whole, stride, b, s->ndim) * bytes;
    buffer *part = buffer_foreign((void *)(uintptr_t)first, (size_t)box_size(b, s->ndim) * bytes,
                                  release, owner);
    if (part)
        part->borrowed = true;
    return part;
}

static void release_source(void *owner) { block_source_release(owner); }

static buffer *data_alias(block_source *s, const box *b)
{
    return s->data && box_is_run(b, s->ndim, s->shape)
               ? source_part(s, s->data, b, release_source, block_source_retain(s))
               : NULL;
}

static ig_status check(const ig_blocks *b)
{
    int64_t size;
    TRY(require_pointer("from_blocks", "read", (const void *)(uintptr_t)b->read));
    TRY(require_list("from_blocks", "shape", b->shape.v, b->shape.n));
    if (!ig_dtype_bytes(b->dtype))
        FAIL(IG_ERR_DTYPE, "from_blocks: %d is no dtype", (int)b->dtype);
    const int most = IG_MAX_NDIM - dtype_is_complex(b->dtype);
    if (b->shape.n > most)
        FAIL(IG_ERR_SHAPE, "from_blocks: %d axes, but there are at most %d", b->shape.n, most);
    TRY(infer_size(OP_reshape, b->shape.n, b->shape.v, b->dtype, &size));
    if (b->chunk.v && b->chunk.n != b->shape.n)
        FAIL(IG_ERR_SHAPE, "from_blocks: chunks have %d axes, but the array has %d", b->chunk.n,
             b->shape.n);
    for (int i = 0; b->chunk.v && i < b->chunk.n; i++)
        if (b->chunk.v[i] <= 0)
            FAIL(IG_ERR_SHAPE, "from_blocks: chunks have the length %lld along axis %d",
                 (long long)b->chunk.v[i], i);
    return IG_OK;
}

ig_array *ig_from_blocks(const ig_blocks *blocks)
{
    ig_blocks own, *b = &own;
    if (require_pointer("from_blocks", "blocks", blocks) != IG_OK ||
        sized_read(SIZED(ig_blocks, scratch), &own, blocks) != IG_OK)
        return NULL;
    block_source *s = check(b) == IG_OK ? memory_new(sizeof *s) : NULL;
    if (!s) {
        if (b->release)
            b->release(b->context);
        return NULL;
    }
    const bool pairs = dtype_is_complex(b->dtype);
    s->refs = 1;
    s->dtype = !pairs ? b->dtype : b->dtype == IG_C64 ? IG_F32 : IG_F64;
    s->ndim = b->shape.n + pairs;
    s->pairs = pairs;
    for (int i = 0; i < b->shape.n; i++) {
        s->shape[i] = b->shape.v[i];
        s->chunk[i] = b->chunk.v ? b->chunk.v[i] : 1;
    }
    if (pairs)
        s->shape[s->ndim - 1] = s->chunk[s->ndim - 1] = 2;
    s->scratch = b->scratch;
    s->concurrent = b->concurrent;
    s->read = b->read;
    s->alias = data_alias;
    s->release = b->release;
    s->context = b->context;
    s->data = b->data;
    const node_attr attr = {.source = s};
    ig_array *x = array_node(OP_blocks, s->dtype, s->ndim, s->shape, NULL, 0, &attr);
    block_source_release(s);
    return x && pairs ? complex_of_pairs(x) : x;
}
