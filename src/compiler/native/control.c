/* Control flow inside a region, and of the block: loops, branches, calls, and the masks of lanes.
 *
 * m_0, m_1, ... are the active lanes of a group. In MODE_FULL all are active, and branches that all lanes take
 * alike are real branches. Where lanes diverge, the code is written for masks, as the lane machine runs it: e of
 * a level has the lanes that entered it, w those that wait for the next iteration or the end of the call, x
 * those that wait for ELSE. If lanes may have left a region's code for good, the rest is written twice. */
#include "compiler/native/writer.h"

#include "engine/ops/op_id.h"

enum {
    FLAT_MOST = 12,    /* instructions of a branch that is computed without a test */
    TRIPS_MOST = 4096, /* iterations of a loop that does not look for the end of the launch */
    UNROLL_TRIPS = 16, /* iterations of a loop that is unrolled, and instructions of the result */
    UNROLL_MOST = 1600,
    TWICE_MOST = 400 /* instructions of a branch that is also written for full groups */
};

/* ---- masks ---- */

static void each_unit(writer *w, const char *f)
{
    for (int u = 0; u < w->p->units; u++)
        for (const char *c = f; *c; c++)
            if (*c == '#')
                SAY(w, "%d", u);
            else
                SAY(w, "%c", *c);
}

static void each_level(writer *w, int level, const char *f)
{
    for (int u = 0; u < w->p->units; u++)
        for (const char *c = f; *c; c++)
            if (*c == '#')
                SAY(w, "%d", u);
            else if (*c == '@')
                SAY(w, "%d", level);
            else
                SAY(w, "%c", *c);
}

static void any_lane(writer *w)
{
    SAY(w, "(");
    for (int u = 0; u < w->p->units; u++)
        SAY(w, "%sbits(m_%d)", u ? " | " : "", u);
    SAY(w, ")");
}

static void all_lanes(writer *w)
{
    SAY(w, "((");
    for (int u = 0; u < w->p->units; u++)
        SAY(w, "%sbits(m_%d)", u ? " & " : "", u);
    SAY(w, ") == FULL)");
}

/* m = e & the condition of an IF or WHILE, or of its other branch. */
static void restrict_mask(writer *w, int32_t condition, const char *to, const char *how)
{
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "%s_%d = m_%d & %s", to, u, u, how);
        write_lanes(w, condition, u);
        SAY(w, ";\n");
    }
}

/* ---- jumps ---- */

static bool has_masks(const writer *w) { return w->mode == MODE_MASKED; }

static void masked_jump(writer *w, int k, const code_inst *i)
{
    const int target = plan_target(w->p, k);
    for (int l = i->level + 1; l <= i->jump; l++)
        each_level(w, l, "e@_# &= ~m_#;\n");
    if (i->op != CODE_BREAK && target != w->p->kernel)
        each_level(w, i->level, "w@_# |= m_#;\n");
    each_unit(w, "m_# = (vi){0};\n");
}

static void write_jump(writer *w, int k)
{
    const code_inst *i = &w->c->inst[k];
    const int target = plan_target(w->p, k);
    static const char *const places[] = {
        [CODE_BREAK] = "leave", [CODE_CONTINUE] = "next", [CODE_RETURN] = "leave"};
    if (has_masks(w)) {
        masked_jump(w, k, i);
    } else if (target != w->p->kernel) {
        SAY(w, "goto %s_%d;\n", places[i->op],
            i->op == CODE_CONTINUE ? w->again[target] : w->label[target]);
    } else if (w->mode == MODE_BLOCK) {
        SAY(w, "goto end;\n");
    } else {
        if (w->mode == MODE_LANE && w->p->keeps_live)
            SAY(w, "live_[lane] = 0;\n");
        if (w->mode == MODE_FULL)
            each_unit(w, "m_# = (vi){0};\n");
        SAY(w, "goto gone_%d;\n", w->region);
    }
}

/* ---- branches ---- */

/* The instructions of the branches of an IF. */
static void branch(writer *w, int k, bool other)
{
    const int otherwise = w->p->other[k], end = w->p->end[k];
    if (!other)
        write_list(w, k + 1, otherwise < 0 ? end : otherwise);
    else if (otherwise >= 0)
        write_list(w, otherwise + 1, end);
}

