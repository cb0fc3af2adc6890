/* ingot bench: measures how fast this machine is.
 *
 * Chooses devices and benchmarks, lets the runner measure them, and writes the result: a table, or the file that
 * 'ingot compare' and 'ingot report' read. docs/BENCHING.md describes the method. */
#include "bench/collect.h"
#include "bench/limits.h"
#include "bench/table.h"
#include "bench/waits.h"
#include "bench/worker.h"
#include "cli.h"
#include "progress.h"
#include "support.h"
#include "report/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 8, COMMANDS_MOST = 16, LIMITS_MOST = 128 };
static const double
    quick_s = 40, /* per device, as are the others */
    quick_most_s = 54, full_s = 450, full_most_s = 560,
    too_slow = 25; /* a repetition that takes more than 1 / too_slow of the time is left out */

typedef struct threads_list {
    int v[THREADS_MOST], n;
} threads_list;

typedef struct commands_list {
    user_command v[COMMANDS_MOST];
    int n;
} commands_list;

/* As the first argument, it makes this verb a worker. Not documented, because only bench itself uses it. */
static char worker_word[] = "--worker";

/* The options; NULL and 0: not given. */
typedef struct bench_settings {
    bool quick, list, json, show_output, quiet;
    const char *device, *only, *output, *csv, *markdown, *model;
    threads_list threads;
    double seconds;
    uint64_t seed;
    engine_options engine; /* device and threads are not used: bench may measure several */
    commands_list commands;
} bench_settings;

typedef struct session {
    const command *command;
    bench_settings *set;
    result result;
    job_list jobs;
    task *tasks; /* jobs, then commands */
    int n;
    char **
        worker_argv; /* the arguments that start a worker; NULL: jobs are measured in this process */
    worker worker;
    int worker_pass;
    struct limit {
        ig_dtype dtype;
        int threads;
        double rate;
    } limits[LIMITS_MOST];
    int n_limits;
    runner runner;
    progress bar;
    double begin_s;
    int bad; /* tasks with a wrong answer or a failure */
} session;

/* ---- options ------------------------------------------------------------------------------------ */

/* "4" or "1,2,all"; all is stored as 0. */
static bool read_threads(const char *s, void *place)
{
    threads_list *list = place;
    *list = (threads_list){0};
    for (const char *at = s; *at; at += *at == ',') {
        char word[8];
        size_t n = strcspn(at, ",");
        if (n >= sizeof word || list->n == THREADS_MOST)
            return false;
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        int *to = &list->v[list->n++];
        if (strcmp(word, "all") == 0)
            *to = 0;
        else if (!option_threads(word, to))
            return false;
        at += n;
    }
    return list->n > 0;
}

static bool read_command(const char *s, void *place)
{
    commands_list *list = place;
    if (list->n == COMMANDS_MOST)
        return false;
    list->v[list->n++] = (user_command){.text = s};
    return true;
}

/* ---- devices ------------------------------------------------------------------------------------ */

/* The i-th device, if it computes arrays. */
static bool device_at(int i, ig_device_info *d)
{
    *d = (ig_device_info){0};
    return ig_device_get(i, d) == IG_OK && d->runs_arrays;
}

/* True if the word is another name of the device in the library: "metal" and "mps" are metal:0. */
static bool is_other_name(const char *word, size_t n, const ig_device_info *d)
{
    char name[64];
    const char *here = ig_device();
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    const bool same = ig_set_device(name) == IG_OK && strcmp(ig_device(), d->name) == 0;
    ig_error(NULL);
    ig_set_device(here);
    return same;
}

/* True if a word selects a device: "all", its name, its kind if no device has that name, or an alias. */
static bool means(const char *word, size_t n, const ig_device_info *d)
{
    const char *texts[] = {"all", d->name, d->kind};
    const bool tests = strcmp(d->kind, "gang") == 0; /* for tests: selected only by name */
    for (int i = tests; i < 2; i++)
        if (strlen(texts[i]) == n && strncmp(word, texts[i], n) == 0)
            return true;
    ig_device_info other = {0};
    for (int i = 0; i < ig_device_count(); i++)
        if (device_at(i, &other) && strlen(other.name) == n && strncmp(word, other.name, n) == 0)
            return false;
    if (strlen(d->kind) == n && strncmp(word, d->kind, n) == 0)
        return true;
    return is_other_name(word, n, d);
}

