/* The results of a stage; see results.h. */
#include "engine/blocks/results.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/blocks/ranks.h"
#include "engine/eval/transfer.h"

/* The file or host memory of a root that a stage writes. */
static const block_source *source_of(const block_plan *p, const ig_array *root)
{
    int k = 0;
    while (p->done[k].root != root || p->done[k].is_pick)
        k++;
    return p->done[k].source;
}

static bool in_memory(const results *r) { return r->s->to == TO_MEMORY || r->s->to == TO_HOST; }

ig_status results_begin(results *r, const block_plan *p, stage *s)
{
    *r = (results){.plan = p, .s = s, .memory = memory_new((size_t)s->n_root * sizeof(buffer *))};
    if (!r->memory)
        return IG_ERR_MEMORY;
    for (int i = 0; i < s->n_root; i++) {
        const ig_array *root = s->root[i];
        const size_t bytes = (size_t)view_size(&root->view) * ig_dtype_bytes((ig_dtype)root->dtype);
        if (in_memory(r) && !(r->memory[i] = buffer_new(bytes)))
            return error_waiting(IG_ERR_MEMORY);
        if (s->to == TO_FILE && team_shares())
            TRY(ranks_file_begin(source_of(p, root)));
    }
    return IG_OK;
}

static bool sinks_have(const results *r, const box *b)
{
    int64_t size[IG_MAX_NDIM];
    box_shape(b, r->s->root[0]->view.ndim, size);
    for (int i = 0; i < r->s->n_root; i++) {
        const ig_block_sink *sink = &r->plan->sink[r->s->first_sink + i];
        if (!sink->has || !sink->has(sink->context, b->lo, size))
            return false;
    }
    return true;
}

bool results_have(const results *r, int64_t tile)
{
    const stage *s = r->s;
    if (s->to != TO_SINK || (team_shares() && s->join == CUT_TREE))
        return false; /* ranks that have parts of a fold's tile would have to agree */
    const int64_t parts =
        s->join == CUT_CARRY ? stage_parts(s) : 1; /* which are written one by one */
    for (int64_t part = 0; part < parts; part++) {
        const box b = stage_block(s, tile, part);
        if (!sinks_have(r, &b))
            return false;
    }
    return true;
}

ig_status results_put(const results *r, int i, const box *b, const void *data)
{
    const ig_array *root = r->s->root[i];
    const int ndim = root->view.ndim;
    if (r->s->to == TO_FILE)
        return spill_write(source_of(r->plan, root), b, data);
    if (r->s->to == TO_SINK) {
        const ig_block_sink *sink = &r->plan->sink[r->s->first_sink + i];
        int64_t size[IG_MAX_NDIM];
        box_shape(b, ndim, size);
        return sink->write(sink->context, b->lo, size, data);
    }
    const box whole = box_whole(ndim, root->view.shape);
    box_move(b, ndim, ig_dtype_bytes((ig_dtype)root->dtype), b, data, &whole, r->memory[i]->data);
    return IG_OK;
}

/* A root gets its buffer, on its device or in host memory. */
static ig_status attach(const results *r, int i)
{
    const bool far = r->s->to == TO_HOST;
    ig_array *root = r->s->root[i];
    engine_enter();
    const backend *dev = engine_device_of(root);
    const bool stays = far || transfer_stays(r->memory[i], dev);
    buffer *b = stays ? buffer_retain(r->memory[i])
                      : transfer_copy(r->memory[i], 0, r->memory[i]->bytes, dev);
    if (b)
        root->data = b;
    if (b && !root->device && root->view.ndim)
        root->device = dev->name;
    engine_leave();
    if (!b)
        return error_waiting(IG_ERR_MEMORY);
    if (far)
        host_give(source_of(r->plan, root), b);
    return IG_OK;
}

ig_status results_finish(const results *r)
{
    for (int i = 0; i < r->s->n_root; i++) {
        if (team_shares() && r->s->to == TO_FILE)
            TRY(ranks_file_end(source_of(r->plan, r->s->root[i])));
        if (team_shares() && r->s->to == TO_MEMORY)
            TRY(ranks_tiles(r->s, i, r->memory[i]->data));
        if (in_memory(r))
            TRY(attach(r, i));
    }
    return IG_OK;
}

void results_end(results *r)
{
    for (int i = 0; i < r->s->n_root && r->memory; i++)
        buffer_release(r->memory[i]);
    memory_free(r->memory);
}
