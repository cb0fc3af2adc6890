/* Scans, searches and writes of the CPU device, on handmade programs, compared with plain loops; and reading views in
 * order. */
#include "cpu_programs.h"

#include "engine/backend/cpu/elements/elements.h"

/* ---- scans ---- */

/* A value of any lane type, as its bits. */
typedef uint64_t box;

static float box_f32(box x)
{
    float f;
    memcpy(&f, &x, sizeof f);
    return f;
}

static double box_f64(box x)
{
    double f;
    memcpy(&f, &x, sizeof f);
    return f;
}

static double join_f64(int op, double x, double y)
{
    if (op == OP_sum || op == OP_prod)
        return op == OP_sum ? x + y : x * y;
    if (x != x || y != y)
        return x != x ? x : y;
    if (x == y)
        return signbit(x) == (op == OP_max) ? y : x;
    return (x > y) == (op == OP_max) ? x : y;
}

static int64_t join_int(int op, ig_dtype lane, int64_t x, int64_t y)
{
    if (op == OP_sum || op == OP_prod)
        return op == OP_sum ? x + y : x * y;
    const bool greater = lane == IG_U64 ? (uint64_t)x > (uint64_t)y : x > y;
    return greater == (op == OP_max) ? x : y;
}

/* Sums and products of floats are rounded to the lane; for f32 they are exact in f64 before that. */
static box join(int op, ig_dtype lane, box x, box y)
{
    box r = 0;
    if (lane == IG_F32) {
        float f = (float)join_f64(op, box_f32(x), box_f32(y));
        if (op == OP_sum)
            f = box_f32(x) + box_f32(y);
        memcpy(&r, &f, sizeof f);
    } else if (lane == IG_F64) {
        const double f = join_f64(op, box_f64(x), box_f64(y));
        memcpy(&r, &f, sizeof f);
    } else {
        const int64_t i = join_int(op, lane, dtype_fetch_int(lane, &x), dtype_fetch_int(lane, &y));
        memcpy(&r, &i, ig_dtype_bytes(lane));
    }
    return r;
}

/* The rule at the top of scan.c; the first element joins nothing. */
static void halves(int op, ig_dtype lane, box *x, int64_t n, int64_t len)
{
    const int64_t half = len / 2;
    if (n < 2)
        return;
    halves(op, lane, x, n < half ? n : half, half);
    if (n <= half)
        return;
    halves(op, lane, x + half, n - half, half);
    for (int64_t i = half; i < n; i++)
        x[i] = join(op, lane, x[half - 1], x[i]);
}

static void scan_plainly(int op, ig_dtype lane, box *x, int64_t n)
{
    enum { BLOCK = 16, CHUNK = 1024, RANGE = 65536 };
    box before[3] = {0}, total[3] = {0}; /* range, chunk, block */
    bool has[3] = {false, false, false};
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t now = n - i < BLOCK ? n - i : BLOCK;
        if (i > 0 && i % CHUNK == 0) {
            before[1] = has[1] ? join(op, lane, before[1], total[2]) : total[2];
            has[1] = true;
            has[2] = false;
        }
        if (i > 0 && i % RANGE == 0) {
            before[0] = has[0] ? join(op, lane, before[0], before[1]) : before[1];
            has[0] = true;
            has[1] = false;
        }
        halves(op, lane, x + i, now, BLOCK);
        for (int64_t k = i; k < i + now; k++) {
            if (has[2])
                x[k] = join(op, lane, before[2], x[k]);
            total[2] = x[k];
            if (has[0] || has[1])
                x[k] = join(op, lane,
                            !has[0]   ? before[1]
                            : !has[1] ? before[0]
                                      : join(op, lane, before[0], before[1]),
                            x[k]);
        }
        before[2] = total[2];
        has[2] = true;
    }
}

/* Conversions between storage and lanes. */
static box box_of(ig_dtype dtype, const char *at)
{
    box x = 0;
    if (dtype_is_half(dtype)) {
        const float f = (float)dtype_fetch(dtype, at);
        memcpy(&x, &f, sizeof f);
    } else
        memcpy(&x, at, ig_dtype_bytes(dtype));
    return x;
}

static void box_store(ig_dtype dtype, char *at, box x)
{
    if (dtype_is_half(dtype))
        dtype_store(dtype, at, box_f32(x));
    else
        memcpy(at, &x, ig_dtype_bytes(dtype));
}

