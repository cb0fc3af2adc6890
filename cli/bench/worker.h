/* Worker processes: a separate process measures each pass.
 *
 * Two processes of one program differ in memory pages, memory layout and the cores of their threads. Samples
 * of one process cannot show by how much, so each pass has its own process. A worker is this program with
 * the same options, and therefore with the same jobs. It reads orders from standard input, makes a visit for each,
 * and writes a report. */
#ifndef CLI_BENCH_WORKER_H
#define CLI_BENCH_WORKER_H

#include <sys/types.h>

#include "bench/works.h"

typedef struct worker {
    pid_t pid; /* 0: no worker runs */
    int orders[2], reports[2];
    int status; /* exit status of the last worker */
} worker;

extern const worker worker_none;

/* Starts the program with these arguments. Checks that it also has n jobs, on the same devices. Returns false with why
 * set. */
bool worker_begin(worker *w, char *const *argv, const task *tasks, int n, str *why);
/* Performs runner_visit in the worker for the task `number`, which must be a job. If the worker ends during the visit,
 * by a crash or by Ctrl-C, the task has failed and no worker runs. */
void worker_visit(worker *w, int number, task *t, int pass);
/* Ends the worker, if there is one. */
void worker_end(worker *w);

/* In the worker: executes orders until the end of file. Returns the exit code. */
int worker_serve(const runner *r, task *tasks, int n);

#endif
