/* Intervals and verdicts on simulated machines: how often the interval contains the true time, how often two runs of
 * the same task get a false verdict, and how often a slowdown of 5 % is found. Prints the rates; docs/COMPARING.md
 * states the bounds. */
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

/* The time of a sample: part is 0 to 1 in the first run and 1 to 2 in the second. */
typedef struct moment {
    double part;
    bool new_process, new_pass;
    double process, state; /* of the machine: per process, and changing over time */
    double waited;         /* set by a sample: the share of it that waited for a core */
} moment;

/* The logarithm of a sample. */
typedef double noise(moment *m);

static double quiet(moment *m)
{
    (void)m;
    return 0.01 * normal();
}

static double skewed(moment *m)
{
    (void)m;
    return log(0.985 + 0.015 * exp(normal()));
}

static double by_pass(moment *m)
{
    if (m->new_pass)
        m->state = 0.006 * normal();
    return m->state + 0.01 * normal();
}

static double two_states(moment *m)
{
    (void)m;
    return 0.005 * normal() + (uniform() < 0.25 ? 0.08 : 0);
}

static double two_states_by_pass(moment *m)
{
    if (m->new_pass)
        m->state = uniform() < 0.3 ? 0.08 : 0;
    return 0.005 * normal() + m->state;
}

static double heavy(moment *m)
{
    (void)m;
    return 0.01 * normal() / sqrt(-log(uniform())); /* Student's t of two degrees of freedom */
}

static double disturbed(moment *m)
{
    if (m->new_pass)
        m->state = uniform() < 0.15 ? uniform() : 0;
    return m->state + 0.01 * fabs(normal());
}

static double drifting(moment *m) { return 0.06 * m->part + 0.005 * normal(); }

static double remembering(moment *m)
{
    if (m->new_pass)
        m->state = 0.8 * m->state + 0.6 * 0.01 * normal();
    return m->state + 0.005 * normal();
}

static double loaded(moment *m)
{
    if (m->new_pass)
        m->state = 0.5 * m->state + 0.2 * uniform();
    return m->state + (uniform() < 0.5 ? 0.7 * uniform() : 0.02 * normal());
}

/* Other processes compute during every second run and disturb half of its samples. */
static double now_and_then(moment *m)
{
    if (m->new_pass && m->part == floor(m->part))
        m->state = uniform() < 0.5;
    return 0.01 * normal() + (m->state > 0 && uniform() < 0.5 ? 0.5 + uniform() : 0);
}

/* Processes differ in memory pages and layout; samples of one process agree. */
static double processes_differ(moment *m)
{
    if (m->new_process)
        m->process = 0.015 * normal();
    return m->process + 0.004 * normal();
}

static double processes_have_states(moment *m)
{
    if (m->new_process)
        m->process = uniform() < 0.3 ? 0.08 : 0;
    return m->process + 0.005 * normal();
}

/* Some samples wait for a core, more in one run than in the other; the waiting times are known. */
static double waiting(moment *m)
{
    if (m->new_process && m->part == floor(m->part))
        m->state = 0.1 + 0.6 * uniform();
    if (m->new_process)
        m->process = 0.006 * normal();
    m->waited = uniform() < m->state ? 0.2 + 0.7 * uniform() : 0;
    return m->process + 0.005 * normal() - log(1 - m->waited);
}

/* The same for whole runs: in one of two runs all samples wait. */
static double starving(moment *m)
{
    if (m->new_process && m->part == floor(m->part))
        m->state = uniform() < 0.5;
    m->waited = m->state > 0 ? 0.5 + 0.02 * normal() : 0;
    return 0.005 * normal() - log(1 - m->waited);
}

