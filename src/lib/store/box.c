/* Copies between strided arrays: see box.h. Axes that are adjacent in both arrays are merged first. */
#include "lib/store/box.h"

#include <string.h>

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
