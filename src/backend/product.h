/* A contraction as products of matrices, as libraries and tensor cores want them:
 *
 *   out[o, b, m, n] = sum over k of side0[o, b, m, k] * side1[o, b, n, k] (+ bias[n])
 *
 * Each of m, n and k is one axis. Of the two axes of a matrix, one has stride 1. */
#ifndef BACKEND_PRODUCT_H
#define BACKEND_PRODUCT_H

#include "program/program.h"

/* One operand. Strides count elements. */
typedef struct product_side {
    int slot;
    int64_t offset;
    int64_t outer, batch; /* strides; 0: the same matrix each time */
    int64_t ld;           /* stride of the other axis of the matrix */
    bool k_inner;         /* k has stride 1, else m (or n) has */
} product_side;

typedef struct product {
    ig_dtype in;  /* of the operands */
    ig_dtype out; /* of the result */
    int64_t outer, batch, m, n, k;
    product_side side[2];
    /* The result is contiguous. out_slot is -1 if it goes to scratch, for an epilogue that is not in bias. */
    int out_slot;
    int64_t out_offset;
    int bias_slot; /* -1: none. It has the dtype of the result */
    int64_t bias_offset;
} product;

/* False if the program is not a contraction of floats with such matrices. */
bool product_of(const program *p, product *out);

/* The address of an element that the launch binds is a multiple of this, in bytes, at most 16. */
int64_t product_alignment(int64_t offset, int64_t stride, ig_dtype dtype);

#endif
