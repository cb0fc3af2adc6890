/* The elements of a buffer that a view reaches, and their rows. Only the checks of schedules use this, not planning or
 * fusion. All answers are exact. */
#ifndef PROGRAM_REACH_H
#define PROGRAM_REACH_H

#include "engine/array/view.h"

/* The elements that a view reaches, as a set: at + sum of i[k] * step[k] for all i[k] in [0, size[k]). Steps are
 * positive and ascend. Axes that form one regular walk are merged, so a range of elements has at most one axis, of
 * step 1. */
typedef struct reach {
    int n;
    int64_t at;
    int64_t size[IG_MAX_NDIM + 1], step[IG_MAX_NDIM + 1];
    int64_t points; /* number of points of the view */
} reach;

/* The set of v, moved by every multiple i * stride for i in [0, len). len is 1 if it is not moved. */
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
/* Adds the elements of r, which must be in the buffer. Returns how many were not in the set before. */
int64_t element_set_add(element_set *s, const reach *r);
/* True if all, or none, of the elements of r are in the set. */
bool element_set_has_all(const element_set *s, const reach *r);
bool element_set_has_none(const element_set *s, const reach *r);

/* Number of distinct elements that are reached; -1 if memory is lacking. */
int64_t reach_count(const reach *r);

/* True if both views reach the same element at each point; points are counted in row-major order. */
bool reach_is_same_walk(const view *a, const view *b);

/* v is divided into rows of `points` points, the buffer into rows of `own` elements. True if each row of v reaches
 * only elements of the buffer's row with the same number. */
bool reach_stays_in_rows(const view *v, int64_t points, int64_t own);
/* Marks each element that v reaches with the number of its row + 1. False if an element has another row's mark. */
bool reach_mark_rows(const view *v, int64_t points, int64_t *mark);

#endif
