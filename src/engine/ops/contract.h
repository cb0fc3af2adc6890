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
 * i32 operands that were converted from bytes are multiplied as i8 (contract_bytes). Returns (b..., m..., n...),
 * contiguous. */
ig_array *contract_node(op_id op, ig_array *const x[2], contract_axes axes, ig_dtype dtype);

/* x (..., k) of f32 times w (n, k), transposed: (..., n) of f32. If w is f16 or bf16, x is rounded to that dtype; if w has blocks,
 * devices may round x to 8 bits, in groups with a scale. In math mode same, x is not rounded. */
ig_array *contract_rounded(ig_array *x, ig_array *w);

/* ---- products of bytes (contract_bytes.c) ---- */

/* True if x is bytes converted to i32, minus a zero point that varies along the first `rows` axes at most. */
bool contract_is_bytes(const ig_array *x, int rows);
/* The result of contract_node for two such operands. */
ig_array *contract_bytes(op_id op, ig_array *const x[2], contract_axes axes);

/* window_pad of x with zeros, as contract_bytes can use it if x is such an operand: the border is the zero point. */
struct windows;
ig_array *contract_pad(op_id op, ig_array *x, const struct windows *w);

#endif
