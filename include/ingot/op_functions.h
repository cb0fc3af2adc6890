/* Every op as a function, made by `make docs` from the rows of src/engine/ops/ops.def.
 *
 * An argument that is None in a comment is not given: NULL for an array or a string, IG_NONE for a list of
 * integers or an axis, IG_DTYPE_NONE for a dtype, 0 for a float, a number below 0 for an integer. It then has
 * the default of the signature in docs/ops.md. Functions return NULL on failure, and pass on NULL that a failed
 * call returned. Functions with out write several results there and return their number; 0 on failure. */
#ifndef INGOT_OP_FUNCTIONS_H
#define INGOT_OP_FUNCTIONS_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elementwise, one input ----------------------------------------------------------------- */

/* Any shape; integers are converted to f32 where the op needs a float. */

/* Absolute value. */
IG_API ig_array *ig_abs(ig_array *x);
/* Inverse cosine. */
IG_API ig_array *ig_acos(ig_array *x);
/* Inverse hyperbolic cosine. */
IG_API ig_array *ig_acosh(ig_array *x);
/* Inverse sine. */
IG_API ig_array *ig_asin(ig_array *x);
/* Inverse hyperbolic sine. */
IG_API ig_array *ig_asinh(ig_array *x);
/* Inverse tangent. */
IG_API ig_array *ig_atan(ig_array *x);
/* Inverse hyperbolic tangent. */
IG_API ig_array *ig_atanh(ig_array *x);
/* Each bit flipped; for bool, not. */
IG_API ig_array *ig_bitwise_invert(ig_array *x);
/* Rounded up; integers unchanged. */
IG_API ig_array *ig_ceil(ig_array *x);
/* Cosine. */
IG_API ig_array *ig_cos(ig_array *x);
/* Hyperbolic cosine. */
IG_API ig_array *ig_cosh(ig_array *x);
/* Error function. */
IG_API ig_array *ig_erf(ig_array *x);
/* Inverse error function. */
IG_API ig_array *ig_erfinv(ig_array *x);
/* e to the power x. */
IG_API ig_array *ig_exp(ig_array *x);
/* 2 to the power x. */
IG_API ig_array *ig_exp2(ig_array *x);
/* exp(x) - 1, exact near 0. */
IG_API ig_array *ig_expm1(ig_array *x);
/* Rounded down; integers unchanged. */
IG_API ig_array *ig_floor(ig_array *x);
/* x * Phi(x): gelu by erf. */
IG_API ig_array *ig_gelu_erf(ig_array *x);
/* bool: neither infinite nor NaN. */
IG_API ig_array *ig_isfinite(ig_array *x);
/* bool: infinite. */
IG_API ig_array *ig_isinf(ig_array *x);
/* bool: not a number. */
IG_API ig_array *ig_isnan(ig_array *x);
/* Natural logarithm. */
IG_API ig_array *ig_log(ig_array *x);
/* Logarithm to base 10. */
IG_API ig_array *ig_log10(ig_array *x);
/* log(1 + x), exact near 0. */
IG_API ig_array *ig_log1p(ig_array *x);
/* Logarithm to base 2. */
IG_API ig_array *ig_log2(ig_array *x);
/* bool: x is zero or false. */
IG_API ig_array *ig_logical_not(ig_array *x);
/* -x; integers wrap. */
IG_API ig_array *ig_negative(ig_array *x);
/* +x. */
IG_API ig_array *ig_positive(ig_array *x);
/* 1 / x. */
IG_API ig_array *ig_reciprocal(ig_array *x);
/* Rounded to the nearest integer, halves to even; integers unchanged. */
IG_API ig_array *ig_round(ig_array *x);
/* 1 / sqrt(x). */
IG_API ig_array *ig_rsqrt(ig_array *x);
/* 1 / (1 + exp(-x)). */
IG_API ig_array *ig_sigmoid(ig_array *x);
/* -1, 0 or 1; NaN for NaN. */
IG_API ig_array *ig_sign(ig_array *x);
/* bool: the sign bit is set, also of -0.0. */
IG_API ig_array *ig_signbit(ig_array *x);
/* Sine, accurate for any argument. */
IG_API ig_array *ig_sin(ig_array *x);
/* Hyperbolic sine. */
IG_API ig_array *ig_sinh(ig_array *x);
/* Square root, correctly rounded. */
IG_API ig_array *ig_sqrt(ig_array *x);
/* x * x. */
IG_API ig_array *ig_square(ig_array *x);
/* Tangent. */
IG_API ig_array *ig_tan(ig_array *x);
/* Hyperbolic tangent. */
IG_API ig_array *ig_tanh(ig_array *x);
/* Rounded towards 0; integers unchanged. */
IG_API ig_array *ig_trunc(ig_array *x);

