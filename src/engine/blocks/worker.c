/* The work on one block; see worker.h.
 *
 * A worker reads what a block needs (piece.c), copies that to its device, builds the block's graph, evaluates it, and copies
 * the results to the host. No lock of the workers is held while a device works or a source is read, but the CPU evaluates one
 * graph at a time. */
#include "engine/blocks/worker.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/eval/emitted.h"
#include "engine/eval/faults.h"
#include "engine/eval/transfer.h"
#include <string.h>

const backend *worker_device(const worker *w) { return w->all->dev[w->dev]; }

/* ---- values ---- */

static void value_drop(workers *all, value *v)
{
    buffer_release(v->data);
    if (v->pinned)
        shelf_put(&all->pieces.shelf, all->pieces.pins, v->pinned, true);
    *v = (value){.data = NULL};
}

void worker_drop_values(worker *w)
{
    for (int i = 0; i < w->n_value; i++)
        value_drop(w->all, &w->value[i]);
    w->n_value = 0;
}

/* Waits for the worker's device. No lock is held, so others can launch and copy. */
ig_status worker_wait(const worker *w)
{
    const backend *dev = worker_device(w);
    if (dev->lanes)
        return IG_OK;
    TRY(dev->stream ? dev->stream->wait(dev) : dev->finish(dev));
    engine_enter();
    const ig_status status = emitted_check(dev);
    engine_leave();
    return status;
}

static ig_status copy_to_host(const worker *w, buffer *from, size_t offset, size_t bytes, value *v)
{
    const backend *dev = from->device;
    pieces *p = &w->all->pieces;
    engine_enter();
    const ig_status status = faults_check(from);
    engine_leave();
    TRY(status);
    if (dev->stream && p->pins == dev) {
        if (!(v->pinned = shelf_take(&p->shelf, dev, bytes, true)))
            return error_waiting(IG_ERR_MEMORY);
        v->data = buffer_foreign(v->pinned->data, bytes, NULL, NULL);
        return v->data ? dev->stream->download(v->pinned->data, from, offset, bytes)
                       : error_waiting(IG_ERR_MEMORY);
    }
    v->data = buffer_new(bytes);
    return v->data ? dev->read(from, offset, v->data->data, bytes) : error_waiting(IG_ERR_MEMORY);
}

/* The elements of x, which is evaluated and contiguous. */
static ig_status value_take(const worker *w, const ig_array *x, value *v)
{
    const size_t element = ig_dtype_bytes((ig_dtype)x->dtype),
                 bytes = (size_t)view_size(&x->view) * element,
                 offset = (size_t)x->view.offset * element;
    *v = (value){.dtype = (ig_dtype)x->dtype, .ndim = x->view.ndim};
    memcpy(v->shape, x->view.shape, sizeof v->shape);
    engine_enter();
    buffer *b = buffer_retain(x->root->data);
    engine_leave();
    if (b->device && bytes) {
        const ig_status status = copy_to_host(w, b, offset, bytes, v);
        buffer_release(b);
        return status;
    }
    v->data = b;
    v->offset = offset;
    return IG_OK;
}

const char *worker_data(const value *v) { return (const char *)v->data->data + v->offset; }

/* The value as an array of no device, in the current scope; NULL on failure. */
static ig_array *array_of(const value *v)
{
    buffer *b = buffer_retain(v->data);
    if (v->offset || v->pinned) {
        view all;
        view_contiguous(&all, v->ndim, v->shape);
        const size_t bytes = (size_t)view_size(&all) * ig_dtype_bytes(v->dtype);
        buffer_release(b);
        if (!(b = buffer_new(bytes)))
            return NULL;
        memcpy(b->data, worker_data(v), bytes);
    }
    ig_array *x = array_leaf(v->dtype, v->ndim, v->shape, b);
    if (x)
        x->device = NULL;
    return x;
}

ig_status worker_arrays(worker *w, ig_array **made)
{
    ig_status status = IG_OK;
    for (int i = 0; i < w->n_value && status == IG_OK; i++)
        if (!(made[i] = array_of(&w->value[i])))
            status = error_waiting(IG_ERR_MEMORY);
    worker_drop_values(w);
    return status;
}

/* ---- evaluation ---- */

static bool is_exclusive(const worker *w)
{
    return w->all->alone || worker_device(w) == &backend_cpu;
}

