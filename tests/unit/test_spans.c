/* Reductions of a range of computed elements, such as the sum of some rows: the elements are computed in the reduction, only
 * those of the range, unless others are needed too. The results have the bits of the same reductions of evaluated elements. */
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

typedef ig_array *(*builder)(ig_array *x);

static ig_array *sum_of(ig_array *x) { return ig_sum_all(x); }
static ig_array *max_of(ig_array *x) { return ig_max(x, IG_NONE, false); }
static ig_array *argmin_of(ig_array *x) { return ig_argmin(x, IG_NONE, false); }
static const builder folds[] = {sum_of, max_of, argmin_of};
enum { FOLDS = sizeof folds / sizeof *folds };

/* Computed elements of rows x columns: with a value for each column, so that rows must not be joined, or random numbers, whose
 * values depend on their places. */
static ig_array *elements(int64_t rows, int64_t columns, ig_dtype dtype, bool is_random)
{
    ig_array *key = ig_key(7, NULL);
    if (is_random)
        return ig_astype(
            ig_multiply(ig_uniform(key, IG_SHAPE(rows, columns), IG_F32, NULL, NULL), ig_float(64)),
            dtype);
    ig_array *x = ig_normal(key, IG_SHAPE(rows, columns), IG_F32, NULL, NULL);
    ig_array *m = ig_normal(ig_key(8, NULL), IG_SHAPE(columns), IG_F32, NULL, NULL);
    assert_int_equal(ig_eval((ig_array *[]){x, m}, 2), IG_OK);
    return ig_astype(ig_multiply(ig_abs(ig_subtract(x, m)), ig_float(16)), dtype);
}

/* Elements [from, to) in row-major order. */
static ig_array *range_of(ig_array *x, int64_t from, int64_t to)
{
    return ig_slice(ig_reshape(x, IG_SHAPE(ig_size(x))), IG_SHAPE(from), IG_SHAPE(to), IG_NONE);
}

static void expect_same(ig_array *a, ig_array *b, const char *what)
{
    char x[16] = {0}, y[16] = {0};
    const size_t bytes = ig_dtype_bytes(ig_dtype_of(a));
    assert_int_equal(ig_read(a, x, bytes), IG_OK);
    assert_int_equal(ig_read(b, y, bytes), IG_OK);
    if (memcmp(x, y, bytes) != 0)
        fail_msg("%s: the bits differ", what);
}

static void check_range(int64_t rows, int64_t columns, int64_t from, int64_t to)
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_I32};
    for (int d = 0; d < 4; d++)
        for (int is_random = 0; is_random < 2; is_random++)
            for (int f = 0; f < FOLDS; f++) {
                char what[120];
                snprintf(what, sizeof what, "fold %d of [%lld, %lld) of %lld x %lld %s", f,
                         (long long)from, (long long)to, (long long)rows, (long long)columns,
                         ig_dtype_name(dtypes[d]));
                ig_scope_begin();
                ig_array *whole = elements(rows, columns, dtypes[d], is_random);
                ig_array *fused =
                    folds[f](range_of(elements(rows, columns, dtypes[d], is_random), from, to));
                assert_int_equal(ig_eval(&whole, 1), IG_OK);
                expect_same(fused, folds[f](range_of(whole, from, to)), what);
                ig_scope_end();
            }
}

static void ranges(void **state)
{
    (void)state;
    check_range(5, 7, 3, 4);
    check_range(5, 7, 0, 34);
    check_range(5, 7, 1, 35);
    check_range(40, 50, 17, 1900);
    check_range(4, 1024, 512, 1536); /* as long as a row, and not at its beginning */
    check_range(3, 1000, 1000, 2000);
    check_range(300, 401, 1025, 100000);
    check_range(1, 70000, 3, 69000);
}

/* Elements outside a range that others need: all are computed. */
static void shared_elements(void **state)
{
    (void)state;
    enum { ROWS = 60, COLUMNS = 70, ALL = ROWS * COLUMNS };
    ig_array *whole = elements(ROWS, COLUMNS, IG_F32, false),
             *y = elements(ROWS, COLUMNS, IG_F32, false);
    assert_int_equal(ig_eval(&whole, 1), IG_OK);
    ig_array *made[] = {sum_of(range_of(y, 5, 2000)), sum_of(range_of(y, 100, 3000)), max_of(y),
                        sum_of(range_of(ig_exp(y), 9, ALL)), ig_negative(y)};
    ig_array *want[] = {sum_of(range_of(whole, 5, 2000)), sum_of(range_of(whole, 100, 3000)),
                        max_of(whole), sum_of(range_of(ig_exp(whole), 9, ALL)), ig_negative(whole)};
    assert_int_equal(ig_eval(made, 5), IG_OK);
    for (int i = 0; i < 4; i++)
        expect_same(made[i], want[i], "shared");
    assert_int_equal((int)ig_item(ig_sum_all(ig_astype(ig_not_equal(made[4], want[4]), IG_I32))),
                     0);
}

/* An index out of bounds is found outside the range, too. */
static void indices_are_checked(void **state)
{
    (void)state;
    ig_array *table = ig_arange(0, 10, 1, IG_F32), *at = ig_arange(0, 20, 1, IG_I64);
    ig_array *y =
        sum_of(ig_slice(ig_take(table, at, IG_AXES(0)), IG_SHAPE(0), IG_SHAPE(5), IG_NONE));
    assert_int_not_equal(eval_and_wait(y), IG_OK);
    assert_error(IG_ERR_INDEX, "out of bounds");
}

/* One program, and no memory for the elements. */
static void elements_are_not_stored(void **state)
{
    (void)state;
    ig_array *y = sum_of(range_of(elements(100, 100, IG_F32, false), 50, 9000));
    char *told = ig_explain(&y, 1);
    assert_non_null(told);
    assert_non_null(strstr(told, " in 1 program\n"));
    assert_non_null(strstr(told, "1 x 8950 |"));
    ig_free(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges, begin, end),
        cmocka_unit_test_setup_teardown(shared_elements, begin, end),
        cmocka_unit_test_setup_teardown(indices_are_checked, begin, end),
        cmocka_unit_test_setup_teardown(elements_are_not_stored, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
