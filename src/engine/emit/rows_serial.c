/* Rows on a CPU: a block is one thread. It folds rows in the order of rows.c, in loops that compilers turn into vectors
 * of the 32 running values. */
#include "engine/emit/rows.h"

#include "base/error.h"
#include "engine/ops/ops.h"

enum {
    RUN_MOST = 16, /* chunks of a row that a thread folds: see run_of */
    RUN_FEW = 4,
    MANY_CHUNKS = 4096,
    CHAIN_CHUNKS = 64,
    STEPS = 4, /* vectors that are joined while a running value is in a register */
    LIGHT_INSTS = 8
};

/* ---- a chunk ---- */

/* True if the tape is short enough to be repeated in the text. */
static bool is_light(const tape *t)
{
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->code == TAPE_BITS || inst->code == TAPE_READ ||
            (inst->code == TAPE_MAP && op_ulps[inst->op] > 0))
            return false;
    }
    return t->n_inst <= LIGHT_INSTS;
}

/* Folds the values [col, end) of the row, at most a chunk, into a[0]. With `steps` it is faster, and compiled more
 * slowly. */
static void write_chunk(emit_writer *w, const program *p, int k, const char *args, bool steps)
{
    text_add(&w->body,
             "        %s a[%d];\n"
             "        for (int l = 0; l < %d; l++)\n            a[l] = identity%d();\n",
             rows_type(p), FOLD_WIDTH, FOLD_WIDTH, k);
    if (steps) {
        text_add(&w->body,
                 "        for (; col + %d <= end; col += %d)\n"
                 "            for (int l = 0; l < %d; l++) {\n"
                 "                %s x = a[l];\n",
                 STEPS * FOLD_WIDTH, STEPS * FOLD_WIDTH, FOLD_WIDTH, rows_type(p));
        for (int u = 0; u < STEPS; u++)
            text_add(&w->body,
                     "                x = join%d(x, value%d(ARGS, %srow, col + l + %d));\n", k, k,
                     args, u * FOLD_WIDTH);
        text_add(&w->body, "                a[l] = x;\n            }\n");
    }
    text_add(&w->body,
             "        for (; col + %d <= end; col += %d)\n"
             "            for (int l = 0; l < %d; l++)\n"
             "                a[l] = join%d(a[l], value%d(ARGS, %srow, col + l));\n"
             "        for (int l = 0; col + l < end; l++)\n"
             "            a[l] = join%d(a[l], value%d(ARGS, %srow, col + l));\n",
             FOLD_WIDTH, FOLD_WIDTH, FOLD_WIDTH, k, k, args, k, k, args);
    for (int half = FOLD_WIDTH / 2; half > 0; half /= 2)
        text_add(&w->body,
                 "        for (int l = 0; l < %d; l++)\n"
                 "            a[l] = join%d(a[l], a[l + %d]);\n",
                 half, k, half);
}

/* chunk[0]: the chunks [from, from + count) of the row, joined pairwise. */
static void write_chunks(emit_writer *w, const program *p, int k, const char *args, int inner,
                         bool steps)
{
    text_add(&w->body,
             "    for (int c = 0; c < count; c++) {\n"
             "        idx col = (from + c) * %d;\n"
             "        const idx end = g.n%d - col < %d ? g.n%d : col + %d;\n",
             FOLD_CHUNK, inner, FOLD_CHUNK, inner, FOLD_CHUNK);
    write_chunk(w, p, k, args, steps);
    text_add(&w->body,
             "        chunk[c] = a[0];\n    }\n"
             "    for (int s = 1; s < count; s *= 2)\n"
             "        for (int c = 0; c + s < count; c += 2 * s)\n"
             "            chunk[c] = join%d(chunk[c], chunk[c + s]);\n",
             k);
}

/* ---- chains ---- */

void rows_serial(emit_writer *w, const program *p, int k, int64_t rows, const char *args)
{
    const int inner = writer_number(w, p->pre.size / rows);
    if (p->kind != PROGRAM_REDUCE) {
        text_add(&w->body,
                 "    for (idx col = 0; col < g.n%d; col++)\n        value%d(ARGS, %srow, col);\n",
                 inner, k, args);
        return;
    }
    text_add(&w->body,
             "    {\n    const idx from = 0;\n    const int count = (int)((g.n%d + %d) / %d);\n"
             "    %s chunk[%d];\n",
             inner, FOLD_CHUNK - 1, FOLD_CHUNK, rows_type(p), CHAIN_CHUNKS);
    write_chunks(w, p, k, args, inner, false);
    text_add(&w->body, "    result%d(ARGS, %srow, chunk[0]);\n    }\n", k, args);
}

