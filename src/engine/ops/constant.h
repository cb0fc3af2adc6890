/* Constants: 0-d numbers that ig_constant made. Elementwise ops of them are computed when they are built. */
#ifndef OPS_CONSTANT_H
#define OPS_CONSTANT_H

#include "engine/ops/ops.h"

/* Computes an elementwise row of one or two numbers in a dtype, if one of them is a constant, the other one is a constant or weak,
 * and the result is certain to have the bits of an evaluation. False: build the node. True: *out is the constant, NULL
 * on failure. */
bool constant_map(op_id op, ig_array *const x[2], ig_dtype dtype, ig_array **out);
/* The constant x in another dtype, if the conversion is exact or rounds as an evaluation does. The meaning of the result is that
 * of constant_map. */
bool constant_cast(ig_array *x, ig_dtype dtype, ig_array **out);

#endif
