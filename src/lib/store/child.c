/* Child processes: see child.h. */
#include "lib/store/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals of crashes end the child, without a core file and without a handler of the program, which would print. */
static void limit(int seconds)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU};
    struct rlimit cpu, core = {0, 0};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_CORE, &core);
    if (getrlimit(RLIMIT_CPU, &cpu) == 0 && cpu.rlim_cur > (rlim_t)seconds) {
        cpu.rlim_cur = (rlim_t)seconds;
        setrlimit(RLIMIT_CPU, &cpu);
    }
}

bool child_start(child *c, child_work work, void *ctx, int seconds)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    *c = (child){.process = fork(), .in = ends[0], .seconds = seconds};
    if (c->process == 0) {
        close(ends[0]);
        limit(seconds);
        work(ctx, ends[1]);
        _exit(0);
    }
    const int error = errno;
    close(ends[1]);
    if (c->process > 0)
        return true;
    close(ends[0]);
    errno = error;
    return false;
}

child_end child_wait(child *c, int *signal)
{
    int status = 0;
    close(c->in);
    *signal = 0;
    while (waitpid(c->process, &status, 0) < 0)
        if (errno != EINTR)
            return CHILD_DONE; /* a handler of the program has waited for it */
    if (!WIFSIGNALED(status))
        return CHILD_DONE;
    *signal = WTERMSIG(status);
    return *signal == SIGXCPU ? CHILD_TOO_LONG : CHILD_CRASHED;
}
