/* Programs that a device cannot run: depending on the policy, an error, or the CPU runs them. The devices are the CPU's
 * gangs without f64 and with small buffers, and PoCL with the same limits, where data has to move. Results have the
 * CPU's bits and are on the device of their arrays. */
#include "engine/backend/search.h"
#include "support/opencl.h"

#include "engine/array/array.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 12, BUFFER_BYTES = 4096 };

static backend small;

static ig_status describe(const backend *dev, ig_device_info *info)
{
    const ig_status status = backend_gang.describe(dev, info);
    info->name = dev->name;
    return status;
}

/* The gangs without f64, and PoCL as if it had no f64: `end` restores its limits. */
static const backend *devices[2];
static backend_limits limits_of_pocl;

static int group_begin(void **state)
{
    small = backend_gang;
    small.name = "small";
    small.describe = describe;
    small.limits.f64 = false;
    small.limits.alloc_bytes = BUFFER_BYTES;
    const int failed = opencl_begin(state);
    return failed || backend_register(&small) != IG_OK;
}

static void deny(const backend *dev)
{
    backend_limits *l = &((backend *)(uintptr_t)dev)->limits;
    limits_of_pocl = *l;
    l->f64 = false;
    l->alloc_bytes = BUFFER_BYTES;
}

/* Forgets schedules and the report. Devices are searched again, so PoCL's limits are set again. */
static void start_anew(void)
{
    ig_shutdown();
    devices[0] = &small;
    devices[1] = search_at(backend_opencl.search, 0);
    if (devices[1])
        deny(devices[1]);
}

static int test_begin(void **state)
{
    opencl_test_begin(state);
    start_anew();
    assert_int_equal(ig_set_fallback(IG_FALLBACK_AUTO), IG_OK);
    return begin(state);
}

static int test_end(void **state)
{
    if (devices[1])
        ((backend *)(uintptr_t)devices[1])->limits = limits_of_pocl;
    ig_set_fallback(IG_FALLBACK_ERROR);
    ig_set_device("cpu");
    const int failed = end(state);
    ig_shutdown();
    return failed || opencl_test_end(state);
}

/* ---- graphs ---- */

static ig_array *numbers(int64_t rows, int64_t columns, ig_dtype dtype)
{
    ig_array *x = ig_arange(0, (double)(rows * columns), 1, IG_F32);
    x = ig_sin(ig_multiply(x, ig_float(1.7)));
    return ig_reshape(ig_astype(x, dtype), IG_SHAPE(rows, columns));
}

static ig_array *map_of(ig_array *x) { return ig_add(ig_multiply(x, x), ig_float(0.5)); }
static ig_array *sum_of(ig_array *x) { return ig_sum(x, IG_AXES(1), IG_DTYPE_NONE, false); }
static ig_array *chain_of(ig_array *x) { return ig_softmax(x, IG_AXES(1)); }
static ig_array *product_of(ig_array *x) { return ig_matmul(x, ig_matrix_transpose(x)); }
static ig_array *sort_of(ig_array *x) { return ig_sort(x, 1, false, true); }
static ig_array *order_of(ig_array *x) { return ig_argsort(x, 1, true, true); }
static ig_array *scan_of(ig_array *x)
{
    return ig_cumulative_sum(x, IG_AXES(1), IG_DTYPE_NONE, false);
}
static ig_array *place_of(ig_array *x) { return ig_argmax(x, IG_AXES(1), false); }
static ig_array *taken_from(ig_array *x)
{
    return ig_take(x, ig_from_data((const int64_t[]){2, -1, 0}, IG_SHAPE(3), IG_I64), IG_AXES(0));
}
static ig_array *added_to(ig_array *x)
{
    ig_array *three = ig_take(x, ig_arange(0, 3, 1, IG_I64), IG_AXES(0));
    ig_array *at = ig_from_data((const int64_t[]){1, 1, 2}, IG_SHAPE(3, 1), IG_I64);
    return ig_scatter_add(x, ig_broadcast_to(at, ig_shape(three)), three, 0);
}
static ig_array *joined_of(ig_array *x)
{
    return ig_concat((ig_array *[]){x, ig_negative(x), ig_exp(x)}, 3, IG_AXES(0));
}
/* f32 ops before and after an f64 part; only the f64 part runs on the CPU. */
static ig_array *mixed_of(ig_array *x)
{
    ig_array *single = ig_astype(x, IG_F32);
    ig_array *wide = ig_sum(ig_astype(ig_exp(single), IG_F64), IG_AXES(1), IG_DTYPE_NONE, true);
    return ig_sort(ig_multiply(single, ig_astype(wide, IG_F32)), 1, true, true);
}

