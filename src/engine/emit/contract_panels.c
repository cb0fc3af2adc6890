/* The panels of a contraction: some points of k of the rows of a tile. Threads load one into registers, then store it to
 * shared memory as lanes, point by point. */
#include "engine/emit/contract.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAME_K = 256, TABLE_MOST = 6144 };

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

/* True if neighbouring points of k lie closer together than neighbouring rows, or as close and in longer runs: windows of a
 * convolution overlap. */
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
    const int64_t k = p->extent[3], parts = w->target->same ? ceil_div(k, SAME_K) : 1;
    return parts && k ? ceil_div(k, parts) : 1;
}

static void plan_side(const emit_writer *w, contraction *c, int number, int tile)
{
    const operand *o = &c->p->in[number];
    const contract_groups q = contraction_groups(c->p, number);
    const view rows = merged(&o->v, q.rows), k = merged(&o->v, q.k);
    contract_side *s = &c->side[number];
    const int points = c->shape.points ? c->shape.points : TILE_K;
    *s = (contract_side){.tile = tile,
                         .points = points,
                         .pitch = tile + GROUP,
                         .along_k = is_along_k(&rows, &k),
                         .vector = 1,
                         .table = c->shape.large && k.ndim > 1 && c->p->extent[3] <= TABLE_MOST};
    snprintf(s->name, sizeof s->name, "%c%d", number ? 'n' : 'm', c->number);
    const view *along = s->along_k ? &k : &rows;
    const int n = ig_dtype_bytes(o->dtype) <= 4 ? 4 : 1, last = along->ndim - 1;
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

/* Of the offsets of all points of k, and of some zeros behind them. */
static int64_t table_bytes(const emit_writer *w, const program *p)
{
    enum { ALIGN = 16 };
    return ceil_div((p->extent[3] + TILE_K) * (w->wide ? 8 : 4), ALIGN) * ALIGN;
}

int64_t contraction_panel_bytes(const emit_writer *w, const contraction *c)
{
    if (w->target->cpu)
        return contraction_serial_bytes(w, c->p);
    const int tables = c->side[0].table + c->side[1].table;
    return (int64_t)2 * c->side[0].points * (c->side[0].pitch + c->side[1].pitch) *
               (int64_t)ig_dtype_bytes(contraction_lane(c->p)) +
           tables * table_bytes(w, c->p);
}

void contraction_plan(emit_writer *w, contraction *c, int64_t room)
{
    plan(w, c);
    while (contraction_panel_bytes(w, c) > room && c->shape.cols > 1 && !c->shape.matrices) {
        c->shape.cols /= 2;
        plan(w, c);
    }
}

/* Where the u-th load of a thread goes in the panel: r and kk. Written so that the one that is the same for all loads is seen
 * to be. */
static void write_spot(emit_writer *w, const contract_side *s, int threads)
{
    const char *inner = s->along_k ? "kk" : "r", *outer = s->along_k ? "r" : "kk";
    const int n = (s->along_k ? s->points : s->tile) / s->vector;
    if (threads % n == 0)
        text_add(&w->body, "const int %s = t %% %d * %d, %s = t / %d + u * %d;\n", inner, n,
                 s->vector, outer, n, threads / n);
    else
        text_add(&w->body, "const int e = t + u * %d, %s = e %% %d * %d, %s = e / %d;\n", threads,
                 inner, n, s->vector, outer, n);
}

/* True if all loads of a thread have the same row. */
static bool has_one_row(const contract_side *s, int threads)
{
    return !s->along_k && threads % (s->tile / s->vector) == 0;
}

static int loads_of(const contract_side *s, int threads)
{
    return s->tile * s->points / s->vector / threads;
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

/* True if a load asks whether its element exists. What is loaded instead of one that does not is never used: m0_at of a row
 * behind the last is that of the first, and so is a point in a table. Fragments use the points behind the last, so they
 * need zeros there. */
static bool is_checked(const contraction *c, int side, bool whole)
{
    return c->shape.matrices ? !whole : !c->side[side].table;
}

/* The address of an element, and whether it is one. */
static void write_address(emit_writer *w, const contraction *c, int side, const char *k,
                          bool checked)
{
    const char *x = c->side[side].name,
               *u = has_one_row(&c->side[side], c->shape.threads) ? "0" : "u";
    char point[64];
    snprintf(point, sizeof point, c->side[side].table ? "%s_points[%s + kk]" : "%s_k(g, %s + kk)",
             x, k);
    if (!checked) {
        text_add(&w->body, "        const idx at = %s_at[%s] + %s;\n", x, u, point);
        return;
    }
    text_add(&w->body, "        const bool in = ");
    if (!c->shape.matrices)
        text_add(&w->body, "%s_first + r < %s_end && ", x, x);
    text_add(&w->body, "%s + kk < k_end;\n        const idx at = in ? %s_at[%s] + %s : 0;\n", k, x,
             u, point);
}

void panel_load(emit_writer *w, const contraction *c, panel_part part, const char *k, bool whole)
{
    const int side = part.side;
    const bool checked = is_checked(c, side, whole);
    const operand *o = &c->p->in[side];
    const contract_side *s = &c->side[side];
    const int n = s->vector, threads = c->shape.threads;
    const char *x = s->name, *type = emit_vector_type(o->dtype, n);
    char from[64];
    write_loads_begin(w, part);
    write_spot(w, s, threads);
    write_address(w, c, side, k, checked);
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
    const bool together = !s->along_k && s->vector > 1 && s->vector == c->shape.vector;
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
                     s->name, s->points, s->along_k ? i : 0, s->pitch, s->along_k ? 0 : i, s->name,
                     s->name, s->vector > 1 ? "." : "", s->vector > 1 ? emit_component[i] : "");
    if (together)
        text_add(&w->body, "        *(%s *)(s_%s + (buffer * %d + kk) * %d + r) = q;\n", type,
                 s->name, s->points, s->pitch);
    text_add(&w->body, "    }\n");
}

/* The tables lie behind the panels, in front of the sums of blocks. Behind the last point they are 0, so that a load needs
 * no condition. */
void panel_points(emit_writer *w, const contraction *c)
{
    const char *behind = c->side[1].name;
    if (!c->side[0].table && !c->side[1].table)
        return;
    int64_t at = 0;
    for (int i = 0; i < 2; i++)
        if (c->side[i].table) {
            const char *x = c->side[i].name;
            text_add(&w->body,
                     "    idx *%s_points = (idx *)(s_%s + %d) + %lld;\n"
                     "    for (int i = t; i < k_end + %d; i += %d)\n"
                     "        %s_points[i] = i < k_end ? %s_k(g, i) : 0;\n",
                     x, behind, 2 * c->side[1].points * c->side[1].pitch, (long long)at, TILE_K,
                     c->shape.threads, x, x);
            at += table_bytes(w, c->p) / (w->wide ? 8 : 4);
        }
    text_add(&w->body, "    __syncthreads();\n");
}

void panel_rows(emit_writer *w, const contraction *c, int side)
{
    const contract_side *s = &c->side[side];
    const char *x = s->name;
    const int loads = has_one_row(s, c->shape.threads) ? 1 : loads_of(s, c->shape.threads);
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
