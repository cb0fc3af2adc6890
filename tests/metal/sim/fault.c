/* Failures on request. Messages that can fail are counted; METALSIM_FAIL_AT names the one that does. The same for
 * command buffers with METALSIM_FAIL_BUFFER. */
#include "sim.h"

static int64_t messages, buffers;

static id answer_nil(void) { return NULL; }

static id answer_no_init(id self)
{
    sim_release(self);
    return NULL;
}

/* The error is the last of the arguments behind self and the selector: the third (newLibraryWithSource:options:error:)
 * or the second (newComputePipelineStateWithFunction:error:). */
static id answer_error2(id self, SEL s, id a, id *error)
{
    (void)self, (void)a;
    if (error)
        *error = sim_error(1, s);
    return NULL;
}

static id answer_error3(id self, SEL s, id a, id b, id *error)
{
    (void)b;
    return answer_error2(self, s, a, error);
}

static int colons(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += *s == ':';
    return n;
}

void (*sim_fault(const sim_method *m))(void)
{
    if (++messages != sim_setting(SIM_FAIL_AT))
        return NULL;
    if (m->fails == AS_NIL)
        return (void (*)(void))answer_nil;
    if (m->fails == AS_NO_INIT)
        return (void (*)(void))answer_no_init;
    return colons(m->name) == 3 ? (void (*)(void))answer_error3 : (void (*)(void))answer_error2;
}

bool sim_fault_buffer(void) { return ++buffers == sim_setting(SIM_FAIL_BUFFER); }

__attribute__((destructor)) static void end(void)
{
    if (sim_setting(SIM_COUNT))
        fprintf(stderr, "metalsim: %lld messages can fail, %lld command buffers\n", (long long)messages,
                (long long)buffers);
}
