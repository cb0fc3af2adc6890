/* Chains: a tile of rows goes through all programs of a chain while it is in the cache, then the
 * next tile. Each program computes the same values as alone, in the same order, so results have the
 * same bits.
 *
 * Values that a chain keeps only row by row (such as the scores of attention) are stored in the
 * worker's scratch. The bindings of their slots are shifted so that the rows of the current tile
 * fall on that memory. */
#include "engine/backend/cpu/cpu.h"

#include "base/error.h"
#include "base/threads.h"

#include <string.h>

enum {
    TILE_POINTS = 8192, /* points of a tile in the widest program */
    TILE_BYTES =
        512 *
        1024, /* bytes of a tile's values that are kept row by row: they fit in the L2 cache */
    TILE_ROWS_LEAST = 16, /* with fewer rows, a contraction packs more than it computes */
    TILE_ROWS_MOST = 128,
    TILE_ROWS_SHARED = 32,    /* tiles are not cut below this for more tasks */
    ROW_ALONE = 512,          /* rows of this length and more do not share a block */
    TASKS_PER_THREAD = 32,    /* at most, because each task prepares all tapes again */
    SHARED = CONTRACT_SHARED, /* programs of a chain whose panels are packed once for all tiles */
    FAULTS = 16               /* the first programs of a chain have separate faults */
};

typedef struct chain_job {
    const program *p;
    const binding *b;
    cpu_fault fault[FAULTS]; /* of each program; later programs share the last one */
    int64_t outer;           /* rows */
    int64_t tile;            /* rows at once */
    int64_t task;            /* rows of a task */
    void *panels[SHARED];
} chain_job;

static int fault_of(int i) { return i < FAULTS ? i : FAULTS - 1; }

static size_t whole_lines(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* ---- a map by rows ---- */

typedef struct map_rows {
    tape_run run;
    int64_t row; /* points */
} map_rows;

static size_t map_scratch(const program *p, int64_t tile)
{
    (void)tile;
    return whole_lines(sizeof(map_rows)) + cpu_map_scratch(p);
}

static void map_start(const program *p, const binding *b, cpu_fault *fault, int64_t rows,
                      int64_t tile, void *scratch)
{
    (void)tile;
    map_rows *m = scratch;
    m->row = p->pre.size / rows;
    tape_start(&m->run, &p->pre, b, fault, (char *)scratch + whole_lines(sizeof *m));
}

static void map_run(void *scratch, int64_t first, int64_t n)
{
    map_rows *m = scratch;
    const int64_t row = m->row, end = (first + n) * row;
    const int64_t block = row >= ROW_ALONE ? TAPE_BLOCK : TAPE_BLOCK / row * row;
    const int64_t cut = row >= ROW_ALONE ? row : n * row;
    if (tape_rows(&m->run, first * row, n, row))
        return;
    for (int64_t at = first * row; at < end; at += cut)
        for (int64_t from = 0; from < cut; from += block)
            tape_block(&m->run, at + from, cut - from < block ? cut - from : block, NULL);
}

/* ---- the chain ---- */

static const struct {
    size_t (*scratch)(const program *p, int64_t tile);
    void (*start)(const program *p, const binding *b, cpu_fault *fault, int64_t rows, int64_t tile,
                  void *scratch);
    void (*run)(void *scratch, int64_t first, int64_t n);
} cores[] = {
    [PROGRAM_MAP] = {map_scratch, map_start, map_run},
    [PROGRAM_REDUCE] = {cpu_reduce_rows_scratch, cpu_reduce_rows_start, cpu_reduce_rows},
    [PROGRAM_CONTRACT] = {cpu_contract_rows_scratch, cpu_contract_rows_start, cpu_contract_rows},
};

/* Bytes of one row of the values that the chain keeps row by row. */
static int64_t local_row_bytes(const program *p)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->n_local; i++)
        bytes += p->local[i].shares == i ? p->local[i].row_bytes : 0;
    return bytes;
}

