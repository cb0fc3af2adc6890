/* Attention by large tiles: a chain of four programs whose scores and exponentials exist in registers and in shared memory
 * only, KEYS keys at a time. See contract_attend.h for the order of the sums.
 *
 *   scores[r, key] = epilogue of (sum over k of in0[r, k] * in1[key, k])      contraction
 *   most[r]        = the largest value along keys                             reduction
 *   e[r, key]      = values from scores and most; their fold along keys       reduction
 *   out[r, col]    = epilogue of (sum over keys of e[r, key] * value[key, col])   contraction
 *
 * A block takes ROWS rows. The first pass over the keys, from the last to the first, finds `most`. The second computes the
 * scores again and uses them. A score costs as much as the product of its exponential, so this is half as much work
 * again; in exchange no score is written to memory, and each sum has the order of the programs alone.
 *
 * A thread has EACH x 8 sums of a tile; a warp has whole rows. Panels of keys and values go from memory to registers while
 * a quarter of the products of the panel before is computed, then to shared memory. The exponentials go through shared
 * memory, key by key; groups of four rows are permuted there (PLACE), so that stores have no bank conflicts. */
#include "kernel/emit/contract_attend.h"

#include "base/error.h"
#include "base/memory.h"
#include "ops/ops.h"

enum {
    KEYS = 64, /* of a tile; also columns of the result at most */
    THREADS = 128,
    BLOCKS = 2, /* that a processor runs at once */
    POINTS_MOST = 256,
    LEVELS = 6 /* of pairs of chunks: see ROW_MOST of graph/chain.c */
};

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

/* What a block has in shared memory, in this order, in floats, and its bytes. */
typedef struct attend_plan {
    int each; /* rows of a thread */
    int rows; /* of a block */
    int points; /* of k, in whole panels: at least KEYS, so that a step of one panel is a step of the other */
    int64_t queries, keys, e, values, pairs;
    int64_t locals, bytes; /* bytes of the values by rows, and of all */
} attend_plan;

static attend_plan plan_of(const program *p, int each, int64_t row_bytes)
{
    const int64_t k = ceil_div(p->extent[3], TILE_K) * TILE_K;
    attend_plan a = {
        .each = each, .rows = THREADS / 8 * each, .points = (int)(k > KEYS ? k : KEYS)};
    a.queries = (int64_t)a.points * (a.rows + GROUP);
    a.keys = a.values = (int64_t)a.points * (KEYS + GROUP);
    a.e = (int64_t)KEYS * a.rows;
    a.pairs = (int64_t)LEVELS * a.rows;
    a.locals = ceil_div(row_bytes * a.rows, 16) * 16 + (int64_t)16 * p->n_local;
    a.bytes = 4 * (a.queries + a.keys + a.e + a.values + a.pairs) + a.locals;
    return a;
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

/* Large tiles need as many rows as keep the device busy. */
static bool choose(const program *p, const emit_target *t, const held_values *h, attend_plan *a)
{
    const int64_t row_bytes = row_bytes_of(p, h);
    if (row_bytes <= 0 || t->cpu || t->subgroup != 32 || t->threads < THREADS || t->processors <= 0)
        return false;
    for (int each = 8; each >= 4; each /= 2) {
        *a = plan_of(p, each, row_bytes);
        if (p->extent[0] * ceil_div(p->extent[1], a->rows) >= t->processors &&
            (each == 4 || p->extent[1] > a->rows / 2) && a->bytes <= (int64_t)t->shared_bytes)
            return true;
    }
    return false;
}

/* ---- the text ---- */

typedef struct attend_kernel {
    const program *p;
    contraction first, last;
    attend_plan plan;
} attend_kernel;

/* Zeros of a thread's sums. */
static void write_zeros(emit_writer *w, const char *name)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < EACH; i++)\n#pragma unroll\n"
             "        for (int j = 0; j < 8; j++)\n            %s[i][j] = 0;\n",
             name);
}

/* Loads a panel of keys [first, first + KEYS), points [k0, k0 + TILE_K); its store is write_store. */
static void write_load_keys(emit_writer *w, const attend_kernel *a, const char *first)
{
    text_add(&w->body, "    const idx n0_first = %s, n0_end = keys, k_end = points;\n", first);
    panel_declare(w, &a->first, panel_whole(&a->first, 1));
    panel_rows(w, &a->first, 1);
    panel_load(w, &a->first, panel_whole(&a->first, 1), "k0", false);
}

