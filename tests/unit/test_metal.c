/* Unified memory of the Metal backend, on the simulator: arrays that move between the CPU and the GPU share memory.
 * make metal-tests builds the simulator next to the tests; without it the tests are skipped. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 16384, COUNT = 16 * PAGE / 4, ROOM = 17 * PAGE };

static float *pages;
static int released;

static void release(void *context)
{
    (void)context;
    released++;
}

static bool has_metal(void)
{
    const bool found = ig_set_device("metal") == IG_OK;
    if (!found)
        ig_error(NULL);
    ig_set_device("cpu");
    return found;
}

static void nothing_is_copied(void **state)
{
    (void)state;
    if (!has_metal())
        skip();
    ig_scope_begin();
    released = 0;
    for (int i = 0; i < COUNT; i++)
        pages[i] = (float)i;
    ig_array *x = ig_from_memory(pages, ROOM, IG_SHAPE(COUNT), IG_F32, release, NULL);
    ig_array *there = ig_to_device(x, "metal");
    assert_ptr_equal(ig_data(there), pages);
    ig_array *back = ig_to_device(there, "cpu");
    assert_ptr_equal(ig_data(back), pages);
    assert_int_equal(released, 0);
    ig_scope_end();
    assert_int_equal(released, 1);
}

static void small_arrays_are_copied(void **state)
{
    (void)state;
    if (!has_metal())
        skip();
    ig_scope_begin();
    ig_array *x = ig_from_memory(pages, ROOM, IG_SHAPE(64), IG_F32, NULL, NULL);
    const void *data = ig_data(ig_to_device(x, "metal"));
    assert_non_null(data);
    assert_ptr_not_equal(data, pages);
    assert_memory_equal(data, pages, 64 * sizeof *pages);
    ig_scope_end();
}

static ig_array *ones_on_metal(int64_t n)
{
    assert_int_equal(ig_set_device("metal"), IG_OK);
    ig_array *x = ig_add(ig_arange(0, (double)n, 1, IG_F32), ig_float(1));
    return ig_eval(&x, 1) == IG_OK ? x : NULL;
}

/* False if clang is missing or too old for the simulator. */
static bool compiles(void)
{
    ig_scope_begin();
    const bool fine = ones_on_metal(1) != NULL;
    ig_scope_end();
    const char *why = fine ? "" : ig_error(NULL);
    ig_set_device("cpu");
    assert_true(fine || strstr(why, "clang 16"));
    return fine;
}

/* Blocks come from the pool, and its limit holds. */
static void memory_has_a_budget(void **state)
{
    enum { BYTES = COUNT * 4 };
    ig_memory_info info = {0};
    (void)state;
    if (!has_metal() || !compiles())
        skip();
    for (int i = 0; i < 4; i++) {
        ig_scope_begin();
        ig_array *x = ones_on_metal(COUNT);
        assert_non_null(x);
        assert_float_equal(ig_item(ig_max(x, IG_NONE, false)), COUNT, 0);
        assert_int_equal(ig_device_memory("metal", &info), IG_OK);
        assert_true(info.used >= BYTES && info.used + info.cached < 3 * BYTES);
        ig_scope_end();
    }
    assert_int_equal(ig_device_memory("metal", &info), IG_OK);
    assert_true(info.cached >= BYTES && info.used < BYTES && info.peak >= BYTES);
    assert_int_equal(ig_set_device_memory_limit("metal", BYTES / 2), IG_OK);
    ig_scope_begin();
    /* More is computed block by block, and comes back to host memory. */
    ig_array *large = ones_on_metal(COUNT);
    assert_non_null(large);
    assert_float_equal(ig_item(ig_max(large, IG_NONE, false)), COUNT, 0);
    assert_int_equal(ig_device_memory("metal", &info), IG_OK);
    assert_true(info.used <= BYTES / 2);
    assert_int_equal(ig_set_memory_limit(ig_memory_used() + BYTES / 2), IG_OK);
    assert_null(ones_on_metal(COUNT));
    assert_error(IG_ERR_MEMORY, "the smallest limit that works is");
    ig_scope_end();
    assert_int_equal(ig_set_memory_limit(0), IG_OK);
    assert_int_equal(ig_set_device_memory_limit("metal", 0), IG_OK);
    ig_set_device("cpu");
}

/* Attention of 40 queries, on the CPU and on the GPU: with scores that fit threadgroup memory, and with too many. */
static const float *attention_on(const char *device, int64_t keys, ig_math math)
{
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    ig_array *x[3] = {ig_normal(ig_key(1, NULL), IG_SHAPE(2, 40, 24), IG_F32, NULL, NULL),
                      ig_normal(ig_key(2, NULL), IG_SHAPE(2, keys, 24), IG_F32, NULL, NULL),
                      ig_normal(ig_key(3, NULL), IG_SHAPE(2, keys, 24), IG_F32, NULL, NULL)};
    assert_int_equal(ig_eval(x, 3), IG_OK);
    for (int i = 0; i < 3; i++)
        x[i] = ig_to_device(x[i], device);
    assert_int_equal(ig_set_math(math), IG_OK);
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_array *y = ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, false, 0);
    const float *data = ig_data(y);
    ig_set_math(IG_MATH_STRICT);
    ig_set_device("cpu");
    assert_non_null(data);
    return data;
}

static void attention_is_that_of_the_cpu(void **state)
{
    static const int64_t keys[] = {50, 260};
    enum { ELEMENTS = 2 * 40 * 24 };
    (void)state;
    if (!has_metal() || !compiles())
        skip();
    for (int i = 0; i < 2; i++) {
        ig_scope_begin();
        const float *same = attention_on("cpu", keys[i], IG_MATH_SAME);
        assert_memory_equal(attention_on("metal", keys[i], IG_MATH_SAME), same,
                            ELEMENTS * sizeof *same);
        const float *strict = attention_on("metal", keys[i], IG_MATH_STRICT);
        for (int k = 0; k < ELEMENTS; k++)
            assert_float_equal(strict[k], same[k], 4e-6);
        ig_scope_end();
    }
}

/* BUILD/tests/unit/test_metal -> BUILD/tests/metal/libmetalsim.so */
static void find_simulator(const char *self)
{
    char path[1000];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/../metal/libmetalsim.so", slash ? (int)(slash - self) : 1,
             slash ? self : ".");
    setenv("IG_METAL", path, 1);
    snprintf(path, sizeof path, "%.*s/../metal/cache", slash ? (int)(slash - self) : 1,
             slash ? self : ".");
    setenv("METALSIM_CACHE", path, 1);
    setenv("METALSIM_HOME", "tests/metal/sim", 1);
}

int main(int argc, char **argv)
{
    (void)argc;
    find_simulator(argv[0]);
    pages = aligned_alloc(PAGE, ROOM);
    if (!pages)
        return 1;
    memset(pages, 0, ROOM);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_copied),
        cmocka_unit_test(small_arrays_are_copied),
        cmocka_unit_test(memory_has_a_budget),
        cmocka_unit_test(attention_is_that_of_the_cpu),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pages);
    return failed;
}
