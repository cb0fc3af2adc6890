/* Runs a plan: for each stage, the loop over its blocks. While a block is computed, the next one is read and the
 * previous one is written. */
#include "engine/blocks/background.h"
#include "engine/blocks/crew.h"
#include "engine/blocks/share.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/memory.h"
#include "base/team.h"
#include "engine/eval/emitted.h"
#include "engine/eval/transfer.h"
#include "engine/ops/complex.h"
#include <string.h>

static struct {
    ig_progress call;
    void *context;
} progress;

void ig_set_progress(ig_progress call, void *context)
{
    progress.call = call;
    progress.context = context;
}

/* The elements of the sources for one block. */
typedef struct load {
    int64_t block; /* -1: none */
    int64_t skip;
    box *end;  /* the blocks of the ends */
    box *want; /* of each step */
    buffer **data;
    const struct load *before; /* parts of its data may be used again */
    const steps *work;
    bool passes; /* ranks read panels for each other */
    panels panels;
} load;

typedef struct runner {
    block_plan *plan;
    stage *s;
    load loads[2];
    background reader, writer;
    buffer **result; /* TO_MEMORY: of each root */
    ig_array **loaded, **ends, **out;
    ig_array **written; /* TO_SINK: the block that is being written */
    box written_box;
    fold_stack fold;
    char *lead; /* packed entries of a tile that another rank has begun */
    uint64_t lead_bytes;
    ig_array *sum;                 /* STAGE_PRODUCT, STAGE_SCAN: of the parts so far */
    bool passes;                   /* ranks read panels of a product for each other */
    uint32_t since;                /* cancel_count() at the start */
    uint64_t before, bytes, total; /* of the progress: of earlier stages, of this one, of all */
    uint64_t read;                 /* by a crew */
} runner;

/* ---- loading ---- */

ig_status block_read(const block_source *s, const box *b, void *to)
{
    int64_t size[IG_MAX_NDIM];
    for (int i = 0; i < s->ndim; i++)
        size[i] = b->hi[i] - b->lo[i];
    return box_size(b, s->ndim) ? s->read(s->context, b->lo, size, to) : IG_OK;
}

static void load_drop(load *l, int n)
{
    for (int i = 0; i < n; i++) {
        buffer_release(l->data[i]);
        l->data[i] = NULL;
    }
    l->block = -1;
}

/* Lets the system read the pages of a mapped file, and show them to this process. */
static void touch_pages(const buffer *b)
{
    enum { PAGE = 4096 };
    const volatile char *at = b->data;
    for (size_t i = 0; i < b->bytes; i += PAGE)
        (void)at[i];
}

/* Reads what l wants. Runs in the background. */
static ig_status load_read(void *context)
{
    load *l = context;
    for (int i = 0; i < l->panels.n_own && l->passes; i++) {
        const panel *p = &l->panels.own[i];
        TRY(block_read(l->work->step[p->step].source, &p->slab, p->to));
    }
    if (l->passes)
        TRY(team_exchange(TEAM_READER, l->panels.move, l->panels.n_move));
    for (int i = 0; i < l->work->n; i++) {
        const step *s = &l->work->step[i];
        if (!l->data[i] || s->kind != STEP_SOURCE || (l->passes && s->root->view.ndim))
            continue;
        const int ndim = s->root->view.ndim;
        const size_t bytes = ig_dtype_bytes((ig_dtype)s->root->dtype);
        const box *old = l->before && l->before->data[i] ? &l->before->want[i] : NULL;
        box both, rest = l->want[i];
        int64_t stride[IG_MAX_NDIM];
        if (old && l->data[i] == l->before->data[i])
            continue; /* the same block */
        if (l->data[i]->borrowed) {
            touch_pages(l->data[i]);
            continue;
        }
        if (old && box_reuse(old, &l->want[i], ndim, &both, &rest))
            box_move(&both, ndim, bytes, old, l->before->data[i]->data, &l->want[i],
                     l->data[i]->data);
        box_strides_of(&l->want[i], ndim, stride);
        char *to = (char *)l->data[i]->data +
                   box_place_in(&l->want[i], stride, &rest, ndim) * (int64_t)bytes;
        TRY(block_read(s->source, &rest, to));
    }
    return IG_OK;
}

