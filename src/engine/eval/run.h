/* One run of a schedule. run_begin; the caller binds the leaves (run_bind_leaf); run_launch binds the other slots and
 * launches; the caller takes the outputs of s->out_slot (run_take); run_end. */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "engine/eval/executor.h"

typedef struct run {
    schedule *s;
    const backend *dev;
    const executor *by;
    binding *binding; /* one for each slot */
    buffer **owned;   /* buffers of this run: outputs and the arena */
    int n_owned;
    int next; /* where run_take searches first */
    int room_binding, room_owned;
    bool *held;    /* for each slot: its content was fetched, and is held */
    int n_fetched; /* leaves whose content is fetched */
    int room_held;
    bool
        fills_with_nan; /* new memory: NaN, or -1 for integers, so that elements that are not written are found */
    struct engine *own; /* the engine of this run, if it is not the process's */
    /* If programs fall back to the CPU, for each slot: its host copy, or NULL, and the binding that the CPU uses. */
    buffer **copy;
    binding *bound;
} run;

ig_status run_begin(run *r, schedule *s, const backend *dev);
/* Binds a leaf's slot to the data of a root, which is first copied to the device if necessary. */
ig_status run_bind_leaf(run *r, int leaf, ig_array *root);
ig_status run_launch(run *r);
/* A reference to the buffer of slot `of`. If the run owns the buffer, it hands over its reference. Fast for outputs in
 * slot order. */
buffer *run_take(run *r, int of);
void run_end(run *r);
/* For a run of many steps: the caller binds leaves and outputs, and run_bind_temporaries the temporaries that use no other
 * slot's memory. run_again launches after any of these changed. run_reserve comes before the launches that surround it. */
ig_status run_bind_temporaries(run *r);
ig_status run_again(run *r);
ig_status run_reserve(const schedule *s, const backend *dev);
/* Frees the lists. */
void run_free(run *r);

#endif
