/* One element of an array, as text. */
#ifndef IO_ELEMENT_H
#define IO_ELEMENT_H

#include "lib/io/decimal.h"

/* An element: a float, or 64 bits of an integer or bool. */
typedef union element {
    double f;
    int64_t i;
} element;

/* The i-th element of data. f16 and bf16 data must have been converted to f32. */
element element_at(const void *data, ig_dtype dtype, int64_t i);
/* Writes an integer, or a bool as 0 or 1. Returns the length. */
int element_write_whole(element v, ig_dtype dtype, char out[DECIMAL_BYTES]);

#endif
