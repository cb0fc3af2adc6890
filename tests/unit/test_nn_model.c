/* Models and layers: names and order of parameters, how they are drawn, each layer against its formula in public ops,
 * differences between training and use, and errors. */
#include "support/unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- helpers ---- */

static ig_array *some(uint64_t seed, ig_ints shape)
{
    return ig_normal(ig_key(seed, NULL), shape, IG_F32, NULL, NULL);
}

static void assert_same(ig_array *x, ig_array *y)
{
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(ig_dtype_of(x), ig_dtype_of(y));
    assert_int_equal(ig_ndim(x), ig_ndim(y));
    for (int i = 0; i < ig_ndim(x); i++)
        assert_int_equal(ig_dim(x, i), ig_dim(y, i));
    const size_t bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    assert_memory_equal(ig_data(x), ig_data(y), bytes);
}

static void assert_close(ig_array *x, ig_array *y, double bound)
{
    assert_non_null(x);
    assert_non_null(y);
    const double off = ig_item(ig_max(ig_abs(ig_subtract(x, y)), IG_NONE, false));
    if (!(off <= bound))
        fail_msg("off by %g", off);
}

static ig_model *model;

static int model_begin(void **state)
{
    const int failed = begin(state);
    model = ig_model_new(7);
    return failed || !model;
}

static int model_end(void **state)
{
    ig_model_free(model);
    return end(state);
}

static ig_array *param(const char *name)
{
    ig_array *x = ig_model_get(model, name);
    assert_non_null(x);
    return x;
}

/* ---- parameters ---- */

static void test_names_in_order(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(2, 3, 8, 8));
    x = ig_nn_conv(model, "first", x, 4, IG_SHAPE(3), IG_NONE, IG_NONE, true);
    x = ig_nn_batch_norm(model, "norm", x, 0.1, 1e-5);
    x = ig_reshape(x, IG_SHAPE(2, -1));
    assert_non_null(ig_nn_linear(model, "last", x, 5, false));
    static const char *const names[] = {"first.weight",    "first.bias",  "norm.weight",
                                        "norm.bias",       "last.weight", "norm.running_mean",
                                        "norm.running_var"};
    assert_int_equal(ig_model_count(model), 7);
    for (int i = 0; i < 7; i++) {
        assert_string_equal(ig_model_name(model, i), names[i]);
        assert_int_equal(ig_model_is_trained(model, i), i < 5);
        assert_true(ig_is_evaluated(param(names[i])));
    }
    assert_null(ig_model_name(model, 7));
    assert_null(ig_model_name(model, -1));
    assert_null(ig_model_get(model, "first"));
    assert_false(ig_failed());
}

/* A name in parts equals the joined name; parameters are found in any order of requests. */
static void test_look_up(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(4, 6));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 9; i++) {
            char name[8];
            snprintf(name, sizeof name, "l%d", round == 1 ? 8 - i : i);
            ig_array *y = ig_nn_linear(model, name, x, 6, true);
            assert_non_null(y);
        }
    assert_int_equal(ig_model_count(model), 18);
    ig_array *w = ig_model_param(model, "l3.weight", IG_SHAPE(6, 6), IG_F32, IG_INIT_ZEROS, 0);
    assert_ptr_equal(w, param("l3.weight"));
}

