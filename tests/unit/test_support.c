/* The ops that a device supports: ig_can_eval and the table of ingot ops --support, on a device without f64. */
#include "engine/backend/backend.h"
#include "cli/cli.h"
#include "cli/support.h"
#include "engine/eval/kernel_table.h"
#include "support/capture.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

static backend single; /* the device gang, without f64 and subnormal numbers */

static ig_status describe(const backend *dev, ig_device_info *info)
{
    const backend *gang = backend_find("gang");
    const ig_status status = gang->describe(gang, info);
    info->name = dev->name;
    return status;
}

static int add_device(void **state)
{
    (void)state;
    single = *backend_find("gang");
    single.name = "single";
    single.describe = describe;
    single.limits.f64 = false;
    single.limits.subnormals = false;
    return backend_register(&single) != IG_OK;
}

static ig_array *sines(const char *device, ig_dtype dtype)
{
    assert_int_equal(ig_set_device(device), IG_OK);
    static const double zeros[7];
    ig_array *x = ig_from_data(zeros, IG_SHAPE(7), dtype);
    x = ig_sum(ig_sin(x), IG_NONE, IG_DTYPE_NONE, false);
    assert_int_equal(ig_set_device("cpu"), IG_OK);
    return x;
}

static void support_is_asked_without_compiling(void **state)
{
    (void)state;
    const int before = kernels_count();
    ig_array *y[2] = {sines("single", IG_F32), sines("gang", IG_F64)};
    assert_int_equal(ig_can_eval(y, 2), IG_OK);
    assert_false(ig_is_evaluated(y[0]) || ig_is_evaluated(y[1]));
    ig_array *z = sines("single", IG_F64);
    assert_int_equal(ig_can_eval(&z, 1), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "f64");
    assert_int_equal(kernels_count(), before);
    assert_int_equal(ig_eval(&z, 1), IG_ERR_UNSUPPORTED);
    assert_error(IG_ERR_UNSUPPORTED, "f64");
    assert_int_equal(ig_can_eval(&y[1], 1), IG_OK);
    ig_array *none = NULL;
    assert_int_equal(ig_can_eval(&none, 1), IG_ERR_ARGUMENT);
    assert_error(IG_ERR_ARGUMENT, "NULL");
}

static void the_table_has_what_the_device_lacks(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        ig_dtype dtype;
        taking is;
    } rows[] = {{"exp", IG_F32, TAKING_NATIVE},      {"exp", IG_F64, TAKING_REFUSED},
                {"exp", IG_F16, TAKING_NATIVE},      {"matmul", IG_I8, TAKING_NATIVE},
                {"matmul", IG_F64, TAKING_REFUSED},  {"add", IG_BOOL, TAKING_REFUSED},
                {"softmax", IG_BF16, TAKING_NATIVE}, {"unique_values", IG_F32, TAKING_NATIVE},
                {"nonzero", IG_BOOL, TAKING_NATIVE}, {"unique_values", IG_F64, TAKING_REFUSED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        support s = support_ask(ig_op_find(rows[i].op), "single");
        if (s.is[rows[i].dtype] != rows[i].is)
            fail_msg("%s of %s: %d", rows[i].op, ig_dtype_name(rows[i].dtype), s.is[rows[i].dtype]);
        support_free(&s);
    }
}

static void the_verb_tells_the_reason(void **state)
{
    (void)state;
    char *said;
    assert_int_equal(capture_verb(verb_ops, "ops --support --device single", &said), EXIT_FINE);
    assert_non_null(strstr(said, "single: dtypes that are computed there"));
    assert_non_null(strstr(said, "f32 below 2^-126 may become 0\n"));
    assert_non_null(strstr(said, "f64: the device has no f64 arithmetic"));
    assert_null(strstr(said, "cpu: "));
    free(said);
    assert_int_equal(capture_verb(verb_ops, "ops exp --json --device single", &said), EXIT_FINE);
    assert_non_null(strstr(said, "{\"name\": \"single\", \"flushes_subnormals\": true}"));
    assert_non_null(strstr(said, "\"f64\": {\"by\": \"refused\", \"why\": "));
    assert_non_null(strstr(said, "\"f32\": {\"by\": \"native\"}"));
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(support_is_asked_without_compiling, begin, end),
        cmocka_unit_test_setup_teardown(the_table_has_what_the_device_lacks, begin, end),
        cmocka_unit_test_setup_teardown(the_verb_tells_the_reason, begin, end),
    };
    const int failed = cmocka_run_group_tests(tests, add_device, NULL);
    ig_shutdown();
    return failed;
}
