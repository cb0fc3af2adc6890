/* Rewrites: parts of a graph are replaced by parts that run faster. Each rule is a function of one node, whose inputs have
 * been rewritten already; rules.def lists them all. A rule that finds its pattern builds the replacement by array_node and
 * ops, and the rest of the graph is built again on it. The given arrays are not changed.
 *
 * A rule may assume nothing about inner values of its pattern that another node reads: rewrite_is_sole tells. Rules whose
 * results have other bits than the plain graph are not applied in math mode `same` (rewriting.rounds). */
#ifndef GRAPH_REWRITE_H
#define GRAPH_REWRITE_H

#include "engine/graph/graph.h"

enum {
#define RULE(name, function, text) REWRITE_##name,
#include "engine/graph/rewrite/rules.def"
    REWRITE_COUNT,
    REWRITE_JOIN = REWRITE_COUNT, /* not a rule of one node */
    REWRITE_COUNTS
#undef RULE
};

/* How often each rule was applied. */
typedef struct rewrite_counts {
    int of[REWRITE_COUNTS];
} rewrite_counts;

/* One rewriting of a graph. */
typedef struct rewriting {
    const graph *g;
    ig_array *const *inputs; /* leaves that have no known elements */
    int n_in;
    bool joins;      /* products of one array become one product: see join.c */
    bool rounds;     /* results may have other bits, within their error bounds */
    ig_array **made; /* what replaces each node; NULL: the node itself */
    int *uses;       /* how many nodes and results read each node */
    bool *varies;    /* whether each node depends on inputs */
    int *leader; /* the first node of the group of products that each node is joined with, or -1 */
} rewriting;

/* Rewrites the arrays in place. Leaves among the roots of inputs are not constants. joins: the device has its own memory. g
 * is used to order the nodes; the engine's lock is held. */
ig_status rewrite_graph(graph *g, ig_array **arrays, int n, ig_array *const *inputs, int n_in,
                        bool joins, rewrite_counts *counts);
/* False if IG_REWRITE is "off". */
bool rewrite_is_on(void);
/* Adds a line that says which rules were applied. */
void rewrite_text(const rewrite_counts *counts, text *t);

/* ---- groups of products: join.c ---- */

/* Fills r->leader. skipped has room for all nodes, and is false. */
void rewrite_find_joins(const rewriting *r, bool *skipped);
/* The factor that all products of the group of leader i have. */
ig_array *rewrite_joined(const rewriting *r, int i);
/* Builds the product of the group, with x for this factor, and sets what replaces its members. */
ig_status rewrite_join(const rewriting *r, int i, ig_array *x);

/* ---- for rules ---- */

/* True if x depends on no input. */
bool rewrite_is_constant(const rewriting *r, const ig_array *x);
/* True if the root is not evaluated, and inputs of nodes read it that many times, and no result does. */
bool rewrite_is_read(const rewriting *r, const ig_array *root, int times);
/* The same for one time. */
bool rewrite_is_sole(const rewriting *r, const ig_array *root);
/* The value of a constant of one element, if it is known: it is a number, or in host memory. */
bool rewrite_number(const rewriting *r, const ig_array *x, double *value);
/* True if x sees all elements of its root in order. */
bool rewrite_is_whole(const ig_array *x);
/* True if x is a convolution by native code that is not evaluated. */
bool rewrite_is_convolution(const ig_array *x);
/* The elementwise op of two constants of one shape. Axes along which both repeat have length 1 in the node. */
ig_array *rewrite_combine(int op, ig_array *a, ig_array *b);
/* x, a number or an array of that shape, in that shape. */
ig_array *rewrite_spread(ig_array *x, const view *like);

#define RULE(name, function, text) ig_array *function(const rewriting *r, ig_array *x);
#include "engine/graph/rewrite/rules.def"
#undef RULE

#endif
