/* Scans: running folds along rows, in the order that src/backend/cpu/reduce/scan.c states. */
#include "kernel/emit/indexed.h"

#include "base/error.h"
#include "ops/ops.h"

enum {
    THREADS = INDEXED_THREADS,
    SCAN_BLOCK = 16,
    SCAN_CHUNK = 1024,
    SCAN_RANGE = 64 /* chunks */
};

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

/* A team of 64 threads takes a chunk; a thread has SCAN_BLOCK neighbours v[], scanned by halves. */
static void scan_block_text(emit_writer *w, const char *type, int inner, int chunks, int rows)
{
    text_add(
        &w->body,
        "    __shared__ %s total[%d];\n"
        "    const int t = threadIdx.x & 63, team = threadIdx.x >> 6;\n"
        "    for (idx first = (idx)blockIdx.x * 4; first < g.n%d * g.n%d; first += (idx)gridDim.x "
        "* 4) {\n"
        "        const idx job = first + team;\n"
        "        const bool here = job < g.n%d * g.n%d;\n"
        "        const idx row = here ? job / g.n%d : 0, chunk = here ? job %% g.n%d : 0;\n"
        "        const idx begin = chunk * %d + t * %d;\n"
        "        %s v[%d];\n"
        "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
        "            v[k] = here && begin + k < g.n%d ? load(ARGS, row, begin + k) : identity();\n",
        type, THREADS, rows, chunks, rows, chunks, chunks, chunks, SCAN_CHUNK, SCAN_BLOCK, type,
        SCAN_BLOCK, SCAN_BLOCK, inner);
    for (int half = 1; half < SCAN_BLOCK; half *= 2)
        text_add(&w->body,
                 "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
                 "            if (k & %d)\n"
                 "                v[k] = join(v[(k & ~%d) + %d], v[k]);\n",
                 SCAN_BLOCK, half, 2 * half - 1, half - 1);
    text_add(&w->body,
             "        total[threadIdx.x] = v[%d];\n        __syncthreads();\n"
             "        if (t == 0) {\n            %s run = identity();\n"
             "            for (int k = 0; k < 64; k++) {\n"
             "                const %s now = total[threadIdx.x + k];\n"
             "                total[threadIdx.x + k] = run;\n"
             "                run = join(run, now);\n            }\n",
             SCAN_BLOCK - 1, type, type);
}

