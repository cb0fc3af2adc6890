/* Groups of axes: a contraction's batches, rows, columns and k may each be several axes of an operand. */
#ifndef CPU_GROUP_H
#define CPU_GROUP_H

#include "array/view.h"

/* One group of an operand's axes: the same points in the same order, neighbours merged. */
typedef struct group {
    int ndim;
    int64_t shape[IG_MAX_NDIM], stride[IG_MAX_NDIM];
} group;

/* The group of v's axes first ... first + ndim. */
void group_set(group *g, const view *v, int first, int ndim);
/* offset[i] of the points start ... start + n of the group, which has that many. */
void group_offsets(const group *g, int64_t start, int64_t n, int64_t *offset);
/* All its points are one element. */
bool group_stands_still(const group *g);
/* Its points lie one after another; those of its last axis do, and are not few. */
bool group_is_run(const group *g);
bool group_ends_in_run(const group *g);
/* From a point of the group to the next, if that is the same everywhere. */
static inline int64_t group_step(const group *g) { return g->ndim > 0 ? g->stride[0] : 0; }

#endif
