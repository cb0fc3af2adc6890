/* Every row of the op table against central differences in f64, in every layout; second derivatives;
 * other floats against f64. A row of the table that rows.def does not call is a failure, so a new op
 * cannot be forgotten.
 *
 *   test_rows [--op NAME]      (IG_TEST_QUICK=1: fewer layouts)
 *
 * Ends with "N passed, N failed". */
#include "grad/rows.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

enum { SHOWN = 40 };
static int64_t passed, failed;

/* A row at work: its inputs in layouts, and what is being done with it. */
typedef struct trial {
    const row *r;
    const char *doing;
    int n, n_x; /* inputs; those of them that are floats */
    input in[MOST_INPUTS];
    laid at[MOST_INPUTS];
    laid *x[MOST_INPUTS]; /* the floats */
    ig_dtype dtype;       /* that stands for f64 */
    bool lazy;            /* floats are results that have not been computed */
    bool computed;        /* results are computed before they are differentiated */
} trial;

static void fail(const trial *t, const char *format, ...) IG_PRINTF(2, 3);
static void fail(const trial *t, const char *format, ...)
{
    va_list args;
    if (++failed > SHOWN)
        return;
    printf("FAILED %s, rows.def:%d, %s, %s: ", t->r->op, t->r->line, t->doing,
           t->n ? layout_names[t->at[0].how] : "no inputs");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

static void expect(const trial *t, bool fine, const char *what)
{
    const char *error = ig_error(NULL);
    if (fine)
        passed++;
    else
        fail(t, "%s: %s", what, error ? error : "no error");
}

static double *reals(int64_t n)
{
    double *v = calloc((size_t)n + 1, sizeof *v);
    if (!v)
        abort();
    return v;
}

/* have and want, n numbers each, differ by at most tol of the largest that is wanted. */
static void compare(const trial *t, int k, const double *have, const double *want, int64_t n,
                    double tol)
{
    double largest = 1, worst = -1;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const double off = fabs(have[i] - want[i]);
        largest = fmax(largest, fabs(want[i]));
        if (!(off <= worst)) {
            worst = off;
            at = i;
        }
    }
    if (worst <= tol * largest)
        passed++;
    else
        fail(t, "gradient %d at %lld is %.12g, not %.12g", k, (long long)at, have[at], want[at]);
}

/* ---- what is built, in the open scope ---- */

typedef struct built {
    ig_array *stored[MOST_INPUTS], *seen[MOST_INPUTS]; /* the inputs that are floats */
    ig_array *y[MOST_RESULTS], *g[MOST_RESULTS];       /* results that are floats, cotangents */
    int n_y, n_all;                                    /* how many of these, and of all results */
} built;

/* Numbers in the shape and dtype of x. */
static ig_array *numbers_like(ig_array *x, int seed)
{
    double *v = reals(ig_size(x));
    values_fill(v, ig_size(x), seed);
    ig_array *g = array_of(v, ig_shape(x), ig_dtype_of(x));
    free(v);
    return g;
}

static void build(const trial *t, built *b)
{
    ig_array *in[MOST_INPUTS] = {NULL}, *y[MOST_RESULTS];
    *b = (built){.n_y = 0};
    for (int k = 0, i = 0; k < t->n; k++) {
        ig_array *stored = laid_store(&t->at[k]);
        if (!input_is_float(&t->in[k])) {
            in[k] = laid_see(&t->at[k], stored);
            continue;
        }
        b->stored[i] = ig_astype(stored, t->dtype);
        in[k] = laid_see(&t->at[k], t->lazy ? ig_positive(b->stored[i]) : b->stored[i]);
        b->seen[i++] = in[k];
    }
    b->n_all = t->r->make(in, y);
    for (int i = 0; i < b->n_all; i++)
        if (ig_isdtype(ig_dtype_of(y[i]), "real floating")) {
            b->g[b->n_y] = numbers_like(y[i], 50 + i);
            b->y[b->n_y++] = y[i];
        }
}

/* The sum of x * g over all of them. */
static ig_array *dot(ig_array *const *x, ig_array *const *g, int n)
{
    ig_array *sum = ig_scalar(0, IG_F64);
    for (int i = 0; i < n; i++)
        sum = ig_add(sum, ig_sum(ig_multiply(x[i], g[i]), IG_NONE, IG_F64, false));
    return sum;
}

/* ---- central differences ---- */

