/* Models in files: a saved training continues with the same bits, for any number of threads; files that do not fit
 * change nothing. */
#include "base/memory.h"
#include "support/unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 16, CLASSES = 5, MORE = 6 };

static char file[64];

static int file_begin(void **state)
{
    snprintf(file, sizeof file, "/tmp/ingot-model-XXXXXX");
    const int at = mkstemp(file);
    if (at < 0)
        return 1;
    close(at);
    return begin(state);
}

static int file_end(void **state)
{
    unlink(file);
    ig_set_threads(0);
    return end(state);
}

/* ---- a network with everything that a file must hold ---- */

static ig_array *net(ig_model *m, ig_array *x)
{
    x = ig_nn_conv(m, "conv", x, 8, IG_SHAPE(3), IG_NONE, IG_SHAPE(1), false);
    x = ig_relu(ig_nn_batch_norm(m, "norm", x, 0.1, 1e-5));
    x = ig_nn_dropout(m, ig_reshape(x, IG_SHAPE(BATCH, -1)), 0.2);
    x = ig_nn_dropout(m, ig_relu(ig_nn_linear(m, "hidden", x, 48, true)), 0.2);
    return ig_nn_linear(m, "out", x, CLASSES, true);
}

/* Makes a step on one of two batches. */
static double train(ig_model *m, ig_optimizer *o, int64_t step)
{
    double loss = NAN;
    ig_scope_begin();
    ig_array *key = ig_key((uint64_t)(step % 2), NULL);
    ig_array *x = ig_normal(key, IG_SHAPE(BATCH, 3, 12, 12), IG_F32, NULL, NULL);
    ig_array *labels = ig_randint(key, IG_SHAPE(BATCH), 0, CLASSES, IG_I64);
    ig_step(o, m, ig_cross_entropy(net(m, x), labels, -1, NULL), &loss, NULL, 0);
    ig_scope_end();
    return loss;
}

static ig_optimizer *adam(void)
{
    ig_optimizer *o = ig_adamw(0.01, 0.9, 0.99, 1e-8, 0.01);
    ig_schedule_warmup(o, 3);
    ig_schedule_cosine(o, 20, 0.1);
    ig_optimizer_clip(o, 1);
    return o;
}

static void curve(uint64_t seed, int threads, double *loss, int n)
{
    ig_set_threads(threads);
    ig_model *m = ig_model_new(seed);
    ig_optimizer *o = adam();
    for (int i = 0; i < n; i++)
        loss[i] = train(m, o, i);
    assert_false(ig_failed());
    ig_optimizer_free(o);
    ig_model_free(m);
}

static void test_threads(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    double one[STEPS], two[STEPS], three[STEPS];
    curve(5, 1, one, STEPS);
    curve(5, 2, two, STEPS);
    curve(6, 2, three, STEPS);
    assert_memory_equal(one, two, sizeof one);
    assert_true(one[STEPS - 1] != three[STEPS - 1]);
    assert_true(one[STEPS - 1] < 0.5 * one[0]);
}

/* Compares every parameter and the whole state, bit by bit. */
static void assert_equal_models(const ig_model *a, const ig_model *b)
{
    assert_int_equal(ig_model_count(a), ig_model_count(b));
    for (int i = 0; i < ig_model_count(a); i++) {
        const char *name = ig_model_name(a, i);
        ig_array *x = ig_model_get(a, name), *y = ig_model_get(b, name);
        assert_string_equal(name, ig_model_name(b, i));
        assert_int_equal(ig_model_is_trained(a, i), ig_model_is_trained(b, i));
        assert_memory_equal(ig_data(x), ig_data(y), (size_t)ig_size(x) * sizeof(float));
    }
}

/* Trains, saves, continues training. Another model, new or already called, loads the file and continues too. */
static void resume(ig_optimizer *(*make)(void), bool called)
{
    ig_model *m = ig_model_new(5), *n = ig_model_new(9);
    ig_optimizer *o = make(), *p = make();
    for (int i = 0; i < 3; i++)
        train(m, o, i);
    assert_int_equal(ig_model_save(m, o, "digits\n\"and more\"", file), IG_OK);
    if (called)
        train(n, p, 77);
    assert_null(ig_model_text(n));
    assert_int_equal(ig_model_load(n, p, file), IG_OK);
    assert_string_equal(ig_model_text(n), "digits\n\"and more\"");
    assert_int_equal(ig_optimizer_steps(p), 3);
    assert_equal_models(m, n);
    for (int i = 3; i < 3 + MORE; i++) {
        const double one = train(m, o, i), two = train(n, p, i);
        assert_memory_equal(&one, &two, sizeof one);
    }
    assert_equal_models(m, n);
    assert_false(ig_failed());
    ig_optimizer_free(o);
    ig_optimizer_free(p);
    ig_model_free(m);
    ig_model_free(n);
}