static void plain_if(writer *w, int k)
{
    SAY(w, "if (");
    write_scalar(w, w->c->inst[k].a);
    SAY(w, ") {\n");
    branch(w, k, false);
    if (w->p->other[k] >= 0) {
        SAY(w, "} else {\n");
        branch(w, k, true);
    }
    SAY(w, "}\n");
}

/* Arithmetic, which inactive lanes may compute. */
static bool is_flat(const writer *w, int k)
{
    if (w->p->end[k] - k > FLAT_MOST)
        return false;
    for (int n = k + 1; n < w->p->end[k]; n++)
        if (w->c->inst[n].op > CODE_ADDRESS && w->c->inst[n].op != CODE_ELSE)
            return false;
    return true;
}

static void masked_if(writer *w, int k)
{
    const code_inst *i = &w->c->inst[k];
    const bool flat = is_flat(w, k), scalar = plan_scalar(w->p, i->a);
    each_level(w, i->level, "e@_# = m_#;\n");
    if (scalar) {
        plain_if(w, k);
        each_level(w, i->level, "m_# = e@_#;\n");
        return;
    }
    if (w->p->other[k] >= 0)
        for (int u = 0; u < w->p->units; u++) {
            SAY(w, "x%d_%d = m_%d & ~", i->level, u, u);
            write_lanes(w, i->a, u);
            SAY(w, ";\n");
        }
    restrict_mask(w, i->a, "m", "");
    for (int other = 0; other < 2; other++) {
        if (other && w->p->other[k] < 0)
            break;
        if (other)
            each_level(w, i->level, "m_# = x@_#;\n");
        if (!flat) {
            SAY(w, "if (");
            any_lane(w);
            SAY(w, ") ");
        }
        SAY(w, "{\n");
        branch(w, k, other);
        SAY(w, "}\n");
    }
    each_level(w, i->level, "m_# = e@_#;\n");
}

static void in_mode(writer *w, native_mode mode, void (*write)(writer *w, int k), int k)
{
    const native_mode before = w->mode;
    w->mode = mode;
    write(w, k);
    w->mode = before;
}

/* All lanes are active before it: tests whether they take one branch. */
static void full_if(writer *w, int k)
{
    const int32_t a = w->c->inst[k].a;
    const bool twice = w->p->end[k] - k <= TWICE_MOST && !plan_loses(w->p, k) && !is_flat(w, k);
    if (!twice) {
        in_mode(w, MODE_MASKED, masked_if, k);
        return;
    }
    SAY(w, "{\n");
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "const u32 k_%d = bits(", u);
        write_lanes(w, a, u);
        SAY(w, ");\n");
    }
    SAY(w, "const u32 all_ = k_0");
    for (int u = 1; u < w->p->units; u++)
        SAY(w, " & k_%d", u);
    SAY(w, ", any_ = k_0");
    for (int u = 1; u < w->p->units; u++)
        SAY(w, " | k_%d", u);
    SAY(w, ";\nif (all_ == FULL) {\n");
    branch(w, k, false);
    SAY(w, "} else if (any_) {\n");
    in_mode(w, MODE_MASKED, masked_if, k);
    SAY(w, "} else {\n");
    branch(w, k, true);
    SAY(w, "}\n}\n");
}

/* ---- loops ---- */

static int find_inside(const writer *w, int loop, int op)
{
    for (int k = loop + 1; k < w->p->end[loop]; k++)
        if (w->c->inst[k].op == op && w->c->inst[k].level == w->c->inst[loop].level &&
            w->p->opener[k] == loop)
            return k;
    return -1;
}

static int find_again(const writer *w, int loop)
{
    for (int k = w->p->end[loop] - 1; k > loop; k--)
        if (w->c->inst[k].op == CODE_AGAIN && w->p->opener[k] == loop)
            return k;
    return -1;
}

/* Ends the launch if it was cancelled; an endless loop must not hang. */
static void write_poll(writer *w)
{
    SAY(w, "if (--fuel == 0) {\nif (b->is_over(b->context))\nreturn NATIVE_STOPPED;\n"
           "fuel = 1u << 16;\n}\n");
}

/* ---- loops that count ---- */

static bool is_test(int row)
{
    return row == OP_less || row == OP_less_equal || row == OP_greater || row == OP_greater_equal ||
           row == OP_not_equal;
}