static void test_draws(void **state)
{
    (void)state;
    const ig_ints shape = IG_SHAPE(50, 40);
    ig_array *zeros = ig_model_param(model, "zeros", shape, IG_F32, IG_INIT_ZEROS, 3);
    ig_array *ones = ig_model_param(model, "ones", shape, IG_F64, IG_INIT_ONES, 3);
    ig_array *uniform = ig_model_param(model, "uniform", shape, IG_F32, IG_INIT_UNIFORM, 0.5);
    ig_array *normal = ig_model_param(model, "normal", shape, IG_F32, IG_INIT_NORMAL, 2);
    ig_array *half = ig_model_param(model, "half", shape, IG_BF16, IG_INIT_NORMAL, 2);
    assert_same(zeros, ig_zeros(shape, IG_F32));
    assert_same(ones, ig_ones(shape, IG_F64));
    /* Each parameter is drawn from the key of its number. */
    ig_array *key = ig_fold_in(ig_key(7, NULL), 2);
    assert_same(uniform, ig_uniform(key, shape, IG_F32, ig_float(-0.5), ig_float(0.5)));
    key = ig_fold_in(ig_key(7, NULL), 3);
    assert_same(normal, ig_multiply(ig_normal(key, shape, IG_F32, NULL, NULL), ig_float(2)));
    key = ig_fold_in(ig_key(7, NULL), 4);
    assert_same(half, ig_astype(ig_multiply(ig_normal(key, shape, IG_F32, NULL, NULL), ig_float(2)),
                                IG_BF16));
    const double most = ig_item(ig_max(ig_abs(uniform), IG_NONE, false));
    assert_true(most <= 0.5 && most > 0.49);
}

static void test_parameters_outlive_scopes(void **state)
{
    (void)state;
    assert_int_equal(ig_keep_history(true), false);
    ig_scope_begin();
    ig_array *x = some(1, IG_SHAPE(4, 3));
    assert_non_null(ig_nn_linear(model, "l", x, 2, true));
    ig_array *before = ig_scope_forget(ig_add(param("l.weight"), ig_float(0)));
    ig_eval(&before, 1);
    ig_scope_end();
    assert_same(param("l.weight"), before);
    ig_release(before);
    assert_int_equal(ig_keep_history(false), true);
}

static void test_set(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(4, 3));
    assert_non_null(ig_nn_linear(model, "l", x, 2, true));
    /* A view of an array that the caller continues to use: the model has a copy. */
    ig_array *value = some(2, IG_SHAPE(3, 2));
    assert_int_equal(ig_model_set(model, "l.weight", ig_matrix_transpose(value)), IG_OK);
    assert_same(param("l.weight"), ig_matrix_transpose(value));
    ig_model_set(model, "l.bias", ig_zeros(IG_SHAPE(2), IG_F32));
    assert_close(ig_nn_linear(model, "l", x, 2, true), ig_matmul(x, value), 1e-6);

    assert_int_equal(ig_model_set(model, "l.other", value), IG_ERR_ARGUMENT);
    assert_refused(NULL, IG_ERR_ARGUMENT, "no 'l.other'");
    assert_int_equal(ig_model_set(model, "l.weight", value), IG_ERR_SHAPE);
    assert_refused(NULL, IG_ERR_SHAPE, "has shape (2, 3), but the value has (3, 2)");
    assert_int_equal(ig_model_set(model, "l.bias", ig_zeros(IG_SHAPE(2), IG_F64)), IG_ERR_DTYPE);
    assert_refused(NULL, IG_ERR_DTYPE, "is f32, but the value is f64");
    assert_int_equal(ig_model_set(model, "l.bias", NULL), IG_ERR_ARGUMENT);
    assert_refused(NULL, IG_ERR_ARGUMENT, "the value is missing");
}

