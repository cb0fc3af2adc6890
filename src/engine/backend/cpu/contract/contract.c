/* The contraction: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], where b, m, n and k
 * are groups of axes of two views. Matrix products, tensordot, einsum and convolution (a view of
 * overlapping windows) are contractions.
 *
 * The output is cut into tiles. For each block of k, a worker packs the panels of a tile and
 * accumulates the tile in its scratch; it then passes the finished rows to the epilogue. The
 * address of an element is a sum of one offset for each group, so packing reads any strides through
 * small tables.
 *
 * Each special path exists for a row of bench/, which gets slower without it. The factors were measured on one Xeon
 * core (CPU time), unless the line says otherwise:
 *
 *   shared panels              shared_get         train_cnn 64x1x8x8            1.1
 *   one panel at a time        tile_sum_block     linear 128x768x3072           1.06
 *   packed once                packed.c           distilbert 1x128              1.1; bf16 1.2
 *   thin, packed once          packed.c           linear 4x768x3072             4.6
 *   straight rows              reads_straight     distilbert 8x128 bf16         1.1 (16 Xeon cores)
 *   epilogue by panels of rows tile_run_strips    matmul 512 bf16               1.1 (16 Xeon cores)
 *   small products             is_small           matmul 10000x8x8x8            2.5
 *   thin, points contiguous    tile_sum_thin      linear 1x768x3072             2.7 (Neoverse-V1)
 *   thin, rows contiguous      tile_sum_thin      matmul 1x768x3072             5.0 (Neoverse-V1)
 *   dot products               dots_sum           vecdot 4096x256               3.7 (Neoverse-V1)
 *   windows in place           direct.c           depthwise 1x272x14x14         2.6 (Neoverse-V1)
 *   windows dealt out          direct.c           depthwise_2 1x144x56x56       6.8 (Neoverse-V1)
 *   sums of integers           quant.c            decoder                       5
 *   direct results             result_of          matmul 100000x64x64           1.1
 *   half of a symmetric result mirror.c           gram 20000x1000 f64           1.9 (Neoverse-V1)
 *   BLAS, with IG_BLAS=on      tile_sum_blas      only if the user asks for it
 *
 * Invariant: the order of a sum does not depend on how the output is cut, which depends on the number of threads. It
 * depends on the blocks of k, which only depend on the length of k. */
#include "engine/backend/cpu/contract/tile.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <time.h>

/* The most bytes of one side's shared panels. */
#define SHARED_BYTES ((int64_t)64 << 20)

/* ---- tasks ------------------------------------------------------------------------------------- */

/* The panels of rows at the start of a tile that lie above the diagonal of a symmetric result, in rows. */
static int64_t rows_above(const contraction *c, int64_t first, int64_t rows, int64_t j)
{
    const int64_t n0 = j * c->n.size, above = n0 > first ? (n0 - first) / c->kernel->mr : 0;
    return c->mirror < 0 ? 0 : above * c->kernel->mr < rows ? above * c->kernel->mr : rows;
}

static void task_run(void *context, int64_t task, int worker)
{
    contraction *c = context;
    worker_state w;
    worker_start(&w, c, &c->fault, scratch_of(worker));
    if (c->direct.on) {
        direct_run(c, &w, c->tiles * task / c->tasks, c->tiles * (task + 1) / c->tasks);
        return;
    }
    const int64_t before = c->first * c->n.parts,
                  left = c->batches * c->m.parts * c->n.parts - before;
    const int64_t tiles = left < c->tiles ? left : c->tiles;
    const int64_t end = tiles * (task + 1) / c->tasks;
    if (c->dots) {
        tile_dots(c, &w, tiles * task / c->tasks, end);
        return;
    }
    for (int64_t tile = before + tiles * task / c->tasks; tile < before + end; tile++) {
        const int64_t i = tile / c->n.parts % c->m.parts, j = tile % c->n.parts;
        const int64_t first = i * c->m.size, rows = cut_length(&c->m, i);
        const int64_t above = rows_above(c, first, rows, j);
        if (above < rows)
            tile_run(c, &w, tile / c->n.parts / c->m.parts, first + above, rows - above, j);
    }
}

/* ---- shared panels: packed once before the tiles, because small tiles would pack them many times
 * -- */

/* Parts of a side that are shared at a time. */
static int64_t shared_parts(const contraction *c, int side)
{
    return side == 0 ? c->round : c->n.parts;
}

