/* Regions: the control flow around barriers is the block's, the code between them is divided into regions. */
#include "compiler/native/plan.h"

#include "base/memory.h"
#include "engine/ops/op_id.h"

#include <string.h>

enum {
    INST_MOST = 6000, /* longer code takes the host compiler too long */
    SAME_DEPTH = 8,
    FEW_THREADS = 4 /* fewer threads of a block run one by one */
};

/* ---- structure ---- */

static void find_levels(native_plan *p)
{
    int32_t open[CODE_LEVELS];
    int depth = 0;
    for (int k = 0; k < p->c->n_inst; k++) {
        const int op = p->c->inst[k].op;
        p->end[k] = p->other[k] = -1;
        p->opener[k] = depth ? open[depth - 1] : -1;
        if (plan_opens(op)) {
            open[depth++] = k;
        } else if (op == CODE_ELSE) {
            p->other[open[depth - 1]] = k;
        } else if (plan_closes(op)) {
            p->end[open[--depth]] = k;
            p->opener[k] = open[depth];
        }
    }
}

int plan_target(const native_plan *p, int jump)
{
    int t = p->opener[jump];
    while (p->c->inst[t].level != p->c->inst[jump].level)
        t = p->opener[t];
    return t;
}

bool plan_leaves(const native_plan *p, int opening)
{
    for (int k = opening + 1; k < p->end[opening]; k++)
        if (plan_jumps(p->c->inst[k].op) && p->c->inst[k].level < p->c->inst[opening].level)
            return true;
    return false;
}

bool plan_loses(const native_plan *p, int opening)
{
    for (int k = opening + 1; k < p->end[opening]; k++) {
        if (!plan_jumps(p->c->inst[k].op) || p->c->inst[k].level >= p->c->inst[opening].level)
            continue;
        int o = p->opener[k];
        while (o != opening && !plan_differs(p, o))
            o = p->opener[o];
        if (plan_differs(p, o))
            return true;
    }
    return false;
}

/* The instructions around k, up to the one that `to` is, belong to the block. True if something is new. */
static bool surround(native_plan *p, int k, int to)
{
    bool changed = false;
    for (int o = p->opener[k]; o >= 0 && o != to; o = p->opener[o]) {
        changed |= !p->blockwise[o];
        p->blockwise[o] = true;
    }
    return changed;
}

static bool uniform_to(const native_plan *p, int jump, int target)
{
    for (int o = p->opener[jump]; o != target; o = p->opener[o])
        if (p->c->inst[o].op == CODE_IF && !p->c->reg[p->c->inst[o].a].one)
            return false;
    return true;
}

/* A jump that leaves control flow of the block is the block's, too; only a return may be the lanes'. */
static bool jumps_of_block(native_plan *p, const char **why)
{
    bool changed = false;
    for (int k = 0; k < p->c->n_inst && !*why; k++) {
        if (!plan_jumps(p->c->inst[k].op))
            continue;
        const int target = plan_target(p, k);
        if (!p->blockwise[target])
            continue;
        if (uniform_to(p, k, target))
            changed |= surround(p, k, target);
        else if (target != p->kernel)
            *why = "some lanes leave a function or loop with a barrier early";
    }
    return changed;
}

static bool conditions_are_uniform(const native_plan *p)
{
    for (int k = 0; k < p->c->n_inst; k++) {
        const code_inst *i = &p->c->inst[k];
        const bool of_block = (i->op == CODE_IF && p->blockwise[k]) ||
                              (i->op == CODE_WHILE && p->blockwise[p->opener[k]]);
        if (of_block && !p->c->reg[i->a].one)
            return false;
    }
    return true;
}

static void find_blockwise(native_plan *p, const char **why)
{
    memset(p->blockwise, 0, (size_t)p->c->n_inst);
    p->blockwise[p->kernel] = true;
    for (int k = 0; k < p->c->n_inst; k++)
        if (p->c->inst[k].op == CODE_BARRIER)
            surround(p, k, -1);
    while (!*why && jumps_of_block(p, why))
        ;
    if (!*why && !conditions_are_uniform(p))
        *why = "not all lanes reach a barrier together";
}

