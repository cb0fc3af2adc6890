/* Rewrites of graphs: each computation is compiled with and without them and must have the same results, for patterns that a
 * rule knows and for graphs that only resemble one. In math mode `same` it must have the same bits. */
#include "base/memory.h"
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

/* Compares both computations. rule: what --explain must name; "": anything; NULL: nothing may be rewritten. */
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
        const double tolerance = m                 ? 0
                                 : rule && !*rule  ? 1e-3
                                 : dtype == IG_F64 ? 1e-13
                                 : dtype == IG_F32 ? 2e-5
                                                   : 2e-2;
        for (int i = 0; i < p.n_out; i++)
            expect_close(have[i], want[i], tolerance, what, variant);
        char *text = ig_compile_explain(p.in, p.n_in, 0, p.out, p.n_out);
        assert_non_null(text);
        const char *line = strstr(text, "rewritten:");
        if (m == 0 && (!rule || *rule) && (rule ? !line || !strstr(line, rule) : line != NULL))
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
    for (int v = 0; v < 32; v += every(11))
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
    for (int v = 0; v < 64; v += every(21))
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
    for (int v = 0; v < 15; v += every(4))
        check("unlike", unlike, v, IG_F32, NULL);
}

/* ---- identities ---- */

static void identical(problem *p, int variant)
{
    static const float special[] = {-0.0f, 0, INFINITY, -INFINITY, NAN, 1e-40f, -2, 3};
    ig_array *x = p->in[p->n_in++] = ig_from_data(special, IG_SHAPE(2, 4), IG_F32), *y = x;
    switch (variant) {
    case 0: y = ig_multiply(x, ig_float(1)); break;
    case 1: y = ig_multiply(ig_float(1), ig_permute_dims(x, IG_AXES(1, 0))); break;
    case 2: y = ig_divide(x, ig_float(1)); break;
    case 3: y = ig_multiply(ig_float(1), x); break;
    case 4: y = ig_negative(ig_negative(x)); break;
    case 5: y = ig_subtract(x, ig_float(0)); break;
    case 6:
        y = ig_reshape(ig_multiply(ig_permute_dims(x, IG_AXES(1, 0)), ig_float(1)), IG_SHAPE(2, 4));
        break;
    case 7: y = ig_flip(ig_divide(ig_flip(x, IG_NONE), ig_float(1)), IG_AXES(0)); break;
    case 8:
        y = ig_slice(ig_divide(ig_permute_dims(x, IG_AXES(1, 0)), ig_float(1)), IG_SHAPE(1, 0),
                     IG_SHAPE(3, 1), IG_NONE);
        break;
    /* not one of them */
    case 9: y = ig_add(x, ig_float(0)); break;
    case 10: y = ig_subtract(x, ig_float(-0.0)); break;
    case 11: y = ig_divide(ig_float(1), x); break;
    case 12: y = ig_pow(ig_float(1), x); break;
    case 13: y = ig_negative(ig_exp(ig_negative(x))); break;
    case 14: y = ig_multiply(x, ig_ones(IG_SHAPE(3, 2, 4), IG_F32)); break;
    case 17: y = ig_concat(&x, 1, IG_AXES(0)); break;
    case 15: y = ig_subtract(ig_float(0), x); break;
    default: y = ig_astype(ig_astype(x, IG_F16), IG_F32); break;
    }
    result(p, ig_exp(y));
    result(p, y);
}

static void identities_go(void **state)
{
    (void)state;
    for (int v = 0; v < 18; v += every(4))
        check("identity", identical, v, IG_F32, v < 9 || v == 17 ? "identity" : NULL);
}

static void power(problem *p, int variant)
{
    ig_array *x = input(p, IG_SHAPE(7, 9));
    result(p, ig_pow(x, variant == 3 ? ig_full(IG_SHAPE(9), ig_float(2), IG_F32)
                                     : ig_float(variant == 0   ? 2
                                                : variant == 1 ? 3
                                                : variant == 2 ? -2
                                                               : 1)));
}

static void squares_are_products(void **state)
{
    (void)state;
    check("pow", power, 0, IG_F32, "power");
    check("pow", power, 0, IG_F64, "power");
    check("pow", power, 4, IG_F32, "power");
    for (int v = 1; v < 3; v++)
        check("pow", power, v, IG_F32, NULL);
}

/* ---- attention ---- */

