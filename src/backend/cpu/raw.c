/* Elements as bytes; see raw.h. */
#include "backend/cpu/raw.h"

#include <assert.h>
#include <string.h>

#define RAW_JOIN(name, size) name##_##size
#define RAW_NAME(name, size) RAW_JOIN(name, size)
#define RAW(name) RAW_NAME(name, SIZE)

#define E uint8_t
#define SIZE 1
#include "backend/cpu/raw.inc"
#undef E
#undef SIZE

#define E uint16_t
#define SIZE 2
#include "backend/cpu/raw.inc"
#undef E
#undef SIZE

#define E uint32_t
#define SIZE 4
#include "backend/cpu/raw.inc"
#undef E
#undef SIZE

#define E uint64_t
#define SIZE 8
#include "backend/cpu/raw.inc"
#undef E
#undef SIZE

static const raw_moves moves[DTYPE_COUNT] = {
#define DTYPE(id, name, standard, lane, kind, bytes) \
    [IG_##id] = {RAW_NAME(gather, bytes), RAW_NAME(scatter, bytes), RAW_NAME(fetch, bytes), \
                 RAW_NAME(put, bytes),    RAW_NAME(tile, bytes),    RAW_NAME(splat, bytes)},
#include "array/dtype.def"
};

const raw_moves *raw_moves_of(ig_dtype dtype)
{
    assert(moves[dtype].gather);
    return &moves[dtype];
}

/* Moves the offsets of a run that begins at `offset` to where index says. */
static void index_run(const operand *o, int64_t run, int64_t step, int64_t at, const int64_t *index,
                      int64_t *offset, cpu_fault *fault)
{
    const int64_t len = o->axis_len, stride = o->axis_stride, first = offset[0];
    bool outside = false;
    for (int64_t i = 0; i < run; i++) {
        const int64_t k = index[i] + (index[i] < 0 ? len : 0);
        const bool fits = k >= 0 && k < len;
        offset[i] = fits ? first + i * step + k * stride : RAW_NOWHERE;
        outside |= !fits;
    }
    for (int64_t i = 0; outside && i < run; i++) {
        if (offset[i] == RAW_NOWHERE) {
            cpu_fault_note(fault, at + i, index[i], len);
            outside = false;
        }
    }
}

void raw_index(const operand *o, int64_t start, int64_t n, const int64_t *index, int64_t *offset,
               cpu_fault *fault)
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

void raw_read(const operand *o, const binding *b, int64_t start, int64_t n, void *to)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    raw_moves_of(o->dtype)->gather(&w, n, to, operand_host(o, b));
}

void raw_write(const operand *o, const binding *b, int64_t start, int64_t n, const void *from)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    raw_moves_of(o->dtype)->scatter(&w, n, operand_host(o, b), from);
}

char *raw_in_place(const operand *o, char *base, int64_t start, int64_t n)
{
    view_walk w;
    walk_start(&w, &o->v, start);
    if (walk_run(&w, n) < n || (n > 1 && walk_step(&w) != 1))
        return NULL;
    return base + w.offset * (int64_t)ig_dtype_bytes(o->dtype);
}
