/* A node that native code of the device computes, for its builders (native.h) and for backends. */
#ifndef OPS_NATIVE_NODE_H
#define OPS_NATIVE_NODE_H

#include "ingot.h"

/* The computations, with a name for messages: see ops/attention.c, ops/conv.c and program/override.h. */
#define NATIVE_NODES(ROW) \
    ROW(ATTENTION, "attention") \
    ROW(ATTENTION_GRADIENT, "attention gradient") \
    ROW(CONVOLUTION, "convolution") \
    ROW(CONVOLUTION_GRADIENT_X, "convolution gradient of x") \
    ROW(CONVOLUTION_GRADIENT_WEIGHT, "convolution gradient of weight") \
    ROW(CHOLESKY, "cholesky") \
    ROW(LU, "lu") \
    ROW(TRIANGULAR, "solve_triangular") \
    ROW(QR, "qr") \
    ROW(EIGH, "eigh") \
    ROW(SVD, "svd") \
    ROW(FFT, "fft") \
    ROW(FFT_OF_REAL, "rfft") \
    ROW(FFT_TO_REAL, "irfft")

typedef enum native_kind {
#define NATIVE_KIND(kind, name) NATIVE_##kind,
    NATIVE_NODES(NATIVE_KIND) NATIVE_KINDS
#undef NATIVE_KIND
} native_kind;

/* A node that native code of the device computes, if the device offers it (above.device_offers). */
enum { NATIVE_NUMBERS = 20 };
typedef struct node_native {
    native_kind kind;
    ig_dtype dtype;                 /* the operands' dtype */
    ig_math math;                   /* IG_MATH_SAME is not allowed here */
    int64_t number[NATIVE_NUMBERS]; /* sizes and other parameters; see where the node is built */
    double scale;
    /* Inputs may be views of up to four axes whose rows lie at multiples of 16 bytes; others are copied first. */
    bool strided;
    bool
        many; /* other results are as right, such as vectors of the other sign: checks leave it out */
    /* The definition: builds the i-th result from inputs like the node's. For checks. If `dtype` is f64 and so are the
     * inputs, it computes in f64. */
    ig_array *(*define)(const struct node_native *n, ig_array *const *in, int i);
    /* The sum of the absolute values of the terms that each element of the i-th result adds up, for the bounds of
     * checks. NULL: the definition of absolute inputs. */
    ig_array *(*size)(const struct node_native *n, ig_array *const *in, int i);
    /* Builds all results for inputs with one more leading axis; returns their number, 0 on failure. NULL: vmap computes
     * slice after slice. */
    int (*batched)(const struct node_native *n, ig_array *const *in, ig_array **out);
    int own_axes; /* of an input, after the axes of its stacks; 0: batched does not take parts of stacks */
} node_native;

#endif