static void test_refused(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(4, 3));
    const ig_ints two = IG_SHAPE(2);
    assert_non_null(ig_nn_linear(model, "l", x, 2, true));
    assert_refused(ig_nn_linear(model, "l", x, 5, true), IG_ERR_SHAPE,
                   "'l.weight' has shape (2, 3), but this call needs (5, 3)");
    assert_refused(ig_nn_linear(model, "l", some(1, IG_SHAPE(4, 7)), 2, true), IG_ERR_SHAPE,
                   "needs (2, 7)");
    assert_refused(ig_nn_linear(model, "z", ig_float(1), 2, true), IG_ERR_SHAPE, "(..., in)");
    assert_refused(ig_nn_linear(model, "z", x, 0, true), IG_ERR_ARGUMENT, "out is 0");
    assert_refused(ig_nn_linear(NULL, "z", x, 2, true), IG_ERR_ARGUMENT, "the model is NULL");
    assert_refused(ig_nn_linear(model, NULL, x, 2, true), IG_ERR_ARGUMENT, "the name is NULL");
    assert_refused(ig_nn_linear(model, "z", NULL, 2, true), IG_ERR_ARGUMENT, "x is NULL");
    assert_refused(ig_nn_linear(model, "optimizer", x, 2, true), IG_ERR_ARGUMENT, "is reserved");
    assert_refused(ig_nn_linear(model, "a\nb", x, 2, true), IG_ERR_ARGUMENT, "control character");
    assert_refused(ig_nn_linear(model, "z", some(1, IG_SHAPE(4, 0)), 2, true), IG_ERR_SHAPE,
                   "without any element");
    assert_refused(ig_model_param(model, "i", two, IG_I32, IG_INIT_ZEROS, 0), IG_ERR_DTYPE,
                   "only floats can be trained");
    assert_refused(ig_model_param(model, "l.bias", two, IG_F64, IG_INIT_ZEROS, 0), IG_ERR_DTYPE,
                   "is f32, but f64");
    assert_refused(ig_model_param(model, "i", two, IG_F32, IG_INIT_NORMAL, NAN), IG_ERR_ARGUMENT,
                   "finite");
    assert_refused(ig_model_param(model, "i", two, IG_F32, (ig_init)9, 1), IG_ERR_ARGUMENT,
                   "no way 9");
    /* An earlier error is passed through. */
    assert_refused(ig_nn_linear(model, "z", ig_add(x, some(1, IG_SHAPE(9))), 2, true), IG_ERR_SHAPE,
                   "add");
    assert_int_equal(ig_model_count(model), 2);
}

/* ---- layers ---- */

static void test_linear(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(5, 4, 3));
    ig_array *y = ig_nn_linear(model, "l", x, 6, true);
    ig_array *w = param("l.weight"), *b = param("l.bias");
    assert_close(y, ig_add(ig_matmul(x, ig_matrix_transpose(w)), b), 1e-6);
    assert_true(ig_item(ig_max(ig_abs(w), IG_NONE, false)) <= 1 / sqrt(3));
    ig_array *row = ig_slice(x, IG_AXES(0, 0), IG_AXES(1, 1), IG_NONE);
    row = ig_reshape(row, IG_SHAPE(3));
    assert_close(ig_nn_linear(model, "l", row, 6, true), ig_add(ig_matmul(w, row), b), 1e-6);
    assert_int_equal(ig_model_count(model), 2);
    ig_nn_linear(model, "half", ig_astype(x, IG_F16), 2, false);
    assert_int_equal(ig_dtype_of(param("half.weight")), IG_F16);
}

static void test_conv(void **state)
{
    (void)state;
    const ig_ints one = IG_SHAPE(2), each = IG_SHAPE(3, 2);
    ig_array *x = some(1, IG_SHAPE(2, 3, 9)), *z = some(2, IG_SHAPE(2, 3, 9, 8));
    ig_array *v = some(3, IG_SHAPE(1, 2, 5, 5, 5));
    ig_array *y = ig_nn_conv(model, "a", x, 4, IG_SHAPE(3), one, IG_SHAPE(1), true);
    assert_same(y, ig_conv1d(x, param("a.weight"), param("a.bias"), one, IG_SHAPE(1), IG_NONE, 1));
    y = ig_nn_conv(model, "b", z, 4, each, IG_NONE, IG_NONE, false);
    assert_same(y, ig_conv2d(z, param("b.weight"), NULL, IG_NONE, IG_NONE, IG_NONE, 1));
    assert_int_equal(ig_dim(param("b.weight"), 2), 3);
    assert_int_equal(ig_dim(param("b.weight"), 3), 2);
    y = ig_nn_conv(model, "c", v, 2, one, IG_NONE, IG_NONE, true);
    assert_same(y, ig_conv3d(v, param("c.weight"), param("c.bias"), IG_NONE, IG_NONE, IG_NONE, 1));
    assert_true(ig_item(ig_max(ig_abs(param("c.weight")), IG_NONE, false)) <= 0.25);
    assert_refused(ig_nn_conv(model, "d", some(1, IG_SHAPE(2, 3)), 2, one, one, one, true),
                   IG_ERR_SHAPE, "(N, C, L)");
    assert_refused(ig_nn_conv(model, "d", z, 2, IG_SHAPE(1, 2, 3), one, one, true), IG_ERR_SHAPE,
                   "the kernel 3 sizes");
    assert_refused(ig_nn_conv(model, "d", z, 2, IG_SHAPE(0), one, one, true), IG_ERR_ARGUMENT,
                   "a size of the kernel is 0");
}

