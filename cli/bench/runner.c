/* The runner: passes, visits, samples; see runner.h.
 *
 * The first pass measures how long each task takes. Then the remaining time is planned: as many passes as
 * fit, with fewer visits for slow tasks and more samples per visit for fast ones. */
#include "runner.h"

#include <math.h>
#include <stdlib.h>

enum {
    SAMPLES_MOST = 5,
    SLOW_VISITS = 4,
    WARM_BATCHES = 8,
    FIRST_RUNS = 3,
    REPEATS_MOST = 1 << 24,
    RETAKES = 3
};
static const double sample_least_s = 0.002, /* long compared with the clock and with time slices */
    warm_most_s = 0.25, stable = 0.05, own_warm_up_s = 1, /* longer repetitions need no warm-up */
    compile_most_s = 6,
                    falls = 0.7, /* first runs that compile: maximum time, and how fast it falls */
    retake_most_s = 0.1,         /* longer samples would be disturbed again */
    slow_shares = 3;             /* a visit that takes more than this many equal shares is slow */

/* ---- random order ------------------------------------------------------------------------------- */

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void runner_shuffle(uint64_t *state, int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int j = (int)(draw(state) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}

/* ---- samples ------------------------------------------------------------------------------------ */

void task_free(task *t)
{
    str_free(&t->why);
    free(t->seconds);
    free(t->waited);
    free(t->round);
}

void task_keep(task *t, double seconds, double waited, int pass)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 16;
        t->seconds = heap_resize(t->seconds, sizeof *t->seconds * (size_t)t->room);
        t->waited = heap_resize(t->waited, sizeof *t->waited * (size_t)t->room);
        t->round = heap_resize(t->round, sizeof *t->round * (size_t)t->room);
    }
    t->seconds[t->n] = seconds;
    t->waited[t->n] = waited;
    t->round[t->n++] = pass;
}

/* Runs the repetitions of one sample. Returns false if one of them fails. */
static bool batch(const runner *r, task *t, double *seconds)
{
    double aside_s = 0, begin_s = r->clock(r->context);
    for (int i = 0; i < t->repeats && t->outcome == OUTCOME_FINE; i++)
        t->outcome = t->calls->run(t->context, &aside_s, &t->why);
    *seconds = r->clock(r->context) - begin_s - aside_s;
    t->sample_s = *seconds + aside_s;
    return t->outcome == OUTCOME_FINE;
}

/* Finds how many repetitions a sample needs. Returns the time of such a sample. The first runs may compile or load
 * code: the first steps of a training run different programs. */
static double find_repeats(const runner *r, task *t)
{
    double seconds = 0, before = fmin(compile_most_s, 0.5 * r->seconds);
    t->repeats = 1;
    for (int i = 0; i < FIRST_RUNS; i++, before = falls * seconds)
        if (!batch(r, t, &seconds) || seconds < sample_least_s ||
            (seconds >= own_warm_up_s && seconds > before))
            break;
    while (t->outcome == OUTCOME_FINE && seconds < own_warm_up_s && batch(r, t, &seconds) &&
           seconds < sample_least_s && t->repeats < REPEATS_MOST) {
        double wanted = t->repeats * (seconds > 0 ? 1.2 * sample_least_s / seconds : 2);
        t->repeats =
            (int)fmin(REPEATS_MOST, fmin(ceil(fmax(wanted, t->repeats + 1)), 64. * t->repeats));
    }
    return seconds;
}

/* Finds how many repetitions a sample needs, then runs until two samples in a row agree. A sample that needs
 * no warm-up is kept. */
static bool warm_up_first(const runner *r, task *t)
{
    double before = 0, begin_s = r->clock(r->context), seconds = find_repeats(r, t);
    if (t->outcome == OUTCOME_FINE && seconds >= own_warm_up_s) {
        task_keep(t, seconds / t->repeats, 0, 0);
        return true;
    }
    for (int i = 0;
         i < WARM_BATCHES && t->outcome == OUTCOME_FINE &&
         fabs(seconds - before) > stable * seconds && r->clock(r->context) - begin_s < warm_most_s;
         i++) {
        before = seconds;
        batch(r, t, &seconds);
    }
    return t->outcome == OUTCOME_FINE;
}

