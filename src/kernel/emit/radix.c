/* Radix sort of items by rows, stable, DIGIT_BITS bits of the key at a time, the lowest first. A pass is three
 * launches. Rows are cut into tiles, which blocks take.
 *
 *   radix_count   how often each digit occurs in each tile: count[row][digit][tile]
 *   radix_sum     counts become sums over the tiles before, and total[row][digit]
 *   radix_move    each tile is sorted by its digit in shared memory, in two steps of four bits, and is written
 *                 to its places: runs of one digit lie side by side
 *
 * In a step of radix_move a thread has EACH neighbouring items and counts their digits in counters of its
 * own; the running sums of all counters, by digit and then by thread, are the places. */
#include "kernel/emit/indexed.h"

#include "base/error.h"

#include <stdio.h>

enum {
    THREADS = INDEXED_THREADS,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    STEP_BITS = 4,
    STEP_DIGITS = 1 << STEP_BITS
};

/* Items of a thread; a tile has to fit in shared memory. */
static int each_of(const radix *r) { return r->item_bytes > 4 ? 8 : 16; }
static int64_t tile_of(const radix *r) { return (int64_t)THREADS * each_of(r); }
static int64_t tiles_of(const radix *r) { return ceil_div(r->inner, tile_of(r)); }

uint64_t radix_layout(radix *r)
{
    const uint64_t n = (uint64_t)(r->rows * r->inner);
    uint64_t at = 0;
    for (int i = 0; i < 2; i++) {
        r->item[i] = at;
        at += align_up(n * (uint64_t)r->item_bytes);
        r->number[i] = at;
        at += r->numbers ? align_up(n * 4) : 0;
    }
    r->count = at;
    at += align_up((uint64_t)(r->rows * tiles_of(r)) * DIGITS * 4);
    r->total = at;
    return at + align_up((uint64_t)r->rows * DIGITS * 4);
}

/* ---- what the launches of a pass share ---- */

typedef struct pass {
    const radix *r;
    int index;
    bool first, last; /* reads the operand; writes the program's result */
} pass;

static void write_item_functions(emit_writer *w, const pass *p)
{
    const radix *r = p->r;
    const operand *o = r->in;
    char from[64];
    if (p->first) {
        const int in = writer_operand(w, o, false);
        write_bits_of(w, o->dtype);
        write_place(w, "place", &o->v, r->inner);
        snprintf(from, sizeof from, "bits_of(p%d[place(g, row, col)])", in);
    } else
        snprintf(from, sizeof from, "p%d[row * g.n%d + col]",
                 writer_scratch(w, r->type, r->item[p->index & 1]), writer_number(w, r->inner));
    text_add(&w->body,
             "static __device__ %s item_at(PARAMS, idx row, idx col)\n{\n    return %s;\n}\n\n",
             r->type, from);
    if (r->out)
        write_key_of(w, r->out->in[0].dtype, r->out->descending);
    else
        text_add(&w->body, "static __device__ %s key_of(%s x)\n{\n    return x;\n}\n\n", r->type,
                 r->type);
    text_add(&w->body,
             "static __device__ unsigned int digit_of(sizes g, %s x)\n{\n"
             "    return (unsigned int)(key_of(x) >> (int)g.n%d) & %uu;\n}\n\n",
             r->type, writer_number(w, p->index * DIGIT_BITS), DIGITS - 1);
}

static ig_status start(emit_writer *w, const radix *r, const emit_target *t, emitted *out)
{
    TRY(writer_start(w, t, out));
    w->wide = r->wide;
    return IG_OK;
}

static ig_status finish(emit_writer *w, const char *entry, int64_t blocks)
{
    const uint32_t grid[3] = {indexed_grid(blocks, w->target), 1, 1}, block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(w, entry, grid, block, 0);
    writer_drop(w);
    return status;
}

