/* Groups of axes: a contraction's batches, rows, columns and k may each be several axes of an operand. */
#ifndef CPU_AXIS_GROUP_H
#define CPU_AXIS_GROUP_H

#include "array/view.h"

/* One group of an operand's axes: the same points in the same order, neighbours merged. */
typedef struct axis_group {
    int ndim;
    int64_t shape[IG_MAX_NDIM], stride[IG_MAX_NDIM];
} axis_group;

/* The group of v's axes first ... first + ndim. */
void axis_group_set(axis_group *g, const view *v, int first, int ndim);
/* offset[i] of the points start ... start + n of the group, which has that many. */
void axis_group_offsets(const axis_group *g, int64_t start, int64_t n, int64_t *offset);
/* All its points are one element. */
bool axis_group_is_constant(const axis_group *g);
/* Its points lie one after another; those of its last axis do, and are not few. */
bool axis_group_is_contiguous(const axis_group *g);
bool axis_group_ends_contiguous(const axis_group *g);
/* From a point of the group to the next, if that is the same everywhere. */
static inline int64_t axis_group_step(const axis_group *g)
{
    return g->ndim > 0 ? g->stride[0] : 0;
}

#endif
