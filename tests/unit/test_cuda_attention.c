/* Attention of f16 by the device's native code, replaced by a plain kernel (tests/fakecuda/attend.c), on the fake
 * driver: operands that are views of projections are read by their strides, and the result is stored in their order, so
 * nothing is copied. */
#include "support/cuda.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2, T = 9, HEADS = 3, WIDTH = 8, MOST = N * T * HEADS * WIDTH };

static ig_array *noise(int seed, ig_ints shape)
{
    return ig_astype(ig_normal(ig_key((uint64_t)seed, "philox"), shape, IG_F32, NULL, NULL),
                     IG_F16);
}

/* x (N, T, HEADS * WIDTH) as (N, HEADS, T, WIDTH). */
static ig_array *heads_of(ig_array *x)
{
    return ig_permute_dims(ig_reshape(x, IG_SHAPE(N, T, HEADS, WIDTH)), IG_AXES(0, 2, 1, 3));
}

static ig_array *joined(ig_array *y)
{
    return ig_reshape(ig_permute_dims(y, IG_AXES(0, 2, 1, 3)), IG_SHAPE(N, T, HEADS * WIDTH));
}

/* As in a transformer: three projections. */
static ig_array *projections(void)
{
    ig_array *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = heads_of(noise(i, IG_SHAPE(N, T, HEADS * WIDTH)));
    return joined(ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, false, 0));
}

/* Parts of one projection: their rows are further apart than they are long. */
static ig_array *one_projection(void)
{
    ig_array *all = noise(0, IG_SHAPE(N, T, 3 * HEADS * WIDTH)), *x[3];
    if (ig_eval(&all, 1) != IG_OK)
        return NULL;
    for (int i = 0; i < 3; i++) {
        const ig_index whole = {.kind = IG_INDEX_SLICE, .start = 0, .stop = INT64_MIN, .step = 1};
        const ig_index part[3] = {whole,
                                  whole,
                                  {.kind = IG_INDEX_SLICE,
                                   .start = i * HEADS * WIDTH,
                                   .stop = (i + 1) * HEADS * WIDTH,
                                   .step = 1}};
        x[i] = heads_of(ig_get(all, part, 3));
    }
    return joined(ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, true, 0));
}

/* Texts of different lengths: rows attend to the tokens of their text. */
static ig_array *masked(void)
{
    static const bool attends[N * T] = {1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    ig_array *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = heads_of(noise(i, IG_SHAPE(N, T, HEADS * WIDTH)));
    ig_array *mask =
        ig_reshape(ig_from_data(attends, IG_SHAPE(N, T), IG_BOOL), IG_SHAPE(N, 1, 1, T));
    return joined(ig_scaled_dot_product_attention(x[0], x[1], x[2], mask, false, 0));
}

static ig_array *contiguous(void)
{
    ig_array *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = noise(i, IG_SHAPE(N, HEADS, T, WIDTH));
    return joined(ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, false, 0));
}

static ig_array *three_axes(void)
{
    ig_array *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = noise(i, IG_SHAPE(N * HEADS, T, WIDTH));
    return ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, false, 0);
}

/* More keys, and more products than the device has cores: blocks take several. */
static ig_array *many_keys(void)
{
    ig_array *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = noise(i, IG_SHAPE(N * HEADS, i ? 1030 : T, WIDTH));
    return ig_scaled_dot_product_attention(x[0], x[1], x[2], NULL, false, 0);
}

/* Rows that do not begin at multiples of 16 bytes. */
static ig_array *shifted(void)
{
    ig_array *all = noise(0, IG_SHAPE(N, T, HEADS * WIDTH + 1));
    const ig_index whole = {.kind = IG_INDEX_SLICE, .start = 0, .stop = INT64_MIN, .step = 1};
    const ig_index part[3] = {
        whole, whole, {.kind = IG_INDEX_SLICE, .start = 1, .stop = INT64_MIN, .step = 1}};
    if (ig_eval(&all, 1) != IG_OK)
        return NULL;
    ig_array *x = heads_of(ig_get(all, part, 3));
    return joined(ig_scaled_dot_product_attention(x, x, x, NULL, false, 0));
}

static const struct form {
    ig_array *(*build)(void);
    int copies;
} forms[] = {{projections, 0}, {one_projection, 0}, {masked, 0},   {contiguous, 1},
             {three_axes, 0},  {shifted, 3},        {many_keys, 0}};

static void compute(const char *device, ig_array *(*build)(void), float *to, int *copies)
{
    assert_int_equal(ig_set_device(device), IG_OK);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *x = build();
    assert_non_null(x);
    char *text = ig_explain(&x, 1);
    assert_non_null(text);
    if (copies) {
        assert_non_null(strstr(text, "by tensor cores | attention |"));
        *copies = 0;
        for (const char *at = text; (at = strstr(at, "| copy |")); at++)
            ++*copies;
    }
    ig_free(text);
    assert_int_equal(ig_read(ig_astype(x, IG_F32), to, MOST * sizeof *to), IG_OK);
    ig_scope_end();
}

static void strides_are_read(void **unused)
{
    static float want[MOST], got[MOST];
    (void)unused;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int copies;
        compute("cpu", forms[i].build, want, NULL);
        compute("cuda:0", forms[i].build, got, &copies);
        if (copies != forms[i].copies)
            fail_msg("form %d: %d copies", (int)i, copies);
        for (int k = 0; k < MOST; k++)
            if (!(fabsf(got[k] - want[k]) <= 4e-3f))
                fail_msg("form %d: element %d is %g, not %g", (int)i, k, (double)got[k],
                         (double)want[k]);
    }
}

/* The largest error of the attention of halves in units of its bound; more than 1 if it fails. */
static double bound_used(const struct form *f)
{
    ig_verify_report report = {0};
    assert_int_equal(ig_set_device("cuda:0"), IG_OK);
    assert_int_equal(ig_scope_begin(), IG_OK);
    ig_array *x = f->build();
    if (ig_verify(&x, 1, &report) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    if (report.failed && strcmp(report.op, "attention") != 0)
        fail_msg("%s", report.text);
    ig_scope_end();
    return report.worst_bound;
}

/* Verify finds an error of one percent in the results of native code for halves. */
static void verify_checks_halves(void **unused)
{
    (void)unused;
    const size_t n = getenv("IG_TEST_QUICK") ? 1 : sizeof forms / sizeof *forms;
    double right = 0, wrong = INFINITY;
    for (size_t i = 0; i < n; i++)
        right = fmax(right, bound_used(&forms[i]));
    ig_shutdown();
    setenv("FAKE_CUDA_ATTEND", "1.01f", 1);
    for (size_t i = 0; i < n; i++)
        wrong = fmin(wrong, bound_used(&forms[i]));
    unsetenv("FAKE_CUDA_ATTEND");
    ig_shutdown();
    if (!(right <= 1 && wrong > 1))
        fail_msg("%.3g of the bound if it is right, %.3g if it is wrong", right, wrong);
}

int main(int argc, char **argv)
{
    (void)argc;
    cuda_prepare_hopper(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(strides_are_read, cuda_test_begin, cuda_test_end),
        cmocka_unit_test_setup_teardown(verify_checks_halves, cuda_test_begin, cuda_test_end)};
    return cmocka_run_group_tests(tests, cuda_begin, cuda_end);
}
