/* What the files of the engine share. One evaluation runs at a time: all of it is used while the lock is
 * held, which engine_enter takes and engine_leave gives back. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "backend/backend.h"
#include "graph/graph.h"
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
    binding *bound; /* of each slot of the schedule that runs */
    buffer **made;  /* buffers of that run: outputs, the arena */
    int room_bound, room_made;
} engine;

void engine_enter(void);
void engine_leave(void);

/* The device of the calling thread. */
const backend *engine_device(void);

/* While true, the memory of the calling thread's evaluations is full of NaN (ones, for integers) before
 * they run, so that what is not written shows. */
void engine_spoil(bool spoil);

/* A compiled schedule for engine.g; NULL on failure. */
schedule *engine_build(const backend *dev);
void engine_discard(schedule *s, const backend *dev);

/* Fails if dev cannot use the buffer, which is on another device. */
ig_status engine_check_buffer(const buffer *b, const backend *dev);

/* A run of s is: engine_room, then its leaves are put into engine.bound, then engine_run, which binds
 * the rest and launches, then outputs are retained where s->out_slot says, and engine_drop. */
ig_status engine_room(const schedule *s);
ig_status engine_run(const schedule *s, const backend *dev, int *n_made);
void engine_drop(int n_made);

#endif
