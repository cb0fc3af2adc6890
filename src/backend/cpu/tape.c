/* Running a tape over blocks: each instruction is one loop over at most TAPE_BLOCK lanes.
 *
 * Invariant: what a block computes depends on its points only, never on where blocks begin or which
 * worker runs them. A register is its own block of scratch, or points at data in place: at what a
 * LOAD would only copy, or at where a STORE will put it. Stores stand last on a tape, and a buffer
 * that is both read and written is so through one view, so data in place is read before it changes.
 * What all points of a block share (a number, a row's mean) is one value in its register, and what
 * is made of such values alone is computed once. Where all rows of a space take the same steps, these
 * are bound when the run starts, and a row only moves the pointers. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/raw.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

enum {
    LINE = 64,
    NOT_DIRECT = -1,
    STEP_MOST = 16,    /* MAPs that go through a block together ... */
    STEP_BYTES = 1024, /* ... and what each computes at a time, of a block that comes from memory */
    STREAM_BLOCK = 8192 /* points of a block of a tape that needs no more scratch for it */
};

/* How an operand is reached. */
typedef struct operand_plan {
    char *base;
    const raw_moves *moves;
    int64_t bytes; /* of an element */
    bool half;     /* f16, bf16: stored otherwise than in lanes */
    bool packed;   /* all points lie one after another */
    bool constant; /* all points are one element ... */
    uint64_t lane; /* ... which is this lane */
    view_walk walk;
    int64_t at;          /* the point at which the walk stands; -1: nowhere */
    char *tile;          /* it lies along the tile axis: n points of TAPE_TILE_ROWS rows ... */
    int64_t tile_at;     /* ... from this offset on ... */
    int64_t tile_points; /* ... with this n; 0: none */
} operand_plan;

/* How an instruction is run. */
typedef struct inst_plan {
    int direct;    /* the operand into which it may write its result, or NOT_DIRECT */
    int one;       /* MAP: its inputs of one value (MAP_ONE_*) when it last ran; -1: not yet */
    map_loop loop; /* MAP: its loop then */
    size_t bytes;  /* MAP that can share steps with others: of a lane; else 0 */
} inst_plan;

/* Where row r of the space finds or leaves values: at + r * move; in a register's own block, where the
 * r-th row of the block does. */
typedef struct row_place {
    char *at;
    int64_t move;
    bool one;    /* one value for all points of the row */
    bool own;    /* in such a block */
    bool packed; /* rows lie one after another */
} row_place;

typedef struct row_step {
    map_loop loop;
    row_place d, x[3];
} row_step;

/* A tape over rows that all run alike, see plan_rows. */
typedef struct rows_plan {
    int64_t points;   /* of a row; 0: it is no such tape */
    int64_t most;     /* rows of a block that are better run so */
    row_place *shown; /* of each register: what it shows at the end */
    row_step *step;
    int n_step;
    size_t bytes; /* of a lane: the same in all steps */
} rows_plan;

