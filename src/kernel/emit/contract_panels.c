/* The panels of a contraction: TILE_K points of k of the rows of a tile. Threads load one into registers, then store it to
 * shared memory as lanes, point by point. */
#include "kernel/emit/contract.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAME_K = 256 };

/* True if all strides of the axes, or all but that of the last, are multiples of n. */
static bool steps_by(const view *v, contract_axes a, bool last, int64_t n)
{
    for (int i = a.first; i < a.first + a.n - (last ? 0 : 1); i++)
        if (v->stride[i] % n)
            return false;
    return true;
}

contract_groups contraction_groups(const program *p, int side)
{
    const int b = p->ndim[0], rows = p->ndim[1 + side], k = p->ndim[3];
    return (contract_groups){{0, b}, {b, rows}, {b + rows, k}};
}

int64_t contraction_block(const emit_writer *w, const program *p)
{
    const int64_t k = p->extent[3], parts = w->target->same ? ceil_div(k, SAME_K) : 1;
    return parts && k ? ceil_div(k, parts) : 1;
}

static void plan_side(const emit_writer *w, contraction *c, int number, int tile)
{
    const operand *o = &c->p->in[number];
    const contract_groups q = contraction_groups(c->p, number);
    const view *v = &o->v;
    const int64_t row = q.rows.n ? llabs(v->stride[q.rows.first + q.rows.n - 1]) : INT64_MAX;
    const int64_t point = q.k.n ? llabs(v->stride[q.k.first + q.k.n - 1]) : INT64_MAX;
    contract_side *s = &c->side[number];
    *s = (contract_side){.tile = tile, .pitch = tile + GROUP, .along_k = point <= row, .vector = 1};
    snprintf(s->name, sizeof s->name, "%c%d", number ? 'n' : 'm', c->number);
    const contract_axes along = s->along_k ? q.k : q.rows, across = s->along_k ? q.rows : q.k;
    const int n = ig_dtype_bytes(o->dtype) <= 4 ? 4 : 1, last = along.first + along.n - 1;
    const bool whole = tile * TILE_K / n % c->shape.threads == 0 &&
                       (!s->along_k || contraction_block(w, c->p) % n == 0 ||
                        contraction_block(w, c->p) == c->p->extent[3]);
    if (n > 1 && whole && along.n && v->stride[last] == 1 && v->shape[last] % n == 0 &&
        v->offset % n == 0 && steps_by(v, q.batch, true, n) && steps_by(v, along, false, n) &&
        steps_by(v, across, true, n))
        s->vector = n;
    if (number == 0 && c->from) {
        s->vector = 1;
        s->along_k = true;
    }
}

static void plan(emit_writer *w, contraction *c)
{
    const contract_shape *s = &c->shape;
    const bool cpu = w->target->cpu;
    plan_side(w, c, 0, cpu ? SERIAL_ROWS : s->threads / 32 / s->warps_n * LANES_M * s->rows);
    plan_side(w, c, 1, cpu ? SERIAL_COLS : s->warps_n * LANES_N * s->cols);
    c->vector = c->p->extent[2] % GROUP == 0 && s->cols >= GROUP && !c->locals
                    ? emit_vector_width(w, &c->p->post)
                    : 1;
}

int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c)
{
    if (w->target->cpu)
        return contraction_serial_bytes(w, c->p);
    return (int64_t)2 * TILE_K * (c->side[0].pitch + c->side[1].pitch) *
           (int64_t)ig_dtype_bytes(contraction_lane(c->p));
}

void contraction_plan(emit_writer *w, contraction *c, int64_t room)
{
    plan(w, c);
    while (contraction_panel_bytes(w, c) > room && c->shape.cols > 1 && !c->shape.matrices) {
        c->shape.cols /= 2;
        plan(w, c);
    }
}

/* Where the u-th load of a thread goes in the panel: r and kk. */
static void write_spot(emit_writer *w, const contract_side *s, int threads)
{
    if (s->along_k)
        text_add(&w->body, "const int e = t + u * %d, kk = e %% %d * %d, r = e / %d;\n", threads,
                 TILE_K / s->vector, s->vector, TILE_K / s->vector);
    else
        text_add(&w->body, "const int e = t + u * %d, r = e %% %d * %d, kk = e / %d;\n", threads,
                 s->tile / s->vector, s->vector, s->tile / s->vector);
}

static int loads_of(const contract_side *s, int threads)
{
    return s->tile * TILE_K / s->vector / threads;
}

panel_part panel_whole(const contraction *c, int side)
{
    return (panel_part){side, 0, loads_of(&c->side[side], c->shape.threads)};
}

void panel_declare(emit_writer *w, const contraction *c, panel_part part)
{
    const int side = part.side;
    const contract_side *s = &c->side[side];
    const ig_dtype dtype = c->p->in[side].dtype;
    text_add(&w->body, "    %s next_%s[%d];\n",
             s->vector > 1 ? emit_vector_type(dtype, s->vector) : emit_storage_type(dtype), s->name,
             part.count);
}