enum { BATCH = 2, HEADS = 3, ROWS = 11, KEYS = 13, WIDTH = 8 };

/* (N, T, heads * width) as (N, heads, T, width). */
static ig_array *heads_of(problem *p, int64_t t)
{
    ig_array *x = input(p, IG_SHAPE(BATCH, t, HEADS * WIDTH));
    return ig_permute_dims(ig_reshape(x, IG_SHAPE(BATCH, t, HEADS, WIDTH)), IG_AXES(0, 2, 1, 3));
}

/* softmax by own nodes: exp(x - max) / sum. */
static ig_array *softmax_of(ig_array *x, int axis)
{
    ig_array *e = ig_exp(ig_subtract(x, ig_max(x, IG_AXES(axis), true)));
    return ig_divide(e, ig_sum(e, IG_AXES(axis), IG_F32, true));
}

static ig_array *hidden_keys(problem *p, ig_ints shape)
{
    return ig_less(constant(p, shape), ig_float(0.3));
}

static ig_array *masked_scores(problem *p, ig_array *x, int kind)
{
    ig_array *low = ig_float(-INFINITY);
    switch (kind) {
    case 1: return ig_add(x, constant(p, IG_SHAPE(BATCH, 1, 1, KEYS)));
    case 2: return ig_add(constant(p, IG_SHAPE(HEADS, ROWS, KEYS)), x);
    case 3: return ig_add(x, constant(p, IG_SHAPE(ROWS, KEYS)));
    case 4: return ig_where(hidden_keys(p, IG_SHAPE(BATCH, 1, 1, KEYS)), x, low);
    case 5: return ig_where(hidden_keys(p, IG_SHAPE(BATCH, 1, ROWS, KEYS)), x, low);
    case 6:
        return ig_add(x, ig_where(hidden_keys(p, IG_SHAPE(BATCH, 1, ROWS, 1)), ig_float(0), low));
    default: return x;
    }
}

static void attention(problem *p, int variant)
{
    const int scale = variant % 3, kind = variant / 3 % 7;
    ig_array *q = heads_of(p, ROWS), *k = heads_of(p, KEYS), *v = heads_of(p, KEYS);
    ig_array *x = ig_matmul(q, ig_permute_dims(k, IG_AXES(0, 1, 3, 2)));
    x = scale == 1 ? ig_multiply(x, ig_float(0.4)) : scale == 2 ? ig_divide(x, ig_float(3)) : x;
    x = masked_scores(p, x, kind);
    x = ig_matmul(variant & 1 ? softmax_of(x, -1) : ig_softmax(x, IG_AXES(-1)), v);
    x = ig_reshape(ig_permute_dims(x, IG_AXES(0, 2, 1, 3)), IG_SHAPE(BATCH, ROWS, HEADS * WIDTH));
    result(p, ig_tanh(x));
}

/* Without heads, or with keys that are transposed in memory. */
static void attention_plainly(problem *p, int variant)
{
    ig_array *q = input(p, IG_SHAPE(5, ROWS, WIDTH)), *k = input(p, IG_SHAPE(5, WIDTH, KEYS));
    ig_array *v = input(p, IG_SHAPE(5, KEYS, WIDTH));
    if (variant) {
        q = ig_reshape(ig_slice(q, IG_SHAPE(0, 0, 0), IG_SHAPE(1, ROWS, WIDTH), IG_NONE),
                       IG_SHAPE(ROWS, WIDTH));
        k = ig_reshape(ig_slice(k, IG_SHAPE(1, 0, 0), IG_SHAPE(2, WIDTH, KEYS), IG_NONE),
                       IG_SHAPE(WIDTH, KEYS));
        v = ig_reshape(ig_slice(v, IG_SHAPE(2, 0, 0), IG_SHAPE(3, KEYS, WIDTH), IG_NONE),
                       IG_SHAPE(KEYS, WIDTH));
    }
    result(p, ig_matmul(ig_softmax(ig_matmul(q, k), IG_AXES(-1)), v));
}

/* True if the device has attention as one node. */
static bool device_attends(void)
{
    problem p = {.dtype = IG_F32};
    ig_array *q = heads_of(&p, ROWS), *k = heads_of(&p, KEYS), *v = heads_of(&p, KEYS);
    ig_array *y = ig_scaled_dot_product_attention(q, k, v, NULL, false, 0);
    char *text = ig_explain(&y, 1);
    assert_non_null(text);
    const bool attends = strstr(text, "| attention") != NULL;
    ig_free(text);
    return attends;
}

