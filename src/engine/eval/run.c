/* Schedules: how they are compiled for a device, kept in the cache, bound to memory and launched. */
#include "engine/eval/emitted.h"
#include "engine/eval/engine.h"
#include "engine/eval/faults.h"
#include "engine/eval/fallback.h"
#include "engine/eval/repeat.h"
#include "engine/eval/transfer.h"

#include "engine/backend/pool.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/trace.h"
#include "engine/module/module.h"

#include <stdio.h>
#include <string.h>

static _Thread_local bool fills_with_nan;

/* ---- the cache of schedules ---- */

/* True for a kernel of the user, which the engine launches whatever the device is. */
static bool is_user_kernel(const program *p)
{
    return p->kind == PROGRAM_KERNEL && p->kernel->runner;
}

void engine_discard(schedule *s, const backend *dev)
{
    if (s)
        repeat_free(s->repeat);
    for (int i = 0; s && i < s->n_program; i++) {
        const backend *by = s->program[i].on_cpu ? &backend_cpu : dev;
        if (!is_user_kernel(&s->program[i]))
            (by->discard ? by->discard : emitted_discard)(&s->program[i]);
    }
    schedule_free(s);
}

static ig_status compile_for(schedule *s, int i, const backend *dev)
{
    if (!dev->launch)
        TRY(fallback_check_sizes(s, i, dev));
    if (is_user_kernel(&s->program[i]))
        return s->program[i].kernel->runner->prepare(&s->program[i], dev);
    return dev->compile ? dev->compile(dev, &s->program[i]) : emitted_compile(s, i, dev);
}

static ig_status complete_for(schedule *s, int i, const backend *dev)
{
    program *p = &s->program[i];
    if (is_user_kernel(p))
        return IG_OK;
    const ig_status status = emitted_complete(p, dev);
    if (status != IG_OK)
        emitted_discard(p);
    return status;
}

typedef ig_status step_fn(schedule *s, int i, const backend *dev);

/* What the device cannot run may fall back. But a crowded schedule can be built of smaller programs, unless this one is the
 * last. */
static ig_status compile(schedule *s, int i, const backend *dev, bool last, step_fn *step)
{
    const bool waiting = ig_failed(); /* then the reason of a failure is not known */
    if (s->program[i].on_cpu)         /* its chain was taken apart */
        return IG_OK;
    const ig_status status = step(s, i, dev);
    if (status == IG_OK || waiting || dev->launch || (s->is_crowded && !last))
        return status;
    return fallback_compile(s, i, dev,
                            error_waiting(status)); /* its error says what failed first */
}

/* A chain of emitted kernels keeps its temporaries in shared memory, of which the folds take a part. */
schedule_rules engine_rules(const backend *dev)
{
    enum {
        FOLD_BYTES = 8192,
        NARROW = 512,
        MATRIX_BYTES = 512 << 10 /* half of a usual L2 cache */
    };
    const int64_t shared = (int64_t)dev->limits.shared_bytes;
    if (dev->launch)
        return (schedule_rules){.chain_matrix_bytes = MATRIX_BYTES};
    return (schedule_rules){.contract_ends = true,
                            .contract_width = dev->limits.cpu ? 0 : NARROW,
                            .plain_product = dev->native ? dev->native->plain_product : 0,
                            .half_epilogues = dev->native && dev->native->half_epilogues,
                            .chain_bytes =
                                shared > 2 * FOLD_BYTES ? shared - FOLD_BYTES : FOLD_BYTES,
                            .team_points = 1024,
                            .team_rows = 8};
}

/* NULL if it fails; *crowded: because it is crowded. */
static schedule *build(const backend *dev, const schedule_rules *rules, bool last, bool *crowded)
{
    schedule *s = schedule_build(&engine.g, rules);
    ig_status status = s ? IG_OK : IG_ERR_MEMORY;
    last = last || ig_failed();
    *crowded = false;
    const int64_t began = trace_begin();
    for (int i = 0; status == IG_OK && dev->native && dev->native->expect && i < s->n_program; i++)
        if (s->program[i].chain > 0)
            dev->native->expect(dev, &s->program[i]);
    /* Compilers take a time for each kernel: several threads compile those of a new schedule. */
    const bool later = status == IG_OK && s->n_program > 1 && dev->builds_in_threads &&
                       pool_threads() > 1 && module_batch_begin(dev);
    for (int i = 0; status == IG_OK && i < s->n_program; i++)
        status = compile(s, i, dev, last, compile_for);
    if (later)
        module_batch_end(status == IG_OK ? BATCH_APART : BATCH_DROPPED);
    for (int i = 0; later && status == IG_OK && i < s->n_program; i++)
        status = compile(s, i, dev, last, complete_for);
    trace_end(began, "compile");
    if (status == IG_OK) {
        s->may_fall_back = fallback_allowed(dev);
        fallback_plan(s, dev);
        return s;
    }
    *crowded = s && s->is_crowded && !last;
    engine_discard(s, dev);
    return NULL;
}

/* If a kernel has more parameters than the device allows, everything is fused less, and only chains of contractions are
 * left. */
