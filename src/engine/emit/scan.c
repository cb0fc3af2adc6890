/* Scans: running folds along rows, in the order that src/engine/backend/cpu/reduce/scan.c states.
 *
 * A block takes several chunks; a thread has one of their blocks of SCAN_BLOCK neighbours. Elements go through
 * shared memory, so that memory is read and written side by side. If rows have several chunks, there are
 * launches before that find what the chunks before each chunk come to. On a CPU a block is one thread, which takes a
 * chunk.
 *
 * A row that is longer than a launch can reach is taken in parts: several launches read it and several write it, and the
 * folds between are those of the whole row. */
#include "engine/emit/indexed.h"
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "engine/ops/ops.h"

enum {
    THREADS = INDEXED_THREADS,
    SCAN_BLOCK = 16,
    SCAN_CHUNK = 1024,
    SCAN_RANGE = 64, /* chunks */
    TEAM = SCAN_CHUNK / SCAN_BLOCK,
    RUNS = THREADS / SCAN_RANGE /* ranges that a block of range_totals takes */
};

/* Threads of a block that takes chunks: half as many if its elements do not fit in shared memory. */
static int threads_of(const program *p, const emit_target *t)
{
    const uint64_t lane = ig_dtype_bytes(dtype_lane(p->dtype));
    return (uint64_t)THREADS * (SCAN_BLOCK + 1 + 2) * lane <= t->shared_bytes ? THREADS
                                                                              : THREADS / 2;
}

/* Text that all kernels of a scan share: join, identity, load. */
static void scan_functions(emit_writer *w, const program *p)
{
    const char *type = emit_lane_type(p->dtype);
    char element[96];
    if (emit_needs_math(p->fold))
        w->uses |= USES_MATH;
    w->needs_f64 = w->needs_f64 || p->dtype == IG_F64;
    const int in = writer_operand(w, &p->in[0], false);
    write_place(w, "place", &p->in[0].v, p->inner);
    text_add(&w->body, "static __device__ %s join(%s x, %s y)\n{\n    return ", type, type, type);
    emit_expression(&w->body, p->fold, p->dtype, "x", "y");
    text_add(&w->body, ";\n}\n\nstatic __device__ %s identity()\n{\n    return ", type);
    emit_identity(&w->body, p->fold, p->dtype);
    lane_at(w, &p->in[0], in, "place(g, row, col)", element, sizeof element);
    text_add(
        &w->body,
        ";\n}\n\nstatic __device__ %s load(PARAMS, idx row, idx col)\n{\n    return %s;\n}\n\n",
        type, element);
}

/* The running fold of `count` values of from[], as it is before each of them, in to[] (if not NULL); `run` ends as the
 * fold of all. Two arrays, so that the loads need not wait for the stores. */
static void write_run(emit_writer *w, const char *type, const char *from, const char *to, int count,
                      const char *indent)
{
    text_add(&w->body,
             "#pragma unroll 16\n%sfor (int k = 0; k < %d; k++) {\n%s    const %s now = %s + k];\n",
             indent, count, indent, type, from);
    if (to)
        text_add(&w->body, "%s    %s + k] = run;\n", indent, to);
    text_add(&w->body, "%s    run = join(run, now);\n%s}\n", indent, indent);
}

/* The block's chunks: v[] is the running fold of the thread's block of elements, by halves, and total[] has the
 * folds of all blocks. */
static void write_blocks(emit_writer *w, const char *type, int threads, int inner, int chunks,
                         int rows)
{
    const int teams = threads / TEAM, each = SCAN_CHUNK / threads;
    text_add(&w->body,
             "    __shared__ %s s[%d];\n    __shared__ %s total[%d];\n"
             "    const int t = threadIdx.x, team = t / %d;\n"
             "    const idx first = (idx)blockIdx.x * %d, jobs = g.n%d * g.n%d;\n"
             "    %s v[%d];\n"
             "#pragma unroll\n    for (int c = 0; c < %d; c++) {\n"
             "        const idx job = first + c, row = job / g.n%d, begin = job %% g.n%d * %d;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
             "            const idx col = begin + u * %d + t;\n"
             "            v[c * %d + u] = job < jobs && col < g.n%d ? load(ARGS, row, col) : "
             "identity();\n        }\n    }\n"
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int at = u * %d + t;\n        s[at + at / %d] = v[u];\n    }\n"
             "    __syncthreads();\n"
             "#pragma unroll\n    for (int u = 0; u < %d; u++)\n        v[u] = s[t * %d + u];\n",
             type, threads * (SCAN_BLOCK + 1), type, threads, TEAM, teams, rows, chunks, type,
             SCAN_BLOCK, teams, chunks, chunks, SCAN_CHUNK, each, threads, each, inner, SCAN_BLOCK,
             threads, SCAN_BLOCK, SCAN_BLOCK, SCAN_BLOCK + 1);
    for (int half = 1; half < SCAN_BLOCK; half *= 2)
        text_add(&w->body,
                 "#pragma unroll\n    for (int k = 0; k < %d; k++)\n        if (k & %d)\n"
                 "            v[k] = join(v[(k & ~%d) + %d], v[k]);\n",
                 SCAN_BLOCK, half, 2 * half - 1, half - 1);
    text_add(&w->body, "    total[t] = v[%d];\n    __syncthreads();\n", SCAN_BLOCK - 1);
}

