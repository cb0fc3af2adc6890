/* Programs: the table of kinds, which slots a program uses, release. */
#include "engine/program/program.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

const program_kind_row program_kinds[PROGRAM_KINDS] = {
    /* clang-format off */
    /*                    name         core_inputs  core_output  has_epilogue  may_fail */
    [PROGRAM_MAP]       = {"map",       0,          false,       true,         false},
    [PROGRAM_REDUCE]    = {"reduce",    0,          false,       true,         false},
    [PROGRAM_ARGREDUCE] = {"argreduce", 0,          false,       true,         false},
    [PROGRAM_CONTRACT]  = {"contract",  2,          false,       true,         false},
    [PROGRAM_KERNEL]    = {"kernel",    0,          false,       false,        true},
    [PROGRAM_SCAN]      = {"scan",      1,          true,        false,        false},
    [PROGRAM_SORT]      = {"sort",      1,          true,        false,        false},
    [PROGRAM_ARGSORT]   = {"argsort",   1,          true,        false,        false},
    [PROGRAM_SEARCH]    = {"search",    2,          true,        false,        false},
    [PROGRAM_WRITE]     = {"write",     2,          true,        false,        true},
    /* clang-format on */
};

static void tape_free(tape *t)
{
    memory_free(t->inst);
    memory_free(t->operand);
    *t = (tape){0};
}

void program_free_parts(program *p)
{
    tape_free(&p->pre);
    tape_free(&p->post);
    memory_free(p->local);
    memory_free(p->label);
    memory_free(p->on_cpu);
    node_kernel_release(p->kernel);
    p->kernel = NULL;
    p->local = NULL;
    p->label = NULL;
    p->on_cpu = NULL;
}

int program_core_slots(const program *p, int slots[static 3])
{
    const program_kind_row *k = &program_kinds[p->kind];
    int n = 0;
    for (int i = 0; i < k->core_inputs; i++)
        slots[n++] = p->in[i].slot;
    if (k->core_output)
        slots[n++] = p->out.slot;
    return n;
}

bool program_core_touches(const program *p, int slot)
{
    int core[3];
    bool touches = false;
    for (int k = program_core_slots(p, core) - 1; k >= 0; k--)
        touches = touches || core[k] == slot;
    return touches;
}

bool tape_touches(const tape *t, int slot)
{
    for (int i = 0; i < t->n_operand; i++)
        if (t->operand[i].slot == slot)
            return true;
    return false;
}

bool program_touches(const program *p, int slot)
{
    return tape_touches(&p->pre, slot) || tape_touches(&p->post, slot) ||
           program_core_touches(p, slot);
}

/* True if an instruction of the tape uses the slot: a store if `stores`, otherwise any other instruction. */
static bool tape_uses(const tape *t, int slot, bool stores)
{
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *in = &t->inst[i];
        if (in->operand >= 0 && (in->code == TAPE_STORE) == stores &&
            t->operand[in->operand].slot == slot)
            return true;
    }
    return false;
}

bool program_reads(const program *p, int slot)
{
    if (p->kind == PROGRAM_KERNEL)
        return tape_touches(&p->pre, slot);
    bool reads = tape_uses(&p->pre, slot, false) || tape_uses(&p->post, slot, false);
    for (int k = 0; k < program_kinds[p->kind].core_inputs; k++)
        reads = reads || p->in[k].slot == slot;
    return reads;
}

bool program_writes(const program *p, int slot)
{
    if (p->kind == PROGRAM_KERNEL)
        return tape_touches(&p->post, slot);
    return tape_uses(&p->pre, slot, true) || tape_uses(&p->post, slot, true) ||
           (program_kinds[p->kind].core_output && p->out.slot == slot);
}

bool tape_needs_after(const tape *t, int load, int k)
{
    const int r = t->inst[load].dst;
    for (int i = load + 1; i < t->n_inst && load <= k; i++) {
        const tape_inst *in = &t->inst[i];
        if (i > k && (in->a == r || in->b == r || in->c == r))
            return true;
        if (in->code != TAPE_STORE && in->dst == r)
            return false;
    }
    return load > k || r == t->result;
}

#ifdef CHECK_SCHEDULES
enum { CHECKS_BY_DEFAULT = 1 };
#else
enum { CHECKS_BY_DEFAULT = 0 };
#endif

bool program_checks(void)
{
    static atomic_int known = -1;
    int checks = atomic_load_explicit(&known, memory_order_relaxed);
    if (checks < 0) {
        const char *asked = getenv("IG_CHECK_SCHEDULE");
        checks = asked && *asked ? *asked != '0' : CHECKS_BY_DEFAULT;
        atomic_store_explicit(&known, checks, memory_order_relaxed);
    }
    return checks;
}
