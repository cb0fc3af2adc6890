/* WRITE: stores or adds updates at indices of an output that already holds the base. The updates of
 * one element are applied in row-major order, since the last store wins and floating point addition
 * is not associative. The space is cut along an axis that is not the indexed one; the parts write
 * to disjoint elements and are distributed over the cores. If there is no such axis, one core does
 * all the work. */
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/lanes/half.h"
#include "engine/backend/cpu/elements/elements.h"

#include "base/threads.h"
#include "engine/ops/ops.h"

#include <string.h>

enum {
    CHUNK_BYTES = TAPE_BLOCK * 8,
    POINTS_OF_TASK = TASK_WORK / 4, /* at least */
    PARTS_OF_THREAD = 4             /* at most */
};

#define ADD_JOIN(name, lane) name##_##lane
#define ADD_NAME(name, lane) ADD_JOIN(name, lane)

#define E uint8_t
#define SIZE u8
#include "engine/backend/cpu/index/write.inc"
#undef E
#undef SIZE

#define E uint16_t
#define SIZE u16
#include "engine/backend/cpu/index/write.inc"
#undef E
#undef SIZE

#define E uint32_t
#define SIZE u32
#include "engine/backend/cpu/index/write.inc"
#undef E
#undef SIZE

#define E uint64_t
#define SIZE u64
#include "engine/backend/cpu/index/write.inc"
#undef E
#undef SIZE

#define E float
#define SIZE f32
#include "engine/backend/cpu/index/write.inc"
#undef E
#undef SIZE

#define E double
#define SIZE f64
#include "engine/backend/cpu/index/write.inc"
#undef E
#undef SIZE

static void add_bool(int64_t n, void *base, const int64_t *offset, const void *from)
{
    uint8_t *d = base;
    const uint8_t *a = from;
    for (int64_t i = 0; i < n; i++)
        if (offset[i] < NO_ELEMENT)
            d[offset[i]] |= a[i];
}

/* Each sum is rounded before the next. */
static void add_f16(int64_t n, void *base, const int64_t *offset, const void *from)
{
    uint16_t *d = base;
    const uint16_t *a = from;
    for (int64_t i = 0; i < n; i++)
        if (offset[i] < NO_ELEMENT)
            d[offset[i]] = f16_of_f32(f16_to_f32(d[offset[i]]) + f16_to_f32(a[i]));
}

static void add_bf16(int64_t n, void *base, const int64_t *offset, const void *from)
{
    uint16_t *d = base;
    const uint16_t *a = from;
    for (int64_t i = 0; i < n; i++)
        if (offset[i] < NO_ELEMENT)
            d[offset[i]] = bf16_of_f32(bf16_to_f32(d[offset[i]]) + bf16_to_f32(a[i]));
}

/* Signed integers wrap as unsigned ones do. */
static void (*const adds[DTYPE_COUNT])(int64_t n, void *base, const int64_t *offset,
                                       const void *from) = {
    [IG_BOOL] = add_bool, [IG_I8] = add_u8,   [IG_I16] = add_u16,   [IG_I32] = add_u32,
    [IG_I64] = add_u64,   [IG_U8] = add_u8,   [IG_U16] = add_u16,   [IG_U32] = add_u32,
    [IG_U64] = add_u64,   [IG_F16] = add_f16, [IG_BF16] = add_bf16, [IG_F32] = add_f32,
    [IG_F64] = add_f64,
};

/* ---- a part of the space ---- */

enum { LINE_FROM = 8 }; /* least elements with neighbouring destinations that are moved at once */

/* The whole space or a part of it, in row-major order. */
typedef struct write_part {
    operand index, updates, out;
} write_part;

typedef struct write_job {
    const program *p;
    const binding *b;
    const cpu_level *level;
    int axis; /* the axis that is cut into parts */
    int64_t parts;
    cpu_fault fault;
} write_job;

