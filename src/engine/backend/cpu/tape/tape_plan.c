/* Prepares tapes. A tape is planned once: how each operand and instruction runs, and the steps of a row if all rows
 * take the same steps. A run copies the plan and fills in addresses: of operands, and of the registers' blocks in the
 * worker's scratch. Also answers questions about tapes before they run. */
#include "engine/backend/cpu/tape/tape.h"
#include "engine/ops/ops.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    LINE = 64,
    APART_MOST = 64 /* pairs of operands that a plan may require to be disjoint */
};

static size_t round_up(size_t bytes) { return (bytes + LINE - 1) & ~(size_t)(LINE - 1); }

static size_t lane_bytes(int dtype) { return ig_dtype_bytes(dtype_lane((ig_dtype)dtype)); }

/* Bytes of a lane of the instruction's result; 0 if it needs no block. */
static size_t inst_bytes(const tape *t, const tape_inst *in)
{
    switch ((tape_code)in->code) {
    case TAPE_LOAD:
    case TAPE_READ: return lane_bytes((int)t->operand[in->operand].dtype);
    case TAPE_MAP: return lane_bytes(in->dtype);
    case TAPE_CAST:
    case TAPE_ROUND:
    case TAPE_BITS: return lane_bytes(in->to);
    case TAPE_UNPACK: return sizeof(float);
    case TAPE_IOTA: return sizeof(int64_t);
    case TAPE_STORE:
    case TAPE_CORE: break;
    }
    return 0;
}

/* True if the operand has one element for all points. */
static bool is_constant(const operand *o)
{
    for (int i = 0; i < o->v.ndim; i++)
        if (o->v.shape[i] != 1 && o->v.stride[i] != 0)
            return false;
    return true;
}

/* True if the operand is contiguous along axis and its rows are far apart. */
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

static int64_t block_points(const tape *t) { return t->size < TAPE_BLOCK ? t->size : TAPE_BLOCK; }

/* A cursor over scratch memory; with base NULL it only counts. */
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

/* ---- planning ---- */

/* The block of a register fits the widest value that the register holds, and a lane of a series. */
static void plan_blocks(const tape *t, tape_plan *plan)
{
    for (int r = 0; r < t->n_reg; r++)
        plan->block[r] = 0;
    for (int k = 0; k < t->n_inst; k++) {
        const size_t lane = inst_bytes(t, &t->inst[k]);
        const size_t bytes =
            (size_t)block_points(t) * (lane < sizeof(float) ? sizeof(float) : lane);
        if (lane && plan->block[t->inst[k].dst] < bytes)
            plan->block[t->inst[k].dst] = bytes;
    }
}

/* How many points it takes until the elements of an operand repeat, if a block has that many; else 0. */
static int64_t period_of(const operand *o)
{
    const view *v = &o->v;
    int64_t points = 1;
    int axis = 0;
    while (axis < v->ndim && v->stride[axis] == 0)
        axis++;
    for (int i = axis; i < v->ndim && points <= TAPE_BLOCK; i++)
        points *= v->shape[i];
    return axis > 0 && axis < v->ndim && points <= TAPE_BLOCK ? points : 0;
}

/* True if only points matter, not rows: all operands are contiguous, one value, or repeat after a few short rows and
 * pay for being expanded. Only for a MAP: others start a run for few points. */
static bool is_flat(const tape *t)
{
    enum { LONG_ROW = 32, MANY = 64 * TAPE_BLOCK };
    if (t->ndim <= 1)
        return t->ndim == 1;
    bool flat = t->result < 0 && (t->shape[t->ndim - 1] < LONG_ROW || t->size >= MANY);
    for (int k = 0; k < t->n_inst && flat; k++) {
        const tape_inst *in = &t->inst[k];
        const operand *o = &t->operand[in->operand];
        if (in->code == TAPE_LOAD)
            flat = view_is_contiguous(&o->v) || is_constant(o) || period_of(o);
        else if (in->code == TAPE_STORE)
            flat = view_is_contiguous(&o->v);
        else
            flat = in->code == TAPE_MAP || in->code == TAPE_CAST || in->code == TAPE_ROUND;
    }
    return flat;
}

/* Bytes of the lanes that are held of an operand with this period. */
static size_t held_bytes(const tape *t, const operand *o, int64_t period)
{
    return period ? (size_t)(block_points(t) + period) * lane_bytes((int)o->dtype) : 0;
}

