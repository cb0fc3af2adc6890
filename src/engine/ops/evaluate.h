/* The only calls from ops up to the engine, which implements them (engine/eval.c). The shape of some results
 * depends on data: nonzero, unique, boolean masks, repeat with an array of counts. Their builders evaluate
 * what they need. No other builder reads elements. */
#ifndef OPS_EVALUATE_H
#define OPS_EVALUATE_H

#include "ingot.h"

ig_status evaluate_arrays(ig_array *const *arrays, int n);
/* The elements of x in row-major order, in host memory, valid as long as x; NULL on failure. */
const void *evaluate_data(ig_array *x);

#endif
