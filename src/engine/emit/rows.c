/* Kernels that work row by row: reductions along rows, and chains of reductions and maps. A team of threads takes one
 * row through all programs: a warp if rows have at most FOLD_CHUNK values, else a block. Temporaries that only the
 * chain uses are in shared memory or registers. The kernel is kernels/rows.cu. */
#include "engine/emit/rows.h"

#include "engine/emit/held.h"

#include "base/error.h"
#include "base/memory.h"

/* Held registers: up to this many, a thread needs at most 80 registers in all, or 64. So three or four blocks run at a
 * time. */
enum { HELD_FEW = 40, HELD_FEWER = 24 };
/* Inputs of a chain with held values that are loaded before stores, such as the scale and the offset of a norm. */
enum { SMALL_BYTES = 1 << 16 };

typedef struct rows_kernel {
    const program *p;
    int n;
    int64_t rows;
    int warps; /* of a block, each with its own row; 0: a block has one row */
    const emit_locals *locals;
    const held_values *held; /* NULL: nothing */
} rows_kernel;

static bool holds(const rows_kernel *r, int k)
{
    return r->held && r->p[k].pre.size / r->rows == r->held->points;
}

/* ---- the holes of kernels/rows.cu ---- */

/* Holes of held values in rows_program.cuh. The last values of a thread may lie past the end of the row. */
static void fill_held(emit_writer *w, const rows_kernel *r, int k)
{
    const held_values *h = r->held;
    text_add(&w->body, "#define HELD%d %d\n", k, holds(r, k));
    text_add(&w->body, "#define HELD_PARAMS%d ", k);
    for (int i = 0; holds(r, k) && i < h->n; i++)
        text_add(&w->body, ", %s *held%d", emit_lane_type(h->at[i].dtype), i);
    text_add(&w->body, "\n#define HELD_ARGS%d ", k);
    if (holds(r, k)) {
        held_args(w, h);
        text_add(&w->body, "\n#define EACH%d %d\n#define WHOLE%d %d", k, h->each, k,
                 h->points == (int64_t)h->each * FOLD_WIDTH ? h->each : h->each - HELD_STEP);
    }
    text_add(&w->body, "\n");
}

/* Calls of step<k> of all programs. */
static void fill_programs(emit_writer *w, const rows_kernel *r)
{
    const char *args = ROWS_ARGS(r->locals);
    text_add(&w->body, "#define PROGRAMS ");
    for (int k = 0; k < r->n; k++) {
        text_add(&w->body, k && !w->target->cpu ? "SYNC; " : "");
        text_add(&w->body, r->warps ? "step%d(ARGS, %srow, lane, here" : "step%d(ARGS, %srow", k,
                 args);
        for (int i = 0; holds(r, k) && i < r->held->n; i++)
            text_add(&w->body, ", held%d", i);
        if (!w->target->cpu)
            rows_pass_shared(w, &r->p[k], k, !r->warps);
        text_add(&w->body, "); ");
    }
    text_add(&w->body, "\n");
}

static void write_kernel(emit_writer *w, const rows_kernel *r)
{
    const bool cpu = w->target->cpu, by_warps = r->warps > 0;
    const int held_most = r->held ? held_registers(r->held, r->p, r->n) : HELD_FEW + 1;
    rows_fill_common(w, r->locals);
    hole_int(w, "SERIAL", cpu);
    hole_int(w, "BY_WARPS", by_warps);
    hole_int(w, "CHUNKS_MOST", ROWS_CHAIN_CHUNKS);
    for (int k = 0; k < r->n; k++) {
        rows_functions(w, &r->p[k], k, r->rows, r->locals, holds(r, k) ? r->held : NULL,
                       cpu        ? ROWS_NO_SHARED
                       : by_warps ? ROWS_LANES_SHARED
                                  : ROWS_CHUNK_SHARED);
        fill_held(w, r, k);
        if (!cpu && !by_warps && r->p[k].kind == PROGRAM_REDUCE)
            text_add(&w->body, "#include \"rows_chunks.cuh\"\n");
        text_add(&w->body, "#include \"rows_program.cuh\"\n");
    }
    text_add(&w->body, "#define SHARED ");
    for (int k = 0; k < r->n && !cpu; k++)
        rows_declare_shared(w, &r->p[k], k, by_warps ? 0 : ROWS_CHUNKS);
    text_add(&w->body, "\n#define HELD_VALUES ");
    if (r->held)
        held_declare(w, r->held);
    text_add(&w->body, "\n#define BOUNDS ");
    if (held_most <= HELD_FEW)
        text_add(&w->body, "__launch_bounds__(%d, %d)", r->warps * FOLD_WIDTH,
                 held_most <= HELD_FEWER ? 4 : 3);
    text_add(&w->body, "\n");
    fill_programs(w, r);
    hole_text(w, "SYNC", "%s",
              by_warps && w->target->subgroup == FOLD_WIDTH ? "__syncwarp()" : "__syncthreads()");
    hole_int(w, "LOCALS", r->locals->n > 0);
    hole_int(w, "WARPS", r->warps);
    hole_size(w, "ROWS", r->rows);
    writer_template(w, "rows.cu", NULL);
}

