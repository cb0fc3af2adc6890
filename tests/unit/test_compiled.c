/* Runs that compute in place, and computations that are planned once: they give the same results as an evaluation,
 * donated arrays can no longer be read, and a failure changes nothing. */
#include "engine/array/array.h"
#include "base/memory.h"
#include "support/folder.h"
#include <math.h>
#include <string.h>

static void expect_floats(ig_array *x, const float *want, int n)
{
    const float *have = ig_data(x);
    if (!have)
        fail_msg("%s", ig_error(NULL));
    assert_int_equal(ig_size(x), n);
    for (int i = 0; i < n; i++)
        if (!(fabsf(have[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
            fail_msg("element %d is %g, not %g", i, (double)have[i], (double)want[i]);
}

static ig_array *floats(const float *v, int64_t n)
{
    ig_array *x = ig_from_data(v, IG_SHAPE(n), IG_F32);
    assert_non_null(x);
    return x;
}

/* ---- donating ---- */

static void donated_memory_is_used(void **state)
{
    (void)state;
    enum { N = 1 << 18 };
    ig_array *x = ig_arange(0, N, 1, IG_F32);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    const uint64_t before = ig_memory_used();
    ig_array *y = ig_add(ig_multiply(x, ig_float(2)), ig_float(1));
    assert_int_equal(ig_eval_donating(&y, 1, &x, 1), IG_OK);
    assert_int_equal(ig_memory_used(), before);
    assert_float_equal(((const float *)ig_data(y))[N - 1], 2.0 * (N - 1) + 1, 0);
}

/* A number stays known when its array is donated: arrays built on it copy the value. */
static void a_donated_number_can_be_used(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2, 3, 4}, 4);
    ig_array *w = ig_float(0.5), *k = ig_int(3), *whole = ig_bool(true);
    ig_array *y = ig_multiply(x, w);
    assert_int_equal(ig_eval_donating(&y, 1, (ig_array *[]){w, k, whole}, 3), IG_OK);
    expect_floats(ig_add(x, w), (const float[]){1.5f, 2.5f, 3.5f, 4.5f}, 4);
    expect_floats(ig_add(x, k), (const float[]){4, 5, 6, 7}, 4);
    expect_floats(ig_sigmoid(w), (const float[]){0.6224593f}, 1);
    expect_floats(ig_astype(w, IG_F32), (const float[]){0.5f}, 1);
    ig_array *key = ig_key(1, NULL), *low = ig_float(-1), *high = ig_float(1);
    assert_int_equal(ig_eval_donating(&y, 1, (ig_array *[]){low, high}, 2), IG_OK);
    ig_array *u = ig_uniform(key, IG_SHAPE(100), IG_F32, low, high);
    assert_true(ig_item(ig_min(u, IG_NONE, false)) < 0);
}

/* Each of several results takes the buffer that it replaces, even if an index has to be checked. */
static void results_lie_where_they_are_free(void **state)
{
    (void)state;
    only_on_host("the addresses of copies say nothing about the device's memory");
    ig_array *in[2] = {floats((const float[]){1, 2, 3, 4}, 4),
                       floats((const float[]){5, 6, 7, 8}, 4)};
    ig_array *at = ig_from_data((const int64_t[]){1, 3}, IG_SHAPE(2), IG_I64);
    const void *was[2] = {ig_data(in[0]), ig_data(in[1])};
    ig_array *mean = ig_add(ig_multiply(in[1], ig_float(0.5)), ig_float(1));
    ig_array *out[3] = {ig_subtract(in[0], mean), mean,
                        ig_take(floats((const float[]){1, 2, 3, 4}, 4), at, IG_NONE)};
    assert_int_equal(ig_eval_donating(out, 3, in, 2), IG_OK);
    assert_ptr_equal(ig_data(out[0]), was[0]);
    assert_ptr_equal(ig_data(out[1]), was[1]);
    expect_floats(out[0], (const float[]){-2.5f, -2, -1.5f, -1}, 4);
    expect_floats(out[1], (const float[]){3.5f, 4, 4.5f, 5}, 4);
    expect_floats(out[2], (const float[]){2, 4}, 2);
}

static void donated_arrays_cannot_be_used(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2, 3}, 3), *seen = ig_flip(x, IG_NONE);
    ig_array *y = ig_negative(x), *later = ig_exp(x);
    assert_int_equal(ig_eval_donating(&y, 1, &x, 1), IG_OK);
    expect_floats(y, (const float[]){-1, -2, -3}, 3);
    assert_null(ig_data(x));
    assert_error(IG_ERR_ARGUMENT, "donated");
    assert_null(ig_data(seen));
    assert_error(IG_ERR_ARGUMENT, "donated");
    assert_int_equal(ig_eval(&later, 1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "donated");
}

/* One program finds the wrong index when another could already have overwritten x. */
static void a_failure_donates_nothing(void **state)
{
    (void)state;
    only_on_host("a queued evaluation reports an index when its results are read");
    ig_array *x = floats((const float[]){1, 2, 3, 4}, 4);
    ig_array *at = ig_from_data((const int64_t[]){1, 9}, IG_SHAPE(2), IG_I64);
    ig_array *y[2] = {ig_negative(x), ig_sum(ig_take(ig_exp(x), at, IG_NONE), IG_NONE, 0, false)};
    assert_int_equal(ig_eval_donating(y, 2, &x, 1), IG_ERR_INDEX);
    assert_error(IG_ERR_INDEX, "9");
    expect_floats(x, (const float[]){1, 2, 3, 4}, 4);
}

/* ---- compiled ---- */

/* sum(relu(a @ b + c)), and the transpose of a @ b. */
static void build(ig_array *const in[3], ig_array *out[2])
{
    ig_array *product = ig_matmul(in[0], in[1]);
    out[0] = ig_sum(ig_relu(ig_add(product, in[2])), IG_AXES(0), IG_DTYPE_NONE, false);
    out[1] = ig_matrix_transpose(product);
}

static void draw(ig_array *in[3], int seed)
{
    ig_array *key = ig_key((uint64_t)seed, NULL);
    in[0] = ig_normal(key, IG_SHAPE(4, 3), IG_F32, NULL, NULL);
    in[1] = ig_normal(ig_fold_in(key, 1), IG_SHAPE(3, 5), IG_F32, NULL, NULL);
    in[2] = ig_normal(ig_fold_in(key, 2), IG_SHAPE(5), IG_F32, NULL, NULL);
}

static void expect_same(ig_array *a, ig_array *b)
{
    assert_true(ig_ndim(a) == ig_ndim(b) && ig_size(a) == ig_size(b));
    const size_t bytes = (size_t)ig_size(a) * ig_dtype_bytes(ig_dtype_of(a));
    const void *one = ig_data(a), *two = ig_data(b);
    assert_true(one && two);
    assert_memory_equal(one, two, bytes);
}

static void runs_give_what_evaluations_give(void **state)
{
    (void)state;
    ig_array *example[3], *given[2];
    draw(example, 0); /* not evaluated: they only stand for the inputs */
    build(example, given);
    ig_compiled *c = ig_compile(example, 3, 0, given, 2);
    assert_non_null(c);
    for (int seed = 1; seed < 5; seed++) {
        ig_array *in[3], *want[2], *have[2];
        draw(in, seed);
        build(in, want);
        assert_int_equal(ig_run(c, in, have), IG_OK);
        expect_same(have[0], want[0]);
        expect_same(have[1], want[1]);
    }
    ig_compiled_free(c);
}

/* Slices, transposes and repeated numbers can be example inputs and actual inputs. */
static void inputs_may_be_views(void **state)
{
    (void)state;
    ig_array *whole = ig_reshape(ig_arange(0, 24, 1, IG_F32), IG_SHAPE(4, 6));
    ig_array *example[2] = {ig_matrix_transpose(whole),
                            ig_broadcast_to(ig_scalar(1, IG_F32), IG_SHAPE(4))};
    ig_array *y = ig_add(ig_matrix_transpose(example[0]), ig_reshape(example[1], IG_SHAPE(4, 1)));
    ig_compiled *c = ig_compile(example, 1, 0, &y, 1);
    assert_non_null(c);
    ig_array *turned = ig_matrix_transpose(ig_multiply(whole, ig_float(2))), *have;
    assert_int_equal(ig_run(c, &turned, &have), IG_OK);
    expect_same(have, ig_add(ig_multiply(whole, ig_float(2)), ig_float(1)));
    ig_compiled_free(c);
    /* In another view of a repeated number, elements can no longer be told apart. */
    assert_null(ig_compile(example, 2, 0, &y, 1));
    assert_error(IG_ERR_UNSUPPORTED, "repeats elements");
}

static void outputs_may_be_inputs_or_constants(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *constant = floats((const float[]){7}, 1);
    ig_array *out[3] = {x, ig_flip(x, IG_NONE), constant}, *have[3];
    ig_compiled *c = ig_compile(&x, 1, 1, out, 3);
    assert_non_null(c);
    ig_array *in = floats((const float[]){5, 6}, 2);
    assert_int_equal(ig_run(c, &in, have), IG_OK);
    ig_compiled_free(c);
    expect_floats(have[0], (const float[]){5, 6}, 2);
    expect_floats(have[1], (const float[]){6, 5}, 2);
    expect_floats(have[2], (const float[]){7}, 1);
}

/* A state that each run replaces: memory does not grow from step to step. */
static void state_is_replaced_in_place(void **state)
{
    (void)state;
    enum { N = 1 << 16, STEPS = 10 };
    ig_array *x = ig_arange(0, N, 1, IG_F32), *next = ig_add(x, ig_float(1));
    ig_compiled *c = ig_compile(&x, 1, 1, &next, 1);
    assert_non_null(c);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    uint64_t before = ig_memory_used();
    for (int i = 0; i < STEPS; i++) {
        ig_array *y;
        assert_int_equal(ig_run(c, &x, &y), IG_OK);
        x = y;
        assert_int_equal(ig_memory_used(), before);
    }
    assert_float_equal(((const float *)ig_data(x))[N - 1], N - 1 + STEPS, 0);
    ig_compiled_free(c);
}

/* Arrays that depend on no input are computed once, during compilation, and kept. */
static void constants_are_computed_once(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2, 3}, 3), *have;
    ig_array *constant = ig_add(ig_arange(0, 3, 1, IG_F32), ig_float(1));
    ig_array *y = ig_multiply(x, ig_exp(constant));
    assert_null(constant->data);
    ig_compiled *c = ig_compile(&x, 1, 0, &y, 1);
    assert_non_null(c);
    const ig_array *factor = y->in[1]->root;
    assert_non_null(factor->data);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ig_run(c, &x, &have), IG_OK);
        expect_floats(have, (const float[]){2.718282f, 14.778112f, 60.256611f}, 3);
    }
    ig_compiled_free(c);
}

