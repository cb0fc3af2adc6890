/* Statistics of a measurement.
 *
 * Samples of one process are not independent: they share memory layout and the state of the machine. So a
 * process is one unit, represented by the median of its samples. (With fewer than three processes the units
 * are passes.) All computations use logarithms, because noise is multiplicative. The estimate is the trimmed
 * mean of the units; its error is Yuen's (winsorized variance, Student's t), so that single outliers have
 * little weight. Samples that waited for a core are left out if there are others. Drift is estimated from
 * the two halves of a run: the interval is at least as wide as their difference, with room for the next run
 * to continue the drift. docs/COMPARING.md has the measurements for the constants. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

enum { UNITS_LEAST = 3 }; /* fewer units do not show their spread */

static const double TRIMMED = 0.25; /* of the units, at each end */
/* Consecutive units may be correlated and then carry less information. A correlation estimated from few units is
 * limited to this. */
static const double KIN_MOST = 0.9;
/* Two consecutive runs with the same drift differ by twice as much as the two halves of each. */
static const double DRIFT = 2;
/* How much two runs of the same binary differ even if nothing has changed. */
static const double RUN_FLOOR = 0.02;
/* If one process made all passes, the difference between processes is unknown. It is estimated as a multiple
 * of the difference between passes. */
static const double PROCESS_SPREADS = 3;
/* Disturbances only add time, and may affect only one of two runs. So a difference must also show in the fastest
 * samples, which are this fraction of all. */
