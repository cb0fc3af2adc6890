/* ingot bench: the rules of the runner with a simulated clock, and checks that reject wrong answers. */
#include "support/unit.h"

#include "cli/bench/child.h"
#include "cli/bench/glossary.h"
#include "cli/bench/limits.h"
#include "cli/bench/runner.h"
#include "cli/bench/worker.h"
#include "cli/bench/works.h"
#include "cli/cli.h"
#include "support/capture.h"
#include "support/faulty.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tasks with simulated times ------------------------------------------------------------------- */

static double time_s, waiting_s;
static int runs_left; /* runs until Ctrl-C; negative: never */

typedef struct fake {
    double open_s, run_s, aside_s, drift; /* drift: the change of run_s with every visit */
    double first_s; /* of the first run, which compiles; the second takes half as long */
    int disturbed;  /* one in this many runs waits as long as it computes */
    outcome opens, runs, checks;
    double load_s; /* of the first two runs after it was opened */
    int opened, closed, ran, checked, ran_open;
    int *log, *n_log, number; /* of visits */
} fake;

static outcome fake_open(void *context, str *why)
{
    fake *f = context;
    f->opened++;
    f->ran_open = 0;
    f->run_s *= 1 + f->drift;
    time_s += f->open_s;
    if (f->log)
        f->log[(*f->n_log)++] = f->number;
    if (f->opens != OUTCOME_FINE)
        str_puts(why, "it does not fit");
    return f->opens;
}

static outcome fake_run(void *context, double *aside_s, str *why)
{
    fake *f = context;
    f->ran++;
    f->ran_open++;
    time_s += f->ran_open <= 2 ? f->load_s : 0;
    runs_left -= runs_left > 0;
    time_s += (f->ran <= 2 ? f->first_s / f->ran : 0) + f->run_s + f->aside_s;
    if (f->disturbed && f->ran % f->disturbed == 0) {
        time_s += f->run_s;
        waiting_s += f->run_s;
    }
    *aside_s += f->aside_s;
    if (f->runs != OUTCOME_FINE)
        str_puts(why, "exit code 3");
    return f->runs;
}

static outcome fake_check(void *context, str *why)
{
    fake *f = context;
    f->checked++;
    if (f->checks != OUTCOME_FINE)
        str_puts(why, "element 7 is 2, expected 3");
    return f->checks;
}

static void fake_close(void *context) { ((fake *)context)->closed++; }

static const task_calls fake_calls = {fake_open, fake_run, fake_check, fake_close};

static double fake_clock(void *context)
{
    (void)context;
    return time_s;
}
static bool fake_interrupted(void *context)
{
    (void)context;
    return runs_left == 0;
}
static void fake_watch(void *context, bool fresh)
{
    (void)context;
    (void)fresh;
    waiting_s = 0;
}
static double fake_waited(void *context)
{
    (void)context;
    return waiting_s;
}
static double last_share;
static void fake_visit(void *context, const task *t, double share)
{
    (void)context;
    (void)t;
    assert_true(share >= last_share && share <= 1);
    last_share = share;
}
static int ended;
static void fake_ended(void *context, const task *t)
{
    (void)context;
    assert_int_equal(t->n, 0);
    assert_true(t->why.n > 0);
    ended++;
}

enum { MOST = 64 };
static task tasks[MOST];

static double most_seconds;