/* ---- what stays interpreted ---- */

/* Marks a register; true if it is new. */
static bool need(uint8_t *needed, int32_t r)
{
    const bool new = r != CODE_NONE && !needed[r];
    if (new)
        needed[r] = true;
    return new;
}

/* The conditions of the branches around k in the loop. */
static bool need_branches(const native_plan *p, uint8_t *needed, int k, int loop)
{
    bool new = false;
    for (int o = p->opener[k]; o != loop && o >= 0; o = p->opener[o])
        if (p->c->inst[o].op == CODE_IF)
            new |= need(needed, p->c->inst[o].a);
    return new;
}

static bool need_operands(const native_plan *p, uint8_t *needed, int loop)
{
    bool new = false;
    for (int k = loop + 1; k < p->end[loop]; k++) {
        const code_inst *i = &p->c->inst[k];
        if (i->d == CODE_NONE || !needed[i->d])
            continue;
        new |= need(needed, i->a);
        new |= need(needed, i->b);
        new |= need(needed, i->c);
        new |= need(needed, i->e);
        new |= need_branches(p, needed, k, loop);
    }
    return new;
}

/* Marks the registers that decide whether the loop goes on. */
static void need_all(const native_plan *p, uint8_t *needed, int loop)
{
    for (int k = loop + 1; k < p->end[loop]; k++) {
        const code_inst *i = &p->c->inst[k];
        if (i->op == CODE_WHILE && p->opener[k] == loop)
            need(needed, i->a);
        if (plan_jumps(i->op) && i->op != CODE_CONTINUE && i->level <= p->c->inst[loop].level)
            need_branches(p, needed, k, loop);
    }
    while (need_operands(p, needed, loop))
        ;
}

static bool is_written(const native_plan *p, int32_t r, int loop)
{
    for (int k = loop + 1; k < p->end[loop] && r != CODE_NONE; k++)
        if (p->c->inst[k].d == r)
            return true;
    return false;
}

static bool has_barrier(const native_plan *p, int loop)
{
    for (int k = loop + 1; k < p->end[loop]; k++)
        if (p->c->inst[k].op == CODE_BARRIER)
            return true;
    return false;
}

/* A value of shared memory in a loop with a barrier: only the block writes it, and all its threads go on together. */
static bool is_own(const code_inst *i, bool together)
{
    return together && (i->flags & (CODE_OWN | CODE_VOLATILE)) == CODE_OWN;
}

/* A value that a block may wait for in the loop. */
static bool is_awaited(const native_plan *p, const code_inst *i, int loop)
{
    return i->op == CODE_ATOMIC || (i->op == CODE_LOAD && p->c->reg[i->a].origin != ORIGIN_LOCAL &&
                                    (i->flags & CODE_VOLATILE ||
                                     (!is_written(p, i->a, loop) && !is_written(p, i->b, loop))));
}

/* A loop whose end depends on memory that another thread may write: it might wait for a block that has not begun, which
 * native code would never begin. If it depends on shared memory, any value may have gone there. */
static bool waits(const native_plan *p, int loop)
{
    const bool together = has_barrier(p, loop);
    bool found = false, any = false, changes = false, own = false;
    uint8_t *needed = memory_new((size_t)p->c->n_reg + 1);
    if (!needed)
        return true;
    need_all(p, needed, loop);
    for (int k = loop + 1; k < p->end[loop]; k++) {
        const code_inst *i = &p->c->inst[k];
        if (i->d == CODE_NONE)
            continue;
        const bool here = is_own(i, together), awaited = is_awaited(p, i, loop);
        changes |= p->c->reg[i->d].variable;
        any |= awaited && !here;
        found |= needed[i->d] && awaited && !(here && i->op == CODE_LOAD);
        own |= needed[i->d] && here && i->op == CODE_LOAD;
    }
    memory_free(needed);
    return found || (own ? any : !changes);
}

static const char *refusal(const native_plan *p, int k)
{
    const code_inst *i = &p->c->inst[k];
    if (i->op == CODE_PRINT)
        return "it prints";
    if (i->flags >= CODE_ROUNDING)
        return "it uses a rounding mode";
    if (i->op == CODE_ATOMIC && (i->to == IG_F16 || i->to == IG_BF16))
        return "it has atomics of 16-bit floats";
    if (i->op == CODE_LOOP && waits(p, k))
        return "it waits in a loop for a value in memory";
    return NULL;
}

