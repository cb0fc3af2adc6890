/* Radix sort of items by rows, stable, DIGIT_BITS bits of the key at a time, the lowest first. A pass is three
 * launches. Rows are cut into tiles, which blocks take.
 *
 *   radix_count   how often each digit occurs in each tile: count[row][digit][tile]
 *   radix_sum     counts become sums over the tiles before, and total[row][digit]
 *   radix_move    each tile is sorted by its digit in shared memory and is written to its places: runs of one
 *                 digit lie side by side
 *
 * On a CPU a block is one thread, and all three are plain loops. How radix_move sorts elsewhere: where lanes can
 * vote, a warp takes a part of the tile, 32 items at a time, and counts their digits in counters of its own; votes tell
 * which lanes have the same digit. Elsewhere there are two steps of four bits: a thread has `each` neighbouring items
 * and counts digits in counters of its own, and the running sums of all counters, by digit and then by thread, are the
 * places. */
#include "engine/emit/indexed.h"

#include "base/error.h"

#include <stdio.h>

enum {
    THREADS = INDEXED_THREADS,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    STEP_BITS = 4,
    STEP_DIGITS = 1 << STEP_BITS,
    SUM_PARTS = 16, /* parts that threads sum up where lanes cannot shuffle */
    SUM_ROOM = THREADS + SUM_PARTS
};

static int64_t tile_of(const radix *r) { return (int64_t)THREADS * r->each; }
static int64_t tiles_of(const radix *r) { return ceil_div(r->inner, tile_of(r)); }

/* Shared memory of radix_move: the tile, padded by an item for each thread, and counters. */
static uint64_t move_bytes(const radix *r)
{
    const int item = r->item_bytes + (r->numbers ? 4 : 0);
    return (uint64_t)(THREADS * (r->each + 1) * item + STEP_DIGITS * THREADS * 2 +
                      (SUM_ROOM + DIGITS) * 4);
}

uint64_t radix_layout(radix *r, const emit_target *t)
{
    r->each = r->item_bytes > 4 ? 8 : 16;
    while (r->each > 1 && !t->cpu && move_bytes(r) > t->shared_bytes)
        r->each /= 2;
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
    const uint32_t grid[3] = {indexed_grid(blocks, w->target), 1, 1};
    const uint32_t block[3] = {w->target->cpu ? 1 : THREADS, 1, 1};
    const ig_status status = writer_finish(w, entry, grid, block, 0);
    writer_drop(w);
    return status;
}

/* before(x, s): the sum of x of the threads before; all threads call it. s has SUM_ROOM elements. */
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
                 "    if (t < %d) {\n        unsigned int run = 0;\n"
                 "        for (int k = t * %d; k < (t + 1) * %d; k++) {\n"
                 "            const unsigned int now = s[k];\n            s[k] = run;\n"
                 "            run += now;\n        }\n        s[%d + t] = run;\n    }\n"
                 "    __syncthreads();\n    unsigned int sum = s[t];\n"
                 "    for (int k = 0; k < t / %d; k++)\n        sum += s[%d + k];\n"
                 "    __syncthreads();\n    return sum;\n}\n\n",
                 SUM_PARTS, THREADS / SUM_PARTS, THREADS / SUM_PARTS, THREADS, THREADS / SUM_PARTS,
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
    const int inner = writer_number(&w, r->inner), tiles = writer_number(&w, tiles_of(r));
    /* Neighbours are often equal, so a thread counts runs. */
    text_add(
        &w.body,
        "extern \"C\" __global__ void radix_count(PARAMS)\n{\n"
        "    __shared__ unsigned int n[%d];\n    const int t = threadIdx.x;\n"
        "    const idx row = blockIdx.x / g.n%d, tile = blockIdx.x %% g.n%d;\n"
        "    const idx first = tile * %lld + t;\n    %s x[%d];\n"
        "    unsigned int now = 0, run = 0;\n    n[t] = 0;\n    __syncthreads();\n"
        "#pragma unroll\n    for (int u = 0; u < %d; u++)\n"
        "        x[u] = first + u * %d < g.n%d ? item_at(ARGS, row, first + u * %d) : (%s)0;\n"
        "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
        "        if (first + u * %d < g.n%d) {\n"
        "            const unsigned int digit = digit_of(g, x[u]);\n"
        "            if (digit != now && run) {\n                atomicAdd(&n[now], run);\n"
        "                run = 0;\n            }\n            now = digit;\n"
        "            run++;\n        }\n    }\n    if (run)\n        atomicAdd(&n[now], run);\n"
        "    __syncthreads();\n    p%d[(row * %d + t) * g.n%d + tile] = n[t];\n}\n",
        DIGITS, tiles, tiles, (long long)tile_of(r), r->type, r->each, r->each, THREADS, inner,
        THREADS, r->type, r->each, THREADS, inner, count, DIGITS, tiles);
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
    const int tiles = writer_number(&w, tiles_of(r));
    text_add(&w.body,
             "extern \"C\" __global__ void radix_sum(PARAMS)\n{\n"
             "    __shared__ unsigned int s[%d];\n    __shared__ unsigned int end;\n"
             "    unsigned int *n = p%d + (idx)blockIdx.x * g.n%d;\n    unsigned int sum = 0;\n"
             "    for (idx first = 0; first < g.n%d; first += %d) {\n"
             "        const idx at = first + (idx)threadIdx.x * %d;\n"
             "        unsigned int x[%d], own = 0;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
             "            x[u] = at + u < g.n%d ? n[at + u] : 0u;\n"
             "            own += x[u];\n        }\n"
             "        unsigned int run = sum + before(own, s);\n"
             "        if (threadIdx.x == %d)\n            end = run + own;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++) {\n"
             "            if (at + u < g.n%d)\n                n[at + u] = run;\n"
             "            run += x[u];\n        }\n"
             "        __syncthreads();\n        sum = end;\n        __syncthreads();\n    }\n"
             "    if (threadIdx.x == 0)\n        p%d[blockIdx.x] = sum;\n}\n",
             SUM_ROOM, count, tiles, tiles, THREADS * EACH, EACH, EACH, EACH, tiles, THREADS - 1,
             EACH, tiles, total);
    return finish(&w, "radix_sum", r->rows * DIGITS);
}