/* ---- a visit ------------------------------------------------------------------------------------ */

static bool check(const runner *r, task *t)
{
    double begin_s = r->clock(r->context);
    if (t->calls->check)
        t->outcome = t->calls->check(t->context, &t->why);
    t->check_s = r->clock(r->context) - begin_s;
    return t->outcome == OUTCOME_FINE;
}

/* Answers are checked in the first visit, and in later ones if the check is fast. */
static bool check_again(const runner *r, task *t, int pass)
{
    return (pass > 0 && t->check_s > 0.1 * t->visit_s) || check(r, t);
}

/* Takes samples until enough are undisturbed, or until a few times as many were taken. All are kept. */
static void take_samples(const runner *r, task *t, int pass, int samples)
{
    const int most = t->sample_s < retake_most_s ? RETAKES * (samples + 1) : samples;
    for (int tries = 0; samples > 0 && tries < most && !r->interrupted(r->context); tries++) {
        double seconds, waited = 0;
        if (r->watch)
            r->watch(r->context, tries == 0);
        if (!batch(r, t, &seconds))
            return;
        if (r->watch)
            waited = r->waited(r->context);
        task_keep(t, seconds / t->repeats, waited / t->repeats, pass);
        samples -= !stats_disturbed(seconds, waited, t->calm);
    }
}

/* In a new process: takes one sample, and more while the first runs load compiled code. */
static void warm_up_again(const runner *r, task *t)
{
    const double begin_s = r->clock(r->context);
    double seconds;
    for (int runs = 0; runs < FIRST_RUNS && batch(r, t, &seconds); runs += t->repeats)
        if (r->clock(r->context) - begin_s > warm_most_s)
            return;
}

static void visit_open(const runner *r, task *t, int pass)
{
    int samples = pass == 0 ? 1 : t->samples;
    if (!check_again(r, t, pass))
        return;
    if (pass == 0 && warm_up_first(r, t))
        samples -= t->n; /* the warm-up sample counts */
    else if (pass > 0 && t->sample_s < own_warm_up_s)
        warm_up_again(r, t);
    take_samples(r, t, pass, samples);
}

void runner_visit(const runner *r, task *t, int pass)
{
    double begin_s = r->clock(r->context);
    t->outcome = t->calls->open(t->context, &t->why);
    t->open_s = r->clock(r->context) - begin_s;
    if (t->outcome == OUTCOME_FINE)
        visit_open(r, t, pass);
    double close_s = r->clock(r->context);
    t->calls->close(t->context);
    t->open_s += r->clock(r->context) - close_s;
}

static void visit(const runner *r, task *t, int pass)
{
    t->calm = stats_calm((timings){.seconds = t->seconds, .waited = t->waited, .n = t->n});
    if (r->perform)
        r->perform(r->context, t, pass);
    else
        runner_visit(r, t, pass);
    if (t->outcome == OUTCOME_FINE || r->interrupted(r->context)) {
        /* A failure after Ctrl-C does not count: child processes receive the signal too. */
        t->outcome = t->outcome == OUTCOME_WRONG ? OUTCOME_WRONG : OUTCOME_FINE;
        return;
    }
    t->n = 0;
    r->ended(r->context, t);
}

/* ---- the plan ----------------------------------------------------------------------------------- */

/* The time of a visit with this many samples and one for warm-up. */
static double visit_cost(const task *t, int samples)
{
    return t->open_s + t->sample_s * (samples + (t->sample_s < own_warm_up_s));
}

/* Sets how often each task is visited in `passes` passes within left_s seconds. Returns the time that this takes with
 * one sample per visit. */