static ig_status start(emit_writer *w, const program *p, const emit_target *t, emitted *out)
{
    TRY(writer_start(w, t, out));
    w->wide = !emit_is_narrow(p, 1);
    scan_functions(w, p);
    return IG_OK;
}

static ig_status finish(emit_writer *w, const char *entry, int64_t blocks, int threads)
{
    const uint32_t grid[3] = {(uint32_t)blocks, 1, 1};
    const uint32_t block[3] = {(uint32_t)threads, 1, 1};
    return writer_finish(w, entry, grid, block, 0);
}

/* ---- on a CPU ---- */

/* A chunk, block by block: `run` is the fold of the blocks before, v[] the running fold of the block at `begin`. */
static void serial_blocks(emit_writer *w, const char *type, int inner, int chunks)
{
    text_add(&w->body,
             "    const idx row = blockIdx.x / g.n%d, chunk = blockIdx.x %% g.n%d;\n"
             "    const idx stop = g.n%d - chunk * %d < %d ? g.n%d : (chunk + 1) * %d;\n"
             "    %s run = identity();\n"
             "    for (idx begin = chunk * %d; begin < stop; begin += %d) {\n"
             "        %s v[%d];\n"
             "        for (int k = 0; k < %d; k++)\n"
             "            v[k] = begin + k < stop ? load(ARGS, row, begin + k) : identity();\n",
             chunks, chunks, inner, SCAN_CHUNK, SCAN_CHUNK, inner, SCAN_CHUNK, type, SCAN_CHUNK,
             SCAN_BLOCK, type, SCAN_BLOCK, SCAN_BLOCK);
    for (int half = 1; half < SCAN_BLOCK; half *= 2)
        text_add(&w->body,
                 "        for (int k = 0; k < %d; k++)\n            if (k & %d)\n"
                 "                v[k] = join(v[(k & ~%d) + %d], v[k]);\n",
                 SCAN_BLOCK, half, 2 * half - 1, half - 1);
}

/* Turns `count` values of a row, `row` rows of them, into the folds before each; the fold of all is `run`. */
static void serial_run(emit_writer *w, const char *type, int from)
{
    text_add(&w->body,
             "    %s run = identity();\n    for (idx k = first; k < end; k++) {\n"
             "        const %s now = p%d[k];\n        p%d[k] = run;\n        run = join(run, "
             "now);\n    }\n",
             type, type, from, from);
}