static bool passes(int row, int64_t a, int64_t b)
{
    return row == OP_less         ? a < b
           : row == OP_less_equal ? a <= b
           : row == OP_greater    ? a > b
           : row == OP_not_equal  ? a != b
                                  : a >= b;
}

static bool is_constant(const writer *w, int32_t r)
{
    return r != CODE_NONE && w->c->reg[r].origin == ORIGIN_CONSTANT;
}

static int64_t value_of(const writer *w, int32_t r)
{
    const code_reg *reg = &w->c->reg[r];
    return reg->dtype == IG_I32 ? (int32_t)reg->bits : (int64_t)(uint32_t)reg->bits;
}

/* The only instruction of the loop that writes the register, if each iteration runs it; -1. */
static int step_of(const writer *w, int loop, int next, int32_t r)
{
    int found = -1;
    for (int k = loop + 1; k < w->p->end[loop]; k++) {
        if (w->c->inst[k].op == CODE_CONTINUE && next < 0 && plan_target(w->p, k) == loop)
            return -1;
        if (w->c->inst[k].d != r)
            continue;
        if (found >= 0 || w->p->opener[k] != loop || (next >= 0 && k < next))
            return -1;
        found = k;
    }
    return found;
}

/* The constant that the register gets before the loop, CODE_NONE if it is not known. */
static int32_t start_of(const writer *w, int loop, int32_t r)
{
    for (int k = loop - 1; k >= 0 && k != w->p->opener[loop]; k--) {
        const code_inst *i = &w->c->inst[k];
        if (i->op == CODE_ELSE && w->p->opener[k] == w->p->opener[loop])
            return CODE_NONE;
        if (i->d == r)
            return w->p->opener[k] == w->p->opener[loop] && i->op == CODE_COPY &&
                           is_constant(w, i->a)
                       ? i->a
                       : CODE_NONE;
    }
    return CODE_NONE;
}

/* How often a loop with a counter runs at most; -1: that is not known. */
static int trips_of(const writer *w, int loop)
{
    const int test = find_inside(w, loop, CODE_WHILE), next = find_inside(w, loop, CODE_NEXT);
    const int at = test < 0 ? -1 : w->p->def[w->c->inst[test].a];
    if (at < loop || w->c->inst[at].op != CODE_MAP || !is_test(w->c->inst[at].row) ||
        !is_constant(w, w->c->inst[at].b))
        return -1;
    const code_inst *i = &w->c->inst[at];
    const int step = step_of(w, loop, next, i->a);
    const int32_t start = start_of(w, loop, i->a);
    if (step < 0 || start < 0 || w->c->inst[step].op != CODE_MAP ||
        w->c->inst[step].row != OP_add || w->c->inst[step].a != i->a ||
        !is_constant(w, w->c->inst[step].b) || (i->dtype != IG_I32 && i->dtype != IG_U32) ||
        w->c->inst[step].dtype != i->dtype)
        return -1;
    const int64_t most = value_of(w, i->b), by = value_of(w, w->c->inst[step].b);
    int64_t x = value_of(w, start);
    for (int n = 0; n <= TRIPS_MOST; n++) {
        if (!passes(i->row, x, most))
            return n;
        x = (uint32_t)x + (uint32_t)by;
        x = i->dtype == IG_I32 ? (int32_t)(uint32_t)x : (int64_t)(uint32_t)x;
    }
    return -1;
}

static void write_while(writer *w, int k)
{
    const code_inst *i = &w->c->inst[k];
    const int loop = w->p->opener[k];
    if (w->unrolled)
        return;
    if (!has_masks(w) || plan_scalar(w->p, i->a)) {
        SAY(w, "if (!");
        write_scalar(w, i->a);
        SAY(w, ")\ngoto leave_%d;\n", w->label[loop]);
        return;
    }
    restrict_mask(w, i->a, "m", "");
    SAY(w, "if (!");
    any_lane(w);
    SAY(w, ")\ngoto leave_%d;\n", w->label[loop]);
}

/* Only the test's value is computed before the test. */
static bool tests_purely(const writer *w, int loop)
{
    const int test = find_inside(w, loop, CODE_WHILE);
    for (int k = loop + 1; k < test; k++) {
        const code_inst *i = &w->c->inst[k];
        if (i->op > CODE_PICK || i->d == CODE_NONE || w->c->reg[i->d].variable)
            return false;
    }
    return test > 0;
}

