/* Contractions have the same bits for any number of threads, any layout, any number of other rows, and fused or not. All
 * tests run on each level that the machine supports, or only on IG_CPU_LEVEL. */
#include "support/contract.h"

#include <stdlib.h>
#include <string.h>

enum { DTYPES = CONTRACT_DTYPES };
static const ig_dtype *const dtypes = contract_dtypes;

/* A product of few rows (or columns) has the same bits as the same rows among many, which are packed. */
static void check_few_among_many(ig_dtype dtype, bool columns, int64_t few, int64_t others,
                                 int64_t k, layout how0, layout how1)
{
    enum { MANY = 40 };
    const int64_t shape[3] = {columns ? others : MANY, columns ? MANY : others, k};
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype), rows = columns ? others : few;
    const int64_t row = (columns ? few : others) * bytes;
    const int64_t row_among = (columns ? MANY : others) * bytes;
    work w;
    work_make(&w, dtype, (const int[]){0, 1, 1, 1}, shape, how0, how1);
    work_run(&w, 1, false);
    char *among = w.buf[OUT].data;
    w.p.extent[columns ? 2 : 1] = w.p.in[columns].v.shape[0] = few;
    view_contiguous(&w.operand[0].v, 3, w.p.extent);
    memcpy(w.p.post.shape, w.operand[0].v.shape, sizeof w.p.post.shape);
    w.p.post.size = view_size(&w.operand[0].v);
    work_buffer(&w, OUT, dtype, w.p.post.size);
    for (int threads = 1; threads <= 3; threads += 2) {
        memset(w.buf[OUT].data, 0xff, w.buf[OUT].bytes);
        work_run(&w, threads, false);
        for (int64_t i = 0; i < rows; i++)
            if (memcmp((char *)w.buf[OUT].data + i * row, among + i * row_among, (size_t)row) != 0)
                fail_msg("%s: %lld %s by %lld, k %lld, %d threads: row %lld has other bits",
                         ig_dtype_name(dtype), (long long)few, columns ? "columns" : "rows",
                         (long long)others, (long long)k, threads, (long long)i);
    }
    free(among);
    work_free(&w);
}

static void test_few_rows_have_the_bits_of_many(void **state)
{
    (void)state;
    static const ig_dtype floats[] = {IG_F32, IG_F64, IG_F16, IG_BF16};
    static const int64_t others[] = {45, 133, 1100, 5003}, ks[] = {1, 7, 14, 256, 530};
    for (int i = 0; i < 4 * 4 * 5; i += step(7)) {
        const bool once = step(2) > 1 && others[i / 20] * ks[i / 4 % 5] > 500000;
        for (int64_t few = 1 + i % 3; few <= 9; few += once ? 9 : 2 + i % 2) {
            const layout how0 = i / 2 % 2 ? REVERSED : PLAIN, how1 = i / 3 % 2 ? REVERSED : PLAIN;
            check_few_among_many(floats[i % 4], few % 2, few, others[i / 20], ks[i / 4 % 5], how0,
                                 how1);
            check_few_among_many(floats[i % 4], few % 2 == 0, few, others[i / 20], ks[i / 4 % 5],
                                 how0, how1 == PLAIN ? REVERSED : PLAIN);
        }
    }
    for (int i = 0; i < 4; i++) /* enough work for several threads, but hardly any rows */
        check_few_among_many(floats[i], false, 1 + i, 20 + 13 * i, 30000, PLAIN, REVERSED);
}

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    static const int threads[] = {2, 3, 8};
    static const int64_t shapes[][4] = {{1, 140, 311, 301}, {7, 33, 65, 29}, {1, 5, 1700, 300}};
    for (int i = 0; i < 3 * DTYPES; i++) {
        work w;
        if ((i + i / DTYPES) % step(2))
            continue;
        work_make(&w, dtypes[i % DTYPES], (const int[]){1, 1, 1, 1}, shapes[i / DTYPES], PLAIN,
                  REVERSED);
        const size_t bytes = w.buf[OUT].bytes;
        void *first = malloc(bytes);
        assert_non_null(first);
        work_run(&w, 1, false);
        memcpy(first, w.buf[OUT].data, bytes);
        for (int t = 0; t < 3; t++) {
            memset(w.buf[OUT].data, 0x55, bytes);
            work_run(&w, threads[t], false);
            assert_memory_equal(first, w.buf[OUT].data, bytes);
        }
        free(first);
        work_free(&w);
    }
}