static const struct machine {
    const char *name;
    noise *sample;
    double truth; /* the median's logarithm; NaN: it moves */
    /* The number of passes, and of processes, from which on a change of 5 % is found and never called SAME; 0:
     * never. */
    int finds_from, processes_find_from;
} machines[] = {
    {"quiet", quiet, 0, 6, 6},
    {"skewed", skewed, 0, 10, 10},
    {"passes differ", by_pass, 0, 10, 10},
    {"two states", two_states, NAN, 0, 0},
    {"two states of passes", two_states_by_pass, NAN, 0, 0},
    {"heavy tails", heavy, 0, 20, 10},
    {"disturbed", disturbed, NAN, 0, 0},
    {"drifting", drifting, NAN, 0, 0},
    {"remembering", remembering, NAN, 0, 0},
    {"loaded", loaded, NAN, 0, 0},
    {"loaded now and then", now_and_then, NAN, 0, 0},
    {"processes differ", processes_differ, 0, 0, 20},
    {"states of processes", processes_have_states, NAN, 0, 0},
    {"waiting", waiting, 0, 0, 10},
    {"starving", starving, NAN, 0, 0},
};
enum { MACHINES = sizeof machines / sizeof *machines };

/* A plan: the number of processes, and of passes in each. */
typedef struct plan {
    int processes, passes, samples;
} plan;

typedef struct run {
    double v[RUN_MOST], waited[RUN_MOST];
    int pass[RUN_MOST], process[PASSES_MOST], n;
} run;

static timings timings_of(const run *r, bool told)
{
    return (timings){.seconds = r->v,
                     .waited = r->waited,
                     .pass = r->pass,
                     .process = told ? r->process : NULL,
                     .n = r->n};
}

/* A run that begins at `from` on a drifting machine, with a separate offset. */
static run run_of(const struct machine *m, plan p, double from, double factor, moment *now)
{
    run r = {.n = 0};
    const double offset = from > 0 ? 0.005 * normal() : 0;
    const int passes = p.processes * p.passes;
    for (int i = 0; i < passes; i++) {
        r.process[i] = i / p.passes;
        for (int s = 0; s < p.samples; s++) {
            now->part = from + (double)i / passes;
            now->new_pass = s == 0;
            now->new_process = now->new_pass && i % p.passes == 0;
            now->waited = 0;
            r.v[r.n] = factor * exp(m->sample(now) + offset);
            r.waited[r.n] = now->waited * r.v[r.n];
            r.pass[r.n++] = i;
        }
    }
    return r;
}

typedef struct rates {
    double covered, wrong, found, same;
} rates;

static rates measure(const struct machine *m, plan p, int trials)
{
    rates r = {0};
    const bool told = p.processes > 1;
    for (int i = 0; i < trials; i++) {
        moment now = {.new_pass = true, .new_process = true};
        for (int warm = 0; warm < 20; warm++)
            m->sample(&now);
        const run a = run_of(m, p, 0, 1, &now), b = run_of(m, p, 1, 1, &now);
        const run slow = run_of(m, p, 1, 1.05, &now);
        const interval t = stats_typical(timings_of(&a, told));
        const timings first = timings_of(&a, told);
        const verdict same = stats_compare(first, timings_of(&b, told), NULL);
        const verdict slower = stats_compare(first, timings_of(&slow, told), NULL);
        const double truth = exp(m->truth);
        r.covered += t.low <= truth && truth <= t.high;
        r.wrong += same == VERDICT_FASTER || same == VERDICT_SLOWER;
        r.same += same == VERDICT_SAME;
        r.found += slower == VERDICT_SLOWER;
    }
    r.covered /= trials, r.wrong /= trials, r.found /= trials, r.same /= trials;
    return r;
}

/* One process with several passes; one process per pass; several passes per process. */
static const plan plans[] = {{1, 4, 3},  {1, 6, 5},  {1, 10, 5}, {1, 20, 4}, {1, 40, 2},
                             {1, 10, 1}, {4, 1, 3},  {6, 1, 5},  {10, 1, 5}, {20, 1, 4},
                             {40, 1, 2}, {10, 1, 1}, {12, 3, 2}};
enum { PLANS = sizeof plans / sizeof *plans };

/* Whether a rate is at most (with least: at least) the promised bound, with a tolerance for chance: half a standard
 * deviation for full counts, three for short ones. */
