/* Schedules: compiling them for a device, and the cache. */
#include "engine/eval/budget.h"
#include "engine/eval/engine.h"
#include "engine/eval/fallback.h"
#include "engine/eval/fault_flow.h"
#include "engine/eval/kernel_table.h"
#include "engine/eval/repeat.h"

#include "base/error.h"
#include "base/threads.h"
#include "base/trace.h"
#include "engine/module/module.h"

#include <string.h>

void engine_discard(schedule *s, const backend *dev)
{
    if (s) {
        repeat_free(s->repeat);
        fault_flow_free(s->flow);
    }
    for (int i = 0; s && i < s->n_program; i++) {
        const backend *on = s->program[i].on_cpu ? &backend_cpu : dev;
        if (!program_is_custom(&s->program[i]))
            executor_of(on)->discard(&s->program[i], on);
    }
    schedule_free(s);
}

static ig_status prepare_for(schedule *s, int i, const backend *dev, module_batch *batch)
{
    const program *p = &s->program[i];
    TRY(fallback_check_sizes(s, i, dev));
    return program_is_custom(p) ? p->kernel->runner->prepare(p, dev)
                                : executor_of(dev)->prepare(s, i, dev, batch);
}

/* A program that the device cannot run may fall back. But a crowded schedule can be rebuilt from smaller programs,
 * unless this is the last attempt. */
static ig_status prepare(schedule *s, int i, const backend *dev, module_batch *batch, bool last)
{
    const bool waiting = ig_failed(); /* then the reason of a failure is unknown */
    if (s->program[i].on_cpu)         /* its chain was split */
        return IG_OK;
    const ig_status status = prepare_for(s, i, dev, batch);
    if (status == IG_OK || waiting || (s->is_crowded && !last))
        return status;
    return fallback_compile(s, i, dev,
                            error_waiting(status)); /* the error says what failed first */
}

/* Builds the kernels of a schedule of g. */
static ig_status compile(const graph *g, schedule *s, const backend *dev, bool last,
                         module_batch *batch)
{
    ig_status status = IG_OK;
    for (int i = 0; dev->native && dev->native->expect && i < s->n_program; i++)
        if (s->program[i].chain > 0)
            dev->native->expect(dev, &s->program[i]);
    /* Each kernel takes time to compile, so several threads compile the kernels of a new schedule. */
    module_batch own = {.dev = dev};
    const bool later = s->n_program > 1 && dev->builds_in_threads && pool_threads() > 1 && !batch;
    for (int i = 0; status == IG_OK && i < s->n_program; i++)
        status = prepare(s, i, dev, later ? &own : batch, last);
    module_batch_end(&own, status == IG_OK ? BATCH_APART : BATCH_DROPPED);
    for (int i = 0; later && status == IG_OK && i < s->n_program; i++)
        status = prepare(s, i, dev, NULL, last);
    if (status != IG_OK)
        return status;
    s->may_fall_back = fallback_allowed(dev);
    fallback_plan(s, dev);
    return s->n_on_cpu && program_checks() ? schedule_check(g, s) : IG_OK; /* chains were split */
}

/* NULL on failure; *crowded: it failed because the schedule is crowded, and a smaller one may succeed. */
static schedule *build(const graph *g, const backend *dev, const schedule_rules *rules, bool within,
                       bool last, module_batch *batch, bool *crowded)
{
    schedule *s = schedule_build(g, rules);
    recomputed r = {0};
    ig_status status = s ? IG_OK : IG_ERR_MEMORY;
    last = last || ig_failed();
    *crowded = false;
    if (s && within)
        status = budget_fit(g, dev, rules, &s, &r);
    const int64_t began = trace_begin();
    if (status == IG_OK)
        status = compile(r.room ? &r.g : g, s, dev, last, batch);
    trace_end(began, "compile");
    for (int i = 0; status == IG_OK && r.room && i < s->n_slot; i++)
        if (s->slot[i].node >= 0)
            s->slot[i].node = r.origin[s->slot[i].node];
    recompute_free(&r);
    if (status == IG_OK)
        return s;
    *crowded = s && s->is_crowded && !last;
    engine_discard(s, dev);
    return NULL;
}

/* If a kernel has more parameters than the device allows, the schedule is rebuilt with less fusion, where only
 * contractions form chains. */
static schedule *build_any(const graph *g, const backend *dev, bool within, module_batch *batch)
{
    enum { MOST = 32, LEAST = 2 };
    schedule_rules rules = executor_of(dev)->rules(dev);
    bool crowded;
    schedule *s = build(g, dev, &rules, within, false, batch, &crowded);
    for (int nodes = MOST; crowded; nodes /= 4) {
        ig_error(NULL);
        rules.group_nodes = nodes;
        rules.chain_bytes = 1;
        s = build(g, dev, &rules, within, nodes <= LEAST, batch, &crowded);
    }
    return s;
}

static buffer *leaf_buffer(const void *g, int i) { return ((const graph *)g)->leaf[i]->data; }

schedule *engine_build(const graph *g, const backend *dev, bool within, module_batch *batch)
{
    schedule *s = build_any(g, dev, within, batch);
    if (!s || !within || budget_suits(s, dev, leaf_buffer, g))
        return s;
    /* Preparing programs has taken memory that they keep, such as workspaces of libraries. It may also have ordered other
     * graphs, which share arrays with this one. */
    engine_discard(s, dev);
    for (int i = 0; i < g->n_node; i++)
        g->node[i]->index = i;
    for (int i = 0; i < g->n_leaf; i++)
        g->leaf[i]->index = -1 - i;
    return build_any(g, dev, within, batch);
}

/* Discards the least recently used schedules while more than KERNELS_MOST kernels are in use. */
static void limit_kernels(engine *e, const schedule *keep)
{
    while (kernels_used() > KERNELS_MOST) {
        int oldest = -1;
        for (int i = 0; i < CACHE_SLOTS; i++)
            if (e->cache[i].plan && e->cache[i].plan != keep &&
                (oldest < 0 || e->cache[i].plan->used < e->cache[oldest].plan->used))
                oldest = i;
        if (oldest < 0)
            return;
        engine_discard(e->cache[oldest].plan, e->cache[oldest].device);
        e->cache[oldest].plan = NULL;
    }
}

/* A new schedule replaces the least recently used of the entries that its hash allows. */
schedule *engine_schedule(engine *e, const backend *dev)
{
    const uint64_t hash = e->g.hash;
    size_t place = hash % CACHE_SLOTS, victim = place;
    for (int i = 0; i < CACHE_PROBES; i++) {
        size_t at = (hash + (uint64_t)i) % CACHE_SLOTS;
        schedule *s = e->cache[at].plan;
        if (s && s->hash == hash && e->cache[at].device == dev && s->key_bytes == e->g.key.used &&
            s->may_fall_back == fallback_allowed(dev) &&
            memcmp(s->key, e->g.key.at, s->key_bytes) == 0) {
            if (!budget_suits(s, dev, leaf_buffer, &e->g)) {
                victim = at;
                break;
            }
            s->used = ++e->clock;
            return s;
        }
        schedule *worst = e->cache[victim].plan;
        if (worst && (!s || s->used < worst->used))
            victim = at;
    }
    schedule *s = engine_build(&e->g, dev, true, NULL);
    if (!s)
        return NULL;
    engine_discard(e->cache[victim].plan, e->cache[victim].device);
    s->hash = hash;
    s->used = ++e->clock;
    e->cache[victim].plan = s;
    e->cache[victim].device = dev;
    limit_kernels(e, s);
    return s;
}
