/* The part of cmocka's interface that our tests use, for builds of another architecture, where no
 * cmocka is installed. Same names, same meaning, same output; only the Makefile's CROSS builds see
 * this header. A test that needs more of cmocka adds it here.
 */
#ifndef CMOCKA_H
#define CMOCKA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func;
    CMFixtureFunction teardown_func;
    void *initial_state;
};

#define cmocka_unit_test(f) \
    { \
#f, f, NULL, NULL, NULL \
    }
#define cmocka_unit_test_setup(f, up) \
    { \
#f, f, up, NULL, NULL \
    }
#define cmocka_unit_test_teardown(f, down) \
    { \
#f, f, NULL, down, NULL \
    }
#define cmocka_unit_test_setup_teardown(f, up, down) \
    { \
#f, f, up, down, NULL \
    }
#define cmocka_unit_test_prestate(f, state) \
    { \
#f, f, NULL, NULL, state \
    }
#define cmocka_unit_test_prestate_setup_teardown(f, up, down, state) \
    { \
#f, f, up, down, state \
    }

#define cmocka_run_group_tests(tests, up, down) \
    cross_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]), up, down)
#define cmocka_run_group_tests_name(name, tests, up, down) \
    cross_run(name, tests, sizeof(tests) / sizeof((tests)[0]), up, down)

/* Runs the tests in order; returns how many failed. */
int cross_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction up,
              CMFixtureFunction down);

/* Each ends the running test when what it says is not so. */
void cross_true(int holds, const char *text, const char *file, int line);
void cross_integers(uint64_t a, uint64_t b, int equal, const char *file, int line);
void cross_strings(const char *a, const char *b, int equal, const char *file, int line);
void cross_bytes(const void *a, const void *b, size_t size, int equal, const char *file, int line);
void cross_floats(double a, double b, double within, int equal, const char *file, int line);
void cross_range(uint64_t value, uint64_t low, uint64_t high, int inside, const char *file,
                 int line);
void cross_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cross_skip(void);
void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CROSS_HERE __FILE__, __LINE__
#define assert_true(c) cross_true(!!(c), #c, CROSS_HERE)
#define assert_false(c) cross_true(!(c), "!(" #c ")", CROSS_HERE)
#define assert_non_null(p) cross_true((p) != NULL, #p " is not NULL", CROSS_HERE)
#define assert_null(p) cross_true((p) == NULL, #p " is NULL", CROSS_HERE)
#define assert_ptr_equal(a, b) \
    cross_integers((uint64_t)(uintptr_t)(a), (uint64_t)(uintptr_t)(b), 1, CROSS_HERE)
#define assert_ptr_not_equal(a, b) \
    cross_integers((uint64_t)(uintptr_t)(a), (uint64_t)(uintptr_t)(b), 0, CROSS_HERE)
#define assert_int_equal(a, b) cross_integers((uint64_t)(a), (uint64_t)(b), 1, CROSS_HERE)
#define assert_int_not_equal(a, b) cross_integers((uint64_t)(a), (uint64_t)(b), 0, CROSS_HERE)
#define assert_float_equal(a, b, e) cross_floats((float)(a), (float)(b), (float)(e), 1, CROSS_HERE)
#define assert_float_not_equal(a, b, e) \
    cross_floats((float)(a), (float)(b), (float)(e), 0, CROSS_HERE)
#define assert_double_equal(a, b, e) cross_floats(a, b, e, 1, CROSS_HERE)
#define assert_double_not_equal(a, b, e) cross_floats(a, b, e, 0, CROSS_HERE)
#define assert_string_equal(a, b) cross_strings(a, b, 1, CROSS_HERE)
#define assert_string_not_equal(a, b) cross_strings(a, b, 0, CROSS_HERE)
#define assert_memory_equal(a, b, n) cross_bytes(a, b, n, 1, CROSS_HERE)
#define assert_memory_not_equal(a, b, n) cross_bytes(a, b, n, 0, CROSS_HERE)
#define assert_in_range(v, low, high) \
    cross_range((uint64_t)(v), (uint64_t)(low), (uint64_t)(high), 1, CROSS_HERE)
#define assert_not_in_range(v, low, high) \
    cross_range((uint64_t)(v), (uint64_t)(low), (uint64_t)(high), 0, CROSS_HERE)
#define fail() cross_fail(CROSS_HERE, "failed")
#define fail_msg(...) cross_fail(CROSS_HERE, __VA_ARGS__)
#define skip() cross_skip()

#endif
