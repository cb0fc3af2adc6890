/* Maps with large arrays whose rows are not rows of the arrays: transposed operands, and reads at computed indices. The
 * points of a map do not depend on each other, so they are cut into boxes that are small enough for one launch to reach
 * all its operands. Reads are cut into parts of the indexed axis: a launch skips the points whose index is in another
 * part. So exactly one launch computes each point. */
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* A map with its own copy of the operands, which are cut in place. */
typedef struct box {
    program p;
    const emit_target *t;
    emit_whole *whole;
    emitted *out;
    int launches;
} box;

static bool box_is_large(const box *b, const operand *o)
{
    return o->slot >= 0 && emit_slot_bytes(b->t, o->slot) > (int64_t)b->t->buffer_bytes;
}

/* The elements that a launch can reach. */
static double reach_of(const box *b, const operand *o)
{
    return (double)b->t->reach_bytes / (double)ig_dtype_bytes(o->dtype);
}

static double axis_span(const operand *o, int axis)
{
    return (double)(o->v.shape[axis] - 1) * (double)llabs(o->v.stride[axis]);
}

/* The number of elements from the first to the last, excluding the movement by an index. */
static double span_of(const operand *o)
{
    double span = 1;
    for (int i = 0; i < o->v.ndim; i++)
        span += axis_span(o, i);
    return span;
}

static bool is_read(const operand *o) { return o->axis_len > 0 && o->axis_stride != 0; }

/* How many neighbouring indices a launch can read; 0: too few. */
static int64_t part_of(const box *b, const operand *o)
{
    const double room = reach_of(b, o) - span_of(o);
    if (room < 0 || o->axis_stride < 0)
        return 0;
    const int64_t n = 1 + (int64_t)(room / (double)o->axis_stride);
    return n < o->axis_len ? n : o->axis_len;
}

/* True if values depend on the point numbers: then only whole rows can be cut off. */
static bool knows_place(const tape *t)
{
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_IOTA || t->inst[k].code == TAPE_BITS)
            return true;
    return false;
}

/* ---- cutting ---- */

static ig_status box_emit(box *b);

/* Emits the points [from, to) of an axis, then restores the box. */
static ig_status box_cut(box *b, int axis, int64_t from, int64_t to)
{
    tape *t = &b->p.pre;
    const tape before = *t;
    TRY(emit_own_operands(t, 0));
    for (int i = 0; i < t->n_operand; i++) {
        operand *o = &t->operand[i];
        if (o->slot < 0 || o->v.ndim != t->ndim)
            continue;
        o->v.offset += from * o->v.stride[axis];
        o->v.shape[axis] = to - from;
    }
    t->size = t->size / t->shape[axis] * (to - from);
    t->shape[axis] = to - from;
    const ig_status status = box_emit(b);
    memory_free(t->operand);
    *t = before;
    return status;
}

/* Emits all parts of an operand's indexed axis. */
static ig_status box_parts(box *b, int at, int64_t part)
{
    tape *t = &b->p.pre;
    const operand before = t->operand[at];
    ig_status status = IG_OK;
    for (int64_t from = 0; from < before.axis_len && status == IG_OK; from += part) {
        operand *o = &t->operand[at];
        o->part_first = from;
        o->part_len = before.axis_len - from < part ? before.axis_len - from : part;
        o->v.offset = before.v.offset + from * before.axis_stride;
        status = box_emit(b);
        t->operand[at] = before;
    }
    return status;
}

/* The axis along which an operand that does not fit reaches farthest; it is halved next. -1 if there is none. */
static int worst_axis(const box *b)
{
    const tape *t = &b->p.pre;
    int worst = -1;
    double most = 0;
    for (int i = 0; i < t->n_operand; i++) {
        const operand *o = &t->operand[i];
        if (!box_is_large(b, o) || o->v.ndim != t->ndim ||
            span_of(o) <= reach_of(b, o) * (is_read(o) ? 0.5 : 1))
            continue;
        for (int k = 0; k < t->ndim; k++)
            if (t->shape[k] > 1 && axis_span(o, k) > most) {
                most = axis_span(o, k);
                worst = k;
            }
    }
    return worst;
}

static ig_status box_emit(box *b)
{
    tape *t = &b->p.pre;
    const int axis = worst_axis(b);
    if (axis == 0 || (axis > 0 && knows_place(t)))
        return emit_too_large(b->t); /* whole rows were cut off earlier */
    if (axis > 0) {
        const int64_t n = t->shape[axis];
        TRY(box_cut(b, axis, 0, n / 2));
        return box_cut(b, axis, n / 2, n);
    }
    for (int i = 0; i < t->n_operand; i++) {
        const operand *o = &t->operand[i];
        if (!box_is_large(b, o) || !is_read(o) || o->part_len)
            continue;
        const int64_t part = part_of(b, o);
        if (!part)
            return emit_too_large(b->t);
        if (part < o->axis_len)
            return box_parts(b, i, part);
    }
    if (++b->launches > TILES_MOST)
        return emit_too_large(b->t);
    return b->whole(&b->p, b->t, b->out);
}

/* The number of rows for which each operand stays within half of the reach of a launch. */
int64_t emit_box_rows(const program *p, const emit_target *t)
{
    const box b = {.p = *p, .t = t};
    int64_t rows = p->pre.ndim ? p->pre.shape[0] : 0;
    for (int i = 0; i < p->pre.n_operand; i++) {
        const operand *o = &p->pre.operand[i];
        if (!box_is_large(&b, o) || o->v.ndim != p->pre.ndim || o->v.stride[0] == 0)
            continue;
        const double most = reach_of(&b, o) / 2 / (double)llabs(o->v.stride[0]);
        rows = most < 1 ? 1 : most < (double)rows ? (int64_t)most : rows;
    }
    return rows;
}

ig_status emit_boxes(const program *p, const emit_target *t, emit_whole *whole, emitted *out)
{
    box b = {.p = *p, .t = t, .whole = whole, .out = out};
    TRY(emit_own_operands(&b.p.pre, 0));
    const ig_status status = box_emit(&b);
    memory_free(b.p.pre.operand);
    return status;
}