/* True if the elements of a run along the last axis have neighbouring destinations. */
static bool has_lines(const program *p)
{
    const int last = p->out.v.ndim - 1;
    return last >= 0 && p->in[0].v.stride[last] == 0 && p->in[1].v.stride[last] == 1 &&
           p->out.v.stride[last] == 1 && p->out.v.shape[last] >= LINE_FROM;
}

/* The n elements from element start on: in place, or copied to chunk. */
static const void *elements_of(const operand *o, const binding *b, int64_t start, int64_t n,
                               void *chunk)
{
    const void *place = elements_in_place(o, operand_host(o, b), start, n);
    if (place)
        return place;
    elements_read(o, b, start, n, chunk);
    return chunk;
}

/* The destinations of n points from point start on, n <= TAPE_BLOCK. */
static const int64_t *places_of(const write_job *j, const write_part *w, int64_t start, int64_t n,
                                char *scratch, cpu_fault *fault)
{
    int64_t *index = (int64_t *)(scratch + CHUNK_BYTES), *offset = index + TAPE_BLOCK;
    const void *stored = elements_of(&w->index, j->b, start, n, scratch);
    if (w->index.dtype != IG_I64) {
        j->level->convert(w->index.dtype, IG_I64, n, index, 1, stored, 1);
        stored = index;
    }
    elements_offsets(&w->out, start, n, stored, offset, fault);
    return offset;
}

static void write_points(const write_job *j, const write_part *w, char *scratch, cpu_fault *fault)
{
    const int64_t size = view_size(&w->out.v);
    char *base = operand_host(&w->out, j->b), *chunk = scratch + 3 * CHUNK_BYTES;
    for (int64_t i = 0; i < size; i += TAPE_BLOCK) {
        const int64_t n = size - i < TAPE_BLOCK ? size - i : TAPE_BLOCK;
        const int64_t *offset = places_of(j, w, i, n, scratch, fault);
        const void *updates = elements_of(&w->updates, j->b, i, n, chunk);
        if (j->p->add)
            adds[w->out.dtype](n, base, offset, updates);
        else
            element_moves_of(w->out.dtype)->put(n, base, offset, updates);
    }
}

static void add_line(const write_job *j, ig_dtype dtype, int64_t n, char *d, const char *a,
                     char *scratch)
{
    float *sum = (float *)scratch, *more = sum + TAPE_BLOCK;
    if (!dtype_is_half(dtype)) {
        j->level->join(OP_sum, dtype, n, d, d, a);
        return;
    }
    for (int64_t i = 0; i < n; i += TAPE_BLOCK) {
        const int64_t now = n - i < TAPE_BLOCK ? n - i : TAPE_BLOCK;
        j->level->convert(dtype, IG_F32, now, sum, 1, d + 2 * i, 1);
        j->level->convert(dtype, IG_F32, now, more, 1, a + 2 * i, 1);
        j->level->join(OP_sum, IG_F32, now, sum, sum, more);
        j->level->convert(IG_F32, dtype, now, d + 2 * i, 1, sum, 1);
    }
}

/* The same for a line: a point of the space without its last axis. */
static void write_lines(const write_job *j, const write_part *w, char *scratch, cpu_fault *fault)
{
    const int64_t line = w->out.v.shape[w->out.v.ndim - 1];
    const int64_t bytes = (int64_t)ig_dtype_bytes(w->out.dtype);
    char *base = operand_host(&w->out, j->b), *updates = operand_host(&w->updates, j->b);
    write_part first = *w;
    first.index.v.ndim = first.updates.v.ndim = --first.out.v.ndim;
    const int64_t lines = view_size(&first.out.v);
    view_walk from;
    walk_start(&from, &first.updates.v, 0);
    for (int64_t i = 0; i < lines; i += TAPE_BLOCK) {
        const int64_t n = lines - i < TAPE_BLOCK ? lines - i : TAPE_BLOCK;
        const int64_t *offset = places_of(j, &first, i, n, scratch, fault);
        for (int64_t k = 0; k < n; k++, walk_move(&from, 1)) {
            char *d = base + (offset[k] < NO_ELEMENT ? offset[k] * bytes : 0);
            const char *a = updates + from.offset * bytes;
            if (offset[k] >= NO_ELEMENT)
                continue;
            if (j->p->add)
                add_line(j, w->out.dtype, line, d, a, scratch + 3 * CHUNK_BYTES);
            else
                memcpy(d, a, (size_t)(line * bytes));
        }
    }
    if (fault->at < INT64_MAX)
        fault->at *= line;
}

