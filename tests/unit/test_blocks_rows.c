/* Scans, histograms, medians and reads at computed places along rows that are longer than blocks. */
#include "engine/array/array.h"
#include "support/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* x of (rows, n), (n, rows) if it is transposed; along the long axis. */
typedef ig_array *(*along)(ig_array *x, int axis);

static ig_array *scan_sum(ig_array *x, int axis)
{
    return ig_cumulative_sum(x, IG_AXES(axis), ig_dtype_of(x), false);
}
static ig_array *scan_prod(ig_array *x, int axis)
{
    return ig_cumulative_prod(x, IG_AXES(axis), ig_dtype_of(x), false);
}
static ig_array *scan_max(ig_array *x, int axis) { return ig_cumulative_max(x, IG_AXES(axis)); }
static ig_array *scan_min(ig_array *x, int axis) { return ig_cumulative_min(x, IG_AXES(axis)); }
static ig_array *scan_back(ig_array *x, int axis)
{
    ig_array *y = ig_cumulative_sum(ig_flip(x, IG_AXES(axis)), IG_AXES(axis), IG_DTYPE_NONE, true);
    return ig_flip(y, IG_AXES(axis));
}

static ig_array *pair_of(double a, double b)
{
    return ig_stack((ig_array *[]){ig_astype(ig_float(a), IG_F32), ig_astype(ig_float(b), IG_F32)},
                    2, 0);
}
static ig_array *bins_of(ig_array *x, int axis)
{
    ig_array *out[2];
    (void)axis;
    return ig_histogram(x, ig_int(37), pair_of(-1.5, 2), false, NULL, out) ? out[0] : NULL;
}
static ig_array *bins_found(ig_array *x, int axis)
{
    ig_array *out[2];
    (void)axis;
    x = ig_where(ig_less(ig_abs(x), ig_float(1e4)), x, ig_float(3)); /* numbers */
    return ig_histogram(x, ig_int(11), NULL, true, NULL, out) ? out[0] : NULL;
}
static ig_array *bins_both(ig_array *x, int axis)
{
    ig_array *out[3], *row = ig_reshape(x, IG_SHAPE(-1)),
                      *range = ig_stack((ig_array *[]){pair_of(-1, 1), pair_of(-1, 2)}, 2, 0);
    (void)axis;
    ig_array *bins[2] = {ig_int(5), ig_int(9)};
    return ig_histogram2d(row, ig_flip(row, IG_AXES(0)), bins, 2, range, false, NULL, out) ? out[0]
                                                                                           : NULL;
}
static ig_array *small_integers(ig_array *x)
{
    ig_array *y = ig_astype(ig_clip(x, ig_float(-3), ig_float(3)), IG_F32);
    y = ig_where(ig_isnan(y), ig_float(0), y);
    return ig_remainder(ig_astype(ig_multiply(y, ig_float(50)), IG_I32), ig_int(40));
}
static ig_array *counted(ig_array *x, int axis)
{
    (void)axis;
    return ig_bincount(ig_reshape(small_integers(x), IG_SHAPE(-1)), NULL, 0, 40);
}
static ig_array *weighed(ig_array *x, int axis)
{
    (void)axis;
    return ig_bincount(ig_reshape(small_integers(x), IG_SHAPE(-1)), ig_reshape(x, IG_SHAPE(-1)), 0,
                       40);
}
static ig_array *middle(ig_array *x, int axis) { return ig_median(x, IG_AXES(axis), false); }
static ig_array *quarter(ig_array *x, int axis)
{
    (void)axis;
    return ig_quantile(x, ig_float(0.25), IG_NONE, "linear", false, NULL);
}
static ig_array *taken_along(ig_array *x, int axis)
{
    const int64_t n = ig_dim(x, axis);
    ig_array *at = ig_remainder(ig_multiply(ig_arange(0, 300, 1, IG_I64), ig_int(7919)), ig_int(n));
    return ig_take(ig_multiply(x, ig_int(3)), ig_subtract(at, ig_int(n / 2)), IG_AXES(axis));
}
static ig_array *added_along(ig_array *x, int axis)
{
    const int64_t n = ig_dim(x, axis);
    ig_array *at = ig_remainder(ig_multiply(ig_arange(0, (double)n, 1, IG_I64), ig_int(7919)),
                                ig_int(n / 3 + 1));
    if (axis == 0)
        at = ig_expand_dims(at, IG_AXES(1));
    ig_array *to =
        ig_slice(ig_multiply(x, ig_int(2)), IG_AXES(0, 0),
                 axis ? IG_AXES(INT64_MAX, n / 3 + 1) : IG_AXES(n / 3 + 1, INT64_MAX), IG_NONE);
    return ig_scatter_add(to, ig_broadcast_to(at, ig_shape(x)), x, axis);
}

