/* The executor: frames of running graphs, and the calls of their nodes.
 *
 * A frame holds the values of one graph by slot. The body of If, Loop or Scan runs in its own frame, whose outer frame
 * runs the enclosing graph. The body of a model's function runs in a frame whose outer frame runs the caller.
 */
#ifndef ONNX_RUN_H
#define ONNX_RUN_H

#include "lib/onnx/op.h"
#include "lib/onnx/session.h"

enum { RUN_DEVICE = 64, RUN_DEPTH = 64 /* frames of nested graphs and functions */ };

struct onnx_frame;

typedef struct onnx_run {
    ig_onnx *m;
    char device[RUN_DEVICE]; /* of the model's inputs and large tensors */
    bool changes;            /* a second run with the same inputs may have other results */
    bool lazy;               /* the caller may differentiate the graph */
    bool eager;              /* loops may evaluate what they carry */
    int depth;
    bool scoped; /* each node of the model's graph, with its watcher, has a scope */
    /* Called after each node, if not NULL. It may replace results. False after an error. */
    bool (*watch)(void *context, struct onnx_frame *f, const onnx_node *node);
    void *watch_context;
} onnx_run;

typedef struct onnx_frame {
    onnx_run *run;
    const onnx_graph *graph;
    ig_onnx_value **slots;
    struct onnx_frame *outer;
    /* In the body of a function, or a graph inside it: */
    struct onnx_frame *home; /* the frame of the body */
    const onnx_function *function;
    const onnx_node *caller; /* a node of home->outer */
    const onnx_opset *opsets;
    int n_opsets;
} onnx_frame;

struct onnx_call {
    onnx_frame *frame;
    const onnx_node *node;
    const onnx_op *op;
    int64_t version;
    const char *device; /* of its inputs and results */
    bool varies;        /* it has looked at elements that depend on the model's inputs */
    bool failed;        /* the pending error names a node */
    uint64_t asked;     /* bit i: attribute i of the node was looked at */
    ig_onnx_value **results;
    struct room *rooms;
};

/* Runs all nodes of a graph with the given inputs. Writes one value for each output; the caller releases them. False
 * after an error. */
bool frame_run(onnx_frame *f, ig_onnx_value *const *inputs, int n, ig_onnx_value **outputs);

/* Builds the graph of the model on the inputs, on the current device. */
bool model_apply(onnx_run *r, ig_onnx_value *const *inputs, ig_onnx_value **outputs);
/* ig_onnx_apply with a function that is called after each node (onnx_run.watch). */
ig_status run_watched(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs,
                      bool (*watch)(void *context, struct onnx_frame *f, const onnx_node *node),
                      void *context);
/* Evaluates all arrays of the values, together. */
ig_status values_eval(ig_onnx_value *const *values, int n);

/* The value of a tensor in a file, made on device "cpu". The caller releases it. */
ig_onnx_value *run_tensor(onnx_run *r, const onnx_tensor *t);
ig_onnx_value *run_sparse(onnx_run *r, const onnx_sparse *s);

/* An attribute of a node; NULL if it is absent. References of functions are resolved. */
const onnx_attribute *frame_attribute(const onnx_frame *f, const onnx_node *n, const char *name);

void call_free(onnx_call *c);

/* plan.c: runs the model by a plan for inputs of these shapes, which it makes if there is none. False if no plan can run
 * it; nothing is written then, and no error is pending. */
bool plan_run(ig_onnx *m, ig_onnx_value *const *inputs, ig_onnx_value **outputs, ig_status *status);
void plans_drop(ig_onnx *m);
/* The description of the plan for inputs of these shapes (release with ig_free). NULL if there is none; no error is
 * pending. */
char *plan_explain(ig_onnx *m, ig_onnx_value *const *inputs);

#endif
