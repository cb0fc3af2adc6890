/* Memory faults of kernels: SIGSEGV and SIGBUS while lane code runs become an error of the launch.
 *
 * The handlers are installed while at least one launch runs; the previous handlers are restored
 * after the last. A signal on a thread that does not run lane code goes to the previous handler. A
 * guarded thread leaves the handler by siglongjmp: lane loops hold no locks and own no memory. */
#include "backend/cpu/gang/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

static const int numbers[] = {SIGSEGV, SIGBUS};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int launches; /* that run now */
static struct sigaction previous[NUMBERS];

/* Where the thread continues after a fault; NULL if it does not run lane code. */
static _Thread_local sigjmp_buf *volatile resume;
static _Thread_local volatile uint64_t fault_address;

/* Calls the previous handler. If that was the default action, reinstalls it: the instruction faults
 * again when this handler returns. */
static void forward(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &previous[number == SIGSEGV ? 0 : 1];
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(number);
    else
        sigaction(number, before, NULL);
}

static void handle(int number, siginfo_t *info, void *context)
{
    sigjmp_buf *to = resume;
    /* si_code <= 0: another process or thread sent it. */
    if (!to || info->si_code <= 0) {
        forward(number, info, context);
        return;
    }
    resume = NULL;
    fault_address = (uint64_t)(uintptr_t)info->si_addr;
    siglongjmp(*to, 1);
}

void guard_begin(void)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handle;
    /* siglongjmp does not restore the signal mask, which saves a system call for each task. */
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&lock);
    if (launches++ == 0)
        for (int i = 0; i < NUMBERS; i++)
            sigaction(numbers[i], &ours, &previous[i]);
    pthread_mutex_unlock(&lock);
}

void guard_end(void)
{
    pthread_mutex_lock(&lock);
    if (--launches == 0)
        for (int i = 0; i < NUMBERS; i++) {
            struct sigaction now;
            sigaction(numbers[i], &previous[i], &now);
            /* A handler that was installed during the launch stays. */
            if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != handle)
                sigaction(numbers[i], &now, NULL);
        }
    pthread_mutex_unlock(&lock);
}

bool guard_run(void (*fn)(void *context), void *context, uint64_t *address)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0)) {
        *address = fault_address;
        return false;
    }
    resume = &here;
    fn(context);
    resume = NULL;
    return true;
}