static void test_groups(void **state)
{
    (void)state;
    const ig_ints three = IG_SHAPE(3), one = IG_SHAPE(1), two = IG_SHAPE(2);
    ig_array *x = some(1, IG_SHAPE(2, 4, 6, 6));
    /* depthwise: each channel by itself */
    ig_array *y = ig_nn_group_conv(model, "a", x, 4, three, IG_NONE, one, 4, true);
    for (int64_t c = 0; c < 4; c++) {
        const ig_ints step = IG_NONE;
        ig_array *channel = ig_slice(x, IG_AXES(0, c), IG_AXES(2, c + 1), step);
        ig_array *w = ig_slice(param("a.weight"), IG_AXES(c), IG_AXES(c + 1), step);
        ig_array *b = ig_slice(param("a.bias"), IG_AXES(c), IG_AXES(c + 1), step);
        assert_close(ig_slice(y, IG_AXES(0, c), IG_AXES(2, c + 1), step),
                     ig_conv2d(channel, w, b, IG_NONE, one, IG_NONE, 1), 1e-5);
    }
    assert_true(ig_item(ig_max(ig_abs(param("a.weight")), IG_NONE, false)) <= 1.0 / 3);
    y = ig_nn_conv_transpose(model, "t", x, 3, three, two, one, one, true);
    assert_same(
        y, ig_conv_transpose2d(x, param("t.weight"), param("t.bias"), two, one, one, 1, IG_NONE));
    assert_int_equal(ig_dim(y, 2), 12);
    assert_int_equal(ig_dim(param("t.weight"), 0), 4);
    y = ig_nn_conv_transpose(model, "l", some(2, IG_SHAPE(1, 2, 5)), 3, two, two, IG_NONE, IG_NONE,
                             false);
    assert_int_equal(ig_dim(y, 2), 10);
    assert_refused(ig_nn_group_conv(model, "d", x, 4, three, one, one, 3, true), IG_ERR_SHAPE,
                   "3 groups do not divide 4 channels");
    assert_refused(ig_nn_group_conv(model, "d", x, 4, three, one, one, 0, true), IG_ERR_ARGUMENT,
                   "groups is 0");
}

static void test_patches(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(2, 3, 4, 6));
    ig_array *y = ig_nn_patches(model, "p", x, 5, 2);
    /* (n, c, rows, 2, columns, 2) to rows of patches */
    ig_array *z =
        ig_permute_dims(ig_reshape(x, IG_SHAPE(2, 3, 2, 2, 3, 2)), IG_AXES(0, 2, 4, 1, 3, 5));
    z = ig_matmul(ig_reshape(z, IG_SHAPE(2, 6, 12)),
                  ig_matrix_transpose(ig_reshape(param("p.weight"), IG_SHAPE(5, 12))));
    assert_close(y, ig_add(z, param("p.bias")), 1e-5);
    assert_refused(ig_nn_patches(model, "q", x, 5, 4), IG_ERR_SHAPE, "patches of 4 x 4");
}

static void test_embedding(void **state)
{
    (void)state;
    ig_array *at = ig_from_data((const int64_t[]){3, 0, 3, 1}, IG_SHAPE(2, 2), IG_I64);
    ig_array *y = ig_nn_embedding(model, "e", at, 4, 5);
    assert_same(y, ig_take(param("e.weight"), at, IG_AXES(0)));
    assert_int_equal(ig_dtype_of(y), IG_F32);
    assert_refused(ig_nn_embedding(model, "e", at, 4, 6), IG_ERR_SHAPE, "needs (4, 6)");
}

