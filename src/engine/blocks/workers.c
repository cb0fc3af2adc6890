/* The workers of a stage: the queue of blocks, and the order in which results are handed over; see worker.h.
 *
 * A faster device takes more blocks. A device stops when faster devices would finish the remaining blocks first.
 *
 * Each block has the bits that every device computes in math mode `same`. Parts of a fold are joined in their order: a
 * worker waits for its turn. Where a part continues the part before it (products, scans, tables), the parts of a tile are
 * computed by one device: by its workers in turn, so that sources are loaded while earlier parts are computed, or, if there
 * are tiles for several devices, all by one worker.
 *
 * Locks: `one`, then `lock`, then the engine's. `lock` is not held while a device works or a source is read. */
#include "engine/blocks/worker.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "engine/eval/device_list.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- turns ---- */

/* The next unit at or after `unit` that must be computed. */
static int64_t next_unit(const workers *all, int64_t unit)
{
    const int64_t parts = stage_parts(all->s), each = all->each == 1 ? parts : 1;
    while (unit < all->units && unit % each == 0 && !all->passes &&
           results_have(all->to, unit * all->each / parts))
        unit += each;
    return unit < all->units ? unit : all->units;
}

bool workers_wait(workers *all, const int64_t *turn, int64_t n)
{
    pthread_mutex_lock(&all->lock);
    while (all->status == IG_OK && *turn != n)
        pthread_cond_wait(&all->changed, &all->lock);
    const bool mine = all->status == IG_OK;
    pthread_mutex_unlock(&all->lock);
    return mine;
}

