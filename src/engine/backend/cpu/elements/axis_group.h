/* Groups of axes: a contraction's batches, rows, columns and k may each be several axes of an operand. */
#ifndef CPU_AXIS_GROUP_H
#define CPU_AXIS_GROUP_H

#include "engine/array/view.h"

/* The axes of a group, in order, with mergeable neighbours merged. */
typedef struct axis_group {
    int ndim;
    int64_t shape[IG_MAX_NDIM], stride[IG_MAX_NDIM];
} axis_group;

/* The group of v's axes first ... first + ndim. */
void axis_group_set(axis_group *g, const view *v, int first, int ndim);
/* offset[i] = the offset of point start + i of the group, for n points. */
void axis_group_offsets(const axis_group *g, int64_t start, int64_t n, int64_t *offset);
/* True if all points are one element. */
bool axis_group_is_constant(const axis_group *g);
/* True if the points are contiguous; true if the points of the last axis are, and there are several. */
bool axis_group_is_contiguous(const axis_group *g);
bool axis_group_ends_contiguous(const axis_group *g);
/* The distance between two points, if it is constant. */
static inline int64_t axis_group_step(const axis_group *g)
{
    return g->ndim > 0 ? g->stride[0] : 0;
}

#endif
