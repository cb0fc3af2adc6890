/* Rebuilt graphs: checkpoints, and the parts of vmap that test_vmap.c does not cover. */
#include "grad/expect.h"
#include "grad/rows.h"
#include "support/layouts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers in (-1, 1). */
static ig_array *some(ig_ints shape, int seed)
{
    return numbers_like(ig_zeros(shape, IG_F64), seed);
}

/* ---- vmap ---- */

/* One output of one input, mapped along axis. */
static ig_array *mapped(ig_array *y, ig_array *x, ig_array *all, int axis)
{
    ig_array *out = NULL;
    FINE(ig_vmap(&y, 1, &x, &all, &axis, 1, &out));
    return out;
}

/* All pairs of rows: a map within a map. */
static void maps_within_maps(void **unused)
{
    (void)unused;
    ig_array *a = some(IG_SHAPE(3), 1), *b = some(IG_SHAPE(3), 2), *inner, *outer;
    ig_array *xs = some(IG_SHAPE(4, 3), 3), *ys = some(IG_SHAPE(3, 5), 4);
    ig_array *y = ig_sum(ig_exp(ig_subtract(a, b)), IG_NONE, IG_DTYPE_NONE, false);
    FINE(ig_vmap(&y, 1, (ig_array *[]){a, b}, (ig_array *[]){a, ys}, (int[]){-1, 1}, 2, &inner));
    FINE(ig_vmap(&inner, 1, &a, &xs, (int[]){0}, 1, &outer));
    ig_array *pairs = ig_subtract(ig_expand_dims(xs, IG_AXES(1)), ig_matrix_transpose(ys));
    expect_same(outer, ig_sum(ig_exp(pairs), IG_AXES(-1), IG_DTYPE_NONE, false));
}

static ig_array *square_error(ig_array *w, ig_array *x, ig_array *t)
{
    return total(ig_square(ig_subtract(ig_tanh(ig_matmul(x, w)), t)));
}

/* Gradients of each example, all at once; their sum is the gradient of the sum. */
static void gradients_by_example(void **unused)
{
    (void)unused;
    ig_array *w = some(IG_SHAPE(3, 2), 1), *x = some(IG_SHAPE(3), 2), *t = some(IG_SHAPE(2), 3);
    ig_array *xs = some(IG_SHAPE(5, 3), 4), *ts = some(IG_SHAPE(5, 2), 5), *each;
    ig_array *d = grad_of(square_error(w, x, t), w);
    FINE(ig_vmap(&d, 1, (ig_array *[]){x, t}, (ig_array *[]){xs, ts}, (int[]){0, 0}, 2, &each));
    assert_int_equal(ig_ndim(each), 3);
    ig_array *whole = grad_of(square_error(w, xs, ts), w);
    expect_same(ig_sum(each, IG_AXES(0), IG_DTYPE_NONE, false), whole);
    ig_array *of_third =
        grad_of(square_error(w, ig_get(xs, &(ig_index){.kind = IG_INDEX_INT, .start = 2}, 1),
                             ig_get(ts, &(ig_index){.kind = IG_INDEX_INT, .start = 2}, 1)),
                w);
    expect_same(ig_get(each, &(ig_index){.kind = IG_INDEX_INT, .start = 2}, 1), of_third);
}

/* A Jacobian: a vjp mapped over cotangents. A Hessian: the same for a gradient. */
static void jacobians(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2, 3), *y = ig_multiply(x, ig_flip(x, IG_NONE)), *d;
    ig_array *g = NUMBERS(0, 0, 0);
    FINE(ig_vjp(&y, &g, 1, &x, 1, &d));
    EXPECT(mapped(d, g, ig_eye(3, -1, 0, IG_F64), 0), 3, 0, 1, 0, 4, 0, 3, 0, 1);
    ig_array *slope = grad_of(ig_prod(x, IG_NONE, IG_DTYPE_NONE, false), x);
    FINE(ig_vjp(&slope, &g, 1, &x, 1, &d));
    EXPECT(mapped(d, g, ig_eye(3, -1, 0, IG_F64), 1), 0, 3, 2, 3, 0, 1, 2, 1, 0);
}