/* ---- which temporaries lie in shared memory ---- */

static int64_t longest_row(const program *p, int n, int64_t rows)
{
    int64_t most = 0;
    for (int k = 0; k < n; k++)
        most = p[k].pre.size / rows > most ? p[k].pre.size / rows : most;
    return most;
}

/* Lays out the slots that the chain keeps by rows; returns the bytes of dynamic shared memory, or 0 if nothing
 * was laid out. */
static ig_status find_locals(const program *p, int n, const emit_target *t, int warps,
                             const held_values *held, emit_locals *locals, size_t *bytes)
{
    *locals = (emit_locals){0};
    *bytes = 0;
    if (!p->by_rows || p->n_local == 0)
        return IG_OK;
    locals->at = memory_new((size_t)p->n_local * sizeof *locals->at);
    if (!locals->at)
        return IG_ERR_MEMORY;
    for (int i = 0; i < p->n_local; i++) {
        const row_slot *l = &p->local[i];
        if (held && held_has(held, l->slot))
            continue;
        const size_t size = (size_t)l->row_bytes * (size_t)warps;
        locals->at[locals->n++] =
            (emit_local){.slot = l->slot, .own = l->row_bytes, .offset = (int64_t)*bytes};
        *bytes += (size + 15) & ~(size_t)15;
    }
    const int64_t folds = t->cpu ? 0 : rows_shared_bytes(p, n, t, ROWS_CHUNKS);
    if ((int64_t)*bytes + folds > (int64_t)t->shared_bytes)
        FAIL(IG_ERR_UNSUPPORTED,
             "the rows of a chain need %zu bytes of shared memory; the device has %llu",
             *bytes + (size_t)folds, (unsigned long long)t->shared_bytes);
    return IG_OK;
}

ig_status emit_rows(const program *p, int n, const emit_target *t, emitted *out)
{
    const int64_t rows = n > 1 ? p->rows : p->outer, most = longest_row(p, n, rows);
    const bool is_short = most <= FOLD_CHUNK && !t->cpu;
    int warps = is_short ? ROWS_WARPS : 1;
    held_values values;
    const held_values *held = NULL;
    emit_locals locals;
    emit_writer w;
    size_t shared;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, n);
    if (is_short && n > 1) {
        held_find(&values, p, n, rows);
        held = values.n ? &values : NULL;
        w.ahead = held ? SMALL_BYTES : 0;
    }
    /* Few rows are spread over all processors. */
    while (held && warps > 1 && rows < (int64_t)warps * t->processors)
        warps /= 2;
    ig_status status = find_locals(p, n, t, warps, held, &locals, &shared);
    if (status == IG_OK && held && program_checks())
        status = held_check(held, p, n, rows);
    if (status == IG_OK) {
        rows_set_lengths(p, n, &locals);
        write_kernel(&w, &(rows_kernel){p, n, rows, is_short ? warps : 0, &locals, held});
        const uint32_t grid[3] = {rows_grid(ceil_div(rows, warps), t), 1, 1};
        const uint32_t threads = is_short ? (uint32_t)(warps * FOLD_WIDTH) : ROWS_THREADS;
        const uint32_t block[3] = {t->cpu ? 1 : threads, 1, 1};
        status = writer_finish(&w, "rows", grid, block, shared);
    }
    memory_free(locals.at);
    writer_drop(&w);
    return status;
}
