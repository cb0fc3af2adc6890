/* Programs with arrays that are larger than a buffer of the device: see target->reach_bytes. A launch reaches only
 * reach_bytes of such an array from where its argument points. So the rows of the program are cut into tiles. Each tile
 * is a separate program whose views begin later; their kernels share one text.
 *
 * This works if the rows of the program are rows of the large arrays. Other maps are cut into boxes (boxes.c). A
 * reduction of one row is cut along the row, into ranges that each give one value. So is a scan of a long row (scan.c).
 * A write is cut by output position (search_write.c). Everything else is rejected. */
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "engine/program/cuts.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNED_ROWS = 64, SORT_SCRATCH = 32 /* the most bytes for each element */ };

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- large arrays ---- */

/* Slots that exist by rows have no buffer. */
static bool is_large(const program *p, const emit_target *t, int slot)
{
    for (int i = 0; i < p->n_local; i++)
        if (p->local[i].slot == slot)
            return false;
    return emit_slot_bytes(t, slot) > (int64_t)t->buffer_bytes;
}

bool emit_has_large(const program *p, int n, const emit_target *t)
{
    int slots[3];
    if (!t->reach_bytes)
        return false;
    for (int k = 0; k < n; k++) {
        const tape *tapes[2] = {&p[k].pre, &p[k].post};
        for (int i = program_core_slots(&p[k], slots) - 1; i >= 0; i--)
            if (is_large(p, t, slots[i]))
                return true;
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < tapes[j]->n_operand; i++)
                if (is_large(p, t, tapes[j]->operand[i].slot))
                    return true;
    }
    return false;
}

ig_status emit_too_large(const emit_target *t)
{
    char most[SIZE_ROOM];
    FAIL(IG_ERR_UNSUPPORTED,
         "an array is larger than a buffer there (%s), and it is not read or written row by row",
         size_text(t->buffer_bytes, most));
}

bool emit_reaches(const emit_target *t, const operand *o)
{
    const view *v = &o->v;
    double far = 1;
    if (emit_slot_bytes(t, o->slot) <= (int64_t)t->buffer_bytes)
        return true;
    for (int i = 0; i < v->ndim; i++)
        far += v->shape[i] > 0 ? (double)(v->shape[i] - 1) * (double)llabs(v->stride[i]) : 0;
    if (o->axis_len && o->axis_stride)
        far +=
            (double)((o->part_len ? o->part_len : o->axis_len) - 1) * (double)llabs(o->axis_stride);
    return far * (double)ig_dtype_bytes(o->dtype) <= (double)t->reach_bytes &&
           (o->axis_len == 0 || o->axis_stride >= 0);
}

static bool operand_fits(const program *first, const emit_target *t, const operand *o)
{
    return !is_large(first, t, o->slot) || emit_reaches(t, o);
}

static bool tape_fits(const program *first, const emit_target *t, const tape *x)
{
    for (int i = 0; i < x->n_operand; i++)
        if (x->operand[i].slot >= 0 && !operand_fits(first, t, &x->operand[i]))
            return false;
    return true;
}

/* ---- cutting ---- */

/* The number of rows that must stay together, if a space of `rows` rows has a first axis of `len` points. */
static int64_t unit_of(int64_t rows, int64_t len) { return rows / common_divisor(rows, len); }

static void unit_add(int64_t *unit, int64_t rows, int64_t len)
{
    const int64_t u = unit_of(rows, len);
    *unit = *unit / common_divisor(*unit, u) * u;
}

/* n rows of `rows`, as points of an axis of len; n is a multiple of unit_of(rows, len), or all rows. */
static int64_t points_of(int64_t n, int64_t rows, int64_t len)
{
    return n / unit_of(rows, len) * (len / common_divisor(rows, len));
}

static void view_cut(view *v, int axis, int64_t rows, int64_t from, int64_t to)
{
    const int64_t len = v->shape[axis];
    v->offset += points_of(from, rows, len) * v->stride[axis];
    v->shape[axis] = points_of(to - from, rows, len);
}

