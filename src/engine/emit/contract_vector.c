/* Products of at most VECTOR_ROWS rows with a matrix whose rows are contiguous: kernels/contract_vector.cu. The matrix is read
 * once, so such a product takes the time of reading it. */
#include "engine/emit/contract.h"

#include "base/error.h"
#include "engine/program/rounded.h"

#include <stdio.h>

enum {
    THREADS = 256,
    TEAM_LEAST = 8,
    CHUNKS = 6,         /* that a thread of a team takes, at most, unless a team is a whole block */
    BUSY = 1024,        /* threads that keep a processor busy */
    PART = 32,          /* elements of a part of a block */
    ROUNDED_BYTES = 48, /* of a rounded part: bytes, scale and sums */
    LEAST = 256         /* terms of a sum and sums of a row, at least */
};

/* True if rows and batches of the operand begin at multiples of n elements, and k is contiguous. */
static bool has_chunks(const program *p, int side, int64_t n)
{
    const operand *o = &p->in[side];
    const contract_groups q = contraction_groups(p, side);
    int64_t step = 1;
    for (int i = q.k.first + q.k.n - 1; i >= q.k.first; i--) {
        if (o->v.shape[i] > 1 && o->v.stride[i] != step)
            return false;
        step *= o->v.shape[i];
    }
    for (int i = 0; i < q.k.first; i++)
        if (o->v.shape[i] > 1 && o->v.stride[i] % n)
            return false;
    return p->extent[3] % n == 0 && o->v.offset % n == 0;
}

/* The formats of storage_codes.cuh. */
static const char *codes_of(storage s)
{
    static const char *const names[STORAGE_FORMATS] = {
        [STORAGE_q4_0] = "codes_q4_0", [STORAGE_q4_1] = "codes_q4_1", [STORAGE_q5_0] = "codes_q5_0",
        [STORAGE_q5_1] = "codes_q5_1", [STORAGE_q8_0] = "codes_q8_0", [STORAGE_q4_k] = "codes_q4_k",
        [STORAGE_q5_k] = "codes_q5_k", [STORAGE_q6_k] = "codes_q6_k"};
    return names[s.format];
}

/* Elements of 16 bytes, or 0. */
static int chunk_of(const program *p)
{
    const ig_dtype dtype = p->in[1].dtype;
    const bool known = dtype == IG_F32 || dtype_is_half(dtype);
    return known && p->in[0].dtype == dtype ? 16 / (int)ig_dtype_bytes(dtype) : 0;
}

bool contraction_is_vector(const program *p)
{
    const operand *w = &p->in[1];
    if (p->kind != PROGRAM_CONTRACT || p->math == IG_MATH_SAME || p->extent[1] < 1 ||
        p->extent[1] > VECTOR_ROWS || p->extent[2] < LEAST || p->extent[3] < LEAST ||
        contraction_lane(p) != IG_F32 || !storage_is_plain(p->in[0].stored))
        return false;
    if (!storage_is_plain(w->stored))
        return program_may_round(p) && codes_of(w->stored) && w->dtype == IG_F32 &&
               p->in[0].dtype == IG_F32 && has_chunks(p, 1, w->stored.block);
    const int chunk = chunk_of(p);
    return chunk && has_chunks(p, 0, chunk) && has_chunks(p, 1, chunk);
}

/* Shared memory of a block of threads. */
static int64_t shared_of(const program *p, int rows)
{
    return storage_is_plain(p->in[1].stored) ? 0 : p->extent[3] / PART * ROUNDED_BYTES * rows;
}

static int rows_of(const program *p)
{
    int rows = 1;
    while (rows < p->extent[1])
        rows *= 2;
    return rows;
}

bool contraction_runs_as_vector(const program *p, const emit_target *t)
{
    return contraction_is_vector(p) && !t->cpu && !t->same && t->subgroup == 32 &&
           t->threads >= THREADS && t->processors > 0 && !t->reach_bytes &&
           shared_of(p, rows_of(p)) <= (int64_t)t->shared_bytes;
}

/* The threads that share a sum. It does not depend on the rows, so that they do not change the order of a sum. */
static int team_of(const program *p, const emit_target *t, int64_t chunks)
{
    int team = TEAM_LEAST;
    while (team < THREADS && 2 * team <= chunks &&
           (chunks > (int64_t)CHUNKS * team ||
            p->extent[0] * p->extent[2] * team < (int64_t)t->processors * BUSY))
        team *= 2;
    return team;
}

static void fill_plain(emit_writer *w, const contraction *c)
{
    const ig_dtype dtype = c->p->in[1].dtype;
    if (dtype_is_half(dtype)) {
        w->uses |= USES_HALF;
        hole_text(w, "LOW(u)", "%s_to_f32_quick((unsigned short)(u))", ig_dtype_name(dtype));
        hole_text(w, "HIGH(u)", "%s_to_f32_quick((unsigned short)((u) >> 16))",
                  ig_dtype_name(dtype));
    }
    hole_int(w, "CHUNK", chunk_of(c->p));
    hole_pointer(w, "VALUES", writer_operand(w, &c->p->in[0], false));
    hole_pointer(w, "COLUMNS", writer_operand(w, &c->p->in[1], false));
}

static void fill_blocks(emit_writer *w, const contraction *c)
{
    const operand *o = &c->p->in[1];
    hole_int(w, "BLOCK_BYTES", storage_block_bytes(o->stored));
    hole_int(w, "PARTS", o->stored.block / PART);
    hole_text(w, "CODES", "%s", codes_of(o->stored));
    hole_pointer(w, "WEIGHTS", writer_blocks(w, o));
    hole_size(w, "WEIGHTS_FIRST", o->v.offset);
}

ig_status emit_contract_vector(const program *p, const emit_target *t, emitted *out)
{
    const bool blocks = !storage_is_plain(p->in[1].stored);
    const int64_t chunks = p->extent[3] / (blocks ? PART : chunk_of(p));
    const int rows = rows_of(p), team = team_of(p, t, chunks);
    const int cols = rows <= 4 && p->extent[2] * team >= (int64_t)4 * t->processors * BUSY ? 2 : 1;
    contraction c = {.p = p,
                     .shape = {.rows = 1, .cols = 1, .vector = 1, .warps_n = 1, .threads = 32}};
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    contraction_plan(&w, &c, INT64_MAX);
    c.side[0].vector = c.side[1].vector = 1;
    contraction_fill(&w, &c);
    const int64_t tiles = ceil_div(p->extent[2], (int64_t)THREADS / team * cols);
    hole_int(&w, "BLOCKS", blocks);
    hole_int(&w, "ROWS", rows);
    hole_int(&w, "COLS", cols);
    hole_int(&w, "TEAM", team);
    hole_int(&w, "THREADS", THREADS);
    hole_int(&w, "UNROLL", blocks ? 2 : 4);
    hole_size(&w, "TILES", tiles);
    if (blocks)
        fill_blocks(&w, &c);
    else
        fill_plain(&w, &c);
    writer_template(&w, "contract_vector.cu", NULL);
    const uint32_t grid[3] = {(uint32_t)(p->extent[0] * tiles), 1, 1}, block[3] = {THREADS, 1, 1};
    return writer_finish(&w, "contract_vector", grid, block, (size_t)shared_of(p, rows));
}
