/* Analysis of lane code: which registers hold one value for all lanes, and which registers share memory.
 *
 * One value: all registers are assumed to hold one value until an instruction makes one vary; the effect is
 * propagated until nothing changes. A register varies if an operand does, if the machine fills it lane by
 * lane, or if it is a variable that is written where only some lanes may be active: inside an IF or a LOOP
 * whose condition varies, or in a loop that some lanes may have left. */
#include "compiler/code.h"

#include "base/memory.h"

#include <string.h>

/* ---- one value for all lanes ---- */

/* The levels that are open while the code is walked through. */
typedef struct walk {
    int depth;
    int32_t begins[CODE_LEVELS]; /* the instruction that opened each */
} walk;

static bool opens(int op) { return op == CODE_IF || op == CODE_LOOP || op == CODE_CALL; }
static bool closes(int op)
{
    return op == CODE_END_IF || op == CODE_END_LOOP || op == CODE_END_CALL;
}

static void walk_step(walk *w, const lane_code *c, int k)
{
    if (opens(c->inst[k].op))
        w->begins[w->depth++] = k;
    else if (closes(c->inst[k].op))
        w->depth--;
}

static bool one(const lane_code *c, int32_t r) { return r == CODE_NONE || c->reg[r].one; }

/* True if some lanes may be inactive at the level. left[i] is 1 for a loop or call that some lanes may have
 * left while others stayed. */
static bool differs(const lane_code *c, const uint8_t *left, int32_t begin)
{
    return c->inst[begin].op == CODE_IF ? !one(c, c->inst[begin].a) : left[begin];
}

/* Returns true if the instruction gives one value when all its operands are one value. */
static bool gives_one(const code_inst *i)
{
    switch (i->op) {
    case CODE_ATOMIC:
    case CODE_WARP:
    case CODE_ACTIVE: return false;
    case CODE_LOAD: return !(i->flags & CODE_VOLATILE);
    default: return true;
    }
}

/* An inactive lane may still need the old value of the register that the instruction writes. A lane that has
 * returned needs no register that was first written inside the call. */
static bool some_wait(const lane_code *c, const uint8_t *left, const walk *w, const code_reg *d)
{
    for (int l = 0; l < w->depth; l++) {
        const int32_t begin = w->begins[l];
        if (differs(c, left, begin) && (c->inst[begin].op != CODE_CALL || d->born < begin))
            return true;
    }
    return false;
}

/* Records that some lanes leave a loop or call while others stay; returns true if that is new. */
static bool leave(const lane_code *c, uint8_t *left, const walk *w, const code_inst *i)
{
    bool some = i->op == CODE_WHILE && !one(c, i->a);
    for (int l = i->level + 1; l < w->depth; l++)
        some |= c->inst[w->begins[l]].op != CODE_CALL && differs(c, left, w->begins[l]);
    const bool new = some && !left[w->begins[i->level]];
    left[w->begins[i->level]] |= some;
    return new;
}

/* One pass over the code; true if it found something new. */
static bool differ_pass(lane_code *c, uint8_t *left)
{
    bool changed = false;
    walk w = {0};
    for (int k = 0; k < c->n_inst; k++) {
        const code_inst *i = &c->inst[k];
        walk_step(&w, c, k);
        if (i->op == CODE_WHILE || i->op == CODE_BREAK || i->op == CODE_CONTINUE ||
            i->op == CODE_RETURN)
            changed |= leave(c, left, &w, i);
        if (i->d == CODE_NONE)
            continue;
        code_reg *d = &c->reg[i->d];
        const bool operands = one(c, i->a) && one(c, i->b) && one(c, i->c) && one(c, i->e);
        const bool stays = operands && gives_one(i) && !(d->variable && some_wait(c, left, &w, d));
        changed |= d->one && !stays;
        d->one &= stays;
    }
    return changed;
}

/* ---- warps that must not run in one lock step ---- */

static bool is_read(const lane_code *c, int32_t r)
{
    for (int k = 0; k < c->n_inst; k++) {
        const code_inst *i = &c->inst[k];
        if (i->a == r || i->b == r || i->c == r || i->e == r)
            return true;
    }
    return false;
}

/* True for a barrier that not all lanes reach together, and for a loop that may wait for another warp: it has
 * volatile loads or atomics whose results are used. */