/* True if the operand is the key of random bits: its view does not have the shape of the tape's space. */
static bool is_key(const tape *t, int at)
{
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].operand == at && t->inst[k].code == TAPE_BITS)
            return true;
    return false;
}

ig_status emit_own_operands(tape *t, int more)
{
    operand *own = memory_get((size_t)(t->n_operand + more) * sizeof *own + 1);
    if (!own)
        return IG_ERR_MEMORY;
    if (t->n_operand)
        memcpy(own, t->operand, (size_t)t->n_operand * sizeof *own);
    t->operand = own;
    return IG_OK;
}

/* Cuts out rows [from, to) of `rows`, in a copy of the operands. The last operand has no slot: it says where the tape
 * begins. */
static ig_status tape_cut(tape *t, int64_t rows, int64_t from, int64_t to)
{
    const tape whole = *t;
    if (whole.n_inst == 0 || whole.ndim == 0)
        return IG_OK;
    const int64_t start = whole.size / rows * from;
    TRY(emit_own_operands(t, 1));
    for (int i = 0; i < whole.n_operand; i++)
        if (is_key(&whole, i))
            t->operand[i].first_index += start;
        else
            view_cut(&t->operand[i].v, 0, rows, from, to);
    t->operand[t->n_operand++] = (operand){.slot = -1, .first_index = start};
    t->shape[0] = points_of(to - from, rows, whole.shape[0]);
    t->size = whole.size / rows * (to - from);
    return IG_OK;
}

/* Programs with their own copies of everything that is cut. */
typedef struct tile {
    program *p;
    int n;
} tile;

static void tile_free(tile *c, const program *p)
{
    for (int k = 0; k < c->n; k++) {
        const tape *own[2] = {&c->p[k].pre, &c->p[k].post}, *whole[2] = {&p[k].pre, &p[k].post};
        for (int i = 0; i < 2; i++)
            if (own[i]->operand != whole[i]->operand)
                memory_free(own[i]->operand);
    }
    memory_free(c->p);
}

static ig_status tile_cut(tile *c, const program *p, int n, int64_t rows, int64_t from, int64_t to)
{
    *c = (tile){memory_new((size_t)n * sizeof *p), n};
    if (!c->p)
        return c->n = 0, IG_ERR_MEMORY;
    memcpy(c->p, p, (size_t)n * sizeof *p);
    c->p->rows = p->rows ? to - from : 0;
    for (int k = 0; k < n; k++) {
        program *q = &c->p[k];
        operand *const core[CORE_OPERANDS] = {&q->in[0], &q->in[1], &q->out};
        for (int i = 0; i < CORE_OPERANDS; i++) {
            const int axis = program_row_axis(q, i);
            if (program_operand(q, i) && axis >= 0)
                view_cut(&core[i]->v, axis, rows, from, to);
        }
        program_set_rows(q, to - from);
        TRY(tape_cut(&q->pre, rows, from, to));
        TRY(tape_cut(&q->post, rows, from, to));
    }
    return IG_OK;
}

/* True if the scratch memory of a sort, SORT_SCRATCH bytes for each element, fits into a buffer. */
static bool sort_fits(const program *p, const emit_target *t)
{
    return (p->kind != PROGRAM_SORT && p->kind != PROGRAM_ARGSORT) ||
           (double)p->outer * (double)p->inner * SORT_SCRATCH <= (double)t->buffer_bytes;
}

/* True if the core of a program fits. */
static bool core_fits(const program *first, const program *p, const emit_target *t)
{
    bool fits = sort_fits(p, t);
    for (int i = 0; i < CORE_OPERANDS && fits; i++) {
        const operand *o = program_operand(p, i);
        fits = !o || operand_fits(first, t, o);
    }
    return fits;
}

static bool tile_fits(const program *p, int n, const emit_target *t)
{
    for (int k = 0; k < n; k++)
        if (!tape_fits(p, t, &p[k].pre) || !tape_fits(p, t, &p[k].post) || !core_fits(p, &p[k], t))
            return false;
    return true;
}