/* Loads a panel of values, keys [first + k0, first + k0 + TILE_K). */
static void write_load_values(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    const idx n1_first = 0, n1_end = cols, k_end = keys;\n");
    panel_declare(w, &a->last, panel_whole(&a->last, 1));
    panel_rows(w, &a->last, 1);
    panel_load(w, &a->last, panel_whole(&a->last, 1), "first + k0", false);
}

/* The rows of the queries, once. */
static void write_queries(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    {\n    const idx k_end = points;\n");
    panel_rows(w, &a->first, 0);
    text_add(&w->body, "    for (int buffer = 0; buffer < STEPS; buffer++) {\n"
                       "    const int k0 = buffer * 16;\n");
    panel_declare(w, &a->first, panel_whole(&a->first, 0));
    panel_load(w, &a->first, panel_whole(&a->first, 0), "k0", false);
    panel_store(w, &a->first, panel_whole(&a->first, 0));
    text_add(&w->body, "    }\n    }\n");
}

/* The panel of the last tile of keys, which the first pass begins with. */
static void write_first_keys(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    float *s_n0 = tiles & 1 ? s_keys : s_e;\n"
                       "    for (int buffer = 0; buffer < STEPS; buffer++) {\n"
                       "    const int k0 = buffer * 16;\n");
    write_load_keys(w, a, "(idx)(tiles - 1) * KEYS");
    panel_store(w, &a->first, panel_whole(&a->first, 1));
    text_add(&w->body, "    }\n");
}

/* A loop over points or keys [0, n) of a step, n at most TILE_K, which adds products; write_product is its body. */
static void write_product(emit_writer *w, int number, const char *sums, const char *x,
                          const char *y)
{
    text_add(&w->body,
             "        float x[EACH], y[8];\n#pragma unroll\n        for (int i = 0; i < EACH; i += "
             "4) {\n"
             "            const float4 q = *(const float4 *)(%s);\n"
             "            x[i] = q.x;\n            x[i + 1] = q.y;\n"
             "            x[i + 2] = q.z;\n            x[i + 3] = q.w;\n        }\n"
             "#pragma unroll\n        for (int j = 0; j < 8; j += 4) {\n"
             "            const float4 q = *(const float4 *)(%s);\n"
             "            y[j] = q.x;\n            y[j + 1] = q.y;\n"
             "            y[j + 2] = q.z;\n            y[j + 3] = q.w;\n        }\n"
             "#pragma unroll\n        for (int i = 0; i < EACH; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < 8; j++)\n"
             "                %s[i][j] = multiply_add%d(x[i], y[j], %s[i][j]);\n    }\n",
             x, y, sums, number, sums);
}

/* a[][]: the products of the queries with the keys at from_keys; during each step a panel is loaded. */
static void write_scores(emit_writer *w, const attend_kernel *a, bool values)
{
    static const char *const x = "s_m0 + (k0 + kk) * (ROWS + 4) + ti + i * 4",
                             *const y = "from_keys + (k0 + kk) * (KEYS + 4) + tj + j * 8";
    write_zeros(w, "a");
    text_add(&w->body, "    for (int buffer = 0; buffer < STEPS; buffer++) {\n"
                       "    const int k0 = buffer * 16;\n");
    if (values)
        write_load_values(w, a);
    else
        write_load_keys(w, a, "first - KEYS");
    text_add(&w->body, "    if (k0 + 16 <= points) {\n#pragma unroll\n"
                       "    for (int kk = 0; kk < 16; kk++) {\n");
    write_product(w, 0, "a", x, y);
    text_add(&w->body, "    } else {\n    for (int kk = 0; k0 + kk < points; kk++) {\n");
    write_product(w, 0, "a", x, y);
    text_add(&w->body, "    }\n");
    panel_store(w, values ? &a->last : &a->first, panel_whole(values ? &a->last : &a->first, 1));
    text_add(&w->body, "    }\n");
}

/* A loop over the thread's points. Rows and columns behind the last are those of the last: nothing uses what is computed
 * there. */
static void write_points_begin(emit_writer *w)
{
    text_add(&w->body, "#pragma unroll\n    for (int i = 0; i < EACH; i++) {\n"
                       "        const int at = ti + i / 4 * 16 + i %% 4, team = at < rows_here ? "
                       "at : rows_here - 1;\n"
                       "        const idx row = batch * rows_end + m0_first + team;\n"
                       "#pragma unroll\n        for (int j = 0; j < 8; j++) {\n"
                       "            const idx place = first + tj + j / 4 * 32 + j %% 4;\n"
                       "            const idx col = place < keys ? place : keys - 1;\n");
}

