#include "support/blocks.h"
#include "engine/array/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t sources_read;

static ig_status source_read_box(void *context, const int64_t *start, const int64_t *size,
                                 void *data)
{
    memory_source *s = context;
    int64_t index[IG_MAX_NDIM] = {0}, count = 1;
    if (++s->reads == s->fails_at)
        return ig_fail(IG_ERR_FILE, "the chunk at %lld is damaged",
                       (long long)(s->ndim ? start[0] : 0));
    for (int i = 0; i < s->ndim; i++)
        count *= size[i];
    sources_read += count * (int64_t)s->bytes;
    for (int64_t k = 0; k < count; k++) {
        int64_t from = 0;
        for (int i = 0; i < s->ndim; i++)
            from += (start[i] + index[i]) * s->stride[i];
        memcpy((char *)data + (size_t)k * s->bytes, s->data + (size_t)from * s->bytes, s->bytes);
        for (int i = s->ndim - 1; i >= 0 && ++index[i] == size[i]; i--)
            index[i] = 0;
    }
    return IG_OK;
}

static void source_release(void *context)
{
    memory_source *s = context;
    free(s->data);
    free(s);
}

ig_array *source_of(ig_array *x, const int64_t *chunk)
{
    memory_source *s = calloc(1, sizeof *s);
    const ig_ints shape = ig_shape(x);
    int64_t step = 1;
    s->ndim = shape.n;
    s->bytes = ig_dtype_bytes(ig_dtype_of(x));
    const size_t all = (size_t)ig_size(x) * s->bytes;
    s->data = malloc(all + 1);
    assert_int_equal(ig_read(x, s->data, all), IG_OK);
    for (int i = shape.n - 1; i >= 0; i--) {
        s->stride[i] = step;
        step *= shape.v[i];
    }
    const ig_blocks b = {.size = sizeof b,
                         .shape = shape,
                         .dtype = ig_dtype_of(x),
                         .chunk = {chunk, chunk ? shape.n : 0},
                         .read = source_read_box,
                         .release = source_release,
                         .context = s,
                         .data = chunk ? NULL : s->data};
    ig_array *y = ig_from_blocks(&b);
    assert_non_null(y);
    return y;
}

ig_status sink_write(void *context, const int64_t *start, const int64_t *size, const void *data)
{
    memory_sink *s = context;
    for (int i = 0; i < 2; i++)
        if (start[i] % s->chunk[i] || (size[i] % s->chunk[i] && start[i] + size[i] != s->shape[i]))
            s->wrong++;
    for (int64_t r = 0; r < size[0]; r++)
        memcpy(s->data + (size_t)((start[0] + r) * s->shape[1] + start[1]) * s->bytes,
               (const char *)data + (size_t)(r * size[1]) * s->bytes, (size_t)size[1] * s->bytes);
    return IG_OK;
}

int one_in(int k) { return getenv("IG_TEST_QUICK") ? k : 1; }

static uint64_t state = 1;
int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

ig_array *drawn(int seed, ig_ints shape, ig_dtype dtype)
{
    ig_array *x =
        ig_astype(ig_normal(ig_key((uint64_t)seed, NULL), shape, IG_F32, NULL, NULL), dtype);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

ig_array *drawn_complex(int seed, ig_ints shape)
{
    ig_array *x = ig_add(drawn(seed, shape, IG_F32),
                         ig_multiply(drawn(seed + 1000, shape, IG_F32), ig_imaginary(1)));
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

ig_array *drawn_odd(int seed, ig_ints shape, ig_dtype dtype, bool special)
{
    ig_array *x = ig_normal(ig_key((uint64_t)seed, NULL), shape, IG_F32, NULL, NULL);
    x = ig_divide(ig_round(ig_multiply(x, ig_float(50))), ig_float(50));
    if (dtype_is_float(dtype)) {
        ig_array *odd = ig_normal(ig_key((uint64_t)seed + 1, NULL), shape, IG_F32, NULL, NULL);
        ig_array *big = ig_greater(odd, ig_float(3.2));
        if (special)
            x = ig_where(big, ig_divide(ig_float(1), ig_round(x)), x); /* inf, and numbers */
        if (special)
            x = ig_where(ig_less(odd, ig_float(-3.5)),
                         ig_subtract(ig_multiply(x, ig_float(INFINITY)), ig_float(INFINITY)), x);
    } else {
        x = ig_multiply(x, ig_float(50));
    }
    x = ig_astype(x, dtype);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

void *elements(ig_array *x, size_t *bytes)
{
    if (!x)
        fail_msg("%s", ig_error(NULL));
    *bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    void *at = malloc(*bytes + 1);
    if (ig_read(x, at, *bytes) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return at;
}

bool same_bits(const char *a, const char *b, size_t bytes, ig_dtype dtype)
{
    const size_t each = ig_dtype_bytes(dtype);
    for (size_t i = 0; i < bytes; i += each) {
        if (!memcmp(a + i, b + i, each))
            continue;
        double p = 0, q = 0;
        if (dtype == IG_F64) {
            memcpy(&p, a + i, 8);
            memcpy(&q, b + i, 8);
        } else if (dtype == IG_F32) {
            float f, g;
            memcpy(&f, a + i, 4);
            memcpy(&g, b + i, 4);
            p = (double)f, q = (double)g;
        }
        if (p == p || q == q)
            return false;
    }
    return true;
}

ig_array *gradient_of(ig_array *loss, ig_array *x)
{
    ig_array *g;
    return ig_grad(loss, &x, 1, &g) == IG_OK ? g : NULL;
}

ig_array *as_float(ig_array *x)
{
    return dtype_is_float(ig_dtype_of(x)) ? x : ig_astype(x, IG_F32);
}
