/* Constants: their arithmetic has the bits of an evaluation of arrays, and elements that nothing else holds can be read and
 * written without one. */
#include "support/unit.h"

#include <string.h>

typedef ig_array *(*binary)(ig_array *x1, ig_array *x2);

/* The op of two constants is a constant, and has the bits of the op of two arrays. */
static void expect_same(binary f, ig_dtype dtype, double a, double b)
{
    ig_array *x = ig_scalar(a, dtype), *y = ig_scalar(b, dtype);
    ig_array *wide =
        f(ig_copy(ig_full(IG_SHAPE(3), x, dtype)), ig_copy(ig_full(IG_SHAPE(3), y, dtype)));
    ig_array *one = f(ig_constant(ig_data(x), dtype), ig_constant(ig_data(y), dtype));
    const size_t bytes = ig_dtype_bytes(ig_dtype_of(one));
    assert_int_equal(ig_dtype_of(one), ig_dtype_of(wide));
    assert_int_equal(ig_ndim(one), 0);
    assert_memory_equal(ig_data(one), ig_data(wide), bytes);
}

static void test_arithmetic(void **state)
{
    static const binary f[] = {ig_add,           ig_subtract, ig_multiply,  ig_less,
                               ig_less_equal,    ig_equal,    ig_not_equal, ig_greater,
                               ig_greater_equal, ig_minimum,  ig_maximum};
    static const double values[] = {0, 1, 3, 100, 0.1, 1e-3, 7.5, 1e30};
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_I8, IG_U8, IG_I32, IG_I64, IG_U64, IG_F16};
    (void)state;
    for (int d = 0; d < 8; d++)
        for (int i = 0; i < 11; i++)
            for (int a = 0; a < 8; a++)
                for (int b = 0; b < 8; b++)
                    if (d < 2 || (a < 4 && b < 4))
                        expect_same(f[i], dtypes[d], values[a], values[b]);
    expect_same(ig_divide, IG_F32, 1, 3);
    expect_same(ig_divide, IG_F32, 1, 0);
    expect_same(ig_divide, IG_F32, 1e-30, 1e10);
    expect_same(ig_divide, IG_F64, 2, 3);
    expect_same(ig_divide, IG_I32, 2, 3);
}

static void test_weak(void **state)
{
    (void)state;
    const float third = 1.0F / 3;
    ig_array *x = ig_constant(&third, IG_F32);
    ig_array *y = ig_add(ig_multiply(x, ig_float(2)), ig_int(1));
    assert_int_equal(ig_dtype_of(y), IG_F32);
    assert_true(ig_is_evaluated(y));
    assert_true((float)ig_item(y) == third * 2 + 1);
    const int8_t small = 100;
    assert_int_equal(ig_item_int(ig_add(ig_constant(&small, IG_I8), ig_constant(&small, IG_I8))),
                     -56);
    assert_null(ig_constant(NULL, IG_F32));
    ig_error(NULL);
    assert_null(ig_constant(&third, IG_C64));
    ig_error(NULL);
    float sum;
    assert_int_equal(ig_op_constant(ig_op_find("add"), IG_F32, &third, &third, &sum), IG_F32);
    assert_true(sum == third + third);
    assert_int_equal(ig_op_constant(ig_op_find("sin"), IG_F32, &third, NULL, &sum), IG_DTYPE_NONE);
}

/* A number that is not a constant has gradients. */
static void test_gradient(void **state)
{
    (void)state;
    const float two = 2;
    ig_array *w = ig_scalar(3, IG_F32),
             *loss = ig_multiply(ig_multiply(w, w), ig_constant(&two, IG_F32)), *g;
    assert_int_equal(ig_grad(loss, &w, 1, &g), IG_OK);
    assert_true(ig_item(g) == 12);
}

static void test_elements(void **state)
{
    (void)state;
    const float data[] = {1, 2, 3, 4};
    ig_array *x = ig_scope_forget(ig_from_data(data, IG_SHAPE(2, 2), IG_F32));
    const float *seen = ig_peek(x);
    assert_non_null(seen);
    assert_true(seen[3] == 4);
    float *own = ig_poke(x);
    assert_non_null(own);
    own[1] = 7;
    assert_true(ig_item(ig_sum(x, IG_NONE, IG_DTYPE_NONE, false)) == 15);
    ig_retain(x);
    assert_null(ig_poke(x));
    ig_release(x);
    assert_null(ig_peek(ig_matrix_transpose(x)));
    assert_null(ig_peek(ig_add(x, x)));
    assert_null(ig_poke(x)); /* the view and the sum hold it */
    assert_null(ig_peek(NULL));
    ig_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arithmetic, begin, end),
        cmocka_unit_test_setup_teardown(test_weak, begin, end),
        cmocka_unit_test_setup_teardown(test_gradient, begin, end),
        cmocka_unit_test_setup_teardown(test_elements, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