/* The thread's items, read from shared memory: neighbours. */
static void write_take(emit_writer *w, const radix *r)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int at = t * %d + u;\n        x[u] = item[at + at / %d];\n",
             r->each, r->each, r->each);
    if (r->numbers)
        text_add(&w->body, "        y[u] = number[at + at / %d];\n", r->each);
    text_add(&w->body, "    }\n");
}

/* A step: the tile in shared memory sorted by four bits of its digits. */
static void write_step(emit_writer *w, const radix *r, int shift)
{
    const int each = r->each;
    write_take(w, r);
    text_add(&w->body,
             "#pragma unroll\n    for (int d = 0; d < %d; d++)\n        n[d * %d + t] = 0;\n"
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const unsigned int d = t * %d + u < here ? digit_of(g, x[u]) >> %d & %uu : "
             "%uu;\n"
             "        place[u] = (int)(d * %du + t);\n        rank[u] = n[place[u]];\n"
             "        n[place[u]] = (unsigned short)(rank[u] + 1);\n    }\n"
             "    __syncthreads();\n",
             STEP_DIGITS, THREADS, each, each, shift, STEP_DIGITS - 1, STEP_DIGITS - 1, THREADS);
    text_add(&w->body,
             "    own = 0;\n"
             "#pragma unroll\n    for (int k = 0; k < %d; k++)\n        own += n[t * %d + k];\n"
             "    own = before(own, s);\n"
             "#pragma unroll\n    for (int k = 0; k < %d; k++) {\n"
             "        const unsigned int now = n[t * %d + k];\n"
             "        n[t * %d + k] = (unsigned short)own;\n        own += now;\n    }\n"
             "    __syncthreads();\n",
             STEP_DIGITS, STEP_DIGITS, STEP_DIGITS, STEP_DIGITS, STEP_DIGITS);
    text_add(&w->body,
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int to = n[place[u]] + rank[u];\n        item[to + to / %d] = x[u];\n",
             each, each);
    if (r->numbers)
        text_add(&w->body, "        number[to + to / %d] = y[u];\n", each);
    text_add(&w->body, "    }\n    __syncthreads();\n");
}

/* ---- with votes ---- */

/* Items in registers: lane `lane` of the warp has item u * 32 + lane of the warp's part. */
static void write_lanes_take(emit_writer *w, const pass *p)
{
    const radix *r = p->r;
    text_add(&w->body,
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int j = part + u * 32 + lane;\n"
             "        x[u] = j < here ? item_at(ARGS, row, first + j) : (%s)0;\n",
             r->each, r->type);
    if (r->numbers && p->first)
        text_add(&w->body, "        y[u] = (unsigned int)(first + j);\n");
    else if (r->numbers)
        text_add(&w->body, "        y[u] = j < here ? p%d[row * g.n%d + first + j] : 0u;\n",
                 writer_scratch(w, "unsigned int", r->number[p->index & 1]),
                 writer_number(w, r->inner));
    text_add(&w->body, "    }\n");
}

