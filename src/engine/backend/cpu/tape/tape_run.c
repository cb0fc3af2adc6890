/* Runs a tape over blocks: each instruction is one loop over at most TAPE_BLOCK lanes.
 *
 * Invariant: the results of a block depend on its points only, not on where blocks begin or on the
 * worker. A register has its own block of scratch, or refers to data in place: to the source of a LOAD, which then
 * copies nothing, or to the destination of a STORE. Stores come last on a tape, and a buffer that is both read and
 * written is accessed through one view. So data in place is read before it changes. A value that all points of a block
 * share (a scalar, a row's mean) is one value in its register, and instructions on such values alone compute one value.
 * If all rows of a space take the same steps, these are bound when the run starts, and a row only advances the
 * pointers. */
#include "engine/backend/cpu/tape/tape.h"
#include "base/mapping.h"
#include "engine/ops/ops.h"

#include <assert.h>
#include <string.h>

/* Whole rows of a block, or a part of one row. */
typedef struct some_rows {
    const rows_plan *plan;
    int64_t points;   /* of a row, or of the part */
    int64_t first, n; /* rows */
    const void *core;
    int64_t before; /* points of the row before the part */
} some_rows;

/* The address of row r. */
static char *row_at(const some_rows *rows, const row_place *p, int64_t r)
{
    const int64_t row = rows->first + r;
    return (p->at ? p->at : (char *)rows->core) +
           (p->own      ? r
            : p->period ? row % p->period
                        : row) *
               p->move +
           rows->before * p->step;
}

/* The rows of the block, if they run faster one by one; else none. */
static some_rows rows_of(const tape_run *run, int64_t start, int64_t n, const void *core)
{
    const rows_plan *plan = &run->plan->rows;
    if (plan->points && plan->flat)
        return (some_rows){plan, n, start, 1, core, 0};
    if (plan->points && !plan->flat && (n < plan->points || n > TAPE_BLOCK) &&
        start % plan->points + n <= plan->points)
        return (some_rows){plan, n, start / plan->points, 1, core, start % plan->points};
    const int64_t rows = plan->points && !plan->flat ? n / plan->points : 0;
    if (rows > plan->most || n != rows * plan->points || start % plan->points != 0)
        return (some_rows){.n = 0};
    return (some_rows){plan, plan->points, start / plan->points, rows, core, 0};
}

/* Fetches as much data as the row x has, from the end of that row on: the next block. gcc removes a call of a function
 * that only fetches. */
static inline __attribute__((always_inline)) void fetch_next(const some_rows *rows,
                                                             const row_place *p, const char *x)
{
    const int64_t bytes = p->own || p->one || p->period || !p->move ? 0 : rows->points * p->step;
    for (int64_t i = bytes; i < 2 * bytes; i += 64)
        __builtin_prefetch(x + i);
}

/* The shift of an op in row r. */
static int32_t shift_of(const some_rows *rows, const row_series *s, int64_t r)
{
    uint32_t shift = 0;
    for (int i = 0; i < s->shifts; i++) {
        const void *at = row_at(rows, &s->shift[i], r);
        const uint32_t x = (uint32_t)dtype_fetch_int(s->shifted, at);
        shift = s->less[i] ? shift - x : shift + x;
    }
    return (int32_t)shift;
}

static void run_series(const tape_run *run, const some_rows *rows, int64_t r)
{
    const rows_plan *plan = rows->plan;
    series_op op[SERIES_MOST];
    for (int k = 0; k < plan->n_series; k++) {
        const row_series *s = &plan->series[k];
        op[k] = (series_op){s->op.code, s->op.bytes, row_at(rows, &s->x, r),
                            s->y.of == PLACE_NONE ? NULL : row_at(rows, &s->y, r),
                            shift_of(rows, s, r)};
    }
    run->level->series(rows->points, plan->n_series, op);
}