static bool must_be_apart(const lane_code *c, const uint8_t *left)
{
    walk w = {0};
    for (int k = 0; k < c->n_inst; k++) {
        const code_inst *i = &c->inst[k];
        walk_step(&w, c, k);
        const bool shared = (i->op == CODE_ATOMIC && i->d != CODE_NONE && is_read(c, i->d)) ||
                            (i->op == CODE_LOAD && i->flags & CODE_VOLATILE);
        if (i->op != CODE_BARRIER && !shared)
            continue;
        for (int l = 0; l < w.depth; l++) {
            const int op = c->inst[w.begins[l]].op;
            if (op != CODE_CALL && (op == CODE_LOOP || !shared) && differs(c, left, w.begins[l]))
                return true;
        }
    }
    return false;
}

/* ---- slots ---- */

typedef struct life {
    int32_t from, to; /* instructions; from < 0: filled by the machine */
} life;

static void live_at(life *l, int32_t r, int k)
{
    if (r == CODE_NONE)
        return;
    if (l[r].from > k)
        l[r].from = k;
    if (l[r].to < k)
        l[r].to = k;
}

/* A register that is live before a loop and used in it is live throughout the loop. */
static void live_in_loops(const lane_code *c, life *l)
{
    walk w = {0};
    for (int k = 0; k < c->n_inst; k++) {
        walk_step(&w, c, k);
        if (c->inst[k].op != CODE_END_LOOP)
            continue;
        const int32_t first = w.begins[w.depth];
        for (int r = 0; r < c->n_reg; r++)
            if (l[r].from < first && l[r].to >= first && l[r].to < k)
                l[r].to = k;
    }
}

/* First fit; a slot is free after the last use of its register. */
static int give_slot(const life *l, int32_t *busy_until, int *n)
{
    int s = 0;
    while (s < *n && busy_until[s] >= l->from)
        s++;
    *n += s == *n;
    busy_until[s] = l->to;
    return s;
}

static void give_slots(lane_code *c, const life *l, int32_t *busy)
{
    c->n_narrow = c->n_wide = c->n_one = 0;
    for (int filled = 1; filled >= 0; filled--) /* registers that the machine fills come first: they
                                                 * live from the start */
        for (int r = 0; r < c->n_reg; r++) {
            code_reg *reg = &c->reg[r];
            if ((l[r].from < 0) != filled)
                continue;
            if (reg->one)
                reg->slot = c->n_one++;
            else if (ig_dtype_bytes((ig_dtype)reg->dtype) == 8)
                reg->slot = give_slot(&l[r], busy + c->n_reg, &c->n_wide);
            else
                reg->slot = give_slot(&l[r], busy, &c->n_narrow);
        }
}

static void find_lives(lane_code *c, life *lives)
{
    for (int r = 0; r < c->n_reg; r++)
        lives[r] = (life){c->reg[r].origin == ORIGIN_NONE ? INT32_MAX : -1, -1};
    for (int k = 0; k < c->n_inst; k++) {
        const code_inst *i = &c->inst[k];
        const int32_t used[] = {i->d, i->a, i->b, i->c, i->e};
        for (int u = 0; u < 5; u++)
            live_at(lives, used[u], k);
        if (i->op == CODE_PRINT)
            for (int a = 0; a < c->print[i->row].n; a++)
                live_at(lives, c->print[i->row].args[a], k);
    }
    for (int r = 0; r < c->n_reg; r++)
        if (c->reg[r].variable && lives[r].to >= 0 && lives[r].from > c->reg[r].born)
            lives[r].from = c->reg[r].born;
    live_in_loops(c, lives);
}

ig_status code_settle(lane_code *c)
{
    uint8_t *left = memory_new((size_t)c->n_inst + 1);
    life *lives = memory_new(((size_t)c->n_reg + 1) * sizeof *lives);
    int32_t *busy = memory_new(((size_t)c->n_reg + 1) * 2 * sizeof *busy);
    const bool fine = left && lives && busy;
    if (fine) {
        for (int r = 0; r < c->n_reg; r++) {
            const code_origin origin = c->reg[r].origin;
            c->reg[r].one = origin < ORIGIN_THREAD_X || origin >= ORIGIN_BLOCK_X;
        }
        while (differ_pass(c, left))
            ;
        find_lives(c, lives);
        give_slots(c, lives, busy);
        c->apart = must_be_apart(c, left);
    }
    memory_free(left);
    memory_free(lives);
    memory_free(busy);
    return fine ? IG_OK : IG_ERR_MEMORY;
}
