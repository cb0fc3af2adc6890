/* One run of a schedule; see run.h. */
#include "engine/eval/run.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/trace.h"
#include "engine/backend/pool.h"
#include "engine/eval/budget.h"
#include "engine/eval/engine.h"
#include "engine/eval/fallback.h"
#include "engine/eval/faults.h"
#include "engine/eval/repeat.h"
#include "engine/eval/transfer.h"

#include <stdio.h>
#include <string.h>

ig_status run_begin(run *r, schedule *s, const backend *dev)
{
    r->s = s;
    r->dev = dev;
    r->by = executor_of(dev);
    r->n_owned = r->next = 0;
    r->n_fetched = 0;
    while (s->n_slot >= r->room_binding || s->n_slot >= r->room_owned || s->n_slot >= r->room_held)
        if (!memory_room(&r->binding, r->room_binding, &r->room_binding, sizeof *r->binding) ||
            !memory_room(&r->owned, r->room_owned, &r->room_owned, sizeof *r->owned) ||
            !memory_room(&r->held, r->room_held, &r->room_held, sizeof *r->held))
            return IG_ERR_MEMORY;
    memset(r->held, 0, (size_t)s->n_slot * sizeof *r->held);
    return IG_OK;
}

void run_free(run *r)
{
    memory_free(r->binding);
    memory_free(r->owned);
    memory_free(r->held);
    *r = (run){0};
}

/* ---- memory ---- */

ig_status run_bind_leaf(run *r, int leaf, ig_array *root)
{
    const char *name = r->dev->name;
    if (!root->is_number && !transfer_stays(root->data, r->dev)) {
        if (root->device && strcmp(root->device, name) != 0)
            FAIL(IG_ERR_DEVICE,
                 "an array that this needs is on device '%s', not on '%s'; move it with "
                 "to_device(x, \"%s\")",
                 root->device, name, name);
        TRY(transfer_root(root, r->dev));
    }
    TRY(faults_check(root->data));
    r->binding[leaf] = (binding){root->data, 0};
    return IG_OK;
}

/* True if output t uses the buffer of a donated leaf. It does not if the buffer is shared, larger, or on
 * another device. */
static bool shares_leaf(const run *r, const slot *t)
{
    if (t->shares < 0)
        return false;
    const binding *b = &r->binding[t->shares];
    return transfer_is_on(b->buf, r->dev) && r->dev->computes && !b->buf->borrowed &&
           b->offset == 0 && b->buf->bytes == (size_t)t->bytes && atomic_load(&b->buf->refs) == 1;
}

static buffer *alloc_for(const run *r, int64_t bytes)
{
    buffer *b = transfer_alloc(r->dev, (size_t)bytes);
    if (b && b->data && r->fills_with_nan)
        memset(b->data, 0xff, b->bytes);
    return b;
}

/* Temporaries are parts of one arena, unless that is larger than the device allows. */
ig_status run_bind_temporaries(run *r)
{
    const schedule *s = r->s;
    const uint64_t most = r->dev->limits.alloc_bytes;
    const bool apart = most && (uint64_t)s->arena_bytes > most;
    buffer *arena = NULL;
    for (int i = 0; i < s->n_slot; i++) {
        const slot *t = &s->slot[i];
        if (t->kind != SLOT_TEMP && t->kind != SLOT_HOST)
            continue;
        if (t->shares >= 0) {
            r->binding[i] = r->binding[t->shares];
            continue;
        }
        const bool alone = apart || t->kind == SLOT_HOST;
        if (alone || !arena) {
            buffer *b = t->kind == SLOT_HOST ? buffer_new((size_t)t->bytes)
                        : alone              ? alloc_for(r, t->bytes)
                                             : (arena = alloc_for(r, s->arena_bytes));
            if (!b)
                return IG_ERR_MEMORY;
            r->owned[r->n_owned++] = b;
            r->binding[i] = (binding){b, 0};
        }
        if (!alone)
            r->binding[i] = (binding){arena, (size_t)t->offset};
    }
    return IG_OK;
}

