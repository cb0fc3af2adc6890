/* The tile of a contraction: sums in registers, over all points of k. While a panel is used, the next one is loaded; there
 * are two buffers. */
#include "engine/emit/contract.h"

#include <stdio.h>

/* x[] or y[]: lanes of point kk, in groups of GROUP neighbours that are `step` apart. */
static void write_fragment(emit_writer *w, const contraction *c, int side, const char *to,
                           const char *first, int count, int step)
{
    const ig_dtype lane = contraction_lane(c->p);
    const contract_side *s = &c->side[side];
    const int n = c->shape.vector < count ? c->shape.vector : count;
    const char *type = n > 1 ? emit_vector_type(lane, n) : emit_lane_type(lane);
    for (int i = 0; i < count; i += n) {
        text_add(&w->body, "        const %s %s%d = *(const %s *)(from_%s + kk * %d + %s + %d);\n",
                 type, to, i, type, s->name, s->pitch, first, i / GROUP * step + i % GROUP);
        for (int k = 0; k < n; k++)
            text_add(&w->body, n > 1 ? "        %s[%d] = %s%d.%s;\n" : "        %s[%d] = %s%d;\n",
                     to, i + k, to, i, emit_component[k]);
    }
}

/* Adds the products of point kk of both panels. */
static void write_products(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    text_add(&w->body, "        %s x[%d], y[%d];\n", emit_lane_type(contraction_lane(c->p)),
             s->rows, s->cols);
    write_fragment(w, c, 0, "x", "ti", s->rows, LANES_M * GROUP);
    write_fragment(w, c, 1, "y", "tj", s->cols, LANES_N * GROUP);
    text_add(&w->body,
             "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < %d; j++)\n"
             "                a[i][j] = multiply_add%d(x[i], y[j], a[i][j]);\n",
             s->rows, s->cols, c->number);
}

/* The place of a thread's sum i, j in shared memory. */
static void write_parked(emit_writer *w, const contraction *c, const char *j)
{
    text_add(&w->body, "parked[(i * %d + %s) * %d + t]", c->shape.cols, j, c->shape.threads);
}

/* Ends a block of k. */
static void write_cut(emit_writer *w, const contraction *c)
{
    if (c->shape.large) {
        text_add(&w->body,
                 "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
                 "#pragma unroll\n            for (int j = 0; j < %d; j++) {\n                ",
                 c->shape.rows, c->shape.cols);
        write_parked(w, c, "j");
        text_add(&w->body, " = from ? ");
        write_parked(w, c, "j");
        text_add(&w->body, " + a[i][j] : a[i][j];\n                a[i][j] = 0;\n            }\n");
        return;
    }
    text_add(&w->body,
             "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < %d; j++) {\n"
             "                sum[i][j] = from ? (%s)(sum[i][j] + a[i][j]) : a[i][j];\n"
             "                a[i][j] = 0;\n            }\n",
             c->shape.rows, c->shape.cols, emit_lane_type(contraction_lane(c->p)));
}

static void write_begin(emit_writer *w, const contraction *c)
{
    const program *p = c->p;
    const contract_shape *s = &c->shape;
    const contract_side *m = &c->side[0], *n = &c->side[1];
    const char *type = emit_lane_type(contraction_lane(p));
    const int group = s->cols < GROUP ? s->cols : GROUP;
    const int rows_group = s->rows < GROUP ? s->rows : GROUP;
    text_add(&w->body,
             "    %s *s_%s = (%s *)panels, *s_%s = s_%s + %d;\n"
             "    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;\n"
             "    const int ti = warp / %d * %d + lane / %d * %d;\n"
             "    const int tj = warp %% %d * %d + lane %% %d * %d;\n"
             "    const idx %s_end = g.n%d, %s_end = g.n%d, k_end = g.n%d;\n"
             "    int buffer = 0;\n",
             type, m->name, type, n->name, m->name, 2 * m->points * m->pitch, s->warps_n,
             LANES_M * s->rows, LANES_N, rows_group, s->warps_n, LANES_N * s->cols, LANES_N, group,
             m->name, writer_number(w, p->extent[1]), n->name, writer_number(w, p->extent[2]),
             writer_number(w, p->extent[3]));
    panel_points(w, c);
    for (int i = 0; i < 2; i++) {
        if (!s->large)
            panel_declare(w, c, panel_whole(c, i));
        panel_rows(w, c, i);
    }
    if (s->matrices) {
        contraction_matrix_begin(w, c);
        return;
    }
    text_add(&w->body,
             "    %s a[%d][%d];\n#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j++)\n            a[i][j] = 0;\n",
             type, s->rows, s->cols, s->rows, s->cols);
}

