/* Runs lane code: preparation, arithmetic, and control flow by masks.
 *
 * Layout of a gang's memory: narrow registers (4 bytes a lane), wide registers (8 bytes), uniform
 * values, the masks of the open control levels (lanes that entered, lanes that wait for ELSE or
 * NEXT), and a few spare registers. */
#include "engine/backend/cpu/gang/gang.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/ops/ops.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum {
    SPARES = 5,
    PATIENCE = 4096, /* loop iterations until gang_run returns */
    PATIENCE_SHORT = 32,
    WAIT_COST = 512, /* an iteration of a loop that waits counts as so many */
    WAIT_MOST = 32   /* instructions of such a loop */
};

/* ---- preparation ---- */

static int width_of(const lane_code *c, int32_t r)
{
    return r == CODE_NONE ? 0 : (int)ig_dtype_bytes((ig_dtype)c->reg[r].dtype);
}

int32_t gang_home(const gang_code *g, int32_t r)
{
    if (r == CODE_NONE)
        return CODE_NONE;
    const code_reg *reg = &g->code->reg[r];
    const size_t narrow = (size_t)g->code->n_narrow * 4 * (size_t)g->lanes;
    if (reg->one)
        return (int32_t)(g->ones_at + 8 * (size_t)reg->slot);
    return (int32_t)(width_of(g->code, r) == 8 ? narrow + (size_t)reg->slot * 8 * (size_t)g->lanes
                                               : (size_t)reg->slot * 4 * (size_t)g->lanes);
}

static bool is_one(const lane_code *c, int32_t r) { return r == CODE_NONE || c->reg[r].one; }

static map_loop loop_of(const gang_code *g, const code_inst *i, int ones)
{
    const ig_dtype lane = dtype_lane((ig_dtype)i->dtype);
    static const int folds[] = {
        [WARP_ADD] = OP_add,         [WARP_MIN] = OP_minimum,   [WARP_MAX] = OP_maximum,
        [WARP_AND] = OP_bitwise_and, [WARP_OR] = OP_bitwise_or, [WARP_XOR] = OP_bitwise_xor};
    if (i->op == CODE_ROW)
        return g->level->simt->row(i->row, lane);
    if (i->op == CODE_WARP && i->row >= WARP_ADD)
        return g->level->loop(folds[i->row], lane, 0);
    if (i->op != CODE_MAP)
        return NULL;
    /* If all operands are uniform, the loop runs over one lane. */
    const bool some = (ones & GANG_ONE_A) != (ones & GANG_ONE_B) / GANG_ONE_B * GANG_ONE_A;
    const int one = i->b == CODE_NONE || !some ? 0 : ones & (GANG_ONE_A | GANG_ONE_B);
    return g->level->loop(i->row, lane, one);
}

static void make_step(gang_code *g, const code_inst *i, gang_step *s)
{
    const lane_code *c = g->code;
    *s = (gang_step){i->op, i->dtype, i->to, i->flags, i->row,   i->level,  0,        0,   0, 0,
                     0,     0,        0,     i->jump,  i->scale, i->offset, i->place, NULL};
    s->ones = (uint8_t)(is_one(c, i->a) * GANG_ONE_A | is_one(c, i->b) * GANG_ONE_B |
                        is_one(c, i->c) * GANG_ONE_C | is_one(c, i->e) * GANG_ONE_E |
                        is_one(c, i->d) * GANG_ONE_D);
    s->width = (uint8_t)width_of(c, i->d);
    s->d = gang_home(g, i->d);
    s->a = gang_home(g, i->a);
    s->b = gang_home(g, i->b);
    s->c = gang_home(g, i->c);
    s->e = gang_home(g, i->e);
    s->loop = loop_of(g, i, s->ones);
    if (i->flags & CODE_LOCALS)
        s->scale = (int32_t)c->local_bytes;
}

/* True for a short loop that only reads memory which other threads change: another gang is to run soon. A loop that
 * counts, reads its own data or stores does work. */
