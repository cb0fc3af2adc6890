/* Products with quantized matrices by sums of integers: every level has the bits of the lowest one, which is compared with
 * sums of products in double; and contractions by them with plain ones. */
#include "engine/backend/cpu/cpu.h"

#include "engine/backend/cpu/lanes/quant.h"
#include "engine/ops/contract.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEVEL_ON(name, base, needs) LEVEL(name)
#define LEVEL(name) extern const quant_level quant_##name;
#include "levels.h"
#undef LEVEL
#undef LEVEL_ON

static const struct row {
    const char *name;
    const quant_level *quant;
} levels[] = {
#define LEVEL(name) {#name, &quant_##name},
#define LEVEL_ON(name, base, needs) LEVEL(name)
#include "levels.h"
#undef LEVEL
#undef LEVEL_ON
};
enum { LEVELS = sizeof levels / sizeof *levels, ROWS_MOST = 150, K_MOST = 2304 };

static bool is_here(const char *name)
{
    char words[200], *rest;
    snprintf(words, sizeof words, "%s", cpu_level_names());
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (strcmp(word, name) == 0)
            return true;
    return false;
}

static uint64_t state_of_random = 1;
static float random_number(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    const double u = (double)(state_of_random >> 40) / (1 << 24) - 0.5;
    return (float)(u * fabs(u) * 4);
}

static float x[ROWS_MOST * K_MOST], w[QUANT_ROWS * K_MOST], plain[QUANT_ROWS * K_MOST];
static _Alignas(64) char packed[QUANT_ROWS * K_MOST * 4], panel[QUANT_ROWS * K_MOST * 4],
    rounded[ROWS_MOST * K_MOST * 4], scratch[1 << 18];
static float first[ROWS_MOST * QUANT_ROWS], sums[ROWS_MOST * QUANT_ROWS];

/* The largest error, in units of the sum of the products' magnitudes. */
static double error_of(int64_t k, int64_t m, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < m; i++) {
        const quant_x row = quant_row(rounded + (size_t)i * quant_row_bytes(k), k);
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t e = 0; e < k; e++) {
                const double product =
                    (double)row.scale[e / QUANT_GROUP] * row.code[e] * plain[j * k + e];
                sum += product;
                size += fabs(product);
            }
            const double error = fabs(sum - first[i * QUANT_ROWS + j]);
            most = fmax(most, size > 0 ? error / size : error);
        }
    }
    return most;
}

static void check_format(int format, int64_t k, int64_t m, int64_t n)
{
    const storage_row *row = &storage_rows[format];
    const storage s = {(uint16_t)format, (uint16_t)row->elements};
    const int64_t step = storage_bytes(s, IG_F32, k);
    for (int64_t i = 0; i < m * k; i++)
        x[i] = random_number();
    for (int64_t i = 0; i < n * k; i++)
        w[i] = random_number();
    memset(x, 0, QUANT_GROUP * sizeof *x);
    storage_pack(s, n * k, w, packed);
    cpu_level_now()->unpack(s, n * k, plain, packed, 0);
    for (int l = 0; l < LEVELS; l++) {
        const quant_level *q = levels[l].quant;
        const quant_form *f = &q->forms[format];
        if (!is_here(levels[l].name))
            continue;
        assert_true(q->scratch_bytes <= sizeof scratch);
        memset(sums, 0, sizeof sums);
        for (int64_t i = 0; i < m; i++)
            q->round(f, k, x + i * k, rounded + (size_t)i * quant_row_bytes(k));
        q->pack(s, k, n, packed, step, panel);
        q->rows(s, k, m, rounded, panel, n, sums, QUANT_ROWS, scratch);
        if (l == 0)
            memcpy(first, sums, sizeof sums);
        const double error = error_of(k, m, n);
        if (error > 1e-5 || memcmp(first, sums, sizeof sums) != 0)
            fail_msg("%s on %s: k %d, m %d, n %d, error %g", row->name, levels[l].name, (int)k,
                     (int)m, (int)n, error);
    }
}

static void test_levels(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 16}, {2, 5}, {3, 16}, {8, 1}, {13, 16}, {137, 15}};
    for (int format = 0; format < STORAGE_FORMATS; format++) {
        const int super =
            levels[0].quant->forms[format].low ? levels[0].quant->forms[format].super : 0;
        for (size_t i = 0; super && i < sizeof sizes / sizeof *sizes; i++) {
            check_format(format, super, sizes[i][0], sizes[i][1]);
            check_format(format, 3 * super, sizes[i][0], sizes[i][1]);
        }
        if (super)
            check_format(format, K_MOST / super * super, 9, 16);
    }
}

/* x (m, k) times a quantized w (n, k): the errors of rounding are small, no number of threads changes a bit, and mode same does
 * not round. */
static void check_contraction(const char *format, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m * k; i++)
        x[i] = random_number();
    for (int64_t i = 0; i < n * k; i++)
        w[i] = random_number();
    ig_array *a = ig_from_data(x, IG_SHAPE(m, k), IG_F32),
             *b = ig_from_data(w, IG_SHAPE(n, k), IG_F32);
    b = ig_quantize(b, format, 0);
    const float *exact = ig_data(ig_tensordot(a, b, IG_AXES(-1, 1)));
    const int threads = ig_threads();
    const float *one[2];
    for (int i = 0; i < 2; i++) {
        ig_set_threads(i + 1);
        one[i] = ig_data(ig_add(contract_rounded(a, b), ig_float(0)));
        if (!one[i])
            fail_msg("%s", ig_error(NULL));
    }
    ig_set_threads(threads);
    assert_memory_equal(one[0], one[1], (size_t)(m * n) * sizeof(float));
    double error = 0, size = 0;
    for (int64_t i = 0; i < m * n; i++) {
        error += pow((double)one[0][i] - exact[i], 2);
        size += pow(exact[i], 2);
    }
    if (error > 5e-4 * size)
        fail_msg("%s m %d n %d k %d: NMSE %g", format, (int)m, (int)n, (int)k, error / size);
    assert_true(n * m == 1 || error > 0);
    ig_set_math(IG_MATH_SAME);
    const float *same = ig_data(contract_rounded(a, b));
    assert_memory_equal(same, ig_data(ig_tensordot(a, b, IG_AXES(-1, 1))),
                        (size_t)(m * n) * sizeof(float));
    ig_set_math(IG_MATH_STRICT);
}

static void test_contractions(void **state)
{
    static const char *const formats[] = {"q4_0",   "q4_1",   "q5_0", "q5_1", "q8_0",
                                          "q2_k",   "q3_k",   "q4_k", "q5_k", "q6_k",
                                          "iq4_nl", "iq4_xs", "mxfp4"};
    static const int sizes[][3] = {
        {1, 9, 256}, {2, 13, 768}, {7, 16, 512}, {33, 5, 1280}, {149, 15, 2304}};
    (void)state;
    only_on_host("other devices do not round");
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            check_contraction(formats[f], sizes[i][0], sizes[i][1], sizes[i][2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, begin, end),
        cmocka_unit_test_setup_teardown(test_contractions, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
