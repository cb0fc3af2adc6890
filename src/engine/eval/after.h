/* Which launches of a schedule must follow which, so that a device may run others side by side. */
#ifndef ENGINE_AFTER_H
#define ENGINE_AFTER_H

#include "engine/graph/graph.h"

/* Chain i follows the chains chain[first[i]] to chain[first[i + 1] - 1], and those that they follow. Chains are
 * numbered from 0, in order. */
typedef struct after_list {
    int *first, *chain;
    int n; /* chains; 0: each follows all before it */
} after_list;

/* The part of the scratch memory that a chain uses: bytes [from, until). */
typedef struct scratch_range {
    uint64_t from, until;
} scratch_range;

/* scratch: of each chain. */
ig_status after_find(const schedule *s, const scratch_range *scratch, after_list *out);
void after_free(after_list *a);

#endif