static bool measure(fake *fakes, int n, double seconds, int passes)
{
    time_s = 1000;
    last_share = 0;
    ended = 0;
    const runner r = {.seconds = seconds,
                      .most_seconds = most_seconds,
                      .least_passes = 3,
                      .most_passes = passes,
                      .seed = 7,
                      .clock = fake_clock,
                      .interrupted = fake_interrupted,
                      .watch = fake_watch,
                      .waited = fake_waited,
                      .visit = fake_visit,
                      .ended = fake_ended};
    memset(tasks, 0, sizeof tasks);
    for (int i = 0; i < n; i++)
        tasks[i] = (task){.calls = &fake_calls, .context = &fakes[i]};
    bool whole = runner_run(&r, tasks, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(fakes[i].opened, fakes[i].closed);
    return whole;
}

static void release(int n)
{
    for (int i = 0; i < n; i++)
        task_free(&tasks[i]);
}

static int begin_fake(void **state)
{
    runs_left = -1;
    most_seconds = 0;
    return begin(state);
}

static int warned_timings(timings s, const char *word)
{
    str w[WARNINGS_MOST] = {0};
    int k = samples_warn(s, w), found = 0;
    for (int i = 0; i < k; i++)
        found += strncmp(w[i].s, word, strlen(word)) == 0;
    for (int i = 0; i < WARNINGS_MOST; i++)
        str_free(&w[i]);
    return found;
}

static int warned(const double *s, const int *round, int n, const char *word)
{
    return warned_timings((timings){.seconds = s, .pass = round, .n = n}, word);
}

static int warned_of(const task *t, const char *word)
{
    return warned_timings(
        (timings){.seconds = t->seconds, .waited = t->waited, .pass = t->round, .n = t->n}, word);
}

/* ---- the runner --------------------------------------------------------------------------------- */

static void fast_works_repeat_inside_a_sample(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 1e-6}, {.run_s = 1e-3}, {.run_s = 0.5}, {.run_s = 1e-5, .aside_s = 1e-3}};
    assert_true(measure(f, 4, 30, 8));
    for (int i = 0; i < 4; i++) {
        assert_true(tasks[i].n >= 8);
        assert_true(tasks[i].repeats * f[i].run_s >= 0.002 * 0.999);
        assert_true(tasks[i].repeats == 1 || tasks[i].repeats * f[i].run_s < 0.2);
        for (int k = 0; k < tasks[i].n; k++)
            assert_true(fabs(tasks[i].seconds[k] / f[i].run_s - 1) < 1e-6);
    }
    assert_int_equal(tasks[2].repeats, 1);
    assert_true(time_s - 1000 < 33);
    release(4);
}

/* Nor do runs that load code compiled by an earlier process. */
static void loading_does_not_count(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 0.003, .load_s = 0.04}};
    assert_true(measure(f, 1, 3, 8));
    assert_true(tasks[0].n >= 8);
    for (int k = 0; k < tasks[0].n; k++)
        assert_true(fabs(tasks[0].seconds[k] / f[0].run_s - 1) < 1e-6);
    release(1);
}

/* A task whose first runs compile is repeated as often as one that does not compile. */
static void slow_first_runs_do_not_count(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 1e-4}, {.run_s = 1e-4, .first_s = 0.05}, {.run_s = 1e-4, .first_s = 3.4}};
    assert_true(measure(f, 3, 30, 8));
    for (int i = 0; i < 3; i++) {
        assert_true(tasks[i].repeats >= 20 && tasks[i].repeats < 100);
        for (int k = 0; k < tasks[i].n; k++)
            assert_true(fabs(tasks[i].seconds[k] / f[i].run_s - 1) < 1e-6);
    }
    release(3);
}

static void passes_cover_all_in_other_orders(void **state)
{
    (void)state;
    enum { TASKS = 10, PASSES = 8 };
    int log[TASKS * PASSES * 2], n_log = 0, same = 0;
    fake f[TASKS];
    for (int i = 0; i < TASKS; i++)
        f[i] = (fake){.run_s = 1e-3, .log = log, .n_log = &n_log, .number = i};
    assert_true(measure(f, TASKS, 100, PASSES));
    assert_int_equal(n_log, TASKS * PASSES);
    for (int pass = 0; pass < PASSES; pass++) {
        unsigned seen = 0;
        for (int i = 0; i < TASKS; i++)
            seen |= 1u << log[pass * TASKS + i];
        assert_int_equal(seen, (1u << TASKS) - 1);
        for (int before = 0; before < pass; before++)
            same += memcmp(&log[pass * TASKS], &log[before * TASKS], TASKS * sizeof *log) == 0;
    }
    assert_int_equal(same, 0);
    for (int i = 0; i < TASKS; i++)
        for (int k = 1; k < tasks[i].n; k++)
            assert_true(tasks[i].round[k] - tasks[i].round[k - 1] <= 1);
    release(TASKS);
}

