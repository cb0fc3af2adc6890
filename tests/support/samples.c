/* See samples.h. */
#include "support/samples.h"
#include "base/dtype.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t random_state = 7;

uint64_t sample_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t sample_between(int64_t low, int64_t high)
{
    return low + (int64_t)(sample_random() % (uint64_t)(high - low + 1));
}

static double random_value(ig_dtype dtype)
{
    if (dtype_is_float(dtype))
        return (double)sample_between(-16, 16) / 8;
    return (double)sample_between(dtype_kind_of(dtype) == DTYPE_KIND_SIGNED ? -4 : 0, 5);
}

static int64_t size_of(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int a = 0; a < ndim; a++)
        n *= shape[a];
    return n;
}

static ig_array *random_array(int ndim, const int64_t *shape, ig_dtype dtype)
{
    const int64_t n = size_of(ndim, shape), width = (int64_t)ig_dtype_bytes(dtype);
    char *data = malloc((size_t)(n * width + 1));
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++)
        dtype_store(dtype, data + i * width, random_value(dtype));
    ig_array *x = ig_from_data(data, (ig_ints){shape, ndim}, dtype);
    free(data);
    return x;
}

sample sample_make(int layout, ig_ints shape, ig_dtype dtype)
{
    sample s = {.ndim = shape.n};
    const int n = shape.n;
    int64_t stored[IG_MAX_NDIM], order[IG_MAX_NDIM], one[IG_MAX_NDIM], two[IG_MAX_NDIM],
        end[IG_MAX_NDIM];
    memcpy(s.shape, shape.v, (size_t)n * sizeof *s.shape);
    for (int a = 0; a < n; a++) {
        stored[a] = layout == 2                               ? shape.v[n - 1 - a]
                    : layout == 3                             ? 2 * shape.v[a] + (shape.v[a] > 1)
                    : layout == 4 && a == n - 1 && shape.v[a] ? 1
                                                              : shape.v[a];
        order[a] = n - 1 - a;
        one[a] = shape.v[a] > 1;
        two[a] = 2;
        end[a] = INT64_MAX;
    }
    s.x = random_array(n, stored, dtype);
    if (layout == 1)
        s.x = ig_flip(s.x, IG_NONE);
    if (layout == 2)
        s.x = ig_permute_dims(s.x, (ig_ints){order, n});
    if (layout == 3)
        s.x = ig_slice(s.x, (ig_ints){one, n}, (ig_ints){end, n}, (ig_ints){two, n});
    if (layout == 4)
        s.x = ig_broadcast_to(s.x, shape);
    assert_non_null(s.x);
    const size_t bytes = (size_t)size_of(n, shape.v) * sizeof(double);
    s.v = malloc(bytes + 1);
    assert_non_null(s.v);
    assert_int_equal(ig_read(ig_astype(s.x, IG_F64), s.v, bytes), IG_OK);
    return s;
}

void sample_free(sample *s)
{
    free(s->v);
    s->v = NULL;
}

void sample_expect(const char *what, ig_array *y, ig_ints shape, ig_dtype dtype, const double *want)
{
    if (!y)
        fail_msg("%s: %s", what, ig_error(NULL));
    if (ig_dtype_of(y) != dtype)
        fail_msg("%s: dtype is %s, not %s", what, ig_dtype_name(ig_dtype_of(y)),
                 ig_dtype_name(dtype));
    if (ig_ndim(y) != shape.n)
        fail_msg("%s: %d axes, not %d", what, ig_ndim(y), shape.n);
    for (int a = 0; a < shape.n; a++)
        if (ig_dim(y, a) != shape.v[a])
            fail_msg("%s: axis %d has length %lld, not %lld", what, a, (long long)ig_dim(y, a),
                     (long long)shape.v[a]);
    const char *have = ig_data(y);
    if (!have)
        fail_msg("%s: %s", what, ig_error(NULL));
    const int64_t n = size_of(shape.n, shape.v), width = (int64_t)ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        dtype_store(dtype, &bits, want[i]);
        const double expected = dtype_fetch(dtype, &bits);
        const double got = dtype_fetch(dtype, have + i * width);
        if (got != expected && !(isnan(got) && isnan(expected)))
            fail_msg("%s: element %lld is %.17g, not %.17g", what, (long long)i, got, expected);
    }
}
