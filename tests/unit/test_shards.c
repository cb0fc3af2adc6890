/* Data-parallel steps in one process: the tree of sums, equality with ig_step, batch norm, dropout and errors. Teams:
 * tests/test_mpi_train.py. */
#include "lib/nn/shards.h"
#include "support/unit.h"
#include <stdio.h>
#include <string.h>

/* ---- the tree ---- */

/* Describes the sum of [lo, hi) with parentheses. */
static void describe(int lo, int hi, char *text)
{
    if (hi - lo == 1) {
        snprintf(text + strlen(text), 12, "%d", lo);
        return;
    }
    const int middle = lo + (hi - lo) / 2;
    strcat(text, "(");
    describe(lo, middle, text);
    strcat(text, "+");
    describe(middle, hi, text);
    strcat(text, ")");
}

/* Every division among ranks covers all shards in order, and its nodes merge to one along the same tree. */
static void test_every_division_merges_to_the_tree(void **state)
{
    (void)state;
    static char text[64][1024], joined[2048], whole[1024];
    for (int count = 1; count <= 40; count++)
        for (int ranks = 1; ranks <= 45; ranks++) {
            node list[NODES_MAX], own[NODES_MAX];
            int n = 0, at = 0;
            for (int r = 0; r < ranks; r++) {
                const int k = nodes_of_rank(count, ranks, r, own);
                for (int i = 0; i < k; i++) {
                    assert_int_equal(own[i].lo, at);
                    at = own[i].hi;
                    list[n] = own[i];
                    text[n][0] = 0;
                    describe(own[i].lo, own[i].hi, text[n++]);
                    for (; nodes_are_halves(list, n, count); n--) {
                        list[n - 2].hi = list[n - 1].hi;
                        snprintf(joined, sizeof joined, "(%s+%s)", text[n - 2], text[n - 1]);
                        memcpy(text[n - 2], joined, strlen(joined) + 1);
                    }
                }
            }
            whole[0] = 0;
            describe(0, count, whole);
            assert_int_equal(at, count);
            assert_int_equal(n, 1);
            assert_string_equal(text[0], whole);
        }
}

/* No rank has more nodes than there is room for. */
static void test_nodes_fit(void **state)
{
    (void)state;
    node own[NODES_MAX + 1];
    for (int ranks = 1; ranks < 70; ranks++)
        for (int r = 0; r < ranks; r++)
            assert_in_range(nodes_of_rank(SHARDS_MAX - 1, ranks, r, own), 0, NODES_MAX - 1);
}

/* ---- steps ---- */

static ig_array *plain(ig_model *m, ig_array *x)
{
    return ig_nn_linear(m, "out", ig_relu(ig_nn_linear(m, "in", x, 50, true)), 2, true);
}

static ig_array *noisy(ig_model *m, ig_array *x)
{
    x = ig_nn_batch_norm(m, "norm", ig_nn_linear(m, "in", x, 50, true), 0.25, 1e-5);
    return ig_nn_linear(m, "out", ig_nn_dropout(m, x, 0.5), 2, true);
}

typedef ig_array *forward(ig_model *m, ig_array *x);

enum { ROWS = 12 };

static ig_array *loss_of(forward *f, ig_model *m, int64_t from, int64_t to)
{
    ig_array *x = ig_normal(ig_key(3, NULL), IG_SHAPE(ROWS, 40), IG_F32, NULL, NULL);
    x = ig_slice(x, IG_SHAPE(from, 0), IG_SHAPE(to, 40), IG_SHAPE(1, 1));
    return ig_mse(f(m, x), ig_slice(x, IG_SHAPE(0, 0), IG_SHAPE(to - from, 2), IG_SHAPE(1, 1)),
                  NULL);
}

static double shards_step(forward *f, ig_model *m, ig_optimizer *o, int count)
{
    int first, end;
    double loss = 0, rows = 0;
    assert_int_equal(ig_shards_begin(o, m, count, &first, &end), IG_OK);
    assert_int_equal(first, 0);
    assert_int_equal(end, count);
    for (int k = 0; k < count; k++) {
        const int64_t from = ROWS * k / count, to = ROWS * (k + 1) / count;
        ig_array *n = ig_scalar((double)(to - from), IG_F32);
        assert_int_equal(
            ig_shards_add(o, m, loss_of(f, m, from, to), (double)(to - from) / ROWS, &n, 1), IG_OK);
    }
    assert_int_equal(ig_shards_step(o, m, &loss, &rows, 1), IG_OK);
    assert_true(rows == ROWS);
    return loss;
}

