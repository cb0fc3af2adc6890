/* The threads of a threadgroup as fibers on one CPU thread.
 *
 * A simdgroup function or a barrier suspends a fiber until its simdgroup or its threadgroup has come there. Which
 * thread runs next is METALSIM_ORDER: a missing barrier shows in some orders only. A thread that never waits needs no
 * stack of its own: the next one runs on the same stack.
 *
 * Stricter than hardware: lanes of a simdgroup that are in different simdgroup functions are an error, since there
 * each would see the active lanes only. */
#define _GNU_SOURCE
#include "sim.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STACK_BYTES = 128 * 1024,
    SIMDS_MOST = SIM_THREADS_MOST / SIM_LANES,
    SITES_MOST = 64,
    SLOT_BYTES = 64
};

typedef struct fiber {
    void *sp;
    uint32_t functions; /* simdgroup functions that it called */
    bool started;
} fiber;

/* Values of a simdgroup function are in one of two sets of slots, so that a fast lane does not overwrite what a slow
 * one has yet to read. */
typedef struct simd {
    uint32_t live, runnable, arrived, flags; /* flags: of the simdgroup_barrier that its lanes are at */
    const void *site;
    _Alignas(16) char slots[2][SIM_LANES][SLOT_BYTES];
} simd;

static struct {
    const sim_launch *launch;
    fiber fibers[SIM_THREADS_MOST];
    simd simds[SIMDS_MOST];
    char *stacks[SIM_THREADS_MOST];
    uint32_t idle_stacks[SIM_THREADS_MOST], n_idle, n_stacks;
    uint32_t n, n_simd, current, done, at_barrier;
    const void *barrier;
    uint32_t barrier_flags;
    bool races;
    void *home;
    sim_arguments arguments;
    struct {
        const void *site;
        char *at;
    } shared[SITES_MOST];
    uint32_t n_shared;
    size_t shared_used, shared_most;
    _Alignas(256) char memory[SIM_SHARED_MOST];
    char error[256];
    bool failed;
    uint64_t random;
    int64_t order;
} w;

static const char stuck[] = "threads wait for each other: a barrier or a simdgroup function in divergent code";

static void fail(const char *format, ...)
{
    va_list list;
    if (w.failed)
        return;
    va_start(list, format);
    vsnprintf(w.error, sizeof w.error, format, list);
    va_end(list);
    w.failed = true;
}

/* Gives up the whole threadgroup. */
static void leave(void)
{
    void *dead;
    sim_switch(&dead, w.home);
}

/* ---- which thread is next ---- */

static uint32_t lowest(uint32_t mask) { return (uint32_t)__builtin_ctz(mask); }
static uint32_t highest(uint32_t mask) { return 31 - (uint32_t)__builtin_clz(mask); }

/* A lane of the mask: the next one behind or before `after`, or any. */
static uint32_t pick(uint32_t mask, uint32_t after)
{
    if (w.order == 0) {
        const uint32_t behind = after < 31 ? mask & (~0u << (after + 1)) : 0;
        return lowest(behind ? behind : mask);
    }
    if (w.order == 1) {
        const uint32_t before = after ? mask & (~0u >> (32 - after)) : 0;
        return highest(before ? before : mask);
    }
    w.random = w.random * 6364136223846793005u + 1442695040888963407u;
    for (uint32_t k = (uint32_t)(w.random >> 33) % (uint32_t)__builtin_popcount(mask); k; k--)
        mask &= mask - 1;
    return lowest(mask);
}

/* -1 if no thread can run. */
static int next_thread(void)
{
    const uint32_t s = w.current / SIM_LANES;
    if (w.simds[s].runnable)
        return (int)(s * SIM_LANES + pick(w.simds[s].runnable, w.current % SIM_LANES));
    for (uint32_t k = 1; k < w.n_simd; k++) {
        const uint32_t q = (w.order == 1 ? s + w.n_simd - k : s + k) % w.n_simd;
        if (w.simds[q].runnable)
            return (int)(q * SIM_LANES + pick(w.simds[q].runnable, w.order == 1 ? 0 : 31));
    }
    return -1;
}

/* ---- fibers ---- */

