/* Runs a grid of blocks on all cores. Each worker has memory for one block and claims blocks one
 * after another. The gangs of a block take turns: each runs to the next barrier, and all continue
 * when all have reached it or ended. A kernel that prints or is observed runs on one thread, so
 * that its output is in the order of the blocks. */
#include "engine/backend/cpu/gang/gang.h"
#include "engine/backend/cpu/gang/guard.h"

#include "base/cancel.h"
#include "base/memory.h"
#include "base/threads.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- a block ---- */

typedef struct block_room {
    char *memory; /* all of it */
    gang gangs[BLOCK_WARPS];
} block_room;

typedef struct grid_run {
    const gang_code *code;
    const gang_launch *launch;
    block_room *rooms; /* by worker */
    size_t shared_bytes, local_bytes;
    int64_t blocks, per_task;
    pthread_mutex_t lock;
    _Atomic bool stop;
    bool watched; /* it ends when cancel_count() is no longer `cancels` */
    uint32_t cancels;
    gang_fault *fault;
} grid_run;

static bool is_over(const grid_run *run)
{
    return run->stop || (run->watched && cancel_count() != run->cancels);
}

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* The threadIdx of the lanes along an axis; counted, because divisions would take longer than a
 * small kernel. */
static void number_threads(const gang *g, int axis, uint32_t *to)
{
    const uint32_t *dim = g->launch->block, first = (uint32_t)g->first;
    uint32_t at[3] = {first % dim[0], first / dim[0] % dim[1], first / (dim[0] * dim[1])};
    for (int i = 0; i < g->lanes; i++) {
        to[i] = at[axis];
        for (int k = 0; k < 3 && ++at[k] == dim[k] && k < 2; k++)
            at[k] = 0;
    }
}

static void fill_register(gang *g, const code_reg *r, int32_t at)
{
    char *to = g->memory + at;
    const uint32_t *dim = g->launch->block;
    const int width = (int)ig_dtype_bytes((ig_dtype)r->dtype);
    const uint32_t ones[] = {
        g->block[0],        g->block[1],        g->block[2],       dim[0], dim[1], dim[2],
        g->launch->grid[0], g->launch->grid[1], g->launch->grid[2]};
    switch (r->origin) {
    case ORIGIN_NONE: break;
    case ORIGIN_CONSTANT: memcpy(to, &r->bits, (size_t)width); break;
    case ORIGIN_PARAMETER:
        memcpy(to, (const char *)g->launch->arguments + r->bits, (size_t)width);
        break;
    case ORIGIN_SHARED: memcpy(to, &(uint64_t){(uintptr_t)g->shared}, 8); break;
    case ORIGIN_GLOBAL: memcpy(to, &(uint64_t){(uintptr_t)g->launch->globals}, 8); break;
    case ORIGIN_LOCAL:
        for (int i = 0; i < g->lanes; i++)
            ((uint64_t *)(void *)to)[i] =
                (uintptr_t)g->local + (uint64_t)i * g->code->code->local_bytes;
        break;
    case ORIGIN_LANE:
        for (int i = 0; i < g->lanes; i++)
            ((uint32_t *)(void *)to)[i] = (uint32_t)(g->first + i) % WARP_LANES;
        break;
    case ORIGIN_THREAD_X:
    case ORIGIN_THREAD_Y:
    case ORIGIN_THREAD_Z:
        number_threads(g, r->origin - ORIGIN_THREAD_X, (uint32_t *)(void *)to);
        break;
    default: memcpy(to, &ones[r->origin - ORIGIN_BLOCK_X], 4);
    }
}

static void gang_begin(gang *g)
{
    const lane_code *c = g->code->code;
    memset(g->mask, 0, sizeof g->mask);
    for (int i = 0; i < g->lanes; i++)
        g->mask[i / WARP_LANES] |= 1u << i % WARP_LANES;
    gang_mask_changed(g);
    g->pc = 0;
    g->state = GANG_READY;
    for (int r = 0; r < c->n_reg; r++)
        if (c->reg[r].origin != ORIGIN_NONE)
            fill_register(g, &c->reg[r], gang_home(g->code, r));
}

/* If no gang can run, releases the gangs at the barrier with the votes of the block. Returns false
 * if no gang waits. */
static bool barrier_ends(gang *gangs, int n)
{
    int votes = 0, voters = 0, waiting = 0;
    for (int i = 0; i < n; i++) {
        if (gangs[i].state == GANG_READY)
            return true;
        if (gangs[i].state != GANG_WAITS)
            continue;
        waiting++;
        votes += gangs[i].votes;
        voters += gangs[i].voters;
    }
    for (gang_watch *w = gangs[0].launch->watch; w && waiting; w = w->next)
        if (w->barrier)
            w->barrier(w, gangs, n);
    for (int i = 0; i < n; i++)
        if (gangs[i].state == GANG_WAITS) {
            gangs[i].state = GANG_RELEASED;
            gangs[i].votes = votes;
            gangs[i].voters = voters;
        }
    return waiting > 0;
}

