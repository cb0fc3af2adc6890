/* Loops and branches: they give the bits of the same steps as separate nodes, with gradients, vmap and compiled; their memory
 * does not grow with the steps. */
#include "base/memory.h"
#include "ingot.h"
#include "support/unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 4, STEPS = 7 };

static void need(ig_status status)
{
    if (status != IG_OK)
        fail_msg("%s", ig_error(NULL));
}

static ig_array *values(int64_t rows, uint64_t seed)
{
    ig_array *x = ig_multiply(ig_normal(ig_key(seed, NULL), IG_SHAPE(rows, N), IG_F32, NULL, NULL),
                              ig_float(0.5));
    need(ig_eval(&x, 1));
    return x;
}

static void expect_same(ig_array *have, ig_array *want)
{
    assert_non_null(have);
    assert_non_null(want);
    assert_int_equal(ig_size(have), ig_size(want));
    const void *a = ig_data(have), *b = ig_data(want);
    if (!a || !b)
        fail_msg("%s", ig_error(NULL));
    assert_memory_equal(a, b, (size_t)ig_size(have) * ig_dtype_bytes(ig_dtype_of(have)));
}

static void expect_close(ig_array *have, ig_array *want, double bound)
{
    assert_non_null(have);
    assert_non_null(want);
    assert_int_equal(ig_size(have), ig_size(want));
    const float *a = ig_data(have), *b = ig_data(want);
    if (!a || !b)
        fail_msg("%s", ig_error(NULL));
    for (int64_t i = 0; i < ig_size(have); i++)
        if (!(fabs((double)(a[i] - b[i])) <= bound * (1 + fabs((double)b[i]))))
            fail_msg("element %lld is %g, not %g", (long long)i, (double)a[i], (double)b[i]);
}

/* A step of a recurrent network: h, x -> tanh(h @ w + x * b). */
static ig_array *cell(ig_array *h, ig_array *x, ig_array *w, ig_array *b)
{
    return ig_tanh(ig_add(ig_matmul(h, w), ig_multiply(x, b)));
}

static ig_array *row_of(ig_array *xs, int64_t i)
{
    const ig_index at = {.kind = IG_INDEX_INT, .start = i};
    return ig_get(xs, &at, 1);
}

/* The last carry of a scan of cell, and the sums of all carries. */
static void scan_cell(ig_array *h, ig_array *xs, ig_array *w, ig_array *b, bool reverse,
                      ig_array **last, ig_array **sums)
{
    ig_array *carry = ig_placeholder(ig_shape(h), IG_F32);
    ig_array *x = ig_placeholder(IG_SHAPE(N), IG_F32);
    ig_array *next = cell(carry, x, w, b), *y = ig_sum(next, IG_NONE, IG_DTYPE_NONE, false);
    const ig_scan_call call = {.size = sizeof call,
                               .carry = &carry,
                               .next = &next,
                               .n_carry = 1,
                               .x = &x,
                               .n_x = 1,
                               .y = &y,
                               .n_y = 1,
                               .init = &h,
                               .xs = &xs,
                               .length = ig_dim(xs, 0),
                               .reverse = reverse};
    need(ig_scan(&call, last, sums));
}

static void unrolled(ig_array *h, ig_array *xs, ig_array *w, ig_array *b, bool reverse,
                     ig_array **last, ig_array **sums)
{
    ig_array *all[STEPS];
    for (int t = 0; t < STEPS; t++) {
        const int at = reverse ? STEPS - 1 - t : t;
        h = cell(h, row_of(xs, at), w, b);
        all[at] = ig_sum(h, IG_NONE, IG_DTYPE_NONE, false);
    }
    *last = h;
    *sums = ig_stack(all, STEPS, 0);
}

static void scan_has_the_bits_of_its_steps(void **state)
{
    (void)state;
    for (int reverse = 0; reverse < 2; reverse++) {
        ig_array *h = values(2, 1), *xs = values(STEPS, 2), *w = values(N, 3),
                 *b = row_of(values(1, 4), 0);
        ig_array *last[2], *sums[2];
        scan_cell(h, xs, w, b, reverse, &last[0], &sums[0]);
        unrolled(h, xs, w, b, reverse, &last[1], &sums[1]);
        expect_same(last[0], last[1]);
        expect_same(sums[0], sums[1]);
    }
}

static ig_array *loss_of(ig_array *last, ig_array *sums)
{
    return ig_add(ig_sum(ig_square(last), IG_NONE, IG_DTYPE_NONE, false),
                  ig_sum(ig_multiply(sums, sums), IG_NONE, IG_DTYPE_NONE, false));
}

