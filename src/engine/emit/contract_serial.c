/* The tile of a contraction on a CPU, where a block is one thread. Panels of k are copied side by side,
 * and a part of the tile that fits registers runs over a panel, in loops that compilers turn into vectors. The
 * order of the sums is that of contract.c. */
#include "engine/emit/contract.h"

#include <stdio.h>

enum { ROWS = SERIAL_ROWS, COLS = SERIAL_COLS, MOST_POINTS = 64, PART_ROWS = 4, PART_COLS = 16 };

static int64_t panel_bytes(const program *p, int points)
{
    return (int64_t)(ROWS + COLS) * points * (int64_t)ig_dtype_bytes(contraction_lane(p));
}

/* Points of a panel: both panels take at most three quarters of the shared memory. */
static int points_of(const emit_writer *w, const program *p)
{
    const int64_t room = (int64_t)w->target->shared_bytes / 4 * 3;
    int points = MOST_POINTS;
    while (points > 1 && panel_bytes(p, points) > room)
        points /= 2;
    return points;
}

/* Copies a panel: rows of a side, points [k0, k0 + points). */
static void write_pack(emit_writer *w, const contraction *c, int side)
{
    const contract_side *s = &c->side[side];
    const operand *o = &c->p->in[side];
    const int tile = side ? COLS : ROWS;
    const char *x = s->name;
    char from[96];
    if (side == 0 && c->from)
        snprintf(from, sizeof from, "((const %s *)local)[g.n%d + r * g.n%d + k0 + kk]",
                 emit_storage_type(o->dtype),
                 writer_number(w, c->from->offset / (int64_t)ig_dtype_bytes(o->dtype)),
                 writer_number(w, c->from->own));
    else
        snprintf(from, sizeof from,
                 "p%d[%s_b(g, batch) + %s_row(g, %s_first + r) + %s_k(g, k0 + kk)]",
                 writer_operand(w, o, false), x, x, x, x);
    if (!s->along_k)
        text_add(&w->body, "    for (int kk = 0; kk < points; kk++)\n");
    text_add(&w->body, "    for (int r = 0; r < %d; r++)\n", tile);
    if (s->along_k)
        text_add(&w->body, "    for (int kk = 0; kk < points; kk++)\n");
    text_add(&w->body, "        s_%s[kk * %d + r] = %s_first + r < %s_end ? lane_of_%s(%s) : 0;\n",
             x, tile, x, x, x, from);
}

/* a[] += the products of the panels. */
static void write_products(emit_writer *w, const contraction *c, const char *type)
{
    const char *m = c->side[0].name, *n = c->side[1].name;
    text_add(&w->body,
             "    for (int i0 = 0; i0 < %d; i0 += %d)\n    for (int j0 = 0; j0 < %d; j0 += %d) {\n"
             "        %s x[%d];\n"
             "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
             "            x[i] = a[(i0 + i / %d) * %d + j0 + i %% %d];\n"
             "        for (int kk = 0; kk < points; kk++) {\n"
             "#pragma unroll\n            for (int i = 0; i < %d; i++)\n"
             "                x[i] = multiply_add%d(s_%s[kk * %d + i0 + i / %d], s_%s[kk * %d + j0 "
             "+ i %% "
             "%d], x[i]);\n        }\n"
             "#pragma unroll\n        for (int i = 0; i < %d; i++)\n"
             "            a[(i0 + i / %d) * %d + j0 + i %% %d] = x[i];\n    }\n",
             ROWS, PART_ROWS, COLS, PART_COLS, type, PART_ROWS * PART_COLS, PART_ROWS * PART_COLS,
             PART_COLS, COLS, PART_COLS, PART_ROWS * PART_COLS, c->number, m, ROWS, PART_COLS, n,
             COLS, PART_COLS, PART_ROWS * PART_COLS, PART_COLS, COLS, PART_COLS);
}

void contraction_serial_tile(emit_writer *w, const contraction *c)
{
    const program *p = c->p;
    const char *type = emit_lane_type(contraction_lane(p));
    const char *m = c->side[0].name, *n = c->side[1].name;
    const int part = writer_number(w, contraction_block(w, p));
    const int points = points_of(w, p);
    text_add(&w->body,
             "    %s *s_%s = (%s *)panels, *s_%s = s_%s + %d, a[%d], sum[%d];\n"
             "    const idx %s_end = g.n%d, %s_end = g.n%d, k_end = g.n%d;\n"
             "    for (int i = 0; i < %d; i++)\n        sum[i] = 0;\n"
             "    for (idx from = 0; from < k_end; from += g.n%d) {\n"
             "    const idx stop = k_end - from < g.n%d ? k_end : from + g.n%d;\n"
             "    for (int i = 0; i < %d; i++)\n        a[i] = 0;\n"
             "    for (idx k0 = from; k0 < stop; k0 += %d) {\n"
             "    const int points = stop - k0 < %d ? (int)(stop - k0) : %d;\n",
             type, m, type, n, m, ROWS * points, ROWS * COLS, ROWS * COLS, m,
             writer_number(w, p->extent[1]), n, writer_number(w, p->extent[2]),
             writer_number(w, p->extent[3]), ROWS * COLS, part, part, part, ROWS * COLS, points,
             points, points);
    write_pack(w, c, 0);
    write_pack(w, c, 1);
    write_products(w, c, type);
    text_add(&w->body,
             "    }\n    for (int i = 0; i < %d; i++)\n"
             "        sum[i] = from ? (%s)(sum[i] + a[i]) : a[i];\n    }\n"
             "    for (int team = 0; team < %d && %s_first + team < %s_end; team++)\n"
             "        for (int j = 0; j < %d && %s_first + j < %s_end; j++)\n"
             "            total%d(ARGS, %sbatch * %s_end + %s_first + team, %s_first + j, "
             "sum[team * %d + j]);\n",
             ROWS * COLS, type, ROWS, m, m, COLS, n, n, c->number, c->locals ? "local, team, " : "",
             m, m, n, COLS);
}

int64_t contraction_serial_bytes(const emit_writer *w, const program *p)
{
    return panel_bytes(p, points_of(w, p));
}
