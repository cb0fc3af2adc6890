/* Chains that begin and end with a contraction, such as attention: a block takes a tile of rows through all
 * programs. The first contraction fills rows of scores, maps and reductions work on them warp by warp, and the
 * last contraction multiplies them. Each program computes what it computes alone, in the same order.
 *
 * Values that exist by rows lie in shared memory. If they do not fit, they lie in scratch memory, for the
 * rows in progress only: then there are at most SCRATCH_BLOCKS blocks, which take tiles in turn. */
#include "engine/emit/contract_attend.h"

#include "base/error.h"
#include "base/memory.h"

enum {
    TILE_ROWS = 16,   /* on a CPU, where a block is one thread, SERIAL_ROWS */
    MATRIX_ROWS = 32, /* of a tile, where warps multiply matrices */
    WARPS = 8,
    THREADS = 32 * WARPS,
    CHUNKS = 32, /* of a row at most: see ROW_MOST of graph/chain.c */
    SCRATCH_BLOCKS = 256,
    RESERVE = 8192 /* bytes of shared memory for folds */
};

/* ---- where values lie ---- */

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

/* True if slot `to` may lie where slot `from` lies: one program reads `from` for the last time and writes `to`
 * for the first time, point by point. */
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

/* Lays out the slots that exist by rows; returns the bytes of a tile of so many rows, or -1 without memory. */
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

/* ---- the programs between ---- */

/* Rows of the tile, one for each warp at a time. */
static void write_between(emit_writer *w, const program *p, int k, int64_t rows, int tile,
                          const char *args)
{
    const int inner = writer_number(w, p->pre.size / rows);
    const char *type = emit_lane_type(p->dtype);
    text_add(&w->body,
             "    for (int first = 0; first < %d; first += %d) {\n"
             "        const int team = first + warp;\n"
             "        const bool here = m0_first + team < rows_end;\n"
             "        const idx row = batch * rows_end + m0_first + team;\n",
             tile, WARPS);
    if (p->kind == PROGRAM_MAP) {
        text_add(&w->body,
                 "        if (here)\n            for (idx col = lane; col < g.n%d; col += 32)\n"
                 "                value%d(ARGS, %srow, col);\n    }\n    __syncthreads();\n",
                 inner, k, args);
        return;
    }
    text_add(&w->body,
             "        const int count = (int)((g.n%d + %d) / %d);\n"
             "        for (int c = 0; c < count; c++) {\n"
             "            const idx begin = (idx)c * %d;\n"
             "            const idx end = begin + %d < g.n%d ? begin + %d : g.n%d;\n"
             "            %s a%d = identity%d();\n"
             "            if (here)\n"
             "                for (idx col = begin + lane; col < end; col += 32)\n"
             "                    a%d = join%d(a%d, value%d(ARGS, %srow, col));\n"
             "            a%d = ",
             inner, FOLD_CHUNK - 1, FOLD_CHUNK, FOLD_CHUNK, FOLD_CHUNK, inner, FOLD_CHUNK, inner,
             type, k, k, k, k, k, k, args, k);
    rows_call_lanes(w, k);
    text_add(
        &w->body,
        ";\n            if (lane == 0)\n                chunk%d[warp * %d + c] = a%d;\n        }\n"
        "        if (lane == 0 && here) {\n"
        "            %s *chunk = chunk%d + warp * %d;\n"
        "            for (int s = 1; s < count; s *= 2)\n"
        "                for (int c = 0; c + s < count; c += 2 * s)\n"
        "                    chunk[c] = join%d(chunk[c], chunk[c + s]);\n"
        "            result%d(ARGS, %srow, chunk[0]);\n        }\n    }\n"
        "    __syncthreads();\n",
        k, CHUNKS, k, type, k, CHUNKS, k, k, args);
}