/* ---- regions ---- */

/* An instruction on values of the block only, which any number of groups may repeat. */
static bool is_uniform(const native_plan *p, int k, bool may_load)
{
    const code_inst *i = &p->c->inst[k];
    const bool arithmetic =
        i->op <= CODE_PICK || i->op == CODE_ADDRESS || (may_load && i->op == CODE_LOAD);
    return arithmetic && i->d != CODE_NONE && p->c->reg[i->d].one;
}

static void add_region(native_plan *p, int from, int to)
{
    while (from < to && is_uniform(p, from, true))
        from++;
    while (from < to && is_uniform(p, to - 1, false))
        to--;
    if (from == to)
        return;
    for (int k = from; k < to; k++)
        p->part[k] = p->n_region;
    p->region[p->n_region++] = (native_region){.from = from, .to = to};
}

static void find_regions(native_plan *p)
{
    int from = 0;
    p->n_region = 0;
    for (int k = 0; k < p->c->n_inst; k++)
        p->part[k] = REGION_NONE;
    for (int k = 0; k < p->c->n_inst; k++) {
        const int op = p->c->inst[k].op;
        if (plan_opens(op) && !p->blockwise[k]) {
            k = p->end[k];
            continue;
        }
        if (op < CODE_IF && op != CODE_BARRIER)
            continue;
        add_region(p, from, k);
        from = k + 1;
    }
}

/* ---- lanes that exchange values ---- */

bool plan_same(const native_plan *p, int32_t a, int32_t b, int depth)
{
    if (a == b)
        return true;
    if (a == CODE_NONE || b == CODE_NONE || depth == SAME_DEPTH)
        return false;
    const code_reg *x = &p->c->reg[a], *y = &p->c->reg[b];
    if (x->dtype != y->dtype || x->variable || y->variable)
        return false;
    if (x->origin || y->origin)
        return x->origin == y->origin && x->bits == y->bits;
    if (p->def[a] < 0 || p->def[b] < 0)
        return false;
    const code_inst *i = &p->c->inst[p->def[a]], *k = &p->c->inst[p->def[b]];
    const bool pure = i->op <= CODE_PICK || i->op == CODE_ADDRESS;
    return pure && i->op == k->op && i->dtype == k->dtype && i->to == k->to && i->row == k->row &&
           i->scale == k->scale && i->offset == k->offset && i->flags == k->flags &&
           plan_same(p, i->a, k->a, depth + 1) && plan_same(p, i->b, k->b, depth + 1) &&
           plan_same(p, i->c, k->c, depth + 1);
}

static bool is_local(const native_plan *p, const code_inst *i)
{
    return p->c->reg[i->a].origin == ORIGIN_LOCAL;
}

/* Whether the load may read what another lane of the warp stores. That a program relies on it without a barrier is common in
 * shared memory only; elsewhere it is a race, as between warps. */
static bool exchanges(const native_plan *p, const code_inst *load, const code_inst *store)
{
    if (is_local(p, load) || is_local(p, store))
        return false;
    if (!(p->space[load->a] & p->space[store->a] & IN_SHARED))
        return false;
    if (load->object && store->object && load->object != store->object)
        return false;
    return !(plan_same(p, load->a, store->a, 0) && plan_same(p, load->b, store->b, 0) &&
             load->scale == store->scale && load->offset == store->offset && load->to == store->to);
}

static bool region_exchanges(const native_plan *p, const native_region *r)
{
    for (int k = r->from; k < r->to; k++) {
        const code_inst *i = &p->c->inst[k];
        if (i->op == CODE_WARP || i->op == CODE_ACTIVE || i->op == CODE_SYNC ||
            i->flags & CODE_LOCALS || (i->op == CODE_LOAD && i->flags & CODE_VOLATILE))
            return true;
        for (int s = r->from; s < r->to && i->op == CODE_LOAD; s++)
            if (p->c->inst[s].op == CODE_STORE && exchanges(p, i, &p->c->inst[s]))
                return true;
    }
    return false;
}

