/* Structs with a size: from an older and from a newer header, and with invalid sizes. The log. */
#include "base/log.h"
#include "base/sized.h"
#include "support/unit.h"
#include <stdio.h>
#include <string.h>

/* The struct as this library knows it, and as older and newer headers declare it. */
typedef struct options {
    size_t size;
    int a;
    int b;
    int added;
} options;
typedef struct options_first {
    size_t size;
    int a;
    int b;
} options_first;
typedef struct options_newer {
    options now;
    int later, last;
} options_newer;

#define TYPE SIZED(options, b)

static void test_read(void **state)
{
    (void)state;
    options to;
    ig_status code;
    const options_first first = {.a = 1, .b = 2};
    memset(&to, 7, sizeof to);
    assert_int_equal(sized_read(TYPE, &to, &first), IG_OK);
    assert_int_equal(to.a + 10 * to.b + 100 * to.added, 21);
    const options now = {.size = sizeof now, .a = 1, .b = 2, .added = 3};
    assert_int_equal(sized_read(TYPE, &to, &now), IG_OK);
    assert_int_equal(to.a + 10 * to.b + 100 * to.added, 321);
    options_newer newer = {.now = {.size = sizeof newer, .a = 4}};
    assert_int_equal(sized_read(TYPE, &to, &newer), IG_OK);
    assert_int_equal(to.a, 4);
    newer.last = 1;
    assert_int_equal(sized_read(TYPE, &to, &newer), IG_ERR_UNSUPPORTED);
    assert_non_null(strstr(ig_error(&code), "does not know"));
    const size_t wrong[] = {1, 8, 5000, (size_t)-1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const options bad = {.size = wrong[i]};
        assert_int_equal(sized_read(TYPE, &to, &bad), IG_ERR_ARGUMENT);
        assert_non_null(strstr(ig_error(&code), "sizeof(options)"));
    }
}

static void test_write(void **state)
{
    (void)state;
    const options from = {.a = 1, .b = 2, .added = 3};
    struct {
        options_first first;
        int guard;
    } old = {.guard = 77};
    assert_int_equal(sized_write(TYPE, &old.first, &from), IG_OK);
    assert_int_equal(old.first.size, 0);
    assert_int_equal(old.first.a + 10 * old.first.b, 21);
    assert_int_equal(old.guard, 77);
    options_newer newer = {.now = {.size = sizeof newer}, .later = 5};
    assert_int_equal(sized_write(TYPE, &newer, &from), IG_OK);
    assert_int_equal(newer.now.size, sizeof newer);
    assert_int_equal(newer.now.added, 3);
    assert_int_equal(newer.later, 0);
    options bad = {.size = 12345};
    assert_int_equal(sized_write(TYPE, &bad, &from), IG_ERR_ARGUMENT);
    ig_error(NULL);
}

/* Public functions check the size. */
static void test_public(void **state)
{
    (void)state;
    ig_device_info d = {.size = 3};
    ig_memory_info m = {.size = 99999};
    ig_verify_report r = {.size = 1};
    ig_array *x = ig_zeros(IG_SHAPE(2), IG_F32);
    assert_int_equal(ig_device_get(0, &d), IG_ERR_ARGUMENT);
    assert_non_null(strstr(ig_error(NULL), "ig_device_info.size"));
    assert_int_equal(ig_device_memory(NULL, &m), IG_ERR_ARGUMENT);
    assert_non_null(strstr(ig_error(NULL), "ig_memory_info.size"));
    assert_int_equal(ig_verify(&x, 1, &r), IG_ERR_ARGUMENT);
    assert_non_null(strstr(ig_error(NULL), "ig_verify_report.size"));
    const ig_module_options o = {.size = 2};
    assert_null(ig_module_new("k.cu", "__global__ void k() {}", &o));
    assert_non_null(strstr(ig_error(NULL), "ig_module_options.size"));
    const ig_translate_options t = {.size = 2, .to = "cuda"};
    assert_null(ig_translate("k.cu", "__global__ void k() {}", &t));
    assert_non_null(strstr(ig_error(NULL), "ig_translate_options.size"));
}

static void keep(void *context, ig_severity severity, const char *message)
{
    char *to = context;
    snprintf(to + strlen(to), 200 - strlen(to), "%d:%s|", (int)severity, message);
}

static void test_log(void **state)
{
    (void)state;
    char got[200] = "";
    ig_set_log(keep, got);
    log_line(IG_WARNING, "the CPU runs %d", 3);
    log_text(IG_NOTE, "a.cu:1: note\n");
    ig_set_log(NULL, NULL);
    assert_string_equal(got, "2:the CPU runs 3|1:a.cu:1: note\n|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_public),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
