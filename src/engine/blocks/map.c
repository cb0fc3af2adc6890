/* Functions of blocks: ig_map_blocks. The result is a node of blocks with inputs. Its chunks are fixed when it is built,
 * so a function sees the same chunks however the evaluation is cut. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/integer.h"
#include "base/memory.h"
#include "base/sized.h"
#include "engine/ops/complex.h"
#include <string.h>

/* The context of such a source. */
typedef struct call {
    ig_block_map map; /* its lists are not used: */
    int ndim, n_in;
    int64_t shape[IG_MAX_NDIM], chunk[IG_MAX_NDIM], depth[IG_MAX_NDIM];
    int64_t border[IG_MAX_NDIM]; /* elements that were added before the arrays' first */
} call;

static void call_release(void *context)
{
    call *c = context;
    if (c->map.release)
        c->map.release(c->map.context);
    memory_free(c);
}

/* The range of axis `a` of an input, of this length, that the chunks of the results [lo, hi) need. */
static void input_range(const step *s, int a, int64_t length, int64_t *lo, int64_t *hi)
{
    const call *c = s->source->context;
    const int64_t out = s->source->chunk[a], before = c->depth[a] - c->border[a],
                  after = c->depth[a] + c->border[a];
    const int64_t first = *lo / out * c->chunk[a],
                  last = least((*hi + out - 1) / out * c->chunk[a], c->shape[a]);
    *lo = most(first - before, 0);
    *hi = least(last + after, length);
}

box map_input(const step *s, int i, const box *b)
{
    const call *c = s->source->context;
    const view *v = &s->in[i].in->view;
    box out = box_whole(v->ndim, v->shape);
    for (int a = 0; a < c->ndim; a++) {
        out.lo[a] = b->lo[a];
        out.hi[a] = b->hi[a];
        input_range(s, a, v->shape[a], &out.lo[a], &out.hi[a]);
    }
    return out;
}

/* ---- calling ---- */

/* The part `part` of x, whose first element is at `at`; pairs are joined. */
static ig_array *block_of(const call *c, ig_array *x, const box *at, const box *part)
{
    view v = x->view;
    for (int a = 0; a < c->ndim; a++) {
        v.offset += (part->lo[a] - at->lo[a]) * v.stride[a];
        v.shape[a] = part->hi[a] - part->lo[a];
    }
    ig_array *y = array_view(OP_slice, x, &v);
    return v.ndim > c->ndim ? complex_of_pairs(y) : y;
}

/* Checks what the function returned, and cuts off the overlap. */
static ig_array *result_of(const step *s, ig_array *y, const box *chunk, const box *seen)
{
    const call *c = s->source->context;
    char have[400], want[400];
    int64_t whole[IG_MAX_NDIM], start[IG_MAX_NDIM], size[IG_MAX_NDIM];
    bool trims = false;
    for (int a = 0; a < c->ndim; a++) {
        size[a] = chunk->hi[a] - chunk->lo[a];
        start[a] = c->depth[a] ? chunk->lo[a] + c->border[a] - seen->lo[a] : 0;
        whole[a] = c->depth[a] ? seen->hi[a] - seen->lo[a] : size[a];
        trims = trims || c->depth[a];
    }
    if (ig_dtype_of(y) != c->map.dtype || ig_ndim(y) != c->ndim ||
        memcmp(ig_shape(y).v, whole, (size_t)c->ndim * sizeof *whole) != 0)
        FAIL_NULL(IG_ERR_SHAPE,
                  "map_blocks: the function returned %s%s, but its result must be %s%s",
                  ig_dtype_name(ig_dtype_of(y)), view_shape_text(ig_ndim(y), ig_shape(y).v, have),
                  ig_dtype_name(c->map.dtype), view_shape_text(c->ndim, whole, want));
    for (int a = 0; a < c->ndim; a++)
        size[a] += start[a];
    return trims ? ig_slice(y, (ig_ints){start, c->ndim}, (ig_ints){size, c->ndim}, IG_NONE) : y;
}

