/* Attention by large tiles: kernels/contract_attend.cu. This file decides which chains and devices can use it, and
 * fills its holes. */
#include "engine/emit/contract.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/ops.h"

enum {
    KEYS = 64, /* of a tile; also columns of the result at most */
    THREADS = 128,
    ROWS = 64,        /* of a block; a thread has 4 of them */
    LEVELS = 6,       /* of pairs of chunks: see ROW_MOST of graph/chain.c */
    BLOCKS = 3,       /* blocks that a processor runs at once */
    POINTS_MOST = 256 /* points of k */
};

typedef struct attend_kernel {
    const program *p;
    contraction first, last;
    int64_t shared_bytes;   /* of a block */
    const emit_local *base; /* with one pass: the value that exponentials are relative to; else
                             * NULL */
} attend_kernel;

/* ---- which chains ---- */

/* The instruction of the only store on the tape, or NULL. */
static const tape_inst *only_store(const tape *t)
{
    const tape_inst *store = NULL;
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_STORE) {
            if (store)
                return NULL;
            store = &t->inst[k];
        }
    return store;
}

/* True if the tape accesses the slot only at the current point, and its values are f32 and contiguous, `size` in
 * all. */
static bool is_pointwise(const tape *t, int slot, int64_t size)
{
    for (int i = 0; i < t->n_operand; i++) {
        const operand *o = &t->operand[i];
        if (o->slot == slot &&
            (o->dtype != IG_F32 || t->size != size || !view_is_contiguous(&o->v)))
            return false;
    }
    for (int k = 0; k < t->n_inst; k++) {
        const tape_inst *inst = &t->inst[k];
        if (inst->operand >= 0 && t->operand[inst->operand].slot == slot &&
            inst->code != TAPE_LOAD && inst->code != TAPE_STORE)
            return false;
    }
    return true;
}

static bool is_local(const program *p, int slot)
{
    for (int i = 0; i < p->n_local; i++)
        if (p->local[i].slot == slot)
            return true;
    return false;
}

/* The scores and the exponentials, if the chain has the form above. */
static bool find_values(const program *p, int n, held_values *h)
{
    if (n != 4 || p[1].kind != PROGRAM_REDUCE || p[2].kind != PROGRAM_REDUCE ||
        p[1].fold != OP_max || p[1].dtype != IG_F32 || p[2].dtype != IG_F32 ||
        contraction_lane(&p[0]) != IG_F32 || contraction_lane(&p[3]) != IG_F32)
        return false;
    const tape_inst *score = only_store(&p[0].post), *e = only_store(&p[2].pre);
    if (!score || !e || only_store(&p[1].pre) || e->a != p[2].pre.result)
        return false;
    const operand *s = &p[0].post.operand[score->operand], *x = &p[2].pre.operand[e->operand];
    const int64_t size = p->extent[0] * p->extent[1] * p->extent[2];
    const operand *in = &p[3].in[0];
    const tape *const tapes[] = {&p[0].post, &p[1].pre, &p[2].pre};
    for (int i = 0; i < 3; i++)
        if (!is_pointwise(tapes[i], s->slot, size) || !is_pointwise(tapes[i], x->slot, size))
            return false;
    const tape *const others[] = {&p[1].post, &p[2].post, &p[3].post};
    for (int i = 0; i < 3; i++)
        if (tape_touches(others[i], s->slot) || tape_touches(others[i], x->slot))
            return false;
    *h = (held_values){.at = {{.slot = s->slot, .dtype = IG_F32, .kind = HELD_LOCAL},
                              {.slot = x->slot, .dtype = IG_F32, .kind = HELD_LOCAL}},
                       .n = 2};
    return is_local(p, s->slot) && is_local(p, x->slot) && in->slot == x->slot &&
           in->dtype == IG_F32 && view_is_contiguous(&in->v) && view_size(&in->v) == size &&
           p[3].in[1].slot != x->slot;
}

/* The instruction that writes a register. */
static const tape_inst *writer_of(const tape *t, int reg)
{
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code != TAPE_STORE && t->inst[k].dst == reg)
            return &t->inst[k];
    return NULL;
}

static const tape_inst *map_of(const tape *t, int reg, op_id op)
{
    const tape_inst *inst = writer_of(t, reg);
    return inst && inst->code == TAPE_MAP && inst->op == op && inst->dtype == IG_F32 ? inst : NULL;
}

/* If e = exp(score - base), and the fold is a sum, sums relative to one base can be rescaled to another: then one pass
 * is enough. Returns the base, or NULL. */
static const emit_local *find_base(const program *p, const held_values *h,
                                   const emit_locals *locals)
{
    const tape *t = &p[2].pre;
    const tape_inst *e = map_of(t, t->result, OP_exp);
    const tape_inst *minus = e ? map_of(t, e->a, OP_subtract) : NULL;
    const tape_inst *score = minus ? writer_of(t, minus->a) : NULL;
    const tape_inst *base = minus ? writer_of(t, minus->b) : NULL;
    if (p[2].fold != OP_sum || t->n_inst != 5 || !score || !base || score->code != TAPE_LOAD ||
        base->code != TAPE_LOAD || t->operand[score->operand].slot != h->at[0].slot ||
        t->operand[base->operand].dtype != IG_F32)
        return NULL;
    for (int i = 0; i < locals->n; i++)
        if (locals->at[i].slot == t->operand[base->operand].slot && locals->at[i].own == 1)
            return &locals->at[i];
    return NULL;
}

