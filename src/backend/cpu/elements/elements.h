/* Elements as bytes: walking a view in row-major order, and moving elements by their size between a
 * view and packed memory. Nothing here knows dtypes. */
#ifndef CPU_ELEMENTS_H
#define CPU_ELEMENTS_H

#include "array/view.h"
#include "backend/cpu/cpu.h"

/* A place in a view. offset counts elements from the view's own offset on. */
typedef struct view_walk {
    const view *v;
    int64_t offset;
    int64_t at[IG_MAX_NDIM];
} view_walk;

static inline void walk_start(view_walk *w, const view *v, int64_t index)
{
    w->v = v;
    w->offset = 0;
    for (int i = v->ndim - 1; i >= 0; i--) {
        const int64_t next = i > 0 ? index / v->shape[i] : 0;
        w->at[i] = index - next * v->shape[i];
        w->offset += w->at[i] * v->stride[i];
        index = next;
    }
}

/* How far apart the points of a run are. */
static inline int64_t walk_step(const view_walk *w)
{
    return w->v->ndim > 0 ? w->v->stride[w->v->ndim - 1] : 1;
}

/* How many of the next n points are one run. */
static inline int64_t walk_run(const view_walk *w, int64_t n)
{
    const int last = w->v->ndim - 1;
    const int64_t left = last >= 0 ? w->v->shape[last] - w->at[last] : 1;
    return n < left ? n : left;
}

/* How many runs of that length follow each other along the axis before the last, each as far from the one
 * before. */
static inline int64_t walk_runs(const view_walk *w, int64_t n)
{
    const int last = w->v->ndim - 1;
    if (last < 1 || w->at[last] != 0 || n < 2 * w->v->shape[last])
        return 1;
    const int64_t runs = n / w->v->shape[last], left = w->v->shape[last - 1] - w->at[last - 1];
    return runs < left ? runs : left;
}

/* Moves on by n points of an axis, which must not pass its end; the walk is at the start of the axes
 * behind it. */
static inline void walk_move_along(view_walk *w, int axis, int64_t n)
{
    const view *v = w->v;
    w->at[axis] += n;
    w->offset += n * v->stride[axis];
    for (int i = axis; i > 0 && w->at[i] == v->shape[i]; i--) {
        w->offset += v->stride[i - 1] - v->shape[i] * v->stride[i];
        w->at[i] = 0;
        w->at[i - 1]++;
    }
}

/* Moves on by n points of the run. */
static inline void walk_move(view_walk *w, int64_t n)
{
    if (w->v->ndim > 0)
        walk_move_along(w, w->v->ndim - 1, n);
}

/* An offset from here on is that of no element: 0 is fetched from it, and nothing is put there. */
#define NO_ELEMENT (INT64_MAX / 2)

enum { MOVE_TILE = 16, MOVE_SHORT = 16 };

typedef struct element_moves {
    /* n elements from w on, in order, to packed memory; and back. base is where w's offset is 0. */
    void (*gather)(view_walk *w, int64_t n, void *to, const void *base);
    void (*scatter)(view_walk *w, int64_t n, void *base, const void *from);
    /* n elements at offsets from base. */
    void (*fetch)(int64_t n, void *to, const void *base, const int64_t *offset);
    void (*put)(int64_t n, void *base, const int64_t *offset, const void *from);
    /* to[r * n + i] = from[r + i * step]: rows that lie across, MOVE_TILE or less of them. */
    void (*tile)(int64_t rows, int64_t n, void *to, const void *from, int64_t step);
    /* n times the same. */
    void (*splat)(int64_t n, void *to, const void *from);
} element_moves;

/* The moves for elements of 1, 2, 4 or 8 bytes. */
const element_moves *element_moves_of(ig_dtype dtype);

/* The offsets of n points of o's view from the start-th on, each moved by index * axis_stride. A
 * negative index counts from the end; one outside of the axis is noted, and its offset is
 * NO_ELEMENT. */
void elements_offsets(const operand *o, int64_t start, int64_t n, const int64_t *index,
                      int64_t *offset, cpu_fault *fault);

/* n elements of o from the start-th point of its view on, to packed memory of its dtype; and back. */
void elements_read(const operand *o, const binding *b, int64_t start, int64_t n, void *to);
void elements_write(const operand *o, const binding *b, int64_t start, int64_t n, const void *from);

/* Where n points from the start-th on lie one after another: their address; else NULL. */
char *elements_in_place(const operand *o, char *base, int64_t start, int64_t n);

#endif
