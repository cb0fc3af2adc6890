/* The files of bench runs: written files are read back unchanged, and other files are rejected with
 * a one-line reason. */
#include "support/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/result.h"
#include "cli/cli.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static double times[] = {0.001, 0.0011, 2.5e-7, 3.0};
static int rounds[] = {0, 0, 1, 3}, processes[] = {0, 0, 1, 1};
static const char *warnings[] = {"drift: 4 %"};

static result_row a_row(void)
{
    return (result_row){.work = "matmul",
                        .size = "1024",
                        .dtype = "f32",
                        .device = "cpu",
                        .group = "compute",
                        .input = "normal, key 0",
                        .math = "strict",
                        .threads = 2,
                        .extent = 1024,
                        .flops = 2147483648.0,
                        .bytes = 12582912,
                        .answer = "9f3c",
                        .repeats = 3,
                        .n = 4,
                        .seconds = times,
                        .round = rounds,
                        .process = processes,
                        .n_process = 4,
                        .warnings = warnings,
                        .n_warnings = 1};
}

static void test_round_trip(void **state)
{
    (void)state;
    result_row row = a_row();
    result_device device = {.name = "cpu",
                            .kind = "cpu",
                            .cores = 2,
                            .memory = UINT64_MAX,
                            .cache = {65536, 1 << 20, 0},
                            .peak_flops = 1.5e11};
    result_op op = {"add", "map", "cpu", "f32 f64", "", NULL};
    result whole = {.version = "0.1",
                    .command = "ingot bench \"x\"",
                    .complete = true,
                    .seconds = 30.25,
                    .devices = &device,
                    .n_devices = 1,
                    .ops = &op,
                    .n_ops = 1,
                    .rows = &row,
                    .n_rows = 1};
    str why = {0}, once = {0}, again = {0};
    result back;
    int code;
    const char *path = folder_path("a.json");
    assert_true(result_write(&whole, path, &why));
    assert_true(result_read(&back, path, &why, &code));
    assert_int_equal(code, EXIT_FINE);
    assert_int_equal(back.schema, 1);
    assert_true(back.complete);
    assert_string_equal(back.command, "ingot bench \"x\"");
    assert_null(back.compiler);
    assert_int_equal(back.n_rows, 1);
    assert_string_equal(back.rows[0].work, "matmul");
    assert_int_equal(back.rows[0].n, 4);
    assert_true(back.rows[0].flops == 2147483648.0);
    assert_string_equal(back.rows[0].warnings[0], "drift: 4 %");
    for (int i = 0; i < 4; i++) {
        assert_true(back.rows[0].seconds[i] == times[i]);
        assert_int_equal(back.rows[0].round[i], rounds[i]);
        assert_int_equal(back.rows[0].process[i], processes[i]);
    }
    assert_true(back.devices[0].memory == UINT64_MAX);
    assert_true(back.devices[0].cache[1] == 1 << 20);
    assert_string_equal(back.ops[0].cls, "map");
    result_json(&whole, &once);
    result_json(&back, &again);
    assert_string_equal(once.s, again.s);
    str_free(&once);
    str_free(&again);
    result_free(&back);
}

static void test_writing_fails(void **state)
{
    (void)state;
    result whole = {.version = "0.1"};
    str why = {0};
    assert_false(result_write(&whole, folder_path("no/such/folder"), &why));
    assert_non_null(strstr(why.s, "no/such/folder"));
    str_free(&why);
    assert_false(result_write(&whole, "/dev/full", &why));
    assert_non_null(strstr(why.s, "/dev/full"));
    assert_int_equal(folder_entries(), 0);
    str_free(&why);
}

#define HEAD "\"schema\": 1, \"verb\": \"bench\", \"version\": \"0\""
#define ROW \
    "\"work\": \"w\", \"size\": \"1\", \"dtype\": \"f32\", \"device\": \"cpu\", " \
    "\"group\": \"g\", \"input\": \"i\", \"math\": \"strict\""

