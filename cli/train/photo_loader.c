/* The loader: threads that fill the buffers of two batches. All fields that change are read and written with the lock, but the pixels
 * of a sample by the thread that took it. */
#include "photos.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 2, WHY_BYTES = 512 };

typedef struct buffer {
    bool used;
    loop_batch batch;
    int64_t *list; /* a copy of batch.list */
    unsigned char *pixels;
    int64_t taken, done; /* samples that threads have begun and ended */
    int64_t order;       /* buffers are filled in this order */
} buffer;

struct photo_loader {
    const image_list *list;
    photo_crops crops;
    int64_t side, size; /* size: samples of a batch at most */
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    pthread_t *threads;
    int n_threads;
    bool stops;
    buffer buffers[BUFFERS];
    int64_t orders;
    ig_status failed; /* of the first image that could not be read */
    char why[WHY_BYTES];
};

/* The buffer whose samples are next; NULL if there are none. */
static buffer *buffer_next(photo_loader *l)
{
    buffer *best = NULL;
    for (int i = 0; i < BUFFERS; i++) {
        buffer *b = &l->buffers[i];
        if (b->used && b->taken < b->batch.n && (!best || b->order < best->order))
            best = b;
    }
    return best;
}

static ig_status sample_fill(const photo_loader *l, const buffer *b, int64_t i)
{
    const int64_t number = b->list[i], each = 3 * l->side * l->side;
    const uint64_t salt = (uint64_t)b->batch.epoch << 40 ^ (uint64_t)number;
    return photo_read(l->list->files.at[number], &l->crops, salt, l->side, b->pixels + i * each);
}

static void *thread_run(void *at)
{
    photo_loader *l = at;
    ig_set_device("cpu");
    pthread_mutex_lock(&l->lock);
    while (!l->stops) {
        buffer *b = buffer_next(l);
        if (!b) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        const int64_t i = b->taken++;
        pthread_mutex_unlock(&l->lock);
        ig_status status = sample_fill(l, b, i);
        const char *why = ig_error(&status);
        pthread_mutex_lock(&l->lock);
        if (why && l->failed == IG_OK) {
            l->failed = status;
            snprintf(l->why, sizeof l->why, "%s", why);
        }
        if (++b->done == b->batch.n)
            pthread_cond_broadcast(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

photo_loader *photo_loader_new(const image_list *list, const photo_crops *crops, int64_t side,
                               int64_t batch, int threads)
{
    photo_loader *l = heap_get(sizeof *l);
    sigset_t all, before;
    l->list = list;
    l->crops = *crops;
    l->side = side;
    l->size = batch;
    l->threads = heap_get(sizeof *l->threads * (size_t)threads);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    for (int i = 0; i < BUFFERS; i++) {
        l->buffers[i].list = heap_get(sizeof(int64_t) * (size_t)batch);
        l->buffers[i].pixels = heap_get((size_t)(batch * 3 * side * side));
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    while (l->n_threads < threads &&
           pthread_create(&l->threads[l->n_threads], NULL, thread_run, l) == 0)
        l->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (l->n_threads)
        return l;
    ig_fail(IG_ERR_MEMORY, "no thread can be started to load images");
    photo_loader_free(l);
    return NULL;
}

void photo_loader_free(photo_loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stops = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    for (int i = 0; i < BUFFERS; i++) {
        free(l->buffers[i].list);
        free(l->buffers[i].pixels);
    }
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    free(l->threads);
    free(l);
}

static buffer *buffer_find(photo_loader *l, const loop_batch *b)
{
    for (int i = 0; i < BUFFERS; i++) {
        buffer *p = &l->buffers[i];
        if (p->used && p->batch.epoch == b->epoch && p->batch.first == b->first &&
            p->batch.n == b->n)
            return p;
    }
    return NULL;
}

/* With the lock. A batch that is not the expected one takes the place of one that no thread fills. */
static buffer *buffer_begin(photo_loader *l, const loop_batch *b)
{
    buffer *p = NULL;
    for (int i = 0; i < BUFFERS && !p; i++)
        if (!l->buffers[i].used)
            p = &l->buffers[i];
    if (!p)
        return NULL;
    p->used = true;
    p->batch = *b;
    p->taken = p->done = 0;
    p->order = l->orders++;
    memcpy(p->list, b->list, sizeof *p->list * (size_t)b->n);
    pthread_cond_broadcast(&l->work);
    return p;
}

void photo_loader_expect(photo_loader *l, const loop_batch *b)
{
    pthread_mutex_lock(&l->lock);
    if (!buffer_find(l, b))
        buffer_begin(l, b);
    pthread_mutex_unlock(&l->lock);
}

bool photo_loader_take(photo_loader *l, const loop_batch *b, ig_array **images, ig_array **labels)
{
    int64_t *numbers = heap_get(sizeof *numbers * (size_t)b->n);
    pthread_mutex_lock(&l->lock);
    buffer *p = buffer_find(l, b);
    p = p ? p : buffer_begin(l, b);
    while (p && p->done < p->batch.n)
        pthread_cond_wait(&l->ready, &l->lock);
    pthread_mutex_unlock(&l->lock);
    for (int64_t i = 0; i < b->n; i++)
        numbers[i] = l->list->labels[b->list[i]];
    *images = *labels = NULL;
    if (!p)
        ig_fail(IG_ERR_INTERNAL, "the loader of images has no free buffer");
    else if (l->failed != IG_OK)
        ig_fail(l->failed, "%s", l->why);
    else {
        *images = ig_from_data(p->pixels, IG_SHAPE(b->n, 3, l->side, l->side), IG_U8);
        *labels = ig_from_data(numbers, IG_SHAPE(b->n), IG_I64);
    }
    free(numbers);
    pthread_mutex_lock(&l->lock);
    if (p)
        p->used = false;
    pthread_mutex_unlock(&l->lock);
    return *images && *labels;
}
