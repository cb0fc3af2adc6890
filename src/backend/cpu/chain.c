/* Chains: some rows go through all programs of a chain while they are in the cache, then the next.
 * Each program computes what it computes alone, in the same order, so no bit depends on this. */
#include "backend/cpu/cpu.h"

#include "base/error.h"
#include "base/threads.h"

enum {
    TILE_POINTS = 8192, /* of the widest program, that go through the chain at once */
    ROW_ALONE = 512     /* rows from this length on do not share a block */
};

typedef struct chain_job {
    const program *p;
    const binding *b;
    cpu_fault fault;
    int64_t outer; /* rows */
    int64_t tile;  /* rows at once */
    int64_t task;  /* rows of a task */
} chain_job;

static size_t whole_lines(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static size_t program_scratch(const program *p)
{
    size_t bytes = p->kind == PROGRAM_REDUCE ? cpu_reduce_rows_scratch(p)
                                             : whole_lines(sizeof(tape_run)) + cpu_map_scratch(p);
    return whole_lines(bytes);
}

size_t cpu_chain_scratch(const program *p)
{
    size_t bytes = 0;
    for (int i = 0; i < p->chain; i++)
        bytes += program_scratch(&p[i]);
    return bytes;
}

/* Rows [first, first + n) of a map whose rows have `row` points. */
static void map_rows(tape_run *run, int64_t row, int64_t first, int64_t n)
{
    const int64_t block = row >= ROW_ALONE ? TAPE_BLOCK : TAPE_BLOCK / row * row;
    const int64_t cut = row >= ROW_ALONE ? row : n * row, end = (first + n) * row;
    for (int64_t at = first * row; at < end; at += cut)
        for (int64_t from = 0; from < cut; from += block)
            tape_block(run, at + from, cut - from < block ? cut - from : block, NULL);
}

static void chain_task(void *ctx, int64_t task, int worker)
{
    chain_job *j = ctx;
    char *scratch = scratch_of(worker), *at = scratch;
    for (int i = 0; i < j->p->chain; i++) {
        const program *p = &j->p[i];
        if (p->kind == PROGRAM_REDUCE)
            cpu_reduce_rows_start(p, j->b, &j->fault, at);
        else
            tape_start((tape_run *)at, &p->pre, j->b, &j->fault,
                       at + whole_lines(sizeof(tape_run)));
        at += program_scratch(p);
    }
    const int64_t end = (task + 1) * j->task < j->outer ? (task + 1) * j->task : j->outer;
    for (int64_t row = task * j->task; row < end; row += j->tile) {
        const int64_t n = end - row < j->tile ? end - row : j->tile;
        at = scratch;
        for (int i = 0; i < j->p->chain; i++) {
            const program *p = &j->p[i];
            if (p->kind == PROGRAM_REDUCE)
                cpu_reduce_rows(at, row, n);
            else
                map_rows((tape_run *)at, p->pre.size / j->outer, row, n);
            at += program_scratch(p);
        }
    }
}

/* Cuts the rows into tiles and tasks; false if the programs are better run one after another. */
static bool chain_cut(chain_job *j)
{
    int64_t widest = 1, cost = 0;
    for (int i = 0; i < j->p->chain; i++) {
        const program *p = &j->p[i];
        if (p->kind == PROGRAM_REDUCE && !cpu_reduce_has_rows(p))
            return false;
        j->outer = p->kind == PROGRAM_REDUCE ? p->outer : j->outer;
        cost += tape_cost(&p->pre) + tape_cost(&p->post);
    }
    if (j->outer < pool_threads())
        return false;
    for (int i = 0; i < j->p->chain; i++)
        if (j->p[i].pre.size / j->outer > widest)
            widest = j->p[i].pre.size / j->outer;
    j->tile = TILE_POINTS / widest > 1 ? TILE_POINTS / widest : 1;
    j->task = TASK_WORK / (widest * cost);
    j->task = (j->task + j->tile) / j->tile * j->tile;
    return true;
}

ig_status cpu_chain(const program *p, const binding *b)
{
    chain_job j = {.p = p, .b = b};
    cpu_fault_clear(&j.fault);
    if (!chain_cut(&j)) {
        for (int i = 0; i < p->chain; i++)
            TRY(p[i].kind == PROGRAM_REDUCE ? cpu_reduce(&p[i], b) : cpu_map(&p[i], b));
        return IG_OK;
    }
    pool_run((j.outer + j.task - 1) / j.task, chain_task, &j);
    return cpu_fault_status(&j.fault);
}
