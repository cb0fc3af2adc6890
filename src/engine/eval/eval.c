/* Evaluation: connects graph and backend. All steps are on one call stack; schedules.c has the cache, run.c the run:
 *
 *   order -> keep -> key -> (cached schedule, or fuse, emit, plan, compile) -> admit -> launch -> attach
 *
 * One evaluation runs at a time; a lock guards the graph's scratch fields, the cache and the pool. */
#include "engine/eval/emitted.h"
#include "engine/eval/ask.h"
#include "engine/eval/constants.h"
#include "engine/eval/engine.h"
#include "engine/eval/fallback.h"
#include "engine/eval/device_list.h"
#include "engine/eval/transfer.h"
#include "engine/module/module.h"
#include "engine/backend/pool.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"
#include "engine/array/above.h"
#include "engine/array/shutdown.h"
#include "engine/ops/complex.h"
#include <pthread.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    engine engine;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* A child of fork must not inherit a lock that a thread of its parent held. */
static void lock_engine(void)
{
    pthread_mutex_lock(&process.lock);
    cpu_turn_begin();
}
static void unlock_engine(void)
{
    cpu_turn_end();
    pthread_mutex_unlock(&process.lock);
}
static void start(void)
{
    pthread_atfork(lock_engine, unlock_engine, unlock_engine);
    trace_begin_by_environment();
}

engine *engine_enter(void)
{
    pthread_once(&process.once, start);
    pthread_mutex_lock(&process.lock);
    return &process.engine;
}

void engine_leave(void) { pthread_mutex_unlock(&process.lock); }

bool engine_steps_out(const run *r)
{
    bool can = r->own && r->dev == &backend_cpu && !r->s->n_on_cpu;
    for (int i = 0; can && i < r->s->n_program; i++)
        can = !program_is_custom(&r->s->program[i]);
    return can;
}

static void clear(engine *e)
{
    for (int i = 0; i < CACHE_SLOTS; i++) {
        if (e->cache[i].plan)
            engine_discard(e->cache[i].plan, e->cache[i].device);
        e->cache[i].plan = NULL;
    }
    graph_free(&e->g);
    run_free(&e->run);
}

void engine_free(engine *e)
{
    if (e) {
        engine_enter();
        clear(e);
        engine_leave();
    }
    memory_free(e);
}

/* Gives the outputs their buffers. Outputs that were only kept (graph_keep) keep their history, because the
 * caller did not ask for their evaluation. Arrays that could have been on any device are now on this one;
 * scalars can still be moved. */