static const double FAST = 0.1;
/* The fraction of its time that a sample may wait for a core, beyond the waiting of the work itself. */
static const double WAITED = 0.03;
/* If threads waited all the time, we are assumed to have had at least this fraction of the cores. */
static const double OWN_LEAST = 0.1;
/* Smaller differences count as equal. */
static const double SAME_WITHIN = 0.05;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_median(const double *v, int n)
{
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double stats_median(const double *v, int n)
{
    if (n < 1)
        return NAN;
    double *copy = heap_get((size_t)n * sizeof *copy);
    memcpy(copy, v, (size_t)n * sizeof *copy);
    qsort(copy, (size_t)n, sizeof *copy, ascending);
    double middle = sorted_median(copy, n);
    free(copy);
    return middle;
}

/* Student's t for two-sided 99 %, interpolated linearly in 1/freedom. */
static double student(double freedom)
{
    static const struct {
        double freedom, t;
    } rows[] = {{1, 63.657}, {2, 9.925}, {3, 5.841},  {4, 4.604},  {5, 4.032},  {6, 3.707},
                {7, 3.499},  {8, 3.355}, {9, 3.250},  {10, 3.169}, {12, 3.055}, {15, 2.947},
                {20, 2.845}, {30, 2.75}, {60, 2.660}, {1e9, 2.576}};
    const int last = sizeof rows / sizeof *rows - 1;
    int i = 0;
    while (i < last && rows[i + 1].freedom <= freedom)
        i++;
    if (i == last || freedom <= rows[0].freedom)
        return rows[i].t;
    const double part =
        (1 / rows[i].freedom - 1 / freedom) / (1 / rows[i].freedom - 1 / rows[i + 1].freedom);
    return rows[i].t + part * (rows[i + 1].t - rows[i].t);
}

/* The estimate of the logarithm of the typical time. */
typedef struct estimate {
    double middle, error, freedom;
    double spread;    /* of the units, beyond the noise of their samples */
    double chance;    /* variance of a unit's median that comes from its samples */
    double drift;     /* difference between the halves of the run */
    double low, high; /* of all samples; if all were disturbed, low is the time on a core */
    double fast;      /* the 10 % quantile of the samples */
    int units;        /* undisturbed units */
    bool processes;   /* units are processes, else passes */
} estimate;

/* Computes the estimate from the n medians m, in the order of their units. */
static void trimmed_mean(estimate *e, double *m, int n)
{
    const int cut = (int)(TRIMMED * (n - 1)), left = n - 2 * cut;
    double *sorted = heap_get((size_t)n * sizeof *sorted);
    memcpy(sorted, m, (size_t)n * sizeof *m);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    double mean = 0, squares = 0, products = 0;
    for (int i = 0; i < n; i++) {
        m[i] = fmin(fmax(m[i], sorted[cut]), sorted[n - cut - 1]);
        mean += m[i] / n;
        e->middle += i >= cut && i < n - cut ? sorted[i] / left : 0;
    }
    for (int i = 0; i < n; i++) {
        squares += (m[i] - mean) * (m[i] - mean);
        products += i ? (m[i] - mean) * (m[i - 1] - mean) : 0;
    }
    const double kin = squares > 0 ? fmin(fmax(products / squares + 1.0 / n, 0), KIN_MOST) : 0;
    e->freedom = left - 1;
    e->spread = sqrt(fmax(squares / (n - 1) - e->chance, 0));
    e->error = sqrt(squares / (n - 1) * n * (1 + kin) / (1 - kin)) / left;
    free(sorted);
}

/* ---- units -------------------------------------------------------------------------------------- */

/* The unit of a sample: its process, or its pass if there are too few processes. */
static int unit_of(const timings *t, int i, bool processes)
{
    return processes ? t->process[t->pass[i]] : t->pass[i];
}

static bool has_processes(const timings *t)
{
    int n = t->n > 0;
    for (int i = 1; i < t->n && t->process; i++)
        n += t->process[t->pass[i]] != t->process[t->pass[i - 1]];
    return n >= UNITS_LEAST;
}

double stats_calm(timings t)
{
    double calm = t.waited && t.n ? INFINITY : 0;
    for (int i = 0; i < t.n && t.waited; i++)
        calm = fmin(calm, t.waited[i] / t.seconds[i]);
    return calm;
}

/* The samples that count, with their units. */
typedef struct samples {
    double *seconds;
    int *unit, n, units;
} samples;

/* Selects the samples that waited no longer than calm allows. */
static void choose(samples *s, const timings *t, double calm, bool processes)
{
    s->n = s->units = 0;
    for (int i = 0; i < t->n; i++) {
        if (t->waited && stats_disturbed(t->seconds[i], t->waited[i], calm))
            continue;
        s->seconds[s->n] = t->seconds[i];
        s->unit[s->n] = unit_of(t, i, processes);
        s->units += s->n == 0 || s->unit[s->n] != s->unit[s->n - 1];
        s->n++;
    }
}

/* Computes the logarithm of each unit's median. Returns the variance of such a median due to its samples; 0
 * if units have one sample each. */
static double unit_medians(const samples *s, double *out)
{
    int units = 0, freedom = 0;
    double squares = 0;
    for (int first = 0, end; first < s->n; first = end) {
        for (end = first + 1; end < s->n && s->unit[end] == s->unit[first];)
            end++;
        out[units] = log(stats_median(s->seconds + first, end - first));
        for (int i = first; i < end && end - first > 1; i++)
            squares += pow(log(s->seconds[i]) - out[units], 2);
        freedom += end - first - 1;
        units++;
    }
    return freedom ? M_PI_2 * squares / freedom * units / s->n : 0;
}

/* ---- estimates ---------------------------------------------------------------------------------- */

/* The median of n values, and the square of its error from their absolute deviations. */
static double median_with_error(const double *m, int n, double *error2)
{
    const double middle = stats_median(m, n);
    double *far = heap_get((size_t)n * sizeof *far);
    for (int i = 0; i < n; i++)
        far[i] = fabs(m[i] - middle);
    *error2 = M_PI_2 * pow(1.4826 * stats_median(far, n), 2) / n;
    free(far);
    return middle;
}

/* The difference between the halves, beyond what chance explains. */
static double drift_of(const double *m, int n)
{
    double before2, after2;
    const double before = median_with_error(m, n / 2, &before2);
    const double after = median_with_error(m + n - n / 2, n / 2, &after2);
    return sqrt(fmax(0, pow(after - before, 2) - before2 - after2));
}

/* The shortest time that a sample spent on a core: a lower bound of its undisturbed time. */
static double least_own(const timings *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->n; i++) {
        const double waited = t->waited ? t->waited[i] : 0;
        least = fmin(least, fmax(t->seconds[i] - waited, OWN_LEAST * t->seconds[i]));
    }
    return least;
}