static ig_status serial_totals(const program *p, const emit_target *t, uint64_t carries,
                               emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK), n_ranges = ceil_div(n, SCAN_RANGE);
    emit_writer w;
    TRY(start(&w, p, t, out));
    int chunks = writer_number(&w, n);
    text_add(&w.body, "extern \"C\" __global__ void chunk_totals(PARAMS)\n{\n");
    serial_blocks(&w, type, writer_number(&w, p->inner), chunks);
    text_add(&w.body, "        run = join(run, v[%d]);\n    }\n    p%d[blockIdx.x] = run;\n}\n",
             SCAN_BLOCK - 1, writer_scratch(&w, type, 0));
    TRY(finish(&w, "chunk_totals", p->outer * n, 1));
    TRY(start(&w, p, t, out));
    chunks = writer_number(&w, n);
    int ranges = writer_number(&w, n_ranges);
    text_add(&w.body,
             "extern \"C\" __global__ void range_totals(PARAMS)\n{\n"
             "    const idx row = blockIdx.x / g.n%d, range = blockIdx.x %% g.n%d;\n"
             "    const idx first = row * g.n%d + range * %d;\n"
             "    const idx end = g.n%d - range * %d < %d ? (row + 1) * g.n%d : first + %d;\n",
             ranges, ranges, chunks, SCAN_RANGE, chunks, SCAN_RANGE, SCAN_RANGE, chunks,
             SCAN_RANGE);
    serial_run(&w, type, writer_scratch(&w, type, 0));
    text_add(&w.body, "    p%d[blockIdx.x] = run;\n}\n", writer_scratch(&w, type, carries));
    TRY(finish(&w, "range_totals", p->outer * n_ranges, 1));
    TRY(start(&w, p, t, out));
    ranges = writer_number(&w, n_ranges);
    text_add(&w.body,
             "extern \"C\" __global__ void range_carries(PARAMS)\n{\n"
             "    const idx first = (idx)blockIdx.x * g.n%d, end = first + g.n%d;\n",
             ranges, ranges);
    serial_run(&w, type, writer_scratch(&w, type, carries));
    text_add(&w.body, "}\n");
    return finish(&w, "range_carries", p->outer, 1);
}

/* p[target] = the value x, as the output stores it. */
static void write_result(emit_writer *w, const program *p, int to)
{
    text_add(&w->body, "p%d[target(g, row, col)] = ", to);
    if (dtype_is_half(p->out.dtype)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "%s_of_f32(x);\n", ig_dtype_name(p->out.dtype));
    } else
        text_add(&w->body, "(%s)x;\n", emit_storage_type(p->out.dtype));
}

static ig_status serial_scan(const program *p, const emit_target *t, uint64_t carries, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    emit_writer w;
    TRY(start(&w, p, t, out));
    write_place(&w, "target", &p->out.v, p->inner);
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, n);
    const int to = writer_operand(&w, &p->out, true);
    text_add(&w.body, "extern \"C\" __global__ void scan(PARAMS)\n{\n    %s before = identity();\n",
             type);
    if (n > 1)
        text_add(
            &w.body,
            "    if (blockIdx.x %% g.n%d > 0)\n"
            "        before = join(p%d[blockIdx.x / g.n%d * g.n%d + blockIdx.x %% g.n%d / %d], "
            "p%d[blockIdx.x]);\n",
            chunks, writer_scratch(&w, type, carries), chunks,
            writer_number(&w, ceil_div(n, SCAN_RANGE)), chunks, SCAN_RANGE,
            writer_scratch(&w, type, 0));
    serial_blocks(&w, type, inner, chunks);
    text_add(&w.body,
             "        for (int k = 0; k < %d && begin + k < stop; k++) {\n"
             "            const idx col = begin + k;\n"
             "            const %s x = join(before, join(run, v[k]));\n            ",
             SCAN_BLOCK, type);
    write_result(&w, p, to);
    text_add(&w.body, "        }\n        run = join(run, v[%d]);\n    }\n}\n", SCAN_BLOCK - 1);
    return finish(&w, "scan", p->outer * n, 1);
}

/* ---- elsewhere ---- */

/* What each chunk comes to. The first one of p is number `first` of the row. */
static ig_status chunk_totals(const program *p, const emit_target *t, int64_t first, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    const int threads = threads_of(p, t);
    emit_writer w;
    TRY(start(&w, p, t, out));
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, n);
    const int rows = writer_number(&w, p->outer),
              to = writer_scratch(&w, type, (uint64_t)first * ig_dtype_bytes(dtype_lane(p->dtype)));
    text_add(&w.body, "extern \"C\" __global__ void chunk_totals(PARAMS)\n{\n");
    write_blocks(&w, type, threads, inner, chunks, rows);
    text_add(&w.body,
             "    (void)team;\n    if (t < %d && first + t < jobs) {\n"
             "        %s run = identity();\n        const %s *from = total + t * %d;\n",
             threads / TEAM, type, type, TEAM);
    write_run(&w, type, "from[0", NULL, TEAM, "        ");
    text_add(&w.body, "        p%d[first + t] = run;\n    }\n}\n", to);
    return finish(&w, "chunk_totals", ceil_div(p->outer * n, threads / TEAM), threads);
}