static void test_norms(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(4, 6, 5));
    ig_array *y = ig_nn_layer_norm(model, "ln", x, 1e-5);
    assert_same(y, ig_layer_norm(x, NULL, NULL, IG_AXES(-1), 1e-5));
    y = ig_nn_rms_norm(model, "rn", x, 1e-5);
    assert_same(y, ig_rms_norm(x, NULL, IG_AXES(-1), 1e-5));
    y = ig_nn_group_norm(model, "gn", x, 3, 1e-5);
    assert_same(y, ig_group_norm(x, 3, NULL, NULL, 1e-5));
    assert_same(param("ln.weight"), ig_ones(IG_SHAPE(5), IG_F32));
    assert_same(param("ln.bias"), ig_zeros(IG_SHAPE(5), IG_F32));
    assert_same(param("gn.weight"), ig_ones(IG_SHAPE(6), IG_F32));
    ig_model_set(model, "gn.weight", some(3, IG_SHAPE(6)));
    ig_model_set(model, "gn.bias", some(4, IG_SHAPE(6)));
    assert_same(ig_nn_group_norm(model, "gn", x, 3, 1e-5),
                ig_group_norm(x, 3, some(3, IG_SHAPE(6)), some(4, IG_SHAPE(6)), 1e-5));
    assert_refused(ig_nn_group_norm(model, "gn", x, 4, 1e-5), IG_ERR_SHAPE, "4 equal groups");
}

static ig_array *by_hand(ig_array *old, ig_array *now, double momentum)
{
    return ig_add(ig_multiply(old, ig_float(1 - momentum)), ig_multiply(now, ig_float(momentum)));
}

/* Training uses the statistics of the batch. Only a step updates the running statistics: with all calls since the last
 * step, in order. */
static void test_batch_norm(void **state)
{
    (void)state;
    ig_optimizer *o = ig_sgd(0.1, 0, false, 0);
    const ig_ints axes = IG_AXES(0, 2), three = IG_SHAPE(3);
    ig_array *x = some(1, IG_SHAPE(4, 3, 5)), *z = ig_add(some(2, IG_SHAPE(4, 3, 5)), ig_float(2));
    ig_array *y = ig_nn_batch_norm(model, "bn", x, 0.25, 1e-5);
    assert_same(y, ig_batch_norm(x, NULL, NULL, NULL, NULL, 1e-5));
    assert_same(param("bn.running_mean"), ig_zeros(three, IG_F32));
    assert_same(param("bn.running_var"), ig_ones(three, IG_F32));
    /* Forgotten, because no step followed. */
    ig_model_train(model, true);
    y = ig_nn_batch_norm(model, "bn", x, 0.25, 1e-5);
    ig_array *again = ig_nn_batch_norm(model, "bn", z, 0.25, 1e-5);
    ig_array *loss = ig_mean(ig_square(ig_add(y, again)), IG_NONE, false);
    assert_int_equal(ig_step(o, model, loss, NULL, NULL, 0), IG_OK);
    ig_array *mean = by_hand(ig_zeros(three, IG_F32), ig_mean(x, axes, false), 0.25);
    mean = by_hand(mean, ig_mean(z, axes, false), 0.25);
    ig_array *var = by_hand(ig_ones(three, IG_F32), ig_var(x, axes, 1, false), 0.25);
    var = by_hand(var, ig_var(z, axes, 1, false), 0.25);
    assert_close(param("bn.running_mean"), mean, 1e-6);
    assert_close(param("bn.running_var"), var, 1e-6);
    /* In use they are read, and do not change. */
    ig_model_train(model, false);
    y = ig_nn_batch_norm(model, "bn", x, 0.25, 1e-5);
    ig_array *w = param("bn.weight"), *b = param("bn.bias");
    assert_close(y, ig_batch_norm(x, mean, var, w, b, 1e-5), 1e-5);
    loss = ig_mean(ig_square(y), IG_NONE, false);
    assert_int_equal(ig_step(o, model, loss, NULL, NULL, 0), IG_OK);
    assert_close(param("bn.running_mean"), mean, 1e-6);
    ig_model_train(model, true);
    assert_refused(ig_nn_batch_norm(model, "bn", some(1, IG_SHAPE(1, 3)), 0.1, 1e-5), IG_ERR_SHAPE,
                   "1 value in this batch");
    assert_refused(ig_nn_batch_norm(model, "bn", x, 2, 1e-5), IG_ERR_ARGUMENT, "momentum is 2");
    ig_optimizer_free(o);
}