typedef struct tape_plan {
    operand_plan *operand;
    inst_plan *inst;
    rows_plan rows;
    char **own; /* of each register: its block */
    int tile_axis;
    char *spare;  /* a block for what waits between two steps ... */
    char *narrow; /* ... and another, for elements of 16 bits too */
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

/* True if the instruction can share steps (see do_maps) with others whose lanes have as many bytes.
 * Registers are used again, so lanes of different sizes could lie on each other. */
static bool is_step(const tape_inst *in)
{
    return in->code == TAPE_MAP && op_rows[in->op].result == RESULT_SAME;
}

/* True if register r is one value when the k-th instruction takes it. */
static bool is_constant_at(const tape *t, int k, int r)
{
    while (--k >= 0)
        if (t->inst[k].code != TAPE_STORE && t->inst[k].dst == r)
            return t->inst[k].code == TAPE_LOAD && is_constant(&t->operand[t->inst[k].operand]);
    return false;
}

/* True if all is in place but what is between the steps of one run of MAPs, the last of which is
 * stored. */
static bool is_streamed(const tape *t)
{
    size_t bytes = 0;
    int steps = 0;
    const tape_inst *last = t->n_inst > 1 ? &t->inst[t->n_inst - 1] : NULL;
    if (!last || last->code != TAPE_STORE || last[-1].code != TAPE_MAP || last[-1].dst != last->a)
        return false;
    for (int k = 0; k < t->n_inst; k++) {
        const tape_inst *in = &t->inst[k];
        const operand *o = in->code == TAPE_MAP ? NULL : &t->operand[in->operand];
        if (in->code != TAPE_LOAD && in != last && !is_step(in))
            return false;
        if (o && (dtype_is_half(o->dtype) ||
                  !(view_is_contiguous(&o->v) || (is_constant(o) && in->code == TAPE_LOAD))))
            return false;
        if (o)
            continue;
        if ((bytes && bytes != lane_bytes(in->dtype)) || ++steps > STEP_MOST ||
            (is_constant_at(t, k, in->a) && (in->b < 0 || is_constant_at(t, k, in->b))))
            return false;
        bytes = lane_bytes(in->dtype);
    }
    return steps > 0;
}

/* True if the operand's elements lie along axis, and its rows far apart. */
static bool lies_along(const operand *o, int axis)
{
    const int64_t step = o->v.stride[o->v.ndim - 1];
    return o->v.stride[axis] == 1 && step != 0 && step != 1;
}

int tape_tile_axis(const tape *t)
{
    enum { SHORTEST = 32 };
    for (int k = 0; k < t->n_inst && t->ndim > 1 && t->shape[t->ndim - 1] >= SHORTEST; k++)
        for (int axis = 0; axis < t->ndim - 1 && t->inst[k].code == TAPE_LOAD; axis++)
            if (t->shape[axis] > 1 && lies_along(&t->operand[t->inst[k].operand], axis))
                return axis;
    return -1;
}

int64_t tape_most_points(const tape *t) { return is_streamed(t) ? STREAM_BLOCK : TAPE_BLOCK; }

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

static size_t tile_bytes(const operand *o, int axis)
{
    const bool tiled = o->v.ndim > axis + 1 && lies_along(o, axis);
    return tiled ? (size_t)TAPE_TILE * TAPE_TILE_ROWS * ig_dtype_bytes(o->dtype) : 0;
}

size_t tape_scratch_bytes(const tape *t)
{
    arena a = {NULL, 0};
    arena_take(&a, sizeof(tape_plan));
    arena_take(&a, (size_t)t->n_reg * sizeof(void *));
    arena_take(&a, (size_t)t->n_reg * sizeof(bool));
    arena_take(&a, (size_t)t->n_reg * sizeof(char *));
    arena_take(&a, (size_t)t->n_operand * sizeof(operand_plan));
    arena_take(&a, (size_t)t->n_inst * sizeof(inst_plan));
    arena_take(&a, (size_t)t->n_reg * sizeof(row_place));
    arena_take(&a, STEP_MOST * sizeof(row_step));
    for (int i = 0; i < t->n_reg + 2; i++) /* blocks of the registers, spare and narrow */
        arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    const int axis = tape_tile_axis(t);
    for (int i = 0; i < t->n_operand && axis >= 0; i++)
        arena_take(&a, tile_bytes(&t->operand[i], axis));
    return a.used + LINE;
}

static void plan_operands(const tape_run *run, tape_plan *plan)
{
    for (int i = 0; i < run->t->n_operand; i++) {
        const operand *o = &run->t->operand[i];
        operand_plan *p = &plan->operand[i];
        p->base = operand_host(o, run->bindings);
        p->moves = raw_moves_of(o->dtype);
        p->bytes = (int64_t)ig_dtype_bytes(o->dtype);
        p->half = dtype_is_half(o->dtype);
        p->packed = view_is_contiguous(&o->v);
        p->constant = is_constant(o);
        p->at = -1;
    }
    for (int k = 0; k < run->t->n_inst; k++) {
        const tape_inst *in = &run->t->inst[k];
        operand_plan *p = in->code == TAPE_LOAD ? &plan->operand[in->operand] : NULL;
        const ig_dtype dtype = p ? run->t->operand[in->operand].dtype : IG_F32;
        if (p && p->constant)
            run->level->convert(dtype, dtype_lane(dtype), 1, &p->lane, 1, p->base, 1);
    }
}

static void plan_tiles(const tape *t, tape_plan *plan, arena *a)
{
    const int axis = tape_tile_axis(t);
    for (int i = 0; i < t->n_operand; i++) {
        const size_t bytes = axis >= 0 ? tile_bytes(&t->operand[i], axis) : 0;
        plan->operand[i].tile = bytes ? arena_take(a, bytes) : NULL;
        plan->operand[i].tile_points = 0;
    }
    plan->tile_axis = axis;
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

/* For each STORE this also finds the instruction that may write its result in place. */
static void plan_insts(const tape_run *run, tape_plan *plan)
{
    const tape *t = run->t;
    for (int k = 0; k < t->n_inst; k++) {
        const size_t bytes = is_step(&t->inst[k]) ? lane_bytes(t->inst[k].dtype) : 0;
        plan->inst[k] = (inst_plan){.direct = NOT_DIRECT, .one = -1, .bytes = bytes};
    }
    for (int s = 0; s < t->n_inst; s++) {
        const tape_inst *store = &t->inst[s];
        if (store->code != TAPE_STORE || plan->operand[store->operand].half)
            continue;
        int k = s - 1;
        while (k >= 0 && (t->inst[k].code == TAPE_STORE || t->inst[k].dst != store->a))
            k--;
        if (k < 0 || t->inst[k].code == TAPE_LOAD || t->inst[k].code == TAPE_CORE)
            continue;
        if (plan->inst[k].direct == NOT_DIRECT && !is_read_later(run, plan, k, store->operand))
            plan->inst[k].direct = store->operand;
    }
}

/* ---- rows: where every row takes the same steps, they are found once for all rows ---- */

static row_place row_of_operand(const tape_run *run, int i)
{
    const operand_plan *p = &run->plan->operand[i];
    const int64_t *stride = run->t->operand[i].v.stride;
    return (row_place){
        .at = p->base, .move = stride[0] * p->bytes, .one = stride[1] == 0, .packed = p->packed};
}

static row_place row_of_own(const tape_run *run, int r, size_t bytes)
{
    const int64_t move = run->t->shape[1] * (int64_t)bytes;
    return (row_place){.at = run->plan->own[r], .move = move, .own = true, .packed = true};
}

/* A LOAD of what lies in a row one after another, or is one value in each row. */
static bool plan_row_load(const tape_run *run, const tape_inst *in)
{
    operand_plan *p = &run->plan->operand[in->operand];
    const int64_t step = run->t->operand[in->operand].v.stride[1];
    run->plan->rows.shown[in->dst] = p->constant ? (row_place){.at = (char *)&p->lane, .one = true}
                                                 : row_of_operand(run, in->operand);
    return p->constant || (!p->half && (step == 0 || step == 1));
}

/* A MAP that is one of the steps; not if it has only one value to compute for a row. */
static bool plan_row_map(const tape_run *run, const tape_inst *in, const inst_plan *plan)
{
    rows_plan *rows = &run->plan->rows;
    row_step *s = &rows->step[rows->n_step];
    const int input[] = {in->a, in->b, in->c};
    int one = 0, all = 0;
    rows->bytes = rows->n_step ? rows->bytes : plan->bytes;
    if (!plan->bytes || plan->bytes != rows->bytes || rows->n_step == STEP_MOST ||
        (plan->direct != NOT_DIRECT && run->t->operand[plan->direct].v.stride[1] != 1))
        return false;
    for (int i = 0; i < 3; i++) {
        const int r = input[i];
        s->x[i] = r >= 0 ? rows->shown[r] : (row_place){.at = run->plan->spare};
        one |= s->x[i].one ? 1 << i : 0;
        all |= r >= 0 ? 1 << i : 0;
    }
    s->d = plan->direct != NOT_DIRECT ? row_of_operand(run, plan->direct)
                                      : row_of_own(run, in->dst, plan->bytes);
    s->loop = one != all ? run->level->loop(in->op, (ig_dtype)in->dtype, one) : NULL;
    rows->shown[in->dst] = s->d;
    rows->n_step++;
    return s->loop != NULL;
}

/* Rows of a block that are better run one by one: a single one, and all where the block would have to
 * gather what its rows do not share. Their results must then lie one after another. */
static int64_t most_rows(const tape_run *run, const rows_plan *rows)
{
    enum { ROW_LEAST = 32 }; /* shorter ones are not worth a call for each step */
    const tape *t = run->t;
    bool gathers = false;
    for (int i = 0; i < t->n_operand; i++)
        gathers |= !run->plan->operand[i].packed && !run->plan->operand[i].constant;
    const bool packed = t->result < 0 || rows->shown[t->result].packed;
    return gathers && packed && t->shape[1] >= ROW_LEAST ? TAPE_BLOCK : 1;
}

/* True if the space has rows that fit a block, and each takes the same steps on data in place. */
static bool plan_rows(const tape_run *run, tape_plan *plan)
{
    const tape *t = run->t;
    bool plain = t->ndim == 2 && t->shape[1] > 1 && t->shape[1] <= TAPE_BLOCK;
    plan->rows.n_step = 0;
    for (int k = 0; k < t->n_inst && plain; k++) {
        const tape_inst *in = &t->inst[k];
        if (in->code == TAPE_LOAD)
            plain = plan_row_load(run, in);
        else if (in->code == TAPE_MAP)
            plain = plan_row_map(run, in, &plan->inst[k]);
        else /* a STORE of what has been written in place */
            plain = in->code == TAPE_STORE &&
                    plan->rows.shown[in->a].at == plan->operand[in->operand].base;
    }
    plan->rows.most = plain ? most_rows(run, &plan->rows) : 0;
    return plain;
}

/* The place of the r-th of the rows from the first on. */
static char *row_at(const row_place *p, int64_t first, int64_t r)
{
    return p->at + (p->own ? r : first + r) * p->move;
}

static void run_rows(tape_run *run, int64_t first, int64_t n)
{
    const rows_plan *rows = &run->plan->rows;
    const int result = run->t->result;
    for (int64_t r = 0; r < n; r++)
        for (const row_step *s = rows->step; s < rows->step + rows->n_step; s++)
            s->loop(rows->points, row_at(&s->d, first, r), row_at(&s->x[0], first, r),
                    row_at(&s->x[1], first, r), row_at(&s->x[2], first, r));
    if (result >= 0) {
        run->reg[result] = row_at(&rows->shown[result], first, 0);
        run->one[result] = rows->shown[result].one;
    }
}

/* Runs the block by rows if it has whole ones, and not too many. */
static bool run_by_rows(tape_run *run, int64_t start, int64_t n)
{
    const int64_t points = run->plan->rows.points, rows = points ? n / points : 0;
    if (rows == 0 || rows > run->plan->rows.most || n != rows * points || start % points != 0)
        return false;
    run_rows(run, start / points, rows);
    return true;
}

void tape_start(tape_run *run, const tape *t, const binding *bindings, cpu_fault *fault,
                void *scratch)
{
    arena a = {scratch, 0};
    a.used = round_up((size_t)(uintptr_t)scratch) - (size_t)(uintptr_t)scratch;
    *run = (tape_run){.t = t, .level = cpu_level_now(), .bindings = bindings, .fault = fault};
    tape_plan *plan = run->plan = arena_take(&a, sizeof *plan);
    run->reg = arena_take(&a, (size_t)t->n_reg * sizeof *run->reg);
    run->one = arena_take(&a, (size_t)t->n_reg * sizeof *run->one);
    plan->own = arena_take(&a, (size_t)t->n_reg * sizeof *plan->own);
    plan->operand = arena_take(&a, (size_t)t->n_operand * sizeof *plan->operand);
    plan->inst = arena_take(&a, (size_t)t->n_inst * sizeof *plan->inst);
    plan->rows.shown = arena_take(&a, (size_t)t->n_reg * sizeof *plan->rows.shown);
    plan->rows.step = arena_take(&a, STEP_MOST * sizeof *plan->rows.step);
    plan->spare = arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    plan->narrow = arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    take_blocks(t, &a, plan->own);
    plan_operands(run, plan);
    plan_tiles(t, plan, &a);
    plan_insts(run, plan);
    plan->rows.points = plan_rows(run, plan) ? t->shape[1] : 0;
}

int64_t tape_cost(const tape *t) { return t->n_inst > 0 ? t->n_inst : 1; }

/* ---- one block: [start, start + n) ---- */

typedef struct block {
    tape_run *run;
    tape_plan *plan;
    int64_t start, n;
    const void *core;
} block;

static void show(const block *b, int r, void *data, bool one)
{
    b->run->reg[r] = data;
    b->run->one[r] = one;
}

/* The walk over operand i, at the block's start. Blocks mostly follow each other. */
static const view_walk *walk_here(const block *b, int i)
{
    operand_plan *p = &b->plan->operand[i];
    const int64_t step = b->start - p->at;
    if (p->at >= 0 && step > 0 && walk_run(&p->walk, step) == step)
        walk_move(&p->walk, step);
    else if (step != 0)
        walk_start(&p->walk, &b->run->t->operand[i].v, b->start);
    p->at = b->start;
    return &p->walk;
}

/* Where the block's points of operand i lie one after another, or are one element (if `one` is there
 * to tell that); else NULL. */
static char *in_place(const block *b, int i, bool *one)
{
    const operand_plan *p = &b->plan->operand[i];
    if (p->packed)
        return p->base + b->start * p->bytes;
    const view_walk *w = walk_here(b, i);
    const int64_t step = b->n > 1 ? walk_step(w) : 1;
    if (walk_run(w, b->n) < b->n || !(step == 1 || (step == 0 && one)))
        return NULL;
    if (one)
        *one = step == 0;
    return p->base + w->offset * p->bytes;
}

/* Where the k-th instruction is to write its result, which is then what its register shows. */
static void *result(const block *b, int k)
{
    const int dst = b->run->t->inst[k].dst, direct = b->plan->inst[k].direct;
    void *to = direct == NOT_DIRECT ? NULL : in_place(b, direct, NULL);
    show(b, dst, to ? to : b->plan->own[dst], false);
    return b->run->reg[dst];
}

/* The same for an instruction of which *n points are to be computed: 1 if its input r is one value,
 * else those of the block. */
static void *result_of(const block *b, int k, int r, int64_t *n)
{
    const int dst = b->run->t->inst[k].dst;
    const bool one = b->run->one[r];
    *n = one ? 1 : b->n;
    if (!one)
        return result(b, k);
    show(b, dst, b->plan->own[dst], true);
    return b->plan->own[dst];
}

static void *spread(const tape_run *run, int r, ig_dtype dtype, int64_t n, void *to)
{
    if (!run->one[r])
        return run->reg[r];
    raw_moves_of(dtype_lane(dtype))->splat(n, to, run->reg[r]);
    return to;
}

void *tape_lanes(tape_run *run, int r, ig_dtype dtype, int64_t n)
{
    return spread(run, r, dtype, n, run->plan->spare);
}

/* The block's points of an operand that lies along the tile axis, from a tile of them and of those of
 * the rows beside it; NULL if there is no tile, or the block does not fit it. */
static char *from_tile(const block *b, int i)
{
    operand_plan *p = &b->plan->operand[i];
    if (!p->tile || !b->run->tiled || b->n > TAPE_TILE)
        return NULL;
    const view_walk *w = walk_here(b, i);
    const int axis = b->plan->tile_axis;
    const int64_t row = w->at[axis] % TAPE_TILE_ROWS, left = w->v->shape[axis] - w->at[axis] + row;
    if (walk_run(w, b->n) < b->n)
        return NULL;
    if (p->tile_at != w->offset - row || p->tile_points != b->n) {
        p->tile_at = w->offset - row;
        p->tile_points = b->n;
        p->moves->tile(left < TAPE_TILE_ROWS ? left : TAPE_TILE_ROWS, b->n, p->tile,
                       p->base + p->tile_at * p->bytes, walk_step(w));
    }
    return p->tile + row * b->n * p->bytes;
}

/* A LOAD that only says where the data is. False if there is more to do. */
static bool load_in_place(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    operand_plan *p = &b->plan->operand[in->operand];
    bool one = false;
    char *data = p->constant ? (char *)&p->lane : p->half ? NULL : in_place(b, in->operand, &one);
    data = data || p->half ? data : from_tile(b, in->operand);
    if (data)
        show(b, in->dst, data, one || p->constant);
    return data != NULL;
}

static void do_load(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    bool one = false;
    if (load_in_place(b, k))
        return;
    char *data = in_place(b, in->operand, &one), *lanes = b->plan->own[in->dst];
    data = data ? data : from_tile(b, in->operand);
    show(b, in->dst, lanes, one);
    if (!data) {
        view_walk w = *walk_here(b, in->operand);
        data = p->half ? b->plan->narrow : lanes;
        p->moves->gather(&w, b->n, data, p->base);
    }
    if (p->half)
        b->run->level->convert(o->dtype, IG_F32, one ? 1 : b->n, lanes, 1, data, 1);
}

static void do_store(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    char *to = in_place(b, in->operand, NULL);
    const void *data = spread(b->run, in->a, o->dtype, b->n, to && !p->half ? to : b->plan->spare);
    if (p->half) {
        char *packed = to ? to : b->plan->narrow;
        b->run->level->convert(IG_F32, o->dtype, b->n, packed, 1, data, 1);
        data = packed;
    }
    if (to && to != data)
        memmove(to, data, (size_t)(b->n * p->bytes));
    if (!to) {
        view_walk w = *walk_here(b, in->operand);
        p->moves->scatter(&w, b->n, p->base, data);
    }
}

/* ---- MAP: instructions that follow each other go through a block together, some lanes at a time, so
 * that what one leaves is near when the next takes it, and memory streams in evenly ---- */

typedef struct map_step {
    map_loop loop;
    char *d;
    const char *x[3];
    int64_t move,
        moves[3]; /* bytes from lane to lane; 0: one value, or a block that is used again */
} map_step;

static void run_steps(const map_step *step, int n_step, int64_t n, int64_t bytes)
{
    const int64_t most = n > TAPE_BLOCK && n_step > 1 ? STEP_BYTES / bytes : n;
    for (int64_t at = 0; at < n; at += most)
        for (int i = 0; i < n_step; i++) {
            const map_step *s = &step[i];
            s->loop(n - at < most ? n - at : most, s->d + at * s->move, s->x[0] + at * s->moves[0],
                    s->x[1] + at * s->moves[1], s->x[2] + at * s->moves[2]);
        }
}

/* True if register r shows its block, which has not room for all points. */
static bool is_reused(const block *b, int r)
{
    return b->n > TAPE_BLOCK && b->run->reg[r] == b->plan->own[r];
}

/* Makes the k-th instruction a step. False if all its inputs are one value: then it was computed
 * here, once. */
static bool make_step(const block *b, int k, map_step *s)
{
    const tape_inst *in = &b->run->t->inst[k];
    const int input[] = {in->a, in->b, in->c};
    inst_plan *plan = &b->plan->inst[k];
    const int64_t bytes = (int64_t)plan->bytes;
    int one = 0, all = 0;
    for (int i = 0; i < 3; i++) {
        const int r = input[i];
        s->x[i] = r >= 0 ? b->run->reg[r] : b->plan->spare;
        s->moves[i] = r < 0 || b->run->one[r] || is_reused(b, r) ? 0 : bytes;
        one |= r >= 0 && b->run->one[r] ? 1 << i : 0;
        all |= r >= 0 ? 1 << i : 0;
    }
    if (one == all) {
        void *d = b->plan->own[in->dst];
        b->run->level->loop(in->op, (ig_dtype)in->dtype, 0)(1, d, s->x[0], s->x[1], s->x[2]);
        show(b, in->dst, d, true);
        return false;
    }
    if (in->op == OP_where) {
        s->x[0] = spread(b->run, in->a, IG_BOOL, b->n, b->plan->spare);
        one &= ~MAP_ONE_A;
    }
    if (plan->one != one) {
        plan->one = one;
        plan->loop = b->run->level->loop(in->op, (ig_dtype)in->dtype, one);
    }
    s->loop = plan->loop;
    s->d = result(b, k);
    s->move = is_reused(b, in->dst) ? 0 : bytes;
    return true;
}

/* True if all inputs of the instruction are one value. */
static bool is_once(const block *b, const tape_inst *in)
{
    const bool *one = b->run->one;
    return one[in->a] && (in->b < 0 || one[in->b]) && (in->c < 0 || one[in->c]);
}

/* True if the k-th instruction can go along with steps of so many bytes, as a step or because it needs
 * no block. */
static bool goes_along(const block *b, int k, size_t bytes, int *n, map_step *step)
{
    const tape_inst *in = &b->run->t->inst[k];
    if (in->code == TAPE_LOAD)
        return load_in_place(b, k);
    return b->plan->inst[k].bytes == bytes && !is_once(b, in) && *n < STEP_MOST &&
           make_step(b, k, &step[(*n)++]);
}

/* Runs the k-th instruction, and those behind it that can go along. Returns the next. */
static int do_maps(const block *b, int k)
{
    const size_t bytes = b->plan->inst[k].bytes;
    map_step step[STEP_MOST];
    int n = 1;
    if (!make_step(b, k++, step))
        return k;
    while (bytes && k < b->run->t->n_inst && goes_along(b, k, bytes, &n, step))
        k++;
    run_steps(step, n, b->n, (int64_t)bytes);
    return k;
}

static void do_cast(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const cpu_level *level = b->run->level;
    const ig_dtype from = dtype_lane((ig_dtype)in->dtype), to = (ig_dtype)in->to;
    const void *x = b->run->reg[in->a];
    int64_t n;
    void *d = result_of(b, k, in->a, &n);
    if (!dtype_is_half(to)) {
        level->convert(from, to, n, d, 1, x, 1);
    } else if (from == IG_F32) {
        level->round(to, n, d, x);
    } else {
        level->convert(from, to, n, b->plan->narrow, 1, x, 1);
        level->convert(to, IG_F32, n, d, 1, b->plan->narrow, 1);
    }
}

static void do_round(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const float *x = b->run->reg[in->a];
    int64_t n;
    float *d = result_of(b, k, in->a, &n);
    b->run->level->round((ig_dtype)in->to, n, d, x);
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

/* One index for all points: what is read is a row that is there already. False if it is not. */
static bool read_row(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    const view_walk *w = walk_here(b, in->operand);
    int64_t offset;
    if (!b->run->one[in->a] || p->half || walk_run(w, b->n) < b->n || walk_step(w) != 1)
        return false;
    raw_index(o, b->start, 1, b->run->reg[in->a], &offset, b->run->fault);
    if (offset == RAW_NOWHERE)
        return false;
    show(b, in->dst, p->base + offset * p->bytes, false);
    return true;
}

static void do_read(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    if (read_row(b, k))
        return;
    const int64_t *index = spread(b->run, in->a, IG_I64, b->n, b->plan->narrow);
    int64_t *offset = (int64_t *)b->plan->spare;
    raw_index(o, b->start, b->n, index, offset, b->run->fault);
    void *d = result(b, k);
    p->moves->fetch(b->n, p->half ? b->plan->narrow : d, p->base, offset);
    if (p->half)
        b->run->level->convert(o->dtype, IG_F32, b->n, d, 1, b->plan->narrow, 1);
}

static void do_core(const block *b, int k)
{
    show(b, b->run->t->inst[k].dst, (void *)b->core, false);
}

void tape_block(tape_run *run, int64_t start, int64_t n, const void *core)
{
    static void (*const code[])(const block *b, int k) = {
        [TAPE_LOAD] = do_load,   [TAPE_STORE] = do_store, [TAPE_CAST] = do_cast,
        [TAPE_ROUND] = do_round, [TAPE_IOTA] = do_iota,   [TAPE_BITS] = do_bits,
        [TAPE_READ] = do_read,   [TAPE_CORE] = do_core,
    };
    assert(start >= 0 && n > 0 && start + n <= run->t->size);
    assert(n <= TAPE_BLOCK || n <= tape_most_points(run->t));
    if (run_by_rows(run, start, n))
        return;
    const block b = {run, run->plan, start, n, core};
    for (int k = 0; k < run->t->n_inst;) {
        if (run->t->inst[k].code == TAPE_MAP)
            k = do_maps(&b, k);
        else
            code[run->t->inst[k].code](&b, k), k++;
    }
}
