/* Work of a library that damaged input may crash or keep busy without an end: it is done in a child process, which can
 * only fail. */
#ifndef STORE_CHILD_H
#define STORE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs in the child, which has a copy of the memory and only this thread. It writes its results to `out`. */
typedef void (*child_work)(void *ctx, int out);

typedef struct child {
    pid_t process;
    int in; /* where its results are read */
    int seconds;
} child;

/* Starts a child that ends after `seconds` of processor time. False, with errno, if the system starts none. No lock that
 * the work takes may be held by another thread. */
bool child_start(child *c, child_work work, void *ctx, int seconds);
typedef enum child_end { CHILD_DONE, CHILD_CRASHED, CHILD_TOO_LONG } child_end;
/* Waits for the end of the child. *signal: the signal that ended it. */
child_end child_wait(child *c, int *signal);

#endif