static void keys_are_mapped(void **unused)
{
    (void)unused;
    ig_array *key = ig_key(1, NULL), *keys = ig_split_key(key, 3);
    ig_array *each = mapped(ig_normal(key, IG_SHAPE(4), IG_F64, NULL, NULL), key, keys, 0),
             *part[3];
    for (int b = 0; b < 3; b++)
        part[b] = ig_normal(ig_get(keys, &(ig_index){.kind = IG_INDEX_INT, .start = b}, 1),
                            IG_SHAPE(4), IG_F64, NULL, NULL);
    expect_same(each, ig_stack(part, 3, 0));
}

/* The gradient is g times x reversed, which differs from the gradient of x * x. */
static ig_status own_rule(void *context, ig_array *const *inputs, int n, ig_array *out, ig_array *g,
                          ig_array **grads)
{
    (void)context, (void)n, (void)out;
    grads[0] = ig_flip(ig_multiply(ig_flip(g, IG_NONE), inputs[0]), IG_NONE);
    return ig_failed() ? IG_ERR_ARGUMENT : IG_OK;
}

static void ones_own_gradient_is_mapped(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *d, *xs = ig_reshape(NUMBERS(1, 2, 3, 4), IG_SHAPE(2, 2));
    ig_array *y = ig_custom_grad(ig_square(x), &x, 1, own_rule, NULL, NULL);
    ig_array *all = mapped(y, x, xs, 0);
    EXPECT(all, 1, 4, 9, 16);
    ig_array *g = ig_reshape(NUMBERS(1, 10, 100, 1000), IG_SHAPE(2, 2));
    FINE(ig_vjp(&all, &g, 1, &xs, 1, &d));
    EXPECT(d, 2, 10, 400, 3000);
    EXPECT(mapped(grad_of(total(y), x), x, xs, 0), 2, 1, 4, 3);
}

/* stop_gradient is preserved. */
static void constants_are_mapped(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *xs = ig_reshape(NUMBERS(1, 2, 3, 4), IG_SHAPE(2, 2));
    ig_array *all = mapped(ig_multiply(x, ig_stop_gradient(ig_square(x))), x, xs, 1);
    EXPECT(all, 1, 27, 8, 64);
    EXPECT(grad_of(total(all), xs), 1, 4, 9, 16);
}

/* Arrays that do not depend on the inputs are the same for all examples; an input may be an
 * output. */
static void what_is_not_mapped(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *c = NUMBERS(5), *xs = some(IG_SHAPE(2, 3), 1), *out[3];
    ig_array *y[] = {ig_exp(c), x, ig_flip(x, IG_NONE)};
    FINE(ig_vmap(y, 3, &x, &xs, (int[]){1}, 1, out));
    EXPECT(out[0], exp(5), exp(5), exp(5));
    expect_same(out[1], ig_matrix_transpose(xs));
    expect_same(out[2], ig_flip(ig_matrix_transpose(xs), IG_AXES(1)));
}

/* The example is evaluated in between, and is itself a computed array. */
static void examples_may_be_computed(void **unused)
{
    (void)unused;
    ig_array *x = ig_exp(NUMBERS(0, 1)), *h = ig_square(x), *xs = some(IG_SHAPE(3, 2), 1);
    assert_non_null(ig_data(ig_flip(h, IG_NONE)));
    FINE(ig_eval(&h, 1));
    expect_same(mapped(ig_add(h, x), x, xs, 0), ig_add(ig_square(xs), xs));
}

/* y is used repeatedly and the graph is deep: the mapping must not recurse. */
static void deep_maps(void **unused)
{
    (void)unused;
    ig_array *x = ig_scalar(1, IG_F64), *y = x;
    for (int i = 0; i < 100000; i++)
        y = ig_multiply(y, ig_float(i % 2 ? 2 : 0.5));
    EXPECT(mapped(y, x, NUMBERS(3, 4), 0), 3, 4);
    ig_array *pair = NUMBERS(1, 2), *turned = pair;
    for (int i = 0; i < 100000; i++)
        turned = ig_flip(turned, IG_NONE);
    EXPECT(mapped(turned, pair, ig_reshape(NUMBERS(1, 2, 3, 4), IG_SHAPE(2, 2)), 0), 1, 2, 3, 4);
}

