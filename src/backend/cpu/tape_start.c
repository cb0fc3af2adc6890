/* Readying a tape: how each operand and instruction is run, where registers have their blocks, and the
 * steps of tapes on which all rows take the same ones. Also what tapes are like before they run. */
#include "backend/cpu/tape.h"
#include "ops/ops.h"

enum {
    LINE = 64,
    STREAM_BLOCK = 8192 /* points of a block of a tape that needs no more scratch for it */
};

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
    arena_take(&a, (size_t)t->n_reg * sizeof(reg_use));
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
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *in = &t->inst[i];
        const bool reads = in->code == TAPE_LOAD || in->code == TAPE_READ;
        if (reads && plan->operand[in->operand].base == plan->operand[o].base &&
            (in->code == TAPE_READ || tape_needs_behind(t, i, k)))
            return true;
    }
    return false;
}

/* For each STORE this also finds the instruction that may write its result in place. */
static void plan_insts(const tape_run *run, tape_plan *plan)
{
    const tape *t = run->t;
    for (int k = 0; k < t->n_inst; k++) {
        const size_t bytes = is_step(&t->inst[k]) ? lane_bytes(t->inst[k].dtype) : 0;
        plan->inst[k] = (inst_plan){.direct = NOT_DIRECT, .one = -1, .bytes = bytes, .after = -1};
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

/* Finds MAPs of which each takes what the one before it leaves for nobody else. */
static void plan_pairs(const tape *t, tape_plan *plan)
{
    int next = -1; /* the next instruction that is no LOAD */
    for (int r = 0; r < t->n_reg; r++)
        plan->use[r] = (reg_use){r == t->result ? 2 : 0, -1};
    for (int k = t->n_inst - 1; k >= 0; k--) {
        const tape_inst *in = &t->inst[k];
        const int input[] = {in->a, in->b, in->c};
        if (in->code == TAPE_MAP && next >= 0 && t->inst[next].code == TAPE_MAP &&
            plan->use[in->dst].n == 1 && plan->use[in->dst].user == next)
            plan->inst[next].after = k;
        if (in->code != TAPE_STORE)
            plan->use[in->dst].n = 0;
        for (int i = 0; i < 3; i++)
            if (input[i] >= 0)
                plan->use[input[i]] = (reg_use){plan->use[input[i]].n + 1, k};
        next = in->code == TAPE_LOAD ? next : k;
    }
}

map_loop tape_pair(const tape_run *run, int k, int one_before, int one, int *other)
{
    const int before = run->plan->inst[k].after;
    if (before < 0)
        return NULL;
    const tape_inst *first = &run->t->inst[before], *second = &run->t->inst[k];
    const bool turned = second->b == first->dst;
    *other = turned ? 0 : 1;
    return run->level->pair(first->op, second->op, turned, (ig_dtype)second->dtype,
                            one_before | (one & 1 << *other ? MAP_ONE_C : 0));
}

/* ---- rows: where every row takes the same steps, they are found once for all rows ---- */

static row_place row_of_operand(const tape_run *run, int i)
{
    const operand_plan *p = &run->plan->operand[i];
    const view *v = &run->t->operand[i].v;
    return (row_place){.at = p->base,
                       .move = v->stride[0] * p->bytes,
                       .one = v->stride[v->ndim - 1] == 0,
                       .packed = p->packed};
}

/* In a register's block, or in that of the core's values (NULL). */
static row_place row_of_block(const tape_run *run, char *block, size_t bytes)
{
    const int64_t move = run->t->shape[run->t->ndim - 1] * (int64_t)bytes;
    return (row_place){.at = block, .move = move, .own = true, .packed = true};
}

/* A LOAD of what lies in a row one after another, or is one value in each row. */
static bool plan_row_load(const tape_run *run, const tape_inst *in)
{
    operand_plan *p = &run->plan->operand[in->operand];
    const int64_t step = run->t->operand[in->operand].v.stride[run->t->ndim - 1];
    run->plan->rows.shown[in->dst] = p->constant ? (row_place){.at = (char *)&p->lane, .one = true}
                                                 : row_of_operand(run, in->operand);
    return p->constant || (!p->half && (step == 0 || step == 1));
}

static int ones_of(const row_step *s)
{
    return (s->x[0].one ? MAP_ONE_A : 0) | (s->x[1].one ? MAP_ONE_B : 0);
}

/* Makes the last two steps, of which the second is the k-th instruction, one; if there is a loop. */
static void pair_row_steps(const tape_run *run, int k)
{
    rows_plan *rows = &run->plan->rows;
    row_step *last = &rows->step[rows->n_step - 1], *before = last - 1;
    int other;
    const map_loop loop = rows->n_step > 1 && before->op != OP_COUNT
                              ? tape_pair(run, k, ones_of(before), ones_of(last), &other)
                              : NULL;
    if (!loop)
        return;
    before->loop = loop;
    before->op = OP_COUNT;
    before->x[2] = last->x[other];
    before->d = last->d;
    rows->n_step--;
}

/* A MAP that is one of the steps; not if it has only one value to compute for a row. */
static bool plan_row_map(const tape_run *run, int k)
{
    const tape_inst *in = &run->t->inst[k];
    const inst_plan *plan = &run->plan->inst[k];
    rows_plan *rows = &run->plan->rows;
    row_step *s = &rows->step[rows->n_step];
    const int input[] = {in->a, in->b, in->c};
    int one = 0, all = 0;
    rows->bytes = rows->n_step ? rows->bytes : plan->bytes;
    if (!plan->bytes || plan->bytes != rows->bytes || rows->n_step == STEP_MOST ||
        (plan->direct != NOT_DIRECT &&
         run->t->operand[plan->direct].v.stride[run->t->ndim - 1] != 1))
        return false;
    for (int i = 0; i < 3; i++) {
        const int r = input[i];
        s->x[i] = r >= 0 ? rows->shown[r] : (row_place){.at = run->plan->spare};
        one |= s->x[i].one ? 1 << i : 0;
        all |= r >= 0 ? 1 << i : 0;
    }
    s->d = plan->direct != NOT_DIRECT ? row_of_operand(run, plan->direct)
                                      : row_of_block(run, run->plan->own[in->dst], plan->bytes);
    s->loop = one != all ? run->level->loop(in->op, (ig_dtype)in->dtype, one) : NULL;
    s->op = in->op;
    s->dtype = (ig_dtype)in->dtype;
    rows->shown[in->dst] = s->d;
    rows->n_step++;
    if (!s->loop)
        return false;
    pair_row_steps(run, k);
    return true;
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
    plan->rows.flat = t->ndim == 1;
    bool plain = plan->rows.flat || (t->ndim == 2 && t->shape[1] > 1 && t->shape[1] <= TAPE_BLOCK);
    plan->rows.n_step = 0;
    for (int k = 0; k < t->n_inst && plain; k++) {
        const tape_inst *in = &t->inst[k];
        if (in->code == TAPE_LOAD)
            plain = plan_row_load(run, in);
        else if (in->code == TAPE_MAP)
            plain = plan_row_map(run, k);
        else if (in->code == TAPE_CORE)
            plan->rows.shown[in->dst] = row_of_block(run, NULL, lane_bytes(in->dtype));
        else /* a STORE of what has been written in place */
            plain = in->code == TAPE_STORE &&
                    plan->rows.shown[in->a].at == plan->operand[in->operand].base;
    }
    plan->rows.most = plain && !plan->rows.flat ? most_rows(run, &plan->rows) : 1;
    return plain;
}

static bool is_same(const row_place *a, const row_place *b)
{
    return a->at == b->at && a->own == b->own;
}

void tape_fold_start(tape_run *run, int fold)
{
    rows_plan *rows = &run->plan->rows;
    if (rows->points == 0 || rows->n_step == 0)
        return;
    const row_step *last = &rows->step[rows->n_step - 1], *from = last;
    /* What is folded is in a block of its own: nobody else wants it. */
    if (!last->d.own || !is_same(&rows->shown[run->t->result], &last->d))
        return;
    if (last->op == OP_square && rows->n_step > 1 && last[-1].op == OP_subtract &&
        is_same(&last->x[0], &last[-1].d))
        from--;
    const int second = from == last ? OP_COUNT : last->op;
    if (from->op == OP_COUNT || ones_of(from) & MAP_ONE_A)
        return;
    rows->fold = run->level->fold_of(fold, from->op, second, from->dtype,
                                     from != last && !from->d.own, ones_of(from));
    rows->n_folded = (int)(last - from) + 1;
    rows->kept = from->d;
    rows->taken[0] = from->x[0];
    rows->taken[1] = from->x[1];
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
    plan->use = arena_take(&a, (size_t)t->n_reg * sizeof *plan->use);
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
    plan_pairs(t, plan);
    plan->rows.points = plan_rows(run, plan) ? t->shape[t->ndim - 1] : 0;
    plan->rows.fold = NULL;
}

int64_t tape_cost(const tape *t) { return t->n_inst > 0 ? t->n_inst : 1; }
