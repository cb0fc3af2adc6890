/* Evaluation: the one place that ties graph and backend together. One call stack:
 *
 *   order -> keep -> key -> (cached schedule, or fuse, emit, plan, compile) -> admit -> launch -> attach
 *
 * One evaluation runs at a time; a lock guards the graph's scratch fields, the cache and the pool. */
#include "engine/emitted.h"
#include "engine/engine.h"
#include "engine/fallback.h"
#include "engine/kernel_node.h"
#include "engine/repeat.h"
#include "engine/transfer.h"
#include "backend/pool.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/trace.h"
#include "ops/evaluate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct engine engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static _Thread_local bool fills_with_nan;

/* A child of fork must not inherit a lock that a thread of its parent held. */
static void lock_engine(void) { pthread_mutex_lock(&engine.lock); }
void engine_leave(void) { pthread_mutex_unlock(&engine.lock); }
static void start(void)
{
    pthread_atfork(lock_engine, engine_leave, engine_leave);
    trace_begin_by_environment();
}

void engine_enter(void)
{
    pthread_once(&engine.once, start);
    lock_engine();
}

/* ---- devices ---- */

/* A device by the name that arrays carry. Names and devices keep their addresses, so the last one found is
 * kept. */
static const backend *device_named(const char *name)
{
    static _Thread_local const char *last;
    static _Thread_local const backend *found;
    if (name != last) {
        const backend *dev = backend_find(name);
        if (!dev)
            return &backend_cpu;
        last = name;
        found = dev;
    }
    return found;
}

const backend *engine_device(void) { return device_named(array_device_now()); }

/* Where an array is, or will be when it is evaluated. */
const backend *engine_device_of(const ig_array *x)
{
    const char *name = x->root->device;
    return device_named(name ? name : array_device_now());
}

const char *ig_array_device(const ig_array *x) { return x ? engine_device_of(x)->name : NULL; }

const char *ig_device(void) { return engine_device()->name; }

ig_status ig_set_device(const char *name)
{
    const backend *found = name ? backend_find(name) : NULL;
    if (!found)
        return backend_missing(name ? name : "");
    if (found->no_arrays)
        FAIL(IG_ERR_UNSUPPORTED, "device '%s': %s", found->name, found->no_arrays);
    array_device_set(found->name);
    return IG_OK;
}

int ig_device_count(void) { return backend_count(); }

ig_status ig_device_get(int i, ig_device_info *info)
{
    TRY(require_pointer("device_get", "info", info));
    const backend *dev = backend_at(i);
    if (!dev)
        FAIL(IG_ERR_ARGUMENT, "device %d: there are %d", i, backend_count());
    TRY(dev->describe(dev, info));
    info->runs_arrays = dev->computes && !dev->no_arrays;
    info->runs_kernels = backend_runs_kernels(dev);
    info->flushes_subnormals = info->runs_arrays && !dev->limits.subnormals;
    return IG_OK;
}

/* ---- the cache of schedules ---- */

/* True for a kernel of the user, which the engine launches whatever the device is. */
static bool is_user_kernel(const program *p)
{
    return p->kind == PROGRAM_KERNEL && !p->kernel->native;
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
        return kernel_node_compile(&s->program[i], dev);
    return dev->compile ? dev->compile(dev, &s->program[i]) : emitted_compile(s, i, dev);
}

static ig_status compile(schedule *s, int i, const backend *dev)
{
    const bool waiting = ig_failed(); /* then the reason of a failure is not known */
    if (s->program[i].on_cpu)         /* its chain was taken apart */
        return IG_OK;
    const ig_status status = compile_for(s, i, dev);
    return status == IG_OK || waiting || dev->launch ? status : fallback_compile(s, i, dev, status);
}

/* A chain of emitted kernels keeps its temporaries in shared memory, of which the folds take a part. */
static schedule_rules rules_of(const backend *dev)
{
    enum { FOLD_BYTES = 8192 };
    const int64_t shared = (int64_t)dev->limits.shared_bytes;
    if (dev->launch)
        return (schedule_rules){.contract_chains = true};
    /* Compilers for CPUs take very long for a kernel of several contractions. */
    return (schedule_rules){.contract_chains = !dev->limits.cpu,
                            .contract_ends = true,
                            .chain_bytes =
                                shared > 2 * FOLD_BYTES ? shared - FOLD_BYTES : FOLD_BYTES,
                            .team_points = 1024,
                            .team_rows = 8};
}

