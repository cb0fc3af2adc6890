/* Running a tape over blocks: each instruction is one loop over at most TAPE_BLOCK lanes.
 *
 * Invariant: what a block computes depends on its points only, never on where blocks begin or which
 * worker runs them. A register is its own block of scratch, or points at data in place: at what a
 * LOAD would only copy, or at where a STORE will put it. Stores stand last on a tape, and a buffer
 * that is both read and written is so through one view, so data in place is read before it changes. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/raw.h"

#include <assert.h>
#include <string.h>

enum { LINE = 64, NOT_DIRECT = -1 };

/* How an operand is reached. */
typedef struct operand_plan {
    char *base;
    const raw_moves *moves;
    bool half;   /* f16, bf16: stored otherwise than in lanes */
    bool packed; /* all points lie one after another */
    char *splat; /* a LOAD of one element for all points: its lanes */
} operand_plan;

typedef struct tape_plan {
    operand_plan *operand;
    char **own;      /* of each register: its block */
    int16_t *direct; /* of each instruction: the operand into which it may write its result */
    char *spare;     /* a block for what waits between two steps ... */
    char *narrow;    /* ... and one for elements of 16 bits */
} tape_plan;

static size_t round_up(size_t bytes) { return (bytes + LINE - 1) & ~(size_t)(LINE - 1); }

static size_t lane_bytes(int dtype) { return ig_dtype_bytes(dtype_lane((ig_dtype)dtype)); }

/* Bytes of a lane of what the instruction leaves in dst; 0 if it needs no block. */
static size_t inst_bytes(const tape *t, const tape_inst *in)
{
    switch ((tape_code)in->code) {
    case TAPE_LOAD:
    case TAPE_READ: return lane_bytes((int)t->operand[in->operand].dtype);
    case TAPE_MAP: return lane_bytes(in->dtype);
    case TAPE_CAST:
    case TAPE_ROUND:
    case TAPE_BITS: return lane_bytes(in->to);
    case TAPE_IOTA: return sizeof(int64_t);
    case TAPE_STORE:
    case TAPE_CORE: break;
    }
    return 0;
}

/* True if the operand shows one element at all points. */
static bool is_constant(const operand *o)
{
    for (int i = 0; i < o->v.ndim; i++)
        if (o->v.shape[i] != 1 && o->v.stride[i] != 0)
            return false;
    return true;
}

static int64_t block_points(const tape *t) { return t->size < TAPE_BLOCK ? t->size : TAPE_BLOCK; }

/* A cursor over scratch; with base NULL it only counts. */
typedef struct arena {
    char *base;
    size_t used;
} arena;

static void *arena_take(arena *a, size_t bytes)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += round_up(bytes);
    return p;
}

/* ---- starting ---- */

/* A register's block fits the widest of its values. */
static void take_blocks(const tape *t, arena *a, char **own)
{
    for (int r = 0; r < t->n_reg; r++)
        own[r] = NULL;
    for (int k = 0; k < t->n_inst; k++) {
        const size_t bytes = inst_bytes(t, &t->inst[k]);
        char **width = bytes ? &own[t->inst[k].dst] : NULL; /* not yet an address */
        if (width && (size_t)(uintptr_t)*width < bytes)
            *width = (char *)(uintptr_t)bytes;
    }
    for (int r = 0; r < t->n_reg; r++)
        own[r] = arena_take(a, (size_t)block_points(t) * (size_t)(uintptr_t)own[r]);
}

size_t tape_scratch_bytes(const tape *t)
{
    arena a = {NULL, 0};
    arena_take(&a, sizeof(tape_plan));
    arena_take(&a, (size_t)t->n_reg * sizeof(void *));
    arena_take(&a, (size_t)t->n_reg * sizeof(char *));
    arena_take(&a, (size_t)t->n_operand * sizeof(operand_plan));
    arena_take(&a, (size_t)t->n_inst * sizeof(int16_t));
    for (int i = 0; i < t->n_reg + 2; i++) /* blocks of the registers, spare and narrow */
        arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_LOAD && is_constant(&t->operand[t->inst[k].operand]))
            arena_take(&a, (size_t)block_points(t) * inst_bytes(t, &t->inst[k]));
    return a.used + LINE;
}

static void plan_operands(tape_run *run, tape_plan *plan)
{
    for (int i = 0; i < run->t->n_operand; i++) {
        const operand *o = &run->t->operand[i];
        plan->operand[i] = (operand_plan){
            .base = operand_host(o, run->bindings),
            .moves = raw_moves_of(o->dtype),
            .half = dtype_is_half(o->dtype),
            .packed = view_is_contiguous(&o->v),
        };
    }
}

