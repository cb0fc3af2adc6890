/* The index of the extreme of each row: by one thread for each row, by a block, or in ranges of long rows first. */
#include "engine/emit/rows.h"

#include "base/error.h"
#include "engine/ops/ops.h"

enum { BLOCK_THREADS = 256, ARG_RANGE = 1 << 16 };

static const char *fold_type(const program *p) { return emit_lane_type(p->dtype); }

static void write_better(emit_writer *w, const program *p)
{
    const char *type = fold_type(p), *sign = p->fold == OP_max ? ">" : "<";
    const bool floats = dtype_is_float(p->dtype);
    text_add(&w->body, "static __device__ bool better(%s x, %s y)\n{\n", type, type);
    if (floats)
        text_add(&w->body, "    return x != x ? y == y : x %s y;\n}\n\n", sign);
    else
        text_add(&w->body, "    return x %s y;\n}\n\n", sign);
}

static void write_arg_kernel(emit_writer *w, const program *p, bool split)
{
    const char *type = fold_type(p);
    const int rows = writer_number(w, p->outer), inner = writer_number(w, p->inner);
    const int ranges = writer_number(w, split ? ceil_div(p->inner, ARG_RANGE) : 1);
    const int range = writer_number(w, split ? ARG_RANGE : p->inner);
    text_add(&w->body,
             "extern \"C\" __global__ void extremes(PARAMS)\n{\n"
             "    __shared__ %s value[%d];\n    __shared__ idx place[%d];\n"
             "    const int at = threadIdx.x;\n"
             "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
             "        const idx row = job / g.n%d, first = job %% g.n%d * g.n%d;\n"
             "        const idx end = first + g.n%d < g.n%d ? first + g.n%d : g.n%d;\n"
             "        idx best = -1;\n        %s most = 0;\n"
             "        for (idx col = first + at; col < end; col += %d) {\n"
             "            const %s x = value0(ARGS, row, col);\n"
             "            if (best < 0 || better(x, most)) {\n"
             "                best = col;\n                most = x;\n            }\n        }\n"
             "        value[at] = most;\n        place[at] = best;\n        __syncthreads();\n"
             "        for (int half = %d; half > 0; half /= 2) {\n"
             "            if (at < half) {\n"
             "                const idx other = place[at + half];\n"
             "                const %s x = value[at + half];\n"
             "                if (other >= 0 && (place[at] < 0 || better(x, value[at]) ||\n"
             "                                   (!better(value[at], x) && other < place[at]))) {\n"
             "                    value[at] = x;\n                    place[at] = other;\n"
             "                }\n            }\n            __syncthreads();\n        }\n",
             type, BLOCK_THREADS, BLOCK_THREADS, rows, ranges, ranges, ranges, range, range, inner,
             range, inner, type, BLOCK_THREADS, type, BLOCK_THREADS / 2, type);
    if (split) {
        const int v = writer_scratch(w, type, 0);
        const uint64_t places =
            ((uint64_t)(p->outer * ceil_div(p->inner, ARG_RANGE)) * 8 + 255) & ~(uint64_t)255;
        const int i = writer_scratch(w, "idx", places);
        text_add(&w->body,
                 "        if (at == 0) {\n            p%d[job] = value[0];\n"
                 "            p%d[job] = place[0];\n        }\n",
                 v, i);
        w->out->scratch_bytes = 2 * places;
    } else
        text_add(&w->body,
                 "        if (at == 0)\n            result0(ARGS, row, (long long)place[0]);\n");
    text_add(&w->body, "        __syncthreads();\n    }\n}\n");
}

static ig_status emit_arg_finish(const program *p, const emit_target *t, emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    write_better(&w, p);
    rows_result(&w, p, 0, NULL);
    const char *type = fold_type(p);
    const int64_t n = ceil_div(p->inner, ARG_RANGE);
    const int rows = writer_number(&w, p->outer), ranges = writer_number(&w, n);
    const int v = writer_scratch(&w, type, 0);
    const int i = writer_scratch(&w, "idx", ((uint64_t)(p->outer * n) * 8 + 255) & ~(uint64_t)255);
    text_add(&w.body,
             "extern \"C\" __global__ void extreme_of_ranges(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row >= g.n%d)\n        return;\n"
             "    idx best = row * g.n%d;\n"
             "    for (idx k = best + 1; k < (row + 1) * g.n%d; k++)\n"
             "        if (better(p%d[k], p%d[best]))\n            best = k;\n"
             "    result0(ARGS, row, (long long)p%d[best]);\n}\n",
             BLOCK_THREADS, rows, ranges, ranges, v, v, i);
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, BLOCK_THREADS), 1, 1};
    const uint32_t block[3] = {BLOCK_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "extreme_of_ranges", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* A thread for each row, where there are many or they are short. */
static void write_arg_threads(emit_writer *w, const program *p)
{
    const int rows = writer_number(w, p->outer), inner = writer_number(w, p->inner);
    text_add(&w->body,
             "extern \"C\" __global__ void extremes(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row >= g.n%d)\n        return;\n"
             "    idx best = 0;\n    %s most = value0(ARGS, row, 0);\n"
             "    for (idx col = 1; col < g.n%d; col++) {\n"
             "        const %s x = value0(ARGS, row, col);\n"
             "        if (better(x, most)) {\n            best = col;\n            most = x;\n"
             "        }\n    }\n    result0(ARGS, row, (long long)best);\n}\n",
             BLOCK_THREADS, rows, fold_type(p), inner, fold_type(p));
}

ig_status emit_argreduce(const program *p, const emit_target *t, emitted *out)
{
    const bool threads = p->inner <= 64 || (p->outer >= 4096 && p->inner <= 1024);
    const bool split = !threads && p->inner > ARG_RANGE;
    const int64_t jobs = split ? p->outer * ceil_div(p->inner, ARG_RANGE) : p->outer;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    w.needs_f64 = p->dtype == IG_F64;
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    write_better(&w, p);
    if (!split)
        rows_result(&w, p, 0, NULL);
    if (threads)
        write_arg_threads(&w, p);
    else
        write_arg_kernel(&w, p, split);
    const uint32_t grid[3] = {
        threads ? (uint32_t)ceil_div(p->outer, BLOCK_THREADS) : rows_grid(jobs, t), 1, 1};
    const uint32_t block[3] = {BLOCK_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "extremes", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    return split ? emit_arg_finish(p, t, out) : IG_OK;
}
