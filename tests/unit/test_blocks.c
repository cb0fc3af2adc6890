/* Evaluation block by block: each expression over arrays that are read in chunks has the bits of the same expression
 * over arrays in memory, for random shapes, chunks and sizes of blocks. */
#include "engine/array/array.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sources over memory ---- */

typedef struct memory_source {
    char *data;
    int ndim;
    size_t bytes;
    int64_t stride[IG_MAX_NDIM];
    int reads, fails_at;
} memory_source;

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

static ig_array *source_of(ig_array *x, const int64_t *chunk)
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
                         .context = s};
    ig_array *y = ig_from_blocks(&b);
    assert_non_null(y);
    return y;
}

/* Short tests run one in k cases. */
static int one_in(int k) { return getenv("IG_TEST_QUICK") ? k : 1; }

/* ---- random numbers ---- */

static uint64_t state = 1;
static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

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

static ig_array *drawn(int seed, ig_ints shape, ig_dtype dtype)
{
    ig_array *x =
        ig_astype(ig_normal(ig_key((uint64_t)seed, NULL), shape, IG_F32, NULL, NULL), dtype);
    assert_int_equal(ig_eval(&x, 1), IG_OK);
    return x;
}

static void *elements(ig_array *x, size_t *bytes)
{
    if (!x)
        fail_msg("%s", ig_error(NULL));
    *bytes = (size_t)ig_size(x) * ig_dtype_bytes(ig_dtype_of(x));
    void *at = malloc(*bytes + 1);
    if (ig_read(x, at, *bytes) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    return at;
}

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

/* ---- rows that are longer than blocks ---- */

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

/* Numbers near 1, some of them equal, with zeros of both signs, and sometimes NaN and infinities. */
static ig_array *drawn_odd(int seed, ig_ints shape, ig_dtype dtype, bool special)
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

static bool same_bits(const char *a, const char *b, size_t bytes, ig_dtype dtype)
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

/* ---- sorts of rows that do not fit in memory ---- */

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

/* The gradient of loss by x. */
static ig_array *gradient_of(ig_array *loss, ig_array *x)
{
    ig_array *g;
    return ig_grad(loss, &x, 1, &g) == IG_OK ? g : NULL;
}
static ig_array *as_float(ig_array *x)
{
    return dtype_is_float(ig_dtype_of(x)) ? x : ig_astype(x, IG_F32);
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

static void test_long_rows(void **unused)
{
    (void)unused;
    for (int e = 0; e < ALONGS; e++) {
        int parts = 0;
        const int rounds = 24 / one_in(3);
        for (int round = 0; round < rounds; round++)
            parts += compare_along(e, round);
        if (parts < rounds / 4)
            fail_msg("%s: only %d of %d plans cut rows", alongs[e].name, parts, rounds);
    }
}

/* ---- sinks ---- */

typedef struct memory_sink {
    char *data;
    int ndim;
    size_t bytes;
    int64_t shape[2], chunk[2];
    atomic_int wrong;
    bool done[64]; /* chunk i along the first axis has been written before */
} memory_sink;

static ig_status sink_write(void *context, const int64_t *start, const int64_t *size,
                            const void *data)
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

static bool sink_has(void *context, const int64_t *start, const int64_t *size)
{
    const memory_sink *s = context;
    for (int64_t r = start[0]; r < start[0] + size[0]; r += s->chunk[0])
        if (!s->done[r / s->chunk[0]])
            return false;
    return true;
}

static void test_sinks(void **unused)
{
    (void)unused;
    for (int round = 0; round < 40; round++) {
        const int64_t n = 1 + below(60), m = 1 + below(60);
        const int64_t chunk[2] = {1 + below(n), 1 + below(m)};
        memory_sink s = {.bytes = 8, .shape = {n, m}, .chunk = {1 + below(n), 1 + below(m)}};
        size_t bytes;
        char most[32];
        snprintf(most, sizeof most, "%lld", (long long)(64 + below(16 * n * m)));
        ig_scope_begin();
        ig_array *x = drawn(round, IG_SHAPE(n, m), IG_F64), *z = drawn(round, IG_SHAPE(m), IG_F64);
        char *plain = elements(centred(x, x, z), &bytes);
        s.data = calloc(bytes + 1, 1);
        const bool resumes = round % 2;
        for (int64_t c = 0; resumes && c * s.chunk[0] < n; c++)
            if ((s.done[c] = below(2))) /* as an interrupted run left it */
                for (int64_t r = c * s.chunk[0]; r < n && r < (c + 1) * s.chunk[0]; r++)
                    memcpy(s.data + r * m * 8, plain + r * m * 8, (size_t)m * 8);
        const ig_block_sink sink = {.size = sizeof sink,
                                    .chunk = {s.chunk, 2},
                                    .write = sink_write,
                                    .has = resumes ? sink_has : NULL,
                                    .context = &s};
        setenv("IG_BLOCK_BYTES", most, 1);
        ig_array *source = source_of(x, chunk), *y = centred(source, source, z);
        if (ig_eval_to(&y, &(const ig_block_sink *){&sink}, 1) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        unsetenv("IG_BLOCK_BYTES");
        assert_int_equal(s.wrong, 0);
        assert_memory_equal(s.data, plain, bytes);
        assert_false(ig_is_evaluated(y));
        free(plain);
        free(s.data);
        ig_scope_end();
    }
}

/* ---- failures ---- */

static void test_failed_read(void **unused)
{
    (void)unused;
    for (int at = 1; at < 3; at++) {
        ig_scope_begin();
        const int64_t chunk[2] = {10, 10};
        ig_array *x = source_of(drawn(1, IG_SHAPE(40, 40), IG_F32), chunk),
                 *y = ig_sum(x, IG_NONE, IG_F32, false);
        ((memory_source *)x->attr.source->context)->fails_at = at;
        setenv("IG_BLOCK_BYTES", "2000", 1);
        assert_int_equal(ig_eval(&y, 1), IG_ERR_FILE);
        assert_non_null(strstr(ig_error(NULL), "is damaged"));
        assert_false(ig_is_evaluated(y));
        assert_int_equal(ig_eval(&y, 1), IG_OK); /* the second time, the chunk can be read */
        assert_true(ig_is_evaluated(y));
        unsetenv("IG_BLOCK_BYTES");
        ig_scope_end();
    }
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
    ig_array *re = drawn(1, IG_SHAPE(50, 20), IG_F32), *im = drawn(2, IG_SHAPE(50, 20), IG_F32);
    ig_array *x = ig_add(re, ig_multiply(im, ig_imaginary(1)));
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

/* ---- functions of blocks ---- */

typedef struct mapped {
    int calls, released;
} mapped;

/* Each element less the first of its block. */
static ig_array *less_first(void *context, const int64_t *index, ig_array *const *blocks, int n)
{
    (void)n;
    ((mapped *)context)->calls++;
    if (index[0] < 0)
        return NULL;
    ig_array *first = ig_slice(blocks[0], IG_AXES(0, 0), IG_AXES(1, 1), IG_NONE);
    return ig_subtract(blocks[0], first);
}

static void count_release(void *context) { ((mapped *)context)->released++; }

/* A function of chunks gives the same bits for every size of blocks, within the memory limit, and is released. */
static void test_map_blocks(void **unused)
{
    (void)unused;
    const uint64_t limit = ig_memory_limit();
    for (int round = 0; round < 40; round++) {
        const int64_t n = 1 + below(200), m = 1 + below(50);
        const int64_t chunk[2] = {1 + below(n), 1 + below(m)};
        mapped count = {0};
        char most[32];
        size_t bytes;
        ig_scope_begin();
        ig_array *x = drawn(round, IG_SHAPE(n, m), IG_F32), *source = source_of(x, chunk);
        const ig_block_map map = {.size = sizeof map,
                                  .function = less_first,
                                  .release = count_release,
                                  .context = &count,
                                  .chunk = round % 2 ? (ig_ints){chunk, 2} : IG_NONE};
        ig_array *y = ig_map_blocks(&map, &(ig_array *){ig_multiply(source, ig_float(2))}, 1);
        snprintf(most, sizeof most, "%lld", (long long)(64 + below(8 * n * m)));
        setenv("IG_BLOCK_BYTES", most, 1);
        ig_set_memory_limit(ig_memory_used() + 64 * (uint64_t)(n * m) + 4096);
        char *made = elements(ig_add(y, ig_float(0)), &bytes);
        ig_set_memory_limit(limit);
        unsetenv("IG_BLOCK_BYTES");
        const float *v = ig_data(x);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < m; k++) {
                const float first = v[i / chunk[0] * chunk[0] * m + k / chunk[1] * chunk[1]];
                const float want = 2 * v[i * m + k] - 2 * first;
                assert_memory_equal(made + 4 * (i * m + k), &want, 4);
            }
        assert_true(count.calls > 0);
        free(made);
        ig_scope_end();
        assert_int_equal(count.released, 1);
    }
}

/* ---- results whose shapes depend on data ---- */

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
    uint64_t limit = ig_memory_used() + 50000 + (uint64_t)below(200000);
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
        for (int round = 0; round < 12 / one_in(2); round++)
            compare_sets(e, round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),        cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_failed_read), cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_complex),     cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_map_blocks),  cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