static double plan_visits(task *tasks, int n, int passes, double left_s)
{
    double total_s = 0, share_s = slow_shares * left_s / passes / n;
    for (int i = 0; i < n; i++) {
        task *t = &tasks[i];
        double cost_s = visit_cost(t, 1), fit = floor(passes * share_s / fmax(cost_s, 1e-9));
        int least = passes < SLOW_VISITS ? passes : SLOW_VISITS;
        t->visits = t->outcome != OUTCOME_FINE ? 0 : fit >= passes ? passes : (int)fmax(least, fit);
        total_s += t->visits * cost_s;
    }
    return total_s;
}

/* Plans the passes after the first. Returns the total number of passes. */
static int plan(const runner *r, task *tasks, int n, double left_s)
{
    int passes = r->most_passes, all = 0;
    double total_s = plan_visits(tasks, n, passes, left_s);
    while (passes > r->least_passes && total_s > left_s)
        total_s = plan_visits(tasks, n, --passes, left_s);
    for (int i = 0; i < n; i++)
        all += tasks[i].visits;
    double more_s = fmax(0, left_s - total_s) / fmax(1, all); /* for each visit */
    for (int i = 0; i < n; i++) {
        task *t = &tasks[i];
        double more = floor(more_s / fmax(t->sample_s, 1e-9));
        t->samples = 1 + (int)fmin(SAMPLES_MOST - 1, more);
        t->visit_s = visit_cost(t, t->samples);
    }
    return passes;
}

/* True if a task is visited in this pass. Visits are spread evenly over the passes. */
static bool due(const task *t, int pass, int passes)
{
    if (t->visits < 2 || passes < 2)
        return pass == 0;
    int steps = t->visits - 1, last = passes - 1;
    return pass == 0 || pass * steps / last > (pass - 1) * steps / last;
}

/* True if the time is used up before a visit of this pass. */
static bool over(const runner *r, int pass, double spent_s)
{
    return (pass >= r->least_passes && spent_s > 1.1 * r->seconds) ||
           (r->most_seconds > 0 && spent_s > r->most_seconds);
}

/* Marks tasks without samples as left out. */
static void leave_out_rest(const runner *r, task *tasks, int n)
{
    for (int i = 0; i < n; i++)
        if (tasks[i].outcome == OUTCOME_FINE && tasks[i].n == 0) {
            tasks[i].outcome = OUTCOME_LEFT_OUT;
            str_puts(&tasks[i].why, "there was no time left; give more --seconds");
            r->ended(r->context, &tasks[i]);
        }
}

/* ---- passes ------------------------------------------------------------------------------------- */

bool runner_run(const runner *r, task *tasks, int n)
{
    int *order = heap_get(sizeof *order * (size_t)(n + 1));
    uint64_t state = r->seed;
    double begin_s = r->clock(r->context), done_s = 0, total_s = 0, share = 0;
    bool whole = true;
    for (int pass = 0, passes = 1; pass < passes && whole; pass++) {
        runner_shuffle(&state, order, n);
        for (int i = 0; i < n && whole; i++) {
            task *t = &tasks[order[i]];
            if (t->outcome != OUTCOME_FINE || (pass > 0 && !due(t, pass, passes)) ||
                over(r, pass, r->clock(r->context) - begin_s))
                continue;
            /* During the first pass, only the order of magnitude of the total time is known. */
            share = fmax(share, pass == 0 ? (double)i / n / r->most_passes : done_s / total_s);
            r->visit(r->context, t, fmin(share, 1));
            visit(r, t, pass);
            done_s += pass > 0 ? t->visit_s : 0;
            whole = !r->interrupted(r->context);
        }
        if (pass == 0 && whole) {
            done_s = r->clock(r->context) - begin_s;
            passes = plan(r, tasks, n, r->seconds - done_s);
            total_s = done_s;
            for (int i = 0; i < n; i++)
                total_s += fmax(0, tasks[i].visits - 1) * tasks[i].visit_s;
            total_s = fmax(total_s, 1e-9);
        }
    }
    if (whole)
        leave_out_rest(r, tasks, n);
    free(order);
    return whole;
}
