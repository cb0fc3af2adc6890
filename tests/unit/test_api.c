/* Functions of the public header around arrays: arrays over the caller's memory, exact integers, variables that outlive
 * scopes, text, short forms. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

static int released;
static void count_release(void *context) { released += context == &released; }

/* ---- memory of the caller ---------------------------------------------------------------------- */

static void test_memory_is_used_directly(void **state)
{
    (void)state;
    _Alignas(64) static float block[6 + 16] = {1, 2, 3, 4, 5, 6};
    released = 0;
    ig_scope_begin();
    ig_array *x =
        ig_from_memory(block, sizeof block, IG_SHAPE(2, 3), IG_F32, count_release, &released);
    assert_non_null(x);
    assert_ptr_equal(ig_data(x), block);
    assert_true(ig_item(ig_sum_all(x)) == 21);
    ig_array *row = ig_retain(ig_slice(x, IG_AXES(1), IG_AXES(2), IG_NONE));
    ig_scope_end();
    assert_int_equal(released, 0); /* the view still uses it */
    ig_scope_begin();
    assert_true(ig_item(ig_max_all(row)) == 6);
    ig_scope_end();
    ig_release(row);
    assert_int_equal(released, 1);
}

/* A block that ends with its last element, at the end of a page followed by unmapped memory. */
static void test_memory_that_cannot_be_read_past(void **state)
{
    (void)state;
    const size_t page = 65536;
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    float *end = (float *)(void *)(pages + page);
    for (int n = 1; n <= 40; n++) {
        for (int i = 0; i < n; i++)
            end[i - n] = (float)i;
        released = 0;
        ig_array *x = ig_from_memory(end - n, (size_t)n * sizeof(float), IG_SHAPE(n), IG_F32,
                                     count_release, &released);
        assert_true(ig_item(ig_sum_all(ig_exp(ig_times(x, 0)))) == n);
        assert_int_equal(released, 1); /* copied immediately */
    }
    ig_scope_end();
    ig_scope_begin();
    munmap(pages, 2 * page);
}

static void test_memory_that_is_copied(void **state)
{
    (void)state;
    char bytes[64 + 64 + 1] = {0};
    const float two = 2;
    memcpy(bytes + 1, &two, sizeof two);
    released = 0;
    ig_array *x = ig_from_memory(bytes + 1, 100, IG_SHAPE(1), IG_F32, count_release, &released);
    assert_int_equal(released, 1); /* not aligned */
    assert_true(ig_item(x) == 2);
    x = ig_from_memory(bytes, sizeof bytes, IG_SHAPE(0, 3), IG_F32, count_release, &released);
    assert_int_equal(released, 2);
    assert_int_equal(ig_size(x), 0);
}

static void test_memory_mistakes(void **state)
{
    (void)state;
    static double block[32];
    released = 0;
    assert_refused(ig_from_memory(block, 8, IG_SHAPE(2), IG_F64, count_release, &released),
                   IG_ERR_ARGUMENT, "needs 16 bytes, but data has 8");
    assert_refused(ig_from_memory(NULL, 8, IG_SHAPE(1), IG_F64, count_release, &released),
                   IG_ERR_ARGUMENT, "data is NULL");
    assert_refused(ig_from_memory(block, 8, IG_SHAPE(1), (ig_dtype)77, count_release, &released),
                   IG_ERR_DTYPE, "77 is not a dtype");
    assert_refused(ig_from_memory(block, 8, IG_SHAPE(-1), IG_F64, count_release, &released),
                   IG_ERR_SHAPE, "negative");
    assert_int_equal(released, 4);
    for (int n = 1; n <= 3; n++) { /* allocations that fail */
        memory_fail_at(n);
        ig_array *x =
            ig_from_memory(block, sizeof block, IG_SHAPE(2), IG_F64, count_release, &released);
        memory_fail_at(0);
        if (!x)
            assert_error(IG_ERR_MEMORY, "");
    }
    ig_scope_end();
    ig_scope_begin();
    assert_int_equal(released, 7);
}

/* ---- integers ----------------------------------------------------------------------------------- */