static ig_array *(*const graphs[])(ig_array *x) = {map_of,   sum_of,     chain_of, product_of,
                                                   sort_of,  order_of,   scan_of,  place_of,
                                                   mixed_of, taken_from, added_to, joined_of};
enum { GRAPHS = sizeof graphs / sizeof graphs[0] };

/* The result on the device has the same bits as on the CPU, and is on the device. */
static void expect_same(ig_array *(*graph)(ig_array *x), int64_t rows, int64_t columns,
                        ig_dtype dtype, const backend *dev, int nth)
{
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    ig_array *want = graph(numbers(rows, columns, dtype));
    if (!ig_data(want))
        fail_msg("graph %d: %s", nth, ig_error(NULL));
    assert_int_equal(ig_set_device(dev->name), IG_OK);
    ig_array *x = numbers(rows, columns, dtype), *have = graph(x);
    const void *data = ig_data(have);
    if (!data)
        fail_msg("graph %d on %s: %s", nth, dev->name, ig_error(NULL));
    assert_string_equal(ig_array_device(have), dev->name);
    const size_t bytes = (size_t)ig_size(want) * ig_dtype_bytes(ig_dtype_of(want));
    if (memcmp(data, ig_data(want), bytes) != 0)
        fail_msg("graph %d on %s differs", nth, dev->name);
    /* An array that was moved can be used again, also together with arrays that were not. */
    ig_array *again = ig_subtract(have, have);
    assert_int_equal(ig_eval(&again, 1), IG_OK);
    assert_string_equal(ig_array_device(again), dev->name);
    assert_true(ig_item(ig_any(again, IG_NONE, false)) == 0);
}

static void results_are_those_of_the_cpu(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++)
        for (int i = 0; i < GRAPHS; i++)
            expect_same(graphs[i], 8, N, IG_F64, devices[d], i);
    assert_true(ig_fallback_count() > 0);
}

/* Arrays that do not fit a buffer stay in host memory; the others are on the device. */
static void large_arrays_are_computed(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++)
        for (int i = 0; i < GRAPHS; i++)
            expect_same(graphs[i], 100, N, IG_F32, devices[d], i);
}

/* Each temporary fits a buffer, but not all of them together. */
static void an_arena_may_be_in_parts(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++) {
        const int before = ig_fallback_count();
        ig_set_device(devices[d]->name);
        ig_array *x = numbers(25, 40, IG_F32), *parts[4]; /* 4000 bytes */
        for (int i = 0; i < 4; i++)
            parts[i] = ig_sort(ig_add(x, ig_float(i)), 0, false, true);
        ig_array *all = ig_add(ig_add(parts[0], parts[1]), ig_add(parts[2], parts[3]));
        ig_array *have = ig_sort(all, 1, false, true);
        assert_non_null(ig_data(have));
        assert_int_equal(ig_fallback_count(), before);
    }
}

/* ---- the policy ---- */

static void an_error_names_op_device_and_reason(void **unused)
{
    (void)unused;
    ig_set_fallback(IG_FALLBACK_ERROR);
    for (int d = 0; d < 2 && devices[d]; d++) {
        ig_set_device(devices[d]->name);
        ig_array *x = numbers(4, 4, IG_F64), *y = ig_matmul(x, x);
        assert_int_equal(ig_eval(&y, 1), IG_ERR_UNSUPPORTED);
        ig_status code;
        const char *said = ig_error(&code);
        const char *const parts[] = {devices[d]->name, "f64", "to_device", "--fallback"};
        for (int i = 0; i < 4; i++)
            if (!strstr(said, parts[i]))
                fail_msg("'%s' is not in: %s", parts[i], said);
        assert_int_equal(code, IG_ERR_UNSUPPORTED);
        ig_array *large = ig_sort(numbers(1, 100 * N, IG_F32), 1, false, true);
        assert_int_equal(ig_eval(&large, 1), IG_ERR_UNSUPPORTED);
        assert_error(IG_ERR_UNSUPPORTED, "4 KiB");
        ig_array *small_one = ig_exp(numbers(4, 4, IG_F32));
        assert_int_equal(ig_eval(&small_one, 1), IG_OK);
    }
}

