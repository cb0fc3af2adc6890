/* Products of f16 with an epilogue in one kernel, replaced by a plain one (tests/fakecuda/attend.c), on the fake
 * driver: the epilogue is fused if it reads only the product, its bias and numbers, and ends in f16. */
#include "support/cuda.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = 150, LARGE = 520, K = 520, N = 136, MOST = 2 * M * N };

static ig_array *noise(int seed, ig_ints shape, double scale)
{
    ig_array *x = ig_normal(ig_key((uint64_t)seed, "philox"), shape, IG_F32, NULL, NULL);
    x = ig_astype(ig_multiply(x, ig_float(scale)), IG_F16);
    return ig_eval(&x, 1) == IG_OK ? x : NULL;
}

static ig_array *product(int rows)
{
    return ig_matmul(noise(0, IG_SHAPE(rows, K), 1), noise(1, IG_SHAPE(K, N), 0.05));
}

static ig_array *with_bias(int rows) { return ig_add(product(rows), noise(2, IG_SHAPE(N), 1)); }
static ig_array *gelu(void) { return ig_gelu(with_bias(M), NULL); }
static ig_array *relu(void) { return ig_relu(product(M)); }
static ig_array *twice(void)
{
    ig_array *y = ig_gelu(with_bias(M), "tanh");
    return ig_add(ig_multiply(y, ig_float(2)), y);
}
static ig_array *transposed(void)
{
    ig_array *w = ig_permute_dims(noise(1, IG_SHAPE(N, K), 0.05), IG_AXES(1, 0));
    return ig_relu(ig_add(ig_matmul(noise(0, IG_SHAPE(M, K), 1), w), noise(2, IG_SHAPE(N), 1)));
}
static ig_array *and_product(void)
{
    ig_array *z = with_bias(M), *both[] = {ig_gelu(z, NULL), z};
    return ig_concat(both, 2, IG_AXES(0));
}
/* Large products leave these ops to other kernels: ops that read another array, or whose result has four bytes. */
static ig_array *residual(void)
{
    return ig_add(ig_gelu(with_bias(LARGE), NULL), noise(3, IG_SHAPE(LARGE, N), 1));
}
static ig_array *wide(void) { return ig_exp(ig_astype(with_bias(LARGE), IG_F32)); }

static const struct form {
    ig_array *(*build)(void);
    const char *first; /* program */
} forms[] = {
    {gelu, "by tensor cores | contract add astype gelu_erf astype |"},
    {relu, "by tensor cores | contract maximum |"},
    {twice, "by tensor cores | contract add astype"},
    {transposed, "by tensor cores | contract add maximum |"},
    {and_product, "by tensor cores | contract add astype"},
    {residual, "by tensor cores | contract add astype gelu_erf astype |"},
    {wide, "by tensor cores | contract add |"},
};

static int compute(const char *device, const struct form *f, float *to)
{
    assert_int_equal(ig_set_device(device), IG_OK);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *x = f->build();
    assert_non_null(x);
    char *text = ig_explain(&x, 1);
    assert_non_null(text);
    if (strcmp(device, "cpu") != 0 && !strstr(text, f->first))
        fail_msg("%s: %s", f->first, text);
    ig_free(text);
    const int n = ig_size(x) > MOST ? 0 : (int)ig_size(x);
    if (n)
        assert_int_equal(ig_read(ig_astype(x, IG_F32), to, (size_t)n * sizeof *to), IG_OK);
    ig_scope_end();
    return n;
}

static void epilogues_are_fused(void **unused)
{
    static float want[MOST], got[MOST];
    (void)unused;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const int n = compute("cpu", &forms[i], want);
        assert_int_equal(compute("cuda:0", &forms[i], got), n);
        for (int k = 0; k < n; k++)
            if (!(fabsf(got[k] - want[k]) <= 4e-3f * (1 + fabsf(want[k]))))
                fail_msg("form %d: element %d is %g, not %g", (int)i, k, (double)got[k],
                         (double)want[k]);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    cuda_prepare_hopper(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(epilogues_are_fused, cuda_test_begin, cuda_test_end)};
    return cmocka_run_group_tests(tests, cuda_begin, cuda_end);
}