static bool only_waits(const lane_code *c, int begin, int end)
{
    bool reads = false;
    for (int k = begin; k < end; k++) {
        const code_inst *i = &c->inst[k];
        const bool changes = i->op == CODE_LOAD && i->flags & CODE_VOLATILE;
        const bool counts = i->d != CODE_NONE && c->reg[i->d].variable &&
                            (i->a == i->d || i->b == i->d || i->c == i->d);
        if (i->op == CODE_STORE || i->op == CODE_BARRIER || (i->op == CODE_LOAD && !changes) ||
            counts)
            return false;
        reads |= changes || i->op == CODE_ATOMIC;
    }
    return reads && end - begin <= WAIT_MOST;
}

gang_code *gang_compile(const lane_code *c, int threads)
{
    const int warps = (threads + WARP_LANES - 1) / WARP_LANES;
    const int together = c->apart ? 1 : warps < GANG_WARPS ? warps : GANG_WARPS;
    gang_code *g = memory_new(sizeof *g + (size_t)c->n_inst * sizeof g->step[0]);
    if (!g)
        return NULL;
    g->code = c;
    g->level = cpu_level_now();
    g->threads = threads;
    g->lanes = together * WARP_LANES;
    g->n_gangs = (warps + together - 1) / together;
    g->ones_at = ((size_t)c->n_narrow * 4 + (size_t)c->n_wide * 8) * (size_t)g->lanes;
    g->masks_at = g->ones_at + 8 * (size_t)c->n_one;
    g->spare_at = (g->masks_at + (size_t)c->n_level * 2 * sizeof(gang_mask) + 63) / 64 * 64;
    g->bytes = g->spare_at + SPARES * 8 * (size_t)g->lanes;
    for (int k = 0; k < c->n_inst; k++)
        make_step(g, &c->inst[k], &g->step[k]);
    for (int k = 0; k < c->n_inst; k++)
        if (g->step[k].op == CODE_AGAIN)
            g->step[k].scale = only_waits(c, g->step[k].jump, k) ? WAIT_COST : 1;
    return g;
}

void gang_code_free(gang_code *g) { memory_free(g); }

/* ---- operands ---- */

void *gang_spare(gang *g, int n)
{
    return g->memory + g->code->spare_at + (size_t)n * 8 * (size_t)g->code->lanes;
}

const void *gang_lanes(gang *g, int32_t at, bool is_one, int width, int n)
{
    if (at == CODE_NONE)
        return NULL;
    if (!is_one)
        return g->memory + at;
    g->code->level->simt->spread(width, g->lanes, gang_spare(g, n), g->memory + at);
    return gang_spare(g, n);
}

void *gang_target(gang *g, const gang_step *s)
{
    return s->flags & CODE_MASKED && !g->full ? gang_spare(g, 0) : g->memory + s->d;
}

void gang_keep(gang *g, const gang_step *s, void *from)
{
    if (from != g->memory + s->d)
        g->code->level->simt->blend(s->width, g->lanes, g->memory + s->d, from, g->mask);
}

/* ---- arithmetic ---- */

enum { OPERANDS_ONE = GANG_ONE_A | GANG_ONE_B | GANG_ONE_C };

/* Rounds x to f16 or bf16, towards zero, up or down (1, 2, 3 times CODE_ROUNDING). All operations are exact. */
static float round_directed(ig_dtype to, int mode, float x)
{
    const bool away = mode == 2 ? !signbit(x) : mode == 3 && signbit(x);
    if (isnan(x) || isinf(x))
        return x;
    int exponent;
    frexpf(x, &exponent);
    const int least = to == IG_F16 ? -13 : -125, digits = to == IG_F16 ? 11 : 8;
    const float most = to == IG_F16 ? 65504.0f : 0x1.fep127f;
    const float ulp = ldexpf(1, (exponent < least ? least : exponent) - digits);
    const float near = truncf(x / ulp) * ulp;
    const float r = away && near != x ? near + copysignf(ulp, x) : near;
    return fabsf(r) <= most ? copysignf(r, x) : copysignf(away ? INFINITY : most, x);
}

