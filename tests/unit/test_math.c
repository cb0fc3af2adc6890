/* Math modes: the order of sums in contractions. The device gang runs emitted kernels, so its bits show the order of a
 * kernel. */
#include "support/unit.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    M = 5,
    K = 700,
    N = 7
}; /* the CPU cuts k into three blocks, so it does not add in one loop */

static ig_array *numbers(uint64_t seed, int64_t rows, int64_t columns)
{
    ig_array *x = ig_normal(ig_key(seed, NULL), IG_SHAPE(rows, columns), IG_F32, NULL, NULL);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

static void read_product(ig_array *x, float out[static M * N])
{
    assert_int_equal(ig_read(x, out, M * N * sizeof *out), IG_OK);
}

/* The product of the same two matrices on a device, in a mode. */
static void product(const char *device, ig_math mode, float out[static M * N])
{
    assert_int_equal(ig_set_device(device), IG_OK);
    assert_int_equal(ig_set_math(mode), IG_OK);
    read_product(ig_matmul(numbers(1, M, K), numbers(2, K, N)), out);
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

static void same_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    float cpu[M * N], gang[M * N];
    product("cpu", IG_MATH_SAME, cpu);
    product("gang", IG_MATH_SAME, gang);
    assert_memory_equal(cpu, gang, sizeof cpu);
}

static void the_mode_is_part_of_the_key(void **state)
{
    (void)state;
    float strict[M * N], same[M * N], again[M * N], cpu[M * N];
    product("cpu", IG_MATH_STRICT, cpu);
    product("gang", IG_MATH_STRICT, strict);
    product("gang", IG_MATH_SAME, same);
    product("gang", IG_MATH_STRICT, again);
    assert_memory_equal(strict, again, sizeof strict);
    assert_memory_equal(same, cpu, sizeof cpu);
    assert_int_not_equal(memcmp(strict, same, sizeof same), 0);
    for (int i = 0; i < M * N; i++)
        assert_float_equal(strict[i], same[i], 1e-3);
}

static void a_compiled_computation_keeps_its_mode(void **state)
{
    (void)state;
    float cpu[M * N], got[M * N];
    product("cpu", IG_MATH_STRICT, cpu);
    assert_int_equal(ig_set_device("gang"), IG_OK);
    ig_array *in[2] = {numbers(1, M, K), numbers(2, K, N)}, *out = ig_matmul(in[0], in[1]);
    assert_int_equal(ig_set_math(IG_MATH_SAME), IG_OK);
    ig_compiled *c = ig_compile(in, 2, 0, &out, 1);
    assert_non_null(c);
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
    ig_array *result = NULL;
    assert_int_equal(ig_run(c, in, &result), IG_OK);
    read_product(result, got);
    assert_memory_equal(cpu, got, sizeof cpu);
    ig_compiled_free(c);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

static void *mode_of_a_new_thread(void *mode)
{
    *(ig_math *)mode = ig_math_mode();
    return NULL;
}

static void threads_begin_with_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ig_math mode;
    } rows[] = {{"same", IG_MATH_SAME},
                {"tf32", IG_MATH_TF32},
                {"strict", IG_MATH_STRICT},
                {"fast", IG_MATH_STRICT},
                {"", IG_MATH_STRICT}};
    assert_int_equal(ig_set_math(IG_MATH_TF32), IG_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pthread_t thread;
        ig_math mode = IG_MATH_TF32;
        setenv("IG_MATH", rows[i].text, 1);
        assert_int_equal(pthread_create(&thread, NULL, mode_of_a_new_thread, &mode), 0);
        pthread_join(thread, NULL);
        assert_int_equal(mode, rows[i].mode);
        assert_int_equal(ig_math_mode(), IG_MATH_TF32);
    }
    unsetenv("IG_MATH");
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
}

static void unknown_modes_are_refused(void **state)
{
    (void)state;
    assert_int_equal(ig_set_math((ig_math)3), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "IG_MATH_SAME");
    assert_int_equal(ig_set_math((ig_math)-1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "math");
    assert_int_equal(ig_math_mode(), IG_MATH_STRICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_has_the_bits_of_the_cpu, begin, end),
        cmocka_unit_test_setup_teardown(the_mode_is_part_of_the_key, begin, end),
        cmocka_unit_test_setup_teardown(a_compiled_computation_keeps_its_mode, begin, end),
        cmocka_unit_test_setup_teardown(threads_begin_with_the_environment, begin, end),
        cmocka_unit_test_setup_teardown(unknown_modes_are_refused, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
