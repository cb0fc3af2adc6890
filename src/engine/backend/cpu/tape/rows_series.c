/* Rows plans of tapes that convert between bytes, i32 and f32, such as those that quantize the sums of a product: the
 * whole tape is one series (series_op), whose value stays in registers from one instruction to the next. A value that a
 * later instruction needs as well is also stored: in the operand of its STORE, or in its register's block. */
#include "engine/backend/cpu/tape/tape.h"
#include "engine/ops/ops.h"

typedef struct series_state {
    const tape_run *run;
    rows_plan *rows;
    int open;   /* the register whose value the series has now; -1: none ... */
    int before; /* ... and the one whose value the last XOR changed */
} series_state;

enum { NOWHERE = -1 }; /* row_place.of: the value is only in the series */

static bool is_byte(int dtype) { return dtype == IG_U8 || dtype == IG_I8; }

static bool is_kind(int dtype) { return is_byte(dtype) || dtype == IG_I32 || dtype == IG_F32; }

/* The dtype of the elements at a place; blocks and cores have lanes of 4 bytes. */
static int dtype_at(const tape_run *run, const row_place *p)
{
    const int i = p->of - PLACE_BLOCKS - run->t->n_reg;
    return i < 0 ? IG_I32 : (int)run->t->operand[i % run->t->n_operand].dtype;
}

/* ---- ops ---- */

static const row_place unused = {.of = PLACE_SPARE, .one = true},
                       none = {.of = PLACE_NONE, .one = true};

/* The op n before the end, if it has this code; else NULL. */
static row_series *op_before(const series_state *s, int n, int code)
{
    row_series *op = s->rows->n_series > n ? &s->rows->series[s->rows->n_series - 1 - n] : NULL;
    return op && op->op.code == code ? op : NULL;
}

static bool add_op(series_state *s, int code, int bytes, row_place x)
{
    if (s->rows->n_series == SERIES_MOST)
        return false;
    s->rows->series[s->rows->n_series++] =
        (row_series){.op = {.code = code, .bytes = bytes}, .x = x, .y = unused};
    return true;
}

/* Adds one value of each row to v; dtype is i32. */
static bool add_shift(series_state *s, row_place x, bool less)
{
    row_series *last = op_before(s, 0, SERIES_SHIFT);
    if ((!last || last->shifts == 2) && !add_op(s, SERIES_SHIFT, 0, unused))
        return false;
    last = op_before(s, 0, SERIES_SHIFT);
    last->less[last->shifts] = less;
    last->shift[last->shifts++] = x;
    last->shifted = IG_I32;
    return true;
}

/* Multiplies v by one value of each row. Joins the ops before it, which read, shift and convert v. */
static bool add_scale(series_state *s, row_place x)
{
    if (!op_before(s, 0, SERIES_FLOAT))
        return add_op(s, SERIES_MULTIPLY | SERIES_ONE, 0, x);
    s->rows->n_series--;
    row_series *to = op_before(s, 0, SERIES_SHIFT);
    if (!to && !add_op(s, SERIES_SCALE, 0, x))
        return false;
    to = &s->rows->series[s->rows->n_series - 1];
    to->op.code = SERIES_SCALE;
    to->x = x;
    row_series *get = op_before(s, 1, SERIES_GET);
    if (get) {
        to->y = get->x;
        to->op.code = SERIES_GET_SCALE;
        *get = *to;
        s->rows->n_series--;
    }
    return true;
}

/* Makes v a byte. Joins the ops before it, which round v and add one value. */
static bool add_saturate(series_state *s, bool is_signed)
{
    row_series *add = op_before(s, 0, SERIES_ADD | SERIES_ONE),
               *round = op_before(s, add ? 1 : 0, SERIES_ROUND);
    if (!round)
        return add_op(s, is_signed ? SERIES_I8 : SERIES_U8, 0, unused);
    const row_place zero = add ? add->x : none;
    s->rows->n_series -= add ? 2 : 1;
    if (!add_op(s, is_signed ? SERIES_QUANTIZE_I8 : SERIES_QUANTIZE_U8, 0, unused))
        return false;
    s->rows->series[s->rows->n_series - 1].y = zero;
    return true;
}

static bool add_alone(series_state *s, int code)
{
    return code == SERIES_U8 || code == SERIES_I8 ? add_saturate(s, code == SERIES_I8)
                                                  : add_op(s, code, 0, unused);
}

/* Bytes that the last lanes of a row are copied by: see series_op. */
static int copied_bytes(const tape_run *run, const row_place *p)
{
    const bool roomy = p->of >= PLACE_BLOCKS && p->of < PLACE_BLOCKS + run->t->n_reg;
    return p->one || roomy ? 0 : is_byte(dtype_at(run, p)) ? 1 : 4;
}