/* Divides what the ranks of a team need for their next blocks. */
static ig_status load_divide(const runner *r, load *l)
{
    char **to = memory_new((size_t)(l->work->n + 1) * sizeof *to);
    if (!to)
        return IG_ERR_MEMORY;
    for (int i = 0; i < l->work->n; i++) {
        const bool there = l->before && l->before->data[i] == l->data[i];
        to[i] = l->data[i] && !there ? l->data[i]->data : NULL;
    }
    l->passes = true;
    const ig_status status = share_panels(r->s, l->block, l->want, to, &l->panels);
    memory_free(to);
    return status;
}

/* Drops the blocks of a load that differ from the wanted blocks: memory does not suffice for both. */
static void load_drop_others(load *l, const steps *w)
{
    for (int i = 0; i < w->n; i++) {
        const step *s = &w->step[i];
        if (l->data[i] && s->wanted && box_same(&l->want[i], &s->want, s->root->view.ndim))
            continue;
        buffer_release(l->data[i]);
        l->data[i] = NULL;
    }
}

/* Decides what a block needs, and allocates it. */
static ig_status load_prepare(runner *r, load *l, int64_t block, load *before)
{
    steps *w = &r->s->work;
    const int64_t parts = stage_parts(r->s);
    l->skip = stage_want(r->s, block / parts, block % parts, l->end);
    steps_demand(w, l->end, -1);
    if (!r->s->ahead)
        load_drop_others(before, w);
    l->before = before && before->block >= 0 ? before : NULL;
    l->work = w;
    for (int i = 0; i < w->n; i++) {
        const step *s = &w->step[i];
        l->want[i] = s->want;
        if (!s->wanted || s->kind != STEP_SOURCE)
            continue;
        const int ndim = s->root->view.ndim;
        if (l->before && l->before->data[i] && box_same(&l->before->want[i], &s->want, ndim)) {
            l->data[i] = buffer_retain(l->before->data[i]);
            continue;
        }
        const size_t bytes =
            (size_t)box_size(&s->want, ndim) * ig_dtype_bytes((ig_dtype)s->root->dtype);
        /* Elements that ranks read for each other are copied. */
        if (s->source->alias && !r->passes)
            l->data[i] = s->source->alias(s->source, &s->want);
        if (!l->data[i] && !(l->data[i] = buffer_new(bytes)))
            return error_waiting(IG_ERR_MEMORY);
    }
    l->block = block;
    return r->passes ? load_divide(r, l) : IG_OK;
}

/* ---- results ---- */

/* The file or host memory of a root that a stage writes. */
static const block_source *source_of(const block_plan *p, const ig_array *root)
{
    int k = 0;
    while (p->done[k].root != root || p->done[k].is_pick)
        k++;
    return p->done[k].source;
}

/* Copies the elements of a tile to their place. */
static ig_status keep_elements(runner *r, int i, const box *tile, const void *data)
{
    const ig_array *root = r->s->root[i];
    const size_t bytes = ig_dtype_bytes((ig_dtype)root->dtype);
    const int ndim = root->view.ndim;
    if (r->s->to == TO_FILE)
        return spill_write(source_of(r->plan, root), tile, data);
    const box whole = box_whole(ndim, root->view.shape);
    box_move(tile, ndim, bytes, tile, data, &whole, r->result[i]->data);
    return IG_OK;
}

static ig_status keep_tile(runner *r, int i, const box *tile, ig_array *x)
{
    const void *data = ig_data(x);
    return data ? keep_elements(r, i, tile, data) : error_waiting(IG_ERR_MEMORY);
}

static void forget_written(runner *r)
{
    for (int i = 0; i < r->s->n_root; i++) {
        ig_release(r->written[i]);
        r->written[i] = NULL;
    }
}