/* Spreads the elements that all points share, once for the whole run. */
static void plan_constants(tape_run *run, tape_plan *plan, arena *a)
{
    const tape *t = run->t;
    for (int k = 0; k < t->n_inst; k++) {
        const tape_inst *in = &t->inst[k];
        if (in->code != TAPE_LOAD || !is_constant(&t->operand[in->operand]))
            continue;
        const ig_dtype dtype = t->operand[in->operand].dtype, lane = dtype_lane(dtype);
        operand_plan *o = &plan->operand[in->operand];
        uint64_t one = 0;
        run->level->convert(dtype, lane, 1, &one, 1, o->base, 1);
        o->splat = arena_take(a, (size_t)block_points(t) * inst_bytes(t, in));
        raw_moves_of(lane)->splat(block_points(t), o->splat, &one);
    }
}

/* True if what the k-th instruction writes into operand o early could be read by a later one. */
static bool is_read_later(const tape_run *run, const tape_plan *plan, int k, int o)
{
    const tape *t = run->t;
    bool aliased = false;
    for (int i = 0; i < t->n_inst && !aliased; i++) {
        const int from = t->inst[i].operand;
        const bool reads = t->inst[i].code == TAPE_LOAD || t->inst[i].code == TAPE_READ;
        aliased = reads && plan->operand[from].base == plan->operand[o].base;
    }
    for (int i = k + 1; i < t->n_inst && aliased; i++)
        if (t->inst[i].code != TAPE_STORE)
            return true;
    return false;
}

/* Finds, for each STORE, the instruction that may write its result in place. */
static void plan_direct(const tape_run *run, tape_plan *plan)
{
    const tape *t = run->t;
    for (int k = 0; k < t->n_inst; k++)
        plan->direct[k] = NOT_DIRECT;
    for (int s = 0; s < t->n_inst; s++) {
        const tape_inst *store = &t->inst[s];
        if (store->code != TAPE_STORE || plan->operand[store->operand].half)
            continue;
        int k = s - 1;
        while (k >= 0 && (t->inst[k].code == TAPE_STORE || t->inst[k].dst != store->a))
            k--;
        if (k < 0 || t->inst[k].code == TAPE_LOAD || t->inst[k].code == TAPE_CORE)
            continue;
        if (plan->direct[k] == NOT_DIRECT && !is_read_later(run, plan, k, store->operand))
            plan->direct[k] = store->operand;
    }
}

void tape_start(tape_run *run, const tape *t, const binding *bindings, cpu_fault *fault,
                void *scratch)
{
    arena a = {scratch, 0};
    a.used = round_up((size_t)(uintptr_t)scratch) - (size_t)(uintptr_t)scratch;
    *run = (tape_run){.t = t, .level = cpu_level_now(), .bindings = bindings, .fault = fault};
    tape_plan *plan = run->plan = arena_take(&a, sizeof *plan);
    run->reg = arena_take(&a, (size_t)t->n_reg * sizeof *run->reg);
    plan->own = arena_take(&a, (size_t)t->n_reg * sizeof *plan->own);
    plan->operand = arena_take(&a, (size_t)t->n_operand * sizeof *plan->operand);
    plan->direct = arena_take(&a, (size_t)t->n_inst * sizeof *plan->direct);
    plan->spare = arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    plan->narrow = arena_take(&a, (size_t)block_points(t) * sizeof(uint16_t));
    take_blocks(t, &a, plan->own);
    plan_operands(run, plan);
    plan_constants(run, plan, &a);
    plan_direct(run, plan);
}

int64_t tape_cost(const tape *t) { return t->n_inst > 0 ? t->n_inst : 1; }

/* ---- one block: [start, start + n) ---- */

typedef struct block {
    tape_run *run;
    const tape_plan *plan;
    int64_t start, n;
    const void *core;
} block;

/* Where the block's points of operand i lie one after another, or NULL. */
static char *in_place(const block *b, int i)
{
    const operand *o = &b->run->t->operand[i];
    const operand_plan *p = &b->plan->operand[i];
    if (p->packed)
        return p->base + b->start * (int64_t)ig_dtype_bytes(o->dtype);
    return raw_in_place(o, p->base, b->start, b->n);
}