static ig_optimizer *sgd(void) { return ig_sgd(0.05, 0, false, 0); }
static ig_optimizer *momentum(void) { return ig_sgd(0.05, 0.9, true, 0.001); }
static ig_optimizer *rmsprop(void) { return ig_rmsprop(0.001, 0.99, 1e-8, 0.5); }
static ig_optimizer *lion(void) { return ig_lion(0.001, 0.9, 0.99, 0.01); }

static void test_resume(void **state)
{
    (void)state;
    ig_optimizer *(*const make[])(void) = {adam, sgd, momentum, rmsprop, lion};
    for (int i = 0; i < 5; i++) {
        resume(make[i], false);
        resume(make[i], true);
    }
}

/* Before the first step there is no state; without an optimizer, no state is read. */
static void test_parts(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(5), *n = ig_model_new(9);
    ig_optimizer *o = adam(), *p = adam();
    ig_array *x = ig_zeros(IG_SHAPE(BATCH, 3, 12, 12), IG_F32);
    assert_non_null(net(m, x)); /* only to create its parameters */
    ig_model_train(m, true);
    assert_int_equal(ig_model_save(m, o, NULL, file), IG_OK);
    assert_int_equal(ig_model_load(n, p, file), IG_OK);
    assert_equal_models(m, n);
    assert_null(ig_model_text(n));
    train(m, o, 0);
    train(n, p, 0);
    assert_equal_models(m, n);
    assert_int_equal(ig_model_save(m, o, NULL, file), IG_OK);
    assert_int_equal(ig_model_load(n, NULL, file), IG_OK);
    assert_int_equal(ig_model_save(m, NULL, NULL, file), IG_OK);
    assert_int_equal(ig_model_load(n, NULL, file), IG_OK);
    assert_equal_models(m, n);
    ig_optimizer_free(o);
    ig_optimizer_free(p);
    ig_model_free(m);
    ig_model_free(n);
}

/* ---- files that do not fit ---- */

/* The set in file, modified by `change`, does not load into m and o, for this reason; both stay unchanged. */
static void refuse(ig_model *m, ig_optimizer *o, void change(ig_tensors *t), ig_status code,
                   const char *part)
{
    ig_model *before = ig_model_new(0);
    char copy[80];
    snprintf(copy, sizeof copy, "%s.st", file);
    assert_int_equal(ig_model_save(m, o, NULL, copy), IG_OK);
    assert_int_equal(ig_model_load(before, NULL, copy), IG_OK);
    const int64_t steps = ig_optimizer_steps(o);
    ig_tensors *t = ig_tensors_load(copy);
    change(t);
    assert_int_equal(ig_tensors_save(t, copy), IG_OK);
    ig_tensors_free(t);
    assert_int_equal(ig_model_load(m, o, copy), code);
    assert_error(code, part);
    unlink(copy);
    assert_equal_models(m, before);
    assert_int_equal(ig_optimizer_steps(o), steps);
    ig_model_free(before);
}

static void wrong_shape(ig_tensors *t)
{
    ig_tensors_put(t, "out.bias", ig_zeros(IG_SHAPE(CLASSES + 1), IG_F32));
}

static void wrong_dtype(ig_tensors *t)
{
    ig_tensors_put(t, "out.bias", ig_zeros(IG_SHAPE(CLASSES), IG_F64));
}

static void wrong_slot(ig_tensors *t)
{
    ig_tensors_put(t, "optimizer.squares.out.bias", ig_zeros(IG_SHAPE(CLASSES, 1), IG_F32));
}

static void one_more(ig_tensors *t) { ig_tensors_put(t, "more", ig_zeros(IG_SHAPE(1), IG_F32)); }
static void odd_name(ig_tensors *t) { ig_tensors_put(t, "a\nb", ig_zeros(IG_SHAPE(1), IG_F32)); }
static void newer(ig_tensors *t) { ig_tensors_put_text(t, "ingot", "2"); }
static void other_kind(ig_tensors *t) { ig_tensors_put_text(t, "optimizer", "lion"); }
static void no_number(ig_tensors *t) { ig_tensors_put_text(t, "steps", "-3"); }
static void huge_number(ig_tensors *t)
{
    ig_tensors_put_text(t, "optimizer_steps", "18446744073709551615");
}

