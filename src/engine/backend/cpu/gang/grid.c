/* Runs a grid of blocks on all cores. Each worker has memory for one block and claims blocks one
 * after another. The gangs of a block take turns: each runs to the next barrier or for a number of
 * loop iterations, and all continue when all have reached the barrier or ended. A kernel that prints or
 * is observed runs on one thread, so that its output is in the order of the blocks.
 *
 * A block may wait for another one in a loop, so a worker whose blocks loop for long starts one more
 * block, and its blocks take turns. If no block can be started and the registers of all blocks stay the
 * same, only memory could change something, and no thread writes it: the launch ends with FAULT_STUCK. */
#include "engine/backend/cpu/gang/gang.h"
#include "engine/backend/cpu/gang/guard.h"
#include "engine/backend/cpu/native/run.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- a block ---- */

enum {
    TURNS_LONG = 64,        /* turns of a block until another block is started */
    TURNS_STUCK = 8,        /* turns without a change until a block counts as stuck */
    ROOM_BYTES = 256 << 20, /* the memory of the blocks of one worker that take turns */
    CLAIMS_NATIVE = 64      /* claims of blocks of a worker that runs native code */
};

/* The memory of a block. */
typedef struct block_room {
    char *memory;
    gang gangs[BLOCK_WARPS];
    bool busy;
    int turns, same;      /* turns since a gang ended or reached a barrier; without any change */
    uint64_t fingerprint; /* of its registers after the last turn */
    gang_fault fault;
    struct block_room *next;
} block_room;

typedef struct grid_worker {
    block_room *rooms;     /* a list */
    const uint32_t *block; /* that runs */
    native_room native;
    size_t bytes;
    bool stuck;
} grid_worker;

