/* Scans: running folds along rows, in the order that src/engine/backend/cpu/reduce/scan.c states. The kernels are in
 * kernels/scan.cu.
 *
 * A block takes several chunks. If rows have several chunks, earlier launches compute for each chunk the fold of all
 * chunks before it. On a CPU a block is one thread, which takes a chunk.
 *
 * A row that is longer than the reach of a launch is processed in parts: several launches read it and several write it.
 * The folds between them cover the whole row. */
#include "engine/emit/indexed.h"
#include "engine/emit/rows.h"
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "engine/program/cuts.h"

#include <stdio.h>

enum {
    THREADS = INDEXED_THREADS,
    SCAN_BLOCK = 16,
    CHUNK_THREADS = CUT_CHUNK / SCAN_BLOCK,
    RUNS = THREADS / CUT_RANGE_CHUNKS /* ranges that a block of range_totals takes */
};

/* Threads of a block that takes chunks: half as many if its elements do not fit in shared memory. */
static int threads_of(const program *p, const emit_target *t)
{
    const uint64_t lane = ig_dtype_bytes(dtype_lane(p->dtype));
    return (uint64_t)THREADS * (SCAN_BLOCK + 1 + 2) * lane <= t->shared_bytes ? THREADS
                                                                              : THREADS / 2;
}

typedef enum scan_kernel { CHUNK_TOTALS, RANGE_TOTALS, RANGE_CARRIES, SCAN } scan_kernel;

/* A launch over p: all rows, or a part of rows that have n chunks, starting at chunk `first`. */
typedef struct scan_part {
    const program *p;
    int64_t first, n;
    uint64_t carries; /* offset in scratch */
} scan_part;

/* load(ARGS, row, col): an element of the input as a lane. */
static void write_load(emit_writer *w, const operand *o, int64_t inner)
{
    char element[96];
    const int in = writer_operand(w, o, false);
    write_place(w, "place", &o->v, inner);
    lane_at(w, o, in, "place(g, row, col)", element, sizeof element);
    text_add(&w->body,
             "static __device__ %s load(PARAMS, idx row, idx col)\n{\n    return %s;\n}\n\n",
             emit_lane_type(o->dtype), element);
}

static void fill_output(emit_writer *w, const program *p)
{
    const operand *o = &p->out;
    write_place(w, "target", &o->v, p->inner);
    hole_pointer(w, "OUT", writer_operand(w, o, true));
    if (dtype_is_half(o->dtype)) {
        w->uses |= USES_HALF;
        hole_text(w, "OUTPUT_OF", "%s_of_f32", ig_dtype_name(o->dtype));
    } else
        hole_text(w, "OUTPUT_OF", "(%s)", emit_storage_type(o->dtype));
}

static ig_status emit_kernel(const scan_part *s, scan_kernel kernel, const emit_target *t,
                             emitted *out)
{
    static const char *const entries[] = {"chunk_totals", "range_totals", "range_carries", "scan"};
    static const char *const holes[] = {"CHUNK_TOTALS", "RANGE_TOTALS", "RANGE_CARRIES", "SCAN"};
    const program *p = s->p;
    const char *type = emit_lane_type(p->dtype);
    const int64_t chunks = ceil_div(p->inner, CUT_CHUNK), ranges = ceil_div(s->n, CUT_RANGE_CHUNKS);
    const int threads = threads_of(p, t);
    const uint64_t lane = ig_dtype_bytes(dtype_lane(p->dtype)), first = (uint64_t)s->first;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    if (kernel == CHUNK_TOTALS || kernel == SCAN)
        write_load(&w, &p->in[0], p->inner);
    if (kernel == SCAN)
        fill_output(&w, p);
    hole_int(&w, "SERIAL", t->cpu);
    hole_int(&w, "CARRIED", kernel == SCAN && s->n > 1);
    hole_int(&w, "LATER", s->first > 0);
    hole_text(&w, "LANE", "%s", type);
    hole_int(&w, "THREADS", threads);
    hole_int(&w, "RANGE_THREADS", THREADS);
    hole_int(&w, "BLOCK", SCAN_BLOCK);
    hole_int(&w, "CHUNK", CUT_CHUNK);
    hole_int(&w, "RANGE", CUT_RANGE_CHUNKS);
    hole_size(&w, "ROWS", p->outer);
    hole_size(&w, "INNER", p->inner);
    hole_size(&w, "CHUNKS", chunks);
    hole_size(&w, "RANGES", ranges);
    if (s->n > 1) {
        hole_pointer(&w, "TOTAL", writer_scratch(&w, type, first * lane));
        hole_pointer(&w, "CARRY",
                     writer_scratch(&w, type, s->carries + first / CUT_RANGE_CHUNKS * lane));
    }
    writer_template(&w, "scan.cu", holes[kernel]);
    if (kernel == RANGE_CARRIES)
        return writer_launch(&w, entries[kernel], p->outer, t->cpu ? 1 : THREADS);
    if (kernel == RANGE_TOTALS)
        return writer_launch(&w, entries[kernel], ceil_div(p->outer * ranges, t->cpu ? 1 : RUNS),
                             t->cpu ? 1 : THREADS);
    return writer_launch(&w, entries[kernel],
                         ceil_div(p->outer * chunks, t->cpu ? 1 : threads / CHUNK_THREADS),
                         t->cpu ? 1 : threads);
}

