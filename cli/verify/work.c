/* Units of work, shared by processes; see work.h.
 *
 * A process that has met a failure ends and is replaced, because a fault on a GPU may spoil all later results of the
 * process. The processes are children of a foreman, which never opens a device: a child of the calling process could not
 * use a driver that this one has opened. */
#include "verify/work.h"

#include "progress.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 1000,
    LINE_BYTES = 2 * TEXT_BYTES,
    WEIGHTS = 6,
    PATIENCE_S = 10, /* for processes that were asked to stop */
    FRESH = 3        /* exit code: a new process is to go on */
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
    atomic_int next, done, stop;
    atomic_int n_device;      /* 0: the devices are not known yet */
    atomic_int at[JOBS_MOST]; /* the unit that each process has, or -1 */
    char key[DEVICES_KEPT][KEY_BYTES];
    unit unit[];
} shared;

struct work {
    work_options o;
    shared *s;
    size_t bytes;
    int per_device;
    int *order; /* of the units of a device */
    pid_t foreman;
};

static void sleep_ms(long ms)
{
    const struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static int unit_number(const work *w, int d, int k, ig_dtype dtype)
{
    return d * w->per_device + k * DTYPES + (int)dtype;
}

static bool is_wanted(const work *w, int i)
{
    const ig_dtype d = (ig_dtype)(i % DTYPES);
    return d >= IG_BOOL && (w->o.dtypes == 0 || dtype_in(d, w->o.dtypes));
}

static const ig_op *unit_op(const work *w, int i) { return w->o.op[i % w->per_device / DTYPES]; }

/* ---- the record ---- */

/* A line: key, op, dtype, cases, failed, refused, flushed, worst ulp, relative error and share of the bound, seconds. Of
 * a unit that failed, also the first case and what is wrong. */
static void record_add(const work *w, int i)
{
    const unit *u = &w->s->unit[i];
    FILE *f = w->o.record && u->seen.cases ? fopen(w->o.record, "a") : NULL;
    char line[LINE_BYTES];
    if (!f)
        return;
    int n = snprintf(
        line, sizeof line, "%s %s %s %lld %lld %lld %lld %.9g %.9g %.9g %.2f",
        w->s->key[i / w->per_device], unit_op(w, i)->name, ig_dtype_name((ig_dtype)(i % DTYPES)),
        (long long)u->seen.cases, (long long)u->seen.failed, (long long)u->seen.refused,
        (long long)u->seen.flushed, u->seen.ulp, u->seen.relative, u->seen.bound, u->seconds);
    if (u->text[0])
        n += snprintf(line + n, sizeof line - (size_t)n, " %s: %s", u->name, u->text);
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = ' ';
    line[n++] = '\n';
    setvbuf(f, NULL, _IONBF, 0); /* one write for each line: processes append to one file */
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

/* Units that failed are checked again, so that the failure is shown. */
static void record_take(work *w, int n_device, const char *line)
{
    char key[KEY_BYTES], op[64], dtype[16];
    long long cases, failed, refused, flushed;
    tally t = {0};
    if (sscanf(line, "%127s %63s %15s %lld %lld %lld %lld %lg %lg %lg", key, op, dtype, &cases,
               &failed, &refused, &flushed, &t.ulp, &t.relative, &t.bound) != 10 ||
        failed)
        return;
    t.cases = cases;
    t.refused = refused;
    t.flushed = flushed;
    const int d = find_key(w, n_device, key);
    const ig_dtype type = ig_dtype_parse(dtype);
    for (int k = 0; k < w->o.n_op && d >= 0 && type; k++) {
        unit *u = &w->s->unit[unit_number(w, d, k, type)];
        if (strcmp(w->o.op[k]->name, op) != 0 || !is_wanted(w, (int)(u - w->s->unit)))
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
    op_report r = {0};
    const double begin = clock_s();
    atomic_store(&u->state, UNIT_RUNS);
    const bool whole =
        w->o.check(w->o.context, i / w->per_device, unit_op(w, i), (ig_dtype)(i % DTYPES), &r);
    u->seconds = clock_s() - begin;
    u->seen = verify_total(&r);
    if (r.first.text) {
        snprintf(u->name, sizeof u->name, "%s", r.first.name);
        snprintf(u->text, sizeof u->text, "%s", r.first.text);
    }
    verify_free(&r);
    if (!whole)
        return;
    record_add(w, i);
    atomic_store(&u->state, UNIT_DONE);
    atomic_fetch_add(&w->s->done, 1);
}

/* The number of the next free unit, or -1. */
static int take(work *w)
{
    const int all = atomic_load(&w->s->n_device) * w->per_device;
    for (int n; (n = atomic_fetch_add(&w->s->next, 1)) < all;) {
        const int i = n / w->per_device * w->per_device + w->order[n % w->per_device];
        if (is_wanted(w, i) && atomic_load(&w->s->unit[i].state) == UNIT_WAITS)
            return i;
    }
    return -1;
}

bool work_stopped(const work *w) { return atomic_load(&w->s->stop) != 0; }

/* ---- processes ---- */

static _Noreturn void worker(work *w, int number)
{
    const pid_t parent = getppid();
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

/* A process ended; returns whether another is to take its place. */
static bool ended(work *w, int number, int status)
{
    const int i = atomic_load(&w->s->at[number]);
    unit *u = i >= 0 ? &w->s->unit[i] : NULL;
    if (u && atomic_load(&u->state) != UNIT_DONE && !work_stopped(w)) {
        u->seen.cases++;
        u->seen.failed++;
        snprintf(u->name, sizeof u->name, "none");
        snprintf(u->text, sizeof u->text, "the process that checked it ended with %s %d",
                 WIFSIGNALED(status) ? "signal" : "code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
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
                kill(pid[k], SIGKILL); /* it may wait for a GPU that hangs */
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

/* How long a unit may take, roughly: kernels of contractions are the largest, those of composites the most. */
static int weight(const ig_op *op)
{
    static const char *const heavy[WEIGHTS] = {"move",   "index",     "elementwise",
                                               "reduce", "composite", "contract"};
    for (int i = 0; i < WEIGHTS; i++)
        if (strcmp(op->cls, heavy[i]) == 0)
            return i;
    return 0;
}

/* One process goes by op and dtype. Several begin with what takes longest, so that none is left alone at the end: of two units
 * of one weight, with the one of floats, which may have gradients. */
static void order_units(work *w)
{
    int n = 0;
    for (int i = 0; i < w->per_device && w->o.jobs == 1; i++)
        w->order[n++] = i;
    for (int rank = WEIGHTS - 1; rank >= 0 && w->o.jobs > 1; rank--)
        for (int d = DTYPES - 1; d >= 0; d--)
            for (int k = 0; k < w->o.n_op; k++)
                if (weight(w->o.op[k]) == rank)
                    w->order[n++] = k * DTYPES + d;
}

work *work_new(const work_options *o)
{
    work *w = heap_get(sizeof *w);
    *w = (work){.o = *o, .per_device = o->n_op * DTYPES};
    assert(o->most_devices <= DEVICES_KEPT && o->jobs >= 1 && o->jobs <= JOBS_MOST);
    w->bytes = sizeof *w->s + (size_t)(o->most_devices * w->per_device) * sizeof *w->s->unit;
    w->s = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (w->s == MAP_FAILED) {
        free(w);
        return NULL;
    }
    w->order = heap_get((size_t)w->per_device * sizeof *w->order);
    order_units(w);
    if (o->jobs > 1) {
        fflush(NULL);
        w->foreman = fork();
        if (w->foreman == 0)
            foreman(w);
    }
    if (w->foreman >= 0)
        return w;
    work_free(w);
    return NULL;
}

static int count_wanted(const work *w, int n_device)
{
    int n = 0;
    for (int i = 0; i < n_device * w->per_device; i++)
        n += is_wanted(w, i) && atomic_load(&w->s->unit[i].state) == UNIT_WAITS;
    return n;
}

/* All units in this process. */
static void run_here(work *w, int n, work_show show)
{
    for (int i; !work_stopped(w) && (i = take(w)) >= 0; check(w, i))
        if (show(w->o.context, i / w->per_device, (double)atomic_load(&w->s->done) / n,
                 unit_op(w, i)->name))
            atomic_store(&w->s->stop, 1);
}

static void run_there(work *w, int n, work_show show)
{
    while (waitpid(w->foreman, NULL, WNOHANG) == 0) {
        const int i = atomic_load(&w->s->at[0]);
        if (show(w->o.context, i < 0 ? 0 : i / w->per_device, (double)atomic_load(&w->s->done) / n,
                 i < 0 ? "" : unit_op(w, i)->name))
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

bool work_complete(const work *w, int d, int k)
{
    for (ig_dtype t = IG_BOOL; t <= IG_F64; t++) {
        const int i = unit_number(w, d, k, t);
        if (is_wanted(w, i) && atomic_load(&w->s->unit[i].state) != UNIT_DONE)
            return false;
    }
    return true;
}

bool work_report(const work *w, int d, int k, op_report *r)
{
    bool begun = false;
    *r = (op_report){.op = w->o.op[k]};
    for (ig_dtype t = IG_BOOL; t <= IG_F64; t++) {
        const unit *u = &w->s->unit[unit_number(w, d, k, t)];
        begun = begun || atomic_load(&u->state) != UNIT_WAITS;
        r->by_dtype[t] = u->seen;
        if (!u->text[0] || r->first.text)
            continue;
        r->first.dtype = t;
        memcpy(r->first.name, u->name, sizeof u->name);
        r->first.text = heap_string(u->text);
    }
    return begun;
}

void work_free(work *w)
{
    if (!w)
        return;
    atomic_store(&w->s->stop, 1);
    if (w->foreman > 0)
        waitpid(w->foreman, NULL, 0);
    munmap(w->s, w->bytes);
    free(w->order);
    free(w);
}
