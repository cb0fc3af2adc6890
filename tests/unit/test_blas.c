/* Products by a system BLAS (IG_BLAS=on), compared with our kernels: every layout that it can express, edges, batches,
 * a fused tail; bitwise the same for any number of threads; and the explained schedule names the BLAS. Skipped if no
 * BLAS is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/backend/cpu/contract/blas.h"
#include "ingot.h"

#include <stdlib.h>
#include <string.h>

/* x, or the same values in the transposed layout. */
static ig_array *laid(ig_array *x, bool turned)
{
    if (!turned)
        return x;
    ig_array *y = ig_multiply(ig_matrix_transpose(x), ig_float(1));
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    return ig_matrix_transpose(y);
}

static ig_array *normal(int seed, ig_ints shape, ig_dtype dtype)
{
    ig_array *x = ig_normal(ig_key((uint64_t)seed, NULL), shape, dtype, NULL, NULL);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

/* The largest difference between y and the product in f64, computed as a reduction. */
static double error_of(ig_array *y, ig_array *a, ig_array *b)
{
    ig_array *wide = ig_multiply(ig_expand_dims(ig_astype(a, IG_F64), IG_AXES(-1)),
                                 ig_expand_dims(ig_astype(b, IG_F64), IG_AXES(-3)));
    ig_array *right = ig_sum(wide, IG_AXES(-2), IG_DTYPE_NONE, false);
    return ig_item(ig_max(ig_abs(ig_subtract(ig_astype(y, IG_F64), right)), IG_NONE, false));
}

static bool blas_is_there(void)
{
    if (blas_get())
        return true;
    skip();
    return false;
}

static void products_are_right(void **unused)
{
    (void)unused;
    static const int64_t sizes[][3] = {{128, 128, 128}, {257, 130, 513}, {300, 530, 129}};
    const ig_dtype dtypes[] = {IG_F32, IG_F64};
    if (!blas_is_there())
        return;
    for (int i = 0; i < 3 * 2 * 4; i++) {
        ig_scope_begin();
        const int64_t *s = sizes[i / 8];
        const ig_dtype dtype = dtypes[i / 4 % 2];
        ig_array *a = laid(normal(1, IG_SHAPE(s[0], s[2]), dtype), i & 1);
        ig_array *b = laid(normal(2, IG_SHAPE(s[2], s[1]), dtype), i & 2);
        ig_array *y = ig_matmul(a, b);
        char *plan = ig_explain(&y, 1);
        assert_non_null(plan);
        assert_non_null(strstr(plan, blas_get()->name));
        ig_free(plan);
        assert_true(error_of(y, a, b) < (dtype == IG_F32 ? 1e-4 : 1e-12));
        ig_scope_end();
    }
}

static void threads_change_no_bit(void **unused)
{
    (void)unused;
    if (!blas_is_there())
        return;
    ig_scope_begin();
    ig_array *a = normal(1, IG_SHAPE(3, 700, 200), IG_F32),
             *b = normal(2, IG_SHAPE(3, 200, 600), IG_F32);
    ig_array *first = NULL;
    for (int threads = 1; threads <= 5; threads += 2) {
        ig_set_threads(threads);
        ig_array *y = ig_relu(ig_add(ig_matmul(a, b), ig_float(0.5)));
        assert_int_equal(ig_eval(&y, 1), IG_OK);
        if (!first)
            first = y;
        assert_true(ig_item(ig_all(ig_equal(first, y), IG_NONE, false)) == 1);
    }
    ig_set_threads(0);
    ig_scope_end();
}

/* Too small, integers, overlapping windows: these use our kernels. */
static void others_are_ours(void **unused)
{
    (void)unused;
    if (!blas_is_there())
        return;
    ig_scope_begin();
    ig_array *y[] = {
        ig_matmul(normal(1, IG_SHAPE(64, 300), IG_F32), normal(2, IG_SHAPE(300, 300), IG_F32)),
        ig_matmul(ig_ones(IG_SHAPE(200, 200), IG_I32), ig_ones(IG_SHAPE(200, 200), IG_I32)),
        ig_conv2d(normal(1, IG_SHAPE(1, 32, 30, 30), IG_F32),
                  normal(2, IG_SHAPE(128, 32, 3, 3), IG_F32), NULL, IG_NONE, IG_NONE, IG_NONE, 1),
    };
    for (int i = 0; i < 3; i++) {
        char *plan = ig_explain(&y[i], 1);
        assert_non_null(plan);
        assert_null(strstr(plan, blas_get()->name));
        ig_free(plan);
    }
    ig_scope_end();
}

int main(void)
{
    setenv("IG_BLAS", "on", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(others_are_ours),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ig_shutdown();
    return failed;
}