static void test_dropout(void **state)
{
    (void)state;
    ig_array *x = ig_ones(IG_SHAPE(64, 64), IG_F32);
    ig_array *one = ig_nn_dropout(model, x, 0.25), *two = ig_nn_dropout(model, x, 0.25);
    const double kept = ig_item(ig_mean(one, IG_NONE, false));
    assert_true(fabs(kept - 1) < 0.05);
    assert_close(ig_maximum(one, ig_float(0.5)),
                 ig_where(ig_equal(one, ig_float(0)), ig_float(0.5), ig_float(1 / 0.75)), 1e-6);
    assert_true(ig_item(ig_any(ig_not_equal(one, two), IG_NONE, false)) == 1);
    /* The count restarts, and another model with the same seed draws the same. */
    ig_model_train(model, true);
    assert_same(ig_nn_dropout(model, x, 0.25), one);
    ig_model *twin = ig_model_new(7), *other = ig_model_new(8);
    assert_same(ig_nn_dropout(twin, x, 0.25), one);
    assert_same(ig_nn_dropout(twin, x, 0.25), two);
    assert_true(ig_item(ig_any(ig_not_equal(ig_nn_dropout(other, x, 0.25), one), IG_NONE, false)));
    ig_model_free(twin);
    ig_model_free(other);
    assert_same(ig_nn_dropout(model, x, 0), x);
    ig_model_train(model, false);
    assert_same(ig_nn_dropout(model, x, 0.25), x);
    assert_refused(ig_nn_dropout(model, x, 1), IG_ERR_ARGUMENT, "p is 1");
}

/* Each step draws again. */
static void test_dropout_by_step(void **state)
{
    (void)state;
    ig_optimizer *o = ig_sgd(0, 0, false, 0);
    ig_array *w = ig_model_param(model, "w", IG_SHAPE(256), IG_F32, IG_INIT_ONES, 1);
    ig_array *first = ig_nn_dropout(model, w, 0.5);
    assert_int_equal(ig_step(o, model, ig_mean(first, IG_NONE, false), NULL, &first, 1), IG_OK);
    w = param("w");
    ig_array *second = ig_nn_dropout(model, w, 0.5);
    assert_int_equal(ig_step(o, model, ig_mean(second, IG_NONE, false), NULL, &second, 1), IG_OK);
    assert_true(ig_item(ig_any(ig_not_equal(first, second), IG_NONE, false)) == 1);
    ig_optimizer_free(o);
}

