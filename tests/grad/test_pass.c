/* The backward pass: which arrays can be differentiated, with respect to which inputs, at which points, and what is
 * rejected. */
#include "grad/expect.h"
#include "support/layouts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- repeated differentiation ---- */

static void gradients_of_gradients(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1.5, -2), *y = ig_multiply(ig_square(x), ig_square(x));
    y = grad_of(total(y), x);
    EXPECT(y, 13.5, -32);
    y = grad_of(total(y), x);
    EXPECT(y, 27, 48);
    y = grad_of(total(y), x);
    EXPECT(y, 36, -48);
    y = grad_of(total(y), x);
    EXPECT(y, 24, 24);
    /* The constant depends on nothing, so vjp returns zeros. */
    ig_array *d, *one = ig_ones(IG_SHAPE(2), IG_F64);
    FINE(ig_vjp(&y, &one, 1, &x, 1, &d));
    EXPECT(d, 0, 0);
}

static void sines_go_around(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(0.3, 1), *y = ig_sin(x);
    for (int i = 0; i < 8; i++)
        y = grad_of(total(y), x);
    EXPECT(y, sin(0.3), sin(1));
}

/* ---- inputs of gradients ---- */

static void by_views_of_an_array(void **unused)
{
    (void)unused;
    ig_array *w = ig_reshape(NUMBERS(1, 2, 3, 4, 5, 6), IG_SHAPE(2, 3)), *d[4];
    ig_array *t = ig_matrix_transpose(w), *flat = ig_reshape(t, IG_SHAPE(6));
    ig_array *part = ig_slice(w, IG_AXES(0, 1), IG_AXES(2, 3), IG_NONE);
    ig_array *loss = ig_add(total(ig_square(t)), total(ig_multiply(part, ig_float(10))));
    loss = ig_add(loss, total(ig_exp2(flat)));
    FINE(ig_grad(loss, (ig_array *[]){w, t, part}, 3, d));
    const double e = M_LN2;
    EXPECT(d[2], 10, 10, 10, 10);
    EXPECT(d[1], 2 + 2 * e, 8 + 16 * e, 4 + 4 * e, 10 + 32 * e, 6 + 8 * e, 12 + 64 * e);
    EXPECT(d[0], 2 + 2 * e, 14 + 4 * e, 16 + 8 * e, 8 + 16 * e, 20 + 32 * e, 22 + 64 * e);
    assert_int_equal(ig_ndim(d[1]), 2);
    assert_int_equal(ig_dim(d[1], 0), 3);
}

/* a -> b -> c, a view of b: the gradient of each includes everything that passes through it. */
static void by_arrays_made_of_each_other(void **unused)
{
    (void)unused;
    ig_array *a = NUMBERS(0, 1, 2), *b = ig_exp2(a), *d[4];
    ig_array *c = ig_slice(b, IG_AXES(1), IG_AXES(3), IG_NONE);
    ig_array *loss = ig_add(total(ig_square(c)), total(ig_add(a, b)));
    FINE(ig_grad(loss, (ig_array *[]){c, a, b, a}, 4, d));
    EXPECT(d[0], 4, 8);
    EXPECT(d[2], 1, 5, 9);
    EXPECT(d[1], 1 + M_LN2, 1 + 10 * M_LN2, 1 + 36 * M_LN2);
    EXPECT(d[3], 1 + M_LN2, 1 + 10 * M_LN2, 1 + 36 * M_LN2);
}

static ig_array *convolved(ig_array *x, ig_array *w, bool transposed)
{
    return transposed ? ig_conv_transpose2d(x, w, NULL, IG_NONE, IG_NONE, IG_NONE, 1, IG_NONE)
                      : ig_conv2d(x, w, NULL, IG_NONE, IG_NONE, IG_NONE, 1);
}

/* An op with a rule of its own counts no path twice: one input is computed from another, is the same array, or is another
 * part of the same array. */
