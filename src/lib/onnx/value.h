/* A run-time value of an ONNX graph. See ig_onnx_value in ingot/onnx.h. */
#ifndef ONNX_VALUE_H
#define ONNX_VALUE_H

#include "lib/onnx/model.h"

struct ig_onnx_value {
    int references;
    ig_onnx_kind kind;
    ig_onnx_type type;
    ig_array *array; /* IG_ONNX_TENSOR; owned */
    ig_array *moved; /* the same on the last device that asked for it, or NULL; owned */
    /* A result of DequantizeLinear of integers, or a convolution of such: whole * scale, both owned; else NULL. whole is i32 in
     * the shape of array. scale is one number (0-d), or one for each index of scale_axis. */
    ig_array *whole, *scale;
    /* Of a constant: its numbers as blocks of MatMulNBits, with the values of scales and zero points (or NULL) that they
     * were packed with. All owned, or NULL. */
    ig_array *packed;
    struct ig_onnx_value *packed_with[2];
    /* For DequantizeLinear of bytes with one scale: the bytes, and their zero point or NULL; both owned. */
    ig_array *bytes, *zero;
    int scale_axis;
    enum { WHOLE_BYTES, WHOLE_INTS, WHOLE_SUMS } whole_kind;
    bool scale_varies; /* scale depends on the elements of the model's inputs */
    /* Decides which values a replay may keep: */
    bool varies; /* its elements depend on elements of the model's inputs, not only on shapes */
    /* IG_ONNX_TEXTS: strings in row-major order. */
    int64_t *shape;
    int ndim;
    onnx_bytes *texts;
    /* IG_ONNX_SEQUENCE and IG_ONNX_MAP. */
    struct ig_onnx_value **items;
    int n;
};

/* New values hold one reference; NULL on failure. value_array keeps a reference to x. value_list takes over the references of
 * its items, also on failure. value_texts copies. */
ig_onnx_value *value_nothing(ig_onnx_type type);
ig_onnx_value *value_array(ig_array *x, ig_onnx_type type);
ig_onnx_value *value_texts(const onnx_bytes *texts, ig_ints shape);
ig_onnx_value *value_list(ig_onnx_kind kind, ig_onnx_value *const *items, int n);
/* Copied data on device "cpu", such as a shape. */
ig_onnx_value *value_on_host(const void *data, ig_ints shape, ig_dtype dtype);
/* The number of elements of texts. */
int64_t value_elements(const ig_onnx_value *v);
/* The array of a tensor on a device. Borrowed; NULL after an error. keep: the value keeps it for the next call. Not for
 * arrays that are differentiated: the kept array loses its history. */
ig_array *value_on(ig_onnx_value *v, const char *device, bool keep);
/* v keeps x, blocks that v was packed into with the other values, and returns it; NULL after an error. */
ig_array *value_keep_packed(ig_onnx_value *v, ig_onnx_value *const with[2], ig_array *x);
/* The value of a tensor of a file. files: of its model; NULL: all elements are copied, and there is no external data. */
struct onnx_files;
ig_onnx_value *value_of_tensor(const onnx_tensor *t, struct onnx_files *files);
/* The same as a dense tensor. */
ig_onnx_value *value_of_sparse(const onnx_sparse *s, struct onnx_files *files);

#endif
