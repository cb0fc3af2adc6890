/* Every row of the op table against central differences in f64, in every layout; forward and second derivatives;
 * other floats against f64. An op that has no row is a failure, so a new op cannot be forgotten.
 *
 *   test_rows [--op NAME | --part K/N]      (IG_TEST_QUICK=1: fewer layouts, second derivatives in one)
 *
 * Ends with "N passed, N failed". */
#include "grad/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row with its inputs in layouts. */
typedef struct trial {
    const row *r;
    int n, n_x; /* inputs; the float inputs among them */
    input in[MOST_INPUTS];
    laid at[MOST_INPUTS];
    laid *x[MOST_INPUTS]; /* the floats */
    ig_dtype dtype;       /* the dtype used in place of f64 */
    bool lazy;            /* floats are results that are not evaluated yet */
    bool computed;        /* results are evaluated before they are differentiated */
} trial;

static void begin_check(const trial *t, const char *doing)
{
    check_begin(t->r, doing, t->n ? layout_names[t->at[0].how] : "no inputs");
}

/* ---- the graph, built in the open scope ---- */

typedef struct built {
    ig_array *stored[MOST_INPUTS], *seen[MOST_INPUTS]; /* the float inputs */
    ig_array *y[MOST_RESULTS], *g[MOST_RESULTS];       /* float results, and their cotangents */
    int n_y, n_all;                                    /* the number of float results, and of all
                                                        * results */
} built;

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
    b->n_all = row_results(t->r, t->dtype, in, y);
    for (int i = 0; i < b->n_all; i++)
        if (array_is_float(y[i])) {
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

/* The quantity that is differentiated: a number computed from the stored inputs. */
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
    const char *device = reference_begin();
    ig_scope_begin();
    const double value = ig_item(f(t, &b));
    ig_scope_end();
    reference_end(device);
    return value;
}

/* The derivative of f with respect to each stored element of float input i; 0 for elements that no view reads. */
static double *differences(const trial *t, quantity f, int i)
{
    const double step = 1e-5;
    laid *l = t->x[i];
    double *d = reals(l->size), *done = reals(l->size);
    for (int64_t k = 0; k < l->in->size; k++) {
        const int64_t at = l->place[k];
        const double x = l->stored[at];
        if (done[at]++ > 0)
            continue;
        l->stored[at] = x + step;
        d[at] = value_of(t, f);
        l->stored[at] = x - step;
        d[at] = (d[at] - value_of(t, f)) / (2 * step);
        l->stored[at] = x;
    }
    free(done);
    return d;
}

/* ---- gradients compared with the differences ---- */

/* have is the gradient with respect to the viewed input. */
static void compare_seen(const trial *t, int i, ig_array *have, const double *want, double tol)
{
    const laid *l = t->x[i];
    double *v = reals(l->in->size), *sum = reals(l->size);
    check_that(ig_size(have) == l->in->size && array_read(have, v, l->in->size), "of a view");
    for (int64_t k = 0; k < l->in->size; k++)
        sum[l->place[k]] += v[k];
    check_close("the gradient of view", i, sum, want, l->size, tol);
    free(sum);
    free(v);
}

/* A view that repeats elements may be rejected: later ops do not know which element is meant. */
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

/* Gradients with respect to the stored input alone, and together with the view of it. */
static void check_gradients(const trial *t, double *const *want)
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
    begin_check(t, t->lazy ? "by views of what is not computed" : "by views of data");
    if (ig_vjp(b.y, b.g, b.n_y, x, 2 * n, d) != IG_OK || ig_eval(d, 2 * n) != IG_OK)
        check_that(refused_for_repeats(t), "vjp");
    else
        for (int i = 0; i < n; i++) {
            check_array("gradient", i, d[i], want[i], t->x[i]->size, 1e-7);
            compare_seen(t, i, d[n + i], want[i], 1e-7);
        }
    begin_check(t, t->lazy ? "by data behind a result" : "by data");
    if (ig_vjp(b.y, b.g, b.n_y, x, n, d) != IG_OK || ig_eval(d, n) != IG_OK)
        check_that(false, "vjp");
    else
        for (int i = 0; i < n; i++)
            check_array("gradient", i, d[i], want[i], t->x[i]->size, 1e-7);
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

