/* How the panels of a contraction are loaded. A panel is some points of k of the rows of a tile. See
 * kernels/contract_panel.cuh. */
#include "engine/emit/contract.h"

#include "engine/program/product.h"
#include <stdlib.h>

enum { TABLE_MOST = 6144, SERIAL_POINTS = 64 };

/* True if all strides of the axes are multiples of n. */
static bool steps_by(const view *v, contract_axes a, int64_t n)
{
    for (int i = a.first; i < a.first + a.n; i++)
        if (v->stride[i] % n)
            return false;
    return true;
}

/* The axes of a group, merged where they can be. */
static view merged(const view *v, contract_axes a)
{
    view part = {.ndim = a.n};
    for (int i = 0; i < a.n; i++) {
        part.shape[i] = v->shape[a.first + i];
        part.stride[i] = v->stride[a.first + i];
    }
    view_collapse((view *const[1]){&part}, 1);
    return part;
}

/* True if neighbouring points of k lie closer together than neighbouring rows, or equally close but in longer runs: the
 * windows of a convolution overlap. */
static bool is_along_k(const view *rows, const view *k)
{
    const int r = rows->ndim - 1, q = k->ndim - 1;
    const int64_t row = r < 0 ? INT64_MAX : llabs(rows->stride[r]);
    const int64_t point = q < 0 ? INT64_MAX : llabs(k->stride[q]);
    return point < row || (point == row && (r < 0 || k->shape[q] >= rows->shape[r]));
}

contract_groups contraction_groups(const program *p, int side)
{
    const int b = p->ndim[0], rows = p->ndim[1 + side], k = p->ndim[3];
    return (contract_groups){{0, b}, {b, rows}, {b + rows, k}};
}

int64_t contraction_block(const emit_writer *w, const program *p)
{
    return product_block(p->extent[3], w->target->same ? PRODUCT_K : INT64_MAX);
}

static void plan_side(const emit_writer *w, contraction *c, int number, int tile)
{
    const operand *o = &c->p->in[number];
    const contract_groups q = contraction_groups(c->p, number);
    const view rows = merged(&o->v, q.rows), k = merged(&o->v, q.k);
    contract_side *s = &c->side[number];
    const int points = c->shape.points;
    *s = (contract_side){.tile = tile,
                         .pitch = tile + GROUP,
                         .along_k = is_along_k(&rows, &k),
                         .vector = 1,
                         .table = c->shape.large && k.ndim > 1 && c->p->extent[3] <= TABLE_MOST};
    const view *along = s->along_k ? &k : &rows;
    const int n = storage_is_plain(o->stored) && ig_dtype_bytes(o->dtype) <= 4 ? 4 : 1,
              last = along->ndim - 1;
    const bool whole = tile * points / n % c->shape.threads == 0 &&
                       (!s->along_k || contraction_block(w, c->p) % n == 0 ||
                        contraction_block(w, c->p) == c->p->extent[3]);
    if (n > 1 && whole && last >= 0 && along->stride[last] == 1 && along->shape[last] % n == 0 &&
        o->v.offset % n == 0 && steps_by(&o->v, q.batch, n) &&
        steps_by(along, (contract_axes){0, last}, n) &&
        steps_by(&o->v, s->along_k ? q.rows : q.k, n))
        s->vector = n;
    if (number == 0 && c->from) {
        s->vector = 1;
        s->along_k = true;
    }
}

/* Bytes of both panels on a CPU. */
static int64_t serial_bytes(const program *p, int points)
{
    return (int64_t)(SERIAL_ROWS + SERIAL_COLS) * points *
           (int64_t)ig_dtype_bytes(contraction_lane(p));
}

/* Points of a panel; on a CPU both panels take at most three quarters of the shared memory. */
static int points_of(const emit_writer *w, const contraction *c)
{
    if (!w->target->cpu)
        return c->shape.points ? c->shape.points : TILE_K;
    const int64_t room = (int64_t)w->target->shared_bytes / 4 * 3;
    int points = SERIAL_POINTS;
    while (points > 1 && serial_bytes(c->p, points) > room)
        points /= 2;
    return points;
}

static void plan(emit_writer *w, contraction *c)
{
    contract_shape *s = &c->shape;
    const bool cpu = w->target->cpu;
    s->points = points_of(w, c);
    plan_side(w, c, 0, cpu ? SERIAL_ROWS : s->threads / 32 / s->warps_n * LANES_M * s->rows);
    plan_side(w, c, 1, cpu ? SERIAL_COLS : s->warps_n * LANES_N * s->cols);
    c->vector = c->p->extent[2] % GROUP == 0 && s->cols >= GROUP && !c->locals
                    ? emit_vector_width(w, &c->p->post)
                    : 1;
}

int64_t contraction_table_bytes(const emit_writer *w, const program *p)
{
    enum { ALIGN = 16 };
    return ceil_div((p->extent[3] + TILE_K) * (w->wide ? 8 : 4), ALIGN) * ALIGN;
}

int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c)
{
    if (w->target->cpu)
        return serial_bytes(c->p, c->shape.points);
    const int tables = c->side[0].table + c->side[1].table;
    return (int64_t)2 * c->shape.points * (c->side[0].pitch + c->side[1].pitch) *
               (int64_t)ig_dtype_bytes(contraction_lane(c->p)) +
           tables * contraction_table_bytes(w, c->p);
}

bool contraction_uses_matrices(const program *p, const emit_target *t)
{
    return t->matrices && !t->same && t->subgroup == 32 && contraction_lane(p) == IG_F32 &&
           dtype_lane(p->in[0].dtype) == IG_F32 && dtype_lane(p->in[1].dtype) == IG_F32;
}

void contraction_plan(emit_writer *w, contraction *c, int64_t room)
{
    plan(w, c);
    while (contraction_panel_bytes(w, c) > room && c->shape.cols > 1 && !c->shape.matrices) {
        c->shape.cols /= 2;
        plan(w, c);
    }
}