static void test_exact_integers(void **state)
{
    (void)state;
    static const int64_t numbers[] = {INT64_MAX, INT64_MIN, ((int64_t)1 << 53) + 1, -1, 0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(ig_item_int(ig_from_data(&numbers[i], IG_SCALAR, IG_I64)) == numbers[i]);
    const uint64_t large = (uint64_t)INT64_MAX, above = large + 1;
    assert_true(ig_item_int(ig_from_data(&large, IG_SHAPE(1, 1), IG_U64)) == INT64_MAX);
    assert_int_equal(ig_item_int(ig_scalar(7, IG_U8)), 7);
    assert_int_equal(ig_item_int(ig_bool(true)), 1);
    assert_int_equal(ig_item_int(ig_float(-3)), -3);
    assert_false(ig_failed());
    assert_int_equal(ig_item_int(ig_from_data(&above, IG_SCALAR, IG_U64)), 0);
    assert_error(IG_ERR_ARGUMENT, "item_int");
    assert_int_equal(ig_item_int(ig_float(0.5)), 0);
    assert_error(IG_ERR_ARGUMENT, "0.5 is not an integer of 64 bits");
    assert_int_equal(ig_item_int(ig_float(NAN)), 0);
    assert_error(IG_ERR_ARGUMENT, "nan");
    assert_int_equal(ig_item_int(ig_ones(IG_SHAPE(2), IG_I64)), 0);
    assert_error(IG_ERR_SHAPE, "one element");
}

/* ---- variables ---------------------------------------------------------------------------------- */

static void test_replace(void **state)
{
    (void)state;
    ig_array *w = NULL;
    ig_scope_begin(); /* a device keeps the kernels */
    ig_item(ig_min_all(ig_plus(ig_eval_one(ig_zeros(IG_SHAPE(100), IG_F32)), 1)));
    ig_item(ig_min_all(ig_eval_one(ig_plus(ig_eval_one(ig_zeros(IG_SHAPE(100), IG_F32)), 1))));
    ig_scope_end();
    const int64_t live = memory_live();
    for (int step = 0; step < 5; step++) {
        ig_scope_begin();
        assert_int_equal(
            ig_replace(&w, ig_eval_one(w ? ig_plus(w, 1) : ig_zeros(IG_SHAPE(100), IG_F32))),
            IG_OK);
        ig_scope_end();
    }
    assert_true(ig_item(ig_min_all(w)) == 4);
    ig_array *same = w;
    assert_int_equal(ig_replace(&w, w), IG_OK);
    assert_ptr_equal(w, same);
    assert_int_equal(ig_replace(&w, NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "replace: value is NULL");
    assert_ptr_equal(w, same);
    ig_release(w);
    ig_scope_end();
    ig_scope_begin();
    assert_true(memory_live() <= live + 64); /* caches, not five arrays of each step */
}

/* ---- text --------------------------------------------------------------------------------------- */

static void expect_text(ig_array *x, const char *want)
{
    char *text = ig_to_string(x, false);
    assert_non_null(text);
    assert_string_equal(text, want);
    ig_free(text);
}

/* tests/test_calc.py compares the same code with NumPy; this tests the library's own formatting. */
static void test_to_string(void **state)
{
    (void)state;
    ig_array *x = ig_reshape(ig_arange(0, 6, 1, IG_F32), IG_SHAPE(2, 3));
    expect_text(x, "[[0. 1. 2.]\n [3. 4. 5.]]");
    expect_text(ig_matrix_transpose(x), "[[0. 3.]\n [1. 4.]\n [2. 5.]]");
    expect_text(ig_astype(ig_times(x, 0.5), IG_F16), "[[0.  0.5 1. ]\n [1.5 2.  2.5]]");
    expect_text(ig_scalar(0.1, IG_BF16), "0.1");
    expect_text(ig_scalar(3, IG_I8), "3");
    expect_text(ig_greater(x, ig_float(4)), "[[False False False]\n [False False  True]]");
    expect_text(ig_zeros(IG_SHAPE(0, 2), IG_F32), "[]");
    expect_text(ig_arange(0, 2000, 1, IG_I64), "[   0    1    2 ... 1997 1998 1999]");
    char *full = ig_to_string(ig_arange(0, 2000, 1, IG_I64), true);
    assert_non_null(full);
    assert_true(strlen(full) > 9000 && !strstr(full, "..."));
    ig_free(full);
    const uint64_t most = UINT64_MAX;
    expect_text(ig_from_data(&most, IG_SHAPE(1), IG_U64), "[18446744073709551615]");
    assert_null(ig_to_string(NULL, false));
    assert_error(IG_ERR_ARGUMENT, "to_string: x is NULL");
    assert_null(ig_to_string(ig_take(x, ig_int(7), IG_AXES(0)), false));
    assert_error(IG_ERR_INDEX, "index 7 is out of bounds");
    assert_int_equal(ig_print(NULL), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_is_used_directly, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_that_cannot_be_read_past, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_that_is_copied, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_mistakes, begin, end),
        cmocka_unit_test_setup_teardown(test_exact_integers, begin, end),
        cmocka_unit_test_setup_teardown(test_replace, begin, end),
        cmocka_unit_test_setup_teardown(test_to_string, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
