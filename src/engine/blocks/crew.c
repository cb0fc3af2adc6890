/* A crew computes the blocks of a stage; see crew.h. This file has the queue of blocks, and the order in which results are
 * handed over; worker.c has the work on one block.
 *
 * A device has several workers: while one waits for kernels, the next one reads and copies. A faster device takes more
 * blocks. A device stops when faster devices would finish the remaining blocks first.
 *
 * Each block has the bits that every device computes in math mode `same`. Parts of a fold are joined in their order: a
 * worker waits for its turn. All parts of a product's tile are computed by one worker.
 *
 * Locks: crew, then engine. No lock is held while a device works or a source is read. */
#include "engine/blocks/worker.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/team.h"
#include "engine/eval/group.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- handing over ---- */

/* The next unit at or after `unit` that must be computed. */
static int64_t next_unit(const crew *c, int64_t unit)
{
    const int64_t each = c->s->kind == STAGE_FOLD || c->chained ? stage_parts(c->s) : 1;
    while (unit < c->units && unit % each == 0 && c->out->has(c->out->context, unit / each))
        unit += each;
    return unit;
}

/* Hands over the worker's values, which belong to a tile. */
static ig_status put_values(worker *w, int64_t tile)
{
    crew *c = w->c;
    const box b = stage_tile(c->s, tile);
    ig_status status = IG_OK;
    pthread_mutex_lock(&c->put);
    for (int i = 0; i < w->n_value && status == IG_OK; i++)
        status = c->out->put(c->out->context, i, &b, worker_data(&w->value[i]));
    pthread_mutex_unlock(&c->put);
    return status;
}

/* Evaluates values of a fold. They become arrays in host memory, which any worker may join. */
static ig_status eval_values(void *context, ig_array **made, int n)
{
    worker *w = context;
    ig_status status = worker_take(w, made, n);
    for (int i = 0; i < n && status == IG_OK; i++)
        if (!(made[i] = worker_array(&w->value[i])))
            status = error_waiting(IG_ERR_MEMORY);
    worker_drop_values(w);
    return status;
}

/* An array over the same host memory. An evaluation moves this one to its device; the value stays where a device that fails
 * cannot lose it. */
static ig_array *use_value(ig_array *x)
{
    ig_array *y =
        array_leaf((ig_dtype)x->dtype, x->view.ndim, x->view.shape, buffer_retain(x->root->data));
    if (y)
        y->device = NULL;
    return y;
}

/* The tile, from the values of all its parts. */
static ig_status finish_fold(worker *w, int64_t tile)
{
    fold_stack *f = &w->c->fold;
    TRY(fold_join_all(f));
    TRY(ig_scope_begin());
    ig_array *values[FOLD_VALUES];
    ig_array *y = fold_values(f, &f->entry[0], values) ? stage_finish(w->c->s, tile, values) : NULL;
    ig_status status = y ? worker_take(w, &y, 1) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = put_values(w, tile);
    ig_scope_end();
    if (status == IG_OK)
        fold_clear(f);
    return status;
}

/* True if another device may not fail in this way. */
static bool is_of_device(ig_status status)
{
    return status == IG_ERR_DEVICE || status == IG_ERR_MEMORY || status == IG_ERR_UNSUPPORTED;
}

/* After a failure of the worker's device, lets it use another one. The error is taken. */
static bool change_device(worker *w, ig_status status)
{
    crew *c = w->c;
    const backend *dev = worker_device(w);
    int other = -1;
    if (!is_of_device(status))
        return false;
    pthread_mutex_lock(&c->lock);
    const bool known = c->lost[w->dev];
    c->lost[w->dev] = true;
    for (int i = 0; i < c->plan->n_dev && other < 0; i++)
        other = c->lost[i] ? -1 : i;
    if (other >= 0)
        w->dev = other;
    pthread_mutex_unlock(&c->lock);
    if (other < 0)
        return false;
    const char *why = ig_error(NULL);
    if (!known)
        log_line(IG_WARNING,
                 "%s cannot compute a block, so %s computes the blocks that are left: %s",
                 dev->name, worker_device(w)->name, why ? why : "unknown");
    array_device_set(worker_device(w)->name);
    return true;
}

