/* Attention by large tiles: a chain of four programs whose scores and exponentials exist in registers and in shared memory
 * only, KEYS keys at a time. See contract_attend.h for the order of the sums.
 *
 *   scores[r, key] = epilogue of (sum over k of in0[r, k] * in1[key, k])      contraction
 *   most[r]        = the largest value along keys                             reduction
 *   e[r, key]      = values from scores and most; their fold along keys       reduction
 *   out[r, col]    = epilogue of (sum over keys of e[r, key] * value[key, col])   contraction
 *
 * A block takes ROWS rows. With target->same it makes two passes over the keys. The first, from the last key to the first,
 * finds `most`; the second computes the scores again and uses them. That is half as much work again, but no score is
 * written to memory, and each sum has the order that its program has alone: points of k and keys in order, keys in the CPU's
 * blocks, the fold in the order of rows.c. Otherwise one pass is enough if e = exp(score - most): when `most` grows, the sums
 * so far are scaled.
 *
 * A thread has 4 x 8 sums of a tile; a warp has whole rows. Of a row's eight threads, neighbours are two lanes apart, and the
 * lane between has another row: so threads n and n ^ 1, or n and n ^ 2, read the same 16 bytes of shared memory, which an
 * NVIDIA GPU does in half the time. A panel of keys or values goes from memory to registers while
 * products of the panels before are computed, then to shared memory. The exponentials go through shared memory, key by
 * key; groups of four rows are permuted there (PLACE), so that stores have no bank conflicts. */
#include "engine/emit/contract_attend.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/ops/ops.h"

enum { BLOCKS = 3, POINTS_MOST = 256 }; /* blocks that a processor runs at once; points of k */

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

/* True if the tape reaches the slot at the point only: the values are f32 and by rows, `keys` of each. */
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

/* If e = exp(score - base), and the fold is a sum, sums relative to one base can be scaled to another: then one pass is
 * enough. Returns the base, or NULL. */
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

/* Panels of points of k. At least as many as those of a tile's keys, so that each step of one product loads a panel of the
 * other. */
static int steps_of(const program *p)
{
    const int64_t steps = ceil_div(p->extent[3], TILE_K), least = ATTEND_KEYS / TILE_K;
    return (int)(steps > least ? steps : least);
}

/* Bytes of shared memory of a block; in floats: queries, keys, exponentials, values, pairs. */
static int64_t bytes_of(const program *p, int64_t row_bytes)
{
    const int64_t points = (int64_t)steps_of(p) * TILE_K, rows = ATTEND_ROWS;
    const int64_t floats = points * (rows + GROUP) + 2 * points * (ATTEND_KEYS + GROUP) +
                           ATTEND_KEYS * rows + ATTEND_LEVELS * rows;
    return 4 * floats + row_bytes * rows + (int64_t)16 * p->n_local;
}

/* Bytes of a row of the values that stay in shared memory; -1 if one of them has several elements. */
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

/* The bytes of shared memory of a block, or 0 if the device cannot run it or has too few rows to be busy. */
static int64_t shared_of(const program *p, const emit_target *t, const held_values *h)
{
    const int64_t row_bytes = row_bytes_of(p, h), bytes = bytes_of(p, row_bytes);
    const bool can = row_bytes > 0 && !t->cpu && t->subgroup == 32 &&
                     t->threads >= ATTEND_THREADS && bytes <= (int64_t)t->shared_bytes &&
                     t->processors > 0;
    return can && p->extent[0] * ceil_div(p->extent[1], ATTEND_ROWS) >= t->processors ? bytes : 0;
}

/* ---- the kernel ---- */

static void write_results(emit_writer *w)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
             "        const int team = ti + i;\n"
             "#pragma unroll\n        for (int j = 0; j < 8; j++) {\n"
             "            const idx col = tj + j / 4 * 32 + j %% 4;\n"
             "            if (team < rows_here && col < cols)\n"
             "                total1(ARGS, local, team, batch * rows_end + m0_first + team, col, "
             "%s[i][j]);\n"
             "        }\n    }\n",
             w->target->same ? "sum" : "o");
}

static void write_begin(emit_writer *w, const attend_kernel *a)
{
    const program *p = a->p;
    const int64_t tiles = ceil_div(p->extent[1], ATTEND_ROWS);
    const int tiles_m = writer_number(w, tiles);
    text_add(
        &w->body,
        "#define ROWS %d\n#define KEYS %d\n"
        "/* Where the exponentials of four rows lie among those of a key. */\n"
        "#define PLACE(group, key4) (((group) ^ ((key4) & 3) * 2) * 4)\n\n"
        "extern \"C\" __global__ void __launch_bounds__(%d, %d) contract_attend(PARAMS)\n{\n"
        "    extern __shared__ uint4 shared[];\n"
        "    const int STEPS = (int)g.n%d;\n"
        "    float *s_m0 = (float *)shared, *s_keys = s_m0 + STEPS * 16 * (ROWS + 4);\n"
        "    float *s_e = s_keys + STEPS * 16 * (KEYS + 4), *s_n1 = s_e + KEYS * ROWS;\n"
        "    float *pairs = s_n1 + STEPS * 16 * (KEYS + 4);\n"
        "    unsigned char *local = (unsigned char *)(pairs + %d * ROWS);\n"
        "    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;\n"
        "    const int ti = warp * 16 + lane / 16 * 8 + lane %% 2 * 4, tj = lane / 2 %% 8 * 4;\n"
        "    const bool leads = tj == 0; /* of the threads that have a row, the first */\n"
        "    const idx rows_end = g.n%d, m0_end = rows_end, keys = g.n%d, points = g.n%d, "
        "cols = g.n%d;\n"
        "    const int tiles = (int)((keys + KEYS - 1) / KEYS);\n"
        "    const idx batch = blockIdx.x / g.n%d, m0_first = blockIdx.x %% g.n%d * ROWS;\n"
        "    const int rows_here = rows_end - m0_first < ROWS ? (int)(rows_end - m0_first) : "
        "ROWS;\n"
        "    float a[4][8], most[4], rest;\n"
        "#pragma unroll\n    for (int i = 0; i < 4; i++)\n        most[i] = identity1();\n",
        ATTEND_ROWS, ATTEND_KEYS, ATTEND_THREADS, BLOCKS, writer_number(w, steps_of(p)),
        ATTEND_LEVELS, writer_number(w, p->extent[1]), writer_number(w, p->extent[2]),
        writer_number(w, p->extent[3]), writer_number(w, p[3].extent[2]), tiles_m, tiles_m);
}

