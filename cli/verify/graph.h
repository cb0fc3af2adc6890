/* Random graphs for `ingot verify --graphs`. A graph is data, so it can be built on any device, printed as a program of
 * the calculator, and shrunk.
 *
 * A graph is a list of steps. Each step is a leaf (data), a call of an op, or a gradient, and has one or more results.
 * A step refers only to results of earlier steps. The same seed and number always give the same graph. */
#ifndef CLI_VERIFY_GRAPH_H
#define CLI_VERIFY_GRAPH_H

#include "verify/plan.h"

enum {
    GRAPH_STEPS = 96,
    GRAPH_RESULTS = 8, /* per step */
    GRAPH_ARGS = 10,
    GRAPH_REFS = 4, /* arrays per argument */
    GRAPH_INTS = 16,
    GRAPH_OUTPUTS = 12,
    TABLE_MOST = 13,
    GRAPH_WHY = 160
};

/* A result of a step. */
typedef struct graph_ref {
    int step, result;
} graph_ref;

/* Element i is table[(i * factor + 1) % n_table]. */
typedef struct graph_leaf {
    bool is_number;  /* a number without a dtype: table[0] */
    bool is_donated; /* in evaluations that may overwrite arrays */
    ig_dtype dtype;
    int ndim;
    int64_t shape[MAX_AXES];
    int n_table, factor;
    double table[TABLE_MOST];
} graph_leaf;

typedef struct graph_arg {
    const ig_param *param;
    ig_kind kind;
    int n_ref;
    graph_ref ref[GRAPH_REFS]; /* IG_ARG_ARRAY: only the first */
    int64_t i;
    double f;
    bool b;
    int n_ints;
    int64_t ints[GRAPH_INTS];
    ig_dtype dtype;
    const char *str; /* static */
} graph_arg;

typedef enum step_kind {
    STEP_LEAF,
    STEP_CALL,
    STEP_GRAD /* of sum(arg[0]) with respect to the arrays of arg[1] */
} step_kind;

typedef struct graph_step {
    step_kind kind;
    graph_leaf leaf;
    const ig_op *op;
    int n_arg, n_result;
    graph_arg arg[GRAPH_ARGS];
} graph_step;

typedef struct graph {
    int n_step, n_output;
    graph_ref output[GRAPH_OUTPUTS];
    int64_t number;
    bool in_blocks; /* leaves are read block by block */
    graph_step step[GRAPH_STEPS];
} graph;

/* The arrays of a built graph. */
typedef struct graph_arrays {
    ig_array *at[GRAPH_STEPS][GRAPH_RESULTS];
} graph_arrays;

/* ---- graph.c ---- */

/* Builds step k on the current device, lazily, in the innermost scope. Sets its n_result. On failure returns false,
 * with the library's error set. */
bool graph_build_step(graph *g, int k, graph_arrays *a);
bool graph_build(graph *g, graph_arrays *a);
/* Builds the graph and returns the number of its outputs; 0 on failure, with the library's error set. */
int graph_outputs(graph *g, graph_arrays *a, ig_array *out[GRAPH_OUTPUTS]);
/* Removes steps that no output needs. */
void graph_prune(graph *g);
/* The number of ops: calls and gradients. */
int graph_ops(const graph *g);
/* Prints the graph as a program of `ingot eval`. */
void graph_print(const graph *g, str *t);

/* ---- graph_make.c ---- */

/* Makes the graph with that number. The current device becomes "cpu". */
void graph_make(graph *g, uint64_t seed, int64_t number);
/* True if graphs can have the op; else why its calls were refused. */
bool graph_draws(const ig_op *op, uint64_t seed, char why[GRAPH_WHY]);

/* ---- graph_shrink.c ---- */

/* True if the graph still fails in the same way. */
typedef bool (*graph_fails)(void *context, graph *g);
/* Shrinks g, which fails, as long as it still fails. `stop` ends it early. */
void graph_shrink(graph *g, graph_fails fails, bool (*stop)(void), void *context);

#endif
