/* What the files of the engine share. One evaluation runs at a time: engine_enter takes the lock that
 * guards all of it, and engine_leave releases it. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/backend/backend.h"
#include "engine/graph/graph.h"
#include <pthread.h>

enum { CACHE_SLOTS = 1024, CACHE_PROBES = 8 };

extern struct engine {
    pthread_mutex_t lock;
    pthread_once_t once;
    graph g;
    struct {
        schedule *plan;
        const backend *device;
    } cache[CACHE_SLOTS];
    uint64_t clock;
    binding *binding; /* of each slot of the schedule that runs */
    buffer **owned;   /* buffers of that run: outputs and the arena */
    int room_binding, room_owned;
} engine;

void engine_enter(void);
void engine_leave(void);

/* The device of the calling thread. */
const backend *engine_device(void);
/* The device that an array is on, or will be. */
const backend *engine_device_of(const ig_array *x);

/* While true, new memory of the calling thread's evaluations is filled with NaN (-1 for integers), so that
 * elements that a program fails to write are found. */
void engine_fill_with_nan(bool fill);

/* How programs are made for the device. */
schedule_rules engine_rules(const backend *dev);
/* A compiled schedule for engine.g; NULL on failure. */
schedule *engine_build(const backend *dev);
/* The same from the cache, which owns it, or new. */
schedule *engine_schedule(const backend *dev);
void engine_discard(schedule *s, const backend *dev);

/* Binds a leaf's slot to the data of a root, which is brought to the device if it may be. */
ig_status engine_bind_leaf(int leaf, ig_array *root, const backend *dev);
/* The elements of x on its own device, in order: its root's buffer, or a copy. The lock is held. */
buffer *engine_elements(ig_array *x, size_t *offset);
/* Elements of an evaluated, strided view in order, in x->data, on its device. Without the lock. */
ig_status engine_order(ig_array *x);

/* A run of s: engine_room; the caller puts its leaves into engine.binding; engine_run binds the other slots
 * and launches; the caller takes the outputs of s->out_slot; engine_drop. */
ig_status engine_room(const schedule *s);
ig_status engine_run(schedule *s, const backend *dev, int *n_owned);
void engine_drop(int n_owned);
/* A reference to the buffer of slot `of`: the run's own, if it has one. *next is 0 at first, and is fast for outputs in the
 * order of their slots. */
buffer *engine_take(int of, int n_owned, int *next);

#endif
