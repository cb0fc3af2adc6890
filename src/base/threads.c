/* The thread pool. Workers enter a run through a gate and claim its tasks: each first from its own share, then from the
 * shares of others. So the next run over the same memory finds it in the caches of the same cores. The pool starts
 * with the first run that needs it, counts CPUs by affinity and cgroup quota, and starts again in a forked child.
 *
 * Invariant: a run needs only its caller. A worker that wakes late finds the gate shut and waits again, so the
 * caller waits only for workers that have entered. Only the owner of the pool writes the gate and the fields of a run,
 * the latter only while the gate is shut and no worker is inside; a worker reads them only while inside.
 *
 * A worker marks itself as inside, then looks at the gate again. The owner shuts the gate, then looks who is inside. So
 * at least one of them sees the other. Each word that is written often has its own cache line and one writer: with a
 * counter in the gate itself, an empty run of 16 threads took 7.6 us.
 */
#include "base/threads.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/trace.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#if defined(__linux__) && !defined(POOL_USE_CONDVAR)
#define POOL_USE_FUTEX 1
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#define POOL_USE_FUTEX 0
#endif

enum {
    LINE_BYTES = 128,       /* at least a cache line on every CPU, so that words do not share one */
    SPIN_NS = 30000,        /* how long to spin before sleeping, after a long pause; ... */
    SPIN_MOST_NS = 1000000, /* ... after a short one: waking takes longer than many programs; ... */
    SPIN_OWNER_NS = 200000, /* ... and for the caller, which waits for workers that run */
    PAUSES_PER_CLOCK = 32,  /* spins between two looks at the clock */
    CLAIMS_PER_SHARE = 64,  /* approximate; with many tasks, a claim takes more than one */
    STACK_BYTES = 1 << 20,
};

/* The gate is one word, which only the owner changes. */
#define GATE_OPEN 1u  /* workers may enter */
#define GATE_QUIT 2u  /* workers must end */
#define GATE_EPOCH 4u /* one step of the number of the run, in the bits from here up */
#define GATE_EPOCHS (~(GATE_EPOCH - 1u))

/* The progress of a share: the number of the run, and how many claims were made in it. A value of another run means
 * no claims, so it need not be cleared. */
#define CLAIM_COUNT 0xffffu
#define CLAIM_RUN 0x10000u

static struct {
    _Alignas(LINE_BYTES) _Atomic uint64_t claims;
} share[MACHINE_MAX_THREADS];

/* Whether a worker is inside the gate. */
static struct {
    _Alignas(LINE_BYTES) atomic_bool inside;
} member[MACHINE_MAX_THREADS];

/* Tasks may be left out once the count of cancellations differs from `since`. */
typedef struct watch {
    bool on;
    uint32_t since;
} watch;

static bool is_cancelled(const watch *w) { return w->on && cancel_count() != w->since; }

/* A word to sleep on. */
typedef struct sleep_word {
    _Atomic uint32_t value;
#if !POOL_USE_FUTEX
    pthread_mutex_t lock;
    pthread_cond_t cond;
#endif
} sleep_word;

static struct {
    _Alignas(LINE_BYTES) sleep_word gate;
    /* The run. It is next to the gate, because a worker that enters reads both. */
    pool_fn fn;
    void *ctx;
    uint64_t ntasks, chunk;
    uint64_t run; /* its number, in the bits from CLAIM_RUN up */
    int shares;
    watch watched;
    const char *label;                      /* its name in the timeline; NULL: not traced */
    _Alignas(LINE_BYTES) sleep_word done;   /* changes when a waiting caller may look again */
    atomic_bool waiting;                    /* the caller sleeps until the last worker has left */
    _Atomic int sleepers;                   /* workers asleep or about to be */
    _Alignas(LINE_BYTES) atomic_bool owned; /* some thread owns the pool */
    _Atomic int wanted;                     /* the argument of pool_set_threads; 0 = default */
    /* Only for the owner. */
    int width;   /* workers of a run, including the caller; 0 = threads not started */
    int started; /* threads that run: fewer than width - 1 if the system refused some */
    bool spin;
    uint32_t birth; /* the gate's epoch when the threads were started */
    pthread_t threads[MACHINE_MAX_THREADS - 1];
} pool = {
#if !POOL_USE_FUTEX
    .gate = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER},
    .done = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER},
#else
    .gate = {0},
#endif
};

/* The worker number of this thread while it is in a parallel run, else -1. */
static _Thread_local int this_worker = -1;

