/* kernels/bins.cu on the CPU: a worker counts a piece of a row in its own table and adds it to the row's counts. */
#include "base/error.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

#include <stdatomic.h>
#include <string.h>

enum {
    TABLE_BINS = 65536, /* more bins are counted where they are */
    COPIES = 4,         /* of small tables, so that equal neighbours need not wait for each other */
    COPIED_BINS = 2048,
    PIECE = 1 << 16
};

typedef struct count_job {
    const void *x, *edge, *scale;
    _Atomic uint32_t *count;
    int64_t size, n, piece, pieces;
} count_job;

static int64_t copies_of(int64_t n) { return n <= COPIED_BINS ? COPIES : 1; }

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

/* The counts begin as zeros. A piece is longer than its table, which is added up after it. */
static ig_status count_rows(count_job *j, int64_t rows, pool_fn task)
{
    const bool table = j->n <= TABLE_BINS;
    TRY(scratch_reserve(table ? (size_t)(j->n * copies_of(j->n)) * sizeof(uint32_t) : 0));
    j->piece = table && 8 * j->n > PIECE ? 8 * j->n : PIECE;
    j->pieces = (j->size + j->piece - 1) / j->piece;
    pool_run(j->pieces * rows, task, j);
    return IG_OK;
}

ig_status cpu_kernel_count_index(const cpu_kernel_call *c)
{
    count_job j = {.x = cpu_call_array(c, "x"),
                   .count = cpu_call_array(c, "count"),
                   .size = cpu_call_number(c, "size"),
                   .n = cpu_call_number(c, "n")};
    return count_rows(&j, cpu_call_number(c, "rows"),
                      cpu_call_dtype(c) == IG_I32 ? index_i32 : index_i64);
}

ig_status cpu_kernel_count_even(const cpu_kernel_call *c)
{
    count_job j = {.x = cpu_call_array(c, "x"),
                   .edge = cpu_call_array(c, "edge"),
                   .scale = cpu_call_array(c, "scale"),
                   .count = cpu_call_array(c, "count"),
                   .size = cpu_call_number(c, "size"),
                   .n = cpu_call_number(c, "n")};
    return count_rows(&j, cpu_call_number(c, "rows"),
                      cpu_call_dtype(c) == IG_F32 ? even_f32 : even_f64);
}
