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

/* The loss reduced as `how` says, 'mean', 'sum' or 'none', rounded to dtype: a builder's result. */
int composite_reduced(op_id op, ig_array *loss, const char *how, ig_dtype dtype, ig_array **out);

/* The square root of y, where y >= 0 is a mean or a sum of squares. Its gradient is 0 where y is 0: there the root is
 * lowest. */
ig_array *composite_root(ig_array *y);

/* How places between elements are read. */
typedef enum sampling { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC } sampling;

/* Reads 'nearest', 'linear' or 'cubic', also as PyTorch calls them for 2 and 3 axes. */
ig_status composite_sampling(op_id op, const char *text, sampling *mode);

/* The weights of the 4 elements around a place that is t after the second of them: cubic interpolation with a = -0.75, as in
 * PyTorch. */
void composite_cubic(ig_array *t, ig_array *w[4]);

/* key itself if it is one random key; else NULL (random.c). */
ig_array *random_key(op_id op, ig_array *key);

#endif
