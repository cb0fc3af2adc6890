/* Reverse-mode derivatives. From g, the gradient of a node's result, a rule builds the gradient of input i.
 * Rules are written in ops, so gradients are lazy, are fused, and can be differentiated again. */
#ifndef OPS_GRAD_H
#define OPS_GRAD_H

#include "engine/ops/ops.h"

/* The question that a rule answers. */
typedef struct pull {
    ig_array *node;
    ig_array *g; /* in the shape of node */
    view seen;   /* the elements of the input's root that the answer belongs to: at first all that
                  * the node reads; a rule may name others */
} pull;

/* The gradient of node->in[i], in the shape of p->seen; NULL without an error: it is zero. */
typedef ig_array *(*grad_rule)(pull *p, int i);

/* The rule of a node's row; NULL if the row has no derivative. */
grad_rule grad_rule_of(const ig_array *node);

/* g, the gradient of x seen through v, a view of x's root, brought to the shape of the root: what is
 * read more than once adds up, what is not read is zero. x says how the view was made. */
ig_array *grad_through_view(ig_array *g, const ig_array *x, const view *v);

/* x put to the places v of a row-major array of root's shape, where all else is zero; v is injective,
 * but for strides of 0, along which x adds up. */
ig_array *grad_place(ig_array *x, const view *v, const view *root);

/* The elements of x that `at` names by their row-major places. */
ig_array *grad_see(ig_array *x, const view *at);

/* The node x again, with other inputs in the places of its own and a result of that dtype. */
ig_array *replay_node(const ig_array *x, ig_dtype dtype, ig_array *const *in);

/* What outputs would be if others stood in the places of inputs; theirs are the shapes and dtypes. */
ig_status replay_with(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                      ig_array *const *others, int n_in, ig_array **results);

#endif
