/* Where the tiles of a stage go: memory of the device, host memory, a file, or sinks. */
#ifndef BLOCKS_RESULTS_H
#define BLOCKS_RESULTS_H

#include "engine/blocks/blocks.h"

typedef struct results {
    const block_plan *plan;
    stage *s;
    buffer **memory; /* TO_MEMORY, TO_HOST: of each root */
} results;

ig_status results_begin(results *r, const block_plan *p, stage *s);
/* True if all sinks have the tile. */
bool results_have(const results *r, int64_t tile);
/* Writes a block of root i. One call at a time. */
ig_status results_put(const results *r, int i, const box *b, const void *data);
/* After all blocks: the results of all ranks meet, and the roots get their data. */
ig_status results_finish(const results *r);
void results_end(results *r);

#endif