/* Adds the products of the points [first, end) of both panels. Compilers need nearly twice the time for 16 unrolled points as
 * for 4, which only pays where the unit for floats must not wait. */
static void write_whole_products(emit_writer *w, const contraction *c, int first, int end)
{
    const bool all = dtype_is_float(contraction_lane(c->p));
    text_add(&w->body, "#pragma unroll%s\n    for (int kk = %d; kk < %d; kk++) {\n",
             all ? "" : " 4", first, end);
    write_products(w, c);
    text_add(&w->body, "    }\n");
}

/* Adds those of the points up to `stop`, of which there are fewer than a panel has. */
static void write_last_products(emit_writer *w, const contraction *c)
{
    text_add(&w->body, "    for (int kk = 0; k0 + kk < stop; kk++) {\n");
    write_products(w, c);
    text_add(&w->body, "    }\n");
}

/* Adds the products of both panels, up to `stop`. */
static void write_panel_products(emit_writer *w, const contraction *c)
{
    if (c->shape.matrices) {
        contraction_matrix_products(w, c);
        return;
    }
    text_add(&w->body, "    if (k0 + %d <= stop) {\n", c->side[0].points);
    write_whole_products(w, c, 0, c->side[0].points);
    text_add(&w->body, "    } else {\n");
    write_last_products(w, c);
    text_add(&w->body, "    }\n");
}

/* Loads (or stores) the panels of the next step, if there is one. */
static void write_next(emit_writer *w, const contraction *c, bool stores)
{
    text_add(&w->body, "    if (next < k_end) {\n");
    for (int i = 0; i < 2; i++)
        if (stores)
            panel_store(w, c, panel_whole(c, i));
        else
            panel_load(w, c, panel_whole(c, i), "next", false);
    text_add(&w->body, "    }\n");
}

/* Loads the panels of the next step for fragments. Only the last step has points that do not exist. */
static void write_next_whole(emit_writer *w, const contraction *c)
{
    text_add(&w->body, "    if (next + %d <= k_end) {\n", TILE_K);
    for (int i = 0; i < 2; i++)
        panel_load(w, c, panel_whole(c, i), "next", true);
    text_add(&w->body, "    } else\n");
    write_next(w, c, false);
}

/* A step of a large tile. It has few registers for loads, so it loads a quarter of the panels while it uses a quarter
 * of the points. Where fewer points are left, nothing is loaded at the same time: that would cost registers, too. Behind
 * the last point the panels get zeros, which nothing reads; a condition there would let the compiler delay the loads. */
static void write_large_step(emit_writer *w, const contraction *c)
{
    enum { QUARTER = TILE_K / 4 };
    text_add(&w->body, "    buffer = 1 - buffer;\n    if (k0 + %d <= stop) {\n", TILE_K);
    for (int i = 0; i < 4; i++) {
        const panel_part all = panel_whole(c, i / 2);
        const panel_part part = {all.side, i % 2 * all.count / 2, all.count / 2};
        text_add(&w->body, "    {\n");
        panel_declare(w, c, part);
        panel_load(w, c, part, "next", false);
        write_whole_products(w, c, i * QUARTER, (i + 1) * QUARTER);
        panel_store(w, c, part);
        text_add(&w->body, "    }\n");
    }
    text_add(&w->body, "    } else {\n");
    write_last_products(w, c);
    for (int i = 0; i < 2; i++) {
        text_add(&w->body, "    {\n");
        panel_declare(w, c, panel_whole(c, i));
        panel_load(w, c, panel_whole(c, i), "next", false);
        panel_store(w, c, panel_whole(c, i));
        text_add(&w->body, "    }\n");
    }
    text_add(&w->body, "    }\n");
}

