/* Products by cuBLASLt and convolutions by cuDNN, both replaced by plain loops (tests/fakecuda/libraries.c), on the
 * fake driver: results equal the CPU's; if a library has no algorithm, our kernels do the work; an error names the
 * library and how to avoid it; math mode `same` uses no library. */
#include "support/cuda.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 130, K = 128, MOST = 2 * 65 * 520 };

static ig_array *noise(int seed, ig_ints shape)
{
    return ig_normal(ig_key((uint64_t)seed, "philox"), shape, IG_F32, NULL, NULL);
}

/* ---- expressions; each is large enough for a library ---- */

static ig_array *product(void)
{
    return ig_matmul(noise(0, IG_SHAPE(N, K)), noise(1, IG_SHAPE(K, N)));
}

static ig_array *transposed(void)
{
    return ig_matmul(ig_matrix_transpose(noise(0, IG_SHAPE(K, N))),
                     ig_matrix_transpose(noise(1, IG_SHAPE(N, K))));
}

static ig_array *batched(void)
{
    return ig_matmul(noise(0, IG_SHAPE(3, N, K)), noise(1, IG_SHAPE(K, N)));
}

static ig_array *biased(void) { return ig_add(product(), noise(2, IG_SHAPE(N))); }

static ig_array *activated(void)
{
    return ig_relu(ig_matmul(noise(0, IG_SHAPE(N, 2048)), noise(1, IG_SHAPE(2048, N))));
}

/* Few products, with many terms each. */
static ig_array *narrow(void)
{
    return ig_relu(ig_matmul(noise(0, IG_SHAPE(4, 600)), noise(1, IG_SHAPE(600, 5))));
}

/* As in a transformer: layers around a norm. */
static ig_array *layers(void)
{
    ig_array *x = noise(0, IG_SHAPE(2, 65, 520)), *w = noise(1, IG_SHAPE(520, 520));
    ig_array *y = ig_add(ig_multiply(ig_matmul(x, w), ig_float(0.05)), noise(2, IG_SHAPE(520)));
    x = ig_layer_norm(ig_add(x, y), NULL, NULL, IG_AXES(-1), 1e-5);
    y = ig_add(ig_matmul(x, w), noise(3, IG_SHAPE(520)));
    return ig_multiply(ig_gelu(y, "none"), ig_float(0.05));
}

static ig_array *linear(void)
{
    return ig_add(ig_matmul(noise(0, IG_SHAPE(2, 65, 520)), noise(1, IG_SHAPE(520, 520))),
                  noise(2, IG_SHAPE(520)));
}

/* The rows of the product are two axes: texts and tokens. */
static ig_array *tokens(void)
{
    ig_array *x = noise(0, IG_SHAPE(2, 65, 520)), *w = noise(1, IG_SHAPE(520, 520));
    ig_array *y = ig_add(ig_tensordot(x, w, IG_AXES(-1, 1)), noise(2, IG_SHAPE(520)));
    return ig_layer_norm(ig_add(x, y), NULL, NULL, IG_AXES(-1), 1e-5);
}

static ig_array *convolution(void)
{
    return ig_conv2d(noise(0, IG_SHAPE(2, 4, 9, 8)), noise(1, IG_SHAPE(6, 2, 3, 3)),
                     noise(2, IG_SHAPE(6)), IG_AXES(2, 1), IG_AXES(1, 2), IG_AXES(1), 2);
}

/* With `refused`, cuDNN has no engine for the gradients. */
static ig_array *gradient(int which, bool refused)
{
    ig_array *in[2] = {noise(0, IG_SHAPE(2, 4, 9, 8)), noise(1, IG_SHAPE(6, 4, 3, 3))}, *out;
    ig_array *y = ig_conv2d(in[0], in[1], NULL, IG_NONE, IG_AXES(1), IG_NONE, 1);
    ig_array *loss = ig_sum(ig_multiply(y, y), IG_NONE, IG_DTYPE_NONE, false);
    if (refused)
        setenv("FAKE_LIBRARY_REFUSE", "1", 1);
    const ig_status status = ig_grad(loss, &in[which], 1, &out);
    unsetenv("FAKE_LIBRARY_REFUSE");
    return status == IG_OK ? out : NULL;
}

static ig_array *gradient_x(void) { return gradient(0, false); }
static ig_array *gradient_weight(void) { return gradient(1, false); }
static ig_array *refused_x(void) { return gradient(0, true); }
static ig_array *refused_weight(void) { return gradient(1, true); }

static const struct expression {
    ig_array *(*build)(void);
    const char *by;
} expressions[] = {
    {product, "by cuBLASLt"},
    {transposed, "by cuBLASLt"},
    {batched, "by cuBLASLt"},
    {biased, "by cuBLASLt"},
    {activated, "by cuBLASLt"},
    {narrow, "by cuBLASLt"},
    {convolution, "by cuDNN"},
    {gradient_x, "by cuDNN"},
    {gradient_weight, "by cuDNN"},
    {layers, "by cuBLASLt | contract add |"},
    {linear, "by cuBLASLt | contract add |"},
    {tokens, "by cuBLASLt | contract add |"},
};
enum { EXPRESSIONS = sizeof expressions / sizeof expressions[0] };