/* The largest difference of two models. */
static double difference(const ig_model *a, const ig_model *b)
{
    double most = 0;
    assert_int_equal(ig_model_count(a), ig_model_count(b));
    for (int i = 0; i < ig_model_count(a); i++) {
        const char *name = ig_model_name(a, i);
        ig_array *d = ig_subtract(ig_model_get(a, name), ig_model_get(b, name));
        const double off = ig_item(ig_max(ig_abs(d), IG_NONE, false));
        most = off > most ? off : most;
    }
    return most;
}

/* One shard gives the bits of ig_step; several are close to it. ig_step may follow. */
static void test_steps_as_ig_step(void **state)
{
    (void)state;
    for (int count = 1; count <= 5; count++) {
        ig_model *a = ig_model_new(1), *b = ig_model_new(1);
        ig_optimizer *p = ig_sgd(0.1, 0.9, false, 0.01), *q = ig_sgd(0.1, 0.9, false, 0.01);
        for (int i = 0; i < 4; i++) {
            double one = 0, many = 0;
            assert_int_equal(ig_step(p, a, loss_of(plain, a, 0, ROWS), &one, NULL, 0), IG_OK);
            if (i < 3)
                many = shards_step(plain, b, q, count);
            else
                assert_int_equal(ig_step(q, b, loss_of(plain, b, 0, ROWS), &many, NULL, 0), IG_OK);
            assert_true(count == 1 ? one == many : (one - many) * (one - many) < 1e-12);
        }
        assert_true(difference(a, b) <= (count == 1 ? 0 : 1e-5));
        assert_int_equal(ig_optimizer_steps(q), 4);
        ig_optimizer_free(p);
        ig_optimizer_free(q);
        ig_model_free(a);
        ig_model_free(b);
    }
}

/* Gradients are scaled to the norm as ig_step does. */
static void test_clips(void **state)
{
    (void)state;
    ig_model *a = ig_model_new(1), *b = ig_model_new(1);
    ig_optimizer *p = ig_sgd(0.1, 0, false, 0), *q = ig_sgd(0.1, 0, false, 0);
    ig_optimizer_clip(p, 0.01);
    ig_optimizer_clip(q, 0.01);
    assert_int_equal(ig_step(p, a, loss_of(plain, a, 0, ROWS), NULL, NULL, 0), IG_OK);
    shards_step(plain, b, q, 3);
    assert_true(difference(a, b) < 1e-8);
    ig_optimizer_free(p);
    ig_optimizer_free(q);
    ig_model_free(a);
    ig_model_free(b);
}

/* Running statistics move towards the mean of the shards' statistics. */
static void test_running_statistics(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(1);
    ig_optimizer *o = ig_sgd(0.1, 0, false, 0);
    ig_array *x = ig_normal(ig_key(3, NULL), IG_SHAPE(ROWS, 40), IG_F32, NULL, NULL);
    noisy(m, x);
    ig_array *w = ig_model_get(m, "in.weight"), *b = ig_model_get(m, "in.bias");
    ig_array *h = ig_add(ig_matmul(x, ig_matrix_transpose(w)), b);
    ig_array *mean = ig_mean(h, IG_AXES(0), false); /* shards are of one size */
    assert_int_equal(ig_eval(&mean, 1), IG_OK);
    ig_model_train(m, true);
    shards_step(noisy, m, o, 3);
    ig_array *off =
        ig_subtract(ig_model_get(m, "norm.running_mean"), ig_multiply(mean, ig_float(0.25)));
    assert_true(ig_item(ig_max(ig_abs(off), IG_NONE, false)) < 1e-6);
    ig_optimizer_free(o);
    ig_model_free(m);
}

/* Shards draw different keys, and a step draws the same ones again. */
static void test_dropout_depends_on_the_shard(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(1);
    ig_optimizer *o = ig_sgd(0, 0, false, 0);
    ig_array *kept[2], *x = ig_ones(IG_SHAPE(200), IG_F32);
    int first, end;
    ig_array *w = ig_model_param(m, "w", IG_SHAPE(200), IG_F32, IG_INIT_ONES, 1);
    assert_int_equal(ig_shards_begin(o, m, 2, &first, &end), IG_OK);
    for (int k = 0; k < 2; k++) {
        kept[k] = ig_nn_dropout(m, x, 0.5);
        assert_int_equal(ig_eval(&kept[k], 1), IG_OK);
        assert_int_equal(ig_shards_add(o, m,
                                       ig_sum(ig_multiply(w, kept[k]), IG_NONE, IG_F32, false), 0.5,
                                       NULL, 0),
                         IG_OK);
    }
    assert_true(ig_item(ig_any(ig_not_equal(kept[0], kept[1]), IG_NONE, false)) != 0);
    assert_int_equal(ig_shards_begin(o, m, 2, &first, &end), IG_OK); /* drops the first one */
    ig_array *again = ig_nn_dropout(m, x, 0.5);
    assert_true(ig_item(ig_any(ig_not_equal(kept[0], again), IG_NONE, false)) == 0);
    ig_optimizer_free(o);
    ig_model_free(m);
}

