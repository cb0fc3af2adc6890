/* Every op as a function, made by `make docs` from the op table, src/engine/ops/rows.
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
/* floor(x1 / x2). An integer divided by 0 is an error; the lowest integer by -1 wraps. */
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
/* x1 to the power x2. Integers wrap, and a negative integer power rounds towards 0; of 0 it is an
 * error. */
IG_API ig_array *ig_pow(ig_array *x1, ig_array *x2);
/* x1 - x2 * floor(x1 / x2), with the sign of x2. An integer divided by 0 is an error. */
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

/* The sum; of floats pairwise, above sums of 32 values. Integers and bool are summed in i64
 * (unsigned in u64) unless dtype is given. */
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

/* ---- complex -------------------------------------------------------------------------------- */

/* Other ops take complex arrays, too, unless they need an order. The gradient of a real loss by z =
 * x + iy is  d/dx - i d/dy. Values and gradients of complex arrays are tested by
 * tests/unit/test_complex.c. */

/* re + 1j * im; f64 parts give c128, others c64. */
IG_API ig_array *ig_complex(ig_array *re, ig_array *im);
/* The real part; a real x unchanged. */
IG_API ig_array *ig_real(ig_array *x);
/* The imaginary part; zeros for a real x. */
IG_API ig_array *ig_imag(ig_array *x);
/* The complex conjugate; a real x unchanged. */
IG_API ig_array *ig_conj(ig_array *x);
/* The angle of x in the complex plane, within [-pi, pi]. */
IG_API ig_array *ig_angle(ig_array *x);

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
/* x with a border. mode is constant (value), empty (zeros), edge, reflect, symmetric, reflect_odd,
 * symmetric_odd (2 * edge less the mirrored element: NumPy's reflect_type='odd'), wrap, maximum,
 * minimum, mean, median or linear_ramp (from value at the outermost place to the edge). pad_width
 * is (before, after) for each axis, or one pair or number for all. */
IG_API ig_array *ig_pad(ig_array *x, ig_ints pad_width, const char *mode, ig_array *value);
/* The axes in the given order, as a view. */
IG_API ig_array *ig_permute_dims(ig_array *x, ig_ints axes);
/* x, to be saved and mapped in chunks of this shape: see save and map_blocks. A view. One number is
 * for all axes, -1 is the whole axis. */
IG_API ig_array *ig_rechunk(ig_array *x, ig_ints chunk);
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
/* x as a constant: gradients do not pass it; a view. */
IG_API ig_array *ig_stop_gradient(ig_array *x);
/* x repeated as a whole along each axis. */
IG_API ig_array *ig_tile(ig_array *x, ig_ints repetitions);
/* x on another device, such as 'cpu' or 'cuda:0'. Returns x itself if it is on that device, or,
 * like a number, on no device. */
IG_API ig_array *ig_to_device(ig_array *x, const char *device);
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
/* max_pool1d(x, ...), and the positions of the elements in the spatial axes of x, in row-major
 * order. */
IG_API int ig_max_pool1d_with_indices(ig_array *x, ig_ints kernel_size, ig_ints stride,
                                      ig_ints padding, ig_ints dilation, bool ceil_mode,
                                      ig_array *out[2]);
/* max_pool2d(x, ...), and the positions of the elements in the spatial axes of x, in row-major
 * order. */
IG_API int ig_max_pool2d_with_indices(ig_array *x, ig_ints kernel_size, ig_ints stride,
                                      ig_ints padding, ig_ints dilation, bool ceil_mode,
                                      ig_array *out[2]);
/* max_pool3d(x, ...), and the positions of the elements in the spatial axes of x, in row-major
 * order. */
IG_API int ig_max_pool3d_with_indices(ig_array *x, ig_ints kernel_size, ig_ints stride,
                                      ig_ints padding, ig_ints dilation, bool ceil_mode,
                                      ig_array *out[2]);
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
/* The largest element of each of output_size windows that cover x (N, C, L). */
IG_API ig_array *ig_adaptive_max_pool1d(ig_array *x, ig_ints output_size);
/* The largest element of each of output_size windows that cover x (N, C, H, W). */
IG_API ig_array *ig_adaptive_max_pool2d(ig_array *x, ig_ints output_size);
/* The largest element of each of output_size windows that cover x (N, C, D, H, W). */
IG_API ig_array *ig_adaptive_max_pool3d(ig_array *x, ig_ints output_size);

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
 * bits of JAX). The length of a key selects the generator of the other random functions.
 * docs/GUIDE.md lists the functions that draw as JAX does. */
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
/* Normal floats with mean loc and deviation scale, which broadcast to shape. */
IG_API ig_array *ig_normal(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *loc,
                           ig_array *scale);
/* Uniform integers in [minval, maxval). The probabilities of two of them differ by less than one
 * part in 2**32. */
IG_API ig_array *ig_randint(ig_array *key, ig_ints shape, int64_t minval, int64_t maxval,
                            ig_dtype dtype);
/* bool: true with probability p; shape None is the shape of p. */
IG_API ig_array *ig_bernoulli(ig_array *key, ig_array *p, ig_ints shape);
/* i64 indices along axis drawn with probabilities softmax(logits); shape None is one draw for each
 * distribution. */
IG_API ig_array *ig_categorical(ig_array *key, ig_array *logits, int axis, ig_ints shape);
/* x shuffled along axis; of an integer: of arange(x). */
IG_API ig_array *ig_permutation(ig_array *key, ig_array *x, int axis);

/* ---- Fourier transforms --------------------------------------------------------------------- */

/* As in NumPy and SciPy. A transform along an axis has the sums over j of x[j] exp(-2 pi i j k /
 * n); backward ones have  exp(2 pi i j k / n). n cuts the axis or adds zeros. norm says which
 * direction is divided by n: backward, forward, or  ortho, both by its square root. Any length; f64
 * gives c128, other real dtypes give c64. The error of f32 and f64, relative  to the largest
 * element, is at most 0.6 log2(n) ulp, or 1 (tests/test_fft.py). */

/* The Fourier transform along an axis. */
IG_API ig_array *ig_fft(ig_array *x, int64_t n, int axis, const char *norm);
/* The backward Fourier transform along an axis. */
IG_API ig_array *ig_ifft(ig_array *x, int64_t n, int axis, const char *norm);
/* The first n / 2 + 1 elements of the Fourier transform of real numbers; the others are conjugates
 * of these. */
IG_API ig_array *ig_rfft(ig_array *x, int64_t n, int axis, const char *norm);
/* The n real numbers whose rfft is x. n is 2 (m - 1) for m elements, unless given. The imaginary
 * parts of the first element, and of the last if n is even, are not read. */
IG_API ig_array *ig_irfft(ig_array *x, int64_t n, int axis, const char *norm);
/* The n real numbers of the Fourier transform of x, the first half of a sequence that is its own
 * conjugate backwards. */