/* Where the k-th instruction is to write its result, which is then what its register shows. */
static void *result(const block *b, int k)
{
    const int dst = b->run->t->inst[k].dst, direct = b->plan->direct[k];
    void *to = direct == NOT_DIRECT ? NULL : in_place(b, direct);
    return b->run->reg[dst] = to ? to : b->plan->own[dst];
}

static void do_load(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    if (p->splat) {
        b->run->reg[in->dst] = p->splat;
        return;
    }
    char *data = in_place(b, in->operand);
    if (data && !p->half) {
        b->run->reg[in->dst] = data;
        return;
    }
    void *lanes = b->run->reg[in->dst] = b->plan->own[in->dst];
    if (!data) {
        view_walk w;
        walk_start(&w, &o->v, b->start);
        data = p->half ? b->plan->narrow : lanes;
        p->moves->gather(&w, b->n, data, p->base);
    }
    if (p->half)
        b->run->level->convert(o->dtype, IG_F32, b->n, lanes, 1, data, 1);
}

static void do_store(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    const void *data = b->run->reg[in->a];
    char *to = in_place(b, in->operand);
    if (p->half) {
        char *packed = to ? to : b->plan->narrow;
        b->run->level->convert(IG_F32, o->dtype, b->n, packed, 1, data, 1);
        data = packed;
    }
    if (to && to != data)
        memmove(to, data, (size_t)b->n * ig_dtype_bytes(o->dtype));
    if (!to) {
        view_walk w;
        walk_start(&w, &o->v, b->start);
        p->moves->scatter(&w, b->n, p->base, data);
    }
}

static void do_map(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    void **reg = b->run->reg;
    const void *x = reg[in->a], *y = in->b >= 0 ? reg[in->b] : NULL;
    const void *z = in->c >= 0 ? reg[in->c] : NULL;
    b->run->level->map(in->op, (ig_dtype)in->dtype, b->n, result(b, k), x, y, z);
}

static void do_cast(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const cpu_level *level = b->run->level;
    const ig_dtype from = dtype_lane((ig_dtype)in->dtype), to = (ig_dtype)in->to;
    const void *x = b->run->reg[in->a];
    void *d = result(b, k);
    if (!dtype_is_half(to)) {
        level->convert(from, to, b->n, d, 1, x, 1);
    } else if (from == IG_F32) {
        level->round(to, b->n, d, x);
    } else {
        level->convert(from, to, b->n, b->plan->narrow, 1, x, 1);
        level->convert(to, IG_F32, b->n, d, 1, b->plan->narrow, 1);
    }
}

static void do_round(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const float *x = b->run->reg[in->a];
    b->run->level->round((ig_dtype)in->to, b->n, result(b, k), x);
}

static void do_iota(const block *b, int k)
{
    int64_t *d = result(b, k);
    for (int64_t i = 0; i < b->n; i++)
        d[i] = b->start + i;
}

static void do_bits(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const int words = (int)view_size(&o->v);
    uint32_t key[4] = {0};
    assert(words == 2 || words == 4);
    raw_read(o, b->run->bindings, 0, words, key);
    b->run->level->bits((ig_dtype)in->to, key, words, o->axis_len + b->start, b->n, result(b, k));
}

static void do_read(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    const int64_t *index = b->run->reg[in->a];
    int64_t *offset = (int64_t *)b->plan->spare;
    raw_index(o, b->start, b->n, index, offset, b->run->fault);
    void *d = result(b, k);
    p->moves->fetch(b->n, p->half ? b->plan->narrow : d, p->base, offset);
    if (p->half)
        b->run->level->convert(o->dtype, IG_F32, b->n, d, 1, b->plan->narrow, 1);
}

static void do_core(const block *b, int k)
{
    b->run->reg[b->run->t->inst[k].dst] = (void *)b->core;
}

void tape_block(tape_run *run, int64_t start, int64_t n, const void *core)
{
    static void (*const code[])(const block *b, int k) = {
        [TAPE_LOAD] = do_load, [TAPE_STORE] = do_store, [TAPE_MAP] = do_map,
        [TAPE_CAST] = do_cast, [TAPE_ROUND] = do_round, [TAPE_IOTA] = do_iota,
        [TAPE_BITS] = do_bits, [TAPE_READ] = do_read,   [TAPE_CORE] = do_core,
    };
    assert(start >= 0 && n > 0 && n <= TAPE_BLOCK && start + n <= run->t->size);
    const block b = {run, run->plan, start, n, core};
    for (int k = 0; k < run->t->n_inst; k++)
        code[run->t->inst[k].code](&b, k);
}
