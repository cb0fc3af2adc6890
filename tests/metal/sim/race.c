/* Races inside a threadgroup, for METALSIM_RACES. The code of kernels reports its loads and stores (counted.py). A value that
 * one thread stored and another loads or overwrites needs a barrier between them whose mem_flags name the memory. A load that
 * another thread's store follows needs a barrier with any flags. A simdgroup_barrier counts for the threads of its simdgroup.
 * Atomic functions need no barrier. Threadgroups are not compared with each other: twice.c runs them in two orders. */
#include "sim.h"

#include <stdlib.h>

enum { FLAG_DEVICE = 1, FLAG_THREADGROUP = 2, SIMDS = SIM_THREADS_MOST / SIM_LANES };
typedef enum kind { DEVICE, THREADGROUP, KINDS } kind;
static const char *const names[KINDS] = {"device", "threadgroup"};

/* Barriers that have completed: all of them, and those whose flags name the memory. */
typedef struct barriers {
    uint32_t all, fences[KINDS];
} barriers;

/* Accesses of one thread, of threads of one simdgroup, or of several, and how many barriers had completed then. */
typedef struct access {
    bool any, several, simds;
    uint16_t thread;
    uint32_t by_group, by_simd;
} access;

/* A byte in the threadgroup with this number, from 1. */
typedef struct byte {
    uint32_t group;
    access store, load;
} byte;

static struct {
    const sim_launch *launch;
    const char *shared;
    uint32_t group;
    barriers of_group, of_simd[SIMDS];
    byte local[SIM_SHARED_MOST], *device[SIM_BUFFERS];
} r;

void sim_race_begin(const sim_launch *l, const char *shared)
{
    r.launch = l;
    r.shared = shared;
    for (int j = 0; sim_setting(SIM_RACES) && j < l->kernel->n_parameter; j++) {
        const int i = l->kernel->parameter[j].index;
        if (l->kernel->parameter[j].kind != 'w' || r.device[i] || !l->buffer[i])
            continue;
        r.device[i] = calloc(l->bytes[i], sizeof(byte));
        REQUIRE(r.device[i], "the simulator has no memory");
    }
}

void sim_race_end(void)
{
    for (int i = 0; i < SIM_BUFFERS; i++) {
        free(r.device[i]);
        r.device[i] = NULL;
    }
}

void sim_race_group(void) { r.group++; }

static void pass(barriers *b, uint32_t flags)
{
    b->all++;
    b->fences[DEVICE] += (flags & FLAG_DEVICE) != 0;
    b->fences[THREADGROUP] += (flags & FLAG_THREADGROUP) != 0;
}

void sim_race_barrier(uint32_t flags) { pass(&r.of_group, flags); }
void sim_race_simd_barrier(uint32_t simd, uint32_t flags) { pass(&r.of_simd[simd], flags); }

/* Whether the earlier accesses are this thread's own, or barriers have completed since then. */
static bool is_over(const access *a, uint32_t me, uint32_t by_group, uint32_t by_simd)
{
    return !a->any || (a->thread == me && !a->several) || a->by_group != by_group ||
           (a->thread / SIM_LANES == me / SIM_LANES && !a->simds && a->by_simd != by_simd);
}

static void add(access *a, uint32_t me, uint32_t by_group, uint32_t by_simd)
{
    const bool joins = a->any && a->by_group == by_group;
    const bool simds = joins && (a->simds || a->thread / SIM_LANES != me / SIM_LANES);
    const bool several = simds || (joins && a->by_simd == by_simd && (a->several || a->thread != me));
    *a = (access){true, several, simds, (uint16_t)me, by_group, by_simd};
}

static bool check(byte *b, kind k, uint32_t me, bool is_store, char *error, size_t room)
{
    const barriers *g = &r.of_group, *s = &r.of_simd[me / SIM_LANES];
    if (b->group != r.group)
        *b = (byte){.group = r.group};
    if (!is_over(&b->store, me, g->fences[k], s->fences[k]))
        snprintf(error, room, "a race: thread %u %s %s memory that thread %u stored, and no barrier with mem_%s is between them",
                 me, is_store ? "overwrites" : "loads", names[k], b->store.thread, names[k]);
    else if (is_store && !is_over(&b->load, me, g->all, s->all))
        snprintf(error, room, "a race: thread %u stores %s memory that thread %u loaded, and no barrier is between them", me,
                 names[k], b->load.thread);
    else if (is_store)
        b->store = (access){true, false, false, (uint16_t)me, g->fences[k], s->fences[k]};
    else
        add(&b->load, me, g->all, s->all);
    return !*error;
}

bool sim_race_access(const char *at, uint32_t bytes, bool is_store, uint32_t me, char *error, size_t room)
{
    if (at >= r.shared && at < r.shared + SIM_SHARED_MOST) {
        for (uint32_t i = 0; i < bytes; i++)
            if (!check(&r.local[at - r.shared + i], THREADGROUP, me, is_store, error, room))
                return false;
        return true;
    }
    for (int i = 0; i < SIM_BUFFERS; i++) {
        const char *b = r.launch->buffer[i];
        if (!r.device[i] || at < b || at >= b + r.launch->bytes[i])
            continue;
        for (uint32_t k = 0; k < bytes && at + k < b + r.launch->bytes[i]; k++)
            if (!check(&r.device[i][at - b + k], DEVICE, me, is_store, error, room))
                return false;
        return true;
    }
    return true;
}
