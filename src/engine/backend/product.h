/* A contraction as matrix products, in the form that libraries and tensor cores take:
 *
 *   out[o, b, m, n] = sum over k of side0[o, b, m, k] * side1[o, b, n, k] (+ bias[n])
 *
 * Each of m, n and k is one axis. One of the two axes of a matrix has stride 1. */
#ifndef BACKEND_PRODUCT_H
#define BACKEND_PRODUCT_H

#include "engine/program/program.h"

/* One operand. Strides count elements. */
typedef struct product_side {
    int slot;
    int64_t offset;
    int64_t outer, batch; /* strides; 0: the same matrix for all */
    int64_t ld;           /* stride of the matrix axis that does not have stride 1 */
    bool k_inner;         /* k has stride 1; otherwise m (or n) has */
} product_side;

typedef struct product {
    ig_dtype in;  /* of the operands */
    ig_dtype out; /* of the result */
    int64_t outer, batch, m, n, k;
    product_side side[2];
    /* The result is contiguous. out_slot is -1 if it goes to scratch, because the epilogue is more than a bias. */
    int out_slot;
    int64_t out_offset;
    int bias_slot; /* -1: no bias. The bias has the dtype of the result */
    int64_t bias_offset;
} product;

/* False if the program is not a contraction of floats with such matrices. */
bool product_of(const program *p, product *out);

/* An epilogue that reads only the product, its bias and numbers, and whose result has the product's dtype. */
typedef struct product_epilogue {
    int first;  /* first instruction of the post tape after the bias */
    int value;  /* register of the product at that point: with the bias, rounded */
    int result; /* register that is stored, after rounding */
    /* The slot where the product itself is stored, too, contiguously; -1: it is not stored. */
    int kept_slot;
    int64_t kept_offset;
} product_epilogue;

/* Reads the epilogue of a product whose out_slot is -1, and sets its result and bias. by_value: for each slot, whether
 * it is a number. Returns false for any other epilogue, and leaves *c unchanged. */
bool product_epilogue_of(const program *p, const bool *by_value, product *c, product_epilogue *out);

/* The alignment in bytes, at most 16, of all elements at offset + i * stride in a buffer that is aligned to 16 bytes. */
int64_t product_alignment(int64_t offset, int64_t stride, ig_dtype dtype);

#endif
