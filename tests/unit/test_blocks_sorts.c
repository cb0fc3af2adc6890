/* Sorts of rows that do not fit in memory, and what is made of them: gradients, searches, sets of values. */
#include "support/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* x of (rows, n), (n, rows) if it is transposed; along the long axis. */
typedef ig_array *(*along)(ig_array *x, int axis);

static ig_array *sort_up(ig_array *x, int axis) { return ig_sort(x, axis, false, true); }
static ig_array *sort_down(ig_array *x, int axis) { return ig_sort(x, axis, true, true); }
static ig_array *order_up(ig_array *x, int axis) { return ig_argsort(x, axis, false, true); }
static ig_array *order_down(ig_array *x, int axis) { return ig_argsort(x, axis, true, true); }
static ig_array *sort_whole(ig_array *x, int axis)
{
    (void)axis;
    return ig_sort(ig_multiply(ig_reshape(x, IG_SHAPE(-1)), ig_int(3)), 0, false, true);
}
static ig_array *first_few(ig_array *x, int axis)
{
    ig_array *out[2];
    return ig_topk(x, 5, axis, out) ? out[0] : NULL;
}
static ig_array *found_in(ig_array *x, int axis)
{
    (void)axis;
    ig_array *sorted = ig_sort(ig_reshape(x, IG_SHAPE(-1)), 0, false, true);
    return ig_take(sorted, ig_arange(0, 100, 7, IG_I64), IG_AXES(0));
}

static ig_array *sort_grad(ig_array *x, int axis)
{
    x = as_float(x);
    ig_array *weights = ig_sin(ig_reshape(ig_arange(0, ig_size(x), 1, IG_F32), ig_shape(x)));
    return gradient_of(ig_sum_all(ig_multiply(ig_sort(x, axis, false, true), weights)), x);
}
static ig_array *median_grad(ig_array *x, int axis)
{
    x = as_float(x);
    return gradient_of(ig_sum_all(ig_median(x, IG_AXES(axis), false)), x);
}
static ig_array *max_grad(ig_array *x, int axis)
{
    x = as_float(x);
    return gradient_of(ig_sum_all(ig_max(x, IG_AXES(axis), false)), x);
}
static ig_array *search_sorted(ig_array *x, int axis)
{
    ig_array *flat = ig_reshape(x, IG_SHAPE(-1)), *sorted = ig_sort(flat, 0, false, true);
    ig_array *some = ig_divide(ig_arange(-2000, 2000, 1, IG_F32), ig_float(1000));
    return ig_searchsorted(sorted, axis ? flat : ig_astype(some, ig_dtype_of(x)),
                           axis ? "left" : "right", NULL);
}
static ig_array *search_all(ig_array *x, int axis)
{
    (void)axis;
    ig_array *flat = ig_reshape(x, IG_SHAPE(-1));
    return ig_isin(ig_multiply(flat, ig_int(2)), flat, false);
}

static const struct {
    const char *name;
    along build;
} sorts[] = {
    {"sort", sort_up},
    {"sort descending", sort_down},
    {"argsort", order_up},
    {"argsort descending", order_down},
    {"sort of all", sort_whole},
    {"topk", first_few},
    {"take from sorted", found_in},
    {"gradient of sort", sort_grad},
    {"gradient of median", median_grad},
    {"gradient of max", max_grad},
    {"searchsorted", search_sorted},
    {"isin", search_all},
};
enum { SORTS = sizeof sorts / sizeof *sorts };

/* Evaluates in as little memory as there is a plan for, or `more` than the result takes. */
static bool eval_small(ig_array *out, uint64_t more, const char *name, char **text)
{
    uint64_t limit = ig_memory_used() + more;
    for (int tries = 0; tries < 3; tries++) {
        assert_int_equal(ig_set_memory_limit(limit), IG_OK);
        *text = ig_explain(&out, 1);
        const ig_status status = ig_eval(&out, 1);
        ig_set_memory_limit(0);
        if (status == IG_OK)
            return *text && strstr(*text, "merges");
        char save[2000];
        snprintf(save, sizeof save, "%s", *text ? *text : "");
        ig_free(*text);
        const char *why = ig_error(NULL), *at = strstr(why, "works is ");
        if (!at)
            fail_msg("%s: %s\n%s", name, why, save);
        limit = strtoull(at + 9, NULL, 10);
    }
    fail_msg("%s: the limit that works does not", name);
    return false;
}

static bool compare_sort(int e, int round)
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_I32, IG_I64, IG_U8, IG_BF16};
    const ig_dtype dtype = dtypes[below(7)];
    const int axis = (int)below(2);
    const int64_t rows = 1 + below(3), n = 15000 + below(20000);
    const int64_t shape[2] = {axis ? rows : n, axis ? n : rows};
    const int64_t chunk[2] = {1 + below(shape[0] < 900 ? shape[0] : 900),
                              1 + below(shape[1] < 900 ? shape[1] : 900)};
    ig_scope_begin();
    ig_array *x = drawn_odd(round + 70 * e, (ig_ints){shape, 2}, dtype, round % 2);
    size_t bytes, other;
    ig_array *y = sorts[e].build(x, axis);
    char *text, *plain = elements(y, &bytes);
    ig_array *out = sorts[e].build(source_of(x, chunk), axis);
    const bool merges =
        eval_small(out, bytes + 60000 + (uint64_t)below(100000), sorts[e].name, &text);
    char *blocked = elements(out, &other);
    assert_int_equal(bytes, other);
    if (!same_bits(plain, blocked, bytes, ig_dtype_of(y)))
        fail_msg("%s along axis %d of (%lld, %lld) %s, round %d: other bits\n%s", sorts[e].name,
                 axis, (long long)shape[0], (long long)shape[1], ig_dtype_name(dtype), round,
                 text ? text : "");
    ig_free(text);
    free(plain);
    free(blocked);
    ig_scope_end();
    return merges;
}

static void test_sorts(void **unused)
{
    (void)unused;
    for (int e = 0; e < SORTS; e++) {
        int merges = 0;
        const int rounds = 10 / one_in(2);
        for (int round = 0; round < rounds; round++)
            merges += compare_sort(e, round);
        if (merges < rounds / 3 && sorts[e].build != max_grad)
            fail_msg("%s: only %d of %d plans merge runs", sorts[e].name, merges, rounds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