static void scan_has_gradients(void **state)
{
    (void)state;
    ig_array *in[4] = {values(2, 1), values(STEPS, 2), values(N, 3), row_of(values(1, 4), 0)};
    ig_array *last[2], *sums[2], *grads[2][4], *second[2][4];
    for (int i = 0; i < 2; i++) {
        (i ? unrolled : scan_cell)(in[0], in[1], in[2], in[3], false, &last[i], &sums[i]);
        need(ig_grad(loss_of(last[i], sums[i]), in, 4, grads[i]));
        ig_array *norm = ig_scalar(0, IG_F32);
        for (int k = 0; k < 4; k++)
            norm = ig_add(norm, ig_sum(ig_square(grads[i][k]), IG_NONE, IG_DTYPE_NONE, false));
        need(ig_grad(norm, in, 4, second[i]));
    }
    for (int k = 0; k < 4; k++) {
        expect_close(grads[0][k], grads[1][k], 1e-5);
        expect_close(second[0][k], second[1][k], 1e-4);
    }
}

static void scan_can_be_compiled(void **state)
{
    (void)state;
    ig_array *in[4] = {values(2, 1), values(STEPS, 2), values(N, 3), row_of(values(1, 4), 0)};
    ig_array *stand[4], *out[2], *got[2], *want[2];
    for (int i = 0; i < 4; i++)
        stand[i] = ig_placeholder(ig_shape(in[i]), IG_F32);
    scan_cell(stand[0], stand[1], stand[2], stand[3], false, &out[0], &out[1]);
    ig_compiled *c = ig_compile(stand, 4, 0, out, 2);
    if (!c)
        fail_msg("%s", ig_error(NULL));
    scan_cell(in[0], in[1], in[2], in[3], false, &want[0], &want[1]);
    for (int i = 0; i < 2; i++) {
        need(ig_run(c, in, got));
        expect_same(got[0], want[0]);
        expect_same(got[1], want[1]);
    }
    ig_compiled_free(c);
}

static void scan_can_be_mapped(void **state)
{
    (void)state;
    enum { BATCH = 3 };
    ig_array *h = values(2, 1), *w = values(N, 3), *b = row_of(values(1, 4), 0);
    ig_array *xs = ig_reshape(values(BATCH * STEPS, 2), IG_SHAPE(BATCH, STEPS, N));
    need(ig_eval(&xs, 1));
    ig_array *stand = ig_placeholder(IG_SHAPE(STEPS, N), IG_F32), *out[2], *made[2];
    scan_cell(h, stand, w, b, false, &out[0], &out[1]);
    need(ig_vmap(out, 2, &stand, &xs, (const int[]){0}, 1, made));
    for (int i = 0; i < BATCH; i++) {
        ig_array *last, *sums;
        scan_cell(h, row_of(xs, i), w, b, false, &last, &sums);
        expect_close(row_of(made[0], i), last, 1e-6);
        expect_close(row_of(made[1], i), sums, 1e-6);
    }
}

/* Carries that change places, one that nothing changes, one that is replaced by a row, and integers. */
static void carries_may_be_anything(void **state)
{
    (void)state;
    const float first[2] = {3, 5};
    const int64_t rows[3] = {10, 20, 30};
    ig_array *init[5] = {ig_scalar(first[0], IG_F32), ig_scalar(first[1], IG_F32),
                         ig_scalar(7, IG_F32), ig_from_data(rows, IG_SCALAR, IG_I64),
                         ig_scalar(1, IG_BOOL)};
    ig_array *xs = ig_from_data(rows, IG_SHAPE(3), IG_I64), *carry[5], *last[5], *ys[3];
    for (int i = 0; i < 5; i++)
        carry[i] = ig_placeholder(IG_SCALAR, ig_dtype_of(init[i]));
    ig_array *x = ig_placeholder(IG_SCALAR, IG_I64);
    ig_array *next[5] = {carry[1], carry[0], carry[2], x, ig_logical_not(carry[4])};
    ig_array *y[3] = {carry[0], x, ig_add(carry[3], x)};
    const ig_scan_call call = {.size = sizeof call,
                               .carry = carry,
                               .next = next,
                               .n_carry = 5,
                               .x = &x,
                               .n_x = 1,
                               .y = y,
                               .n_y = 3,
                               .init = init,
                               .xs = &xs,
                               .length = 3};
    need(ig_scan(&call, last, ys));
    assert_float_equal(ig_item(last[0]), 5, 0);
    assert_float_equal(ig_item(last[1]), 3, 0);
    assert_float_equal(ig_item(last[2]), 7, 0);
    assert_int_equal(ig_item_int(last[3]), 30);
    assert_int_equal(ig_item_int(last[4]), 0);
    assert_memory_equal(ig_data(ys[0]), ((const float[]){3, 5, 3}), sizeof(float[3]));
    assert_memory_equal(ig_data(ys[1]), rows, sizeof rows);
    assert_memory_equal(ig_data(ys[2]), ((const int64_t[]){20, 30, 50}), sizeof rows);
}