/* Makes register r the value of the series. */
static bool open_value(series_state *s, int r)
{
    const row_place *p = &s->rows->shown[r];
    if (s->open == r)
        return true;
    if (p->of == NOWHERE || p->one)
        return false;
    const int dtype = dtype_at(s->run, p);
    s->open = r;
    return add_op(s,
                  dtype == IG_U8   ? SERIES_GET_U8
                  : dtype == IG_I8 ? SERIES_GET_I8
                                   : SERIES_GET,
                  copied_bytes(s->run, p), *p);
}

static bool put_value(series_state *s, row_place to)
{
    const int bytes = copied_bytes(s->run, &to);
    return add_op(s, bytes == 1 ? SERIES_PUT_BYTES : SERIES_PUT, bytes, to);
}

/* ---- uses of a value ---- */

static bool uses(const tape_inst *in, int r)
{
    return in->code != TAPE_LOAD && in->code != TAPE_CORE &&
           (in->a == r || in->b == r || in->c == r);
}

/* Instructions after k that use its result: how many, and whether one of them is not the next that computes or stores. */
static int count_uses(const tape *t, int k, bool *later)
{
    const int r = t->inst[k].dst;
    int n = 0;
    bool is_next = true;
    *later = false;
    for (int i = k + 1; i < t->n_inst; i++) {
        const tape_inst *in = &t->inst[i];
        if (uses(in, r)) {
            n++;
            *later |= !is_next;
        }
        is_next &= in->code == TAPE_LOAD;
        if (in->code != TAPE_STORE && in->dst == r)
            break;
    }
    return n;
}

/* Stores the value, which nothing else uses. For bytes, only the low 8 bits matter. */
static bool put_last(series_state *s, row_place to)
{
    rows_plan *rows = s->rows;
    s->open = -1;
    if (copied_bytes(s->run, &to) != 1)
        return put_value(s, to);
    if (op_before(s, 0, SERIES_WRAP_U8) || op_before(s, 0, SERIES_WRAP_I8))
        rows->n_series--;
    const row_series *last = op_before(s, 0, SERIES_XOR);
    if (!last)
        return put_value(s, to);
    const row_series turn = *last;
    rows->n_series--;
    if (!put_value(s, to))
        return false;
    row_series *put = &rows->series[rows->n_series - 1];
    put->shifts = 1;
    put->shift[0] = turn.shift[0];
    put->shifted = turn.shifted;
    s->open = s->before; /* unless its register has another value: see close_inst */
    return true;
}

/* Ends instruction k, whose result the series has now: stores it where later instructions expect it. */
static bool close_inst(series_state *s, int k)
{
    const tape_run *run = s->run;
    rows_plan *rows = s->rows;
    const int r = run->t->inst[k].dst, direct = run->plan->inst[k].direct;
    bool later;
    const int n = count_uses(run->t, k, &later);
    s->open = r;
    rows->shown[r] = (row_place){.of = NOWHERE};
    if (direct != NOT_DIRECT) {
        rows->shown[r] = rows_place_of_operand(run, direct);
        if (!rows_has_place(run, k) || !(n == 1 ? put_last : put_value)(s, rows->shown[r]))
            return false;
        if (n == 1 && s->open == r)
            s->open = -1;
        return true;
    }
    if (!later)
        return true;
    rows->shown[r] = rows_place_of_block(run, r, 0); /* each row begins where the block does */
    return put_value(s, rows->shown[r]);
}

/* ---- instructions ---- */

/* The code of a row whose first operand is the series' value, or its second one (turned); -1 if there is none. */
static int map_code(int op, int dtype, bool turned)
{
    const bool is_int = dtype == IG_I32;
    if (is_byte(dtype))
        return op == OP_bitwise_xor ? SERIES_XOR : -1;
    if (op == OP_add)
        return is_int ? SERIES_INT_ADD : SERIES_ADD;
    if (op == OP_subtract)
        return is_int ? (turned ? SERIES_INT_FROM : SERIES_INT_SUBTRACT)
                      : (turned ? SERIES_FROM : SERIES_SUBTRACT);
    if (op == OP_multiply)
        return is_int ? SERIES_INT_MULTIPLY : SERIES_MULTIPLY;
    return is_int                       ? -1
           : op == OP_divide && !turned ? SERIES_DIVIDE
           : op == OP_maximum           ? SERIES_MAXIMUM
           : op == OP_minimum           ? SERIES_MINIMUM
                                        : -1;
}

/* An op with another operand. */
static bool add_with(series_state *s, int code, int dtype, row_place other)
{
    if (other.one && (code == SERIES_INT_ADD || code == SERIES_INT_SUBTRACT))
        return add_shift(s, other, code == SERIES_INT_SUBTRACT);
    if (other.one && code == SERIES_MULTIPLY)
        return add_scale(s, other);
    if (code == SERIES_XOR) {
        if (!add_op(s, code, 0, unused))
            return false;
        row_series *last = &s->rows->series[s->rows->n_series - 1];
        last->shifts = 1;
        last->shift[0] = other;
        last->shifted = (ig_dtype)dtype;
        s->before = s->open;
        return true;
    }
    return add_op(s, code | (other.one ? SERIES_ONE : 0), copied_bytes(s->run, &other), other);
}