static bool same(ig_dtype dtype, const char *a, const char *b)
{
    if (dtype_is_float(dtype) && isnan(dtype_fetch(dtype, a)))
        return isnan(dtype_fetch(dtype, b));
    return memcmp(a, b, ig_dtype_bytes(dtype)) == 0;
}

static void check_scan(int op, ig_dtype dtype, int64_t outer, int64_t inner, layout how,
                       const char *x)
{
    const int64_t n = outer * inner, bytes = (int64_t)ig_dtype_bytes(dtype);
    const view v = lay(how, outer, inner);
    box *want = malloc((size_t)n * sizeof *want + 1);
    char *got = malloc((size_t)(n * bytes) + 1), *stored = malloc((size_t)(n * bytes) + 1);
    for (int64_t i = 0; i < n; i++)
        want[i] = box_of(dtype, x + view_at(&v, i) * bytes);
    for (int64_t o = 0; o < outer; o++)
        scan_plainly(op, dtype_lane(dtype), want + o * inner, inner);
    for (int64_t i = 0; i < n; i++)
        box_store(dtype, stored + i * bytes, want[i]);
    for (int k = 0; k < THREAD_COUNTS; k++) {
        bench *w = bench_new(PROGRAM_SCAN, dtype);
        w->p.fold = (uint16_t)op;
        w->p.outer = outer;
        w->p.inner = inner;
        w->p.in[0] = (operand){.slot = 0, .dtype = dtype, .v = v};
        w->p.out = (operand){.slot = 1, .dtype = dtype, .v = lay(ALONG, outer, inner)};
        bind(w, 0, (void *)x);
        bind(w, 1, got);
        pool_set_threads(thread_counts[k]);
        assert_int_equal(run(w), IG_OK);
        if (memcmp(stored, got, (size_t)(n * bytes)) != 0) /* equal except for the bits of a NaN? */
            for (int64_t i = 0; i < n; i++)
                assert_true(same(dtype, stored + i * bytes, got + i * bytes));
        free(w);
    }
    pool_set_threads(0);
    free(want);
    free(stored);
    free(got);
}

/* Values whose running sums and products stay finite, and some that do not. */
static void fill(int op, ig_dtype dtype, int64_t n, char *x)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = next_random() << 33 ^ next_random();
        const float f = op == OP_prod ? 1 + next_float() * 0x1p-4f : next_float();
        if (dtype_is_float(dtype))
            dtype_store(dtype, x + i * bytes, i % 1000 == 999 ? (i % 3 ? 0.0 : -0.0) : f);
        else if (dtype == IG_BOOL)
            x[i] = bits % 50 == 0;
        else
            memcpy(x + i * bytes, &bits, (size_t)bytes);
    }
}

static void test_scan(void **s)
{
    static const int64_t sizes[][2] = {{1, 0},     {1, 1},     {3, 15},   {3, 16},    {2, 17},
                                       {3, 1023},  {3, 1024},  {3, 1025}, {2, 5001},  {1000, 17},
                                       {1, 65536}, {3, 65537}, {70, 9},   {1, 300000}};
    (void)s;
    char *x = malloc(300000 * 8);
    fill(OP_sum, IG_F32, 300000, x);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int how = ALONG; how <= BACKWARDS; how++)
            check_scan(OP_sum, IG_F32, sizes[i][0], sizes[i][1], (layout)how, x);
    free(x);
}

static void test_scan_dtypes(void **s)
{
    static const int ops[] = {OP_sum, OP_prod, OP_max, OP_min};
    enum { N = 67 * 1030 };
    (void)s;
    char *x = malloc(N * 8);
    for (int dtype = IG_BOOL; dtype < DTYPE_COUNT; dtype++) {
        for (int k = dtype == IG_BOOL ? 2 : 0; k < 4; k++) {
            fill(ops[k], (ig_dtype)dtype, N, x);
            check_scan(ops[k], (ig_dtype)dtype, 67, 1030, k % 2 ? ALONG : ACROSS, x);
            check_scan(ops[k], (ig_dtype)dtype, 1, N, ALONG, x);
            check_scan(ops[k], (ig_dtype)dtype, 9, 61, BACKWARDS, x);
        }
    }
    free(x);
}