static void attention_is_one_node(void **state)
{
    (void)state;
    if (!device_attends())
        skip();
    for (int v = 0; v < 42; v++)
        check("attention", attention, v, IG_F32, "attention");
    for (int v = 0; v < 2; v++)
        check("attention without heads", attention_plainly, v, IG_F32, "attention");
}

static void inattention(problem *p, int variant)
{
    ig_array *q = input(p, IG_SHAPE(5, ROWS, WIDTH)), *k = input(p, IG_SHAPE(5, WIDTH, ROWS));
    ig_array *v = input(p, IG_SHAPE(5, ROWS, variant == 0 ? WIDTH + 4 : WIDTH));
    ig_array *x = ig_matmul(q, k), *e, *y;
    switch (variant) {
    case 0: result(p, ig_matmul(ig_softmax(x, IG_AXES(-1)), v)); break; /* wider values */
    case 1: result(p, ig_matmul(ig_softmax(x, IG_AXES(-2)), v)); break; /* another axis */
    case 2:
        y = ig_softmax(x, IG_AXES(-1)); /* the probabilities are a result */
        result(p, ig_matmul(y, v));
        result(p, y);
        break;
    case 3: /* the scores are read elsewhere */
        result(p, ig_add(ig_matmul(ig_softmax(x, IG_AXES(-1)), v),
                         ig_sum(x, IG_AXES(-1), IG_F32, true)));
        break;
    case 4: /* the exponentials are */
        e = ig_exp(ig_subtract(x, ig_max(x, IG_AXES(-1), true)));
        y = ig_matmul(ig_divide(e, ig_sum(e, IG_AXES(-1), IG_F32, true)), v);
        result(p, ig_add(y, ig_max(e, IG_AXES(-1), true)));
        break;
    case 5: /* other scores in the maximum, or in the sum */
    case 6:
        y = ig_matmul(k, q);
        y = ig_matmul(q, ig_exp(k));
        e = ig_exp(ig_subtract(x, ig_max(variant == 5 ? y : x, IG_AXES(-1), true)));
        y = ig_sum(variant == 5 ? e : ig_exp(y), IG_AXES(-1), IG_F32, true);
        result(p, ig_matmul(ig_divide(e, y), v));
        break;
    case 7: /* one sum for all rows */
        e = ig_exp(ig_subtract(x, ig_max(x, IG_AXES(-1), true)));
        result(p, ig_matmul(ig_divide(e, ig_sum(e, IG_AXES(-2, -1), IG_F32, true)), v));
        break;
    case 8: /* a column's maximum in place of a row's: the matrix is square */
        e = ig_exp(ig_subtract(x, ig_max(x, IG_AXES(-2), true)));
        result(p, ig_matmul(ig_divide(e, ig_sum(e, IG_AXES(-1), IG_F32, true)), v));
        break;
    case 9: /* sums of rows used for columns */
        e = ig_exp(ig_subtract(x, ig_max(x, IG_AXES(-1), true)));
        y = ig_reshape(ig_sum(e, IG_AXES(-1), IG_F32, false), IG_SHAPE(5, 1, ROWS));
        result(p, ig_matmul(ig_divide(e, y), v));
        break;
    case 10: result(p, ig_matmul(ig_softmax(ig_multiply(x, ig_float(-1)), IG_AXES(-1)), v)); break;
    case 11: /* probabilities are dropped or scaled */
        result(p, ig_matmul(ig_multiply(ig_softmax(x, IG_AXES(-1)), ig_float(0.5)), v));
        break;
    case 12: /* a finite number hides keys, so a row without keys is not NaN */
        x = ig_where(ig_less(constant(p, IG_SHAPE(ROWS, 1)), ig_float(0)), x, ig_float(-10));
        result(p, ig_matmul(ig_softmax(x, IG_AXES(-1)), v));
        break;
    case 13:
        result(p, ig_matmul(ig_permute_dims(ig_softmax(x, IG_AXES(-1)), IG_AXES(0, 2, 1)), v));
        break;
    default: /* the scale follows the mask */
        x = ig_multiply(ig_add(x, constant(p, IG_SHAPE(ROWS))), ig_float(0.5));
        result(p, ig_matmul(ig_softmax(x, IG_AXES(-1)), v));
    }
}