/* Bytes of arrays in the memory of the current device. */
static uint64_t memory_used(void)
{
    ig_memory_info info = {.size = sizeof info};
    assert_int_equal(ig_device_memory(ig_device(), &info), IG_OK);
    return info.used;
}

static ig_compiled *scaled_product(ig_array *weight, int64_t rows)
{
    ig_array *x = ig_placeholder(IG_SHAPE(rows, ig_dim(weight, 0)), IG_F32);
    ig_array *y = ig_matmul(x, ig_multiply(weight, ig_float(3)));
    return ig_compile(&x, 1, 0, &y, 1);
}

/* Computations that were compiled for several shapes share large constants, which are released with the last one. A
 * constant of other weights, or of weights whose memory was overwritten, is another one. */
static void constants_are_shared(void **state)
{
    (void)state;
    enum { N = 160, BYTES = N * N * 4 };
    ig_array *w = ig_ones(IG_SHAPE(N, N), IG_F32), *v = ig_zeros(IG_SHAPE(N, N), IG_F32), *y;
    w = ig_add(w, ig_float(0));
    v = ig_add(v, ig_float(1));
    assert_int_equal(ig_eval((ig_array *[]){w, v}, 2), IG_OK);
    const uint64_t before = memory_used();
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_compiled *c[3] = {scaled_product(w, 2), scaled_product(w, 3)};
    ig_scope_end();
    assert_non_null(c[0]);
    assert_non_null(c[1]);
    assert_int_equal((memory_used() - before) / BYTES, 1);
    assert_int_equal(ig_scope_begin(), IG_OK);
    c[2] = scaled_product(v, 2);
    ig_scope_end();
    assert_int_equal((memory_used() - before) / BYTES, 2);
    for (int i = 0; i < 3; i++) {
        ig_array *x = ig_ones(IG_SHAPE(i == 1 ? 3 : 2, N), IG_F32);
        assert_int_equal(ig_run(c[i], &x, &y), IG_OK);
        assert_float_equal(ig_item(ig_max(y, IG_NONE, false)), 3 * N, 0);
    }
    ig_array *twice = ig_add(w, w); /* may use the memory of w */
    assert_int_equal(ig_eval_donating(&twice, 1, &w, 1), IG_OK);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_compiled *other = scaled_product(twice, 2);
    ig_scope_end();
    ig_array *x = ig_ones(IG_SHAPE(2, N), IG_F32);
    assert_int_equal(ig_run(other, &x, &y), IG_OK);
    assert_float_equal(ig_item(ig_max(y, IG_NONE, false)), 6 * N, 0);
    for (int i = 0; i < 3; i++)
        ig_compiled_free(c[i]);
    ig_compiled_free(other);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    ig_array *x = floats((const float[]){1, 2}, 2), *y = ig_exp(x), *out;
    ig_array *longer = floats((const float[]){1, 2, 3}, 3), *whole = ig_astype(x, IG_I32);
    ig_compiled *c = ig_compile(&x, 1, 0, &y, 1);
    assert_non_null(c);
    assert_int_equal(ig_run(c, &longer, &out), IG_ERR_SHAPE);
    assert_error(IG_ERR_SHAPE, "input 0");
    assert_int_equal(ig_run(c, &whole, &out), IG_ERR_SHAPE);
    assert_error(IG_ERR_SHAPE, "i32");
    ig_compiled_free(c);
    assert_int_equal(ig_run(NULL, &x, &out), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "nothing is compiled");
    assert_null(ig_compile(&x, 1, 2, &y, 1));
    assert_error(IG_ERR_ARGUMENT, "donated");
    assert_null(ig_compile((ig_array *[]){NULL}, 1, 0, &y, 1));
    assert_error(IG_ERR_ARGUMENT, "input 0 is NULL");
}