static void round_all(ig_dtype to, int mode, int64_t n, float *d, const float *a)
{
    for (int64_t i = 0; i < n; i++)
        d[i] = round_directed(to, mode, a[i]);
}

/* Computes n lanes of an instruction. */
static void compute(gang *g, const gang_step *s, int64_t n, void *d, const void *a, const void *b,
                    const void *c)
{
    const cpu_level *level = g->code->level;
    const int mode = s->flags / CODE_ROUNDING % 4;
    switch (s->op) {
    case CODE_CONVERT: level->convert((ig_dtype)s->dtype, (ig_dtype)s->to, n, d, 1, a, 1); break;
    case CODE_ROUND:
        if (mode)
            round_all((ig_dtype)s->to, mode, n, d, a);
        else
            level->round((ig_dtype)s->to, n, d, a);
        break;
    case CODE_COPY: memcpy(d, a, (size_t)n * s->width); break;
    case CODE_PICK: level->loop(OP_where, (ig_dtype)s->dtype, 0)(n, d, a, b, c); break;
    default: s->loop(n, d, a, b, c);
    }
}

static void arithmetic(gang *g, const gang_step *s)
{
    char *m = g->memory;
    const bool all_one = (s->ones & OPERANDS_ONE) == OPERANDS_ONE;
    if (s->ones & GANG_ONE_D) {
        compute(g, s, 1, m + s->d, m + s->a, m + s->b, m + s->c);
        return;
    }
    void *d = gang_target(g, s);
    if (all_one) {
        uint64_t value;
        compute(g, s, 1, &value, m + s->a, m + s->b, m + s->c);
        g->code->level->simt->spread(s->width, g->lanes, d, &value);
    } else if (s->op == CODE_MAP) {
        compute(g, s, g->lanes, d, m + s->a, m + s->b, NULL);
    } else {
        const int width = (int)ig_dtype_bytes(dtype_lane((ig_dtype)s->dtype));
        const int first = s->op == CODE_PICK ? 1 : width;
        compute(g, s, g->lanes, d, gang_lanes(g, s->a, s->ones & GANG_ONE_A, first, 1),
                gang_lanes(g, s->b, s->ones & GANG_ONE_B, width, 2),
                gang_lanes(g, s->c, s->ones & GANG_ONE_C, width, 3));
    }
    gang_keep(g, s, d);
}

/* Runs in another rounding mode: the loops use the mode of the floating-point environment. */
static void arithmetic_rounded(gang *g, const gang_step *s)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    fesetround(modes[s->flags / CODE_ROUNDING % 4]);
    arithmetic(g, s);
    fesetround(FE_TONEAREST);
}

/* ---- control ---- */

/* The masks of a level: the lanes that entered it, and those that wait for ELSE or NEXT. */
static uint32_t *came(gang *g, int level)
{
    return (uint32_t *)(g->memory + g->code->masks_at) + 2 * GANG_WARPS * level;
}
static uint32_t *waits(gang *g, int level) { return came(g, level) + GANG_WARPS; }

void gang_mask_changed(gang *g)
{
    uint32_t any = 0;
    bool full = true;
    for (int w = 0; WARP_LANES * w < g->lanes; w++) {
        const int left = g->lanes - WARP_LANES * w;
        any |= g->mask[w];
        full &= g->mask[w] == (left < WARP_LANES ? (1u << left) - 1 : UINT32_MAX);
    }
    g->any = any != 0;
    g->full = full;
}

/* The lanes whose condition is true. */
static void holds(gang *g, const gang_step *s, uint32_t *mask)
{
    if (s->ones & GANG_ONE_A) {
        memset(mask, g->memory[s->a] ? 0xff : 0, sizeof(gang_mask));
        return;
    }
    memset(mask, 0, sizeof(gang_mask));
    g->code->level->simt->truth(g->lanes, mask, (uint8_t *)g->memory + s->a);
}

