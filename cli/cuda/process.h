/* The processes that `ingot run` starts, and the signals that end it.
 *
 * Between process_guard_begin and process_guard_end, SIGINT, SIGTERM, SIGHUP, SIGPIPE and SIGXFSZ do not end
 * this process. The first three are passed on to the child. If the child does not end within some seconds, it
 * is killed. The caller then removes its temporary files. */
#ifndef CLI_CUDA_PROCESS_H
#define CLI_CUDA_PROCESS_H

#include "str.h"

enum {
    PROCESS_SIGNAL_CODE = 128
}; /* exit code of a process that a signal ended, minus the signal's number */

typedef struct process {
    const char *path;
    char *const *argv;
    /* Puts the child and its own children into a process group, so that a signal ends all of them. Otherwise
     * the child stays in the terminal's group, and Ctrl-C is left to the child. */
    bool own_group;
    /* Runs in the child before exec; false with errno set if it failed. May be NULL. */
    bool (*prepare)(const void *context);
    const void *context;
} process;

void process_guard_begin(void);
/* Restores the signals. If one arrived in the meantime, this process ends with that signal. */
void process_guard_end(void);
/* True if a signal asked this process to end. */
bool process_interrupted(void);

/* Runs the child to its end. Returns its exit code, or -1 with errno set if it could not be started. */
int process_run(const process *c);

#endif