/* The instructions of [from, to), with the instructions of unrolled loops for each iteration. */
static int64_t size_of(const writer *w, int from, int to)
{
    int64_t n = 0;
    for (int k = from; k < to; k++) {
        n++;
        if (w->c->inst[k].op != CODE_LOOP)
            continue;
        const int trips = trips_of(w, k);
        const bool many = trips < 0 || trips > UNROLL_TRIPS || !tests_purely(w, k);
        n += size_of(w, k + 1, w->p->end[k]) * (many ? 1 : trips);
        k = w->p->end[k];
    }
    return n;
}

/* The iterations of a loop that is written once for each, because it accesses interleaved arrays, whose elements can be
 * registers then; 0: it is not. */
static int unrolled_trips(const writer *w, int loop)
{
    const int trips = w->mode == MODE_FULL ? trips_of(w, loop) : -1;
    if (trips <= 0 || trips > UNROLL_TRIPS || !tests_purely(w, loop) ||
        size_of(w, loop + 1, w->p->end[loop]) * trips > UNROLL_MOST)
        return 0;
    for (int k = loop + 1; k < w->p->end[loop]; k++)
        if (plan_own_of(w->p, &w->c->inst[k]) >= 0)
            return trips;
    return 0;
}

static void write_unrolled(writer *w, int k, int trips)
{
    const int next = find_inside(w, k, CODE_NEXT), end = w->p->end[k];
    const bool before = w->unrolled;
    w->label[k] = ++w->labels;
    const int label = w->label[k];
    for (int n = 0; n < trips; n++) {
        const int again = w->again[k] = ++w->labels;
        w->unrolled = true;
        write_list(w, k + 1, next >= 0 ? next : end);
        w->unrolled = true;
        SAY(w, "next_%d:;\n", again);
        if (next >= 0)
            write_list(w, next + 1, end);
    }
    w->unrolled = before;
    SAY(w, "leave_%d:;\n", label);
}

static void write_loop(writer *w, int k)
{
    const int trips = unrolled_trips(w, k);
    if (trips) {
        write_unrolled(w, k, trips);
        return;
    }
    const int next = find_inside(w, k, CODE_NEXT), again = find_again(w, k), end = w->p->end[k];
    const int level = w->c->inst[k].level;
    const bool masks = has_masks(w), before = w->unrolled;
    w->unrolled = false;
    w->label[k] = w->again[k] = ++w->labels;
    const int label = w->label[k];
    if (masks)
        each_level(w, level, "e@_# = m_#;\nw@_# = (vi){0};\n");
    SAY(w, again >= 0 ? "for (;;) {\n" : "{\n");
    if (again >= 0 && trips_of(w, k) < 0)
        write_poll(w);
    write_list(w, k + 1, next >= 0 ? next : end);
    if (next >= 0) {
        SAY(w, "next_%d:;\n", label);
        if (masks) {
            each_level(w, level, "m_# |= w@_#;\nw@_# = (vi){0};\n");
            SAY(w, "if (!");
            any_lane(w);
            SAY(w, ")\ngoto leave_%d;\n", label);
        }
        write_list(w, next + 1, again >= 0 ? again : end);
    }
    SAY(w, "}\nleave_%d:;\n", label);
    w->unrolled = before;
    if (masks)
        each_level(w, level, "m_# = e@_#;\n");
}

/* ---- calls ---- */

static void write_call_level(writer *w, int k)
{
    const int level = w->c->inst[k].level;
    const bool waits = w->mode >= MODE_FULL && (w->mode == MODE_MASKED || plan_differs(w->p, k));
    w->label[k] = ++w->labels;
    const int label = w->label[k];
    if (waits)
        each_level(w, level, "e@_# = m_#;\nw@_# = (vi){0};\n");
    SAY(w, "{\n");
    write_list(w, k + 1, w->p->end[k]);
    SAY(w, "}\nleave_%d:;\n", label);
    if (waits)
        each_level(w, level, "m_# |= w@_#;\n");
}

/* ---- lists ---- */