/* Turns sums into scores. */
static void write_epilogue(emit_writer *w)
{
    write_points_begin(w);
    text_add(&w->body, "            total0(ARGS, local, team, row, col, a[i][j], a[i][j], rest);\n"
                       "        }\n    }\n");
}

static void write_most(emit_writer *w)
{
    write_points_begin(w);
    text_add(&w->body, "            if (place < keys)\n"
                       "                most[i] = join1(most[i], value1(ARGS, local, team, row, "
                       "col, a[i][j], rest));\n"
                       "        }\n    }\n");
}

/* The epilogue of the first reduction: the eight threads of a row have its largest values. */
static void write_most_end(emit_writer *w)
{
    text_add(
        &w->body,
        "#pragma unroll\n    for (int i = 0; i < EACH; i++) {\n"
        "        const int team = ti + i / 4 * 16 + i %% 4;\n"
        "        for (int half = 4; half > 0; half /= 2)\n"
        "            most[i] = join1(most[i], __shfl_xor_sync(0xffffffffu, most[i], half));\n"
        "        if (lane %% 8 == 0 && team < rows_here)\n"
        "            result1(ARGS, local, team, batch * rows_end + m0_first + team, most[i]);\n"
        "    }\n    __syncthreads();\n");
}

/* Scores become exponentials. */
static void write_exponentials(emit_writer *w)
{
    write_points_begin(w);
    text_add(&w->body, "            a[i][j] = value2(ARGS, local, team, row, col, a[i][j], rest);\n"
                       "        }\n    }\n");
}

static void write_store_exponentials(emit_writer *w)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int j = 0; j < 8; j++) {\n"
             "        const int key = tj + j / 4 * 32 + j %% 4;\n"
             "#pragma unroll\n        for (int i = 0; i < EACH; i += 4) {\n"
             "            float4 q;\n            q.x = a[i][j];\n            q.y = a[i + 1][j];\n"
             "            q.z = a[i + 2][j];\n            q.w = a[i + 3][j];\n"
             "            *(float4 *)(s_e + key * ROWS + PLACE(ti / 4 + i, key / 4)) = q;\n"
             "        }\n    }\n    __syncthreads();\n");
}

/* Folds the exponentials. Of each row a thread has the running values of lanes tj to tj + 3 of a warp in rows.c. At the end of
 * a chunk, lanes are joined by halving, first across threads; then chunks are joined pairwise. */
static void write_fold(emit_writer *w)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < EACH; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < 8; j++)\n"
             "            if (tj + j / 4 * 32 + j %% 4 < count)\n"
             "                lanes[i][j %% 4] = join2(lanes[i][j %% 4], a[i][j]);\n"
             "    if (tile %% (%d / KEYS) == %d / KEYS - 1 || tile == tiles - 1) {\n"
             "#pragma unroll\n        for (int i = 0; i < EACH; i++) {\n"
             "            const int at = ti + i / 4 * 16 + i %% 4;\n"
             "#pragma unroll\n            for (int j = 0; j < 4; j++)\n"
             "                for (int half = 4; half > 0; half /= 2)\n"
             "                    lanes[i][j] = join2(lanes[i][j], __shfl_down_sync(0xffffffffu, "
             "lanes[i][j], half));\n"
             "            float x = join2(join2(lanes[i][0], lanes[i][2]), join2(lanes[i][1], "
             "lanes[i][3]));\n"
             "            int level = 0;\n"
             "            for (; tile / (%d / KEYS) >> level & 1; level++)\n"
             "                x = join2(pairs[level * ROWS + at], x);\n"
             "            if (lane %% 8 == 0)\n                pairs[level * ROWS + at] = x;\n"
             "#pragma unroll\n            for (int j = 0; j < 4; j++)\n"
             "                lanes[i][j] = identity2();\n        }\n    }\n",
             FOLD_CHUNK, FOLD_CHUNK, FOLD_CHUNK);
}

