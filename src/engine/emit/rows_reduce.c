/* Reductions alone. Rows that a block can fold are those of rows.c. Of longer rows, blocks fold ranges of chunks, and a
 * second kernel joins the ranges. If rows are short or lie across memory, a thread takes each row. */
#include "engine/emit/rows.h"
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "engine/ops/ops.h"

/* ---- long rows: ranges of chunks, then their values ---- */

/* The values of the ranges follow `before` others in scratch memory. */
static void write_range_kernel(emit_writer *w, const program *p, int ranges, int range, bool steps,
                               int64_t before)
{
    const int inner = writer_number(w, p->inner), rows = writer_number(w, p->outer);
    const uint64_t bytes = ig_dtype_bytes(dtype_lane(p->dtype));
    const int partial = writer_scratch(w, rows_type(p), (uint64_t)before * bytes);
    text_add(&w->body, "extern \"C\" __global__ void ranges(PARAMS)\n{\n");
    rows_declare_shared(w, p, 0, ROWS_CHUNKS);
    text_add(
        &w->body,
        "    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;\n"
        "    const int chunks = (int)((g.n%d + %d) / %d);\n"
        "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
        "        const idx row = job / g.n%d;\n"
        "        const int first = (int)(job %% g.n%d) * (int)g.n%d;\n"
        "        const int here = chunks - first < (int)g.n%d ? chunks - first : (int)g.n%d;\n",
        inner, FOLD_CHUNK - 1, FOLD_CHUNK, rows, ranges, ranges, ranges, range, range, range);
    rows_chunks(w, p, 0, inner, "(idx)first", "here", "", steps);
    text_add(&w->body,
             "        if (threadIdx.x == 0)\n            p%d[job] = chunk0[0];\n"
             "        __syncthreads();\n    }\n}\n",
             partial);
}

/* Joins the values of each row's ranges pairwise, in place, a block for each row. */
static ig_status emit_join_ranges(const program *p, const emit_target *t, int64_t ranges,
                                  emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    rows_result(&w, p, 0, NULL);
    const int n = writer_number(&w, ranges), rows = writer_number(&w, p->outer);
    const int partial = writer_scratch(&w, rows_type(p), 0);
    text_add(&w.body,
             "extern \"C\" __global__ void join_ranges(PARAMS)\n{\n"
             "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
             "        %s *v = p%d + row * g.n%d;\n"
             "        for (idx s = 1; s < g.n%d; s *= 2) {\n"
             "            for (idx c = (idx)threadIdx.x * 2 * s; c + s < g.n%d; c += %d * 2 * s)\n"
             "                v[c] = join0(v[c], v[c + s]);\n"
             "            __syncthreads();\n        }\n"
             "        if (threadIdx.x == 0)\n            result0(ARGS, row, v[0]);\n    }\n}\n",
             rows, rows_type(p), partial, n, n, n, ROWS_THREADS);
    const uint32_t grid[3] = {rows_grid(p->outer, t), 1, 1}, block[3] = {ROWS_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "join_ranges", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* The first kernel; `before` ranges have values already. */
static ig_status emit_fold_ranges(const program *p, const emit_target *t, int64_t range,
                                  int64_t before, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK), ranges = ceil_div(chunks, range);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const bool steps = t->subgroup == FOLD_WIDTH && p->inner % 4 == 0 && emit_has_steps(&p->pre);
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    if (steps)
        rows_values(&w, p, 0, p->outer);
    rows_join(&w, p, 0);
    rows_lanes(&w, p, 0);
    const int n = writer_number(&w, ranges), size = writer_number(&w, range);
    write_range_kernel(&w, p, n, size, steps, before);
    const uint32_t grid[3] = {rows_grid(p->outer * ranges, t), 1, 1},
                   block[3] = {ROWS_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "ranges", grid, block, 0);
    writer_drop(&w);
    return status;
}

static ig_status emit_ranges(const program *p, const emit_target *t, int64_t range, emitted *out)
{
    const int64_t unit = range * FOLD_CHUNK, ranges = ceil_div(p->inner, unit);
    const int64_t points = emit_range_points(p, t, unit);
    if (!points)
        return emit_too_large(t);
    for (int64_t from = 0; from < p->inner; from += points) {
        const int64_t to = points < p->inner - from ? from + points : p->inner;
        program part = *p;
        ig_status status = points < p->inner ? emit_range(p, from, to, &part) : IG_OK;
        if (status == IG_OK)
            status = emit_fold_ranges(&part, t, range, from / unit, out);
        emit_range_free(&part, p);
        TRY(status);
    }
    const uint64_t bytes = (uint64_t)(p->outer * ranges) * 8;
    out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
    return emit_join_ranges(p, t, ranges, out);
}

/* ---- a thread for each row: short rows, and rows that lie across memory ---- */

/* A thread for each row. */
ig_status rows_join_parts(const program *p, const emit_target *t, int64_t parts, emitted *out)
{
    const int threads = t->cpu ? 1 : ROWS_THREADS;
    const uint64_t bytes = (uint64_t)(p->outer * parts) * 8;
    emit_writer w;
    out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    rows_result(&w, p, 0, NULL);
    const int n = writer_number(&w, parts), r = writer_number(&w, p->outer);
    const int partial = writer_scratch(&w, rows_type(p), 0);
    text_add(&w.body,
             "extern \"C\" __global__ void join_chunks(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row >= g.n%d)\n        return;\n"
             "    for (idx s = 1; s < g.n%d; s *= 2)\n"
             "        for (idx c = 0; c + s < g.n%d; c += 2 * s)\n"
             "            p%d[c * g.n%d + row] = join0(p%d[c * g.n%d + row], p%d[(c + s) * g.n%d + "
             "row]);\n"
             "    result0(ARGS, row, p%d[row]);\n}\n",
             threads, r, n, n, partial, r, partial, r, partial, r, partial);
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, threads), 1, 1};
    const uint32_t block[3] = {(uint32_t)threads, 1, 1};
    const ig_status status = writer_finish(&w, "join_chunks", grid, block, 0);
    writer_drop(&w);
    return status;
}