static void test_scan_specials(void **s)
{
    enum { N = 70000 };
    static const int ops[] = {OP_sum, OP_prod, OP_max, OP_min};
    (void)s;
    float *x = floats(N);
    for (int k = 0; k < 4; k++) {
        for (int at = 40; at < N; at += 22222)
            x[at] = k < 2 ? NAN : at % 3 ? INFINITY : -INFINITY;
        check_scan(ops[k], IG_F32, 1, N, ALONG, (char *)x);
        x[66000] = NAN;
        check_scan(ops[k], IG_F32, 1, N, ALONG, (char *)x);
        for (int i = 0; i < N; i++)
            x[i] = i % 2 ? 0.0f : -0.0f;
        check_scan(ops[k], IG_F32, 7, N / 7, ALONG, (char *)x);
        for (int i = 0; i < N; i++)
            x[i] = -0.0f;
        check_scan(ops[k], IG_F32, 1, N, ALONG, (char *)x);
    }
    free(x);
}

/* ---- searches ---- */

/* True if value x of the dtype is ordered before y. */
static bool stands_before(ig_dtype dtype, const void *x, const void *y)
{
    if (dtype == IG_U64)
        return *(const uint64_t *)x < *(const uint64_t *)y;
    if (dtype_is_int(dtype))
        return dtype_fetch_int(dtype, x) < dtype_fetch_int(dtype, y);
    const double a = dtype_fetch(dtype, x), b = dtype_fetch(dtype, y);
    return a < b || (!isnan(a) && isnan(b));
}

/* A sorted row with repetitions: every second element of len * 2. */
static void fill_sorted(ig_dtype dtype, int64_t len, char *x)
{
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < len; i++) {
        const int64_t whole = i / 3 < 60 ? i / 3 : 60;
        char *at = x + 2 * i * bytes;
        if (dtype_is_float(dtype))
            dtype_store(dtype, at, i < len - 2 ? (double)whole - 20 : NAN);
        else
            memcpy(at, &whole, (size_t)bytes);
    }
}

static void check_search(ig_dtype dtype, int64_t len, bool right)
{
    enum { VALUES = 5000 };
    static uint64_t values[VALUES];
    static int64_t got[VALUES];
    const int64_t bytes = (int64_t)ig_dtype_bytes(dtype);
    char *sorted = calloc((size_t)(2 * len) + 1, 8);
    fill_sorted(dtype, len, sorted);
    for (int i = 0; i < VALUES; i++) {
        const int64_t whole = (int64_t)(next_random() % 70);
        char *at = (char *)values + i * bytes;
        if (dtype_is_float(dtype))
            dtype_store(dtype, at, i % 50 ? (double)(whole - 25) / 2 : i % 100 ? NAN : -0.0);
        else
            memcpy(at, &whole, (size_t)bytes);
    }
    bench *w = bench_new(PROGRAM_SEARCH, dtype);
    view every_second = line(len);
    every_second.stride[0] = 2;
    w->p.right = right;
    w->p.in[0] = (operand){.slot = 0, .dtype = dtype, .v = every_second};
    w->p.in[1] = (operand){.slot = 1, .dtype = dtype, .v = line(VALUES)};
    w->p.out = (operand){.slot = 2, .dtype = IG_I64, .v = line(VALUES)};
    bind(w, 0, sorted);
    bind(w, 1, values);
    bind(w, 2, got);
    assert_int_equal(run(w), IG_OK);
    for (int i = 0; i < VALUES; i++) {
        const char *v = (char *)values + i * bytes;
        int64_t want = 0;
        while (want < len && (right ? !stands_before(dtype, v, sorted + 2 * want * bytes)
                                    : stands_before(dtype, sorted + 2 * want * bytes, v)))
            want++;
        assert_int_equal(got[i], want);
    }
    free(w);
    free(sorted);
}

static void test_search(void **s)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 8, 199};
    (void)s;
    for (int dtype = IG_I8; dtype < DTYPE_COUNT; dtype++)
        for (int i = 0; i < 12; i++)
            check_search((ig_dtype)dtype, lengths[i / 2], i % 2);
}

/* ---- writes ---- */

static ig_status write_rows(bool add, ig_dtype dtype, void *out, const int64_t *index, int64_t n,
                            const void *updates, int64_t len)
{
    bench *w = bench_new(PROGRAM_WRITE, dtype);
    view all = line(n);
    all.stride[0] = 0;
    w->p.add = add;
    w->p.in[0] = (operand){.slot = 0, .dtype = IG_I64, .v = line(n)};
    w->p.in[1] = (operand){.slot = 1, .dtype = dtype, .v = line(n)};
    w->p.out = (operand){.slot = 2, .dtype = dtype, .v = all, .axis_len = len, .axis_stride = 1};
    bind(w, 0, (void *)index);
    bind(w, 1, (void *)updates);
    bind(w, 2, out);
    const ig_status status = run(w);
    free(w);
    return status;
}

