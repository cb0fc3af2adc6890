/* MAP: a tape over its whole space, cut into blocks and the blocks into tasks. The blocks depend only on the program.
 *
 * A MAP runs block by block (tape_run.c). Each special path exists for a row of bench/, which gets slower without it;
 * the factors were measured on one Neoverse-V1 core, and those with * on one Xeon core:
 *
 *   rows copied at indices     index/take.c       embedding 30000x768 4096      1.3
 *   tiles                      map_cut_tiles      transpose 4096x4096           4.6
 *   rows plans                 plan_rows          layer_norm 16000x1000         2.7
 *   runs of arithmetic         run_on             layer_norm 16000x1000         1.3
 *   repeated rows              is_flat            add 2000000x8 row             2.0*
 *   direct results             plan_insts         gelu 16M                      1.1
 *   several blocks in one call tape_most          add 16M                       1.2
 *   stores past the caches     map_streams        add 4000x4000 outer           1.8*, add 16M 1.2*
 *   a row read in place        read_row           embedding_add 30000x768 4096  4.8 */
#include "engine/backend/cpu/tape/tape.h"

#include "base/threads.h"

/* Rows of this length and more do not share a block, so that an operand that is the same for all
 * rows is read in place. A block has as many shorter rows as fit. */
enum { ROW_ALONE = 512, MOST_TASKS = 32 /* of a thread */ };

/* Points of a block of a rows plan that is written past the caches: loads and stores alternate often. */
enum { STREAM_POINTS = 256 };

typedef struct map_job {
    const program *p;
    const binding *b;
    cpu_fault fault;
    int64_t row;    /* points that are cut into blocks separately */
    int64_t block;  /* points of a block: of one row or of several rows */
    int64_t in_row; /* blocks of a row */
    int64_t blocks; /* of all */
    int64_t task;   /* blocks of a task */
    /* Tiles (see map_cut_tiles): rows along the tile axis, the distance between them in rows, and the number of groups
     * of them; groups is 0 without tiles. */
    int64_t rows, apart, groups;
    bool streams; /* writes past the caches */
} map_job;

/* Cuts blocks of this many points into tasks. */
static void map_cut_tasks(map_job *j, int64_t points)
{
    const int64_t most = (int64_t)MOST_TASKS * pool_threads();
    const int64_t least = (j->blocks + most - 1) / most;
    const int64_t cost = points * tape_cost(&j->p->pre);
    j->task = TASK_WORK / cost;
    if (j->blocks >=
        2 * j->task) { /* other threads are needed anyway: then smaller tasks for all of them */
        const int64_t share = j->blocks / (2 * pool_threads()), small = TASK_WORK / 4 / cost;
        const int64_t even = share > small ? share : small;
        j->task = even < j->task ? even : j->task;
    }
    j->task = j->task > least ? j->task : least;
}

static void map_cut(map_job *j)
{
    const tape *t = &j->p->pre;
    const int64_t inner = t->ndim > 0 ? t->shape[t->ndim - 1] : 1;
    const rows_plan *rows = &((const tape_plan *)t->compiled)->rows;
    const int64_t most = j->streams && rows->points ? STREAM_POINTS : TAPE_BLOCK;
    j->row = inner >= ROW_ALONE && !rows->flat ? inner : t->size;
    j->block = inner >= ROW_ALONE || rows->flat ? most : TAPE_BLOCK / inner * inner;
    j->in_row = (j->row + j->block - 1) / j->block;
    j->blocks = t->size / j->row * j->in_row;
    map_cut_tasks(j, j->block);
}

/* Cuts into tiles: a few rows that are neighbours along axis, TAPE_TILE points of each. */
static void map_cut_tiles(map_job *j, int axis)
{
    const tape *t = &j->p->pre;
    j->row = t->shape[t->ndim - 1];
    j->block = TAPE_TILE;
    j->in_row = (j->row + j->block - 1) / j->block;
    j->rows = t->shape[axis];
    j->apart = 1;
    for (int i = axis + 1; i < t->ndim - 1; i++)
        j->apart *= t->shape[i];
    j->groups = (j->rows + TAPE_TILE_ROWS - 1) / TAPE_TILE_ROWS;
    /* A "block" is one tile. */
    j->blocks = t->size / (j->row * j->rows) * j->groups * j->in_row;
    map_cut_tasks(j, j->block * TAPE_TILE_ROWS);
}

static void map_tile(const map_job *j, tape_run *run, int64_t i)
{
    const int64_t from = i % j->in_row * j->block, points = j->row - from;
    const int64_t at = i / j->in_row, group = at / j->apart % j->groups;
    const int64_t first = group * TAPE_TILE_ROWS, left = j->rows - first;
    const int64_t rows = left < TAPE_TILE_ROWS ? left : TAPE_TILE_ROWS;
    const int64_t before = at / j->apart / j->groups * j->rows * j->apart + at % j->apart;
    for (int64_t r = first; r < first + rows; r++)
        tape_block(run, (before + r * j->apart) * j->row + from,
                   points < j->block ? points : j->block, NULL);
}

static void map_task(void *ctx, int64_t task, int worker)
{
    map_job *j = ctx;
    tape_run run;
    tape_start(&run, &j->p->pre, j->b, &j->fault, scratch_of(worker));
    run.tiled = j->groups > 0;
    run.streams = j->streams;
    const int64_t first = task * j->task;
    const int64_t end = first + j->task < j->blocks ? first + j->task : j->blocks;
    for (int64_t i = first; i < end && j->groups > 0; i++)
        map_tile(j, &run, i);
    const int64_t most = tape_most(&run) / j->block > 0 ? tape_most(&run) / j->block : 1;
    for (int64_t i = first, n; i < end && j->groups == 0; i += n) {
        const int64_t from = i % j->in_row * j->block, left = j->row - from;
        const int64_t in_row = j->in_row - i % j->in_row;
        n = end - i < most ? end - i : most;
        n = in_row < n ? in_row : n;
        tape_block(&run, i / j->in_row * j->row + from, left < n * j->block ? left : n * j->block,
                   NULL);
    }
    if (j->streams)
        run.level->stream(NULL, NULL, 0);
}

/* True if the tape has one result, which is so large that it is written past the caches. */
static bool map_streams(const tape *t)
{
    enum { LARGE = 32 << 20 }; /* bytes */
    int64_t stores = 0, bytes = 0;
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_STORE) {
            stores++;
            bytes = t->size * (int64_t)ig_dtype_bytes(t->operand[t->inst[k].operand].dtype);
        }
    return cpu_level_now()->stream && stores == 1 && bytes >= LARGE;
}

size_t cpu_map_scratch(const program *p) { return tape_scratch_bytes(&p->pre); }

ig_status cpu_map(const program *p, const binding *b)
{
    map_job job = {.p = p, .b = b};
    if (p->pre.size == 0)
        return IG_OK;
    if (cpu_take_suits(&p->pre))
        return cpu_take(p, b);
    cpu_fault_clear(&job.fault);
    job.streams = map_streams(&p->pre);
    const int axis = tape_tile_axis(&p->pre);
    if (axis >= 0)
        map_cut_tiles(&job, axis);
    else
        map_cut(&job);
    pool_run_cancellable((job.blocks + job.task - 1) / job.task, map_task, &job);
    return cpu_fault_status(&job.fault, p);
}