/* Joins what can be joined after a part, and finishes the tile after its last one. */
static ig_status settle_fold(worker *w, int64_t block)
{
    const int64_t parts = stage_parts(w->c->s);
    TRY(fold_settle(&w->c->fold));
    return block % parts == parts - 1 ? finish_fold(w, block / parts) : IG_OK;
}

/* Adds the values of a part, in its turn. */
static ig_status push_fold(worker *w, int64_t block)
{
    fold_stack *f = &w->c->fold;
    entry e = {.n = w->n_value, .at = block % stage_parts(w->c->s), .count = 1};
    TRY(ig_scope_begin());
    ig_status status = IG_OK;
    for (int i = 0; i < e.n && status == IG_OK; i++)
        if (!(e.made[i] = worker_array(&w->value[i])))
            status = error_waiting(IG_ERR_MEMORY);
    worker_drop_values(w);
    f->context = w;
    if (status == IG_OK) {
        fold_add(f, &e);
        do
            status = settle_fold(w, block);
        while (status != IG_OK && change_device(w, status));
    }
    ig_scope_end();
    return status;
}

/* Waits until all units before this one have been handed over. False if the crew has failed. */
static bool wait_turn(crew *c, int64_t unit)
{
    pthread_mutex_lock(&c->lock);
    while (c->status == IG_OK && c->turn != unit)
        pthread_cond_wait(&c->changed, &c->lock);
    const bool mine = c->status == IG_OK;
    pthread_mutex_unlock(&c->lock);
    return mine;
}

/* Computes a part of a product on the only device. Its sources are loaded while earlier parts are computed. The
 * next part may follow as soon as this one is launched. */
static ig_status compute_chained(worker *w, int64_t block)
{
    crew *c = w->c;
    const int64_t parts = stage_parts(c->s);
    ig_array *sum = NULL;
    ig_status status = worker_load(w, block);
    if (status == IG_OK && !wait_turn(c, block))
        status = IG_ERR_CANCELLED;
    if (status == IG_OK)
        status = worker_add_part(w, block, &c->sum);
    if (status == IG_OK && block % parts == parts - 1) {
        sum = c->sum;
        c->sum = NULL;
    }
    if (status == IG_OK) {
        pthread_mutex_lock(&c->lock);
        c->turn = next_unit(c, block + 1);
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        status = worker_wait(w);
    }
    worker_unload(w);
    if (status == IG_OK && sum)
        status = worker_finish_product(w, block / parts, &sum);
    if (status == IG_OK && sum)
        status = put_values(w, block / parts);
    ig_release(sum);
    return status;
}

static ig_status hand_over(worker *w, int64_t unit)
{
    crew *c = w->c;
    if (c->s->kind != STAGE_FOLD)
        return put_values(w, unit);
    if (!wait_turn(c, unit))
        return IG_ERR_CANCELLED; /* another worker has failed */
    return push_fold(w, unit);
}

/* ---- workers ---- */

/* True if faster devices would finish all units that are left before the worker's device finishes one. */
static bool is_too_slow(const worker *w)
{
    const crew *c = w->c;
    double rate = 0;
    if (!c->done[w->dev])
        return false;
    const double own = c->seconds[w->dev] / (double)c->done[w->dev];
    for (int i = 0; i < c->n_worker; i++) {
        const int d = c->worker[i].dev;
        if (c->worker[i].started && c->done[d] && c->seconds[d] / (double)c->done[d] < own)
            rate += (double)c->done[d] / c->seconds[d];
    }
    return rate * own > (double)(c->units - c->unit) + 1;
}

