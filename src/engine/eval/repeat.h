/* A schedule that runs again and again on a device that can keep its launches (backend_replay). */
#ifndef ENGINE_REPEAT_H
#define ENGINE_REPEAT_H

#include "engine/backend/backend.h"
#include "engine/eval/after.h"

/* schedule.repeat */
typedef struct repeat {
    const backend *dev;
    void *kept; /* the backend's */
    bool worthwhile;
    after_list after;
} repeat;

/* The schedule's, new or found, if it is worthwhile on the device; *out is NULL otherwise. */
ig_status repeat_of(schedule *s, const backend *dev, repeat **out);
void repeat_free(repeat *r); /* NULL is fine */

/* Before the launches of a chain. */
void repeat_chain(repeat *r, int chain);

#endif
