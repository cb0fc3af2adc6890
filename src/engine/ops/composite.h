/* Shared by composite ops: the float dtype in which they compute, and statistics along axes. */
#ifndef OPS_COMPOSITE_H
#define OPS_COMPOSITE_H

#include "engine/ops/builders.h"

/* Begins the builder of an op. */
#define BUILDER(name) \
    int op_##name(__attribute__((unused)) op_id op, const ig_arg *args, ig_array **out)

/* Converts n arrays to the dtype in which composites compute: f64 if their common dtype is f64, else f32.
 * *dtype is the result's: the common float dtype, or f32 for integers and bool. So f16 and bf16 are rounded
 * once, at the end. */
ig_status composite_floats(op_id op, ig_array **x, int n, ig_dtype *dtype);

/* Stores the result: y rounded to dtype. */
static inline int composite_result(ig_array **out, ig_array *y, ig_dtype dtype)
{
    return op_one(out, build_cast(y, dtype));
}

/* Number of elements of x that one result along axis combines; -1: failed. */
int64_t composite_length(op_id op, const ig_array *x, ig_ints axis);

/* The mean of x, which is f32 or f64, along axis, which is valid. */
ig_array *composite_mean(op_id op, ig_array *x, ig_ints axis, bool keepdims);

#endif