static bool compile_and_run(void)
{
    ig_array *in[3], *out[2], *have[2];
    draw(in, 3);
    build(in, out);
    ig_compiled *c = ig_failed() ? NULL : ig_compile(in, 3, 3, out, 2);
    const bool ok = c && ig_run(c, in, have) == IG_OK;
    ig_compiled_free(c);
    return ok;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 1; !done; n++) {
        ig_scope_begin();
        memory_fail_at(n);
        done = compile_and_run();
        memory_fail_at(0);
        if (!done)
            assert_error(IG_ERR_MEMORY, "memory");
        ig_scope_end();
        assert_true(n < 100000);
    }
}

/* Constants that move between devices are moved when it is compiled; what depends on inputs cannot move. */
static void constants_move_once(void **state)
{
    (void)state;
    assert_int_equal(ig_set_device("gang"), IG_OK);
    ig_array *x = floats((const float[]){1, 2}, 2);
    ig_array *far = ig_to_device(floats((const float[]){3, 4}, 2), "cpu");
    ig_array *outputs[] = {ig_add(x, ig_to_device(far, "gang")), far};
    ig_compiled *c = ig_compile(&x, 1, 0, outputs, 2);
    assert_non_null(c);
    ig_array *results[2];
    assert_int_equal(ig_run(c, &x, results), IG_OK);
    expect_floats(results[0], (const float[]){4, 6}, 2);
    expect_floats(results[1], (const float[]){3, 4}, 2);
    ig_compiled_free(c);
    ig_array *moved = ig_to_device(ig_multiply(x, x), "cpu");
    assert_null(ig_compile(&x, 1, 0, &moved, 1));
    assert_error(IG_ERR_UNSUPPORTED, "moves to device cpu");
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* A computation can be compiled before there is any input. */
/* A number as an input: one plan for all values, in full precision, which adapts to the dtype of arrays. */
static void numbers_are_inputs(void **state)
{
    (void)state;
    ig_array *n = ig_placeholder_number(IG_F64), *x = ig_placeholder(IG_SHAPE(2), IG_F64), *result;
    ig_array *half = ig_placeholder(IG_SHAPE(2), IG_F16), *both[2];
    both[0] = ig_add(x, ig_weak(n));
    both[1] = ig_multiply(half, ig_weak(n));
    assert_int_equal(ig_dtype_of(both[1]), IG_F16);
    assert_null(ig_data(both[0]));
    assert_non_null(ig_error(NULL));
    const ig_array *missing = ig_missing();
    assert_true(missing == n || missing == x);
    assert_null(ig_missing());
    bool used[3];
    assert_int_equal(ig_depends(both[0], (ig_array *[]){n, x, half}, 3, used), IG_OK);
    assert_true(used[0] && used[1] && !used[2]);
    ig_compiled *c = ig_compile((ig_array *[]){n, x}, 2, 0, both, 1);
    assert_non_null(c);
    ig_array *zeros = ig_zeros(IG_SHAPE(2), IG_F64);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(ig_run(c, (ig_array *[]){ig_float(0.1 * i), zeros}, &result), IG_OK);
        assert_true(((const double *)ig_data(result))[1] == 0.1 * i);
    }
    ig_compiled_free(c);
    assert_null(ig_placeholder_number(IG_C64));
    assert_error(IG_ERR_DTYPE, "placeholder_number");
}

