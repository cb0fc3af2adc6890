/* Arrays of more than 2^31 elements on the devices that compile kernels: maps, reductions, indices and slices. They
 * take 4 GiB of memory and 20 s of CPU time, so they are only tested with IG_TEST_LARGE=1. */
#include "support/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 251 };
static const int64_t above = (int64_t)1 << 31, count = above + 5;

static int64_t at_index(int64_t i) { return i % PERIOD; }

static int64_t sum_below(int64_t n)
{
    const int64_t rest = n % PERIOD;
    return n / PERIOD * (PERIOD * (PERIOD - 1) / 2) + rest * (rest - 1) / 2;
}

/* Elements of x + add around the limits of 32-bit indices. */
static void check_elements(ig_array *x, int64_t add)
{
    const int64_t at[] = {0,         1,         above - 2, above - 1, above,
                          above + 1, count - 1, -1,        -count,    1000};
    enum { N = sizeof at / sizeof at[0] };
    uint8_t got[N];
    ig_array *few = ig_take(x, ig_from_data(at, IG_SHAPE(N), IG_I64), IG_AXES(0));
    if (ig_read(few, got, sizeof got) != IG_OK)
        fail_msg("%s", ig_error(NULL));
    for (int i = 0; i < N; i++) {
        const int64_t want = at_index(at[i] < 0 ? at[i] + count : at[i]) + add;
        if (got[i] != want)
            fail_msg("element %lld is %d, not %d", (long long)at[i], got[i], (int)want);
    }
}

static void check_reductions(ig_array *x)
{
    assert_int_equal(ig_item_int(ig_sum(x, IG_NONE, IG_I64, false)), sum_below(count));
    assert_int_equal(ig_item_int(ig_max(x, IG_NONE, false)), PERIOD - 1);
    ig_array *last = ig_equal(ig_arange(0, (double)count, 1, IG_I64), ig_int(count - 1));
    assert_int_equal(ig_item_int(ig_argmax(ig_astype(last, IG_U8), IG_NONE, false)), count - 1);
    ig_array *rows =
        ig_reshape(ig_slice(x, IG_SHAPE(0), IG_SHAPE(above), IG_SHAPE(1)), IG_SHAPE(4, above / 4));
    int64_t sums[4], before = 0;
    assert_int_equal(ig_read(ig_sum(rows, IG_AXES(1), IG_I64, false), sums, sizeof sums), IG_OK);
    for (int i = 0; i < 4; i++) {
        const int64_t to = sum_below((i + 1) * (above / 4));
        assert_int_equal(sums[i], to - before);
        before = to;
    }
}

static void check_slices(ig_array *x)
{
    uint8_t got[7];
    ig_array *tail = ig_slice(x, IG_SHAPE(above - 2), IG_SHAPE(count), IG_SHAPE(1));
    assert_int_equal(ig_read(ig_add(tail, ig_int(2)), got, sizeof got), IG_OK);
    for (int i = 0; i < 7; i++)
        assert_int_equal(got[i], at_index(above - 2 + i) + 2);
}

static void check_fault(ig_array *x, const char *device)
{
    ig_array *at = ig_add(ig_arange(0, 9, 1, IG_I64), ig_int(count - 5));
    assert_null(ig_data(ig_take(x, at, IG_AXES(0))));
    ig_status code;
    const char *said = ig_error(&code);
    assert_int_equal(code, IG_ERR_INDEX);
    assert_non_null(strstr(said, "index 2147483653 is out of bounds"));
    assert_non_null(strstr(said, "position 5"));
    assert_non_null(strstr(said, device));
}

static void check_device(const char *device)
{
    ig_scope_begin();
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_array *index = ig_arange(0, (double)count, 1, IG_I64);
    ig_array *x = ig_astype(ig_remainder(index, ig_int(PERIOD)), IG_U8);
    if (ig_eval(&x, 1) != IG_OK)
        fail_msg("%s: %s", device, ig_error(NULL));
    check_elements(x, 0);
    check_reductions(x);
    check_slices(x);
    check_fault(x, device);
    ig_array *y = ig_add(ig_multiply(x, ig_int(1)), ig_int(3));
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    check_elements(y, 3);
    ig_scope_end();
    ig_set_device("cpu");
    ig_shutdown();
}

static void more_than_31_bits_on_opencl(void **unused)
{
    (void)unused;
    if (!getenv("IG_TEST_LARGE"))
        skip();
    if (opencl_device_or_skip(0))
        check_device("opencl:0");
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_31_bits_on_opencl),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