/* before(x, s): the sum of x of the threads before; all threads call it. s has THREADS elements. */
static void write_before(emit_writer *w)
{
    if (w->target->subgroup == 32)
        text_add(&w->body,
                 "static __device__ unsigned int before(unsigned int x, unsigned int *s)\n{\n"
                 "    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;\n"
                 "    unsigned int sum = x;\n"
                 "    for (int step = 1; step < 32; step *= 2) {\n"
                 "        const unsigned int y = __shfl_up_sync(0xffffffffu, sum, step);\n"
                 "        sum += lane >= step ? y : 0u;\n    }\n"
                 "    if (lane == 31)\n        s[warp] = sum;\n    __syncthreads();\n"
                 "    unsigned int all = 0;\n"
                 "#pragma unroll\n    for (int k = 0; k < %d; k++)\n"
                 "        all += k < warp ? s[k] : 0u;\n    __syncthreads();\n"
                 "    return all + sum - x;\n}\n\n",
                 THREADS / 32 - 1);
    else
        text_add(&w->body,
                 "static __device__ unsigned int before(unsigned int x, unsigned int *s)\n{\n"
                 "    const int t = threadIdx.x;\n    s[t] = x;\n    __syncthreads();\n"
                 "    for (int step = 1; step < %d; step *= 2) {\n"
                 "        const unsigned int y = t >= step ? s[t - step] : 0u;\n"
                 "        __syncthreads();\n        s[t] += y;\n        __syncthreads();\n    }\n"
                 "    const unsigned int sum = s[t];\n    __syncthreads();\n"
                 "    return sum - x;\n}\n\n",
                 THREADS);
}

/* ---- the launches ---- */

static ig_status emit_count(const pass *p, const emit_target *t, emitted *out)
{
    const radix *r = p->r;
    emit_writer w;
    TRY(start(&w, r, t, out));
    write_item_functions(&w, p);
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int rows = writer_number(&w, r->rows), inner = writer_number(&w, r->inner);
    const int tiles = writer_number(&w, tiles_of(r));
    /* Neighbours are often equal, so a thread counts runs. */
    text_add(&w.body,
             "extern \"C\" __global__ void radix_count(PARAMS)\n{\n"
             "    __shared__ unsigned int n[%d];\n    const int t = threadIdx.x;\n"
             "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
             "        const idx row = job / g.n%d, tile = job %% g.n%d;\n"
             "        n[t] = 0;\n        __syncthreads();\n"
             "        unsigned int now = 0, run = 0;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
             "            const idx col = tile * %lld + u * %d + t;\n"
             "            if (col < g.n%d) {\n"
             "                const unsigned int digit = digit_of(g, item_at(ARGS, row, col));\n"
             "                if (digit != now && run) {\n"
             "                    atomicAdd(&n[now], run);\n                    run = 0;\n"
             "                }\n                now = digit;\n                run++;\n"
             "            }\n        }\n"
             "        if (run)\n            atomicAdd(&n[now], run);\n        __syncthreads();\n"
             "        p%d[(row * %d + t) * g.n%d + tile] = n[t];\n"
             "        __syncthreads();\n    }\n}\n",
             DIGITS, rows, tiles, tiles, tiles, each_of(r), (long long)tile_of(r), THREADS, inner,
             count, DIGITS, tiles);
    return finish(&w, "radix_count", r->rows * tiles_of(r));
}

/* A block for each row and digit. */
static ig_status emit_sum(const radix *r, const emit_target *t, emitted *out)
{
    enum { EACH = 4 };
    emit_writer w;
    TRY(start(&w, r, t, out));
    write_before(&w);
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int total = writer_scratch(&w, "unsigned int", r->total);
    const int rows = writer_number(&w, r->rows), tiles = writer_number(&w, tiles_of(r));
    text_add(&w.body,
             "extern \"C\" __global__ void radix_sum(PARAMS)\n{\n"
             "    __shared__ unsigned int s[%d];\n    __shared__ unsigned int end;\n"
             "    for (idx job = blockIdx.x; job < g.n%d * %d; job += gridDim.x) {\n"
             "        unsigned int *n = p%d + job * g.n%d;\n        unsigned int sum = 0;\n"
             "        for (idx first = 0; first < g.n%d; first += %d) {\n"
             "            const idx at = first + (idx)threadIdx.x * %d;\n"
             "            unsigned int x[%d], own = 0;\n"
             "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
             "                x[u] = at + u < g.n%d ? n[at + u] : 0u;\n"
             "                own += x[u];\n            }\n"
             "            unsigned int run = sum + before(own, s);\n"
             "            if (threadIdx.x == %d)\n                end = run + own;\n"
             "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
             "                if (at + u < g.n%d)\n                    n[at + u] = run;\n"
             "                run += x[u];\n            }\n"
             "            __syncthreads();\n            sum = end;\n            __syncthreads();\n"
             "        }\n        if (threadIdx.x == 0)\n            p%d[job] = sum;\n    }\n}\n",
             THREADS, rows, DIGITS, count, tiles, tiles, THREADS * EACH, EACH, EACH, EACH, tiles,
             THREADS - 1, EACH, tiles, total);
    return finish(&w, "radix_sum", r->rows * DIGITS);
}

