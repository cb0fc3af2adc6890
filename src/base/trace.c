/* Recording: one atomic step claims an entry in a block of fixed size, which is then filled.
 *
 * Invariant: events, names and path change only while no thread records: running is false, and there is no
 * active writer. */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/trace.h"
#include "base/trace_file.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SLOTS = 1 << 12, NAME_PROBES = 64 };

int64_t trace_room = 1 << 19;
atomic_bool trace_running;

static struct {
    pthread_mutex_t lock; /* for beginning and ending */
    _Atomic int writers;
    _Atomic int64_t claimed;
    _Atomic int callers; /* threads so far that are not the pool's */
    trace_event *events;
    char *path;
    /* Unique names. They stay when the timeline ends, because a run may be in progress. */
    pthread_mutex_t name_lock;
    char text[TRACE_NAME_BYTES];
    size_t used;
    const char *names[NAME_SLOTS];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER, .name_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int this_caller; /* its number, from 1; 0: none yet */
static _Thread_local const char *this_label;

int64_t trace_clock(void) { return clock_ns() + 1; }

/* ---- events ---- */

/* The timeline does not end between writer_enter and writer_leave. */
static bool writer_enter(void)
{
    atomic_fetch_add(&trace.writers, 1);
    if (atomic_load(&trace_running))
        return true;
    atomic_fetch_sub(&trace.writers, 1);
    return false;
}

static void writer_leave(void) { atomic_fetch_sub(&trace.writers, 1); }

static int thread_number(int worker)
{
    if (worker > 0)
        return TRACE_WORKERS + worker;
    if (!this_caller)
        this_caller = atomic_fetch_add(&trace.callers, 1) + 1;
    return this_caller < TRACE_WORKERS ? this_caller : TRACE_WORKERS;
}

/* Must be called between writer_enter and writer_leave. */
static void record(const trace_event *e)
{
    const int64_t at = atomic_fetch_add(&trace.claimed, 1);
    if (at < trace_room)
        trace.events[at] = *e;
}

/* The only copy of a name, or a placeholder if there is no room for it. */
static const char *keep_name(const char *name)
{
    const size_t n = strlen(name) + 1;
    size_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    const char *found = NULL;
    pthread_mutex_lock(&trace.name_lock);
    for (int i = 0; i < NAME_PROBES && !found; i++) {
        const char **slot = &trace.names[(hash + (size_t)i) % NAME_SLOTS];
        if (*slot && strcmp(*slot, name) == 0) {
            found = *slot;
        } else if (!*slot && n <= TRACE_NAME_BYTES - trace.used) {
            found = *slot = memcpy(trace.text + trace.used, name, n);
            trace.used += n;
        }
    }
    pthread_mutex_unlock(&trace.name_lock);
    return found ? found : "a program";
}

void trace_end_work(int64_t begin, const char *name)
{
    if (!writer_enter())
        return;
    record(&(trace_event){.kind = TRACE_SPAN,
                          .name = name,
                          .thread = thread_number(0),
                          .begin = begin,
                          .end = trace_clock()});
    writer_leave();
}

void trace_end_program(int64_t begin, const char *device, const char *label, const trace_cost *cost)
{
    this_label = NULL;
    if (!begin || !writer_enter())
        return;
    record(&(trace_event){.kind = TRACE_PROGRAM,
                          .name = keep_name(label),
                          .device = keep_name(device),
                          .thread = thread_number(0),
                          .begin = begin,
                          .end = trace_clock(),
                          .cost = *cost});
    writer_leave();
}

void trace_end_share(int64_t begin, const char *name, int worker, int64_t tasks)
{
    if (!begin || !writer_enter())
        return;
    record(&(trace_event){.kind = TRACE_SHARE,
                          .name = name,
                          .thread = thread_number(worker),
                          .begin = begin,
                          .end = trace_clock(),
                          .count = tasks});
    writer_leave();
}

void trace_memory(uint64_t bytes)
{
    if (!trace_on() || !writer_enter())
        return;
    record(&(trace_event){
        .kind = TRACE_COUNTER, .name = "memory", .begin = trace_clock(), .count = (int64_t)bytes});
    writer_leave();
}

void trace_program(const char *label)
{
    if (!trace_on() || !writer_enter())
        return;
    this_label = keep_name(label);
    writer_leave();
}

const char *trace_label(void) { return trace_on() ? this_label : NULL; }

/* ---- beginning and ending; the lock is held ---- */

static void forget(void)
{
    memory_free(trace.events);
    memory_free(trace.path);
    trace.events = NULL;
    trace.path = NULL;
    atomic_store(&trace.claimed, 0);
}

static ig_status begin(const char *path)
{
    if (atomic_load(&trace_running))
        return ig_fail(IG_ERR_ARGUMENT, "trace '%s': '%s' is being traced; end it first", path,
                       trace.path);
    ig_status status = trace_file_check(path);
    if (status != IG_OK)
        return status;
    trace.path = memory_text(path);
    trace.events = memory_new(sizeof *trace.events * (size_t)trace_room);
    if (!trace.path || !trace.events) {
        forget();
        return IG_ERR_MEMORY;
    }
    atomic_store(&trace_running, true);
    return IG_OK;
}

static ig_status end(void)
{
    if (!atomic_load(&trace_running))
        return IG_OK;
    atomic_store(&trace_running, false);
    while (atomic_load(&trace.writers) > 0)
        sched_yield();
    const int64_t claimed = atomic_load(&trace.claimed);
    const int64_t n = claimed < trace_room ? claimed : trace_room;
    ig_status status = trace_file_write(trace.path, trace.events, n, claimed - n);
    forget();
    return status;
}

/* In a child of fork: the timeline is the parent's. Its memory is left alone, because its locks may be held. */
static void fork_child(void)
{
    atomic_store(&trace_running, false);
    atomic_store(&trace.writers, 0);
    atomic_store(&trace.claimed, 0);
    pthread_mutex_init(&trace.lock, NULL);
    pthread_mutex_init(&trace.name_lock, NULL);
}

static void fork_watch(void) { pthread_atfork(NULL, NULL, fork_child); }

ig_status ig_trace_begin(const char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!path || !*path)
        return ig_fail(IG_ERR_ARGUMENT, "trace: a path is missing");
    pthread_once(&once, fork_watch);
    pthread_mutex_lock(&trace.lock);
    ig_status status = begin(path);
    pthread_mutex_unlock(&trace.lock);
    return status;
}

ig_status ig_trace_end(void)
{
    pthread_mutex_lock(&trace.lock);
    ig_status status = end();
    pthread_mutex_unlock(&trace.lock);
    return status;
}

/* Prints an error of IG_TRACE, because an environment variable has no caller that could get it. A pending error is
 * kept. */
static void complain(const char *path, bool waited)
{
    const char *problem = waited ? NULL : ig_error(NULL);
    log_line(IG_WARNING, "%s%s", problem ? problem : path,
             problem ? "" : ": the timeline cannot be written");
}

void trace_begin_by_environment(void)
{
    const char *path = getenv("IG_TRACE");
    const bool waited = ig_failed();
    if (path && *path && !trace_on() && ig_trace_begin(path) != IG_OK)
        complain(path, waited);
}

__attribute__((destructor)) static void trace_at_exit(void)
{
    const bool waited = ig_failed();
    if (ig_trace_end() != IG_OK)
        complain("trace", waited);
}
