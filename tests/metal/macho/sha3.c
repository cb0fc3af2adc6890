/* The compiler uses instructions of SHA3 for Apple's processors, also in loops that only combine bits. Processors without them
 * stop there with SIGILL, and the handler does what the instruction would. */
#define _GNU_SOURCE
#include "macho.h"

#include <asm/sigcontext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

typedef unsigned __int128 lanes;

/* The vector registers that a handler's return restores. */
static struct fpsimd_context *registers(ucontext_t *u)
{
    char *at = (char *)u->uc_mcontext.__reserved;
    for (;;) {
        const struct _aarch64_ctx *head = (const struct _aarch64_ctx *)at;
        if (head->magic == FPSIMD_MAGIC)
            return (struct fpsimd_context *)at;
        if (head->size == 0)
            return NULL;
        at += head->size;
    }
}

static void step(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    struct fpsimd_context *r = registers(u);
    uint32_t word;
    memcpy(&word, (const void *)u->uc_mcontext.pc, sizeof word);
    const bool eor3 = (word & 0xffe08000u) == 0xce000000u, bcax = (word & 0xffe08000u) == 0xce200000u;
    (void)info;
    if (!r || !(eor3 || bcax)) {
        signal(number, SIG_DFL); /* the instruction stops the program again */
        return;
    }
    const lanes n = r->vregs[word >> 5 & 31], m = r->vregs[word >> 16 & 31], a = r->vregs[word >> 10 & 31];
    r->vregs[word & 31] = eor3 ? n ^ m ^ a : n ^ (m & ~a);
    u->uc_mcontext.pc += sizeof word;
}

void sha3_begin(void)
{
    const struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
}
