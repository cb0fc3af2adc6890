/* Shared by the builders of contractions. Each consists of views around one node,
 *
 *   out[b, m, n] = sum over k of x[0][b, m, k] * x[1][b, n, k]
 *
 * where each of b, m, n and k is a group of axes of any strides. */
#ifndef OPS_CONTRACT_H
#define OPS_CONTRACT_H

#include "engine/ops/builders.h"

/* How many axes each group has. */
typedef struct contract_axes {
    int b, m, n, k;
} contract_axes;

/* Converts n arrays to their common dtype; bool is refused. Call it before broadcasting and making windows, which
 * a cast would materialize. */
ig_status contract_cast(op_id op, ig_array **x, int n);

/* The node: x[0] is (b..., m..., k...) and x[1] is (b..., n..., k...), of one dtype and of equal
 * lengths in b and k. dtype is theirs, or f32 for f16 and bf16, so that a caller with further ops rounds once.
 * i32 operands that were converted from i8 are passed as i8, because processors have instructions that sum
 * products of bytes in i32. Returns (b..., m..., n...), contiguous. */
ig_array *contract_node(op_id op, ig_array *const x[2], contract_axes axes, ig_dtype dtype);

#endif
