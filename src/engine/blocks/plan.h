/* The parts of the planner: what a stage reads (estimate.c), how it is cut (cut.c), and the memory that it needs
 * (measure.c). plan.c chooses. */
#ifndef BLOCKS_PLAN_H
#define BLOCKS_PLAN_H

#include "engine/blocks/blocks.h"
#include "engine/blocks/devices.h"

/* ---- estimate.c ---- */

uint64_t root_bytes(const ig_array *x);
uint64_t step_bytes(const step *s); /* of the block that is wanted */
/* The bytes that a block's sources and results should take at most: IG_BLOCK_BYTES, or a part of the limit. */
uint64_t plan_block_bytes(uint64_t limit);
/* Bytes of the sources' elements that the current block needs. */
uint64_t stage_load_bytes(const stage *s);
/* Estimates load and read of a stage from some of its blocks, and marks its cuts. */
ig_status stage_estimate(stage *s);

/* Where a source is copied to, because blocks would read its chunks again and again: to memory if it is small, else to a
 * file, from which any block is read in one piece. */
typedef enum copy_to { COPY_NOT, COPY_TO_MEMORY, COPY_TO_FILE } copy_to;

copy_to stage_copies(const block_plan *p, const stage *s, const step *from);
/* Bytes that the stage reads, or will read if sources are copied, plus the bytes of its cut steps and a constant per
 * block. */
uint64_t stage_cost(const block_plan *p, const stage *s);
/* True if the graph of a part reads the carry from earlier parts. */
bool stage_continues(const stage *s);

/* ---- cut.c ---- */

/* Bytes of a tile of all roots. Halves count as the floats in which they are summed, if they are `summed`. */
uint64_t stage_tile_bytes(const stage *s, bool summed);
/* The cost, for which other ranks wait if one of them does all. */
uint64_t stage_team_cost(const block_plan *p, const stage *s);
/* Blocks of the stage that are computed at the same time. */
uint64_t stage_in_flight(const block_plan *p, const stage *s);
/* True if parts of one product follow each other on one device, and only their sources are read ahead. */
bool stage_is_chained(const block_plan *p, const stage *s);
/* Bytes of sources that the blocks in flight, and the next one, hold. */
uint64_t stage_window_bytes(const block_plan *p, const stage *s);
/* True if the blocks are so small that the time of the stage grows with the square of its data: it has many more blocks, or
 * reads much more, than the size of its nodes and the work of its products explain. */
bool stage_is_dear(const stage *s);
void stage_whole_tile(stage *s);
/* Cuts the stage, which has one tile. *fits: a block takes at most `most` bytes. */
ig_status stage_cut(const block_plan *p, stage *s, uint64_t most, bool *fits);

/* ---- measure.c ---- */

/* Sets load and peak of a stage that is cut. */
ig_status stage_measure(const block_plan *p, stage *s);

#endif