/* Each task is equally likely at each position of the order. */
static void orders_are_even(void **state)
{
    (void)state;
    enum { N = 5, DRAWS = 20000 };
    int count[N][N] = {{0}}, order[N];
    uint64_t seed = 1;
    for (int i = 0; i < DRAWS; i++) {
        runner_shuffle(&seed, order, N);
        for (int k = 0; k < N; k++)
            count[order[k]][k]++;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            assert_true(abs(count[i][k] - DRAWS / N) < 300); /* 5 deviations */
}

static void slow_works_are_visited_less_often(void **state)
{
    (void)state;
    fake f[12];
    for (int i = 0; i < 12; i++)
        f[i] = (fake){.run_s = i ? 1e-3 : 8, .open_s = 0.01};
    assert_true(measure(f, 12, 60, 15));
    assert_int_equal(f[0].opened, 4);
    assert_int_equal(tasks[0].n, 4); /* and serves as its own warm-up */
    assert_int_equal(tasks[0].round[3], 14);
    assert_int_equal(f[1].opened, 15);
    assert_true(time_s - 1000 < 66);
    release(12);
}

/* Samples that waited for a core are kept and repeated, but not if the task always waits. */
static void disturbed_samples_are_taken_again(void **state)
{
    (void)state;
    fake f[] = {
        {.run_s = 0.004, .disturbed = 2}, {.run_s = 0.004, .disturbed = 1}, {.run_s = 0.004}};
    assert_true(measure(f, 3, 10, 8));
    int alone = 0;
    for (int i = 0; i < tasks[0].n; i++)
        alone += !stats_disturbed(tasks[0].seconds[i], tasks[0].waited[i], 0);
    assert_int_equal(tasks[2].n, 7 * tasks[2].samples + 1);
    assert_true(alone >= tasks[2].n && tasks[0].n > alone);
    assert_true(tasks[1].n >= tasks[2].n && tasks[1].n <= tasks[2].n + 6);
    const task *t = &tasks[0];
    const interval i = stats_typical(
        (timings){.seconds = t->seconds, .waited = t->waited, .pass = t->round, .n = t->n});
    assert_true(fabs(i.middle / f[0].run_s - 1) < 1e-6 && fabs(i.high / i.low - 1) < 1e-6);
    assert_true(warned_of(t, "busy"));
    assert_false(warned_of(&tasks[2], "busy"));
    release(3);
}

static void too_little_time_still_gives_three_passes(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 2}, {.run_s = 3}};
    assert_true(measure(f, 2, 1, 15));
    assert_true(f[0].opened == 3 && f[1].opened == 3);
    release(2);
}

static void no_time_is_told(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 4}, {.run_s = 4}, {.run_s = 4}};
    most_seconds = 5;
    assert_true(measure(f, 3, 5, 15));
    assert_int_equal(ended, 1); /* there was no time left for it */
    assert_int_equal(tasks[0].n + tasks[1].n + tasks[2].n, 2);
    assert_true(time_s - 1000 < 9);
    release(3);
}

static void wrong_answers_have_no_time(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 1e-3},
                {.run_s = 1e-3, .checks = OUTCOME_WRONG},
                {.run_s = 1e-3, .opens = OUTCOME_LEFT_OUT},
                {.run_s = 1e-3, .runs = OUTCOME_FAILED}};
    assert_true(measure(f, 4, 10, 5));
    assert_int_equal(ended, 3);
    assert_true(tasks[0].n > 0 && tasks[0].outcome == OUTCOME_FINE);
    assert_int_equal(tasks[1].outcome, OUTCOME_WRONG);
    assert_int_equal(f[1].ran, 0);
    assert_string_equal(tasks[1].why.s, "element 7 is 2, expected 3");
    assert_int_equal(tasks[2].outcome, OUTCOME_LEFT_OUT);
    assert_int_equal(tasks[3].outcome, OUTCOME_FAILED);
    for (int i = 1; i < 4; i++)
        assert_true(tasks[i].n == 0 && f[i].opened == 1);
    assert_true(f[0].checked >= 5); /* cheap checks run in every visit */
    release(4);
}

