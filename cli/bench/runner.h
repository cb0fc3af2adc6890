/* Measures tasks in passes. Each pass visits all tasks in a random order and takes a few samples of each, so
 * that a disturbance of some seconds affects all tasks alike.
 *
 * A visit opens the task (which creates its inputs), checks its answer, warms up, takes samples, and closes
 * it. A sample is the mean of enough repetitions for the resolution of the clock. The caller provides the
 * clock and the tasks; tests provide their own. */
#ifndef CLI_BENCH_RUNNER_H
#define CLI_BENCH_RUNNER_H

#include "bench/stats.h"
#include "str.h"

typedef enum outcome {
    OUTCOME_FINE,
    OUTCOME_LEFT_OUT, /* the device cannot run it, or there is not enough memory or time */
    OUTCOME_WRONG,    /* the answer is wrong, so it has no time */
    OUTCOME_FAILED
} outcome;

/* The functions of a task. They set why unless the outcome is OUTCOME_FINE. */
typedef struct task_calls {
    outcome (*open)(void *context, str *why);
    /* One repetition. Adds to *aside_s the time that does not count. */
    outcome (*run)(void *context, double *aside_s, str *why);
    outcome (*check)(void *context, str *why); /* the task is open; may be NULL */
    void (*close)(void *context);              /* also after open failed */
} task_calls;

typedef struct task {
    const task_calls *calls;
    void *context;
    /* The result. Only OUTCOME_FINE has samples. */
    outcome outcome;
    str why;
    int repeats;
    int n, room;
    double *seconds; /* of one repetition, in the order of measurement */
    double *waited;  /* of each sample: the time that it waited for a core */
    int *round;
    /* Private to the runner: durations of the parts, and the plan. */
    double open_s, check_s, sample_s, visit_s;
    double calm;         /* stats_calm of the samples so far */
    int visits, samples; /* in all passes; in one visit */
} task;

typedef struct runner {
    double seconds;      /* to spend */
    double most_seconds; /* after which no visit begins; 0: the minimum of passes is always made */
    int least_passes, most_passes;
    uint64_t seed;                  /* of the random order */
    double (*clock)(void *context); /* seconds */
    bool (*interrupted)(void *context);
    /* watch begins to count the time that threads wait for a core (fresh: there may be new threads); waited
     * returns this time. NULL: unknown. */
    void (*watch)(void *context, bool fresh);
    double (*waited)(void *context);
    /* visit: t is next, and `share` of the whole is done. ended: the outcome of t is not fine. */
    void (*visit)(void *context, const task *t, double share);
    void (*ended)(void *context, const task *t);
    /* Performs runner_visit in another process; NULL: in this process. */
    void (*perform)(void *context, task *t, int pass);
    void *context;
} runner;

/* Measures all tasks whose outcome is fine. Returns false if interrupted; the samples so far are kept. */
bool runner_run(const runner *r, task *tasks, int n);
/* One visit: opens, checks, warms up, takes the samples of this pass, closes. */
void runner_visit(const runner *r, task *t, int pass);

/* Adds a sample: the time of a repetition, and how much of it was waiting for a core. */
void task_keep(task *t, double seconds, double waited, int pass);
void task_free(task *t);

/* A random order of 0 .. n - 1. */
void runner_shuffle(uint64_t *state, int *order, int n);

/* ---- warnings.c ---- */

/* Adds a line for each reason to doubt the samples. Returns how many. */
enum { WARNINGS_MOST = 4 };
int samples_warn(timings s, str warnings[WARNINGS_MOST]);

#endif
