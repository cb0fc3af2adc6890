/* The memory that a stage needs: the graphs of its largest blocks, built without data, and the data that is read and
 * held at the same time. */
#include "engine/blocks/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/eval/budget.h"
#include <string.h>

#define BLOCKS_SEEN 4096 /* blocks that are looked at to find the largest */

/* A leaf that stands for a block, without memory. */
static ig_array *stand_in(ig_dtype dtype, int ndim, const int64_t *shape)
{
    view v;
    view_contiguous(&v, ndim, shape);
    buffer *b = buffer_new_opaque((size_t)view_size(&v) * ig_dtype_bytes(dtype));
    return b ? array_leaf(dtype, ndim, shape, b) : NULL;
}

/* Bytes of the outputs and temporaries of a graph, and of its launches, on a device. */
static ig_status bytes_on(const backend *dev, const graph *g, uint64_t *bytes)
{
    const schedule_rules rules = executor_of(dev)->rules(dev);
    schedule *s = schedule_build(g, &rules);
    if (!s)
        return error_waiting(IG_ERR_MEMORY);
    *bytes = (uint64_t)(s->arena_bytes + s->out_bytes) + budget_launch_bytes(s, dev);
    schedule_free(s);
    return IG_OK;
}

/* The same for the graph of a block, on the device that needs most. used: an array that the graph may overwrite, or NULL. */
static ig_status graph_bytes(const block_plan *p, ig_array *const *made, int n, ig_array *used,
                             uint64_t *bytes)
{
    engine *e = engine_enter();
    const backend *one = engine_device_of(made[0]);
    ig_status status = graph_order(&e->g, made, n);
    e->g.math = ig_math_mode();
    if (status == IG_OK)
        graph_donate(&e->g, &used, used ? 1 : 0, DONATED);
    if (status == IG_OK && e->g.n_node > 0)
        status = graph_key(&e->g);
    *bytes = 0;
    for (int i = 0; i < (p->n_dev ? p->n_dev : 1) && status == IG_OK && e->g.n_node > 0; i++) {
        uint64_t here = 0;
        status = bytes_on(p->n_dev ? p->dev[i] : one, &e->g, &here);
        *bytes = here > *bytes ? here : *bytes;
    }
    engine_leave();
    return status;
}

/* A stand-in for the carry from earlier parts. ends: the blocks of some part. */
static ig_array *stand_in_sum(const stage *s, int64_t tile, ig_array *const *ends)
{
    ig_array *out[2];
    if (s->join == CUT_ORDERED) {
        const ig_array *root = s->root[0];
        const ig_dtype dtype = (ig_dtype)root->dtype;
        const box b = stage_tile(s, tile);
        int64_t shape[IG_MAX_NDIM];
        for (int i = 0; i < root->view.ndim; i++)
            shape[i] = b.hi[i] - b.lo[i];
        return stand_in(dtype_is_half(dtype) ? IG_F32 : dtype, root->view.ndim, shape);
    }
    if (!stage_build(s, tile, 0, 0, ends, NULL, out))
        return NULL;
    const ig_array *sum = out[s->join == CUT_CARRY];
    return stand_in((ig_dtype)sum->dtype, sum->view.ndim, sum->view.shape);
}

static int call_inputs(const stage *s)
{
    int n = 0;
    for (int i = 0; i < s->work.n; i++)
        n += s->work.step[i].kind == STEP_CALL ? s->work.step[i].n_in : 0;
    return n;
}

/* Adds the inputs of functions of blocks, which are evaluated first, to the n results of a block; *bytes: what the
 * functions hold and return. */
static ig_status add_calls(const stage *s, ig_array **out, int *n, uint64_t *bytes)
{
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        if (at->kind != STEP_CALL || !at->wanted)
            continue;
        if (!steps_inputs(&s->work, i, out + *n))
            return error_waiting(IG_ERR_MEMORY);
        *n += at->n_in;
        *bytes += step_bytes(at) + at->source->scratch;
    }
    return IG_OK;
}

