/* Optimizers: each rule against plain loops in double, schedules against their formulas, clipping,
 * dtypes, and failed steps, which change nothing. */
#include "base/memory.h"
#include "engine/ops/formula.h"
#include "support/unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 15, N = 7 }; /* N values: 6 are parameter "a" (2, 3), one is "b" (1,) */

/* ---- a bowl: the sum of curve * (p - centre)**2 / 2, whose gradient is simple ---- */

static const double start[N] = {0.5, -1.25, 2, 0.125, -3, 0.75, 1.5};
static const double centre[N] = {1, 1, -0.5, 0.25, -2.5, 0, -1};
static const double curve[N] = {1, 0.3, 2, 4, 0.5, 1.5, 3};

static ig_array *values(const double *from, int first, ig_dtype dtype)
{
    const ig_ints shape = first ? IG_SHAPE(1) : IG_SHAPE(2, 3);
    return ig_astype(ig_from_data(from + first, shape, IG_F64), dtype);
}

static ig_model *bowl_model(ig_dtype dtype)
{
    ig_model *m = ig_model_new(1);
    ig_model_param(m, "a", IG_SHAPE(2, 3), dtype, IG_INIT_ZEROS, 0);
    ig_model_param(m, "b", IG_SHAPE(1), dtype, IG_INIT_ZEROS, 0);
    ig_model_set(m, "a", values(start, 0, dtype));
    ig_model_set(m, "b", values(start, 6, dtype));
    assert_false(ig_failed());
    return m;
}

static ig_array *bowl_part(ig_model *m, const char *name, int first)
{
    ig_array *p = ig_model_get(m, name);
    const ig_dtype dtype = ig_dtype_of(p);
    ig_array *off = ig_subtract(p, values(centre, first, dtype));
    return ig_sum(ig_multiply(ig_square(off), values(curve, first, dtype)), IG_NONE, IG_DTYPE_NONE,
                  false);
}

static ig_array *bowl(ig_model *m)
{
    return ig_multiply(ig_add(bowl_part(m, "a", 0), bowl_part(m, "b", 6)), ig_float(0.5));
}

static double bowl_height(const double *p)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += curve[i] * (p[i] - centre[i]) * (p[i] - centre[i]) / 2;
    return sum;
}

static void read_params(ig_model *m, double *p)
{
    ig_read(ig_astype(ig_model_get(m, "a"), IG_F64), p, 6 * sizeof *p);
    ig_read(ig_astype(ig_model_get(m, "b"), IG_F64), p + 6, sizeof *p);
}

/* ---- the rules as in their papers and PyTorch, for one value ---- */

typedef struct cell {
    double p, one, two; /* two values of state, zero at first */
} cell;

static const double lr = 0.05, beta1 = 0.8, beta2 = 0.95, eps = 1e-3, decay = 0.1;

static void ref_sgd(cell *c, double g, double rate, int t)
{
    (void)t;
    c->p -= rate * g;
}

static void ref_momentum(cell *c, double g, double rate, int t)
{
    (void)t;
    g += decay * c->p;
    c->one = beta1 * c->one + g;
    c->p -= rate * c->one;
}

static void ref_nesterov(cell *c, double g, double rate, int t)
{
    (void)t;
    c->one = beta1 * c->one + g;
    c->p -= rate * (g + beta1 * c->one);
}

static void ref_adam(cell *c, double g, double rate, int t)
{
    c->one = beta1 * c->one + (1 - beta1) * g;
    c->two = beta2 * c->two + (1 - beta2) * g * g;
    const double mean = c->one / (1 - pow(beta1, t)), square = c->two / (1 - pow(beta2, t));
    c->p -= rate * mean / (sqrt(square) + eps);
}

static void ref_adamw(cell *c, double g, double rate, int t)
{
    c->p -= rate * decay * c->p;
    ref_adam(c, g, rate, t);
}

static void ref_rmsprop(cell *c, double g, double rate, int t)
{
    (void)t;
    c->one = beta2 * c->one + (1 - beta2) * g * g;
    c->p -= rate * g / (sqrt(c->one) + eps);
}

static void ref_rmsprop_momentum(cell *c, double g, double rate, int t)
{
    (void)t;
    c->one = beta2 * c->one + (1 - beta2) * g * g;
    c->two = beta1 * c->two + g / (sqrt(c->one) + eps);
    c->p -= rate * c->two;
}

