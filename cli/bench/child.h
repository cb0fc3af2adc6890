/* Child processes: programs that are started and waited for, and commands of the user as tasks. */
#ifndef CLI_BENCH_CHILD_H
#define CLI_BENCH_CHILD_H

#include <sys/types.h>

#include "bench/runner.h"

/* Starts the program with these files as its standard input, output and error, and with no signal blocked. A negative
 * file means /dev/null. Returns 0 or an errno value. */
int child_spawn(pid_t *pid, char *const *argv, const int files[3]);
/* A pipe that children do not inherit, unless they get an end of it explicitly. Returns false with errno set. */
bool child_pipe(int ends[2]);

/* Runs the program and waits for its end. With show, its output goes where ours goes. Otherwise the first KiB go to
 * out, or nowhere if out is NULL. Standard input is empty. Returns the exit code, 128 + n after signal n, or -1 with
 * why set if the program could not be started. */
int child_run(char *const *argv, bool show, str *out, str *why);

/* The path of this program, or NULL if it is unknown. Release with free. */
char *child_self(void);

/* A command line of the user as a task. */
typedef struct user_command {
    const char *text;
    bool show; /* pass its output through */
    char **words;
} user_command;

/* Splits the text into words. Text with shell metacharacters becomes sh -c. Returns false with why set if
 * the text is invalid. */
bool command_read(user_command *c, str *why);
void command_free(user_command *c);
extern const task_calls command_calls;

#endif