static void no_step_changes_nothing(void **state)
{
    (void)state;
    ig_array *h = values(2, 1), *xs = ig_zeros(IG_SHAPE(0, N), IG_F32), *last, *sums;
    scan_cell(h, xs, values(N, 3), row_of(values(1, 4), 0), false, &last, &sums);
    expect_same(last, h);
    assert_int_equal(ig_dim(sums, 0), 0);
}

/* Collatz steps from n to 1. */
static ig_array *collatz(ig_array *n)
{
    ig_array *carry[2] = {ig_placeholder(IG_SCALAR, IG_I64), ig_placeholder(IG_SCALAR, IG_I64)};
    ig_array *odd = ig_add(ig_multiply(carry[0], ig_int(3)), ig_int(1));
    ig_array *is_odd = ig_equal(ig_bitwise_and(carry[0], ig_int(1)), ig_int(1));
    ig_array *next[2] = {ig_where(is_odd, odd, ig_floor_divide(carry[0], ig_int(2))),
                         ig_add(carry[1], ig_int(1))};
    ig_array *init[2] = {n, ig_astype(ig_scalar(0, IG_I64), IG_I64)}, *last[2];
    need(ig_while(ig_greater(carry[0], ig_int(1)), carry, next, init, 2, last));
    return last[1];
}

static void while_stops(void **state)
{
    (void)state;
    const int64_t from[4] = {1, 6, 7, 27}, steps[4] = {0, 8, 16, 111};
    for (int i = 0; i < 4; i++)
        assert_int_equal(ig_item_int(collatz(ig_from_data(&from[i], IG_SCALAR, IG_I64))), steps[i]);
    ig_array *stand = ig_placeholder(IG_SCALAR, IG_I64),
             *all = ig_from_data(from, IG_SHAPE(4), IG_I64), *out = collatz(stand);
    need(ig_vmap(&out, 1, &stand, &all, (const int[]){0}, 1, &out));
    assert_memory_equal(ig_data(out), steps, sizeof steps);
}

/* Newton's iteration for the square root of x: its derivative along x is that of the root, and reverse mode refuses. */
static void while_has_derivatives_along_a_direction(void **state)
{
    (void)state;
    ig_array *x = ig_scalar(2, IG_F64), *carry = ig_placeholder(IG_SCALAR, IG_F64),
             *init = ig_scalar(1, IG_F64);
    ig_array *next = ig_multiply(ig_add(carry, ig_divide(x, carry)), ig_float(0.5));
    ig_array *more = ig_greater(ig_abs(ig_subtract(ig_square(carry), x)), ig_float(1e-12));
    ig_array *root, *g, *seed = ig_scalar(1, IG_F64), *along;
    need(ig_while(more, &carry, &next, &init, 1, &root));
    assert_float_equal(ig_item(root), sqrt(2), 1e-12);
    need(ig_vjp(&root, &seed, 1, &x, 1, &g));
    need(ig_vjp(&g, (ig_array *[]){ig_scalar(1, IG_F64)}, 1, &seed, 1, &along));
    assert_float_equal(ig_item(along), 0.5 / sqrt(2), 1e-9);
    assert_int_not_equal(ig_eval(&g, 1), IG_OK);
    assert_non_null(strstr(ig_error(NULL), "while loop"));
}