static void by_inputs_of_one_op(void **unused)
{
    (void)unused;
    const ig_ints one = IG_SHAPE(1, 1, 1, 1);
    for (int t = 0; t < 2; t++) {
        ig_array *x = ig_reshape(NUMBERS(3), one), *w = ig_reshape(NUMBERS(2), one), *d[2];
        ig_array *y = convolved(convolved(x, w, t), w, t); /* one weight twice: x w^2 */
        FINE(ig_grad(total(y), (ig_array *[]){w, x}, 2, d));
        EXPECT(d[0], 12);
        EXPECT(d[1], 4);
        EXPECT(grad_of(total(d[0]), w), 6);
        EXPECT(grad_of(total(convolved(w, w, t)), w), 4);
        EXPECT(grad_of(total(convolved(ig_exp2(w), w, t)), w), 4 + 8 * M_LN2);
        EXPECT(grad_of(total(convolved(w, ig_exp2(w), t)), w), 4 + 8 * M_LN2);
        ig_array *both = NUMBERS(2, 3);
        x = ig_reshape(ig_slice(both, IG_AXES(0), IG_AXES(1), IG_NONE), one);
        w = ig_reshape(ig_slice(both, IG_AXES(1), IG_AXES(2), IG_NONE), one);
        EXPECT(grad_of(total(convolved(x, w, t)), both), 3, 2);
    }
    ig_array *a = NUMBERS(2), *b = ig_square(a);
    EXPECT(grad_of(total(ig_checkpoint(ig_multiply(b, a), (ig_array *[]){b, a}, 2)), a), 12);
    EXPECT(grad_of(total(ig_checkpoint(ig_multiply(b, a), (ig_array *[]){a, b}, 2)), a), 12);
    EXPECT(grad_of(total(ig_checkpoint(ig_multiply(a, a), (ig_array *[]){a, a}, 2)), a), 4);
}

static void by_the_loss(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(3), *loss = total(ig_square(x));
    EXPECT(grad_of(loss, loss), 1);
    ig_array *scalar = ig_scalar(2, IG_F64);
    EXPECT(grad_of(scalar, scalar), 1);
}

static void by_a_broadcast(void **unused)
{
    (void)unused;
    ig_array *w = NUMBERS(1, 2), *d[2];
    ig_array *b = ig_broadcast_to(w, IG_SHAPE(3, 2));
    ig_array *y = ig_multiply(b, ig_reshape(NUMBERS(1, 2, 3, 4, 5, 6), IG_SHAPE(3, 2)));
    FINE(ig_grad(total(y), (ig_array *[]){b, w}, 2, d));
    EXPECT(d[0], 1, 2, 3, 4, 5, 6);
    EXPECT(d[1], 9, 12);
    ig_array *through = total(ig_square(ig_flip(b, IG_NONE)));
    assert_int_equal(ig_grad(through, &b, 1, d), IG_ERR_UNSUPPORTED);
    layout_expect_error(IG_ERR_UNSUPPORTED, "grad: an array to differentiate by repeats elements");
    EXPECT(grad_of(through, w), 6, 12);
}

/* Numbers are direct inputs of elementwise nodes, not views in the shape of the node. */
static void by_numbers_beside_arrays(void **unused)
{
    (void)unused;
    ig_array *s = ig_scalar(3, IG_F64), *x = ig_reshape(NUMBERS(1, 2, 5, 9), IG_SHAPE(2, 2));
    ig_array *d = grad_of(total(ig_multiply(s, x)), s);
    EXPECT(d, 17);
    assert_int_equal(ig_ndim(d), 0);
    d = grad_of(total(ig_where(ig_greater(x, ig_float(4)), s, x)), s);
    EXPECT(d, 2);
    /* A mean of quotients by the same number, twice. */
    ig_array *loss = ig_mean_all(ig_divide(x, s));
    EXPECT(grad_of(loss, s), -17. / 4 / 9);
    d = grad_of(loss, x);
    EXPECT(d, 1. / 12, 1. / 12, 1. / 12, 1. / 12);
    EXPECT(grad_of(total(d), s), -1. / 9);
    /* The same for each of several numbers. */
    ig_array *y = ig_subtract(ig_multiply(x, s), s), *all = NUMBERS(1, 2, 3), *mapped;
    FINE(ig_vmap(&y, 1, &s, &all, (int[]){0}, 1, &mapped));
    EXPECT(mapped, 0, 1, 4, 8, 0, 2, 8, 16, 0, 3, 12, 24);
}