/* Rows of a tile. */
static int64_t tile_rows(const program *p)
{
    int64_t widest = 1;
    for (int i = 0; i < p->chain; i++)
        if (p[i].pre.size / p->rows > widest)
            widest = p[i].pre.size / p->rows;
    if (!p->by_rows)
        return TILE_POINTS / widest > 1 ? TILE_POINTS / widest : 1;
    int64_t rows = TILE_BYTES / (local_row_bytes(p) + 1) / TILE_ROWS_LEAST * TILE_ROWS_LEAST;
    rows = rows < TILE_ROWS_LEAST ? TILE_ROWS_LEAST : rows > TILE_ROWS_MOST ? TILE_ROWS_MOST : rows;
    while (rows >= 2 * TILE_ROWS_SHARED && p->rows / rows < 2 * pool_threads())
        rows /= 2;
    return rows;
}

/* The layout of a worker's scratch: pointers to the parts of the programs, these parts, then
 * bindings, buffers and kept values. */
static size_t programs_bytes(const program *p, int64_t tile)
{
    size_t bytes = whole_lines((size_t)p->chain * sizeof(char *));
    for (int i = 0; i < p->chain; i++)
        bytes += whole_lines(cores[p[i].kind].scratch(&p[i], tile));
    return bytes;
}

size_t cpu_chain_scratch(const program *p)
{
    const int64_t tile = tile_rows(p);
    size_t bytes = programs_bytes(p, tile);
    if (p->by_rows) {
        bytes += whole_lines((size_t)p->n_slot * sizeof(binding));
        bytes += whole_lines((size_t)p->n_local * sizeof(buffer));
        for (int i = 0; i < p->n_local; i++)
            bytes += whole_lines((size_t)(tile * p->local[i].row_bytes)) + 64;
    }
    return bytes;
}

static void start_all(chain_job *j, const binding *b, char **part)
{
    char *scratch = (char *)part + whole_lines((size_t)j->p->chain * sizeof *part);
    for (int i = 0; i < j->p->chain; i++) {
        const program *p = &j->p[i];
        part[i] = scratch;
        cores[p->kind].start(p, b, &j->fault[fault_of(i)], j->outer, j->tile, scratch);
        if (p->kind == PROGRAM_CONTRACT && i < SHARED)
            cpu_contract_rows_use(scratch, j->panels[i]);
        scratch += whole_lines(cores[p->kind].scratch(p, j->tile));
    }
}

static void run_all(const chain_job *j, char *const *part, int64_t row, int64_t n)
{
    for (int i = 0; i < j->p->chain; i++)
        cores[j->p[i].kind].run(part[i], row, n);
}

/* Bindings for which the rows of the kept values, starting at `row`, are at `at`. */
static const binding *bind_rows(const chain_job *j, char *at, int64_t row)
{
    const program *p = j->p;
    binding *b = (binding *)at;
    buffer *buffers = (buffer *)(at + whole_lines((size_t)p->n_slot * sizeof *b));
    char *values = (char *)buffers + whole_lines((size_t)p->n_local * sizeof *buffers);
    memcpy(b, j->b, (size_t)p->n_slot * sizeof *b);
    for (int i = 0; i < p->n_local; i++) {
        const row_slot *l = &p->local[i];
        if (l->shares == i) {
            buffers[i].data = (void *)((uintptr_t)values - (uintptr_t)(row * l->row_bytes));
            values += whole_lines((size_t)(j->tile * l->row_bytes)) + 64;
        } else {
            buffers[i].data = buffers[l->shares].data;
        }
        b[l->slot] = (binding){&buffers[i], 0};
    }
    return b;
}

