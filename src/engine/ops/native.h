/* Nodes that native code of the device computes, if the device offers them.
 * Each has a definition by other ops, from which its gradient follows, and with which checks compare it. */
#ifndef OPS_NATIVE_H
#define OPS_NATIVE_H

#include "engine/ops/builders.h"
#include "engine/ops/native_node.h"

enum { NATIVE_RESULTS = 5, NATIVE_INPUTS = 6 };

/* A result: its dtype and shape, and the input, counted from 1, that it begins as a copy of; 0: undefined. */
typedef struct native_shape {
    ig_dtype dtype;
    int ndim;
    const int64_t *shape;
    int from;
} native_shape;

/* True if the device of x has native code for the node, and the math mode of the calling thread allows an order of
 * additions that differs from the CPU's. */
bool native_is_offered(const ig_array *x, const node_native *n);

/* Builds the results of the node. Equal nodes with the same inputs are computed once. rule (may be NULL) is the
 * gradient of the first result. Without it, and for all other floats, the definition gives the gradient. */
ig_status native_apply(const node_native *n, ig_array *const *in, int n_in,
                       const native_shape *shapes, int n_result, ig_pullback rule, ig_array **out);

/* The axis of the channels in the result of a convolution. */
int native_channels(const node_native *n);

/* True if a convolution adds a bias itself. */
bool native_has_bias(const node_native *n);
/* relu(the node `from`, a convolution, with the bias (K,), plus z). bias is NULL if the node has one; z, like the result, may
 * be NULL. NULL, without an error, if the device has no code for that. */
ig_array *native_convolution_relu(const ig_array *from, ig_array *bias, ig_array *z);

/* A name for messages: "attention". */
const char *native_name(native_kind kind);

/* The node that belongs to the context of a pull function. */
const node_native *native_of(const void *context);

#endif