void gang_live(const gang *g, uint32_t *mask)
{
    const uint32_t *all = (const uint32_t *)(g->memory + g->code->masks_at);
    for (int w = 0; w < GANG_WARPS; w++)
        mask[w] = all[w] & ~all[GANG_WARPS + w];
}

static void set_mask(gang *g, const uint32_t *mask)
{
    memcpy(g->mask, mask, sizeof(gang_mask));
    gang_mask_changed(g);
}

/* The active lanes leave all levels inside of this one. */
static void leave(gang *g, const gang_step *s)
{
    for (int l = s->level + 1; l <= s->jump; l++)
        for (int w = 0; w < GANG_WARPS; w++)
            came(g, l)[w] &= ~g->mask[w];
    if (s->op != CODE_BREAK)
        for (int w = 0; w < GANG_WARPS; w++)
            waits(g, s->level)[w] |= g->mask[w];
    memset(g->mask, 0, sizeof g->mask);
    g->any = g->full = false;
}

/* Returns the next instruction. */
static int control(gang *g, const gang_step *s)
{
    gang_mask m;
    switch (s->op) {
    case CODE_IF:
        if (s->ones & GANG_ONE_A) {
            memcpy(came(g, s->level), g->mask, sizeof m);
            memset(waits(g, s->level), 0, sizeof m);
            if (g->memory[s->a])
                return g->pc;
            memcpy(waits(g, s->level), g->mask, sizeof m);
            memset(g->mask, 0, sizeof m);
            g->any = g->full = false;
            return s->jump;
        }
        holds(g, s, m);
        for (int w = 0; w < GANG_WARPS; w++) {
            came(g, s->level)[w] = g->mask[w];
            waits(g, s->level)[w] = g->mask[w] & ~m[w];
            g->mask[w] &= m[w];
        }
        gang_mask_changed(g);
        return g->any ? g->pc : s->jump;
    case CODE_ELSE: set_mask(g, waits(g, s->level)); return g->any ? g->pc : s->jump;
    case CODE_END_IF:
    case CODE_END_LOOP: set_mask(g, came(g, s->level)); return g->pc;
    case CODE_LOOP:
    case CODE_CALL:
        memcpy(came(g, s->level), g->mask, sizeof m);
        memset(waits(g, s->level), 0, sizeof m);
        return g->pc;
    case CODE_WHILE:
        holds(g, s, m);
        for (int w = 0; w < GANG_WARPS; w++)
            g->mask[w] &= m[w];
        gang_mask_changed(g);
        return g->any ? g->pc : s->jump;
    case CODE_NEXT:
    case CODE_END_CALL:
        for (int w = 0; w < GANG_WARPS; w++)
            g->mask[w] |= waits(g, s->level)[w];
        memset(waits(g, s->level), 0, sizeof m);
        gang_mask_changed(g);
        return g->pc;
    case CODE_AGAIN: return g->any ? s->jump : g->pc;
    default: leave(g, s); return g->pc;
    }
}

/* ---- the rest ---- */

/* Records a fault of the lowest lane of the mask; returns false. */
static bool gang_fails(gang *g, const gang_step *s, gang_fault_kind kind, const uint32_t *mask)
{
    int lane = 0;
    while (lane < g->lanes && !(mask[lane / WARP_LANES] >> lane % WARP_LANES & 1))
        lane++;
    const uint32_t thread = (uint32_t)(g->first + lane), *dim = g->launch->block;
    *g->fault = (gang_fault){
        .kind = kind,
        .place = s->place,
        .row = s->row,
        .thread = {thread % dim[0], thread / dim[0] % dim[1], thread / (dim[0] * dim[1])}};
    memcpy(g->fault->block, g->block, sizeof g->block);
    return false;
}