static int64_t shared_bytes(const contraction *c, int side)
{
    const cut *rows = side == 0 ? &c->m : &c->n;
    return side_batches(c, side) * shared_parts(c, side) * c->kc.parts *
           panels_rows(c, side, rows->size) * panel_row(c, c->kc.size);
}

/* Allocates the panels of a side, if the memory limit allows it. */
static ig_status shared_take(contraction *c, int side)
{
    const int64_t bytes = shared_bytes(c, side);
    const uint64_t used = ig_memory_used(), limit = ig_memory_limit();
    if (bytes > SHARED_BYTES || used >= limit || (uint64_t)bytes > limit - used)
        return IG_OK;
    c->shared[side] = memory_data_get((size_t)bytes);
    return c->shared[side] ? IG_OK : IG_ERR_MEMORY;
}

/* True if each thread has at most one tile, and packing a side itself costs a thread less than a second run of the pool
 * with panels in the caches of other cores. That holds for in[0] if in[1] has kept panels, for in[1] if in[0] has
 * straight rows, and for both sides with matrix instructions. */
static bool packs_for_itself(const contraction *c, int side)
{
    return c->batches == 1 && c->tiles <= c->threads && c->threads > 2 &&
           ((side == 0 && c->packed[1]) || (side == 1 && c->straight) || c->kernel->group > 1);
}

/* The same, but only if small tiles or batches would pack the panels many times. */
static ig_status shared_get(contraction *c, int side)
{
    const bool again = contraction_packs_again(c, side);
    if (c->thin >= 0 || c->blas || c->quant || c->kc.parts == 0 || (side == 0 && c->straight) ||
        c->packed[side] || packs_for_itself(c, side) ||
        !(again || side_batches(c, side) < c->batches))
        return IG_OK;
    return shared_take(c, side);
}

static void shared_free(contraction *c)
{
    for (int side = 0; side < 2; side++)
        if (c->shared[side])
            memory_data_free(c->shared[side], (size_t)shared_bytes(c, side));
    c->shared[0] = c->shared[1] = NULL;
}

/* Parts are packed in slices of some panels, so that all threads have work. */
static int64_t slice_rows(const contraction *c, int side)
{
    enum { PANELS = 4 };
    return PANELS * (side == 0 ? c->kernel->mr : c->kernel->nr);
}

static int64_t slices_of(const contraction *c, int side)
{
    const int64_t slice = slice_rows(c, side), rows = side == 0 ? c->m.size : c->n.size;
    return (rows + slice - 1) / slice;
}

static int64_t shared_tasks(const contraction *c, int side)
{
    const int64_t parts = side_batches(c, side) * shared_parts(c, side);
    return c->shared[side] ? parts * slices_of(c, side) * c->kc.parts : 0;
}

/* Packs one block of k of a slice of one part of a side. */
static void shared_pack(void *context, int64_t task, int worker)
{
    contraction *c = context;
    worker_state w;
    worker_place(&w, c, scratch_of(worker));
    const int side = task >= shared_tasks(c, 0);
    const cut *rows = side == 0 ? &c->m : &c->n;
    const int64_t slices = slices_of(c, side), slice = slice_rows(c, side);
    int64_t nth = side == 0 ? task : task - shared_tasks(c, 0);
    const int64_t first = nth % slices * slice;
    nth /= slices;
    const int64_t parts = shared_parts(c, side), batch = nth / c->kc.parts / parts;
    const int64_t block = nth % c->kc.parts;
    const int64_t part = nth / c->kc.parts % parts + (side == 0 ? c->first : 0);
    const int64_t n = part < rows->parts ? cut_length(rows, part) : 0;
    if (first >= n)
        return;
    tile_find_rows(c, &w, side, batch, part * rows->size, n);
    w.panel[side] =
        tile_shared(c, side, batch, part, block) + first * panel_row(c, cut_length(&c->kc, block));
    tile_pack(c, &w, side, first, n - first < slice ? n - first : slice, block);
}

/* ---- BLAS -------------------------------------------------------------------------------------- */

/* Sizes of BLAS tiles, which do not depend on the number of threads. */
enum { BLAS_TILE_M = 256, BLAS_TILE_N = 512, BLAS_LEAST = 128, BLAS_DEEP = 512 };

/* True if BLAS can express the product and it is large enough. */
static bool blas_fits(const contraction *c)
{
    bool turned;
    int64_t stride;
    if ((c->p->dtype != IG_F32 && c->p->dtype != IG_F64) || c->stored[0] || c->stored[1] ||
        c->m.extent < BLAS_LEAST || c->n.extent < BLAS_LEAST || c->kc.extent < BLAS_LEAST ||
        c->kc.extent > INT32_MAX)
        return false;
    return tile_blas_matrix(&c->row[0], &c->k[0], &turned, &stride) &&
           tile_blas_matrix(&c->row[1], &c->k[1], &turned, &stride);
}