/* The gradient of a mean is a number: nothing is computed for it. An array that the caller holds is not a constant. */
static void of_means(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2, 5, 9), *d = grad_of(ig_mean_all(x), x);
    assert_true(ig_is_evaluated(d));
    EXPECT(d, .25, .25, .25, .25);
    ig_array *g = ig_scalar(2, IG_F64), *y = ig_mean_all(x), *back;
    FINE(ig_vjp(&y, &g, 1, &x, 1, &d));
    EXPECT(d, .5, .5, .5, .5);
    back = grad_of(total(d), g);
    EXPECT(back, 1);
}

static void several_outputs(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *y[] = {ig_square(x), ig_flip(x, IG_NONE), x}, *d;
    ig_array *g[] = {NUMBERS(1, 10), NUMBERS(5, 7), NUMBERS(100, 100)};
    FINE(ig_vjp(y, g, 3, &x, 1, &d));
    EXPECT(d, 109, 145);
    FINE(ig_vjp(NULL, NULL, 0, &x, 1, &d));
    EXPECT(d, 0, 0);
}

static void value_and_gradient(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2, 3), *d;
    double value = 0;
    FINE(ig_value_and_grad(total(ig_square(x)), &x, 1, &value, &d));
    assert_true(value == 14);
    assert_true(ig_is_evaluated(d));
    EXPECT(d, 2, 4, 6);
}

/* ---- stop_gradient ---- */

static void constants_by_wish(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(2, 3), *d;
    ig_array *stopped = ig_stop_gradient(ig_square(x));
    EXPECT(grad_of(total(ig_multiply(x, stopped)), x), 4, 9);
    /* Views of it are constants too, and so are repeated elements. */
    ig_array *wide = ig_stop_gradient(ig_broadcast_to(x, IG_SHAPE(2, 2)));
    EXPECT(grad_of(total(ig_multiply(x, ig_matrix_transpose(wide))), x), 5, 5);
    assert_int_equal(ig_grad(total(ig_flip(stopped, IG_NONE)), &x, 1, &d), IG_ERR_ARGUMENT);
    layout_expect_error(IG_ERR_ARGUMENT, "grad: parameter 0 does not reach the loss");
    /* It is still possible to differentiate with respect to it. */
    EXPECT(grad_of(total(ig_square(ig_flip(stopped, IG_NONE))), stopped), 8, 18);
}

/* ---- custom gradients ---- */

static int released;
static void count_release(void *context)
{
    released++;
    free(context);
}

/* Ten times g for the first input, nothing for the others. */
static ig_status tenfold(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                         ig_array **grads)
{
    (void)inputs, (void)out, (void)n;
    grads[0] = ig_multiply(g, ig_float(*(double *)context));
    return ig_failed() ? IG_ERR_ARGUMENT : IG_OK;
}

static ig_status wrong_shape(void *context, ig_array *const *inputs, int n, ig_array *out,
                             ig_array *g, ig_array **grads)
{
    (void)context, (void)inputs, (void)out, (void)n;
    grads[0] = ig_reshape(g, IG_SHAPE(-1, 1));
    return IG_OK;
}

static ig_status speechless(void *context, ig_array *const *inputs, int n, ig_array *out,
                            ig_array *g, ig_array **grads)
{
    (void)context, (void)inputs, (void)out, (void)n, (void)g, (void)grads;
    return IG_ERR_UNSUPPORTED;
}

static double *new_number(double v)
{
    double *number = malloc(sizeof *number);
    assert_non_null(number);
    *number = v;
    return number;
}

static void ones_own_gradient(void **unused)
{
    (void)unused;
    released = 0;
    ig_scope_begin();
    ig_array *x = NUMBERS(1, 2), *other = NUMBERS(3, 4), *d[2];
    ig_array *y = ig_custom_grad(ig_multiply(ig_flip(x, IG_NONE), other), (ig_array *[]){x, other},
                                 2, tenfold, new_number(10), count_release);
    EXPECT(y, 6, 4);
    ig_array *loss = total(ig_multiply(ig_flip(y, IG_NONE), NUMBERS(1, 2)));
    FINE(ig_vjp(&loss, (ig_array *[]){ig_scalar(1, IG_F64)}, 1, (ig_array *[]){x, other}, 2, d));
    EXPECT(d[0], 20, 10);
    EXPECT(d[1], 0, 0);
    assert_int_equal(released, 0);
    ig_scope_end();
    assert_int_equal(released, 1);
}

