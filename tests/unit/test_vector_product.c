/* Products of few rows by kernels/contract_vector.cu, as lane code on the device gang: against sums in double of the factors that it
 * multiplies, for all formats, shapes and views; each row has the bits that it has alone. */
#include "engine/ops/contract.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

enum { K_MOST = 2560, N_MOST = 400, ROWS_MOST = 9 };

static float x[ROWS_MOST * K_MOST], w[N_MOST * K_MOST], rounded[ROWS_MOST * K_MOST];

static uint64_t state_of_random = 3;
static float random_number(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    const double u = (double)(state_of_random >> 40) / (1 << 24) - 0.5;
    return (float)(u * fabs(u) * 4);
}

static void fill(float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = random_number();
}

/* Groups of 32 as multiples of their largest magnitude / 127. */
static void round_groups(int64_t n)
{
    for (int64_t g = 0; g < n; g += 32) {
        float most = 0;
        for (int i = 0; i < 32; i++)
            most = fmaxf(most, fabsf(x[g + i]));
        for (int i = 0; i < 32; i++)
            rounded[g + i] = most > 0 ? most / 127 * rintf(x[g + i] * (127 / most)) : 0;
    }
}

/* The largest error in units of the sum of the products' magnitudes. */
static double error_of(const float *got, const float *a, const float *b, int64_t m, int64_t n,
                       int64_t k)
{
    double most = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t e = 0; e < k; e++) {
                sum += (double)a[i * k + e] * b[j * k + e];
                size += fabs((double)a[i * k + e] * b[j * k + e]);
            }
            most = fmax(most, fabs(sum - got[i * n + j]) / (size > 0 ? size : 1));
        }
    return most;
}

/* Row i of the product alone must have the same bits. */
static void check_row(ig_array *a, ig_array *b, const float *all, int64_t i, int64_t n)
{
    ig_array *row = ig_slice(a, IG_SHAPE(i, 0), IG_SHAPE(i + 1, ig_dim(a, 1)), IG_SHAPE(1, 1));
    const float *one = ig_data(contract_rounded(ig_add(row, ig_float(0)), b));
    assert_non_null(one);
    assert_memory_equal(one, all + i * n, (size_t)n * sizeof *one);
}

static void check_blocks(const char *format, int64_t m, int64_t n, int64_t k)
{
    ig_scope_begin();
    fill(x, m * k);
    fill(w, n * k);
    round_groups(m * k);
    ig_array *b = ig_quantize(ig_from_data(w, IG_SHAPE(n, k), IG_F32), format, 0);
    ig_array *a = ig_from_data(x, IG_SHAPE(m, k), IG_F32);
    ig_array *plain = b ? ig_add(ig_astype(b, IG_F32), ig_float(0)) : NULL;
    const float *got = plain ? ig_data(contract_rounded(a, b)) : NULL;
    assert_non_null(got);
    const double error = error_of(got, rounded, ig_data(plain), m, n, k);
    if (error > 3e-6)
        fail_msg("%s (%d, %d, %d): error %g", format, (int)m, (int)n, (int)k, error);
    check_row(a, b, got, m - 1, n);
    ig_scope_end();
}

static void test_blocks(void **state)
{
    (void)state;
    static const char *const formats[] = {"q4_0", "q4_1", "q5_0", "q5_1",
                                          "q8_0", "q4_k", "q5_k", "q6_k"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        check_blocks(formats[i], 1, 257, 512);
        check_blocks(formats[i], 1 + (int64_t)i, 300, i < 5 ? 288 : 768);
    }
    check_blocks("q4_0", 1, 256, 2528); /* an odd number of blocks: rows begin at odd words */
}

static void check_plain(ig_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    ig_scope_begin();
    fill(x, m * k);
    fill(w, n * k);
    ig_array *a = ig_astype(ig_from_data(x, IG_SHAPE(m, k), IG_F32), dtype);
    ig_array *b = ig_astype(ig_from_data(w, IG_SHAPE(n, k), IG_F32), dtype);
    ig_array *a32 = ig_add(ig_astype(a, IG_F32), ig_float(0));
    ig_array *b32 = ig_add(ig_astype(b, IG_F32), ig_float(0));
    ig_array *bias = ig_from_data(w, IG_SHAPE(n), IG_F32), *both[2] = {a, b};
    assert_int_equal(ig_eval(both, 2), IG_OK);
    ig_array *in[2] = {a, b};
    ig_array *y = contract_node(OP_tensordot, in, (contract_axes){0, 1, 1, 1}, IG_F32);
    const float *got = ig_data(ig_subtract(ig_add(y, bias), bias)); /* with an epilogue */
    assert_non_null(got);
    const double error = error_of(got, ig_data(a32), ig_data(b32), m, n, k);
    if (error > 3e-6)
        fail_msg("%s (%d, %d, %d): error %g", ig_dtype_name(dtype), (int)m, (int)n, (int)k, error);
    ig_scope_end();
}

static void test_plain(void **state)
{
    (void)state;
    check_plain(IG_F32, 1, 256, 260);
    check_plain(IG_F32, 7, 301, 512);
    check_plain(IG_BF16, 1, 256, 2560);
    check_plain(IG_BF16, 8, 256, 264);
    check_plain(IG_F16, 3, 263, 1024);
    check_plain(IG_F16, 9, 256, 256); /* too many rows: another kernel */
}

/* A NaN or infinity spoils its row, and no other. */
static void test_special(void **state)
{
    (void)state;
    enum { M = 3, N = 256, K = 256 };
    ig_scope_begin();
    fill(x, M * K);
    fill(w, N * K);
    x[K + 5] = NAN;
    x[2 * K + 100] = -INFINITY;
    ig_array *b = ig_quantize(ig_from_data(w, IG_SHAPE(N, K), IG_F32), "q5_0", 0);
    const float *got = ig_data(contract_rounded(ig_from_data(x, IG_SHAPE(M, K), IG_F32), b));
    assert_non_null(got);
    for (int j = 0; j < N; j++) {
        assert_true(isfinite(got[j]));
        assert_true(isnan(got[N + j]) && isnan(got[2 * N + j]));
    }
    memset(x, 0, K * sizeof *x);
    got = ig_data(contract_rounded(ig_from_data(x, IG_SHAPE(1, K), IG_F32), b));
    for (int j = 0; j < N; j++)
        assert_true(got[j] == 0);
    ig_scope_end();
}

static int on_gang(void **state)
{
    (void)state;
    return ig_set_device("gang") == IG_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_special),
    };
    return cmocka_run_group_tests(tests, on_gang, NULL);
}