/* All programs between, row by row. */
static void write_between_serial(emit_writer *w, const program *p, int n, const char *args)
{
    text_add(&w->body,
             "    for (int team = 0; team < %d && m0_first + team < rows_end; team++) {\n"
             "    const idx row = batch * rows_end + m0_first + team;\n",
             SERIAL_ROWS);
    for (int k = 1; k < n - 1; k++)
        rows_serial(w, &p[k], k, p->rows, args);
    text_add(&w->body, "    }\n");
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

/* All tiles of columns. */
static void write_contraction(emit_writer *w, const contraction *c)
{
    text_add(&w->body, "    for (idx n%d_first = 0; n%d_first < g.n%d; n%d_first += %d) {\n",
             c->number, c->number, writer_number(w, c->p->extent[2]), c->number, c->side[1].tile);
    if (c->number)
        text_add(&w->body, "    const idx m%d_first = m0_first;\n", c->number);
    contraction_tile(w, c);
    /* Fragments leave through the memory of the next panels. */
    text_add(&w->body,
             c->shape.matrices ? "    __syncthreads();\n    }\n" : "    }\n    __syncthreads();\n");
}

static void write_kernel(emit_writer *w, const program *p, int n, const contraction *first,
                         const contraction *last, bool scratch, int64_t bytes)
{
    const int64_t a = contraction_panel_bytes(w, first), b = contraction_panel_bytes(w, last);
    const bool cpu = w->target->cpu;
    const char *args = first->locals->n ? ROWS_LOCAL_ARGS : "";
    const int tile = first->side[0].tile;
    const int64_t tiles = ceil_div(p->extent[1], tile);
    const int tiles_m = writer_number(w, tiles), jobs = writer_number(w, p->extent[0] * tiles);
    text_add(&w->body,
             "extern \"C\" __global__ void contract_chain(PARAMS)\n{\n"
             "    __shared__ uint4 panels[%lld];\n",
             (long long)((a > b ? a : b) / 16));
    if (scratch)
        text_add(&w->body, "    unsigned char *local = p%d + (idx)blockIdx.x * g.n%d;\n",
                 writer_scratch(w, "unsigned char", 0), writer_number(w, bytes));
    else
        text_add(&w->body, "    extern __shared__ uint4 shared[];\n"
                           "    unsigned char *local = (unsigned char *)shared;\n");
    for (int k = 1; k < n - 1 && !cpu; k++)
        if (p[k].kind == PROGRAM_REDUCE)
            rows_declare_shared(w, &p[k], k, WARPS * CHUNKS);
    if (!cpu)
        text_add(&w->body, "    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;\n");
    text_add(&w->body,
             "    const idx rows_end = g.n%d;\n"
             "    for (idx job = blockIdx.x; job < g.n%d; job += gridDim.x) {\n"
             "    const idx batch = job / g.n%d, m0_first = job %% g.n%d * %d;\n",
             writer_number(w, p->extent[1]), jobs, tiles_m, tiles_m, tile);
    write_contraction(w, first);
    if (cpu)
        write_between_serial(w, p, n, args);
    for (int k = 1; k < n - 1 && !cpu; k++)
        write_between(w, &p[k], k, p->rows, tile, args);
    write_contraction(w, last);
    text_add(&w->body, "    }\n}\n");
}

/* Shared memory that folds need, at most: chunk<k> of each reduction. */
static int64_t fold_bytes(const program *p, int n, bool matrices)
{
    int64_t bytes = 0;
    for (int k = 0; k < n; k++)
        if (p[k].kind == PROGRAM_REDUCE)
            bytes += WARPS * CHUNKS * (int64_t)ig_dtype_bytes(dtype_lane(p[k].dtype));
    return matrices ? bytes : RESERVE;
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
    const int64_t folds = fold_bytes(p, n, matrices), room = (int64_t)t->shared_bytes - folds;
    contraction_plan(&w, &first, room);
    contraction_plan(&w, &last, room);
    const int64_t a = contraction_panel_bytes(&w, &first), b = contraction_panel_bytes(&w, &last);
    const int64_t taken = (a > b ? a : b) + folds;
    const bool scratch = taken + bytes > (int64_t)t->shared_bytes;
    contraction_functions(&w, &first);
    contraction_functions(&w, &last);
    for (int k = 1; k < n - 1; k++)
        rows_functions(&w, &p[k], k, p->rows, locals, NULL);
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
