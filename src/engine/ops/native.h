/* Nodes that code of the device itself computes, where the device offers them: see node_native in
 * array/array.h. Each has a definition by other ops, which gives its gradient and checks it. */
#ifndef OPS_NATIVE_H
#define OPS_NATIVE_H

#include "engine/ops/builders.h"

enum { NATIVE_RESULTS = 3, NATIVE_INPUTS = 6 };

/* A result: its dtype and shape. */
typedef struct native_shape {
    ig_dtype dtype;
    int ndim;
    const int64_t *shape;
} native_shape;

/* True if the device of x has code for the node, and the math mode of the calling thread allows another order
 * of additions than the CPU's. */
bool native_is_offered(const ig_array *x, const node_native *n);

/* The results of the node. Equal nodes with the same inputs are computed once. pull (may be NULL) is the
 * gradient of the first result; others, and all without it, have that of the definition. */
ig_status native_apply(const node_native *n, ig_array *const *in, int n_in,
                       const native_shape *shapes, int n_result, ig_pullback pull, ig_array **out);

/* For people: "attention". */
const char *native_name(native_kind kind);

/* The node that pull's context belongs to. */
const node_native *native_of(const void *context);

#endif