/* Writes the blocks in r->written. Runs in the background. */
static ig_status write_blocks(void *context)
{
    runner *r = context;
    const box *b = &r->written_box;
    int64_t size[IG_MAX_NDIM];
    for (int i = 0; i < r->s->root[0]->view.ndim; i++)
        size[i] = b->hi[i] - b->lo[i];
    for (int i = 0; i < r->s->n_root; i++) {
        const ig_block_sink *sink = &r->plan->sink[r->s->first_sink + i];
        const void *data = ig_data(r->written[i]);
        TRY(data ? sink->write(sink->context, b->lo, size, data) : error_waiting(IG_ERR_MEMORY));
    }
    return IG_OK;
}

/* Gives a tile of each root to where the stage's results go. */
static ig_status deliver(runner *r, const box *tile, ig_array *const *made)
{
    if (r->s->to != TO_SINK) {
        for (int i = 0; i < r->s->n_root; i++)
            TRY(keep_tile(r, i, tile, made[i]));
        return IG_OK;
    }
    TRY(background_wait(&r->writer));
    forget_written(r);
    for (int i = 0; i < r->s->n_root; i++) {
        if (!ig_data(made[i])) /* the elements are in order, in host memory */
            return error_waiting(IG_ERR_MEMORY);
        r->written[i] = ig_retain(made[i]);
    }
    r->written_box = *tile;
    background_begin(&r->writer, write_blocks, r);
    return IG_OK;
}

/* ---- blocks ---- */

static ig_status eval_values(void *context, ig_array **made, int n)
{
    (void)context;
    return engine_eval(&block_context, made, n, NULL, 0);
}

/* The tile, from the values of all its parts. */
static ig_status finish_tile(runner *r, int64_t tile)
{
    TRY(fold_join_all(&r->fold));
    ig_array *const *made = r->s->kind == STAGE_FOLD ? r->fold.entry[0].made : &r->sum;
    ig_array *y = stage_finish(r->s, tile, made);
    TRY(y ? engine_eval(&block_context, &y, 1, NULL, 0) : error_waiting(IG_ERR_MEMORY));
    const box b = stage_tile(r->s, tile);
    TRY(deliver(r, &b, &y));
    fold_clear(&r->fold);
    ig_release(r->sum);
    r->sum = NULL;
    return IG_OK;
}

/* Packs the values of a tile that another rank has begun. */
static ig_status put_aside(runner *r)
{
    TRY(share_pack(r->fold.entry, r->fold.depth, &r->lead, &r->lead_bytes));
    fold_clear(&r->fold);
    return IG_OK;
}

/* Completes the tile of a fold that this rank has begun and others have continued. */
static ig_status meet(runner *r)
{
    char *got = NULL;
    uint64_t bytes;
    int64_t first, end;
    if (r->fold.depth && r->fold.entry[0].at)
        TRY(put_aside(r));
    share_range(r->s, ig_team_rank(), &first, &end);
    ig_status status = share_meet(r->s, r->lead, r->lead_bytes, &got, &bytes);
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        status = share_unpack(got, bytes, &r->fold);
        if (status == IG_OK && r->fold.depth)
            status = finish_tile(r, (end - 1) / stage_parts(r->s));
        ig_scope_end();
    }
    memory_free(got);
    return status;
}

/* Keeps the carry of a part of a scan for the next part. */
static ig_status carry_on(runner *r, bool last)
{
    if (!last)
        return ig_replace(&r->sum, r->out[1]);
    ig_release(r->sum);
    r->sum = NULL;
    return IG_OK;
}

