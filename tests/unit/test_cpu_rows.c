/* Scans, sorts, searches and writes of the CPU device, on programs made by hand. */
#include "cpu_programs.h"

/* ---- scans ---- */

static void check_scan(int64_t outer, int64_t inner, const float *x)
{
    float *got = malloc((size_t)(outer * inner) * sizeof *got + 1);
    const int64_t shape[2] = {outer, inner};
    view back = packed(2, shape);
    back.stride[1] = -1;
    back.offset = inner - 1;
    for (int k = 0; k < THREAD_COUNTS; k++) {
        bench *w = bench_new(PROGRAM_SCAN, IG_F32);
        w->p.fold = OP_sum;
        w->p.outer = outer;
        w->p.inner = inner;
        w->p.in[0] = (operand){.slot = 0, .dtype = IG_F32, .v = back};
        w->p.out = (operand){.slot = 1, .dtype = IG_F32, .v = packed(2, shape)};
        bind(w, 0, (void *)x);
        bind(w, 1, got);
        pool_set_threads(thread_counts[k]);
        assert_int_equal(run(w), IG_OK);
        for (int64_t o = 0; o < outer; o++) {
            float carry = 0, prefix = 0;
            for (int64_t i = 0; i < inner; i++) {
                const float v = x[o * inner + inner - 1 - i];
                prefix = i % TAPE_BLOCK ? prefix + v : v;
                const float want = i < TAPE_BLOCK ? prefix : carry + prefix;
                assert_true(memcmp(&got[o * inner + i], &want, 4) == 0);
                if (i % TAPE_BLOCK == TAPE_BLOCK - 1)
                    carry = want;
            }
        }
        free(w);
    }
    pool_set_threads(0);
    free(got);
}

static void test_scan(void **s)
{
    (void)s;
    float *x = floats(300000);
    check_scan(1, 0, x);
    check_scan(1, 1, x);
    check_scan(3, 1024, x);
    check_scan(2, 5001, x);
    check_scan(1000, 17, x);
    check_scan(1, 300000, x);
    free(x);
}

/* ---- sorts and searches ---- */

static bool stands_before(float x, float y) { return x < y || (x == x && y != y); }

static void check_sort(int64_t outer, int64_t inner, const float *x, bool descending)
{
    const int64_t n = outer * inner, shape[2] = {outer, inner};
    float *values = malloc((size_t)n * sizeof *values);
    int64_t *ranks = malloc((size_t)n * sizeof *ranks);
    char *seen = malloc((size_t)inner);
    for (int arg = 0; arg < 2; arg++) {
        bench *w = bench_new(arg ? PROGRAM_ARGSORT : PROGRAM_SORT, IG_F32);
        w->p.outer = outer;
        w->p.inner = inner;
        w->p.flag = descending;
        w->p.in[0] = (operand){.slot = 0, .dtype = IG_F32, .v = packed(2, shape)};
        w->p.out = (operand){.slot = 1, .dtype = arg ? IG_I64 : IG_F32, .v = packed(2, shape)};
        bind(w, 0, (void *)x);
        bind(w, 1, arg ? (void *)ranks : values);
        assert_int_equal(run(w), IG_OK);
        free(w);
    }
    for (int64_t o = 0; o < outer; o++) {
        const float *row = x + o * inner;
        memset(seen, 0, (size_t)inner);
        for (int64_t i = 0; i < inner; i++) {
            const int64_t at = ranks[o * inner + i];
            assert_true(at >= 0 && at < inner && !seen[at]++);
            assert_memory_equal(&values[o * inner + i], &row[at], 4);
            if (i == 0)
                continue;
            const int64_t prior = ranks[o * inner + i - 1];
            const float p = row[prior], q = row[at];
            const bool nan = p != p || q != q;
            const bool before = descending && !nan ? p > q : stands_before(p, q);
            const bool equal = p == q || (p != p && q != q);
            assert_true(before || (equal && prior < at));
        }
    }
    free(values);
    free(ranks);
    free(seen);
}