/* A custom rule for the square, whose gradient can be differentiated again. */
static ig_status own_square(void *context, ig_array *const *inputs, int n, ig_array *out,
                            ig_array *g, ig_array **grads)
{
    (void)context, (void)out, (void)n;
    grads[0] = ig_multiply(g, ig_multiply(inputs[0], ig_float(2)));
    return IG_OK;
}

static void ones_own_gradient_again(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2);
    ig_array *y = ig_custom_grad(ig_square(x), &x, 1, own_square, NULL, NULL);
    ig_array *d = grad_of(total(ig_exp(y)), x);
    EXPECT(d, 2 * M_E, 4 * exp(4));
    EXPECT(grad_of(total(d), x), 6 * M_E, 18 * exp(4));
}

static void ones_own_mistakes(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *d;
    ig_array *y = ig_custom_grad(ig_square(x), &x, 1, wrong_shape, NULL, NULL);
    assert_int_equal(ig_grad(total(y), &x, 1, &d), IG_ERR_SHAPE);
    layout_expect_error(IG_ERR_SHAPE, "grad: a custom gradient gave shape (2, 1) for input 0 of "
                                      "shape (2,)");
    y = ig_custom_grad(ig_square(x), &x, 1, speechless, NULL, NULL);
    assert_int_equal(ig_grad(total(y), &x, 1, &d), IG_ERR_UNSUPPORTED);
    layout_expect_error(IG_ERR_UNSUPPORTED, "grad: a custom gradient failed without saying why");
    released = 0;
    assert_null(ig_custom_grad(NULL, &x, 1, tenfold, new_number(1), count_release));
    assert_int_equal(released, 1);
    layout_expect_error(IG_ERR_ARGUMENT, "custom_grad: out is NULL");
}

/* ---- arrays evaluated in between ---- */

static void computed_halfway(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2, 3), *h = ig_exp2(x);
    EXPECT(h, 2, 4, 8);
    ig_array *y = ig_square(h);
    assert_true(ig_item(total(y)) == 84);
    FINE(ig_eval(&y, 1));
    EXPECT(grad_of(total(y), x), 8 * M_LN2, 32 * M_LN2, 128 * M_LN2);
    EXPECT(grad_of(total(y), h), 4, 8, 16);
}

/* ig_data makes a strided view contiguous, but for differentiation it stays a view. */
static void strided_views_read_halfway(void **unused)
{
    (void)unused;
    ig_array *x = ig_reshape(NUMBERS(1, 2, 3, 4), IG_SHAPE(2, 2)), *d[3];
    ig_array *h = ig_square(x), *t = ig_matrix_transpose(h), *row = ig_flip(t, IG_AXES(1));
    assert_memory_equal(ig_data(t), ((double[]){1, 9, 4, 16}), 4 * sizeof(double));
    assert_memory_equal(ig_data(row), ((double[]){9, 1, 16, 4}), 4 * sizeof(double));
    ig_array *weight = ig_reshape(NUMBERS(1, 10, 100, 1000), IG_SHAPE(2, 2));
    ig_array *loss = ig_add(total(ig_multiply(t, weight)), total(ig_multiply(row, weight)));
    FINE(ig_grad(ig_add(loss, total(h)), (ig_array *[]){x, h, t}, 3, d));
    EXPECT(d[0], 24, 4404, 72, 8808);
    EXPECT(d[1], 12, 1101, 12, 1101);
    /* row is a copy of part of t, and keeps that history. */
    EXPECT(d[2], 11, 11, 1100, 1100);
    ig_array *leaf = ig_custom_grad(ig_matrix_transpose(x), &x, 1, own_square, NULL, NULL);
    assert_memory_equal(ig_data(leaf), ((double[]){1, 3, 2, 4}), 4 * sizeof(double));
    EXPECT(grad_of(total(ig_multiply(leaf, weight)), x), 2, 40, 600, 8000);
}

