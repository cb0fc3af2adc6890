/* Arrays that are larger than OpenCL's largest buffer, here 1 MiB. On a CPU they have several windows, and programs
 * over their rows run in tiles with the CPU's bits. Other programs are rejected, or run on the CPU device. */
#include "engine/backend/search.h"
#include "support/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, ROWS = 700, COLUMNS = 1000, RESULTS = 5, FEW = 3 };
static const int64_t bytes = 3 * MIB + 4096 + 24;

static bool ready(void)
{
    ig_shutdown();
    shim.memory(MIB, 0);
    return opencl_device_or_skip(0) != NULL;
}

static void done(void)
{
    ig_set_device("cpu");
    ig_shutdown();
    shim.memory(0, 0);
}

/* ---- bytes ---- */

static void check_bytes(buffer *b, size_t from, const uint8_t *want, size_t n)
{
    uint8_t *got = malloc(n);
    assert_int_equal(b->device->read(b, from, got, n), IG_OK);
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("byte %zu is %d, not %d", from + i, got[i], want[i]);
    free(got);
}

/* Ranges that end in the middle of a window, at its end, and over several. */
static void bytes_move_over_windows(void **unused)
{
    (void)unused;
    if (!ready())
        return;
    const backend *dev = search_at(backend_opencl.search, 0);
    const size_t n = (size_t)bytes;
    assert_true(dev->limits.alloc_bytes == MIB && dev->limits.reach_bytes == MIB / 2);
    buffer *x = dev->alloc(dev, n), *y = dev->alloc(dev, n);
    assert_non_null(x);
    assert_non_null(y);
    uint8_t *want = malloc(n);
    for (size_t i = 0; i < n; i++)
        want[i] = (uint8_t)(i % 251);
    assert_int_equal(dev->write(x, 0, want, n), IG_OK);
    check_bytes(x, 0, want, n);
    check_bytes(x, MIB / 2 - 3, want + MIB / 2 - 3, 7);
    assert_int_equal(dev->copy(y, 0, x, 0, n), IG_OK);
    assert_int_equal(dev->copy(y, 5, x, MIB / 2 - 1, 2 * MIB), IG_OK);
    check_bytes(y, 5, want + MIB / 2 - 1, 2 * MIB);
    assert_int_equal(dev->fill(y, MIB / 2 - 16, 7, MIB + 32), IG_OK);
    memset(want, 7, MIB + 32);
    check_bytes(y, MIB / 2 - 16, want, MIB + 32);
    assert_int_equal(dev->write(y, n - 4, "abcd", 4), IG_OK);
    check_bytes(y, n - 4, (const uint8_t *)"abcd", 4);
    assert_int_equal(dev->read(y, n - 3, want, 4), IG_ERR_ARGUMENT);
    ig_error(NULL);
    free(want);
    buffer_release(x);
    buffer_release(y);
    done();
}

/* A launch that does not declare its reach must not see only a part. */
static void other_kernels_are_refused(void **unused)
{
    (void)unused;
    kernel_code *k;
    if (!ready())
        return;
    const backend *dev = search_at(backend_opencl.search, 0);
    assert_int_equal(dev->kernel_build(dev, &opencl_number, &k), IG_OK);
    buffer *x = dev->alloc(dev, (size_t)bytes);
    assert_non_null(x);
    assert_int_equal(opencl_run_number(k, (binding){x, 0}, 2, 8), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "can use 1048576 at most");
    dev->kernel_discard(k);
    buffer_release(x);
    done();
}

/* ---- arrays ---- */

/* A map, a chain by rows, a reduction of all, a contraction, and a few elements at the end of a large array. */
static void build(ig_array *out[RESULTS])
{
    ig_array *x =
        ig_uniform(ig_key(1, NULL), IG_SHAPE(ROWS, COLUMNS), IG_F32, ig_float(0), ig_float(1));
    ig_array *y = ig_add(ig_multiply(x, x), ig_float(0.5));
    out[0] = ig_softmax(y, IG_AXES(1));
    out[1] = ig_sum(y, IG_NONE, IG_DTYPE_NONE, false);
    out[2] = ig_matmul(x, ig_ones(IG_SHAPE(COLUMNS, 4), IG_F32));
    out[3] = y;
    out[4] = ig_slice(ig_reshape(y, IG_SHAPE(ROWS * COLUMNS)), IG_SHAPE(ROWS * COLUMNS - FEW),
                      IG_SHAPE(ROWS * COLUMNS), IG_SHAPE(1));
}

/* The results one after another; -1 on failure. */
static int64_t compute(const char *device, float *got)
{
    ig_array *out[RESULTS];
    int64_t n = 0;
    if (ig_set_device(device) != IG_OK)
        return -1;
    build(out);
    if (ig_failed() || ig_eval(out, RESULTS) != IG_OK)
        return -1;
    for (int i = 0; i < RESULTS; i++) {
        if (ig_read(out[i], got + n, (size_t)ig_size(out[i]) * sizeof *got) != IG_OK)
            return -1;
        n += ig_size(out[i]);
    }
    return n;
}

