/* Windows that slide over planes; see sliding.h. */
#include "engine/backend/cpu/elements/sliding.h"

#include <string.h>

enum {
    DEALT_BYTES = 1 << 16, /* of the dealt elements of a band, in the L2 cache */
    WIDE = 64,             /* rows from this length on are separate runs */
    NARROW = 8             /* such runs are not shorter than this */
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The offset of the last point. */
static int64_t last_of(const axis_group *g)
{
    int64_t sum = 0;
    for (int d = 0; d < g->ndim; d++)
        sum += (g->shape[d] - 1) * g->stride[d];
    return sum;
}

static bool all_positive(const axis_group *g)
{
    for (int d = 0; d < g->ndim; d++)
        if (g->stride[d] <= 0 || g->shape[d] <= 0)
            return false;
    return true;
}

/* Windows that are further apart than one element. Their lines have the last axis of k, and all other distances are
 * multiples of a line. Returns the number of elements that are dealt out. */
static int64_t set_dealt(sliding *s, const axis_group *k)
{
    const int last = k->ndim - 1;
    const int64_t reach = (k->shape[last] - 1) * k->stride[last];
    const bool along = s->height == 1 || reach < s->down;
    const int64_t within = along ? reach : 0;
    s->points = along ? k->shape[last] : 1;
    s->line = s->height > 1 ? s->down : 0;
    for (int i = 0; i < k->ndim - along; i++)
        s->line = gcd(s->line, k->stride[i]);
    s->line = s->line > 0 ? s->line : 1;
    s->length = (s->width - 1) * s->right + within + 1;
    s->far = (last_of(k) - within) / s->line;
    s->classes = s->height > 1 ? s->down / s->line : 1;
    s->pitch = s->width + within / s->right;
    return (s->far + (s->height - 1) * s->classes + 1) * s->length;
}

bool sliding_set(sliding *s, const axis_group *row, const axis_group *k)
{
    const int last = row->ndim - 1;
    if (row->ndim < 1 || row->ndim > 2 || k->ndim < 1 || !all_positive(row) || !all_positive(k))
        return false;
    *s = (sliding){.height = last > 0 ? row->shape[0] : 1,
                   .width = row->shape[last],
                   .down = last > 0 ? row->stride[0] : 0,
                   .right = row->stride[last]};
    s->elements = s->right > 1 ? set_dealt(s, k) : last_of(row) + last_of(k) + 1;
    if (s->right == 1) {
        s->pitch = s->down;
        s->flat = s->width < WIDE && s->down >= s->width && s->down <= s->width + s->width / 2 + 2;
    } else
        s->flat = true;
    return s->flat || (last > 0 && s->width >= NARROW);
}

int64_t sliding_bytes(const sliding *s, int64_t element_bytes)
{
    const int64_t planes = s->classes * s->right;
    return s->line == 0 ? 0 : planes * s->lines * s->pitch * element_bytes + SLIDING_SLACK;
}

void sliding_cut(sliding *s, int64_t most, int64_t element_bytes)
{
    s->band = most / s->pitch + 1;
    s->band = s->band < s->height ? s->band : s->height;
    for (;; s->band = (s->band + 1) / 2) {
        s->lines = s->line == 0 ? 0 : s->far / s->classes + s->band;
        if (s->band == 1 || sliding_bytes(s, element_bytes) <= DEALT_BYTES)
            break;
    }
    s->bands = (s->height + s->band - 1) / s->band;
}

void sliding_points(const sliding *s, const axis_group *k, int64_t n, int64_t *point)
{
    axis_group_offsets(k, 0, n, point);
    for (int64_t i = n - 1; i >= 0 && s->line > 0; i--) { /* points of line 0 last */
        const int64_t at = point[i % s->points], line = (point[i] - at) / s->line;
        const int64_t plane = line % s->classes * s->right + at % s->right;
        point[i] = (plane * s->lines + line / s->classes) * s->pitch + at / s->right;
    }
}

const char *sliding_lines(const sliding *s, ig_dtype dtype, const char *from, int64_t rows,
                          char *scratch)
{
    const int64_t lines = s->far + (rows - 1) * s->classes + 1, plane = s->lines * s->pitch;
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    const element_moves *moves = element_moves_of(dtype);
    if (s->line == 0)
        return from;
    for (int64_t u = 0; u < lines; u++) {
        const int64_t to = (u % s->classes * s->right * s->lines + u / s->classes) * s->pitch;
        moves->deal(s->length, s->right, scratch + to * bytes, plane, from + u * s->line * bytes);
    }
    return scratch;
}

void sliding_close(const sliding *s, int64_t rows, int64_t bytes, char *to, const char *from)
{
    typedef int64_t chunk __attribute__((vector_size(16), aligned(1), may_alias));
    const int64_t row = s->width * bytes;
    /* All but the last in whole vectors: the next row overwrites the excess. */
    for (int64_t r = 0; r < rows - 1; r++, to += row, from += s->pitch * bytes)
        for (int64_t i = 0; i < row; i += (int64_t)sizeof(chunk))
            *(chunk *)(to + i) = *(const chunk *)(from + i);
    memcpy(to, from, (size_t)row);
}