/* For any layout of the elements, whether or not they are packed. */
static void test_same_bits_for_any_layout(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 700},   {9, 1, 1, 77},   {1, 1, 300, 600},
                                        {1, 300, 1, 65},  {2, 3, 77, 530}, {2, 40, 50, 300},
                                        {1, 61, 100, 530}};
    static const layout hows[][2] = {{PLAIN, REVERSED},  {REVERSED, PLAIN}, {REVERSED, REVERSED},
                                     {FLIPPED, FLIPPED}, {GAPPED, GAPPED},  {GAPPED, PLAIN}};
    for (int i = 0; i < 7 * DTYPES; i++) {
        work plain;
        const ig_dtype dtype = dtypes[i % DTYPES];
        const int ndim[] = {1, 1, 1, 1};
        work_make(&plain, dtype, ndim, shapes[i / DTYPES], PLAIN, PLAIN);
        work_run(&plain, 2, false);
        for (int j = i % step(3); j < 6; j += step(3)) {
            work w;
            work_make(&w, dtype, ndim, shapes[i / DTYPES], hows[j][0], hows[j][1]);
            work_copy_inputs(&w, &plain);
            work_run(&w, 2, false);
            assert_memory_equal(plain.buf[OUT].data, w.buf[OUT].data, w.buf[OUT].bytes);
            work_free(&w);
        }
        work_free(&plain);
    }
}

/* A row has the same bits among few rows and among many. */
static void test_same_bits_for_any_other_rows(void **state)
{
    (void)state;
    enum { M = 30, N = 110, K = 333 };
    for (int i = 0; i < DTYPES; i++)
        for (int64_t few = 1; few <= 5; few++) {
            work all, some;
            const int64_t m = few % 2 ? few : M, n = few % 2 ? N : few;
            work_make(&all, dtypes[i], (const int[]){0, 1, 1, 1}, (const int64_t[]){M, N, K}, PLAIN,
                      few > 2 ? PLAIN : REVERSED);
            work_make(&some, dtypes[i], (const int[]){0, 1, 1, 1}, (const int64_t[]){m, n, K},
                      PLAIN, few > 2 ? PLAIN : REVERSED);
            work_copy_inputs(&some, &all);
            work_run(&all, 1, false);
            work_run(&some, 1, false);
            const size_t bytes = ig_dtype_bytes(dtypes[i]);
            for (int64_t r = 0; r < m; r++)
                assert_memory_equal((char *)some.buf[OUT].data + (size_t)(r * n) * bytes,
                                    (char *)all.buf[OUT].data + (size_t)(r * N) * bytes,
                                    (size_t)n * bytes);
            work_free(&some);
            work_free(&all);
        }
}

/* The sum of two stored elements, as the tape's add gives it. */
static void add_elements(ig_dtype dtype, void *to, const void *x, const void *y)
{
    const size_t bytes = ig_dtype_bytes(dtype);
    if (dtype == IG_F64) {
        dtype_store(dtype, to, dtype_fetch(dtype, x) + dtype_fetch(dtype, y));
    } else if (dtype_is_float(dtype)) {
        const float value = (float)dtype_fetch(dtype, x) + (float)dtype_fetch(dtype, y);
        dtype_store(dtype, to, (double)value);
    } else {
        uint64_t a = 0, b = 0;
        memcpy(&a, x, bytes);
        memcpy(&b, y, bytes);
        a += b;
        memcpy(to, &a, bytes);
    }
}

static void test_fused_is_unfused(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{45, 10, 300}, {45, 67, 300}, {19, 1100, 33}};
    for (int i = 0; i < 3 * DTYPES; i++) {
        work w;
        const ig_dtype dtype = dtypes[i % DTYPES];
        work_make(&w, dtype, (const int[]){0, 1, 1, 1}, shapes[i / DTYPES], PLAIN, PLAIN);
        const size_t bytes = w.buf[OUT].bytes;
        const int64_t element = (int64_t)ig_dtype_bytes(dtype);
        char *plain = malloc(bytes);
        assert_non_null(plain);
        work_run(&w, 2, false);
        memcpy(plain, w.buf[OUT].data, bytes);
        for (int64_t j = 0; j < w.p.post.size; j++)
            add_elements(dtype, plain + j * element, plain + j * element,
                         (char *)w.buf[BIAS].data + j % w.p.extent[2] * element);
        work_run(&w, 2, true);
        assert_memory_equal(plain, w.buf[OUT].data, bytes);
        free(plain);
        work_free(&w);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_rows_have_the_bits_of_many),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_same_bits_for_any_layout),
        cmocka_unit_test(test_same_bits_for_any_other_rows),
        cmocka_unit_test(test_fused_is_unfused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return run_on_levels(run_all); }