schedule *engine_build(const backend *dev)
{
    const schedule_rules rules = rules_of(dev);
    schedule *s = schedule_build(&engine.g, &rules);
    ig_status status = s ? IG_OK : IG_ERR_MEMORY;
    const int64_t began = trace_begin();
    for (int i = 0; status == IG_OK && i < s->n_program; i++)
        status = compile(s, i, dev);
    trace_end(began, "compile");
    if (status == IG_OK) {
        s->may_fall_back = fallback_allowed(dev);
        fallback_plan(s, dev);
        return s;
    }
    engine_discard(s, dev);
    return NULL;
}

/* The schedule for the graph in engine.g, from the cache or new; NULL on failure. The cache owns it. A new
 * one replaces the least recently used of the entries that its hash allows. */
static schedule *find_schedule(const backend *dev)
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
    buffer *b = transfer_alloc(dev, (size_t)bytes);
    if (b && b->data && fills_with_nan)
        memset(b->data, 0xff, b->bytes);
    return b;
}

/* Temporaries are parts of one arena, unless that is larger than the device allows. */
static ig_status bind_temporaries(const schedule *s, const backend *dev, int *n_owned)
{
    const bool apart = fallback_too_large(dev, (uint64_t)s->arena_bytes);
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
    uint64_t bytes = (uint64_t)(s->arena_bytes + s->out_bytes);
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_OUT && s->slot[i].shares >= 0 && !shares_leaf(&s->slot[i], dev))
            bytes += (uint64_t)s->slot[i].bytes;
    TRY(dev->pool ? pool_admit(dev->pool, bytes, "this evaluation")
                  : memory_admit(bytes, "this evaluation"));
    for (int i = 0; i < s->n_slot; i++) { /* leaves come first, then outputs before temporaries */
        const slot *t = &s->slot[i];
        if (t->kind != SLOT_OUT)
            continue;
        buffer *b = shares_leaf(t, dev) ? buffer_retain(engine.binding[t->shares].buf)
                                        : alloc_on(dev, t->bytes);
        if (!b)
            return IG_ERR_MEMORY;
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
        return kernel_node_launch(p, dev, engine.binding);
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

/* Launches all of it, as one if the device keeps its launches. */
static ig_status launch_repeated(schedule *s, const backend *dev)
{
    repeat *r;
    bool again = true;
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
    const uint64_t run = dev->launch ? 0 : emitted_begin();
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
        emitted_abandon(run);
    if (!dev->launch && !dev->lanes) /* its launches are queued; whoever reads waits for them */
        return status;
    ig_status finished = dev->launch ? dev->finish(dev) : emitted_finish(dev);
    return status == IG_OK ? finished : status;
}

void engine_drop(int n_owned)
{
    for (int i = 0; i < n_owned; i++)
        buffer_release(engine.owned[i]);
    if (trace_on())
        trace_memory(ig_memory_used());
}

/* Gives the outputs their buffers. Those that were only kept (graph_keep) keep their history, since the
 * caller did not ask for their evaluation. What could have been computed on any device is now on this one;
 * scalars can still be moved. */
static void attach(const schedule *s, const backend *dev)
{
    const graph *g = &engine.g;
    for (int i = 0; i < g->n_out; i++) {
        g->out[i]->data = buffer_retain(engine.binding[s->out_slot[i]].buf);
        if (!g->out[i]->device && g->out[i]->view.ndim)
            g->out[i]->device = dev->name;
    }
    for (int i = 0; i < g->n_asked; i++)
        array_drop_history(g->out[i]);
}

static ig_status check_list(ig_array *const *arrays, int n, ig_array *const *donated, int n_donated)
{
    TRY(require_list("eval", "arrays", arrays, n));
    TRY(require_list("eval", "donated", donated, n_donated));
    for (int i = 0; i < n + n_donated; i++)
        if (!(i < n ? arrays[i] : donated[i - n])) {
            if (!ig_failed())
                ig_fail(IG_ERR_ARGUMENT, "eval: array %d of %d is NULL", i, n + n_donated);
            return IG_ERR_ARGUMENT;
        }
    return IG_OK;
}

/* Orders and numbers what the arrays need; the lock is held. */
static ig_status prepare(ig_array *const *arrays, int n, ig_array *const *donated, int n_donated)
{
    TRY(graph_order(&engine.g, arrays, n));
    TRY(graph_keep(&engine.g));
    graph_donate(&engine.g, donated, n_donated);
    engine.g.math = ig_math_mode();
    return graph_key(&engine.g);
}

ig_status engine_bind_leaf(int leaf, ig_array *root, const backend *dev)
{
    if (!root->is_number && !transfer_stays(root->data, dev)) {
        if (root->device && strcmp(root->device, dev->name) != 0)
            FAIL(IG_ERR_DEVICE,
                 "an array that this needs is on device '%s', not on '%s'; move it with "
                 "to_device(x, \"%s\")",
                 root->device, dev->name, dev->name);
        TRY(transfer_root(root, dev));
    }
    TRY(emitted_check(root->data));
    engine.binding[leaf] = (binding){root->data, 0};
    return IG_OK;
}

/* Evaluates arrays that are all on the device. */
static ig_status eval_on(const backend *dev, ig_array *const *arrays, int n,
                         ig_array *const *donated, int n_donated)
{
    int n_owned;
    const int64_t began = trace_begin();
    TRY(prepare(arrays, n, donated, n_donated));
    trace_end(began, "order");
    if (engine.g.n_node == 0)
        return IG_OK;
    schedule *s = find_schedule(dev);
    if (!s || engine_room(s) != IG_OK)
        return error_waiting(IG_ERR_MEMORY);
    for (int i = 0; i < engine.g.n_leaf; i++)
        TRY(engine_bind_leaf(i, engine.g.leaf[i], dev));
    ig_status status = engine_run(s, dev, &n_owned);
    if (status == IG_OK)
        attach(s, dev);
    engine_drop(n_owned);
    /* A cancelled run may have overwritten leaves that no other array holds. */
    for (int i = 0; i < engine.g.n_leaf && status == IG_ERR_CANCELLED; i++)
        if (s->slot[i].shares >= 0)
            array_donate(engine.g.leaf[i]);
    return status;
}

/* ---- arrays that move ---- */

static ig_status eval_locked(ig_array *const *arrays, int n, ig_array *const *donated,
                             int n_donated);

/* Unevaluated to_device nodes that the arrays need, inputs first; *list is memory_free's. */
static ig_status find_crossings(ig_array *const *arrays, int n, ig_array ***list, int *count)
{
    ig_array **stack = NULL;
    int used = 0, room = 0, room_list = 0;
    const uint32_t epoch = ++engine.g.epoch;
    *list = NULL;
    *count = 0;
    for (int i = 0; i < n; i++) {
        if (!graph_room(&stack, used, &room, sizeof *stack))
            goto failed;
        stack[used++] = arrays[i]->root;
    }
    while (
        used) { /* a node stays on the stack until its inputs are done; index says how many are */
        ig_array *x = stack[used - 1];
        if (x->mark != epoch) {
            x->mark = epoch;
            x->index = 0;
        }
        if (x->data || !x->crosses || x->index < 0) {
            used--;
            continue;
        }
        if (x->index < x->n_in) {
            if (!graph_room(&stack, used, &room, sizeof *stack))
                goto failed;
            stack[used++] = x->in[x->index++]->root;
            continue;
        }
        x->index = -1;
        used--;
        if (x->attr.device) {
            if (!graph_room(list, *count, &room_list, sizeof **list))
                goto failed;
            (*list)[(*count)++] = x;
        }
    }
    memory_free(stack);
    return IG_OK;
failed:
    memory_free(stack);
    memory_free(*list);
    *list = NULL;
    return IG_ERR_MEMORY;
}

/* The elements of x on its own device, in order: its root's buffer, or a copy. */
static buffer *elements_of(ig_array *x, size_t *offset)
{
    *offset = 0;
    if (!view_is_contiguous(&x->view)) {
        ig_array *copy = build_contiguous(x);
        buffer *b =
            copy && eval_locked(&copy, 1, NULL, 0) == IG_OK ? buffer_retain(copy->data) : NULL;
        ig_release(ig_scope_forget(copy));
        return b;
    }
    if (eval_locked(&x, 1, NULL, 0) != IG_OK)
        return NULL;
    *offset = (size_t)x->view.offset * ig_dtype_bytes((ig_dtype)x->dtype);
    return buffer_retain(x->root->data);
}

static ig_status cross(ig_array *x)
{
    size_t offset;
    const backend *to = backend_find(x->attr.device);
    if (!to)
        return backend_missing(x->attr.device);
    buffer *from = elements_of(x->in[0], &offset);
    if (!from)
        return error_waiting(IG_ERR_MEMORY);
    const size_t bytes = (size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
    if (transfer_stays(from, to) && offset == 0 && from->bytes == bytes)
        x->data = buffer_retain(from);
    else
        x->data = transfer_copy(from, offset, bytes, to);
    buffer_release(from);
    if (!x->data)
        return error_waiting(IG_ERR_MEMORY);
    array_drop_history(x);
    return IG_OK;
}

static ig_status cross_all(ig_array *const *arrays, int n)
{
    ig_array **list;
    int count;
    TRY(find_crossings(arrays, n, &list, &count));
    ig_status status = IG_OK;
    for (int i = 0; i < count && status == IG_OK; i++)
        if (!list[i]->data)
            status = cross(list[i]);
    memory_free(list);
    return status;
}

/* Evaluates arrays of several devices, those of one device together. */
static ig_status eval_by_device(ig_array *const *arrays, int n, ig_array *const *donated,
                                int n_donated)
{
    ig_array **here = memory_get((size_t)n * sizeof *here);
    if (!here)
        return IG_ERR_MEMORY;
    ig_status status = IG_OK;
    for (int i = 0; i < n && status == IG_OK; i++) {
        const backend *dev = engine_device_of(arrays[i]);
        int count = 0;
        if (arrays[i]->root->data)
            continue;
        for (int k = i; k < n; k++)
            if (!arrays[k]->root->data && engine_device_of(arrays[k]) == dev)
                here[count++] = arrays[k];
        status = eval_on(dev, here, count, donated, n_donated);
    }
    memory_free(here);
    return status;
}

static ig_status eval_locked(ig_array *const *arrays, int n, ig_array *const *donated,
                             int n_donated)
{
    const backend *dev = NULL;
    bool crosses = false, several = false;
    TRY(check_list(arrays, n, donated, n_donated));
    for (int i = 0; i < n; i++) {
        const ig_array *root = arrays[i]->root;
        crosses = crosses || (root->crosses && !root->data);
        const backend *there = engine_device_of(arrays[i]);
        several = several || (dev && there != dev && root->device);
        dev = root->device || !dev ? there : dev;
    }
    if (crosses)
        TRY(cross_all(arrays, n));
    if (several)
        return eval_by_device(arrays, n, donated, n_donated);
    return dev ? eval_on(dev, arrays, n, donated, n_donated) : IG_OK;
}

ig_status ig_eval_donating(ig_array *const *arrays, int n, ig_array *const *donated, int n_donated)
{
    engine_enter();
    const int64_t began = trace_begin();
    ig_status status = eval_locked(arrays, n, donated, n_donated);
    trace_end(began, "eval");
    const bool written = status == IG_OK || status == IG_ERR_CANCELLED; /* over donated inputs */
    for (int i = 0; i < n_donated && written; i++)
        if (donated[i]->root->data)
            array_donate(donated[i]->root);
    engine_leave();
    return status;
}

ig_status ig_eval(ig_array *const *arrays, int n) { return ig_eval_donating(arrays, n, NULL, 0); }

char *ig_explain_donating(ig_array *const *arrays, int n, ig_array *const *donated, int n_donated)
{
    text t = {0};
    engine_enter();
    const bool whole = check_list(arrays, n, donated, n_donated) == IG_OK;
    const backend *dev = whole && n ? engine_device_of(arrays[0]) : engine_device();
    schedule *s = NULL;
    if (whole && cross_all(arrays, n) == IG_OK && prepare(arrays, n, donated, n_donated) == IG_OK)
        s = find_schedule(dev);
    if (s)
        schedule_text(s, &engine.g, dev->name, dev->launch ? dev->core_name : emitted_core_name,
                      &t);
    else
        t.failed = true;
    engine_leave();
    return text_take(&t);
}

char *ig_explain(ig_array *const *arrays, int n) { return ig_explain_donating(arrays, n, NULL, 0); }

ig_status ig_can_eval(ig_array *const *arrays, int n)
{
    engine_enter();
    ig_status status = check_list(arrays, n, NULL, 0);
    if (status == IG_OK)
        status = cross_all(arrays, n);
    for (int i = 0; i < n && status == IG_OK; i++) { /* they may be on different devices */
        const backend *dev = engine_device_of(arrays[i]);
        status = prepare(&arrays[i], 1, NULL, 0);
        if (status != IG_OK || dev->compile || engine.g.n_node == 0)
            continue;
        const schedule_rules rules = rules_of(dev);
        schedule *s = schedule_build(&engine.g, &rules);
        status = s ? emitted_support(s, dev) : error_waiting(IG_ERR_MEMORY);
        schedule_free(s);
    }
    engine_leave();
    return status;
}

void ig_shutdown(void)
{
    ig_trace_end();
    scope_end_all(); /* devices close only when their buffers are gone */
    engine_enter();
    for (int i = 0; i < CACHE_SLOTS; i++) {
        if (engine.cache[i].plan)
            engine_discard(engine.cache[i].plan, engine.cache[i].device);
        engine.cache[i].plan = NULL;
    }
    graph_free(&engine.g);
    memory_free(engine.binding);
    memory_free(engine.owned);
    engine.binding = NULL;
    engine.owned = NULL;
    engine.room_binding = engine.room_owned = 0;
    emitted_release();
    fallback_release();
    backend_release_all();
    engine_leave();
    memory_trim();
}

/* ---- reading ---- */

static ig_status read_check(ig_array *x, const char *what)
{
    if (!x) {
        if (!ig_failed())
            ig_fail(IG_ERR_ARGUMENT, "%s: the array is NULL", what);
        return IG_ERR_ARGUMENT;
    }
    TRY(ig_eval(&x, 1));
    const buffer *b = x->root->data;
    if (b->device && !b->device->computes && b->bytes)
        FAIL(IG_ERR_DEVICE, "%s: the device computes nothing, so there is nothing to read", what);
    return IG_OK;
}

static ig_status read_locked(buffer *from, size_t offset, void *to, size_t bytes)
{
    engine_enter();
    const ig_status status = transfer_read(from, offset, to, bytes);
    engine_leave();
    return status;
}

static buffer *elements_locked(ig_array *x, size_t *offset)
{
    engine_enter();
    buffer *b = elements_of(x, offset);
    engine_leave();
    return b;
}

ig_status engine_order(ig_array *x)
{
    size_t offset;
    if (!view_is_contiguous(&x->view) && !x->data)
        x->data = elements_locked(x, &offset);
    return view_is_contiguous(&x->view) || x->data ? IG_OK : IG_ERR_MEMORY;
}

/* Host memory with the elements of an array on a device. */
static const void *host_copy(ig_array *x)
{
    size_t offset;
    if (x->host)
        return x->host->data;
    const size_t bytes = (size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
    buffer *from = elements_locked(x, &offset);
    if (from && bytes && from->device && from->device->wrap) {
        engine_enter();
        x->host = transfer_share(from, offset, bytes);
        engine_leave();
        buffer_release(from);
        return x->host ? x->host->data : NULL;
    }
    buffer *to = from ? buffer_new(bytes) : NULL;
    if (to && read_locked(from, offset, to->data, bytes) == IG_OK)
        x->host = buffer_retain(to);
    buffer_release(from);
    buffer_release(to);
    return x->host ? x->host->data : NULL;
}

const void *ig_data(ig_array *x)
{
    if (read_check(x, "data") != IG_OK)
        return NULL;
    if (x->root->data->device)
        return host_copy(x);
    if (!engine_device_of(x)->lanes && !x->root->is_number && !x->root->host)
        x->root->host =
            buffer_retain(x->root->data); /* the pointer outlives a move to the device */
    if (view_is_contiguous(&x->view))
        return array_host(x);
    return engine_order(x) == IG_OK ? (x->data->device ? host_copy(x) : x->data->data) : NULL;
}

ig_status ig_read(ig_array *x, void *dst, size_t size)
{
    size_t offset;
    TRY(read_check(x, "read"));
    size_t have = (size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype);
    if (have != size)
        FAIL(IG_ERR_ARGUMENT, "read: the array has %zu bytes, but the destination has %zu", have,
             size);
    if (size)
        TRY(require_pointer("read", "dst", dst));
    buffer *from = elements_locked(x, &offset);
    if (!from)
        return error_waiting(IG_ERR_MEMORY);
    const ig_status status = read_locked(from, offset, dst, size);
    buffer_release(from);
    return status;
}

static ig_status item_check(const ig_array *x, const char *what)
{
    char shape[400];
    if (view_size(&x->view) != 1)
        FAIL(IG_ERR_SHAPE, "%s: the array must have one element, but its shape is %s", what,
             view_shape_text(x->view.ndim, x->view.shape, shape));
    return IG_OK;
}

/* The only element of x, in storage format. */
static ig_status item_read(ig_array *x, const char *what, unsigned char element[static 8])
{
    TRY(read_check(x, what));
    TRY(item_check(x, what));
    const size_t bytes = ig_dtype_bytes((ig_dtype)x->dtype);
    return read_locked(x->root->data, (size_t)x->view.offset * bytes, element, bytes);
}

double ig_item(ig_array *x)
{
    unsigned char element[8];
    return item_read(x, "item", element) == IG_OK ? dtype_fetch((ig_dtype)x->dtype, element) : NAN;
}

int64_t ig_item_int(ig_array *x)
{
    unsigned char element[8];
    if (item_read(x, "item_int", element) != IG_OK)
        return 0;
    const ig_dtype dtype = (ig_dtype)x->dtype;
    const double number = dtype_fetch(dtype, element);
    const int64_t whole = dtype_is_float(dtype) ? 0 : dtype_fetch_int(dtype, element);
    if (!dtype_is_float(dtype) && (dtype != IG_U64 || whole >= 0))
        return whole;
    if (dtype_is_float(dtype) && number == floor(number) && fabs(number) < 0x1p63)
        return (int64_t)number;
    ig_fail(IG_ERR_ARGUMENT, "item_int: %g is not an integer of 64 bits; read it with ig_item",
            number);
    return 0;
}

ig_status ig_synchronize(const char *device)
{
    const backend *dev = device ? backend_find(device) : engine_device();
    if (!dev)
        return backend_missing(device);
    engine_enter();
    const ig_status status = dev->launch ? dev->finish(dev) : emitted_finish(dev);
    engine_leave();
    return status;
}

/* ---- evaluation for others ---- */

ig_status evaluate_arrays(ig_array *const *arrays, int n) { return ig_eval(arrays, n); }
const void *evaluate_data(ig_array *x) { return ig_data(x); }

ig_status ig_value_and_grad(ig_array *loss, ig_array *const *params, int n, double *value,
                            ig_array **grads)
{
    TRY(require_pointer("value_and_grad", "value", value));
    TRY(ig_grad(loss, params, n, grads));
    ig_array **all = memory_get((size_t)(n + 1) * sizeof *all);
    if (!all)
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        all[i] = grads[i];
    all[n] = loss;
    ig_status status = ig_eval(all, n + 1);
    memory_free(all);
    if (status == IG_OK)
        *value = ig_item(loss);
    return status;
}

/* ---- settings ---- */

ig_status ig_set_threads(int n)
{
    if (n < 0)
        FAIL(IG_ERR_ARGUMENT, "threads: %d is negative; 0 asks for the default", n);
    engine_enter(); /* a running evaluation relies on the number of workers */
    pool_set_threads(n);
    engine_leave();
    return IG_OK;
}

int ig_threads(void) { return pool_threads(); }
