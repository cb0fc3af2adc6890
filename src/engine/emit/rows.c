/* Kernels that work row by row: reductions along rows, and chains of reductions and maps.
 *
 * A team of threads takes one row through all programs: a warp if rows have at most FOLD_CHUNK values, else
 * a block. A reduction follows the order of the CPU: a row is cut into chunks of FOLD_CHUNK values, value i
 * of a chunk goes to lane i % 32, lanes are joined by halving, and chunks pairwise. So each warp folds
 * chunks, and the chunks of a row are joined in shared memory.
 *
 * Temporaries that only the chain sees lie in shared memory. */
#include "engine/emit/rows.h"

#include "engine/emit/held.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>

/* Registers: with so few held, a thread needs at most 80 in all, or 64. So three or four blocks run at a time. */
enum { HELD_FEW = 40, HELD_FEWER = 24 };

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
        /* The last values of a thread may be behind the end of the row. */
        const int whole =
            held->points == (int64_t)held->each * FOLD_WIDTH ? held->each : held->each - HELD_STEP;
        if (whole) {
            text_add(&w->body,
                     "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
                     "                const idx col = u * 32 + lane;\n",
                     whole);
            write_point(w, p, k, args, held);
            text_add(&w->body, "            }\n");
        }
        if (whole < held->each) {
            text_add(&w->body,
                     "#pragma unroll\n            for (int u = %d; u < %d; u++) {\n"
                     "                const idx col = u * 32 + lane;\n"
                     "                if (col < g.n%d)\n    ",
                     whole, held->each, inner);
            write_point(w, p, k, args, held);
            text_add(&w->body, "            }\n");
        }
    }
    text_add(&w->body, "        }\n");
}

static void write_short(emit_writer *w, const program *p, int n, int64_t rows, int teams,
                        const emit_locals *locals, const held_values *held)
{
    const char *args = ROWS_ARGS(locals);
    const char *sync = w->target->subgroup == FOLD_WIDTH ? "__syncwarp()" : "__syncthreads()";
    const int r = writer_number(w, rows);
    text_add(&w->body, "extern \"C\" __global__ void ");
    const int held_most = held ? held_registers(held, p, n) : HELD_FEW + 1;
    if (held_most <= HELD_FEW)
        text_add(&w->body, "__launch_bounds__(%d, %d) ", teams * FOLD_WIDTH,
                 held_most <= HELD_FEWER ? 4 : 3);
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
             teams, r, teams, r);
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

void rows_chunks(emit_writer *w, const program *p, int k, int inner, const char *first,
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
             count, ROWS_TEAMS, type, k, k, count, first, FOLD_CHUNK, FOLD_CHUNK, inner, FOLD_CHUNK,
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
    const char *args = ROWS_ARGS(locals);
    const int r = writer_number(w, rows);
    text_add(&w->body, "extern \"C\" __global__ void rows(PARAMS)\n{\n");
    if (locals && locals->n)
        text_add(&w->body, "    extern __shared__ long long shared[];\n"
                           "    unsigned char *local = (unsigned char *)shared;\n"
                           "    const int team = 0;\n");
    for (int k = 0; k < n; k++)
        if (p[k].kind == PROGRAM_REDUCE)
            rows_declare_shared(w, &p[k], k, ROWS_CHUNKS);
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
            rows_chunks(w, &p[k], k, inner, "0", count, args, false);
            text_add(
                &w->body,
                "        if (threadIdx.x == 0)\n            result%d(ARGS, %srow, chunk%d[0]);\n",
                k, args, k);
        } else
            text_add(&w->body,
                     "        for (idx col = threadIdx.x; col < g.n%d; col += %d)\n"
                     "            value%d(ARGS, %srow, col);\n",
                     inner, ROWS_THREADS, k, args);
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

ig_status emit_rows(const program *p, int n, const emit_target *t, emitted *out)
{
    const int64_t rows = n > 1 ? p->rows : p->outer, most = longest_row(p, n, rows);
    const bool is_short = most <= FOLD_CHUNK && !t->cpu;
    int teams = is_short ? ROWS_TEAMS : 1;
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
        w.restricts = held != NULL;
    }
    /* Few rows are spread over all processors. */
    while (held && teams > 1 && rows < (int64_t)teams * t->processors)
        teams /= 2;
    ig_status status = find_locals(p, t, teams, held, &locals, &shared);
    if (status == IG_OK && held && program_checks())
        status = held_check(held, p, n, rows);
    if (status == IG_OK) {
        rows_set_lengths(p, n, &locals);
        for (int k = 0; k < n; k++)
            rows_functions(&w, &p[k], k, rows, &locals,
                           held && p[k].pre.size / rows == held->points ? held : NULL);
        if (t->cpu)
            rows_serial_chain(&w, p, n, rows, &locals);
        else if (is_short)
            write_short(&w, p, n, rows, teams, &locals, held);
        else
            write_long(&w, p, n, rows, &locals);
        const uint32_t grid[3] = {rows_grid(ceil_div(rows, teams), t), 1, 1};
        const uint32_t threads = is_short ? (uint32_t)(teams * FOLD_WIDTH) : ROWS_THREADS;
        const uint32_t block[3] = {t->cpu ? 1 : threads, 1, 1};
        status = writer_finish(&w, "rows", grid, block, shared);
    }
    memory_free(locals.at);
    writer_drop(&w);
    return status;
}
