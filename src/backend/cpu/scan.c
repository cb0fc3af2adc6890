/* SCAN: running folds along rows. A row is cut into chunks of TAPE_BLOCK: inside a chunk the fold runs
 * from element to element, and what the chunks before it came to is joined on. f16 and bf16 run in
 * f32 and are rounded where they are stored. Rows are shared out over the cores. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/raw.h"

#include "base/threads.h"

#include <string.h>

typedef struct scan_job {
    const program *p;
    const binding *b;
    const cpu_level *level;
    int64_t rows; /* of a task */
} scan_job;

enum { CHUNK_BYTES = TAPE_BLOCK * 8 };

size_t cpu_scan_scratch(const program *p)
{
    (void)p;
    return 2 * (size_t)CHUNK_BYTES;
}

static void scan_row(const scan_job *j, int64_t row, char *scratch)
{
    const program *p = j->p;
    const ig_dtype lane = dtype_lane(p->dtype);
    char *stored = scratch, *lanes = scratch + CHUNK_BYTES;
    uint64_t carry = 0;
    for (int64_t i = 0; i < p->inner; i += TAPE_BLOCK) {
        const int64_t n = p->inner - i < TAPE_BLOCK ? p->inner - i : TAPE_BLOCK;
        const int64_t start = row * p->inner + i;
        raw_read(&p->in[0], j->b, start, n, stored);
        j->level->convert(p->in[0].dtype, lane, n, lanes, 1, stored, 1);
        j->level->scan(p->fold, lane, n, lanes, lanes, i > 0 ? &carry : NULL);
        memcpy(&carry, lanes + (n - 1) * (int64_t)ig_dtype_bytes(lane), ig_dtype_bytes(lane));
        j->level->convert(lane, p->out.dtype, n, stored, 1, lanes, 1);
        raw_write(&p->out, j->b, start, n, stored);
    }
}

static void scan_task(void *ctx, int64_t task, int worker)
{
    const scan_job *j = ctx;
    const int64_t first = task * j->rows, left = j->p->outer - first;
    for (int64_t r = 0; r < (left < j->rows ? left : j->rows); r++)
        scan_row(j, first + r, scratch_of(worker));
}

ig_status cpu_scan(const program *p, const binding *b)
{
    scan_job j = {.p = p, .b = b, .level = cpu_level_now()};
    if (p->outer == 0 || p->inner == 0)
        return IG_OK;
    j.rows = p->inner < TASK_WORK ? TASK_WORK / p->inner : 1;
    pool_run((p->outer + j.rows - 1) / j.rows, scan_task, &j);
    return IG_OK;
}
