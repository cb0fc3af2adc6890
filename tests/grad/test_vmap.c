/* vmap of every row of the op table against a loop over slices: results, gradients of each slice
 * (vmap of a vjp), and gradients of the mapped results (vjp of a vmap).
 *
 *   test_vmap [--op NAME | --part K/N]      (IG_TEST_QUICK=1: fewer layouts)
 *
 * Ends with "N passed, N failed". */
#include "grad/check.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3 };

/* A row, an example of its inputs, and the inputs of each slice. */
typedef struct trial {
    const row *r;
    int n;
    input example[MOST_INPUTS], slice[BATCH][MOST_INPUTS];
    laid at[MOST_INPUTS];  /* the example's inputs in layouts */
    int axes[MOST_INPUTS]; /* the axis along which an input is mapped; negative: not mapped */
} trial;

/* The results to compare: of the call, or its gradients with respect to the float inputs. */
typedef int (*function)(const trial *t, ig_array *const *in, ig_array **y);

static int call(const trial *t, ig_array *const *in, ig_array **y)
{
    return row_results(t->r, IG_F64, in, y);
}

/* The float results, and numbers to weight them with. */
static int floats_of(const trial *t, ig_array *const *in, ig_array **y, ig_array **g)
{
    ig_array *all[MOST_RESULTS];
    int n_y = 0;
    const int n = row_results(t->r, IG_F64, in, all);
    for (int i = 0; i < n; i++)
        if (array_is_float(all[i])) {
            g[n_y] = numbers_like(all[i], 50 + i);
            y[n_y++] = all[i];
        }
    return n_y;
}

static int floats_in(const trial *t, ig_array *const *in, ig_array **x)
{
    int n = 0;
    for (int k = 0; k < t->n; k++)
        if (input_is_float(&t->example[k]))
            x[n++] = in[k];
    return n;
}

static int gradient(const trial *t, ig_array *const *in, ig_array **d)
{
    ig_array *y[MOST_RESULTS], *g[MOST_RESULTS], *x[MOST_INPUTS];
    const int n_y = floats_of(t, in, y, g), n_x = floats_in(t, in, x);
    return ig_vjp(y, g, n_y, x, n_x, d) == IG_OK ? n_x : 0;
}

/* ---- inputs ---- */

static bool is_mapped(const trial *t, int k) { return t->axes[k] >= 0; }

/* Input k of slice b. */
static ig_array *input_of(const trial *t, int b, int k)
{
    const input *in = &t->slice[is_mapped(t, k) ? b : 0][k];
    return array_of(in->v, input_shape(in), in->dtype);
}

static void examples(const trial *t, ig_array **in)
{
    for (int k = 0; k < MOST_INPUTS; k++)
        in[k] = k < t->n ? laid_see(&t->at[k], laid_store(&t->at[k])) : NULL;
}

static void batches(const trial *t, ig_array **in)
{
    for (int k = 0; k < t->n; k++) {
        ig_array *part[BATCH];
        for (int b = 0; b < BATCH; b++)
            part[b] = input_of(t, b, k);
        in[k] = is_mapped(t, k) ? ig_stack(part, BATCH, t->axes[k]) : part[0];
    }
}

/* The slices of f's result i, one after another, on the CPU; *n is the size of them all. */
static double *loop(const trial *t, function f, int i, int64_t *n)
{
    double *v = NULL;
    const char *device = reference_begin();
    for (int b = 0; b < BATCH; b++) {
        ig_array *in[MOST_INPUTS] = {NULL}, *y[MOST_RESULTS];
        ig_scope_begin();
        for (int k = 0; k < t->n; k++)
            in[k] = input_of(t, b, k);
        const bool ok = f(t, in, y) > i;
        const int64_t size = ok ? ig_size(y[i]) : 0;
        *n = BATCH * size;
        v = v ? v : reals(*n);
        check_that(ok && array_read(y[i], v + b * size, size), "in a loop");
        ig_scope_end();
    }
    reference_end(device);
    return v;
}

/* ---- checks ---- */