static void ref_lion(cell *c, double g, double rate, int t)
{
    (void)t;
    const double way = beta1 * c->one + (1 - beta1) * g;
    c->p -= rate * decay * c->p;
    c->p -= rate * ((way > 0) - (way < 0));
    c->one = beta2 * c->one + (1 - beta2) * g;
}

static ig_optimizer *make_sgd(void) { return ig_sgd(lr, 0, false, 0); }
static ig_optimizer *make_momentum(void) { return ig_sgd(lr, beta1, false, decay); }
static ig_optimizer *make_nesterov(void) { return ig_sgd(lr, beta1, true, 0); }
static ig_optimizer *make_adam(void) { return ig_adam(lr, beta1, beta2, eps); }
static ig_optimizer *make_adamw(void) { return ig_adamw(lr, beta1, beta2, eps, decay); }
static ig_optimizer *make_rmsprop(void) { return ig_rmsprop(lr, beta2, eps, 0); }
static ig_optimizer *make_rmsprop_momentum(void) { return ig_rmsprop(lr, beta2, eps, beta1); }
static ig_optimizer *make_lion(void) { return ig_lion(lr, beta1, beta2, decay); }

static const struct kind {
    const char *name;
    ig_optimizer *(*make)(void);
    void (*reference)(cell *c, double g, double rate, int t);
} kinds[] = {
    {"sgd", make_sgd, ref_sgd},
    {"momentum", make_momentum, ref_momentum},
    {"nesterov", make_nesterov, ref_nesterov},
    {"adam", make_adam, ref_adam},
    {"adamw", make_adamw, ref_adamw},
    {"rmsprop", make_rmsprop, ref_rmsprop},
    {"rmsprop with momentum", make_rmsprop_momentum, ref_rmsprop_momentum},
    {"lion", make_lion, ref_lion},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* One step of all values, gradients clipped to max_norm unless it is 0. */
static void reference_step(const struct kind *k, cell *c, double rate, int t, double max_norm)
{
    double g[N], square = 0;
    for (int i = 0; i < N; i++) {
        g[i] = curve[i] * (c[i].p - centre[i]);
        square += g[i] * g[i];
    }
    const double norm = sqrt(square), scale = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
    for (int i = 0; i < N; i++)
        k->reference(&c[i], g[i] * scale, rate, t);
}

/* Compares our steps with steps of the reference. */
static void compare(const struct kind *k, ig_dtype dtype, double bound, double max_norm)
{
    ig_model *m = bowl_model(dtype);
    ig_optimizer *o = k->make();
    cell c[N] = {{0}};
    for (int i = 0; i < N; i++)
        c[i].p = start[i];
    ig_optimizer_clip(o, max_norm);
    for (int t = 1; t <= STEPS; t++) {
        double p[N], was[N], loss;
        for (int i = 0; i < N; i++)
            was[i] = c[i].p;
        ig_scope_begin();
        assert_int_equal(ig_step(o, m, bowl(m), &loss, NULL, 0), IG_OK);
        reference_step(k, c, lr, t, max_norm);
        read_params(m, p);
        ig_scope_end();
        assert_int_equal(ig_optimizer_steps(o), t);
        if (!(fabs(loss - bowl_height(was)) <= bound * bowl_height(start)))
            fail_msg("%s, step %d: loss %.17g, reference %.17g", k->name, t, loss,
                     bowl_height(was));
        for (int i = 0; i < N; i++)
            if (!(fabs(p[i] - c[i].p) <= bound * fmax(1, fabs(c[i].p))))
                fail_msg("%s, step %d, value %d: %.17g, reference %.17g", k->name, t, i, p[i],
                         c[i].p);
    }
    assert_int_equal(ig_dtype_of(ig_model_get(m, "a")), dtype);
    ig_optimizer_free(o);
    ig_model_free(m);
}

static void test_rules(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        compare(&kinds[k], IG_F64, 1e-12, 0);
        compare(&kinds[k], IG_F32, 2e-6, 0);
    }
}

/* Parameters in half precision keep their dtype: each step rounds once, by half a unit. */
static void test_half(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS - 1; k++) { /* lion uses the signs of rounded gradients */
        compare(&kinds[k], IG_F16, STEPS * 0x1p-11, 0);
        compare(&kinds[k], IG_BF16, STEPS * 0x1p-8, 0);
    }
}