static ig_array *escaped_square(ig_array *x, bool evaluated)
{
    ig_scope_begin();
    ig_array *y = ig_square(x);
    if (evaluated)
        FINE(ig_eval(&y, 1));
    ig_scope_forget(y);
    ig_scope_end();
    return y;
}

static void history(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *d;
    ig_array *lazy = escaped_square(x, false), *forgetful = escaped_square(x, true);
    EXPECT(grad_of(total(lazy), x), 2, 4);
    assert_int_equal(ig_grad(total(forgetful), &x, 1, &d), IG_ERR_ARGUMENT);
    layout_expect_error(IG_ERR_ARGUMENT, "grad: parameter 0 does not reach the loss");
    ig_keep_history(true);
    ig_array *mindful = escaped_square(x, true);
    ig_keep_history(false);
    EXPECT(grad_of(total(mindful), x), 2, 4);
    ig_release(lazy);
    ig_release(forgetful);
    ig_release(mindful);
}

/* ---- points where formulas are undefined ---- */

static const struct point {
    const char *op;
    double x, d;
} points[] = {
    {"abs", 0, 0},          {"elu", 1000, 1},         {"elu", -1000, 0},
    {"elu", 0, 1},          {"exp", -1000, 0},        {"gelu", 1000, 1},
    {"gelu", -1000, 0},     {"leaky_relu", 1e300, 1}, {"log1p", 1e300, 1e-300},
    {"relu", 0, 0},         {"relu", -0.0, 0},        {"relu", INFINITY, 1},
    {"sigmoid", 1000, 0},   {"sigmoid", -1000, 0},    {"sigmoid", 0, 0.25},
    {"silu", 1000, 1},      {"silu", -1000, 0},       {"softplus", 1000, 1},
    {"softplus", -1000, 0}, {"softplus", 0, 0.5},     {"sqrt", 0, INFINITY},
    {"square", 0, 0},       {"tanh", 1000, 0},        {"tanh", 0, 1},
    {"erf", 1000, 0},       {"erf", 0, M_2_SQRTPI},   {"atan", 1e200, 0},
    {"asinh", 0, 1},        {"reciprocal", 1e200, 0}, {"expm1", -1000, 0},
    {"log_softmax", 3, 0},  {"logsumexp", 1000, 1},   {"logsumexp", -1000, 1},
    {"softmax", 1000, 0},   {"floor", 1, 0},          {"sign", 0, 0},
    {"sin", NAN, NAN},      {"multiply", NAN, NAN},
};

static void check_point(const struct point *p, ig_dtype dtype)
{
    ig_array *x = ig_full(IG_SHAPE(1), ig_float(p->x), dtype), *y, *d;
    const bool two = strcmp(p->op, "multiply") == 0;
    const ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = x},
                           {.kind = IG_ARG_ARRAY, .u.array = x}};
    assert_int_equal(ig_call(p->op, args, 1 + two, &y, 1), 1);
    ig_array *g = ig_ones_like(y, IG_DTYPE_NONE);
    FINE(ig_vjp(&y, &g, 1, &x, 1, &d));
    const double have = ig_item(d);
    if (!(have == p->d || fabs(have - p->d) <= 1e-6 || (isnan(have) && isnan(p->d))))
        fail_msg("the derivative of %s at %g is %g, not %g (%s)", p->op, p->x, have, p->d,
                 ig_dtype_name(dtype));
}

static void at_special_points(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        check_point(&points[i], IG_F64);
        if (fabs(points[i].x) < 1e30)
            check_point(&points[i], IG_F32);
    }
}

static void powers_of_zero(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(0, 0, 0, -2, 2), *p = NUMBERS(0, 1, 2, 3, 0), *d[2];
    FINE(ig_grad(total(ig_pow(x, p)), (ig_array *[]){x, p}, 2, d));
    EXPECT(d[0], 0, 1, 0, 12, 0);
    EXPECT(d[1], 0, 0, 0, NAN, M_LN2);
    EXPECT(grad_of(total(ig_pow(x, ig_float(2))), x), 0, 0, 0, -4, 4);
}

