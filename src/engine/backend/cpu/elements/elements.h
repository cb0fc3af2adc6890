/* Elements as bytes: walks over a view in row-major order, and moves of elements between a view and
 * packed memory, by element size. Independent of dtypes. */
#ifndef CPU_ELEMENTS_H
#define CPU_ELEMENTS_H

#include "engine/array/view.h"
#include "engine/backend/cpu/cpu.h"

/* A position in a view. offset counts elements from the view's own offset. */
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

/* The stride of a run: of points along the last axis. */
static inline int64_t walk_step(const view_walk *w)
{
    return w->v->ndim > 0 ? w->v->stride[w->v->ndim - 1] : 1;
}

/* How many of the next n points are in the current run. */
static inline int64_t walk_run(const view_walk *w, int64_t n)
{
    const int last = w->v->ndim - 1;
    const int64_t left = last >= 0 ? w->v->shape[last] - w->at[last] : 1;
    return n < left ? n : left;
}

/* How many whole runs follow along the axis before the last, within the next n points. */
static inline int64_t walk_runs(const view_walk *w, int64_t n)
{
    const int last = w->v->ndim - 1;
    if (last < 1 || w->at[last] != 0 || n < 2 * w->v->shape[last])
        return 1;
    const int64_t runs = n / w->v->shape[last], left = w->v->shape[last - 1] - w->at[last - 1];
    return runs < left ? runs : left;
}

/* Advances by n points of an axis, not beyond its end. The walk must be at the start of the axes
 * after it. */
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

/* Advances by n points of the run. */
static inline void walk_move(view_walk *w, int64_t n)
{
    if (w->v->ndim > 0)
        walk_move_along(w, w->v->ndim - 1, n);
}

/* Offsets of at least this value refer to no element: fetch gives 0, put does nothing. */
#define NO_ELEMENT (INT64_MAX / 2)

enum { MOVE_TILE = 16, MOVE_SHORT = 16 };

typedef struct element_moves {
    /* Copies n elements from w on, in order, to packed memory, and back. base is the address for offset 0 of w. */
    void (*gather)(view_walk *w, int64_t n, void *to, const void *base);
    void (*scatter)(view_walk *w, int64_t n, void *base, const void *from);
    /* Copies n elements at offsets from base. */
    void (*fetch)(int64_t n, void *to, const void *base, const int64_t *offset);
    void (*put)(int64_t n, void *base, const int64_t *offset, const void *from);
    /* to[i] = base[i * step + index[i] * stride]. A negative index counts from the end of an axis of len elements; none
     * is outside of it. */
    void (*pick)(int64_t n, void *to, const void *base, int64_t step, const int64_t *index,
                 int64_t len, int64_t stride);
    /* Transposes: to[r * n + i] = from[r + i * step], for at most MOVE_TILE rows. */
    void (*tile)(int64_t rows, int64_t n, void *to, const void *from, int64_t step);
    /* Deals n elements out to `step` planes: to[i % step * plane + i / step] = from[i]. */
    void (*deal)(int64_t n, int64_t step, void *to, int64_t plane, const void *from);
    /* Copies one element n times. */
    void (*splat)(int64_t n, void *to, const void *from);
} element_moves;

/* The moves for elements of 1, 2, 4 or 8 bytes. */
const element_moves *element_moves_of(ig_dtype dtype);

/* The offsets of n points of o's view from point start on, each moved by index * axis_stride. A
 * negative index counts from the end. An index outside of the axis is recorded as a fault and gets
 * the offset NO_ELEMENT. */
void elements_offsets(const operand *o, int64_t start, int64_t n, const int64_t *index,
                      int64_t *offset, cpu_fault *fault);

/* Copies the elements at these offsets to packed memory of o's dtype. Returns false, and copies nothing, if an index is
 * outside of the axis. `to` may be the memory of index. */
bool elements_pick(const operand *o, const char *base, int64_t start, int64_t n,
                   const int64_t *index, void *to);

/* The file of a large table that rows are read from (o of a READ, at base), and the offset of base in it; -1 if the
 * table is not in a mapped file or not large. Its rows are read by mapping_read: through the mapping, the system would
 * load many pages around each row, so that most of the table would soon be in memory. */
int elements_file(const operand *o, const char *base, int64_t *offset);

/* Copies n elements of o from point start on to packed memory of its dtype, and back. */
void elements_read(const operand *o, const binding *b, int64_t start, int64_t n, void *to);
void elements_write(const operand *o, const binding *b, int64_t start, int64_t n, const void *from);

/* The address of n points, starting at point start, if they are contiguous; else NULL. */
char *elements_in_place(const operand *o, char *base, int64_t start, int64_t n);

#endif