/* Without gradients, a step only applies the decay, to parameters with enough axes. */
static void test_decay_ndim(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(0);
    ig_optimizer *o = ig_adamw(0.5, 0.9, 0.999, 1e-8, 0.5);
    assert_int_equal(ig_optimizer_decay_ndim(o, 2), IG_OK);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *matrix = ig_model_param(m, "matrix", IG_SHAPE(2, 2), IG_F32, IG_INIT_ONES, 0);
    ig_array *bias = ig_model_param(m, "bias", IG_SHAPE(2), IG_F32, IG_INIT_ONES, 0);
    ig_array *loss = ig_multiply(ig_sum_all(ig_add(matrix, bias)), ig_float(0));
    assert_int_equal(ig_step(o, m, loss, NULL, NULL, 0), IG_OK);
    assert_float_equal(ig_item(ig_sum_all(ig_model_get(m, "matrix"))), 3, 0);
    assert_float_equal(ig_item(ig_sum_all(ig_model_get(m, "bias"))), 2, 0);
    ig_scope_end();
    ig_optimizer_free(o);
    ig_model_free(m);
}

static void test_clip(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        compare(&kinds[k], IG_F64, 1e-12, 0.5);
        compare(&kinds[k], IG_F64, 1e-12, 1e6);
        compare(&kinds[k], IG_F32, 4e-6, 3);
    }
}

/* ---- schedules ---- */

typedef double rate_at(int64_t step);

static double constant(int64_t s) { return (void)s, lr; }
static double warm(int64_t s) { return s < 4 ? lr * (double)(s + 1) / 4 : lr; }
static double stairs(int64_t s) { return lr * pow(0.5, (double)(s / 3)); }

static double warm_stairs(int64_t s)
{
    return s < 4 ? warm(s) : lr * pow(0.5, (double)((s - 4) / 3));
}

static double cosine(int64_t s)
{
    const double done = s < 10 ? (double)s / 10 : 1;
    return lr * (0.1 + 0.9 * 0.5 * (1 + cos(M_PI * done)));
}

static double warm_line(int64_t s)
{
    return s < 4 ? warm(s) : s < 10 ? lr * (1 - 0.75 * (double)(s - 4) / 6) : lr * 0.25;
}

/* Compares the reported rates with the rates used: SGD's steps on the bowl. */
static void follow(ig_optimizer *o, rate_at *rate)
{
    ig_model *m = bowl_model(IG_F64);
    cell c[N] = {{0}};
    for (int i = 0; i < N; i++)
        c[i].p = start[i];
    for (int64_t s = 0; s < STEPS; s++) {
        double p[N];
        assert_true(fabs(ig_optimizer_rate(o) - rate(s)) <= 1e-15);
        assert_int_equal(ig_step(o, m, bowl(m), NULL, NULL, 0), IG_OK);
        reference_step(&kinds[0], c, rate(s), 1, 0);
        read_params(m, p);
        for (int i = 0; i < N; i++)
            assert_true(fabs(p[i] - c[i].p) <= 1e-12);
    }
    ig_optimizer_free(o);
    ig_model_free(m);
}

static void test_schedules(void **state)
{
    (void)state;
    ig_optimizer *o = make_sgd();
    follow(o, constant);
    o = make_sgd();
    assert_int_equal(ig_schedule_warmup(o, 4), IG_OK);
    follow(o, warm);
    o = make_sgd();
    assert_int_equal(ig_schedule_step(o, 3, 0.5), IG_OK);
    follow(o, stairs);
    o = make_sgd();
    ig_schedule_step(o, 3, 0.5);
    ig_schedule_warmup(o, 4);
    follow(o, warm_stairs);
    o = make_sgd();
    assert_int_equal(ig_schedule_cosine(o, 10, 0.1), IG_OK);
    follow(o, cosine);
    o = make_sgd();
    ig_schedule_warmup(o, 4);
    assert_int_equal(ig_schedule_linear(o, 10, 0.25), IG_OK);
    follow(o, warm_line);
    o = make_sgd();
    ig_schedule_cosine(o, 10, 0.1);
    ig_schedule_linear(o, 0, 1); /* stays */
    follow(o, constant);
}

/* ---- errors ---- */