static void ties(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(2, 1, 2, 0), *y = NUMBERS(2, 2, 0, 0), *d[2];
    EXPECT(grad_of(total(ig_max(x, IG_NONE, false)), x), 0.5, 0, 0.5, 0);
    EXPECT(grad_of(total(ig_min(y, IG_NONE, false)), y), 0, 0, 0.5, 0.5);
    FINE(ig_grad(total(ig_maximum(x, y)), (ig_array *[]){x, y}, 2, d));
    EXPECT(d[0], 0, 0, 1, 0);
    EXPECT(d[1], 1, 1, 0, 1);
    ig_array *w = NUMBERS(1, 10, 100, 1000);
    EXPECT(grad_of(total(ig_multiply(ig_sort(y, 0, false, true), w)), y), 100, 1000, 1, 10);
    EXPECT(grad_of(total(ig_multiply(ig_cumulative_max(x, IG_AXES(0)), w)), x), 11, 0, 1100, 0);
    EXPECT(grad_of(total(ig_clip(x, ig_float(0.5), ig_float(1.5))), x), 0, 1, 0, 0);
}

static void masked_away(void **unused)
{
    (void)unused;
    ig_array *q = ig_reshape(NUMBERS(1, 2, 3, 4), IG_SHAPE(2, 2)), *d[3];
    ig_array *mask = ig_astype(ig_reshape(NUMBERS(0, 0, 1, 0), IG_SHAPE(2, 2)), IG_BOOL);
    ig_array *k = ig_exp(q), *v = ig_square(q);
    ig_array *y = ig_scaled_dot_product_attention(q, k, v, mask, false, 0);
    FINE(ig_grad(total(y), (ig_array *[]){q, k, v}, 3, d));
    EXPECT(d[2], 1, 1, 0, 0);
    EXPECT(d[1], 0, 0, 0, 0);
    ig_array *x = NUMBERS(0, -INFINITY, 0);
    EXPECT(grad_of(ig_logsumexp(x, IG_NONE, false), x), 0.5, 0, 0.5);
    EXPECT(grad_of(total(ig_multiply(ig_softmax(x, IG_AXES(0)), NUMBERS(4, 1, 0))), x), 1, 0, -1);
}

static void losses_far_out(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1000, -1000, 0), *t = NUMBERS(0, 1, 1), *d[2];
    EXPECT(grad_of(ig_bce_with_logits(x, t, "sum"), x), 1, -1, -0.5);
    EXPECT(grad_of(ig_huber(x, t, 2, "sum"), x), 2, -2, -1);
    ig_array *logits = ig_reshape(NUMBERS(1000, -1000, 0, 0), IG_SHAPE(2, 2));
    ig_array *labels = ig_astype(NUMBERS(1, 0), IG_I64);
    EXPECT(grad_of(ig_cross_entropy(logits, labels, -1, "sum"), logits), 1, -1, -0.5, 0.5);
    FINE(ig_grad(ig_kl_div(x, t, "sum"), (ig_array *[]){x, t}, 2, d));
    EXPECT(d[0], 0, -1, -1);
}

/* ---- empty arrays ---- */

static void empty_arrays(void **unused)
{
    (void)unused;
    ig_array *x = ig_from_data(NULL, IG_SHAPE(0, 3), IG_F64), *d[2];
    ig_array *w = ig_reshape(NUMBERS(1, 2, 3, 4, 5, 6), IG_SHAPE(3, 2));
    ig_array *y[] = {
        ig_sum(x, IG_AXES(0), IG_DTYPE_NONE, false),
        ig_prod(x, IG_AXES(0), IG_DTYPE_NONE, false),
        ig_cumulative_sum(x, IG_AXES(0), IG_DTYPE_NONE, false),
        ig_cumulative_prod(x, IG_AXES(0), IG_DTYPE_NONE, false),
        ig_cumulative_prod(x, IG_AXES(1), IG_DTYPE_NONE, true),
        ig_sort(x, 1, false, true),
        ig_matmul(x, w),
        ig_matmul(ig_matrix_transpose(x), x),
        ig_concat((ig_array *[]){x, ig_matrix_transpose(w)}, 2, IG_AXES(0)),
        ig_pad(x, IG_AXES(1, 1), "constant", NULL),
        ig_softmax(x, IG_AXES(1)),
        ig_broadcast_to(ig_reshape(x, IG_SHAPE(0, 1, 3)), IG_SHAPE(0, 4, 3)),
    };
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
        assert_non_null(y[i]);
        ig_array *g = ig_ones_like(y[i], IG_DTYPE_NONE);
        FINE(ig_vjp(&y[i], &g, 1, (ig_array *[]){x, w}, 2, d));
        FINE(ig_eval(d, 2));
        assert_int_equal(ig_size(d[0]), 0);
        assert_int_equal(ig_size(d[1]), 6);
    }
}

