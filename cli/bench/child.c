/* Child processes. They are started with posix_spawn, which does not copy our page tables. */
#include "bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

enum { OUTPUT_MOST = 64 << 10 };
extern char **environ;

int child_spawn(pid_t *pid, char *const *argv, const int files[3])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    for (int i = 0; i < 3; i++)
        if (files[i] < 0)
            posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
        else if (files[i] != i)
            posix_spawn_file_actions_adddup2(&actions, files[i], i);
    int problem = posix_spawnp(pid, argv[0], &actions, &how, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    return problem;
}

bool child_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return true;
}

/* Reads to the end of the file, but keeps only the beginning. */
static void read_output(int from, str *out)
{
    char block[4096];
    for (ssize_t n; (n = read(from, block, sizeof block)) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0 && out->n + (size_t)n <= OUTPUT_MOST)
            str_add(out, block, (size_t)n);
}

int child_run(char *const *argv, bool show, str *out, str *why)
{
    int ends[2] = {-1, -1}, status = 0;
    pid_t pid;
    int problem = !out || child_pipe(ends) ? 0 : errno;
    const int files[] = {-1, out ? ends[1] : show ? STDOUT_FILENO : -1, show ? STDERR_FILENO : -1};
    if (!problem)
        problem = child_spawn(&pid, argv, files);
    if (ends[1] >= 0)
        close(ends[1]);
    if (!problem && out)
        read_output(ends[0], out);
    if (ends[0] >= 0)
        close(ends[0]);
    while (!problem && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (problem) {
        str_printf(why, "%s: %s", argv[0], strerror(problem));
        return -1;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

char *child_self(void)
{
    char path[4096];
#if defined(__APPLE__)
    uint32_t size = sizeof path;
    return _NSGetExecutablePath(path, &size) == 0 ? heap_string(path) : NULL;
#else
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = 0;
    return heap_string(path);
#endif
}

/* ---- commands of the user ------------------------------------------------------------------------- */

/* Copies the next word without its quotes to out. Returns NULL at the end. *open: a quote is not closed. */
static const char *next_word(const char *s, str *out, bool *open)
{
    char quote = 0;
    s += strspn(s, " \t\n");
    if (!*s)
        return NULL;
    str_puts(out, "");
    for (; *s && (quote || !strchr(" \t\n", *s)); s++) {
        if (*s == quote)
            quote = 0;
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else
            str_add(out, s, 1);
    }
    *open |= quote != 0;
    return s;
}

bool command_read(user_command *c, str *why)
{
    bool shell = strpbrk(c->text, "|&;<>()$`\\*?[]#~{}!") != NULL, open = false;
    int n = 0;
    c->words = heap_get(sizeof *c->words * (strlen(c->text) + 4));
    if (shell) {
        c->words[0] = heap_string("sh");
        c->words[1] = heap_string("-c");
        c->words[2] = heap_string(c->text);
        return true;
    }
    str word = {0};
    for (const char *s = c->text; (s = next_word(s, &word, &open)); word = (str){0})
        c->words[n++] = word.s;
    if (n && !open)
        return true;
    str_printf(why, "--cmd %s: %s", c->text, n ? "a quote is not closed" : "the command is empty");
    return false;
}

void command_free(user_command *c)
{
    for (char **word = c->words; word && *word; word++)
        free(*word);
    free(c->words);
}

static outcome command_open(void *context, str *why)
{
    (void)context;
    (void)why;
    return OUTCOME_FINE;
}

static outcome command_run(void *context, double *aside_s, str *why)
{
    const user_command *c = context;
    (void)aside_s;
    int code = child_run(c->words, c->show, NULL, why);
    if (code == 0)
        return OUTCOME_FINE;
    if (code > 0)
        str_printf(why, "it ended with exit code %d%s", code,
                   c->show ? "" : "; --show-output shows its output");
    return OUTCOME_FAILED;
}

static void command_close(void *context) { (void)context; }

const task_calls command_calls = {command_open, command_run, NULL, command_close};