/* ---- parts ---- */

static operand cut(const operand *o, int axis, int64_t first, int64_t n)
{
    operand part = *o;
    part.v.offset += first * o->v.stride[axis];
    part.v.shape[axis] = n;
    return part;
}

/* The index in the whole space of point `at` of a part that begins at `first` on the axis. */
static int64_t whole_index(const view *whole, const view *part, int axis, int64_t first, int64_t at)
{
    int64_t index = 0, step = 1;
    for (int i = part->ndim - 1; i >= 0; i--) {
        index += (at % part->shape[i] + (i == axis ? first : 0)) * step;
        at /= part->shape[i];
        step *= whole->shape[i];
    }
    return index;
}

static void write_task(void *ctx, int64_t task, int worker)
{
    write_job *j = ctx;
    const program *p = j->p;
    write_part w = {p->in[0], p->in[1], p->out};
    int64_t first = 0;
    cpu_fault fault;
    cpu_fault_clear(&fault);
    if (j->parts > 1) {
        const int64_t len = p->out.v.shape[j->axis];
        first = len * task / j->parts;
        const int64_t n = len * (task + 1) / j->parts - first;
        w.index = cut(&p->in[0], j->axis, first, n);
        w.updates = cut(&p->in[1], j->axis, first, n);
        w.out = cut(&p->out, j->axis, first, n);
    }
    (has_lines(p) ? write_lines : write_points)(j, &w, scratch_of(worker), &fault);
    const int64_t at = fault.at;
    if (at < INT64_MAX)
        cpu_fault_note(&j->fault, whole_index(&p->out.v, &w.out.v, j->axis, first, at), fault.index,
                       fault.axis_len);
}

/* The axis to cut: the outermost that gives enough parts, else the longest; -1 if there is none.
 * The coordinate on it determines which part writes an element. */
static int axis_to_cut(const view *out, int64_t parts)
{
    int best = -1;
    for (int i = 0; i < out->ndim; i++) {
        if (out->stride[i] == 0 || out->shape[i] < 2)
            continue;
        if (out->shape[i] >= parts)
            return i;
        if (best < 0 || out->shape[i] > out->shape[best])
            best = i;
    }
    return best;
}

static void plan_parts(write_job *j, int64_t size)
{
    const view *out = &j->p->out.v;
    const int64_t threads = pool_threads(), worth = size / POINTS_OF_TASK;
    int64_t parts = threads * (has_lines(j->p) ? 1 : PARTS_OF_THREAD);
    parts = parts < worth ? parts : worth;
    j->axis = threads > 1 && parts > 1 ? axis_to_cut(out, parts) : -1;
    if (j->axis < 0)
        return;
    /* Lines are cut into lines. */
    const int64_t most = out->shape[j->axis] / (j->axis == out->ndim - 1 ? LINE_FROM : 1);
    j->parts = parts < most ? parts : most > 0 ? most : 1;
}

/* Indices as stored, as i64, and as offsets; updates. */
size_t cpu_write_scratch(const program *p)
{
    (void)p;
    return 4 * (size_t)CHUNK_BYTES;
}

ig_status cpu_write(const program *p, const binding *b)
{
    write_job j = {.p = p, .b = b, .level = cpu_level_now(), .axis = -1, .parts = 1};
    const int64_t size = view_size(&p->out.v);
    if (size == 0)
        return IG_OK;
    cpu_fault_clear(&j.fault);
    plan_parts(&j, size);
    pool_run(j.parts, write_task, &j);
    return cpu_fault_status(&j.fault, p);
}
