/* Reads rows. If the elements of a row are far apart (the first axis of an array, moved last),
 * several rows are read together, because their elements are neighbours. */
#include "engine/backend/cpu/elements/rows.h"

#include "engine/backend/cpu/elements/elements.h"

enum { TOGETHER_BYTES = 128 }; /* bytes of neighbours: some cache lines */

static int64_t absolute(int64_t x) { return x < 0 ? -x : x; }

int64_t rows_together(const operand *o)
{
    const view *v = &o->v;
    const int last = v->ndim - 1;
    if (last < 1 || v->shape[last] < 2 ||
        absolute(v->stride[last]) <= absolute(v->stride[last - 1]) || v->stride[last - 1] == 0)
        return 1;
    const int64_t most = TOGETHER_BYTES / (int64_t)ig_dtype_bytes(o->dtype);
    return v->shape[last - 1] < most ? v->shape[last - 1] : most;
}

#define TURN_JOIN(e) turn_##e
#define TURN(e) TURN_JOIN(e)

#define E uint8_t
#include "engine/backend/cpu/elements/rows.inc"
#undef E
#define E uint16_t
#include "engine/backend/cpu/elements/rows.inc"
#undef E
#define E uint32_t
#include "engine/backend/cpu/elements/rows.inc"
#undef E
#define E uint64_t
#include "engine/backend/cpu/elements/rows.inc"
#undef E

typedef void (*turn_fn)(int64_t rows, int64_t n, const void *from, int64_t step, int64_t side,
                        void *to, int64_t apart);

/* Elements that are transposed at a time: they fit in the L1 cache. */
enum { TURN_LINES = 128 };

static void turn(const operand *o, const binding *b, int64_t inner, int64_t row, int64_t rows,
                 int64_t first, int64_t n, char *to, int64_t apart)
{
    static const turn_fn turns[] = {
        [1] = turn_uint8_t, [2] = turn_uint16_t, [4] = turn_uint32_t, [8] = turn_uint64_t};
    const view *v = &o->v;
    const int64_t bytes = (int64_t)ig_dtype_bytes(o->dtype);
    const int64_t step = v->stride[v->ndim - 1], side = v->stride[v->ndim - 2];
    view_walk w;
    walk_start(&w, v, row * inner + first);
    const char *from = operand_host(o, b) + w.offset * bytes;
    for (int64_t i = 0; i < n; i += TURN_LINES) {
        const int64_t now = n - i < TURN_LINES ? n - i : TURN_LINES;
        turns[bytes](rows, now, from + i * step * bytes, step, side, to + i * bytes, apart);
    }
}

void rows_read(const operand *o, const binding *b, int64_t inner, int64_t row, int64_t rows,
               int64_t first, int64_t n, void *to, int64_t apart)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(o->dtype);
    if (rows_together(o) == 1) {
        for (int64_t r = 0; r < rows; r++)
            elements_read(o, b, (row + r) * inner + first, n, (char *)to + r * apart * bytes);
        return;
    }
    const int64_t columns = o->v.shape[o->v.ndim - 2];
    for (int64_t r = 0, now; r < rows; r += now) {
        now = columns - (row + r) % columns;
        now = now < rows - r ? now : rows - r;
        turn(o, b, inner, row + r, now, first, n, (char *)to + r * apart * bytes, apart);
    }
}