/* What is differentiated: a number made of the inputs as they are stored. */
typedef ig_array *(*quantity)(const trial *t, built *b);

/* Results, weighted. */
static ig_array *first_order(const trial *t, built *b)
{
    build(t, b);
    return dot(b->y, b->g, b->n_y);
}

/* Gradients, weighted. */
static ig_array *second_order(const trial *t, built *b)
{
    ig_array *d[MOST_INPUTS], *v[MOST_INPUTS];
    build(t, b);
    if (ig_vjp(b->y, b->g, b->n_y, b->stored, t->n_x, d) != IG_OK)
        return NULL;
    for (int i = 0; i < t->n_x; i++)
        v[i] = numbers_like(d[i], 80 + i);
    return dot(d, v, t->n_x);
}

static double value_of(const trial *t, quantity f)
{
    built b;
    ig_scope_begin();
    const double value = ig_item(f(t, &b));
    ig_scope_end();
    return value;
}

/* The derivative of f by each stored element of float input i; 0 for those that nobody sees. */
static double *differences(const trial *t, quantity f, int i)
{
    const double step = 1e-5;
    laid *l = t->x[i];
    double *d = reals(l->size);
    bool *done = calloc((size_t)l->size + 1, sizeof *done);
    if (!done)
        abort();
    for (int64_t k = 0; k < l->in->size; k++) {
        const int64_t at = l->place[k];
        const double x = l->stored[at];
        if (done[at])
            continue;
        done[at] = true;
        l->stored[at] = x + step;
        d[at] = value_of(t, f);
        l->stored[at] = x - step;
        d[at] = (d[at] - value_of(t, f)) / (2 * step);
        l->stored[at] = x;
    }
    free(done);
    return d;
}

/* ---- gradients held against them ---- */

static void compare_array(const trial *t, int i, ig_array *have, const double *want, double tol)
{
    const laid *l = t->x[i];
    double *v = reals(l->size);
    if (ig_size(have) != l->size || !array_read(have, v, l->size))
        expect(t, false, "the gradient is not there");
    else
        compare(t, i, v, want, l->size, tol);
    free(v);
}

/* The same, where have is the gradient of the input as it is seen. */
static void compare_seen(const trial *t, int i, ig_array *have, const double *want, double tol)
{
    const laid *l = t->x[i];
    double *v = reals(l->in->size), *sum = reals(l->size);
    if (ig_size(have) != l->in->size || !array_read(have, v, l->in->size))
        expect(t, false, "the gradient of a view is not there");
    for (int64_t k = 0; k < l->in->size; k++)
        sum[l->place[k]] += v[k];
    compare(t, i, sum, want, l->size, tol);
    free(sum);
    free(v);
}

/* A view that repeats elements may be refused: which of them is meant is not known behind it. */
static bool refused_for_repeats(const trial *t)
{
    bool repeats = false;
    for (int i = 0; i < t->n_x; i++)
        repeats = repeats || t->x[i]->how == REPEATED || t->x[i]->how == REPEATED_LAST;
    ig_status code;
    const char *text = ig_error(&code);
    if (text && !(repeats && code == IG_ERR_UNSUPPORTED && strstr(text, "repeats elements")))
        ig_fail(code, "%s", text);
    return !ig_failed();
}

/* By what is stored alone, and by what is seen together with it. */
static void check_gradients(trial *t, double *const *want)
{
    ig_array *x[2 * MOST_INPUTS], *d[2 * MOST_INPUTS];
    const int n = t->n_x;
    built b;
    ig_scope_begin();
    build(t, &b);
    memcpy(x, b.stored, (size_t)n * sizeof *x);
    memcpy(x + n, b.seen, (size_t)n * sizeof *x);
    if (t->computed)
        ig_eval(b.y, b.n_y);
    t->doing = t->lazy ? "by views of what is not computed" : "by views of data";
    if (ig_vjp(b.y, b.g, b.n_y, x, 2 * n, d) != IG_OK || ig_eval(d, 2 * n) != IG_OK)
        expect(t, refused_for_repeats(t), "vjp");
    else
        for (int i = 0; i < n; i++) {
            compare_array(t, i, d[i], want[i], 1e-7);
            compare_seen(t, i, d[n + i], want[i], 1e-7);
        }
    t->doing = t->lazy ? "by data behind a result" : "by data";
    if (ig_vjp(b.y, b.g, b.n_y, x, n, d) != IG_OK || ig_eval(d, n) != IG_OK)
        expect(t, false, "vjp");
    else
        for (int i = 0; i < n; i++)
            compare_array(t, i, d[i], want[i], 1e-7);
    ig_scope_end();
}