/* ---- elementwise, two inputs ---------------------------------------------------------------- */

/* Shapes broadcast, dtypes promote (ig_promote). */

/* x1 + x2. */
IG_API ig_array *ig_add(ig_array *x1, ig_array *x2);
/* The angle of the point (x2, x1), in [-pi, pi]. */
IG_API ig_array *ig_atan2(ig_array *x1, ig_array *x2);
/* Bitwise and. */
IG_API ig_array *ig_bitwise_and(ig_array *x1, ig_array *x2);
/* x1 << x2; 0 if x2 is negative or not below the width. */
IG_API ig_array *ig_bitwise_left_shift(ig_array *x1, ig_array *x2);
/* Bitwise or. */
IG_API ig_array *ig_bitwise_or(ig_array *x1, ig_array *x2);
/* x1 >> x2, sign kept; 0 or -1 if x2 is not below the width. */
IG_API ig_array *ig_bitwise_right_shift(ig_array *x1, ig_array *x2);
/* Bitwise exclusive or. */
IG_API ig_array *ig_bitwise_xor(ig_array *x1, ig_array *x2);
/* x1 with the sign of x2. */
IG_API ig_array *ig_copysign(ig_array *x1, ig_array *x2);
/* x1 / x2, always in floating point. */
IG_API ig_array *ig_divide(ig_array *x1, ig_array *x2);
/* bool: x1 == x2. */
IG_API ig_array *ig_equal(ig_array *x1, ig_array *x2);
/* floor(x1 / x2); an integer by 0 gives 0. */
IG_API ig_array *ig_floor_divide(ig_array *x1, ig_array *x2);
/* bool: x1 > x2. */
IG_API ig_array *ig_greater(ig_array *x1, ig_array *x2);
/* bool: x1 >= x2. */
IG_API ig_array *ig_greater_equal(ig_array *x1, ig_array *x2);
/* sqrt(x1**2 + x2**2) without overflow. */
IG_API ig_array *ig_hypot(ig_array *x1, ig_array *x2);
/* bool: x1 < x2. */
IG_API ig_array *ig_less(ig_array *x1, ig_array *x2);
/* bool: x1 <= x2. */
IG_API ig_array *ig_less_equal(ig_array *x1, ig_array *x2);
/* log(exp(x1) + exp(x2)) without overflow. */
IG_API ig_array *ig_logaddexp(ig_array *x1, ig_array *x2);
/* bool: both. */
IG_API ig_array *ig_logical_and(ig_array *x1, ig_array *x2);
/* bool: either. */
IG_API ig_array *ig_logical_or(ig_array *x1, ig_array *x2);
/* bool: one of them only. */
IG_API ig_array *ig_logical_xor(ig_array *x1, ig_array *x2);
/* The larger; NaN if either is NaN. */
IG_API ig_array *ig_maximum(ig_array *x1, ig_array *x2);
/* The smaller; NaN if either is NaN. */
IG_API ig_array *ig_minimum(ig_array *x1, ig_array *x2);
/* x1 * x2; integers wrap. */
IG_API ig_array *ig_multiply(ig_array *x1, ig_array *x2);
/* The next float after x1 towards x2. */
IG_API ig_array *ig_nextafter(ig_array *x1, ig_array *x2);
/* bool: x1 != x2. */
IG_API ig_array *ig_not_equal(ig_array *x1, ig_array *x2);
/* x1 to the power x2. Integers wrap, and a negative integer power rounds towards 0. */
IG_API ig_array *ig_pow(ig_array *x1, ig_array *x2);
/* x1 - x2 * floor(x1 / x2), with the sign of x2; an integer by 0 gives 0. */
IG_API ig_array *ig_remainder(ig_array *x1, ig_array *x2);
/* x1 - x2. */
IG_API ig_array *ig_subtract(ig_array *x1, ig_array *x2);

/* ---- elementwise, more ---------------------------------------------------------------------- */

/* x1 where condition is true, else x2; all three broadcast. */
IG_API ig_array *ig_where(ig_array *condition, ig_array *x1, ig_array *x2);
/* x kept within [min, max]; either bound may be None. */
IG_API ig_array *ig_clip(ig_array *x, ig_array *min, ig_array *max);
/* x converted to dtype. Float to integer rounds towards 0 and saturates, NaN gives 0; integer to
 * narrower integer wraps; anything to bool is x != 0. */
