/* Processes that measure for us: each pass over all jobs has one of its own.
 *
 * Two processes of one program differ, by the pages and the layout of their memory and the cores of their
 * threads, and no number of samples in one of them can tell by how much. So the passes of a run are made
 * by as many processes. A worker is this program again, with the same options, hence the same jobs: it
 * reads orders from its standard input, makes a visit for each, and writes a report of it. */
#ifndef CLI_BENCH_WORKER_H
#define CLI_BENCH_WORKER_H

#include <sys/types.h>

#include "bench/works.h"

typedef struct worker {
    pid_t pid; /* 0: there is none */
    int orders[2], reports[2];
    int status; /* of the last one that ended */
} worker;

extern const worker worker_none;

/* Starts the program with these words, and hears from it that it has n jobs too. False: why says what is
 * in the way. */
bool worker_begin(worker *w, char *const *argv, int n, str *why);
/* What runner_visit does, in the worker: t is the number-th of all tasks, and a job. A worker that ends
 * meanwhile, by a crash or by Ctrl-C, makes it a task that failed, and is no more. */
void worker_visit(worker *w, int number, task *t, int pass);
/* Lets it end, if there is one. */
void worker_end(worker *w);

/* In the worker: does what it is told until nothing comes any more. Returns the exit code. */
int worker_serve(const runner *r, task *tasks, int n);

#endif
