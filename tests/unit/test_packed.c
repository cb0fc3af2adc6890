/* Matrices that are packed once: products have the same bits before and after, also when the matrix is a part of a
 * larger array, in a mapped file, or was replaced in place; and the panels are freed with the matrix. Panels of many
 * rows are shared in rounds, also with the same bits. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 40, DEEP = 300, WIDE = 500, TIMES = 4 };

static ig_array *numbers_of(int64_t key, ig_ints shape, ig_dtype dtype)
{
    ig_array *x = ig_eval_one(ig_normal(ig_key(key, NULL), shape, dtype, NULL, NULL));
    assert_non_null(x);
    return x;
}

static ig_array *numbers(int64_t key, ig_ints shape) { return numbers_of(key, shape, IG_F32); }

static ig_array *product(ig_array *x, ig_array *w)
{
    return ig_eval_one(ig_tensordot(x, w, IG_AXES(-1, 1)));
}

/* Computes the product several times, each with the bits of a product of new copies. Returns the additional
 * bytes that the library holds. */
static int64_t check_products(ig_array *x, ig_array *w)
{
    const uint64_t before = ig_memory_used();
    for (int i = 0; i < TIMES; i++) {
        ig_scope_begin();
        ig_array *new_x = ig_eval_one(ig_copy(x)), *new_w = ig_eval_one(ig_copy(w));
        const void *apart = ig_data(product(new_x, new_w)), *y = ig_data(product(x, w));
        assert_non_null(apart);
        assert_memory_equal(y, apart,
                            (size_t)(ig_dim(x, 0) * ig_dim(w, 0)) * ig_dtype_bytes(ig_dtype_of(x)));
        ig_scope_end();
    }
    return (int64_t)(ig_memory_used() - before);
}

static void products_of_any_size_have_the_same_bits(void **state)
{
    (void)state;
    const ig_dtype kinds[] = {IG_F32, IG_F64, IG_F16, IG_BF16, IG_I8, IG_U8, IG_I32};
    unsigned seed = 1;
    for (int i = 0; i < 7 * 12; i++) {
        int64_t size[3];
        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245u + 12345u;
            size[k] = 1 + (int64_t)(seed >> 16) % (k == 2 ? 1200 : 700);
        }
        const ig_dtype dtype = kinds[i % 7];
        ig_scope_begin();
        ig_array *x[2];
        for (int k = 0; k < 2; k++) {
            ig_array *y = numbers(2 * i + k, IG_SHAPE(size[k], size[2]));
            x[k] = ig_eval_one(ig_astype(ig_abs(ig_multiply(y, ig_float(9))), dtype));
        }
        check_products(x[0], x[1]);
        ig_scope_end();
    }
}

static void products_have_the_same_bits(void **state)
{
    (void)state;
    const int64_t wide[] = {WIDE, 12 * 40, 768}, deep[] = {DEEP, 512, 1000};
    for (int i = 0; i < 3; i++) {
        const uint64_t before = ig_memory_used();
        ig_scope_begin();
        ig_array *x = numbers(1, IG_SHAPE(ROWS, deep[i]));
        ig_array *w = numbers(2, IG_SHAPE(wide[i], deep[i]));
        /* The panels are kept, and hold at least the matrix. */
        assert_true(check_products(x, w) >= wide[i] * deep[i] * (int64_t)sizeof(float));
        ig_scope_end();
        assert_int_equal(ig_memory_used(), before);
    }
}

/* bf16 panels are kept if a level has instructions for bf16; otherwise panels are f32, twice the size. */
static void products_of_bf16(void **state)
{
    (void)state;
    ig_device_info cpu = {0};
    assert_int_equal(ig_device_get(0, &cpu), IG_OK);
    const bool kept = strcmp(cpu.level, "bf16") == 0 || strcmp(cpu.level, "amx") == 0;
    const int64_t wide[] = {WIDE, 768}, deep[] = {1030, 768};
    for (int i = 0; i < 2; i++) {
        const uint64_t before = ig_memory_used();
        ig_scope_begin();
        ig_array *x = numbers_of(1, IG_SHAPE(ROWS, deep[i]), IG_BF16);
        ig_array *w = numbers_of(2, IG_SHAPE(wide[i], deep[i]), IG_BF16);
        assert_true(check_products(x, w) >= (kept ? wide[i] * deep[i] * 2 : 0));
        ig_scope_end();
        assert_int_equal(ig_memory_used(), before);
    }
}

