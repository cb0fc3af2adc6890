/* Intervals and verdicts on machines that are known, because they are simulated: how often the interval
 * holds the truth, how often two runs of the same thing are told apart, and how often a slowdown of
 * 5 % is found. Rates are printed; bounds are those that docs/COMPARING.md promises. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/bench/stats.h"

enum { PASSES_MOST = 40, SAMPLES_MOST = 8, RUN_MOST = PASSES_MOST * SAMPLES_MOST };

/* ---- random numbers: splitmix64, the same on every machine ---------------------------------- */

static uint64_t seed;

static double uniform(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

/* ---- machines ------------------------------------------------------------------------------- */

/* The logarithm of a sample: of a run in `part` (0 to 1) of it, `memory` is the machine's own. */
typedef double noise(double part, double *memory, bool new_pass);

static double quiet(double part, double *memory, bool new_pass)
{
    (void)part, (void)memory, (void)new_pass;
    return 0.01 * normal();
}

static double skewed(double part, double *memory, bool new_pass)
{
    (void)part, (void)memory, (void)new_pass;
    return log(0.985 + 0.015 * exp(normal()));
}

static double by_pass(double part, double *memory, bool new_pass)
{
    (void)part;
    if (new_pass)
        *memory = 0.006 * normal();
    return *memory + 0.01 * normal();
}

static double two_states(double part, double *memory, bool new_pass)
{
    (void)part, (void)memory, (void)new_pass;
    return 0.005 * normal() + (uniform() < 0.25 ? 0.08 : 0);
}

static double two_states_by_pass(double part, double *memory, bool new_pass)
{
    (void)part;
    if (new_pass)
        *memory = uniform() < 0.3 ? 0.08 : 0;
    return 0.005 * normal() + *memory;
}

static double heavy(double part, double *memory, bool new_pass)
{
    (void)part, (void)memory, (void)new_pass;
    return 0.01 * normal() / sqrt(-log(uniform())); /* Student's t of two degrees of freedom */
}

static double disturbed(double part, double *memory, bool new_pass)
{
    (void)part;
    if (new_pass)
        *memory = uniform() < 0.15 ? uniform() : 0;
    return *memory + 0.01 * fabs(normal());
}

static double drifting(double part, double *memory, bool new_pass)
{
    (void)memory, (void)new_pass;
    return 0.06 * part + 0.005 * normal();
}

static double remembering(double part, double *memory, bool new_pass)
{
    (void)part;
    if (new_pass)
        *memory = 0.8 * *memory + 0.6 * 0.01 * normal();
    return *memory + 0.005 * normal();
}

static double loaded(double part, double *memory, bool new_pass)
{
    (void)part;
    if (new_pass)
        *memory = 0.5 * *memory + 0.2 * uniform();
    return *memory + (uniform() < 0.5 ? 0.7 * uniform() : 0.02 * normal());
}

/* Others compute during every second run, and leave half of the samples alone. */
static double now_and_then(double part, double *memory, bool new_pass)
{
    if (new_pass && part == floor(part))
        *memory = uniform() < 0.5;
    return 0.01 * normal() + (*memory > 0 && uniform() < 0.5 ? 0.5 + uniform() : 0);
}

static const struct machine {
    const char *name;
    noise *sample;
    double truth;   /* the median's logarithm; NaN: it moves */
    int finds_from; /* passes from which 5 % is found, and nothing is called the same; 0: never */
} machines[] = {
    {"quiet", quiet, 0, 6},
    {"skewed", skewed, 0, 10},
    {"passes differ", by_pass, 0, 10},
    {"two states", two_states, NAN, 0},
    {"two states of passes", two_states_by_pass, NAN, 0},
    {"heavy tails", heavy, 0, 20},
    {"disturbed", disturbed, NAN, 0},
    {"drifting", drifting, NAN, 0},
    {"remembering", remembering, NAN, 0},
    {"loaded", loaded, NAN, 0},
    {"loaded now and then", now_and_then, NAN, 0},
};
enum { MACHINES = sizeof machines / sizeof *machines };

typedef struct run {
    double v[RUN_MOST];
    int pass[RUN_MOST], n;
} run;

static timings timings_of(const run *r) { return (timings){r->v, r->pass, NULL, r->n}; }

/* A run that begins at `from` of a machine that drifts, with the offset that every run has. */
static run run_of(const struct machine *m, int passes, int samples, double from, double factor,
                  double *memory)
{
    run r = {.n = 0};
    const double offset = from > 0 ? 0.005 * normal() : 0;
    for (int p = 0; p < passes; p++)
        for (int s = 0; s < samples; s++) {
            double x = m->sample(from + (double)p / passes, memory, s == 0);
            r.pass[r.n] = p;
            r.v[r.n++] = factor * exp(x + offset);
        }
    return r;
}

typedef struct rates {
    double covered, wrong, found, same;
} rates;

static rates measure(const struct machine *m, int passes, int samples, int trials)
{
    rates r = {0};
    for (int i = 0; i < trials; i++) {
        double memory = 0;
        for (int warm = 0; warm < 20; warm++)
            m->sample(0, &memory, true);
        run a = run_of(m, passes, samples, 0, 1, &memory);
        run b = run_of(m, passes, samples, 1, 1, &memory);
        run slow = run_of(m, passes, samples, 1, 1.05, &memory);
        interval t = stats_typical(timings_of(&a));
        verdict same = stats_verdict(stats_ratio(timings_of(&a), timings_of(&b)));
        verdict slower = stats_verdict(stats_ratio(timings_of(&a), timings_of(&slow)));
        const double truth = exp(m->truth);
        r.covered += t.low <= truth && truth <= t.high;
        r.wrong += same == VERDICT_FASTER || same == VERDICT_SLOWER;
        r.same += same == VERDICT_SAME;
        r.found += slower == VERDICT_SLOWER;
    }
    r.covered /= trials, r.wrong /= trials, r.found /= trials, r.same /= trials;
    return r;
}

static const struct {
    int passes, samples;
} plans[] = {{4, 3}, {6, 5}, {10, 5}, {20, 4}, {40, 2}, {10, 1}};
enum { PLANS = sizeof plans / sizeof *plans };

static void test_rates(void **state)
{
    (void)state;
    const int trials = getenv("IG_TEST_QUICK") ? 1000 : 4000;
    for (int i = 0; i < MACHINES; i++)
        for (int j = 0; j < PLANS; j++) {
            seed = (uint64_t)(i * PLANS + j + 1);
            const rates r = measure(&machines[i], plans[j].passes, plans[j].samples, trials);
            print_message("%-22s %2d x %d  covered %5.1f  wrong %5.2f  same %5.1f  found %5.1f\n",
                          machines[i].name, plans[j].passes, plans[j].samples, 100 * r.covered,
                          100 * r.wrong, 100 * r.same, 100 * r.found);
            /* Chance alone moves a rate of 1 % of so many trials by half of it. */
            assert_true(r.wrong <= 0.01 + 0.5 * sqrt(0.01 / trials));
            if (plans[j].samples < 3)
                continue;
            assert_true(isnan(machines[i].truth) || r.covered >= 0.98);
            if (machines[i].finds_from && plans[j].passes >= machines[i].finds_from)
                assert_true(r.found >= 0.95 && r.same >= 0.90);
        }
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got / expected - 1) < 1e-9))
        fail_msg("%.17g is not %.17g", got, expected);
}

