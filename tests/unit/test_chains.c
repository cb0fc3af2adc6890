/* Chains of programs that run row by row. A slot with several writers, such as the result of pad or the gradient of a
 * slice, may be written before a chain and again in it. Then the chain must not read other rows of it. */
#include "support/unit.h"

#include <stdlib.h>

/* 1, 2, ... in a shape of two axes. */
static ig_array *counted(int64_t rows, int64_t columns)
{
    ig_array *x = ig_arange(1, (double)(rows * columns + 1), 1, IG_F32);
    return ig_reshape(x, IG_SHAPE(rows, columns));
}

static ig_array *gradient(ig_array *loss, ig_array *x)
{
    ig_array *g = NULL;
    assert_int_equal(ig_grad(loss, &x, 1, &g), IG_OK);
    return g;
}

static ig_array *pad_then_max(void)
{
    ig_array *x = ig_reshape(ig_arange(0, 20, 1, IG_F32), IG_SHAPE(2, 10, 1));
    return ig_max(ig_pad(x, IG_SHAPE(0, 0, 0, 0, 0, 1), "constant", NULL), IG_AXES(0), false);
}

static ig_array *slice_update_then_sum(void)
{
    ig_array *zeros = ig_zeros(IG_SHAPE(2, 5, 2), IG_F32),
             *ones = ig_ones(IG_SHAPE(2, 5, 1), IG_F32);
    return ig_sum(ig_slice_update(zeros, ones, IG_SHAPE(0, 0, 0), IG_NONE), IG_AXES(0),
                  IG_DTYPE_NONE, false);
}

static ig_array *gradient_of_running_product(void)
{
    ig_array *x = counted(5, 2), *y = ig_broadcast_to(x, IG_SHAPE(2, 5, 2));
    return gradient(ig_sum_all(ig_cumulative_prod(y, IG_AXES(2), IG_DTYPE_NONE, false)), x);
}

static ig_array *gradient_of_strided_slice(void)
{
    ig_array *x = counted(5, 2), *by = ig_reshape(ig_arange(0, 20, 1, IG_F32), IG_SHAPE(2, 5, 2));
    ig_array *y = ig_multiply(ig_broadcast_to(x, IG_SHAPE(2, 5, 2)), by);
    ig_array *part = ig_slice(y, IG_SHAPE(0, 0, 0), IG_SHAPE(2, 5, 2), IG_SHAPE(1, 1, 2));
    return gradient(ig_sum_all(ig_multiply(part, part)), x);
}

static ig_array *gradient_of_repeat(void)
{
    ig_array *x = counted(5, 2);
    ig_array *y = ig_repeat(ig_broadcast_to(x, IG_SHAPE(2, 5, 2)), ig_int(2), IG_AXES(2));
    ig_array *part = ig_slice(y, IG_SHAPE(0, 0, 0), IG_SHAPE(2, 5, 4), IG_SHAPE(1, 1, 3));
    return gradient(ig_sum_all(ig_multiply(ig_multiply(part, part), part)), x);
}

static const struct {
    ig_array *(*build)(void);
    int n;
    float want[20];
} cases[] = {
    {pad_then_max, 20, {10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15, 0, 16, 0, 17, 0, 18, 0, 19, 0}},
    {slice_update_then_sum, 10, {2, 0, 2, 0, 2, 0, 2, 0, 2, 0}},
    {gradient_of_running_product, 10, {6, 2, 10, 6, 14, 10, 18, 14, 22, 18}},
    {gradient_of_strided_slice, 10, {200, 0, 888, 0, 2120, 0, 4088, 0, 6984, 0}},
    {gradient_of_repeat, 10, {6, 24, 54, 96, 150, 216, 294, 384, 486, 600}},
};

static void slots_with_several_writers(void **state)
{
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float got[20];
        ig_array *y = cases[i].build();
        const size_t bytes = (size_t)cases[i].n * sizeof *got;
        assert_int_equal(ig_read(y, got, bytes), IG_OK);
        int k = 0;
        while (k < cases[i].n && got[k] == cases[i].want[k])
            k++;
        if (k < cases[i].n)
            print_error("case %d: element %d is %g, not %g\n", (int)i, k, (double)got[k],
                        (double)cases[i].want[k]);
        wrong += k < cases[i].n;
    }
    assert_int_equal(wrong, 0);
}

/* More rows than fit a tile of the CPU or a block of a GPU. */
static void many_rows_with_several_writers(void **state)
{
    (void)state;
    enum { ROWS = 3000, COLUMNS = 2 };
    ig_array *base = ig_zeros(IG_SHAPE(2, ROWS, COLUMNS), IG_F32);
    ig_array *ones = ig_ones(IG_SHAPE(2, ROWS, 1), IG_F32);
    ig_array *y = ig_sum(ig_slice_update(base, ones, IG_SHAPE(0, 0, 0), IG_NONE), IG_AXES(0),
                         IG_DTYPE_NONE, false);
    float *got = malloc(ROWS * COLUMNS * sizeof *got);
    assert_non_null(got);
    assert_int_equal(ig_read(y, got, ROWS * COLUMNS * sizeof *got), IG_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (got[i] != (i % COLUMNS ? 0.0f : 2.0f))
            fail_msg("element %d is %g", i, (double)got[i]);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_with_several_writers, begin, end),
        cmocka_unit_test_setup_teardown(many_rows_with_several_writers, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