static void interrupted_keeps_what_there_is(void **state)
{
    (void)state;
    fake f[] = {{.run_s = 0.01}, {.run_s = 0.01}, {.run_s = 0.01}};
    runs_left = 40;
    assert_false(measure(f, 3, 100, 15));
    assert_int_equal(f[0].ran + f[1].ran + f[2].ran, 40);
    assert_true(tasks[0].n > 0 && tasks[1].n > 0 && tasks[2].n > 0);
    release(3);
    /* A failure during Ctrl-C, such as of a child process, does not count. */
    fake g[] = {{.run_s = 0.01, .runs = OUTCOME_FAILED}};
    runs_left = 1;
    assert_false(measure(g, 1, 100, 15));
    assert_int_equal(ended, 0);
    release(1);
}

/* ---- warnings ----------------------------------------------------------------------------------- */

static void drift_and_outliers_are_told(void **state)
{
    (void)state;
    enum { N = 40 };
    double s[N];
    int round[N];
    for (int i = 0; i < N; i++) {
        round[i] = i / 4;
        s[i] = 1e-3 * (1 + 0.001 * (i * 7 % 5));
    }
    assert_false(warned(s, round, N, "drift") || warned(s, round, N, "outliers"));
    s[7] *= 3; /* one outlier in forty is expected */
    assert_false(warned(s, round, N, "drift") || warned(s, round, N, "outliers"));
    for (int i = 0; i < N; i += 5)
        s[i] *= 2;
    assert_true(warned(s, round, N, "outliers"));
    assert_false(warned(s, round, N, "few"));
    assert_true(warned(s, round, 8, "few"));
    fake f[] = {{.run_s = 0.01}, {.run_s = 0.01, .drift = 0.03}};
    assert_true(measure(f, 2, 100, 10));
    assert_false(warned(tasks[0].seconds, tasks[0].round, tasks[0].n, "drift"));
    assert_true(warned(tasks[1].seconds, tasks[1].round, tasks[1].n, "drift"));
    release(2);
}

/* ---- every check rejects a wrong answer ------------------------------------------------------------ */

static const work *const tables[] = {works_dense, works_memory,   works_index,   works_train,
                                     works_text,  works_language, works_latency, works_model};

/* Smaller sizes, for works whose real sizes take long to check. */
static void small_dims(const work *w, job *j)
{
    static const struct {
        const char *name;
        int64_t dims[WORK_DIMS];
    } rows[] = {{"matmul", {96}},
                {"matmul_threads", {96}},
                {"matmul_batched", {5, 24}},
                {"attention", {2, 9, 8}},
                {"conv", {2, 5, 7}},
                {"transformer", {6, 128}},
                {"softmax", {65, 33}},
                {"layer_norm", {40, 33}},
                {"max_pool", {2, 3, 8}},
                {"random_mean", {1100, 1000}},
                {"train_mlp", {8, 6, 16, 4}},
                {"train_digits", {1498}},
                {"tokenizer", {64}},
                {"distilbert", {1, 8}},
                {"prompt_q8", {8}},
                {"generate_q8", {8}},
                {"prompt_q4", {8}},
                {"generate_q4", {8}},
                {"start", {100}}};
    memset(j->dims, 0, sizeof j->dims);
    j->dims[0] = 5000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, w->name) == 0)
            memcpy(j->dims, rows[i].dims, sizeof j->dims);
}

