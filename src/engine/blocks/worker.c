/* The work on one block; see worker.h.
 *
 * A worker reads what a block needs (piece.c), copies that to its device, builds the block's graph, evaluates it, and copies
 * the results to the host. No lock is held while a device works or a source is read. */
#include "engine/blocks/worker.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/eval/emitted.h"
#include "engine/eval/faults.h"
#include "engine/eval/transfer.h"
#include <string.h>

const backend *worker_device(const worker *w) { return w->c->plan->dev[w->dev]; }

/* ---- values ---- */

static void value_drop(crew *c, value *v)
{
    buffer_release(v->data);
    if (v->pinned)
        shelf_put(&c->pieces.shelf, c->pieces.pins, v->pinned, true);
    *v = (value){.data = NULL};
}

void worker_drop_values(worker *w)
{
    for (int i = 0; i < w->n_value; i++)
        value_drop(w->c, &w->value[i]);
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
    pieces *p = &w->c->pieces;
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

ig_array *worker_array(const value *v)
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

/* Evaluates n arrays in the current scope, without waiting for the device. used: an array that they may overwrite, or NULL.
 * On the CPU, one worker at a time. */
static ig_status launch(const worker *w, ig_array **made, int n, ig_array *used)
{
    crew *c = w->c;
    for (int i = 0; i < n; i++)
        if (!view_is_contiguous(&made[i]->view) && !(made[i] = build_contiguous(made[i])))
            return error_waiting(IG_ERR_MEMORY);
    const bool cpu = worker_device(w) == &backend_cpu;
    const eval_context context = {.own = cpu ? c->engine : NULL, .is_block = true};
    if (cpu)
        pthread_mutex_lock(&c->cpu);
    const ig_status status = engine_eval(&context, made, n, &used, used ? 1 : 0);
    if (cpu)
        pthread_mutex_unlock(&c->cpu);
    return status;
}

ig_status worker_take(worker *w, ig_array **made, int n)
{
    worker_drop_values(w);
    TRY(launch(w, made, n, NULL));
    TRY(worker_wait(w));
    w->n_value = n;
    for (int i = 0; i < n; i++)
        TRY(value_take(w, made[i], &w->value[i]));
    return IG_OK;
}

/* ---- arrays of other devices ---- */

/* An evaluation moves the data of an array of no device to its own device, where other workers could lose it. */
static bool is_here(const ig_array *root, const worker *w)
{
    if (root->is_number || !root->device)
        return root->is_number || w->c->plan->n_dev == 1;
    return strcmp(root->device, worker_device(w)->name) == 0;
}

static ig_array *copy_root(const ig_array *root)
{
    engine_enter();
    buffer *b = root->data->device ? transfer_copy(root->data, 0, root->data->bytes, &backend_cpu)
                                   : buffer_retain(root->data);
    engine_leave();
    return b ? array_leaf((ig_dtype)root->dtype, root->view.ndim, root->view.shape, b) : NULL;
}

/* An evaluated array as the worker's device uses it. With the lock. */
static ig_array *leaf(void *context, ig_array *root)
{
    const worker *w = context;
    crew *c = w->c;
    if (is_here(root, w))
        return root;
    for (int i = 0; i < c->n_copied; i++)
        if (c->copied[i].of == root && c->copied[i].dev == w->dev)
            return c->copied[i].copy;
    if (!memory_room(&c->copied, c->n_copied, &c->room_copied, sizeof *c->copied))
        return NULL;
    ig_array *x = copy_root(root);
    if (x)
        c->copied[c->n_copied++] = (copied){.of = root, .dev = w->dev, .copy = ig_retain(x)};
    return x;
}

/* ---- blocks ---- */

/* The piece of a worker for this block of step i; NULL if there is none. *part: one that has a part of it. With the
 * lock. */
static piece *find_piece(const crew *c, int i, const box *want, piece **part)
{
    const int ndim = c->s->work.step[i].root->view.ndim;
    box both, rest;
    *part = NULL;
    for (int k = 0; k < c->n_worker; k++) {
        piece *x = c->worker[k].mine[i];
        if (!x || x->load.state == PIECE_FAILED)
            continue;
        if (box_same(&x->want, want, ndim))
            return x;
        if (box_reuse(&x->want, want, ndim, &both, &rest))
            *part = x;
    }
    return NULL;
}

void worker_drop_pieces(worker *w)
{
    for (int i = 0; i < w->c->s->work.n; i++) {
        piece_release(&w->c->pieces, w->mine[i]);
        w->mine[i] = NULL;
    }
}

/* The pieces that a block needs: shared with workers that have them, or new ones. With the lock. */
static ig_status choose_pieces(worker *w, int64_t block)
{
    crew *c = w->c;
    steps *work = &c->s->work;
    const int64_t parts = stage_parts(c->s);
    ig_status status = IG_OK;
    w->skip = stage_want(c->s, block / parts, block % parts, w->end);
    steps_demand(work, w->end, -1);
    for (int i = 0; i < work->n; i++) {
        const step *s = &work->step[i];
        piece *part, *x;
        w->next[i] = NULL;
        if (!s->wanted || s->kind != STEP_SOURCE)
            continue;
        if ((x = find_piece(c, i, &s->want, &part)))
            x->refs++;
        else
            x = piece_new(i, &s->want,
                          (size_t)box_size(&s->want, s->root->view.ndim) *
                              ig_dtype_bytes((ig_dtype)s->root->dtype),
                          part);
        if (!(w->next[i] = x))
            status = IG_ERR_MEMORY;
    }
    worker_drop_pieces(w);
    memcpy(w->mine, w->next, (size_t)work->n * sizeof *w->mine);
    return status;
}

/* The block's graph, in the current scope. */
static int build(worker *w, int64_t block, buffer *const *data, ig_array *sum)
{
    crew *c = w->c;
    steps *work = &c->s->work;
    int n = 0;
    pthread_mutex_lock(&c->lock);
    steps_demand(work, w->end, -1);
    bool ok = true;
    for (int i = 0; i < work->n && ok; i++) {
        const step *s = &work->step[i];
        w->loaded[i] = NULL;
        if (!s->wanted || (s->kind != STEP_SOURCE && s->kind != STEP_READY))
            continue;
        int64_t shape[IG_MAX_NDIM];
        for (int k = 0; k < s->root->view.ndim; k++)
            shape[k] = s->want.hi[k] - s->want.lo[k];
        w->loaded[i] = s->kind == STEP_READY
                           ? leaf(w, s->root)
                           : array_leaf((ig_dtype)s->root->dtype, s->root->view.ndim, shape,
                                        buffer_retain(data[i]));
        ok = w->loaded[i] != NULL;
    }
    work->leaf = leaf;
    work->context = w;
    if (ok && steps_build(work, w->end, w->loaded, w->ends) == IG_OK)
        n = stage_build(c->s, block / stage_parts(c->s), block % stage_parts(c->s), w->skip,
                        w->ends, sum, w->out);
    work->leaf = NULL;
    pthread_mutex_unlock(&c->lock);
    return n;
}

/* Reads what a block needs, and copies it to the device. */
ig_status worker_load(worker *w, int64_t block)
{
    crew *c = w->c;
    pthread_mutex_lock(&c->lock);
    ig_status status = choose_pieces(w, block);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->s->work.n && status == IG_OK; i++)
        if (w->mine[i] && !(w->data[i] = piece_on(&c->pieces, w->mine[i], w->dev)))
            status = error_waiting(IG_ERR_MEMORY);
    return status;
}