/* Takes the next unit; false if there is none. */
static bool take(worker *w, int64_t *unit)
{
    crew *c = w->c;
    pthread_mutex_lock(&c->lock);
    if (c->status == IG_OK && cancel_count() != c->out->since) {
        c->status = IG_ERR_CANCELLED;
        snprintf(c->message, sizeof c->message, "the evaluation was cancelled");
        pthread_cond_broadcast(&c->changed);
    }
    const bool any = c->status == IG_OK && c->unit < c->units && !is_too_slow(w);
    if (any) {
        *unit = c->unit;
        c->unit = next_unit(c, *unit + 1);
    }
    pthread_mutex_unlock(&c->lock);
    return any;
}

static ig_status compute_unit(worker *w, int64_t unit)
{
    const crew *c = w->c;
    return c->chained                    ? compute_chained(w, unit)
           : c->s->kind == STAGE_PRODUCT ? worker_product(w, unit)
                                         : worker_block(w, unit);
}

static ig_status run_unit(worker *w, int64_t unit)
{
    const double began = now();
    ig_status status = compute_unit(w, unit);
    while (status != IG_OK && change_device(w, status)) {
        worker_drop_values(w);
        status = compute_unit(w, unit);
    }
    const double took = now() - began;
    crew *c = w->c;
    if (status == IG_OK && !c->chained)
        status = hand_over(w, unit);
    worker_drop_values(w);
    pthread_mutex_lock(&c->lock);
    c->seconds[w->dev] += took;
    c->done[w->dev]++;
    if (status == IG_OK && !c->chained)
        c->turn = next_unit(c, unit + 1);
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* The first failure is the crew's. It names the device, if that has failed. */
static void fail(const worker *w, ig_status status)
{
    crew *c = w->c;
    const char *said = ig_error(NULL), *why = said ? said : "a block cannot be computed";
    const char *name = worker_device(w)->name;
    const bool named = !is_of_device(status) || strstr(why, name);
    pthread_mutex_lock(&c->lock);
    if (c->status == IG_OK) {
        c->status = status;
        snprintf(c->message, sizeof c->message, "%s%s%s", named ? "" : name, named ? "" : ": ",
                 why);
    }
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *context)
{
    worker *w = context;
    crew *c = w->c;
    int64_t unit;
    group_clear();
    array_device_set(worker_device(w)->name);
    ig_set_math(c->math);
    while (take(w, &unit)) {
        const ig_status status = run_unit(w, unit);
        if (status != IG_OK)
            fail(w, status);
        pthread_mutex_lock(&c->lock);
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_lock(&c->lock);
    worker_drop_pieces(w);
    c->live--;
    w->started = false;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the crew ---- */

/* Signals are for the threads of the program. */
static void start(crew *c)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 0; i < c->n_worker; i++) {
        pthread_mutex_lock(&c->lock);
        c->live++;
        c->worker[i].started = true;
        pthread_mutex_unlock(&c->lock);
        if (pthread_create(&c->worker[i].thread, NULL, work, &c->worker[i]) == 0)
            continue;
        pthread_mutex_lock(&c->lock);
        c->live--;
        c->n_worker = i;
        pthread_mutex_unlock(&c->lock);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Waits for the workers, and reports what they have read. */
static void watch(crew *c)
{
    uint64_t told = 0;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        const uint64_t read = c->pieces.read;
        const bool over = c->live == 0;
        if (read != told) {
            pthread_mutex_unlock(&c->lock);
            c->out->read(c->out->context, read - told);
            told = read;
            pthread_mutex_lock(&c->lock);
        } else if (over) {
            break;
        } else {
            pthread_cond_wait(&c->changed, &c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
}

static void crew_free(crew *c, int n)
{
    for (int i = 0; i < n && c->worker; i++)
        worker_free(&c->worker[i]);
    memory_free(c->worker);
    fold_clear(&c->fold);
    for (int i = 0; i < c->n_copied; i++)
        ig_release(c->copied[i].copy);
    memory_free(c->copied);
    ig_release(c->sum);
    pieces_end(&c->pieces);
    engine_free(c->engine);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->put);
    pthread_mutex_destroy(&c->cpu);
    pthread_cond_destroy(&c->changed);
}

int crew_workers(const backend *dev) { return dev->stream ? 3 : 2; }

void crew_devices(block_plan *p, const backend *dev)
{
    const device_group *g = group_of(dev);
    p->n_dev = p->workers = 0;
    if (team_shares()) /* the blocks of a rank are computed on one device */
        return;
    if (g) {
        p->n_dev = g->n;
        memcpy(p->dev, g->dev, sizeof p->dev);
    } else if (dev->pool && dev->computes) {
        p->n_dev = 1;
        p->dev[0] = dev;
    }
    for (int i = 0; i < p->n_dev; i++)
        p->workers += crew_workers(p->dev[i]);
}

bool crew_is_mixed(ig_array *const *arrays, int n)
{
    return n > 0 && arrays[0] && group_of(engine_device_of(arrays[0]));
}

bool crew_can(const block_plan *p, const stage *s)
{
    const char *device = s->root[0]->device;
    bool can = p->n_dev > 0 && stage_tiles(s) * stage_parts(s) > 1 &&
               (s->kind == STAGE_TILES || s->kind == STAGE_FOLD || s->kind == STAGE_PRODUCT);
    for (int i = 0; can && i < s->work.n;
         i++) { /* users' functions run in their thread, and nothing moves to a device of its own */
        const ig_array *root = s->work.step[i].root;
        can = s->work.step[i].kind != STEP_CALL && !root->attr.device &&
              (!root->device || !device || strcmp(root->device, device) == 0);
    }
    return can;
}

ig_status crew_run(const block_plan *p, stage *s, const crew_output *out)
{
    crew *c = memory_new(sizeof *c);
    if (!c)
        return IG_ERR_MEMORY;
    c->plan = p;
    c->s = s;
    c->out = out;
    c->math = ig_math_mode();
    c->fold = (fold_stack){.root = s->root[0], .eval = eval_values, .use = use_value};
    c->chained = s->kind == STAGE_PRODUCT && p->n_dev == 1;
    c->units = stage_tiles(s) * (s->kind == STAGE_FOLD || c->chained ? stage_parts(s) : 1);
    c->unit = c->turn = next_unit(c, 0);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->put, NULL);
    pthread_mutex_init(&c->cpu, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->pieces = (pieces){.work = &s->work,
                         .dev = p->dev,
                         .n_dev = p->n_dev,
                         .lock = &c->lock,
                         .changed = &c->changed};
    ig_status status = pieces_begin(&c->pieces);
    int n = 0;
    if (status == IG_OK && (!(c->worker = memory_new((size_t)p->workers * sizeof *c->worker)) ||
                            !(c->engine = memory_new(sizeof *c->engine))))
        status = IG_ERR_MEMORY;
    /* Workers of all devices come first, so that each device begins at once. */
    for (int round = 0; round < (s->ahead ? BACKEND_LIST_MOST : 1) && status == IG_OK; round++)
        for (int d = 0; d < p->n_dev && status == IG_OK; d++)
            if (round < crew_workers(p->dev[d]))
                status = worker_make(&c->worker[n++], c, d);
    c->n_worker = n;
    if (status == IG_OK) {
        start(c);
        watch(c);
        for (int i = 0; i < c->n_worker; i++)
            pthread_join(c->worker[i].thread, NULL);
        status = c->n_worker ? c->status : ig_fail(IG_ERR_MEMORY, "no thread can be started");
        if (status == IG_OK && c->unit < c->units)
            status = ig_fail(IG_ERR_INTERNAL, "blocks: some were not computed");
        else if (c->n_worker && status == IG_ERR_DEVICE && p->n_dev == 1)
            ig_fail(status, "%s; with the list of devices '%s,cpu' the CPU goes on if %s fails",
                    c->message, p->dev[0]->name, p->dev[0]->name);
        else if (c->n_worker && status != IG_OK)
            ig_fail(status, "%s", c->message);
    }
    crew_free(c, n);
    memory_free(c);
    return status;
}