static bool add_map(series_state *s, int k)
{
    const tape_inst *in = &s->run->t->inst[k];
    const row_place *shown = s->rows->shown;
    if (!is_kind(in->dtype) || in->c >= 0 || in->a < 0 || in->op == OP_square)
        return false;
    if (in->b < 0)
        return in->op == OP_round && in->dtype == IG_F32 && open_value(s, in->a) &&
               add_alone(s, SERIES_ROUND) && close_inst(s, k);
    const bool turned = s->open != in->a && (s->open == in->b || shown[in->a].one);
    const int code = map_code(in->op, in->dtype, turned);
    const row_place other = shown[turned ? in->a : in->b];
    if (code < 0 || !open_value(s, turned ? in->b : in->a) || other.of == NOWHERE ||
        (!other.one && (is_byte(in->dtype) || is_byte(dtype_at(s->run, &other)))))
        return false;
    return add_with(s, code, in->dtype, other) && close_inst(s, k);
}

static bool add_cast(series_state *s, int k)
{
    const tape_inst *in = &s->run->t->inst[k];
    const int from = in->dtype, to = in->to;
    if (!is_kind(from) || !is_kind(to) || (from == IG_F32 && to == IG_I32) || !open_value(s, in->a))
        return false;
    const int code = from == to || (to == IG_I32 && from != IG_F32) ? -1
                     : to == IG_F32                                 ? SERIES_FLOAT
                     : from == IG_F32 ? (to == IG_U8 ? SERIES_U8 : SERIES_I8)
                     : to == IG_U8    ? SERIES_WRAP_U8
                                      : SERIES_WRAP_I8;
    return (code < 0 || add_alone(s, code)) && close_inst(s, k);
}

/* A STORE of a value that was not stored as soon as it was computed. */
static bool add_store(series_state *s, const tape_inst *in)
{
    const tape_run *run = s->run;
    const row_place to = rows_place_of_operand(run, in->operand);
    const row_place *from = &s->rows->shown[in->a];
    return from->of == to.of ||
           (rows_are_contiguous(run, in->operand) && open_value(s, in->a) && put_value(s, to));
}

static bool add_inst(series_state *s, int k)
{
    const tape_run *run = s->run;
    const tape_inst *in = &run->t->inst[k];
    const int dst = in->dst;
    switch ((tape_code)in->code) {
    case TAPE_MAP: return add_map(s, k);
    case TAPE_CAST: return add_cast(s, k);
    case TAPE_STORE: return is_kind((int)run->t->operand[in->operand].dtype) && add_store(s, in);
    case TAPE_CORE:
        s->rows->shown[dst] = rows_place_of_core(run, sizeof(int32_t));
        return in->dtype == IG_I32 || in->dtype == IG_F32;
    case TAPE_LOAD:
        s->open = s->open == dst ? -1 : s->open;
        return is_kind((int)run->t->operand[in->operand].dtype) && rows_load(run, in);
    case TAPE_ROUND:
    case TAPE_IOTA:
    case TAPE_BITS:
    case TAPE_READ:
    case TAPE_UNPACK: break;
    }
    return false;
}

/* True if an op after number k reads the block that it stores, before another op stores it. */
static bool is_read_later(const rows_plan *rows, int k)
{
    const int16_t of = rows->series[k].x.of;
    for (int i = k + 1; i < rows->n_series; i++) {
        const row_series *s = &rows->series[i];
        if (s->x.of == of || s->y.of == of)
            return s->op.code != SERIES_PUT;
    }
    return false;
}

/* Removes stores of blocks that nothing reads, because the value was still in the series. */
static void drop_unread(const tape_run *run, rows_plan *rows)
{
    int n = 0;
    for (int k = 0; k < rows->n_series; k++) {
        const row_series *s = &rows->series[k];
        const bool block = s->x.of >= PLACE_BLOCKS && s->x.of < PLACE_BLOCKS + run->t->n_reg;
        if (s->op.code != SERIES_PUT || !block || is_read_later(rows, k))
            rows->series[n++] = *s;
    }
    rows->n_series = n;
}

bool rows_series(const tape_run *run)
{
    enum { ROW_LEAST = 16 }; /* shorter rows do not pay for a call per row */
    const tape *t = run->t;
    rows_plan *rows = &run->plan->rows;
    series_state s = {run, rows, -1, -1};
    bool computes = false;
    bool plain = t->result < 0 && (rows->flat || t->ndim == 2 || t->ndim == 3) &&
                 t->shape[t->ndim - 1] >= ROW_LEAST;
    rows->n_series = 0;
    for (int k = 0; k < t->n_inst && plain; k++) {
        computes |= t->inst[k].code == TAPE_MAP || t->inst[k].code == TAPE_CAST;
        plain = add_inst(&s, k);
    }
    plain &= computes; /* copies are faster as blocks */
    if (plain)
        drop_unread(run, rows);
    rows->n_series = plain ? rows->n_series : 0;
    rows->most = plain && !rows->flat ? TAPE_BLOCK : rows->most;
    return plain;
}