/* The thread's items, read from shared memory: neighbours. */
static void write_take(emit_writer *w, const radix *r)
{
    text_add(&w->body,
             "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
             "                const int at = t * %d + u;\n"
             "                x[u] = item[at + at / %d];\n",
             each_of(r), each_of(r), each_of(r));
    if (r->numbers)
        text_add(&w->body, "                y[u] = number[at + at / %d];\n", each_of(r));
    text_add(&w->body, "            }\n");
}

/* A step: the tile in shared memory sorted by four bits of its digits. */
static void write_step(emit_writer *w, const radix *r)
{
    const int each = each_of(r);
    text_add(&w->body, "        for (int shift = 0; shift < %d; shift += %d) {\n", DIGIT_BITS,
             STEP_BITS);
    write_take(w, r);
    text_add(&w->body,
             "#pragma unroll\n            for (int d = 0; d < %d; d++)\n"
             "                n[d * %d + t] = 0;\n"
             "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
             "                const unsigned int d = t * %d + u < here ? digit_of(g, x[u]) >> "
             "shift & %uu : %uu;\n"
             "                place[u] = (int)(d * %du + t);\n"
             "                rank[u] = n[place[u]];\n"
             "                n[place[u]] = (unsigned short)(rank[u] + 1);\n            }\n"
             "            __syncthreads();\n",
             STEP_DIGITS, THREADS, each, each, STEP_DIGITS - 1, STEP_DIGITS - 1, THREADS);
    text_add(&w->body,
             "            unsigned int own = 0;\n"
             "#pragma unroll\n            for (int k = 0; k < %d; k++)\n"
             "                own += n[t * %d + k];\n"
             "            unsigned int run = before(own, s);\n"
             "#pragma unroll\n            for (int k = 0; k < %d; k++) {\n"
             "                const unsigned int now = n[t * %d + k];\n"
             "                n[t * %d + k] = (unsigned short)run;\n"
             "                run += now;\n            }\n            __syncthreads();\n",
             STEP_DIGITS, STEP_DIGITS, STEP_DIGITS, STEP_DIGITS, STEP_DIGITS);
    text_add(&w->body,
             "#pragma unroll\n            for (int u = 0; u < %d; u++) {\n"
             "                const int to = n[place[u]] + rank[u];\n"
             "                item[to + to / %d] = x[u];\n",
             each, each);
    if (r->numbers)
        text_add(&w->body, "                number[to + to / %d] = y[u];\n", each);
    text_add(&w->body, "            }\n            __syncthreads();\n        }\n");
}

/* Statements that write the item at `j` of the tile to place `to` of its row. */
static void write_out(emit_writer *w, const pass *p)
{
    const radix *r = p->r;
    if (p->last) {
        const program *q = r->out;
        const int to = writer_operand(w, &q->out, true);
        const ig_dtype dtype = q->out.dtype;
        text_add(&w->body,
                 "            if (to < g.n%d)\n                p%d[target(g, row, to)] = ",
                 writer_number(w, q->kept), to);
        if (q->kind == PROGRAM_ARGSORT)
            text_add(&w->body, "(%s)number[j + j / %d];\n", emit_storage_type(dtype), each_of(r));
        else if (dtype == IG_F32)
            text_add(&w->body, "__uint_as_float(x);\n");
        else if (dtype == IG_F64)
            text_add(&w->body, "__longlong_as_double((long long)x);\n");
        else
            text_add(&w->body, "(%s)x;\n", emit_storage_type(dtype));
        return;
    }
    const int inner = writer_number(w, r->inner);
    text_add(&w->body, "            p%d[row * g.n%d + to] = x;\n",
             writer_scratch(w, r->type, r->item[~p->index & 1]), inner);
    if (r->numbers)
        text_add(&w->body, "            p%d[row * g.n%d + to] = number[j + j / %d];\n",
                 writer_scratch(w, "unsigned int", r->number[~p->index & 1]), inner, each_of(r));
}