static _Thread_local watch this_watch;

/* ---- sleeping and spinning ------------------------------------------------------------------- */

/* Sleeps if the word's value is `expected`. May return early. */
static void word_sleep(sleep_word *word, uint32_t expected)
{
#if POOL_USE_FUTEX
    syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
#else
    pthread_mutex_lock(&word->lock);
    if (atomic_load(&word->value) == expected)
        pthread_cond_wait(&word->cond, &word->lock);
    pthread_mutex_unlock(&word->lock);
#endif
}

/* Wakes up to n sleepers. The value must have been changed before. */
static void word_wake(sleep_word *word, int n)
{
#if POOL_USE_FUTEX
    syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
#else
    /* Taking the lock orders the change after the check of a thread that is about to sleep. */
    pthread_mutex_lock(&word->lock);
    pthread_mutex_unlock(&word->lock);
    for (int i = 0; i < n; i++)
        pthread_cond_signal(&word->cond);
#endif
}

/* In a child of fork: no thread sleeps on the word, whatever state the parent's threads left it in. */
static void word_reset(sleep_word *word)
{
    atomic_store(&word->value, 0);
#if !POOL_USE_FUTEX
    pthread_mutex_init(&word->lock, NULL);
    pthread_cond_init(&word->cond, NULL);
#endif
}

/* Stores, and makes later loads of this thread wait for the store. They are exchanges: a sequentially consistent store
 * would do by the language, but qemu lets later loads pass it when it runs ARM code on x86-64. Workers were then missed
 * and callers slept forever. On x86-64 both are the same instruction. */
static inline void word_publish(sleep_word *word, uint32_t value)
{
    atomic_exchange(&word->value, value);
}
static inline void flag_publish(atomic_bool *flag, bool value) { atomic_exchange(flag, value); }

