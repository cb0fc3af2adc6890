/* Lowering: the building blocks of lane code: registers, instructions and levels. */
#include "compiler/lower/lower.h"

#include "engine/ops/op_id.h"

#include <stdarg.h>
#include <stdio.h>

enum { INST_MOST = 4 << 20 };

void lower_fail(lower *l, ig_status status, const char *format, ...)
{
    char message[400];
    kernel_where w = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (kernel_source_where(&l->tree->unit.source, l->place, &w))
        ig_fail(status, "%s:%lld:%u: %s", w.name, (long long)w.line, w.column, message);
    else
        ig_fail(status, "kernel '%s': %s", l->entry->name, message);
    longjmp(*l->arena->escape, 1);
}

/* ---- registers ---- */

int32_t lower_register(lower *l, code_reg r)
{
    lane_code *c = l->c;
    r.born = c->n_inst;
    ARENA_ADD(l->arena, c->reg, c->n_reg, c->reg_room, r);
    return c->n_reg - 1;
}

int32_t lower_temp(lower *l, ig_dtype d)
{
    return lower_register(l, (code_reg){.dtype = (uint8_t)d});
}

int32_t lower_variable(lower *l, ig_dtype d)
{
    return lower_register(l, (code_reg){.dtype = (uint8_t)d, .variable = true});
}

int32_t lower_constant(lower *l, ig_dtype d, uint64_t bits)
{
    return lower_register(l,
                          (code_reg){.dtype = (uint8_t)d, .origin = ORIGIN_CONSTANT, .bits = bits});
}

int32_t lower_integer(lower *l, ig_dtype d, int64_t value)
{
    return lower_constant(l, d, (uint64_t)value);
}

int32_t lower_special(lower *l, code_origin origin)
{
    if (l->special[origin] == CODE_NONE) {
        const bool address =
            origin == ORIGIN_LOCAL || origin == ORIGIN_SHARED || origin == ORIGIN_GLOBAL;
        l->special[origin] = lower_register(
            l, (code_reg){.dtype = address ? IG_U64 : IG_U32, .origin = (uint8_t)origin});
    }
    return l->special[origin];
}

/* ---- instructions ---- */

static bool contains(const lower *l, const lower_value *v, int32_t variable)
{
    for (int i = 0; i < v->n; i++)
        if (v->reg[i] == variable || (variable == CODE_NONE && l->c->reg[v->reg[i]].variable))
            return true;
    return false;
}

/* Whether an instruction may act on memory or other lanes, or depends on them. */
static bool has_effect(code_op op) { return op >= CODE_LOAD && op <= CODE_SYNC; }

/* Forgets the calls whose arguments or results are in a variable; CODE_NONE: in any variable. */
static void forget_uses(lower *l, int32_t variable)
{
    int n = 0;
    for (int k = 0; k < l->n_known; k++) {
        const lower_known *known = &l->known[k];
        bool uses = contains(l, &known->result, variable);
        for (uint32_t i = 0; i < known->function->n_params && !uses; i++)
            uses = contains(l, &known->args[i], variable);
        if (!uses)
            l->known[n++] = *known;
    }
    l->n_known = n;
}

void lower_forget(lower *l, int after)
{
    while (l->n_known && l->known[l->n_known - 1].at > after)
        l->n_known--;
}

code_inst *lower_emit(lower *l, code_op op, ig_dtype dtype, int32_t d, int32_t a, int32_t b,
                      int32_t c)
{
    lane_code *k = l->c;
    if (k->n_inst >= INST_MOST)
        lower_fail(
            l, IG_ERR_UNSUPPORTED,
            "kernel '%s' becomes too long when its functions are unfolded; make them fewer or "
            "smaller",
            l->entry->name);
    k->inst = kernel_arena_grow(l->arena, k->inst, &k->inst_room, (uint32_t)k->n_inst + 1,
                                sizeof *k->inst);
    code_inst *i = &k->inst[k->n_inst++];
    *i = (code_inst){.op = (uint8_t)op,
                     .dtype = (uint8_t)dtype,
                     .to = (uint8_t)dtype,
                     .d = d,
                     .a = a,
                     .b = b,
                     .c = c,
                     .e = CODE_NONE,
                     .place = l->place};
    if (has_effect(op))
        l->effect = k->n_inst - 1;
    if (d != CODE_NONE && k->reg[d].variable) {
        i->flags = CODE_MASKED;
        forget_uses(l, d);
    }
    return i;
}

static int32_t map(lower *l, int op, ig_dtype dtype, ig_dtype result, int32_t a, int32_t b)
{
    const int32_t d = lower_temp(l, result);
    lower_emit(l, CODE_MAP, dtype, d, a, b, CODE_NONE)->row = (uint16_t)op;
    return d;
}

