/* Sorts of the CPU device, on handmade programs: every dtype, both directions, sizes around the limits between sorting
 * methods, any number of threads; compared with a plain stable sort. The first indices of rows are compared with full
 * argsorts. */
#include "cpu_programs.h"

/* ---- a plain stable sort ---- */

typedef struct plain {
    ig_dtype dtype;
    bool descending;
    const char *x;
} plain;

static int compare(const plain *s, int64_t i, int64_t k)
{
    const size_t bytes = ig_dtype_bytes(s->dtype);
    const char *p = s->x + (size_t)i * bytes, *q = s->x + (size_t)k * bytes;
    if (dtype_is_float(s->dtype)) {
        const double a = dtype_fetch(s->dtype, p), b = dtype_fetch(s->dtype, q);
        if (isnan(a) || isnan(b))
            return (isnan(a) != 0) - (isnan(b) != 0);
        return s->descending ? (a < b) - (a > b) : (a > b) - (a < b);
    }
    if (s->dtype == IG_U64) {
        const uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
        return s->descending ? (a < b) - (a > b) : (a > b) - (a < b);
    }
    const int64_t a = dtype_fetch_int(s->dtype, p), b = dtype_fetch_int(s->dtype, q);
    return s->descending ? (a < b) - (a > b) : (a > b) - (a < b);
}

static void plain_sort(const plain *s, int64_t n, int64_t *rank, int64_t *other)
{
    const int64_t half = n / 2;
    if (n < 2)
        return;
    plain_sort(s, half, rank, other);
    plain_sort(s, n - half, rank + half, other);
    memcpy(other, rank, (size_t)n * sizeof *rank);
    for (int64_t i = 0, a = 0, b = half; i < n; i++)
        rank[i] =
            b == n || (a < half && compare(s, other[a], other[b]) <= 0) ? other[a++] : other[b++];
}

/* ---- rows ---- */

/* kept: for indices, the first `kept` of each row; for sorted values, all. */
static void run_first(bool places, ig_dtype dtype, bool descending, int64_t outer, int64_t inner,
                      int64_t kept, layout how, const void *x, void *out)
{
    bench *w = bench_new(places ? PROGRAM_ARGSORT : PROGRAM_SORT, dtype);
    w->p.outer = outer;
    w->p.inner = inner;
    w->p.kept = kept;
    w->p.descending = descending;
    w->p.in[0] = (operand){.slot = 0, .dtype = dtype, .v = lay(how, outer, inner)};
    w->p.out = (operand){.slot = 1, .dtype = places ? IG_I64 : dtype, .v = lay(ALONG, outer, kept)};
    bind(w, 0, (void *)x);
    bind(w, 1, out);
    assert_int_equal(run(w), IG_OK);
    free(w);
}

static void run_sort(bool places, ig_dtype dtype, bool descending, int64_t outer, int64_t inner,
                     layout how, const void *x, void *out)
{
    run_first(places, dtype, descending, outer, inner, inner, how, x, out);
}

/* Sorts x in its layout, in both directions, with several numbers of threads. */
static void check_sort(ig_dtype dtype, int64_t outer, int64_t inner, layout how, const char *x,
                       int counts)
{
    const size_t bytes = ig_dtype_bytes(dtype), n = (size_t)(outer * inner);
    const view v = lay(how, outer, inner);
    char *rows = malloc(n * bytes), *got = malloc(n * 8), *want = malloc(n * bytes);
    int64_t *rank = malloc(n * sizeof *rank), *other = malloc(n * sizeof *rank);
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * bytes, x + (size_t)view_at(&v, (int64_t)i) * bytes, bytes);
    for (int descending = 0; descending < 2; descending++) {
        for (int64_t o = 0; o < outer; o++) {
            const plain s = {dtype, descending, rows + (size_t)(o * inner) * bytes};
            for (int64_t i = 0; i < inner; i++)
                rank[o * inner + i] = i;
            plain_sort(&s, inner, rank + o * inner, other);
            for (int64_t i = 0; i < inner; i++)
                memcpy(want + (size_t)(o * inner + i) * bytes,
                       s.x + (size_t)rank[o * inner + i] * bytes, bytes);
        }
        for (int k = 0; k < counts; k++) {
            pool_set_threads(thread_counts[k]);
            run_sort(false, dtype, descending, outer, inner, how, x, got);
            assert_memory_equal(got, want, n * bytes);
            run_sort(true, dtype, descending, outer, inner, how, x, got);
            assert_memory_equal(got, rank, n * sizeof *rank);
        }
    }
    pool_set_threads(0);
    free(rows);
    free(got);
    free(want);
    free(rank);
    free(other);
}

