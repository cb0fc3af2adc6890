/* Attention as one node, for devices with native code for it. */
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include "engine/ops/builders.h"

/* The definition: softmax(scale * query @ key^T) @ value, of f32 or f64 (nn.c). mask is bool, or NULL. */
ig_array *attention_plain(ig_array *const x[3], ig_array *mask, bool causal, double scale);

/* The node, if the device of x has native code for such operands; else NULL, without an error. x is query, key and
 * value; mask may be NULL. */
ig_array *attention_native(ig_array *const x[3], ig_array *mask, bool causal, double scale);

/* The same for softmax(scale * query @ key^T + bias) @ value. bias (NULL: none) has the axes of the scores, or length 1 in
 * place of leading axes. Unlike above, a row of -inf gives NaN. */
ig_array *attention_softmax(ig_array *const x[3], ig_array *bias, double scale);

#endif