/* Computes the block of a load, in its own scope. */
static ig_status compute(runner *r, load *l)
{
    stage *s = r->s;
    steps *w = &s->work;
    const int64_t parts = stage_parts(s), tile = l->block / parts, part = l->block % parts;
    steps_demand(w, l->end, -1);
    for (int i = 0; i < w->n; i++) {
        const step *from = &w->step[i];
        r->loaded[i] = from->kind == STEP_READY ? from->root : NULL;
        if (!l->data[i])
            continue;
        int64_t shape[IG_MAX_NDIM];
        for (int k = 0; k < from->root->view.ndim; k++)
            shape[k] = from->want.hi[k] - from->want.lo[k];
        r->loaded[i] = array_leaf((ig_dtype)from->root->dtype, from->root->view.ndim, shape,
                                  buffer_retain(l->data[i]));
        if (!r->loaded[i])
            return IG_ERR_MEMORY;
    }
    TRY(steps_build(w, l->end, r->loaded, r->ends));
    const int n = stage_build(s, tile, part, l->skip, r->ends, r->sum, r->out);
    if (n == 0)
        return error_waiting(IG_ERR_MEMORY);
    TRY(engine_eval(&block_context, r->out, n, NULL, 0));
    if (s->kind == STAGE_TILES || s->kind == STAGE_SCAN || s->kind == STAGE_SORT) {
        const box b = stage_block(s, tile, part);
        TRY(deliver(r, &b, r->out));
        return s->kind == STAGE_SCAN ? carry_on(r, part == parts - 1) : IG_OK;
    }
    if (s->kind == STAGE_FOLD) {
        entry e = {.n = n, .at = part, .count = 1};
        for (int i = 0; i < n; i++)
            e.made[i] = r->out[i];
        TRY(fold_push(&r->fold, &e));
    } else {
        TRY(ig_replace(&r->sum, r->out[0]));
    }
    if (part < parts - 1)
        return IG_OK;
    return r->fold.depth && r->fold.entry[0].at ? put_aside(r) : finish_tile(r, tile);
}

/* True if a tile has been written before. */
static bool is_there(const runner *r, int64_t tile)
{
    const stage *s = r->s;
    const box b = stage_tile(s, tile);
    int64_t size[IG_MAX_NDIM];
    if (r->passes || (share_is_on() && s->kind == STAGE_FOLD))
        return false; /* ranks that have parts of it would have to agree */
    for (int i = 0; i < s->root[0]->view.ndim; i++)
        size[i] = b.hi[i] - b.lo[i];
    for (int i = 0; i < s->n_root; i++) {
        const ig_block_sink *sink = s->to == TO_SINK ? &r->plan->sink[s->first_sink + i] : NULL;
        if (!sink || !sink->has || !sink->has(sink->context, b.lo, size))
            return false;
    }
    return true;
}

/* The next block to compute after `block`; blocks if there is none. */
static int64_t next_block(const runner *r, int64_t block, int64_t blocks)
{
    const int64_t parts = stage_parts(r->s);
    block++;
    while (block < blocks && block % parts == 0 && is_there(r, block / parts))
        block += parts;
    return block;
}

/* The ranks of a team read for each other if none leaves out a block. */
static ig_status decide_passes(runner *r, int64_t first, int64_t end)
{
    const int64_t parts = stage_parts(r->s);
    uint64_t all = 1;
    for (int64_t tile = first / parts; tile < end / parts && all; tile++)
        all = !is_there(r, tile);
    TRY(team_least(TEAM_MAIN, &all));
    r->passes = all;
    return IG_OK;
}

/* share: of this stage. */
static void tell_progress(const runner *r, double share)
{
    if (progress.call)
        progress.call(progress.context, r->before + (uint64_t)((double)r->bytes * share), r->total);
}

