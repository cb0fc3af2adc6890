/* Under a check: managed memory that the host touches after a launch which writes it, before a synchronization. The pages
 * of such memory have no access rights between the launch and the next call that may synchronize, so the host's access
 * faults; the handler notes it and gives the rights back. Only the calls that prepare and make launches keep the guards.
 * The host may access elements that no kernel changed: a copy of the memory before the first launch tells which. */
#include "lib/cudart/cudart.h"

#include "base/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { GUARDS_MOST = 32, NUMBERS = 2 };
static const int numbers[NUMBERS] = {SIGSEGV, SIGBUS};

typedef struct page_guard {
    char *at;
    size_t bytes; /* whole pages */
    char what[200], kernel[80];
    cudart_call_site launch;
    char *copy; /* the bytes before the launch */
    volatile sig_atomic_t touched;
} page_guard;

static struct {
    page_guard at[GUARDS_MOST];
    int n;
    bool on;
    struct sigaction before[NUMBERS];
} guards;

static void handle(int number, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    for (int i = 0; i < guards.n; i++) {
        page_guard *g = &guards.at[i];
        if (at >= g->at && at < g->at + g->bytes) {
            const size_t word = (size_t)(at - g->at) / 4 * 4;
            mprotect(g->at, g->bytes, PROT_READ | PROT_WRITE);
            g->touched = memcmp(g->at + word, g->copy + word, 4) != 0;
            return;
        }
    }
    const struct sigaction *before = &guards.before[number == SIGSEGV ? 0 : 1];
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(number);
    else
        sigaction(number, before, NULL); /* the instruction faults again */
}

void cudart_early_add(const void *at, const char *kernel, cudart_call_site launch)
{
    page_guard *g = &guards.at[guards.n];
    for (int i = 0; i < guards.n; i++)
        if (guards.at[i].at <= (const char *)at &&
            (const char *)at < guards.at[i].at + guards.at[i].bytes)
            return;
    if (guards.n == GUARDS_MOST ||
        !cudart_memory_managed(at, &g->at, &g->bytes, g->what, sizeof g->what))
        return;
    g->copy = memory_new(g->bytes);
    if (!g->copy)
        return;
    memcpy(g->copy, g->at, g->bytes);
    snprintf(g->kernel, sizeof g->kernel, "%s", kernel);
    g->launch = launch;
    g->touched = 0;
    guards.n++;
}

void cudart_early_on(void)
{
    struct sigaction ours;
    if (!guards.n || guards.on)
        return;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &ours, &guards.before[i]);
    for (int i = 0; i < guards.n; i++)
        mprotect(guards.at[i].at, guards.at[i].bytes, PROT_NONE);
    guards.on = true;
}

void cudart_early_off(void)
{
    int kept = 0;
    if (!guards.on)
        return;
    guards.on = false;
    for (int i = 0; i < guards.n; i++)
        mprotect(guards.at[i].at, guards.at[i].bytes, PROT_READ | PROT_WRITE);
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &guards.before[i], NULL);
    for (int i = 0; i < guards.n; i++) {
        const page_guard *g = &guards.at[i];
        if (g->touched) {
            cudart_watch_report("early access", false, g->launch,
                                "the host accesses %s after the launch of kernel '%s', which "
                                "writes it, without a synchronization; call "
                                "cudaDeviceSynchronize() before",
                                g->what, g->kernel);
            memory_free(g->copy);
        } else {
            guards.at[kept++] = *g;
        }
    }
    guards.n = kept;
}

void cudart_early_forget(void)
{
    for (int i = 0; i < guards.n; i++)
        memory_free(guards.at[i].copy);
    guards.n = 0;
}
