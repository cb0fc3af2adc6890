/* Declarations shared by the files of the engine. One evaluation runs at a time: engine_enter takes the lock that
 * guards all of it, and engine_leave releases it. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/eval/run.h"

enum { CACHE_SLOTS = 1024, CACHE_PROBES = 8, KERNELS_MOST = 256 };

/* State shared by evaluations. Its lists are reused, so a small evaluation allocates nothing here. */
typedef struct engine {
    graph g; /* the evaluation in progress */
    run run; /* the run in progress */
    struct {
        schedule *plan;
        const backend *device;
    } cache[CACHE_SLOTS];
    uint64_t clock;
} engine;

/* One lock guards the engine of the process, and all others. */
engine *engine_enter(void);
void engine_leave(void);
void engine_free(engine *e); /* NULL is fine */
/* True if the launches of a run need no lock. */
bool engine_steps_out(const run *r);

/* How arrays are evaluated. */
typedef struct eval_context {
    /* An engine with its own schedules, so that the lock is left while the CPU runs them, and another thread evaluates on
     * another device; NULL: the engine of the process. */
    engine *own;
    bool is_block; /* they are blocks, which are not divided again */
} eval_context;
/* ig_eval_donating in a context. Without the lock. */
ig_status engine_eval(const eval_context *c, ig_array *const *arrays, int n,
                      ig_array *const *donated, int n_donated);

/* ---- evaluation by builders whose shapes depend on data ---- */

/* The status of such an evaluation. If there was too little memory, adds to the message that later steps, which are not known
 * yet, may need more. */
ig_status evaluate_early(ig_status status);
/* ig_eval and ig_data with such a status. */
ig_status evaluate_arrays(ig_array *const *arrays, int n);
const void *evaluate_data(ig_array *x);

/* The device of the calling thread. */
const backend *engine_device(void);
/* The device that an array is on, or will be on when it is evaluated. */
const backend *engine_device_of(const ig_array *x);

/* A compiled schedule for g; NULL on failure. within: it fits in the memory that is left, if any schedule does. With a batch,
 * which may be NULL, kernels are built when the batch ends. */
schedule *engine_build(const graph *g, const backend *dev, bool within, struct module_batch *batch);
/* The same for e->g: a schedule of the cache, or a new one. The cache owns it. */
schedule *engine_schedule(engine *e, const backend *dev);
void engine_discard(schedule *s, const backend *dev);
/* Adds the description of a schedule that was built for g. */
void engine_explain(const schedule *s, const graph *g, const backend *dev, text *t);

/* As ig_eval, for real arrays, while the lock is held. */
ig_status engine_eval_held(engine *e, ig_array *const *arrays, int n);
/* As ig_eval, with run.fills_with_nan. */
ig_status engine_eval_filled(ig_array *const *arrays, int n);

/* The elements of x on its device, in row-major order: its root's buffer, or a copy. The lock is held. */
buffer *engine_elements(engine *e, ig_array *x, size_t *offset);
/* Copies the elements of an evaluated, strided view to x->data in row-major order, on its device. Without the lock. */
ig_status engine_order(ig_array *x);

#endif
