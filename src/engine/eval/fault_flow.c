/* Dependencies of results on leaves and on programs that may report faults; see fault_flow.h. */
#include "engine/eval/fault_flow.h"

#include "base/memory.h"
#include "engine/eval/emitted_program.h"

#include <string.h>

/* Sets record[i] to 0 for each program that may report a fault: programs whose kernels have a record, and loops, whose steps
 * may have such programs. */
static void find_faults(const schedule *s, fault_flow *f)
{
    for (int i = 0; i < s->n_program; i += s->program[i].chain) {
        const program *p = &s->program[i];
        if (p->on_cpu)
            continue;
        if (program_is_custom(p)) {
            f->record[i] = 0;
            continue;
        }
        const emitted *e = &((const emitted_program *)p->compiled)->e;
        for (int k = 0; k < e->n_step; k++)
            for (int r = 0; r < e->step[k].n_record; r++)
                f->record[i + e->step[k].record[r].program] = 0;
    }
    for (int i = 0; i < s->n_program; i++)
        f->n_fault += f->record[i] == 0;
}

fault_flow *fault_flow_of(schedule *s)
{
    if (s->flow)
        return s->flow;
    fault_flow *f = memory_new(sizeof *f);
    int *record = memory_get((size_t)(s->n_program + 1) * sizeof *record);
    if (!f || !record) {
        memory_free(record);
        memory_free(f);
        return NULL;
    }
    f->record = record;
    for (int i = 0; i < s->n_program; i++)
        record[i] = -1;
    find_faults(s, f);
    while (f->n_leaf < s->n_slot && s->slot[f->n_leaf].kind == SLOT_LEAF)
        f->n_leaf++;
    return s->flow = f;
}

void fault_flow_free(fault_flow *f)
{
    if (!f)
        return;
    memory_free(f->record);
    memory_free(f->reach);
    memory_free(f);
}

/* ---- reach ---- */

enum { BITS = 64 };

static void set_add(uint64_t *to, const uint64_t *from, int words)
{
    for (int w = 0; w < words; w++)
        to[w] |= from[w];
}

/* Finds what a tape's registers depend on, and adds it to the slots that it stores. `core`: what the core's value depends
 * on; `own`: the program's bit, which an index gives. Registers have `words` words each. */
static void pass_tape(const tape *t, const fault_flow *f, const uint64_t *core, int own,
                      uint64_t *registers)
{
    memset(registers, 0, (size_t)t->n_reg * (size_t)f->words * sizeof *registers);
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *in = &t->inst[i];
        const int16_t from[] = {in->a, in->b, in->c};
        uint64_t *of_slot =
            in->operand >= 0 ? fault_flow_reach(f, t->operand[in->operand].slot) : NULL;
        uint64_t *to = in->code == TAPE_STORE ? of_slot : registers + in->dst * f->words;
        for (int k = 0; k < 3; k++)
            if (from[k] >= 0)
                set_add(to, registers + from[k] * f->words, f->words);
        if (of_slot && of_slot != to)
            set_add(to, of_slot, f->words);
        if (in->code == TAPE_CORE)
            set_add(to, core, f->words);
        if (own >= 0 && (in->code == TAPE_READ || (in->code == TAPE_UNPACK && in->a >= 0)))
            to[own / BITS] |= (uint64_t)1 << own % BITS;
    }
}

/* Adds what the slots of a kernel's inputs depend on to the slots of its results. */
static void pass_kernel(const program *p, const fault_flow *f, uint64_t *core)
{
    for (int i = 0; i < p->pre.n_operand; i++)
        set_add(core, fault_flow_reach(f, p->pre.operand[i].slot), f->words);
    for (int i = 0; i < p->post.n_operand; i++)
        set_add(fault_flow_reach(f, p->post.operand[i].slot), core, f->words);
}

/* own: the bit of the program, or -1. `room` holds the core's set and then the registers. */
static void pass(const program *p, const fault_flow *f, int own, uint64_t *room)
{
    const program_kind_row *kind = &program_kinds[p->kind];
    uint64_t *core = room, *registers = room + f->words;
    memset(core, 0, (size_t)f->words * sizeof *core);
    if (own >= 0 && (p->kind == PROGRAM_KERNEL || p->kind == PROGRAM_WRITE))
        core[own / BITS] |= (uint64_t)1 << own % BITS;
    if (p->kind == PROGRAM_KERNEL) {
        pass_kernel(p, f, core);
        return;
    }
    pass_tape(&p->pre, f, core, own, registers);
    if (p->pre.result >= 0)
        set_add(core, registers + p->pre.result * f->words, f->words);
    for (int k = 0; k < kind->core_inputs; k++)
        set_add(core, fault_flow_reach(f, p->in[k].slot), f->words);
    if (kind->core_output)
        set_add(fault_flow_reach(f, p->out.slot), core, f->words);
    pass_tape(&p->post, f, core, own, registers);
}

ig_status fault_flow_find(const schedule *s, fault_flow *f)
{
    int most = 0; /* registers of a tape */
    if (f->reach)
        return IG_OK;
    for (int i = 0; i < s->n_program; i++) {
        const program *p = &s->program[i];
        most = p->pre.n_reg > most ? p->pre.n_reg : most;
        most = p->post.n_reg > most ? p->post.n_reg : most;
    }
    f->words = (f->n_leaf + f->n_fault + BITS - 1) / BITS + 1;
    uint64_t *room = memory_get((size_t)(most + 1) * (size_t)f->words * sizeof *room);
    f->reach = room ? memory_new((size_t)s->n_slot * (size_t)f->words * sizeof *f->reach) : NULL;
    for (int i = 0; f->reach && i < f->n_leaf; i++)
        fault_flow_reach(f, i)[i / BITS] |= (uint64_t)1 << i % BITS;
    for (int i = 0, own = f->n_leaf; f->reach && i < s->n_program; i++)
        pass(&s->program[i], f, f->record[i] >= 0 ? own++ : -1, room);
    memory_free(room);
    return f->reach ? IG_OK : IG_ERR_MEMORY;
}