static void test_settings(void **state)
{
    (void)state;
    assert_null(ig_sgd(-1, 0, false, 0));
    assert_error(IG_ERR_ARGUMENT, "sgd: lr is -1");
    assert_null(ig_sgd(1, 1, false, 0));
    assert_error(IG_ERR_ARGUMENT, "momentum is 1; give at least 0 and less than 1");
    assert_null(ig_sgd(1, 0, true, 0));
    assert_error(IG_ERR_ARGUMENT, "nesterov needs momentum");
    assert_null(ig_adam(NAN, 0.9, 0.999, 1e-8));
    assert_error(IG_ERR_ARGUMENT, "adam: lr is nan");
    assert_null(ig_adam(INFINITY, 0.9, 0.999, 1e-8));
    assert_error(IG_ERR_ARGUMENT, "finite");
    assert_null(ig_adam(1, 0.9, 1.5, 1e-8));
    assert_error(IG_ERR_ARGUMENT, "beta2 is 1.5");
    assert_null(ig_adamw(1, 0.9, 0.999, -1, 0));
    assert_error(IG_ERR_ARGUMENT, "eps is -1");
    assert_null(ig_rmsprop(1, 2, 0, 0));
    assert_error(IG_ERR_ARGUMENT, "alpha is 2");
    assert_null(ig_lion(1, 0.9, 0.99, -1));
    assert_error(IG_ERR_ARGUMENT, "weight_decay is -1");
    ig_optimizer *o = make_adam();
    assert_int_equal(ig_optimizer_clip(o, -1), IG_ERR_ARGUMENT);
    assert_int_equal(ig_optimizer_decay_ndim(o, -1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "negative");
    assert_int_equal(ig_schedule_warmup(o, -1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "-1 steps");
    assert_int_equal(ig_schedule_step(o, 0, 0.5), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "give 1 or more");
    assert_int_equal(ig_schedule_cosine(o, 5, NAN), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "nan");
    assert_int_equal(ig_schedule_linear(NULL, 5, 0), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the optimizer is NULL");
    ig_optimizer_free(o);
    ig_optimizer_free(NULL);
}

/* ---- steps that fail ---- */

/* An array that builds but does not evaluate. */
static ig_array *broken(void)
{
    ig_array *at = ig_add(ig_arange(0, 4, 1, IG_I64), ig_int(3));
    return ig_take(ig_arange(0, 4, 1, IG_F32), at, IG_AXES(0));
}

/* After a failed step nothing has changed, and the next step is as if it had not happened. */
static void test_failing_step(void **state)
{
    (void)state;
    only_on_cpu(
        "a device computes in place before it reports a failure: the parameters cannot be read");
    ig_model *m = bowl_model(IG_F32), *other = bowl_model(IG_F32);
    ig_optimizer *o = make_adam();
    cell c[N] = {{0}};
    for (int i = 0; i < N; i++)
        c[i].p = start[i];
    for (int t = 1; t <= 5; t++) {
        double p[N], q[N];
        read_params(m, p);
        ig_array *bad = broken();
        assert_int_not_equal(ig_step(o, m, bowl(m), NULL, &bad, 1), IG_OK);
        assert_error(IG_ERR_INDEX, "");
        /* The loss is the result of an error. */
        ig_array *wrong = ig_add(bowl_part(m, "a", 0), ig_reshape(bowl(m), IG_SHAPE(2)));
        assert_int_equal(ig_step(o, m, wrong, NULL, NULL, 0), IG_ERR_SHAPE);
        assert_error(IG_ERR_SHAPE, "reshape");
        assert_int_equal(ig_step(o, m, NULL, NULL, NULL, 0), IG_ERR_ARGUMENT);
        assert_error(IG_ERR_ARGUMENT, "the loss is NULL");
        assert_int_equal(ig_step(o, m, bowl_part(m, "a", 0), NULL, NULL, 0), IG_ERR_ARGUMENT);
        assert_error(IG_ERR_ARGUMENT, "'b'");
        assert_int_equal(ig_step(o, m, ig_model_get(m, "a"), NULL, NULL, 0), IG_ERR_SHAPE);
        assert_error(IG_ERR_SHAPE, "scalar");
        assert_int_equal(ig_optimizer_steps(o), t - 1);
        read_params(m, q);
        assert_memory_equal(p, q, sizeof p);
        assert_int_equal(ig_step(o, m, bowl(m), NULL, NULL, 0), IG_OK);
        reference_step(&kinds[3], c, lr, t, 0);
        read_params(m, q);
        for (int i = 0; i < N; i++)
            assert_true(fabs(q[i] - c[i].p) <= 2e-6 * fmax(1, fabs(q[i])));
    }
    assert_int_equal(ig_step(o, other, bowl(other), NULL, NULL, 0), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "another model");
    ig_model_param(m, "late", IG_SHAPE(2), IG_F32, IG_INIT_ZEROS, 0);
    assert_int_equal(ig_step(o, m, bowl(m), NULL, NULL, 0), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "had 2 at this optimizer's first step");
    ig_model *empty = ig_model_new(0);
    assert_int_equal(ig_step(o, empty, ig_scalar(1, IG_F32), NULL, NULL, 0), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "no parameters");
    ig_model_free(empty);
    ig_optimizer_free(o);
    ig_model_free(other);
    ig_model_free(m);
}

/* The n-th allocation fails, for every n, in the first step and in a later one. */
static void test_allocations_fail(void **state)
{
    (void)state;
    only_on_cpu(
        "a device computes in place before it reports a failure: the parameters cannot be read");
    for (int later = 0; later < 2; later++) {
        bool done = false;
        for (int64_t n = 1; !done; n++) {
            double p[N], q[N];
            ig_scope_begin();
            ig_model *m = bowl_model(IG_F32);
            ig_optimizer *o = make_adam();
            if (later)
                ig_step(o, m, bowl(m), NULL, NULL, 0);
            read_params(m, p);
            ig_array *loss = bowl(m);
            memory_fail_at(n);
            const ig_status status = ig_step(o, m, loss, NULL, NULL, 0);
            memory_fail_at(0);
            done = status == IG_OK;
            if (!done) {
                assert_error(IG_ERR_MEMORY, "");
                assert_int_equal(ig_optimizer_steps(o), later);
                read_params(m, q);
                assert_memory_equal(p, q, sizeof p);
                assert_int_equal(ig_step(o, m, bowl(m), NULL, NULL, 0), IG_OK);
            }
            if (ig_failed())
                fail_msg("allocation %lld: %s", (long long)n, ig_error(NULL));
            ig_optimizer_free(o);
            ig_model_free(m);
            ig_scope_end();
        }
    }
}

/* A step does not hold more memory than the previous one. */
static void test_nothing_is_left(void **state)
{
    (void)state;
    ig_model *m = bowl_model(IG_F32);
    ig_optimizer *o = make_adamw();
    int64_t live = 0;
    ig_keep_history(true); /* parameters are constants nevertheless */
    for (int t = 0; t < 6; t++) {
        ig_scope_begin();
        assert_int_equal(ig_step(o, m, bowl(m), NULL, NULL, 0), IG_OK);
        ig_scope_end();
        if (t == 2)
            live = memory_live();
    }
    ig_keep_history(false);
    assert_int_equal(memory_live(), live);
    ig_optimizer_free(o);
    ig_model_free(m);
}

/* ---- ig_step_add ---- */

/* Steps with the two parts of the bowl as separate losses, or as one. */
static void descend(ig_dtype dtype, bool apart, double max_norm, double *p)
{
    ig_model *m = bowl_model(dtype);
    ig_optimizer *o = make_adamw();
    ig_optimizer_clip(o, max_norm);
    for (int t = 0; t < STEPS; t++) {
        assert_int_equal(ig_scope_begin(), IG_OK);
        ig_array *half = ig_multiply(bowl(m), ig_float(0.5)),
                 *again = ig_multiply(bowl(m), ig_float(0.5));
        double first = 0, rest = 0, all = 0;
        if (apart) {
            assert_int_equal(ig_step_add(o, m, half, &first, NULL, 0), IG_OK);
            assert_int_equal(ig_optimizer_steps(o), t);
            assert_int_equal(ig_step(o, m, again, &rest, NULL, 0), IG_OK);
            assert_float_equal(first, rest, 0);
        } else {
            assert_int_equal(ig_step(o, m, ig_add(half, again), &all, NULL, 0), IG_OK);
        }
        ig_scope_end();
    }
    read_params(m, p);
    ig_optimizer_free(o);
    ig_model_free(m);
}

static void test_add(void **state)
{
    (void)state;
    const double norms[] = {0, 0.5};
    for (int i = 0; i < 2; i++) {
        double p[N], q[N];
        descend(IG_F64, true, norms[i], p);
        descend(IG_F64, false, norms[i], q);
        for (int k = 0; k < N; k++)
            assert_true(fabs(p[k] - q[k]) <= 1e-13);
        descend(IG_BF16, true, norms[i], p);
        descend(IG_BF16, false, norms[i], q);
        for (int k = 0; k < N; k++)
            assert_true(fabs(p[k] - q[k]) <= STEPS * 0x1p-8 * fabs(q[k]) + 0x1p-8);
    }
}

/* The gradient of sum(w * x) by w is x, which is not overwritten. A failure drops the sums. */
static void test_add_keeps(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(0);
    ig_optimizer *o = ig_sgd(1, 0, false, 0);
    ig_array *x = ig_arange(0, 100, 1, IG_F32);
    ig_array *w = ig_model_param(m, "w", IG_SHAPE(100), IG_F32, IG_INIT_ZEROS, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ig_step_add(o, m, ig_sum_all(ig_multiply(w, x)), NULL, NULL, 0), IG_OK);
    assert_float_equal(ig_item(ig_sum_all(x)), 4950, 0);
    assert_int_equal(ig_step_add(o, m, x, NULL, NULL, 0), IG_ERR_SHAPE);
    ig_error(NULL);
    assert_int_equal(ig_step_add(o, m, ig_sum_all(ig_multiply(w, x)), NULL, NULL, 0), IG_OK);
    assert_int_equal(ig_step(o, m, ig_sum_all(ig_multiply(w, x)), NULL, NULL, 0), IG_OK);
    assert_float_equal(ig_item(ig_sum_all(ig_model_get(m, "w"))), -2 * 4950, 0);
    assert_int_equal(ig_step_add(NULL, m, x, NULL, NULL, 0), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "the optimizer is NULL");
    ig_optimizer_free(o);
    ig_model_free(m);
}

/* ---- formulas ---- */

static void expect_bits(ig_array *x, ig_array *want)
{
    const size_t bytes = (size_t)ig_size(want) * ig_dtype_bytes(ig_dtype_of(want));
    assert_true(x && want);
    assert_int_equal(ig_size(x), ig_size(want));
    assert_memory_equal(ig_data(x), ig_data(want), bytes);
}

/* A formula has the bits of its ops, also for views, and its inputs must match. */
static void test_formulas(void **state)
{
    (void)state;
    const ig_dtype dtypes[] = {IG_F32, IG_F64};
    for (int i = 0; i < 2; i++) {
        ig_array *x[3];
        for (int k = 0; k < 3; k++)
            x[k] = ig_normal(ig_key((uint64_t)k, NULL), IG_SHAPE(30, 7), dtypes[i], NULL, NULL);
        x[2] =
            ig_matrix_transpose(ig_normal(ig_key(9, NULL), IG_SHAPE(7, 30), dtypes[i], NULL, NULL));
        ig_array *k = ig_scalar(0.9, dtypes[i]), *e = ig_scalar(1e-3, dtypes[i]);
        ig_array *sum = ig_add(ig_multiply(x[0], k), x[2]);
        ig_array *squares = ig_add(ig_multiply(x[0], k), ig_square(x[2]));
        ig_array *below = ig_add(ig_sqrt(x[2]), e);
        ig_array *moved = ig_subtract(x[0], ig_divide(ig_multiply(x[1], k), below));
        expect_bits(build_formula(FORMULA_DECAYED_SUM, (ig_array *[]){x[0], k, x[2]}), sum);
        expect_bits(build_formula(FORMULA_DECAYED_SQUARES, (ig_array *[]){x[0], k, x[2]}), squares);
        expect_bits(build_formula(FORMULA_ADAM, (ig_array *[]){x[0], x[1], x[2], k, e}), moved);
    }
    ig_array *x = ig_ones(IG_SHAPE(3), IG_F32), *y = ig_ones(IG_SHAPE(2), IG_F32);
    assert_null(build_formula(FORMULA_DECAYED_SUM, (ig_array *[]){x, x, NULL}));
    assert_null(build_formula(FORMULA_DECAYED_SUM, (ig_array *[]){x, x, y}));
    assert_error(IG_ERR_ARGUMENT, "shape");
    assert_null(build_formula(FORMULA_DECAYED_SUM, (ig_array *[]){x, x, ig_float(1)}));
    assert_error(IG_ERR_ARGUMENT, "dtype");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rules, begin, end),
        cmocka_unit_test_setup_teardown(test_formulas, begin, end),
        cmocka_unit_test_setup_teardown(test_half, begin, end),
        cmocka_unit_test_setup_teardown(test_clip, begin, end),
        cmocka_unit_test_setup_teardown(test_decay_ndim, begin, end),
        cmocka_unit_test_setup_teardown(test_schedules, begin, end),
        cmocka_unit_test_setup_teardown(test_settings, begin, end),
        cmocka_unit_test_setup_teardown(test_failing_step, begin, end),
        cmocka_unit_test_setup_teardown(test_allocations_fail, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_left, begin, end),
        cmocka_unit_test_setup_teardown(test_add, begin, end),
        cmocka_unit_test_setup_teardown(test_add_keeps, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