static bool device_chosen(const session *s, const ig_device_info *d)
{
    const char *list = s->set->device;
    if (!list)
        return device_by_default(d);
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (means(list, n, d))
            return true;
    }
    return false;
}

/* Reports the first word of the list that selects no device. */
static int unknown_device(const session *s, const char *list)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        bool found = false;
        ig_device_info d = {0};
        str all = {0};
        n = strcspn(list, ",");
        for (int i = 0; i < ig_device_count(); i++)
            if (device_at(i, &d)) {
                found |= means(list, n, &d);
                str_printf(&all, "%s%s", all.n ? ", " : "", d.name);
            }
        if (!found)
            say(s->command, "no device '%.*s' runs arrays here; available: %s", (int)n, list,
                all.s);
        str_free(&all);
        if (!found)
            return EXIT_ABSENT;
    }
    return -1;
}

/* ---- limits ------------------------------------------------------------------------------------- */

static const result_device *device_of(const session *s, const char *name)
{
    for (int i = 0; i < s->result.n_devices; i++)
        if (strcmp(s->result.devices[i].name, name) == 0)
            return &s->result.devices[i];
    return NULL;
}

/* The peak of the CPU with this number of threads: FLOP/s of the dtype, or bytes/s for IG_DTYPE_NONE.
 * Measured on first use. */
static double cpu_limit(session *s, ig_dtype dtype, int threads)
{
    for (int i = 0; i < s->n_limits; i++)
        if (s->limits[i].dtype == dtype && s->limits[i].threads == threads)
            return s->limits[i].rate;
    double rate = 1e9 * (dtype == IG_DTYPE_NONE ? limit_copy(threads) : limit_fma(dtype, threads));
    if (s->n_limits < LIMITS_MOST)
        s->limits[s->n_limits++] = (struct limit){dtype, threads, rate};
    return rate;
}

/* The shortest time of a repetition that the device's peaks allow; 0: unknown. */
static double limit_of(session *s, const job *j)
{
    const result_device *d = device_of(s, j->device);
    bool cpu = device_is_host(d->name);
    double flops = cpu                  ? cpu_limit(s, j->dtype, j->threads)
                   : j->dtype == IG_F32 ? d->peak_flops
                                        : 0;
    double bytes = cpu ? cpu_limit(s, IG_DTYPE_NONE, j->threads) : d->peak_bytes;
    double compute_s = flops > 0 ? j->flops / flops : 0, move_s = bytes > 0 ? j->bytes / bytes : 0;
    bool computes = j->flops >= 2 * j->bytes;
    return computes && compute_s <= 0 ? 0 : compute_s > move_s ? compute_s : move_s;
}

/* ---- choosing jobs --------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The numbers of threads to measure with, ascending and unique. */
static threads_list threads_chosen(const bench_settings *set)
{
    threads_list list = set->threads;
    int asked = list.n ? list.n : 1;
    for (int i = 0; i < asked; i++)
        list.v[i] = list.v[i] ? list.v[i] : ig_threads();
    qsort(list.v, (size_t)asked, sizeof *list.v, by_number);
    list.n = 0;
    for (int i = 0; i < asked; i++)
        if (i == 0 || list.v[i] != list.v[list.n - 1])
            list.v[list.n++] = list.v[i];
    return list;
}

/* Checks the options before anything is measured. */
static int check_settings(session *s)
{
    bench_settings *set = s->set;
    const struct {
        const char *option, *path;
    } files[] = {{"--output", set->output}, {"--csv", set->csv}, {"--md", set->markdown}};
    str why = {0};
    bool fine = works_known(
        &(work_choice){.quick = set->quick, .only = set->only, .model = set->model}, &why);
    for (int i = 0; i < set->commands.n && fine; i++)
        fine = command_read(&set->commands.v[i], &why);
    if (!fine)
        say(s->command, "%s", why.s);
    str_free(&why);
    int code = fine ? -1 : EXIT_USAGE;
    if (code < 0 && set->device)
        code = unknown_device(s, set->device);
    if (code < 0 && set->model && !model_opens(set->model))
        code = fail_library(s->command);
    for (int i = 0; i < 3 && code < 0; i++)
        if (files[i].path && strcmp(files[i].path, "-") != 0)
            code = write_check(s->command, files[i].option, files[i].path);
    return code;
}

