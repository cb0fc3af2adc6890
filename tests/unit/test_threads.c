/* The thread pool: every task runs once, whatever the number of threads, callers and forks. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cancel.h"
#include "base/machine.h"
#include "base/threads.h"
#include "ingot.h"

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define SANITIZER 1
/* The tests intentionally fork while threads run, and start threads in the child. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
#elif defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define SANITIZER 1
#else
#define SANITIZER 0
#endif

enum { MAX_TASKS = 100000, CHILD_SECONDS = 240 };

static const char *program;

static void sleep_us(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Scratch is indexed by the worker without atomics, so TSan sees it if two tasks share a worker. */
typedef struct sum {
    uint8_t *runs; /* (ntasks) how often each task ran */
    int64_t by_worker[MACHINE_MAX_THREADS];
    int threads;
    atomic_int errors;
} sum;

static void sum_task(void *ctx, int64_t task, int worker)
{
    sum *s = ctx;
    if (worker < 0 || worker >= s->threads)
        atomic_fetch_add(&s->errors, 1);
    else
        s->by_worker[worker] += task;
    s->runs[task]++;
}

/* Runs ntasks and checks that each ran once. Allocates nothing. */
static bool sum_run(sum *s, int64_t ntasks)
{
    memset(s->runs, 0, (size_t)(ntasks > 0 ? ntasks : 0));
    memset(s->by_worker, 0, sizeof s->by_worker);
    atomic_store(&s->errors, 0);
    s->threads = pool_threads();
    pool_run(ntasks, sum_task, s);
    int64_t total = 0;
    for (int i = 0; i < MACHINE_MAX_THREADS; i++)
        total += s->by_worker[i];
    bool holds = atomic_load(&s->errors) == 0;
    for (int64_t i = 0; i < ntasks; i++)
        holds = holds && s->runs[i] == 1;
    return holds && total == (ntasks > 0 ? ntasks * (ntasks - 1) / 2 : 0);
}

/* The same with its own memory. Asserts nothing, so that any thread may call it. */
static bool sum_holds(int64_t ntasks)
{
    sum *s = calloc(1, sizeof *s);
    uint8_t *runs = calloc((size_t)(ntasks > 0 ? ntasks : 1), 1);
    bool holds = false;
    if (s && runs) {
        s->runs = runs;
        holds = sum_run(s, ntasks);
    }
    free(runs);
    free(s);
    return holds;
}

static void test_sums(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    static const int64_t ntasks[] = {-1, 0, 1, 2, 3, 7, 64, 1000, MAX_TASKS};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        assert_int_equal(pool_set_threads(threads[i]), threads[i]);
        for (size_t j = 0; j < sizeof ntasks / sizeof ntasks[0]; j++)
            for (int again = 0; again < 3; again++)
                assert_true(sum_holds(ntasks[j]));
    }
}

static void test_many_small_runs(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 3; threads++) {
        pool_set_threads(threads);
        for (int i = 0; i < 2000; i++)
            assert_true(sum_holds(2 + i % 5));
    }
}

static void test_runs_after_sleep(void **state)
{
    (void)state;
    pool_set_threads(2);
    for (int i = 0; i < 200; i++) {
        assert_true(sum_holds(5));
        sleep_us(i);
    }
}

/* Threads are stopped while some of them have not reached the gate yet. */
static void test_start_and_stop(void **state)
{
    (void)state;
    const int rounds = getenv("IG_TEST_QUICK") ? 100 : 2000;
    for (int i = 0; i < rounds; i++) {
        pool_set_threads(7 + i % 2);
        assert_true(sum_holds(16));
    }
    pool_set_threads(0);
}

static void test_set_threads(void **state)
{
    (void)state;
    static const int counts[] = {1, 4, 2, 8, 1, 3, 2};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_int_equal(pool_set_threads(counts[i]), counts[i]);
        assert_int_equal(pool_threads(), counts[i]);
        assert_true(sum_holds(100));
    }
    assert_int_equal(pool_set_threads(-3), 2);
    assert_int_equal(pool_set_threads(1 << 30), MACHINE_MAX_THREADS);
    assert_int_equal(pool_set_threads(0), machine_threads());
    assert_true(sum_holds(100));
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Two tasks that wait for each other end only if two threads run them. */
typedef struct meeting {
    atomic_int arrived, missed, wrong;
} meeting;