/* Nothing depends on the inputs if the results have no elements. */
static bool gives_elements(const trial *t)
{
    built b;
    int64_t n = 0;
    ig_scope_begin();
    build(t, &b);
    for (int i = 0; i < b.n_y; i++)
        n += ig_size(b.y[i]);
    ig_scope_end();
    return n > 0;
}

static void check_first(trial *t)
{
    double *want[MOST_INPUTS];
    for (int i = 0; i < t->n_x; i++)
        want[i] = t->r->kind == ROW_STOP ? reals(t->x[i]->size) : differences(t, first_order, i);
    begin_check(t, "differences");
    if (t->at[0].how == PLAIN)
        check_that(all_zero(t, want) == (t->r->kind != ROW_DIFF || !gives_elements(t)),
                   "it is of another kind");
    for (int way = 0; way < 2; way++) {
        t->lazy = way;
        t->computed = !way;
        check_gradients(t, want);
    }
    t->lazy = t->computed = false;
    for (int i = 0; i < t->n_x; i++)
        free(want[i]);
}

static void check_second(const trial *t)
{
    built b;
    ig_array *d[MOST_INPUTS], *one = NULL;
    begin_check(t, "second order");
    ig_scope_begin();
    ig_array *y = second_order(t, &b);
    one = ig_scalar(1, IG_F64);
    if (!y || ig_vjp(&y, &one, 1, b.stored, t->n_x, d) != IG_OK || ig_eval(d, t->n_x) != IG_OK)
        check_that(false, "vjp of a gradient");
    else
        for (int i = 0; i < t->n_x; i++) {
            double *want = differences(t, second_order, i);
            check_array("second derivative", i, d[i], want, t->x[i]->size, 1e-6);
            free(want);
        }
    ig_scope_end();
}

/* The derivative in the direction v, by two vector-Jacobian products. Its product with the cotangents equals the product of the
 * gradients with v. */
static void check_forward(const trial *t)
{
    built b;
    ig_array *zero[MOST_RESULTS], *d[MOST_INPUTS], *v[MOST_INPUTS], *along[MOST_RESULTS];
    begin_check(t, "forward");
    ig_scope_begin();
    ig_array *sum = second_order(t, &b);
    bool fine = sum != NULL;
    for (int i = 0; i < b.n_y && fine; i++)
        fine = (zero[i] = ig_zeros_like(b.y[i], IG_DTYPE_NONE)) != NULL;
    fine = fine && ig_vjp(b.y, zero, b.n_y, b.stored, t->n_x, d) == IG_OK;
    for (int i = 0; i < t->n_x && fine; i++)
        fine = (v[i] = numbers_like(d[i], 80 + i)) != NULL;
    fine = fine && ig_vjp(d, v, t->n_x, zero, b.n_y, along) == IG_OK;
    if (!fine) {
        check_that(false, "vjp of a gradient with respect to its cotangents");
    } else {
        const double want = ig_item(sum);
        check_array("forward derivative", 0, dot(along, b.g, b.n_y), &want, 1, 1e-9);
    }
    ig_scope_end();
}

/* ---- other floats ---- */

/* Rounds the inputs to the dtype, then compares its gradients with those of f64 on the CPU. */
static void check_dtype(trial *t, ig_dtype dtype)
{
    static const double eps[] = {[IG_F16] = 0x1p-10, [IG_BF16] = 0x1p-7, [IG_F32] = 0x1p-23};
    ig_array *want[MOST_INPUTS], *have[MOST_INPUTS];
    built narrow, wide;
    begin_check(t, ig_dtype_name(dtype));
    ig_scope_begin();
    const char *device = reference_begin();
    for (int i = 0; i < t->n_x; i++) {
        laid *l = t->x[i];
        array_read(array_of(l->stored, IG_SHAPE(l->size), dtype), l->stored, l->size);
    }
    build(t, &wide);
    reference_end(device);
    t->dtype = dtype;
    build(t, &narrow);
    t->dtype = IG_F64;
    for (int i = 0; i < wide.n_y; i++)
        wide.g[i] = ig_astype(ig_to_device(narrow.g[i], "cpu"), IG_F64);
    if (ig_vjp(wide.y, wide.g, wide.n_y, wide.stored, t->n_x, want) != IG_OK ||
        ig_vjp(narrow.y, narrow.g, narrow.n_y, narrow.stored, t->n_x, have) != IG_OK)
        check_that(false, "vjp");
    for (int i = 0; i < t->n_x && !ig_failed(); i++) {
        double *v = reals(t->x[i]->size);
        array_read(want[i], v, t->x[i]->size);
        check_that(ig_dtype_of(have[i]) == dtype, "the gradient has another dtype");
        check_array("gradient", i, have[i], v, t->x[i]->size, 16 * eps[dtype]);
        free(v);
    }
    ig_scope_end();
}

