/* Functions that lower folders call through array/above.h. */
#ifndef BLOCKS_KEEP_H
#define BLOCKS_KEEP_H

#include "base/text.h"
#include "ingot.h"

/* Evaluates arrays block by block: see above.eval_by_blocks (eval.c). */
ig_status blocks_eval(ig_array *const *arrays, int n, bool shared, text *explain);

/* ---- for builders whose shapes depend on data that is larger than memory (keep.c) ---- */

/* True if x depends on sources, and its elements, or as many i64, take a large share of the memory that is left. */
bool keep_is_large(ig_array *x);
/* x, evaluated to a temporary file that it is read from; NULL on failure. */
ig_array *keep_filed(ig_array *x);
/* The elements of values, or their places if values is NULL, at which mask holds. Both are 1-d, of one length, and results of
 * keep_filed. The result is in memory if it is small, else it is read from their files. NULL on failure. */
ig_array *keep_selected(ig_array *values, ig_array *mask);

#endif