static void make_tasks(session *s)
{
    commands_list *commands = &s->set->commands;
    s->n = s->jobs.n + commands->n;
    s->tasks = heap_get(sizeof *s->tasks * (size_t)(s->n + 1));
    for (int i = 0; i < s->n; i++) {
        bool is_job = i < s->jobs.n;
        s->tasks[i].calls = is_job ? &job_calls : &command_calls;
        s->tasks[i].context =
            is_job ? (void *)&s->jobs.jobs[i] : (void *)&commands->v[i - s->jobs.n];
    }
}

/* True if the choice between MPS and Ingot's own products is measured. bench does so unless IG_MPS is set. */
static bool measures_products(void)
{
    const char *wish = getenv("IG_MPS");
    return wish && strcmp(wish, "measure") == 0;
}

/* Adds a device and its ops to the result. */
static void collect_facts(session *s, const ig_device_info *d, int threads)
{
    const bench_settings *set = s->set;
    bool cpu = device_is_host(d->name);
    if (measures_products())
        limit_device_products(d->name);
    collect_device(&s->result, d, threads, cpu ? cpu_limit(s, IG_F32, threads) : 0,
                   cpu ? cpu_limit(s, IG_DTYPE_NONE, threads) : 1e9 * limit_device_copy(d->name));
    if (!set->only && (set->output || set->json)) /* only a complete file has them */
        collect_ops(&s->result, d->name);
}

/* Makes the jobs of each device, in an order that depends only on the options, because workers rely on it. If only
 * commands are measured, there are no jobs. */
static void choose(session *s, bool facts)
{
    const bench_settings *set = s->set;
    threads_list threads = threads_chosen(set);
    const work_choice choice = {.quick = set->quick,
                                .only = set->only,
                                .model = set->model,
                                .threads = threads.v,
                                .n_threads = threads.n,
                                .seed = set->seed};
    ig_device_info d = {0};
    if (!set->commands.n || set->only)
        for (int i = 0; i < ig_device_count(); i++) {
            if (!device_at(i, &d) || !device_chosen(s, &d))
                continue;
            if (facts)
                collect_facts(s, &d, threads.v[threads.n - 1]);
            jobs_add(&s->jobs, &choice, &d);
        }
    make_tasks(s);
}

/* ---- running ------------------------------------------------------------------------------------ */

static void title_of(const session *s, const task *t, str *title)
{
    int i = (int)(t - s->tasks);
    if (i < s->jobs.n) {
        job_title(title, &s->jobs.jobs[i]);
        str_printf(title, " on %s", s->jobs.jobs[i].device);
    } else {
        str_puts(title, s->set->commands.v[i - s->jobs.n].text);
    }
}

static double now(void *context)
{
    (void)context;
    return clock_s();
}

static void watch(void *context, bool fresh)
{
    (void)context;
    waits_begin(fresh);
}

static double waited(void *context)
{
    (void)context;
    return waits_s();
}

static bool interrupted(void *context)
{
    (void)context;
    return interrupt_asked();
}

static void on_visit(void *context, const task *t, double share)
{
    session *s = context;
    str title = {0};
    title_of(s, t, &title);
    progress_show(&s->bar, "bench", share, title.s);
    str_free(&title);
}

static void on_end(void *context, const task *t)
{
    static const char *const words[] = {[OUTCOME_LEFT_OUT] = "left out",
                                        [OUTCOME_WRONG] = "the answer is wrong",
                                        [OUTCOME_FAILED] = "failed"};
    session *s = context;
    str line = {0};
    title_of(s, t, &line);
    str_printf(&line, ": %s: %s", words[t->outcome], t->why.n ? t->why.s : "unknown reason");
    progress_clear();
    say(s->command, "%s", line.s);
    collect_disturbance(&s->result, line.s);
    s->bad += t->outcome != OUTCOME_LEFT_OUT;
    str_free(&line);
}

