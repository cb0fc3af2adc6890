/* The check of schedules: see check.h. This file lists what each program accesses, and makes the checks that need only
 * this list. */
#include "engine/graph/check.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>

ig_status schedule_broken(const checker *c, const char *rule, int p, int k, const char *format, ...)
{
    char what[300], where[80] = "", name[16];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (p >= 0)
        snprintf(where, sizeof where, "program %d (%s), ", p + 1,
                 program_kinds[c->s->program[p].kind].name);
    FAIL(IG_ERR_INTERNAL,
         "the schedule breaks the rule '%s': %s%s%s%s%s. Nothing was computed. This is a defect of "
         "Ingot: "
         "please report it. With IG_CHECK_SCHEDULE=0, --explain prints the schedule",
         rule, where, k >= 0 ? "slot " : "", k >= 0 ? schedule_slot_name(c->s, k, name) : "",
         k >= 0 ? ": " : "", what);
}

/* ---- the list of accesses ---- */

static ig_status add_access(checker *c, access a)
{
    if (!memory_room(&c->access, c->n_access, &c->room_access, sizeof *c->access))
        return IG_ERR_MEMORY;
    c->access[c->n_access++] = a;
    return IG_OK;
}

static ig_status add_core(checker *c, int p, const operand *o, bool writes, bool by_points)
{
    const bool moves = writes && c->s->program[p].kind == PROGRAM_WRITE;
    return add_access(
        c, (access){.program = p,
                    .slot = o->slot,
                    .writes = writes,
                    .by_points = by_points,
                    .inst = -1,
                    .o = o,
                    .element_bytes = (int64_t)ig_dtype_bytes(o->dtype),
                    .r = reach_of(&o->v, moves ? o->axis_len : 1, moves ? o->axis_stride : 0)});
}

/* A use of the whole slot, regardless of its elements. */
static ig_status add_whole(checker *c, int p, const operand *o, bool writes)
{
    return add_access(c, (access){.program = p,
                                  .slot = o->slot,
                                  .writes = writes,
                                  .inst = -1,
                                  .o = o,
                                  .r = reach_whole(c->s->slot[o->slot].bytes)});
}

static ig_status add_tape(checker *c, int p, const tape *t)
{
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->operand < 0)
            continue;
        if (inst->operand >= t->n_operand)
            return schedule_broken(c, "operands", p, -1, "instruction %d uses operand %d of %d", i,
                                   inst->operand, t->n_operand);
        const operand *o = &t->operand[inst->operand];
        const bool moves = inst->code == TAPE_READ || (inst->code == TAPE_UNPACK && inst->a >= 0);
        TRY(add_access(c, (access){.program = p,
                                   .slot = o->slot,
                                   .writes = inst->code == TAPE_STORE,
                                   .by_points = !moves && inst->code != TAPE_BITS,
                                   .t = t,
                                   .inst = i,
                                   .o = o,
                                   .element_bytes = (int64_t)ig_dtype_bytes(o->dtype),
                                   .r = reach_of(&o->v, moves ? o->axis_len : 1,
                                                 moves ? o->axis_stride : 0)}));
    }
    return IG_OK;
}

/* Reads of a program come before its writes. */
static ig_status add_program(checker *c, int i)
{
    const program *p = &c->s->program[i];
    const program_kind_row *kind = &program_kinds[p->kind];
    for (int k = 0; k < kind->core_inputs; k++)
        TRY(add_core(c, i, &p->in[k], false, p->kind == PROGRAM_CONTRACT && k == 0));
    for (int k = 0; p->kind == PROGRAM_KERNEL && k < p->pre.n_operand; k++)
        TRY(add_core(c, i, &p->pre.operand[k], false, false));
    if (p->kind == PROGRAM_WRITE) /* most elements of its base stay */
        TRY(add_whole(c, i, &p->out, false));
    TRY(add_tape(c, i, &p->pre));
    TRY(add_tape(c, i, &p->post));
    for (int k = 0; p->kind == PROGRAM_KERNEL && k < p->post.n_operand; k++)
        TRY(add_whole(c, i, &p->post.operand[k], true));
    return kind->core_output ? add_core(c, i, &p->out, true, false) : IG_OK;
}

static bool is_slot(const checker *c, const operand *o)
{
    return o->slot >= 0 && o->slot < c->s->n_slot;
}

static bool has_slots(const checker *c, const program *p)
{
    const tape *tapes[2] = {&p->pre, &p->post};
    bool good = true;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < tapes[k]->n_operand && good; i++)
            good = is_slot(c, &tapes[k]->operand[i]);
    for (int k = 0; k < program_kinds[p->kind].core_inputs && good; k++)
        good = is_slot(c, &p->in[k]);
    return good && (!program_kinds[p->kind].core_output || is_slot(c, &p->out));
}

static ig_status list_accesses(checker *c)
{
    const schedule *s = c->s;
    for (int i = 0; i < s->n_program; i++) {
        c->begin[i] = c->n_access;
        if (!has_slots(c, &s->program[i]))
            return schedule_broken(c, "operands", i, -1, "an operand has no slot");
        TRY(add_program(c, i));
    }
    c->begin[s->n_program] = c->n_access;
    for (int k = 0; k < s->n_slot; k++)
        c->first[k] = c->last[k] = c->written[k] = -1;
    for (int i = 0; i < c->n_access; i++) {
        const access *a = &c->access[i];
        if (c->first[a->slot] < 0)
            c->first[a->slot] = a->program;
        c->last[a->slot] = a->program;
        if (a->writes)
            c->written[a->slot] = a->program;
    }
    return IG_OK;
}

