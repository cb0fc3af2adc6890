/* Every op x dtype x layout against exact references. Walks the op table at run time: a row without a
 * plan is a failure, so a new op cannot be forgotten. Dtypes that a plan does not take must be refused.
 *
 *   ops [--op NAME] [--quick]      (IG_TEST_QUICK=1 is --quick; IG_TEST_TIMES=1 shows times)
 *
 * Ends with "N passed, N failed", where N counts op x dtype x shape x layout. */
#include "ops/plan.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const plan *const tables[] = {plans_more,   plans_reduce,   plans_move,
                                     plans_index,  plans_contract, plans_window,
                                     plans_source, plans_random,   plans_composite};

static const plan *plan_find(const char *op)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const plan *p = tables[t]; p->op; p++)
            if (strcmp(p->op, op) == 0)
                return p;
    return plan_elementwise(op);
}

/* A plan for a row that is not there is a mistake, too. */
static void check_names(tally *t)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const plan *p = tables[i]; p->op; p++)
            if (!ig_op_find(p->op))
                run_fail(t, 1e300, "%s has a plan, but is not in the op table", p->op);
    special_check_names(t);
}

static void test_dtype(const plan *how, ig_dtype dtype, bool quick, tally *t)
{
    problem p = {.quick = quick};
    if (!dtype_in(dtype, how->takes)) {
        problem_begin(&p, how->op, how->row, dtype, MODE_PLAIN, 0);
        if (how->make(&p, 0))
            run_refused(&p, t);
        problem_end(&p);
        return;
    }
    for (int mode = 0; mode < MODES; mode++) {
        bool more = true;
        for (int variant = 0; more; variant++) {
            problem_begin(&p, how->op, how->row, dtype, (problem_mode)mode, variant);
            more = how->make(&p, variant);
            if (more && (mode == MODE_PLAIN || p.related))
                run_problem(&p, t);
            problem_end(&p);
        }
    }
}

static void test_op(const ig_op *op, bool quick, tally *t)
{
    const plan *how = plan_find(op->name);
    if (!how) {
        run_fail(t, 1e300, "%s (%s) is in the op table, but has no plan in tests/ops", op->name,
                 op->cls);
        return;
    }
    const plan own = *how;
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++)
        test_dtype(&own, d, quick, t);
    special_check(op->name, t);
}

/* ---- the report ---- */

enum { MAX_OPS = 512, MAX_CLASSES = 16 };
static tally by_op[MAX_OPS];

static void report_class(const char *cls, int count)
{
    long long ops = 0, passed = 0, failed = 0;
    char text[8192] = "";
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        const ig_op *op = ig_op_at(i);
        const tally *t = &by_op[i];
        if (strcmp(op->cls, cls) != 0 || t->passed + t->failed == 0)
            continue;
        ops++;
        passed += t->passed;
        failed += t->failed;
        if ((t->worst[IG_F32] > 0 || t->worst[IG_F64] > 0))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %.2f/%.2f", n ? "," : "",
                                  op->name, t->worst[IG_F32], t->worst[IG_F64]);
    }
    if (ops)
        printf("%-12s %3lld ops %8lld cases %4lld failed%s%s\n", cls, ops, passed + failed, failed,
               n ? "; worst ulp f32/f64:" : "", text);
}

static void report(int count, tally *all)
{
    const char *seen[MAX_CLASSES];
    int n = 0;
    for (int i = 0; i < count; i++) {
        const char *cls = ig_op_at(i)->cls;
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || strcmp(seen[k], cls) == 0;
        if (!known && n < MAX_CLASSES)
            report_class(seen[n++] = cls, count);
        all->passed += by_op[i].passed;
        all->failed += by_op[i].failed;
    }
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    bool quick = getenv("IG_TEST_QUICK") != NULL, times = getenv("IG_TEST_TIMES") != NULL;
    tally all = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "--op") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            fprintf(stderr, "usage: %s [--op NAME] [--quick]\n", argv[0]);
            return 2;
        }
    }
    if (LDBL_MANT_DIG < 64) {
        printf("long double has no room for 64-bit integers here\n0 passed, 0 failed, 1 skipped\n");
        return 0;
    }
    if (only && !ig_op_find(only)) {
        fprintf(stderr, "no op is called %s; the nearest is %s\n", only, ig_op_nearest(only)->name);
        return 2;
    }
    const int count = ig_op_count();
    for (int i = 0; i < count && i < MAX_OPS; i++) {
        const ig_op *op = ig_op_at(i);
        const clock_t start = clock();
        if (!only || strcmp(only, op->name) == 0)
            test_op(op, quick, &by_op[i]);
        if (times)
            printf("%6.2f s %s\n", (double)(clock() - start) / CLOCKS_PER_SEC, op->name);
    }
    check_names(&all);
    report(count, &all);
    run_report();
    ig_shutdown();
    printf("%lld passed, %lld failed\n", (long long)all.passed, (long long)all.failed);
    return all.failed != 0;
}