static void test_refused(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(5);
    ig_optimizer *o = adam();
    train(m, o, 0);
    refuse(m, o, wrong_shape, IG_ERR_SHAPE, "'out.bias' has shape (6,), but the model needs (5,)");
    refuse(m, o, wrong_dtype, IG_ERR_DTYPE, "'out.bias' is f64");
    refuse(m, o, wrong_slot, IG_ERR_SHAPE, "'optimizer.squares.out.bias' has shape (5, 1)");
    refuse(m, o, one_more, IG_ERR_FORMAT, "the model has no 'more'");
    refuse(m, o, odd_name, IG_ERR_ARGUMENT, "control character");
    refuse(m, o, newer, IG_ERR_UNSUPPORTED, "version 2");
    refuse(m, o, other_kind, IG_ERR_ARGUMENT, "its optimizer is lion, not adamw");
    refuse(m, o, no_number, IG_ERR_FORMAT, "\"steps\" is wrong");
    refuse(m, o, huge_number, IG_ERR_FORMAT, "\"optimizer_steps\" is wrong");
    /* A model that has more parameters than the file. */
    assert_int_equal(ig_model_save(m, NULL, NULL, file), IG_OK);
    ig_model_param(m, "new", IG_SHAPE(1), IG_F32, IG_INIT_ZEROS, 0);
    assert_int_equal(ig_model_load(m, NULL, file), IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "it has no 'new'");
    ig_model *n = ig_model_new(5);
    assert_int_equal(ig_model_load(n, o, file), IG_ERR_FORMAT);
    assert_error(IG_ERR_FORMAT, "holds no optimizer");
    assert_int_equal(ig_model_count(n), 0);
    assert_int_equal(ig_model_load(n, NULL, "/tmp/there is no such file"), IG_ERR_FILE);
    assert_error(IG_ERR_FILE, "no such file");
    assert_int_equal(ig_model_save(n, o, NULL, file), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "another model");
    ig_model_free(n);
    ig_optimizer_free(o);
    ig_model_free(m);
}

/* A file of another program, without our metadata, into a new model. */
static void test_foreign(void **state)
{
    (void)state;
    ig_tensors *t = ig_tensors_new();
    ig_tensors_put(t, "norm.running_mean", ig_ones(IG_SHAPE(2), IG_F32));
    ig_tensors_put(t, "norm.running_var", ig_ones(IG_SHAPE(2), IG_F32));
    ig_tensors_put(t, "norm.weight", ig_ones(IG_SHAPE(2), IG_F32));
    ig_tensors_put(t, "norm.bias", ig_zeros(IG_SHAPE(2), IG_F32));
    ig_tensors_save(t, file);
    ig_model *m = ig_model_new(1);
    assert_int_equal(ig_model_load(m, NULL, file), IG_OK);
    assert_int_equal(ig_model_count(m), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ig_model_is_trained(m, i), !strstr(ig_model_name(m, i), "running"));
    ig_model_train(m, false);
    ig_array *y = ig_nn_batch_norm(m, "norm", ig_ones(IG_SHAPE(3, 2), IG_F32), 0.1, 0);
    assert_true(ig_item(ig_max(ig_abs(y), IG_NONE, false)) == 0);
    ig_model_free(m);
    ig_tensors_put(t, "norm.count", ig_zeros(IG_SHAPE(1), IG_I64));
    ig_tensors_save(t, file);
    m = ig_model_new(1);
    assert_int_equal(ig_model_load(m, NULL, file), IG_ERR_DTYPE);
    assert_error(IG_ERR_DTYPE, "'norm.count' is i64");
    assert_int_equal(ig_model_count(m), 0);
    ig_tensors_free(t);
    ig_model_free(m);
}

/* The n-th allocation fails while loading, for every n: everything is unchanged, or everything is loaded. */
static void test_allocations_fail(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(5);
    ig_optimizer *o = adam(), *p = adam();
    train(m, o, 0);
    ig_model_save(m, o, "text", file);
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        ig_model *fresh = ig_model_new(1);
        memory_fail_at(n);
        done = ig_model_load(fresh, p, file) == IG_OK;
        memory_fail_at(0);
        if (!done) {
            assert_error(IG_ERR_MEMORY, "");
            assert_int_equal(ig_model_count(fresh), 0);
            assert_int_equal(ig_optimizer_steps(p), 0);
        }
        assert_false(ig_failed());
        ig_model_free(fresh);
    }
    ig_optimizer_free(o);
    ig_optimizer_free(p);
    ig_model_free(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, file_begin, file_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_threads), TEST(test_resume),  TEST(test_parts),
        TEST(test_refused), TEST(test_foreign), TEST(test_allocations_fail),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
