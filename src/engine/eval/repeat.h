/* A schedule that runs repeatedly on a device that can keep its launches (backend_replay). */
#ifndef ENGINE_REPEAT_H
#define ENGINE_REPEAT_H

#include "engine/backend/backend.h"
#include "engine/eval/after.h"

/* schedule.repeat */
typedef struct repeat {
    const backend *dev;
    void *kept; /* owned by the backend */
    bool worthwhile;
    after_list after;
} repeat;

/* The schedule's repeat, new or existing, if replay is worthwhile on the device; otherwise *out is NULL. */
ig_status repeat_of(schedule *s, const backend *dev, repeat **out);
void repeat_free(repeat *r); /* NULL is fine */

/* Call it before the launches of a chain. */
void repeat_chain(repeat *r, int chain);

#endif