IG_API ig_array *ig_astype(ig_array *x, ig_dtype dtype);

/* ---- reduce --------------------------------------------------------------------------------- */

/* Axis None means all axes. Reduced axes are removed, or kept with length 1 if keepdims. */

/* The sum; of floats of one sign within 1 ulp. Integers and bool are summed in i64 (unsigned in
 * u64) unless dtype is given. */
IG_API ig_array *ig_sum(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims);
/* The product; dtype as for sum. */
IG_API ig_array *ig_prod(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims);
/* The largest element; NaN if there is one. Fails over an axis of length 0. */
IG_API ig_array *ig_max(ig_array *x, ig_ints axis, bool keepdims);
/* The smallest element; NaN if there is one. Fails over an axis of length 0. */
IG_API ig_array *ig_min(ig_array *x, ig_ints axis, bool keepdims);
/* bool: all elements are true (not zero); true if there are none. */
IG_API ig_array *ig_all(ig_array *x, ig_ints axis, bool keepdims);
/* bool: any element is true (not zero); false if there are none. */
IG_API ig_array *ig_any(ig_array *x, ig_ints axis, bool keepdims);
/* i64 index of the first largest element, or of the first NaN. axis None: the index in the
 * flattened x. */
IG_API ig_array *ig_argmax(ig_array *x, ig_ints axis, bool keepdims);
/* i64 index of the first smallest element, or of the first NaN. axis None: the index in the
 * flattened x. */
IG_API ig_array *ig_argmin(ig_array *x, ig_ints axis, bool keepdims);
/* i64: the number of elements that are not zero. */
IG_API ig_array *ig_count_nonzero(ig_array *x, ig_ints axis, bool keepdims);
/* log(sum(exp(x))) without overflow. */
IG_API ig_array *ig_logsumexp(ig_array *x, ig_ints axis, bool keepdims);
/* The mean; f16 and bf16 are summed in f32. */
IG_API ig_array *ig_mean(ig_array *x, ig_ints axis, bool keepdims);
/* The standard deviation; n - correction is the divisor. */
IG_API ig_array *ig_std(ig_array *x, ig_ints axis, double correction, bool keepdims);
/* The variance, in two passes; n - correction is the divisor. */
IG_API ig_array *ig_var(ig_array *x, ig_ints axis, double correction, bool keepdims);
/* Running sums along axis; None only for 1-d x. include_initial prepends a 0. */
IG_API ig_array *ig_cumulative_sum(ig_array *x, ig_ints axis, ig_dtype dtype, bool include_initial);
/* Running products along axis; None only for 1-d x. include_initial prepends a 1. */
IG_API ig_array *ig_cumulative_prod(ig_array *x, ig_ints axis, ig_dtype dtype,
                                    bool include_initial);
/* Running maximum; NaN from the first NaN on. */
IG_API ig_array *ig_cumulative_max(ig_array *x, ig_ints axis);
/* Running minimum; NaN from the first NaN on. */
IG_API ig_array *ig_cumulative_min(ig_array *x, ig_ints axis);
/* Differences of neighbours along axis, n times; prepend and append are joined to x first. */
IG_API ig_array *ig_diff(ig_array *x, int axis, int n, ig_array *prepend, ig_array *append);

/* ---- move ----------------------------------------------------------------------------------- */

/* The result is a view where strides can express it; a view does not copy. */

/* x repeated to shape, as a view. */
IG_API ig_array *ig_broadcast_to(ig_array *x, ig_ints shape);
/* The arrays broadcast against each other, as views. */
IG_API int ig_broadcast_arrays(ig_array *const *arrays, int n, ig_array **out);
/* arrays joined along axis; None flattens first. */
IG_API ig_array *ig_concat(ig_array *const *arrays, int n, ig_ints axis);
/* The diagonal of the last two axes, as a view. */
IG_API ig_array *ig_diagonal(ig_array *x, int64_t offset);
/* x with new axes of length 1 at these positions of the result, as a view. */
IG_API ig_array *ig_expand_dims(ig_array *x, ig_ints axis);
/* The elements reversed along axis, as a view. */
IG_API ig_array *ig_flip(ig_array *x, ig_ints axis);
/* The last two axes swapped, as a view. */
IG_API ig_array *ig_matrix_transpose(ig_array *x);
/* Coordinate grids of 1-d arrays, indexing 'xy' or 'ij'. */
IG_API int ig_meshgrid(ig_array *const *arrays, int n, const char *indexing, ig_array **out);
/* Axes moved, as a view. */
IG_API ig_array *ig_moveaxis(ig_array *x, ig_ints source, ig_ints destination);
/* x with a border: constant (value), edge or reflect. pad_width is (before, after) for each axis,
 * or one pair or number for all. */