static ig_status emit_move(const pass *p, const emit_target *t, emitted *out)
{
    const radix *r = p->r;
    const int each = each_of(r), tile = (int)tile_of(r), room = tile + tile / each;
    emit_writer w;
    TRY(start(&w, r, t, out));
    write_item_functions(&w, p);
    write_before(&w);
    if (p->last)
        write_place(&w, "target", &r->out->out.v, r->out->kept);
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int total = writer_scratch(&w, "unsigned int", r->total);
    const int rows = writer_number(&w, r->rows), inner = writer_number(&w, r->inner);
    const int tiles = writer_number(&w, tiles_of(r));
    text_add(&w.body,
             "extern \"C\" __global__ void radix_move(PARAMS)\n{\n"
             "    __shared__ %s item[%d];\n    __shared__ unsigned short n[%d];\n"
             "    __shared__ unsigned int s[%d], base[%d];\n",
             r->type, room, STEP_DIGITS * THREADS, THREADS, DIGITS);
    if (r->numbers)
        text_add(&w.body, "    __shared__ unsigned int number[%d];\n    unsigned int y[%d];\n",
                 room, each);
    text_add(&w.body,
             "    const int t = threadIdx.x;\n    %s x[%d];\n    int place[%d], rank[%d];\n"
             "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
             "        const idx row = job / g.n%d, tile = job %% g.n%d, first = tile * %d;\n"
             "        const int here = g.n%d - first < %d ? (int)(g.n%d - first) : %d;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
             "            const int j = u * %d + t;\n"
             "            item[j + j / %d] = j < here ? item_at(ARGS, row, first + j) : (%s)0;\n",
             r->type, each, each, each, rows, tiles, tiles, tiles, tile, inner, tile, inner, tile,
             each, THREADS, each, r->type);
    if (r->numbers && p->first)
        text_add(&w.body, "            number[j + j / %d] = (unsigned int)(first + j);\n", each);
    else if (r->numbers)
        text_add(&w.body,
                 "            number[j + j / %d] = j < here ? p%d[row * g.n%d + first + j] : 0u;\n",
                 each, writer_scratch(&w, "unsigned int", r->number[p->index & 1]), inner);
    text_add(&w.body, "        }\n        __syncthreads();\n");
    write_step(&w, r);
    /* base[digit] + place in the tile = place in the row. */
    text_add(
        &w.body,
        "        const unsigned int zero = before(p%d[row * %d + t], s) + p%d[(row * %d + t) * "
        "g.n%d + tile];\n"
        "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
        "            const int j = u * %d + t, k = j - 1;\n"
        "            if (j < here) {\n"
        "                const unsigned int d = digit_of(g, item[j + j / %d]);\n"
        "                if (j == 0 || digit_of(g, item[k + k / %d]) != d)\n"
        "                    base[d] = (unsigned int)j;\n            }\n        }\n"
        "        __syncthreads();\n        base[t] = zero - base[t];\n"
        "        __syncthreads();\n"
        "        for (int j = t; j < here; j += %d) {\n"
        "            const %s x = item[j + j / %d];\n"
        "            const idx to = (idx)(base[digit_of(g, x)] + (unsigned int)j);\n",
        total, DIGITS, count, DIGITS, tiles, each, THREADS, each, each, THREADS, r->type, each);
    write_out(&w, p);
    text_add(&w.body, "        }\n        __syncthreads();\n    }\n}\n");
    return finish(&w, "radix_move", r->rows * tiles_of(r));
}

ig_status radix_sort(const radix *r, const emit_target *t, emitted *out, int *last)
{
    const int passes = (r->bits + DIGIT_BITS - 1) / DIGIT_BITS;
    for (int i = 0; i < passes; i++) {
        const pass p = {
            .r = r, .index = i, .first = r->in && i == 0, .last = r->out && i == passes - 1};
        TRY(emit_count(&p, t, out));
        TRY(emit_sum(r, t, out));
        TRY(emit_move(&p, t, out));
    }
    *last = passes & 1;
    return IG_OK;
}
