/* Programs that are run and waited for: whole processes as works. */
#ifndef CLI_BENCH_CHILD_H
#define CLI_BENCH_CHILD_H

#include <sys/types.h>

#include "bench/runner.h"

/* Starts the program with these files as its standard input, output and error, /dev/null for those
 * below 0, and with no signal blocked. Returns 0 or the number of what went wrong. */
int child_spawn(pid_t *pid, char *const *argv, const int files[3]);
/* A pipe that children have only if they are given an end of it. False: errno says why. */
bool child_pipe(int ends[2]);

/* Runs the program and waits for its end. Its output goes to out (at most some KiB of it), or away if
 * out is NULL, or, with show, where ours goes. Standard input is empty. Returns the exit code, 128 + n
 * after signal n, or -1 with why set: it could not be started. */
int child_run(char *const *argv, bool show, str *out, str *why);

/* The path of this very program; NULL: unknown. Release with free. */
char *child_self(void);

/* A command line of the user's as a task. */
typedef struct user_command {
    const char *text;
    bool show; /* its output */
    char **words;
} user_command;

/* Cuts the text into words; with signs that are for a shell it becomes sh -c. False: why says what is
 * wrong with it. */
bool command_read(user_command *c, str *why);
void command_free(user_command *c);
extern const task_calls command_calls;

#endif