IG_API ig_array *ig_pad(ig_array *x, ig_ints pad_width, const char *mode, ig_array *value);
/* The axes in the given order, as a view. */
IG_API ig_array *ig_permute_dims(ig_array *x, ig_ints axes);
/* Each element repeated; axis None flattens. repeats is one integer, or one for each element of
 * axis, which evaluates it. */
IG_API ig_array *ig_repeat(ig_array *x, ig_array *repeats, ig_ints axis);
/* The same elements in row-major order in another shape; -1 is worked out. A view where strides
 * allow it. */
IG_API ig_array *ig_reshape(ig_array *x, ig_ints shape);
/* Elements shifted along axis, circularly; None shifts the flattened x. */
IG_API ig_array *ig_roll(ig_array *x, ig_ints shift, ig_ints axis);
/* x[start:stop:step] of the leading axes, as a view. Python's rules: a negative number counts from
 * the end, bounds are clipped; INT64_MAX and INT64_MIN are 'to the very end'. */
IG_API ig_array *ig_slice(ig_array *x, ig_ints start, ig_ints stop, ig_ints step);
/* A copy of x with update written to x[start::step] of the leading axes. */
IG_API ig_array *ig_slice_update(ig_array *x, ig_array *update, ig_ints start, ig_ints step);
/* x cut into equal parts (one number) or before each index, as views; of a random key: that many
 * new keys. */
IG_API int ig_split(ig_array *x, ig_ints indices_or_sections, int axis, ig_array **out,
                    int max_out);
/* x without these axes, which have length 1, as a view. */
IG_API ig_array *ig_squeeze(ig_array *x, ig_ints axis);
/* arrays of one shape joined along a new axis. */
IG_API ig_array *ig_stack(ig_array *const *arrays, int n, int axis);
/* x repeated as a whole along each axis. */
IG_API ig_array *ig_tile(ig_array *x, ig_ints repetitions);
/* x cut into arrays without that axis, as views. */
IG_API int ig_unstack(ig_array *x, int axis, ig_array **out, int max_out);

/* ---- index ---------------------------------------------------------------------------------- */

/* Negative indices count from the end. An index that is out of bounds is an error of the
 * evaluation. */

/* out[i, j] = x[indices[i, j], j] for axis 0. indices has as many axes as x; except along axis, it
 * is not longer than x. */
IG_API ig_array *ig_gather(ig_array *x, ig_array *indices, int axis);
/* bool: which elements of x1 are in x2. */
IG_API ig_array *ig_isin(ig_array *x1, ig_array *x2, bool invert);
/* The elements (or slices) of x where the bool mask, which matches x's leading axes, is true;
 * evaluates mask. */
IG_API ig_array *ig_mask_select(ig_array *x, ig_array *mask);
/* i64 indices of the elements that are not zero, one array for each axis; evaluates x. */
IG_API int ig_nonzero(ig_array *x, ig_array **out, int max_out);
/* 1 at index x along a new last axis, else 0; an index out of range gives zeros. The default dtype
 * is f32. */
IG_API ig_array *ig_one_hot(ig_array *x, int64_t num_classes, ig_dtype dtype);
/* i64 indices that sort x along axis; always stable, NaN last. */
IG_API ig_array *ig_argsort(ig_array *x, int axis, bool descending, bool stable);
/* x with out[indices[i, j], j] = updates[i, j] for axis 0; of several writes to an element the last
 * wins. */
