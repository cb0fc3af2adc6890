/* Temporary files for builders whose shapes depend on data, if the data is too large for memory, and the elements of these
 * files where a mask holds. Nothing is copied to select elements: a block of them reads the part of both files that has
 * them, which is found by the number of elements before each piece of the mask. */
#include "engine/blocks/keep.h"
#include "engine/blocks/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/team.h"
#include "engine/ops/complex.h"
#include <string.h>

enum {
    SHARE =
        16, /* of the limit that all arrays in memory may take; unique needs nine times its input */
    SMALL = 128, /* of what is free; arrays up to that are in memory in any case */
    PIECE = 8192 /* elements of the mask whose number is known */
};

/* The bytes that an array may take in memory; in a team, on the rank that has fewest. All kept arrays together take at most
 * a part of the limit: if each took a part of what is free, later steps of the same builder would not fit. */
static uint64_t room_bytes(void)
{
    const uint64_t limit = ig_memory_limit(), used = ig_memory_used();
    const uint64_t small = (limit > used ? limit - used : 0) / SMALL, all = limit / SHARE;
    uint64_t room = all > used + small ? all - used : small;
    if (team_shares() && team_least(TEAM_MAIN, &room) != IG_OK)
        return 0;
    return room;
}

bool keep_is_large(ig_array *x)
{
    if (!x || array_is_complex(x) || !ig_reads_blocks(x))
        return false;
    const size_t each = ig_dtype_bytes((ig_dtype)x->dtype), place = sizeof(int64_t);
    return (uint64_t)view_size(&x->view) * (each > place ? each : place) > room_bytes();
}

/* ---- files ---- */

static ig_status write_block(void *context, const int64_t *start, const int64_t *size,
                             const void *data)
{
    const block_source *s = context;
    box b;
    for (int a = 0; a < s->ndim; a++)
        b.hi[a] = (b.lo[a] = start[a]) + size[a];
    return spill_write(s, &b, data);
}

/* An array that reads from s, on the device of x. Takes over s. */
static ig_array *array_from(block_source *s, const ig_array *x)
{
    const char *before = array_device_follow(x);
    const node_attr attr = {.source = s};
    ig_array *y = array_node(OP_blocks, s->dtype, s->ndim, s->shape, NULL, 0, &attr);
    array_device_set(before);
    block_source_release(s);
    return y;
}

/* True if any part of x can be read from a source already. */
static bool is_filed(const ig_array *x)
{
    if (x->root->op != OP_blocks || x->root->n_in || x->root->data || x->root->attr.source->pairs ||
        !view_equal(&x->view, &x->root->view))
        return false;
    for (int a = 0; a < x->view.ndim; a++)
        if (x->root->attr.source->chunk[a] != 1)
            return false;
    return true;
}

ig_array *keep_filed(ig_array *x)
{
    if (!x || is_filed(x))
        return x ? x->root : NULL;
    ig_array *like = build_contiguous(x);
    block_source *s = like ? spill_make(like) : NULL;
    if (!s)
        return NULL;
    const ig_block_sink sink = {.size = sizeof sink, .write = write_block, .context = s};
    const ig_block_sink *sinks = &sink;
    ig_status status = team_shares() ? ranks_file_begin(s) : IG_OK;
    if (status == IG_OK)
        status = evaluate_early(ig_eval_to(&x, &sinks, 1));
    memory_trim(); /* the next evaluation has blocks of other sizes */
    if (status == IG_OK && team_shares())
        status = ranks_file_end(s);
    if (status == IG_OK)
        return array_from(s, x);
    block_source_release(s);
    return NULL;
}

/* ---- selections ---- */

/* The elements of a 1-d source, or their places if it is NULL, where a mask holds. */
typedef struct selection {
    block_source *mask, *values;
    int64_t size, pieces;
    int64_t *before; /* elements before each piece, and all */
} selection;

static size_t before_bytes(const selection *s) { return (size_t)(s->pieces + 1) * sizeof(int64_t); }

static void selection_release(void *context)
{
    selection *s = context;
    block_source_release(s->mask);
    block_source_release(s->values);
    if (s->before)
        memory_data_free(s->before, before_bytes(s));
    memory_free(s);
}

/* Copies up to n elements, after the first `skip`, of a piece that begins at `first`. values: its elements, or NULL. Returns
 * how many. */