static inline void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* `yield` does nothing on most cores */
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Spins until the condition holds, or the time is up. */
static void spin(bool (*is_over)(uint32_t), uint32_t seen, int64_t most_ns)
{
    if (!pool.spin)
        return;
    for (int64_t end = 0;;) {
        for (int i = 0; i < PAUSES_PER_CLOCK; i++) {
            if (is_over(seen))
                return;
            cpu_pause();
        }
        const int64_t now = clock_ns();
        if (end == 0)
            end = now + most_ns;
        if (now >= end)
            return;
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Claims tasks [*first, *end) of share s: a chunk of pool.chunk tasks. Share s has every pool.shares-th chunk, so the
 * workers move through memory side by side. False if none are left. */
static bool share_claim(int s, uint64_t *first, uint64_t *end)
{
    uint64_t claims = atomic_load_explicit(&share[s].claims, memory_order_relaxed), made;
    do {
        made = (claims & ~(uint64_t)CLAIM_COUNT) == pool.run ? claims & CLAIM_COUNT : 0;
        *first = (made * (uint64_t)pool.shares + (uint64_t)s) * pool.chunk;
        if (*first >= pool.ntasks)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&share[s].claims, &claims,
                                                    pool.run | (made + 1), memory_order_relaxed,
                                                    memory_order_relaxed));
    *end = pool.ntasks - *first > pool.chunk ? *first + pool.chunk : pool.ntasks;
    return true;
}

static void tasks_run(int worker)
{
    const pool_fn fn = pool.fn;
    void *const ctx = pool.ctx;
    const int64_t begin = pool.label ? trace_begin() : 0;
    int64_t done = 0;
    for (int i = 0, s = worker; i < pool.shares; i++, s = s + 1 < pool.shares ? s + 1 : 0)
        for (uint64_t first, end; share_claim(s, &first, &end); done += (int64_t)(end - first))
            for (uint64_t task = first; task < end && !is_cancelled(&pool.watched); task++)
                fn(ctx, (int64_t)task, worker);
    if (begin && done)
        trace_end_share(begin, pool.label, worker, done);
}

static bool epoch_is_over(uint32_t seen)
{
    return (atomic_load_explicit(&pool.gate.value, memory_order_acquire) & GATE_EPOCHS) != seen;
}

/* Waits until the gate's epoch is not `seen` and returns the gate. *patience_ns is how long the worker spins first. It
 * is long if the last sleep was so short that spinning would have been better. */
static uint32_t gate_wait(uint32_t seen, int64_t *patience_ns)
{
    spin(epoch_is_over, seen, *patience_ns);
    for (int64_t begin = 0;;) {
        uint32_t gate = atomic_load(&pool.gate.value);
        if ((gate & GATE_EPOCHS) != seen) {
            if (begin)
                *patience_ns = clock_ns() - begin < SPIN_MOST_NS ? SPIN_MOST_NS : SPIN_NS;
            return gate;
        }
        begin = begin ? begin : clock_ns();
        /* The owner first changes the gate and then looks for sleepers. So either it finds this worker, or the
         * value has changed and the worker does not sleep. */
        atomic_fetch_add(&pool.sleepers, 1);
        gate = atomic_load(&pool.gate.value);
        if ((gate & GATE_EPOCHS) == seen)
            word_sleep(&pool.gate, gate);
        atomic_fetch_sub(&pool.sleepers, 1);
    }
}

static void gate_leave(int worker)
{
    flag_publish(&member[worker].inside, false);
    if (atomic_load(&pool.waiting)) {
        atomic_fetch_add(&pool.done.value, 1);
        word_wake(&pool.done, 1);
    }
}

/* Enters if the gate is open. *gate receives the value of the gate. */
static bool gate_enter(int worker, uint32_t *gate)
{
    if (!(*gate & GATE_OPEN))
        return false;
    flag_publish(&member[worker].inside, true);
    *gate = atomic_load(&pool.gate.value);
    if (*gate & GATE_OPEN)
        return true;
    gate_leave(worker);
    return false;
}

static void *worker_main(void *arg)
{
    const int worker = (int)(intptr_t)arg;
    char name[16];
    snprintf(name, sizeof name, "ingot-%d", worker);
#if defined(__APPLE__)
    pthread_setname_np(name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#endif
    this_worker = worker;
    uint32_t gate = pool.birth;
    int64_t patience_ns = SPIN_NS;
    for (;;) {
        gate = gate_wait(gate & GATE_EPOCHS, &patience_ns);
        if (gate_enter(worker, &gate)) {
            tasks_run(worker);
            gate_leave(worker);
        } else if (gate & GATE_QUIT) { /* it may have been set meanwhile */
            return NULL;
        }
    }
}

/* ---- the owner ------------------------------------------------------------------------------- */

static bool pool_take(void)
{
    return !atomic_load_explicit(&pool.owned, memory_order_relaxed) &&
           !atomic_exchange_explicit(&pool.owned, true, memory_order_acquire);
}

static void pool_give(void) { atomic_store_explicit(&pool.owned, false, memory_order_release); }

/* Sets the gate with a new epoch. The gate must be shut and empty. */
static void gate_set(uint32_t flags)
{
    const uint32_t gate = atomic_load_explicit(&pool.gate.value, memory_order_relaxed);
    word_publish(&pool.gate, ((gate & GATE_EPOCHS) + GATE_EPOCH) | flags);
}

/* Lets workers in. Wakes more of them if there is work for more than are awake. */
static void gate_open(int helpers)
{
    gate_set(GATE_OPEN);
    const int sleepers = atomic_load(&pool.sleepers);
    const int awake = pool.started - sleepers;
    if (sleepers > 0 && helpers > awake)
        word_wake(&pool.gate, helpers - awake);
}

/* True if no worker from `first` on is inside. */
static bool all_are_out(uint32_t first)
{
    for (int i = (int)first; i <= pool.started; i++)
        if (atomic_load(&member[i].inside))
            return false;
    return true;
}

/* Shuts the gate and waits until all workers have left. */
static void gate_shut(void)
{
    const uint32_t gate = atomic_load_explicit(&pool.gate.value, memory_order_relaxed);
    word_publish(&pool.gate, gate & ~GATE_OPEN);
    spin(all_are_out, 1, SPIN_OWNER_NS);
    if (all_are_out(1))
        return;
    for (;;) {
        /* Read before asking to be woken: a worker changes it after it has seen that the caller waits. */
        const uint32_t done = atomic_load(&pool.done.value);
        flag_publish(&pool.waiting, true);
        if (all_are_out(1))
            break;
        word_sleep(&pool.done, done);
    }
    atomic_store(&pool.waiting, false);
}

static void threads_stop(void)
{
    if (pool.started > 0) {
        gate_set(GATE_QUIT);
        word_wake(&pool.gate, pool.started);
        for (int i = 0; i < pool.started; i++)
            pthread_join(pool.threads[i], NULL);
        gate_set(0);
    }
    pool.started = 0;
    pool.width = 0;
}

/* All signals except those that a fault raises in the thread itself: if blocked, they would kill the
 * process without running its handlers. */
static void signals_to_block(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(set, faults[i]);
}

static void threads_start(int width)
{
    sigset_t blocked, before;
    signals_to_block(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_attr_t attr;
    const bool has_attr = pthread_attr_init(&attr) == 0;
    if (has_attr)
        pthread_attr_setstacksize(&attr, STACK_BYTES);
    pool.width = width;
    pool.spin = width <= machine_cpus();
    pool.birth = atomic_load(&pool.gate.value) & GATE_EPOCHS;
    for (int i = 0; i < width - 1; i++) {
        void *const arg = (void *)(intptr_t)(i + 1);
        int status = pthread_create(&pool.threads[i], has_attr ? &attr : NULL, worker_main, arg);
        if (status == EINVAL) /* thread-local data too large for that stack */
            status = pthread_create(&pool.threads[i], NULL, worker_main, arg);
        if (status != 0)
            break;
        pool.started = i + 1;
    }
    if (has_attr)
        pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A child of fork has no workers, and any state may be half changed: start again. */
static void fork_child(void)
{
    word_reset(&pool.gate);
    word_reset(&pool.done);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.waiting, false);
    for (int i = 0; i < MACHINE_MAX_THREADS; i++)
        atomic_store(&member[i].inside, false);
    pool.started = 0;
    pool.width = 0;
    atomic_store(&pool.owned, false);
}

static void fork_handler_set(void) { pthread_atfork(NULL, NULL, fork_child); }

/* Runs at exit, and when a library that contains this is unloaded. The pool stays owned, so later runs are
 * plain loops. If some thread is in a run, the threads are left until the process ends. */
__attribute__((destructor)) static void pool_end(void)
{
    if (this_worker < 0 && pool_take())
        threads_stop();
}

/* ---- the interface --------------------------------------------------------------------------- */

int pool_threads(void)
{
    const int wanted = atomic_load_explicit(&pool.wanted, memory_order_relaxed);
    return wanted > 0 ? wanted : machine_threads();
}

int pool_set_threads(int n)
{
    if (n > MACHINE_MAX_THREADS)
        n = MACHINE_MAX_THREADS;
    if (n >= 0)
        atomic_store_explicit(&pool.wanted, n, memory_order_relaxed);
    return pool_threads();
}

static void run_inline(int64_t ntasks, pool_fn fn, void *ctx, const watch *w)
{
    const int worker = this_worker < 0 ? 0 : this_worker;
    for (int64_t task = 0; task < ntasks && !is_cancelled(w); task++)
        fn(ctx, task, worker);
}

/* Runs the tasks with the pool's threads. The caller owns the pool. */
static void run_parallel(int64_t ntasks, pool_fn fn, void *ctx, int width, const watch *w)
{
    if (width != pool.width) {
        threads_stop();
        threads_start(width);
    }
    const uint64_t chunk = (uint64_t)ntasks / ((uint64_t)width * CLAIMS_PER_SHARE);
    pool.fn = fn;
    pool.ctx = ctx;
    pool.ntasks = (uint64_t)ntasks;
    pool.chunk = chunk > 1 ? chunk : 1;
    pool.watched = *w;
    pool.label = trace_label();
    pool.run += CLAIM_RUN;
    pool.shares = width;
    this_worker = 0;
    gate_open(ntasks <= pool.started ? (int)ntasks - 1 : pool.started);
    tasks_run(0);
    gate_shut();
    this_worker = -1;
}

static void run(int64_t ntasks, pool_fn fn, void *ctx, const watch *w)
{
    static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
    const int width = ntasks > 1 && this_worker < 0 ? pool_threads() : 1;
    if (width > 1) {
        pthread_once(&fork_once, fork_handler_set);
        if (pool_take()) {
            run_parallel(ntasks, fn, ctx, width, w);
            pool_give();
            return;
        }
    }
    run_inline(ntasks, fn, ctx, w);
}

void pool_run(int64_t ntasks, pool_fn fn, void *ctx)
{
    const watch none = {false, 0};
    run(ntasks, fn, ctx, &none);
}

void pool_run_cancellable(int64_t ntasks, pool_fn fn, void *ctx)
{
    const watch w = this_watch;
    run(ntasks, fn, ctx, &w);
}

void pool_watch(bool on) { this_watch = (watch){on, cancel_count()}; }

bool pool_watches(uint32_t *since)
{
    *since = this_watch.since;
    return this_watch.on;
}
