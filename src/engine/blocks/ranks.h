/* A stage that a team of processes computes together: which blocks each rank computes, and how results meet.
 *
 * Every rank makes the same plan. The blocks of a stage are in one order, and each rank computes a range of them: of
 * whole tiles, or of parts of rows where the stage is a fold. Values of parts are joined only where the order of the fold
 * has a subtree, and the rest by the rank that has the first part of the tile, so bits do not depend on the ranks. */
#ifndef BLOCKS_RANKS_H
#define BLOCKS_RANKS_H

#include "base/team.h"
#include "engine/blocks/fold.h"

/* Fails if the ranks have different plans. */
ig_status ranks_check(const block_plan *p);

/* The range of blocks of a rank. Without a team: all. */
void ranks_range(const stage *s, int rank, int64_t *first, int64_t *end);

/* Packs n entries into *data, which the caller frees. */
ig_status ranks_pack(const entry *entries, int n, char **data, uint64_t *bytes);
/* Unpacks the entry at *data, in the current scope, and moves *data past it. */
ig_status ranks_unpack(const char **data, entry *out);
/* Sends packed entries of a tile that an earlier rank has begun, and receives the entries of the tile that this rank has
 * begun and not ended. *got, which the caller frees, has the packed entries of the ranks in order. */
ig_status ranks_meet(const stage *s, const char *data, uint64_t bytes, char **got,
                     uint64_t *got_bytes);

/* Each rank gets the tiles of all ranks. to: the elements of root i, where the rank's own tiles are. */
ig_status ranks_tiles(const stage *s, int i, char *to);

/* A part of what a rank wants of a source: a slab along the first axis, which one of the ranks that want it reads. */
typedef struct panel {
    int step;
    box slab;
    char *to;
} panel;

/* The panels that this rank reads for a block of a product, and the moves between ranks that follow. */
typedef struct panels {
    panel *own;
    team_move *move;
    int n_own, n_move, room_own, room_move;
} panels;

/* Lists the panels of a block, for which each rank has the block at the same place of its range. want, to: the box of
 * each source and its memory, or NULL if it is not wanted or is there already. */
ig_status ranks_panels(stage *s, int64_t block, const box *want, char *const *to, panels *out);
void panels_free(panels *p);

/* Makes the file of a stage's result a file of all ranks, before the stage begins; and ends the writing to it. */
ig_status ranks_file_begin(const block_source *s);
ig_status ranks_file_end(const block_source *s);

#endif