/* A schedule that one policy allowed is not used under another. */
static void the_policy_can_change(void **unused)
{
    (void)unused;
    ig_set_device("small");
    for (int i = 0; i < 3; i++) {
        ig_set_fallback(i == 1 ? IG_FALLBACK_ERROR : IG_FALLBACK_AUTO);
        ig_array *y = map_of(numbers(4, 4, IG_F64));
        assert_int_equal(ig_eval(&y, 1), i == 1 ? IG_ERR_UNSUPPORTED : IG_OK);
        ig_error(NULL);
    }
    assert_int_equal(ig_set_fallback((ig_fallback)7), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "not a policy");
    assert_int_equal(ig_fallback_policy(), IG_FALLBACK_AUTO);
}

/* Stores what fn writes to standard error in said. */
static void with_stderr(void (*fn)(void), char said[static 4096])
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    const int saved = dup(2);
    dup2(fileno(file), 2);
    fn();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(file);
    said[fread(said, 1, 4095, file)] = '\0';
    fclose(file);
}

static void square_three_times(void)
{
    for (int i = 0; i < 3; i++) {
        ig_array *y = map_of(numbers(4, 5, IG_F64));
        assert_int_equal(ig_eval(&y, 1), IG_OK);
    }
}

static int count(const char *in, const char *what)
{
    int n = 0;
    for (const char *at = in; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void a_warning_comes_once(void **unused)
{
    (void)unused;
    static char said[4096];
    ig_set_device("small");
    with_stderr(square_three_times, said);
    assert_string_equal(said, ""); /* auto */
    start_anew();
    ig_set_fallback(IG_FALLBACK_WARN);
    with_stderr(square_three_times, said);
    const int rows = ig_fallback_count();
    assert_true(rows >= 1);
    assert_int_equal(count(said, "warning"), rows);
    assert_true(count(said, "f64") == rows && strstr(said, "small"));
}

static void the_report_counts_runs_and_bytes(void **unused)
{
    (void)unused;
    ig_fallback_row r = {0};
    const uint64_t bytes = 3 * (4 * N * 4 + 4 * 8); /* x is read, the row sums are written */
    for (int d = 0; d < 2 && devices[d]; d++) {
        start_anew();
        ig_set_device(devices[d]->name);
        ig_array *x = ig_from_data((float[4 *N]){1, 2, 3}, IG_SHAPE(4, N), IG_F32);
        for (int i = 0; i < 3; i++) {
            ig_array *y = ig_sum(x, IG_AXES(1), IG_F64, false);
            assert_int_equal(ig_eval(&y, 1), IG_OK);
        }
        assert_int_equal(ig_fallback_count(), 1);
        assert_int_equal(ig_fallback_get(0, &r), IG_OK);
        assert_string_equal(r.device, devices[d]->name);
        assert_non_null(strstr(r.op, "sum"));
        assert_non_null(strstr(r.why, "f64"));
        assert_int_equal(r.runs, 3);
        assert_int_equal(r.bytes, d == 0 ? 0 : bytes); /* the gangs use host memory */
        assert_int_equal(ig_fallback_get(1, &r), IG_ERR_ARGUMENT);
        assert_error(IG_ERR_ARGUMENT, "row 1 of 1");
    }
}

static void explain_shows_the_device_of_each_program(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++) {
        ig_set_device(devices[d]->name);
        ig_array *y = mixed_of(numbers(4, N, IG_F32));
        char *text = ig_explain(&y, 1);
        assert_non_null(text);
        assert_false(ig_is_evaluated(y));
        assert_non_null(strstr(text, devices[d]->name));
        assert_non_null(strstr(text, "on cpu (the device has no f64"));
        assert_int_equal(ig_fallback_count(), 0); /* nothing ran */
        ig_free(text);
        assert_non_null(ig_data(y));
        start_anew();
    }
}

/* ---- other ways to evaluate ---- */

static void donated_and_compiled_runs_work(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++) {
        ig_set_device(devices[d]->name);
        ig_array *x = numbers(4, 4, IG_F64), *out[1];
        assert_int_equal(ig_eval(&x, 1), IG_OK);
        ig_array *y = map_of(x);
        ig_compiled *c = ig_compile(&x, 1, 1, &y, 1);
        assert_non_null(c);
        assert_int_equal(ig_run(c, &x, out), IG_OK);
        ig_array *again = numbers(4, 4, IG_F64);
        ig_array *want = map_of(again);
        assert_memory_equal(ig_data(out[0]), ig_data(want), 16 * 8);
        assert_int_equal(ig_eval_donating(&out[0], 1, NULL, 0), IG_OK);
        ig_array *z = map_of(out[0]);
        assert_int_equal(ig_eval_donating(&z, 1, &out[0], 1), IG_OK);
        ig_array *want_z = map_of(want);
        assert_memory_equal(ig_data(z), ig_data(want_z), 16 * 8);
        ig_compiled_free(c);
    }
}

