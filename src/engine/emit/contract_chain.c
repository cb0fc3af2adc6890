/* Chains that begin and end with a contraction, such as attention: a block takes a tile of rows through all
 * programs. The first contraction fills rows of scores, maps and reductions work on them warp by warp, and the
 * last contraction multiplies them: kernels/contract_chain.cu. Each program computes the same values as alone, in the
 * same order.
 *
 * Values that exist by rows are in shared memory. If they do not fit, they are in scratch memory, only for the rows in
 * progress: then there are at most SCRATCH_BLOCKS blocks, each of which takes several tiles. */
#include "engine/emit/contract.h"

#include "base/error.h"
#include "base/memory.h"

enum {
    TILE_ROWS = 16,   /* on a CPU, where a block is one thread: SERIAL_ROWS */
    MATRIX_ROWS = 32, /* of a tile, if warps multiply matrices */
    WARPS = 8,
    THREADS = 32 * WARPS,
    CHUNKS = 32, /* of a row, at most: see ROW_MOST of graph/chain.c */
    SCRATCH_BLOCKS = 256
};

/* ---- the layout of values ---- */

static bool tape_has(const tape *t, tape_code code, int slot)
{
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == code && t->operand[t->inst[k].operand].slot == slot)
            return true;
    return false;
}

/* True if the tape reads slot `from` only where it then writes slot `to`. */
static bool overwrites(const tape *t, int from, int to)
{
    const operand *store = NULL;
    for (int k = t->n_inst - 1; k >= 0; k--) {
        const tape_inst *inst = &t->inst[k];
        const operand *o = inst->operand >= 0 ? &t->operand[inst->operand] : NULL;
        if (!o || (o->slot != from && o->slot != to))
            continue;
        if (o->slot == to && (inst->code != TAPE_STORE || store))
            return false;
        if (o->slot == to)
            store = o;
        else if (inst->code != TAPE_LOAD || !store || !view_equal(&o->v, &store->v) ||
                 ig_dtype_bytes(o->dtype) != ig_dtype_bytes(store->dtype))
            return false;
    }
    return store != NULL;
}

/* True if slot `to` may overwrite slot `from`: one program reads `from` for the last time and writes `to` for the first
 * time, point by point. */
static bool may_overwrite(const program *p, int n, int from, int to)
{
    int last = -1, first = n;
    for (int k = 0; k < n; k++) {
        if (program_touches(&p[k], from))
            last = k;
        if (program_touches(&p[k], to) && first == n)
            first = k;
    }
    return last == first && first < n && !program_core_touches(&p[last], from) &&
           !tape_touches(&p[last].post, from) && !tape_touches(&p[last].post, to) &&
           tape_has(&p[last].pre, TAPE_STORE, to) && overwrites(&p[last].pre, from, to);
}

/* Lays out the slots that exist by rows; returns the bytes of a tile of `rows` rows, or -1 if out of memory. */
static int64_t lay_out(const program *p, int n, int rows, emit_locals *locals)
{
    int64_t bytes = 0;
    *locals = (emit_locals){0};
    locals->at = memory_new((size_t)(p->n_local + 1) * sizeof *locals->at);
    if (!locals->at)
        return -1;
    for (int i = 0; i < p->n_local; i++) {
        const row_slot *l = &p->local[i];
        int64_t at = -1;
        for (int k = 0; k < i && at < 0; k++)
            if (p->local[k].row_bytes == l->row_bytes &&
                may_overwrite(p, n, p->local[k].slot, l->slot))
                at = locals->at[k].offset;
        if (at < 0) {
            at = bytes;
            bytes += (l->row_bytes * rows + 15) / 16 * 16;
        }
        locals->at[locals->n++] = (emit_local){.slot = l->slot, .own = l->row_bytes, .offset = at};
    }
    rows_set_lengths(p, n, locals);
    return bytes;
}

/* ---- the programs between the contractions ---- */

/* The calls of all of them, and the shared memory that they need. */
static void fill_between(emit_writer *w, const program *p, int n, const char *args)
{
    text_add(&w->body, "#define SHARED ");
    for (int k = 1; k < n - 1; k++)
        rows_declare_shared(w, &p[k], k, WARPS * CHUNKS);
    text_add(&w->body, "\n#define BETWEEN ");
    for (int k = 1; k < n - 1; k++) {
        text_add(&w->body, "between%d(ARGS, %sbatch, m0_first, rows_end", k, args);
        rows_pass_shared(w, &p[k], k, true);
        text_add(&w->body, "); ");
    }
    text_add(&w->body, "\n");
}

/* On a CPU: row by row. */
static void fill_between_serial(emit_writer *w, int n, const char *args)
{
    text_add(&w->body, "#define SHARED\n#define BETWEEN "
                       "for (int local_row = 0; local_row < m0_TILE && m0_first + local_row < "
                       "rows_end; local_row++) { ");
    for (int k = 1; k < n - 1; k++)
        text_add(&w->body, "step%d(ARGS, %sbatch * rows_end + m0_first + local_row); ", k, args);
    text_add(&w->body, "}\n");
}

