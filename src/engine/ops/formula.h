/* Formulas: expressions of elementwise ops that are one node of the graph. An update rule is built for every parameter in
 * every step, and a node costs more than the op on it. Programs do not know formulas: a tape has an instruction for each
 * op, and the result has the bits of the ops one by one.
 *
 * A formula has no gradient. Its inputs are f32 or f64 arrays of one shape and dtype, or numbers of that dtype. */
#ifndef OPS_FORMULA_H
#define OPS_FORMULA_H

#include "ingot.h"

typedef enum formula {
    FORMULA_DECAYED_SUM,     /* in[0] * in[1] + in[2] */
    FORMULA_DECAYED_SQUARES, /* in[0] * in[1] + square(in[2]) */
    FORMULA_ADAM,            /* in[0] - in[1] * in[3] / (sqrt(in[2]) + in[4]) */
    FORMULAS
} formula;

enum { FORMULA_INPUTS = 5, FORMULA_OPS = 5 };

/* An op of a formula. Operands are inputs, and then the results of the ops before. */
typedef struct formula_op {
    int op, a, b; /* b is -1 for an op of one operand */
} formula_op;

typedef struct formula_row {
    int n_in, n_ops;
    formula_op ops[FORMULA_OPS];
} formula_row;

extern const formula_row formula_rows[FORMULAS];

/* NULL if an input is NULL or does not fit. */
ig_array *build_formula(formula f, ig_array *const *in);

#endif
