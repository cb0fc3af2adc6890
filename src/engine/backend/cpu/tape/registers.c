/* Registers: values whose live ranges do not overlap share a register, so that blocks stay in the cache. Before that,
 * roundings that stores repeat are removed. */
#include "engine/backend/cpu/cpu.h"

#include "base/memory.h"

/* A value is identified by the number of the instruction that makes it. */
typedef struct live_ranges {
    int *last;  /* of each value: the last instruction that reads it; -1: it is not read */
    int *reg;   /* of each value: its register */
    int *value; /* of each register of the tape: the value in it now */
    int *spare; /* registers whose values are dead */
    int n_spare, n_reg;
} live_ranges;

static void find_last_uses(const tape *t, const live_ranges *l)
{
    for (int k = 0; k < t->n_inst; k++) {
        const tape_inst *in = &t->inst[k];
        const int use[3] = {in->a, in->b, in->c};
        for (int i = 0; i < 3; i++)
            if (use[i] >= 0)
                l->last[l->value[use[i]]] = k;
        l->last[k] = -1;
        if (in->code != TAPE_STORE && in->dst >= 0)
            l->value[in->dst] = k;
    }
    if (t->result >= 0)
        l->last[l->value[t->result]] = t->n_inst;
}

/* The value's register is free if no instruction after k reads it. */
static void retire(live_ranges *l, int value, int k)
{
    if (l->last[value] > k)
        return;
    l->spare[l->n_spare++] = l->reg[value];
    l->last[value] = INT32_MAX; /* an instruction may read it twice */
}

/* A result never takes the register of an operand of the same instruction, so loops may assume that they do not
 * overlap. */
static void assign(tape *t, live_ranges *l)
{
    for (int k = 0; k < t->n_inst; k++) {
        tape_inst *in = &t->inst[k];
        int16_t *use[3] = {&in->a, &in->b, &in->c};
        int value[3];
        const bool makes = in->code != TAPE_STORE && in->dst >= 0;
        for (int i = 0; i < 3; i++) {
            value[i] = *use[i] < 0 ? -1 : l->value[*use[i]];
            *use[i] = value[i] < 0 ? -1 : (int16_t)l->reg[value[i]];
        }
        if (makes) {
            l->value[in->dst] = k;
            l->reg[k] = l->n_spare ? l->spare[--l->n_spare] : l->n_reg++;
            in->dst = (int16_t)l->reg[k];
        }
        for (int i = 0; i < 3; i++)
            if (value[i] >= 0)
                retire(l, value[i], k);
        if (makes)
            retire(l, k, k);
    }
    if (t->result >= 0)
        t->result = l->reg[l->value[t->result]];
    t->n_reg = l->n_reg;
}

/* True if instruction k rounds f32 lanes to f16 or bf16, and only stores of that dtype use the result: they round in
 * the same way. */
static bool is_rounded_again(const tape *t, int k)
{
    const tape_inst *in = &t->inst[k];
    const bool rounds = in->code == TAPE_ROUND || (in->code == TAPE_CAST && in->dtype == IG_F32);
    if (!rounds || !dtype_is_half((ig_dtype)in->to) || t->result == in->dst)
        return false;
    for (int i = k + 1; i < t->n_inst; i++) {
        const tape_inst *later = &t->inst[i];
        const bool stores = later->code == TAPE_STORE && later->a == in->dst &&
                            t->operand[later->operand].dtype == (ig_dtype)in->to;
        const bool makes = later->code != TAPE_STORE && later->dst >= 0;
        if ((later->a == in->dst && !stores) || later->b == in->dst || later->c == in->dst ||
            (makes && (later->dst == in->dst || later->dst == in->a)))
            return false;
    }
    return true;
}

static void drop_roundings(tape *t)
{
    for (int k = t->n_inst - 1; k >= 0; k--) {
        const tape_inst in = t->inst[k];
        if (!is_rounded_again(t, k))
            continue;
        for (int i = k + 1; i < t->n_inst; i++) {
            t->inst[i - 1] = t->inst[i];
            if (t->inst[i - 1].a == in.dst)
                t->inst[i - 1].a = in.a;
        }
        t->n_inst--;
    }
}

ig_status tape_assign_registers(tape *t)
{
    drop_roundings(t);
    const size_t n = (size_t)(t->n_inst > t->n_reg ? t->n_inst : t->n_reg) + 1;
    int *memory = memory_get(4 * n * sizeof *memory);
    if (!memory)
        return IG_ERR_MEMORY;
    live_ranges l = {
        .last = memory, .reg = memory + n, .value = memory + 2 * n, .spare = memory + 3 * n};
    find_last_uses(t, &l);
    assign(t, &l);
    memory_free(memory);
    return IG_OK;
}