static void an_index_out_of_bounds_is_told(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++) {
        ig_set_device(devices[d]->name);
        ig_array *at = ig_from_data((const int64_t[]){1, 9}, IG_SHAPE(2), IG_I64);
        ig_array *y = ig_take(numbers(4, 4, IG_F64), at, IG_AXES(0));
        assert_null(ig_data(y));
        assert_error(IG_ERR_INDEX, "index 9");
        ig_array *fine = map_of(numbers(4, 4, IG_F64));
        assert_non_null(ig_data(fine));
    }
}

static void large_arrays_move_between_devices(void **unused)
{
    (void)unused;
    for (int d = 0; d < 2 && devices[d]; d++) {
        ig_set_device("cpu");
        ig_array *x = numbers(100, N, IG_F64);
        assert_non_null(ig_data(x));
        ig_array *there = ig_to_device(x, devices[d]->name);
        ig_array *half = ig_multiply(there, ig_float(0.5));
        ig_array *back = ig_to_device(half, "cpu");
        assert_string_equal(ig_array_device(half), devices[d]->name);
        ig_array *want = ig_multiply(x, ig_float(0.5));
        assert_memory_equal(ig_data(back), ig_data(want), (size_t)(100 * N * 8));
    }
}

/* A user kernel that the device cannot compile. */
static void a_kernel_falls_back(void **unused)
{
    (void)unused;
    static const char source[] =
        "extern \"C\" __global__ void halve(const double *x, double *y) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < 16) y[i] = x[i] * 0.5;\n}\n";
    if (!devices[1]) {
        skip();
        return;
    }
    ig_set_device(devices[1]->name);
    ig_array *x = numbers(4, 4, IG_F64), *y = NULL;
    const int64_t n = 16;
    const ig_arg args[] = {{.kind = IG_ARG_ARRAY, .u.array = x}, {.kind = IG_ARG_INT, .u.i = n}};
    const ig_kernel_call call = {
        .source = source, .kernel = "halve", .args = args, .n_args = 2, .block = {16, 1, 1}};
    for (int i = 0; i < 2; i++) {
        ig_set_fallback(i ? IG_FALLBACK_AUTO : IG_FALLBACK_ERROR);
        assert_int_equal(ig_kernel(&call, &y, 1), i);
        ig_status code;
        const char *said = ig_error(&code);
        assert_int_equal(code, i ? IG_OK : IG_ERR_UNSUPPORTED);
        assert_true(i || strstr(said, "IG-F64"));
    }
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    assert_string_equal(ig_array_device(y), devices[1]->name);
    ig_array *want = ig_reshape(ig_multiply(x, ig_float(0.5)), IG_SHAPE(16));
    assert_memory_equal(ig_data(y), ig_data(want), 16 * 8);
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    setenv("POCL_DEVICES", "basic", 1);
#define TEST(f) cmocka_unit_test_setup_teardown(f, test_begin, test_end)
    const struct CMUnitTest tests[] = {
        TEST(results_are_those_of_the_cpu),
        TEST(large_arrays_are_computed),
        TEST(an_arena_may_be_in_parts),
        TEST(an_error_names_op_device_and_reason),
        TEST(the_policy_can_change),
        TEST(a_warning_comes_once),
        TEST(the_report_counts_runs_and_bytes),
        TEST(explain_shows_the_device_of_each_program),
        TEST(donated_and_compiled_runs_work),
        TEST(an_index_out_of_bounds_is_told),
        TEST(large_arrays_move_between_devices),
        TEST(a_kernel_falls_back),
    };
    return cmocka_run_group_tests(tests, group_begin, opencl_end);
}