static ig_status run_blocks(runner *r)
{
    int64_t first, blocks;
    int now = 0;
    share_range(r->s, ig_team_rank(), &first, &blocks);
    if (share_is_on() && r->s->kind == STAGE_PRODUCT)
        TRY(decide_passes(r, first, blocks));
    for (int64_t block = next_block(r, first - 1, blocks); block < blocks; now = !now) {
        load *l = &r->loads[now], *other = &r->loads[!now];
        if (cancel_count() != r->since)
            return ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled");
        if (l->block != block) {
            if (!r->s->ahead && r->passes)
                load_drop(other, r->s->work.n);
            TRY(load_prepare(r, l, block, other));
            TRY(load_read(l));
        } else {
            TRY(background_wait(&r->reader));
        }
        load_drop(other, r->s->work.n);
        const int64_t next = next_block(r, block, blocks);
        if (next < blocks && r->s->ahead) {
            TRY(load_prepare(r, other, next, l));
            background_begin(&r->reader, load_read, other);
        }
        TRY(ig_scope_begin());
        const ig_status status = compute(r, l);
        ig_scope_end();
        TRY(status);
        tell_progress(r, (double)(next - first) / (double)(blocks - first));
        block = next;
    }
    if (share_is_on() && r->s->kind == STAGE_FOLD)
        TRY(meet(r));
    TRY(background_wait(&r->writer));
    for (int i = 0; share_is_on() && r->s->to == TO_MEMORY && i < r->s->n_root; i++)
        TRY(share_tiles(r->s, i, r->result[i]->data));
    return IG_OK;
}

/* ---- crews ---- */

static bool crew_has(void *context, int64_t tile) { return is_there(context, tile); }

static ig_status crew_put(void *context, int root, const box *b, const void *data)
{
    runner *r = context;
    int64_t size[IG_MAX_NDIM];
    if (r->s->to != TO_SINK)
        return keep_elements(r, root, b, data);
    const ig_block_sink *sink = &r->plan->sink[r->s->first_sink + root];
    for (int i = 0; i < r->s->root[0]->view.ndim; i++)
        size[i] = b->hi[i] - b->lo[i];
    return sink->write(sink->context, b->lo, size, data);
}

static void crew_read(void *context, uint64_t bytes)
{
    runner *r = context;
    r->read += bytes;
    tell_progress(r, r->read < r->s->read ? (double)r->read / (double)r->s->read : 1);
}

static ig_status run_crew(runner *r)
{
    const crew_output out = {
        .has = crew_has, .put = crew_put, .read = crew_read, .context = r, .since = r->since};
    return crew_run(r->plan, r->s, &out);
}

/* ---- stages ---- */

static ig_status runner_begin(runner *r)
{
    const size_t n = (size_t)r->s->work.n + 1, ends = (size_t)r->s->work.n_end + 1,
                 roots = (size_t)r->s->n_root + 2;
    background_init(&r->reader);
    background_init(&r->writer);
    for (int i = 0; i < 2; i++) {
        r->loads[i].block = -1;
        if (!(r->loads[i].end = memory_new(ends * sizeof(box))) ||
            !(r->loads[i].want = memory_new(n * sizeof(box))) ||
            !(r->loads[i].data = memory_new(n * sizeof(buffer *))))
            return IG_ERR_MEMORY;
    }
    if (!(r->result = memory_new(roots * sizeof *r->result)) ||
        !(r->loaded = memory_new(n * sizeof *r->loaded)) ||
        !(r->ends = memory_new(ends * sizeof *r->ends)) ||
        !(r->out = memory_new(roots * sizeof *r->out)) ||
        !(r->written = memory_new(roots * sizeof *r->written)))
        return IG_ERR_MEMORY;
    const bool in_memory = r->s->to == TO_MEMORY || r->s->to == TO_HOST;
    for (int i = 0; i < r->s->n_root && in_memory; i++) {
        const ig_array *root = r->s->root[i];
        const size_t bytes = (size_t)view_size(&root->view) * ig_dtype_bytes((ig_dtype)root->dtype);
        if (!(r->result[i] = buffer_new(bytes)))
            return error_waiting(IG_ERR_MEMORY);
    }
    return IG_OK;
}

static void runner_end(runner *r)
{
    background_end(&r->reader);
    background_end(&r->writer);
    for (int i = 0; i < 2; i++) {
        if (r->loads[i].data)
            load_drop(&r->loads[i], r->s->work.n);
        panels_free(&r->loads[i].panels);
        memory_free(r->loads[i].end);
        memory_free(r->loads[i].want);
        memory_free(r->loads[i].data);
    }
    fold_clear(&r->fold);
    ig_release(r->sum);
    if (r->written)
        forget_written(r);
    for (int i = 0; i < r->s->n_root && r->result; i++)
        buffer_release(r->result[i]);
    memory_free(r->lead);
    memory_free(r->result);
    memory_free(r->loaded);
    memory_free(r->ends);
    memory_free(r->out);
    memory_free(r->written);
}