static void evaluation_begin(worker *w)
{
    if (is_exclusive(w))
        pthread_mutex_lock(&w->all->one);
}

static void evaluation_end(worker *w)
{
    if (is_exclusive(w))
        pthread_mutex_unlock(&w->all->one);
}

/* Evaluates n arrays in the current scope, without waiting for the device. used: an array that they may overwrite, or NULL. */
static ig_status launch(const worker *w, ig_array **made, int n, ig_array *used)
{
    const bool cpu = worker_device(w) == &backend_cpu;
    const eval_context context = {.own = cpu ? w->all->engine : NULL, .is_block = true};
    for (int i = 0; i < n; i++)
        if (!view_is_contiguous(&made[i]->view) && !(made[i] = build_contiguous(made[i])))
            return error_waiting(IG_ERR_MEMORY);
    return engine_eval(&context, made, n, &used, used ? 1 : 0);
}

ig_status worker_read(worker *w, ig_array *const *made, int n)
{
    worker_drop_values(w);
    TRY(worker_wait(w));
    w->n_value = n;
    for (int i = 0; i < n; i++)
        TRY(value_take(w, made[i], &w->value[i]));
    return IG_OK;
}

ig_status worker_take(worker *w, ig_array **made, int n)
{
    evaluation_begin(w);
    ig_status status = launch(w, made, n, NULL);
    if (status == IG_OK)
        status = worker_read(w, made, n);
    evaluation_end(w);
    return status;
}

/* ---- arrays of other devices ---- */

/* An evaluation moves the data of an array of no device to its own device, where other workers could lose it. */
static bool is_here(const ig_array *root, const worker *w)
{
    if (root->is_number || w->all->alone || w->all->plan->n_dev == 1)
        return true;
    return root->device && strcmp(root->device, worker_device(w)->name) == 0;
}

static ig_array *copy_root(const ig_array *root)
{
    engine_enter();
    buffer *b = root->data->device ? transfer_copy(root->data, 0, root->data->bytes, &backend_cpu)
                                   : buffer_retain(root->data);
    engine_leave();
    return b ? array_leaf((ig_dtype)root->dtype, root->view.ndim, root->view.shape, b) : NULL;
}

/* The copy of a root for the worker's device; NULL on failure. With the lock. */
static ig_array *copy_for(const worker *w, const ig_array *root)
{
    workers *all = w->all;
    const backend *dev = worker_device(w);
    for (int i = 0; i < all->n_copied; i++)
        if (all->copied[i].of == root && all->copied[i].dev == dev)
            return all->copied[i].copy;
    if (!memory_room(&all->copied, all->n_copied, &all->room_copied, sizeof *all->copied))
        return NULL;
    ig_array *x = copy_root(root);
    if (x)
        all->copied[all->n_copied++] = (copied){.of = root, .dev = dev, .copy = ig_retain(x)};
    return x;
}

/* An evaluated array as the worker's device uses it. */
static ig_array *leaf(void *context, ig_array *root)
{
    const worker *w = context;
    if (is_here(root, w))
        return root;
    pthread_mutex_lock(&w->all->lock);
    ig_array *x = copy_for(w, root);
    pthread_mutex_unlock(&w->all->lock);
    return x;
}

/* ---- loading ---- */

/* True if the worker may keep its old block while it loads the next one: no other worker has one. With the lock. */
static bool has_room(const worker *w)
{
    for (int k = 0; k < w->all->n; k++)
        if (w->all->worker[k].busy)
            return false;
    return w->all->n > 1;
}

/* The piece of a worker for the block of step i that w wants; NULL if there is none. *part: a piece that has a part of it, of
 * another worker, or, if there is room, of this one. Ranks that read for each other know only what this rank has for the block
 * before. With the lock. */
static piece *find_piece(const worker *w, int64_t block, int i, bool room, piece **part)
{
    const workers *all = w->all;
    const box *want = &w->work.step[i].want;
    const int ndim = w->work.step[i].root->view.ndim;
    box both, rest;
    *part = NULL;
    for (int k = 0; k < all->n; k++) {
        const worker *other = &all->worker[k];
        piece *x = other->mine[i];
        if (!x || x->load.state == PIECE_FAILED)
            continue;
        if (all->passes && (!all->s->ahead || other->block != block - 1))
            continue;
        if (box_same(&x->want, want, ndim))
            return x;
        if (!all->passes && (other != w || room) && box_reuse(&x->want, want, ndim, &both, &rest))
            *part = x;
    }
    return NULL;
}