IG_API ig_array *ig_scatter(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* x with out[indices[i, j], j] += updates[i, j] for axis 0, in row-major order of updates. */
IG_API ig_array *ig_scatter_add(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* i64 positions where x2 would be inserted into the sorted 1-d x1, before (side 'left') or after
 * ('right') equal elements. sorter sorts x1 first. */
IG_API ig_array *ig_searchsorted(ig_array *x1, ig_array *x2, const char *side, ig_array *sorter);
/* x sorted along axis; always stable, NaN last. */
IG_API ig_array *ig_sort(ig_array *x, int axis, bool descending, bool stable);
/* x at indices along axis, which the axes of indices replace; None only for 1-d x. */
IG_API ig_array *ig_take(ig_array *x, ig_array *indices, ig_ints axis);
/* x at matching indices along axis; the other axes broadcast. */
IG_API ig_array *ig_take_along_axis(ig_array *x, ig_array *indices, int axis);
/* The k largest along axis, largest first, and their i64 indices. */
IG_API int ig_topk(ig_array *x, int64_t k, int axis, ig_array *out[2]);
/* Sorted values, i64 first indices, inverse indices in the shape of x, counts; evaluates x. Each
 * NaN is distinct. */
IG_API int ig_unique_all(ig_array *x, ig_array *out[4]);
/* Sorted values and counts; evaluates x. */
IG_API int ig_unique_counts(ig_array *x, ig_array *out[2]);
/* Sorted values and inverse indices; evaluates x. */
IG_API int ig_unique_inverse(ig_array *x, ig_array *out[2]);
/* Sorted distinct values; evaluates x. */
IG_API ig_array *ig_unique_values(ig_array *x);

/* ---- contract ------------------------------------------------------------------------------- */

/* f16 and bf16 are summed in f32 and rounded once; integers wrap. */

/* Matrix product over the last two axes, the leading axes broadcast. 1-d operands as the standard
 * says. Transposed and strided inputs are not copied. */
IG_API ig_array *ig_matmul(ig_array *x1, ig_array *x2);
/* Sums of products over pairs of axes. One number n: the last n axes of x1 with the first n of x2.
 * A list: the axes of x1, then as many of x2. */
IG_API ig_array *ig_tensordot(ig_array *x1, ig_array *x2, ig_ints axes);
/* Dot products along axis, the rest broadcast. */
IG_API ig_array *ig_vecdot(ig_array *x1, ig_array *x2, int axis);
/* Sums of products by Einstein's notation, such as 'ij,jk->ik'. Any number of operands, repeated
 * letters, '...', implicit output. */
IG_API ig_array *ig_einsum(const char *subscripts, ig_array *const *arrays, int n);
/* All products of two 1-d arrays. */
IG_API ig_array *ig_outer(ig_array *x1, ig_array *x2);
/* Cross-correlation of x (N, C, L) with weight (O, C/groups, K). bias is (O); stride, padding,
 * dilation: one number, or one for each axis. */
IG_API ig_array *ig_conv1d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                           ig_ints padding, ig_ints dilation, int groups);
/* Cross-correlation of x (N, C, H, W) with weight (O, C/groups, K, K). Other arguments as for
 * conv1d. */
IG_API ig_array *ig_conv2d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                           ig_ints padding, ig_ints dilation, int groups);
/* Cross-correlation of x (N, C, D, H, W) with weight (O, C/groups, K, K, K). Other arguments as for
 * conv1d. */
IG_API ig_array *ig_conv3d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                           ig_ints padding, ig_ints dilation, int groups);
/* The gradient of conv1d with respect to x; weight is (C, O/groups, K). */
IG_API ig_array *ig_conv_transpose1d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                     ig_ints padding, ig_ints output_padding, int groups,
                                     ig_ints dilation);
/* The gradient of conv2d with respect to x; weight is (C, O/groups, K, K). */
IG_API ig_array *ig_conv_transpose2d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                     ig_ints padding, ig_ints output_padding, int groups,
                                     ig_ints dilation);
/* The gradient of conv3d with respect to x; weight is (C, O/groups, K, K, K). */
IG_API ig_array *ig_conv_transpose3d(ig_array *x, ig_array *weight, ig_array *bias, ig_ints stride,
                                     ig_ints padding, ig_ints output_padding, int groups,
                                     ig_ints dilation);
/* The largest element of each window of x (N, C, L); stride None is kernel_size. */
IG_API ig_array *ig_max_pool1d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               ig_ints dilation, bool ceil_mode);
/* The largest element of each window of x (N, C, H, W); stride None is kernel_size. */
IG_API ig_array *ig_max_pool2d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               ig_ints dilation, bool ceil_mode);
/* The largest element of each window of x (N, C, D, H, W); stride None is kernel_size. */
IG_API ig_array *ig_max_pool3d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               ig_ints dilation, bool ceil_mode);
/* The mean of each window of x (N, C, L); stride None is kernel_size. */
IG_API ig_array *ig_avg_pool1d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               bool ceil_mode, bool count_include_pad);
/* The mean of each window of x (N, C, H, W); stride None is kernel_size. */
IG_API ig_array *ig_avg_pool2d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               bool ceil_mode, bool count_include_pad);
/* The mean of each window of x (N, C, D, H, W); stride None is kernel_size. */
IG_API ig_array *ig_avg_pool3d(ig_array *x, ig_ints kernel_size, ig_ints stride, ig_ints padding,
                               bool ceil_mode, bool count_include_pad);
