/* The times of one work that a verb repeats: see timing.h. */
#include "bench/timing.h"

#include "bench/stats.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>

enum { RUNS_LEAST = 5, RUNS_MOST = 100000 };
static const double MEASURED_S = 0.5;

timing timing_begin(void) { return (timing){.begin_s = clock_s()}; }

void timing_free(timing *t)
{
    free(t->seconds);
    *t = (timing){0};
}

void timing_add(timing *t, double seconds)
{
    if (t->n == t->room) {
        t->room = 2 * t->room + 64;
        t->seconds = heap_resize(t->seconds, (size_t)t->room * sizeof *t->seconds);
    }
    t->seconds[t->n++] = seconds;
}

bool timing_wants(const timing *t)
{
    return t->n < RUNS_LEAST || (t->n < RUNS_MOST && clock_s() - t->begin_s < MEASURED_S);
}

/* In milliseconds; each run is a pass of its own. */
static interval typical_ms(const timing *t, double *least)
{
    int *pass = heap_get((size_t)t->n * sizeof *pass);
    *least = INFINITY;
    for (int i = 0; i < t->n; i++) {
        pass[i] = i;
        *least = fmin(*least, 1e3 * t->seconds[i]);
    }
    const interval x = stats_typical((timings){.seconds = t->seconds, .pass = pass, .n = t->n});
    free(pass);
    return (interval){1e3 * x.low, 1e3 * x.middle, 1e3 * x.high};
}

void timing_text(str *out, const timing *t)
{
    double least;
    const interval ms = typical_ms(t, &least);
    str_printf(out, "median %.4g ms (%d runs, 99 %% between %.4g and %.4g, least %.4g)", ms.middle,
               t->n, ms.low, ms.high, least);
}

void timing_say(const char *name, const timing *t)
{
    str line = {0};
    timing_text(&line, t);
    fflush(stdout);
    text_printf(stderr, "%s%s%s\n", name ? name : "", name ? ": " : "", line.s);
    str_free(&line);
}

void timing_json(str *out, const timing *t)
{
    double least;
    const interval ms = typical_ms(t, &least);
    str_json(out, "time: {median_ms: %.6g, low_ms: %.6g, high_ms: %.6g, least_ms: %.6g, runs: %d}",
             ms.middle, ms.low, ms.high, least, t->n);
}
