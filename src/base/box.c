/* Boxes: see box.h. A copy first merges axes that are adjacent in both arrays. */
#include "base/box.h"

#include <string.h>

int64_t box_size(const box *b, int ndim)
{
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= b->hi[i] - b->lo[i];
    return n;
}

void box_shape(const box *b, int ndim, int64_t *shape)
{
    for (int i = 0; i < ndim; i++)
        shape[i] = b->hi[i] - b->lo[i];
}

box box_whole(int ndim, const int64_t *shape)
{
    box b = {.lo = {0}};
    for (int i = 0; i < ndim; i++)
        b.hi[i] = shape[i];
    return b;
}

int64_t box_of_range(const int64_t *shape, int first, int ndim, int64_t from, int64_t to, box *out)
{
    int64_t inner = 1, start = 0;
    for (int i = first; i < ndim; i++)
        inner *= shape[i];
    int i = first;
    for (; i < ndim; i++) { /* while the range lies within one index of the axis */
        inner /= shape[i];
        out->lo[i] = (from - start) / inner;
        out->hi[i] = (to - 1 - start) / inner + 1;
        start += out->lo[i] * inner;
        if (out->hi[i] - out->lo[i] > 1)
            break;
    }
    for (i++; i < ndim; i++) {
        out->lo[i] = 0;
        out->hi[i] = shape[i];
    }
    return start;
}

bool box_same(const box *a, const box *b, int ndim)
{
    for (int i = 0; i < ndim; i++)
        if (a->lo[i] != b->lo[i] || a->hi[i] != b->hi[i])
            return false;
    return true;
}

bool box_is_run(const box *b, int ndim, const int64_t *shape)
{
    int i = 0;
    while (i < ndim && b->hi[i] - b->lo[i] == 1)
        i++;
    for (i++; i < ndim; i++)
        if (b->lo[i] != 0 || b->hi[i] != shape[i])
            return false;
    return true;
}

bool box_reuse(const box *a, const box *b, int ndim, box *both, box *rest)
{
    int along =
        0; /* the first axis with more than one index: only there, a part of b is contiguous */
    while (along < ndim - 1 && b->hi[along] - b->lo[along] == 1)
        along++;
    *both = *rest = *b;
    for (int i = 0; i < ndim; i++)
        if (i != along && (b->lo[i] < a->lo[i] || b->hi[i] > a->hi[i]))
            return false;
    if (ndim == 0 || b->lo[along] >= a->hi[along] || b->hi[along] <= a->lo[along])
        return false;
    const bool before = b->lo[along]<a->lo[along], after = b->hi[along]> a->hi[along];
    if (before && after)
        return false;
    both->lo[along] = before ? a->lo[along] : b->lo[along];
    both->hi[along] = after ? a->hi[along] : b->hi[along];
    rest->lo[along] = after ? a->hi[along] : b->lo[along];
    rest->hi[along] = after ? b->hi[along] : before ? a->lo[along] : b->lo[along];
    return true;
}

void box_strides_of(const box *b, int ndim, int64_t *stride)
{
    int64_t next = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = next;
        next *= b->hi[i] - b->lo[i];
    }
}

int64_t box_place_in(const box *b, const int64_t *stride, const box *part, int ndim)
{
    int64_t at = 0;
    for (int i = 0; i < ndim; i++)
        at += (part->lo[i] - b->lo[i]) * stride[i];
    return at;
}

/* ---- elements ---- */

enum { TILE = 32 /* rows and columns that are transposed together */ };

typedef struct plan {
    int ndim;
    int64_t size[IG_MAX_NDIM], to[IG_MAX_NDIM], from[IG_MAX_NDIM];
    size_t bytes; /* of an element */
} plan;

void box_strides(int ndim, const int64_t *shape, size_t element_bytes, int64_t *strides)
{
    int64_t stride = (int64_t)element_bytes;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape[i];
    }
}

bool box_is_dense(int ndim, const int64_t *size, const int64_t *strides, size_t element_bytes)
{
    int64_t stride = (int64_t)element_bytes;
    for (int i = ndim - 1; i >= 0; i--) {
        if (size[i] != 1 && strides[i] != stride)
            return false;
        stride *= size[i];
    }
    return true;
}

/* Leaves out axes of length 1, and merges an axis with the one after it if both arrays step over them as one. */
static plan plan_make(int ndim, const int64_t *size, const int64_t *to, const int64_t *from,
                      size_t bytes)
{
    plan p = {.bytes = bytes};
    for (int i = 0; i < ndim; i++) {
        if (size[i] == 1)
            continue;
        const int last = p.ndim - 1;
        if (p.ndim && p.to[last] == to[i] * size[i] && p.from[last] == from[i] * size[i]) {
            p.size[last] *= size[i];
            p.to[last] = to[i];
            p.from[last] = from[i];
            continue;
        }
        p.size[p.ndim] = size[i];
        p.to[p.ndim] = to[i];
        p.from[p.ndim++] = from[i];
    }
    return p;
}