/* Runs `steps` steps of row r. */
static void run_row(const tape_run *run, const some_rows *rows, int64_t r, int steps)
{
    if (rows->plan->n_series > 0) {
        run_series(run, rows, r);
        return;
    }
    for (const row_step *s = rows->plan->step; s < rows->plan->step + steps; s++) {
        const void *x[RUN_MOST + 1] = {row_at(rows, &s->x[0], r), row_at(rows, &s->x[1], r),
                                       row_at(rows, &s->x[2], r)};
        const bool streams = run->streams && !s->d.own;
        char *to = row_at(rows, &s->d, r), *d = streams ? run->plan->spare : to;
        for (int i = 3; i <= s->run.rows; i++)
            x[i] = row_at(rows, &s->x[i], r);
        for (int i = 0; run->streams && i < step_operands(&s->run); i++)
            fetch_next(rows, &s->x[i], x[i]);
        if (s->run.loop)
            s->run.loop(rows->points, d, x);
        else
            s->loop(rows->points, d, x[0], x[1], x[2]);
        if (streams)
            run->level->stream(to, d, (size_t)(rows->points * s->d.step));
    }
}

static void run_rows(tape_run *run, const some_rows *rows)
{
    const int result = run->t->result;
    for (int64_t r = 0; r < rows->n; r++)
        run_row(run, rows, r, rows->plan->n_step);
    if (result >= 0) {
        run->reg[result] = row_at(rows, &rows->plan->shown[result], 0);
        run->one[result] = rows->plan->shown[result].one;
    }
}

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

/* The walk over operand i, at the block's start. Blocks are mostly consecutive. */
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

/* The address of the block's points of operand i if they are contiguous, or a single element (only if `one` is not
 * NULL; *one is then set); else NULL. */
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

/* The destination of instruction k, which its register then refers to. */
static void *result(const block *b, int k)
{
    const int dst = b->run->t->inst[k].dst, direct = b->plan->inst[k].direct;
    void *to = direct == NOT_DIRECT || b->run->streams ? NULL : in_place(b, direct, NULL);
    show(b, dst, to ? to : b->plan->own[dst], false);
    return b->run->reg[dst];
}

/* The same for an instruction that computes *n points: 1 if its input r is one value, else all
 * points of the block. */
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
    element_moves_of(dtype_lane(dtype))->splat(n, to, run->reg[r]);
    return to;
}

void *tape_lanes(tape_run *run, int r, ig_dtype dtype, int64_t n)
{
    return spread(run, r, dtype, n, run->plan->spare);
}

/* The block's points of an operand that is contiguous along the tile axis, from a transposed tile;
 * NULL if there is no tile or the block does not fit it. */
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

/* Runs a LOAD that only refers to data. Returns false if it has to copy or convert. */
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
    const bool streams = b->run->streams;
    char *to = in_place(b, in->operand, NULL);
    const void *data =
        spread(b->run, in->a, o->dtype, b->n, to && !p->half && !streams ? to : b->plan->spare);
    if (p->half) {
        char *packed = to && !streams ? to : b->plan->narrow;
        b->run->level->convert(IG_F32, o->dtype, b->n, packed, 1, data, 1);
        data = packed;
    }
    if (to && to != data && streams)
        b->run->level->stream(to, data, (size_t)(b->n * p->bytes));
    else if (to && to != data)
        memmove(to, data, (size_t)(b->n * p->bytes));
    if (!to) {
        view_walk w = *walk_here(b, in->operand);
        p->moves->scatter(&w, b->n, p->base, data);
    }
}

/* The loop of instruction k, a MAP, whose inputs of one value are `one`. */
static map_loop loop_of(const block *b, int k, int one)
{
    const tape_inst *in = &b->run->t->inst[k];
    inst_plan *plan = &b->plan->inst[k];
    if (plan->one != one) {
        plan->one = one;
        plan->loop = b->run->level->loop(in->op, (ig_dtype)in->dtype, one);
    }
    return plan->loop;
}

/* If all inputs are one value, so is the result. */
static void do_map(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const int input[] = {in->a, in->op == OP_square ? in->a : in->b, in->c};
    const void *x[3];
    int one = 0, all = 0;
    for (int i = 0; i < 3; i++) {
        const int r = input[i];
        x[i] = r >= 0 ? b->run->reg[r] : b->plan->spare;
        one |= r >= 0 && b->run->one[r] ? 1 << i : 0;
        all |= r >= 0 ? 1 << i : 0;
    }
    if (one == all) {
        show(b, in->dst, b->plan->own[in->dst], true);
        loop_of(b, k, 0)(1, b->plan->own[in->dst], x[0], x[1], x[2]);
        return;
    }
    if (in->op == OP_where) {
        x[0] = spread(b->run, in->a, IG_BOOL, b->n, b->plan->spare);
        one &= ~MAP_ONE_A;
    }
    loop_of(b, k, one)(b->n, result(b, k), x[0], x[1], x[2]);
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
    elements_read(o, b->run->bindings, 0, words, key);
    b->run->level->bits((ig_dtype)in->to, key, words, o->first_index + b->start, b->n,
                        result(b, k));
}