static estimate estimate_of(timings t, double calm)
{
    const size_t bytes = (size_t)t.n * sizeof(double);
    samples s = {heap_get(bytes), heap_get((size_t)t.n * sizeof *s.unit), 0, 0};
    estimate e = {.processes = has_processes(&t)};
    choose(&s, &t, calm, e.processes);
    e.units = s.units;
    if (e.units < UNITS_LEAST)
        choose(&s, &t, INFINITY, e.processes);
    double *m = heap_get(bytes);
    e.chance = unit_medians(&s, m);
    if (e.units >= UNITS_LEAST) {
        e.drift = drift_of(m, e.units);
        trimmed_mean(&e, m, e.units);
    } else {
        e.middle = stats_median(m, s.units);
    }
    qsort(s.seconds, (size_t)s.n, sizeof *s.seconds, ascending);
    e.low = e.units < UNITS_LEAST ? log(least_own(&t)) : log(s.seconds[0]);
    e.fast = log(s.seconds[(int)(FAST * (s.n - 1))]);
    e.high = log(s.seconds[s.n - 1]);
    free(m);
    free(s.seconds);
    free(s.unit);
    return e;
}

/* ---- intervals ---------------------------------------------------------------------------------- */

/* Half the width of the interval of a, or of the difference of a and b. */
static double half_width(const estimate *a, const estimate *b)
{
    const double va = a->error * a->error, vb = b ? b->error * b->error : 0;
    const double v = va + vb;
    if (v == 0)
        return 0;
    const double freedom = v * v / (va * va / a->freedom + (b ? vb * vb / b->freedom : 0));
    const double drift = DRIFT * hypot(a->drift, b ? b->drift : 0);
    return fmax(student(freedom) * sqrt(v), drift);
}

/* The range of all samples, widened by a factor of two: the widest interval, used if units are too few. */
static interval seen(const estimate *e)
{
    return (interval){exp(e->low) / 2, exp(e->middle), exp(e->high) * 2};
}

static interval typical(const estimate *e)
{
    const interval most = seen(e);
    if (e->units < UNITS_LEAST)
        return most;
    const double half = half_width(e, NULL);
    return (interval){fmax(exp(e->middle - half), most.low), most.middle,
                      fmin(exp(e->middle + half), most.high)};
}

interval stats_typical(timings t)
{
    if (t.n < 1)
        return (interval){NAN, NAN, NAN};
    const estimate e = estimate_of(t, stats_calm(t));
    return typical(&e);
}

/* How much two runs may differ, in logarithms, beyond what their samples show. */
static double runs_apart(const estimate *a, const estimate *b)
{
    if (a->processes && b->processes)
        return RUN_FLOOR;
    return hypot(RUN_FLOOR, PROCESS_SPREADS * hypot(a->spread, b->spread));
}

/* A lower bound of the share of the measured time that a work on all cores would have needed without other
 * processes. The share that trimming removes does not count. */
static double own_part(double others)
{
    return 1 - fmin(fmax(others - TRIMMED, 0) / (1 - TRIMMED), 1 - OWN_LEAST);
}

/* The interval of a's typical time divided by b's. *enough: both have enough passes for a verdict. */
static interval ratio(timings a, timings b, bool *enough)
{
    *enough = false;
    if (a.n < 1 || b.n < 1)
        return (interval){NAN, NAN, NAN};
    const double calm = fmin(stats_calm(a), stats_calm(b));
    const estimate ea = estimate_of(a, calm), eb = estimate_of(b, calm);
    const interval most_a = seen(&ea), most_b = seen(&eb);
    const interval most = {most_a.low / most_b.high, exp(ea.middle - eb.middle),
                           most_a.high / most_b.low};
    *enough = ea.units >= UNITS_LEAST && eb.units >= UNITS_LEAST;
    if (!*enough)
        return most;
    const double half = exp(hypot(half_width(&ea, &eb), runs_apart(&ea, &eb)));
    const double fast = exp(ea.fast - eb.fast);
    return (interval){fmax(fmin(most.middle, fast) / half * own_part(a.others), most.low),
                      most.middle,
                      fmin(fmax(most.middle, fast) * half / own_part(b.others), most.high)};
}

bool stats_disturbed(double seconds, double waited, double calm)
{
    return waited > (calm + WAITED) * seconds;
}

verdict stats_compare(timings old, timings new, interval *speedup)
{
    bool enough;
    const interval i = ratio(old, new, &enough);
    if (speedup)
        *speedup = i;
    return enough ? stats_verdict(i) : VERDICT_UNSURE;
}

verdict stats_verdict(interval speedup)
{
    if (speedup.low > 1)
        return VERDICT_FASTER;
    if (speedup.high < 1)
        return VERDICT_SLOWER;
    const bool same = speedup.low > 1 / (1 + SAME_WITHIN) && speedup.high < 1 + SAME_WITHIN;
    return same ? VERDICT_SAME : VERDICT_UNSURE;
}
