/* Child processes: see process.h. */
#include "cuda/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGALRM};
enum {
    NUMBERS = sizeof numbers / sizeof *numbers,
    PATIENCE_S = 5 /* a child that does not end this long after its signal is killed */
};

static struct sigaction before[NUMBERS];
static volatile sig_atomic_t received; /* the signal that ends this process, or 0 */
static volatile pid_t running;         /* the child, or 0 */
static volatile sig_atomic_t running_in_own_group;

bool process_interrupted(void) { return received && received != SIGPIPE; }

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int kept_errno = errno;
    const bool from_terminal = info && info->si_code > 0 && (number == SIGINT || number == SIGQUIT);
    if (number == SIGPIPE || number == SIGXFSZ) { /* the failed write returns an error */
        received = received || number == SIGXFSZ ? received : number;
    } else if (!(running && !running_in_own_group && from_terminal)) {
        const bool again = process_interrupted();
        if (running) {
            kill(running_in_own_group ? -running : running, again ? SIGKILL : number);
            alarm(PATIENCE_S);
        }
        if (!again)
            received = number;
    }
    errno = kept_errno;
}

void process_guard_begin(void)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    received = 0;
    for (int i = 0; i < NUMBERS; i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* nohup */
            sigaction(numbers[i], &ours, NULL);
    }
}

void process_guard_end(void)
{
    alarm(0);
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &before[i], NULL);
    if (received) {
        fflush(stdout);
        signal(received, SIG_DFL);
        raise(received);
    }
}

static _Noreturn void run_in_child(const process *c, const sigset_t *mask)
{
    if (c->own_group)
        setpgid(0, 0);
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &before[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (!c->prepare || c->prepare(c->context))
        execv(c->path, c->argv);
    text_printf(stderr, "ingot run: cannot run '%s': %s\n", c->path, strerror(errno));
    _exit(126);
}

int process_run(const process *c)
{
    sigset_t all, mask;
    int status = 0;
    fflush(stdout);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* until `running` is set */
    const int ended_by = received;
    const pid_t started = ended_by ? -1 : fork();
    if (started == 0)
        run_in_child(c, &mask);
    if (started > 0) {
        if (c->own_group)
            setpgid(started, started); /* in both processes, since either may run first */
        running_in_own_group = c->own_group;
        running = started;
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (started < 0)
        return ended_by ? PROCESS_SIGNAL_CODE + ended_by : -1;
    while (waitpid(started, &status, 0) < 0 && errno == EINTR)
        ;
    running = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : PROCESS_SIGNAL_CODE + WTERMSIG(status);
}