static void check_vmap(const trial *t, function f)
{
    ig_array *in[MOST_INPUTS], *all[MOST_INPUTS], *y[MOST_RESULTS], *mapped[MOST_RESULTS];
    ig_scope_begin();
    examples(t, in);
    batches(t, all);
    const int n = f(t, in, y);
    if (n == 0 || ig_vmap(y, n, in, all, t->axes, t->n, mapped) != IG_OK)
        check_that(false, "vmap");
    else
        for (int i = 0; i < n; i++) {
            int64_t size;
            double *want = loop(t, f, i, &size);
            check_array("result", i, mapped[i], want, size, 1e-12);
            free(want);
        }
    ig_scope_end();
}

/* The gradient of a mapped input has the slices' gradients along its axis; of an unmapped input, their sum. */
static void compare_batch(const trial *t, int k, int i, ig_array *have)
{
    int64_t size;
    double *want = loop(t, gradient, i, &size);
    if (is_mapped(t, k)) {
        have = ig_moveaxis(have, IG_AXES(t->axes[k]), IG_AXES(0));
    } else {
        for (int64_t at = size / BATCH; at < size; at++)
            want[at % (size / BATCH)] += want[at];
        size /= BATCH;
    }
    check_array("gradient", i, have, want, size, 1e-12);
    free(want);
}

static void check_vjp_of_vmap(const trial *t)
{
    ig_array *in[MOST_INPUTS], *all[MOST_INPUTS], *y[MOST_RESULTS], *g[MOST_RESULTS];
    ig_array *mapped[MOST_RESULTS], *x[MOST_INPUTS], *d[MOST_INPUTS];
    ig_scope_begin();
    examples(t, in);
    batches(t, all);
    const int n = floats_of(t, in, y, g), n_x = floats_in(t, all, x);
    bool ok = n > 0 && ig_vmap(y, n, in, all, t->axes, t->n, mapped) == IG_OK;
    for (int i = 0; i < n && ok; i++)
        g[i] = ig_broadcast_to(g[i], ig_shape(mapped[i]));
    ok = ok && ig_vjp(mapped, g, n, x, n_x, d) == IG_OK;
    check_that(ok, "vjp of vmap");
    for (int k = 0, i = 0; k < t->n && ok; k++)
        if (input_is_float(&t->example[k])) {
            compare_batch(t, k, i, d[i]);
            i++;
        }
    ig_scope_end();
}

/* ---- all rows ---- */

/* Maps the inputs whose bits are set in `mapped`. */
static void trial_begin(trial *t, const row *r, unsigned mapped, int first)
{
    *t = (trial){.r = r};
    t->n = inputs_new(r, 1, t->example);
    for (int b = 0; b < BATCH; b++)
        inputs_new(r, 2 + b, t->slice[b]);
    ig_scope_begin();
    for (int k = 0; k < t->n; k++) {
        const input *in = &t->example[k];
        laid_new(&t->at[k], in, (layout)((first + k) % REPEATED));
        t->axes[k] = mapped >> k & 1 ? (first + k) % (in->ndim + 1) : -1;
    }
    ig_scope_end();
}

static void trial_end(trial *t)
{
    for (int k = 0; k < t->n; k++)
        laid_free(&t->at[k]);
    for (int b = 0; b < BATCH; b++)
        inputs_free(t->slice[b], t->n);
    inputs_free(t->example, t->n);
}

static void check_mapped(const row *r, unsigned mapped, int first)
{
    trial t;
    trial_begin(&t, r, mapped, first);
    const char *how = t.n ? layout_names[t.at[0].how] : "";
    check_begin(r, "results", how);
    check_vmap(&t, call);
    if (r->kind == ROW_DIFF) {
        check_begin(r, "vmap of vjp", how);
        check_vmap(&t, gradient);
        check_begin(r, "vjp of vmap", how);
        check_vjp_of_vmap(&t);
    }
    trial_end(&t);
}

/* All inputs together, and each alone. A row that evaluates its inputs has no graph to map. */
static void check_row(const row *r)
{
    input in[MOST_INPUTS];
    const int n = inputs_new(r, 1, in);
    inputs_free(in, n);
    if (n == 0 || ig_op_find(r->op)->evaluates)
        return;
    const int layouts = check_quick() ? 1 : REPEATED;
    for (int first = 0; first < layouts; first++) {
        check_mapped(r, (1u << n) - 1, first);
        for (int k = 0; k < n && n > 1; k++)
            check_mapped(r, 1u << k, first);
    }
}

int main(int argc, char **argv) { return check_rows(argc, argv, check_row); }
