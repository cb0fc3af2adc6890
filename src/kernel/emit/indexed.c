/* Programs whose elements move: scans, sorts, searches, writes at computed places. They read views, one
 * row after another, and write one output. */
#include "kernel/emit/writer.h"

#include "base/error.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

enum {
    THREADS = 256,
    SCAN_BLOCK = 16,
    SCAN_CHUNK = 1024,
    SCAN_RANGE = 64,   /* chunks */
    SORT_SHORT = 1024, /* rows up to this length are sorted in shared memory */
    SORT_EACH = 8,     /* items of a thread in a tile */
    SORT_TILE = THREADS * SORT_EACH,
    DIGITS = 16
};

static uint64_t align_up(uint64_t n) { return (n + 255) & ~(uint64_t)255; }

static uint32_t grid_of(int64_t blocks, const emit_target *t)
{
    const int64_t most = t->block_limit ? (int64_t)t->block_limit * 8 : INT32_MAX;
    return (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* name(row, col): the offset of an element of a view whose rows have `inner` points. */
static void write_place(emit_writer *w, const char *name, const view *from, int64_t inner)
{
    view v = *from;
    view *all[1] = {&v};
    view_collapse(all, 1);
    text_add(&w->body, "static __device__ idx %s(sizes g, idx row, idx col)\n{\n", name);
    if (view_is_contiguous(&v)) {
        text_add(&w->body, "    return row * g.n%d + col;\n}\n\n", writer_number(w, inner));
        return;
    }
    text_add(&w->body, "    idx at = row * g.n%d + col, offset = 0;\n", writer_number(w, inner));
    for (int i = v.ndim - 1; i > 0; i--) {
        const int n = writer_number(w, v.shape[i]);
        text_add(&w->body, "    offset += at %% g.n%d * g.n%d;\n    at /= g.n%d;\n", n,
                 writer_number(w, v.stride[i]), n);
    }
    text_add(&w->body, "    return offset + at * g.n%d;\n}\n\n",
             writer_number(w, v.ndim ? v.stride[0] : 0));
}

/* The element of an operand at an offset, as a lane. */
static void lane_at(emit_writer *w, const operand *o, int pointer, const char *offset, char *out,
                    size_t room)
{
    if (dtype_is_half(o->dtype)) {
        w->uses |= USES_HALF;
        snprintf(out, room, "%s_to_f32(p%d[%s])", ig_dtype_name(o->dtype), pointer, offset);
    } else
        snprintf(out, room, "p%d[%s]", pointer, offset);
}

/* ---- scans ---- */

/* Text that all kernels of a scan share: join, identity, load. */
static void scan_functions(emit_writer *w, const program *p)
{
    const char *type = emit_lane_type(p->dtype);
    char element[96];
    if (emit_needs_math(p->fold))
        w->uses |= USES_MATH;
    w->needs_f64 = w->needs_f64 || p->dtype == IG_F64;
    const int in = writer_operand(w, &p->in[0], false);
    write_place(w, "place", &p->in[0].v, p->inner);
    text_add(&w->body, "static __device__ %s join(%s x, %s y)\n{\n    return ", type, type, type);
    emit_expression(&w->body, p->fold, p->dtype, "x", "y");
    text_add(&w->body, ";\n}\n\nstatic __device__ %s identity()\n{\n    return ", type);
    emit_identity(&w->body, p->fold, p->dtype);
    lane_at(w, &p->in[0], in, "place(g, row, col)", element, sizeof element);
    text_add(
        &w->body,
        ";\n}\n\nstatic __device__ %s load(PARAMS, idx row, idx col)\n{\n    return %s;\n}\n\n",
        type, element);
}

/* A team of 64 threads takes a chunk; a thread has SCAN_BLOCK neighbours v[], scanned by halves. */
static void scan_block_text(emit_writer *w, const char *type, int inner, int chunks, int rows)
{
    text_add(
        &w->body,
        "    __shared__ %s total[%d];\n"
        "    const int t = threadIdx.x & 63, team = threadIdx.x >> 6;\n"
        "    for (idx first = (idx)blockIdx.x * 4; first < g.n%d * g.n%d; first += (idx)gridDim.x "
        "* 4) {\n"
        "        const idx job = first + team;\n"
        "        const bool here = job < g.n%d * g.n%d;\n"
        "        const idx row = here ? job / g.n%d : 0, chunk = here ? job %% g.n%d : 0;\n"
        "        const idx begin = chunk * %d + t * %d;\n"
        "        %s v[%d];\n"
        "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
        "            v[k] = here && begin + k < g.n%d ? load(ARGS, row, begin + k) : identity();\n",
        type, THREADS, rows, chunks, rows, chunks, chunks, chunks, SCAN_CHUNK, SCAN_BLOCK, type,
        SCAN_BLOCK, SCAN_BLOCK, inner);
    for (int half = 1; half < SCAN_BLOCK; half *= 2)
        text_add(&w->body,
                 "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
                 "            if (k & %d)\n"
                 "                v[k] = join(v[(k & ~%d) + %d], v[k]);\n",
                 SCAN_BLOCK, half, 2 * half - 1, half - 1);
    text_add(&w->body,
             "        total[threadIdx.x] = v[%d];\n        __syncthreads();\n"
             "        if (t == 0) {\n            %s run = identity();\n"
             "            for (int k = 0; k < 64; k++) {\n"
             "                const %s now = total[threadIdx.x + k];\n"
             "                total[threadIdx.x + k] = run;\n"
             "                run = join(run, now);\n            }\n",
             SCAN_BLOCK - 1, type, type);
}

static ig_status scan_totals(const program *p, const emit_target *t, uint64_t carries, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, n);
    const int rows = writer_number(&w, p->outer);
    const int totals = writer_scratch(&w, type, 0);
    text_add(&w.body, "extern \"C\" __global__ void chunk_totals(PARAMS)\n{\n");
    scan_block_text(&w, type, inner, chunks, rows);
    text_add(&w.body,
             "            if (here)\n                p%d[job] = run;\n        }\n"
             "        __syncthreads();\n    }\n}\n",
             totals);
    const uint32_t grid[3] = {grid_of(ceil_div(p->outer * n, 4), t), 1, 1};
    const uint32_t block[3] = {THREADS, 1, 1};
    ig_status status = writer_finish(&w, "chunk_totals", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    /* What the chunks before each chunk of its range came to; the range's total. */
    const int64_t n_ranges = ceil_div(n, SCAN_RANGE);
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    const int c = writer_number(&w, n), r = writer_number(&w, n_ranges);
    const int o = writer_number(&w, p->outer);
    const int from = writer_scratch(&w, type, 0), to = writer_scratch(&w, type, carries);
    text_add(&w.body,
             "extern \"C\" __global__ void range_totals(PARAMS)\n{\n"
             "    for (idx job = (idx)blockIdx.x * %d + threadIdx.x; job < g.n%d * g.n%d; job += "
             "(idx)gridDim.x * %d) {\n"
             "        const idx row = job / g.n%d, first = job %% g.n%d * %d;\n"
             "        const idx end = first + %d < g.n%d ? first + %d : g.n%d;\n"
             "        %s run = identity();\n"
             "        for (idx k = first; k < end; k++) {\n"
             "            const %s now = p%d[row * g.n%d + k];\n"
             "            p%d[row * g.n%d + k] = run;\n"
             "            run = join(run, now);\n        }\n"
             "        p%d[job] = run;\n    }\n}\n",
             THREADS, o, r, THREADS, r, r, SCAN_RANGE, SCAN_RANGE, c, SCAN_RANGE, c, type, type,
             from, c, from, c, to);
    const uint32_t second[3] = {grid_of(ceil_div(p->outer * n_ranges, THREADS), t), 1, 1};
    status = writer_finish(&w, "range_totals", second, block, 0);
    writer_drop(&w);
    TRY(status);
    /* What the ranges before each range came to: a block for each row, some ranges at a time. */
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    const int ranges = writer_number(&w, n_ranges), all = writer_number(&w, p->outer);
    const int sums = writer_scratch(&w, type, carries);
    text_add(
        &w.body,
        "extern \"C\" __global__ void range_carries(PARAMS)\n{\n"
        "    __shared__ %s s[%d];\n"
        "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
        "        %s run = identity();\n"
        "        for (idx first = 0; first < g.n%d; first += %d) {\n"
        "            const idx at = first + threadIdx.x;\n"
        "            if (at < g.n%d)\n                s[threadIdx.x] = p%d[row * g.n%d + at];\n"
        "            __syncthreads();\n"
        "            if (threadIdx.x == 0)\n"
        "                for (int k = 0; k < %d && first + k < g.n%d; k++) {\n"
        "                    const %s now = s[k];\n                    s[k] = run;\n"
        "                    run = join(run, now);\n                }\n"
        "            __syncthreads();\n"
        "            if (at < g.n%d)\n                p%d[row * g.n%d + at] = s[threadIdx.x];\n"
        "            __syncthreads();\n        }\n    }\n}\n",
        type, THREADS, all, type, ranges, THREADS, ranges, sums, ranges, THREADS, ranges, type,
        ranges, sums, ranges);
    const uint32_t third[3] = {grid_of(p->outer, t), 1, 1};
    status = writer_finish(&w, "range_carries", third, block, 0);
    writer_drop(&w);
    return status;
}

ig_status emit_scan(const program *p, const emit_target *t, emitted *out)
{
    const char *type = emit_lane_type(p->dtype);
    const int64_t n = ceil_div(p->inner, SCAN_CHUNK);
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    const uint64_t carries = align_up((uint64_t)(p->outer * n) * 8);
    if (n > 1) {
        TRY(scan_totals(p, t, carries, out));
        out->scratch_bytes = carries + align_up((uint64_t)(p->outer * ceil_div(n, SCAN_RANGE)) * 8);
    }
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    scan_functions(&w, p);
    write_place(&w, "target", &p->out.v, p->inner);
    const int inner = writer_number(&w, p->inner), chunks = writer_number(&w, n);
    const int rows = writer_number(&w, p->outer), to = writer_operand(&w, &p->out, true);
    text_add(&w.body, "extern \"C\" __global__ void scan(PARAMS)\n{\n");
    scan_block_text(&w, type, inner, chunks, rows);
    text_add(&w.body, "        }\n        __syncthreads();\n        %s before = identity();\n",
             type);
    if (n > 1) {
        const int c = writer_scratch(&w, type, 0), r = writer_scratch(&w, type, carries);
        const int ranges = writer_number(&w, ceil_div(n, SCAN_RANGE));
        text_add(&w.body,
                 "        if (here && chunk > 0)\n"
                 "            before = join(p%d[row * g.n%d + chunk / %d], p%d[job]);\n",
                 r, ranges, SCAN_RANGE, c);
    }
    text_add(&w.body,
             "        const %s blocks = total[threadIdx.x];\n"
             "#pragma unroll\n        for (int k = 0; k < %d; k++)\n"
             "            if (here && begin + k < g.n%d) {\n"
             "                const %s x = join(before, join(blocks, v[k]));\n"
             "                p%d[target(g, row, begin + k)] = ",
             type, SCAN_BLOCK, inner, type, to);
    if (dtype_is_half(p->out.dtype)) {
        w.uses |= USES_HALF;
        text_add(&w.body, "%s_of_f32(x)", ig_dtype_name(p->out.dtype));
    } else
        text_add(&w.body, "(%s)x", emit_storage_type(p->out.dtype));
    text_add(&w.body, ";\n            }\n        __syncthreads();\n    }\n}\n");
    const uint32_t grid[3] = {grid_of(ceil_div(p->outer * n, 4), t), 1, 1};
    const uint32_t block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "scan", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* ---- keys ---- */

/* key_of(element): the element's place in the order, in `bits` bits. */
static void write_key(emit_writer *w, ig_dtype dtype, bool descending)
{
    static const char *const infinity[DTYPE_COUNT] = {[IG_F16] = "0x7c00ull",
                                                      [IG_BF16] = "0x7f80ull",
                                                      [IG_F32] = "0x7f800000ull",
                                                      [IG_F64] = "0x7ff0000000000000ull"};
    const int bits = 8 * (int)ig_dtype_bytes(dtype);
    const char *all = bits == 8    ? "0xffull"
                      : bits == 16 ? "0xffffull"
                      : bits == 32 ? "0xffffffffull"
                                   : "0xffffffffffffffffull";
    const char *sign = bits == 8    ? "0x80ull"
                       : bits == 16 ? "0x8000ull"
                       : bits == 32 ? "0x80000000ull"
                                    : "0x8000000000000000ull";
    w->uses |= USES_ORDER;
    w->needs_f64 = w->needs_f64 || dtype == IG_F64;
    text_add(&w->body, "static __device__ unsigned long long key_of(%s x)\n{\n    return ",
             emit_storage_type(dtype));
    const char *raw = dtype == IG_F32   ? "(unsigned long long)__float_as_uint(x)"
                      : dtype == IG_F64 ? "(unsigned long long)__double_as_longlong(x)"
                                        : "(unsigned long long)x";
    if (dtype_is_float(dtype))
        text_add(&w->body, "order_float(%s, %s, %s, %s, %s)", raw, all, sign, infinity[dtype],
                 descending ? "true" : "false");
    else
        text_add(&w->body, "order_integer(%s, %s, %s, %s)", raw, all,
                 dtype_kind_of(dtype) == DTYPE_KIND_SIGNED ? sign : "0ull",
                 descending ? "true" : "false");
    text_add(&w->body, ";\n}\n\n");
}

/* ---- sorts ---- */

/* Writes what the program wants of the sorted items: indices, or elements. */
static void write_sorted(emit_writer *w, const program *p, const char *row, const char *col,
                         const char *index)
{
    const int to = writer_operand(w, &p->out, true);
    if (p->kind == PROGRAM_ARGSORT)
        text_add(&w->body, "p%d[target(g, %s, %s)] = (long long)%s;\n", to, row, col, index);
    else
        text_add(&w->body, "p%d[target(g, %s, %s)] = p%d[place(g, %s, (idx)%s)];\n", to, row, col,
                 writer_operand(w, &p->in[0], false), row, index);
}

/* Rows in shared memory: bitonic, by key and index, so that it is stable. */
static ig_status sort_short(const program *p, const emit_target *t, emitted *out)
{
    int width = 2;
    while (width < p->inner)
        width *= 2;
    const int threads = width / 2 < 32 ? 32 : width / 2 > THREADS ? THREADS : width / 2;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const int in = writer_operand(&w, &p->in[0], false);
    write_key(&w, p->in[0].dtype, p->descending);
    write_place(&w, "place", &p->in[0].v, p->inner);
    write_place(&w, "target", &p->out.v, p->kept);
    const bool narrow = ig_dtype_bytes(p->in[0].dtype) <= 4;
    const char *key = narrow ? "unsigned int" : "unsigned long long";
    const int inner = writer_number(&w, p->inner), rows = writer_number(&w, p->outer);
    const int kept = writer_number(&w, p->kept);
    text_add(&w.body,
             "extern \"C\" __global__ void sort(PARAMS)\n{\n"
             "    __shared__ %s key[%d];\n    __shared__ unsigned int index[%d];\n"
             "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
             "        for (int i = threadIdx.x; i < %d; i += %d) {\n"
             "            key[i] = i < g.n%d ? (%s)key_of(p%d[place(g, row, i)]) : (%s)~0ull;\n"
             "            index[i] = i;\n        }\n        __syncthreads();\n"
             "        for (int size = 2; size <= %d; size *= 2)\n"
             "            for (int step = size / 2; step > 0; step /= 2) {\n"
             "                for (int i = threadIdx.x; i < %d; i += %d) {\n"
             "                    const int a = 2 * i - (i & (step - 1)), b = a + step;\n"
             "                    const bool up = (a & size) == 0;\n"
             "                    const %s x = key[a], y = key[b];\n"
             "                    const unsigned int j = index[a], k = index[b];\n"
             "                    const bool after = x > y || (x == y && j > k);\n"
             "                    if (after == up) {\n"
             "                        key[a] = y;\n                        key[b] = x;\n"
             "                        index[a] = k;\n                        index[b] = j;\n"
             "                    }\n                }\n                __syncthreads();\n"
             "            }\n"
             "        for (int i = threadIdx.x; i < g.n%d; i += %d)\n            ",
             key, width, width, rows, width, threads, inner, key, in, key, width, width / 2,
             threads, key, kept, threads);
    write_sorted(&w, p, "row", "i", "index[i]");
    text_add(&w.body, "        __syncthreads();\n    }\n}\n");
    const uint32_t grid[3] = {grid_of(p->outer, t), 1, 1}, block[3] = {(uint32_t)threads, 1, 1};
    const ig_status status = writer_finish(&w, "sort", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* Items of a radix sort: keys and indices twice, and counts. */
typedef struct sort_memory {
    uint64_t key[2], index[2], count, bytes;
    const char *type; /* of keys */
    int64_t rows, inner, tiles;
} sort_memory;

static sort_memory sort_layout(int64_t rows, int64_t inner, bool wide, uint64_t from)
{
    sort_memory m = {.type = wide ? "unsigned long long" : "unsigned int",
                     .rows = rows,
                     .inner = inner,
                     .tiles = ceil_div(inner, SORT_TILE)};
    const uint64_t n = (uint64_t)(rows * inner);
    uint64_t at = from;
    for (int i = 0; i < 2; i++) {
        m.key[i] = at;
        at += align_up(n * (wide ? 8 : 4));
        m.index[i] = at;
        at += align_up(n * 4);
    }
    m.count = at;
    m.bytes = at + align_up((uint64_t)(rows * m.tiles) * DIGITS * 4);
    return m;
}

/* How often each digit occurs in each tile: count[row][digit][tile]. */
static ig_status sort_count(const sort_memory *m, int pass, const emit_target *t, bool wide_index,
                            emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    const int key = writer_scratch(&w, m->type, m->key[pass & 1]);
    const int count = writer_scratch(&w, "unsigned int", m->count);
    const int rows = writer_number(&w, m->rows), inner = writer_number(&w, m->inner);
    const int tiles = writer_number(&w, m->tiles), shift = writer_number(&w, 4 * pass);
    text_add(
        &w.body,
        "extern \"C\" __global__ void sort_count(PARAMS)\n{\n"
        "    __shared__ unsigned int n[%d];\n"
        "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
        "        const idx row = job / g.n%d, tile = job %% g.n%d;\n"
        "        if (threadIdx.x < %d)\n            n[threadIdx.x] = 0;\n        __syncthreads();\n"
        "        for (int u = 0; u < %d; u++) {\n"
        "            const idx col = tile * %d + u * %d + threadIdx.x;\n"
        "            if (col < g.n%d)\n"
        "                atomicAdd(&n[(unsigned int)(p%d[row * g.n%d + col] >> (int)g.n%d) & 15u], "
        "1u);\n"
        "        }\n        __syncthreads();\n"
        "        if (threadIdx.x < %d)\n"
        "            p%d[(row * %d + threadIdx.x) * g.n%d + tile] = n[threadIdx.x];\n"
        "        __syncthreads();\n    }\n}\n",
        DIGITS, rows, tiles, tiles, tiles, DIGITS, SORT_EACH, SORT_TILE, THREADS, inner, key, inner,
        shift, DIGITS, count, DIGITS, tiles);
    const uint32_t grid[3] = {grid_of(m->rows * m->tiles, t), 1, 1}, block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "sort_count", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* Counts become the place of the first item of that digit and tile: a block for each row. */
static ig_status sort_offsets(const sort_memory *m, const emit_target *t, bool wide_index,
                              emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    const int count = writer_scratch(&w, "unsigned int", m->count);
    const int rows = writer_number(&w, m->rows), n = writer_number(&w, m->tiles * DIGITS);
    text_add(&w.body,
             "extern \"C\" __global__ void sort_offsets(PARAMS)\n{\n"
             "    __shared__ unsigned int s[%d];\n"
             "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
             "        unsigned int *count = p%d + row * g.n%d;\n"
             "        const idx each = (g.n%d + %d) / %d, first = (idx)threadIdx.x * each;\n"
             "        unsigned int sum = 0;\n"
             "        for (idx k = first; k < first + each && k < g.n%d; k++)\n"
             "            sum += count[k];\n"
             "        s[threadIdx.x] = sum;\n        __syncthreads();\n"
             "        for (int step = 1; step < %d; step *= 2) {\n"
             "            const unsigned int before = threadIdx.x >= step ? s[threadIdx.x - step] "
             ": 0u;\n"
             "            __syncthreads();\n            s[threadIdx.x] += before;\n"
             "            __syncthreads();\n        }\n"
             "        unsigned int run = s[threadIdx.x] - sum;\n"
             "        for (idx k = first; k < first + each && k < g.n%d; k++) {\n"
             "            const unsigned int now = count[k];\n            count[k] = run;\n"
             "            run += now;\n        }\n        __syncthreads();\n    }\n}\n",
             THREADS, rows, count, n, n, THREADS - 1, THREADS, n, THREADS, n);
    const uint32_t grid[3] = {grid_of(m->rows, t), 1, 1}, block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "sort_offsets", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* Items go to their places, in order within a digit: each thread has SORT_EACH neighbours. */
static ig_status sort_move(const sort_memory *m, int pass, const emit_target *t, bool wide_index,
                           emitted *out)
{
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    const int key = writer_scratch(&w, m->type, m->key[pass & 1]);
    const int index = writer_scratch(&w, "unsigned int", m->index[pass & 1]);
    const int to_key = writer_scratch(&w, m->type, m->key[~pass & 1]);
    const int to_index = writer_scratch(&w, "unsigned int", m->index[~pass & 1]);
    const int count = writer_scratch(&w, "unsigned int", m->count);
    const int rows = writer_number(&w, m->rows), inner = writer_number(&w, m->inner);
    const int tiles = writer_number(&w, m->tiles), shift = writer_number(&w, 4 * pass);
    text_add(&w.body,
             "extern \"C\" __global__ void sort_move(PARAMS)\n{\n"
             "    __shared__ unsigned short n[%d][%d];\n    __shared__ unsigned int s[%d];\n"
             "    for (idx job = blockIdx.x; job < g.n%d * g.n%d; job += gridDim.x) {\n"
             "        const idx row = job / g.n%d, tile = job %% g.n%d;\n"
             "        const idx first = tile * %d + (idx)threadIdx.x * %d;\n"
             "        %s k[%d];\n        unsigned int item[%d];\n"
             "        for (int d = 0; d < %d; d++)\n            n[d][threadIdx.x] = 0;\n"
             "#pragma unroll\n        for (int u = 0; u < %d; u++)\n"
             "            if (first + u < g.n%d) {\n"
             "                k[u] = p%d[row * g.n%d + first + u];\n"
             "                item[u] = p%d[row * g.n%d + first + u];\n"
             "                n[(unsigned int)(k[u] >> (int)g.n%d) & 15u][threadIdx.x] += 1;\n     "
             "       }\n"
             "        __syncthreads();\n",
             DIGITS, THREADS, THREADS, rows, tiles, tiles, tiles, SORT_TILE, SORT_EACH, m->type,
             SORT_EACH, SORT_EACH, DIGITS, SORT_EACH, inner, key, inner, index, inner, shift);
    /* Each thread sums 16 neighbouring counters of one digit; the sums are scanned; counters become ranks. */
    text_add(
        &w.body,
        "        const int d = threadIdx.x / 16, part = threadIdx.x %% 16 * 16;\n"
        "        unsigned int sum = 0;\n"
        "        for (int j = 0; j < 16; j++)\n            sum += n[d][part + j];\n"
        "        s[threadIdx.x] = sum;\n        __syncthreads();\n"
        "        for (int step = 1; step < 16; step *= 2) {\n"
        "            const unsigned int before = threadIdx.x %% 16 >= step ? s[threadIdx.x - step] "
        ": 0u;\n"
        "            __syncthreads();\n            s[threadIdx.x] += before;\n"
        "            __syncthreads();\n        }\n"
        "        unsigned int run = s[threadIdx.x] - sum;\n"
        "        for (int j = 0; j < 16; j++) {\n"
        "            const unsigned int now = n[d][part + j];\n"
        "            n[d][part + j] = (unsigned short)run;\n            run += now;\n        }\n"
        "        __syncthreads();\n"
        "#pragma unroll\n        for (int u = 0; u < %d; u++)\n"
        "            if (first + u < g.n%d) {\n"
        "                const unsigned int digit = (unsigned int)(k[u] >> (int)g.n%d) & 15u;\n"
        "                const idx at = row * g.n%d + p%d[(row * %d + digit) * g.n%d + tile] + "
        "n[digit][threadIdx.x];\n"
        "                n[digit][threadIdx.x] += 1;\n"
        "                p%d[at] = k[u];\n                p%d[at] = item[u];\n            }\n"
        "        __syncthreads();\n    }\n}\n",
        SORT_EACH, inner, shift, inner, count, DIGITS, tiles, to_key, to_index);
    const uint32_t grid[3] = {grid_of(m->rows * m->tiles, t), 1, 1}, block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "sort_move", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* Sorts the items by `bits` bits of their keys; they are then in buffer `*last`. */
static ig_status sort_items(const sort_memory *m, int bits, const emit_target *t, bool wide_index,
                            emitted *out, int *last)
{
    const int passes = (bits + 3) / 4;
    for (int pass = 0; pass < passes; pass++) {
        TRY(sort_count(m, pass, t, wide_index, out));
        TRY(sort_offsets(m, t, wide_index, out));
        TRY(sort_move(m, pass, t, wide_index, out));
    }
    *last = passes & 1;
    return IG_OK;
}

static ig_status sort_long(const program *p, const emit_target *t, emitted *out)
{
    const int bits = 8 * (int)ig_dtype_bytes(p->in[0].dtype);
    const bool wide_index = !emit_is_narrow(p, 1);
    const sort_memory m = sort_layout(p->outer, p->inner, bits > 32, 0);
    int last;
    emit_writer w;
    if (p->inner > INT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED, "sort: rows of %lld elements; a device sorts up to 2147483647",
             (long long)p->inner);
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    const int in = writer_operand(&w, &p->in[0], false);
    write_key(&w, p->in[0].dtype, p->descending);
    write_place(&w, "place", &p->in[0].v, p->inner);
    const int key = writer_scratch(&w, m.type, m.key[0]);
    const int index = writer_scratch(&w, "unsigned int", m.index[0]);
    const int inner = writer_number(&w, p->inner), size = writer_number(&w, p->outer * p->inner);
    text_add(&w.body,
             "extern \"C\" __global__ void sort_keys(PARAMS)\n{\n"
             "    for (idx at = (idx)blockIdx.x * %d + threadIdx.x; at < g.n%d; at += "
             "(idx)gridDim.x * %d) {\n"
             "        const idx row = at / g.n%d, col = at %% g.n%d;\n"
             "        p%d[at] = (%s)key_of(p%d[place(g, row, col)]);\n"
             "        p%d[at] = (unsigned int)col;\n    }\n}\n",
             THREADS, size, THREADS, inner, inner, key, m.type, in, index);
    const uint32_t block[3] = {THREADS, 1, 1};
    const uint32_t grid[3] = {grid_of(ceil_div(p->outer * p->inner, THREADS), t), 1, 1};
    ig_status status = writer_finish(&w, "sort_keys", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    TRY(sort_items(&m, bits, t, wide_index, out, &last));
    out->scratch_bytes = m.bytes;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    write_place(&w, "place", &p->in[0].v, p->inner);
    write_place(&w, "target", &p->out.v, p->kept);
    const int sorted = writer_scratch(&w, "unsigned int", m.index[last]);
    const int kept = writer_number(&w, p->kept), n = writer_number(&w, p->outer * p->kept);
    const int len = writer_number(&w, p->inner);
    text_add(&w.body,
             "extern \"C\" __global__ void sort_result(PARAMS)\n{\n"
             "    for (idx at = (idx)blockIdx.x * %d + threadIdx.x; at < g.n%d; at += "
             "(idx)gridDim.x * %d) {\n"
             "        const idx row = at / g.n%d, col = at %% g.n%d;\n        ",
             THREADS, n, THREADS, kept, kept);
    char item[64];
    snprintf(item, sizeof item, "p%d[row * g.n%d + col]", sorted, len);
    write_sorted(&w, p, "row", "col", item);
    text_add(&w.body, "    }\n}\n");
    const uint32_t third[3] = {grid_of(ceil_div(p->outer * p->kept, THREADS), t), 1, 1};
    status = writer_finish(&w, "sort_result", third, block, 0);
    writer_drop(&w);
    return status;
}

ig_status emit_sort(const program *p, const emit_target *t, emitted *out)
{
    if (p->outer == 0 || p->inner == 0 || p->kept == 0)
        return IG_OK;
    return p->inner <= SORT_SHORT ? sort_short(p, t, out) : sort_long(p, t, out);
}

/* ---- searches ---- */

ig_status emit_search(const program *p, const emit_target *t, emitted *out)
{
    const int64_t size = view_size(&p->in[1].v), len = view_size(&p->in[0].v);
    const view *sorted = &p->in[0].v;
    if (size == 0)
        return IG_OK;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const int in = writer_operand(&w, &p->in[0], false),
              values = writer_operand(&w, &p->in[1], false);
    const int to = writer_operand(&w, &p->out, true);
    write_key(&w, p->in[0].dtype, false);
    write_place(&w, "place", &p->in[1].v, 1);
    write_place(&w, "target", &p->out.v, 1);
    const int n = writer_number(&w, size), length = writer_number(&w, len);
    const int step = writer_number(&w, sorted->ndim > 0 ? sorted->stride[sorted->ndim - 1] : 1);
    text_add(&w.body,
             "extern \"C\" __global__ void search(PARAMS)\n{\n"
             "    for (idx at = (idx)blockIdx.x * %d + threadIdx.x; at < g.n%d; at += "
             "(idx)gridDim.x * %d) {\n"
             "        const unsigned long long key = key_of(p%d[place(g, at, 0)]);\n"
             "        idx low = 0, high = g.n%d;\n"
             "        while (low < high) {\n"
             "            const idx middle = low + (high - low) / 2;\n"
             "            const unsigned long long here = key_of(p%d[middle * g.n%d]);\n"
             "            if (%s)\n                low = middle + 1;\n"
             "            else\n                high = middle;\n        }\n"
             "        p%d[target(g, at, 0)] = (long long)low;\n    }\n}\n",
             THREADS, n, THREADS, values, length, in, step, p->right ? "here <= key" : "here < key",
             to);
    const uint32_t grid[3] = {grid_of(ceil_div(size, THREADS), t), 1, 1},
                   block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "search", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* ---- writes at computed places ---- */

/* The trailing axes along which the index stays and the place moves: lines, whose elements never meet. */
static int64_t line_length(const program *p, int *axis)
{
    const view *out = &p->out.v, *index = &p->in[0].v;
    int64_t length = 1;
    int i = out->ndim;
    while (i > 0 && index->stride[i - 1] == 0 &&
           (out->stride[i - 1] != 0 || out->shape[i - 1] == 1)) {
        i--;
        length *= out->shape[i];
    }
    *axis = i;
    return length;
}

static view part_of(const view *v, int first, int end)
{
    view part = {.ndim = end - first};
    memcpy(part.shape, v->shape + first, (size_t)part.ndim * sizeof *part.shape);
    memcpy(part.stride, v->stride + first, (size_t)part.ndim * sizeof *part.stride);
    return part;
}

/* spot(line): where a line begins in the output; at(line, k): where its k-th element goes. */
static void write_spots(emit_writer *w, const program *p, int axis, int64_t lines, int64_t length)
{
    const int nd = p->out.v.ndim;
    const view lead_out = part_of(&p->out.v, 0, axis), lead_index = part_of(&p->in[0].v, 0, axis);
    const view line_out = part_of(&p->out.v, axis, nd);
    (void)lines;
    const int index = writer_operand(w, &p->in[0], false);
    write_place(w, "lead_place", &lead_out, 1);
    write_place(w, "index_place", &lead_index, 1);
    write_place(w, "line_place", &line_out, length);
    write_place(w, "update_place", &p->in[1].v, length);
    w->faults = true;
    w->uses |= USES_LANES;
    text_add(&w->body,
             "static __device__ idx spot(PARAMS, idx line)\n{\n"
             "    const idx index = (idx)check_index((long long)p%d[index_place(g, line, 0)], "
             "g.n%d, fault);\n"
             "    return lead_place(g, line, 0) + index * g.n%d;\n}\n\n",
             index, writer_number(w, p->out.axis_len), writer_number(w, p->out.axis_stride));
}

/* Adds updates in order: lines are sorted by their spot, then each run of equal spots is added up. */
static ig_status emit_add(const program *p, const emit_target *t, emitted *out)
{
    int axis, last, bits = 0;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    const int64_t lines = size / length;
    const bool wide_index = !emit_is_narrow(p, 1);
    const int64_t elements = t->slot_len[p->out.slot] / (int64_t)ig_dtype_bytes(p->dtype);
    while (bits < 63 && elements >> bits)
        bits++;
    const sort_memory m = sort_layout(1, lines, bits > 32, 0);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    write_spots(&w, p, axis, lines, length);
    const int key = writer_scratch(&w, m.type, m.key[0]);
    const int index = writer_scratch(&w, "unsigned int", m.index[0]);
    const int n = writer_number(&w, lines);
    text_add(&w.body,
             "extern \"C\" __global__ void write_keys(PARAMS)\n{\n"
             "    for (idx line = (idx)blockIdx.x * %d + threadIdx.x; line < g.n%d; line += "
             "(idx)gridDim.x * %d) {\n"
             "        p%d[line] = (%s)spot(ARGS, line);\n        p%d[line] = (unsigned int)line;\n "
             "   }\n}\n",
             THREADS, n, THREADS, key, m.type, index);
    const uint32_t block[3] = {THREADS, 1, 1};
    const uint32_t grid[3] = {grid_of(ceil_div(lines, THREADS), t), 1, 1};
    ig_status status = writer_finish(&w, "write_keys", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    TRY(sort_items(&m, bits, t, wide_index, out, &last));
    out->scratch_bytes = m.bytes;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    write_spots(&w, p, axis, lines, length);
    const int to = writer_operand(&w, &p->out, true), from = writer_operand(&w, &p->in[1], false);
    const int keys = writer_scratch(&w, m.type, m.key[last]);
    const int order = writer_scratch(&w, "unsigned int", m.index[last]);
    const int all = writer_number(&w, size), len = writer_number(&w, length);
    const int count = writer_number(&w, lines);
    const char *lane = emit_lane_type(p->dtype), *name = ig_dtype_name(p->dtype);
    const bool half = dtype_is_half(p->dtype);
    if (half)
        w.uses |= USES_HALF;
    w.needs_f64 = w.needs_f64 || p->dtype == IG_F64;
    text_add(&w.body,
             "extern \"C\" __global__ void write_sums(PARAMS)\n{\n"
             "    for (idx job = (idx)blockIdx.x * %d + threadIdx.x; job < g.n%d; job += "
             "(idx)gridDim.x * %d) {\n"
             "        const idx first = job / g.n%d, col = job %% g.n%d;\n"
             "        const %s key = p%d[first];\n"
             "        if (first > 0 && p%d[first - 1] == key)\n            continue;\n"
             "        const idx at = (idx)key + line_place(g, 0, col);\n"
             "        %s sum = %s%sp%d[at]%s;\n"
             "        for (idx k = first; k < g.n%d && p%d[k] == key; k++) {\n"
             "            const %s x = %s%sp%d[update_place(g, (idx)p%d[k], col)]%s;\n",
             THREADS, all, THREADS, len, len, m.type, keys, keys, lane, half ? name : "",
             half ? "_to_f32(" : "", to, half ? ")" : "", count, keys, lane, half ? name : "",
             half ? "_to_f32(" : "", from, order, half ? ")" : "");
    text_add(&w.body, "            sum = ");
    if (p->dtype == IG_BOOL)
        text_add(&w.body, "sum | x");
    else if (half) /* each sum is rounded before the next */
        text_add(&w.body, "round_%s(sum + x)", name);
    else
        emit_expression(&w.body, OP_add, p->dtype, "sum", "x");
    text_add(&w.body, ";\n        }\n        p%d[at] = %s%ssum%s;\n    }\n}\n", to,
             half ? name : "", half ? "_of_f32(" : "", half ? ")" : "");
    const uint32_t second[3] = {grid_of(ceil_div(size, THREADS), t), 1, 1};
    status = writer_finish(&w, "write_sums", second, block, 0);
    writer_drop(&w);
    return status;
}

/* The last update of each place wins: the greatest line that has its spot. */
static ig_status emit_put(const program *p, const emit_target *t, emitted *out)
{
    static const char *const steps[3] = {"write_clear", "write_claim", "write_put"};
    int axis;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    const int64_t lines = size / length;
    const int64_t elements = t->slot_len[p->out.slot] / (int64_t)ig_dtype_bytes(p->dtype);
    if (lines >= UINT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED, "scatter: %lld updates; a device takes up to 4294967294",
             (long long)lines);
    out->scratch_bytes = (uint64_t)elements * 4;
    for (int step = 0; step < 3; step++) {
        emit_writer w;
        TRY(writer_start(&w, t, out));
        w.wide = !emit_is_narrow(p, 1);
        write_spots(&w, p, axis, lines, length);
        const int claim = writer_scratch(&w, "unsigned int", 0);
        const int64_t jobs = step == 2 ? size : lines;
        const int n = writer_number(&w, jobs);
        text_add(&w.body,
                 "extern \"C\" __global__ void %s(PARAMS)\n{\n"
                 "    for (idx job = (idx)blockIdx.x * %d + threadIdx.x; job < g.n%d; job += "
                 "(idx)gridDim.x * %d) {\n",
                 steps[step], THREADS, n, THREADS);
        if (step == 0)
            text_add(&w.body, "        p%d[spot(ARGS, job)] = 0u;\n", claim);
        else if (step == 1)
            text_add(&w.body, "        atomicMax(&p%d[spot(ARGS, job)], (unsigned int)job + 1u);\n",
                     claim);
        else {
            const int to = writer_operand(&w, &p->out, true);
            const int from = writer_operand(&w, &p->in[1], false);
            const int len = writer_number(&w, length);
            text_add(
                &w.body,
                "        const idx line = job / g.n%d, col = job %% g.n%d, at = spot(ARGS, line);\n"
                "        if (p%d[at] == (unsigned int)line + 1u)\n"
                "            p%d[at + line_place(g, 0, col)] = p%d[update_place(g, line, col)];\n",
                len, len, claim, to, from);
        }
        text_add(&w.body, "    }\n}\n");
        const uint32_t grid[3] = {grid_of(ceil_div(jobs, THREADS), t), 1, 1};
        const uint32_t block[3] = {THREADS, 1, 1};
        const ig_status status = writer_finish(&w, steps[step], grid, block, 0);
        writer_drop(&w);
        TRY(status);
    }
    return IG_OK;
}

ig_status emit_write(const program *p, const emit_target *t, emitted *out)
{
    if (view_size(&p->out.v) == 0)
        return IG_OK;
    return p->add ? emit_add(p, t, out) : emit_put(p, t, out);
}
