/* All instruction levels give the same bits: sums and other folds, scans, sorts, functions and, with fma, products in math
 * mode same. Each level that the machine supports computes the rows below in a process of its own. `test_levels --bits`
 * prints a hash of each row on one level; the tests' stage levels compares those of two processors. */
#include "support/blocks.h"
#include "engine/backend/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- rows ---- */

/* Name, whether it needs fma for products of floats, and the expression. x is (n, m) and y (m, n). */
#define EACH_ROW(ROW) \
    ROW(sum_all, false, ig_sum(x, IG_NONE, IG_DTYPE_NONE, false)) \
    ROW(sum_columns, false, ig_sum(x, IG_AXES(0), IG_DTYPE_NONE, false)) \
    ROW(sum_rows, false, ig_sum(x, IG_AXES(1), IG_DTYPE_NONE, false)) \
    ROW(sum_strided, false, ig_sum(ig_matrix_transpose(x), IG_AXES(1), IG_DTYPE_NONE, false)) \
    ROW(prod_rows, false, ig_prod(x, IG_AXES(1), IG_DTYPE_NONE, false)) \
    ROW(max_columns, false, ig_max(x, IG_AXES(0), false)) \
    ROW(argmax_rows, false, ig_argmax(x, IG_AXES(1), false)) \
    ROW(variance, false, ig_var(as_float(x), IG_AXES(0), 1, false)) \
    ROW(running, false, ig_cumulative_sum(x, IG_AXES(1), IG_DTYPE_NONE, false)) \
    ROW(sorted, false, ig_sort(x, 1, false, true)) \
    ROW(square, false, ig_add(ig_multiply(x, x), x)) \
    ROW(softmax, false, ig_softmax(as_float(x), IG_AXES(1))) \
    ROW(functions, false, ig_add(ig_exp(ig_tanh(as_float(x))), ig_sin(as_float(x)))) \
    ROW(roots, false, ig_log(ig_add(ig_sqrt(ig_abs(as_float(x))), ig_float(0.5)))) \
    ROW(dots, false, ig_vecdot(x, ig_matrix_transpose(y), -1)) \
    ROW(product, true, ig_matmul(x, y)) \
    ROW(product_row, true, ig_matmul(ig_slice(x, IG_AXES(0), IG_AXES(1), IG_NONE), y)) \
    ROW(product_columns, true, \
        ig_matmul(x, ig_slice(y, IG_AXES(0, 0), IG_AXES(ig_dim(y, 0), 3), IG_NONE))) \
    ROW(gram, true, ig_matmul(x, ig_matrix_transpose(x)))

static const struct row {
    const char *name;
    bool needs_fma;
} rows[] = {
#define ROW(name, needs_fma, result) {#name, needs_fma},
    EACH_ROW(ROW)
#undef ROW
};

static ig_array *build(int row, ig_array *x, ig_array *y)
{
#define ROW(name, needs_fma, result) ROW_##name,
    enum { EACH_ROW(ROW) };
#undef ROW
#define ROW(name, needs_fma, result) \
    case ROW_##name: return result;
    switch (row) {
        EACH_ROW(ROW)
    }
#undef ROW
    return NULL;
}

static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16, IG_I8,
                                  IG_U8,  IG_I16, IG_I32, IG_I64};
static const int64_t shapes[][2] = {{150, 21}, {3, 2100}, {40, 530}};

enum {
    ROWS = sizeof rows / sizeof *rows,
    DTYPES = sizeof dtypes / sizeof *dtypes,
    SHAPES = sizeof shapes / sizeof *shapes,
    RESULTS = ROWS * DTYPES * SHAPES
};

static uint64_t hash_of(ig_array *x)
{
    size_t bytes;
    const unsigned char *at = elements(x, &bytes);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    free((void *)at);
    return hash | 1;
}

/* Hashes of all results on the level in use; 0 where it promises no bits. */
static void compute(uint64_t *to)
{
    const bool fma = strcmp(cpu_level_now()->name, "sse2") != 0;
    ig_set_math(IG_MATH_SAME);
    for (int i = 0; i < SHAPES * DTYPES; i++) {
        const int64_t *n = shapes[i / DTYPES];
        const ig_dtype dtype = dtypes[i % DTYPES];
        ig_scope_begin();
        ig_array *x = drawn_odd(i, IG_SHAPE(n[0], n[1]), dtype, false),
                 *y = drawn_odd(i + 1000, IG_SHAPE(n[1], n[0]), dtype, false);
        for (int r = 0; r < ROWS; r++) {
            const bool promised = fma || !rows[r].needs_fma || !dtype_is_float(dtype);
            to[i * ROWS + r] = promised ? hash_of(build(r, x, y)) : 0;
        }
        ig_scope_end();
    }
}

static const char *name_of(int i, char *text, size_t bytes)
{
    const int64_t *n = shapes[i / ROWS / DTYPES];
    snprintf(text, bytes, "%s (%d, %d) %s", rows[i % ROWS].name, (int)n[0], (int)n[1],
             ig_dtype_name(dtypes[i / ROWS % DTYPES]));
    return text;
}

static void print_bits(void)
{
    static uint64_t bits[RESULTS];
    char name[80];
    compute(bits);
    for (int i = 0; i < RESULTS; i++)
        if (bits[i])
            printf("%s %016llx\n", name_of(i, name, sizeof name), (unsigned long long)bits[i]);
}

/* ---- levels ---- */

/* The same for a level, by another process, since the level is chosen once. False: the machine does not support it. */
static bool compute_on(const char *level, uint64_t *to)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("IG_CPU_LEVEL", level, 1);
        if (strcmp(cpu_level_now()->name, level) != 0)
            _exit(2);
        compute(to);
        const size_t bytes = RESULTS * sizeof *to;
        for (size_t done = 0; done < bytes;)
            done += (size_t)write(ends[1], (char *)to + done, bytes - done);
        _exit(0);
    }
    close(ends[1]);
    size_t done = 0;
    for (ssize_t n; (n = read(ends[0], (char *)to + done, RESULTS * sizeof *to - done)) > 0;)
        done += (size_t)n;
    close(ends[0]);
    int status = 1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) != 2)
        assert_int_equal(done, RESULTS * sizeof *to);
    return WEXITSTATUS(status) == 0;
}

static void test_levels_agree(void **state)
{
    (void)state;
    static const char *const levels[] = {
#define LEVEL(name) #name,
#define LEVEL_ON(name, base, needs) #name,
#include "levels.h"
    };
    static uint64_t right[RESULTS], bits[RESULTS];
    const char *first[RESULTS] = {NULL};
    int wrong = 0;
    char name[80];
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        if (!compute_on(levels[k], bits))
            continue;
        print_message("level %s\n", levels[k]);
        for (int i = 0; i < RESULTS; i++) {
            if (bits[i] && !first[i]) {
                first[i] = levels[k];
                right[i] = bits[i];
            } else if (bits[i] && bits[i] != right[i] && wrong++ < 20)
                print_error("%s: other bits on %s than on %s\n", name_of(i, name, sizeof name),
                            levels[k], first[i]);
        }
    }
    assert_non_null(first[0]);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bits") == 0) {
        print_bits();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