/* Computes one chunk and copies it to its place in data, which has the box `to`. */
static ig_status call_chunk(const step *s, ig_array *const *in, const box *at, const box *chunk,
                            const box *to, char *data)
{
    const call *c = s->source->context;
    const int ndim = s->root->view.ndim;
    int64_t index[IG_MAX_NDIM];
    box seen = {.lo = {0}};
    ig_array **block = memory_get((size_t)(c->n_in + 1) * sizeof *block);
    if (!block)
        return IG_ERR_MEMORY;
    bool ok = true;
    for (int i = 0; i < c->n_in && ok; i++) {
        seen = map_input(s, i, chunk);
        ok = (block[i] = block_of(c, in[i], &at[i], &seen)) != NULL;
    }
    for (int a = 0; a < c->ndim; a++)
        index[a] = chunk->lo[a] / s->source->chunk[a];
    ig_array *y = ok ? c->map.function(c->map.context, index, block, c->n_in) : NULL;
    memory_free(block);
    if (ok && !y && !ig_failed())
        ig_fail(IG_ERR_ARGUMENT, "map_blocks: the function returned no array");
    y = y ? result_of(s, y, chunk, &seen) : NULL;
    const void *elements = y ? ig_data(y) : NULL;
    if (!elements)
        return error_waiting(IG_ERR_MEMORY);
    box_move(chunk, ndim, ig_dtype_bytes((ig_dtype)s->root->dtype), chunk, elements, to, data);
    return IG_OK;
}

/* The next chunk of those that `all` consists of, in row-major order; false after the last. */
static bool next_chunk(const step *s, const box *all, box *chunk)
{
    const int ndim = s->root->view.ndim;
    int a = ndim - 1;
    while (a >= 0 && chunk->hi[a] >= all->hi[a])
        a--;
    if (a < 0)
        return false;
    chunk->lo[a] = chunk->hi[a];
    for (int k = a + 1; k < ndim; k++)
        chunk->lo[k] = all->lo[k];
    for (int k = a; k < ndim; k++)
        chunk->hi[k] = least(chunk->lo[k] + s->source->chunk[k], all->hi[k]);
    return true;
}

ig_array *map_run(const step *s, ig_array *const *in)
{
    const view *v = &s->root->view;
    const size_t bytes =
        (size_t)box_size(&s->want, v->ndim) * ig_dtype_bytes((ig_dtype)s->root->dtype);
    int64_t shape[IG_MAX_NDIM];
    box *at = memory_get((size_t)(s->n_in + 1) * sizeof *at), chunk = s->want;
    buffer *b = at ? buffer_new(bytes) : NULL;
    ig_status status =
        b ? engine_eval(&block_context, in, s->n_in, NULL, 0) : error_waiting(IG_ERR_MEMORY);
    for (int i = 0; i < s->n_in && at; i++)
        at[i] = map_input(s, i, &s->want);
    for (int a = 0; a < v->ndim; a++) {
        shape[a] = s->want.hi[a] - s->want.lo[a];
        chunk.hi[a] = least(chunk.lo[a] + s->source->chunk[a], s->want.hi[a]);
    }
    for (bool more = bytes > 0; more && status == IG_OK; more = next_chunk(s, &s->want, &chunk)) {
        status = ig_scope_begin();
        if (status == IG_OK) {
            status = call_chunk(s, in, at, &chunk, &s->want, b->data);
            ig_scope_end();
        }
    }
    memory_free(at);
    if (status == IG_OK)
        return array_leaf((ig_dtype)s->root->dtype, v->ndim, shape, b);
    buffer_release(b);
    return NULL;
}

/* ---- building ---- */

/* A list of the map, for each axis; `other` where it is not given. */
static ig_status read_list(const char *name, ig_ints from, ig_ints other, int64_t low, int ndim,
                           int64_t *to)
{
    TRY(require_list("map_blocks", name, from.v ? from.v : other.v, from.v ? from.n : other.n));
    const ig_ints list = from.v ? from : other;
    if (list.n != ndim)
        FAIL(IG_ERR_SHAPE, "map_blocks: %s has %d numbers, but the arrays have %d axes", name,
             list.n, ndim);
    for (int a = 0; a < ndim; a++) {
        if (list.v[a] < low)
            FAIL(IG_ERR_SHAPE, "map_blocks: %s is %lld along axis %d", name, (long long)list.v[a],
                 a);
        to[a] = list.v[a];
    }
    return IG_OK;
}

typedef enum border_kind { NO_BORDER, REFLECT, PERIODIC, NEAREST, CONSTANT, UNKNOWN } border_kind;

static border_kind kind_of_border(const char *boundary)
{
    static const char *const names[] = {"none", "reflect", "periodic", "nearest", "constant"};
    int i = 0;
    while (boundary && i < UNKNOWN && strcmp(boundary, names[i]) != 0)
        i++;
    return (border_kind)i;
}