/* Gives back the pieces of the last block. With the lock. */
static void drop_pieces(worker *w)
{
    for (int i = 0; i < w->work.n; i++) {
        piece_release(&w->all->pieces, w->mine[i]);
        w->mine[i] = NULL;
    }
}

static void drop_others(const worker *w)
{
    for (int k = 0; k < w->all->n; k++)
        if (&w->all->worker[k] != w)
            drop_pieces(&w->all->worker[k]);
}

/* The pieces that a block needs: shared with workers that have them, or new ones. */
static ig_status choose_pieces(worker *w, int64_t block)
{
    workers *all = w->all;
    const int64_t parts = stage_parts(all->s);
    ig_status status = IG_OK;
    w->skip = stage_want(all->s, block / parts, block % parts, w->end);
    steps_demand(&w->work, w->end, -1);
    pthread_mutex_lock(&all->lock);
    while (all->crowded)
        pthread_cond_wait(&all->changed, &all->lock);
    const bool room = has_room(w);
    for (int i = 0; i < w->work.n; i++) {
        const step *s = &w->work.step[i];
        piece *part = NULL, *x;
        w->next[i] = NULL;
        if (!s->wanted || s->kind != STEP_SOURCE)
            continue;
        if ((x = find_piece(w, block, i, room, &part)))
            x->refs++;
        else
            x = piece_new(i, &s->want,
                          (size_t)box_size(&s->want, s->root->view.ndim) *
                              ig_dtype_bytes((ig_dtype)s->root->dtype),
                          part);
        w->keeps = w->keeps || (room && part && part == w->mine[i]);
        if (!(w->next[i] = x))
            status = IG_ERR_MEMORY;
    }
    if (w->keeps)
        drop_others(w);
    all->crowded = w->keeps;
    drop_pieces(w);
    memcpy(w->mine, w->next, (size_t)w->work.n * sizeof *w->mine);
    w->block = block;
    w->busy = true;
    pthread_mutex_unlock(&all->lock);
    return status;
}

/* Reads slabs of the new pieces of a block, and exchanges them with other ranks. want, to: of each step. */
static ig_status exchange_panels(worker *w, int64_t block, box *want, char **to)
{
    workers *all = w->all;
    panels passed = {0};
    ig_status status = choose_pieces(w, block);
    for (int i = 0; i < w->work.n && status == IG_OK; i++) {
        want[i] = w->work.step[i].want;
        if (w->mine[i] && w->work.step[i].root->view.ndim)
            status = piece_begin(&all->pieces, w->mine[i], &to[i]);
    }
    if (status == IG_OK)
        status = ranks_panels(all->s, block, want, to, &passed);
    for (int i = 0; i < passed.n_own && status == IG_OK; i++) {
        const panel *p = &passed.own[i];
        status = block_read(w->work.step[p->step].source, &p->slab, p->to);
    }
    if (status == IG_OK)
        status = team_exchange(TEAM_READER, passed.move, passed.n_move);
    for (int i = 0; i < w->work.n; i++)
        if (to[i])
            status = piece_end(&all->pieces, w->mine[i], status);
    panels_free(&passed);
    return status;
}

/* The same in the turn of the block: all ranks exchange in the same order. */
static ig_status load_passed(worker *w, int64_t block)
{
    workers *all = w->all;
    if (!workers_wait(all, &all->load_turn, block))
        return IG_ERR_CANCELLED;
    box *want = memory_get((size_t)(w->work.n + 1) * sizeof *want);
    char **to = memory_new((size_t)(w->work.n + 1) * sizeof *to);
    const ig_status status = want && to ? exchange_panels(w, block, want, to) : IG_ERR_MEMORY;
    memory_free(want);
    memory_free(to);
    pthread_mutex_lock(&all->lock);
    all->load_turn = block + 1;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return status;
}