/* Sends a job to the worker of this pass. Commands run in their own processes. */
static void perform(void *context, task *t, int pass)
{
    session *s = context;
    int number = (int)(t - s->tasks);
    if (number >= s->jobs.n || !s->worker_argv) {
        runner_visit(&s->runner, t, pass);
        return;
    }
    if (pass != s->worker_pass)
        worker_end(&s->worker);
    s->worker_pass = pass;
    if (s->worker.pid || worker_begin(&s->worker, s->worker_argv, s->tasks, s->jobs.n, &t->why))
        worker_visit(&s->worker, number, t, pass);
    else
        t->outcome = OUTCOME_FAILED;
}

static void worker_argv_free(session *s)
{
    if (s->worker_argv)
        free(s->worker_argv[0]);
    free(s->worker_argv);
    s->worker_argv = NULL;
}

/* Finds the arguments that start this program as a worker, and starts the first one. With --trace there are no
 * workers, because a timeline shows one process. */
static void begin_workers(session *s, int argc, char **argv)
{
    char *self = s->jobs.n && !interrupt_traced() ? child_self() : NULL;
    if (!self)
        return;
    s->worker_argv = heap_get(sizeof *s->worker_argv * (size_t)(argc + 3));
    s->worker_argv[0] = self;
    s->worker_argv[1] = argv[0];
    s->worker_argv[2] = worker_word;
    memcpy(s->worker_argv + 3, argv + 1, sizeof *argv * (size_t)(argc - 1));
    str line = {0};
    str_puts(&line, "one process measures everything, because no other can be started: ");
    if (!worker_begin(&s->worker, s->worker_argv, s->tasks, s->jobs.n, &line) &&
        !interrupt_asked()) {
        say(s->command, "%s", line.s);
        collect_disturbance(&s->result, line.s);
        worker_argv_free(s);
    }
    str_free(&line);
}

/* Leaves out jobs if one repetition would take a large part of the time even at the device's peak. */
static void leave_out_slow(session *s, double seconds)
{
    for (int i = 0; i < s->jobs.n; i++) {
        const job *j = &s->jobs.jobs[i];
        double limit_s = limit_of(s, j);
        if (limit_s <= seconds / too_slow || j->model)
            continue;
        s->tasks[i].outcome = OUTCOME_LEFT_OUT;
        str_printf(&s->tasks[i].why, "it takes at least %.1f s; give more --seconds", limit_s);
    }
}

static double seconds_of(const bench_settings *set, int devices)
{
    const bool quick = set->quick || set->model;
    return set->seconds > 0 ? set->seconds : devices * (quick ? quick_s : full_s);
}

static void measure(session *s)
{
    const bench_settings *set = s->set;
    const int devices = s->result.n_devices > 1 ? s->result.n_devices : 1;
    double seconds = seconds_of(set, devices);
    runner *r = &s->runner;
    r->seconds = seconds;
    double most_s = devices * (set->quick ? quick_most_s : full_most_s) - (clock_s() - s->begin_s);
    r->most_seconds = set->seconds > 0 || set->model ? 0 : most_s;
    r->least_passes = 3;
    r->most_passes = set->quick || set->model ? 12 : 30;
    r->seed = set->seed;
    r->visit = on_visit;
    r->ended = on_end;
    r->perform = perform;
    leave_out_slow(s, seconds);
    for (int i = 0; i < s->n; i++)
        if (s->tasks[i].outcome != OUTCOME_FINE)
            on_end(s, &s->tasks[i]);
    progress_begin(&s->bar, set->quiet);
    double begin_s = clock_s(), before_s = others_s();
    s->result.complete = runner_run(r, s->tasks, s->n);
    worker_end(&s->worker);
    s->result.others = fmax(0, (others_s() - before_s) / (clock_s() - begin_s));
    progress_clear();
}

/* ---- output -------------------------------------------------------------------------------------- */

static int write_output(const session *s, const str *t, const char *name, const char *path)
{
    str why = {0};
    int code = -1;
    if (strcmp(path, "-") == 0) {
        text_print(stdout, t->s);
    } else if (!write_file(path, t, &why)) {
        say(s->command, "%s: %s", name, why.s);
        code = EXIT_INPUT;
    }
    str_free(&why);
    return code;
}