/* Binds outputs and temporaries; the leaves are bound already. */
static ig_status bind_slots(run *r)
{
    const schedule *s = r->s;
    enum { MANY = 100 }; /* reads of a buffer are counted up to here */
    uint64_t bytes = s->run_bytes;
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_OUT && s->slot[i].shares >= 0 && !shares_leaf(r, &s->slot[i]))
            bytes += budget_buffer_bytes(r->dev, s->slot[i].bytes);
    TRY(r->dev->pool ? pool_admit(r->dev->pool, bytes, "this evaluation")
                     : memory_admit(bytes, "this evaluation"));
    for (int i = 0; i < s->n_slot; i++) { /* leaves come first, then outputs before temporaries */
        const slot *t = &s->slot[i];
        const bool is_fetched =
            t->kind == SLOT_LEAF && r->binding[i].buf && r->binding[i].buf->fetched;
        r->n_fetched += is_fetched;
        if (t->kind == SLOT_LEAF && r->binding[i].buf && !is_fetched &&
            r->binding[i].buf->reads < MANY)
            r->binding[i].buf->reads++;
        if (t->kind != SLOT_OUT)
            continue;
        const bool shares = shares_leaf(r, t);
        buffer *b = shares ? buffer_retain(r->binding[t->shares].buf) : alloc_for(r, t->bytes);
        if (!b)
            return IG_ERR_MEMORY;
        if (shares)
            buffer_forget(b);
        r->owned[r->n_owned++] = b;
        r->binding[i] = (binding){b, 0};
    }
    return run_bind_temporaries(r);
}

/* ---- leaves whose content is fetched ---- */

static bool chain_touches(const program *p, int index)
{
    for (int i = 0; p && i < p->chain; i++)
        if (program_touches(&p[i], index))
            return true;
    return false;
}

/* Drops the leaves that the chain does not use, then fetches those that it uses. all: the chain uses every leaf; no
 * chain uses none. */
static ig_status hold_leaves(run *r, const program *chain, bool all)
{
    for (int fetches = 0; fetches < 2 && r->n_fetched; fetches++)
        for (int i = 0; i < r->s->n_slot; i++) {
            const slot *t = &r->s->slot[i];
            buffer *b = r->binding[i].buf;
            if (t->kind != SLOT_LEAF || !b || !b->fetched || r->held[i] == fetches)
                continue;
            const bool uses = all || chain_touches(chain, i);
            if (fetches && uses)
                TRY(buffer_hold(b));
            if (!fetches && !uses)
                buffer_drop(b);
            r->held[i] = uses;
        }
    return IG_OK;
}

/* ---- launches ---- */

static ig_status launch(run *r, const program *p, uint64_t *device_ns)
{
    if (r->s->n_on_cpu) {
        if (p->on_cpu)
            return fallback_launch(r, p);
        fallback_forget(r, p);
    }
    return r->by->launch(r, p, device_ns);
}

/* Launches a chain and records it on the timeline: one span for all programs of the chain. On a device that compiles
 * kernels, the span has the time that the device measured. */
static ig_status launch_traced(run *r, const program *p)
{
    trace_cost cost = {0};
    char label[512];
    size_t used = 0;
    for (int i = 0; i < p->chain; i++) {
        cost.flops += p[i].flops;
        cost.bytes_read += p[i].bytes_read;
        cost.bytes_written += p[i].bytes_written;
        if (used < sizeof label)
            used += (size_t)snprintf(label + used, sizeof label - used, "%s%s", i ? " / " : "",
                                     p[i].label + strspn(p[i].label, " "));
    }
    trace_program(label);
    uint64_t device_ns = 0;
    const int64_t began = trace_begin();
    const ig_status status = launch(r, p, &device_ns);
    /* The launch has been waited for, so the device's time ends now. */
    const int64_t late = device_ns ? trace_clock() - (int64_t)device_ns : 0;
    trace_end_program(late > began ? late : began, p->on_cpu ? backend_cpu.name : r->dev->name,
                      label, &cost);
    return status;
}

