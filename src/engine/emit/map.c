/* Maps: a thread takes a few neighbouring points; on a CPU, a block is one thread, which takes many. */
#include "engine/emit/writer.h"

#include "base/error.h"

enum { BLOCK_THREADS = 256, CPU_POINTS = 8192 };

static ig_status emit_serial(const program *p, emit_writer *w)
{
    const emit_space s = {.t = &p->pre, .axis = -1, .vector = 1};
    const int n = writer_number(w, p->pre.size);
    text_add(&w->body,
             "extern \"C\" __global__ void map(PARAMS)\n{\n"
             "    const idx begin = (idx)blockIdx.x * %d;\n"
             "    const idx end = g.n%d - begin < %d ? g.n%d : begin + %d;\n"
             "    for (idx i = begin; i < end; i++) {\n",
             CPU_POINTS, n, CPU_POINTS, n, CPU_POINTS);
    emit_tape(w, &s);
    text_add(&w->body, "    }\n}\n");
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->pre.size, CPU_POINTS), 1, 1};
    const uint32_t block[3] = {1, 1, 1};
    return writer_finish(w, "map", grid, block, 0);
}

ig_status emit_map(const program *p, const emit_target *t, emitted *out)
{
    const tape *pre = &p->pre;
    emit_writer w;
    if (pre->size == 0)
        return IG_OK;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    if (t->cpu)
        return emit_serial(p, &w);
    const emit_space s = {.t = pre, .axis = -1, .vector = emit_vector_width(&w, pre)};
    const int64_t threads = pre->size / s.vector;
    const int n = writer_number(&w, threads);
    text_add(&w.body,
             "extern \"C\" __global__ void map(PARAMS)\n{\n"
             "    for (idx at = (idx)blockIdx.x * %d + threadIdx.x; at < g.n%d; at += "
             "(idx)gridDim.x * %d) {\n"
             "    const idx i = at * %d;\n    (void)i;\n",
             BLOCK_THREADS, n, BLOCK_THREADS, s.vector);
    emit_tape(&w, &s);
    text_add(&w.body, "    }\n}\n");
    const int64_t blocks = (threads + BLOCK_THREADS - 1) / BLOCK_THREADS;
    const int64_t most = t->block_limit ? (int64_t)t->block_limit * 8 : EMIT_MOST_BLOCKS;
    const uint32_t grid[3] = {(uint32_t)(blocks < most ? blocks : most), 1, 1};
    const uint32_t block[3] = {BLOCK_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "map", grid, block, 0);
    writer_drop(&w);
    return status;
}