IG_API ig_array *ig_hfft(ig_array *x, int64_t n, int axis, const char *norm);
/* The inverse of hfft. */
IG_API ig_array *ig_ihfft(ig_array *x, int64_t n, int axis, const char *norm);
/* The Fourier transform along several axes, all unless given; s has the length of each. */
IG_API ig_array *ig_fftn(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* The backward Fourier transform along several axes. */
IG_API ig_array *ig_ifftn(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* Rfft along the last of several axes, fft along the others. */
IG_API ig_array *ig_rfftn(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* Ifft along all but the last of several axes, irfft along the last. */
IG_API ig_array *ig_irfftn(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* The Fourier transform along two axes, the last two unless given. */
IG_API ig_array *ig_fft2(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* The backward Fourier transform along two axes. */
IG_API ig_array *ig_ifft2(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* Rfftn along two axes. */
IG_API ig_array *ig_rfft2(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* Irfftn along two axes. */
IG_API ig_array *ig_irfft2(ig_array *x, ig_ints s, ig_ints axes, const char *norm);
/* The frequency of each element of an fft of n samples, d apart: 0, 1, ..., -1, over n * d. f32
 * unless given. */
IG_API ig_array *ig_fftfreq(int n, double d, ig_dtype dtype);
/* The same for an rfft. */
IG_API ig_array *ig_rfftfreq(int n, double d, ig_dtype dtype);
/* x rolled by half its length along axes, all unless given: frequency 0 moves to the middle. */
IG_API ig_array *ig_fftshift(ig_array *x, ig_ints axes);
/* The inverse of fftshift. */
IG_API ig_array *ig_ifftshift(ig_array *x, ig_ints axes);
/* The cosine transform of type 1, 2, 3 or 4, as in SciPy. orthogonalize, True for norm ortho unless
 * given, multiplies the ends so that the matrix is orthogonal. */
IG_API ig_array *ig_dct(ig_array *x, int64_t type, int64_t n, int axis, const char *norm,
                        bool orthogonalize);
/* The inverse of dct. */
IG_API ig_array *ig_idct(ig_array *x, int64_t type, int64_t n, int axis, const char *norm,
                         bool orthogonalize);
/* The sine transform of type 1, 2, 3 or 4, as in SciPy. */
IG_API ig_array *ig_dst(ig_array *x, int64_t type, int64_t n, int axis, const char *norm,
                        bool orthogonalize);
/* The inverse of dst. */
IG_API ig_array *ig_idst(ig_array *x, int64_t type, int64_t n, int axis, const char *norm,
                         bool orthogonalize);
/* The convolution of x1 and x2, which have as many axes, along axes, all unless given, by Fourier
 * transforms. mode: full; same, the middle part of the length of x1; or valid, where both overlap
 * whole. Other axes broadcast. */
IG_API ig_array *ig_fftconvolve(ig_array *x1, ig_array *x2, const char *mode, ig_ints axes);

/* ---- more layers and losses ----------------------------------------------------------------- */

/* x, or alpha * x below 0; alpha broadcasts. */
IG_API ig_array *ig_prelu(ig_array *x, ig_array *alpha);
/* x (N, C, ...) normalized over the axes after C, with one weight and bias for each channel. */
IG_API ig_array *ig_instance_norm(ig_array *x, ig_array *weight, ig_array *bias, double eps);
/* x (N, C, ...) / (k + alpha * m)**beta, where m is the mean of the squares of `size` channels
 * around each: size // 2 before it, and zeros outside. */
IG_API ig_array *ig_local_response_norm(ig_array *x, int64_t size, double alpha, double beta,
                                        double k);
/* x with mean 0 and variance 1 along axis. */
IG_API ig_array *ig_standardize(ig_array *x, ig_ints axis, double epsilon);
/* Rotary embedding of x (..., T, D): pairs of the first dims elements are turned by the angle (t +
 * offset) * scale / base**(2 * i / dims), or / freqs[i]. Pairs are i and i + dims / 2, or
 * neighbours with traditional. dims None is D. */
IG_API ig_array *ig_rope(ig_array *x, int64_t dims, bool traditional, double base, double scale,
                         int64_t offset, ig_array *freqs);
/* x (..., C * r**2, H, W) as (..., C, H * r, W * r). */
IG_API ig_array *ig_pixel_shuffle(ig_array *x, int64_t upscale_factor);
/* x (..., C, H * r, W * r) as (..., C * r**2, H, W). */
IG_API ig_array *ig_pixel_unshuffle(ig_array *x, int64_t downscale_factor);
/* x (N, C, ...) resampled to that size, one number for each axis after C or for all. mode is
 * 'nearest', 'linear' or 'cubic'; with align_corners the first and last elements keep their places.
 * antialias widens the filter by the factor by which an axis shrinks, as PyTorch and Pillow do. */
IG_API ig_array *ig_interpolate(ig_array *x, ig_ints size, const char *mode, bool align_corners,
                                bool antialias);
/* x (N, C, ...) at the places of grid (N, ..., axes), where -1 and 1 are the ends of an axis, and
 * the last axis of x comes first. mode is 'nearest', 'linear' or 'cubic'; padding_mode for places
 * outside is 'zeros', 'border' or 'reflection'; with align_corners the ends are the middles of the
 * outer elements. */
IG_API ig_array *ig_grid_sample(ig_array *x, ig_array *grid, const char *mode,
                                const char *padding_mode, bool align_corners);
/* Boxes of x (N, C, H, W), each resampled to output_size: (boxes, C, rows, columns). boxes (boxes,
 * 4) are x1, y1, x2, y2, times spatial_scale, and indices (boxes) the images that they are in. An
 * element of the result is the mean, or with mode 'max' the largest weighted element, of
 * sampling_ratio**2 places that are read as in linear interpolation; 0: about one place for each
 * element. aligned moves the boxes by half an element, so that the first element is from -0.5 to
 * 0.5. Without it, a box is at least 1 wide and high. A box that needs more than 2**20 places along
 * an axis of a bin gives NaN. */
IG_API ig_array *ig_roi_align(ig_array *x, ig_array *boxes, ig_array *indices, ig_ints output_size,
                              double spatial_scale, int64_t sampling_ratio, bool aligned,
                              const char *mode);
/* The windows of x (N, C, ...) as columns: (N, C * elements of a window, windows). */
IG_API ig_array *ig_unfold(ig_array *x, ig_ints kernel_size, ig_ints dilation, ig_ints padding,
                           ig_ints stride);
/* The sums of columns (N, C * elements of a window, windows) at their places in (N, C, ...): the
 * transpose of unfold. */
IG_API ig_array *ig_fold(ig_array *x, ig_ints output_size, ig_ints kernel_size, ig_ints dilation,
                         ig_ints padding, ig_ints stride);
/* The dot product along axis divided by both norms, which are at least eps. */
IG_API ig_array *ig_cosine_similarity(ig_array *x1, ig_array *x2, int axis, double eps);
/* -(x2 * log(x1) + (1 - x2) * log(1 - x1)): x1 holds probabilities; logarithms are at least
 * -100. */
IG_API ig_array *ig_binary_cross_entropy(ig_array *x1, ig_array *x2, const char *reduction);
/* 0.5 * d**2 / beta for d = abs(x1 - x2) below beta, else d - 0.5 * beta. */
IG_API ig_array *ig_smooth_l1(ig_array *x1, ig_array *x2, double beta, const char *reduction);
/* log(cosh(x1 - x2)) without overflow. */
IG_API ig_array *ig_log_cosh(ig_array *x1, ig_array *x2, const char *reduction);
/* max(1 - x1 * x2, 0); x2 is -1 or 1. */
IG_API ig_array *ig_hinge(ig_array *x1, ig_array *x2, const char *reduction);
/* max(-targets * (x1 - x2) + margin, 0); targets are -1 or 1. */
IG_API ig_array *ig_margin_ranking(ig_array *x1, ig_array *x2, ig_array *targets, double margin,
                                   const char *reduction);
/* 0.5 * (log(var) + (x1 - x2)**2 / var), var at least eps; with full also 0.5 * log(2 * pi). */
IG_API ig_array *ig_gaussian_nll(ig_array *x1, ig_array *x2, ig_array *var, bool full, double eps,
                                 const char *reduction);
/* 1 - cosine_similarity(x1, x2). */
IG_API ig_array *ig_cosine_similarity_loss(ig_array *x1, ig_array *x2, int axis, double eps,
                                           const char *reduction);
/* max(norm(anchors - positives) - norm(anchors - negatives) + margin, 0) along axis; eps is added
 * to the squares. */
IG_API ig_array *ig_triplet(ig_array *anchors, ig_array *positives, ig_array *negatives, int axis,
                            double margin, double eps, const char *reduction);
/* log(1 + exp(-x1 * x2)) without overflow; x2 is -1 or 1. */
IG_API ig_array *ig_soft_margin(ig_array *x1, ig_array *x2, const char *reduction);
/* x1 where x2 is positive, else max(margin - x1, 0). */
IG_API ig_array *ig_hinge_embedding(ig_array *x1, ig_array *x2, double margin,
                                    const char *reduction);
/* 1 - s for the cosine similarity s along axis where targets are positive, else max(s - margin,
 * 0). */
IG_API ig_array *ig_cosine_embedding(ig_array *x1, ig_array *x2, ig_array *targets, double margin,
                                     int axis, const char *reduction);
/* exp(x1) - x2 * x1, or without log_input x1 - x2 * log(x1 + eps). */
IG_API ig_array *ig_poisson_nll(ig_array *x1, ig_array *x2, bool log_input, double eps,
                                const char *reduction);
/* The mean over the classes c of max(margin - x[target] + x[c], 0)**p, without the target's own; x
 * is (..., C). */
IG_API ig_array *ig_multi_margin(ig_array *x, ig_array *targets, int64_t p, double margin,
                                 const char *reduction);
/* Minus the log probability at integer targets along axis. */
IG_API ig_array *ig_nll(ig_array *log_probs, ig_array *targets, int axis, const char *reduction);
/* Products with the Hadamard matrix along the last axis, whose length is a power of 2; scale None
 * is 1 / sqrt(length). */
IG_API ig_array *ig_hadamard_transform(ig_array *x, double scale);

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
/* 0 with probability p, else x / (1 - p). */
IG_API ig_array *ig_dropout(ig_array *x, ig_array *key, double p);
/* Elements become the lowest value of selu with probability p; then x is scaled so that mean 0 and
 * variance 1 stay. */
IG_API ig_array *ig_alpha_dropout(ig_array *x, ig_array *key, double p);
/* Whole channels of x (N, C, ...) are 0 with probability p, else x / (1 - p). */
IG_API ig_array *ig_feature_dropout(ig_array *x, ig_array *key, double p);
/* alpha_dropout of whole channels of x (N, C, ...). */
IG_API ig_array *ig_feature_alpha_dropout(ig_array *x, ig_array *key, double p);
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

/* ---- recurrent ------------------------------------------------------------------------------ */

/* x is (T, N, I), or (T, I) without a batch; with batch_first (N, T, I). Weights are those of
 * PyTorch and MLX: weight_ih (G, I),  weight_hh (G, H), where G is H times the number of gates, and
 * biases (G). The first result has one row of H for each  step, the others are the last state.
 * States begin as zeros unless given. With reverse the last step comes first. */

/* h = f(weight_ih @ x[t] + bias_ih + weight_hh @ h + bias_hh) at each step, where f is 'tanh' or
 * 'relu'. */
IG_API int ig_rnn(ig_array *x, ig_array *weight_ih, ig_array *weight_hh, ig_array *bias_ih,
                  ig_array *bias_hh, ig_array *h0, const char *nonlinearity, bool batch_first,
                  bool reverse, ig_array *out[2]);
/* h = (1 - z) * n + z * h at each step, with the gates r, z and n in this order: r and z are
 * sigmoids, and n is the tanh of x's part plus r times h's part. */
IG_API int ig_gru(ig_array *x, ig_array *weight_ih, ig_array *weight_hh, ig_array *bias_ih,
                  ig_array *bias_hh, ig_array *h0, bool batch_first, bool reverse,
                  ig_array *out[2]);
/* c = f * c + i * g and h = o * tanh(c) at each step, with the gates i, f, g and o in this order: g
 * is a tanh, the others are sigmoids. Results: the steps, h and c. */
IG_API int ig_lstm(ig_array *x, ig_array *weight_ih, ig_array *weight_hh, ig_array *bias_ih,
                   ig_array *bias_hh, ig_array *h0, ig_array *c0, bool batch_first, bool reverse,
                   ig_array *out[3]);
/* Minus the log probability of all alignments of targets (N, S) with log_probs (T, N, C). Lengths
 * (N) None are T and S; elements past them have no effect. 'mean' first divides by the target's
 * length. The loss is infinite, or 0 with zero_infinity, if a target does not fit its input. */
IG_API ig_array *ig_ctc_loss(ig_array *log_probs, ig_array *targets, ig_array *input_lengths,
                             ig_array *target_lengths, int64_t blank, const char *reduction,
                             bool zero_infinity);

/* ---- linear algebra ------------------------------------------------------------------------- */

/* A matrix is the last two axes; leading axes are stacks of matrices. f32, f64, c64 and c128;
 * integers are converted to  f32, and f16 and bf16 are computed in f32 and rounded once. If a
 * matrix has no result, such as the inverse of a singular  one, its evaluation fails, and the
 * message names the matrix. */

/* The lower factor L of a Hermitian positive definite x = L L^H, or L^H if upper. Only the lower
 * triangle of x is read. The gradient is that of a symmetric x. Evaluation fails if a matrix is not
 * positive definite. */
IG_API ig_array *ig_cholesky(ig_array *x, bool upper);
/* The solution of x y = b from the factor c of cholesky(x), which is lower or upper triangular. b
 * as in solve. */
IG_API ig_array *ig_cho_solve(ig_array *c, ig_array *b, bool lower);
/* The inverse of x from the factor c of cholesky(x), which is lower triangular, or upper. */
IG_API ig_array *ig_cholesky_inverse(ig_array *c, bool upper);
/* The solution x of a x = b for a triangular a, of which only the triangle is read: the upper one,
 * unless lower or upper=False. unit_diagonal: its diagonal counts as 1 and is not read. trans: 1
 * for the transposed a, 2 for its conjugate. b as in solve. Evaluation fails if the diagonal has a
 * 0. */
IG_API ig_array *ig_solve_triangular(ig_array *a, ig_array *b, int64_t trans, bool lower,
                                     bool unit_diagonal, bool upper);
/* The inverse of a triangular x, lower or upper, of which only the triangle is read. */
IG_API ig_array *ig_tri_inv(ig_array *x, bool upper);
/* The solution x of a x = b by LU factorization. A 1-d b is a vector, else b is a stack of
 * matrices; stacks broadcast. Evaluation fails if a matrix is singular. */
IG_API ig_array *ig_solve(ig_array *a, ig_array *b);
/* The inverse of each matrix. Evaluation fails if a matrix is singular. */
IG_API ig_array *ig_inv(ig_array *x);
/* The matrices P, L, U with x = P L U: a permutation, a lower factor with ones on its diagonal, and
 * an upper one. Rows are exchanged for the largest pivot. A singular x is no error. */
IG_API int ig_lu(ig_array *x, ig_array *out[3]);
/* L and U of lu in one matrix, without the ones of L, and the pivots, i32: row i was exchanged with
 * row pivots[i], counted from 0, for i = 0, 1, ... in turn. */
IG_API int ig_lu_factor(ig_array *x, ig_array *out[2]);
/* The solution of a x = b from lu_factor(a); trans: 1 for the transposed a, 2 for its conjugate. b
 * as in solve. */
IG_API ig_array *ig_lu_solve(ig_array *lu, ig_array *pivots, ig_array *b, int64_t trans);
/* The determinant of each matrix. Its gradient needs the inverse. */
IG_API ig_array *ig_det(ig_array *x);
/* The sign of the determinant and the logarithm of its absolute value: 0 and -inf for a singular
 * matrix. The sign of a complex determinant is a number of absolute value 1. The gradient needs the
 * inverse. */
IG_API int ig_slogdet(ig_array *x, ig_array *out[2]);
/* Q with orthonormal columns and the upper triangular R of x = Q R. mode: 'reduced', 'complete' (Q
 * is square) or 'r' (only R). The gradient needs columns that are linearly independent; with more
 * rows than columns 'complete' has none. */
IG_API int ig_qr(ig_array *x, const char *mode, ig_array **out, int max_out);
/* The norm of vectors along axis; None is all elements. sum(abs(x)^ord)^(1/ord); ord inf is the
 * largest absolute value, -inf the smallest, 0 the number of elements that are not 0. The gradient
 * of ord 2 at 0 is 0. */
IG_API ig_array *ig_vector_norm(ig_array *x, ig_ints axis, bool keepdims, double ord);
/* The norm of matrices: 'fro', 'nuc', 1 and inf (the largest sum of absolute values of a column or
 * row), 2 (the largest singular value), or -1, -inf and -2 (the smallest). */
IG_API ig_array *ig_matrix_norm(ig_array *x, bool keepdims, double ord);
/* As in NumPy: the norm of all elements if ord is None, else of vectors along one axis
 * (vector_norm) or of matrices along two (matrix_norm). Without axis, x is a vector or a matrix. */
IG_API ig_array *ig_norm(ig_array *x, double ord, ig_ints axis, bool keepdims);
/* The sum of a diagonal of the last two axes. */
IG_API ig_array *ig_trace(ig_array *x, int64_t offset, ig_dtype dtype);
/* The product of n matrices x; the identity for 0. A negative n needs the inverse. */
IG_API ig_array *ig_matrix_power(ig_array *x, int n);
/* The product of a list of matrices in the order of least work. The first and the last may be
 * vectors. */
IG_API ig_array *ig_multi_dot(ig_array *const *arrays, int n);
/* The arrays as blocks on the diagonal of a matrix of zeros; vectors are rows. */
IG_API ig_array *ig_block_diag(ig_array *const *arrays, int n);
/* x with tensordot(a, x, x.ndim) = b; the given axes of a are moved to its end first. */
IG_API ig_array *ig_tensorsolve(ig_array *a, ig_array *b, ig_ints axes);
/* The inverse of x as a map of its axes from ind on to those before. */
IG_API ig_array *ig_tensorinv(ig_array *x, int64_t ind);
/* The exponential of each matrix. Evaluation fails if the sum of absolute values of a column
 * exceeds 5.6e6 or is NaN. */
IG_API ig_array *ig_expm(ig_array *x);

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

/* ---- selections ----------------------------------------------------------------------------- */

/* Each element from the first choice whose condition, which is bool, holds; else default. */
IG_API ig_array *ig_select(ig_array *const *condlist, int n, ig_array *const *choicelist,
                           ig_array *otherwise);
/* Each element from the choice whose number x gives there. Numbers out of range are an error
 * ('raise'), or are taken modulo the number of choices ('wrap') or clipped ('clip'). */
IG_API ig_array *ig_choose(ig_array *x, ig_array *const *choices, int n, const char *mode);
/* x at the indices of axis where the 1-d condition is true; None flattens x; evaluates
 * condition. */
IG_API ig_array *ig_compress(ig_array *condition, ig_array *x, ig_ints axis);
/* The elements of x where condition is true, in row-major order; evaluates condition. */
IG_API ig_array *ig_extract(ig_array *condition, ig_array *x);
/* i64 positions of the elements that are not zero, in row-major order; evaluates x. */
IG_API ig_array *ig_flatnonzero(ig_array *x);
/* i64 indices of the elements that are not zero, as (number, axes); evaluates x. */
IG_API ig_array *ig_argwhere(ig_array *x);
/* x[indices[..., 0], indices[..., 1], ...]: the last axis of indices holds indices of the leading
 * axes of x. */
IG_API ig_array *ig_gather_nd(ig_array *x, ig_array *indices);
/* A part of x of that shape, which begins at start_indices, one for each axis. They are moved so
 * that the part is inside of x. */
IG_API ig_array *ig_dynamic_slice(ig_array *x, ig_array *start_indices, ig_ints slice_sizes);
/* keys sorted along axis, stable, and values in the same order. */
IG_API int ig_sort_key_val(ig_array *keys, ig_array *values, int axis, ig_array *out[2]);
/* Bitwise and of the elements along axis; all bits if there are none. */
IG_API ig_array *ig_reduce_and(ig_array *x, ig_ints axis, bool keepdims);
/* Bitwise or of the elements along axis; 0 if there are none. */
IG_API ig_array *ig_reduce_or(ig_array *x, ig_ints axis, bool keepdims);
/* Bitwise exclusive or of the elements along axis; 0 if there are none. */
IG_API ig_array *ig_reduce_xor(ig_array *x, ig_ints axis, bool keepdims);
/* The bytes of x as elements of another dtype; the last axis gets longer or shorter; evaluates
 * x. */
IG_API ig_array *ig_view(ig_array *x, ig_dtype dtype);

/* ---- writes --------------------------------------------------------------------------------- */

/* The result is a copy of x in which elements are replaced. */

/* x with values, repeated as needed, at positions in row-major order. Positions out of bounds are
 * an error ('raise'), or are taken modulo the size ('wrap') or clipped ('clip'). */
IG_API ig_array *ig_put(ig_array *x, ig_array *indices, ig_array *values, const char *mode);
/* x with values at matching indices along axis; the other axes broadcast. None flattens x first. */
IG_API ig_array *ig_put_along_axis(ig_array *x, ig_array *indices, ig_array *values, ig_ints axis);
/* x with the elements of vals, repeated as needed, where mask is true: one after another. */
IG_API ig_array *ig_place(ig_array *x, ig_array *mask, ig_array *vals);
/* x with the elements of values, repeated as needed, where mask is true: each from its own
 * position. */
IG_API ig_array *ig_putmask(ig_array *x, ig_array *mask, ig_array *values);
/* dst with src, broadcast, where `where` holds. */
IG_API ig_array *ig_copyto(ig_array *dst, ig_array *src, ig_array *where);
/* x with update written at start_indices, one for each axis, which are moved so that it is inside
 * of x. */
IG_API ig_array *ig_dynamic_update_slice(ig_array *x, ig_array *update, ig_array *start_indices);
/* x with updates written at x[indices[..., 0], indices[..., 1], ...]. mode is 'set' (the last of
 * several wins), 'add', 'mul', 'min' or 'max'. */
IG_API ig_array *ig_scatter_nd(ig_array *x, ig_array *indices, ig_array *updates, const char *mode);
/* x with out[indices[i, j], j] *= updates[i, j] for axis 0. */
IG_API ig_array *ig_scatter_mul(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* x with the larger of out[indices[i, j], j] and updates[i, j] for axis 0; NaN if either is NaN. */
IG_API ig_array *ig_scatter_max(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* x with the smaller of out[indices[i, j], j] and updates[i, j] for axis 0; NaN if either is
 * NaN. */
IG_API ig_array *ig_scatter_min(ig_array *x, ig_array *indices, ig_array *updates, int axis);
/* Sums of the rows of data with the same id; num_segments None is the largest id plus 1, which
 * evaluates segment_ids. */
IG_API ig_array *ig_segment_sum(ig_array *data, ig_array *segment_ids, int64_t num_segments);
/* Products of the rows of data with the same id, as for segment_sum; 1 if there are none. */
IG_API ig_array *ig_segment_prod(ig_array *data, ig_array *segment_ids, int64_t num_segments);
/* The largest of the rows of data with the same id, as for segment_sum; the lowest value of the
 * dtype if there are none. */
IG_API ig_array *ig_segment_max(ig_array *data, ig_array *segment_ids, int64_t num_segments);
/* The smallest of the rows of data with the same id, as for segment_sum; the highest value of the
 * dtype if there are none. */
IG_API ig_array *ig_segment_min(ig_array *data, ig_array *segment_ids, int64_t num_segments);

/* ---- numbers -------------------------------------------------------------------------------- */

/* Cube root. */
IG_API ig_array *ig_cbrt(ig_array *x);
/* The remainder of x1 / x2 rounded towards 0, with the sign of x1; exact. An integer divided by 0
 * is an error. */
IG_API ig_array *ig_fmod(ig_array *x1, ig_array *x2);
/* x1 / x2 rounded towards 0, as in C. An integer divided by 0 is an error. */
IG_API ig_array *ig_trunc_divide(ig_array *x1, ig_array *x2);
/* floor_divide(x1, x2) and remainder(x1, x2). */
IG_API int ig_divmod(ig_array *x1, ig_array *x2, ig_array *out[2]);
/* The fraction and the whole part of x, both with its sign. */
IG_API int ig_modf(ig_array *x, ig_array *out[2]);
/* m and the i32 exponent e of x = m * 2**e, with m within [0.5, 1). 0, infinities and NaN have the
 * exponent 0. */
IG_API int ig_frexp(ig_array *x, ig_array *out[2]);
/* x1 * 2**x2 for integers x2, rounded once. */
IG_API ig_array *ig_ldexp(ig_array *x1, ig_array *x2);
/* The distance from x to the next float away from 0, with the sign of x. */
IG_API ig_array *ig_spacing(ig_array *x);
/* x to a constant integer power, by multiplications. */
IG_API ig_array *ig_integer_pow(ig_array *x, int64_t y);

/* ---- integers and bits ---------------------------------------------------------------------- */

/* The greatest common divisor; gcd(0, 0) is 0. */
IG_API ig_array *ig_gcd(ig_array *x1, ig_array *x2);
/* The least common multiple; 0 if one is 0. */
IG_API ig_array *ig_lcm(ig_array *x1, ig_array *x2);
/* u8: the number of bits that are set in the absolute value of x. */
IG_API ig_array *ig_bitwise_count(ig_array *x);
/* The number of leading bits of x that are 0, in its dtype. */
IG_API ig_array *ig_clz(ig_array *x);
/* u8: eight elements that are not zero or zero as the bits of one, zeros added at the end. The
 * first is the highest bit ('big') or the lowest ('little'). Axis None flattens. */
IG_API ig_array *ig_packbits(ig_array *x, ig_ints axis, const char *bitorder);
/* u8: the bits of integers, as u8, along axis, which gets eight times as long; count of them, or
 * without the last -count. The order is that of packbits. */
IG_API ig_array *ig_unpackbits(ig_array *x, ig_ints axis, int64_t count, const char *bitorder);

/* ---- along an axis -------------------------------------------------------------------------- */

/* x with multiples of period (2 pi) added, so that neighbours differ by at most half a period.
 * Differences up to discont are left as they are. */
IG_API ig_array *ig_unwrap(ig_array *x, double discont, int axis, double period);
/* Running log(sum(exp(x))) along axis without overflow; None only for 1-d x. */
IG_API ig_array *ig_cumulative_logsumexp(ig_array *x, ig_ints axis);

/* ---- special functions ---------------------------------------------------------------------- */

/* The logarithm of the absolute value of gamma(x). */
IG_API ig_array *ig_lgamma(ig_array *x);
/* The gamma function; exact for small integers. NaN at negative integers, an infinity with the sign
 * of x at 0. */
IG_API ig_array *ig_gamma(ig_array *x);
/* The derivative of lgamma(x); NaN at negative integers. */
IG_API ig_array *ig_digamma(ig_array *x);
/* gamma(n + 1); 0 below 0. */
IG_API ig_array *ig_factorial(ig_array *n);
/* The sign of gamma(x); NaN at negative integers. */
IG_API ig_array *ig_gammasgn(ig_array *x);
/* The n-th derivative of digamma(x); n is a whole number. */
IG_API ig_array *ig_polygamma(ig_array *n, ig_array *x);
/* The zeta function of Hurwitz, the sum of 1 / (q + k)**x over k >= 0, for x above 1. Without q,
 * the zeta function of Riemann, for any x. */
IG_API ig_array *ig_zeta(ig_array *x, ig_array *q);
/* The beta function: gamma(x1) * gamma(x2) / gamma(x1 + x2). */
IG_API ig_array *ig_beta(ig_array *x1, ig_array *x2);
/* The logarithm of the absolute value of beta(x1, x2). */
IG_API ig_array *ig_betaln(ig_array *x1, ig_array *x2);
/* Pochhammer's symbol: gamma(x1 + x2) / gamma(x1). */
IG_API ig_array *ig_poch(ig_array *x1, ig_array *x2);
/* The number of ways to choose k of N things, with repetition or without; 0 outside of 0 <= k <=
 * N. */
IG_API ig_array *ig_comb(ig_array *N, ig_array *k, bool repetition);
/* The logarithm of the multivariate gamma function of dimension d. */
IG_API ig_array *ig_multigammaln(ig_array *a, int64_t d);
/* 1 - erf(x), accurate for large x. */
IG_API ig_array *ig_erfc(ig_array *x);
/* exp(x**2) * erfc(x), without overflow of either for large x. */
IG_API ig_array *ig_erfcx(ig_array *x);
/* The distribution function of the standard normal distribution. */
IG_API ig_array *ig_ndtr(ig_array *x);
/* The inverse of ndtr: infinite at 0 and 1, NaN outside. Accurate for p near 0. */
IG_API ig_array *ig_ndtri(ig_array *p);
/* The logarithm of ndtr(x), without underflow. */
IG_API ig_array *ig_log_ndtr(ig_array *x);
/* log(x / (1 - x)), accurate near 1/2. The inverse of sigmoid. */
IG_API ig_array *ig_logit(ig_array *x);
/* -x * log(x); 0 at 0, -inf below. */
IG_API ig_array *ig_entr(ig_array *x);
/* x1 * log(x1 / x2); 0 where x1 is 0 and x2 is not negative, else infinite where an argument is not
 * positive. */
IG_API ig_array *ig_rel_entr(ig_array *x1, ig_array *x2);
/* x1 * log1p(x2); 0 where x1 is 0, unless x2 is NaN. */
IG_API ig_array *ig_xlog1py(ig_array *x1, ig_array *x2);
/* The modified Bessel function of order 0. */
IG_API ig_array *ig_i0(ig_array *x);
/* exp(-abs(x)) * i0(x). */
IG_API ig_array *ig_i0e(ig_array *x);
/* The modified Bessel function of order 1. */
IG_API ig_array *ig_i1(ig_array *x);
/* exp(-abs(x)) * i1(x). */
IG_API ig_array *ig_i1e(ig_array *x);
/* The Bessel functions of the first kind of the orders 0 to v, stacked as a first axis; v is at
 * most 128. Errors are absolute: up to 1e-14 for f64, 1e-6 for f32. */
IG_API ig_array *ig_bessel_jn(ig_array *z, int64_t v);
/* The integral of exp(-t) / t from x to infinity; NaN for negative x. */
IG_API ig_array *ig_exp1(ig_array *x);
/* The integral of exp(-x * t) / t**n over t from 1 to infinity; n is a whole number. NaN for
 * negative n or x. */
IG_API ig_array *ig_expn(ig_array *n, ig_array *x);
/* The integral of exp(t) / t from -infinity to x. */
IG_API ig_array *ig_expi(ig_array *x);
/* Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x. */
IG_API ig_array *ig_dawsn(ig_array *x);
/* Spence's function, the dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x. NaN
 * for negative x. */
IG_API ig_array *ig_spence(ig_array *x);
/* Owen's T function: exp(-h**2 * (1 + x**2) / 2) / (2 * pi * (1 + x**2)), integrated over x from 0
 * to a. */
IG_API ig_array *ig_owens_t(ig_array *h, ig_array *a);
/* The Faddeeva function exp(-z**2) * erfc(-1j * z), as a complex array. Above the real axis, errors
 * are some ulp of the absolute value. */
IG_API ig_array *ig_wofz(ig_array *z);
/* The integral of sin(t) / t from 0 to x, and that of cos(t) / t from infinity to x, which is NaN
 * for negative x. */
IG_API int ig_sici(ig_array *x, ig_array *out[2]);
/* Fresnel's integrals of sin(pi * t**2 / 2) and cos(pi * t**2 / 2) from 0 to x. */
IG_API int ig_fresnel(ig_array *x, ig_array *out[2]);
/* The share of gamma(a) that the integral of t**(a - 1) * exp(-t) has from 0 to x. */
IG_API ig_array *ig_gammainc(ig_array *a, ig_array *x);
/* 1 - gammainc(a, x); small results are accurate for x above a + 1. */
IG_API ig_array *ig_gammaincc(ig_array *a, ig_array *x);
/* The share of beta(a, b) that the integral of t**(a - 1) * (1 - t)**(b - 1) has from 0 to x, which
 * is within [0, 1]. */
IG_API ig_array *ig_betainc(ig_array *a, ig_array *b, ig_array *x);

/* ---- shapes --------------------------------------------------------------------------------- */

/* Arrays stacked, cut, and put into other shapes. They are views where strides can express them. */

/* x with at least 1 axis. */
IG_API ig_array *ig_atleast_1d(ig_array *x);
/* x with at least 2 axes; a 1-d x is a row. */
IG_API ig_array *ig_atleast_2d(ig_array *x);
/* x with at least 3 axes: (1, n, 1) of a 1-d x, (m, n, 1) of a matrix. */
IG_API ig_array *ig_atleast_3d(ig_array *x);
/* arrays joined along axis 1; 1-d arrays along axis 0. */
IG_API ig_array *ig_hstack(ig_array *const *arrays, int n);
/* arrays joined along axis 0; 1-d arrays are rows. */
IG_API ig_array *ig_vstack(ig_array *const *arrays, int n);
/* arrays joined along axis 2, after atleast_3d. */
IG_API ig_array *ig_dstack(ig_array *const *arrays, int n);
/* 1-d arrays as columns, and matrices, joined along axis 1. */
IG_API ig_array *ig_column_stack(ig_array *const *arrays, int n);
/* x with values at the end of axis; None flattens both. */
IG_API ig_array *ig_append(ig_array *x, ig_array *values, ig_ints axis);
/* x with values before the indices obj of axis; None flattens x. One index takes one or several
 * values, several take one each. values broadcast. */
IG_API ig_array *ig_insert(ig_array *x, ig_ints obj, ig_array *values, ig_ints axis);
/* x without the indices obj of axis; None flattens x. */
IG_API ig_array *ig_delete(ig_array *x, ig_ints obj, ig_ints axis);
/* x cut into parts along axis, of which the first may be longer by 1 (one number), or before each
 * index. */
IG_API int ig_array_split(ig_array *x, ig_ints indices_or_sections, int axis, ig_array **out,
                          int max_out);
/* x split along axis 1; a 1-d x along axis 0. */
IG_API int ig_hsplit(ig_array *x, ig_ints indices_or_sections, ig_array **out, int max_out);
/* x split along axis 0. */
IG_API int ig_vsplit(ig_array *x, ig_ints indices_or_sections, ig_array **out, int max_out);
/* x split along axis 2. */
IG_API int ig_dsplit(ig_array *x, ig_ints indices_or_sections, ig_array **out, int max_out);
/* The axes from start_axis to end_axis as one, in row-major order; a 0-d x gets one axis. */
IG_API ig_array *ig_flatten(ig_array *x, int64_t start_axis, int64_t end_axis);
/* axis as several axes of that shape; one may be -1. */
IG_API ig_array *ig_unflatten(ig_array *x, int axis, ig_ints shape);
/* axis moved before the axis start, as a view. */
IG_API ig_array *ig_rollaxis(ig_array *x, int axis, int64_t start);
/* The elements of x in row-major order in another shape, repeated or cut off; zeros if there are
 * none. */
IG_API ig_array *ig_resize(ig_array *x, ig_ints new_shape);
/* A matrix with x, which is 1-d, on its k-th diagonal; of a matrix x: its k-th diagonal, as a
 * view. */
IG_API ig_array *ig_diag(ig_array *x, int64_t k);
/* A matrix with the elements of x on its k-th diagonal. */
IG_API ig_array *ig_diagflat(ig_array *x, int64_t k);
/* x with val on its main diagonal: one number, or elements that are repeated. With wrap the
 * diagonal of a tall matrix starts again after each block. */
IG_API ig_array *ig_fill_diagonal(ig_array *x, ig_array *val, bool wrap);
/* Differences of successive elements of the flattened x, with to_begin before and to_end after
 * them. */
IG_API ig_array *ig_ediff1d(ig_array *x, ig_array *to_end, ig_array *to_begin);
/* All windows of that shape along the axes, as a view with the axes of the window at the end. */
IG_API ig_array *ig_sliding_window_view(ig_array *x, ig_ints window_shape, ig_ints axis);
/* out[i, j] = flat[offset + i * strides[0] + j * strides[1]], where flat is x in row-major order;
 * as a view. Places outside of x are refused. */
IG_API ig_array *ig_as_strided(ig_array *x, ig_ints shape, ig_ints strides, int64_t offset);
/* The 1-d x without zeros at its front (trim has an f) and back (b); evaluates x. */
IG_API ig_array *ig_trim_zeros(ig_array *x, const char *trim);

/* ---- grids and indices ---------------------------------------------------------------------- */

/* Arrays of indices; they are i64. */

/* An N by M matrix with ones on the k-th diagonal and below, else zeros; M None is N. */
IG_API ig_array *ig_tri(int64_t N, int64_t M, int64_t k, ig_dtype dtype);
/* num values from base**start to base**stop, with equal ratios. */
IG_API ig_array *ig_logspace(double start, double stop, int64_t num, bool endpoint, double base,
                             ig_dtype dtype);
/* num values from start to stop, with equal ratios. Both have the same sign and are not 0. */
IG_API ig_array *ig_geomspace(double start, double stop, int64_t num, bool endpoint,
                              ig_dtype dtype);
/* out[k] is the index along axis k of each element of an array of that shape. */
IG_API ig_array *ig_indices(ig_ints dimensions, ig_dtype dtype);
/* The index along one axis of each element of an array of that shape. */
IG_API ig_array *ig_broadcasted_iota(ig_dtype dtype, ig_ints shape, int64_t dimension);
/* The indices of the main diagonal of an array of ndim axes of length n. */
IG_API int ig_diag_indices(int n, int64_t ndim, ig_array **out, int max_out);
/* The rows and columns of the elements of an n by m matrix on the k-th diagonal and below; m None
 * is n. */
IG_API int ig_tril_indices(int n, int64_t k, int64_t m, ig_array *out[2]);
/* The rows and columns of the elements of an n by m matrix on the k-th diagonal and above; m None
 * is n. */
IG_API int ig_triu_indices(int n, int64_t k, int64_t m, ig_array *out[2]);
/* Positions in row-major order as indices along each axis of an array of that shape. */
IG_API int ig_unravel_index(ig_array *indices, ig_ints shape, ig_array **out, int max_out);
/* Indices along each axis as positions in row-major order. Indices out of bounds are an error
 * ('raise'), or are taken modulo the length ('wrap') or clipped ('clip'). */
IG_API ig_array *ig_ravel_multi_index(ig_array *const *multi_index, int n, ig_ints dims,
                                      const char *mode);

/* ---- signals -------------------------------------------------------------------------------- */

/* The convolution of arrays with the same number of axes: all of it ('full'), where they overlap
 * completely ('valid'), or the middle ('same') in the shape of x1, for 1-d arrays of the longer
 * one. */
IG_API ig_array *ig_convolve(ig_array *x1, ig_array *x2, const char *mode);
/* The sums of x1[i + k] * conj(x2[i]) for each k; mode as for convolve. */
IG_API ig_array *ig_correlate(ig_array *x1, ig_array *x2, const char *mode);
/* The triangular window of M points; without sym one period of a periodic one. */
IG_API ig_array *ig_bartlett(int64_t M, bool sym, ig_dtype dtype);
/* The Blackman window: 0.42 + 0.5 * cos(t) + 0.08 * cos(2 * t), t from -pi to pi. */
IG_API ig_array *ig_blackman(int64_t M, bool sym, ig_dtype dtype);
/* The Hamming window: 0.54 + 0.46 * cos(t), t from -pi to pi. */
IG_API ig_array *ig_hamming(int64_t M, bool sym, ig_dtype dtype);
/* The Hann window: 0.5 + 0.5 * cos(t), t from -pi to pi. */
IG_API ig_array *ig_hanning(int64_t M, bool sym, ig_dtype dtype);
/* The piecewise linear function through the points (xp, fp) at x. xp is ascending. Below and above
 * it the value is left and right, or the first and last of fp. With period, x and xp are taken
 * modulo it, and xp needs no order. */
IG_API ig_array *ig_interp(ig_array *x, ig_array *xp, ig_array *fp, ig_array *left, ig_array *right,
                           double period);
/* Slopes of x along each axis, by central differences; at the ends by one-sided ones of order 1 or
 * 2. spacing is one number for all axes, or for each axis a number or its coordinates. For several
 * axes they are stacked along a new first axis. */
IG_API ig_array *ig_gradient(ig_array *x, ig_array *const *spacing, int n, ig_ints axis,
                             int64_t edge_order);
/* Running integrals of y along axis by the trapezoidal rule, at the places x or dx apart.
 * include_initial prepends a 0. */
IG_API ig_array *ig_cumulative_trapezoid(ig_array *y, ig_array *x, double dx, int axis,
                                         bool include_initial);
/* The cross product of vectors of 3 elements along axis, the rest broadcast. Of vectors of 2: its
 * third component, without that axis. */
IG_API ig_array *ig_cross(ig_array *x1, ig_array *x2, int axis);

/* ---- polynomials ---------------------------------------------------------------------------- */

/* 1-d arrays of coefficients, the highest power first. Zeros in front are kept. */

/* The polynomial p at x, by Horner's rule. */
IG_API ig_array *ig_polyval(ig_array *p, ig_array *x);
/* The sum of polynomials. */
IG_API ig_array *ig_polyadd(ig_array *p1, ig_array *p2);
/* The difference of polynomials. */
IG_API ig_array *ig_polysub(ig_array *p1, ig_array *p2);
/* The product of polynomials. */
IG_API ig_array *ig_polymul(ig_array *p1, ig_array *p2);
/* The quotient and the remainder of polynomials; v[0] is not 0. */
IG_API int ig_polydiv(ig_array *u, ig_array *v, ig_array *out[2]);
/* The m-th derivative of a polynomial; i64 for integers. */
IG_API ig_array *ig_polyder(ig_array *p, int64_t m);
/* The m-th antiderivative of a polynomial; k has the constants, the first for the first
 * integration, or one for all. */
IG_API ig_array *ig_polyint(ig_array *p, int64_t m, ig_array *k);
/* The polynomial with these zeros, which are 1-d, and the leading coefficient 1. */
IG_API ig_array *ig_poly(ig_array *zeros);

/* ---- statistics ----------------------------------------------------------------------------- */

/* NaN gives NaN, except in functions whose name begins with nan: they leave it out. */

/* The median: the mean of the two elements in the middle. */
IG_API ig_array *ig_median(ig_array *x, ig_ints axis, bool keepdims);
/* The elements below which the fractions q of all elements are. The axes of q come first in the
 * result. method is one of NumPy's: linear, lower, higher, midpoint, nearest, inverted_cdf,
 * averaged_inverted_cdf, closest_observation, interpolated_inverted_cdf, hazen, weibull,
 * median_unbiased or normal_unbiased. weights need inverted_cdf; they have the shape of x, or there
 * is one for each element of axis. A q outside [0, 1] in an array gives NaN. */
IG_API ig_array *ig_quantile(ig_array *x, ig_array *q, ig_ints axis, const char *method,
                             bool keepdims, ig_array *weights);
/* quantile(x, q / 100, ...). */
IG_API ig_array *ig_percentile(ig_array *x, ig_array *q, ig_ints axis, const char *method,
                               bool keepdims, ig_array *weights);
/* The median of the elements that are not NaN; NaN if there are none. */
IG_API ig_array *ig_nanmedian(ig_array *x, ig_ints axis, bool keepdims);
/* Quantile of the elements that are not NaN; NaN if there are none. */
IG_API ig_array *ig_nanquantile(ig_array *x, ig_array *q, ig_ints axis, const char *method,
                                bool keepdims, ig_array *weights);
/* nanquantile(x, q / 100, ...). */
IG_API ig_array *ig_nanpercentile(ig_array *x, ig_array *q, ig_ints axis, const char *method,
                                  bool keepdims, ig_array *weights);
/* The sum of the elements that are not NaN; 0 if there are none. */
IG_API ig_array *ig_nansum(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims);
/* The product of the elements that are not NaN; 1 if there are none. */
IG_API ig_array *ig_nanprod(ig_array *x, ig_ints axis, ig_dtype dtype, bool keepdims);
/* The largest of the elements that are not NaN; NaN if there are none. */
IG_API ig_array *ig_nanmax(ig_array *x, ig_ints axis, bool keepdims);
/* The smallest of the elements that are not NaN; NaN if there are none. */
IG_API ig_array *ig_nanmin(ig_array *x, ig_ints axis, bool keepdims);
/* The mean of the elements that are not NaN; NaN if there are none. */
IG_API ig_array *ig_nanmean(ig_array *x, ig_ints axis, bool keepdims);
/* The standard deviation of the n elements that are not NaN; n - correction is the divisor. NaN if
 * it is not above 0. */
IG_API ig_array *ig_nanstd(ig_array *x, ig_ints axis, double correction, bool keepdims);
/* The variance of the n elements that are not NaN; n - correction is the divisor. NaN if it is not
 * above 0. */
IG_API ig_array *ig_nanvar(ig_array *x, ig_ints axis, double correction, bool keepdims);
/* i64 index of the first largest element that is not NaN; -1 if there is none. */
IG_API ig_array *ig_nanargmax(ig_array *x, ig_ints axis, bool keepdims);
/* i64 index of the first smallest element that is not NaN; -1 if there is none. */
IG_API ig_array *ig_nanargmin(ig_array *x, ig_ints axis, bool keepdims);
/* Running sums along axis, with 0 for NaN; None flattens. */
IG_API ig_array *ig_nancumsum(ig_array *x, ig_ints axis, ig_dtype dtype);
/* Running products along axis, with 1 for NaN; None flattens. */
IG_API ig_array *ig_nancumprod(ig_array *x, ig_ints axis, ig_dtype dtype);
/* The most frequent element along axis and its i64 count; of several the smallest. None flattens.
 * NaN if there is one. */
IG_API int ig_mode(ig_array *x, ig_ints axis, bool keepdims, ig_array *out[2]);

/* ---- counts --------------------------------------------------------------------------------- */

/* i64 counts of the elements in bins, or sums of their weights; and the edges. bins is a number of
 * equal bins between the bounds of range (by default the smallest and the largest element), or the
 * rising edges. The last bin has its upper edge, too. density divides by the sum and the width of
 * the bin. */
IG_API int ig_histogram(ig_array *x, ig_array *bins, ig_array *range, bool density,
                        ig_array *weights, ig_array *out[2]);
/* Float counts of the points (x, y) in a grid of bins, the edges along x and those along y. bins is
 * a number, two numbers, or two arrays of edges. */
IG_API int ig_histogram2d(ig_array *x, ig_array *y, ig_array *const *bins, int n, ig_array *range,
                          bool density, ig_array *weights, ig_array *out[3]);
/* Float counts of the rows of sample (N, D) in a D-dimensional grid of bins, and the edges along
 * each axis. */
IG_API int ig_histogramdd(ig_array *sample, ig_array *const *bins, int n, ig_array *range,
                          bool density, ig_array *weights, ig_array **out, int max_out);
/* The edges of the bins of histogram. */
IG_API ig_array *ig_histogram_bin_edges(ig_array *x, ig_array *bins, ig_array *range,
                                        ig_array *weights);
/* i64 counts of the integers 0, 1, ... in the 1-d x, or sums of their weights, as floats. The
 * result has max(x) + 1 elements, at least minlength; evaluates x. With length nothing is
 * evaluated, and larger integers are not counted. */
IG_API ig_array *ig_bincount(ig_array *x, ig_array *weights, int64_t minlength, int64_t length);
/* i64 indices of the bins of x: bins[i - 1] <= x < bins[i], or bins[i - 1] < x <= bins[i] with
 * right. bins rise or fall. */
IG_API ig_array *ig_digitize(ig_array *x, ig_array *bins, bool right);

/* ---- sets ----------------------------------------------------------------------------------- */

/* Sets are flattened and may have repeated elements; results are sorted 1-d arrays. The shape of a
 * result depends on the  elements: the inputs are evaluated. As in NumPy, NaN is one element, and
 * equals none in a comparison of sets. */

/* The sorted distinct elements of x, or its distinct slices along axis; then, as asked, where each
 * is first, the indices that give x again (in its shape, or 1-d with axis), and how often each
 * occurs; evaluates x. NaN is one element, unless equal_nan is false; in slices each is
 * distinct. */
IG_API int ig_unique(ig_array *x, bool return_index, bool return_inverse, bool return_counts,
                     ig_ints axis, bool equal_nan, ig_array **out, int max_out);
/* The distinct elements of x1 and x2, sorted. */
IG_API ig_array *ig_union1d(ig_array *x1, ig_array *x2);
/* The elements that are in both x1 and x2, sorted; with return_indices also where each is first in
 * them. */
IG_API int ig_intersect1d(ig_array *x1, ig_array *x2, bool assume_unique, bool return_indices,
                          ig_array **out, int max_out);
/* The distinct elements of x1 that are not in x2, sorted. With assume_unique in the order of x1. */
IG_API ig_array *ig_setdiff1d(ig_array *x1, ig_array *x2, bool assume_unique);
/* The elements that are in one of x1 and x2 only, sorted. */
IG_API ig_array *ig_setxor1d(ig_array *x1, ig_array *x2, bool assume_unique);

/* ---- order ---------------------------------------------------------------------------------- */

/* i64 indices that sort by several keys: by the last one, where it has equal elements by the one
 * before it, and so on. keys is a list of arrays, or one array of them. */
IG_API ig_array *ig_lexsort(ig_array *const *keys, int n, int axis);
/* x with the kth smallest element along axis at its place, none larger before it and none smaller
 * after it; None flattens. All elements are sorted. */
IG_API ig_array *ig_partition(ig_array *x, ig_ints kth, ig_ints axis);
/* i64 indices that partition x along axis; None flattens. */
IG_API ig_array *ig_argpartition(ig_array *x, ig_ints kth, ig_ints axis);
/* Eigenvalues, ascending, and eigenvectors, the columns of a matrix, of Hermitian matrices. Only
 * the lower triangle is read ('U': the upper one). The component of largest modulus of each vector
 * is real and positive. Evaluation fails if an element is not finite. Gradient: that of the
 * Hermitian matrix, in the triangle that is read; terms of vectors with equal eigenvalues, where it
 * does not exist, are left out. */
IG_API int ig_eigh(ig_array *x, const char *UPLO, ig_array *out[2]);
/* Eigenvalues of Hermitian matrices, ascending; see eigh. */
IG_API ig_array *ig_eigvalsh(ig_array *x, const char *UPLO);
/* u, s and vh with x = u @ diag(s) @ vh: singular values, descending, and vectors; only s without
 * compute_uv. With full_matrices u and vh are square; else they have as many vectors as s has
 * values. In the set with fewer components, the component of largest modulus of each vector is real
 * and positive (that of vh in square matrices). Evaluation fails if an element is not finite.
 * Gradient: terms of vectors with equal singular values are left out; vectors that complete a basis
 * have none. */
IG_API int ig_svd(ig_array *x, bool full_matrices, bool compute_uv, ig_array **out, int max_out);
/* Singular values, descending; see svd. */
IG_API ig_array *ig_svdvals(ig_array *x);
/* The pseudoinverse: singular values of at most rtol times the largest count as 0. None: the larger
 * length of a matrix times the epsilon of the dtype. */
IG_API ig_array *ig_pinv(ig_array *x, ig_array *rtol);
/* i64: the number of singular values above tol, or else above rtol times the largest. None: the
 * larger length of a matrix times the epsilon of the dtype. */
IG_API ig_array *ig_matrix_rank(ig_array *x, ig_array *tol, ig_array *rtol);
/* The x of least length that minimizes the length of b - a @ x, the sums of squares of b - a @ x,
 * the rank of a (i64) and its singular values. Singular values of at most rcond times the largest
 * count as 0. None: the larger length of a times the epsilon of the dtype. b is a vector or has
 * columns; leading axes broadcast. The sums of squares are given for each rank. */
IG_API int ig_lstsq(ig_array *a, ig_array *b, ig_array *rcond, ig_array *out[4]);
/* Condition numbers: the norm of x times that of its inverse. p: None or 2: the largest singular
 * value divided by the smallest; -2: the inverse of that; 'fro', 'nuc', 1, -1, inf, -inf: norms of
 * square matrices. inf if x is singular. */
IG_API ig_array *ig_cond(ig_array *x, double p);
/* The coefficients of the polynomial of degree deg that fits y at the places x best, highest power
 * first. y has a column for each polynomial, or one axis. Residuals are weighted by w. rcond: as
 * for lstsq; None: the number of places times the epsilon of the dtype. */
IG_API ig_array *ig_polyfit(ig_array *x, ig_array *y, int64_t deg, ig_array *rcond, ig_array *w);
/* Eigenvalues and eigenvectors, the columns of a matrix, of square matrices. Both are always
 * complex, also where all eigenvalues are real, and are in no order. Vectors have the length 1, and
 * the component of largest modulus is real and positive. Evaluation fails if an element is not
 * finite. Gradient: terms of vectors with equal eigenvalues, where it does not exist, are left
 * out. */
IG_API int ig_eig(ig_array *x, ig_array *out[2]);
/* Eigenvalues of square matrices, complex and in no order; see eig. */
IG_API ig_array *ig_eigvals(ig_array *x);
/* The zeros of the polynomial with these coefficients, highest power first: the eigenvalues of its
 * companion matrix, complex and in no order. Evaluation fails if the first coefficient is 0. */
IG_API ig_array *ig_roots(ig_array *p);

/* ---- distributions -------------------------------------------------------------------------- */

/* shape None is the shape that the parameters have together; a shape that is given includes it. The
 * same key gives the same  bits on every device. dtype None is the dtype of the parameters. Numbers
 * drawn by rejection (gamma and those made of it,  counts, vonmises) have no gradient with respect
 * to the parameters of the rejection. Counts are -1 where a  parameter is invalid; floats are
 * NaN. */

/* loc + scale * g, with the density exp(-g - exp(-g)) of g. */
IG_API ig_array *ig_gumbel(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *loc,
                           ig_array *scale);
/* loc + scale * x, with the density exp(-abs(x)) / 2 of x. */
IG_API ig_array *ig_laplace(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *loc,
                            ig_array *scale);
/* loc + scale * x, with the distribution sigmoid(x). */
IG_API ig_array *ig_logistic(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *loc,
                             ig_array *scale);
/* loc + scale * x, with the density 1 / (pi * (1 + x**2)) of x. */
IG_API ig_array *ig_cauchy(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *loc,
                           ig_array *scale);
/* exp(mean + sigma * z), z normal. */
IG_API ig_array *ig_lognormal(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *mean,
                              ig_array *sigma);
/* scale * x, with the density exp(-x) of x. */
IG_API ig_array *ig_exponential(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *scale);
/* The length of a vector of two normal numbers with deviation scale. */
IG_API ig_array *ig_rayleigh(ig_array *key, ig_ints shape, ig_dtype dtype, ig_array *scale);
/* The Lomax distribution, with the density a / (1 + x)**(a + 1); plus 1, it is the classical Pareto
 * distribution. */
IG_API ig_array *ig_pareto(ig_array *key, ig_array *a, ig_ints shape, ig_dtype dtype);
/* x**(1 / a), x exponential. */
IG_API ig_array *ig_weibull(ig_array *key, ig_array *a, ig_ints shape, ig_dtype dtype);
/* u**(1 / a), u uniform: the density a * x**(a - 1) in [0, 1]. */
IG_API ig_array *ig_random_power(ig_array *key, ig_array *a, ig_ints shape, ig_dtype dtype);
/* A density that rises linearly from left to mode and falls to right. */
IG_API ig_array *ig_triangular(ig_array *key, ig_array *left, ig_array *mode, ig_array *right,
                               ig_ints shape, ig_dtype dtype);
/* Normal numbers between lower and upper, both excluded. */
IG_API ig_array *ig_truncated_normal(ig_array *key, ig_array *lower, ig_array *upper, ig_ints shape,
                                     ig_dtype dtype);
/* The inverse Gaussian distribution. */
IG_API ig_array *ig_wald(ig_array *key, ig_array *mean, ig_array *scale, ig_ints shape,
                         ig_dtype dtype);
/* The number of trials up to the first success, which has probability p. */
IG_API ig_array *ig_geometric(ig_array *key, ig_array *p, ig_ints shape, ig_dtype dtype);
/* -1 or 1, each with probability 1/2. */
IG_API ig_array *ig_rademacher(ig_array *key, ig_ints shape, ig_dtype dtype);
/* The gamma distribution: the density x**(a - 1) * exp(-x), times scale. */
IG_API ig_array *ig_random_gamma(ig_array *key, ig_array *a, ig_ints shape, ig_dtype dtype,
                                 ig_array *scale);
/* Logarithms of gamma numbers, which may be too small for a float. */
IG_API ig_array *ig_random_loggamma(ig_array *key, ig_array *a, ig_ints shape, ig_dtype dtype);
/* The density x**(a - 1) * (1 - x)**(b - 1). */
IG_API ig_array *ig_random_beta(ig_array *key, ig_array *a, ig_array *b, ig_ints shape,
                                ig_dtype dtype);
/* The sum of the squares of df normal numbers. */
IG_API ig_array *ig_chisquare(ig_array *key, ig_array *df, ig_ints shape, ig_dtype dtype);
/* Student's t with df degrees of freedom. */
IG_API ig_array *ig_standard_t(ig_array *key, ig_array *df, ig_ints shape, ig_dtype dtype);
/* The ratio of two chi-square numbers, each divided by its degrees of freedom. */
IG_API ig_array *ig_random_f(ig_array *key, ig_array *dfnum, ig_array *dfden, ig_ints shape,
                             ig_dtype dtype);
/* Chi-square of df degrees of freedom and 2 more for each of a Poisson number with mean nonc /
 * 2. */
IG_API ig_array *ig_noncentral_chisquare(ig_array *key, ig_array *df, ig_array *nonc, ig_ints shape,
                                         ig_dtype dtype);
/* random_f with a noncentral numerator. */
IG_API ig_array *ig_noncentral_f(ig_array *key, ig_array *dfnum, ig_array *dfden, ig_array *nonc,
                                 ig_ints shape, ig_dtype dtype);
/* Random shares of 1 along a new last axis, from gamma numbers with the parameters alpha. shape
 * None: one draw for each row of alpha. */
IG_API ig_array *ig_dirichlet(ig_array *key, ig_array *alpha, ig_ints shape, ig_dtype dtype);
/* The number of events where lam are expected. */
IG_API ig_array *ig_poisson(ig_array *key, ig_array *lam, ig_ints shape, ig_dtype dtype);
/* The number of successes in n trials, each with probability p. */
IG_API ig_array *ig_binomial(ig_array *key, ig_array *n, ig_array *p, ig_ints shape,
                             ig_dtype dtype);
/* The number of good ones among nsample of ngood + nbad that are drawn without putting them back.
 * Takes as many steps as draws. */
IG_API ig_array *ig_hypergeometric(ig_array *key, ig_array *ngood, ig_array *nbad,
                                   ig_array *nsample, ig_ints shape, ig_dtype dtype);
/* k with probability proportional to k**-a, a > 1. */
IG_API ig_array *ig_zipf(ig_array *key, ig_array *a, ig_ints shape, ig_dtype dtype);
/* k with probability proportional to p**k / k. */
IG_API ig_array *ig_logseries(ig_array *key, ig_array *p, ig_ints shape, ig_dtype dtype);
/* The number of failures before n successes, which have probability p. */
IG_API ig_array *ig_negative_binomial(ig_array *key, ig_array *n, ig_array *p, ig_ints shape,
                                      ig_dtype dtype);
/* How many of n trials give each of the categories of the last axis of p, whose probabilities are
 * proportional to p. shape None: one draw for each row of p. */
IG_API ig_array *ig_multinomial(ig_array *key, ig_array *n, ig_array *p, ig_ints shape,
                                ig_dtype dtype);
/* Angles in [-pi, pi] with the density exp(kappa * cos(x - mu)). */
IG_API ig_array *ig_vonmises(ig_array *key, ig_array *kappa, ig_ints shape, ig_dtype dtype,
                             ig_array *mu);
/* Normal vectors along a new last axis, with mean (N) and covariances (N, N). shape None is one
 * vector. */
IG_API ig_array *ig_multivariate_normal(ig_array *key, ig_array *mean, ig_array *cov, ig_ints shape,
                                        ig_dtype dtype);
/* Uniform orthogonal matrices, shape + (n, n). */
IG_API ig_array *ig_orthogonal(ig_array *key, int n, ig_ints shape, ig_dtype dtype);
/* Uniform points in the unit ball of the p-norm in d dimensions, shape + (d). */
IG_API ig_array *ig_ball(ig_array *key, int64_t d, double p, ig_ints shape, ig_dtype dtype);
/* Elements of x along axis, or of arange(x), drawn with equal probabilities or those proportional
 * to p. Without replace none is drawn twice. */
IG_API ig_array *ig_choice(ig_array *key, ig_array *x, ig_ints shape, bool replace, ig_array *p,
                           int axis);

#ifdef __cplusplus
}
#endif

#endif
