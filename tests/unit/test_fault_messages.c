/* Several indices out of bounds at once, on every kind of device: the message is the same everywhere, except for the
 * device's name. It names the first program that found one, and the index at its lowest position, for any order of
 * threads. OpenCL is PoCL, CUDA the fake driver, Metal the simulator; missing ones are skipped. */
#include "support/cuda.h"
#include "support/metal.h"
#include "support/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 5000, ROWS = 40, COLUMNS = 6, SAID = 400 };

static const char *const devices[] = {"cpu", "gang", "opencl:0", "cuda:0", "metal:0"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

/* ---- programs with bad indices ---- */

/* n indices below `most`, except for three bad ones: the lowest is `first` at `at`. */
static ig_array *indices(int64_t n, int64_t most, int64_t at, int64_t first)
{
    static int64_t data[LONG];
    for (int64_t i = 0; i < n; i++)
        data[i] = i * 7 % most;
    data[at] = first;
    data[n - 1] = most + 5;
    data[(at + n) / 2] = -most - 9;
    return ig_from_data(data, IG_SHAPE(n), IG_I64);
}

/* (ROWS, COLUMNS), evaluated on the current device. */
static ig_array *table(void)
{
    ig_array *x = ig_reshape(ig_arange(0, ROWS * COLUMNS, 1, IG_F32), IG_SHAPE(ROWS, COLUMNS));
    return ig_eval(&x, 1) == IG_OK ? x : NULL;
}

static ig_array *take_elements(void)
{
    return ig_exp(ig_take(ig_arange(0, 100, 1, IG_F32), indices(LONG, 100, 17, -101), IG_AXES(0)));
}

static ig_array *take_rows(void)
{
    return ig_take(table(), indices(64, ROWS, 9, ROWS), IG_AXES(0));
}

/* Most positions are bad, and they are in many blocks. */
static ig_array *take_mostly_bad(void)
{
    ig_array *at = ig_add(ig_arange(0, 30 * LONG, 1, IG_I64), ig_int(90));
    return ig_take(ig_arange(0, 100, 1, IG_F32), at, IG_AXES(0));
}

static ig_array *gather_columns(void)
{
    ig_array *at = ig_reshape(indices(ROWS * 3, COLUMNS, 50, COLUMNS), IG_SHAPE(ROWS, 3));
    return ig_take_along_axis(table(), at, 1);
}

static ig_array *sum_of_taken(void)
{
    return ig_sum(ig_take(table(), indices(LONG, ROWS, 2100, -ROWS - 1), IG_AXES(0)), IG_AXES(1),
                  IG_DTYPE_NONE, false);
}

/* A chain of programs: normalizes rows taken by index. */
static ig_array *softmax_of_taken(void)
{
    return ig_softmax(ig_take(table(), indices(300, ROWS, 33, 77), IG_AXES(0)), IG_AXES(1));
}

static ig_array *scatter_rows(void)
{
    ig_array *updates = ig_reshape(ig_arange(0, 64 * COLUMNS, 1, IG_F32), IG_SHAPE(64, COLUMNS));
    ig_array *at = ig_broadcast_to(ig_reshape(indices(64, ROWS, 11, 41), IG_SHAPE(64, 1)),
                                   IG_SHAPE(64, COLUMNS));
    return ig_scatter(table(), at, updates, 0);
}

static ig_array *scatter_add_elements(void)
{
    ig_array *updates = ig_arange(0, LONG, 1, IG_F32);
    return ig_scatter_add(ig_arange(0, 100, 1, IG_F32), indices(LONG, 100, 3000, 100), updates, 0);
}

/* Two programs with bad indices: the first one is named, although the other has a lower position. */
static ig_array *take_of_sums(void)
{
    ig_array *first = ig_take(table(), indices(200, ROWS, 150, 50), IG_AXES(0));
    ig_array *sums = ig_sum(first, IG_AXES(1), IG_DTYPE_NONE, false);
    return ig_take(sums, indices(100, 200, 3, 300), IG_AXES(0));
}

static ig_array *refused_label(void)
{
    return ig_cross_entropy(table(), ig_add(ig_arange(0, ROWS, 1, IG_I64), ig_int(-1)), 1, NULL);
}

static const struct {
    const char *name;
    ig_array *(*build)(void);
    const char *says;
    bool slow; /* PoCL takes long to compile its kernels */
} cases[] = {
    {"elements", take_elements,
     "index -101 is out of bounds for an axis of length 100; it must be in [-100, 100) (read exp "
     "on cpu, position 17)",
     false},
    {"rows", take_rows,
     "index 40 is out of bounds for an axis of length 40; it must be in [-40, 40) (read on cpu, "
     "position 54)",
     false},
    {"mostly bad", take_mostly_bad, "index 100 is out of bounds", false},
    {"columns", gather_columns, "index 6 is out of bounds for an axis of length 6", true},
    {"a sum", sum_of_taken, "index -41 is out of bounds", false},
    {"a chain", softmax_of_taken, "index 77 is out of bounds", true},
    {"scatter", scatter_rows,
     "index 41 is out of bounds for an axis of length 40; it must be in [-40, 40) (scatter on cpu, "
     "position 66)",
     false},
    {"scatter_add", scatter_add_elements, "(scatter_add on cpu, position 3000)", true},
    {"two programs", take_of_sums, "index 50 is out of bounds", false},
    {"a label", refused_label, "index -1 is negative; it must be in [0, 6)", true},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- the message ---- */

/* The message of reading the result on the device. */
static void say(ig_array *(*build)(void), const char *device, char said[SAID])
{
    ig_scope_begin();
    assert_int_equal(ig_set_device(device), IG_OK);
    ig_array *y = build();
    assert_non_null(y);
    assert_null(ig_data(y));
    ig_status code;
    const char *text = ig_error(&code);
    assert_non_null(text);
    if (code != IG_ERR_INDEX)
        fail_msg("%s: %s", device, text);
    snprintf(said, SAID, "%s", text);
    ig_scope_end();
    ig_set_device("cpu");
}

/* Replaces the CPU's name by the device's. */
static void rename_device(const char *said, const char *device, char out[SAID])
{
    const char *at = strstr(said, " on cpu,");
    assert_non_null(at);
    snprintf(out, SAID, "%.*s on %s,%s", (int)(at - said), said, device, at + strlen(" on cpu,"));
}

static bool has_device(const char *name)
{
    if (strcmp(name, "metal:0") == 0)
        return metal_runs();
    const bool found = ig_set_device(name) == IG_OK;
    if (!found)
        ig_error(NULL);
    ig_set_device("cpu");
    return found;
}

static void check_device(const char *device)
{
    char first[SAID], want[SAID], said[SAID];
    for (int i = 0; i < CASES; i++) {
        if (cases[i].slow && (getenv("IG_TEST_QUICK") || strcmp(device, "opencl:0") == 0))
            continue;
        say(cases[i].build, "cpu", first);
        if (!strstr(first, cases[i].says))
            fail_msg("%s: the CPU says: %s", cases[i].name, first);
        rename_device(first, device, want);
        for (int again = 0; again < 2; again++) {
            say(cases[i].build, device, said);
            if (strcmp(said, want) != 0)
                fail_msg("%s on %s: %s", cases[i].name, device, said);
        }
    }
}

static void messages_are_the_same_everywhere(void **unused)
{
    (void)unused;
    for (int d = 0; d < DEVICES; d++) {
        if (has_device(devices[d]))
            check_device(devices[d]);
        else
            print_message("no device %s\n", devices[d]);
    }
    setenv("METALSIM_ORDER", "1", 1); /* threads run in reverse order */
    if (has_device("metal:0"))
        check_device("metal:0");
    ig_shutdown();
}

/* Evaluations that were not waited for: only the one that failed is named, and only its results are invalid. */
static void programs_in_flight_are_told_apart(void **unused)
{
    (void)unused;
    for (int d = 2; d < DEVICES; d++) {
        if (!has_device(devices[d]))
            continue;
        ig_scope_begin();
        ig_set_device(devices[d]);
        ig_array *fine = ig_negative(ig_take(table(), ig_arange(0, 4, 1, IG_I64), IG_AXES(0)));
        ig_array *wrong = take_elements(), *other = ig_add(table(), ig_float(1));
        assert_int_equal(ig_eval(&fine, 1), IG_OK);
        assert_int_equal(ig_eval(&wrong, 1), IG_OK);
        assert_int_equal(ig_eval(&other, 1), IG_OK);
        assert_int_equal(ig_synchronize(devices[d]), IG_ERR_INDEX);
        ig_status code;
        const char *said = ig_error(&code);
        assert_int_equal(code, IG_ERR_INDEX);
        assert_non_null(strstr(said, "index -101 is out of bounds"));
        assert_non_null(strstr(said, "(read exp on "));
        assert_null(ig_data(wrong)); /* still */
        assert_error(IG_ERR_DEVICE, "not valid");
        assert_non_null(ig_data(fine));
        assert_non_null(ig_data(other));
        assert_int_equal(ig_synchronize(devices[d]), IG_OK);
        ig_array *again = ig_take(table(), ig_arange(0, 4, 1, IG_I64), IG_AXES(0));
        const float *data = ig_data(again);
        assert_non_null(data);
        assert_true(data[COLUMNS] == COLUMNS);
        ig_scope_end();
    }
    ig_set_device("cpu");
    ig_shutdown();
}

int main(int argc, char **argv)
{
    (void)argc;
    opencl_prepare(argv[0]);
    cuda_prepare(argv[0]);
    metal_prepare(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_the_same_everywhere),
        cmocka_unit_test(programs_in_flight_are_told_apart),
    };
    return cmocka_run_group_tests(tests, opencl_begin, opencl_end);
}
