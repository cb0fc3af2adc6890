/* Maps: kernels/map.cu. A thread takes a few neighbouring points. On a CPU a block is one thread, which takes many. */
#include "engine/emit/writer.h"

#include "base/error.h"

enum { BLOCK_THREADS = 256, CPU_POINTS = 8192 };

ig_status emit_map(const program *p, const emit_target *t, emitted *out)
{
    const tape *pre = &p->pre;
    emit_writer w;
    if (pre->size == 0)
        return IG_OK;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const emit_space s = {.t = pre, .axis = -1, .vector = t->cpu ? 1 : emit_vector_width(&w, pre)};
    const int64_t groups = pre->size / s.vector;
    hole_int(&w, "SERIAL", t->cpu);
    hole_int(&w, "THREADS", BLOCK_THREADS);
    hole_int(&w, "EACH", CPU_POINTS);
    hole_int(&w, "VECTOR", s.vector);
    hole_size(&w, t->cpu ? "POINTS" : "GROUPS", groups);
    text_add(&w.body, "static __device__ void points(PARAMS, idx i)\n{\n");
    emit_tape(&w, &s);
    text_add(&w.body, "    (void)i;\n}\n\n");
    writer_template(&w, "map.cu", NULL);
    if (t->cpu)
        return writer_launch(&w, "map", ceil_div(groups, CPU_POINTS), 1);
    const int64_t blocks = ceil_div(groups, BLOCK_THREADS);
    const int64_t most = t->block_limit ? (int64_t)t->block_limit * 8 : EMIT_MOST_BLOCKS;
    return writer_launch(&w, "map", blocks < most ? blocks : most, BLOCK_THREADS);
}