/* Writes the requested files. The table goes to standard output unless another output does. */
static int write_outputs(session *s)
{
    const bench_settings *set = s->set;
    str json = {0}, csv = {0}, markdown = {0}, text = {0};
    result_json(&s->result, &json);
    table_csv(&csv, &s->result);
    table_markdown(&markdown, &s->result);
    table_text(&text, &s->result, color_for(stdout));
    const char *dash = "-";
    bool taken = set->json;
    const char *asked[] = {set->output, set->csv, set->markdown};
    for (int i = 0; i < 3; i++)
        taken |= asked[i] && strcmp(asked[i], dash) == 0;
    int code = -1;
    if (set->output)
        code = write_output(s, &json, "--output", set->output);
    if (code < 0 && set->csv)
        code = write_output(s, &csv, "--csv", set->csv);
    if (code < 0 && set->markdown)
        code = write_output(s, &markdown, "--md", set->markdown);
    if (set->json)
        text_print(stdout, json.s);
    else if (!taken && s->result.n_rows) {
        words_commands(&text, &s->result);
        text_print(stdout, text.s);
    }
    str_free(&json);
    str_free(&csv);
    str_free(&markdown);
    str_free(&text);
    return code;
}

/* Adds the measured peaks, by dtype and number of threads. */
static void collect_peaks(session *s)
{
    for (int i = 0; i < s->result.n_devices; i++) {
        const result_device *d = &s->result.devices[i];
        if (!device_is_host(d->name)) {
            collect_peak(&s->result, d->name, "bytes", 0, d->peak_bytes);
            continue;
        }
        for (int k = 0; k < s->n_limits; k++) {
            const struct limit *l = &s->limits[k];
            const char *of = l->dtype == IG_DTYPE_NONE ? "bytes" : ig_dtype_name(l->dtype);
            collect_peak(&s->result, d->name, of, l->threads, l->rate);
        }
    }
}

/* Adds the rows, sorted by group, then in the order of the benchmarks. */
static void collect_rows(session *s)
{
    static const char *const groups[] = {"compute", "memory",  "train",
                                         "text",    "latency", "scaling"};
    enum { GROUPS = sizeof groups / sizeof *groups };
    for (int g = 0; g <= GROUPS; g++)
        for (int i = 0; i < s->n; i++) {
            const task *t = &s->tasks[i];
            const job *j = i < s->jobs.n ? &s->jobs.jobs[i] : NULL;
            bool here = g < GROUPS ? j && strcmp(j->work->group, groups[g]) == 0 : !j;
            if (!here || t->outcome != OUTCOME_FINE || t->n == 0)
                continue;
            collect_row(&s->result, t, j, j ? NULL : &s->set->commands.v[i - s->jobs.n],
                        s->worker_argv || !j);
        }
}

static int finish(session *s)
{
    collect_peaks(s);
    collect_rows(s);
    int code = write_outputs(s);
    if (code >= 0)
        return code;
    if (interrupt_asked()) {
        say(s->command, "interrupted; the samples so far are %s",
            s->set->output ? "in the file, marked as incomplete" : "above");
        return EXIT_INTERRUPTED;
    }
    if (s->result.n_rows == 0)
        say(s->command, "nothing was measured");
    return s->bad || s->result.n_rows == 0 ? EXIT_FAILED : EXIT_FINE;
}

/* ---- the verb ----------------------------------------------------------------------------------- */

static int run_worker(session *s)
{
    choose(s, false);
    s->runner.seconds = seconds_of(s->set, 1);
    return worker_serve(&s->runner, s->tasks, s->jobs.n);
}

static int run_session(session *s, int argc, char **argv)
{
    s->begin_s = clock_s();
    int code = check_settings(s);
    if (code < 0 && !collect_begin(&s->result, argc, argv))
        code = fail_library(s->command);
    if (code < 0) {
        for (int i = 0; i < s->result.n_disturbances && !s->set->quiet; i++)
            say(s->command, "disturbance: %s", s->result.disturbances[i]);
        interrupt_watch();
        choose(s, true);
        begin_workers(s, argc, argv);
        measure(s);
        s->result.seconds = clock_s() - s->begin_s;
        code = finish(s);
    }
    return code;
}

