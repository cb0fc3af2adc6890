/* Shared by graph_make.c and graph_fill.c: a graph that is being made, and one call that is being tried. */
#ifndef CLI_VERIFY_GRAPH_MAKER_H
#define CLI_VERIFY_GRAPH_MAKER_H

#include "verify/graph.h"

enum {
    MAKER_DIMS = 4,
    MAKER_DTYPES = 4,
    SIZE_TINY = 16 /* elements: with fewer, programs are hardly ever combined */
};

typedef struct maker {
    graph *g;
    graph_arrays a; /* of the steps so far, evaluated on the CPU */
    uint64_t random;
    /* What most leaves of this graph are made of, so that shapes and dtypes often fit. */
    int64_t dim[MAKER_DIMS];
    ig_dtype dtype[MAKER_DTYPES];
    int64_t size_most; /* elements of a result */
} maker;

/* A call that is being tried: leaves of its own are steps before it. */
typedef struct attempt {
    maker *m;
    const ig_op *op;
    graph_step call;
    ig_array *x; /* the first array argument, or NULL */
    /* Where a part of x is: chosen once, since several arguments have to agree. */
    int64_t start[MAX_AXES], stop[MAX_AXES], step[MAX_AXES], length[MAX_AXES];
} attempt;

uint64_t maker_random(maker *m);
/* From low to high, both included. */
int64_t maker_int(maker *m, int64_t low, int64_t high);
/* True once in n. */
bool maker_once(maker *m, int n);
ig_dtype maker_dtype(maker *m);
ig_array *maker_at(const maker *m, graph_ref r);

/* Adds a leaf; whole numbers from low to high, or reals between them. False if there is no room. */
bool maker_leaf(maker *m, ig_dtype d, ig_ints shape, double low, double high, graph_ref *out);
/* An existing result; the later ones more often. False if there is none. */
bool maker_pick(maker *m, graph_ref *out);
/* Calls op(x, k) for an int k, as a step of its own. False, without an error, if it is refused. */
bool maker_call(maker *m, const char *op, graph_ref x, int64_t k, graph_ref *out);
/* x in another shape, and its elements in order, as steps of their own. */
bool maker_reshape(maker *m, graph_ref x, ig_ints shape, graph_ref *out);
bool maker_sort(maker *m, graph_ref x, graph_ref *out);

/* ---- graph_fill.c ---- */

/* Gives the call a value for a parameter; false if none can be made up. */
bool fill_param(attempt *t, const ig_param *p);

#endif