/* ---- lane by lane ---- */

static bool addresses_vary(const native_plan *p, const code_inst *i)
{
    return p->kind[i->a] == KIND_VARY || (i->b != CODE_NONE && p->kind[i->b] == KIND_VARY);
}

/* A loop that lanes leave at different times, and that loads from addresses without a pattern. */
static bool better_by_lane(const native_plan *p, const native_region *r)
{
    for (int k = r->from; k < r->to; k++) {
        if (p->c->inst[k].op != CODE_LOOP || !plan_differs(p, k))
            continue;
        for (int m = k; m < p->end[k]; m++)
            if (p->c->inst[m].op == CODE_LOAD && addresses_vary(p, &p->c->inst[m]))
                return true;
    }
    return false;
}

/* ---- homes ---- */

static void touch(native_plan *p, int32_t r, int k)
{
    if (r == CODE_NONE || p->c->reg[r].origin != ORIGIN_NONE)
        return;
    const int32_t part = p->part[k] == REGION_NONE ? HOME_MANY : p->part[k];
    int32_t *home = &p->home[r];
    *home = *home == HOME_NONE || *home == part ? part : HOME_MANY;
    for (int o = p->opener[k]; o >= 0 && p->c->reg[r].variable; o = p->opener[o])
        if (p->blockwise[o] && p->c->inst[o].op == CODE_LOOP && p->c->reg[r].born <= o)
            *home = HOME_MANY;
}

static void find_homes(native_plan *p)
{
    for (int r = 0; r < p->c->n_reg; r++) {
        p->home[r] = HOME_NONE;
        p->frame[r] = -1;
    }
    for (int k = 0; k < p->c->n_inst; k++) {
        const code_inst *i = &p->c->inst[k];
        const int32_t used[] = {i->d, i->a, i->b, i->c, i->e};
        for (int u = 0; u < 5; u++)
            touch(p, used[u], k);
    }
}

static void find_frame(native_plan *p)
{
    size_t at = 0;
    for (int r = 0; r < p->c->n_reg; r++) {
        if (p->home[r] != HOME_MANY || p->kind[r] == KIND_ONE)
            continue;
        const size_t wide = ig_dtype_bytes((ig_dtype)p->c->reg[r].dtype) == 8 ? 8 : 4;
        const size_t n =
            p->kind[r] == KIND_VARY ? (size_t)p->groups * (size_t)p->lanes : (size_t)p->groups;
        p->frame[r] = (int64_t)at;
        at = (at + wide * n + 63) / 64 * 64;
    }
    at = plan_own_frame(p, at);
    p->live_at = at;
    at += p->keeps_live ? 4 * (size_t)p->groups * (size_t)p->lanes : 0;
    p->frame_bytes = at;
}

/* Code of the block may follow the region. */
static bool is_followed(const native_plan *p, int region)
{
    const native_region *r = &p->region[region];
    for (int o = p->opener[r->from]; o >= 0; o = p->opener[o])
        if (p->c->inst[o].op == CODE_LOOP)
            return true;
    for (int k = r->to; k < p->c->n_inst; k++)
        if (p->part[k] != REGION_NONE || p->c->inst[k].op == CODE_BARRIER)
            return true;
    return false;
}

static void find_returns(native_plan *p)
{
    p->keeps_live = false;
    for (int k = 0; k < p->c->n_inst; k++)
        if (p->c->inst[k].op == CODE_RETURN && p->part[k] != REGION_NONE &&
            plan_target(p, k) == p->kernel) {
            p->region[p->part[k]].leaves = true;
            p->keeps_live |= is_followed(p, p->part[k]);
        }
}

/* ---- all of it ---- */

static void set_width(native_plan *p, int width)
{
    p->width = width;
    p->lanes = p->lockstep ? 32 : width;
    p->units = p->lanes / width;
    p->groups = (p->threads + p->lanes - 1) / p->lanes;
    plan_facts(p);
    plan_kinds(p);
}