static bool stores_values(const program *p)
{
    for (int k = 0; k < p->pre.n_inst; k++)
        if (p->pre.inst[k].code == TAPE_STORE)
            return true;
    return false;
}

/* Rows of one chunk at most give results; longer ones give a value for each chunk. */
static ig_status emit_across(const program *p, const emit_target *t, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK);
    const char *type = rows_type(p);
    int width = 1;
    emit_writer w;
    while (width < FOLD_WIDTH && width < p->inner)
        width *= 2;
    const bool once = p->inner <= FOLD_WIDTH;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, ROWS_THREADS), (uint32_t)chunks, 1};
    w.ahead = stores_values(p) && (int64_t)grid[0] * grid[1] <= t->processors;
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    rows_join(&w, p, 0);
    if (chunks == 1)
        rows_result(&w, p, 0, NULL);
    const int rows = writer_number(&w, p->outer), inner = writer_number(&w, p->inner);
    text_add(&w.body,
             "extern \"C\" __global__ void across(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row < g.n%d) {\n"
             "    const idx begin = (idx)blockIdx.y * %d;\n"
             "    const idx end = begin + %d < g.n%d ? begin + %d : g.n%d;\n"
             "    %s a[%d];\n"
             "#pragma unroll\n    for (int k = 0; k < %d; k++)\n        a[k] = identity0();\n"
             "    idx col = begin;\n",
             ROWS_THREADS, rows, FOLD_CHUNK, FOLD_CHUNK, inner, FOLD_CHUNK, inner, type, width,
             width);
    if (!once || w.ahead) /* without conditions loads are not bound to their place */
        text_add(&w.body,
                 "    for (; col + %d <= end; col += %d) {\n"
                 "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
                 "            a[k] = join0(a[k], value0(ARGS, row, col + k));\n    }\n",
                 width, width, width);
    text_add(&w.body,
             "#pragma unroll\n    for (int k = 0; k < %d; k++)\n"
             "        if (col + k < end)\n"
             "            a[k] = join0(a[k], value0(ARGS, row, col + k));\n",
             width);
    for (int half = width / 2; half > 0; half /= 2)
        text_add(&w.body,
                 "#pragma unroll\n    for (int k = 0; k < %d; k++)\n"
                 "        a[k] = join0(a[k], a[k + %d]);\n",
                 half, half);
    if (chunks == 1)
        text_add(&w.body, "    result0(ARGS, row, a[0]);\n    }\n}\n");
    else
        text_add(&w.body, "    p%d[(idx)blockIdx.y * g.n%d + row] = a[0];\n    }\n}\n",
                 writer_scratch(&w, type, 0), rows);
    const uint32_t block[3] = {ROWS_THREADS, 1, 1};
    ig_status status = writer_finish(&w, "across", grid, block, 0);
    writer_drop(&w);
    if (status != IG_OK || chunks == 1)
        return status;
    return rows_join_parts(p, t, chunks, out);
}