/* One step: while a panel is used, the next one is loaded. */
static void write_step(emit_writer *w, const contraction *c)
{
    const char *type = emit_lane_type(contraction_lane(c->p));
    const char *m = c->side[0].name, *n = c->side[1].name;
    if (c->shape.matrices)
        write_next_whole(w, c);
    else if (!c->shape.large)
        write_next(w, c, false);
    text_add(&w->body,
             "    const %s *from_%s = s_%s + buffer * %d, *from_%s = s_%s + buffer * %d;\n", type,
             m, m, c->side[0].points * c->side[0].pitch, n, n,
             c->side[1].points * c->side[1].pitch);
    if (c->shape.large) {
        write_large_step(w, c);
        return;
    }
    write_panel_products(w, c);
    text_add(&w->body, "    buffer = 1 - buffer;\n");
    write_next(w, c, true);
}

/* The panels of the first step. */
static void write_first(emit_writer *w, const contraction *c)
{
    if (c->shape.large) {
        text_add(&w->body, "    {\n");
        for (int i = 0; i < 2; i++)
            panel_declare(w, c, panel_whole(c, i));
    }
    for (int i = 0; i < 2; i++)
        panel_load(w, c, panel_whole(c, i), "0", false);
    for (int i = 0; i < 2; i++)
        panel_store(w, c, panel_whole(c, i));
    text_add(&w->body, c->shape.large ? "    }\n" : "");
}

/* All points of k, block by block and panel by panel. */
static void write_points(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    const char *type = emit_lane_type(contraction_lane(c->p));
    const int part = writer_number(w, contraction_block(w, c->p)), points = c->side[0].points;
    if (s->large && w->target->same)
        text_add(&w->body, "    %s *parked = (%s *)panels + %lld;\n", type, type,
                 (long long)(contraction_panel_bytes(w, c) / (int64_t)ig_dtype_bytes(IG_F32)));
    else if (w->target->same)
        text_add(&w->body, "    %s sum[%d][%d];\n", type, s->rows, s->cols);
    write_first(w, c);
    text_add(&w->body,
             "    __syncthreads();\n    for (idx from = 0; from < k_end; from += g.n%d) {\n"
             "    const idx stop = k_end - from < g.n%d ? k_end : from + g.n%d;\n"
             "    for (idx k0 = from; k0 < stop; k0 += %d) {\n"
             "    const idx next = k0 + %d < stop ? k0 + %d : stop;\n",
             part, part, part, points, points, points);
    write_step(w, c);
    text_add(&w->body, "    __syncthreads();\n    }\n");
    if (w->target->same)
        write_cut(w, c);
    text_add(&w->body, "    }\n");
}

void contraction_tile(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    const char *m = c->side[0].name, *n = c->side[1].name;
    if (w->target->cpu) {
        contraction_serial_tile(w, c);
        return;
    }
    write_begin(w, c);
    write_points(w, c);
    if (s->matrices) {
        contraction_matrix_end(w, c);
        return;
    }
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j += %d) {\n"
             "            const int team = ti + i / %d * %d + i %% %d;\n"
             "            const idx row = %s_first + team;\n"
             "            const idx col = %s_first + tj + j / %d * %d + j %% %d;\n"
             "            if (row < %s_end && col < %s_end)\n"
             "                total%d(ARGS, %sbatch * %s_end + row, col",
             s->rows, s->cols, c->vector, GROUP, LANES_M * GROUP, GROUP, m, n, GROUP,
             LANES_N * GROUP, GROUP, m, n, c->number, CONTRACT_LOCAL_ARGS(c), m);
    for (int k = 0; k < c->vector; k++) {
        char at[24];
        snprintf(at, sizeof at, "j + %d", k);
        text_add(&w->body, w->target->same ? ", k_end ? " : ", ");
        if (s->large && w->target->same)
            write_parked(w, c, at);
        else
            text_add(&w->body, w->target->same ? "sum[i][%s]" : "a[i][%s]", at);
        text_add(&w->body, w->target->same ? " : 0" : "");
    }
    text_add(&w->body, ");\n        }\n");
}
