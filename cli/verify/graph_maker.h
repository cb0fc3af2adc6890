/* Shared by graph_make.c and graph_fill.c: a graph being made, and a call being tried. */
#ifndef CLI_VERIFY_GRAPH_MAKER_H
#define CLI_VERIFY_GRAPH_MAKER_H

#include "verify/graph.h"

enum {
    MAKER_DIMS = 4,
    MAKER_DTYPES = 4,
    SIZE_TINY = 16 /* elements: with fewer, programs are rarely fused */
};

typedef struct maker {
    graph *g;
    graph_arrays a; /* results of the steps so far, evaluated on the CPU */
    uint64_t random;
    /* Lengths and dtypes of most leaves of this graph, so that operands often fit. */
    int64_t dim[MAKER_DIMS];
    ig_dtype dtype[MAKER_DTYPES];
    int64_t size_most;   /* limit on the elements of a result */
    graph_ref first;     /* the first array of the next call; step < 0: any */
    char why[GRAPH_WHY]; /* the last step was refused */
} maker;

/* A call being tried. Leaves made for it are earlier steps. */
typedef struct attempt {
    maker *m;
    const ig_op *op;
    graph_step call;
    ig_array *x; /* the first array argument, or NULL */
    /* A slice of x. It is chosen once, because several arguments must agree. */
    int64_t start[MAX_AXES], stop[MAX_AXES], step[MAX_AXES], length[MAX_AXES];
} attempt;

uint64_t maker_random(maker *m);
/* A random integer from low to high, inclusive. */
int64_t maker_int(maker *m, int64_t low, int64_t high);
/* True with probability 1/n. */
bool maker_once(maker *m, int n);
ig_dtype maker_dtype(maker *m);
ig_array *maker_at(const maker *m, graph_ref r);

/* Adds a leaf with integers from low to high, or reals between them. False if the graph is full. */
bool maker_leaf(maker *m, ig_dtype d, ig_ints shape, double low, double high, graph_ref *out);
/* Picks an existing result, preferring later ones. False if there is none. */
bool maker_pick(maker *m, graph_ref *out);
/* Adds a step op(x, k) for an int k. False, without an error, if the op refuses it. */
bool maker_call(maker *m, const char *op, graph_ref x, int64_t k, graph_ref *out);
/* Add steps: x in another shape, and the elements of x in order. */
bool maker_reshape(maker *m, graph_ref x, ig_ints shape, graph_ref *out);
bool maker_sort(maker *m, graph_ref x, graph_ref *out);

/* ---- graph_fill.c ---- */

/* Adds an argument for a parameter to the call; false if no value can be made. */
bool fill_param(attempt *t, const ig_param *p);

#endif
