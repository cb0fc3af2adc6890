/* Ctrl-C: the first one asks to stop, the second one ends the process.
 *
 * While a timeline is recorded, the signals are blocked and a separate thread waits for them, because a signal
 * handler cannot write a file. */
#include "cli.h"
#include "progress.h"

#include <ingot.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM};
static volatile sig_atomic_t asked, cancels;
static atomic_bool watched;
static bool traced;
static void (*_Atomic diverted)(int number);

static void note(void)
{
    asked = 1;
    if (cancels)
        ig_cancel_all();
}

static void ask(int number)
{
    (void)number;
    note();
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* A process that was started with signals ignored, as by nohup, keeps ignoring them. */
static bool is_ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_IGN;
}

void interrupt_watch(void)
{
    atomic_store(&watched, true);
    for (int i = 0; i < 2; i++) {
        struct sigaction ours;
        memset(&ours, 0, sizeof ours);
        ours.sa_handler = ask;
        ours.sa_flags = SA_RESTART;
        if (!is_ignored(numbers[i]))
            sigaction(numbers[i], &ours, NULL);
    }
}

void interrupt_cancel(void)
{
    cancels = 1;
    interrupt_watch();
}

void interrupt_divert(void (*handler)(int number))
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = handler;
    ours.sa_flags = SA_RESTART;
    atomic_store(&diverted, handler);
    sigaction(SIGINT, &ours, NULL);
}

bool interrupt_asked(void) { return asked != 0; }

static void *wait_for_signals(void *set)
{
    int number;
    while (sigwait(set, &number) == 0) {
        void (*handler)(int) = atomic_load(&diverted);
        if (handler && number == SIGINT) {
            handler(number);
        } else if (atomic_load(&watched) && !asked) {
            note();
        } else {
            ig_trace_end();
            _exit(EXIT_INTERRUPTED);
        }
    }
    return NULL;
}

void interrupt_trace(void)
{
    static sigset_t set;
    pthread_t thread;
    traced = true;
    sigemptyset(&set);
    for (int i = 0; i < 2; i++)
        if (!is_ignored(numbers[i]))
            sigaddset(&set, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, wait_for_signals, &set) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

bool interrupt_traced(void) { return traced; }
