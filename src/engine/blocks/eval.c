/* The functions of ingot/blocks.h that evaluate, and the evaluation by blocks that other graphs need. */
#include "engine/blocks/keep.h"
#include "engine/blocks/plan.h"
#include "engine/blocks/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "engine/ops/complex.h"
#include <string.h>

/* True if several devices compute a stage together. */
static bool is_divided(const block_plan *p)
{
    for (int i = 0; i < p->n; i++)
        if (stage_can_divide(p, &p->stage[i]))
            return p->n_dev > 1;
    return false;
}

/* ---- views ---- */

/* Bytes of sources that the elements of x need. */
static ig_status bytes_read(ig_array *x, uint64_t *bytes)
{
    steps w;
    *bytes = 0;
    TRY(ig_scope_begin());
    const ig_status status = steps_make(&w, &x, 1, 0, NULL, 0);
    if (status == IG_OK) {
        const box whole = box_whole(x->view.ndim, x->view.shape);
        steps_demand(&w, &whole, -1);
        for (int i = 0; i < w.n; i++)
            if (w.step[i].wanted && w.step[i].kind == STEP_SOURCE)
                *bytes += step_bytes(&w.step[i]);
        steps_free(&w);
    }
    ig_scope_end();
    return status;
}

/* True if the root of a view, and the copy of its elements that a caller reads, do not fit in memory together. */
static bool needs_room(const ig_array *x)
{
    const uint64_t most = ig_memory_limit(), used = ig_memory_used();
    const uint64_t bytes = (uint64_t)(view_size(&x->view) + view_size(&x->root->view)) *
                           ig_dtype_bytes((ig_dtype)x->dtype);
    return !view_is_contiguous(&x->view) && bytes > (most > used ? most - used : 0);
}

/* *narrow: x should be evaluated alone, because its root would need more memory or read much more. Not if all views of the
 * root that are asked for have as many elements as the root, unless memory is short. */
static ig_status is_narrow(ig_array *const *arrays, int n, int which, bool *narrow)
{
    enum { SHARE = 2 };
    ig_array *x = arrays[which], *root = x->root;
    uint64_t part, all;
    int64_t asked = 0;
    for (int i = 0; i < n; i++)
        asked += arrays[i]->root == root ? view_size(&arrays[i]->view) : 0;
    *narrow = false;
    if (x == root || root->data)
        return IG_OK;
    if ((*narrow = needs_room(x)) || asked >= view_size(&root->view))
        return IG_OK;
    TRY(bytes_read(x, &part));
    TRY(bytes_read(root, &all));
    *narrow = part < all / SHARE;
    return IG_OK;
}

/* The arrays, with a copy of each view that is evaluated alone; the caller frees the list. NULL on failure. */
static ig_array **with_copies(ig_array *const *arrays, int n)
{
    ig_array **list = memory_new((size_t)(n + 1) * sizeof *list);
    ig_status status = list ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < n && status == IG_OK; i++) {
        bool narrow;
        list[i] = arrays[i];
        status = is_narrow(arrays, n, i, &narrow);
        if (status != IG_OK || !narrow)
            continue;
        const ig_array *x = arrays[i];
        ig_array *seen = array_view(OP_slice, x->in[0], &x->view);
        list[i] =
            array_node(OP_astype, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &seen, 1, NULL);
        if (!list[i])
            status = error_waiting(IG_ERR_MEMORY);
    }
    if (status == IG_OK)
        return list;
    memory_free(list);
    return NULL;
}

/* The views get the elements of their copies. */
static void take_copies(ig_array *const *arrays, ig_array *const *list, int n)
{
    engine_enter();
    for (int i = 0; i < n; i++)
        if (list[i] != arrays[i] && arrays[i]->root != list[i])
            array_become(arrays[i], list[i]);
    engine_leave();
}

/* Evaluates, or adds the plan to *t if that is not NULL. divided: does nothing if no stage can be divided. */
static ig_status evaluate(ig_array *const *arrays, const ig_block_sink *sinks, int n, bool divided,
                          text *t)
{
    block_plan p;
    const ig_math math = ig_math_mode();
    TRY(ig_scope_begin());
    if (devices_are_mixed(arrays, n))
        ig_set_math(IG_MATH_SAME); /* results do not depend on which device computes a block */
    ig_status status = block_plan_make(&p, arrays, sinks, n);
    if (divided && p.refused) {
        ig_error(NULL); /* as a whole it may fit */
        status = IG_OK;
    }
    const bool runs = status == IG_OK && (!divided || is_divided(&p));
    if (runs && t)
        block_plan_text(&p, t);
    if (runs && !t)
        status = ranks_check(&p);
    if (runs && !t && status == IG_OK)
        status = block_plan_run(&p);
    block_plan_free(&p);
    ig_set_math(math);
    ig_scope_end();
    if (status != IG_OK && !t && team_shares())
        team_fail(NULL);
    return status;
}

ig_status blocks_eval(ig_array *const *arrays, int n, bool divided, text *t)
{
    if (divided && !t && team_shares()) /* each rank computes what it has in memory */
        return IG_OK;
    ig_array **list = with_copies(arrays, n);
    const ig_status status =
        list ? evaluate(list, NULL, n, divided, t) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK && !t)
        take_copies(arrays, list, n);
    memory_free(list);
    return status;
}

