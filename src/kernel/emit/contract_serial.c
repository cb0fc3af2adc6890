/* Contractions on a CPU: a block is one thread, which computes a tile. Panels of k are copied side by side,
 * and a part of the tile that fits registers runs over a panel, in loops that compilers turn into vectors. The
 * order of the sums is that of contract.c. */
#include "kernel/emit/contract.h"

#include "base/error.h"

enum { ROWS = 32, COLS = 64, POINTS = 64, PART_ROWS = 4, PART_COLS = 16, SAME_K = 256 };

/* Copies a panel: rows of a side, points [k0, k0 + points). */
static void write_pack(emit_writer *w, const contraction *c, int side)
{
    const contract_side *s = &c->side[side];
    const int tile = side ? COLS : ROWS, from = writer_operand(w, &c->p->in[side], false);
    const char *x = s->name;
    if (!s->along_k)
        text_add(&w->body, "    for (int kk = 0; kk < points; kk++)\n");
    text_add(&w->body, "    for (int r = 0; r < %d; r++)\n", tile);
    if (s->along_k)
        text_add(&w->body, "    for (int kk = 0; kk < points; kk++)\n");
    text_add(&w->body,
             "        s_%s[kk * %d + r] = %s_first + r < %s_end ? lane_of_%s(p%d[%s_b(g, batch) + "
             "%s_row(g, %s_first + r) + %s_k(g, k0 + kk)]) : 0;\n",
             x, tile, x, x, x, from, x, x, x, x);
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

ig_status emit_contract_serial(const program *p, const emit_target *t, emitted *out)
{
    const char *type = emit_lane_type(contraction_lane(p));
    const int64_t k = p->extent[3], parts = t->same ? ceil_div(k, SAME_K) : 1;
    contraction c = {.p = p,
                     .shape = {.rows = 4, .cols = 4, .vector = 1, .warps_n = 2, .threads = 256}};
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1) ||
             (double)p->extent[0] * (double)p->extent[1] * (double)p->extent[2] > INT32_MAX;
    contraction_plan(&w, &c);
    c.vector = 1;
    contraction_functions(&w, &c);
    const int tiles_n = writer_number(&w, ceil_div(p->extent[2], COLS));
    const int tiles_m = writer_number(&w, ceil_div(p->extent[1], ROWS));
    const int part = writer_number(&w, k ? ceil_div(k, parts) : 1);
    text_add(&w.body,
             "extern \"C\" __global__ void contract(PARAMS)\n{\n"
             "    __shared__ %s s_m0[%d], s_n0[%d], a[%d], sum[%d];\n"
             "    const idx job = blockIdx.x, batch = job / g.n%d / g.n%d;\n"
             "    const idx n0_first = job %% g.n%d * %d, m0_first = job / g.n%d %% g.n%d * %d;\n"
             "    const idx m0_end = g.n%d, n0_end = g.n%d, k_end = g.n%d;\n"
             "    for (int i = 0; i < %d; i++)\n        sum[i] = 0;\n"
             "    for (idx from = 0; from < k_end; from += g.n%d) {\n"
             "    const idx stop = k_end - from < g.n%d ? k_end : from + g.n%d;\n"
             "    for (int i = 0; i < %d; i++)\n        a[i] = 0;\n"
             "    for (idx k0 = from; k0 < stop; k0 += %d) {\n"
             "    const int points = stop - k0 < %d ? (int)(stop - k0) : %d;\n",
             type, ROWS * POINTS, COLS * POINTS, ROWS * COLS, ROWS * COLS, tiles_n, tiles_m,
             tiles_n, COLS, tiles_n, tiles_m, ROWS, writer_number(&w, p->extent[1]),
             writer_number(&w, p->extent[2]), writer_number(&w, k), ROWS * COLS, part, part, part,
             ROWS * COLS, POINTS, POINTS, POINTS);
    write_pack(&w, &c, 0);
    write_pack(&w, &c, 1);
    write_products(&w, &c, type);
    text_add(&w.body,
             "    }\n    for (int i = 0; i < %d; i++)\n"
             "        sum[i] = from ? (%s)(sum[i] + a[i]) : a[i];\n    }\n"
             "    for (int i = 0; i < %d && m0_first + i < m0_end; i++)\n"
             "        for (int j = 0; j < %d && n0_first + j < n0_end; j++)\n"
             "            total0(ARGS, batch * m0_end + m0_first + i, n0_first + j, sum[i * %d + "
             "j]);\n}\n",
             ROWS * COLS, type, ROWS, COLS, COLS);
    const int64_t tiles =
        p->extent[0] * ceil_div(p->extent[1], ROWS) * ceil_div(p->extent[2], COLS);
    const uint32_t grid[3] = {(uint32_t)tiles, 1, 1}, block[3] = {1, 1, 1};
    return writer_finish(&w, "contract", grid, block, 0);
}