/* True if the program copies a buffer to itself. A device that replays launches needs it for their order. */
static bool is_done(const run *r, const program *p, const repeat *kept)
{
    if (!p->is_copy || kept || r->s->n_on_cpu)
        return false;
    const binding *from = &r->binding[p->pre.operand[0].slot],
                  *to = &r->binding[p->pre.operand[1].slot];
    return from->buf == to->buf && from->offset == to->offset;
}

static ig_status launch_all(run *r, repeat *kept, bool traced)
{
    const uint32_t cancels = cancel_count();
    int chain = 0;
    for (const program *p = r->s->program, *end = p + r->s->n_program; p < end; p += p->chain) {
        if (kept)
            repeat_chain(kept, chain++);
        if (is_done(r, p, kept))
            continue;
        if (r->n_fetched && r->by == &executor_direct)
            TRY(hold_leaves(r, p, false));
        TRY(traced ? launch_traced(r, p) : launch(r, p, NULL));
        if (cancel_count() != cancels)
            return ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled");
    }
    return IG_OK;
}

/* Launches all chains, as one launch if the device can replay them. */
static ig_status launch_repeated(run *r)
{
    const backend_replay *replay = r->dev->replay;
    repeat *kept = NULL;
    bool again = true;
    ig_status status = replay ? repeat_of(r->s, r->dev, &kept) : IG_OK;
    if (status == IG_OK && !kept)
        return launch_all(r, NULL, false);
    while (again && status == IG_OK) {
        again = false;
        TRY(replay->begin(r->dev, &kept->kept));
        status = launch_all(r, kept, false);
        status = replay->end(r->dev, kept->kept, status, &again);
    }
    return status;
}

ig_status run_launch(run *r)
{
    ig_status status = bind_slots(r);
    if (status == IG_OK && r->s->n_on_cpu)
        status = fallback_begin(r);
    const bool traced = trace_on();
    if (traced)
        trace_memory(ig_memory_used());
    if (status == IG_OK && r->n_fetched && r->by != &executor_direct)
        status = hold_leaves(r, NULL, true);
    if (status == IG_OK)
        status = r->by->arrange(r);
    const bool launched = status == IG_OK;
    const bool out = launched && engine_steps_out(r);
    pool_watch(true);
    if (out)
        engine_leave();
    if (launched)
        status = traced ? launch_all(r, NULL, true) : launch_repeated(r);
    if (out)
        engine_enter();
    pool_watch(false);
    if (r->s->n_on_cpu)
        fallback_end(r);
    status = r->by->finish(r, status, launched);
    hold_leaves(r, NULL, false);
    return status;
}

ig_status run_reserve(const schedule *s, const backend *dev)
{
    const executor *by = executor_of(dev);
    return by->reserve ? by->reserve(s, dev) : IG_OK;
}

ig_status run_again(run *r)
{
    if (r->by->rebind)
        TRY(r->by->rebind(r));
    if (r->s->n_on_cpu)
        TRY(fallback_begin(r));
    const ig_status status = launch_all(r, NULL, trace_on());
    if (r->s->n_on_cpu)
        fallback_end(r);
    return status;
}

buffer *run_take(run *r, int of)
{
    buffer *b = r->binding[of].buf;
    for (int i = 0; i < r->n_owned; i++, r->next = (r->next + 1) % r->n_owned)
        if (r->owned[r->next] == b) {
            r->owned[r->next] = NULL;
            return b;
        }
    return buffer_retain(b);
}

void run_end(run *r)
{
    for (int i = 0; i < r->n_owned; i++)
        buffer_release(r->owned[i]);
    r->n_owned = 0;
    if (trace_on())
        trace_memory(ig_memory_used());
}
