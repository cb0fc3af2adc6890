/* The only calls from ops up to the engine, which implements them (engine/eval.c). The shape of some results
 * depends on data: nonzero, unique, boolean masks, repeat with an array of counts. Their builders evaluate
 * what they need. No other builder reads elements. */
#ifndef OPS_EVALUATE_H
#define OPS_EVALUATE_H

#include "ingot.h"

ig_status evaluate_arrays(ig_array *const *arrays, int n);
/* The elements of x in row-major order, in host memory, valid as long as x; NULL on failure. */
const void *evaluate_data(ig_array *x);

/* ---- arrays larger than memory (engine/blocks/keep.c) ---- */

/* True if x depends on sources that are read block by block. */
bool evaluate_reads(ig_array *x);
/* True if x depends on sources, and its elements, or as many i64, take a large share of the memory that is left. */
bool evaluate_spills(ig_array *x);
/* x, evaluated to a temporary file that it is read from; NULL on failure. */
ig_array *evaluate_filed(ig_array *x);
/* The elements of values, or their places if values is NULL, at which mask holds. Both are 1-d, of one length, and results of
 * evaluate_filed. The result is in memory if it is small, else it is read from their files. NULL on failure. */
ig_array *evaluate_selected(ig_array *values, ig_array *mask);

#endif
