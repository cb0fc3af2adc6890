/* The order that launches of a schedule must keep. A device may run all other launches concurrently. */
#ifndef ENGINE_AFTER_H
#define ENGINE_AFTER_H

#include "engine/graph/graph.h"

/* Chain i follows the chains chain[first[i]] to chain[first[i + 1] - 1], and the chains that these follow. Chains are
 * numbered from 0, in order. */
typedef struct after_list {
    int *first, *chain;
    int n; /* number of chains; 0: each chain follows all earlier ones */
} after_list;

/* The part of the scratch memory that a chain uses: bytes [from, until). */
typedef struct scratch_range {
    uint64_t from, until;
} scratch_range;

/* scratch has one entry for each chain. */
ig_status after_find(const schedule *s, const scratch_range *scratch, after_list *out);
void after_free(after_list *a);

#endif
