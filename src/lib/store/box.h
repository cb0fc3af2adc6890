/* Boxes of arrays: copies between strided arrays, and fill values. */
#ifndef STORE_BOX_H
#define STORE_BOX_H

#include "ingot/base.h"

/* The strides in bytes of a row-major array. */
void box_strides(int ndim, const int64_t *shape, size_t element_bytes, int64_t *strides);

/* Copies a box of the given size between two arrays. Strides are in bytes; `to` and `from` point at the first element of
 * the box. */
void box_copy(int ndim, const int64_t *size, void *to, const int64_t *to_strides, const void *from,
              const int64_t *from_strides, size_t element_bytes);

/* True if a box of that size has no gaps in a row-major array with these strides. */
bool box_is_dense(int ndim, const int64_t *size, const int64_t *strides, size_t element_bytes);

/* Fills a box with one element. */
void box_fill(int ndim, const int64_t *size, void *to, const int64_t *strides, const void *element,
              size_t element_bytes);

#endif