static ig_status scan_totals(const program *p, const emit_target *t, uint64_t carries, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, n);
    const int rows = writer_number(&w, p->outer);
    const int totals = writer_scratch(&w, type, 0);
    text_add(&w.body, "extern \"C\" __global__ void chunk_totals(PARAMS)\n{\n");
    scan_block_text(&w, type, inner, chunks, rows);
    text_add(&w.body,
             "            if (here)\n                p%d[job] = run;\n        }\n"
             "        __syncthreads();\n    }\n}\n",
             totals);
    const uint32_t grid[3] = {indexed_grid(ceil_div(p->outer * n, 4), t), 1, 1};
    const uint32_t block[3] = {THREADS, 1, 1};
    ig_status status = writer_finish(&w, "chunk_totals", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    /* What the chunks before each chunk of its range came to; the range's total. */
    const int64_t n_ranges = ceil_div(n, SCAN_RANGE);
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    const int c = writer_number(&w, n), r = writer_number(&w, n_ranges);
    const int o = writer_number(&w, p->outer);
    const int from = writer_scratch(&w, type, 0), to = writer_scratch(&w, type, carries);
    text_add(&w.body,
             "extern \"C\" __global__ void range_totals(PARAMS)\n{\n"
             "    for (idx job = (idx)blockIdx.x * %d + threadIdx.x; job < g.n%d * g.n%d; job += "
             "(idx)gridDim.x * %d) {\n"
             "        const idx row = job / g.n%d, first = job %% g.n%d * %d;\n"
             "        const idx end = first + %d < g.n%d ? first + %d : g.n%d;\n"
             "        %s run = identity();\n"
             "        for (idx k = first; k < end; k++) {\n"
             "            const %s now = p%d[row * g.n%d + k];\n"
             "            p%d[row * g.n%d + k] = run;\n"
             "            run = join(run, now);\n        }\n"
             "        p%d[job] = run;\n    }\n}\n",
             THREADS, o, r, THREADS, r, r, SCAN_RANGE, SCAN_RANGE, c, SCAN_RANGE, c, type, type,
             from, c, from, c, to);
    const uint32_t second[3] = {indexed_grid(ceil_div(p->outer * n_ranges, THREADS), t), 1, 1};
    status = writer_finish(&w, "range_totals", second, block, 0);
    writer_drop(&w);
    TRY(status);
    /* What the ranges before each range came to: a block for each row, some ranges at a time. */
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    const int ranges = writer_number(&w, n_ranges), all = writer_number(&w, p->outer);
    const int sums = writer_scratch(&w, type, carries);
    text_add(
        &w.body,
        "extern \"C\" __global__ void range_carries(PARAMS)\n{\n"
        "    __shared__ %s s[%d];\n"
        "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
        "        %s run = identity();\n"
        "        for (idx first = 0; first < g.n%d; first += %d) {\n"
        "            const idx at = first + threadIdx.x;\n"
        "            if (at < g.n%d)\n                s[threadIdx.x] = p%d[row * g.n%d + at];\n"
        "            __syncthreads();\n"
        "            if (threadIdx.x == 0)\n"
        "                for (int k = 0; k < %d && first + k < g.n%d; k++) {\n"
        "                    const %s now = s[k];\n                    s[k] = run;\n"
        "                    run = join(run, now);\n                }\n"
        "            __syncthreads();\n"
        "            if (at < g.n%d)\n                p%d[row * g.n%d + at] = s[threadIdx.x];\n"
        "            __syncthreads();\n        }\n    }\n}\n",
        type, THREADS, all, type, ranges, THREADS, ranges, sums, ranges, THREADS, ranges, type,
        ranges, sums, ranges);
    const uint32_t third[3] = {indexed_grid(p->outer, t), 1, 1};
    status = writer_finish(&w, "range_carries", third, block, 0);
    writer_drop(&w);
    return status;
}

ig_status emit_scan(const program *p, const emit_target *t, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    const uint64_t carries = align_up((uint64_t)(p->outer * n) * 8);
    if (n > 1) {
        TRY(scan_totals(p, t, carries, out));
        out->scratch_bytes = carries + align_up((uint64_t)(p->outer * ceil_div(n, SCAN_RANGE)) * 8);
    }
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    write_place(&w, "target", &p->out.v, p->inner);
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, n);
    const int rows = writer_number(&w, p->outer), to = writer_operand(&w, &p->out, true);
    text_add(&w.body, "extern \"C\" __global__ void scan(PARAMS)\n{\n");
    scan_block_text(&w, type, inner, chunks, rows);
    text_add(&w.body, "        }\n        __syncthreads();\n        %s before = identity();\n",
             type);
    if (n > 1) {
        const int c = writer_scratch(&w, type, 0), r = writer_scratch(&w, type, carries);
        const int ranges = writer_number(&w, ceil_div(n, SCAN_RANGE));
        text_add(&w.body,
                 "        if (here && chunk > 0)\n"
                 "            before = join(p%d[row * g.n%d + chunk / %d], p%d[job]);\n",
                 r, ranges, SCAN_RANGE, c);
    }
    text_add(&w.body,
             "        const %s blocks = total[threadIdx.x];\n"
             "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
             "            if (here && begin + k < g.n%d) {\n"
             "                const %s x = join(before, join(blocks, v[k]));\n"
             "                p%d[target(g, row, begin + k)] = ",
             type, SCAN_BLOCK, inner, type, to);
    if (dtype_is_half(p->out.dtype)) {
        w.uses |= USES_HALF;
        text_add(&w.body, "%s_of_f32(x)", ig_dtype_name(p->out.dtype));
    } else
        text_add(&w.body, "(%s)x", emit_storage_type(p->out.dtype));
    text_add(&w.body, ";\n            }\n        __syncthreads();\n    }\n}\n");
    const uint32_t grid[3] = {indexed_grid(ceil_div(p->outer * n, 4), t), 1, 1};
    const uint32_t block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "scan", grid, block, 0);
    writer_drop(&w);
    return status;
}