/* ---- rows without a gradient ---- */

/* Inputs that are not floats are rejected; converted to floats they are constants. */
static void check_whole(const trial *t)
{
    ig_array *in[MOST_INPUTS] = {NULL}, *y[MOST_RESULTS], *x = NULL, *d;
    begin_check(t, "refused");
    ig_scope_begin();
    for (int k = 0; k < t->n; k++) {
        in[k] = laid_see(&t->at[k], laid_store(&t->at[k]));
        x = input_is_float(&t->in[k]) ? in[k] : x;
    }
    const int n = row_results(t->r, t->dtype, in, y);
    check_that(n > 0 && !array_is_float(y[0]), "gives floats");
    ig_array *other = x ? x : ig_ones(IG_SHAPE(2), IG_F64);
    check_refused(ig_vjp(y, y, n, &other, 1, &d), IG_ERR_DTYPE, "only floats have gradients");
    ig_array *loss = ig_sum(ig_astype(y[0], IG_F64), IG_NONE, IG_F64, false);
    if (x)
        check_refused(ig_grad(loss, &x, 1, &d), IG_ERR_ARGUMENT, "does not reach the loss");
    ig_scope_end();
}

static void check_sharp(const trial *t)
{
    char text[100];
    ig_array *d[MOST_INPUTS];
    built b;
    begin_check(t, "refused");
    snprintf(text, sizeof text, "grad: %s has no derivative", t->r->op);
    ig_scope_begin();
    build(t, &b);
    check_refused(ig_vjp(b.y, b.g, b.n_y, b.stored, t->n_x, d), IG_ERR_UNSUPPORTED, text);
    ig_scope_end();
}

static void check_source(const trial *t)
{
    built b;
    begin_check(t, "made");
    ig_scope_begin();
    build(t, &b);
    check_that(b.n_all > 0 && t->n_x == 0, "takes floats, or fails");
    ig_scope_end();
}

/* ---- all rows ---- */

/* Input k in layout (first + k), so that they differ. A matrix of repeated elements would be singular. */
static void trial_begin(trial *t, const row *r, int first)
{
    const int layouts = strchr(r->inputs, '^') ? REPEATED : LAYOUT_COUNT;
    *t = (trial){.r = r, .dtype = IG_F64};
    ig_scope_begin();
    t->n = inputs_new(r, 1, t->in);
    for (int k = 0; k < t->n; k++) {
        laid_new(&t->at[k], &t->in[k], (layout)((first + k) % layouts));
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

static void check_layout(const row *r, int first)
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
    if (r->kind == ROW_DIFF && first == PLAIN)
        check_forward(&t);
    if (r->kind == ROW_DIFF && (first == PLAIN || !check_quick()))
        check_second(&t);
    trial_end(&t);
}

static void check_row(const row *r)
{
    static const ig_dtype others[] = {IG_F32, IG_F16, IG_BF16};
    trial t;
    for (int first = 0; first < LAYOUT_COUNT; first++)
        if (!check_quick() || first % 3 == 0)
            check_layout(r, first);
    for (int i = 0; i < 3 && r->kind == ROW_DIFF; i++) {
        trial_begin(&t, r, PLAIN);
        check_dtype(&t, others[i]);
        trial_end(&t);
    }
}

int main(int argc, char **argv) { return check_rows(argc, argv, check_row); }
