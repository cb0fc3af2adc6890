/* Reductions alone, by kernels/reduce.cu. rows.c handles rows that one block can fold. For longer rows, blocks fold
 * ranges of chunks, and a second kernel joins the ranges. If rows are short or strided, one thread takes each row. */
#include "engine/emit/rows.h"
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "engine/ops/ops.h"

enum {
    RUN_MOST = 16, /* chunks of a row that a thread folds on a CPU: see run_of */
    RUN_FEW = 4,
    MANY_CHUNKS = 4096,
    LIGHT_INSTS = 8,
    COLUMNS = 32, /* rows of a block whose threads share them, one for each thread of a warp */
    PROCESSORS_USUAL = 64,
    THREADS_BUSY = 2048 /* threads of a processor, about */
};

/* The axis of pre where rows begin; -1: an axis has points of both parts, or there is one row, which may be a span. */
static int axis_of_rows(const program *p)
{
    return p->outer > 1 ? emit_split_axis(&p->pre, p->inner) : -1;
}

/* True if rows are short windows, as in pools. Their sizes are few, and divisions by them, one for each value, would take
 * longer than the loads. */
static bool is_window(const program *p)
{
    const int axis = axis_of_rows(p);
    return p->inner <= FOLD_WIDTH && axis >= 0 && p->pre.ndim - axis > 1;
}

/* Starts a kernel of kernels/reduce.cu: value0 if it reads values, result0 if it produces results, and the common
 * holes. */
static ig_status start(emit_writer *w, const program *p, const emit_target *t, bool reads,
                       bool ends, emitted *out)
{
    TRY(writer_start(w, t, out));
    w->wide = !emit_is_narrow(p, 1);
    w->windows = is_window(p);
    if (reads)
        rows_value(w, p, 0, p->outer, NULL, NULL);
    rows_join(w, p, 0);
    if (ends)
        rows_result(w, p, 0, NULL);
    rows_fill_common(w, NULL);
    rows_fill(w, p, 0, p->outer, t->cpu ? ROWS_NO_SHARED : ROWS_CHUNK_SHARED);
    hole_int(w, "WHOLE", ends);
    hole_int(w, "K", 0);
    hole_size(w, "ROWS", p->outer);
    return IG_OK;
}

/* Values in scratch memory, after the first `before` values. */
static void fill_partial(emit_writer *w, const program *p, int64_t before)
{
    const int64_t bytes = before * rows_type_bytes(p);
    hole_pointer(w, "PARTIAL", writer_scratch(w, rows_type(p), (uint64_t)bytes));
}

/* ---- long rows: ranges of chunks, then their values ---- */

/* Joins the values of each row's ranges pairwise, in place, a block for each row. */
static ig_status emit_join_ranges(const program *p, const emit_target *t, int64_t ranges,
                                  emitted *out)
{
    emit_writer w;
    TRY(start(&w, p, t, false, true, out));
    fill_partial(&w, p, 0);
    hole_int(&w, "THREADS", ROWS_THREADS);
    hole_size(&w, "RANGES", ranges);
    writer_template(&w, "reduce.cu", "JOIN_RANGES");
    return writer_launch(&w, "join_ranges", rows_grid(p->outer, t), ROWS_THREADS);
}

/* The first kernel; `before` ranges already have values. */
static ig_status emit_fold_ranges(const program *p, const emit_target *t, int64_t range,
                                  int64_t before, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK), ranges = ceil_div(chunks, range);
    const bool fours = t->subgroup == FOLD_WIDTH && p->inner % 4 == 0 && !program_is_span(p) &&
                       emit_has_steps(&p->pre);
    emit_writer w;
    TRY(start(&w, p, t, true, false, out));
    if (fours)
        rows_values(&w, p, 0, p->outer);
    fill_partial(&w, p, before);
    hole_int(&w, "FOURS", fours);
    hole_size(&w, "RANGES", ranges);
    hole_size(&w, "RANGE", range);
    text_add(&w.body, "#define SHARED ");
    rows_declare_shared(&w, p, 0, ROWS_CHUNKS);
    text_add(&w.body, "\n#define FOLD_SHARED ");
    rows_pass_shared(&w, p, 0, true);
    text_add(&w.body, "\n#include \"rows_lanes.cuh\"\n#include \"rows_chunks.cuh\"\n");
    writer_template(&w, "reduce.cu", "RANGES_KERNEL");
    return writer_launch(&w, "ranges", rows_grid(p->outer * ranges, t), ROWS_THREADS);
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
    const uint64_t bytes = (uint64_t)(p->outer * ranges * rows_type_bytes(p));
    out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
    return emit_join_ranges(p, t, ranges, out);
}