/* Rows that fill whole panels may be read in place. They have the same bits as with one more row. */
static void whole_panels_of_bf16(void **state)
{
    (void)state;
    enum { PANELS = 128, K = 768, N = 192 };
    ig_array *x = numbers_of(1, IG_SHAPE(PANELS + 1, K), IG_BF16);
    ig_array *w = numbers_of(2, IG_SHAPE(N, K), IG_BF16);
    const ig_index first = {.kind = IG_INDEX_SLICE, .start = 0, .stop = PANELS, .step = 1};
    for (int i = 0; i < TIMES; i++) {
        ig_set_threads(1 + 15 * (i % 2));
        const void *all = ig_data(product(x, w)), *some = ig_data(product(ig_get(x, &first, 1), w));
        assert_non_null(all);
        assert_memory_equal(some, all, PANELS * N * 2);
    }
    ig_set_threads(0);
}

/* The tiles of many threads are cut differently from those of few; the bits are the same. */
static void products_of_many_threads(void **state)
{
    (void)state;
    const int64_t rows[] = {128, 1, 260}, wide[] = {768, 3072, 530};
    for (int i = 0; i < 3; i++) {
        ig_scope_begin();
        ig_array *x = numbers(1, IG_SHAPE(rows[i], DEEP)), *w = numbers(2, IG_SHAPE(wide[i], DEEP));
        ig_set_threads(1);
        const void *alone = ig_data(product(x, w));
        for (int threads = 12; threads <= 16; threads += 4) {
            ig_set_threads(threads);
            assert_memory_equal(ig_data(product(x, w)), alone,
                                (size_t)(rows[i] * wide[i]) * sizeof(float));
        }
        ig_scope_end();
    }
    ig_set_threads(0);
}

/* Few rows have special kernels. The columns fill whole panels or not; k is one block or several. */
static void few_rows_have_the_same_bits(void **state)
{
    (void)state;
    const int64_t wide[] = {768, 501, 1100}, deep[] = {768, 255, 130};
    for (int i = 0; i < 2 * 3 * 9; i++) {
        const ig_dtype dtype = i % 2 ? IG_F64 : IG_F32;
        const int64_t k = deep[i / 2 % 3], n = wide[i / 2 % 3],
                      bytes = n * k * (int64_t)ig_dtype_bytes(dtype);
        ig_set_threads(1 + i % 3);
        ig_scope_begin();
        ig_array *x = numbers_of(1, IG_SHAPE(1 + i / 6, k), dtype);
        ig_array *w = numbers_of(2, IG_SHAPE(n, k), dtype),
                 *bias = numbers_of(3, IG_SHAPE(n), dtype);
        assert_true(check_products(x, w) >= bytes);
        /* With an epilogue, whose tiles are in scratch. */
        ig_array *sum = ig_eval_one(ig_add(ig_tensordot(x, w, IG_AXES(-1, 1)), bias));
        ig_array *apart = ig_eval_one(ig_add(product(x, w), bias));
        assert_memory_equal(ig_data(sum), ig_data(apart),
                            (size_t)(ig_dim(x, 0) * n) * ig_dtype_bytes(dtype));
        ig_scope_end();
    }
    ig_set_threads(0);
}

/* Matrices of one buffer have separate panels. */
static void parts_of_an_array(void **state)
{
    (void)state;
    ig_array *x = numbers(1, IG_SHAPE(ROWS, DEEP)), *all = numbers(2, IG_SHAPE(3, WIDE, DEEP));
    for (int i = 0; i < 3; i++) {
        const ig_index at = {.kind = IG_INDEX_INT, .start = i};
        check_products(x, ig_get(all, &at, 1));
    }
    const ig_index rows = {.kind = IG_INDEX_SLICE, .start = 5, .stop = WIDE, .step = 1};
    const ig_index both[2] = {{.kind = IG_INDEX_INT, .start = 1}, rows};
    check_products(x, ig_get(all, both, 2));
}

/* An evaluation that writes its result over the matrix. */
static void a_donated_matrix(void **state)
{
    (void)state;
    ig_array *x = numbers(1, IG_SHAPE(ROWS, DEEP));
    ig_array *w = ig_scope_forget(numbers(2, IG_SHAPE(WIDE, DEEP)));
    for (int i = 0; i < 3; i++) {
        check_products(x, w);
        ig_array *next = ig_scope_forget(ig_multiply(w, ig_float(-2)));
        assert_int_equal(ig_eval_donating(&next, 1, &w, 1), IG_OK);
        ig_release(w);
        w = next;
    }
    check_products(x, w);
    ig_release(w);
}

static void a_mapped_file(void **state)
{
    (void)state;
    char path[] = "/tmp/packed-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const char *names[] = {"first", "second"};
    ig_array *w[2] = {numbers(2, IG_SHAPE(WIDE, DEEP)), numbers(3, IG_SHAPE(WIDE, DEEP))};
    ig_tensors *saved = ig_tensors_new(), *file;
    for (int i = 0; i < 2; i++)
        assert_int_equal(ig_tensors_put(saved, names[i], w[i]), IG_OK);
    assert_int_equal(ig_tensors_save(saved, path), IG_OK);
    ig_tensors_free(saved);
    ig_array *x = numbers(1, IG_SHAPE(ROWS, DEEP));
    file = ig_tensors_map(path);
    assert_non_null(file);
    for (int i = 0; i < 2; i++) {
        ig_array *mapped = ig_tensors_get(file, names[i]);
        check_products(x, mapped);
        /* Its pages were released, and are read again. */
        assert_memory_equal(ig_data(mapped), ig_data(w[i]), WIDE * DEEP * sizeof(float));
    }
    ig_tensors_free(file);
    unlink(path);
}