/* x with one element changed noticeably. */
static ig_array *damaged(ig_array *x)
{
    size_t bytes = ig_dtype_bytes(ig_dtype_of(x)), n = (size_t)ig_size(x);
    unsigned char *copy = malloc(bytes * n);
    assert_int_equal(ig_read(x, copy, bytes * n), IG_OK);
    unsigned char *at = copy + bytes * (n / 2);
    if (ig_isdtype(ig_dtype_of(x), "integral"))
        at[0] ^= 1;
    else
        at[bytes - 1] ^= 0x83; /* the sign and some of the exponent */
    ig_array *y = ig_from_data(copy, ig_shape(x), ig_dtype_of(x));
    free(copy);
    assert_int_equal(ig_eval(&y, 1), IG_OK);
    return y;
}

static void check_job(const work *w, const char *dtype)
{
    job j = {.work = w, .device = "cpu", .seed = 3, .memory_limit = UINT64_MAX, .size = "small"};
    str why = {0};
    j.dtype = ig_dtype_parse(dtype);
    small_dims(w, &j);
    w->cost(&j);
    assert_int_equal(job_calls.open(&j, &why), OUTCOME_FINE);
    double aside_s = 0;
    bool itself = strcmp(w->name, "start") == 0; /* it would run this test */
    if (!itself) {
        if (job_calls.check(&j, &why) != OUTCOME_FINE)
            fail_msg("%s %s: %s", w->name, dtype, why.s);
        assert_int_equal(job_calls.run(&j, &aside_s, &why), OUTCOME_FINE);
    }
    if (w->build) {
        assert_int_equal(ig_scope_begin(), IG_OK);
        ig_array *y = w->build(&j);
        assert_non_null(y);
        j.answer[0] = 0;
        if (w->check(&j, damaged(y), &why))
            fail_msg("%s %s: a damaged answer passed", w->name, dtype);
        if (!why.n || !strstr(why.s, "expected"))
            fail_msg("%s %s: why is '%s'", w->name, dtype, why.s ? why.s : "");
        assert_string_equal(j.answer, "");
        ig_scope_end();
    }
    job_calls.close(&j);
    str_free(&why);
}

static void answers_are_checked(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const work *w = tables[t]; w->name; w++) {
            char list[64], *rest = list, *dtype;
            if (getenv("IG_TEST_EMULATED") && strcmp(w->name, "train_digits") == 0)
                continue; /* its epochs take longer than everything else here */
            if (getenv("IG_TEST_EMULATED") && strcmp(w->group, "text") == 0)
                continue; /* utf8proc is not available for the other processor */
            if (getenv("IG_TEST_QUICK") && strcmp(w->group, "text") == 0 &&
                strcmp(w->name, "tokenizer") != 0)
                continue; /* their networks have more than 60M parameters */
            if (strcmp(w->name, "prompt_q4") == 0 || strcmp(w->name, "generate_q8") == 0)
                continue; /* prompt_q8 and generate_q4 have the same functions */
            if (tables[t] == works_model)
                continue; /* they need a file */
            snprintf(list, sizeof list, "%s", w->dtypes);
            while ((dtype = strtok_r(rest, " ", &rest)))
                check_job(w, dtype);
        }
}

/* A device with one wrong op: bench rejects the works that use it, and only these. */
static void plant_square(void) { faulty_plant((fault){.op = "square", .kind = FAULT_ELEMENT}); }