/* The rows of a program or chain, and how many must stay together; 0 if it has no rows. */
static int64_t rows_of(const program *p, int n, int64_t *unit)
{
    const int64_t rows = n == 1 ? program_rows(p) : p->rows;
    *unit = 1;
    for (int k = 0; k < n && rows; k++) {
        const tape *tapes[2] = {&p[k].pre, &p[k].post};
        if (p[k].kind == PROGRAM_CONTRACT && n > 1)
            return 0;
        for (int i = 0; i < 2; i++)
            if (tapes[i]->n_inst && tapes[i]->ndim)
                unit_add(unit, rows, tapes[i]->shape[0]);
        for (int i = 0; i < CORE_OPERANDS; i++) {
            const operand *o = program_operand(&p[k], i);
            const int axis = program_row_axis(&p[k], i);
            if (o && axis >= 0)
                unit_add(unit, rows, axis < o->v.ndim ? o->v.shape[axis] : 1);
        }
    }
    return rows;
}

/* The most rows, from the start, that fit into a tile: *len, or 0. */
static ig_status find_tile(const program *p, int n, const emit_target *t, int64_t rows,
                           int64_t unit, int64_t *len)
{
    ig_status status = IG_OK;
    bool fits = false;
    for (int64_t units = rows / unit; units > 0 && !fits && status == IG_OK; units /= 2) {
        const int64_t aligned = units > ALIGNED_ROWS ? units / ALIGNED_ROWS * ALIGNED_ROWS : units;
        tile c;
        *len = aligned * unit;
        status = tile_cut(&c, p, n, rows, 0, *len);
        fits = status == IG_OK && tile_fits(c.p, n, t);
        tile_free(&c, p);
    }
    if (!fits || rows / *len > TILES_MOST)
        *len = 0;
    return status;
}

ig_status emit_range(const program *p, int64_t from, int64_t to, program *out)
{
    *out = *p;
    out->inner = to - from;
    out->first = 0;
    return tape_cut(&out->pre, program_is_span(p) ? p->pre.size : p->inner, p->first + from,
                    p->first + to);
}

void emit_range_free(program *range, const program *p)
{
    if (range->pre.operand != p->pre.operand)
        memory_free(range->pre.operand);
}

int64_t emit_range_points(const program *p, const emit_target *t, int64_t unit)
{
    int64_t points = p->inner;
    bool fits = !emit_has_large(p, 1, t) || tape_fits(p, t, &p->pre);
    while (!fits && points > 0) {
        program part;
        points = p->pre.ndim == 1 && points > unit ? points / 2 / unit * unit : 0;
        if (points)
            fits = emit_range(p, 0, points, &part) == IG_OK && tape_fits(p, t, &part.pre);
        if (points)
            emit_range_free(&part, p);
    }
    return points;
}

ig_status emit_tiles(const program *p, int n, const emit_target *t, emit_whole *whole, emitted *out)
{
    int64_t unit, len = 0;
    const int64_t rows = rows_of(p, n, &unit);
    if (tile_fits(p, n, t) || p->kind == PROGRAM_WRITE ||
        (n == 1 && p->kind == PROGRAM_REDUCE && p->outer == 1 && tape_fits(p, t, &p->post)))
        return whole(p, t, out);
    if (rows)
        TRY(find_tile(p, n, t, rows, unit, &len));
    const bool boxes = !len && n == 1 && p->kind == PROGRAM_MAP && rows;
    if (boxes)
        len = emit_box_rows(p, t);
    if (!len && n == 1 && p->kind == PROGRAM_SCAN && unit == 1)
        len = 1;
    if (!len || rows / len > TILES_MOST)
        return emit_too_large(t);
    for (int64_t from = 0; from < rows; from += len) {
        tile c;
        const uint64_t scratch_bytes = out->scratch_bytes;
        ig_status status = tile_cut(&c, p, n, rows, from, from + len < rows ? from + len : rows);
        if (status == IG_OK)
            status = boxes ? emit_boxes(c.p, t, whole, out) : whole(c.p, t, out);
        tile_free(&c, p);
        TRY(status);
        if (out->scratch_bytes < scratch_bytes)
            out->scratch_bytes = scratch_bytes;
    }
    return IG_OK;
}