/* Reads the numbers of the map. out: the result's shape and chunks. */
static ig_status read_map(call *c, const ig_block_map *m, ig_array *first, int64_t *shape,
                          int64_t *chunk)
{
    const ig_ints whole = ig_shape(first);
    const border_kind kind = kind_of_border(m->boundary);
    int64_t none[IG_MAX_NDIM] = {0}, one[IG_MAX_NDIM];
    c->ndim = whole.n;
    for (int a = 0; a < c->ndim; a++) {
        c->shape[a] = whole.v[a];
        one[a] = most(whole.v[a], 1);
    }
    const ig_ints found = m->chunk.v ? m->chunk : ig_chunks_like(first);
    TRY(read_list("chunk", found, (ig_ints){one, c->ndim}, 1, c->ndim, c->chunk));
    TRY(read_list("result_chunk", m->result_chunk, (ig_ints){c->chunk, c->ndim}, 1, c->ndim,
                  chunk));
    TRY(read_list("depth", m->depth, (ig_ints){none, c->ndim}, 0, c->ndim, c->depth));
    if (kind == UNKNOWN)
        FAIL(IG_ERR_ARGUMENT,
             "map_blocks: boundary '%s' is not known; there are reflect, periodic, nearest, "
             "constant "
             "and none",
             m->boundary);
    for (int a = 0; a < c->ndim; a++) {
        c->chunk[a] = least(c->chunk[a], one[a]);
        const bool same = chunk[a] == c->chunk[a] || (!m->result_chunk.v);
        chunk[a] = same ? c->chunk[a] : chunk[a];
        if (c->depth[a] && !same)
            FAIL(IG_ERR_SHAPE,
                 "map_blocks: axis %d has an overlap, so its chunks keep their length", a);
        shape[a] = same ? c->shape[a] : (c->shape[a] + c->chunk[a] - 1) / c->chunk[a] * chunk[a];
        c->border[a] = kind == NO_BORDER || !c->shape[a] ? 0 : c->depth[a];
        if (c->border[a] > c->shape[a] && (kind == REFLECT || kind == PERIODIC))
            FAIL(IG_ERR_SHAPE,
                 "map_blocks: an overlap of %lld is more than the %lld elements of axis %d",
                 (long long)c->depth[a], (long long)c->shape[a], a);
    }
    c->map.dtype = m->dtype ? m->dtype : ig_dtype_of(first);
    if (!ig_dtype_bytes(c->map.dtype))
        FAIL(IG_ERR_DTYPE, "map_blocks: %d is no dtype", (int)m->dtype);
    return IG_OK;
}

/* x as a separate node, if it is a source: a block then reads only both ends of x, not the elements between them. */
static ig_array *read_apart(ig_array *x)
{
    const ig_array *root = x->root;
    if (root->op != OP_blocks || root->n_in || root->data)
        return x;
    const char *device = array_device_follow(x);
    ig_array *again = array_node(OP_blocks, (ig_dtype)root->dtype, root->view.ndim,
                                 root->view.shape, NULL, 0, &root->attr);
    array_device_set(device);
    return again ? array_view(OP_slice, again, &x->view) : NULL;
}

/* The elements [from, to) of an axis of x, in reverse if `turned`. */
static ig_array *piece(ig_array *x, int axis, int64_t from, int64_t to, bool turned)
{
    if (!x)
        return NULL;
    view v = x->view;
    v.offset += (turned ? to - 1 : from) * v.stride[axis];
    v.shape[axis] = to - from;
    v.stride[axis] *= turned ? -1 : 1;
    return array_view(OP_slice, x, &v);
}

/* The d elements before the first (or after the last) of an axis. */
static ig_array *border_of(const call *c, ig_array *x, int axis, int64_t d, bool last)
{
    const int64_t n = x->view.shape[axis];
    int64_t shape[IG_MAX_NDIM];
    memcpy(shape, x->view.shape, (size_t)x->view.ndim * sizeof *shape);
    shape[axis] = d;
    switch (kind_of_border(c->map.boundary)) {
    case REFLECT: return piece(x, axis, last ? n - d : 0, last ? n : d, true);
    case PERIODIC: return piece(read_apart(x), axis, last ? 0 : n - d, last ? d : n, false);
    case NEAREST:
        return ig_broadcast_to(piece(x, axis, last ? n - 1 : 0, last ? n : 1, false),
                               (ig_ints){shape, x->view.ndim});
    default:
        return ig_full((ig_ints){shape, x->view.ndim}, ig_float(c->map.value), (ig_dtype)x->dtype);
    }
}