typedef struct grid_run {
    const gang_code *code;
    const gang_launch *launch;
    grid_worker *workers;
    size_t shared_bytes, local_bytes;
    int64_t blocks, per_task;
    _Atomic int64_t next;      /* the first block that is not claimed */
    _Atomic int active, stuck; /* workers */
    _Atomic uint64_t changes;
    pthread_mutex_t lock;
    _Atomic bool stop;
    bool watched; /* it ends when cancel_count() is no longer `cancels` */
    uint32_t cancels;
    int64_t begin_ns;
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

/* One turn of each gang. False: a fault. */
static bool block_turn(const grid_run *run, block_room *room)
{
    gang *gangs = room->gangs;
    const int n = run->code->n_gangs;
    for (int i = 0; i < n; i++) {
        if (gangs[i].state != GANG_READY && gangs[i].state != GANG_RELEASED)
            continue;
        if (!gang_run(&gangs[i]))
            return false;
        if (gangs[i].state != GANG_READY)
            room->turns = 0;
    }
    room->turns++;
    room->busy = barrier_ends(gangs, n);
    return true;
}

static uint64_t hash_bytes(uint64_t hash, const char *at, size_t bytes)
{
    for (uint64_t word; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Compares the state of a block, except for its shared memory, with the state after its last turn. */
static void block_compare(const grid_run *run, block_room *room)
{
    const gang_code *c = run->code;
    const size_t bytes = padded(c->bytes) + padded(run->local_bytes * (size_t)c->lanes);
    uint64_t hash = 0;
    for (int i = 0; i < c->n_gangs; i++) {
        const gang *g = &room->gangs[i];
        hash = hash_bytes(hash, (const char *)g->mask, sizeof g->mask);
        hash = hash_bytes(hash ^ (uint64_t)g->pc ^ (uint64_t)g->state << 32, g->memory, bytes);
    }
    room->same = hash == room->fingerprint ? room->same + 1 : 0;
    room->fingerprint = hash;
    for (int i = 0; i < c->n_gangs; i++)
        room->gangs[i].spins = room->same > 0;
}

static void block_begin(const grid_run *run, block_room *room, int64_t b)
{
    const uint32_t *grid = run->launch->grid;
    room->fault = (gang_fault){0};
    room->turns = room->same = 0;
    room->busy = true;
    for (int i = 0; i < run->code->n_gangs; i++) {
        gang *g = &room->gangs[i];
        g->block[0] = (uint32_t)(b % grid[0]);
        g->block[1] = (uint32_t)(b / grid[0] % grid[1]);
        g->block[2] = (uint32_t)(b / grid[0] / grid[1]);
        g->fault = &room->fault;
        g->spins = false;
        gang_begin(g);
    }
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

/* ---- rooms ---- */

static size_t room_bytes(const grid_run *run)
{
    const gang_code *c = run->code;
    const size_t own = padded(c->bytes), locals = padded(run->local_bytes * (size_t)c->lanes);
    return run->shared_bytes + (own + locals) * (size_t)c->n_gangs;
}

/* Adds a room to a worker. */
static ig_status room_begin(const grid_run *run, grid_worker *w)
{
    const gang_code *c = run->code;
    const size_t own = padded(c->bytes), locals = padded(run->local_bytes * (size_t)c->lanes);
    const size_t bytes = room_bytes(run);
    block_room *room = memory_new(sizeof *room);
    if (!room)
        return IG_ERR_MEMORY;
    room->next = w->rooms;
    w->rooms = room;
    w->bytes += bytes;
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

static void rooms_end(const grid_run *run, grid_worker *w)
{
    for (block_room *room = w->rooms, *next; room; room = next) {
        next = room->next;
        if (room->memory)
            memory_data_free(room->memory, room_bytes(run));
        memory_free(room);
    }
}

/* ---- workers ---- */

/* Starts the next block in its own room. False if there is no block left, or no memory for it. */
static bool start_block(grid_run *run, grid_worker *w)
{
    block_room *room = w->rooms;
    while (room && (room->busy || !room->memory))
        room = room->next;
    if (run->next >= run->blocks)
        return false;
    if (!room) {
        if (w->bytes + room_bytes(run) > ROOM_BYTES || room_begin(run, w) != IG_OK) {
            ig_error(NULL);
            return false;
        }
        room = w->rooms;
    }
    const int64_t b = atomic_fetch_add(&run->next, 1);
    if (b < run->blocks)
        block_begin(run, room, b);
    return b < run->blocks;
}

static void set_stuck(grid_run *run, grid_worker *w, bool stuck)
{
    if (w->stuck == stuck)
        return;
    w->stuck = stuck;
    atomic_fetch_add(&run->changes, 1);
    atomic_fetch_add(&run->stuck, stuck ? 1 : -1);
}

/* All blocks of the worker have had a turn and loop. Starts another block if they do so for long. */
static void blocks_loop(grid_run *run, grid_worker *w)
{
    bool all_long = true, all_same = true;
    int busy = 0;
    for (block_room *room = w->rooms; room; room = room->next) {
        if (!room->busy)
            continue;
        busy++;
        if (room->turns < 2) { /* it came to a barrier */
            all_long = all_same = false;
            continue;
        }
        block_compare(run, room);
        if (!room->same)
            atomic_fetch_add(&run->changes, 1);
        all_same = all_same && room->same >= TURNS_STUCK;
        all_long = all_long && (room->turns >= TURNS_LONG || room->same >= TURNS_STUCK);
    }
    bool started = false; /* as many as there are, so that a large grid is started in few turns */
    for (int i = 0; i < busy && all_long && start_block(run, w); i++)
        started = true;
    set_stuck(run, w, !started && all_same);
    if (w->stuck)
        sched_yield();
}

/* True if all workers are stuck and remain so for more turns of this one. */
static bool all_stuck(const grid_run *run, const grid_worker *w, int *turns, uint64_t *changes)
{
    if (!w->stuck || run->stuck != run->active || run->changes != *changes) {
        *turns = 0;
        *changes = run->changes;
        return false;
    }
    return ++*turns > TURNS_STUCK;
}

static void report_stuck(grid_run *run, const grid_worker *w)
{
    const block_room *room = w->rooms;
    while (!room->busy)
        room = room->next;
    gang_fault fault = {.kind = FAULT_STUCK, .place = run->code->step[room->gangs[0].pc].place};
    memcpy(fault.block, room->gangs[0].block, sizeof fault.block);
    fault.waiting = run->next < run->blocks;
    grid_fault(run, &fault);
}

static int native_is_over(void *context) { return is_over(context); }

/* Runs blocks as native code until none is left. False: there is not enough memory. */
static bool run_natively(grid_run *run, grid_worker *w, const native_image *code)
{
    native_room *room = &w->native;
    const lane_code *lanes = run->code->code;
    const int64_t step = run->blocks / (CLAIMS_NATIVE * (int64_t)pool_threads()) + 1;
    gang_fault fault = {0};
    if (!room->memory && !native_room_begin(room, code, lanes, run->launch, native_is_over, run))
        return false;
    w->block = room->b.block;
    while (!is_over(run)) {
        const int64_t from = atomic_fetch_add(&run->next, step);
        const int64_t to = from + step < run->blocks ? from + step : run->blocks;
        if (from >= run->blocks)
            break;
        for (int64_t b = from; b < to && !is_over(run); b++)
            if (!native_room_run(room, lanes, run->launch, b, &fault)) {
                if (fault.kind != FAULT_NONE)
                    grid_fault(run, &fault);
                return true;
            }
    }
    return true;
}

/* The native code, if it is ready. A launch that takes long begins to build it. */
static const native_image *native_of(const grid_run *run)
{
    native_build *b = run->launch->native;
    if (!b || run->launch->watch)
        return NULL;
    const native_image *ready = native_build_ready(b);
    const int64_t ns = ready ? 0 : clock_ns() - run->begin_ns + run->launch->native_ns;
    if (ns > NATIVE_COMPILE_NS)
        native_build_start(b);
    else if (ns > NATIVE_LOOK_NS)
        native_build_look(b);
    return ready ? ready : native_build_ready(b);
}

typedef struct blocks {
    grid_run *run;
    grid_worker *worker;
    int64_t claims; /* how many blocks it may still start, if they do not wait for each other */
} blocks;

static void blocks_run(void *context)
{
    blocks *t = context;
    grid_run *run = t->run;
    grid_worker *w = t->worker;
    int turns = 0;
    uint64_t changes = 0;
    while (!is_over(run)) {
        int busy = 0;
        for (block_room *room = w->rooms; room && !is_over(run); room = room->next) {
            if (!room->busy)
                continue;
            w->block = room->gangs[0].block;
            if (!block_turn(run, room))
                grid_fault(run, &room->fault);
            busy += room->busy;
        }
        const native_image *native = busy ? NULL : native_of(run);
        if (native && run_natively(run, w, native))
            return;
        if (!busy && (t->claims-- <= 0 || !start_block(run, w)))
            return;
        if (busy && !run->launch->watch)
            blocks_loop(run, w);
        if (busy && all_stuck(run, w, &turns, &changes))
            report_stuck(run, w);
    }
}

static void blocks_task(void *context, int64_t task, int worker)
{
    (void)task;
    grid_run *run = context;
    grid_worker *w = &run->workers[worker];
    blocks t = {run, w, run->per_task};
    gang_fault fault = {.kind = FAULT_MEMORY};
    atomic_fetch_add(&run->active, 1);
    const bool fine = guard_run(blocks_run, &t, &fault.address);
    set_stuck(run, w, false);
    atomic_fetch_add(&run->active, -1);
    if (fine)
        return;
    memcpy(fault.block, w->block, sizeof fault.block);
    grid_fault(run, &fault);
}

/* Fails if blocks are left because no worker had memory for one. */
static ig_status check_started(const grid_run *run)
{
    if (is_over(run) || run->next >= run->blocks)
        return IG_OK;
    TRY(memory_admit(room_bytes(run), "a block of a kernel"));
    FAIL(IG_ERR_MEMORY, "there is no memory for a block of a kernel; release arrays or raise the "
                        "limit (ig_set_memory_limit, --memory-limit)");
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
    run.begin_ns = clock_ns();
    const bool native = native_of(&run) != NULL; /* then no worker needs a room */
    *fault = (gang_fault){0};
    run.workers = memory_new((size_t)workers * sizeof *run.workers);
    ig_status status = run.workers ? IG_OK : IG_ERR_MEMORY;
    for (int w = 0; w < workers && status == IG_OK && !native; w++)
        status = room_begin(&run, &run.workers[w]);
    const int64_t tasks = (run.blocks + run.per_task - 1) / run.per_task;
    guard_begin();
    if (status == IG_OK && workers == 1)
        for (int64_t t = 0; t < tasks; t++)
            blocks_task(&run, t, 0);
    else if (status == IG_OK)
        pool_run_cancellable(tasks, blocks_task, &run);
    guard_end();
    if (status == IG_OK)
        status = check_started(&run);
    for (int w = 0; run.workers && w < workers; w++) {
        rooms_end(&run, &run.workers[w]);
        native_room_end(&run.workers[w].native);
    }
    memory_free(run.workers);
    return status;
}