static void test_write(void **s)
{
    enum { N = 5000, LEN = 37 };
    (void)s;
    static int64_t index[N];
    static float x[N], out[LEN], want[LEN];
    static uint16_t h[N], half[LEN], half_want[LEN];
    static int8_t b[N], bytes[LEN], bytes_want[LEN];
    for (int i = 0; i < N; i++) {
        index[i] = (int64_t)(next_random() % (2 * LEN)) - LEN;
        x[i] = next_float();
        dtype_store(IG_F16, &h[i], x[i]);
        b[i] = (int8_t)next_random();
    }
    for (int add = 0; add < 2; add++) {
        memset(out, 0, sizeof out);
        memset(want, 0, sizeof want);
        memset(half, 0, sizeof half);
        memset(half_want, 0, sizeof half_want);
        memset(bytes, 0, sizeof bytes);
        memset(bytes_want, 0, sizeof bytes_want);
        for (int i = 0; i < N; i++) {
            const int64_t at = index[i] < 0 ? index[i] + LEN : index[i];
            want[at] = add ? want[at] + x[i] : x[i];
            bytes_want[at] = (int8_t)(add ? bytes_want[at] + b[i] : b[i]);
            dtype_store(IG_F16, &half_want[at],
                        (add ? dtype_fetch(IG_F16, &half_want[at]) : 0) +
                            dtype_fetch(IG_F16, &h[i]));
        }
        assert_int_equal(write_rows(add, IG_F32, out, index, N, x, LEN), IG_OK);
        assert_memory_equal(out, want, sizeof out);
        assert_int_equal(write_rows(add, IG_F16, half, index, N, h, LEN), IG_OK);
        assert_memory_equal(half, half_want, sizeof half);
        assert_int_equal(write_rows(add, IG_I8, bytes, index, N, b, LEN), IG_OK);
        assert_memory_equal(bytes, bytes_want, sizeof bytes);
    }
    index[77] = LEN;
    index[78] = -LEN - 1;
    assert_int_equal(write_rows(true, IG_F32, out, index, N, x, LEN), IG_ERR_INDEX);
    assert_non_null(strstr(ig_error(NULL), "index 37 is out of bounds for an axis of length 37"));
}

/* Writes to (I, J, K) along each axis, by any number of threads, with a separate index for each point or for each line;
 * compared with one point after another. */
typedef struct write_case {
    int axis;
    bool add, lines;
    ig_dtype dtype;
} write_case;

static const int64_t base_shape[3] = {30, 40, 50}, update_shape[3] = {29, 37, 48};

static void write_plainly(const write_case *c, const view *index, const int32_t *indices,
                          const char *updates, char *out)
{
    const view space = packed(3, update_shape), base = packed(3, base_shape);
    const int64_t bytes = (int64_t)ig_dtype_bytes(c->dtype);
    for (int64_t i = 0; i < view_size(&space); i++) {
        int64_t at[3] = {i / (update_shape[1] * update_shape[2]),
                         i / update_shape[2] % update_shape[1], i % update_shape[2]};
        const int64_t k = indices[view_at(index, i)];
        at[c->axis] = k < 0 ? k + base_shape[c->axis] : k;
        char *d = out;
        for (int a = 0; a < 3; a++)
            d += at[a] * base.stride[a] * bytes;
        const double sum =
            dtype_fetch(c->dtype, updates + i * bytes) + (c->add ? dtype_fetch(c->dtype, d) : 0);
        dtype_store(c->dtype, d, c->dtype == IG_F32 ? (float)sum : sum);
    }
}

