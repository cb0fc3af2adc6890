/* Loops and branches as nodes. A node has the kind of a kernel: its results belong together, its inputs are whole arrays,
 * and the engine calls a runner to compute it (node_kernel.runner).
 *
 *   ig_scan, ig_while, ig_switch -> loop_spec -> loop_build -> nodes that share one struct loop
 *
 * Inputs of a node:   [head] carries... xs... constants...
 * Inputs of a body:          carries... rows of xs... constants...
 * Results of a body:  scan: carries... rows of ys...     while: carries... more     switch: results...
 * Results of a node:  scan: carries... ys... saved...    while: carries...          switch: results...
 *
 * The head is the first value of `more` of a while loop, or the index of a switch. Constants are the arrays that a body
 * reads from outside. `saved` are, for each carry, its values before the first step and after each step: gradients read
 * them. A result that nothing reads takes no memory. */
#ifndef LOOPS_LOOPS_H
#define LOOPS_LOOPS_H

#include "engine/eval/run.h"
#include "ingot/loops.h"

typedef enum loop_kind {
    LOOP_SCAN,
    LOOP_WHILE,
    LOOP_SWITCH,
    LOOP_BACK /* what reverse mode asks of a while loop. It cannot be computed, but differentiated: see pull.c */
} loop_kind;

/* ---- bodies: body.c ---- */

/* The schedule of a body for one device and math mode. */
typedef struct body_plan {
    schedule *s; /* NULL: nothing to compute */
    run run;
    int *input;        /* for each leaf: the input of the body, or -1 */
    ig_array **number; /* for each leaf that is a number: the number, retained */
    int n_leaf;
    /* Of each result: the carry whose memory it is written over, or -1. Of each carry whose next value is not written over
     * a carry: the carry whose memory the next step may write. */
    int *over, *spare;
} body_plan;

/* A function of arrays: a graph over placeholders of its own. It refers to no array outside except numbers. */
typedef struct body {
    ig_array **in, **out; /* retained */
    int n_in, n_out;
} body;

/* Builds out, in which stand[i] replaces from[i]. All that it reads is among stand. in: the inputs, from stand. */
ig_status body_make(body *b, ig_array *const *in, int n_in, ig_array *const *from,
                    ig_array *const *stand, int n_from, ig_array *const *out, int n_out);
void body_free(body *b);

/* A list of words that describes what is computed. */
typedef struct word_list {
    uint64_t *at;
    int n, room;
} word_list;

bool word_list_add(word_list *w, const void *from, size_t bytes);
/* Adds the description of a body. The first n_donated inputs may be overwritten. */
ig_status body_describe(const body *b, int n_donated, word_list *w);
/* Plans a body; the lock is held. */
ig_status body_plan_make(const body *b, int n_donated, const backend *dev, ig_math math,
                         body_plan *out);
void body_plan_free(body_plan *p, const backend *dev);

/* ---- nodes: loop.c, hoist.c ---- */

typedef struct loop_result {
    ig_dtype dtype;
    int ndim;
    int64_t shape[IG_MAX_NDIM];
} loop_result;

typedef struct loop_plan {
    const backend *dev;
    ig_math math;
    body_plan *body; /* one for each body */
    int n_body;
    struct loop_plan *next;
} loop_plan;

typedef struct loop {
    node_kernel base;
    loop_kind kind;
    int64_t length; /* of a scan */
    bool reverse;
    int n_head, n_carry, n_x, n_const, n_out; /* n_out: ys of a scan, results of a switch */
    int n_body;
    body *body;
    loop_result *result;
    node_result *plain;   /* the results in the form that graphs use */
    loop_plan *plans;     /* guarded by the engine's lock */
    struct loop *forward; /* of LOOP_BACK: the loop; retained */
} loop;

/* A loop by example. in: the arrays that stand for carries, rows of xs and other inputs in the example; operand: the
 * arrays that the node gets for them, xs with one more leading axis. out: the results of each body in turn. */
typedef struct loop_spec {
    loop_kind kind;
    int64_t length;
    bool reverse;
    ig_array *head; /* or NULL */
    ig_array *const *in, *const *operand;
    int n_carry, n_x, n_given;
    ig_array *const *out;
    int n_body, n_out; /* n_out: results of one body */
} loop_spec;

/* Builds the node. Carries that no step changes, and rows that no step reads, are left out. results: carries, then ys or
 * the results of a switch. saved (may be NULL): for each carry. */
ig_status loop_build(const loop_spec *s, ig_array **results, ig_array **saved);

/* Moves products of rows out of the body of a scan: they become further xs of s, in lists, which the caller frees. */
ig_status loop_hoist(loop_spec *s, ig_array ***lists);

/* Result i of the node that `like` is a result of. */
ig_array *loop_result_node(const loop *l, int i, ig_array *const *in, int n_in, uint16_t copy);
loop *loop_new(loop_kind kind, int n_body, int n_result);
ig_status loop_finish(loop *l); /* sets name, label and key */
loop_result loop_result_of(const ig_array *x,
                           int64_t rows); /* rows: of one more leading axis; -1: none */

/* A placeholder on the device of x, with its shape and dtype. */
ig_array *loop_placeholder(const ig_array *x);

/* Marks the outputs that depend on some of the inputs of a body. */
ig_status body_depends(const body *b, const bool *in, bool *out);

/* Rows [first, first + n) of x along its first axis. */
ig_array *loop_rows(ig_array *x, int64_t first, int64_t n);

/* ---- run.c, pull.c, batch.c ---- */

extern const kernel_runner loop_runner;
/* Discards the plans of loops that no longer exist. The lock is held. */
void loop_sweep(void);
ig_status loop_pull(const node_kernel *k, ig_array *node, ig_array *const *g, const bool *needed,
                    ig_array **grads);
ig_array *loop_batched(const node_kernel *k, int result, ig_array *const *in);

#endif