static ig_status check_arrays(const char *who, ig_array *const *arrays, int n)
{
    TRY(require_list(who, "arrays", arrays, n));
    for (int i = 0; i < n; i++)
        if (!arrays[i]) {
            if (!ig_failed())
                ig_fail(IG_ERR_ARGUMENT, "%s: array %d of %d is NULL", who, i, n);
            return IG_ERR_ARGUMENT;
        }
    return IG_OK;
}

/* The unit in which a sink of a complex array is written, for the pairs that are its root: they stay together. */
static ig_ints chunk_of_pairs(ig_ints chunk, int ndim, int64_t *room)
{
    for (int k = 0; k < ndim; k++)
        room[k] = chunk.v ? chunk.v[k] : 1;
    room[ndim] = 2;
    return (ig_ints){room, ndim + 1};
}

/* The sinks in the form of this library, with chunks of roots; the caller frees the list. NULL on failure. */
static ig_block_sink *read_sinks(const char *who, ig_array *const *arrays,
                                 const ig_block_sink *const *sinks, int n, bool writes)
{
    typedef int64_t lengths[IG_MAX_NDIM];
    ig_block_sink *own = memory_new((size_t)(n + 1) * (sizeof *own + sizeof(lengths)));
    lengths *room = (lengths *)(own + n + 1);
    ig_status status = own ? require_list(who, "sinks", sinks, n) : IG_ERR_MEMORY;
    for (int i = 0; i < n && status == IG_OK; i++) {
        status = require_pointer(who, "sinks", sinks[i]);
        if (status == IG_OK)
            status = sized_read(SIZED(ig_block_sink, scratch), &own[i], sinks[i]);
        if (status == IG_OK && writes && !own[i].write)
            status = ig_fail(IG_ERR_ARGUMENT, "%s: sink %d has no function that writes", who, i);
        const ig_ints chunk = own[i].chunk;
        bool fits = !chunk.v || chunk.n == ig_ndim(arrays[i]);
        for (int k = 0; fits && chunk.v && k < chunk.n; k++)
            fits = chunk.v[k] > 0;
        if (status == IG_OK && !fits)
            status =
                ig_fail(IG_ERR_SHAPE, "%s: the chunks of sink %d do not fit its array", who, i);
        if (status == IG_OK && array_is_complex(arrays[i]))
            own[i].chunk = chunk_of_pairs(chunk, ig_ndim(arrays[i]), room[i]);
    }
    if (status == IG_OK)
        return own;
    memory_free(own);
    return NULL;
}

ig_status ig_eval_to(ig_array *const *arrays, const ig_block_sink *const *sinks, int n)
{
    TRY(check_arrays("eval_to", arrays, n));
    ig_block_sink *own = read_sinks("eval_to", arrays, sinks, n, true);
    const ig_status status =
        own ? evaluate(arrays, own, n, false, NULL) : error_waiting(IG_ERR_MEMORY);
    memory_free(own);
    return status;
}

char *ig_explain_blocks(ig_array *const *arrays, const ig_block_sink *const *sinks, int n)
{
    text t = {0};
    if (check_arrays("explain_blocks", arrays, n) != IG_OK)
        return NULL;
    ig_block_sink *own = sinks ? read_sinks("explain_blocks", arrays, sinks, n, false) : NULL;
    if (sinks && !own)
        return NULL;
    t.failed =
        (own ? evaluate(arrays, own, n, false, &t) : blocks_eval(arrays, n, false, &t)) != IG_OK;
    memory_free(own);
    return text_take(&t);
}

/* The chunks that a rechunk between y and its root asks for, if it had the shape of v. */
static ig_ints rechunked(const ig_array *y, const view *v)
{
    for (; y != y->root && y->n_in; y = y->in[0])
        if (y->op == OP_rechunk && y->attr.dst && view_same_shape(&y->view, v))
            return (ig_ints){y->attr.dst->shape, v->ndim};
    return (ig_ints){NULL, 0};
}

static ig_ints source_chunk(const block_source *s, const view *v)
{
    const int ndim = s->ndim - s->pairs;
    bool found = false; /* runs of a mapped file are not meant for writing */
    for (int k = 0; k < ndim; k++)
        found = found || (s->chunk[k] > 1 && !s->data);
    if (!found || ndim != v->ndim || memcmp(s->shape, v->shape, (size_t)ndim * sizeof *s->shape))
        return (ig_ints){NULL, 0};
    return (ig_ints){s->chunk, ndim};
}

ig_ints ig_chunks_like(ig_array *x)
{
    steps w;
    ig_ints chunk = {NULL, 0};
    ig_array *part = x && array_is_complex(x) ? complex_parts(x).re : x;
    if (!part || ig_scope_begin() != IG_OK)
        return chunk;
    if (steps_make(&w, &part, 1, 0, NULL, 0) != IG_OK) {
        ig_scope_end();
        return chunk;
    }
    if (w.n_end)
        chunk = rechunked(w.end[0].in, &x->view);
    for (int i = w.n - 1; i >= 0 && !chunk.v; i--) {
        const step *s = &w.step[i];
        if (s->source)
            chunk = source_chunk(s->source, &x->view);
        for (int k = 0; k < s->n_in && !chunk.v; k++)
            chunk = rechunked(s->in[k].in, &x->view);
    }
    steps_free(&w);
    ig_scope_end();
    return chunk;
}
