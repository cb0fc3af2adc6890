/* A contraction as products of matrices, as libraries and tensor cores want them:
 *
 *   out[o, b, m, n] = sum over k of side0[o, b, m, k] * side1[o, b, n, k] (+ bias[n])
 *
 * Each of m, n and k is one axis. Of the two axes of a matrix, one has stride 1. */
#ifndef BACKEND_PRODUCT_H
#define BACKEND_PRODUCT_H

#include "engine/program/program.h"

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

/* An epilogue that reads only the product, its bias and numbers, and has a result of the product's dtype. */
typedef struct product_epilogue {
    int first;  /* instruction of the post tape, behind the bias */
    int value;  /* register that has the product then, with the bias, rounded */
    int result; /* register that is stored, after rounding */
    /* The product may be stored, too, contiguously; -1: it is not. */
    int kept_slot;
    int64_t kept_offset;
} product_epilogue;

/* Reads the epilogue of a product whose out_slot is -1, and sets its result and bias. by_value: of each slot, whether it
 * is a number. False, with *c unchanged, if it is another epilogue. */
bool product_epilogue_of(const program *p, const bool *by_value, product *c, product_epilogue *out);

/* The address of an element that the launch binds is a multiple of this, in bytes, at most 16. */
int64_t product_alignment(int64_t offset, int64_t stride, ig_dtype dtype);

#endif