static void placeholders_have_no_elements(void **state)
{
    (void)state;
    ig_array *x = ig_placeholder(IG_SHAPE(2), IG_F32), *y = ig_add(x, ig_float(1)), *result;
    assert_int_not_equal(ig_eval(&y, 1), IG_OK);
    assert_non_null(ig_error(NULL));
    ig_compiled *c = ig_compile(&x, 1, 0, &y, 1);
    assert_non_null(c);
    ig_array *in = floats((const float[]){1, 2}, 2);
    assert_int_equal(ig_run(c, &in, &result), IG_OK);
    expect_floats(result, (const float[]){2, 3}, 2);
    ig_compiled_free(c);
    assert_null(ig_placeholder(IG_SHAPE(-1), IG_F32));
    assert_error(IG_ERR_SHAPE, "negative length");
    assert_null(ig_placeholder(IG_SHAPE(1), IG_C64));
    assert_error(IG_ERR_DTYPE, "placeholder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(donated_memory_is_used, begin, end),
        cmocka_unit_test_setup_teardown(a_donated_number_can_be_used, begin, end),
        cmocka_unit_test_setup_teardown(results_lie_where_they_are_free, begin, end),
        cmocka_unit_test_setup_teardown(donated_arrays_cannot_be_used, begin, end),
        cmocka_unit_test_setup_teardown(a_failure_donates_nothing, begin, end),
        cmocka_unit_test_setup_teardown(runs_give_what_evaluations_give, begin, end),
        cmocka_unit_test_setup_teardown(inputs_may_be_views, begin, end),
        cmocka_unit_test_setup_teardown(outputs_may_be_inputs_or_constants, begin, end),
        cmocka_unit_test_setup_teardown(state_is_replaced_in_place, begin, end),
        cmocka_unit_test_setup_teardown(constants_are_computed_once, begin, end),
        cmocka_unit_test_setup_teardown(constants_are_shared, begin, end),
        cmocka_unit_test_setup_teardown(constants_move_once, begin, end),
        cmocka_unit_test_setup_teardown(placeholders_have_no_elements, begin, end),
        cmocka_unit_test_setup_teardown(numbers_are_inputs, begin, end),
        cmocka_unit_test_setup_teardown(mistakes_are_told, begin, end),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