/* ---- chains, tapes, bounds ---- */

static ig_status list_launches(checker *c)
{
    const schedule *s = c->s;
    for (int i = 0; i < s->n_program;) {
        const int n = s->program[i].chain;
        if (n < 1 || n > s->n_program - i)
            return schedule_broken(c, "chains", i, -1, "a chain of %d programs begins here", n);
        for (int k = i; k < i + n; k++) {
            if (k > i && s->program[k].chain != 0)
                return schedule_broken(c, "chains", k, -1,
                                       "a chain begins inside the chain of program %d", i + 1);
            c->launch[k] = i;
            c->end[k] = i + n - 1;
        }
        i += n;
    }
    return IG_OK;
}

/* Each value is computed before an instruction uses it, and walked operands have the space of the tape. */
static ig_status check_tape(const checker *c, int p, const tape *t)
{
    for (int i = 0; i < t->n_inst; i++) {
        const int16_t used[3] = {t->inst[i].a, t->inst[i].b, t->inst[i].c};
        for (int k = 0; k < 3; k++) {
            bool made = used[k] < 0;
            for (int j = 0; j < i && !made; j++)
                made = t->inst[j].code != TAPE_STORE && t->inst[j].dst == used[k];
            if (!made)
                return schedule_broken(
                    c, "tapes", p, -1,
                    "instruction %d uses value %d, which no earlier one computes", i, used[k]);
        }
    }
    return IG_OK;
}

static ig_status check_access(const checker *c, const access *a)
{
    int64_t low, high;
    if (a->writes && c->s->slot[a->slot].kind == SLOT_LEAF)
        return schedule_broken(c, "leaves", a->program, a->slot, "an input is written");
    if (a->by_points && a->t && a->r.points != a->t->size)
        return schedule_broken(c, "tapes", a->program, a->slot,
                               "the operand has %lld points, the tape %lld", (long long)a->r.points,
                               (long long)a->t->size);
    if (a->r.points == 0 || a->element_bytes == 0)
        return IG_OK;
    const int64_t elements = storage_elements(a->o->stored, a->o->dtype, c->s->slot[a->slot].bytes);
    reach_bounds(&a->r, &low, &high);
    if (low < 0 || high >= elements)
        return schedule_broken(c, "bounds", a->program, a->slot,
                               "elements %lld to %lld of a buffer of %lld elements are %s",
                               (long long)low, (long long)high, (long long)elements,
                               a->writes ? "written" : "read");
    return IG_OK;
}

/* The other checks rely on the recorded live ranges. */
static ig_status check_ranges(const checker *c)
{
    const schedule *s = c->s;
    for (int k = 0; k < s->n_slot; k++) {
        const slot *t = &s->slot[k];
        if (t->first != c->first[k] || t->last != c->last[k] || t->written != c->written[k])
            return schedule_broken(
                c, "live ranges", -1, k,
                "programs %d to %d use it, %d writes it last; recorded are %d, %d, %d",
                c->first[k] + 1, c->last[k] + 1, c->written[k] + 1, t->first + 1, t->last + 1,
                t->written + 1);
    }
    return IG_OK;
}

static ig_status check_outputs(const checker *c)
{
    const schedule *s = c->s;
    for (int i = 0; i < c->g->n_out; i++) {
        const int k = s->out_slot[i];
        if (k < 0 || k >= s->n_slot || s->slot[k].kind != SLOT_OUT ||
            s->slot[k].node != c->g->same[c->g->out[i]->index])
            return schedule_broken(c, "outputs", -1, -1, "slot %d does not hold output %d", k, i);
    }
    return IG_OK;
}

static ig_status check_all(checker *c)
{
    const schedule *s = c->s;
    TRY(list_launches(c));
    for (int i = 0; i < s->n_program; i++) {
        TRY(check_tape(c, i, &s->program[i].pre));
        TRY(check_tape(c, i, &s->program[i].post));
    }
    TRY(list_accesses(c));
    for (int i = 0; i < c->n_access; i++)
        TRY(check_access(c, &c->access[i]));
    TRY(check_ranges(c));
    TRY(check_outputs(c));
    TRY(schedule_check_row_slots(c));
    TRY(schedule_check_places(c));
    TRY(schedule_check_memory(c));
    TRY(schedule_check_rows(c));
    return schedule_check_values(c);
}

static ig_status check_order(checker *c)
{
    TRY(list_launches(c));
    TRY(list_accesses(c));
    return schedule_check_after(c);
}

static ig_status check(checker c, ig_status (*rules)(checker *))
{
    const schedule *s = c.s;
    const size_t n = (size_t)s->n_program + 1, m = (size_t)s->n_slot + 1;
    int *memory = memory_get((3 * n + 3 * m) * sizeof *memory);
    place *places = memory_get(m * sizeof *places);
    if (!memory || !places) {
        memory_free(memory);
        memory_free(places);
        return IG_ERR_MEMORY;
    }
    c.begin = memory;
    c.launch = memory + n;
    c.end = memory + 2 * n;
    c.first = memory + 3 * n;
    c.last = c.first + m;
    c.written = c.last + m;
    c.place = places;
    const ig_status status = rules(&c);
    memory_free(c.access);
    memory_free(memory);
    memory_free(places);
    return status;
}

ig_status schedule_check(const graph *g, const schedule *s)
{
    return check((checker){.g = g, .s = s}, check_all);
}

ig_status schedule_check_order(const schedule *s, const int *first, const int *chain, int n)
{
    return check((checker){.s = s, .after_first = first, .after_chain = chain, .n_after = n},
                 check_order);
}
