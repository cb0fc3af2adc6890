/* The index of the extreme of each row, by kernels/extreme.cu: one thread per row, one block per row, or ranges of long
 * rows first. */
#include "engine/emit/rows.h"

#include "base/error.h"
#include "engine/ops/ops.h"

enum { BLOCK_THREADS = 256, ARG_RANGE = 1 << 16 };

/* Holes of all kernels; with `split`, for ranges of the rows. */
static void fill(emit_writer *w, const program *p, bool split)
{
    const int64_t ranges = split ? ceil_div(p->inner, ARG_RANGE) : 1;
    const uint64_t bytes = ((uint64_t)(p->outer * ranges) * 8 + 255) & ~(uint64_t)255;
    const char *type = rows_type(p);
    w->needs_f64 = w->needs_f64 || p->dtype == IG_F64;
    hole_text(w, "LANE", "%s", type);
    hole_text(w, "MORE", "%s", p->fold == OP_max ? ">" : "<");
    hole_int(w, "FLOATS", dtype_is_float(p->dtype));
    hole_int(w, "THREADS", BLOCK_THREADS);
    hole_int(w, "PARTS", split);
    hole_size(w, "ROWS", p->outer);
    hole_size(w, "INNER", p->inner);
    hole_size(w, "RANGES", ranges);
    hole_size(w, "RANGE", split ? ARG_RANGE : p->inner);
    if (split) {
        hole_pointer(w, "VALUE_OF", writer_scratch(w, type, 0));
        hole_pointer(w, "PLACE_OF", writer_scratch(w, "idx", bytes));
        w->out->scratch_bytes = 2 * bytes;
    }
}

static ig_status emit_arg_finish(const program *p, const emit_target *t, emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_result(&w, p, 0, NULL);
    fill(&w, p, true);
    writer_template(&w, "extreme.cu", "EXTREME_OF_RANGES");
    return writer_launch(&w, "extreme_of_ranges", ceil_div(p->outer, BLOCK_THREADS), BLOCK_THREADS);
}

ig_status emit_argreduce(const program *p, const emit_target *t, emitted *out)
{
    const bool threads = p->inner <= 64 || (p->outer >= 4096 && p->inner <= 1024);
    const bool split = !threads && p->inner > ARG_RANGE;
    const int64_t jobs = split ? p->outer * ceil_div(p->inner, ARG_RANGE) : p->outer;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    if (!split)
        rows_result(&w, p, 0, NULL);
    fill(&w, p, split);
    writer_template(&w, "extreme.cu", threads ? "EXTREMES_BY_THREAD" : "EXTREMES");
    TRY(writer_launch(&w, "extremes",
                      threads ? ceil_div(p->outer, BLOCK_THREADS) : rows_grid(jobs, t),
                      BLOCK_THREADS));
    return split ? emit_arg_finish(p, t, out) : IG_OK;
}