static void set_positions(uint32_t t)
{
    const uint32_t *g = w.launch->group;
    const uint32_t at[3] = {t % g[0], t / g[0] % g[1], t / g[0] / g[1]};
    for (int i = 0; i < 3; i++) {
        w.arguments.in[0][i] = w.arguments.in[1][i] * g[i] + at[i];
        w.arguments.in[2][i] = at[i];
    }
    w.arguments.in[6][0] = t;
    w.arguments.in[7][0] = t % SIM_LANES;
    w.arguments.in[8][0] = t / SIM_LANES;
}

static void fiber_main(void *context);

static char *stack_take(uint32_t *number)
{
    if (w.n_idle == 0) {
        char *p = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(p != MAP_FAILED, "the simulator has no memory for stacks");
        mprotect(p, 4096, PROT_NONE);
        w.stacks[w.n_stacks] = p;
        w.idle_stacks[w.n_idle++] = w.n_stacks++;
    }
    *number = w.idle_stacks[--w.n_idle];
    return w.stacks[*number] + STACK_BYTES - *number % 61 * 448; /* not all in the same sets of the cache */
}

/* The registers that sim_switch restores: it "returns" to sim_fiber_start, which calls fiber_main. */
static void fiber_begin(fiber *f)
{
    uint32_t stack;
    char *top = stack_take(&stack);
#if defined(__aarch64__)
    void **sp = (void **)(top - 160 - 16);
    memset(sp, 0, 160);
    sp[0] = (void *)(uintptr_t)stack;
    sp[1] = (void *)fiber_main;
    sp[11] = (void *)sim_fiber_start;
#else
    void **sp = (void **)(top - 72);
    memset(sp, 0, 64);
    sp[3] = (void *)(uintptr_t)stack;
    sp[2] = (void *)fiber_main;
    sp[6] = (void *)sim_fiber_start;
#endif
    f->sp = sp;
    f->started = true;
}

static void make_current(uint32_t t)
{
    w.current = t;
    w.simds[t / SIM_LANES].runnable &= ~(1u << t % SIM_LANES);
}

static void resume(uint32_t t, void **save)
{
    make_current(t);
    if (!w.fibers[t].started)
        fiber_begin(&w.fibers[t]);
    sim_switch(save, w.fibers[t].sp);
}

static void check_simd(simd *s)
{
    if (!s->arrived || s->arrived != s->live)
        return;
    s->runnable = s->live;
    s->arrived = 0;
    if (s->flags)
        sim_race_simd_barrier((uint32_t)(s - w.simds), s->flags);
    s->flags = 0;
}

/* A lane that has ended is not active any more; a threadgroup_barrier needs all threads. */
static void thread_done(void)
{
    simd *s = &w.simds[w.current / SIM_LANES];
    w.done++;
    s->live &= ~(1u << w.current % SIM_LANES);
    if (w.at_barrier)
        fail("a thread ended while %u others wait at a threadgroup_barrier", w.at_barrier);
    check_simd(s);
}

static void fiber_main(void *context)
{
    const uint32_t stack = (uint32_t)(uintptr_t)context;
    for (;;) {
        set_positions(w.current);
        w.launch->kernel->enter(&w.arguments);
        thread_done();
        if (w.failed || w.done == w.n)
            leave();
        const int t = next_thread();
        if (t < 0) {
            fail(stuck);
            leave();
        }
        if (w.fibers[t].started) {
            void *dead;
            w.idle_stacks[w.n_idle++] = stack;
            resume((uint32_t)t, &dead);
        }
        w.fibers[t].started = true; /* here, on this stack */
        make_current((uint32_t)t);
    }
}

static void wait_here(void)
{
    fiber *f = &w.fibers[w.current];
    if (w.failed)
        leave();
    const int t = next_thread();
    if (t < 0) {
        fail(stuck);
        leave();
    }
    if ((uint32_t)t == w.current)
        make_current((uint32_t)t);
    else
        resume((uint32_t)t, &f->sp);
}

/* ---- what kernels call (msl.h) ---- */

