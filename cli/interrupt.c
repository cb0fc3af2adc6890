/* Ctrl-C: the first one asks, the second one ends. */
#include "progress.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t asked;

static void ask(int number)
{
    (void)number;
    asked = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void interrupt_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct sigaction now, ours;
        memset(&ours, 0, sizeof ours);
        ours.sa_handler = ask;
        ours.sa_flags = SA_RESTART;
        /* What was started with signals ignored, as nohup does it, goes on ignoring them. */
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
    }
}

bool interrupt_asked(void) { return asked != 0; }