static void meeting_task(void *ctx, int64_t task, int worker)
{
    (void)task;
    meeting *m = ctx;
    atomic_fetch_add(&m->arrived, 1);
    for (int i = 0; atomic_load(&m->arrived) < 2; i++) {
        if (i == 100000) {
            atomic_fetch_add(&m->missed, 1);
            return;
        }
        sleep_us(100);
    }
    if (worker == 0)
        return;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (!sigismember(&mask, SIGINT) || !sigismember(&mask, SIGPROF) || sigismember(&mask, SIGSEGV))
        atomic_fetch_add(&m->wrong, 1);
#if defined(__linux__)
    char name[32] = "", expected[32];
    pthread_getname_np(pthread_self(), name, sizeof name);
    snprintf(expected, sizeof expected, "ingot-%d", worker);
    if (strcmp(name, expected) != 0)
        atomic_fetch_add(&m->wrong, 1);
#endif
}

static void test_workers_take_part(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 8; threads += 6) {
        pool_set_threads(threads);
        for (int i = 0; i < 20; i++) {
            meeting m = {0};
            pool_run(2, meeting_task, &m);
            assert_int_equal(atomic_load(&m.missed), 0);
            assert_int_equal(atomic_load(&m.wrong), 0);
            sleep_us(i * 20);
        }
    }
}

typedef struct nest {
    atomic_int inner_tasks, errors;
} nest;

typedef struct nest_inner {
    nest *nest;
    pthread_t thread;
    int worker, next;
} nest_inner;

static void nest_inner_task(void *ctx, int64_t task, int worker)
{
    nest_inner *inner = ctx;
    if (worker != inner->worker || task != inner->next++ ||
        !pthread_equal(pthread_self(), inner->thread))
        atomic_fetch_add(&inner->nest->errors, 1);
    atomic_fetch_add(&inner->nest->inner_tasks, 1);
}

static void nest_outer_task(void *ctx, int64_t task, int worker)
{
    (void)task;
    nest_inner inner = {ctx, pthread_self(), worker, 0};
    pool_run(50, nest_inner_task, &inner);
}

static void test_nested(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 8; threads += 6) {
        pool_set_threads(threads);
        nest n = {0};
        pool_run(40, nest_outer_task, &n);
        assert_int_equal(atomic_load(&n.inner_tasks), 40 * 50);
        assert_int_equal(atomic_load(&n.errors), 0);
    }
}

static void *caller_main(void *arg)
{
    atomic_int *errors = arg;
    for (int i = 0; i < 300; i++)
        if (!sum_holds(1 + i))
            atomic_fetch_add(errors, 1);
    return NULL;
}

static void test_concurrent_callers(void **state)
{
    (void)state;
    pool_set_threads(3);
    atomic_int errors = 0;
    pthread_t callers[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, caller_main, &errors), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    assert_int_equal(atomic_load(&errors), 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Waits for a child; its exit status, or -1 if it was killed, as by its alarm. */
static int child_wait(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Forks; in the child runs some sums and exits with 0 if they hold. The parent waits. */
static int child_sums(void)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        const bool holds = sum_holds(1000) && sum_holds(2) && sum_holds(333);
        meeting m = {0};
        pool_run(2, meeting_task, &m);
        _exit(holds && atomic_load(&m.missed) == 0 ? 0 : 1);
    }
    return child_wait(child);
}

static void test_fork_after_use(void **state)
{
    (void)state;
    pool_set_threads(3);
    for (int i = 0; i < 5; i++) {
        assert_true(sum_holds(100));
        assert_int_equal(child_sums(), 0);
    }
    assert_true(sum_holds(100));
}

enum { BUSY_TASKS = 300 };

typedef struct busy {
    atomic_bool started, stop;
    atomic_int errors;
    uint8_t runs[BUSY_TASKS];
    sum sum;
} busy;

/* Allocates nothing: ASan's allocator, unlike the system's, may be left locked in a child. */
static void *busy_main(void *arg)
{
    busy *b = arg;
    while (!atomic_load(&b->stop)) {
        if (!sum_run(&b->sum, BUSY_TASKS))
            atomic_fetch_add(&b->errors, 1);
        atomic_store(&b->started, true);
    }
    return NULL;
}

static void test_fork_during_use(void **state)
{
    (void)state;
#ifndef __x86_64__
    if (getenv("IG_TEST_EMULATED"))
        skip(); /* qemu's own locks are not safe to fork while other threads run */
#endif
    pool_set_threads(3);
    static busy b;
    b.sum.runs = b.runs;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, busy_main, &b), 0);
    while (!atomic_load(&b.started))
        sleep_us(100);
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        sleep_us(i * 37);
        failed += child_sums() != 0;
    }
    atomic_store(&b.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(atomic_load(&b.errors), 0);
}

static void fork_task(void *ctx, int64_t task, int worker)
{
    (void)task;
    (void)worker;
    const pid_t child = fork();
    if (child == 0)
        _exit(sum_holds(10) ? 0 : 1);
    if (child_wait(child) != 0)
        atomic_fetch_add((atomic_int *)ctx, 1);
}

