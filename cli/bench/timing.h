/* The times of one work that a verb repeats (eval --time, run --time, onnx bench): one way to decide how often, to estimate, and
 * to print. */
#ifndef CLI_BENCH_TIMING_H
#define CLI_BENCH_TIMING_H

#include "str.h"

typedef struct timing {
    double *seconds;
    int n, room;
    double begin_s;
} timing;

/* Starts; timing_free releases it. */
timing timing_begin(void);
void timing_free(timing *t);
void timing_add(timing *t, double seconds);
/* True until there are five samples and half a second has passed. */
bool timing_wants(const timing *t);
/* Adds "median 1.2 ms (30 runs, 99 % between 1.1 and 1.3, least 1.1)": the typical time of bench/stats.h. */
void timing_text(str *out, const timing *t);
/* Prints it to standard error, after "name: " unless the name is NULL. */
void timing_say(const char *name, const timing *t);
/* Adds the same to JSON: "time": {"median_ms": 1.2, "low_ms": 1.1, "high_ms": 1.3, "least_ms": 1.1, "runs": 30}. */
void timing_json(str *out, const timing *t);

#endif