/* The loop over loads: u is the number of one, and v its place in next_m0[]. */
static void write_loads_begin(emit_writer *w, panel_part part)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int v = 0; v < %d; v++) {\n        const int u = v + %d;\n"
             "        ",
             part.count, part.first);
}

/* The address of an element, and whether it is one. Fragments have sums of rows beyond the last, too, which nothing
 * stores: m0_at of such a row is that of the first one, and only the points of k are checked, unless all exist. */
static void write_address(emit_writer *w, const contraction *c, const char *x, const char *k,
                          bool checked)
{
    if (!checked) {
        text_add(&w->body, "        const idx at = %s_at[u] + %s_k(g, %s + kk);\n", x, x, k);
        return;
    }
    text_add(&w->body, "        const bool in = ");
    if (!c->shape.matrices)
        text_add(&w->body, "%s_first + r < %s_end && ", x, x);
    text_add(&w->body,
             "%s + kk < k_end;\n        const idx at = in ? %s_at[u] + %s_k(g, %s + kk) : 0;\n", k,
             x, x, k);
}

void panel_load(emit_writer *w, const contraction *c, panel_part part, const char *k, bool whole)
{
    const bool checked = !c->shape.matrices || !whole;
    const int side = part.side;
    const operand *o = &c->p->in[side];
    const contract_side *s = &c->side[side];
    const int n = s->vector, threads = c->shape.threads;
    const char *x = s->name, *type = emit_vector_type(o->dtype, n);
    char from[64];
    write_loads_begin(w, part);
    write_spot(w, s, threads);
    write_address(w, c, x, k, checked);
    if (side == 0 && c->from)
        snprintf(from, sizeof from, "((%s *)local)", emit_storage_type(o->dtype));
    else
        snprintf(from, sizeof from, "p%d", writer_operand(w, o, false));
    for (int i = 0; i < n && checked; i++)
        text_add(&w->body, n > 1 ? "        next_%s[v].%s = 0;\n" : "        next_%s[v] = 0;\n", x,
                 emit_component[i]);
    text_add(&w->body, "%s        next_%s[v] = *(const %s *)(%s + at);\n    }\n",
             checked ? "        if (in)\n    " : "", x, n > 1 ? type : emit_storage_type(o->dtype),
             from);
}

void panel_store(emit_writer *w, const contraction *c, panel_part part)
{
    const contract_side *s = &c->side[part.side];
    const ig_dtype lane = contraction_lane(c->p);
    const int threads = c->shape.threads;
    const bool together = !s->along_k && s->vector == c->shape.vector;
    const char *type = emit_vector_type(lane, s->vector);
    write_loads_begin(w, part);
    write_spot(w, s, threads);
    if (together)
        text_add(&w->body, "        %s q;\n", type);
    for (int i = 0; i < s->vector; i++)
        if (together)
            text_add(&w->body, "        q.%s = lane_of_%s(next_%s[v].%s);\n", emit_component[i],
                     s->name, s->name, emit_component[i]);
        else
            text_add(&w->body,
                     "        s_%s[(buffer * %d + kk + %d) * %d + r + %d] = "
                     "lane_of_%s(next_%s[v]%s%s);\n",
                     s->name, TILE_K, s->along_k ? i : 0, s->pitch, s->along_k ? 0 : i, s->name,
                     s->name, s->vector > 1 ? "." : "", s->vector > 1 ? emit_component[i] : "");
    if (together)
        text_add(&w->body, "        *(%s *)(s_%s + (buffer * %d + kk) * %d + r) = q;\n", type,
                 s->name, TILE_K, s->pitch);
    text_add(&w->body, "    }\n");
}

void panel_rows(emit_writer *w, const contraction *c, int side)
{
    const contract_side *s = &c->side[side];
    const char *x = s->name;
    const int loads = loads_of(s, c->shape.threads);
    text_add(&w->body,
             "    idx %s_at[%d];\n#pragma unroll\n    for (int u = 0; u < %d; u++) {\n        ", x,
             loads, loads);
    write_spot(w, s, c->shape.threads);
    if (side == 0 && c->from)
        text_add(&w->body, "        %s_at[u] = g.n%d + r * g.n%d;\n", x,
                 writer_number(w, c->from->offset / (int64_t)ig_dtype_bytes(c->p->in[0].dtype)),
                 writer_number(w, c->from->own));
    else
        text_add(
            &w->body,
            "        %s_at[u] = %s_b(g, batch) + (%s_first + r < %s_end ? %s_row(g, %s_first + "
            "r) : 0);\n",
            x, x, x, x, x, x);
    text_add(&w->body, "        (void)kk;\n    }\n");
}