static void planted_faults_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        fault_kind kind;
        const work *table;
        const char *name;
        outcome expected;
    } rows[] = {
        {"contract", FAULT_ELEMENT, works_dense, "matmul", OUTCOME_WRONG},
        {"contract", FAULT_STALE, works_dense, "matmul_batched", OUTCOME_WRONG},
        {"contract", FAULT_ELEMENT, works_dense, "conv", OUTCOME_WRONG},
        {"maximum", FAULT_ELEMENT, works_train, "train_mlp", OUTCOME_WRONG},
        {"contract", FAULT_ELEMENT, works_memory, "chain", OUTCOME_FINE},
        {"maximum", FAULT_STEPS, works_memory, "chain", OUTCOME_WRONG},
        {"add", FAULT_STEPS, works_memory, "triad", OUTCOME_WRONG},
        {"square", FAULT_ELEMENT, works_latency, "launch", OUTCOME_WRONG},
        {"contract", FAULT_ELEMENT, works_language, "generate_q4", OUTCOME_WRONG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const work *w = rows[i].table;
        while (strcmp(w->name, rows[i].name) != 0)
            w++;
        faulty_plant((fault){0});
        job j = {.work = w, .device = "faulty", .dtype = IG_F32, .memory_limit = UINT64_MAX};
        str why = {0};
        small_dims(w, &j);
        assert_int_equal(job_calls.open(&j, &why), OUTCOME_FINE);
        faulty_plant((fault){.op = rows[i].op, .kind = rows[i].kind, .steps = 1});
        outcome got = job_calls.check(&j, &why);
        if (got != rows[i].expected)
            fail_msg("%s with a fault in %s: outcome %d, %s", rows[i].name, rows[i].op, (int)got,
                     why.s ? why.s : "");
        job_calls.close(&j);
        str_free(&why);
    }
    plant_square(); /* here too, where an emulator cannot start other processes */
    char *said = NULL;
    int code = capture_verb(
        verb_bench, "bench --quiet --device faulty --only launch,sort*1M*i32 --seconds 0.1", &said);
    assert_int_equal(code, EXIT_FAILED);
    assert_non_null(strstr(said, "launch 64 f32 on faulty: the answer is wrong: element "));
    assert_non_null(strstr(said, ", expected exactly "));
    assert_null(strstr(said, "launch  ")); /* no time is reported */
    assert_non_null(strstr(said, "sort  "));
    free(said);
    faulty_plant((fault){0});
    assert_int_equal(ig_set_device("cpu"), IG_OK);
}

/* The digest depends only on the answer. */
static void answers_have_digests(void **state)
{
    (void)state;
    char first[ANSWER_CHARS] = "";
    for (int threads = 1; threads <= 2; threads++) {
        job j = {.work = &works_memory[0], .device = "cpu", .dtype = IG_F32, .threads = threads};
        str why = {0};
        j.memory_limit = UINT64_MAX;
        j.dims[0] = 100000;
        assert_int_equal(job_calls.open(&j, &why), OUTCOME_FINE);
        assert_int_equal(job_calls.check(&j, &why), OUTCOME_FINE);
        assert_int_equal(strlen(j.answer), 16);
        if (threads == 1)
            memcpy(first, j.answer, sizeof first);
        assert_string_equal(j.answer, first);
        job_calls.close(&j);
        str_free(&why);
    }
}

/* The first words of Philox with the key of seed 0, as Salmon et al. give them. */
static void philox_is_philox(void **state)
{
    (void)state;
    uint32_t block[4];
    philox_block(0, 0, block);
    assert_int_equal(block[0], 0x6627e8d5u);
    assert_int_equal(block[1], 0xe169c58du);
    assert_int_equal(block[2], 0xbc57ac4cu);
    assert_int_equal(block[3], 0x9b00dbd8u);
}

static void devices_have_a_bandwidth(void **state)
{
    (void)state;
    assert_true(limit_device_copy("cpu") > 0.01);
    assert_true(limit_device_copy("abacus") <= 0);
    assert_false(ig_failed());
}

/* ---- commands ----------------------------------------------------------------------------------- */

static void commands_are_cut_into_words(void **state)
{
    (void)state;
    str why = {0};
    user_command plain = {.text = "  prog 'two words' \"a\"b  c "}, shell = {.text = "a | b"};
    assert_true(command_read(&plain, &why));
    const char *const words[] = {"prog", "two words", "ab", "c"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(plain.words[i], words[i]);
    assert_null(plain.words[4]);
    assert_true(command_read(&shell, &why));
    assert_string_equal(shell.words[0], "sh");
    assert_string_equal(shell.words[2], "a | b");
    user_command open = {.text = "a 'b"}, none = {.text = "  "};
    assert_false(command_read(&open, &why));
    assert_false(command_read(&none, &why));
    command_free(&plain);
    command_free(&shell);
    command_free(&open);
    command_free(&none);
    str_free(&why);
}

static void commands_tell_how_they_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        {"true", 0, ""}, {"exit 3;", 3, ""}, {"echo 5;", 0, "5\n"}, {"kill -9 $$", 137, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        user_command c = {.text = rows[i].text};
        str out = {0}, why = {0};
        assert_true(command_read(&c, &why));
        assert_int_equal(child_run(c.words, false, &out, &why), rows[i].code);
        assert_string_equal(out.s ? out.s : "", rows[i].says);
        command_free(&c);
        str_free(&out);
        str_free(&why);
    }
}

