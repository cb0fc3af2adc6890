/* Access to the memory of buffers. While commands that write a buffer have not run, the host cannot read it, and while
 * commands that read it have not run, the host cannot write it. No access behind its end succeeds. Memory that the program
 * owns (newBufferWithBytesNoCopy) is not guarded: other things may be in its pages. */
#define _GNU_SOURCE
#include "sim.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sim_buffer *first;
static struct sigaction before;

void sim_guard_add(sim_buffer *b)
{
    b->next = first;
    first = b;
}

void sim_guard_remove(sim_buffer *b)
{
    sim_buffer **at = &first;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
}

void sim_guard_set(const sim_buffer *b, bool all)
{
    const int access = all || !(b->reads || b->writes) ? PROT_READ | PROT_WRITE : b->writes ? PROT_NONE : PROT_READ;
    if (b->owned)
        mprotect(b->map, b->mapped - SIM_PAGE, access);
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static void fault(int number, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    for (const sim_buffer *b = first; b; b = b->next) {
        if (at < b->map || at >= b->map + b->mapped)
            continue;
        say(at >= b->map + b->mapped - SIM_PAGE
                ? "metalsim: failed assertion: memory behind the end of a buffer is used\n"
                : "metalsim: failed assertion: the host uses a buffer before the commands that use it have completed\n");
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
    }
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        signal(number, before.sa_handler == SIG_IGN ? SIG_DFL : before.sa_handler);
}

__attribute__((constructor(102))) static void begin(void)
{
    struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    act.sa_sigaction = fault;
    sigaction(SIGSEGV, &act, &before);
}