static void line_copy(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                      size_t bytes)
{
    switch (bytes) { /* a constant size is one load and one store */
#define LINE(b) \
    case b: \
        for (int64_t i = 0; i < n; i++) \
            memcpy(to + i * to_stride, from + i * from_stride, b); \
        break;
        LINE(1)
        LINE(2)
        LINE(4)
        LINE(8)
        LINE(16)
#undef LINE
    default: break;
    }
}

/* The last two axes, whose orders differ: tiles keep the lines of both arrays in the cache. */
static void tiles_copy(const plan *p, int axis, char *to, const char *from)
{
    const int64_t rows = p->size[axis], columns = p->size[axis + 1];
    for (int64_t r = 0; r < rows; r += TILE)
        for (int64_t c = 0; c < columns; c += TILE) {
            const int64_t n = columns - c < TILE ? columns - c : TILE;
            for (int64_t i = r; i < rows && i < r + TILE; i++)
                line_copy(to + i * p->to[axis] + c * p->to[axis + 1], p->to[axis + 1],
                          from + i * p->from[axis] + c * p->from[axis + 1], p->from[axis + 1], n,
                          p->bytes);
        }
}

static void axis_copy(const plan *p, int axis, char *to, const char *from)
{
    const int left = p->ndim - axis;
    const int64_t bytes = (int64_t)p->bytes;
    if (left == 0) {
        memcpy(to, from, p->bytes);
    } else if (left == 1 && p->to[axis] == bytes && p->from[axis] == bytes) {
        memcpy(to, from, (size_t)(p->size[axis] * bytes));
    } else if (left == 1) {
        line_copy(to, p->to[axis], from, p->from[axis], p->size[axis], p->bytes);
    } else if (left == 2 && (p->to[axis + 1] != bytes || p->from[axis + 1] != bytes)) {
        tiles_copy(p, axis, to, from);
    } else {
        for (int64_t i = 0; i < p->size[axis]; i++)
            axis_copy(p, axis + 1, to + i * p->to[axis], from + i * p->from[axis]);
    }
}

void box_copy(int ndim, const int64_t *size, void *to, const int64_t *to_strides, const void *from,
              const int64_t *from_strides, size_t element_bytes)
{
    const plan p = plan_make(ndim, size, to_strides, from_strides, element_bytes);
    axis_copy(&p, 0, to, from);
}

static void line_fill(char *to, int64_t n, const void *element, size_t bytes)
{
    const unsigned char *e = element;
    size_t same = 1;
    while (same < bytes && e[same] == e[0])
        same++;
    const size_t total = (size_t)n * bytes;
    if (same == bytes) {
        memset(to, e[0], total);
        return;
    }
    memcpy(to, element, bytes);
    for (size_t done = bytes; done < total; done *= 2)
        memcpy(to + done, to, done < total - done ? done : total - done);
}

static void axis_fill(const plan *p, int axis, char *to, const void *element)
{
    const int left = p->ndim - axis;
    if (left == 0) {
        memcpy(to, element, p->bytes);
    } else if (left == 1 && p->to[axis] == (int64_t)p->bytes) {
        line_fill(to, p->size[axis], element, p->bytes);
    } else {
        for (int64_t i = 0; i < p->size[axis]; i++)
            axis_fill(p, axis + 1, to + i * p->to[axis], element);
    }
}

void box_fill(int ndim, const int64_t *size, void *to, const int64_t *strides, const void *element,
              size_t element_bytes)
{
    const plan p = plan_make(ndim, size, strides, strides, element_bytes);
    axis_fill(&p, 0, to, element);
}

void box_move(const box *part, int ndim, size_t bytes, const box *a, const char *from, const box *b,
              char *to)
{
    int64_t from_stride[IG_MAX_NDIM], to_stride[IG_MAX_NDIM], size[IG_MAX_NDIM];
    box_strides_of(a, ndim, from_stride);
    box_strides_of(b, ndim, to_stride);
    from += box_place_in(a, from_stride, part, ndim) * (int64_t)bytes;
    to += box_place_in(b, to_stride, part, ndim) * (int64_t)bytes;
    for (int i = 0; i < ndim; i++) {
        size[i] = part->hi[i] - part->lo[i];
        from_stride[i] *= (int64_t)bytes;
        to_stride[i] *= (int64_t)bytes;
    }
    box_copy(ndim, size, to, to_stride, from, from_stride, bytes);
}