/* The means of output_size windows that cover x (N, C, L). */
IG_API ig_array *ig_adaptive_avg_pool1d(ig_array *x, ig_ints output_size);
/* The means of output_size windows that cover x (N, C, H, W). */
IG_API ig_array *ig_adaptive_avg_pool2d(ig_array *x, ig_ints output_size);
/* The means of output_size windows that cover x (N, C, D, H, W). */
IG_API ig_array *ig_adaptive_avg_pool3d(ig_array *x, ig_ints output_size);

/* ---- source --------------------------------------------------------------------------------- */

/* dtype None means f32, or i64 if all numbers are integers. */

/* start, start + step, ... before stop; one argument is stop. */
IG_API ig_array *ig_arange(double start, double stop, double step, ig_dtype dtype);
/* zeros: no element is left undefined. */
IG_API ig_array *ig_empty(ig_ints shape, ig_dtype dtype);
/* Zeros in the shape and dtype of x. */
IG_API ig_array *ig_empty_like(ig_array *x, ig_dtype dtype);
/* Ones on the k-th diagonal; n_cols None is n_rows. */
IG_API ig_array *ig_eye(int64_t n_rows, int64_t n_cols, int64_t k, ig_dtype dtype);
/* Every element is the 0-d fill_value. */
IG_API ig_array *ig_full(ig_ints shape, ig_array *fill_value, ig_dtype dtype);
/* fill_value in the shape and dtype of x. */
IG_API ig_array *ig_full_like(ig_array *x, ig_array *fill_value, ig_dtype dtype);
/* num evenly spaced values from start to stop. */
IG_API ig_array *ig_linspace(double start, double stop, int64_t num, ig_dtype dtype, bool endpoint);
/* Ones. */
IG_API ig_array *ig_ones(ig_ints shape, ig_dtype dtype);
/* Ones in the shape and dtype of x. */
IG_API ig_array *ig_ones_like(ig_array *x, ig_dtype dtype);
/* x with zeros above the k-th diagonal of the last two axes. */
IG_API ig_array *ig_tril(ig_array *x, int64_t k);
/* x with zeros below the k-th diagonal of the last two axes. */
IG_API ig_array *ig_triu(ig_array *x, int64_t k);
/* Zeros. */
IG_API ig_array *ig_zeros(ig_ints shape, ig_dtype dtype);
/* Zeros in the shape and dtype of x. */
IG_API ig_array *ig_zeros_like(ig_array *x, ig_dtype dtype);

/* ---- random --------------------------------------------------------------------------------- */

/* The same key gives the same bits on every device and for any number of threads. */

/* A random key: u32[4] for 'philox' (Philox 4x32-10), u32[2] for 'threefry' (threefry2x32, with the
 * bits of JAX). The length of a key selects the generator of the other random functions. */
IG_API ig_array *ig_key(uint64_t seed, const char *generator);
/* num independent keys from one, as (num, 4) or (num, 2). */
IG_API ig_array *ig_split_key(ig_array *key, int64_t num);
/* An independent key from a key and a number. */
IG_API ig_array *ig_fold_in(ig_array *key, int64_t data);
/* Random bits of an unsigned dtype. */
IG_API ig_array *ig_bits(ig_array *key, ig_ints shape, ig_dtype dtype);
/* Uniform floats in [minval, maxval). */
IG_API ig_array *ig_uniform(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *minval,
                            ig_array *maxval);
/* Normal floats, mean 0, deviation 1. */
IG_API ig_array *ig_normal(ig_array *key, ig_ints shape, ig_dtype dtype);
/* Uniform integers in [minval, maxval). */
IG_API ig_array *ig_randint(ig_array *key, ig_ints shape, int64_t minval, int64_t maxval,
                            ig_dtype dtype);
/* bool: true with probability p; shape None is the shape of p. */
IG_API ig_array *ig_bernoulli(ig_array *key, ig_array *p, ig_ints shape);
/* i64 indices along axis drawn with probabilities softmax(logits); shape None is one draw for each
 * distribution. */