/* ---- deep graphs ---- */

/* Seconds for the gradient of a chain of n nodes. */
static double chain_seconds(int n)
{
    ig_scope_begin();
    ig_array *x = ig_scalar(1, IG_F64), *y = x;
    for (int i = 0; i < n; i++)
        y = ig_multiply(y, ig_float(i % 2 ? 2 : 0.5));
    const clock_t start = clock();
    ig_array *d = grad_of(y, x);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_true(ig_item(d) == 1);
    ig_scope_end();
    return seconds;
}

static void deep_graphs(void **unused)
{
    (void)unused;
    const double few = chain_seconds(25000), many = chain_seconds(100000);
    if (many > 0.2 && many > 12 * few)
        fail_msg("25,000 nodes took %g s, 100,000 took %g s", few, many);
}

/* Each node is used twice: many paths, few nodes. */
static void many_paths(void **unused)
{
    (void)unused;
    ig_array *x = ig_scalar(1, IG_F64), *y = x;
    for (int i = 0; i < 60; i++)
        y = ig_add(y, y);
    assert_true(ig_item(grad_of(y, x)) == 0x1p60);
}

/* ---- errors ---- */

static void mistakes(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *i = ig_arange(0, 3, 1, IG_I64), *d[2];
    ig_array *loss = total(ig_square(x)), *one = ig_scalar(1, IG_F64);
    ig_grad(ig_square(x), &x, 1, d);
    layout_expect_error(IG_ERR_SHAPE, "grad: the loss has shape (2,), but must be a scalar");
    ig_grad(total(i), &x, 1, d);
    layout_expect_error(IG_ERR_DTYPE, "grad: the loss, array 0 is i64; only floats have gradients");
    ig_grad(loss, (ig_array *[]){x, i}, 2, d);
    layout_expect_error(IG_ERR_DTYPE, "grad: parameter 1 is i64; only floats have gradients");
    ig_grad(loss, (ig_array *[]){x, one}, 2, d);
    layout_expect_error(IG_ERR_ARGUMENT, "grad: parameter 1 does not reach the loss; leave it out");
    ig_grad(loss, (ig_array *[]){x, NULL}, 2, d);
    layout_expect_error(IG_ERR_ARGUMENT, "grad: parameter 1 is NULL");
    ig_grad(NULL, &x, 1, d);
    layout_expect_error(IG_ERR_ARGUMENT, "grad: the loss");
    ig_array *weak = ig_float(3);
    ig_grad(total(ig_multiply(x, weak)), &weak, 1, d);
    layout_expect_error(IG_ERR_ARGUMENT, "grad: parameter 0 does not reach the loss (a number");
    ig_vjp(&x, &one, 1, &x, 1, d);
    layout_expect_error(IG_ERR_SHAPE, "vjp: cotangent 0 has shape (), but output 0 has (2,)");
    ig_array *loud = ig_sum(x, IG_AXES(9), IG_DTYPE_NONE, false);
    ig_grad(loud, &x, 1, d);
    layout_expect_error(IG_ERR_SHAPE, "sum: axis 9");
}

/* ---- memory ---- */