/* Bytes of the graph of a block, which is built without its data. */
static ig_status block_graph_bytes(const block_plan *p, stage *s, int64_t block, uint64_t *bytes)
{
    const int64_t parts = stage_parts(s);
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    ig_array **loaded = memory_new((size_t)(s->work.n + 1) * sizeof *loaded);
    ig_array **ends = memory_new((size_t)(s->work.n_end + 3) * sizeof *ends);
    ig_array **out = memory_new((size_t)(s->n_root + 3 + call_inputs(s)) * sizeof *out);
    ig_status status = want && loaded && ends && out ? ig_scope_begin() : IG_ERR_MEMORY;
    if (status == IG_OK) {
        const int64_t skip = stage_want(s, block / parts, block % parts, want);
        steps_demand(&s->work, want, -1);
        for (int i = 0; i < s->work.n && status == IG_OK; i++) {
            const step *at = &s->work.step[i];
            if (!at->wanted || (!at->source && at->kind != STEP_READY))
                continue;
            int64_t shape[IG_MAX_NDIM];
            for (int a = 0; a < at->root->view.ndim; a++)
                shape[a] = at->want.hi[a] - at->want.lo[a];
            loaded[i] = stand_in((ig_dtype)at->root->dtype, at->root->view.ndim, shape);
            status = loaded[i] ? IG_OK : error_waiting(IG_ERR_MEMORY);
        }
        if (status == IG_OK)
            status = steps_build(&s->work, want, loaded, ends);
        ig_array *sum = NULL;
        if (stage_carries(s) && block % parts && status == IG_OK &&
            !(sum = stand_in_sum(s, block / parts, ends)))
            status = error_waiting(IG_ERR_MEMORY);
        int n = status == IG_OK ? stage_build(s, block / parts, block % parts, skip, ends, sum, out)
                                : 0;
        if (status == IG_OK && n == 0)
            status = error_waiting(IG_ERR_MEMORY);
        uint64_t called = 0;
        if (status == IG_OK)
            status = add_calls(s, out, &n, &called);
        if (status == IG_OK)
            status = graph_bytes(p, out, n, p->n_dev && s->join == CUT_ORDERED ? sum : NULL, bytes);
        *bytes += called;
        ig_scope_end();
    }
    memory_free(want);
    memory_free(loaded);
    memory_free(ends);
    memory_free(out);
    return status;
}

/* Sets load to the most that a block needs, and *largest to that block. Looks at no more than BLOCKS_SEEN blocks, which
 * are enough to see how blocks lie on chunks. */
static ig_status find_largest(stage *s, int64_t *largest)
{
    const int64_t parts = stage_parts(s), blocks = stage_tiles(s) * parts;
    const int64_t by = blocks / BLOCKS_SEEN + 1;
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    if (!want)
        return IG_ERR_MEMORY;
    s->load = 0;
    for (int64_t block = 0; block < blocks; block += by) {
        stage_want(s, block / parts, block % parts, want);
        steps_demand(&s->work, want, -1);
        const uint64_t load = stage_load_bytes(s);
        if (load > s->load) {
            s->load = load;
            *largest = block;
        }
    }
    memory_free(want);
    return IG_OK;
}

/* Sets peak: the graph of a block, its sources and the sources of the next block, and results that are written or joined. */
ig_status stage_measure(const block_plan *p, stage *s)
{
    int64_t largest = 0;
    uint64_t first, other = 0;
    TRY(find_largest(s, &largest));
    TRY(block_graph_bytes(p, s, 0, &first));
    if (stage_carries(s) && stage_parts(s) > 1 && largest % stage_parts(s) == 0)
        largest++; /* the first part of a row is a smaller graph */
    if (largest)
        TRY(block_graph_bytes(p, s, largest, &other));
    /* A fold has values of at most log2(parts) parts at a time, each of them two arrays. */
    uint64_t values = s->join == CUT_UPDATE ? 4 : 2; /* tables may have one more element */
    for (int64_t n = s->join == CUT_TREE ? stage_parts(s) : 0; n > 0; n /= 2)
        values += 4;
    uint64_t scratch = 0;
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        if (at->kind == STEP_SOURCE && at->source->scratch > scratch)
            scratch = at->source->scratch;
    }
    for (int i = 0; i < s->n_root && s->to == TO_SINK; i++)
        scratch += p->sink[s->first_sink + i].scratch;
    /* The memory of the first part's graph may be held while a larger graph's memory is allocated. */
    const uint64_t graphs = stage_continues(s) ? first + other : first > other ? first : other;
    const uint64_t n = stage_is_chained(p, s) ? 1 : stage_in_flight(p, s);
    enum { ALIGN = 64 }; /* of the buffers of a graph */
    const uint64_t tile = (stage_tile_bytes(s, true) + ALIGN - 1) / ALIGN * ALIGN;
    s->peak = graphs * n + tile * (values + 2 * (n - 1)) + scratch +
              (n > 1 || p->n_dev ? stage_window_bytes(p, s) : s->load * (uint64_t)(1 + s->ahead));
    return IG_OK;
}