static const struct {
    const char *text, *why; /* NULL: it is read */
} cases[] = {
    {"{" HEAD "}", NULL},
    {"{" HEAD ", \"later\": [{}]}", NULL},
    {"{" HEAD ", \"rows\": [{" ROW ", \"seconds\": [[1], [], [2]]}]}", NULL},
    {"", "not JSON"},
    {"{" HEAD, "not JSON, or is incomplete"},
    {"[1, 2]", "not a result of 'ingot bench'"},
    {"{}", "not a result of 'ingot bench'"},
    {"{\"schema\": 1}", "not a result of 'ingot bench'"},
    {"{\"schema\": 1, \"verb\": \"compare\"}", "not a result of 'ingot bench'"},
    {"{\"schema\": 2, \"verb\": \"bench\", \"rows\": 7}", "use a newer version"},
    {"{\"schema\": 1, \"verb\": \"bench\"}", "'version' is missing"},
    {"{" HEAD ", \"rows\": 7}", "expected"},
    {"{" HEAD ", \"rows\": [{}]}", "'work' is missing (row 1)"},
    {"{" HEAD ", \"rows\": [{" ROW "}, {" ROW ", \"seconds\": [[1, 0]]}]}", "(row 2)"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"seconds\": [[-1]]}]}", "must not be negative"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"seconds\": [[0]]}]}", "times must be between"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"seconds\": [[NaN]]}]}", "not JSON"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"seconds\": [[1e999]]}]}", "double"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"seconds\": [1]}]}", "expected"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"flops\": -1}]}", "must not be negative"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"threads\": 9999999999}]}", "too many"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"process\": [0, 1], \"seconds\": [[1], [2]]}]}", NULL},
    {"{" HEAD ", \"rows\": [{" ROW ", \"process\": [0], \"seconds\": [[1], [2]]}]}",
     "does not match"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"process\": [1, 0]}]}", "does not match 'seconds' (row 1)"},
    {"{" HEAD ", \"rows\": [{" ROW ", \"process\": [-1]}]}", "expected"},
    {"{" HEAD ", \"seconds\": 1e40}", "too large"},
    {"{" HEAD ", \"devices\": [{\"name\": \"cpu\", \"peak_flops\": 1e-320}]}",
     "'peak_flops' is 9.99989e-321, which is too small (device 1)"},
    {"{" HEAD ", \"math\": \"a\\u0000b\"}", "zero byte"},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        result r;
        str why = {0};
        bool fine = result_parse(&r, cases[i].text, strlen(cases[i].text), &why);
        if (fine != !cases[i].why || (!fine && !strstr(why.s, cases[i].why)))
            fail_msg("%s: %s", cases[i].text, why.s ? why.s : "is read");
        assert_true(fine || !strchr(why.s, '\n'));
        str_free(&why);
        result_free(&r);
    }
}

static void test_control_characters_are_visible(void **state)
{
    (void)state;
    static const char text[] = "{" HEAD ", \"system\": \"a\\u001b[2J\\nb\\u009b\", "
                               "\"arch\": \"x\\u202ey\\u2066\\u061c\u05d0\u00e9\"}";
    result r;
    str why = {0};
    assert_true(result_parse(&r, text, strlen(text), &why));
    assert_string_equal(r.system, "a\\u001b[2J\\u000ab\\u009b");
    assert_string_equal(r.arch, "x\\u202ey\\u2066\\u061c\u05d0\u00e9");
    result_free(&r);
}

static void test_absent_file(void **state)
{
    (void)state;
    result r;
    str why = {0};
    int code = 0;
    assert_false(result_read(&r, folder_path("none"), &why, &code));
    assert_int_equal(code, EXIT_INPUT);
    assert_non_null(strstr(why.s, "No such file"));
    str_free(&why);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_begin, folder_end)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_round_trip), TEST(test_writing_fails),
                                       TEST(test_texts), TEST(test_control_characters_are_visible),
                                       TEST(test_absent_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
