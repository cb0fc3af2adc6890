/* Nodes of kernels/bins.cu: how many elements are in each bin. On the CPU a worker counts a piece of a row in its own table
 * and adds it to the row's counts. */
#include "base/threads.h"
#include "engine/backend/cpu/cpu.h"
#include "engine/custom/library.h"
#include "engine/ops/composite.h"
#include "engine/ops/kernels.h"
#include <stdatomic.h>
#include <string.h>

enum {
    SHARED_BINS = 8192, /* COUNT_BINS of the kernel */
    TABLE_BINS = 65536, /* more bins are counted where they are */
    COPIES = 4,         /* of small tables, so that equal neighbours need not wait for each other */
    COPIED_BINS = 2048,
    PIECE = 1 << 16
};

enum { INDEX_X, INDEX_COUNT, INDEX_ROWS, INDEX_SIZE, INDEX_N, INDEX_BLOCKS, INDEX_PARAMS };
enum {
    EVEN_X,
    EVEN_EDGE,
    EVEN_SCALE,
    EVEN_COUNT,
    EVEN_ROWS,
    EVEN_SIZE,
    EVEN_N,
    EVEN_BLOCKS,
    EVEN_PARAMS
};
enum { N_BINS };

/* ---- on the CPU ---- */

typedef struct count_job {
    const void *x, *edge, *scale;
    _Atomic uint32_t *count;
    int64_t size, n, piece, pieces;
} count_job;

static int64_t copies_of(int64_t n) { return n <= COPIED_BINS ? COPIES : 1; }

static size_t scratch(const int64_t *number)
{
    const int64_t n = number[N_BINS];
    return n > TABLE_BINS ? 0 : (size_t)(n * copies_of(n)) * sizeof(uint32_t);
}

static void add_table(const count_job *j, const uint32_t *table, _Atomic uint32_t *to)
{
    for (int64_t k = 0; k < j->n; k++) {
        uint32_t sum = 0;
        for (int64_t c = 0; c < copies_of(j->n); c++)
            sum += table[c * j->n + k];
        if (sum)
            atomic_fetch_add_explicit(&to[k], sum, memory_order_relaxed);
    }
}

/* Runs PIECE_OF(first, end, table), which may use the job j, for each piece of a row. Without a table, it counts in `to`. */
#define COUNT_TASK(name, TYPE, BEGIN, BIN, INSIDE) \
    static void name(void *context, int64_t task, int worker) \
    { \
        const count_job *j = context; \
        const int64_t row = task / j->pieces, first = task % j->pieces * j->piece, n = j->n; \
        const int64_t end = first + j->piece < j->size ? first + j->piece : j->size; \
        const TYPE *x = (const TYPE *)j->x + row * j->size; \
        _Atomic uint32_t *to = j->count + row * n; \
        BEGIN \
        if (n > TABLE_BINS) { \
            for (int64_t i = first; i < end; i++) \
                if (INSIDE(x[i])) \
                    atomic_fetch_add_explicit(&to[BIN(x[i])], 1, memory_order_relaxed); \
            return; \
        } \
        uint32_t *table = scratch_of(worker); \
        const int64_t copies = copies_of(n); \
        memset(table, 0, (size_t)(n * copies) * sizeof *table); \
        int64_t i = first; \
        for (; copies == COPIES && i + COPIES <= end; i += COPIES) \
            for (int64_t c = 0; c < COPIES; c++) \
                if (INSIDE(x[i + c])) \
                    table[c * n + BIN(x[i + c])]++; \
        for (; i < end; i++) \
            if (INSIDE(x[i])) \
                table[BIN(x[i])]++; \
        add_table(j, table, to); \
    }

#define INDEX_INSIDE(v) ((uint64_t)(int64_t)(v) < (uint64_t)n)
#define INDEX_BIN(v) (int64_t)(v)
COUNT_TASK(index_i32, int32_t, , INDEX_BIN, INDEX_INSIDE)
COUNT_TASK(index_i64, int64_t, , INDEX_BIN, INDEX_INSIDE)

