/* Boxes: parts of an index space. */
#ifndef PROGRAM_BOX_H
#define PROGRAM_BOX_H

#include "engine/array/view.h"

/* lo <= i < hi in each axis. */
typedef struct box {
    int64_t lo[IG_MAX_NDIM], hi[IG_MAX_NDIM];
} box;

int64_t box_size(const box *b, int ndim); /* number of elements */
box box_whole(int ndim, const int64_t *shape);
bool box_same(const box *a, const box *b, int ndim);
/* Copies `part` from an array that has the box a to one that has the box b. */
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

#endif
