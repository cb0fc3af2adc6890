/* See layouts.h. */
#include "support/layouts.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

int64_t layout_number(const int64_t *i, ig_ints shape)
{
    int64_t n = 0;
    for (int a = 0; a < shape.n; a++)
        n = n * shape.v[a] + i[a];
    return n;
}

bool layout_next(int64_t *i, ig_ints shape)
{
    for (int a = shape.n - 1; a >= 0; a--) {
        if (++i[a] < shape.v[a])
            return true;
        i[a] = 0;
    }
    return false;
}

static int64_t size_of(ig_ints shape)
{
    int64_t n = 1;
    for (int a = 0; a < shape.n; a++)
        n *= shape.v[a];
    return n;
}

/* The position of index i of shape in an array of the shape `stored`, for each layout. */
static int64_t place_of(int layout, const int64_t *i, ig_ints shape, ig_ints stored)
{
    int64_t at[IG_MAX_NDIM];
    for (int a = 0; a < shape.n; a++) {
        int from = layout == 2 ? shape.n - 1 - a : a;
        at[a] = layout == 1   ? shape.v[a] - 1 - i[a]
                : layout == 3 ? (shape.v[a] > 1) + 2 * i[a]
                              : i[from];
    }
    return layout_number(at, stored);
}

ig_array *layout_make(int layout, ig_ints shape, ig_dtype dtype)
{
    int64_t stored_shape[IG_MAX_NDIM] = {0}, i[IG_MAX_NDIM] = {0}, order[IG_MAX_NDIM] = {0};
    int64_t start[IG_MAX_NDIM], two[IG_MAX_NDIM], end[IG_MAX_NDIM];
    for (int a = 0; a < shape.n; a++) {
        stored_shape[a] = layout == 2                     ? shape.v[shape.n - 1 - a]
                          : layout == 3 && shape.v[a] > 1 ? 2 * shape.v[a] + 1
                                                          : shape.v[a];
        order[a] = shape.n - 1 - a;
        start[a] = shape.v[a] > 1;
        two[a] = 2;
        end[a] = INT64_MAX;
    }
    ig_ints stored = {stored_shape, shape.n};
    int64_t *data = calloc((size_t)size_of(stored) + 1, sizeof *data), n = 0;
    assert_non_null(data);
    if (size_of(shape) > 0) {
        do
            data[place_of(layout, i, shape, stored)] = n++;
        while (layout_next(i, shape));
    }
    ig_array *x = ig_astype(ig_from_data(data, stored, IG_I64), dtype);
    free(data);
    if (layout == 1)
        x = ig_flip(x, IG_NONE);
    if (layout == 2)
        x = ig_permute_dims(x, (ig_ints){order, shape.n});
    if (layout == 3)
        x = ig_slice(x, (ig_ints){start, shape.n}, (ig_ints){end, shape.n},
                     (ig_ints){two, shape.n});
    assert_non_null(x);
    return x;
}

static void expect_shape(ig_array *y, ig_ints shape)
{
    if (!y) {
        const char *error = ig_error(NULL);
        fail_msg("no array: %s", error ? error : "and no error");
    }
    assert_int_equal(ig_ndim(y), shape.n);
    for (int a = 0; a < shape.n; a++)
        assert_int_equal(ig_dim(y, a), shape.v[a]);
}

static int64_t *read_all(ig_array *y)
{
    size_t n = (size_t)ig_size(y);
    int64_t *have = malloc((n + 1) * sizeof *have);
    assert_non_null(have);
    if (ig_read(ig_astype(y, IG_I64), have, n * sizeof *have) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return have;
}

void layout_expect(ig_array *y, ig_ints shape, int64_t (*rule)(const int64_t *i))
{
    int64_t i[IG_MAX_NDIM] = {0};
    expect_shape(y, shape);
    int64_t *have = read_all(y), n = 0;
    if (ig_size(y) > 0) {
        do {
            int64_t want = rule ? rule(i) : n;
            if (have[n] != want)
                fail_msg("element %" PRId64 " is %" PRId64 ", not %" PRId64, n, have[n], want);
            n++;
        } while (layout_next(i, shape));
    }
    free(have);
}

void layout_expect_data(ig_array *y, ig_ints shape, const int64_t *data)
{
    expect_shape(y, shape);
    int64_t *have = read_all(y), size = ig_size(y);
    for (int64_t n = 0; n < size; n++)
        if (have[n] != data[n])
            fail_msg("element %" PRId64 " is %" PRId64 ", not %" PRId64, n, have[n], data[n]);
    free(have);
}

void layout_expect_error(ig_status code, const char *start)
{
    ig_status have = IG_OK;
    const char *text = ig_error(&have);
    if (!text)
        fail_msg("no error, but expected \"%s\"", start);
    if (strncmp(text, start, strlen(start)) != 0 || have != code)
        fail_msg("%s \"%s\", not %s \"%s\"", ig_status_name(have), text, ig_status_name(code),
                 start);
    assert_null(strchr(text, '\n'));
}