static bool runs_by(ig_array *(*build)(void), const char *by)
{
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *x = build();
    char *text = ig_explain(&x, 1);
    assert_non_null(text);
    const bool found = strstr(text, by) != NULL;
    ig_free(text);
    ig_scope_end();
    return found;
}

static void compare(int i, bool by_library)
{
    static float want[MOST], got[MOST];
    const int n = cuda_compute("cpu", expressions[i].build, want, MOST);
    assert_true(n > 0);
    assert_int_equal(cuda_compute("cuda:0", expressions[i].build, got, MOST), n);
    assert_int_equal(runs_by(expressions[i].build, expressions[i].by), by_library);
    for (int k = 0; k < n; k++)
        if (!(fabsf(got[k] - want[k]) <= 1e-3f * (1 + fabsf(want[k]))))
            fail_msg("expression %d: element %d is %g, not %g", i, k, (double)got[k],
                     (double)want[k]);
}

static void results_are_those_of_the_cpu(void **unused)
{
    (void)unused;
    for (int i = 0; i < EXPRESSIONS; i++)
        compare(i, true);
}

/* A product followed by a norm or an activation is a separate program, not part of a chain. */
static void products_stay_alone(void **unused)
{
    (void)unused;
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *x = layers();
    char *text = ig_explain(&x, 1);
    assert_non_null(text);
    int products = 0;
    for (const char *at = text; (at = strstr(at, "by cuBLASLt | contract")); at++)
        products++;
    assert_int_equal(products, 2);
    assert_null(strstr(text, "/contract"));
    assert_null(strstr(text, "|contract"));
    ig_free(text);
    ig_scope_end();
}

static void our_kernels_take_over(void **unused)
{
    (void)unused;
    setenv("FAKE_LIBRARY_REFUSE", "1", 1);
    ig_shutdown(); /* forgets schedules and cuDNN's answers */
    assert_int_equal(ig_set_device("cuda:0"), IG_OK);
    compare(0, false);
    compare(6, false);
    unsetenv("FAKE_LIBRARY_REFUSE");
    ig_shutdown();
}

/* cuDNN rejects the problem while the gradients are built: they are derived from the definitions. */
static void gradients_may_be_ours(void **unused)
{
    static float want[MOST], got[MOST];
    (void)unused;
    for (int which = 0; which < 2; which++) {
        ig_array *(*const build)(void) = which ? refused_weight : refused_x;
        const int n = cuda_compute("cpu", which ? gradient_weight : gradient_x, want, MOST);
        ig_shutdown();
        assert_int_equal(cuda_compute("cuda:0", build, got, MOST), n);
        for (int k = 0; k < n; k++)
            if (!(fabsf(got[k] - want[k]) <= 1e-3f * (1 + fabsf(want[k]))))
                fail_msg("element %d is %g, not %g", k, (double)got[k], (double)want[k]);
    }
}

static void an_error_names_the_library(void **unused)
{
    static float got[MOST];
    (void)unused;
    setenv("FAKE_LIBRARY_FAIL", "1", 1);
    assert_int_equal(cuda_compute("cuda:0", product, got, MOST), 0);
    assert_error(IG_ERR_DEVICE, "cuBLASLt failed with status 13; IG_CUBLASLT=off avoids it");
    assert_int_equal(cuda_compute("cuda:0", convolution, got, MOST), 0);
    assert_error(IG_ERR_DEVICE, "cuDNN failed with status 13; IG_CUDNN=off avoids it");
    unsetenv("FAKE_LIBRARY_FAIL");
}

static void mode_same_uses_none(void **unused)
{
    static float want[MOST], got[MOST];
    (void)unused;
    assert_int_equal(ig_set_math(IG_MATH_SAME), IG_OK);
    const int n = cuda_compute("cpu", product, want, MOST);
    assert_int_equal(cuda_compute("cuda:0", product, got, MOST), n);
    assert_memory_equal(got, want, (size_t)n * sizeof *got);
    assert_false(runs_by(product, "by cuBLASLt"));
    assert_false(runs_by(convolution, "by cuDNN"));
    assert_int_equal(ig_set_math(IG_MATH_STRICT), IG_OK);
}

int main(int argc, char **argv)
{
    (void)argc;
    cuda_prepare(argv[0]);
    setenv("IG_CUBLASLT", cuda_library("libraries.so"), 1);
    setenv("IG_CUDNN", cuda_library("libraries.so"), 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_are_those_of_the_cpu, cuda_test_begin,
                                        cuda_test_end),
        cmocka_unit_test_setup_teardown(products_stay_alone, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(our_kernels_take_over, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(gradients_may_be_ours, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(an_error_names_the_library, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(mode_same_uses_none, cuda_test_begin, cuda_test_end),
    };
    return cmocka_run_group_tests(tests, cuda_begin, cuda_end);
}