static void other_softmaxes_stay(void **state)
{
    (void)state;
    for (int v = 0; v < 15; v += every(4))
        check("inattention", inattention, v, IG_F32, NULL);
    check("attention of f64", attention, 1, IG_F64, NULL);
}

/* ---- joined products ---- */

/* Three products of x (N, T, width) whose sum of products depends on all; bits of the variant choose their form. */
static void projections(problem *p, int variant)
{
    enum { N = 2, T = 5, IN = 6 };
    ig_array *x = input(p, IG_SHAPE(N, T, IN)), *y[3];
    for (int i = 0; i < 3; i++) {
        const int64_t width = variant & 4 ? 4 + 4 * i : 8;
        ig_array *w = variant & 1
                          ? constant(p, IG_SHAPE(IN, width))
                          : ig_permute_dims(constant(p, IG_SHAPE(width, IN)), IG_AXES(1, 0));
        y[i] = variant & 8 ? ig_tensordot(x, w, IG_AXES(-1, 0)) : ig_matmul(x, w);
        if (variant & 2)
            y[i] = i == 1 ? ig_add(constant(p, IG_SHAPE(width)), y[i])
                          : ig_add(y[i], constant(p, IG_SHAPE(width)));
        y[i] = ig_permute_dims(ig_reshape(y[i], IG_SHAPE(N, T, width / 4, 4)), IG_AXES(0, 2, 1, 3));
        y[i] = ig_matmul(y[i], constant(p, IG_SHAPE(4, 3)));
    }
    for (int i = 0; i < 3; i++)
        result(p, ig_tanh(y[i]));
}

/* Pairs of products that are not joined. */
static void unjoined(problem *p, int variant)
{
    ig_array *x = input(p, IG_SHAPE(6, 6)), *w = constant(p, IG_SHAPE(6, 6)), *y[2];
    ig_array *v = constant(p, IG_SHAPE(6, 6)), *c = constant(p, IG_SHAPE(6));
    y[0] = ig_matmul(x, w);
    y[1] = variant == 0   ? ig_matmul(ig_permute_dims(x, IG_AXES(1, 0)), v) /* another view */
           : variant == 1 ? ig_matmul(x, input(p, IG_SHAPE(6, 6)))          /* not a constant */
           : variant == 2 ? ig_add(ig_matmul(x, v), c) /* only one has a bias */
           : variant == 3 ? ig_matmul(v, x)
                          : ig_matmul(x, v);
    for (int i = 0; i < 2; i++)
        result(p, ig_matmul(variant == 4 ? ig_tanh(y[i]) : y[i], constant(p, IG_SHAPE(6, 2))));
}

static void products_are_joined(void **state)
{
    (void)state;
    const char *before = ig_device();
    char device[64];
    snprintf(device, sizeof device, "%s", before);
    assert_int_equal(ig_set_device("gang"), IG_OK); /* its memory counts as its own */
    for (int v = 0; v < 16; v++)
        check("projections", projections, v, v % 3 ? IG_F32 : IG_F64, "joined products");
    for (int v = 0; v < 5; v++)
        check("unjoined", unjoined, v, IG_F32, NULL);
    assert_int_equal(ig_set_device(device), IG_OK);
}

/* ---- gradients, and graphs at random ---- */

