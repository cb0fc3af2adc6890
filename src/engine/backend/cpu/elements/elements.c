/* Elements as bytes; see elements.h. */
#include "engine/backend/cpu/elements/elements.h"
#include "base/mapping.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The offsets of the elements of a tile of a view, from its first element. */
enum { TABLE_MOST = 64 };

typedef struct move_table {
    int64_t n;    /* number of elements; 0: not computed yet, -1: the view has no table */
    int axis;     /* a tile has all axes after this one ... */
    int64_t part; /* ... and this many points of it */
    int64_t step; /* distance between tiles along the axis */
    int32_t at[TABLE_MOST];
} move_table;

static void table_make(move_table *t, const view *v)
{
    int64_t inner = 1, far = 0;
    t->n = -1;
    t->axis = v->ndim - 1;
    while (t->axis > 0 && inner * v->shape[t->axis] <= TABLE_MOST / 2) {
        inner *= v->shape[t->axis];
        far += (v->shape[t->axis] - 1) * llabs(v->stride[t->axis]);
        t->axis--;
    }
    const int64_t length = v->shape[t->axis], most = TABLE_MOST / inner;
    t->part = length < most ? length : most;
    t->step = t->part * v->stride[t->axis];
    far += t->part * llabs(v->stride[t->axis]);
    if (far > INT32_MAX)
        return;
    t->n = 1;
    t->at[0] = 0;
    for (int d = v->ndim - 1; d >= t->axis; d--) {
        const int64_t times = d == t->axis ? t->part : v->shape[d];
        for (int64_t i = t->n; i < t->n * times; i++)
            t->at[i] = t->at[i - t->n] + (int32_t)v->stride[d];
        t->n *= times;
    }
}

/* True if runs are so short that a table is faster. Contiguous elements of a vector are not. */
static bool is_short(const view *v, size_t element)
{
    const int last = v->ndim - 1;
    return last >= 0 && v->shape[last] <= MOVE_SHORT &&
           (v->stride[last] != 1 || v->shape[last] * (int64_t)element < 16);
}

/* The number of whole tiles along the table's axis within the next n points. The table is computed
 * when there are enough tiles to pay for it. */
static int64_t move_tiles(const view_walk *w, int64_t n, size_t element, move_table *t)
{
    if (t->n == 0 && n >= 2 * TABLE_MOST && is_short(w->v, element))
        table_make(t, w->v);
    if (t->n <= 0 || n < t->n)
        return 0;
    for (int d = w->v->ndim - 1; d > t->axis; d--)
        if (w->at[d] != 0)
            return 0;
    const int64_t whole = n / t->n, left = (w->v->shape[t->axis] - w->at[t->axis]) / t->part;
    return whole < left ? whole : left;
}

#define MOVE_JOIN(name, size) name##_##size
#define MOVE_NAME(name, size) MOVE_JOIN(name, size)
#define MOVE(name) MOVE_NAME(name, SIZE)

#if defined(__clang__)
#define MOVE_SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define MOVE_SHUFFLE(x, y, ...) __builtin_shuffle(x, y, (MOVE(vector)){__VA_ARGS__})
#endif

#define E uint8_t
#define SIZE 1
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#include "engine/backend/cpu/elements/elements.inc"
#undef E
#undef SIZE
#undef EVENS
#undef ODDS

#define E uint16_t
#define SIZE 2
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15
#include "engine/backend/cpu/elements/elements.inc"
#undef E
#undef SIZE
#undef EVENS
#undef ODDS

#define E uint32_t
#define SIZE 4
#define EVENS 0, 2, 4, 6
#define ODDS 1, 3, 5, 7
#include "engine/backend/cpu/elements/elements.inc"
#undef E
#undef SIZE
#undef EVENS
#undef ODDS

#define E uint64_t
#define SIZE 8
#define EVENS 0, 2
#define ODDS 1, 3
#include "engine/backend/cpu/elements/elements.inc"
#undef E
#undef SIZE
#undef EVENS
#undef ODDS

static const element_moves moves[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) \
    [IG_##id] = {MOVE_NAME(gather, bytes), MOVE_NAME(scatter, bytes), MOVE_NAME(fetch, bytes), \
                 MOVE_NAME(put, bytes),    MOVE_NAME(pick, bytes),    MOVE_NAME(tile, bytes), \
                 MOVE_NAME(deal, bytes),   MOVE_NAME(splat, bytes)},