/* The chunks that have no partner yet, from the last on, and the epilogue of the fold. A thread takes a row. */
static void write_fold_end(emit_writer *w)
{
    text_add(
        &w->body,
        "    if (t < rows_here) {\n"
        "        const int chunks = (tiles * KEYS + %d) / %d;\n"
        "        int level = 0;\n        while (!(chunks >> level & 1))\n            level++;\n"
        "        float x = pairs[level * ROWS + t];\n"
        "        for (level++; chunks >> level; level++)\n"
        "            if (chunks >> level & 1)\n"
        "                x = join2(pairs[level * ROWS + t], x);\n"
        "        result2(ARGS, local, t, batch * rows_end + m0_first + t, x);\n    }\n"
        "    __syncthreads();\n",
        FOLD_CHUNK - 1, FOLD_CHUNK);
}

/* Ends a block of keys: its sums are added to those of the blocks before. */
static void write_cut(emit_writer *w, int block)
{
    text_add(&w->body,
             "    if (first + k0 + at == cut) {\n"
             "#pragma unroll\n        for (int i = 0; i < EACH; i++)\n"
             "#pragma unroll\n            for (int j = 0; j < 8; j++) {\n"
             "                sum[i][j] = cut > g.n%d ? sum[i][j] + o[i][j] : o[i][j];\n"
             "                o[i][j] = 0;\n            }\n"
             "        cut = keys - cut < g.n%d ? keys : cut + g.n%d;\n    }\n",
             block, block, block);
}

/* o[][] += the products of the exponentials with the values; during each step a panel of the next keys is loaded. */
static void write_sums(emit_writer *w, const attend_kernel *a, int block)
{
    static const char *const x = "s_e + (k0 + kk) * ROWS + PLACE(ti / 4 + i, k0 / 4 ^ kk / 4)",
                             *const y = "s_n1 + (k0 + kk) * (KEYS + 4) + tj + j * 8";
    const bool same = w->target->same;
    text_add(&w->body, "    float *s_n0 = s_keys;\n"
                       "    for (int buffer = 0; buffer < STEPS; buffer++) {\n"
                       "    const int k0 = buffer * 16;\n");
    write_load_keys(w, a, "first + KEYS");
    text_add(&w->body, "    const int here = count - k0 < 16 ? count - k0 : 16;\n");
    if (same)
        text_add(&w->body,
                 "    for (int at = 0; at < here;) {\n"
                 "    const int run = cut - (first + k0 + at) < here - at ? (int)(cut - (first "
                 "+ k0 + at)) : here - at;\n");
    text_add(&w->body,
             "    if (%s == 16) {\n#pragma unroll\n    for (int kk = 0; kk < 16; kk++) {\n",
             same ? "run" : "here");
    write_product(w, 1, "o", x, y);
    text_add(&w->body, same ? "    } else {\n    for (int kk = at; kk < at + run; kk++) {\n"
                            : "    } else {\n    for (int kk = 0; kk < here; kk++) {\n");
    write_product(w, 1, "o", x, y);
    text_add(&w->body, "    }\n");
    if (same) {
        text_add(&w->body, "    at += run;\n");
        write_cut(w, block);
        text_add(&w->body, "    }\n");
    }
    panel_store(w, &a->first, panel_whole(&a->first, 1));
    text_add(&w->body, "    }\n    __syncthreads();\n");
}

static void write_results(emit_writer *w)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < EACH; i++) {\n"
             "        const int team = ti + i / 4 * 16 + i %% 4;\n"
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
    const attend_plan *l = &a->plan;
    const program *p = a->p;
    const int64_t tiles = ceil_div(p->extent[1], l->rows);
    const int tiles_m = writer_number(w, tiles);
    text_add(&w->body,
             "#define EACH %d\n#define ROWS %d\n#define KEYS %d\n"
             "/* Where the exponentials of four rows lie among those of a key. */\n"
             "#define PLACE(group, key4) (((group) ^ ((key4) & 7)) * 4)\n\n"
             "extern \"C\" __global__ void __launch_bounds__(%d, %d) contract_attend(PARAMS)\n{\n"
             "    extern __shared__ uint4 shared[];\n"
             "    const int STEPS = (int)g.n%d;\n"
             "    float *s_m0 = (float *)shared, *s_keys = s_m0 + STEPS * 16 * (ROWS + 4);\n"
             "    float *s_e = s_keys + STEPS * 16 * (KEYS + 4), *s_n1 = s_e + KEYS * ROWS;\n"
             "    float *pairs = s_n1 + STEPS * 16 * (KEYS + 4);\n"
             "    unsigned char *local = (unsigned char *)(pairs + %d * ROWS);\n"
             "    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;\n"
             "    const int ti = warp * (EACH * 4) + lane / 8 * 4, tj = lane %% 8 * 4;\n"
             "    const idx rows_end = g.n%d, m0_end = rows_end, keys = g.n%d, points = g.n%d, "
             "cols = g.n%d;\n"
             "    const int tiles = (int)((keys + KEYS - 1) / KEYS);\n"
             "    const idx batch = blockIdx.x / g.n%d, m0_first = blockIdx.x %% g.n%d * ROWS;\n"
             "    const int rows_here = rows_end - m0_first < ROWS ? (int)(rows_end - m0_first) : "
             "ROWS;\n"
             "    float a[EACH][8], most[EACH], rest;\n"
             "#pragma unroll\n    for (int i = 0; i < EACH; i++)\n        most[i] = identity1();\n",
             l->each, l->rows, KEYS, THREADS, BLOCKS, writer_number(w, l->points / TILE_K), LEVELS,
             writer_number(w, p->extent[1]), writer_number(w, p->extent[2]),
             writer_number(w, p->extent[3]), writer_number(w, p[3].extent[2]), tiles_m, tiles_m);
}

