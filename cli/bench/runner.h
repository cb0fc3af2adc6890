/* Measures tasks with care: in passes that visit all of them in random order, with few samples in
 * each, so that what disturbs the machine for a while falls on all alike.
 *
 * A visit opens the task (inputs are made anew), checks its answer, warms up, samples, and closes.
 * A sample is the mean of so many repetitions that it lasts long enough for the clock. Clock and
 * tasks are the caller's, so that tests bring their own. */
#ifndef CLI_BENCH_RUNNER_H
#define CLI_BENCH_RUNNER_H

#include "bench/stats.h"
#include "str.h"

typedef enum outcome {
    OUTCOME_FINE,
    OUTCOME_LEFT_OUT, /* it does not fit here: the device cannot do it, memory or time are too short */
    OUTCOME_WRONG,    /* the answer is not the right one: there is no time of it */
    OUTCOME_FAILED
} outcome;

/* What a task does; all but a fine outcome say why. */
typedef struct task_calls {
    outcome (*open)(void *context, str *why);
    /* One repetition. Adds to *aside_s what is not to be counted of the time it took. */
    outcome (*run)(void *context, double *aside_s, str *why);
    outcome (*check)(void *context, str *why); /* of an open task; may be NULL */
    void (*close)(void *context);              /* also after open failed */
} task_calls;

typedef struct task {
    const task_calls *calls;
    void *context;
    /* What came out. Whatever is not fine has no samples. */
    outcome outcome;
    str why;
    int repeats;
    int n, room;
    double *seconds; /* of one repetition, in the order in which they were measured */
    double *waited;  /* of these: for a core */
    int *round;
    /* The runner's own: how long its parts take, what is planned. */
    double open_s, check_s, sample_s, visit_s;
    double calm;         /* stats_calm of the samples until now */
    int visits, samples; /* in all passes; in one visit */
} task;

typedef struct runner {
    double seconds;      /* to spend */
    double most_seconds; /* after which nothing is begun; 0: the least passes are made */
    int least_passes, most_passes;
    uint64_t seed;                  /* of the order */
    double (*clock)(void *context); /* seconds */
    bool (*interrupted)(void *context);
    /* Begins to count how long a core is waited for, with fresh: by threads that may be new; and tells.
     * NULL: unknown. */
    void (*watch)(void *context, bool fresh);
    double (*waited)(void *context);
    /* About to visit t, after share of all work; or, done: t ended otherwise than fine. */
    void (*visit)(void *context, const task *t, double share);
    void (*ended)(void *context, const task *t);
    /* Does what runner_visit does, in another process; NULL: all visits are made in this one. */
    void (*perform)(void *context, task *t, int pass);
    void *context;
} runner;

/* Measures all tasks whose outcome is fine; returns false if it was interrupted: what was measured until
 * then is there. */
bool runner_run(const runner *r, task *tasks, int n);
/* One visit: opens, checks, warms up, takes the samples of this pass, closes. */
void runner_visit(const runner *r, task *t, int pass);

/* One sample more: the time of a repetition, and how much of it a core was waited for. */
void task_keep(task *t, double seconds, double waited, int pass);
void task_free(task *t);

/* A random order of 0 .. n - 1. */
void runner_shuffle(uint64_t *state, int *order, int n);

/* ---- warnings.c ---- */

/* Adds one line for each thing that makes the samples doubtful; returns how many. */
enum { WARNINGS_MOST = 4 };
int samples_warn(timings s, str warnings[WARNINGS_MOST]);

#endif