static void session_free(session *s)
{
    for (int i = 0; i < s->n; i++)
        task_free(&s->tasks[i]);
    for (int i = 0; i < s->set->commands.n; i++)
        command_free(&s->set->commands.v[i]);
    worker_argv_free(s);
    free(s->tasks);
    jobs_free(&s->jobs);
    result_free(&s->result);
}

int verb_bench(int argc, char **argv)
{
    bench_settings set = {0};
    const char *mps = getenv("IG_MPS");
    if (!mps || !*mps)
        setenv("IG_MPS", "measure", 1); /* before the search for devices */
    bool is_worker = argc > 1 && strcmp(argv[1], worker_word) == 0;
    if (is_worker) {
        argv[1] = argv[0];
        argc--, argv++;
    }
    const option options[] = {
        FLAG("--quick", &set.quick, "one minute instead of ten: fewer sizes, fewer samples"),
        {"--device", 0, "NAMES", option_text, &set.device,
         "devices to measure: cpu,gpu or all (all, except OpenCL on the CPU)"},
        FALLBACK_OPTION(set.engine),
        {"--only", 0, "PATTERNS", option_text, &set.only,
         "works by name, group, 'name size' or 'name size dtype': matmul,'sort 1M',*bf16"},
        FLAG("--list", &set.list, "lists the works and measures nothing"),
        {"--threads", 0, "N,...", read_threads, &set.threads, "threads of the CPU: 1, 1,all (all)"},
        {"--seconds", 0, "S", option_rate, &set.seconds,
         "time to spend (quick 40, else 450, for each device)"},
        {"--seed", 0, "N", option_seed, &set.seed,
         "seed of the inputs and of the random order (0)"},
        {"--output", 'o', "FILE", option_text, &set.output,
         "writes the result for compare and report"},
        FLAG("--json", &set.json, "prints the result instead of a table, schema 1"),
        {"--csv", 0, "FILE", option_text, &set.csv, "writes a table; - is standard output"},
        {"--md", 0, "FILE", option_text, &set.markdown,
         "writes a Markdown table; - is standard output"},
        {"--model", 'm', "FILE", option_text, &set.model,
         "measures only this language model: a prompt of 512 tokens, and 128 tokens one by one"},
        {"--cmd", 0, "COMMAND", read_command, &set.commands,
         "measures your own command; repeat it to compare several"},
        FLAG("--show-output", &set.show_output, "shows the output of the commands"),
        {"--memory-limit", 0, "SIZE", option_memory, &set.engine.memory_limit,
         "bytes that arrays may hold (512MiB, 4GiB)"},
        MATH_OPTION(set.engine),
        {"--trace", 0, "FILE", option_text, &set.engine.trace,
         "writes a timeline for ui.perfetto.dev; slows down the run"},
        FLAG("--quiet", &set.quiet, "prints no progress"),
        {0}};
    const command c = {"bench", "[options]",
                       "Measures how fast this machine is. Every answer is checked; a wrong one is "
                       "an error, not\na time. Ctrl-C stops and keeps the samples so far.",
                       options};
    char **words = heap_get(sizeof *words * (size_t)(argc + 1));
    memcpy(words, argv, sizeof *words * (size_t)argc);
    int n = argc, code = options_read(&c, &argc, argv);
    if (code < 0 && argc > 0) {
        say(&c, "unexpected '%s'; see 'ingot bench --help'", argv[0]);
        code = EXIT_USAGE;
    }
    if (code < 0 && set.list) {
        str t = {0};
        works_list(&t, set.json);
        text_print(stdout, t.s);
        str_free(&t);
        code = EXIT_FINE;
    }
    if (code < 0)
        code = engine_apply(&c, &set.engine);
    for (int i = 0; i < set.commands.n; i++)
        set.commands.v[i].show = set.show_output;
    session s = {.command = &c, .set = &set, .worker = worker_none};
    s.runner = (runner){
        .clock = now, .interrupted = interrupted, .watch = watch, .waited = waited, .context = &s};
    if (code < 0)
        code = is_worker ? run_worker(&s) : run_session(&s, n, words);
    session_free(&s);
    free(words);
    return code;
}