EXPORT void *sim_publish(const void *value, unsigned bytes);
EXPORT void sim_simd_barrier(unsigned flags);
EXPORT void sim_barrier(unsigned flags);
EXPORT void sim_access(const void *at, unsigned bytes, unsigned how);
EXPORT unsigned sim_lane(void);
EXPORT void sim_multiply(const void *slots, unsigned row, unsigned column, float *sums);
EXPORT unsigned sim_active(void);
EXPORT unsigned long sim_votes(const void *slots, unsigned active);
EXPORT void *sim_shared(const void *site, unsigned long bytes, unsigned long align);

static const uint32_t is_barrier = 1u << 31; /* whatever its mem_flags are */

static void arrive(const void *site, uint32_t flags)
{
    simd *s = &w.simds[w.current / SIM_LANES];
    s->flags = flags;
    if (s->arrived == 0)
        s->site = site;
    else if (s->site != site)
        fail("lanes of a simdgroup are in different simdgroup functions: divergent code");
    s->arrived |= 1u << w.current % SIM_LANES;
    w.fibers[w.current].functions++;
    check_simd(s);
    wait_here();
}

/* The values of all lanes of the simdgroup, in slots of 64 bytes. */
void *sim_publish(const void *value, unsigned bytes)
{
    const uint32_t t = w.current, set = w.fibers[t].functions & 1;
    memcpy(w.simds[t / SIM_LANES].slots[set][t % SIM_LANES], value, bytes);
    arrive(__builtin_return_address(0), 0);
    return w.simds[t / SIM_LANES].slots[set];
}

void sim_simd_barrier(unsigned flags) { arrive(__builtin_return_address(0), is_barrier | (flags & (uint32_t)sim_setting(SIM_FLAGS))); }

/* A load (0) or store (1) of a kernel that was compiled with counters; 2 is added if it is atomic. */
void sim_access(const void *at, unsigned bytes, unsigned how)
{
    char said[200] = "";
    sim_count_access(at, bytes, how & 1);
    if (!w.races || how & 2 || sim_race_access(at, bytes, how & 1, w.current, said, sizeof said))
        return;
    fail("%s", said);
    leave();
}

void sim_barrier(unsigned flags)
{
    const void *site = __builtin_return_address(0);
    if (w.at_barrier == 0)
        w.barrier = site;
    else if (w.barrier != site)
        fail("threads of a threadgroup wait at different barriers");
    if (w.done)
        fail("a threadgroup_barrier after %u threads of the group have ended", w.done);
    if (++w.at_barrier == w.n) {
        w.at_barrier = 0;
        sim_race_barrier(flags & (uint32_t)sim_setting(SIM_FLAGS));
        for (uint32_t i = 0; i < w.n_simd; i++)
            w.simds[i].runnable = w.simds[i].live;
    }
    wait_here();
}

unsigned sim_lane(void) { return w.current % SIM_LANES; }

/* The lane that has element (row, column) and its neighbour of an 8 x 8 matrix; see sim_row in msl.h. */
static unsigned owner(unsigned row, unsigned column) { return row / 4 * 16 + column / 4 * 8 + row % 4 * 2 + column / 2 % 2; }

/* sums += a @ b at (row, column) and its neighbour. A slot has two elements of a and two of b. */
void sim_multiply(const void *slots, unsigned row, unsigned column, float *sums)
{
    sim_count_matrix(32, 16);
    for (unsigned k = 0; k < 8; k++) {
        const float *a = (const float *)slots + owner(row, k) * (SLOT_BYTES / sizeof *a),
                    *b = (const float *)slots + owner(k, column) * (SLOT_BYTES / sizeof *b);
        sums[0] = fmaf(a[k % 2], b[2], sums[0]);
        sums[1] = fmaf(a[k % 2], b[3], sums[1]);
    }
}

unsigned sim_active(void) { return w.simds[w.current / SIM_LANES].live; }

/* A bit for each active lane, whose slot has 0 or 1. */
unsigned long sim_votes(const void *slots, unsigned active)
{
    unsigned long votes = 0;
    for (unsigned i = 0; i < SIM_LANES; i++)
        if (active >> i & 1)
            votes |= (unsigned long)((const unsigned *)slots)[i * (SLOT_BYTES / sizeof(unsigned))] << i;
    return votes;
}

