/* Boxes: parts of an index space, and copies of their elements between strided arrays. */
#ifndef BASE_BOX_H
#define BASE_BOX_H

#include "ingot/base.h"

/* lo <= i < hi in each axis. */
typedef struct box {
    int64_t lo[IG_MAX_NDIM], hi[IG_MAX_NDIM];
} box;

int64_t box_size(const box *b, int ndim); /* number of elements */
void box_shape(const box *b, int ndim, int64_t *shape);
box box_whole(int ndim, const int64_t *shape);
bool box_same(const box *a, const box *b, int ndim);
/* Copies `part`, of elements of some bytes, from an array that has the box a to one that has the box b. */
void box_move(const box *part, int ndim, size_t bytes, const box *a, const char *from, const box *b,
              char *to);
void box_strides_of(const box *b, int ndim, int64_t *stride); /* of an array that has the box */
/* The place of a part's first element in an array that has the box b and these strides. */
int64_t box_place_in(const box *b, const int64_t *stride, const box *part, int ndim);
/* The part of the axes [first, ndim) of a shape that the linear range [from, to) of these axes covers, and the linear
 * index of its first element. It is contiguous in that order. */
int64_t box_of_range(const int64_t *shape, int first, int ndim, int64_t from, int64_t to, box *out);

/* True if the elements of b follow each other in an array of this shape. */
bool box_is_run(const box *b, int ndim, const int64_t *shape);
/* True if the part of b that a does not cover is one box, *rest (which may be empty), whose elements are contiguous in b.
 * Then *both is the part that a covers. Else *rest is b. */
bool box_reuse(const box *a, const box *b, int ndim, box *both, box *rest);

/* ---- elements ---- */

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