/* ---- a thread for each row: short rows and strided rows ---- */

/* The last launch: joins pairwise the values of the `parts` parts of each row, which are in scratch by part and row. */
static ig_status emit_join_parts(const program *p, const emit_target *t, int64_t parts,
                                 emitted *out)
{
    const int threads = t->cpu ? 1 : ROWS_THREADS;
    const uint64_t bytes = (uint64_t)(p->outer * parts * rows_type_bytes(p));
    emit_writer w;
    out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
    TRY(start(&w, p, t, false, true, out));
    fill_partial(&w, p, 0);
    hole_int(&w, "THREADS", threads);
    hole_size(&w, "PARTS", parts);
    writer_template(&w, "reduce.cu", "JOIN_CHUNKS");
    return writer_launch(&w, "join_chunks", ceil_div(p->outer, threads), threads);
}

static bool stores_values(const program *p)
{
    for (int k = 0; k < p->pre.n_inst; k++)
        if (p->pre.inst[k].code == TAPE_STORE)
            return true;
    return false;
}

/* The fewest running values for rows of this length: a power of two. */
static int width_of(const program *p)
{
    int width = 1;
    while (width < FOLD_WIDTH && width < p->inner)
        width *= 2;
    return width;
}

/* True if a thread for each row and chunk would leave most of the device idle. */
static bool is_shared(const program *p, const emit_target *t, int64_t chunks)
{
    const int64_t processors = t->processors ? t->processors : PROCESSORS_USUAL;
    return p->inner >= FOLD_WIDTH && p->outer * chunks < processors * THREADS_BUSY;
}

/* Rows of at most one chunk give results; longer rows give a value for each chunk. */
static ig_status emit_across(const program *p, const emit_target *t, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK);
    const bool shared = is_shared(p, t, chunks);
    const int64_t rows = shared ? COLUMNS : ROWS_THREADS; /* of a block */
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, rows), (uint32_t)chunks, 1};
    const uint32_t block[3] = {ROWS_THREADS, 1, 1};
    emit_writer w;
    TRY(start(&w, p, t, true, chunks == 1, out));
    const bool ahead = !shared && stores_values(p) && (int64_t)grid[0] * grid[1] <= t->processors;
    w.ahead = ahead ? INT64_MAX : 0;
    if (chunks > 1)
        fill_partial(&w, p, 0);
    hole_int(&w, "THREADS", ROWS_THREADS);
    hole_int(&w, "WIDTH", width_of(p));
    hole_int(&w, "LOOPS", p->inner > FOLD_WIDTH || ahead);
    hole_int(&w, "COLUMNS", COLUMNS);
    hole_int(&w, "GROUPS", ROWS_THREADS / COLUMNS);
    writer_template(&w, "reduce.cu", shared ? "ACROSS_SHARED" : "ACROSS");
    TRY(writer_finish(&w, "across", grid, block, 0));
    return chunks == 1 ? IG_OK : emit_join_parts(p, t, chunks, out);
}

/* ---- rows without elements ---- */

/* The identity: +0 for a sum, 0 or 1 for a bool. */
static ig_status emit_empty(const program *p, const emit_target *t, emitted *out)
{
    emit_writer w;
    TRY(start(&w, p, t, false, true, out));
    hole_int(&w, "THREADS", ROWS_THREADS);
    if (p->fold == OP_sum)
        hole_text(&w, "NOTHING", "(%s)0", rows_type(p));
    else if (p->dtype == IG_BOOL)
        hole_text(&w, "NOTHING", "(%s)(identity0() != 0)", rows_type(p));
    else
        hole_text(&w, "NOTHING", "identity0()");
    writer_template(&w, "reduce.cu", "EMPTY");
    return writer_launch(&w, "empty", ceil_div(p->outer, ROWS_THREADS), ROWS_THREADS);
}