static bool check_assert(gang *g, const gang_step *s)
{
    gang_mask m;
    uint32_t broken = 0;
    holds(g, s, m);
    for (int w = 0; w < GANG_WARPS; w++)
        broken |= m[w] = g->mask[w] & ~m[w];
    return !broken || gang_fails(g, s, FAULT_ASSERT, m);
}

static void tell_time(gang *g, const gang_step *s)
{
    const uint64_t now = (uint64_t)clock_ns();
    if (s->ones & GANG_ONE_D) {
        memcpy(g->memory + s->d, &now, sizeof now);
        return;
    }
    void *d = gang_target(g, s);
    g->code->level->simt->spread(8, g->lanes, d, &now);
    gang_keep(g, s, d);
}

/* Counts the votes of this gang. The block's result is available when the gang runs again. */
static void vote(gang *g, const gang_step *s)
{
    gang_mask m;
    g->votes = g->voters = 0;
    if (s->a == CODE_NONE)
        return;
    holds(g, s, m);
    for (int w = 0; w < GANG_WARPS; w++) {
        g->votes += __builtin_popcount(m[w] & g->mask[w]);
        g->voters += __builtin_popcount(g->mask[w]);
    }
}

static void take_votes(gang *g, const gang_step *s)
{
    if (s->d == CODE_NONE)
        return;
    const int32_t said = s->row == BARRIER_COUNT ? g->votes
                         : s->row == BARRIER_AND ? g->votes == g->voters
                                                 : g->votes > 0;
    void *d = s->ones & GANG_ONE_D ? g->memory + s->d : gang_target(g, s);
    g->code->level->simt->spread(4, s->ones & GANG_ONE_D ? 1 : g->lanes, d, &said);
    if (!(s->ones & GANG_ONE_D))
        gang_keep(g, s, d);
}

static bool trap(gang *g, const gang_step *s)
{
    return !g->any || gang_fails(g, s, FAULT_TRAP, g->mask);
}

/* Runs one instruction other than a barrier. Returns false on a fault. */
static bool gang_step_run(gang *g, const gang_step *s)
{
    switch (s->op) {
    case CODE_MAP:
    case CODE_ROW:
    case CODE_CONVERT:
    case CODE_ROUND:
    case CODE_COPY:
    case CODE_PICK: (s->flags < CODE_ROUNDING ? arithmetic : arithmetic_rounded)(g, s); return true;
    case CODE_ADDRESS: gang_address(g, s); return true;
    case CODE_LOAD: return gang_load(g, s);
    case CODE_STORE: return gang_store(g, s);
    case CODE_ATOMIC: return gang_atomic(g, s);
    case CODE_WARP:
    case CODE_ACTIVE: gang_warp(g, s); return true;
    case CODE_PRINT: gang_print(g, s); return true;
    case CODE_ASSERT: return check_assert(g, s);
    case CODE_TRAP: return trap(g, s);
    case CODE_CLOCK: tell_time(g, s); return true;
    case CODE_SYNC: return true;
    default: g->pc = control(g, s); return true;
    }
}

bool gang_run(gang *g)
{
    const gang_step *steps = g->code->step;
    const int end = g->code->code->n_inst;
    int patience = g->spins ? PATIENCE_SHORT : PATIENCE;
    if (g->state == GANG_RELEASED)
        take_votes(g, &steps[g->pc - 1]);
    g->state = GANG_READY;
    while (g->pc < end) {
        const gang_step *s = &steps[g->pc++];
        for (gang_watch *w = g->launch->watch; w; w = w->next)
            if (!w->step(w, g, s))
                return gang_fails(g, s, FAULT_STOPPED, g->mask);
        /* No lane is active: uniform values must not change either. */
        if (!g->any && s->op < CODE_IF)
            continue;
        if (s->op == CODE_BARRIER) {
            vote(g, s);
            g->state = GANG_WAITS;
            return true;
        }
        if (!gang_step_run(g, s))
            return false;
        if (s->op == CODE_AGAIN && (patience -= s->scale) <= 0)
            return true;
    }
    g->state = GANG_ENDED;
    return true;
}
