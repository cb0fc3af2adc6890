/* Statistics of a measurement: intervals that remain valid for noisy, drifting and skewed samples. */
#ifndef CLI_BENCH_STATS_H
#define CLI_BENCH_STATS_H

#include <stdbool.h>

/* An estimate and its 99 % interval. */
typedef struct interval {
    double low, middle, high;
} interval;

/* Times of one work in the order of measurement. */
typedef struct timings {
    const double *seconds;
    const double *waited; /* of each sample: time that it waited for a core; NULL: unknown */
    const int *pass;      /* of each sample: the pass over all works, from 0, ascending */
    const int *process;   /* of each pass: its process, ascending; NULL: one process */
    int n;
    double
        others; /* cores that other processes used meanwhile, if the work uses all cores; else 0 */
} timings;

double stats_median(const double *v, int n); /* NaN if n is 0 */
/* The smallest share of a sample spent waiting for a core: the waiting of the work itself. 0 if n is 0. */
double stats_calm(timings t);
/* True if other processes disturbed a sample: it waited for a core longer than calm explains. */
bool stats_disturbed(double seconds, double waited, double calm);
/* The interval of the typical time. Samples of one process, or of one pass, are not independent. */
interval stats_typical(timings s);

typedef enum verdict { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_UNSURE } verdict;
/* Compares two runs of a work. FASTER means that new is faster. *speedup, unless it is NULL, becomes the
 * interval of the old typical time divided by the new one. With fewer than three passes on either side the
 * verdict is UNSURE, whatever the interval. */
verdict stats_compare(timings old, timings new, interval *speedup);
/* The verdict of an interval that is based on enough passes. */
verdict stats_verdict(interval speedup);

#endif
