/* Sinks of blocks, failing reads of a source, and functions of blocks. */
#include "engine/array/array.h"
#include "support/blocks.h"
#include "support/folder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static ig_array *centred(ig_array *x) { return ig_subtract(x, ig_mean(x, IG_AXES(0), false)); }

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
        const bool resumes = round % 2, whole = !resumes && round % 8 < 4; /* without chunks */
        if (whole)
            s.chunk[0] = s.chunk[1] = 1;
        size_t bytes;
        char most[32];
        snprintf(most, sizeof most, "%lld", (long long)(64 + below(16 * n * m)));
        ig_scope_begin();
        ig_array *x = round % 4 < 2 ? drawn(round, IG_SHAPE(n, m), IG_F64)
                                    : drawn_complex(round, IG_SHAPE(n, m)); /* of 8 bytes, too */
        char *plain = elements(centred(x), &bytes);
        s.data = calloc(bytes + 1, 1);
        for (int64_t c = 0; resumes && c * s.chunk[0] < n; c++)
            if ((s.done[c] = below(2))) /* as an interrupted run left it */
                for (int64_t r = c * s.chunk[0]; r < n && r < (c + 1) * s.chunk[0]; r++)
                    memcpy(s.data + r * m * 8, plain + r * m * 8, (size_t)m * 8);
        const ig_block_sink sink = {.size = sizeof sink,
                                    .chunk = {whole ? NULL : s.chunk, whole ? 0 : 2},
                                    .write = sink_write,
                                    .has = resumes ? sink_has : NULL,
                                    .context = &s};
        setenv("IG_BLOCK_BYTES", most, 1);
        ig_array *source = source_of(x, chunk), *y = centred(source);
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

/* ---- sources that read for one caller at a time ---- */

typedef struct single {
    const float *data;
    atomic_int inside, overlaps;
} single;

/* Rows of 8 elements. Sleeps, so that another call would begin meanwhile. */
static ig_status read_rows(void *context, const int64_t *start, const int64_t *size, void *to)
{
    single *s = context;
    if (atomic_fetch_add(&s->inside, 1) > 0)
        atomic_fetch_add(&s->overlaps, 1);
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    for (int64_t r = 0; r < size[0]; r++)
        memcpy((float *)to + r * size[1], s->data + (start[0] + r) * 8 + start[1],
               (size_t)size[1] * 4);
    atomic_fetch_sub(&s->inside, 1);
    return IG_OK;
}

/* A source that is read as it is, and at few places. */
static void test_single(void **unused)
{
    (void)unused;
    enum { ROWS = 2000, FEW = 200 };
    ig_scope_begin();
    ig_array *x = drawn(1, IG_SHAPE(ROWS, 8), IG_F32);
    ig_array *places = ig_arange(0, 7 * FEW, 7, IG_I64); /* of rows */
    single s = {.data = ig_data(x)};
    ig_array *source = ig_from_blocks(&(ig_blocks){.size = sizeof(ig_blocks),
                                                   .shape = IG_SHAPE(ROWS, 8),
                                                   .dtype = IG_F32,
                                                   .read = read_rows,
                                                   .context = &s});
    ig_array *both[2];
    for (int i = 0; i < 2; i++) {
        ig_array *from = i ? source : x;
        ig_array *first = ig_slice(from, IG_AXES(0, 0), IG_AXES(FEW, 8), IG_NONE);
        both[i] = ig_subtract(ig_take(from, places, IG_AXES(0)), first);
    }
    setenv("IG_BLOCK_BYTES", "1000", 1);
    size_t bytes;
    char *plain = elements(both[0], &bytes), *made = elements(both[1], &bytes);
    unsetenv("IG_BLOCK_BYTES");
    assert_memory_equal(plain, made, bytes);
    assert_int_equal(s.overlaps, 0);
    free(plain);
    free(made);
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

/* A save was interrupted after a part of a row, which fills its chunk in part: the row is computed again. */
static void test_chunk_in_parts(void **unused)
{
    (void)unused;
    enum { N = 200000, WRITTEN = 131072 };
    static const float nothing[WRITTEN];
    const int64_t n = N, whole[1] = {N}, part[1] = {WRITTEN}, first[1] = {0}, chunk[1] = {30000};
    const ig_store_options o = {.size = sizeof o,
                                .chunk = {whole, 1},
                                .attributes = "{\"ingot_unfinished\": \"again\"}",
                                .existing = IG_STORE_REPLACE},
                           kept = {.size = sizeof kept, .chunk = {whole, 1}};
    const char *path = folder_path("sums.zarr");
    size_t bytes;
    ig_array *x = drawn(3, IG_SHAPE(n), IG_F32);
    char *plain = elements(ig_cumulative_sum(x, IG_AXES(0), IG_DTYPE_NONE, false), &bytes);
    ig_store *s = ig_store_create(path, (ig_ints){whole, 1}, IG_F32, &o);
    assert_non_null(s);
    assert_int_equal(ig_store_write(s, (ig_ints){first, 1}, (ig_ints){part, 1}, nothing), IG_OK);
    ig_store_close(s);
    setenv("IG_BLOCK_BYTES", "100000", 1);
    ig_array *y = ig_cumulative_sum(source_of(x, chunk), IG_AXES(0), IG_DTYPE_NONE, false);
    if (ig_save_store(path, y, &kept, "again") != IG_OK)
        fail_msg("%s", ig_error(NULL));
    unsetenv("IG_BLOCK_BYTES");
    assert_memory_equal(ig_data(ig_load(path)), plain, bytes);
    free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_failed_read),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_map_blocks),
        cmocka_unit_test_setup_teardown(test_chunk_in_parts, folder_begin, folder_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
