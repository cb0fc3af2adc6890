/* MAP: a tape over its whole space, cut into blocks and the blocks into tasks. The cut depends on the
 * program alone. */
#include "backend/cpu/cpu.h"

#include "base/threads.h"

/* Rows from this length on are not shared by blocks, so that an operand that is the same for all rows
 * is read in place. Shorter ones are taken together, as many as a block holds. */
enum { ROW_ALONE = 512 };

typedef struct map_job {
    const program *p;
    const binding *b;
    cpu_fault fault;
    int64_t row;    /* points that are cut alone */
    int64_t block;  /* points of a block: of one row, or of some rows */
    int64_t in_row; /* blocks of a row */
    int64_t blocks; /* of all */
    int64_t task;   /* blocks of a task */
} map_job;

static void map_cut(map_job *j)
{
    const tape *t = &j->p->pre;
    const int64_t inner = t->ndim > 0 ? t->shape[t->ndim - 1] : 1;
    j->row = inner >= ROW_ALONE ? inner : t->size;
    j->block = inner >= ROW_ALONE ? TAPE_BLOCK : TAPE_BLOCK / inner * inner;
    j->in_row = (j->row + j->block - 1) / j->block;
    j->blocks = t->size / j->row * j->in_row;
    j->task = TASK_WORK / (j->block * tape_cost(t));
    j->task = j->task > 0 ? j->task : 1;
}

static void map_task(void *ctx, int64_t task, int worker)
{
    map_job *j = ctx;
    tape_run run;
    tape_start(&run, &j->p->pre, j->b, &j->fault, scratch_of(worker));
    const int64_t first = task * j->task;
    const int64_t end = first + j->task < j->blocks ? first + j->task : j->blocks;
    for (int64_t i = first; i < end; i++) {
        const int64_t from = i % j->in_row * j->block, left = j->row - from;
        tape_block(&run, i / j->in_row * j->row + from, left < j->block ? left : j->block, NULL);
    }
}

size_t cpu_map_scratch(const program *p) { return tape_scratch_bytes(&p->pre); }

ig_status cpu_map(const program *p, const binding *b)
{
    map_job job = {.p = p, .b = b};
    if (p->pre.size == 0)
        return IG_OK;
    cpu_fault_clear(&job.fault);
    map_cut(&job);
    pool_run((job.blocks + job.task - 1) / job.task, map_task, &job);
    return cpu_fault_status(&job.fault);
}