static const struct {
    const char *name, *stage;
    along build;
} alongs[] = {
    {"cumulative_sum", "rows of", scan_sum},
    {"cumulative_prod", "rows of", scan_prod},
    {"cumulative_max", "rows of", scan_max},
    {"cumulative_min", "rows of", scan_min},
    {"reversed sum", "rows of", scan_back},
    {"histogram", "rows of", bins_of},
    {"histogram without range", "rows of", bins_found},
    {"histogram2d", "rows of", bins_both},
    {"bincount", "rows of", counted},
    {"weighted bincount", "rows of", weighed},
    {"median", NULL, middle},
    {"quantile", NULL, quarter},
    {"take", "rows of", taken_along},
    {"scatter_add", "rows of", added_along},
};
enum { ALONGS = sizeof alongs / sizeof *alongs };

/* Returns true if the plan has parts of rows. */
static bool compare_along(int e, int round)
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_I32, IG_I64, IG_U8, IG_BF16};
    const ig_dtype dtype = dtypes[below(7)];
    const int64_t rows = 1 + below(4), most = round % 3 ? 9000 : 200000;
    const int64_t n = round % 4 ? 1 + below(most) : (1 + below(4)) * 1024 * (round % 3 ? 1 : 64);
    const int axis = (int)below(2);
    const int64_t shape[2] = {axis ? rows : n, axis ? n : rows};
    const int64_t chunk[2] = {1 + below(shape[0] < 900 ? shape[0] : 900),
                              1 + below(shape[1] < 900 ? shape[1] : 900)};
    char block[32];
    ig_scope_begin();
    ig_array *x = drawn_odd(round + 50 * e, (ig_ints){shape, 2}, dtype, round % 2);
    snprintf(block, sizeof block, "%lld", (long long)(20000 + below(n * 8)));
    size_t bytes, other;
    ig_array *y = alongs[e].build(x, axis);
    char *plain = elements(y, &bytes);
    setenv("IG_BLOCK_BYTES", block, 1);
    ig_array *out = alongs[e].build(source_of(x, chunk), axis);
    char *text = ig_explain(&out, 1);
    char *blocked = elements(out, &other);
    unsetenv("IG_BLOCK_BYTES");
    assert_int_equal(bytes, other);
    if (!same_bits(plain, blocked, bytes, ig_dtype_of(y)))
        fail_msg("%s along axis %d of (%lld, %lld) %s, round %d, block bytes %s: other bits\n%s",
                 alongs[e].name, axis, (long long)shape[0], (long long)shape[1],
                 ig_dtype_name(dtype), round, block, text ? text : "");
    const bool parts = !alongs[e].stage || (text && strstr(text, alongs[e].stage));
    ig_free(text);
    free(plain);
    free(blocked);
    ig_scope_end();
    return parts;
}

static void test_long_rows(void **unused)
{
    (void)unused;
    for (int e = 0; e < ALONGS; e++) {
        int parts = 0;
        const int rounds = 24 / one_in(6);
        for (int round = 0; round < rounds; round++)
            parts += compare_along(e, round);
        if (parts < rounds / 4)
            fail_msg("%s: only %d of %d plans cut rows", alongs[e].name, parts, rounds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