void rows_serial_chain(emit_writer *w, const program *p, int n, int64_t rows,
                       const emit_locals *locals)
{
    const bool has_locals = locals && locals->n;
    text_add(&w->body, "extern \"C\" __global__ void rows(PARAMS)\n{\n");
    if (has_locals)
        text_add(&w->body, "    extern __shared__ double shared[];\n"
                           "    unsigned char *local = (unsigned char *)shared;\n"
                           "    const int team = 0;\n");
    text_add(&w->body, "    const idx row = blockIdx.x;\n");
    for (int k = 0; k < n; k++)
        rows_serial(w, &p[k], k, rows, has_locals ? ROWS_LOCAL_ARGS : "");
    text_add(&w->body, "}\n");
}

/* ---- a reduction alone ---- */

/* Rows of up to FOLD_WIDTH values. */
static void write_short(emit_writer *w, const program *p, int inner)
{
    int width = 1;
    while (width < p->inner)
        width *= 2;
    text_add(&w->body,
             "        %s a[%d];\n        for (int l = 0; l < %d; l++)\n"
             "            a[l] = l < g.n%d ? join0(identity0(), value0(ARGS, row, l)) : "
             "identity0();\n",
             rows_type(p), width, width, inner);
    for (int half = width / 2; half > 0; half /= 2)
        text_add(&w->body,
                 "        for (int l = 0; l < %d; l++)\n"
                 "            a[l] = join0(a[l], a[l + %d]);\n",
                 half, half);
    text_add(&w->body, "        result0(ARGS, row, a[0]);\n");
}

/* Rows of up to a chunk. */
static void write_single(emit_writer *w, const program *p, int inner)
{
    text_add(&w->body, "        idx col = 0;\n        const idx end = g.n%d;\n", inner);
    write_chunk(w, p, 0, "", false);
    text_add(&w->body, "        result0(ARGS, row, a[0]);\n");
}

/* Chunks of a row that a thread folds and joins: a power of two, because then the order is kept. Many make the start of
 * a thread cheap, few give work to more cores. */
static int run_of(const program *p)
{
    return p->outer * ceil_div(p->inner, FOLD_CHUNK) < MANY_CHUNKS ? RUN_FEW : RUN_MOST;
}

static void write_long(emit_writer *w, const program *p, int inner, int rows, bool whole)
{
    const int run = writer_number(w, run_of(p));
    text_add(&w->body,
             "    %s chunk[%d];\n    const idx from = (idx)blockIdx.y * g.n%d;\n"
             "    const idx left = (g.n%d + %d) / %d - from;\n"
             "    const int count = (int)(left < g.n%d ? left : g.n%d);\n",
             rows_type(p), RUN_MOST, run, inner, FOLD_CHUNK - 1, FOLD_CHUNK, run, run);
    write_chunks(w, p, 0, "", inner, is_light(&p->pre));
    if (whole)
        text_add(&w->body, "    result0(ARGS, row, chunk[0]);\n");
    else
        text_add(&w->body, "    p%d[(idx)blockIdx.y * g.n%d + row] = chunk[0];\n",
                 writer_scratch(w, rows_type(p), 0), rows);
}

ig_status emit_fold_serial(const program *p, const emit_target *t, emitted *out)
{
    const int64_t parts = ceil_div(p->inner, run_of(p) * FOLD_CHUNK);
    /* A thread takes several short rows. */
    const int64_t each = p->inner < FOLD_CHUNK ? 4 * FOLD_CHUNK / p->inner : 1;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    rows_join(&w, p, 0);
    if (parts == 1)
        rows_result(&w, p, 0, NULL);
    const int rows = writer_number(&w, p->outer), inner = writer_number(&w, p->inner);
    const int n = writer_number(&w, each);
    text_add(&w.body,
             "extern \"C\" __global__ void fold(PARAMS)\n{\n"
             "    const idx first = (idx)blockIdx.x * g.n%d;\n"
             "    for (idx row = first; row < first + g.n%d && row < g.n%d; row++) {\n",
             n, n, rows);
    if (p->inner <= FOLD_WIDTH)
        write_short(&w, p, inner);
    else if (p->inner <= FOLD_CHUNK)
        write_single(&w, p, inner);
    else
        write_long(&w, p, inner, rows, parts == 1);
    text_add(&w.body, "    }\n}\n");
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, each), (uint32_t)parts, 1};
    const uint32_t block[3] = {1, 1, 1};
    const ig_status status = writer_finish(&w, "fold", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    return parts == 1 ? IG_OK : rows_join_parts(p, t, parts, out);
}
