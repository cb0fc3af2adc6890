/* Emitted kernels under the checker of the CPU's gangs: no access out of bounds, no race, no read of shared memory that
 * was not written, no barrier that only some threads reach. Each kind of kernel is emitted for a device with shuffles,
 * for one without, and for a CPU. Results have the CPU's bits. */
#include "support/unit.h"

#include "engine/backend/cpu/gang/kernel.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MOST = 20000 };

/* ---- devices whose launches are checked ---- */

static int launches;
static char found[512]; /* the first mistake */

static ig_status launch_checked(kernel_code *code, const lane_launch *l)
{
    kernel_check *check = memory_new(sizeof *check);
    lane_launch own = *l;
    if (!check)
        return IG_ERR_MEMORY;
    check->loops = 1 << 24;
    own.check = check;
    const ig_status status = cpu_lanes.launch(code, &own);
    launches++;
    if (check->n && !found[0])
        snprintf(found, sizeof found, "%s (mistake %d, block %u, thread %u)",
                 check->found[0].message, check->found[0].mistake, check->found[0].block[0],
                 check->found[0].thread[0]);
    memory_free(check);
    return status;
}

static lane_runner runner;
static backend devices[3];

static int add_devices(void **state)
{
    static const char *const names[] = {"shuffles", "plain", "serial"};
    (void)state;
    runner = (lane_runner){cpu_lanes.build, launch_checked};
    for (int i = 0; i < 3; i++) {
        devices[i] = backend_gang;
        devices[i].name = names[i];
        devices[i].lanes = &runner;
        devices[i].limits.subgroup = i == 0 ? 32 : 0;
        devices[i].limits.cpu = i == 2;
        devices[i].limits.processors = i == 0 ? 132 : 1;
        if (backend_register(&devices[i]) != IG_OK)
            return 1;
    }
    return 0;
}

/* ---- one graph of each kind of kernel ---- */

static ig_array *noise(int seed, ig_ints shape)
{
    return ig_normal(ig_key(seed, NULL), shape, IG_F32, NULL, NULL);
}