/* ---- on a CPU ---- */

/* True if the tape is short enough to be repeated in the text. */
static bool is_light(const tape *t)
{
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->code == TAPE_BITS || inst->code == TAPE_READ || inst->code == TAPE_UNPACK ||
            (inst->code == TAPE_MAP && op_ulps[inst->op] > 0))
            return false;
    }
    return t->n_inst <= LIGHT_INSTS;
}

/* Chunks of a row that a thread folds and joins: a power of two, which keeps the order. Many chunks amortize the start
 * of a thread; few chunks give work to more cores. */
static int run_of(const program *p)
{
    return p->outer * ceil_div(p->inner, FOLD_CHUNK) < MANY_CHUNKS ? RUN_FEW : RUN_MOST;
}

static ig_status emit_fold_serial(const program *p, const emit_target *t, emitted *out)
{
    const int64_t parts = ceil_div(p->inner, run_of(p) * FOLD_CHUNK);
    /* A thread takes several short rows. */
    const int64_t each = p->inner < FOLD_CHUNK ? 4 * FOLD_CHUNK / p->inner : 1;
    const bool is_short = p->inner <= FOLD_WIDTH;
    emit_writer w;
    TRY(start(&w, p, t, true, parts == 1, out));
    if (parts > 1)
        fill_partial(&w, p, 0);
    hole_int(&w, "SHORT", is_short);
    hole_int(&w, "WIDTH", width_of(p));
    hole_int(&w, "CHUNKS_MOST", p->inner <= FOLD_CHUNK ? 1 : RUN_MOST);
    hole_int(&w, "QUICK", p->inner > FOLD_CHUNK && is_light(&p->pre));
    hole_size(&w, "EACH_ROWS", each);
    hole_size(&w, "RUN", run_of(p));
    if (!is_short)
        text_add(&w.body, "#include \"rows_lanes.cuh\"\n#include \"rows_serial.cuh\"\n");
    writer_template(&w, "reduce.cu", "FOLD");
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, each), (uint32_t)parts, 1};
    const uint32_t block[3] = {1, 1, 1};
    TRY(writer_finish(&w, "fold", grid, block, 0));
    return parts == 1 ? IG_OK : emit_join_parts(p, t, parts, out);
}

/* ---- which kernel ---- */

/* True if most operands of the tape are contiguous along the outer part, not along rows. Operands that repeat their elements
 * do not count: they are small. */
static bool lies_across(const tape *t, int axis)
{
    int votes = 0;
    for (int k = 0; k < t->n_inst; k++) {
        const int code = t->inst[k].code;
        if (code != TAPE_LOAD && code != TAPE_STORE)
            continue;
        const view *v = &t->operand[t->inst[k].operand].v;
        if (v->stride[axis - 1] != 0 && v->stride[v->ndim - 1] != 0)
            votes += (v->stride[axis - 1] == 1) - (v->stride[v->ndim - 1] == 1);
    }
    return votes > 0;
}

/* True if a warp for each of few rows is faster than a thread for each, which would load and store its values one after
 * another. */
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
    const int axis = axis_of_rows(p);
    const bool across = axis > 0 && axis < p->pre.ndim && lies_across(&p->pre, axis);
    if (t->cpu)
        return emit_fold_serial(p, t, out);
    const bool narrow = p->inner <= FOLD_WIDTH && !has_few_rows(p, t);
    if (narrow || (across && p->outer >= 64 && chunks <= 65535))
        return emit_across(p, t, out);
    int64_t range = ROWS_CHUNKS;
    const int64_t wanted = t->block_limit ? (int64_t)t->block_limit : 1024;
    while (range > ROWS_WARPS && p->outer * ceil_div(chunks, range) < wanted)
        range /= 2;
    if (chunks > range)
        return emit_ranges(p, t, range, out);
    return emit_range_points(p, t, p->inner) ? emit_rows(p, 1, t, out) : emit_too_large(t);
}