static void check_write(const write_case *c)
{
    enum { N = 29 * 37 * 48, BASE = 30 * 40 * 50, WRONG = 417 * 48 };
    const int64_t bytes = (int64_t)ig_dtype_bytes(c->dtype);
    char *base = malloc(BASE * 8), *want = malloc(BASE * 8), *got = malloc(BASE * 8);
    char *updates = malloc(N * 8);
    int32_t *indices = malloc(N * sizeof *indices);
    view index = packed(3, update_shape), out = packed(3, base_shape);
    for (int i = 0; i < 3; i++)
        out.shape[i] = update_shape[i];
    for (int64_t i = 0; i < N; i++) {
        indices[i] = (int32_t)(next_random() % (uint64_t)(2 * base_shape[c->axis])) -
                     (int32_t)base_shape[c->axis];
        dtype_store(c->dtype, updates + i * bytes, next_float() * 50);
    }
    for (int64_t i = 0; i < BASE; i++)
        dtype_store(c->dtype, base + i * bytes, next_float() * 50);
    if (c->lines)
        index.stride[2] = 0;
    memcpy(want, base, (size_t)(BASE * bytes));
    write_plainly(c, &index, indices, updates, want);
    for (int k = 0; k < THREAD_COUNTS; k++) {
        bench *w = bench_new(PROGRAM_WRITE, c->dtype);
        w->p.add = c->add;
        w->p.in[0] = (operand){.slot = 0, .dtype = IG_I32, .v = index};
        w->p.in[1] = (operand){.slot = 1, .dtype = c->dtype, .v = packed(3, update_shape)};
        w->p.out = (operand){.slot = 2,
                             .dtype = c->dtype,
                             .v = out,
                             .axis_len = base_shape[c->axis],
                             .axis_stride = out.stride[c->axis]};
        w->p.out.v.stride[c->axis] = 0;
        memcpy(got, base, (size_t)(BASE * bytes));
        bind(w, 0, indices);
        bind(w, 1, updates);
        bind(w, 2, got);
        pool_set_threads(thread_counts[k]);
        assert_int_equal(run(w), IG_OK);
        assert_memory_equal(got, want, (size_t)(BASE * bytes));
        /* The first of several wrong indices is reported. */
        const int32_t first = indices[WRONG], last = indices[N - 48];
        indices[WRONG] = 77;
        indices[N - 48] = 78;
        assert_int_equal(run(w), IG_ERR_INDEX);
        assert_non_null(strstr(ig_error(NULL), "index 77 is out of bounds"));
        indices[WRONG] = first;
        indices[N - 48] = last;
        free(w);
    }
    pool_set_threads(0);
    free(base);
    free(want);
    free(got);
    free(updates);
    free(indices);
}

static void test_write_axes(void **s)
{
    static const ig_dtype dtypes[] = {IG_F32, IG_F16, IG_BF16, IG_F64};
    (void)s;
    for (int d = 0; d < 4; d++)
        for (int axis = 0; axis < 3; axis++)
            for (int k = 0; k < (axis < 2 ? 4 : 2); k++)
                check_write(&(write_case){axis, k % 2, k / 2, dtypes[d]});
}

/* ---- views, read in order ---- */

/* Rows of any length and step, read from any position; memory ends with the view's last element. */
static void check_read(ig_dtype dtype, int64_t step, int64_t run, int64_t apart)
{
    const int64_t shape[] = {2, 4, run}, bytes = (int64_t)ig_dtype_bytes(dtype), n = 8 * run;
    operand o = {.dtype = dtype, .v = packed(3, shape)};
    const int64_t reach = (run - 1) * llabs(step);
    o.v.stride[2] = step;
    o.v.stride[1] = reach + apart;
    o.v.stride[0] = 4 * o.v.stride[1] + apart / 2;
    o.v.offset = step < 0 ? reach : 0;
    const int64_t size = o.v.stride[0] + 3 * o.v.stride[1] + reach + 1;
    char *x = malloc((size_t)(size * bytes)), *got = malloc((size_t)(n * bytes));
    for (int64_t i = 0; i < size * bytes; i++)
        x[i] = (char)next_random();
    buffer buf = {.data = x};
    const binding b = {.buf = &buf};
    for (int64_t first = 0; first < n; first += 1 + n / 7) {
        elements_read(&o, &b, first, n - first, got);
        for (int64_t i = 0; i < n - first; i++)
            assert_memory_equal(got + i * bytes, x + view_at(&o.v, first + i) * bytes, bytes);
    }
    free(x);
    free(got);
}

static void test_read(void **s)
{
    static const ig_dtype dtypes[] = {IG_U8, IG_F16, IG_F32, IG_F64};
    (void)s;
    for (int d = 0; d < 4; d++)
        for (int64_t step = -3; step <= 4; step++)
            for (int64_t run = 1; run < 70; run++)
                check_read(dtypes[d], step, run, 1 + run % 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),          cmocka_unit_test(test_scan_dtypes),
        cmocka_unit_test(test_scan_specials), cmocka_unit_test(test_search),
        cmocka_unit_test(test_write),         cmocka_unit_test(test_write_axes),
        cmocka_unit_test(test_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