static void blas_use(contraction *c, const blas *library)
{
    c->blas = library;
    c->m = cut_at_most(c->m.extent, BLAS_TILE_M, 1);
    c->n = cut_at_most(c->n.extent, BLAS_TILE_N, 1);
    contraction_layout(c);
}

/* The least time of a tile over several tries, in seconds. */
static double tile_time(const contraction *c, char *memory, const buffer *data)
{
    enum { TRIES = 3 };
    const binding bindings[1] = {{(buffer *)(uintptr_t)data, 0}};
    contraction timed = *c;
    timed.bindings = bindings;
    worker_state w = {.m = c->m.extent, .n = c->n.extent, .ldc = c->n.size};
    worker_place(&w, c, memory);
    tile_find_rows(&timed, &w, 0, 0, 0, w.m);
    tile_find_rows(&timed, &w, 1, 0, 0, w.n);
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        tile_sum(&timed, &w);
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double s =
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
        best = i == 0 || s < best ? s : best;
    }
    return best;
}

/* True if BLAS sums a tile of k points faster than our kernels, measured on zeros. */
static bool blas_measure(ig_dtype dtype, int64_t k, const blas *library)
{
    program p = {.kind = PROGRAM_CONTRACT,
                 .dtype = dtype,
                 .ndim = {0, 1, 1, 1},
                 .chain = 1,
                 .extent = {1, BLAS_TILE_M, BLAS_TILE_N, k}};
    for (int side = 0; side < 2; side++)
        p.in[side] = (operand){
            .dtype = dtype, .v = {.ndim = 2, .shape = {p.extent[1 + side], k}, .stride = {k, 1}}};
    contraction ours, theirs;
    contraction_set(&ours, &p);
    theirs = ours;
    blas_use(&theirs, library);
    const size_t scratch = ours.at.bytes > theirs.at.bytes ? ours.at.bytes : theirs.at.bytes;
    const size_t bytes = (size_t)(BLAS_TILE_N * k) * ig_dtype_bytes(dtype);
    char *memory = memory_new(scratch + bytes + 64);
    if (!memory)
        return false;
    char *aligned = memory + (64 - (uintptr_t)memory % 64) % 64;
    const buffer data = {.data = aligned + scratch};
    const bool faster = tile_time(&theirs, aligned, &data) < tile_time(&ours, aligned, &data);
    memory_free(memory);
    return faster;
}

/* Selects BLAS or our kernels. IG_BLAS=auto measures once per process for each dtype and for short
 * and long k. Evaluations run one at a time. */
static void blas_choose(contraction *c)
{
    static enum { UNKNOWN, SLOWER, FASTER } speed[DTYPE_COUNT][2];
    const blas *library = blas_fits(c) && c->p->math != IG_MATH_SAME ? blas_get() : NULL;
    if (!library)
        return;
    const int deep = c->kc.extent >= BLAS_DEEP;
    if (library->measured && speed[c->p->dtype][deep] == UNKNOWN)
        speed[c->p->dtype][deep] =
            blas_measure(c->p->dtype, deep ? BLAS_DEEP : BLAS_LEAST, library) ? FASTER : SLOWER;
    if (!library->measured || speed[c->p->dtype][deep] == FASTER)
        blas_use(c, library);
}

/* ---- the core ---------------------------------------------------------------------------------- */

/* Plans everything except the buffers. */
static void contraction_plan(contraction *c, const program *p)
{
    contraction_set(c, p);
    direct_choose(c);
    if (!c->direct.on)
        blas_choose(c);
    mirror_choose(c);
    contraction_share(c, pool_threads());
}

void *cpu_contract_plan(const program *p)
{
    contraction *c = memory_get(sizeof *c);
    if (c)
        contraction_plan(c, p);
    return c;
}

size_t cpu_contract_scratch(const program *p)
{
    return ((const contraction *)p->compiled)->at.bytes;
}

const char *cpu_contract_how(const program *p)
{
    contraction c;
    contraction_set(&c, p);
    if (p->chain == 1 && !p->by_rows)
        blas_choose(&c);
    return c.quant ? cpu_quant_label() : c.blas ? c.blas->name : cpu_gemm_label(c.kernel);
}

