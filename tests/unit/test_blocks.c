/* Evaluation block by block: each expression over arrays that are read in chunks has the bits of the same expression
 * over arrays in memory, for random shapes, chunks and sizes of blocks; and in the smallest memory that has a plan.
 * (test_blocks_*: sinks and functions of blocks, long rows, sorts, sets.) */
#include "support/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ---- */

/* x and y are (n, m), z is (m,). */
typedef ig_array *(*expression)(ig_array *x, ig_array *y, ig_array *z);

static ig_array *centred(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_subtract(x, ig_mean(x, IG_AXES(0), false));
}
static ig_array *centred_rows(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_subtract(x, ig_mean(x, IG_AXES(1), true));
}
static ig_array *total(ig_array *x, ig_array *y, ig_array *z)
{
    return ig_sum(ig_multiply(ig_add(x, z), y), IG_NONE, IG_DTYPE_NONE, false);
}
static ig_array *columns(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_sum(ig_exp(ig_minimum(x, y)), IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *spread(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_std(x, IG_AXES(0), 0, false);
}
static ig_array *spread_all(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_std(x, IG_NONE, 0, false);
}
static ig_array *largest(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_max(ig_subtract(x, y), IG_NONE, false);
}
static ig_array *place_of_largest(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_argmax(ig_round(x), IG_NONE, false);
}
static ig_array *place_in_columns(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_argmin(ig_round(x), IG_AXES(0), true);
}
static ig_array *gram(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_matmul(ig_matrix_transpose(x), y);
}
static ig_array *gram_rows(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_matmul(x, ig_matrix_transpose(y));
}
/* Parts of one array that lie far apart */
static ig_array *from_first(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    const int64_t n = ig_dim(x, 0);
    ig_array *first = ig_slice(x, IG_AXES(0), IG_AXES(1), IG_NONE),
             *last = ig_slice(y, IG_AXES(n - 1), IG_AXES(n), IG_NONE);
    return ig_multiply(ig_subtract(x, first), ig_add(y, last));
}
static ig_array *mirrored(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y;
    ig_array *w = ig_multiply(x, z);
    return ig_subtract(w, ig_flip(w, IG_AXES(0)));
}
static ig_array *own_gram_rows(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y;
    ig_array *w = ig_add(
        ig_slice(x, IG_AXES(0), IG_AXES(ig_dim(x, 0) < 500 ? ig_dim(x, 0) : 500), IG_NONE), z);
    return ig_sum(ig_matmul(w, ig_matrix_transpose(w)), IG_AXES(1), IG_DTYPE_NONE, false);
}
static ig_array *turned(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y;
    return ig_add(ig_matrix_transpose(ig_flip(x, IG_AXES(0))), ig_expand_dims(z, IG_AXES(1)));
}
static ig_array *flat(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_multiply(ig_reshape(x, IG_SHAPE(-1)), ig_reshape(y, IG_SHAPE(-1)));
}
static ig_array *sliced(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    const int64_t n = ig_dim(x, 0);
    if (n < 3)
        return ig_add(x, y);
    ig_array *up = ig_slice(x, IG_AXES(0), IG_AXES(n - 2), IG_NONE),
             *down = ig_slice(y, IG_AXES(2), IG_AXES(n), IG_NONE);
    return ig_subtract(up, down);
}
static ig_array *joined(ig_array *x, ig_array *y, ig_array *z)
{
    ig_array *parts[3] = {x, ig_expand_dims(z, IG_AXES(0)), y};
    return ig_multiply(ig_concat(parts, 3, IG_AXES(0)), ig_float(2));
}
static ig_array *rolled(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_add(x, ig_roll(x, IG_AXES(1), IG_AXES(0)));
}
static ig_array *running(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_cumulative_sum(x, IG_AXES(1), IG_DTYPE_NONE, false);
}
static ig_array *running_down(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_cumulative_sum(x, IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *running_product(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_cumulative_prod(x, IG_AXES(0), IG_DTYPE_NONE, true);
}
static ig_array *running_most(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_add(ig_cumulative_max(ig_subtract(x, y), IG_AXES(0)),
                  ig_cumulative_min(x, IG_AXES(1)));
}
static ig_array *running_whole(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    ig_array *row = ig_reshape(ig_multiply(x, y), IG_SHAPE(-1));
    return ig_cumulative_sum(row, IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *running_numbers(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    ig_array *i = ig_astype(ig_multiply(x, ig_float(100)), IG_I32);
    return ig_cumulative_sum(ig_reshape(i, IG_SHAPE(-1)), IG_AXES(0), IG_DTYPE_NONE, false);
}
static ig_array *sorted(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_add(ig_sort(x, 1, false, true), y);
}
static ig_array *softmax(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    return ig_multiply(ig_softmax(x, IG_AXES(-1)), y);
}
static ig_array *noisy(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    return ig_add(x, ig_normal(ig_key(3, NULL), ig_shape(x), ig_dtype_of(x), NULL, NULL));
}
static ig_array *numbered(ig_array *x, ig_array *y, ig_array *z)
{
    (void)y, (void)z;
    ig_array *i = ig_reshape(ig_arange(0, (double)ig_size(x), 1, IG_F32), ig_shape(x));
    return ig_matrix_transpose(ig_add(x, ig_astype(i, ig_dtype_of(x))));
}
static ig_array *taken(ig_array *x, ig_array *y, ig_array *z)
{
    (void)z;
    ig_array *i = ig_argmax(y, IG_AXES(0), false);
    return ig_take(x, i, IG_AXES(0));
}
static ig_array *gradient(ig_array *x, ig_array *y, ig_array *z)
{
    ig_array *w = ig_multiply(z, ig_float(0.5)), *g = NULL;
    ig_array *loss = ig_mean(ig_square(ig_subtract(ig_multiply(x, w), y)), IG_NONE, false);
    return ig_grad(loss, &w, 1, &g) == IG_OK ? g : NULL;
}

static const struct {
    const char *name;
    expression build;
} expressions[] = {
#define ROW(f) \
    { \
#f, f \
    }
    ROW(centred),
    ROW(centred_rows),
    ROW(total),
    ROW(columns),
    ROW(spread),
    ROW(spread_all),
    ROW(largest),
    ROW(place_of_largest),
    ROW(place_in_columns),
    ROW(gram),
    ROW(gram_rows),
    ROW(from_first),
    ROW(mirrored),
    ROW(own_gram_rows),
    ROW(turned),
    ROW(flat),
    ROW(sliced),
    ROW(joined),
    ROW(rolled),
    ROW(running),
    ROW(running_down),
    ROW(running_product),
    ROW(running_most),
    ROW(running_whole),
    ROW(running_numbers),
    ROW(sorted),
    ROW(softmax),
    ROW(noisy),
    ROW(numbered),
    ROW(taken),
    ROW(gradient)
#undef ROW
};
enum { EXPRESSIONS = sizeof expressions / sizeof *expressions };

/* Counts the plans that copy a source to memory and to a file. */
static void compare_one(int e, int round, int copies[2])
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_BF16};
    const int64_t n = 1 + below(round % 3 == 0 ? 4000 : 60),
                  m = 1 + below(round % 4 == 0 ? 300 : 40);
    const ig_dtype dtype = dtypes[below(4)];
    const int64_t chunk[2][2] = {{1 + below(n), 1 + below(m)}, {1 + below(n), 1 + below(m)}};
    const int64_t rows = 1 + below(m);
    char most[32];
    snprintf(most, sizeof most, "%lld", (long long)(64 + below(4 * n * m)));
    ig_scope_begin();
    ig_array *x = drawn(2 * round, IG_SHAPE(n, m), dtype),
             *y = drawn(2 * round + 1, IG_SHAPE(n, m), dtype),
             *z = drawn(round + 7, IG_SHAPE(m), dtype);
    size_t bytes, other;
    char *plain = elements(expressions[e].build(x, y, z), &bytes);
    setenv("IG_BLOCK_BYTES", most, 1);
    ig_array *sx = source_of(x, below(5) ? chunk[0] : NULL), *sy = source_of(y, chunk[1]),
             *sz = source_of(z, &rows);
    ig_array *out = expressions[e].build(sx, sy, sz);
    char *text = ig_explain(&out, 1);
    char *blocked = elements(out, &other);
    unsetenv("IG_BLOCK_BYTES");
    assert_int_equal(bytes, other);
    if (memcmp(plain, blocked, bytes)) {
        size_t at = 0;
        while (plain[at] == blocked[at])
            at++;
        fail_msg("%s of (%lld, %lld) %s, block bytes %s: other bits at byte %zu of %zu\n%s",
                 expressions[e].name, (long long)n, (long long)m, ig_dtype_name(dtype), most, at,
                 bytes, text ? text : "");
    }
    const char *copy = text ? strstr(text, " blocks (") : NULL;
    if (copy)
        copies[strstr(copy, "-> file") && strstr(copy, "-> file") < strchr(copy, '\n')]++;
    ig_free(text);
    free(plain);
    free(blocked);
    ig_scope_end();
}

static void test_bits(void **unused)
{
    (void)unused;
    int copies[2] = {0, 0};
    for (int round = 0; round < 12 / one_in(3); round++)
        for (int e = 0; e < EXPRESSIONS; e++)
            compare_one(e, round, copies);
    if (!copies[0] || !copies[1])
        fail_msg("%d plans copy a source to memory, %d to a file", copies[0], copies[1]);
}

/* A plan that does not fit names the smallest limit, which works. */
static void test_memory_limit(void **unused)
{
    (void)unused;
    for (int e = 0; e < EXPRESSIONS; e += one_in(3)) {
        const int64_t chunk[2] = {50, 64};
        ig_scope_begin();
        ig_array *x = source_of(drawn(1, IG_SHAPE(1000, 128), IG_F32), chunk),
                 *y = source_of(drawn(2, IG_SHAPE(1000, 128), IG_F32), chunk),
                 *z = source_of(drawn(3, IG_SHAPE(128), IG_F32), chunk);
        ig_array *out = expressions[e].build(x, y, z);
        assert_int_equal(ig_set_memory_limit(ig_memory_used() + 1000), IG_OK);
        if (ig_eval(&out, 1) == IG_OK)
            fail_msg("%s: evaluated in 1000 bytes", expressions[e].name);
        const char *why = ig_error(NULL), *at = strstr(why, "works is ");
        if (!at)
            fail_msg("%s: %s", expressions[e].name, why);
        assert_int_equal(ig_set_memory_limit(strtoull(at + 9, NULL, 10)), IG_OK);
        if (ig_eval(&out, 1) != IG_OK)
            fail_msg("%s: %s", expressions[e].name, ig_error(NULL));
        assert_int_equal(ig_set_memory_limit(0), IG_OK);
        ig_scope_end();
    }
}

static void test_complex(void **unused)
{
    (void)unused;
    ig_scope_begin();
    const int64_t chunk[2] = {7, 5};
    ig_array *x = drawn_complex(1, IG_SHAPE(50, 20));
    size_t bytes, other;
    char *plain = elements(ig_sum(ig_multiply(x, x), IG_AXES(0), IG_DTYPE_NONE, false), &bytes);
    setenv("IG_BLOCK_BYTES", "3000", 1);
    ig_array *s = source_of(x, chunk);
    assert_int_equal(ig_dtype_of(s), IG_C64);
    char *blocked = elements(ig_sum(ig_multiply(s, s), IG_AXES(0), IG_DTYPE_NONE, false), &other);
    unsetenv("IG_BLOCK_BYTES");
    assert_int_equal(bytes, other);
    assert_memory_equal(plain, blocked, bytes);
    free(plain);
    free(blocked);
    ig_scope_end();
}

/* ---- parts of sources ---- */

static ig_array *places(const int64_t *at, int n)
{
    return ig_from_data(at, (ig_ints){(const int64_t[]){n}, 1}, IG_I64);
}

static ig_array *row(ig_array *x)
{
    return ig_reshape(ig_slice(x, IG_SHAPE(3, 0), IG_SHAPE(4, 3), IG_NONE), IG_SHAPE(3));
}
static ig_array *first_rows(ig_array *x)
{
    return ig_slice(x, IG_SHAPE(0, 0), IG_SHAPE(5, 30), IG_NONE);
}
static ig_array *backwards(ig_array *x)
{
    return ig_slice(x, IG_SHAPE(9, 29), IG_SHAPE(3, 2), IG_SHAPE(-2, -3));
}
static ig_array *of_doubled(ig_array *x) { return row(ig_add(x, x)); }
static ig_array *of_turned(ig_array *x)
{
    return ig_slice(ig_permute_dims(x, IG_AXES(1, 0)), IG_SHAPE(2, 7), IG_SHAPE(9, 8), IG_NONE);
}
static ig_array *picked(ig_array *x)
{
    return ig_take(x, places((int64_t[]){0, 699, -2, 7, 7}, 5), IG_AXES(0));
}
static ig_array *picked_part(ig_array *x)
{
    ig_array *seen = ig_slice(x, IG_SHAPE(690, 2), IG_SHAPE(-701, 27), IG_SHAPE(-2, 3));
    return ig_take(seen, places((int64_t[]){0, 300, -2, 7}, 4), IG_AXES(0));
}
static ig_array *picked_columns(ig_array *x)
{
    return ig_take(first_rows(x), places((int64_t[]){3, -1, 9}, 3), IG_AXES(1));
}
static ig_array *picked_sum(ig_array *x)
{
    return ig_sum(picked(x), IG_AXES(1), IG_DTYPE_NONE, false);
}

/* Views and reads at few places read only the chunks that have their elements. */
static void test_parts(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        ig_array *(*make)(ig_array *x);
        int64_t rows; /* of chunks that are read, at most */
    } parts[] = {
        {"row", row, 1},
        {"first_rows", first_rows, 2},
        {"backwards", backwards, 3},
        {"of_doubled", of_doubled, 1},
        {"of_turned", of_turned, 1},
        {"picked", picked, 5},
        {"picked_part", picked_part, 4},
        {"picked_columns", picked_columns, 2},
        {"picked_sum", picked_sum, 5},
    };
    static const int64_t chunks[][2] = {{1, 1}, {3, 4}, {4, 30}, {1, 30}};
    for (size_t e = 0; e < sizeof parts / sizeof *parts; e++)
        for (size_t c = 0; c < 4 * 3; c++) {
            ig_scope_begin();
            const int64_t *chunk = chunks[c / 3];
            ig_array *x = c % 3 == 0 ? drawn_complex(1, IG_SHAPE(700, 30))
                                     : drawn(1, IG_SHAPE(700, 30), c % 3 == 1 ? IG_F64 : IG_I16);
            const int64_t each = (int64_t)ig_dtype_bytes(ig_dtype_of(x)) * chunk[0] * 32;
            size_t bytes, other;
            char *plain = elements(parts[e].make(x), &bytes);
            ig_array *s = source_of(x, chunk);
            sources_read = 0;
            ig_array *y = parts[e].make(s);
            char *read = elements(y, &other);
            /* of each row of chunks; without chunks, of each row */
            const int64_t most = parts[e].rows * (chunk[0] == 1 ? 4 : 1) * each;
            if (sources_read > most)
                fail_msg("%s in chunks of (%lld, %lld): reads %lld bytes, more than %lld",
                         parts[e].name, (long long)chunk[0], (long long)chunk[1],
                         (long long)sources_read, (long long)most);
            assert_true(ig_is_evaluated(y));
            assert_false(ig_is_evaluated(s));
            assert_int_equal(bytes, other);
            if (memcmp(plain, read, bytes) != 0)
                fail_msg("%s of %s in chunks of (%lld, %lld): other bits", parts[e].name,
                         ig_dtype_name(ig_dtype_of(x)), (long long)chunk[0], (long long)chunk[1]);
            free(read);
            read = elements(ig_add(y, y), &other); /* what was evaluated stays so */
            free(read);
            free(plain);
            ig_scope_end();
        }
}

/* Updates whose axes are those of the result in another order: (1, 1, 1, 14) of (2, 2, 14, 1). */
static void test_writes(void **unused)
{
    (void)unused;
    ig_scope_begin();
    char *got[2];
    size_t bytes;
    for (int blocks = 0; blocks < 2; blocks++) {
        ig_array *x = drawn(1, IG_SHAPE(2, 2, 1, 14), IG_F16);
        x = blocks ? source_of(x, (const int64_t[]){1, 1, 1, 5}) : x;
        ig_array *y = ig_cumulative_max(x, IG_AXES(2));
        const int64_t shape[] = {1, 1, 1, 14};
        ig_array *at = ig_ones((ig_ints){shape, 4}, IG_I32);
        at = blocks ? source_of(at, (const int64_t[]){1, 1, 1, 5}) : at;
        ig_array *z = ig_gather(y, at, 0);
        setenv("IG_BLOCK_BYTES", "64", 1);
        got[blocks] = elements(gradient_of(ig_sum(z, IG_NONE, IG_DTYPE_NONE, false), y), &bytes);
        unsetenv("IG_BLOCK_BYTES");
    }
    assert_memory_equal(got[0], got[1], bytes);
    free(got[0]);
    free(got[1]);
    ig_scope_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),    cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_complex), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