ig_status worker_load(worker *w, int64_t block)
{
    ig_status status = w->all->passes ? load_passed(w, block) : choose_pieces(w, block);
    for (int i = 0; i < w->work.n && status == IG_OK; i++)
        if (w->mine[i] && !(w->data[i] = piece_on(&w->all->pieces, w->mine[i], w->dev)))
            status = error_waiting(IG_ERR_MEMORY);
    pthread_mutex_lock(&w->all->lock);
    if (w->keeps)
        w->all->crowded = w->keeps = false;
    pthread_cond_broadcast(&w->all->changed);
    pthread_mutex_unlock(&w->all->lock);
    return status;
}

void worker_unload(worker *w)
{
    for (int i = 0; i < w->work.n; i++) {
        buffer_release(w->data[i]);
        w->data[i] = NULL;
    }
    pthread_mutex_lock(&w->all->lock);
    w->busy = false;
    pthread_mutex_unlock(&w->all->lock);
}

/* ---- computing ---- */

/* Builds the graph of the block that is loaded, in the current scope. Returns the number of results, 0 on failure. */
static int build(worker *w, ig_array *carry)
{
    const stage *s = w->all->s;
    for (int i = 0; i < w->work.n; i++) {
        const step *at = &w->work.step[i];
        const bool is_ready = at->kind == STEP_READY;
        w->loaded[i] = NULL;
        if (!at->wanted || (at->kind != STEP_SOURCE && !is_ready))
            continue;
        int64_t shape[IG_MAX_NDIM];
        for (int k = 0; k < at->root->view.ndim; k++)
            shape[k] = at->want.hi[k] - at->want.lo[k];
        w->loaded[i] = is_ready ? leaf(w, at->root)
                                : array_leaf((ig_dtype)at->root->dtype, at->root->view.ndim, shape,
                                             buffer_retain(w->data[i]));
        if (!w->loaded[i])
            return 0;
    }
    if (steps_build(&w->work, w->end, w->loaded, w->ends) != IG_OK)
        return 0;
    const int64_t parts = stage_parts(s);
    return stage_build(s, w->block / parts, w->block % parts, w->skip, w->ends, carry, w->out);
}

ig_status worker_compute(worker *w)
{
    TRY(ig_scope_begin());
    evaluation_begin(w);
    const int n = build(w, NULL);
    ig_status status = n ? launch(w, w->out, n, NULL) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = worker_read(w, w->out, n);
    evaluation_end(w);
    ig_scope_end();
    return status;
}

ig_status worker_continue(worker *w, ig_array **carry)
{
    const cut_join join = w->all->s->join;
    evaluation_begin(w);
    const int n = build(w, *carry);
    const ig_status status = n ? launch(w, w->out, n, join == CUT_ORDERED ? *carry : NULL)
                               : error_waiting(IG_ERR_MEMORY);
    evaluation_end(w);
    return status == IG_OK ? ig_replace(carry, w->out[join == CUT_CARRY]) : status;
}

/* ---- workers ---- */

ig_status worker_make(worker *w, workers *all, int dev)
{
    const steps *work = &all->s->work;
    const size_t n = (size_t)work->n + 1, ends = (size_t)work->n_end + 1,
                 roots = (size_t)all->s->n_root + FOLD_VALUES;
    w->all = all;
    w->dev = dev;
    w->block = -1;
    w->work = *work;
    w->work.leaf = leaf;
    w->work.context = w;
    w->work.step = memory_get(n * sizeof *w->work.step);
    w->mine = memory_new(n * sizeof *w->mine);
    w->next = memory_new(n * sizeof *w->next);
    w->end = memory_new(ends * sizeof *w->end);
    w->data = memory_new(n * sizeof *w->data);
    w->loaded = memory_new(n * sizeof *w->loaded);
    w->ends = memory_new(ends * sizeof *w->ends);
    w->out = memory_new(roots * sizeof *w->out);
    w->value = memory_new(roots * sizeof *w->value);
    if (!w->work.step || !w->mine || !w->next || !w->end || !w->data || !w->loaded || !w->ends ||
        !w->out || !w->value)
        return IG_ERR_MEMORY;
    memcpy(w->work.step, work->step, (size_t)work->n * sizeof *work->step);
    return IG_OK;
}

void worker_free(worker *w)
{
    if (w->mine)
        drop_pieces(w);
    memory_free(w->work.step);
    memory_free(w->mine);
    memory_free(w->next);
    memory_free(w->end);
    memory_free(w->data);
    memory_free(w->loaded);
    memory_free(w->ends);
    memory_free(w->out);
    memory_free(w->value);
}