/* Gradients with respect to inputs and weights; the weights are inputs in odd variants. */
static void gradients(problem *p, int variant)
{
    ig_array *grads[2], *scale = constant(p, IG_SHAPE(8)), *w[2];
    ig_array *q = input(p, IG_SHAPE(3, ROWS, 8)), *x = q;
    for (int i = 0; i < 2; i++)
        w[i] = variant & 1 ? input(p, IG_SHAPE(8, 8)) : constant(p, IG_SHAPE(8, 8));
    ig_array *k = ig_multiply(ig_matmul(x, w[0]), scale), *v = ig_matmul(x, w[1]);
    ig_array *scores = ig_divide(ig_matmul(q, ig_permute_dims(k, IG_AXES(0, 2, 1))), ig_float(4));
    ig_array *y = ig_matmul(ig_softmax(scores, IG_AXES(-1)), v);
    ig_array *loss = ig_sum_all(ig_tanh(ig_pow(y, ig_float(2))));
    assert_int_equal(ig_grad(loss, (ig_array *[]){q, w[1]}, 2, grads), IG_OK);
    result(p, variant & 2 ? y : loss);
    result(p, grads[0]);
    result(p, grads[1]);
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* One more array (5, ROWS, 8) of earlier ones. */
static ig_array *random_node(problem *p, uint32_t *seed, ig_array *a, ig_array *b)
{
    const ig_ints row = IG_SHAPE(8);
    switch (random_next(seed) % 12) {
    case 0: return ig_matmul(a, constant(p, IG_SHAPE(8, 8)));
    case 1: return ig_multiply(ig_matmul(a, constant(p, IG_SHAPE(8, 8))), constant(p, row));
    case 2: return ig_multiply(a, constant(p, row));
    case 3: return ig_add(a, constant(p, row));
    case 4: return ig_subtract(a, constant(p, row));
    case 5: return ig_divide(a, ig_float(random_next(seed) % 2 ? 1 : 3));
    case 6: return ig_pow(a, ig_float(1 + random_next(seed) % 2));
    case 7: return ig_add(a, b);
    case 8: return ig_negative(ig_negative(a));
    case 9:
        return ig_permute_dims(ig_multiply(ig_permute_dims(a, IG_AXES(0, 2, 1)), ig_float(1)),
                               IG_AXES(0, 2, 1));
    case 10: return ig_concat(&a, 1, IG_AXES(1));
    default: {
        ig_array *scores = ig_matmul(a, ig_permute_dims(b, IG_AXES(0, 2, 1)));
        scores = random_next(seed) % 2 ? ig_multiply(scores, ig_float(0.25)) : scores;
        return ig_matmul(ig_softmax(scores, IG_AXES(-1)), random_next(seed) % 2 ? a : b);
    }
    }
}

static void at_random(problem *p, int variant)
{
    enum { NODES = 10 };
    uint32_t seed = (uint32_t)variant * 977u + 5u;
    ig_array *made[NODES + 2] = {input(p, IG_SHAPE(5, ROWS, 8)), input(p, IG_SHAPE(5, ROWS, 8))};
    for (int n = 2; n < NODES + 2; n++) { /* mostly of the last two, so that patterns arise */
        ig_array *a = made[n - 1 - (int)(random_next(&seed) % 2)];
        made[n] = random_node(p, &seed, a, made[random_next(&seed) % (uint32_t)n]);
        if (random_next(&seed) % 4 == 0)
            made[n] = ig_tanh(made[n]);
    }
    result(p, ig_tanh(made[NODES + 1]));
    if (random_next(&seed) % 2)
        result(p, ig_tanh(made[2 + random_next(&seed) % NODES]));
}

static void all_graphs_stay_right(void **state)
{
    (void)state;
    for (int v = 0; v < 4; v++)
        check("gradients", gradients, v, IG_F32, "");
    for (int v = 0; v < 150; v += every(50))
        check("at random", at_random, v, IG_F32, "");
}

/* ---- failures ---- */

static void any_allocation_may_fail(void **state)
{
    (void)state;
    static const builder all[] = {convolution, attention, projections};
    only_on_cpu("a device may allocate in its own library");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ig_set_device(i == 2 ? "gang" : "cpu"), IG_OK);
        const problem p = built(all[i], 5, IG_F32);
        ig_compiled *c = NULL;
        for (int n = 1; !c; n++) {
            memory_fail_at(n);
            c = ig_compile(p.in, p.n_in, 0, p.out, p.n_out);
            memory_fail_at(0);
            if (!c)
                assert_error(IG_ERR_MEMORY, "memory");
            assert_true(n < 100000);
        }
        ig_compiled_free(c);
    }
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(convolutions_take_batch_norms, begin, end),
        cmocka_unit_test_setup_teardown(products_take_factors, begin, end),
        cmocka_unit_test_setup_teardown(others_stay, begin, end),
        cmocka_unit_test_setup_teardown(identities_go, begin, end),
        cmocka_unit_test_setup_teardown(squares_are_products, begin, end),
        cmocka_unit_test_setup_teardown(attention_is_one_node, begin, end),
        cmocka_unit_test_setup_teardown(other_softmaxes_stay, begin, end),
        cmocka_unit_test_setup_teardown(products_are_joined, begin, end),
        cmocka_unit_test_setup_teardown(all_graphs_stay_right, begin, end),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