/* ---- data ---- */

typedef enum data { BITS, FEW, SPECIAL, EQUAL, OUTLIER, DATA_KINDS } data;

static void put(ig_dtype dtype, char *at, double x)
{
    if (dtype == IG_BOOL)
        *at = x != 0;
    else if (dtype_is_float(dtype))
        dtype_store(dtype, at, x);
    else {
        const int64_t i = (int64_t)x;
        memcpy(at, &i, ig_dtype_bytes(dtype));
    }
}

static void fill(ig_dtype dtype, data kind, int64_t n, char *x)
{
    static const double special[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1, -1, 0.5, 60};
    const size_t bytes = ig_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        char *at = x + (size_t)i * bytes;
        const uint64_t bits = next_random() << 33 ^ next_random() << 13 ^ next_random();
        const bool odd = kind == OUTLIER && i == n / 3;
        if (kind == BITS && dtype != IG_BOOL)
            memcpy(at, &bits, bytes);
        else if (kind == SPECIAL && dtype_is_float(dtype))
            put(dtype, at, special[bits % 10]);
        else
            put(dtype, at,
                kind == EQUAL ? 3
                : odd         ? 100
                              : (double)(bits % (kind == OUTLIER && bytes > 2 ? 60000 : 11)));
        if (odd && bytes > 2)
            memset(at + 1, 0x3f, bytes - 1);
    }
}

static void check_data(int64_t outer, int64_t inner, layout how, int counts)
{
    char *x = malloc((size_t)(outer * inner) * 8);
    for (int dtype = IG_BOOL; dtype < DTYPE_COUNT; dtype++)
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            fill((ig_dtype)dtype, (data)kind, outer * inner, x);
            check_sort((ig_dtype)dtype, outer, inner, how, x, counts);
        }
    free(x);
}

static void test_short(void **s)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 40, 63, 64, 65, 128, 200, 256, 257, 513};
    (void)s;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_data(3, sizes[i], ALONG, 2);
}

static void test_middle(void **s)
{
    (void)s;
    check_data(1, 1024, ALONG, 1);
    check_data(2, 1025, ALONG, 1);
    check_data(1, 6001, BACKWARDS, 1);
}

static void test_layouts(void **s)
{
    (void)s;
    check_data(200, 30, ALONG, THREAD_COUNTS);
    check_data(67, 45, ACROSS, THREAD_COUNTS);
    check_data(2, 700, ACROSS, 2);
    check_data(70, 130, BACKWARDS, 2);
}

/* Rows that are distributed by digits. An outlier leaves nearly all items in one bucket. A short test runs this case for
 * each dtype, every second one of the others, and all dtypes once. */
static void test_long(void **s)
{
    static const ig_dtype dtypes[] = {IG_U8, IG_F16, IG_F32, IG_I32, IG_I64, IG_F64};
    enum { N = 150001, MORE = 70001 };
    const bool quick = getenv("IG_TEST_QUICK") != NULL;
    bool seen[DTYPE_COUNT] = {false};
    (void)s;
    char *x = malloc((size_t)N * 8);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            if (quick && kind != OUTLIER && ((size_t)kind + d) % 2)
                continue;
            fill(dtypes[d], (data)kind, N, x);
            check_sort(dtypes[d], 1, N, d % 2 ? ALONG : BACKWARDS, x, d == 2 ? THREAD_COUNTS : 2);
        }
        seen[dtypes[d]] = quick;
    }
    for (int dtype = IG_BOOL; dtype < DTYPE_COUNT; dtype++) {
        if (seen[dtype])
            continue;
        fill((ig_dtype)dtype, BITS, MORE, x);
        check_sort((ig_dtype)dtype, 1, MORE, ALONG, x, 1);
    }
    free(x);
}

/* Several long rows: at once, or one after another. */
static void test_long_rows(void **s)
{
    enum { N = 66001 };
    (void)s;
    char *x = malloc((size_t)N * 3 * 4);
    fill(IG_F32, SPECIAL, N * 3, x);
    check_sort(IG_F32, 3, N, ALONG, x, THREAD_COUNTS);
    fill(IG_F32, BITS, N * 3, x);
    check_sort(IG_F32, 3, N, ACROSS, x, THREAD_COUNTS);
    free(x);
}