static size_t tile_bytes(const operand *o, int axis)
{
    const bool tiled = axis >= 0 && o->v.ndim > axis + 1 && lies_along(o, axis);
    return tiled ? (size_t)TAPE_TILE * TAPE_TILE_ROWS * ig_dtype_bytes(o->dtype) : 0;
}

static void plan_operands(const tape *t, tape_plan *plan)
{
    for (int i = 0; i < t->n_operand; i++) {
        const operand *o = &t->operand[i];
        plan->operand[i] = (operand_plan){.moves = element_moves_of(o->dtype),
                                          .bytes = (int64_t)ig_dtype_bytes(o->dtype),
                                          .half = dtype_is_half(o->dtype),
                                          .packed = view_is_contiguous(&o->v),
                                          .constant = is_constant(o),
                                          .period = plan->rows.flat ? period_of(o) : 0,
                                          .at = -1};
    }
    for (int k = 0; k < t->n_inst; k++)
        if (t->inst[k].code == TAPE_LOAD)
            plan->operand[t->inst[k].operand].loaded = true;
}

/* True if two operands may overlap. Before a run, only their slots are known. */
static bool lie_together(const tape_run *run, int a, int b)
{
    return run->bindings ? run->plan->operand[a].base == run->plan->operand[b].base
                         : run->t->operand[a].slot == run->t->operand[b].slot;
}

/* True if instruction k may write into operand o early, because no later instruction reads what it
 * overwrites. Records which operands must be disjoint for that. */
static bool may_write_early(const tape_run *run, tape_plan *plan, int k, int o)
{
    const tape *t = run->t;
    const int n_before = plan->n_apart;
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *in = &t->inst[i];
        if (in->code != TAPE_READ && !(in->code == TAPE_LOAD && tape_needs_after(t, i, k)))
            continue;
        if (lie_together(run, in->operand, o) || plan->n_apart == APART_MOST) {
            plan->n_apart = n_before;
            return false;
        }
        plan->apart[plan->n_apart++] = (tape_apart){(int16_t)o, in->operand};
    }
    return true;
}

/* Direct results: for each STORE, finds the instruction that may write its result in place. */
static void plan_insts(const tape_run *run, tape_plan *plan)
{
    const tape *t = run->t;
    plan->n_apart = 0;
    for (int k = 0; k < t->n_inst; k++)
        plan->inst[k] = (inst_plan){.direct = NOT_DIRECT, .one = -1, .after = -1};
    for (int s = 0; s < t->n_inst; s++) {
        const tape_inst *store = &t->inst[s];
        if (store->code != TAPE_STORE || plan->operand[store->operand].half)
            continue;
        int k = s - 1;
        while (k >= 0 && (t->inst[k].code == TAPE_STORE || t->inst[k].dst != store->a))
            k--;
        if (k < 0 || t->inst[k].code == TAPE_LOAD || t->inst[k].code == TAPE_CORE)
            continue;
        if (plan->inst[k].direct == NOT_DIRECT && may_write_early(run, plan, k, store->operand))
            plan->inst[k].direct = store->operand;
    }
}

/* True if the instruction's value may have the next instruction as its only user. */
static bool is_on_the_way(const tape_inst *in)
{
    return in->code == TAPE_MAP || in->code == TAPE_CAST || in->code == TAPE_BITS ||
           in->code == TAPE_ROUND;
}

