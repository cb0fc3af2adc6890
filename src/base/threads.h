/* The thread pool: one set of workers for the whole process, for loops whose tasks are independent.
 *
 * It is not determined which worker runs a task, nor the order of tasks. A caller must make its result
 * independent of both, so that results are the same for any number of threads.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* One task of a run. `task` is in [0, ntasks). `worker` is in [0, pool_threads()), and no two tasks
 * of one run have the same worker at the same time: use it to index scratch memory that belongs to
 * this run's ctx, and nothing that outlives or is shared between runs.
 *
 * A task must return: no longjmp, no pthread_exit. If it forks, the child must exec or exit without
 * returning from the task. */
typedef void (*pool_fn)(void *ctx, int64_t task, int worker);

/* Runs fn for every task and returns when all are done; the writes of the tasks are then visible to
 * the caller. The calling thread takes part as worker 0. Any thread may call this at any time:
 *   - With one task or one thread it is a plain loop: no lock, no wake-up.
 *   - Inside a task of a parallel run it is a plain loop too, with that task's worker number.
 *   - While another thread has the pool it is a plain loop too, as worker 0; it never waits.
 * Threads are started by the first run that needs them. If some cannot be started, the rest do the
 * work. Threads block all signals except faults such as SIGSEGV. */
void pool_run(int64_t ntasks, pool_fn fn, void *ctx);

/* The same, but when ig_cancel is called, tasks that have not begun may be left out. This holds only between
 * pool_watch(true) and pool_watch(false) of the calling thread. The code that watches must then fail and
 * discard the results. Not for tasks whose results are used as addresses. */
void pool_run_cancellable(int64_t ntasks, pool_fn fn, void *ctx);
void pool_watch(bool watch);
/* True if the calling thread watches. *since: work is cancelled once cancel_count() differs from it. */
bool pool_watches(uint32_t *since);

/* The maximum number of workers of a run, including the caller. */
int pool_threads(void);

/* Sets this number, from 1 to MACHINE_MAX_THREADS. 0 restores the default of machine_threads(); a negative
 * number changes nothing. Returns the number in force, which holds from the next run on. Must not be called
 * while another thread is between pool_threads() and its run: that run could get a worker number for which
 * it has no scratch memory. */
int pool_set_threads(int n);

#endif
