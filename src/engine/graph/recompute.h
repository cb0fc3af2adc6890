/* Recomputation: a graph whose schedule needs too much memory becomes one that computes some values twice instead of keeping
 * them. The bits of all values stay the same.
 *
 * At the peak, the schedule keeps values that earlier programs made and later programs read. A later node may instead read
 * copies: nodes that compute a value again from others, just before it is read. Which values are kept and which nodes are
 * copied is a smallest cut: it costs something to keep a value, in proportion to its bytes and to the time until it is read,
 * and something to compute a node again. */
#ifndef GRAPH_RECOMPUTE_H
#define GRAPH_RECOMPUTE_H

#include "engine/graph/graph.h"

/* What is recomputed. */
typedef struct recompute_choice {
    double weight; /* of memory against work: the greater, the more is computed again */
    /* 0, or the number of segments into which the work before the peak is divided: values between two segments cost nothing
     * to keep, so at most a segment is computed again at once. */
    int segments;
    int round; /* distinguishes the copies of a graph that has copies */
} recompute_choice;

/* A graph with copies. Its nodes belong to it; its leaves, key and donations to the graph that it was made from. */
typedef struct recomputed {
    graph g;
    int *origin;  /* of each node: the node of the first graph that it computes */
    bool *copied; /* whether it is a copy */
    int n_copied; /* nodes that are computed again, of all rounds */
    double work;  /* of the first graph, in bytes that could be moved in the same time */
    double again; /* of the copies */
    struct recompute_room *room;
} recomputed;

/* Makes a graph from g, which `from` describes if it has copies (else NULL). s: the schedule of g. out->n_copied is as before
 * if the choice copies nothing. */
ig_status recompute_graph(const graph *g, const recomputed *from, const schedule *s,
                          const schedule_rules *rules, const recompute_choice *choice,
                          recomputed *out);
void recompute_free(recomputed *r);

/* Adds a line that says what is computed again: "36 gelu, 72 multiply". first: the first graph. */
void recompute_text(const recomputed *r, const graph *first, text *t);

#endif