/* Gradients of all kinds; false: something failed. */
static bool script(void)
{
    bool fine = ig_scope_begin() == IG_OK;
    if (!fine)
        return false;
    ig_array *x = ig_reshape(ig_arange(0, 60, 1, IG_F64), IG_SHAPE(1, 3, 4, 5)), *d[2], *second;
    ig_array *w = ig_reshape(ig_arange(0, 24, 1, IG_F64), IG_SHAPE(2, 3, 2, 2));
    ig_array *y = ig_tanh(ig_conv2d(x, w, NULL, IG_NONE, IG_AXES(1), IG_NONE, 1));
    y = ig_custom_grad(ig_square(y), &y, 1, own_square, NULL, NULL);
    y = ig_max_pool2d(y, IG_AXES(2), IG_AXES(1), IG_NONE, IG_NONE, false);
    y = ig_sort(ig_cumulative_prod(y, IG_AXES(-1), IG_DTYPE_NONE, false), -1, false, true);
    ig_array *part = ig_slice(x, IG_AXES(0, 1), IG_AXES(1, 3), IG_NONE);
    ig_array *loss = ig_add(ig_mean(ig_softmax(y, IG_AXES(-1)), IG_NONE, false),
                            total(ig_prod(part, IG_AXES(2), IG_DTYPE_NONE, false)));
    fine = loss && ig_grad(loss, (ig_array *[]){x, w}, 2, d) == IG_OK;
    fine = fine && ig_grad(total(ig_square(d[0])), &x, 1, &second) == IG_OK;
    fine = fine && ig_eval((ig_array *[]){d[0], d[1], second}, 3) == IG_OK;
    ig_scope_end();
    return fine;
}

/* Results and gradients are on the device of the inputs, whatever device is current. So are arrays that ops create from
 * nothing. */
static void on_another_device(void **unused)
{
    (void)unused;
    const char *device = ig_device(), *other = strcmp(device, "gang") == 0 ? "cpu" : "gang";
    ig_array *x = ig_to_device(ig_reshape(ig_arange(0, 16, 1, IG_F32), IG_SHAPE(4, 4)), other);
    ig_array *i = ig_to_device(ig_arange(0, 4, 1, IG_I64), other), *y[12];
    int n = 0;
    y[n++] = ig_one_hot(i, 5, IG_F32);
    y[n++] = ig_scaled_dot_product_attention(x, x, x, NULL, true, 0);
    y[n++] = ig_cumulative_max(x, IG_AXES(1));
    y[n++] = ig_scatter(x, ig_broadcast_to(i, IG_SHAPE(4, 4)), ig_square(x), 0);
    y[n++] = ig_cross_entropy(x, i, -1, NULL);
    const int results = n;
    for (int k = 1; k < results; k++) {
        if (ig_vjp(&y[k], &y[k], 1, &x, 1, &y[n++]) != IG_OK)
            fail_msg("%d: %s", k, ig_error(NULL));
    }
    ig_array *far = ig_square(ig_arange(0, 4, 1, IG_F32));
    if (ig_vjp(&far, &far, 1, &x, 1, &y[n++]) != IG_OK) /* zeros: x is not reached */
        fail_msg("%s", ig_error(NULL));
    y[n++] = ig_zeros_like(x, IG_DTYPE_NONE);
    y[n++] = ig_full_like(x, ig_float(2), IG_DTYPE_NONE);
    for (int k = 0; k < n; k++) {
        assert_string_equal(ig_array_device(y[k]), other);
        if (ig_eval(&y[k], 1) != IG_OK)
            fail_msg("%d: %s", k, ig_error(NULL));
    }
    assert_string_equal(ig_device(), device);
}

static void any_allocation_may_fail(void **unused)
{
    (void)unused;
    expect_failures_are_clean(script);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradients_of_gradients),
        TEST(sines_go_around),
        TEST(by_views_of_an_array),
        TEST(by_arrays_made_of_each_other),
        TEST(by_inputs_of_one_op),
        TEST(by_the_loss),
        TEST(by_a_broadcast),
        TEST(by_numbers_beside_arrays),
        TEST(of_means),
        TEST(several_outputs),
        TEST(value_and_gradient),
        TEST(constants_by_wish),
        TEST(ones_own_gradient),
        TEST(ones_own_gradient_again),
        TEST(ones_own_mistakes),
        TEST(computed_halfway),
        TEST(strided_views_read_halfway),
        TEST(history),
        TEST(at_special_points),
        TEST(powers_of_zero),
        TEST(ties),
        TEST(masked_away),
        TEST(losses_far_out),
        TEST(empty_arrays),
        TEST(deep_graphs),
        TEST(many_paths),
        TEST(mistakes),
        TEST(on_another_device),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