schedule *engine_build(const backend *dev)
{
    enum { MOST = 32, LEAST = 2 };
    schedule_rules rules = engine_rules(dev);
    bool crowded;
    schedule *s = build(dev, &rules, false, &crowded);
    for (int nodes = MOST; crowded; nodes /= 4) {
        ig_error(NULL);
        rules.group_nodes = nodes;
        rules.chain_bytes = 1;
        s = build(dev, &rules, nodes <= LEAST, &crowded);
    }
    return s;
}

/* A new one replaces the least recently used of the entries that its hash allows. */
schedule *engine_schedule(const backend *dev)
{
    const uint64_t hash = engine.g.hash;
    size_t place = hash % CACHE_SLOTS, victim = place;
    for (int i = 0; i < CACHE_PROBES; i++) {
        size_t at = (hash + (uint64_t)i) % CACHE_SLOTS;
        schedule *s = engine.cache[at].plan;
        if (s && s->hash == hash && engine.cache[at].device == dev &&
            s->key_bytes == engine.g.key.used && s->may_fall_back == fallback_allowed(dev) &&
            memcmp(s->key, engine.g.key.at, s->key_bytes) == 0) {
            s->used = ++engine.clock;
            return s;
        }
        schedule *worst = engine.cache[victim].plan;
        if (worst && (!s || s->used < worst->used))
            victim = at;
    }
    schedule *s = engine_build(dev);
    if (!s)
        return NULL;
    engine_discard(engine.cache[victim].plan, engine.cache[victim].device);
    s->hash = hash;
    s->used = ++engine.clock;
    engine.cache[victim].plan = s;
    engine.cache[victim].device = dev;
    return s;
}

/* ---- one run ---- */

ig_status engine_room(const schedule *s)
{
    while (s->n_slot >= engine.room_binding || s->n_slot >= engine.room_owned)
        if (!graph_room(&engine.binding, engine.room_binding, &engine.room_binding,
                        sizeof *engine.binding) ||
            !graph_room(&engine.owned, engine.room_owned, &engine.room_owned, sizeof *engine.owned))
            return IG_ERR_MEMORY;
    return IG_OK;
}

/* True if output t uses the buffer of a donated leaf. It does not if the buffer is shared, larger, or on
 * another device. */
static bool shares_leaf(const slot *t, const backend *dev)
{
    if (t->shares < 0)
        return false;
    const binding *b = &engine.binding[t->shares];
    return transfer_is_on(b->buf, dev) && dev->computes && !b->buf->borrowed && b->offset == 0 &&
           b->buf->bytes == (size_t)t->bytes && atomic_load(&b->buf->refs) == 1;
}

void engine_fill_with_nan(bool fill) { fills_with_nan = fill; }

static buffer *alloc_on(const backend *dev, int64_t bytes)
{
    buffer *b = dev->launch ? dev->alloc(dev, (size_t)bytes) : transfer_alloc(dev, (size_t)bytes);
    if (b && b->data && fills_with_nan)
        memset(b->data, 0xff, b->bytes);
    return b;
}

/* Temporaries are parts of one arena, unless that is larger than the device allows. */
static ig_status bind_temporaries(const schedule *s, const backend *dev, int *n_owned)
{
    const uint64_t most = dev->limits.alloc_bytes;
    const bool apart = most && (uint64_t)s->arena_bytes > most;
    buffer *arena = NULL;
    for (int i = 0; i < s->n_slot; i++) {
        const slot *t = &s->slot[i];
        if (t->kind != SLOT_TEMP && t->kind != SLOT_HOST)
            continue;
        if (t->shares >= 0) {
            engine.binding[i] = engine.binding[t->shares];
            continue;
        }
        const bool alone = apart || t->kind == SLOT_HOST;
        if (alone || !arena) {
            buffer *b = t->kind == SLOT_HOST ? buffer_new((size_t)t->bytes)
                        : alone              ? alloc_on(dev, t->bytes)
                                             : (arena = alloc_on(dev, s->arena_bytes));
            if (!b)
                return IG_ERR_MEMORY;
            engine.owned[(*n_owned)++] = b;
            engine.binding[i] = (binding){b, 0};
        }
        if (!alone)
            engine.binding[i] = (binding){arena, (size_t)t->offset};
    }
    return IG_OK;
}

/* Binds outputs and temporaries; the leaves are bound already. */
static ig_status bind_slots(const schedule *s, const backend *dev, int *n_owned)
{
    enum { MANY = 100 }; /* reads of a buffer, which are not counted further */
    uint64_t bytes = (uint64_t)(s->arena_bytes + s->out_bytes);
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_OUT && s->slot[i].shares >= 0 && !shares_leaf(&s->slot[i], dev))
            bytes += (uint64_t)s->slot[i].bytes;
    TRY(dev->pool ? pool_admit(dev->pool, bytes, "this evaluation")
                  : memory_admit(bytes, "this evaluation"));
    for (int i = 0; i < s->n_slot; i++) { /* leaves come first, then outputs before temporaries */
        const slot *t = &s->slot[i];
        if (t->kind == SLOT_LEAF && engine.binding[i].buf && engine.binding[i].buf->reads < MANY)
            engine.binding[i].buf->reads++;
        if (t->kind != SLOT_OUT)
            continue;
        const bool shares = shares_leaf(t, dev);
        buffer *b = shares ? buffer_retain(engine.binding[t->shares].buf) : alloc_on(dev, t->bytes);
        if (!b)
            return IG_ERR_MEMORY;
        if (shares)
            buffer_forget(b);
        engine.owned[(*n_owned)++] = b;
        engine.binding[i] = (binding){b, 0};
    }
    return bind_temporaries(s, dev, n_owned);
}