/* From the last tile to the second; the tiles take turns in two places, of which the second holds exponentials and values
 * later. */
static void write_first_pass(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    for (int tile = tiles - 1; tile > 0; tile--) {\n"
                       "    const idx first = (idx)tile * KEYS;\n"
                       "    const float *from_keys = tile & 1 ? s_e : s_keys;\n"
                       "    float *s_n0 = tile & 1 ? s_keys : s_e;\n");
    attend_scores(w, a, false);
    attend_epilogue(w);
    attend_most(w);
    text_add(&w->body, "    __syncthreads();\n    }\n");
}

static void write_second_pass(emit_writer *w, const attend_kernel *a)
{
    const int block = writer_number(w, contraction_block(w, &a->p[3]));
    text_add(&w->body, "    float o[4][8], lanes[4][4];\n");
    attend_zeros(w, "o");
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < 4; i++)\n#pragma unroll\n"
             "        for (int j = 0; j < 4; j++)\n            lanes[i][j] = identity2();\n");
    if (w->target->same) {
        text_add(&w->body, "    idx cut = g.n%d < keys ? g.n%d : keys;\n    float sum[4][8];\n",
                 block, block);
        attend_zeros(w, "sum");
    }
    text_add(&w->body, "    for (int tile = 0; tile < tiles; tile++) {\n"
                       "    const idx first = (idx)tile * KEYS;\n"
                       "    const int count = keys - first < KEYS ? (int)(keys - first) : KEYS;\n"
                       "    const float *from_keys = s_keys;\n");
    attend_scores(w, a, true);
    attend_epilogue(w);
    if (!a->base) {
        text_add(&w->body, "    if (tile == 0) {\n");
        attend_most(w);
        attend_most_end(w);
        text_add(&w->body, "    }\n");
    } else {
        /* Other warps have no rows; the values that they would read belong to this one. */
        text_add(&w->body, "    if (warp * 16 < rows_here) {\n");
        attend_rescale(w, a);
    }
    attend_exponentials(w);
    text_add(&w->body, a->base ? "    }\n" : "");
    attend_fold(w, a);
    attend_store(w);
    attend_sums(w, a, block);
    text_add(&w->body, "    }\n");
    attend_fold_end(w, a);
    write_results(w);
}

/* Offsets of the values by rows that stay in shared memory. */
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
        .rows = 4, .cols = 8, .vector = 4, .warps_n = 1, .threads = ATTEND_THREADS};
    emit_writer w;
    a->first =
        (contraction){.p = p, .shape = shape, .locals = locals, .chain_rows = p->rows, .held = h};
    a->last = (contraction){.p = &p[3],
                            .number = 1,
                            .program = 3,
                            .shape = shape,
                            .locals = locals,
                            .chain_rows = p->rows};
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 4);
    contraction_plan(&w, &a->first, INT64_MAX);
    contraction_plan(&w, &a->last, INT64_MAX);
    contraction_functions(&w, &a->first);
    contraction_functions(&w, &a->last);
    for (int k = 1; k < 3; k++) {
        rows_value(&w, &p[k], k, p->rows, locals, h);
        rows_join(&w, &p[k], k);
        rows_result(&w, &p[k], k, locals);
    }
    write_begin(&w, a);
    attend_queries(&w, a);
    attend_first_keys(&w, a);
    if (!a->base)
        write_first_pass(&w, a);
    write_second_pass(&w, a);
    text_add(&w.body, "}\n");
    const uint32_t grid[3] = {(uint32_t)(p->extent[0] * ceil_div(p->extent[1], ATTEND_ROWS)), 1, 1},
                   block[3] = {ATTEND_THREADS, 1, 1};
    return writer_finish(&w, "contract_attend", grid, block, (size_t)a->shared_bytes);
}

ig_status emit_contract_attend(const program *p, int n, const emit_target *t, emitted *out,
                               bool *done)
{
    held_values h;
    attend_kernel a = {.p = p};
    *done = find_values(p, n, &h) && p[3].extent[2] <= ATTEND_KEYS && p->extent[3] > 0 &&
            p->extent[3] <= POINTS_MOST && p->extent[2] > 0 &&
            (a.shared_bytes = shared_of(p, t, &h)) > 0;
    if (!*done)
        return IG_OK;
    emit_locals locals = {.at = memory_new((size_t)(p->n_local + 1) * sizeof *locals.at)};
    if (!locals.at)
        return IG_ERR_MEMORY;
    lay_out(p, n, &h, ATTEND_ROWS, &locals);
    if (!t->same)
        a.base = find_base(p, &h, &locals);
    const ig_status status = emit_with(&a, t, &locals, &h, out);
    memory_free(locals.at);
    return status;
}