/* A READ with one index for all points refers to the row in place, or reads it from a file. Returns false if neither is
 * possible. */
static bool read_row(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    const view_walk *w = walk_here(b, in->operand);
    int64_t offset;
    if (!b->run->one[in->a] || p->half || walk_run(w, b->n) < b->n || walk_step(w) != 1)
        return false;
    elements_offsets(o, b->start, 1, b->run->reg[in->a], &offset, b->run->fault);
    if (offset == NO_ELEMENT)
        return false;
    char *row = b->plan->own[in->dst];
    const bool is_read = p->file >= 0 && mapping_read(p->file, p->file_at + offset * p->bytes, row,
                                                      (size_t)(b->n * p->bytes));
    show(b, in->dst, is_read ? row : p->base + offset * p->bytes, false);
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
    void *d = result(b, k), *to = p->half ? b->plan->narrow : d;
    if (!elements_pick(o, p->base, b->start, b->n, index, to)) {
        elements_offsets(o, b->start, b->n, index, offset, b->run->fault);
        p->moves->fetch(b->n, to, p->base, offset);
    }
    if (p->half)
        b->run->level->convert(o->dtype, IG_F32, b->n, d, 1, b->plan->narrow, 1);
}

/* Elements of blocks at computed places. Usually they are consecutive: a row of a table. */
static void unpack_read(const block *b, int k, float *to)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const char *base = b->plan->operand[in->operand].base;
    const int64_t *index = spread(b->run, in->a, IG_I64, b->n, b->plan->narrow);
    int64_t *offset = (int64_t *)b->plan->spare;
    bool follows = true;
    elements_offsets(o, b->start, b->n, index, offset, b->run->fault);
    for (int64_t i = 0; i < b->n; i++) {
        offset[i] += offset[i] < NO_ELEMENT ? o->v.offset : 0;
        follows &= offset[i] < NO_ELEMENT && offset[i] == offset[0] + i;
    }
    if (follows)
        b->run->level->unpack(o->stored, b->n, to, base, offset[0]);
    else
        b->run->level->unpack_at(o->stored, b->n, to, base, offset);
}

static void do_unpack(const block *b, int k)
{
    const tape_inst *in = &b->run->t->inst[k];
    const operand *o = &b->run->t->operand[in->operand];
    const operand_plan *p = &b->plan->operand[in->operand];
    float *d = p->constant && in->a < 0 ? (float *)b->plan->own[in->dst] : result(b, k);
    if (in->a >= 0) {
        unpack_read(b, k, d);
        return;
    }
    if (p->constant) {
        b->run->level->unpack(o->stored, 1, d, p->base, o->v.offset);
        show(b, in->dst, d, true);
        return;
    }
    view_walk w = *walk_here(b, in->operand);
    int64_t *offset = (int64_t *)b->plan->spare;
    for (int64_t done = 0, run; done < b->n; done += run) {
        const int64_t first = o->v.offset + w.offset, step = walk_step(&w);
        run = walk_run(&w, b->n - done);
        for (int64_t i = 0; i < run && step != 1; i++)
            offset[i] = first + i * step;
        if (step == 1)
            b->run->level->unpack(o->stored, run, d + done, p->base, first);
        else
            b->run->level->unpack_at(o->stored, run, d + done, p->base, offset);
        walk_move(&w, run);
    }
}

static void do_core(const block *b, int k)
{
    show(b, b->run->t->inst[k].dst, (void *)b->core, false);
}

/* True if the place is not limited to the points of a block. */
static bool is_long(const row_place *p) { return !p->own && !p->period; }

int64_t tape_most(const tape_run *run)
{
    enum { LONG = 16 * TAPE_BLOCK };
    const rows_plan *plan = &run->plan->rows;
    if (!plan->points || plan->n_step != 1 || plan->n_series > 0 || run->streams || run->tiled ||
        run->t->result >= 0 || plan->step->d.of == PLACE_SPARE || !is_long(&plan->step->d))
        return TAPE_BLOCK;
    for (int i = 0; i < step_operands(&plan->step->run); i++)
        if (!is_long(&plan->step->x[i]))
            return TAPE_BLOCK;
    return plan->flat || plan->points > LONG ? LONG
           : plan->points > TAPE_BLOCK       ? plan->points
                                             : TAPE_BLOCK;
}