static bool some_are_wide(const native_plan *p)
{
    for (int r = 0; r < p->c->n_reg; r++)
        if (p->kind[r] == KIND_VARY && ig_dtype_bytes((ig_dtype)p->c->reg[r].dtype) == 8)
            return true;
    return false;
}

static void read_at(native_plan *p, int32_t r, int k)
{
    if (r == CODE_NONE)
        return;
    p->first_read[r] = p->first_read[r] < 0 ? k : p->first_read[r];
    p->last_read[r] = k;
}

static void find_uses(native_plan *p)
{
    for (int r = 0; r < p->c->n_reg; r++)
        p->def[r] = p->first_read[r] = p->last_read[r] = -1;
    for (int k = 0; k < p->c->n_inst; k++) {
        const code_inst *i = &p->c->inst[k];
        if (i->d != CODE_NONE && !p->c->reg[i->d].variable)
            p->def[i->d] = k;
        const int32_t used[] = {i->a, i->b, i->c, i->e};
        for (int u = 0; u < 4; u++)
            read_at(p, used[u], k);
    }
}

static const char *plan_refuses(native_plan *p)
{
    const char *why = NULL;
    if (p->c->apart)
        return "its warps must run one after another";
    if (p->c->n_inst > INST_MOST)
        return "it is too long";
    find_levels(p);
    while (p->c->inst[p->kernel].op != CODE_CALL)
        p->kernel++;
    for (int k = 0; k < p->c->n_inst && !why; k++)
        why = refusal(p, k);
    if (!why)
        find_blockwise(p, &why);
    return why;
}

static bool plan_memory(native_plan *p)
{
    const size_t n = (size_t)p->c->n_inst + 1, m = (size_t)p->c->n_reg + 1;
    p->region = memory_new(n * sizeof *p->region);
    p->end = memory_new(4 * n * sizeof *p->end);
    p->blockwise = memory_new(2 * n + m);
    p->kind = memory_new(m);
    p->stride = memory_new(2 * m * sizeof *p->stride);
    p->def = memory_new(4 * m * sizeof *p->def);
    p->pattern = memory_new(m * GROUP_LANES * sizeof *p->pattern);
    p->most = memory_new(m * sizeof *p->most);
    p->align = memory_new(2 * m);
    p->own = memory_new(((size_t)p->c->n_object + 1) * sizeof *p->own);
    if (!p->pattern || !p->most || !p->align || !p->own || !p->region || !p->end || !p->blockwise ||
        !p->kind || !p->stride || !p->def)
        return false;
    p->other = p->end + n;
    p->opener = p->other + n;
    p->part = p->opener + n;
    p->left = p->blockwise + n + m;
    p->frame = p->stride + m;
    p->home = p->def + m;
    p->space = p->align + m;
    p->first_read = p->home + m;
    p->last_read = p->first_read + m;
    return true;
}

ig_status plan_make(native_plan *p, const lane_code *c, const uint32_t block[3], int width,
                    const char **why)
{
    *p = (native_plan){.c = c, .threads = (int)(block[0] * block[1] * block[2])};
    memcpy(p->block, block, sizeof p->block);
    if (!plan_memory(p))
        return IG_ERR_MEMORY;
    *why = plan_refuses(p);
    if (*why)
        return IG_ERR_UNSUPPORTED;
    find_uses(p);
    find_regions(p);
    p->lanes = 1;
    plan_facts(p);
    for (int r = 0; r < p->n_region; r++)
        p->lockstep |= region_exchanges(p, &p->region[r]);
    set_width(p, width);
    if (some_are_wide(p) && width > 4)
        set_width(p, width / 2);
    for (int r = 0; r < p->n_region && !p->lockstep; r++)
        p->region[r].by_lane = p->threads < FEW_THREADS || better_by_lane(p, &p->region[r]);
    find_returns(p);
    find_homes(p);
    plan_own(p);
    find_frame(p);
    return IG_OK;
}

void plan_free(native_plan *p)
{
    memory_free(p->region);
    memory_free(p->end);
    memory_free(p->blockwise);
    memory_free(p->kind);
    memory_free(p->stride);
    memory_free(p->def);
    memory_free(p->pattern);
    memory_free(p->most);
    memory_free(p->align);
    memory_free(p->own);
}
