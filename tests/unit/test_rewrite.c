/* Rewrites of graphs: each computation is compiled with and without them and must have the same results, for patterns that a
 * rule knows and for graphs that only resemble one. In math mode `same` it must have the same bits. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 4, OUTPUTS_MOST = 3 };

/* A computation, built on inputs; its constants are drawn in the same order each time. */
typedef struct problem {
    ig_array *in[INPUTS_MOST], *out[OUTPUTS_MOST];
    int n_in, n_out;
    ig_dtype dtype;
    int drawn;
} problem;

typedef void (*builder)(problem *p, int variant);

static ig_array *drawn(problem *p, ig_ints shape, ig_dtype dtype)
{
    ig_array *x = ig_normal(ig_key((uint64_t)++p->drawn, NULL), shape, IG_F32, NULL, NULL);
    x = ig_astype(x, dtype);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

static ig_array *constant(problem *p, ig_ints shape) { return drawn(p, shape, p->dtype); }

static ig_array *input(problem *p, ig_ints shape)
{
    return p->in[p->n_in++] = drawn(p, shape, p->dtype);
}

static void result(problem *p, ig_array *y)
{
    if (!y)
        fail_msg("%s", ig_error(NULL));
    p->out[p->n_out++] = y;
}

static problem built(builder build, int variant, ig_dtype dtype)
{
    problem p = {.dtype = dtype};
    build(&p, variant);
    return p;
}

/* ---- comparing ---- */

static void results_of(const problem *p, bool plain, ig_array **out)
{
    setenv("IG_REWRITE", plain ? "off" : "on", 1);
    ig_compiled *c = ig_compile(p->in, p->n_in, 0, p->out, p->n_out);
    if (!c || ig_run(c, p->in, out) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    ig_compiled_free(c);
    unsetenv("IG_REWRITE");
}

static void expect_close(ig_array *x, ig_array *want, double tolerance, const char *what,
                         int variant)
{
    const double *a = ig_data(ig_astype(x, IG_F64)), *b = ig_data(ig_astype(want, IG_F64));
    double most = 0;
    assert_true(ig_shape(x).n == ig_shape(want).n && ig_dtype_of(x) == ig_dtype_of(want));
    for (int64_t i = 0; i < ig_size(x); i++)
        most = isfinite(b[i]) ? fmax(most, fabs(b[i])) : most;
    for (int64_t i = 0; i < ig_size(x); i++)
        if (isnan(a[i]) != isnan(b[i]) ||
            (a[i] != b[i] && !(fabs(a[i] - b[i]) <= tolerance * most)))
            if (!isnan(a[i]))
                fail_msg("%s, variant %d: element %lld is %.9g, not %.9g", what, variant,
                         (long long)i, a[i], b[i]);
}

/* Compares both computations. rule: what --explain must name; NULL: nothing may be rewritten. */
static void check(const char *what, builder build, int variant, ig_dtype dtype, const char *rule)
{
    static const ig_math modes[] = {IG_MATH_STRICT, IG_MATH_SAME};
    for (int m = 0; m < 2; m++) {
        ig_array *have[OUTPUTS_MOST], *want[OUTPUTS_MOST];
        assert_int_equal(ig_set_math(modes[m]), IG_OK);
        assert_int_equal(ig_scope_begin(), IG_OK);
        const problem p = built(build, variant, dtype);
        results_of(&p, false, have);
        results_of(&p, true, want);
        const double tolerance = m ? 0 : dtype == IG_F64 ? 1e-13 : dtype == IG_F32 ? 2e-5 : 2e-2;
        for (int i = 0; i < p.n_out; i++)
            expect_close(have[i], want[i], tolerance, what, variant);
        char *text = ig_compile_explain(p.in, p.n_in, 0, p.out, p.n_out);
        assert_non_null(text);
        const char *line = strstr(text, "rewritten:");
        if (m == 0 && (rule ? !line || !strstr(line, rule) : line != NULL))
            fail_msg("%s, variant %d: %s", what, variant, line ? line : "nothing was rewritten");
        ig_free(text);
        ig_scope_end();
        assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
    }
}

/* ---- scales ---- */

static ig_array *positive(problem *p, int64_t n)
{
    return ig_add(ig_abs(constant(p, IG_SHAPE(n))), ig_float(0.5));
}

static ig_array *normed(problem *p, ig_array *y)
{
    const int64_t n = ig_dim(y, 1);
    ig_array *mean = constant(p, IG_SHAPE(n)), *var = positive(p, n);
    return ig_batch_norm(y, mean, var, constant(p, IG_SHAPE(n)), constant(p, IG_SHAPE(n)), 1e-5);
}

/* A convolution and a batch norm; variants differ in batch, groups, stride, padding, bias and a second norm. */
static void convolution(problem *p, int variant)
{
    const int64_t groups = variant & 1 ? 2 : 1, n = variant & 2 ? 3 : 1;
    ig_array *x = input(p, IG_SHAPE(n, 4, 7, 5));
    ig_array *w = constant(p, IG_SHAPE(6, 4 / groups, 3, 2));
    ig_array *bias = variant & 4 ? constant(p, IG_SHAPE(6)) : NULL;
    ig_array *y =
        ig_conv2d(x, w, bias, variant & 8 ? IG_SHAPE(2, 1) : IG_SHAPE(1, 1),
                  variant & 8 ? IG_SHAPE(1, 0) : IG_SHAPE(0, 0), IG_SHAPE(1, 1), (int)groups);
    y = normed(p, y);
    result(p, ig_relu(variant & 16 ? normed(p, y) : y));
}

static void convolutions_take_batch_norms(void **state)
{
    (void)state;
    for (int v = 0; v < 32; v++)
        check("convolution", convolution, v, v % 3 ? IG_F32 : IG_F64, "scale in weights");
    check("convolution of halves", convolution, 4, IG_F16, NULL);
}

/* Products with constants; the constant is the first or the second operand. */
static void product(problem *p, int variant)
{
    ig_array *x = input(p, IG_SHAPE(5, 7)), *w = constant(p, IG_SHAPE(7, 6));
    ig_array *y = variant & 1 ? ig_matmul(ig_permute_dims(w, IG_AXES(1, 0)),
                                          ig_permute_dims(x, IG_AXES(1, 0)))
                              : ig_matmul(x, w);
    const ig_ints each = variant & 1 ? IG_SHAPE(6, 1) : IG_SHAPE(6);
    if (variant & 2)
        y = variant & 4 ? ig_subtract(y, constant(p, each)) : ig_add(constant(p, each), y);
    y = variant & 8 ? ig_divide(y, constant(p, each)) : ig_multiply(constant(p, each), y);
    if (variant & 16)
        y = ig_add(y, constant(p, each));
    if (variant & 32)
        y = ig_subtract(y, ig_float(2));
    result(p, y);
}

static void products_take_factors(void **state)
{
    (void)state;
    for (int v = 0; v < 64; v++)
        check("product", product, v, v % 5 ? IG_F32 : IG_F64, "scale in weights");
}

/* Graphs that resemble one. */
static void unlike(problem *p, int variant)
{
    ig_array *x = input(p, IG_SHAPE(6, 6)), *w = constant(p, IG_SHAPE(6, 6));
    ig_array *c = constant(p, IG_SHAPE(6)), *column = constant(p, IG_SHAPE(6, 1));
    ig_array *y = ig_matmul(x, variant == 0 ? input(p, IG_SHAPE(6, 6)) : w);
    switch (variant) {
    case 0: result(p, ig_multiply(y, c)); break;      /* no constant weights */
    case 1: result(p, ig_multiply(y, column)); break; /* another axis */
    case 2:
        result(p, y); /* the product is a result, too */
        result(p, ig_multiply(y, c));
        break;
    case 3: result(p, ig_add(ig_multiply(y, c), y)); break; /* it is read twice */
    case 4: result(p, ig_divide(c, y)); break;
    case 5: result(p, ig_multiply(ig_subtract(c, y), c)); break;
    case 6: result(p, ig_multiply(y, ig_float(3))); break; /* a number costs nothing */
    case 7: result(p, ig_multiply(y, w)); break;           /* one factor for each element */
    case 8: result(p, ig_multiply(y, input(p, IG_SHAPE(6)))); break;
    case 9: result(p, ig_multiply(ig_permute_dims(y, IG_AXES(1, 0)), c)); break;
    case 10: result(p, ig_multiply(ig_reshape(y, IG_SHAPE(4, 9)), constant(p, IG_SHAPE(9)))); break;
    case 11: result(p, ig_multiply(ig_add(x, c), c)); break; /* not a product */
    case 12: result(p, ig_add(ig_add(x, c), c)); break;
    case 13:
        result(p, ig_multiply(ig_matmul(ig_slice(x, IG_SHAPE(0, 0), IG_SHAPE(1, 6), IG_NONE), w),
                              column));
        break; /* it broadcasts the product */
    default: {
        ig_array *sum = ig_add(y, c); /* the sum is read twice */
        result(p, ig_add(ig_multiply(sum, c), ig_exp(sum)));
    }
    }
}

static void others_stay(void **state)
{
    (void)state;
    for (int v = 0; v < 15; v++)
        check("unlike", unlike, v, IG_F32, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(convolutions_take_batch_norms, begin, end),
        cmocka_unit_test_setup_teardown(products_take_factors, begin, end),
        cmocka_unit_test_setup_teardown(others_stay, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