/* Layers compute in bf16 with parameters in f32, and their gradients are f32. */
static void test_mixed(void **state)
{
    (void)state;
    assert_int_equal(ig_model_mixed(model, IG_BF16), IG_OK);
    ig_array *x = ig_normal(ig_key(3, NULL), IG_SHAPE(5, 8), IG_F32, NULL, NULL);
    ig_array *y = ig_nn_layer_norm(model, "norm", ig_nn_linear(model, "fc", x, 6, true), 1e-5);
    ig_array *w = param("fc.weight"), *b = param("fc.bias");
    assert_int_equal(ig_dtype_of(w), IG_F32);
    assert_int_equal(ig_dtype_of(param("norm.weight")), IG_F32);
    ig_array *half = ig_matmul(ig_astype(x, IG_BF16), ig_matrix_transpose(ig_astype(w, IG_BF16)));
    half = ig_layer_norm(ig_add(half, ig_astype(b, IG_BF16)), ig_ones(IG_SHAPE(6), IG_BF16),
                         ig_zeros(IG_SHAPE(6), IG_BF16), IG_AXES(-1), 1e-5);
    assert_int_equal(ig_dtype_of(y), IG_BF16);
    assert_same(y, half);
    ig_array *g, *same, *const loss = ig_sum_all(ig_square(ig_astype(y, IG_F32)));
    assert_int_equal(ig_grad(loss, &w, 1, &g), IG_OK);
    assert_int_equal(ig_grad(ig_sum_all(ig_square(ig_astype(half, IG_F32))), &w, 1, &same), IG_OK);
    assert_int_equal(ig_dtype_of(g), IG_F32);
    assert_same(g, same);
    assert_int_equal(
        ig_dtype_of(ig_model_param(model, "own", IG_SHAPE(2), IG_F32, IG_INIT_ONES, 1)), IG_BF16);
    assert_int_equal(ig_dtype_of(param("own")), IG_F32);
    assert_int_equal(ig_model_mixed(model, IG_F32), IG_OK);
    assert_int_equal(ig_dtype_of(ig_nn_linear(model, "fc", x, 6, true)), IG_F32);
    assert_int_equal(ig_model_mixed(model, IG_F16), IG_ERR_DTYPE);
    assert_int_equal(ig_model_mixed(NULL, IG_BF16), IG_ERR_ARGUMENT);
    ig_error(NULL);
}

static ig_array *projected(const char *name, ig_array *x)
{
    char weight[40], bias[40];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return ig_add(ig_matmul(x, ig_matrix_transpose(param(weight))), param(bias));
}

static ig_array *heads_of(ig_array *x, int64_t heads)
{
    x = ig_reshape(x, IG_SHAPE(ig_dim(x, 0), ig_dim(x, 1), heads, ig_dim(x, 2) / heads));
    return ig_permute_dims(x, IG_AXES(0, 2, 1, 3));
}

static void test_attention(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(2, 5, 12)), *context = some(2, IG_SHAPE(2, 7, 12));
    ig_array *mask = ig_greater(some(3, IG_SHAPE(5, 7)), ig_float(-1));
    ig_array *y = ig_nn_attention(model, "at", x, context, 3, mask, false);
    ig_array *q = heads_of(projected("at.query", x), 3),
             *k = heads_of(projected("at.key", context), 3);
    ig_array *v = heads_of(projected("at.value", context), 3);
    ig_array *z = ig_scaled_dot_product_attention(q, k, v, mask, false, 0);
    z = ig_reshape(ig_permute_dims(z, IG_AXES(0, 2, 1, 3)), IG_SHAPE(2, 5, 12));
    assert_close(y, projected("at.out", z), 1e-5);
    assert_int_equal(ig_model_count(model), 8);
    /* With causal attention, a token does not see later tokens. */
    ig_array *seen = ig_nn_attention(model, "at", x, NULL, 3, NULL, true);
    ig_array *start = ig_slice(x, IG_AXES(0, 0), IG_AXES(2, 2), IG_NONE);
    assert_close(ig_slice(seen, IG_AXES(0, 0), IG_AXES(2, 2), IG_NONE),
                 ig_nn_attention(model, "at", start, NULL, 3, NULL, true), 1e-5);
    assert_refused(ig_nn_attention(model, "at", x, NULL, 5, NULL, false), IG_ERR_SHAPE, "5 heads");
    assert_refused(ig_nn_attention(model, "at", some(1, IG_SHAPE(5, 12)), NULL, 3, NULL, false),
                   IG_ERR_SHAPE, "(N, T, width)");
}

/* x @ w.T by a weight without a bias. */
static ig_array *mapped(const char *name, ig_array *x)
{
    return ig_matmul(x, ig_matrix_transpose(param(name)));
}