static void write_compound(writer *w, int k)
{
    const int op = w->c->inst[k].op;
    const bool full = w->mode == MODE_FULL;
    if (op == CODE_CALL) {
        write_call_level(w, k);
    } else if (op == CODE_LOOP) {
        if (full && (plan_differs(w->p, k) || plan_loses(w->p, k)))
            in_mode(w, MODE_MASKED, write_loop, k);
        else
            write_loop(w, k);
    } else if (w->mode == MODE_MASKED) {
        masked_if(w, k);
    } else if (full && !plan_scalar(w->p, w->c->inst[k].a)) {
        full_if(w, k);
    } else {
        plain_if(w, k);
    }
}

/* The rest of a list after code that lanes may have left. */
static void write_rest(writer *w, int from, int to)
{
    const native_mode before = w->mode;
    if (from >= to)
        return;
    if (before == MODE_FULL) {
        SAY(w, "if ");
        all_lanes(w);
        SAY(w, " {\n");
        write_list(w, from, to);
        SAY(w, "} else ");
    }
    w->mode = MODE_MASKED;
    SAY(w, "if ");
    any_lane(w);
    SAY(w, " {\n");
    write_list(w, from, to);
    SAY(w, "}\n");
    w->mode = before;
}

static void write_region_once(writer *w, int k) { write_region(w, w->p->part[k]); }

void write_list(writer *w, int from, int to)
{
    const native_plan *p = w->p;
    for (int k = from; k < to; k++) {
        const int op = w->c->inst[k].op;
        if (w->mode == MODE_BLOCK && p->part[k] != REGION_NONE) {
            write_region_once(w, k);
            k = p->region[p->part[k]].to - 1;
            continue;
        }
        if (plan_opens(op)) {
            write_compound(w, k);
            const bool masked = w->mode == MODE_MASKED && plan_leaves(p, k);
            const bool full = w->mode == MODE_FULL && plan_loses(p, k);
            k = p->end[k];
            if (masked || full) {
                write_rest(w, k + 1, to);
                return;
            }
        } else if (plan_jumps(op)) {
            write_jump(w, k);
            return;
        } else if (op == CODE_WHILE) {
            write_while(w, k);
        } else {
            write_instruction(w, k);
        }
    }
}

/* ---- instructions ---- */

static void write_fault(writer *w, int k)
{
    const code_inst *i = &w->c->inst[k];
    if (w->mode == MODE_LANE) {
        if (i->op == CODE_ASSERT) {
            SAY(w, "if (!");
            write_scalar(w, i->a);
            SAY(w, ") ");
        }
        SAY(w, "{\nb->instruction = %d;\nb->thread = lane;\nreturn NATIVE_FAULT;\n}\n", k);
        return;
    }
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "{\nconst u32 k_ = ");
        write_bits(w, u);
        if (i->op == CODE_ASSERT) {
            SAY(w, " & ~bits(");
            write_lanes(w, i->a, u);
            SAY(w, ")");
        }
        SAY(w, ";\nif (k_) {\nb->instruction = %d;\n", k);
        SAY(w, "b->thread = first + %d + __builtin_ctz(k_);\nreturn NATIVE_FAULT;\n}\n}\n",
            u * w->p->width);
    }
}

static void write_clock(writer *w, const code_inst *i)
{
    if (write_is_scalar(w, i->d)) {
        SAY(w, "s%d = b->clock();\n", i->d);
        return;
    }
    SAY(w, "{\nconst u64 now_ = b->clock();\n");
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        SAY(w, "SPLAT_vq(now_)");
        write_assigned(w, i, u);
    }
    SAY(w, "}\n");
}

void write_instruction(writer *w, int k)
{
    const code_inst *i = &w->c->inst[k];
    switch (i->op) {
    case CODE_ADDRESS: write_address(w, i); break;
    case CODE_LOAD: write_load(w, i); break;
    case CODE_STORE: write_store(w, i); break;
    case CODE_ATOMIC: write_atomic(w, i); break;
    case CODE_WARP:
    case CODE_ACTIVE: write_warp(w, i); break;
    case CODE_BARRIER: write_barrier(w, k); break;
    case CODE_ASSERT:
    case CODE_TRAP: write_fault(w, k); break;
    case CODE_CLOCK: write_clock(w, i); break;
    case CODE_SYNC:
    case CODE_NEXT:
    case CODE_AGAIN: break;
    default: write_value(w, i);
    }
}