IG_API ig_array *ig_categorical(ig_array *key, ig_array *logits, int axis, ig_ints shape);
/* x shuffled along axis; of an integer: of arange(x). */
IG_API ig_array *ig_permutation(ig_array *key, ig_array *x, int axis);

/* ---- composite ------------------------------------------------------------------------------ */

/* Built from the ops above. */

/* max(x, 0). */
IG_API ig_array *ig_relu(ig_array *x);
/* x, or negative_slope * x below 0. */
IG_API ig_array *ig_leaky_relu(ig_array *x, double negative_slope);
/* x, or alpha * (exp(x) - 1) below 0. */
IG_API ig_array *ig_elu(ig_array *x, double alpha);
/* x * Phi(x): 'none' by erf, 'tanh' by tanh. */
IG_API ig_array *ig_gelu(ig_array *x, const char *approximate);
/* x * sigmoid(x). */
IG_API ig_array *ig_silu(ig_array *x);
/* log(1 + exp(x)) without overflow. */
IG_API ig_array *ig_softplus(ig_array *x);
/* log(sigmoid(x)) without overflow. */
IG_API ig_array *ig_log_sigmoid(ig_array *x);
/* 1.0507 * elu(x, 1.6733), the self-normalizing unit. */
IG_API ig_array *ig_selu(ig_array *x);
/* x, or alpha * (exp(x / alpha) - 1) below 0. */
IG_API ig_array *ig_celu(ig_array *x, double alpha);
/* x * tanh(softplus(x)). */
IG_API ig_array *ig_mish(ig_array *x);
/* x * clip(x + 3, 0, 6) / 6. */
IG_API ig_array *ig_hardswish(ig_array *x);
/* x kept within [min_val, max_val]. */
IG_API ig_array *ig_hard_tanh(ig_array *x, double min_val, double max_val);
/* x / (1 + abs(x)). */
IG_API ig_array *ig_softsign(ig_array *x);
/* The first half of x along axis times the sigmoid of the second. */
IG_API ig_array *ig_glu(ig_array *x, int axis);
/* exp(x) / sum(exp(x)) along axis, without overflow. */
IG_API ig_array *ig_softmax(ig_array *x, ig_ints axis);
/* log(softmax(x)) along axis. */
IG_API ig_array *ig_log_softmax(ig_array *x, ig_ints axis);
/* (x - mean) / sqrt(var + eps) along axis, then * weight + bias. */
IG_API ig_array *ig_layer_norm(ig_array *x, ig_array *weight, ig_array *bias, ig_ints axis,
                               double eps);
/* x / sqrt(mean(x**2) + eps) along axis, then * weight. */
IG_API ig_array *ig_rms_norm(ig_array *x, ig_array *weight, ig_ints axis, double eps);
/* x (N, C, ...) normalized by channel, with the statistics of the batch unless mean and var are
 * given. */
IG_API ig_array *ig_batch_norm(ig_array *x, ig_array *mean, ig_array *var, ig_array *weight,
                               ig_array *bias, double eps);
/* x (N, C, ...) normalized by groups of channels. */
IG_API ig_array *ig_group_norm(ig_array *x, int64_t num_groups, ig_array *weight, ig_array *bias,
                               double eps);
/* x on another device, such as 'cpu' or 'cuda:0'. Returns x itself if it is on that device, or,
 * like a number, on no device. */
IG_API ig_array *ig_to_device(ig_array *x, const char *device);
/* x as a constant: gradients do not pass it; a view. */
IG_API ig_array *ig_stop_gradient(ig_array *x);
/* 0 with probability p, else x / (1 - p). */
IG_API ig_array *ig_dropout(ig_array *x, ig_array *key, double p);
/* softmax(query @ key.T * scale + mask) @ value over the last two axes. mask is bool (true: attend)
 * or added; scale None is 1 / sqrt(width). */
IG_API ig_array *ig_scaled_dot_product_attention(ig_array *query, ig_array *key, ig_array *value,
                                                 ig_array *mask, bool is_causal, double scale);
/* Rows of weight (V, D): indices.shape + (D,). */
IG_API ig_array *ig_embedding(ig_array *indices, ig_array *weight);
/* -log_softmax(logits) at integer labels. reduction is 'mean', 'sum' or 'none', as for all
 * losses. */
IG_API ig_array *ig_cross_entropy(ig_array *logits, ig_array *labels, int axis,
                                  const char *reduction);