static bool keeps(double rate, double promise, bool least, int trials, bool quick)
{
    const double slack = (quick ? 3 : 0.5) * sqrt(promise * (1 - promise) / trials);
    return least ? rate >= promise - slack : rate <= promise + slack;
}

static void test_rates(void **state)
{
    (void)state;
    const bool quick = getenv("IG_TEST_QUICK") != NULL;
    const int trials = quick ? 50 : 2000;
    int broken = 0;
    for (int i = 0; i < MACHINES; i++)
        for (int j = 0; j < PLANS; j++) {
            const struct machine *m = &machines[i];
            const plan p = plans[j];
            const bool told = p.processes > 1;
            /* With one process per run, no run shows how much processes differ. */
            if (!told && (m->sample == processes_differ || m->sample == processes_have_states ||
                          m->sample == waiting))
                continue;
            seed = (uint64_t)(i * PLANS + j + 1);
            const rates r = measure(m, p, trials);
            const int from = told ? m->processes_find_from : m->finds_from;
            bool fine = keeps(r.wrong, 0.01, false, trials, quick);
            if (p.samples > 2) {
                fine &= isnan(m->truth) || keeps(r.covered, 0.98, true, trials, quick);
                if (from && p.processes * p.passes >= from)
                    fine &= keeps(r.found, 0.95, true, trials, quick) &&
                            keeps(r.same, 0.90, true, trials, quick);
            }
            print_message("%-22s %2d x %2d x %d  covered %5.1f  wrong %5.2f  same %5.1f  found "
                          "%5.1f%s\n",
                          m->name, p.processes, p.passes, p.samples, 100 * r.covered, 100 * r.wrong,
                          100 * r.same, 100 * r.found, fine ? "" : "  BROKEN");
            broken += !fine;
        }
    assert_int_equal(broken, 0);
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

    interval i = stats_typical((timings){.seconds = one, .pass = pass, .n = 0});
    assert_true(isnan(i.middle));
    assert_int_equal(stats_compare((timings){.seconds = one, .pass = pass, .n = 1},
                                   (timings){.seconds = one, .pass = pass, .n = 0}, &i),
                     VERDICT_UNSURE);
    assert_true(isnan(i.middle));

    /* One pass does not show the spread: the interval is the range of the samples, widened by two. */
    i = stats_typical((timings){.seconds = two, .pass = together, .n = 3});
    assert_near(i.low, 0.5);
    assert_near(i.middle, 2);
    assert_near(i.high, 8);
    stats_compare((timings){.seconds = two, .pass = together, .n = 3},
                  (timings){.seconds = one, .pass = pass, .n = 1}, &i);
    assert_near(i.middle, 1);
    assert_near(i.low, 1.0 / 8);
    assert_near(i.high, 8);

    /* Without noise the floor remains. */
    i = stats_typical((timings){.seconds = same, .pass = pass, .n = 4});
    assert_near(i.low, 3);
    assert_near(i.high, 3);
    const verdict v = stats_compare((timings){.seconds = same, .pass = pass, .n = 4},
                                    (timings){.seconds = same, .pass = pass, .n = 4}, &i);
    assert_near(i.high, exp(0.02));
    assert_int_equal(v, VERDICT_SAME);
}

/* One or two passes do not show their spread, however large the difference. */
static void test_few_passes_are_unsure(void **state)
{
    (void)state;
    const double slow[] = {100, 101, 99}, fast[] = {1, 1.01, 0.99};
    const int pass[] = {0, 1, 2};
    for (int a = 1; a <= 3; a++)
        for (int b = 1; b <= 3; b++) {
            const timings old = {.seconds = slow, .pass = pass, .n = a};
            const timings new = {.seconds = fast, .pass = pass, .n = b};
            const verdict expected = a == 3 && b == 3 ? VERDICT_FASTER : VERDICT_UNSURE;
            assert_int_equal(stats_compare(old, new, NULL), expected);
        }
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
                                       cmocka_unit_test(test_few_passes_are_unsure),
                                       cmocka_unit_test(test_verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