/* Panels of points of k. At least as many as the panels of a tile's keys, so that each step of one product loads a
 * panel of the other. */
static int steps_of(const program *p)
{
    const int64_t steps = ceil_div(p->extent[3], TILE_K), least = KEYS / TILE_K;
    return (int)(steps > least ? steps : least);
}

/* Bytes of shared memory of a block. In floats: queries, keys, exponentials, values, pairs. */
static int64_t bytes_of(const program *p, int64_t row_bytes)
{
    const int64_t points = (int64_t)steps_of(p) * TILE_K, rows = ROWS;
    const int64_t floats =
        points * (rows + GROUP) + 2 * points * (KEYS + GROUP) + KEYS * rows + LEVELS * rows;
    return 4 * floats + row_bytes * rows + (int64_t)16 * p->n_local;
}

/* Bytes of a row of the values that stay in shared memory; -1 if one of them has several elements per row. */
static int64_t row_bytes_of(const program *p, const held_values *h)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->n_local; i++)
        if (!held_has(h, p->local[i].slot)) {
            if (p->local[i].row_bytes > 8)
                return -1;
            bytes += p->local[i].row_bytes;
        }
    return bytes;
}

/* The bytes of shared memory of a block, or 0 if the device cannot run it or there are too few rows to keep it busy. */
static int64_t shared_of(const program *p, const emit_target *t, const held_values *h)
{
    const int64_t row_bytes = row_bytes_of(p, h), bytes = bytes_of(p, row_bytes);
    const bool can = row_bytes > 0 && !t->cpu && t->subgroup == 32 && t->threads >= THREADS &&
                     bytes <= (int64_t)t->shared_bytes && t->processors > 0;
    return can && p->extent[0] * ceil_div(p->extent[1], ROWS) >= t->processors ? bytes : 0;
}

/* ---- the kernel ---- */

/* Offsets of the SLOT_ROWS that stay in shared memory. */
static void lay_out(const program *p, int n, const held_values *h, int rows, emit_locals *locals)
{
    int64_t at = 0;
    for (int i = 0; i < p->n_local; i++) {
        const row_slot *l = &p->local[i];
        if (held_has(h, l->slot))
            continue;
        locals->at[locals->n++] = (emit_local){.slot = l->slot, .own = l->row_bytes, .offset = at};
        at += (l->row_bytes * rows + 15) / 16 * 16;
    }
    rows_set_lengths(p, n, locals);
}

static ig_status emit_with(attend_kernel *a, const emit_target *t, const emit_locals *locals,
                           const held_values *h, emitted *out)
{
    const program *p = a->p;
    const contract_shape shape = {
        .rows = 4, .cols = 8, .vector = 4, .warps_n = 1, .threads = THREADS};
    emit_writer w;
    a->first =
        (contraction){.p = p, .shape = shape, .locals = locals, .chain_rows = p->rows, .held = h};
    a->last = (contraction){.p = &p[3],
                            .number = 1,
                            .program = 3,
                            .shape = shape,
                            .locals = locals,
                            .chain_rows = p->rows,
                            .in_registers = true};
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 4);
    contraction_plan(&w, &a->first, INT64_MAX);
    contraction_plan(&w, &a->last, INT64_MAX);
    contraction_fill(&w, &a->first);
    contraction_fill(&w, &a->last);
    for (int k = 1; k < 3; k++) {
        rows_value(&w, &p[k], k, p->rows, locals, h);
        rows_join(&w, &p[k], k);
        rows_result(&w, &p[k], k, locals);
    }
    const int64_t tiles = ceil_div(p->extent[1], ROWS);
    hole_int(&w, "TWO_PASSES", a->base == NULL);
    if (a->base)
        hole_size(&w, "BASE_AT", a->base->offset / 4);
    hole_int(&w, "ATTEND_THREADS", THREADS);
    hole_int(&w, "ATTEND_BLOCKS", BLOCKS);
    hole_int(&w, "QUERIES", ROWS);
    hole_int(&w, "KEYS", KEYS);
    hole_int(&w, "LEVELS", LEVELS);
    hole_int(&w, "FOLD_CHUNK", FOLD_CHUNK);
    hole_size(&w, "STEPS_OF", steps_of(p));
    hole_size(&w, "COLUMNS", p[3].extent[2]);
    hole_size(&w, "TILES_M", tiles);
    writer_template(&w, "contract_attend.cu", NULL);
    const uint32_t grid[3] = {(uint32_t)(p->extent[0] * tiles), 1, 1}, block[3] = {THREADS, 1, 1};
    return writer_finish(&w, "contract_attend", grid, block, (size_t)a->shared_bytes);
}

ig_status emit_contract_attend(const program *p, int n, const emit_target *t, emitted *out,
                               bool *done)
{
    held_values h;
    attend_kernel a = {.p = p};
    *done = find_values(p, n, &h) && p[3].extent[2] <= KEYS && p->extent[3] > 0 &&
            p->extent[3] <= POINTS_MOST && p->extent[2] > 0 &&
            (a.shared_bytes = shared_of(p, t, &h)) > 0;
    if (!*done)
        return IG_OK;
    emit_locals locals = {.at = memory_new((size_t)(p->n_local + 1) * sizeof *locals.at)};
    if (!locals.at)
        return IG_ERR_MEMORY;
    lay_out(p, n, &h, ROWS, &locals);
    if (!t->same)
        a.base = find_base(p, &h, &locals);
    const ig_status status = emit_with(&a, t, &locals, &h, out);
    memory_free(locals.at);
    return status;
}
