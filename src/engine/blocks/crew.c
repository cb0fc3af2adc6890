/* A crew computes the blocks of a stage; see crew.h.
 *
 * Each worker takes the next block, reads what it needs (piece.c), copies that to its device, builds the block's graph,
 * evaluates it, copies the results to the host and hands them over. A device has several workers: while one waits for
 * kernels, the next one reads and copies. A faster device takes more blocks. A device whose next block would end after the
 * others have finished all that is left takes none.
 *
 * Each block has the bits that every device computes in math mode `same`. Parts of a fold are joined in their order: a
 * worker waits for its turn. All parts of a product's tile are computed by one worker.
 *
 * Locks: crew, then engine. No lock is held while a device works or a source is read. */
#include "engine/blocks/crew.h"
#include "engine/blocks/piece.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/team.h"
#include "engine/eval/emitted.h"
#include "engine/eval/faults.h"
#include "engine/eval/group.h"
#include "engine/eval/transfer.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DEPTH_MOST = 64, MESSAGE_BYTES = 512 };

/* An evaluated array in host memory. */
typedef struct value {
    buffer *data;
    size_t offset;
    buffer *pinned; /* that data is over, or NULL */
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
} value;

/* Values of some parts of a row, in the order of the fold. */
typedef struct entry {
    value v[FOLD_VALUES];
    int n;
    int64_t count;
} entry;

/* A copy, for a device, of an array that blocks use. */
typedef struct copied {
    const ig_array *of;
    int dev;
    ig_array *copy;
} copied;

typedef struct crew crew;

typedef struct worker {
    crew *c;
    pthread_t thread;
    int dev; /* index in the plan's devices */
    bool started;
    piece **mine, **next; /* of each step */
    box *end;
    int64_t skip;
    buffer **data; /* of each step, on the device */
    ig_array **loaded, **ends, **out;
    value *value;
    int n_value;
} worker;

