/* Memory faults of kernels: SIGSEGV and SIGBUS while lane code runs become an error of the launch.
 *
 * If the program has its own handlers, ours replace them only while a launch runs. If it has none, ours stay after the
 * first launch, since reinstalling them would double the time of a small launch. They then forward every signal of a
 * thread that does not run lane code. A guarded thread leaves the handler by siglongjmp: lane loops hold no locks and
 * own no memory. */
#include "engine/backend/cpu/gang/guard.h"

#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

static const int numbers[] = {SIGSEGV, SIGBUS};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int launches; /* that are running now */
static bool installed;
static int64_t installed_ns; /* when that was last checked */
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

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}

static void install(void)
{
    struct sigaction ours, before;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handle;
    /* siglongjmp does not restore the signal mask, which saves a system call for each task. */
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < NUMBERS; i++)
        if (sigaction(numbers[i], &ours, &before) == 0 && !is_ours(&before))
            previous[i] = before;
    installed = true;
}

/* Handlers that the program has installed in the meantime stay. */
static void restore(void)
{
    struct sigaction now;
    for (int i = 0; i < NUMBERS; i++)
        if (sigaction(numbers[i], &previous[i], &now) == 0 && !is_ours(&now))
            sigaction(numbers[i], &now, NULL);
    installed = false;
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

void guard_begin(void)
{
    enum { CHECK_NS = 1000000 }; /* how long to trust that our handlers are still installed */
    pthread_mutex_lock(&lock);
    if (launches++ == 0) {
        const int64_t now = clock_ns();
        if (!installed || now - installed_ns > CHECK_NS) {
            install();
            installed_ns = now;
        }
    }
    pthread_mutex_unlock(&lock);
}

void guard_end(void)
{
    pthread_mutex_lock(&lock);
    if (--launches == 0 && !(is_default(&previous[0]) && is_default(&previous[1])))
        restore();
    pthread_mutex_unlock(&lock);
}

/* When the library is unloaded. */
__attribute__((destructor)) static void guard_unload(void)
{
    if (installed)
        restore();
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