void worker_unload(worker *w)
{
    for (int i = 0; i < w->c->s->work.n; i++) {
        buffer_release(w->data[i]);
        w->data[i] = NULL;
    }
}

/* Launches the evaluation of a part of a product, which replaces *sum. */
ig_status worker_add_part(worker *w, int64_t block, ig_array **sum)
{
    TRY(ig_scope_begin());
    const int n = build(w, block, w->data, *sum);
    ig_status status = n ? launch(w, w->out, n, *sum) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = ig_replace(sum, w->out[0]);
    ig_scope_end();
    return status;
}

/* Computes a block, and takes its values. */
ig_status worker_block(worker *w, int64_t block)
{
    ig_status status = worker_load(w, block);
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        const int n = build(w, block, w->data, NULL);
        status = n ? worker_take(w, w->out, n) : error_waiting(IG_ERR_MEMORY);
        ig_scope_end();
    }
    worker_unload(w);
    return status;
}

/* The tile of a product, from the sum of all its parts. */
ig_status worker_finish_product(worker *w, int64_t tile, ig_array **sum)
{
    TRY(ig_scope_begin());
    ig_array *y = stage_finish(w->c->s, tile, sum);
    const ig_status status = y ? worker_take(w, &y, 1) : error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    return status;
}

/* Computes all parts of a product's tile, and finishes it. */
ig_status worker_product(worker *w, int64_t tile)
{
    crew *c = w->c;
    const int64_t parts = stage_parts(c->s);
    ig_array *sum = NULL;
    ig_status status = IG_OK;
    for (int64_t part = 0; part < parts && status == IG_OK; part++) {
        status = worker_load(w, tile * parts + part);
        if (status == IG_OK)
            status = worker_add_part(w, tile * parts + part, &sum);
        if (status == IG_OK)
            status = worker_wait(w);
        worker_unload(w);
        if (status == IG_OK && cancel_count() != c->out->since)
            status = ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled");
    }
    if (status == IG_OK)
        status = worker_finish_product(w, tile, &sum);
    ig_release(sum);
    return status;
}

/* ---- workers ---- */

ig_status worker_make(worker *w, crew *c, int dev)
{
    const size_t n = (size_t)c->s->work.n + 1, ends = (size_t)c->s->work.n_end + 1,
                 roots = (size_t)c->s->n_root + FOLD_VALUES;
    w->c = c;
    w->dev = dev;
    w->mine = memory_new(n * sizeof *w->mine);
    w->next = memory_new(n * sizeof *w->next);
    w->end = memory_new(ends * sizeof *w->end);
    w->data = memory_new(n * sizeof *w->data);
    w->loaded = memory_new(n * sizeof *w->loaded);
    w->ends = memory_new(ends * sizeof *w->ends);
    w->out = memory_new(roots * sizeof *w->out);
    w->value = memory_new(roots * sizeof *w->value);
    return w->mine && w->next && w->end && w->data && w->loaded && w->ends && w->out && w->value
               ? IG_OK
               : IG_ERR_MEMORY;
}

void worker_free(worker *w)
{
    memory_free(w->mine);
    memory_free(w->next);
    memory_free(w->end);
    memory_free(w->data);
    memory_free(w->loaded);
    memory_free(w->ends);
    memory_free(w->out);
    memory_free(w->value);
}
