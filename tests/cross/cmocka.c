/* What cmocka.h beside this file declares. A failed assertion prints itself and jumps back to
 * cross_run, so a test stops at its first failure and the next one runs.
 */
#include "cmocka.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSED, FAILED, SKIPPED };

static jmp_buf back;

void print_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

void print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

void cross_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "[  ERROR   ] --- %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    longjmp(back, FAILED);
}

void cross_skip(void) { longjmp(back, SKIPPED); }

void cross_true(int holds, const char *text, const char *file, int line)
{
    if (!holds)
        cross_fail(file, line, "%s", text);
}

void cross_integers(uint64_t a, uint64_t b, int equal, const char *file, int line)
{
    if ((a == b) != equal)
        cross_fail(file, line, "%#" PRIx64 " %s %#" PRIx64, a, equal ? "!=" : "==", b);
}

void cross_strings(const char *a, const char *b, int equal, const char *file, int line)
{
    if ((strcmp(a, b) == 0) != equal)
        cross_fail(file, line, "\"%s\" %s \"%s\"", a, equal ? "!=" : "==", b);
}

void cross_bytes(const void *a, const void *b, size_t size, int equal, const char *file, int line)
{
    if ((memcmp(a, b, size) == 0) != equal)
        cross_fail(file, line, "%zu bytes are %s", size, equal ? "not equal" : "equal");
}

void cross_floats(double a, double b, double within, int equal, const char *file, int line)
{
    if ((fabs(a - b) <= within) != equal)
        cross_fail(file, line, "%.17g %s %.17g", a, equal ? "!=" : "==", b);
}

void cross_range(uint64_t value, uint64_t low, uint64_t high, int inside, const char *file,
                 int line)
{
    if ((low <= value && value <= high) != inside)
        cross_fail(file, line, "%" PRIu64 " is %s [%" PRIu64 ", %" PRIu64 "]", value,
                   inside ? "outside of" : "inside", low, high);
}

/* One test between its fixtures; a fixture that fails fails the test. */
static int run_one(const struct CMUnitTest *test, void **state)
{
    if (test->setup_func && test->setup_func(state) != 0)
        return FAILED;
    volatile int outcome = PASSED;
    int landed = setjmp(back);
    if (landed == 0)
        test->test_func(state);
    else
        outcome = landed;
    if (test->teardown_func && test->teardown_func(state) != 0)
        outcome = FAILED;
    return outcome;
}

int cross_run(const char *group, const struct CMUnitTest *tests, size_t count, CMFixtureFunction up,
              CMFixtureFunction down)
{
    static const char *const mark[] = {"       OK ", "  FAILED  ", "  SKIPPED "};
    int tally[3] = {0, 0, 0};
    void *shared = NULL;

    printf("[==========] %s: running %zu test(s).\n", group, count);
    if (up && up(&shared) != 0) {
        printf("[  FAILED  ] %zu test(s), the group's setup failed\n", count);
        return (int)count;
    }
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].initial_state ? tests[i].initial_state : shared;
        printf("[ RUN      ] %s\n", tests[i].name);
        fflush(stdout);
        int outcome = run_one(&tests[i], &state);
        if (!tests[i].initial_state && !tests[i].setup_func)
            shared = state;
        tally[outcome]++;
        printf("[%s] %s\n", mark[outcome], tests[i].name);
    }
    if (down && down(&shared) != 0)
        tally[FAILED]++;
    printf("[==========] %zu test(s) run.\n[  PASSED  ] %d test(s).\n", count, tally[PASSED]);
    if (tally[SKIPPED])
        printf("[  SKIPPED ] %d test(s).\n", tally[SKIPPED]);
    if (tally[FAILED])
        printf("[  FAILED  ] %d test(s).\n", tally[FAILED]);
    return tally[FAILED];
}