static void test_llama(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(2, 5, 12));
    ig_array *y = ig_nn_swiglu(model, "mlp", x, 7);
    ig_array *z =
        ig_multiply(ig_silu(mapped("mlp.gate_proj.weight", x)), mapped("mlp.up_proj.weight", x));
    assert_close(y, mapped("mlp.down_proj.weight", z), 1e-5);
    /* 6 heads of queries of width 2 share 2 heads of keys and values. */
    y = ig_nn_grouped_attention(model, "at", x, 6, 2, 100, NULL, true);
    assert_int_equal(ig_dim(param("at.k_proj.weight"), 0), 4);
    ig_array *q = ig_rope(heads_of(mapped("at.q_proj.weight", x), 6), 2, false, 100, 1, 0, NULL);
    ig_array *k = ig_rope(heads_of(mapped("at.k_proj.weight", x), 2), 2, false, 100, 1, 0, NULL);
    ig_array *v = heads_of(mapped("at.v_proj.weight", x), 2), *part[6];
    for (int64_t h = 0; h < 6; h++) {
        const ig_ints begin = IG_AXES(0, h), end = IG_AXES(2, h + 1), step = IG_NONE;
        const ig_ints from = IG_AXES(0, h / 3), to = IG_AXES(2, h / 3 + 1);
        part[h] = ig_scaled_dot_product_attention(ig_slice(q, begin, end, step),
                                                  ig_slice(k, from, to, step),
                                                  ig_slice(v, from, to, step), NULL, true, 0);
    }
    z = ig_reshape(ig_permute_dims(ig_concat(part, 6, IG_AXES(1)), IG_AXES(0, 2, 1, 3)),
                   IG_SHAPE(2, 5, 12));
    assert_close(y, mapped("at.o_proj.weight", z), 1e-5);
    assert_refused(ig_nn_grouped_attention(model, "b", x, 6, 4, 0, NULL, true), IG_ERR_SHAPE,
                   "4 kv_heads");
}

static void test_lstm(void **state)
{
    (void)state;
    ig_array *x = some(1, IG_SHAPE(4, 2, 3)), *h[2] = {NULL, some(2, IG_SHAPE(2, 5))}, *c[2] = {0};
    ig_array *first_h = h[1], *out[3];
    ig_array *y = ig_nn_lstm(model, "r", x, 5, 2, h, c);
    assert_int_equal(ig_model_count(model), 8);
    assert_true(ig_lstm(x, param("r.weight_ih_l0"), param("r.weight_hh_l0"), param("r.bias_ih_l0"),
                        param("r.bias_hh_l0"), NULL, NULL, false, false, out) >= 0);
    assert_same(h[0], out[1]);
    assert_true(ig_lstm(out[0], param("r.weight_ih_l1"), param("r.weight_hh_l1"),
                        param("r.bias_ih_l1"), param("r.bias_hh_l1"), first_h, NULL, false, false,
                        out) >= 0);
    assert_same(y, out[0]);
    assert_same(h[1], out[1]);
    assert_same(c[1], out[2]);
    assert_same(ig_nn_lstm(model, "r", x, 5, 2, NULL, NULL),
                ig_nn_lstm(model, "r", x, 5, 2, (ig_array *[2]){0}, (ig_array *[2]){0}));
    assert_int_equal(ig_model_mixed(model, IG_BF16), IG_OK);
    assert_int_equal(ig_dtype_of(ig_nn_lstm(model, "r", x, 5, 2, NULL, NULL)), IG_BF16);
    assert_refused(ig_nn_lstm(model, "s", x, 0, 1, NULL, NULL), IG_ERR_ARGUMENT, "hidden is 0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_begin, model_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_in_order),
        TEST(test_look_up),
        TEST(test_draws),
        TEST(test_parameters_outlive_scopes),
        TEST(test_set),
        TEST(test_refused),
        TEST(test_linear),
        TEST(test_conv),
        TEST(test_groups),
        TEST(test_patches),
        TEST(test_embedding),
        TEST(test_norms),
        TEST(test_batch_norm),
        TEST(test_dropout),
        TEST(test_dropout_by_step),
        TEST(test_mixed),
        TEST(test_attention),
        TEST(test_llama),
        TEST(test_lstm),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