static void vmap_mistakes(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(1, 2), *y = ig_square(x), *out;
    ig_array *xs = some(IG_SHAPE(3, 2), 1), *none = ig_from_data(NULL, IG_SHAPE(0, 2), IG_F64);
    ig_vmap(&y, 1, &x, &xs, (int[]){2}, 1, &out);
    layout_expect_error(IG_ERR_SHAPE, "vmap: input 0 has 2 axes, so none is 2");
    ig_vmap(&y, 1, &x, &xs, (int[]){1}, 1, &out);
    layout_expect_error(IG_ERR_SHAPE, "vmap: slices of input 0 are f64(3,), but the example is");
    ig_vmap(&y, 1, &x, (ig_array *[]){ig_astype(xs, IG_F32)}, (int[]){0}, 1, &out);
    layout_expect_error(IG_ERR_SHAPE,
                        "vmap: slices of input 0 are f32(2,), but the example is f64");
    ig_vmap(&y, 1, &x, &x, (int[]){-1}, 1, &out);
    layout_expect_error(IG_ERR_ARGUMENT, "vmap: no input has an axis to map over");
    ig_vmap(&y, 1, &x, &none, (int[]){0}, 1, &out);
    layout_expect_error(IG_ERR_ARGUMENT, "vmap: there are no slices");
    ig_vmap(&y, 1, (ig_array *[]){x, x}, (ig_array *[]){xs, some(IG_SHAPE(4, 2), 2)}, (int[]){0, 0},
            2, &out);
    layout_expect_error(IG_ERR_SHAPE, "vmap: input 1 has 4 slices, but another has 3");
    ig_vmap((ig_array *[]){NULL}, 1, &x, &xs, (int[]){0}, 1, &out);
    layout_expect_error(IG_ERR_ARGUMENT, "vmap: output 0 is NULL");
    ig_vmap(&y, 1, &x, (ig_array *[]){NULL}, (int[]){0}, 1, &out);
    layout_expect_error(IG_ERR_ARGUMENT, "vmap: input 0 is NULL");
    int64_t shape[IG_MAX_NDIM] = {2};
    for (int a = 1; a < IG_MAX_NDIM; a++)
        shape[a] = 1;
    ig_array *wide = ig_reshape(x, (ig_ints){shape, IG_MAX_NDIM});
    ig_vmap(&wide, 1, &x, &xs, (int[]){0}, 1, &out);
    layout_expect_error(IG_ERR_SHAPE, "vmap: an array inside has 16 axes already");
}

/* ---- checkpoints ---- */

/* Some layers of the same width; every second one a checkpoint if asked for. */
static ig_array *network(ig_array *x, ig_array *const *w, int n, bool checkpoints)
{
    for (int i = 0; i < n; i++) {
        ig_array *in[] = {x, w[i]};
        ig_array *y = ig_tanh(ig_matmul(ig_tanh(ig_matmul(x, w[i])), w[i]));
        x = checkpoints ? ig_checkpoint(y, in, 2) : y;
    }
    return total(ig_square(x));
}

enum { LAYERS = 6 };

static void weights(ig_array **w, int64_t width)
{
    for (int i = 0; i < LAYERS; i++)
        w[i] = some(IG_SHAPE(width, width), 10 + i);
}

static void checkpoints_change_nothing(void **unused)
{
    (void)unused;
    ig_array *w[LAYERS], *x = some(IG_SHAPE(3, 4), 1), *plain[LAYERS], *again[LAYERS];
    weights(w, 4);
    ig_array *loss = network(x, w, LAYERS, false), *other = network(x, w, LAYERS, true);
    FINE(ig_grad(loss, w, LAYERS, plain));
    FINE(ig_grad(other, w, LAYERS, again));
    expect_same(other, loss);
    for (int i = 0; i < LAYERS; i++)
        expect_same(again[i], plain[i]);
    /* Second derivatives pass through them too. */
    expect_same(grad_of(total(ig_square(again[0])), x), grad_of(total(ig_square(plain[0])), x));
}

static void checkpoints_within_checkpoints(void **unused)
{
    (void)unused;
    ig_array *x = NUMBERS(0.1, 0.2), *y = ig_exp(x);
    ig_array *inner = ig_checkpoint(ig_sin(y), &y, 1);
    ig_array *outer = ig_checkpoint(ig_multiply(inner, ig_flip(inner, IG_NONE)), &x, 1);
    ig_array *plain = ig_multiply(ig_sin(y), ig_flip(ig_sin(y), IG_NONE));
    expect_same(grad_of(total(ig_exp(outer)), x), grad_of(total(ig_exp(plain)), x));
}

