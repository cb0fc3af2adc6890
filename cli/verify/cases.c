/* The cases of an op: the problems of its plan in every dtype, mode and variant, and its special values. An op
 * without a plan fails, so that a new op cannot be forgotten. Dtypes that a plan does not accept must be refused. */
#include "verify/verify.h"
#include "engine/eval/ask.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const plan *const tables[] = {plans_reduce, plans_index,  plans_contract,
                                     plans_window, plans_source, plans_random};
enum { TABLES = sizeof tables / sizeof *tables };

/* The plan of the op, and the dtypes that it accepts: its row says both, unless a table has a reference. */
static bool plan_find(const char *op, plan *out, unsigned *takes)
{
    if (!plan_elementwise(op, out, takes) && !plan_example(op, out, takes))
        return false;
    for (int t = 0; t < TABLES; t++)
        for (const plan *p = tables[t]; p->op; p++)
            if (strcmp(p->op, op) == 0)
                *out = *p;
    return true;
}

const char *verify_stray(void)
{
    for (int t = 0; t < TABLES; t++)
        for (const plan *p = tables[t]; p->op; p++)
            if (!ig_op_find(p->op))
                return p->op;
    return special_stray();
}

/* Makes a problem of the plan; false if there is none. Call problem_end in both cases. */
static bool begin(problem *p, const plan *how, ig_dtype dtype, int mode, int variant)
{
    problem_begin(p, how->op, how->row, dtype, (problem_mode)mode, variant);
    return how->make(p, variant);
}

static bool verify_mode(run *r, const plan *how, problem *p, int mode)
{
    bool more = true;
    for (int variant = 0; more; variant++) {
        if (r->scope->stop && r->scope->stop())
            return false;
        more = begin(p, how, r->dtype, mode, variant);
        if (more && (mode == MODE_PLAIN || p->related))
            run_problem(r, p);
        problem_end(p);
    }
    return true;
}

static bool verify_modes(run *r, const plan *how, problem *p)
{
    bool more = true;
    for (int mode = 0; mode < MODES && more; mode++)
        more = verify_mode(r, how, p, mode);
    return more;
}

static bool compile_ahead(run *r, const plan *how, problem *p, ahead_what what)
{
    ahead all = {.what = what};
    r->ahead = &all;
    const bool more = verify_modes(r, how, p);
    r->ahead = NULL;
    ahead_compile(&all);
    return more;
}

static bool verify_dtype(run *r, const plan *how, unsigned takes)
{
    problem p = {.quick = r->scope->quick, .flushes = r->scope->flushes, .seed = r->scope->seed};
    bool more = true;
    if (!dtype_in(r->dtype, takes)) {
        if (begin(&p, how, r->dtype, MODE_PLAIN, 0))
            run_refused(r, &p);
        problem_end(&p);
        return true;
    }
    if (r->scope->batches && !r->scope->name && !r->report->op->evaluates) {
        const int kinds = r->scope->reference ? AHEAD_KINDS : AHEAD_GRADIENTS;
        for (int k = 0; k < kinds && more; k++)
            more = compile_ahead(r, how, &p, (ahead_what)k);
    }
    more = more && verify_modes(r, how, &p);
    if (more)
        special_check(r);
    return more;
}

/* True if an exact reference is possible. 64-bit values and sums of 32-bit products need more than a double, and on
 * some systems long double is only a double. */
static bool has_exact(const ig_op *op, ig_dtype d, const verify_scope *scope)
{
    const bool product = strcmp(op->cls, "contract") == 0 && (d == IG_I32 || d == IG_U32);
    return LDBL_MANT_DIG >= 64 || (real_width(d) < 64 && !product) || scope->reference;
}

bool verify_op(const ig_op *op, const verify_scope *scope, op_report *report)
{
    plan how;
    unsigned takes;
    bool more = true;
    *report = (op_report){.op = op};
    run r = {.scope = scope, .report = report};
    if (!plan_find(op->name, &how, &takes)) {
        run_fail(&r, "none", "the op has no example in the op table");
        return true;
    }
    for (r.dtype = IG_BOOL; r.dtype <= IG_F64 && more; r.dtype++)
        if ((scope->dtypes == 0 || dtype_in(r.dtype, scope->dtypes)) &&
            has_exact(op, r.dtype, scope))
            more = verify_dtype(&r, &how, takes);
    return more;
}

void verify_free(op_report *r)
{
    free(r->first.text);
    r->first.text = NULL;
}

void tally_add(tally *to, const tally *t)
{
    to->cases += t->cases;
    to->failed += t->failed;
    to->refused += t->refused;
    to->flushed += t->flushed;
    to->ulp = fmax(to->ulp, t->ulp);
    to->relative = fmax(to->relative, t->relative);
    to->bound = fmax(to->bound, t->bound);
}

void tally_json(str *t, const tally *x)
{
    str_json(t, "cases: %lld, failed: %lld, refused: %lld, flushed: %lld", (long long)x->cases,
             (long long)x->failed, (long long)x->refused, (long long)x->flushed);
    str_json(t, "worst_ulp: %.6g, worst_relative: %.6g, worst_bound: %.6g", x->ulp, x->relative,
             x->bound);
}

tally verify_total(const op_report *r)
{
    tally all = {0};
    for (int d = 0; d < DTYPES; d++)
        tally_add(&all, &r->by_dtype[d]);
    return all;
}

taking verify_taking(const ig_op *op, ig_dtype dtype, char **why)
{
    problem p = {.quick = true};
    plan how;
    unsigned takes;
    taking is = TAKING_NONE;
    const char *device = ig_device();
    *why = NULL;
    if (!plan_find(op->name, &how, &takes))
        return is;
    if (op->evaluates) { /* on the CPU */
        engine_ask(device);
        ig_set_device("cpu");
    }
    if (begin(&p, &how, dtype, MODE_PLAIN, 0)) {
        is = run_try(&p) == IG_OK ? TAKING_NATIVE : TAKING_REFUSED;
        const char *text = ig_error(NULL);
        *why = is == TAKING_REFUSED ? heap_string(text ? text : "failed without a reason") : NULL;
    }
    problem_end(&p);
    engine_ask(NULL);
    ig_set_device(device);
    return is;
}
