/* Helpers that several groups of op functions share. */
#ifndef ONNX_OPS_COMMON_H
#define ONNX_OPS_COMMON_H

#include "lib/onnx/ops/ops.h"

bool is_float(ig_dtype dtype);
bool is_integer(ig_dtype dtype); /* without bool */

/* An axis within [0, ndim); fails and returns 0 if there is none. */
int op_axis(onnx_call *c, int64_t axis, int ndim);
/* The attribute "axis" within [0, ndim). */
int op_attribute_axis(onnx_call *c, int64_t otherwise, int ndim);
/* Axes within [0, ndim), ascending. Fails if one occurs twice. */
ig_ints op_axes(onnx_call *c, ig_ints axes, int ndim);
/* The list of the attribute `name`, or from version `since` on the list of input i; IG_NONE if absent. */
ig_ints op_list(onnx_call *c, const char *name, int since, int i);

/* All inputs as arrays. */
ig_array **op_arrays(onnx_call *c, int *n);
/* `made`, an array of the current device, on the device of x. */
ig_array *op_beside(ig_array *made, ig_array *x);
/* 0, 1, ... n - 1 of a dtype on the device of x. */
ig_array *op_iota(int64_t n, ig_dtype dtype, ig_array *x);
/* Numbers of another dtype on the device of x, which may lack f64: the CPU converts them. */
ig_array *op_numbers(const double *v, ig_ints shape, ig_dtype dtype, ig_array *x);
/* An i64 array on the CPU, where graphs are shaped. */
ig_array *op_host_ints(const int64_t *v, ig_ints shape);
/* Elements [start, stop) of one axis. */
ig_array *op_part(ig_array *x, int axis, int64_t start, int64_t stop);
/* x (C) in the shape (C, 1, ...) for an array of ndim axes with channels at axis 1. */
ig_array *op_channels(ig_array *x, int ndim);
/* Each axis padded by before[i] and after[i], which crop if negative. value NULL is 0. */
ig_array *pad_with(onnx_call *c, ig_array *x, const int64_t *before, const int64_t *after,
                   const char *mode, ig_array *value);
/* x in another dtype; NULL for NULL. */
ig_array *op_as(ig_array *x, ig_dtype dtype);
/* f16 and bf16 as f32, in which ops of several steps are computed; others unchanged. */
ig_array *op_wide(ig_array *x);
/* The lowest or the highest value of a dtype, infinite for floats, as a 0-d array. */
ig_array *op_extreme(ig_dtype dtype, bool highest);
/* INT64_MAX if it is larger. */
int64_t op_product(const int64_t *v, int n);
/* Fails and returns 0 unless the number is within [low, high]. */
int64_t op_within(onnx_call *c, const char *where, int64_t number, int64_t low, int64_t high);

/* A length that no axis reaches. Sums and differences of a few such numbers do not overflow. */
#define LENGTH_MOST (INT64_C(1) << 40)

/* The key of a node's random numbers: from its attribute seed, or another one in each run. */
ig_array *onnx_random_key(onnx_call *c, bool has_seed);

/* Ops that move elements also take tensors of strings. op_tokens is input i as an array; for strings the numbers of its
 * elements among all strings of the inputs. op_return_tokens sets output o: the strings again, or an array of input i's
 * element type. */
ig_array *op_tokens(onnx_call *c, int i);
void op_return_tokens(onnx_call *c, int o, int i, ig_array *x);

#endif
