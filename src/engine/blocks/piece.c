/* Pieces; see piece.h. */
#include "engine/blocks/piece.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/eval/transfer.h"
#include <stdio.h>
#include <string.h>

/* ---- the shelf ---- */

/* Takes the smallest buffer that is large enough. */
static buffer *take_kept(shelf *s, const backend *dev, size_t bytes, bool visible)
{
    shelf_buffer **best = NULL;
    pthread_mutex_lock(&s->lock);
    for (shelf_buffer **at = &s->first; *at; at = &(*at)->next)
        if ((*at)->dev == dev && (*at)->visible == visible && (*at)->b->bytes >= bytes &&
            (!best || (*at)->b->bytes < (*best)->b->bytes))
            best = at;
    shelf_buffer *found = best ? *best : NULL;
    if (found)
        *best = found->next;
    pthread_mutex_unlock(&s->lock);
    buffer *b = found ? found->b : NULL;
    memory_free(found);
    return b;
}

/* Gives back all buffers of one kind: they are too small, or no longer needed. */
static void drop_kept(shelf *s, const backend *dev, bool visible)
{
    pthread_mutex_lock(&s->lock);
    for (shelf_buffer **at = &s->first; *at;) {
        shelf_buffer *x = *at;
        if (dev && (x->dev != dev || x->visible != visible)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        buffer_release(x->b);
        memory_free(x);
    }
    pthread_mutex_unlock(&s->lock);
}

buffer *shelf_take(shelf *s, const backend *dev, size_t bytes, bool visible)
{
    buffer *b = take_kept(s, dev, bytes, visible);
    if (b)
        return b;
    drop_kept(s, dev, visible);
    b = (visible ? dev->alloc_visible : dev->alloc)(dev, bytes);
    /* The memory may have been a temporary of launches that still run. */
    if (b && !visible && dev->stream->wait(dev) != IG_OK) {
        buffer_release(b);
        return NULL;
    }
    return b;
}

void shelf_put(shelf *s, const backend *dev, buffer *b, bool visible)
{
    shelf_buffer *x = b ? memory_get(sizeof *x) : NULL;
    if (!x) {
        buffer_release(b);
        return;
    }
    *x = (shelf_buffer){.b = b, .dev = dev, .visible = visible};
    engine_enter();
    buffer_forget(b);
    b->written = 0;
    engine_leave();
    pthread_mutex_lock(&s->lock);
    x->next = s->first;
    s->first = x;
    pthread_mutex_unlock(&s->lock);
}

void shelf_clear(shelf *s) { drop_kept(s, NULL, false); }

/* ---- pieces ---- */

ig_status pieces_begin(pieces *p)
{
    pthread_mutex_init(&p->shelf.lock, NULL);
    pthread_mutex_init(&p->copying, NULL);
    if (!(p->source = memory_get((size_t)(p->work->n + 1) * sizeof *p->source)))
        return IG_ERR_MEMORY;
    for (int i = 0; i < p->work->n; i++)
        pthread_mutex_init(&p->source[i], NULL);
    for (int i = 0; i < p->n_dev && !p->pins; i++)
        if (p->dev[i]->stream && p->dev[i]->alloc_visible)
            p->pins = p->dev[i];
    return IG_OK;
}

void pieces_end(pieces *p)
{
    shelf_clear(&p->shelf);
    for (int i = 0; i < p->work->n && p->source; i++)
        pthread_mutex_destroy(&p->source[i]);
    memory_free(p->source);
    pthread_mutex_destroy(&p->shelf.lock);
    pthread_mutex_destroy(&p->copying);
}

piece *piece_new(int of, const box *want, size_t bytes, piece *from)
{
    piece *x = memory_new(sizeof *x);
    if (!x)
        return NULL;
    *x = (piece){.refs = 1, .step = of, .want = *want, .bytes = bytes, .from = from};
    if (from)
        from->refs++;
    return x;
}

void piece_release(pieces *p, piece *x)
{
    if (!x || --x->refs > 0)
        return;
    piece_release(p, x->from);
    buffer_release(x->host);
    shelf_put(&p->shelf, p->pins, x->pinned, true);
    for (int i = 0; i < p->n_dev; i++)
        if (p->dev[i]->stream)
            shelf_put(&p->shelf, p->dev[i], x->there[i].b, false);
        else
            buffer_release(x->there[i].b);
    memory_free(x);
}

/* ---- reading ---- */

typedef struct slices {
    const block_source *source;
    const box *b;
    char *to;
    int axis;
    int64_t each; /* indices of a slice along the axis */
    size_t bytes; /* of one index */
    ig_status *each_status;
} slices;

static void read_slice(void *context, int64_t task, int worker)
{
    const slices *s = context;
    box b = *s->b;
    (void)worker;
    b.lo[s->axis] += task * s->each;
    b.hi[s->axis] =
        b.lo[s->axis] + s->each < b.hi[s->axis] ? b.lo[s->axis] + s->each : b.hi[s->axis];
    s->each_status[task] = block_read(s->source, &b, s->to + (size_t)(task * s->each) * s->bytes);
}

/* Runs tasks by all threads. A concurrent run would get one thread; waiting is faster. */
static void copy_by_all(pieces *p, int64_t tasks, pool_fn task, void *context)
{
    pthread_mutex_lock(&p->copying);
    pool_run(tasks, task, context);
    pthread_mutex_unlock(&p->copying);
}

/* Reads a box whose elements follow each other at `to`, by several threads if the source allows it. */
static ig_status read_parallel(pieces *p, const block_source *s, const box *b, char *to)
{
    enum { SLICES = 16, LEAST = 4 << 20 };
    ig_status status[SLICES] = {IG_OK};
    int axis = 0;
    while (axis < s->ndim - 1 && b->hi[axis] - b->lo[axis] <= 1)
        axis++;
    const int64_t n = s->ndim ? b->hi[axis] - b->lo[axis] : 0;
    const size_t bytes = (size_t)box_size(b, s->ndim) * ig_dtype_bytes(s->dtype);
    if (!s->concurrent || bytes < LEAST || n < SLICES)
        return block_read(s, b, to);
    const int64_t each = (n + SLICES - 1) / SLICES;
    slices all = {.source = s,
                  .b = b,
                  .to = to,
                  .axis = axis,
                  .each = each,
                  .bytes = bytes / (size_t)n,
                  .each_status = status};
    copy_by_all(p, (n + each - 1) / each, read_slice, &all);
    for (int i = 0; i < SLICES; i++)
        if (status[i] != IG_OK) /* the message is another thread's */
            return ig_failed() ? status[i]
                               : ig_fail(status[i], "a part of a source cannot be read");
    return IG_OK;
}

typedef struct copying {
    char *to;
    const char *from;
    size_t bytes, each;
} copying;

static void copy_slice(void *context, int64_t task, int worker)
{
    const copying *c = context;
    const size_t at = (size_t)task * c->each, left = c->bytes - at;
    (void)worker;
    memcpy(c->to + at, c->from + at, left < c->each ? left : c->each);
}

/* Copies by several threads. */
static void copy_parallel(pieces *p, void *to, const void *from, size_t bytes)
{
    copying c = {to, from, bytes, (size_t)4 << 20};
    copy_by_all(p, (int64_t)((bytes + c.each - 1) / c.each), copy_slice, &c);
}

/* Pinned memory, or NULL. A device that has failed gives none; the others then use ordinary memory. */
static buffer *take_pinned(pieces *p, size_t bytes)
{
    buffer *b = p->pins ? shelf_take(&p->shelf, p->pins, bytes ? bytes : 1, true) : NULL;
    if (p->pins && !b)
        ig_error(NULL);
    return b;
}

static ig_status alloc_host(pieces *p, piece *x)
{
    x->pinned = take_pinned(p, x->bytes);
    x->host =
        x->pinned ? buffer_foreign(x->pinned->data, x->bytes, NULL, NULL) : buffer_new(x->bytes);
    return x->host ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

/* The lock of a step's source, which several steps may read, also by picks. */
static pthread_mutex_t *lock_of(const pieces *p, const block_source *s)
{
    int k = 0;
    while (picks_from(p->work->step[k].source) != picks_from(s))
        k++;
    return &p->source[k];
}

/* Lets the system read the pages of a mapped file, and show them to this process. */
static void touch_pages(const buffer *b)
{
    enum { PAGE = 4096 };
    const volatile char *at = b->data;
    for (size_t i = 0; i < b->bytes; i += PAGE)
        (void)at[i];
}

static ig_status read_piece(pieces *p, piece *x)
{
    const step *s = &p->work->step[x->step];
    const int ndim = s->root->view.ndim;
    const size_t bytes = ig_dtype_bytes((ig_dtype)s->root->dtype);
    piece *from = x->from;
    box both, rest = x->want;
    if (s->source->alias && (x->host = s->source->alias(s->source, &x->want))) {
        if (!p->pins) /* else several threads copy it */
            touch_pages(x->host);
        return IG_OK;
    }
    /* First, because loading it lets go of an earlier piece: there is memory for two. */
    if (from && piece_load(p, from) != IG_OK) {
        ig_error(NULL); /* all of x is read instead */
        from = NULL;
    }
    TRY(alloc_host(p, x));
    if (from && box_reuse(&from->want, &x->want, ndim, &both, &rest))
        box_move(&both, ndim, bytes, &from->want, from->host->data, &x->want, x->host->data);
    int64_t stride[IG_MAX_NDIM];
    box_strides_of(&x->want, ndim, stride);
    char *to = (char *)x->host->data + box_place_in(&x->want, stride, &rest, ndim) * (int64_t)bytes;
    if (!s->source->concurrent)
        pthread_mutex_lock(lock_of(p, s->source));
    const ig_status status = read_parallel(p, s->source, &rest, to);
    if (!s->source->concurrent)
        pthread_mutex_unlock(lock_of(p, s->source));
    return status;
}

/* Waits while another thread works. True: the caller must do it. */
static bool claim(pieces *p, piece_work *w)
{
    pthread_mutex_lock(p->lock);
    while (w->state == PIECE_BUSY)
        pthread_cond_wait(p->changed, p->lock);
    const bool mine = w->state == PIECE_NEW;
    if (mine)
        w->state = PIECE_BUSY;
    pthread_mutex_unlock(p->lock);
    return mine;
}

/* Ends work that the caller has claimed. The message of a failure is kept for the threads that wait. */
static ig_status settle(pieces *p, piece_work *w, ig_status status)
{
    const char *why = status != IG_OK ? ig_error(NULL) : NULL;
    pthread_mutex_lock(p->lock);
    w->state = status == IG_OK ? PIECE_READY : PIECE_FAILED;
    w->status = status;
    snprintf(w->why, sizeof w->why, "%s", why ? why : "a source cannot be read");
    pthread_cond_broadcast(p->changed);
    pthread_mutex_unlock(p->lock);
    return why ? ig_fail(status, "%s", why) : status;
}

/* The status of work that another thread has done. */
static ig_status outcome(const piece_work *w)
{
    return w->state == PIECE_READY ? IG_OK : ig_fail(w->status, "%s", w->why);
}

ig_status piece_load(pieces *p, piece *x)
{
    if (!claim(p, &x->load))
        return outcome(&x->load);
    const ig_status status = read_piece(p, x);
    pthread_mutex_lock(p->lock);
    piece_release(p, x->from); /* before another thread goes on */
    x->from = NULL;
    pthread_mutex_unlock(p->lock);
    return settle(p, &x->load, status);
}

ig_status piece_begin(pieces *p, piece *x, char **to)
{
    *to = NULL;
    if (!claim(p, &x->load))
        return IG_OK;
    const ig_status status = alloc_host(p, x);
    if (status != IG_OK)
        return settle(p, &x->load, status);
    *to = x->host->data;
    return IG_OK;
}

ig_status piece_end(pieces *p, piece *x, ig_status status) { return settle(p, &x->load, status); }

/* Copies an unpinned piece through pinned memory, while kernels run. */
static ig_status upload_staged(pieces *p, const piece *x, buffer *to)
{
    buffer *pinned = take_pinned(p, x->bytes);
    if (!pinned)
        return to->device->write(to, 0, x->host->data, x->bytes);
    copy_parallel(p, pinned->data, x->host->data, x->bytes);
    const ig_status status = to->device->stream->upload(to, pinned->data, x->bytes);
    shelf_put(&p->shelf, p->pins, pinned, true);
    return status;
}

static ig_status upload(pieces *p, piece *x, int d)
{
    const backend *dev = p->dev[d];
    buffer *b =
        dev->stream ? shelf_take(&p->shelf, dev, x->bytes, false) : dev->alloc(dev, x->bytes);
    ig_status status = b ? IG_OK : error_waiting(IG_ERR_MEMORY);
    if (status == IG_OK)
        status = !dev->stream || !p->pins ? dev->write(b, 0, x->host->data, x->bytes)
                 : x->pinned              ? dev->stream->upload(b, x->host->data, x->bytes)
                                          : upload_staged(p, x, b);
    if (status == IG_OK)
        x->there[d].b = b;
    else
        buffer_release(b);
    return status;
}

buffer *piece_on(pieces *p, piece *x, int d)
{
    const backend *dev = p->dev[d];
    if (piece_load(p, x) != IG_OK)
        return NULL;
    if (dev->lanes || dev->wrap || x->bytes == 0)
        return buffer_retain(x->host);
    piece_work *copy = &x->there[d].copy;
    const ig_status status = claim(p, copy) ? settle(p, copy, upload(p, x, d)) : outcome(copy);
    return status == IG_OK ? buffer_retain(x->there[d].b) : NULL;
}