/* With this many rows, panels are shared in rounds. Each row has the same bits as with few rows. */
static void rounds_of_rows(void **state)
{
    (void)state;
    enum { MANY = 1040, COLUMNS = 768, POINTS = 2304, SOME = 9 };
    ig_array *x = numbers(1, IG_SHAPE(MANY, POINTS));
    ig_array *w = numbers(2, IG_SHAPE(COLUMNS, POINTS));
    for (int threads = 1; threads <= 4; threads += threads == 1 ? 1 : 2) {
        ig_set_threads(threads);
        const float *all = ig_data(product(x, w));
        assert_non_null(all);
        for (int64_t first = 0; first < MANY; first += 515) {
            const ig_index rows = {
                .kind = IG_INDEX_SLICE, .start = first, .stop = first + SOME, .step = 1};
            assert_memory_equal(ig_data(product(ig_get(x, &rows, 1), w)), all + first * COLUMNS,
                                SOME * COLUMNS * sizeof(float));
        }
    }
    ig_set_threads(0);
}

/* Evaluates x immediately if `now`: each op is then a separate program. */
static ig_array *step_of(ig_array *x, bool now) { return now ? ig_eval_one(x) : x; }

/* gelu((x w^T + bias) + rest), with a rounding to the dtype after each op. `last` selects the end of the epilogue: the
 * second sum, gelu, gelu in f32, or the square of the second sum together with its sum in f32. */
static ig_array *layer(ig_array *const *in, int last, bool now)
{
    ig_array *y = step_of(ig_tensordot(in[0], in[1], IG_AXES(-1, 1)), now);
    y = step_of(ig_add(y, in[2]), now);
    y = step_of(ig_add(in[3], y), now);
    if (last == 1)
        return ig_eval_one(ig_gelu(y, "none"));
    if (last == 2)
        return ig_eval_one(ig_gelu(step_of(ig_astype(y, IG_F32), now), "none"));
    if (last == 3)
        return ig_eval_one(
            ig_add(step_of(ig_multiply(y, y), now), step_of(ig_astype(y, ig_dtype_of(y)), now)));
    return ig_eval_one(y);
}

/* Epilogues of 16-bit floats in one program have the same bits as separate programs for each op, also for infinities,
 * NaN and numbers that are denormal in bf16. */
static void epilogues_of_halves_have_the_same_bits(void **state)
{
    (void)state;
    static const ig_dtype dtypes[] = {IG_BF16, IG_F16};
    static const double factor[] = {1, 1e-38, INFINITY};
    for (int i = 0; i < 2 * 3 * 4; i++) {
        const ig_dtype dtype = dtypes[i % 2];
        const int64_t rows = i % 3 ? 33 : 64, wide = i % 5 ? 300 : 64;
        ig_scope_begin();
        ig_array *const in[] = {
            numbers_of(1, IG_SHAPE(rows, 96), dtype), numbers_of(2, IG_SHAPE(wide, 96), dtype),
            ig_eval_one(ig_astype(
                ig_multiply(numbers(3, IG_SHAPE(wide)), ig_float(factor[i / 2 % 3])), dtype)),
            numbers_of(4, IG_SHAPE(rows, wide), dtype)};
        ig_array *together = layer(in, i / 6, false), *apart = layer(in, i / 6, true);
        assert_non_null(together);
        assert_int_equal(ig_dtype_of(together), ig_dtype_of(apart));
        assert_memory_equal(ig_data(together), ig_data(apart),
                            (size_t)(rows * wide) * ig_dtype_bytes(ig_dtype_of(together)));
        ig_scope_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_have_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(products_of_any_size_have_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(products_of_bf16, begin, end),
        cmocka_unit_test_setup_teardown(whole_panels_of_bf16, begin, end),
        cmocka_unit_test_setup_teardown(products_of_many_threads, begin, end),
        cmocka_unit_test_setup_teardown(few_rows_have_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(epilogues_of_halves_have_the_same_bits, begin, end),
        cmocka_unit_test_setup_teardown(parts_of_an_array, begin, end),
        cmocka_unit_test_setup_teardown(a_donated_matrix, begin, end),
        cmocka_unit_test_setup_teardown(a_mapped_file, begin, end),
        cmocka_unit_test_setup_teardown(rounds_of_rows, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