static void test_edges(void **state)
{
    (void)state;
    const double one[] = {2}, two[] = {1, 4, 2}, same[] = {3, 3, 3, 3};
    const int pass[] = {0, 1, 2, 3}, together[] = {0, 0, 0, 0};
    assert_true(isnan(stats_median(one, 0)));
    assert_near(stats_median(one, 1), 2);
    assert_near(stats_median(two, 2), 2.5);
    assert_near(stats_median(two, 3), 2);

    interval i = stats_typical((timings){one, pass, NULL, 0});
    assert_true(isnan(i.middle));
    assert_int_equal(
        stats_verdict(stats_ratio((timings){one, pass, NULL, 1}, (timings){one, pass, NULL, 0})),
        VERDICT_UNSURE);

    /* Samples of one pass say nothing of the next: the interval is a factor of two wider than they. */
    i = stats_typical((timings){two, together, NULL, 3});
    assert_near(i.low, 0.5);
    assert_near(i.middle, 2);
    assert_near(i.high, 8);
    i = stats_ratio((timings){two, together, NULL, 3}, (timings){one, pass, NULL, 1});
    assert_near(i.middle, 1);
    assert_near(i.low, 1.0 / 8);
    assert_near(i.high, 8);

    /* Without any noise the floor is left. */
    i = stats_typical((timings){same, pass, NULL, 4});
    assert_near(i.low, 3);
    assert_near(i.high, 3);
    i = stats_ratio((timings){same, pass, NULL, 4}, (timings){same, pass, NULL, 4});
    assert_near(i.high, exp(0.02));
    assert_int_equal(stats_verdict(i), VERDICT_SAME);
}

static void test_verdicts(void **state)
{
    (void)state;
    assert_int_equal(stats_verdict((interval){1.01, 1.1, 1.2}), VERDICT_FASTER);
    assert_int_equal(stats_verdict((interval){0.8, 0.9, 0.99}), VERDICT_SLOWER);
    assert_int_equal(stats_verdict((interval){0.97, 1, 1.04}), VERDICT_SAME);
    assert_int_equal(stats_verdict((interval){0.9, 1, 1.04}), VERDICT_UNSURE);
    assert_int_equal(stats_verdict((interval){NAN, NAN, NAN}), VERDICT_UNSURE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