/* What the chunks before each chunk of its range come to; what each range comes to. */
static ig_status range_totals(const program *p, const emit_target *t, uint64_t carries,
                              emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK), n_ranges = ceil_div(n, SCAN_RANGE);
    emit_writer w;
    TRY(start(&w, p, t, out));
    const int chunks = writer_number(&w, n), ranges = writer_number(&w, n_ranges);
    const int rows = writer_number(&w, p->outer);
    const int from = writer_scratch(&w, type, 0), to = writer_scratch(&w, type, carries);
    text_add(&w.body,
             "extern \"C\" __global__ void range_totals(PARAMS)\n{\n"
             "    __shared__ %s s[%d];\n    __shared__ %s before[%d];\n"
             "    const int t = threadIdx.x;\n"
             "    const idx job = (idx)blockIdx.x * %d + t / %d, row = job / g.n%d;\n"
             "    const idx chunk = job %% g.n%d * %d + t %% %d;\n"
             "    const bool here = job < g.n%d * g.n%d && chunk < g.n%d;\n"
             "    s[t + t / %d] = here ? p%d[row * g.n%d + chunk] : identity();\n"
             "    __syncthreads();\n"
             "    if (t %% %d == 0 && here) {\n        %s run = identity();\n"
             "        const int at = t + t / %d;\n",
             type, THREADS + RUNS, type, THREADS + RUNS, RUNS, SCAN_RANGE, ranges, ranges,
             SCAN_RANGE, SCAN_RANGE, rows, ranges, chunks, SCAN_RANGE, from, chunks, SCAN_RANGE,
             type, SCAN_RANGE);
    write_run(&w, type, "s[at", "before[at", SCAN_RANGE, "        ");
    text_add(&w.body,
             "        p%d[job] = run;\n    }\n    __syncthreads();\n"
             "    if (here)\n        p%d[row * g.n%d + chunk] = before[t + t / %d];\n}\n",
             to, from, chunks, SCAN_RANGE);
    return finish(&w, "range_totals", ceil_div(p->outer * n_ranges, RUNS), THREADS);
}

/* What the ranges before each range come to: a block for each row, some ranges at a time. */
static ig_status range_carries(const program *p, const emit_target *t, uint64_t carries,
                               emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    emit_writer w;
    TRY(start(&w, p, t, out));
    const int ranges = writer_number(&w, ceil_div(ceil_div(p->inner, SCAN_CHUNK), SCAN_RANGE));
    const int sums = writer_scratch(&w, type, carries);
    text_add(&w.body,
             "extern \"C\" __global__ void range_carries(PARAMS)\n{\n"
             "    __shared__ %s s[%d], before[%d];\n    const int t = threadIdx.x;\n"
             "    %s run = identity();\n"
             "    for (idx first = 0; first < g.n%d; first += %d) {\n"
             "        const idx at = (idx)blockIdx.x * g.n%d + first + t;\n"
             "        const bool here = first + t < g.n%d;\n"
             "        s[t] = here ? p%d[at] : identity();\n        __syncthreads();\n"
             "        if (t == 0) {\n",
             type, THREADS, THREADS, type, ranges, THREADS, ranges, ranges, sums);
    write_run(&w, type, "s[0", "before[0", THREADS, "            ");
    text_add(&w.body,
             "        }\n        __syncthreads();\n        if (here)\n"
             "            p%d[at] = before[t];\n        __syncthreads();\n    }\n}\n",
             sums);
    return finish(&w, "range_carries", p->outer, THREADS);
}

