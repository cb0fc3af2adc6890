/* 16-bit floats in rows plans: elements are widened when a step needs their lanes. A sum with such elements, a rounding
 * before it, and a rounding or a store after it become one loop, if the level has it. Bench row: distilbert 8x128
 * bf16. */
#include "engine/backend/cpu/tape/tape.h"
#include "engine/ops/ops.h"

/* The step before instruction k if its result is x, which only k uses; else NULL. */
static row_step *step_before(const tape_run *run, int k, const row_place *x)
{
    const rows_plan *rows = &run->plan->rows;
    row_step *last = &rows->step[rows->n_step - 1];
    return run->plan->inst[k].after >= 0 && rows->n_step > 0 && last->d.own && x->own &&
                   last->d.of == x->of
               ? last
               : NULL;
}

/* Lanes are f32: see plan_row_map. */
static bool takes_lanes(const tape_run *run)
{
    rows_plan *rows = &run->plan->rows;
    rows->bytes = rows->n_step ? rows->bytes : sizeof(float);
    return rows->n_step < STEP_MOST && (run->t->result < 0 || rows->bytes == sizeof(float));
}

static bool step_add(const tape_run *run, int code, ig_dtype dtype, row_place d, row_place x,
                     row_place y)
{
    rows_plan *rows = &run->plan->rows;
    const map_loop loop = run->level->half(code, dtype);
    if (!loop || x.one || !takes_lanes(run))
        return false;
    rows->step[rows->n_step++] = (row_step){.loop = loop,
                                            .op = NO_ROW,
                                            .dtype = dtype,
                                            .half = code,
                                            .d = d,
                                            .x = {x, y, {.of = PLACE_SPARE}}};
    return true;
}

/* Gives a step another loop and destination. Returns false if there is no such loop. */
static bool step_change(const tape_run *run, row_step *s, int code, row_place d)
{
    const map_loop loop = run->level->half(code, s->dtype);
    if (!loop)
        return false;
    s->loop = loop;
    s->half = code;
    s->d = d;
    return true;
}

static bool is_sum(const row_step *s, ig_dtype dtype)
{
    return s->dtype == dtype && (s->half == HALF_ADD || s->half == HALF_ADD + HALF_FIRST);
}

/* The dtype of the elements at place p. */
static ig_dtype dtype_at(const tape_run *run, const row_place *p)
{
    return run->t->operand[p->of - PLACE_BLOCKS - run->t->n_reg].dtype;
}

bool rows_widen(const tape_run *run, int r)
{
    row_place *shown = &run->plan->rows.shown[r];
    const row_place from = *shown, block = rows_place_of_block(run, r, sizeof(float));
    if (!from.half)
        return true;
    *shown = block;
    return step_add(run, HALF_WIDEN, dtype_at(run, &from), block, from,
                    (row_place){.of = PLACE_SPARE});
}

bool rows_half_sum(const tape_run *run, int k)
{
    const tape_inst *in = &run->t->inst[k];
    rows_plan *rows = &run->plan->rows;
    if (in->op != OP_add || !rows_has_place(run, k) ||
        rows->shown[in->a].half == rows->shown[in->b].half)
        return false;
    const bool turned = rows->shown[in->a].half;
    const row_place x = rows->shown[turned ? in->b : in->a],
                    h = rows->shown[turned ? in->a : in->b];
    const row_place d = rows_place_of_result(run, k, sizeof(float));
    const ig_dtype dtype = dtype_at(run, &h);
    row_step *before = step_before(run, k, &x);
    if (before && before->half == HALF_ROUND && before->dtype == dtype &&
        step_change(run, before, HALF_ADD + HALF_FIRST, d))
        before->x[1] = h;
    else if (!step_add(run, HALF_ADD, dtype, d, x, h))
        return false;
    rows->shown[in->dst] = d;
    return true;
}

/* A cast of 16-bit elements to f32 lanes: nothing to compute, but the value must be at its place. */
static bool widen_cast(const tape_run *run, int k, row_place x, row_place d)
{
    const tape_inst *in = &run->t->inst[k];
    row_step *before = step_before(run, k, &x);
    if (x.half && d.own) {
        run->plan->rows.shown[in->dst] = x;
        return true;
    }
    run->plan->rows.shown[in->dst] = d;
    if (x.half)
        return step_add(run, HALF_WIDEN, dtype_at(run, &x), d, x, (row_place){.of = PLACE_SPARE});
    if (!before) /* these lanes are already rounded: a copy */
        return step_add(run, HALF_ROUND, (ig_dtype)in->dtype, d, x, (row_place){.of = PLACE_SPARE});
    before->d = d;
    return true;
}

bool rows_half_cast(const tape_run *run, int k)
{
    const tape_inst *in = &run->t->inst[k];
    rows_plan *rows = &run->plan->rows;
    const ig_dtype to = (ig_dtype)in->to;
    const row_place d = rows_place_of_result(run, k, sizeof(float));
    if (dtype_lane((ig_dtype)in->dtype) != IG_F32 || !rows_has_place(run, k))
        return false;
    if (to == IG_F32 && dtype_is_half((ig_dtype)in->dtype))
        return widen_cast(run, k, rows->shown[in->a], d);
    if (!dtype_is_half(to) || !rows_widen(run, in->a))
        return false;
    row_step *before = step_before(run, k, &rows->shown[in->a]);
    if (!(before && is_sum(before, to) &&
          step_change(run, before, before->half + HALF_ROUNDED, d)) &&
        !step_add(run, HALF_ROUND, to, d, rows->shown[in->a], (row_place){.of = PLACE_SPARE}))
        return false;
    rows->shown[in->dst] = d;
    return true;
}

bool rows_half_store(const tape_run *run, int k)
{
    const tape_inst *in = &run->t->inst[k];
    const ig_dtype to = run->t->operand[in->operand].dtype;
    const row_place x = run->plan->rows.shown[in->a], d = rows_place_of_operand(run, in->operand);
    if (x.half || run->t->operand[in->operand].v.stride[run->t->ndim - 1] != 1)
        return false; /* an element that an earlier STORE may have changed */
    row_step *before = step_before(run, k, &x);
    return (before && is_sum(before, to) &&
            step_change(run, before, before->half + HALF_STORED, d)) ||
           step_add(run, HALF_NARROW, to, d, x, (row_place){.of = PLACE_SPARE});
}
