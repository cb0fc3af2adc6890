/* Units of work, shared by processes; see work.h.
 *
 * A process ends after a failure and is replaced, because a fault on a GPU may corrupt all later results of the
 * process. The processes are children of a foreman, which never opens a device. A child of the calling process could
 * not use a driver that the calling process has opened. */
#include "verify/work.h"

#include "progress.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#ifdef __linux__
#include <ucontext.h>
#endif
#include <unistd.h>

enum {
    TEXT_BYTES = 4000,
    LINE_BYTES = 2 * TEXT_BYTES,
    PATIENCE_S = 10, /* how long to wait for processes that were asked to stop */
    FRESH = 3        /* exit code: start a new process */
};

enum { KEY_BYTES = 128, DEVICES_KEPT = 16 };

enum { UNIT_WAITS, UNIT_RUNS, UNIT_DONE };

typedef struct unit {
    atomic_int state;
    tally seen;
    double seconds;
    char name[CASE_NAME], text[TEXT_BYTES]; /* of the first failure, or "" */
} unit;

typedef struct shared {
    atomic_int next, done, failed, stop;
    atomic_int n_device;      /* 0: devices not known yet */
    atomic_int at[JOBS_MOST]; /* the unit that each process is checking, or -1 */
    char key[DEVICES_KEPT][KEY_BYTES];
    unit unit[];
} shared;

struct work {
    work_options o;
    shared *s;
    size_t bytes;
    pid_t foreman;
};