void tape_block(tape_run *run, int64_t start, int64_t n, const void *core)
{
    static void (*const code[])(const block *b, int k) = {
        [TAPE_LOAD] = do_load, [TAPE_STORE] = do_store, [TAPE_MAP] = do_map,
        [TAPE_CAST] = do_cast, [TAPE_ROUND] = do_round, [TAPE_IOTA] = do_iota,
        [TAPE_BITS] = do_bits, [TAPE_READ] = do_read,   [TAPE_UNPACK] = do_unpack,
        [TAPE_CORE] = do_core,
    };
    assert(start >= 0 && n > 0 && n <= tape_most(run) && start + n <= run->t->size);
    const some_rows rows = rows_of(run, start, n, core);
    if (rows.n > 0) {
        run_rows(run, &rows);
        return;
    }
    const block b = {run, run->plan, start, n, core};
    for (int k = 0; k < run->t->n_inst; k++)
        code[run->t->inst[k].code](&b, k);
}

/* ---- whole rows, one by one ---- */

/* True if [start, start + len), and the ranges of len points that follow, run faster one by one than in blocks. */
static bool by_rows(const rows_plan *plan, int64_t start, int64_t len)
{
    enum { LONG = 256 };
    const bool is_row = plan->flat || (plan->points == len && start % len == 0);
    return plan->points && len <= TAPE_BLOCK && is_row && (len >= LONG || plan->most > 1);
}

/* The row of len points from start on. Values between its steps are in the first row of the blocks. */
static some_rows row_from(const rows_plan *plan, int64_t start, int64_t len)
{
    assert(plan->flat || start % len == 0);
    return (some_rows){plan, len, plan->flat ? start : start / len, 1, NULL, 0};
}

bool tape_rows(tape_run *run, int64_t start, int64_t n, int64_t len)
{
    const rows_plan *plan = &run->plan->rows;
    if (!by_rows(plan, start, len))
        return false;
    for (int64_t r = 0; r < n; r++) {
        const some_rows row = row_from(plan, start + r * len, len);
        run_row(run, &row, 0, plan->n_step);
    }
    return true;
}

/* True if the tape's result is its input, in place. */
static bool is_plain(const tape_run *run)
{
    const rows_plan *plan = &run->plan->rows;
    return plan->points && plan->flat && plan->n_step == 0 && plan->shown[run->t->result].packed;
}

static bool folds_rows(const tape_run *run, int64_t start, int64_t len)
{
    return by_rows(&run->plan->rows, start, len) && !run->plan->rows.shown[run->t->result].one;
}

int64_t tape_fold_most(const tape_run *run, int64_t len)
{
    return is_plain(run) || folds_rows(run, 0, len) ? TAPE_BLOCK : TAPE_BLOCK / len;
}

static void fold_row(const tape_run *run, int fold, ig_dtype dtype, const some_rows *row, void *d)
{
    const rows_plan *plan = row->plan;
    run_row(run, row, 0, plan->n_step - (plan->sum ? plan->n_summed : 0));
    if (plan->sum)
        plan->sum(row->points, d, row_at(row, &plan->kept, 0), row_at(row, &plan->taken[0], 0),
                  row_at(row, &plan->taken[1], 0));
    else
        run->level->fold(fold, dtype, 1, row->points, d,
                         row_at(row, &plan->shown[run->t->result], 0));
}

void tape_fold(tape_run *run, int fold, ig_dtype dtype, int64_t start, int64_t n, int64_t len,
               void *d)
{
    const rows_plan *plan = &run->plan->rows;
    if (is_plain(run)) {
        const some_rows first = row_from(plan, start, len);
        run->level->fold(fold, dtype, n, len, d, row_at(&first, &plan->shown[run->t->result], 0));
        return;
    }
    if (!folds_rows(run, start, len)) {
        tape_block(run, start, n * len, NULL);
        run->level->fold(fold, dtype, n, len, d, tape_lanes(run, run->t->result, dtype, n * len));
        return;
    }
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype_lane(dtype));
    for (int64_t r = 0; r < n; r++) {
        const some_rows row = row_from(plan, start + r * len, len);
        fold_row(run, fold, dtype, &row, (char *)d + r * bytes);
    }
}