/* ---- rows without elements ---- */

/* The identity; a sum's is +0, and a bool's is 0 or 1. */
static ig_status emit_empty(const program *p, const emit_target *t, emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    rows_result(&w, p, 0, NULL);
    const int rows = writer_number(&w, p->outer);
    const char *type = rows_type(p);
    text_add(&w.body,
             "extern \"C\" __global__ void empty(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row < g.n%d)\n        result0(ARGS, row, ",
             ROWS_THREADS, rows);
    if (p->fold == OP_sum)
        text_add(&w.body, "(%s)0);\n}\n", type);
    else if (p->dtype == IG_BOOL)
        text_add(&w.body, "(%s)(identity0() != 0));\n}\n", type);
    else
        text_add(&w.body, "identity0());\n}\n");
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, ROWS_THREADS), 1, 1};
    const uint32_t block[3] = {ROWS_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "empty", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* ---- which kernel ---- */

/* True if most of what the tape loads and stores lies along the outer part. */
static bool lies_across(const tape *t, int axis)
{
    int votes = 0;
    for (int k = 0; k < t->n_inst; k++) {
        const int code = t->inst[k].code;
        if (code != TAPE_LOAD && code != TAPE_STORE)
            continue;
        const view *v = &t->operand[t->inst[k].operand].v;
        votes += (v->stride[axis - 1] == 1) - (v->stride[v->ndim - 1] == 1);
    }
    return votes > 0;
}

/* True if a warp for each of few rows is faster than a thread, which would load and store its values one after another. */
static bool has_few_rows(const program *p, const emit_target *t)
{
    return t->subgroup == FOLD_WIDTH && p->outer <= t->processors && 4 * p->inner > FOLD_WIDTH &&
           stores_values(p);
}

ig_status emit_reduce(const program *p, const emit_target *t, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK);
    if (p->outer == 0)
        return IG_OK;
    if (p->kind == PROGRAM_ARGREDUCE)
        return emit_argreduce(p, t, out);
    if (p->inner == 0)
        return emit_empty(p, t, out);
    const int axis = emit_split_axis(&p->pre, p->inner);
    const bool across = axis > 0 && axis < p->pre.ndim && lies_across(&p->pre, axis);
    if (t->cpu)
        return emit_fold_serial(p, t, out);
    const bool narrow = p->inner <= FOLD_WIDTH && !has_few_rows(p, t);
    if (narrow || (across && p->outer >= 64 && chunks <= 65535))
        return emit_across(p, t, out);
    int64_t range = ROWS_CHUNKS;
    const int64_t wanted = t->block_limit ? (int64_t)t->block_limit : 1024;
    while (range > ROWS_TEAMS && p->outer * ceil_div(chunks, range) < wanted)
        range /= 2;
    if (chunks > range)
        return emit_ranges(p, t, range, out);
    return emit_range_points(p, t, p->inner) ? emit_rows(p, 1, t, out) : emit_too_large(t);
}
