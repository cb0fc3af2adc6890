/* Loops and branches that run inside a computation. */
#ifndef INGOT_LOOPS_H
#define INGOT_LOOPS_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loop is one node of the graph. Its step is planned once and run again and again on the device, also inside ig_compile.
 * So a loop of a million steps takes no more memory than a loop of one, and each step has the bits that its ops have
 * outside of a loop.
 *
 * The step is given by one example: results, computed from arrays that stand for its inputs (ig_placeholder). It may read
 * any other array, too; that array is then the same in all steps. ig_vmap, ig_grad and all other transforms apply to loops. */

/* A loop over the first axis of arrays. */
typedef struct ig_scan_call {
    size_t size; /* sizeof(ig_scan_call) */
    /* The example: next, the carries after a step, and y, what the step returns, computed from carry, the carries before the
     * step, and x, one row of each array. next[i] has the shape and dtype of carry[i]. */
    ig_array *const *carry, *const *next;
    int n_carry;
    ig_array *const *x;
    int n_x;
    ig_array *const *y;
    int n_y;
    /* The call: the carries before the first step, and the arrays. xs[i] has the shape (length, shape of x[i]...). */
    ig_array *const *init, *const *xs;
    int64_t length; /* number of steps */
    bool reverse;   /* from the last row to the first */
} ig_scan_call;

/* Writes the carries after the last step to last, and the y of all steps, stacked along a new first axis, to ys. Gradients
 * run the steps in the opposite order. They keep the carries of all steps, and compute the rest of a step again. */
IG_API ig_status ig_scan(const ig_scan_call *call, ig_array **last, ig_array **ys);

/* Repeats a step as long as a condition holds. The example: more, a 0-d bool, and next, computed from carry. The call: the
 * carries before the first step. Writes the first carries for which more is false to last. The number of steps is not
 * known beforehand, so ig_grad and ig_vjp of a while loop cannot be evaluated. What they return can be differentiated
 * again, which gives derivatives along a direction: see jvp in docs/PYTHON.md. */
IG_API ig_status ig_while(ig_array *more, ig_array *const *carry, ig_array *const *next,
                          ig_array *const *init, int n_carry, ig_array **last);

/* Computes one of several branches. index: a 0-d integer; values outside [0, n_branch) count as the nearest one; or a 0-d
 * bool, for two branches. The example: outputs[b * n_out + i], result i of branch b, computed from in. The call: the arrays
 * for in. Arrays that do not depend on `in` are computed whatever the index is. */
IG_API ig_status ig_switch(ig_array *index, ig_array *const *in, ig_array *const *operands,
                           int n_in, ig_array *const *outputs, int n_branch, int n_out,
                           ig_array **results);

#ifdef __cplusplus
}
#endif

#endif