static void switch_takes_one_branch(void **state)
{
    (void)state;
    ig_array *x = values(2, 1), *stand = ig_placeholder(ig_shape(x), IG_F32), *k = values(2, 5);
    ig_array *branch[3] = {ig_sin(stand), ig_multiply(stand, k),
                           ig_astype(ig_square(stand), IG_F32)};
    for (int i = -1; i < 4; i++) {
        const int64_t at = i;
        const int taken = i < 0 ? 0 : i > 2 ? 2 : i;
        ig_array *index = ig_from_data(&at, IG_SCALAR, IG_I64), *y, *grads[2][2];
        need(ig_switch(index, &stand, &x, 1, branch, 3, 1, &y));
        ig_array *want = taken == 0 ? ig_sin(x) : taken == 1 ? ig_multiply(x, k) : ig_square(x);
        expect_same(y, want);
        ig_array *in[2] = {x, k},
                 *loss[2] = {ig_sum(ig_square(y), IG_NONE, IG_DTYPE_NONE, false),
                             ig_sum(ig_square(want), IG_NONE, IG_DTYPE_NONE, false)};
        ig_array *one = ig_scalar(1, IG_F32);
        for (int n = 0; n < 2; n++)
            need(ig_vjp(&loss[n], &one, 1, in, 2, grads[n]));
        for (int n = 0; n < 2; n++)
            expect_close(grads[0][n], grads[1][n], 1e-6);
    }
}

static void memory_does_not_grow_with_the_steps(void **state)
{
    (void)state;
    only_on_host("other devices count their memory apart");
    enum { LONG = 10000 };
    ig_array *x = values(64, 1), *carry = ig_placeholder(ig_shape(x), IG_F32), *last;
    ig_array *next = ig_multiply(ig_sin(carry), ig_float(1.5));
    const ig_scan_call call = {.size = sizeof call,
                               .carry = &carry,
                               .next = &next,
                               .n_carry = 1,
                               .init = &x,
                               .length = LONG};
    need(ig_scan(&call, &last, NULL));
    const uint64_t before = ig_memory_used();
    need(ig_eval(&last, 1));
    assert_in_range(ig_memory_used() - before, 0, 4 * 64 * N * sizeof(float));
    ig_array *want = x;
    for (int i = 0; i < LONG; i++) {
        ig_scope_begin();
        ig_array *y = ig_multiply(ig_sin(want), ig_float(1.5));
        need(ig_eval(&y, 1));
        ig_scope_forget(y);
        ig_scope_end();
        if (i)
            ig_release(want);
        want = y;
    }
    expect_same(last, want);
    ig_release(want);
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    ig_array *x = values(2, 1), *carry = ig_placeholder(ig_shape(x), IG_F32), *last;
    ig_array *next = ig_sum(carry, IG_AXES(0), IG_DTYPE_NONE, false);
    ig_scan_call call = {
        .size = sizeof call, .carry = &carry, .next = &next, .n_carry = 1, .init = &x, .length = 2};
    assert_int_equal(ig_scan(&call, &last, NULL), IG_ERR_SHAPE);
    assert_non_null(strstr(ig_error(NULL), "carry 0 is f32(2, 4), but its next value is f32(4,)"));
    assert_int_equal(ig_while(carry, &carry, &carry, &x, 1, &last), IG_ERR_SHAPE);
    assert_non_null(strstr(ig_error(NULL), "must be one bool"));
    ig_array *out[2] = {carry, next};
    assert_int_equal(ig_switch(ig_int(0), &carry, &x, 1, out, 2, 1, &last), IG_ERR_SHAPE);
    assert_non_null(strstr(ig_error(NULL), "branch 1"));
}

/* Builds and evaluates a scan with its gradient, a batched while loop and a switch. False if memory was refused. */
static bool build_and_evaluate(ig_array *const *in)
{
    ig_array *last, *sums, *grads[2], *out[4];
    ig_array *carry = ig_placeholder(ig_shape(in[0]), IG_F32);
    ig_array *x = ig_placeholder(IG_SHAPE(N), IG_F32);
    ig_array *next = ig_tanh(ig_add(ig_matmul(carry, in[2]), x));
    ig_array *y = ig_sum(next, IG_NONE, IG_DTYPE_NONE, false);
    const ig_scan_call call = {.size = sizeof call,
                               .carry = &carry,
                               .next = &next,
                               .n_carry = 1,
                               .x = &x,
                               .n_x = 1,
                               .y = &y,
                               .n_y = 1,
                               .init = &in[0],
                               .xs = &in[1],
                               .length = STEPS};
    if (ig_scan(&call, &last, &sums) != IG_OK ||
        ig_grad(loss_of(last, sums), (ig_array *[]){in[0], in[2]}, 2, grads) != IG_OK)
        return false;
    ig_array *one = ig_placeholder(IG_SCALAR, IG_F32), *value = ig_placeholder(IG_SCALAR, IG_F32);
    ig_array *twice = ig_multiply(value, ig_float(2)), *root;
    if (ig_while(ig_less(value, ig_float(100)), &value, &twice, &one, 1, &root) != IG_OK ||
        ig_vmap(&root, 1, &one, &in[3], (const int[]){0}, 1, &out[2]) != IG_OK)
        return false;
    ig_array *branch[2] = {ig_sin(carry), ig_square(carry)};
    if (ig_switch(ig_greater(ig_sum(in[0], IG_NONE, IG_DTYPE_NONE, false), ig_float(0)), &carry,
                  &in[0], 1, branch, 2, 1, &out[3]) != IG_OK)
        return false;
    out[0] = grads[0];
    out[1] = grads[1];
    return ig_eval(out, 4) == IG_OK;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    ig_array *in[4] = {values(2, 1), values(STEPS, 2), values(N, 3),
                       ig_abs(row_of(values(1, 4), 0))};
    need(ig_eval(in, 4));
    bool done = false;
    for (int n = 1; !done; n += every(7)) {
        ig_scope_begin();
        memory_fail_at(n);
        done = build_and_evaluate(in);
        memory_fail_at(0);
        if (!done)
            assert_error(IG_ERR_MEMORY, "memory");
        ig_scope_end();
        assert_true(n < 100000);
    }
}