static float got[3 * ROWS * COLUMNS], want[3 * ROWS * COLUMNS];

/* From the search for the device to its closing; the last results must be right. */
static bool live(int64_t n, const char *what, long at)
{
    const long objects = shim.objects();
    memset(got, 0, sizeof got);
    ig_scope_begin();
    const bool fine = compute("opencl:0", got) == n;
    ig_scope_end();
    ig_shutdown();
    const char *said = ig_error(NULL);
    if (fine && memcmp(got, want, (size_t)n * sizeof *got) != 0)
        fail_msg("%s %ld: wrong results without an error", what, at);
    if (!fine && !said)
        fail_msg("%s %ld: failed without an error", what, at);
    if (shim.objects() != objects)
        fail_msg("%s %ld: %ld objects of OpenCL left", what, at, shim.objects() - objects);
    return fine;
}

static void rows_run_in_tiles(void **unused)
{
    (void)unused;
    if (!ready())
        return;
    assert_int_equal(ig_set_math(IG_MATH_SAME), IG_OK);
    ig_scope_begin();
    const int64_t n = compute("cpu", want);
    ig_scope_end();
    ig_shutdown();
    if (!live(n, "no call", 0))
        fail_msg("it failed");
    const long step = getenv("IG_TEST_QUICK") ? 67 : 29;
    int failed = 0;
    for (long at = 1;; at += step) {
        shim.at(at, false);
        failed += !live(n, "call", at);
        const long calls = shim.calls();
        shim.at(0, false);
        if (calls < at)
            break;
    }
    assert_true(failed > 5);
    ig_set_math(IG_MATH_STRICT);
    done();
}

/* Rows of a reversed array are not rows of memory; its elements are cut into boxes. */
static void reversed_arrays_run(void **unused)
{
    (void)unused;
    uint8_t few[FEW];
    if (!ready())
        return;
    ig_scope_begin();
    assert_int_equal(ig_set_device("opencl:0"), IG_OK);
    ig_array *x = ig_astype(ig_arange(0, (double)bytes, 1, IG_I32), IG_U8);
    if (ig_eval(&x, 1) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    ig_array *back = ig_add(ig_flip(x, IG_AXES(0)), ig_int(1));
    if (ig_eval(&back, 1) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    ig_array *first = ig_slice(back, IG_SHAPE(0), IG_SHAPE(FEW), IG_SHAPE(1));
    assert_int_equal(ig_read(first, few, sizeof few), IG_OK);
    for (int k = 0; k < FEW; k++)
        assert_int_equal(few[k], (uint8_t)(bytes - k));
    ig_scope_end();
    done();
}

static void others_follow_the_policy(void **unused)
{
    (void)unused;
    uint8_t few[FEW];
    if (!ready())
        return;
    ig_scope_begin();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ig_set_device("opencl:0"), IG_OK);
        ig_set_fallback(i ? IG_FALLBACK_AUTO : IG_FALLBACK_ERROR);
        ig_array *x = ig_astype(ig_arange(0, (double)bytes, 1, IG_I32), IG_U8);
        if (ig_eval(&x, 1) != IG_OK)
            fail_msg("%s", ig_error(NULL));
        ig_array *sorted = ig_sort(x, 0, true, true);
        const ig_status status = ig_eval(&sorted, 1);
        if (i == 0) {
            assert_int_equal(status, IG_ERR_UNSUPPORTED);
            const char *said = ig_error(NULL);
            assert_non_null(strstr(said, "opencl:0"));
            assert_non_null(strstr(said, "larger than a buffer there (1 MiB)"));
            assert_non_null(strstr(said, "--fallback warn or auto"));
            continue;
        }
        assert_int_equal(status, IG_OK);
        assert_true(ig_fallback_count() > 0);
        assert_string_equal(ig_array_device(sorted), "opencl:0");
        ig_array *first = ig_slice(sorted, IG_SHAPE(0), IG_SHAPE(FEW), IG_SHAPE(1));
        assert_int_equal(ig_read(first, few, sizeof few), IG_OK);
        for (int k = 0; k < FEW; k++)
            assert_int_equal(few[k], 255);
    }
    ig_scope_end();
    ig_set_fallback(IG_FALLBACK_ERROR);
    done();
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    setenv("POCL_DEVICES", "basic", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_move_over_windows, opencl_test_begin,
                                        opencl_test_end),
        cmocka_unit_test_setup_teardown(other_kernels_are_refused, opencl_test_begin,
                                        opencl_test_end),
        cmocka_unit_test_setup_teardown(rows_run_in_tiles, opencl_test_begin, opencl_test_end),
        cmocka_unit_test_setup_teardown(reversed_arrays_run, opencl_test_begin, opencl_test_end),
        cmocka_unit_test_setup_teardown(others_follow_the_policy, opencl_test_begin,
                                        opencl_test_end),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