static bool all_zero(const trial *t, double *const *d)
{
    double sum = 0;
    for (int i = 0; i < t->n_x; i++)
        for (int64_t k = 0; k < t->x[i]->size; k++)
            sum += fabs(d[i][k]);
    return sum == 0;
}

static void check_first(trial *t)
{
    double *want[MOST_INPUTS];
    for (int i = 0; i < t->n_x; i++)
        want[i] = t->r->kind == ROW_STOP ? reals(t->x[i]->size) : differences(t, first_order, i);
    t->doing = "differences";
    if (t->at[0].how == PLAIN)
        expect(t, all_zero(t, want) == (t->r->kind != ROW_DIFF), "it is of another kind");
    for (int way = 0; way < 2; way++) {
        t->lazy = way;
        t->computed = !way;
        check_gradients(t, want);
    }
    t->lazy = t->computed = false;
    for (int i = 0; i < t->n_x; i++)
        free(want[i]);
}

static void check_second(trial *t)
{
    built b;
    ig_array *d[MOST_INPUTS];
    t->doing = "second order";
    ig_scope_begin();
    ig_array *y = second_order(t, &b);
    ig_array *one = ig_scalar(1, IG_F64);
    if (!y || ig_vjp(&y, &one, 1, b.stored, t->n_x, d) != IG_OK || ig_eval(d, t->n_x) != IG_OK)
        expect(t, false, "vjp of a gradient");
    else
        for (int i = 0; i < t->n_x; i++) {
            double *want = differences(t, second_order, i);
            compare_array(t, i, d[i], want, 1e-6);
            free(want);
        }
    ig_scope_end();
}

/* ---- other floats ---- */

/* Rounds the inputs to the dtype, then holds its gradients against those of f64. */
static void check_dtype(trial *t, ig_dtype dtype)
{
    static const double eps[] = {[IG_F16] = 0x1p-10, [IG_BF16] = 0x1p-7, [IG_F32] = 0x1p-23};
    ig_array *want[MOST_INPUTS], *have[MOST_INPUTS];
    built narrow, wide;
    ig_scope_begin();
    t->doing = ig_dtype_name(dtype);
    for (int i = 0; i < t->n_x; i++) {
        laid *l = t->x[i];
        array_read(array_of(l->stored, IG_SHAPE(l->size), dtype), l->stored, l->size);
    }
    build(t, &wide);
    t->dtype = dtype;
    build(t, &narrow);
    t->dtype = IG_F64;
    for (int i = 0; i < wide.n_y; i++)
        wide.g[i] = ig_astype(narrow.g[i], IG_F64);
    if (ig_vjp(wide.y, wide.g, wide.n_y, wide.stored, t->n_x, want) != IG_OK ||
        ig_vjp(narrow.y, narrow.g, narrow.n_y, narrow.stored, t->n_x, have) != IG_OK)
        expect(t, false, "vjp");
    for (int i = 0; i < t->n_x && !ig_failed(); i++) {
        double *v = reals(t->x[i]->size);
        array_read(want[i], v, t->x[i]->size);
        expect(t, ig_dtype_of(have[i]) == dtype, "the gradient has another dtype");
        compare_array(t, i, have[i], v, 16 * eps[dtype]);
        free(v);
    }
    ig_scope_end();
}

/* ---- rows without a gradient ---- */

static void expect_error(const trial *t, ig_status status, ig_status code, const char *text)
{
    ig_status have;
    const char *error = ig_error(&have);
    if (status == code && have == code && strstr(error, text) && !strchr(error, '\n'))
        passed++;
    else
        fail(t, "%s \"%s\", not %s \"... %s ...\"", ig_status_name(have), error ? error : "",
             ig_status_name(code), text);
}

