/* Statistics of a measurement: medians and intervals that hold for noisy, drifting, skewed samples. */
#ifndef CLI_BENCH_STATS_H
#define CLI_BENCH_STATS_H

#include <stdbool.h>

/* An estimate and the interval that holds the truth 99 times of 100. */
typedef struct interval {
    double low, middle, high;
} interval;

/* Times of one work in the order in which they were measured. */
typedef struct timings {
    const double *seconds;
    const double *waited; /* of each: how much of it a core was waited for; NULL: unknown */
    const int *pass;      /* of each: the pass over all works, from 0, never falling */
    const int *process;   /* of each pass, never falling; NULL: all were made by one */
    int n;
    double others; /* cores that others had meanwhile, where the work wants all of them; else 0 */
} timings;

double stats_median(const double *v, int n); /* NaN for none */
/* The least share of a sample that was waited for a core: what the work does by itself. 0 of none. */
double stats_calm(timings t);
/* Whether others had too much of the machine during a sample: it waited for more than that. */
bool stats_disturbed(double seconds, double waited, double calm);
/* Of the typical time: samples of one process are not independent, nor are those of one pass. */
interval stats_typical(timings s);

typedef enum verdict { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_UNSURE } verdict;
/* Compares two runs of a work. FASTER means that new is faster. *speedup, unless it is NULL, becomes the
 * interval of the old typical time divided by the new one. With fewer than three passes on either side the
 * verdict is UNSURE, whatever the interval. */
verdict stats_compare(timings old, timings new, interval *speedup);
/* The verdict of an interval that enough passes support. */
verdict stats_verdict(interval speedup);

#endif