static void sleep_ms(long ms)
{
    const struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static bool is_wanted(const work *w, int i)
{
    char name[UNIT_NAME];
    return w->o.name(w->o.context, i % w->o.n_unit, name);
}

/* ---- the record ---- */

/* Writes a line: key, the two words of the name, cases, failed, refused, flushed, worst ulp, relative error and
 * fraction of the bound, seconds. For a unit that failed, also the first failed case and its message. */
static void record_add(const work *w, int i)
{
    const unit *u = &w->s->unit[i];
    FILE *f = w->o.record && u->seen.cases ? fopen(w->o.record, "a") : NULL;
    char line[LINE_BYTES], name[UNIT_NAME];
    if (!f)
        return;
    w->o.name(w->o.context, i % w->o.n_unit, name);
    int n =
        snprintf(line, sizeof line, "%s %s %lld %lld %lld %lld %.9g %.9g %.9g %.2f",
                 w->s->key[i / w->o.n_unit], name, (long long)u->seen.cases,
                 (long long)u->seen.failed, (long long)u->seen.refused, (long long)u->seen.flushed,
                 u->seen.ulp, u->seen.relative, u->seen.bound, u->seconds);
    if (u->text[0])
        n += snprintf(line + n, sizeof line - (size_t)n, " %s: %s", u->name, u->text);
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = ' ';
    line[n++] = '\n';
    setvbuf(f, NULL, _IONBF, 0); /* one write per line: several processes append to the file */
    fwrite(line, 1, (size_t)n, f);
    fclose(f);
}

static int find_key(const work *w, int n, const char *key)
{
    for (int d = 0; d < n; d++)
        if (strcmp(w->s->key[d], key) == 0)
            return d;
    return -1;
}

/* Reads a line of the record. Failed units are not taken: they are checked again, so that the failure is shown. */
static void record_take(work *w, int n_device, const char *line)
{
    char key[KEY_BYTES], first[64], second[64], name[UNIT_NAME];
    long long cases, failed, refused, flushed;
    size_t n = 0;
    tally t = {0};
    if (sscanf(line, "%127s %63s %63s %lld %lld %lld %lld %lg %lg %lg", key, first, second, &cases,
               &failed, &refused, &flushed, &t.ulp, &t.relative, &t.bound) != 10 ||
        failed)
        return;
    t.cases = cases;
    t.refused = refused;
    t.flushed = flushed;
    const int d = find_key(w, n_device, key);
    n = strlen(first);
    for (int k = 0; k < w->o.n_unit && d >= 0; k++) {
        unit *u = &w->s->unit[d * w->o.n_unit + k];
        if (!w->o.name(w->o.context, k, name) || strncmp(name, first, n) != 0 || name[n] != ' ' ||
            strcmp(name + n + 1, second) != 0)
            continue;
        u->seen = t;
        atomic_store(&u->state, UNIT_DONE);
    }
}

static const char *record_read(work *w, int n_device)
{
    char line[LINE_BYTES];
    FILE *f = w->o.record ? fopen(w->o.record, "a+") : NULL;
    if (w->o.record && !f)
        return strerror(errno);
    while (f && fgets(line, sizeof line, f))
        record_take(w, n_device, line);
    if (f)
        fclose(f);
    return NULL;
}

/* ---- checking ---- */

static void check(work *w, int i)
{
    unit *u = &w->s->unit[i];
    unit_report r = {0};
    const double begin = clock_s();
    atomic_store(&u->state, UNIT_RUNS);
    const bool whole = w->o.check(w->o.context, i / w->o.n_unit, i % w->o.n_unit, &r);
    u->seconds = clock_s() - begin;
    u->seen = r.seen;
    atomic_fetch_add(&w->s->failed, r.seen.failed > 0);
    if (r.first.text) {
        snprintf(u->name, sizeof u->name, "%s", r.first.name);
        snprintf(u->text, sizeof u->text, "%s", r.first.text);
    }
    free(r.first.text);
    if (!whole)
        return;
    record_add(w, i);
    atomic_store(&u->state, UNIT_DONE);
    atomic_fetch_add(&w->s->done, 1);
}

/* The number of the next free unit, or -1. */
static int take(work *w)
{
    if (w->o.most_failed && atomic_load(&w->s->failed) >= w->o.most_failed)
        return -1;
    const int per = w->o.n_unit, all = atomic_load(&w->s->n_device) * per;
    for (int n; (n = atomic_fetch_add(&w->s->next, 1)) < all;) {
        const int i = n - n % per + (w->o.order ? w->o.order[n % per] : n % per);
        if (is_wanted(w, i) && atomic_load(&w->s->unit[i].state) == UNIT_WAITS)
            return i;
    }
    return -1;
}

bool work_stopped(const work *w) { return atomic_load(&w->s->stop) != 0; }

/* ---- processes ---- */

static const work *faulting; /* of this process, and its number */
static int faulting_as;

/* The instruction at which a signal came; NULL: unknown. */
static void *place_of(const void *context)
{
#if defined(__linux__) && defined(__x86_64__)
    return (void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
    return (void *)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

/* Notes where the process is, as a file and an offset for addr2line, and ends it by the same signal. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const int i = atomic_load(&faulting->s->at[faulting_as]);
    char *const place = place_of(context);
    Dl_info at;
    (void)info;
    if (i >= 0 && place && dladdr(place, &at) && at.dli_fname)
        snprintf(faulting->s->unit[i].text, TEXT_BYTES / 2, "%s+0x%zx", at.dli_fname,
                 (size_t)(place - (char *)at.dli_fbase));
    signal(number, SIG_DFL);
    raise(number);
}

/* A fault may be rare, so that it cannot be repeated in a debugger. Handlers of others, such as a sanitizer, stay. */
static void catch_faults(const work *w, int number)
{
    static const int faults[] = {SIGFPE, SIGILL, SIGBUS, SIGSEGV, SIGABRT};
    const struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    faulting = w;
    faulting_as = number;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct sigaction before;
        if (sigaction(faults[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(faults[i], &ours, NULL);
    }
}

static _Noreturn void worker(work *w, int number)
{
    const pid_t parent = getppid();
    catch_faults(w, number);
    while (!work_stopped(w) && !atomic_load(&w->s->n_device) && getppid() == parent)
        sleep_ms(2);
    if (work_stopped(w) || getppid() != parent || !w->o.open(w->o.context))
        _Exit(1);
    for (int i; !work_stopped(w) && (i = take(w)) >= 0;) {
        atomic_store(&w->s->at[number], i);
        check(w, i);
        if (w->s->unit[i].seen.failed)
            _Exit(FRESH);
        atomic_store(&w->s->at[number], -1);
    }
    _Exit(0);
}

static pid_t start(work *w, int number)
{
    atomic_store(&w->s->at[number], -1);
    const pid_t made = fork();
    if (made == 0)
        worker(w, number);
    return made;
}

/* Handles the end of a process. Returns true if another one should replace it. */
static bool ended(work *w, int number, int status)
{
    const int i = atomic_load(&w->s->at[number]);
    unit *u = i >= 0 ? &w->s->unit[i] : NULL;
    if (u && atomic_load(&u->state) != UNIT_DONE && !work_stopped(w)) {
        u->seen.cases++;
        u->seen.failed++;
        atomic_fetch_add(&w->s->failed, 1);
        if (!u->name[0])
            snprintf(u->name, sizeof u->name, "none");
        char where[TEXT_BYTES / 2]; /* see on_fault */
        snprintf(where, sizeof where, "%s", u->text);
        snprintf(u->text, sizeof u->text, "the process that checked it ended with %s %d%s%s",
                 WIFSIGNALED(status) ? "signal" : "code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                 where[0] ? " at " : "", where);
        record_add(w, i);
        atomic_store(&u->state, UNIT_DONE);
        atomic_fetch_add(&w->s->done, 1);
    }
    return u && !work_stopped(w);
}

static _Noreturn void foreman(work *w)
{
    const pid_t parent = getppid();
    pid_t pid[JOBS_MOST];
    int alive = 0;
    double stopped_s = 0;
    for (int k = 0; k < w->o.jobs; k++) {
        pid[k] = start(w, k);
        alive += pid[k] > 0;
    }
    while (alive) {
        int status;
        const pid_t who = waitpid(-1, &status, WNOHANG);
        if (getppid() != parent)
            atomic_store(&w->s->stop, 1);
        if (work_stopped(w) && stopped_s == 0)
            stopped_s = clock_s();
        for (int k = 0; k < w->o.jobs && stopped_s > 0 && clock_s() - stopped_s > PATIENCE_S; k++)
            if (pid[k] > 0)
                kill(pid[k], SIGKILL); /* it may be waiting for a GPU that hangs */
        if (who <= 0)
            sleep_ms(10);
        for (int k = 0; k < w->o.jobs && who > 0; k++) {
            if (pid[k] != who)
                continue;
            pid[k] = ended(w, k, status) ? start(w, k) : 0;
            alive -= pid[k] <= 0;
        }
    }
    _Exit(0);
}

/* ---- the list ---- */

bool work_new(const work_options *o, work **out)
{
    work *w = *out = heap_get(sizeof *w);
    *w = (work){.o = *o};
    assert(o->most_devices <= DEVICES_KEPT && o->jobs >= 1 && o->jobs <= JOBS_MOST);
    w->bytes = sizeof *w->s + (size_t)(o->most_devices * o->n_unit) * sizeof *w->s->unit;
    w->s = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (w->s == MAP_FAILED) {
        free(w);
        *out = NULL;
        return false;
    }
    if (o->jobs > 1) {
        fflush(NULL);
        w->foreman = fork();
        if (w->foreman == 0)
            foreman(w);
    }
    if (w->foreman >= 0)
        return true;
    work_free(w);
    *out = NULL;
    return false;
}

/* The number of unfinished units. A unit that was stopped is still marked as running. */
static int count_wanted(const work *w, int n_device)
{
    int n = 0;
    for (int i = 0; i < n_device * w->o.n_unit; i++)
        n += is_wanted(w, i) && atomic_load(&w->s->unit[i].state) != UNIT_DONE;
    return n;
}

/* Checks all units in this process. */
static void run_here(work *w, int n, work_show show)
{
    for (int i; !work_stopped(w) && (i = take(w)) >= 0; check(w, i))
        if (show(w->o.context, i / w->o.n_unit, (double)atomic_load(&w->s->done) / n,
                 i % w->o.n_unit))
            atomic_store(&w->s->stop, 1);
}

static void run_there(work *w, int n, work_show show)
{
    while (waitpid(w->foreman, NULL, WNOHANG) == 0) {
        const int i = atomic_load(&w->s->at[0]);
        if (show(w->o.context, i < 0 ? 0 : i / w->o.n_unit, (double)atomic_load(&w->s->done) / n,
                 i < 0 ? -1 : i % w->o.n_unit))
            atomic_store(&w->s->stop, 1);
        sleep_ms(20);
    }
    w->foreman = 0;
}

bool work_run(work *w, char *const *key, int n_device, work_show show, const char **wrong)
{
    assert(n_device <= w->o.most_devices);
    for (int d = 0; d < n_device; d++)
        snprintf(w->s->key[d], KEY_BYTES, "%s", key[d]);
    *wrong = record_read(w, n_device);
    if (*wrong)
        return false;
    const int n = count_wanted(w, n_device);
    atomic_store(&w->s->n_device, n_device);
    (w->o.jobs > 1 ? run_there : run_here)(w, n ? n : 1, show);
    return count_wanted(w, n_device) == 0 && !work_stopped(w);
}

/* ---- results ---- */

bool work_complete(const work *w, int d, int number)
{
    const int i = d * w->o.n_unit + number;
    return !is_wanted(w, i) || atomic_load(&w->s->unit[i].state) == UNIT_DONE;
}

int work_units(const work *w) { return w->o.n_unit; }

bool work_report(const work *w, int d, int number, unit_report *r)
{
    unit *u = &w->s->unit[d * w->o.n_unit + number];
    *r = (unit_report){.seen = u->seen};
    if (u->text[0]) {
        memcpy(r->first.name, u->name, sizeof u->name);
        r->first.text = u->text;
    }
    return atomic_load(&u->state) != UNIT_WAITS;
}

void work_case(work *w, int d, int number, const char *name)
{
    unit *u = &w->s->unit[d * w->o.n_unit + number];
    snprintf(u->name, sizeof u->name, "%s", name);
}

void work_free(work *w)
{
    if (!w)
        return;
    atomic_store(&w->s->stop, 1);
    if (w->foreman > 0)
        waitpid(w->foreman, NULL, 0);
    munmap(w->s, w->bytes);
    free(w);
}
