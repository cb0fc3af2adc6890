/* Runs a plan, stage by stage. */
#include "engine/blocks/worker.h"

#include "base/cancel.h"
#include "engine/eval/emitted.h"

static struct {
    ig_progress call;
    void *context;
} progress;

void ig_set_progress(ig_progress call, void *context)
{
    progress.call = call;
    progress.context = context;
}

void progress_tell(const block_progress *p, double share)
{
    if (progress.call)
        progress.call(progress.context, p->before + (uint64_t)((double)p->bytes * share), p->total);
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

static ig_status run_stage(const block_plan *p, stage *s, block_progress *so_far)
{
    results to;
    const char *device = array_device_now();
    if (s->root[0]->device)
        array_device_set(s->root[0]->device);
    trim_devices(p, s);
    ig_status status = results_begin(&to, p, s);
    if (status == IG_OK && view_size(&s->root[0]->view) > 0)
        status = workers_run(p, s, &to, so_far);
    if (status == IG_OK)
        status = results_finish(&to);
    if (status == IG_OK)
        progress_tell(so_far, 1);
    results_end(&to);
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
    block_progress so_far = {.since = cancel_count()};
    ig_status status = IG_OK;
    const bool kept = ig_keep_history(false); /* blocks would keep what they were computed from */
    for (int i = 0; i < p->n; i++)
        so_far.total += p->stage[i].read + p->stage[i].write;
    for (int i = 0; i < p->n && status == IG_OK; i++) {
        so_far.bytes = p->stage[i].read + p->stage[i].write;
        status = run_stage(p, &p->stage[i], &so_far);
        so_far.before += so_far.bytes;
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
