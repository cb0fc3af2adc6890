/* Statistics of a measurement: medians and intervals that hold for noisy, drifting, skewed samples. */
#ifndef CLI_BENCH_STATS_H
#define CLI_BENCH_STATS_H

#include <stdbool.h>

/* An estimate and the interval that holds the truth 99 times of 100. */
typedef struct interval {
    double low, middle, high;
} interval;

double stats_median(const double *v, int n); /* NaN for none */
/* Of the median of samples that were taken in passes: samples of one pass are not independent. */
interval stats_typical(const double *v, const int *pass, int n);
/* Of median(a) / median(b). */
interval stats_ratio(const double *a, const int *pass_a, int n_a, const double *b,
                     const int *pass_b, int n_b);

typedef enum verdict { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_UNSURE } verdict;
/* Of the ratio of times old / new: FASTER means that new is. */
verdict stats_verdict(interval speedup);

#endif