static void commands_that_are_absent_are_told(void **state)
{
    (void)state;
    if (getenv(
            "IG_TEST_EMULATED")) /* in qemu-user vfork is fork: the child fails, and the parent is not told */
        skip();
    user_command absent = {.text = "/nonexistent/program"};
    str why = {0};
    assert_true(command_read(&absent, &why));
    assert_int_equal(child_run(absent.words, false, NULL, &why), -1);
    assert_non_null(strstr(why.s, "No such file"));
    command_free(&absent);
    str_free(&why);
}

/* The first message of a worker: one work, on devices whose id is "abcdefgh". */
static void workers_with_other_devices_are_refused(void **state)
{
    (void)state;
    char *argv[] = {"sh", "-c", "printf '\\001\\000\\000\\000\\000\\000\\000\\000abcdefgh'", NULL};
    job j = {.device = "cpu"};
    const task t = {.context = &j};
    worker w;
    str why = {0};
    assert_false(worker_begin(&w, argv, &t, 1, &why));
    assert_non_null(strstr(why.s, "its devices of these names are others"));
    str_free(&why);
}

/* Each work has an entry in the glossary, whose verb fits in both forms. */
static void works_have_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const work *w = tables[i]; w->name; w++) {
            const work_words *words = work_words_of(w->name);
            if (!words)
                fail_msg("%s is not in the glossary", w->name);
            assert_true(words->does[0] >= 'a' && words->does[0] <= 'z' && words->about[0]);
        }
    static const struct {
        const char *name, *plain, *third;
    } cases[] = {{"matmul", "multiply matrices", "multiplies matrices"},
                 {"start", "start programs", "starts programs"},
                 {"launch", "launch small evaluations", "launches small evaluations"},
                 {"copy", "copy memory", "copies memory"},
                 {"new_work", "do new_work", "does new_work"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str plain = {0}, third = {0};
        work_does(&plain, cases[i].name, false);
        work_does(&third, cases[i].name, true);
        assert_string_equal(plain.s, cases[i].plain);
        assert_string_equal(third.s, cases[i].third);
        str_free(&plain);
        str_free(&third);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_fake, end)

/* With arguments it is the command with a wrong square, which planted_faults_are_refused starts as its worker. */
int main(int argc, char **argv)
{
    if (argc > 1) {
        plant_square();
        return verb_bench(argc - 1, argv + 1);
    }
    const struct CMUnitTest tests[] = {TEST(fast_works_repeat_inside_a_sample),
                                       TEST(slow_first_runs_do_not_count),
                                       TEST(loading_does_not_count),
                                       TEST(passes_cover_all_in_other_orders),
                                       TEST(orders_are_even),
                                       TEST(slow_works_are_visited_less_often),
                                       TEST(disturbed_samples_are_taken_again),
                                       TEST(too_little_time_still_gives_three_passes),
                                       TEST(no_time_is_told),
                                       TEST(wrong_answers_have_no_time),
                                       TEST(interrupted_keeps_what_there_is),
                                       TEST(drift_and_outliers_are_told),
                                       TEST(philox_is_philox),
                                       TEST(works_have_words),
                                       TEST(answers_are_checked),
                                       TEST(planted_faults_are_refused),
                                       TEST(answers_have_digests),
                                       TEST(devices_have_a_bandwidth),
                                       TEST(commands_are_cut_into_words),
                                       TEST(commands_tell_how_they_end),
                                       TEST(commands_that_are_absent_are_told),
                                       TEST(workers_with_other_devices_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
