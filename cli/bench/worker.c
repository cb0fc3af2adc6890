/* Both ends of the pipes to a worker. Both run the same program, so structures are sent as raw bytes. */
#include "bench/worker.h"

#include "bench/child.h"
#include "progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 500, WHY_MOST = 4096 };

/* The first message of a worker. */
typedef struct hello {
    int64_t jobs;
    uint64_t devices; /* see devices_number */
} hello;

/* An order: one visit, with the runner's data about the task. */
typedef struct order {
    int number, pass, repeats, samples;
    double check_s, sample_s, visit_s, calm;
} order;

/* A report. The samples follow it, then their waiting times, then the text of why. */
typedef struct report {
    outcome outcome;
    int repeats, n, why_bytes;
    double open_s, check_s, sample_s;
    char answer[ANSWER_CHARS];
} report;

/* ---- the pipes ---------------------------------------------------------------------------------- */

static void close_both(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    ends[0] = ends[1] = -1;
}

static bool write_all(int to, const void *from, size_t bytes)
{
    for (const char *at = from; bytes > 0;) {
        ssize_t n = write(to, at, bytes);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Returns false if the other side has ended, or after Ctrl-C. */
static bool read_all(int from, void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        while (poll(&ready, 1, WAIT_MS) <= 0)
            if (interrupt_asked())
                return false;
        ssize_t n = read(from, at, bytes);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- in the worker ------------------------------------------------------------------------------- */

static bool put_report(const task *t)
{
    report r = {.outcome = t->outcome,
                .repeats = t->repeats,
                .n = t->n,
                .why_bytes = (int)(t->why.n < WHY_MOST ? t->why.n : WHY_MOST),
                .open_s = t->open_s,
                .check_s = t->check_s,
                .sample_s = t->sample_s};
    memcpy(r.answer, ((const job *)t->context)->answer, sizeof r.answer);
    return write_all(STDOUT_FILENO, &r, sizeof r) &&
           write_all(STDOUT_FILENO, t->seconds, sizeof *t->seconds * (size_t)t->n) &&
           write_all(STDOUT_FILENO, t->waited, sizeof *t->waited * (size_t)t->n) &&
           write_all(STDOUT_FILENO, t->why.s, (size_t)r.why_bytes);
}

/* A hash of the names and models of the devices of all tasks. */
static uint64_t devices_number(const task *tasks, int n)
{
    uint64_t number = 14695981039346656037u; /* FNV-1a */
    ig_device_info d = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < ig_device_count(); k++) {
            if (ig_device_get(k, &d) != IG_OK ||
                strcmp(d.name, ((const job *)tasks[i].context)->device) != 0)
                continue;
            for (const char *c = d.model; c && *c; c++)
                number = (number ^ (unsigned char)*c) * 1099511628211u;
            for (const char *c = d.name; *c; c++)
                number = (number ^ (unsigned char)*c) * 1099511628211u;
        }
    return number;
}

int worker_serve(const runner *r, task *tasks, int n)
{
    order o;
    const hello h = {.jobs = n, .devices = devices_number(tasks, n)};
    bool fine = write_all(STDOUT_FILENO, &h, sizeof h);
    while (fine && read_all(STDIN_FILENO, &o, sizeof o) && o.number < n) {
        task *t = &tasks[o.number];
        task_free(t);
        *t = (task){.calls = t->calls,
                    .context = t->context,
                    .repeats = o.repeats,
                    .samples = o.samples,
                    .check_s = o.check_s,
                    .sample_s = o.sample_s,
                    .visit_s = o.visit_s,
                    .calm = o.calm};
        runner_visit(r, t, o.pass);
        fine = put_report(t);
    }
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

const worker worker_none = {.orders = {-1, -1}, .reports = {-1, -1}};

/* ---- in the parent ---------------------------------------------------------------------------- */

void worker_end(worker *w)
{
    close_both(w->orders); /* end of file: there are no more orders */
    while (w->pid && waitpid(w->pid, &w->status, 0) < 0 && errno == EINTR) {
    }
    close_both(w->reports);
    w->pid = 0;
}

/* Adds how the worker ended. */
static void put_end(const worker *w, str *why)
{
    if (WIFSIGNALED(w->status))
        str_printf(why, "its process was ended by signal %d (%s)", WTERMSIG(w->status),
                   strsignal(WTERMSIG(w->status)));
    else
        str_printf(why, "its process ended with exit code %d", WEXITSTATUS(w->status));
}

bool worker_begin(worker *w, char *const *argv, const task *tasks, int n, str *why)
{
    *w = worker_none;
    int problem = child_pipe(w->orders) && child_pipe(w->reports) ? 0 : errno;
    hello h = {.jobs = -1};
    const int files[] = {w->orders[0], w->reports[1], STDERR_FILENO};
    if (!problem)
        problem = child_spawn(&w->pid, argv, files);
    if (!problem) {
        close(w->reports[1]); /* so that we see the end of file when the worker ends */
        w->reports[1] = -1;
        read_all(w->reports[0], &h, sizeof h);
    }
    if (h.jobs == n && h.devices == devices_number(tasks, n))
        return true;
    worker_end(w);
    if (problem)
        str_puts(why, strerror(problem));
    else if (h.jobs < 0)
        put_end(w, why);
    else if (h.jobs == n)
        str_puts(
            why,
            "its devices of these names are others; compare 'ingot devices' in both environments");
    else
        str_printf(why, "it has %lld works instead of %d", (long long)h.jobs, n);
    return false;
}

static bool get_report(const worker *w, task *t, int pass)
{
    report r;
    char why[WHY_MOST];
    if (!read_all(w->reports[0], &r, sizeof r))
        return false;
    const size_t bytes = sizeof(double) * (size_t)r.n;
    double *seconds = heap_get(2 * bytes + 1);
    bool whole = read_all(w->reports[0], seconds, 2 * bytes) &&
                 read_all(w->reports[0], why, (size_t)r.why_bytes);
    for (int i = 0; i < r.n && whole; i++)
        task_keep(t, seconds[i], seconds[r.n + i], pass);
    free(seconds);
    if (!whole)
        return false;
    t->outcome = r.outcome;
    t->repeats = r.repeats;
    t->open_s = r.open_s;
    t->check_s = r.check_s;
    t->sample_s = r.sample_s;
    str_add(&t->why, why, (size_t)r.why_bytes);
    char *answer = ((job *)t->context)->answer;
    if (*r.answer && *answer && strcmp(r.answer, answer) != 0) {
        t->outcome = OUTCOME_WRONG;
        str_printf(&t->why, "its digest is %s, but was %s in another process", r.answer, answer);
    }
    if (*r.answer)
        memcpy(answer, r.answer, sizeof r.answer);
    return true;
}

void worker_visit(worker *w, int number, task *t, int pass)
{
    const order o = {.number = number,
                     .pass = pass,
                     .repeats = t->repeats,
                     .samples = t->samples,
                     .check_s = t->check_s,
                     .sample_s = t->sample_s,
                     .visit_s = t->visit_s,
                     .calm = t->calm};
    /* We hold both ends of this pipe, so that writing to an ended worker does not raise SIGPIPE. */
    if (write_all(w->orders[1], &o, sizeof o) && get_report(w, t, pass))
        return;
    if (interrupt_asked())
        kill(w->pid, SIGKILL);
    worker_end(w);
    t->outcome = OUTCOME_FAILED;
    put_end(w, &t->why);
}