/* A threadgroup variable of the kernel. Its bytes are 0xff, so that a read before a write is seen. */
void *sim_shared(const void *site, unsigned long bytes, unsigned long align)
{
    for (uint32_t i = 0; i < w.n_shared; i++)
        if (w.shared[i].site == site)
            return w.shared[i].at;
    const size_t at = (w.shared_used + align - 1) / align * align;
    if (at + bytes > SIM_SHARED_MOST || w.n_shared == SITES_MOST) {
        fail("%zu bytes of threadgroup memory; the limit is %d", at + bytes, SIM_SHARED_MOST);
        leave();
    }
    memset(w.memory + at, 0xff, bytes);
    w.shared_used = at + bytes;
    w.shared[w.n_shared].site = site;
    w.shared[w.n_shared].at = w.memory + at;
    return w.shared[w.n_shared++].at;
}

/* ---- a launch ---- */

static bool group_run(const sim_launch *l, const uint32_t at[3])
{
    memset(w.fibers, 0, w.n * sizeof *w.fibers);
    sim_race_group();
    for (int i = 0; i < 3; i++)
        w.arguments.in[1][i] = at[i];
    for (uint32_t i = 0; i < w.n_simd; i++) {
        const uint32_t lanes = w.n - i * SIM_LANES;
        w.simds[i].live = w.simds[i].runnable = lanes >= SIM_LANES ? ~0u : (1u << lanes) - 1;
        w.simds[i].arrived = w.simds[i].flags = 0;
    }
    w.done = w.at_barrier = w.n_shared = w.n_idle = 0;
    for (uint32_t i = 0; i < w.n_stacks; i++)
        w.idle_stacks[w.n_idle++] = i;
    w.shared_used = 0;
    for (int i = 0; i < SIM_BUFFERS; i++) {
        w.arguments.shared[i] = l->shared[i] ? w.memory + w.shared_used : NULL;
        memset(w.memory + w.shared_used, 0xff, l->shared[i]);
        w.shared_used += l->shared[i];
    }
    w.current = w.order == 1 ? w.n - 1 : 0;
    resume(w.current, &w.home);
    return !w.failed;
}

/* Subnormal f32 operands and results become 0, or not any more. */
static void flush_subnormals(bool on)
{
#if defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    control = on ? control | 1u << 24 : control & ~(1ull << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
#else
    const uint32_t bits = 0x8040, control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(on ? control | bits : control & ~bits);
#endif
}

bool sim_run(const sim_launch *l, int64_t order, char *error, size_t room)
{
    const uint64_t groups = (uint64_t)l->groups[0] * l->groups[1] * l->groups[2];
    w.launch = l;
    w.failed = false;
    w.order = order;
    w.random = 12345 + (uint64_t)w.order;
    w.n = l->group[0] * l->group[1] * l->group[2];
    w.n_simd = (w.n + SIM_LANES - 1) / SIM_LANES;
    w.shared_most = 0;
    w.races = sim_setting(SIM_RACES);
    sim_count_begin(l, w.memory);
    sim_race_begin(l, w.memory);
    if (sim_setting(SIM_FLUSH))
        flush_subnormals(true);
    memcpy(w.arguments.buffer, l->buffer, sizeof w.arguments.buffer);
    for (int i = 0; i < 3; i++) {
        w.arguments.in[3][i] = l->group[i];
        w.arguments.in[4][i] = (uint32_t)l->threads[i];
        w.arguments.in[5][i] = l->groups[i];
    }
    w.arguments.in[9][0] = w.n_simd;
    w.arguments.in[10][0] = SIM_LANES;
    bool fine = true;
    for (uint64_t i = 0; i < groups && fine; i++) {
        const uint64_t k = w.order == 1 ? groups - 1 - i : i;
        const uint32_t at[3] = {(uint32_t)(k % l->groups[0]), (uint32_t)(k / l->groups[0] % l->groups[1]),
                                (uint32_t)(k / l->groups[0] / l->groups[1])};
        fine = group_run(l, at);
        w.shared_most = w.shared_used > w.shared_most ? w.shared_used : w.shared_most;
    }
    if (sim_setting(SIM_FLUSH))
        flush_subnormals(false);
    sim_race_end();
    sim_count_end(w.shared_most);
    if (!fine)
        snprintf(error, room, "kernel %s: %s", l->kernel->name, w.error);
    return fine;
}