static void test_sort(void **s)
{
    enum { N = 100000 };
    (void)s;
    float *x = floats(N);
    for (int i = 0; i < N; i++) {
        if (i % 3 == 0)
            x[i] = floorf(x[i] * 4);
        if (i % 17 == 0)
            x[i] = i % 2 ? 0.0f : -0.0f;
        if (i % 23 == 0)
            x[i] = i % 2 ? NAN : -NAN;
        if (i % 29 == 0)
            x[i] = i % 2 ? INFINITY : -INFINITY;
    }
    for (int descending = 0; descending < 2; descending++) {
        check_sort(1, 1, x, descending);
        check_sort(9, 2, x, descending);
        check_sort(1000, 39, x, descending);
        check_sort(1000, 41, x, descending);
        check_sort(3, 30000, x, descending);
        check_sort(1, N, x, descending);
    }
    free(x);
}

/* Every dtype: sorted ascending by its own order. */
static void test_sort_dtypes(void **s)
{
    enum { N = 1500 };
    (void)s;
    static uint64_t x[N], y[N];
    for (int dtype = IG_BOOL; dtype < DTYPE_COUNT; dtype++) {
        const size_t bytes = ig_dtype_bytes((ig_dtype)dtype);
        for (int i = 0; i < N; i++) {
            const uint64_t bits = next_random() << 33 ^ next_random();
            if (dtype == IG_BOOL)
                ((uint8_t *)x)[i] = bits & 1;
            else
                memcpy((char *)x + (size_t)i * bytes, &bits, bytes);
        }
        bench *w = bench_new(PROGRAM_SORT, (ig_dtype)dtype);
        w->p.outer = 1;
        w->p.inner = N;
        w->p.in[0] = (operand){.slot = 0, .dtype = (ig_dtype)dtype, .v = line(N)};
        w->p.out = (operand){.slot = 1, .dtype = (ig_dtype)dtype, .v = line(N)};
        bind(w, 0, x);
        bind(w, 1, y);
        assert_int_equal(run(w), IG_OK);
        for (int i = 1; i < N; i++) {
            const char *p = (char *)y + (size_t)(i - 1) * bytes, *q = p + bytes;
            if (dtype == IG_U64)
                assert_true(y[i - 1] <= y[i]);
            else if (dtype_is_int((ig_dtype)dtype))
                assert_true(dtype_fetch_int((ig_dtype)dtype, p) <=
                            dtype_fetch_int((ig_dtype)dtype, q));
            else
                assert_true(dtype_fetch((ig_dtype)dtype, p) <= dtype_fetch((ig_dtype)dtype, q) ||
                            dtype_fetch((ig_dtype)dtype, q) != dtype_fetch((ig_dtype)dtype, q));
        }
        free(w);
    }
}

static void test_search(void **s)
{
    enum { SORTED = 999, VALUES = 10000 };
    (void)s;
    static float sorted[2 * SORTED], values[VALUES];
    static int64_t got[VALUES];
    for (int i = 0; i < SORTED; i++)
        sorted[2 * i] = i < SORTED - 2 ? (float)(i / 3) : NAN;
    for (int i = 0; i < VALUES; i++)
        values[i] = i % 100   ? floorf(next_float() * 200 + 150) + (i % 2 ? 0.5f : 0)
                    : i % 200 ? NAN
                              : -0.0f;
    for (int right = 0; right < 2; right++) {
        bench *w = bench_new(PROGRAM_SEARCH, IG_F32);
        view every_second = line(SORTED);
        every_second.stride[0] = 2;
        w->p.flag = right;
        w->p.in[0] = (operand){.slot = 0, .dtype = IG_F32, .v = every_second};
        w->p.in[1] = (operand){.slot = 1, .dtype = IG_F32, .v = line(VALUES)};
        w->p.out = (operand){.slot = 2, .dtype = IG_I64, .v = line(VALUES)};
        bind(w, 0, sorted);
        bind(w, 1, values);
        bind(w, 2, got);
        assert_int_equal(run(w), IG_OK);
        for (int i = 0; i < VALUES; i++) {
            int64_t want = 0;
            while (want < SORTED && (right ? !stands_before(values[i], sorted[2 * want])
                                           : stands_before(sorted[2 * want], values[i])))
                want++;
            assert_int_equal(got[i], want);
        }
        free(w);
    }
}

/* ---- writes ---- */

static ig_status write_rows(bool add, ig_dtype dtype, void *out, const int64_t *index, int64_t n,
                            const void *updates, int64_t len)
{
    bench *w = bench_new(PROGRAM_WRITE, dtype);
    view all = line(n);
    all.stride[0] = 0;
    w->p.flag = add;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_sort_dtypes), cmocka_unit_test(test_search),
        cmocka_unit_test(test_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
