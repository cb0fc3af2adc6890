/* Graphs with copies of nodes: see recompute.h. */
#ifndef GRAPH_RECOMPUTE_COPY_H
#define GRAPH_RECOMPUTE_COPY_H

#include "engine/graph/recompute.h"

/* Fills all but the work of out. again: nodes that are copied; late: nodes that read the copies. */
ig_status recompute_copy(const graph *g, const recomputed *from, const bool *again,
                         const bool *late, int round, recomputed *out);

#endif