/* The functions of the programs, and their calls. */
static void write_between(emit_writer *w, const program *p, int n, const emit_locals *locals)
{
    const bool cpu = w->target->cpu;
    rows_fill_common(w, locals);
    hole_int(w, "SERIAL", cpu);
    hole_int(w, "CHUNKS_MOST", ROWS_CHAIN_CHUNKS);
    hole_int(w, "WARPS", WARPS);
    hole_int(w, "CHUNKS", CHUNKS);
    hole_text(w, "TILE_PARAMS", "%s", locals->n ? "unsigned char *local, " : "");
    for (int k = 1; k < n - 1; k++) {
        rows_functions(w, &p[k], k, p->rows, locals, NULL,
                       cpu ? ROWS_NO_SHARED : ROWS_CHUNK_SHARED);
        text_add(&w->body, "#define HELD_ARGS%d\n#include \"%s\"\n", k,
                 cpu ? "rows_program.cuh" : "contract_between.cuh");
    }
    if (cpu)
        fill_between_serial(w, n, ROWS_ARGS(locals));
    else
        fill_between(w, p, n, locals->n ? "local, " : "");
}

/* ---- the contractions ---- */

static contract_shape shape_of(const program *p, const emit_target *t, bool matrices)
{
    const bool large = ig_dtype_bytes(contraction_lane(p)) > 4;
    const int64_t n = p->extent[2];
    contract_shape s = {.rows = 4,
                        .cols = n >= 192 && !large ? 4
                                : n >= 96          ? 2
                                                   : 1,
                        .vector = large ? 2 : 4,
                        .warps_n = WARPS,
                        .threads = THREADS,
                        .matrices = matrices};
    if (matrices) {
        s.warps_n = WARPS * 16 / MATRIX_ROWS;
        s.cols = 2;
    }
    return t->cpu ? SERIAL_SHAPE : s;
}

static contraction contraction_of(const program *p, int number, int64_t rows, contract_shape shape,
                                  const emit_locals *locals)
{
    contraction c = {
        .p = p, .number = number, .shape = shape, .locals = locals, .chain_rows = rows};
    for (int i = 0; i < locals->n; i++)
        if (locals->at[i].slot == p->in[0].slot)
            c.from = &locals->at[i];
    return c;
}

static void write_kernel(emit_writer *w, const program *p, int n, const contraction *first,
                         const contraction *last, bool scratch, int64_t bytes)
{
    const int64_t a = contraction_panel_bytes(w, first), b = contraction_panel_bytes(w, last);
    const int64_t tiles = ceil_div(p->extent[1], first->side[0].tile);
    contraction_fill(w, first);
    contraction_fill(w, last);
    write_between(w, p, n, first->locals);
    hole_int(w, "PANELS_BYTES", a > b ? a : b);
    hole_int(w, "SCRATCH", scratch);
    if (scratch) {
        hole_pointer(w, "SCRATCH_FROM", writer_scratch(w, "unsigned char", 0));
        hole_size(w, "SCRATCH_BYTES", bytes);
    }
    hole_size(w, "TILES_M", tiles);
    hole_size(w, "JOBS", p->extent[0] * tiles);
    writer_template(w, "contract_chain.cu", NULL);
}

static ig_status emit_with(const program *p, int n, const emit_target *t, bool matrices,
                           const emit_locals *locals, int64_t bytes, emitted *out)
{
    const program *end = &p[n - 1];
    contraction first = contraction_of(p, 0, p->rows, shape_of(p, t, matrices), locals);
    contraction last = contraction_of(end, 1, p->rows, shape_of(end, t, matrices), locals);
    last.program = n - 1;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, n);
    const int64_t folds = t->cpu ? 0 : rows_shared_bytes(p, n, t, WARPS * CHUNKS);
    const int64_t room = (int64_t)t->shared_bytes - folds;
    contraction_plan(&w, &first, room);
    contraction_plan(&w, &last, room);
    const int64_t a = contraction_panel_bytes(&w, &first), b = contraction_panel_bytes(&w, &last);
    const int64_t taken = (a > b ? a : b) + folds;
    const bool scratch = taken + bytes > (int64_t)t->shared_bytes;
    write_kernel(&w, p, n, &first, &last, scratch, bytes);
    const int64_t jobs = p->extent[0] * ceil_div(p->extent[1], first.side[0].tile);
    const int64_t blocks = scratch && jobs > SCRATCH_BLOCKS ? SCRATCH_BLOCKS : jobs;
    if (scratch)
        out->scratch_bytes = (uint64_t)(blocks * bytes);
    const uint32_t grid[3] = {(uint32_t)blocks, 1, 1},
                   block[3] = {(uint32_t)first.shape.threads, 1, 1};
    return writer_finish(&w, "contract_chain", grid, block, scratch ? 0 : (size_t)bytes);
}

ig_status emit_contract_chain(const program *p, int n, const emit_target *t, emitted *out)
{
    emit_locals locals;
    bool done;
    const bool matrices =
        contraction_uses_matrices(&p[0], t) && contraction_uses_matrices(&p[n - 1], t);
    if (!matrices) {
        TRY(emit_contract_attend(p, n, t, out, &done));
        if (done)
            return IG_OK;
    }
    const int rows = t->cpu ? SERIAL_ROWS : matrices ? MATRIX_ROWS : TILE_ROWS;
    const int64_t bytes = lay_out(p, n, rows, &locals);
    ig_status status = bytes < 0 ? IG_ERR_MEMORY : IG_OK;
    if (status == IG_OK)
        status = emit_with(p, n, t, matrices, &locals, bytes, out);
    memory_free(locals.at);
    return status;
}
