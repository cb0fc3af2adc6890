/* Reverse-mode derivatives. From g, the gradient of a node's result, a rule builds the gradient of input i.
 * Rules are written in ops, so gradients are lazy, are fused, and can be differentiated again. */
#ifndef OPS_GRAD_H
#define OPS_GRAD_H

#include "engine/ops/ops.h"

/* The arguments of a rule. */
typedef struct pull {
    ig_array *node;
    ig_array *g; /* has the shape of node */
    view seen; /* the elements of the input's root that the gradient belongs to: initially all that
                * the node reads; a rule may choose others */
} pull;

/* The gradient of node->in[i], in the shape of p->seen; NULL without an error means zero. */
typedef ig_array *(*grad_rule)(pull *p, int i);

/* The rule of a node's row; NULL if the row has no derivative. */
grad_rule grad_rule_of(const ig_array *node);

/* g is the gradient of x seen through v, a view of x's root. Returns it in the shape of the root: elements that
 * are read more than once add up, elements that are not read are zero. x tells how the view was made. */
ig_array *grad_through_view(ig_array *g, const ig_array *x, const view *v);

/* x stored at the positions v of a row-major array of root's shape, which is zero elsewhere. v is injective
 * except for strides of 0, along which x is summed. */
ig_array *grad_place(ig_array *x, const view *v, const view *root);

/* a + b, gradients of one array. Gradients of slices that do not overlap become one assembly, without an addition. */
ig_array *grad_sum(ig_array *a, ig_array *b);

/* The elements of x at the row-major positions that `at` selects. */
ig_array *grad_see(ig_array *x, const view *at);

/* For the rule of an op: the gradients of y, the op's definition, with respect to each of the op's inputs. Unlike in ig_vjp,
 * an input is independent of the others: if one is computed from another, the rule's caller follows that path. An input that
 * occurs again gets NULL there, which means zero. in: all inputs that are floats. */
ig_status grad_of_definition(ig_array *y, ig_array *g, ig_array *const *in, int n,
                             ig_array **grads);

/* A copy of the node x with the inputs in and a result of that dtype. */
ig_array *replay_node(const ig_array *x, ig_dtype dtype, ig_array *const *in);

/* The outputs with some inputs replaced by arrays of the same shapes and dtypes. */
ig_status replay_with(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                      ig_array *const *others, int n_in, ig_array **results);

#endif