static void end_turn(workers *all, int64_t unit)
{
    pthread_mutex_lock(&all->lock);
    all->turn = next_unit(all, unit + 1);
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

/* ---- devices that fail ---- */

/* True if another device may not fail in this way. */
static bool is_of_device(ig_status status)
{
    return status == IG_ERR_DEVICE || status == IG_ERR_MEMORY || status == IG_ERR_UNSUPPORTED;
}

/* After a failure of the worker's device, lets it use another one. The error is taken. */
static bool change_device(worker *w, ig_status status)
{
    workers *all = w->all;
    const backend *dev = worker_device(w);
    int other = -1;
    if (!is_of_device(status))
        return false;
    pthread_mutex_lock(&all->lock);
    const bool known = all->lost[w->dev];
    all->lost[w->dev] = true;
    for (int i = 0; i < all->n_dev && other < 0; i++)
        other = all->lost[i] ? -1 : i;
    if (other >= 0)
        w->dev = other;
    pthread_mutex_unlock(&all->lock);
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

/* ---- handing over ---- */

/* Hands over the worker's values, which belong to a block. */
static ig_status put_values(worker *w, int64_t block)
{
    workers *all = w->all;
    const int64_t parts = stage_parts(all->s);
    const box b = stage_block(all->s, block / parts, block % parts);
    ig_status status = IG_OK;
    pthread_mutex_lock(&all->put);
    for (int i = 0; i < w->n_value && status == IG_OK; i++)
        status = results_put(all->to, i, &b, worker_data(&w->value[i]));
    pthread_mutex_unlock(&all->put);
    worker_drop_values(w);
    return status;
}

/* Evaluates a tile from the values of all its parts, and hands it over. */
static ig_status finish_tile(worker *w, int64_t tile, ig_array *const *made)
{
    TRY(ig_scope_begin());
    ig_array *y = stage_finish(w->all->s, tile, made);
    const ig_status status = y ? worker_take(w, &y, 1) : error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    return status == IG_OK ? put_values(w, tile * stage_parts(w->all->s)) : status;
}

static ig_status finish_fold(worker *w, int64_t tile)
{
    ig_array *values[FOLD_VALUES];
    TRY(ig_scope_begin());
    ig_status status = fold_finish(&w->all->fold, w, values);
    if (status == IG_OK)
        status = finish_tile(w, tile, values);
    ig_scope_end();
    if (status == IG_OK)
        fold_clear(&w->all->fold);
    return status;
}

/* Packs the values of a tile that another rank has begun. */
static ig_status put_aside(workers *all)
{
    fold_stack *f = &all->fold;
    TRY(ranks_pack(f->entry, f->depth, &all->lead, &all->lead_bytes));
    fold_clear(f);
    return IG_OK;
}

/* Joins what can be joined, and after the last part of a tile finishes it. */
static ig_status settle_fold(worker *w, bool last, int64_t tile)
{
    fold_stack *f = &w->all->fold;
    TRY(fold_settle(f, w));
    if (!last)
        return IG_OK;
    return f->entry[0].at ? put_aside(w->all) : finish_fold(w, tile);
}

/* Adds values of parts of a tile. */
static ig_status push_fold(worker *w, const entry *e, bool last, int64_t tile)
{
    ig_status status;
    fold_add(&w->all->fold, e);
    do
        status = settle_fold(w, last, tile);
    while (status != IG_OK && change_device(w, status));
    return status;
}

/* Adds the worker's values, in the turn of their block. */
static ig_status fold_block(worker *w, int64_t block)
{
    workers *all = w->all;
    const int64_t parts = stage_parts(all->s);
    entry e = {.n = w->n_value, .at = block % parts, .count = 1};
    if (!workers_wait(all, &all->turn, block))
        return IG_ERR_CANCELLED;
    TRY(ig_scope_begin());
    ig_status status = worker_arrays(w, e.made);
    if (status == IG_OK)
        status = push_fold(w, &e, e.at == parts - 1, block / parts);
    ig_scope_end();
    if (status == IG_OK)
        end_turn(all, block);
    return status;
}

/* Completes the tile of a fold that this rank has begun and others have continued. */
static ig_status meet(worker *w)
{
    workers *all = w->all;
    char *got = NULL;
    uint64_t bytes = 0;
    const int64_t parts = stage_parts(all->s), tile = (all->end - 1) / parts;
    array_device_set(worker_device(w)->name);
    if (all->fold.depth && all->fold.entry[0].at)
        TRY(put_aside(all));
    ig_status status = ranks_meet(all->s, all->lead, all->lead_bytes, &got, &bytes);
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        const char *at = got;
        while (at < got + bytes && status == IG_OK) {
            entry e;
            status = ranks_unpack(&at, &e);
            if (status == IG_OK)
                status = push_fold(w, &e, e.at + e.count == parts, tile);
        }
        ig_scope_end();
    }
    memory_free(got);
    return status;
}

/* ---- units ---- */

static void count_block(workers *all)
{
    pthread_mutex_lock(&all->lock);
    all->computed++;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

/* Does a job of a worker: in the calling thread, if that calls users' functions. */
static ig_status do_job(worker *w, ig_status (*job)(worker *w))
{
    workers *all = w->all;
    if (!all->calls || !all->threads)
        return job(w);
    pthread_mutex_lock(&all->lock);
    w->job = job;
    pthread_cond_broadcast(&all->changed);
    while (w->job)
        pthread_cond_wait(&all->changed, &all->lock);
    const ig_status status = w->job_status;
    pthread_mutex_unlock(&all->lock);
    return status == IG_OK ? IG_OK : ig_fail(status, "%s", w->why);
}

/* Does a job in the calling thread. After a failure, no other one: the error of a user's function stays in its thread. With
 * the lock, which is released meanwhile. */
static void answer(worker *w, bool *failed)
{
    workers *all = w->all;
    ig_status status = IG_ERR_CANCELLED;
    if (!*failed) {
        pthread_mutex_unlock(&all->lock);
        array_device_set(worker_device(w)->name);
        status = w->job(w);
        const char *why = status == IG_OK ? NULL : ig_error(NULL);
        pthread_mutex_lock(&all->lock);
        snprintf(w->why, sizeof w->why, "%s", why ? why : "a block cannot be computed");
    }
    *failed = *failed || status != IG_OK;
    w->job_status = status;
    w->job = NULL;
    pthread_cond_broadcast(&all->changed);
}

/* Computes the part that is loaded, and takes the values that it leaves. The last part moves the carry to the sum. */
static ig_status continue_loaded(worker *w)
{
    workers *all = w->all;
    const int64_t parts = stage_parts(all->s);
    TRY(ig_scope_begin());
    ig_status status = worker_continue(w, w->carry);
    if (status == IG_OK && w->block % parts == parts - 1) {
        w->sum = *w->carry;
        *w->carry = NULL;
    }
    if (status == IG_OK && all->ordered)
        end_turn(all, w->block);
    if (status == IG_OK)
        status = all->s->join == CUT_CARRY ? worker_read(w, w->out, 1) : worker_wait(w);
    ig_scope_end();
    return status;
}

/* Computes a part that continues *carry. The next part may follow as soon as this one is launched. */
static ig_status compute_part(worker *w, int64_t block, ig_array **carry)
{
    workers *all = w->all;
    const bool scans = all->s->join == CUT_CARRY;
    w->carry = carry;
    ig_status status = worker_load(w, block);
    if (status == IG_OK && all->ordered && !workers_wait(all, &all->turn, block))
        status = IG_ERR_CANCELLED;
    if (status == IG_OK)
        status = do_job(w, continue_loaded);
    worker_unload(w);
    if (status == IG_OK && scans)
        status = put_values(w, block);
    if (status == IG_OK && w->sum && !scans)
        status = finish_tile(w, block / stage_parts(all->s), &w->sum);
    ig_release(w->sum);
    w->sum = NULL;
    count_block(all);
    return status;
}

/* Computes all parts of a tile. */
static ig_status compute_tile(worker *w, int64_t tile)
{
    const int64_t parts = stage_parts(w->all->s);
    ig_array *carry = NULL;
    ig_status status = IG_OK;
    for (int64_t part = 0; part < parts && status == IG_OK; part++) {
        status = cancel_count() != w->all->progress->since
                     ? ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled")
                     : compute_part(w, tile * parts + part, &carry);
    }
    ig_release(carry);
    return status;
}

static ig_status compute_block(worker *w, int64_t block)
{
    ig_status status = worker_load(w, block);
    if (status == IG_OK)
        status = do_job(w, worker_compute);
    worker_unload(w);
    return status;
}

static ig_status compute_unit(worker *w, int64_t unit)
{
    workers *all = w->all;
    return all->ordered            ? compute_part(w, unit, &all->carry)
           : stage_carries(all->s) ? compute_tile(w, unit)
                                   : compute_block(w, unit);
}

/* ---- workers ---- */

/* True if faster devices would finish all units that are left before the worker's device finishes one. */
static bool is_too_slow(const worker *w)
{
    const workers *all = w->all;
    double rate = 0;
    if (!all->done[w->dev])
        return false;
    const double own = all->seconds[w->dev] / (double)all->done[w->dev];
    for (int i = 0; i < all->n; i++) {
        const int d = all->worker[i].dev;
        if (all->worker[i].started && all->done[d] && all->seconds[d] / (double)all->done[d] < own)
            rate += (double)all->done[d] / all->seconds[d];
    }
    return rate * own > (double)(all->units - all->unit) + 1;
}

/* Takes the next unit; false if there is none. */
static bool take(worker *w, int64_t *unit)
{
    workers *all = w->all;
    pthread_mutex_lock(&all->lock);
    if (all->status == IG_OK && cancel_count() != all->progress->since) {
        all->status = IG_ERR_CANCELLED;
        snprintf(all->message, sizeof all->message, "the evaluation was cancelled");
        pthread_cond_broadcast(&all->changed);
    }
    const bool any = all->status == IG_OK && all->unit < all->units && !is_too_slow(w);
    if (any) {
        *unit = all->unit;
        all->unit = next_unit(all, *unit + 1);
        all->computed += (all->unit - *unit - 1) * all->each;
    }
    pthread_mutex_unlock(&all->lock);
    return any;
}

static ig_status run_unit(worker *w, int64_t unit)
{
    workers *all = w->all;
    const double began = clock_s();
    ig_status status = compute_unit(w, unit);
    while (status != IG_OK && !all->ordered && change_device(w, status)) {
        worker_drop_values(w);
        status = compute_unit(w, unit);
    }
    const double took = clock_s() - began;
    if (status == IG_OK && !stage_carries(all->s)) {
        status = all->s->join == CUT_TREE ? fold_block(w, unit) : put_values(w, unit);
        count_block(all);
    }
    worker_drop_values(w);
    pthread_mutex_lock(&all->lock);
    all->seconds[w->dev] += took;
    all->done[w->dev]++;
    pthread_mutex_unlock(&all->lock);
    return status;
}

/* The first failure ends the work of all workers. It names the device, if that has failed. */
static void fail(const worker *w, ig_status status)
{
    workers *all = w->all;
    const char *said = ig_error(NULL), *why = said ? said : "a block cannot be computed";
    const char *name = worker_device(w)->name;
    const bool named = all->alone || !is_of_device(status) || strstr(why, name);
    pthread_mutex_lock(&all->lock);
    if (all->status == IG_OK) {
        all->status = status;
        snprintf(all->message, sizeof all->message, "%s%s%s", named ? "" : name, named ? "" : ": ",
                 why);
    }
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

static double share_done(const workers *all)
{
    const double n = (double)(all->end - all->first), share = (double)all->computed / n;
    return share < 1 ? share : 1;
}

static void work(worker *w)
{
    workers *all = w->all;
    int64_t unit;
    array_device_set(worker_device(w)->name);
    while (take(w, &unit)) {
        const ig_status status = run_unit(w, unit);
        if (status != IG_OK)
            fail(w, status);
        else if (!all->threads)
            progress_tell(all->progress, share_done(all));
    }
}

static void *begin_thread(void *context)
{
    worker *w = context;
    workers *all = w->all;
    device_list_clear();
    ig_set_math(all->math);
    work(w);
    pthread_mutex_lock(&all->lock);
    all->live--;
    w->started = false;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- all of them ---- */

/* Starts the workers' threads. Signals are for the threads of the program. */
static void start(workers *all)
{
    sigset_t every, old;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &old);
    for (int i = 0; i < all->n; i++) {
        pthread_mutex_lock(&all->lock);
        all->live++;
        all->worker[i].started = true;
        pthread_mutex_unlock(&all->lock);
        if (pthread_create(&all->worker[i].thread, NULL, begin_thread, &all->worker[i]) == 0)
            continue;
        pthread_mutex_lock(&all->lock);
        all->live--;
        all->worker[i].started = false;
        all->n = i;
        pthread_mutex_unlock(&all->lock);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* A worker that waits for the calling thread; NULL: none. With the lock. */
static worker *find_job(const workers *all)
{
    for (int i = 0; i < all->n; i++)
        if (all->worker[i].job)
            return &all->worker[i];
    return NULL;
}

/* Waits for the threads, does their jobs, and reports progress. */
static void watch(workers *all)
{
    int64_t told = 0;
    bool failed = false;
    pthread_mutex_lock(&all->lock);
    while (all->live || all->computed != told) {
        worker *asks = find_job(all);
        if (asks) {
            answer(asks, &failed);
        } else if (all->computed != told) {
            told = all->computed;
            const double share = share_done(all);
            pthread_mutex_unlock(&all->lock);
            progress_tell(all->progress, share);
            pthread_mutex_lock(&all->lock);
        } else {
            pthread_cond_wait(&all->changed, &all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < all->n; i++)
        pthread_join(all->worker[i].thread, NULL);
}

/* Computes all blocks, by threads, or by the calling thread if there is one worker. */
static void compute(workers *all)
{
    all->threads = all->n > 1;
    if (all->threads) {
        start(all);
        watch(all);
    }
    if (all->n <= 1) { /* or if no thread could be started */
        all->threads = false;
        all->n = 1;
        work(&all->worker[0]);
    }
}

/* The ranks of a team read for each other if none leaves out a block. */
static ig_status decide_passes(workers *all)
{
    const int64_t parts = stage_parts(all->s);
    uint64_t every = all->ordered;
    if (!team_shares() || all->s->join != CUT_ORDERED)
        return IG_OK;
    for (int64_t tile = all->first / parts; tile < all->end / parts && every; tile++)
        every = !results_have(all->to, tile);
    TRY(team_least(TEAM_MAIN, &every));
    all->passes = every;
    return IG_OK;
}

/* Makes the workers, one of each device first, so that each device begins at once. */
static ig_status make_workers(workers *all)
{
    const int ahead = all->s->ahead && all->units - all->unit > 1 ? BACKEND_LIST_MOST : 1;
    int room = 0;
    for (int d = 0; d < all->n_dev; d++)
        room += device_workers(all->dev[d]);
    if (!(all->worker = memory_new((size_t)room * sizeof *all->worker)))
        return IG_ERR_MEMORY;
    for (int round = 0; round < ahead; round++)
        for (int d = 0; d < all->n_dev; d++)
            if (round < (all->alone ? 2 : device_workers(all->dev[d])))
                TRY(worker_make(&all->worker[all->n++], all, d));
    for (int d = 0; d < all->n_dev && all->n_dev > 1; d++)
        if (all->dev[d] == &backend_cpu && !(all->engine = memory_new(sizeof *all->engine)))
            return IG_ERR_MEMORY;
    return IG_OK;
}

/* Chooses the devices and the units. first: the first device of the plan's list that is used. */
static void divide(workers *all, int first)
{
    const block_plan *p = all->plan;
    stage *s = all->s;
    const int64_t parts = stage_parts(s);
    for (int i = 0; i < s->work.n; i++)
        all->calls = all->calls || s->work.step[i].kind == STEP_CALL;
    ranks_range(s, ig_team_rank(), &all->first, &all->end);
    all->alone = !stage_can_divide(p, s);
    for (int i = first; i < p->n_dev && !all->alone; i++)
        all->dev[all->n_dev++] = p->dev[i];
    if (all->alone)
        all->dev[all->n_dev++] = engine_device_of(s->root[0]);
    if (stage_carries(s) && all->end - all->first <= parts) /* one tile */
        all->n_dev = 1;
    all->ordered = stage_carries(s) && all->n_dev == 1;
    all->each = stage_carries(s) && !all->ordered ? parts : 1;
    all->units = all->end / all->each;
}

static void workers_free(workers *all, int n)
{
    for (int i = 0; i < n; i++)
        worker_free(&all->worker[i]);
    memory_free(all->worker);
    fold_clear(&all->fold);
    for (int i = 0; i < all->n_copied; i++)
        ig_release(all->copied[i].copy);
    memory_free(all->copied);
    ig_release(all->carry);
    memory_free(all->lead);
    pieces_end(&all->pieces);
    engine_free(all->engine);
    pthread_mutex_destroy(&all->lock);
    pthread_mutex_destroy(&all->put);
    pthread_mutex_destroy(&all->one);
    pthread_cond_destroy(&all->changed);
    memory_free(all);
}

/* The outcome, after all workers have ended. */
static ig_status outcome(const workers *all)
{
    const backend *dev = all->dev[0];
    if (all->status == IG_ERR_DEVICE && all->plan->n_dev == 1)
        return ig_fail(all->status,
                       "%s; with the list of devices '%s,cpu' the CPU goes on if %s fails",
                       all->message, dev->name, dev->name);
    if (all->status != IG_OK)
        return ig_fail(all->status, "%s", all->message);
    return all->unit < all->units ? ig_fail(IG_ERR_INTERNAL, "blocks: some were not computed")
                                  : IG_OK;
}

/* first: the first device of the list that is used. *one: no other one is. */
static ig_status run_by(const block_plan *p, stage *s, const results *to, block_progress *progress,
                        int first, bool *one)
{
    workers *all = memory_new(sizeof *all);
    if (!all)
        return IG_ERR_MEMORY;
    *all = (workers){.plan = p, .s = s, .to = to, .progress = progress, .math = ig_math_mode()};
    all->fold.root = s->root[0];
    pthread_mutex_init(&all->lock, NULL);
    pthread_mutex_init(&all->put, NULL);
    pthread_mutex_init(&all->one, NULL);
    pthread_cond_init(&all->changed, NULL);
    divide(all, first);
    *one = all->ordered && !all->alone && !team_shares(); /* ranks exchange in one order */
    all->pieces = (pieces){.work = &s->work,
                           .dev = all->dev,
                           .n_dev = all->n_dev,
                           .lock = &all->lock,
                           .changed = &all->changed};
    ig_status status = pieces_begin(&all->pieces);
    if (status == IG_OK)
        status = decide_passes(all);
    if (status == IG_OK) {
        all->unit = all->turn = all->load_turn = next_unit(all, all->first / all->each);
        all->computed = all->unit * all->each - all->first;
        status = make_workers(all);
    }
    const int n = all->n;
    if (status == IG_OK && all->first < all->end) {
        compute(all);
        status = outcome(all);
    }
    if (status == IG_OK && team_shares() && s->join == CUT_TREE)
        status = meet(&all->worker[0]);
    workers_free(all, n);
    return status;
}

ig_status workers_run(const block_plan *p, stage *s, const results *to, block_progress *progress)
{
    bool one = false;
    ig_status status = run_by(p, s, to, progress, 0, &one);
    for (int first = 1; first < p->n_dev && one && is_of_device(status); first++) {
        const char *why = ig_error(NULL);
        log_line(IG_WARNING, "%s cannot compute a block, so %s computes all blocks: %s",
                 p->dev[first - 1]->name, p->dev[first]->name, why ? why : "unknown");
        status = run_by(p, s, to, progress, first, &one);
    }
    return status;
}
