/* The smallest cut between two nodes of a network: the edges of least total capacity whose removal separates them. */
#ifndef GRAPH_MINCUT_H
#define GRAPH_MINCUT_H

#include "ingot/base.h"

/* No cut removes an edge of this capacity if another cut exists. */
#define MINCUT_NEVER (INT64_MAX / 4)

typedef struct mincut_edge {
    int to, next; /* the next edge of the same node, or -1 */
    int64_t left; /* capacity that no flow uses */
} mincut_edge;

typedef struct mincut_network {
    int n_node;
    int *first; /* of each node: its latest edge, or -1 */
    int *level, *at, *queue;
    mincut_edge *edge; /* edge i ^ 1 is edge i backwards */
    int n_edge, room;
} mincut_network;

ig_status mincut_begin(mincut_network *c, int n_node);
ig_status mincut_add(mincut_network *c, int from, int to, int64_t capacity);
/* Finds the cut. behind[i]: node i is on the side of `to`. Of several smallest cuts, it is the one nearest to `to`. */
ig_status mincut_find(mincut_network *c, int from, int to, bool *behind);
void mincut_free(mincut_network *c);

#endif
