/* Reasons to doubt samples: busy cores, few passes, outliers, drift, wide intervals. */
#include "runner.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>

enum { ENOUGH = 6, DRIFT_PASSES = 4, FEW_PASSES = 3 };
static const double far = 1.5, many = 0.1, moved = 0.05, wide = 0.2;

static int warn_outliers(timings s, str *line)
{
    const double *seconds = s.seconds, median = stats_median(seconds, s.n);
    int n = s.n, out = 0;
    double most = 0;
    for (int i = 0; i < n; i++) {
        out += seconds[i] > far * median;
        most = fmax(most, seconds[i]);
    }
    if (out <= many * n)
        return 0;
    str_printf(
        line,
        "outliers: %d of %d samples took more than %g times the median, the slowest %.1f times",
        out, n, far, most / median);
    return 1;
}

/* Computes the median of each pass and returns their number. medians has room for n. */
static int pass_medians(timings s, double *medians)
{
    int passes = 0;
    for (int i = 0, end; i < s.n; i = end) {
        for (end = i + 1; end < s.n && s.pass[end] == s.pass[i];)
            end++;
        medians[passes++] = stats_median(s.seconds + i, end - i);
    }
    return passes;
}

/* There is drift if the medians of the first half of the passes and of the second half do not overlap. */
static int warn_drift(timings s, str *line)
{
    double *m = heap_get(sizeof *m * (size_t)s.n);
    int passes = pass_medians(s, m), half = passes / 2, warned = 0;
    if (passes >= DRIFT_PASSES) {
        double first_low = INFINITY, first_high = 0, last_low = INFINITY, last_high = 0;
        for (int i = 0; i < half; i++) {
            first_low = fmin(first_low, m[i]);
            first_high = fmax(first_high, m[i]);
            last_low = fmin(last_low, m[passes - 1 - i]);
            last_high = fmax(last_high, m[passes - 1 - i]);
        }
        double ratio = stats_median(m + passes - half, half) / stats_median(m, half);
        bool apart = last_low > first_high || last_high < first_low;
        if (apart && fabs(ratio - 1) > moved) {
            str_printf(line, "drift: the last passes took %.0f %% %s time than the first",
                       100 * fabs(ratio - 1), ratio > 1 ? "more" : "less");
            warned = 1;
        }
    }
    free(m);
    return warned;
}

static int warn_few(timings s, str *line)
{
    int passes = s.n > 0;
    for (int i = 1; i < s.n; i++)
        passes += s.pass[i] != s.pass[i - 1];
    if (passes >= FEW_PASSES)
        return 0;
    str_printf(line,
               "few: measured in only %d pass%s, too few for an interval; give more --seconds",
               passes, passes == 1 ? "" : "es");
    return 1;
}

static int warn_busy(int waited, int n, str *line)
{
    if (waited <= many * n)
        return 0;
    str_printf(line, "busy: %d of %d samples waited for a core and do not count", waited, n);
    return 1;
}

static int warn_wide(timings s, str *line)
{
    interval i = stats_typical(s);
    if (!(i.high - i.low > wide * i.middle))
        return 0;
    str_printf(line, "noise: the interval is %.0f %% wide", 100 * (i.high - i.low) / i.middle);
    return 1;
}

/* The undisturbed samples. */
static timings left_alone(timings all, double *seconds, int *pass)
{
    const double calm = stats_calm(all);
    int n = 0;
    for (int i = 0; i < all.n; i++) {
        if (all.waited && stats_disturbed(all.seconds[i], all.waited[i], calm))
            continue;
        seconds[n] = all.seconds[i];
        pass[n++] = all.pass[i];
    }
    return (timings){.seconds = seconds, .pass = pass, .n = n};
}

int samples_warn(timings all, str warnings[WARNINGS_MOST])
{
    double *seconds = heap_get(sizeof *seconds * (size_t)(all.n + 1));
    int *pass = heap_get(sizeof *pass * (size_t)(all.n + 1)), k = 0;
    const timings s = left_alone(all, seconds, pass);
    k += warn_busy(all.n - s.n, all.n, &warnings[k]);
    if (warn_few(s, &warnings[k])) {
        k++;
    } else if (s.n >= ENOUGH) {
        k += warn_outliers(s, &warnings[k]);
        k += warn_drift(s, &warnings[k]);
        k += warn_wide(all, &warnings[k]);
    }
    free(seconds);
    free(pass);
    return k;
}