static void chain_task(void *ctx, int64_t task, int worker)
{
    chain_job *j = ctx;
    char *scratch = scratch_of(worker), **parts = (char **)scratch, *rows = scratch;
    if (j->p->by_rows)
        rows += programs_bytes(j->p, j->tile);
    else
        start_all(j, j->b, parts);
    const int64_t end = (task + 1) * j->task < j->outer ? (task + 1) * j->task : j->outer;
    for (int64_t row = task * j->task; row < end; row += j->tile) {
        if (j->p->by_rows)
            start_all(j, bind_rows(j, rows, row), parts);
        run_all(j, parts, row, end - row < j->tile ? end - row : j->tile);
    }
}

/* ---- operands that all tiles share ---- */

static bool tape_stores(const tape *t, int slot)
{
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_STORE && t->operand[t->inst[k].operand].slot == slot)
            return true;
    return false;
}

/* True if a program of the chain writes the slot. */
static bool chain_makes(const program *p, int slot)
{
    for (int i = 0; i < p->chain; i++)
        if (tape_stores(&p[i].pre, slot) || tape_stores(&p[i].post, slot))
            return true;
    return false;
}

static ig_status chain_share(chain_job *j)
{
    const program *shared[SHARED];
    void *panels[SHARED];
    int at[SHARED], n = 0;
    for (int i = 0; i < j->p->chain && i < SHARED; i++) {
        const program *p = &j->p[i];
        if (p->kind == PROGRAM_CONTRACT && !chain_makes(j->p, p->in[1].slot)) {
            at[n] = i;
            shared[n++] = p;
        }
    }
    const ig_status status = cpu_contract_rows_share(shared, n, j->b, j->tile, panels);
    for (int i = 0; i < n; i++)
        j->panels[at[i]] = panels[i];
    return status;
}

static void chain_unshare(chain_job *j)
{
    for (int i = 0; i < SHARED; i++)
        if (j->panels[i])
            cpu_contract_rows_unshare(&j->p[i], j->tile, j->panels[i]);
}

/* Cuts the rows into tiles and tasks. Returns false if running the programs one after another is
 * better. */
static bool chain_cut(chain_job *j)
{
    const program *p = j->p;
    int64_t cost = 0;
    j->outer = p->rows;
    j->tile = j->task = tile_rows(p);
    if (p->by_rows)
        return true;
    for (int i = 0; i < p->chain; i++) {
        if (p[i].kind == PROGRAM_REDUCE && !cpu_reduce_has_rows(&p[i]))
            return false;
        cost += (tape_cost(&p[i].pre) + tape_cost(&p[i].post)) * (p[i].pre.size / p->rows);
    }
    if (j->outer < pool_threads())
        return false;
    const int64_t work = TASK_WORK / cost, least = j->outer / (pool_threads() * TASKS_PER_THREAD);
    /* Smaller tiles if some threads would have none otherwise. */
    const int64_t share = (j->outer + pool_threads() - 1) / pool_threads();
    const int64_t even = share > work ? share : work;
    j->tile = even < j->tile ? even : j->tile;
    const int64_t rows = work > least ? work : least;
    j->task = rows > 0 ? (rows + j->tile - 1) / j->tile * j->tile : j->tile;
    return true;
}

ig_status cpu_chain(const program *p, const binding *b)
{
    chain_job j = {.p = p, .b = b};
    for (int i = 0; i < p->chain && i < FAULTS; i++)
        cpu_fault_clear(&j.fault[i]);
    if (!chain_cut(&j)) {
        for (int i = 0; i < p->chain; i++)
            TRY(p[i].kind == PROGRAM_REDUCE ? cpu_reduce(&p[i], b) : cpu_map(&p[i], b));
        return IG_OK;
    }
    ig_status status = chain_share(&j);
    if (status == IG_OK) {
        pool_run_cancellable((j.outer + j.task - 1) / j.task, chain_task, &j);
        for (int i = 0; i < p->chain && i < FAULTS && status == IG_OK; i++)
            status = cpu_fault_status(&j.fault[i], &p[i]); /* the first program fails first */
    }
    chain_unshare(&j);
    return status;
}