/* The tile sorted in shared memory, and base[]. */
static void write_by_votes(emit_writer *w, const pass *p, int total, int count, int tiles)
{
    const radix *r = p->r;
    const int each = r->each, warps = THREADS / 32;
    text_add(&w->body,
             "    __shared__ unsigned short n[%d][%d];\n"
             "    const int lane = t & 31, warp = t >> 5, part = warp * %d;\n",
             warps, DIGITS, 32 * each);
    write_lanes_take(w, p);
    text_add(
        &w->body,
        "#pragma unroll\n    for (int k = 0; k < %d; k++)\n        n[k][t] = 0;\n"
        "    __syncthreads();\n"
        "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
        "        const unsigned int d = part + u * 32 + lane < here ? digit_of(g, x[u]) : "
        "%uu;\n"
        "        unsigned int peers = 0xffffffffu;\n"
        "#pragma unroll\n        for (int b = 0; b < %d; b++) {\n"
        "            const unsigned int with = __ballot_sync(0xffffffffu, (int)(d >> b & 1u));\n"
        "            peers &= d >> b & 1u ? with : ~with;\n        }\n"
        "        const unsigned int before_me = peers & ((1u << lane) - 1u);\n"
        "        const unsigned int seen = n[warp][d];\n        __syncwarp();\n"
        "        if (before_me == 0u)\n"
        "            n[warp][d] = (unsigned short)(seen + __popc(peers));\n"
        "        __syncwarp();\n"
        "        rank[u] = (int)(d << 16 | (seen + __popc(before_me)));\n    }\n"
        "    __syncthreads();\n",
        warps, each, DIGITS - 1, DIGIT_BITS);
    text_add(&w->body,
             "    own = 0;\n"
             "#pragma unroll\n    for (int k = 0; k < %d; k++) {\n"
             "        const unsigned int now = n[k][t];\n"
             "        n[k][t] = (unsigned short)own;\n        own += now;\n    }\n"
             "    const unsigned int start = before(own, s);\n"
             "    base[t] = start;\n    __syncthreads();\n"
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int d = (int)((unsigned int)rank[u] >> 16);\n"
             "        const int to = (int)base[d] + n[warp][d] + (rank[u] & 0xffff);\n"
             "        item[to] = x[u];\n",
             warps, each);
    if (r->numbers)
        text_add(&w->body, "        number[to] = y[u];\n");
    text_add(&w->body,
             "    }\n    own = before(p%d[row * %d + t], s) + p%d[(row * %d + t) * g.n%d + tile];\n"
             "    base[t] = own - start;\n    __syncthreads();\n",
             total, DIGITS, count, DIGITS, tiles);
}

/* ---- the last launch of a pass ---- */

/* Statements that write the item `bits` and its number to place `to` of its row. */
static void write_out(emit_writer *w, const pass *p, const char *number)
{
    const radix *r = p->r;
    if (p->last) {
        const program *q = r->out;
        const int to = writer_operand(w, &q->out, true);
        const ig_dtype dtype = q->out.dtype;
        text_add(&w->body, "        if (to < g.n%d)\n            p%d[target(g, row, to)] = ",
                 writer_number(w, q->kept), to);
        if (q->kind == PROGRAM_ARGSORT)
            text_add(&w->body, "(%s)%s;\n", emit_storage_type(dtype), number);
        else if (dtype == IG_F32)
            text_add(&w->body, "__uint_as_float(bits);\n");
        else if (dtype == IG_F64)
            text_add(&w->body, "__longlong_as_double((long long)bits);\n");
        else
            text_add(&w->body, "(%s)bits;\n", emit_storage_type(dtype));
        return;
    }
    const int inner = writer_number(w, r->inner);
    text_add(&w->body, "        p%d[row * g.n%d + to] = bits;\n",
             writer_scratch(w, r->type, r->item[~p->index & 1]), inner);
    if (r->numbers)
        text_add(&w->body, "        p%d[row * g.n%d + to] = %s;\n",
                 writer_scratch(w, "unsigned int", r->number[~p->index & 1]), inner, number);
}