/* Launches run one at a time (the engine's lock), so the plan also holds the state of this launch. */
ig_status cpu_contract(const program *p, const binding *b)
{
    contraction *c = p->compiled;
    if (p->extent[0] * p->extent[1] * p->extent[2] == 0)
        return IG_OK;
    if (c->threads != pool_threads())
        contraction_plan(c, p);
    c->bindings = b;
    cpu_fault_clear(&c->fault);
    for (int side = 0; side < 2 && !c->direct.on; side++)
        TRY(packed_get(c, side));
    ig_status status = quant_begin(c);
    if (status == IG_OK)
        status = shared_get(c, 0);
    if (status == IG_OK)
        status = shared_get(c, 1);
    for (; status == IG_OK && c->first < c->m.parts; c->first += c->round) {
        pool_run(shared_tasks(c, 0) + (c->first == 0 ? shared_tasks(c, 1) : 0), shared_pack, c);
        pool_run_cancellable(c->tasks, task_run, c);
    }
    c->first = 0;
    if (status == IG_OK && c->mirror >= 0)
        mirror_run(c);
    if (status == IG_OK)
        status = cpu_fault_status(&c->fault, p);
    shared_free(c);
    quant_end(c);
    return status;
}

/* ---- some rows, for a chain -------------------------------------------------------------------- */

typedef struct contract_rows {
    contraction c;
    worker_state w;
} contract_rows;

static size_t rows_head(void) { return (sizeof(contract_rows) + 63) & ~(size_t)63; }

/* The plan with tiles of at most `tile` rows. It is made when the chain asks for its scratch,
 * before workers run. */
static const contraction *rows_plan(const program *p, int64_t tile)
{
    contraction *c = p->compiled;
    if (c->rows == tile)
        return c;
    contraction_set(c, p);
    const int64_t unit = c->thin < 0 ? c->kernel->mr : 1;
    c->dots = c->straight = false;
    c->m = cut_at_most(c->m.extent, tile + unit - 1, unit);
    c->rows = tile;
    contraction_layout(c);
    return c;
}

/* Contractions whose in[1] are packed in one run of the pool. */
typedef struct rows_shared {
    contraction c[CONTRACT_SHARED];
    int64_t end[CONTRACT_SHARED]; /* of their tasks */
} rows_shared;

static void rows_shared_pack(void *context, int64_t task, int worker)
{
    rows_shared *s = context;
    int i = 0;
    while (task >= s->end[i])
        i++;
    shared_pack(&s->c[i], i > 0 ? task - s->end[i - 1] : task, worker);
}

ig_status cpu_contract_rows_share(const program *const *p, int n, const binding *b, int64_t tile,
                                  void **panels)
{
    rows_shared s;
    int64_t tasks = 0;
    for (int i = 0; i < n; i++)
        panels[i] = NULL;
    for (int i = 0; i < n; i++) {
        contraction *c = &s.c[i];
        *c = *rows_plan(p[i], tile);
        c->bindings = b;
        cpu_fault_clear(&c->fault);
        if (c->thin < 0 && c->m.parts > 1 && c->kc.parts > 0)
            TRY(shared_take(c, 1));
        panels[i] = c->shared[1];
        tasks += shared_tasks(c, 1);
        s.end[i] = tasks;
    }
    pool_run(tasks, rows_shared_pack, &s);
    return IG_OK;
}

void cpu_contract_rows_unshare(const program *p, int64_t tile, void *panels)
{
    contraction c = *rows_plan(p, tile);
    c.shared[1] = panels;
    shared_free(&c);
}

void cpu_contract_rows_use(void *scratch, void *panels)
{
    ((contract_rows *)scratch)->c.shared[1] = panels;
}

size_t cpu_contract_rows_scratch(const program *p, int64_t tile)
{
    return rows_head() + rows_plan(p, tile)->at.bytes;
}

void cpu_contract_rows_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                             int64_t tile, void *scratch)
{
    (void)rows;
    contract_rows *s = scratch;
    s->c = *rows_plan(p, tile);
    s->c.bindings = b;
    worker_start(&s->w, &s->c, fault, (char *)scratch + rows_head());
}

void cpu_contract_rows(void *scratch, int64_t first, int64_t n)
{
    contract_rows *s = scratch;
    const contraction *c = &s->c;
    while (n > 0) { /* a tile must not span batches */
        const int64_t m0 = first % c->m.extent, left = c->m.extent - m0;
        int64_t rows = n < left ? n : left;
        rows = rows < c->m.size ? rows : c->m.size;
        for (int64_t j = 0; j < c->n.parts; j++)
            tile_run(c, &s->w, first / c->m.extent, m0, rows, j);
        first += rows;
        n -= rows;
    }
}
