/* SEARCH: the position at which each value would be inserted into a sorted row, by binary search,
 * in the order of sort. */
#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/sort/sort_key.h"
#include "engine/backend/cpu/elements/elements.h"
#include "engine/backend/cpu/lanes/rows.h"

#include "base/threads.h"

#include <string.h>

typedef struct search_job {
    const program *p;
    const binding *b;
    const cpu_level *level;
    sort_order o;
    bool right;
    const void *sorted;
    int64_t len, step; /* of the sorted row */
    int64_t size;      /* number of values */
} search_job;

enum { CHUNK_BYTES = TAPE_BLOCK * 8, SEARCH_TASK = 4 * TAPE_BLOCK, SEARCH_BESIDE = 8 };

#if defined(__clang__)
#define SEARCH_UNROLL _Pragma("unroll")
#else
#define SEARCH_UNROLL _Pragma("GCC unroll 8")
#endif

#define SEARCH_JOIN(name, e) name##_##e
#define SEARCH_NAME(name, e) SEARCH_JOIN(name, e)
#define SEARCH(name) SEARCH_NAME(name, E)

#define E uint8_t
#include "engine/backend/cpu/sort/search.inc"
#undef E
#define E uint16_t
#include "engine/backend/cpu/sort/search.inc"
#undef E
#define E uint32_t
#include "engine/backend/cpu/sort/search.inc"
#undef E
#define E uint64_t
#include "engine/backend/cpu/sort/search.inc"
#undef E

typedef void (*search_fn)(const search_job *j, int64_t n, const uint64_t *bound, int64_t *found);

/* The bounds of packed values: elements before a value have codes below its bound; with `right`,
 * not above it. The key is such a bound, except that for `left` no zero is before a zero and no NaN
 * before a NaN. */
static void bounds_of(const search_job *j, int64_t n, uint64_t *bound, const void *values)
{
    const sort_order *o = &j->o;
    j->level->rows->keys(o, true, n, bound, values);
    for (int64_t i = 0; i < n && o->is_float && !j->right; i++) {
        const uint64_t key = bound[i];
        bound[i] = key > o->last ? o->last + 1 : key - (key == o->zero + 1);
    }
}

static void search_chunk(const search_job *j, int64_t start, int64_t n, char *scratch)
{
    static const search_fn searches[] = {
        [1] = search_uint8_t, [2] = search_uint16_t, [4] = search_uint32_t, [8] = search_uint64_t};
    int64_t *found = (int64_t *)scratch;
    uint64_t *bound = (uint64_t *)(scratch + CHUNK_BYTES);
    char *values = scratch + 2 * CHUNK_BYTES;
    elements_read(&j->p->in[1], j->b, start, n, values);
    bounds_of(j, n, bound, values);
    if (j->len > 0)
        searches[j->o.bytes](j, n, bound, found);
    else
        memset(found, 0, (size_t)n * sizeof *found);
    elements_write(&j->p->out, j->b, start, n, found);
}

static void search_task(void *ctx, int64_t task, int worker)
{
    const search_job *j = ctx;
    const int64_t first = task * SEARCH_TASK;
    const int64_t end = first + SEARCH_TASK < j->size ? first + SEARCH_TASK : j->size;
    for (int64_t i = first; i < end; i += TAPE_BLOCK)
        search_chunk(j, i, end - i < TAPE_BLOCK ? end - i : TAPE_BLOCK, scratch_of(worker));
}

size_t cpu_search_scratch(const program *p)
{
    (void)p;
    return 3 * (size_t)CHUNK_BYTES;
}

ig_status cpu_search(const program *p, const binding *b)
{
    const view *v = &p->in[0].v;
    search_job j = {.p = p, .b = b, .level = cpu_level_now()};
    j.o = sort_order_of(p->in[0].dtype, false);
    j.right = p->right;
    j.sorted = operand_host(&p->in[0], b);
    j.len = view_size(v);
    j.step = v->ndim > 0 ? v->stride[v->ndim - 1] : 1;
    j.size = view_size(&p->in[1].v);
    pool_run((j.size + SEARCH_TASK - 1) / SEARCH_TASK, search_task, &j);
    return IG_OK;
}
