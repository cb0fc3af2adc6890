/* SEARCH: where each value would be inserted into a sorted row, by halving, in the order of sort. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/order.h"
#include "backend/cpu/raw.h"

#include "base/threads.h"

typedef struct search_job {
    const program *p;
    const binding *b;
    order o;
    const char *sorted;
    int64_t len, step; /* of the sorted row */
    int64_t size;      /* number of values */
} search_job;

enum { CHUNK_BYTES = TAPE_BLOCK * 8, SEARCH_TASK = 4 * TAPE_BLOCK };

/* How many of the sorted stand before the key; with `right`, before or at it. */
static int64_t search_one(const search_job *j, uint64_t key, bool right)
{
    int64_t first = 0, end = j->len;
    while (first < end) {
        const int64_t mid = first + (end - first) / 2;
        const uint64_t k = order_key(&j->o, order_bits(&j->o, j->sorted, mid * j->step), false);
        if (k < key || (right && k == key))
            first = mid + 1;
        else
            end = mid;
    }
    return first;
}

static void search_chunk(const search_job *j, int64_t start, int64_t n, char *scratch)
{
    int64_t *found = (int64_t *)scratch;
    char *values = scratch + CHUNK_BYTES;
    raw_read(&j->p->in[1], j->b, start, n, values);
    for (int64_t i = 0; i < n; i++)
        found[i] = search_one(j, order_key(&j->o, order_bits(&j->o, values, i), false), j->p->flag);
    raw_write(&j->p->out, j->b, start, n, found);
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
    return 2 * (size_t)CHUNK_BYTES;
}

ig_status cpu_search(const program *p, const binding *b)
{
    const view *v = &p->in[0].v;
    search_job j = {.p = p, .b = b, .o = order_of(p->in[0].dtype)};
    j.sorted = operand_host(&p->in[0], b);
    j.len = view_size(v);
    j.step = v->ndim > 0 ? v->stride[v->ndim - 1] : 1;
    j.size = view_size(&p->in[1].v);
    pool_run((j.size + SEARCH_TASK - 1) / SEARCH_TASK, search_task, &j);
    return IG_OK;
}