/* ---- the first indices of a row ---- */

/* They equal the beginning of the full argsort; nothing after them is written. */
static void check_first(ig_dtype dtype, int64_t outer, int64_t inner, int64_t kept, layout how,
                        const char *x, const int64_t *sorted, bool descending)
{
    const size_t n = (size_t)(outer * kept);
    int64_t *got = malloc((n + 1) * sizeof *got);
    got[n] = -7;
    run_first(true, dtype, descending, outer, inner, kept, how, x, got);
    for (int64_t o = 0; o < outer; o++)
        assert_memory_equal(got + o * kept, sorted + o * inner, (size_t)kept * sizeof *got);
    assert_int_equal(got[n], -7);
    free(got);
}

/* Checks each of n_kept numbers of indices; NULL: all from 0 to inner. */
static void check_firsts(ig_dtype dtype, int64_t outer, int64_t inner, layout how, const char *x,
                         const int64_t *kept, int64_t n_kept, int counts)
{
    int64_t *sorted = malloc((size_t)(outer * inner) * sizeof *sorted);
    for (int descending = 0; descending < 2; descending++) {
        run_sort(true, dtype, descending, outer, inner, how, x, sorted);
        for (int k = 0; k < counts; k++) {
            pool_set_threads(thread_counts[k]);
            for (int64_t i = 0; i < (kept ? n_kept : inner + 1); i++)
                check_first(dtype, outer, inner, kept ? kept[i] : i, how, x, sorted, descending);
        }
        pool_set_threads(0);
    }
    free(sorted);
}

static void test_first_short(void **s)
{
    static const int64_t some[] = {1, 2, 10, 100, 300, 600, 749, 750, 2000, 3000};
    (void)s;
    char *x = malloc((size_t)3000 * 8);
    for (int dtype = IG_BOOL; dtype < DTYPE_COUNT; dtype++)
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            fill((ig_dtype)dtype, (data)kind, 3000, x);
            check_firsts((ig_dtype)dtype, 3, 37, ALONG, x, NULL, 0, 1);
            check_firsts((ig_dtype)dtype, 1, 3000, ALONG, x, some, sizeof some / sizeof *some, 1);
            check_firsts((ig_dtype)dtype, 50, 60, ACROSS, x, (int64_t[]){1, 7, 15, 16}, 4, 2);
        }
    free(x);
}

/* Rows that fall and rise, so that no further element or every element may be among the first; and rows that repeat. */
static void test_first_long(void **s)
{
    enum { N = 150001 };
    static const ig_dtype dtypes[] = {IG_U8, IG_BF16, IG_F32, IG_I64, IG_F64};
    static const int64_t some[] = {1, 100, 3000, N / 8, N / 4, N - 1};
    (void)s;
    char *x = malloc((size_t)N * 8);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            fill(dtypes[d], (data)kind, N, x);
            check_firsts(dtypes[d], 1, N, kind % 2 ? ALONG : BACKWARDS, x, some,
                         sizeof some / sizeof *some, d == 2 ? THREAD_COUNTS : 1);
        }
        for (int64_t i = 0; i < N; i++)
            put(dtypes[d], x + (size_t)i * ig_dtype_bytes(dtypes[d]), (double)(i / 3));
        check_firsts(dtypes[d], 1, N, ALONG, x, some, sizeof some / sizeof *some, 2);
    }
    free(x);
}

static void test_first_long_rows(void **s)
{
    enum { N = 40001 };
    static const int64_t some[] = {3, 2000};
    (void)s;
    char *x = malloc((size_t)N * 7 * 4);
    fill(IG_F32, SPECIAL, N * 7, x);
    check_firsts(IG_F32, 7, N, ALONG, x, some, 2, THREAD_COUNTS);
    fill(IG_F32, BITS, N * 7, x);
    check_firsts(IG_F32, 7, N, ACROSS, x, some, 2, THREAD_COUNTS);
    free(x);
}

static void test_empty(void **s)
{
    (void)s;
    char x[8] = {0}, out[8];
    run_sort(false, IG_F32, false, 0, 5, ALONG, x, out);
    run_sort(true, IG_F32, false, 5, 0, ALONG, x, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),      cmocka_unit_test(test_middle),
        cmocka_unit_test(test_layouts),    cmocka_unit_test(test_long),
        cmocka_unit_test(test_long_rows),  cmocka_unit_test(test_first_short),
        cmocka_unit_test(test_first_long), cmocka_unit_test(test_first_long_rows),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
