/* Shared by composite ops: the float dtype in which they compute, and statistics along axes. */
#ifndef OPS_COMPOSITE_H
#define OPS_COMPOSITE_H

#include "engine/ops/builders.h"

/* Brings n arrays to the dtype in which composites compute: f64 where the arrays meet in it, else
 * f32. *dtype is the result's: the float dtype in which they meet, f32 for integers and bool. So f16
 * and bf16 round once, at the end. */
ig_status composite_floats(op_id op, ig_array **x, int n, ig_dtype *dtype);

/* The result: y rounded to dtype. */
static inline int composite_result(ig_array **out, ig_array *y, ig_dtype dtype)
{
    return op_one(out, build_cast(y, dtype));
}

/* How many elements of x one result along axis has; -1: failed. */
int64_t composite_length(op_id op, const ig_array *x, ig_ints axis);

/* Of x, which is f32 or f64, along axis, which is valid. */
ig_array *composite_mean(op_id op, ig_array *x, ig_ints axis, bool keepdims);
/* x less its mean. */
ig_array *composite_centre(op_id op, ig_array *x, ig_ints axis);
/* The variance of x, given composite_centre(x). */
ig_array *composite_variance(op_id op, ig_array *centred, ig_ints axis, double correction,
                             bool keepdims);

#endif
