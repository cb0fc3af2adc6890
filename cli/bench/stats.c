/* Statistics of a measurement.
 *
 * Samples of one pass share the machine's state, so a pass counts once: by the median of its samples.
 * All is done with logarithms, since noise multiplies. The estimate is the trimmed mean of the passes,
 * its error Yuen's (the winsorized variance, Student's t), so that a pass that something disturbed
 * weighs little. A machine that drifts is caught by its halves: the interval is never narrower than
 * the first half of the passes differs from the second, with room for the next run to go on drifting.
 * docs/COMPARING.md has the measurements that the constants rest on. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

enum { PASSES_LEAST = 3 }; /* of fewer nothing can be told of their spread */

static const double TRIMMED = 0.25; /* of the passes, at each end */
/* Passes that follow each other may be alike, and then say less than their number; this is the most
 * that so few can tell of it. */
static const double KIN_MOST = 0.9;
/* Two runs that drift alike, one after the other, differ by twice as much as the halves of each. */
static const double DRIFT = 2;
/* What two runs of the same binary differ by though nothing changed: other pages, another layout, other
 * cores. Part of it shows in no run by itself; where passes differ much, runs do too. */
static const double RUN_FLOOR = 0.02;
static const double RUN_SPREADS = 3;
/* What disturbs a run only ever adds time, and may disturb one of two: a difference must also show
 * where there is least of that, in the samples of which so many are faster. */
static const double FAST = 0.1;
/* A difference of less is none. */
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

/* Student's t for 99 % on both sides; between rows 1/freedom is linear enough. */
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

/* What is known of the logarithm of the typical time. */
typedef struct estimate {
    double middle, error, freedom;
    double spread;    /* of the passes beyond what their own samples explain */
    double chance;    /* the variance that a pass's median has by its samples alone */
    double drift;     /* by how much the halves of the run differ */
    double low, high; /* of all samples */
    double fast;      /* a tenth of the samples is faster */
    int passes;
} estimate;

/* Fills in what n medians say, in the order of their passes. */
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

/* The logarithm of each pass's median, in order; returns how many there are. *chance is the variance of
 * such a median if all samples of a pass were drawn alike; 0 where passes have one sample each. */
static int pass_medians(timings s, double *out, double *chance)
{
    int passes = 0, freedom = 0;
    double squares = 0;
    for (int first = 0, end; first < s.n; first = end) {
        for (end = first + 1; end < s.n && s.pass[end] == s.pass[first];)
            end++;
        out[passes] = log(stats_median(s.seconds + first, end - first));
        for (int i = first; i < end && end - first > 1; i++)
            squares += pow(log(s.seconds[i]) - out[passes], 2);
        freedom += end - first - 1;
        passes++;
    }
    *chance = freedom ? M_PI_2 * squares / freedom * passes / s.n : 0;
    return passes;
}

static estimate estimate_of(timings s)
{
    const int n = s.n;
    estimate e = {0};
    double *m = heap_get((size_t)n * sizeof *m), *sorted = heap_get((size_t)n * sizeof *sorted);
    e.passes = pass_medians(s, m, &e.chance);
    memcpy(sorted, s.seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    e.low = log(sorted[0]);
    e.fast = log(sorted[(int)(FAST * (n - 1))]);
    e.high = log(sorted[n - 1]);
    if (e.passes >= PASSES_LEAST) {
        const int half = e.passes / 2;
        e.drift = fabs(stats_median(m, half) - stats_median(m + e.passes - half, half));
        trimmed_mean(&e, m, e.passes);
    } else if (e.passes) {
        e.middle = stats_median(m, e.passes);
    }
    free(m);
    free(sorted);
    return e;
}

/* Half of the interval's width for one or, with b, for the difference of two. */
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

/* Everything that was seen, and a factor of two: no interval is wider, and that of too few passes is
 * no narrower. */
static interval seen(const estimate *e)
{
    return (interval){exp(e->low) / 2, exp(e->middle), exp(e->high) * 2};
}

static interval typical(const estimate *e)
{
    const interval most = seen(e);
    if (e->passes < PASSES_LEAST)
        return most;
    const double half = half_width(e, NULL);
    return (interval){fmax(exp(e->middle - half), most.low), most.middle,
                      fmin(exp(e->middle + half), most.high)};
}

interval stats_typical(timings s)
{
    if (s.n < 1)
        return (interval){NAN, NAN, NAN};
    const estimate e = estimate_of(s);
    return typical(&e);
}

interval stats_ratio(timings a, timings b)
{
    if (a.n < 1 || b.n < 1)
        return (interval){NAN, NAN, NAN};
    const estimate ea = estimate_of(a), eb = estimate_of(b);
    const interval most_a = seen(&ea), most_b = seen(&eb);
    const interval most = {most_a.low / most_b.high, exp(ea.middle - eb.middle),
                           most_a.high / most_b.low};
    if (ea.passes < PASSES_LEAST || eb.passes < PASSES_LEAST)
        return most;
    const double runs = hypot(RUN_FLOOR, RUN_SPREADS * hypot(ea.spread, eb.spread));
    const double half = exp(hypot(half_width(&ea, &eb), runs));
    const double fast = exp(ea.fast - eb.fast);
    return (interval){fmax(fmin(most.middle, fast) / half, most.low), most.middle,
                      fmin(fmax(most.middle, fast) * half, most.high)};
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