static ig_array *map(void) { return ig_exp(noise(1, IG_SHAPE(9, 40))); }
static ig_array *sum_long(void)
{
    return ig_sum(noise(1, IG_SHAPE(20000)), IG_NONE, IG_DTYPE_NONE, false);
}
static ig_array *sum_rows(void)
{
    return ig_sum(noise(1, IG_SHAPE(9, 1500)), IG_AXES(1), IG_DTYPE_NONE, false);
}
static ig_array *sum_columns(void)
{
    return ig_sum(noise(1, IG_SHAPE(1100, 70)), IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *chain(void) { return ig_softmax(noise(1, IG_SHAPE(9, 100)), IG_AXES(1)); }
static ig_array *chain_long(void) { return ig_softmax(noise(1, IG_SHAPE(2, 2500)), IG_AXES(1)); }
static ig_array *extreme(void) { return ig_argmax(noise(1, IG_SHAPE(5, 3000)), IG_AXES(1), false); }
static ig_array *scan(void)
{
    return ig_cumulative_sum(noise(1, IG_SHAPE(2, 300)), IG_AXES(1), IG_DTYPE_NONE, false);
}
static ig_array *scan_long(void)
{
    return ig_cumulative_sum(noise(1, IG_SHAPE(5000)), IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *sort(void) { return ig_sort(noise(1, IG_SHAPE(5, 300)), 1, false, true); }
static ig_array *sort_long(void) { return ig_sort(noise(1, IG_SHAPE(6000)), 0, false, true); }
static ig_array *argsort_long(void)
{
    return ig_argsort(noise(1, IG_SHAPE(2, 5000)), 1, true, true);
}
static ig_array *contraction(void)
{
    return ig_matmul(noise(1, IG_SHAPE(2, 70, 40)), noise(2, IG_SHAPE(2, 40, 50)));
}
/* In tiles of 64 x 128 if there are warps; the second has two blocks of k, neither of which is a multiple of a
 * panel. */
static ig_array *convolution(void)
{
    return ig_conv2d(noise(1, IG_SHAPE(3, 4, 11, 11)), noise(2, IG_SHAPE(18, 4, 3, 3)), NULL,
                     IG_NONE, IG_AXES(1), IG_NONE, 1);
}
static ig_array *convolution_long(void)
{
    return ig_conv2d(noise(1, IG_SHAPE(3, 30, 12, 25)), noise(2, IG_SHAPE(18, 30, 3, 3)), NULL,
                     IG_AXES(1, 2), IG_AXES(0), IG_NONE, 1);
}
static ig_array *attention(void)
{
    ig_array *x = noise(1, IG_SHAPE(2, 20, 16));
    return ig_scaled_dot_product_attention(x, x, x, NULL, false, 0);
}
/* Two tiles of rows and of keys, and rows that attend to nothing. */
static ig_array *attention_masked(void)
{
    ig_array *x = noise(1, IG_SHAPE(130, 16));
    ig_array *mask = ig_greater(noise(2, IG_SHAPE(130, 130)), ig_float(2.2));
    return ig_scaled_dot_product_attention(x, x, x, mask, false, 0);
}
static ig_array *take(void)
{
    return ig_take(noise(1, IG_SHAPE(30, 5)),
                   ig_randint(ig_key(2, NULL), IG_SHAPE(50), 0, 30, IG_I64), IG_AXES(0));
}
static ig_array *scatter(bool add)
{
    ig_array *to = noise(1, IG_SHAPE(30, 5)), *from = noise(2, IG_SHAPE(50, 5));
    ig_array *at = ig_randint(ig_key(3, NULL), IG_SHAPE(50, 5), 0, 30, IG_I64);
    return add ? ig_scatter_add(to, at, from, 0) : ig_scatter(to, at, from, 0);
}
static ig_array *put(void) { return scatter(false); }
static ig_array *put_sums(void) { return scatter(true); }
static ig_array *search(void)
{
    ig_array *x = ig_sort(noise(1, IG_SHAPE(300)), 0, false, true);
    return ig_searchsorted(x, noise(2, IG_SHAPE(70)), "left", NULL);
}
/* Reductions that store their values over those that they read: their pointers may not be marked __restrict__. */
static ig_array *reductions_in_place(void)
{
    ig_array *x = ig_exp(noise(1, IG_SHAPE(300, 8))), *y = ig_exp(noise(2, IG_SHAPE(300, 8)));
    ig_array *before = ig_cumulative_sum(x, IG_AXES(1), IG_DTYPE_NONE, false);
    ig_array *values = ig_multiply(x, y), *sum = ig_sum(values, IG_AXES(1), IG_DTYPE_NONE, true);
    ig_array *sorted = ig_sort(values, 1, false, true);
    return ig_add(ig_add(ig_divide(values, sum), sorted), ig_sort(before, 1, false, true));
}
static ig_array *norm_of_halves(void)
{
    ig_array *x = ig_astype(noise(1, IG_SHAPE(2, 3, 4)), IG_F16);
    return ig_batch_norm(x, NULL, NULL, NULL, NULL, 1e-5);
}
static ig_array *polynomial_grad(void)
{
    ig_array *x = ig_linspace(0.1, 1, 20, IG_F32, true), *grad;
    const ig_status status =
        ig_grad(ig_sum(ig_poly(x), IG_NONE, IG_DTYPE_NONE, false), &x, 1, &grad);
    return status == IG_OK ? grad : NULL;
}

static const struct kind {
    const char *name;
    ig_array *(*build)(void);
} kinds[] = {
    {"map", map},
    {"sum of a long row", sum_long},
    {"sum of rows", sum_rows},
    {"sum of columns", sum_columns},
    {"chain", chain},
    {"chain of long rows", chain_long},
    {"argmax", extreme},
    {"scan", scan},
    {"long scan", scan_long},
    {"sort", sort},
    {"long sort", sort_long},
    {"long argsort", argsort_long},
    {"contraction", contraction},
    {"convolution", convolution},
    {"long convolution", convolution_long},
    {"attention", attention},
    {"attention with a mask", attention_masked},
    {"take", take},
    {"scatter", put},
    {"scatter_add", put_sums},
    {"search", search},
    {"reductions in place", reductions_in_place},
    {"batch norm of halves", norm_of_halves},
    {"gradient of a polynomial", polynomial_grad},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- the test ---- */

/* The result's bytes; returns how many. */
static size_t compute(const char *device, const struct kind *k, char *to, size_t room)
{
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_scope_begin();
    ig_array *y = k->build();
    const size_t bytes = y ? (size_t)ig_size(y) * ig_dtype_bytes(ig_dtype_of(y)) : 0;
    assert_true(bytes <= room);
    if (!y || ig_read(y, to, bytes) != IG_OK)
        fail_msg("%s on %s: %s", k->name, device, ig_error(NULL));
    ig_scope_end();
    return bytes;
}

/* In the short form, only the first device. */
static void kernels_have_no_mistakes(void **unused)
{
    static char want[8 * ELEMENTS_MOST], got[8 * ELEMENTS_MOST];
    const int n = getenv("IG_TEST_QUICK") ? 1 : 3;
    (void)unused;
    ig_set_math(IG_MATH_SAME);
    for (int k = 0; k < KINDS; k++) {
        const size_t bytes = compute("cpu", &kinds[k], want, sizeof want);
        for (int i = 0; i < n; i++) {
            found[0] = '\0';
            launches = 0;
            assert_int_equal(compute(devices[i].name, &kinds[k], got, sizeof got), bytes);
            assert_true(launches > 0);
            if (found[0])
                fail_msg("%s on %s: %s", kinds[k].name, devices[i].name, found);
            if (memcmp(got, want, bytes) != 0)
                fail_msg("%s on %s: other bits than on the CPU", kinds[k].name, devices[i].name);
        }
    }
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    ig_set_math(IG_MATH_STRICT);
}

/* In strict mode attention takes one pass over the keys: its sums are rescaled when a row has a new largest score. */
static void strict_attention_takes_one_pass(void **unused)
{
    static float want[ELEMENTS_MOST], got[ELEMENTS_MOST];
    static const struct kind strict[] = {{"attention", attention},
                                         {"attention with a mask", attention_masked}};
    (void)unused;
    for (int k = 0; k < 2; k++) {
        const size_t bytes = compute("cpu", &strict[k], (char *)want, sizeof want);
        found[0] = '\0';
        assert_int_equal(compute(devices[0].name, &strict[k], (char *)got, sizeof got), bytes);
        if (found[0])
            fail_msg("%s: %s", strict[k].name, found);
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            if (!(fabsf(got[i] - want[i]) <= 1e-6f * (1 + fabsf(want[i]))))
                fail_msg("%s: element %zu is %g, not %g", strict[k].name, i, (double)got[i],
                         (double)want[i]);
    }
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* A chain between two contractions whose values are all outputs: none is in shared memory. */
static void chains_may_keep_all_values(void **unused)
{
    enum { ROWS = 6, KEYS = 5, VALUES = 4 };
    float got[4][ROWS * KEYS], want[4][ROWS * KEYS];
    (void)unused;
    ig_set_math(IG_MATH_SAME);
    for (int i = -1; i < 3; i++) {
        assert_int_equal(ig_set_device(i < 0 ? "cpu" : devices[i].name), IG_OK);
        ig_scope_begin();
        ig_array *q = noise(1, IG_SHAPE(ROWS, 3)), *k = noise(2, IG_SHAPE(3, KEYS)),
                 *v = noise(3, IG_SHAPE(KEYS, VALUES));
        assert_int_equal(ig_eval((ig_array *[]){q, k, v}, 3), IG_OK);
        ig_array *s = ig_matmul(q, k), *sum = ig_sum(s, IG_AXES(1), IG_DTYPE_NONE, true);
        ig_array *p = ig_divide(s, sum), *out[4] = {s, sum, p, ig_matmul(p, v)};
        if (ig_eval(out, 4) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        memset(got, 0, sizeof got);
        for (int j = 0; j < 4; j++)
            assert_int_equal(ig_read(out[j], got[j], (size_t)ig_size(out[j]) * sizeof(float)),
                             IG_OK);
        ig_scope_end();
        if (i < 0)
            memcpy(want, got, sizeof want);
        assert_memory_equal(got, want, sizeof want);
    }
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    ig_set_math(IG_MATH_STRICT);
}

int main(void)
{
    setenv("IG_CHECK_SCHEDULE", "1", 1); /* also checks which pointers kernels mark __restrict__ */
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_have_no_mistakes),
                                       cmocka_unit_test(strict_attention_takes_one_pass),
                                       cmocka_unit_test(chains_may_keep_all_values)};
    return cmocka_run_group_tests(tests, add_devices, NULL);
}