static void write_tile_begin(emit_writer *w, const pass *p, bool votes)
{
    const radix *r = p->r;
    const int each = r->each, tile = (int)tile_of(r), room = votes ? tile : tile + tile / each;
    const int inner = writer_number(w, r->inner), tiles = writer_number(w, tiles_of(r));
    text_add(&w->body,
             "    __shared__ %s item[%d];\n    __shared__ unsigned int s[%d], base[%d];\n"
             "    const int t = threadIdx.x;\n    %s x[%d];\n    int rank[%d];\n"
             "    unsigned int own;\n"
             "    const idx row = blockIdx.x / g.n%d, tile = blockIdx.x %% g.n%d;\n"
             "    const idx first = tile * %d;\n"
             "    const int here = g.n%d - first < %d ? (int)(g.n%d - first) : %d;\n",
             r->type, room, SUM_ROOM, DIGITS, r->type, each, each, tiles, tiles, tile, inner, tile,
             inner, tile);
    if (r->numbers)
        text_add(&w->body, "    __shared__ unsigned int number[%d];\n    unsigned int y[%d];\n",
                 room, each);
}

/* The tile sorted in shared memory in two steps, and base[]: plus the place in the tile, it is the place in
 * the row. */
static void write_by_steps(emit_writer *w, const pass *p, int total, int count, int tiles)
{
    const radix *r = p->r;
    const int each = r->each;
    text_add(&w->body,
             "    __shared__ unsigned short n[%d];\n    int place[%d];\n    base[t] = 0;\n"
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int j = u * %d + t;\n"
             "        item[j + j / %d] = j < here ? item_at(ARGS, row, first + j) : (%s)0;\n",
             STEP_DIGITS * THREADS, each, each, THREADS, each, r->type);
    if (r->numbers && p->first)
        text_add(&w->body, "        number[j + j / %d] = (unsigned int)(first + j);\n", each);
    else if (r->numbers)
        text_add(&w->body,
                 "        number[j + j / %d] = j < here ? p%d[row * g.n%d + first + j] : 0u;\n",
                 each, writer_scratch(w, "unsigned int", r->number[p->index & 1]),
                 writer_number(w, r->inner));
    text_add(&w->body, "    }\n    __syncthreads();\n");
    for (int shift = 0; shift < DIGIT_BITS; shift += STEP_BITS)
        write_step(w, r, shift);
    text_add(&w->body,
             "    own = before(p%d[row * %d + t], s) + p%d[(row * %d + t) * g.n%d + tile];\n"
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int j = u * %d + t, k = j - 1;\n        if (j < here) {\n"
             "            const unsigned int d = digit_of(g, item[j + j / %d]);\n"
             "            if (j == 0 || digit_of(g, item[k + k / %d]) != d)\n"
             "                base[d] = (unsigned int)j;\n        }\n    }\n"
             "    __syncthreads();\n    base[t] = own - base[t];\n    __syncthreads();\n",
             total, DIGITS, count, DIGITS, tiles, each, THREADS, each, each);
}

static ig_status emit_move(const pass *p, const emit_target *t, emitted *out)
{
    const radix *r = p->r;
    const bool votes = t->subgroup == 32;
    char at[32];
    emit_writer w;
    TRY(start(&w, r, t, out));
    write_item_functions(&w, p);
    write_before(&w);
    if (p->last)
        write_place(&w, "target", &r->out->out.v, r->out->kept);
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int total = writer_scratch(&w, "unsigned int", r->total);
    const int tiles = writer_number(&w, tiles_of(r));
    text_add(&w.body, "extern \"C\" __global__ void radix_move(PARAMS)\n{\n");
    write_tile_begin(&w, p, votes);
    (votes ? write_by_votes : write_by_steps)(&w, p, total, count, tiles);
    if (votes)
        snprintf(at, sizeof at, "j");
    else
        snprintf(at, sizeof at, "j + j / %d", r->each);
    text_add(&w.body,
             "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
             "        const int j = u * %d + t;\n        if (j >= here)\n            break;\n"
             "        const %s bits = item[%s];\n"
             "        const idx to = (idx)(base[digit_of(g, bits)] + (unsigned int)j);\n",
             r->each, THREADS, r->type, at);
    char number[48];
    snprintf(number, sizeof number, "number[%s]", at);
    write_out(&w, p, number);
    text_add(&w.body, "    }\n}\n");
    return finish(&w, "radix_move", r->rows * tiles_of(r));
}

/* ---- on a CPU ---- */

static ig_status serial_count(const pass *p, const emit_target *t, emitted *out)
{
    const radix *r = p->r;
    emit_writer w;
    TRY(start(&w, r, t, out));
    write_item_functions(&w, p);
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int inner = writer_number(&w, r->inner), tiles = writer_number(&w, tiles_of(r));
    text_add(&w.body,
             "extern \"C\" __global__ void radix_count(PARAMS)\n{\n    unsigned int n[%d];\n"
             "    const idx row = blockIdx.x / g.n%d, tile = blockIdx.x %% g.n%d;\n"
             "    for (int d = 0; d < %d; d++)\n        n[d] = 0;\n"
             "    for (idx col = tile * %lld; col < g.n%d && col < (tile + 1) * %lld; col++)\n"
             "        n[digit_of(g, item_at(ARGS, row, col))]++;\n"
             "    for (int d = 0; d < %d; d++)\n"
             "        p%d[(row * %d + d) * g.n%d + tile] = n[d];\n}\n",
             DIGITS, tiles, tiles, DIGITS, (long long)tile_of(r), inner, (long long)tile_of(r),
             DIGITS, count, DIGITS, tiles);
    return finish(&w, "radix_count", r->rows * tiles_of(r));
}

/* Counts of a row become places, digit by digit and tile by tile. */
static ig_status serial_sum(const radix *r, const emit_target *t, emitted *out)
{
    emit_writer w;
    TRY(start(&w, r, t, out));
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int n = writer_number(&w, DIGITS * tiles_of(r));
    text_add(&w.body,
             "extern \"C\" __global__ void radix_sum(PARAMS)\n{\n"
             "    unsigned int *n = p%d + (idx)blockIdx.x * g.n%d, sum = 0;\n"
             "    for (idx k = 0; k < g.n%d; k++) {\n        const unsigned int now = n[k];\n"
             "        n[k] = sum;\n        sum += now;\n    }\n}\n",
             count, n, n);
    return finish(&w, "radix_sum", r->rows);
}

static ig_status serial_move(const pass *p, const emit_target *t, emitted *out)
{
    const radix *r = p->r;
    emit_writer w;
    TRY(start(&w, r, t, out));
    write_item_functions(&w, p);
    if (p->last)
        write_place(&w, "target", &r->out->out.v, r->out->kept);
    const int count = writer_scratch(&w, "unsigned int", r->count);
    const int inner = writer_number(&w, r->inner), tiles = writer_number(&w, tiles_of(r));
    char number[64] = "col";
    if (r->numbers && !p->first)
        snprintf(number, sizeof number, "p%d[row * g.n%d + col]",
                 writer_scratch(&w, "unsigned int", r->number[p->index & 1]), inner);
    text_add(&w.body,
             "extern \"C\" __global__ void radix_move(PARAMS)\n{\n    unsigned int n[%d];\n"
             "    const idx row = blockIdx.x / g.n%d, tile = blockIdx.x %% g.n%d;\n"
             "    for (int d = 0; d < %d; d++)\n"
             "        n[d] = p%d[(row * %d + d) * g.n%d + tile];\n"
             "    for (idx col = tile * %lld; col < g.n%d && col < (tile + 1) * %lld; col++) {\n"
             "        const %s bits = item_at(ARGS, row, col);\n"
             "        const idx to = (idx)n[digit_of(g, bits)]++;\n",
             DIGITS, tiles, tiles, DIGITS, count, DIGITS, tiles, (long long)tile_of(r), inner,
             (long long)tile_of(r), r->type);
    if (r->numbers)
        text_add(&w.body, "        const unsigned int item_number = (unsigned int)%s;\n", number);
    write_out(&w, p, "item_number");
    text_add(&w.body, "    }\n}\n");
    return finish(&w, "radix_move", r->rows * tiles_of(r));
}

ig_status radix_sort(const radix *r, const emit_target *t, emitted *out, int *last)
{
    const int passes = (r->bits + DIGIT_BITS - 1) / DIGIT_BITS;
    for (int i = 0; i < passes; i++) {
        const pass p = {
            .r = r, .index = i, .first = r->in && i == 0, .last = r->out && i == passes - 1};
        TRY((t->cpu ? serial_count : emit_count)(&p, t, out));
        TRY((t->cpu ? serial_sum : emit_sum)(r, t, out));
        TRY((t->cpu ? serial_move : emit_move)(&p, t, out));
    }
    *last = passes & 1;
    return IG_OK;
}
