/* Constants of compiled computations: nodes that depend on no input are computed once, when a computation is compiled. */
#ifndef EVAL_CONSTANTS_H
#define EVAL_CONSTANTS_H

#include "engine/eval/engine.h"

/* Evaluates nodes that the results need and that depend on none of the inputs, if that saves work in each run and costs
 * no memory without need. Fails if a node that moves to another device depends on inputs. Without the lock. */
ig_status constants_fold(ig_array *const *inputs, int n_in, ig_array *const *results, int n_out);
/* Releases the constants that no computation uses. */
void constants_sweep(void);
void constants_sweep_held(void); /* while the lock is held */

#endif