/* x with a border. */
static ig_array *with_border(const call *c, ig_array *x)
{
    for (int a = 0; a < c->ndim && x; a++) {
        const int64_t d = c->border[a];
        if (d == 0)
            continue;
        ig_array *parts[3] = {border_of(c, x, a, d, false), x, border_of(c, x, a, d, true)};
        x = parts[0] && parts[2] ? ig_concat(parts, 3, IG_AXES(a)) : NULL;
    }
    return x;
}

/* x as the node's input: with a border, and complex elements as pairs. */
static ig_array *input_for(const call *c, ig_array *x)
{
    if (!array_is_complex(x))
        return with_border(c, x);
    const pair p = complex_parts(x);
    call imaginary = *c;
    imaginary.map.value = 0;
    return complex_pairs(complex_make((pair){with_border(c, p.re), with_border(&imaginary, p.im)}));
}

static ig_array *build(call *c, ig_array *const *arrays, int n)
{
    int64_t shape[IG_MAX_NDIM], chunk[IG_MAX_NDIM];
    ig_array **in = memory_get((size_t)(n + 1) * sizeof *in), *y = NULL;
    block_source *s = in ? memory_new(sizeof *s) : NULL;
    bool ok = s != NULL;
    if (ok)
        *s = (block_source){.refs = 1, .release = call_release, .context = c};
    for (int i = 0; i < n && ok; i++)
        in[i] = arrays[i];
    ok = ok && ig_broadcast_arrays(in, n, in) == n &&
         read_map(c, &c->map, in[0], shape, chunk) == IG_OK;
    if (ok) {
        const bool pairs = dtype_is_complex(c->map.dtype);
        uint64_t bytes = 0, elements = 1;
        c->n_in = n;
        s->pairs = pairs;
        s->dtype = pairs ? dtype_part(c->map.dtype) : c->map.dtype;
        s->ndim = c->ndim + pairs;
        for (int a = 0; a < c->ndim; a++) {
            s->shape[a] = shape[a];
            s->chunk[a] = chunk[a];
            elements *= (uint64_t)most(c->chunk[a], chunk[a]) + 2 * (uint64_t)c->depth[a];
        }
        if (pairs)
            s->shape[c->ndim] = s->chunk[c->ndim] = 2;
        bytes = elements * (ig_dtype_bytes(c->map.dtype) * 4);
        for (int i = 0; i < n && ok; i++) {
            bytes += elements * ig_dtype_bytes(ig_dtype_of(in[i]));
            ok = (in[i] = input_for(c, in[i])) != NULL;
        }
        s->scratch = c->map.scratch ? c->map.scratch : bytes;
    }
    if (ok) {
        const node_attr attr = {.source = s};
        y = array_node(OP_blocks, s->dtype, s->ndim, s->shape, in, n, &attr);
        y = y && s->pairs ? complex_of_pairs(y) : y;
    }
    if (s)
        block_source_release(s);
    else
        call_release(c);
    memory_free(in);
    return y;
}

static ig_status check(const ig_block_map *m, ig_array *const *arrays, int n)
{
    TRY(require_pointer("map_blocks", "function", (const void *)(uintptr_t)m->function));
    TRY(require_list("map_blocks", "arrays", arrays, n));
    if (n < 1)
        FAIL(IG_ERR_ARGUMENT, "map_blocks: give at least one array");
    for (int i = 0; i < n; i++)
        TRY(require_pointer("map_blocks", "an array", arrays[i]));
    return IG_OK;
}

ig_array *ig_map_blocks(const ig_block_map *map, ig_array *const *arrays, int n)
{
    ig_block_map own;
    if (require_pointer("map_blocks", "map", map) != IG_OK ||
        sized_read(SIZED(ig_block_map, scratch), &own, map) != IG_OK)
        return NULL;
    call *c = check(&own, arrays, n) == IG_OK ? memory_new(sizeof *c) : NULL;
    if (!c) {
        if (own.release)
            own.release(own.context);
        return NULL;
    }
    c->map = own;
    return build(c, arrays, n);
}
