/* Boxes: see box.h. */
#include "engine/program/box.h"

#include <string.h>

int64_t box_size(const box *b, int ndim)
{
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= b->hi[i] - b->lo[i];
    return n;
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

void box_move(const box *part, int ndim, size_t bytes, const box *a, const char *from, const box *b,
              char *to)
{
    int64_t from_stride[IG_MAX_NDIM], to_stride[IG_MAX_NDIM], index[IG_MAX_NDIM] = {0};
    int64_t length = 1, count = 1;
    int inner = ndim; /* axes from here on are one run in both */
    box_strides_of(a, ndim, from_stride);
    box_strides_of(b, ndim, to_stride);
    while (inner > 0 && from_stride[inner - 1] == length && to_stride[inner - 1] == length) {
        inner--;
        length *= part->hi[inner] - part->lo[inner];
    }
    for (int i = 0; i < inner; i++)
        count *= part->hi[i] - part->lo[i];
    from += box_place_in(a, from_stride, part, ndim) * (int64_t)bytes;
    to += box_place_in(b, to_stride, part, ndim) * (int64_t)bytes;
    for (int64_t k = 0; k < count; k++) {
        int64_t at = 0, there = 0;
        for (int i = 0; i < inner; i++) {
            at += index[i] * from_stride[i];
            there += index[i] * to_stride[i];
        }
        memcpy(to + there * (int64_t)bytes, from + at * (int64_t)bytes, (size_t)length * bytes);
        for (int i = inner - 1; i >= 0 && ++index[i] == part->hi[i] - part->lo[i]; i--)
            index[i] = 0;
    }
}