/* (x1 - x2)**2. */
IG_API ig_array *ig_mse(ig_array *x1, ig_array *x2, const char *reduction);
/* abs(x1 - x2). */
IG_API ig_array *ig_l1(ig_array *x1, ig_array *x2, const char *reduction);
/* Quadratic within delta, linear beyond. */
IG_API ig_array *ig_huber(ig_array *x1, ig_array *x2, double delta, const char *reduction);
/* Binary cross entropy of sigmoid(x1) with target x2. */
IG_API ig_array *ig_bce_with_logits(ig_array *x1, ig_array *x2, const char *reduction);
/* x2 * (log(x2) - x1): x1 holds log probabilities, x2 the target. */
IG_API ig_array *ig_kl_div(ig_array *x1, ig_array *x2, const char *reduction);

/* ---- functions of NumPy and SciPy ----------------------------------------------------------- */

/* Built from the ops above, with the definitions of NumPy, SciPy or PyTorch. */

/* x1 + weight * (x2 - x1), exact where weight is 0 or 1. */
IG_API ig_array *ig_lerp(ig_array *x1, ig_array *x2, ig_array *weight);
/* Degrees as radians. */
IG_API ig_array *ig_deg2rad(ig_array *x);
/* Radians as degrees. */
IG_API ig_array *ig_rad2deg(ig_array *x);
/* sin(pi * x) / (pi * x); 1 at 0. */
IG_API ig_array *ig_sinc(ig_array *x);
/* x1 * log(x2); 0 where x1 is 0, unless x2 is NaN. */
IG_API ig_array *ig_xlogy(ig_array *x1, ig_array *x2);
/* x with NaN and infinities replaced; infinities by the largest finite numbers of the dtype unless
 * given. */
IG_API ig_array *ig_nan_to_num(ig_array *x, ig_array *nan, ig_array *posinf, ig_array *neginf);
/* bool: abs(x1 - x2) <= atol + rtol * abs(x2), or equal. Infinities are close to themselves
 * only. */
IG_API ig_array *ig_isclose(ig_array *x1, ig_array *x2, double rtol, double atol, bool equal_nan);
/* bool: whether all elements are close (isclose). */
IG_API ig_array *ig_allclose(ig_array *x1, ig_array *x2, double rtol, double atol, bool equal_nan);
/* bool: whether x1 and x2 have the same shape and elements. */
IG_API ig_array *ig_array_equal(ig_array *x1, ig_array *x2, bool equal_nan);
/* The largest element minus the smallest; NaN if there is one. */
IG_API ig_array *ig_ptp(ig_array *x, ig_ints axis, bool keepdims);
/* The mean, weighted. weights has the shape of x, or of the axes that are given. */
IG_API ig_array *ig_average(ig_array *x, ig_ints axis, ig_array *weights, bool keepdims);
/* Covariances of variables, which are the rows of x and y (columns without rowvar). The divisor is
 * n - ddof; ddof is 0 with bias, else 1. Each observation counts fweights times, and has the
 * importance aweights. */
IG_API ig_array *ig_cov(ig_array *x, ig_array *y, bool rowvar, bool bias, int64_t ddof,
                        ig_array *fweights, ig_array *aweights);
/* Pearson's correlation coefficients of variables, as for cov. */
IG_API ig_array *ig_corrcoef(ig_array *x, ig_array *y, bool rowvar);
/* Powers of x in N columns (as many as x has elements), the highest first unless increasing. i64
 * for integers. */
IG_API ig_array *ig_vander(ig_array *x, int64_t N, bool increasing);
/* The integral of y along axis by the trapezoidal rule, at the places x or dx apart. */
IG_API ig_array *ig_trapezoid(ig_array *y, ig_array *x, double dx, int axis);
/* The Kronecker product: blocks of x2, each times an element of x1. */
IG_API ig_array *ig_kron(ig_array *x1, ig_array *x2);
/* The columns (axis 1) reversed, as a view. */
IG_API ig_array *ig_fliplr(ig_array *x);
/* The rows (axis 0) reversed, as a view. */
IG_API ig_array *ig_flipud(ig_array *x);
/* Two axes exchanged, as a view. */
IG_API ig_array *ig_swapaxes(ig_array *x, int64_t axis1, int64_t axis2);
/* x rotated k times by 90 degrees from the first of two axes to the second, as a view; None is (0,
 * 1). */
IG_API ig_array *ig_rot90(ig_array *x, int64_t k, ig_ints axes);

#ifdef __cplusplus
}
#endif

#endif
