/* Steps that ops of several groups share. Like ops of Ingot, they pass on NULL. */
#ifndef ONNX_OPS_PARTS_H
#define ONNX_OPS_PARTS_H

#include "lib/onnx/op.h"

/* x[start:stop] of one axis, as a view. A negative axis counts from the end. */
ig_array *part_slice(ig_array *x, int axis, int64_t start, int64_t stop);
/* x[start::step] of one axis, as a view. */
ig_array *part_every(ig_array *x, int axis, int64_t start, int64_t step);
/* x[i] of one axis, which is removed; a view. */
ig_array *part_at(ig_array *x, int axis, int64_t i);
/* Two arrays joined along an axis; the second alone if the first is NULL and no error waits. */
ig_array *part_join(ig_array *first, ig_array *second, int axis);
/* The 1-d x as axis `axis` of an array of ndim axes; the others have length 1. */
ig_array *part_along(ig_array *x, int ndim, int axis);
/* An axis of the node as an index in [0, ndim); an error if there is no such axis. */
int part_axis(onnx_call *c, const char *where, int64_t axis, int ndim);
/* x with each element of an axis repeated n times. */
ig_array *part_repeat(ig_array *x, int64_t n, int axis);
/* A 1-d array with a copy of n numbers. */
ig_array *part_floats(const float *v, int64_t n);
ig_array *part_ints(const int64_t *v, int64_t n);
/* 0, 1, ..., n - 1 of dtype i64. */
ig_array *part_count(int64_t n);
/* a / sqrt(mean(a**2) + epsilon) and so on are computed in f32 for f16 and bf16; this is the dtype to compute in. */
ig_dtype part_wide(ig_dtype dtype);
bool part_is_float(ig_dtype dtype);
/* Fails unless an input has this number of axes. */
bool part_ndim(onnx_call *c, const char *name, const ig_array *x, int ndim);

/* ---- quantized numbers (quantized.c) ---- */

/* The range of an integer type of ONNX. */
bool part_range(ig_onnx_type type, double *low, double *high);
/* round(x) + zero, saturated to an integer type, or converted to an 8-bit or 4-bit float type. zero may be NULL. */
ig_array *part_quantize(ig_array *x, ig_array *zero, ig_onnx_type type, bool saturate);
/* Input i, a zero point; NULL if it is absent, or known to be 0. */
ig_array *part_zero(onnx_call *c, int i);
/* True if inputs 0 and 1 are dequantized bytes, the first with one scale, the second with one, or one for each index of
 * `axis`. x gets their whole numbers (i32), and scale the product of both scales, of at most one axis. */
bool part_whole(onnx_call *c, int axis, ig_array *x[2], ig_array **scale);
/* If input 0 is dequantized bytes with one scale: returns the elements at the indices of an axis as output 0, and dequantizes
 * only these. Else false. */
bool part_gathers_bytes(onnx_call *c, ig_array *indices, int axis);
/* The same as part_whole for input 2, a bias: true if it is absent (*bias is NULL), or dequantized integers with the scale of the products.
 * *bias gets the integers. */
bool part_whole_bias(onnx_call *c, ig_array *scale, ig_array **bias);
/* Output 0: y = sums * scale. QuantizeLinear then multiplies the sums by the ratio of the scales. */
void part_return_sums(onnx_call *c, ig_array *y, ig_array *sums, ig_array *scale);
/* x as u8, with the scale and zero point that cover its range and 0. */
ig_array *part_quantize_range(ig_array *x, ig_array **scale, ig_array **zero);

#endif