/* Finds instructions that are the only users of the previous instruction's result. */
static void plan_pairs(const tape *t, tape_plan *plan)
{
    int next = -1; /* the next instruction that is not a LOAD */
    for (int r = 0; r < t->n_reg; r++)
        plan->use[r] = (reg_use){r == t->result ? 2 : 0, -1};
    for (int k = t->n_inst - 1; k >= 0; k--) {
        const tape_inst *in = &t->inst[k];
        const int input[] = {in->a, in->b, in->c};
        if (is_on_the_way(in) && next >= 0 &&
            (is_on_the_way(&t->inst[next]) || t->inst[next].code == TAPE_STORE) &&
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

/* The bits of the row in the code of a run; -1 if it is not arithmetic. turned: the result of the run is the row's
 * second operand. */
static int run_bits(int op, bool turned, bool one)
{
    const int kind = op == OP_add        ? RUN_ADD
                     : op == OP_multiply ? RUN_MULTIPLY
                     : op == OP_maximum  ? RUN_MAXIMUM
                     : op == OP_minimum  ? RUN_MINIMUM
                     : op != OP_subtract ? -1
                     : turned            ? RUN_FROM
                                         : RUN_SUBTRACT;
    return kind < 0 ? -1 : kind | (one ? RUN_ONE : 0);
}

/* Instruction k, a MAP whose inputs of one value are `one` (MAP_ONE_*), as a run of one row. */
static step_run run_of(const tape_run *run, int k, int one)
{
    const bool turned = one & MAP_ONE_A;
    const int op = run->t->inst[k].op;
    const int bits = run_bits(op == OP_square ? OP_multiply : op, turned, one != 0);
    return (step_run){.rows = bits < 0 ? 0 : 1, .code = bits, .turned = turned};
}

/* Appends instruction k to the run of the previous step, if k is the only user of that step and there is a loop. *other
 * is then the input of k that becomes the last operand of the run. */
static bool run_on(const tape_run *run, int k, int one, step_run *before, int *other)
{
    const tape_inst *in = &run->t->inst[k];
    const int first = run->plan->inst[k].after;
    if (first < 0 || run->t->inst[first].code != TAPE_MAP || before->rows == 0 ||
        before->rows == RUN_MOST)
        return false;
    const bool turned = in->b == run->t->inst[first].dst;
    *other = turned ? 0 : 1;
    const int bits = run_bits(in->op, turned, one & 1 << *other);
    const int code = before->code | bits << before->rows * RUN_BITS;
    const run_loop loop =
        bits < 0 ? NULL : run->level->run(before->rows + 1, code, (ig_dtype)in->dtype);
    if (!loop)
        return false;
    *before = (step_run){before->rows + 1, code, false, loop};
    return true;
}

/* ---- rows plans: if all rows take the same steps, they are planned once for all rows ---- */

static int16_t place_of_block(int r) { return (int16_t)(PLACE_BLOCKS + r); }

static int16_t place_of_operand(const tape *t, int i)
{
    return (int16_t)(PLACE_BLOCKS + t->n_reg + i);
}

static int16_t place_of_lane(const tape *t, int i)
{
    return (int16_t)(place_of_operand(t, i) + t->n_operand);
}

static int16_t place_of_held(const tape *t, int i)
{
    return (int16_t)(place_of_lane(t, i) + t->n_operand);
}

row_place rows_place_of_operand(const tape_run *run, int i)
{
    const operand_plan *p = &run->plan->operand[i];
    const view *v = &run->t->operand[i].v;
    const bool repeats = v->ndim == 3 && v->stride[0] == 0 && !run->plan->rows.flat;
    return (row_place){.of = place_of_operand(run->t, i),
                       .move = run->plan->rows.flat ? p->bytes : v->stride[v->ndim - 2] * p->bytes,
                       .period = repeats ? v->shape[1] : 0,
                       .step = v->stride[v->ndim - 1] * p->bytes,
                       .one = v->stride[v->ndim - 1] == 0,
                       .packed = p->packed,
                       .half = p->half};
}

/* A row in a register's block, or in the block of the core's values. */
static row_place row_of_block(const tape_run *run, int16_t of, size_t bytes)
{
    const int64_t move = run->t->shape[run->t->ndim - 1] * (int64_t)bytes;
    return (row_place){.of = of, .move = move, .own = true, .packed = true};
}

row_place rows_place_of_core(const tape_run *run, size_t bytes)
{
    return row_of_block(run, PLACE_CORE, bytes);
}

row_place rows_place_of_block(const tape_run *run, int r, size_t bytes)
{
    return row_of_block(run, place_of_block(r), bytes);
}

/* True if all rows of a space of three axes are equally far apart, or repeat with its first axis. */
static bool has_even_rows(const view *v)
{
    return v->ndim < 3 || v->shape[0] == 1 || v->stride[0] == 0 ||
           v->stride[0] == v->shape[1] * v->stride[1];
}

bool rows_are_contiguous(const tape_run *run, int i)
{
    const view *v = &run->t->operand[i].v;
    return v->stride[v->ndim - 1] == 1 && has_even_rows(v);
}

bool rows_has_place(const tape_run *run, int k)
{
    const int direct = run->plan->inst[k].direct;
    return direct == NOT_DIRECT || rows_are_contiguous(run, direct);
}

row_place rows_place_of_result(const tape_run *run, int k, size_t bytes)
{
    const int direct = run->plan->inst[k].direct;
    return direct != NOT_DIRECT ? rows_place_of_operand(run, direct)
                                : rows_place_of_block(run, run->t->inst[k].dst, bytes);
}

bool rows_load(const tape_run *run, const tape_inst *in)
{
    const operand_plan *p = &run->plan->operand[in->operand];
    const int64_t step = run->t->operand[in->operand].v.stride[run->t->ndim - 1];
    run->plan->rows.shown[in->dst] =
        p->constant ? (row_place){.of = place_of_lane(run->t, in->operand), .one = true}
        : p->period
            ? (row_place){.of = place_of_held(run->t, in->operand),
                          .move = (int64_t)lane_bytes((int)run->t->operand[in->operand].dtype),
                          .period = p->period}
            : rows_place_of_operand(run, in->operand);
    return p->constant || p->period ||
           ((step == 1 || (step == 0 && !p->half)) &&
            has_even_rows(&run->t->operand[in->operand].v));
}

static int ones_of(const row_step *s)
{
    return (s->x[0].one ? MAP_ONE_A : 0) | (s->x[1].one ? MAP_ONE_B : 0);
}

/* Joins the last two steps, if there is a loop; the second is instruction k. */
static void join_row_steps(const tape_run *run, int k)
{
    rows_plan *rows = &run->plan->rows;
    row_step *last = &rows->step[rows->n_step - 1], *before = last - 1;
    const bool turned = rows->n_step > 1 && before->run.turned;
    int other;
    if (rows->n_step < 2 || !run_on(run, k, ones_of(last), &before->run, &other))
        return;
    if (turned) {
        const row_place one = before->x[0];
        before->x[0] = before->x[1];
        before->x[1] = one;
    }
    before->x[before->run.rows] = last->x[other];
    before->d = last->d;
    rows->n_step--;
}

/* Joins the unary step of instruction k with the previous step, if there is a loop for both. */
static void pair_row_steps(const tape_run *run, int k)
{
    rows_plan *rows = &run->plan->rows;
    row_step *last = &rows->step[rows->n_step - 1], *before = last - 1;
    const int first = run->plan->inst[k].after;
    if (rows->n_step < 2 || first < 0 || run->t->inst[first].code != TAPE_MAP || before->run.loop ||
        before->op != run->t->inst[first].op || !before->d.own || before->d.of != last->x[0].of)
        return;
    const map_loop both = run->level->pair(before->op, last->op, last->dtype, ones_of(before));
    if (!both)
        return;
    before->loop = both;
    before->run = last->run;
    before->op = NO_ROW;
    before->d = last->d;
    rows->n_step--;
}

/* Plans a MAP as a step; not if it computes one value for a row. Rows of a result stay in its block until all are
 * computed, so no value of another size may overlap them. */
static bool plan_row_map(const tape_run *run, int k)
{
    const tape_inst *in = &run->t->inst[k];
    rows_plan *rows = &run->plan->rows;
    const bool truth = op_rows[in->op].result == RESULT_TRUTH;
    const size_t bytes = truth ? sizeof(uint8_t) : lane_bytes(in->dtype);
    const int input[] = {in->a, in->op == OP_square ? in->a : in->b, in->c};
    int one = 0, all = 0;
    if (rows_half_sum(run, k))
        return true;
    for (int i = 0; i < 3; i++)
        if (input[i] >= 0 && !rows_widen(run, input[i]))
            return false;
    row_step *s = &rows->step[rows->n_step];
    rows->bytes = rows->n_step ? rows->bytes : bytes;
    if ((run->t->result >= 0 && (truth || bytes != rows->bytes)) || rows->n_step == STEP_MOST ||
        (in->op == OP_where && rows->shown[in->a].one) || !rows_has_place(run, k))
        return false;
    for (int i = 0; i < 3; i++) {
        const int r = input[i];
        s->x[i] = r >= 0 ? rows->shown[r] : (row_place){.of = PLACE_SPARE};
        one |= s->x[i].one ? 1 << i : 0;
        all |= r >= 0 ? 1 << i : 0;
    }
    s->d = rows_place_of_result(run, k, bytes);
    s->loop = one != all ? run->level->loop(in->op, (ig_dtype)in->dtype, one) : NULL;
    s->run = run_of(run, k, ones_of(s));
    s->op = in->op;
    s->dtype = (ig_dtype)in->dtype;
    s->half = -1;
    rows->shown[in->dst] = s->d;
    rows->n_step++;
    if (!s->loop)
        return false;
    join_row_steps(run, k);
    pair_row_steps(run, k);
    return true;
}

/* How many rows of a block run faster one by one: one row, or all rows if a block would have to gather operands that
 * its rows do not share. The results must then be contiguous. */
static int64_t most_rows(const tape_run *run, const rows_plan *rows)
{
    enum { ROW_LEAST = 32 }; /* shorter rows do not pay for a call per step */
    const tape *t = run->t;
    bool gathers = false;
    for (int i = 0; i < t->n_operand; i++)
        gathers |= !run->plan->operand[i].packed && !run->plan->operand[i].constant;
    const bool packed = t->result < 0 || rows->shown[t->result].packed;
    return gathers && packed && t->shape[1] >= ROW_LEAST ? TAPE_BLOCK : 1;
}

/* True if the space has rows, and each row takes the same steps on data in place. Rows that do not fit a block run in
 * parts. */
static bool plan_rows(const tape_run *run, tape_plan *plan)
{
    const tape *t = run->t;
    bool plain = plan->rows.flat || (t->ndim == 2 && t->shape[1] > 1);
    plan->rows.n_step = 0;
    for (int k = 0; k < t->n_inst && plain; k++) {
        const tape_inst *in = &t->inst[k];
        if (in->code == TAPE_LOAD)
            plain = rows_load(run, in);
        else if (in->code == TAPE_MAP)
            plain = plan_row_map(run, k);
        else if (in->code == TAPE_CORE)
            plan->rows.shown[in->dst] = row_of_block(run, PLACE_CORE, lane_bytes(in->dtype));
        else if (in->code == TAPE_ROUND || in->code == TAPE_CAST)
            plain = rows_half_cast(run, k);
        else if (in->code == TAPE_STORE && plan->operand[in->operand].half)
            plain = rows_half_store(run, k);
        else /* a STORE of a value that was written in place */
            plain = in->code == TAPE_STORE &&
                    plan->rows.shown[in->a].of == place_of_operand(t, in->operand);
    }
    if (plain && t->result >= 0)
        plain = rows_widen(run, t->result);
    plan->rows.most = plain && !plan->rows.flat ? most_rows(run, &plan->rows) : 1;
    return plain;
}

/* Plans the instructions, as far as the memory of the operands is known. */
static void plan_all(const tape_run *run)
{
    tape_plan *plan = run->plan;
    plan_insts(run, plan);
    plan_pairs(run->t, plan);
    plan->rows.n_series = 0;
    const bool plain = plan_rows(run, plan) || rows_series(run);
    plan->rows.points = plain ? run->t->shape[run->t->ndim - 1] : 0;
    plan->rows.sum = NULL;
}

/* The layout of the parts after a plan; the copy of a run has the same layout. */
static tape_plan *take_parts(const tape *t, arena *a)
{
    tape_plan *plan = arena_take(a, sizeof *plan), none, *to = plan ? plan : &none;
    to->operand = arena_take(a, (size_t)t->n_operand * sizeof *to->operand);
    to->inst = arena_take(a, (size_t)t->n_inst * sizeof *to->inst);
    to->rows.shown = arena_take(a, (size_t)t->n_reg * sizeof *to->rows.shown);
    to->rows.step = arena_take(a, STEP_MOST * sizeof *to->rows.step);
    to->rows.series = arena_take(a, SERIES_MOST * sizeof *to->rows.series);
    to->block = arena_take(a, (size_t)t->n_reg * sizeof *to->block);
    to->use = arena_take(a, (size_t)t->n_reg * sizeof *to->use);
    to->apart = arena_take(a, APART_MOST * sizeof *to->apart);
    return plan;
}

size_t tape_plan_bytes(const tape *t)
{
    arena a = {NULL, 0};
    take_parts(t, &a);
    return a.used;
}

void tape_plan_in(tape *t, void *memory)
{
    arena a = {memory, 0};
    const tape_run run = {.t = t, .level = cpu_level_now(), .plan = take_parts(t, &a)};
    t->compiled = run.plan;
    run.plan->rows.flat = is_flat(t);
    plan_operands(t, run.plan);
    plan_blocks(t, run.plan);
    run.plan->tile_axis = tape_tile_axis(t);
    plan_all(&run);
}

/* ---- starting ---- */

size_t tape_scratch_bytes(const tape *t)
{
    const int axis = tape_tile_axis(t);
    const bool flat = is_flat(t);
    arena a = {NULL, 0};
    take_parts(t, &a);
    arena_take(&a, (size_t)t->n_reg * sizeof(void *));
    arena_take(&a, (size_t)t->n_reg * sizeof(bool));
    arena_take(&a, (size_t)t->n_reg * sizeof(char *));
    for (int i = 0; i < t->n_reg + 2; i++) /* blocks of the registers, spare and narrow */
        arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    for (int i = 0; i < t->n_operand; i++) {
        arena_take(&a, tile_bytes(&t->operand[i], axis));
        arena_take(&a, flat ? held_bytes(t, &t->operand[i], period_of(&t->operand[i])) : 0);
    }
    return a.used + LINE;
}

/* The run's own copy of the plan. */
static tape_plan *copy_plan(const tape *t, arena *a)
{
    const tape_plan *from = t->compiled;
    tape_plan *plan = take_parts(t, a);
    const tape_plan parts = *plan;
    *plan = *from;
    plan->operand = parts.operand;
    plan->inst = parts.inst;
    plan->rows.shown = parts.rows.shown;
    plan->rows.step = parts.rows.step;
    plan->rows.series = parts.rows.series;
    plan->use = parts.use;
    plan->apart = parts.apart;
    for (int i = 0; i < t->n_operand; i++)
        memcpy(&plan->operand[i], &from->operand[i], offsetof(operand_plan, walk));
    memcpy(plan->inst, from->inst, (size_t)t->n_inst * sizeof *plan->inst);
    if (t->result >= 0)
        plan->rows.shown[t->result] = from->rows.shown[t->result];
    memcpy(plan->rows.step, from->rows.step, (size_t)from->rows.n_step * sizeof *plan->rows.step);
    memcpy(plan->rows.series, from->rows.series,
           (size_t)from->rows.n_series * sizeof *plan->rows.series);
    return plan;
}

static void bind_operands(const tape_run *run)
{
    for (int i = 0; i < run->t->n_operand; i++) {
        const operand *o = &run->t->operand[i];
        operand_plan *p = &run->plan->operand[i];
        p->base = operand_host(o, run->bindings);
        const bool whole = p->loaded || !storage_is_plain(o->stored);
        p->file = whole ? -1 : elements_file(o, p->base, &p->file_at);
        if (p->loaded && p->constant && p->half)
            run->level->convert(o->dtype, IG_F32, 1, &p->lane, 1, p->base, 1);
        else if (p->loaded && p->constant)
            memcpy(&p->lane, p->base, (size_t)p->bytes);
    }
}

static void bind_tiles(const tape_run *run, arena *a)
{
    for (int i = 0; i < run->t->n_operand && run->plan->tile_axis >= 0; i++) {
        const size_t bytes = tile_bytes(&run->t->operand[i], run->plan->tile_axis);
        run->plan->operand[i].tile = bytes ? arena_take(a, bytes) : NULL;
    }
}

/* Expands the operands that have a period, for a block that begins at any point. */
static void bind_held(const tape_run *run, arena *a)
{
    for (int i = 0; i < run->t->n_operand; i++) {
        const operand *o = &run->t->operand[i];
        operand_plan *p = &run->plan->operand[i];
        const size_t bytes = held_bytes(run->t, o, p->period);
        size_t done = (size_t)p->period * lane_bytes((int)o->dtype);
        view_walk w;
        if (bytes == 0)
            continue;
        p->held = arena_take(a, bytes);
        walk_start(&w, &o->v, 0);
        p->moves->gather(&w, p->period, p->half ? run->plan->narrow : p->held, p->base);
        if (p->half)
            run->level->convert(o->dtype, IG_F32, p->period, p->held, 1, run->plan->narrow, 1);
        for (; done < bytes; done *= 2)
            memcpy(p->held + done, p->held, done < bytes - done ? done : bytes - done);
    }
}

/* True if all operands that the plan requires to be disjoint are. */
static bool is_as_planned(const tape_run *run)
{
    const tape_plan *planned = run->t->compiled;
    for (int i = 0; i < planned->n_apart; i++)
        if (lie_together(run, planned->apart[i].stored, planned->apart[i].loaded))
            return false;
    return true;
}

static void bind_place(const tape_run *run, row_place *p)
{
    const tape *t = run->t;
    const tape_plan *plan = run->plan;
    const int block = p->of - PLACE_BLOCKS, i = block - t->n_reg;
    p->at = p->of <= PLACE_CORE    ? NULL
            : p->of == PLACE_SPARE ? plan->spare
            : i < 0                ? plan->own[block]
            : i < t->n_operand     ? plan->operand[i].base
            : i < 2 * t->n_operand ? (char *)&plan->operand[i - t->n_operand].lane
                                   : plan->operand[i - 2 * t->n_operand].held;
}

static void bind_rows(const tape_run *run)
{
    rows_plan *rows = &run->plan->rows;
    if (rows->points == 0)
        return;
    for (row_step *s = rows->step; s < rows->step + rows->n_step; s++) {
        bind_place(run, &s->d);
        for (int i = 0; i < step_operands(&s->run); i++)
            bind_place(run, &s->x[i]);
    }
    for (row_series *s = rows->series; s < rows->series + rows->n_series; s++) {
        bind_place(run, &s->x);
        bind_place(run, &s->y);
        for (int i = 0; i < s->shifts; i++)
            bind_place(run, &s->shift[i]);
    }
    if (run->t->result >= 0)
        bind_place(run, &rows->shown[run->t->result]);
}

void tape_start(tape_run *run, const tape *t, const binding *bindings, cpu_fault *fault,
                void *scratch)
{
    assert(t->compiled);
    arena a = {scratch, 0};
    a.used = round_up((size_t)(uintptr_t)scratch) - (size_t)(uintptr_t)scratch;
    tape_plan *plan = copy_plan(t, &a);
    *run = (tape_run){
        .t = t, .level = cpu_level_now(), .bindings = bindings, .fault = fault, .plan = plan};
    run->reg = arena_take(&a, (size_t)t->n_reg * sizeof *run->reg);
    run->one = arena_take(&a, (size_t)t->n_reg * sizeof *run->one);
    plan->own = arena_take(&a, (size_t)t->n_reg * sizeof *plan->own);
    plan->spare = arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    plan->narrow = arena_take(&a, (size_t)block_points(t) * sizeof(int64_t));
    for (int r = 0; r < t->n_reg; r++)
        plan->own[r] = arena_take(&a, plan->block[r]);
    bind_operands(run);
    bind_tiles(run, &a);
    bind_held(run, &a);
    if (!is_as_planned(run))
        plan_all(run);
    bind_rows(run);
}

static bool is_same(const row_place *a, const row_place *b) { return a->of == b->of; }

void tape_sum_start(tape_run *run)
{
    rows_plan *rows = &run->plan->rows;
    if (rows->points == 0 || rows->n_step == 0)
        return;
    const row_step *last = &rows->step[rows->n_step - 1], *from = last;
    /* The summed value is in its own block: no other instruction uses it. */
    if (!last->d.own || !is_same(&rows->shown[run->t->result], &last->d))
        return;
    if (last->op == OP_square && rows->n_step > 1 && last[-1].op == OP_subtract &&
        !last[-1].run.loop && is_same(&last->x[0], &last[-1].d))
        from--;
    const int second = from == last ? NO_ROW : last->op;
    if (from->run.loop || ones_of(from) & MAP_ONE_A)
        return;
    rows->sum = run->level->sum_of(from->op, second, from->dtype, from != last && !from->d.own,
                                   ones_of(from));
    rows->n_summed = (int)(last - from) + 1;
    rows->kept = from->d;
    rows->taken[0] = from->x[0];
    rows->taken[1] = from->x[1];
}

int64_t tape_cost(const tape *t) { return t->n_inst > 0 ? t->n_inst : 1; }