static ig_status launch(const schedule *s, int i, const backend *dev, uint64_t *device_ns)
{
    const program *p = &s->program[i];
    if (p->on_cpu)
        return fallback_launch(s, i, dev);
    if (s->n_on_cpu)
        fallback_forget(s, i);
    if (is_user_kernel(p))
        return p->kernel->runner->launch(p, dev, engine.binding);
    return dev->launch ? dev->launch(p, engine.binding)
                       : emitted_launch(p, dev, engine.binding, device_ns);
}

/* A launch with its span on the timeline: one for all programs of a chain. On a device that compiles kernels its
 * length is the time that the device measured. */
static ig_status launch_traced(const schedule *s, int index, const backend *dev)
{
    const program *p = &s->program[index];
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
    ig_status status = launch(s, index, dev, &device_ns);
    /* The launch was waited for, so the device's time ends now. */
    const int64_t late = device_ns ? trace_clock() - (int64_t)device_ns : 0;
    trace_end_program(late > began ? late : began, p->on_cpu ? backend_cpu.name : dev->name, label,
                      &cost);
    return status;
}

static ig_status launch_all(const schedule *s, const backend *dev, repeat *r, bool traced)
{
    const uint32_t cancels = cancel_count();
    ig_status status = IG_OK;
    for (int i = 0, chain = 0; i < s->n_program && status == IG_OK; i += s->program[i].chain) {
        if (r)
            repeat_chain(r, chain++);
        status = traced ? launch_traced(s, i, dev) : launch(s, i, dev, NULL);
        if (status == IG_OK && cancel_count() != cancels)
            status = ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled");
    }
    return status;
}

/* On a device with programs of its own. */
static ig_status launch_own(const schedule *s, const backend *dev)
{
    const uint32_t cancels = cancel_count();
    ig_status status = IG_OK;
    for (const program *p = s->program, *end = p + s->n_program; p < end; p += p->chain) {
        status = is_user_kernel(p) ? p->kernel->runner->launch(p, dev, engine.binding)
                                   : dev->launch(p, engine.binding);
        if (status != IG_OK)
            return status;
        if (cancel_count() != cancels)
            return ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled");
    }
    return status;
}

/* Launches all of it, as one if the device keeps its launches. */
static ig_status launch_repeated(schedule *s, const backend *dev)
{
    repeat *r;
    bool again = true;
    if (dev->launch)
        return launch_own(s, dev);
    ig_status status = repeat_of(s, dev, &r);
    if (status == IG_OK && !r)
        return launch_all(s, dev, NULL, false);
    while (again && status == IG_OK) {
        again = false;
        TRY(dev->replay->begin(dev, &r->kept));
        status = launch_all(s, dev, r, false);
        status = dev->replay->end(dev, r->kept, status, &again);
    }
    return status;
}

ig_status engine_run(schedule *s, const backend *dev, int *n_owned)
{
    *n_owned = 0;
    ig_status status = bind_slots(s, dev, n_owned);
    if (status == IG_OK && s->n_on_cpu)
        status = fallback_begin(s);
    const bool traced = trace_on();
    if (traced)
        trace_memory(ig_memory_used());
    const uint64_t run = dev->launch ? 0 : faults_begin();
    for (int i = 0; i < *n_owned; i++)
        engine.owned[i]->written = run;
    if (status == IG_OK && !dev->launch)
        status = emitted_arrange(s, dev, engine.binding);
    pool_watch(true);
    const bool launching = status == IG_OK;
    if (launching)
        status = traced ? launch_all(s, dev, NULL, true) : launch_repeated(s, dev);
    pool_watch(false);
    if (s->n_on_cpu)
        fallback_end();
    if (status != IG_OK && launching && !dev->launch)
        emitted_abandon(dev, engine.owned, *n_owned);
    if (!dev->launch && !dev->lanes) /* its launches are queued; whoever reads waits for them */
        return status;
    ig_status finished = dev->launch ? dev->finish(dev) : emitted_finish(dev);
    return status == IG_OK ? finished : status;
}

buffer *engine_take(int of, int n_owned, int *next)
{
    buffer *b = engine.binding[of].buf;
    for (int i = 0; i < n_owned; i++, *next = (*next + 1) % n_owned)
        if (engine.owned[*next] == b) {
            engine.owned[*next] = NULL;
            return b;
        }
    return buffer_retain(b);
}

void engine_drop(int n_owned)
{
    for (int i = 0; i < n_owned; i++)
        buffer_release(engine.owned[i]);
    if (trace_on())
        trace_memory(ig_memory_used());
}