code_inst *lower_mark(lower *l, code_op op)
{
    return lower_emit(l, op, IG_BOOL, CODE_NONE, CODE_NONE, CODE_NONE, CODE_NONE);
}

int32_t lower_map(lower *l, int op, ig_dtype dtype, int32_t a, int32_t b)
{
    return map(l, op, dtype, dtype, a, b);
}

int32_t lower_truth(lower *l, int op, ig_dtype dtype, int32_t a, int32_t b)
{
    return map(l, op, dtype, IG_BOOL, a, b);
}

int32_t lower_pick(lower *l, ig_dtype dtype, int32_t condition, int32_t a, int32_t b)
{
    const int32_t d = lower_temp(l, dtype);
    lower_emit(l, CODE_PICK, dtype, d, condition, a, b);
    return d;
}

int32_t lower_row(lower *l, code_row row, ig_dtype dtype, int32_t a, int32_t b, int32_t c)
{
    const int32_t d = lower_temp(l, dtype);
    lower_emit(l, CODE_ROW, dtype, d, a, b, c)->row = (uint16_t)row;
    return d;
}

int32_t lower_convert(lower *l, int32_t a, ig_dtype from, ig_dtype to)
{
    if (from == to)
        return a;
    const int32_t d = lower_temp(l, to);
    lower_emit(l, CODE_CONVERT, from, d, a, CODE_NONE, CODE_NONE)->to = (uint8_t)to;
    return d;
}

/* The last instruction can write its result directly into the variable, unless a parameter is bound to the
 * result: it may be read again. */
int32_t lower_assign(lower *l, int32_t variable, int32_t value)
{
    lane_code *c = l->c;
    if (variable == value)
        return variable;
    code_inst *last = c->n_inst > l->bound ? &c->inst[c->n_inst - 1] : NULL;
    const code_reg *from = &c->reg[value];
    if (last && last->d == value && !from->variable && from->dtype == c->reg[variable].dtype) {
        last->d = variable;
        last->flags |= CODE_MASKED;
        forget_uses(l, variable);
        for (int k = 0; k < l->n_known; k++) /* results of calls move, too */
            for (int r = 0; r < l->known[k].result.n; r++)
                if (l->known[k].result.reg[r] == value)
                    l->known[k].result.reg[r] = variable;
    } else {
        lower_emit(l, CODE_COPY, (ig_dtype)from->dtype, variable, value, CODE_NONE, CODE_NONE);
    }
    return variable;
}

/* ---- levels ---- */

int lower_open(lower *l, code_op op, int32_t condition)
{
    if (l->depth >= CODE_LEVELS)
        lower_fail(l, IG_ERR_UNSUPPORTED, "ifs, loops and calls nest deeper than %d", CODE_LEVELS);
    lower_emit(l, op, IG_BOOL, CODE_NONE, condition, CODE_NONE, CODE_NONE)->level =
        (uint16_t)l->depth++;
    if (l->depth > l->c->n_level)
        l->c->n_level = l->depth;
    if (op == CODE_LOOP) /* a later iteration may have other values */
        forget_uses(l, CODE_NONE);
    return l->c->n_inst - 1;
}

void lower_else(lower *l, int begin)
{
    lower_mark(l, CODE_ELSE)->level = (uint16_t)(l->depth - 1);
    l->c->inst[begin].jump = l->c->n_inst - 1;
    lower_forget(l, begin);
}

/* An IF jumps to its ELSE; the ELSE, or an IF without one, jumps to END_IF. The WHILEs of a LOOP jump to
 * END_LOOP. */
void lower_close(lower *l, int begin)
{
    static const uint8_t ends[CODE_OPS] = {
        [CODE_IF] = CODE_END_IF, [CODE_LOOP] = CODE_END_LOOP, [CODE_CALL] = CODE_END_CALL};
    const uint8_t op = l->c->inst[begin].op;
    lower_forget(l, begin);
    lower_mark(l, (code_op)ends[op])->level = (uint16_t)--l->depth;
    code_inst *inst = l->c->inst;
    const int end = l->c->n_inst - 1;
    if (op == CODE_IF && !inst[begin].jump)
        inst[begin].jump = end;
    else if (op == CODE_IF)
        inst[inst[begin].jump].jump = end;
    for (int k = begin + 1; k < end && op == CODE_LOOP; k++)
        if (inst[k].op == CODE_WHILE && inst[k].level == l->depth)
            inst[k].jump = end;
}

void lower_leave(lower *l, code_op op, int level)
{
    code_inst *i = lower_mark(l, op);
    i->level = (uint16_t)level;
    i->jump = l->depth - 1;
}