struct crew {
    const block_plan *plan;
    stage *s;
    const crew_output *out;
    pieces pieces;
    pthread_mutex_t lock; /* guards all fields below, and the scratch fields of the steps */
    pthread_cond_t changed;
    pthread_mutex_t put; /* held while results are handed over */
    pthread_mutex_t cpu; /* held by the worker that evaluates on the CPU */
    engine *engine;      /* of that worker */
    ig_math math;
    worker *worker;
    int n_worker, live;
    int64_t unit, units, turn; /* units are tiles, or parts of them */
    bool chained;              /* parts of a product are computed in their turn */
    ig_array *sum;             /* of the parts so far */
    bool lost[BACKEND_LIST_MOST];
    double seconds[BACKEND_LIST_MOST]; /* of the units that are done, and their number */
    int64_t done[BACKEND_LIST_MOST];
    copied *copied;
    int n_copied, room_copied;
    entry stack[DEPTH_MOST];
    int depth;
    ig_status status;
    char message[MESSAGE_BYTES];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const backend *device_of(const worker *w) { return w->c->plan->dev[w->dev]; }

/* ---- values ---- */

static void value_drop(crew *c, value *v)
{
    buffer_release(v->data);
    if (v->pinned)
        shelf_put(&c->pieces.shelf, c->pieces.pins, v->pinned, true);
    *v = (value){.data = NULL};
}

static void values_drop(worker *w)
{
    for (int i = 0; i < w->n_value; i++)
        value_drop(w->c, &w->value[i]);
    w->n_value = 0;
}

/* Waits for the worker's device. No lock is held, so others can launch and copy. */
static ig_status device_wait(const worker *w)
{
    const backend *dev = device_of(w);
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

static const char *value_data(const value *v) { return (const char *)v->data->data + v->offset; }

/* The value as an array of the worker's device. */
static ig_array *value_array(const value *v)
{
    if (v->offset == 0)
        return array_leaf(v->dtype, v->ndim, v->shape, buffer_retain(v->data));
    view all;
    view_contiguous(&all, v->ndim, v->shape);
    const size_t bytes = (size_t)view_size(&all) * ig_dtype_bytes(v->dtype);
    buffer *b = buffer_new(bytes);
    if (!b)
        return NULL;
    memcpy(b->data, value_data(v), bytes);
    return array_leaf(v->dtype, v->ndim, v->shape, b);
}

/* Evaluates n arrays in the current scope, without waiting for the device. On the CPU, one worker at a time. */
static ig_status launch(const worker *w, ig_array **made, int n)
{
    crew *c = w->c;
    for (int i = 0; i < n; i++)
        if (!view_is_contiguous(&made[i]->view) && !(made[i] = build_contiguous(made[i])))
            return error_waiting(IG_ERR_MEMORY);
    const bool cpu = device_of(w) == &backend_cpu;
    if (cpu) {
        pthread_mutex_lock(&c->cpu);
        engine_use(c->engine);
    }
    const ig_status status = ig_eval(made, n);
    if (cpu) {
        engine_use(NULL);
        pthread_mutex_unlock(&c->cpu);
    }
    return status;
}

/* Evaluates, and takes the values. */
static ig_status take_values(worker *w, ig_array **made, int n, value *v)
{
    TRY(launch(w, made, n));
    TRY(device_wait(w));
    for (int i = 0; i < n; i++)
        TRY(value_take(w, made[i], &v[i]));
    return IG_OK;
}

/* ---- arrays of other devices ---- */

static bool is_here(const ig_array *root, const backend *dev)
{
    return root->is_number || !root->device || strcmp(root->device, dev->name) == 0;
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
    if (is_here(root, device_of(w)))
        return root;
    for (int i = 0; i < c->n_copied; i++)
        if (c->copied[i].of == root && c->copied[i].dev == w->dev)
            return c->copied[i].copy;
    if (!graph_room(&c->copied, c->n_copied, &c->room_copied, sizeof *c->copied))
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
        if (!x || x->state == PIECE_FAILED)
            continue;
        if (box_same(&x->want, want, ndim))
            return x;
        if (box_reuse(&x->want, want, ndim, &both, &rest))
            *part = x;
    }
    return NULL;
}

static void drop_pieces(worker *w)
{
    for (int i = 0; i < w->c->s->work.n; i++) {
        piece_release(&w->c->pieces, w->mine[i]);
        w->mine[i] = NULL;
    }
}

/* The pieces that a block needs: those of other workers, or new ones. With the lock. */
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
    drop_pieces(w);
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
static ig_status load_block(worker *w, int64_t block)
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

static void unload_block(worker *w)
{
    for (int i = 0; i < w->c->s->work.n; i++) {
        buffer_release(w->data[i]);
        w->data[i] = NULL;
    }
}

/* Launches the evaluation of a part of a product, which replaces *sum. */
static ig_status add_part(worker *w, int64_t block, ig_array **sum)
{
    TRY(ig_scope_begin());
    const int n = build(w, block, w->data, *sum);
    ig_status status = n ? launch(w, w->out, n) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = ig_replace(sum, w->out[0]);
    ig_scope_end();
    return status;
}

/* Computes a block, and takes its values. */
static ig_status compute_block(worker *w, int64_t block)
{
    ig_status status = load_block(w, block);
    if (status == IG_OK)
        status = ig_scope_begin();
    if (status == IG_OK) {
        w->n_value = build(w, block, w->data, NULL);
        status = w->n_value ? take_values(w, w->out, w->n_value, w->value)
                            : error_waiting(IG_ERR_MEMORY);
        ig_scope_end();
    }
    unload_block(w);
    return status;
}

/* The tile of a product, from the sum of all its parts. */
static ig_status finish_product(worker *w, int64_t tile, ig_array **sum)
{
    TRY(ig_scope_begin());
    ig_array *y = stage_finish(w->c->s, tile, sum);
    w->n_value = 1;
    const ig_status status = y ? take_values(w, &y, 1, w->value) : error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    return status;
}

/* Computes all parts of a product's tile, and finishes it. */
static ig_status compute_product(worker *w, int64_t tile)
{
    crew *c = w->c;
    const int64_t parts = stage_parts(c->s);
    ig_array *sum = NULL;
    ig_status status = IG_OK;
    for (int64_t part = 0; part < parts && status == IG_OK; part++) {
        status = load_block(w, tile * parts + part);
        if (status == IG_OK)
            status = add_part(w, tile * parts + part, &sum);
        if (status == IG_OK)
            status = device_wait(w);
        unload_block(w);
        if (status == IG_OK && cancel_count() != c->out->since)
            status = ig_fail(IG_ERR_CANCELLED, "the evaluation was cancelled");
    }
    if (status == IG_OK)
        status = finish_product(w, tile, &sum);
    ig_release(sum);
    return status;
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

static ig_status put_values(worker *w, int64_t tile, const value *v, int n)
{
    crew *c = w->c;
    const box b = stage_tile(c->s, tile);
    ig_status status = IG_OK;
    pthread_mutex_lock(&c->put);
    for (int i = 0; i < n && status == IG_OK; i++)
        status = c->out->put(c->out->context, i, &b, value_data(&v[i]));
    pthread_mutex_unlock(&c->put);
    return status;
}

static void entry_drop(crew *c, entry *e)
{
    for (int i = 0; i < e->n; i++)
        value_drop(c, &e->v[i]);
    e->n = 0;
}

/* Arrays of an entry's values, in the current scope. */
static bool entry_arrays(const entry *e, ig_array **x)
{
    for (int i = 0; i < e->n; i++)
        if (!(x[i] = value_array(&e->v[i])))
            return false;
    return true;
}

/* Joins the two topmost entries. */
static ig_status join_top(worker *w)
{
    crew *c = w->c;
    entry *left = &c->stack[c->depth - 2], *right = &c->stack[c->depth - 1];
    entry both = {.count = left->count + right->count};
    ig_array *x[FOLD_VALUES], *y[FOLD_VALUES], *z[FOLD_VALUES];
    TRY(ig_scope_begin());
    const int n =
        entry_arrays(left, x) && entry_arrays(right, y) ? fold_join(c->s->root[0], x, y, z) : 0;
    both.n = n;
    ig_status status = n ? take_values(w, z, n, both.v) : error_waiting(IG_ERR_MEMORY);
    ig_scope_end();
    entry_drop(c, left);
    entry_drop(c, right);
    *left = both;
    c->depth--;
    return status;
}

static ig_status finish_fold(worker *w, int64_t tile)
{
    crew *c = w->c;
    ig_array *x[FOLD_VALUES];
    while (c->depth > 1)
        TRY(join_top(w));
    TRY(ig_scope_begin());
    ig_array *y = entry_arrays(&c->stack[0], x) ? stage_finish(c->s, tile, x) : NULL;
    value v = {.data = NULL};
    ig_status status = y ? take_values(w, &y, 1, &v) : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = put_values(w, tile, &v, 1);
    value_drop(c, &v);
    ig_scope_end();
    entry_drop(c, &c->stack[0]);
    c->depth = 0;
    return status;
}

/* Adds the values of a part, in its turn. */
static ig_status push_fold(worker *w, int64_t block)
{
    crew *c = w->c;
    const int64_t parts = stage_parts(c->s);
    entry *e = &c->stack[c->depth++];
    *e = (entry){.n = w->n_value, .count = 1};
    memcpy(e->v, w->value, (size_t)w->n_value * sizeof *e->v);
    w->n_value = 0;
    while (c->depth > 1 && c->stack[c->depth - 2].count == c->stack[c->depth - 1].count)
        TRY(join_top(w));
    return block % parts == parts - 1 ? finish_fold(w, block / parts) : IG_OK;
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

/* Computes a part of a product on the only device. What it needs is loaded beside the parts before it. The next part may
 * follow as soon as this one is launched. */
static ig_status compute_chained(worker *w, int64_t block)
{
    crew *c = w->c;
    const int64_t parts = stage_parts(c->s);
    ig_array *sum = NULL;
    ig_status status = load_block(w, block);
    if (status == IG_OK && !wait_turn(c, block))
        status = IG_ERR_CANCELLED;
    if (status == IG_OK)
        status = add_part(w, block, &c->sum);
    if (status == IG_OK && block % parts == parts - 1) {
        sum = c->sum;
        c->sum = NULL;
    }
    if (status == IG_OK) {
        pthread_mutex_lock(&c->lock);
        c->turn = next_unit(c, block + 1);
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        status = device_wait(w);
    }
    unload_block(w);
    if (status == IG_OK && sum)
        status = finish_product(w, block / parts, &sum);
    if (status == IG_OK && sum)
        status = put_values(w, block / parts, w->value, w->n_value);
    ig_release(sum);
    return status;
}

static ig_status hand_over(worker *w, int64_t unit)
{
    crew *c = w->c;
    if (c->s->kind != STAGE_FOLD)
        return put_values(w, unit, w->value, w->n_value);
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

/* After a failure of the worker's device, lets it use another one. The error is taken. */
static bool change_device(worker *w, ig_status status)
{
    crew *c = w->c;
    const backend *dev = device_of(w);
    int other = -1;
    if (status != IG_ERR_DEVICE && status != IG_ERR_MEMORY && status != IG_ERR_UNSUPPORTED)
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
                 dev->name, device_of(w)->name, why ? why : "unknown");
    array_device_set(device_of(w)->name);
    return true;
}

static ig_status compute_unit(worker *w, int64_t unit)
{
    const crew *c = w->c;
    return c->chained                    ? compute_chained(w, unit)
           : c->s->kind == STAGE_PRODUCT ? compute_product(w, unit)
                                         : compute_block(w, unit);
}

static ig_status run_unit(worker *w, int64_t unit)
{
    const double began = now();
    ig_status status = compute_unit(w, unit);
    while (status != IG_OK && change_device(w, status)) {
        values_drop(w);
        status = compute_unit(w, unit);
    }
    const double took = now() - began;
    crew *c = w->c;
    if (status == IG_OK && !c->chained)
        status = hand_over(w, unit);
    values_drop(w);
    pthread_mutex_lock(&c->lock);
    c->seconds[w->dev] += took;
    c->done[w->dev]++;
    if (status == IG_OK && !c->chained)
        c->turn = next_unit(c, unit + 1);
    pthread_mutex_unlock(&c->lock);
    return status;
}

static void fail(crew *c, ig_status status)
{
    const char *why = ig_error(NULL);
    pthread_mutex_lock(&c->lock);
    if (c->status == IG_OK) {
        c->status = status;
        snprintf(c->message, sizeof c->message, "%s", why ? why : "a block cannot be computed");
    }
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *context)
{
    worker *w = context;
    crew *c = w->c;
    int64_t unit;
    array_device_set(device_of(w)->name);
    ig_set_math(c->math);
    while (take(w, &unit)) {
        const ig_status status = run_unit(w, unit);
        if (status != IG_OK)
            fail(c, status);
        pthread_mutex_lock(&c->lock);
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_lock(&c->lock);
    drop_pieces(w);
    c->live--;
    w->started = false;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the crew ---- */

static ig_status worker_begin(worker *w, crew *c, int dev)
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

static void worker_free(worker *w)
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
    while (c->depth > 0)
        entry_drop(c, &c->stack[--c->depth]);
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
                status = worker_begin(&c->worker[n++], c, d);
    c->n_worker = n;
    if (status == IG_OK) {
        start(c);
        watch(c);
        for (int i = 0; i < c->n_worker; i++)
            pthread_join(c->worker[i].thread, NULL);
        status = c->n_worker ? c->status : ig_fail(IG_ERR_MEMORY, "no thread can be started");
        if (status == IG_OK && c->unit < c->units)
            status = ig_fail(IG_ERR_INTERNAL, "blocks: some were not computed");
        else if (c->n_worker && status != IG_OK)
            ig_fail(status, "%s", c->message);
    }
    crew_free(c, n);
    memory_free(c);
    return status;
}
