/* Transforms: gradients, recomputation, mapping over an axis. */
#ifndef INGOT_GRAD_H
#define INGOT_GRAD_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gradients are lazy arrays, and can be differentiated again. They are derived from the recorded nodes, so
 * nothing has to be declared beforehand; see ig_keep_history for how long nodes are kept. */

/* Writes d loss / d params[i] to grads[i], in the shape of params[i]. loss is a float scalar; a
 * parameter that it does not depend on is an error. */
IG_API ig_status ig_grad(ig_array *loss, ig_array *const *params, int n, ig_array **grads);

/* The same, then evaluates loss and gradients in one run and writes the loss's value. */
IG_API ig_status ig_value_and_grad(ig_array *loss, ig_array *const *params, int n, double *value,
                                   ig_array **grads);

/* x as an input of its own: gradients by it, and mapping it, take nothing else that x is part of or used for. A view, or a copy
 * if x repeats elements (a broadcast): of those, gradients by x itself are found only where x is used as a whole. */
IG_API ig_array *ig_handle(ig_array *x);

/* Vector-Jacobian products: grads[i] is the sum over all outputs of cotangent * d output / d inputs[i].
 * It is zeros if no output depends on inputs[i]. */
IG_API ig_status ig_vjp(ig_array *const *outputs, ig_array *const *cotangents, int n_out,
                        ig_array *const *inputs, int n_in, ig_array **grads);

/* Computes the gradients of the n inputs from g, the gradient of out, and writes them to grads; NULL means
 * zero. */
typedef ig_status (*ig_pullback)(void *context, ig_array *const *inputs, int n, ig_array *out,
                                 ig_array *g, ig_array **grads);

/* Returns out with another gradient: rule computes its gradient with respect to inputs. release (may be
 * NULL) is called with context when rule is no longer needed, also on failure. */
IG_API ig_array *ig_custom_grad(ig_array *out, ig_array *const *inputs, int n, ig_pullback rule,
                                void *context, void (*release)(void *context));

/* out, a function of inputs. Its gradient recomputes the intermediate results instead of keeping them,
 * which saves memory and costs time. */
IG_API ig_array *ig_checkpoint(ig_array *out, ig_array *const *inputs, int n);

/* Writes to used[i] whether x is computed from inputs[i]. */
IG_API ig_status ig_depends(ig_array *x, ig_array *const *inputs, int n, bool *used);

/* Maps a function over an axis. The function is given by one example: outputs, computed from inputs.
 * results are its outputs for all slices of batched[i] along axes[i], stacked along a new first axis. If
 * axes[i] is negative, batched[i] has the shape of inputs[i] and is the same for all slices. */
IG_API ig_status ig_vmap(ig_array *const *outputs, int n_out, ig_array *const *inputs,
                         ig_array *const *batched, const int *axes, int n_in, ig_array **results);

#ifdef __cplusplus
}
#endif

#endif
