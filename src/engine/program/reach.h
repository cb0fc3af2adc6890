/* Which elements of a buffer a view reaches, and in which rows. The checks of schedules are written with this, and
 * nothing that plans or fuses uses it. All answers are exact. */
#ifndef PROGRAM_REACH_H
#define PROGRAM_REACH_H

#include "engine/array/view.h"

/* The elements that a view reaches, as a set: at + sum of i[k] * step[k] for all i[k] in [0, size[k]). Steps are positive
 * and ascend. Axes that are one regular walk are merged, so a range of elements has at most one axis, of step 1. */
typedef struct reach {
    int n;
    int64_t at;
    int64_t size[IG_MAX_NDIM + 1], step[IG_MAX_NDIM + 1];
    int64_t points; /* of the view */
} reach;

/* The set of v, moved by every multiple i * stride for i in [0, len): len is 1 if it is not moved. */
reach reach_of(const view *v, int64_t len, int64_t stride);
/* The set of all elements in [0, n). */
reach reach_whole(int64_t n);
/* Lowest and highest element; the set must not be empty. */
void reach_bounds(const reach *r, int64_t *low, int64_t *high);

/* A set of the elements [0, n) of a buffer. */
typedef struct element_set {
    uint64_t *word;
    int64_t n, count;
} element_set;

ig_status element_set_new(element_set *s, int64_t n);
void element_set_free(element_set *s);
/* Adds what is reached, which must be in the buffer. Returns how many elements were not in the set before. */
int64_t element_set_add(element_set *s, const reach *r);
/* True if all, or none, of what is reached is in the set. */
bool element_set_has_all(const element_set *s, const reach *r);
bool element_set_has_none(const element_set *s, const reach *r);

/* How many different elements are reached. -1: there is no memory. */
int64_t reach_count(const reach *r);

/* True if both views reach the same element at each point; points are counted in row-major order. */
bool reach_is_same_walk(const view *a, const view *b);

/* True if each of the rows of v, of `points` points, reaches only elements of the same row of the buffer, whose rows have
 * `own` elements. */
bool reach_stays_in_rows(const view *v, int64_t points, int64_t own);
/* Marks each element that v reaches with the number of its row + 1. False if one has the mark of another row. */
bool reach_mark_rows(const view *v, int64_t points, int64_t *mark);

#endif