/* With respect to views, of views, with repeated elements, evaluated in between, mapped. */
static void checkpoints_anywhere(void **unused)
{
    (void)unused;
    ig_array *w = some(IG_SHAPE(3, 4), 1), *t = ig_matrix_transpose(w);
    ig_array *y = ig_checkpoint(ig_flip(ig_exp(ig_multiply(t, t)), IG_AXES(0)), &t, 1);
    ig_array *plain = ig_flip(ig_exp(ig_multiply(t, t)), IG_AXES(0));
    assert_non_null(ig_data(y));
    ig_array *g = some(IG_SHAPE(4, 3), 2);
    ig_array *have = grad_of(total(ig_multiply(y, g)), w);
    expect_same(have, grad_of(total(ig_multiply(plain, g)), w));
    ig_array *ws = some(IG_SHAPE(2, 3, 4), 3);
    ig_array *wanted = mapped(grad_of(total(ig_multiply(plain, g)), w), w, ws, 0);
    expect_same(mapped(have, w, ws, 0), wanted);
    ig_array *wide = ig_broadcast_to(NUMBERS(1, 2), IG_SHAPE(3, 2)), *x = NUMBERS(2);
    ig_array *sum = ig_checkpoint(ig_multiply(wide, x), &x, 1);
    EXPECT(grad_of(total(sum), x), 9);
}

/* The peak memory, in bytes, that the plan for arrays states. */
static double peak_of(ig_array *const *arrays, int n)
{
    char *text = ig_explain(arrays, n);
    assert_non_null(text);
    const char *at = strstr(text, "peak ");
    assert_non_null(at);
    const double peak = strtod(at + 5, NULL);
    ig_free(text);
    return peak;
}

/* Layers whose gradients need their inputs, alone or together with values computed from them. */
static ig_array *wave(ig_array *x)
{
    return ig_cumulative_sum(ig_sin(x), IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *order(ig_array *x) { return ig_sort(ig_sin(x), 0, false, true); }

static ig_array *deep(ig_array *x, ig_array *layer(ig_array *), bool checkpoints)
{
    for (int i = 0; i < 16; i++) {
        ig_array *y = x;
        for (int k = 0; k < 4; k++)
            y = layer(y);
        x = checkpoints ? ig_checkpoint(y, &x, 1) : y;
    }
    return total(x);
}

static void save_memory(ig_array *layer(ig_array *))
{
    ig_array *x = some(IG_SHAPE(getenv("IG_TEST_QUICK") ? 1000 : 10000), 1);
    ig_array *plain = grad_of(deep(x, layer, false), x), *again = grad_of(deep(x, layer, true), x);
    const double before = peak_of(&plain, 1), after = peak_of(&again, 1);
    if (!(after < 0.6 * before))
        fail_msg("the peak is %g bytes, and %g with checkpoints", before, after);
    expect_same(again, plain);
}

static void checkpoints_save_memory(void **unused)
{
    (void)unused;
    save_memory(wave);
    save_memory(order);
}

/* ---- memory ---- */

static bool script(void)
{
    if (ig_scope_begin() != IG_OK)
        return false;
    ig_array *x = numbers_like(ig_zeros(IG_SHAPE(3, 4), IG_F64), 1), *g, *out;
    ig_array *xs = numbers_like(ig_zeros(IG_SHAPE(2, 3, 4), IG_F64), 2);
    ig_array *y = ig_custom_grad(ig_flip(ig_square(x), IG_NONE), &x, 1, own_rule, NULL, NULL);
    y = ig_checkpoint(ig_matmul(ig_softmax(y, IG_AXES(1)), ig_matrix_transpose(x)), &x, 1);
    bool fine = y && ig_grad(total(y), &x, 1, &g) == IG_OK;
    fine = fine && ig_vmap(&g, 1, &x, &xs, (int[]){0}, 1, &out) == IG_OK;
    fine = fine && ig_grad(total(ig_square(out)), &xs, 1, &g) == IG_OK;
    fine = fine && ig_eval((ig_array *[]){g, out}, 2) == IG_OK;
    ig_scope_end();
    return fine;
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
        TEST(maps_within_maps),
        TEST(gradients_by_example),
        TEST(jacobians),
        TEST(keys_are_mapped),
        TEST(ones_own_gradient_is_mapped),
        TEST(constants_are_mapped),
        TEST(what_is_not_mapped),
        TEST(examples_may_be_computed),
        TEST(deep_maps),
        TEST(vmap_mistakes),
        TEST(checkpoints_change_nothing),
        TEST(checkpoints_within_checkpoints),
        TEST(checkpoints_anywhere),
        TEST(checkpoints_save_memory),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
