/* SORT and ARGSORT: each row is ranked by keys (order.h), stable in both directions, so that equal
 * elements stay in order of appearance. Rows are shared out over the cores. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/order.h"
#include "backend/cpu/raw.h"

#include "base/memory.h"
#include "base/threads.h"

#include <string.h>

enum {
    SORT_FEW = 40,          /* elements that are sorted by insertion */
    SORT_SCRATCH = 1 << 18, /* bytes of a row up to which the workers' own scratch is used */
    CHUNK_BYTES = TAPE_BLOCK * 8
};

#define DTYPE(id, name, standard, lane, kind, bytes) [IG_##id] = ORDER_##kind(bytes, name),
#define ORDER_ALL(bytes) (UINT64_MAX >> (64 - 8 * bytes))
#define ORDER_TOP(bytes) ((uint64_t)1 << (8 * bytes - 1))
/* clang-format off */
#define ORDER_BOOL(bytes, name) {bytes, ORDER_ALL(bytes), 0, 0}
#define ORDER_UNSIGNED(bytes, name) {bytes, ORDER_ALL(bytes), 0, 0}
#define ORDER_SIGNED(bytes, name) {bytes, ORDER_ALL(bytes), ORDER_TOP(bytes), 0}
#define ORDER_FLOAT(bytes, name) {bytes, ORDER_ALL(bytes), ORDER_TOP(bytes), INFINITY_##name}
/* clang-format on */
#define INFINITY_f16 0x7c00
#define INFINITY_bf16 0x7f80
#define INFINITY_f32 0x7f800000
#define INFINITY_f64 0x7ff0000000000000

order order_of(ig_dtype dtype)
{
    static const order orders[DTYPE_COUNT] = {
#include "array/dtype.def"
    };
    return orders[dtype];
}

#define SORT_JOIN(name, size) name##_##size
#define SORT_NAME(name, size) SORT_JOIN(name, size)
#define SORT(name) SORT_NAME(name, SIZE)

#define K uint32_t
#define I uint32_t
#define SIZE short
#include "backend/cpu/sort.inc"
#undef K
#undef SIZE

#define K uint64_t
#define SIZE long
#include "backend/cpu/sort.inc"
#undef I
#undef SIZE

#define I uint64_t
#define SIZE huge
#include "backend/cpu/sort.inc"
#undef K
#undef I
#undef SIZE

/* A way to rank a row, by the width of keys and indices. */
typedef struct ranking {
    size_t bytes; /* of space for one element */
    const void *(*rank)(const order *o, bool descending, int64_t n, const void *elements,
                        void *space);
    void (*offsets)(const void *rank, int64_t first, int64_t n, int64_t *offset);
} ranking;

static const ranking *ranking_of(const program *p)
{
    static const ranking ways[] = {
        {2 * (sizeof(uint32_t) + sizeof(uint32_t)), rank_short, offsets_short},
        {2 * (sizeof(uint64_t) + sizeof(uint32_t)), rank_long, offsets_long},
        {2 * (sizeof(uint64_t) + sizeof(uint64_t)), rank_huge, offsets_huge},
    };
    if (p->inner > UINT32_MAX)
        return &ways[2];
    return &ways[ig_dtype_bytes(p->in[0].dtype) == 8];
}

/* ---- rows ---- */

typedef struct sort_job {
    const program *p;
    const binding *b;
    const ranking *way;
    order o;
    char *space;   /* one row's for each task, or NULL: the workers' scratch */
    size_t bytes;  /* of a row's space */
    int64_t tasks; /* task t has the rows t, t + tasks, ... */
} sort_job;

/* The elements, their ranks, and a chunk of offsets and one of results. */
static size_t row_bytes(const program *p)
{
    const size_t elements = (size_t)p->inner * ig_dtype_bytes(p->in[0].dtype);
    const size_t all = elements + (size_t)p->inner * ranking_of(p)->bytes + 2 * CHUNK_BYTES;
    return (all + 127) & ~(size_t)63;
}

static void sort_row(const sort_job *j, int64_t row, char *space)
{
    const program *p = j->p;
    int64_t *offset = (int64_t *)space;
    char *chunk = space + CHUNK_BYTES, *ranks = chunk + CHUNK_BYTES;
    char *elements = ranks + (size_t)p->inner * j->way->bytes;
    const bool values = p->kind == PROGRAM_SORT;
    raw_read(&p->in[0], j->b, row * p->inner, p->inner, elements);
    const void *rank = j->way->rank(&j->o, p->flag, p->inner, elements, ranks);
    for (int64_t i = 0; i < p->inner; i += TAPE_BLOCK) {
        const int64_t n = p->inner - i < TAPE_BLOCK ? p->inner - i : TAPE_BLOCK;
        j->way->offsets(rank, i, n, offset);
        if (values)
            raw_moves_of(p->in[0].dtype)->fetch(n, chunk, elements, offset);
        raw_write(&p->out, j->b, row * p->inner + i, n, values ? chunk : (char *)offset);
    }
}

static void sort_task(void *ctx, int64_t task, int worker)
{
    const sort_job *j = ctx;
    char *space = j->space ? j->space + (size_t)task * j->bytes : scratch_of(worker);
    for (int64_t row = task; row < j->p->outer; row += j->tasks)
        sort_row(j, row, space);
}

size_t cpu_sort_scratch(const program *p)
{
    const size_t bytes = row_bytes(p);
    return bytes <= SORT_SCRATCH ? bytes : 0;
}

/* Long rows take memory for the time of the launch only: it may be as much as the arrays have. */
ig_status cpu_sort(const program *p, const binding *b)
{
    sort_job j = {.p = p, .b = b, .way = ranking_of(p), .o = order_of(p->in[0].dtype)};
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    j.bytes = row_bytes(p);
    const bool small = j.bytes <= SORT_SCRATCH;
    const int64_t each = TASK_WORK / (p->inner * 16), most = small ? p->outer : pool_threads();
    j.tasks = each > 1 ? (p->outer + each - 1) / each : p->outer;
    j.tasks = j.tasks < most ? j.tasks : most;
    if (!small && !(j.space = memory_data_get((size_t)j.tasks * j.bytes)))
        return IG_ERR_MEMORY;
    pool_run(j.tasks, sort_task, &j);
    memory_data_free(j.space, (size_t)j.tasks * j.bytes);
    return IG_OK;
}