static void attach(const graph *g, run *r)
{
    for (int i = 0; i < g->n_out; i++) {
        g->out[i]->data = run_take(r, r->s->out_slot[i]);
        if (!g->out[i]->device && g->out[i]->view.ndim)
            g->out[i]->device = r->dev->name;
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

/* Orders and numbers the nodes that the arrays need; the lock is held. */
static ig_status prepare(graph *g, ig_array *const *arrays, int n, ig_array *const *donated,
                         int n_donated)
{
    TRY(graph_order(g, arrays, n));
    graph_donate(g, donated, n_donated, DONATED);
    TRY(graph_keep(g));
    g->math = ig_math_mode();
    return graph_key(g);
}

/* Bytes that a run takes on the device, if leaves must be copied to it; 0: they are there. */
static uint64_t bytes_to_admit(const graph *g, const schedule *s, const backend *dev)
{
    uint64_t bytes = 0;
    for (int i = 0; i < g->n_leaf; i++) {
        const ig_array *root = g->leaf[i];
        if (!root->is_number && !transfer_stays(root->data, dev))
            bytes += pool_bytes(dev->pool, root->data->bytes);
    }
    return bytes ? bytes + s->run_bytes : 0;
}

/* Evaluates arrays that are all on the device. */
static ig_status eval_on(engine *e, const backend *dev, ig_array *const *arrays, int n,
                         ig_array *const *donated, int n_donated)
{
    graph *g = &e->g;
    run *r = &e->run;
    r->own = e == &process.engine ? NULL : e;
    const int64_t began = trace_begin();
    TRY(prepare(g, arrays, n, donated, n_donated));
    trace_end(began, "order");
    if (g->n_node == 0)
        return IG_OK;
    schedule *s = engine_schedule(e, dev);
    if (!s || run_begin(r, s, dev) != IG_OK)
        return error_waiting(IG_ERR_MEMORY);
    if (dev->pool && !dev->wrap) /* no leaf is moved in vain */
        TRY(pool_admit(dev->pool, bytes_to_admit(g, s, dev), "this evaluation"));
    for (int i = 0; i < g->n_leaf; i++) {
        const buffer *b = g->leaf[i]->data;
        if (dev == &backend_cpu && !b->device && !b->written) /* usually */
            r->binding[i] = (binding){g->leaf[i]->data, 0};
        else
            TRY(run_bind_leaf(r, i, g->leaf[i]));
    }
    const ig_status status = run_launch(r);
    if (status == IG_OK)
        attach(g, r);
    run_end(r);
    /* A cancelled run may have overwritten leaves that no other array holds. */
    for (int i = 0; i < g->n_leaf && status == IG_ERR_CANCELLED; i++)
        if (s->slot[i].shares >= 0)
            array_donate(g->leaf[i]);
    return status;
}

/* ---- arrays that move ---- */

/* Lists unevaluated to_device nodes that the arrays need, inputs first. The caller frees *list with memory_free. */
static ig_status find_crossings(ig_array *const *arrays, int n, ig_array ***list, int *count)
{
    ig_array **stack = NULL;
    int used = 0, room = 0, room_list = 0;
    const uint32_t epoch = graph_epoch();
    *list = NULL;
    *count = 0;
    for (int i = 0; i < n; i++) {
        if (!memory_room(&stack, used, &room, sizeof *stack))
            goto failed;
        stack[used++] = arrays[i]->root;
    }
    while (
        used) { /* a node stays on the stack until its inputs are done; index counts those that are */
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
            if (!memory_room(&stack, used, &room, sizeof *stack))
                goto failed;
            stack[used++] = x->in[x->index++]->root;
            continue;
        }
        x->index = -1;
        used--;
        if (x->attr.device || x->attr.source) {
            if (!memory_room(list, *count, &room_list, sizeof **list))
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

/* Reads all elements of a source. */
static ig_status read_source(ig_array *x)
{
    if (x->n_in)
        FAIL(IG_ERR_UNSUPPORTED, "map_blocks: evaluate its result with ig_eval first");
    const backend *dev = engine_device_of(x);
    const block_source *s = x->attr.source;
    const int64_t start[IG_MAX_NDIM] = {0};
    buffer *b = buffer_new((size_t)view_size(&x->view) * ig_dtype_bytes((ig_dtype)x->dtype));
    if (b && (b->bytes == 0 || s->read(s->context, start, s->shape, b->data) == IG_OK))
        x->data = transfer_stays(b, dev) ? buffer_retain(b) : transfer_copy(b, 0, b->bytes, dev);
    buffer_release(b);
    if (!x->data)
        return error_waiting(IG_ERR_MEMORY);
    array_drop_history(x);
    return IG_OK;
}

static ig_status cross(engine *e, ig_array *x)
{
    if (x->attr.source)
        return read_source(x);
    size_t offset;
    const backend *to = backend_find(x->attr.device);
    if (!to)
        return backend_missing(x->attr.device);
    buffer *from = engine_elements(e, x->in[0], &offset);
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

static ig_status cross_all(engine *e, ig_array *const *arrays, int n)
{
    ig_array **list;
    int count;
    TRY(find_crossings(arrays, n, &list, &count));
    ig_status status = IG_OK;
    for (int i = 0; i < count && status == IG_OK; i++)
        if (!list[i]->data)
            status = cross(e, list[i]);
    memory_free(list);
    return status;
}

/* Evaluates arrays of several devices; the arrays of one device are evaluated together. */
static ig_status eval_by_device(engine *e, ig_array *const *arrays, int n, ig_array *const *donated,
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
        status = eval_on(e, dev, here, count, donated, n_donated);
    }
    memory_free(here);
    return status;
}

static ig_status eval_locked(engine *e, ig_array *const *arrays, int n, ig_array *const *donated,
                             int n_donated)
{
    const backend *dev = NULL;
    bool crosses = false, several = false;
    if (n == 1 && n_donated == 0 && arrays && arrays[0] && !arrays[0]->root->crosses)
        return eval_on(e, engine_device_of(arrays[0]), arrays, 1, NULL, 0); /* usually */
    TRY(check_list(arrays, n, donated, n_donated));
    for (int i = 0; i < n; i++) {
        const ig_array *root = arrays[i]->root;
        crosses = crosses || (root->crosses && !root->data);
        const backend *there = engine_device_of(arrays[i]);
        several = several || (dev && there != dev && root->device);
        dev = root->device || !dev ? there : dev;
    }
    if (crosses)
        TRY(cross_all(e, arrays, n));
    if (several)
        return eval_by_device(e, arrays, n, donated, n_donated);
    return dev ? eval_on(e, dev, arrays, n, donated, n_donated) : IG_OK;
}

/* True if x is a view of an array in host memory whose device has its own: it may be too large for that. */
static bool is_apart(const ig_array *x)
{
    const buffer *b = x->root->data;
    return b && !b->device && engine_device_of(x)->pool;
}

/* The view as one of the CPU, which the caller releases; NULL on failure. */
static ig_array *view_on_cpu(const ig_array *x)
{
    const ig_array *root = x->root;
    const char *before = array_device_now();
    array_device_set(backend_cpu.name);
    ig_array *all = array_leaf((ig_dtype)root->dtype, root->view.ndim, root->view.shape,
                               buffer_retain(root->data));
    ig_array *seen = all ? array_view(OP_slice, all, &x->view) : NULL;
    array_device_set(before);
    ig_release(ig_scope_forget(all));
    return ig_scope_forget(seen);
}

buffer *engine_elements(engine *e, ig_array *x, size_t *offset)
{
    *offset = 0;
    if (!array_is_ordered(x)) {
        ig_array *seen = is_apart(x) ? view_on_cpu(x) : ig_retain(x);
        ig_array *copy = seen ? build_copy(seen) : NULL;
        buffer *b =
            copy && eval_locked(e, &copy, 1, NULL, 0) == IG_OK ? buffer_retain(copy->data) : NULL;
        ig_release(ig_scope_forget(copy));
        ig_release(seen);
        return b;
    }
    if (eval_locked(e, &x, 1, NULL, 0) != IG_OK)
        return NULL;
    *offset = (size_t)x->view.offset * ig_dtype_bytes((ig_dtype)x->dtype);
    return buffer_retain(x->root->data);
}

/* Calls engine_eval, explain or another function with the pairs of complex arrays instead of the arrays. */
static ig_array **with_pairs(ig_array *const *arrays, int n)
{
    ig_array **list = memory_get((size_t)(n + 1) * sizeof *list);
    for (int i = 0; list && i < n; i++) {
        list[i] = complex_pairs(arrays[i]);
        if (!list[i] && arrays[i]) {
            memory_free(list);
            list = NULL;
        }
    }
    return list;
}

static ig_status eval_complex(const eval_context *c, ig_array *const *arrays, int n,
                              ig_array *const *donated, int n_donated)
{
    ig_array **list = with_pairs(arrays, n), **given = with_pairs(donated, n_donated);
    const ig_status status =
        list && given ? engine_eval(c, list, n, given, n_donated) : error_waiting(IG_ERR_MEMORY);
    memory_free(list);
    memory_free(given);
    return status;
}

/* True if the arrays depend on sources that have not been read. */
static bool reads_sources(ig_array *const *arrays, int n)
{
    ig_array **list = NULL;
    int count = 0;
    bool found = false, crosses = false;
    for (int i = 0; arrays && i < n; i++)
        crosses = crosses || (arrays[i] && arrays[i]->root->crosses && !arrays[i]->root->data);
    if (!crosses)
        return false;
    engine_enter();
    if (check_list(arrays, n, NULL, 0) == IG_OK)
        find_crossings(arrays, n, &list, &count);
    for (int i = 0; i < count; i++)
        found = found || (list[i]->attr.source && !list[i]->data);
    memory_free(list);
    engine_leave();
    return found;
}

bool ig_reads_blocks(ig_array *x)
{
    pair parts = array_is_complex(x) ? complex_parts(x) : (pair){x, x};
    return x && (reads_sources(&parts.re, 1) || reads_sources(&parts.im, 1));
}

/* ---- arrays that are computed block by block, although they read no source ---- */

/* The device of arrays of which none moves and some are not evaluated; NULL: they are on several devices. With the
 * lock. */
static const backend *device_of_all(ig_array *const *arrays, int n)
{
    const backend *dev = NULL;
    ig_array **list = NULL;
    int count = 0;
    for (int i = 0; i < n; i++) {
        const backend *there = engine_device_of(arrays[i]);
        if (arrays[i]->root->data)
            continue;
        if (dev && there != dev)
            return NULL;
        dev = there;
    }
    if (dev && find_crossings(arrays, n, &list, &count) != IG_OK)
        return NULL;
    for (int i = 0; i < count; i++)
        dev = list[i]->data ? dev : NULL;
    memory_free(list);
    return dev;
}

/* The work of a graph: the flops of its programs, and the bytes of its leaves and results. */
typedef struct work {
    uint64_t hash, flops, bytes;
} work;

/* With the lock. The work of recent graphs is kept: a loop evaluates the same ones again and again. */
static ig_status work_of(engine *e, const backend *dev, ig_array *const *arrays, int n, work *out)
{
    static work kept[256];
    TRY(prepare(&e->g, arrays, n, NULL, 0));
    work *w = &kept[e->g.hash % (sizeof kept / sizeof *kept)];
    if (e->g.n_node == 0 || w->hash == e->g.hash) {
        *out = e->g.n_node ? *w : (work){0};
        return IG_OK;
    }
    *w = (work){.hash = e->g.hash};
    const schedule_rules rules = executor_of(dev)->rules(dev);
    schedule *s = schedule_build(&e->g, &rules);
    if (!s)
        return error_waiting(IG_ERR_MEMORY);
    for (int i = 0; i < s->n_program; i++)
        w->flops += (uint64_t)s->program[i].flops;
    for (int i = 0; i < s->n_slot; i++)
        if (s->slot[i].kind == SLOT_LEAF || s->slot[i].kind == SLOT_OUT)
            w->bytes += (uint64_t)s->slot[i].bytes;
    schedule_free(s);
    *out = *w;
    return IG_OK;
}

/* True if devices that share the work are faster than one of them. Copies between devices take as long as some flops for each
 * byte, and a plan takes as long as many. With IG_BLOCK_BYTES, for tests, a graph of some blocks is divided. */
static bool pays(const work *w)
{
    enum { FLOPS_LEAST = 1000000000, FLOPS_PER_BYTE = 4, BLOCKS_LEAST = 2 };
    const char *asked = getenv("IG_BLOCK_BYTES");
    if (asked && atoll(asked) > 0)
        return w->bytes / BLOCKS_LEAST >= (uint64_t)atoll(asked);
    return w->flops >= FLOPS_LEAST && w->flops / FLOPS_PER_BYTE >= w->bytes;
}

/* True if the devices of a list should share the evaluation, according to its work. */
static bool is_shared(const eval_context *c, ig_array *const *arrays, int n)
{
    work w = {0};
    if (c->is_block || !device_list_now() || check_list(arrays, n, NULL, 0) != IG_OK)
        return false;
    engine *e = engine_enter();
    const backend *dev = device_of_all(arrays, n);
    const bool known =
        dev && device_list_of(dev) && !ig_failed() && work_of(e, dev, arrays, n, &w) == IG_OK;
    engine_leave();
    return known && pays(&w);
}

/* After an evaluation of the arrays failed: true if a device had no memory for them, and block by block they may fit. The
 * error is then cleared. */
static bool may_stream(const eval_context *c, ig_array *const *arrays, int n, uint64_t refused)
{
    engine_enter();
    const backend *dev = c->is_block ? NULL : device_of_all(arrays, n);
    const bool may = dev && dev->pool && dev->computes && pool_refusals() != refused;
    if (may) {
        ig_error(NULL);
        emitted_trim(dev);
    }
    engine_leave();
    return may;
}

ig_status engine_eval(const eval_context *c, ig_array *const *arrays, int n,
                      ig_array *const *donated, int n_donated)
{
    if (complex_any(arrays, n) || complex_any(donated, n_donated))
        return eval_complex(c, arrays, n, donated, n_donated);
    if (reads_sources(arrays, n))
        TRY(above.eval_by_blocks(arrays, n, false, NULL)); /* now they are evaluated */
    else if (n_donated == 0 && is_shared(c, arrays, n))
        TRY(above.eval_by_blocks(arrays, n, true, NULL)); /* now they may be */
    const bool waits = ig_failed();
    const uint64_t refused = pool_refusals();
    engine *e = c->own ? c->own : &process.engine;
    engine_enter();
    const int64_t began = trace_begin();
    ig_status status = eval_locked(e, arrays, n, donated, n_donated);
    trace_end(began, "eval");
    if ((status == IG_ERR_MEMORY || status == IG_ERR_UNSUPPORTED) && !waits) {
        engine_leave();
        if (may_stream(c, arrays, n, refused))
            status = above.eval_by_blocks(arrays, n, false, NULL);
        engine_enter();
    }
    const bool written = status == IG_OK || status == IG_ERR_CANCELLED; /* to donated inputs */
    for (int i = 0; i < n_donated && written; i++)
        if (donated[i]->root->data)
            array_donate(donated[i]->root);
    engine_leave();
    return status;
}

static _Thread_local const backend *asked; /* by engine_ask */
static ig_status can_eval(ig_array *const *arrays, int n, const backend *like);

ig_status ig_eval_donating(ig_array *const *arrays, int n, ig_array *const *donated, int n_donated)
{
    if (asked && !ig_failed())
        TRY(can_eval(arrays, n, asked));
    return engine_eval(&(eval_context){0}, arrays, n, donated, n_donated);
}

ig_status engine_eval_held(engine *e, ig_array *const *arrays, int n)
{
    return eval_locked(e, arrays, n, NULL, 0);
}

ig_status engine_eval_filled(ig_array *const *arrays, int n)
{
    engine *e = engine_enter();
    e->run.fills_with_nan = true;
    const ig_status status = eval_locked(e, arrays, n, NULL, 0);
    e->run.fills_with_nan = false;
    engine_leave();
    return status;
}

ig_status ig_eval(ig_array *const *arrays, int n) { return ig_eval_donating(arrays, n, NULL, 0); }

void engine_explain(const schedule *s, const graph *g, const backend *dev, text *t)
{
    schedule_text(s, g, dev->name, dev->core_name ? dev->core_name : executor_of(dev)->core_name,
                  t);
}

/* True if the arrays do not fit on their device as a whole, so they are computed block by block. */
static bool is_too_large(ig_array *const *arrays, int n)
{
    if (ig_failed() || check_list(arrays, n, NULL, 0) != IG_OK || n == 0 ||
        !engine_device_of(arrays[0])->pool)
        return false;
    engine *e = engine_enter();
    const backend *dev = device_of_all(arrays, n);
    const uint64_t refused = pool_refusals();
    bool large = false;
    if (dev && dev->pool && dev->computes && prepare(&e->g, arrays, n, NULL, 0) == IG_OK &&
        e->g.n_node) {
        const schedule *s = engine_schedule(e, dev);
        if (s && !dev->wrap)
            pool_admit(dev->pool, bytes_to_admit(&e->g, s, dev), "this evaluation");
        if (s)
            pool_admit(dev->pool, s->run_bytes, "this evaluation");
        large = pool_refusals() != refused;
        if (large)
            ig_error(NULL);
    }
    engine_leave();
    return large;
}

static char *explain_blocks(ig_array *const *arrays, int n)
{
    text t = {0};
    t.failed = check_list(arrays, n, NULL, 0) != IG_OK ||
               above.eval_by_blocks(arrays, n, false, &t) != IG_OK;
    return text_take(&t);
}

char *ig_explain_donating(ig_array *const *arrays, int n, ig_array *const *donated, int n_donated)
{
    text t = {0};
    if (complex_any(arrays, n)) {
        ig_array **list = with_pairs(arrays, n);
        char *explained = list ? ig_explain_donating(list, n, donated, n_donated) : NULL;
        memory_free(list);
        return explained;
    }
    if (reads_sources(arrays, n))
        return explain_blocks(arrays, n);
    if (n_donated == 0 && is_shared(&(eval_context){0}, arrays, n)) {
        t.failed = above.eval_by_blocks(arrays, n, true, &t) != IG_OK;
        if (t.used || t.failed)
            return text_take(&t);
    }
    if (is_too_large(arrays, n))
        return explain_blocks(arrays, n);
    engine *e = engine_enter();
    const bool whole = check_list(arrays, n, donated, n_donated) == IG_OK;
    const backend *dev = whole && n ? engine_device_of(arrays[0]) : engine_device();
    schedule *s = NULL;
    if (whole && cross_all(e, arrays, n) == IG_OK &&
        prepare(&e->g, arrays, n, donated, n_donated) == IG_OK)
        s = engine_schedule(e, dev);
    if (s) {
        engine_explain(s, &e->g, dev, &t);
        if (device_list_of(dev))
            text_add(&t, "%s computes it alone: dividing it among %s would not pay\n", dev->name,
                     device_list_of(dev)->name);
    } else
        t.failed = true;
    engine_leave();
    return text_take(&t);
}

char *ig_explain(ig_array *const *arrays, int n) { return ig_explain_donating(arrays, n, NULL, 0); }

/* like: the device that is asked; NULL: each array's own device. */
static ig_status can_eval(ig_array *const *arrays, int n, const backend *like)
{
    if (complex_any(arrays, n)) {
        ig_array **list = with_pairs(arrays, n);
        const ig_status can = list ? can_eval(list, n, like) : error_waiting(IG_ERR_MEMORY);
        memory_free(list);
        return can;
    }
    engine *e = engine_enter();
    ig_status status = check_list(arrays, n, NULL, 0);
    if (status == IG_OK)
        status = cross_all(e, arrays, n);
    for (int i = 0; i < n && status == IG_OK; i++) { /* they may be on different devices */
        const backend *dev = like ? like : engine_device_of(arrays[i]);
        const executor *by = executor_of(dev);
        status = prepare(&e->g, &arrays[i], 1, NULL, 0);
        if (status != IG_OK || !by->support || e->g.n_node == 0)
            continue;
        const schedule_rules rules = by->rules(dev);
        schedule *s = schedule_build(&e->g, &rules);
        status = s ? by->support(s, dev) : error_waiting(IG_ERR_MEMORY);
        schedule_free(s);
    }
    engine_leave();
    return status;
}

ig_status ig_can_eval(ig_array *const *arrays, int n) { return can_eval(arrays, n, asked); }

ig_status ig_could_eval(ig_array *const *arrays, int n, const char *device)
{
    TRY(require_pointer("could_eval", "device", device));
    const backend *like = backend_like(device);
    return like ? can_eval(arrays, n, like) : backend_missing(device);
}

void engine_ask(const char *device) { asked = device ? backend_like(device) : NULL; }

/* Builds the kernels of one evaluation, and discards the schedule. Skips the CPU, which has no kernels, and arrays that
 * move between devices, whose kernels are known only when they run. */
static ig_status prepare_one(graph *g, ig_array *const *arrays, int n, module_batch *batch)
{
    const backend *dev = n ? engine_device_of(arrays[0]) : NULL;
    for (int i = 0; i < n; i++)
        if (arrays[i]->root->crosses || engine_device_of(arrays[i]) != dev ||
            !executor_of(dev)->support)
            return IG_OK;
    TRY(prepare(g, arrays, n, NULL, 0));
    if (n == 0 || g->n_node == 0)
        return IG_OK;
    schedule *s = engine_build(g, dev, false, batch);
    engine_discard(s, dev);
    return s ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

ig_status ig_prepare(ig_array *const *arrays, const int *counts, int n)
{
    int all = 0;
    TRY(require_list("prepare", "counts", counts, n));
    for (int i = 0; i < n; i++)
        all += counts[i];
    if (complex_any(arrays, all)) {
        ig_array **list = with_pairs(arrays, all);
        const ig_status prepared =
            list ? ig_prepare(list, counts, n) : error_waiting(IG_ERR_MEMORY);
        memory_free(list);
        return prepared;
    }
    engine *e = engine_enter();
    ig_status status = check_list(arrays, all, NULL, 0);
    const backend *dev = status == IG_OK && all ? engine_device_of(arrays[0]) : NULL;
    if (dev && dev->kernels_build) {
        module_batch batch = {.dev = dev};
        for (int i = 0; i < n && status == IG_OK; arrays += counts[i++])
            status = prepare_one(&e->g, arrays, counts[i], &batch);
        module_batch_end(&batch, BATCH_JOINED);
    }
    engine_leave();
    return status;
}

void ig_shutdown(void)
{
    ig_trace_end();
    scope_end_all(); /* devices close only after their buffers are released */
    shutdown_run();
    clear(engine_enter());
    constants_sweep_held();
    emitted_release();
    fallback_release();
    backend_release_all();
    engine_leave();
    memory_trim();
}

/* ---- evaluation for other parts of the engine ---- */

ig_status evaluate_early(ig_status status)
{
    static const char more[] = "; later steps, whose shapes depend on this one, may need more";
    const char *said = status == IG_ERR_MEMORY ? ig_error(NULL) : NULL;
    return said ? ig_fail(status, "%s%s", said, strstr(said, more) ? "" : more) : status;
}

ig_status evaluate_arrays(ig_array *const *arrays, int n)
{
    return evaluate_early(ig_eval(arrays, n));
}

const void *evaluate_data(ig_array *x)
{
    const void *data = ig_data(x);
    if (!data)
        evaluate_early(error_waiting(IG_ERR_MEMORY));
    return data;
}

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