/* From the last tile to the second; the tiles take turns in two places, of which the second holds exponentials and values
 * later. */
static void write_first_pass(emit_writer *w, const attend_kernel *a)
{
    text_add(&w->body, "    {\n");
    write_first_keys(w, a);
    text_add(&w->body, "    }\n    __syncthreads();\n"
                       "    for (int tile = tiles - 1; tile > 0; tile--) {\n"
                       "    const idx first = (idx)tile * KEYS;\n"
                       "    const float *from_keys = tile & 1 ? s_e : s_keys;\n"
                       "    float *s_n0 = tile & 1 ? s_keys : s_e;\n");
    write_scores(w, a, false);
    write_epilogue(w);
    write_most(w);
    text_add(&w->body, "    __syncthreads();\n    }\n");
}

static void write_second_pass(emit_writer *w, const attend_kernel *a)
{
    const int block = writer_number(w, contraction_block(w, &a->p[3]));
    text_add(&w->body, "    float o[EACH][8], lanes[EACH][4];\n");
    write_zeros(w, "o");
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < EACH; i++)\n#pragma unroll\n"
             "        for (int j = 0; j < 4; j++)\n            lanes[i][j] = identity2();\n");
    if (w->target->same) {
        text_add(&w->body, "    idx cut = g.n%d < keys ? g.n%d : keys;\n    float sum[EACH][8];\n",
                 block, block);
        write_zeros(w, "sum");
    }
    text_add(&w->body, "    for (int tile = 0; tile < tiles; tile++) {\n"
                       "    const idx first = (idx)tile * KEYS;\n"
                       "    const int count = keys - first < KEYS ? (int)(keys - first) : KEYS;\n"
                       "    const float *from_keys = s_keys;\n");
    write_scores(w, a, true);
    write_epilogue(w);
    text_add(&w->body, "    if (tile == 0) {\n");
    write_most(w);
    write_most_end(w);
    text_add(&w->body, "    }\n");
    write_exponentials(w);
    write_fold(w);
    write_store_exponentials(w);
    write_sums(w, a, block);
    text_add(&w->body, "    }\n");
    write_fold_end(w);
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
        .rows = a->plan.each, .cols = 8, .vector = 4, .warps_n = 1, .threads = THREADS};
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
    write_queries(&w, a);
    write_first_pass(&w, a);
    write_second_pass(&w, a);
    text_add(&w.body, "}\n");
    const uint32_t grid[3] = {(uint32_t)(p->extent[0] * ceil_div(p->extent[1], a->plan.rows)), 1,
                              1},
                   block[3] = {THREADS, 1, 1};
    return writer_finish(&w, "contract_attend", grid, block, (size_t)a->plan.bytes);
}

ig_status emit_contract_attend(const program *p, int n, const emit_target *t, emitted *out,
                               bool *done)
{
    held_values h;
    attend_kernel a = {.p = p};
    *done = find_values(p, n, &h) && p[3].extent[2] <= KEYS && p->extent[3] > 0 &&
            p->extent[3] <= POINTS_MOST && p->extent[2] > 0 && choose(p, t, &h, &a.plan);
    if (!*done)
        return IG_OK;
    emit_locals locals = {.at = memory_new((size_t)(p->n_local + 1) * sizeof *locals.at)};
    if (!locals.at)
        return IG_ERR_MEMORY;
    lay_out(p, n, &h, a.plan.rows, &locals);
    const ig_status status = emit_with(&a, t, &locals, &h, out);
    memory_free(locals.at);
    return status;
}
