/* The calls from eval up to blocks/, which evaluates graphs that read from sources. */
#ifndef ENGINE_BLOCKS_H
#define ENGINE_BLOCKS_H

#include "base/text.h"
#include "engine/array/array.h"

/* Evaluates arrays that depend on sources, or do not fit in the memory of their device, block by block. Without the
 * engine's lock. */
ig_status blocks_eval(ig_array *const *arrays, int n);
/* True if devices that share work of this size are faster than one of them. bytes: of leaves and results. */
bool blocks_pay(uint64_t flops, uint64_t bytes);
/* The same as blocks_eval by the devices of a list. Does nothing if the arrays cannot be divided. */
ig_status blocks_share(ig_array *const *arrays, int n);
/* Adds the plan of that, or nothing if it does nothing. False on failure. */
bool blocks_explain_share(ig_array *const *arrays, int n, text *t);
/* The plan of that: see ig_explain_blocks. */
char *blocks_explain(ig_array *const *arrays, int n);
/* Reads all elements of a source to data, row-major. */
ig_status blocks_read_all(const block_source *s, void *data);

#endif