static void test_fork_in_task(void **state)
{
    (void)state;
    pool_set_threads(2);
    atomic_int errors = 0;
    pool_run(8, fork_task, &errors);
    assert_int_equal(atomic_load(&errors), 0);
    assert_true(sum_holds(100));
}

/* If there is no memory for all stacks, the threads that could be started do the work. */
static void test_too_few_threads(void **state)
{
    (void)state;
    if (getenv("IG_TEST_EMULATED")) /* qemu-user cannot start threads in a child of fork */
        skip();
#if defined(__linux__)
    if (SANITIZER)
        skip();
    pool_set_threads(200);
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        long pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        if (!file || fscanf(file, "%ld", &pages) != 1)
            _exit(2);
        fclose(file);
        const rlim_t bytes = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + (20 << 20));
        const struct rlimit limit = {bytes, bytes};
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(2);
        _exit(sum_holds(1000) && sum_holds(1000) ? 0 : 1);
    }
    assert_int_equal(child_wait(child), 0);
#else
    skip();
#endif
}

/* Runs this program again with one argument and IG_NUM_THREADS; its exit status, 127 if it cannot
 * be run. */
static int program_run(const char *argument, const char *threads)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        if (threads)
            setenv("IG_NUM_THREADS", threads, 1);
        else
            unsetenv("IG_NUM_THREADS");
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* takes seconds in each process; this process
                                                      * checks for leaks */
        execl(program, program, argument, (char *)NULL);
        _exit(127);
    }
    return child_wait(child);
}

static void test_environment(void **state)
{
    (void)state;
    const int plain = program_run("--count", NULL);
    if (plain == 127)
        skip();
    assert_in_range(plain, 1, 63);
    assert_int_equal(program_run("--count", ""), plain);
    assert_int_equal(program_run("--count", "1"), 1);
    static const char *const garbage[] = {"x",   "-2", "0", "2.5", " 2", "99999999999999999999",
                                          "%s%n"};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++)
        assert_int_equal(program_run("--count", garbage[i]), plain + 64);
}

static void test_exit_in_task(void **state)
{
    (void)state;
    const int status = program_run("--exit-in-task", NULL);
    if (status == 127)
        skip();
    assert_int_equal(status, 7);
    assert_int_equal(program_run("--exit-in-worker", NULL), 7);
}

static void exit_task(void *ctx, int64_t task, int worker)
{
    static atomic_int arrived;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < 2)
        sleep_us(100);
    (void)task;
    if ((worker != 0) == (ctx != NULL))
        exit(7);
    sleep_us(1000000L * CHILD_SECONDS);
}

/* The main function of the program that program_run starts. */
static int program_main(const char *argument)
{
    if (strcmp(argument, "--count") == 0) {
        const int threads = pool_threads() < 63 ? pool_threads() : 63;
        if (!sum_holds(100))
            return 0;
        return threads + (machine_threads_note() ? 64 : 0);
    }
    pool_set_threads(2);
    pool_run(2, exit_task, strcmp(argument, "--exit-in-worker") == 0 ? &program : NULL);
    return 1;
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void cancel_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)ctx, 1);
    if (task == 0)
        ig_cancel();
}

static int cancelled_run(bool watch, int64_t ntasks)
{
    atomic_int ran = 0;
    pool_watch(watch);
    pool_run_cancellable(ntasks, cancel_task, &ran);
    pool_watch(false);
    return ran;
}

static void test_cancel(void **state)
{
    (void)state;
    pool_set_threads(1);
    assert_int_equal(cancelled_run(true, 1000), 1);
    assert_int_equal(cancelled_run(false, 1000), 1000); /* no caller would discard the results */
    pool_set_threads(2);
    assert_true(cancelled_run(true, MAX_TASKS) < MAX_TASKS);
    assert_int_equal(cancelled_run(false, 1000), 1000);
    atomic_int ran = 0;
    pool_watch(true);
    ig_cancel();
    pool_run(1000, cancel_task, &ran); /* skips nothing */
    pool_watch(true);
    pool_run_cancellable(1, cancel_task, &ran); /* an earlier call does not count */
    pool_watch(false);
    assert_int_equal(ran, 1001);
    pool_set_threads(0);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && strncmp(argv[1], "--", 2) == 0)
        return program_main(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_many_small_runs),
        cmocka_unit_test(test_runs_after_sleep),
        cmocka_unit_test(test_start_and_stop),
        cmocka_unit_test(test_set_threads),
        cmocka_unit_test(test_workers_take_part),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_concurrent_callers),
        cmocka_unit_test(test_fork_after_use),
        cmocka_unit_test(test_fork_during_use),
        cmocka_unit_test(test_fork_in_task),
        cmocka_unit_test(test_too_few_threads),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_exit_in_task),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