/* Sums of arrays follow the tree, in f32. */
static void test_sums_of_arrays(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    ig_array *terms[2 * COUNT], *sums[2];
    for (int k = 0; k < COUNT; k++) {
        ig_array *key = ig_fold_in(ig_key(9, NULL), k);
        terms[2 * k] = ig_normal(key, IG_SHAPE(33, 41), IG_F32, NULL, NULL);
        terms[2 * k + 1] = ig_astype(ig_normal(key, IG_SHAPE(7), IG_F32, NULL, NULL), IG_BF16);
    }
    assert_int_equal(ig_shards_sum(COUNT, terms, 2, terms, sums), IG_OK);
    for (int i = 0; i < 2; i++) {
        ig_array *t[COUNT];
        for (int k = 0; k < COUNT; k++)
            t[k] = ig_astype(terms[2 * k + i], IG_F32);
        ig_array *whole = ig_add(ig_add(t[0], t[1]), ig_add(t[2], ig_add(t[3], t[4])));
        whole = ig_astype(whole, ig_dtype_of(terms[i]));
        assert_int_equal(ig_dtype_of(sums[i]), ig_dtype_of(whole));
        assert_true(ig_item(ig_all(ig_equal(whole, sums[i]), IG_NONE, false)) != 0);
    }
}

/* ---- errors ---- */

static void assert_fails(ig_status status, const char *part)
{
    assert_int_not_equal(status, IG_OK);
    const char *why = ig_error(NULL);
    assert_non_null(why);
    if (!strstr(why, part))
        fail_msg("%s", why);
}

static void test_errors(void **state)
{
    (void)state;
    ig_model *m = ig_model_new(1);
    ig_optimizer *o = ig_sgd(0.1, 0, false, 0);
    int first, end;
    double sum;
    assert_fails(ig_shards_begin(o, NULL, 2, &first, &end), "the model is NULL");
    assert_fails(ig_shards_begin(o, m, 0, &first, &end), "0 shards; give 1 to 4096");
    assert_fails(ig_shards_begin(o, m, 4097, &first, &end), "4097 shards");
    ig_array *loss = loss_of(plain, m, 0, ROWS);
    assert_fails(ig_shards_add(o, m, loss, 1, NULL, 0), "call ig_shards_begin first");
    assert_fails(ig_shards_step(o, m, NULL, NULL, 0), "call ig_shards_begin first");
    assert_int_equal(ig_shards_begin(o, m, 2, &first, &end), IG_OK);
    assert_fails(ig_shards_step(o, m, NULL, NULL, 0), "0 of the 2 shards");
    assert_int_equal(ig_shards_begin(o, m, 1, &first, &end), IG_OK);
    assert_fails(ig_shards_add(o, m, NULL, 1, NULL, 0), "the loss is NULL");
    assert_fails(ig_shards_step(o, m, NULL, NULL, 0), "call ig_shards_begin first");
    assert_int_equal(ig_shards_begin(o, m, 1, &first, &end), IG_OK);
    assert_fails(ig_shards_add(o, m, loss, 0.0 / 0.0, NULL, 0), "the weight is");
    assert_int_equal(ig_shards_begin(o, m, 1, &first, &end), IG_OK);
    assert_int_equal(ig_shards_add(o, m, loss, 1, NULL, 0), IG_OK);
    assert_fails(ig_shards_step(o, m, NULL, &sum, 1), "1 sums are asked for, but shards had 0");
    ig_array *whole = ig_arange(0, 3, 1, IG_I64), *x[2] = {loss, ig_model_get(m, "in.bias")},
             *sums[2];
    assert_fails(ig_shards_sum(1, &whole, 1, &whole, sums), "array 0 is not of real floats");
    assert_fails(ig_shards_sum(2, &loss, 1, x, sums), "array 0 of shard 1 has shape");
    assert_fails(ig_shards_sum(0, &loss, 1, x, sums), "0 shards");
    assert_fails(ig_shards_own(0, &first, &end), "0 shards");
    assert_int_equal(ig_optimizer_steps(o), 0);
    shards_step(plain, m, o, 2);
    assert_int_equal(ig_optimizer_steps(o), 1);
    ig_optimizer_free(o);
    ig_model_free(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_division_merges_to_the_tree),
        TEST(test_nodes_fit),
        TEST(test_steps_as_ig_step),
        TEST(test_clips),
        TEST(test_running_statistics),
        TEST(test_dropout_depends_on_the_shard),
        TEST(test_sums_of_arrays),
        TEST(test_errors),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