static int64_t pick(const uint8_t *holds, int64_t length, int64_t skip, int64_t n, int64_t first,
                    const char *values, size_t bytes, char *to)
{
    int64_t made = 0;
    for (int64_t i = 0; i < length && made < n; i++) {
        if (!holds[i] || skip-- > 0)
            continue;
        if (!values)
            memcpy(to + (size_t)made++ * bytes, &(int64_t){first + i}, bytes);
        else if (bytes == 8)
            memcpy(to + (size_t)made++ * 8, values + (size_t)i * 8, 8);
        else if (bytes == 4)
            memcpy(to + (size_t)made++ * 4, values + (size_t)i * 4, 4);
        else
            memcpy(to + (size_t)made++ * bytes, values + (size_t)i * bytes, bytes);
    }
    return made;
}

/* The piece that has element k. */
static int64_t piece_of(const selection *s, int64_t k)
{
    int64_t low = 0, high = s->pieces;
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        *(s->before[middle] <= k ? &low : &high) = middle;
    }
    return low;
}

static ig_status selection_read(void *context, const int64_t *start, const int64_t *size,
                                void *data)
{
    const selection *s = context;
    const size_t bytes = s->values ? ig_dtype_bytes(s->values->dtype) : sizeof(int64_t);
    uint8_t *holds = memory_get(PIECE);
    char *values = s->values ? memory_get(PIECE * bytes) : NULL, *to = data;
    ig_status status = holds && (values || !s->values) ? IG_OK : IG_ERR_MEMORY;
    int64_t k = start[0], end = k + size[0];
    for (int64_t p = piece_of(s, k); k < end && status == IG_OK; p++) {
        const int64_t first = p * PIECE, left = s->size - first, n = left < PIECE ? left : PIECE;
        if (s->before[p + 1] <= k)
            continue;
        status = s->mask->read(s->mask->context, &first, &n, holds);
        if (status == IG_OK && s->values)
            status = s->values->read(s->values->context, &first, &n, values);
        if (status == IG_OK) {
            const int64_t made =
                pick(holds, n, k - s->before[p], end - k, first, values, bytes, to);
            k += made;
            to += (size_t)made * bytes;
        }
    }
    memory_free(holds);
    memory_free(values);
    return status;
}

bool source_is_selection(const block_source *s) { return s->read == selection_read; }

/* Counts the elements of each piece. */
static ig_status selection_count(selection *s)
{
    uint8_t *holds = memory_get(PIECE);
    ig_status status = holds ? IG_OK : IG_ERR_MEMORY;
    s->before[0] = 0;
    for (int64_t p = 0; p < s->pieces && status == IG_OK; p++) {
        const int64_t first = p * PIECE, left = s->size - first, n = left < PIECE ? left : PIECE;
        int64_t count = 0;
        status = s->mask->read(s->mask->context, &first, &n, holds);
        for (int64_t i = 0; i < n && status == IG_OK; i++)
            count += holds[i] != 0;
        s->before[p + 1] = s->before[p] + count;
    }
    memory_free(holds);
    return status;
}

static selection *selection_make(const ig_array *values, const ig_array *mask)
{
    selection *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    s->size = mask->view.shape[0];
    s->pieces = (s->size + PIECE - 1) / PIECE;
    s->mask = block_source_retain(mask->attr.source);
    s->values = values ? block_source_retain(values->attr.source) : NULL;
    s->before = memory_data_get(before_bytes(s));
    if (s->before && selection_count(s) == IG_OK)
        return s;
    selection_release(s);
    return NULL;
}

ig_array *keep_selected(ig_array *values, ig_array *mask)
{
    selection *s = mask ? selection_make(values, mask) : NULL;
    block_source *source = s ? memory_new(sizeof *source) : NULL;
    if (!source) {
        if (s)
            selection_release(s);
        return NULL;
    }
    const ig_dtype dtype = values ? (ig_dtype)values->dtype : IG_I64;
    const size_t bytes = ig_dtype_bytes(dtype);
    *source = (block_source){.refs = 1,
                             .dtype = dtype,
                             .ndim = 1,
                             .shape = {s->before[s->pieces]},
                             .chunk = {1},
                             .read = selection_read,
                             .release = selection_release,
                             .context = s,
                             .scratch = PIECE * (bytes + 1)};
    ig_array *y = array_from(source, mask);
    const bool small = y && (uint64_t)ig_size(y) * bytes <= room_bytes();
    return small && evaluate_arrays(&y, 1) != IG_OK ? NULL : y;
}