/* The roots of a stage get their buffers, on their devices or in host memory. */
static ig_status attach(runner *r)
{
    const bool far = r->s->to == TO_HOST;
    for (int i = 0; i < r->s->n_root && (far || r->s->to == TO_MEMORY); i++) {
        ig_array *root = r->s->root[i];
        engine_enter();
        const backend *dev = engine_device_of(root);
        const bool stays = far || transfer_stays(r->result[i], dev);
        buffer *b = stays ? buffer_retain(r->result[i])
                          : transfer_copy(r->result[i], 0, r->result[i]->bytes, dev);
        if (b)
            root->data = b;
        if (b && !root->device && root->view.ndim)
            root->device = dev->name;
        engine_leave();
        if (!b)
            return error_waiting(IG_ERR_MEMORY);
        if (far)
            held_give(source_of(r->plan, root), b);
    }
    return IG_OK;
}

/* The plan of a stage counts the scratch memory of its own launches only. */
static void trim_devices(const block_plan *p, const stage *s)
{
    engine_enter();
    for (int i = 0; i < (p->n_dev ? p->n_dev : 1); i++) {
        const backend *dev = p->n_dev ? p->dev[i] : engine_device_of(s->root[0]);
        if (dev->pool && dev->computes)
            emitted_trim(dev);
    }
    engine_leave();
}

static ig_status run_stage(block_plan *p, stage *s, uint32_t since, uint64_t before, uint64_t total)
{
    runner r = {.plan = p,
                .s = s,
                .since = since,
                .before = before,
                .bytes = s->read + s->write,
                .total = total};
    r.fold.root = s->root[0];
    r.fold.eval = eval_values;
    const char *device = array_device_now();
    if (s->root[0]->device)
        array_device_set(s->root[0]->device);
    const int files = share_is_on() && s->to == TO_FILE ? s->n_root : 0;
    trim_devices(p, s);
    ig_status status = runner_begin(&r);
    for (int i = 0; i < files && status == IG_OK; i++)
        status = share_file_begin(source_of(p, s->root[i]));
    if (status == IG_OK && view_size(&s->root[0]->view) > 0)
        status = crew_can(p, s) ? run_crew(&r) : run_blocks(&r);
    for (int i = 0; i < files && status == IG_OK; i++)
        status = share_file_end(source_of(p, s->root[i]));
    if (status == IG_OK)
        status = attach(&r);
    if (status == IG_OK)
        tell_progress(&r, 1);
    runner_end(&r);
    array_device_set(device);
    return status;
}

static bool is_asked(const block_plan *p, const ig_array *root)
{
    for (int i = 0; i < p->n_root && !p->sink; i++)
        if (p->root[i] == root)
            return true;
    return false;
}

ig_status block_plan_run(block_plan *p)
{
    uint64_t done = 0, total = 0;
    const uint32_t since = cancel_count();
    ig_status status = IG_OK;
    const bool kept = ig_keep_history(false); /* blocks would keep what they were computed from */
    for (int i = 0; i < p->n; i++)
        total += p->stage[i].read + p->stage[i].write;
    for (int i = 0; i < p->n && status == IG_OK; i++) {
        status = run_stage(p, &p->stage[i], since, done, total);
        done += p->stage[i].read + p->stage[i].write;
    }
    ig_keep_history(kept);
    /* On failure, and for results of other stages, nothing stays evaluated. */
    for (int i = 0; i < p->n_done; i++) {
        ig_array *root = p->done[i].root;
        if (!root->data || p->done[i].is_leaf)
            continue;
        if (status == IG_OK && is_asked(p, root)) {
            array_drop_history(root);
        } else {
            buffer_release(root->data);
            root->data = NULL;
        }
    }
    return status;
}
