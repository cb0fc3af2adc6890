/* The calls from eval up to blocks/, which evaluates graphs that read from sources. */
#ifndef ENGINE_BLOCKS_H
#define ENGINE_BLOCKS_H

#include "engine/array/array.h"

/* Evaluates arrays that depend on sources, block by block. Without the engine's lock. */
ig_status blocks_eval(ig_array *const *arrays, int n);
/* The plan of that: see ig_explain_blocks. */
char *blocks_explain(ig_array *const *arrays, int n);
/* Reads all elements of a source to data, row-major. */
ig_status blocks_read_all(const block_source *s, void *data);

#endif