/* The running fold. p is a part of rows with n chunks: from number `first` on. */
static ig_status scan_chunks(const program *p, const emit_target *t, int64_t first, int64_t n,
                             uint64_t carries, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const uint64_t lane = ig_dtype_bytes(dtype_lane(p->dtype));
    const int64_t here = ceil_div(p->inner, SCAN_CHUNK);
    const int threads = threads_of(p, t), teams = threads / TEAM;
    emit_writer w;
    TRY(start(&w, p, t, out));
    write_place(&w, "target", &p->out.v, p->inner);
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, here);
    const int rows = writer_number(&w, p->outer), to = writer_operand(&w, &p->out, true);
    text_add(&w.body,
             "extern \"C\" __global__ void scan(PARAMS)\n{\n    __shared__ %s blocks[%d];\n", type,
             threads);
    write_blocks(&w, type, threads, inner, chunks, rows);
    text_add(&w.body,
             "    if (t < %d) {\n        %s run = identity();\n        const int at = t * %d;\n",
             teams, type, TEAM);
    write_run(&w, type, "total[at", "blocks[at", TEAM, "        ");
    text_add(&w.body, "    }\n    __syncthreads();\n    %s before = identity();\n", type);
    if (n > 1) {
        const int c = writer_scratch(&w, type, (uint64_t)first * lane);
        const int r = writer_scratch(&w, type, carries + (uint64_t)(first / SCAN_RANGE) * lane);
        const int ranges = writer_number(&w, ceil_div(n, SCAN_RANGE));
        text_add(&w.body,
                 "    const idx own = first + team, chunk = own %% g.n%d;\n"
                 "    if (own < jobs%s)\n"
                 "        before = join(p%d[own / g.n%d * g.n%d + chunk / %d], p%d[own]);\n",
                 chunks, first ? "" : " && chunk > 0", r, chunks, ranges, SCAN_RANGE, c);
    } else
        text_add(&w.body, "    (void)team;\n");
    text_add(&w.body,
             "#pragma unroll\n    for (int k = 0; k < %d; k++)\n"
             "        s[t * %d + k] = join(before, join(blocks[t], v[k]));\n"
             "    __syncthreads();\n"
             "#pragma unroll\n    for (int c = 0; c < %d; c++) {\n"
             "        const idx job = first + c, row = job / g.n%d, begin = job %% g.n%d * %d;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
             "            const idx col = begin + u * %d + t;\n"
             "            const int at = c * %d + u * %d + t;\n"
             "            const %s x = s[at + at / %d];\n"
             "            if (job < jobs && col < g.n%d)\n                ",
             SCAN_BLOCK, SCAN_BLOCK + 1, teams, chunks, chunks, SCAN_CHUNK, SCAN_CHUNK / threads,
             threads, SCAN_CHUNK, threads, type, SCAN_BLOCK, inner);
    write_result(&w, p, to);
    text_add(&w.body, "        }\n    }\n}\n");
    return finish(&w, "scan", ceil_div(p->outer * here, teams), threads);
}

/* The chunks [first, end) of a row. */
static program part_of(const program *p, int64_t first, int64_t end)
{
    program q = *p;
    view *const views[2] = {&q.in[0].v, &q.out.v};
    q.inner = (end * SCAN_CHUNK < p->inner ? end * SCAN_CHUNK : p->inner) - first * SCAN_CHUNK;
    for (int i = 0; i < 2; i++) {
        const int axis = views[i]->ndim - 1;
        views[i]->offset += first * SCAN_CHUNK * views[i]->stride[axis];
        views[i]->shape[axis] = q.inner;
    }
    return q;
}

/* How many chunks a launch can reach, in whole ranges, or all; 0: too few. */
static int64_t part_chunks(const program *p, const emit_target *t)
{
    int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    bool fits =
        !emit_has_large(p, 1, t) || (emit_reaches(t, &p->in[0]) && emit_reaches(t, &p->out));
    if (!fits && (p->outer != 1 || t->cpu || p->in[0].v.shape[p->in[0].v.ndim - 1] != p->inner ||
                  p->out.v.shape[p->out.v.ndim - 1] != p->inner))
        return 0;
    while (!fits && n > 0) {
        n = n / 2 / SCAN_RANGE * SCAN_RANGE;
        if (n) {
            const program q = part_of(p, 0, n);
            fits = emit_reaches(t, &q.in[0]) && emit_reaches(t, &q.out);
        }
    }
    return n;
}

ig_status emit_scan(const program *p, const emit_target *t, emitted *out)
{
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    const int64_t part = part_chunks(p, t);
    if (!part)
        return emit_too_large(t);
    const uint64_t carries = align_up((uint64_t)(p->outer * n) * 8);
    if (n > 1)
        out->scratch_bytes = carries + align_up((uint64_t)(p->outer * ceil_div(n, SCAN_RANGE)) * 8);
    if (n > 1 && t->cpu)
        TRY(serial_totals(p, t, carries, out));
    if (t->cpu)
        return serial_scan(p, t, carries, out);
    for (int64_t first = 0; first < n && n > 1; first += part) {
        const program q = part < n ? part_of(p, first, first + part) : *p;
        TRY(chunk_totals(&q, t, first, out));
    }
    if (n > 1) {
        TRY(range_totals(p, t, carries, out));
        TRY(range_carries(p, t, carries, out));
    }
    for (int64_t first = 0; first < n; first += part) {
        const program q = part < n ? part_of(p, first, first + part) : *p;
        TRY(scan_chunks(&q, t, first, n, carries, out));
    }
    return IG_OK;
}
