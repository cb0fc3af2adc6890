/* Formulas: expressions of elementwise ops that are one node of the graph. Optimizers build their update rule for every
 * parameter in every step, and building a node costs more than its op. Programs do not know formulas: a tape has an
 * instruction for each op, so the result has the bits of the separate ops.
 *
 * Gradients of activations are formulas for another reason: as one node, they are computed where the gradient of the result is.
 * Separate ops of x alone would be computed with the activation and stored in f32, several arrays for each layer.
 *
 * Inputs are f32 or f64 arrays of one shape and dtype, or numbers of that dtype. With a result in f32, arrays may also be f16 or
 * bf16. */
#ifndef OPS_FORMULA_H
#define OPS_FORMULA_H

#include "ingot.h"

typedef enum formula {
    FORMULA_DECAYED_SUM,     /* in[0] * in[1] + in[2] */
    FORMULA_DECAYED_SQUARES, /* in[0] * in[1] + square(in[2]) */
    FORMULA_ADAM,            /* in[0] - in[1] * in[3] / (sqrt(in[2]) + in[4]) */
    /* in[0]: the gradient of the result; in[1]: x; then constants */
    FORMULA_GELU_TANH_GRADIENT,
    FORMULA_GELU_GRADIENT,
    FORMULA_SILU_GRADIENT,
    /* Norms. g, x, mean, root, weight: g * weight * (x - mean) * root */
    FORMULA_NORM_ALONG,
    FORMULA_NORM_LEVEL, /* g, weight: g * weight */
    FORMULA_NORM_GRADIENT, /* g, x, mean, root, weight, the means of level and along: the gradient of x */
    FORMULAS
} formula;

enum { FORMULA_INPUTS = 7, FORMULA_OPS = 15 };

/* An op of a formula. Operands are numbered: first the inputs, then the results of the earlier ops. */
typedef struct formula_op {
    int op, a, b; /* b is -1 for an op of one operand */
} formula_op;

typedef struct formula_row {
    int n_in, n_ops;
    formula_op ops[FORMULA_OPS];
} formula_row;

extern const formula_row formula_rows[FORMULAS];

/* Builds the node; NULL if an input is NULL or has another shape or dtype. */
ig_array *build_formula(formula f, ig_array *const *in);

/* The same by separate ops, which have gradients; NULL on failure. */
ig_array *formula_by_ops(const ig_array *node);
/* The same for these inputs in a dtype, and the results of all ops. */
ig_array *formula_steps(formula f, ig_array *const *in, ig_dtype dtype, ig_array **steps);

#endif
