/* Results whose shapes depend on data: unique elements, places, masks and sets of arrays that do not fit in memory. */
#include "engine/array/array.h"
#include "support/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*several)(ig_array *x, ig_array **out);

static int sets_all(ig_array *x, ig_array **out) { return ig_unique_all(x, out); }
static int sets_counted(ig_array *x, ig_array **out)
{
    return ig_unique(x, true, true, true, IG_NONE, true, out, 4);
}
static int sets_grad(ig_array *x, ig_array **out)
{
    x = as_float(x);
    ig_array *values = ig_unique_values(x);
    out[0] = values ? gradient_of(ig_sum_all(ig_sin(values)), x) : NULL;
    return out[0] ? 1 : 0;
}
static int sets_places(ig_array *x, ig_array **out)
{
    return ig_nonzero(ig_greater(x, ig_int(0)), out, 2);
}
static int sets_masked(ig_array *x, ig_array **out)
{
    x = as_float(x);
    out[0] = ig_mask_select(x, ig_greater(x, ig_float(0.1)));
    out[1] = out[0] ? gradient_of(ig_sum_all(ig_sin(out[0])), x) : NULL;
    return out[1] ? 2 : 0;
}
static int sets_joined(ig_array *x, ig_array **out)
{
    ig_array *y = ig_multiply(x, ig_int(3));
    out[0] = ig_union1d(x, y);
    out[1] = ig_setdiff1d(x, y, false);
    ig_array *both[3];
    out[2] = ig_intersect1d(x, y, false, false, both, 3) ? both[0] : NULL;
    return out[0] && out[1] && out[2] ? 3 : 0;
}

static const struct {
    const char *name;
    several build;
} sets[] = {
    {"unique_all", sets_all}, {"unique", sets_counted},     {"gradient of unique", sets_grad},
    {"nonzero", sets_places}, {"mask_select", sets_masked}, {"sets", sets_joined},
};
enum { SETS = sizeof sets / sizeof *sets };

static ig_status sink_flat(void *context, const int64_t *start, const int64_t *size,
                           const void *data)
{
    const memory_sink *s = context;
    int64_t at = 0, n = 1;
    for (int a = 0; a < s->ndim; a++) {
        at = at * s->shape[a] + start[a];
        n *= size[a];
    }
    if (s->ndim == 2)
        return sink_write(context, start, size, data);
    memcpy(s->data + (size_t)at * s->bytes, data, (size_t)n * s->bytes);
    return IG_OK;
}

/* The elements of x, which may not fit in memory; NULL on failure. */
static char *elements_small(ig_array *x, size_t *bytes)
{
    memory_sink s = {.ndim = ig_ndim(x), .bytes = ig_dtype_bytes(ig_dtype_of(x)), .chunk = {1, 1}};
    for (int a = 0; a < s.ndim; a++)
        s.shape[a] = ig_dim(x, a);
    *bytes = (size_t)ig_size(x) * s.bytes;
    s.data = malloc(*bytes + 1);
    const ig_block_sink sink = {.size = sizeof sink, .write = sink_flat, .context = &s};
    if (ig_eval_to(&x, &(const ig_block_sink *){&sink}, 1) == IG_OK)
        return s.data;
    free(s.data);
    return NULL;
}

/* Evaluates in a small limit. *limit: a larger one if an error names it. Returns the number of results; -1: try again. */
static int build_small(int e, ig_array *x, uint64_t *limit, char **data, size_t *bytes)
{
    ig_array *out[4];
    assert_int_equal(ig_set_memory_limit(*limit), IG_OK);
    ig_scope_begin();
    const int n = sets[e].build(x, out);
    bool ok = n > 0;
    for (int i = 0; i < n && ok; i++) {
        ok = (data[i] = elements_small(out[i], &bytes[i])) != NULL;
        for (int k = 0; k < i && !ok; k++)
            free(data[k]);
    }
    ig_scope_end();
    ig_set_memory_limit(0);
    if (ok)
        return n;
    const char *why = ig_error(NULL), *at = strstr(why, "works is ");
    if (!at)
        fail_msg("%s: %s", sets[e].name, why);
    *limit = strtoull(at + 9, NULL, 10);
    return -1;
}

static void compare_sets(int e, int round)
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F64, IG_F16, IG_I32, IG_I64, IG_U8, IG_BOOL};
    const ig_dtype dtype = dtypes[below(e == 1 ? 6 : 7)];
    const int64_t shape[2] = {1 + below(200), 1 + below(400)};
    const int64_t chunk[2] = {1 + below(shape[0]), 1 + below(shape[1] < 50 ? shape[1] : 50)};
    ig_scope_begin();
    ig_array *x = drawn_odd(round + 90 * e, (ig_ints){shape, 2}, dtype, round % 2), *out[4];
    if (round % 3 == 0 && dtype_is_float(dtype)) /* most are distinct */
        x = ig_sin(
            ig_add(ig_multiply(x, ig_int(1000)),
                   ig_reshape(ig_arange(0, shape[0] * shape[1], 1, dtype), (ig_ints){shape, 2})));
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    char *plain[4], *data[4];
    size_t bytes[4], other[4];
    const int n = sets[e].build(x, out);
    ig_dtype types[4];
    for (int i = 0; i < n; i++) {
        plain[i] = elements(out[i], &bytes[i]);
        types[i] = ig_dtype_of(out[i]);
    }
    ig_array *source = source_of(x, chunk);
    /* With less than the pieces that a selection reads at a time, blocks have only a few elements, and take minutes. */
    uint64_t limit = ig_memory_used() + 50000 + (uint64_t)ig_size(x) * ig_dtype_bytes(dtype) / 8 +
                     (uint64_t)below(200000);
    int made = -1;
    for (int tries = 0; tries < 12 && made < 0; tries++)
        made = build_small(e, source, &limit, data, other);
    if (made != n)
        fail_msg("%s: the limit that works does not", sets[e].name);
    for (int i = 0; i < n; i++) {
        if (bytes[i] != other[i] || !same_bits(plain[i], data[i], bytes[i], types[i]))
            fail_msg("%s of (%lld, %lld) %s, round %d: other bits in result %d", sets[e].name,
                     (long long)shape[0], (long long)shape[1], ig_dtype_name(dtype), round, i);
        free(plain[i]);
        free(data[i]);
    }
    ig_scope_end();
}

static void test_sets(void **unused)
{
    (void)unused;
    for (int e = 0; e < SETS; e++)
        for (int round = 0; round < 12 / one_in(4); round++)
            compare_sets(e, round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