/* even_bin of the kernel. */
#define EVEN(name, TYPE) \
    static inline int64_t name##_bin(TYPE x, const TYPE *edge, TYPE low, TYPE scale, int64_t last) \
    { \
        const TYPE place = (x - low) * scale; \
        const int64_t at = place >= (TYPE)last ? last : place >= 0 ? (int64_t)place : 0; \
        const int64_t under = at > 0 && x < edge[at], over = at < last && x >= edge[at + 1]; \
        return at + over - under; \
    } \
    COUNT_TASK(name, TYPE, EVEN_BEGIN(TYPE), name##_BIN, EVEN_INSIDE)
#define EVEN_BEGIN(TYPE) \
    const TYPE *edge = (const TYPE *)j->edge + row * (n + 1); \
    const TYPE low = edge[0]; \
    const TYPE high = edge[n]; \
    const TYPE scale = ((const TYPE *)j->scale)[row];
#define EVEN_INSIDE(v) ((v) >= low && (v) <= high)
#define even_f32_BIN(v) even_f32_bin(v, edge, low, scale, n - 1)
#define even_f64_BIN(v) even_f64_bin(v, edge, low, scale, n - 1)
EVEN(even_f32, float)
EVEN(even_f64, double)

static int64_t number_at(void *const *at, int i) { return *(const int64_t *)at[i]; }

/* The counts begin as zeros. A piece is longer than its table, which is added up after it. */
static void count_rows(count_job *j, int64_t rows, pool_fn task)
{
    j->piece = j->n <= TABLE_BINS && 8 * j->n > PIECE ? 8 * j->n : PIECE;
    j->pieces = (j->size + j->piece - 1) / j->piece;
    pool_run(j->pieces * rows, task, j);
}

static void index_core(void *const *at, pool_fn task)
{
    count_job j = {.x = at[INDEX_X],
                   .count = at[INDEX_COUNT],
                   .size = number_at(at, INDEX_SIZE),
                   .n = number_at(at, INDEX_N)};
    count_rows(&j, number_at(at, INDEX_ROWS), task);
}

static void even_core(void *const *at, pool_fn task)
{
    count_job j = {.x = at[EVEN_X],
                   .edge = at[EVEN_EDGE],
                   .scale = at[EVEN_SCALE],
                   .count = at[EVEN_COUNT],
                   .size = number_at(at, EVEN_SIZE),
                   .n = number_at(at, EVEN_N)};
    count_rows(&j, number_at(at, EVEN_ROWS), task);
}

static void core_i32(void *const *at) { index_core(at, index_i32); }
static void core_i64(void *const *at) { index_core(at, index_i64); }
static void core_f32(void *const *at) { even_core(at, even_f32); }
static void core_f64(void *const *at) { even_core(at, even_f64); }

/* ---- nodes ---- */

static int build_index(const int64_t *number, ig_array *const *in, ig_array **out);
static int build_even(const int64_t *number, ig_array *const *in, ig_array **out);
static const library_kernel index_kernels[2] = {
    {.file = "bins.cu", .core = core_i32, .build = build_index, .scratch = scratch, .sums = true},
    {.file = "bins.cu", .core = core_i64, .build = build_index, .scratch = scratch, .sums = true}};
static const library_kernel even_kernels[2] = {
    {.file = "bins.cu", .core = core_f32, .build = build_even, .scratch = scratch, .sums = true},
    {.file = "bins.cu", .core = core_f64, .build = build_even, .scratch = scratch, .sums = true}};

static ig_arg array_arg(ig_array *x) { return (ig_arg){.kind = IG_ARG_ARRAY, .u.array = x}; }
static ig_arg int_arg(int64_t i) { return (ig_arg){.kind = IG_ARG_INT, .u.i = i}; }

/* Blocks for each row: some thousand elements for a thread block, and no more blocks than a GPU runs at once. */
static int64_t blocks_of(int64_t size)
{
    enum { EACH = 8192, MOST = 1024 };
    const int64_t blocks = (size + EACH - 1) / EACH;
    return blocks > MOST ? MOST : blocks;
}

/* Counts of the last axis of x, as i64. args has the kernel's parameters before rows. */
static ig_array *count_node(const library_kernel *k, const char *kernel, const char *type,
                            ig_array *x, int64_t n, const ig_arg *arrays, int n_arrays)
{
    const int ndim = x->view.ndim;
    int64_t shape[IG_MAX_NDIM], rows = 1;
    memcpy(shape, x->view.shape, sizeof shape);
    const int64_t size = shape[ndim - 1], blocks = blocks_of(size);
    shape[ndim - 1] = n;
    for (int a = 0; a < ndim - 1; a++)
        rows *= shape[a];
    if (rows * size == 0 || n == 0)
        return build_fill(0, IG_I64, ndim, shape);
    ig_arg args[EVEN_PARAMS];
    memcpy(args, arrays, (size_t)n_arrays * sizeof *args);
    args[n_arrays] = (ig_arg){.kind = IG_ARG_INTS, .u.ints = {shape, ndim}};
    args[n_arrays + 1] = int_arg(rows);
    args[n_arrays + 2] = int_arg(size);
    args[n_arrays + 3] = int_arg(n);
    args[n_arrays + 4] = int_arg(blocks);
    const char *const define[] = {type, n <= SHARED_BINS ? "SHARED=1" : "SHARED=0",
                                  n_arrays > 1 ? "FLOATS=1" : "FLOATS=0"};
    const ig_module_options options = {.size = sizeof options, .defines = define, .n_defines = 3};
    const ig_kernel_call call = {.kernel = kernel,
                                 .options = &options,
                                 .args = args,
                                 .n_args = n_arrays + 5,
                                 .grid = {(uint32_t)(rows * blocks), 1, 1},
                                 .block = {256, 1, 1}};
    const int64_t number[LIBRARY_NUMBERS] = {[N_BINS] = n};
    ig_array *y;
    return library_call(k, &call, number, &y, 1) ? ig_astype(y, IG_I64) : NULL;
}

ig_array *kernel_counts(ig_array *x, int64_t n)
{
    const bool narrow = x && (x->dtype == IG_I8 || x->dtype == IG_U8 || x->dtype == IG_I16 ||
                              x->dtype == IG_U16 || x->dtype == IG_I32);
    x = build_cast(x, narrow ? IG_I32 : IG_I64);
    return x ? count_node(&index_kernels[!narrow], "count_index",
                          narrow ? "ELEMENT=int" : "ELEMENT=long long", x, n,
                          (ig_arg[]){array_arg(x)}, 1)
             : NULL;
}

ig_array *kernel_even_counts(ig_array *x, ig_array *edges, ig_array *scale, int64_t n)
{
    if (!x || !edges || !scale)
        return NULL;
    const bool f64 = x->dtype == IG_F64;
    return count_node(&even_kernels[f64], "count_even", f64 ? "ELEMENT=double" : "ELEMENT=float", x,
                      n, (ig_arg[]){array_arg(x), array_arg(edges), array_arg(scale)}, 3);
}

static int build_index(const int64_t *number, ig_array *const *in, ig_array **out)
{
    return op_one(out, build_cast(kernel_counts(in[0], number[N_BINS]), IG_U32));
}

static int build_even(const int64_t *number, ig_array *const *in, ig_array **out)
{
    ig_array *y = kernel_even_counts(in[0], in[1], in[2], number[N_BINS]);
    return op_one(out, build_cast(y, IG_U32));
}
