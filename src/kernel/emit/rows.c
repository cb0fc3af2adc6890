/* Kernels that work row by row: reductions along rows, and chains of reductions and maps.
 *
 * A team of threads takes one row through all programs: a warp if rows have at most FOLD_CHUNK values, else
 * a block. A reduction follows the order of the CPU: a row is cut into chunks of FOLD_CHUNK values, value i
 * of a chunk goes to lane i % 32, lanes are joined by halving, and chunks pairwise. So each warp folds
 * chunks, and the chunks of a row are joined in shared memory.
 *
 * Temporaries that only the chain sees lie in shared memory. */
#include "kernel/emit/rows.h"

#include "kernel/emit/held.h"
#include "kernel/emit/tiles.h"

#include "base/error.h"
#include "base/memory.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

enum {
    BLOCK_THREADS = 256,
    TEAMS = BLOCK_THREADS / FOLD_WIDTH,
    RANGE_CHUNKS = 64, /* most chunks that a block folds */
    HELD_FEW = 40      /* registers: with so few held, a thread needs at most 80 in all */
};

uint32_t rows_grid(int64_t blocks, const emit_target *t)
{
    const int64_t most = t->block_limit ? (int64_t)t->block_limit : EMIT_MOST_BLOCKS;
    return (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* ---- values in shared memory ---- */

static const emit_local *local_of(const emit_space *s, int k)
{
    const int slot = s->t->operand[s->t->inst[k].operand].slot;
    for (int i = 0; i < s->locals->n; i++)
        if (s->locals->at[i].slot == slot)
            return &s->locals->at[i];
    return NULL;
}

/* The place of the point's element in the row of the team. */
static void local_place(emit_writer *w, const emit_space *s, int k, const emit_local *l)
{
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    const int64_t bytes = (int64_t)ig_dtype_bytes(o->dtype);
    const int first = s->axis < 0 ? 0 : s->axis;
    text_add(&w->body, "((%s *)local)[g.n%d + team * g.n%d", emit_storage_type(o->dtype),
             writer_number(w, l->offset / bytes), writer_number(w, l->own));
    if (l->own > 1 &&
        (s->axis < 0 || (view_is_contiguous(&o->v) && l->own * s->rows == s->t->size)))
        text_add(&w->body, " + col");
    else
        for (int i = first; i < s->t->ndim && l->own > 1; i++)
            if (o->v.stride[i] && o->v.shape[i] > 1)
                text_add(&w->body, " + c%d * g.n%d", i, writer_number(w, o->v.stride[i]));
    text_add(&w->body, "]");
}

bool rows_local_load(emit_writer *w, const emit_space *s, int k)
{
    const emit_local *l = local_of(s, k);
    if (!l)
        return false;
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    const bool half = dtype_is_half(o->dtype);
    text_add(&w->body, "    const %s v%d_0 = ", emit_lane_type(o->dtype), k);
    if (half)
        text_add(&w->body, "%s_to_f32(", ig_dtype_name(o->dtype));
    local_place(w, s, k, l);
    text_add(&w->body, "%s;\n", half ? ")" : "");
    return true;
}

bool rows_local_store(emit_writer *w, const emit_space *s, int k, const int *def)
{
    const emit_local *l = local_of(s, k);
    if (!l)
        return false;
    const tape_inst *inst = &s->t->inst[k];
    const operand *o = &s->t->operand[inst->operand];
    text_add(&w->body, "    ");
    local_place(w, s, k, l);
    if (dtype_is_half(o->dtype))
        text_add(&w->body, " = %s_of_f32(v%d_0);\n", ig_dtype_name(o->dtype), def[inst->a]);
    else
        text_add(&w->body, " = v%d_0;\n", def[inst->a]);
    return true;
}

/* ---- functions of one program ---- */

/* The lanes that a program's core folds. */
const char *rows_type(const program *p) { return emit_lane_type(p->dtype); }

#define LOCAL_PARAMS (locals && locals->n ? "unsigned char *local, int team, " : "")
#define LOCAL_ARGS (locals && locals->n ? ROWS_LOCAL_ARGS : "")

void rows_value(emit_writer *w, const program *p, int k, int64_t rows, const emit_locals *locals,
                const held_values *held)
{
    const int64_t inner = rows ? p->pre.size / rows : 0;
    const emit_space s = {.t = &p->pre,
                          .axis = emit_split_axis(&p->pre, inner),
                          .vector = 1,
                          .locals = locals,
                          .rows = rows,
                          .held = held,
                          .program = k};
    text_add(&w->body, "static __device__ %s value%d(PARAMS, %sidx row, idx col",
             p->pre.result >= 0 ? rows_type(p) : "void", k, LOCAL_PARAMS);
    if (held)
        held_params(w, held);
    text_add(&w->body, ")\n{\n    const idx i = row * g.n%d + col;\n", writer_number(w, inner));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

/* values<k>(row, col, out): the values of four points that are 32 apart; all lanes of a warp call it. */
static void write_values(emit_writer *w, const program *p, int k, int64_t rows)
{
    const emit_space s = {.t = &p->pre, .axis = -1, .vector = 4, .step = FOLD_WIDTH};
    text_add(&w->body,
             "static __device__ void values%d(PARAMS, idx row, idx col, %s *out)\n{\n"
             "    const idx i = row * g.n%d + col;\n",
             k, rows_type(p), writer_number(w, p->pre.size / rows));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

void rows_result(emit_writer *w, const program *p, int k, const emit_locals *locals)
{
    const emit_space s = {.t = &p->post,
                          .axis = p->post.ndim,
                          .vector = 1,
                          .core = "core",
                          .locals = locals,
                          .rows = p->post.size,
                          .program = k};
    const ig_dtype core = p->kind == PROGRAM_ARGREDUCE ? IG_I64 : p->dtype;
    text_add(&w->body, "static __device__ void result%d(PARAMS, %sidx row, %s core)\n{\n", k,
             LOCAL_PARAMS, emit_lane_type(core));
    text_add(&w->body, "    const idx i = row;\n    (void)i;\n");
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

/* join<k> and identity<k>. */
void rows_join(emit_writer *w, const program *p, int k)
{
    const char *type = rows_type(p);
    if (emit_needs_math(p->fold))
        w->uses |= USES_MATH;
    w->needs_f64 = w->needs_f64 || p->dtype == IG_F64;
    text_add(&w->body, "static __device__ %s join%d(%s x, %s y)\n{\n    return ", type, k, type,
             type);
    emit_expression(&w->body, p->fold, p->dtype, "x", "y");
    text_add(&w->body, ";\n}\n\n");
    text_add(&w->body, "static __device__ %s identity%d()\n{\n    return ", type, k);
    emit_identity(&w->body, p->fold, p->dtype);
    text_add(&w->body, ";\n}\n\n");
}

/* lanes<k>(x): the values of a warp's 32 lanes joined by halving; all threads of the block call it. */
static void write_lanes(emit_writer *w, const program *p, int k)
{
    const char *type = rows_type(p);
    if (w->target->subgroup == FOLD_WIDTH) {
        text_add(&w->body,
                 "static __device__ %s lanes%d(%s x)\n{\n"
                 "    for (int half = 16; half > 0; half /= 2)\n"
                 "        x = join%d(x, (%s)__shfl_down_sync(0xffffffffu, x, half));\n"
                 "    return x;\n}\n\n",
                 type, k, type, k, type);
        return;
    }
    text_add(&w->body,
             "static __device__ %s lanes%d(%s x, %s *s)\n{\n"
             "    const int lane = threadIdx.x & 31, at = threadIdx.x;\n"
             "    s[at] = x;\n    __syncthreads();\n"
             "    for (int half = 16; half > 0; half /= 2) {\n"
             "        if (lane < half)\n"
             "            s[at] = join%d(s[at], s[at + half]);\n"
             "        __syncthreads();\n    }\n"
             "    x = s[at];\n    __syncthreads();\n"
             "    return x;\n}\n\n",
             type, k, type, type, k);
}

void rows_functions(emit_writer *w, const program *p, int k, int64_t rows,
                    const emit_locals *locals, const held_values *held)
{
    rows_value(w, p, k, rows, locals, held);
    if (p->kind != PROGRAM_REDUCE)
        return;
    rows_join(w, p, k);
    write_lanes(w, p, k);
    rows_result(w, p, k, locals);
}

void rows_call_lanes(emit_writer *w, int k)
{
    text_add(&w->body, "lanes%d(a%d%s", k, k, "");
    if (w->target->subgroup != FOLD_WIDTH)
        text_add(&w->body, ", s%d", k);
    text_add(&w->body, ")");
}

void rows_declare_shared(emit_writer *w, const program *p, int k, int chunks)
{
    if (w->target->subgroup != FOLD_WIDTH)
        text_add(&w->body, "    __shared__ %s s%d[%d];\n", rows_type(p), k, BLOCK_THREADS);
    if (chunks)
        text_add(&w->body, "    __shared__ %s chunk%d[%d];\n", rows_type(p), k, chunks);
}

/* ---- rows of one warp each ---- */

/* What is done at one point of the team's row. */
static void write_point(emit_writer *w, const program *p, int k, const char *args,
                        const held_values *held)
{
    if (p->kind == PROGRAM_REDUCE)
        text_add(&w->body, "                a%d = join%d(a%d, value%d(ARGS, %srow, col", k, k, k, k,
                 args);
    else
        text_add(&w->body, "                value%d(ARGS, %srow, col", k, args);
    if (held)
        held_args(w, held);
    text_add(&w->body, p->kind == PROGRAM_REDUCE ? "));\n" : ");\n");
}

/* The loop over the points of the team's row. With held values it is unrolled, and only the last four points of a thread
 * may lie behind the end: the loads of all others depend on nothing and are under way together. */
static void write_points(emit_writer *w, const program *p, int k, int inner, const char *args,
                         const held_values *held)
{
    text_add(&w->body, "        if (here) {\n");
    if (!held) {
        text_add(&w->body, "            for (idx col = lane; col < g.n%d; col += 32)\n", inner);
        write_point(w, p, k, args, NULL);
    } else {
        const int whole = held->each - HELD_STEP;
        if (whole) {
            text_add(&w->body,
                     "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
                     "                const idx col = u * 32 + lane;\n",
                     whole);
            write_point(w, p, k, args, held);
            text_add(&w->body, "            }\n");
        }
        text_add(&w->body,
                 "#pragma unroll\n            for (int u = %d; u < %d; u++) {\n"
                 "                const idx col = u * 32 + lane;\n"
                 "                if (col < g.n%d)\n    ",
                 whole, held->each, inner);
        write_point(w, p, k, args, held);
        text_add(&w->body, "            }\n");
    }
    text_add(&w->body, "        }\n");
}

static void write_short(emit_writer *w, const program *p, int n, int64_t rows,
                        const emit_locals *locals, const held_values *held)
{
    const char *args = LOCAL_ARGS;
    const char *sync = w->target->subgroup == FOLD_WIDTH ? "__syncwarp()" : "__syncthreads()";
    const int r = writer_number(w, rows);
    text_add(&w->body, "extern \"C\" __global__ void ");
    if (held && held_registers(held, p, n) <= HELD_FEW)
        text_add(&w->body, "__launch_bounds__(%d, 3) ", BLOCK_THREADS);
    text_add(&w->body, "rows(PARAMS)\n{\n");
    if (locals && locals->n)
        text_add(&w->body, "    extern __shared__ long long shared[];\n"
                           "    unsigned char *local = (unsigned char *)shared;\n");
    for (int k = 0; k < n; k++)
        if (p[k].kind == PROGRAM_REDUCE)
            rows_declare_shared(w, &p[k], k, 0);
    text_add(&w->body,
             "    const int lane = threadIdx.x & 31, team = threadIdx.x >> 5;\n"
             "    for (idx first = (idx)blockIdx.x * %d; first < g.n%d; first += (idx)gridDim.x * "
             "%d) {\n        const idx row = first + team;\n        const bool here = row < "
             "g.n%d;\n",
             TEAMS, r, TEAMS, r);
    if (held)
        held_declare(w, held);
    for (int k = 0; k < n; k++) {
        const int64_t points = p[k].pre.size / rows;
        const int inner = writer_number(w, points);
        const held_values *own = held && points == held->points ? held : NULL;
        if (k)
            text_add(&w->body, "        %s;\n", sync);
        if (p[k].kind == PROGRAM_REDUCE)
            text_add(&w->body, "        %s a%d = identity%d();\n", rows_type(&p[k]), k, k);
        write_points(w, &p[k], k, inner, args, own);
        if (p[k].kind != PROGRAM_REDUCE)
            continue;
        text_add(&w->body, "        a%d = ", k);
        rows_call_lanes(w, k);
        text_add(&w->body,
                 ";\n        if (here && lane == 0)\n            result%d(ARGS, %srow, a%d);\n", k,
                 args, k);
    }
    text_add(&w->body, "        %s;\n    }\n}\n", sync);
}

/* ---- rows of one block each ---- */

/* Folds the chunks [first, end) of a row into chunk<k>[0]. */
static void write_chunks(emit_writer *w, const program *p, int k, int inner, const char *first,
                         const char *count, const char *args, bool steps)
{
    const char *type = rows_type(p);
    text_add(&w->body,
             "        for (int c0 = 0; c0 < %s; c0 += %d) {\n"
             "            const int c = c0 + warp;\n"
             "            %s a%d = identity%d();\n"
             "            if (c < %s) {\n"
             "                const idx begin = (%s + c) * %d;\n"
             "                const idx end = begin + %d < g.n%d ? begin + %d : g.n%d;\n"
             "                idx from = begin;\n",
             count, TEAMS, type, k, k, count, first, FOLD_CHUNK, FOLD_CHUNK, inner, FOLD_CHUNK,
             inner);
    if (steps)
        text_add(&w->body,
                 "                for (; from + %d <= end; from += %d) {\n"
                 "                    %s x[4];\n"
                 "                    values%d(ARGS, row, from + lane, x);\n"
                 "#pragma unroll\n                    for (int u = 0; u < 4; u++)\n"
                 "                        a%d = join%d(a%d, x[u]);\n                }\n",
                 4 * FOLD_WIDTH, 4 * FOLD_WIDTH, type, k, k, k, k);
    text_add(&w->body,
             "                for (idx col = from + lane; col < end; col += 32)\n"
             "                    a%d = join%d(a%d, value%d(ARGS, %srow, col));\n"
             "            }\n            a%d = ",
             k, k, k, k, args, k);
    rows_call_lanes(w, k);
    text_add(&w->body,
             ";\n            if (lane == 0 && c < %s)\n"
             "                chunk%d[c] = a%d;\n        }\n        __syncthreads();\n"
             "        for (int s = 1; s < %s; s *= 2) {\n"
             "            const int c = threadIdx.x * 2 * s;\n"
             "            if (c + s < %s)\n"
             "                chunk%d[c] = join%d(chunk%d[c], chunk%d[c + s]);\n"
             "            __syncthreads();\n        }\n",
             count, k, k, count, count, k, k, k, k);
}

static void write_long(emit_writer *w, const program *p, int n, int64_t rows,
                       const emit_locals *locals)
{
    const char *args = LOCAL_ARGS;
    const int r = writer_number(w, rows);
    text_add(&w->body, "extern \"C\" __global__ void rows(PARAMS)\n{\n");
    if (locals && locals->n)
        text_add(&w->body, "    extern __shared__ long long shared[];\n"
                           "    unsigned char *local = (unsigned char *)shared;\n"
                           "    const int team = 0;\n");
    for (int k = 0; k < n; k++)
        if (p[k].kind == PROGRAM_REDUCE)
            rows_declare_shared(w, &p[k], k, RANGE_CHUNKS);
    text_add(&w->body,
             "    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;\n"
             "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n",
             r);
    for (int k = 0; k < n; k++) {
        const int64_t size = p[k].pre.size / rows;
        const int inner = writer_number(w, size);
        if (k)
            text_add(&w->body, "        __syncthreads();\n");
        if (p[k].kind == PROGRAM_REDUCE) {
            text_add(&w->body, "        const int chunks%d = (int)((g.n%d + %d) / %d);\n", k, inner,
                     FOLD_CHUNK - 1, FOLD_CHUNK);
            char count[32];
            snprintf(count, sizeof count, "chunks%d", k);
            write_chunks(w, &p[k], k, inner, "0", count, args, false);
            text_add(
                &w->body,
                "        if (threadIdx.x == 0)\n            result%d(ARGS, %srow, chunk%d[0]);\n",
                k, args, k);
        } else
            text_add(&w->body,
                     "        for (idx col = threadIdx.x; col < g.n%d; col += %d)\n"
                     "            value%d(ARGS, %srow, col);\n",
                     inner, BLOCK_THREADS, k, args);
    }
    text_add(&w->body, "        __syncthreads();\n    }\n}\n");
}

/* ---- which temporaries lie in shared memory ---- */

static int64_t longest_row(const program *p, int n, int64_t rows)
{
    int64_t most = 0;
    for (int k = 0; k < n; k++)
        most = p[k].pre.size / rows > most ? p[k].pre.size / rows : most;
    return most;
}

/* Lays out the slots that the chain keeps by rows; returns the bytes of dynamic shared memory, or 0 with
 * none laid out. */
static ig_status find_locals(const program *p, const emit_target *t, int teams,
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
        const size_t size = (size_t)l->row_bytes * (size_t)teams;
        locals->at[locals->n++] =
            (emit_local){.slot = l->slot, .own = l->row_bytes, .offset = (int64_t)*bytes};
        *bytes += (size + 15) & ~(size_t)15;
    }
    const uint64_t room = t->shared_bytes > 8192 ? t->shared_bytes - 8192 : 0;
    if (*bytes > room)
        FAIL(IG_ERR_UNSUPPORTED,
             "the rows of a chain need %zu bytes of shared memory; the device has %llu", *bytes,
             (unsigned long long)t->shared_bytes);
    return IG_OK;
}

void rows_set_lengths(const program *p, int n, emit_locals *locals)
{
    for (int i = 0; i < locals->n; i++) {
        emit_local *l = &locals->at[i];
        int64_t element = 0;
        for (int k = 0; k < n && !element; k++) {
            const tape *tapes[2] = {&p[k].pre, &p[k].post};
            for (int j = 0; j < 2; j++)
                for (int o = 0; o < tapes[j]->n_operand && !element; o++)
                    if (tapes[j]->operand[o].slot == l->slot)
                        element = (int64_t)ig_dtype_bytes(tapes[j]->operand[o].dtype);
        }
        l->own /= element ? element : 1;
    }
}

ig_status emit_rows(const program *p, int n, const emit_target *t, emitted *out)
{
    const int64_t rows = n > 1 ? p->rows : p->outer, most = longest_row(p, n, rows);
    const bool is_short = most <= FOLD_CHUNK && !t->cpu;
    const int teams = is_short ? TEAMS : 1;
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
    }
    ig_status status = find_locals(p, t, teams, held, &locals, &shared);
    if (status == IG_OK) {
        rows_set_lengths(p, n, &locals);
        for (int k = 0; k < n; k++)
            rows_functions(&w, &p[k], k, rows, &locals,
                           held && p[k].pre.size / rows == held->points ? held : NULL);
        if (t->cpu)
            rows_serial_chain(&w, p, n, rows, &locals);
        else if (is_short)
            write_short(&w, p, n, rows, &locals, held);
        else
            write_long(&w, p, n, rows, &locals);
        const uint32_t grid[3] = {rows_grid(ceil_div(rows, teams), t), 1, 1};
        const uint32_t block[3] = {t->cpu ? 1 : BLOCK_THREADS, 1, 1};
        status = writer_finish(&w, "rows", grid, block, shared);
    }
    memory_free(locals.at);
    writer_drop(&w);
    return status;
}

/* ---- long rows: ranges of chunks, then their values ---- */

/* The values of the ranges follow `before` others in scratch memory. */
static void write_range_kernel(emit_writer *w, const program *p, int ranges, int range, bool steps,
                               int64_t before)
{
    const int inner = writer_number(w, p->inner), rows = writer_number(w, p->outer);
    const uint64_t bytes = ig_dtype_bytes(dtype_lane(p->dtype));
    const int partial = writer_scratch(w, rows_type(p), (uint64_t)before * bytes);
    text_add(&w->body, "extern \"C\" __global__ void ranges(PARAMS)\n{\n");
    rows_declare_shared(w, p, 0, RANGE_CHUNKS);
    text_add(
        &w->body,
        "    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;\n"
        "    const int chunks = (int)((g.n%d + %d) / %d);\n"
        "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
        "        const idx row = job / g.n%d;\n"
        "        const int first = (int)(job %% g.n%d) * (int)g.n%d;\n"
        "        const int here = chunks - first < (int)g.n%d ? chunks - first : (int)g.n%d;\n",
        inner, FOLD_CHUNK - 1, FOLD_CHUNK, rows, ranges, ranges, ranges, range, range, range);
    write_chunks(w, p, 0, inner, "(idx)first", "here", "", steps);
    text_add(&w->body,
             "        if (threadIdx.x == 0)\n            p%d[job] = chunk0[0];\n"
             "        __syncthreads();\n    }\n}\n",
             partial);
}

/* Joins the values of each row's ranges pairwise, in place, a block for each row. */
static ig_status emit_join_ranges(const program *p, const emit_target *t, int64_t ranges,
                                  emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    rows_result(&w, p, 0, NULL);
    const int n = writer_number(&w, ranges), rows = writer_number(&w, p->outer);
    const int partial = writer_scratch(&w, rows_type(p), 0);
    text_add(&w.body,
             "extern \"C\" __global__ void join_ranges(PARAMS)\n{\n"
             "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
             "        %s *v = p%d + row * g.n%d;\n"
             "        for (idx s = 1; s < g.n%d; s *= 2) {\n"
             "            for (idx c = (idx)threadIdx.x * 2 * s; c + s < g.n%d; c += %d * 2 * s)\n"
             "                v[c] = join0(v[c], v[c + s]);\n"
             "            __syncthreads();\n        }\n"
             "        if (threadIdx.x == 0)\n            result0(ARGS, row, v[0]);\n    }\n}\n",
             rows, rows_type(p), partial, n, n, n, BLOCK_THREADS);
    const uint32_t grid[3] = {rows_grid(p->outer, t), 1, 1}, block[3] = {BLOCK_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "join_ranges", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* The first kernel; `before` ranges have values already. */
static ig_status emit_fold_ranges(const program *p, const emit_target *t, int64_t range,
                                  int64_t before, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK), ranges = ceil_div(chunks, range);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const bool steps = t->subgroup == FOLD_WIDTH && p->inner % 4 == 0 && emit_has_steps(&p->pre);
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    if (steps)
        write_values(&w, p, 0, p->outer);
    rows_join(&w, p, 0);
    write_lanes(&w, p, 0);
    const int n = writer_number(&w, ranges), size = writer_number(&w, range);
    write_range_kernel(&w, p, n, size, steps, before);
    const uint32_t grid[3] = {rows_grid(p->outer * ranges, t), 1, 1},
                   block[3] = {BLOCK_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "ranges", grid, block, 0);
    writer_drop(&w);
    return status;
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
    const uint64_t bytes = (uint64_t)(p->outer * ranges) * 8;
    out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
    return emit_join_ranges(p, t, ranges, out);
}

/* ---- a thread for each row: short rows, and rows that lie across memory ---- */

/* The values of `parts` parts of each row, in scratch by part and row, joined pairwise; a thread for each row. */
ig_status rows_join_parts(const program *p, const emit_target *t, int64_t parts, emitted *out)
{
    const int threads = t->cpu ? 1 : BLOCK_THREADS;
    const uint64_t bytes = (uint64_t)(p->outer * parts) * 8;
    emit_writer w;
    out->scratch_bytes = bytes > out->scratch_bytes ? bytes : out->scratch_bytes;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    rows_result(&w, p, 0, NULL);
    const int n = writer_number(&w, parts), r = writer_number(&w, p->outer);
    const int partial = writer_scratch(&w, rows_type(p), 0);
    text_add(&w.body,
             "extern \"C\" __global__ void join_chunks(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row >= g.n%d)\n        return;\n"
             "    for (idx s = 1; s < g.n%d; s *= 2)\n"
             "        for (idx c = 0; c + s < g.n%d; c += 2 * s)\n"
             "            p%d[c * g.n%d + row] = join0(p%d[c * g.n%d + row], p%d[(c + s) * g.n%d + "
             "row]);\n"
             "    result0(ARGS, row, p%d[row]);\n}\n",
             threads, r, n, n, partial, r, partial, r, partial, r, partial);
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, threads), 1, 1};
    const uint32_t block[3] = {(uint32_t)threads, 1, 1};
    const ig_status status = writer_finish(&w, "join_chunks", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* Rows of one chunk at most give results; longer ones give a value for each chunk. */
static ig_status emit_across(const program *p, const emit_target *t, emitted *out)
{
    const int64_t chunks = ceil_div(p->inner, FOLD_CHUNK);
    const char *type = rows_type(p);
    int width = 1;
    emit_writer w;
    while (width < FOLD_WIDTH && width < p->inner)
        width *= 2;
    const bool once = p->inner <= FOLD_WIDTH;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_value(&w, p, 0, p->outer, NULL, NULL);
    rows_join(&w, p, 0);
    if (chunks == 1)
        rows_result(&w, p, 0, NULL);
    const int rows = writer_number(&w, p->outer), inner = writer_number(&w, p->inner);
    text_add(&w.body,
             "extern \"C\" __global__ void across(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row < g.n%d) {\n"
             "    const idx begin = (idx)blockIdx.y * %d;\n"
             "    const idx end = begin + %d < g.n%d ? begin + %d : g.n%d;\n"
             "    %s a[%d];\n"
             "#pragma unroll\n    for (int k = 0; k < %d; k++)\n        a[k] = identity0();\n"
             "    idx col = begin;\n",
             BLOCK_THREADS, rows, FOLD_CHUNK, FOLD_CHUNK, inner, FOLD_CHUNK, inner, type, width,
             width);
    if (!once)
        text_add(&w.body,
                 "    for (; col + %d <= end; col += %d) {\n"
                 "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
                 "            a[k] = join0(a[k], value0(ARGS, row, col + k));\n    }\n",
                 width, width, width);
    text_add(&w.body,
             "#pragma unroll\n    for (int k = 0; k < %d; k++)\n"
             "        if (col + k < end)\n"
             "            a[k] = join0(a[k], value0(ARGS, row, col + k));\n",
             width);
    for (int half = width / 2; half > 0; half /= 2)
        text_add(&w.body,
                 "#pragma unroll\n    for (int k = 0; k < %d; k++)\n"
                 "        a[k] = join0(a[k], a[k + %d]);\n",
                 half, half);
    if (chunks == 1)
        text_add(&w.body, "    result0(ARGS, row, a[0]);\n    }\n}\n");
    else
        text_add(&w.body, "    p%d[(idx)blockIdx.y * g.n%d + row] = a[0];\n    }\n}\n",
                 writer_scratch(&w, type, 0), rows);
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, BLOCK_THREADS), (uint32_t)chunks, 1};
    const uint32_t block[3] = {BLOCK_THREADS, 1, 1};
    ig_status status = writer_finish(&w, "across", grid, block, 0);
    writer_drop(&w);
    if (status != IG_OK || chunks == 1)
        return status;
    return rows_join_parts(p, t, chunks, out);
}

/* ---- rows without elements ---- */

/* The identity; a sum's is +0, and a bool's is 0 or 1. */
static ig_status emit_empty(const program *p, const emit_target *t, emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    rows_join(&w, p, 0);
    rows_result(&w, p, 0, NULL);
    const int rows = writer_number(&w, p->outer);
    const char *type = rows_type(p);
    text_add(&w.body,
             "extern \"C\" __global__ void empty(PARAMS)\n{\n"
             "    const idx row = (idx)blockIdx.x * %d + threadIdx.x;\n"
             "    if (row < g.n%d)\n        result0(ARGS, row, ",
             BLOCK_THREADS, rows);
    if (p->fold == OP_sum)
        text_add(&w.body, "(%s)0);\n}\n", type);
    else if (p->dtype == IG_BOOL)
        text_add(&w.body, "(%s)(identity0() != 0));\n}\n", type);
    else
        text_add(&w.body, "identity0());\n}\n");
    const uint32_t grid[3] = {(uint32_t)ceil_div(p->outer, BLOCK_THREADS), 1, 1};
    const uint32_t block[3] = {BLOCK_THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "empty", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* ---- which kernel ---- */

/* True if most of what the tape loads and stores lies along the outer part. */
static bool lies_across(const tape *t, int axis)
{
    int votes = 0;
    for (int k = 0; k < t->n_inst; k++) {
        const int code = t->inst[k].code;
        if (code != TAPE_LOAD && code != TAPE_STORE)
            continue;
        const view *v = &t->operand[t->inst[k].operand].v;
        votes += (v->stride[axis - 1] == 1) - (v->stride[v->ndim - 1] == 1);
    }
    return votes > 0;
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
    const int axis = emit_split_axis(&p->pre, p->inner);
    const bool across = axis > 0 && axis < p->pre.ndim && lies_across(&p->pre, axis);
    if (t->cpu)
        return emit_fold_serial(p, t, out);
    if (p->inner <= FOLD_WIDTH || (across && p->outer >= 64 && chunks <= 65535))
        return emit_across(p, t, out);
    int64_t range = RANGE_CHUNKS;
    const int64_t wanted = t->block_limit ? (int64_t)t->block_limit : 1024;
    while (range > TEAMS && p->outer * ceil_div(chunks, range) < wanted)
        range /= 2;
    if (chunks > range)
        return emit_ranges(p, t, range, out);
    return emit_range_points(p, t, p->inner) ? emit_rows(p, 1, t, out) : emit_too_large(t);
}
