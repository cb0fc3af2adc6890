/* Scales of charts: ticks are few, inside the scale and in order, for numbers of any size. */
#include "support/unit.h"

#include <float.h>
#include <math.h>

#include "cli/report/html.h"

static void check_ticks(scale s)
{
    double ticks[SCALE_TICKS];
    scale_round(&s);
    const int n = scale_ticks(&s, ticks);
    assert_in_range(n, 0, SCALE_TICKS);
    for (int i = 0; i < n; i++) {
        assert_true(isfinite(ticks[i]));
        assert_true(ticks[i] >= s.low * 0.99 && ticks[i] <= s.high * 1.01);
        assert_true(i == 0 || ticks[i] > ticks[i - 1]);
    }
}

/* Each pair of these, as a decimal and as a binary scale. A subnormal number must not loop forever. */
static void test_ticks_of_extreme_scales(void **state)
{
    (void)state;
    static const double ends[] = {5e-324, 1e-320, DBL_MIN, 1e-30, 1e-12, 0.5,    1,
                                  3,      700,    1e9,     1e30,  1e300, DBL_MAX};
    const int n = sizeof ends / sizeof *ends;
    for (int low = 0; low < n; low++)
        for (int high = low; high < n; high++)
            for (int twos = 0; twos < 2; twos++)
                check_ticks(
                    (scale){.low = ends[low], .high = ends[high], .log = true, .twos = twos});
}

static void test_ticks_of_no_scale(void **state)
{
    (void)state;
    double ticks[SCALE_TICKS];
    const scale none[] = {{.log = true},
                          {.low = 1, .high = INFINITY, .log = true},
                          {.low = NAN, .high = NAN, .log = true},
                          {.low = 2, .high = 2}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(scale_ticks(&none[i], ticks), 0);
}

static void test_decades(void **state)
{
    (void)state;
    double ticks[SCALE_TICKS];
    const int n = scale_ticks(&(scale){.low = 0.9, .high = 30, .log = true}, ticks);
    const double expected[] = {1, 2, 5, 10, 20};
    assert_int_equal(n, 5);
    for (int i = 0; i < n; i++)
        assert_float_equal(ticks[i], expected[i], 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ticks_of_extreme_scales),
                                       cmocka_unit_test(test_ticks_of_no_scale),
                                       cmocka_unit_test(test_decades)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