/* The chunks [first, end) of a row. */
static program part_of(const program *p, int64_t first, int64_t end)
{
    program q = *p;
    view *const views[2] = {&q.in[0].v, &q.out.v};
    q.inner = (end * CUT_CHUNK < p->inner ? end * CUT_CHUNK : p->inner) - first * CUT_CHUNK;
    for (int i = 0; i < 2; i++) {
        const int axis = views[i]->ndim - 1;
        views[i]->offset += first * CUT_CHUNK * views[i]->stride[axis];
        views[i]->shape[axis] = q.inner;
    }
    return q;
}

/* The number of chunks that a launch can reach: whole ranges, or all chunks; 0: too few. */
static int64_t part_chunks(const program *p, const emit_target *t)
{
    int64_t n = ceil_div(p->inner, CUT_CHUNK);
    bool fits =
        !emit_has_large(p, 1, t) || (emit_reaches(t, &p->in[0]) && emit_reaches(t, &p->out));
    if (!fits && (p->outer != 1 || t->cpu || p->in[0].v.shape[p->in[0].v.ndim - 1] != p->inner ||
                  p->out.v.shape[p->out.v.ndim - 1] != p->inner))
        return 0;
    while (!fits && n > 0) {
        n = n / 2 / CUT_RANGE_CHUNKS * CUT_RANGE_CHUNKS;
        if (n) {
            const program q = part_of(p, 0, n);
            fits = emit_reaches(t, &q.in[0]) && emit_reaches(t, &q.out);
        }
    }
    return n;
}

ig_status emit_scan(const program *p, const emit_target *t, emitted *out)
{
    const int64_t n = ceil_div(p->inner, CUT_CHUNK);
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    const int64_t part = part_chunks(p, t);
    if (!part)
        return emit_too_large(t);
    const uint64_t carries = align_up((uint64_t)(p->outer * n) * 8);
    if (n > 1)
        out->scratch_bytes =
            carries + align_up((uint64_t)(p->outer * ceil_div(n, CUT_RANGE_CHUNKS)) * 8);
    for (int64_t first = 0; first < n && n > 1; first += part) {
        const program q = part < n ? part_of(p, first, first + part) : *p;
        TRY(emit_kernel(&(scan_part){&q, first, n, carries}, CHUNK_TOTALS, t, out));
    }
    if (n > 1) {
        TRY(emit_kernel(&(scan_part){p, 0, n, carries}, RANGE_TOTALS, t, out));
        TRY(emit_kernel(&(scan_part){p, 0, n, carries}, RANGE_CARRIES, t, out));
    }
    for (int64_t first = 0; first < n; first += part) {
        const program q = part < n ? part_of(p, first, first + part) : *p;
        TRY(emit_kernel(&(scan_part){&q, first, n, carries}, SCAN, t, out));
    }
    return IG_OK;
}