/* False: a fault. */
static bool block_run(const grid_run *run, gang *gangs)
{
    const int n = run->code->n_gangs;
    do {
        for (int i = 0; i < n; i++)
            if ((gangs[i].state == GANG_READY || gangs[i].state == GANG_RELEASED) &&
                !gang_run(&gangs[i]))
                return false;
    } while (barrier_ends(gangs, n) && !is_over(run));
    return true;
}

/* The first fault of a launch ends it. */
static void grid_fault(grid_run *run, const gang_fault *fault)
{
    pthread_mutex_lock(&run->lock);
    if (!run->stop)
        *run->fault = *fault;
    run->stop = true;
    pthread_mutex_unlock(&run->lock);
}

/* Blocks that a worker runs one after another. */
typedef struct blocks {
    grid_run *run;
    block_room *room;
    int64_t first, last;
} blocks;

static void blocks_run(void *context)
{
    const blocks *t = context;
    const uint32_t *grid = t->run->launch->grid;
    for (int64_t b = t->first; b < t->last && !is_over(t->run); b++) {
        gang_fault fault = {0};
        for (int i = 0; i < t->run->code->n_gangs; i++) {
            gang *g = &t->room->gangs[i];
            g->block[0] = (uint32_t)(b % grid[0]);
            g->block[1] = (uint32_t)(b / grid[0] % grid[1]);
            g->block[2] = (uint32_t)(b / grid[0] / grid[1]);
            g->fault = &fault;
            gang_begin(g);
        }
        if (!block_run(t->run, t->room->gangs))
            grid_fault(t->run, &fault);
    }
}

static void blocks_task(void *context, int64_t task, int worker)
{
    grid_run *run = context;
    blocks t = {run, &run->rooms[worker], task * run->per_task, (task + 1) * run->per_task};
    t.last = t.last < run->blocks ? t.last : run->blocks;
    gang_fault fault = {.kind = FAULT_MEMORY};
    if (guard_run(blocks_run, &t, &fault.address))
        return;
    memcpy(fault.block, t.room->gangs[0].block, sizeof fault.block);
    grid_fault(run, &fault);
}

/* ---- rooms ---- */

static ig_status room_begin(const grid_run *run, block_room *room)
{
    const gang_code *c = run->code;
    const size_t own = padded(c->bytes), locals = padded(run->local_bytes * (size_t)c->lanes);
    const size_t bytes = run->shared_bytes + (own + locals) * (size_t)c->n_gangs;
    room->memory = memory_data_get(bytes);
    if (!room->memory)
        return IG_ERR_MEMORY;
    memset(room->memory, 0, bytes);
    for (int i = 0; i < c->n_gangs; i++) {
        gang *g = &room->gangs[i];
        char *at = room->memory + run->shared_bytes + (own + locals) * (size_t)i;
        const int first = i * c->lanes, left = c->threads - first;
        *g = (gang){.code = c,
                    .launch = run->launch,
                    .memory = at,
                    .local = at + own,
                    .shared = room->memory,
                    .first = first,
                    .lanes = left < c->lanes ? left : c->lanes};
    }
    return IG_OK;
}

static void room_end(const grid_run *run, block_room *room)
{
    const gang_code *c = run->code;
    const size_t own = padded(c->bytes), locals = padded(run->local_bytes * (size_t)c->lanes);
    if (room->memory)
        memory_data_free(room->memory, run->shared_bytes + (own + locals) * (size_t)c->n_gangs);
}

ig_status gang_run_grid(const gang_code *c, const gang_launch *l, gang_fault *fault)
{
    const int workers = c->code->n_print || l->watch ? 1 : pool_threads();
    grid_run run = {.code = c, .launch = l, .fault = fault, .lock = PTHREAD_MUTEX_INITIALIZER};
    run.shared_bytes = padded(c->code->shared_bytes + l->dynamic_bytes + 64);
    run.local_bytes = c->code->local_bytes;
    run.blocks = (int64_t)l->grid[0] * l->grid[1] * l->grid[2];
    run.per_task = run.blocks / (16 * workers) + 1;
    run.watched = pool_watches(&run.cancels);
    *fault = (gang_fault){0};
    run.rooms = memory_new((size_t)workers * sizeof *run.rooms);
    ig_status status = run.rooms ? IG_OK : IG_ERR_MEMORY;
    for (int w = 0; w < workers && status == IG_OK; w++)
        status = room_begin(&run, &run.rooms[w]);
    const int64_t tasks = (run.blocks + run.per_task - 1) / run.per_task;
    guard_begin();
    if (status == IG_OK && workers == 1)
        for (int64_t t = 0; t < tasks; t++)
            blocks_task(&run, t, 0);
    else if (status == IG_OK)
        pool_run_cancellable(tasks, blocks_task, &run);
    guard_end();
    for (int w = 0; run.rooms && w < workers; w++)
        room_end(&run, &run.rooms[w]);
    memory_free(run.rooms);
    return status;
}