/* What is not float is refused; converted to float it is a constant. */
static void check_whole(trial *t)
{
    ig_array *in[MOST_INPUTS] = {NULL}, *y[MOST_RESULTS], *x = NULL, *d;
    t->doing = "refused";
    ig_scope_begin();
    for (int k = 0; k < t->n; k++) {
        in[k] = laid_see(&t->at[k], laid_store(&t->at[k]));
        x = input_is_float(&t->in[k]) ? in[k] : x;
    }
    const int n = t->r->make(in, y);
    expect(t, n > 0 && !ig_isdtype(ig_dtype_of(y[0]), "real floating"), "gives floats");
    ig_array *other = x ? x : ig_ones(IG_SHAPE(2), IG_F64);
    expect_error(t, ig_vjp(y, y, n, &other, 1, &d), IG_ERR_DTYPE, "only floats have gradients");
    ig_array *loss = ig_sum(ig_astype(y[0], IG_F64), IG_NONE, IG_F64, false);
    if (x)
        expect_error(t, ig_grad(loss, &x, 1, &d), IG_ERR_ARGUMENT, "does not reach the loss");
    ig_scope_end();
}

static void check_sharp(trial *t)
{
    char text[100];
    ig_array *d[MOST_INPUTS];
    built b;
    t->doing = "refused";
    snprintf(text, sizeof text, "grad: %s has no derivative", t->r->op);
    ig_scope_begin();
    build(t, &b);
    expect_error(t, ig_vjp(b.y, b.g, b.n_y, b.stored, t->n_x, d), IG_ERR_UNSUPPORTED, text);
    ig_scope_end();
}

static void check_source(trial *t)
{
    built b;
    t->doing = "made";
    ig_scope_begin();
    build(t, &b);
    expect(t, b.n_all > 0 && t->n_x == 0, "takes floats, or fails");
    ig_scope_end();
}

/* ---- all of them ---- */

/* Input k in layout (first + k), so that they differ. */
static void trial_begin(trial *t, const row *r, int first)
{
    *t = (trial){.r = r, .dtype = IG_F64, .doing = "inputs"};
    ig_scope_begin();
    t->n = inputs_new(r, t->in);
    for (int k = 0; k < t->n; k++) {
        laid_new(&t->at[k], &t->in[k], (layout)((first + k) % LAYOUTS));
        if (input_is_float(&t->in[k]))
            t->x[t->n_x++] = &t->at[k];
    }
    ig_scope_end();
}

static void trial_end(trial *t)
{
    for (int k = 0; k < t->n; k++)
        laid_free(&t->at[k]);
    inputs_free(t->in, t->n);
}

static void check_layout(const row *r, int first, bool quick)
{
    trial t;
    trial_begin(&t, r, first);
    if (r->kind == ROW_WHOLE)
        check_whole(&t);
    else if (r->kind == ROW_SHARP)
        check_sharp(&t);
    else if (r->kind == ROW_SOURCE)
        check_source(&t);
    else
        check_first(&t);
    if (r->kind == ROW_DIFF && !quick)
        check_second(&t);
    trial_end(&t);
}

static void check_dtypes(const row *r)
{
    static const ig_dtype others[] = {IG_F32, IG_F16, IG_BF16};
    trial t;
    for (int i = 0; i < 3 && r->kind == ROW_DIFF; i++) {
        trial_begin(&t, r, PLAIN);
        check_dtype(&t, others[i]);
        trial_end(&t);
    }
}

static void check_row(const row *r, bool quick)
{
    for (int first = 0; first < LAYOUTS; first++)
        if (!quick || first % 3 == 0)
            check_layout(r, first, quick);
    check_dtypes(r);
}

/* Every op has a row, and every row an op. */
static void check_names(void)
{
    for (int i = 0; i < ig_op_count(); i++) {
        bool known = false;
        for (int k = 0; k < row_count; k++)
            known = known || strcmp(rows[k].op, ig_op_at(i)->name) == 0;
        if (!known && ++failed)
            printf("FAILED %s is in the op table, but not in tests/grad/rows.def\n",
                   ig_op_at(i)->name);
    }
    for (int k = 0; k < row_count; k++)
        if (!ig_op_find(rows[k].op) && ++failed)
            printf("FAILED rows.def:%d: there is no op %s\n", rows[k].line, rows[k].op);
}

int main(int argc, char **argv)
{
    const bool quick = getenv("IG_TEST_QUICK") != NULL;
    const char *only = argc == 3 && strcmp(argv[1], "--op") == 0 ? argv[2] : NULL;
    ig_set_threads(1);
    check_names();
    for (int k = 0; k < row_count; k++)
        if (!only || strcmp(only, rows[k].op) == 0)
            check_row(&rows[k], quick);
    ig_shutdown();
    if (failed > SHOWN)
        printf("... and %lld more\n", (long long)(failed - SHOWN));
    printf("%lld passed, %lld failed\n", (long long)passed, (long long)failed);
    return failed != 0;
}