/* ---- tables that a step reads by index ---- */

/* h + columns `at` of the table, in several forms of it: whole, transposed, a part, every second row. */
static ig_array *read_step(int form, ig_array *h, ig_array *table, ig_array *at)
{
    const ig_index rows = {
        .kind = IG_INDEX_SLICE, .start = form == 2, .stop = INT64_MIN, .step = form == 3 ? 2 : 1};
    ig_array *x = form == 1 ? ig_permute_dims(table, IG_AXES(1, 0))
                  : form    ? ig_get(table, &rows, 1)
                            : table;
    if (form == 4)
        x = ig_multiply(table, table);
    ig_array *read = ig_take(x, at, IG_AXES(1));
    return ig_add(ig_multiply(h, ig_float(0.5)), ig_sum(read, IG_AXES(0), IG_DTYPE_NONE, false));
}

static void tables_are_read_by_index(void **state)
{
    enum { FORMS = 5, READ = 2 };
    const int64_t places[STEPS * READ] = {3, 0, 2, 2, 1, 3, 0, 0, -1, 1, 2, 3, -4, 2};
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        ig_array *table = values(N, 5), *at = ig_from_data(places, IG_SHAPE(STEPS, READ), IG_I64);
        ig_array *zero = ig_zeros(IG_SHAPE(READ), IG_F32), *last[2] = {NULL, zero}, *grads[2];
        ig_array *h = ig_placeholder(IG_SHAPE(READ), IG_F32),
                 *row = ig_placeholder(IG_SHAPE(READ), IG_I64);
        ig_array *next = read_step(form, h, table, row);
        const ig_scan_call call = {.size = sizeof call,
                                   .carry = &h,
                                   .next = &next,
                                   .n_carry = 1,
                                   .x = &row,
                                   .n_x = 1,
                                   .init = &zero,
                                   .xs = &at,
                                   .length = STEPS};
        need(ig_scan(&call, &last[0], NULL));
        for (int t = 0; t < STEPS; t++)
            last[1] = read_step(form, last[1], table, row_of(at, t));
        for (int i = 0; i < 2; i++)
            need(ig_grad(ig_sum(ig_square(last[i]), IG_NONE, IG_DTYPE_NONE, false), &table, 1,
                         &grads[i]));
        expect_same(last[0], last[1]);
        expect_close(grads[0], grads[1], 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scan_has_the_bits_of_its_steps, begin, end),
        cmocka_unit_test_setup_teardown(scan_has_gradients, begin, end),
        cmocka_unit_test_setup_teardown(scan_can_be_compiled, begin, end),
        cmocka_unit_test_setup_teardown(scan_can_be_mapped, begin, end),
        cmocka_unit_test_setup_teardown(carries_may_be_anything, begin, end),
        cmocka_unit_test_setup_teardown(no_step_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(tables_are_read_by_index, begin, end),
        cmocka_unit_test_setup_teardown(while_stops, begin, end),
        cmocka_unit_test_setup_teardown(while_has_derivatives_along_a_direction, begin, end),
        cmocka_unit_test_setup_teardown(switch_takes_one_branch, begin, end),
        cmocka_unit_test_setup_teardown(memory_does_not_grow_with_the_steps, begin, end),
        cmocka_unit_test_setup_teardown(mistakes_are_explained, begin, end),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