#include "base/dtype.def"
};

const element_moves *element_moves_of(ig_dtype dtype)
{
    assert(moves[dtype].gather);
    return &moves[dtype];
}

/* Adds the index to the offsets of a run that begins at `offset`. */
static void index_run(const operand *o, int64_t run, int64_t step, int64_t at, const int64_t *index,
                      int64_t *offset, cpu_fault *fault)
{
    const int64_t len = o->axis_len, stride = o->axis_stride, first = offset[0];
    bool outside = false;
    for (int64_t i = 0; i < run; i++) {
        const int64_t k = index[i] + (index[i] < 0 ? len : 0);
        const bool fits = k >= 0 && k < len;
        offset[i] = fits ? first + i * step + k * stride : NO_ELEMENT;
        outside |= !fits;
    }
    for (int64_t i = 0; outside && i < run; i++) {
        if (offset[i] == NO_ELEMENT) {
            cpu_fault_note(fault, at + i, index[i], len);
            outside = false;
        }
    }
}

void elements_offsets(const operand *o, int64_t start, int64_t n, const int64_t *index,
                      int64_t *offset, cpu_fault *fault)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    for (int64_t done = 0; done < n;) {
        const int64_t run = walk_run(&w, n - done);
        offset[done] = w.offset;
        index_run(o, run, walk_step(&w), start + done, index + done, offset + done, fault);
        walk_move(&w, run);
        done += run;
    }
}

/* True if all indices are in [-len, len). *negative: whether one is below 0. */
static bool are_inside(int64_t n, const int64_t *index, int64_t len, bool *negative)
{
    typedef uint64_t pair __attribute__((vector_size(16)));
    const uint64_t last = 2 * (uint64_t)len - 1;
    pair outside[2] = {{0}, {0}}; /* the first bit is set if index + len is not in [0, last] ... */
    pair below[2] = {{0}, {0}};   /* ... or if index is below 0 */
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        pair k[2];
        memcpy(k, index + i, sizeof k);
        for (int j = 0; j < 2; j++) {
            below[j] |= k[j];
            k[j] += (uint64_t)len;
            outside[j] |= k[j] | (last - k[j]);
        }
    }
    outside[0] |= outside[1];
    below[0] |= below[1];
    uint64_t any = outside[0][0] | outside[0][1], less = below[0][0] | below[0][1];
    for (; i < n; i++) {
        less |= (uint64_t)index[i];
        const uint64_t k = (uint64_t)index[i] + (uint64_t)len;
        any |= k | (last - k);
    }
    *negative = less >> 63;
    return any >> 63 == 0;
}

bool elements_pick(const operand *o, const char *base, int64_t start, int64_t n,
                   const int64_t *index, void *to)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(o->dtype);
    const element_moves *by = element_moves_of(o->dtype);
    view_walk w;
    bool negative;
    if (!are_inside(n, index, o->axis_len, &negative))
        return false;
    walk_start(&w, &o->v, start);
    for (int64_t done = 0, run; done < n; done += run) {
        run = walk_run(&w, n - done);
        by->pick(run, (char *)to + done * bytes, base + w.offset * bytes, walk_step(&w),
                 index + done, negative ? o->axis_len : 0, o->axis_stride);
        walk_move(&w, run);
    }
    return true;
}

int elements_file(const operand *o, const char *base, int64_t *offset)
{
    enum { LARGE = 64 << 20 }; /* bytes */
    const int64_t bytes = o->axis_len * o->axis_stride * (int64_t)ig_dtype_bytes(o->dtype);
    return bytes >= LARGE ? mapping_file(base, (size_t)bytes, offset) : -1;
}

void elements_read(const operand *o, const binding *b, int64_t start, int64_t n, void *to)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    element_moves_of(o->dtype)->gather(&w, n, to, operand_host(o, b));
}

void elements_write(const operand *o, const binding *b, int64_t start, int64_t n, const void *from)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    element_moves_of(o->dtype)->scatter(&w, n, operand_host(o, b), from);
}

char *elements_in_place(const operand *o, char *base, int64_t start, int64_t n)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    if (walk_run(&w, n) < n || (n > 1 && walk_step(&w) != 1))
        return NULL;
    return base + w.offset * (int64_t)ig_dtype_bytes(o->dtype);
}
